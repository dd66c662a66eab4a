"""Principal coordinates: places whose inner products are nearest to those that distances or rows have."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Matrix
from gramian._core.weights import weights_or_ones
from gramian.features.base import refuse_too_large
from gramian.solvers.eigen import eigen, matrix_times
from gramian.spectral.signs import column_signs

TOLERANCE = 1e-12  # residual of eigenvectors, relative to the largest eigenvalue
ROUGH = 1e-7  # that of the smallest eigenvalue, whose error is its square
ROUNDING = 1e-12  # eigenvalues below this share of the largest are zero


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Places of rows, and how new ones are placed.

    Attributes
    ----------
    places : array (n, r)
    eigenvalues : array (r,)
        Of the centred inner products, largest first.
    least : float
        The smallest eigenvalue; below 0, no points have these distances.
    residual : float
        ‖B v − λ v‖ of the worst pair, relative to the largest eigenvalue in size.
    rank : int
        Positive eigenvalues among those asked for.
    middle, map : arrays
        New points lie at (x − middle) map: x are rows, or −½ times the squares of distances to the rows of the fit,
        divided by `size`.
    """

    places: Floats
    eigenvalues: Floats
    least: float
    residual: float
    rank: int
    middle: Floats
    map: Floats
    size: float | None = None

    def new(self, X: Matrix) -> Floats:
        """Places of new rows, or of things with distances X to the rows of the fit."""
        X = X if self.size is None else -0.5 * (X / self.size) ** 2
        return np.asarray(X @ self.map) - self.middle @ self.map


def of_rows(X: Matrix, weight: Floats | None, r: int) -> Coordinates:
    """From the rows themselves: their inner products about the mean are known without their distances."""
    n, d = X.shape
    w = weights_or_ones(weight, n)
    size = power_of_two(float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0)))
    X = X / size
    mean = np.asarray(w @ X).reshape(-1) / w.sum()
    root = np.sqrt(w)
    wide, m = d > n, min(n, d)
    refuse_too_large(3 * 8.0 * m * m, f"inner products of {n} rows and {d} columns", "Give fewer rows or columns.")
    if not sp.issparse(X):
        Z = root[:, None] * (X - mean)
        S = Z @ Z.T if wide else Z.T @ Z
    elif wide:
        cross = np.asarray(X @ mean)
        S = root[:, None] * (np.asarray((X @ X.T).toarray()) - cross[:, None] - cross + mean @ mean) * root
    else:
        S = np.asarray((X.T @ X.multiply(w[:, None]).tocsr()).toarray()) - w.sum() * np.outer(mean, mean)
    values, vectors, residual = largest(S, r)
    kept = values > ROUNDING * values.max(initial=0.0)
    scale = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    if wide:  # directions are sums of rows
        V = np.asarray(X.T @ (root[:, None] * vectors)) - np.outer(mean, root @ vectors)
        V *= scale
    else:
        V = vectors * kept
    places = np.asarray(X @ V) - mean @ V
    turn = column_signs(places[w > 0])
    return Coordinates(
        _filled(places * turn * size, r), _squared(values * kept, size, r), 0.0, residual, int(kept.sum()),
        mean * size, _filled(V * turn, r),
    )  # fmt: skip


def of_distances(D: Floats, weight: Floats | None, r: int) -> Coordinates:
    """From distances (n, n) by double centring; rows of weight 0 are placed as new ones are."""
    n = len(D)
    w = weights_or_ones(weight, n)
    share = w / w.sum()
    size = power_of_two(float(D.max(initial=0.0)))
    products = (D / size) ** 2
    products *= -0.5
    middle = products @ share
    B = products - middle[:, None]
    B -= middle - share @ middle
    root = np.sqrt(w)
    S = root[:, None] * B * root
    values, vectors, residual = largest(S, r)
    least = float(eigen(S, 1, smallest=True, tol=ROUGH).values[0])
    scale = max(float(values.max(initial=0.0)), 0.0)
    kept = values > ROUNDING * max(scale, abs(least))
    inverse = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    basis = root[:, None] * vectors * inverse
    places = products @ basis - middle @ basis
    turn = column_signs(places[w > 0])
    least = 0.0 if abs(least) <= ROUNDING * n * scale else least
    return Coordinates(
        _filled(places * turn * size, r), _squared(values, size, r), least * size * size, residual, int(kept.sum()),
        middle, _filled(basis * turn * size, r), size,
    )  # fmt: skip


def largest(S: Floats, r: int) -> tuple[Floats, Floats, float]:
    """The r largest eigenvalues of a symmetric matrix, their vectors, and the residual of the worst pair."""
    pairs = eigen(S, r, tol=TOLERANCE)
    residuals = np.linalg.norm(matrix_times(S)(pairs.vectors) - pairs.vectors * pairs.values, axis=0).max(initial=0.0)
    size = float(np.abs(pairs.values).max(initial=0.0))
    return pairs.values, pairs.vectors, float(residuals / size) if size > 0 else 0.0


def _filled(columns: Floats, r: int) -> Floats:
    """With columns of zeros up to r, for directions that the rows do not have."""
    return np.hstack([columns, np.zeros((len(columns), r - columns.shape[1]))])


def _squared(values: Floats, size: float, r: int) -> Floats:
    """Eigenvalues in the units of the squares, which may be beyond all numbers."""
    with np.errstate(over="ignore"):
        return _filled(values[None] * size * size, r)[0]


def power_of_two(value: float) -> float:
    """The power of two next to a number, by which numbers are divided without rounding."""
    return float(2.0 ** np.clip(np.frexp(value)[1], -1000, 1000)) if value > 0 else 1.0
