"""Support vector machines with a kernel: their dual problems on shared rows of the kernel matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.kernels.input import positive_definite
from gramian.models.base.calibration import Calibration, calibrate
from gramian.models.base.output_codes import code_matrix
from gramian.rows import MemoryRows, single_threaded_blas
from gramian.selection.cv.fold_moments import Limited, select
from gramian.selection.cv.regularization import splits_of
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.splits import fold_weights, plan
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.gaps import relative_gap
from gramian.solvers.kernel.kernel_rows import KernelRows
from gramian.solvers.kernel.smo import Dual, SMOResult, Start, solve_to_gap
from gramian.warnings import ConvergenceWarning, warn_user

LEAST_TOL = 1e-6  # a duality gap that steps of two variables reach in time
FIRST = 1e-3  # violation of optimality in units of the margin
GRID = 8
MANY, SAMPLE = 8000, 3000  # rows from which a machine of some of them is trained first, and how many
MOST_FEATURES = 10_000  # that a linear model is advised for
NEAR = 0.25  # share of the rows that may be on either side of their margin


@dataclass(frozen=True, eq=False)
class Machine:
    """One binary machine: β over all rows, its offset, the objective, its duality gap, and the norm of the function."""

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
) -> Machine:
    """The hinge loss and alpha ‖f‖² over the rows of positive weight; the others have no dual variable."""
    total = float(weight.sum()) or 1.0
    C = weight / (2.0 * alpha * total)
    dual = Dual(sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0), np.arange(len(sign)), intercept)
    if start is None and len(sign) >= MANY:
        start = Start(_from_sample(rows, sign, weight, alpha, intercept, C))
    found, value, gap = solve_to_gap(
        dual, rows, lambda found: _gap(dual, found, sign, C, alpha), start, eps=FIRST, least=1e-9, tol=tol
    )
    norm = float(np.sqrt(max(float(found.beta @ found.f), 0.0)))
    return Machine(found.beta, found.f, found.offset, value, gap, norm, found.rounds)


def _from_sample(rows: KernelRows, sign: Floats, weight: Floats, alpha: float, intercept: bool, C: Floats) -> Floats:
    """Dual variables by what a machine of some of the rows says: at their bound inside the margin, zero outside."""
    used = np.flatnonzero(weight > 0)
    some = used[:: max(len(used) // max(SAMPLE, len(used) // 8), 1)]
    found = train(rows.part(some), sign[some], weight[some], alpha, intercept, 1e-2)
    spread = np.zeros(len(sign))
    spread[some] = found.beta
    inside = 1.0 - sign * (rows.product(spread) + found.offset)
    width = float(np.quantile(np.abs(inside[used]), NEAR)) or 1.0
    beta = sign * C * np.clip(0.5 + 0.5 * inside / width, 0.0, 1.0)
    if intercept:
        up, down = float(beta[beta > 0].sum()), -float(beta[beta < 0].sum())
        near = (np.abs(inside) < width) & ((beta > 0) if up > down else (beta < 0))
        room = float(np.abs(beta[near]).sum())
        if room <= abs(up - down):
            return _balanced(beta)
        beta[near] *= 1.0 - abs(up - down) / room
    return beta


def _gap(dual: Dual, found: SMOResult, sign: Floats, C: Floats, alpha: float) -> tuple[float, float]:
    """The objective, and by how much of it the dual lies below."""
    square = float(found.beta @ found.f)
    slack = float(C @ np.maximum(0.0, 1.0 - sign * (found.f + found.offset)))
    primal = 0.5 * square + slack
    lower = float(dual.c @ found.beta) - 0.5 * square
    return 2.0 * alpha * primal, relative_gap(primal - lower, abs(primal))


def warn_unfinished(model: Any, points: Any = None, linear: str = "") -> None:
    """Warn where the certificate of a kernel machine does not hold.

    `linear` names a model without a kernel, which fits the explicit features of `points` where there are few: there
    columns of any units keep digits that double precision dual coefficients cannot carry.
    """
    shown = model.certificate_
    if not shown.value <= shown.tolerance and not deadline.ended():
        explicit = ""
        if linear and _few_features(model.kernel_, points):
            explicit = f", or fit {linear} to the explicit features, model.kernel_.features(X)"
        warn_user(
            f"{type(model).__name__} did not converge: the {shown.kind} is {shown.value:.2g} and its tolerance "
            f"{shown.tolerance:.2g}. The kernel matrix is too ill-conditioned for this alpha: scale the columns "
            f"(gm.StandardScaler), raise alpha or tol, change the kernel{explicit}.",
            ConvergenceWarning,
        )


def _few_features(kernel: Any, points: Any) -> bool:
    """Whether a kernel of rows of numbers has finitely many features, and few."""
    try:
        return int(kernel.features(points.X[:1]).shape[1]) <= MOST_FEATURES
    except (AttributeError, TypeError, ValueError):
        return False


class KernelClassifier:
    """Fits the binary machines of an `SVC` with a kernel, its alpha, and its probabilities."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any, alpha: float | None, grid: Any) -> None:
        points, target = model._fit_points(X, y, sample_weight)
        coded = model._labelled_points(target)
        block = coded.collect()
        self.codes = block.y[:, 0].astype(np.int64)
        self.weight = block.weights
        self.points, self.intercept = points, bool(model.fit_intercept)
        self.tol = max(float(model.tol), LEAST_TOL)
        k = len(model.classes_)
        self.words = code_matrix(model.multiclass_, k, model.code, model.random_state).T
        model.code_ = self.words.T
        self.rows = KernelRows(model.kernel_, points)
        self.cv, self.n = model.cv, len(points)
        if alpha is None:
            alpha = self._choose(model, grid)
        self.alpha = alpha
        self._calibration: Calibration | None = None
        self.machines = [self._train(word, self.weight, alpha) for word in self.words]

    def _train(
        self, word: Floats, weight: Floats, alpha: float, start: Any = None, tol: float | None = None
    ) -> Machine:
        part = word[self.codes]
        sign = np.where(part == 0, 1.0, part)
        return train(self.rows, sign, np.where(part == 0, 0.0, weight), alpha, self.intercept, tol or self.tol, start)

    def _splits(self) -> Any:
        return splits_of(self.cv, self._index())

    def _index(self) -> MemoryRows:
        return MemoryRows(np.zeros((self.n, 1)), None, self.weight)

    def _choose(self, model: Any, grid: Any) -> float:
        fixed = not isinstance(grid, int)
        scale = float(model.kernel_.diag(self.points).mean()) or 1.0
        alphas = grid if fixed else np.geomspace(scale, 1e-5 * scale, min(grid, GRID))
        splits = self._splits()

        weights = fold_weights(plan(self.cv, self._index()), self._index())

        def losses(some: Floats) -> tuple[Floats, Floats | None]:
            table = np.empty((len(some), len(splits)))
            for s, (_, test) in enumerate(splits):
                weight = self.weight.copy()
                weight[test] = 0.0
                starts: list[Any] = [None] * len(self.words)
                for a, alpha in enumerate(some):
                    loss = 0.0
                    for w, word in enumerate(self.words):
                        found = self._train(word, weight, float(alpha), starts[w], 1e-3)
                        if a + 1 < len(some):
                            starts[w] = Start(found.beta, found.f).scaled(float(alpha) / float(some[a + 1]))
                        part = word[self.codes[test]]
                        hinge = np.maximum(0.0, 1.0 - part * (found.f[test] + found.offset)) * np.abs(part)
                        loss += float(self.weight[test] @ hinge) / max(float(self.weight[test] @ np.abs(part)), 1e-300)
                    table[a, s] = loss / len(self.words)
            return table, weights

        limits = 1e-12 * scale, 1e6 * scale
        scores: Scores = select(Limited(losses), alphas, rule=model.rule, fixed=True, limits=limits)
        model.scores_ = scores
        return float(scores.alphas[scores.chosen])

    def finish(self, model: Any) -> None:
        """What an `SVC` has after a fit."""
        table = np.stack([m.beta for m in self.machines])
        model.support_ = np.flatnonzero(table.any(axis=0))
        model.dual_coef_ = table[:, model.support_]
        model._support_points = self.points[model.support_]
        if hasattr(model._support_points, "X"):
            model.support_vectors_ = model._support_points.X
        model.coef_ = model.dual_coef_
        model.intercept_ = np.array([m.offset for m in self.machines])
        model._norms = np.array([m.norm for m in self.machines])
        with np.errstate(divide="ignore"):
            margins = 2.0 / model._norms
        model.margin_ = float(margins[0]) if len(margins) == 1 else margins
        model.alpha_ = self.alpha
        worst = max(self.machines, key=lambda m: m.gap)
        note = "" if model.tol >= LEAST_TOL else f"Steps of two variables are held at a gap of {LEAST_TOL:g}."
        model.certificate_ = Certificate(
            "duality gap",
            worst.gap,
            self.tol,
            worst.gap <= self.tol,
            None,
            None,
            "rows",
            note=note,
            convex=positive_definite(model.kernel_),
        )
        warn_unfinished(model, self.points, f"{type(model).__name__}(kernel=None)")
        model.solver_ = SolverInfo("working sets", f"the dual of {self.n} rows, on those that violate optimality most")
        model.n_iter_ = max(m.rounds for m in self.machines)
        model.objective_ = float(np.mean([m.value for m in self.machines]))
        model.separated_, model.history_, model._covariances = False, [], [None]
        model._weight, model._mean_loss = float(self.weight.sum()), float("nan")
        model._waiting = self
        self.rows.release()

    @single_threaded_blas()
    def calibrated(self, model: Any) -> Calibration:
        """The map from decisions to probabilities: five more fits, made when probabilities are first asked for."""
        if self._calibration is None:
            self._calibration = calibrate(self._left_out(model), self.codes, self.weight)
            self.rows.release()
        return self._calibration

    def _left_out(self, model: Any) -> Floats:
        """Decisions on rows that took no part in them, from five folds."""
        found = np.zeros((self.n, len(self.words)))
        for _, test in splits_of(5, MemoryRows(np.zeros((self.n, 1)), None, None)):
            weight = self.weight.copy()
            weight[test] = 0.0
            for w, (word, machine) in enumerate(zip(self.words, self.machines, strict=True)):
                again = self._train(word, weight, self.alpha, Start(_without(machine.beta, test)), 1e-3)
                found[test, w] = again.f[test] + again.offset
        return np.asarray(model._confidences(found, model._norms))


def _without(beta: Floats, test: Any) -> Floats:
    """β without some rows, balanced again."""
    found = beta.copy()
    found[test] = 0.0
    return _balanced(found)


def _balanced(beta: Floats) -> Floats:
    """β whose larger side is shrunk to the sum of the smaller."""
    found = beta.copy()
    up, down = found[found > 0].sum(), -found[found < 0].sum()
    least = min(up, down)
    if least <= 0:
        return np.zeros_like(beta)
    found[found > 0] *= least / up
    found[found < 0] *= least / down
    return found
