"""Support vector machines with a kernel: their dual problems on shared rows of the kernel matrix."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.input import positive_definite
from gramian.models.base.calibration import Calibration, calibrate
from gramian.models.base.output_codes import ClassDecisions
from gramian.rows import MemoryRows, single_threaded_blas
from gramian.selection.cv.regularization import splits_of
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.splits import fold_weights, plan
from gramian.selection.cv.strategies.fold_moments import Limited, select
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.gaps import kernel_rounding, relative_gap
from gramian.solvers.kernel.kernel_rows import KernelRows
from gramian.solvers.kernel.smo import Dual, SMOResult, Start, solve_to_gap
from gramian.warnings import ConvergenceWarning, warn_user

LEAST_TOL = 1e-6  # a duality gap that steps of two variables reach in time
FIRST_VIOLATION = 1e-3  # of optimality, in units of the margin, at which the gap is first computed
GRID = 8
SAMPLED_FROM, SAMPLE = 8000, 3000  # rows from which a machine is trained on a sample first, and its size
MAX_ADVISED_FEATURES = 10_000  # of a kernel, for which a linear model is advised
SHARE_AT_MARGIN = 0.25  # of the rows, whose side of the margin is open after a fit to a sample


@dataclass(frozen=True, eq=False)
class BinarySVM:
    """A binary machine: β and f at all rows, its offset, the objective, its duality gap, the norm of its function."""

    beta: Floats
    f: Floats
    offset: float
    value: float
    gap: float
    norm: float
    rounds: int


def train(
    rows: KernelRows,
    sign: Floats,
    weight: Floats,
    alpha: float,
    intercept: bool,
    tol: float,
    start: Start | None = None,
) -> BinarySVM:
    """The hinge loss and alpha ‖f‖² over the rows of positive weight; the others have no dual variable."""
    total = float(weight.sum()) or 1.0
    C = weight / (2.0 * alpha * total)
    dual = Dual(sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0), np.arange(len(sign)), intercept)
    if start is None and len(sign) >= SAMPLED_FROM:
        start = Start(_from_sample(rows, sign, weight, alpha, intercept, C))
    result, value, gap = solve_to_gap(
        dual, rows, lambda result: _gap(dual, result, sign, C, alpha), start, eps=FIRST_VIOLATION, least=1e-9, tol=tol
    )
    gap += kernel_rounding(rows.kernel.diag(rows.points), result.beta, C) * 2.0 * alpha / max(abs(value), 1e-300)
    norm = float(np.sqrt(max(float(result.beta @ result.f), 0.0)))
    return BinarySVM(result.beta, result.f, result.offset, value, gap, norm, result.rounds)


def _from_sample(rows: KernelRows, sign: Floats, weight: Floats, alpha: float, intercept: bool, C: Floats) -> Floats:
    """Dual variables by what a machine of some of the rows says: at their bound inside the margin, zero outside."""
    used = np.flatnonzero(weight > 0)
    sample = used[:: max(len(used) // max(SAMPLE, len(used) // 8), 1)]
    machine = train(rows.part(sample), sign[sample], weight[sample], alpha, intercept, 1e-2)
    beta_of_all = np.zeros(len(sign))
    beta_of_all[sample] = machine.beta
    slack = 1.0 - sign * (rows.product(beta_of_all) + machine.offset)
    width = float(np.quantile(np.abs(slack[used]), SHARE_AT_MARGIN)) or 1.0
    beta = sign * C * np.clip(0.5 + 0.5 * slack / width, 0.0, 1.0)
    if intercept:
        up, down = float(beta[beta > 0].sum()), -float(beta[beta < 0].sum())
        at_margin = (np.abs(slack) < width) & ((beta > 0) if up > down else (beta < 0))
        total = float(np.abs(beta[at_margin]).sum())
        if total <= abs(up - down):
            return _balanced(beta)
        beta[at_margin] *= 1.0 - abs(up - down) / total
    return beta


def _gap(dual: Dual, result: SMOResult, sign: Floats, C: Floats, alpha: float) -> tuple[float, float]:
    """The objective, and by how much of it the dual lies below."""
    square = float(result.beta @ result.f)
    slack = float(C @ np.maximum(0.0, 1.0 - sign * (result.f + result.offset)))
    primal = 0.5 * square + slack
    lower = float(dual.c @ result.beta) - 0.5 * square
    return 2.0 * alpha * primal, relative_gap(primal - lower, abs(primal))


def warn_unfinished(name: str, certificate: Certificate, kernel: Kernel, points: Any = None, linear: str = "") -> None:
    """Warn where the certificate of a dual problem does not hold.

    `linear` names a model without a kernel, which fits the explicit features of `points` where there are few: there
    columns of any units keep digits that double precision dual coefficients cannot carry.
    """
    if not certificate.value <= certificate.tolerance and not deadline.ended():
        explicit = ""
        if linear and _few_features(kernel, points):
            explicit = f", or fit {linear} to the explicit features, model.kernel_.features(X)"
        warn_user(
            f"{name} did not converge: the {certificate.kind} is {certificate.value:.2g} and its tolerance "
            f"{certificate.tolerance:.2g}. The kernel matrix is too ill-conditioned for this alpha: scale the columns "
            f"(gm.StandardScaler), raise alpha or tol, change the kernel{explicit}.",
            ConvergenceWarning,
        )


def _few_features(kernel: Any, points: Any) -> bool:
    """Whether a kernel of rows of numbers has finitely many features, and few."""
    try:
        return int(kernel.features(points.X[:1]).shape[1]) <= MAX_ADVISED_FEATURES
    except (AttributeError, TypeError, ValueError):
        return False


class PathProblem(Protocol):
    """A dual problem whose training parts are fitted along alphas."""

    @property
    def index(self) -> MemoryRows:
        """Rows of nothing but their weights, for splits."""

    @property
    def scale(self) -> float:
        """The size of alphas."""

    def path_losses(self, weight: Floats, test: Ints, alphas: Floats) -> Floats:
        """Validation losses of one split, from the weights of its training part and its test rows."""


def path_scores(problem: PathProblem, cv: Any, rule: str, grid: Any) -> Scores:
    """Scores of alphas, every training part fitted along them."""
    fixed, scale, index = not isinstance(grid, int), problem.scale, problem.index
    grid = grid if fixed else np.geomspace(scale, 1e-5 * scale, grid)
    splits, weights = splits_of(cv, index), fold_weights(plan(cv, index), index)

    def losses(alphas: Floats) -> tuple[Floats, Floats | None]:
        table = np.empty((len(alphas), len(splits)))
        for s, (_, test) in enumerate(splits):
            weight = index.collect().weights.copy()
            weight[test] = 0.0
            table[:, s] = problem.path_losses(weight, test, alphas)
        return table, weights

    return select(Limited(losses), grid, rule=rule, fixed=True, limits=(1e-12 * scale, 1e6 * scale))


def warm_start(beta: Floats, f: Floats, alphas: Floats, a: int) -> Start | None:
    """The solution at an alpha as the start at the next one: duals grow as alpha falls."""
    return Start(beta, f).scaled(float(alphas[a]) / float(alphas[a + 1])) if a + 1 < len(alphas) else None


@dataclass(frozen=True, eq=False)
class KernelSVMProblem:
    """The binary problems of a support vector classifier on one kernel matrix.

    Attributes
    ----------
    points : prepared points; codes : array (n,)
        The rows of the fit, and the number of the class of each.
    weight : array (n,)
    words : array (bits, k)
        The side of each class in each binary problem; 0 where it takes no part.
    tol : float
        Relative duality gap.
    """

    kernel: Kernel
    points: Any
    codes: Ints
    weight: Floats
    words: Floats
    intercept: bool
    tol: float

    @cached_property
    def rows(self) -> KernelRows:
        return KernelRows(self.kernel, self.points)

    @property
    def index(self) -> MemoryRows:
        """Rows of nothing but their weights, for splits."""
        return MemoryRows(np.zeros((len(self.codes), 1)), None, self.weight)

    def train(
        self, word: Floats, weight: Floats, alpha: float, start: Any = None, tol: float | None = None
    ) -> BinarySVM:
        """The machine of one binary problem."""
        side = word[self.codes]
        sign = np.where(side == 0, 1.0, side)
        return train(self.rows, sign, np.where(side == 0, 0.0, weight), alpha, self.intercept, tol or self.tol, start)

    @property
    def scale(self) -> float:
        """The mean of k(x, x)."""
        return float(self.kernel.diag(self.points).mean()) or 1.0

    def path_losses(self, weight: Floats, test: Ints, alphas: Floats) -> Floats:
        """The mean hinge loss of the binary problems on one split."""
        losses = np.zeros(len(alphas))
        for word in self.words:
            start, side = None, word[self.codes[test]]
            total = max(float(self.weight[test] @ np.abs(side)), 1e-300)
            for a, alpha in enumerate(alphas):
                machine = self.train(word, weight, float(alpha), start, 1e-3)
                hinge = np.maximum(0.0, 1.0 - side * (machine.f[test] + machine.offset)) * np.abs(side)
                losses[a] += float(self.weight[test] @ hinge) / total
                start = warm_start(machine.beta, machine.f, alphas, a)
        return losses / len(self.words)

    def solve(self, alpha: float) -> list[BinarySVM]:
        """Every binary problem at one alpha."""
        machines = [self.train(word, self.weight, alpha) for word in self.words]
        self.rows.release()
        return machines


@dataclass(frozen=True, eq=False)
class KernelSVMSolution:
    """The machines of a support vector classifier at one alpha, and the map from their decisions to probabilities.

    Attributes
    ----------
    decide : ClassDecisions
    note : str
        What its certificate has to say.
    """

    problem: KernelSVMProblem
    alpha: float
    machines: list[BinarySVM]
    decide: ClassDecisions
    note: str = ""

    @cached_property
    def beta(self) -> Floats:
        """Dual coefficients (bits, n) of all rows."""
        return np.stack([machine.beta for machine in self.machines])

    @property
    def certificate(self) -> Certificate:
        """Of the machine that is the least accurate."""
        gap, tol = max(machine.gap for machine in self.machines), self.problem.tol
        convex = positive_definite(self.problem.kernel)
        return Certificate("duality gap", gap, tol, gap <= tol, None, None, "rows", note=self.note, convex=convex)

    @property
    def solver(self) -> SolverInfo:
        n = len(self.problem.codes)
        return SolverInfo("working sets", f"the dual of {n} rows, on those that violate optimality most")

    @cached_property
    def calibration(self) -> Calibration:
        """The map from decisions to probabilities: five more fits, made when probabilities are first asked for."""
        with single_threaded_blas():
            calibration = calibrate(self._left_out(), self.problem.codes, self.problem.weight)
        self.problem.rows.release()
        return calibration

    def _left_out(self) -> Floats:
        """Decisions on rows that took no part in them, from five folds."""
        problem, n = self.problem, len(self.problem.codes)
        f = np.zeros((n, len(self.machines)))
        for _, test in splits_of(5, MemoryRows(np.zeros((n, 1)), None, None)):
            weight = problem.weight.copy()
            weight[test] = 0.0
            for w, (word, machine) in enumerate(zip(problem.words, self.machines, strict=True)):
                again = problem.train(word, weight, self.alpha, Start(_without(machine.beta, test)), 1e-3)
                f[test, w] = again.f[test] + again.offset
        return self.decide(f)


def _without(beta: Floats, test: Any) -> Floats:
    """β without some rows, balanced again."""
    rest = beta.copy()
    rest[test] = 0.0
    return _balanced(rest)


def _balanced(beta: Floats) -> Floats:
    """β whose larger side is shrunk to the sum of the smaller."""
    up, down = beta[beta > 0].sum(), -beta[beta < 0].sum()
    smaller = min(up, down)
    if smaller <= 0:
        return np.zeros_like(beta)
    return np.where(beta > 0, beta * (smaller / up), beta * (smaller / down))
