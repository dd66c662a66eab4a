"""From eigenvectors to clusters: rows of the embedding by k-means, or by turning it until rows point along axes."""

from typing import Any

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from gramian.rows import single_threaded_blas

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Times = Any

SMALL = 800  # rows up to which a matrix is factored whole
ROUNDS = 300


def leading(times: Times, n: int, count: int, tol: float, start: Floats) -> tuple[Floats, Floats, int]:
    """The largest eigenvalues (count,) of a symmetric matrix known by its products, their vectors, and the products."""
    if n <= SMALL or count > n // 3:
        with single_threaded_blas():
            A = times(np.eye(n))
            values, vectors = sla.eigh(0.5 * (A + A.T), subset_by_index=(n - count, n - 1), driver="evr")
        return values[::-1], np.ascontiguousarray(vectors[:, ::-1]), n
    from scipy.sparse.linalg import LinearOperator, eigsh

    made = [0]

    def product(v: Floats) -> Floats:
        made[0] += 1
        return times(v.reshape(n, -1)).reshape(v.shape)

    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    with single_threaded_blas():
        values, vectors = eigsh(
            operator, count, which="LA", v0=start, tol=0.1 * tol, ncv=min(n, max(2 * count + 12, 40))
        )
    order = np.argsort(-values, kind="stable")
    return values[order], np.ascontiguousarray(vectors[:, order]), made[0]


def rows_of_unit_length(H: Floats) -> Floats:
    """Rows divided by their norms; those that are zero stay."""
    size = np.linalg.norm(H, axis=1, keepdims=True)
    return np.asarray(np.divide(H, size, out=np.zeros_like(H), where=size > 0))


def rounded(H: Floats, weight: Floats, lengths: Floats) -> tuple[Ints, Floats]:
    """Labels, and the rotation R whose largest entry of h R they are.

    As many rows as there are clusters are picked, each the farthest from the span of those before once rows have the
    lengths given (n,); the rotation takes them nearest to the axes. Then labels and the rotation that fits them best
    take turns until no label changes.
    """
    k = H.shape[1]
    left = H * lengths[:, None]
    picked = np.empty(k, dtype=np.int64)
    for c in range(k):
        picked[c] = int((left * left).sum(axis=1).argmax())
        direction = left[picked[c]] / max(float(np.linalg.norm(left[picked[c]])), 1e-300)
        left -= np.outer(left @ direction, direction)
    R = _rotation(H[picked].T)
    labels = (H @ R).argmax(axis=1)
    for _ in range(ROUNDS):
        Z = np.eye(k)[labels] * weight[:, None]
        R = _rotation(H.T @ (Z / np.sqrt(np.maximum(Z.sum(axis=0), 1e-300))))
        before, labels = labels, (H @ R).argmax(axis=1)
        if (labels == before).all():
            break
    return labels, R


def _rotation(M: Floats) -> Floats:
    """The orthogonal matrix nearest to M."""
    U, _, V = np.linalg.svd(M)
    return np.asarray(U @ V)


def k_means(H: Floats, weight: Floats, first: Ints, n_init: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Labels and centres (k, c) of the least Σ w ‖h − c‖² of several starts: from labels, then from k-means++."""
    k = H.shape[1]
    best: tuple[float, Ints, Floats] | None = None
    for trial in range(n_init):
        centers = _means(H, weight, first, k) if trial == 0 else H[_spread_out(H, weight, k, rng)]
        found = _lloyd(H, weight, centers)
        if best is None or found[0] < best[0] * (1.0 - 1e-12):
            best = found
    assert best is not None
    return best[1], best[2]


def nearest_center(H: Floats, centers: Floats) -> Ints:
    """The number of the nearest centre of each row, the first of equal ones."""
    return np.asarray(((centers * centers).sum(axis=1) - 2.0 * H @ centers.T).argmin(axis=1), dtype=np.int64)


def _means(H: Floats, weight: Floats, labels: Ints, k: int) -> Floats:
    Z = np.eye(k)[labels] * weight[:, None]
    total = Z.sum(axis=0)[:, None]
    return np.asarray(np.divide(Z.T @ H, total, out=np.full((k, H.shape[1]), np.inf), where=total > 0))


def _lloyd(H: Floats, weight: Floats, centers: Floats) -> tuple[float, Ints, Floats]:
    k = len(centers)
    labels = np.full(len(H), -1)
    for _ in range(ROUNDS):
        empty = np.flatnonzero(~np.isfinite(centers).all(axis=1))
        if empty.size:
            full = np.setdiff1d(np.arange(k), empty)
            away = ((H[:, None, :] - centers[full]) ** 2).sum(axis=2).min(axis=1) if full.size else np.ones(len(H))
            centers[empty] = H[np.argsort(-away, kind="stable")[: len(empty)]]
        before, labels = labels, nearest_center(H, centers)
        if (labels == before).all():
            break
        centers = _means(H, weight, labels, k)
    centers[~np.isfinite(centers).all(axis=1)] = H[0]
    return float(weight @ ((H - centers[labels]) ** 2).sum(axis=1)), labels, centers


def _spread_out(H: Floats, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Rows drawn one by one, in proportion to weight and squared distance from those before."""
    chosen = np.empty(k, dtype=np.int64)
    away = np.ones(len(H))
    for c in range(k):
        p = weight * away
        total = float(p.sum())
        p = p / total if total > 0 else weight / weight.sum()
        chosen[c] = min(int(np.searchsorted(np.cumsum(p), rng.random(), side="right")), len(H) - 1)
        distance = ((H - H[chosen[c]]) ** 2).sum(axis=1)
        away = distance if c == 0 else np.minimum(away, distance)
    return chosen
