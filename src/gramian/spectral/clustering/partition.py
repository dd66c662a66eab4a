"""From eigenvectors to clusters: rows of the embedding by k-means, or by turning it until rows point along axes."""

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats, Ints
from gramian.solvers.kmeans.lloyd import LloydResult, lloyd, nearest_centers
from gramian.solvers.kmeans.points import ScaledPoints
from gramian.solvers.kmeans.seeding import plus_plus
from gramian.spectral.embedding.classical import power_of_two

ROUNDS = 300
ROUNDING = 2.0**-36  # of the largest number of the embedding


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
    remaining = H * lengths[:, None]
    picked = np.empty(k, dtype=np.int64)
    for c in range(k):
        picked[c] = int((remaining * remaining).sum(axis=1).argmax())
        direction = remaining[picked[c]] / max(float(np.linalg.norm(remaining[picked[c]])), 1e-300)
        remaining -= np.outer(remaining @ direction, direction)
    R = _rotation(H[picked].T)
    labels = (H @ R).argmax(axis=1)
    for _ in range(ROUNDS):
        Z = np.eye(k)[labels] * weight[:, None]
        R = _rotation(H.T @ (Z / np.sqrt(np.maximum(Z.sum(axis=0), 1e-300))))
        before, labels = labels, (H @ R).argmax(axis=1)
        if (labels == before).all() or deadline.passed():
            break
    return labels, R


def _rotation(M: Floats) -> Floats:
    """The orthogonal matrix nearest to M."""
    U, _, V = np.linalg.svd(M)
    return np.asarray(U @ V)


def k_means(H: Floats, weight: Floats, first: Ints, n_init: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Labels and centres (k, c) of the least Σ w ‖h − c‖² of several starts: from labels, then from k-means++.

    Rows that only rounding tells apart are equal.
    """
    unit = ROUNDING * power_of_two(float(np.abs(H).max(initial=0.0)))
    H = np.rint(H / unit) * unit
    points, k = ScaledPoints.of(H), H.shape[1]
    best: LloydResult | None = None
    for trial in range(n_init):
        if trial and deadline.passed():
            break
        start = _means(H, weight, first, k) if trial == 0 else H[plus_plus(points, weight, k, rng)]
        result = lloyd(points, weight, start, max_iter=ROUNDS)
        if best is None or result.objective < best.objective * (1.0 - 1e-12):
            best = result
    assert best is not None
    return best.labels.astype(np.int64), best.centers


def _means(H: Floats, weight: Floats, labels: Ints, k: int) -> Floats:
    """Means of the labels; for those that no row has, the rows farthest from the other means."""
    there = np.unique(labels)
    Z = np.eye(k)[labels] * weight[:, None]
    centers = Z.T @ H / np.maximum(Z.sum(axis=0), 1e-300)[:, None]
    empty = np.setdiff1d(np.arange(k), there)
    if empty.size:
        away = nearest_centers(H, centers[there])[1]
        centers[empty] = H[np.argsort(-away, kind="stable")[: len(empty)]]
    return np.asarray(centers)
