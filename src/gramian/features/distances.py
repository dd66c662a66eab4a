"""Squared distances to centres: a matrix product, and differences where the product would lose digits."""

import numpy as np
from scipy.spatial.distance import pdist

from gramian._core.types import Bools, Floats

FAR = 2.0**500  # coordinates are cut off here, so that squares stay finite; such pairs are computed from differences
UNDERFLOW = 746.0  # exp(-746) is zero
TOLERANCE = 1e-13  # largest error of an exponent that is left to the product
PAIRS = 2**18  # numbers in a batch of differences


class Exponents:
    """‖x − c‖² / (2 h²) for rows x and centres c, to about 1e-13 of absolute error wherever exp(−·) is not zero."""

    def __init__(self, centers: Floats, length_scale: float) -> None:
        self.centers = centers
        self.unit = length_scale
        self.shift = (centers / len(centers)).sum(axis=0)
        self.Z = self._in_units(centers)
        self.norms = np.einsum("ij,ij->i", self.Z, self.Z)

    def __call__(self, X: Floats) -> Floats:
        U = self._in_units(X)
        norms = np.einsum("ij,ij->i", U, U)
        result: Floats = U @ (-2.0 * self.Z.T)
        result += norms[:, None]
        result += self.norms
        error = (8.0 + np.sqrt(X.shape[1])) * np.finfo(np.float64).eps
        if error * (norms.max() + self.norms.max()) > TOLERANCE:
            bound = error * (norms[:, None] + self.norms)
            self._from_differences(X, result, (bound > TOLERANCE) & (result - bound < UNDERFLOW))
        return np.maximum(result, 0.0, out=result)

    def _in_units(self, X: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.clip((X - self.shift) / self.unit * np.sqrt(0.5), -FAR, FAR)

    def _from_differences(self, X: Floats, result: Floats, where: Bools) -> None:
        rows, columns = np.nonzero(where)
        size = max(PAIRS // X.shape[1], 1)
        with np.errstate(over="ignore"):
            for start in range(0, len(rows), size):
                i, j = rows[start : start + size], columns[start : start + size]
                differences = (X[i] - self.centers[j]) / self.unit * np.sqrt(0.5)
                result[i, j] = np.einsum("ij,ij->i", differences, differences)


def median_distance(points: Floats) -> float:
    """Median of the positive distances between points; 1 where there is none."""
    _, exponent = np.frexp(np.abs(points).max())
    distances = pdist(np.ldexp(points, -exponent))
    distances = distances[distances > 0]
    if not distances.size:
        return 1.0
    with np.errstate(over="ignore"):
        return float(np.clip(np.ldexp(np.median(distances), exponent), 2.0**-1074, np.finfo(np.float64).max))
