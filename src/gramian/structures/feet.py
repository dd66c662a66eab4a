"""The nearest point of an ellipsoid, for many rows at once."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEPS = 100


def signed_distances(Z: Floats, axes: Floats) -> tuple[Floats, Floats]:
    """Distances of rows in the coordinates of the axes, negative inside, and the nearest points of the surface.

    The foot is y_i = a_i² z_i / (g_i + s) with g_i = a_i² − min a² and s ≥ 0 the root of Σ (a_i z_i / (g_i + s))² = 1.
    Newton's method on 1/√Σ rises to it from any s where the sum is at least 1, of which max (a_i |z_i| − g_i) is one.
    Where z vanishes along the shortest axes and the sum stays below 1, s is 0 and the rest lies along such an axis.

    >>> signed_distances(np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([3.0, 1.0]))[0]
    array([ 1., -1.])
    """
    size = float(axes.max())
    if size == 0:
        return np.sqrt(np.einsum("ij,ij->i", Z, Z)), np.zeros_like(Z)
    y, far = np.empty_like(Z), np.empty(len(Z))
    _feet(np.ascontiguousarray(Z) / size, axes / size, y, far)
    return size * far, size * y


@njit(cache=True, nogil=True)
def _feet(Z: Any, a: Any, y: Any, far: Any) -> None:  # pragma: no cover - compiled
    n, d = Z.shape
    shortest = 0
    for i in range(d):
        if a[i] < a[shortest]:
            shortest = i
    g, b = np.empty(d), np.empty(d)
    for i in range(d):
        g[i] = (a[i] - a[shortest]) * (a[i] + a[shortest])
    for row in range(n):
        s, out = 0.0, 0.0
        for i in range(d):
            b[i] = a[i] * abs(Z[row, i])
            s = max(s, b[i] - g[i])
            out += (Z[row, i] / a[i]) ** 2
        for _ in range(STEPS):
            total, slope = 0.0, 0.0
            for i in range(d):
                if b[i] > 0.0:
                    part = b[i] / (g[i] + s)
                    total += part * part
                    slope += part * part / (g[i] + s)
            if not total > 1.0 or not slope > 0.0:
                break
            step = total * (np.sqrt(total) - 1.0) / slope
            if not step > 1e-16 * s or not np.isfinite(step):
                break
            s += step
        inside = 0.0
        for i in range(d):
            y[row, i] = a[i] * a[i] * Z[row, i] / (g[i] + s) if b[i] > 0.0 else 0.0
            inside += (y[row, i] / a[i]) ** 2
        if s == 0.0 and inside < 1.0:
            y[row, shortest] = a[shortest] * np.sqrt(1.0 - inside)
        total = 0.0
        for i in range(d):
            total += (Z[row, i] - y[row, i]) ** 2
        far[row] = np.sqrt(total) if out > 1.0 else -np.sqrt(total)
