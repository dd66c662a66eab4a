"""What every classifier shares: its classes, the weights of classes, and decisions at a cost."""

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian._core.fitted.charted import Charted
from gramian._core.types import Array, Floats
from gramian.rows import Rows, scan
from gramian.rows.feature_names import new_rows, remember_columns
from gramian.rows.labels import class_weights, coded
from gramian.statistics import Moments, Triangle
from gramian.warnings import warn_user

MOST_EXACT = 2**53  # up to which whole numbers are floats


class ClassifyingModel(Charted, ClassifierMixin, BaseEstimator):
    """A classifier: `_probabilities` of each class, and the decision of least expected cost.

    Parameters `class_weight` (None, "balanced" or a dict) and `cost` (k × k, `cost[true, decided]`)
    belong to every classifier; `_labelled` reads the data, `predict` decides.
    """

    classes_: Array
    class_totals_: Floats
    n_features_in_: int
    class_weight: Any
    cost: Any

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows whose target is the number of the class; sets `classes_`, and what scikit-learn knows of the columns."""
        if isinstance(X, Moments | Triangle):
            raise ValueError(
                f"{type(self).__name__} needs the rows and their classes: {type(X).__name__} have neither."
            )
        if isinstance(X, Rows):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "Rows bring their own target and weights: call fit with them alone, and give y and sample_weight "
                    "to gm.scan."
                )
            if not X.target_names:
                raise ValueError("The data have no target: give y (or target=) to gm.scan.")
            rows, large = X, None
            remember_columns(self, X.d, X.names)
        else:
            if y is None:
                raise ValueError(
                    f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
                )
            large, y = _large_labels(y)
            rows = scan(X, y, sample_weight=sample_weight)
            validate_data(self, X, skip_check_array=True)
            self.n_features_in_ = rows.d
        return self._coded(rows, large)

    def _coded(self, rows: Rows, large: Array | None = None) -> Rows:
        """Rows with the number of the class as their target; sets `classes_`.

        `large` are the labels of which the target has the numbers, where floats cannot tell them apart.
        """
        if not rows.one_target:
            if len(rows.target_names) > 1:
                raise ValueError(
                    f"y has {len(rows.target_names)} columns; a classifier needs one label per row, shape (n,)."
                )
            warn_user(
                "A column-vector y was passed when a 1d array was expected: give y.ravel().", DataConversionWarning
            )
        values, totals = class_weights(rows)
        self.classes_ = self._names_of(rows, values) if large is None else large[values.astype(int)]
        if len(values) < 2:
            raise ValueError(
                f"y has only one class: {self.classes_.tolist()[0]!r}. A classifier needs rows of positive weight of "
                "at least two classes."
            )
        factors = self._class_factors(totals)
        self.class_totals_ = totals * (1.0 if factors is None else factors)
        return coded(
            rows,
            lambda y: np.minimum(np.searchsorted(values, y), len(values) - 1).astype(np.float64),
            None
            if factors is None
            else lambda y: factors[np.minimum(np.searchsorted(values, y[:, 0]), len(values) - 1)],
        )

    @staticmethod
    def _names_of(rows: Rows, values: Floats) -> Array:
        if rows.labels is not None:
            return rows.labels[values.astype(int)]
        if (values != np.round(values)).any():
            example = values[values != np.round(values)][0]
            raise ValueError(
                f"Unknown label type: continuous. y holds numbers such as {example:g}, which are not classes: use a "
                "regressor, or cut y into intervals first."
            )
        return values.astype(rows.target_type)

    def _class_factors(self, totals: Floats) -> Floats | None:
        given = self.class_weight
        if given is None:
            return None
        if isinstance(given, str):
            if given != "balanced":
                raise ValueError(
                    f'class_weight is {given!r}; it must be None, "balanced" or a dict from class to weight.'
                )
            return totals.sum() / (len(totals) * totals)
        if not isinstance(given, dict):
            raise TypeError(f'class_weight is {given!r}; it must be None, "balanced" or a dict from class to weight.')
        known = self.classes_.tolist()
        for name, value in given.items():
            if name not in known:
                raise ValueError(f"class_weight names {name!r}, which is not a class; the classes are {known[:10]}.")
            if not isinstance(value, Real) or not np.isfinite(float(value)) or value <= 0:
                raise ValueError(f"class_weight of {name!r} is {value!r}; it must be a number above 0.")
        return np.array([float(given.get(name, 1.0)) for name in known])

    def _costs(self) -> Floats | None:
        """`cost` as a matrix, checked against the classes."""
        if self.cost is None:
            return None
        k = len(self.classes_)
        try:
            matrix = np.asarray(self.cost, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"cost is {self.cost!r}; it must be a matrix of numbers, cost[true, decided].") from None
        if matrix.shape != (k, k):
            raise ValueError(
                f"cost has shape {matrix.shape}; with {k} classes it needs shape ({k}, {k}): cost[true, decided], in "
                f"the order {self.classes_.tolist()[:10]}."
            )
        if not np.isfinite(matrix).all():
            raise ValueError("cost contains NaN or infinity; every cost must be a number.")
        return matrix

    def _rows(self, X: Any) -> Rows:
        return new_rows(self, X)

    @abstractmethod
    def _probabilities(self, rows: Rows) -> Floats:
        """P(class | x), shape (n, k), rows that add up to one."""

    @abstractmethod
    def _decisions(self, rows: Rows) -> Floats:
        """One number a class, (n, k), the largest wins; or (n,) for two classes, above 0 for the second."""

    def decision_function(self, X: Any) -> Floats:
        """(n,) for two classes, positive for the second; (n, k) for more, the largest wins."""
        check_is_fitted(self)
        return self._decisions(self._rows(X))

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (n, k), in the order of `classes_`."""
        check_is_fitted(self)
        return self._probabilities(self._rows(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row, or with `cost` the one of least expected cost."""
        check_is_fitted(self)
        rows = self._rows(X)
        costs = self._costs()
        if costs is not None:
            return self.classes_[(self._probabilities(rows) @ costs).argmin(axis=1)]
        found = self._decisions(rows)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _large_labels(y: Any) -> tuple[Array | None, Any]:
    """Whole numbers that floats cannot tell apart: which, and the number of each; None where there are none."""
    values = np.asarray(y) if not sp.issparse(y) else None
    if values is None or values.dtype.kind not in "iu" or values.ndim != 1 or not values.size:
        return None, y
    if int(values.max()) <= MOST_EXACT and int(values.min()) >= -MOST_EXACT:
        return None, y
    names, codes = np.unique(values, return_inverse=True)
    return names, codes
