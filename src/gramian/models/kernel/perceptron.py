"""The perceptron with a kernel: what `Perceptron(kernel=…)` fits, on dual variables of the rows it was wrong about."""

from typing import Any

import numpy as np

from gramian._core import deadline
from gramian._core.types import Bools, Floats
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.kernels.points import alone
from gramian.models.base.calibration import calibrate
from gramian.models.base.output_codes import code_matrix
from gramian.rows import MemoryRows
from gramian.selection.cv.regularization import splits_of
from gramian.solvers.base import Run, run
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


class KernelPerceptron:
    """Fits the machines of a `Perceptron` with a kernel, and the map to probabilities."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any, seed: int, kind: str) -> None:
        points, target = model._fit_points(X, y, sample_weight)
        block = model._labelled_points(target).collect()
        self.codes = block.y[:, 0].astype(np.int64)
        self.points, self.n, self.k = points, len(points), len(model.classes_)
        self.weight = block.weights
        self.rows = Mistaken(model.kernel_, points)
        self.intercept = bool(model.fit_intercept)
        self.average, self.seed, self.max_iter = bool(model.average), seed, model.max_iter
        self.kind = kind

    def fit(self, model: Any, callbacks: Any) -> None:
        """Every machine, and what a `Perceptron` has after a fit."""
        joint = model.multiclass_ == "joint"
        self.words = None if joint else code_matrix(model.multiclass_, self.k, self.kind, model.random_state).T
        if self.words is not None:
            model.code_ = self.words.T
        problems = self._problems(self.weight)
        method = DualPerceptron(self.average, self.seed)
        found = [run(method, p, max_iter=self.max_iter, tol=TOLERANCE, callbacks=callbacks) for p in problems]
        theta = np.vstack([one.theta for one in found])
        beta, offset = theta[:, :-1], theta[:, -1]
        if joint:
            offset = offset - offset.mean()
        model.support_ = np.flatnonzero(beta.any(axis=0))
        model.dual_coef_ = model.coef_ = np.ascontiguousarray(beta[:, model.support_])
        model.intercept_ = offset
        model._support_points = alone(self.points[model.support_])
        if hasattr(model._support_points, "X"):
            model.support_vectors_ = model._support_points.X
        f = self._values(model)
        model._norms = np.sqrt(np.maximum((beta * (f - offset[:, None])).sum(axis=1), 0.0))
        self._certify(model, problems, found, f)
        model.n_mistakes_ = sum(one.state.mistakes for one in found)
        model.mistake_bound_ = self._bound(model, problems)
        model.alpha_, model.separated_, model._covariances = 0.0, False, [None]
        decisions, seen = self._left_out(model, f)
        model._calibration = calibrate(decisions, self.codes, self.weight * seen)

    def _problems(self, weight: Floats) -> list[Any]:
        if self.words is None:
            return [DualProblem(self.rows, self.codes, weight, self.k, self.intercept)]
        found: list[Any] = []
        for word in self.words:
            side = word[self.codes]
            codes = (side > 0).astype(np.int64)
            found.append(DualProblem(self.rows, codes, np.where(side == 0, 0.0, weight), 1, self.intercept))
        return found

    def _values(self, model: Any) -> Floats:
        """f at all rows, (machines, n), computed anew."""
        if not len(model.support_):
            return np.repeat(model.intercept_[:, None], self.n, axis=1)
        parts = [
            model.kernel_.block(self.points[i : i + PANEL], model._support_points) @ model.dual_coef_.T
            for i in range(0, self.n, PANEL)
        ]
        return np.concatenate(parts).T + model.intercept_[:, None]

    def _certify(
        self, model: Any, problems: list[DualProblem], found: list[Run[DualPerceptronState]], f: Floats
    ) -> None:
        if self.words is None:
            judged = [wrong_share(problems[0], f)]
        else:
            judged = [wrong_share(problem, f[[i]]) for i, problem in enumerate(problems)]
        share = max(one for _, one in judged)
        worst = found[int(np.argmax([one for _, one in judged]))]
        kind = "share of rows on the wrong side"
        holds = share <= TOLERANCE
        model.certificate_ = Certificate(kind, share, TOLERANCE, holds, None, None, "rows")
        model.solver_ = SolverInfo(
            DualPerceptron.name, f"{self.n} dual variables, of which mistakes change one at a time"
        )
        model.history_, model.n_iter_ = worst.history, max(*(one.iterations for one in found), 1)
        model.objective_ = model._mean_loss = float(np.mean([value for value, _ in judged]))
        model._weight = float(self.weight.sum())
        if not holds and not deadline.ended() and not any(one.interrupted for one in found):
            ended = worst.iterations >= self.max_iter
            warn_user(
                f"The {kind} is {share:.2g} after {worst.iterations} sweeps. "
                f"{'To go on, raise max_iter.' if ended else NOT_SEPARABLE} Try average=True, a shorter length_scale, "
                "or gm.SVC, which allows for errors.",
                ConvergenceWarning,
            )

    def _bound(self, model: Any, problems: list[DualProblem]) -> float:
        """(R/γ)², γ by a hard margin on a factor of the kernel matrix."""
        weight = self.weight[self.weight > 0]
        if self.words is None or len(problems) > 1 or self.n > MOST_ROWS or np.ptp(weight) > 0:
            return float("nan")
        if deadline.passed():
            return float("nan")
        if not model.certificate_.holds:
            return float("inf")
        from gramian.models.linear.svc import SVC

        F = pivots(model.kernel_, self.points, self.n)[1]
        F = np.column_stack([F, np.ones(self.n)]) if self.intercept else F
        F = F[self.weight > 0]
        try:
            widest = SVC(alpha=0.0, fit_intercept=False).fit(F, problems[0].codes[self.weight > 0])
        except ValueError:
            return float("nan" if deadline.ended() else "inf")
        return float("nan") if deadline.ended() else float((F**2).sum(axis=1).max() * np.linalg.norm(widest.coef_) ** 2)

    def _left_out(self, model: Any, f: Floats) -> tuple[Floats, Bools]:
        """Decisions on rows that took no part in them, from five folds, and which rows are of classes seen there.

        Where time is over, decisions on rows that did.
        """
        norms = None if model.multiclass_ == "joint" else model._norms
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
            for problem in self._problems(weight):
                sides = problem.codes[problem.weight > 0]
                if len(sides) and np.ptp(sides) > 0:
                    again = run(method, problem, max_iter=self.max_iter, tol=TOLERANCE, inner=True)
                    found[test, column : column + problem.m] = self._at(again.theta, test)
                column += problem.m
            seen[test] = np.isin(self.codes[test], self.codes[weight > 0])
        return np.asarray(model._confidences(found, norms)), seen

    def _at(self, theta: Floats, test: Any) -> Floats:
        some = np.flatnonzero(theta[:, :-1].any(axis=0))
        f = np.zeros((len(test), len(theta))) + theta[:, -1]
        return f + self.rows.kernel.block(self.points[test], self.points[some]) @ theta[:, some].T if len(some) else f
