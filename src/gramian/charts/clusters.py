"""Clusters over two columns, or over the first two principal directions: rows, structures, and rows that fit none."""

from typing import Any

import altair as alt
import numpy as np

from gramian.charts.cloud import HEIGHT, Colours, Ints, answered, axes, curves, dots, kept_rows, table, window
from gramian.charts.outlines import Outline, outlines
from gramian.charts.points import some, weighted_quantile
from gramian.charts.text import Floats, counted, feature_names, labels, number, percent
from gramian.charts.theme import WIDTH, Look, rows, title

SHARE = 0.01  # of the rows are marked as fitting worst
MOST_MARKS = 300
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
    """Dots in the colours of their clusters, the structures over them, crosses on rows that fit worst."""
    values = table(X)
    own = _labels(model, X, len(values))
    kept, weight = kept_rows(len(values), sample_weight)
    names = labels(feature_names(model)) if hasattr(model, "n_features_in_") else [f"x{j}" for j in range(2)]
    places, axis_names, origin, basis = _plane(values, names, weight)
    notes: list[str] = [] if basis is None else [f"the first two principal directions of {values.shape[1]} columns"]
    found = sorted(set(own[kept].tolist()))
    code = np.searchsorted(found, own)
    code = np.where(np.isin(own, found), code, 0)
    colours = Colours([f"cluster {j}" for j in found], code)
    ends = window(places[kept], equal=True)
    plane = axes(list(axis_names), ends)
    layers = dots(places, kept, colours, plane, look, notes, title="cluster")
    structures = list(getattr(model, "structures_", []))
    drawn = outlines(structures, places, own, ends, origin, basis)
    layers += _structure_layers(drawn, found, plane, look, notes)
    layers += _outlier_layers(model, X, places, kept, plane, look, notes)
    facts = [type(model).__name__, f"{len(structures) or len(found)} clusters", f"{weight.sum():,.10g} rows"]
    facts += [f"objective {number(model.objective_, 4)}"] if hasattr(model, "objective_") else []
    finding = _finding(model, X, own, kept, weight, structures)
    notes += [f"clearly: with {percent(SURE)} or more"] if hasattr(model, "predict_proba") else []
    return alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title(finding, " · ".join(facts), "; ".join(notes))
    )


def _labels(model: Any, X: Any, n: int) -> Ints:
    if hasattr(model, "predict"):
        return answered(model.predict, X).astype(np.int64)
    own = np.asarray(model.labels_).astype(np.int64)
    if len(own) != n:
        raise ValueError(
            f"{type(model).__name__} has labels of the {len(own)} rows of its fit alone, and X has {n}: give those."
        )
    return own


def _plane(values: Floats, names: list[str], weight: Floats) -> tuple[Floats, tuple[str, str | None], Floats, Any]:
    """Rows in the plane, the names of its axes, its origin, and its basis (2, d) or None for the columns themselves."""
    n, d = values.shape
    if d == 1:
        return np.column_stack([values, np.zeros(n)]), (names[0], None), np.zeros(2), None
    if d == 2:
        return values, (names[0], names[1]), np.zeros(2), None
    mean = weight @ values / weight.sum()
    _, _, Vt = np.linalg.svd(np.sqrt(weight)[:, None] * (values - mean), full_matrices=False)
    basis = np.vstack([Vt[:2], np.zeros((max(2 - len(Vt), 0), d))])
    largest = np.abs(basis).argmax(axis=1)
    basis = basis * np.where(basis[[0, 1], largest] < 0, -1.0, 1.0)[:, None]
    return (values - mean) @ basis.T, ("first principal direction", "second"), mean, basis


def _structure_layers(drawn: list[Outline], found: list[int], plane: Any, look: Look, notes: list[str]) -> list[Any]:
    def colour(place: int) -> str:
        return look.of_class(found.index(place)) if place in found else look.muted

    layers = []
    for dashed in (True, False):
        lines = [(line, colour(each.place)) for each in drawn for line in (each.dashed if dashed else each.solid)]
        if lines:
            style = {"strokeWidth": 1.4, "strokeDash": [5, 4]} if dashed else {"strokeWidth": 2.4}
            under = {"strokeWidth": 3.6, "opacity": 0.7}
            if not dashed:  # a rim, so that lines are seen over dots of their own colour
                layers.append(curves([line for line, _ in lines], plane, [look.background] * len(lines), **under))
            layers.append(curves([line for line, _ in lines], plane, [c for _, c in lines], **style))
    marks = [
        {"x": float(each.center[0]), "y": float(each.center[1]), "colour": colour(each.place)}
        for each in drawn
        if each.center is not None
    ]
    if marks:
        base = alt.Chart(rows(marks)).encode(x=plane[0], y=plane[1])
        dot = base.mark_point(shape="diamond", size=150, filled=True, opacity=1, stroke=look.ink, strokeWidth=1.6)
        layers.append(dot.encode(fill=alt.Color("colour:N", scale=None)))
        notes.append("diamonds: centres")
    if any(each.dashed for each in drawn):
        notes.append("lines: one and two (dashed) standard deviations")
    return layers


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


def _finding(model: Any, X: Any, own: Ints, kept: Ints, weight: Floats, structures: list[Any]) -> str:
    sizes = np.array([weight[own == j].sum() for j in sorted(set(own[kept].tolist()))])
    total = float(weight.sum())
    nouns = {type(each).__name__ for each in structures}
    one, more = NOUNS.get(next(iter(nouns)), ("structure", "structures")) if len(nouns) == 1 else ("", "")
    if nouns and not one:
        one, more = "structure", "structures"
    k = len(structures) or len(sizes)
    words = counted(k, one or "cluster", more or "clusters")
    if hasattr(model, "predict_proba"):
        sure = float(weight[answered(model.predict_proba, X).max(axis=1) >= SURE].sum()) / total
        return f"{words}: {percent(sure)} of {counted(total, 'row')} clearly belong to one"
    if (
        structures
        and nouns.isdisjoint({"Point", "KernelPoint", "Gaussian", "StudentT"})
        and all(hasattr(each, "distance") for each in structures)
    ):
        away = np.min([each.distance(table(X)) for each in structures], axis=0)
        half = float(weighted_quantile(away[kept], np.array([0.5]), weight[kept])[0])
        return f"{words}: half of {counted(total, 'row')} lie within {number(half, 2)} of theirs"
    if k == 1:
        return f"One {one or 'cluster'} for {counted(total, 'row')}"
    return f"{words}, the largest with {percent(float(sizes.max()) / total)} of {counted(total, 'row')}"
