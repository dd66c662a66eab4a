"""t-SNE: similarities and forces against their definitions, maps against scikit-learn's, and its engines."""

import pickle
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.manifold import TSNE as Peer
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier

import gramian as gm
from gramian.spectral.embedding.affinities import affinities
from gramian.spectral.embedding.tsne_gradient import Forces

SEEDS = pytest.mark.parametrize("seed", [0, 1])


def clusters(seed, n=150, d=6, k=5):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.standard_normal((n, d)) + 5.0 * rng.standard_normal((k, d))[y], y


def divergence(flat, P):
    """KL(P ‖ Q) and its gradient as defined, all pairs."""
    Y = flat.reshape(len(P), -1)
    kernel = 1.0 / (1.0 + cdist(Y, Y) ** 2)
    np.fill_diagonal(kernel, 0.0)
    Q = kernel / kernel.sum()
    used = P > 0
    R = 4.0 * (P - Q) * kernel
    return float((P[used] * np.log(P[used] / Q[used])).sum()), R.sum(axis=1)[:, None] * Y - R @ Y


@SEEDS
def test_every_row_has_the_perplexity(seed):
    X, _ = clusters(seed, n=60)
    X[:4] = X[0]  # equal rows too
    n, k, perplexity = 60, 25, 8.0
    P = affinities(X, perplexity).toarray()
    assert_allclose(P, P.T)
    assert_allclose(P.sum(), 1.0)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    whole = np.zeros((n, n))
    for i in range(n):
        near = np.argsort(D[i], kind="stable")[:k]
        low, high = 1e-12, 1e12
        for _ in range(300):
            b = np.sqrt(low * high)
            p = np.exp(-b * (D[i, near] ** 2 - D[i, near].min() ** 2))
            p /= p.sum()
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            low, high = (b, high) if entropy > np.log(perplexity) else (low, b)
        whole[i, near] = p
    assert_allclose(P, (whole + whole.T) / (2 * n), atol=1e-6)  # of equal rows either may be among the nearest


@SEEDS
@pytest.mark.parametrize("r", [1, 2, 3])
def test_forces_are_the_gradient(seed, r):
    X, _ = clusters(seed, n=70)
    P = affinities(X, 10.0)
    Y = np.random.default_rng(seed).standard_normal((70, r)) * 3.0
    forces = Forces.of(P)
    value, gradient = divergence(Y, P.toarray())
    found, exact, pull = forces.exact(Y)
    assert_allclose(found, value, rtol=1e-10)
    assert_allclose(exact, gradient, atol=1e-12)
    quick, half, Z = forces.gradient(Y)
    assert_allclose(quick, gradient, atol=1e-5 * np.abs(gradient).max())
    assert_allclose(half, pull, rtol=1e-5)
    kernel = 1.0 / (1.0 + cdist(Y, Y) ** 2)
    assert_allclose(Z, kernel.sum() - 70, rtol=1e-5)
    strong, _, _ = forces.gradient(Y, 12.0)
    assert_allclose(strong - quick, 11.0 * (quick + 4.0 * _push(Y)), atol=1e-4 * np.abs(strong).max())


def _push(Y):
    kernel = 1.0 / (1.0 + cdist(Y, Y) ** 2)
    np.fill_diagonal(kernel, 0.0)
    R = kernel**2 / kernel.sum()
    return R.sum(axis=1)[:, None] * Y - R @ Y


@SEEDS
def test_maps_are_as_good_as_those_of_scikit_learn(seed):
    X, y = clusters(seed)
    model = gm.TSNE(perplexity=15, max_iter=750).fit(X)
    peer = Peer(perplexity=15, max_iter=750, init="pca", method="exact", random_state=0).fit_transform(X)
    P = affinities(X, 15.0).toarray()
    assert_allclose(model.kl_, divergence(model.embedding_, P)[0], rtol=1e-10)
    assert model.kl_ <= divergence(peer.astype(float), P)[0] * 1.2  # of few rows there are several good maps
    assert trustworthiness(X, model.embedding_) > 0.95
    assert KNeighborsClassifier(5).fit(model.embedding_, y).score(model.embedding_, y) > 0.97
    assert model.history_[-1][1] < model.history_[0][1]
    assert model.engine_ == "exact"
    _, gradient, pull = Forces.of(affinities(X, 15.0)).exact(model.embedding_)
    assert_allclose(model.certificate_.value, np.linalg.norm(gradient) / pull)
    assert "other starts may end lower" in str(model.certificate_)


def test_a_map_that_has_settled_says_so():
    X, _ = clusters(0, n=40, k=2)
    model = gm.TSNE(perplexity=5, max_iter=3000, tol=1e-3).fit(X)
    assert model.n_iter_ < 3000
    assert model.certificate_.holds
    assert model.certificate_.claim == "stationary point"


def test_the_engine_of_scikit_learn():
    X, _ = clusters(1, n=60)
    model = gm.TSNE(perplexity=8, engine="sklearn", max_iter=300).fit(X)
    assert model.engine_ == "sklearn"
    assert_allclose(model.kl_, divergence(model.embedding_, affinities(X, 8.0).toarray())[0], rtol=1e-10)
    assert not hasattr(model, "transform")
    many = gm.TSNE(4, perplexity=5, engine="sklearn", max_iter=250).fit(X[:30])
    assert many.embedding_.shape == (30, 4)
    assert gm.TSNE(4, perplexity=5, max_iter=250).fit(X[:30]).engine_ == "exact"


def test_new_rows_are_refused_without_an_embedding_for_them():
    X, _ = clusters(0, n=30)
    model = gm.TSNE(perplexity=5, max_iter=250).fit(X)
    with pytest.raises(AttributeError) as caught:
        model.transform(X)
    assert "no place for new rows" in str(caught.value.__cause__)
    assert "opentsne" in str(caught.value.__cause__)


def test_opentsne_where_it_is_installed_and_asked_for(monkeypatch):
    X, _ = clusters(0, n=30)
    monkeypatch.setattr("gramian.spectral.embedding.tsne.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install"):
        gm.TSNE(perplexity=5, engine="opentsne").fit(X)
    asked = {}

    class Places(np.ndarray):
        def transform(self, new):
            return np.zeros((len(new), 2))

    class Stand:
        def __init__(self, **parameters):
            asked.update(parameters)

        def fit(self, values):
            for look in asked.get("callbacks", ()):
                asked["looks"] = next(i for i in range(1, 9) if look(i * asked["callbacks_every_iters"], 1.0, values))
            return (1e4 * asked["initialization"]).view(Places)

    monkeypatch.setattr("gramian.spectral.embedding.tsne.find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "openTSNE", types.SimpleNamespace(TSNE=Stand))
    model = gm.TSNE(perplexity=5, engine="opentsne", max_iter=600).fit(X)
    assert asked["early_exaggeration_iter"] + asked["n_iter"] == 600
    assert asked["perplexity"] == 5
    assert asked["learning_rate"] == "auto"
    gm.TSNE(perplexity=5, engine="opentsne", learning_rate=10.0).fit(X)
    assert asked["learning_rate"] == 40.0
    assert model.transform(X[:3]).shape == (3, 2)
    assert np.isfinite(model.kl_)
    with pytest.warns(gm.ConvergenceWarning, match="ended by time=1e-09"):
        ended = gm.TSNE(perplexity=5, engine="opentsne", time=1e-9).fit(X)
    assert asked["looks"] == 1
    assert ended.n_iter_ == asked["callbacks_every_iters"]
    with pytest.raises(ValueError, match="at most 2"):
        gm.TSNE(3, perplexity=5, engine="opentsne").fit(X)
    with pytest.raises(ValueError, match="a third of n - 1"):
        gm.TSNE(perplexity=20, engine="opentsne").fit(X)


def test_opentsne_itself():
    pytest.importorskip("openTSNE")
    X, y = clusters(3, n=260)
    given = {"perplexity": 15, "engine": "opentsne"}
    with gm.threads(1):
        model, again = gm.TSNE(**given).fit(X[:200]), gm.TSNE(**given).fit(X[:200])
        assert_array_equal(model.embedding_, again.embedding_)
        places = again.embedding_.copy()
        near = np.abs(again.transform(X[:200]) - again.embedding_)
        assert np.median(near) < 0.05 * places.std()  # rows of the fit come near to where they are
        assert_array_equal(again.embedding_, places)
        assert_array_equal(model.transform(X[200:]), again.transform(X[200:]))
        assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X[200:]), model.transform(X[200:]))
        far = gm.TSNE(**given).fit(X[:200] * 2.0**700)
        assert_array_equal(far.embedding_, model.embedding_)
        assert_array_equal(far.transform(X[200:] * 2.0**700), model.transform(X[200:]))
    assert_allclose(model.kl_, divergence(model.embedding_, affinities(X[:200], 15.0).toarray())[0], rtol=1e-8)
    assert model.kl_ <= 1.3 * gm.TSNE(perplexity=15).fit(X[:200]).kl_
    assert KNeighborsClassifier(5).fit(model.embedding_, y[:200]).score(model.transform(X[200:]), y[200:]) > 0.9


def test_units_and_offsets_do_not_matter():
    X, _ = clusters(4, n=60, d=20)
    X = np.round(X * 2.0**10) / 2.0**10  # an offset then rounds nothing
    given = {"perplexity": 8, "max_iter": 250}
    P = affinities(X - X.mean(axis=0), 8.0).toarray()
    for changed in (X * 2.0**600, X * 2.0**-600, X + 2.0**30):
        model = gm.TSNE(**given).fit(changed)
        assert_allclose(model.kl_, divergence(model.embedding_, P)[0], rtol=1e-6)


def test_starts_sources_and_threads():
    X, _ = clusters(2, n=600, d=4)
    given = {"perplexity": 20, "max_iter": 260}
    found = []
    for count in (1, 2):
        with gm.threads(count):
            found.append(gm.TSNE(**given).fit(X).embedding_)
    assert_array_equal(found[0], found[1])
    assert_array_equal(gm.TSNE(**given).fit(gm.scan(X)).embedding_, found[0])
    X = X[:60]
    given["perplexity"] = 10
    a = gm.TSNE(**given, init="random", random_state=3).fit(X)
    assert_array_equal(gm.TSNE(**given, init="random", random_state=3).fit(X).embedding_, a.embedding_)
    assert np.abs(gm.TSNE(**given, init="random", random_state=4).fit(X).embedding_ - a.embedding_).max() > 1e-3
    start = np.random.default_rng(0).standard_normal((60, 2))
    assert gm.TSNE(**given, init=start).fit(X).embedding_.shape == (60, 2)
    sparse = gm.TSNE(**given).fit(sp.csr_matrix(np.where(X > 0, X, 0.0)))
    assert_allclose(sparse.kl_, gm.TSNE(**given).fit(np.where(X > 0, X, 0.0)).kl_, rtol=0.05)
    flat = gm.TSNE(**given).fit(X[:, :1])
    assert flat.embedding_.std(axis=0).min() > 0
    same = gm.TSNE(perplexity=5, max_iter=250).fit(np.ones((12, 2)))
    assert np.isfinite(same.embedding_).all()
    twice = gm.TSNE(**given).fit(np.repeat(X[:30], 2, axis=0))
    assert np.isfinite(twice.embedding_).all()
    assert "kl" in str(a.summary())


def test_wrong_input_is_named():
    X, _ = clusters(0, n=20)
    for parameters, message in (
        ({}, "perplexity is 30 and X has n_samples = 20"),
        ({"perplexity": 0.5}, "at least 1"),
        ({"perplexity": 5, "engine": "fft"}, "engine is 'fft'"),
        ({"perplexity": 5, "init": "spectral"}, "init is 'spectral'"),
        ({"perplexity": 5, "init": np.zeros((3, 2))}, "shape"),
        ({"perplexity": 5, "learning_rate": "fast"}, "learning_rate is 'fast'"),
        ({"perplexity": 5, "learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"perplexity": 5, "max_iter": 10}, "max_iter is 10"),
        ({"perplexity": 5, "early_exaggeration": 0.5}, "early_exaggeration is 0.5"),
        ({"perplexity": 5, "n_components": 0}, "n_components is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            gm.TSNE(**parameters).fit(X)
    with pytest.raises(ValueError, match="more rows than one"):
        gm.TSNE().fit(X[:1])
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        gm.TSNE(perplexity=5).fit(X)


def test_rows_without_clusters_do_not_meet():
    X = np.random.default_rng(0).standard_normal((6000, 10))
    model = gm.TSNE(max_iter=350).fit(X)
    assert (model.embedding_.std(axis=0) > 1.0).all()
    assert model.kl_ < 4.0
