"""Clusters over two columns or the first two principal directions: rows, structures and outliers."""

import numpy as np
from sklearn.utils import get_tags

from gramian._core.types import Chart, Estimator, Floats, Ints, Table, Values, Weights
from gramian.charts.declaration import ChartKind, has, is_unsupervised
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.outlines import layers_of, outlines
from gramian.charts.marks.points import sample, weighted_quantile
from gramian.charts.marks.projection_plane import View, column_names, complete, draw_alone, sizes
from gramian.charts.marks.scatter import Colours, answered, axes, dots, kept_rows, names_among, table
from gramian.charts.marks.text import counted, number, percent
from gramian.charts.theme import WIDTH, Theme, rows, title
from gramian.kernels.points import is_table
from gramian.rows import Rows
from gramian.structures import Structure

OUTLIER_SHARE = 0.01  # of the rows
MAX_OUTLIERS = 300
MAX_OUTLIER_SHARE = 0.2  # above which they are not marked
CLEAR = 0.9  # probability of a clear assignment


def applies(model: Estimator, data: bool) -> bool:
    """Applies to clusterings with data, and without to those whose structures have positions among the columns."""
    if not (is_unsupervised(model) and has(model, "labels_")):
        return False
    return data or (has(model, "n_features_in_", "structures_") and _have_positions(model.structures_))


def _have_positions(structures: list[Structure]) -> bool:
    return bool(structures) and all(has(each, "center_") or has(each, "mean_") for each in structures)


CHART = ChartKind(name="clusters", of="rows", order=150, applies=applies, order_with_data=50, target="none")


def draw(
    model: Estimator, theme: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """Dots in the colours of their clusters, the structures over them, crosses on outliers.

    Without rows, the structures alone.
    """
    notes: list[str] = []
    structures = list(model.structures_) if has(model, "structures_") else []
    if X is None:
        alone, size = draw_alone(structures, column_names(model), theme, notes), sizes(model)
        heading = _largest(size, len(size), structures)
        return alone.properties(title=title(heading, _facts(model, len(size), size.sum()), "; ".join(notes)))
    values = _numbers(model, X)
    own = _labels(model, X, values)
    kept, weight = kept_rows(len(values), sample_weight)
    kept = complete(values, kept, notes)
    view = View.of(values, column_names(model), kept, weight, structures)
    notes += view.notes
    present = sorted(set(own[kept].tolist()))
    code = np.searchsorted(present, own)
    code = np.where(np.isin(own, present), code, 0)
    colours = Colours([f"cluster {j}" for j in present], code, None, [str(j) for j in present])
    plane = axes(view.names, view.ends)
    layers = dots(view.places, kept, colours, plane, theme, notes, title="cluster")

    def colour(place: int) -> str:
        return theme.of_class(present.index(place)) if place in present else theme.muted

    drawn = outlines(structures, view.places[kept], own[kept], view.ends, view.origin, view.basis)
    layers += layers_of(drawn, colour, plane, theme, notes)
    layers += _outlier_layers(model, None if _same_rows(model, values) else X, view.places, kept, plane, theme, notes)
    layers += names_among(view.places, kept, colours, plane, theme)
    finding = _finding(model, X, values, own, kept, weight, structures)
    if has(model, "predict_proba") and len(structures) != 1:
        notes.append(f"clearly: with probability {percent(CLEAR)} or more")
    facts = _facts(model, _n_clusters(model, structures, len(present)), float(weight.sum()))
    return alt.layer(*layers).properties(width=WIDTH, height=view.height, title=title(finding, facts, "; ".join(notes)))


def _facts(model: Estimator, k: int, total: float) -> str:
    facts = [type(model).__name__, counted(k, "cluster"), counted(total, "row")]
    facts += [f"objective {number(model.objective_, 4)}"] if has(model, "objective_") else []
    return " · ".join(facts)


def _n_clusters(model: Estimator, structures: list[Structure], present: int) -> int:
    return max(len(structures), model.n_clusters_ if has(model, "n_clusters_") else 0, present)


def _numbers(model: Estimator, X: Table) -> Floats:
    """The rows; missing numbers are kept where the model allows them."""
    if not isinstance(X, Rows) and not is_table(X):
        raise ValueError(
            "The chart 'clusters' has columns of numbers as its axes, and the points of this kernel have no columns. "
            'Use labels_, or the embedding gm.PCA(2, kernel=…).fit(X).chart("embedding", X, labels).'
        )
    return table(X, missing=bool(get_tags(model).input_tags.allow_nan))


def _labels(model: Estimator, X: Table, values: Floats) -> Ints:
    n = len(values)
    if has(model, "predict") and not _same_rows(model, values):
        return answered(model.predict, X).astype(np.int64)
    own = np.asarray(model.labels_).astype(np.int64)
    if len(own) != n:
        raise ValueError(
            f"{type(model).__name__} has labels of the {len(own)} rows of its fit alone, and X has {n}: "
            "give the rows of the fit."
        )
    return own


def _same_rows(model: Estimator, values: Floats) -> bool:
    """Whether these are the training rows of a hierarchy, which may be nearer to another cluster than their own."""
    return has(model, "was_fitted_to") and bool(model.was_fitted_to(values))


def _outlier_layers(
    model: Estimator, X: Table, places: Floats, kept: Ints, plane: tuple[Chart, Chart], theme: Theme, notes: list[str]
) -> Chart:
    if not has(model, "outliers"):
        return []
    outlier = answered(model.outliers, X, share=OUTLIER_SHARE)
    outliers = kept[outlier[kept]]
    if not len(outliers) or len(outliers) > MAX_OUTLIER_SHARE * len(kept):
        return []
    shown = outliers[sample(len(outliers), MAX_OUTLIERS)]
    records = [{"x": float(a), "y": float(b)} for a, b in places[shown]]
    cross = alt.Chart(rows(records)).mark_point(shape="cross", angle=45, size=90, filled=True, opacity=1)
    notes.append(f"× the {percent(OUTLIER_SHARE)} of rows that fit worst ({counted(len(outliers), 'outlier')})")
    return [
        cross.encode(
            x=plane[0], y=plane[1], color=alt.value(theme.ink), stroke=alt.value(theme.background),
            strokeWidth=alt.value(1.0),
        )
    ]  # fmt: skip


def _finding(
    model: Estimator, X: Table, values: Floats, own: Ints, kept: Ints, weight: Floats, structures: list[Structure]
) -> str:
    total = float(weight.sum())
    clusters = _named(structures, len(structures) or len(set(own[kept].tolist())))
    if has(model, "predict_proba") and len(structures) != 1:
        clear = float(weight[answered(model.predict_proba, X).max(axis=1) >= CLEAR].sum()) / total
        return f"{clusters}: {percent(clear)} of {counted(total, 'row')} clearly belong to one"
    if structures and not any(each.is_point or each.density for each in structures):
        distance = np.min([each.distance(values) for each in structures], axis=0)
        median = float(weighted_quantile(distance[kept], np.array([0.5]), weight[kept])[0])
        return f"{clusters}: median distance {number(median, 2)} of {counted(total, 'row')}"
    present = sorted(set(own[kept].tolist()))
    size = np.array([weight[own == j].sum() for j in present])
    return _largest(size, _n_clusters(model, structures, len(present)), structures)


def _largest(size: Floats, k: int, structures: list[Structure]) -> str:
    total = float(size.sum())
    if k == 1:
        return f"One {_named(structures, 1).removeprefix('1 ')} for {counted(total, 'row')}"
    return f"{_named(structures, k)}, the largest with {percent(float(size.max()) / total)} of {counted(total, 'row')}"


def _named(structures: list[Structure], k: int) -> str:
    """The number of clusters with the noun of their structures; "structures" for several kinds."""
    if all(each.is_point for each in structures):
        return counted(k, "cluster", "clusters")
    nouns = {each.noun for each in structures}
    return counted(k, *(nouns.pop() if len(nouns) == 1 else ("structure", "structures")))
