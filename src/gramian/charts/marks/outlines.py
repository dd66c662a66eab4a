"""Outlines of fitted structures in a plane, from the geometry they declare: centres, lines, contours of densities."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gramian._core.types import Chart, Floats, Ints
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.scatter import curves
from gramian.charts.theme import Theme, rows
from gramian.structures import Structure
from gramian.structures.components.geometry import Geometry

ARC = np.linspace(0.0, 2.0 * np.pi, 97)
ROUND = np.column_stack([np.cos(ARC), np.sin(ARC)])
EDGE_ON = 0.999  # least length of the projection of a unit normal that lies in the plane of the chart
BEYOND = 0.06  # of the extent of its rows, by which a line is longer at both ends


@dataclass(frozen=True, eq=False)
class Outline:
    """The outline of the structure at a place: a centre to be marked or None, and lines (m, 2), solid and dashed."""

    place: int
    center: Floats | None = None
    solid: list[Floats] = field(default_factory=list)
    dashed: list[Floats] = field(default_factory=list)


def outlines(
    structures: list[Structure], points: Floats, owner: Ints, ends: Floats, origin: Floats, basis: Floats | None
) -> list[Chart]:
    """Outlines in the plane of two columns, or in that through `origin` along the rows of `basis` (2, d)."""
    drawn = []
    for place, each in enumerate(structures):
        outline = _outline(each.geometry(), place, points[owner == place], ends, origin, basis)
        if outline is not None:
            drawn.append(outline)
    return drawn


def layers_of(
    drawn: list[Outline], colour: Callable[[int], str], plane: tuple[Chart, Chart], look: Theme, notes: list[str]
) -> list[Chart]:
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


def are_hyperplanes(structures: list[Structure]) -> bool:
    """Whether all are hyperplanes, which are visible only edge-on."""
    return bool(structures) and all(_normal(each) is not None for each in structures)


def directions(structures: list[Structure], deviations: Floats) -> Floats:
    """The axes (2, d) of a projection: principal directions of points about their mean, and normals of hyperplanes."""
    d = deviations.shape[1]
    first = np.zeros((0, d))
    if are_hyperplanes(structures):
        _, size, Vt = np.linalg.svd(np.array([_normal(each) for each in structures]), full_matrices=False)
        first = Vt[:2][size[:2] > 0.05 * size[0]]
        deviations = deviations - deviations @ first.T @ first
    _, _, Vt = np.linalg.svd(deviations, full_matrices=False)
    axes = np.vstack([first, Vt, np.zeros((2, d))])[:2]
    largest = np.abs(axes).argmax(axis=1)
    return np.asarray(axes * np.where(axes[[0, 1], largest] < 0, -1.0, 1.0)[:, None])


def _normal(structure: Structure) -> Floats | None:
    shape: Geometry | None = structure.geometry()
    return None if shape is None else shape.normal


def _outline(
    shape: Geometry | None, place: int, own: Floats, ends: Floats, origin: Floats, basis: Floats | None
) -> Outline | None:
    """Contours of a density, the outline of a quadric, the segment of a line, or the centre of a point."""
    if shape is None:
        return None
    if len(shape.center) < 2:
        return _outline_on_a_line(shape, place)
    center = _projected(shape.center, origin, basis)
    if shape.covariance is not None:
        root = _root(_shadow(shape.covariance, basis))
        return Outline(place, None, [center + ROUND @ root.T], [center + 2.0 * ROUND @ root.T])
    if shape.quadric is not None:
        return Outline(place, None, [center + ROUND @ _root(_shadow(shape.quadric, basis)).T])
    if shape.directions is None or not len(shape.directions):
        return Outline(place, center)
    direction = _direction(shape, basis)
    if direction is None:
        return None
    start = None if shape.start is None else _projected(shape.start, origin, basis)
    return Outline(place, None, [_segment(center, direction, own, ends, start)])


def _outline_on_a_line(shape: Geometry, place: int) -> Outline:
    """The same of one column: a centre, and the intervals of a density above the rows."""
    mean = float(shape.center[0])
    if shape.covariance is None:
        return Outline(place, np.array([mean, 0.0]))
    deviation = float(np.sqrt(shape.covariance[0, 0]))
    level = 0.65 + 0.5 * (place * 0.618034 % 1.0)  # rarely that of another
    one, two = (np.array([[mean - t * deviation, level], [mean + t * deviation, level]]) for t in (1.0, 2.0))
    return Outline(place, np.array([mean, 0.0]), [one], [two])


def _direction(shape: Geometry, basis: Floats | None) -> Floats | None:
    """The direction of a line in the plane, also of a hyperplane that is seen edge-on; None of other flats."""
    assert shape.directions is not None
    if len(shape.directions) == 1:
        direction = shape.directions[0] if basis is None else basis @ shape.directions[0]
    elif (normal := shape.normal) is not None:
        normal = normal if basis is None else basis @ normal
        if np.linalg.norm(normal) < EDGE_ON:
            return None
        direction = np.array([-normal[1], normal[0]])
    else:
        return None
    size = float(np.linalg.norm(direction))
    return np.asarray(direction / size) if size > 1e-9 else None


def _segment(center: Floats, direction: Floats, own: Floats, ends: Floats, start: Floats | None) -> Floats:
    """The segment that its rows cover, or the window where there are none; a half-line begins at `start`."""
    if len(own) > 1:
        along = (own - center) @ direction
        low, high = float(along.min()), float(along.max())
        low, high = low - BEYOND * (high - low), high + BEYOND * (high - low)
    else:
        high = float(np.hypot(*np.ptp(ends, axis=1)))
        low = -high
    if start is not None:
        low = max(low, float((start - center) @ direction))
    return center + np.array([[low], [high]]) * direction


def _projected(x: Floats, origin: Floats, basis: Floats | None) -> Floats:
    return x if basis is None else basis @ (x - origin)


def _shadow(matrix: Floats, basis: Floats | None) -> Floats:
    """The matrix of the projection of an ellipsoid."""
    return matrix if basis is None else basis @ matrix @ basis.T


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
