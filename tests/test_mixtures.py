"""Mixtures by EM: the reference from the same start, units, collapse, missing numbers."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.base import clone
from sklearn.mixture import GaussianMixture as Reference

import gramian as gm
from gramian.structures import Gaussian
from gramian.structures.loop.em import PANEL

KINDS = {"full": "full", "shared": "tied", "diagonal": "diag", "spherical": "spherical"}


def table(seed, n=600, d=5, k=3):
    rng = np.random.default_rng(seed)
    turns = np.eye(d) + 0.4 * rng.standard_normal((k, d, d))
    owners = rng.integers(0, k, n)
    return np.einsum("ij,ijk->ik", rng.standard_normal((n, d)), turns[owners]) + 2 * rng.standard_normal((k, d))[owners]


def start(X, k, kind):
    variance = X.var(axis=0)
    shapes = {
        "full": np.diag(variance),
        "shared": np.diag(variance),
        "diagonal": variance,
        "spherical": variance.mean(),
    }
    return X[:k], shapes[kind]


def reference(X, k, kind, iterations):
    means, shape = start(X, k, kind)
    inverse = np.linalg.inv(shape) if np.ndim(shape) == 2 else 1.0 / np.asarray(shape)
    precisions = inverse if kind == "shared" else np.repeat(inverse[None], k, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reference(
            k, covariance_type=KINDS[kind], means_init=means, precisions_init=precisions, init_params="random",
            weights_init=np.full(k, 1 / k), max_iter=iterations, tol=0, reg_covar=0,
        ).fit(X)  # fmt: skip


def ours(X, k, kind, iterations, **more):
    means, shape = start(X, k, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        return gm.GaussianMixture(
            k, covariance=kind, init=[Gaussian(kind).given(mean, shape) for mean in means], max_iter=iterations, tol=0
        ).fit(X, **more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 4, 5])
def test_same_as_the_reference_from_the_same_start(kind, d):
    X = table(0, n=3 * PANEL + 7, d=d)
    a, b = ours(X, 3, kind, 12), reference(X, 3, kind, 12)
    assert a.score(X) == pytest.approx(b.score(X), rel=1e-8)
    np.testing.assert_allclose(a.weights_, b.weights_, rtol=1e-8)
    np.testing.assert_allclose(a.means_, b.means_, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(a.covariances_, b.covariances_, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(X), rtol=1e-7)
    np.testing.assert_array_equal(a.labels_, a.predict(X))
    assert a.bic(X) == pytest.approx(b.bic(X))
    assert a.aic(X) == pytest.approx(b.aic(X))
    assert a.bic() == pytest.approx(a.bic(X))
    assert a.log_likelihood() == pytest.approx(a.log_likelihood(X))
    values = np.array([value for _, value, _ in a.history_])
    assert (np.diff(values) <= 1e-10 * np.abs(values[:-1])).all()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_equal_repetition(kind):
    X = table(1)
    w = np.random.default_rng(0).integers(0, 3, len(X))
    a, b = ours(X, 3, kind, 8, sample_weight=w), None
    means, shape = start(X, 3, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        init = [Gaussian(kind).given(mean, shape) for mean in means]
        b = gm.GaussianMixture(3, covariance=kind, init=init, max_iter=8, tol=0).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.covariances_, b.covariances_, rtol=1e-8, atol=1e-10)
    assert a.log_likelihood_ == pytest.approx(b.log_likelihood_, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_units_do_not_matter(kind):
    X = table(2)
    model = gm.GaussianMixture(3, covariance=kind, random_state=0, tol=0, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        a, b = clone(model).fit(X), clone(model).fit(1e-8 * X)
    shift = X.size * np.log(1e-8)
    assert a.log_likelihood_ - b.log_likelihood_ == pytest.approx(shift, rel=1e-10)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(1e-8 * X), atol=1e-6)


def test_distant_and_thin_clusters_keep_their_digits():
    rng = np.random.default_rng(0)
    thin = rng.standard_normal((300, 2)) @ [[1.0, 1.0], [0.02, -0.02]]
    X = np.concatenate([thin, thin + np.array([40.0, 0.0])]) + 1e6
    model = gm.GaussianMixture(2, init=np.array([[1e6, 1e6], [1e6 + 40, 1e6]])).fit(X)
    exact = np.cov((X[:300] - 1e6).T, bias=True)
    np.testing.assert_allclose(model.covariances_[0], exact, rtol=1e-7)


def test_singular_covariances_warn():
    X = np.concatenate([table(3, d=2), np.repeat([[30.0, 30.0]], 20, axis=0)])
    init = np.array([X[0], [30.0, 30.0]])
    with pytest.warns(gm.PrecisionWarning, match="covariance of cluster 1 is singular"):
        model = gm.GaussianMixture(2, init=init).fit(X)
    assert np.isfinite(model.log_likelihood_)
    assert model.certificate_.note
    double = np.column_stack([X[:100], X[:100, 0]])
    with pytest.warns(gm.PrecisionWarning, match="covariances of clusters 0, 1 are singular"):
        model = gm.GaussianMixture(2, random_state=0).fit(double)
    values = np.array([value for _, value, _ in model.history_])
    assert (np.diff(values) <= 1e-10 * np.abs(values[:-1])).all()


class TestMissing:
    def test_fused_e_step_equals_the_plain_one(self, monkeypatch):
        X = table(4)
        a = ours(X, 3, "full", 10)
        monkeypatch.setattr(Gaussian, "fused_pass", lambda self, state, loop: None)
        b = ours(X, 3, "full", 10)
        np.testing.assert_allclose(a.means_, b.means_, rtol=1e-9, atol=1e-10)

    @pytest.mark.parametrize("kind", KINDS)
    def test_likelihood_is_that_of_the_observed_numbers(self, kind):
        rng = np.random.default_rng(0)
        X = table(5, n=150, d=3)
        X[rng.random(X.shape) < 0.2] = np.nan
        model = gm.GaussianMixture(2, covariance=kind, random_state=0).fit(X)
        values = np.array([value for _, value, _ in model.history_])
        assert (np.diff(values) <= 1e-10 * np.abs(values[:-1])).all()
        total = 0.0
        for x in X:
            there = ~np.isnan(x)
            if not there.any():
                continue
            parts = []
            for weight, each in zip(model.weights_, model.structures_, strict=True):
                C = each.covariance_
                C = C if np.ndim(C) == 2 else np.diag(np.broadcast_to(C, 3))
                parts.append(weight * multivariate_normal(each.mean_[there], C[np.ix_(there, there)]).pdf(x[there]))
            total += np.log(sum(parts))
        assert model.log_likelihood_ == pytest.approx(total)
        assert model.predict_proba(X).sum() == pytest.approx(len(X))

    def test_missing_at_random_is_consistent(self):
        rng = np.random.default_rng(0)
        X = np.concatenate([rng.normal([0, 0, 0], 1, (400, 3)), rng.normal([6, 6, 6], 1, (400, 3))])
        gone = X.copy()
        gone[rng.random(X.shape) < 0.2] = np.nan
        model = gm.GaussianMixture(2, random_state=0).fit(gone)
        means = model.means_[np.argsort(model.means_[:, 0])]
        np.testing.assert_allclose(means, [[0] * 3, [6] * 3], atol=0.3)

    def test_infinity_is_refused_and_others_refuse_missing(self):
        X = table(6, n=50)
        X[3, 2] = np.inf
        with pytest.raises(ValueError, match=r"column 2.*first at row 3"):
            gm.GaussianMixture(2).fit(X)
        X[3, 2] = np.nan
        for kind in (gm.StudentTMixture, gm.KMeans):
            with pytest.raises(ValueError, match="NaN"):
                kind(2).fit(X)
        X[:, 2] = np.nan
        with pytest.raises(ValueError, match="Every value of column"):
            gm.GaussianMixture(2).fit(X)


def test_student_mixture():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_t(3, (300, 2)), rng.standard_t(3, (300, 2)) + 12])
    model = gm.StudentTMixture(2, nu=3.0, random_state=0, tol=1e-9).fit(X)
    parts = [
        w * multivariate_t(s.mean_, s.scale_, df=3.0).pdf(X)
        for w, s in zip(model.weights_, model.structures_, strict=True)
    ]
    assert model.log_likelihood_ == pytest.approx(np.log(sum(parts)).sum())
    np.testing.assert_allclose(sorted(model.means_[:, 0]), [0, 12], atol=0.3)
    assert model.certificate_.holds
    values = np.array([value for _, value, _ in model.history_])
    assert (np.diff(values) <= 1e-10 * np.abs(values[:-1])).all()


@pytest.mark.parametrize("seed", range(3))
def test_student_mixture_with_estimated_nu(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.standard_t(2.0, (800, 2)), rng.standard_normal((800, 2)) + 25])
    fixed = gm.StudentTMixture(2, random_state=0, tol=1e-9, max_iter=2000).fit(X)
    model = gm.StudentTMixture(2, nu="auto", random_state=0, tol=1e-9, max_iter=2000).fit(X)
    heavy, light = model.nus_[np.argsort(model.means_[:, 0])]
    assert 1.4 < heavy < 3.0
    assert light > 10
    values = np.array([value for _, value, _ in model.history_])
    assert (np.diff(values) <= 1e-10 * np.abs(values[:-1])).all()
    assert model.log_likelihood_ > fixed.log_likelihood_
    np.testing.assert_array_equal(fixed.nus_, 4.0)
    # nothing near is likelier
    for factor in (0.9, 1.1):
        each = gm.structures.StudentT(model.nus_[0] * factor)
        others = [each.given(s.mean_, s.scale_, s.nu_ * factor) for s in model.structures_]
        near = sum(w * np.exp(s.log_density(X)) for w, s in zip(model.weights_, others, strict=True))
        assert np.log(near).sum() < model.log_likelihood_


@pytest.mark.parametrize("kind", ["full", "spherical", "student"])
def test_samples_come_from_the_mixture(kind):
    X = table(7, d=2)
    model = gm.StudentTMixture(2, nu=8.0) if kind == "student" else gm.GaussianMixture(2, covariance=kind)
    model.set_params(random_state=0).fit(X)
    drawn, clusters = model.sample(40_000, random_state=0)
    np.testing.assert_allclose(np.bincount(clusters) / 40_000, model.weights_, atol=0.01)
    for j, each in enumerate(model.structures_):
        C = each.covariance_ if np.ndim(each.covariance_) == 2 else np.diag(np.broadcast_to(each.covariance_, 2))
        mine = drawn[clusters == j]
        np.testing.assert_allclose(mine.mean(axis=0), each.mean_, atol=0.1)
        np.testing.assert_allclose(np.cov(mine.T), C, atol=0.08 * np.abs(C).max())
