"""Locally linear embedding: against its definition, and scikit-learn's reconstruction error."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_s_curve, make_swiss_roll
from sklearn.manifold import LocallyLinearEmbedding

import gramian as gm
from gramian.spectral.embedding import lle

SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])


@SEEDS
@pytest.mark.parametrize("make", [make_swiss_roll, make_s_curve])
def test_the_error_and_the_map_are_those_of_scikit_learn(seed, make):
    X, _ = make(300, random_state=seed)
    model = gm.LLE(n_neighbors=10).fit(X)
    oracle = LocallyLinearEmbedding(n_neighbors=10, n_components=2, eigen_solver="dense").fit(X)
    assert_allclose(model.reconstruction_error_, oracle.reconstruction_error_, rtol=1e-6)
    assert_allclose(np.abs(model.embedding_), np.abs(oracle.embedding_) * np.sqrt(300), atol=1e-4)
    assert model.certificate_.holds


@SEEDS
def test_the_definition(seed):
    X = np.random.default_rng(seed).standard_normal((70, 3))
    model = gm.LLE(n_neighbors=8, n_components=3, regularization=1e-2).fit(X)
    W = np.zeros((70, 70))
    for i in range(70):
        near = np.argsort(np.linalg.norm(X - X[i], axis=1))[1:9]
        Z = X[near] - X[i]
        C = Z @ Z.T
        w = np.linalg.solve(C + 1e-2 * np.trace(C) * np.eye(8), np.ones(8))
        W[i, near] = w / w.sum()
    assert_allclose(model.weights_.toarray(), W, atol=1e-10)
    M = (np.eye(70) - W).T @ (np.eye(70) - W)
    values = np.linalg.eigvalsh(M)
    assert_allclose(model.eigenvalues_, values[1:4], atol=1e-12)
    Y = model.embedding_
    assert_allclose(Y.mean(axis=0), 0.0, atol=1e-10)
    assert_allclose(Y.T @ Y / 70, np.eye(3), atol=1e-10)
    assert_allclose(((Y - W @ Y) ** 2).sum() / 70, model.reconstruction_error_, rtol=1e-8)
    new = X[:5] + 0.05
    for place, x in zip(model.transform(new), new, strict=True):
        near = np.argsort(np.linalg.norm(X - x, axis=1))[:8]
        Z = X[near] - x
        C = Z @ Z.T
        w = np.linalg.solve(C + 1e-2 * np.trace(C) * np.eye(8), np.ones(8))
        assert_allclose(place, w / w.sum() @ Y[near], atol=1e-9)
    assert_allclose(model.transform(X), Y)


def test_the_sparse_method_agrees_with_the_dense_one(monkeypatch):
    X, _ = make_s_curve(400, random_state=0)
    whole = gm.LLE().fit(X)
    monkeypatch.setattr(lle, "DENSE", 100)
    few = gm.LLE().fit(X)
    assert "shift" in str(few.solver_)
    assert few.certificate_.holds
    assert_allclose(few.eigenvalues_, whole.eigenvalues_, rtol=1e-6)
    assert_allclose(few.embedding_, whole.embedding_, atol=1e-5)


def test_shift_and_invert_separates_disconnected_components():
    X = np.random.default_rng(3).random((1200, 2))
    X[400:800] += 100.0
    X[800:] -= 100.0
    with pytest.warns(gm.PrecisionWarning, match=r"disconnected \(3 components\)"):
        model = gm.LLE(n_neighbors=8).fit(X)
    assert "shift" in str(model.solver_)
    assert_allclose(model.eigenvalues_, 0.0, atol=1e-12)
    places = {tuple(row) for row in model.embedding_.round(5)}
    assert len(places) == 3


def test_a_disconnected_neighbour_graph_is_warned_of():
    X = np.random.default_rng(0).standard_normal((60, 2))
    X[30:] += 100.0
    with pytest.warns(gm.PrecisionWarning, match=r"disconnected \(2 components\)"):
        model = gm.LLE(n_neighbors=5).fit(X)
    assert model.n_parts_ == 2
    assert not model.certificate_.holds
    assert "the neighbour graph is disconnected" in model.certificate_.note
    assert len(np.unique(model.embedding_[:30, 0].round(6))) == 1  # the first axis separates the components


def test_sources_duplicates_and_threads():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((80, 6)) < 0.6, rng.standard_normal((80, 6)), 0.0)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    reference = gm.LLE(10).fit(X)
    assert_array_equal(gm.LLE(10).fit(frame).embedding_, reference.embedding_)
    assert_array_equal(gm.LLE(10).fit(gm.scan(frame)).embedding_, reference.embedding_)
    sparse = gm.LLE(10).fit(sp.csr_matrix(X))
    assert_allclose(sparse.reconstruction_error_, reference.reconstruction_error_, rtol=1e-8)
    assert_allclose(sparse.transform(sp.csr_matrix(X[:9])), sparse.embedding_[:9], atol=1e-10)
    assert_allclose(gm.LLE(10).fit(X * 1e-180).eigenvalues_, reference.eigenvalues_, rtol=1e-6)
    for count in (1, 2):
        with gm.threads(count):
            assert_array_equal(gm.LLE(10).fit(X).embedding_, reference.embedding_)
    twice = gm.LLE(10).fit(np.repeat(X[:40], 2, axis=0))
    assert np.isfinite(twice.embedding_).all()
    same = gm.LLE(4, 1).fit(np.vstack([np.ones((9, 2)), np.arange(18.0).reshape(9, 2)]))
    assert np.isfinite(same.embedding_).all()
    assert_array_equal(gm.LLE(10).set_output(transform="pandas").fit_transform(frame).columns, ["lle0", "lle1"])
    assert "reconstruction error" in str(reference.summary())


def test_wrong_input_is_named():
    X = np.random.default_rng(0).standard_normal((10, 3))
    for parameters, message in (
        ({}, "n_neighbors is 12 and X has n_samples = 10; it must be at most 9"),
        ({"n_neighbors": 3, "n_components": 10}, "n_components is 10"),
        ({"n_neighbors": 0}, "n_neighbors is 0"),
        ({"regularization": 0.0}, "regularization is 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            gm.LLE(**parameters).fit(X)
    X[4, 2] = np.inf
    with pytest.raises(ValueError, match="row 4"):
        gm.LLE(3).fit(X)
