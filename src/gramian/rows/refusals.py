"""Sentences for what is no table of numbers, in place of the messages of the functions that stumble over it."""

import os
from typing import Any

import numpy as np

from gramian._core.types import Array, Matrix, Table

FILES = "Files are not read yet: read it with pandas.read_csv or polars.read_csv, and give the data frame."
ENCODE = "Encode it first, for example with sklearn.preprocessing.OneHotEncoder, or drop it."


def no_table(source: Table) -> Exception | None:
    """The error for an X without rows and columns, or None if it may have them.

    >>> no_table(None)
    TypeError('X is None; a table of n rows × d columns is needed, as an array, a data frame or a sparse matrix.')
    """
    if isinstance(source, str | bytes | os.PathLike):
        return TypeError(f"X is {_short(source)}, {_as_a_file(source)}; a table in memory is needed. {FILES}")
    if _converts(source) and not hasattr(source, "shape") and np.asarray(source).ndim == 0:
        kind = "None" if source is None else f"{_short(source)}, of type {type(source).__name__}"
        return TypeError(
            f"X is {kind}; a table of n rows × d columns is needed, as an array, a data frame or a sparse matrix."
        )
    return None


def no_numbers(source: Any, error: Exception) -> Exception:
    """The error for an X that could not be read as an array of numbers: a sentence, or the error itself."""
    early = no_table(source)
    if early is not None:
        return early
    if not _converts(source):
        return _ragged(source) or error
    array = source if hasattr(source, "dtype") else _objects(source)
    if array.dtype.names is not None:
        return ValueError(
            f"X is an array of records with the fields {', '.join(map(repr, array.dtype.names))}: give "
            "pandas.DataFrame(X), or its columns as numpy.column_stack."
        )
    if array.dtype.kind == "c":
        return ValueError(
            "Complex data not supported: X holds complex numbers. Give their real and imaginary parts as columns, "
            "numpy.hstack([X.real, X.imag]), or their absolute values."
        )
    if array.ndim == 1:
        return ValueError(
            f"Expected 2D array, got 1D array instead: X has shape {array.shape}. Reshape your data: X.reshape(-1, 1) "
            "if it is one column, X.reshape(1, -1) if it is one row."
        )
    if array.ndim > 2:
        return ValueError(
            f"Found array with dim {array.ndim}, while dim <= 2 is required: X has shape {array.shape}. Give "
            "X.reshape(len(X), -1) if each row is an array of its own."
        )
    if array.ndim == 2 and array.dtype.kind in "OUS":
        return _cell(array) or error
    return error


def no_dates(X: Matrix) -> Exception:
    """The error for an array of dates or of lengths of time."""
    what = "dates" if X.dtype.kind == "M" else "lengths of time"
    unit = "X.astype('datetime64[s]').astype(float)" if X.dtype.kind == "M" else "X / numpy.timedelta64(1, 's')"
    return ValueError(f"X holds {what} ({X.dtype}), and numbers are needed: give them in a unit, as {unit}.")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _as_a_file(source: Any) -> str:
    try:
        there = os.path.exists(source)
    except ValueError:  # a path with a null byte
        there = False
    return "the path of a file" if there else "a text that is not the path of a file either"


def _converts(source: Table) -> bool:
    """Whether NumPy makes an array of it."""
    if hasattr(source, "shape"):
        return True
    try:
        np.asarray(source)
    except ValueError:
        return False
    return True


def _objects(source: Table) -> Array:
    """Lists as an array; of objects where NumPy has no type of its own for all of them."""
    given = np.asarray(source)
    return given if given.dtype.kind in "cOUSmMV" else np.array(source, dtype=object)


def _ragged(source: Any) -> Exception | None:
    """Rows of different lengths."""
    try:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in source]
    except TypeError:
        return None
    other = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if other is None:
        return None
    return ValueError(
        f"The rows of X have different lengths: row 0 has {lengths[0]} values and row {other} has {lengths[other]}. "
        "Every row needs one value for each column."
    )


def _cell(cells: Array) -> Exception | None:
    """The first cell that is no number."""
    for (row, column), value in np.ndenumerate(cells):
        try:
            float(value)
        except OverflowError:
            return ValueError(
                f"Column {column} of X holds {_short(value)} at row {row}, beyond the range of float64: rescale it."
            )
        except (TypeError, ValueError):
            where = f"Column {column} of X holds {_short(value)} at row {row}, and a number is needed"
            if isinstance(value, str | bytes):
                return ValueError(f"{where}: could not convert string to float. {ENCODE}")
            return TypeError(f"{where}: the argument must be a string or a real number, not {type(value).__name__!r}.")
    return None
