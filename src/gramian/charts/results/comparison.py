"""Which of two models is better: their difference in each fold, its mean and interval."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import number
from gramian.charts.theme import WIDTH, Theme, rows, title

HEIGHT = 110
MOST_FOLDS = 400


def draw(found: Any, look: Theme) -> Any:
    """A dot for the difference in each fold, and the mean with its interval, about zero."""
    folds = np.asarray(found.folds, dtype=np.float64)[:MOST_FOLDS]
    ends = [value for value in (found.low, found.high) if np.isfinite(value)]
    values = [0.0, float(found.difference), *ends, *folds.tolist()]
    reach = 1.08 * max(abs(value) for value in values) or 1.0
    a, b = _names(found)
    x = alt.X(
        "value:Q",
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        axis=linear_axis(f"{found.metric} of {a} − {found.metric} of {b}", -reach, reach, tickCount=7),
    )
    heights = 0.3 + 0.18 * (np.arange(len(folds)) % 3 - 1)
    marks = [
        {"value": float(value), "fold": place, "y": float(height)}
        for place, (value, height) in enumerate(zip(folds, heights, strict=True))
    ]
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    zero = alt.Chart(rows([{"value": 0.0}])).mark_rule(color=look.muted, strokeWidth=1.2).encode(x=x)
    dots = alt.Chart(rows(marks)).mark_circle(size=46, color=look.muted, opacity=0.65)
    dots = dots.encode(x=x, y=y, tooltip=[alt.Tooltip("fold:Q"), alt.Tooltip("value:Q", format=".4~g")])
    one = {"value": float(found.difference), "y": 0.72}
    layers = [zero, dots]
    if len(ends) == 2:
        one |= {"low": float(found.low), "high": float(found.high)}
        bar = alt.Chart(rows([one])).mark_rule(color=look.accent, strokeWidth=4, strokeCap="round", opacity=0.8)
        layers.append(bar.encode(x=alt.X("low:Q"), x2="high:Q", y=y))
    mean = alt.Chart(rows([one])).mark_point(filled=True, size=130, color=look.accent, opacity=1)
    layers.append(mean.encode(x=x, y=y, tooltip=[alt.Tooltip("value:Q", title="mean", format=".4~g")]))
    left, right = (b, a) if found.a.greater_is_better else (a, b)
    for words, side, place in ((f"← {left} better", "left", 2), (f"{right} better →", "right", WIDTH - 2)):
        text = alt.Chart(rows([{"text": words}])).mark_text(align=side, fontSize=12, color=look.ink, baseline="bottom")
        layers.append(text.encode(x=alt.value(place), y=alt.value(-5), text="text:N"))
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(found, a, b), *_facts(found, a, b))
    )


def _names(found: Any) -> tuple[str, str]:
    a, b = found.names
    return (a, b) if a != b else (f"a ({a})", f"b ({b})")


def _finding(found: Any, a: str, b: str) -> str:
    if found.better is None:
        return f"No clear difference in {found.metric} between {a} and {b}"
    better, other = (a, b) if found.better == "a" else (b, a)
    score, than = (found.a, found.b) if found.better == "a" else (found.b, found.a)
    return f"{better} is better than {other}: {found.metric} {number(score.mean, 4)} against {number(than.mean, 4)}"


def _facts(found: Any, a: str, b: str) -> list[str]:
    words = [f"difference {number(found.difference)}"]
    if np.isfinite(found.low):
        words.append(f"{100 * found.interval:g} % interval {number(found.low)} to {number(found.high)}")
    words += [f"p {number(found.p, 2)}"] if np.isfinite(found.p) else []
    words.append(f"{len(found.folds)} folds")
    notes = "dots: folds; bar: interval of the mean difference"
    if found.mcnemar is not None:
        exact = found.mcnemar
        notes += f"; only {a} right {exact.only_a:,.10g}, only {b} right {exact.only_b:,.10g}, "
        notes += f"McNemar p {number(exact.p, 2)}"
    return [" · ".join(words), notes]
