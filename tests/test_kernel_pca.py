"""Kernel PCA against scikit-learn's, PCA itself, weights as repetition; pre-images that come back."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA as Peer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian.kernels import RBF, Linear, Polynomial, Precomputed, Spectrum
from gramian.spectral.pca import kernel_pca


def table(seed, n=150, d=4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 2.0 * rng.integers(0, 2, (n, 1)) * np.arange(1, d + 1)


CASES = [
    (RBF(2.0), {"kernel": "rbf", "gamma": 1 / 8}),
    (Polynomial(2, 1.0), {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}),
    (0.5 * RBF(2.0) + Linear(), {"kernel": lambda x, z: 0.5 * np.exp(-((x - z) ** 2).sum() / 8) + x @ z}),
    ("linear", {"kernel": "linear"}),
    ("cosine", {"kernel": "cosine"}),
]


@pytest.mark.parametrize(("kernel", "theirs"), CASES, ids=[repr(kernel) for kernel, _ in CASES])
@pytest.mark.parametrize("large", [False, True])
def test_against_scikit_learn(kernel, theirs, large, monkeypatch):
    if large:
        monkeypatch.setattr(kernel_pca, "DENSE", 50)
        monkeypatch.setattr(kernel_pca, "SHARE", 0.5)
    X, new = table(0), table(1, 20)
    r = 3
    model = gm.PCA(r, kernel=kernel).fit(X)
    peer = Peer(r, **theirs, eigen_solver="dense").fit(X)
    np.testing.assert_allclose(model.singular_values_**2, peer.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(model.variances_, peer.eigenvalues_ / 150, rtol=1e-8)
    for given in (X, new):
        mine, other = model.transform(given), peer.transform(given)
        np.testing.assert_allclose(mine, other * np.sign((mine * other).sum(axis=0)), atol=1e-6 * np.abs(other).max())
    assert model.certificate_.holds
    assert model.solver_.name == ("block Krylov" if large else "LAPACK")
    assert 0 < model.variance_shares_.sum() <= 1.0 + 1e-12
    np.testing.assert_allclose(model.transform(X).std(axis=0) ** 2, model.variances_, rtol=1e-8)
    assert model.reconstruction_error() == pytest.approx(model.reconstruction_error(X), rel=1e-6)


def test_a_linear_kernel_is_pca():
    X = table(2)
    model, plain = gm.PCA(3, kernel=Linear()).fit(X), gm.PCA(3).fit(X)
    np.testing.assert_allclose(model.variances_, plain.variances_, rtol=1e-10)
    np.testing.assert_allclose(model.variance_shares_, plain.variance_shares_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(plain.transform(X)), atol=1e-8)
    back = plain.inverse_transform(plain.transform(X))
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), back, atol=1e-7)
    assert model.reconstruction_error(X) == pytest.approx(plain.reconstruction_error(X), rel=1e-8)
    white = gm.PCA(3, kernel="linear", whiten=True).fit(X)
    np.testing.assert_allclose(white.transform(X).std(axis=0), 1.0, rtol=1e-8)
    np.testing.assert_allclose(white.inverse_transform(white.transform(X)), back, atol=1e-7)


def test_weights_sources_and_precomputed():
    X = table(3, 60)
    w = np.random.default_rng(0).integers(0, 3, 60)
    k = RBF(2.0)
    reference = gm.PCA(4, kernel=k).fit(np.repeat(X, w, axis=0))
    for given in (
        gm.PCA(4, kernel=k).fit(X, sample_weight=w),
        gm.PCA(4, kernel=k).fit(gm.scan(X, sample_weight=w)),
        gm.PCA(4, kernel=k).fit(sp.csr_array(X), sample_weight=w),
        gm.PCA(4, kernel=k, rank=60).fit(X, sample_weight=w),
    ):
        np.testing.assert_allclose(given.variances_, reference.variances_, rtol=1e-8)
        np.testing.assert_allclose(np.abs(given.transform(X)), np.abs(reference.transform(X)), atol=1e-6)
    with pytest.raises(ValueError, match="bring their own weights"):
        gm.PCA(4, kernel=k).fit(gm.scan(X), sample_weight=w)
    K = k(X)
    given = gm.PCA(4, kernel=Precomputed()).fit(K, sample_weight=w)
    np.testing.assert_allclose(given.variances_, reference.variances_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(given.transform(k(X[:7], X))), np.abs(reference.transform(X[:7])), atol=1e-8)
    with pytest.raises(ValueError, match="no way back"):
        given.inverse_transform(np.zeros((1, 4)))
    with pytest.raises(ValueError, match="no kernel"):
        gm.PCA(2, kernel=Precomputed()).fit(-K)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = gm.PCA(2, kernel="rbf").fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    assert list(model.set_output(transform="pandas").transform(frame).columns) == ["pca0", "pca1"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    assert str(model.summary()).startswith("PCA")


def test_words():
    words = ["abab", "baba", "abba", "cdcd", "dcdc", "ccdd"]
    model = gm.PCA(1, kernel=Spectrum(2)).fit(words)
    T = model.transform(words)[:, 0]
    assert (T[:3] > 0).all() != (T[3:] > 0).all()
    with pytest.raises(ValueError, match="no way back"):
        model.inverse_transform([[0.0]])
    with pytest.raises(ValueError, match="scrambled columns"):
        gm.PCA(kernel=Spectrum(2)).fit(words)


def test_number_of_components():
    X, y = make_circles(300, factor=0.3, noise=0.03, random_state=0)
    k = RBF(0.5)
    values = Peer(None, kernel="rbf", gamma=2.0, eigen_solver="dense").fit(X).eigenvalues_
    share = np.cumsum(values) / values.sum()
    model = gm.PCA(0.9, kernel=k).fit(X)
    assert model.n_components_ == int((share < 0.9).sum()) + 1
    assert gm.PCA(0.9, kernel=k, rank=100).fit(X).n_components_ == model.n_components_
    auto = gm.PCA(kernel=k).fit(X)
    assert 1 <= auto.n_components_ < 30
    assert 1 <= gm.PCA(kernel=k, rank=80).fit(X).n_components_ < 30
    whole = gm.PCA(None, kernel=k).fit(X[:40])
    assert whole.n_components_ == 40
    assert "variance 0" in whole.certificate_.note
    assert gm.PCA(None, kernel=k, rank=10).fit(X[:40]).n_components_ <= 10
    # three circles apart in the first components that a plane cannot tell
    ring = gm.PCA(4, kernel=k).fit_transform(X)
    assert gm.LogisticRegression(alpha=1e-3).fit(ring, y).score(ring, y) > 0.95
    with pytest.raises(ValueError, match="at most 40"):
        gm.PCA(41, kernel=k).fit(X[:40])
    with pytest.raises(ValueError, match="landmarks have at most"):
        gm.PCA(20, kernel=k, rank=10).fit(X[:40])


def test_many_are_looked_for_step_by_step(monkeypatch):
    X = table(4, 200)
    reference = gm.PCA(0.95, kernel=RBF(1.5)).fit(X)
    monkeypatch.setattr(kernel_pca, "DENSE", 50)
    monkeypatch.setattr(kernel_pca, "SHARE", 0.5)
    model = gm.PCA(0.95, kernel=RBF(1.5)).fit(X)
    assert model.n_components_ == reference.n_components_ > 20
    np.testing.assert_allclose(model.variances_, reference.variances_, rtol=1e-8)


def test_landmarks_and_threads():
    X = table(5, 300)
    exact = gm.PCA(3, kernel=RBF(3.0)).fit(X)
    near = gm.PCA(3, kernel=RBF(3.0), rank=100).fit(X)
    np.testing.assert_allclose(near.variances_, exact.variances_, rtol=1e-3)
    np.testing.assert_allclose(np.abs(near.transform(X)), np.abs(exact.transform(X)), atol=5e-3)
    assert "100 landmark points for 300 rows" in str(near.solver_)
    assert near.inverse_transform(near.transform(X[:5])).shape == (5, 4)
    found = []
    for count in (1, 2):
        with gm.threads(count):
            found.append(gm.PCA(3, kernel=RBF(3.0)).fit(X).transform(X))
    np.testing.assert_array_equal(found[0], found[1])


def test_pre_images_remove_noise():
    rng = np.random.default_rng(6)
    angle = rng.uniform(0, 2 * np.pi, 400)
    clean = np.c_[np.cos(angle), np.sin(angle)]
    X = clean + 0.15 * rng.standard_normal(clean.shape)
    model = gm.PCA(4, kernel=RBF(0.7)).fit(X)
    back = model.inverse_transform(model.transform(X))
    off = [np.abs(np.hypot(*Z.T) - 1.0).mean() for Z in (X, back)]
    assert off[1] < 0.5 * off[0]
    # a fixed point: nothing near does better
    T = model.transform(X[:5])
    g = 1.0 / 400 + T @ model.dual_coef_.T

    def nearness(Z):
        return (g * RBF(0.7)(Z, X)).sum(axis=1)

    at = nearness(back[:5])
    for step in 0.02 * rng.standard_normal((30, 5, 2)):
        assert (nearness(back[:5] + step) <= at + 1e-10).all()
    # with all components, the points themselves
    whole = gm.PCA(None, kernel=RBF(0.7)).fit(X[:60])
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(X[:60])), X[:60], atol=0.05)


def test_pre_images_by_regression():
    X = table(7, 200, 3)
    model = gm.PCA(6, kernel=Polynomial(2, 1.0)).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert ((back - X) ** 2).mean() < 0.05 * X.var()


def test_what_is_refused():
    X = table(8, 20)
    with pytest.raises(ValueError, match="needs the rows"):
        gm.PCA(2, kernel="rbf").fit(gm.moments(X))
    with pytest.raises(ValueError, match="it must be None"):
        gm.PCA(2, kernel="gauss").fit(X)
    model = gm.PCA(2, kernel="rbf").fit(X)
    assert not hasattr(model, "score_samples")
    with pytest.raises(AttributeError, match="without a kernel"):
        _ = model.null_
    constant = gm.PCA(2, kernel=RBF(1.0)).fit(np.ones((5, 2)))
    np.testing.assert_array_equal(constant.variances_, 0.0)
    np.testing.assert_array_equal(constant.variance_shares_, 0.0)
    np.testing.assert_array_equal(constant.transform(np.ones((2, 2))), 0.0)
    changed = gm.PCA(2, kernel=RBF(1.0)).set_params(kernel__length_scale=2.0)
    assert changed.kernel == RBF(2.0)
    assert not hasattr(gm.PCA(2).fit(X), "dual_coef_")
    assert not hasattr(model.set_params(kernel=None).fit(X), "kernel_")


@pytest.mark.parametrize("weighted", [False, True])
def test_sampled_landmarks(weighted, monkeypatch):
    """Where a factor of all rows would not fit, landmarks are sampled and rows are multiplied block by block."""
    X, new = table(9, 400), table(10, 15)
    w = np.random.default_rng(0).integers(0, 3, 400).astype(float) if weighted else None
    exact = gm.PCA(3, kernel=RBF(4.0)).fit(X, sample_weight=w)
    monkeypatch.setattr(kernel_pca, "MOST_CELLS", 0)
    near = gm.PCA(3, kernel=RBF(4.0), rank=150).fit(X, sample_weight=w)
    np.testing.assert_allclose(near.variances_, exact.variances_, rtol=1e-3)
    for given in (X, new):
        np.testing.assert_allclose(np.abs(near.transform(given)), np.abs(exact.transform(given)), atol=0.02)
    np.testing.assert_allclose(np.average(near.transform(X), axis=0, weights=w), 0.0, atol=1e-8)
    np.testing.assert_allclose(np.average(near.transform(X) ** 2, axis=0, weights=w), near.variances_, rtol=1e-6)
    assert near.certificate_.holds
    assert near.certificate_.through == "landmarks"
    assert np.isfinite(near.inverse_transform(near.transform(new))).all()
    assert gm.PCA(0.8, kernel=RBF(4.0), rank=150).fit(X, sample_weight=w).n_components_ <= 10
    assert gm.PCA(kernel=RBF(4.0), rank=150).fit(X, sample_weight=w).n_components_ >= 1


def test_equal_rows_and_kernels_in_a_search():
    X = table(11, 25)
    given = gm.PCA(kernel=RBF(2.0)).fit(X.astype(object))  # numbers, whatever holds them
    np.testing.assert_allclose(given.transform(X), gm.PCA(kernel=RBF(2.0)).fit(X).transform(X))
    assert given.inverse_transform(given.transform(X)).shape == X.shape
    twice, once = gm.PCA(3, kernel=RBF(2.0)).fit(np.repeat(X, 2, axis=0)), gm.PCA(3, kernel=RBF(2.0)).fit(X)
    np.testing.assert_allclose(twice.variances_, once.variances_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(twice.transform(X)), np.abs(once.transform(X)), atol=1e-7)
    X, y = make_circles(150, factor=0.3, noise=0.05, random_state=0)
    pipe = make_pipeline(gm.PCA(3, kernel=RBF(1.0)), gm.LogisticRegression(alpha=1e-3))
    search = GridSearchCV(pipe, {"pca__kernel__length_scale": [0.5, 50.0], "pca__n_components": [2, 4]}, cv=3).fit(X, y)
    assert search.best_params_["pca__kernel__length_scale"] == 0.5
    assert search.best_score_ > 0.95
