"""Compiled loops of the steps of two variables and of one: `smo_steps` in plain NumPy takes the same."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian.solvers.kernel.smo_steps import FAR, LANES


@njit(cache=True, nogil=True)
def pairs(
    K: Any, G: Any, beta: Any, low: Any, high: Any, tol: float, flat: float, most: int
) -> int:  # pragma: no cover - compiled
    """Steps of two variables, the second chosen by the decrease; in place.

    Loops run on vectors: what may not move is far away (`up`, `down`), and each lane has its best.
    """
    q = len(beta)
    room = np.empty((4, q))
    own, up, down, gain = room[0], room[1], room[2], room[3]
    lanes = np.empty((2, LANES))
    tops, bottoms = lanes[0], lanes[1]
    for t in range(q):
        own[t] = K[t, t]
        up[t] = 0.0 if beta[t] < high[t] else -FAR
        down[t] = 0.0 if beta[t] > low[t] else -FAR
    change, i, j = 0.0, 0, 0
    for step in range(most):
        moved(K[i], K[j], change, G, up, down, tops, bottoms)
        top, bottom, lane = tops[0], bottoms[0], 0
        for t in range(1, LANES):
            if tops[t] > top:
                top, lane = tops[t], t
            if bottoms[t] > bottom:
                bottom = bottoms[t]
        if top + bottom <= tol or top <= -FAR or bottom <= -FAR:
            return step
        i = lane
        while up[i] - G[i] != top:
            i += LANES
        gains(K[i], own, own[i], flat, top, G, down, gain, tops)
        best, lane = tops[0], 0
        for t in range(1, LANES):
            if tops[t] > best:
                best, lane = tops[t], t
        if best <= 0.0:
            return step
        j = lane
        while gain[j] != best:
            j += LANES
        curve = own[i] + own[j] - 2.0 * K[i, j]
        change = (top + G[j]) / (curve if curve > flat else flat)
        grow, shrink = high[i] - beta[i], beta[j] - low[j]
        change = grow if grow < change else change
        change = shrink if shrink < change else change
        beta[i] = high[i] if change == grow else beta[i] + change
        beta[j] = low[j] if change == shrink else beta[j] - change
        up[i], down[i] = (0.0 if beta[i] < high[i] else -FAR), 0.0
        up[j], down[j] = 0.0, (0.0 if beta[j] > low[j] else -FAR)
    moved(K[i], K[j], change, G, up, down, tops, bottoms)
    return most


@njit(cache=True, nogil=True)
def moved(
    first: Any, second: Any, change: float, G: Any, up: Any, down: Any, tops: Any, bottoms: Any
) -> None:  # pragma: no cover - compiled
    """G after a step; in each lane the largest −G of those that may grow and the largest G of those that may shrink."""
    for t in range(LANES):
        tops[t] = bottoms[t] = -np.inf
    for start in range(0, len(G), LANES):
        stop = min(start + LANES, len(G))
        g, above, below = G[start:stop], up[start:stop], down[start:stop]
        k, other = first[start:stop], second[start:stop]
        for t in range(stop - start):
            v = g[t] + change * (k[t] - other[t])
            g[t] = v
            grow, shrink = above[t] - v, below[t] + v
            tops[t] = grow if grow > tops[t] else tops[t]
            bottoms[t] = shrink if shrink > bottoms[t] else bottoms[t]


@njit(cache=True, nogil=True)
def gains(
    k: Any, own: Any, mine: float, flat: float, top: float, G: Any, down: Any, out: Any, best: Any
) -> None:  # pragma: no cover - compiled
    """The decrease by a step of the first variable against each that may shrink, and the largest in each lane."""
    for t in range(LANES):
        best[t] = 0.0
    for start in range(0, len(G), LANES):
        stop = min(start + LANES, len(G))
        g, below, row, other, gain = G[start:stop], down[start:stop], k[start:stop], own[start:stop], out[start:stop]
        for t in range(stop - start):
            off = top + g[t] + below[t]
            off = off if off > 0.0 else 0.0
            curve = mine + other[t] - 2.0 * row[t]
            v = off * off / (curve if curve > flat else flat)
            gain[t] = v
            best[t] = v if v > best[t] else best[t]


@njit(cache=True, nogil=True)
def singles(
    K: Any, G: Any, beta: Any, low: Any, high: Any, tol: float, flat: float, most: int
) -> int:  # pragma: no cover - compiled
    """Steps of the variable with the largest decrease, in place."""
    for step in range(most):
        best, i, worst = 0.0, -1, 0.0
        for t in range(len(beta)):
            g = G[t]
            if (g < 0.0 and beta[t] < high[t]) or (g > 0.0 and beta[t] > low[t]):
                size = abs(g)
                worst = size if size > worst else worst
                gain = g * g / (K[t, t] if K[t, t] > flat else flat)
                if gain > best:
                    best, i = gain, t
        if worst <= tol or i < 0:
            return step
        new = beta[i] - G[i] / (K[i, i] if K[i, i] > flat else flat)
        new = low[i] if new < low[i] else new
        new = high[i] if new > high[i] else new
        change = new - beta[i]
        beta[i] = new
        for t in range(len(beta)):
            G[t] += change * K[i, t]
    return most
