"""The perceptron with a kernel against the algorithm written out, and the rows of the kernel matrix that it keeps."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

import gramian as gm
from gramian.kernels import RBF, Linear, Spectrum
from gramian.solvers.kernel import dual_perceptron
from gramian.solvers.kernel.dual_perceptron import Mistaken

RNG = np.random.default_rng(7)


def three(n):
    X = RNG.standard_normal((n, 2))
    return X, np.array(["u", "v", "w"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)]


def written_out(K, codes, weight, m, sweeps, *, average, intercept=True):
    """Every point on the way, with a θ for each class: the last, or the mean over visits."""
    n = len(K)
    K1 = K + (1.0 if intercept else 0.0)
    beta, total, clock = np.zeros((m, n)), np.zeros((m, n)), 0.0
    best, least = beta.copy(), np.inf
    for r in range(sweeps):
        mistakes = 0
        for i in np.random.default_rng((0, r)).permutation(n):
            left = weight[i]
            while left > 0:
                rate = min(left, 1.0)
                f = beta @ K1[:, i]
                if m == 1:
                    side = 1.0 if codes[i] else -1.0
                    if side * f[0] <= 0:
                        beta[0, i] += rate * side
                        mistakes += 1
                else:
                    others = f.copy()
                    others[codes[i]] = -np.inf
                    if f[codes[i]] <= others.max():
                        beta[codes[i], i] += rate
                        beta[others.argmax(), i] -= rate
                        mistakes += 1
                total += rate * beta  # the point after the visit
                clock += rate
                left -= rate
        point = total / clock if average else beta
        F = point @ K1
        if m == 1:
            margin = np.where(codes, F[0], -F[0])
        else:
            others = F.T.copy()
            own = others[np.arange(n), codes].copy()
            others[np.arange(n), codes] = -np.inf
            margin = own - others.max(axis=1)
        share = weight @ (margin <= 0)
        if share < least or (mistakes == 0 and not average):
            best, least = point.copy(), share
        if share == 0 or (mistakes == 0 and not average):
            break
    return best


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("kind", ["two", "joint"])
@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_the_algorithm_written_out(average, kind, intercept):
    X, y = three(70)
    y = y if kind == "joint" else np.where(y == "v", "v", "u")
    codes = np.unique(y, return_inverse=True)[1]
    weight = RNG.choice([0.0, 0.5, 1.0, 2.0], 70)
    k = RBF(0.8)
    model = gm.Perceptron(kernel=k, average=average, max_iter=12, fit_intercept=intercept)
    model.set_params(multiclass="joint" if kind == "joint" else "auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        model.fit(X, y, sample_weight=weight)
    beta = written_out(k(X), codes, weight, 3 if kind == "joint" else 1, 12, average=average, intercept=intercept)
    found = np.zeros_like(beta)
    found[:, model.support_] = model.dual_coef_
    np.testing.assert_allclose(found, beta, atol=1e-12)
    b = beta.sum(axis=1) * intercept
    np.testing.assert_allclose(model.intercept_, b - b.mean() * (len(b) > 1), atol=1e-12)
    # no row that it was never wrong about is kept
    assert set(model.support_) <= set(np.flatnonzero(weight > 0))


def test_many_rows_are_exact_and_kept_within_a_budget(monkeypatch):
    X, y = make_moons(2600, noise=0.15, random_state=1)  # more than a factor takes whole
    model = gm.Perceptron(kernel=RBF(0.3), max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        whole = clone(model).fit(X, y)
        monkeypatch.setattr(dual_perceptron, "LEAST_ROWS", 3)
        monkeypatch.setattr(Mistaken.__init__, "__defaults__", (1,))
        few = clone(model).fit(X, y)
    beta = written_out(RBF(0.3)(X), y, np.ones(2600), 1, 3, average=False)
    np.testing.assert_array_equal(whole.support_, np.flatnonzero(beta[0]))
    np.testing.assert_array_equal(whole.dual_coef_[0], beta[0, whole.support_])
    np.testing.assert_array_equal(few.dual_coef_, whole.dual_coef_)
    assert len(whole.support_) < 600


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "code", "joint"])
def test_classes_probabilities_and_the_certificate(multiclass):
    X, y = three(90)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        model = gm.Perceptron(kernel=RBF(0.7), multiclass=multiclass, average=True, max_iter=30).fit(X, y)
    assert model.score(X, y) > 0.9
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    f = RBF(0.7)(X, model.support_vectors_) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model._predictions(model._rows(X)), f, atol=1e-12)
    if multiclass == "joint":
        own = f[np.arange(90), np.unique(y, return_inverse=True)[1]]
        shares = [(np.sort(f, axis=1)[:, -1] > own).mean()]
    else:
        signs = model.code_[np.unique(y, return_inverse=True)[1]]
        shares = [((s * v)[s != 0] <= 0).mean() for s, v in zip(signs.T, f.T, strict=True)]
    np.testing.assert_allclose(model.certificate_.value, max(shares), atol=1e-12)
    assert "support vectors" in str(model.summary())


def test_bound_words_and_refusals():
    X, y = make_moons(60, noise=0.05, random_state=3)
    model = gm.Perceptron(kernel=RBF(0.5)).fit(X, y)
    assert model.n_mistakes_ <= model.mistake_bound_ < np.inf
    by_factor = gm.Perceptron(kernel=RBF(0.5), rank=60).fit(X, y)
    np.testing.assert_allclose(model.mistake_bound_, by_factor.mistake_bound_, rtol=1e-6)
    words = ["abab", "baba", "abba", "cdcd", "dcdc", "ccdd"]
    assert gm.Perceptron(kernel=Spectrum(2)).fit(words, [0, 0, 0, 1, 1, 1]).predict(["aba", "dcd"]).tolist() == [0, 1]
    with pytest.warns(gm.ConvergenceWarning, match=r"wrong side is 0\.\d+ after .* gm.SVC"):
        gm.Perceptron(kernel=Linear(), max_iter=5).fit(X, y)
    model.set_params(kernel=None).fit(np.column_stack([y, X]), y)
    assert not hasattr(model, "support_")
    assert model.score(np.column_stack([y, X]), y) == 1.0
