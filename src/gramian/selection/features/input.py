"""What the selectors do with parameters and data before they select: check, read, and remember the columns."""

from numbers import Integral
from typing import Any

from sklearn.utils.validation import validate_data

from gramian._core.types import Estimator, Table, Values, Weights
from gramian.rows import Block, Rows, scan
from gramian.rows.feature_names import remember_columns
from gramian.selection.cv.splits import Plan
from gramian.selection.cv.strategies.fold_moments import FoldMoments
from gramian.statistics import Moments, Triangle

MOST_BYTES = 4e9  # what the sums of all splits may take; leave-one-out on many rows would take far more


def feature_count(value: object) -> int | None:
    """A number of features of at least 1, or None for "auto"."""
    allowed = 'it must be "auto" or a whole number from 1 to the number of columns'
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"n_features is {value!r}; {allowed}.")
    if value < 1:
        raise ValueError(f"n_features is {value!r}; {allowed}.")
    return int(value)


def refuse_more(n_features: int | None, d: int) -> None:
    """Raise if more features are wanted than there are."""
    if n_features is not None and n_features > d:
        raise ValueError(f"n_features is {n_features}, and the data have {d} columns: it must be from 1 to {d}.")


def read(estimator: Estimator, X: Table, y: Values | None, sample_weight: Weights) -> Rows | Moments:
    """Rows or moments with a target; the estimator remembers their columns."""
    name = type(estimator).__name__
    if isinstance(X, Rows | Moments | Triangle):
        kind = type(X).__name__ if isinstance(X, Moments | Triangle) else "Rows"
        if y is not None or sample_weight is not None:
            raise ValueError(f"{kind} bring their own target and weights: call fit with them alone.")
        if isinstance(X, Triangle):
            raise ValueError(f"{name} cannot be fitted from a Triangle: give the data, or gm.scan of them.")
        if not X.target_names:
            raise ValueError(f"These {kind} have no target: give y (or target=) to gm.scan or gm.moments.")
        remember_columns(estimator, X.d, X.names)
        return X
    if y is None:
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    rows = scan(X, y, sample_weight=sample_weight)
    validate_data(estimator, X, skip_check_array=True)
    estimator.n_features_in_ = rows.d
    return rows


def fold_moments(rows: Rows, plans: list[Plan]) -> FoldMoments:
    """Training and test moments of all splits, unless they would not fit into memory."""
    splits = sum(rows.n if plan.leave_one_out else plan.count for plan in plans)
    size = 64.0 * splits * (rows.d + len(rows.target_names)) ** 2
    if size > MOST_BYTES:
        raise ValueError(
            f"cv makes {splits} splits of {rows.d} features, whose sums would take {size / 1e9:.3g} GB: use fewer "
            "folds, for example cv=10."
        )
    return FoldMoments(rows, plans)


class FeatureColumns(Rows):
    """Some of the columns of rows."""

    def __init__(self, rows: Rows, columns: Any) -> None:
        self.rows = rows
        self.columns = columns
        self.n, self.d = rows.n, len(columns)
        self.names = None if rows.names is None else tuple(rows.names[j] for j in columns)
        self.target_names, self.one_target = rows.target_names, rows.one_target
        self.precision, self.weighted, self.is_sparse = rows.precision, rows.weighted, rows.is_sparse

    def block(self, start: int, stop: int) -> Block:
        whole = self.rows.block(start, stop)
        return Block(whole.X[:, self.columns], whole.y, whole.weight, start)
