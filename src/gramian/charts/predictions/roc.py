"""The ROC curve: the true positive rate against the false positive rate at every threshold."""

from typing import Any

import numpy as np

from gramian._core.types import Chart, Floats
from gramian.charts.declaration import ChartKind
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.text import interval_text, percent, share
from gramian.charts.marks.unit_square import RankingMetric, UnitSquare, several_classes, size
from gramian.charts.predictions.predictions import ClassPredictions, n_classes, predicts_scores
from gramian.charts.theme import Theme, title
from gramian.metrics.statistics.ranks import Ranking

SQUARE = UnitSquare("false positive rate", "true positive rate")
CHART = ChartKind(
    name="roc",
    of="predictions",
    order=210,
    applies=predicts_scores,
    order_with_data=lambda model: 80 if n_classes(model) == 2 else None,
)


METRIC = RankingMetric(
    "AUC",
    curve=lambda ranking: _corners(ranking),
    point=lambda predictions, place: predictions.rates(place)[:2],
    area=lambda statistic, **options: statistic.roc_auc(**options),
    hardest="the hardest to separate from the rest",
)


def draw(predictions: ClassPredictions, theme: Theme) -> Chart:
    """The curve with its band and the point of the predictions; of several classes each against the rest."""
    ends = np.array([0.0, 1.0])
    chance = SQUARE.line(ends, ends, color=theme.muted, strokeWidth=1, strokeDash=[4, 4])
    if predictions.k == 2:
        layers, heading = _two_classes(predictions, theme)
    else:
        layers, heading = several_classes(SQUARE, predictions, METRIC, theme, strokeJoin="round")
    return alt.layer(chance, *layers).properties(**size(), title=title(*heading))


def _two_classes(predictions: ClassPredictions, theme: Theme) -> tuple[list[Chart], list[str]]:
    place = predictions.positive
    ranking = predictions.ranking(place)
    curve: Any = ranking.roc_curve(interval=0.95)
    area: Any = ranking.roc_auc(interval=0.95)
    fpr, tpr, _ = predictions.rates(place)
    name, other = predictions.classes[place], predictions.classes[1 - place]
    layers = [
        SQUARE.band(curve.fpr, curve.low, curve.high, theme.accent),
        SQUARE.line(curve.fpr, curve.tpr, color=theme.accent, strokeWidth=2.5, strokeJoin="round"),
        SQUARE.label(0.6, 0.6, "chance", theme.muted, align="left", baseline="top", dx=6, dy=4),
        SQUARE.operating_point(fpr, tpr, predictions.threshold, theme),
    ]
    return layers, [
        f"Class {name} scores above class {other} in {percent(area.value)} of all pairs",
        f"{predictions.name} · AUC {share(area.value)} ({interval_text(area.low, area.high)}) · "
        f"{predictions.rows_text()}",
        f"dot: the predictions, with true positive rate {percent(tpr)} and false positive rate {percent(fpr)}; "
        "band: 95 % interval at each threshold",
    ]


def _corners(ranking: Ranking) -> tuple[Floats, Floats]:
    curve = ranking.roc_curve()
    return curve.fpr, curve.tpr
