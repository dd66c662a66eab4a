"""`Triangle`: the R factor of [1, X, y] by tall-skinny QR: the information of `Moments` without squaring it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.numerics.float_range import NOTHING, SAFE_EXPONENT, magnitude
from gramian._core.types import Floats, Ints, Table, Values, Weights
from gramian.rows import Block, Rows, scan, workspace

EXTENDED_WORK = 2_000_000  # m · p² up to which a factor is computed in extended precision


@dataclass(eq=False)
class Triangle:
    """The triangular factor of [1, X, y], mergeable: what badly conditioned least squares is solved from.

    For Z = [1, X − origin, y − origin] with its rows multiplied by √weight, `R` is upper triangular with
    RᵀR = ZᵀZ. Two of them are joined with `+` by factoring one stacked on the other; errors stay of the order of
    rounding times the condition number, where cross-products would square it.

    Attributes
    ----------
    n, weight, d, t, names, target_names
        As in `Moments`.
    R : array (d + t + 1, d + t + 1)
        The factor; its columns (but the first) are divided by 2**exponents. In extended precision (longdouble) where
        the tables were small.
    origin : array (d + t,)
        What was subtracted from each column before factoring.

    Notes
    -----
    One pass, about 2 n (d + t)² operations at the speed of Householder QR: some three times a pass for moments.

    Examples
    --------
    >>> import gramian as gm
    >>> both = gm.triangle([[1.0], [2.0]], [1.0, 3.0]) + gm.triangle([[4.0]], [5.0])
    >>> both.mean
    array([2.33333333, 3.        ])
    >>> gm.LinearRegression().fit(both).coef_
    array([1.28571429])
    """

    n: int
    weight: float
    d: int
    names: tuple[str, ...] | None
    target_names: tuple[str, ...]
    one_target: bool
    precision: float
    origin: Floats
    R: NDArray[Any]
    exponents: Ints

    @property
    def t(self) -> int:
        return len(self.target_names)

    @property
    def mean(self) -> Floats:
        return self.exact_mean.astype(np.float64)

    @property
    def exact_mean(self) -> NDArray[Any]:
        """The means in the precision of R."""
        return self.origin + np.ldexp(self.R[0, 1:], self.exponents) / self.R[0, 0]

    def about_zero(self) -> NDArray[Any]:
        """The factor of [X, y] itself, for a fit without an intercept; columns divided by 2**exponents."""
        return _factor(self.R[:, 1:] + np.outer(self.R[:, 0], np.ldexp(self.origin, -self.exponents)))

    def centred(self) -> NDArray[Any]:
        """The factor of the centred [X, y]; columns divided by 2**exponents."""
        return self.R[1:, 1:]

    def __add__(self, other: "Triangle") -> "Triangle":
        if not isinstance(other, Triangle):
            return NotImplemented
        if (self.d, self.names, self.target_names) != (other.d, other.names, other.target_names):
            raise ValueError(
                f"The columns differ: {self.d} features {self.names} → {self.target_names} against {other.d} "
                f"features {other.names} → {other.target_names}. Only triangles of the same columns can be added."
            )
        common = np.maximum(self.exponents, other.exponents)
        # The other's columns about this one's origin: x − o₁ = (x − o₂) + (o₂ − o₁) · 1.
        moved = np.ldexp(other.R[:, 1:], other.exponents - common)
        kind = other.R.dtype
        move = np.ldexp(other.origin.astype(kind), -common) - np.ldexp(self.origin.astype(kind), -common)
        moved += np.outer(other.R[:, 0], move)
        stacked = np.vstack(
            [
                np.column_stack([self.R[:, 0], np.ldexp(self.R[:, 1:], self.exponents - common)]),
                np.column_stack([other.R[:, 0], moved]),
            ]
        )
        return Triangle(
            n=self.n + other.n,
            weight=self.weight + other.weight,
            d=self.d,
            names=self.names,
            target_names=self.target_names,
            one_target=self.one_target,
            precision=max(self.precision, other.precision),
            origin=self.origin,
            R=_factor(stacked),
            exponents=common,
        )

    def __radd__(self, other: object) -> "Triangle":
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        return f"<Triangle: {self.n} rows × {self.d} features, target {', '.join(self.target_names)}>"


def triangle(X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Triangle:
    """`Triangle` of a table, given as arrays, a data frame, a sparse matrix or `Rows`.

    >>> import gramian as gm
    >>> abs(gm.triangle([[0.0], [2.0]]).R.astype(float)).round(3).tolist()
    [[1.414, 1.414], [0.0, 1.414]]
    """
    rows = scan(X, y, sample_weight=sample_weight)
    return rows.sum(block_triangle(rows))


def block_triangle(rows: Rows, origin: Floats | None = None) -> Callable[[Block], Triangle]:
    """The function that a pass for a triangle adds up; a known mean as the origin saves the moving."""
    rows.refuse_labels()

    def of_block(block: Block) -> Triangle:
        X = block.X.toarray() if sp.issparse(block.X) else block.X
        y, w = block.y, block.weight
        m, d = X.shape
        p = d + (0 if y is None else y.shape[1])
        shift = origin
        if shift is None:
            heavy = 0 if w is None else int(w.argmax())
            shift = np.concatenate([X[heavy], () if y is None else y[heavy]], dtype=np.float64)
        small = m * (p + 1) ** 2 <= EXTENDED_WORK
        Z = np.empty((m, p + 1), dtype=np.longdouble) if small else workspace("products", m, p + 1)
        Z[:, 0] = 1.0
        Z[:, 1 : d + 1] = X
        if y is not None:
            Z[:, d + 1 :] = y
        if not np.isfinite(Z).all():
            rows.refuse_nonfinite()
        exponents = _exponents(Z[:, 1:])
        if exponents.any():
            np.ldexp(Z[:, 1:], -exponents, out=Z[:, 1:])
        Z[:, 1:] -= np.ldexp(shift, -exponents)
        if w is not None:
            Z *= np.sqrt(w)[:, None]
        return Triangle(
            n=m if w is None else int(np.count_nonzero(w)),
            weight=float(m) if w is None else float(w.sum()),
            d=d,
            names=rows.names,
            target_names=rows.target_names,
            one_target=rows.one_target,
            precision=rows.precision,
            origin=shift,
            R=_factor(Z),
            exponents=exponents,
        )

    return of_block


def _exponents(Z: NDArray[Any]) -> Ints:
    size = magnitude(np.abs(Z).max(axis=0).astype(np.float64), np.zeros(Z.shape[1], dtype=np.int64))
    return np.where((np.abs(size) <= SAFE_EXPONENT) | (size == NOTHING), 0, size).astype(np.int64)


def _factor(Z: NDArray[Any]) -> NDArray[Any]:
    """Square upper triangular R of Z with a non-negative diagonal; rows of zeros where Z has too few rows."""
    m, p = Z.shape
    R: NDArray[Any]
    if m * p * p <= EXTENDED_WORK:
        R = _householder(Z)
    else:
        R = np.asarray(np.linalg.qr(Z.astype(np.float64, copy=False), mode="r"))
    R *= np.where(np.diagonal(R) < 0, -1, 1)[:, None]
    if len(R) < p:
        R = np.vstack([R, np.zeros((p - len(R), p), dtype=R.dtype)])
    return R


def _householder(Z: NDArray[Any]) -> NDArray[np.longdouble]:
    """R of Z in extended precision: on small tables three more digits cost nothing a person would notice."""
    A = Z.astype(np.longdouble)
    m, p = A.shape
    for k in range(min(m, p)):
        v = A[k:, k].copy()
        norm = np.sqrt(v @ v)
        if norm == 0:
            continue
        v[0] += norm if v[0] >= 0 else -norm
        A[k:, k:] -= np.outer(v, (v @ A[k:, k:]) * (2 / (v @ v)))
        A[k + 1 :, k] = 0
    return A[: min(m, p)]
