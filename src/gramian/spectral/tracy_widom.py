"""The Tracy–Widom law of the largest eigenvalue of real noise.

F₁(s) = det(1 − B) for the operator with the kernel Ai(x + y + s) on x, y > 0. Gauss–Legendre quadrature makes of it the
determinant of a small symmetric matrix, exact to rounding; its eigenvalues give 1 − F₁ to rounding too, however small.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NODES = 64
END = 16.0  # the Airy function beyond is nothing beside what is before
LOWEST = -10.0  # below, F₁ is less than 1e-18
HIGHEST = 100.0  # above, 1 − F₁ is no float


@cache
def _nodes() -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(NODES)
    return 0.5 * (x + 1.0), 0.5 * w


def tracy_widom(s: Any) -> tuple[Floats, Floats]:
    """F₁(s) and 1 − F₁(s), each to about 14 digits.

    >>> F, rest = tracy_widom([-1.2686, 0.9793, 2.0234])
    >>> F.round(4)
    array([0.5 , 0.95, 0.99])
    """
    from scipy.special import airy

    given = np.atleast_1d(np.asarray(s, dtype=np.float64))
    below, above = np.zeros_like(given), np.ones_like(given)
    x, w = _nodes()
    for i, at in enumerate(given.flat):
        if at <= LOWEST or np.isnan(at):
            continue
        if at >= HIGHEST:
            below.flat[i], above.flat[i] = 1.0, 0.0
            continue
        length = max(END - at, END)
        points, root = length * x, np.sqrt(length * w)
        B = root[:, None] * airy(points[:, None] + points + at)[0] * root
        logarithm = np.log1p(-np.minimum(np.linalg.eigvalsh(B), 1.0 - 1e-16)).sum()
        below.flat[i], above.flat[i] = np.exp(logarithm), -np.expm1(logarithm)
    return below, above


def largest_of_noise(n: float, p: int) -> tuple[float, float]:
    """Centre and scale of the largest eigenvalue of p × p noise of unit variance, divisor n, on n degrees of freedom.

    Johnstone's, with Ma's half integers: (λ − centre) / scale has the Tracy–Widom law to O(n^−⅔).
    """
    a, b = np.sqrt(max(n - 0.5, 0.5)), np.sqrt(max(p - 0.5, 0.5))
    return float((a + b) ** 2 / n), float((a + b) * (1.0 / a + 1.0 / b) ** (1.0 / 3.0) / n)
