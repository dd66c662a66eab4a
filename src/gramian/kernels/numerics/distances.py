"""Distances between rows in units of a length scale: a matrix product, and differences where it would lose digits."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Ints
from gramian._core.weights import weights_or_ones

# Compiled loops are imported where they run: who only names a kernel needs no compiler.
from gramian.kernels.points import Vectors, inner, refuse_other_columns, square_norms
from gramian.rows import single_threaded_blas

MAX_COORDINATE = (
    2.0**500
)  # coordinates are cut off here, so that squares stay finite; such pairs are computed from differences
TOLERANCE = 1e-11  # error of a kernel's value that is left to the product
MEDIAN_ROWS = 1000
MEDIAN_TIE = 1e-12  # of the weight: a median this near to between two values is their mean


def gaussian(A: Vectors, B: Vectors, scale: Floats) -> Floats:
    """exp(−Σ ((x − x') / scale)²)."""
    A, U, a, V, b = _in_units(A, B, scale)
    bound = _error(A.d, a, b)
    if bound <= TOLERANCE:
        G = np.ascontiguousarray(inner(U, V))
        if is_small(G.size):
            np.subtract(2.0 * G, a[:, None] + b, out=G)
            return exponential(np.minimum(G, 0.0, out=G))
        from gramian.kernels.numerics.loops import gaussian_into

        gaussian_into(G, a, b)
        return G
    D = _squares(A, B, scale, U, a, V, b, bound + np.log(bound / TOLERANCE))
    return exponential(np.negative(D, out=D))


def gaussian_times(A: Vectors, B: Vectors, scale: Floats, weight: Floats) -> Floats | None:
    """Σ_j weight_j exp(−Σ ((x − x_j) / scale)²); None where the matrix itself must be made."""
    from gramian.kernels.numerics.sums import MAX_COLUMNS, gaussian_sums

    if B.is_sparse or B.d > MAX_COLUMNS or is_small(len(A) * len(B)):
        return None
    A, U, a, V, b = _in_units(A, B, scale)
    if _error(A.d, a, b) > TOLERANCE:
        return None
    sums = gaussian_sums(U, a, V, b, weight[:, None] if weight.ndim == 1 else weight)
    return sums[:, 0] if weight.ndim == 1 else sums


def gaussian_times_among(A: Vectors, scale: Floats, weight: Floats) -> Floats | None:
    """The same over the rows of A itself."""
    from gramian.kernels.numerics.sums import MAX_COLUMNS, gaussian_sums_among

    if A.is_sparse or A.d > MAX_COLUMNS or is_small(len(A) ** 2):
        return None
    A, U, a, *_ = _in_units(A, A, scale)
    return None if _error(A.d, a, a) > TOLERANCE else gaussian_sums_among(U, a, weight)


def distances(A: Vectors, B: Vectors, scale: Floats) -> Floats:
    """√Σ ((x − x') / scale)²; near pairs from their differences, for a root doubles the digits that are lost."""
    A, U, a, V, b = _in_units(A, B, scale)
    D = _squares(A, B, scale, U, a, V, b, min(_error(A.d, a, b) / (2 * TOLERANCE), 1e150) ** 2)
    return np.sqrt(D, out=D)


def city_distances(A: Vectors, B: Vectors, scale: Floats) -> Floats:
    """Σ |x − x'| / scale."""
    from gramian.kernels.numerics.loops import city_block, sparse_differences

    refuse_other_columns(A, B)
    A = A.like(B)
    D = np.zeros((len(A), len(B)))
    inverse = _inverse(scale, B.d)
    if B.is_sparse:
        sparse_differences(*_csr(A.X), *_csr(B.X), inverse, False, np.inf, D)
    else:
        (columns,) = B.home.made("columns", lambda home: (np.ascontiguousarray(home.X.T),))
        part = columns if B.where is None else np.ascontiguousarray(columns[:, B.where])
        city_block(np.ascontiguousarray(A.X), part, inverse, D)
    return D


def exponential(D: Floats) -> Floats:
    """exp(D) in place, for numbers that are not positive; the least that is told from 0 is exp(−708)."""
    if is_small(D.size):
        np.maximum(D, -708.0, out=D)
        return np.exp(D, out=D)
    from gramian.kernels.numerics.loops import exp_rows

    exp_rows(D)
    return D


def median_distance(
    A: Vectors, distance: Callable[[Vectors, Vectors, Floats], Floats], weight: Floats | None = None
) -> float:
    """Median of the positive distances between at most 1000 distinct rows, spread evenly; 1 where there is none.

    A pair counts with the product of its weights, as it would if rows were repeated.
    """
    index, weight = distinct_rows(A, weight, MEDIAN_ROWS)
    sample = A[index]
    values = sample.X.data if sample.is_sparse else sample.X
    largest = float(np.abs(values).max()) if values.size else 0.0
    if largest == 0:
        return 1.0
    unit = 2.0 ** min(int(np.frexp(largest)[1]), 1023)
    with single_threaded_blas():
        D = distance(Vectors(sample.X), Vectors(sample.X), np.array([unit]))
    upper = np.triu_indices(len(sample), 1)
    values, pair = D[upper], np.outer(weight, weight)[upper]
    pair = pair[values > 0]
    values = values[values > 0]
    with np.errstate(over="ignore"):
        middle = weighted_median(values, pair) * unit if values.size else 1.0
        return float(np.clip(middle, 2.0**-1022, np.finfo(float).max)) if values.size else 1.0


def weighted_median(values: Floats, weight: Floats) -> float:
    """The median of values repeated as often as their weights say, which need not be whole numbers."""
    if (weight == weight[0]).all():
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order])
    share /= share[-1]
    low = np.searchsorted(share, 0.5 - MEDIAN_TIE, side="left")
    high = np.searchsorted(share, 0.5 + MEDIAN_TIE, side="right")
    low, high = (values[order[min(int(place), len(values) - 1)]] for place in (low, high))
    return float(0.5 * low + 0.5 * high)


def distinct_rows(A: Vectors, weight: Any = None, most: int | None = None) -> tuple[Ints, Floats]:
    """Rows that count, each once, by their first appearance, with their weights added up; `most` spread evenly."""
    n = len(A)
    weight = weights_or_ones(weight, n)
    index = np.flatnonzero(weight > 0) if (weight > 0).any() else np.arange(n)
    if most is not None and len(index) <= most and len(index) == n:
        return index, weight
    keys = _row_hashes(A)[index]
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    total = np.asarray(np.bincount(place, weight[index], len(first))[order], dtype=np.float64)
    index = np.asarray(index[first[order]], dtype=np.int64)
    if most is not None and len(index) > most:
        chosen = np.linspace(0, len(index) - 1, most).astype(np.int64)
        return index[chosen], total[chosen]
    return index, total


def _row_hashes(A: Vectors) -> NDArray[np.uint64]:
    """64 bits of every row; equal rows have equal ones, and zeros are nothing, stored or not."""
    factor = np.random.default_rng(0).integers(1, 2**64, A.d, dtype=np.uint64, endpoint=False) | np.uint64(1)
    if not A.is_sparse:
        bits = np.ascontiguousarray(A.X + 0.0, dtype=np.float64).view(np.uint64)
        return np.asarray((_mixed(bits) * factor).sum(axis=1, dtype=np.uint64))
    bits = _mixed((A.X.data.astype(np.float64) + 0.0).view(np.uint64)) * factor[A.X.indices]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits, dtype=np.uint64)])
    return np.asarray(sums[A.X.indptr[1:]] - sums[A.X.indptr[:-1]])


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """High bits reach low ones, so that sums of products differ; 0 stays 0."""
    bits = bits ^ (bits >> np.uint64(32))
    bits = bits * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))


def _in_units(A: Vectors, B: Vectors, scale: Floats) -> tuple[Vectors, Any, Floats, Any, Floats]:
    """A as B is stored, and both in units of the scale, less the mean of B, with squared norms."""
    refuse_other_columns(A, B)
    if scale.size not in (1, B.d):
        raise ValueError(f"length_scale has {scale.size} numbers, and X has {B.d} columns; give one for each.")
    A = A.like(B)
    if B.is_sparse:
        shift = np.zeros(1)
    else:
        (shift,) = B.home.made("mean", lambda rows: (mean_row(rows.X),))

    def make(rows: Vectors) -> tuple[Any, Floats]:
        if rows.is_sparse:
            U = rows.X.multiply(1.0 / scale[None, :]).tocsr() if scale.size > 1 else rows.X * (1.0 / scale[0])
            U.data = np.clip(U.data, -MAX_COORDINATE, MAX_COORDINATE)
        else:
            with np.errstate(over="ignore"):
                U = np.clip((rows.X - shift) / scale, -MAX_COORDINATE, MAX_COORDINATE)
        return U, square_norms(U)

    key = ("units", scale.tobytes(), shift.tobytes())
    return (A, *A.made(key, make), *B.made(key, make))


def mean_row(X: Floats) -> Floats:
    """The mean of the rows, of numbers of any size."""
    return np.asarray((X / len(X)).sum(axis=0))


def _error(d: int, a: Floats, b: Floats) -> float:
    """A bound on the rounding of a + b − 2G."""
    return float((8.0 + np.sqrt(d)) * np.finfo(np.float64).eps * (a.max(initial=0.0) + b.max(initial=0.0)))


def _squares(A: Vectors, B: Vectors, scale: Floats, U: Any, a: Floats, V: Any, b: Floats, below: float) -> Floats:
    """Squared distances; those below a threshold from differences of the rows."""
    from gramian.kernels.numerics.loops import from_differences, sparse_differences

    D = np.ascontiguousarray(inner(U, V))
    D *= -2.0
    D += a[:, None]
    D += b
    np.maximum(D, 0.0, out=D)
    inverse = _inverse(scale, B.d)
    if B.is_sparse:
        sparse_differences(*_csr(A.X), *_csr(B.X), inverse, True, below, D)
    elif is_small(D.size):
        i, j = np.nonzero(below > D)
        squares = np.zeros(len(i))
        with np.errstate(over="ignore", invalid="ignore"):
            for x, z, unit in zip(A.X.T, B.X.T, inverse, strict=True):
                difference = (x[i] - z[j]) * unit
                squares += difference * difference
        D[i, j] = squares
    else:
        from_differences(np.ascontiguousarray(A.X), np.ascontiguousarray(B.X), inverse, below, D)
    return D


def _inverse(scale: Floats, d: int) -> Floats:
    if scale.size not in (1, d):
        raise ValueError(f"length_scale has {scale.size} numbers, and X has {d} columns; give one for each.")
    with np.errstate(over="ignore"):
        return np.clip(np.broadcast_to(1.0 / scale, d), 0.0, np.finfo(float).max).copy()


def _csr(X: Any) -> tuple[Any, Any, Any]:
    return X.data, X.indices, X.indptr
