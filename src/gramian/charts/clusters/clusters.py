"""Clusters over two columns, or over the first two principal directions: rows, structures, and rows that fit none."""

from typing import Any

import altair as alt
import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from gramian.charts.marks.outlines import layers_of, outlines
from gramian.charts.marks.points import some, weighted_quantile
from gramian.charts.marks.projection_plane import View, column_names, complete, draw_alone, sizes
from gramian.charts.marks.scatter import Colours, Ints, answered, axes, dots, kept_rows, names_among, table
from gramian.charts.marks.text import Floats, counted, number, percent
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.kernels.points import is_table
from gramian.rows import Rows

SHARE = 0.01  # of the rows are marked as fitting worst
MOST_MARKS = 300
SURE = 0.9


def draw(model: Any, look: Theme, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
    """Dots in the colours of their clusters, the structures over them, crosses on rows that fit worst.

    Without rows, the structures alone.
    """
    notes: list[str] = []
    structures = list(getattr(model, "structures_", []))
    if X is None:
        alone, size = draw_alone(structures, column_names(model), look, notes), sizes(model)
        words = title(_largest(size, len(size), structures), _facts(model, len(size), size.sum()), "; ".join(notes))
        return alone.properties(title=words)
    values = _numbers(model, X)
    own = _labels(model, X, values)
    kept, weight = kept_rows(len(values), sample_weight)
    kept = complete(values, kept, notes)
    view = View.of(values, column_names(model), kept, weight, structures)
    notes += view.notes
    found = sorted(set(own[kept].tolist()))
    code = np.searchsorted(found, own)
    code = np.where(np.isin(own, found), code, 0)
    colours = Colours([f"cluster {j}" for j in found], code, None, [str(j) for j in found])
    plane = axes(view.names, view.ends)
    layers = dots(view.places, kept, colours, plane, look, notes, title="cluster")

    def colour(place: int) -> str:
        return look.of_class(found.index(place)) if place in found else look.muted

    drawn = outlines(structures, view.places[kept], own[kept], view.ends, view.origin, view.basis)
    layers += layers_of(drawn, colour, plane, look, notes)
    layers += _outlier_layers(model, None if _same_rows(model, values) else X, view.places, kept, plane, look, notes)
    layers += names_among(view.places, kept, colours, plane, look)
    finding = _finding(model, X, values, own, kept, weight, structures)
    if hasattr(model, "predict_proba") and len(structures) != 1:
        notes.append(f"clearly: with {percent(SURE)} or more")
    facts = _facts(model, max(len(structures), getattr(model, "n_clusters_", len(found))), float(weight.sum()))
    words = title(finding, facts, "; ".join(notes))
    return alt.layer(*layers).properties(width=WIDTH, height=view.height, title=words)


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
    kept = model._counted_rows()
    if kept is None:  # points of a kernel: rows, or those of a matrix
        points = model._points
        kept = points.K[points.places] if hasattr(points, "K") else getattr(points, "X", None)
    kept = kept.toarray() if sp.issparse(kept) else kept
    return kept is not None and np.array_equal(values[model._leaf >= 0], kept)


def _outlier_layers(model: Any, X: Any, places: Floats, kept: Ints, plane: Any, look: Theme, notes: list[str]) -> Any:
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
    if structures and not any(each.is_point or each.density for each in structures):
        away = np.min([each.distance(values) for each in structures], axis=0)
        half = float(weighted_quantile(away[kept], np.array([0.5]), weight[kept])[0])
        return f"{words}: half of {counted(total, 'row')} lie within {number(half, 2)} of theirs"
    found = sorted(set(own[kept].tolist()))
    k = max(len(structures), getattr(model, "n_clusters_", 0), len(found))
    return _largest(np.array([weight[own == j].sum() for j in found]), k, structures)


def _largest(size: Floats, k: int, structures: list[Any]) -> str:
    total = float(size.sum())
    if k == 1:
        return f"One {_named(structures, 1).removeprefix('1 ')} for {counted(total, 'row')}"
    return f"{_named(structures, k)}, the largest with {percent(float(size.max()) / total)} of {counted(total, 'row')}"


def _named(structures: list[Any], k: int) -> str:
    """So many lines, or circles; structures where they are of several kinds."""
    if all(each.is_point for each in structures):
        return counted(k, "cluster", "clusters")
    nouns = {each.noun for each in structures}
    return counted(k, *(nouns.pop() if len(nouns) == 1 else ("structure", "structures")))
