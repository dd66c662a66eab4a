"""Compiled bisection of rows by a hyperplane, and descent of rows in a tree of hyperplanes."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.types import Array
from gramian.structures.hierarchy.bisection_small import MAX_POWER_STEPS, MIN_RELATIVE_SCATTER


@njit(cache=True, nogil=True)
def _mean(X: Array, w: Array, index: Array, out: Array) -> float:  # pragma: no cover - compiled
    out[:] = 0.0
    total = 0.0
    for i in index:
        total += w[i]
        for c in range(X.shape[1]):
            out[c] += w[i] * X[i, c]
    out /= total
    return total


@njit(cache=True, nogil=True)
def _dot(x: Array, normal: Array) -> float:  # pragma: no cover - compiled
    """x · normal in one order of summation, so that a row is always on the same side."""
    total = 0.0
    for c in range(x.shape[0]):
        total += x[c] * normal[c]
    return total


@njit(cache=True, nogil=True)
def sum_of_squares(X: Array, w: Array, index: Array) -> float:  # pragma: no cover - compiled
    """Σ w ‖x − mean‖² of some rows."""
    mean = np.empty(X.shape[1])
    _mean(X, w, index, mean)
    total = 0.0
    for i in index:
        for c in range(X.shape[1]):
            u = X[i, c] - mean[c]
            total += w[i] * u * u
    return total


@njit(cache=True, nogil=True)
def _principal(X: Array, w: Array, index: Array, mean: Array) -> Any:  # pragma: no cover - compiled
    """The first principal direction, by the power method from the column of the largest variance."""
    d = X.shape[1]
    variance = np.zeros(d)
    for i in index:
        for c in range(d):
            u = X[i, c] - mean[c]
            variance[c] += w[i] * u * u
    at = variance.argmax()
    direction = np.zeros(d)
    for i in index:
        u = w[i] * (X[i, at] - mean[at])
        for c in range(d):
            direction[c] += u * (X[i, c] - mean[c])
    direction /= np.sqrt((direction * direction).sum())
    image = np.empty(d)
    for _ in range(MAX_POWER_STEPS):
        image[:] = 0.0
        for i in index:
            u = 0.0
            for c in range(d):
                u += (X[i, c] - mean[c]) * direction[c]
            u *= w[i]
            for c in range(d):
                image[c] += u * (X[i, c] - mean[c])
        image /= np.sqrt((image * image).sum())
        moved = np.abs(image - direction).max()
        direction[:] = image
        if moved < 1e-6:
            break
    return direction


@njit(cache=True, nogil=True)
def _best_cut(X: Array, w: Array, index: Array, mean: Array, total: float, direction: Array) -> Any:  # pragma: no cover
    """The threshold along a direction that lowers Σ w ‖x − c‖² the most, and by how much."""
    size, d = len(index), X.shape[1]
    along = np.empty(size)
    for p in range(size):
        along[p] = _dot(X[index[p]], direction)
    order = np.argsort(along, kind="mergesort")
    sums = np.zeros(d)
    before, best, threshold = 0.0, -1.0, 0.0
    for p in range(size - 1):
        i = index[order[p]]
        before += w[i]
        for c in range(d):
            sums[c] += w[i] * (X[i, c] - mean[c])
        here, there = along[order[p]], along[order[p + 1]]
        if there > here:
            decrease = (sums * sums).sum() * total / (before * (total - before))
            if decrease > best:
                middle = 0.5 * here + 0.5 * there
                best, threshold = decrease, middle if middle < there else here
    return best, threshold


@njit(cache=True, nogil=True)
def bisect(
    X: Array, w: Array, index: Array, means: bool, max_rounds: int, normal: Array
) -> Any:  # pragma: no cover - compiled
    """Split rows where x · normal > threshold; the decrease of Σ w ‖x − c‖² is −1 where they cannot be split.

    The cut is the best one orthogonal to the principal direction; with `means`, 2-means continues from there. The side
    of a row is one inner product, and most splits are of few rows, so that bounds and threads would not pay.
    """
    d = X.shape[1]
    mean = np.empty(d)
    total = _mean(X, w, index, mean)
    size = 0.0
    for c in range(d):
        size += mean[c] * mean[c]
    if len(index) < 2 or sum_of_squares(X, w, index) <= MIN_RELATIVE_SCATTER * total * size:
        return 0.0, -1.0, index, index
    normal[:] = _principal(X, w, index, mean)
    decrease, threshold = _best_cut(X, w, index, mean, total, normal)
    if decrease < 0.0:
        return 0.0, -1.0, index, index
    side = np.empty(len(index), np.bool_)
    for p in range(len(index)):
        side[p] = _dot(X[index[p]], normal) > threshold
    if means:
        low, high, trial = np.empty(d), np.empty(d), np.empty(d)
        for _ in range(max_rounds):
            _mean(X, w, index[~side], low)
            _mean(X, w, index[side], high)
            middle = 0.0
            for c in range(d):
                trial[c] = high[c] - low[c]
                middle += 0.5 * trial[c] * (high[c] + low[c])
            changed, above = False, 0
            other = np.empty(len(index), np.bool_)
            for p in range(len(index)):
                other[p] = _dot(X[index[p]], trial) > middle
                changed |= other[p] != side[p]
                above += other[p]
            if above == 0 or above == len(index):
                break
            normal[:] = trial
            threshold = middle
            side = other
            if not changed:
                break
    left, right = index[~side], index[side]
    low, high = np.empty(d), np.empty(d)
    v, u = _mean(X, w, left, low), _mean(X, w, right, high)
    gap = high - low
    return threshold, v * u / (v + u) * (gap * gap).sum(), left, right


@njit(cache=True, nogil=True)
def descend(
    X: Array, normals: Array, thresholds: Array, below: Array, ends: Array
) -> Any:  # pragma: no cover - compiled
    """The leaf that each row reaches from split 0; `below` holds splits, or leaves as ~number."""
    end = np.empty(X.shape[0], np.int64)
    for i in range(X.shape[0]):
        node = 0
        while node >= 0 and ends[node] < 0:
            node = below[node, 1 if _dot(X[i], normals[node]) > thresholds[node] else 0]
        end[i] = ends[node] if node >= 0 else ~node
    return end
