"""The rows that whole estimators are tried on, from whatever holds them."""

from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import column_or_1d

from gramian._core.types import Array, Estimator, Floats, Ints, Matrix, Table, Values, Weights
from gramian.rows import Rows, scan
from gramian.statistics import Moments, Triangle


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of positive weight in memory.

    Attributes
    ----------
    X : array, CSR matrix, data frame (as narwhals has it) or list
    y : array (n,) or (n, t)
    weight : array (n,) or None
    kept : array of int (n,)
        Their places among the rows given; rows of weight 0 are not kept.
    given : int
        Rows given.
    classes : array (k,) or None
        The classes in order, for a classifier.
    """

    X: Matrix
    y: Array
    weight: Floats | None
    kept: Ints
    given: int
    classes: Array | None

    @property
    def n(self) -> int:
        return len(self.kept)

    def native(self) -> Matrix:
        """X as it was given."""
        return self.X.to_native() if isinstance(self.X, nw.DataFrame) else self.X

    def rows(self, index: Ints, columns: Ints | None = None) -> Matrix:
        """Some rows of X; of a matrix of pairs some of its columns too, by their places among the rows given."""
        part = take(self.X, index)
        if columns is not None:
            part = part[:, columns]
        return part.to_native() if isinstance(part, nw.DataFrame) else part

    def weights(self, index: Ints) -> Floats | None:
        return None if self.weight is None else self.weight[index]

    def amount(self, index: Ints) -> float:
        """How many rows these are, each counted by its weight."""
        return float(len(index)) if self.weight is None else float(self.weight[index].sum())

    def subset(self, index: Ints) -> "Sample":
        """The sample of some rows only; its classes stay."""
        X = take(self.X, index)
        return Sample(X, self.y[index], self.weights(index), self.kept[index], self.given, self.classes)

    def spread(self, values: Array, index: Ints) -> Array:
        """Values of some rows among all rows given; the others have NaN, or None where there is no NaN."""
        if len(index) == self.given:
            spread_values = np.empty((self.given, *values.shape[1:]), dtype=values.dtype)
        elif values.dtype.kind == "f":
            spread_values = np.full((self.given, *values.shape[1:]), np.nan, dtype=values.dtype)
        else:
            spread_values = np.full((self.given, *values.shape[1:]), None, dtype=object)
        spread_values[self.kept[index]] = values
        return spread_values


def take(X: Matrix, index: Ints) -> Matrix:
    """Some rows of an array, CSR matrix, frame or list."""
    return [X[i] for i in index] if isinstance(X, list) else X[index]


def check_model(model: Estimator, name: str = "model") -> bool:
    """Raise unless it is an estimator that predicts; whether it is a classifier."""
    if isinstance(model, type) or not all(hasattr(model, part) for part in ("fit", "predict", "get_params")):
        raise TypeError(f"{name} is {model!r}; it must be an estimator: an object with fit, predict and get_params.")
    return bool(is_classifier(model))


def read(X: Table, y: Values | None, sample_weight: Weights, *, classifier: bool | None) -> Sample:
    """The rows that count, from arrays, frames, sparse matrices, lists of objects, or `Rows` with their target.

    The target must be numbers, or for a classifier labels of two classes or more; for None, either.
    """
    if isinstance(X, Moments | Triangle):
        raise ValueError(
            f"{type(X).__name__} hold sums, and a model is tried on parts of the rows: give the data, or gm.scan them."
        )
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise ValueError("Rows bring their own target and weights: give them alone.")
        if not X.target_names:
            raise ValueError("These Rows have no target: give y (or target=) to gm.scan.")
        block = X.collect()
        assert block.y is not None
        weight = block.weight
        y = block.y[:, 0] if X.one_target else block.y
        labels = getattr(X, "labels", None)
        if labels is not None:
            y = labels[y.astype(np.int64)]
        table = block.X
    else:
        if y is None:
            raise ValueError("The target y is None: give y, or gm.scan of data with a target.")
        table = _table(X)
        weight = None
    n = table.shape[0] if hasattr(table, "shape") else len(table)
    target = _target(y, n, classifier)
    if sample_weight is not None:
        weight = scan(np.zeros((n, 1)), sample_weight=sample_weight).collect().weight
    kept = np.arange(n) if weight is None else np.flatnonzero(weight)
    if len(kept) < 2:
        raise ValueError(
            f"There are too few rows to try a model on: {len(kept)} of positive weight; at least 2 needed."
        )
    if len(kept) < n:
        assert weight is not None
        table, target, weight = take(table, kept), target[kept], weight[kept]
    classes = np.unique(target) if classifier else None
    if classes is not None and len(classes) < 2:
        raise ValueError(f"y has only one class, {classes[0]}: a classifier needs at least two.")
    return Sample(table, target, weight, kept, n, classes)


def _table(X: Matrix) -> Matrix:
    frame = nw.from_native(X, pass_through=True, eager_only=False)
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame
    if sp.issparse(X):
        return X.tocsr()
    if isinstance(X, list | tuple):
        try:
            array = np.asarray(X)
        except ValueError:  # objects of unequal lengths: points of a kernel on strings or graphs
            return list(X)
        return array if array.ndim == 2 else list(X)
    array = np.asarray(X)
    if not array.ndim:
        raise TypeError(f"X is {X!r}; it must be a table: an array, data frame, sparse matrix, list or Rows.")
    return array


def _target(y: Values | None, n: int, classifier: bool | None) -> Array:
    native = nw.from_native(y, pass_through=True, allow_series=True)
    values = np.asarray(native.to_numpy() if isinstance(native, nw.Series | nw.DataFrame) else y)
    if classifier:
        values = column_or_1d(values, warn=True)
    if values.ndim not in (1, 2):
        raise ValueError(f"y should be a 1d array, or 2d with one column per target; got shape {values.shape}.")
    if len(values) != n:
        raise ValueError(f"X has {n} rows and y has {len(values)}: there must be one target per row.")
    if classifier is False and values.dtype.kind not in "fiu":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"y holds {type(values.reshape(-1)[0]).__name__} values such as {values.reshape(-1)[0]!r}; "
                "a regression needs numbers as its target."
            ) from None
    if values.dtype.kind == "f":
        bad = ~np.isfinite(values).reshape(n, -1).all(axis=1)
    elif values.dtype.kind == "O":
        bad = np.array([any(value is None or value != value for value in np.atleast_1d(row)) for row in values])
    else:
        return values
    if bad.any():
        raise ValueError(f"Input y contains NaN or infinity, first at row {int(bad.argmax())}. Drop those rows.")
    return values
