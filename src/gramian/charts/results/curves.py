"""Learning and validation curves: training and validation scores over rows or over a parameter."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import ValueAxis, linear_axis, log_axis
from gramian.charts.marks.text import labels, number, plain
from gramian.charts.models.path import LABEL_HEIGHT, spread
from gramian.charts.theme import WIDTH, Theme, rows, title

HEIGHT = 300
WIDE = 20.0  # ratio of the largest to the least value from which an axis is logarithmic


def draw(found: Any, look: Theme) -> Any:
    """Means of both with bands of one standard error; a rule at the best value of a parameter."""
    parts = {"training": found.train, "validation": found.validation}
    x, places = _axis(found)
    spread = [np.nan_to_num(part.se) for part in parts.values()]
    lows = [float(np.nanmin(part.mean - se)) for part, se in zip(parts.values(), spread, strict=True)]
    highs = [float(np.nanmax(part.mean + se)) for part, se in zip(parts.values(), spread, strict=True)]
    vertical = ValueAxis.over(min(lows), max(highs), found.metric)
    records = [
        {
            "x": place,
            "value": number_of,
            "score": float(mean),
            "low": float(mean - se),
            "high": float(mean + se),
            "on": name,
        }
        for (name, part), errors in zip(parts.items(), spread, strict=True)
        for place, number_of, mean, se in zip(places, _words(found), part.mean, errors, strict=True)
    ]
    names = list(parts)
    numeric = _is_numeric(found)
    legend = None if numeric else alt.Legend(title=None, orient="top", offset=4, symbolType="circle", symbolOpacity=1)
    colours = alt.Scale(domain=names, range=[look.second, look.accent])
    colour = alt.Color("on:N", sort=names, scale=colours, legend=legend)
    tooltip = [alt.Tooltip("on:N"), alt.Tooltip("value:N", title=plain(found.over))]
    tooltip.append(alt.Tooltip("score:Q", title=found.metric, format=".4~g"))
    base = alt.Chart(rows(records)).encode(x=x, color=colour)
    dots = base.mark_point(filled=True, size=40, opacity=1).encode(y=vertical.encoding("score"), tooltip=tooltip)
    bars = base.mark_area(opacity=0.15) if numeric else base.mark_rule(strokeWidth=2, opacity=0.6)
    layers = [bars.encode(y=vertical.encoding("low"), y2="high:Q"), dots]
    if numeric:
        layers.insert(1, base.mark_line(strokeWidth=2).encode(y=vertical.encoding("score")))
        layers += _ends(found, vertical, colours)
    else:
        beside = alt.XOffset("on:N", sort=names, scale=alt.Scale(paddingOuter=1))
        layers = [layer.encode(xOffset=beside) for layer in layers]
    if found.over != "rows" and numeric:
        mark = alt.Chart(rows([{"x": places[found.best], "text": "best"}])).encode(x=x)
        layers.append(mark.mark_rule(color=look.ink, strokeWidth=1.2, strokeDash=[4, 4]))
        word = mark.mark_text(baseline="bottom", color=look.ink, fontSize=12)
        layers.append(word.encode(y=alt.value(-4), text="text:N"))
    folds, best = found.train.folds.shape[1], found.validation
    last = f"{found.metric} {number(best.mean[found.best], 4)} ± {number(best.se[found.best], 2)}"
    facts = f"{found.model} · {folds} folds · best in validation: {last}"
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(found), facts, "mean over the folds ± one standard error")
    )


def _ends(found: Any, vertical: ValueAxis, colours: Any) -> list[Any]:
    """The names of both lines where they end, on the right."""
    last = int(np.asarray(found.values, dtype=np.float64).argmax())
    ends = {"training": float(found.train.mean[last]), "validation": float(found.validation.mean[last])}
    names = sorted(ends, key=lambda name: ends[name])
    gap = (vertical.high - vertical.low) * LABEL_HEIGHT / HEIGHT
    places = spread(np.array([ends[name] for name in names]), gap, vertical.low, vertical.high)
    records = [{"on": name, "place": float(place)} for name, place in zip(names, places, strict=True)]
    side = alt.Chart(rows(records)).mark_text(align="left", baseline="middle", fontSize=12)
    colour = alt.Color("on:N", scale=colours, legend=None)
    return [side.encode(x=alt.value(WIDTH + 8), y=vertical.encoding("place"), text="on:N", color=colour)]


def _is_numeric(found: Any) -> bool:
    return found.values.dtype.kind in "fiu" and len(np.unique(found.values)) == len(found.values)


def _words(found: Any) -> list[str]:
    values = found.values.tolist()
    return [number(value) if _is_numeric(found) else plain(value) for value in values]


def _axis(found: Any) -> tuple[Any, list[Any]]:
    name = "training rows" if found.over == "rows" else plain(found.over)
    if not _is_numeric(found):
        words = labels(found.values.tolist())
        return alt.X("x:N", sort=None, axis=alt.Axis(title=name, labelAngle=0 if len(words) < 8 else -40)), words
    values = np.asarray(found.values, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    if low > 0 and high / low > WIDE:
        scale = alt.Scale(type="log", domain=[low, high], nice=False, padding=8)
        return alt.X("x:Q", scale=scale, axis=log_axis(name, low, high, grid=False)), values.tolist()
    scale = alt.Scale(domain=[low, high], nice=False, zero=False, padding=8)
    if low == high:
        scale = alt.Scale(domain=[low - 1.0, high + 1.0], nice=False, zero=False)
    return alt.X("x:Q", scale=scale, axis=linear_axis(name, low, high, grid=False, tickCount=7)), values.tolist()


def _finding(found: Any) -> str:
    gap = np.asarray(found.gap)
    if found.over != "rows":
        where = _words(found)[found.best]
        at_end = (
            _is_numeric(found)
            and len(found.values) > 1
            and found.values[found.best]
            in (
                found.values.min(),
                found.values.max(),
            )
        )
        return f"{plain(found.over)} {where} is best in validation" + (", the end of what was tried" if at_end else "")
    mean, se = found.validation.mean, np.nan_to_num(found.validation.se)
    start = f"With {found.values[-1]:,} rows {found.metric} is {number(mean[-1], 4)} in validation"
    if len(mean) < 2:
        return start
    gain = (mean[-1] - mean[-2]) * (1.0 if found.greater_is_better else -1.0)
    if gain > se[-1]:
        return f"{start}, and still improving"
    side = "worse than" if gap[-1] > 0 else "no worse than"
    return f"{start}, {number(abs(gap[-1]))} {side} in training" if gap[-1] > 0 else f"{start}, {side} in training"
