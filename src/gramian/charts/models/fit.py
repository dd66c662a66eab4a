"""A regression with a kernel: the curve of one feature with its interval, or what is predicted of each row."""

import warnings
from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp

from gramian.charts.marks.axis import ValueAxis, linear_axis
from gramian.charts.marks.points import some, weighted_quantile
from gramian.charts.marks.text import Floats, counted, feature_names, labels, number
from gramian.charts.predictions.plane import like
from gramian.charts.predictions.predictions import Measured, measured_by
from gramian.charts.theme import SIDE, WIDTH, Theme, rows, title
from gramian.rows import Rows, scan

HEIGHT = 320
MOST_POINTS = 2000
GRID = 240
PAD = 0.04
LEVEL = 0.95
MOST_WITHOUT = 2000  # rows up to which each is predicted without itself


def draw(model: Any, look: Theme, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
    """A curve where there is one feature; else observed against predicted numbers."""
    machine = getattr(model, "_machine", None)
    if X is None:
        assert machine is not None
        X = machine.given
        used = machine.used
        without = machine.n <= MOST_WITHOUT and machine.alpha > 0
        fitted = machine.loo_predictions() if without else machine.predict(machine.points)
        measured = Measured(type(model).__name__, machine.Y, fitted, machine.weight, model)
        how = "errors are those of the model without the row" if without else "errors are those of the fit"
    else:
        measured, used, how = measured_by(model, X, y, sample_weight), None, ""
        if sample_weight is not None:
            used = np.flatnonzero(np.asarray(sample_weight, dtype=np.float64) > 0)
    notes = [how] if how else []
    notes += [f"target 0 of {measured.truth.shape[1]}"] if measured.truth.shape[1] > 1 else []
    if getattr(model, "n_features_in_", 0) == 1:
        x = _column(X)
        return _curve(model, measured, x if used is None else x[used], X, look, notes)
    return _against(model, measured, look, notes)


def _curve(model: Any, measured: Measured, x: Floats, X: Any, look: Theme, notes: list[str]) -> Any:
    low, high = float(x.min()), float(x.max())
    pad = PAD * (high - low) or max(abs(high), 1.0) * 0.5
    grid = np.linspace(low - pad, high + pad, GRID)
    middle, ends, band = _band(model, like(X, grid[:, None]))
    shown = some(len(x), MOST_POINTS)
    truth = measured.truth[:, 0]
    parts = [truth[shown], middle, *ends]
    axis = ValueAxis.over(min(float(p.min()) for p in parts), max(float(p.max()) for p in parts), "prediction")
    name = labels(feature_names(model))[0]
    across = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[float(grid[0]), float(grid[-1])], nice=False, zero=False),
        axis=linear_axis(name, low, high, grid=False, tickCount=7),
    )
    keys = ("y", "low", "high") if ends else ("y",)
    table = np.column_stack([grid, middle, *ends])
    line = alt.Chart(rows([dict(zip(("x", *keys), map(float, row), strict=True)) for row in table])).encode(x=across)
    dots = alt.Chart(rows([{"x": float(x[i]), "y": float(truth[i])} for i in shown]))
    size = 34 if len(shown) <= 500 else 16
    layers = [dots.mark_circle(size=size, color=look.muted, opacity=0.5).encode(x=across, y=axis.encoding("y"))]
    if ends:
        area = line.mark_area(color=look.accent, opacity=0.16).encode(y=axis.encoding("low"), y2="high:Q")
        layers.insert(0, area)
    layers.append(line.mark_line(color=look.accent, strokeWidth=2.2).encode(y=axis.encoding("y")))
    notes = [*([f"band: {band}"] if band else []), *notes, *_thinned(shown, len(x))]
    head = title(_finding(measured), _facts(model, measured), "; ".join(notes))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=head)


def _band(model: Any, table: Any) -> tuple[Floats, list[Floats], str]:
    """The curve, the ends of a band around it, and what the band is."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        middle = np.asarray(model.predict(table), dtype=np.float64).reshape(GRID, -1)[:, 0]
        if getattr(getattr(model, "_machine", None), "alpha", 0.0) > 0:
            found = model.predict(table, interval=LEVEL)
            ends = [np.asarray(end).reshape(GRID, -1)[:, 0] for end in found[1:]]
            return middle, ends, f"where {100 * LEVEL:g} % of new observations are expected"
    epsilon = getattr(model, "epsilon", None)
    if epsilon:
        return (
            middle,
            [middle - epsilon, middle + epsilon],
            f"errors up to epsilon = {number(epsilon)}, which cost nothing",
        )
    return middle, [], ""


def _against(model: Any, measured: Measured, look: Theme, notes: list[str]) -> Any:
    truth, fitted = measured.truth[:, 0], measured.fitted[:, 0]
    shown = some(len(truth), MOST_POINTS)
    low, high = float(min(truth.min(), fitted.min())), float(max(truth.max(), fitted.max()))
    axis = ValueAxis.over(low, high, "observed")
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False),
        axis=linear_axis("predicted", low, high, grid=False, tickCount=6),
    )
    dots = alt.Chart(rows([{"x": float(fitted[i]), "y": float(truth[i])} for i in shown]))
    size = 34 if len(shown) <= 500 else 16
    ends = [{"x": axis.low, "y": axis.low}, {"x": axis.high, "y": axis.high}]
    layers = [
        alt.Chart(rows(ends)).mark_line(color=look.muted, strokeWidth=1).encode(x=x, y=axis.encoding("y")),
        dots.mark_circle(size=size, color=look.accent, opacity=0.55).encode(
            x=x,
            y=axis.encoding("y"),
            tooltip=[
                alt.Tooltip("x:Q", title="predicted", format=".4~g"),
                alt.Tooltip("y:Q", title="observed", format=".4~g"),
            ],
        ),
    ]
    head = title(_finding(measured), _facts(model, measured), "; ".join([*notes, *_thinned(shown, len(truth))]))
    return alt.layer(*layers).properties(width=SIDE, height=SIDE, title=head)


def _thinned(shown: Any, n: int) -> list[str]:
    return [f"{len(shown):,} of {counted(n, 'row')} are shown, drawn at random"] if len(shown) < n else []


def _finding(measured: Measured) -> str:
    off = np.abs(measured.truth[:, 0] - measured.fitted[:, 0])
    half = float(weighted_quantile(off, np.array([0.5]), measured.weight)[0])
    return (
        "Every prediction is exact"
        if not off.any()
        else f"Half of the predictions are within {number(half)} of the truth"
    )


def _facts(model: Any, measured: Measured) -> str:
    y, f, w = measured.truth[:, 0], measured.fitted[:, 0], measured.weight
    total = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    words = [measured.name, f"alpha {number(model.alpha_)}"]
    words += [f"R² {number(1.0 - float(np.average((y - f) ** 2, weights=w)) / total)}"] if total > 0 else []
    return " · ".join([*words, f"n {len(y):,}"])


def _column(X: Any) -> Floats:
    table = X if isinstance(X, Rows) else scan(X)
    found = table.sum(lambda block: [block.X.toarray() if sp.issparse(block.X) else block.X])
    return np.concatenate(found).astype(np.float64)[:, 0]
