"""Compiled sums of clusters about their centres, and distances in double precision."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit

ROUND_DOWN = np.float32(1 - 2.0**-21)  # a few roundings


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def squared_distance(X: Any, i: int, origin: Any, scale: float, C: Any, j: int) -> float:  # pragma: no cover - compiled
    """‖(x − origin) · scale − c‖² in double precision."""
    x, center = X[i], C[j]
    total = 0.0
    for c in range(len(origin)):
        deviation = (x[c] - origin[c]) * scale - center[c]
        total += deviation * deviation
    return total


@njit(cache=True, nogil=True)
def add_all(
    X: Any, weight: Any, origin: Any, scale: float, pivot: Any, label: Any, start: int, stop: int, S: Any, T: Any
) -> None:  # pragma: no cover - compiled
    """Add up for every cluster with pivot p: S = Σ w (x − p), and T = Σ w ‖x − p‖², Σ w, and the number of rows."""
    for i in range(start, stop):
        w = weight[i] if len(weight) else 1.0
        if w > 0:
            _add(X, i, w, origin, scale, pivot, label[i], S, T)


@njit(cache=True, nogil=True)
def update_moved(
    X: Any, weight: Any, origin: Any, scale: float, pivot: Any, label: Any, moved: Any, before: Any, count: int,
    S: Any, T: Any,
) -> None:  # fmt: skip  # pragma: no cover - compiled
    """Update those sums for the rows that changed their cluster."""
    for m in range(count):
        i = moved[m]
        a, b = before[m], label[i]
        w = weight[i] if len(weight) else 1.0
        if w > 0:
            _add(X, i, -w, origin, scale, pivot, a, S, T)
            _add(X, i, w, origin, scale, pivot, b, S, T)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _add(
    X: Any, i: int, w: float, origin: Any, scale: float, pivot: Any, a: int, S: Any, T: Any
) -> None:  # pragma: no cover - compiled
    x, p, s = X[i], pivot[a], S[a]
    for c in range(len(origin)):
        s[c] += w * ((x[c] - origin[c]) * scale - p[c])
    T[a, 0] += w * squared_distance(X, i, origin, scale, pivot, a)
    T[a, 1] += w
    T[a, 2] += 1.0 if w > 0 else -1.0


@njit(cache=True, nogil=True)
def own_squares(
    X: Any, origin: Any, scale: float, C: Any, label: Any, start: int, stop: int, out: Any
) -> None:  # pragma: no cover - compiled
    """‖x − c‖² of every row and its own centre."""
    for i in range(start, stop):
        out[i] = squared_distance(X, i, origin, scale, C, label[i])


@njit(cache=True, nogil=True)
def lower_to_center(
    X: Any, origin: Any, scale: float, C: Any, j: int, start: int, stop: int, out: Any
) -> None:  # pragma: no cover - compiled
    """Lower `out` to the squared distance from centre j where that is less."""
    for i in range(start, stop):
        out[i] = min(out[i], squared_distance(X, i, origin, scale, C, j))


@njit(cache=True, nogil=True)
def between_centers(C: Any, first: int, last: int, out: Any) -> None:  # pragma: no cover - compiled
    """Distances between centres, rounded down, of the rows from first to last."""
    for i in range(first, last):
        for j in range(len(C)):
            out[i, j] = np.float32(np.sqrt(_square(C, i, j))) * ROUND_DOWN


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _square(C: Any, i: int, j: int) -> float:  # pragma: no cover - compiled
    x, y = C[i], C[j]
    total = 0.0
    for c in range(len(x)):
        total += (x[c] - y[c]) ** 2
    return total
