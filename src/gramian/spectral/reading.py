"""What a spectral fit reads: rows without their target, or sums of them."""

from typing import Any

from gramian.features.passes import read
from gramian.rows import MemoryRows, Rows
from gramian.rows.columns import remember_columns
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
    """The same rows alone: what is not asked for need not be numbers."""
    if isinstance(rows, MemoryRows) and rows.target_names:
        return MemoryRows(rows.X, None, rows.weight, names=rows.names)
    return rows
