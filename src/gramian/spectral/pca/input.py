"""What a spectral fit reads: rows without their target, or sums of them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Ints
from gramian.features.base import read
from gramian.kernels.points import vectors
from gramian.rows import MemoryRows, Rows
from gramian.rows.feature_names import remember_columns
from gramian.statistics import Moments, Triangle


def sums_or_rows(estimator: Any, X: Any, sample_weight: Any) -> Rows | Moments | Triangle:
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


def finite_numbers(rows: Rows) -> Any:
    """Finite numbers, as an array or CSR."""
    X = rows.collect().X
    if not np.isfinite(X.data if sp.issparse(X) else X).all():
        rows.refuse_nonfinite()
    return vectors(X).X


def subset(points: Any, index: Ints) -> Any:
    """The points at these places of an array or a list."""
    return points[index] if hasattr(points, "shape") else [points[i] for i in index]
