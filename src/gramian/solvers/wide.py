"""More columns than rows: the rows span at most n directions, and a rotation brings them into n columns.

Ridge and the shortest least-squares solution depend on the rows only through inner products, so they are solved for the
rotated table and turned back.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.rows import MemoryRows, Rows, single_threaded_blas
from gramian.solvers.certificate import Solver
from gramian.solvers.factor import EPS
from gramian.solvers.quadratic import Solution

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

    small = MemoryRows(
        turned, block.y, block.weight, target_names=rows.target_names, one_target=rows.one_target
    )
    small.precision = rows.precision
    return small, back


def _by_kernel(X: sp.csr_array) -> tuple[Floats, Floats]:
    """Columns U√λ of XXᵀ = UλUᵀ and the map XᵀU/√λ: for sparse rows, whose inner products are cheap."""
    values, U = np.linalg.eigh((X @ X.T).toarray())
    good = values > len(values) * EPS * max(values[-1], 0.0)
    root = np.sqrt(values[good])
    return U[:, good] * root, np.asarray(X.T @ (U[:, good] / root))


def widen(solution: Solution, rows: Rows, back: Callable[[Floats], Floats]) -> Solution:
    """A solution for the narrowed rows, turned back to the columns given."""
    coef = back(solution.coef)
    d, t = coef.shape
    mean = np.zeros(d + t)
    if solution.mean.any():
        block = rows.collect()
        w = np.ones(rows.n) if block.weight is None else block.weight
        mean[:d], mean[d:] = np.asarray(block.X.T @ w) / w.sum(), solution.mean[-t:]
    spread = solution.spread
    if spread is not None:
        small = d * spread.shape[1] <= MOST_SPREAD
        spread = back(np.ldexp(spread, -solution.x[:, None])) if small else None
    reason = "fewer rows than columns: solved for their n directions and turned back"
    return replace(
        solution,
        coef=coef,
        spread=spread,
        x=np.zeros(d, dtype=np.int64),
        mean=mean,
        solver=Solver(f"rotation, {solution.solver.name}", reason),
    )
