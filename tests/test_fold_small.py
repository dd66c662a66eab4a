"""Cross-validation on small tables: every score against Newton's method written out, and passes that are few."""

from unittest import mock

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import gramian as gm
from gramian.selection.cv.regularization import Refits
from gramian.selection.cv.strategies.fold_small import SmallPath


def derivatives(loss, y, f):
    """Value, slope and curvature of each row."""
    if loss == "poisson":
        return np.exp(f) - y * f, np.exp(f) - y, np.exp(f)
    p = 1.0 / (1.0 + np.exp(-f))
    return np.logaddexp(0.0, f) - y * f, p - y, p * (1.0 - p)


def optimum(loss, X, y, w, alpha):
    """Newton's method, halving its steps."""
    Z = np.column_stack([X, np.ones(len(X))])
    bend = 2.0 * alpha * np.append(np.ones(X.shape[1]), 0.0)
    theta = np.zeros(Z.shape[1])

    def value(theta):
        return w @ derivatives(loss, y, Z @ theta)[0] / w.sum() + 0.5 * bend @ theta**2

    for _ in range(100):
        _, g, h = derivatives(loss, y, Z @ theta)
        slope = Z.T @ (w * g) / w.sum() + bend * theta
        H = (Z.T * (w * h)) @ Z / w.sum() + np.diag(bend)
        step = -np.linalg.lstsq(H, slope, rcond=None)[0]
        length = 1.0
        while length > 1e-12 and not value(theta + length * step) <= value(theta):
            length /= 2.0
        theta = theta + length * step
        if np.abs(step).max() < 1e-13:
            break
    return theta


@pytest.mark.parametrize("kind", ["cancer", "zero weights", "poisson", "nearly separated", "collinear"])
def test_scores_are_those_of_exact_optima(kind):
    rng = np.random.default_rng(3)
    w, loss = None, "poisson" if kind == "poisson" else "logistic"
    if kind == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
        X = scale(X)
    else:
        X = rng.standard_normal((150, 8))
        f = X @ rng.standard_normal(8)
        y = rng.poisson(np.exp(0.3 * f)) if kind == "poisson" else f + 0.3 * rng.standard_normal(150) > 0
    if kind == "nearly separated":
        y = f + 0.01 * rng.standard_normal(150) > 0
    if kind == "collinear":
        X[:, 1] = X[:, 0]
    if kind == "zero weights":
        w = rng.integers(0, 3, len(y)).astype(float)
    alphas, cv = np.geomspace(1.0, 1e-5, 12), gm.selection.KFold(5)
    model = gm.Regressor("poisson", "l2") if loss == "poisson" else gm.LogisticRegression()
    with mock.patch.object(Refits, "_path", side_effect=AssertionError):
        found = model.set_params(alphas=alphas, cv=cv).fit(X, y, sample_weight=w).scores_.folds
    y, w = np.asarray(y, dtype=float), np.ones(len(y)) if w is None else w
    expected = np.empty_like(found)
    for k, (train, test) in enumerate(cv.split(X)):
        for a, alpha in enumerate(alphas):
            theta = optimum(loss, X[train], y[train], w[train], alpha)
            value = derivatives(loss, y[test], X[test] @ theta[:-1] + theta[-1])[0]
            expected[a, k] = w[test] @ value / w[test].sum()
    np.testing.assert_allclose(found.mean(axis=1), expected.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_passes_and_hessians_are_few(monkeypatch, penalty):
    """Twenty alphas and five folds: about four passes an alpha, and fewer Hessians than two."""
    passes, hessians = [], []
    for name, count in (("_steps", passes), ("_renew", hessians)):
        plain = getattr(SmallPath, name)
        monkeypatch.setattr(SmallPath, name, lambda *a, plain=plain, count=count: (count.append(1), plain(*a))[1])
    X, y = load_breast_cancer(return_X_y=True)
    top = 1.0 if penalty == "l2" else 0.4
    gm.LogisticRegression(penalty=penalty, alphas=np.geomspace(top, 1e-3 * top, 20)).fit(scale(X), y)
    assert 20 <= len(hessians) <= 20 * 2
    assert 20 <= len(passes) <= 20 * 6


def test_a_part_without_a_class_is_fitted_alone():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X)[:200], y[:200].astype(bool)
    train = np.flatnonzero(y)
    rest = np.setdiff1d(np.arange(200), train)
    pairs = [(train, rest), (np.arange(0, 200, 2), np.arange(1, 200, 2))]
    alphas = [0.1, 0.01]
    for penalty in ("l2", "l1"):
        model = gm.LogisticRegression(penalty=penalty, alphas=alphas, cv=pairs)
        found = model.fit(X, y).scores_.folds
        with mock.patch.object(SmallPath, "at", return_value=None):
            alone = model.fit(X, y).scores_.folds
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
@pytest.mark.parametrize("kind", ["plain", "weights", "no intercept"])
def test_scores_of_huber_with_zeros_are_those_of_separate_fits(kind, penalty):
    """All folds in the same passes, each with the scale and the zeros of its own fit."""
    rng = np.random.default_rng(43)
    X = rng.normal([0, 5, 0, 0], size=(310, 4))
    y = X @ [1.0, 0.3, 0.0, -0.5] + rng.standard_t(2, size=310)
    w = rng.integers(0, 3, 310).astype(float) if kind == "weights" else np.ones(310)
    cv, alphas = gm.selection.KFold(4), np.geomspace(0.5, 5e-4, 6)
    model = gm.Regressor(gm.losses.Huber(1.1), penalty, fit_intercept=kind != "no intercept")
    with mock.patch.object(Refits, "_path", side_effect=AssertionError):
        found = clone(model).set_params(alphas=alphas, cv=cv).fit(X, y, sample_weight=w).scores_.folds
    for k, (train, test) in enumerate(cv.split(X)):
        for a, alpha in enumerate(alphas):
            one = clone(model).set_params(alpha=alpha).fit(X[train], y[train], sample_weight=w[train])
            u = np.abs(y[test] - one.predict(X[test])) / one.scale_
            loss = np.where(u <= 1.1, u**2, 2.2 * u - 1.1**2)
            assert found[a, k] == pytest.approx(one.scale_ * (1.0 + w[test] @ loss / w[test].sum()), rel=1e-6)


def test_steps_of_smoothed_newton_are_few(monkeypatch):
    """Newton's method on the smoothed loss starts near the breakpoints of the model that it begins with."""
    solves = []
    plain = np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda *a: (solves.append(1), plain(*a))[1])
    X, y = load_breast_cancer(return_X_y=True)
    with gm.threads(1):
        gm.SVC(alphas=np.geomspace(1.0, 1e-5, 20)).fit(scale(X), y)
    assert 6 * 20 <= len(solves) <= 6 * 20 * 24
