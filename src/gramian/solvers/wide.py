"""More columns than rows: the rows span at most n directions, and n × n matrices do.

Ridge depends on the rows only through inner products, so it is solved for a rotated table of n columns and turned back.
The shortest least-squares solution comes from the singular vectors of the rows.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.rows import MemoryRows, Rows, single_threaded_blas
from gramian.solvers.certificate import Certificate, Solver
from gramian.solvers.factor import EPS
from gramian.solvers.quadratic import TOLERANCE, Solution

Floats = NDArray[np.float64]
MOST_SPREAD = 20_000_000  # numbers of a covariance factor worth keeping


def narrow(rows: Rows, factors: Floats | None = None) -> tuple[Rows, Callable[[Floats], Floats]]:
    """The rows turned into at most n columns, and the map of coefficients (…, r, t) back to (…, d, t).

    With `factors` the penalty Σ f_j w_j² becomes the plain one of the columns divided by √f_j.
    """
    block = rows.collect()
    X = block.X
    root = None if factors is None else 1.0 / np.sqrt(factors)
    with single_threaded_blas():
        if sp.issparse(X):
            X = X.astype(np.float64) if root is None else X.astype(np.float64) @ sp.diags_array(root)
            turned, turn = _by_kernel(X)
        else:
            X = np.asarray(X, dtype=np.float64)
            if not np.isfinite(X.sum()):
                rows.refuse_nonfinite()
            Q, R = np.linalg.qr((X if root is None else X * root).T)
            turned, turn = np.ascontiguousarray(R.T), Q

    def back(coefs: Floats) -> Floats:
        wide = turn @ coefs
        return wide if root is None else wide * root[:, None]

    small = MemoryRows(turned, block.y, block.weight, target_names=rows.target_names, one_target=rows.one_target)
    small.precision = rows.precision
    return small, back


def _by_kernel(X: sp.csr_array) -> tuple[Floats, Floats]:
    """Columns U√λ of XXᵀ = UλUᵀ and the map XᵀU/√λ: for sparse rows, whose inner products are cheap."""
    values, U = np.linalg.eigh((X @ X.T).toarray())
    good = values > len(values) * EPS * max(values[-1], 0.0)
    root = np.sqrt(values[good])
    return U[:, good] * root, np.asarray(X.T @ (U[:, good] / root))


def widen(
    solution: Solution,
    rows: Rows,
    back: Callable[[Floats], Floats],
    alpha: float,
    factors: Floats | None,
    intercept: bool,
) -> Solution:
    """A ridge solution for the narrowed rows, turned back to the columns given and certified there."""
    block = rows.collect()
    assert block.y is not None
    coef = back(solution.coef)
    d, t = coef.shape
    w = np.ones(rows.n) if block.weight is None else block.weight
    X = block.X.astype(np.float64, copy=False)
    mean = np.zeros(d + t)
    if intercept:
        mean[:d], mean[d:] = np.asarray(X.T @ w) / w.sum(), (w @ block.y) / w.sum()
        if not sp.issparse(X):
            coef[np.ptp(X, axis=0) == 0] = 0.0  # rounding, of a column that the intercept stands for
    y = block.y - mean[d:]
    pull = alpha * w.sum() * (np.ones(d) if factors is None else factors)[:, None]
    squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).T @ w) - w.sum() * mean[:d] ** 2
    size = np.sqrt(np.maximum(squares, 0.0))[:, None] * np.sqrt(w @ y**2)[None, :]

    def gradient(coef: Floats) -> tuple[Floats, float]:
        """Xᵀr of the centred columns, and the largest entry of the objective's gradient relative to its terms."""
        r = (y - np.asarray(X @ coef) + mean[:d] @ coef) * w[:, None]
        inner = np.asarray(X.T @ r) - np.outer(mean[:d], r.sum(axis=0))
        inner[squares <= 1e-24 * w.sum() * mean[:d] ** 2] = 0.0
        terms = size + pull * np.abs(coef)
        return inner, float(np.max(np.abs(inner - pull * coef) / np.where(terms > 0, terms, 1.0), initial=0.0))

    inner, value = gradient(coef)
    if alpha > 0:
        # At the minimum pull · coef = Xᵀr: column by column more accurate than a rotation, unless alpha is tiny.
        other = inner / pull
        better = gradient(other)[1]
        if better < value:
            coef, value = other, better
    certificate = replace(solution.certificate, value=value, holds=value <= solution.certificate.tolerance)
    spread = solution.spread
    if spread is not None:
        small = d * spread.shape[1] <= MOST_SPREAD
        spread = back(np.ldexp(spread, -solution.x[:, None])) if small else None
    reason = "fewer rows than columns: solved for their n directions and turned back"
    return replace(
        solution,
        coef=coef,
        intercept=mean[d:] - mean[:d] @ coef if intercept else np.zeros(t),
        certificate=certificate,
        spread=spread,
        x=np.zeros(d, dtype=np.int64),
        mean=mean,
        solver=Solver(f"rotation, {solution.solver.name}", reason),
    )


def shortest(rows: Rows, *, intercept: bool) -> Solution:
    """The least-squares solution of smallest norm, for fewer rows than columns: it usually interpolates."""
    block = rows.collect()
    assert block.y is not None
    X = block.X.toarray() if sp.issparse(block.X) else np.asarray(block.X, dtype=np.float64)
    if not np.isfinite(X.sum()):
        rows.refuse_nonfinite()
    d, t = rows.d, block.y.shape[1]
    w = np.ones(rows.n) if block.weight is None else block.weight
    top = int(np.frexp(np.abs(X).max(initial=0.0))[1])
    X = np.ldexp(X, -top)  # so that no square overflows; the solution is of the same shape in any common unit
    mean = np.concatenate([w @ X, w @ block.y]) / w.sum() if intercept else np.zeros(d + t)
    root = np.sqrt(w)[:, None]
    Z, y = (X - mean[:d]) * root, (block.y - mean[d:]) * root
    with single_threaded_blas():
        Q, R = np.linalg.qr(Z.T)
        U, s, Vt = np.linalg.svd(R)
        real = s > max(rows.d, rows.n) * max(EPS, rows.precision) * s[0] if s.size and s[0] > 0 else s > np.inf
        rank = int(real.sum())
        coef = Q @ (U[:, real] @ ((Vt[real] @ y) / s[real, None]))
        residual = y - Z @ coef
        size = np.linalg.norm(Z, axis=0)[:, None] * np.linalg.norm(y, axis=0)[None, :]
        value = float(np.max(np.abs(Z.T @ residual) / np.where(size > 0, size, 1.0), initial=0.0))
    condition = float(s[0] / s[rank - 1]) if rank else 1.0
    certificate = Certificate(
        kind="gradient",
        value=value,
        tolerance=TOLERANCE,
        holds=value <= TOLERANCE,
        rank=rank,
        condition=condition,
        through="svd",
        digits=int(np.clip(-np.log10(max(condition * EPS, 1e-16)), 0, 15)),
        note=f"{rows.n} rows cannot tell {d} columns apart: of all solutions this is the shortest in the given units.",
        convex=True,
    )
    coef = np.ldexp(coef, -top)
    return Solution(
        coef=coef,
        intercept=mean[d:] - np.ldexp(mean[:d], top) @ coef,
        residual=(residual**2).sum(axis=0),
        total=(y**2).sum(axis=0),
        spread=None,
        x=np.zeros(d, dtype=np.int64),
        mean=np.concatenate([np.ldexp(mean[:d], top), mean[d:]]),
        weight=float(w.sum()),
        df=float(rank + intercept),
        certificate=certificate,
        solver=Solver("SVD", "fewer rows than columns: the shortest solution, from the singular vectors of the rows"),
    )
