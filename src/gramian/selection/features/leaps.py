"""Leaps and bounds: the best subset of every size, on a triangular factor, without visiting most of them.

A node is a set of columns: some are settled, the others free, and the triangle of the free ones holds what the settled
leave of them. Its children leave out one free column each, those before it settled, so that every subset is met once.
No subset has a smaller residual than the set it is part of: a child whose residual reaches the best one known for
every size below it is cut with all that follows from it. Free columns are ordered by what leaving them out costs, the
dearest first: large branches come with high bounds, and the first descent is backward elimination.
"""

import numpy as np

from gramian._core import deadline
from gramian._core.numerics.compiled import interpreted, njit
from gramian._core.types import Floats, Ints

NODES = 20_000  # visited between two looks at the clock
FEW_COLUMNS = 6  # whose subsets are so few that nothing is compiled for them
ORDERED = 10  # nodes with as many free columns are ordered anew; below, it costs more than it saves
SLACK = 1.0 - 1e-12  # improvements below are rounding
DOUBT = 1.0 - 1e-7  # costs from the inverse of a triangle hold to this
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def _costs(U: Floats, y: Floats, m: int, V: Floats, cost: Floats) -> None:
    """What leaving each column out adds to the residual: w_j² / B_jj with w = U⁻¹y and B = (UᵀU)⁻¹; V is room."""
    for i in range(m - 1, -1, -1):
        inverse = 1.0 / U[i, i]
        V[i, i] = inverse
        for c in range(i + 1, m):
            V[i, c] = 0.0
        for k in range(i + 1, m):
            factor = U[i, k] * inverse
            for c in range(k, m):
                V[i, c] -= factor * V[k, c]
        w, b = 0.0, 0.0
        for c in range(i, m):
            w += V[i, c] * y[c]
            b += V[i, c] * V[i, c]
        cost[i] = w * w / b


@njit(cache=True, nogil=True, fastmath=_FAST)
def _triangularise(U: Floats, y: Floats, m: int) -> None:
    """Householder reflections that make U upper triangular, in place."""
    for c in range(m - 1):
        below = 0.0
        for i in range(c + 1, m):
            below += U[i, c] * U[i, c]
        if below == 0.0:
            continue
        a = U[c, c]
        norm = np.sqrt(a * a + below)
        if a > 0:
            norm = -norm
        head = a - norm
        scale = -1.0 / (norm * head)
        for k in range(c + 1, m + 1):
            product = head * (U[c, k] if k < m else y[c])
            if k < m:
                for i in range(c + 1, m):
                    product += U[i, c] * U[i, k]
                product *= scale
                U[c, k] -= product * head
                for i in range(c + 1, m):
                    U[i, k] -= product * U[i, c]
            else:
                for i in range(c + 1, m):
                    product += U[i, c] * y[i]
                product *= scale
                y[c] -= product * head
                for i in range(c + 1, m):
                    y[i] -= product * U[i, c]
        U[c, c] = norm
        for i in range(c + 1, m):
            U[i, c] = 0.0


@njit(cache=True, nogil=True)
def _order(U: Floats, y: Floats, ids: Ints, m: int, V: Floats, cost: Floats) -> None:
    """Sort the columns by falling cost of leaving them out, and make the triangle anew."""
    _costs(U, y, m, V, cost)
    for c in range(m):
        best = c
        for i in range(c + 1, m):
            if cost[i] > cost[best]:
                best = i
        cost[c], cost[best] = cost[best], cost[c]
        ids[c], ids[best] = ids[best], ids[c]
        for i in range(m):
            U[i, c], U[i, best] = U[i, best], U[i, c]
    _triangularise(U, y, m)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _leave_out(U: Floats, y: Floats, m: int, j: int, W: Floats, z: Floats, carry: Floats) -> float:
    """The triangle W, z of the columns after j without j, by rotations; returns what that adds to the residual."""
    k = m - j - 1
    for c in range(k):
        carry[c] = U[j, j + 1 + c]
    last = y[j]
    for c in range(k):
        row = j + 1 + c
        a, b = carry[c], U[row, row]
        r = np.sqrt(a * a + b * b)
        cos, sin = a / r, b / r
        for i in range(c, k):
            above, below = carry[i], U[row, j + 1 + i]
            W[c, i] = cos * above + sin * below
            carry[i] = cos * below - sin * above
        above, below = last, y[row]
        z[c] = cos * above + sin * below
        last = cos * below - sin * above
        for i in range(c):
            W[c, i] = 0.0
    return last * last


@njit(cache=True, nogil=True)
def _hopeless(bound: float, best: Floats, low: int, high: int) -> bool:
    """Whether a bound reaches the best residual of every size."""
    for size in range(low, high + 1):  # noqa: SIM110 compiled
        if bound < best[size] * SLACK:
            return False
    return True


def best_subsets(R: Floats, target: Floats, rest: float, most: int) -> tuple[Floats, Ints]:
    """Smallest residual sum of squares of every size up to `most`, and its columns as bits.

    R (d, d) is upper triangular with a diagonal that is not zero, `target` its right-hand side, and `rest` the residual
    with all columns. A deadline ends the search at the best found by then: of every size one subset is known from the
    first descent, backward elimination.

    >>> best_subsets(np.eye(2), np.array([1.0, 2.0]), 0.5, 2)
    (array([5.5, 1.5, 0.5]), array([0, 2, 3]))
    """
    d = len(target)
    best, sets = np.full(d + 1, np.inf), np.zeros(d + 1, dtype=np.int64)
    best[0] = rest + float(target @ target)
    # One triangle per level, and room for an inverse at the end.
    U, Y = np.zeros((d + 2, d, d)), np.zeros((d + 2, d))
    U[0], Y[0] = R, target
    columns = np.zeros((d + 1, d), dtype=np.int64)
    columns[0] = np.arange(d)
    costs, residual = np.zeros((d + 1, d)), np.zeros(d + 1)
    residual[0] = rest
    facts = np.zeros((4, d + 1), dtype=np.int64)
    facts[0, 0] = d
    search = interpreted(_search) if d <= FEW_COLUMNS else _search
    level, new = 0, True
    while level >= 0 and not (level > 0 and deadline.passed()):
        level, new = search(U, Y, columns, costs, residual, facts, best, sets, most, level, new)
    return best[: most + 1], sets[: most + 1]


@njit(cache=True, nogil=True)
def _search(
    U: Floats,
    Y: Floats,
    columns: Ints,
    costs: Floats,
    residual: Floats,
    facts: Ints,
    best: Floats,
    sets: Ints,
    most: int,
    level: int,
    new: bool,
) -> tuple[int, bool]:
    """Walk the tree depth first from a level, over some nodes; the level to go on from, below 0 at the end.

    Every array has one entry per level, and the last of U and Y are room.
    """
    free, settled, bits, child = facts[0], facts[1], facts[2], facts[3]
    V, carry = U[-1], Y[-1]
    nodes = 0
    while level >= 0 and nodes < NODES:
        nodes += 1
        m, q, ids = free[level], settled[level], columns[level]
        if new:
            if m >= ORDERED:
                _order(U[level], Y[level], ids, m, V, costs[level])
            else:
                for i in range(m):
                    costs[level, i] = 0.0
            tail, mask = residual[level], bits[level]
            for i in range(m):
                mask |= 1 << ids[i]
            for i in range(m, 0, -1):  # the first i free columns with those settled: their residual is at hand
                if tail < best[q + i] * SLACK:
                    best[q + i] = tail
                    sets[q + i] = mask
                mask &= ~(1 << ids[i - 1])
                tail += Y[level, i - 1] ** 2
            child[level] = m - 2
            new = False
        j = child[level]
        if j < 0:
            level -= 1
            continue
        child[level] = j - 1
        low, high = q + j + 1, min(q + m - 1, most)
        if _hopeless(residual[level] + DOUBT * costs[level, j], best, low, high):
            continue
        added = _leave_out(U[level], Y[level], m, j, U[level + 1], Y[level + 1], carry)
        if _hopeless(residual[level] + added, best, low, high):
            continue
        mask = bits[level]
        for i in range(j):
            mask |= 1 << ids[i]
        level += 1
        bits[level] = mask
        settled[level] = q + j
        free[level] = m - j - 1
        residual[level] = residual[level - 1] + added
        for i in range(j + 1, m):
            columns[level, i - j - 1] = ids[i]
        new = True
    return level, new
