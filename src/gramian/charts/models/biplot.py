"""Rows along the first two principal components, with the columns as arrows."""

from dataclasses import dataclass

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Record, Table, Values, Weights
from gramian.charts.declaration import ChartKind, has, is_unsupervised
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.scatter import (
    HEIGHT,
    answered,
    axes,
    beside,
    colours_of,
    dots,
    haloed,
    kept_rows,
    names_among,
    strip_window,
    window,
)
from gramian.charts.marks.text import counted, feature_names, labels, number, percent
from gramian.charts.models.path import spread
from gramian.charts.theme import WIDTH, Theme, rows, title

MAX_ARROWS = 12
REACH = 0.9  # of the extent of the rows, the longest arrow
LABEL_HEIGHT = 14
MAX_SAME_ANGLE = 0.2  # radians
MAX_NAME_LENGTH = 22
LETTER_WIDTH = 7.2  # pixels


def applies(model: Estimator, data: bool) -> bool:
    """Applies to principal components of columns."""
    return is_unsupervised(model) and has(model, "variance_shares_", "transform", "components_", "n_features_in_")


CHART = ChartKind(name="biplot", of="rows", order=170, applies=applies, order_with_data=60)


def draw(
    model: Estimator, theme: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """Loadings as arrows, scaled by one factor to the extent of the rows."""
    pairs = np.asarray(model.components_, dtype=np.float64)[:2].T
    deviations = np.sqrt(np.maximum(np.asarray(model.variances_, dtype=np.float64)[:2], 0.0))
    arrows = np.zeros((len(pairs), 2))
    arrows[:, : pairs.shape[1]] = pairs * deviations
    names = labels(feature_names(model), MAX_NAME_LENGTH)
    order = np.argsort(-np.linalg.norm(arrows, axis=1), kind="stable")[:MAX_ARROWS]
    notes: list[str] = []
    lone = pairs.shape[1] == 1
    places = None if X is None else _scores(model, X)
    kept = np.arange(0) if places is None else kept_rows(len(places), sample_weight)[0]
    reach = 1.0 if places is None else _stretch(arrows[order], places[kept])
    shown = Arrows.of(arrows[order] * reach, [names[j] for j in order], lone)
    ends = shown.window(None if places is None else places[kept])
    plane = axes(_names(model), ends)
    layers = []
    if places is not None:
        colours = colours_of(y, len(places))
        layers += dots(places, kept, colours, plane, theme, notes)
        if y is None:
            layers = [layer.encode(color=alt.value(theme.tint(theme.muted, 0.6))) for layer in layers]
        layers += names_among(places, kept, colours, plane, theme)
    layers += shown.layers(plane, ends, theme)
    if len(order) < len(arrows):
        notes.append(f"the {len(order)} longest of {len(arrows):,} arrows")
    if places is not None:
        notes.append(f"arrows are scaled by {number(reach, 2)}")
    facts = [type(model).__name__, f"{len(arrows):,} columns"]
    facts += [] if places is None else [counted(len(kept), "row")]
    return alt.layer(*layers).properties(
        width=WIDTH,
        height=shown.height,
        title=title(
            _finding(model, arrows, names),
            " · ".join(facts),
            "; ".join(["arrows: loadings (weights times the standard deviation of the component)", *notes]),
        ),
    )


def _scores(model: Estimator, X: Table) -> Floats:
    scores = answered(model.transform, X).astype(np.float64)
    return beside(scores[:, 0]) if scores.shape[1] == 1 else scores[:, :2]


def _names(model: Estimator) -> list[str | None]:
    shares = np.asarray(model.variance_shares_, dtype=np.float64)
    titles = [f"component {j + 1} · {percent(float(shares[j]))} of the variance" for j in range(min(2, len(shares)))]
    return [titles[0], titles[1] if len(titles) > 1 else None]


def _stretch(arrows: Floats, places: Floats) -> float:
    size = np.abs(arrows).max(axis=0)
    room = np.abs(places).max(axis=0)
    positive = size > 0
    if not (room[positive] > 0).any():
        return 1.0
    return float(REACH * (room[positive] / size[positive]).min())


@dataclass(frozen=True, eq=False)
class Arrows:
    """Arrows (m, 2) from zero with their names; those of one component at different heights above the rows."""

    ends: Floats
    starts: Floats
    names: list[str]
    lone: bool

    @classmethod
    def of(cls, ends: Floats, names: list[str], lone: bool) -> "Arrows":
        level = np.zeros(len(ends)) if not lone else 0.9 + 0.25 * np.arange(len(ends))[::-1]
        up = np.column_stack([np.zeros(len(ends)), level])
        return cls(ends * [1.0, 0.0 if lone else 1.0] + up, up, names, lone)

    @property
    def height(self) -> float:
        return 120.0 + 18.0 * len(self.ends) if self.lone else HEIGHT

    def window(self, places: Floats | None) -> Floats:
        """Around the rows and the arrows, with room for the names."""
        room = [self.ends * [1.12, 1.0 if self.lone else 1.12]]
        room += [-0.2 * self.ends] if places is None and not self.lone else []
        room += [] if places is None else [places]
        for _ in range(4):  # names have a size in pixels, which the window sets
            points = np.vstack(room)
            ends = (
                strip_window(points[:, 0], float(self.ends[0, 1]) + 0.25) if self.lone else window(points, equal=True)
            )
            unit = float(np.ptp(ends[0])) / WIDTH
            side = np.where(self.ends[:, 0] >= 0, 1.0, -1.0)
            beyond = side * unit * np.array([8.0 + LETTER_WIDTH * len(name) for name in self.names])
            room.append(np.column_stack([self.ends[:, 0] + beyond, self.ends[:, 1]]))
        return ends

    def layers(self, plane: tuple[Chart, Chart], window: Floats, theme: Theme) -> list[Chart]:
        size = np.ptp(window, axis=1) / np.array([WIDTH, self.height])
        records, tip_marks = [], []
        for (a, b), (start, level), name in zip(self.ends, self.starts, self.names, strict=True):
            records.append({"x": float(start), "y": float(level), "x2": float(a), "y2": float(b), "name": name})
            turn = float(np.degrees(np.arctan2(a / size[0], (b - level) / size[1])))
            tip_marks.append({"x": float(a), "y": float(b), "turn": turn, "name": name})
        base = alt.Chart(rows(records)).mark_rule(color=theme.ink, strokeWidth=1.4)
        tooltip = [alt.Tooltip("name:N", title="column")]
        line = base.encode(x=plane[0], y=plane[1], x2="x2:Q", y2="y2:Q", tooltip=tooltip)
        tips = alt.Chart(rows(tip_marks)).mark_point(shape="triangle", filled=True, size=70, opacity=1, color=theme.ink)
        turned = alt.Angle("turn:Q", scale=alt.Scale(domain=[-180, 180], range=[-180, 180]), legend=None)
        tip = tips.encode(x=plane[0], y=plane[1], angle=turned)
        return [line, tip, *_labels(tip_marks, plane, window, size, theme, self.lone)]


def _labels(
    tips: list[Record], plane: tuple[Chart, Chart], window: Floats, size: Floats, theme: Theme, lone: bool
) -> list[Chart]:
    """Names beyond the tips, moved apart on each side so that none overlaps another."""
    layers = []
    for side in ("left", "right"):
        own = sorted((tip for tip in tips if (tip["x"] >= 0) == (side == "right")), key=lambda tip: tip["y"])
        if not own:
            continue
        y = np.array([tip["y"] for tip in own])
        if not lone:
            positions = y + [(np.sign(tip["y"]) * 4 + _offset(tip, own, size)) * size[1] for tip in own]
            own = [own[i] for i in np.argsort(positions, kind="stable")]
            positions.sort()
            y = spread(positions, LABEL_HEIGHT * size[1], float(window[1, 0]), float(window[1, 1]))
        records = [{"x": tip["x"], "y": float(at), "name": tip["name"]} for tip, at in zip(own, y, strict=True)]
        base = alt.Chart(rows(records)).encode(x=plane[0], y=plane[1], text="name:N")
        style = {"align": "left" if side == "right" else "right", "dx": 8 if side == "right" else -8, "fontSize": 12}
        layers += haloed(base, theme, fontWeight="bold", **style)
    return layers


def _offset(tip: Record, others: list[Record], size: Floats) -> float:
    """Pixels up or down by which a name avoids longer arrows in nearly the same direction."""

    def polar(one: Record) -> tuple[float, float]:
        a, b = abs(one["x"]) / size[0], one["y"] / size[1]
        return float(np.hypot(a, b)), float(np.arctan2(b, a))

    length, angle = polar(tip)
    offset = 0.0
    for other in others:
        other_length, other_angle = polar(other)
        if other is not tip and other_length > length and abs(other_angle - angle) < MAX_SAME_ANGLE:
            offset = LABEL_HEIGHT if angle >= other_angle else -LABEL_HEIGHT
    return offset


def _finding(model: Estimator, arrows: Floats, names: list[str]) -> str:
    explained = float(np.asarray(model.variance_shares_, dtype=np.float64)[:2].sum())
    first = names[int(np.abs(arrows[:, 0]).argmax())]
    count = min(2, len(np.asarray(model.variance_shares_)))
    start = (
        f"{'Two components explain' if count == 2 else 'One component explains'} {percent(explained)} of the variance"
    )
    if not arrows.any():
        return start
    second = names[int(np.abs(arrows[:, 1]).argmax())] if arrows[:, 1].any() else first
    if second == first:
        return f"{start}; {first} has the largest loading"
    return f"{start}; largest loadings {first} and {second}"
