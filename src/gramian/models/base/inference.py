"""Inference for least squares and ridge: errors, intervals, likelihood."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import stdtr, stdtrit  # Student's t; scipy.stats would take longer to import than a fit

from gramian._core.summary import Summary
from gramian._core.types import Floats
from gramian._core.validation import choice, number
from gramian.models.base.linear_model import Interval
from gramian.models.base.notes import penalty_notes
from gramian.models.base.squared_loss import SquaredLossModel
from gramian.rows import Rows, scan
from gramian.solvers.solution import SquaredLossSums


class InferentialModel(SquaredLossModel):
    """A linear model with standard errors, tests and intervals, from its covariance and the noise variance."""

    @property
    def _squares(self) -> SquaredLossSums:
        assert self._solution is not None
        return self._solution.squares

    def _freedom(self) -> float:
        squares = self._squares
        assert squares.df is not None
        return float(squares.weight - squares.df)

    def _variance(self) -> Floats:
        """Unbiased noise variance (t,); NaN without degrees of freedom."""
        freedom = self._freedom()
        if freedom <= 0:
            return np.full(len(self._squares.residual), np.nan)
        return self._squares.residual / freedom

    def _errors(self) -> tuple[Floats, float]:
        """Standard errors over the noise deviation: of the coefficients (d,) and of the intercept."""
        s = self._squares
        assert s.covariance_factor is not None
        d = len(s.x)
        scaled = np.ldexp(s.mean[:d], -s.x)
        own = 1.0 / s.weight if self.fit_intercept else 0.0
        intercept = np.sqrt(own + ((scaled @ s.covariance_factor) ** 2).sum())
        return np.ldexp(np.sqrt((s.covariance_factor**2).sum(axis=1)), -s.x), intercept

    def _quantile(self, interval: float) -> float:
        return float(stdtrit(self._freedom(), 0.5 + interval / 2.0))

    def _interval(self, rows: Rows, interval: float, interval_of: str) -> Interval:
        level = number("interval", interval, low=0.0, high=1.0, open_low=True)
        choice("interval_of", interval_of, ("observation", "mean"))
        mean, leverage = self._located(rows)
        factor = np.sqrt(leverage + (1.0 if interval_of == "observation" else 0.0))
        half = self._quantile(level) * factor[:, None] * np.sqrt(self._variance())[None, :]
        half = half[:, 0] if mean.ndim == 1 else half
        return Interval(mean, mean - half, mean + half)

    def predict_distribution(self, X: Any) -> Any:
        """The distribution of the target given x, under normal noise: mean, std, quantile, log_density, optimal.

        Student's t with the degrees of freedom that the fit leaves, for the noise variance is estimated; the
        uncertainty of the coefficients is in it. Its quantiles are the ends of `predict(X, interval=…)`.
        """
        from gramian.models.base.distribution import StudentT

        mean, leverage = self._located(self._rows(X))
        scale = np.sqrt(1.0 + leverage)[:, None] * np.sqrt(self._variance())[None, :]
        return StudentT(mean, scale.reshape(mean.shape), self._freedom())

    def _located(self, rows: Rows) -> tuple[Floats, Floats]:
        """Predictions, and their own variance over that of the noise."""
        if self._freedom() > 0 and self._squares.covariance_factor is None:
            raise ValueError(
                f"The covariance of {self.n_features_in_} coefficients is too large to keep: no intervals."
            )
        if self._freedom() <= 0:
            raise ValueError(
                f"The fit uses {self._squares.df:.3g} degrees of freedom of a total weight of "
                f"{self._squares.weight:.3g}: none are left for a prediction interval. Use more rows or fewer "
                "features."
            )
        s = self._squares
        d = len(s.x)

        def spread(block: Any) -> list[Floats]:
            X = block.X.toarray() if sp.issparse(block.X) else np.asarray(block.X, dtype=np.float64)
            Z = np.ldexp(X, -s.x) - np.ldexp(s.mean[:d], -s.x)
            return [((Z @ s.covariance_factor) ** 2).sum(axis=1)]

        mean = self.predict(rows)
        leverage = np.concatenate(rows.sum(spread))
        return mean, leverage + 1.0 / s.weight if self.fit_intercept else leverage

    def log_likelihood(self, X: Any = None, y: Any = None, *, sample_weight: Any = None) -> float:
        """Log-likelihood of y | x ~ N(prediction, noise_variance_), of the training data or of new data.

        For several targets, the sum over them, each with its own variance.
        """
        variance = np.atleast_1d(self.noise_variance_)
        if X is None:
            weight, squares = self._squares.weight, self._squares.residual
        else:
            rows = scan(X, y, sample_weight=sample_weight)
            block = rows.collect()
            if block.y is None:
                raise ValueError("The log-likelihood of new data needs their target y.")
            w = block.weights
            errors = block.y - self.predict(rows).reshape(rows.n, -1)
            weight, squares = float(w.sum()), w @ errors**2
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = -0.5 * (weight * np.log(2.0 * np.pi * variance) + np.where(squares > 0, squares / variance, 0.0))
        return float(terms.sum())

    def _summary(self) -> Summary:
        """The table: estimates, standard errors, 95 % intervals and p-values of a t distribution."""
        s = self._squares
        columns = self._coefficient_table()
        estimate, sigma, freedom = columns["estimate"], np.sqrt(self._variance()), self._freedom()
        notes = [self.certificate_.note] if self.certificate_.note else []
        if freedom > 0 and s.covariance_factor is not None:
            unit, own = self._errors()
            unit = np.append(own, unit) if self.fit_intercept else unit
            error = (sigma[:, None] * unit).reshape(-1)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(error > 0, np.abs(estimate) / error, np.where(estimate == 0, 0.0, np.inf))
            half = self._quantile(0.95) * error
            columns |= {"error": error, "low": estimate - half, "high": estimate + half}
            columns["p"] = 2.0 * stdtr(freedom, -ratio)
        else:
            reason = "No degrees of freedom are left" if freedom <= 0 else "The covariance is too large to keep"
            notes.append(f"{reason}: standard errors and p-values cannot be had.")
        with np.errstate(divide="ignore", invalid="ignore"):
            r2 = np.where(s.total > 0, 1.0 - s.residual / s.total, np.where(s.residual > 0, 0.0, 1.0))
        one = len(sigma) == 1
        facts = {
            "r2": float(r2[0]) if one else r2,
            "sigma": float(sigma[0]) if one else sigma,
            "df": freedom,
            "n": s.weight,
            "noise_variance": self.noise_variance_,
            "log_likelihood": self.log_likelihood(),
            "rank": self.certificate_.rank,
            "condition": self.certificate_.condition,
        }
        known = {name: value for name, value in facts.items() if value is not None}
        return Summary(type(self).__name__, columns, known, notes)

    def _ridge_summary(self) -> Summary:
        """The table with the strength of the penalty, and what standard errors under it do not contain."""
        summary = InferentialModel._summary(self)
        chosen = hasattr(self, "scores_")
        notes = [*summary.notes, *penalty_notes(self.alpha_, chosen, "error" in summary.coefficients)]
        notes += [str(self.scores_)] if chosen else []
        return Summary(summary.title, summary.coefficients, {"alpha": self.alpha_, **summary.facts}, notes)
