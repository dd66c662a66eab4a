"""The region of two features in which a one-class machine expects rows."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.contours import contours
from gramian.charts.marks.points import some
from gramian.charts.marks.text import counted, number, percent
from gramian.charts.predictions.boundary import HEIGHT, MOST_POINTS, axes, line_marks, regions, rings, support_vectors
from gramian.charts.predictions.plane import GRID, Plane, asked, coordinates, window
from gramian.charts.theme import WIDTH, Theme, rows, title

WIDER = 0.1
WORDS = ["inside", "outside"]


def draw(model: Any, look: Theme, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
    """Inside in colour, the edge, its support vectors, and the rows: those outside stand out."""
    points = None if X is None else coordinates(X)
    ends = window(model, points)
    if points is not None:  # the edge may lie beyond the rows
        ends = ends + WIDER * np.ptp(ends, axis=1)[:, None] * np.array([-1.0, 1.0])
    across, up, decisions = asked(model.decision_function, ends, X)
    f = decisions.reshape(GRID, GRID)
    plane = Plane(across, up, np.stack([f, -f], axis=2), None, True)
    x, y_axis = axes(model, ends)
    layers = [
        regions(plane, look, 2),
        line_marks(contours(across, up, f), plane, x, y_axis, color=look.ink, strokeWidth=2),
    ]
    notes: list[str] = []
    finding = f"{counted(len(support_vectors(model)), 'support vector')} hold the region"  # type: ignore[arg-type]
    if points is not None:
        weight = np.ones(len(points)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        out = np.asarray(model.predict(X)) < 0
        finding = (
            f"{percent(float(weight[out].sum() / weight.sum()))} of {counted(float(weight.sum()), 'row')} lie outside"
        )
        kept = np.flatnonzero(weight > 0)
        shown = kept[some(len(kept), MOST_POINTS, np.flatnonzero(out[kept]))]
        if len(shown) < len(kept):
            notes.append(f"{len(shown):,} of {counted(len(kept), 'row')} are shown, drawn at random")
        records = [
            {"x": float(a), "y": float(b), "class": WORDS[int(o)]}
            for (a, b), o in zip(points[shown], out[shown], strict=True)
        ]
        colour = alt.Color(
            "class:N",
            scale=alt.Scale(domain=WORDS, range=[look.accent, look.second]),
            legend=alt.Legend(title=None, orient="top", offset=4, symbolOpacity=1, symbolType="circle"),
        )
        size = 42 if len(shown) <= 300 else 26 if len(shown) <= 1000 else 14
        dots = alt.Chart(rows(records)).mark_circle(size=size, opacity=0.95, stroke=look.background, strokeWidth=0.7)
        layers.append(dots.encode(x=x, y=y_axis, color=colour))
    layers += rings(model, x, y_axis, look, notes)
    facts = [type(model).__name__, f"nu {number(model.nu)}", counted(len(model.support_), "support vector")]
    whole = alt.layer(*[layer for layer in layers if layer is not None])
    return whole.properties(width=WIDTH, height=HEIGHT, title=title(finding, " · ".join(facts), "; ".join(notes)))
