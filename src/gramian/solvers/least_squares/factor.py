"""`Factor`: a square root of the centred Gram matrix with what else least squares needs, from moments or a triangle.

Columns are divided by powers of two, so that every one has a norm near 1: the numbers downstream do not depend on the
units of the data, to the bit.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from gramian._core.numerics.float_range import NOTHING, magnitude
from gramian._core.types import Bools, Floats, Ints
from gramian.statistics import Moments, Triangle

EPS = float(np.finfo(np.float64).eps)

MOMENTS_CARRY = 500.0  # condition number of the scaled columns up to which squaring leaves ten digits
MOST_NOISE = 1e-8
GRAM_BLIND = 1e7  # beyond it, cross-products in float64 know nothing of the smallest direction


@dataclass(eq=False)
class Factor:
    """RᵀR = the (centred, scaled) Gram matrix of the features, C = R⁻ᵀXᵀy, rest = what the features leave of yᵀy.

    Attributes
    ----------
    R : array (d, d); C : array (d, t); rest : array (t, t)
        True values are R · 2**x, C · 2**y, rest · 2**y.
    x, y : integer arrays
        Exponents of the columns.
    constant : array of bool
        Columns that do not vary by more than rounding; theirs in R are zero.
    neglected : array (d,)
        Squared norms of the columns taken as constant, as far as they vary; 0 for the others.
    mean : array (d + t,)
        Means of the columns given, zero without an intercept.
    tolerance : float
        Relative size below which a singular value of R is noise.
    extended : pair of longdouble arrays, or None
        R and C in extended precision, where the triangle had it.
    """

    R: Floats
    C: Floats
    rest: Floats
    x: Ints
    y: Ints
    constant: Bools
    neglected: Floats
    mean: NDArray[Any]
    weight: float
    tolerance: float
    through: str
    intercept: bool
    extended: tuple[NDArray[np.longdouble], NDArray[np.longdouble]] | None = None

    @property
    def d(self) -> int:
        return len(self.x)

    @cached_property
    def svd(self) -> tuple[Floats, Floats, Floats]:
        """R = U diag(s) Vᵀ over the columns that vary, as (U, s, Vᵀ)."""
        U, s, Vt = sla.svd(self.R[:, ~self.constant], full_matrices=False, lapack_driver="gesdd", check_finite=False)
        return U, s, Vt

    @cached_property
    def rank(self) -> int:
        """Independent columns among those that vary."""
        if self._sound_triangle:
            return int((~self.constant).sum())
        s = self.svd[1]
        return int((s > self.tolerance * s[0]).sum()) if s.size and s[0] > 0 else 0

    @cached_property
    def scaled_condition(self) -> float:
        """Condition number of the columns scaled to near unit norm (of the independent part)."""
        if not (~self.constant).any():
            return 1.0
        if self._sound_triangle:
            return max(1.0, 1.0 / max(self._reciprocal, EPS))
        s = self.svd[1][: max(self.rank, 1)]
        return float(s[0] / s[-1]) if s[-1] > 0 else np.inf

    @cached_property
    def _reciprocal(self) -> float:
        """Reciprocal condition number of a triangular R in the 1-norm, estimated by LAPACK in O(d²)."""
        R = self.R[:, ~self.constant]
        if R.shape[0] != R.shape[1]:
            R = R[~self.constant]
        trcon = sla.get_lapack_funcs("trcon", (R,))
        return float(trcon(R, norm="1", uplo="U", diag="N")[0])

    @cached_property
    def _sound_triangle(self) -> bool:
        """Whether R is triangular and so far from singular that its columns are surely independent."""
        keep = ~self.constant
        triangular = not np.tril(self.R, -1).any() and not self.R[:, keep][self.constant].any()
        return bool(keep.any() and triangular and self._reciprocal > 10 * self.d * self.tolerance)

    def solve(self) -> Floats:
        """Least-squares coefficients (d, t) in the given units; of minimum norm there if the rank is deficient."""
        keep = ~self.constant
        z = np.zeros((self.d, self.C.shape[1]))
        if self._sound_triangle:
            square = np.ix_(keep, keep)
            if self.extended is not None:
                z[keep] = _back_substitution(self.extended[0][square], self.extended[1][keep])
            else:
                z[keep] = sla.solve_triangular(self.R[square], self.C[keep], check_finite=False)
            return self.in_given_units(z)
        if self.rank == 0:
            return z
        U, s, Vt = self.svd
        r = self.rank
        z[keep] = Vt[:r].T @ ((U[:, :r].T @ self.C) / s[:r, None])
        if r < int(keep.sum()):
            z[keep] = _least_norm(z[keep], Vt[r:].T, self.x[keep])
        return self.in_given_units(z)

    def in_given_units(self, z: Floats) -> Floats:
        """Coefficients of the scaled columns as coefficients of the columns given."""
        return np.ldexp(z, self.y[None, :] - self.x[:, None])

    def scaled(self, coef: Floats) -> Floats:
        """The inverse of `in_given_units`."""
        return np.ldexp(coef, self.x[:, None] - self.y[None, :])

    def residual(self, coef: Floats) -> Floats:
        """Residual cross-products (t, t) of coefficients in the given units, by 2**y."""
        left = self.C - self.R @ self.scaled(coef)
        return self.rest + left.T @ left

    def inverse(self) -> Floats:
        """F (d, r) with FFᵀ the (pseudo-)inverse of the Gram matrix of the scaled columns."""
        keep = ~self.constant
        F = np.zeros((self.d, self.d))
        if self._sound_triangle:
            inverse = sla.solve_triangular(self.R[np.ix_(keep, keep)], np.eye(int(keep.sum())), check_finite=False)
            F[np.ix_(keep, keep)] = inverse
        elif self.rank:
            _, s, Vt = self.svd
            F[keep, : self.rank] = Vt[: self.rank].T / s[: self.rank]
        return F

    def condition(self) -> float:
        """Condition number of the design in the given units, with its intercept."""
        keep = ~self.constant
        shift = 1 if self.intercept else 0
        if not keep.any():
            return 1.0
        top = int(self.x[keep].max())
        with np.errstate(under="ignore", over="ignore"):
            A = np.zeros((self.R.shape[0] + shift, int(keep.sum()) + shift))
            A[shift:, shift:] = np.ldexp(self.R[:, keep], self.x[keep] - top)
            if self.intercept:
                root = np.sqrt(self.weight)
                A[0, 0] = np.ldexp(root, -top)
                A[0, 1:] = root * np.ldexp(self.mean[: self.d][keep].astype(np.float64), -top)
            s = np.array([1.0, self._reciprocal]) if A.shape[1] > 500 else sla.svdvals(A, check_finite=False)
            rank = self.rank + shift
            floor = s[min(rank, len(s)) - 1]
        return float(s[0] / floor) if floor > 0 else np.inf


def _least_norm(z: Floats, null: Floats, exponents: Ints) -> Floats:
    """Move z along the null space so that the coefficients in the given units, z · 2^−exponents, are shortest."""
    null = np.where(np.abs(null) > 1e-12, null, 0.0)  # rounding, which other units would magnify
    with np.errstate(over="ignore", under="ignore"):
        scale = np.ldexp(1.0, np.clip(exponents.min() - exponents, -1000, 0))[:, None]
    order = np.argsort(-scale[:, 0], kind="stable")
    # Rows sorted by size and pivoted columns keep QR accurate when the units differ by many powers of ten.
    Q, R, pivots = sla.qr((scale * null)[order], mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diagonal(R))
    good = size > 1e-300
    step = np.zeros((null.shape[1], z.shape[1]))
    k = int(good.sum())
    step[pivots[:k]] = sla.solve_triangular(R[:k, :k], Q[:, :k].T @ (scale * z)[order], check_finite=False)
    return z - null @ step


def _back_substitution(R: NDArray[np.longdouble], C: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    z = np.zeros_like(C)
    for j in range(len(R) - 1, -1, -1):
        z[j] = (C[j] - R[j, j + 1 :] @ z[j + 1 :]) / R[j, j]
    return z


def factor_of_triangle(triangle: Triangle, *, intercept: bool) -> Factor:
    """The factor that a triangle holds."""
    d, t = triangle.d, triangle.t
    exact = triangle.centred() if intercept else triangle.about_zero()
    exponents = _balance(np.linalg.norm(exact.astype(np.float64), axis=0))
    exact = np.ldexp(exact, -exponents)
    R = exact.astype(np.float64)
    total = triangle.exponents + exponents
    # What rounding of the column itself leaves is not variation: half a unit in the last place of a value, per row.
    offset = np.ldexp(np.abs(triangle.mean), -total)[:d] if intercept else np.zeros(d)
    norms = np.linalg.norm(R, axis=0)[:d]
    constant = norms <= 2 * triangle.precision * offset * np.sqrt(triangle.weight)
    top = R[:d, :d].copy()
    top[:, constant] = 0.0
    return Factor(
        R=top,
        C=R[:d, d:].copy(),
        rest=R[d:, d:].T @ R[d:, d:],
        x=total[:d],
        y=total[d:],
        constant=constant,
        neglected=np.where(constant, norms**2, 0.0),
        mean=triangle.exact_mean if intercept else np.zeros(d + t),
        weight=triangle.weight,
        tolerance=_noise(np.linalg.norm(top, axis=0), offset, triangle.weight, triangle.precision),
        through="triangle",
        intercept=intercept,
        extended=(exact[:d, :d], exact[:d, d:]) if exact.dtype == np.longdouble else None,
    )


@dataclass(eq=False)
class Quadratic:
    """The Gram matrix G, B = Xᵀy and yᵀy of the (centred) columns divided by 2**x and 2**y: norms in [½, 1)."""

    G: Floats
    B: Floats
    yy: Floats
    x: Ints
    y: Ints
    constant: Bools
    neglected: Floats
    mean: Floats
    weight: float
    noise: float
    intercept: bool

    @property
    def d(self) -> int:
        return len(self.x)


def quadratic(moments: Moments, *, intercept: bool) -> Quadratic:
    """What least squares with any penalty needs of moments."""
    d = moments.d
    sums = moments if intercept else moments.second_moments()
    exponents = _balance(np.sqrt(np.diagonal(sums.scaled)))
    G = np.ldexp(np.ldexp(sums.scaled, -exponents[:, None]), -exponents[None, :])
    spread = np.sqrt(np.diagonal(G))[:d]
    offset = np.ldexp(np.abs(moments.mean), -sums.exponents - exponents)[:d] if intercept else np.zeros(d)
    # What rounding of the column itself leaves is not variation: half a unit in the last place of a value, per row.
    constant = spread <= 2 * moments.precision * offset * np.sqrt(moments.weight)
    G[:d][constant] = 0.0
    G[:, :d][:, constant] = 0.0
    return Quadratic(
        G=G[:d, :d],
        B=G[:d, d:],
        yy=G[d:, d:],
        x=(sums.exponents + exponents)[:d],
        y=(sums.exponents + exponents)[d:],
        constant=constant,
        neglected=np.where(constant, spread**2, 0.0),
        mean=moments.mean if intercept else np.zeros_like(moments.mean),
        weight=moments.weight,
        noise=_noise(np.where(constant, 0.0, spread), offset, moments.weight, moments.precision),
        intercept=intercept,
    )


def factor_of_quadratic(q: Quadratic) -> Factor:
    """The factor of a Gram matrix: by Cholesky, or by eigenvectors where that fails."""
    R, C = root_of(q.G, q.B, q.constant)
    rest = q.yy - C.T @ C
    np.fill_diagonal(rest, np.maximum(np.diagonal(rest), 0.0))
    return Factor(
        R=R,
        C=C,
        rest=rest,
        x=q.x,
        y=q.y,
        constant=q.constant,
        neglected=q.neglected,
        mean=q.mean,
        weight=q.weight,
        tolerance=max(np.sqrt(8 * EPS * max(q.d, 4)), q.noise),
        through="moments",
        intercept=q.intercept,
    )


def root_of(G: Floats, B: Floats, constant: Bools) -> tuple[Floats, Floats]:
    """R with RᵀR = G and C with RᵀC = B, zero in the columns that do not vary."""
    d = len(G)
    keep = np.flatnonzero(~constant)
    R, C = np.zeros((d, d)), np.zeros((d, B.shape[1]))
    if not keep.size:
        return R, C
    inner = G[np.ix_(keep, keep)]
    try:
        upper = sla.cholesky(inner, lower=False, check_finite=False)
        diagonal = np.diagonal(upper)
        if diagonal.min() ** 2 < 8 * len(keep) * EPS * diagonal.max() ** 2:
            raise sla.LinAlgError
        R[np.ix_(keep, keep)] = upper
        C[keep] = sla.solve_triangular(upper, B[keep], trans="T", check_finite=False)
    except sla.LinAlgError:
        values, vectors = sla.eigh(inner, check_finite=False)
        floor = 8 * len(keep) * EPS * values[-1]
        good = values > floor
        root = np.sqrt(values[good])
        rows = keep[: len(root)]
        R[np.ix_(rows, keep)] = root[:, None] * vectors[:, good].T
        C[rows] = (vectors[:, good].T @ B[keep]) / root[:, None]
    return R, C


def _noise(norms: Floats, offset: Floats, weight: float, precision: float) -> float:
    """Relative size of singular values that rounding of the data alone can make.

    A number is rounded relative to its distance from zero, not from its mean: columns far from zero are noisier.
    """
    varies = norms > 0
    far = float(np.max(offset[varies] * np.sqrt(weight) / norms[varies], initial=1.0))
    return min(8 * max(precision, EPS) * float(np.sqrt(max(len(norms), 4))) * far, max(MOST_NOISE, 8 * precision))


def _balance(norms: Floats) -> Ints:
    """Exponents that bring norms into [½, 1)."""
    size = magnitude(norms, np.zeros(len(norms), dtype=np.int64))
    return np.where(size == NOTHING, 0, size).astype(np.int64)
