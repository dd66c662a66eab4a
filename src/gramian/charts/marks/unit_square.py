"""The unit square of ROC and precision–recall charts: two rates, curves, and the point of the predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._core.types import Chart, Floats
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.points import thinned
from gramian.charts.marks.text import interval_text, share
from gramian.charts.predictions.predictions import ClassPredictions
from gramian.charts.theme import LEFT, SIDE, Theme, rows
from gramian.metrics.statistics.one_vs_rest import OneVsRest
from gramian.metrics.statistics.ranks import Ranking

MAX_POINTS = 500  # of one curve
MAX_CLASSES = 7
LETTER_WIDTH = 6.6  # pixels


@dataclass(frozen=True, eq=False)
class UnitSquare:
    """Two axes from 0 to 1."""

    x_title: str
    y_title: str

    def _axis(self, kind: Any, field: str, name: str) -> Chart:
        extent = {"minExtent": LEFT} if kind is alt.Y else {}
        return kind(
            f"{field}:Q",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=alt.Axis(title=name, format=".1~f", tickCount=6, **extent),
        )

    def x(self, field: str = "x") -> Chart:
        return self._axis(alt.X, field, self.x_title)

    def y(self, field: str = "y") -> Chart:
        return self._axis(alt.Y, field, self.y_title)

    def line(self, x: Floats, y: Floats, **style: Any) -> Chart:
        kept = thinned(x, y, MAX_POINTS)
        records = [{"x": float(x[i]), "y": float(y[i]), "at": at} for at, i in enumerate(kept)]
        return alt.Chart(rows(records)).mark_line(**style).encode(x=self.x(), y=self.y(), order="at:Q")

    def band(self, x: Floats, low: Floats, high: Floats, colour: str, **style: Any) -> Chart:
        """The area between two curves, each with its own corners."""
        kept = np.union1d(thinned(x, low, MAX_POINTS // 2), thinned(x, high, MAX_POINTS // 2))
        records = [{"x": float(x[i]), "low": float(low[i]), "high": float(high[i])} for i in kept]
        area = alt.Chart(rows(records)).mark_area(color=colour, opacity=0.16, **style)
        return area.encode(x=self.x(), y=self.y("low"), y2="high:Q")

    def label(self, x: float, y: float, text: str, colour: str, **style: Any) -> Chart:
        base = alt.Chart(rows([{"x": x, "y": y, "text": text}])).mark_text(color=colour, fontSize=11, **style)
        return base.encode(x=self.x(), y=self.y(), text="text:N")

    def operating_point(self, x: float, y: float, text: str, theme: Theme, colour: str | None = None) -> Chart:
        """The point of the predictions, with its label where there is room: below, towards the middle."""
        base = alt.Chart(rows([{"x": x, "y": y, "text": text}])).encode(x=self.x(), y=self.y())
        tooltip = [alt.Tooltip("x:Q", title=self.x_title, format=".4~g")]
        tooltip += [alt.Tooltip("y:Q", title=self.y_title, format=".4~g")]
        dot = base.mark_point(
            filled=True, size=90, opacity=1, color=colour or theme.ink, stroke=theme.background, strokeWidth=1.5
        ).encode(tooltip=tooltip)
        if not text:
            return dot
        length, to_the_right = LETTER_WIDTH * len(text), SIDE * (1.0 - x)
        fits = to_the_right > 12 + length
        side = {"align": "left", "dx": 9} if fits else {"align": "center" if to_the_right > length / 2 else "right"}
        gap = 7 if fits else 14
        side |= {"baseline": "bottom", "dy": -gap} if y < 0.1 else {"baseline": "top", "dy": gap}
        return dot + base.mark_text(color=theme.ink, fontSize=12, **side).encode(text="text:N")


@dataclass(frozen=True)
class RankingMetric:
    """A curve of each class against the rest and the area under it.

    `curve` and `point` give x and y; `area` is a method of rankings and of their averages over classes.
    """

    name: str
    curve: Callable[[Ranking], tuple[Floats, Floats]]
    point: Callable[[ClassPredictions, int], tuple[float, float]]
    area: Callable[..., Any]
    hardest: str  # what the class with the smallest area is


def several_classes(
    square: UnitSquare, predictions: ClassPredictions, metric: RankingMetric, theme: Theme, **style: Any
) -> tuple[list[Chart], list[str]]:
    """The layers and the title of the curves of several classes."""
    rankings = {place: predictions.ranking(place) for place in predictions.present}
    areas = {place: float(metric.area(ranking)) for place, ranking in rankings.items()}
    shown = sorted(areas, key=lambda place: areas[place])[:MAX_CLASSES]
    curves = {place: metric.curve(rankings[place]) for place in shown}
    points = {place: metric.point(predictions, place) for place in shown}
    mean = f"mean {metric.name} {share(float(np.mean(list(areas.values()))))}"
    missing = predictions.k - len(predictions.present)
    if not missing and predictions.scores is not None:
        statistic = OneVsRest.of(predictions.truth, predictions.scores, predictions.weight, labels=range(predictions.k))
        average = metric.area(statistic, interval=0.95)
        mean = f"mean {metric.name} {share(average.value)} ({interval_text(average.low, average.high)})"
    notes = [f"each class against the rest, with its {metric.name}; dots: the predictions"]
    notes += [f"the {MAX_CLASSES} hardest of {len(areas)} classes are shown"] if len(areas) > MAX_CLASSES else []
    notes += [f"{missing} of {predictions.k} classes have no rows here"] if missing else []
    worst = shown[0]
    return _one_vs_rest(square, predictions, curves, areas, points, theme, **style), [
        f"Class {predictions.classes[worst]} is {metric.hardest}: {metric.name} {share(areas[worst])}",
        f"{predictions.name} · {mean} · {predictions.rows_text()}",
        "; ".join(notes),
    ]


def _one_vs_rest(
    square: UnitSquare,
    predictions: ClassPredictions,
    curves: dict[int, tuple[Floats, Floats]],
    values: dict[int, float],
    points: dict[int, tuple[float, float]],
    theme: Theme,
    **style: Any,
) -> list[Chart]:
    """Curves of several classes, each with the point of its predictions; the legend has their areas."""
    shown = list(curves)
    names = [f"{predictions.classes[place]}\u2002{share(values[place])}" for place in shown]
    scale = alt.Scale(domain=names, range=[theme.of_class(place) for place in shown])
    legend = alt.Legend(
        title=None, orient="right", offset=14, symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1
    )
    max_points = MAX_POINTS * 4 // max(len(shown), 4)
    records, dots = [], []
    for name, place in zip(names, shown, strict=True):
        x, y = curves[place]
        kept = thinned(x, y, max_points)
        records += [{"x": float(x[i]), "y": float(y[i]), "at": at, "class": name} for at, i in enumerate(kept)]
        dots.append({"x": points[place][0], "y": points[place][1], "class": name})
    colour = alt.Color("class:N", scale=scale, legend=legend, sort=names)
    base = alt.Chart(rows(records)).mark_line(strokeWidth=2, **style)
    marks = alt.Chart(rows(dots)).mark_point(filled=True, size=70, opacity=1, stroke=theme.background, strokeWidth=1.2)
    return [
        base.encode(x=square.x(), y=square.y(), order="at:Q", color=colour),
        marks.encode(x=square.x(), y=square.y(), color=alt.Color("class:N", scale=scale, legend=legend, sort=names)),
    ]


def size() -> dict[str, int]:
    return {"width": SIDE, "height": SIDE}
