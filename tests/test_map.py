"""MAP: every likelihood and prior against a direct search of the posterior, its other names, and the contract."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import scipy.stats as st
import statsmodels.api as sm
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV

import gramian as gm
import gramian.models.linear.most_probable as module
from gramian.models.linear.map import MAP
from gramian.objective import likelihoods as L
from gramian.objective import priors as P

PRIORS = [P.Normal(0.7), P.Laplace(0.4), P.Flat()]
NUMBERS = [
    L.Gaussian(),
    L.Gaussian(0.6),
    L.StudentT(3.0),
    L.StudentT(3.0, 0.6),
    L.Laplace(),
    L.Laplace(0.6),
    L.Poisson(),
]
CLASSES = [L.Bernoulli(), L.Categorical()]


def table(likelihood, seed=0, n=40, d=2):
    """Features and a target that suits the likelihood."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3) + 0.5
    f = X @ np.linspace(1.0, -0.5, d) + 0.3
    if likelihood.targets == "counts":
        return X, rng.poisson(np.exp(0.7 * f)).astype(float)
    if likelihood.targets == "signs":
        return X, np.where(rng.uniform(size=n) < expit(f), "yes", "no")
    if likelihood.targets == "classes":
        scores = np.column_stack([f, -f, 0.5 * X[:, 0]]) + rng.gumbel(size=(n, 3))
        return X, np.array(["a", "b", "c"])[scores.argmax(axis=1)]
    return X, f + rng.standard_t(4, n)


# densities


@pytest.mark.parametrize("f", [-1.3, 0.0, 2.2])
def test_likelihoods_are_the_densities_of_scipy(f):
    y, counts = np.linspace(-3, 4, 9), np.arange(8.0)
    same = np.full(9, f)
    np.testing.assert_allclose(L.Gaussian(1.7).log_density(y, same), st.norm.logpdf(y, f, 1.7), rtol=1e-12)
    np.testing.assert_allclose(L.Gaussian().log_density(y, same, 0.3), st.norm.logpdf(y, f, 0.3), rtol=1e-12)
    np.testing.assert_allclose(L.Laplace(1.7).log_density(y, same), st.laplace.logpdf(y, f, 1.7), rtol=1e-12)
    np.testing.assert_allclose(L.StudentT(2.5, 0.4).log_density(y, same), st.t.logpdf(y, 2.5, f, 0.4), rtol=1e-11)
    np.testing.assert_allclose(
        L.Poisson().log_density(counts, same[:8]), st.poisson.logpmf(counts, np.exp(f)), rtol=1e-12
    )
    p = expit(f)
    for zero in (0.0, -1.0):
        found = L.Bernoulli().log_density([1.0, zero], [f, f])
        np.testing.assert_allclose(found, st.bernoulli.logpmf([1, 0], p), rtol=1e-12)
    scores = np.array([[f, 0.0, 1.0]] * 3)
    np.testing.assert_allclose(L.Categorical().log_density([0, 1, 2], scores), log_softmax(scores[0]), rtol=1e-12)
    assert L.Poisson().log_density([-1.0], [f]) == -np.inf


@pytest.mark.parametrize("likelihood", [L.Gaussian(0.7), L.StudentT(1.5, 2.0), L.Laplace(3.0)], ids=repr)
def test_densities_of_numbers_integrate_to_one(likelihood):
    inside = lambda v: np.exp(likelihood.log_density([v], [0.4])[0])  # noqa: E731
    total = quad(inside, -np.inf, 0.4)[0] + quad(inside, 0.4, np.inf)[0]
    np.testing.assert_allclose(total, 1.0, rtol=1e-8)


def test_probabilities_add_up_to_one():
    np.testing.assert_allclose(np.exp(L.Poisson().log_density(np.arange(80.0), np.full(80, 1.1))).sum(), 1.0)
    np.testing.assert_allclose(np.exp(L.Bernoulli().log_density([0.0, 1.0], [0.8, 0.8])).sum(), 1.0)
    scores = np.tile([0.3, -2.0, 1.0], (3, 1))
    np.testing.assert_allclose(np.exp(L.Categorical().log_density([0, 1, 2], scores)).sum(), 1.0)


@pytest.mark.parametrize("likelihood", [L.Gaussian(0.7), L.StudentT(1.5, 2.0), L.Laplace(3.0), L.Poisson()], ids=repr)
def test_a_likelihood_is_its_loss_over_its_unit(likelihood):
    y, f = np.array([0.0, 1.0, 4.0]), np.array([0.3, -1.0, 1.0])
    from_loss = -likelihood.loss().value(y, f) / likelihood.unit - likelihood.rest(y)
    np.testing.assert_allclose(likelihood.log_density(y, f), from_loss)
    grid = np.geomspace(0.05, 20, 4001)
    if hasattr(likelihood, "scale") and not isinstance(likelihood, L.StudentT):
        total = [likelihood.log_density(y, f, s).sum() for s in grid]
        best = likelihood.likeliest(likelihood.loss().value(y, f).mean())
        np.testing.assert_allclose(best, grid[np.argmax(total)], rtol=2e-3)


def test_priors_are_the_densities_of_scipy():
    c = np.array([-2.0, 0.0, 0.3])
    np.testing.assert_allclose(P.Normal(0.6).log_density(c), st.norm.logpdf(c, 0, 0.6), rtol=1e-12)
    np.testing.assert_allclose(P.Laplace(0.6).log_density(c), st.laplace.logpdf(c, 0, 0.6), rtol=1e-12)
    np.testing.assert_array_equal(P.Flat().log_density(c), 0.0)
    for prior in PRIORS:
        falls = prior.log_density(np.zeros(3)).sum() - prior.log_density(c).sum()
        np.testing.assert_allclose(prior.strength * prior.penalty().value(c), falls, atol=1e-12)
    assert P.Normal(0.5).alpha(unit=2 * 0.3**2, weight=40.0) == pytest.approx(0.3**2 / (0.5**2 * 40))
    assert P.Normal(1e200).alpha(1.0, 10.0) == 0.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: L.Gaussian(0.0), "scale is 0.0; it must be a number above 0, or None"),
        (lambda: L.Laplace("wide"), "scale is 'wide'"),
        (lambda: L.StudentT(-1.0), "nu is -1.0"),
        (lambda: L.StudentT(3.0, np.inf), "scale is inf"),
        (lambda: L.Gaussian(1e-200), "its square is beyond the float range"),
        (lambda: P.Normal(None), "the most probable scale of a prior is 0"),
        (lambda: P.Laplace(-2), "scale is -2"),
        (lambda: P.Normal(True), "scale is True"),
        (lambda: P.Normal(1e-160).alpha(1.0, 1.0), "so narrow beside the noise"),
        (lambda: L.Gaussian().log_density([0.0], [0.0]), "has no scale yet"),
        (lambda: L.Poisson().log_density([0.0], [0.0], 2.0), r"Poisson\(\) has no scale, and 2.0 was given"),
    ],
)
def test_scales_out_of_range_are_named(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_the_scale_of_student_t_belongs_to_its_solver():
    with pytest.raises(TypeError, match="solver of StudentT"):
        L.StudentT(3.0).likeliest(1.0)


# the posterior, searched directly


def negative_log_posterior(theta, likelihood, prior, X, y, w, intercept):
    """From scipy's densities alone; θ is the coefficients, the intercept and the logarithm of a free scale."""
    d = X.shape[1]
    scale = np.exp(theta[-1]) if likelihood.free else getattr(likelihood, "scale", None)
    if isinstance(likelihood, L.Categorical):
        coef, offset = theta[: 3 * d].reshape(3, d), theta[3 * d : 3 * d + 3] if intercept else 0.0
        log = log_softmax(X @ coef.T + offset, axis=1)[np.arange(len(y)), np.unique(y, return_inverse=True)[1]]
    else:
        coef = theta[:d]
        f = X @ coef + (theta[d] if intercept else 0.0)
        if isinstance(likelihood, L.Gaussian):
            log = st.norm.logpdf(y, f, scale)
        elif isinstance(likelihood, L.StudentT):
            log = st.t.logpdf(y, likelihood.nu, f, scale)
        elif isinstance(likelihood, L.Laplace):
            log = st.laplace.logpdf(y, f, scale)
        elif isinstance(likelihood, L.Poisson):
            log = st.poisson.logpmf(y, np.exp(np.minimum(f, 300)))
        else:
            log = -np.logaddexp(0, np.where(y == "yes", -f, f))
    before = {P.Normal: st.norm, P.Laplace: st.laplace}.get(type(prior))
    return -(w @ log) - (0.0 if before is None else before.logpdf(coef, 0, prior.scale).sum())


def as_theta(model, intercept):
    parts = [np.ravel(model.coef_), np.ravel(model.intercept_) if intercept else []]
    return np.concatenate([*parts, [np.log(model.scale_)] if model.likelihood.free else []])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("likelihood", [*NUMBERS, *CLASSES], ids=repr)
def test_no_search_finds_more_probable_coefficients(likelihood, prior, intercept):
    X, y = table(likelihood)
    w = np.random.default_rng(5).integers(0, 3, len(y)).astype(float)
    model = MAP(likelihood, prior, fit_intercept=intercept).fit(X, y, sample_weight=w)
    assert model.certificate_.holds
    mine = as_theta(model, intercept)
    given = (likelihood, prior, X, y, w, intercept)
    here = negative_log_posterior(mine, *given)
    np.testing.assert_allclose(-model.log_posterior_, here, rtol=1e-9)
    rng = np.random.default_rng(0)
    found = []
    for start in (np.zeros_like(mine), mine + 0.3 * rng.standard_normal(len(mine)), mine):
        rough = minimize(negative_log_posterior, start, given, method="Nelder-Mead", options={"maxfev": 1500})
        smooth = minimize(negative_log_posterior, rough.x, given, method="BFGS")
        found.append(min(rough.fun, smooth.fun))
    assert here <= min(found) + 1e-7 * abs(here)  # nothing better, from anywhere
    assert min(found) <= here + 1e-3 * abs(here)  # and the search is one that comes close


@pytest.mark.parametrize("prior", [P.Normal(0.3), P.Laplace(0.2)], ids=repr)
def test_of_several_modes_the_highest(prior):
    """The posterior over a grid of scales, the coefficients at their best for each."""
    peaks = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((14, 10))
        y = X @ rng.standard_normal(10) + 0.05 * rng.standard_normal(14)
        model = MAP(L.Gaussian(), prior).fit(X, y)
        scales = np.geomspace(model.scale_ / 20, 3 * y.std(), 60)
        height = np.array([MAP(L.Gaussian(s), prior).fit(X, y).log_posterior_ for s in scales])
        assert model.log_posterior_ >= height.max() - 1e-9
        assert model.certificate_.holds
        peaks += int(((height[1:-1] > height[:-2]) & (height[1:-1] > height[2:])).sum())
    assert peaks > 5  # some of these posteriors do have two


# its other names


def test_gaussian_and_normal_are_ridge():
    X, y = table(L.Gaussian(), n=50, d=4)
    for sigma, beta in ((0.5, 0.2), (2.0, 10.0)):
        model = MAP(L.Gaussian(sigma), P.Normal(beta)).fit(X, y)
        ridge = gm.Ridge(alpha=sigma**2 / (beta**2 * 50)).fit(X, y)
        np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-12)
        np.testing.assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-12)
        assert model.alpha_ == pytest.approx(ridge.alpha_, rel=1e-14)
        assert model.scale_ == sigma
        assert model.noise_variance_ == sigma**2


def test_gaussian_and_flat_is_least_squares():
    X, y = table(L.Gaussian(), n=50, d=4)
    model, plain = MAP("gaussian", "flat").fit(X, y), gm.LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.scale_**2, plain.noise_variance_, rtol=1e-12)
    np.testing.assert_allclose(model.log_likelihood_, plain.log_likelihood(), rtol=1e-12)
    assert model.log_posterior_ == model.log_likelihood_


def test_gaussian_and_laplace_is_the_lasso():
    X, y = table(L.Gaussian(), n=50, d=6)
    model = MAP(L.Gaussian(0.8), P.Laplace(0.02)).fit(X, y)
    lasso = gm.Lasso(alpha=2 * 0.8**2 / (0.02 * 50)).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, rtol=1e-9)
    assert 0 < (model.coef_ == 0).sum() < 6


def test_student_t_laplace_and_poisson_are_regressors():
    X, y = table(L.StudentT(), n=80, d=3)
    model = MAP(L.StudentT(3.0), P.Normal(0.5)).fit(X, y)
    other = gm.Regressor(loss=gm.losses.StudentT(3.0), alpha=1 / (2 * 0.25 * 80)).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.scale_, other.scale_, rtol=1e-9)
    model = MAP(L.Laplace(0.5), P.Normal(0.5)).fit(X, y)
    other = gm.Regressor(loss="absolute", alpha=0.5 / (2 * 0.25 * 80)).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-8)
    np.testing.assert_allclose(MAP(L.Laplace(), P.Flat()).fit(X, y).scale_, sm.QuantReg(
        y, sm.add_constant(X)).fit(0.5, p_tol=1e-10, max_iter=10_000).resid.__abs__().mean(), rtol=1e-6)  # fmt: skip


def test_poisson_is_the_generalised_linear_model():
    X, y = table(L.Poisson(), n=80, d=3)
    w = np.random.default_rng(1).integers(1, 4, 80)
    model = MAP("poisson", "flat").fit(X, y, sample_weight=w)
    glm = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson(), freq_weights=w).fit(tol=1e-12)
    np.testing.assert_allclose([model.intercept_, *model.coef_], glm.params, rtol=1e-8)
    np.testing.assert_allclose(model.log_likelihood_, glm.llf, rtol=1e-10)
    np.testing.assert_allclose(model.summary().coefficients["error"], glm.bse, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), glm.predict(), rtol=1e-8)


@pytest.mark.parametrize(("prior", "penalty"), [(P.Normal(0.7), "l2"), (P.Laplace(0.2), "l1")])
def test_classes_are_logistic_regression(prior, penalty):
    for likelihood, multiclass in ((L.Bernoulli(), "auto"), (L.Categorical(), "joint")):
        X, y = table(likelihood, n=90)
        model = MAP(likelihood, prior).fit(X, y)
        other = gm.LogisticRegression(alpha=prior.strength / 90, penalty=penalty, multiclass=multiclass).fit(X, y)
        np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-8)
        np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-7)
        np.testing.assert_array_equal(model.predict(X), other.predict(X))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
        assert model.score(X, y) == np.mean(model.predict(X) == y)
        own = [np.log(p[list(model.classes_).index(name)]) for p, name in zip(model.predict_proba(X), y, strict=True)]
        np.testing.assert_allclose(model.log_likelihood_, sum(own), rtol=1e-9)


def test_two_classes_as_categories():
    X, y = table(L.Bernoulli(), n=90)
    model = MAP("categorical").fit(X, y)
    assert model.coef_.shape == (2, 2)
    binary = MAP(L.Bernoulli(), P.Normal(np.sqrt(2.0))).fit(X, y)  # the prior of a difference
    np.testing.assert_allclose(model.predict_proba(X), binary.predict_proba(X), atol=1e-7)
    assert model.decision_function(X).shape == (90,)


def test_another_solver_finds_the_same():
    X, y = table(L.Gaussian(), n=60, d=3)
    reference = MAP(L.Gaussian(), P.Normal(0.4)).fit(X, y)
    for solver in ("newton", gm.solvers.GradientDescent("line_search", max_iter=5000, tol=1e-9)):
        model = MAP(L.Gaussian(), P.Normal(0.4), solver=solver).fit(X, y)
        np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6)
        np.testing.assert_allclose(model.scale_, reference.scale_, rtol=1e-6)
        np.testing.assert_allclose(
            model.summary().coefficients["error"], reference.summary().coefficients["error"], rtol=1e-5
        )
    assert model.solver_.name != reference.solver_.name


# what is known of the coefficients


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("prior", [P.Normal(0.4), P.Flat()], ids=repr)
def test_the_posterior_of_gaussians_is_exact(prior, intercept):
    X, y = table(L.Gaussian(), n=30, d=3)
    w = np.random.default_rng(2).integers(0, 3, 30)
    model = MAP(L.Gaussian(0.5), prior, fit_intercept=intercept).fit(X, y, sample_weight=w)
    Z = np.column_stack([X, np.ones(30)]) if intercept else X
    precision = (Z * w[:, None]).T @ Z / 0.5**2
    precision[:3, :3] += np.eye(3) * 2 * prior.strength
    covariance = np.linalg.inv(precision)
    errors = np.sqrt(np.diagonal(covariance))
    found = model.summary().coefficients["error"]
    np.testing.assert_allclose(found, np.roll(errors, 1) if intercept else errors, rtol=1e-9)
    new = np.random.default_rng(3).standard_normal((7, 3)) * 5
    Q = np.column_stack([new, np.ones(7)]) if intercept else new
    spread = np.einsum("ni,ij,nj->n", Q, covariance, Q)
    ours = model.predict_distribution(new)
    np.testing.assert_allclose(ours.std, np.sqrt(0.25 + spread), rtol=1e-9)
    np.testing.assert_allclose(ours.mean, model.predict(new))
    around = model.predict(new, interval=0.9)
    np.testing.assert_allclose(around.high - around.mean, st.norm.ppf(0.95) * ours.std, rtol=1e-9)
    mean = model.predict(new, interval=0.9, interval_of="mean")
    np.testing.assert_allclose(mean.high - mean.mean, st.norm.ppf(0.95) * np.sqrt(spread), rtol=1e-9)


@pytest.mark.parametrize("prior", [P.Normal(0.7), P.Flat()], ids=repr)
@pytest.mark.parametrize("likelihood", [L.StudentT(3.0), L.StudentT(4.0, 0.6), L.Poisson(), L.Bernoulli()], ids=repr)
def test_errors_are_the_curvature_of_the_posterior(likelihood, prior):
    X, y = table(likelihood, n=60)
    model = MAP(likelihood, prior).fit(X, y)
    fixed = likelihood.at(model.scale_) if likelihood.free else likelihood
    given = (fixed, prior, X, y, np.ones(60), True)
    mine = np.append(np.ravel(model.coef_), model.intercept_)
    h, H = 1e-4, np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            a, b = h * np.eye(3)[i], h * np.eye(3)[j]
            corners = [(1, mine + a + b), (-1, mine + a - b), (-1, mine - a + b), (1, mine - a - b)]
            H[i, j] = sum(sign * negative_log_posterior(at, *given) for sign, at in corners) / (4 * h * h)
    covariance = np.linalg.inv(H)
    np.testing.assert_allclose(
        model.summary().coefficients["error"], np.roll(np.sqrt(np.diagonal(covariance)), 1), rtol=1e-4
    )
    ours = model.predict_distribution(X)
    Q = np.column_stack([X, np.ones(60)])
    variance = np.einsum("ni,ij,nj->n", Q, covariance, Q)
    f = X @ np.ravel(model.coef_) + model.intercept_
    if likelihood.targets == "signs":
        z = np.random.default_rng(0).standard_normal(200_000)
        mean = [expit(a + np.sqrt(v) * z).mean() for a, v in zip(f[:5], variance[:5], strict=True)]
        np.testing.assert_allclose(ours.probabilities[:5, 1], mean, atol=3e-3)
        np.testing.assert_array_equal(ours.mode, model.predict(X))
    elif likelihood.targets == "counts":
        np.testing.assert_allclose(ours.mean, np.exp(f + variance / 2), rtol=1e-4)
    else:
        nu = likelihood.nu
        np.testing.assert_allclose(ours.std, np.sqrt(model.scale_**2 * nu / (nu - 2) + variance), rtol=1e-4)
        interval = model.predict(X, interval=0.8)
        np.testing.assert_allclose(ours.cdf(interval.low), 0.1, rtol=1e-8)
        np.testing.assert_allclose(ours.cdf(interval.high), 0.9, rtol=1e-8)


def test_categories_average_over_the_posterior():
    X, y = table(L.Categorical(), n=60)
    model = MAP(L.Categorical(), P.Normal(0.7)).fit(X, y)
    given = (L.Categorical(), P.Normal(0.7), X, y, np.ones(60), True)
    mine = as_theta(model, True)
    h, size = 1e-3, len(mine)
    base = np.eye(size) * h
    f0 = negative_log_posterior(mine, *given)
    one = np.array([negative_log_posterior(mine + a, *given) for a in base])
    H = np.array([[negative_log_posterior(mine + a + b, *given) for b in base] for a in base])
    H = (H - one[:, None] - one[None, :] + f0) / h**2
    draws = np.random.default_rng(0).multivariate_normal(mine, np.linalg.pinv((H + H.T) / 2, 1e-3), 40_000)
    scores = X[:3] @ draws[:, :6].reshape(-1, 3, 2).transpose(0, 2, 1) + draws[:, None, 6:]
    expected = np.exp(log_softmax(scores, axis=2)).mean(axis=0)
    np.testing.assert_allclose(model.predict_distribution(X[:3]).probabilities, expected, atol=0.01)
    assert (model.predict_distribution(X).probabilities.max(axis=1) < model.predict_proba(X).max(axis=1)).mean() > 0.8


def test_where_there_is_no_normal_posterior():
    X, y = table(L.Gaussian())
    for model in (MAP(L.Gaussian(), P.Laplace(0.1)), MAP(L.Laplace(), P.Normal(1.0))):
        model.fit(X, y)
        assert "error" not in model.summary().coefficients
        assert "No standard errors" in str(model.summary())
        ours = model.predict_distribution(X)
        np.testing.assert_allclose(ours.scale, model.scale_)
        assert (model.predict(X, interval=0.5).low < model.predict(X)).all()
        with pytest.raises(ValueError, match="no prediction intervals of the mean"):
            model.predict(X, interval=0.5, interval_of="mean")
    wide = np.random.default_rng(0).standard_normal((30, 600))
    model = MAP(L.Gaussian(1.0), P.Normal(0.1)).fit(wide, y[:30])
    np.testing.assert_array_equal(model.predict_distribution(wide).std, 1.0)
    ridge = gm.Ridge(alpha=1 / (0.01 * 30)).fit(wide, y[:30])
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-12)


def test_wide_tables():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 1200)), rng.standard_normal(20)
    lasso = gm.Lasso(alpha=2 * 0.25 / (0.05 * 20)).fit(X, y)
    model = MAP(L.Gaussian(0.5), P.Laplace(0.05)).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-9)
    expected = st.norm.logpdf(y, model.predict(X), 0.5).sum()
    np.testing.assert_allclose(model.log_likelihood_, expected, rtol=1e-9)
    few = MAP(L.Gaussian(0.5), P.Normal(0.3)).fit(X[:, :40], y)
    precision = X[:, :40].T @ (np.eye(20) - 1 / 20) @ X[:, :40] / 0.25 + np.eye(40) / 0.09
    errors = np.sqrt(np.diagonal(np.linalg.inv(precision)))
    np.testing.assert_allclose(few.summary().coefficients["error"][1:], errors, rtol=1e-8)
    flat = MAP(L.Gaussian(0.5), P.Flat()).fit(X[:, :40], y)
    np.testing.assert_allclose(flat.coef_, gm.LinearRegression().fit(X[:, :40], y).coef_, rtol=1e-9)


# degenerate data


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_an_exact_fit_has_no_scale(prior):
    X, _ = table(L.Gaussian())
    for y in (X @ [1.0, 2.0] + 3.0, np.full(40, 3.0)):
        with pytest.warns(gm.ConvergenceWarning, match="likelihood is unbounded"):
            model = MAP(L.Gaussian(), prior).fit(X, y)
        assert 0 < model.scale_ <= 1e-6
        np.testing.assert_allclose(model.predict(X), y, atol=1e-5)
        assert not model.certificate_.holds
        assert model.certificate_.claim == "no optimum exists"
        for method, options in (("summary", ()), ("predict", (X, 0.9)), ("predict_distribution", (X,))):
            with pytest.raises(ValueError, match=r"unbounded as the scale goes to 0.* Give the scale"):
                getattr(model, method)(*options)
        assert np.isfinite(model.log_posterior_)
    np.testing.assert_allclose(MAP(L.Gaussian(0.1), prior).fit(X, y).coef_, 0.0, atol=1e-12)
    with pytest.warns(gm.ConvergenceWarning, match="likelihood is unbounded"):
        assert MAP(L.Gaussian(), prior).fit(X[:1], [2.0]).predict(X[:1])[0] == pytest.approx(2.0)
    with pytest.warns(gm.ConvergenceWarning, match="likelihood is unbounded"):
        MAP(L.Gaussian(), prior).fit(gm.moments(X, X @ [1.0, 2.0] + 3.0))


def test_a_scale_that_the_solver_cannot_find(monkeypatch):
    X, y = table(L.StudentT())
    fit = module.fit_problem
    monkeypatch.setattr(module, "fit_problem", lambda *args, **options: replace(fit(*args, **options), scale=np.nan))
    with pytest.raises(ValueError, match="scale cannot be estimated"):
        MAP(L.StudentT(), P.Normal(1.0)).fit(X, y)


def test_a_scale_that_has_not_settled():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((14, 10))
    y = X @ rng.standard_normal(10) + 0.05 * rng.standard_normal(14)
    with pytest.warns(gm.ConvergenceWarning, match="scale still moves by .* raise max_iter"):
        model = MAP(L.Gaussian(), P.Normal(0.3), max_iter=1).fit(X, y)
    assert not model.certificate_.holds


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_units_do_not_matter(prior):
    X, y = table(L.Gaussian(), d=3)
    reference = MAP(L.Gaussian(), prior).fit(X, y)
    for unit in (1e-100, 1e-8, 1e8, 1e100):
        scaled = prior if isinstance(prior, P.Flat) else replace(prior, scale=prior.scale * unit)
        model = MAP(L.Gaussian(), scaled).fit(X, y * unit)
        np.testing.assert_allclose(model.coef_ / unit, reference.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.scale_ / unit, reference.scale_, rtol=1e-10)
        stds = model.predict_distribution(X).std / unit
        np.testing.assert_allclose(stds, reference.predict_distribution(X).std, rtol=1e-9)
        scaled = prior if isinstance(prior, P.Flat) else replace(prior, scale=prior.scale / unit)
        model = MAP(L.Gaussian(), scaled).fit(X * unit, y)
        np.testing.assert_allclose(model.coef_ * unit, reference.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.predict_distribution(X * unit).std, stds, rtol=1e-9)
    far = MAP(L.Gaussian(), prior).fit(X + 2.0**20, y)
    np.testing.assert_allclose(far.coef_, reference.coef_, rtol=1e-6)
    np.testing.assert_allclose(far.predict_distribution(X + 2.0**20).std, stds, rtol=1e-7)


def test_constant_and_dependent_columns():
    X, y = table(L.Gaussian())
    Z = np.column_stack([X, np.ones(40), X[:, 0]])
    for likelihood in (L.Gaussian(), L.StudentT(4.0, 0.8)):
        model = MAP(likelihood, P.Flat()).fit(Z, y)
        plain = MAP(likelihood, P.Flat()).fit(X, y)
        np.testing.assert_allclose(model.predict(Z), plain.predict(X), rtol=1e-7)
        np.testing.assert_allclose(model.predict_distribution(Z).std, plain.predict_distribution(X).std, rtol=1e-6)
    model = MAP(L.Gaussian(1.0), P.Normal(0.5)).fit(Z, y)
    assert model.coef_[2] == 0.0
    assert model.summary().coefficients["error"][3] == pytest.approx(0.5)  # nothing was learned of it


def test_separated_classes():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.warns(gm.ConvergenceWarning, match="separated"):
        model = MAP("bernoulli", "flat").fit(X, [0, 0, 1, 1])
    assert "error" not in model.summary().coefficients
    np.testing.assert_array_equal(model.predict_distribution(X).probabilities, model.predict_proba(X))
    tame = MAP("bernoulli", P.Normal(1.0)).fit(X, [0, 0, 1, 1])
    assert tame.certificate_.holds
    assert (np.abs(tame.predict_distribution(X).probabilities - 0.5) < np.abs(tame.predict_proba(X) - 0.5)).all()


# data in every form


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize("likelihood", [*NUMBERS, *CLASSES], ids=repr)
def test_weights_and_sources(likelihood, prior):
    X, y = table(likelihood, seed=1, n=50)
    w = np.random.default_rng(0).integers(0, 4, 50)
    model = MAP(likelihood, prior).fit(X, y, sample_weight=w)
    again = MAP(likelihood, prior).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.log_posterior_, again.log_posterior_, rtol=1e-9)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for given in (frame, pl.from_pandas(frame), X.astype(np.float64, order="F")):
        other = MAP(likelihood, prior).fit(given, y, sample_weight=w)
        np.testing.assert_array_equal(other.coef_, model.coef_)
    rows = MAP(likelihood, prior).fit(gm.scan(X, y, sample_weight=w))
    np.testing.assert_array_equal(rows.coef_, model.coef_)
    sparse = MAP(likelihood, prior).fit(sp.csr_array(X), y, sample_weight=w)
    np.testing.assert_allclose(sparse.coef_, model.coef_, rtol=1e-5, atol=1e-7)
    single = MAP(likelihood, prior).fit(X.astype(np.float32), y, sample_weight=w)
    np.testing.assert_allclose(single.coef_, model.coef_, rtol=1e-3, atol=1e-4)
    kept = pickle.loads(pickle.dumps(model))
    assert str(kept.summary()) == str(model.summary())
    assert repr(likelihood) in str(model.summary())


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_moments_suffice_for_gaussian_noise(prior):
    X, y = table(L.Gaussian(), d=3)
    for likelihood in (L.Gaussian(), L.Gaussian(0.5)):
        model, sums = MAP(likelihood, prior).fit(X, y), MAP(likelihood, prior).fit(gm.moments(X, y))
        np.testing.assert_allclose(sums.coef_, model.coef_, rtol=1e-9)
        np.testing.assert_allclose(sums.log_posterior_, model.log_posterior_, rtol=1e-11)
        np.testing.assert_allclose(sums.predict_distribution(X).std, model.predict_distribution(X).std, rtol=1e-9)
    with pytest.raises(ValueError, match="needs the rows"):
        MAP(L.StudentT(), prior).fit(gm.moments(X, y))
    with pytest.raises(ValueError, match="needs the rows"):
        MAP(L.Gaussian(), prior, solver="newton").fit(gm.moments(X, y))
    with pytest.raises(ValueError, match="not from a Triangle"):
        MAP(L.Gaussian(), prior).fit(gm.triangle(X, y))


@pytest.mark.parametrize("likelihood", [L.Gaussian(), L.StudentT(4.0), L.Laplace(), L.Poisson()], ids=repr)
def test_several_targets_each_have_their_scale(likelihood):
    X, first = table(likelihood)
    Y = np.column_stack([first, 2 * first[::-1]])
    model = MAP(likelihood, P.Normal(0.5)).fit(X, Y)
    alone = [MAP(likelihood, P.Normal(0.5)).fit(X, Y[:, j]) for j in range(2)]
    np.testing.assert_allclose(model.coef_, [one.coef_ for one in alone], rtol=1e-7)
    np.testing.assert_allclose(model.alpha_, [one.alpha_ for one in alone], rtol=1e-9)
    np.testing.assert_allclose(model.log_posterior_, sum(one.log_posterior_ for one in alone), rtol=1e-10)
    if likelihood.targets == "numbers":
        np.testing.assert_allclose(model.scale_, [one.scale_ for one in alone], rtol=1e-8)
    else:
        assert not hasattr(model, "scale_")
    both = model.predict_distribution(X)
    for j in range(2):
        one = alone[j].predict_distribution(X)
        np.testing.assert_allclose(both.quantile(0.8)[:, j], one.quantile(0.8), rtol=1e-6)
        np.testing.assert_allclose(both.log_density(Y)[:, j], one.log_density(Y[:, j]), rtol=1e-6)
    assert "target" in str(model.summary())


# as an estimator


def test_its_kind_goes_by_its_likelihood():
    for likelihood in ("gaussian", "student_t", "laplace", "poisson", *NUMBERS):
        assert is_regressor(MAP(likelihood))
        assert not is_classifier(MAP(likelihood))
        for name in ("predict_proba", "predict_log_proba", "decision_function"):
            assert not hasattr(MAP(likelihood), name)
    for likelihood in ("bernoulli", "categorical", *CLASSES):
        assert is_classifier(MAP(likelihood))
        assert not is_regressor(MAP(likelihood))
        assert hasattr(MAP(likelihood), "predict_proba")
    X, y = table(L.Bernoulli())
    model = MAP("bernoulli").fit(X, y)
    model.set_params(likelihood="gaussian").fit(X, X[:, 0] + np.arange(40) % 3)
    assert not hasattr(model, "classes_")
    assert model.coef_.shape == (2,)
    model.set_params(likelihood="poisson").fit(X, np.arange(40) % 3)
    assert not hasattr(model, "scale_")


def test_parameters_of_parts_are_ordinary_paths():
    model = MAP(L.StudentT(3.0), P.Normal(2.0))
    assert model.get_params()["prior__scale"] == 2.0
    assert model.get_params()["likelihood__nu"] == 3.0
    assert clone(model).set_params(prior__scale=0.5, likelihood__nu=7.0).prior == P.Normal(0.5)
    X, y = table(L.Gaussian(), n=60)
    search = GridSearchCV(MAP(L.Gaussian(), P.Normal(1.0)), {"prior__scale": [1e-3, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"prior__scale": 1.0}
    names = MAP(L.Bernoulli(), P.Laplace(0.1))
    X, y = table(L.Bernoulli(), n=60)
    found = GridSearchCV(names, {"prior__scale": [1e-3, 1.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
    assert found.best_params_ == {"prior__scale": 1.0}


def test_names_stand_for_objects():
    X, y = table(L.Gaussian())
    for name, part in (("normal", P.Normal(1.0)), ("laplace", P.Laplace(1.0)), ("flat", P.Flat())):
        np.testing.assert_array_equal(MAP("gaussian", name).fit(X, y).coef_, MAP(L.Gaussian(), part).fit(X, y).coef_)
    default = MAP().fit(X, y)
    np.testing.assert_array_equal(default.coef_, MAP("gaussian", "normal").fit(X, y).coef_)
    assert default.score(X, y) == pytest.approx(1 - ((y - default.predict(X)) ** 2).sum() / ((y - y.mean()) ** 2).sum())


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (
            {"likelihood": "normal"},
            ValueError,
            "likelihood is 'normal'; it must be one of 'gaussian', .* gm.likelihoods",
        ),
        ({"likelihood": None}, ValueError, "likelihood is None"),
        ({"prior": "gaussian"}, ValueError, "prior is 'gaussian'; .* gm.priors"),
        ({"prior": P.Normal}, ValueError, "prior is <class"),
        ({"fit_intercept": 1}, TypeError, "fit_intercept"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"tol": 0.0}, ValueError, "tol"),
        ({"solver": "fast"}, ValueError, "solver is 'fast'"),
    ],
)
def test_parameters_that_cannot_be(given, error, text):
    X, y = table(L.Gaussian())
    with pytest.raises(error, match=text):
        MAP(**given).fit(X, y)


def test_data_that_cannot_be():
    X, y = table(L.Categorical())
    with pytest.raises(ValueError, match=r"y has 3 classes; use gm.likelihoods.Categorical"):
        MAP("bernoulli").fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        MAP("categorical").fit(X, np.full(40, "a"))
    with pytest.raises(ValueError, match="a regression needs numbers"):
        MAP().fit(X, y)
    with pytest.raises(ValueError, match="y goes down to -1"):
        MAP("poisson").fit(X, np.arange(-1.0, 39.0))
    with pytest.raises(ValueError, match="A class has no prediction interval"):
        MAP("categorical").fit(X, y).predict(X, interval=0.9)
    with pytest.raises(ValueError, match="interval_of is 'all'"):
        MAP("gaussian").fit(X, X[:, 0] + np.arange(40) % 2).predict(X, interval=0.9, interval_of="all")


def test_threads_give_the_same_bits():
    for likelihood in (L.Gaussian(), L.Categorical()):
        X, y = table(likelihood, n=5000, d=4)
        found = []
        for count in (1, 2):
            with gm.threads(count), warnings.catch_warnings():
                model = MAP(likelihood, P.Normal(1.0)).fit(X, y)
                distribution = model.predict_distribution(X[:200])
                found.append((model.coef_, getattr(distribution, "std", getattr(distribution, "probabilities", None))))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])
