"""What every linear estimator shares: its sources of data, its predictions, its summary and its chart."""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.stats
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.models.parameters import choice, number
from gramian.models.summary import Summary
from gramian.rows import Block, Rows, scan
from gramian.solvers.certificate import Certificate, Solver
from gramian.statistics import Moments, Triangle

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """Predictions with the ends of their interval."""

    mean: Floats
    low: Floats
    high: Floats


class LinearModel(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A linear prediction x ↦ intercept_ + coef_ · x, however it was fitted."""

    coef_: Floats
    intercept_: Any
    certificate_: Certificate
    solver_: Solver
    n_features_in_: int

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
            self.n_features_in_ = X.d
            if X.names is not None:
                self.feature_names_in_ = np.array(X.names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            return X
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        rows = scan(X, y, sample_weight=sample_weight)
        validate_data(self, X, skip_check_array=True)
        self.n_features_in_ = rows.d
        return rows

    def _needs_rows(self, given: str) -> str:
        return (
            f"This {type(self).__name__} cannot be fitted from {given} alone: it needs the rows. Give alpha as a number "
            "(choosing it by cross-validation needs the folds), or fit from the data or gm.scan of them."
        )

    def _set_coefficients(self, coef: Floats, intercept: Floats, one_target: bool) -> None:
        """coef (d, t) and intercept (t,) as scikit-learn shapes them."""
        self.coef_ = np.ascontiguousarray(coef[:, 0] if one_target else coef.T)
        fitted = getattr(self, "fit_intercept", True)
        if not fitted:
            self.intercept_ = 0.0 if one_target else np.zeros(coef.shape[1])
        else:
            self.intercept_ = float(intercept[0]) if one_target else intercept

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _rows(self, X: Any) -> Rows:
        """New rows with the columns of the fit, in its order."""
        check_is_fitted(self)
        if isinstance(X, Rows):
            if X.d != self.n_features_in_:
                raise ValueError(
                    f"X has {X.d} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input."
                )
            return X
        rows = scan(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return rows

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
        coef = np.atleast_2d(self.coef_).T

        def of_block(block: Block) -> list[Floats]:
            with np.errstate(all="ignore"):
                return [np.asarray(_float(block.X) @ coef)]

        found = np.concatenate(rows.sum(of_block)) + self.intercept_
        if not np.isfinite(found).all():
            rows.refuse_nonfinite()
        return found[:, 0] if self.coef_.ndim == 1 else found

    def _interval(self, rows: Rows, interval: float, interval_of: str) -> Interval:
        raise ValueError(f"{type(self).__name__} has no prediction intervals: theory gives none for it.")

    def summary(self) -> Summary:
        """Coefficients and facts of the fit, as a table."""
        check_is_fitted(self)
        return self._summary()

    def _summary(self) -> Summary:
        raise NotImplementedError

    def chart(self, kind: str | None = None, *, theme: str = "light") -> Any:
        """One Altair chart of the fit (extra `app`); `kind` chooses which where there are several."""
        check_is_fitted(self)
        # Charts stand to the right of the models, so they are looked up by name when one is asked for.
        return import_module("gramian.charts").chart(self, kind, theme=theme)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class InferenceMixin:
    """Standard errors, tests and intervals from the covariance of the coefficients and the noise variance."""

    def _set_inference(self, solution: Any, one_target: bool) -> None:
        self._solution = solution
        variance = solution.residual / solution.weight
        self.noise_variance_ = float(variance[0]) if one_target else variance

    def _freedom(self) -> float:
        return float(self._solution.weight - self._solution.df)

    def _variance(self) -> Floats:
        """Unbiased noise variance (t,); NaN without degrees of freedom."""
        freedom = self._freedom()
        if freedom <= 0:
            return np.full(len(self._solution.residual), np.nan)
        return self._solution.residual / freedom

    def _errors(self) -> tuple[Floats, float]:
        """Standard errors over the noise deviation: of the coefficients (d,) and of the intercept."""
        s = self._solution
        d = len(s.x)
        scaled = np.ldexp(s.mean[:d], -s.x)
        own = 1.0 / s.weight if self.fit_intercept else 0.0  # type: ignore[attr-defined]
        intercept = np.sqrt(own + ((scaled @ s.spread) ** 2).sum())
        return np.ldexp(np.sqrt((s.spread**2).sum(axis=1)), -s.x), intercept

    def _quantile(self, interval: float) -> float:
        return float(scipy.stats.t.ppf(0.5 + interval / 2.0, self._freedom()))

    def _interval(self, rows: Rows, interval: float, interval_of: str) -> Interval:
        level = number("interval", interval, low=0.0, high=1.0, open_low=True)
        choice("interval_of", interval_of, ("observation", "mean"))
        if self._solution.spread is None:
            raise ValueError(f"The covariance of {self.n_features_in_} coefficients is too large to keep: no intervals.")  # type: ignore[attr-defined]
        if self._freedom() <= 0:
            raise ValueError(
                f"The fit uses {self._solution.df:.3g} degrees of freedom of a total weight of {self._solution.weight:.3g}: "
                "none are left for a prediction interval. Use more rows or fewer features."
            )
        s = self._solution
        d = len(s.x)

        def spread(block: Any) -> list[Floats]:
            X = block.X.toarray() if sp.issparse(block.X) else np.asarray(block.X, dtype=np.float64)
            Z = np.ldexp(X, -s.x) - np.ldexp(s.mean[:d], -s.x)
            return [((Z @ s.spread) ** 2).sum(axis=1)]

        mean = self.predict(rows)  # type: ignore[attr-defined]
        leverage = np.concatenate(rows.sum(spread))
        if self.fit_intercept:  # type: ignore[attr-defined]
            leverage = leverage + 1.0 / s.weight
        factor = np.sqrt(leverage + (1.0 if interval_of == "observation" else 0.0))
        half = self._quantile(level) * factor[:, None] * np.sqrt(self._variance())[None, :]
        half = half[:, 0] if mean.ndim == 1 else half
        return Interval(mean, mean - half, mean + half)

    def log_likelihood(self, X: Any = None, y: Any = None, *, sample_weight: Any = None) -> float:
        """Log-likelihood of the conditional Gaussian y | x ~ N(prediction, noise_variance_): of the training data, or of new data.

        For several targets, the sum over them, each with its own variance.
        """
        variance = np.atleast_1d(self.noise_variance_)
        if X is None:
            weight, squares = self._solution.weight, self._solution.residual
        else:
            rows = scan(X, y, sample_weight=sample_weight)
            block = rows.collect()
            if block.y is None:
                raise ValueError("The log-likelihood of new data needs their target y.")
            w = np.ones(rows.n) if block.weight is None else block.weight
            errors = block.y - self.predict(rows).reshape(rows.n, -1)  # type: ignore[attr-defined]
            weight, squares = float(w.sum()), w @ errors**2
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = -0.5 * (weight * np.log(2.0 * np.pi * variance) + np.where(squares > 0, squares / variance, 0.0))
        return float(terms.sum())

    def _summary(self) -> Summary:
        """The table: estimates, standard errors, 95 % intervals and p-values of a t distribution."""
        s = self._solution
        coefs, intercepts = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)  # type: ignore[attr-defined]
        features = self._feature_names()  # type: ignore[attr-defined]
        known = self._freedom() > 0 and s.spread is not None
        errors = self._errors() if known else (np.zeros(len(features)), 0.0)
        sigma = np.sqrt(self._variance())
        names, estimates, spreads, targets = [], [], [], []
        for target in range(len(coefs)):
            if self.fit_intercept:  # type: ignore[attr-defined]
                names.append("intercept")
                estimates.append(intercepts[target])
                spreads.append(errors[1] * sigma[target])
            names += features
            estimates += list(coefs[target])
            spreads += list(errors[0] * sigma[target])
            targets += [target] * (len(names) - len(targets))
        estimate, error = np.array(estimates), np.array(spreads)
        columns: dict[str, Any] = {"name": np.array(names, dtype=object), "estimate": estimate}
        if len(coefs) > 1:
            columns = {"target": np.array(targets), **columns}
        notes = [self.certificate_.note] if self.certificate_.note else []  # type: ignore[attr-defined]
        freedom = self._freedom()
        if known:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(error > 0, np.abs(estimate) / error, np.where(estimate == 0, 0.0, np.inf))
            half = self._quantile(0.95) * error
            columns |= {"error": error, "low": estimate - half, "high": estimate + half}
            columns["p"] = 2.0 * scipy.stats.t.sf(ratio, freedom)
        else:
            reason = "No degrees of freedom are left" if freedom <= 0 else "The covariance is too large to keep"
            notes.append(f"{reason}: standard errors and p-values cannot be had.")
        with np.errstate(divide="ignore", invalid="ignore"):
            r2 = np.where(s.total > 0, 1.0 - s.residual / s.total, np.where(s.residual > 0, 0.0, 1.0))
        one = len(coefs) == 1
        facts = {
            "r2": float(r2[0]) if one else r2,
            "sigma": float(sigma[0]) if one else sigma,
            "df": freedom,
            "n": s.weight,
            "noise_variance": self.noise_variance_,
            "log_likelihood": self.log_likelihood(),
            "rank": self.certificate_.rank,  # type: ignore[attr-defined]
            "condition": self.certificate_.condition,  # type: ignore[attr-defined]
        }
        return Summary(type(self).__name__, columns, facts, notes)


def _float(X: Any) -> Any:
    return X if X.dtype == np.float64 else X.astype(np.float64)
