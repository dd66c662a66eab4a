"""What a spectral fit reads: rows without their target, or sums of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Estimator, Ints, Matrix, Table, Weights
from gramian._core.validation import is_integer
from gramian.features.base import read
from gramian.kernels.points import vectors
from gramian.rows import MemoryRows, Rows
from gramian.rows.feature_names import remember_columns
from gramian.statistics import Moments, Triangle


@dataclass(frozen=True)
class RequestedComponents:
    """The parameter n_components: a number of components, a share of the variance, "auto", or else all.

    >>> RequestedComponents.of(0.9)
    RequestedComponents(count=None, share=0.9, automatic=False)
    """

    count: int | None = None
    share: float | None = None
    automatic: bool = False

    @property
    def all(self) -> bool:
        return self.count is None and self.share is None and not self.automatic

    @classmethod
    def of(cls, value: object) -> "RequestedComponents":
        if value is None:
            return cls()
        if isinstance(value, str) and value == "auto":
            return cls(automatic=True)
        if is_integer(value) and value >= 1:
            return cls(count=int(value))
        if isinstance(value, float | np.floating) and 0.0 < value < 1.0:
            return cls(share=float(value))
        raise ValueError(
            f'n_components is {value!r}; it must be "auto", a whole number of at least 1, a share of the variance '
            "between 0 and 1, or None for all."
        )


def sums_or_rows(estimator: Estimator, X: Table, sample_weight: Weights) -> Rows | Moments | Triangle:
    """Rows of X, or the sums that X is; the estimator remembers the columns."""
    if isinstance(X, Moments | Triangle):
        if sample_weight is not None:
            raise ValueError("Moments hold their weights: give sample_weight to gm.moments itself.")
        remember_columns(estimator, X.d, X.names)
        return X
    return without_target(read(estimator, X, fitting=True, sample_weight=sample_weight))


def without_target(rows: Rows) -> Rows:
    """The same rows without their target, which need not be numeric."""
    if isinstance(rows, MemoryRows) and rows.target_names:
        return MemoryRows(rows.X, None, rows.weight, names=rows.names)
    return rows


def finite_numbers(rows: Rows) -> Matrix:
    """Finite numbers, as an array or CSR."""
    X = rows.collect().X
    if not np.isfinite(X.data if sp.issparse(X) else X).all():
        rows.refuse_nonfinite()
    return vectors(X).X


def subset(points: Any, index: Ints) -> Any:
    """The points at these places of an array or a list."""
    return points[index] if is_array(points) else [points[i] for i in index]


def is_array(points: Any) -> bool:
    """Whether points are the rows of an array or sparse matrix; other points are in lists."""
    return hasattr(points, "shape")
