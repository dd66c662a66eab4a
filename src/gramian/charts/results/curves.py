"""Learning and validation curves: training and validation scores over rows or over a parameter."""

from typing import Any

import numpy as np

from gramian._core.types import Chart
from gramian.charts.declaration import ChartKind, declared
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import ValueAxis, linear_axis, log_axis, vertical_rule
from gramian.charts.marks.text import labels, number, plain
from gramian.charts.models.path import LABEL_HEIGHT, spread
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.selection.evaluation.learning import Curves

HEIGHT = 300
LOG_RATIO = 20.0  # of the largest to the smallest value, from which the axis is logarithmic
CHART = ChartKind(name="curves", of="result", order=0, applies=declared("curves"))


def draw(result: Curves, theme: Theme) -> Chart:
    """Means of both with bands of one standard error; a rule at the best value of a parameter."""
    parts = {"training": result.train, "validation": result.validation}
    x, places = _axis(result)
    errors = [np.nan_to_num(part.se) for part in parts.values()]
    lows = [float(np.nanmin(part.mean - se)) for part, se in zip(parts.values(), errors, strict=True)]
    highs = [float(np.nanmax(part.mean + se)) for part, se in zip(parts.values(), errors, strict=True)]
    vertical = ValueAxis.over(min(lows), max(highs), result.metric)
    records = [
        {
            "x": place,
            "value": value,
            "score": float(mean),
            "low": float(mean - se),
            "high": float(mean + se),
            "on": name,
        }
        for (name, part), own_errors in zip(parts.items(), errors, strict=True)
        for place, value, mean, se in zip(places, _value_texts(result), part.mean, own_errors, strict=True)
    ]
    names = list(parts)
    numeric = _is_numeric(result)
    legend = None if numeric else alt.Legend(title=None, orient="top", offset=4, symbolType="circle", symbolOpacity=1)
    colours = alt.Scale(domain=names, range=[theme.second, theme.accent])
    colour = alt.Color("on:N", sort=names, scale=colours, legend=legend)
    tooltip = [alt.Tooltip("on:N"), alt.Tooltip("value:N", title=plain(result.over))]
    tooltip.append(alt.Tooltip("score:Q", title=result.metric, format=".4~g"))
    base = alt.Chart(rows(records)).encode(x=x, color=colour)
    dots = base.mark_point(filled=True, size=40, opacity=1).encode(y=vertical.encoding("score"), tooltip=tooltip)
    bars = base.mark_area(opacity=0.15) if numeric else base.mark_rule(strokeWidth=2, opacity=0.6)
    layers = [bars.encode(y=vertical.encoding("low"), y2="high:Q"), dots]
    if numeric:
        layers.insert(1, base.mark_line(strokeWidth=2).encode(y=vertical.encoding("score")))
        layers += _ends(result, vertical, colours)
    else:
        offset = alt.XOffset("on:N", sort=names, scale=alt.Scale(paddingOuter=1))
        layers = [layer.encode(xOffset=offset) for layer in layers]
    if result.over != "rows" and numeric:
        layers += vertical_rule("x", places[result.best], "best", x, theme, dashed=True)
    folds, best = result.train.folds.shape[1], result.validation
    best_score = f"{result.metric} {number(best.mean[result.best], 4)} ± {number(best.se[result.best], 2)}"
    facts = f"{result.model} · {folds} folds · best validation score: {best_score}"
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(result), facts, "mean over the folds ± one standard error")
    )


def _ends(result: Curves, vertical: ValueAxis, colours: Any) -> list[Chart]:
    """The names of both lines where they end, on the right."""
    last = int(np.asarray(result.values, dtype=np.float64).argmax())
    ends = {"training": float(result.train.mean[last]), "validation": float(result.validation.mean[last])}
    names = sorted(ends, key=lambda name: ends[name])
    gap = (vertical.high - vertical.low) * LABEL_HEIGHT / HEIGHT
    places = spread(np.array([ends[name] for name in names]), gap, vertical.low, vertical.high)
    records = [{"on": name, "place": float(place)} for name, place in zip(names, places, strict=True)]
    side = alt.Chart(rows(records)).mark_text(align="left", baseline="middle", fontSize=12)
    colour = alt.Color("on:N", scale=colours, legend=None)
    return [side.encode(x=alt.value(WIDTH + 8), y=vertical.encoding("place"), text="on:N", color=colour)]


def _is_numeric(result: Curves) -> bool:
    return result.values.dtype.kind in "fiu" and len(np.unique(result.values)) == len(result.values)


def _value_texts(result: Curves) -> list[str]:
    values = result.values.tolist()
    return [number(value) if _is_numeric(result) else plain(value) for value in values]


def _axis(result: Curves) -> tuple[Any, list[Any]]:
    name = "training rows" if result.over == "rows" else plain(result.over)
    if not _is_numeric(result):
        values_shown = labels(result.values.tolist())
        angle = 0 if len(values_shown) < 8 else -40
        return alt.X("x:N", sort=None, axis=alt.Axis(title=name, labelAngle=angle)), values_shown
    values = np.asarray(result.values, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    if low > 0 and high / low > LOG_RATIO:
        scale = alt.Scale(type="log", domain=[low, high], nice=False, padding=8)
        return alt.X("x:Q", scale=scale, axis=log_axis(name, low, high, grid=False)), values.tolist()
    scale = alt.Scale(domain=[low, high], nice=False, zero=False, padding=8)
    if low == high:
        scale = alt.Scale(domain=[low - 1.0, high + 1.0], nice=False, zero=False)
    return alt.X("x:Q", scale=scale, axis=linear_axis(name, low, high, grid=False, tickCount=7)), values.tolist()


def _finding(result: Curves) -> str:
    gap = np.asarray(result.gap)
    if result.over != "rows":
        best = _value_texts(result)[result.best]
        several = _is_numeric(result) and len(result.values) > 1
        at_end = several and result.values[result.best] in (result.values.min(), result.values.max())
        return f"Best validation score at {plain(result.over)} {best}" + (", the end of the grid" if at_end else "")
    mean, se = result.validation.mean, np.nan_to_num(result.validation.se)
    start = f"Validation {result.metric} {number(mean[-1], 4)} with {result.values[-1]:,} rows"
    if len(mean) < 2:
        return start
    gain = (mean[-1] - mean[-2]) * (1.0 if result.greater_is_better else -1.0)
    if gain > se[-1]:
        return f"{start}, still improving"
    return f"{start}, {number(gap[-1])} worse than training" if gap[-1] > 0 else f"{start}, no worse than training"
