"""Charts of maps and spectra show the numbers of the fits, in light and dark."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, TransformerMixin

import gramian as gm
from drawings import heading as head
from drawings import layers
from gramian._core.fitted.charted import Drawn
from gramian.charts import chart, kinds, save_png

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 4)) * [5.0, 3.0, 1.0, 0.5] + 2.0
Y = np.where(X[:, 0] > 2, "right", "left")
NAMES = ["length", "width", "depth", "mass"]


class Components(TransformerMixin, BaseEstimator):
    """A fitted model of principal components."""

    def __init__(self, n_components=2, null=None):
        self.n_components = n_components
        self.null = null

    def fit(self, X, y=None):
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        X = np.asarray(X)
        self.mean_ = X.mean(axis=0)
        _, s, Vt = np.linalg.svd(X - self.mean_, full_matrices=False)
        self.n_features_in_, self.n_components_ = X.shape[1], self.n_components
        self.components_ = Vt[: self.n_components]
        self.variances_ = s[: self.n_components] ** 2 / len(X)
        self.variance_shares_ = self.variances_ * len(X) / (s**2).sum()
        if self.null is not None:
            self.null_ = self.null
        return self

    def transform(self, X):
        return (np.asarray(X) - self.mean_) @ self.components_.T


def null(eigenvalues, *, significant=1, scrambled=None, edges=(0.2, 2.0)):
    values = np.array(eigenvalues)
    return SimpleNamespace(
        eigenvalues=values, edges=edges, noise=0.7, p_values=np.linspace(0.001, 1.0, len(values)),
        significant=significant, scrambled=scrambled, total=float(values.sum()),
    )  # fmt: skip


def records(drawn, kind):
    return next(found for mark, found in layers(drawn) if mark["type"] == kind)


def xy(table):
    return np.array([[r["x"], r["y"]] for r in table])


# maps


def test_embedding_of_the_fit_and_its_classes():
    model = gm.MDS().fit(X)
    assert kinds(model) == ["embedding"]
    drawn = model.chart()
    assert_allclose(xy(records(drawn, "point")), model.embedding_)
    assert head(drawn)[0] == f"Relative error of the distances {100 * model.relative_stress_:.1f} %"
    for y in (Y, pd.Series(Y), pl.Series(Y), Y.tolist()):
        drawn = model.chart(y=y)
        assert [r["class"] for r in records(drawn, "point")] == Y.tolist()
    D = np.linalg.norm(model.embedding_[:, None] - model.embedding_, axis=2) + 1e9 * np.eye(80)
    share = (Y[D.argmin(axis=1)] == Y).mean()
    assert f"for {100 * share:.3g} % of the rows" in head(drawn)[0]
    value = model.chart(y=X[:, 2])
    assert_allclose([r["value"] for r in records(value, "point")], X[:, 2])
    some = model.chart("embedding", y=Y, sample_weight=np.repeat([1.0, 0.0], 40))
    assert len(records(some, "point")) == 40
    new = model.chart("embedding", X[:9] + 0.1)
    assert_allclose(xy(records(new, "point")), model.transform(X[:9] + 0.1))
    assert_allclose(xy(records(model.chart("embedding", gm.scan(X, Y)), "point")), model.embedding_, atol=1e-9)
    exact = gm.MDS(4).fit(X).chart()
    assert head(exact)[0] == "The distances of the rows are exact"
    assert "the first 2 of 4 dimensions" in head(exact)[1]
    one = gm.MDS(1).fit(X).chart()
    assert_allclose([r["x"] for r in records(one, "point")], gm.MDS(1).fit(X).embedding_[:, 0])
    assert one.to_dict()["layer"][0]["encoding"]["y"]["axis"] is None  # heights mean nothing


def test_axes_have_equal_units_where_distances_have_a_meaning():
    spec = gm.MDS().fit(X).chart().to_dict()["layer"][0]["encoding"]
    across, up = (np.ptp(spec[axis]["scale"]["domain"]) for axis in "xy")
    assert across / 560 == pytest.approx(up / 400)


def test_neighbour_embeddings_state_their_limits():
    model = gm.TSNE(perplexity=10, max_iter=250).fit(X)
    drawn = model.chart()
    assert "have no meaning" in head(drawn)[1]
    assert "divergence" in head(drawn)[0]
    assert drawn.to_dict()["layer"][0]["encoding"]["x"]["axis"]["labels"] is False
    with pytest.raises(ValueError, match="cannot embed new rows"):
        model.chart("embedding", X[:5])
    assert len(records(model.chart("embedding", X, Y), "point")) == 80
    lle = gm.LLE(10).fit(X)
    assert "Rows are reconstructed from their neighbours" in head(lle.chart())[0]
    apart = np.vstack([X, X + 1000.0])
    with pytest.warns(gm.PrecisionWarning):
        parts = gm.LLE(5).fit(apart)
    assert "disconnected (2 components)" in head(parts.chart())[0]


def test_embedding_of_principal_components():
    model = Components().fit(X)
    drawn = chart(model, "embedding", X, Y)
    assert_allclose(xy(records(drawn, "point")), model.transform(X))
    plain = chart(model, "embedding", X)
    assert (
        head(plain)[0] == f"The first two components explain {100 * model.variance_shares_.sum():.1f} % of the variance"
    )
    with pytest.raises(ValueError, match="does not keep: give X"):
        chart(model, "embedding")


def test_inconsistent_labels_are_refused():
    model = gm.MDS().fit(X)
    with pytest.raises(ValueError, match="the rows to be coloured are 80"):
        model.chart(y=Y[:5])
    bad = X[:, 0].copy()
    bad[7] = np.nan
    with pytest.raises(ValueError, match="at row 7"):
        model.chart(y=bad)


# spectra


def test_the_spectrum_beside_its_null():
    values = [9.0, 1.8, 1.2, 0.9, 0.5]
    scrambled = np.sort(RNG.uniform(0.3, 2.0, (20, 5)), axis=1)[:, ::-1]
    model = Components(null=null(values, scrambled=scrambled)).fit(X)
    assert kinds(model) == ["scree", "biplot"]
    drawn = chart(model)
    dots = records(drawn, "point")
    assert [r["eigenvalue"] for r in dots] == values
    assert [r["what"] for r in dots] == ["signal"] + ["noise"] * 4
    band = records(drawn, "rect")[0]
    assert (band["variance"], band["high"]) == (0.2, 2.0)
    area = records(drawn, "area")
    assert_allclose([r["high"] for r in area], np.quantile(scrambled, 0.95, axis=0))
    finding, small = head(drawn)
    assert finding == "1 of 5 components is above the noise"
    assert "2 kept" in small
    above = values > np.quantile(scrambled, 0.95, axis=0)
    assert f"{above.argmin() if not above.all() else 5} above permuted columns" in small
    assert head(chart(Components(null=null(values, significant=0)).fit(X)))[0] == "No component is above the noise"
    wide = chart(Components(null=null([900.0, 1.8, 1.2, 0.9, 1e-17])).fit(X)).to_dict()
    y = next(layer["encoding"]["y"] for layer in wide["layer"] if layer["mark"]["type"] == "point")
    assert y["scale"]["type"] == "log"
    assert y["scale"]["domain"][0] > 0.1  # rounding does not stretch the axis
    many = chart(Components(null=null(np.linspace(3.0, 0.3, 200))).fit(X))
    assert len(records(many, "point")) == 60
    assert "the first 60 of 200" in head(many)[1]


def test_a_spectrum_without_a_null_and_a_test_alone():
    model = Components().fit(X)
    drawn = chart(model, "scree")
    assert_allclose([r["eigenvalue"] for r in records(drawn, "point")], model.variances_)
    assert "2 components explain" in head(drawn)[0]

    class Spectrum(SimpleNamespace, Drawn):
        own_charts = ("scree",)

    test = Spectrum(**vars(null([5.0, 4.0, 1.0], significant=2)))
    assert kinds(test) == ["scree"]
    assert head(chart(test))[0] == "2 of 3 components are above the noise"
    flat = chart(Components(null=null([0.0, 0.0], significant=0, edges=(0.0, 0.0))).fit(X))
    assert "No component" in head(flat)[0]


def test_a_biplot_has_rows_and_columns():
    frame = pd.DataFrame(X, columns=NAMES)
    model = Components().fit(frame)
    drawn = chart(model, X=frame, y=Y)
    assert_allclose(xy(records(drawn, "point")), model.transform(X))
    arrows = records(drawn, "rule")
    loadings = model.components_.T * np.sqrt(model.variances_)
    order = np.argsort(-np.linalg.norm(loadings, axis=1))
    assert [r["name"] for r in arrows] == [NAMES[j] for j in order]
    tips = np.array([[r["x2"], r["y2"]] for r in arrows])
    ratio = tips / loadings[order]
    assert_allclose(ratio, ratio[0, 0])  # stretched together
    assert (np.abs(tips).max(axis=0) <= 0.9 * np.abs(model.transform(X)).max(axis=0) + 1e-9).all()
    assert head(drawn)[0].endswith("; largest loadings length and width")
    assert {r["name"] for r in records(drawn, "text")} <= set(NAMES)
    alone = chart(model, "biplot")
    assert_allclose([[r["x2"], r["y2"]] for r in records(alone, "rule")], loadings[order])
    one = Components(1).fit(frame)
    assert "One component explains" in head(chart(one, "biplot", frame))[0]
    wide = np.hstack([X, X + 0.1 * RNG.standard_normal(X.shape), X, X])
    assert "the 12 longest of 16 arrows" in head(chart(Components().fit(wide), "biplot", wide))[1]
    with pytest.raises(ValueError, match="give X too"):
        chart(model, "biplot", y=Y)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_kind_renders(tmp_path, theme):
    mds = gm.MDS().fit(X)
    model = Components(null=null([9.0, 1.8, 1.2, 0.9], scrambled=RNG.uniform(0.3, 2.0, (20, 4)))).fit(X)
    drawn = {
        "classes": mds.chart(y=Y, theme=theme),
        "values": mds.chart(y=X[:, 1], theme=theme),
        "many": mds.chart(y=np.arange(80) % 18, theme=theme),
        "scree": chart(model, "scree", theme=theme),
        "biplot": chart(model, "biplot", X, Y, theme=theme),
    }
    for name, one in drawn.items():
        assert save_png(one, tmp_path / f"{name}.png", scale=1).stat().st_size > 3000


def test_names_in_a_biplot_stay_inside():
    frame = pd.DataFrame(X, columns=[f"{name} of a long kind" for name in NAMES])
    for model in (gm.PCA(2).fit(frame), gm.PCA(1).fit(frame)):
        for drawn in (model.chart("biplot"), model.chart("biplot", frame)):
            spec = drawn.to_dict()["layer"][0]["encoding"]
            low, high = spec["x"]["scale"]["domain"]
            unit = (high - low) / 560
            for word in next(found for mark, found in layers(drawn) if mark["type"] == "text"):
                room = 6.5 * len(word["name"]) * unit
                assert word["x"] + room <= high or word["x"] - room >= low
    one = gm.PCA(1).fit(frame)
    arrows = records(one.chart("biplot"), "rule")
    assert len({r["y2"] for r in arrows}) == 4  # each at a height of its own
    assert_allclose([r["x2"] for r in arrows], sorted(one.components_[0] * one.variances_[0] ** 0.5, key=abs)[::-1])


def test_equations_of_minor_components():
    x = RNG.standard_normal((100, 2))
    plane = pd.DataFrame(np.c_[x, 2 * x[:, 0] - x[:, 1] + 1], columns=["a", "b", "c"])
    model = gm.MinorComponents().fit(plane)
    assert kinds(model) == kinds(model, data=True) == ["equations"]
    drawn = model.chart()
    assert head(drawn)[0] == "Every row satisfies the equation"
    assert "0.816 a − 0.408 b − 0.408 c = −0.408" in head(drawn)[1]
    found = {r["label"]: r["weight"] for r in records(drawn, "circle")}
    assert_allclose([found[name] for name in "abc"], model.components_[0])
    noisy = plane + 0.1 * RNG.standard_normal(plane.shape)
    two = gm.MinorComponents(2).fit(noisy)
    finding = " ".join(two.chart().to_dict()["title"]["text"])
    assert finding == f"Rows satisfy these 2 equations up to {two.objective_**0.5:.2g} (root mean square)"
    wide = gm.MinorComponents(5).fit(RNG.standard_normal((200, 60))).chart().to_dict()
    small = " ".join(wide["title"]["subtitle"])
    assert "the first 3 of 5 equations" in small
    assert "the 40 largest weights of 60" in small
    with pytest.raises(ValueError, match="leave them out"):
        model.chart(X=plane)


def test_spectral_embedding_has_clusters_in_colour():
    two = np.vstack([RNG.standard_normal((40, 2)), RNG.standard_normal((30, 2)) + np.array([6.0, 0.0])])
    model = gm.SpectralClustering(2, random_state=0).fit(two)
    assert kinds(model) == ["embedding"]
    drawn = model.chart()
    assert [r["class"] for r in records(drawn, "point")] == [f"cluster {j}" for j in model.labels_]
    assert head(drawn)[0].startswith("2 clusters with a cut of ")
    weight = np.repeat([1.0, 0.0, 1.0], [40, 5, 25])
    some = gm.SpectralClustering(3, random_state=0).fit(two, sample_weight=weight)
    assert len(records(some.chart(), "point")) == 65
    assert "the first two principal directions of 3 eigenvectors" in head(some.chart())[1]
    far = two + np.repeat([[0.0], [99.0]], [40, 30], axis=0)
    apart = gm.SpectralClustering(2, neighbors=9, random_state=0).fit(far)
    assert head(apart.chart())[0] == "2 clusters: the connected components of the graph"
    chosen = gm.SpectralClustering("auto", neighbors=9, random_state=0).fit(two)
    assert chosen.chart().to_dict()["title"] == chosen.chart("eigengap").to_dict()["title"]
