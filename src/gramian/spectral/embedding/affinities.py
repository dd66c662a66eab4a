"""How much rows are neighbours: Gaussian similarities whose width gives each row the same number of them."""

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Array, Floats, Matrix
from gramian.rows import parallel_map
from gramian.spectral.embedding.classical import power_of_two

REACH = 3.0  # neighbours that count, in units of the perplexity
PANEL = 256
STEPS = 200


def affinities(X: Matrix, perplexity: float) -> sp.csr_matrix:
    """Symmetric P (n, n) with Σ P = 1: p_ij = (p_{j|i} + p_{i|j}) / 2n among the 3 × perplexity nearest rows."""
    n = X.shape[0]
    k = min(n - 1, int(REACH * perplexity) + 1)
    X = X / power_of_two(float(np.abs(X).max()))  # squares of distances stay in range
    away, index = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
    size = away.max(initial=0.0)
    squares = (away / size if size > 0 else away) ** 2
    entropy = float(np.log(perplexity))
    if is_small(squares.size):
        with np.errstate(all="ignore"):
            squares = calibrated(squares, entropy)
    else:
        parallel_map(lambda i: _calibrate(squares, entropy, i, min(i + PANEL, n)), range(0, n, PANEL))
    P = sp.csr_matrix((squares.reshape(-1), index.reshape(-1), np.arange(0, n * k + 1, k)), shape=(n, n))
    P = sp.csr_matrix(P + P.T)
    P.sort_indices()
    P.data /= P.data.sum()
    return P


def calibrated(squares: Floats, entropy: float) -> Floats:
    """`_calibrate` in NumPy, for few rows: the same steps of all rows at once."""
    squares = squares - squares.min(axis=1, keepdims=True)
    mean = squares.mean(axis=1)
    b = np.where(mean > 0.0, 1.0 / mean, 1.0)
    low, high = np.zeros(len(b)), np.full(len(b), np.inf)
    open_rows = np.ones(len(b), dtype=bool)
    for turn in range(STEPS):
        p = np.exp(-b[:, None] * squares)
        total = p.sum(axis=1)
        first, second = ((p * squares**power).sum(axis=1) / total for power in (1, 2))
        away = np.log(total) + b * first - entropy
        open_rows &= ~((np.abs(away) <= 1e-12) | (mean == 0.0))
        if turn == STEPS - 1 or not open_rows.any():
            break
        low, high = np.where(open_rows & (away > 0.0), b, low), np.where(open_rows & ~(away > 0.0), b, high)
        slope = -b * b * (second - first * first)  # of the entropy by log b
        new = np.where(slope < 0.0, b * np.exp(np.clip(-away / slope, -3.0, 3.0)), b)
        new = np.where((low < new) & (new < high), new, np.where(high == np.inf, 2.0 * b, 0.5 * (low + high)))
        open_rows &= (new != b) & ~(new > 1e290)
        b = np.where(open_rows, new, b)
    return np.asarray(p / total[:, None])


@njit(cache=True, nogil=True, error_model="numpy")
def _calibrate(squares: Array, entropy: float, first: int, last: int) -> None:  # pragma: no cover - compiled
    """Squared distances of each row → probabilities exp(−b d²) / Σ of entropy `wanted`, in place.

    Newton's method on log b within a bracket. The entropy of equal distances does not depend on b: they stay equal.
    """
    k = squares.shape[1]
    p = np.empty(k)
    for i in range(first, last):
        least = squares[i].min()
        mean = 0.0
        for j in range(k):
            squares[i, j] -= least
            mean += squares[i, j] / k
        b = 1.0 / mean if mean > 0.0 else 1.0
        low, high = 0.0, np.inf
        for _ in range(STEPS):
            total, first_moment, second = 0.0, 0.0, 0.0
            for j in range(k):
                p[j] = np.exp(-b * squares[i, j])
                total += p[j]
                first_moment += p[j] * squares[i, j]
                second += p[j] * squares[i, j] * squares[i, j]
            first_moment /= total
            away = np.log(total) + b * first_moment - entropy
            if abs(away) <= 1e-12 or mean == 0.0:
                break
            if away > 0.0:
                low = b
            else:
                high = b
            slope = -b * b * (second / total - first_moment * first_moment)  # of the entropy by log b
            new = b * np.exp(min(max(-away / slope, -3.0), 3.0)) if slope < 0.0 else b
            if not (low < new < high):
                new = 2.0 * b if high == np.inf else 0.5 * (low + high)
            if new == b or new > 1e290:
                break
            b = new
        for j in range(k):
            squares[i, j] = p[j] / total
