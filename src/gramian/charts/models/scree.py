"""The spectrum of a covariance, beside what noise would have."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.axis import ValueAxis, log_axis
from gramian.charts.marks.text import Floats, counted, number, percent
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title

HEIGHT = 280
MOST = 60
WIDE = 50.0  # between the largest and the least variance shown, from which the axis is logarithmic
TINY = 1e-9  # of the largest: smaller ones are rounding, and would stretch the axis


def draw(model: Any, look: Theme) -> Any:
    """Variances in order, those above the noise in colour; the band of noise, and that of scrambled columns."""
    null = model if hasattr(model, "edges") else getattr(model, "null_", None)
    values = np.asarray(null.eigenvalues if null is not None and hasattr(null, "eigenvalues") else model.variances_)
    values = values.astype(np.float64)
    shown = min(len(values), MOST)
    kept = int(getattr(model, "n_components_", 0))
    axis, log = _axis(values[:shown], null)
    step = 1 if shown <= 15 else 5
    x = alt.X(
        "component:Q",
        scale=alt.Scale(domain=[0.4, max(shown, 2) + 0.6], nice=False),
        axis=alt.Axis(title="component", values=[1, *range(step, shown + 1, step)], format="d", grid=False),
    )
    layers = _null_layers(null, axis, log, x, look, shown) if null is not None else []
    real = int(null.significant) if null is not None else kept
    low = axis.low
    p = np.asarray(getattr(null, "p_values", []), dtype=np.float64)
    total = float(getattr(null, "total", 0.0)) or float(values.sum()) or 1.0
    shares = np.asarray(getattr(model, "variance_shares_", values / total), dtype=np.float64)
    records = [
        {
            "component": j + 1,
            "variance": float(max(values[j], low)),
            "given": float(values[j]),
            "share": float(shares[j]) if j < len(shares) else float(values[j] / total),
            "p": float(p[j]) if j < len(p) else None,
            "what": "more than noise" if j < real else "noise",
        }
        for j in range(shown)
    ]
    y = _encoding(axis, log, "variance")
    base = alt.Chart(rows(records)).encode(x=x, y=y)
    layers.append(base.mark_line(color=look.faint, strokeWidth=1.2))
    colour = alt.Color(
        "what:N", scale=alt.Scale(domain=["more than noise", "noise"], range=[look.accent, look.muted]), legend=None
    )
    tooltip = [
        alt.Tooltip("component:Q"),
        alt.Tooltip("given:Q", title="variance", format=".4~g"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    tooltip += [alt.Tooltip("p:Q", title="p-value", format=".2~g")] if len(p) else []
    dot = base.mark_point(filled=True, size=58 if shown <= 30 else 34, opacity=1)
    layers.append(dot.encode(color=colour, tooltip=tooltip))
    if 0 < kept < len(values) and kept < shown:
        layers += _kept(kept, x, look)
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(*_words(model, null, values, shares, kept, shown))
    )


def _axis(values: Floats, null: Any) -> tuple[ValueAxis, bool]:
    edges = [] if null is None else [float(edge) for edge in null.edges]
    scrambled = getattr(null, "scrambled", None)
    high = max([float(values.max(initial=0.0)), *edges])
    high = high if scrambled is None else max(high, float(np.max(scrambled)))
    there = values[values > TINY * high]
    low = min([float(there.min(initial=high)), *[edge for edge in edges if edge > TINY * high]])
    if high > 0 and high / low > WIDE:
        return ValueAxis(low / 1.6, high * 1.6, "variance"), True
    return ValueAxis(0.0, high * 1.06 if high > 0 else 1.0, "variance"), False


def _encoding(axis: ValueAxis, log: bool, field: str) -> Any:
    if not log:
        return axis.encoding(field)
    return alt.Y(
        f"{field}:Q",
        scale=alt.Scale(type="log", domain=[axis.low, axis.high], nice=False),
        axis=log_axis("variance", axis.low, axis.high, minExtent=LEFT),
    )


def _null_layers(null: Any, axis: ValueAxis, log: bool, x: Any, look: Theme, shown: int) -> list[Any]:
    low, high = (float(np.clip(edge, axis.low, axis.high)) for edge in null.edges)
    y = _encoding(axis, log, "variance")
    band = alt.Chart(rows([{"variance": low, "high": high, "text": "noise"}]))
    layers = []
    if high > low:
        shade = band.mark_rect(color=look.second, opacity=0.14)
        layers.append(shade.encode(x=alt.value(0), x2=alt.value(WIDTH), y=y, y2="high:Q"))
        top = alt.Chart(rows([{"variance": high, "text": "edge of noise"}])).encode(y=y)
        layers.append(top.mark_rule(color=look.second, strokeWidth=1.4))
        word = top.mark_text(align="right", baseline="bottom", dy=-3, fontSize=11, color=look.second)
        layers.append(word.encode(x=alt.value(WIDTH - 4), text="text:N"))
    if getattr(null, "scrambled", None) is not None:
        scrambled = np.asarray(null.scrambled, dtype=np.float64)[:, :shown]
        ends = np.quantile(scrambled, [0.05, 0.5, 0.95], axis=0)
        ends = np.maximum(ends, axis.low)
        records = [
            {"component": j + 1, "variance": float(b), "low": float(a), "high": float(c)}
            for j, (a, b, c) in enumerate(ends.T)
        ]
        base = alt.Chart(rows(records)).encode(x=x)
        area = base.mark_area(color=look.palette[2], opacity=0.25)
        layers.append(area.encode(y=_encoding(axis, log, "low"), y2="high:Q"))
        line = base.mark_line(color=look.palette[2], strokeWidth=1.2, strokeDash=[4, 3])
        layers.append(line.encode(y=y))
        word = records[len(records) // 3] | {"text": "scrambled columns"}
        at = alt.Chart(rows([word])).encode(x=x, y=y, text="text:N")
        style = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -5, "fontSize": 11}
        layers.append(at.mark_text(stroke=look.background, strokeWidth=3, color=look.background, **style))
        layers.append(at.mark_text(color=look.palette[2], **style))
    return layers


def _above_scrambled(values: Floats, scrambled: Floats) -> int:
    """Leading eigenvalues above 95 % of those in their place of the scrambled tables."""
    m = min(scrambled.shape[1], len(values))
    above = values[:m] > np.quantile(scrambled[:, :m], 0.95, axis=0)
    return m if above.all() else int(above.argmin())


def _kept(kept: int, x: Any, look: Theme) -> list[Any]:
    mark = alt.Chart(rows([{"component": kept + 0.5, "text": f"{kept} kept"}])).encode(x=x)
    line = mark.mark_rule(color=look.ink, strokeWidth=1.2, strokeDash=[4, 4])
    word = mark.mark_text(baseline="bottom", align="center", color=look.ink, fontSize=12)
    return [line, word.encode(y=alt.value(-4), text="text:N")]


def _words(model: Any, null: Any, values: Floats, shares: Floats, kept: int, shown: int) -> tuple[str, str, str]:
    facts = [type(model).__name__]
    notes = []
    if null is not None:
        k, m = int(null.significant), len(values)
        if k == 0:
            finding = "No component stands above the noise"
        else:
            finding = f"{k:,} of {counted(m, 'component')} {'stands' if k == 1 else 'stand'} above the noise"
        facts += [f"noise variance {number(null.noise)}", f"edge {number(float(null.edges[1]))}"]
        if len(np.atleast_1d(null.p_values)) > k:
            facts.append(f"p of the {'first' if k == 0 else 'next'} {number(float(null.p_values[k]), 2)}")
        notes.append("band: where eigenvalues of noise lie")
        if getattr(null, "scrambled", None) is not None:
            above = _above_scrambled(values, np.asarray(null.scrambled, dtype=np.float64))
            facts.append(f"{above:,} above scrambled columns")
            notes.append("green: 90 % of the tables with scrambled columns")
    else:
        held = float(shares[: kept or 2].sum())
        first = counted(min(kept or 2, len(values)), "component")
        finding = f"{first} hold{'s' if first.startswith('1 ') else ''} {percent(held)} of the variance"
    if hasattr(model, "variance_shares_") and kept and null is not None:
        facts.append(f"{kept} kept, with {percent(float(shares[:kept].sum()))} of the variance")
    if shown < len(values):
        notes.append(f"the first {shown} of {len(values):,}")
    return finding, " · ".join(facts), "; ".join(notes)
