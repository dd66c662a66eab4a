"""Projection of rows on an ellipsoid, and the normal equations of the signed distances."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.types import Array, Floats

MAX_NEWTON_STEPS = 100


def signed_distances(Z: Floats, axes: Floats) -> tuple[Floats, Floats]:
    """Distances of rows in the coordinates of the axes, negative inside, and their projections on the surface.

    The projection is y_i = a_i² z_i / (g_i + s) with g_i = a_i² − min a² and s ≥ 0 the root of
    Σ (a_i z_i / (g_i + s))² = 1. Newton's method on 1/√Σ, which is concave, converges to the root from below, where
    max (a_i |z_i| − g_i) lies. It begins at min a², the root of rows on the surface; where that is above the root, its
    first step leads below. Where z vanishes along the shortest axes and the sum stays below 1, s is 0 and the remaining
    part of y lies along such an axis.

    >>> signed_distances(np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([3.0, 1.0]))[0]
    array([ 1., -1.])
    """
    size = float(axes.max())
    if size == 0:
        return np.sqrt(np.einsum("ij,ij->i", Z, Z)), np.zeros_like(Z)
    projections, distances, scaled = np.empty_like(Z), np.empty(len(Z)), axes / size
    _project_rows(np.ascontiguousarray(Z) / size, scaled, *_gaps(scaled), np.empty(len(scaled)), projections, distances)
    return size * distances, size * projections


@njit(cache=True, nogil=True, error_model="numpy")
def _project_rows(
    Z: Array, a: Array, g: Array, shortest: int, b: Array, y: Array, distances: Array
) -> None:  # pragma: no cover - compiled
    for row in range(len(Z)):
        distances[row] = _project(Z[row], a, g, shortest, b, y[row])


def _gaps(a: Floats) -> tuple[Floats, int]:
    """a² − min a², and the index of the shortest axis."""
    shortest = int(a.argmin())
    return (a - a[shortest]) * (a + a[shortest]), shortest


@njit(cache=True, nogil=True, error_model="numpy")
def _project(z: Array, a: Array, g: Array, shortest: int, b: Array, y: Array) -> Any:  # pragma: no cover - compiled
    """Set the projection of one row in y, and return its signed distance."""
    d = len(a)
    lower_bound, inside_value = 0.0, 0.0
    for i in range(d):
        b[i] = a[i] * abs(z[i])
        lower_bound = b[i] - g[i] if b[i] - g[i] > lower_bound else lower_bound
        inside_value += (z[i] / a[i]) * (z[i] / a[i])
    s = a[shortest] * a[shortest]
    s = lower_bound if lower_bound > s else s
    for iteration in range(MAX_NEWTON_STEPS):
        total, slope = 0.0, 0.0
        for i in range(d):
            if b[i] > 0.0:
                inverse = 1.0 / (g[i] + s)
                ratio = b[i] * inverse
                total += ratio * ratio
                slope += ratio * ratio * inverse
        if iteration == 0 and not (total > 1.0 and slope > 0.0):  # above the root: the first step leads below it
            start = s + total * (np.sqrt(total) - 1.0) / slope if slope > 0.0 else lower_bound
            s = start if start > lower_bound else lower_bound
            continue
        if not total > 1.0 or not slope > 0.0:
            break
        step = total * (np.sqrt(total) - 1.0) / slope
        if not step < np.inf:
            break
        s += step
        if step <= 1e-9 * s:  # the error is then of the square of that
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
    return np.sqrt(total) if inside_value > 1.0 else -np.sqrt(total)


def ellipse_equations(
    X: Floats, weight: Floats, origin: Floats, unit: float, center: Floats, axes: Floats, directions: Floats,
    gradient: Floats, hessian: Floats,
) -> float:  # fmt: skip
    """Add up the normal equations of signed distances r in the centre, the log axes and the angles; return Σw r².

    Rows are (x − origin)/unit, and `directions` are in columns.
    """
    size = float(axes.max())
    scaled = axes / size
    workspace = np.empty((6, max(len(gradient), len(scaled))))
    value = float(
        _equations(
            X, weight, origin, unit, center, size, scaled, *_gaps(scaled), directions, workspace, gradient, hessian
        )
    )
    lower = np.tril_indices(len(gradient), -1)
    hessian.T[lower] = hessian[lower]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _equations(
    X: Array, weight: Array, origin: Array, unit: float, center: Array, size: float, a: Array, g: Array, shortest: int,
    directions: Array, workspace: Array, gradient: Array, hessian: Array,
) -> float:  # pragma: no cover - compiled  # fmt: skip
    d, x, z, y, b, normal, J = (
        len(a),
        workspace[0],
        workspace[1],
        workspace[2],
        workspace[3],
        workspace[4],
        workspace[5],
    )
    value = 0.0
    for row in range(len(X)):
        for i in range(d):
            x[i] = ((X[row, i] - origin[i]) / unit - center[i]) / size
        for i in range(d):
            z[i] = 0.0
            for j in range(d):
                z[i] += directions[j, i] * x[j]
        w, r = weight[row], size * _project(z, a, g, shortest, b, y)
        length = 0.0
        for i in range(d):
            normal[i] = y[i] / (a[i] * a[i])
            length += normal[i] * normal[i]
        length = np.sqrt(length) if length > 0.0 else 1.0
        column = 2 * d
        for i in range(d):
            J[i] = 0.0
            for j in range(d):
                J[i] -= directions[i, j] * normal[j] / length
            J[d + i] = -size * y[i] * normal[i] / length
            for j in range(i + 1, d):
                J[column] = size * y[i] * y[j] * (1.0 / (a[j] * a[j]) - 1.0 / (a[i] * a[i])) / length
                column += 1
        value += w * r * r
        for i in range(len(gradient)):
            u = w * J[i]
            gradient[i] += u * r
            for j in range(i + 1):
                hessian[i, j] += u * J[j]
    return value
