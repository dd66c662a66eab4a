"""Quantiles of weighted values."""

import numpy as np

from gramian._core.types import Floats
from gramian.metrics.classes import totals


def distinct_values(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The distinct values in increasing order, and the total weight of each."""
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, totals(place, weight, len(distinct))


def quantiles(values: Floats, weight: Floats, parts: Floats) -> Floats:
    """Quantiles of sorted values: as of the repeated values where weights are whole, by the inverse distribution else.

    >>> quantiles(np.array([1.0, 2.0, 5.0]), np.array([1.0, 2.0, 1.0]), np.array([0.0, 0.5, 1.0]))
    array([1., 2., 5.])
    """
    up_to = np.cumsum(weight)
    last = len(values) - 1
    if (weight != np.floor(weight)).any():
        return values[np.minimum(np.searchsorted(up_to, parts * up_to[-1]), last)]
    place = parts * (up_to[-1] - 1.0)
    lower = np.floor(place)
    below, above = (values[np.minimum(np.searchsorted(up_to, at, side="right"), last)] for at in (lower, lower + 1.0))
    gap, between = above - below, place - lower
    return np.where(between < 0.5, below + gap * between, above - gap * (1.0 - between))
