"""Rows along the first two principal components, with the columns as arrows."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.cloud import HEIGHT, answered, axes, colours_of, dots, haloed, kept_rows, window
from gramian.charts.path import spread
from gramian.charts.text import Floats, counted, feature_names, labels, number, percent
from gramian.charts.theme import WIDTH, Look, rows, title

MOST_ARROWS = 12
REACH = 0.9  # of the rows' extent that the longest arrow covers
LABEL_HEIGHT = 14
NEARLY = 0.2  # radians


def draw(model: Any, look: Look, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
    """Arrows in units of standard deviations along the components, stretched together to the size of the rows."""
    pairs = np.asarray(model.components_, dtype=np.float64)[:2].T
    deviations = np.sqrt(np.maximum(np.asarray(model.variances_, dtype=np.float64)[:2], 0.0))
    arrows = np.zeros((len(pairs), 2))
    arrows[:, : pairs.shape[1]] = pairs * deviations
    names = labels(feature_names(model))
    order = np.argsort(-np.linalg.norm(arrows, axis=1), kind="stable")[:MOST_ARROWS]
    notes: list[str] = []
    places = None if X is None else _scores(model, X)
    if places is None:
        reach = 1.0
        ends = window(np.vstack([arrows[order], -0.2 * arrows[order]]), equal=True, pad=0.14)
    else:
        kept, _ = kept_rows(len(places), sample_weight)
        reach = _stretch(arrows[order], places[kept])
        ends = window(np.vstack([places[kept], arrows[order] * reach * 1.12]), equal=True)
    plane = axes(_names(model), ends)
    layers = []
    if places is not None:
        layers += dots(places, kept, colours_of(y, len(places)), plane, look, notes)
        if y is None:
            layers = [layer.encode(color=alt.value(look.tint(look.muted, 0.6))) for layer in layers]
    layers += _arrows(arrows[order] * reach, [names[j] for j in order], plane, ends, look)
    if len(order) < len(arrows):
        notes.append(f"the {len(order)} longest of {len(arrows):,} arrows")
    if places is not None:
        notes.append(f"arrows are stretched {number(reach, 2)} times")
    facts = [type(model).__name__, f"{len(arrows):,} columns"]
    facts += [] if places is None else [counted(len(kept), "row")]
    return alt.layer(*layers).properties(
        width=WIDTH,
        height=HEIGHT,
        title=title(
            _finding(model, arrows, names),
            " · ".join(facts),
            "; ".join(["arrows: columns, by their weights times the standard deviation of the component", *notes]),
        ),
    )


def _scores(model: Any, X: Any) -> Floats:
    found = answered(model.transform, X).astype(np.float64)
    return np.column_stack([found, np.zeros(len(found))])[:, :2]


def _names(model: Any) -> list[str | None]:
    shares = np.asarray(model.variance_shares_, dtype=np.float64)
    words = [f"component {j + 1} · {percent(float(shares[j]))} of the variance" for j in range(min(2, len(shares)))]
    return [words[0], words[1] if len(words) > 1 else None]


def _stretch(arrows: Floats, places: Floats) -> float:
    size = np.abs(arrows).max(axis=0)
    room = np.abs(places).max(axis=0)
    there = size > 0
    return float(REACH * (room[there] / size[there]).min()) if there.any() and (room[there] > 0).any() else 1.0


def _arrows(ends: Floats, names: list[str], plane: Any, window: Floats, look: Look) -> list[Any]:
    size = np.ptp(window, axis=1) / np.array([WIDTH, HEIGHT])
    records, words = [], []
    for (a, b), name in zip(ends, names, strict=True):
        records.append({"x": 0.0, "y": 0.0, "x2": float(a), "y2": float(b), "name": name})
        turn = float(np.degrees(np.arctan2(a / size[0], b / size[1])))
        words.append({"x": float(a), "y": float(b), "turn": turn, "name": name})
    base = alt.Chart(rows(records)).mark_rule(color=look.ink, strokeWidth=1.4)
    line = base.encode(x=plane[0], y=plane[1], x2="x2:Q", y2="y2:Q", tooltip=[alt.Tooltip("name:N", title="column")])
    tips = alt.Chart(rows(words)).mark_point(shape="triangle", filled=True, size=70, opacity=1, color=look.ink)
    turned = alt.Angle("turn:Q", scale=alt.Scale(domain=[-180, 180], range=[-180, 180]), legend=None)
    tip = tips.encode(x=plane[0], y=plane[1], angle=turned)
    return [line, tip, *_labels(words, plane, window, size, look)]


def _labels(words: list[dict[str, Any]], plane: Any, window: Floats, size: Floats, look: Look) -> list[Any]:
    """Names beyond the tips, moved apart on each side until none covers another."""
    layers = []
    for side in ("left", "right"):
        own = sorted((word for word in words if (word["x"] >= 0) == (side == "right")), key=lambda word: word["y"])
        if not own:
            continue
        wanted = np.array([word["y"] + (np.sign(word["y"]) * 4 + _aside(word, own, size)) * size[1] for word in own])
        own = [own[i] for i in np.argsort(wanted, kind="stable")]
        wanted.sort()
        y = spread(wanted, LABEL_HEIGHT * size[1], float(window[1, 0]), float(window[1, 1]))
        records = [{"x": word["x"], "y": float(at), "name": word["name"]} for word, at in zip(own, y, strict=True)]
        base = alt.Chart(rows(records)).encode(x=plane[0], y=plane[1], text="name:N")
        style = {"align": "left" if side == "right" else "right", "dx": 8 if side == "right" else -8, "fontSize": 12}
        layers += haloed(base, look, fontWeight="bold", **style)
    return layers


def _aside(word: dict[str, Any], others: list[dict[str, Any]], size: Floats) -> float:
    """Pixels up or down by which a name keeps clear of longer arrows in nearly its direction."""

    def polar(one: dict[str, Any]) -> tuple[float, float]:
        a, b = abs(one["x"]) / size[0], one["y"] / size[1]
        return float(np.hypot(a, b)), float(np.arctan2(b, a))

    length, angle = polar(word)
    found = 0.0
    for other in others:
        longer, there = polar(other)
        if other is not word and longer > length and abs(there - angle) < NEARLY:
            found = LABEL_HEIGHT if angle >= there else -LABEL_HEIGHT
    return found


def _finding(model: Any, arrows: Floats, names: list[str]) -> str:
    held = float(np.asarray(model.variance_shares_, dtype=np.float64)[:2].sum())
    first = names[int(np.abs(arrows[:, 0]).argmax())]
    count = min(2, len(np.asarray(model.variance_shares_)))
    start = f"{'Two components hold' if count == 2 else 'One component holds'} {percent(held)} of the variance"
    if not arrows.any():
        return start
    second = names[int(np.abs(arrows[:, 1]).argmax())] if arrows[:, 1].any() else first
    if second == first:
        return f"{start}, most of it along {first}"
    return f"{start}; {first} leads the first, {second} the second"
