"""A regression with a kernel: the curve of one feature with its interval, or observed against predicted targets."""

import warnings
from typing import Any

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Table, Values, Weights
from gramian.charts.declaration import ChartKind, has, regresses, uses_kernel
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import ValueAxis, linear_axis
from gramian.charts.marks.points import sample, weighted_quantile
from gramian.charts.marks.scatter import table
from gramian.charts.marks.text import feature_names, labels, number, shown_text
from gramian.charts.predictions.plane import as_table_like
from gramian.charts.predictions.predictions import NumberPredictions, number_predictions
from gramian.charts.theme import SIDE, WIDTH, Theme, rows, title

HEIGHT = 320
MAX_POINTS = 2000
GRID = 240
PAD = 0.04
LEVEL = 0.95
MAX_LEAVE_ONE_OUT = 2000  # rows up to which predictions are leave-one-out


def applies(model: Estimator, data: bool) -> bool:
    """Applies to kernel ridge regression, and with data to every regressor with a kernel."""
    return regresses(model) and (has(model, "dual_solution_") or (data and uses_kernel(model)))


CHART = ChartKind(name="fit", of="rows", order=40, applies=applies, target="required")


def draw(
    model: Estimator, theme: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """The curve of one feature; of more, observed against predicted targets."""
    if X is None:
        solution = model.dual_solution_
        problem = solution.problem
        X, used = problem.X, problem.index
        leave_one_out = problem.n <= MAX_LEAVE_ONE_OUT and solution.alpha > 0
        predicted = solution.loo_predictions() if leave_one_out else solution.fitted_values()
        predictions = NumberPredictions(type(model).__name__, problem.Y, predicted, problem.weight, model)
        how = "leave-one-out predictions" if leave_one_out else "predictions of the training rows"
    else:
        predictions, used, how = number_predictions(model, X, y, sample_weight), None, ""
        if sample_weight is not None:
            used = np.flatnonzero(np.asarray(sample_weight, dtype=np.float64) > 0)
    notes = [how] if how else []
    notes += [f"target 0 of {predictions.truth.shape[1]}"] if predictions.truth.shape[1] > 1 else []
    if has(model, "n_features_in_") and model.n_features_in_ == 1:
        x = _column(X)
        return _curve(model, predictions, x if used is None else x[used], X, theme, notes)
    return _observed_against_predicted(model, predictions, theme, notes)


def _curve(
    model: Estimator, predictions: NumberPredictions, x: Floats, X: Table, theme: Theme, notes: list[str]
) -> Chart:
    low, high = float(x.min()), float(x.max())
    pad = PAD * (high - low) or max(abs(high), 1.0) * 0.5
    grid = np.linspace(low - pad, high + pad, GRID)
    middle, ends, band = _band(model, as_table_like(X, grid[:, None]))
    shown = sample(len(x), MAX_POINTS)
    truth = predictions.truth[:, 0]
    parts = [truth[shown], middle, *ends]
    axis = ValueAxis.over(min(float(p.min()) for p in parts), max(float(p.max()) for p in parts), "prediction")
    name = labels(feature_names(model))[0]
    across = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[float(grid[0]), float(grid[-1])], nice=False, zero=False),
        axis=linear_axis(name, low, high, grid=False, tickCount=7),
    )
    keys = ("y", "low", "high") if ends else ("y",)
    curve = np.column_stack([grid, middle, *ends])
    line = alt.Chart(rows([dict(zip(("x", *keys), map(float, row), strict=True)) for row in curve])).encode(x=across)
    dots = alt.Chart(rows([{"x": float(x[i]), "y": float(truth[i])} for i in shown]))
    size = 34 if len(shown) <= 500 else 16
    layers = [dots.mark_circle(size=size, color=theme.muted, opacity=0.5).encode(x=across, y=axis.encoding("y"))]
    if ends:
        area = line.mark_area(color=theme.accent, opacity=0.16).encode(y=axis.encoding("low"), y2="high:Q")
        layers.insert(0, area)
    layers.append(line.mark_line(color=theme.accent, strokeWidth=2.2).encode(y=axis.encoding("y")))
    notes = [*([f"band: {band}"] if band else []), *notes, *shown_text(len(shown), len(x))]
    head = title(_finding(predictions), _facts(model, predictions), "; ".join(notes))
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=head)


def _band(model: Estimator, points: Any) -> tuple[Floats, list[Floats], str]:
    """The curve, the ends of a band around it, and the meaning of the band."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        middle = np.asarray(model.predict(points), dtype=np.float64).reshape(GRID, -1)[:, 0]
        if has(model, "dual_solution_") and model.alpha_ > 0:
            intervals = model.predict(points, interval=LEVEL)
            ends = [np.asarray(end).reshape(GRID, -1)[:, 0] for end in intervals[1:]]
            return middle, ends, f"{100 * LEVEL:g} % prediction interval"
    if has(model, "epsilon") and model.epsilon:
        epsilon = model.epsilon
        return (
            middle,
            [middle - epsilon, middle + epsilon],
            f"errors up to epsilon = {number(epsilon)}, which have no loss",
        )
    return middle, [], ""


def _observed_against_predicted(
    model: Estimator, predictions: NumberPredictions, theme: Theme, notes: list[str]
) -> Chart:
    truth, predicted = predictions.truth[:, 0], predictions.predicted[:, 0]
    shown = sample(len(truth), MAX_POINTS)
    low, high = float(min(truth.min(), predicted.min())), float(max(truth.max(), predicted.max()))
    axis = ValueAxis.over(low, high, "observed")
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False),
        axis=linear_axis("predicted", low, high, grid=False, tickCount=6),
    )
    dots = alt.Chart(rows([{"x": float(predicted[i]), "y": float(truth[i])} for i in shown]))
    size = 34 if len(shown) <= 500 else 16
    ends = [{"x": axis.low, "y": axis.low}, {"x": axis.high, "y": axis.high}]
    layers = [
        alt.Chart(rows(ends)).mark_line(color=theme.muted, strokeWidth=1).encode(x=x, y=axis.encoding("y")),
        dots.mark_circle(size=size, color=theme.accent, opacity=0.55).encode(
            x=x,
            y=axis.encoding("y"),
            tooltip=[
                alt.Tooltip("x:Q", title="predicted", format=".4~g"),
                alt.Tooltip("y:Q", title="observed", format=".4~g"),
            ],
        ),
    ]
    head = title(
        _finding(predictions), _facts(model, predictions), "; ".join([*notes, *shown_text(len(shown), len(truth))])
    )
    return alt.layer(*layers).properties(width=SIDE, height=SIDE, title=head)


def _finding(predictions: NumberPredictions) -> str:
    off = np.abs(predictions.truth[:, 0] - predictions.predicted[:, 0])
    median = float(weighted_quantile(off, np.array([0.5]), predictions.weight)[0])
    return f"Median absolute error {number(median)}" if off.any() else "Every prediction is exact"


def _facts(model: Estimator, predictions: NumberPredictions) -> str:
    y, f, w = predictions.truth[:, 0], predictions.predicted[:, 0], predictions.weight
    total = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    facts = [predictions.name, f"alpha {number(model.alpha_)}"]
    facts += [f"R² {number(1.0 - float(np.average((y - f) ** 2, weights=w)) / total)}"] if total > 0 else []
    return " · ".join([*facts, f"n {len(y):,}"])


def _column(X: Table) -> Floats:
    return table(X)[:, 0]
