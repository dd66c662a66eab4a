"""What a fitted structure looks like in a plane: a centre, lines along it, contours of a density."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian.charts.text import Floats

ARC = np.linspace(0.0, 2.0 * np.pi, 97)
ROUND = np.column_stack([np.cos(ARC), np.sin(ARC)])
BEYOND = 0.06  # of the extent of its rows, by which a line is longer


@dataclass(frozen=True, eq=False)
class Outline:
    """Of the structure at a place: a centre to be marked or None, and lines (m, 2), solid and dashed."""

    place: int
    center: Floats | None = None
    solid: list[Floats] = field(default_factory=list)
    dashed: list[Floats] = field(default_factory=list)


def outlines(structures: list[Any], points: Floats, owner: Any, ends: Floats, origin: Floats, basis: Any) -> list[Any]:
    """Outlines in the plane of two columns, or in that through `origin` along the rows of `basis` (2, d)."""
    found = []
    for place, each in enumerate(structures):
        outline = _outline(each, place, points[owner == place], ends, origin, basis)
        if outline is not None:
            found.append(outline)
    return found


def _outline(each: Any, place: int, own: Floats, ends: Floats, origin: Floats, basis: Any) -> Outline | None:
    spread = getattr(each, "covariance_", getattr(each, "scale_", None))
    if hasattr(each, "mean_") and spread is not None:
        middle = np.asarray(each.mean_, dtype=np.float64)
        if len(middle) < 2:
            return Outline(place, np.array([float(middle[0]), 0.0]))
        root = _root(_shadow(_matrix(spread, len(middle)), basis))
        center = _at(middle, origin, basis)
        return Outline(place, None, [center + ROUND @ root.T], [center + 2.0 * ROUND @ root.T])
    if not hasattr(each, "center_"):
        return None
    middle = np.asarray(each.center_, dtype=np.float64)
    if len(middle) < 2:
        return Outline(place, np.array([float(middle[0]), 0.0]))
    center = _at(middle, origin, basis)
    if hasattr(each, "radius_"):
        return Outline(place, None, [center + float(each.radius_) * ROUND])
    if hasattr(each, "axes_"):
        along = np.asarray(each.directions_) * np.asarray(each.axes_)[:, None]
        root = _root(_shadow(along.T @ along, basis))
        return Outline(place, None, [center + ROUND @ root.T])
    direction = _direction(each, basis)
    if direction is None:
        flat = hasattr(each, "normal_") or hasattr(each, "directions_")
        return None if flat else Outline(place, center)
    return Outline(place, None, [_segment(center, direction, own, ends)])


def _direction(each: Any, basis: Any) -> Floats | None:
    """Of a line in the plane: its own, or of a plane of two columns that at right angles to the normal."""
    if hasattr(each, "direction_"):
        found = np.asarray(each.direction_, dtype=np.float64)
        found = found if basis is None else basis @ found
    elif hasattr(each, "normal_") and basis is None:
        normal = np.asarray(each.normal_, dtype=np.float64)
        found = np.array([-normal[1], normal[0]])
    else:
        return None
    size = float(np.linalg.norm(found))
    return found / size if size > 1e-9 else None


def _segment(center: Floats, direction: Floats, own: Floats, ends: Floats) -> Floats:
    """As far as its rows go, or over the whole window."""
    if len(own) > 1:
        along = (own - center) @ direction
        low, high = float(along.min()), float(along.max())
        low, high = low - BEYOND * (high - low), high + BEYOND * (high - low)
    else:
        high = float(np.hypot(*np.ptp(ends, axis=1)))
        low = -high
    return center + np.array([[low], [high]]) * direction


def _at(x: Floats, origin: Floats, basis: Any) -> Floats:
    return x if basis is None else basis @ (x - origin)


def _matrix(spread: Any, d: int) -> Floats:
    """A covariance that may be given as variances, or as one."""
    spread = np.asarray(spread, dtype=np.float64)
    return spread if spread.ndim == 2 else np.diag(np.broadcast_to(spread, d))


def _shadow(matrix: Floats, basis: Any) -> Floats:
    return matrix if basis is None else basis @ matrix @ basis.T


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0.0))
