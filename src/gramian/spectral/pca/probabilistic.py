"""Probabilistic PCA: a Gaussian with its own variance along each axis, and one variance in all other directions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.features.base import checked
from gramian.rows import Block, Rows
from gramian.spectral.pca.projection import square_distances


@dataclass(frozen=True, eq=False)
class Density:
    """N(mean, Σ λ v vᵀ + noise (1 − Σ v vᵀ))."""

    axes: Floats
    mean: Floats
    variances: Floats
    noise: float

    def of(self, rows: Rows) -> Floats:
        """Log-density of each row."""
        constant, inverse, beyond = self._parts()

        def of_block(block: Block) -> Any:
            squares, T = square_distances(checked(block, rows), self.axes, self.mean)
            return [constant - 0.5 * ((T**2) @ inverse + beyond * squares)]

        return np.concatenate(rows.sum(of_block))

    def of_all(self, weight: float, total: float, divisor: float) -> float:
        """Log-likelihood of the rows that were fitted, from their variances (with `divisor`) and the whole (Σw)."""
        constant, inverse, beyond = self._parts()
        own = self.variances * (divisor / weight)
        return float(weight * (constant - 0.5 * (own @ inverse + beyond * max(total - own.sum(), 0.0))))

    def covariance(self) -> Floats:
        covariance = (self.axes.T * (self.variances - self.noise)) @ self.axes
        covariance[np.diag_indices_from(covariance)] += self.noise
        return covariance

    def _parts(self) -> tuple[float, Floats, float]:
        """The log of the density at the mean; 1/variance along the axes and beyond them."""
        r, d = self.axes.shape
        if (self.variances <= 0).any() or (r < d and self.noise <= 0):
            raise ValueError(
                "The rows lie in a flat of fewer dimensions than there are columns: their density is infinite there. "
                "Take fewer components, so that some variance is left for the noise."
            )
        logs = float(np.log(self.variances).sum()) + ((d - r) * float(np.log(self.noise)) if r < d else 0.0)
        return -0.5 * (d * np.log(2.0 * np.pi) + logs), 1.0 / self.variances, 1.0 / self.noise if r < d else 0.0
