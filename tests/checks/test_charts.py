"""Every estimator of clusters and of reduction draws itself: each chart that it has, with rows and without."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import gramian as gm
from checks.members import estimators, members
from drawings import walk
from gramian.charts import kinds
from gramian.kernels import RBF, Spectrum
from gramian.structures import Circle, KernelPoint, Line, Point, Structure

ROOMS = ("gramian.structures.", "gramian.spectral.")
RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(c, 0.6, (14, 3)) for c in ([0, 0, 0], [9, 0, 1], [0, 9, 2])])
NAMES = ["length", "a name so long that no axis of any chart has room for all of its letters", "x [µm] <b>"]
OF_ROWS = {"clusters", "responsibilities", "biplot", "embedding"}
NEED_TWO = ("KEllipses", "KLines", "KPlanes")
SMALL = {"n_clusters": 3, "n_neighbors": 8, "perplexity": 5, "max_iter": 300, "n_init": 1}


def small(estimator):
    """The same with parameters that suit forty rows."""
    known = estimator.get_params(deep=False)
    return clone(estimator).set_params(**{key: value for key, value in SMALL.items() if key in known})


ALL = [small(one) for one in estimators() if type(one).__module__.startswith(ROOMS)]
VARIANTS = [
    gm.KMeans("auto", max_clusters=4, random_state=0),
    gm.KMeans(3, kernel=RBF(3.0), random_state=0),
    gm.KPlanes(2, q=1, random_state=0),
    gm.GaussianMixture("auto", covariance="diagonal", max_clusters=4, random_state=0),
    gm.GaussianMixture(1),
    gm.Structures([Line(), Point(), Circle()], n_clusters=None, random_state=0),
    gm.Structures("gaussian", "soft", 3, random_state=0),
    gm.Agglomerative("auto", linkage="average"),
    gm.SpectralClustering("auto", random_state=0),
    gm.PCA(2, kernel="rbf"),
    gm.PCA(1),
    gm.PCA(2),
    gm.MDS(1, method="smacof"),
    gm.MinorComponents(2),
]


def name(estimator):
    return repr(estimator).replace("\n", "")


def check_drawn(drawn, theme):
    """A finding, numbers that are all finite, and colours of the theme."""
    spec = drawn.to_dict()
    assert spec["title"]["text"][0]
    assert spec["config"]["background"] == {"light": "#ffffff", "dark": "#14171c"}[theme]
    for part in walk(spec):
        numbers = [value for value in part.values() if isinstance(value, float)]
        assert np.isfinite(numbers).all()
        for text in (value for value in part.values() if isinstance(value, str)):
            assert "nan" not in text.split()
    return spec


def dots(spec):
    """The most records of one table that have a row's number."""
    tables = [part["values"] for part in walk(spec) if part.get("values")]
    tables += list(spec.get("datasets", {}).values())
    return max((sum(isinstance(record, dict) and "row" in record for record in table) for table in tables), default=0)


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::gramian.warnings.PrecisionWarning")
@pytest.mark.parametrize("estimator", ALL + VARIANTS, ids=name)
def test_every_chart_of_every_estimator(estimator):
    d = 2 if estimator in VARIANTS else 3
    frame = pd.DataFrame(X[:, :d], columns=NAMES[:d])
    model = clone(estimator).fit(frame)
    alone, all_kinds = kinds(model), kinds(model, data=True)
    assert all_kinds
    for kind in alone:
        check_drawn(model.chart(kind), "light")
    for kind in set(all_kinds) & OF_ROWS:
        spec = check_drawn(model.chart(kind, frame, theme="dark"), "dark")
        assert kind == "responsibilities" or dots(spec) == len(X)
    with pytest.raises(ValueError, match="no chart 'portrait'") as said:
        model.chart("portrait")
    for kind in all_kinds:
        assert repr(kind) in str(said.value)
    for kind in set(all_kinds) - OF_ROWS:
        with pytest.raises(ValueError, match="of the fit alone"):
            model.chart(kind, frame)
    if alone:
        model.chart()
    if set(all_kinds) & OF_ROWS:
        assert dots(model.chart(X=frame).to_dict()) == len(X)


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::gramian.warnings.PrecisionWarning")
@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_one_column(estimator):
    column = X[:, :1]
    if type(estimator).__name__ in NEED_TWO:
        with pytest.raises(ValueError, match="1 column"):
            clone(estimator).fit(column)
        return
    model = clone(estimator).fit(column)
    for kind in kinds(model):
        check_drawn(model.chart(kind), "light")
    for kind in set(kinds(model, data=True)) & OF_ROWS:
        check_drawn(model.chart(kind, column), "light")


def test_all_estimators_of_both_rooms_are_here():
    visited = {type(one).__name__ for one in ALL}
    assert visited >= {
        "Agglomerative", "CompetitiveLearning", "Divisive", "GaussianMixture", "KCircles", "KEllipses", "KGaussians",
        "KLines", "KMeans", "KMedians", "KPlanes", "LLE", "MDS", "MinorComponents", "PCA", "SpectralClustering",
        "StudentTMixture", "Structures", "TSNE",
    }  # fmt: skip


def test_a_spectrum_test_draws_itself():
    found = gm.spectrum_test(X, scrambles=2)
    for kind in (None, "scree"):
        check_drawn(found.chart(kind), "light")
    with pytest.raises(ValueError, match=r"no chart 'map'; it has 'scree'\.$"):
        found.chart("map")
    with pytest.raises(ValueError, match="of the fit alone"):
        found.chart("scree", X)


STRUCTURES = [one for one in members(Structure, {"Flat": [{"q": 0}]}) if not isinstance(one, KernelPoint)]


@pytest.mark.filterwarnings("ignore::gramian.warnings.PrecisionWarning")
@pytest.mark.parametrize("structure", STRUCTURES, ids=name)
@pytest.mark.parametrize("d", [2, 3])
def test_every_structure_draws_itself(structure, d):
    frame = pd.DataFrame(X[:, :d], columns=NAMES[:d])
    with pytest.raises(ValueError, match="not fitted yet"):
        copy(structure).chart()
    one = copy(structure).fit(frame)
    check_drawn(one.chart(), "light")
    spec = check_drawn(one.chart(X=frame, theme="dark"), "dark")
    assert dots(spec) == len(X)
    finding = " ".join(spec["title"]["text"]).replace("\u00a0", " ")
    assert finding.startswith("The mean log density of 42 rows" if one.density else "Median distance")
    weighted = one.chart("structure", X[:, :d], sample_weight=np.arange(42) % 2)
    assert dots(weighted.to_dict()) == 21
    assert dots(one.chart(X=gm.scan(X[:, :d])).to_dict()) == len(X)
    with pytest.raises(ValueError, match="leave y out"):
        one.chart("structure", X[:, :d], np.zeros(42))
    with pytest.raises(ValueError, match=r"no chart 'clusters'; it has 'structure'\."):
        one.chart("clusters")


def test_a_point_of_a_feature_space_has_no_chart():
    with pytest.raises(ValueError, match="no place among columns"):
        KernelPoint("rbf").fit(X).chart()


@pytest.mark.parametrize("estimator", ALL, ids=name)
def test_before_the_fit_there_is_nothing_to_draw(estimator):
    with pytest.raises(ValueError, match="not fitted yet"):
        clone(estimator).chart()


def test_points_without_columns_have_no_cluster_chart():
    words = ["aaaa", "aaab", "cccc", "cccd"]
    model = gm.KMeans(2, kernel=Spectrum(2), random_state=0).fit(words)
    with pytest.raises(ValueError, match=r"no chart of the fit alone; given X it has 'clusters'\."):
        model.chart()
    with pytest.raises(ValueError, match="columns of numbers"):
        model.chart("clusters", words)
    check_drawn(gm.PCA(2, kernel=Spectrum(2)).fit(words).chart("embedding", words, model.labels_), "light")
