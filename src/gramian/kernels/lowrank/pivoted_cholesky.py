"""Partial pivoted Cholesky factor K ≈ F Fᵀ of low rank, without a matrix of size n × n."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.points import Vectors, alone
from gramian.kernels.representation import Landmarks
from gramian.rows import parallel_map, single_threaded_blas

MAX_PIVOTS_AT_ONCE = 64  # pivots taken at once
PANEL_ROWS = 2048
MIN_RESIDUAL = 1e-10  # of the mean of k(x, x): less cannot be told from rounding at new points


@single_threaded_blas()
def pivots(kernel: Kernel, points: Any, rank: int, *, tol: float = 1e-10, seed: int = 0) -> tuple[Landmarks, Floats]:
    """Landmarks and F (n, r): pivots drawn with probabilities in proportion to the residual diagonal, block by block.

    O(n r) numbers of the kernel and O(n r²) multiplications. Ends early where the residual trace is below `tol` of the
    whole.
    """
    n = len(points)
    residual = np.maximum(kernel.diag(points), 0.0)
    total = float(residual.sum()) or 1.0
    rng = np.random.default_rng(seed)
    F = np.zeros((n, min(rank, n)))
    chosen: list[int] = []
    while len(chosen) < F.shape[1] and residual.sum() > tol * total:
        k = len(chosen)
        size = min(MAX_PIVOTS_AT_ONCE, F.shape[1] - k)
        residual[chosen] = 0.0
        if (residual > 0).sum() == 0:
            break
        count = min(size, int((residual > 0).sum()))
        drawn = np.sort(rng.choice(n, size=count, replace=False, p=residual / residual.sum()))
        candidates = points[drawn]
        inner = kernel.block(candidates, candidates) - F[drawn, :k] @ F[drawn, :k].T
        keep, L = _independent(inner, MIN_RESIDUAL * total / n)
        if not len(keep):
            residual[drawn] = 0.0
            continue
        _explain(kernel, points, drawn[keep], L, F, k, residual)
        chosen += drawn[keep].tolist()
        residual[residual < MIN_RESIDUAL * total / n] = 0.0
        residual[drawn] = 0.0
    F = F[:, : len(chosen)]
    index = np.array(chosen, dtype=np.int64)
    R = np.tril(F[index]).T
    return Landmarks(kernel, alone(points[index]), index, np.ascontiguousarray(R), float(residual.sum()) / total), F


def pivots_of_distinct(kernel: Kernel, points: Any, rank: int, weight: Floats | None) -> tuple[Landmarks, Floats]:
    """The same of the points that count, each once: a weight does what repeating its row would do."""
    if not isinstance(points, Vectors) or points.is_sparse:
        return pivots(kernel, points, rank)
    counts = np.flatnonzero(weight > 0) if weight is not None else np.arange(len(points))
    X = np.ascontiguousarray(points.X[counts]) + 0.0  # one zero, not two
    _, first, place = np.unique(X.view(np.dtype((np.void, X.itemsize * X.shape[1])))[:, 0], True, True)
    if len(first) == len(points) or not len(first):
        return pivots(kernel, points, rank)
    order = np.argsort(first)
    landmarks, factor = pivots(kernel, points[counts[first[order]]], rank)
    F = np.empty((len(points), factor.shape[1]))
    F[counts] = factor[np.argsort(order)[place]]
    rest = np.setdiff1d(np.arange(len(points)), counts)
    F[rest] = landmarks.features(points[rest])
    return replace(landmarks, index=counts[first[order]][landmarks.index]), F


def _explain(kernel: Kernel, points: Any, index: Ints, L: Floats, F: Floats, k: int, residual: Floats) -> None:
    """The columns of F from k on, those of some new rows, and the residual of every row: panel by panel."""
    pivot_points, known, n = points[index], np.ascontiguousarray(F[index, :k].T), len(F)

    def panel(start: int) -> None:
        part = slice(start, min(start + PANEL_ROWS, n))
        rows = kernel.block(points[part], pivot_points)
        rows -= F[part, :k] @ known
        new = sl.solve_triangular(L, rows.T, lower=True, check_finite=False).T
        F[part, k : k + len(index)] = new
        np.maximum(residual[part] - (new**2).sum(axis=1), 0.0, out=residual[part])

    parallel_map(panel, range(0, n, PANEL_ROWS))


def _independent(inner: Floats, least: float) -> tuple[Ints, Floats]:
    """Which of some rows are independent of those before, and the Cholesky factor of their matrix."""
    keep: list[int] = []
    m = len(inner)
    L = np.zeros((m, m))
    for j in range(m):
        k = len(keep)
        row = sl.solve_triangular(L[:k, :k], inner[keep, j], lower=True, check_finite=False) if k else np.empty(0)
        rest = float(inner[j, j] - row @ row)
        if rest > least:
            L[k, :k], L[k, k] = row, np.sqrt(rest)
            keep.append(j)
    return np.array(keep, dtype=np.int64), L[: len(keep), : len(keep)]
