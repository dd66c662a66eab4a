"""Structures alone, as a model keeps them: where their rows were, but not the rows."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.cloud import HEIGHT, STRIP, axes, haloed, strip_window, window
from gramian.charts.outlines import Outline, across, directions, layers_of, outlines, spread_of
from gramian.charts.text import Floats, feature_names, labels
from gramian.charts.theme import WIDTH, Look, rows

GAP = 0.08  # of the window, between its edge and what is drawn


def draw_alone(model: Any, look: Look, notes: list[str]) -> Any:
    """The structures over two columns, or over the two directions in which they spread most, with their numbers."""
    structures = model.structures_
    d = model.n_features_in_
    names: list[str | None] = list(labels(feature_names(model), 60))
    centers = np.array([_center(each) for each in structures])
    origin, basis = centers.mean(axis=0), None
    if d > 2:
        basis = directions(structures, _reach(structures, centers))
        planes = across(structures)
        names = [f"first direction {'across the planes' if planes else 'of their spread'}", "second"]
        which = "across the planes" if planes else "in which the structures spread most"
        notes.append(f"two of {d} directions, {which}")
        places = (centers - origin) @ basis.T
    else:
        places = np.column_stack([centers, np.zeros((len(centers), 2 - d))])
        names = [*names, None]
    own, nothing = np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
    drawn = outlines(structures, own, nothing, window(places, equal=True), origin, basis)
    closed = [line for each in drawn for line in (*each.solid, *each.dashed) if len(line) > 2 or d == 1]
    reached = np.vstack([places, *closed])
    ends = strip_window(reached[:, 0], 1.3) if d == 1 else window(reached, equal=True, pad=GAP)
    plane = axes(names, ends)
    drawn = outlines(structures, own, nothing, ends, origin, basis)
    seen = {each.place for each in drawn}
    drawn += [Outline(place, places[place]) for place in range(len(structures)) if place not in seen]
    layers = layers_of(drawn, look.of_class, plane, look, notes)
    layers += _numbers(drawn, places, plane, look)
    notes.append("rows are not kept: with X they are drawn too")
    return alt.layer(*layers).properties(width=WIDTH, height=STRIP if d == 1 else HEIGHT)


def sizes(model: Any) -> Floats:
    """The weight of the rows of each structure."""
    return np.bincount(model.labels_, getattr(model, "_row_weight", None), len(model.structures_)).astype(np.float64)


def _center(each: Any) -> Floats:
    return np.asarray(each.center_ if hasattr(each, "center_") else each.mean_, dtype=np.float64)


def _reach(structures: list[Any], centers: Floats) -> Floats:
    """Points (m, d) about zero that spread as centres and structures do."""
    roots = []
    for each in structures:
        values, vectors = np.linalg.eigh(spread_of(each, centers.shape[1]))
        roots.append((vectors * np.sqrt(np.maximum(values, 0.0))).T)
    return np.vstack([centers - centers.mean(axis=0), *roots])


def _numbers(drawn: list[Outline], places: Floats, plane: Any, look: Look) -> list[Any]:
    """The number of each structure beside its centre."""
    records = [
        {"x": float(places[each.place, 0]), "y": float(places[each.place, 1]), "text": str(each.place)}
        for each in drawn
    ]
    base = alt.Chart(rows(records)).encode(x=plane[0], y=plane[1], text="text:N")
    return haloed(base, look, dx=12, dy=-10, fontSize=13, fontWeight="bold")
