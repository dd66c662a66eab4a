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


def with_rounding(certificate: Certificate, neglected: float, intercept: float) -> Certificate:
    """The certificate, which does not hold where a share of the objective beyond its tolerance was left to rounding."""
    notes = [certificate.note] if certificate.note else []
    if not neglected <= certificate.tolerance:
        notes.append(
            "Columns taken as constant vary by no more than about the rounding of their values, and the minimum may "
            f"lie lower by {_percent(neglected)} of the objective: subtract a number near their mean before they are "
            "rounded, drop them, or raise alpha."
        )
    if not intercept <= certificate.tolerance:
        notes.append(
            "The columns are so far from zero that rounding the intercept raises the objective by "
            f"{_percent(intercept)}: subtract a number near their mean from each column."
        )
    certain = neglected <= certificate.tolerance and intercept <= certificate.tolerance
    return certificate if certain else replace(certificate, holds=False, note=" ".join(notes))


def _percent(share: float) -> str:
    return f"up to {100 * share:.2g} %" if share < 1 else "any part"
