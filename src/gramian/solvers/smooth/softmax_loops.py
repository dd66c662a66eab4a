"""Compiled passes over the rows of several softmax models: products with X by BLAS, and all else in one go."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.exponential import exp_here, expm1_single_here

BLOCK = 256  # rows whose predictions of all models stay in the cache


@njit(cache=True, nogil=True)
def gradient_sums(
    Z: Any, codes: Any, train: Any, theta: Any, P: Any, total: Any, own: Any, g: Any
) -> None:  # pragma: no cover - compiled
    """Of M models θ (M m, p): probabilities P (M, m, n), Σ exp(f − max f) and f of the own class − max f, each (M, n).

    g (M m, p) becomes Σ train · P zᵀ.
    """
    count, m, n = P.shape
    room, bits = np.empty(count * m * BLOCK), np.empty(m * BLOCK, dtype=np.int64)
    top = np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        b = min(BLOCK, n - start)
        rows = Z[start : start + b]
        f = room[: count * m * b].reshape((count * m, b))
        np.dot(theta, rows.T, f)
        for k in range(count):
            first = k * m
            _copy(f[first], top, b)
            for a in range(1, m):
                _largest(f[first + a], top, b)
            for a in range(m):
                _subtract(f[first + a], top, b)
            sums = total[k, start : start + b]
            for i in range(b):
                own[k, start + i] = f[first + codes[start + i], i]
            exp_here(room[first * b : (first + m) * b], m * b, bits)
            sums[:] = 0.0
            for a in range(m):
                _add(f[first + a], sums, b)
            for i in range(b):
                top[i] = 1.0 / sums[i]
            for a in range(m):
                _probabilities(f[first + a], top, train[k, start : start + b], P[k, a, start : start + b], b)
        g += np.dot(f, rows)


@njit(cache=True, nogil=True)
def hessian_products(Z: Any, train: Any, P: Any, v: Any, q: Any) -> None:  # pragma: no cover - compiled
    """q (M m, p) becomes Hv of the losses of M models, v (M m, p)."""
    count, m, n = P.shape
    room, mean = np.empty(count * m * BLOCK, dtype=np.float32), np.empty(BLOCK, dtype=np.float32)
    for start in range(0, n, BLOCK):
        b = min(BLOCK, n - start)
        rows = Z[start : start + b]
        c = room[: count * m * b].reshape((count * m, b))
        np.dot(v, rows.T, c)
        for k in range(count):
            mean[:] = 0.0
            for a in range(m):
                _add_product(P[k, a, start : start + b], c[k * m + a], mean, b)
            for a in range(m):
                _centred(P[k, a, start : start + b], c[k * m + a], mean, train[k, start : start + b], b)
        q += np.dot(c, rows)


@njit(cache=True, nogil=True)
def neglected_sums(Z: Any, train: Any, P: Any, x: Any, g: Any) -> None:  # pragma: no cover - compiled
    """g (M m, p) becomes the gradients of the losses at θ + x less those at θ and Hx."""
    count, m, n = P.shape
    room, mean = np.empty(count * m * BLOCK, dtype=np.float32), np.empty(BLOCK, dtype=np.float32)
    change, bits = np.empty(m * BLOCK, dtype=np.float32), np.empty(m * BLOCK, dtype=np.int32)
    for start in range(0, n, BLOCK):
        b = min(BLOCK, n - start)
        rows = Z[start : start + b]
        c = room[: count * m * b].reshape((count * m, b))
        np.dot(x, rows.T, c)
        e = change[: m * b].reshape((m, b))
        for k in range(count):
            mean[:] = 0.0
            for a in range(m):
                _add_product(P[k, a, start : start + b], c[k * m + a], mean, b)
            for a in range(m):
                _subtract(c[k * m + a], mean, b)
                _copy(c[k * m + a], e[a], b)
            expm1_single_here(change, m * b, bits)
            mean[:] = 0.0
            for a in range(m):
                _add_product(P[k, a, start : start + b], e[a], mean, b)
            for a in range(m):
                _remainder(P[k, a, start : start + b], e[a], c[k * m + a], mean, train[k, start : start + b], b)
        g += np.dot(c, rows)


@njit(cache=True, nogil=True)
def _copy(x: Any, y: Any, n: int) -> None:  # pragma: no cover - compiled
    for i in range(n):
        y[i] = x[i]


@njit(cache=True, nogil=True)
def _largest(x: Any, top: Any, n: int) -> None:  # pragma: no cover - compiled
    for i in range(n):
        top[i] = x[i] if x[i] > top[i] else top[i]


@njit(cache=True, nogil=True)
def _subtract(x: Any, y: Any, n: int) -> None:  # pragma: no cover - compiled
    for i in range(n):
        x[i] -= y[i]


@njit(cache=True, nogil=True)
def _add(x: Any, total: Any, n: int) -> None:  # pragma: no cover - compiled
    for i in range(n):
        total[i] += x[i]


@njit(cache=True, nogil=True)
def _add_product(p: Any, x: Any, total: Any, n: int) -> None:  # pragma: no cover - compiled
    for i in range(n):
        total[i] += p[i] * x[i]


@njit(cache=True, nogil=True)
def _probabilities(e: Any, inverse: Any, train: Any, P: Any, n: int) -> None:  # pragma: no cover - compiled
    for i in range(n):
        p = e[i] * inverse[i]
        P[i] = p
        e[i] = p * train[i]


@njit(cache=True, nogil=True)
def _centred(p: Any, c: Any, mean: Any, train: Any, n: int) -> None:  # pragma: no cover - compiled
    for i in range(n):
        c[i] = p[i] * (c[i] - mean[i]) * train[i]


@njit(cache=True, nogil=True)
def _remainder(p: Any, e: Any, c: Any, mean: Any, train: Any, n: int) -> None:  # pragma: no cover - compiled
    one = np.float32(1.0)
    for i in range(n):
        c[i] = ((e[i] - mean[i]) / (one + mean[i]) - c[i]) * p[i] * train[i]
