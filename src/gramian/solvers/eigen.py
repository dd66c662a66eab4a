"""Eigenvalues and eigenvectors of symmetric matrices: of one that is there, or of one that can only be multiplied by.

Nothing here depends on the number of threads: LAPACK runs on one, and products are cut into pieces of fixed size.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.rows import parallel_map, single_threaded_blas

Times = Callable[[Floats], Floats]

EPS = float(np.finfo(np.float64).eps)
FEW = 0.25  # share of the eigenvectors up to which they are computed one by one
SMALL = 1000  # rows up to which a matrix is factored whole
KRYLOV_SHARE = 0.02  # of the eigenvectors, up to which products with the matrix are the quicker way
BASIS_CELLS = 30_000_000  # numbers of the basis: beyond, it is restarted sooner
DEPENDENT = 1e-2  # share of a block below which a direction of it is made orthogonal once more
KEPT = 0.4  # of the basis that a restart leaves, the best of it
LOOK = 8  # columns of the basis after which its eigenvectors are computed
PANEL = 512  # rows of a piece of a product
SHIFT = 1e-10  # of the mean of the diagonal, so that a matrix can be inverted
INVERSE_BLOCK = 4


@dataclass(frozen=True, eq=False)
class Eigen:
    """Some eigenvalues of a symmetric matrix, from the outside in, and their eigenvectors.

    Attributes
    ----------
    values : array (k,)
        Decreasing for the largest, increasing for the smallest.
    vectors : array (n, k)
        Orthonormal columns.
    residuals : array (k,)
        ‖A v − λ v‖, as the solver sees it.
    products : int
        Columns that the matrix was multiplied with; 0 where it was factored.
    converged : bool
        Whether all residuals are within the tolerance.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    products: int
    converged: bool


def eigen(A: Floats, count: int | None = None, *, smallest: bool = False, tol: float = 1e-10) -> Eigen:
    """The `count` largest (or smallest) eigenvalues of a symmetric matrix, all by default.

    By LAPACK: all of them by dividing and conquering, few of them one by one; very few of a large matrix by `krylov`
    with its tolerance `tol`.

    >>> import numpy as np
    >>> eigen(np.diag([1.0, 3.0, 2.0]), 2).values
    array([3., 2.])
    """
    n = len(A)
    count = n if count is None else min(count, n)
    if n > SMALL and count <= KRYLOV_SHARE * n:
        found = krylov(matrix_times(A), n, count, tol=tol, smallest=smallest, max_products=n // 2)
        if found.converged or deadline.ended():
            return found
    return _dense(A, count, smallest)


def _dense(A: Floats, count: int, smallest: bool) -> Eigen:
    n = len(A)
    with single_threaded_blas():
        if count > FEW * n:
            values, vectors = sla.eigh(A, driver="evd", check_finite=False)
            first = slice(0, count) if smallest else slice(n - count, n)
            values, vectors = values[first], vectors[:, first]
        else:
            ends = (0, count - 1) if smallest else (n - count, n - 1)
            values, vectors = sla.eigh(A, driver="evr", subset_by_index=ends, check_finite=False)
        if not smallest:
            values, vectors = values[::-1], vectors[:, ::-1]
        vectors = np.ascontiguousarray(vectors)
        residuals = np.linalg.norm(A @ vectors - vectors * values, axis=0)
    return Eigen(values.copy(), vectors, residuals, 0, True)


def matrix_times(A: Any) -> Times:
    """Products with a matrix, panel by panel on all threads; in the precision of the matrix."""

    def times(Q: Floats) -> Floats:
        Q = np.ascontiguousarray(Q, dtype=A.dtype)
        parts = parallel_map(lambda i: A[i : i + PANEL] @ Q, range(0, A.shape[0], PANEL))
        return np.concatenate(parts).astype(np.float64, copy=False)

    return times


def krylov(
    times: Times,
    n: int,
    count: int,
    *,
    tol: float = 1e-10,
    block: int | None = None,
    basis: int | None = None,
    start: Floats | None = None,
    smallest: bool = False,
    seed: int = 0,
    max_products: int | None = None,
) -> Eigen:
    """The largest (or smallest) eigenvalues of a symmetric matrix that is known by its products with vectors.

    Block Lanczos, thickly restarted. A deadline ends it, once there are as many vectors as wanted.

    Parameters
    ----------
    times : function
        A Q for Q (n, b).
    n, count : int
        Rows of A, and eigenvalues wanted.
    tol : float
        Residual ‖A v − λ v‖ at which a pair counts as found, in units of the largest |λ|.
    block : int, optional
        Columns multiplied at once.
    basis : int, optional
        Columns of the basis when it is restarted: many for eigenvalues that lie close together.
    start : array (n, b), optional
        Vectors near the answer; random ones of `seed` otherwise.
    max_products : int, optional
        Columns after which it gives up; 60 (count + block) by default.

    Notes
    -----
    Every vector is made orthogonal to all before, twice; what the basis holds is multiplied by A once. When the basis
    is full it becomes the best of its vectors, and the next block stays what it would have been. An eigenvalue that
    repeats is found as often as the block is wide: by default at least `count` times, up to 32.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.diag(np.arange(100.0))
    >>> krylov(lambda Q: A @ Q, 100, 3).values.round(8)
    array([99., 98., 97.])
    """
    sign = -1.0 if smallest else 1.0
    count = min(count, n)
    width = min(n, (block or _block(count)) if start is None else start.shape[1])
    most = min(n, max(count + 4 * width, min(basis or 3 * count + 12 * width, BASIS_CELLS // max(n, 1))))
    rng = np.random.default_rng(seed)
    with single_threaded_blas():
        first = rng.standard_normal((n, width)) if start is None else np.array(start, dtype=np.float64)
        V, T = np.empty((n, most), order="F"), np.zeros((most, most))
        Q = _orthonormal(first, V[:, :0], rng, 0.0)[0]
        m, products, unseen, size, alone = 0, 0, 0, 0.0, np.nan
        limit = max_products or 60 * (count + width)
        while True:
            b = Q.shape[1]
            V[:, m : m + b] = Q
            image = sign * times(Q)
            products += b
            m += b
            T[:m, m - b : m] = V[:, :m].T @ image
            T[m - b : m, : m - b] = T[: m - b, m - b : m].T
            size = max(size, float(np.linalg.norm(T[:m, m - b : m], axis=0).max()))
            rest = image - V[:, :m] @ T[:m, m - b : m]
            Q, B = _orthonormal(rest, V[:, :m], rng, 100 * EPS * size)
            stays = float(np.abs(B).max(initial=0.0)) <= max(100 * EPS, 0.1 * tol) * size
            full = m + Q.shape[1] > most
            unseen += b
            over = m >= count and deadline.passed()
            if not (stays or full or m >= n or products >= limit or over or (m >= count and unseen >= LOOK)):
                continue
            unseen, k = 0, min(count, m)
            theta, Y = np.linalg.eigh(T[:m, :m])
            theta, Y = theta[::-1], Y[:, ::-1]
            scale = float(np.abs(theta).max(initial=0.0)) or 1.0
            # All that A makes of the basis and is not in it comes from the last block: so does every residual.
            away = np.linalg.norm(B @ Y[m - b : m, :k], axis=0)
            done = m >= count and bool((away <= 0.5 * tol * scale).all())
            if stays:
                # A leaves the basis where it is, but others of its kind may be outside: random vectors will tell.
                before, alone = alone, float(theta[:k].sum()) if m >= count else np.nan
                done = done and abs(alone - before) <= tol * scale
            if done or m >= n or products >= limit or over:
                break
            if full:
                keep = min(max(count + width, int(KEPT * most)), m, most - Q.shape[1])
                V[:, :keep] = V[:, :m] @ Y[:, :keep]
                m = keep
                T[:m, :m] = np.diag(theta[:m])
                Q = _orthonormal(Q, V[:, :m], rng, 0.0)[0]
        vectors = np.ascontiguousarray(V[:, :m] @ Y[:, :k])
    converged = m >= count and bool((away <= tol * scale).all())
    return Eigen(sign * theta[:k], vectors, away, products, converged)


def least(M: Any, count: int, known: Floats | None = None) -> Eigen:
    """The smallest eigenvalues of a sparse matrix without negative ones: the largest of its inverse, a little shifted.

    `known` are orthonormal eigenvectors (n, p), which are left out. The factor of the matrix costs what its graph asks
    for: little where rows have few neighbours in few dimensions.

    >>> import numpy as np, scipy.sparse as sp
    >>> path = sp.diags_array([[1.0, 2.0, 2.0, 1.0], [-1.0] * 3, [-1.0] * 3], offsets=[0, 1, -1])
    >>> least(path, 2, np.full((4, 1), 0.5)).values.round(8)
    array([0.58578644, 2.        ])
    """
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    n = M.shape[0]
    known = np.empty((n, 0)) if known is None else known
    shift = SHIFT * (float(M.diagonal().mean()) or 1.0)
    order = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    factor = splu(csc_array(M + shift * eye_array(n)), **order)

    def times(Q: Floats) -> Floats:
        Q = factor.solve(np.asfortranarray(Q - known @ (known.T @ Q)))
        return np.asarray(Q - known @ (known.T @ Q))

    with single_threaded_blas():
        found = krylov(times, n, min(count, n - known.shape[1]), tol=1e-12, block=INVERSE_BLOCK)
        V = found.vectors
        for _ in range(2):  # eigenvalues of the inverse lie far apart, and the last ones are known least
            V = _apart(times(V), known)[0]
        image = M @ V
        values, turn = np.linalg.eigh(V.T @ image)
        V, image = V @ turn, image @ turn
    residuals = np.linalg.norm(image - V * values, axis=0)
    return Eigen(np.maximum(values, 0.0), V, residuals, found.products, found.converged)


def _block(count: int) -> int:
    """Columns of a product: enough for the matrix to be worth reading, few enough for the basis to be deep."""
    return int(min(max(8, count + 2), 32))


def _orthonormal(W: Floats, V: Floats, rng: np.random.Generator, rounding: float) -> tuple[Floats, Floats]:
    """Orthonormal Q, also to V, and B with W = Q B + (what V spans); directions that are but rounding become random."""
    n, b = W.shape
    b = min(b, n - V.shape[1])
    size = float(np.linalg.norm(W))
    W = W - V @ (V.T @ W)
    Q, B = np.linalg.qr(W)
    if np.abs(np.diagonal(B))[:b].min(initial=np.inf) > DEPENDENT * size:
        return Q[:, :b], B[:b]
    # Some columns nearly depend on others: what is left of them has to be made orthogonal to V once more.
    Q, R, order = sla.qr(W, mode="economic", pivoting=True, check_finite=False)
    strong = min(int((np.abs(np.diagonal(R)) > max(100 * EPS * size, rounding)).sum()), b)
    Q, turn = _apart(Q[:, :strong], V)
    B = np.zeros((b, W.shape[1]))
    B[:strong, order] = turn @ R[:strong]
    if strong < b:
        known = np.column_stack([V, Q])
        Q = np.column_stack([Q, _apart(rng.standard_normal((n, b - strong)), known)[0]])
    return Q, B


def _apart(W: Floats, V: Floats) -> tuple[Floats, Floats]:
    """Orthonormal Q, also to V, and R with W = Q R + (what V spans)."""
    total = np.eye(W.shape[1])
    for _ in range(2):
        W, turn = np.linalg.qr(W - V @ (V.T @ W))
        total = turn @ total
    return W, total
