"""Sums of Gaussian kernels over many points, whose matrix is never kept: product, exponential and sum in one loop."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.exponential import exp_here, exp_single_here
from gramian._core.types import Floats
from gramian.rows import parallel_map

MAX_COLUMNS = 128  # beyond, a matrix product of its own is as fast
TILE = 512  # points summed over at once: their coordinates stay in the cache
PANEL_ROWS = 256  # rows of one task
PARTS = 8  # of a triangle, each with sums of its own: the same for any number of threads


def gaussian_sums(U: Any, a: Any, V: Any, b: Any, weight: Any) -> Floats:
    """Σ_j weight_j exp(2 u·v_j − a − b_j) for every row u, (n, t); in single precision where U is.

    The same bits for any number of threads: a row's sum is added up in the order of the points.
    """
    columns = np.ascontiguousarray(2.0 * V.T, dtype=U.dtype)
    w = np.ascontiguousarray(weight.T, dtype=U.dtype)
    out = np.zeros((len(U), len(w)))
    U = np.ascontiguousarray(U)

    def panel(start: int) -> None:
        _rows(U, a, columns, b, w, out, _bits(U), start, min(start + PANEL_ROWS, len(U)))

    parallel_map(panel, range(0, len(U), PANEL_ROWS))
    return out


def gaussian_sums_among(U: Any, a: Any, weight: Floats) -> Floats:
    """Σ_j weight_j exp(2 u·u_j − a − a_j) for every row u of U itself, (n,): pairs of rows with a weight once."""
    some, rest = np.flatnonzero(weight), np.flatnonzero(weight == 0)
    S, b, w = np.ascontiguousarray(U[some]), a[some], weight[some].astype(U.dtype)
    columns = np.ascontiguousarray(2.0 * S.T)
    panels = -(-len(S) // PANEL_ROWS)
    ends = [round(panels * (1.0 - np.sqrt(1.0 - i / PARTS))) for i in range(PARTS + 1)]  # equal areas
    sums = np.zeros((PARTS, len(S)))

    def part(i: int) -> None:
        _triangle(S, b, columns, w, sums[i], _bits(S), ends[i] * PANEL_ROWS, min(ends[i + 1] * PANEL_ROWS, len(S)))

    parallel_map(part, range(PARTS))
    out = np.empty(len(U))
    out[some] = sums.sum(axis=0)
    out[rest] = gaussian_sums(U[rest], a[rest], S, b, w[:, None])[:, 0]
    return out


def _bits(U: Any) -> Any:
    """Memory for an exponential in the precision of U."""
    return np.empty(TILE, dtype=np.int32 if U.dtype == np.float32 else np.int64)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _products(x: Any, y: Any, V: Any, first: int, width: int, p: Any, q: Any) -> None:  # pragma: no cover - compiled
    """p = x·v and q = y·v for `width` columns of V; four coordinates at a time, so that sums stay in registers."""
    for j in range(width):
        p[j] = 0
        q[j] = 0
    d, c = len(x), 0
    while c + 4 <= d:
        x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
        y0, y1, y2, y3 = y[c], y[c + 1], y[c + 2], y[c + 3]
        v0, v1 = V[c, first : first + width], V[c + 1, first : first + width]
        v2, v3 = V[c + 2, first : first + width], V[c + 3, first : first + width]
        for j in range(width):
            z0, z1, z2, z3 = v0[j], v1[j], v2[j], v3[j]
            p[j] += x0 * z0 + x1 * z1 + x2 * z2 + x3 * z3
            q[j] += y0 * z0 + y1 * z1 + y2 * z2 + y3 * z3
        c += 4
    while c < d:
        v = V[c, first : first + width]
        x0, y0 = x[c], y[c]
        for j in range(width):
            z0 = v[j]
            p[j] += x0 * z0
            q[j] += y0 * z0
        c += 1


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _dot(k: Any, w: Any, width: int) -> Any:  # pragma: no cover - compiled
    total = k[0] * w[0]
    for j in range(1, width):
        total += k[j] * w[j]
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _shift(k: Any, shift: Any, b: Any, width: int) -> None:  # pragma: no cover - compiled
    for j in range(width):
        k[j] = k[j] - shift - b[j]


def exp_in_place(x: Any, n: int, bits: Any) -> None:
    """x = exp(x) of the first n, in the precision of x; `bits` is memory for as many whole numbers of its size."""
    (exp_single_here if x.dtype == np.float32 else exp_here)(x, n, bits)


@overload(exp_in_place)
def _exp_in_place(x: Any, n: Any, bits: Any) -> Any:
    def single(x: Any, n: Any, bits: Any) -> Any:  # pragma: no cover - compiled
        exp_single_here(x, n, bits)

    def double(x: Any, n: Any, bits: Any) -> Any:  # pragma: no cover - compiled
        exp_here(x, n, bits)

    return single if x.dtype == types.float32 else double


@njit(cache=True, nogil=True)
def _rows(
    U: Any, a: Any, V: Any, b: Any, w: Any, out: Any, bits: Any, start: int, stop: int
) -> None:  # pragma: no cover - compiled
    p, q = np.empty(TILE, dtype=U.dtype), np.empty(TILE, dtype=U.dtype)
    for first in range(0, V.shape[1], TILE):
        width = min(TILE, V.shape[1] - first)
        part = b[first : first + width]
        for i in range(start, stop, 2):
            other = min(i + 1, stop - 1)
            _products(U[i], U[other], V, first, width, p, q)
            _shift(p, a[i], part, width)
            exp_in_place(p, width, bits)
            for t in range(len(w)):
                out[i, t] += _dot(p, w[t, first : first + width], width)
            if other > i:
                _shift(q, a[other], part, width)
                exp_in_place(q, width, bits)
                for t in range(len(w)):
                    out[other, t] += _dot(q, w[t, first : first + width], width)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add(sums: Any, w: Any, k: Any, width: int) -> None:  # pragma: no cover - compiled
    for j in range(width):
        sums[j] += w * k[j]


@njit(cache=True, nogil=True)
def _triangle(
    U: Any, a: Any, V: Any, w: Any, sums: Any, bits: Any, start: int, stop: int
) -> None:  # pragma: no cover - compiled
    p, q, mirror = np.empty(TILE, dtype=U.dtype), np.empty(TILE, dtype=U.dtype), np.empty(TILE, dtype=U.dtype)
    for top in range(start, stop, PANEL_ROWS):
        end = min(top + PANEL_ROWS, len(U))
        first = top
        while first < len(U):
            last = end if first == top else min(first + TILE, len(U))
            width, part = last - first, a[first:last]
            mirror[:width] = 0
            for i in range(top, end, 2):
                other = min(i + 1, end - 1)
                _products(U[i], U[other], V, first, width, p, q)
                _shift(p, a[i], part, width)
                exp_in_place(p, width, bits)
                sums[i] += _dot(p, w[first:last], width)
                _add(mirror, w[i], p, width)
                if other > i:
                    _shift(q, a[other], part, width)
                    exp_in_place(q, width, bits)
                    sums[other] += _dot(q, w[first:last], width)
                    _add(mirror, w[other], q, width)
            if first > top:
                for j in range(width):
                    sums[first + j] += mirror[j]
            first = last
