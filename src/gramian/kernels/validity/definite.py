"""Whether a given matrix is symmetric positive semi-definite: a proof, an exact counter-example, or neither.

Columns may have units far apart, so a matrix is judged in units of its diagonal. A proof is Rump's (2006): the Cholesky
decomposition of the matrix less a bound on its own rounding errors runs to completion. A counter-example is a vector v
with vᵀMv < 0 in exact arithmetic. Small matrices between the two are decided by elimination in integers.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from gramian._core.types import Floats
from gramian.rows import single_threaded_blas

EPS = float(np.finfo(np.float64).eps)
UNDERFLOW = float(np.finfo(np.float64).tiny)
ROUNDING = 1e-10  # in units of the diagonal: what a matrix given by hand may lack in symmetry and sign
MAX_EXACT_ROWS = 48  # of a matrix that is eliminated in integers
MAX_EXACT_BITS = 20_000  # of the largest of these integers
MAX_EXACT_PRODUCTS = 200**2  # of a quadratic form that is evaluated in integers


@dataclass(frozen=True, eq=False)
class Definiteness:
    """What is known of a matrix being symmetric positive semi-definite.

    `semidefinite` is None where neither is shown. `pair` are the indices of unequal entries M[i, j] ≠ M[j, i]; `vector`
    has vᵀMv = `value` < 0, exactly before `value` is rounded. `smallest` is the smallest eigenvalue in units of the
    diagonal, −1 for a negative diagonal entry, a bound below it where there is a proof; `asymmetry` is the largest
    |M[i, j] − M[j, i]| in these units.
    """

    semidefinite: bool | None
    smallest: float
    asymmetry: float = 0.0
    pair: tuple[int, int] | None = None
    vector: Floats | None = None
    value: float = 0.0

    def refuted_beyond(self, rounding: float) -> bool:
        """Whether it is shown not to be semi-definite, by more than such a share of the diagonal."""
        return self.semidefinite is False and (self.smallest < -rounding or self.asymmetry > rounding)


def definiteness(M: Floats) -> Definiteness:
    """Judge a square matrix of finite numbers. O(n³)."""
    size = _sizes(M)
    if (M != M.T).any():
        with np.errstate(over="ignore"):
            gap = np.minimum(np.abs(0.5 * M - 0.5 * M.T) / size[:, None] / size, 1e300)
        gap = np.where(M != M.T, np.maximum(2.0 * gap, UNDERFLOW), 0.0)
        i, j = (int(k) for k in np.unravel_index(gap.argmax(), gap.shape))
        return Definiteness(False, definiteness(0.5 * M + 0.5 * M.T).smallest, float(gap[i, j]), (i, j))
    diagonal = np.diagonal(M)
    negative = np.flatnonzero(diagonal < 0)
    if len(negative):
        i = int(diagonal.argmin())
        return _refuted(M, -1.0, np.eye(1, len(M), i)[0])
    for zero in np.flatnonzero(diagonal == 0):
        if M[zero].any():
            return _refuted(M, -1.0, _beside_zero(M, int(zero), int(np.abs(M[zero] / size).argmax())))
    positive = np.flatnonzero(diagonal > 0)
    if not len(positive):
        return Definiteness(True, 0.0)
    verdict = _of_positive_diagonal(M[np.ix_(positive, positive)])
    if verdict.vector is None:
        return verdict
    vector = np.zeros(len(M))
    vector[positive] = verdict.vector
    return Definiteness(False, verdict.smallest, vector=vector, value=verdict.value)


def undecided(name: str, smallest: float) -> str:
    """Why neither a proof nor a counter-example is given."""
    return (
        f"{name} is symmetric, and its smallest eigenvalue ({smallest:.2g} in units of the diagonal) is too near 0 for "
        "double precision to tell whether it is negative"
    )


def smallest_share(K: Floats) -> float:
    """The smallest eigenvalue of the symmetric part as a share of the largest in size: what rounding is compared with.

    For matrices that were computed, whose errors are shares of their largest entries.
    """
    largest = float(np.abs(K).max(initial=0.0))
    if not largest > 0:
        return 0.0
    values = np.linalg.eigvalsh(_without_tiny(0.5 * (K / largest) + 0.5 * (K.T / largest)))
    return float(values[0]) / float(np.abs(values).max())


def _without_tiny(K: Floats) -> Floats:
    """Entries far below rounding set to zero: their products would be subnormal, which is slow."""
    return np.asarray(np.where(np.abs(K) < 1e-25, 0.0, K))


def _sizes(M: Floats) -> Floats:
    """√|diagonal|; for zeros on it, what the largest entry of the column leaves beside the others."""
    size = np.sqrt(np.abs(np.diagonal(M)))
    return np.asarray(np.where(size > 0, size, np.sqrt(np.abs(M).max(axis=0, initial=0.0)) + (M == 0).all(axis=0)))


def _of_positive_diagonal(M: Floats) -> Definiteness:
    n = len(M)
    power = _half_exponents(M)
    C = _congruent(M, power)
    if np.abs(C).max() > 2.0:
        i, j = np.unravel_index(np.abs(C).argmax(), C.shape)
        v = np.zeros(n)
        v[i], v[j] = 1.0, -np.sign(C[i, j])
        unit = np.sqrt(np.diagonal(C))
        return _refuted(M, float(max(1.0 - np.abs(C[i, j]) / unit[i] / unit[j], -1e300)), np.ldexp(v, -power))
    bound = _proved_bound(C)
    if bound > 0:
        return Definiteness(True, bound)
    unit = np.sqrt(np.diagonal(C))
    with single_threaded_blas():
        scaled = C / unit[:, None] / unit
        smallest = float(np.linalg.eigvalsh(scaled)[0])
        if smallest < (0.0 if n**2 <= MAX_EXACT_PRODUCTS else -4 * n * EPS):
            vector = sl.eigh(scaled, subset_by_index=[0, 0])[1][:, 0]
            shown = _refuted(M, smallest, np.ldexp(vector / unit, -power))
            if shown.semidefinite is False:
                return shown
    exact = _eliminated(M, power)
    if exact is None:
        return Definiteness(None, smallest)
    if isinstance(exact, bool):
        return Definiteness(True, max(smallest, 0.0))
    return _refuted(M, min(smallest, -UNDERFLOW), exact)


def _half_exponents(M: Floats) -> NDArray[np.int32]:
    return np.asarray(np.frexp(np.diagonal(M))[1] // 2, dtype=np.int32)


def _congruent(M: Floats, power: NDArray[np.int32]) -> Floats:
    """2^−power M 2^−power, exact but for underflow: a diagonal in [½, 2)."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(M, -power[:, None] - power))


def _proved_bound(C: Floats) -> float:
    """A positive number that every eigenvalue of C exceeds; 0 where there is no proof.

    It bounds the rounding errors of Cholesky on C, which succeeds on C less twice the bound.
    """
    n = len(C)
    gamma = (n + 4) * EPS / (1.0 - (n + 4) * EPS)  # twice the unit roundoff: for the shift and the trace as well
    bound = gamma * float(np.trace(C)) + 4.0 * n * (n + 2) * UNDERFLOW
    shifted = C.copy()
    shifted[np.diag_indices(n)] -= 2.0 * bound
    try:
        with single_threaded_blas():
            np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return 0.0
    return bound / 2.0


def _refuted(M: Floats, smallest: float, vector: Floats) -> Definiteness:
    """Not semi-definite where the eigenvector of M or the vector given shows it exactly; else unknown."""
    with single_threaded_blas():
        first = sl.eigh(_without_tiny(M / np.abs(M).max()), subset_by_index=[0, 0])[1][:, 0]
    shown = _verified(M, first) or _verified(M, vector)
    if shown is None:
        return Definiteness(None, smallest)
    return Definiteness(False, smallest, vector=shown[0], value=shown[1])


def _verified(M: Floats, vector: Floats) -> tuple[Floats, float] | None:
    """The vector with length one and vᵀMv, if that is negative in exact arithmetic."""
    scaled = np.ldexp(vector, -int(np.frexp(np.abs(vector).max())[1]))
    for v in (scaled / np.linalg.norm(scaled), scaled):
        support = np.flatnonzero(v)
        if len(support) ** 2 > MAX_EXACT_PRODUCTS:
            value = _bounded_form(M, v) if (np.diagonal(M) > 0).all() else 0.0
        else:
            exact = _exact_form(M[np.ix_(support, support)], v[support])
            value = _nearest(exact) if exact < 0 else 0.0
        if value < 0:
            return v, value
    return None


def _exact_form(M: Floats, v: Floats) -> Fraction:
    """vᵀMv: products of integers with a common exponent."""
    mantissa, exponent = np.frexp(v)
    least = int(exponent.min())
    whole = [int(m * 2**53) << int(e - least) for m, e in zip(mantissa, exponent, strict=True)]
    entries, power = _integers(M)
    total = sum(
        (row[i] * x * x + 2 * x * sum(row[j] * whole[j] for j in range(i)))
        for i, (row, x) in enumerate(zip(entries, whole, strict=True))
    )
    shift = power + 2 * (least - 53)
    return Fraction(total << shift) if shift >= 0 else Fraction(total, 1 << -shift)


def _integers(M: Floats) -> tuple[list[list[int]], int]:
    """Integers E and a power p with M = E · 2^p, exactly."""
    mantissa, exponent = np.frexp(M)
    whole = np.asarray(mantissa * 2.0**53, dtype=np.int64)
    least = int(exponent[whole != 0].min()) if whole.any() else 0
    shift = np.where(whole != 0, exponent - least, 0)
    return [
        [int(w) << int(s) for w, s in zip(row, by, strict=True)] for row, by in zip(whole, shift, strict=True)
    ], least - 53


def _nearest(value: Fraction) -> float:
    """The negative number in doubles; never rounded to zero or infinity."""
    largest = float(np.finfo(np.float64).max)
    if -value > Fraction(largest):
        return -largest
    return min(float(value), -5e-324)


def _bounded_form(M: Floats, v: Floats) -> float:
    """vᵀMv plus a bound on its rounding errors, computed in units of the diagonal, which is positive."""
    power = _half_exponents(M)
    C, v = _congruent(M, power), np.ldexp(v, power)
    absolute = float(np.abs(v) @ (np.abs(C) @ np.abs(v)))
    return float(v @ (C @ v)) + (2 * len(v) + 4) * EPS * absolute + 4.0 * len(v) ** 2 * UNDERFLOW


def _eliminated(M: Floats, power: NDArray[np.int32]) -> bool | Floats | None:
    """Exact: True if semi-definite, else a vector whose form is negative before rounding; None where it costs too much.

    Bareiss' fraction-free elimination: the entries of every step are minors of the matrix.
    """
    n = len(M)
    if n > MAX_EXACT_ROWS:
        return None
    whole = [
        [Fraction(x) / Fraction(2) ** int(p + q) for x, q in zip(row, power, strict=True)]
        for row, p in zip(M, power, strict=True)
    ]
    common = max(x.denominator for row in whole for x in row)
    A = [[int(x * common) for x in row] for row in whole]
    if n * max(abs(x).bit_length() for row in A for x in row) > MAX_EXACT_BITS:
        return None
    last = 1
    pivots: list[int] = []
    rows: list[list[int]] = []
    waiting = list(range(n))
    while waiting:
        i = max(waiting, key=lambda k: A[k][k])
        negative = [k for k in waiting if A[k][k] < 0]
        if negative:
            v = _extended(rows, pivots, {negative[0]: Fraction(1)})
            return _doubles(v, n, power)
        if A[i][i] == 0:
            for k in waiting:
                for m in waiting:
                    if A[k][m]:  # of a zero diagonal
                        v = _extended(rows, pivots, {k: Fraction(1), m: Fraction(-1 if A[k][m] > 0 else 1)})
                        return _doubles(v, n, power)
            return True
        pivot, row = A[i][i], A[i]
        waiting.remove(i)
        for k in waiting:
            factor = A[k][i]
            A[k] = [
                (pivot * x - factor * y) // last if m in waiting else x
                for m, (x, y) in enumerate(zip(A[k], row, strict=True))
            ]
        pivots.append(i)
        rows.append(row)
        last = pivot
    return True


def _extended(rows: list[list[int]], pivots: list[int], v: dict[int, Fraction]) -> dict[int, Fraction]:
    """The vector completed on the pivots so that its form is that of the Schur complement."""
    for i, row in reversed(list(zip(pivots, rows, strict=True))):
        v[i] = -sum((row[k] * x for k, x in v.items()), Fraction(0)) / row[i]
    return v


def _doubles(v: dict[int, Fraction], n: int, power: NDArray[np.int32]) -> Floats:
    largest = max(abs(x) for x in v.values())
    numbers = np.zeros(n)
    for i, x in v.items():
        numbers[i] = float(x / largest)
    return np.ldexp(numbers, -power)


def _beside_zero(M: Floats, i: int, j: int) -> Floats:
    """v on i, where the diagonal is zero, and j: v_j² M_jj + 2 v_i v_j M_ij < 0."""
    v = np.zeros(len(M))
    apart = max(int(np.frexp(M[j, j])[1]) - int(np.frexp(M[i, j])[1]) + 1, 0) if M[j, j] > 0 else 0
    v[i] = -np.sign(M[i, j]) * 2.0 ** (apart // 2)
    v[j] = 2.0 ** (apart // 2 - apart)
    return v
