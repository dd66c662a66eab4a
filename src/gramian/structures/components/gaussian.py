"""A normal density, with covariances of four kinds, and missing numbers by their conditional expectation."""

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian._core import validation
from gramian._core.numerics.small_tables import is_small
from gramian.rows import Rows
from gramian.structures.components.base import Structure, dense, weights
from gramian.structures.components.covariance import (
    KINDS,
    LOG_2PI,
    as_matrix,
    factor,
    floored,
    log_volume,
    units,
    whitened,
)
from gramian.structures.components.missing import expected, marginal
from gramian.structures.loop.em import ROOM, Engine
from gramian.structures.loop.state import Pass
from gramian.structures.loop.sufficient_statistics import Scatter
from gramian.warnings import PrecisionWarning, warn_user

Floats = NDArray[np.float64]
ROUNDS, SETTLED = 500, 1e-10  # of the fit of one density alone to rows with missing numbers


@dataclass(eq=False)
class Gaussian(Structure):
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
        Directions in which the least variance was put in place of a smaller one.

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
    density: ClassVar[bool] = True
    takes_missing: ClassVar[bool] = True
    grows: ClassVar[str] = "part"
    _learned: ClassVar[str] = "mean_"

    def check(self, d: int) -> None:
        validation.choice("covariance", self.covariance, KINDS)
        validation.number("regularization", self.regularization, low=0.0, open_low=True)

    @property
    def _kind(self) -> str:
        return "full" if self.covariance == "shared" else self.covariance

    def prepared(self, spread: Floats) -> "Gaussian":
        found = copy(self)
        found._unit = spread
        return found

    def loss(self, X: Any) -> Floats:
        if np.isnan(X).any():
            return marginal(X, self.mean_, as_matrix(self.covariance_, len(self.mean_)))
        y = whitened(X - self.mean_, self._root)
        d = X.shape[1]
        return 0.5 * np.einsum("ij,ij->i", y, y) + log_volume(self._root, d) + 0.5 * d * LOG_2PI

    def log_density(self, X: Any) -> Floats:
        """log N(x; mean, covariance) of every row; of the numbers that are there, where some are missing."""
        return -self._each(X, self.loss)

    def _squares(self, X: Any) -> Floats:
        away = X - self.mean_
        return np.einsum("ij,ij->i", away, away)

    def distance(self, X: Any) -> Floats:
        """Euclidean distance of every row from the mean."""
        return super().distance(X)

    def gather(self, X: Any, weight: Floats) -> Scatter:
        if np.isnan(X).any():
            return expected(X, weight, self.mean_, as_matrix(self.covariance_, len(self.mean_)), self._kind != "full")
        return Scatter.of(X, weight, diagonal=self._kind != "full")

    def _fit_alone(self, rows: Rows) -> None:
        if not np.isfinite(rows.sum(lambda block: np.asarray(block.X).sum(dtype=np.float64))):
            self._fit_missing(rows)
        else:
            summary = rows.sum(lambda block: self.gather(dense(block.X), weights(block)))
            self._unit = self._own_units(summary)
            self._learn(summary)
        if self.regularized_:
            warn_user(
                f"The rows do not vary in {self.regularized_} of {rows.d} directions, where no normal density is "
                f"likeliest: {self.regularization:g} of the variances of the columns stand there. Drop constant or "
                "repeated columns, or give a larger regularization.",
                PrecisionWarning,
            )

    def _fit_missing(self, rows: Rows) -> None:
        weight, mean, variance = column_moments(rows)
        self._unit = units(mean, variance)
        self._settle(mean, variance if self._kind != "full" else np.diag(variance))
        value = np.inf
        for _ in range(ROUNDS):
            total = rows.sum(lambda block: float(weights(block) @ self.loss(dense(block.X))))
            if value - total <= SETTLED * weight.max():  # whatever the units, which the likelihood depends on
                break
            value = total
            self._learn(rows.sum(lambda block: self.gather(dense(block.X), weights(block))))

    def _own_units(self, summary: Scatter) -> Floats:
        variance = summary.cross if summary.cross.ndim == 1 else summary.cross.diagonal()
        return units(summary.mean, variance / summary.mass)

    def _learn(self, summary: Any) -> None:
        self._settle(summary.mean, summary.cross / summary.mass)

    def _settle(self, mean: Floats, scatter: Floats) -> None:
        """Take a mean and the scatter about it, (d, d) or its diagonal."""
        self.mean_ = mean
        self.covariance_, self.regularized_ = floored(scatter, self._kind, self._unit, self.regularization)
        self._root = factor(self.covariance_)

    def given(self, mean: Any, covariance: Any) -> "Gaussian":
        """A copy with this mean and covariance, as a start for a model."""
        found = copy(self)
        found.mean_ = np.array(mean, dtype=np.float64)
        found.covariance_ = np.array(covariance, dtype=np.float64) if np.ndim(covariance) else float(covariance)
        found._root, found.regularized_ = factor(found.covariance_), 0
        return found

    def through(self, x: Floats) -> "Gaussian":
        found = copy(self)
        found.mean_ = np.array(x, dtype=np.float64)
        return found

    def parameters(self, d: int) -> int:
        # a shared matrix is counted once, by the model
        return d + {"full": d * (d + 1) // 2, "shared": 0, "diagonal": d, "spherical": 1}[self.covariance]

    def fused(self, state: Any, loop: Any) -> Any:
        structures = state.structures
        alike = all(type(each) is Gaussian and np.ndim(each._root) == np.ndim(self._root) for each in structures)
        k, d = len(structures), len(self.mean_)
        if not alike or loop.has_missing or k * d * d > ROOM or is_small(loop.rows.n * k * d):
            return None
        engine = Engine(structures, state.shares)

        def leaf(block: Any) -> Any:
            m = len(block)
            owners, scores = np.empty(m, dtype=np.int64), np.empty(m)
            value, mass, summaries = engine(np.ascontiguousarray(block.X), block.weight, owners, scores)
            return Pass(value, mass, summaries, changed=loop.keep(block, owners, scores))

        return leaf

    def together(self, summaries: list[Any]) -> list[Any]:
        """Summaries of all densities with one covariance for all, where it is shared."""
        if self.covariance != "shared":
            return summaries
        mass = sum(each.mass for each in summaries)
        cross = sum(each.cross for each in summaries) / mass
        return [Scatter(each.weight, each.mean, cross * each.mass, each.mass) for each in summaries]


def column_moments(rows: Rows) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and variance of the numbers that are there in each column."""

    def of_block(block: Any) -> "_Columns":
        X, w = dense(block.X), weights(block)[:, None]
        there = np.isfinite(X)
        if there.all():
            total = np.full(X.shape[1], w.sum())
            mean = w[:, 0] @ X / np.maximum(total, 1e-300)
            return _Columns(total, mean, w[:, 0] @ (X - mean) ** 2)
        w = np.where(there, w, 0.0)
        total = w.sum(axis=0)
        mean = np.where(there, X, 0.0) * w
        mean = mean.sum(axis=0) / np.where(total > 0, total, 1.0)
        return _Columns(total, mean, (w * np.where(there, X - mean, 0.0) ** 2).sum(axis=0))

    found = rows.sum(of_block)
    if (found.weight == 0).any():
        j = int((found.weight == 0).argmax())
        raise ValueError(f"Column {rows.name(j)} has no number at all, only missing ones (NaN). Drop it.")
    return found.weight, found.mean, found.cross / found.weight


@dataclass(eq=False)
class _Columns:
    weight: Floats
    mean: Floats
    cross: Floats

    def __add__(self, other: "_Columns") -> "_Columns":
        total = self.weight + other.weight
        share = other.weight / np.where(total > 0, total, 1.0)
        away = other.mean - self.mean
        return _Columns(total, self.mean + share * away, self.cross + other.cross + self.weight * share * away**2)
