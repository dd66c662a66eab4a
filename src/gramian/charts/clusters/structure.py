"""One structure by itself, with the rows it was fitted to or others."""

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Table, Values, Weights
from gramian.charts.declaration import ChartKind, declared
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.outlines import layers_of, outlines
from gramian.charts.marks.points import weighted_quantile
from gramian.charts.marks.projection_plane import LONGEST, View, complete, draw_alone
from gramian.charts.marks.scatter import Colours, answered, axes, dots, kept_rows, table
from gramian.charts.marks.text import counted, labels, number
from gramian.charts.theme import WIDTH, Theme, title
from gramian.rows import Rows, scan

MAX_NUMBERS = 4  # of a fitted quantity in the subtitle
CHART = ChartKind(
    name="structure", of="rows", order=0, applies=declared("structure"), order_with_data=40, target="none"
)


def draw(
    model: Estimator, look: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """The structure over two columns or principal directions; rows as dots under it."""
    notes: list[str] = []
    if X is None:
        alone = draw_alone([model], [f"x{j}" for j in range(len(model.location))], look, notes)
        return alone.properties(title=title(f"One {model.noun[0]}", _facts(model), "; ".join(notes)))
    values = table(X, missing=model.takes_missing)
    kept, weight = kept_rows(len(values), sample_weight)
    away = answered(model.log_density if model.density else model.distance, X)
    kept = complete(values, kept, notes)
    names = (X if isinstance(X, Rows) else scan(X)).names or [f"x{j}" for j in range(values.shape[1])]
    view = View.of(values, labels(names, LONGEST), kept, weight, [model])
    notes += view.notes
    plane = axes(view.names, view.ends)
    layers = dots(view.places, kept, Colours([]), plane, look, notes)
    layers = [layer.encode(color=alt.value(look.tint(look.muted, 0.75))) for layer in layers]
    owner = np.zeros(len(kept), dtype=np.int64)
    drawn = outlines([model], view.places[kept], owner, view.ends, view.origin, view.basis)
    layers += layers_of(drawn, look.of_class, plane, look, notes)
    words = title(_finding(model, away, weight), _facts(model), "; ".join(notes))
    return alt.layer(*layers).properties(width=WIDTH, height=view.height, title=words)


def _finding(model: Estimator, away: Floats, weight: Floats) -> str:
    there = weight > 0
    total = counted(float(weight.sum()), "row")
    if model.density:
        return f"The mean log density of {total} is {number(float(np.average(away[there], weights=weight[there])))}"
    half = float(weighted_quantile(away[there], np.array([0.5]), weight[there])[0])
    return f"Median distance {number(half, 2)} of {total} to the {model.noun[0]}"


def _facts(model: Estimator) -> str:
    facts = [type(model).__name__]
    for name, measure in model.measures().items():
        values = np.atleast_1d(np.asarray(measure, dtype=np.float64))
        if 0 < len(values) <= MAX_NUMBERS:
            facts.append(f"{name} {', '.join(number(value) for value in values)}")
    return " · ".join(facts)
