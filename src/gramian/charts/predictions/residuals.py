"""Residuals against predictions, with the outliers."""

import numpy as np

from gramian._core.types import Bools, Chart, Floats
from gramian.charts.declaration import ChartKind, has, loss_of
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import ValueAxis, linear_axis
from gramian.charts.marks.points import sample, weighted_quantile
from gramian.charts.marks.text import counted, number, shown_text
from gramian.charts.predictions.predictions import NumberPredictions, predicts_numbers
from gramian.charts.theme import WIDTH, Theme, panel_title, rows, title
from gramian.objective.losses.base import Scaled

HEIGHT = 300
MAX_POINTS = 2000
MAX_TARGETS = 3
MAX_OUTLIERS = 500  # up to which all are drawn
OUTLIER_DEVIATIONS = 3.0  # robust standard deviations
MAD_TO_DEVIATION = 1.4826  # of a normal distribution
MAX_OUTLIER_WEIGHT = 0.5  # weight of a row in a robust fit
QUARTILES = np.array([0.25, 0.5, 0.75])
ROWS_PER_PIECE, MAX_PIECES = 40, 12  # of the band
CHART = ChartKind(name="residuals", of="predictions", order=250, applies=predicts_numbers, order_with_data=30)


def draw(predictions: NumberPredictions, theme: Theme) -> Chart:
    """Dots, and the median and quartiles of the residuals of similar predictions; several targets side by side."""
    targets = predictions.truth.shape[1]
    shown = min(targets, MAX_TARGETS)
    width = WIDTH if targets == 1 else int(WIDTH * 1.2 / shown)
    panels, notes, facts = [], [], []
    for target in range(shown):
        residual = predictions.truth[:, target] - predictions.predicted[:, target]
        influence = _influence(predictions, target)
        outlier = _outliers(residual, influence, predictions.weight)
        predicted = predictions.predicted[:, target]
        panel, note = _panel(predicted, residual, influence, outlier, predictions.weight, theme, width)
        heading = panel_title(f"target {target}", theme)
        panels.append(panel if targets == 1 else panel.properties(title=heading))
        notes += note
        facts.append(_fact(predictions, residual, outlier, target))
    omitted = [f"the first {MAX_TARGETS} of {targets} targets"] if targets > MAX_TARGETS else []
    rule = f"beyond {OUTLIER_DEVIATIONS:g} robust standard deviations"
    if influence is not None:
        rule = f"their weight in the fit is below {MAX_OUTLIER_WEIGHT:g}"
    band = ["line and band: median and quartiles of the residuals of similar predictions"]
    band += [f"outliers: {rule}"] if any(count for _, count in facts) else []
    whole = panels[0] if targets == 1 else alt.hconcat(*panels, spacing=24)
    caption = "; ".join([*band, *dict.fromkeys(notes), *omitted])
    return whole.properties(title=title(facts[0][0], _subtitle(predictions), caption))


def _influence(predictions: NumberPredictions, target: int) -> Floats | None:
    """Weight of each row in a robust fit, 1 at the prediction, where the loss has a scale; None for other losses."""
    loss = loss_of(predictions.model)
    if not isinstance(loss, Scaled) or not has(predictions.model, "scale_"):
        return None
    scale = predictions.model.scale_
    fixed = loss.at(float(np.atleast_1d(scale)[target]))
    y, f = predictions.truth[:, target], predictions.predicted[:, target]
    off = f - y
    slope = np.divide(fixed.gradient(y, f), off, out=fixed.curvature(y, y), where=off != 0)
    return np.asarray(slope / fixed.curvature(y, y))


def _outliers(residual: Floats, influence: Floats | None, weight: Floats | None) -> Bools:
    if influence is not None:
        return influence < MAX_OUTLIER_WEIGHT
    middle = weighted_quantile(residual, np.array([0.5]), weight)[0]
    off = np.abs(residual - middle)
    deviation = MAD_TO_DEVIATION * weighted_quantile(off, np.array([0.5]), weight)[0]
    return off > OUTLIER_DEVIATIONS * deviation if deviation > 0 else np.zeros(len(residual), dtype=bool)


def _panel(
    predicted: Floats,
    residual: Floats,
    influence: Floats | None,
    outlier: Bools,
    weight: Floats | None,
    theme: Theme,
    width: int,
) -> tuple[Chart, list[str]]:
    n, all_outliers = len(predicted), bool(0 < outlier.sum() <= MAX_OUTLIERS)
    shown = sample(n, MAX_POINTS, np.flatnonzero(outlier) if all_outliers else None)
    notes = [note + ", all outliers among them" * all_outliers for note in shown_text(len(shown), n)]
    low, high = float(predicted.min()), float(predicted.max())
    pad = 0.03 * (high - low) or max(abs(high), 1.0) * 0.5
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False),
        axis=linear_axis("prediction", low, high, grid=False, tickCount=7 if width == WIDTH else 4),
    )
    vertical = ValueAxis.over(min(float(residual.min()), 0.0), max(float(residual.max()), 0.0), "observed − predicted")
    records = [
        {"x": float(predicted[i]), "y": float(residual[i]), "outlier": bool(outlier[i])}
        | ({} if influence is None else {"weight": float(influence[i])})
        for i in shown
    ]
    tooltip = [
        alt.Tooltip("x:Q", title="prediction", format=".4~g"),
        alt.Tooltip("y:Q", title="residual", format=".4~g"),
    ]
    tooltip += [] if influence is None else [alt.Tooltip("weight:Q", format=".3~g")]
    colour = alt.Color(
        "outlier:N", legend=None, scale=alt.Scale(domain=[False, True], range=[theme.muted, theme.second])
    )
    size = 34 if len(shown) <= 500 else 18
    dots = (
        alt.Chart(rows(records))
        .mark_circle(size=size)
        .encode(
            x=x,
            y=vertical.encoding("y"),
            color=colour,
            opacity=alt.condition("datum.outlier", alt.value(0.95), alt.value(0.45 if len(shown) <= 500 else 0.35)),
            tooltip=tooltip,
        )
    )
    zero = alt.Chart(rows([{"y": 0.0}])).mark_rule(color=theme.muted, strokeWidth=1).encode(y=vertical.encoding("y"))
    band = alt.Chart(rows(_band(predicted, residual, weight))).encode(x=x)
    area = band.mark_area(color=theme.accent, opacity=0.16).encode(y=vertical.encoding("low"), y2="high:Q")
    line = band.mark_line(color=theme.accent, strokeWidth=2).encode(y=vertical.encoding("middle"))
    return alt.layer(area, zero, dots, line).properties(width=width, height=HEIGHT), notes


def _band(predicted: Floats, residual: Floats, weight: Floats | None) -> list[dict[str, float]]:
    """Quartiles of the residuals of rows with similar predictions, from the smallest to the largest."""
    order = np.argsort(predicted, kind="stable")
    pieces = np.array_split(order, int(np.clip(len(order) // ROWS_PER_PIECE, 1, MAX_PIECES)))
    places = [float(np.median(predicted[piece])) for piece in pieces]
    levels = [
        weighted_quantile(residual[piece], QUARTILES, None if weight is None else weight[piece]).tolist()
        for piece in pieces
    ]
    places = [float(predicted[order[0]]), *places, float(predicted[order[-1]])]
    levels = [levels[0], *levels, levels[-1]]
    return [
        {"x": x, "low": low, "middle": middle, "high": high}
        for x, (low, middle, high) in zip(places, levels, strict=True)
    ]


def _fact(predictions: NumberPredictions, residual: Floats, outlier: Bools, target: int) -> tuple[str, int]:
    """The finding, and the number of outliers."""
    median = float(weighted_quantile(np.abs(residual), np.array([0.5]), predictions.weight)[0])
    start = f"Median absolute error {number(median)}"
    if not residual.any():
        start = "Every prediction is exact"
    if predictions.truth.shape[1] > 1:
        start += f" for target {target}"
    count = int(outlier.sum())
    if not count:
        return start, 0
    verb = "is an outlier" if count == 1 else "are outliers"
    return f"{start}; {count:,} of {counted(len(outlier), 'row')} {verb}", count


def _subtitle(predictions: NumberPredictions) -> str:
    facts = [predictions.name]
    loss = loss_of(predictions.model)
    facts += [f"loss {type(loss).__name__}"] if loss is not None else []
    scale = predictions.model.scale_ if has(predictions.model, "scale_") else None
    facts += [f"scale {number(scale)}"] if isinstance(scale, float) else []
    if predictions.truth.shape[1] == 1:
        y, f, w = predictions.truth[:, 0], predictions.predicted[:, 0], predictions.weight
        total = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
        error = float(np.average((y - f) ** 2, weights=w))
        facts += [f"R² {number(1.0 - error / total)}"] if total > 0 else []
        facts += [f"mean absolute error {number(float(np.average(np.abs(y - f), weights=w)))}"]
    n = len(predictions.truth) if predictions.weight is None else float(predictions.weight.sum())
    return " · ".join([*facts, f"n {n:,.10g}"])
