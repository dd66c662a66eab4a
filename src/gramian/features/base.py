"""What every transformer does with its input: read it, refuse what is not finite, fill an output block by block."""

import os
from collections.abc import Callable
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils.validation import validate_data

from gramian._core.types import Array, Estimator, Floats, Ints, Matrix, Table, Weights
from gramian.rows import Block, Rows, scan
from gramian.rows.feature_names import remember_columns


@runtime_checkable
class SavedMoments(Protocol):
    """What `gm.moments` gives, as far as a scaler needs it."""

    n: int
    d: int
    weight: float
    names: tuple[str, ...] | None
    scaled: Floats
    exponents: Ints

    @property
    def mean(self) -> Floats: ...


def is_moments(X: Matrix) -> TypeGuard[SavedMoments]:
    """Whether X is `gm.Moments`, told by its fields: this room stands to the left of statistics."""
    return isinstance(X, SavedMoments)


def read(estimator: Estimator, X: Table, *, fitting: bool, sample_weight: Weights = None) -> Rows:
    """Rows of X; the estimator remembers their columns when fitting and compares them otherwise."""
    if is_moments(X):
        raise ValueError(
            f"{type(estimator).__name__} needs the rows, and Moments hold only their sums: give the data, or gm.scan "
            "of them."
        )
    rows = scan(X, sample_weight=sample_weight)
    unknown = rows is X or (rows.names is not None and not hasattr(X, "shape"))  # to scikit-learn: Rows, lazy frames
    if not unknown:
        validate_data(estimator, X, reset=fitting, skip_check_array=True)
    elif fitting:
        remember_columns(estimator, rows.d, rows.names)
    else:
        refuse_other_columns(estimator, rows)
    return rows


def refuse_other_columns(estimator: Estimator, rows: Rows) -> None:
    """Raise if rows have not the number of columns, or the names, that the estimator was fitted with."""
    if rows.d != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.d} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features "
            "as input."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if rows.names is not None and fitted is not None and tuple(fitted) != rows.names:
        j = next(j for j in range(rows.d) if fitted[j] != rows.names[j])
        raise ValueError(
            f"Column {j} of X is {rows.names[j]!r}, and {type(estimator).__name__} was fitted with {fitted[j]!r} "
            "there; feature names should match those that were passed during fit, in the same order."
        )


def refuse_nonfinite(rows: Rows) -> None:
    """Raise if a feature is NaN or infinite, naming its column."""
    if rows.is_sparse:
        checked(rows.collect(), rows)
    else:
        rows.sum(lambda block: len(checked(block, rows)))


def checked(block: Block, rows: Rows) -> Block:
    """The block, if all its features are finite."""
    if not np.isfinite(block.X.data if sp.issparse(block.X) else block.X).all():
        rows.refuse_nonfinite()
    return block


def kept_dtype(rows: Rows) -> DTypeLike:
    """The type of an output: float32 for float32 rows, else float64."""
    return np.float64 if rows.precision < float(np.finfo(np.float32).eps) else np.float32


def fill(rows: Rows, columns: int, write: Callable[[Block, Array], None], remedy: str) -> Array:
    """An array of `columns` columns for all rows, where `write(block, part)` fills in the part of each finite block."""
    dtype = np.dtype(kept_dtype(rows))
    refuse_too_large(rows.n * columns * dtype.itemsize, f"{rows.n} rows × {columns} columns", remedy)
    out = np.empty((rows.n, columns), dtype=dtype)

    def one(block: Block) -> int:
        write(checked(block, rows), out[block.start : block.start + len(block)])
        return 0

    rows.sum(one)
    return out


def refuse_too_large(size: float, what: str, remedy: str) -> None:
    """Raise before asking for more memory than there is."""
    if size > memory():
        raise ValueError(
            f"{what} would take {size / 1e9:.4g} GB, and this machine has {memory() / 1e9:.4g} GB of memory. {remedy}"
        )


def memory() -> float:
    """Bytes of memory of this machine; infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def dense(X: Matrix) -> Array:
    """A block's features as a float64 array, row by row, so that products round alike for every layout."""
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
