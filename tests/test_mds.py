"""Scaling: configurations recovered exactly, the same stress as scikit-learn's, and the gradient from scratch."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad, minimize
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.manifold import smacof

import gramian as gm

SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])


def points(seed, n=40, d=3):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.arange(d, 0, -1) + 5.0


def between(Y):
    return cdist(Y, Y)


def stress(flat, D, w=1.0):
    return 0.5 * float((w * (between(flat.reshape(len(D), -1)) - D) ** 2).sum())


# classical


@SEEDS
def test_euclidean_configurations_are_recovered(seed):
    X = points(seed)
    D = between(X)
    for model in (gm.MDS(3).fit(X), gm.MDS(3, dissimilarity="precomputed").fit(D)):
        assert_allclose(between(model.embedding_), D, atol=1e-9)
        assert model.stress_ < 1e-18 * (D**2).sum()
        assert model.certificate_.holds
        assert model.least_eigenvalue_ == 0.0
    few = gm.MDS(5, dissimilarity="precomputed").fit(D)
    assert_array_equal(few.embedding_[:, 3:], 0.0)
    assert "Only 3 of 5 eigenvalues are positive" in str(few.certificate_)


@SEEDS
def test_rows_and_their_distances_give_the_same_map_which_is_that_of_principal_components(seed):
    X, new = points(seed, d=5), points(seed + 10, n=7, d=5)
    a, b = gm.MDS(2).fit(X), gm.MDS(2, dissimilarity="precomputed").fit(between(X))
    assert_allclose(a.embedding_, b.embedding_, atol=1e-9)
    assert_allclose(a.transform(new), b.transform(cdist(new, X)), atol=1e-8)
    assert_allclose(a.transform(X), a.embedding_, atol=1e-12)
    oracle = PCA(2).fit(X)
    assert_allclose(np.abs(a.embedding_), np.abs(oracle.transform(X)), atol=1e-9)
    assert_allclose(np.abs(a.transform(new)), np.abs(oracle.transform(new)), atol=1e-9)
    assert_allclose(a.eigenvalues_, oracle.singular_values_**2)
    assert_allclose(a.stress_, stress(a.embedding_, between(X)))
    assert (a.embedding_[np.abs(a.embedding_).argmax(axis=0), [0, 1]] > 0).all()


def test_distances_of_no_points_are_reported():
    D = np.array([[0.0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])  # three ends of a star
    model = gm.MDS(3, dissimilarity="precomputed").fit(D)
    J = np.eye(4) - 0.25
    spectrum = np.linalg.eigvalsh(-0.5 * J @ D**2 @ J)
    assert_allclose(model.least_eigenvalue_, spectrum[0])
    assert_allclose(model.eigenvalues_, spectrum[::-1][:3], atol=1e-12)
    assert "no points in any space" in model.certificate_.note
    better = gm.MDS(3, dissimilarity="precomputed", method="smacof").fit(D)
    assert better.stress_ < model.stress_


def test_many_rows_use_the_method_of_few_eigenvectors():
    X = points(3, n=1100, d=4)
    D = between(X)
    a, b = gm.MDS(2, dissimilarity="precomputed").fit(D), gm.MDS(2).fit(X)
    assert a.certificate_.holds
    assert_allclose(a.embedding_, b.embedding_, atol=1e-7)
    wide = gm.MDS(2).fit(X[:20].repeat(3, axis=1))
    assert_allclose(between(wide.embedding_), np.sqrt(3) * between(gm.MDS(2).fit(X[:20]).embedding_), atol=1e-9)


@SEEDS
def test_sources_and_units(seed):
    X = np.where(points(seed) > 6, points(seed), 0.0)
    reference = gm.MDS(2).fit(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for source in (frame, pl.from_pandas(frame), gm.scan(X), gm.scan(frame), np.asfortranarray(X)):
        model = gm.MDS(2).fit(source)
        assert_array_equal(model.embedding_, reference.embedding_)
        assert_array_equal(model.transform(source), reference.transform(X))
    for other in (sp.csr_matrix(X), sp.csr_matrix(X[:2])):
        n = other.shape[0]
        model = gm.MDS(2).fit(other)
        assert_allclose(model.embedding_, gm.MDS(2).fit(X[:n]).embedding_, atol=1e-9)
        assert_allclose(model.transform(other), model.embedding_, atol=1e-9)
    assert_allclose(gm.MDS(2).fit(X * 1e200).embedding_, reference.embedding_ * 1e200, rtol=1e-9)
    small = gm.MDS(2, dissimilarity="precomputed").fit(between(X) * 1e-200)
    assert_allclose(between(small.embedding_ * 1e200), between(reference.embedding_), atol=1e-7)
    tiny = gm.MDS(2, method="smacof", tol=1e-8, max_iter=5000).fit(X * 1e-200)
    usual = gm.MDS(2, method="smacof", tol=1e-8, max_iter=5000).fit(X)
    assert_allclose(tiny.embedding_ * 1e200, usual.embedding_, atol=1e-4)
    assert_allclose(tiny.relative_stress_, usual.relative_stress_, rtol=1e-6)
    assert_array_equal(gm.MDS(2).set_output(transform="pandas").fit_transform(frame).columns, ["mds0", "mds1"])


@pytest.mark.parametrize("method", ["classical", "smacof"])
def test_weights_equal_repetition(method):
    X = points(4, n=25)
    w = np.random.default_rng(5).integers(0, 4, 25)
    D = between(X)
    given = {"method": method, "tol": 1e-10, "max_iter": 20000}
    a = gm.MDS(2, **given).fit(X, sample_weight=w)
    twice = np.repeat(np.arange(25), w)
    b = gm.MDS(2, **given).fit(X[twice])
    assert_allclose(a.embedding_[twice], b.embedding_, atol=1e-7)
    assert_allclose(a.stress_, b.stress_, rtol=1e-8)
    assert_allclose(a.transform(X[w == 0]), a.embedding_[w == 0], atol=1e-7)
    c = gm.MDS(2, dissimilarity="precomputed", **given).fit(D, sample_weight=w)
    assert_allclose(c.embedding_, a.embedding_, atol=1e-7)


# smacof


@SEEDS
def test_the_stress_is_that_of_scikit_learn_from_the_same_start(seed):
    D = between(points(seed, d=5))
    start = np.random.default_rng(seed).standard_normal((40, 2))
    model = gm.MDS(2, dissimilarity="precomputed", method="smacof", init=start, tol=1e-8, max_iter=20000).fit(D)
    _, oracle = smacof(D, n_components=2, init=start, n_init=1, max_iter=20000, eps=1e-16, normalized_stress=False)
    assert_allclose(model.stress_, oracle, rtol=1e-8)
    assert_allclose(model.stress_, stress(model.embedding_, D), rtol=1e-10)


@SEEDS
def test_stress_never_rises_and_the_certificate_is_the_gradient(seed):
    X = points(seed, d=6)
    D = between(X)
    W = np.random.default_rng(seed).uniform(0.1, 3.0, D.shape)
    W = W + W.T
    for weights in (None, W, -1.0):
        model = gm.MDS(2, method="smacof", weights=weights).fit(X)
        w = 1.0 if weights is None else W if weights is W else np.where(D > 0, D, np.inf) ** -1.0
        values = np.array(model.history_)[:, 1]
        assert (np.diff(values) <= 0).all()
        assert model.stress_ <= values[0]
        assert_allclose(model.stress_, stress(model.embedding_, D, w), rtol=1e-9)
        assert_allclose(model.relative_stress_, np.sqrt(model.stress_ / (0.5 * (w * D**2).sum())))
        eps = 1e-6
        flat = model.embedding_.reshape(-1)
        some = np.arange(0, len(flat), 7)
        up = np.array([stress(flat + eps * np.eye(len(flat))[j], D, w) for j in some])
        down = np.array([stress(flat - eps * np.eye(len(flat))[j], D, w) for j in some])
        assert np.abs((up - down) / (2 * eps)).max() < 1e-4 * model.stress_
        assert model.certificate_.holds
        assert model.certificate_.claim == "stationary point"
        best = minimize(stress, flat, args=(D, w), method="BFGS", options={"gtol": 1e-6, "maxiter": 40})
        assert best.fun > model.stress_ * (1 - 1e-6)


def test_the_gradient_of_the_certificate_is_that_of_the_stress():
    from gramian.spectral.embedding.smacof import Stress

    D = between(points(0, n=8))
    W = np.random.default_rng(0).uniform(0.5, 2.0, D.shape)
    W = np.triu(W, 1) + np.triu(W, 1).T
    Y = np.random.default_rng(1).standard_normal((8, 2))
    Y -= Y.mean(axis=0)
    problem = Stress(D, W)

    def gradient(flat):
        _, pull = problem.at(flat.reshape(8, 2))
        return 2.0 * (problem.times(flat.reshape(8, 2)) - pull).reshape(-1)

    assert check_grad(lambda flat: problem.at(flat.reshape(8, 2))[0], gradient, Y.reshape(-1)) < 1e-4
    expected = np.linalg.norm(gradient(Y.reshape(-1))) / np.linalg.norm(2.0 * problem.times(Y))
    assert_allclose(problem.gradient(Y), expected, rtol=1e-10)


def test_restarts_and_random_starts():
    X = points(6, d=6)
    one = gm.MDS(1, method="smacof", init="random", random_state=0).fit(X)
    many = gm.MDS(1, method="smacof", init="random", n_init=6, random_state=0).fit(X)
    assert many.stress_ <= one.stress_
    assert "best of 6 starts" in str(many.solver_)
    again = gm.MDS(1, method="smacof", init="random", n_init=6, random_state=0).fit(X)
    assert_array_equal(again.embedding_, many.embedding_)


def test_new_points_of_least_stress():
    X, new = points(7, d=4), points(8, n=6, d=4)
    model = gm.MDS(2, method="smacof", tol=1e-9, max_iter=5000).fit(X)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-4)
    D = cdist(new, X)
    found = model.transform(new)
    for place, delta in zip(found, D, strict=True):

        def own(y, delta=delta):
            return float(((np.linalg.norm(model.embedding_ - y, axis=1) - delta) ** 2).sum())

        tries = [minimize(own, start, method="BFGS").fun for start in model.embedding_[::4]]
        assert own(place) <= min(tries) * (1 + 1e-3)
    exact = gm.MDS(4, method="smacof", tol=1e-10).fit(X)
    assert_allclose(cdist(exact.transform(new), exact.embedding_), D, atol=1e-6)
    given = gm.MDS(2, method="smacof", dissimilarity="precomputed", tol=1e-9, max_iter=5000).fit(between(X))
    assert_allclose(given.transform(D), found, atol=1e-6)


def test_threads_give_the_same_bits():
    X = points(9, n=300, d=5)
    found = []
    for count in (1, 2):
        with gm.threads(count):
            found.append([gm.MDS(2, method=m, tol=1e-4).fit(X).embedding_ for m in ("classical", "smacof")])
    assert_array_equal(found[0], found[1])


# edges


@pytest.mark.parametrize("method", ["classical", "smacof"])
def test_one_row_and_equal_rows(method):
    assert_array_equal(gm.MDS(2, method=method).fit([[3.0, 4.0]]).embedding_, np.zeros((1, 2)))
    same = gm.MDS(2, method=method).fit(np.full((5, 2), 7.0))
    assert_array_equal(same.embedding_, np.zeros((5, 2)))
    assert same.stress_ == same.relative_stress_ == 0.0
    X = np.repeat(points(0, n=10, d=2), 2, axis=0)
    assert_allclose(between(gm.MDS(2, method=method).fit(X).embedding_), between(X), atol=1e-5)


def test_wrong_input_is_named():
    X = points(0)
    D = between(X)
    for parameters, message in (
        ({"n_components": 0}, "n_components is 0"),
        ({"method": "sammon"}, "method is 'sammon'"),
        ({"dissimilarity": "cosine"}, "dissimilarity is 'cosine'"),
        ({"weights": -1.0}, "classical"),
        ({"method": "smacof", "init": "best"}, "init is 'best'"),
        ({"method": "smacof", "init": np.zeros((3, 2))}, "must be finite numbers of shape"),
        ({"method": "smacof", "weights": np.ones((2, 2))}, "one number a pair"),
        ({"method": "smacof", "weights": -np.ones((40, 40))}, "at least 0"),
        ({"method": "smacof", "weights": np.kron(np.eye(2), np.ones((20, 20)))}, "in 2 parts"),
        ({"dissimilarity": "precomputed"}, "Negative"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"n_init": 0}, "n_init is 0"),
        ({"tol": 0.0}, "tol is 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            gm.MDS(**parameters).fit(X)
    given = gm.MDS(dissimilarity="precomputed")
    for change, message in (((0, 1, 9.0), "symmetric"), ((2, 2, 1.0), "with itself is 0"), ((1, 0, -1.0), "Negative")):
        bad = D.copy()
        bad[change[0], change[1]] = change[2]
        with pytest.raises(ValueError, match=message):
            given.fit(bad)
    with pytest.raises(ValueError, match="must be square"):
        given.fit(D[:5])
    with pytest.raises(TypeError, match="Sparse dissimilarities"):
        given.fit(sp.csr_matrix(D))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        gm.MDS().fit(X)
    with pytest.warns(gm.ConvergenceWarning, match="raise max_iter"):
        gm.MDS(method="smacof", max_iter=2).fit(points(0))
    text = str(gm.MDS().fit(points(0)).summary())
    assert "relative stress" in text
