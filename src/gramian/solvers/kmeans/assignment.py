"""Compiled search for the nearest centre: tiles of points against four centres at a time, in single precision.

Where rounding may exchange the two nearest, all distances are computed again in double precision, so that the result is
that of double precision, with ties to the lowest index.
"""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian.solvers.kmeans.cluster_sums import ROUND_DOWN, squared_distance

LANES, FEW_LANES = 64, 16  # points of a tile, and of the used part of a nearly empty tile
GROUP = 4  # centres, and coordinates, computed together
BLOCK = 1024  # rows whose bounds are compared together
FAR = np.float32(3e38)
ROUND_UP = np.float32(1 + 2.0**-21)  # a few roundings
ROUNDING = 2.0**-24
MIN_ERROR = 1e-36  # of products in single precision, which underflow


@njit(cache=True, nogil=True, fastmath={"contract"})
def _scores(tile: Any, C: Any, half: Any, j: int, d: int, s: Any) -> None:  # pragma: no cover - compiled
    """s = ½‖c‖² − x·c of four centres from j on; the four rows of s and of the tile are LANES apart.

    Loops of constant length, and sums that begin with the first products, make it fast.
    """
    h0, h1, h2, h3 = half[j], half[j + 1], half[j + 2], half[j + 3]
    for c in range(0, d, GROUP):
        a0, a1, a2, a3 = C[j, c], C[j, c + 1], C[j, c + 2], C[j, c + 3]
        b0, b1, b2, b3 = C[j + 1, c], C[j + 1, c + 1], C[j + 1, c + 2], C[j + 1, c + 3]
        e0, e1, e2, e3 = C[j + 2, c], C[j + 2, c + 1], C[j + 2, c + 2], C[j + 2, c + 3]
        f0, f1, f2, f3 = C[j + 3, c], C[j + 3, c + 1], C[j + 3, c + 2], C[j + 3, c + 3]
        t = tile[c * LANES : (c + GROUP) * LANES]
        if c == 0:
            for i in range(LANES):
                z0, z1, z2, z3 = t[i], t[i + LANES], t[i + 2 * LANES], t[i + 3 * LANES]
                s[i] = h0 - a0 * z0 - a1 * z1 - a2 * z2 - a3 * z3
                s[i + LANES] = h1 - b0 * z0 - b1 * z1 - b2 * z2 - b3 * z3
                s[i + 2 * LANES] = h2 - e0 * z0 - e1 * z1 - e2 * z2 - e3 * z3
                s[i + 3 * LANES] = h3 - f0 * z0 - f1 * z1 - f2 * z2 - f3 * z3
            continue
        for i in range(LANES):
            z0, z1, z2, z3 = t[i], t[i + LANES], t[i + 2 * LANES], t[i + 3 * LANES]
            s0, s1, s2, s3 = s[i], s[i + LANES], s[i + 2 * LANES], s[i + 3 * LANES]
            s[i] = s0 - a0 * z0 - a1 * z1 - a2 * z2 - a3 * z3
            s[i + LANES] = s1 - b0 * z0 - b1 * z1 - b2 * z2 - b3 * z3
            s[i + 2 * LANES] = s2 - e0 * z0 - e1 * z1 - e2 * z2 - e3 * z3
            s[i + 3 * LANES] = s3 - f0 * z0 - f1 * z1 - f2 * z2 - f3 * z3


@njit(cache=True, nogil=True, fastmath={"contract"})
def _scores_of_few(tile: Any, C: Any, half: Any, j: int, d: int, s: Any) -> None:  # pragma: no cover - compiled
    """The same of the first FEW points of a tile alone."""
    h0, h1, h2, h3 = half[j], half[j + 1], half[j + 2], half[j + 3]
    for c in range(0, d, GROUP):
        a0, a1, a2, a3 = C[j, c], C[j, c + 1], C[j, c + 2], C[j, c + 3]
        b0, b1, b2, b3 = C[j + 1, c], C[j + 1, c + 1], C[j + 1, c + 2], C[j + 1, c + 3]
        e0, e1, e2, e3 = C[j + 2, c], C[j + 2, c + 1], C[j + 2, c + 2], C[j + 2, c + 3]
        f0, f1, f2, f3 = C[j + 3, c], C[j + 3, c + 1], C[j + 3, c + 2], C[j + 3, c + 3]
        t = tile[c * LANES : (c + GROUP) * LANES]
        if c == 0:
            for i in range(FEW_LANES):
                z0, z1, z2, z3 = t[i], t[i + LANES], t[i + 2 * LANES], t[i + 3 * LANES]
                s[i] = h0 - a0 * z0 - a1 * z1 - a2 * z2 - a3 * z3
                s[i + LANES] = h1 - b0 * z0 - b1 * z1 - b2 * z2 - b3 * z3
                s[i + 2 * LANES] = h2 - e0 * z0 - e1 * z1 - e2 * z2 - e3 * z3
                s[i + 3 * LANES] = h3 - f0 * z0 - f1 * z1 - f2 * z2 - f3 * z3
            continue
        for i in range(FEW_LANES):
            z0, z1, z2, z3 = t[i], t[i + LANES], t[i + 2 * LANES], t[i + 3 * LANES]
            s0, s1, s2, s3 = s[i], s[i + LANES], s[i + 2 * LANES], s[i + 3 * LANES]
            s[i] = s0 - a0 * z0 - a1 * z1 - a2 * z2 - a3 * z3
            s[i + LANES] = s1 - b0 * z0 - b1 * z1 - b2 * z2 - b3 * z3
            s[i + 2 * LANES] = s2 - e0 * z0 - e1 * z1 - e2 * z2 - e3 * z3
            s[i + 3 * LANES] = s3 - f0 * z0 - f1 * z1 - f2 * z2 - f3 * z3


@njit(cache=True, nogil=True)
def _best(s: Any, width: int, j: int, top: Any, index: Any) -> None:  # pragma: no cover - compiled
    """Update the least and second least score in `top`, and the index of the least."""
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
    tile: Any, width: int, d: int, top: Any, slack: Any, largest_norm: float
) -> None:  # pragma: no cover - compiled
    """Turn scores of `top` into an upper bound of the least distance and a lower one of the second, and set `slack`."""
    share = np.float32((d + 8) * ROUNDING)
    size = np.float32(largest_norm)
    zero, two = np.float32(0.0), np.float32(2.0)
    for i in range(width):
        slack[i] = zero
    for c in range(d):
        t = tile[c * LANES : (c + 1) * LANES]
        for i in range(width):
            slack[i] += t[i] * t[i]
    for i in range(width):
        square, b, r = slack[i], top[i], top[i + LANES]
        e = share * (size * (size + two * np.sqrt(square))) + np.float32(MIN_ERROR)
        slack[i] = e if r - b > e else FAR
        e += share * square
        nearest, second = square + two * b + e, square + two * r - e
        nearest = nearest if nearest > zero else zero
        second = second if second > zero else zero
        top[i] = np.sqrt(nearest) * ROUND_UP
        top[i + LANES] = np.sqrt(second) * ROUND_DOWN


@njit(cache=True, nogil=True)
def _search(
    tile: Any, width: int, C: Any, half: Any, largest_norm: float, d: int, s: Any, top: Any, index: Any, slack: Any
) -> None:  # pragma: no cover - compiled
    """The nearest of the centres C for `width` points: `index`, bounds in `top`; `slack` is FAR where uncertain."""
    for i in range(width):
        top[i] = FAR
        top[i + LANES] = FAR
        index[i] = 0
    for j in range(0, len(C), GROUP):
        if width <= FEW_LANES:
            _scores_of_few(tile, C, half, j, d, s)
        else:
            _scores(tile, C, half, j, d, s)
        _best(s, width, j, top, index)
    _bounds(tile, width, d, top, slack, largest_norm)


@njit(cache=True, nogil=True)
def _nearest_in_double(
    X: Any, i: int, origin: Any, scale: float, C: Any
) -> tuple[int, float, float]:  # pragma: no cover - compiled
    """The nearest centre, the lowest of equals, its distance and that of the second, in double precision."""
    best, second, index = np.inf, np.inf, 0
    for j in range(len(C)):
        square = squared_distance(X, i, origin, scale, C, j)
        if square < best:
            second, best, index = best, square, j
        elif square < second:
            second = square
    return index, np.sqrt(best), np.sqrt(second)


@njit(cache=True, nogil=True)
def fill_tile(
    tile: Any, fours: Any, singles: Any, Z: Any, rows: Any, first: int, width: int
) -> None:  # pragma: no cover - compiled
    """Rows of Z, four numbers in each of its entries, as columns of the tile; `fours` and `singles` are one memory."""
    many = Z.shape[1]
    for i in range(width):
        row = rows[first + i]
        for c in range(many):
            fours[c * LANES + i] = Z[row, c]
    for c in range(many):
        t, b = tile[4 * c * LANES : 4 * (c + 1) * LANES], singles[4 * c * LANES : 4 * (c + 1) * LANES]
        for i in range(LANES):
            b0, b1, b2, b3 = b[4 * i], b[4 * i + 1], b[4 * i + 2], b[4 * i + 3]
            t[i] = b0
            t[i + LANES] = b1
            t[i + 2 * LANES] = b2
            t[i + 3 * LANES] = b3


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def squared_distance_single(Z: Any, i: int, C: Any, j: int) -> Any:  # pragma: no cover - compiled
    """‖z − c‖² in single precision."""
    z, center = Z[i], C[j]
    total = np.float32(0.0)
    for c in range(len(z)):
        deviation = z[c] - center[c]
        total += deviation * deviation
    return total


@njit(cache=True, nogil=True)
def assign_all(
    Z: Any, fours: Any, X: Any, origin: Any, scale: float, C: Any, C32: Any, half: Any, largest_norm: float,
    label: Any, upper: Any, lower: Any, start: int, stop: int,
) -> None:  # fmt: skip  # pragma: no cover - compiled
    """Nearest centre of the rows from start to stop, and bounds of the distances to it and to the second."""
    d = C32.shape[1]
    tile, s = np.zeros(d * LANES, dtype=np.float32), np.empty(GROUP * LANES, dtype=np.float32)
    buffer = np.zeros(d // 4 * LANES, dtype=np.complex128)
    singles = buffer.view(np.float32)
    top, index = np.empty(2 * LANES, dtype=np.float32), np.empty(LANES, dtype=np.int32)
    slack = np.empty(LANES, dtype=np.float32)
    rows = np.empty(LANES, dtype=np.int64)
    for first in range(0, stop - start, LANES):
        width = min(LANES, stop - start - first)
        for i in range(width):
            rows[i] = start + first + i
        fill_tile(tile, buffer, singles, fours, rows, 0, width)
        _search(tile, width, C32, half, largest_norm, d, s, top, index, slack)
        for i in range(width):
            row = start + first + i
            if slack[i] < FAR:
                label[row], upper[row], lower[row] = index[i], top[i], top[i + LANES]
            else:
                label[row], nearest, second = _nearest_in_double(X, row, origin, scale, C)
                upper[row], lower[row] = np.float32(nearest) * ROUND_UP, np.float32(second) * ROUND_DOWN


@njit(cache=True, nogil=True)
def _loosen_bounds(
    move: Any, other: Any, half_gap: Any, label: Any, upper: Any, lower: Any, start: int, rows: Any
) -> int:  # pragma: no cover - compiled
    """Update bounds after centres have moved; return the number of `rows` whose label may change."""
    uncertain = np.empty(BLOCK, dtype=np.uint8)
    count = 0
    for first in range(0, len(label), BLOCK):
        width = min(BLOCK, len(label) - first)
        own, up, down = label[first : first + width], upper[first : first + width], lower[first : first + width]
        for i in range(width):
            a = np.uint32(own[i])
            u, v, bound = (up[i] + move[a]) * ROUND_UP, down[i] * ROUND_DOWN - other[a], half_gap[a]
            up[i] = u
            down[i] = v
            bound = v if v > bound else bound
            uncertain[i] = np.uint8(u >= bound)
        for i in range(width):
            rows[count] = start + first + i
            count += uncertain[i]
    return count


@njit(cache=True, nogil=True)
def reassign(
    Z: Any, fours: Any, X: Any, origin: Any, scale: float, C: Any, C32: Any, half: Any, largest_norm: float,
    between: Any, half_gap: Any, move: Any, other: Any,
    label: Any, upper: Any, lower: Any, start: int, stop: int, moved: Any, before: Any,
) -> int:  # fmt: skip  # pragma: no cover - compiled
    """As `assign_all` after centres have moved, for the rows whose bounds do not prove that their label stays.

    These are searched cluster by cluster among the centres near to their own. `moved` and `before` are set to the rows
    with a new label, and the old one; returns their number.
    """
    k, d = len(C), C32.shape[1]
    rows = np.empty(stop - start, dtype=np.int64)
    count = _loosen_bounds(move, other, half_gap, label[start:stop], upper[start:stop], lower[start:stop], start, rows)
    n_doubtful = 0
    size = np.zeros(k, dtype=np.int64)
    widest = np.zeros(k, dtype=np.float32)
    grow, add = np.float32(1 + (d + 8) * ROUNDING), np.float32(6 * ROUNDING)
    for m in range(count):
        i = rows[m]
        a = label[i]
        u = np.sqrt(squared_distance_single(Z, i, C32, a)) * grow + np.sqrt(half[a]) * add + np.float32(1e-17)
        upper[i] = u
        if u >= lower[i] and u >= half_gap[a]:
            rows[n_doubtful] = i
            n_doubtful += 1
            size[a] += 1
            widest[a] = max(widest[a], u)
    if n_doubtful == 0:
        return 0
    cluster_end = np.empty(k, dtype=np.int64)
    total = 0
    for a in range(k):
        cluster_end[a] = total
        total += size[a]
    order = np.empty(n_doubtful, dtype=np.int64)
    for m in range(n_doubtful):
        a = label[rows[m]]
        order[cluster_end[a]] = rows[m]
        cluster_end[a] += 1
    tile, s = np.zeros(d * LANES, dtype=np.float32), np.empty(GROUP * LANES, dtype=np.float32)
    buffer = np.zeros(d // 4 * LANES, dtype=np.complex128)
    singles = buffer.view(np.float32)
    top, index = np.empty(2 * LANES, dtype=np.float32), np.empty(LANES, dtype=np.int32)
    slack = np.empty(LANES, dtype=np.float32)
    candidates, candidate_C, candidate_half = np.empty(k, dtype=np.int32), np.empty_like(C32), np.empty_like(half)
    changed, begin, n_rest = 0, 0, 0
    for a in range(k + 1):
        last = a == k  # rows that are compared with all centres
        end = n_rest if last else cluster_end[a]
        begin = 0 if last else begin
        radius = FAR if last else np.float32(3.0) * widest[a]
        n_near = 0
        for j in range(k):
            candidates[n_near] = j
            n_near += 1 if last or between[a, j] <= radius else 0
        if not last and 2 * n_near > k:
            for m in range(begin, end):
                rows[n_rest] = order[m]
                n_rest += 1
            begin = end
            continue
        full = (n_near + GROUP - 1) // GROUP * GROUP
        if begin < end:
            for m in range(full):
                candidate_half[m] = half[candidates[m]] if m < n_near else FAR
                for c in range(d):
                    candidate_C[m, c] = C32[candidates[m], c] if m < n_near else np.float32(0.0)
        source = rows if last else order
        for first in range(begin, end, LANES):
            width = min(LANES, end - first)
            fill_tile(tile, buffer, singles, fours, source, first, width)
            _search(tile, width, candidate_C[:full], candidate_half, largest_norm, d, s, top, index, slack)
            for i in range(width):
                row = source[first + i]
                unsearched = (
                    radius * ROUND_DOWN - upper[row]
                )  # lower bound of the distance to centres that were skipped
                if slack[i] < FAR:
                    b, nearest, second = candidates[index[i]], top[i], top[i + LANES]
                else:
                    exact, nearest_exact, second_exact = _nearest_in_double(X, row, origin, scale, C)
                    b, nearest, second = (
                        np.int32(exact),
                        np.float32(nearest_exact) * ROUND_UP,
                        np.float32(second_exact) * ROUND_DOWN,
                    )
                upper[row], lower[row] = nearest, min(second, unsearched)
                if b != label[row]:
                    moved[changed], before[changed] = row, label[row]
                    changed += 1
                    label[row] = b
        begin = end
    return changed
