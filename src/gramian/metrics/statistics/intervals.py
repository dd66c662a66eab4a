"""Confidence intervals: of shares, of means, and of numbers between 0 and 1 whose variance is known."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri, stdtrit

from gramian._core.types import Floats
from gramian._core.validation import is_number


class Interval(NamedTuple):
    """A metric and the confidence interval around it; arrays where the metric is one.

    >>> import gramian as gm
    >>> found = gm.metrics.accuracy([0, 1, 1, 0], [0, 1, 1, 1], interval=0.95)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.75, 0.301, 0.954)
    """

    value: Any
    low: Any
    high: Any


Measured = float | Interval


def upper_tail(level: object) -> float:
    """The probability below the upper end of a two-sided interval of this level."""
    if not is_number(level) or not 0.0 < float(level) < 1.0:
        raise ValueError(f"interval is {level!r}; it must be a confidence level between 0 and 1, such as 0.95.")
    return 0.5 + 0.5 * float(level)


def normal_quantile(level: float) -> float:
    """z with P(|N(0, 1)| ≤ z) = level."""
    return float(ndtri(upper_tail(level)))


def t_quantile(level: float, weight: float) -> float:
    """t with P(|T| ≤ t) = level at Σw − 1 degrees of freedom; infinite where one row tells nothing of the spread."""
    tail = upper_tail(level)
    return float(stdtrit(weight - 1.0, tail)) if weight > 1.0 else np.inf


def wilson(hits: ArrayLike, count: ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Wilson's score interval of the share hits / count; from 0 to 1 where the count is 0.

    >>> low, high = wilson(8.0, 10.0, 0.95)
    >>> float(low.round(4)), float(high.round(4))
    (0.4902, 0.9433)
    """
    z = normal_quantile(level)
    hits, count = np.asarray(hits, dtype=np.float64), np.asarray(count, dtype=np.float64)
    value = share(hits, count)
    centre = (hits + 0.5 * z * z) / (count + z * z)
    half = z / (count + z * z) * np.sqrt(value * np.maximum(count - hits, 0.0) + 0.25 * z * z)
    return np.clip(centre - half, 0.0, value), np.clip(centre + half, value, 1.0)


def share(hits: ArrayLike, count: ArrayLike) -> Floats:
    """hits / count, and 0 where the count is 0."""
    hits, count = np.asarray(hits, dtype=np.float64), np.asarray(count, dtype=np.float64)
    return np.divide(hits, count, out=np.zeros(np.broadcast(hits, count).shape), where=count > 0)


def bounded(value: float, variance: float, count: float, level: float) -> tuple[float, float]:
    """Interval of a number between 0 and 1 by the normal distribution of its logit.

    A variance of zero (nothing, or everything, went wrong) tells nothing: then Wilson's, as of a share of `count`.
    """
    z = normal_quantile(level)
    if not 0.0 < value < 1.0 or variance <= 0.0:
        low, high = wilson(value * count, count, level)
        return float(low), float(high)
    step = z * np.sqrt(variance) / (value * (1.0 - value))
    low, high = expit(logit(value) - step), expit(logit(value) + step)
    return min(float(low), value), max(float(high), value)


def of_mean(mean: float, spread: float, weight: float, level: float) -> tuple[float, float]:
    """Student's interval of a mean; `spread` is the root of the centred sum of squares."""
    t = t_quantile(level, weight)
    if not np.isfinite(t):
        return -np.inf, np.inf
    half = t * (spread / np.sqrt(weight) / np.sqrt(weight - 1.0))
    return mean - half, mean + half
