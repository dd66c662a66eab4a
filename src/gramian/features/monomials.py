"""Products of neighbouring runs of terms: the loops of `PolynomialFeatures`."""

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.types import Array, Ints


@njit(nogil=True, cache=True)
def expand_dense(X: Array, first: Ints, bias: int, skip: int, begin: int, out: Array) -> None:
    """Write all terms of every row of X; columns before `begin`, but for the bias, are formed and not kept."""
    top, d = first.shape[0] - 1, X.shape[1]
    whole = begin == bias
    work = np.empty(1 if whole else max(first[top, d], bias), X.dtype)
    for i in range(X.shape[0]):
        row = out[i] if whole else work
        if bias:
            row[0] = 1
        if d == 1:  # powers of one number need no look back
            power = X[i, 0]
            for degree in range(top):
                row[bias + degree] = power
                power *= X[i, 0]
        elif top > 0:
            for j in range(d):
                row[bias + j] = X[i, j]
        for degree in range(2, top + 1 if d > 1 else 0):
            end = first[degree - 1, d]
            for j in range(d):
                x, start, to = X[i, j], first[degree - 1, j + skip], first[degree, j]
                for step in range(end - start):
                    row[to + step] = row[start + step] * x
        if not whole:
            if bias:
                out[i, 0] = 1
            for column in range(begin, first[top, d]):
                out[i, column - begin + bias] = work[column]


@njit(nogil=True, cache=True)
def expand_sparse(
    data: Array,
    indices: Array,
    indptr: Array,
    first: Ints,
    bias: int,
    skip: int,
    begin: int,
    room: int,
    out: Array,
    places: Array,
) -> None:
    """The same for CSR rows: only products of stored numbers are formed, in at most `room` places per row."""
    top = first.shape[0] - 1
    work = np.empty(room, data.dtype)
    columns = np.empty(room, np.int64)
    heads = np.empty(room + 1, np.int64)
    filled = 0
    for i in range(indptr.size - 1):
        stored = indptr[i + 1] - indptr[i] if top > 0 else 0
        if bias:
            work[0] = 1
            columns[0] = 0
        end = bias
        for e in range(stored):
            work[end] = data[indptr[i] + e]
            columns[end] = first[1, indices[indptr[i] + e]]
            heads[e] = end
            end += 1
        for degree in range(2, top + 1):
            last = end
            heads[stored] = last
            for e in range(stored):
                feature = indices[indptr[i] + e]
                x = data[indptr[i] + e]
                move = first[degree, feature] - first[degree - 1, feature + skip]
                start = heads[e + skip]
                heads[e] = end
                for u in range(start, last):
                    work[end] = work[u] * x
                    columns[end] = columns[u] + move
                    end += 1
        for u in range(end):
            if u < bias:
                out[filled] = work[u]
                places[filled] = columns[u]
                filled += 1
            elif columns[u] >= begin:
                out[filled] = work[u]
                places[filled] = columns[u] - begin + bias
                filled += 1
