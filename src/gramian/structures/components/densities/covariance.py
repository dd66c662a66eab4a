"""Covariance matrices of densities: eigenvalue floors, Cholesky factors and whitening."""

from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats

KINDS = ("full", "shared", "diagonal", "spherical")
LOG_2PI = float(np.log(2.0 * np.pi))


def units(mean: Floats, variance: Floats) -> Floats:
    """The standard deviation of each column; for constant columns that of the others, or their magnitude, or 1."""
    deviation = np.sqrt(np.maximum(variance, 0.0))
    constant = deviation <= 1e-14 * np.abs(mean)
    if not constant.any():
        return deviation
    others = float(np.sqrt(np.mean(deviation[~constant] ** 2))) if not constant.all() else float(np.abs(mean).max())
    return np.where(constant, others if others > 0 else 1.0, deviation)


def floored(scatter: Floats, kind: str, unit: Floats, floor: float) -> tuple[Any, int]:
    """The maximum-likelihood matrix of a kind with eigenvalues of at least `floor`, and how many were raised to it.

    `scatter` is (d, d), or its diagonal (d,); eigenvalues are those in units of the columns. Clipping them maximises
    the likelihood under the floor, so that EM stays monotone.
    """
    if kind == "spherical":
        variance, lowest = float(np.mean(scatter)), floor * float(np.mean(unit**2))
        return max(variance, lowest), len(unit) * int(variance < lowest)
    if kind == "diagonal":
        floors = floor * unit**2
        return np.maximum(scatter, floors), int((scatter < floors).sum())
    scaled = scatter / np.outer(unit, unit)
    values, vectors = sl.eigh(scaled)
    if values[0] >= floor:
        return scatter, 0
    clipped = (vectors * np.maximum(values, floor)) @ vectors.T
    return 0.5 * (clipped + clipped.T) * np.outer(unit, unit), int((values < floor).sum())


def factor(matrix: Any) -> Any:
    """The lower Cholesky factor of a matrix, or the square roots of variances."""
    if np.ndim(matrix) < 2:
        return np.sqrt(matrix)
    size = np.sqrt(matrix.diagonal())
    return size[:, None] * sl.cholesky(matrix / np.outer(size, size), lower=True, check_finite=False)


def whitened(deviation: Floats, root: Any) -> Floats:
    """L⁻¹(x − mean) for rows x − mean."""
    if np.ndim(root) < 2:
        return deviation / root
    return np.asarray(sl.solve_triangular(root, deviation.T, lower=True, check_finite=False).T)


def log_volume(root: Any, d: int) -> float:
    """log det L."""
    if np.ndim(root) == 0:
        return float(d * np.log(root))
    return float(np.log(root if np.ndim(root) == 1 else root.diagonal()).sum())


def as_matrix(matrix: Any, d: int) -> Floats:
    """The (d, d) matrix of a covariance that may be given as variances or as one variance."""
    if np.ndim(matrix) == 2:
        return np.asarray(matrix)
    return np.diag(np.broadcast_to(matrix, d))
