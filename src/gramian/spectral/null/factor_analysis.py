"""Factor analysis: k directions in common, and a noise variance of its own in every column."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from gramian._core.types import Floats

ITERATIONS = 20
LEAST_NOISE = 1e-3  # of the variance of a column: less is a column that is a factor itself (Heywood)


@dataclass(frozen=True, eq=False)
class Factors:
    """Z ≈ scores · loadingsᵀ + noise, with sums of squares of the noise of each column."""

    loadings: Floats  # (d, k), of scores of norm 1
    noise: Floats  # (d,)
    scores: Floats | None = None  # (n, k), orthonormal


def factors_of(Z: Floats, k: int) -> Factors:
    """Of centred rows; by products of columns, or of rows where these are fewer."""
    n, d = Z.shape
    squares = (Z**2).sum(axis=0)
    if d <= n:
        factors = factors_of_products(Z.T @ Z, k, n - 1.0)
        unit = 1.0 / np.sqrt(factors.noise)
        U = (Z * unit) @ (factors.loadings * unit[:, None])
        return Factors(factors.loadings, factors.noise, U / np.maximum(np.linalg.norm(U, axis=0), 1e-300))

    def leading(noise: Floats) -> tuple[Floats, Floats, Floats]:
        A = Z / np.sqrt(noise)
        values, U = sla.eigh(A @ A.T, subset_by_index=[n - k, n - 1], check_finite=False)
        root = np.sqrt(np.maximum(values, 1e-300))
        return values, (A.T @ U) / root, U

    loadings, noise, U = _alternate(squares, leading)
    return Factors(loadings, noise * _corrected(n - 1.0, k), U)


def factors_of_products(S: Floats, k: int, freedom: float) -> Factors:
    """Of sums of products of the columns, in maximum likelihood's alternation of loadings and noise variances."""
    d = len(S)

    def leading(noise: Floats) -> tuple[Floats, Floats, Floats]:
        unit = 1.0 / np.sqrt(noise)
        values, V = sla.eigh(S * unit[:, None] * unit, subset_by_index=[d - k, d - 1], check_finite=False)
        return values, V, V

    loadings, noise, _ = _alternate(np.diagonal(S).copy(), leading)
    return Factors(loadings, noise * _corrected(freedom, k))


def _corrected(freedom: float, k: int) -> float:
    """What the noise is multiplied by: k scores fitted to it take as many degrees of freedom."""
    return freedom / max(freedom - k, 1.0)


def _alternate(
    squares: Floats, leading: Callable[[Floats], tuple[Floats, Floats, Floats]]
) -> tuple[Floats, Floats, Floats]:
    """Loadings from the leading eigenvectors in units of the noise, and the noise that they leave, in turn.

    A fixed number of times: near enough for simulation, not converged where a column has little noise.
    """
    floor = np.maximum(LEAST_NOISE * squares, 1e-14 * float(squares.max()))
    noise = np.maximum(squares, floor)
    for _ in range(ITERATIONS):
        values, V, U = leading(noise)
        loadings = np.sqrt(noise)[:, None] * V * np.sqrt(np.maximum(values - 1.0, 0.0))
        noise = np.maximum(squares - (loadings**2).sum(axis=1), floor)
    return loadings, noise, U
