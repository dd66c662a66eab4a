"""Every public model of clusters, and every embedding: rows of the fit keep their answers, and units do not matter."""

import numpy as np
import pytest
from sklearn.base import ClusterMixin, clone, is_classifier, is_regressor

import gramian as gm
from checks.members import estimators

RBF = gm.kernels.RBF(1.0)
VARIANTS = [
    gm.KMeans(3, kernel=RBF),
    gm.KMeans(3, kernel="linear"),
    gm.Structures("line", "soft", 3),
    gm.Structures("point", "frequency", 3),
    *(gm.Agglomerative(3, linkage=linkage) for linkage in ("single", "average", "complete")),
    *(gm.Agglomerative(3, linkage=linkage, kernel=RBF) for linkage in ("average", "ward")),
    gm.Divisive(3, split="principal"),
    gm.SpectralClustering(3, kernel=RBF, cut="ratio"),
    gm.SpectralClustering(3, kernel=RBF, assign="rounding"),
    gm.SpectralClustering(3, neighbors=4),
    gm.SpectralClustering(3, neighbors=4, cut="ratio"),
]
MODELS = [each for each in estimators() if isinstance(each, ClusterMixin)] + VARIANTS
EMBEDDINGS = [
    each
    for each in [*estimators(), gm.MDS(method="smacof"), gm.PCA(2)]
    if type(each).__module__.startswith("gramian.spectral") and not isinstance(each, ClusterMixin)
    and not is_classifier(each) and not is_regressor(each)
]  # fmt: skip
quiet = [
    pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning"),  # tables have fewer rows than clusters
    pytest.mark.filterwarnings("ignore::gramian.warnings.PrecisionWarning"),  # and clusters that do not vary
]


def tables():
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.arange(3.0), np.arange(3.0), [0.0, 1.0]), -1).reshape(-1, 3)
    return {
        "far from zero": (rng.standard_normal((24, 3)) + 1e6, 3),
        "repeated, as many clusters as rows": (np.repeat(rng.standard_normal((4, 3)), 3, axis=0), 12),
        "as many clusters as rows": (rng.standard_normal((9, 3)), 9),
        "grid": (grid, 4),
        "constant column": (np.column_stack([rng.standard_normal((20, 2)), np.full(20, 7.0)]), 3),
    }


TABLES = tables()


def prepared(model, k):
    model = clone(model)
    if not (isinstance(model, gm.Structures) and model.n_clusters is None):
        model.set_params(n_clusters=k)
    few = {"random_state": 0, "n_init": 2, "tol": 1e-4}
    return model.set_params(**{name: few[name] for name in few if name in model.get_params()})


def named(model):
    return repr(model).replace("\n", " ")[:70]


@pytest.mark.parametrize("model", MODELS, ids=named)
class TestRowsOfTheFit:
    pytestmark = quiet

    @pytest.mark.parametrize("table", TABLES)
    def test_labels_and_outliers_of_the_same_rows_are_the_same(self, model, table):
        X, k = TABLES[table]
        fitted = prepared(model, k).fit(X)
        agrees(fitted, X)
        assert np.isfinite(fitted.objective_)
        if "repeated" in table:
            assert (fitted.labels_.reshape(-1, 3) == fitted.labels_[::3, None]).all()

    def test_weights(self, model):
        rng = np.random.default_rng(1)
        X = np.repeat(rng.standard_normal((12, 3)), [3, 2] + [1] * 10, axis=0)
        weight = rng.integers(0, 4, len(X)).astype(float)
        if getattr(model, "neighbors", None) is None:
            agrees(prepared(model, 3).fit(X, sample_weight=weight), X, weight)


def agrees(fitted, X, weight=None):
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    np.testing.assert_array_equal(fitted.predict(X[3:5]), fitted.labels_[3:5])
    for share in (0.0, 0.05, 0.3, 0.5, 0.9, 1.0):
        out = fitted.outliers(share=share)
        np.testing.assert_array_equal(fitted.outliers(X, share=share), out)
        np.testing.assert_array_equal(fitted.outliers(X[:1], share=share), out[:1])
    counted = slice(None) if weight is None else weight > 0  # a row without weight may fit better than all others
    assert fitted.outliers(share=1.0)[counted].all()


EXPONENTS = [-664, -500, -300, 500, 664]
NUMBERS = ("centers_", "components_", "eigenvalues_", "embedding_", "heights_", "objective_", "stress_", "variances_")


def blobs():
    rng = np.random.default_rng(2)
    return np.concatenate([rng.standard_normal((20, 3)), rng.normal([8, 0, 0], 1.0, (20, 3))])


def scaled(fitted_to, X, column):
    """The fit to X; None where it is refused, which names the column."""
    try:
        return fitted_to(X)
    except ValueError as error:
        assert f"column {column}" in str(error)  # noqa: PT017
        return None


def claims_only_numbers(fitted):
    numbers = [np.ravel(getattr(fitted, name)) for name in NUMBERS if hasattr(fitted, name)]
    finite = np.isfinite(np.concatenate([[0.0], *numbers])).all()
    certificate = fitted.certificate_
    assert not certificate.holds or np.isfinite(certificate.value)
    assert finite or not certificate.holds or "beyond the range of" in str(certificate)


@pytest.mark.parametrize("model", [each for each in MODELS if getattr(each, "kernel", None) is not RBF], ids=named)
class TestUnitsOfClusters:
    pytestmark = quiet

    def test_labels_do_not_change(self, model):
        X = blobs()
        if isinstance(model, gm.SpectralClustering) and model.neighbors is None:
            model = gm.SpectralClustering(2)  # a kernel whose length scale is of the data
        reference = prepared(model, 2).fit(X)
        for exponent in EXPONENTS:
            fitted = scaled(prepared(model, 2).fit, np.ldexp(X, exponent), 0)
            if fitted is not None:
                np.testing.assert_array_equal(fitted.labels_, reference.labels_)
                claims_only_numbers(fitted)

    @pytest.mark.parametrize("exponent", [-664, 664])
    def test_one_column_in_other_units(self, model, exponent):
        X = blobs()
        X[:, 1] = np.ldexp(X[:, 1], exponent)
        fitted = scaled(prepared(model, 2).fit, X, 1)
        if fitted is not None:
            claims_only_numbers(fitted)
            np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)


@pytest.mark.parametrize("model", EMBEDDINGS, ids=named)
class TestUnitsOfEmbeddings:
    pytestmark = quiet

    @pytest.mark.parametrize("exponent", EXPONENTS)
    def test_places_scale_with_the_rows(self, model, exponent):
        model, X = clone(model), blobs()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        reference = clone(model).fit(X)
        fitted = scaled(clone(model).fit, np.ldexp(X, exponent), 0)
        if fitted is None:
            return
        if hasattr(fitted, "certificate_"):
            claims_only_numbers(fitted)
        for name in ("components_", "embedding_"):
            if hasattr(reference, name):
                a, b = np.abs(getattr(fitted, name)), np.abs(getattr(reference, name))
                assert np.allclose(a, b, atol=1e-6) or np.allclose(np.ldexp(a, -exponent), b, atol=1e-6)
