"""Bias, variance and noise: where the expected loss of a model comes from."""

from typing import Any

import altair as alt

from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import number, percent
from gramian.charts.theme import WIDTH, Theme, rows, title

STEP = 38
MEANING = {
    "bias": "what the mean of all models misses",
    "variance": "how models of other training sets differ",
    "noise": "what no model could predict",
}


def draw(found: Any, look: Theme) -> Any:
    """One bar for each part, and one for their sum."""
    parts = {"bias": float(found.bias), "variance": float(found.variance), "noise": float(found.noise)}
    shown = {("bias²" if key == "bias" and found.loss == "squared" else key): value for key, value in parts.items()}
    total = float(found.total)
    records: list[dict[str, Any]] = []
    at = 0.0
    colours = dict(zip(shown, look.palette, strict=False))
    for name, value in shown.items():
        records.append({"part": name, "start": at, "end": at + value, "value": value, "colour": colours[name]})
        at += value
    records.append({"part": "total", "start": 0.0, "end": total, "value": total, "colour": look.muted})
    for record in records:
        part = f" · {percent(record['value'] / total)}" if total > 0 and 0 <= record["value"] < total else ""
        record |= {"text": number(record["value"]) + part, "edge": max(record["start"], record["end"])}
    ends = [0.0, *(record[key] for record in records for key in ("start", "end"))]
    low, high = min(ends), max(ends)
    axis = linear_axis("expected squared error" if found.loss == "squared" else "expected error rate", low, high)
    x = alt.X("start:Q", scale=alt.Scale(domain=[low, high + 0.24 * (high - low or 1.0)], nice=False), axis=axis)
    names = alt.Axis(title=None, ticks=False, domain=False, grid=False, labelColor=look.ink)
    y = alt.Y("part:N", sort=None, axis=names)
    base = alt.Chart(rows(records)).encode(y=y)
    bars = base.mark_bar(height=20, cornerRadius=2).encode(
        x=x,
        x2="end:Q",
        color=alt.Color("colour:N", scale=None),
        tooltip=["part:N", alt.Tooltip("value:Q", format=".5~g")],
    )
    words = base.mark_text(align="left", dx=6, fontSize=12, color=look.ink).encode(x=alt.X("edge:Q"), text="text:N")
    zero = alt.Chart(rows([{"start": 0.0}])).mark_rule(color=look.muted, strokeWidth=1).encode(x=x)
    facts = f"{found.model} · {found.repeats:,} training sets of {found.rows:,} rows · noise from {found.noise_source}"
    largest = max(parts, key=lambda key: parts[key])
    finding = f"The loss is mostly {largest}: {MEANING[largest]}"
    if total <= 0:
        finding = "The expected loss is zero"
    return alt.layer(zero, bars, words).properties(
        width=WIDTH, height=alt.Step(STEP), title=title(finding, facts, _note(found))
    )


def _note(found: Any) -> str:
    if found.variance_unbiased is None:
        return ""
    harm, good = number(found.variance_unbiased), number(found.variance_biased)
    return f"variance does harm where most models are right ({harm}) and good where they are wrong ({good})"
