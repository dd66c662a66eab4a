"""Kernel machines on columns of any units: they end, and what they certify is the optimum."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

import gramian as gm
from gramian.kernels import RBF, Cosine, Laplacian, Linear, Matern, Polynomial
from gramian.solvers.kernel.box_interior import interior_point
from gramian.solvers.kernel.smo import Dual, work_limit

KERNELS = [
    Linear(),
    Polynomial(2),
    Polynomial(3),
    RBF(1.0),
    Laplacian(2.0),
    Matern(1.0),
    Cosine(),
    Polynomial(2) + RBF(),
]


def unscaled(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 61)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-6, 6, d)
    y = rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3)
    label = (rng.random(n) < 0.5).astype(int)
    label[:2] = 0, 1
    kernel = KERNELS[int(rng.integers(len(KERNELS)))]
    size = float(kernel.diagonal(X).mean()) or 1.0
    return X, y, label, kernel, [1e-3, 1e-3 * size, 1e-6 * size][int(rng.integers(3))]


@pytest.mark.parametrize("seed", range(30))
def test_unscaled_columns_are_fitted_or_reported(seed):
    X, y, label, kernel, alpha = unscaled(seed)
    for model, target in (
        (gm.SVC(alpha=alpha, kernel=kernel), label),
        (gm.SVR(alpha=alpha, kernel=kernel), y),
        (gm.OneClassSVM(nu=0.3, kernel=kernel), None),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, target)
        warned = [w for w in caught if issubclass(w.category, gm.ConvergenceWarning)]
        assert bool(warned) == (not model.certificate_.value <= model.certificate_.tolerance)
        if alpha > 1e-3:
            assert model.certificate_.value <= model.certificate_.tolerance
        if warned:
            assert "did not converge" in str(warned[0].message)


def test_polynomials_of_unscaled_columns():
    """Eleven rows that took minutes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((11, 3)) * [1.0, 1e3, 1e5]
    y = rng.standard_normal(11)
    for model, target in ((gm.SVC(kernel=Polynomial(2)), y > 0), (gm.SVR(kernel=Polynomial(2)), y)):
        model.fit(X, target)
        assert model.certificate_.value <= model.certificate_.tolerance


def exact_objective(F, label, alpha, coef, intercept):
    """The hinge loss and alpha ‖w‖² without rounding."""
    w, b = [Fraction(float(v)) for v in coef], Fraction(float(intercept))
    losses = [
        max(Fraction(0), 1 - (1 if one else -1) * (sum(Fraction(float(v)) * c for v, c in zip(f, w, strict=True)) + b))
        for f, one in zip(F, label, strict=True)
    ]
    return float(sum(losses) / len(losses) + Fraction(alpha) * sum(c * c for c in w))


@pytest.mark.parametrize("seed", [7, 17, 21, 31, 42])
def test_features_are_advised_where_dual_coefficients_cannot_carry_the_answer(seed):
    """A column of 1, one of 100 and one of 10,000, squared: f is a difference of numbers 1e16 times as large."""
    rng = np.random.default_rng(seed)
    scales = np.array([1.0, 100.0, 1e4])
    X = (rng.standard_normal((11, 3)) + rng.standard_normal(3)) * scales
    label = rng.standard_normal(11) > 0
    alpha = 1e-3
    with pytest.warns(gm.ConvergenceWarning, match=r"fit SVC\(kernel=None\) to the explicit features"):
        dual = gm.SVC(alpha=alpha, kernel=Polynomial(2)).fit(X, label)
    F = dual.kernel_.features(X)
    model = gm.SVC(alpha=alpha).fit(F, label)
    assert model.certificate_.holds
    reached = exact_objective(F, label, alpha, np.ravel(model.coef_), np.ravel(model.intercept_)[0])
    feature_coef = np.ravel(dual.dual_coef_) @ dual.kernel_.features(dual.support_vectors_)
    other = exact_objective(F, label, alpha, feature_coef, np.ravel(dual.intercept_)[0])
    assert reached < other
    np.testing.assert_allclose(reached, model.objective_, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@pytest.mark.parametrize("offset", [0.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7])
def test_far_from_zero_what_is_certified_is_the_optimum(offset):
    """Inner products of 1e14 leave no digit of f: the gap counts what rounding leaves uncertain of it."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((40, 3))
    y = Z @ [1.0, -2.0, 0.5] + rng.standard_normal(40)
    sign = np.where(y > 0, 1.0, -1.0)
    for model, target in ((gm.SVR(0.01, kernel="linear"), y), (gm.SVC(0.01, kernel=Linear()), sign)):
        model.fit(Z, target)
        least = model.objective_
        assert model.certificate_.holds
        model.fit(Z + offset, target)
        if not model.certificate_.holds:
            assert offset > 1e3
            continue
        coef = np.ravel(model.dual_coef_) @ Z[model.support_]
        f = np.ravel(model.predict(Z + offset) if target is y else model.decision_function(Z + offset))
        losses = np.maximum(0.0, np.abs(y - f) - 0.1) if target is y else np.maximum(0.0, 1.0 - sign * f)
        reached = losses.mean() + 0.01 * coef @ coef
        np.testing.assert_allclose(reached, least, rtol=1e-5)
        np.testing.assert_allclose(model.objective_, reached, rtol=2e-6)


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e7, 1e8])
def test_factors_that_lose_the_variation_of_the_rows_are_not_certified(offset):
    """Landmark points leave out what is rounding next to k(x, x), which here is nearly all that tells rows apart."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((40, 3))
    y = Z @ [1.0, -2.0, 0.5] + rng.standard_normal(40)
    models = [
        (gm.LogisticRegression(0.01, kernel=Linear()), y > 0),
        (gm.Regressor(gm.losses.Huber(1.35, 1.0), alpha=0.01, kernel=Linear()), y),
        (gm.Regressor("absolute", alpha=0.01, kernel=Linear()), y),
    ]
    for model, target in models:
        least = model.fit(Z, target).objective_
        assert model.certificate_.holds
        model.fit(Z + offset, target)
        assert model.certificate_.holds == (offset < 1e6)
        if model.certificate_.holds:
            np.testing.assert_allclose(model.objective_, least, rtol=1e-6)
    same = gm.LogisticRegression(0.01, kernel=RBF(1.0)).fit(np.ones((10, 2)), np.arange(10) % 2)
    assert same.certificate_.holds


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # of SciPy's solver
@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("twice", [True, False])
def test_interior_point_meets_a_general_solver(balanced, twice):
    rng = np.random.default_rng(3)
    F = rng.standard_normal((12, 5)) * 10.0 ** rng.uniform(-1, 1, 5)
    K, row = F @ F.T, np.tile(np.arange(12), 2) if twice else np.arange(12)
    m = len(row)
    c, low, high = rng.standard_normal(m), -rng.uniform(0, 0.5, m), rng.uniform(0, 0.5, m)
    low[3], high[4] = high[3], low[4]  # no room
    balance = float(np.clip(0.0, low, high).sum()) if balanced else None
    beta, _ = interior_point(K, c, low, high, row, balance)
    big = K[np.ix_(row, row)]
    assert ((low <= beta) & (beta <= high)).all()
    held = [{"type": "eq", "fun": lambda b: b.sum() - balance, "jac": np.ones_like}] if balanced else []
    best = minimize(
        lambda b: (0.5 * b @ big @ b - c @ b, big @ b - c), np.clip(0.0, low, high), jac=True, method="SLSQP",
        bounds=list(zip(low, high, strict=True)), constraints=held, options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    assert 0.5 * beta @ big @ beta - c @ beta <= best.fun + 1e-9 * abs(best.fun)
    if balanced:
        np.testing.assert_allclose(beta.sum(), balance, atol=1e-12)
    # the units of the kernel do not matter
    again, _ = interior_point(1e30 * K, c, low / 1e30, high / 1e30, row, None if balance is None else balance / 1e30)
    np.testing.assert_allclose(1e30 * again, beta, atol=1e-7)


def test_nothing_to_solve_for():
    fixed = np.array([0.5, -0.5])
    beta, iterations = interior_point(np.eye(2), np.ones(2), fixed, fixed, np.arange(2), 0.0)
    np.testing.assert_array_equal(beta, fixed)
    assert iterations == 0


def test_work_is_proportional_to_the_variables():
    small, large = (Dual(np.zeros(m), np.zeros(m), np.ones(m), np.arange(m)) for m in (100, 10_000))
    assert work_limit(large) < 100 * work_limit(small)
