"""Gaussian discriminants: densities, Bayes' rule, shrinkage, singular classes, units, and boundaries of every kind."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf, shrunk_covariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

import gramian as gm
from gramian.models.discriminant.conic import Conic
from gramian.models.discriminant.covariances import THICKNESS
from gramian.models.discriminant.discriminant import KINDS, GaussianDiscriminant
from gramian.rows.labels import CodedRows


def problem(seed, n=150, d=3, k=3):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    roots = np.linalg.qr(rng.standard_normal((k, d, d)))[0] * rng.uniform(0.5, 2, (k, d, 1))
    X = np.einsum("ij,ijk->ik", rng.standard_normal((n, d)), roots[y]) + 2 * rng.standard_normal((k, d))[y] + 5
    return X, y


def full_covariances(model):
    """Each class's covariance as a matrix, whatever the kind."""
    C, d = model.covariances_, model.n_features_in_
    if model.covariance == "shared":
        return [C] * len(model.classes_)
    if model.covariance == "diagonal":
        return [np.diag(v) for v in C]
    return [v * np.eye(d) for v in C] if model.covariance == "spherical" else list(C)


def joint(model, X):
    """log π + log N of every class, by SciPy."""
    parts = zip(model.priors_, model.means_, full_covariances(model), strict=True)
    return np.column_stack([np.log(p) + multivariate_normal(m, C).logpdf(X).reshape(-1) for p, m, C in parts])


def quiet(model, *data, **more):
    """Fit with the warning that is expected of singular classes."""
    with pytest.warns(gm.PrecisionWarning, match="rank"):
        return model.fit(*data, **more)


def plain_covariances(X, y, kind, w=None):
    """Maximum-likelihood covariances, written out."""
    w = np.ones(len(y)) if w is None else w
    parts = []
    for c in np.unique(y):
        Z, v = X[y == c], w[y == c]
        Z = Z - v @ Z / v.sum()
        parts.append((Z.T @ (Z * v[:, None]), v.sum()))
    if kind == "shared":
        return sum(S for S, _ in parts) / w.sum()
    covariances = np.array([S / total for S, total in parts])
    if kind == "full":
        return covariances
    variances = np.array([np.diagonal(C) for C in covariances])
    return variances if kind == "diagonal" else variances.mean(axis=1)


# Densities and Bayes' rule


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shrinkage", [0, 0.3, 1.0, "auto"])
@pytest.mark.parametrize(("d", "k"), [(1, 2), (2, 3), (4, 2), (5, 4)])
def test_decisions_are_log_densities(kind, shrinkage, d, k):
    X, y = problem(d + k, d=d, k=k)
    model = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(X, y)
    new = X[:40] + 0.5
    g = joint(model, new)
    expected = g[:, 1] - g[:, 0] if k == 2 else g
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(new), np.exp(g - logsumexp(g, axis=1, keepdims=True)), atol=1e-10)
    np.testing.assert_allclose(model.log_density(new), logsumexp(g, axis=1), rtol=1e-10)
    np.testing.assert_array_equal(model.predict(new), model.classes_[g.argmax(axis=1)])
    likelihood = joint(model, X)[np.arange(len(y)), y].sum()
    assert model.log_likelihood() == pytest.approx(likelihood, rel=1e-10)
    assert model.certificate_.holds
    assert model.certificate_.value <= 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_moments_of_the_classes(kind):
    X, y = problem(0)
    w = np.random.default_rng(0).uniform(0, 3, len(y))
    for weight in (None, w):
        model = GaussianDiscriminant(kind).fit(X, y, sample_weight=weight)
        v = np.ones(len(y)) if weight is None else weight
        np.testing.assert_allclose(model.covariances_, plain_covariances(X, y, kind, v), rtol=1e-11)
        means = [np.average(X[y == c], axis=0, weights=v[y == c]) for c in range(3)]
        np.testing.assert_allclose(model.means_, means, rtol=1e-12)
        np.testing.assert_allclose(model.priors_, [v[y == c].sum() / v.sum() for c in range(3)], rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_no_neighbour_is_likelier(kind):
    X, y = problem(1)
    model = GaussianDiscriminant(kind).fit(X, y)
    rng = np.random.default_rng(1)
    best = model.log_likelihood()
    for _ in range(20):
        step = 1e-3 * rng.standard_normal(X.shape[1:] * 2)
        other = SimpleNamespace(**{name: getattr(model, name) for name in ("covariance", "n_features_in_", "classes_")})
        other.means_ = model.means_ + 1e-3 * rng.standard_normal(model.means_.shape)
        change = 1 + 1e-3 * rng.standard_normal(np.shape(model.covariances_))
        other.covariances_ = model.covariances_ * change if kind in ("diagonal", "spherical") else model.covariances_
        if kind in ("full", "shared"):
            other.covariances_ = (np.eye(3) + step) @ model.covariances_ @ (np.eye(3) + step).T
        priors = model.priors_ * (1 + 1e-3 * rng.standard_normal(3))
        other.priors_ = priors / priors.sum()
        assert joint(other, X)[np.arange(len(y)), y].sum() < best


@pytest.mark.parametrize("kind", ["full", "shared"])
@pytest.mark.parametrize("shrinkage", [0, 0.2])
def test_the_certificate_is_what_the_data_say(kind, shrinkage):
    """|Σ⁻¹S − I| recomputed from the rows and the fitted numbers."""
    X, y = problem(2)
    model = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(X, y)
    for c, C in enumerate(full_covariances(model)):
        S = plain_covariances(X, y, kind)
        S = shrunk_covariance(S if kind == "shared" else S[c], shrinkage=shrinkage)
        L = np.linalg.cholesky(C)
        white = np.linalg.solve(L, np.linalg.solve(L, S).T)
        assert np.abs(white - np.eye(3)).max() <= model.certificate_.tolerance


def test_quadratic_discriminants_of_scikit_learn():
    X, y = problem(3)
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    ours = GaussianDiscriminant().fit(X, y)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-12)
    # Their divisor is n − 1 in some versions and n in others; their decisions are ours with their covariances.
    counts = np.bincount(y)
    divisor = counts * np.trace(ours.covariances_, axis1=1, axis2=2) / np.trace(theirs.covariance_, axis1=1, axis2=2)
    assert np.abs(divisor[:, None] - counts[:, None] + [0, 1]).max(axis=0).min() < 1e-9
    other = SimpleNamespace(
        priors_=ours.priors_, means_=ours.means_, covariance="full", n_features_in_=3, classes_="abc"
    )
    other.covariances_ = ours.covariances_ * (counts / divisor)[:, None, None]
    np.testing.assert_allclose(other.covariances_, theirs.covariance_, rtol=1e-9)
    g = joint(other, X)
    np.testing.assert_allclose(np.exp(g - logsumexp(g, axis=1, keepdims=True)), theirs.predict_proba(X), atol=1e-10)


def test_linear_discriminants_of_scikit_learn():
    X, y = problem(4)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    ours = GaussianDiscriminant("shared").fit(X, y)
    np.testing.assert_allclose(ours.covariances_, theirs.covariance_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    two = y < 2
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X[two], y[two])
    ours = GaussianDiscriminant("shared").fit(X[two], y[two])
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-8, atol=1e-8)
    line = ours.boundary(1, 0)
    assert line.kind == "plane"
    np.testing.assert_allclose(ours.decision_function(X), X @ line.linear + line.constant, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(line.quadratic, np.zeros((3, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_priors_given(kind):
    X, y = problem(33, k=2)
    plain = GaussianDiscriminant(kind).fit(X, y)
    model = GaussianDiscriminant(kind, priors=[0.9, 0.1]).fit(X, y)
    shift = np.log(0.1 / 0.9) - np.log(plain.priors_[1] / plain.priors_[0])
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X) + shift, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(model.priors_, [0.9, 0.1])


def test_naive_bayes_of_scikit_learn():
    X, y = problem(5)
    theirs = GaussianNB(var_smoothing=0).fit(X, y, sample_weight=np.arange(len(y)) % 4)
    ours = GaussianDiscriminant("diagonal").fit(X, y, sample_weight=np.arange(len(y)) % 4)
    np.testing.assert_allclose(ours.covariances_, theirs.var_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-11)


# Shrinkage


def test_ledoit_wolf_of_scikit_learn():
    X, y = problem(6, n=60, d=8)
    X *= np.arange(1, 9)
    ours = GaussianDiscriminant(shrinkage="auto").fit(X, y)
    for c in range(3):
        covariance, share = ledoit_wolf(X[y == c])
        assert 0 < share < 1
        assert ours.shrinkage_[c] == pytest.approx(share, rel=1e-9)
        np.testing.assert_allclose(ours.covariances_[c], covariance, rtol=1e-9)
    residuals = X - ours.means_[y]
    covariance, share = ledoit_wolf(residuals, assume_centered=True)
    shared = GaussianDiscriminant("shared", shrinkage="auto").fit(X, y)
    assert shared.shrinkage_ == pytest.approx(share, rel=1e-9)
    np.testing.assert_allclose(shared.covariances_, covariance, rtol=1e-9)


def test_ledoit_wolf_of_variances():
    """The share of least expected squared error, written out for the variances alone."""
    X, y = problem(7, n=40, d=6)
    X *= np.arange(1, 7)
    model = GaussianDiscriminant("diagonal", shrinkage="auto").fit(X, y)
    for c in range(3):
        Z = (X[y == c] - X[y == c].mean(axis=0)) ** 2
        v = Z.mean(axis=0)
        error = ((Z - v) ** 2).sum() / len(Z) ** 2
        share = min(error / ((v - v.mean()) ** 2).sum(), 1.0)
        assert model.shrinkage_[c] == pytest.approx(share, rel=1e-9)
        np.testing.assert_allclose(model.covariances_[c], (1 - share) * v + share * v.mean(), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_given(kind):
    X, y = problem(8)
    for share in (0.25, 1):
        model = GaussianDiscriminant(kind, shrinkage=share).fit(X, y)
        plain = GaussianDiscriminant(kind).fit(X, y)
        for a, b in zip(full_covariances(model), full_covariances(plain), strict=True):
            np.testing.assert_allclose(a, shrunk_covariance(b, shrinkage=share), rtol=1e-10, atol=1e-14)
        np.testing.assert_array_equal(model.shrinkage_, share if kind == "shared" else np.full(3, share))


def test_all_shrunk_is_spherical():
    X, y = problem(9)
    a, b = GaussianDiscriminant(shrinkage=1).fit(X, y), GaussianDiscriminant("spherical").fit(X, y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-10)
    assert a.boundary(0, 1).kind == b.boundary(0, 1).kind == "quadric"
    assert (GaussianDiscriminant("spherical", shrinkage="auto").fit(X, y).shrinkage_ == 1).all()


# Weights, sources, threads


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shrinkage", [0, "auto"])
def test_weights_equal_repetition(kind, shrinkage):
    X, y = problem(10)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    a = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(X, y, sample_weight=w)
    b = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.covariances_, b.covariances_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-10, atol=1e-10)
    assert a.log_likelihood() == pytest.approx(b.log_likelihood(), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_class_weights(kind):
    X, y = problem(11)
    a = GaussianDiscriminant(kind, class_weight={1: 3.0}).fit(X, y)
    b = GaussianDiscriminant(kind).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(GaussianDiscriminant(kind, class_weight="balanced").fit(X, y).priors_, np.full(3, 1 / 3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shrinkage", [0, "auto"])
@pytest.mark.parametrize("density", [0.08, 0.5])
def test_sparse_equals_dense(kind, shrinkage, density):
    rng = np.random.default_rng(0)
    X = sp.random(400, 12, density, format="csr", random_state=1)
    X.data = rng.standard_normal(X.nnz)
    X = sp.hstack([X, np.full((400, 1), 7.0) + 0.1 * rng.standard_normal((400, 1))], format="csr")
    y = rng.integers(0, 3, 400)
    a = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(X, y)
    b = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(X.toarray(), y)
    np.testing.assert_allclose(a.covariances_, b.covariances_, rtol=1e-10, atol=1e-14)
    new = sp.random(50, 13, 0.1, format="csr", random_state=2)  # the last column is mostly 0, far from its mean
    for table in (X, new):
        np.testing.assert_allclose(
            a.decision_function(table), b.decision_function(table.toarray()), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shrinkage", [0, "auto"])
def test_threads_give_the_same_bits(kind, shrinkage):
    X, y = problem(12, n=40_000)
    found = []
    for count in (1, 2, 4):
        with gm.threads(count):
            model = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(X, y)
            found.append((model.covariances_, model.decision_function(X)))
    for covariances, decisions in found[1:]:
        np.testing.assert_array_equal(covariances, found[0][0])
        np.testing.assert_array_equal(decisions, found[0][1])
    np.testing.assert_allclose(
        GaussianDiscriminant(kind).fit(X, y).covariances_, plain_covariances(X, y, kind), rtol=1e-9
    )
    order = np.argsort(y, kind="stable")
    again = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(X[order], y[order])
    np.testing.assert_allclose(again.covariances_, found[0][0], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_every_source(kind):
    X, y = problem(13)
    names = ["a", "b", "c"]
    labels = np.array(["low", "mid", "top"])[y]
    reference = GaussianDiscriminant(kind).fit(X, y)
    frame = pd.DataFrame(X, columns=names)
    for source in [
        (frame, labels),
        (pl.DataFrame(X, schema=names), pl.Series("y", labels.tolist())),
        (gm.scan(X, labels),),
        (gm.scan(frame.assign(y=labels), target="y"),),
        (CodedRows(gm.scan(X, labels), lambda y: y),),
        (np.asfortranarray(X), labels.tolist()),
    ]:
        model = GaussianDiscriminant(kind).fit(*source)
        np.testing.assert_array_equal(model.means_, reference.means_)
        np.testing.assert_array_equal(model.covariances_, reference.covariances_)
        np.testing.assert_array_equal(model.decision_function(source[0]), reference.decision_function(X))
    assert list(GaussianDiscriminant(kind).fit(frame, labels).predict(frame)[:3]) == [
        ["low", "mid", "top"][c] for c in reference.predict(X)[:3]
    ]
    small = X.astype(np.float32)
    single = GaussianDiscriminant(kind).fit(small, y)
    np.testing.assert_allclose(single.covariances_, plain_covariances(small.astype(float), y, kind), rtol=1e-10)
    assert single.predict_proba(small).dtype == np.float64


def test_clone_pickle_and_texts():
    X, y = problem(14, d=2, k=2)
    model = GaussianDiscriminant("full", shrinkage="auto").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert str(again.boundary(0, 1)) == str(model.boundary(0, 1))
    assert not hasattr(clone(model), "means_")
    text = str(model.summary())
    assert "log likelihood" in text
    assert str(model.boundary(0, 1)) in text
    assert "<table>" in model.summary()._repr_html_()
    assert "maximise the likelihood" in str(model.solver_)
    wide = GaussianDiscriminant().fit(*problem(14, d=3))
    assert wide.summary().notes == []
    np.testing.assert_array_equal(wide.summary().coefficients["rank"], [3, 3, 3])


def test_costs():
    X, y = problem(15)
    cost = np.array([[0.0, 1, 1e6], [3, 0, 1], [1, 2, 0]])
    model = GaussianDiscriminant(cost=cost).fit(X, y)
    new = (X + X[::-1]) / 2
    g = joint(model, new)
    expected = (np.exp(g - logsumexp(g, axis=1, keepdims=True)) @ cost).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(new), expected)
    assert (expected != g.argmax(axis=1)).any()


# Scales


@pytest.mark.parametrize("kind", ["full", "shared", "diagonal"])
@pytest.mark.parametrize("k", [2, 3])
def test_powers_of_two_leave_every_bit(kind, k):
    X, y = problem(16, d=4, k=k)
    model = GaussianDiscriminant(kind).fit(X, y)
    for powers in ([1, -3, 20, 7], [300, -300, 0, 1], [900, -950, 600, -600]):
        other = GaussianDiscriminant(kind).fit(np.ldexp(X, powers), y)
        np.testing.assert_array_equal(other.predict_proba(np.ldexp(X, powers)), model.predict_proba(X))
        np.testing.assert_array_equal(other.predict(np.ldexp(X, powers)), model.predict(X))
        a, b = model.boundary(0, 1), other.boundary(0, 1)
        np.testing.assert_array_equal(a(X), b(np.ldexp(X, powers)))
        assert a.kind == b.kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shrinkage", [0, 0.4, "auto"])
def test_one_power_of_two_for_all_columns(kind, shrinkage):
    X, y = problem(17)
    model = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(X, y)
    for power in (3, -700, 900):
        other = GaussianDiscriminant(kind, shrinkage=shrinkage).fit(np.ldexp(X, power), y)
        np.testing.assert_array_equal(other.predict_proba(np.ldexp(X, power)), model.predict_proba(X))
        np.testing.assert_array_equal(other.shrinkage_, model.shrinkage_)


@pytest.mark.parametrize("kind", ["full", "shared", "diagonal"])
def test_huge_and_tiny_columns(kind):
    X, y = problem(18, d=4)
    scale = np.array([1e200, 1e-200, 1e300, 1e-300])
    model = GaussianDiscriminant(kind).fit(X, y)
    other = GaussianDiscriminant(kind).fit(X * scale, y)
    np.testing.assert_allclose(other.predict_proba(X * scale), model.predict_proba(X), atol=1e-11)
    shift = np.log(scale).sum()
    np.testing.assert_allclose(
        other.decision_function(X * scale) + shift, model.decision_function(X), rtol=1e-10, atol=1e-9
    )
    assert other.certificate_.holds
    with pytest.raises(OverflowError, match="variance of column 0"):
        _ = other.covariances_
    if kind != "shared":
        with pytest.raises(OverflowError, match="coefficients of this boundary"):
            _ = other.boundary(0, 1).quadratic
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixed = GaussianDiscriminant(kind, shrinkage="auto").fit(X * scale, y)
    assert np.isfinite(mixed.predict_proba(X * scale)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_points_at_the_end_of_the_float_range(kind):
    X, y = problem(19, k=2)
    model = GaussianDiscriminant(kind).fit(X, y)
    far = 1e308 * np.array([[1.0, 1, 1], [-1, 1, -1], [1, 0, 0]])
    assert np.isfinite(model.decision_function(far)).all()
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1)
    tiny = GaussianDiscriminant(kind).fit(np.ldexp(X, -1040), y)
    assert np.isfinite(tiny.decision_function(far)).all()
    sparse = sp.csr_array(np.diag([1e308, -1e308, 0.0]))
    np.testing.assert_array_equal(model.predict(sparse), model.predict(sparse.toarray()))
    wide = sp.csr_array(([1e308], ([0], [5])), shape=(1, 40))
    many = GaussianDiscriminant(kind).fit(*problem(19, n=300, d=40, k=2))
    np.testing.assert_array_equal(many.predict(wide), many.predict(wide.toarray()))


def test_offsets_far_from_zero():
    X, y = problem(20)
    model = GaussianDiscriminant().fit(X, y)
    moved = GaussianDiscriminant().fit(X + 1e6, y)
    np.testing.assert_allclose(moved.predict_proba(X + 1e6), model.predict_proba(X), atol=1e-7)


# Columns that are nearly or wholly dependent


def log_odds(X, y, new, shrinkage=0.0):
    """g_1 − g_0 by Gram–Schmidt, twice, in extended precision: nothing is squared."""
    values = []
    for c in (0, 1):
        Q = X[y == c].astype(np.longdouble)
        mean = Q.mean(axis=0)
        count = np.longdouble(len(Q))
        Q = (Q - mean) / np.sqrt(count)
        if shrinkage:
            ball = np.sqrt(shrinkage * (Q**2).sum() / Q.shape[1]) * np.eye(Q.shape[1], dtype=np.longdouble)
            Q = np.vstack([np.sqrt(1 - np.longdouble(shrinkage)) * Q, ball])
        white = (new - mean).astype(np.longdouble)
        volume = np.longdouble(0)
        for j in range(Q.shape[1]):  # what is done to the columns of the class is done to those of the new rows
            for _ in range(2):
                for i in range(j):
                    share = Q[:, i] @ Q[:, j]
                    Q[:, j] -= share * Q[:, i]
                    white[:, j] -= share * white[:, i]
            size = np.sqrt(Q[:, j] @ Q[:, j])
            Q[:, j] /= size
            white[:, j] /= size
            volume += np.log(size)
        values.append(np.log(count) - (white**2).sum(axis=1) / 2 - volume)
    return (values[1] - values[0]).astype(float)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_nearly_dependent_columns_keep_their_digits(gap):
    X, y = problem(21, n=80, d=3, k=2)
    X = np.column_stack([X, X.sum(axis=1) + gap * np.random.default_rng(0).standard_normal(80)])
    model = GaussianDiscriminant().fit(X, y)
    expected = log_odds(X, y, X)
    error = np.abs(model.decision_function(X) - expected).max() / np.abs(expected).max()
    assert error < 1e-13 / gap
    assert model.certificate_.holds
    assert model.certificate_.through == (
        "moments" if gap > 1e-3 and model.certificate_.condition <= 500 else "triangle"
    )
    if gap < 1e-3:
        assert "nearly dependent" in str(model.solver_)
    shared = GaussianDiscriminant("shared").fit(X, y)
    C = plain_covariances(X.astype(np.longdouble), y, "shared").astype(float)
    np.testing.assert_allclose(shared.covariances_, C, rtol=1e-10)
    assert shared.certificate_.holds
    assert (shared.certificate_.through == "triangle") == (shared.certificate_.condition > 500)


def test_a_little_shrinkage_of_nearly_dependent_columns():
    X, y = problem(34, n=80, d=3, k=2)
    X = np.column_stack([X, X.sum(axis=1) + 1e-6 * np.random.default_rng(0).standard_normal(80)])
    model = GaussianDiscriminant(shrinkage=1e-9).fit(X, y)
    expected = log_odds(X, y, X, 1e-9)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8 * np.abs(expected).max())
    assert model.certificate_.through == "triangle"
    assert model.certificate_.holds


@pytest.mark.parametrize("kind", ["full", "shared"])
def test_a_repeated_column_changes_nothing(kind):
    X, y = problem(22)
    both = np.column_stack([X, 3 * X[:, 0] + 1])
    plain = GaussianDiscriminant(kind).fit(X, y)
    model = quiet(GaussianDiscriminant(kind), both, y)
    np.testing.assert_allclose(model.predict_proba(both), plain.predict_proba(X), atol=1e-8)
    assert np.min(model.ranks_) == model.certificate_.rank == 3
    assert not model.certificate_.holds
    assert "rank 3 of 4" in model.certificate_.note
    assert 'shrinkage="auto"' in model.certificate_.note
    assert model.certificate_.note in model.summary().notes
    assert model.certificate_.value <= model.certificate_.tolerance
    np.testing.assert_allclose(
        joint(model, both[:20]) - joint(model, both[:20])[:, :1],
        model.decision_function(both[:20]) - model.decision_function(both[:20])[:, :1],
        atol=1e-6,
    )
    for share in (0.2, "auto"):
        assert GaussianDiscriminant(kind, shrinkage=share).fit(both, y).certificate_.holds


@pytest.mark.parametrize("kind", ["full", "shared", "diagonal"])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e30])
def test_a_constant_column_changes_nothing(kind, value):
    X, y = problem(23)
    both = np.column_stack([X, np.full(len(y), value)])
    plain = GaussianDiscriminant(kind).fit(X, y)
    model = quiet(GaussianDiscriminant(kind), both, y)
    np.testing.assert_allclose(model.predict_proba(both), plain.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_a_column_constant_in_one_class(kind):
    X, y = problem(24)
    X[y == 1, 0] = 4.0
    model = quiet(GaussianDiscriminant(kind), X, y)
    assert model.ranks_.tolist() == [3, 2, 3]
    assert "class 1 has rank 2 of 3:" in model.certificate_.note
    pooled = plain_covariances(X, y, "shared")[0, 0]
    first = [C[0, 0] for C in full_covariances(model)]
    assert first[1] == pytest.approx(THICKNESS * pooled, rel=1e-9)
    assert first[0] == pytest.approx(plain_covariances(X, y, "full")[0, 0, 0], rel=1e-10)
    g = joint(model, X)
    np.testing.assert_allclose(model.decision_function(X), g, rtol=1e-7, atol=1e-7)
    assert (model.predict(X)[y == 1] == 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_fewer_rows_than_columns(kind):
    X, y = problem(25, n=14, d=30, k=2)
    if kind in ("full", "shared"):
        model = quiet(GaussianDiscriminant(kind), X, y)
        rows = np.bincount(y) - 1
        np.testing.assert_array_equal(model.ranks_, rows if kind == "full" else rows.sum())
        assert ("1 more classes" in model.certificate_.note) == (kind == "full")
        again = quiet(GaussianDiscriminant(kind), np.ldexp(X, np.arange(30)), y)
        np.testing.assert_array_equal(again.predict_proba(np.ldexp(X, np.arange(30))), model.predict_proba(X))
        other = quiet(GaussianDiscriminant(kind), X * 3, y)
        np.testing.assert_allclose(other.predict_proba(X * 3), model.predict_proba(X), atol=1e-6)
    else:
        model = GaussianDiscriminant(kind).fit(X, y)
    assert model.score(X, y) > 0.8
    auto = GaussianDiscriminant(kind, shrinkage="auto").fit(X, y)
    assert auto.certificate_.holds
    assert auto.score(X, y) > 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_one_row_in_a_class(kind):
    X, y = problem(26)
    X, y = np.vstack([X, [[30.0, 30, 30]]]), np.append(y, 3)
    if kind == "shared":
        model = GaussianDiscriminant(kind).fit(X, y)
    else:
        model = quiet(GaussianDiscriminant(kind), X, y)
        assert 'covariance="shared"' in model.certificate_.note
        assert model.ranks_[3] == 0
    assert model.predict([[30.0, 30, 30]])[0] == 3
    each = quiet(GaussianDiscriminant(kind), X[:3], [0, 1, 2])  # no variance anywhere: the nearest mean
    np.testing.assert_array_equal(each.predict(X[:3] + 0.01), [0, 1, 2])
    assert ("more rows" in each.certificate_.note) == (kind == "shared")
    shrunk = quiet(GaussianDiscriminant(kind, shrinkage=0.5), X[:3], [0, 1, 2])  # there is nothing to shrink
    np.testing.assert_array_equal(shrunk.decision_function(X), each.decision_function(X))


def test_tight_classes_are_not_thickened():
    """A class a million times narrower than the others is as it is."""
    X, y = problem(27)
    X[y == 0] = X[y == 0] * 1e-6
    model = GaussianDiscriminant().fit(X, y)
    np.testing.assert_allclose(model.covariances_[0], plain_covariances(X, y, "full")[0], rtol=1e-8)
    both = np.column_stack([X, X[:, 0]])
    model = quiet(GaussianDiscriminant(), both, y)
    inner = model.covariances_[0]
    assert inner[0, 0] - 2 * inner[0, 3] + inner[3, 3] == pytest.approx(
        2 * THICKNESS * plain_covariances(X, y, "shared")[0, 0], rel=1e-5
    )


# What is refused


def test_errors():
    X, y = problem(28)
    with pytest.raises(ValueError, match="covariance is 'tied'"):
        GaussianDiscriminant("tied").fit(X, y)
    with pytest.raises(ValueError, match="shrinkage is 'some'; it must be \"auto\""):
        GaussianDiscriminant(shrinkage="some").fit(X, y)
    with pytest.raises(ValueError, match=r"shrinkage is 1\.5"):
        GaussianDiscriminant(shrinkage=1.5).fit(X, y)
    with pytest.raises(TypeError, match="shrinkage is True"):
        GaussianDiscriminant(shrinkage=True).fit(X, y)
    with pytest.raises(ValueError, match=r"priors has shape \(2,\); with 3 classes"):
        GaussianDiscriminant(priors=[0.5, 0.5]).fit(X, y)
    for priors in ([0.5, 0.6, 0.2], [0.5, 0.5, 0.0], [0.5, np.nan, 0.5]):
        with pytest.raises(ValueError, match="above 0 that add up to 1"):
            GaussianDiscriminant(priors=priors).fit(X, y)
    with pytest.raises(ValueError, match="cost has shape"):
        GaussianDiscriminant(cost=np.eye(2)).fit(X, y)
    model = GaussianDiscriminant().fit(X, y)
    with pytest.raises(ValueError, match=r"7 is not a class; the classes are \[0, 1, 2\]"):
        model.boundary(0, 7)
    with pytest.raises(ValueError, match="both are 1"):
        model.boundary(1, 1)
    with pytest.raises(ValueError, match="they need 3 coordinates"):
        model.boundary(0, 1)([[1.0, 2.0]])
    with pytest.raises(ValueError, match="A … F are of two features, and here are 3"):
        _ = model.boundary(0, 1).A
    with pytest.raises(ValueError, match="drawn of two features"):
        model.boundary(0, 1).points()
    flat = GaussianDiscriminant().fit(X[:, :2], y).boundary(0, 1)
    with pytest.raises(ValueError, match="n is 1"):
        flat.points(1)
    for window in ([[0, 1]], [[0, 1], [1, 0]], [[0, 1], [0, np.inf]]):
        with pytest.raises(ValueError, match="window is"):
            flat.points(window=window)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_numbers_are_named(kind, value):
    X, y = problem(29)
    model = GaussianDiscriminant(kind).fit(X, y)
    bad = X.copy()
    bad[5, 2] = value
    with pytest.raises(ValueError, match=r"column 2 .*first at row 5"):
        GaussianDiscriminant(kind).fit(bad, y)
    for f in (model.predict, model.predict_proba, model.log_density):
        with pytest.raises(ValueError, match=r"column 2 .*first at row 5"):
            f(bad)
    sparse = sp.csr_array(([value], ([5], [2])), shape=(40, 3))
    with pytest.raises(ValueError, match=r"column 2 .*first at row 5"):
        model.predict(sparse)


# Boundaries


def exactly(mean, covariance):
    """Points whose mean and covariance are these."""
    root = np.linalg.cholesky(np.atleast_2d(covariance)).T
    d = len(root)
    return np.asarray(mean) + np.sqrt(d) * np.vstack([root, -root])


def boundary(first, second, *, odds=1.0, kind="full") -> Conic:
    """The boundary of two normal densities given as (mean, covariance)."""
    X = np.vstack([exactly(*first), exactly(*second)])
    n = len(X) // 2
    model = GaussianDiscriminant(kind, priors=[odds / (1 + odds), 1 / (1 + odds)])
    return model.fit(X, np.repeat(["i", "j"], n)).boundary("i", "j")


def difference(first, second, odds, points):
    return np.log(odds) + multivariate_normal(*first).logpdf(points) - multivariate_normal(*second).logpdf(points)


TURN = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])


def turned(*variances):
    return TURN @ np.diag(variances) @ TURN.T


# kind: two densities and the odds of the first
CASES = {
    "line": (([0, 0], np.eye(2)), ([2, 1], np.eye(2)), 3.0),
    "line of full covariances": (([0, 1], turned(3, 1)), ([2, 1], turned(3, 1)), 0.5),
    "circle": (([0, 0], np.eye(2)), ([1, 1], 4 * np.eye(2)), 1.0),
    "ellipse": (([0, 0], turned(1, 2)), ([1, 0], turned(4, 9)), 1.0),
    "ellipse along the axes": (([0, 0], np.diag([1.0, 2])), ([1, 0], np.diag([4.0, 9])), 1.0),
    "parabola": (([0, 0], turned(1, 2)), ([1, 1], turned(1, 5)), 1.0),
    "hyperbola": (([0, 0], turned(1, 4)), ([3, 1], turned(3, 1)), 1.0),
    "rectangular hyperbola": (([0, 0], np.diag([1.0, 1 / 3])), ([1, 2], np.diag([1 / 2, 1 / 2])), 1.0),
    "pair of lines that cross": (([1, 2], turned(1, 4)), ([1, 2], turned(4, 1)), 1.0),
    "pair of lines, parallel": (([0, 0], turned(1, 3)), ([0, 0], turned(1, 9)), 1.0),
    "none, one inside the other": (([0, 0], np.eye(2)), ([0, 0], 2 * np.eye(2)), 0.25),
    "none, the same shape": (([0, 0], turned(2, 1)), ([0, 0], turned(2, 1)), 3.0),
    "none, thin": (([0, 0], turned(1, 3)), ([0, 0], turned(1, 9)), 0.1),
    "everywhere": (([1, 0], turned(2, 1)), ([1, 0], turned(2, 1)), 1.0),
    "point": (([0, 0], np.eye(2)), ([0, 0], 4 * np.eye(2)), 0.25),
    "line, double": (([0, 0], turned(1, 1)), ([0, 0], turned(1, 4)), 0.5),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_every_kind(name, offset):
    (m1, C1), (m2, C2), odds = CASES[name]
    first, second = (np.add(m1, offset), C1), (np.add(m2, offset), C2)
    conic = boundary(first, second, odds=odds)
    if offset and name in ("point", "line, double"):  # rounding of the data decides between these and their neighbours
        assert conic.kind in ("point", "line", "none", "ellipse", "circle", "pair of lines")
    else:
        assert name.startswith(conic.kind)
    points = offset + 3 * np.random.default_rng(0).standard_normal((100, 2))
    np.testing.assert_allclose(conic(points), difference(first, second, odds, points), atol=1e-8)
    assert conic(points[0]) == pytest.approx(conic(points)[0], abs=1e-12)
    if not offset:
        x, y = points.T
        written = conic.A * x**2 + conic.B * x * y + conic.C * y**2 + conic.D * x + conic.E * y + conic.F
        np.testing.assert_allclose(written, conic(points), atol=1e-10)
        swapped = boundary(second, first, odds=1 / odds)
        assert swapped.kind == conic.kind
        np.testing.assert_allclose(swapped(points), -conic(points), atol=1e-10)
    text = str(conic)
    assert repr(conic) == text
    assert text.startswith("Between 'i' and 'j': ")
    assert text.endswith(".")
    assert "\n" not in text


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e120])
def test_drawn_points_are_on_the_curve(name, scale):
    (m1, C1), (m2, C2), odds = CASES[name]
    X = np.vstack([exactly(m1, C1), exactly(m2, C2)]) * scale
    model = GaussianDiscriminant(priors=[odds / (1 + odds), 1 / (1 + odds)]).fit(X, [0] * 4 + [1] * 4)
    conic = model.boundary(0, 1)
    window = scale * np.array([[-6.0, 5.0], [-4.0, 7.0]])
    pieces = conic.points(100, window)
    assert bool(pieces) == (conic.kind not in ("none", "everywhere", "point"))
    for piece in pieces:
        assert piece.shape == (100, 2)
        assert np.abs(conic(piece)).max() < 1e-9
        assert ((piece >= window[:, 0] - 1e-8 * scale) & (piece <= window[:, 1] + 1e-8 * scale)).all()
        steps = np.linalg.norm(np.diff(piece, axis=0), axis=1)
        assert steps.max() < 0.6 * scale  # in order along the curve
    assert conic.points() is not None
    # No curve is missed: every sign change between neighbours on a grid has a drawn point near it.
    if pieces and "double" not in name:
        gx, gy = (np.linspace(*edges, 60) for edges in window)
        value = conic(np.array([[x, y] for x in gx for y in gy])).reshape(60, 60)
        drawn = np.vstack(pieces)
        for i, j in zip(*np.nonzero(value[1:] * value[:-1] < 0), strict=True):
            near = np.hypot(drawn[:, 0] - (gx[i] + gx[i + 1]) / 2, drawn[:, 1] - gy[j]).min()
            assert near < 0.5 * scale


def by_invariants(c):
    """The kind of a conic that is no special case, by the determinants of its matrices."""
    small = c.A * c.C - c.B**2 / 4
    large = np.linalg.det([[c.A, c.B / 2, c.D / 2], [c.B / 2, c.C, c.E / 2], [c.D / 2, c.E / 2, c.F]])
    if small < 0:
        return "hyperbola"
    return "ellipse" if (c.A + c.C) * large < 0 else "none"


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_random_boundaries_by_their_invariants(kind):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(150):
        roots = rng.standard_normal((2, 2, 2))
        C = [root @ root.T + 0.1 * np.eye(2) for root in roots]
        if kind == "diagonal":
            C = [np.diag(np.diagonal(c)) for c in C]
        means, odds = rng.standard_normal((2, 2)), np.exp(2 * rng.standard_normal())
        conic = boundary((means[0], C[0]), (means[1], C[1]), odds=odds, kind=kind)
        assert conic.kind == by_invariants(conic)
        seen.add(conic.kind)
        points = rng.standard_normal((20, 2))
        expected = difference((means[0], C[0]), (means[1], C[1]), odds, points)
        np.testing.assert_allclose(conic(points), expected, rtol=1e-9, atol=1e-9)
        if kind == "diagonal":
            assert conic.B == 0
        if conic.kind == "none":
            assert (np.sign(conic(20 * rng.standard_normal((500, 2)))) == np.sign(conic.F)).all()
        else:
            check_geometry(conic)
    assert seen == {"ellipse", "hyperbola", "none"}


def check_geometry(conic):
    """Centre, axes and angle describe the curve: its points, and nothing else."""
    a, b = conic.axes
    along = np.array([np.cos(conic.angle), np.sin(conic.angle)])
    across = np.array([-along[1], along[0]])
    t = np.linspace(-2, 2, 9)[:, None]
    if conic.kind in ("circle", "ellipse"):
        assert a >= b
        points = conic.center + a * np.cos(t) * along + b * np.sin(t) * across
    else:
        points = conic.center + a * np.cosh(t) * along + b * np.sinh(t) * across
    size = np.abs([conic.A, conic.B, conic.C]).max() * (1 + np.abs(points).max()) ** 2 + abs(conic.F)
    assert np.abs(conic(points)).max() < 1e-9 * (1 + size)
    if conic.kind == "circle":
        assert conic.radius == pytest.approx(a)
    else:
        assert conic.radius is None
        assert -np.pi / 2 <= conic.angle <= np.pi / 2
    assert conic.vertex is None


@pytest.mark.parametrize("name", ["circle", "ellipse", "ellipse along the axes", "hyperbola", "rectangular hyperbola"])
def test_centres_and_axes(name):
    check_geometry(boundary(*CASES[name][:2], odds=CASES[name][2]))


def test_vertex_centre_and_none_of_these():
    conic = boundary(*CASES["parabola"][:2])
    assert abs(conic(conic.vertex)) < 1e-9
    gradient = 2 * conic.quadratic @ conic.vertex + conic.linear
    assert abs(gradient @ conic.quadratic @ gradient) < 1e-9  # at the vertex the curve is square to its axis
    assert conic.center is conic.axes is conic.angle is conic.radius is None
    np.testing.assert_allclose(boundary(*CASES["pair of lines that cross"][:2]).center, [1, 2], atol=1e-7)
    assert boundary(*CASES["pair of lines, parallel"][:2]).center is None
    np.testing.assert_allclose(boundary(*CASES["point"][:2], odds=0.25).center, [0, 0], atol=1e-7)


def test_units_decide_only_what_is_round():
    (m1, C1), (m2, C2), _ = CASES["circle"]
    stretch = np.diag([1.0, 1e6])
    conic = boundary((m1, stretch @ C1 @ stretch), (stretch @ m2, stretch @ C2 @ stretch))
    assert conic.kind == "ellipse"
    np.testing.assert_allclose(conic.axes, [1e6 * boundary(*CASES["circle"][:2]).radius, conic.axes[1]], rtol=1e-9)
    np.testing.assert_allclose(conic.axes[1], boundary(*CASES["circle"][:2]).radius, rtol=1e-9)
    m, C = CASES["rectangular hyperbola"][:2], stretch
    assert boundary((m[0][0], C @ m[0][1] @ C), (C @ m[1][0], C @ m[1][1] @ C)).kind == "hyperbola"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [[1e200, 1e-200], [1e-310, 1e300], [1e-310, 1e-310], [1e307, 1e306]])
def test_boundaries_at_any_scale(kind, scale):
    X, y = problem(32, d=2, k=2)
    scale = np.array(scale)
    model, plain = (GaussianDiscriminant(kind).fit(X * s, y) for s in (scale, 1.0))
    conic = model.boundary(0, 1)
    assert "Between 0 and 1" in str(model.summary())
    np.testing.assert_allclose(conic(X * scale), -model.decision_function(X * scale), rtol=1e-6, atol=1e-6)
    if kind != "spherical":
        assert conic.kind == plain.boundary(0, 1).kind
        assert len(conic.points()) == len(plain.boundary(0, 1).points())
    if kind == "diagonal":
        lengths = [c.axes if abs(c.angle) < 0.8 else c.axes[::-1] for c in (conic, plain.boundary(0, 1))]
        np.testing.assert_allclose(lengths[0] / scale, lengths[1], rtol=1e-6)


def test_kinds_follow_the_covariances():
    X, y = problem(30, d=2)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        assert GaussianDiscriminant("shared").fit(X, y).boundary(i, j).kind == "line"
        assert GaussianDiscriminant("spherical").fit(X, y).boundary(i, j).kind in ("circle", "none")
        conic = GaussianDiscriminant("diagonal").fit(X, y).boundary(i, j)
        assert conic.B == 0
        assert conic.kind in ("ellipse", "hyperbola", "none")
    equal = boundary(([0, 0], np.eye(2)), ([1, 3], np.eye(2)), kind="spherical")
    assert equal.kind == "line"
    np.testing.assert_allclose([equal.D, equal.E, equal.F], [-1, -3, 5], atol=1e-12)


def test_a_window_on_a_small_part_of_a_large_curve():
    """Nearly equal covariances: an ellipse of ten thousand deviations, drawn where the data are."""
    conic = boundary(([0, 0], np.eye(2)), ([2, 0], 1.0002 * np.eye(2)))
    assert conic.kind == "circle"
    assert conic.radius > 5000
    (piece,) = conic.points()
    assert len(piece) == 200
    assert np.ptp(piece[:, 1]) == pytest.approx(np.ptp(conic.window[1]), rel=1e-6)
    np.testing.assert_allclose(conic(piece), 0, atol=1e-8)


def test_one_feature():
    two = boundary(([0.0], [[1.0]]), ([1.0], [[9.0]]))
    assert two.kind == "two points"
    (points,) = two.points()
    assert points.shape == (2, 1)
    np.testing.assert_allclose(difference(([0.0], [[1.0]]), ([1.0], [[9.0]]), 1.0, points), 0, atol=1e-12)
    assert str(two).startswith("Between 'i' and 'j': two points, ")
    one = boundary(([0.0], [[2.0]]), ([3.0], [[2.0]]))
    assert one.kind == "point"
    np.testing.assert_allclose(one.points(), [[[1.5]]])
    assert str(one) == "Between 'i' and 'j': a point, 1.5."
    nowhere = boundary(([0.0], [[1.0]]), ([0.0], [[9.0]]), odds=0.01)
    assert nowhere.kind == "none"
    assert nowhere.points()[0].shape == (0, 1)
    assert str(nowhere).endswith("'j' is more probable than 'i' everywhere.")
    touching = boundary(([0.0], [[1.0]]), ([0.0], [[4.0]]), odds=0.5)
    assert touching.kind == "point"
    np.testing.assert_allclose(touching.points(), [[[0.0]]], atol=1e-7)
    assert boundary(([0.0], [[1.0]]), ([0.0], [[1.0]])).kind == "everywhere"
    np.testing.assert_allclose(two.quadratic * 2.0 + two.linear * 2**0.5 + two.constant, two([[2**0.5]])[:, None])


def test_more_features():
    e = np.eye(3)
    zero = np.zeros(3)
    assert boundary((zero, e), (zero + 1, e)).kind == "plane"
    assert boundary((zero, e), (zero + 1, 2 * e)).kind == "quadric"
    assert boundary((zero, e), (zero, np.diag([2.0, 1, 1]))).kind == "quadric"
    assert boundary((zero, e), (zero, np.diag([2.0, 1, 0.5]))).kind == "quadric"
    assert boundary((zero, e), (e[2], np.diag([2.0, 1, 1]))).kind == "quadric"
    assert boundary((zero, e), (zero, 2 * e), odds=0.1).kind == "none"
    assert boundary((zero, e), (zero, 4 * e), odds=1 / 8).kind == "point"
    assert boundary((zero, e), (zero, np.diag([4.0, 1, 1])), odds=0.5).kind == "plane"
    assert boundary((zero, e), (zero, np.diag([4.0, 4, 1])), odds=0.25).kind == "quadric"
    assert boundary((zero, e), (zero, e)).kind == "everywhere"
    conic = boundary((zero, e), (zero + 1, 2 * e))
    assert "a quadric at" in str(conic)
    points = np.random.default_rng(0).standard_normal((30, 3))
    written = np.einsum("ij,jk,ik->i", points, conic.quadratic, points) + points @ conic.linear + conic.constant
    np.testing.assert_allclose(written, conic(points), atol=1e-11)
    np.testing.assert_allclose(conic(points), difference((zero, e), (zero + 1, 2 * e), 1.0, points), atol=1e-11)


def test_boundaries_agree_with_decisions():
    X, y = problem(31, d=2, k=3)
    for kind in KINDS:
        model = GaussianDiscriminant(kind, shrinkage=0.1).fit(X, np.array(["a", "b", "c"])[y])
        g = model.decision_function(X)
        conic = model.boundary("c", "a")
        assert conic.classes == ("c", "a")
        np.testing.assert_allclose(conic(X), g[:, 2] - g[:, 0], atol=1e-9)
        np.testing.assert_allclose(conic(pd.DataFrame(X)), g[:, 2] - g[:, 0], atol=1e-9)
