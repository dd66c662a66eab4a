"""Which kernel, and which length scale: by the validation losses of the model itself."""

from typing import Any

import numpy as np
from sklearn.base import clone

from gramian.kernels.base import Kernel
from gramian.kernels.stationary import RBF, Laplacian, Matern
from gramian.kernels.vectors import Linear

FACTORS = np.geomspace(0.125, 16.0, 8)  # of the median distance
FINER = np.sqrt(2.0)


def searched(kernel: Any) -> bool:
    """Whether a kernel is to be chosen: "auto", or a length scale that is. Named kernels take the median distance."""
    if isinstance(kernel, str):
        return kernel == "auto"
    return isinstance(kernel, Kernel) and bool(_open(kernel))


def chosen(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Kernel, dict[str, float]]:
    """The kernel whose validation loss is smallest, and the losses of all that were tried, by their text.

    Scales around the median distance first, then two finer ones about the best.
    """
    families: list[Kernel] = [model.kernel]
    if isinstance(model.kernel, str):
        families = [Linear(), RBF("auto"), Laplacian("auto"), Matern("auto")]
    losses: dict[Kernel, float] = {}
    finer: list[Kernel] = []

    def judge(kernel: Kernel) -> float:
        if kernel not in losses:
            losses[kernel] = float(model._kernel_loss(kernel, X, y, sample_weight))
        return losses[kernel]

    for family in families:
        paths = _open(family)
        if not paths:
            judge(family)
            continue
        middle = family.fitted(X).get_params()
        scales = {factor: _scaled(family, paths, middle, factor) for factor in FACTORS}
        for kernel in scales.values():
            judge(kernel)
        coarse = model._kernel_losses({kernel: losses[kernel] for kernel in scales.values()}, [])
        best = min(scales, key=lambda factor: coarse[scales[factor]])
        finer += [_scaled(family, paths, middle, factor) for factor in (best / FINER, best * FINER)]
        for kernel in finer[-2:]:
            judge(kernel)
    losses = model._kernel_losses(losses, finer)
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


def _open(kernel: Kernel) -> list[str]:
    """Paths of length scales that are "auto"."""
    return [
        path
        for path, value in kernel.get_params().items()
        if path.split("__")[-1] == "length_scale" and isinstance(value, str) and value == "auto"
    ]


def _scaled(kernel: Kernel, paths: list[str], middle: dict[str, Any], factor: float) -> Kernel:
    return kernel.set_params(**{path: _times(middle[path], factor) for path in paths})


def _times(scale: Any, factor: float) -> Any:
    return float(scale) * float(factor) if np.ndim(scale) == 0 else np.asarray(scale, dtype=float) * factor
