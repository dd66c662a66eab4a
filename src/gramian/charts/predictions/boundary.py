"""What a classifier of two features decides where: regions, boundary, margins, and the rows themselves."""

from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp

from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.contours import contours, finer, simplified
from gramian.charts.marks.image import png
from gramian.charts.marks.points import some
from gramian.charts.marks.text import Floats, counted, feature_names, interval_text, labels, number, percent, share
from gramian.charts.predictions.plane import GRID, Plane, coordinates, over, window
from gramian.charts.predictions.predictions import Decided, decided_by, name_of
from gramian.charts.theme import LEFT, WIDTH, Theme, rows, title
from gramian.metrics.statistics.counts import Confusion
from gramian.objective.losses.classification import Hinge, MultiHinge, RootHinge, SquaredHinge

HEIGHT = 400
MOST_POINTS = 2000
MOST_RINGS = 500
LEVELS = 8  # of certainty, for each class
WEAK, STRONG = 0.10, 0.50  # strength of the colour of a region, from chance to certainty
FLAT = 0.28


def draw(model: Any, look: Theme, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
    """Regions in the colours of their classes, the deeper the surer; the boundary; margins and support vectors."""
    points = None if X is None else coordinates(X)
    judged = None if X is None or y is None else decided_by(model, X, y, sample_weight)
    ends = window(model, points)
    plane = over(model, ends, X)
    names = labels(np.asarray(model.classes_).tolist())
    x, y_axis = axes(model, ends)
    notes = ["the deeper the colour, the more probable the class"] if plane.probabilities is not None else []
    layers = [regions(plane, look, len(names))]
    layers += _points(points, judged, names, plane, x, y_axis, look, notes, sample_weight)
    if _has_margins(model, plane):
        margin = plane.margin(1)
        found = [line for level in (-1.0, 1.0) for line in contours(plane.x, plane.y, margin, level)]
        layers.append(line_marks(found, plane, x, y_axis, color=look.ink, strokeWidth=1.3, strokeDash=[6, 5]))
    places = [1] if len(names) == 2 else range(len(names))
    found = [line for place in places for line in contours(plane.x, plane.y, plane.margin(place))]
    layers.append(line_marks(found, plane, x, y_axis, color=look.ink, strokeWidth=2))
    layers += rings(model, x, y_axis, look, notes)
    if _has_margins(model, plane):
        notes.append("dashed: margins, where the decision is ±1")
    whole = alt.layer(*[layer for layer in layers if layer is not None])
    return whole.properties(
        width=WIDTH,
        height=HEIGHT,
        title=title(_finding(model, judged, names), _facts(model, judged, names), "; ".join(notes)),
    )


def axes(model: Any, ends: Floats) -> tuple[Any, Any]:
    """The two features, over a window."""
    found = []
    names = labels(feature_names(model))
    for kind, field, name, (low, high) in ((alt.X, "x", names[0], ends[0]), (alt.Y, "y", names[1], ends[1])):
        more = {"minExtent": LEFT} if field == "y" else {}
        found.append(
            kind(
                f"{field}:Q",
                scale=alt.Scale(domain=[float(low), float(high)], nice=False, zero=False),
                axis=linear_axis(name, float(low), float(high), grid=False, tickCount=7, **more),
            )
        )
    return found[0], found[1]


def regions(plane: Plane, look: Theme, k: int) -> Any:
    """All regions as one picture: a colour for each class and level of certainty."""
    decisions = finer(plane.decisions, HEIGHT, WIDTH)
    place = decisions.argmax(axis=2)
    if plane.probabilities is None:
        level, levels = np.zeros_like(place), 1
    else:
        p = np.take_along_axis(finer(plane.probabilities, HEIGHT, WIDTH), place[:, :, None], axis=2)[:, :, 0]
        sure = np.clip((p - 1.0 / k) / (1.0 - 1.0 / k), 0.0, 1.0)
        levels = LEVELS
        level = np.minimum((sure * levels).astype(np.int64), levels - 1)
    strengths = np.linspace(WEAK, STRONG, levels) if levels > 1 else [FLAT]
    colours = [look.tint(colour, float(strength)) for colour in look.palette for strength in strengths]
    picture = place % len(look.palette) * levels + level
    url = png(picture[::-1].astype(np.uint8), colours)
    base = alt.Chart(rows([{"url": url}]))
    return base.mark_image(width=WIDTH, height=HEIGHT, aspect=False).encode(
        x=alt.value(WIDTH / 2), y=alt.value(HEIGHT / 2), url="url:N"
    )


def _has_margins(model: Any, plane: Plane) -> bool:
    if not plane.smooth or plane.decisions.shape[2] != 2 or hasattr(model, "threshold_"):
        return False
    loss = getattr(model, "_loss", None)
    hinge = isinstance(loss, Hinge | SquaredHinge | RootHinge) or (isinstance(loss, MultiHinge) and loss.margin > 0)
    return hinge or hasattr(model, "support_vectors_")


def line_marks(lines: list[Floats], plane: Plane, x: Any, y: Any, **style: Any) -> Any:
    """Contours over the window of a plane."""
    if not lines:
        return None
    cell = np.array([np.ptp(plane.x), np.ptp(plane.y)]) / (GRID - 1)
    records = []
    for number_of, line in enumerate(lines):
        kept = simplified(line / cell, 0.04) * cell
        records += [{"x": float(a), "y": float(b), "line": number_of, "at": at} for at, (a, b) in enumerate(kept)]
    base = alt.Chart(rows(records)).mark_line(clip=True, strokeJoin="round", **style)
    return base.encode(x=x, y=y, detail="line:N", order="at:Q")


def _points(
    points: Floats | None,
    judged: Decided | None,
    names: list[str],
    plane: Plane,
    x: Any,
    y: Any,
    look: Theme,
    notes: list[str],
    sample_weight: Any,
) -> list[Any]:
    """The rows, in the colours of their classes; and what names the classes."""
    k = len(names)
    colours = alt.Scale(domain=names, range=[look.of_class(j) for j in range(k)])
    few = k <= len(look.palette)
    legend = alt.Legend(title=None, orient="top", offset=4, symbolOpacity=1, symbolType="circle") if few else None
    where = [
        {"x": float(plane.x[column]), "y": float(plane.y[row]), "class": name}
        for name, (row, column) in zip(names, (plane.heart(j) for j in range(k)), strict=True)
    ]
    base = alt.Chart(rows(where)).encode(x=x, y=y)
    keys = base.mark_point(opacity=0, filled=True).encode(color=alt.Color("class:N", scale=colours, legend=legend))
    layers = [keys]
    if points is not None:
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        kept = np.arange(len(points)) if weight is None else np.flatnonzero(weight > 0)
        shown = kept[some(len(kept), MOST_POINTS)]
        if len(shown) < len(kept):
            notes.append(f"{len(shown):,} of {counted(len(kept), 'row')} are shown, drawn at random")
        size = 42 if len(shown) <= 300 else 26 if len(shown) <= 1000 else 14
        dots = alt.Chart(rows(_records(points, judged, names, kept, shown))).encode(x=x, y=y)
        dots = dots.mark_circle(size=size, opacity=0.95, stroke=look.background, strokeWidth=0.7)
        colour = alt.value(look.muted) if judged is None else alt.Color("class:N", scale=colours, legend=legend)
        tooltip = [alt.Tooltip("x:Q", format=".4~g"), alt.Tooltip("y:Q", format=".4~g")]
        tooltip += [] if judged is None else [alt.Tooltip("class:N"), alt.Tooltip("decided:N")]
        layers.append(dots.encode(color=colour, tooltip=tooltip))
    if not few:
        layers.append(base.mark_text(color=look.ink, fontSize=12, fontWeight="bold").encode(text="class:N"))
    return layers


def _records(points: Floats, judged: Decided | None, names: list[str], kept: Any, shown: Any) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [{"x": float(points[i, 0]), "y": float(points[i, 1])} for i in shown]
    if judged is not None:  # which has the rows kept only
        for record, i in zip(records, np.searchsorted(kept, shown), strict=True):
            record |= {"class": names[judged.truth[i]], "decided": names[judged.decided[i]]}
    return records


def support_vectors(model: Any) -> Floats | None:
    """Of a machine, or of the one inside a model; None of others."""
    found = getattr(getattr(model, "estimator_", model), "support_vectors_", None)
    if found is None:
        return None
    return np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)


def rings(model: Any, x: Any, y: Any, look: Theme, notes: list[str]) -> list[Any]:
    """Around the support vectors."""
    vectors = support_vectors(model)
    if vectors is None or not len(vectors):
        return []
    shown = some(len(vectors), MOST_RINGS)
    several = "" if len(shown) == len(vectors) else f", {len(shown):,} of {len(vectors):,} shown"
    notes.append(f"ringed: support vectors{several}")
    records = [{"x": float(a), "y": float(b)} for a, b in vectors[shown]]
    ring = alt.Chart(rows(records)).mark_point(filled=False, size=110, stroke=look.ink, strokeWidth=1.3, opacity=0.9)
    return [ring.encode(x=x, y=y)]


def _finding(model: Any, judged: Decided | None, names: list[str]) -> str:
    if judged is not None:
        w = judged.counts
        right, total = float(w[judged.truth == judged.decided].sum()), float(w.sum())
        side = "on the right side of the boundary" if len(names) == 2 else "in the region of their class"
        if right == total:
            return f"Every row lies {side}"
        return f"{percent(right / total)} of {counted(total, 'row')} lie {side}"
    vectors = support_vectors(model)
    if vectors is not None and hasattr(model, "margin_") and len(names) == 2:
        return f"{counted(len(vectors), 'support vector')} hold a margin of width {number(model.margin_)}"
    shape = _shape(model, names)
    return f"The boundary is {shape}" if shape else f"Where {type(model).__name__} decides for each class"


def _shape(model: Any, names: list[str]) -> str:
    """The kind of conic that divides two classes."""
    if len(names) != 2 or not hasattr(model, "boundary"):
        return ""
    kind = str(model.boundary(*np.asarray(model.classes_).tolist()).kind)
    return kind if kind in ("none", "everywhere") else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _facts(model: Any, judged: Decided | None, names: list[str]) -> str:
    words = [name_of(model)]
    words += [f"alpha {number(model.alpha_)}"] if getattr(model, "alpha_", 0.0) else []
    words += [f"{model.n_neighbors_} neighbours"] if hasattr(model, "n_neighbors_") else []
    vectors = support_vectors(model)
    words += [counted(len(vectors), "support vector")] if vectors is not None else []
    words += [f"margin {number(model.margin_)}"] if isinstance(getattr(model, "margin_", None), float) else []
    if judged is not None:
        words += [f"boundary: {_shape(model, names)}"] if _shape(model, names) else []
        found: Any = Confusion.of(judged.truth, judged.decided, judged.weight).accuracy(interval=0.95)
        words.append(f"accuracy {share(found.value)} ({interval_text(found.low, found.high)})")
        words += [judged.threshold] if "tuned" in judged.threshold else []
    return " · ".join(words)
