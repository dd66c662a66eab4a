"""The predictions of a classifier over its two features: regions, boundary, margins, and the rows."""

from typing import Any

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Ints, Record, Table, Values, Weights
from gramian.charts.declaration import ChartKind, classifies, has, inner, loss_of
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.contours import contours, finer, simplified
from gramian.charts.marks.image import png
from gramian.charts.marks.points import dot_size, sample
from gramian.charts.marks.scatter import axes
from gramian.charts.marks.text import counted, feature_names, labels, number, percent, percent_interval, shown_text
from gramian.charts.predictions.plane import (
    GRID,
    DecisionGrid,
    coordinates,
    decision_grid,
    kept_points,
    support_vectors,
    window,
)
from gramian.charts.predictions.predictions import ClassPredictions, class_predictions, name_of
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.metrics.statistics.counts import Confusion

HEIGHT = 400
MAX_POINTS = 2000
MAX_RINGS = 500
LEVELS = 8  # of probability, for each class
MIN_TINT, MAX_TINT = 0.10, 0.50  # of the colour of a region, from chance to certainty
FLAT_TINT = 0.28  # without probabilities


def applies(model: Estimator, data: bool) -> bool:
    """Applies to classifiers of two features; without data to those that keep points around their rows."""
    plane = classifies(model) and has(model, "n_features_in_") and model.n_features_in_ == 2
    return plane and (data or kept_points(inner(model)) is not None)


CHART = ChartKind(name="boundary", of="rows", order=60, applies=applies, order_with_data=10)


def draw(
    model: Estimator, theme: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """Regions in the colours of their classes, stronger with probability; the boundary; margins and support vectors."""
    points = None if X is None else coordinates(X)
    predictions = None if X is None or y is None else class_predictions(model, X, y, sample_weight)
    ends = window(model, points)
    plane = decision_grid(model, ends, X)
    names = labels(np.asarray(model.classes_).tolist())
    x, y_axis = axes(labels(feature_names(model)), ends)
    notes = ["stronger colour: more probable class"] if plane.probabilities is not None else []
    layers = [regions(plane, theme, len(names))]
    layers += _points(points, predictions, names, plane, x, y_axis, theme, notes, sample_weight)
    if _has_margins(model, plane):
        margin = plane.margin(1)
        margins = [line for level in (-1.0, 1.0) for line in contours(plane.x, plane.y, margin, level)]
        layers.append(line_marks(margins, plane, x, y_axis, color=theme.ink, strokeWidth=1.3, strokeDash=[6, 5]))
    classes = [1] if len(names) == 2 else range(len(names))
    boundaries = [line for j in classes for line in contours(plane.x, plane.y, plane.margin(j))]
    layers.append(line_marks(boundaries, plane, x, y_axis, color=theme.ink, strokeWidth=2))
    layers += rings(model, x, y_axis, theme, notes)
    if _has_margins(model, plane):
        notes.append("dashed: margins, where the decision function is ±1")
    whole = alt.layer(*[layer for layer in layers if layer is not None])
    return whole.properties(
        width=WIDTH,
        height=HEIGHT,
        title=title(_finding(model, predictions, names), _facts(model, predictions, names), "; ".join(notes)),
    )


def regions(plane: DecisionGrid, theme: Theme, k: int) -> Chart:
    """All regions as one image: a colour for each class and level of probability."""
    decisions = finer(plane.decisions, HEIGHT, WIDTH)
    place = decisions.argmax(axis=2)
    if plane.probabilities is None:
        level, levels = np.zeros_like(place), 1
    else:
        p = np.take_along_axis(finer(plane.probabilities, HEIGHT, WIDTH), place[:, :, None], axis=2)[:, :, 0]
        certainty = np.clip((p - 1.0 / k) / (1.0 - 1.0 / k), 0.0, 1.0)
        levels = LEVELS
        level = np.minimum((certainty * levels).astype(np.int64), levels - 1)
    strengths = np.linspace(MIN_TINT, MAX_TINT, levels) if levels > 1 else [FLAT_TINT]
    colours = [theme.tint(colour, float(strength)) for colour in theme.palette for strength in strengths]
    picture = place % len(theme.palette) * levels + level
    url = png(picture[::-1].astype(np.uint8), colours)
    base = alt.Chart(rows([{"url": url}]))
    return base.mark_image(width=WIDTH, height=HEIGHT, aspect=False).encode(
        x=alt.value(WIDTH / 2), y=alt.value(HEIGHT / 2), url="url:N"
    )


def _has_margins(model: Estimator, plane: DecisionGrid) -> bool:
    if not plane.smooth or plane.decisions.shape[2] != 2 or has(model, "threshold_"):
        return False
    loss = loss_of(model)
    return (loss is not None and loss.has_margin) or has(model, "support_vectors_")


def line_marks(lines: list[Floats], plane: DecisionGrid, x: Chart, y: Chart, **style: Any) -> Chart:
    """Contours over the window of a plane."""
    if not lines:
        return None
    cell = np.array([np.ptp(plane.x), np.ptp(plane.y)]) / (GRID - 1)
    records = []
    for number_of, line in enumerate(lines):
        kept = simplified(line / cell, 0.04) * cell
        records += [{"x": float(a), "y": float(b), "line": number_of, "at": at} for at, (a, b) in enumerate(kept)]
    base = alt.Chart(rows(records)).mark_line(clip=True, strokeJoin="round", **style)
    return base.encode(x=x, y=y, detail="line:N", order="at:Q")


def _points(
    points: Floats | None,
    predictions: ClassPredictions | None,
    names: list[str],
    plane: DecisionGrid,
    x: Chart,
    y: Values | None,
    theme: Theme,
    notes: list[str],
    sample_weight: Weights,
) -> list[Chart]:
    """The rows in the colours of their classes, and a legend or names in the regions."""
    k = len(names)
    colours = alt.Scale(domain=names, range=[theme.of_class(j) for j in range(k)])
    with_legend = k <= len(theme.palette)
    legend = (
        alt.Legend(title=None, orient="top", offset=4, symbolOpacity=1, symbolType="circle") if with_legend else None
    )
    name_marks = [
        {"x": float(plane.x[column]), "y": float(plane.y[row]), "class": name}
        for name, (row, column) in zip(names, (plane.label_point(j) for j in range(k)), strict=True)
    ]
    base = alt.Chart(rows(name_marks)).encode(x=x, y=y)
    keys = base.mark_point(opacity=0, filled=True).encode(color=alt.Color("class:N", scale=colours, legend=legend))
    layers = [keys]
    if points is not None:
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        kept = np.arange(len(points)) if weight is None else np.flatnonzero(weight > 0)
        shown = kept[sample(len(kept), MAX_POINTS)]
        notes += shown_text(len(shown), len(kept))
        dots = alt.Chart(rows(_records(points, predictions, names, kept, shown))).encode(x=x, y=y)
        dots = dots.mark_circle(size=dot_size(len(shown)), opacity=0.95, stroke=theme.background, strokeWidth=0.7)
        colour = alt.value(theme.muted) if predictions is None else alt.Color("class:N", scale=colours, legend=legend)
        tooltip = [alt.Tooltip("x:Q", format=".4~g"), alt.Tooltip("y:Q", format=".4~g")]
        tooltip += [] if predictions is None else [alt.Tooltip("class:N"), alt.Tooltip("predicted:N")]
        layers.append(dots.encode(color=colour, tooltip=tooltip))
    if not with_legend:
        layers.append(base.mark_text(color=theme.ink, fontSize=12, fontWeight="bold").encode(text="class:N"))
    return layers


def _records(
    points: Floats, predictions: ClassPredictions | None, names: list[str], kept: Ints, shown: Ints
) -> list[Record]:
    records: list[Record] = [{"x": float(points[i, 0]), "y": float(points[i, 1])} for i in shown]
    if predictions is not None:  # of the rows with a positive weight only
        for record, i in zip(records, np.searchsorted(kept, shown), strict=True):
            record |= {"class": names[predictions.truth[i]], "predicted": names[predictions.predicted[i]]}
    return records


def rings(model: Estimator, x: Chart, y: Chart, theme: Theme, notes: list[str]) -> list[Chart]:
    """Rings around the support vectors."""
    vectors = support_vectors(model)
    if vectors is None:
        return []
    shown = sample(len(vectors), MAX_RINGS)
    omitted = "" if len(shown) == len(vectors) else f", {len(shown):,} of {len(vectors):,} shown"
    notes.append(f"ringed: support vectors{omitted}")
    records = [{"x": float(a), "y": float(b)} for a, b in vectors[shown]]
    ring = alt.Chart(rows(records)).mark_point(filled=False, size=110, stroke=theme.ink, strokeWidth=1.3, opacity=0.9)
    return [ring.encode(x=x, y=y)]


def _finding(model: Estimator, predictions: ClassPredictions | None, names: list[str]) -> str:
    if predictions is not None:
        w = predictions.counts
        correct, total = float(w[predictions.truth == predictions.predicted].sum()), float(w.sum())
        if correct == total:
            return f"All {counted(total, 'row')} are classified correctly"
        return f"Accuracy {percent(correct / total)} ({counted(total, 'row')})"
    vectors = support_vectors(model)
    if vectors is not None and has(model, "margin_") and len(names) == 2:
        return f"Margin of width {number(model.margin_)} with {counted(len(vectors), 'support vector')}"
    shape = _shape(model, names)
    return f"The boundary is {shape}" if shape else f"Regions of the classes that {type(model).__name__} predicts"


def _shape(model: Estimator, names: list[str]) -> str:
    """The kind of conic between two classes."""
    if len(names) != 2 or not has(model, "boundary"):
        return ""
    kind = str(model.boundary(*np.asarray(model.classes_).tolist()).kind)
    return kind if kind in ("none", "everywhere") else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _facts(model: Estimator, predictions: ClassPredictions | None, names: list[str]) -> str:
    facts = [name_of(model)]
    facts += [f"alpha {number(model.alpha_)}"] if has(model, "alpha_") and model.alpha_ else []
    facts += [f"{model.n_neighbors_} neighbours"] if has(model, "n_neighbors_") else []
    vectors = support_vectors(model)
    facts += [counted(len(vectors), "support vector")] if vectors is not None else []
    facts += [f"margin {number(model.margin_)}"] if has(model, "margin_") and np.ndim(model.margin_) == 0 else []
    if predictions is not None:
        facts += [f"boundary: {_shape(model, names)}"] if _shape(model, names) else []
        table = Confusion.of(predictions.truth, predictions.predicted, predictions.weight)
        accuracy: Any = table.accuracy(interval=0.95)
        facts.append(f"accuracy {percent(accuracy.value)} ({percent_interval(accuracy.low, accuracy.high)})")
        facts += [predictions.threshold] if "tuned" in predictions.threshold else []
    return " · ".join(facts)
