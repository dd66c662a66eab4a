"""The plane that rows and structures are seen in; and structures alone, as a model keeps them."""

from dataclasses import dataclass, field

import numpy as np

from gramian._core.types import Chart, Estimator, Floats, Ints
from gramian.charts.declaration import has
from gramian.charts.lazy_altair import alt
from gramian.charts.marks.outlines import Outline, are_hyperplanes, directions, layers_of, outlines
from gramian.charts.marks.scatter import HEIGHT, STRIP, axes, beside, haloed, strip_window, window
from gramian.charts.marks.text import feature_names, labels
from gramian.charts.theme import WIDTH, Theme, rows
from gramian.spectral import PCA
from gramian.structures import Structure

GAP = 0.08  # of the window, between its edge and what is drawn
ABOVE = 1.3  # of a strip of one axis, with the deviations of densities above its rows
LONGEST = 60  # letters of the name of an axis


@dataclass(frozen=True, eq=False)
class View:
    """Rows in a plane: their places (n, 2), its axes and window, its origin, and its basis (2, d) of more columns."""

    places: Floats
    names: list[str | None]
    ends: Floats
    origin: Floats
    basis: Floats | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, values: Floats, names: list[str], kept: Ints, weight: Floats, structures: list[Structure]) -> "View":
        """One column, two, or the principal directions of more; across planes, which are seen only edge-on."""
        d = values.shape[1]
        if d == 1:
            return cls(beside(values[:, 0]), [names[0], None], strip_window(values[kept, 0], ABOVE), np.zeros(2))
        if d == 2:
            return cls(values, [names[0], names[1]], window(values[kept], equal=True), np.zeros(2))
        drawn = values[kept]
        if are_hyperplanes(structures):
            mean = weight[kept] @ drawn / weight[kept].sum()
            basis = directions(structures, np.sqrt(weight[kept])[:, None] * (drawn - mean))
            first, note = "first direction across the planes", "two directions across the planes"
        else:
            pca = PCA(min(2, len(drawn))).fit(drawn, sample_weight=weight[kept])
            mean, basis = pca.mean_, np.vstack([pca.components_, np.zeros((1, d))])[:2]
            first, note = "first principal direction", "the first two principal directions"
        places = (values - mean) @ basis.T
        return cls(places, [first, "second"], window(places[kept], equal=True), mean, basis, [f"{note} of {d} columns"])

    @property
    def height(self) -> int:
        return STRIP if self.names[1] is None else HEIGHT


def column_names(model: Estimator) -> list[str]:
    """Names of columns as axes have them."""
    return labels(feature_names(model), LONGEST) if has(model, "n_features_in_") else ["x0", "x1"]


def complete(values: Floats, kept: Ints, notes: list[str]) -> Ints:
    """Those of the rows that have a place: without missing numbers."""
    whole = kept[np.isfinite(values[kept]).all(axis=1)]
    if len(whole) < len(kept):
        notes.append(f"rows with missing numbers are not drawn: {len(kept) - len(whole):,}")
    if not len(whole):
        raise ValueError("Every row of X has missing numbers: none has a place on a chart.")
    return whole


def draw_alone(structures: list[Structure], columns: list[str], look: Theme, notes: list[str]) -> Chart:
    """The structures over two columns, or over the two directions in which they spread most, with their numbers."""
    centers = np.array([each.geometry().center for each in structures])
    d = centers.shape[1]
    names: list[str | None] = list(columns)
    origin, basis = centers.mean(axis=0), None
    if d > 2:
        basis = directions(structures, _extents(structures, centers))
        planes = are_hyperplanes(structures)
        names = [f"first direction {'across the planes' if planes else 'of their spread'}", "second"]
        which = "across the planes" if planes else "in which the structures spread most"
        notes.append(f"two of {d} directions, {which}")
        places = (centers - origin) @ basis.T
    else:
        places = np.column_stack([centers, np.zeros((len(centers), 2 - d))])
        names = [*names, None]
    own, nothing = np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
    drawn = outlines(structures, own, nothing, window(places, equal=True), origin, basis)
    closed = [line for each in drawn for line in (*each.solid, *each.dashed) if len(line) > 2 or d == 1]
    reached = np.vstack([places, *closed])
    ends = strip_window(reached[:, 0], ABOVE) if d == 1 else window(reached, equal=True, pad=GAP)
    plane = axes(names, ends)
    drawn = outlines(structures, own, nothing, ends, origin, basis)
    seen = {each.place for each in drawn}
    drawn += [Outline(place, places[place]) for place in range(len(structures)) if place not in seen]
    layers = layers_of(drawn, look.of_class, plane, look, notes)
    layers += _numbers(drawn, places, plane, look) if len(structures) > 1 else []
    notes.append("rows are not kept: with X they are drawn too")
    return alt.layer(*layers).properties(width=WIDTH, height=STRIP if d == 1 else HEIGHT)


def sizes(model: Estimator) -> Floats:
    """The weight of the rows of each structure."""
    sizes = model.summary().coefficients["rows"] if has(model, "summary") else np.bincount(model.labels_)
    return np.asarray(sizes, dtype=np.float64)


def _extents(structures: list[Structure], centers: Floats) -> Floats:
    """Points (m, d) about zero whose scatter is that of the centres and of the extents of the structures."""
    roots = []
    for each in structures:
        values, vectors = np.linalg.eigh(each.geometry().extent)
        roots.append((vectors * np.sqrt(np.maximum(values, 0.0))).T)
    return np.vstack([centers - centers.mean(axis=0), *roots])


def _numbers(drawn: list[Outline], places: Floats, plane: tuple[Chart, Chart], look: Theme) -> list[Chart]:
    """The number of each structure beside its centre."""
    records = [
        {"x": float(places[each.place, 0]), "y": float(places[each.place, 1]), "text": str(each.place)}
        for each in drawn
    ]
    base = alt.Chart(rows(records)).encode(x=plane[0], y=plane[1], text="text:N")
    return haloed(base, look, dx=12, dy=-10, fontSize=13, fontWeight="bold")
