"""The perceptron with a kernel: what `Perceptron(kernel=…)` fits, on dual variables of the rows it was wrong about."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gramian._core import deadline
from gramian._core.types import Bools, Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.models.base.calibration import Calibration, calibrate
from gramian.models.base.output_codes import ClassDecisions
from gramian.rows import MemoryRows
from gramian.selection.cv.regularization import splits_of
from gramian.solvers.base import Callback, Run, run
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.first_order.perceptron import NOT_SEPARABLE
from gramian.solvers.kernel.dual_perceptron import (
    DualPerceptron,
    DualPerceptronState,
    DualProblem,
    Mistaken,
    wrong_share,
)
from gramian.warnings import ConvergenceWarning, warn_user

TOLERANCE = 1e-15
MOST_ROWS = 1000  # of which the margin is computed for the bound
PANEL = 512
KIND = "share of rows on the wrong side"


@dataclass(frozen=True, eq=False)
class KernelPerceptronProblem:
    """The binary problems of a perceptron on one kernel matrix, or that of all classes at once.

    Attributes
    ----------
    points : prepared points; codes : array (n,)
        The rows of the fit, and the number of the class of each.
    words : array (bits, k) or None
        The side of each class in each binary problem; None of all classes at once.
    """

    kernel: Kernel
    points: Any
    codes: Ints
    weight: Floats
    n_classes: int
    words: Floats | None
    intercept: bool
    average: bool
    seed: int
    max_iter: int

    @property
    def n(self) -> int:
        return len(self.codes)

    @cached_property
    def rows(self) -> Mistaken:
        return Mistaken(self.kernel, self.points)

    def parts(self, weight: Floats) -> list[DualProblem]:
        """What the algorithm is run on, with some weights of the rows."""
        if self.words is None:
            return [DualProblem(self.rows, self.codes, weight, self.n_classes, self.intercept)]
        found = []
        for word in self.words:
            side = word[self.codes]
            codes = (side > 0).astype(np.int64)
            found.append(DualProblem(self.rows, codes, np.where(side == 0, 0.0, weight), 1, self.intercept))
        return found

    def solve(self, callbacks: Sequence[Callback]) -> "KernelPerceptronSolution":
        """Run every part to its end."""
        method = DualPerceptron(self.average, self.seed)
        parts = self.parts(self.weight)
        outcomes = [
            run(method, part, max_iter=self.max_iter, tol=TOLERANCE, callbacks=callbacks)  # type: ignore[arg-type]
            for part in parts
        ]
        theta = np.vstack([one.theta for one in outcomes])
        beta, offset = theta[:, :-1], theta[:, -1]
        if self.words is None:
            offset = offset - offset.mean()
        f = self.values(beta, offset)
        if self.words is None:
            ends = [wrong_share(parts[0], f)]
        else:
            ends = [wrong_share(part, f[[i]]) for i, part in enumerate(parts)]
        return KernelPerceptronSolution(self, beta, offset, f, outcomes, ends)

    def values(self, beta: Floats, offset: Floats) -> Floats:
        """f at all rows, (machines, n), computed anew."""
        support = np.flatnonzero(beta.any(axis=0))
        if not len(support):
            return np.repeat(offset[:, None], self.n, axis=1)
        others, dual = self.points[support], beta[:, support].T
        blocks = [self.kernel.block(self.points[i : i + PANEL], others) @ dual for i in range(0, self.n, PANEL)]
        return np.concatenate(blocks).T + offset[:, None]

    def calibration(self, f: Floats, decide: ClassDecisions) -> Calibration:
        """The map from decisions to probabilities."""
        decisions, seen = self._left_out(f, decide)
        return calibrate(decisions, self.codes, self.weight * seen)

    def _left_out(self, f: Floats, decide: ClassDecisions) -> tuple[Floats, Bools]:
        """Decisions on rows that took no part in them, from five folds, and which rows are of classes seen there.

        Where time is over, decisions on rows that did.
        """
        found = f.T.copy()
        seen = np.ones(self.n, dtype=bool)
        method = DualPerceptron(self.average, self.seed, 10)
        for _, test in splits_of(5, MemoryRows(np.zeros((self.n, 1)), None, None)):
            if deadline.passed():
                break
            found[test] = 0.0
            weight = self.weight.copy()
            weight[test] = 0.0
            column = 0
            for part in self.parts(weight):
                sides = part.codes[part.weight > 0]
                if len(sides) and np.ptp(sides) > 0:
                    again = run(method, part, max_iter=self.max_iter, tol=TOLERANCE, inner=True)  # type: ignore[arg-type]
                    found[test, column : column + part.m] = self._at(again.theta, test)
                column += part.m
            seen[test] = np.isin(self.codes[test], self.codes[weight > 0])
        return decide(found), seen

    def _at(self, theta: Floats, test: Any) -> Floats:
        some = np.flatnonzero(theta[:, :-1].any(axis=0))
        f = np.zeros((len(test), len(theta))) + theta[:, -1]
        return f + self.kernel.block(self.points[test], self.points[some]) @ theta[:, some].T if len(some) else f


@dataclass(frozen=True, eq=False)
class KernelPerceptronSolution:
    """β (machines, n) and offsets where the algorithm ended, and f at all rows (machines, n).

    `ends` are the objective and the share of rows on the wrong side of each part.
    """

    problem: KernelPerceptronProblem
    beta: Floats
    offset: Floats
    f: Floats
    outcomes: list[Run[DualPerceptronState]]
    ends: list[tuple[float, float]]

    @property
    def norms(self) -> Floats:
        """Of the functions without their offsets."""
        return np.sqrt(np.maximum((self.beta * (self.f - self.offset[:, None])).sum(axis=1), 0.0))

    @property
    def objective(self) -> float:
        return float(np.mean([value for value, _ in self.ends]))

    @property
    def mistakes(self) -> int:
        return sum(one.state.mistakes for one in self.outcomes)

    @property
    def worst(self) -> Run[DualPerceptronState]:
        """The run with the largest share of rows on the wrong side."""
        return self.outcomes[int(np.argmax([share for _, share in self.ends]))]

    @property
    def certificate(self) -> Certificate:
        share = max(share for _, share in self.ends)
        return Certificate(KIND, share, TOLERANCE, share <= TOLERANCE, None, None, "rows")

    @property
    def solver(self) -> SolverInfo:
        return SolverInfo(
            DualPerceptron.name, f"{self.problem.n} dual variables, of which mistakes change one at a time"
        )

    def warn_unfinished(self) -> None:
        """Warn where rows are on the wrong side, unless the user ended the run."""
        share, worst = self.certificate.value, self.worst
        if share > TOLERANCE and not deadline.ended() and not any(one.interrupted for one in self.outcomes):
            ended = worst.iterations >= self.problem.max_iter
            warn_user(
                f"The {KIND} is {share:.2g} after {worst.iterations} sweeps. "
                f"{'To go on, raise max_iter.' if ended else NOT_SEPARABLE} Try average=True, a shorter length_scale, "
                "or gm.SVC, which allows for errors.",
                ConvergenceWarning,
            )

    def mistake_bound(self) -> float:
        """(R/γ)², γ by a hard margin on a factor of the kernel matrix."""
        problem = self.problem
        weight = problem.weight[problem.weight > 0]
        if problem.words is None or len(problem.words) > 1 or problem.n > MOST_ROWS or np.ptp(weight) > 0:
            return float("nan")
        if deadline.passed():
            return float("nan")
        if not self.certificate.holds:
            return float("inf")
        from gramian.models.linear.svc import SVC

        F = pivots(problem.kernel, problem.points, problem.n)[1]
        F = np.column_stack([F, np.ones(problem.n)]) if problem.intercept else F
        counted = problem.weight > 0
        F, codes = F[counted], problem.parts(problem.weight)[0].codes[counted]
        try:
            widest = SVC(alpha=0.0, fit_intercept=False).fit(F, codes)
        except ValueError:
            return float("nan" if deadline.ended() else "inf")
        return float("nan") if deadline.ended() else float((F**2).sum(axis=1).max() * np.linalg.norm(widest.coef_) ** 2)
