"""What estimators ask of a kernel before they use it."""

from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples, validate_data

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.kernels.custom import Precomputed
from gramian.kernels.points import is_table, vectors
from gramian.rows import Rows, scan


def read_points(estimator: Any, X: Any, kernel: Kernel, *, reset: bool) -> Any:
    """Points of a kernel; the columns of tables are checked as scikit-learn does, and remembered with `reset`."""
    if isinstance(X, Rows):
        X = X.collect().X
    if is_table(X):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        if reset:
            estimator.n_features_in_ = vectors(X).d
    return kernel.points(X)


def refuse_invalid(kernel: Kernel, X: Any) -> None:
    """Raise where a kernel is shown not to be one: by the rules, or by some of the points at hand."""
    if kernel.on_trust:
        return
    validity = kernel.proof()
    if validity.valid is None:
        validity = kernel.validity(X)
    if validity.valid is False and not validity.within_rounding:
        raise ValueError(
            f"{kernel!r} is no kernel: {validity.rule}. `print(kernel.validity())` shows why. To insist, give "
            "kernel.trusted(); a matrix is made one by gm.kernels.repaired(K), with kernel=gm.kernels.Precomputed()."
        )


def positive_definite(kernel: Kernel) -> bool:
    """Whether the kernel is proven to be one, so that objectives in its feature space are convex."""
    return kernel.proof().valid is True


def point_weights(X: Any, sample_weight: Any) -> Floats | None:
    """The weights of points of any kind, checked; None where there are none."""
    if sample_weight is None:
        return None
    return scan(np.zeros((_num_samples(X), 1)), sample_weight=sample_weight).collect().weight


def is_matrix(kernel: Any) -> bool:
    """Whether X is the matrix of the kernel itself, or of one that it is made of."""
    return isinstance(kernel, Precomputed) or (
        isinstance(kernel, Kernel) and any(map(is_matrix, kernel.inner_kernels().values()))
    )
