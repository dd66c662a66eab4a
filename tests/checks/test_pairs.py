"""Random pairs of loss and penalty against oracles: a few seeds of what `make fuzz` runs by the thousand."""

import warnings

import numpy as np
import pytest

import gramian as gm
from checks.test_solvers import LOSSES, PENALTIES, outputs, table
from fuzz.families import pairs
from gramian.objective.problem import Problem
from gramian.solvers.smooth.concomitant import ScaleSearch
from gramian.solvers.solve import fit_problem


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("family", pairs.FAMILIES)
def test_random_pairs(family, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verdict = pairs.FAMILIES[family](seed)
    assert verdict.outcome != "wrong", verdict.text


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_rows_of_weight_zero_change_no_bit(loss):
    X, y, _ = table(6, loss)
    X, y = X[:40], y[:40]
    weight = np.where(np.arange(40) % 5 == 0, 0.0, 1.0)
    absurd = np.where(weight[:, None] > 0, X, 1e150)
    targets = np.where(weight > 0, y, 1e150) if loss.targets == "numbers" else y
    costly = loss.targets == "classes" or not loss.convex
    for penalty in PENALTIES[:: 4 if costly else 1]:
        found = [
            fit_problem(Problem(gm.scan(a, b, sample_weight=w), loss, penalty, 0.05, outputs=outputs(loss)), warn=False)
            for a, b, w in ((X[weight > 0], y[weight > 0], weight[weight > 0]), (absurd, targets, weight))
        ]
        np.testing.assert_array_equal(found[0].coef, found[1].coef)
        np.testing.assert_array_equal(found[0].intercept, found[1].intercept)
        assert found[0].certificate.value == found[1].certificate.value


@pytest.mark.parametrize("seed", range(10))
def test_piecewise_linear_losses_under_a_singular_matrix_with_few_rows(seed):
    """The dual point must lie in the range of ΓᵀΓ, else the gap is negative."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 12)), int(rng.integers(12, 20))
    X, y = rng.standard_normal((n, d)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    penalty = gm.penalties.Tikhonov(rng.standard_normal((int(rng.integers(d - 5, d)), d)))
    for loss in (gm.losses.Hinge(), gm.losses.Absolute(), gm.losses.Quantile(0.8)):
        problem = Problem(gm.scan(X, y), loss, penalty, 0.1)
        fit, other = (fit_problem(problem, solver=solver, warn=False) for solver in ("auto", "primal-dual"))
        assert fit.certificate.holds
        assert fit.certificate.value >= 0.0
        assert fit.value <= other.value + 1e-6 * max(abs(other.value), problem.least_value)


@pytest.mark.parametrize("seed", range(4))
def test_powers_within_bounds_are_optimal_where_certified(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 3))
    y = X @ rng.standard_normal(3) + 0.1 * rng.standard_normal(15)
    problem = Problem(gm.scan(X, y), gm.losses.Power(1.1), gm.penalties.Box(-0.5, 0.5), 1.0)
    fit = fit_problem(problem)
    linear = fit_problem(problem, solver="primal-dual", tol=1e-10)
    assert fit.certificate.kind == "duality gap"
    assert fit.value <= linear.value * (1 + 1e-7)


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (gm.losses.Huber(1.35, 0.1), gm.penalties.GroupL1((0, 0, 1, 1))),
        (gm.losses.Huber(1.35, 0.1), gm.penalties.Tikhonov(np.diff(np.eye(4), axis=0))),
        (gm.losses.Power(1.2), gm.penalties.GroupL1((0, 0, 1, 1))),
        (gm.losses.Power(3.0), gm.penalties.L1()),
        (gm.losses.Poisson(), gm.penalties.GroupL1((0, 0, 1, 1))),
    ],
    ids=repr,
)
def test_descents_that_diverged_or_stalled(loss, penalty):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((29, 4)) * np.array([1.0, 10.0, 0.1, 1.0])
    y = rng.poisson(2.0, 29).astype(float) if loss.targets == "counts" else 100.0 * rng.standard_t(1, 29)
    for alpha in (1e-4, 0.1):
        fit = fit_problem(Problem(gm.scan(X, y), loss, penalty, alpha))
        assert fit.certificate.claim == "global optimum"


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_newton_does_not_crawl_on_columns_far_from_zero(seed):
    """Steps that lower nothing end, and the general method goes on: 1000 of them came to 11010 where 7768 is least."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((29, 4)) * 10.0 ** np.array([0, -2, -2, -2]) + 100.0
    y = rng.standard_t(1.2, 29) * 1000.0
    penalty = gm.penalties.Tikhonov(rng.standard_normal((2, 4)))
    fit = fit_problem(Problem(gm.scan(X, y), gm.losses.Huber(1.35, 0.1), penalty, 0.1))
    assert fit.certificate.claim == "global optimum"
    assert fit.iterations < 200


@pytest.mark.parametrize(
    "penalty",
    [gm.penalties.GroupL1(tuple(np.arange(20) // 2)), gm.penalties.L1(), gm.penalties.Box(-0.3, 0.5)],
    ids=lambda penalty: type(penalty).__name__,
)
def test_joint_scale_with_fewer_rows_than_columns_takes_few_steps(penalty):
    """Where Newton's steps on coefficients and scale do not end, the general method is next, soon."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 20)) * np.array([1.0, 10.0, 0.1, *np.ones(17)])
    y = X[:, 0] + 0.1 * X[:, 1] + rng.standard_normal(12)
    problem = Problem(gm.scan(X, y), gm.losses.Huber(), penalty, 0.05)
    fit = fit_problem(problem, warn=False)
    assert fit.iterations < 200
    assert fit.certificate.value < 1e-6
    general = ScaleSearch(min_scale=1e-8)
    assert fit.value <= fit_problem(problem, solver=general, warn=False).value * (1 + 1e-6)


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("loss", [gm.losses.Huber(), gm.losses.StudentT()], ids=repr)
def test_targets_beyond_the_range_of_squares_are_refused(loss, size):
    X, y, _ = table(7, loss)
    with pytest.raises(ValueError, match="divide y by"):
        fit_problem(Problem(gm.scan(X, size * y), loss, gm.penalties.L2(), 0.1))
