"""Projection of rows on an ellipsoid, and the normal equations of the signed distances."""

from functools import cache
from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.small_tables import is_small, sums_in_order
from gramian._core.types import Array, Bools, Floats

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
    loop = _project_rows_plain if is_small(Z.size) else _project_rows
    loop(np.ascontiguousarray(Z) / size, scaled, *_gaps(scaled), np.empty(len(scaled)), projections, distances)
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
    lower = _below_diagonal(len(gradient))
    hessian.T[lower] = hessian[lower]
    return value


@cache
def _below_diagonal(p: int) -> Any:
    return np.tril_indices(p, -1)


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


def _project_rows_plain(
    Z: Floats, a: Floats, g: Floats, shortest: int, b: Floats, y: Floats, distances: Floats
) -> None:
    """`_project_rows` in NumPy, for few rows."""
    y.T[...], distances[...] = _project_plain(np.ascontiguousarray(Z.T), a, g, shortest)


def _project_plain(Z: Floats, a: Floats, g: Floats, shortest: int) -> tuple[Floats, Floats]:
    """`_project` of all columns of Z at once: the same steps and sums in the same order."""
    axis, gap = a[:, None], g[:, None]
    b = axis * np.abs(Z)
    positive = b > 0.0
    all_positive = bool(positive.all())
    with np.errstate(all="ignore"):
        lower_bound = np.maximum((b - gap).max(axis=0), 0.0)
        s = np.maximum(lower_bound, a[shortest] * a[shortest])
        total, slope = _secular(b, gap, s, None if all_positive else positive)
        step = total * (np.sqrt(total) - 1.0) / slope
        above_root = ~((total > 1.0) & (slope > 0.0))
        first = np.where(slope > 0.0, s + step, lower_bound)
        iterating = above_root | ((step < np.inf) & ~(step <= 1e-9 * (s + step)))
        s = np.where(
            above_root, np.where(first > lower_bound, first, lower_bound), np.where(step < np.inf, s + step, s)
        )
        index = np.flatnonzero(iterating)
        t, b, mask = s[index], b[:, index], positive[:, index]
        for _ in range(MAX_NEWTON_STEPS - 1):
            total, slope = _secular(b, gap, t, None if all_positive else mask)
            step = total * (np.sqrt(total) - 1.0) / slope
            iterating = (step > 0.0) & (step < np.inf)  # where the sum is above 1 and has a slope
            np.add(t, step, out=t, where=iterating)
            iterating &= step > 1e-9 * t
            rest = np.flatnonzero(iterating)
            if len(rest) < len(t):
                s[index] = t
                index, t, b, mask = index[rest], t[rest], b[:, rest], mask[:, rest]
                if not len(rest):
                    break
        s[index] = t
        y = (axis * axis) * Z / (gap + s)
        if not all_positive:
            y = np.where(positive, y, 0.0)
        at_zero = s == 0.0
        if at_zero.any():
            inside = sums_in_order((y / axis) * (y / axis))
            at_zero &= inside < 1.0
            y[shortest] = np.where(at_zero, a[shortest] * np.sqrt(1.0 - inside), y[shortest])
        scaled = Z / axis
        distances = np.sqrt(sums_in_order((Z - y) * (Z - y)))
        return y, np.where(sums_in_order(scaled * scaled) > 1.0, distances, -distances)


def _secular(b: Floats, gap: Floats, s: Floats, mask: Bools | None) -> tuple[Floats, Floats]:
    """Σ (b / (g + s))² and half of its slope, over the coordinates of the mask."""
    inverse = 1.0 / (gap + s)
    part = b * inverse
    part *= part
    inverse *= part
    if mask is None:
        return sums_in_order(part), sums_in_order(inverse)
    return sums_in_order(np.where(mask, part, 0.0)), sums_in_order(np.where(mask, inverse, 0.0))
