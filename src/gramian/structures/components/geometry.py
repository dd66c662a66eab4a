"""What a chart draws of a fitted structure, in the coordinates of the columns."""

from dataclasses import dataclass

import numpy as np

from gramian._core.types import Floats


@dataclass(frozen=True, eq=False)
class Geometry:
    """A centre, and at most one of: a flat through it, a closed quadric about it, the covariance of a density.

    Attributes
    ----------
    center : array (d,)
    directions : array (q, d), optional
        Orthonormal rows along which a flat extends.
    start : array (d,), optional
        Where a half-line begins that passes through the centre.
    quadric : array (d, d), optional
        The matrix S of the surface (x − center)ᵀ S⁻¹ (x − center) = 1.
    covariance : array (d, d), optional
        The covariance of a density, whose contours are drawn at one and two standard deviations.
    """

    center: Floats
    directions: Floats | None = None
    start: Floats | None = None
    quadric: Floats | None = None
    covariance: Floats | None = None

    @property
    def normal(self) -> Floats | None:
        """The unit normal (d,) of a hyperplane that is not a line; None of anything else."""
        q, d = np.shape(self.directions) if self.directions is not None else (0, len(self.center))
        if q != d - 1 or q == 1 or self.directions is None:
            return None
        return np.asarray(np.linalg.svd(self.directions)[2][-1])

    @property
    def extent(self) -> Floats:
        """The mean outer product (d, d) of its extension in space, zero of a point."""
        d = len(self.center)
        if self.covariance is not None:
            return self.covariance
        if self.quadric is not None:
            return self.quadric / d
        return np.zeros((d, d)) if self.directions is None else self.directions.T @ self.directions
