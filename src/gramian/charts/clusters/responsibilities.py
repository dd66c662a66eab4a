"""The responsibilities of the components of a mixture for every row, as sorted stacked columns."""

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Ints, Table, Values, Weights
from gramian.charts.declaration import ChartKind, has, is_unsupervised
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.image import png
from gramian.charts.marks.scatter import answered, kept_rows
from gramian.charts.marks.text import counted, percent
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title

HEIGHT = 220
CLEAR = 0.9  # responsibility of a clear assignment
MAX_COLOURS = 250


def applies(model: Estimator, data: bool) -> bool:
    """Applies to rows of mixtures."""
    return data and is_unsupervised(model) and has(model, "labels_", "predict_proba")


CHART = ChartKind(name="responsibilities", of="rows", order=160, applies=applies, target="none")


def draw(
    model: Estimator, theme: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """Rows from left to right by component and decreasing responsibility, stacked in the colours of the components."""
    p = answered(model.predict_proba, X).astype(np.float64)
    kept, weight = kept_rows(len(p), sample_weight)
    p, weight = p[kept], weight[kept]
    k = p.shape[1]
    owner = p.argmax(axis=1)
    order = np.lexsort((-p.max(axis=1), owner))
    p, owner, weight = p[order], owner[order], weight[order]
    n, total = len(p), float(weight.sum())
    picture = _picture(p, owner)
    palette = [theme.of_class(j) for j in range(min(k, MAX_COLOURS))]
    url = png((picture % len(palette)).astype(np.uint8), palette)
    image = alt.Chart(rows([{"url": url}])).mark_image(width=WIDTH, height=HEIGHT, aspect=False)
    layers = [image.encode(x=alt.value(WIDTH / 2), y=alt.value(HEIGHT / 2), url="url:N")]
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, n], nice=False),
        axis=linear_axis("rows, by component and responsibility", 0, n, grid=False, tickCount=7),
    )
    y_axis = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=linear_axis("responsibility", 0, 1, grid=False, tickCount=5, minExtent=LEFT),
    )
    edges = np.flatnonzero(np.diff(owner)) + 1
    layers.append(alt.Chart(rows([{"x": 0.0, "y": 0.0}])).mark_point(opacity=0).encode(x=x, y=y_axis))
    if len(edges):
        lines = alt.Chart(rows([{"x": float(edge)} for edge in edges]))
        layers.append(lines.mark_rule(color=theme.background, strokeWidth=1.5).encode(x=x))
    layers += _names(owner, x, theme)
    clear = float(weight[p.max(axis=1) >= CLEAR].sum()) / total
    finding = f"{percent(clear)} of {counted(total, 'row')} have a responsibility of at least {percent(CLEAR)}"
    facts = [type(model).__name__, f"{k} components"]
    facts += [f"least certain row {percent(float(p.max(axis=1).min()))}"]
    weights = np.asarray(model.weights_) if has(model, "weights_") else np.zeros(0)
    facts += [f"weights {', '.join(percent(float(w)) for w in weights)}"] if 0 < len(weights) <= 8 else []
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title(finding, " · ".join(facts)))


def _picture(p: Floats, owner: Ints) -> Chart:
    """The component at each pixel: the most probable one at the bottom, the others above it in order."""
    n, k = p.shape
    own = np.zeros((n, k), dtype=bool)
    own[np.arange(n), owner] = True
    stacked = np.argsort(~own, axis=1, kind="stable")
    cumulative = np.cumsum(np.take_along_axis(p, stacked, axis=1), axis=1)
    column = np.minimum((np.arange(2 * WIDTH) + 0.5) * n / (2 * WIDTH), n - 1).astype(np.int64)
    level = (np.arange(HEIGHT)[::-1] + 0.5) / HEIGHT
    at = (level[:, None, None] >= cumulative[column][None]).sum(axis=2)
    return np.take_along_axis(stacked[column][None], np.minimum(at, k - 1)[:, :, None], axis=2)[:, :, 0]


def _names(owner: Ints, x: Chart, theme: Theme) -> list[Chart]:
    """The number of each component above its rows, where there is room."""
    components, first, count = np.unique(owner, return_index=True, return_counts=True)
    records = [
        {"x": float(start + 0.5 * size), "text": str(j), "colour": theme.of_class(int(j))}
        for j, start, size in zip(components, first, count, strict=True)
        if size / len(owner) * WIDTH >= 5 + 8 * len(str(j))
    ]
    base = alt.Chart(rows(records)).mark_text(baseline="bottom", fontSize=12, fontWeight="bold")
    return [base.encode(x=x, y=alt.value(-4), text="text:N", color=alt.Color("colour:N", scale=None))]
