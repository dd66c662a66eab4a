"""Mutual information between each feature and a target."""

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.utils import check_consistent_length

from gramian._core.types import Array, Floats, Ints, Matrix, RandomState, Table, Values
from gramian._core.validation import whole
from gramian.rows import Rows

FEW = 20  # distinct integers up to which a column of integers is taken for labels


def mutual_information(
    X: Table,
    y: Values | None = None,
    *,
    discrete: bool | str | Values = "auto",
    n_neighbors: int = 3,
    random_state: RandomState = 0,
) -> Floats:
    """How much each feature tells about the target, by itself: I(x_j; y) in nats, zero if and only if independent.

    I(x; y) = Σ p(x, y) log( p(x, y) / (p(x) p(y)) )

    Two discrete variables: the sum over the frequencies. Otherwise the estimates from nearest neighbours of Kraskov,
    Stögbauer and Grassberger (2004) and Ross (2014), by scikit-learn's `mutual_info_regression` and
    `mutual_info_classif`, of the normal scores of the ranks: I does not change under increasing or decreasing maps of
    either variable, and so neither does the estimate: not with units, offsets, signs or outliers.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Rows
        Features (n, d); strings and categories are labels.
    y : array (n,)
        Target, numbers or labels; None if X are `Rows`.
    discrete : "auto", bool, or array of bool (d,) or (d + 1,), or list of column names
        Which columns are discrete. "auto" decides by type: strings, booleans, categories, and integers with at most 20
        distinct values of which each occurs twice on average. One bool holds for all columns and the target; with
        d + 1 the last one is the target's; otherwise the target's type decides.
    n_neighbors : int
        Neighbours of the estimates: more have less variance and more bias.
    random_state : int, RandomState or None
        Of the tiny noise that parts equal numbers of continuous variables.

    Returns
    -------
    array (d,)

    Notes
    -----
    O(n log n) per discrete pair; otherwise neighbours are searched in trees, about O(n log n) per column.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.selection.mutual_information([["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"]], [0, 1, 0, 1]).round(4)
    array([0.6931, 0.    ])
    """
    neighbors = whole("n_neighbors", n_neighbors, low=1)
    if isinstance(discrete, str) and discrete != "auto":
        raise ValueError(
            f'discrete is {discrete!r}; it must be "auto", True, False, a mask, or a list of column names.'
        )
    columns, names, target = _columns(X, y)
    n = len(target)
    for column in columns:
        check_consistent_length(column, target)
    for name, column in zip([*(f"Column {name!r}" for name in names), "Input y"], [*columns, target], strict=True):
        _refuse_missing(column, name)
    declared = _declared_kinds(discrete, names)
    kinds = [
        _is_discrete(values) if given is None else given
        for values, given in zip([*columns, target], declared, strict=True)
    ]
    labels, label_target = np.array(kinds[:-1], dtype=bool), kinds[-1]
    information = np.zeros(len(columns))
    rest = np.flatnonzero(~labels) if label_target else np.arange(len(columns))
    outcome: Any = _codes(target) if label_target else _normal_scores(_numbers(target, "y"))
    if label_target:
        for j in np.flatnonzero(labels):
            information[j] = _plug_in(_codes(columns[j]), outcome)
    if not rest.size:
        return information
    if neighbors >= n:
        raise ValueError(f"n_neighbors is {n_neighbors}, and there are {n} rows: it must be smaller than that.")
    table = np.empty((n, len(rest)))
    for k, j in enumerate(rest):
        if labels[j]:
            table[:, k] = _shared(_codes(columns[j]), names[j])
        else:
            table[:, k] = _normal_scores(_numbers(columns[j], names[j]))
    if label_target:
        estimate, outcome = mutual_info_classif, _shared(outcome, "y")
    else:
        estimate = mutual_info_regression
    information[rest] = estimate(
        table, outcome, discrete_features=labels[rest], n_neighbors=neighbors, random_state=random_state
    )
    constant = (table == table[0]).all(axis=0) | np.all(outcome == outcome[0])
    information[rest[constant]] = 0.0
    return information


def _normal_scores(values: Floats) -> Floats:
    """Φ⁻¹((rank − ½)/n), ties with their mean rank; the sign is such that the first score that is not 0 is positive."""
    n = len(values)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    from_middle = (np.cumsum(counts) - 0.5 * counts - 0.5 * n)[place]
    scores = -np.sign(from_middle) * ndtri(0.5 - np.abs(from_middle) / n)
    first = np.flatnonzero(scores)[:1]
    return scores if not first.size or scores[first[0]] > 0 else -scores


def _shared(codes: Ints, name: str) -> Ints:
    """Codes of which at least one occurs twice: neighbours are counted within labels."""
    if np.bincount(codes).max() < 2:
        raise ValueError(
            f"Column {name!r} is discrete, and none of its values occurs twice: what it shares with a continuous "
            "variable cannot be estimated. Leave it out, or say with discrete= that it is continuous."
        )
    return codes


def _plug_in(x: Ints, y: Ints) -> float:
    """Σ p(x, y) log(p(x, y) / (p(x) p(y))) over the frequencies of two lists of codes."""
    width = int(y.max()) + 1
    cells, counts = np.unique(x * width + y, return_counts=True)
    expected = np.bincount(x)[cells // width] * (np.bincount(y)[cells % width] / len(y))
    return max(0.0, float((counts / len(y)) @ np.log(counts / expected)))


def _columns(X: Matrix, y: Values | None) -> tuple[list[Array], list[str], Array]:
    """Columns, their names, and the target, each in its own type."""
    if isinstance(X, Rows):
        if y is not None:
            raise ValueError("Rows bring their own target: call mutual_information with them alone.")
        block = X.collect()
        if block.y is None:
            raise ValueError("These Rows have no target: give y (or target=) to gm.scan.")
        if block.y.shape[1] > 1:
            raise ValueError(f"y has {block.y.shape[1]} columns; mutual information is with one target.")
        X, y, names = block.X, block.y[:, 0], X.names
    else:
        names = None
    if y is None:
        raise ValueError("mutual_information requires y to be passed, but the target y is None.")
    target = _series(y)
    if target.ndim != 1:
        raise ValueError(f"y has shape {target.shape}; it must have one dimension.")
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        return [_series(frame[name]) for name in frame.columns], [str(name) for name in frame.columns], target
    if sp.issparse(X):
        csc = X.tocsc()
        columns = [np.asarray(csc[:, [j]].todense()).reshape(-1) for j in range(csc.shape[1])]
    else:
        table = np.asarray(X)
        if table.ndim != 2:
            raise ValueError(f"X has shape {table.shape}; it must have two dimensions, rows and columns.")
        columns = list(table.T)
    return columns, [str(j) for j in range(len(columns))] if names is None else list(names), target


def _series(values: Any) -> Array:
    """A column as an array: labels where it has categories, floats where numbers are missing."""
    series = nw.from_native(values, pass_through=True, series_only=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return np.asarray(values)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        if series.null_count() and series.dtype != nw.Boolean:
            series = series.cast(nw.Float64)
        return np.asarray(series.to_numpy())
    return np.array(series.to_list(), dtype=object)


def _refuse_missing(values: Array, name: str) -> None:
    if values.dtype.kind == "O":
        bad = np.array([_missing(value) for value in values], dtype=bool)
    elif values.dtype.kind == "f":
        bad = ~np.isfinite(values)
    else:
        return
    if bad.any():
        raise ValueError(
            f"{name} contains NaN, infinity (inf) or missing values: {int(bad.sum())}, the first at row "
            f"{int(bad.argmax())}. Drop those rows, or fill them first."
        )


def _missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True


def _declared_kinds(discrete: Any, names: list[str]) -> list[bool | None]:
    """What the caller says of each column and of the target: discrete, continuous, or None."""
    d = len(names)
    if isinstance(discrete, str):
        return [None] * (d + 1)
    if isinstance(discrete, bool | np.bool_):
        return [bool(discrete)] * (d + 1)
    if not isinstance(discrete, Iterable):
        raise TypeError(f'discrete is {discrete!r}; it must be "auto", True, False, a mask, or a list of column names.')
    labels_given = list(discrete)
    if all(isinstance(name, str) for name in labels_given):
        for name in labels_given:
            if name not in names:
                raise ValueError(
                    f"discrete names {name!r}, which is no column; the columns are {', '.join(names[:10])}."
                )
        return [name in labels_given for name in names] + [None]
    if len(labels_given) not in (d, d + 1) or not all(isinstance(value, bool | np.bool_) for value in labels_given):
        raise ValueError(
            f"discrete is {discrete!r}; as a mask it needs one bool for each of the {d} columns, and may have one more "
            "for the target."
        )
    return [bool(value) for value in labels_given] + [None] * (d + 1 - len(labels_given))


def _is_discrete(values: Array) -> bool:
    kind = values.dtype.kind
    if kind == "O":
        return not all(isinstance(value, float | np.floating) for value in values)
    if kind in "iu":
        distinct = len(np.unique(values))
        return distinct <= FEW and 2 * distinct <= len(values)
    return kind not in "f"


def _codes(values: Array) -> Ints:
    """Labels as numbers 0, 1, …"""
    if values.dtype.kind == "O":
        code_of: dict[Any, int] = {}
        return np.array([code_of.setdefault(value, len(code_of)) for value in values], dtype=np.int64)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _numbers(values: Array, name: str) -> Floats:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Column {name!r} holds values such as {values[0]!r}, which are no numbers: it can only be discrete."
        ) from None
