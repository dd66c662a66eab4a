"""Steps of two variables on a working set (SMO, Fan, Chen, Lin 2005), or of one where there is no balance to keep."""

from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core import deadline
from gramian._core.numerics.small_tables import is_small

PIECE = 2e7  # variables looked at between two looks at the clock
BETWEEN = 100  # steps between Newton steps
MOST_FREE = 500  # variables of a Newton step
NEWTON_STEPS = 8  # each of which but the last puts a variable on a bound
LANES = 64  # of which each has its best variable: loops over them run on vectors
FAR = 1e150  # where what may not move stands in a comparison
NO_CURVE = 1e-12  # of the mean of k(x, x)
MOST_PLAIN_STEPS = 20_000  # in NumPy, after which it pays to compile
_plain_steps = 0


def solved_small(K: Any, G: Any, beta: Any, low: Any, high: Any, balanced: bool, tol: float, most: int) -> int:
    """Steps taken on β and G = Kβ − c, in place, until none violates optimality by more than tol.

    Small problems begin in NumPy. Its steps are those of the compiled loops, bit for bit. Where pairs do not settle
    problems of few variables, Newton steps of all those between their bounds alternate with them.
    """
    global _plain_steps
    flat = max(NO_CURVE * float(np.trace(K)) / max(len(beta), 1), 1e-300)
    piece = most if deadline.remaining() is None else max(int(PIECE / max(len(beta), 1)), 1)
    double = K.dtype == np.float64
    steps = 0
    while steps < most and not deadline.passed():
        if double and steps:
            newton_steps(K, G, beta, low, high, balanced)
        size = min(piece, most - steps, BETWEEN if double else most)
        plain = is_small(len(beta) * LANES) and double and _plain_steps < MOST_PLAIN_STEPS
        if plain:
            loop = plain_pairs if balanced else plain_singles
        else:
            from gramian.solvers.kernel.smo_loops import pairs, singles

            loop = pairs if balanced else singles
        used = loop(K, G, beta, low, high, tol, flat, size)
        _plain_steps += used if plain else 0
        steps += used
        if used < size:
            break
    return steps


def plain_pairs(K: Any, G: Any, beta: Any, low: Any, high: Any, tol: float, flat: float, most: int) -> int:
    """`smo_loops.pairs` in NumPy; in the order of the lanes, so that the first of equal variables is the same."""
    order = np.lexsort((np.arange(len(beta)), np.arange(len(beta)) % LANES))
    g, inside = G[order], beta[order]
    steps = _pairs(K[order][:, order], g, inside, low[order], high[order], tol, flat, most)
    G[order], beta[order] = g, inside
    return steps


def _pairs(K: Any, G: Any, beta: Any, low: Any, high: Any, tol: float, flat: float, most: int) -> int:
    own = K.diagonal().copy()
    up, down = np.where(beta < high, 0.0, -FAR), np.where(beta > low, 0.0, -FAR)
    curve = np.maximum((own[:, None] + own) - 2.0 * K, flat)
    room = np.empty(len(beta))
    for step in range(most):
        np.subtract(up, G, out=room)
        i = int(room.argmax())
        top, bottom = float(room[i]), float(np.add(down, G, out=room).max())
        if top + bottom <= tol or top <= -FAR or bottom <= -FAR:
            return step
        np.add(G, top, out=room)
        np.add(room, down, out=room)
        np.maximum(room, 0.0, out=room)
        np.multiply(room, room, out=room)
        np.divide(room, curve[i], out=room)
        j = int(room.argmax())
        if room[j] <= 0.0:
            return step
        grow, shrink = high[i] - beta[i], beta[j] - low[j]
        change = min((top + G[j]) / curve[i, j], grow, shrink)
        beta[i] = high[i] if change == grow else beta[i] + change
        beta[j] = low[j] if change == shrink else beta[j] - change
        up[i], down[i] = (0.0 if beta[i] < high[i] else -FAR), 0.0
        up[j], down[j] = 0.0, (0.0 if beta[j] > low[j] else -FAR)
        np.subtract(K[i], K[j], out=room)
        np.multiply(room, change, out=room)
        np.add(G, room, out=G)
    return most


def plain_singles(K: Any, G: Any, beta: Any, low: Any, high: Any, tol: float, flat: float, most: int) -> int:
    """`smo_loops.singles` in NumPy."""
    curve = np.maximum(K.diagonal(), flat)
    for step in range(most):
        free = ((G < 0.0) & (beta < high)) | ((G > 0.0) & (beta > low))
        violation = np.where(free, np.abs(G), 0.0)
        if not violation.max(initial=0.0) > tol:
            return step
        gain = violation * violation / curve
        i = int(gain.argmax())
        if not gain[i] > 0.0:
            return step
        new = min(max(beta[i] - G[i] / curve[i], low[i]), high[i])
        G += (new - beta[i]) * K[i]
        beta[i] = new
    return most


def newton_steps(K: Any, G: Any, beta: Any, low: Any, high: Any, balanced: bool) -> None:
    """Towards the minimum over the variables between their bounds, as far as these allow; K must be definite there."""
    for _ in range(NEWTON_STEPS):
        free = np.flatnonzero((beta > low) & (beta < high))
        if not 1 < len(free) <= MOST_FREE:
            return
        square = K[free][:, free]
        square[np.diag_indices(len(free))] += 1e-13 * float(np.trace(square))
        root, failed = sl.lapack.dpotrf(square, lower=1)
        if failed:
            return
        step, ones = sl.lapack.dpotrs(root, np.column_stack([-G[free], np.ones(len(free))]), lower=1)[0].T
        if balanced:
            step = step - step.sum() / ones.sum() * ones
        if not np.isfinite(step).all() or not G[free] @ step < 0.0:
            return
        ends = np.where(step > 0.0, high[free], low[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step == 0.0, np.inf, (ends - beta[free]) / step)
        first = int(room.argmin())
        share = min(1.0, float(room[first]))
        change = share * step
        beta[free] = np.clip(beta[free] + change, low[free], high[free])
        if share < 1.0:
            beta[free[first]] = ends[first]
        G += K[:, free] @ change
        if share == 1.0:
            return
