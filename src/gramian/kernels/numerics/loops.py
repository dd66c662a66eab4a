"""Compiled loops over pairs of points."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.exponential import exp_here

CHUNK = 1024  # numbers whose exponentials are made at once


@njit(cache=True, nogil=True)
def gaussian_into(G: Any, a: Any, b: Any) -> None:  # pragma: no cover - compiled
    """G = exp(−max(a + b − 2G, 0)) in place, where G are inner products and a, b squared norms."""
    bits = np.empty(CHUNK, dtype=np.int64)
    for i in range(G.shape[0]):
        own = a[i]
        for start in range(0, G.shape[1], CHUNK):
            part, others = G[i, start : start + CHUNK], b[start : start + CHUNK]
            for j in range(len(part)):
                v = 2.0 * part[j] - (own + others[j])
                part[j] = v if v < 0.0 else 0.0
            exp_here(part, len(part), bits)


@njit(cache=True, nogil=True)
def exp_rows(G: Any) -> None:  # pragma: no cover - compiled
    """G = exp(G) in place, for numbers that are not above 700."""
    bits = np.empty(CHUNK, dtype=np.int64)
    for i in range(G.shape[0]):
        for start in range(0, G.shape[1], CHUNK):
            exp_here(G[i, start : start + CHUNK], min(CHUNK, G.shape[1] - start), bits)


@njit(cache=True, nogil=True)
def from_differences(X: Any, Z: Any, inverse: Any, below: float, D: Any) -> None:  # pragma: no cover - compiled
    """D = Σ ((x − z) · inverse)² where D is below a threshold, from the rows themselves."""
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            if D[i, j] < below:
                total = 0.0
                for c in range(X.shape[1]):
                    v = (X[i, c] - Z[j, c]) * inverse[c]
                    total += v * v
                D[i, j] = total


@njit(cache=True, nogil=True)
def city_block(X: Any, Z: Any, inverse: Any, D: Any) -> None:  # pragma: no cover - compiled
    """D = Σ |x − z| · inverse; Z has one column per row of the second set, so that the inner loop runs on vectors."""
    for i in range(D.shape[0]):
        row = D[i]
        row[:] = 0.0
        for c in range(X.shape[1]):
            x, unit, z = X[i, c], inverse[c], Z[c]
            for j in range(row.shape[0]):
                row[j] += abs(x - z[j]) * unit


@njit(cache=True, nogil=True)
def sparse_differences(
    data: Any,
    indices: Any,
    indptr: Any,
    other_data: Any,
    other_indices: Any,
    other_indptr: Any,
    inverse: Any,
    squared: bool,
    below: float,
    D: Any,
) -> None:  # pragma: no cover - compiled
    """Both distances for CSR rows with sorted columns, where D is below a threshold."""
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            if not D[i, j] < below:
                continue
            p, p_end = indptr[i], indptr[i + 1]
            q, q_end = other_indptr[j], other_indptr[j + 1]
            total = 0.0
            while p < p_end or q < q_end:
                if q >= q_end or (p < p_end and indices[p] < other_indices[q]):
                    c, v = indices[p], data[p]
                    p += 1
                elif p >= p_end or other_indices[q] < indices[p]:
                    c, v = other_indices[q], other_data[q]
                    q += 1
                else:
                    c, v = indices[p], data[p] - other_data[q]
                    p += 1
                    q += 1
                v *= inverse[c]
                total += v * v if squared else abs(v)
            D[i, j] = total


@njit(cache=True, nogil=True)
def symmetric_sums(parts: Any, degree: int, out: Any) -> None:  # pragma: no cover - compiled
    """out = Σ over sets of `degree` of the parts (d, n, m) of their products, by the recursion over the parts."""
    d, n, m = parts.shape
    sums = np.empty((degree + 1, m))
    for i in range(n):
        sums[:] = 0.0
        sums[0] = 1.0
        for c in range(d):
            row = parts[c, i]
            for k in range(min(degree, c + 1), 0, -1):
                for j in range(m):
                    sums[k, j] += sums[k - 1, j] * row[j]
        out[i] = sums[degree]
