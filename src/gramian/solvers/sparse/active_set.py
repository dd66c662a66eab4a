"""Exact solution of squared loss with L1 and elastic-net penalties on a Gram matrix, by active sets.

    minimise   zᵀGz − 2bᵀz + Σ_j (2 l1_j |z_j| + l2_j z_j²)

On a set of active coordinates with known signs the minimum is a linear system. The set changes one coordinate, or a
few, at a time: a coordinate leaves when it would change its sign on the way to the system's solution, and enters when
its correlation with the residual exceeds l1_j. The Cholesky factor of the active block is kept up to date, O(k²) a
change, so a whole path costs little more than its last point.
"""

import numpy as np

from gramian._core import deadline
from gramian._core.numerics.compiled import interpreted, njit
from gramian._core.types import Floats, Ints

DEPENDENT = 1e-11  # a pivot below this share of its diagonal: the column lies in the span of the active ones
SINGULAR = 1e-15  # below this one, surely
BOLD_ROUNDS = 8  # rounds in which all violators enter at once; after them one at a time, which cannot cycle
ROUNDING = 4e-15
LARGEST = 1e300  # a penalty that leaves a coefficient at zero whatever the data, and whose products are finite
FAILED, ENDED, UNFINISHED = -1, -2, -3  # in place of rounds: also by coordinates, by the deadline, and in this piece
FEW_COLUMNS = 8  # whose paths are so short that nothing is compiled for them
PIECE = 3e7  # multiplications between two looks at the clock
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def _dot(a: Floats, b: Floats, k: int) -> float:
    total = 0.0
    for i in range(k):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def _append(G: Floats, l2: Floats, L: Floats, active: Ints, k: int, j: int, least: float) -> bool:
    """Row k of the Cholesky factor for coordinate j; False if its pivot is less than a share of its diagonal."""
    if k >= len(L):
        return False
    for i in range(k):
        L[k, i] = (G[j, active[i]] - _dot(L[i], L[k], i)) / L[i, i]
    diagonal = G[j, j] + l2[j]
    pivot = diagonal - _dot(L[k], L[k], k)
    if pivot <= least * diagonal:
        return False
    L[k, k] = np.sqrt(pivot)
    active[k] = j
    return True


@njit(cache=True, nogil=True, fastmath=_FAST)
def _delete(L: Floats, active: Ints, k: int, at: int) -> None:
    """Take the coordinate at a position out of the factor: shift the rows up and rotate the extra column away."""
    for i in range(at, k - 1):
        active[i] = active[i + 1]
        for c in range(i + 2):
            L[i, c] = L[i + 1, c]
    for i in range(at, k - 1):
        a, b = L[i, i], L[i, i + 1]
        r = np.hypot(a, b)
        c, s = a / r, b / r
        L[i, i] = r
        for row in range(i + 1, k - 1):
            a, b = L[row, i], L[row, i + 1]
            L[row, i] = c * a + s * b
            L[row, i + 1] = c * b - s * a


@njit(cache=True, nogil=True, fastmath=_FAST)
def _solve(L: Floats, x: Floats, k: int) -> None:
    """x ← (L Lᵀ)⁻¹ x."""
    for i in range(k):
        x[i] = (x[i] - _dot(L[i], x, i)) / L[i, i]
    for i in range(k - 1, -1, -1):
        value = x[i] / L[i, i]
        x[i] = value
        for c in range(i):
            x[c] -= value * L[i, c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _correlations(G: Floats, b: Floats, z: Floats, active: Ints, k: int, g: Floats) -> None:
    """g ← b − Gz."""
    for c in range(len(g)):
        g[c] = b[c]
    for i in range(k):
        j = active[i]
        value = z[j]
        for c in range(len(g)):
            g[c] -= value * G[j, c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _make_room(
    G: Floats, L: Floats, z: Floats, sign: Floats, active: Ints, place: Ints, k: int, j: int, work: Floats
) -> int:
    """Coordinate j depends on the active ones: slide along the flat direction until one is zero, and drop that."""
    for i in range(k):
        work[i] = G[j, active[i]]
    _solve(L, work, k)
    step, out = np.inf, -1
    for i in range(k):
        a = active[i]
        change = -sign[j] * work[i]
        if z[a] * change < 0 and -z[a] / change < step:
            step, out = -z[a] / change, i
    if out < 0:
        return k
    for i in range(k):
        z[active[i]] -= step * sign[j] * work[i]
    z[j] = step * sign[j]
    gone = active[out]
    z[gone] = 0.0
    place[gone] = 0
    _delete(L, active, k, out)
    return k - 1


@njit(cache=True, nogil=True)
def descend(
    G: Floats,
    b: Floats,
    l1: Floats,
    l2: Floats,
    z: Floats,
    sign: Floats,
    active: Ints,
    place: Ints,
    k: int,
    L: Floats,
    refactor: bool,
    slack: float,
    most: int,
    bold: int,
) -> tuple[int, int]:
    """Move z to the minimum in place, from the active set given. Returns the set's size and the rounds."""
    m = len(b)
    work, g = np.empty(m), np.empty(m)
    if refactor:
        kept = 0
        for i in range(k):
            j = active[i]
            if _append(G, l2, L, active, kept, j, DEPENDENT):
                kept += 1
            else:
                z[j], place[j] = 0.0, 0
        k = kept
    largest = 0.0
    for j in range(m):
        largest = max(largest, np.sqrt(G[j, j]))
    for rounds in range(most):
        for i in range(k):
            j = active[i]
            work[i] = b[j] - l1[j] * sign[j]
        _solve(L, work, k)
        step, out = 1.0, -1
        newcomers = False
        for i in range(k - 1, -1, -1):
            j = active[i]
            if l1[j] > 0 and work[i] * sign[j] <= 0:
                if z[j] == 0.0:
                    newcomers = True
                    place[j] = 0
                    _delete(L, active, k, i)
                    k -= 1
                elif not newcomers and z[j] / (z[j] - work[i]) < step:
                    step, out = z[j] / (z[j] - work[i]), i
        if newcomers:
            continue
        for i in range(k):
            j = active[i]
            z[j] = work[i] if step == 1.0 else z[j] + step * (work[i] - z[j])
        if out >= 0:
            j = active[out]
            z[j], place[j] = 0.0, 0
            _delete(L, active, k, out)
            k -= 1
            continue
        _correlations(G, b, z, active, k, g)
        noise = 0.0
        for i in range(k):
            noise += abs(z[active[i]]) * np.sqrt(G[active[i], active[i]])
        limit = slack + ROUNDING * noise * largest
        worst, excess = -1, limit
        for j in range(m):
            if place[j] == 0 and abs(g[j]) - l1[j] > excess:
                worst, excess = j, abs(g[j]) - l1[j]
        if worst < 0:
            return k, rounds
        sign[worst] = 1.0 if g[worst] > 0 else -1.0
        if not _append(G, l2, L, active, k, worst, DEPENDENT):
            before = k
            k = _make_room(G, L, z, sign, active, place, k, worst, work)
            if k == before or not _append(G, l2, L, active, k, worst, SINGULAR):
                return k, FAILED
            place[worst] = 1
            k += 1
            continue
        place[worst] = 1
        k += 1
        bold += 1
        if bold > BOLD_ROUNDS:
            continue
        for j in range(m):
            over = abs(g[j]) - l1[j]
            if place[j] == 0 and over > limit and over >= 0.1 * excess:
                sign[j] = 1.0 if g[j] > 0 else -1.0
                if _append(G, l2, L, active, k, j, DEPENDENT):
                    place[j] = 1
                    k += 1
    return k, UNFINISHED


def descended(
    G: Floats, b: Floats, l1: Floats, l2: Floats, z: Floats, sign: Floats, active: Ints, place: Ints, k: int, L: Floats,
    refactor: bool, slack: float, most: int,
) -> tuple[int, int]:  # fmt: skip
    """`descend`, in pieces where there is a deadline; ENDED where that comes first."""
    piece, done = _piece(len(b), most), 0
    loop = interpreted(descend) if len(b) <= FEW_COLUMNS else descend
    while done < most:
        if deadline.passed():
            return k, ENDED
        size = min(piece, most - done)
        k, rounds = loop(
            G, b, l1, l2, z, sign, active, place, k, L, refactor and done == 0, slack, size, BOLD_ROUNDS if done else 0
        )
        if rounds != UNFINISHED:
            return k, rounds if rounds == FAILED else done + rounds
        done += size
    return k, FAILED


def _piece(m: int, most: int) -> int:
    return most if deadline.remaining() is None else max(int(PIECE / max(m, 1) ** 2), 1)


@njit(cache=True, nogil=True)
def coordinate_descent(G: Floats, b: Floats, l1: Floats, l2: Floats, z: Floats, slack: float, most: int) -> int:
    """Plain cyclic coordinate descent on the same problem, in place: slow and sure."""
    g = b - G @ z
    for epoch in range(most):
        largest = 0.0
        for j in range(len(b)):
            diagonal = G[j, j] + l2[j]
            if diagonal <= 0:
                continue
            old = z[j]
            pull = g[j] + G[j, j] * old
            new = np.sign(pull) * max(abs(pull) - l1[j], 0.0) / diagonal
            if new != old:
                z[j] = new
                g -= (new - old) * G[j]
                largest = max(largest, abs(new - old) * diagonal)
        if largest <= slack:
            return epoch
    return FAILED


def by_coordinates(G: Floats, b: Floats, l1: Floats, l2: Floats, z: Floats, slack: float, most: int) -> int:
    """`coordinate_descent`, in pieces where there is a deadline; ENDED where that comes first."""
    piece = _piece(len(b), most)
    for done in range(0, most, piece):
        if deadline.passed():
            return ENDED
        epochs = coordinate_descent(G, b, l1, l2, z, slack, min(piece, most - done))
        if epochs != FAILED:
            return done + epochs
    return FAILED


def gram_path(G: Floats, b: Floats, alphas: Floats, l1: Floats, l2: Floats, most: int) -> tuple[Floats, Ints]:
    """Minima (A, m) for alphas from large to small with penalties alpha · l1_j, alpha · l2_j; and rounds for each.

    From the alpha at which a deadline ended it the last point stands for all, and rounds are ENDED.
    """
    m = len(b)
    coefs, rounds = np.zeros((len(alphas), m)), np.zeros(len(alphas), dtype=np.int64)
    z, sign = np.zeros(m), np.zeros(m)
    active, place = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    L = np.zeros((m, m))
    slack = 1e-13 * float(np.max(np.abs(b))) if m else 0.0
    curved = bool(np.any(l2 > 0))
    append = interpreted(_append) if m <= FEW_COLUMNS else _append
    k = 0
    for a in range(len(alphas)):
        l1_a, l2_a = np.minimum(alphas[a] * l1, LARGEST), np.minimum(alphas[a] * l2, LARGEST)
        k, rounds[a] = descended(G, b, l1_a, l2_a, z, sign, active, place, k, L, curved or a == 0, slack, most)
        if rounds[a] == FAILED:
            rounds[a] = by_coordinates(G, b, l1_a, l2_a, z, slack, min(100_000, 20 * most))
            k = 0
            for j in range(m):
                place[j] = 0
                if z[j] != 0 and append(G, l2_a, L, active, k, j, DEPENDENT):
                    place[j], sign[j] = 1, np.sign(z[j])
                    k += 1
        coefs[a] = z
        if rounds[a] == ENDED:
            coefs[a:], rounds[a:] = z, ENDED
            break
    return coefs, rounds
