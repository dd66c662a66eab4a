"""What a fit with a kernel reads: points and their targets, the kernel with what was learned of it, landmarks."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.kernels.input import point_weights, read_points, refuse_invalid
from gramian.kernels.lowrank.landmarks import MOST_CELLS, sampled_pivots
from gramian.kernels.lowrank.pivoted_cholesky import pivots_of_distinct
from gramian.kernels.named import kernel_of
from gramian.kernels.representation import Landmarks
from gramian.kernels.vectors.stationary import Mahalanobis
from gramian.models.base.composed import penalty_of
from gramian.models.kernel.learned_metric import LearnedMetric, learn_metric
from gramian.models.kernel.search import KernelSearch, chosen, searched
from gramian.objective.penalties import L2
from gramian.rows import MemoryRows, Rows, replacement_index, scan

EXACT_RANK = 2000  # rows up to which a factor of K is taken whole


@dataclass(frozen=True, eq=False)
class KernelData:
    """Points of a fit and their targets, and the kernel as fitted.

    Attributes
    ----------
    X : the data given; points : prepared points; target : MemoryRows
        The target and weights of each, in rows of nothing else.
    losses : dict or None
        Validation losses of kernels, or of rounds of learning, by which it was chosen.
    metric : LearnedMetric or None
    search : KernelSearch or None
        What the choice of the kernel has computed.
    """

    kernel: Kernel
    X: Any
    points: Any
    target: MemoryRows
    losses: dict[str, float] | None = None
    metric: LearnedMetric | None = None
    search: KernelSearch | None = None


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Rows of a factor K ≈ F Fᵀ with the target: what a linear model with ‖w‖² is fitted to."""

    data: KernelData
    representation: Landmarks
    rows: Rows


def read_kernel_data(model: Any, X: Any, y: Any, sample_weight: Any, *, targeted: bool = True) -> KernelData:
    """Read X, y and weights for a fit with `model.kernel`; the model remembers the columns of tables.

    A kernel is chosen by the target, as the model compares kernels; without targets it has the median distance.
    """
    target: Any = None
    if isinstance(X, Rows) and not targeted:
        block = X.collect()
        X, sample_weight = block.X, block.weight if sample_weight is None else sample_weight
    elif isinstance(X, Rows) and y is None:
        block = X.collect()
        target = _with_target(X, np.zeros((X.n, 1)), block.y, block.weight)
        X = block.X
    elif y is None and targeted:
        raise ValueError(f"This {type(model).__name__} estimator requires y to be passed, but the target y is None.")
    weight = point_weights(X, sample_weight) if target is None else target.weight
    losses, metric, search = None, None, None
    if targeted and isinstance(model.kernel, Mahalanobis) and model.kernel.learns:
        metric = _learned(model, X, y, sample_weight, target)
        kernel: Kernel = metric.kernel
        losses = {f"{count} rounds": float(loss) for count, loss in enumerate(metric.losses)}
    elif searched(model.kernel) and not targeted:  # nothing to compare by: the median distance
        kernel = kernel_of("rbf" if isinstance(model.kernel, str) else model.kernel)
    elif searched(model.kernel):
        labels, search = y if target is None else target.y[:, 0], model._kernel_search()
        search.begin(X, labels, sample_weight if target is None else weight)
        kernel, losses = chosen(model.kernel, X, sample_weight if target is None else weight, search)
    else:
        kernel = kernel_of(model.kernel, auto=True)
    kernel = kernel.fitted(X, weight)
    refuse_invalid(kernel, X)
    points = read_points(model, X, kernel, reset=True)
    if not targeted:
        y = np.zeros(len(points))
    if target is None:
        target = scan(np.zeros((len(points), 1)), y, sample_weight=sample_weight)
    index = replacement_index(target.weight)
    if index is not None:
        points, target = points[index], target if is_classifier(model) else target.settled()
    return KernelData(kernel, X, points, target, losses, metric, search)


def kernel_features(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    penalty: Any = "l2",
    rank: int | None = None,
    with_residual: bool = False,
) -> KernelFeatures:
    """Read a fit with a kernel as features of landmark points: of all rows, up to 2000, unless `rank` is given."""
    if not isinstance(penalty_of(penalty), L2):
        raise ValueError(
            f"With kernel= the penalty is the norm of the function: penalty must be 'l2', not {penalty!r}."
        )
    data = read_kernel_data(model, X, y, sample_weight)
    points, target, n = data.points, data.target, len(data.points)
    count = min(n, EXACT_RANK if rank is None else _rank(rank))
    if n * count > MOST_CELLS and not with_residual:
        landmarks = sampled_pivots(data.kernel, points, count, weight=target.weight)
        return KernelFeatures(data, landmarks, landmarks.rows_of(points, target))
    landmarks, F = pivots_of_distinct(data.kernel, points, count, target.weight)
    if rank is None and count == n:
        landmarks = replace(landmarks, neglected=_neglected(data.kernel, points, F, target.weights))
    if with_residual:  # of the rows of the fit nothing is left
        landmarks, F = replace(landmarks, with_residual=True), np.column_stack([F, np.zeros(n)])
    return KernelFeatures(data, landmarks, _with_target(target, F, target.y, target.weight))


def _neglected(kernel: Kernel, points: Any, F: Floats, weight: Floats) -> float:
    """The share of Σ w ‖φ(x) − mean‖² that a factor of the kernel matrix leaves out; 0 where all points are equal."""
    used = weight > 0
    diagonal, F, weight = kernel.diag(points)[used], F[used], weight[used]
    lost = float(weight @ np.maximum(diagonal - (F**2).sum(axis=1), 0.0))
    mean = weight @ F / weight.sum()
    varying = float(weight @ ((F - mean) ** 2).sum(axis=1))
    X = getattr(points, "X", None)
    if isinstance(X, np.ndarray) and (X[used] == X[used][:1]).all():
        return 0.0
    return lost / (lost + varying) if lost > 0 else 0.0


def _with_target(rows: Rows, X: Floats, y: Any, weight: Any) -> MemoryRows:
    """Rows of X with a target that is described as that of other rows."""
    return MemoryRows(
        X, y, weight, target_names=rows.target_names, one_target=rows.one_target, labels=rows.labels,
        target_type=rows.target_type,
    )  # fmt: skip


def _learned(model: Any, X: Any, y: Any, sample_weight: Any, target: Any) -> LearnedMetric:
    points = read_points(model, X, kernel_of(model.kernel), reset=True)
    if target is None:
        target = scan(np.zeros((len(points), 1)), y, sample_weight=sample_weight)
    if not is_classifier(model):
        target.refuse_labels()
    return learn_metric(model, model.kernel, points, target)


def _rank(rank: Any) -> int:
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
        raise ValueError(f"rank is {rank!r}; it must be None or a whole number of at least 1.")
    return int(rank)
