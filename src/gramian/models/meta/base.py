"""What estimators around a classifier share: rows with their labels, weights that reach the inner fit."""

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from gramian._core.types import Array, Bools, Estimator, Floats, Ints, Table, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.rows import Rows, scan
from gramian.rows.folds import mixed
from gramian.rows.refusals import no_numbers, no_table
from gramian.statistics import Moments, Triangle

MOST_COPIES = 10**7  # rows of whole weights are drawn, or written out, copy by copy up to here


KEY_CELLS = 2**18  # numbers whose keys are made at once


@dataclass(frozen=True, eq=False)
class Labelled:
    """A table as any estimator takes it, a label and a weight for each row, and what is known of the classes.

    Rows of weight zero are left out; `kept` says which of the rows given are there, None that all are.
    """

    X: Any
    y: Array
    weight: Floats | None
    classes: Array
    codes: Ints
    totals: Floats
    kept: Bools | None

    @property
    def counts(self) -> Floats:
        """What each row counts."""
        return weights_or_ones(self.weight, len(self.y))


def read_labelled(model: Estimator, X: Any, y: Any, sample_weight: Weights) -> Labelled:
    """The data of a `fit`, of at least two classes."""
    name = type(model).__name__
    if isinstance(X, Moments | Triangle):
        raise ValueError(f"{name} needs the rows and their classes: {type(X).__name__} have neither.")
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "Rows bring their own target and weights: call fit with them alone, and give y and sample_weight to "
                "gm.scan."
            )
        if not X.target_names:
            raise ValueError("The data have no target: give y (or target=) to gm.scan.")
        block = X.collect()
        assert block.y is not None
        whole = bool((block.y == np.round(block.y)).all())
        given = block.y.astype(np.int64) if whole else block.y
        y, sample_weight = given if X.labels is None else X.labels[given], block.weight
        if X.one_target:
            y = y[:, 0]
    elif y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    X, y = plain(X), column_or_1d(y, warn=True)
    # The door of all tables checks labels and weights, and names what is wrong; X is the estimator's to check.
    weight = scan(np.zeros((_length(X), 1)), y, sample_weight=sample_weight).collect().weight
    check_classification_targets(y)
    kept = None
    if weight is not None and not weight.all():
        refuse_pairwise(model, "rows of weight 0 cannot be left out")
        kept = weight > 0
        X, y, weight = take(X, np.flatnonzero(kept)), y[kept], weight[kept]
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class: {classes.tolist()[0]!r}. A classifier needs rows of positive weight of at least "
            "two classes."
        )
    totals = np.bincount(codes, weight).astype(np.float64)
    return Labelled(X, y, weight, classes, codes, totals, kept)


def plain(X: Any) -> Any:
    """X as foreign estimators take it: rows are collected, into a data frame where they have names."""
    if isinstance(X, Rows):
        values = X.collect().X
        home = next((name for name in ("pandas", "polars", "pyarrow") if name in sys.modules), None)
        if X.names is None or home is None:
            return values
        return nw.from_dict(dict(zip(X.names, values.T, strict=True)), backend=home).to_native()
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame.collect().to_native()
    if isinstance(frame, nw.DataFrame) or hasattr(X, "shape"):
        return X
    error = no_table(X)
    if error is not None:
        raise error
    try:
        return np.asarray(X)
    except ValueError as ragged:
        raise no_numbers(X, ragged) from None


def take(X: Any, index: Ints) -> Any:
    """Some rows of a table, in a table of the same kind."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[index.tolist()].to_native()
    return X.tocsr()[index] if sp.issparse(X) else X[index]


def weight_names(estimator: Any) -> list[str]:
    """What `fit` calls the weights of rows: nothing if it takes none, one name per step in a pipeline."""
    steps = getattr(estimator, "steps", None)
    if not isinstance(steps, list):
        return ["sample_weight"] if has_fit_parameter(estimator, "sample_weight") else []
    if not weight_names(steps[-1][1]):
        return []
    return [f"{name}__{inner}" for name, step in steps if hasattr(step, "fit") for inner in weight_names(step)]


def fit_counted(estimator: Any, X: Any, y: Array, weight: Floats | None) -> Any:
    """A clone fitted to rows that count `weight` times, which are repeated if it takes no weights."""
    model = clone(estimator)
    if weight is None:
        return model.fit(X, y)
    names = weight_names(estimator)
    if names:
        return model.fit(X, y, **dict.fromkeys(names, weight))
    if not are_whole(weight):
        raise ValueError(
            f"{type(estimator).__name__}.fit takes no sample_weight, and weights that are not whole numbers cannot be "
            "written as repeated rows: use whole weights, or an estimator that takes sample_weight."
        )
    refuse_many(weight.sum())
    index = np.repeat(np.arange(len(y)), weight.astype(np.int64))
    return model.fit(take(X, index), y[index])


def row_keys(X: Any) -> NDArray[np.uint64]:
    """A number per row that depends on its content alone, the same for arrays, frames and sparse matrices.

    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> bool((row_keys(X[::-1])[::-1] == row_keys(sp.csr_array(X))).all())
    True
    """
    n = _length(X)
    keys = np.zeros(n, dtype=np.uint64)
    if sp.issparse(X):
        table = X.tocsr().copy()
        table.sum_duplicates()
        entries = table.tocoo()
        np.add.at(keys, entries.row, _terms(_numbers(entries.data), entries.col))
        return keys
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for j, column in enumerate(frame.iter_columns()):
            keys += _terms(_numbers(column.to_numpy()), np.array(j))
        return keys
    values = _numbers(X).reshape(n, -1)
    size = max(KEY_CELLS // max(values.shape[1], 1), 1)
    for start in range(0, n, size):
        rows = slice(start, start + size)
        keys[rows] = _terms(values[rows], np.arange(values.shape[1])).sum(axis=1, dtype=np.uint64)
    return keys


def _terms(values: Array, column: Array) -> NDArray[np.uint64]:
    """What each number adds to the key of its row; zeros add nothing, so that they need not be stored."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    places = column.astype(np.uint64) * np.uint64(0xA0761D6478BD642F)
    found = mixed(values.view(np.uint64) + places, 0)
    found[values == 0] = 0
    return found


def _numbers(values: Array) -> Array:
    """Numbers as they are; of anything else, the place of each value among all."""
    if values.dtype.kind in "fiub":
        return values
    if values.dtype.names is not None:
        raise no_numbers(values, TypeError("records"))
    try:
        if values.dtype.kind == "O":
            return values.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        pass
    return np.unique(values.astype(str), return_inverse=True)[1].reshape(values.shape) + 1


def _length(X: Any) -> int:
    return int(X.shape[0]) if getattr(X, "shape", ()) else len(X)


def are_whole(weight: Floats) -> bool:
    return bool((weight == np.round(weight)).all())


def refuse_many(rows: float) -> None:
    if rows > MOST_COPIES:
        raise ValueError(
            f"The weights make {rows:.3g} rows, too many to draw or write out one by one: use method='cost' with an "
            "estimator that takes sample_weight, or divide the weights."
        )


def refuse_pairwise(model: Any, consequence: str) -> None:
    if get_tags(model.estimator).input_tags.pairwise:
        raise ValueError(
            f"{type(model.estimator).__name__} takes a matrix between all pairs of rows, so {consequence}: let the "
            "estimator compute the kernel from the data instead."
        )


def inner_has(name: str) -> Any:
    """For `available_if`: whether the estimator inside has an attribute."""
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), name)


def log_probabilities(model: Any, X: Any) -> Floats:
    """Logarithms of probabilities, by the model's own formula where it has one."""
    if hasattr(model, "predict_log_proba"):
        return model.predict_log_proba(X)
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X))


class MetaClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier around another, `estimator_`, whose columns, classes, summary and chart it shows."""

    estimator: Any
    estimator_: Any

    @property
    def classes_(self) -> Array:
        """The classes, in order."""
        return self.estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the fit."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns of the fit, where they had names."""
        return self.estimator_.feature_names_in_

    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Self:
        """Fit the estimator inside, and what is chosen around it.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Rows
            Or whatever else the estimator takes, row by row.
        y : array (n,)
            Classes; None if X are `Rows`.
        sample_weight : array (n,), optional
            Weights of the rows, as counts, also in what is chosen.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Table, y: Values | None, sample_weight: Weights) -> Self:
        raise NotImplementedError

    def _refuse_estimator(self, *methods: str) -> None:
        """Raise unless the estimator can be fitted, is no regressor, and has one of some methods."""
        given = self.estimator
        if not hasattr(given, "fit") or not any(hasattr(given, name) for name in methods) or is_regressor(given):
            raise TypeError(f"estimator is {given!r}; it must be a classifier with fit and {' or '.join(methods)}.")

    @available_if(inner_has("summary"))
    def summary(self) -> Any:
        """The summary of the estimator inside."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.summary()

    @available_if(inner_has("chart"))
    def chart(self, kind: str | None = None, *data: Any, **options: Any) -> Any:
        """The chart of the estimator inside; with rows to decide on, that of the decisions made here."""
        check_is_fitted(self, "estimator_")
        if data or "X" in options:
            return import_module("gramian.charts").chart(self, kind, *data, **options)
        return self.estimator_.chart(kind, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags or tags.classifier_tags
        tags.classifier_tags.multi_label = False
        tags.target_tags.required = True
        return tags
