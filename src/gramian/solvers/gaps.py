"""How a duality gap is shown: relative to a unit, and never below zero."""

import math

import numpy as np

from gramian._core.types import Floats

EPS = float(np.finfo(np.float64).eps)
ROUNDING = 1e-9  # of the unit: a negative gap beyond it is no rounding, but a dual point that is not feasible


def relative_gap(gap: float, unit: float) -> float:
    """|gap| / unit; infinite where either is not finite, or the gap is negative beyond rounding: that proves nothing.

    >>> relative_gap(1e-3, 10.0), relative_gap(-1e-12, 1.0), relative_gap(-1e-3, 1.0), relative_gap(1.0, float("inf"))
    (0.0001, 1e-12, inf, inf)
    """
    share = gap / max(unit, 1e-300)
    known = math.isfinite(share) and math.isfinite(unit)
    return abs(share) if known and share >= -ROUNDING else math.inf


def kernel_rounding(diagonal: Floats, beta: Floats, weight: Floats) -> float:
    """About what rounding of f = Kβ leaves uncertain of Σ w loss(f) and of βᵀKβ, for losses of slope at most one.

    Products of K and β err by a unit in their last place, independently, and |K_ij| ≤ √(K_ii K_jj). Far from zero,
    where K is huge and f a small difference, that may exceed any gap.
    """
    with np.errstate(over="ignore"):
        root = np.sqrt(np.abs(diagonal))
        errors = EPS * root * float(np.linalg.norm(root * beta))
        return float((weight + np.abs(beta)) @ errors)
