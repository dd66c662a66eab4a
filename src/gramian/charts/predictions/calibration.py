"""The reliability diagram: observed frequencies against predicted probabilities."""

from typing import Any

import numpy as np

from gramian._core.types import Chart, Floats
from gramian.charts.declaration import ChartKind
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import counted, number
from gramian.charts.marks.unit_square import UnitSquare
from gramian.charts.predictions.predictions import ClassPredictions, predicts_probabilities
from gramian.charts.theme import LEFT, SIDE, Theme, rows, title
from gramian.metrics.statistics.ranks import Ranking
from gramian.metrics.statistics.reliability import CalibrationCurve, calibrated

BINS = 10
HISTOGRAM_BINS = 25
HISTOGRAM_HEIGHT = 80
CHART = ChartKind(name="calibration", of="predictions", order=230, applies=predicts_probabilities)


def draw(predictions: ClassPredictions, theme: Theme) -> Chart:
    """Observed frequencies with their intervals, above the histogram of the probabilities."""
    assert predictions.probabilities is not None
    if predictions.k == 2:
        place = predictions.positive
        p, correct = predictions.probabilities[:, place], predictions.truth == place
        square = UnitSquare("", f"observed frequency of class {predictions.classes[place]}")
        axis = f"probability of class {predictions.classes[place]}"
    else:
        p, correct = (
            predictions.probabilities.max(axis=1),
            predictions.truth == predictions.probabilities.argmax(axis=1),
        )
        square = UnitSquare("", "observed accuracy")
        axis = "probability of the most probable class"
    ranking = Ranking.of(correct, p, predictions.weight, positive=True)
    calibration = calibrated(ranking, bins=BINS, interval=0.95)
    # Bonferroni: 5 % for all bins together
    wide = calibrated(ranking, bins=BINS, interval=1.0 - 0.05 / len(calibration.count))
    outside = (wide.low > calibration.predicted + 1e-12) | (wide.high < calibration.predicted - 1e-12)
    facts = f"{predictions.name} · expected calibration error {number(calibration.error)} · {predictions.rows_text()}"
    bins = counted(len(calibration.count), "bin")
    notes = f"mean probability against the observed frequency in {bins}, with 95 % intervals"
    notes += "; orange: miscalibrated beyond sampling error" if outside.any() else ""
    upper = _curve(square, calibration, outside, theme).properties(width=SIDE, height=SIDE)
    lower = _histogram(p, predictions.counts, axis, theme)
    whole = alt.vconcat(upper, lower, spacing=10).resolve_scale(x="shared")
    return whole.properties(title=title(_finding(calibration, outside), facts, notes))


def _curve(square: UnitSquare, calibration: CalibrationCurve, outside: Any, theme: Theme) -> Chart:
    ends = np.array([0.0, 1.0])
    records = [
        {"x": float(x), "y": float(y), "low": float(low), "high": float(high), "count": float(n), "off": bool(off)}
        | {"size": 40.0 + 120.0 * float(n) / float(calibration.count.max())}
        for x, y, low, high, n, off in zip(
            calibration.predicted,
            calibration.observed,
            calibration.low,
            calibration.high,
            calibration.count,
            outside,
            strict=True,
        )
    ]
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(title=None, labels=False, tickCount=6))
    base = alt.Chart(rows(records)).encode(x=x)
    colour = alt.Color("off:N", legend=None, scale=alt.Scale(domain=[False, True], range=[theme.accent, theme.second]))
    tooltip = [
        alt.Tooltip(f"{key}:Q", title=text, format=".4~g")
        for key, text in (("x", "predicted"), ("y", "observed"), ("low", "low"), ("high", "high"), ("count", "rows"))
    ]
    return alt.layer(
        square.line(ends, ends, color=theme.muted, strokeWidth=1, strokeDash=[4, 4]).encode(x=x),
        base.mark_line(color=theme.accent, strokeWidth=1.5, opacity=0.5).encode(y=square.y()),
        base.mark_rule(strokeWidth=2.5, strokeCap="round").encode(y=square.y("low"), y2="high:Q", color=colour),
        base.mark_point(filled=True, opacity=1).encode(
            y=square.y(), color=colour, size=alt.Size("size:Q", scale=None), tooltip=tooltip
        ),
    )


def _histogram(p: Any, weight: Floats, axis: str, theme: Theme) -> Chart:
    counts, edges = np.histogram(p, bins=HISTOGRAM_BINS, range=(0.0, 1.0), weights=weight)
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
    base = alt.Chart(rows(records)).mark_rect(color=theme.faint, stroke=theme.background, strokeWidth=1)
    tooltip = [alt.Tooltip("rows:Q"), alt.Tooltip("x:Q", title="from"), alt.Tooltip("end:Q", title="to")]
    return base.encode(x=x, x2="end:Q", y=y, y2="zero:Q", tooltip=tooltip).properties(
        width=SIDE, height=HISTOGRAM_HEIGHT
    )


def _finding(calibration: CalibrationCurve, outside: Any) -> str:
    points = number(100.0 * calibration.error, 2)
    if not outside.any():
        return f"Calibrated within sampling error: off by {points} percentage points on average"
    gap = calibration.observed - calibration.predicted
    side = np.where(calibration.predicted >= 0.5, 1.0, -1.0)
    level, stretch = (float(calibration.count @ part / calibration.count.sum()) for part in (gap, gap * side))
    if abs(level) >= abs(stretch):
        how = "too low" if level > 0 else "too high"
    else:
        how = "underconfident" if stretch > 0 else "overconfident"
    return f"Probabilities are {how}: off by {points} percentage points on average"
