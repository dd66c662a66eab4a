"""`StandardScaler`: columns with mean 0 and standard deviation 1."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.types import Array, Bools, Floats, Matrix, Table, Tags, Values, Weights
from gramian.features.base import SavedMoments, checked, fill, is_moments, kept_dtype, read, refuse_other_columns
from gramian.features.deviations import means_and_deviations
from gramian.rows import Block, Rows, scan, workspace
from gramian.rows.feature_names import remember_columns

HUGE = 2.0**1000  # columns beyond are divided by four first, so that a difference of two numbers stays in range


@estimator
class StandardScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Bring columns to one scale: subtract the mean, divide by the standard deviation, both of the rows given to `fit`.

    z = (x − mean) / scale, where scale² = Σ w (x − mean)² / Σ w, and scale = 1 for a constant column.

    Parameters
    ----------
    with_mean : bool, default True
        Subtract the mean. Sparse X needs False, to stay sparse.
    with_std : bool, default True
        Divide by the standard deviation.

    Attributes
    ----------
    mean_, scale_ : array (d,)
        What is subtracted and divided by; both are there whatever is used.
    var_ : array (d,)
        Variances (divisor Σ w). Beyond 1e308 they read inf, below 1e-323 they read 0; `scale_` has neither limit.
    constant_ : array of bool (d,)
        Columns in which all numbers (of positive weight) are equal.
    n_samples_seen_ : int or float
        Rows, or the sum of the weights.
    n_features_in_, feature_names_in_
        What was given to `fit`.

    Notes
    -----
    One pass over the rows, O(n d), in means and standard deviations that merge without cancellation; from `gm.moments`
    of the rows, no pass at all.

    Examples
    --------
    >>> import gramian as gm
    >>> scaler = gm.StandardScaler().fit([[1.0, 5.0], [3.0, 5.0]])
    >>> scaler.mean_, scaler.scale_, scaler.constant_
    (array([2., 5.]), array([1., 1.]), array([False,  True]))
    >>> scaler.transform([[4.0, 5.0]])
    array([[2., 0.]])
    """

    _: KW_ONLY
    with_mean: bool = True
    with_std: bool = True

    def fit(self, X: Table, y: Values | None = None, sample_weight: Weights = None) -> Self:
        """Learn means and standard deviations from rows (array, frame, sparse, `Rows`) or from `Moments`."""
        if is_moments(X):
            if sample_weight is not None:
                raise ValueError("These moments hold their weights; give sample_weight to gm.moments itself.")
            return self._fit_moments(X)
        validation.switch("with_mean", self.with_mean)
        validation.switch("with_std", self.with_std)
        rows = read(self, X, fitting=True, sample_weight=sample_weight)
        self._refuse_sparse(rows)
        total = rows.sum(lambda block: means_and_deviations(checked(block, rows)))
        seen = total.weight if rows.weighted else rows.n
        return self._set(total.mean, total.deviation, total.constant, seen)

    def transform(self, X: Table) -> Matrix:
        """Rows in units of the standard deviation."""
        check_is_fitted(self)
        rows = read(self, X, fitting=False)
        self._refuse_sparse(rows)
        if rows.is_sparse:
            return self._scale_stored(rows, np.divide)
        mean, scale, factor = self._in_range()

        def write(block: Block, part: Array) -> None:
            Z = workspace("standardised", *part.shape)
            np.subtract(block.X if factor is None else block.X * factor, mean, out=Z)
            np.divide(Z, scale, out=part, casting="same_kind")

        return fill(rows, rows.d, write, "Transform it in parts.")

    def inverse_transform(self, X: Table) -> Matrix:
        """Rows in their own units again."""
        check_is_fitted(self)
        rows = scan(X)
        refuse_other_columns(self, rows)
        self._refuse_sparse(rows)
        if rows.is_sparse:
            return self._scale_stored(rows, np.multiply)
        mean, scale, factor = self._in_range()

        def write(block: Block, part: Array) -> None:
            Z = workspace("standardised", *part.shape)
            np.multiply(block.X, scale, out=Z)
            Z += mean
            part[:] = Z if factor is None else Z / factor

        return fill(rows, rows.d, write, "Transform it in parts.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_mean
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _fit_moments(self, moments: SavedMoments) -> Self:
        d = moments.d
        remember_columns(self, d, moments.names)
        squares = np.diagonal(moments.scaled)[:d]
        deviation = np.ldexp(np.sqrt(squares / moments.weight), moments.exponents[:d])
        seen = moments.n if moments.weight == moments.n else moments.weight
        return self._set(moments.mean[:d].copy(), deviation, squares == 0, seen)

    def _set(self, mean: Floats, deviation: Floats, constant: Bools, seen: float) -> Self:
        self.mean_ = mean
        self.constant_ = constant
        self.scale_ = np.where(constant, 1.0, np.maximum(deviation, np.finfo(np.float64).smallest_subnormal))
        with np.errstate(over="ignore", under="ignore"):
            self.var_ = np.where(constant, 0.0, deviation * deviation)
        self.n_samples_seen_ = seen
        return self

    def _in_range(self) -> tuple[Any, Any, Floats | None]:
        """Mean, scale, and None; or all three with a factor that keeps huge columns in range."""
        mean = self.mean_ if self.with_mean else np.zeros_like(self.mean_)
        scale = self.scale_ if self.with_std else np.ones_like(self.scale_)
        huge = (np.abs(self.mean_) > HUGE) | (self.scale_ > HUGE)
        if not huge.any():
            return mean, scale, None
        factor = np.where(huge, 0.25, 1.0)
        return mean * factor, scale * factor, factor

    def _scale_stored(self, rows: Rows, operation: Callable[..., Array]) -> Matrix:
        X = checked(rows.collect(), rows).X.astype(kept_dtype(rows), copy=True)
        if self.with_std:
            X.data[:] = operation(X.data, self.scale_[X.indices])
        return X

    def _refuse_sparse(self, rows: Rows) -> None:
        if rows.is_sparse and self.with_mean:
            raise ValueError(
                "Subtracting the mean would make sparse X dense: set with_mean=False, or give X.toarray() if it "
                "fits in memory."
            )
