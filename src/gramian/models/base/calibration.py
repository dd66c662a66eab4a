"""Probabilities for classifiers that have none: a map from decision values that keeps their order."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, logsumexp

from gramian._core.types import Floats, Ints

MOST_SLOPE = 1e4


@dataclass(frozen=True)
class Calibration:
    """P(class) from decisions: 1 / (1 + exp(−slope f)) with a slope for each sign of f; for several classes the softmax
    of steepness times the decisions. Both leave the most probable class where the decision puts it.

    >>> import numpy as np
    >>> Calibration(1.0, 1.0).probabilities(np.array([0.0, 2.0])).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    below: float
    above: float

    def probabilities(self, f: Floats) -> Floats:
        """(n, k) of decisions (n,) or (n, k)."""
        if f.ndim == 1:
            p = expit(np.where(f > 0, self.above, self.below) * f)
            p = np.where(f > 0, np.maximum(p, np.nextafter(0.5, 1.0)), np.minimum(p, 0.5))  # however flat the slope
            return np.column_stack([1.0 - p, p])
        scaled = self.above * (f - f.max(axis=1, keepdims=True))
        p = np.exp(scaled)
        p /= p.sum(axis=1, keepdims=True)
        best = f.argmax(axis=1)
        tied = np.flatnonzero(p.argmax(axis=1) != best)  # by rounding: the decision stands
        p[tied, best[tied]] = np.nextafter(p[tied].max(axis=1), 1.0)
        return p


def calibrate(f: Floats, codes: Ints, weight: Floats) -> Calibration:
    """The most likely slopes, from decisions on rows that did not take part in their own.

    One wrong row more on each side, at the mean distance, keeps slopes finite where classes are separated.
    """
    if f.ndim == 1:
        return Calibration(_slope(f, codes, weight, -1.0), _slope(f, codes, weight, 1.0))
    own = f[np.arange(len(f)), codes]
    size = float(weight @ np.abs(f - own[:, None]).mean(axis=1) / weight.sum()) or 1.0

    def cost(log_slope: float) -> float:
        slope = np.exp(log_slope)
        loss = logsumexp(slope * f, axis=1) - slope * own
        return float(weight @ loss) + slope * size

    found = minimize_scalar(
        cost, bounds=(np.log(1e-3 / size), np.log(MOST_SLOPE / size)), method="bounded", options={"xatol": 1e-10}
    )
    slope = float(np.exp(found.x))
    return Calibration(slope, slope)


def _slope(f: Floats, codes: Ints, weight: Floats, side: float) -> float:
    """The slope of one side of the boundary."""
    some = (f * side > 0) & (weight > 0)
    if not some.any():
        return 1.0 / (float(weight @ np.abs(f) / weight.sum()) or 1.0)
    distance, w = np.abs(f[some]), weight[some]
    right = np.where(codes[some] == (1 if side > 0 else 0), 1.0, -1.0)
    size = float(w @ distance / w.sum()) or 1.0

    def cost(log_slope: float) -> float:
        slope = np.exp(log_slope)
        return -float(w @ log_expit(right * slope * distance)) - float(log_expit(-slope * size))

    found = minimize_scalar(
        cost, bounds=(np.log(1e-3 / size), np.log(MOST_SLOPE / size)), method="bounded", options={"xatol": 1e-10}
    )
    return float(np.exp(found.x))
