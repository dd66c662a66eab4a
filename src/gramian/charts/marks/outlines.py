"""What a fitted structure looks like in a plane: a centre, lines along it, contours of a density."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.scatter import curves
from gramian.charts.marks.text import Floats
from gramian.charts.theme import Theme, rows

ARC = np.linspace(0.0, 2.0 * np.pi, 97)
ROUND = np.column_stack([np.cos(ARC), np.sin(ARC)])
EDGE_ON = 0.999  # of the length of a normal that lies in the plane of the chart
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


def layers_of(
    drawn: list[Outline], colour: Callable[[int], str], plane: Any, look: Theme, notes: list[str]
) -> list[Any]:
    """Lines and centres in the colours of their places."""
    layers = []
    for dashed in (True, False):
        lines = [(line, colour(each.place)) for each in drawn for line in (each.dashed if dashed else each.solid)]
        if lines:
            style = {"strokeWidth": 1.4, "strokeDash": [5, 4]} if dashed else {"strokeWidth": 2.4}
            under = {"strokeWidth": 3.6, "opacity": 0.7}
            if not dashed:  # a rim, so that lines are seen over dots of their own colour
                layers.append(curves([line for line, _ in lines], plane, [look.background] * len(lines), **under))
            layers.append(curves([line for line, _ in lines], plane, [c for _, c in lines], **style))
    marks = [
        {"x": float(each.center[0]), "y": float(each.center[1]), "colour": colour(each.place)}
        for each in drawn
        if each.center is not None
    ]
    if marks:
        base = alt.Chart(rows(marks)).encode(x=plane[0], y=plane[1])
        dot = base.mark_point(shape="diamond", size=150, filled=True, opacity=1, stroke=look.ink, strokeWidth=1.6)
        layers.append(dot.encode(fill=alt.Color("colour:N", scale=None)))
        notes.append("diamonds: centres")
    if any(each.dashed for each in drawn):
        notes.append("lines: one and two (dashed) standard deviations")
    return layers


def across(structures: list[Any]) -> bool:
    """Whether all are planes, which are seen only edge-on."""
    return bool(structures) and all(hasattr(each, "normal_") and not hasattr(each, "direction_") for each in structures)


def directions(structures: list[Any], away: Floats) -> Floats:
    """Two orthonormal rows (2, d) to look along: the principal ones of points about their mean; across planes."""
    d = away.shape[1]
    first = np.zeros((0, d))
    if across(structures):
        _, size, Vt = np.linalg.svd(np.array([each.normal_ for each in structures]), full_matrices=False)
        first = Vt[:2][size[:2] > 0.05 * size[0]]
        away = away - away @ first.T @ first
    _, _, Vt = np.linalg.svd(away, full_matrices=False)
    found = np.vstack([first, Vt, np.zeros((2, d))])[:2]
    largest = np.abs(found).argmax(axis=1)
    return np.asarray(found * np.where(found[[0, 1], largest] < 0, -1.0, 1.0)[:, None])


def spread_of(each: Any, d: int) -> Floats:
    """A matrix (d, d) of how far a structure reaches in each direction, squared; zero of a point."""
    spread = _spread(each)
    if spread is not None:
        return _matrix(spread, d)
    if hasattr(each, "radius_"):
        return float(each.radius_) ** 2 / d * np.eye(d)
    if hasattr(each, "axes_"):
        along = np.asarray(each.directions_) * np.asarray(each.axes_)[:, None]
        return np.asarray(along.T @ along / d)
    if hasattr(each, "directions_"):
        return np.asarray(each.directions_.T @ each.directions_)
    return np.zeros((d, d))


def _outline(each: Any, place: int, own: Floats, ends: Floats, origin: Floats, basis: Any) -> Outline | None:
    spread = _spread(each)
    if hasattr(each, "mean_") and spread is not None:
        middle = np.asarray(each.mean_, dtype=np.float64)
        if len(middle) < 2:
            at, deviation = float(middle[0]), float(np.sqrt(np.reshape(spread, -1)[0]))
            level = 0.65 + 0.5 * (place * 0.618034 % 1.0)  # above the rows, rarely at that of another
            one, two = (np.array([[at - t * deviation, level], [at + t * deviation, level]]) for t in (1.0, 2.0))
            return Outline(place, np.array([at, 0.0]), [one], [two])
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
        flat = hasattr(each, "normal_") or len(getattr(each, "directions_", ())) > 0
        return None if flat else Outline(place, center)
    return Outline(place, None, [_segment(center, direction, own, ends)])


def _direction(each: Any, basis: Any) -> Floats | None:
    """Of a line in the plane: its own, or of a plane that is seen edge-on that at right angles to the normal."""
    if hasattr(each, "direction_"):
        found = np.asarray(each.direction_, dtype=np.float64)
        found = found if basis is None else basis @ found
    elif hasattr(each, "normal_"):
        normal = np.asarray(each.normal_, dtype=np.float64)
        normal = normal if basis is None else basis @ normal
        if np.linalg.norm(normal) < EDGE_ON:
            return None
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


def _spread(each: Any) -> Any:
    """The covariance of a density, its scale where that is infinite, or None."""
    found = getattr(each, "covariance_", None)
    return found if found is not None and np.isfinite(found).all() else getattr(each, "scale_", None)


def _matrix(spread: Any, d: int) -> Floats:
    """A covariance that may be given as variances, or as one."""
    spread = np.asarray(spread, dtype=np.float64)
    return spread if spread.ndim == 2 else np.diag(np.broadcast_to(spread, d))


def _shadow(matrix: Floats, basis: Any) -> Floats:
    return matrix if basis is None else basis @ matrix @ basis.T


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.maximum(values, 0.0))
