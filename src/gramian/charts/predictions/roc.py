"""The ROC curve: what is found against false alarms, at every threshold."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.marks.text import interval_text, percent, share
from gramian.charts.marks.unit_square import Square, absent, hardest, several, size
from gramian.charts.predictions.predictions import Decided
from gramian.charts.theme import Theme, title
from gramian.metrics.statistics.one_vs_rest import OneVsRest

SQUARE = Square("false positive rate", "true positive rate")


def draw(judged: Decided, look: Theme) -> Any:
    """The curve with its band and the point of the decisions; of several classes each against the rest."""
    ends = np.array([0.0, 1.0])
    chance = SQUARE.line(ends, ends, color=look.muted, strokeWidth=1, strokeDash=[4, 4])
    words = _two if judged.k == 2 else _more
    layers, heading = words(judged, look)
    return alt.layer(chance, *layers).properties(**size(), title=title(*heading))


def _two(judged: Decided, look: Theme) -> tuple[list[Any], list[str]]:
    place = judged.positive
    ranking = judged.ranking(place)
    curve: Any = ranking.roc_curve(interval=0.95)
    area: Any = ranking.roc_auc(interval=0.95)
    fpr, tpr, _ = judged.rates(place)
    name, other = judged.classes[place], judged.classes[1 - place]
    layers = [
        SQUARE.band(curve.fpr, curve.low, curve.high, look.accent),
        SQUARE.line(curve.fpr, curve.tpr, color=look.accent, strokeWidth=2.5, strokeJoin="round"),
        SQUARE.word(0.6, 0.6, "chance", look.muted, align="left", baseline="top", dx=6, dy=4),
        SQUARE.chosen(fpr, tpr, judged.threshold, look),
    ]
    return layers, [
        f"Class {name} scores above class {other} in {percent(area.value)} of all pairs",
        f"{judged.name} · AUC {share(area.value)} ({interval_text(area.low, area.high)}) · {judged.rows_text()}",
        f"dot: the decisions, which find {percent(tpr)} of class {name} at {percent(fpr)} false alarms; band: 95 % "
        "interval at each threshold",
    ]


def _more(judged: Decided, look: Theme) -> tuple[list[Any], list[str]]:
    assert judged.scores is not None
    rankings = {place: judged.ranking(place) for place in judged.present}
    areas = {place: float(ranking.roc_auc()) for place, ranking in rankings.items()}  # type: ignore[arg-type]
    shown, note = hardest(areas)
    curves = {}
    for place in shown:
        curve = rankings[place].roc_curve()
        curves[place] = curve.fpr, curve.tpr
    points = {place: judged.rates(place)[:2] for place in shown}
    mean = f"mean AUC {share(float(np.mean(list(areas.values()))))}"
    if len(judged.present) == judged.k:
        found: Any = OneVsRest.of(judged.truth, judged.scores, judged.weight, labels=range(judged.k))
        whole = found.roc_auc(interval=0.95)
        mean = f"mean AUC {share(whole.value)} ({interval_text(whole.low, whole.high)})"
    worst = shown[0]
    notes = ["each class against the rest, with its AUC; dots: the decisions", note, absent(judged)]
    return several(SQUARE, judged, curves, areas, points, look, strokeJoin="round"), [
        f"Class {judged.classes[worst]} is the hardest to tell from the rest: AUC {share(areas[worst])}",
        f"{judged.name} · {mean} · {judged.rows_text()}",
        "; ".join(part for part in notes if part),
    ]
