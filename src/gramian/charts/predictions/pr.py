"""The precision–recall curve: precision against recall at every threshold."""

from typing import Any

import numpy as np

from gramian._core.types import Chart, Floats
from gramian.charts.declaration import ChartKind
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.text import interval_text, percent, share
from gramian.charts.marks.unit_square import RankingMetric, UnitSquare, several_classes, size
from gramian.charts.predictions.predictions import ClassPredictions, predicts_scores
from gramian.charts.theme import Theme, title
from gramian.metrics.statistics.ranks import Ranking

SQUARE = UnitSquare("recall", "precision")
STEPS = "step-before"  # the average precision is the area under these steps
CHART = ChartKind(name="pr", of="predictions", order=220, applies=predicts_scores)


METRIC = RankingMetric(
    "average precision",
    curve=lambda ranking: _steps(ranking),
    point=lambda predictions, place: predictions.rates(place)[1:],
    area=lambda statistic, **options: statistic.average_precision(**options),
    hardest="the hardest to predict",
)


def draw(predictions: ClassPredictions, theme: Theme) -> Chart:
    """The curve with its band, the prevalence, and the point of the predictions; of several classes each by itself."""
    if predictions.k == 2:
        layers, heading = _two_classes(predictions, theme)
    else:
        layers, heading = several_classes(SQUARE, predictions, METRIC, theme, interpolate=STEPS)
    return alt.layer(*layers).properties(**size(), title=title(*heading))


def _two_classes(predictions: ClassPredictions, theme: Theme) -> tuple[list[Chart], list[str]]:
    place = predictions.positive
    ranking = predictions.ranking(place)
    curve: Any = ranking.pr_curve(interval=0.95)
    area: Any = ranking.average_precision(interval=0.95)
    _, recall, precision = predictions.rates(place)
    name = predictions.classes[place]
    prevalence = float(ranking.hits.sum() / (ranking.hits.sum() + ranking.others.sum()))
    ends, level = np.array([0.0, 1.0]), np.full(2, prevalence)
    below = prevalence > 0.08  # there is room for the label below the line
    x, up = curve.recall[::-1], slice(None, None, -1)
    layers = [
        SQUARE.line(ends, level, color=theme.muted, strokeWidth=1, strokeDash=[4, 4]),
        SQUARE.label(
            0.01,
            prevalence,
            f"prevalence {percent(prevalence)}",
            theme.muted,
            align="left",
            baseline="top" if below else "bottom",
            dy=4 if below else -4,
        ),
        SQUARE.band(x[1:], curve.low[up][1:], curve.high[up][1:], theme.accent, interpolate=STEPS),
        SQUARE.line(x[1:], curve.precision[up][1:], color=theme.accent, strokeWidth=2.5, interpolate=STEPS),
        SQUARE.operating_point(recall, precision, predictions.threshold, theme),
    ]
    if not (predictions.predicted == place).any():
        finding = f"No row is predicted as class {name}"
    else:
        finding = f"Precision {percent(precision)} and recall {percent(recall)} for class {name}"
    return layers, [
        finding,
        f"{predictions.name} · average precision {share(area.value)} ({interval_text(area.low, area.high)}) · "
        f"{predictions.rows_text()}",
        "dot: the predictions; band: 95 % interval at each threshold; dashed: precision of random predictions",
    ]


def _steps(ranking: Ranking) -> tuple[Floats, Floats]:
    curve = ranking.pr_curve()
    return curve.recall[-2::-1], curve.precision[-2::-1]
