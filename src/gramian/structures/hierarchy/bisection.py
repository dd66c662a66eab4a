"""Compiled loops that split rows in two by a plane, and send rows down a tree of such planes."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian.structures.hierarchy.bisection_small import ROUNDS, TINY


@njit(cache=True, nogil=True)
def _mean(X: Any, w: Any, index: Any, out: Any) -> float:  # pragma: no cover - compiled
    out[:] = 0.0
    total = 0.0
    for i in index:
        total += w[i]
        for c in range(X.shape[1]):
            out[c] += w[i] * X[i, c]
    out /= total
    return total


@njit(cache=True, nogil=True)
def _dot(x: Any, normal: Any) -> float:  # pragma: no cover - compiled
    """One order of adding up, so that a row is on the same side whenever it is asked."""
    total = 0.0
    for c in range(x.shape[0]):
        total += x[c] * normal[c]
    return total


@njit(cache=True, nogil=True)
def spread(X: Any, w: Any, index: Any) -> float:  # pragma: no cover - compiled
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
def _principal(X: Any, w: Any, index: Any, mean: Any) -> Any:  # pragma: no cover - compiled
    """The direction of the largest spread, by the power method from the column of the largest variance."""
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
    for _ in range(ROUNDS):
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
def _best_cut(X: Any, w: Any, index: Any, mean: Any, total: float, direction: Any) -> Any:  # pragma: no cover
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
            drop = (sums * sums).sum() * total / (before * (total - before))
            if drop > best:
                middle = 0.5 * here + 0.5 * there
                best, threshold = drop, middle if middle < there else here
    return best, threshold


@njit(cache=True, nogil=True)
def bisect(X: Any, w: Any, index: Any, means: bool, most: int, normal: Any) -> Any:  # pragma: no cover - compiled
    """Split some rows by a plane: where x · normal > threshold; how much Σ w ‖x − c‖² falls (−1: it cannot).

    The best cut across the principal direction; with `means`, moved by the two means' steps until nothing changes. The
    side of a row is one product here, and most splits are of few rows: bounds and threads have nothing to save.
    """
    d = X.shape[1]
    mean = np.empty(d)
    total = _mean(X, w, index, mean)
    size = 0.0
    for c in range(d):
        size += mean[c] * mean[c]
    if len(index) < 2 or spread(X, w, index) <= TINY * TINY * total * size:
        return 0.0, -1.0, index, index
    normal[:] = _principal(X, w, index, mean)
    drop, threshold = _best_cut(X, w, index, mean, total, normal)
    if drop < 0.0:
        return 0.0, -1.0, index, index
    side = np.empty(len(index), np.bool_)
    for p in range(len(index)):
        side[p] = _dot(X[index[p]], normal) > threshold
    if means:
        low, high, trial = np.empty(d), np.empty(d), np.empty(d)
        for _ in range(most):
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
def descend(X: Any, normals: Any, thresholds: Any, below: Any, ends: Any) -> Any:  # pragma: no cover - compiled
    """The end that each row comes to, from split 0 by the sides it is on; `below` are splits, or ends as ~number."""
    found = np.empty(X.shape[0], np.int64)
    for i in range(X.shape[0]):
        at = 0
        while at >= 0 and ends[at] < 0:
            at = below[at, 1 if _dot(X[i], normals[at]) > thresholds[at] else 0]
        found[i] = ends[at] if at >= 0 else ~at
    return found
