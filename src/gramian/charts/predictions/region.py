"""The region of two features that a one-class support vector machine encloses."""

import numpy as np

from gramian._core.types import Chart, Estimator, Table, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.charts.declaration import ChartKind, has
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.contours import contours
from gramian.charts.marks.points import dot_size, sample
from gramian.charts.marks.scatter import axes
from gramian.charts.marks.text import counted, feature_names, labels, number, percent, shown_text
from gramian.charts.predictions.boundary import HEIGHT, MAX_POINTS, line_marks, regions, rings
from gramian.charts.predictions.plane import GRID, DecisionGrid, coordinates, kept_points, on_grid, window
from gramian.charts.theme import WIDTH, Theme, rows, title

PAD = 0.1  # of the window: the edge may lie beyond the rows
NAMES = ["inside", "outside"]


def applies(model: Estimator, data: bool) -> bool:
    """Applies to one-class machines of two features."""
    two = has(model, "offset_", "n_features_in_") and model.n_features_in_ == 2
    return two and (data or kept_points(model) is not None)


CHART = ChartKind(name="region", of="rows", order=70, applies=applies, order_with_data=20, target="none")


def draw(
    model: Estimator, theme: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """The region, its edge, its support vectors, and the rows, those outside in another colour."""
    points = None if X is None else coordinates(X)
    ends = window(model, points)
    if points is not None:
        ends = ends + PAD * np.ptp(ends, axis=1)[:, None] * np.array([-1.0, 1.0])
    across, up, (decisions,) = on_grid([model.decision_function], ends, X)
    f = decisions.astype(np.float64).reshape(GRID, GRID)
    plane = DecisionGrid(across, up, np.stack([f, -f], axis=2), None, True)
    x, y_axis = axes(labels(feature_names(model)), ends)
    layers = [
        regions(plane, theme, 2),
        line_marks(contours(across, up, f), plane, x, y_axis, color=theme.ink, strokeWidth=2),
    ]
    notes: list[str] = []
    finding = f"A region with {counted(len(model.support_vectors_), 'support vector')}"
    if points is not None:
        weight = weights_or_ones(sample_weight, len(points))
        outside = np.asarray(model.predict(X)) < 0
        share = float(weight[outside].sum() / weight.sum())
        finding = f"{percent(share)} of {counted(float(weight.sum()), 'row')} lie outside the region"
        kept = np.flatnonzero(weight > 0)
        shown = kept[sample(len(kept), MAX_POINTS, np.flatnonzero(outside[kept]))]
        notes += shown_text(len(shown), len(kept))
        records = [
            {"x": float(a), "y": float(b), "class": NAMES[int(o)]}
            for (a, b), o in zip(points[shown], outside[shown], strict=True)
        ]
        colour = alt.Color(
            "class:N",
            scale=alt.Scale(domain=NAMES, range=[theme.accent, theme.second]),
            legend=alt.Legend(title=None, orient="top", offset=4, symbolOpacity=1, symbolType="circle"),
        )
        dots = alt.Chart(rows(records)).mark_circle(
            size=dot_size(len(shown)), opacity=0.95, stroke=theme.background, strokeWidth=0.7
        )
        layers.append(dots.encode(x=x, y=y_axis, color=colour))
    layers += rings(model, x, y_axis, theme, notes)
    facts = [type(model).__name__, f"nu {number(model.nu)}", counted(len(model.support_), "support vector")]
    whole = alt.layer(*[layer for layer in layers if layer is not None])
    return whole.properties(width=WIDTH, height=HEIGHT, title=title(finding, " · ".join(facts), "; ".join(notes)))
