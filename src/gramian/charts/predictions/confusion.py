"""The confusion matrix: which classes are taken for which."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.text import counted, interval_text, number, percent, share
from gramian.charts.predictions.predictions import Decided
from gramian.charts.theme import Theme, rows, title
from gramian.metrics.statistics.counts import Confusion

MOST_CLASSES = 40
MOST_SHARES = 10  # classes up to which a cell has room for the share too
MOST_NUMBERS = 20
LARGEST, SMALLEST, ROOM = 110, 16, 460  # sides of a cell, and room for all of them
STRONG = 0.85
LINE = 9  # half the distance between the two lines of a cell


def draw(judged: Decided, look: Theme) -> Any:
    """One cell for each true and each decided class: its count, and its share of the true class."""
    table = Confusion.of(judged.truth, judged.decided, judged.weight, labels=range(judged.k))
    whole = table.matrix.astype(np.float64)
    kept, note = _kept(whole)
    counts = whole[np.ix_(kept, kept)]
    totals = whole.sum(axis=1)[kept]
    shares = np.divide(counts, totals[:, None], out=np.zeros_like(counts), where=totals[:, None] > 0)
    k, names = len(kept), [judged.classes[j] for j in kept]
    side = int(np.clip(ROOM / k, SMALLEST, LARGEST))
    records = [_cell(names, counts, shares, i, j, look) for i in range(k) for j in range(k)]
    angle = -40 if max(map(len, names)) * 7 > side else 0
    x = alt.X("decided:N", sort=None, axis=alt.Axis(title="decided", orient="top", labelAngle=angle, **_plain(look)))
    y = alt.Y("true:N", sort=None, axis=alt.Axis(title="true", **_plain(look)))
    base = alt.Chart(rows(records)).encode(x=x, y=y)
    tooltip = [alt.Tooltip("true:N"), alt.Tooltip("decided:N"), alt.Tooltip("count:Q", format=",.10~g")]
    tooltip.append(alt.Tooltip("share:Q", format=".1%"))
    cells = base.mark_rect(stroke=look.background, strokeWidth=2 if side > 24 else 1)
    layers = [cells.encode(color=alt.Color("colour:N", scale=None), tooltip=tooltip)]
    ink = alt.Color("ink:N", scale=None)
    two = k <= MOST_SHARES
    if k <= MOST_NUMBERS:
        large = base.mark_text(
            fontSize=15 if side > 40 else 11, fontWeight="bold" if two else "normal", dy=-LINE if two else 0
        )
        layers.append(large.encode(text="words:N", color=ink).transform_filter("datum.count > 0"))
        none = base.mark_text(fontSize=11, color=look.muted).transform_filter("datum.count === 0")
        layers.append(none.encode(text="words:N"))
    if two:
        layers.append(base.mark_text(fontSize=11, dy=LINE).encode(text="percent:N", color=ink))
    found: Any = table.accuracy(interval=0.95)
    facts = (
        f"{judged.name} · accuracy {share(found.value)} ({interval_text(found.low, found.high)}) · {judged.rows_text()}"
    )
    notes = [
        "cells: rows, and their share of the true class" if two else "the deeper the larger the share of the true class"
    ]
    return alt.layer(*layers).properties(
        width=side * k,
        height=side * k,
        title=title(_finding(found.value, whole, judged), facts, "; ".join([*notes, *note])),
    )


def _plain(look: Theme) -> dict[str, Any]:
    return {"domain": False, "ticks": False, "grid": False, "labelColor": look.ink}


def _kept(table: Any) -> tuple[Any, list[str]]:
    """All classes, or of very many those that are confused most."""
    k = len(table)
    if k <= MOST_CLASSES:
        return np.arange(k), []
    errors = table.sum(axis=0) + table.sum(axis=1) - 2 * table.diagonal()
    kept = np.sort(np.argsort(-errors, kind="stable")[:MOST_CLASSES])
    return kept, [f"the {MOST_CLASSES} of {k} classes with most mistakes"]


def _cell(names: list[str], counts: Any, shares: Any, i: int, j: int, look: Theme) -> dict[str, Any]:
    count, part = float(counts[i, j]), float(shares[i, j])
    strength = (0.06 + (STRONG - 0.06) * part) if count else 0.0
    colour = look.tint(look.accent if i == j else look.second, strength) if count else look.tint(look.grid, 0.55)
    return {
        "true": names[i],
        "decided": names[j],
        "count": count,
        "share": part,
        "words": f"{count:,.0f}" if count == round(count) else number(count),
        "percent": percent(part) if count else "",
        "colour": colour,
        "ink": look.on(colour),
    }


def _finding(accuracy: float, table: Any, judged: Decided) -> str:
    errors = table.copy()
    np.fill_diagonal(errors, 0.0)
    total = float(table.sum())
    if not errors.any():
        return f"All of {counted(total, 'row')} are decided rightly"
    i, j = np.unravel_index(int(errors.argmax()), errors.shape)
    most = f"{errors[i, j]:,.10g} of class {judged.classes[i]} are taken for {judged.classes[j]}"
    return f"{percent(accuracy)} of {counted(total, 'row')} are decided rightly; {most}"
