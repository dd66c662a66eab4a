"""The Tracy–Widom law of the largest eigenvalue of real noise.

F₁(s) = det(1 − B) for the operator with the kernel Ai(x + y + s) on x, y > 0. Gauss–Legendre quadrature makes of it the
determinant of a small symmetric matrix, exact to rounding; its eigenvalues give 1 − F₁ to rounding too, however small.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gramian._core.types import Array, Floats

NODES = 48
END = 16.0  # the Airy function beyond is nothing beside what is before
LOWEST = -10.0  # below, F₁ is less than 1e-18
MIDDLE = 3.0  # up to here F₁ is interpolated: 1 − F₁ is not small
HIGHEST = 100.0  # above, 1 − F₁ is no float
DEGREE = 80
TAIL_DEGREE = 24


def tracy_widom(s: ArrayLike) -> tuple[Floats, Floats]:
    """F₁(s) and 1 − F₁(s), to about 12 digits of the smaller one where s > 3 and of 1 elsewhere.

    >>> F, rest = tracy_widom([-1.2686, 0.9793, 2.0234])
    >>> F.round(4)
    array([0.5 , 0.95, 0.99])
    """
    s_values = np.atleast_1d(np.asarray(s, dtype=np.float64))
    below, above = np.zeros_like(s_values), np.ones_like(s_values)
    interpolated = (s_values > LOWEST) & (s_values <= MIDDLE)
    if interpolated.any():
        below[interpolated] = np.clip(_polynomial()(s_values[interpolated]), 0.0, 1.0)
        above[interpolated] = 1.0 - below[interpolated]
    tail = (s_values > MIDDLE) & (s_values < HIGHEST)
    if tail.any():
        above[tail] = np.exp(_tail(s_values[tail]))
    above[s_values >= HIGHEST] = 0.0
    below[s_values > MIDDLE] = 1.0 - above[s_values > MIDDLE]
    return below, above


def tail_curvature(s: float) -> float:
    """G″/G for G = 1 − F₁; to 2 % beyond 3, where it is about that of ∫ Ai."""
    if s > MIDDLE:
        return float(s + 1.0 / np.sqrt(s))
    at = max(s, LOWEST)
    return float(-_polynomial().deriv(2)(at) / (1.0 - _polynomial()(at)))


@cache
def _polynomial() -> Any:
    """F₁ between LOWEST and MIDDLE."""
    return np.polynomial.Chebyshev.interpolate(
        lambda points: np.exp([_logarithm(at) for at in points]), DEGREE, domain=[LOWEST, MIDDLE]
    )


def _tail(s: Floats) -> Floats:
    """log(1 − F₁(s)) for s > MIDDLE: −⅔ s^1.5 − ¾ log s, and a smooth function of s^−1.5."""
    return np.asarray(_rest()(s**-1.5) - s**1.5 / 1.5 - 0.75 * np.log(s))


@cache
def _rest() -> Any:
    def at(t: Floats) -> Floats:
        s = t ** (-1.0 / 1.5)
        values = np.array([-np.expm1(_logarithm(float(point))) for point in s])
        return np.asarray(np.log(values) + s**1.5 / 1.5 + 0.75 * np.log(s))

    return np.polynomial.Chebyshev.interpolate(at, TAIL_DEGREE, domain=[HIGHEST**-1.5, MIDDLE**-1.5])


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


def largest_of_noise(n: Array | float, p: Array | float) -> tuple[Floats, Floats]:
    """Centre and scale of the largest eigenvalue of p × p noise of unit variance, divisor n, on n degrees of freedom.

    Johnstone's, with Ma's half integers: (λ − centre) / scale has the Tracy–Widom law to O(n^−⅔).
    """
    a, b = np.sqrt(np.maximum(n - 0.5, 0.5)), np.sqrt(np.maximum(p - 0.5, 0.5))
    return (a + b) ** 2 / n, (a + b) * (1.0 / a + 1.0 / b) ** (1.0 / 3.0) / n
