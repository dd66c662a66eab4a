"""Compiled loops over pairs of clusters: minimum spanning trees and chains of nearest neighbours.

Slots hold the clusters that are left, in order, so that of equally near ones the first is taken; those that are gone
stay until so many are that moving the others together pays.
"""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit

SINGLE, COMPLETE, AVERAGE, WARD = range(4)
KEPT = 0.92  # share of the slots in use below which they are moved together
KEPT_SQUARE = 0.75  # the same where rows and columns of a matrix are moved
STRETCH = 256  # columns whose distances stay in the cache while they are used
UNORDERED = {"nnan", "nsz"}  # distances are numbers, and no zero has a sign: so the least is found on vectors


@njit(cache=True, nogil=True, fastmath=UNORDERED)
def _least(values: Any, gone: Any, m: int) -> Any:  # pragma: no cover - compiled
    """The least value that is not gone, and where its stretch begins."""
    low, where = np.inf, 0
    for start in range(0, m, STRETCH):
        least = np.inf
        for j in range(start, min(start + STRETCH, m)):
            least = min(least, values[j] + gone[j])
        if least < low:
            low, where = least, start
    return low, where


@njit(cache=True, nogil=True)
def _first(values: Any, gone: Any, start: int, m: int, low: float) -> int:  # pragma: no cover - compiled
    for j in range(start, m):
        if values[j] + gone[j] == low:
            return j
    return -1


@njit(cache=True, nogil=True)
def _square_distances(C: Any, x: Any, m: int, out: Any) -> None:  # pragma: no cover - compiled
    """Of the columns of C from x: the inner loop runs on vectors."""
    out[:m] = 0.0
    for c in range(C.shape[0]):
        row, v = C[c], x[c]
        for j in range(m):
            u = row[j] - v
            out[j] += u * u


@njit(cache=True, nogil=True)
def distance_rows(X: Any, C: Any, start: int, out: Any) -> None:  # pragma: no cover - compiled
    """Distances of rows X[start:] to all columns of C, a row of `out` each."""
    for i in range(out.shape[0]):
        _square_distances(C, X[start + i], C.shape[1], out[i])
        for j in range(C.shape[1]):
            out[i, j] = np.sqrt(out[i, j])


@njit(cache=True, nogil=True, fastmath=UNORDERED)
def _nearer(
    C: Any, x: Any, here: int, near: Any, come: Any, gone: Any, m: int, buffer: Any
) -> Any:  # pragma: no cover - compiled
    """Distances to x where they are the least so far; of those not gone the least. By stretches that stay cached."""
    low, where = np.inf, 0
    for start in range(0, m, STRETCH):
        size = min(STRETCH, m - start)
        buffer[:size] = 0.0
        for c in range(C.shape[0]):
            row, v = C[c, start : start + size], x[c]
            for j in range(size):
                u = row[j] - v
                buffer[j] += u * u
        n, f, g = near[start : start + size], come[start : start + size], gone[start : start + size]
        for j in range(size):
            f[j] = here if buffer[j] < n[j] else f[j]
        least = np.inf
        for j in range(size):
            n[j] = min(buffer[j], n[j])
            least = min(least, n[j] + g[j])
        if least < low:
            low, where = least, start
    return low, where


@njit(cache=True, nogil=True)
def spanning_tree(X: Any) -> Any:  # pragma: no cover - compiled
    """Edges (n − 1, 2) of a minimum spanning tree and their lengths, in Prim's order; no memory beyond the rows'."""
    n, d = X.shape
    C = X.T.copy()
    name = np.arange(n)
    near = np.full(n, np.inf)
    come = np.zeros(n, np.int64)
    gone = np.zeros(n)
    buffer = np.empty(STRETCH)
    pairs = np.empty((n - 1, 2), np.int64)
    lengths = np.empty(n - 1)
    m, left, at = n, n - 1, 0
    gone[0] = np.inf
    for t in range(n - 1):
        low, where = _nearer(C, X[name[at]], name[at], near, come, gone, m, buffer)
        at = _first(near, gone, where, m, low)
        pairs[t, 0], pairs[t, 1], lengths[t] = come[at], name[at], np.sqrt(low)
        gone[at] = np.inf
        left -= 1
        if left < KEPT * m and t < n - 2:
            tip, kept = name[at], 0
            for j in range(m):
                if gone[j] == 0.0 or name[j] == tip:
                    if name[j] == tip:
                        at = kept
                    name[kept], near[kept], come[kept], gone[kept] = name[j], near[j], come[j], gone[j]
                    for c in range(d):
                        C[c, kept] = C[c, j]
                    kept += 1
            m = kept
    return pairs, lengths


@njit(cache=True, nogil=True, fastmath=UNORDERED)
def _ward_row(C: Any, x: Any, own: float, w: Any, gone: Any, m: int, out: Any) -> Any:  # pragma: no cover - compiled
    """Ward's squared distances of a centroid to all, and the least of those not gone."""
    low, where = np.inf, 0
    for start in range(0, m, STRETCH):
        size = min(STRETCH, m - start)
        part, v, g = out[start : start + size], w[start : start + size], gone[start : start + size]
        part[:] = 0.0
        for c in range(C.shape[0]):
            row, centre = C[c, start : start + size], x[c]
            for j in range(size):
                u = row[j] - centre
                part[j] += u * u
        least = np.inf
        for j in range(size):
            part[j] *= 2.0 * own * v[j] / (own + v[j])
            least = min(least, part[j] + g[j])
        if least < low:
            low, where = least, start
    return low, where


@njit(cache=True, nogil=True)
def ward_chain(X: Any, weight: Any) -> Any:  # pragma: no cover - compiled
    """Pairs merged (n − 1, 2), each by a row that it holds, and heights, by chains of nearest neighbours on centroids.

    The distance of clusters is √(2 v w / (v + w)) ‖c − c'‖ with their weights v, w: only centroids are kept.
    """
    n, d = X.shape
    C = X.T.copy()
    w = weight.copy()
    name = np.arange(n)
    gone = np.zeros(n)
    buffer = np.empty(n)
    x = np.empty(d)
    pairs = np.empty((n - 1, 2), np.int64)
    heights = np.empty(n - 1)
    chain = np.empty(n, np.int64)
    m, left, length = n, n, 0
    for t in range(n - 1):
        if length == 0:
            chain[0] = _first(gone, gone, 0, m, 0.0)
            length = 1
        while True:
            tip = chain[length - 1]
            for c in range(d):
                x[c] = C[c, tip]
            gone[tip] = np.inf
            low, where = _ward_row(C, x, w[tip], w, gone, m, buffer)
            before = chain[length - 2] if length > 1 else -1
            if before >= 0 and buffer[before] <= low:
                low = buffer[before]
                gone[tip] = 0.0
                break
            chain[length] = _first(buffer, gone, where, m, low)
            gone[tip] = 0.0
            length += 1
        a, b = min(tip, before), max(tip, before)
        length -= 2
        pairs[t, 0], pairs[t, 1], heights[t] = name[a], name[b], np.sqrt(low)
        total = w[a] + w[b]
        for c in range(d):
            C[c, a] += (w[b] / total) * (C[c, b] - C[c, a])
        w[a] = total
        gone[b] = np.inf
        left -= 1
        if left < KEPT * m:
            place = np.full(m, -1)
            kept = 0
            for j in range(m):
                if gone[j] == 0.0:
                    place[j] = kept
                    name[kept], w[kept] = name[j], w[j]
                    for c in range(d):
                        C[c, kept] = C[c, j]
                    kept += 1
            for j in range(length):
                chain[j] = place[chain[j]]
            m = kept
            gone[:m] = 0.0
    return pairs, heights


@njit(cache=True, nogil=True, fastmath=UNORDERED)
def _joined(D: Any, w: Any, a: int, b: int, m: int, method: int) -> None:  # pragma: no cover - compiled
    """Distances of a ∪ b to the others into row a, and into the column."""
    v, u, low = w[a], w[b], D[a, b]
    A, B = D[a], D[b]
    if method == SINGLE:
        for j in range(m):
            A[j] = min(A[j], B[j])
    elif method == COMPLETE:
        for j in range(m):
            A[j] = max(A[j], B[j])
    elif method == AVERAGE:
        share = u / (v + u)
        for j in range(m):
            A[j] += share * (B[j] - A[j])
    else:
        for j in range(m):
            A[j] = ((v + w[j]) * A[j] + (u + w[j]) * B[j] - w[j] * low) / (v + u + w[j])
    for j in range(m):
        D[j, a] = A[j]


@njit(cache=True, nogil=True)
def matrix_chain(D: Any, weight: Any, method: int) -> Any:  # pragma: no cover - compiled
    """The same from a matrix of distances, which is written over; for Ward's method of 2vw/(v + w) ‖x − x'‖²."""
    n = D.shape[0]
    w = weight.copy()
    name = np.arange(n)
    gone = np.zeros(n)
    pairs = np.empty((n - 1, 2), np.int64)
    heights = np.empty(n - 1)
    chain = np.empty(n, np.int64)
    m, left, length = n, n, 0
    for t in range(n - 1):
        if length == 0:
            chain[0] = _first(gone, gone, 0, m, 0.0)
            length = 1
        while True:
            tip = chain[length - 1]
            row = D[tip]
            gone[tip] = np.inf
            low, where = _least(row, gone, m)
            before = chain[length - 2] if length > 1 else -1
            if before >= 0 and row[before] <= low:
                low = row[before]
                gone[tip] = 0.0
                break
            chain[length] = _first(row, gone, where, m, low)
            gone[tip] = 0.0
            length += 1
        a, b = min(tip, before), max(tip, before)
        length -= 2
        pairs[t, 0], pairs[t, 1] = name[a], name[b]
        heights[t] = np.sqrt(max(low, 0.0)) if method == WARD else low
        _joined(D, w, a, b, m, method)
        w[a] += w[b]
        gone[b] = np.inf
        left -= 1
        if left < KEPT_SQUARE * m:
            place = np.full(m, -1)
            kept = 0
            for j in range(m):
                if gone[j] == 0.0:
                    place[j] = kept
                    name[kept], w[kept] = name[j], w[j]
                    kept += 1
            for i in range(m):
                if place[i] >= 0:
                    source, target = D[i], D[place[i]]
                    for j in range(m):
                        if place[j] >= 0:
                            target[place[j]] = source[j]
            for j in range(length):
                chain[j] = place[chain[j]]
            m = kept
            gone[:m] = 0.0
    return pairs, heights


@njit(cache=True, nogil=True)
def in_order(pairs: Any, heights: Any, n: int) -> Any:  # pragma: no cover - compiled
    """Merges in SciPy's form, of pairs of leaves in growing order of height: two clusters, height, leaves inside."""
    merges = np.empty((n - 1, 4))
    above = np.arange(2 * n - 1)
    size = np.ones(2 * n - 1)
    for t in range(n - 1):
        found = np.empty(2, np.int64)
        for side in range(2):
            at = pairs[t, side]
            root = at
            while above[root] != root:
                root = above[root]
            while above[at] != root and at != root:
                above[at], at = root, above[at]
            found[side] = root
        a, b = min(found[0], found[1]), max(found[0], found[1])
        above[a] = above[b] = n + t
        size[n + t] = size[a] + size[b]
        merges[t, 0], merges[t, 1], merges[t, 2], merges[t, 3] = a, b, heights[t], size[n + t]
    return merges


@njit(cache=True, nogil=True)
def spans(merges: Any) -> Any:  # pragma: no cover - compiled
    """Leaves in an order in which every cluster is a stretch, and where the stretch of each of the 2m − 1 begins."""
    m = merges.shape[0] + 1
    count = np.ones(2 * m - 1, np.int64)
    for t in range(m - 1):
        count[m + t] = count[int(merges[t, 0])] + count[int(merges[t, 1])]
    start = np.zeros(2 * m - 1, np.int64)
    for t in range(m - 2, -1, -1):
        a, b = int(merges[t, 0]), int(merges[t, 1])
        start[a] = start[m + t]
        start[b] = start[m + t] + count[a]
    order = np.empty(m, np.int64)
    for leaf in range(m):
        order[start[leaf]] = leaf
    return order, start, count


@njit(cache=True, nogil=True)
def after(merges: Any, done: int) -> Any:  # pragma: no cover - compiled
    """The cluster of every leaf after the first `done` merges: the number of its node."""
    m = merges.shape[0] + 1
    top = np.arange(m + done)
    for t in range(done - 1, -1, -1):
        top[int(merges[t, 0])] = top[m + t]
        top[int(merges[t, 1])] = top[m + t]
    return top[:m].copy()
