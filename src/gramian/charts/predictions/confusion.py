"""The confusion matrix: true classes against predicted ones."""

from typing import Any

import numpy as np

from gramian._core.types import Chart, Floats, Ints, Record
from gramian.charts.declaration import ChartKind
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.text import counted, number, percent, percent_interval
from gramian.charts.predictions.predictions import ClassPredictions, predicts_classes
from gramian.charts.theme import Theme, rows, title
from gramian.metrics.statistics.counts import Confusion

MAX_CLASSES = 40
MAX_CLASSES_WITH_SHARES = 10
MAX_CLASSES_WITH_COUNTS = 20
MAX_CELL, MIN_CELL, SIDE = 110, 16, 460  # pixels of a cell and of the matrix
MIN_TINT, MAX_TINT = 0.06, 0.85
LINE = 9  # half the distance between the two lines of a cell
CHART = ChartKind(name="confusion", of="predictions", order=240, applies=predicts_classes, order_with_data=90)


def draw(predictions: ClassPredictions, theme: Theme) -> Chart:
    """One cell for each true and predicted class: its count, and its share of the true class."""
    table = Confusion.of(predictions.truth, predictions.predicted, predictions.weight, labels=range(predictions.k))
    whole = table.matrix.astype(np.float64)
    kept, note = _kept(whole)
    counts = whole[np.ix_(kept, kept)]
    totals = whole.sum(axis=1)[kept]
    shares = np.divide(counts, totals[:, None], out=np.zeros_like(counts), where=totals[:, None] > 0)
    k, names = len(kept), [predictions.classes[j] for j in kept]
    side = int(np.clip(SIDE / k, MIN_CELL, MAX_CELL))
    records = [_cell(names, counts, shares, i, j, theme) for i in range(k) for j in range(k)]
    angle = -40 if max(map(len, names)) * 7 > side else 0
    x = alt.X(
        "predicted:N", sort=None, axis=alt.Axis(title="predicted", orient="top", labelAngle=angle, **_axis_style(theme))
    )
    y = alt.Y("true:N", sort=None, axis=alt.Axis(title="true", **_axis_style(theme)))
    base = alt.Chart(rows(records)).encode(x=x, y=y)
    tooltip = [alt.Tooltip("true:N"), alt.Tooltip("predicted:N"), alt.Tooltip("count:Q", format=",.10~g")]
    tooltip.append(alt.Tooltip("share:Q", format=".1%"))
    cells = base.mark_rect(stroke=theme.background, strokeWidth=2 if side > 24 else 1)
    layers = [cells.encode(color=alt.Color("colour:N", scale=None), tooltip=tooltip)]
    ink = alt.Color("ink:N", scale=None)
    with_shares = k <= MAX_CLASSES_WITH_SHARES
    if k <= MAX_CLASSES_WITH_COUNTS:
        large = base.mark_text(
            fontSize=15 if side > 40 else 11,
            fontWeight="bold" if with_shares else "normal",
            dy=-LINE if with_shares else 0,
        )
        layers.append(large.encode(text="text:N", color=ink).transform_filter("datum.count > 0"))
        none = base.mark_text(fontSize=11, color=theme.muted).transform_filter("datum.count === 0")
        layers.append(none.encode(text="text:N"))
    if with_shares:
        layers.append(base.mark_text(fontSize=11, dy=LINE).encode(text="percent:N", color=ink))
    accuracy: Any = table.accuracy(interval=0.95)
    interval = percent_interval(accuracy.low, accuracy.high)
    facts = f"{predictions.name} · accuracy {percent(accuracy.value)} ({interval}) · {predictions.rows_text()}"
    notes = [
        "cells: rows, and their share of the true class"
        if with_shares
        else "stronger colour: larger share of the true class"
    ]
    return alt.layer(*layers).properties(
        width=side * k,
        height=side * k,
        title=title(_finding(accuracy.value, whole, predictions), facts, "; ".join([*notes, *note])),
    )


def _axis_style(theme: Theme) -> dict[str, object]:
    return {"domain": False, "ticks": False, "grid": False, "labelColor": theme.ink}


def _kept(table: Floats) -> tuple[Ints, list[str]]:
    """All classes, or the ones with most errors."""
    k = len(table)
    if k <= MAX_CLASSES:
        return np.arange(k), []
    errors = table.sum(axis=0) + table.sum(axis=1) - 2 * table.diagonal()
    kept = np.sort(np.argsort(-errors, kind="stable")[:MAX_CLASSES])
    return kept, [f"the {MAX_CLASSES} of {k} classes with most errors"]


def _cell(names: list[str], counts: Floats, shares: Floats, i: int, j: int, theme: Theme) -> Record:
    count, part = float(counts[i, j]), float(shares[i, j])
    strength = (MIN_TINT + (MAX_TINT - MIN_TINT) * part) if count else 0.0
    colour = theme.tint(theme.accent if i == j else theme.second, strength) if count else theme.tint(theme.grid, 0.55)
    return {
        "true": names[i],
        "predicted": names[j],
        "count": count,
        "share": part,
        "text": f"{count:,.0f}" if count == round(count) else number(count),
        "percent": percent(part) if count else "",
        "colour": colour,
        "ink": theme.on(colour),
    }


def _finding(accuracy: float, table: Floats, predictions: ClassPredictions) -> str:
    errors = table.copy()
    np.fill_diagonal(errors, 0.0)
    total = float(table.sum())
    if not errors.any():
        return f"All {counted(total, 'row')} are classified correctly"
    i, j = np.unravel_index(int(errors.argmax()), errors.shape)
    largest = f"{errors[i, j]:,.10g} of class {predictions.classes[i]} predicted as {predictions.classes[j]}"
    return f"Accuracy {percent(accuracy)} ({counted(total, 'row')}); {largest}"
