"""Samples of rows, curves without invisible points, weighted quantiles."""

import numpy as np

from gramian._core.types import Floats, Ints


def sample(n: int, max_rows: int, first: Ints | None = None) -> Ints:
    """At most `max_rows` of n row numbers, sorted: those of `first`, and others at random with a fixed seed.

    >>> sample(3, 10), len(sample(1000, 10)), 7 in sample(1000, 10, np.array([7]))
    (array([0, 1, 2]), 10, True)
    """
    if n <= max_rows:
        return np.arange(n)
    generator = np.random.default_rng(0)
    first = np.arange(0) if first is None else first
    if len(first) >= max_rows:
        return np.sort(generator.choice(first, max_rows, replace=False))
    others = np.setdiff1d(np.arange(n), first)
    return np.sort(np.concatenate([first, generator.choice(others, max_rows - len(first), replace=False)]))


def thinned(x: Floats, y: Floats, max_points: int) -> Ints:
    """Indices of at most `max_points` points of a curve: its corners, thinned to about equal steps along it.

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
    if len(kept) <= max_points:
        return kept
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x[kept])) + np.abs(np.diff(y[kept])))])
    nearest = np.searchsorted(along, np.linspace(0.0, along[-1], max_points))
    return kept[np.unique(np.minimum(nearest, len(kept) - 1))]


def weighted_quantile(values: Floats, parts: Floats, weight: Floats | None = None) -> Floats:
    """Weighted quantiles: the smallest value whose cumulative weight reaches the share.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([0.5]), np.array([1.0, 5.0, 1.0]))
    array([1.])
    """
    if weight is None:
        return np.asarray(np.quantile(values, parts))
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weight[order])
    return values[order][np.minimum(np.searchsorted(up_to, parts * up_to[-1]), len(values) - 1)]


def dot_size(n: int) -> int:
    """The area of a dot, smaller where there are many rows."""
    return 42 if n <= 300 else 26 if n <= 1000 else 14
