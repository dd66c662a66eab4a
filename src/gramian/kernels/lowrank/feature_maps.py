"""Explicit features: of a finite matrix, of polynomials, and of the Gaussian kernel in one dimension."""

from itertools import combinations_with_replacement
from math import comb, lgamma
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.kernels.validity.definite import ROUNDING, definiteness
from gramian.rows import single_threaded_blas

MAX_FEATURES = 10**6
SMALL_ERROR = 1e-12


def feature_map(K: Any) -> Floats:
    """Features of n points from their matrix K = UΛUᵀ: the rows of UΛ^½, so that K = ΦΦᵀ.

    Columns come by falling eigenvalue; those whose eigenvalue is zero up to rounding are left out. O(n³).

    >>> feature_map([[2.0, 0.0], [0.0, 9.0]])
    array([[0.        , 1.41421356],
           [3.        , 0.        ]])
    """
    K = _square(K)
    judged = definiteness(K)
    if judged.refuted_beyond(ROUNDING) and judged.pair is not None:
        i, j = judged.pair
        raise ValueError(f"K is not symmetric: K[{i}, {j}] = {K[i, j]:g} and K[{j}, {i}] = {K[j, i]:g}.")
    if judged.refuted_beyond(ROUNDING):
        raise ValueError(
            f"K is not positive semi-definite: its smallest eigenvalue, in units of its diagonal, is "
            f"{judged.smallest:.4g}. gm.kernels.repaired(K) is the nearest matrix that is."
        )
    with single_threaded_blas():
        values, U = np.linalg.eigh(0.5 * K + 0.5 * K.T)
    kept = np.flatnonzero(values > len(K) * np.finfo(float).eps * values[-1])[::-1]
    U = U[:, kept]
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(len(kept))])
    return np.asarray(U * signs * np.sqrt(values[kept]))


def repaired(K: Any) -> Floats:
    """The nearest symmetric positive semi-definite matrix: K made symmetric, its negative eigenvalues set to 0.

    Nearest in the sum of squared differences. O(n³).

    >>> repaired([[0.0, 2.0], [2.0, 0.0]])
    array([[1., 1.],
           [1., 1.]])
    """
    K = _square(K)
    K = (K + K.T) / 2
    with single_threaded_blas():
        values, U = np.linalg.eigh(K)
        if values[0] >= 0:
            return K
        below = values < 0
        V = U[:, below]
        nearest = K + (V * -values[below]) @ V.T
    return np.asarray((nearest + nearest.T) / 2)


def monomials(X: Floats, degree: int, constant: float) -> Floats:
    """Features of (xᵀx' + constant)^degree: √(multinomial coefficient · constant^rest) times each monomial."""
    n, d = X.shape
    if constant > 0:
        X = np.hstack([X, np.full((n, 1), np.sqrt(constant))])
    if (count := comb(X.shape[1] + degree - 1, degree)) > MAX_FEATURES:
        raise ValueError(
            f"A polynomial of degree {degree} in {d} columns has {count:,} features; use the kernel without them."
        )
    features = np.empty((n, count))
    for place, chosen in enumerate(combinations_with_replacement(range(X.shape[1]), degree)):
        repeats = np.bincount(chosen)
        factor = np.exp(0.5 * (lgamma(degree + 1) - sum(lgamma(r + 1) for r in repeats)))
        features[:, place] = factor * X[:, list(chosen)].prod(axis=1)
    return features


def gaussian_series(x: Floats, terms: int) -> Floats:
    """xⁱ exp(−x²/2) / √i! for i < terms, through logarithms so that neither factor overflows."""
    if terms < 1:
        raise ValueError(f"terms is {terms}; give at least 1.")
    i = np.arange(terms)
    size = np.abs(x)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.where(i == 0, 0.0, i * np.log(size))
    features = np.exp(powers - 0.5 * size**2 - 0.5 * np.array([lgamma(k + 1) for k in i]))
    return np.where((x[:, None] < 0) & (i % 2 == 1), -features, features)


def series_error(x: Floats, terms: int) -> float:
    """The largest error of a product of two rows of the series, reached at the row farthest from zero with itself."""
    from scipy.special import gammainc

    return float(gammainc(terms, float(np.max(x**2)))) if terms > 0 else 1.0


def terms_for(x: Floats) -> int:
    """How many terms make the error at most 1e-12."""
    low, high = 0, 1
    while series_error(x, high) > SMALL_ERROR:
        low, high = high, 2 * high
        if high * len(x) > 10**8:
            raise ValueError(
                f"The series needs more than {low:,} terms for rows {np.abs(x).max():.3g} length scales from zero; "
                "move the rows towards zero (the kernel does not change), or give terms=."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if series_error(x, middle) > SMALL_ERROR else (low, middle)
    return high


def _square(K: Any) -> Floats:
    K = np.asarray(K.toarray() if hasattr(K, "toarray") else K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise ValueError(f"K has shape {K.shape}; it must be a square matrix.")
    if not np.isfinite(K).all():
        i, j = np.unravel_index((~np.isfinite(K)).argmax(), K.shape)
        raise ValueError(f"K holds NaN or infinity at row {i}, column {j}.")
    return K
