"""`FunctionFeatures`: any functions of the features."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.types import Array, Matrix, Table, Tags, Values
from gramian.features.base import kept_dtype, read, refuse_nonfinite
from gramian.rows import Rows

# What a function may be called by name, and the name of its column for the feature {}.
TABLE: dict[str, tuple[Callable[[Array], Array], str]] = {
    "1": (lambda X: np.ones(len(X)), "1"),
    "x": (lambda X: X, "{}"),
    "x^2": (lambda X: X * X, "{}^2"),
    "x^3": (lambda X: X * X * X, "{}^3"),
    "exp": (np.exp, "exp({})"),
    "log": (np.log, "log({})"),
    "sqrt": (np.sqrt, "sqrt({})"),
    "sin": (np.sin, "sin({})"),
    "cos": (np.cos, "cos({})"),
    "tanh": (np.tanh, "tanh({})"),
    "abs": (np.abs, "abs({})"),
    "1/x": (lambda X: 1.0 / X, "1/{}"),
}


@estimator
class FunctionFeatures(TransformerMixin, BaseEstimator):
    """Give a linear model any features of your own: φ(x) = (f₁(x), f₂(x), …).

    Parameters
    ----------
    functions : list or dict, default ("x",)
        Functions of the whole array X (n, d) that give one column (n,) or several (n, m); or their names: "1", "x",
        "x^2", "x^3", "exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "1/x", which act on every feature. The keys of
        a dict name the columns; in a list a function's own name does, or f0, f1, … by its place where it has none.

    Attributes
    ----------
    widths_ : list of int
        Columns that each function gave in `fit`.
    n_features_in_, feature_names_in_
        What was given to `fit`.

    Notes
    -----
    Costs what the functions cost, and one copy of their results. A result that is NaN or infinite is refused, with the
    function and the row. Functions must treat every row by itself; they see an array that they cannot change.

    Examples
    --------
    >>> import gramian as gm
    >>> features = gm.FunctionFeatures({"1": "1", "x": "x", "late": lambda X: X[:, 0] > 1})
    >>> features.fit_transform([[0.5], [2.0]])
    array([[1. , 0.5, 0. ],
           [1. , 2. , 1. ]])
    >>> gm.FunctionFeatures(["x", "exp"]).fit([[0.5], [2.0]]).get_feature_names_out()
    array(['x0', 'exp(x0)'], dtype=object)
    """

    functions: Sequence[Any] | Mapping[str, Any] = ("x",)

    def fit(self, X: Table, y: Values | None = None) -> Self:
        """Apply the functions once, to learn how many columns each gives."""
        functions = _named(self.functions)
        rows = read(self, X, fitting=True)
        self._refuse_sparse(rows)
        refuse_nonfinite(rows)
        self.widths_: list[int] = []
        self._columns: list[tuple[str, int | None]] = []
        for name, function, template in functions:
            result = self._apply(name, function, rows)
            columns = _columns(name, template, result, rows.d)
            self.widths_.append(len(columns))
            self._columns += columns
        names = Counter(self.get_feature_names_out())
        name, times = names.most_common(1)[0]
        if times > 1:
            raise ValueError(f"{times} columns would be called {name!r}; give functions as a dict with distinct names.")
        return self

    def transform(self, X: Table) -> Array:
        """The columns of all functions, side by side."""
        check_is_fitted(self)
        rows = read(self, X, fitting=False)
        self._refuse_sparse(rows)
        refuse_nonfinite(rows)
        parts = []
        for (name, function, _), width in zip(_named(self.functions), self.widths_, strict=True):
            part = self._apply(name, function, rows).reshape(rows.n, -1)
            if part.shape[1] != width:
                raise ValueError(
                    f"Function {name!r} gives {part.shape[1]} columns, and gave {width} in fit: their number must "
                    "not depend on the rows."
                )
            parts.append(part)
        return np.concatenate(parts, axis=1)

    def get_feature_names_out(self, input_features: Values | None = None) -> Array:
        """Names of the columns, such as 'exp(x0)'."""
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features)
        names = [name if j is None else name.replace("{}", str(inputs[j])) for name, j in self._columns]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _refuse_sparse(self, rows: Rows) -> None:
        if rows.is_sparse:
            raise TypeError(
                "FunctionFeatures cannot apply functions to sparse X; give X.toarray() if it fits in memory."
            )

    def _apply(self, name: str, function: Callable[[Array], Matrix], rows: Rows) -> Array:
        """What a function gives, checked: (n,) or (n, m) finite numbers."""
        X = rows.collect().X.astype(kept_dtype(rows), copy=False).view()
        X.flags.writeable = False
        with np.errstate(all="ignore"):
            result = np.asarray(function(X))
        if result.ndim not in (1, 2) or len(result) != rows.n:
            raise ValueError(
                f"Function {name!r} gives shape {result.shape} for the {rows.n} rows of X {X.shape}; it must give "
                f"({rows.n},) or ({rows.n}, m)."
            )
        if result.dtype.kind not in "fiub":
            raise ValueError(f"Function {name!r} gives values of type {result.dtype}; it must give real numbers.")
        with np.errstate(over="ignore"):
            result = result.astype(X.dtype)
        bad = ~np.isfinite(result.reshape(rows.n, -1)).all(axis=1)
        if bad.any():
            row = int(bad.argmax())
            values = ", ".join(f"{value:.6g}" for value in X[row, :5]) + (", …" if rows.d > 5 else "")
            raise ValueError(
                f"Function {name!r} gives {result[row]} at row {row}, where x = ({values}), and in {int(bad.sum())} "
                "rows in all. Leave those rows out, or give a function that is defined there."
            )
        return result


def _named(functions: object) -> list[tuple[str, Callable[[Array], Matrix], str | None]]:
    """Name, function and, for those that act on every feature, the template of their columns' names."""
    if isinstance(functions, str) or callable(functions):
        functions = [functions]
    if isinstance(functions, Mapping):
        items = [(str(name), function) for name, function in functions.items()]
    elif isinstance(functions, Sequence):
        items = [(_own_name(function, place), function) for place, function in enumerate(functions)]
    else:
        raise ValueError(f"functions is {functions!r}; it must be a list of functions or names, or a dict of them.")
    if not items:
        raise ValueError('functions is empty; give at least one, such as ["x"].')
    named: list[tuple[str, Callable[[Array], Matrix], str | None]] = []
    for name, function in items:
        if callable(function):
            named.append((name, function, None))
        elif isinstance(function, str) and function in TABLE:
            known, template = TABLE[function]
            named.append((name, known, template if name == function else None))
        else:
            raise ValueError(
                f"functions holds {function!r}, which is neither a function nor one of the names {', '.join(TABLE)}."
            )
    return named


def _own_name(function: object, place: int) -> str:
    name = function if isinstance(function, str) else str(getattr(function, "__name__", ""))
    return name if name not in ("", "<lambda>") else f"f{place}"


def _columns(name: str, template: str | None, result: Array, d: int) -> list[tuple[str, int | None]]:
    """For every column its name, or a template and the feature whose name goes into it."""
    if result.ndim == 1:
        return [(name, None)]
    width = result.shape[1]
    if width == d:
        return [(template or f"{name}({{}})", j) for j in range(d)]
    return [(f"{name}{j}" if width > 1 else name, None) for j in range(width)]
