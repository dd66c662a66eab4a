"""The nearest point of an ellipsoid, for many rows at once, and how distances change with the ellipsoid."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core.numerics.compiled import compiled_later, njit
from gramian._core.numerics.small_tables import is_small

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
    loop = _few_feet if is_small(Z.size) else _feet
    loop(np.ascontiguousarray(Z) / size, a, *_gaps(a), np.empty(len(a)), y, far)
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
    loop = _few_equations if is_small(X.size) else _equations
    value = float(loop(X, weight, origin, unit, center, size, a, *_gaps(a), turn, room, slope, curve))
    lower = _below_diagonal(len(slope))
    curve.T[lower] = curve[lower]
    return value


@cache
def _below_diagonal(p: int) -> Any:
    return np.tril_indices(p, -1)


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


def _plain_feet(Z: Floats, a: Floats, g: Floats, shortest: int, b: Floats, y: Floats, far: Floats) -> None:
    """`_feet` in NumPy, for few rows."""
    y.T[...], far[...] = _plain_foot(np.ascontiguousarray(Z.T), a, g, shortest)


def _plain_foot(Z: Floats, a: Floats, g: Floats, shortest: int) -> tuple[Floats, Floats]:
    """`_foot` of all columns of Z at once: the same steps and sums in the same order."""
    axis, gap = a[:, None], g[:, None]
    b = axis * np.abs(Z)
    counts = b > 0.0
    everywhere = bool(counts.all())
    with np.errstate(all="ignore"):
        low = np.maximum((b - gap).max(axis=0), 0.0)
        s = np.maximum(low, a[shortest] * a[shortest])
        total, slope = _secular(b, gap, s, counts if not everywhere else None)
        step = total * (np.sqrt(total) - 1.0) / slope
        short = ~((total > 1.0) & (slope > 0.0))
        first = np.where(slope > 0.0, s + step, low)
        going = short | ((step < np.inf) & ~(step <= 1e-9 * (s + step)))
        s = np.where(short, np.where(first > low, first, low), np.where(step < np.inf, s + step, s))
        index = np.flatnonzero(going)
        t, b, among = s[index], b[:, index], counts[:, index]
        for _ in range(STEPS - 1):
            total, slope = _secular(b, gap, t, among if not everywhere else None)
            step = total * (np.sqrt(total) - 1.0) / slope
            going = (step > 0.0) & (step < np.inf)  # where the sum is above 1 and has a slope
            np.add(t, step, out=t, where=going)
            going &= step > 1e-9 * t
            rest = np.flatnonzero(going)
            if len(rest) < len(t):
                s[index] = t
                index, t, b, among = index[rest], t[rest], b[:, rest], among[:, rest]
                if not len(rest):
                    break
        s[index] = t
        y = (axis * axis) * Z / (gap + s)
        if not everywhere:
            y = np.where(counts, y, 0.0)
        at_zero = s == 0.0
        if at_zero.any():
            inside = _sum((y / axis) * (y / axis))
            at_zero &= inside < 1.0
            y[shortest] = np.where(at_zero, a[shortest] * np.sqrt(1.0 - inside), y[shortest])
        out = Z / axis
        far = np.sqrt(_sum((Z - y) * (Z - y)))
        return y, np.where(_sum(out * out) > 1.0, far, -far)


def _secular(b: Floats, gap: Floats, s: Floats, counts: Any) -> tuple[Floats, Floats]:
    """Σ (b / (g + s))² and half of its slope, over the coordinates that count."""
    inverse = 1.0 / (gap + s)
    part = b * inverse
    part *= part
    inverse *= part
    if counts is None:
        return _sum(part), _sum(inverse)
    return _sum(np.where(counts, part, 0.0)), _sum(np.where(counts, inverse, 0.0))


def _sum(A: Floats) -> Floats:
    """The sum of the rows, one after the other."""
    total = A[0].copy()
    for row in A[1:]:
        total += row
    return total


def _plain_equations(
    X: Floats, weight: Floats, origin: Floats, unit: float, center: Floats, size: float, a: Floats, g: Floats,
    shortest: int, turn: Floats, room: Floats, slope: Floats, curve: Floats,
) -> float:  # fmt: skip
    """`_equations` in NumPy, for few rows."""
    d, p, n = len(a), len(slope), len(X)
    x = (((X - origin) / unit - center) / size).T
    y, far = _plain_foot(_sum(turn[:, :, None] * x[:, None]), a, g, shortest)
    r = size * far
    squares = a * a
    steep = y / squares[:, None]
    long = _sum(steep * steep)
    long = np.where(long > 0.0, np.sqrt(long), 1.0)
    J = np.empty((n, p + 1))
    J.T[:d] = -_sum(turn.T[:, :, None] * steep[:, None] / long)
    J.T[d : 2 * d] = -size * y * steep / long
    i, j = _above_diagonal(d)
    J.T[2 * d : p] = size * y[i] * y[j] * (1.0 / squares[j] - 1.0 / squares[i])[:, None] / long
    J[:, p] = r
    products = (weight[:, None] * J[:, :p])[:, :, None] * J[:, None]
    sums = products.sum(axis=0)
    slope += sums[:, p]
    curve += np.tril(sums[:, :p])
    return float(np.add.accumulate(weight * r * r)[-1])


@cache
def _above_diagonal(p: int) -> Any:
    return np.triu_indices(p, 1)


_few_feet = compiled_later(_feet, _plain_feet, _feet)
_few_equations = compiled_later(_equations, _plain_equations, _equations)
