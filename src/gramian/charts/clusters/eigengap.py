"""Eigenvalues of a graph, and the gap after which there are no more clusters."""

import re
from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import log_axis
from gramian.charts.marks.text import Floats, counted, number
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title

HEIGHT = 260
NOTHING = 1e-9
LEAST = 1e-5  # of the scale: what is nearer to zero is drawn there


def draw(model: Any, look: Theme) -> Any:
    """How far each eigenvalue is from that of a graph in parts; a rule where the clusters end."""
    values = np.asarray(model.eigenvalues_, dtype=np.float64)
    k = model.n_clusters_
    normal = model.cut == "normalized"
    away = np.maximum(1.0 - values, 0.0) if normal else values
    floor = max(LEAST * float(away.max()), 1e-300)
    shown = np.maximum(away, floor)
    records = [
        {
            "number": j + 1,
            "away": float(shown[j]),
            "eigenvalue": float(values[j]),
            "part": "clusters" if j < k else "the rest",
        }
        for j in range(len(values))
    ]
    x = alt.X(
        "number:Q",
        scale=alt.Scale(domain=[0.5, len(values) + 0.5], nice=False),
        axis=alt.Axis(title="number of the eigenvalue", tickMinStep=1, format="d", grid=False),
    )
    low, high = float(shown.min()), float(shown.max())
    low, high = low / 1.5, high * 1.5
    words = "1 − eigenvalue" if normal else "eigenvalue of D − K"
    y = alt.Y(
        "away:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=log_axis(words, low, high, most=7, minExtent=LEFT),
    )
    colour = alt.Color(
        "part:N",
        scale=alt.Scale(domain=["clusters", "the rest"], range=[look.accent, look.muted]),
        legend=None,
    )
    base = alt.Chart(rows(records)).encode(x=x, y=y, color=colour)
    stems = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(y2=alt.datum(low))
    dots = base.mark_circle(size=70, opacity=1).encode(
        tooltip=[alt.Tooltip("number:Q"), alt.Tooltip("eigenvalue:Q", format=".6~g")]
    )
    layers = [stems, dots]
    if k < len(values):
        gap = alt.Chart(rows([{"number": k + 0.5, "text": counted(k, "cluster")}])).encode(x=x)
        right = k + 0.5 < 0.7 * len(values)
        word = gap.mark_text(
            align="left" if right else "right", baseline="top", dx=6 if right else -6, fontSize=12, color=look.ink
        )
        layers += [
            gap.mark_rule(color=look.ink, strokeDash=[5, 4], strokeWidth=1.2),
            word.encode(y=alt.value(4), text="text:N"),
        ]
    notes = [f"those below {number(floor, 2)} are drawn there"] if (away < floor).any() else []
    cut = "normalised" if normal else "ratio"
    graph = f"{model.neighbors} neighbours" if model.neighbors is not None else _short(model.kernel_)
    facts = [type(model).__name__, graph, f"{cut} cut {number(model.cut_value_)}"]
    facts.append(f"no cut is below {number(model.bound_)}")
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(away, k, normal), " · ".join(facts), "; ".join(notes))
    )


def _finding(away: Floats, k: int, normal: bool) -> str:
    if k >= len(away):
        return f"{counted(k, 'cluster')}, as many as there are eigenvalues"
    if away[k - 1] <= NOTHING * away.max():
        return f"{counted(k, 'cluster')} are parts of the graph, with nothing between them"
    how = "as far from 1" if normal else "as large"
    return f"{counted(k, 'cluster')}: the next eigenvalue is {number(float(away[k] / away[k - 1]), 2)} times {how}"


def _short(kernel: Any) -> str:
    """The expression, its numbers with four digits."""
    return re.sub(r"\d+\.\d{4,}(e[-+]?\d+)?", lambda found: f"{float(found.group()):.4g}", repr(kernel))
