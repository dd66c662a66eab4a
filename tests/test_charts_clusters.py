"""Charts of clusters show the rows, the structures as they were fitted, the choice of their number, and shares."""

import base64
import struct
import zlib

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from sklearn.base import BaseEstimator, ClusterMixin

import gramian as gm
from drawings import heading as head
from drawings import layers
from gramian import structures
from gramian.charts import chart, kinds, save_png
from gramian.charts.theme import THEMES
from gramian.kernels.points import Vectors

RNG = np.random.default_rng(0)
X = np.vstack([RNG.standard_normal((60, 2)), RNG.standard_normal((40, 2)) * [2.0, 0.5] + [9.0, 3.0]])
OWN = np.repeat([0, 1], [60, 40])


def with_attributes(kind):
    """Makes structures of a kind with given fitted attributes."""

    def make(**fitted):
        each = kind()
        if "direction_" in fitted:
            along = fitted["direction_"][None]
            fitted = {"directions_": along, "normals_": null_space(along).T} | fitted
        if "normal_" in fitted:
            across = fitted["normal_"][None]
            fitted = {"normals_": across, "directions_": null_space(across).T} | fitted
        vars(each).update(fitted)
        return each

    return make


Point, Line, Plane, Circle, Ellipse, Gaussian = map(
    with_attributes,
    [structures.Point, structures.Line, structures.Plane, structures.Circle, structures.Ellipse, structures.Gaussian],
)


class Clusters(ClusterMixin, BaseEstimator):
    """A fitted model of clusters with given parts: rows belong to the nearest."""

    def given(self, *parts, rows=X, labels=None, outside=0):
        self.structures_, self.objective_, self.n_features_in_ = list(parts), 12.5, rows.shape[1]
        self.labels_ = OWN if labels is None else labels
        self.outside = outside
        return self

    def fit(self, X, y=None):
        return self

    def predict(self, rows):
        rows = np.asarray(rows)
        if len(rows) == len(self.labels_):
            return self.labels_
        return np.argmin([part.distance(rows) for part in self.structures_], axis=0)

    def outliers(self, rows=None, share=0.01):
        mask = np.zeros(len(rows), dtype=bool)
        mask[: self.outside] = True
        return mask


class Mixture(Clusters):
    def predict_proba(self, rows):
        away = np.array([part.distance(np.asarray(rows)) for part in self.structures_]).T ** 2
        p = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True)))
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, rows):
        return self.predict_proba(rows).argmax(axis=1)


def lines(drawn):
    """Curves by their colour, without the rims under them."""
    found = []
    for mark, records in layers(drawn):
        if mark["type"] == "line" and "opacity" not in mark:
            for place in sorted({r["line"] for r in records}):
                own = [r for r in records if r["line"] == place]
                curve = np.array([[r["x"], r["y"]] for r in own])
                found.append((own[0]["colour"], curve, "strokeDash" in mark))
    return found


def test_rows_in_the_colours_of_their_clusters_and_centres():
    model = Clusters().given(Point(center_=X[:60].mean(axis=0)), Point(center_=X[60:].mean(axis=0)), outside=2)
    assert kinds(model) == kinds(model, data=True) == ["clusters"]
    drawn = chart(model, X=X)
    dots = layers(drawn)[0][1]
    assert_allclose([[r["x"], r["y"]] for r in dots], X)
    assert [r["class"] for r in dots] == [f"cluster {j}" for j in OWN]
    centres = next(records for mark, records in layers(drawn) if mark.get("shape") == "diamond")
    assert_allclose([[r["x"], r["y"]] for r in centres], [X[:60].mean(axis=0), X[60:].mean(axis=0)])
    assert [r["colour"] for r in centres] == list(THEMES["light"].palette[:2])
    crossed = next(records for mark, records in layers(drawn) if mark.get("shape") == "cross")
    assert_allclose([[r["x"], r["y"]] for r in crossed], X[:2])
    finding, small = head(drawn)
    assert finding == "2 clusters, the largest with 60 % of 100 rows"
    assert "× the 1 % of rows that fit worst (2 outliers)" in small
    assert "objective 12.5" in small
    counted = chart(model, "clusters", X, sample_weight=np.repeat([1.0, 3.0], [60, 40]))
    assert head(counted)[0] == "2 clusters, the largest with 66.7 % of 180 rows"


def test_lines_circles_and_ellipses_are_drawn_in_place():
    u = np.array([0.6, 0.8])
    parts = [
        Line(center_=np.array([0.0, 1.0]), direction_=u),
        Circle(center_=np.array([9.0, 3.0]), radius_=2.5),
        Ellipse(
            center_=np.array([5.0, 0.0]), axes_=np.array([3.0, 1.0]), directions_=np.array([[0.6, 0.8], [0.8, -0.6]])
        ),
        Plane(center_=np.array([1.0, 1.0]), normal_=np.array([1.0, 0.0])),
    ]
    drawn = chart(Clusters().given(*parts, labels=np.arange(100) % 4), "clusters", X)
    line, circle, ellipse, plane = (curve for _, curve, _ in lines(drawn))
    assert_allclose((line - [0.0, 1.0]) @ [-0.8, 0.6], 0.0, atol=1e-9)
    along = (X[::4] - [0.0, 1.0]) @ u
    assert np.ptp((line - [0.0, 1.0]) @ u) == pytest.approx(1.12 * np.ptp(along))
    assert_allclose(np.linalg.norm(circle - [9.0, 3.0], axis=1), 2.5)
    away = (ellipse - [5.0, 0.0]) @ np.array([[0.6, 0.8], [0.8, -0.6]]).T
    assert_allclose((away[:, 0] / 3.0) ** 2 + away[:, 1] ** 2, 1.0)
    assert_allclose(plane[:, 0], 1.0)
    assert "4 structures: median distance " in head(drawn)[0]
    finding, _ = head(chart(Clusters().given(*parts[1:2], labels=np.zeros(100, dtype=int)), "clusters", X))
    half = np.quantile(parts[1].distance(X), 0.5, method="inverted_cdf")
    assert finding == f"1 circle: median distance {half:.2g} of 100 rows"


def test_densities_have_contours_of_one_and_two_deviations():
    full = np.array([[2.0, 0.5], [0.5, 1.0]])
    for given, S in ((full, full), (np.array([2.0, 1.0]), np.diag([2.0, 1.0])), (3.0, 3.0 * np.eye(2))):
        model = Mixture().given(
            Gaussian(mean_=np.zeros(2), covariance_=given), Gaussian(mean_=np.array([9.0, 3.0]), covariance_=given)
        )
        found = lines(chart(model, "clusters", X))
        assert len(found) == 4
        for _, curve, dashed in found:
            nearest = min(([0.0, 0.0], [9.0, 3.0]), key=lambda m, c=curve: np.abs(c.mean(axis=0) - m).max())
            z = np.einsum("ij,jk,ik->i", curve - nearest, np.linalg.inv(S), curve - nearest)
            assert_allclose(z, 4.0 if dashed else 1.0)
    finding, small = head(chart(model, "clusters", X))
    sure = (model.predict_proba(X).max(axis=1) >= 0.9).mean()
    assert finding == f"2 Gaussians: {100 * sure:.3g} % of 100 rows clearly belong to one"
    assert "clearly: with probability 90 % or more" in small


def test_more_columns_are_projected_on_principal_directions():
    Z = np.column_stack([X, 0.1 * RNG.standard_normal((100, 2))])
    mean = Z.mean(axis=0)
    basis = np.linalg.svd(Z - mean, full_matrices=False)[2][:2]
    basis *= np.sign(basis[[0, 1], np.abs(basis).argmax(axis=1)])[:, None]
    C = np.diag([4.0, 1.0, 0.1, 0.1])
    parts = [
        Gaussian(mean_=mean + 1.0, covariance_=C),
        Circle(center_=mean, radius_=2.0),
        Ellipse(center_=mean, axes_=np.sqrt([4.0, 1.0, 0.1, 0.1]), directions_=np.eye(4)),
        Line(center_=mean, direction_=np.array([0.5, 0.5, 0.5, 0.5])),
        Plane(center_=mean, normal_=np.array([0.0, 0.0, 0.0, 1.0]), directions_=np.eye(4)[:3]),
        Point(center_=mean),
    ]
    drawn = chart(Clusters().given(*parts, rows=Z, labels=np.arange(100) % 6), "clusters", Z)
    assert_allclose([[r["x"], r["y"]] for r in layers(drawn)[0][1]], (Z - mean) @ basis.T, atol=1e-9)
    found = lines(drawn)
    assert len(found) == 5  # two contours, and nothing of the plane, which covers all
    shadow = np.linalg.inv(basis @ C @ basis.T)
    dashed = next(curve for _, curve, d in found if d)
    middle = basis @ np.ones(4)
    assert_allclose(np.einsum("ij,jk,ik->i", dashed - middle, shadow, dashed - middle), 4.0)
    solid = [curve for _, curve, d in found if not d]
    assert_allclose(np.linalg.norm(solid[1], axis=1), 2.0)
    assert_allclose(np.einsum("ij,jk,ik->i", solid[2], shadow, solid[2]), 1.0)
    assert "principal directions of 4 columns" in head(drawn)[1]


def test_labels_alone_one_column_and_many_clusters():
    class Tree(ClusterMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.labels_ = np.arange(len(X)) % 25
            return self

    tree = Tree().fit(X)
    drawn = chart(tree, "clusters", X)
    words = [records for mark, records in layers(drawn) if mark["type"] == "text"]
    assert {r["class"] for r in words[0]} == {str(j) for j in range(25)}
    assert "25 clusters" in head(drawn)[0]
    with pytest.raises(ValueError, match="labels of the 100 rows of its fit alone"):
        chart(tree, "clusters", X[:5])
    ten = Clusters().given(*[Point(center_=X[j]) for j in range(10)], labels=np.arange(100) % 10)
    spec = chart(ten, "clusters", X).to_dict()
    shapes = spec["layer"][0]["encoding"]["shape"]["scale"]["range"]
    assert shapes == ["circle"] * 7 + ["triangle-up"] * 3
    flat = Clusters().given(Point(center_=np.zeros(1)), Point(center_=np.array([9.0])), rows=X[:, :1])
    strip = chart(flat, "clusters", X[:, :1])
    assert_allclose([r["x"] for r in layers(strip)[0][1]], X[:, 0])
    assert np.abs([r["y"] for r in layers(strip)[0][1]]).max() <= 0.5
    assert strip.to_dict()["layer"][0]["encoding"]["y"]["axis"] is None  # heights mean nothing
    many = np.repeat(X, 40, axis=0)
    big = chart(Clusters().given(Point(center_=np.zeros(2)), labels=np.zeros(4000, dtype=int)), "clusters", many)
    assert sum(len(records) for _, records in layers(big)) < 2100
    assert "2,000 of 4,000 rows are shown" in head(big)[1]
    assert head(big)[0] == "One cluster for 4,000 rows"
    rows = chart(ten, "clusters", gm.scan(X))
    assert len(layers(rows)[0][1]) == 100


class Choice:
    def __init__(self, criterion, values, chosen, errors=None):
        self.criterion, self.values, self.chosen, self.errors = criterion, np.array(values), chosen, errors
        self.n_clusters = np.arange(1, len(values) + 1)
        self.objectives = self.values


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ("bic", "BIC is smallest with 3 clusters"),
        ("elbow", "The elbow of the log loss is at 3 clusters"),
        ("gap", "The gap statistic chooses 3 clusters"),
        ("penalty", "Penalised loss is smallest with 3 clusters"),
        ("prediction_strength", "3 clusters are the most with high prediction strength"),
        ("silhouette", "The silhouette is largest with 3 clusters"),
        ("stability", "3 clusters are the most that are stable between halves of the rows"),
        ("own", "3 clusters are chosen"),
    ],
)
def test_choice_of_the_number_of_clusters(criterion, words):
    model = Clusters().given(Point(center_=np.zeros(2)))
    model.choice_ = Choice(criterion, [np.nan, 2.0, 1.0, 1.5], 3, np.array([np.nan, 0.1, 0.2, 0.1]))
    assert kinds(model) == ["choice", "clusters"]
    drawn = chart(model)
    found = [records for _, records in layers(drawn)]
    assert [(r["k"], r["value"]) for r in found[0]] == [(2, 2.0), (3, 1.0), (4, 1.5)]
    assert [r["high"] - r["low"] for r in found[1]] == pytest.approx([0.2, 0.4, 0.2])
    assert list(found[-1]) == [found[0][1]]
    assert head(drawn)[0] == words
    assert "bars: one standard error" in head(drawn)[1]
    model.choice_ = Choice(criterion, [3.0, 2.0], 2)
    assert "largest tried" in head(chart(model))[1]
    model.choice_ = Choice(criterion, [3.0], 1)
    assert "1 cluster" in head(chart(model))[0]


def pixels(drawn):
    """The picture of a chart as places in its palette, and the palette."""
    url = next(records[0]["url"] for mark, records in layers(drawn) if mark["type"] == "image")
    data = base64.b64decode(url.split(",")[1])
    chunks, at = {}, 8
    while at < len(data):
        size = struct.unpack(">I", data[at : at + 4])[0]
        chunks[data[at + 4 : at + 8]] = data[at + 8 : at + 8 + size]
        at += 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    body = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, width + 1)[:, 1:]
    return body, ["#" + chunks[b"PLTE"][i : i + 3].hex() for i in range(0, len(chunks[b"PLTE"]), 3)]


def test_responsibilities_are_shares_of_each_row():
    close = np.vstack([RNG.standard_normal((60, 2)), RNG.standard_normal((40, 2)) + np.array([2.0, 0.0])])
    model = Mixture().given(Gaussian(mean_=np.zeros(2)), Gaussian(mean_=np.array([2.0, 0.0])))
    assert "responsibilities" in kinds(model, data=True)
    model.weights_ = np.array([0.6, 0.4])
    drawn = chart(model, "responsibilities", close)
    body, palette = pixels(drawn)
    p = model.predict_proba(close)
    assert palette == list(THEMES["light"].palette[:2])
    share = (body == 0).mean(axis=1 - 1)
    order = np.lexsort((-p.max(axis=1), p.argmax(axis=1)))
    column = (np.arange(body.shape[1]) + 0.5) * 100 / body.shape[1]
    assert_allclose(share, p[order][column.astype(int), 0], atol=0.01)
    own = p.argmax(axis=1)[order][column.astype(int)]
    assert (body[-1] == own).all()  # a row's own component is at the bottom
    finding, small = head(drawn)
    assert finding == f"{(p.max(axis=1) >= 0.9).sum()} % of 100 rows have a responsibility of at least 90 %"
    assert "weights 60 %, 40 %" in small
    frame = pd.DataFrame(close, columns=["a", "b"])
    weight = np.repeat([0.0, 2.0], [60, 40])
    assert "of 80 rows" in head(chart(model, "responsibilities", frame, sample_weight=weight))[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_kind_renders(tmp_path, theme):
    model = Mixture().given(
        Gaussian(mean_=np.zeros(2), covariance_=1.0), Gaussian(mean_=np.array([9.0, 3.0]), covariance_=1.0), outside=1
    )
    model.choice_ = Choice("bic", [3.0, 2.0, 2.5], 2)
    for kind, given in (("clusters", X), ("responsibilities", X), ("choice", None)):
        path = save_png(chart(model, kind, given, theme=theme), tmp_path / f"{kind}.png", scale=1)
        assert path.stat().st_size > 3000


def test_missing_data_is_refused():
    model = Mixture().given(Point(center_=np.zeros(2)), Point(center_=np.ones(2)))
    with pytest.raises(ValueError, match="is of rows, which Mixture does not keep: give X"):
        chart(model, "responsibilities")
    placeless = Mixture().given(structures.KernelPoint())
    with pytest.raises(ValueError, match=r"no chart of the fit alone; given X it has 'clusters', 'responsibilities'\."):
        chart(placeless)
    with pytest.raises(ValueError, match="is of rows, which Mixture does not keep: give X"):
        chart(placeless, "clusters")
    with pytest.raises(ValueError, match="leave y out"):
        chart(model, "clusters", X, OWN)
    with pytest.raises(ValueError, match="one weight each"):
        chart(model, "clusters", X, sample_weight=np.ones(3))
    bad = X.copy()
    bad[3, 0] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        chart(model, "clusters", bad)
    model.choice_ = Choice("bic", [3.0, 2.0], 2)
    with pytest.raises(ValueError, match="of the fit alone"):
        chart(model, "choice", X)


def test_structures_alone():
    parts = [
        Point(center_=np.array([0.0, 1.0])),
        Circle(center_=np.array([9.0, 3.0]), radius_=2.5),
        Line(center_=np.array([4.0, 4.0]), direction_=np.array([0.6, 0.8])),
    ]
    model = Clusters().given(*parts, labels=np.repeat([0, 1, 2], [50, 30, 20]))
    drawn = chart(model)
    assert head(drawn)[0] == "3 structures, the largest with 50 % of 100 rows"
    assert "rows are not kept" in head(drawn)[1]
    circle, line = (curve for _, curve, _ in lines(drawn))
    assert_allclose(np.linalg.norm(circle - [9.0, 3.0], axis=1), 2.5)
    assert_allclose((line - 4.0) @ [-0.8, 0.6], 0.0, atol=1e-9)
    numbers = next(records for mark, records in layers(drawn) if mark["type"] == "text")
    assert {r["text"]: (r["x"], r["y"]) for r in numbers} == {"0": (0.0, 1.0), "1": (9.0, 3.0), "2": (4.0, 4.0)}
    spec = drawn.to_dict()["layer"][0]["encoding"]
    across, up = (spec[axis]["scale"]["domain"] for axis in "xy")
    assert across[0] < 0.0 < 11.5 < across[1]  # the whole circle
    assert up[0] < 0.5 < 5.5 < up[1]
    one = Clusters().given(Gaussian(mean_=np.array([3.0]), covariance_=np.array([[4.0]])), rows=X[:, :1])
    (_, solid, _), (_, dashed, _) = sorted(lines(chart(one)), key=lambda found: found[2])
    assert_allclose(solid[:, 0], [1.0, 5.0])
    assert_allclose(dashed[:, 0], [-1.0, 7.0])


def test_planes_are_projected_edge_on():
    Z = RNG.uniform(-1.0, 1.0, (100, 3))
    Z[:50, 0], Z[50:, 2] = 2.0, -3.0
    model = gm.KPlanes(2, random_state=0).fit(Z)
    drawn = chart(model, "clusters", Z)
    assert "two directions across the planes of 3 columns" in head(drawn)[1]
    places = np.array([[r["x"], r["y"]] for r in layers(drawn)[0][1]])
    found = lines(drawn)
    assert len(found) == 2
    for place, (_, line, _) in enumerate(found):  # rows of a plane lie on its line
        own = places[model.labels_ == place]
        along = line[1] - line[0]
        across = np.array([-along[1], along[0]]) / np.linalg.norm(along)
        assert_allclose((own - line[0]) @ across, 0.0, atol=1e-9)
    alone = lines(chart(model))
    assert len(alone) == 2
    single = chart(gm.KPlanes(1).fit(Z), X=Z)
    assert len(lines(single)) == 1


def test_rows_with_missing_numbers_are_counted_but_not_drawn():
    gone = X.copy()
    gone[::10, 0] = np.nan
    model = gm.GaussianMixture(2, random_state=0).fit(gone)
    drawn = chart(model, X=gone)
    assert len(layers(drawn)[0][1]) == 90
    assert "rows with missing numbers are not drawn: 10" in head(drawn)[1]
    assert "of 100 rows" in head(drawn)[0]
    assert pixels(chart(model, "responsibilities", gone))[0].size
    with pytest.raises(ValueError, match="Every row of X has missing numbers: none has a place"):
        chart(model, "clusters", gone[::10])


def test_rows_of_a_tree_keep_their_clusters():
    rows = np.array([[8.0], [9.0], [15.0], [19.0], [25.0]])
    model = gm.Agglomerative(2, linkage="complete").fit(rows)
    assert (model._assigned(Vectors(rows), model.labels_) != model.labels_).any()
    drawn = chart(model, "clusters", rows)
    assert [r["class"] for r in layers(drawn)[0][1]] == [f"cluster {j}" for j in model.labels_]
    other = chart(model, "clusters", rows[::-1].copy())
    assert [r["class"] for r in layers(other)[0][1]] == [f"cluster {j}" for j in model.predict(rows[::-1])]


def test_long_names_of_classes_and_columns_find_room():
    names = [f"{j}, a column whose name is long" + "!" * 60 for j in range(2)]
    frame = pd.DataFrame(X, columns=names)
    model = gm.KMeans(2, random_state=0).fit(frame)
    spec = chart(model, X=frame).to_dict()["layer"][0]["encoding"]
    assert spec["x"]["axis"]["title"] == names[0][:59] + "…"
    y = np.where(OWN, "a class with a long name", "another class with a longer one")
    legend = gm.MDS().fit(X).chart(y=y).to_dict()["layer"][0]["encoding"]["color"]["legend"]
    assert legend["columns"] == 2
    many = np.array([f"{j}, a class whose name is long" for j in np.arange(100) % 6])
    legend = gm.MDS().fit(X).chart(y=many).to_dict()["layer"][0]["encoding"]["color"]["legend"]
    assert legend["columns"] == 2


def test_extreme_rows_are_drawn_or_refused():
    K = gm.kernels.RBF(2.0)(X)
    given = gm.Agglomerative(2, kernel=gm.kernels.Precomputed()).fit(K)
    drawn = chart(given, "clusters", K)
    assert [r["class"] for r in layers(drawn)[0][1]] == [f"cluster {j}" for j in given.labels_]
    few = chart(gm.Divisive(2).fit(X), "clusters", X[:5])
    assert head(few)[0] == "2 clusters, the largest with 100 % of 5 rows"
    heavy = gm.StudentTMixture(2, nu=1.5, random_state=0).fit(X)
    assert len(lines(chart(heavy, X=X))) == 4  # of scales, where no covariance is finite
    with pytest.raises(ValueError, match="0 everywhere"):
        chart(heavy, "clusters", X, sample_weight=np.zeros(100))
    assert head(gm.SpectralClustering(1).fit(X).chart())[0] == "All rows are one cluster"
