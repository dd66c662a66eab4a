"""Targets, predictions and weights as arrays, from whatever holds them; what is wrong is named with its row."""

from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from gramian._core.types import Array, Floats, Values, Weights
from gramian.warnings import PrecisionWarning, warn_user

EXACT_INTEGERS = 2**53
WHAT_LABELS_ARE = "class labels are text, whole numbers or booleans"


def read_numbers(values: object, name: str) -> Floats:
    """Finite float64 numbers, (n,) or (n, columns)."""
    array = _array(values, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {array.shape}; it must have one axis, or two.")
    if array.ndim == 2 and array.shape[1] == 0:
        raise ValueError(f"{name} has no columns.")
    if array.dtype.kind not in "biufO":
        raise ValueError(f"{name} holds {array.dtype} values; real numbers are needed.")
    if array.dtype.kind == "O":
        for row, entry in enumerate(array.ravel().tolist()):
            if entry is not None and not isinstance(entry, Real | Decimal):
                raise ValueError(f"{name} holds {entry!r} at row {row // np.size(array[0])}; real numbers are needed.")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and _beyond(array, EXACT_INTEGERS):
        warn_user(f"{name} holds integers beyond 2^53, which float64 rounds.", PrecisionWarning)
    array = array.astype(np.float64, copy=False)
    nonfinite = ~np.isfinite(array)
    if nonfinite.any():
        row = int(nonfinite.any(axis=1).argmax() if array.ndim == 2 else nonfinite.argmax())
        kind = "NaN" if np.isnan(array[row]).any() else "infinity"
        raise ValueError(f"{name} contains {kind}, first at row {row}. Drop those rows, or predict them.")
    return array


def read_labels(values: object, name: str) -> Array:
    """Class labels (n,): text, int64 or bool."""
    array = _array(values, name, objects=True)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}; it must hold one class label per row, shape (n,).")
    if array.dtype.kind in "OT":
        array = _of_one_type(array, name)
    kind = array.dtype.kind
    if kind == "f":
        return _whole(array, name)
    if kind == "u" and _beyond(array, np.iinfo(np.int64).max):
        raise ValueError(f"{name} holds labels beyond 2^63; give them as text.")
    if kind in "iu":
        return array.astype(np.int64, copy=False)
    if kind not in "bU":
        raise ValueError(f"{name} holds {array.dtype} values; {WHAT_LABELS_ARE}.")
    return array


def read_weights(values: object, n: int) -> Floats:
    """Non-negative weights (n,), ones if there are none given."""
    if values is None:
        return np.ones(n)
    weight = read_numbers(values, "sample_weight")
    if weight.ndim != 1:
        raise ValueError(f"sample_weight has shape {weight.shape}; it must have one weight per row, shape ({n},).")
    same_length(n, weight, "sample_weight")
    if (weight < 0).any():
        row = int((weight < 0).argmax())
        raise ValueError(f"sample_weight is negative at row {row} ({weight[row]:g}); weights are counts, 0 or more.")
    largest = float(weight.max(initial=0.0))
    if largest and not 1e-100 <= largest <= 1e100:
        raise ValueError(f"The largest sample_weight is {largest:g}; rescale weights to lie between 1e-100 and 1e100.")
    return weight


def read_pair(y: Values, prediction: Values, sample_weight: Weights) -> tuple[Floats, Floats, Floats]:
    """True and predicted numbers, (n, targets) both, and weights, of the rows that have a weight."""
    truth, predicted = read_numbers(y, "y"), read_numbers(prediction, "prediction")
    same_length(len(truth), predicted, "prediction")
    truth, predicted = (part[:, None] if part.ndim == 1 else part for part in (truth, predicted))
    if truth.shape != predicted.shape:
        raise ValueError(f"y has {truth.shape[1]} targets and prediction {predicted.shape[1]} columns.")
    weight = read_weights(sample_weight, len(truth))
    if not weight.all():
        truth, predicted, weight = truth[weight > 0], predicted[weight > 0], weight[weight > 0]
    return truth, predicted, weight


def same_length(n: int, values: Array, name: str) -> None:
    """Refuse another number of rows than y has."""
    if len(values) != n:
        raise ValueError(f"y has {n} rows and {name} {len(values)}: they must be of the same rows.")


def one_kind(values: Array, others: Array, name: str, other_name: str) -> tuple[Array, Array]:
    """Both as text, both as booleans, or both as whole numbers."""
    kinds = {values.dtype.kind, others.dtype.kind}
    if values.size and others.size and "U" in kinds and len(kinds) > 1:
        raise ValueError(
            f"{name} holds labels such as {values[:1].tolist()[0]!r} and {other_name} such as "
            f"{others[:1].tolist()[0]!r}: give both as text, or both as numbers."
        )
    if len(kinds) > 1 and "U" not in kinds:
        return values.astype(np.int64), others.astype(np.int64)
    return values, others


def _array(values: Any, name: str, objects: bool = False) -> Array:
    """A NumPy array of a series, a frame or anything array-like; lists keep the types of their entries."""
    native = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(native, nw.Series):
        return _column(native, name)
    if isinstance(native, nw.DataFrame):
        columns = [_column(column, name) for column in native.iter_columns()]
        return np.column_stack(columns) if columns else np.empty((len(native), 0))
    if objects and not hasattr(values, "__array__"):
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ValueError(f"{name} is {values!r}; it must hold one class label per row.")
        values = list(values)
        if not any(isinstance(entry, list | tuple) for entry in values):
            return _of_entries(values)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} is not a table: its rows have different lengths.") from None


def _column(series: Any, name: str) -> Array:
    missing = series.is_null()
    if missing.any():
        raise ValueError(f"{name} contains NaN or null, first at row {missing.to_list().index(True)}. Drop those rows.")
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        series = series.cast(nw.Float64) if series.dtype.is_decimal() else series
        return np.asarray(series.to_numpy())
    return _of_entries(series.to_list())


def _of_entries(entries: list[Any]) -> Array:
    """Text as text, and anything else as it is, so that no entry becomes text because another one is."""
    if all(isinstance(entry, str) for entry in entries):
        return np.array(entries, dtype=str)
    return np.fromiter(entries, dtype=object, count=len(entries))


def _beyond(array: Array, limit: int) -> bool:
    return bool(array.size) and max(int(array.max()), -int(array.min())) > limit


def _of_one_type(array: Array, name: str) -> Array:
    entries = array.tolist()
    for row, entry in enumerate(entries):
        if entry is None or entry != entry:
            raise ValueError(f"{name} contains NaN or null, first at row {row}. Drop those rows.")
    if all(isinstance(entry, str) for entry in entries):
        return np.array(entries, dtype=str)
    for row, entry in enumerate(entries):
        if not isinstance(entry, int | float | np.bool_ | np.integer | np.floating):
            raise ValueError(
                f"{name} holds {entry!r} ({type(entry).__name__}) at row {row} next to others such as {entries[0]!r}; "
                f"{WHAT_LABELS_ARE}, all of one kind."
            )
    numbers = np.array(entries)
    if numbers.dtype.kind == "O":
        raise ValueError(f"{name} holds labels beyond 2^63; give them as text.")
    return numbers


def _whole(array: Array, name: str) -> Array:
    fractional = ~(np.abs(array) < 2.0**63) | (array != np.floor(array))
    if fractional.any():
        row = int(fractional.argmax())
        raise ValueError(
            f"{name} holds {array[row]:g} at row {row}; {WHAT_LABELS_ARE}. Cut numbers into classes, and scores at a "
            "threshold, first."
        )
    return array.astype(np.int64)
