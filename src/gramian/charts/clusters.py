"""Clusters over two columns, or over the first two principal directions: rows, structures, and rows that fit none."""

from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from gramian.charts.cloud import (
    HEIGHT,
    STRIP,
    Colours,
    Ints,
    answered,
    axes,
    beside,
    dots,
    kept_rows,
    names_among,
    strip_window,
    table,
    window,
)
from gramian.charts.outlines import across, directions, layers_of, outlines
from gramian.charts.points import some, weighted_quantile
from gramian.charts.shapes import draw_alone, sizes
from gramian.charts.text import Floats, counted, feature_names, labels, number, percent
from gramian.charts.theme import WIDTH, Look, rows, title
from gramian.kernels.points import is_table
from gramian.rows import Rows

SHARE = 0.01  # of the rows are marked as fitting worst
MOST_MARKS = 300
LONGEST = 60  # letters of the name of an axis
NOUNS = {
    "Point": ("cluster", "clusters"),
    "KernelPoint": ("cluster", "clusters"),
    "Line": ("line", "lines"),
    "Plane": ("plane", "planes"),
    "Flat": ("flat", "flats"),
    "Circle": ("circle", "circles"),
    "Ellipse": ("ellipse", "ellipses"),
    "Gaussian": ("Gaussian", "Gaussians"),
    "StudentT": ("t-density", "t-densities"),
}
SURE = 0.9


def draw(model: Any, look: Look, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
    """Dots in the colours of their clusters, the structures over them, crosses on rows that fit worst.

    Without rows, the structures alone.
    """
    notes: list[str] = []
    structures = list(getattr(model, "structures_", []))
    if X is None:
        alone, size = draw_alone(model, look, notes), sizes(model)
        words = title(_largest(size, structures), _facts(model, len(size), size.sum()), "; ".join(notes))
        return alone.properties(title=words)
    values = _numbers(model, X)
    own = _labels(model, X, values)
    kept, weight = kept_rows(len(values), sample_weight)
    whole = np.flatnonzero(np.isfinite(values).all(axis=1))
    if len(whole) < len(values):
        complete = np.intersect1d(kept, whole)
        notes.append(f"rows with missing numbers are not drawn: {len(kept) - len(complete):,}")
        kept = complete
        if not len(kept):
            raise ValueError("Every row of X has missing numbers: none has a place on the chart 'clusters'.")
    names = labels(feature_names(model), LONGEST) if hasattr(model, "n_features_in_") else [f"x{j}" for j in range(2)]
    places, axis_names, origin, basis = _plane(values, names, kept, weight, structures)
    notes += [] if basis is None else [f"{_view(structures)} of {values.shape[1]} columns"]
    found = sorted(set(own[kept].tolist()))
    code = np.searchsorted(found, own)
    code = np.where(np.isin(own, found), code, 0)
    colours = Colours([f"cluster {j}" for j in found], code, None, [str(j) for j in found])
    lone = axis_names[1] is None
    ends = strip_window(places[kept, 0], 1.3) if lone else window(places[kept], equal=True)
    plane = axes(list(axis_names), ends)
    layers = dots(places, kept, colours, plane, look, notes, title="cluster")

    def colour(place: int) -> str:
        return look.of_class(found.index(place)) if place in found else look.muted

    drawn = outlines(structures, places[kept], own[kept], ends, origin, basis)
    layers += layers_of(drawn, colour, plane, look, notes)
    layers += _outlier_layers(model, X, places, kept, plane, look, notes)
    layers += names_among(places, kept, colours, plane, look)
    finding = _finding(model, X, values, own, kept, weight, structures)
    if hasattr(model, "predict_proba") and len(structures) != 1:
        notes.append(f"clearly: with {percent(SURE)} or more")
    facts = _facts(model, len(structures) or len(found), float(weight.sum()))
    height = STRIP if lone else HEIGHT
    return alt.layer(*layers).properties(width=WIDTH, height=height, title=title(finding, facts, "; ".join(notes)))


def _facts(model: Any, k: int, total: float) -> str:
    facts = [type(model).__name__, counted(k, "cluster"), counted(total, "row")]
    facts += [f"objective {number(model.objective_, 4)}"] if hasattr(model, "objective_") else []
    return " · ".join(facts)


def _numbers(model: Any, X: Any) -> Floats:
    """The rows; missing numbers stay where the model takes them."""
    if not isinstance(X, Rows) and not is_table(X):
        raise ValueError(
            "The chart 'clusters' has columns of numbers as its axes, and X has none: a kernel compares its points as "
            'they are. Take labels_, or the map gm.PCA(2, kernel=…).fit(X).chart("embedding", X, labels).'
        )
    return table(X, missing=bool(get_tags(model).input_tags.allow_nan))


def _labels(model: Any, X: Any, values: Floats) -> Ints:
    n = len(values)
    if hasattr(model, "predict") and not _same_rows(model, values):
        return answered(model.predict, X).astype(np.int64)
    own = np.asarray(model.labels_).astype(np.int64)
    if len(own) != n:
        raise ValueError(
            f"{type(model).__name__} has labels of the {len(own)} rows of its fit alone, and X has {n}: give those."
        )
    return own


def _same_rows(model: Any, values: Floats) -> bool:
    """Whether these are the rows of a tree of clusters, which may lie nearer to another cluster than to their own."""
    if not hasattr(model, "merges_") or len(model.labels_) != len(values):
        return False
    kept = model._table()
    kept = kept.toarray() if sp.issparse(kept) else kept
    return kept is not None and np.array_equal(values[model._leaf >= 0], kept)


def _plane(
    values: Floats, names: list[str], kept: Ints, weight: Floats, structures: list[Any]
) -> tuple[Floats, tuple[str, str | None], Floats, Any]:
    """Rows in the plane, the names of its axes, its origin, and its basis (2, d) or None for the columns themselves."""
    d = values.shape[1]
    if d == 1:
        return beside(values[:, 0]), (names[0], None), np.zeros(2), None
    if d == 2:
        return values, (names[0], names[1]), np.zeros(2), None
    some = weight[kept]
    mean = some @ values[kept] / some.sum()
    away = np.sqrt(some)[:, None] * (values[kept] - mean)
    basis = directions(structures, away)
    first = "first direction across the planes" if across(structures) else "first principal direction"
    return (values - mean) @ basis.T, (first, "second"), mean, basis


def _view(structures: list[Any]) -> str:
    return "two directions across the planes" if across(structures) else "the first two principal directions"


def _outlier_layers(model: Any, X: Any, places: Floats, kept: Ints, plane: Any, look: Look, notes: list[str]) -> Any:
    if not hasattr(model, "outliers"):
        return []
    out = answered(model.outliers, X, share=SHARE)
    where = kept[out[kept]]
    if not len(where) or len(where) > 0.2 * len(kept):
        return []
    shown = where[some(len(where), MOST_MARKS)]
    records = [{"x": float(a), "y": float(b)} for a, b in places[shown]]
    cross = alt.Chart(rows(records)).mark_point(shape="cross", angle=45, size=90, filled=True, opacity=1)
    notes.append(f"crossed: {counted(len(where), 'row')} no better than the {percent(SHARE)} that fit worst")
    return [
        cross.encode(
            x=plane[0], y=plane[1], color=alt.value(look.ink), stroke=alt.value(look.background),
            strokeWidth=alt.value(1.0),
        )
    ]  # fmt: skip


def _finding(model: Any, X: Any, values: Floats, own: Ints, kept: Ints, weight: Floats, structures: list[Any]) -> str:
    total = float(weight.sum())
    words = _named(structures, len(structures) or len(set(own[kept].tolist())))
    if hasattr(model, "predict_proba") and len(structures) != 1:
        sure = float(weight[answered(model.predict_proba, X).max(axis=1) >= SURE].sum()) / total
        return f"{words}: {percent(sure)} of {counted(total, 'row')} clearly belong to one"
    nouns = {type(each).__name__ for each in structures}
    if (
        structures
        and nouns.isdisjoint({"Point", "KernelPoint", "Gaussian", "StudentT"})
        and all(hasattr(each, "distance") for each in structures)
    ):
        away = np.min([each.distance(values) for each in structures], axis=0)
        half = float(weighted_quantile(away[kept], np.array([0.5]), weight[kept])[0])
        return f"{words}: half of {counted(total, 'row')} lie within {number(half, 2)} of theirs"
    return _largest(np.array([weight[own == j].sum() for j in sorted(set(own[kept].tolist()))]), structures)


def _largest(size: Floats, structures: list[Any]) -> str:
    k, total = len(structures) or len(size), float(size.sum())
    if k == 1:
        return f"One {_named(structures, 1).removeprefix('1 ')} for {counted(total, 'row')}"
    return f"{_named(structures, k)}, the largest with {percent(float(size.max()) / total)} of {counted(total, 'row')}"


def _named(structures: list[Any], k: int) -> str:
    """So many lines, or circles; structures where they are of several kinds."""
    nouns = {type(each).__name__ for each in structures}
    other = ("structure", "structures") if nouns else ("cluster", "clusters")
    return counted(k, *(NOUNS.get(next(iter(nouns)), other) if len(nouns) == 1 else other))
