"""The Tracy–Widom law of the largest eigenvalue of real noise.

F₁(s) = det(1 − B) for the operator with the kernel Ai(x + y + s) on x, y > 0. Gauss–Legendre quadrature makes of it the
determinant of a small symmetric matrix, exact to rounding; its eigenvalues give 1 − F₁ to rounding too, however small.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NODES = 48
END = 16.0  # the Airy function beyond is nothing beside what is before
LOWEST = -10.0  # below, F₁ is less than 1e-18
MIDDLE = 3.0  # up to here F₁ is interpolated: 1 − F₁ is not small
HIGHEST = 100.0  # above, 1 − F₁ is no float
DEGREE = 80


def tracy_widom(s: Any) -> tuple[Floats, Floats]:
    """F₁(s) and 1 − F₁(s), to about 12 digits of the smaller one where s > 3 and of 1 elsewhere.

    >>> F, rest = tracy_widom([-1.2686, 0.9793, 2.0234])
    >>> F.round(4)
    array([0.5 , 0.95, 0.99])
    """
    given = np.atleast_1d(np.asarray(s, dtype=np.float64))
    below, above = np.zeros_like(given), np.ones_like(given)
    usual = (given > LOWEST) & (given <= MIDDLE)
    if usual.any():
        below[usual] = np.clip(_polynomial()(given[usual]), 0.0, 1.0)
        above[usual] = 1.0 - below[usual]
    for i in np.flatnonzero(given > MIDDLE):
        logarithm = _logarithm(float(given[i])) if given[i] < HIGHEST else 0.0
        below[i], above[i] = np.exp(logarithm), -np.expm1(logarithm)
    return below, above


@cache
def _polynomial() -> Any:
    """F₁ between LOWEST and MIDDLE."""
    return np.polynomial.Chebyshev.interpolate(
        lambda points: np.exp([_logarithm(at) for at in points]), DEGREE, domain=[LOWEST, MIDDLE]
    )


@cache
def _nodes() -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(NODES)
    return 0.5 * (x + 1.0), 0.5 * w


def _logarithm(s: float) -> float:
    """log F₁(s)."""
    from scipy.special import airy

    x, w = _nodes()
    length = max(END - s, END)
    points, root = length * x, np.sqrt(length * w)
    i, j = np.tril_indices(NODES)
    B = np.zeros((NODES, NODES))
    B[i, j] = root[i] * airy(points[i] + points[j] + s)[0] * root[j]
    values = np.linalg.eigvalsh(B, UPLO="L")
    return float(np.log1p(-np.minimum(values, 1.0 - 1e-16)).sum())


def largest_of_noise(n: float, p: int) -> tuple[float, float]:
    """Centre and scale of the largest eigenvalue of p × p noise of unit variance, divisor n, on n degrees of freedom.

    Johnstone's, with Ma's half integers: (λ − centre) / scale has the Tracy–Widom law to O(n^−⅔).
    """
    a, b = np.sqrt(max(n - 0.5, 0.5)), np.sqrt(max(p - 0.5, 0.5))
    return float((a + b) ** 2 / n), float((a + b) * (1.0 / a + 1.0 / b) ** (1.0 / 3.0) / n)
