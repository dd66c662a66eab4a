"""The compiled E-step of all normal densities: distances, responsibilities and sums while rows are in the cache.

Every density works in its whitened coordinates y = L⁻¹(x − mean): the distance is ‖y‖², and the M-step needs the sums
of r, r y and r y yᵀ there. Neither distant nor thin densities lose digits, and no square of a column is ever formed.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sl

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.exponential import exp_here
from gramian._core.types import Array, Floats, Matrix
from gramian.structures.components.densities.covariance import LOG_2PI, log_volume
from gramian.structures.loop.sufficient_statistics import Scatter

if TYPE_CHECKING:
    from gramian.structures.components.densities.gaussian import Gaussian

PANEL = 128  # rows at once, whose whitened coordinates for all densities stay in the cache
MAX_NUMBERS = 2**22  # in the covariances of all densities; beyond, the plain pass is used


class GaussianPass:
    """The E-step for the densities of one state."""

    def __init__(self, structures: "list[Gaussian]", shares: Floats) -> None:
        k, d = len(structures), len(structures[0].mean_)
        self.structures, self.k, self.d = structures, k, d
        self.full = np.ndim(structures[0]._root) == 2
        self.wide = -(-d // 4) * 4 if self.full else d
        self.center = np.mean([each.mean_ for each in structures], axis=0)
        self.inverse = np.zeros((k, self.wide, self.wide) if self.full else (k, d))
        self.offset = np.zeros((k, self.wide))
        for j, each in enumerate(structures):
            deviation = each.mean_ - self.center
            if self.full:
                inverse_root = sl.solve_triangular(each._root, np.eye(d), lower=True, check_finite=False)
                self.inverse[j, :d, :d] = inverse_root
                self.offset[j, :d] = inverse_root @ deviation
            else:
                self.inverse[j] = 1.0 / each._root
                self.offset[j] = deviation / each._root
        with np.errstate(divide="ignore"):
            log_shares = np.maximum(np.log(shares), -1e300)
        self.constant = log_shares - 0.5 * d * LOG_2PI - np.array([log_volume(each._root, d) for each in structures])

    def __call__(self, X: Matrix, weight: Any, owners: Any, scores: Any) -> tuple[float, Floats, list[Scatter]]:
        """−Σw log density, and the weight and scatter of every density; sets owners and scores."""
        k, d = self.k, self.d
        mass, first = np.zeros(k), np.zeros((k, self.wide))
        second = np.zeros((k, self.wide, self.wide) if self.full else (k, d))
        run = _full if self.full else _diagonal
        weight = np.empty(0) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        value = run(
            X, weight, self.center, self.inverse, self.offset, self.constant, mass, first, second, owners, scores
        )
        return -value, mass, [self._scatter(j, mass[j], first[j], second[j]) for j in range(k)]

    def _scatter(self, j: int, mass: float, first: Floats, second: Floats) -> Scatter:
        each, d = self.structures[j], self.d
        if not mass > 0:
            return Scatter(0.0, each.mean_, np.zeros((d, d) if self.full else d), 0.0)
        first = first[:d] / mass
        if not self.full:
            root = np.broadcast_to(each._root, d)
            return Scatter(mass, each.mean_ + root * first, root**2 * (second - mass * first**2), mass)
        lower = np.tril(second[:d, :d])
        inner = lower + np.tril(lower, -1).T - mass * np.outer(first, first)
        cross = each._root @ inner @ each._root.T
        return Scatter(mass, each.mean_ + each._root @ first, 0.5 * (cross + cross.T), mass)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _load(X: Array, center: Array, start: int, m: int, x: Array) -> None:  # pragma: no cover - compiled
    """Rows start … start + m − 1 less the centre, a column in each row of x; the rest of the panel is zero."""
    for i in range(len(center)):
        for t in range(m):
            x[i, t] = X[start + t, i] - center[i]
        for t in range(m, PANEL):
            x[i, t] = 0.0


@njit(cache=True, nogil=True, fastmath={"contract"})
def _whiten(x: Array, A: Array, b: Array, y: Array, q: Array) -> None:  # pragma: no cover - compiled
    """y = A x − b for lower triangular A in blocks of four, and q = ‖y‖²."""
    d = len(b)
    for t in range(PANEL):
        q[t] = 0.0
    for i in range(0, d, 4):
        y0, y1, y2, y3 = y[i], y[i + 1], y[i + 2], y[i + 3]
        b0, b1, b2, b3 = b[i], b[i + 1], b[i + 2], b[i + 3]
        for t in range(PANEL):
            y0[t] = -b0
            y1[t] = -b1
            y2[t] = -b2
            y3[t] = -b3
        for j in range(0, i + 1, 4):
            x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
            a00, a01, a02, a03 = A[i, j], A[i, j + 1], A[i, j + 2], A[i, j + 3]
            a10, a11, a12, a13 = A[i + 1, j], A[i + 1, j + 1], A[i + 1, j + 2], A[i + 1, j + 3]
            a20, a21, a22, a23 = A[i + 2, j], A[i + 2, j + 1], A[i + 2, j + 2], A[i + 2, j + 3]
            a30, a31, a32, a33 = A[i + 3, j], A[i + 3, j + 1], A[i + 3, j + 2], A[i + 3, j + 3]
            for t in range(PANEL):
                v0, v1, v2, v3 = x0[t], x1[t], x2[t], x3[t]
                y0[t] += a00 * v0 + a01 * v1 + a02 * v2 + a03 * v3
                y1[t] += a10 * v0 + a11 * v1 + a12 * v2 + a13 * v3
                y2[t] += a20 * v0 + a21 * v1 + a22 * v2 + a23 * v3
                y3[t] += a30 * v0 + a31 * v1 + a32 * v2 + a33 * v3
        for t in range(PANEL):
            q[t] += y0[t] * y0[t] + y1[t] * y1[t] + y2[t] * y2[t] + y3[t] * y3[t]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _dots(u: Array, y: Array, i: int, j: int, S: Array) -> None:  # pragma: no cover - compiled
    """S[i…i+3, j…j+3] += u yᵀ over the rows of a panel."""
    for g in range(2):
        u0, u1 = u[i + 2 * g], u[i + 2 * g + 1]
        y0, y1, y2, y3 = y[j], y[j + 1], y[j + 2], y[j + 3]
        s00, s01, s02, s03, s10, s11, s12, s13 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for t in range(PANEL):
            p, r = u0[t], u1[t]
            v0, v1, v2, v3 = y0[t], y1[t], y2[t], y3[t]
            s00 += p * v0
            s01 += p * v1
            s02 += p * v2
            s03 += p * v3
            s10 += r * v0
            s11 += r * v1
            s12 += r * v2
            s13 += r * v3
        row = i + 2 * g
        S[row, j] += s00
        S[row, j + 1] += s01
        S[row, j + 2] += s02
        S[row, j + 3] += s03
        S[row + 1, j] += s10
        S[row + 1, j + 1] += s11
        S[row + 1, j + 2] += s12
        S[row + 1, j + 3] += s13


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _sum(v: Array) -> Any:  # pragma: no cover - compiled
    total = 0.0
    for t in range(PANEL):
        total += v[t]
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _responsibilities(
    p: Array, constant: Array, largest: Array, total: Array, bits: Array
) -> None:  # pragma: no cover - compiled
    """Turn p[c] = ‖y‖² into responsibilities × total; largest + log total is the log density of the mixture."""
    k = len(p)
    for c in range(k):
        row, shift = p[c], constant[c]
        for t in range(PANEL):
            row[t] = shift - 0.5 * row[t]
    for t in range(PANEL):
        largest[t] = p[0, t]
    for c in range(1, k):
        row = p[c]
        for t in range(PANEL):
            largest[t] = row[t] if row[t] > largest[t] else largest[t]
    for t in range(PANEL):
        total[t] = 0.0
    for c in range(k):
        row = p[c]
        for t in range(PANEL):
            row[t] -= largest[t]
        exp_here(row, PANEL, bits)
        for t in range(PANEL):
            total[t] += row[t]


@njit(cache=True, nogil=True)
def _finish(
    p: Array, largest: Array, total: Array, weight: Array, start: int, m: int, owners: Array, scores: Array
) -> Any:  # pragma: no cover - compiled
    """Set responsibilities times weights, owners and scores of m rows; return Σw log density."""
    k = len(p)
    value = 0.0
    for t in range(m):
        score = largest[t] + np.log(total[t])
        w = weight[start + t] if len(weight) else 1.0
        value += w * score
        scores[start + t] = score
        largest[t] = w / total[t]
    for t in range(m, PANEL):
        largest[t] = 0.0
    for t in range(m):
        best = 0
        for c in range(1, k):
            if p[c, t] > p[best, t]:
                best = c
        owners[start + t] = best
    for c in range(k):
        row = p[c]
        for t in range(PANEL):
            row[t] *= largest[t]
    return value


@njit(cache=True, nogil=True)
def _full(
    X: Array, weight: Array, center: Array, A: Array, b: Array, constant: Array, mass: Array, first: Array,
    second: Array, owners: Array, scores: Array,
) -> Any:  # pragma: no cover - compiled  # fmt: skip
    n, k, d = len(X), A.shape[0], A.shape[1]
    x, y, u = np.zeros((d, PANEL)), np.empty((k, d, PANEL)), np.empty((d, PANEL))
    p, largest, total = np.empty((k, PANEL)), np.empty(PANEL), np.empty(PANEL)
    bits = np.empty(PANEL, dtype=np.int64)
    value = 0.0
    for start in range(0, n, PANEL):
        m = min(PANEL, n - start)
        _load(X, center, start, m, x)
        for c in range(k):
            _whiten(x, A[c], b[c], y[c], p[c])
        _responsibilities(p, constant, largest, total, bits)
        value += _finish(p, largest, total, weight, start, m, owners, scores)
        for c in range(k):
            total_share = _sum(p[c])
            if total_share == 0.0:
                continue
            mass[c] += total_share
            for i in range(d):
                row, r, product = y[c, i], p[c], u[i]
                for t in range(PANEL):
                    product[t] = row[t] * r[t]
                first[c, i] += _sum(product)
            for i in range(0, d, 4):
                for j in range(0, i + 1, 4):
                    _dots(u, y[c], i, j, second[c])
    return value


@njit(cache=True, nogil=True, fastmath={"contract"})
def _square_distances(x: Array, a: Array, b: Array, q: Array) -> None:  # pragma: no cover - compiled
    """q = Σ (a x − b)², four columns at once."""
    d, i = len(a), 0
    for t in range(PANEL):
        q[t] = 0.0
    while i + 4 <= d:
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        b0, b1, b2, b3 = b[i], b[i + 1], b[i + 2], b[i + 3]
        for t in range(PANEL):
            v0, v1, v2, v3 = x0[t] * a0 - b0, x1[t] * a1 - b1, x2[t] * a2 - b2, x3[t] * a3 - b3
            q[t] += v0 * v0 + v1 * v1 + v2 * v2 + v3 * v3
        i += 4
    while i < d:
        x0, a0, b0 = x[i], a[i], b[i]
        for t in range(PANEL):
            v0 = x0[t] * a0 - b0
            q[t] += v0 * v0
        i += 1


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _moments(
    x: Array, a: Array, b: Array, r: Array, i: int, j: int, first: Array, second: Array
) -> None:  # pragma: no cover - compiled
    """Sums of r y and r y² for the columns i and j, which may be one."""
    x0, x1, a0, a1, b0, b1 = x[i], x[j], a[i], a[j], b[i], b[j]
    f0, f1, s0, s1 = 0.0, 0.0, 0.0, 0.0
    for t in range(PANEL):
        v0, v1 = x0[t] * a0 - b0, x1[t] * a1 - b1
        u0, u1 = v0 * r[t], v1 * r[t]
        f0 += u0
        f1 += u1
        s0 += u0 * v0
        s1 += u1 * v1
    first[i] += f0
    second[i] += s0
    if j > i:
        first[j] += f1
        second[j] += s1


@njit(cache=True, nogil=True, fastmath={"contract"})
def _diagonal(
    X: Array, weight: Array, center: Array, a: Array, b: Array, constant: Array, mass: Array, first: Array,
    second: Array, owners: Array, scores: Array,
) -> Any:  # pragma: no cover - compiled  # fmt: skip
    n, k, d = len(X), a.shape[0], a.shape[1]
    x = np.zeros((d, PANEL))
    p, largest, total = np.empty((k, PANEL)), np.empty(PANEL), np.empty(PANEL)
    bits = np.empty(PANEL, dtype=np.int64)
    value = 0.0
    for start in range(0, n, PANEL):
        m = min(PANEL, n - start)
        _load(X, center, start, m, x)
        for c in range(k):
            _square_distances(x, a[c], b[c], p[c])
        _responsibilities(p, constant, largest, total, bits)
        value += _finish(p, largest, total, weight, start, m, owners, scores)
        for c in range(k):
            total_share = _sum(p[c])
            if total_share == 0.0:
                continue
            mass[c] += total_share
            for i in range(0, d, 2):
                _moments(x, a[c], b[c], p[c], i, min(i + 1, d - 1), first[c], second[c])
    return value
