"""The decomposition of the expected loss of a model into bias, variance and noise."""

from gramian._core.text import without_round_off
from gramian._core.types import Chart, Record
from gramian.charts.declaration import ChartKind, declared
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.text import number, percent
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.selection.evaluation.decomposition import BiasVariance

STEP = 38
MEANING = {
    "bias": "the error of the average model",
    "variance": "the spread between training sets",
    "noise": "unpredictable from the features",
}
CHART = ChartKind(name="decomposition", of="result", order=0, applies=declared("decomposition"))


def draw(result: BiasVariance, theme: Theme) -> Chart:
    """One bar for each part, and one for their sum."""
    parts = {"bias": float(result.bias), "variance": float(result.variance), "noise": float(result.noise)}
    shown = {("bias²" if key == "bias" and result.loss == "squared" else key): value for key, value in parts.items()}
    total = float(result.total)
    records: list[Record] = []
    start = 0.0
    colours = dict(zip(shown, theme.palette, strict=False))
    for name, value in shown.items():
        records.append({"part": name, "start": start, "end": start + value, "value": value, "colour": colours[name]})
        start += value
    records.append({"part": "total", "start": 0.0, "end": total, "value": total, "colour": theme.muted})
    for record in records:
        share = f" · {percent(record['value'] / total)}" if total > 0 and 0 <= record["value"] < total else ""
        value = without_round_off(record["value"], abs(total))
        record |= {"text": number(value) + share, "edge": max(record["start"], record["end"])}
    ends = [0.0, *(record[key] for record in records for key in ("start", "end"))]
    low, high = min(ends), max(ends)
    name = "expected squared error" if result.loss == "squared" else "expected error rate"
    axis = linear_axis(name, low, high, tickCount=6)
    x = alt.X("start:Q", scale=alt.Scale(domain=[low, high + 0.24 * (high - low or 1.0)], nice=False), axis=axis)
    names = alt.Axis(title=None, ticks=False, domain=False, grid=False, labelColor=theme.ink)
    y = alt.Y("part:N", sort=None, axis=names)
    base = alt.Chart(rows(records)).encode(y=y)
    bars = base.mark_bar(height=20, cornerRadius=2).encode(
        x=x,
        x2="end:Q",
        color=alt.Color("colour:N", scale=None),
        tooltip=["part:N", alt.Tooltip("value:Q", format=".5~g")],
    )
    texts = base.mark_text(align="left", dx=6, fontSize=12, color=theme.ink).encode(x=alt.X("edge:Q"), text="text:N")
    zero = alt.Chart(rows([{"start": 0.0}])).mark_rule(color=theme.muted, strokeWidth=1).encode(x=x)
    facts = (
        f"{result.model} · {result.repeats:,} training sets of {result.rows:,} rows · noise from {result.noise_source}"
    )
    largest = max(parts, key=lambda key: parts[key])
    finding = f"The loss is mostly {largest}, {MEANING[largest]}"
    if total <= 0:
        finding = "The expected loss is zero"
    return alt.layer(zero, bars, texts).properties(
        width=WIDTH, height=alt.Step(STEP), title=title(finding, facts, _note(result))
    )


def _note(result: BiasVariance) -> str:
    if result.variance_unbiased is None or result.variance_biased is None:
        return ""
    unbiased, biased = number(result.variance_unbiased), number(result.variance_biased)
    return f"net variance: {unbiased} where the main prediction is correct minus {biased} where it is wrong"
