"""Compiled agglomeration: minimum spanning trees (Prim) and nearest-neighbour chains.

Slots hold the active clusters in order, so that of equally near ones the first is merged; removed clusters keep their
slots until compacting the others pays.
"""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.types import Array

SINGLE, COMPLETE, AVERAGE, WARD, CENTROIDS = range(5)
MIN_USED_SHARE = 0.92  # of the slots, below which they are compacted
MIN_USED_SHARE_SQUARE = 0.75  # the same for the rows and columns of a matrix
PANEL_COLUMNS = 256  # columns whose distances stay in the cache
NO_NAN_NO_SIGNED_ZERO = {
    "nnan",
    "nsz",
}  # of distances, so that the minimum is vectorised


@njit(cache=True, nogil=True, fastmath=NO_NAN_NO_SIGNED_ZERO)
def _least(values: Array, removed: Array, m: int) -> Any:  # pragma: no cover - compiled
    """The least value of the active slots, and the first column of its panel."""
    smallest, panel = np.inf, 0
    for start in range(0, m, PANEL_COLUMNS):
        panel_smallest = np.inf
        for j in range(start, min(start + PANEL_COLUMNS, m)):
            panel_smallest = min(panel_smallest, values[j] + removed[j])
        if panel_smallest < smallest:
            smallest, panel = panel_smallest, start
    return smallest, panel


@njit(cache=True, nogil=True)
def _first(values: Array, removed: Array, start: int, m: int, value: float) -> int:  # pragma: no cover - compiled
    for j in range(start, m):
        if values[j] + removed[j] == value:
            return j
    return -1


@njit(cache=True, nogil=True)
def _square_distances(C: Array, x: Array, m: int, out: Array) -> None:  # pragma: no cover - compiled
    """Squared distances of the columns of C from x, vectorised over columns."""
    out[:m] = 0.0
    for c in range(C.shape[0]):
        row, v = C[c], x[c]
        for j in range(m):
            u = row[j] - v
            out[j] += u * u


@njit(cache=True, nogil=True)
def distance_rows(X: Array, C: Array, start: int, out: Array) -> None:  # pragma: no cover - compiled
    """Distances of rows X[start:] to all columns of C, a row of `out` each."""
    for i in range(out.shape[0]):
        _square_distances(C, X[start + i], C.shape[1], out[i])
        for j in range(C.shape[1]):
            out[i, j] = np.sqrt(out[i, j])


@njit(cache=True, nogil=True, fastmath=NO_NAN_NO_SIGNED_ZERO)
def _nearer(
    C: Array, x: Array, here: int, nearest: Array, parent: Array, removed: Array, m: int, buffer: Array
) -> Any:  # pragma: no cover - compiled
    """Lower the least distances so far by those to x; return the least of the active slots. By cached panels."""
    smallest, panel = np.inf, 0
    for start in range(0, m, PANEL_COLUMNS):
        size = min(PANEL_COLUMNS, m - start)
        buffer[:size] = 0.0
        for c in range(C.shape[0]):
            row, v = C[c, start : start + size], x[c]
            for j in range(size):
                u = row[j] - v
                buffer[j] += u * u
        n, f, g = nearest[start : start + size], parent[start : start + size], removed[start : start + size]
        for j in range(size):
            f[j] = here if buffer[j] < n[j] else f[j]
        panel_smallest = np.inf
        for j in range(size):
            n[j] = min(buffer[j], n[j])
            panel_smallest = min(panel_smallest, n[j] + g[j])
        if panel_smallest < smallest:
            smallest, panel = panel_smallest, start
    return smallest, panel


@njit(cache=True, nogil=True)
def spanning_tree(X: Array) -> Any:  # pragma: no cover - compiled
    """Edges (n − 1, 2) of a minimum spanning tree and their lengths, in Prim's order, in memory O(n d)."""
    n, d = X.shape
    C = X.T.copy()
    name = np.arange(n)
    nearest = np.full(n, np.inf)
    parent = np.zeros(n, np.int64)
    removed = np.zeros(n)
    buffer = np.empty(PANEL_COLUMNS)
    pairs = np.empty((n - 1, 2), np.int64)
    lengths = np.empty(n - 1)
    m, n_active, current = n, n - 1, 0
    removed[0] = np.inf
    for t in range(n - 1):
        smallest, panel = _nearer(C, X[name[current]], name[current], nearest, parent, removed, m, buffer)
        current = _first(nearest, removed, panel, m, smallest)
        pairs[t, 0], pairs[t, 1], lengths[t] = parent[current], name[current], np.sqrt(smallest)
        removed[current] = np.inf
        n_active -= 1
        if n_active < MIN_USED_SHARE * m and t < n - 2:
            current_name, n_kept = name[current], 0
            for j in range(m):
                if removed[j] == 0.0 or name[j] == current_name:
                    if name[j] == current_name:
                        current = n_kept
                    name[n_kept], nearest[n_kept], parent[n_kept], removed[n_kept] = (
                        name[j],
                        nearest[j],
                        parent[j],
                        removed[j],
                    )
                    for c in range(d):
                        C[c, n_kept] = C[c, j]
                    n_kept += 1
            m = n_kept
    return pairs, lengths


@njit(cache=True, nogil=True, fastmath=NO_NAN_NO_SIGNED_ZERO)
def _ward_row(
    C: Array, x: Array, own: float, w: Array, removed: Array, m: int, out: Array
) -> Any:  # pragma: no cover - compiled
    """Ward's squared distances of a centroid to all, and the least of the active ones."""
    smallest, panel = np.inf, 0
    for start in range(0, m, PANEL_COLUMNS):
        size = min(PANEL_COLUMNS, m - start)
        part, v, g = out[start : start + size], w[start : start + size], removed[start : start + size]
        part[:] = 0.0
        for c in range(C.shape[0]):
            row, centre = C[c, start : start + size], x[c]
            for j in range(size):
                u = row[j] - centre
                part[j] += u * u
        panel_smallest = np.inf
        for j in range(size):
            part[j] *= 2.0 * own * v[j] / (own + v[j])
            panel_smallest = min(panel_smallest, part[j] + g[j])
        if panel_smallest < smallest:
            smallest, panel = panel_smallest, start
    return smallest, panel


@njit(cache=True, nogil=True)
def _compacted_slots(removed: Array, name: Array, w: Array, chain: Array, m: int) -> Any:  # pragma: no cover - compiled
    """Move names and weights of the active slots together, and renumber the chain; the new slot of each of m, or −1."""
    slot = np.full(m, -1)
    n_kept = 0
    for j in range(m):
        if removed[j] == 0.0:
            slot[j] = n_kept
            name[n_kept], w[n_kept] = name[j], w[j]
            n_kept += 1
    for j in range(len(chain)):
        chain[j] = slot[chain[j]]
    removed[:n_kept] = 0.0
    return slot


@njit(cache=True, nogil=True, fastmath=NO_NAN_NO_SIGNED_ZERO)
def _merge_row(D: Array, w: Array, a: int, b: int, m: int, method: int) -> None:  # pragma: no cover - compiled
    """Set row and column a to the distances of a ∪ b from the others (Lance–Williams update)."""
    v, u, merge_distance = w[a], w[b], D[a, b]
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
            A[j] = ((v + w[j]) * A[j] + (u + w[j]) * B[j] - w[j] * merge_distance) / (v + u + w[j])
    for j in range(m):
        D[j, a] = A[j]


@njit(cache=True, nogil=True)
def _merge_centroids(C: Array, w: Array, a: int, b: int) -> None:  # pragma: no cover - compiled
    """Set column a to the mean of a ∪ b."""
    share = w[b] / (w[a] + w[b])
    for c in range(C.shape[0]):
        C[c, a] += share * (C[c, b] - C[c, a])


@njit(cache=True, nogil=True)
def merge_chain(A: Array, weight: Array, method: int) -> Any:  # pragma: no cover - compiled
    """Merged pairs (n − 1, 2), each named by one of its rows, and heights, by nearest-neighbour chains.

    A has the centroids as columns (d, n) for the method CENTROIDS, which is Ward's without a matrix of distances: that
    of clusters is √(2 v w / (v + w)) ‖c − c'‖ with their weights v, w. Otherwise it is the matrix of distances (n, n),
    for WARD of 2 v w / (v + w) ‖x − x'‖². It is overwritten.
    """
    d, n = A.shape
    by_centroids = method == CENTROIDS
    w = weight.copy()
    name = np.arange(n)
    removed = np.zeros(n)
    buffer = np.empty(n)
    x = np.empty(d)
    pairs = np.empty((n - 1, 2), np.int64)
    heights = np.empty(n - 1)
    chain = np.empty(n, np.int64)
    m, n_active, length = n, n, 0
    for t in range(n - 1):
        if length == 0:
            chain[0] = _first(removed, removed, 0, m, 0.0)
            length = 1
        while True:
            tip = chain[length - 1]
            removed[tip] = np.inf
            if by_centroids:
                for c in range(d):
                    x[c] = A[c, tip]
                row = buffer
                smallest, panel = _ward_row(A, x, w[tip], w, removed, m, row)
            else:
                row = A[tip]
                smallest, panel = _least(row, removed, m)
            before = chain[length - 2] if length > 1 else -1
            if before >= 0 and row[before] <= smallest:
                smallest = row[before]
                removed[tip] = 0.0
                break
            chain[length] = _first(row, removed, panel, m, smallest)
            removed[tip] = 0.0
            length += 1
        a, b = min(tip, before), max(tip, before)
        length -= 2
        pairs[t, 0], pairs[t, 1] = name[a], name[b]
        heights[t] = np.sqrt(max(smallest, 0.0)) if by_centroids or method == WARD else smallest
        if by_centroids:
            _merge_centroids(A, w, a, b)
        else:
            _merge_row(A, w, a, b, m, method)
        w[a] += w[b]
        removed[b] = np.inf
        n_active -= 1
        if n_active < (MIN_USED_SHARE if by_centroids else MIN_USED_SHARE_SQUARE) * m:
            slot = _compacted_slots(removed, name, w, chain[:length], m)
            for i in range(d if by_centroids else m):
                if by_centroids or slot[i] >= 0:
                    source, target = A[i], A[i if by_centroids else slot[i]]
                    for j in range(m):
                        if slot[j] >= 0:
                            target[slot[j]] = source[j]
            m = n_active
    return pairs, heights


@njit(cache=True, nogil=True)
def in_order(pairs: Array, heights: Array, n: int) -> Any:  # pragma: no cover - compiled
    """Merges in SciPy's form, of pairs of leaves in growing order of height: two clusters, height, leaves inside."""
    merges = np.empty((n - 1, 4))
    parent = np.arange(2 * n - 1)
    size = np.ones(2 * n - 1)
    for t in range(n - 1):
        roots = np.empty(2, np.int64)
        for side in range(2):
            node = pairs[t, side]
            root = node
            while parent[root] != root:
                root = parent[root]
            while parent[node] != root and node != root:
                parent[node], node = root, parent[node]
            roots[side] = root
        a, b = min(roots[0], roots[1]), max(roots[0], roots[1])
        parent[a] = parent[b] = n + t
        size[n + t] = size[a] + size[b]
        merges[t, 0], merges[t, 1], merges[t, 2], merges[t, 3] = a, b, heights[t], size[n + t]
    return merges


@njit(cache=True, nogil=True)
def spans(merges: Array) -> Any:  # pragma: no cover - compiled
    """Leaves in an order in which every cluster is contiguous; start and size of each of the 2m − 1 clusters."""
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
def after(merges: Array, done: int) -> Any:  # pragma: no cover - compiled
    """The cluster of every leaf after the first `done` merges: the number of its node."""
    m = merges.shape[0] + 1
    cluster = np.arange(m + done)
    for t in range(done - 1, -1, -1):
        cluster[int(merges[t, 0])] = cluster[m + t]
        cluster[int(merges[t, 1])] = cluster[m + t]
    return cluster[:m].copy()
