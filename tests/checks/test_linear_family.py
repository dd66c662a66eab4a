"""The linear family against exact arithmetic: at any offsets, scales and weights, a certificate that holds is true."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import gramian as gm
from exact import ExactLeastSquares, rational, root
from fuzz.families.ridge import excess, ridge

SHAPES = [(2, 4), (3, 5), (5, 5), (7, 4)]
GAMMA = np.array([[1.0, -1.0, 0.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0, 1.0]])


def cases():
    """Shapes × offsets × scales × weights × intercept, as (data, description)."""
    for n, d in SHAPES:
        for offset in (0.0, 1e4, 1e8):
            for scales in ("equal", "1e-8 … 1e8", "1 and 1e17"):
                for weighted in (False, True):
                    for intercept in (True, False):
                        yield n, d, offset, scales, weighted, intercept


def data(n, d, offset, scales, weighted, seed):
    rng = np.random.default_rng([seed, n, d, int(offset), len(scales), weighted])
    unit = {"equal": np.ones(d), "1e-8 … 1e8": 10.0 ** rng.uniform(-8, 8, d), "1 and 1e17": rng.choice([1.0, 1e17], d)}
    X = (offset + rng.standard_normal((n, d))) * unit[scales]
    w = 10.0 ** rng.uniform(-3, 3, n) if weighted else np.ones(n)
    return X, rng.standard_normal(n), w, 10.0 ** rng.uniform(-4, 1)


def fit(model, *arguments, **weights):
    """The fitted model; a certificate that does not hold comes with a warning, and no other does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*arguments, **weights)
    assert {issubclass(w.category, gm.ConvergenceWarning) for w in caught} <= {True}
    assert model.certificate_.holds or caught
    return model


def models(d, alpha, intercept):
    eye, factors = np.eye(d), np.linspace(0.5, 3.0, d)
    yield gm.LinearRegression(fit_intercept=intercept), 0.0, eye
    yield gm.Ridge(alpha, fit_intercept=intercept), alpha, eye
    yield gm.Ridge(alpha, penalty_factors=factors, fit_intercept=intercept), alpha, np.diag(factors)
    yield gm.Ridge(alpha, matrix=GAMMA[:, :d], fit_intercept=intercept), alpha, GAMMA[:, :d].T @ GAMMA[:, :d]


@pytest.mark.parametrize(("n", "d", "offset", "scales", "weighted", "intercept"), list(cases()))
def test_certified_quadratic_fits_are_exact(n, d, offset, scales, weighted, intercept):
    X, y, w, alpha = data(n, d, offset, scales, weighted, 0)
    exact = ExactLeastSquares(X, y, w, intercept)
    sources = {"dense": (X, y), "sparse": (sp.csr_array(X), y)}
    for model, strength, P in models(d, alpha, intercept):
        condition, unit = exact.condition(strength, P)
        want = exact.ridge(strength, P)
        want = exact.minimum_norm() if want is None and strength == 0 else want
        for source in sources.values():
            found = fit(model, *source, sample_weight=w)
            c = found.certificate_
            if not c.holds:
                continue
            assert exact.gradient(found.coef_, strength, P) <= 4 * c.tolerance
            if want is not None and strength > 0:
                error = np.abs([float(a - b) for a, b in zip(rational(found.coef_), want, strict=True)]) * unit
                assert error.max() <= 1e-7 * condition


@pytest.mark.parametrize(("n", "d", "offset", "scales", "weighted", "intercept"), list(cases())[::2])
def test_moderate_offsets_and_scales_are_certified(n, d, offset, scales, weighted, intercept):
    """No refuge in warnings: ridge with like columns, at any offset, is solved."""
    X, y, w, alpha = data(n, d, offset, scales, weighted, 1)
    if intercept or offset == 0:
        assert fit(gm.Ridge(alpha, fit_intercept=intercept), X, y, sample_weight=w).certificate_.holds


@pytest.mark.parametrize(("n", "d", "offset", "scales", "weighted", "intercept"), list(cases()))
def test_certified_sparse_fits_are_exact(n, d, offset, scales, weighted, intercept):
    X, y, w, alpha = data(n, d, offset, scales, weighted, 2)
    exact = ExactLeastSquares(X, y, w, intercept)
    for ratio in (1.0, 0.5):
        for solver in ("gram", "rows"):
            model = gm.ElasticNet(alpha, l1_ratio=ratio, alphas=[alpha], solver=solver, fit_intercept=intercept)
            found = fit(model, X, y, sample_weight=w)
            assert np.isfinite(found.coef_).all()
            if found.certificate_.holds:
                assert exact.elastic_net(found.coef_, alpha, ratio) <= 2 * found.certificate_.tolerance


@pytest.mark.parametrize("offset", [1e10, 1e11, 1e12, 1e13, 1e14, 1e15])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_certified_fits_far_from_zero_have_the_least_objective(n, d, offset):
    """Columns that vary by a few units in their last place, and light rows alone that vary: right, or said."""
    held = 0
    for seed in range(4):
        rng = np.random.default_rng([seed, n, d])
        X = offset * rng.choice([0.0, 1.0, -1.0], d, p=[0.3, 0.35, 0.35]) + rng.standard_normal((n, d))
        y, w = rng.standard_normal(n), 10.0 ** rng.uniform(-8 * (seed % 2), 0, n)
        X[:, 0] = X[:, 0] if seed else 0.1 * 3 * offset
        for model in (gm.LinearRegression(), *(gm.Ridge(alpha) for alpha in (1e-10, 1e-4, 10.0))):
            found = fit(model, X, y, sample_weight=w).certificate_
            assert not found.holds or excess(X, y, w, model) <= 4 * found.tolerance
            held += found.holds
        exact = ExactLeastSquares(X, y, w, True)
        for alpha, solver in [(1e-4, "gram"), (1e-4, "rows"), (0.1, "gram"), (0.1, "rows")]:
            model = gm.Lasso(alpha, alphas=[alpha], solver=solver)
            if d < 5 and fit(model, X, y, sample_weight=w).certificate_.holds:
                c = rational(model.coef_)
                shift = exact.y_mean - rational(model.intercept_)[0]
                shift -= sum(m * v for m, v in zip(exact.mean, c, strict=True))
                above = max(exact.elastic_net(model.coef_, alpha, 1.0), float(exact.weight * shift**2 / exact.yy))
                assert above <= 4 * model.certificate_.tolerance
    assert held >= 8 or offset > 1e11


@pytest.mark.parametrize(("n", "d", "offset", "scales", "weighted", "intercept"), list(cases()))
def test_certified_total_least_squares_is_stationary(n, d, offset, scales, weighted, intercept):
    """At the nearest plane, z_jᵀr + c_j Σ w r² / (1 + ‖c‖²) = 0 for every column."""
    X, y, w, _ = data(n, d, offset, scales, weighted, 3)
    exact = ExactLeastSquares(X, y, w, intercept)
    found = fit(gm.TotalLeastSquares(fit_intercept=intercept), X, y, sample_weight=w)
    if not found.certificate_.holds:
        return
    c = rational(found.coef_)
    Gc = [sum(exact.G[i][j] * c[j] for j in range(d)) for i in range(d)]
    square = exact.yy - 2 * sum(b * v for b, v in zip(exact.b, c, strict=True))
    square += sum(u * v for u, v in zip(Gc, c, strict=True))
    for i in range(d):
        pull = square / (1 + sum(v * v for v in c)) * c[i]
        terms = root(exact.G[i][i]) * root(exact.yy) + abs(pull)
        assert not terms or float(abs(exact.b[i] - Gc[i] + pull) / terms) <= 1e-7


@pytest.mark.parametrize(("offset", "intercept"), [(0.0, False), (0.0, True), (1e4, True), (1e8, True)])
@pytest.mark.parametrize(("n", "d"), [(6, 3), (6, 6), (5, 8)])
def test_leave_one_out_far_from_zero(n, d, offset, intercept):
    rng = np.random.default_rng(n)
    X, y, w = offset + rng.standard_normal((n, d)), rng.standard_normal(n), 10.0 ** rng.uniform(-1, 1, n)
    alphas = [1.0, 1e-2]
    scores = gm.Ridge(alphas=alphas, cv="loo", fit_intercept=intercept).fit(X, y, sample_weight=w).scores_
    for a, alpha in enumerate(alphas):
        for i in range(n):
            keep = np.arange(n) != i
            exact = ExactLeastSquares(X[keep], y[keep], w[keep], intercept)
            c = exact.ridge(alpha, np.eye(d))
            row = zip(rational(X[i]), exact.mean, c, strict=True)
            error = rational(y[i])[0] - exact.y_mean - sum((x - m) * v for x, m, v in row)
            assert scores.folds[a, i] == pytest.approx(float(error**2), rel=1e-7, abs=1e-9)


FAMILY = [
    gm.LinearRegression(),
    gm.Ridge(1.0),
    gm.Ridge(alphas=10, cv=3),
    gm.Ridge(alphas=10, cv="loo"),
    gm.Ridge(alphas=10, cv=3, standardize=True),
    gm.Lasso(1.0),
    gm.Lasso(alphas=10, cv=3),
    gm.Lasso(alphas=10, cv=3, solver="rows"),
    gm.ElasticNet(1.0),
    gm.ElasticNet(1.0, solver="rows"),
    gm.ElasticNet(alphas=10, cv=3),
    gm.ElasticNet(0.1, standardize=True),
    gm.TotalLeastSquares(),
]


@pytest.mark.parametrize("where", ["X", "y", "both", "one column"])
@pytest.mark.parametrize("shape", [(20, 4), (6, 9)])
@pytest.mark.parametrize("model", FAMILY, ids=repr)
def test_numbers_of_any_size_are_fitted_or_refused(model, shape, where):
    """From 1e-300 to 1e300: right, or refused with the column or target named, or not certified and said so."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) + 0.3
    y = X @ np.linspace(1.0, -1.0, shape[1]) + 0.5 * rng.standard_normal(shape[0]) + 2.0
    plain = clone(model).fit(X, y).coef_
    for power in (-1000, -600, -530, -300, 300, 500, 530, 600, 1000):
        x = np.full(shape[1], power if where in ("X", "both") else 0)
        x[1] = power if where == "one column" else x[1]
        target = power if where in ("y", "both") else 0
        try:
            found = fit(clone(model), np.ldexp(X, x), np.ldexp(y, target))
        except ValueError as error:
            refused = str(error)
        else:
            refused = ""
        if refused:
            assert any(word in refused for word in ("Column", "arget", "columns"))
            continue
        assert not found.certificate_.holds or np.isfinite(found.coef_).all()
        follows = isinstance(found, gm.LinearRegression) or model.get_params().get("alpha") == "auto"
        follows &= not isinstance(found, gm.ElasticNet) or isinstance(found, gm.Lasso)
        if found.certificate_.holds and follows and where != "one column":
            np.testing.assert_allclose(np.ldexp(found.coef_, x - target), plain, rtol=1e-6, atol=1e-9)


def test_columns_of_1e_minus_160_are_not_certified_as_nan():
    rng = np.random.default_rng(0)
    X, y = 1e-160 * rng.standard_normal((20, 3)), rng.standard_normal(20)
    for model in (gm.Lasso(1e-161), gm.Lasso(), gm.ElasticNet(1.0)):
        with pytest.raises(ValueError, match=r"Column 0 is of size 1e-15[89]: its square"):
            model.fit(X, y)
    with pytest.raises(ValueError, match=r"Column \d, the largest, is of size 1e-15.*standardize=True"):
        gm.Ridge().fit(X, y)


@pytest.mark.parametrize("max_iter", [2, 5])
def test_a_lasso_stopped_early_neither_fails_nor_is_silent(max_iter):
    """After coordinate descent the active set has another factor: the old one divided by zero."""
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((50, 3000)), 100.0 * rng.standard_normal(50)
        model = fit(gm.Lasso(alpha=1e-6, max_iter=max_iter, alphas=50), X, y)
        assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("seed", [701298, 701737, 702344, 702997, 703676])
def test_rows_that_are_nearly_dependent_are_fitted_or_reported(seed):
    """Draws of fuzz: directions of the rows of the size of rounding were left out, and the fits certified."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        assert ridge(seed).outcome != "wrong"


@pytest.mark.parametrize("intercept", [True, False])
def test_repeated_rows_of_any_weights_are_certified(intercept):
    """Dependent rows are told from nearly dependent ones, though their residuals are as large."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((4, 12)) * 10.0 ** rng.uniform(-3, 3, 12) + 1e5 * (seed % 2)
        X, y, w = X[[0, 1, 2, 3, 0, 2]], rng.standard_normal(6), 10.0 ** rng.uniform(-4, 0, 6)
        model = gm.LinearRegression(fit_intercept=intercept)
        assert fit(model, X, y, sample_weight=w).certificate_.holds
