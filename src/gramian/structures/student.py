"""Student's t density: a normal one with long tails, so that rows far away count for less."""

from copy import copy
from dataclasses import dataclass
from math import lgamma
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian import parameters
from gramian.rows import Rows
from gramian.structures.gaussian import column_moments
from gramian.structures.shapes import factor, floored, log_volume, units, whitened
from gramian.structures.structure import Structure, dense, weights
from gramian.structures.summaries import Scatter

Floats = NDArray[np.float64]
ROUNDS, SETTLED = 1000, 1e-13


@dataclass(eq=False)
class StudentT(Structure):
    """Student's t density with nu degrees of freedom; its loss is −log of the density.

    A refit weighs a row by (nu + d)/(nu + δ²), δ its distance in units of the scale: what is far counts for little.

    Parameters
    ----------
    nu : float
        Degrees of freedom: 1 has the longest tails in use, large ones are normal.
    regularization : float
        The least squared scale in any direction, in units of the variances of the columns.

    Attributes
    ----------
    mean_ : array (d,)
        The centre.
    scale_ : array (d, d)
        The scatter matrix of the density.
    covariance_ : array (d, d)
        scale_ · nu/(nu − 2); infinite for nu ≤ 2.
    regularized_ : int
        Directions in which the least scale was put in place of a smaller one.

    Examples
    --------
    >>> StudentT(2.0).fit([[0.0], [1.0], [2.0], [50.0]]).mean_.round(2)
    array([1.05])
    """

    nu: float = 4.0
    regularization: float = 1e-6
    density: ClassVar[bool] = True
    grows: ClassVar[str] = "part"
    _learned: ClassVar[str] = "mean_"

    def check(self, d: int) -> None:
        parameters.number("nu", self.nu, low=0.0, open_low=True)
        parameters.number("regularization", self.regularization, low=0.0, open_low=True)

    def prepared(self, spread: Floats) -> "StudentT":
        found = copy(self)
        found._unit = spread
        return found

    def _mahalanobis(self, X: Floats) -> Floats:
        y = whitened(X - self.mean_, self._root)
        return np.einsum("ij,ij->i", y, y)

    def loss(self, X: Any) -> Floats:
        d, nu = X.shape[1], float(self.nu)
        constant = lgamma(0.5 * nu) - lgamma(0.5 * (nu + d)) + 0.5 * d * np.log(np.pi * nu)
        return constant + log_volume(self._root, d) + 0.5 * (nu + d) * np.log1p(self._mahalanobis(X) / nu)

    def log_density(self, X: Any) -> Floats:
        """log t(x; nu, mean, scale) of every row."""
        return -self.loss(self._rows(X))

    def distance(self, X: Any) -> Floats:
        """Euclidean distance of every row from the mean."""
        return super().distance(X)

    def _squares(self, X: Any) -> Floats:
        away = X - self.mean_
        return np.einsum("ij,ij->i", away, away)

    def gather(self, X: Any, weight: Floats) -> Scatter:
        if not hasattr(self, "mean_"):
            return Scatter.of(X, weight)
        nu = float(self.nu)
        return Scatter.of(X, weight * ((nu + X.shape[1]) / (nu + self._mahalanobis(X))), mass=float(weight.sum()))

    def _learn(self, summary: Any) -> None:
        self.mean_ = summary.mean
        self.scale_, self.regularized_ = floored(summary.cross / summary.mass, "full", self._unit, self.regularization)
        self._root = factor(self.scale_)

    @property
    def covariance_(self) -> Floats:
        nu = float(self.nu)
        return self.scale_ * (nu / (nu - 2.0)) if nu > 2 else np.full_like(self.scale_, np.inf)

    def _fit_alone(self, rows: Rows) -> None:
        self._unit = units(*column_moments(rows)[1:])
        if hasattr(self, "mean_"):
            del self.mean_
        value = np.inf
        for _ in range(ROUNDS):
            self._learn(rows.sum(lambda block: self.gather(dense(block.X), weights(block))))
            total = rows.sum(lambda block: float(weights(block) @ self.loss(dense(block.X))))
            if value - total <= SETTLED * abs(total):
                break
            value = total

    def through(self, x: Floats) -> "StudentT":
        found = copy(self)
        found.mean_ = np.array(x, dtype=np.float64)
        return found

    def parameters(self, d: int) -> int:
        return d + d * (d + 1) // 2
