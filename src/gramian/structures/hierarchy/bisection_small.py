"""`bisection` in NumPy, for few rows: the same hyperplanes up to the rounding of sums."""

from typing import Any

import numpy as np

from gramian._core.types import Floats, Ints

MAX_POWER_STEPS = 100  # a direction near the principal one suffices
MIN_RELATIVE_SCATTER = 1e-14 * 1e-14  # Σ w ‖x − mean‖² in units of Σ w ‖x‖²: less is rounding


def sum_of_squares(X: Floats, w: Floats, index: Ints) -> float:
    """Σ w ‖x − mean‖² of some rows."""
    Z, v = X[index], w[index]
    return float(v @ ((Z - v @ Z / v.sum()) ** 2).sum(axis=1))


def bisect(X: Floats, w: Floats, index: Ints, means: bool, max_rounds: int, normal: Floats) -> Any:
    """Split rows where x · normal > threshold; the decrease of Σ w ‖x − c‖² is −1 where they cannot be split."""
    Z, v = X[index], w[index]
    total = float(v.sum())
    mean = v @ Z / total
    if len(index) < 2 or sum_of_squares(X, w, index) <= MIN_RELATIVE_SCATTER * total * float(mean @ mean):
        return 0.0, -1.0, index, index
    normal[:] = _principal(Z - mean, v)
    decrease, threshold = _best_cut(Z, v, mean, total, normal)
    if decrease < 0.0:
        return 0.0, -1.0, index, index
    side = along(Z, normal) > threshold
    for _ in range(max_rounds if means else 0):
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
    """The leaf that each row reaches from split 0; `below` holds splits, or leaves as ~number."""
    end = np.empty(len(X), dtype=np.int64)
    stack = [(0, np.arange(len(X)))]
    while stack:
        node, rows = stack.pop()
        if node < 0 or ends[node] >= 0:
            end[rows] = ends[node] if node >= 0 else ~node
        elif len(rows):
            side = along(X[rows], normals[node]) > thresholds[node]
            stack += [(int(below[node, 0]), rows[~side]), (int(below[node, 1]), rows[side])]
    return end


def along(Z: Floats, normal: Floats) -> Floats:
    """Z · normal in one order of summation, so that a row is always on the same side."""
    total = np.zeros(len(Z))
    for column, c in zip(Z.T, normal, strict=True):
        total += column * c
    return total


def _principal(deviation: Floats, w: Floats) -> Floats:
    """The first principal direction, by the power method from the column of the largest variance."""
    at = int((w @ (deviation * deviation)).argmax())
    direction = (w * deviation[:, at]) @ deviation
    direction /= np.sqrt(direction @ direction)
    for _ in range(MAX_POWER_STEPS):
        image = (w * (deviation @ direction)) @ deviation
        image /= np.sqrt(image @ image)
        moved = np.abs(image - direction).max()
        direction = image
        if moved < 1e-6:
            break
    return np.asarray(direction)


def _best_cut(Z: Floats, w: Floats, mean: Floats, total: float, direction: Floats) -> tuple[float, float]:
    """The threshold along a direction that lowers Σ w ‖x − c‖² the most, and by how much."""
    position = along(Z, direction)
    order = np.argsort(position, kind="stable")
    position, v = position[order], w[order]
    sums = np.cumsum(v[:, None] * (Z[order] - mean), axis=0)[:-1]
    before = np.cumsum(v)[:-1]
    decreases = (sums * sums).sum(axis=1) * total / (before * (total - before))
    decreases[~(position[1:] > position[:-1])] = -1.0
    best = int(decreases.argmax())
    here, there = float(position[best]), float(position[best + 1])
    middle = 0.5 * here + 0.5 * there
    return float(decreases[best]), middle if middle < there else here
