"""Cross-validated metrics of a model, each with its folds and its interval."""

import numpy as np

from gramian._core.types import Chart, Record
from gramian._core.validation import is_number
from gramian.charts.declaration import ChartKind, declared
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import labels, number
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.selection.evaluation.nested import Evaluation, Score

HEIGHT = 48
MEAN_LEVEL, FOLDS_LEVEL = 0.68, 0.25  # heights of the mean and of the folds
NAME_WIDTH = 130  # pixels for the names of metrics
MAX_METRICS = 12
MAX_FOLDS = 200
MAX_CHOICES = 3
CHART = ChartKind(name="evaluation", of="result", order=0, applies=declared("evaluation"))


def draw(result: Evaluation, theme: Theme) -> Chart:
    """One row per metric: a dot for each fold, the mean with its interval, and the metric of all predictions pooled."""
    scores = list(result.scores.values())
    shown = scores[:MAX_METRICS]
    panels = [_panel(score, theme) for score in shown]
    level = f"{100 * result.interval:g} %"
    notes = [f"small dots: folds; bar: {level} interval of their mean"]
    notes += ["diamond: all test predictions pooled"] if any(score.pooled is not None for score in shown) else []
    notes += [f"the first {MAX_METRICS} of {len(scores)} metrics"] if len(scores) > MAX_METRICS else []
    whole = panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=14)
    facts = " · ".join([result.model, f"{len(result.splits)} outer folds", *_choices(result.choices)])
    return whole.properties(title=title(_finding(scores[0], level), facts, "; ".join(notes)))


def _panel(score: Score, theme: Theme) -> Chart:
    folds = np.asarray(score.folds, dtype=np.float64)
    folds = folds[np.isfinite(folds)][:MAX_FOLDS]
    values = [score.mean, score.low, score.high, *folds.tolist()]
    values += [] if score.pooled is None else [score.pooled.value]
    values = [float(value) for value in values if np.isfinite(value)]
    low, high = min(values), max(values)
    pad = 0.06 * (high - low) or max(abs(high), 1e-3) * 0.1
    x = alt.X(
        "value:Q",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False),
        axis=linear_axis("", low, high, tickCount=6),
    )
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    marks = [{"value": float(value), "fold": place, "y": FOLDS_LEVEL} for place, value in enumerate(folds)]
    dots = alt.Chart(rows(marks)).mark_circle(size=42, color=theme.muted, opacity=0.65)
    tooltip = [alt.Tooltip("fold:Q"), alt.Tooltip("value:Q", title=score.name, format=".4~g")]
    layers = [dots.encode(x=x, y=y, tooltip=tooltip)] if marks else []
    if score.pooled is not None and np.isfinite(score.pooled.value):
        pooled = alt.Chart(rows([{"value": float(score.pooled.value), "y": FOLDS_LEVEL}]))
        pooled = pooled.mark_point(
            shape="diamond", size=80, filled=False, stroke=theme.second, strokeWidth=2, opacity=1
        )
        tooltip = [alt.Tooltip("value:Q", title="pooled predictions", format=".4~g")]
        layers.append(pooled.encode(x=x, y=y, tooltip=tooltip))
    one = {"value": float(score.mean), "y": MEAN_LEVEL}
    if np.isfinite(score.low) and np.isfinite(score.high):
        one |= {"low": float(score.low), "high": float(score.high)}
        bar = alt.Chart(rows([one])).mark_rule(color=theme.accent, strokeWidth=4, strokeCap="round", opacity=0.8)
        layers.append(bar.encode(x=alt.X("low:Q"), x2="high:Q", y=y))
    keys = [key for key in ("value", "low", "high") if key in one]
    mean = alt.Chart(rows([one])).mark_point(filled=True, size=120, color=theme.accent, opacity=1)
    layers.append(mean.encode(x=x, y=y, tooltip=[alt.Tooltip(f"{key}:Q", format=".4~g") for key in keys]))
    width = WIDTH - NAME_WIDTH
    labels_row = alt.Chart(rows([{"name": labels([score.name])[0], "mean": number(score.mean, 4), "y": 0.5}])).encode(
        y=y
    )
    for field, side, place in (("name", "right", -12), ("mean", "left", width + 12)):
        text = labels_row.mark_text(align=side, fontSize=12, color=theme.ink)
        layers.append(text.encode(x=alt.value(place), text=f"{field}:N"))
    return alt.layer(*layers).properties(width=width, height=HEIGHT)


def _choices(choices: list[Record]) -> list[str]:
    """Parameters chosen in the folds, from the smallest to the largest."""
    ranges = []
    for name in list(dict.fromkeys(name for choice in choices for name in choice))[:MAX_CHOICES]:
        values = [choice[name] for choice in choices if name in choice]
        if all(map(is_number, values)):
            low, high = number(min(values)), number(max(values))
            ranges.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
    return ranges


def _finding(score: Score, level: str) -> str:
    start = f"Cross-validated {score.name} {number(score.mean, 4)}"
    if not (np.isfinite(score.low) and np.isfinite(score.high)):
        return start
    return f"{start} ({level} interval {number(score.low)} to {number(score.high)})"
