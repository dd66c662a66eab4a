"""A metric learned from the target: how much a fitted function changes in which direction (recursive feature machines).

Kernel ridge regression is fitted, and the metric becomes (1/Σw) Σ w ∇f(x) ∇f(x)ᵀ, the average outer product of the
function's gradients; then the same again with this metric. How often is decided by rows that are left out.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gramian._core import deadline
from gramian._core.types import Floats, Ints
from gramian.kernels.points import Vectors, vectors
from gramian.kernels.vectors.stationary import Mahalanobis
from gramian.rows import MemoryRows, parallel_map, single_threaded_blas
from gramian.selection.cv.regularization import splits_of
from gramian.solvers.kernel.kernel_ridge import Factor, KernelPath, Singular, dual_of

ROUNDS = 5
MOST_ROWS = 2000  # that a metric is learned from
SEARCHED = 450  # of them, by which its scale and alpha are chosen in every round
FOLDS = 3  # by which the number of rounds is chosen
SCALES = np.array([0.25, 0.5, 1.0, 2.0, 4.0])  # of the root mean square distance, in the first round
NEAR = np.array([0.5, 1.0, 2.0])  # of the scale of the round before
ALPHAS = np.geomspace(10.0, 1e-8, 19)
PANEL = 256
NOTHING = 1e-14  # of the largest eigenvalue: such directions are rounding
SHOWN = 5  # columns that a summary names


@dataclass(frozen=True, eq=False)
class LearnedMetric:
    """The kernel with its metric, and how it was found.

    Attributes
    ----------
    kernel : RBF or Laplacian
    losses : array
        Validation loss after 0, 1, … rounds, in shares of the target's variance.
    rounds : int
        The number of rounds taken.
    weights : array (d,)
        What each column has of the metric, in units of its standard deviation: shares that sum to 1.
    spectrum : array (d,)
        Eigenvalues of the metric in these units: how many directions it has.
    """

    kernel: Mahalanobis
    losses: Floats
    rounds: int
    weights: Floats
    spectrum: Floats

    def note(self, names: list[str]) -> str:
        """What was learned, for a summary."""
        order = np.argsort(-self.weights, kind="stable")[:SHOWN]
        shares = ", ".join(f"{names[j]} {self.weights[j]:.2g}" for j in order)
        text = f"metric learned in {self.rounds} round{'' if self.rounds == 1 else 's'}"
        if len(self.losses) > 1:
            text += f", validation loss {self.losses[0]:.3g} before and {self.losses[self.rounds]:.3g} after"
        return f"{text} (shares of y's variance) · most of it: {shares}"


@dataclass(frozen=True, eq=False)
class MetricRound:
    """f(x) = b + Σ β k(x, x_i), at the best scale of the metric and the best alpha."""

    kernel: Mahalanobis
    scale: float
    points: Vectors
    beta: Floats
    b: Floats

    def predict(self, points: Vectors) -> Floats:
        return np.asarray(self.kernel.block(points, self.points) @ self.beta + self.b)


@single_threaded_blas()
def learn_metric(model: Any, kernel: Mahalanobis, X: Any, target: MemoryRows) -> LearnedMetric:
    """The kernel with a metric from the rows of X and their target; of more than 2000 rows, from some of them."""
    points = vectors(X)
    Y = _without_units(model, target)
    weight = target.weights
    used = np.flatnonzero(weight > 0)
    if len(used) > MOST_ROWS:
        used = np.sort(np.random.default_rng(0).choice(used, MOST_ROWS, replace=False))
    rows, Y, weight = Vectors(points[used].dense()), Y[used], weight[used]
    if isinstance(kernel.length_scale, str):
        kernel = replace(kernel, length_scale=1.0)  # type: ignore[type-var]  # the metric has the scale
    splits = _splits(model, len(points), used)
    losses = parallel_map(lambda split: _losses(kernel, rows, Y, weight, *split), splits)
    shortest = min(map(len, losses), default=0)  # a deadline may have ended some of them
    losses = [each[:shortest] for each in losses]
    mean = np.mean(losses, axis=0) if losses else np.zeros(1)
    taken = int(mean.argmin())
    final = rounds(kernel, rows, Y, weight, taken)[-1].kernel
    unit = spread(rows.X, weight)
    plain = final.metric * unit[:, None] * unit
    share = np.diagonal(plain) if plain.any() else np.ones(len(unit))
    return LearnedMetric(final, mean, taken, share / share.sum(), np.linalg.eigvalsh(plain))


def rounds(kernel: Mahalanobis, points: Vectors, Y: Floats, weight: Floats, count: int) -> list[MetricRound]:
    """Fits with the metric of 0, 1, …, `count` rounds, or fewer where a deadline ends them.

    The first metric divides columns by their standard deviation.
    """
    unit = spread(points.X, weight)
    unit[unit == 0] = 1.0
    M, scales = np.diag(1.0 / unit**2), SCALES
    found: list[MetricRound] = []
    for _ in range(count + 1):
        if found and deadline.passed():
            break
        M = _of_size(M, points.X, weight, float(kernel.scale[0]))
        found.append(_fitted(kernel, M, points, Y, weight, scales))
        scales = NEAR * found[-1].scale
        G = average_gradients(found[-1].kernel, points, found[-1].beta, weight)
        M = _rebuilt(G, unit) if G.any() else M
    return found


def average_gradients(kernel: Mahalanobis, points: Vectors, beta: Floats, weight: Floats) -> Floats:
    """(1/Σw) Σ w ∇f ∇fᵀ over the rows, for f = Σ β k(·, x_i), summed over the targets of β (n, t).

    ∇f(x) = M (Σ β s(x, x_i) x_i − x Σ β s(x, x_i)), s the slope of the kernel: products of matrices, panel by panel.
    """
    X = points.X - (points.X / len(points)).sum(axis=0)

    def panel(start: int) -> Floats:
        some = slice(start, start + PANEL)
        slope = kernel.slope(points[some], points)
        total = np.zeros((X.shape[1], X.shape[1]))
        for column in beta.T:
            G = slope @ (column[:, None] * X) - (slope @ column)[:, None] * X[some]
            total += (G * weight[some, None]).T @ G
        return total

    total = np.sum(parallel_map(panel, range(0, len(X), PANEL)), axis=0)
    found = kernel.metric @ (total / weight.sum()) @ kernel.metric
    return np.asarray((found + found.T) / 2.0)


def spread(X: Floats, weight: Floats) -> Floats:
    """The standard deviation of each column."""
    share = weight / weight.sum()
    return np.asarray(np.sqrt(share @ (X - share @ X) ** 2))


def _losses(kernel: Mahalanobis, points: Vectors, Y: Floats, weight: Floats, train: Ints, test: Ints) -> list[float]:
    """The mean squared error at rows left out, after each number of rounds."""
    rows = Vectors(points.X[train])
    share = weight[test] / weight[test].sum()
    away = Vectors(points.X[test])
    fits = rounds(kernel, rows, Y[train], weight[train], ROUNDS)
    return [float(share @ ((fit.predict(away) - Y[test]) ** 2).mean(axis=1)) for fit in fits]


def _splits(model: Any, n: int, used: Ints) -> list[tuple[Any, Any]]:
    """Places among the rows used, of a few splits: the model's own where its `cv` says more than a number."""
    if len(used) < 2 * FOLDS:
        return []
    cv = getattr(model, "cv", FOLDS)
    every = splits_of(FOLDS if isinstance(cv, int | str) else cv, MemoryRows(np.zeros((n, 1)), None, None))
    found = []
    for pair in every[:FOLDS]:
        train, test = (np.flatnonzero(np.isin(used, part)) for part in pair)
        found += [(train, test)] if len(train) >= FOLDS and len(test) else []
    return found


def _rebuilt(G: Floats, unit: Floats) -> Floats:
    """G from its eigenvectors, columns in their units: rounding leaves no negative one, even of tiny columns."""
    values, axes = np.linalg.eigh(G * unit[:, None] * unit)
    keep = values > NOTHING * float(values[-1])
    B = (axes[:, keep] * np.sqrt(values[keep])).T / unit
    return np.asarray(B.T @ B)


def _of_size(M: Floats, X: Floats, weight: Floats, size: float) -> Floats:
    """M times what makes the root mean square distance between two rows this size."""
    share = weight / weight.sum()
    X = X - share @ X
    mean = 2.0 * float(share @ np.einsum("ij,ij->i", X @ M, X))
    return M * (size / mean * size) if mean > 0 else M


def _fitted(kernel: Mahalanobis, M: Floats, points: Vectors, Y: Floats, weight: Floats, scales: Floats) -> MetricRound:
    """The fit at the scale of M and the alpha whose leave-one-out loss is smallest."""
    n = len(points)
    some = np.sort(np.random.default_rng(0).choice(n, min(n, SEARCHED), replace=False))
    rows, w = Vectors(points.X[some]), weight[some]
    best, found, alpha = np.inf, (kernel, 1.0), float(ALPHAS[0])
    for scale in scales.tolist():
        trial: Any = replace(kernel, metric=M / scale**2)  # type: ignore[type-var]
        path = KernelPath(Y[some], w, True, K=trial.matrix(rows))
        losses = [float(w @ (missed**2).sum(axis=1)) for missed in path.loo_residuals(ALPHAS)]
        least = int(np.argmin(losses))
        if not best <= losses[least]:
            best, found, alpha = losses[least], (trial, scale), float(ALPHAS[least])
    factor: Any = Factor(found[0].matrix(points), weight, alpha)
    if factor.failed:
        factor = Singular(found[0].matrix(points), weight, alpha)
    return MetricRound(*found, points, *dual_of(factor, Y, True))


def _without_units(model: Any, target: MemoryRows) -> Floats:
    """Targets (n, t) less their mean, in standard deviations; of classes one target each, 1 where a row has it."""
    assert target.y is not None
    y = target.y
    if is_classifier(model):
        y = (y[:, :1] == np.unique(y[:, 0])).astype(np.float64)
    share = target.weights / target.weights.sum()
    y = y - share @ y
    unit = np.sqrt(share @ y**2)
    return np.asarray(y / np.where(unit > 0, unit, 1.0))
