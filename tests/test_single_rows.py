"""Products with Hessians in single precision: against dense ones, and the optima that Newton-CG reaches with them."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.objective.problem import Problem
from gramian.solvers import Newton, NewtonCG
from gramian.solvers.base import Details
from gramian.solvers.smooth.single_rows import SingleRows
from gramian.solvers.solve import fit_problem

L, P = gm.losses, gm.penalties
N, D = 1400, 180


def table(kind="signs", n=N, d=D, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(0.1, 10, d) + rng.standard_normal(d)
    eta = (X - X.mean(axis=0)) @ (np.cos(np.arange(d)) / np.geomspace(0.1, 10, d)) / np.sqrt(d)
    y = {
        "signs": lambda: np.where(eta + rng.logistic(size=n) > 0, 1.0, -1.0),
        "counts": lambda: rng.poisson(np.exp(eta)).astype(float),
    }[kind]()
    return X, y


def problem_of(X, y, loss=None, penalty=None, alpha=1e-3, weight=None, **options):
    rows = gm.scan(X, y, sample_weight=weight)
    return Problem(rows, loss or L.Logistic(), penalty or P.L2(), alpha, **options)


WEIGHT = np.random.default_rng(1).uniform(0.1, 3.0, N)
CASES = {
    "logistic": (L.Logistic(), P.L2(), {}),
    "weights": (L.Logistic(), P.L2(), {"weight": WEIGHT}),
    "no intercept": (L.Logistic(), P.L2(), {"intercept": False}),
    "Tikhonov": (L.Logistic(), P.Tikhonov(np.eye(D)[: D // 2]), {}),
    "Poisson": (L.Poisson(), P.L2(), {"weight": WEIGHT}),
    "squared hinge": (L.SquaredHinge(), P.L2(), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_products_diagonal_and_matrix_match_the_hessian(name):
    loss, penalty, options = CASES[name]
    X, y = table("counts" if loss.targets == "counts" else "signs")
    problem = problem_of(X, y, loss, penalty, **options)
    rng = np.random.default_rng(2)
    theta = 0.05 * rng.standard_normal((1, problem.p))
    single = SingleRows.of(problem)
    hessian = single.hessian(theta)
    exact = problem.at(theta, hessian=True)
    size = np.abs(exact.hessian).max()
    v = 1e-30 * rng.standard_normal((1, problem.p))
    np.testing.assert_allclose(hessian(v), v @ exact.hessian, atol=1e-5 * size * np.abs(v).max() * np.sqrt(problem.p))
    np.testing.assert_allclose(hessian.diagonal()[0], np.diagonal(exact.hessian), rtol=1e-4)
    np.testing.assert_allclose(hessian.matrix(), exact.hessian, atol=1e-5 * size)
    point = single.point(theta)
    np.testing.assert_allclose(point.value, exact.value, rtol=1e-13)
    np.testing.assert_allclose(point.gradient, exact.gradient, atol=1e-13)
    assert not hessian(np.zeros((1, problem.p))).any()


@pytest.mark.parametrize("name", CASES)
def test_newton_cg_reaches_the_optimum_of_newton(name):
    loss, penalty, options = CASES[name]
    X, y = table("counts" if loss.targets == "counts" else "signs")
    problem = problem_of(X, y, loss, penalty, **options)
    assert SingleRows.of(problem) is not None
    fit, other = fit_problem(problem, solver=NewtonCG()), fit_problem(problem, solver=Newton())
    assert fit.certificate.holds
    np.testing.assert_allclose(fit.value, other.value, rtol=1e-12)
    values = [value for _, value, _ in fit.history]
    assert (np.diff(values) <= 1e-14).all()
    assert problem.residual(problem.at(fit.theta)) <= 1e-8
    assert vars(fit.details) == vars(Details(point=fit.details.point))


@pytest.mark.parametrize("given", [np.float32, "far", "columns"])
def test_rows_of_other_forms(given):
    X, y = table()
    if given == "columns":
        pl = pytest.importorskip("polars")
        Z = pl.DataFrame(X)
    else:
        Z = X + 1e5 * X.std(axis=0) if given == "far" else X.astype(given)
    fit = gm.LogisticRegression(alpha=1e-3, solver="newton-cg").fit(Z, y)
    other = gm.LogisticRegression(alpha=1e-3, solver="newton").fit(Z, y)
    assert fit.certificate_.holds
    unit = X.std(axis=0)
    np.testing.assert_allclose(fit.coef_ * unit, other.coef_ * unit, atol=1e-6)


def test_the_same_bits_for_any_number_of_threads():
    X, y = table(n=3000, d=700)
    found = []
    for count in (1, 2, 3, 5):
        with gm.threads(count):
            found.append(gm.LogisticRegression(alpha=1e-3).fit(X, y).coef_)
    assert all((coef == found[0]).all() for coef in found[1:])


@pytest.mark.parametrize("alpha", [0.0, 1e-14, 1e-12, 1e-8])
def test_hessians_beyond_single_precision(alpha):
    """Singular values over six decades, and nothing or little that the penalty adds."""
    X, y = table(seed=3)
    rng = np.random.default_rng(4)
    turned = np.linalg.qr(rng.standard_normal((D, D)))[0] * np.geomspace(1.0, 1e-6, D)
    fit = gm.LogisticRegression(alpha=alpha, solver="newton-cg").fit(X @ turned, y)
    assert fit.certificate_.holds
    assert fit.n_iter_ <= 40


def test_curvatures_beyond_single_precision_take_double():
    X, y = table("counts")
    problem = problem_of(X * 1e-3, y * 1e200, L.Poisson(), P.L2())
    single = SingleRows.of(problem)
    assert single.hessian(np.append(np.zeros(D), 460.0)[None]) is None
    assert fit_problem(problem, solver=NewtonCG()).certificate.holds


def test_columns_beyond_single_precision_take_double():
    X, y = table()
    weight = np.ones(N)
    weight[0] = 1e-120
    X[0, 5] = 1e45
    problem = problem_of(X, y, weight=weight)
    assert SingleRows.of(problem) is None


def test_no_copy_of_small_sparse_or_several_outputs():
    X, y = table()
    assert SingleRows.of(problem_of(X[:300], y[:300])) is None
    assert SingleRows.of(problem_of(sp.csr_array(X), y)) is None
    assert SingleRows.of(problem_of(X, (y > 0).astype(float), L.Softmax(), outputs=2)) is None
