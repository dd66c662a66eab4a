"""Scatter plots: reading rows, the window, and colours by class, by cluster or by a number."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from gramian._core.types import Chart, Floats, Ints, Record, Table, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.axis import linear_axis
from gramian.charts.marks.points import dot_size, sample
from gramian.charts.marks.text import labels, shown_text
from gramian.charts.theme import LEFT, WIDTH, Theme, rows
from gramian.rows import Rows, scan

HEIGHT = 400
STRIP = 130  # the height of a chart of one axis
MAX_POINTS = 2000
PAD = 0.06
MAX_ASPECT = 3.0  # of the ranges of both axes, up to which they have equal units
SHAPES = ("circle", "triangle-up", "square")  # of classes whose colours repeat
LETTER_WIDTH, SYMBOL_WIDTH = 7, 26  # pixels of a legend
MAX_CLASSES = 20  # distinct integers up to which a target has classes


@dataclass(frozen=True, eq=False)
class Colours:
    """The colours of dots: classes by their indices, or a number; neither for dots of one colour.

    `short` are names to be written among the dots where colours repeat.
    """

    names: list[str]
    places: Ints | None = None
    values: Floats | None = None
    short: list[str] | None = None


def table(X: Table, *, missing: bool = False) -> Floats:
    """All rows as numbers; with `missing` some may be NaN."""
    source = X if isinstance(X, Rows) else scan(X)
    if not missing:
        source.refuse_nonfinite()
    blocks = source.sum(lambda block: [block.X.toarray() if sp.issparse(block.X) else block.X])
    return np.concatenate(blocks).astype(np.float64)


def answered(method: Any, X: Table, **options: Any) -> Any:
    """The result of a method of a model for rows; `Rows` are passed as an array, which every model accepts."""
    if not isinstance(X, Rows):
        return np.asarray(method(X, **options))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(method(X.collect().X, **options))


def colours_of(y: Values | None, n: int) -> Colours:
    """Colours of a target: classes where it has strings or few distinct integers, else a number."""
    if y is None:
        return Colours([])
    native = nw.from_native(y, pass_through=True, allow_series=True, series_only=True)
    target = np.asarray(native.to_numpy() if isinstance(native, nw.Series) else y)
    target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
    if target.shape != (n,):
        raise ValueError(f"y has shape {target.shape}; the rows to be coloured are {n}: give one label or number each.")
    if target.dtype.kind in "fiu":
        values = target.astype(np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"y is missing or infinite at row {int((~np.isfinite(values)).argmax())}: drop such rows.")
        if (values != np.round(values)).any() or len(np.unique(values)) > MAX_CLASSES:
            return Colours([], None, values)
    classes, places = np.unique(target.astype(str) if target.dtype.kind == "O" else target, return_inverse=True)
    return Colours(labels(classes.tolist()), places.reshape(-1))


def clusters_of(labels: Ints, k: int) -> Colours:
    """Colours of clusters 0 … k − 1."""
    return Colours([f"cluster {j}" for j in range(k)], labels, None, [str(j) for j in range(k)])


def window(points: Floats, *, equal: bool, pad: float = PAD) -> Floats:
    """(low, high) of each axis around the points; in equal units where their ranges are similar."""
    low, high = points.min(axis=0), points.max(axis=0)
    gap = pad * (high - low)
    gap = np.where(gap > 0, gap, np.where(high > low, 0.0, max(float((high - low).max()), 1.0) * 0.5))
    ends = np.column_stack([low - gap, high + gap])
    size = np.ptp(ends, axis=1)
    if equal and size.max() <= MAX_ASPECT * size.min():
        unit = max(size[0] / WIDTH, size[1] / HEIGHT)
        middle, half = ends.mean(axis=1), 0.5 * unit * np.array([WIDTH, HEIGHT])
        ends = np.column_stack([middle - half, middle + half])
    return ends


def beside(x: Floats) -> Floats:
    """Points of one axis with jittered heights between −½ and ½, so that equal ones are visible."""
    heights = np.arange(len(x)) * 0.618034 % 1.0 - 0.5
    return np.column_stack([x, heights])


def strip_window(x: Floats, high: float = 0.8) -> Floats:
    """The window of a chart of one axis, with room above the points up to `high`."""
    return np.vstack([window(np.column_stack([x, x]), equal=False)[0], [-0.8, high]])


def axes(names: Sequence[str | None], ends: Floats, *, bare: bool = False) -> tuple[Any, Any]:
    """Both axes over a window, or one if the second has no name; bare without ticks, where these have no meaning."""
    encodings = []
    for kind, field, name, (low, high) in ((alt.X, "x", names[0], ends[0]), (alt.Y, "y", names[1], ends[1])):
        options: dict[str, Any] = {"minExtent": LEFT} if field == "y" and not bare else {}
        options |= {"labels": False, "ticks": False} if bare else {}
        hidden = field == "y" and name is None and not bare
        encodings.append(
            kind(
                f"{field}:Q",
                scale=alt.Scale(domain=[float(low), float(high)], nice=False, zero=False),
                axis=None if hidden else linear_axis(name, float(low), float(high), grid=False, tickCount=7, **options),
            )
        )
    return encodings[0], encodings[1]


def kept_rows(n: int, sample_weight: Weights) -> tuple[Ints, Floats]:
    """Rows of positive weight, and the weights of all."""
    weight = weights_or_ones(sample_weight, n)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight has shape {weight.shape}; the rows are {n}: give one weight each.")
    if not (weight > 0).any():
        raise ValueError("sample_weight is 0 everywhere: there is nothing to draw.")
    return np.flatnonzero(weight > 0), weight


def dots(
    points: Floats,
    kept: Ints,
    colours: Colours,
    axes: tuple[Chart, Chart],
    theme: Theme,
    notes: list[str],
    title: str = "",
) -> list[Chart]:
    """The rows, and a legend of their colours where these are few."""
    shown = kept[sample(len(kept), MAX_POINTS)]
    notes += shown_text(len(shown), len(kept))
    x, y = axes
    records: list[Record] = [{"x": float(points[i, 0]), "y": float(points[i, 1]), "row": int(i)} for i in shown]
    tooltip = [alt.Tooltip("row:Q", title="row")]
    with_legend = len(colours.names) <= len(SHAPES) * len(theme.palette)
    shape: Chart = alt.value("circle")
    if colours.places is not None:
        for record, i in zip(records, shown, strict=True):
            record["class"] = colours.names[colours.places[i]]
        scale = alt.Scale(domain=colours.names, range=[theme.of_class(j) for j in range(len(colours.names))])
        k, n_colours = len(colours.names), len(theme.palette)
        longest = max(map(len, colours.names))
        columns = max(1, min(k, n_colours, WIDTH // (LETTER_WIDTH * longest + SYMBOL_WIDTH)))
        legend = alt.Legend(title=None, orient="top", offset=4, symbolOpacity=1, columns=columns)
        colour: Chart = alt.Color("class:N", scale=scale, legend=legend if with_legend else None)
        if k > n_colours and with_legend:
            shapes = [SHAPES[j // n_colours] for j in range(k)]
            shape = alt.Shape("class:N", scale=alt.Scale(domain=colours.names, range=shapes), legend=legend)
        tooltip.append(alt.Tooltip("class:N", title=title or "class"))
    elif colours.values is not None:
        for record, i in zip(records, shown, strict=True):
            record["value"] = float(colours.values[i])
        ramp = [theme.tint(theme.second, 0.9), theme.tint(theme.muted, 0.75), theme.tint(theme.accent, 1.0)]
        legend = alt.Legend(title=title or "y", orient="top", offset=4, gradientLength=180, gradientThickness=8)
        ends = [float(colours.values.min()), float(colours.values.max())]
        ends = ends if ends[0] < ends[1] else [ends[0] - 0.5, ends[1] + 0.5]
        middle = 0.5 * (ends[0] + ends[1])
        colour = alt.Color("value:Q", scale=alt.Scale(domain=[ends[0], middle, ends[1]], range=ramp), legend=legend)
        tooltip.append(alt.Tooltip("value:Q", title=title or "y", format=".4~g"))
    else:
        colour = alt.value(theme.accent)
    base = alt.Chart(rows(records)).mark_point(
        filled=True, size=dot_size(len(shown)), opacity=0.85, stroke=theme.background, strokeWidth=0.6
    )
    return [base.encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)]


def names_among(points: Floats, kept: Ints, colours: Colours, axes: tuple[Chart, Chart], theme: Theme) -> list[Chart]:
    """The name of each class at the row nearest to its median, where colours are not distinct."""
    names = colours.names if colours.short is None else colours.short
    max_distinct = len(theme.palette) * (len(SHAPES) if colours.short is None else 1)
    if colours.places is None or len(names) <= max_distinct:
        return []
    marks = []
    for place, name in enumerate(names):
        own = kept[colours.places[kept] == place]
        if len(own):
            middle = np.median(points[own], axis=0)
            nearest = points[own[((points[own] - middle) ** 2).sum(axis=1).argmin()]]
            marks.append({"x": float(nearest[0]), "y": float(nearest[1]), "class": name})
    base = alt.Chart(rows(marks)).encode(x=axes[0], y=axes[1], text="class:N")
    offset = {} if colours.short is None else {"dx": 9, "dy": -9}
    return haloed(base, theme, fontSize=12, fontWeight="bold", **offset)


def haloed(base: Chart, theme: Theme, **style: Any) -> list[Chart]:
    """Text with a halo in the colour of the background."""
    under = base.mark_text(stroke=theme.background, strokeWidth=3.5, color=theme.background, **style)
    return [under, base.mark_text(color=theme.ink, **style)]


def curves(lines: list[Floats], axes: tuple[Chart, Chart], colours: list[str], **style: Any) -> Chart:
    """Lines over the window, each in its colour."""
    records = [
        {"x": float(a), "y": float(b), "line": place, "at": at, "colour": colour}
        for place, (line, colour) in enumerate(zip(lines, colours, strict=True))
        for at, (a, b) in enumerate(line)
    ]
    base = alt.Chart(rows(records)).mark_line(clip=True, strokeJoin="round", **style)
    return base.encode(x=axes[0], y=axes[1], detail="line:N", order="at:Q", color=alt.Color("colour:N", scale=None))
