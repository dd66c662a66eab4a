"""Distances between rows in units of a length scale: a matrix product, and differences where it would lose digits."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Compiled loops are imported where they run: who only names a kernel needs no compiler.
from gramian.kernels.points import Vectors, inner, refuse_other_columns, square_norms
from gramian.rows import single_threaded_blas

Floats = NDArray[np.float64]

FAR = 2.0**500  # coordinates are cut off here, so that squares stay finite; such pairs are computed from differences
TOLERANCE = 1e-11  # error of a kernel's value that is left to the product
MEDIAN_ROWS = 1000


def gaussian(A: Vectors, B: Vectors, scale: Floats) -> Floats:
    """exp(−Σ ((x − x') / scale)²)."""
    from gramian.kernels.loops import gaussian_into

    A, U, a, V, b = _in_units(A, B, scale)
    bound = _error(A.d, a, b)
    if bound <= TOLERANCE:
        G = np.ascontiguousarray(inner(U, V))
        gaussian_into(G, a, b)
        return G
    D = _squares(A, B, scale, U, a, V, b, bound + np.log(bound / TOLERANCE))
    return exponential(np.negative(D, out=D))


def gaussian_times(A: Vectors, B: Vectors, scale: Floats, weight: Floats) -> Floats | None:
    """Σ_j weight_j exp(−Σ ((x − x_j) / scale)²); None where the matrix itself must be made."""
    from gramian.kernels.sums import MOST_COLUMNS, gaussian_sums

    if B.is_sparse or B.d > MOST_COLUMNS:
        return None
    A, U, a, V, b = _in_units(A, B, scale)
    if _error(A.d, a, b) > TOLERANCE:
        return None
    found = gaussian_sums(U, a, V, b, weight[:, None] if weight.ndim == 1 else weight)
    return found[:, 0] if weight.ndim == 1 else found


def gaussian_times_among(A: Vectors, scale: Floats, weight: Floats) -> Floats | None:
    """The same over the rows of A itself."""
    from gramian.kernels.sums import MOST_COLUMNS, gaussian_sums_among

    if A.is_sparse or A.d > MOST_COLUMNS:
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
    from gramian.kernels.loops import city_block, sparse_differences

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
    """exp(D) in place, for numbers that are not positive."""
    from gramian.kernels.loops import exp_rows

    exp_rows(D)
    return D


def median_distance(A: Vectors, distance: Callable[[Vectors, Vectors, Floats], Floats]) -> float:
    """Median of the positive distances between at most 1000 rows, spread evenly; 1 where there is none."""
    n = len(A)
    some = A[np.linspace(0, n - 1, min(n, MEDIAN_ROWS)).astype(np.int64)]
    values = some.X.data if some.is_sparse else some.X
    largest = float(np.abs(values).max()) if values.size else 0.0
    if largest == 0:
        return 1.0
    unit = 2.0 ** min(int(np.frexp(largest)[1]), 1023)
    with single_threaded_blas():
        D = distance(Vectors(some.X), Vectors(some.X), np.array([unit]))
    found = D[np.triu_indices(len(some), 1)]
    found = found[found > 0]
    with np.errstate(over="ignore"):
        return float(np.clip(np.median(found) * unit, 2.0**-1022, np.finfo(float).max)) if found.size else 1.0


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
            U.data = np.clip(U.data, -FAR, FAR)
        else:
            with np.errstate(over="ignore"):
                U = np.clip((rows.X - shift) / scale, -FAR, FAR)
        return U, square_norms(U)

    key = ("units", scale.tobytes(), shift.tobytes())
    return (A, *A.made(key, make), *B.made(key, make))


def mean_row(X: Floats) -> Floats:
    """The mean of the rows, of numbers of any size."""
    return np.asarray((X / len(X)).sum(axis=0))


def _error(d: int, a: Floats, b: Floats) -> float:
    """A bound on the rounding of a + b − 2G."""
    return float((8.0 + np.sqrt(d)) * np.finfo(np.float64).eps * (a.max(initial=0.0) + b.max(initial=0.0)))


def _squares(
    A: Vectors, B: Vectors, scale: Floats, U: Any, a: Floats, V: Any, b: Floats, below: float
) -> NDArray[np.float64]:
    """Squared distances; those below a threshold from differences of the rows."""
    from gramian.kernels.loops import from_differences, sparse_differences

    D = np.ascontiguousarray(inner(U, V))
    D *= -2.0
    D += a[:, None]
    D += b
    np.maximum(D, 0.0, out=D)
    inverse = _inverse(scale, B.d)
    if B.is_sparse:
        sparse_differences(*_csr(A.X), *_csr(B.X), inverse, True, below, D)
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
