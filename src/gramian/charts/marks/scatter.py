"""Rows as dots of a plane: their reading, their window, and their colours by class, by cluster or by a number."""

import warnings
from dataclasses import dataclass
from typing import Any

import altair as alt
import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.points import some
from gramian.charts.marks.text import Floats, counted, labels
from gramian.charts.theme import LEFT, WIDTH, Theme, rows
from gramian.rows import Rows, scan

Ints = NDArray[np.int64]
HEIGHT = 400
STRIP = 130  # the height of a chart of one axis
MOST_POINTS = 2000
PAD = 0.06
UNLIKE = 5.0  # spreads that differ by more are not drawn in equal units
SHAPES = ("circle", "triangle-up", "square")  # of classes whose colours have come round
LETTER, SYMBOL = 7, 26  # pixels of a legend
MOST_CLASSES = 20  # whole numbers that differ in more values are numbers, not classes


@dataclass(frozen=True, eq=False)
class Colours:
    """What colours the dots: classes by their places, or a number; neither for dots of one colour.

    `short` are names to be written among the dots wherever colours come round again.
    """

    names: list[str]
    places: Ints | None = None
    values: Floats | None = None
    short: list[str] | None = None


def table(X: Any, *, missing: bool = False) -> Floats:
    """All rows as numbers; with `missing` some may be NaN."""
    given = X if isinstance(X, Rows) else scan(X)
    if not missing:
        given.refuse_nonfinite()
    found = given.sum(lambda block: [block.X.toarray() if sp.issparse(block.X) else block.X])
    return np.concatenate(found).astype(np.float64)


def answered(method: Any, X: Any, **more: Any) -> Any:
    """What a method of a model says of rows; those of `Rows` are given as an array, which every model takes."""
    if not isinstance(X, Rows):
        return np.asarray(method(X, **more))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(method(X.collect().X, **more))


def colours_of(y: Any, n: int) -> Colours:
    """Of a target: classes where it is words or few whole numbers, else a number."""
    if y is None:
        return Colours([])
    native = nw.from_native(y, pass_through=True, allow_series=True, series_only=True)
    found = np.asarray(native.to_numpy() if isinstance(native, nw.Series) else y)
    found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
    if found.shape != (n,):
        raise ValueError(f"y has shape {found.shape}; the rows to be coloured are {n}: give one label or number each.")
    if found.dtype.kind in "fiu":
        values = found.astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"y is missing or infinite at row {int((~np.isfinite(values)).argmax())}: drop such rows.")
        if (values != np.round(values)).any() or len(np.unique(values)) > MOST_CLASSES:
            return Colours([], None, values)
    kept, places = np.unique(found.astype(str) if found.dtype.kind == "O" else found, return_inverse=True)
    return Colours(labels(kept.tolist()), places.reshape(-1))


def clusters_of(labels: Ints, k: int) -> Colours:
    """Of clusters 0 … k − 1."""
    return Colours([f"cluster {j}" for j in range(k)], labels, None, [str(j) for j in range(k)])


def window(points: Floats, *, equal: bool, pad: float = PAD) -> Floats:
    """(low, high) of each axis around the points; in equal units where they spread alike."""
    low, high = points.min(axis=0), points.max(axis=0)
    gap = pad * (high - low)
    gap = np.where(gap > 0, gap, np.where(high > low, 0.0, max(float((high - low).max()), 1.0) * 0.5))
    ends = np.column_stack([low - gap, high + gap])
    size = np.ptp(ends, axis=1)
    if equal and size.max() <= UNLIKE * size.min():
        unit = max(size[0] / WIDTH, size[1] / HEIGHT)
        middle, half = ends.mean(axis=1), 0.5 * unit * np.array([WIDTH, HEIGHT])
        ends = np.column_stack([middle - half, middle + half])
    return ends


def beside(x: Floats) -> Floats:
    """Points of one axis in a plane, at heights between −½ and ½ that mean nothing, so that equal ones are seen."""
    heights = np.arange(len(x)) * 0.618034 % 1.0 - 0.5
    return np.column_stack([x, heights])


def strip_window(x: Floats, high: float = 0.8) -> Floats:
    """The window of a chart of one axis, with room above the points up to `high`."""
    return np.vstack([window(np.column_stack([x, x]), equal=False)[0], [-0.8, high]])


def axes(names: list[str | None], ends: Floats, *, bare: bool = False) -> tuple[Any, Any]:
    """Both axes over a window, or one if the second has no name; bare without numbers, where these mean nothing."""
    found = []
    for kind, field, name, (low, high) in ((alt.X, "x", names[0], ends[0]), (alt.Y, "y", names[1], ends[1])):
        more: dict[str, Any] = {"minExtent": LEFT} if field == "y" and not bare else {}
        more |= {"labels": False, "ticks": False} if bare else {}
        lone = field == "y" and name is None and not bare
        found.append(
            kind(
                f"{field}:Q",
                scale=alt.Scale(domain=[float(low), float(high)], nice=False, zero=False),
                axis=None if lone else linear_axis(name, float(low), float(high), grid=False, tickCount=7, **more),
            )
        )
    return found[0], found[1]


def kept_rows(n: int, sample_weight: Any) -> tuple[Ints, Floats]:
    """Rows of positive weight, and the weights of all."""
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight has shape {weight.shape}; the rows are {n}: give one weight each.")
    if not (weight > 0).any():
        raise ValueError("sample_weight is 0 everywhere: there is nothing to draw.")
    return np.flatnonzero(weight > 0), weight


def dots(
    points: Floats, kept: Ints, colours: Colours, axes: tuple[Any, Any], look: Theme, notes: list[str], title: str = ""
) -> list[Any]:
    """The rows, and a legend of their colours where these are few."""
    shown = kept[some(len(kept), MOST_POINTS)]
    if len(shown) < len(kept):
        notes.append(f"{len(shown):,} of {counted(len(kept), 'row')} are shown, drawn at random")
    x, y = axes
    records: list[dict[str, Any]] = [{"x": float(points[i, 0]), "y": float(points[i, 1]), "row": int(i)} for i in shown]
    tooltip = [alt.Tooltip("row:Q", title="row")]
    few = len(colours.names) <= len(SHAPES) * len(look.palette)
    shape: Any = alt.value("circle")
    if colours.places is not None:
        for record, i in zip(records, shown, strict=True):
            record["class"] = colours.names[colours.places[i]]
        scale = alt.Scale(domain=colours.names, range=[look.of_class(j) for j in range(len(colours.names))])
        k, round_of = len(colours.names), len(look.palette)
        longest = max(map(len, colours.names))
        columns = max(1, min(k, round_of, WIDTH // (LETTER * longest + SYMBOL)))
        legend = alt.Legend(title=None, orient="top", offset=4, symbolOpacity=1, columns=columns)
        colour: Any = alt.Color("class:N", scale=scale, legend=legend if few else None)
        if k > round_of and few:
            forms = [SHAPES[j // round_of] for j in range(k)]
            shape = alt.Shape("class:N", scale=alt.Scale(domain=colours.names, range=forms), legend=legend)
        tooltip.append(alt.Tooltip("class:N", title=title or "class"))
    elif colours.values is not None:
        for record, i in zip(records, shown, strict=True):
            record["value"] = float(colours.values[i])
        ramp = [look.tint(look.second, 0.9), look.tint(look.muted, 0.75), look.tint(look.accent, 1.0)]
        legend = alt.Legend(title=title or "y", orient="top", offset=4, gradientLength=180, gradientThickness=8)
        ends = [float(colours.values.min()), float(colours.values.max())]
        ends = ends if ends[0] < ends[1] else [ends[0] - 0.5, ends[1] + 0.5]
        middle = 0.5 * (ends[0] + ends[1])
        colour = alt.Color("value:Q", scale=alt.Scale(domain=[ends[0], middle, ends[1]], range=ramp), legend=legend)
        tooltip.append(alt.Tooltip("value:Q", title=title or "y", format=".4~g"))
    else:
        colour = alt.value(look.accent)
    size = 42 if len(shown) <= 300 else 26 if len(shown) <= 1000 else 14
    base = alt.Chart(rows(records)).mark_point(
        filled=True, size=size, opacity=0.85, stroke=look.background, strokeWidth=0.6
    )
    return [base.encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)]


def names_among(points: Floats, kept: Ints, colours: Colours, axes: tuple[Any, Any], look: Theme) -> list[Any]:
    """The name of each class at the row nearest to the middle of its rows, where colours alone do not tell."""
    names = colours.names if colours.short is None else colours.short
    most = len(look.palette) * (len(SHAPES) if colours.short is None else 1)
    if colours.places is None or len(names) <= most:
        return []
    where = []
    for place, name in enumerate(names):
        own = kept[colours.places[kept] == place]
        if len(own):
            middle = np.median(points[own], axis=0)
            near = points[own[((points[own] - middle) ** 2).sum(axis=1).argmin()]]
            where.append({"x": float(near[0]), "y": float(near[1]), "class": name})
    base = alt.Chart(rows(where)).encode(x=axes[0], y=axes[1], text="class:N")
    aside = {} if colours.short is None else {"dx": 9, "dy": -9}
    return haloed(base, look, fontSize=12, fontWeight="bold", **aside)


def haloed(base: Any, look: Theme, **style: Any) -> list[Any]:
    """Words that are read over anything."""
    under = base.mark_text(stroke=look.background, strokeWidth=3.5, color=look.background, **style)
    return [under, base.mark_text(color=look.ink, **style)]


def curves(lines: list[Floats], axes: tuple[Any, Any], colours: list[str], **style: Any) -> Any:
    """Lines over the window, each in its colour."""
    records = [
        {"x": float(a), "y": float(b), "line": place, "at": at, "colour": colour}
        for place, (line, colour) in enumerate(zip(lines, colours, strict=True))
        for at, (a, b) in enumerate(line)
    ]
    base = alt.Chart(rows(records)).mark_line(clip=True, strokeJoin="round", **style)
    return base.encode(x=axes[0], y=axes[1], detail="line:N", order="at:Q", color=alt.Color("colour:N", scale=None))
