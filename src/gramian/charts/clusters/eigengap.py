"""The eigenvalues of a graph, and the gap after the number of clusters."""

import re
from typing import Any

import numpy as np

from gramian._core.text import without_round_off
from gramian._core.types import Chart, Estimator, Floats
from gramian.charts.declaration import ChartKind, has
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import log_axis
from gramian.charts.marks.text import counted, number
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title

HEIGHT = 260
ROUND_OFF = 1e-9  # of the largest distance: eigenvalues of disconnected parts
MIN_DISTANCE = 1e-5  # of the largest: smaller ones are drawn there


def applies(model: Estimator, data: bool) -> bool:
    """Applies to spectral clusterings with more eigenvalues than clusters."""
    return has(model, "cut_value_", "eigenvalues_") and len(model.eigenvalues_) > model.n_clusters_


CHART = ChartKind(name="eigengap", of="fit", order=110, applies=applies)


def draw(model: Estimator, theme: Theme) -> Chart:
    """The distance of each eigenvalue from that of a disconnected graph; a rule after the clusters."""
    values = np.asarray(model.eigenvalues_, dtype=np.float64)
    k = model.n_clusters_
    normal = model.cut == "normalized"
    distance = np.maximum(1.0 - values, 0.0) if normal else values
    floor = max(MIN_DISTANCE * float(distance.max()), 1e-300)
    shown = np.maximum(distance, floor)
    records = [
        {
            "number": j + 1,
            "distance": float(shown[j]),
            "eigenvalue": float(values[j]),
            "part": "clusters" if j < k else "other",
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
    axis_title = "1 − eigenvalue" if normal else "eigenvalue of D − K"
    y = alt.Y(
        "distance:Q",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=log_axis(axis_title, low, high, max_ticks=7, minExtent=LEFT),
    )
    colour = alt.Color(
        "part:N",
        scale=alt.Scale(domain=["clusters", "other"], range=[theme.accent, theme.muted]),
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
        label = gap.mark_text(
            align="left" if right else "right", baseline="top", dx=6 if right else -6, fontSize=12, color=theme.ink
        )
        layers += [
            gap.mark_rule(color=theme.ink, strokeDash=[5, 4], strokeWidth=1.2),
            label.encode(y=alt.value(4), text="text:N"),
        ]
    notes = [f"values below {number(floor, 2)} are drawn at {number(floor, 2)}"] if (distance < floor).any() else []
    cut = "normalised" if normal else "ratio"
    graph = f"{model.neighbors} neighbours" if model.neighbors is not None else _short(model.kernel_)
    scale = float(np.abs(values).max())
    facts = [type(model).__name__, graph, f"{cut} cut {number(without_round_off(model.cut_value_, scale))}"]
    facts.append(f"lower bound of any cut {number(without_round_off(model.bound_, scale))}")
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(distance, k), " · ".join(facts), "; ".join(notes))
    )


def _finding(distance: Floats, k: int) -> str:
    if k >= len(distance):
        return f"{counted(k, 'cluster')}, as many as there are eigenvalues"
    if distance[k - 1] <= ROUND_OFF * distance.max():
        return f"{counted(k, 'cluster')}: the connected components of the graph"
    ratio = number(float(distance[k] / distance[k - 1]), 2)
    return f"{counted(k, 'cluster')}: largest relative eigengap ({ratio} ×) after {counted(k, 'eigenvalue')}"


def _short(kernel: Any) -> str:
    """The expression of a kernel, its numbers with four digits."""
    return re.sub(r"\d+\.\d{4,}(e[-+]?\d+)?", lambda match: f"{float(match.group()):.4g}", repr(kernel))
