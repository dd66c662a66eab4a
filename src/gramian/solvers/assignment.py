"""Compiled search for the nearest centre: tiles of points against a few centres at a time, in single precision.

Where the two best are within what rounding may change, all distances are computed again in double precision, so that
the answer is that of double precision, with ties to the lowest index.
"""

from typing import Any

import numpy as np
from numba import njit

LANES = 64  # points of a tile, side by side
AT_ONCE = 4  # centres, and coordinates
FAR = np.float32(3e38)
UP, DOWN = np.float32(1 + 2.0**-21), np.float32(1 - 2.0**-21)  # a few roundings
ROUNDING = 2.0**-24
TINY = 1e-36  # below it, products of single precision lose their digits


@njit(cache=True, nogil=True, fastmath={"contract"})
def _scores(tile: Any, width: int, C: Any, half: Any, j: int, d: int, s: Any) -> None:  # pragma: no cover - compiled
    """s = ½‖c‖² − x·c of four centres from j on; the four rows of s and of the tile are LANES apart."""
    h0, h1, h2, h3 = half[j], half[j + 1], half[j + 2], half[j + 3]
    for i in range(width):
        s[i] = h0
        s[i + LANES] = h1
        s[i + 2 * LANES] = h2
        s[i + 3 * LANES] = h3
    for c in range(0, d, AT_ONCE):
        a0, a1, a2, a3 = C[j, c], C[j, c + 1], C[j, c + 2], C[j, c + 3]
        b0, b1, b2, b3 = C[j + 1, c], C[j + 1, c + 1], C[j + 1, c + 2], C[j + 1, c + 3]
        e0, e1, e2, e3 = C[j + 2, c], C[j + 2, c + 1], C[j + 2, c + 2], C[j + 2, c + 3]
        f0, f1, f2, f3 = C[j + 3, c], C[j + 3, c + 1], C[j + 3, c + 2], C[j + 3, c + 3]
        t = tile[c * LANES : (c + AT_ONCE) * LANES]
        for i in range(width):
            z0, z1, z2, z3 = t[i], t[i + LANES], t[i + 2 * LANES], t[i + 3 * LANES]
            s0, s1, s2, s3 = s[i], s[i + LANES], s[i + 2 * LANES], s[i + 3 * LANES]
            s[i] = s0 - a0 * z0 - a1 * z1 - a2 * z2 - a3 * z3
            s[i + LANES] = s1 - b0 * z0 - b1 * z1 - b2 * z2 - b3 * z3
            s[i + 2 * LANES] = s2 - e0 * z0 - e1 * z1 - e2 * z2 - e3 * z3
            s[i + 3 * LANES] = s3 - f0 * z0 - f1 * z1 - f2 * z2 - f3 * z3


@njit(cache=True, nogil=True)
def _best(s: Any, width: int, j: int, top: Any, index: Any) -> None:  # pragma: no cover - compiled
    """Least and second least of the scores so far, which stand in `top`, and whose the least is."""
    j0, j1, j2, j3 = np.int32(j), np.int32(j + 1), np.int32(j + 2), np.int32(j + 3)
    for i in range(width):
        b, r, k = top[i], top[i + LANES], index[i]
        v0, v1, v2, v3 = s[i], s[i + LANES], s[i + 2 * LANES], s[i + 3 * LANES]
        m = b if b > v0 else v0
        r = m if m < r else r
        k = j0 if v0 < b else k
        b = v0 if v0 < b else b
        m = b if b > v1 else v1
        r = m if m < r else r
        k = j1 if v1 < b else k
        b = v1 if v1 < b else b
        m = b if b > v2 else v2
        r = m if m < r else r
        k = j2 if v2 < b else k
        b = v2 if v2 < b else b
        m = b if b > v3 else v3
        r = m if m < r else r
        k = j3 if v3 < b else k
        b = v3 if v3 < b else b
        top[i] = b
        top[i + LANES] = r
        index[i] = k


@njit(cache=True, nogil=True, fastmath={"contract"})
def _bounds(
    tile: Any, width: int, d: int, top: Any, slack: Any, most: float
) -> None:  # pragma: no cover - compiled
    """Scores of `top` to an upper bound of the least distance and a lower one of the second; what rounding may do."""
    share = np.float32((d + 8) * ROUNDING)
    size = np.float32(most)
    zero, two = np.float32(0.0), np.float32(2.0)
    for i in range(width):
        slack[i] = zero
    for c in range(d):
        t = tile[c * LANES : (c + 1) * LANES]
        for i in range(width):
            slack[i] += t[i] * t[i]
    for i in range(width):
        square, b, r = slack[i], top[i], top[i + LANES]
        e = share * (size * (size + two * np.sqrt(square))) + np.float32(TINY)
        slack[i] = e if r - b > e else FAR
        e += share * square
        near, far = square + two * b + e, square + two * r - e
        near = near if near > zero else zero
        far = far if far > zero else zero
        top[i] = np.sqrt(near) * UP
        top[i + LANES] = np.sqrt(far) * DOWN


@njit(cache=True, nogil=True)
def _search(
    tile: Any, width: int, C: Any, half: Any, most: float, d: int, s: Any, top: Any, index: Any, slack: Any
) -> None:  # pragma: no cover - compiled
    """Nearest of the centres C for `width` points: `index`, bounds in `top`; `slack` is FAR where it is in doubt."""
    for i in range(width):
        top[i] = FAR
        top[i + LANES] = FAR
        index[i] = 0
    for j in range(0, len(C), AT_ONCE):
        _scores(tile, width, C, half, j, d, s)
        _best(s, width, j, top, index)
    _bounds(tile, width, d, top, slack, most)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def square_apart(x: Any, origin: Any, scale: float, c: Any) -> float:  # pragma: no cover - compiled
    """‖(x − origin) · scale − c‖² in double precision."""
    total = 0.0
    for j in range(len(origin)):
        away = (x[j] - origin[j]) * scale - c[j]
        total += away * away
    return total


@njit(cache=True, nogil=True)
def _exactly(x: Any, origin: Any, scale: float, C: Any) -> tuple[int, float, float]:  # pragma: no cover - compiled
    """The nearest centre, the lowest of equals, its distance and that of the second, in double precision."""
    best, second, index = np.inf, np.inf, 0
    for j in range(len(C)):
        away = square_apart(x, origin, scale, C[j])
        if away < best:
            second, best, index = best, away, j
        elif away < second:
            second = away
    return index, np.sqrt(best), np.sqrt(second)


@njit(cache=True, nogil=True)
def _fill(tile: Any, Z: Any, rows: Any, first: int, width: int, padded: int) -> None:  # pragma: no cover - compiled
    """Rows of Z as columns of the tile; the last again where there are fewer than `padded`."""
    for i in range(padded):
        z = Z[rows[first + min(i, width - 1)]]
        for c in range(len(z)):
            tile[c * LANES + i] = z[c]


@njit(cache=True, nogil=True)
def _distance(x: Any, c: Any) -> Any:  # pragma: no cover - compiled
    """‖x − c‖ in single precision; sums of every fourth, so that they do not wait for each other."""
    d = len(x)
    s0 = s1 = s2 = s3 = np.float32(0.0)
    j = 0
    while j + 4 <= d:
        a0, a1, a2, a3 = x[j] - c[j], x[j + 1] - c[j + 1], x[j + 2] - c[j + 2], x[j + 3] - c[j + 3]
        s0 += a0 * a0
        s1 += a1 * a1
        s2 += a2 * a2
        s3 += a3 * a3
        j += 4
    while j < d:
        a0 = x[j] - c[j]
        s0 += a0 * a0
        j += 1
    return np.sqrt((s0 + s1) + (s2 + s3))


@njit(cache=True, nogil=True)
def assign_all(
    Z: Any, X: Any, origin: Any, scale: float, C: Any, C32: Any, half: Any, most: float,
    label: Any, upper: Any, lower: Any, start: int, stop: int,
) -> None:  # fmt: skip  # pragma: no cover - compiled
    """Nearest centre of the rows from start to stop, and bounds of the distances to it and to the second."""
    d = C32.shape[1]
    tile, s = np.zeros(d * LANES, dtype=np.float32), np.empty(AT_ONCE * LANES, dtype=np.float32)
    top, index = np.empty(2 * LANES, dtype=np.float32), np.empty(LANES, dtype=np.int32)
    slack = np.empty(LANES, dtype=np.float32)
    rows = np.arange(start, stop)
    for first in range(0, stop - start, LANES):
        width = min(LANES, stop - start - first)
        padded = (width + 15) // 16 * 16
        _fill(tile, Z, rows, first, width, padded)
        _search(tile, padded, C32, half, most, d, s, top, index, slack)
        for i in range(width):
            row = start + first + i
            if slack[i] < FAR:
                label[row], upper[row], lower[row] = index[i], top[i], top[i + LANES]
            else:
                label[row], near, far = _exactly(X[row], origin, scale, C)
                upper[row], lower[row] = np.float32(near) * UP, np.float32(far) * DOWN


@njit(cache=True, nogil=True)
def assign_again(
    Z: Any, X: Any, origin: Any, scale: float, C: Any, C32: Any, half: Any, most: float,
    between: Any, apart: Any, move: Any, other: Any,
    label: Any, upper: Any, lower: Any, start: int, stop: int, moved: Any, before: Any,
) -> int:  # fmt: skip  # pragma: no cover - compiled
    """As `assign_all` after centres have moved; rows whose bounds tell that their label stays are left alone.

    The rest are taken cluster by cluster: only centres near to theirs can be nearer. `moved` and `before` get the rows
    with a new label, and the old one; the answer is their number.
    """
    k, d = len(C), C32.shape[1]
    rows = np.empty(stop - start, dtype=np.int64)
    count = 0
    for i in range(start, stop):
        a = label[i]
        u, v = (upper[i] + move[a]) * UP, lower[i] * DOWN - other[a]
        upper[i], lower[i] = u, v
        rows[count] = i
        count += 1 if u >= v and u >= apart[a] else 0
    left = 0
    size = np.zeros(k + 1, dtype=np.int64)
    widest = np.zeros(k, dtype=np.float32)
    grow, add = np.float32(1 + (d + 8) * ROUNDING), np.float32(4 * ROUNDING)
    norm = np.sqrt(np.float32(2.0) * half)
    for m in range(count):
        i = rows[m]
        a = label[i]
        u = _distance(Z[i], C32[a]) * grow + norm[a] * add + np.float32(1e-17)
        upper[i] = u
        if u >= lower[i] and u >= apart[a]:
            rows[left] = i
            left += 1
            size[a + 1] += 1
            widest[a] = max(widest[a], u)
    if left == 0:
        return 0
    place = np.cumsum(size)
    order = np.empty(left, dtype=np.int64)
    for m in range(left):
        a = label[rows[m]]
        order[place[a]] = rows[m]
        place[a] += 1
    tile, s = np.zeros(d * LANES, dtype=np.float32), np.empty(AT_ONCE * LANES, dtype=np.float32)
    top, index = np.empty(2 * LANES, dtype=np.float32), np.empty(LANES, dtype=np.int32)
    slack = np.empty(LANES, dtype=np.float32)
    near_ones, near_C, near_half = np.empty(k, dtype=np.int32), np.empty_like(C32), np.empty_like(half)
    changed, begin = 0, 0
    for a in range(k):
        end = place[a]
        if end == begin:
            continue
        radius = np.float32(3.0) * widest[a]
        few = 0
        for j in range(k):
            near_ones[few] = j
            few += 1 if between[a, j] <= radius else 0
        full = (few + AT_ONCE - 1) // AT_ONCE * AT_ONCE
        for m in range(few):
            near_C[m] = C32[near_ones[m]]
            near_half[m] = half[near_ones[m]]
        for m in range(few, full):
            near_C[m] = np.float32(0.0)
            near_half[m] = FAR
        reach = radius * DOWN if few < k else FAR
        for first in range(begin, end, LANES):
            width = min(LANES, end - first)
            padded = (width + 15) // 16 * 16
            _fill(tile, Z, order, first, width, padded)
            _search(tile, padded, near_C[:full], near_half, most, d, s, top, index, slack)
            for i in range(width):
                row = order[first + i]
                beyond = reach - upper[row]  # centres that were not looked at are at least so far
                if slack[i] < FAR:
                    b, near, far = near_ones[index[i]], top[i], top[i + LANES]
                else:
                    exact, near_here, far_here = _exactly(X[row], origin, scale, C)
                    b, near, far = np.int32(exact), np.float32(near_here) * UP, np.float32(far_here) * DOWN
                upper[row], lower[row] = near, min(far, beyond)
                if b != a:
                    moved[changed], before[changed] = row, a
                    changed += 1
                    label[row] = b
        begin = end
    return changed


@njit(cache=True, nogil=True)
def add_all(
    X: Any, weight: Any, origin: Any, scale: float, pivot: Any, label: Any, start: int, stop: int, S: Any, T: Any
) -> None:  # pragma: no cover - compiled
    """Of every cluster with pivot p: S = Σ w (x − p), and T = Σ w ‖x − p‖², Σ w, and the number of its rows."""
    for i in range(start, stop):
        w = weight[i] if len(weight) else 1.0
        if w > 0:
            _add(X[i], w, origin, scale, pivot[label[i]], S[label[i]], T[label[i]])


@njit(cache=True, nogil=True)
def add_moved(
    X: Any, weight: Any, origin: Any, scale: float, pivot: Any, label: Any, moved: Any, before: Any, count: int,
    S: Any, T: Any,
) -> None:  # fmt: skip  # pragma: no cover - compiled
    """What the rows that changed their cluster change of those sums."""
    for m in range(count):
        i = moved[m]
        a, b = before[m], label[i]
        w = weight[i] if len(weight) else 1.0
        if w > 0:
            _add(X[i], -w, origin, scale, pivot[a], S[a], T[a])
            _add(X[i], w, origin, scale, pivot[b], S[b], T[b])


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _add(x: Any, w: float, origin: Any, scale: float, p: Any, s: Any, t: Any) -> None:  # pragma: no cover - compiled
    total = 0.0
    for c in range(len(origin)):
        away = (x[c] - origin[c]) * scale - p[c]
        s[c] += w * away
        total += away * away
    t[0] += w * total
    t[1] += w
    t[2] += 1.0 if w > 0 else -1.0


@njit(cache=True, nogil=True)
def own_squares(
    X: Any, origin: Any, scale: float, C: Any, label: Any, start: int, stop: int, out: Any
) -> None:  # pragma: no cover - compiled
    """‖x − c‖² of every row and its own centre."""
    for i in range(start, stop):
        out[i] = square_apart(X[i], origin, scale, C[label[i]])


@njit(cache=True, nogil=True)
def nearer(
    X: Any, origin: Any, scale: float, c: Any, start: int, stop: int, out: Any
) -> None:  # pragma: no cover - compiled
    """The least of what stands in `out` and the square of the distance to c."""
    for i in range(start, stop):
        out[i] = min(out[i], square_apart(X[i], origin, scale, c))


@njit(cache=True, nogil=True)
def between_centers(C: Any, first: int, last: int, out: Any) -> None:  # pragma: no cover - compiled
    """Distances between centres, rounded down, of the rows from first to last."""
    for i in range(first, last):
        for j in range(len(C)):
            out[i, j] = np.float32(np.sqrt(_square(C[i], C[j]))) * DOWN


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _square(x: Any, y: Any) -> float:  # pragma: no cover - compiled
    total = 0.0
    for c in range(len(x)):
        total += (x[c] - y[c]) ** 2
    return total
