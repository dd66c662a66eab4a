"""Predictive distributions: against scipy.stats, against integrals, and as what they are for: the best predictions."""

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats as st
from numpy.polynomial.hermite_e import hermegauss
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax

import gramian as gm
from gramian.models.base import averaging as av
from gramian.models.base import distribution as ds
from gramian.models.base.errors import Covariance, inverse_root
from gramian.objective.losses import Logistic, Softmax

LOCATION, SCALE = np.array([0.0, 3.0, -2.0]), np.array([1.0, 0.2, 5.0])
RATE = np.array([0.3, 4.0, 250.0])
Q = [1e-10, 0.01, 0.3, 0.5, 0.8, 0.999]
PAIRS = {
    "Normal": (ds.Normal(LOCATION, SCALE), st.norm(LOCATION, SCALE)),
    "StudentT": (ds.StudentT(LOCATION, SCALE, 3.5), st.t(3.5, LOCATION, SCALE)),
    "many degrees of freedom": (ds.StudentT(LOCATION, SCALE, 1e9), st.t(1e9, LOCATION, SCALE)),
    "Laplace": (ds.Laplace(LOCATION, SCALE), st.laplace(LOCATION, SCALE)),
    "Poisson": (ds.Poisson(RATE), st.poisson(RATE)),
}


def rows(X):
    return gm.scan(np.asarray(X, dtype=float))


@pytest.mark.parametrize("name", PAIRS)
def test_families_are_those_of_scipy(name):
    ours, theirs = PAIRS[name]
    np.testing.assert_allclose(ours.mean, theirs.mean(), rtol=1e-12)
    np.testing.assert_allclose(ours.std, theirs.std(), rtol=1e-8)
    np.testing.assert_allclose(ours.median, theirs.ppf(0.5), rtol=1e-8, atol=1e-12)
    whole = ours.whole
    for y in ([0.0, 2.0, 230.0], [1.0, 5.0, 251.0], [-1.0, 1.0, 190.0]):
        with np.errstate(divide="ignore"):
            log = theirs.logpmf(y) if whole else theirs.logpdf(y)
        np.testing.assert_allclose(ours.log_density(y), log, rtol=1e-7)
        np.testing.assert_allclose(ours.cdf(y), theirs.cdf(y), rtol=1e-7, atol=1e-300)
    for q in Q:
        np.testing.assert_allclose(ours.quantile(q), theirs.ppf(q), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(ours.quantile(Q), [ours.quantile(q) for q in Q])
    if not whole:
        np.testing.assert_allclose(ours.cdf(1.0), theirs.cdf(1.0), rtol=1e-7)  # one number for every row


def test_poisson_quantiles_are_the_least_whole_numbers():
    rate = np.concatenate([[0.0, 1e-12, 0.1, 0.999], np.geomspace(1, 1e7, 40)])
    ours = ds.Poisson(rate)
    for q in (1e-14, 0.05, 0.5, 0.95, 1 - 1e-12):
        found = ours.quantile(q)
        assert (found == np.round(found)).all()
        assert (ours.cdf(found) >= q).all()
        assert (ours.cdf(found - 1) < q).all()
    assert np.isfinite(ds.Poisson(np.array([1e300])).quantile(0.5)).all()


def test_modes_are_where_the_density_is_largest():
    for name, (ours, _) in PAIRS.items():
        mode = ours.mode
        step = 1.0 if ours.whole else 1e-3
        for other in (mode - step, mode + step):
            assert (ours.log_density(mode) >= ours.log_density(other) - 1e-12).all(), name


def test_moments_that_do_not_exist():
    cauchy, two = ds.StudentT(LOCATION, SCALE, 1.0), ds.StudentT(LOCATION, SCALE, 2.0)
    assert np.isnan(cauchy.mean).all()
    assert np.isinf(cauchy.std).all()
    assert np.isinf(two.std).all()
    np.testing.assert_array_equal(two.mean, LOCATION)
    np.testing.assert_array_equal(cauchy.median, LOCATION)


@pytest.mark.parametrize("kind", [ds.Normal, ds.Laplace, partial(ds.StudentT, nu=4.0)])
def test_no_spread_is_a_point(kind):
    point = kind(np.array([1.0, 2.0]), np.zeros(2))
    np.testing.assert_array_equal(point.quantile([0.1, 0.9]), [[1.0, 2.0]] * 2)
    np.testing.assert_array_equal(point.log_density([1.0, 2.5]), [np.inf, -np.inf])
    np.testing.assert_array_equal(point.cdf([0.0, 3.0]), [0.0, 1.0])
    np.testing.assert_array_equal(point.std, 0.0)


def test_several_targets_keep_their_shape():
    both = ds.Normal(np.arange(6.0).reshape(3, 2), np.full((3, 2), 2.0))
    assert both.quantile(0.5).shape == (3, 2)
    assert both.quantile([[0.1, 0.5, 0.9]]).shape == (1, 3, 3, 2)
    assert both.log_density(np.zeros((3, 2))).shape == (3, 2)
    with pytest.raises(ValueError, match=r"y has shape \(2,\); .* shape \(3, 2\)"):
        both.log_density(np.zeros(2))


# predictions that are not known exactly


def by_quadrature(function, location, spread):
    """E function(f) for f ~ Normal(location, spread²)."""
    inside = lambda z: function(location + spread * z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)  # noqa: E731
    return quad(inside, -12, 12, limit=2000, epsabs=1e-13, epsrel=1e-11)[0]


@pytest.mark.parametrize("nu", [1.0, 3.0, 30.0])
@pytest.mark.parametrize("spread", [0.05, 0.7, 4.0])
def test_student_t_about_an_uncertain_location(nu, spread):
    f, v = np.array([0.5, -1.0]), np.array([spread**2, spread**2 / 4])
    ours = av.predictive(gm.losses.StudentT(nu), f, 0.8, v)
    for j in range(2):
        for y in (-3.0, 0.4, 9.0):
            given = np.full(2, y)
            density = by_quadrature(lambda m, y=y: st.t.pdf(y, nu, m, 0.8), f[j], np.sqrt(v[j]))
            below = by_quadrature(lambda m, y=y: st.t.cdf(y, nu, m, 0.8), f[j], np.sqrt(v[j]))
            np.testing.assert_allclose(ours.log_density(given)[j], np.log(density), rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(ours.cdf(given)[j], below, rtol=1e-8, atol=1e-10)
    for q in (1e-6, 0.1, 0.5, 0.95):
        np.testing.assert_allclose(ours.cdf(ours.quantile(q)), q, rtol=1e-9)
    np.testing.assert_allclose(ours.median, f, atol=1e-9)
    np.testing.assert_array_equal(ours.mode, f)
    if nu > 2:
        np.testing.assert_allclose(ours.std, np.sqrt(0.64 * nu / (nu - 2) + v), rtol=1e-10)
        np.testing.assert_allclose(ours.mean, f, atol=1e-12)
    else:
        assert np.isnan(ours.mean).all()


@pytest.mark.parametrize(("f", "spread"), [(0.0, 0.1), (1.5, 0.6), (-3.0, 1.5), (6.0, 0.05), (3.0, 0.3)])
def test_counts_with_an_uncertain_rate(f, spread):
    ours = av.predictive(gm.losses.Poisson(), np.array([f]), None, np.array([spread**2]))
    mean = np.exp(f + spread**2 / 2)
    np.testing.assert_allclose(ours.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(ours.std, np.sqrt(mean + mean**2 * np.expm1(spread**2)), rtol=1e-8)
    counts = np.unique(np.round([0, 1, mean / 2, mean, 2 * mean]))
    for y in counts:
        p = by_quadrature(lambda g, y=y: st.poisson.pmf(y, np.exp(g)), f, spread)
        below = by_quadrature(lambda g, y=y: st.poisson.cdf(y, np.exp(g)), f, spread)
        np.testing.assert_allclose(np.exp(ours.log_density([y])), p, rtol=1e-7, atol=1e-14)
        np.testing.assert_allclose(ours.cdf([y]), below, rtol=1e-8, atol=1e-12)
    for q in (0.01, 0.4, 0.99):
        y = ours.quantile(q)
        assert ours.cdf(y)[0] >= q
        assert ours.cdf(y - 1)[0] < q
    every = np.arange(30.0 * mean + 60)
    same = np.ones(len(every))
    log = av.predictive(gm.losses.Poisson(), f * same, None, spread**2 * same).log_density(every)
    assert ours.mode[0] == every[np.argmax(log)]
    np.testing.assert_allclose(np.exp(log).sum(), 1.0, atol=1e-4 if spread > 1 else 1e-9)  # heavy tails end far out


def test_an_average_over_one_model_is_its_distribution():
    f = np.array([0.1, 0.2])
    for loss in (gm.losses.Squared(), gm.losses.Absolute(), gm.losses.StudentT(3.0), gm.losses.Poisson()):
        for variance in (None, np.zeros(2)):
            assert not isinstance(av.predictive(loss, f, 2.0, variance), av.Averaged)
    noisy = av.predictive(gm.losses.Squared(), f, 3.0, np.array([16.0, 0.0]))
    np.testing.assert_allclose(noisy.std, [5.0, 3.0])
    with pytest.raises(ValueError, match="Huber is not the −log of a density"):
        av.predictive(gm.losses.Huber(), f, 1.0, None)


def test_pickles():
    ours = av.predictive(gm.losses.StudentT(3.0), LOCATION, 1.0, np.ones(3))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)).quantile(0.3), ours.quantile(0.3))


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 8.0, 30.0])
def test_probabilities_of_two_classes_averaged(spread):
    f = np.array([[0.3], [-4.0]])
    found = av.average_probabilities(Logistic(), f, np.full((2, 1, 1), spread**2))
    for j in range(2):
        points = (-f[j, 0] / spread,) if spread else None
        inside = lambda z, j=j: expit(f[j, 0] + spread * z) * st.norm.pdf(z)  # noqa: E731
        exact = quad(inside, -12, 12, points=points, limit=1000, epsabs=1e-13)[0]
        np.testing.assert_allclose(found[j], [1 - exact, exact], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(av.average_probabilities(Logistic(), f, None), Logistic().probabilities(f[:, 0]))


@pytest.mark.parametrize(("size", "atol"), [(0.1, 1e-5), (1.0, 2e-3), (3.0, 6e-3)])
def test_probabilities_of_several_classes_averaged(size, atol):
    rng = np.random.default_rng(0)
    f = rng.standard_normal((4, 3)) * 2
    L = rng.standard_normal((4, 3, 3)) * size
    found = av.average_probabilities(Softmax(), f, L @ L.transpose(0, 2, 1))
    z, w = hermegauss(40)
    grid = np.stack(np.meshgrid(z, z, z), axis=-1).reshape(-1, 3)
    weight = np.prod(np.stack(np.meshgrid(w, w, w), axis=-1).reshape(-1, 3), axis=1) / np.sqrt(2 * np.pi) ** 3
    for j in range(4):
        np.testing.assert_allclose(found[j], weight @ softmax(f[j] + grid @ L[j].T, axis=1), atol=atol)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


# decisions


@pytest.mark.parametrize("name", [*PAIRS, "uncertain"])
def test_optimal_predictions_cost_least(name):
    """Expected loss, integrated from the density, has its minimum at the optimal prediction."""
    ours = PAIRS[name][0] if name in PAIRS else av.predictive(gm.losses.StudentT(4.0), LOCATION, 1.0, SCALE)
    levels = (np.arange(1000) + 0.5) / 1000
    draws = ours.quantile(levels)  # a sample without chance
    losses = {
        "squared": lambda r: r**2,
        "absolute": np.abs,
        0.9: lambda r: np.where(r > 0, 0.9 * r, -0.1 * r),
    }
    for loss, cost in losses.items():
        best = ours.optimal(loss)
        for j in range(3):
            mine = cost(draws[:, j] - best[j]).mean()
            bracket = (best[j] - ours.std[j], best[j] + ours.std[j])
            least = minimize_scalar(lambda c, j=j, cost=cost: cost(draws[:, j] - c).mean(), bounds=bracket).fun
            assert mine <= least * (1 + 1e-3) + 1e-9
    np.testing.assert_array_equal(ours.optimal("zero_one"), ours.mode)


def test_decisions_among_classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 50)
    ours = ds.Categorical(p, np.array(["a", "b", "c"]))
    np.testing.assert_array_equal(ours.mode, np.array(["a", "b", "c"])[p.argmax(axis=1)])
    np.testing.assert_array_equal(ours.optimal(), ours.optimal(1 - np.eye(3)))
    cost = rng.uniform(0, 5, (3, 3))
    for row, decided in zip(p, ours.optimal(cost), strict=True):
        expected = [sum(row[true] * cost[true, j] for true in range(3)) for j in range(3)]
        assert decided == "abc"[int(np.argmin(expected))]
    y = rng.choice(list("abc"), 50)
    np.testing.assert_allclose(ours.log_density(y), np.log([p[i, "abc".index(name)] for i, name in enumerate(y)]))
    assert ds.Categorical(np.array([[1.0, 0.0]]), np.array([0, 1])).log_density([1]) == -np.inf


def test_what_cannot_be_asked():
    ours, classes = PAIRS["Normal"][0], ds.Categorical(np.array([[0.4, 0.6]]), np.array([0, 1]))
    for q in (0.0, 1.0, -0.1, [0.5, 2.0], np.nan):
        with pytest.raises(ValueError, match="numbers between 0 and 1"):
            ours.quantile(q)
    with pytest.raises(ValueError, match="'hinge'; it must be one of 'squared', 'absolute', 'zero_one'"):
        ours.optimal("hinge")
    with pytest.raises(ValueError, match="for classes it must be"):
        classes.optimal("squared")
    with pytest.raises(ValueError, match=r"loss has shape \(3, 3\)"):
        classes.optimal(np.eye(3))
    with pytest.raises(ValueError, match="finite"):
        classes.optimal([[0, np.inf], [1, 0]])
    with pytest.raises(ValueError, match="y holds 2, which is not a class"):
        classes.log_density([2])
    with pytest.raises(ValueError, match=r"y has shape \(2,\)"):
        classes.log_density([1, 1])


# the uncertainty of coefficients


@pytest.mark.parametrize("outputs", [1, 3])
def test_posterior_in_any_units(outputs):
    rng = np.random.default_rng(outputs)
    d, X = 4, rng.standard_normal((9, 4)) * [1e-3, 1.0, 50.0, 2.0] + [0.0, 3.0, -20.0, 1.0]
    root = rng.standard_normal((outputs, d + 1, 7))
    ours = av.Posterior(np.array([0.1, 3.0, -20.0, 0.0]), np.array([1e3, 1.0, 0.02, 0.5]), root)
    M = ours.to_original().matrix
    one = np.column_stack([X, np.ones(9)])
    direct = np.array([[[a @ M[i : i + d + 1, j : j + d + 1] @ a for j in range(0, len(M), d + 1)]
                        for i in range(0, len(M), d + 1)] for a in one])  # fmt: skip
    np.testing.assert_allclose(ours.covariance(rows(X)), direct, rtol=1e-9)
    np.testing.assert_allclose(ours.covariance(gm.scan(sp.csr_array(X))), direct, rtol=1e-9)
    many = rows(np.tile(X, (300, 1)))
    np.testing.assert_allclose(ours.covariance(many)[-9:], direct, rtol=1e-9)
    if outputs == 1:
        again = av.Posterior.to_standardized(ours.to_original())
        np.testing.assert_allclose(again.covariance(rows(X)), direct, rtol=1e-7)


def test_posterior_of_covariances_without_rank():
    flat = av.Posterior.to_standardized(Covariance(np.zeros((3, 3)), 1, "none"))
    np.testing.assert_array_equal(flat.covariance(rows(np.ones((2, 2)))), 0.0)
    x = np.array([1.0, -2.0, 0.0])
    thin = av.Posterior.to_standardized(Covariance(np.outer(x, x), 1, "none"))
    np.testing.assert_allclose(thin.covariance(rows([[1.0, 0.0], [2.0, 1.0]]))[:, 0, 0], [1.0, 0.0], atol=1e-12)
    H = np.diag([4.0, 0.0, 1e-8])
    np.testing.assert_allclose(inverse_root(H) @ inverse_root(H).T, np.diag([0.25, 0.0, 1e8]))


# of fitted models


def data(seed, n=60, d=3, t=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 5.0, 0.2] + [0.0, 20.0, -3.0]
    Y = X @ rng.standard_normal((d, t)) + rng.standard_normal((n, t))
    return X, Y[:, 0] if t == 1 else Y


def variances(model, X, target=0):
    M = model._covariances[target].matrix
    one = np.column_stack([X, np.ones(len(X))])
    return np.einsum("ni,ij,nj->n", one, M, one)


@pytest.mark.parametrize("penalty", [None, "l2"])
def test_regressor_with_squared_loss(penalty):
    X, y = data(0)
    model = gm.Regressor(penalty=penalty, alpha=0.05, solver="newton").fit(X, y)
    ours = model.predict_distribution(X)
    noise = np.mean((y - model.predict(X)) ** 2)
    np.testing.assert_allclose(ours.mean, model.predict(X))
    np.testing.assert_allclose(ours.std, np.sqrt(noise + variances(model, X)), rtol=1e-8)


@pytest.mark.parametrize("penalty", [None, "l2"])
def test_regressor_with_squared_loss_in_closed_form(penalty):
    X, y = data(0)
    ours = gm.Regressor(penalty=penalty, alpha=0.05).fit(X, y).predict_distribution(X)
    named = gm.LinearRegression() if penalty is None else gm.Ridge(0.05)
    theirs = named.fit(X, y).predict_distribution(X)
    np.testing.assert_array_equal(ours.mean, theirs.mean)
    np.testing.assert_array_equal(ours.quantile(0.9), theirs.quantile(0.9))


def test_regressor_with_other_losses():
    X, y = data(1)
    model = gm.Regressor(loss="absolute", penalty="l1", alpha=0.01).fit(X, y)
    ours = model.predict_distribution(X)
    assert isinstance(ours, ds.Laplace)
    np.testing.assert_allclose(ours.scale, np.mean(np.abs(y - model.predict(X))), rtol=1e-8)
    model = gm.Regressor(loss=gm.losses.StudentT(5.0), alpha=0.01).fit(X, y)
    std = np.sqrt(model.scale_**2 * 5 / 3 + variances(model, X))
    np.testing.assert_allclose(model.predict_distribution(X).std, std, rtol=1e-8)
    counts = np.random.default_rng(0).poisson(np.exp(0.2 * X[:, 0]))
    model = gm.Regressor(loss="poisson", penalty=None, alpha=0.0).fit(X, counts)
    ours = model.predict_distribution(X)
    np.testing.assert_allclose(ours.mean, model.predict(X) * np.exp(variances(model, X) / 2), rtol=1e-8)
    with pytest.raises(ValueError, match="Quantile is not the −log of a density"):
        gm.Regressor(loss=gm.losses.Quantile(0.9), penalty=None, alpha=0.0).fit(X, y).predict_distribution(X)


def test_regressor_with_several_targets():
    X, Y = data(2, t=2)
    both = gm.Regressor(alpha=0.02).fit(X, Y).predict_distribution(X)
    assert both.mean.shape == (60, 2)
    for j in range(2):
        alone = gm.Regressor(alpha=0.02).fit(X, Y[:, j]).predict_distribution(X)
        np.testing.assert_allclose(both.quantile(0.9)[:, j], alone.quantile(0.9), rtol=1e-8)
        np.testing.assert_allclose(both.log_density(Y)[:, j], alone.log_density(Y[:, j]), rtol=1e-7)


@pytest.mark.parametrize("model", [gm.LinearRegression(), gm.Ridge(0.1), gm.LinearRegression(fit_intercept=False)])
@pytest.mark.parametrize("t", [1, 2])
def test_least_squares_agrees_with_its_intervals(model, t):
    X, y = data(3, t=t)
    ours = model.fit(X, y).predict_distribution(X)
    interval = model.predict(X, interval=0.9)
    np.testing.assert_allclose(ours.mean, interval.mean)
    np.testing.assert_allclose(ours.quantile([0.05, 0.95]), [interval.low, interval.high], rtol=1e-12)
    freedom = model.summary().facts["df"]
    half = (interval.high - interval.mean) / st.t.ppf(0.95, freedom)
    np.testing.assert_allclose(ours.std, half * np.sqrt(freedom / (freedom - 2)), rtol=1e-10)
    np.testing.assert_allclose(ours.log_density(y), st.t.logpdf(y, freedom, interval.mean, half), rtol=1e-9)
    np.testing.assert_allclose(model.predict_distribution(sp.csr_array(X)).std, ours.std, rtol=1e-9)


def test_least_squares_covers_what_it_says():
    """Over many draws, the share below the q-quantile is q: the coefficients' uncertainty is in the distribution."""
    rng = np.random.default_rng(0)
    below, repeats = np.zeros(3), 1000
    X, new = rng.standard_normal((8, 3)), rng.standard_normal((1, 3))
    for _ in range(repeats):
        y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(8)
        ours = gm.LinearRegression().fit(X, y).predict_distribution(new)
        below += ours.quantile([0.1, 0.5, 0.9])[:, 0] > new[0] @ [1.0, 2.0, 3.0] + rng.standard_normal()
    np.testing.assert_allclose(below / repeats, [0.1, 0.5, 0.9], atol=4 * 0.5 / np.sqrt(repeats))


def test_least_squares_without_freedom_or_noise():
    X, y = data(4)
    with pytest.raises(ValueError, match="none are left"):
        gm.LinearRegression().fit(X[:3], y[:3]).predict_distribution(X)
    exact = gm.LinearRegression().fit(X[:, :1], 2 * X[:, 0]).predict_distribution(X[:, :1])
    np.testing.assert_allclose(exact.quantile(0.99), 2 * X[:, 0], atol=1e-12)
    assert gm.Ridge(0.1).fit(gm.moments(X, y)).predict_distribution(X).std.shape == (60,)


def test_intervals_hold_far_from_zero():
    X, y = data(5)
    near = gm.LinearRegression().fit(X, y).predict_distribution(X)
    far = gm.LinearRegression().fit(X + 2.0**20, y).predict_distribution(X + 2.0**20)
    np.testing.assert_allclose(far.std, near.std, rtol=1e-8)
