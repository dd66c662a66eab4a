"""The difference between two models in each fold, its mean and interval."""

import numpy as np

from gramian._core.text import without_round_off
from gramian._core.types import Chart
from gramian.charts.declaration import ChartKind, declared
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import number
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.selection.evaluation.comparison import Comparison

HEIGHT = 110
MAX_FOLDS = 400
CHART = ChartKind(name="comparison", of="result", order=0, applies=declared("comparison"))


def draw(result: Comparison, theme: Theme) -> Chart:
    """A dot for the difference in each fold, and the mean with its interval, about zero."""
    folds = np.asarray(result.folds, dtype=np.float64)[:MAX_FOLDS]
    ends = [value for value in (result.low, result.high) if np.isfinite(value)]
    values = [0.0, float(result.difference), *ends, *folds.tolist()]
    reach = 1.08 * max(abs(value) for value in values) or 1.0
    a, b = _names(result)
    x = alt.X(
        "value:Q",
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        axis=linear_axis(f"{result.metric} of {a} − {result.metric} of {b}", -reach, reach, tickCount=7),
    )
    heights = 0.3 + 0.18 * (np.arange(len(folds)) % 3 - 1)
    marks = [
        {"value": float(value), "fold": place, "y": float(height)}
        for place, (value, height) in enumerate(zip(folds, heights, strict=True))
    ]
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    zero = alt.Chart(rows([{"value": 0.0}])).mark_rule(color=theme.muted, strokeWidth=1.2).encode(x=x)
    dots = alt.Chart(rows(marks)).mark_circle(size=46, color=theme.muted, opacity=0.65)
    dots = dots.encode(x=x, y=y, tooltip=[alt.Tooltip("fold:Q"), alt.Tooltip("value:Q", format=".4~g")])
    one = {"value": float(result.difference), "y": 0.72}
    layers = [zero, dots]
    if len(ends) == 2:
        one |= {"low": float(result.low), "high": float(result.high)}
        bar = alt.Chart(rows([one])).mark_rule(color=theme.accent, strokeWidth=4, strokeCap="round", opacity=0.8)
        layers.append(bar.encode(x=alt.X("low:Q"), x2="high:Q", y=y))
    mean = alt.Chart(rows([one])).mark_point(filled=True, size=130, color=theme.accent, opacity=1)
    layers.append(mean.encode(x=x, y=y, tooltip=[alt.Tooltip("value:Q", title="mean", format=".4~g")]))
    left, right = (b, a) if result.a.greater_is_better else (a, b)
    for label, side, place in ((f"← {left} better", "left", 2), (f"{right} better →", "right", WIDTH - 2)):
        text = alt.Chart(rows([{"text": label}])).mark_text(align=side, fontSize=12, color=theme.ink, baseline="bottom")
        layers.append(text.encode(x=alt.value(place), y=alt.value(-5), text="text:N"))
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(_finding(result, a, b), *_facts(result, a, b))
    )


def _names(result: Comparison) -> tuple[str, str]:
    a, b = result.names
    return (a, b) if a != b else (f"a ({a})", f"b ({b})")


def _finding(result: Comparison, a: str, b: str) -> str:
    if result.better is None:
        return f"No clear difference in {result.metric} between {a} and {b}"
    better, other = (a, b) if result.better == "a" else (b, a)
    score, than = (result.a, result.b) if result.better == "a" else (result.b, result.a)
    return f"{better} is better than {other}: {result.metric} {number(score.mean, 4)} against {number(than.mean, 4)}"


def _facts(result: Comparison, a: str, b: str) -> list[str]:
    scale = max(abs(float(result.a.mean)), abs(float(result.b.mean)))
    facts = [f"difference {number(without_round_off(result.difference, scale))}"]
    if np.isfinite(result.low):
        facts.append(f"{100 * result.interval:g} % interval {number(result.low)} to {number(result.high)}")
    facts += [f"p {number(result.p, 2)}"] if np.isfinite(result.p) else []
    facts.append(f"{len(result.folds)} folds")
    notes = "dots: folds; bar: interval of the mean difference"
    if result.mcnemar is not None:
        exact = result.mcnemar
        notes += f"; only {a} correct {exact.only_a:,.10g}, only {b} correct {exact.only_b:,.10g}, "
        notes += f"McNemar p {number(exact.p, 2)}"
    return [" · ".join(facts), notes]
