"""Reliability of probabilities: how often what was given a probability came true."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import counted, number
from gramian.charts.marks.unit_square import Square
from gramian.charts.predictions.predictions import Decided
from gramian.charts.theme import LEFT, SIDE, Theme, rows, title
from gramian.metrics.statistics.ranks import Ranking
from gramian.metrics.statistics.reliability import Calibration, calibrated

BINS = 10
BARS = 25
BAR_HEIGHT = 80


def draw(judged: Decided, look: Theme) -> Any:
    """Shares observed against probabilities, with their intervals, above the distribution of the probabilities."""
    assert judged.probabilities is not None
    if judged.k == 2:
        place = judged.positive
        p, hit = judged.probabilities[:, place], judged.truth == place
        square = Square("", f"share that is {judged.classes[place]}")
        axis = f"probability of class {judged.classes[place]}"
    else:
        p, hit = judged.probabilities.max(axis=1), judged.truth == judged.probabilities.argmax(axis=1)
        square = Square("", "share that is right")
        axis = "probability of the most probable class"
    ranking = Ranking.of(hit, p, judged.weight, positive=True)
    found = calibrated(ranking, bins=BINS, interval=0.95)
    # With an error of 5 % for all bins together, none of them is called wrong by chance more often than that.
    wide = calibrated(ranking, bins=BINS, interval=1.0 - 0.05 / len(found.count))
    outside = (wide.low > found.predicted + 1e-12) | (wide.high < found.predicted - 1e-12)
    facts = f"{judged.name} · expected calibration error {number(found.error)} · {judged.rows_text()}"
    notes = f"mean probability against the share observed in {counted(len(found.count), 'bin')}, with 95 % intervals"
    notes += "; orange: further off than chance explains" if outside.any() else ""
    upper = _curve(square, found, outside, look).properties(width=SIDE, height=SIDE)
    lower = _bars(p, judged.counts, axis, look)
    whole = alt.vconcat(upper, lower, spacing=10).resolve_scale(x="shared")
    return whole.properties(title=title(_finding(found, outside), facts, notes))


def _curve(square: Square, found: Calibration, outside: Any, look: Theme) -> Any:
    ends = np.array([0.0, 1.0])
    records = [
        {"x": float(x), "y": float(y), "low": float(low), "high": float(high), "count": float(n), "off": bool(off)}
        | {"size": 40.0 + 120.0 * float(n) / float(found.count.max())}
        for x, y, low, high, n, off in zip(
            found.predicted, found.observed, found.low, found.high, found.count, outside, strict=True
        )
    ]
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(title=None, labels=False, tickCount=6))
    base = alt.Chart(rows(records)).encode(x=x)
    colour = alt.Color("off:N", legend=None, scale=alt.Scale(domain=[False, True], range=[look.accent, look.second]))
    tooltip = [
        alt.Tooltip(f"{key}:Q", title=text, format=".4~g")
        for key, text in (("x", "predicted"), ("y", "observed"), ("low", "low"), ("high", "high"), ("count", "rows"))
    ]
    return alt.layer(
        square.line(ends, ends, color=look.muted, strokeWidth=1, strokeDash=[4, 4]).encode(x=x),
        base.mark_line(color=look.accent, strokeWidth=1.5, opacity=0.5).encode(y=square.y()),
        base.mark_rule(strokeWidth=2.5, strokeCap="round").encode(y=square.y("low"), y2="high:Q", color=colour),
        base.mark_point(filled=True, opacity=1).encode(
            y=square.y(), color=colour, size=alt.Size("size:Q", scale=None), tooltip=tooltip
        ),
    )


def _bars(p: Any, weight: Any, axis: str, look: Theme) -> Any:
    counts, edges = np.histogram(p, bins=BARS, range=(0.0, 1.0), weights=weight)
    records = [
        {"x": float(a), "end": float(b), "zero": 0.0, "rows": float(n)}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
        if n
    ]
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(title=axis, format=".1~f", tickCount=6, grid=False),
    )
    y = alt.Y("rows:Q", axis=linear_axis("rows", 0.0, float(counts.max()), tickCount=3, minExtent=LEFT))
    base = alt.Chart(rows(records)).mark_rect(color=look.faint, stroke=look.background, strokeWidth=1)
    tooltip = [alt.Tooltip("rows:Q"), alt.Tooltip("x:Q", title="from"), alt.Tooltip("end:Q", title="to")]
    return base.encode(x=x, x2="end:Q", y=y, y2="zero:Q", tooltip=tooltip).properties(width=SIDE, height=BAR_HEIGHT)


def _finding(found: Calibration, outside: Any) -> str:
    points = number(100.0 * found.error, 2)
    if not outside.any():
        return f"Probabilities are off by {points} points on average, no more than chance explains"
    gap = found.observed - found.predicted
    away = np.where(found.predicted >= 0.5, 1.0, -1.0)
    level, stretch = (float(found.count @ part / found.count.sum()) for part in (gap, gap * away))
    if abs(level) >= abs(stretch):
        how = "too low" if level > 0 else "too high"
    else:
        how = "not sure enough" if stretch > 0 else "too sure"
    return f"Probabilities are {how}, by {points} points on average"
