"""What every linear estimator shares: its sources of data, its predictions, its summary and its chart."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian._core.fitted.charted import Charted
from gramian._core.summary import Summary
from gramian._core.types import Floats
from gramian.kernels.representation import Columns, Representation
from gramian.rows import Rows, scan
from gramian.rows.feature_names import new_rows, remember_columns
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.least_squares.closed_form import confirmed
from gramian.statistics import Moments, Triangle


class Interval(NamedTuple):
    """Predictions with the ends of their interval."""

    mean: Floats
    low: Floats
    high: Floats


class LinearModel(Charted, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A linear prediction x ↦ intercept_ + coef_ · x, however it was fitted."""

    coef_: Floats
    intercept_: Any
    certificate_: Certificate
    solver_: SolverInfo
    n_features_in_: int
    representation_: Representation
    fit_intercept: bool

    @property
    def _feature_coef(self) -> Floats:
        """Coefficients of what the fit was to."""
        return self.coef_

    def _source(self, X: Any, y: Any, sample_weight: Any, *, sums: bool = True) -> Rows | Moments | Triangle:
        """What the fit reads: rows, or sums where they suffice; sets what scikit-learn knows of the columns."""
        if isinstance(X, Rows | Moments | Triangle):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    f"{type(X).__name__} bring their own target and weights: call fit with them alone, and give y and "
                    "sample_weight to gm.scan or gm.moments."
                )
            if not sums and not isinstance(X, Rows):
                raise ValueError(self._needs_rows(type(X).__name__))
            if not X.target_names:
                raise ValueError("The data have no target: give y (or target=) to gm.scan or gm.moments.")
            if isinstance(X, Rows):
                X.refuse_labels()
            remember_columns(self, X.d, X.names)
            self.representation_ = Columns.of(self)
            return X
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        rows = scan(X, y, sample_weight=sample_weight)
        rows.refuse_labels()
        validate_data(self, X, skip_check_array=True)
        self.n_features_in_ = rows.d
        self.representation_ = Columns.of(self)
        return rows

    def _needs_rows(self, given: str) -> str:
        return (
            f"This {type(self).__name__} cannot be fitted from {given} alone: it needs the rows. Give alpha as a "
            "number (choosing it by cross-validation needs the folds), or fit from the data or gm.scan of them."
        )

    def _set_coefficients(self, coef: Floats, intercept: Floats, one_target: bool) -> None:
        """coef (d, t) and intercept (t,) as scikit-learn shapes them."""
        self.coef_ = np.ascontiguousarray(coef[:, 0] if one_target else coef.T)
        if not self.fit_intercept:
            self.intercept_ = 0.0 if one_target else np.zeros(coef.shape[1])
        else:
            self.intercept_ = float(intercept[0]) if one_target else intercept

    def _set_certificate(self, certificate: Certificate, solver: SolverInfo) -> None:
        """Keep what shows that the coefficients, set before, are the answer; warn where it does not."""
        self.certificate_ = confirmed(certificate, self._feature_coef, self.intercept_)
        self.solver_ = solver

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _rows(self, X: Any) -> Rows:
        return new_rows(self, X)

    def predict(self, X: Any, interval: float | None = None, interval_of: str = "observation") -> Any:
        """Predictions (n,) or (n, t); with `interval=0.95` a named tuple (mean, low, high).

        Parameters
        ----------
        X : array, data frame, sparse matrix or Rows
        interval : float, optional
            Coverage between 0 and 1.
        interval_of : "observation" or "mean"
            Whether the interval is for a new observation or for the mean of all of them.
        """
        rows = self._rows(X)
        if interval is not None:
            return self._interval(rows, interval, interval_of)
        coef = self._feature_coef
        found = rows.times(np.atleast_2d(coef).T) + self.intercept_
        return found[:, 0] if coef.ndim == 1 else found

    def _interval(self, rows: Rows, interval: float, interval_of: str) -> Interval:
        raise ValueError(f"{type(self).__name__} has no prediction intervals: theory gives none for it.")

    def summary(self) -> Summary:
        """Coefficients and facts of the fit, as a table."""
        check_is_fitted(self)
        return self._summary()

    @abstractmethod
    def _summary(self) -> Summary:
        """What `summary` returns."""

    def _coefficient_table(self) -> dict[str, Any]:
        """Columns of the summary: target (if there are several), name and estimate, each target's intercept first."""
        coefs = np.atleast_2d(self.coef_)
        t, names = len(coefs), self._feature_names()
        if self.fit_intercept:
            names = ["intercept", *names]
            coefs = np.column_stack([np.broadcast_to(self.intercept_, t), coefs])
        table: dict[str, Any] = {"name": np.array(names * t, dtype=object), "estimate": coefs.reshape(-1)}
        return table if t == 1 else {"target": np.repeat(np.arange(t), len(names)), **table}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
