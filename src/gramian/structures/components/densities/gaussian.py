"""A normal density, with covariances of four kinds, and missing numbers by their conditional expectation."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gramian._core import validation
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Matrix, Table
from gramian.rows import Rows
from gramian.rows.base import Block
from gramian.structures.components.base import ProbabilityDensity, dense, total_over
from gramian.structures.components.densities.covariance import (
    KINDS,
    LOG_2PI,
    as_matrix,
    factor,
    floored,
    log_volume,
    units,
    whitened,
)
from gramian.structures.components.densities.missing import expected, marginal
from gramian.structures.loop.em import MAX_NUMBERS, GaussianPass
from gramian.structures.loop.state import PassTotals
from gramian.structures.loop.sufficient_statistics import Scatter
from gramian.warnings import PrecisionWarning, warn_user

MAX_EM_STEPS, MIN_DECREASE = 500, 1e-10  # of the fit of one density to rows with missing numbers; per unit of weight


@dataclass(eq=False)
class Gaussian(ProbabilityDensity):
    """A normal density N(mean, covariance); its loss is −log of the density.

    Parameters
    ----------
    covariance : "full", "shared", "diagonal" or "spherical"
        A matrix; one matrix for all densities of a model; variances alone; one variance.
    regularization : float
        The least variance in any direction, in units of the variances of the columns. Within a model these are of all
        its rows, so that the fit does not depend on the units of the data.

    Attributes
    ----------
    mean_ : array (d,)
    covariance_ : array (d, d), (d,) if diagonal, or a number if spherical
        Of maximum likelihood: divisor Σw.
    regularized_ : int
        Directions whose variance was raised to the least one.

    Examples
    --------
    >>> gaussian = Gaussian("diagonal").fit([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    >>> gaussian.mean_
    array([2., 4.])
    >>> gaussian.log_density([[2.0, 4.0]]).round(3)
    array([-3.408])
    """

    covariance: str = "full"
    regularization: float = 1e-6
    takes_missing: ClassVar[bool] = True
    noun: ClassVar[tuple[str, str]] = ("Gaussian", "Gaussians")

    def check(self, d: int) -> None:
        validation.choice("covariance", self.covariance, KINDS)
        validation.number("regularization", self.regularization, low=0.0, open_low=True)

    @property
    def _kind(self) -> str:
        return "full" if self.covariance == "shared" else self.covariance

    def scatter_matrix(self) -> Floats:
        return as_matrix(self.covariance_, len(self.mean_))

    def loss(self, X: Matrix) -> Floats:
        if np.isnan(X).any():
            return marginal(X, self.mean_, self.scatter_matrix())
        y = whitened(X - self.mean_, self._root)
        d = X.shape[1]
        return 0.5 * np.einsum("ij,ij->i", y, y) + log_volume(self._root, d) + 0.5 * d * LOG_2PI

    def log_density(self, X: Table) -> Floats:
        """log N(x; mean, covariance) of every row; where numbers are missing, of those observed."""
        return super().log_density(X)

    def statistics(self, X: Matrix, weight: Floats) -> Scatter:
        if np.isnan(X).any():
            return expected(X, weight, self.mean_, self.scatter_matrix(), self._kind != "full")
        return Scatter.of(X, weight, diagonal=self._kind != "full")

    def _fit_alone(self, rows: Rows) -> None:
        if not np.isfinite(rows.sum(lambda block: np.asarray(block.X).sum(dtype=np.float64))):
            self._fit_missing(rows)
        else:
            scatter = total_over(rows)(self.statistics)
            self._unit = self._column_units(scatter)
            self._update(scatter)
        if self.regularized_:
            warn_user(
                f"The covariance of the rows is singular in {self.regularized_} of {rows.d} directions, where the "
                f"likelihood is unbounded; its eigenvalues were raised to {self.regularization:g} of the column "
                "variances. Drop constant or duplicate columns, or raise regularization.",
                PrecisionWarning,
            )

    def _fit_missing(self, rows: Rows) -> None:
        weight, mean, variance = column_moments(rows)
        self._unit = units(mean, variance)
        self._set_parameters(mean, variance if self._kind != "full" else np.diag(variance))
        value, total = np.inf, total_over(rows)
        for _ in range(MAX_EM_STEPS):
            new = float(total(lambda X, weight: float(weight @ self.loss(X))))
            if value - new <= MIN_DECREASE * weight.max():  # absolute: units change the likelihood by a constant
                break
            value = new
            self._update(total(self.statistics))

    def _column_units(self, scatter: Scatter) -> Floats:
        variance = scatter.cross if scatter.cross.ndim == 1 else scatter.cross.diagonal()
        return units(scatter.mean, variance / scatter.mass)

    def _update(self, estimate: Any) -> None:
        self._set_parameters(estimate.mean, estimate.cross / estimate.mass)

    def _set_parameters(self, mean: Floats, scatter: Floats) -> None:
        """Set the mean, and the covariance from the scatter about it, (d, d) or its diagonal."""
        self.mean_ = mean
        self.covariance_, self.regularized_ = floored(scatter, self._kind, self._unit, self.regularization)
        self._root = factor(self.covariance_)

    def given(self, mean: Any, covariance: Any) -> "Gaussian":
        """A copy with this mean and covariance, as the initial value of a model."""
        other = self.moved_to(mean)
        other.covariance_ = np.array(covariance, dtype=np.float64) if np.ndim(covariance) else float(covariance)
        other._root, other.regularized_ = factor(other.covariance_), 0
        return other

    def n_parameters(self, d: int) -> int:
        return d + {"full": d * (d + 1) // 2, "shared": 0, "diagonal": d, "spherical": 1}[self.covariance]

    def n_shared_parameters(self, d: int) -> int:
        return d * (d + 1) // 2 if self.covariance == "shared" else 0

    def fused_pass(self, state: Any, loop: Any) -> Any:
        structures = state.structures
        alike = all(type(each) is type(self) and np.ndim(each._root) == np.ndim(self._root) for each in structures)
        k, d = len(structures), len(self.mean_)
        if not alike or loop.has_missing or k * d * d > MAX_NUMBERS or is_small(loop.rows.n * k * d):
            return None
        e_step = GaussianPass(structures, state.shares)

        def leaf(block: Block) -> Any:
            m = len(block)
            owners, scores = np.empty(m, dtype=np.int64), np.empty(m)
            value, mass, totals = e_step(np.ascontiguousarray(block.X), block.weight, owners, scores)
            return PassTotals(value, mass, totals, changed=loop.keep(block, owners, scores))

        return leaf

    def pooled(self, totals: list[Any]) -> list[Any]:
        if self.covariance != "shared":
            return totals
        mass = sum(each.mass for each in totals)
        cross = sum(each.cross for each in totals) / mass
        return [Scatter(each.weight, each.mean, cross * each.mass, each.mass) for each in totals]


def column_moments(rows: Rows) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and variance of the observed numbers of each column."""

    def of_block(block: Block) -> "_ColumnMoments":
        X, w = dense(block.X), block.weights[:, None]
        observed = np.isfinite(X)
        if observed.all():
            total = np.full(X.shape[1], w.sum())
            mean = w[:, 0] @ X / np.maximum(total, 1e-300)
            return _ColumnMoments(total, mean, w[:, 0] @ (X - mean) ** 2)
        w = np.where(observed, w, 0.0)
        total = w.sum(axis=0)
        mean = np.where(observed, X, 0.0) * w
        mean = mean.sum(axis=0) / np.where(total > 0, total, 1.0)
        return _ColumnMoments(total, mean, (w * np.where(observed, X - mean, 0.0) ** 2).sum(axis=0))

    moments = rows.sum(of_block)
    if (moments.weight == 0).any():
        j = int((moments.weight == 0).argmax())
        raise ValueError(f"Every value of column {rows.name(j)} is missing (NaN). Drop it.")
    return moments.weight, moments.mean, moments.cross / moments.weight


@dataclass(eq=False)
class _ColumnMoments:
    """Weight, mean and Σw (x − mean)² of each column; merged without cancellation."""

    weight: Floats
    mean: Floats
    cross: Floats

    def __add__(self, other: "_ColumnMoments") -> "_ColumnMoments":
        total = self.weight + other.weight
        share = other.weight / np.where(total > 0, total, 1.0)
        shift = other.mean - self.mean
        cross = self.cross + other.cross + self.weight * share * shift**2
        return _ColumnMoments(total, self.mean + share * shift, cross)
