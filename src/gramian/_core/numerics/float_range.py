"""Powers of two that keep squares within the float range, and sums that keep their rounding errors."""

import numpy as np
from scipy.linalg.blas import dger

from gramian._core.types import Bools, Floats, Ints

SAFE_EXPONENT = 400  # columns within 2^±400 are squared as they are; others are scaled by a power of two first
NOTHING = -(2**20)  # the exponent of zero


def add_outer(matrix: Floats, vector: Floats, sign: float = 1.0) -> Floats:
    """matrix ± vector vectorᵀ in place, exactly symmetric."""
    return dger(sign, vector, vector, a=matrix.T, overwrite_a=1).T


def rescaled(matrix: Floats, change: Ints) -> Floats:
    """matrix · 2^change for rows and columns."""
    return np.ldexp(np.ldexp(matrix, change[:, None]), change[None, :])


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b as a rounded sum and its rounding error."""
    total = a + b
    remainder = total - a
    return total, (a - (total - remainder)) + (b - remainder)


def magnitude(values: Floats, exponents: Ints) -> Ints:
    """Binary exponent of values · 2^exponents; very small for zero."""
    return np.where(values != 0, np.frexp(values)[1] + exponents, NOTHING)


def squares_fit(diagonal: Floats) -> Bools:
    """Which sums of squares are far from over- and underflow."""
    return (diagonal < 2.0 ** (2 * SAFE_EXPONENT)) & (diagonal > 2.0 ** (-2 * SAFE_EXPONENT))
