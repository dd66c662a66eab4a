"""Which kernel, and which length scale: by the validation losses of the model itself."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from gramian._core import deadline
from gramian._core.weights import weights_or_ones
from gramian.kernels.base import Kernel
from gramian.kernels.input import point_weights
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.kernels.vectors.inner_products import Linear
from gramian.kernels.vectors.stationary import RBF, Laplacian, Matern
from gramian.rows import MemoryRows
from gramian.selection.cv.regularization import splits_of
from gramian.warnings import ConvergenceWarning, muted

FACTORS = np.geomspace(0.125, 16.0, 8)  # of the median distance
FINER = np.sqrt(2.0)
COMPARED_ALPHAS = 10  # by which a kernel is compared with others
MAX_UNEXPLAINED, MAX_RANK = (
    0.01,
    2000,
)  # share of the trace that a factor may leave unexplained, and its most columns


def searched(kernel: Any) -> bool:
    """Whether a kernel is to be chosen: "auto", or a length scale that is. Named kernels take the median distance."""
    if isinstance(kernel, str):
        return kernel == "auto"
    return isinstance(kernel, Kernel) and _open(kernel)


class KernelSearch(ABC):
    """By what kernels are compared."""

    @abstractmethod
    def begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Take the data of the fit."""

    @abstractmethod
    def loss(self, kernel: Kernel) -> float:
        """The validation loss with a kernel."""

    def compared(self, losses: dict[Kernel, float], finer: list[Kernel]) -> dict[Kernel, float]:
        """The losses of kernels once all are known: the best, and those `finer`, may be computed better."""
        return losses


class RefitSearch(KernelSearch):
    """By fits of the model: approximate where a number of landmark points may be chosen for them."""

    def __init__(self, model: Any, *, by_landmarks: bool = False) -> None:
        self.model, self.by_landmarks = model, by_landmarks

    def begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.data = (X, y, sample_weight)

    def loss(self, kernel: Kernel) -> float:
        X, y, sample_weight = self.data
        rank = searched_rank(kernel, X, sample_weight) if self.by_landmarks else None
        return loss_of_fit(self.model, kernel, X, y, sample_weight, rank)


def chosen(given: Any, X: Any, weight: Any, search: KernelSearch) -> tuple[Kernel, dict[str, float]]:
    """The kernel whose validation loss is smallest, and the losses of all that were tried, by their text.

    Scales around the median distance first, then two finer ones about the best. A deadline ends the search with the
    kernels whose losses are known by then.
    """
    families: list[Kernel] = [given]
    if isinstance(given, str):
        families = [Linear(), RBF("auto"), Laplacian("auto"), Matern("auto")]
    losses: dict[Kernel, float] = {}
    weight = point_weights(X, weight)
    finer: list[Kernel] = []

    def compare(kernel: Kernel) -> None:
        if kernel in losses or (losses and deadline.passed()):
            return
        loss = float(search.loss(kernel))
        if not (losses and deadline.passed()):  # else it may be that of a fit that was cut short
            losses[kernel] = loss

    for family in families:
        if not _open(family):
            compare(family)
            continue
        middle = family.fitted(X, weight)
        scales = {factor: _scaled(family, middle, factor) for factor in FACTORS}
        for kernel in scales.values():
            compare(kernel)
        if deadline.ended():
            break
        coarse = search.compared({kernel: losses[kernel] for kernel in scales.values()}, [])
        best = min(scales, key=lambda factor: coarse[scales[factor]])
        finer += [_scaled(family, middle, factor) for factor in (best / FINER, best * FINER)]
        for kernel in finer[-2:]:
            compare(kernel)
    if deadline.ended():
        deadline.note(f"The choice of the kernel ended with {len(losses)} tried.")
    else:
        losses = search.compared(losses, finer)
    best_kernel = min(losses, key=lambda kernel: losses[kernel])
    return best_kernel, {repr(kernel): loss for kernel, loss in losses.items()}


def searched_rank(kernel: Kernel, X: Any, sample_weight: Any) -> int:
    """Landmark points that leave at most 1 % of the trace of the kernel matrix."""
    weight = point_weights(X, sample_weight)
    ready = kernel.fitted(X, weight)
    points = ready.points(X)
    return max(len(pivots(ready, points, min(len(points), MAX_RANK), tol=MAX_UNEXPLAINED)[0].index), 1)


def loss_of_fit(model: Any, kernel: Kernel, X: Any, y: Any, sample_weight: Any, rank: int | None = None) -> float:
    """The validation loss of the model with this kernel, at its best alpha (or number of neighbours) or the one given.

    Of models that choose nothing it is the error rate in five folds.
    """
    trial = clone(model)
    own = trial.get_params(deep=False)
    if "alphas" in own:
        given = [own["alpha"]] if not isinstance(own["alpha"], str) else own["alphas"]
        trial.set_params(alphas=min(given, COMPARED_ALPHAS) if isinstance(given, int) else given, alpha="auto")
    elif "n_neighbors" not in own:
        return _error_rate(trial.set_params(kernel=kernel), X, y, sample_weight)
    elif not isinstance(own["n_neighbors"], str):
        trial.set_params(neighbors=[own["n_neighbors"]], n_neighbors="auto")
    trial.set_params(kernel=kernel, **({} if rank is None else {"rank": rank}))
    with muted(ConvergenceWarning):
        scores = trial._comparison_scores(X, y, sample_weight)
    return float(scores.mean[scores.chosen])


def _error_rate(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    y = np.asarray(y)
    weight = weights_or_ones(sample_weight, len(y))
    errors = total = 0.0
    for train, test in splits_of(5, MemoryRows(np.zeros((len(y), 1)), None, None)):
        rest = train[weight[train] > 0]
        if len(np.unique(y[rest])) < 2:
            continue
        with muted(ConvergenceWarning):
            fitted = clone(model).fit(_safe_indexing(X, rest), y[rest], sample_weight=weight[rest])
        errors += float(weight[test] @ (fitted.predict(_safe_indexing(X, test)) != y[test]))
        total += float(weight[test].sum())
    return errors / max(total, 1e-300)


def _open(kernel: Kernel) -> bool:
    """Whether a length scale somewhere in it is "auto"."""
    own = kernel.get_params(deep=False)
    parts = [part for value in own.values() for part in (value if isinstance(value, tuple) else (value,))]
    return _waits(own.get("length_scale")) or any(_open(part) for part in parts if isinstance(part, Kernel))


def _scaled(kernel: Kernel, middle: Kernel, factor: float) -> Kernel:
    """The kernel with every length scale that is "auto" set to a multiple of what it is in `middle`; the rest waits."""
    changed: dict[str, Any] = {}
    ready = middle.get_params(deep=False)
    for name, value in kernel.get_params(deep=False).items():
        there = ready[name]
        if name == "length_scale" and _waits(value):
            changed[name] = _times(there, factor)
        elif isinstance(value, Kernel) and isinstance(there, tuple):  # one kernel for each column
            changed[name] = tuple(_scaled(value, part, factor) for part in there)
        elif isinstance(value, Kernel):
            changed[name] = _scaled(value, there, factor)
        elif isinstance(value, tuple) and any(isinstance(part, Kernel) for part in value):
            changed[name] = tuple(_scaled(part, other, factor) for part, other in zip(value, there, strict=True))
    return kernel.set_params(**changed) if changed else kernel


def _waits(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _times(scale: Any, factor: float) -> Any:
    return float(scale) * float(factor) if np.ndim(scale) == 0 else np.asarray(scale, dtype=float) * factor
