"""An embedding of the rows in two dimensions, coloured by their classes or by a number."""

from numbers import Real

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils.validation import _num_samples

from gramian._core.fitted.charted import Drawn
from gramian._core.text import without_round_off
from gramian._core.types import Chart, Estimator, Floats, Ints, Table, Values, Weights
from gramian.charts.declaration import ChartKind, has, is_unsupervised
from gramian.charts.lazy_altair import alt
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
from gramian.charts.marks.text import counted, number, percent
from gramian.charts.theme import WIDTH, Theme, title
from gramian.rows import Rows

MAX_EXACT_STRESS = 1e-6
QUALITIES = {  # fitted attribute: its name, and the finding
    "kl_": ("KL divergence", "KL divergence {number} from the neighbourhoods of the rows"),
    "reconstruction_error_": ("error", "Rows are reconstructed from their neighbours up to an error of {number}"),
}


def applies(model: Estimator, data: bool) -> bool:
    """Applies to embeddings of the training rows, and with data to principal components."""
    if not is_unsupervised(model):
        return False
    return has(model, "embedding_") or (data and has(model, "variance_shares_", "transform"))


CHART = ChartKind(name="embedding", of="rows", order=180, applies=applies, order_with_data=70, rows_of_fit=True)


def draw(
    model: Estimator, theme: Theme, X: Table = None, y: Values | None = None, sample_weight: Weights = None
) -> Chart:
    """The first two dimensions of the embedding of the training rows, or of X."""
    places = _places(model, X)
    colours = colours_of(y, len(places)) if y is not None else _own_colours(model, X)
    kept, _ = kept_rows(len(places), sample_weight)
    r = places.shape[1]
    one_axis = r == 1
    flat = beside(places[:, 0]) if one_axis else places[:, :2]
    notes = [f"the first 2 of {r} dimensions"] if r > 2 else []
    if has(model, "cut_value_") and r > 2:
        flat, notes = _rotated(places), [f"the first two principal directions of {r} eigenvectors"]
    ends = strip_window(flat[kept, 0]) if one_axis else window(flat[kept], equal=True)
    plane = axes(_names(model, r), ends, bare=_has_bare_axes(model))
    layers = dots(flat, kept, colours, plane, theme, notes)
    layers += names_among(flat, kept, colours, plane, theme)
    agreement = None if y is None else _agreement(places[kept], colours, kept)
    finding = _finding(model, agreement, len(colours.names))
    facts = " · ".join([type(model).__name__, *_facts(model), counted(len(kept), "row")])
    return alt.layer(*layers).properties(
        width=WIDTH,
        height=STRIP if one_axis else HEIGHT,
        title=title(finding, facts, "; ".join([*_notes(model), *notes])),
    )


def _places(model: Estimator, X: Table) -> Floats:
    if X is None:
        return np.asarray(model.embedding_, dtype=np.float64)
    if has(model, "transform"):
        transformed = answered(model.transform, X).astype(np.float64)
        return transformed.reshape(len(transformed), -1)
    own = np.asarray(model.embedding_, dtype=np.float64)
    n = X.n if isinstance(X, Rows) else _num_samples(X)
    if n != len(own):
        raise ValueError(
            f"This {type(model).__name__} cannot embed new rows, and X has {n} where the fit had {len(own)}: leave X "
            "out."
        )
    return own


def _own_colours(model: Estimator, X: Table) -> Colours:
    """The clusters of a spectral clustering."""
    if X is not None or not has(model, "cut_value_"):
        return Colours([])
    own = np.asarray(model.labels_)[model.embedded_rows_]
    return clusters_of(own, model.n_clusters_)


def _rotated(places: Floats) -> Floats:
    """Scores of the first two principal directions, each positive at its row of largest magnitude."""
    centred = places - places.mean(axis=0)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    largest = np.abs(scores).argmax(axis=0)
    return np.asarray(scores * np.where(scores[largest, [0, 1]] < 0, -1.0, 1.0))


def _has_bare_axes(model: Estimator) -> bool:
    """Whether the axes have no units."""
    return isinstance(model, Drawn) and not model.axes_have_units


def _names(model: Estimator, r: int) -> list[str | None]:
    if _has_bare_axes(model):
        return [None, None]
    if has(model, "cut_value_") and r > 2:
        return ["first principal direction of the eigenvectors", "second"]
    kind = "component" if has(model, "variances_") else "eigenvector" if has(model, "cut_value_") else "dimension"
    shares = np.asarray(model.variance_shares_) if has(model, "variance_shares_") else np.zeros(0)
    names = [f"{kind} {j + 1}" + (f" · {percent(float(shares[j]))}" if j < len(shares) else "") for j in range(2)]
    return [names[0], names[1] if r > 1 else None]


def _agreement(places: Floats, colours: Colours, kept: Ints) -> float | None:
    """The share of rows whose nearest neighbour in the embedding is of their class."""
    if colours.places is None or len(places) < 2:
        return None
    own = colours.places[kept]
    nearest = cKDTree(places).query(places, k=2)[1]
    neighbour = np.where(nearest[:, 0] == np.arange(len(places)), nearest[:, 1], nearest[:, 0])
    return float((own[neighbour] == own).mean())


def _finding(model: Estimator, agreement: float | None, k: int) -> str:
    if agreement is not None and k > 1:
        return f"The nearest neighbour is of the same class for {percent(agreement)} of the rows"
    if has(model, "relative_stress_"):
        if model.relative_stress_ < MAX_EXACT_STRESS:
            return "The distances of the rows are exact"
        return f"Relative error of the distances {percent(model.relative_stress_)}"
    if has(model, "variance_shares_"):
        shares = np.asarray(model.variance_shares_)
        first = "One component explains" if len(shares) == 1 else "The first two components explain"
        return f"{first} {percent(float(shares[:2].sum()))} of the variance"
    if has(model, "n_parts_") and model.n_parts_ > 1:
        return f"The neighbour graph is disconnected ({model.n_parts_} components)"
    if has(model, "cut_value_"):
        clusters = counted(model.n_clusters_, "cluster")
        if model.n_clusters_ == 1:
            return "All rows are one cluster"
        if model.cut_value_ == 0:
            return f"{clusters}: the connected components of the graph"
        bound = without_round_off(model.bound_, float(np.abs(model.eigenvalues_).max()))
        return f"{clusters} with a cut of {number(model.cut_value_)}; lower bound of any cut {number(bound)}"
    for name, (_, finding) in QUALITIES.items():
        if has(model, name):
            return finding.format(number=number(float(getattr(model, name))))
    return "An embedding of the rows"


def _facts(model: Estimator) -> list[str]:
    facts = [f"method {model.method}"] if has(model, "method") and isinstance(model.method, str) else []
    for name, text in (
        ("perplexity", "perplexity {}"),
        ("n_neighbors", "{} neighbours"),
        ("relative_stress_", "relative stress {}"),
        *((name, f"{label} {{}}") for name, (label, _) in QUALITIES.items()),
    ):
        value = getattr(model, name) if has(model, name) else None
        if isinstance(value, Real):
            facts.append(text.format(number(float(value))))
    return facts


def _notes(model: Estimator) -> list[str]:
    if _has_bare_axes(model):
        return ["neighbourhoods are preserved; distances between groups, their sizes and the axes have no meaning"]
    return []
