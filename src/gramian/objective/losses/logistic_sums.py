"""The logistic loss of many rows at once, compiled: sums, gradients and curvatures in one go without the lock."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.exponential import exp_here
from gramian._core.types import Floats

SMALL = 1e-4  # below, log(1 + e) by its series
CELLS = 2**15  # numbers of X worked on at once: they stay in the cache between the products
CHUNK = 512  # rows whose product of 1 + e, at most 2⁵¹², has its logarithm taken


def logistic_sums(y: Floats, f: Floats, w: Floats | None, curved: bool) -> tuple[Any, Any, Floats, Floats | None]:
    """Σ w log(1 + exp(−y f)), Σ w |gradient|, the gradients times w, and the curvatures times w where asked for.

    f is (n,), or (M, n) for M models, each with its own sums.
    """
    table = np.ascontiguousarray(f).reshape(-1, f.shape[-1])
    g = np.empty_like(table)
    h = np.empty_like(table) if curved else np.empty((0, 0))
    sums = np.zeros((2, len(table)))
    _models(np.ascontiguousarray(y), table, np.empty(0) if w is None else np.ascontiguousarray(w), g, h, sums)
    if f.ndim == 1:
        return float(sums[0, 0]), float(sums[1, 0]), g[0], h[0] if curved else None
    return sums[0], sums[1], g, h if curved else None


@njit(cache=True, nogil=True)
def _models(y: Any, f: Any, w: Any, g: Any, h: Any, sums: Any) -> None:  # pragma: no cover - compiled
    for k in range(len(f)):
        sums[0, k], sums[1, k] = _logistic(y, f[k], w, g[k], h[k] if len(h) else w[:0])


@njit(cache=True, nogil=True)
def _logistic(y: Any, f: Any, w: Any, g: Any, h: Any) -> Any:  # pragma: no cover - compiled
    """Σ w loss and Σ w |gradient| of one model; g and h become the gradients and curvatures times w."""
    value, size, n = 0.0, 0.0, len(f)
    e, bits, one = np.empty(CHUNK), np.empty(CHUNK, dtype=np.int64), np.ones(CHUNK)
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        share = w[start:stop] if len(w) else one[: stop - start]
        part, slopes = e[: stop - start], g[start:stop]
        _margins(y[start:stop], f[start:stop], slopes, part)
        exp_here(part, stop - start, bits)
        value += _values(slopes, part, share, len(w) > 0)
        size += _slopes(y[start:stop], slopes, part, share, h[start:stop])
    return value, size


@njit(cache=True, nogil=True, fastmath={"contract"})
def _margins(y: Any, f: Any, margins: Any, exponents: Any) -> None:  # pragma: no cover - compiled
    for i in range(len(y)):
        m = y[i] * f[i]
        margins[i] = m
        exponents[i] = -abs(m)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _values(margins: Any, e: Any, share: Any, weighted: bool) -> float:  # pragma: no cover - compiled
    """Σ share (max(−m, 0) + log(1 + e)): the logarithm of a product, where all shares are one."""
    total, product = 0.0, 1.0
    for i in range(len(e)):
        small = e[i]
        series = small * (1.0 - small * (0.5 - small * (1.0 / 3.0 - 0.25 * small)))
        total += share[i] * (max(-margins[i], 0.0) + (series if small < SMALL else 0.0))
    if weighted:
        for i in range(len(e)):
            if e[i] >= SMALL:
                total += share[i] * np.log(1.0 + e[i])
        return total
    for i in range(len(e)):
        product *= 1.0 if e[i] < SMALL else 1.0 + e[i]
    return total + np.log(product)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _slopes(y: Any, margins: Any, e: Any, share: Any, curvatures: Any) -> float:  # pragma: no cover - compiled
    """The gradients in place of the margins, the curvatures, and Σ |gradient|."""
    total = 0.0
    if len(curvatures):
        for i in range(len(e)):
            q = 1.0 / (1.0 + e[i])
            curvatures[i] = share[i] * e[i] * q * q
    for i in range(len(e)):
        q = 1.0 / (1.0 + e[i])
        wrong = share[i] * (e[i] * q if margins[i] > 0.0 else q)
        total += wrong
        margins[i] = -y[i] * wrong
    return total


def logistic_sweep(X: Floats, y: Floats, w: Floats | None, coef: Floats, offset: Floats) -> tuple[Floats, ...]:
    """Of M models coef (M, d) and offset (M,): Σ w loss, Σ w |gradient|, Σ g xᵀ and Σ g, with the rows read once."""
    M, d = coef.shape
    sums, products, totals = np.zeros((2, M)), np.zeros((M, d)), np.zeros(M)
    weight = np.empty(0) if w is None else np.ascontiguousarray(w)
    _sweep(X, np.ascontiguousarray(y), weight, coef, offset, max(CELLS // d, 16), sums, products, totals)
    return sums[0], sums[1], products, totals


@njit(cache=True, nogil=True)
def _sweep(
    X: Any, y: Any, w: Any, coef: Any, offset: Any, rows: int, sums: Any, products: Any, totals: Any
) -> None:  # pragma: no cover - compiled
    f, g = np.empty(rows), np.empty(rows)
    for start in range(0, len(X), rows):
        n = min(rows, len(X) - start)
        part, share = X[start : start + n], w[start : start + n]
        for k in range(len(coef)):
            _predict(part, coef[k], offset[k], f[:n])
            value, size = _logistic(y[start : start + n], f[:n], share, g[:n], g[:0])
            sums[0, k] += value
            sums[1, k] += size
            totals[k] += _pull(part, g[:n], products[k])


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _predict(X: Any, coef: Any, offset: float, f: Any) -> None:  # pragma: no cover - compiled
    for i in range(len(X)):
        total = offset
        for j in range(len(coef)):
            total += X[i, j] * coef[j]
        f[i] = total


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _pull(X: Any, g: Any, product: Any) -> float:  # pragma: no cover - compiled
    """Σ g xᵀ added to `product`, four rows at a time; returns Σ g."""
    n, d = X.shape
    total = 0.0
    for i in range(0, n - n % 4, 4):
        a, b, c, e = g[i], g[i + 1], g[i + 2], g[i + 3]
        total += a + b + c + e
        for j in range(d):
            product[j] += a * X[i, j] + b * X[i + 1, j] + c * X[i + 2, j] + e * X[i + 3, j]
    for i in range(n - n % 4, n):
        total += g[i]
        for j in range(d):
            product[j] += g[i] * X[i, j]
    return total
