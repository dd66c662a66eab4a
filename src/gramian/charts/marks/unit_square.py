"""What ROC and precision–recall charts share: a square of two shares, curves in it, and the point of the decisions."""

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from gramian.charts.marks.points import thinned
from gramian.charts.marks.text import share
from gramian.charts.predictions.predictions import Decided
from gramian.charts.theme import LEFT, SIDE, Theme, rows

Floats = NDArray[np.float64]
MOST_POINTS = 500  # of one curve
MOST_CLASSES = 7
LETTER = 6.6  # pixels, about


@dataclass(frozen=True, eq=False)
class Square:
    """Two axes from 0 to 1."""

    x_title: str
    y_title: str

    def _axis(self, kind: Any, field: str, name: str) -> Any:
        more = {"minExtent": LEFT} if kind is alt.Y else {}
        return kind(
            f"{field}:Q",
            scale=alt.Scale(domain=[0, 1], nice=False),
            axis=alt.Axis(title=name, format=".1~f", tickCount=6, **more),
        )

    def x(self, field: str = "x") -> Any:
        return self._axis(alt.X, field, self.x_title)

    def y(self, field: str = "y") -> Any:
        return self._axis(alt.Y, field, self.y_title)

    def line(self, x: Floats, y: Floats, **style: Any) -> Any:
        kept = thinned(x, y, MOST_POINTS)
        records = [{"x": float(x[i]), "y": float(y[i]), "at": at} for at, i in enumerate(kept)]
        return alt.Chart(rows(records)).mark_line(**style).encode(x=self.x(), y=self.y(), order="at:Q")

    def band(self, x: Floats, low: Floats, high: Floats, colour: str, **style: Any) -> Any:
        """Between two curves, each kept by its own corners."""
        kept = np.union1d(thinned(x, low, MOST_POINTS // 2), thinned(x, high, MOST_POINTS // 2))
        records = [{"x": float(x[i]), "low": float(low[i]), "high": float(high[i])} for i in kept]
        area = alt.Chart(rows(records)).mark_area(color=colour, opacity=0.16, **style)
        return area.encode(x=self.x(), y=self.y("low"), y2="high:Q")

    def word(self, x: float, y: float, text: str, colour: str, **style: Any) -> Any:
        base = alt.Chart(rows([{"x": x, "y": y, "text": text}])).mark_text(color=colour, fontSize=11, **style)
        return base.encode(x=self.x(), y=self.y(), text="text:N")

    def chosen(self, x: float, y: float, text: str, look: Theme, colour: str | None = None) -> Any:
        """The point of the decisions, with its words where there is room: below, towards the middle."""
        base = alt.Chart(rows([{"x": x, "y": y, "text": text}])).encode(x=self.x(), y=self.y())
        tooltip = [alt.Tooltip("x:Q", title=self.x_title, format=".4~g")]
        tooltip += [alt.Tooltip("y:Q", title=self.y_title, format=".4~g")]
        dot = base.mark_point(
            filled=True, size=90, opacity=1, color=colour or look.ink, stroke=look.background, strokeWidth=1.5
        ).encode(tooltip=tooltip)
        if not text:
            return dot
        length, left = LETTER * len(text), SIDE * (1.0 - x)
        room = left > 12 + length
        side = {"align": "left", "dx": 9} if room else {"align": "center" if left > length / 2 else "right"}
        away = 7 if room else 14
        side |= {"baseline": "bottom", "dy": -away} if y < 0.1 else {"baseline": "top", "dy": away}
        return dot + base.mark_text(color=look.ink, fontSize=12, **side).encode(text="text:N")


def several(
    square: Square,
    judged: Decided,
    curves: dict[int, tuple[Floats, Floats]],
    values: dict[int, float],
    points: dict[int, tuple[float, float]],
    look: Theme,
    **style: Any,
) -> list[Any]:
    """Curves of several classes, each with the point of its decisions; the legend says their areas."""
    shown = list(curves)
    words = [f"{judged.classes[place]}\u2002{share(values[place])}" for place in shown]
    scale = alt.Scale(domain=words, range=[look.of_class(place) for place in shown])
    legend = alt.Legend(
        title=None, orient="right", offset=14, symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1
    )
    most = MOST_POINTS * 4 // max(len(shown), 4)
    records, dots = [], []
    for word, place in zip(words, shown, strict=True):
        x, y = curves[place]
        kept = thinned(x, y, most)
        records += [{"x": float(x[i]), "y": float(y[i]), "at": at, "class": word} for at, i in enumerate(kept)]
        dots.append({"x": points[place][0], "y": points[place][1], "class": word})
    colour = alt.Color("class:N", scale=scale, legend=legend, sort=words)
    base = alt.Chart(rows(records)).mark_line(strokeWidth=2, **style)
    marks = alt.Chart(rows(dots)).mark_point(filled=True, size=70, opacity=1, stroke=look.background, strokeWidth=1.2)
    return [
        base.encode(x=square.x(), y=square.y(), order="at:Q", color=colour),
        marks.encode(x=square.x(), y=square.y(), color=alt.Color("class:N", scale=scale, legend=legend, sort=words)),
    ]


def size() -> dict[str, int]:
    return {"width": SIDE, "height": SIDE}


def hardest(values: dict[int, float]) -> tuple[list[int], str]:
    """The classes shown, the hardest first, and what to say of the others."""
    order = sorted(values, key=lambda place: values[place])
    note = "" if len(order) <= MOST_CLASSES else f"the {MOST_CLASSES} hardest of {len(order)} classes are shown"
    return order[:MOST_CLASSES], note


def absent(judged: Decided) -> str:
    missing = judged.k - len(judged.present)
    return f"{missing} of {judged.k} classes have no rows here" if missing else ""
