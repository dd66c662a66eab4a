"""Fewer points where there would be too many: rows drawn at random, curves without what no eye could see."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def some(n: int, most: int, first: Ints | None = None) -> Ints:
    """At most so many of n rows, in order: those of `first`, and others at random, the same ones every time.

    >>> some(3, 10), len(some(1000, 10)), 7 in some(1000, 10, np.array([7]))
    (array([0, 1, 2]), 10, True)
    """
    if n <= most:
        return np.arange(n)
    generator = np.random.default_rng(0)
    first = np.arange(0) if first is None else first
    if len(first) >= most:
        return np.sort(generator.choice(first, most, replace=False))
    rest = np.setdiff1d(np.arange(n), first)
    return np.sort(np.concatenate([first, generator.choice(rest, most - len(first), replace=False)]))


def thinned(x: Floats, y: Floats, most: int) -> Ints:
    """Places of at most so many points of a curve: its corners, and of too many those at about equal steps along it.

    >>> thinned(np.array([0.0, 1.0, 2.0, 2.0]), np.array([0.0, 1.0, 2.0, 3.0]), 10)
    array([0, 2, 3])
    """
    if len(x) < 3:
        return np.arange(len(x))
    dx, dy = np.diff(x), np.diff(y)
    cross = dx[1:] * dy[:-1] - dx[:-1] * dy[1:]
    size = np.hypot(dx, dy)
    bent = (np.abs(cross) > 1e-9 * size[1:] * size[:-1]) | (dx[1:] * dx[:-1] + dy[1:] * dy[:-1] < 0)
    kept = np.flatnonzero(np.concatenate([[True], bent, [True]]))
    if len(kept) <= most:
        return kept
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x[kept])) + np.abs(np.diff(y[kept])))])
    nearest = np.searchsorted(along, np.linspace(0.0, along[-1], most))
    return kept[np.unique(np.minimum(nearest, len(kept) - 1))]


def weighted_quantile(values: Floats, parts: Floats, weight: Floats | None = None) -> Floats:
    """Quantiles, each row counting by its weight: the least value that so much of the weight does not exceed.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([0.5]), np.array([1.0, 5.0, 1.0]))
    array([1.])
    """
    if weight is None:
        return np.asarray(np.quantile(values, parts))
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weight[order])
    return values[order][np.minimum(np.searchsorted(up_to, parts * up_to[-1]), len(values) - 1)]
