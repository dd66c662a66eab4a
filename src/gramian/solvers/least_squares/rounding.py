"""What rounding costs a fit to the squared loss: columns taken as constant, and an intercept far from zero.

A column far from zero may vary by little more than half a unit in the last place of its values. It is taken as
constant, because no method could tell its variation from rounding, but the data as given have another minimiser. A
certificate holds where the difference is within its tolerance.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.solvers.certificate import Certificate

EPS = float(np.finfo(np.float64).eps)
TARGET_DIGITS = 1e-8  # of a target's distance from zero: variation below it is no unit for errors

CONSTANT = (
    "Columns taken as constant vary by no more than about the rounding of their values, and the minimum may lie lower "
    "by {} of the objective: subtract a number near their mean before they are rounded, drop them, or raise alpha."
)
INTERCEPT = (
    "The columns are so far from zero that rounding the intercept raises the objective by {}: subtract a number near "
    "their mean from each column."
)
DEPENDENT = (
    "Rows differ by about the rounding of their values alone, and were taken as linearly dependent: the minimum may "
    "lie lower by {} of the objective. Bring the columns to similar scales about zero."
)


def neglected_share(squares: Floats, l1: Floats, l2: Floats, total: float) -> float:
    """A bound on what the columns left out could lower the objective by, relative to `total`.

    `squares` are the sums of squares of these columns, about their means; `total` is the residual sum of squares, and
    2 l1 |z| + l2 z² the penalty of a coefficient z, all in the same units.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        reach = np.maximum(np.sqrt(squares) - l1 / np.sqrt(total), 0.0) if total > 0 else np.zeros_like(squares)
        shares = np.where(reach > 0, reach**2 / l2, 0.0)
    return float(np.sum(shares, initial=0.0))


def intercept_share(mean: Any, coef: Floats, weight: float, total: Floats) -> float:
    """What the rounding of b = ȳ − x̄ᵀc adds to the objective, relative to Σ w (y − ȳ)² of each target, at worst.

    `mean` has the means of the features and of the targets; `total` is in their units.
    """
    d = len(coef)
    means = np.abs(np.asarray(mean, dtype=np.float64))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rounding = EPS * (means[d:] + means[:d] @ np.abs(coef))
        unit = np.maximum(np.sqrt(total / weight), TARGET_DIGITS * means[d:])
        shares = (rounding / np.where(unit > 0, unit, 1.0)) ** 2
    return float(np.max(shares, initial=0.0))


def with_rounding(certificate: Certificate, neglected: float, intercept: float, dependent: float = 0.0) -> Certificate:
    """The certificate, which does not hold where a share of the objective beyond its tolerance was left to rounding.

    The shares are those of columns taken as constant, of the intercept, and of rows taken as linearly dependent.
    """
    shares = {CONSTANT: neglected, INTERCEPT: intercept, DEPENDENT: dependent}
    lost = [text.format(_percent(share)) for text, share in shares.items() if not share <= certificate.tolerance]
    return replace(certificate, holds=False, note=" ".join([certificate.note, *lost]).strip()) if lost else certificate


def _percent(share: float) -> str:
    return f"up to {100 * share:.2g} %" if share < 1 else "any part"
