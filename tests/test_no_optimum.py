"""Objectives without an optimum within bounds, by any solver; the primal-dual method; the scale of Huber's loss."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import gramian as gm
from gramian.objective.problem import Problem
from gramian.solvers.smooth.concomitant import ScaleSearch
from gramian.solvers.smooth.separation import may_separate
from gramian.solvers.solve import fit_problem

L, P = gm.losses, gm.penalties


def problem_of(X, y, loss, penalty, alpha=0.1, outputs=1):
    return Problem(gm.scan(X, y), loss, penalty, alpha, intercept=True, outputs=outputs)


def separable(X, y, low):
    """Whether coefficients of at least `low` and an intercept put every row on its side or on the line, by HiGHS."""
    n, d = X.shape
    k = int(y.max()) + 1 if y.min() >= 0 else 1
    Z = np.column_stack([X, np.ones(n)])
    if k == 1:
        rows = y[:, None] * Z
    else:
        units = np.eye(k)
        rows = np.array(
            [np.kron(units[int(c)] - units[j], z) for z, c in zip(Z, y, strict=True) for j in range(k) if j != c]
        )
    bounds = ([(low, 1.0)] * d + [(-1.0, 1.0)]) * k
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=bounds)
    return -found.fun > 1e-6


def random_classes(seed, k):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 20)), int(rng.integers(1, 6))
    X = rng.standard_normal((n, d))
    eta = X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)
    if k == 1:
        y = np.where(eta > np.median(eta), 1.0, -1.0)
    else:
        y = np.digitize(eta, np.quantile(eta, [0.3, 0.7])).astype(float)
    return X, y


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["auto", "primal-dual"])
@pytest.mark.parametrize("penalty", [P.NonNegative(), P.Zero()], ids=repr)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_no_optimum_is_claimed_where_a_linear_programme_separates(solver, penalty, k, seed):
    X, y = random_classes(seed, k)
    loss = L.Logistic() if k == 1 else L.Softmax()
    fit = fit_problem(problem_of(X, y, loss, penalty, outputs=k), solver=solver)
    apart = separable(X, y, 0.0 if isinstance(penalty, P.NonNegative) else -1.0)
    assert fit.separated == apart
    assert np.isfinite(fit.coef).all()
    if isinstance(penalty, P.NonNegative):
        assert (fit.coef >= 0).all()
    if apart:
        assert "no optimum exists" in str(fit.certificate)
        assert fit.iterations < 100
    else:
        assert fit.certificate.holds


def test_bounds_and_costs_that_stop_every_direction_leave_an_optimum():
    X = np.linspace(-1, 1, 12)[:, None]
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    assert may_separate(problem_of(X, y, L.Logistic(), P.NonNegative()))
    for penalty in (P.Box(-0.3, 0.5), P.NonNegative(P.L1()), P.Box(-0.3, np.inf, P.L2()), P.L1(), P.GroupL1((0,))):
        assert not may_separate(problem_of(X, y, L.Logistic(), penalty))
    falling = fit_problem(problem_of(X, -y, L.Logistic(), P.NonNegative()))  # separated on the other side of the bound
    assert not falling.separated
    assert falling.certificate.holds
    np.testing.assert_array_equal(falling.coef, 0.0)


@pytest.mark.parametrize("step", [1e3, 1.0, 1e-2, 1e-4, 1e-8])
def test_the_envelope_of_a_smooth_loss_has_the_slope_at_its_proximal_point(step):
    """Also where the slope is so small that f less the proximal point has no digits of it."""
    f, y = np.linspace(-40.0, 40.0, 41), np.ones(41)
    _, slope, _ = L.Logistic().envelope(y, f, step)
    # u + sigmoid(−(f − step u)) = 0 has its root within rounding of u
    near = [slope * (1.0 + sign * 1e-11) for sign in (-1.0, 1.0)]
    low, high = (u + 1.0 / (1.0 + np.exp(f - step * u)) for u in near)
    assert (np.sign(low) != np.sign(high)).all()


@pytest.mark.parametrize("seed", [1890, 3, 4, 5])
def test_primal_dual_meets_newton_on_rows_that_are_nearly_separated(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((17, 1))
    eta = 4.0 * X[:, 0] + 0.5 * rng.logistic(size=17)
    y = np.where(eta > np.median(eta), 1.0, -1.0)
    problem = problem_of(X, y, L.Logistic(), P.Zero())
    newton = fit_problem(problem, warn=False)
    fit = fit_problem(problem, solver="primal-dual", tol=1e-10, warn=False)
    assert fit.separated == newton.separated
    assert fit.certificate.value <= 1e-10
    assert fit.iterations <= 15
    np.testing.assert_allclose(fit.value, newton.value, rtol=1e-9)


@pytest.mark.parametrize(
    "penalty", [P.L2(), P.GroupL1((0, 1, 2, 0)), P.Box(-0.3, np.inf, P.L2()), P.Box(-0.1, 0.2)], ids=repr
)
@pytest.mark.parametrize("seed", range(6))
def test_the_scale_of_huber_takes_few_bracketing_steps(penalty, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((18, 4))
    y = X @ rng.standard_normal(4) * 0.5 + 0.4 * rng.standard_t(2, 18)
    problem = problem_of(X, y, L.Huber(), penalty, 0.05)
    fit, searched = fit_problem(problem), fit_problem(problem, solver=ScaleSearch())
    assert fit.certificate.holds
    assert searched.certificate.holds
    assert searched.iterations <= 25
    np.testing.assert_allclose(searched.value, fit.value, rtol=1e-8)

    def objective(v):
        coef, b, s = v[:4], v[4], np.exp(v[5])
        r = np.abs(y - X @ coef - b) / s
        huber = np.where(r <= 1.35, r * r, 2 * 1.35 * r - 1.35**2)
        low, high = (-0.3, np.inf) if "inf" in repr(penalty) else (-0.1, 0.2) if "Box" in repr(penalty) else (-9, 9)
        return float(s * (1.0 + huber.mean()) + 0.05 * penalty.value(np.clip(coef, low, high)))

    bounds = (
        [(-0.3, None)] * 4
        if "inf" in repr(penalty)
        else [(-0.1, 0.2)] * 4
        if "Box" in repr(penalty)
        else [(None, None)] * 4
    )
    start = np.concatenate([np.ravel(fit.coef), np.ravel(fit.intercept), [np.log(fit.scale)]])
    found = minimize(objective, start, method="L-BFGS-B", bounds=[*bounds, (None, None), (None, None)])
    assert fit.value <= found.fun + 1e-7 * abs(found.fun)
    np.testing.assert_allclose(objective(start), fit.value, rtol=1e-9)
