"""The eigenvalues of a covariance, beside those of noise."""

import numpy as np

from gramian._core.types import Chart, Estimator, Floats
from gramian.charts.declaration import ChartKind, has, is_unsupervised, offers
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import ValueAxis, log_axis, vertical_rule
from gramian.charts.marks.text import counted, number, percent
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title
from gramian.spectral.null.spectrum_test import SpectrumTest

HEIGHT = 280
MAX_COMPONENTS = 60
LOG_RATIO = 50.0  # of the largest to the smallest variance, from which the axis is logarithmic
ROUND_OFF = 1e-9  # of the largest: smaller ones are round-off and do not extend the axis


def applies(model: Estimator, data: bool) -> bool:
    """Applies to principal components, and to spectrum tests."""
    return "scree" in offers(model) or (is_unsupervised(model) and has(model, "variance_shares_", "transform"))


CHART = ChartKind(name="scree", of="fit", order=130, applies=applies)


def draw(model: Estimator, theme: Theme) -> Chart:
    """Variances in order, those above the noise in colour; the band of noise, and that of permuted columns."""
    null = model if "scree" in offers(model) else (model.null_ if has(model, "null_") else None)
    values = np.asarray(model.variances_ if null is None else null.eigenvalues).astype(np.float64)
    shown = min(len(values), MAX_COMPONENTS)
    kept = int(model.n_components_) if has(model, "n_components_") else 0
    axis, log = _axis(values[:shown], null)
    step = 1 if shown <= 15 else 5
    x = alt.X(
        "component:Q",
        scale=alt.Scale(domain=[0.4, max(shown, 2) + 0.6], nice=False),
        axis=alt.Axis(title="component", values=[1, *range(step, shown + 1, step)], format="d", grid=False),
    )
    layers = _null_layers(null, axis, log, x, theme, shown) if null is not None else []
    n_signal = int(null.significant) if null is not None else kept
    low = axis.low
    p = np.zeros(0) if null is None else np.asarray(null.p_values, dtype=np.float64)
    total = (0.0 if null is None else float(null.total)) or float(values.sum()) or 1.0
    shares = np.asarray(model.variance_shares_ if has(model, "variance_shares_") else values / total, dtype=np.float64)
    records = [
        {
            "component": j + 1,
            "variance": float(max(values[j], low)),
            "eigenvalue": float(values[j]),
            "share": float(shares[j]) if j < len(shares) else float(values[j] / total),
            "p": float(p[j]) if j < len(p) else None,
            "what": "signal" if j < n_signal else "noise",
        }
        for j in range(shown)
    ]
    y = _encoding(axis, log, "variance")
    base = alt.Chart(rows(records)).encode(x=x, y=y)
    layers.append(base.mark_line(color=theme.faint, strokeWidth=1.2))
    colour = alt.Color(
        "what:N", scale=alt.Scale(domain=["signal", "noise"], range=[theme.accent, theme.muted]), legend=None
    )
    tooltip = [
        alt.Tooltip("component:Q"),
        alt.Tooltip("eigenvalue:Q", title="variance", format=".4~g"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    tooltip += [alt.Tooltip("p:Q", title="p-value", format=".2~g")] if len(p) else []
    dot = base.mark_point(filled=True, size=58 if shown <= 30 else 34, opacity=1)
    layers.append(dot.encode(color=colour, tooltip=tooltip))
    if 0 < kept < len(values) and kept < shown:
        layers += vertical_rule("component", kept + 0.5, f"{kept} kept", x, theme, dashed=True)
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(*_title(model, null, values, shares, kept, shown))
    )


def _axis(values: Floats, null: SpectrumTest | None) -> tuple[ValueAxis, bool]:
    edges = [] if null is None else [float(edge) for edge in null.edges]
    scrambled = None if null is None else null.scrambled
    high = max([float(values.max(initial=0.0)), *edges])
    high = high if scrambled is None else max(high, float(np.max(scrambled)))
    positive = values[values > ROUND_OFF * high]
    low = min([float(positive.min(initial=high)), *[edge for edge in edges if edge > ROUND_OFF * high]])
    if high > 0 and high / low > LOG_RATIO:
        return ValueAxis(low / 1.6, high * 1.6, "variance"), True
    return ValueAxis(0.0, high * 1.06 if high > 0 else 1.0, "variance"), False


def _encoding(axis: ValueAxis, log: bool, field: str) -> Chart:
    if not log:
        return axis.encoding(field)
    return alt.Y(
        f"{field}:Q",
        scale=alt.Scale(type="log", domain=[axis.low, axis.high], nice=False),
        axis=log_axis("variance", axis.low, axis.high, minExtent=LEFT),
    )


def _null_layers(null: SpectrumTest, axis: ValueAxis, log: bool, x: Chart, theme: Theme, shown: int) -> list[Chart]:
    low, high = (float(np.clip(edge, axis.low, axis.high)) for edge in null.edges)
    y = _encoding(axis, log, "variance")
    band = alt.Chart(rows([{"variance": low, "high": high, "text": "noise"}]))
    layers = []
    if high > low:
        shade = band.mark_rect(color=theme.second, opacity=0.14)
        layers.append(shade.encode(x=alt.value(0), x2=alt.value(WIDTH), y=y, y2="high:Q"))
        top = alt.Chart(rows([{"variance": high, "text": "upper edge of noise"}])).encode(y=y)
        layers.append(top.mark_rule(color=theme.second, strokeWidth=1.4))
        label = top.mark_text(align="right", baseline="bottom", dy=-3, fontSize=11, color=theme.second)
        layers.append(label.encode(x=alt.value(WIDTH - 4), text="text:N"))
    if null.scrambled is not None:
        scrambled = np.asarray(null.scrambled, dtype=np.float64)[:, :shown]
        ends = np.quantile(scrambled, [0.05, 0.5, 0.95], axis=0)
        ends = np.maximum(ends, axis.low)
        records = [
            {"component": j + 1, "variance": float(b), "low": float(a), "high": float(c)}
            for j, (a, b, c) in enumerate(ends.T)
        ]
        base = alt.Chart(rows(records)).encode(x=x)
        area = base.mark_area(color=theme.palette[2], opacity=0.25)
        layers.append(area.encode(y=_encoding(axis, log, "low"), y2="high:Q"))
        line = base.mark_line(color=theme.palette[2], strokeWidth=1.2, strokeDash=[4, 3])
        layers.append(line.encode(y=y))
        label = records[len(records) // 3] | {"text": "permuted columns"}
        at = alt.Chart(rows([label])).encode(x=x, y=y, text="text:N")
        style = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -5, "fontSize": 11}
        layers.append(at.mark_text(stroke=theme.background, strokeWidth=3, color=theme.background, **style))
        layers.append(at.mark_text(color=theme.palette[2], **style))
    return layers


def _above_scrambled(values: Floats, scrambled: Floats) -> int:
    """Number of leading eigenvalues above the 95 % quantile of the same eigenvalue with permuted columns."""
    m = min(scrambled.shape[1], len(values))
    above = values[:m] > np.quantile(scrambled[:, :m], 0.95, axis=0)
    return m if above.all() else int(above.argmin())


def _title(
    model: Estimator, null: SpectrumTest | None, values: Floats, shares: Floats, kept: int, shown: int
) -> tuple[str, str, str]:
    facts = [type(model).__name__]
    notes = []
    if null is not None:
        k, m = int(null.significant), len(values)
        if k == 0:
            finding = "No component is above the noise"
        else:
            finding = f"{k:,} of {counted(m, 'component')} {'is' if k == 1 else 'are'} above the noise"
        facts += [f"noise variance {number(null.noise)}", f"upper edge {number(float(null.edges[1]))}"]
        if len(np.atleast_1d(null.p_values)) > k:
            facts.append(f"p of the {'first' if k == 0 else 'next'} {number(float(null.p_values[k]), 2)}")
        notes.append("band: eigenvalues of noise")
        if null.scrambled is not None:
            above = _above_scrambled(values, np.asarray(null.scrambled, dtype=np.float64))
            facts.append(f"{above:,} above permuted columns")
            notes.append("green: 90 % range with permuted columns")
    else:
        explained = float(shares[: kept or 2].sum())
        first = counted(min(kept or 2, len(values)), "component")
        finding = f"{first} explain{'s' if first.startswith('1 ') else ''} {percent(explained)} of the variance"
    if has(model, "variance_shares_") and kept and null is not None:
        facts.append(f"{kept} kept, with {percent(float(shares[:kept].sum()))} of the variance")
    if shown < len(values):
        notes.append(f"the first {shown} of {len(values):,}")
    return finding, " · ".join(facts), "; ".join(notes)
