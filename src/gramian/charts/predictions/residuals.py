"""Residuals against predictions: what the model leaves over, and the rows that it is far from."""

from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from gramian.charts.marks.axis import ValueAxis, linear_axis
from gramian.charts.marks.points import some, weighted_quantile
from gramian.charts.marks.text import Floats, counted, number
from gramian.charts.predictions.predictions import Measured
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.objective.losses.base import Scaled

HEIGHT = 300
MOST_POINTS = 2000
MOST_TARGETS = 3
MOST_FAR = 500
FAR = 3.0  # robust standard deviations
NORMAL = 1.4826  # standard deviations of a normal distribution in its median absolute deviation
LIGHT = 0.5  # weight below which a robust loss has set a row aside
BAND = np.array([0.25, 0.5, 0.75])
EACH, PIECES = 40, 12  # rows for each piece of the band, and most pieces


def draw(measured: Measured, look: Theme) -> Any:
    """Dots, the median and the middle half among neighbouring predictions; several targets side by side."""
    targets = measured.truth.shape[1]
    shown = min(targets, MOST_TARGETS)
    width = WIDTH if targets == 1 else int(WIDTH * 1.2 / shown)
    panels, notes, facts = [], [], []
    for target in range(shown):
        residual = measured.truth[:, target] - measured.fitted[:, target]
        influence = _influence(measured, target)
        far = _far(residual, influence, measured.weight)
        panel, note = _panel(measured.fitted[:, target], residual, influence, far, measured.weight, look, width)
        small = alt.TitleParams(f"target {target}", fontSize=12, fontWeight="normal", color=look.muted, offset=8)
        panels.append(panel if targets == 1 else panel.properties(title=small))
        notes += note
        facts.append(_fact(measured, residual, far, target))
    more = [f"the first {MOST_TARGETS} of {targets} targets"] if targets > MOST_TARGETS else []
    robust = (
        f"their weight in the fit is below {LIGHT:g}" if influence is not None else f"beyond {FAR:g} robust deviations"
    )
    band = ["line and band: median and middle half among neighbouring predictions"]
    band += [f"far off: {robust}"] if any(fact[1] for fact in facts) else []
    whole = panels[0] if targets == 1 else alt.hconcat(*panels, spacing=24)
    small_print = "; ".join([*band, *dict.fromkeys(notes), *more])
    return whole.properties(title=title(facts[0][0], _words(measured), small_print))


def _influence(measured: Measured, target: int) -> Floats | None:
    """Weight of each row in the fit, 1 near the prediction, where the loss has a scale; None for other losses."""
    loss, scale = getattr(measured.model, "_loss", None), getattr(measured.model, "scale_", None)
    if not isinstance(loss, Scaled) or scale is None:
        return None
    fixed = loss.at(float(np.atleast_1d(scale)[target]))
    y, f = measured.truth[:, target], measured.fitted[:, target]
    off = f - y
    slope = np.divide(fixed.gradient(y, f), off, out=fixed.curvature(y, y), where=off != 0)
    return np.asarray(slope / fixed.curvature(y, y))


def _far(residual: Floats, influence: Floats | None, weight: Floats | None) -> NDArray[np.bool_]:
    if influence is not None:
        return influence < LIGHT
    middle = weighted_quantile(residual, np.array([0.5]), weight)[0]
    off = np.abs(residual - middle)
    spread = NORMAL * weighted_quantile(off, np.array([0.5]), weight)[0]
    return off > FAR * spread if spread > 0 else np.zeros(len(residual), dtype=bool)


def _panel(
    fitted: Floats,
    residual: Floats,
    influence: Floats | None,
    far: NDArray[np.bool_],
    weight: Floats | None,
    look: Theme,
    width: int,
) -> tuple[Any, list[str]]:
    n, notes = len(fitted), []
    shown = some(n, MOST_POINTS, np.flatnonzero(far) if far.sum() <= MOST_FAR else None)
    if len(shown) < n:
        among = ", all that are far off among them" if 0 < far.sum() <= MOST_FAR else ""
        notes.append(f"{len(shown):,} of {counted(n, 'row')} are shown, drawn at random{among}")
    low, high = float(fitted.min()), float(fitted.max())
    pad = 0.03 * (high - low) or max(abs(high), 1.0) * 0.5
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False),
        axis=linear_axis("prediction", low, high, grid=False, tickCount=7 if width == WIDTH else 4),
    )
    vertical = ValueAxis.over(min(float(residual.min()), 0.0), max(float(residual.max()), 0.0), "observed − predicted")
    records = [
        {"x": float(fitted[i]), "y": float(residual[i]), "far": bool(far[i])}
        | ({} if influence is None else {"weight": float(influence[i])})
        for i in shown
    ]
    tooltip = [
        alt.Tooltip("x:Q", title="prediction", format=".4~g"),
        alt.Tooltip("y:Q", title="residual", format=".4~g"),
    ]
    tooltip += [] if influence is None else [alt.Tooltip("weight:Q", format=".3~g")]
    colour = alt.Color("far:N", legend=None, scale=alt.Scale(domain=[False, True], range=[look.muted, look.second]))
    size = 34 if len(shown) <= 500 else 18
    dots = (
        alt.Chart(rows(records))
        .mark_circle(size=size)
        .encode(
            x=x,
            y=vertical.encoding("y"),
            color=colour,
            opacity=alt.condition("datum.far", alt.value(0.95), alt.value(0.45 if len(shown) <= 500 else 0.35)),
            tooltip=tooltip,
        )
    )
    zero = alt.Chart(rows([{"y": 0.0}])).mark_rule(color=look.muted, strokeWidth=1).encode(y=vertical.encoding("y"))
    band = alt.Chart(rows(_band(fitted, residual, weight))).encode(x=x)
    area = band.mark_area(color=look.accent, opacity=0.16).encode(y=vertical.encoding("low"), y2="high:Q")
    line = band.mark_line(color=look.accent, strokeWidth=2).encode(y=vertical.encoding("middle"))
    return alt.layer(area, zero, dots, line).properties(width=width, height=HEIGHT), notes


def _band(fitted: Floats, residual: Floats, weight: Floats | None) -> list[dict[str, float]]:
    """Quantiles of the residuals among rows with about the same prediction, from the first to the last."""
    order = np.argsort(fitted, kind="stable")
    pieces = np.array_split(order, int(np.clip(len(order) // EACH, 1, PIECES)))
    places = [float(np.median(fitted[piece])) for piece in pieces]
    levels = [
        weighted_quantile(residual[piece], BAND, None if weight is None else weight[piece]).tolist() for piece in pieces
    ]
    places = [float(fitted[order[0]]), *places, float(fitted[order[-1]])]
    levels = [levels[0], *levels, levels[-1]]
    return [
        {"x": x, "low": low, "middle": middle, "high": high}
        for x, (low, middle, high) in zip(places, levels, strict=True)
    ]


def _fact(measured: Measured, residual: Floats, far: NDArray[np.bool_], target: int) -> tuple[str, int]:
    """The finding, and how many rows are far off."""
    half = float(weighted_quantile(np.abs(residual), np.array([0.5]), measured.weight)[0])
    start = f"Half of the predictions are within {number(half)} of the truth"
    if not residual.any():
        start = "Every prediction is exact"
    if measured.truth.shape[1] > 1:
        start += f" for target {target}"
    count = int(far.sum())
    if not count:
        return start, 0
    return f"{start}; {count:,} of {counted(len(far), 'row')} {'is' if count == 1 else 'are'} far off", count


def _words(measured: Measured) -> str:
    words = [measured.name]
    loss = getattr(measured.model, "_loss", None)
    words += [f"loss {type(loss).__name__}"] if loss is not None else []
    scale = getattr(measured.model, "scale_", None)
    words += [f"scale {number(scale)}"] if isinstance(scale, float) else []
    if measured.truth.shape[1] == 1:
        y, f, w = measured.truth[:, 0], measured.fitted[:, 0], measured.weight
        total = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        error = float(np.average((y - f) ** 2, weights=w))
        words += [f"R² {number(1.0 - error / total)}"] if total > 0 else []
        words += [f"mean absolute error {number(float(np.average(np.abs(y - f), weights=w)))}"]
    n = len(measured.truth) if measured.weight is None else float(measured.weight.sum())
    return " · ".join([*words, f"n {n:,.10g}"])
