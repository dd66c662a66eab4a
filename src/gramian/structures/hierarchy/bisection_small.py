"""`splits` in NumPy, for few rows: the same sides of the same planes, but for the rounding of sums."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROUNDS = 100  # of the power method: a direction near the principal one serves as well
TINY = 1e-14  # of Σ w ‖x‖²: less than that is rounding


def spread(X: Floats, w: Floats, index: Ints) -> float:
    """Σ w ‖x − mean‖² of some rows."""
    Z, v = X[index], w[index]
    return float(v @ ((Z - v @ Z / v.sum()) ** 2).sum(axis=1))


def bisect(X: Floats, w: Floats, index: Ints, means: bool, most: int, normal: Floats) -> Any:
    """Split some rows by a plane: where x · normal > threshold; how much Σ w ‖x − c‖² falls (−1: it cannot)."""
    Z, v = X[index], w[index]
    total = float(v.sum())
    mean = v @ Z / total
    if len(index) < 2 or spread(X, w, index) <= TINY * TINY * total * float(mean @ mean):
        return 0.0, -1.0, index, index
    normal[:] = _principal(Z - mean, v)
    drop, threshold = _best_cut(Z, v, mean, total, normal)
    if drop < 0.0:
        return 0.0, -1.0, index, index
    side = along(Z, normal) > threshold
    for _ in range(most if means else 0):
        low, high = (v[part] @ Z[part] / v[part].sum() for part in (~side, side))
        trial = high - low
        middle = float(0.5 * trial @ (high + low))
        other = along(Z, trial) > middle
        if other.all() or not other.any():
            break
        changed = (other != side).any()
        normal[:], threshold, side = trial, middle, other
        if not changed:
            break
    (low, a), (high, b) = ((v[part] @ Z[part] / v[part].sum(), v[part].sum()) for part in (~side, side))
    return threshold, float(a * b / (a + b) * ((high - low) ** 2).sum()), index[~side], index[side]


def descend(X: Floats, normals: Floats, thresholds: Floats, below: Ints, ends: Ints) -> Ints:
    """The end that each row comes to, from split 0 by the sides it is on; `below` are splits, or ends as ~number."""
    found = np.empty(len(X), dtype=np.int64)
    waiting = [(0, np.arange(len(X)))]
    while waiting:
        at, rows = waiting.pop()
        if at < 0 or ends[at] >= 0:
            found[rows] = ends[at] if at >= 0 else ~at
        elif len(rows):
            side = along(X[rows], normals[at]) > thresholds[at]
            waiting += [(int(below[at, 0]), rows[~side]), (int(below[at, 1]), rows[side])]
    return found


def along(Z: Floats, normal: Floats) -> Floats:
    """One order of adding up, so that a row is on the same side whenever it is asked."""
    total = np.zeros(len(Z))
    for column, c in zip(Z.T, normal, strict=True):
        total += column * c
    return total


def _principal(away: Floats, w: Floats) -> Floats:
    """The direction of the largest spread, by the power method from the column of the largest variance."""
    at = int((w @ (away * away)).argmax())
    direction = (w * away[:, at]) @ away
    direction /= np.sqrt(direction @ direction)
    for _ in range(ROUNDS):
        image = (w * (away @ direction)) @ away
        image /= np.sqrt(image @ image)
        moved = np.abs(image - direction).max()
        direction = image
        if moved < 1e-6:
            break
    return np.asarray(direction)


def _best_cut(Z: Floats, w: Floats, mean: Floats, total: float, direction: Floats) -> tuple[float, float]:
    """The threshold along a direction that lowers Σ w ‖x − c‖² the most, and by how much."""
    place = along(Z, direction)
    order = np.argsort(place, kind="stable")
    place, v = place[order], w[order]
    sums = np.cumsum(v[:, None] * (Z[order] - mean), axis=0)[:-1]
    before = np.cumsum(v)[:-1]
    drops = (sums * sums).sum(axis=1) * total / (before * (total - before))
    drops[~(place[1:] > place[:-1])] = -1.0
    best = int(drops.argmax())
    here, there = float(place[best]), float(place[best + 1])
    middle = 0.5 * here + 0.5 * there
    return float(drops[best]), middle if middle < there else here
