"""Which kernel, and which length scale: by the validation losses of the model itself."""

from typing import Any

import numpy as np
from sklearn.base import clone

from gramian.kernels.base import Kernel
from gramian.kernels.stationary import RBF, Laplacian, Matern
from gramian.kernels.vectors import Linear

FACTORS = np.geomspace(0.125, 8.0, 7)  # of the median distance
FINER = np.sqrt(2.0)


def searched(kernel: Any) -> bool:
    """Whether a kernel is to be chosen: "auto", or a length scale that is. Named kernels take the median distance."""
    if isinstance(kernel, str):
        return kernel == "auto"
    return isinstance(kernel, Kernel) and _open(kernel)


def chosen(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Kernel, dict[str, float]]:
    """The kernel whose validation loss is smallest, and the losses of all that were tried, by their text.

    Scales around the median distance first, then two finer ones about the best.
    """
    families: list[Kernel] = [model.kernel]
    if isinstance(model.kernel, str):
        families = [Linear(), RBF("auto"), Laplacian("auto"), Matern("auto")]
    losses: dict[Kernel, float] = {}

    def judge(kernel: Kernel) -> float:
        if kernel not in losses:
            losses[kernel] = float(model._kernel_loss(kernel, X, y, sample_weight))
        return losses[kernel]

    for family in families:
        if not _open(family):
            judge(family)
            continue
        middle = family.fitted(X)
        at = {factor: judge(_scaled(family, middle, factor)) for factor in FACTORS}
        best = min(at, key=lambda factor: at[factor])
        for factor in (best / FINER, best * FINER):
            judge(_scaled(family, middle, factor))
    found = min(losses, key=lambda kernel: losses[kernel])
    return found, {repr(kernel): loss for kernel, loss in losses.items()}


def loss_of_fit(model: Any, kernel: Kernel, X: Any, y: Any, sample_weight: Any) -> float:
    """The validation loss of the model with this kernel, at its best alpha or at the one given."""
    trial = clone(model)
    if not isinstance(trial.alpha, str):
        trial.set_params(alphas=[trial.alpha], alpha="auto")
    trial.set_params(kernel=kernel)
    trial.fit(X, y, sample_weight=sample_weight)
    scores = trial.scores_
    return float(scores.mean[scores.chosen])


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
