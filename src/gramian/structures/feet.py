"""The nearest point of an ellipsoid, for many rows at once, and how distances change with the ellipsoid."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.compiled import njit

Floats = NDArray[np.float64]
STEPS = 100


def signed_distances(Z: Floats, axes: Floats) -> tuple[Floats, Floats]:
    """Distances of rows in the coordinates of the axes, negative inside, and the nearest points of the surface.

    The foot is y_i = a_i² z_i / (g_i + s) with g_i = a_i² − min a² and s ≥ 0 the root of Σ (a_i z_i / (g_i + s))² = 1.
    Newton's method on 1/√Σ, which is concave, rises to it from any s where the sum is at least 1, of which
    max (a_i |z_i| − g_i) is one; it begins at min a², the root of rows on the surface, and if that is beyond the root,
    its first step leads below.
    Where z vanishes along the shortest axes and the sum stays below 1, s is 0 and the rest lies along such an axis.

    >>> signed_distances(np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([3.0, 1.0]))[0]
    array([ 1., -1.])
    """
    size = float(axes.max())
    if size == 0:
        return np.sqrt(np.einsum("ij,ij->i", Z, Z)), np.zeros_like(Z)
    y, far, a = np.empty_like(Z), np.empty(len(Z)), axes / size
    _feet(np.ascontiguousarray(Z) / size, a, *_gaps(a), np.empty(len(a)), y, far)
    return size * far, size * y


@njit(cache=True, nogil=True, error_model="numpy")
def _feet(Z: Any, a: Any, g: Any, shortest: int, b: Any, y: Any, far: Any) -> None:  # pragma: no cover - compiled
    for row in range(len(Z)):
        far[row] = _foot(Z[row], a, g, shortest, b, y[row])


def _gaps(a: Floats) -> tuple[Floats, int]:
    """a² − min a², and where the shortest axis is."""
    shortest = int(a.argmin())
    return (a - a[shortest]) * (a + a[shortest]), shortest


@njit(cache=True, nogil=True, error_model="numpy")
def _foot(z: Any, a: Any, g: Any, shortest: int, b: Any, y: Any) -> Any:  # pragma: no cover - compiled
    """Sets the foot of one row, and returns its signed distance."""
    d = len(a)
    low, out = 0.0, 0.0
    for i in range(d):
        b[i] = a[i] * abs(z[i])
        low = b[i] - g[i] if b[i] - g[i] > low else low
        out += (z[i] / a[i]) * (z[i] / a[i])
    s = a[shortest] * a[shortest]
    s = low if low > s else s
    for turn in range(STEPS):
        total, slope = 0.0, 0.0
        for i in range(d):
            if b[i] > 0.0:
                inverse = 1.0 / (g[i] + s)
                part = b[i] * inverse
                total += part * part
                slope += part * part * inverse
        if turn == 0 and not (total > 1.0 and slope > 0.0):  # from beyond the root the first step falls short of it
            first = s + total * (np.sqrt(total) - 1.0) / slope if slope > 0.0 else low
            s = first if first > low else low
            continue
        if not total > 1.0 or not slope > 0.0:
            break
        step = total * (np.sqrt(total) - 1.0) / slope
        if not step < np.inf:
            break
        s += step
        if step <= 1e-9 * s:  # the error that is left is the square of that
            break
    inside = 0.0
    for i in range(d):
        y[i] = a[i] * a[i] * z[i] / (g[i] + s) if b[i] > 0.0 else 0.0
        inside += (y[i] / a[i]) * (y[i] / a[i])
    if s == 0.0 and inside < 1.0:
        y[shortest] = a[shortest] * np.sqrt(1.0 - inside)
    total = 0.0
    for i in range(d):
        total += (z[i] - y[i]) * (z[i] - y[i])
    return np.sqrt(total) if out > 1.0 else -np.sqrt(total)


def ellipse_equations(
    X: Floats, weight: Floats, origin: Floats, unit: float, center: Floats, axes: Floats, turn: Floats, slope: Floats,
    curve: Floats,
) -> float:  # fmt: skip
    """Adds up the equations of signed distances r in the centre, the logarithms of the axes and the angles.

    Rows are (x − origin)/unit; `turn` has the directions in columns. Returns Σw r².
    """
    size = float(axes.max())
    a = axes / size
    room = np.empty((6, max(len(slope), len(a))))
    value = float(_equations(X, weight, origin, unit, center, size, a, *_gaps(a), turn, room, slope, curve))
    curve += np.tril(curve, -1).T
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _equations(
    X: Any, weight: Any, origin: Any, unit: float, center: Any, size: float, a: Any, g: Any, shortest: int, turn: Any,
    room: Any, slope: Any, curve: Any,
) -> float:  # pragma: no cover - compiled  # fmt: skip
    d, x, z, y, b, steep, J = len(a), room[0], room[1], room[2], room[3], room[4], room[5]
    value = 0.0
    for row in range(len(X)):
        for i in range(d):
            x[i] = ((X[row, i] - origin[i]) / unit - center[i]) / size
        for i in range(d):
            z[i] = 0.0
            for j in range(d):
                z[i] += turn[j, i] * x[j]
        w, r = weight[row], size * _foot(z, a, g, shortest, b, y)
        long = 0.0
        for i in range(d):
            steep[i] = y[i] / (a[i] * a[i])
            long += steep[i] * steep[i]
        long = np.sqrt(long) if long > 0.0 else 1.0
        at = 2 * d
        for i in range(d):
            J[i] = 0.0
            for j in range(d):
                J[i] -= turn[i, j] * steep[j] / long
            J[d + i] = -size * y[i] * steep[i] / long
            for j in range(i + 1, d):
                J[at] = size * y[i] * y[j] * (1.0 / (a[j] * a[j]) - 1.0 / (a[i] * a[i])) / long
                at += 1
        value += w * r * r
        for i in range(len(slope)):
            u = w * J[i]
            slope[i] += u * r
            for j in range(i + 1):
                curve[i, j] += u * J[j]
    return value
