"""`gm.scan`: one door for every source of rows, where bad input is named and refused."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length

from gramian._core.types import Array, Matrix, Table, Values, Weights
from gramian.rows.base import Rows
from gramian.rows.memory import MemoryRows
from gramian.rows.refusals import ENCODE, no_dates, no_numbers
from gramian.warnings import PrecisionWarning, warn_user

EXACT_INTEGERS = 2**53


def scan(
    source: Table,
    y: Values | None = None,
    *,
    sample_weight: Weights = None,
    target: str | Sequence[str] | None = None,
    weight: str | None = None,
) -> Rows:
    """Make `Rows` of a table in memory.

    Parameters
    ----------
    source : array, data frame or sparse matrix
        Features, n rows × d columns. NumPy arrays of any float or integer type and order, pandas and polars frames,
        Arrow tables, SciPy sparse matrices and arrays.
    y : array or series, optional
        One target (n,) or several (n, t).
    sample_weight : array, optional
        One non-negative weight per row. Weights are counts: weight 2 is the row given twice.
    target, weight : str, or a list of str for target
        With a data frame: the columns that hold the target and the weight, instead of `y` and `sample_weight`.

    Examples
    --------
    >>> import gramian as gm
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "age": [5.0, 1.0, 4.0], "price": [10.0, 20.0, 33.0]})
    >>> gm.scan(frame, target="price")
    <Rows: 3 rows × 2 features, target price>
    """
    if isinstance(source, Rows):
        if y is not None or sample_weight is not None or target is not None or weight is not None:
            raise ValueError("These rows were scanned already; give the target and the weights to gm.scan itself.")
        return source
    names: tuple[str, ...] | None = None
    frame = _frame(source)
    if frame is not None:
        target_columns = [target] if isinstance(target, str) else list(target or [])
        _refuse_unknown([*target_columns, *([weight] if weight is not None else [])], frame.columns)
        if target_columns:
            if y is not None:
                raise ValueError("Give either y or target=, not both.")
            y = frame.select(target_columns) if not isinstance(target, str) else frame[target]
        if weight is not None:
            if sample_weight is not None:
                raise ValueError("Give either sample_weight or weight=, not both.")
            sample_weight = frame[weight]
        used = {*target_columns, weight}
        features = [
            (name, column) for name, column in zip(frame.columns, frame.iter_columns(), strict=True) if name not in used
        ]
        X: Matrix | list[Array] = [_column(column, name) for name, column in features]
        # Columns without text names have none, as scikit-learn sees it.
        names = tuple(name for name, _ in features) if all(isinstance(name, str) for name, _ in features) else None
        if not X:
            raise ValueError("The table has no feature columns: at least 1 is required.")
        if len(X[0]) == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape=(0, {len(X)})) while a minimum of 1 is required.")
    else:
        if target is not None or weight is not None:
            raise ValueError(
                "target= and weight= name columns of a data frame; with an array, give y and sample_weight."
            )
        X = _matrix(source)
    n = len(X[0]) if isinstance(X, list) else X.shape[0]
    values, target_names, one, labels, kind = _targets(y, n)
    return MemoryRows(
        X,
        values,
        _weights(sample_weight, n),
        names=names,
        target_names=target_names,
        one_target=one,
        labels=labels,
        target_type=kind,
    )


def _frame(source: Table) -> "nw.DataFrame[Any] | None":
    frame = nw.from_native(source, pass_through=True, eager_only=False)
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _refuse_unknown(names: list[str], columns: list[str]) -> None:
    import difflib

    for name in names:
        if name not in columns:
            matches = difflib.get_close_matches(name, columns, n=1)
            hint = (
                f"did you mean {matches[0]!r}?" if matches else f"the columns are {', '.join(map(repr, columns[:10]))}."
            )
            raise ValueError(f"There is no column {name!r}; {hint}")


def _column(series: Any, name: str) -> Array:
    """A column as numbers, without a copy where the frame allows it."""
    kind = series.dtype
    if kind == nw.Boolean or kind.is_numeric():
        if series.null_count() or kind.is_decimal():
            series = series.cast(nw.Float64)
        values = np.asarray(series.to_numpy())
        if values.dtype.kind in "iu":
            _warn_of_wide_integers(values, f"column {name!r}")
        return values if values.dtype.kind in "fiu" else values.astype(np.float64)
    if kind == nw.Object:
        try:
            return np.asarray(series.to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            pass
    example = next((value for value in series.to_list() if value is not None), None)
    if kind.is_temporal():
        raise ValueError(
            f"Column {name!r} holds dates or times such as {example!r}, and a number is needed: give it in a unit, for "
            "example days since the first, or as columns of the year, the month and the weekday."
        )
    raise ValueError(
        f"Column {name!r} holds {str(kind).lower()} values such as {example!r}, and a number is needed: could not "
        f"convert string to float. {ENCODE}"
    )


def _matrix(source: Table) -> Matrix:
    try:
        X = check_array(
            source, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, accept_large_sparse=True, copy=False
        )
    except (OverflowError, TypeError, ValueError) as error:
        raise no_numbers(source, error) from None
    if X.dtype.kind in "mM":
        raise no_dates(X)
    if sp.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    if X.dtype.kind in "iu":
        _warn_of_wide_integers(X, "X")
    if X.dtype.kind in "fiu" and X.dtype.itemsize <= 8:
        return X
    try:
        return X.astype(np.float64)
    except OverflowError as error:
        raise no_numbers(source, error) from None


def _warn_of_wide_integers(values: Array, where: str) -> None:
    if values.dtype.itemsize == 8 and values.size and max(int(values.max()), -int(values.min())) > EXACT_INTEGERS:
        warn_user(
            f"{where} holds integers beyond 2^53, which float64 rounds to the nearest even neighbour; "
            "subtract a constant first if their last digits matter.",
            PrecisionWarning,
        )


def _targets(y: Any, n: int) -> tuple[Array | None, tuple[str, ...], bool, Array | None, Any]:
    """Numbers (n, t), their names, whether they were one column, the labels they stand for or None, their type."""
    if y is None:
        return None, (), True, None, np.float64
    names: tuple[str, ...] | None = None
    native = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(native, nw.Series):
        names = (str(native.name or "y"),)
        y = _target_column(native, names[0])
    elif isinstance(native, nw.DataFrame):
        names = tuple(map(str, native.columns))
        y = np.column_stack([_target_column(column, column.name) for column in native.iter_columns()])
    elif isinstance(y, list | tuple) and any(isinstance(value, str) for value in y):
        y = np.array(y, dtype=object)  # as they are: NumPy would write a missing number as a word
    array = np.asarray(y.toarray() if sp.issparse(y) else y)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers.")
    if array.ndim not in (1, 2):
        raise ValueError(f"y should be a 1d array, or 2d with one column per target; got shape {array.shape}.")
    check_consistent_length(np.empty(n), array)
    values, labels = _numbers(array, n)
    one = array.ndim == 1
    values = np.asarray(values.reshape(n, -1), dtype=np.float64)
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        kind = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(
            f"Input y contains {kind}: {int(bad.sum())} of {n} rows have a missing or infinite (inf) target, the first "
            f"is row {int(bad.argmax())}. Drop those rows."
        )
    names = names or tuple(f"y{j}" if values.shape[1] > 1 else "y" for j in range(values.shape[1]))
    whole = np.int64 if (values == np.round(values)).all() else np.float64
    return values, names, one, labels, array.dtype if array.dtype.kind in "fiu" else whole


def _target_column(series: Any, name: str) -> Array:
    """Numbers as numbers, truth values as such, anything else as labels."""
    if series.dtype == nw.Boolean and not series.null_count():
        return np.asarray(series.to_numpy()).astype(bool)
    return _column(series, name) if series.dtype.is_numeric() else np.array(series.to_list(), dtype=object)


def _is_missing(value: object) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _numbers(target: Array, n: int) -> tuple[Array, Array | None]:
    """The target as numbers: itself, or the place of each label among the labels in order."""
    if target.dtype.kind in "fiu":
        return target, None
    if target.dtype.kind == "b":
        return target.astype(np.float64), np.array([False, True])
    flat = target.reshape(-1)
    if target.dtype.kind == "O" and flat.size and all(isinstance(value, bool | np.bool_) for value in flat):
        return target.astype(np.float64), np.array([False, True])
    text = target.dtype.kind in "USmM" or any(isinstance(value, str) for value in flat)
    if not text and not any(_is_missing(value) and value is not None for value in flat if not isinstance(value, float)):
        try:
            return target.astype(np.float64), None
        except (TypeError, ValueError):
            pass
    values = target.astype(object).reshape(n, -1)
    missing = np.array([any(_is_missing(value) for value in row) for row in values])
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {int(missing.sum())} of {n} rows have no label, the first is row "
            f"{int(missing.argmax())}. Drop those rows."
        )
    try:
        labels, codes = np.unique(target, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values.reshape(-1)})
        raise ValueError(
            f"y mixes values that cannot be put in order ({', '.join(kinds)}): give labels of one kind."
        ) from None
    return codes.reshape(target.shape).astype(np.float64), labels


def _weights(weight: Weights, n: int) -> Array | None:
    if weight is None:
        return None
    native = nw.from_native(weight, pass_through=True, series_only=True)
    try:
        array = np.asarray(native.to_numpy() if isinstance(native, nw.Series) else weight)
        values = None if array.dtype.kind in "cmM" else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        values = None
    if values is None:
        raise ValueError("sample_weight must hold one number per row: real numbers, not text, dates, lists or others.")
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar; got shape {values.shape}.")
    if values.shape[0] != n:
        raise ValueError(f"sample_weight.shape == ({values.shape[0]},), expected ({n},): one weight per row.")
    if not np.isfinite(values).all():
        raise ValueError(
            f"sample_weight contains NaN or infinity, first at row {int((~np.isfinite(values)).argmax())}."
        )
    if (values < 0).any():
        row = int((values < 0).argmax())
        raise ValueError(f"sample_weight is negative at row {row} ({values[row]}): Negative values in data.")
    largest = float(values.max())
    if largest == 0:
        raise ValueError("All weights are zero: no row counts. Give at least one positive sample_weight.")
    if not 1e-100 <= largest <= 1e100:
        raise ValueError(
            f"The largest sample_weight is {largest:g}; rescale the weights to lie between 1e-100 and 1e100."
        )
    return values
