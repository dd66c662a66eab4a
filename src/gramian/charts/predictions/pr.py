"""The precision–recall curve: how many decisions for a class are right, against how much of it is found."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.text import interval_text, percent, share
from gramian.charts.marks.unit_square import Square, absent, hardest, several, size
from gramian.charts.predictions.predictions import Decided
from gramian.charts.theme import Theme, title
from gramian.metrics.statistics.one_vs_rest import OneVsRest

SQUARE = Square("recall", "precision")
STEPS = "step-before"  # the average precision is the area under these steps


def draw(judged: Decided, look: Theme) -> Any:
    """The curve with its band, the prevalence, and the point of the decisions; of several classes each by itself."""
    words = _two if judged.k == 2 else _more
    layers, heading = words(judged, look)
    return alt.layer(*layers).properties(**size(), title=title(*heading))


def _two(judged: Decided, look: Theme) -> tuple[list[Any], list[str]]:
    place = judged.positive
    ranking = judged.ranking(place)
    curve: Any = ranking.pr_curve(interval=0.95)
    area: Any = ranking.average_precision(interval=0.95)
    _, recall, precision = judged.rates(place)
    name = judged.classes[place]
    prevalence = float(ranking.hits.sum() / (ranking.hits.sum() + ranking.others.sum()))
    ends, level = np.array([0.0, 1.0]), np.full(2, prevalence)
    under = prevalence > 0.08  # there is room for the word below the line
    x, up = curve.recall[::-1], slice(None, None, -1)
    layers = [
        SQUARE.line(ends, level, color=look.muted, strokeWidth=1, strokeDash=[4, 4]),
        SQUARE.word(
            0.01,
            prevalence,
            f"prevalence {share(prevalence)}",
            look.muted,
            align="left",
            baseline="top" if under else "bottom",
            dy=4 if under else -4,
        ),
        SQUARE.band(x[1:], curve.low[up][1:], curve.high[up][1:], look.accent, interpolate=STEPS),
        SQUARE.line(x[1:], curve.precision[up][1:], color=look.accent, strokeWidth=2.5, interpolate=STEPS),
        SQUARE.chosen(recall, precision, judged.threshold, look),
    ]
    if not (judged.decided == place).any():
        finding = f"No row is decided for class {name}"
    else:
        finding = f"{percent(precision)} of the decisions for class {name} are right; they find {percent(recall)} of it"
    return layers, [
        finding,
        f"{judged.name} · average precision {share(area.value)} ({interval_text(area.low, area.high)}) · "
        f"{judged.rows_text()}",
        "dot: the decisions; band: 95 % interval at each threshold; dashed: what decisions at random would get",
    ]


def _more(judged: Decided, look: Theme) -> tuple[list[Any], list[str]]:
    assert judged.scores is not None
    rankings = {place: judged.ranking(place) for place in judged.present}
    areas = {place: float(ranking.average_precision()) for place, ranking in rankings.items()}  # type: ignore[arg-type]
    shown, note = hardest(areas)
    curves = {}
    for place in shown:
        curve = rankings[place].pr_curve()
        curves[place] = curve.recall[-2::-1], curve.precision[-2::-1]
    points = {place: judged.rates(place)[1:] for place in shown}
    mean = f"mean average precision {share(float(np.mean(list(areas.values()))))}"
    if len(judged.present) == judged.k:
        found: Any = OneVsRest.of(judged.truth, judged.scores, judged.weight, labels=range(judged.k))
        whole = found.average_precision(interval=0.95)
        mean = f"mean average precision {share(whole.value)} ({interval_text(whole.low, whole.high)})"
    worst = shown[0]
    notes = ["each class against the rest, with its average precision; dots: the decisions", note, absent(judged)]
    return several(SQUARE, judged, curves, areas, points, look, interpolate=STEPS), [
        f"Class {judged.classes[worst]} is the hardest to find: average precision {share(areas[worst])}",
        f"{judged.name} · {mean} · {judged.rows_text()}",
        "; ".join(part for part in notes if part),
    ]
