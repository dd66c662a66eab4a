"""Scatter matrices that densities divide by: their floor, their factor, and distances in their units."""

from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
KINDS = ("full", "shared", "diagonal", "spherical")
LOG_2PI = float(np.log(2.0 * np.pi))


def units(mean: Floats, variance: Floats) -> Floats:
    """The standard deviation of each column; of a constant one that of the others, or the size of its number, or 1."""
    spread = np.sqrt(np.maximum(variance, 0.0))
    constant = spread <= 1e-14 * np.abs(mean)
    if not constant.any():
        return spread
    rest = float(np.sqrt(np.mean(spread[~constant] ** 2))) if not constant.all() else float(np.abs(mean).max())
    return np.where(constant, rest if rest > 0 else 1.0, spread)


def floored(scatter: Floats, kind: str, unit: Floats, floor: float) -> tuple[Any, int]:
    """The likeliest matrix of a kind that is nowhere below `floor` · unit²; and in how many directions it would be.

    `scatter` is (d, d), or its diagonal (d,). With a floor the clipped eigenvalues in units of the columns maximise the
    likelihood among all matrices above it, so that EM keeps rising.
    """
    if kind == "spherical":
        variance, least = float(np.mean(scatter)), floor * float(np.mean(unit**2))
        return max(variance, least), len(unit) * int(variance < least)
    if kind == "diagonal":
        lowest = floor * unit**2
        return np.maximum(scatter, lowest), int((scatter < lowest).sum())
    scaled = scatter / np.outer(unit, unit)
    values, vectors = sl.eigh(scaled)
    if values[0] >= floor:
        return scatter, 0
    clipped = (vectors * np.maximum(values, floor)) @ vectors.T
    return 0.5 * (clipped + clipped.T) * np.outer(unit, unit), int((values < floor).sum())


def factor(matrix: Any) -> Any:
    """Its lower Cholesky factor, or the roots of variances."""
    if np.ndim(matrix) < 2:
        return np.sqrt(matrix)
    size = np.sqrt(matrix.diagonal())
    return size[:, None] * sl.cholesky(matrix / np.outer(size, size), lower=True, check_finite=False)


def whitened(away: Floats, root: Any) -> Floats:
    """L⁻¹(x − mean) for rows x − mean."""
    if np.ndim(root) < 2:
        return away / root
    return np.asarray(sl.solve_triangular(root, away.T, lower=True, check_finite=False).T)


def log_volume(root: Any, d: int) -> float:
    """log det L."""
    if np.ndim(root) == 0:
        return float(d * np.log(root))
    return float(np.log(root if np.ndim(root) == 1 else root.diagonal()).sum())


def as_matrix(matrix: Any, d: int) -> Floats:
    """The whole (d, d) matrix."""
    if np.ndim(matrix) == 2:
        return np.asarray(matrix)
    return np.diag(np.broadcast_to(matrix, d))
