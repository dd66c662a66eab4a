"""Rows on a map of two axes, coloured by their classes or by a number."""

from typing import Any

import altair as alt
import numpy as np
from scipy.spatial import cKDTree

from gramian.charts.marks.scatter import (
    HEIGHT,
    STRIP,
    Colours,
    answered,
    axes,
    beside,
    clusters_of,
    colours_of,
    dots,
    kept_rows,
    names_among,
    strip_window,
    window,
)
from gramian.charts.marks.text import Floats, counted, number, percent
from gramian.charts.theme import WIDTH, Theme, title
from gramian.rows import Rows

BARE = ("TSNE",)  # whose axes mean nothing


def draw(model: Any, look: Theme, X: Any = None, y: Any = None, sample_weight: Any = None) -> Any:
    """The first two axes of the map of the fit, or of the rows given."""
    places = _places(model, X)
    colours = colours_of(y, len(places)) if y is not None else _own_colours(model, X)
    kept, _ = kept_rows(len(places), sample_weight)
    r = places.shape[1]
    lone = r == 1
    flat = beside(places[:, 0]) if lone else places[:, :2]
    notes = [f"the first 2 of {r} axes"] if r > 2 else []
    if hasattr(model, "cut_value_") and r > 2:
        flat, notes = _turned(places), [f"the two of {r} dimensions in which the rows of the eigenvectors vary most"]
    ends = strip_window(flat[kept, 0]) if lone else window(flat[kept], equal=True)
    plane = axes(_names(model, r), ends, bare=type(model).__name__ in BARE)
    layers = dots(flat, kept, colours, plane, look, notes)
    layers += names_among(flat, kept, colours, plane, look)
    agreement = None if y is None else _agreement(places[kept], colours, kept)
    finding = _finding(model, agreement, len(colours.names))
    facts = " · ".join([type(model).__name__, *_facts(model), counted(len(kept), "row")])
    return alt.layer(*layers).properties(
        width=WIDTH, height=STRIP if lone else HEIGHT, title=title(finding, facts, "; ".join([*_small(model), *notes]))
    )


def _places(model: Any, X: Any) -> Floats:
    if X is None:
        return np.asarray(model.embedding_, dtype=np.float64)
    if hasattr(model, "transform"):
        found = answered(model.transform, X).astype(np.float64)
        return found.reshape(len(found), -1)
    own = np.asarray(model.embedding_, dtype=np.float64)
    n = X.n if isinstance(X, Rows) else X.shape[0] if hasattr(X, "shape") else len(X)
    if n != len(own):
        raise ValueError(
            f"This {type(model).__name__} has no place for new rows, and X has {n} where the fit had {len(own)}: leave "
            "X out."
        )
    return own


def _own_colours(model: Any, X: Any) -> Colours:
    """Clusters of the fit, where the map is of their graph."""
    if X is not None or not hasattr(model, "cut_value_"):
        return Colours([])
    own = np.asarray(model.labels_)[model._counted]
    return clusters_of(own, model.n_clusters_)


def _turned(places: Floats) -> Floats:
    """Along the two principal directions, each pointing to its farthest row."""
    away = places - places.mean(axis=0)
    found = away @ np.linalg.svd(away, full_matrices=False)[2][:2].T
    far = np.abs(found).argmax(axis=0)
    return np.asarray(found * np.where(found[far, [0, 1]] < 0, -1.0, 1.0))


def _names(model: Any, r: int) -> list[str | None]:
    if type(model).__name__ in BARE:
        return [None, None]
    if hasattr(model, "cut_value_") and r > 2:
        return ["first direction of the eigenvectors", "second"]
    kind = "component" if hasattr(model, "variances_") else "eigenvector" if hasattr(model, "cut_value_") else "axis"
    shares = np.asarray(getattr(model, "variance_shares_", []))
    found = [f"{kind} {j + 1}" + (f" · {percent(float(shares[j]))}" if j < len(shares) else "") for j in range(2)]
    return [found[0], found[1] if r > 1 else None]


def _agreement(places: Floats, colours: Colours, kept: Any) -> float | None:
    """The share of rows whose nearest other on the map is of their class."""
    if colours.places is None or len(places) < 2:
        return None
    own = colours.places[kept]
    near = cKDTree(places).query(places, k=2)[1]
    other = np.where(near[:, 0] == np.arange(len(places)), near[:, 1], near[:, 0])
    return float((own[other] == own).mean())


def _finding(model: Any, agreement: float | None, k: int) -> str:
    if agreement is not None and k > 1:
        return f"The nearest neighbour on the map is of the same class for {percent(agreement)} of the rows"
    if hasattr(model, "relative_stress_"):
        if model.relative_stress_ < 1e-6:
            return "Distances on the map are those of the rows"
        return f"Distances on the map are off by {percent(model.relative_stress_)}"
    if hasattr(model, "variance_shares_"):
        shares = np.asarray(model.variance_shares_)
        first = "One component holds" if len(shares) == 1 else "The first two components hold"
        return f"{first} {percent(float(shares[:2].sum()))} of the variance"
    if getattr(model, "n_parts_", 1) > 1:
        return f"The rows fall into {model.n_parts_} parts, which the map only tells apart"
    if hasattr(model, "cut_value_"):
        found = counted(model.n_clusters_, "cluster")
        if model.n_clusters_ == 1:
            return "All rows are one cluster"
        if model.cut_value_ == 0:
            return f"{found}, between which the graph has nothing"
        return f"{found} by a cut of {number(model.cut_value_)}, where none is below {number(model.bound_)}"
    if hasattr(model, "kl_"):
        return f"Neighbours stay together up to a divergence of {number(model.kl_)}"
    if hasattr(model, "reconstruction_error_"):
        return f"Mixtures of neighbours are kept up to an error of {number(model.reconstruction_error_, 2)}"
    return "The rows on a map"


def _facts(model: Any) -> list[str]:
    found = [f"method {model.method}"] if isinstance(getattr(model, "method", None), str) else []
    for name, word in (
        ("perplexity", "perplexity {}"),
        ("n_neighbors", "{} neighbours"),
        ("relative_stress_", "relative stress {}"),
        ("kl_", "divergence {}"),
        ("reconstruction_error_", "error {}"),
    ):
        value = getattr(model, name, None)
        if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
            found.append(word.format(number(float(value))))
    return found


def _small(model: Any) -> list[str]:
    if type(model).__name__ in BARE:
        return ["who is near whom is what the map shows; distances between groups, their sizes and axes mean nothing"]
    return []
