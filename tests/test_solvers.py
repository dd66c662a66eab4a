"""Solvers: the same optimum by every road, weights, threads, units, warm starts, interruption, separated classes."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from sklearn.svm import LinearSVC

import gramian as gm
from gramian.objective.losses import Loss
from gramian.objective.losses.classification import SoftMargin
from gramian.objective.penalties import Penalty, PenaltyTerms
from gramian.objective.problem import Problem
from gramian.solvers import (
    ColumnDescent,
    DualDescent,
    GradientDescent,
    InteriorPoint,
    JointInteriorPoint,
    LinearProgramme,
    Newton,
    NewtonCG,
    PerceptronAlgorithm,
    PowerNewton,
    ProximalNewton,
    Reweighted,
    RootDescent,
    ScaleNewton,
    ScaleSearch,
)
from gramian.solvers.base import run
from gramian.solvers.choose import choose
from gramian.solvers.nonsmooth.active_rows import ActiveRowsInteriorPoint
from gramian.solvers.nonsmooth.row_space import RowSpaceInteriorPoint
from gramian.solvers.smooth.newton import solve_spd
from gramian.solvers.solve import fit_problem

L, P = gm.losses, gm.penalties
ALPHA = 0.02


def table(seed, kind="numbers", n=120, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3) + rng.standard_normal(d)
    eta = (X - X.mean(axis=0)) @ (0.7 * np.cos(np.arange(d)))
    return X, {
        "numbers": lambda: eta + 0.5 * rng.standard_t(3, n) + 1.0,
        "counts": lambda: rng.poisson(np.exp(np.clip(0.4 * eta, -3, 3) + 0.5)).astype(float),
        "signs": lambda: np.where(eta + rng.logistic(size=n) > 0, 1.0, -1.0),
        "classes": lambda: np.digitize(eta + 0.5 * rng.logistic(size=n), [-0.8, 0.8]).astype(float),
    }[kind]()


def problem_of(X, y, loss, penalty=None, alpha=ALPHA, weight=None, **options):
    outputs = int(np.max(y)) + 1 if loss.targets == "classes" else 1
    rows = gm.scan(X, y, sample_weight=weight)
    return Problem(rows, loss, P.Zero() if penalty is None else penalty, alpha, outputs=outputs, **options)


def raw_value(problem, X, y, coef, b):
    f = X @ coef + b
    f = f if problem.m > 1 else f[:, 0]
    return problem.loss.value(y, f).mean() + problem.alpha * sum(problem.penalty.value(c) for c in coef.T)


# a loss and a penalty for every solver; what is in it is what the solver is for
CASES = {
    "Newton": (Newton(), L.Logistic(), P.L2()),
    "NewtonCG": (NewtonCG(), L.Logistic(), P.L2()),
    "NewtonCG, several outputs": (NewtonCG(), L.Softmax(), P.L2()),
    "ProximalNewton": (ProximalNewton(), L.Poisson(), P.L1()),
    "ProximalNewton, groups": (ProximalNewton(), L.Logistic(), P.GroupL1((0, 1, 0, 1))),
    "ColumnDescent": (ColumnDescent(), L.Logistic(), P.L1()),
    "ColumnDescent, several outputs": (ColumnDescent(), L.Softmax(), P.ElasticNet()),
    "InteriorPoint": (InteriorPoint(), L.Hinge(), P.L2()),
    "ActiveRowsInteriorPoint": (ActiveRowsInteriorPoint(), L.Hinge(), P.L2()),
    "RowSpaceInteriorPoint": (RowSpaceInteriorPoint(), L.Absolute(), P.L2()),
    "DualDescent": (DualDescent(), L.Quantile(0.7), P.L2()),
    "LinearProgramme": (LinearProgramme(), L.Absolute(), P.L1()),
    "LinearProgramme, bounds": (LinearProgramme(), L.Absolute(), P.Box(-0.2, 0.3, P.L1())),
    "Reweighted": (Reweighted(), L.StudentT(3.0), P.L2()),
    "Reweighted, zeros": (Reweighted(), L.StudentT(3.0, 0.7), P.L1()),
    "PowerNewton": (PowerNewton(), L.Power(1.5), P.L2()),
    "ScaleNewton": (ScaleNewton(), L.Huber(), P.L2()),
    "ScaleNewton, zeros": (ScaleNewton(), L.Huber(), P.L1()),
    "JointInteriorPoint": (JointInteriorPoint(), L.MultiHinge(), P.L2()),
    "RootDescent": (RootDescent(), L.RootHinge(), P.L2()),
    "GradientDescent": (GradientDescent("line_search"), L.Poisson(), P.L1()),
}
case = pytest.mark.parametrize("name", CASES)


def solved(name, X, y, weight=None, **options):
    method, loss, penalty = CASES[name]
    return fit_problem(problem_of(X, y, loss, penalty, weight=weight), solver=method, **options)


# the optimum by another road


@pytest.mark.parametrize("penalty", [P.Zero(), P.L2(), P.Tikhonov(np.diff(np.eye(4), axis=0))], ids=repr)
@pytest.mark.parametrize(
    "loss",
    [L.Squared(), L.Huber(1.0, 0.7), L.StudentT(3.0, 0.7), L.Poisson(), L.Logistic(), L.SquaredHinge(), L.Softmax()],
    ids=repr,
)
def test_smooth_losses_reach_what_a_general_minimiser_does(loss, penalty):
    X, y = table(0, loss.targets)
    problem = problem_of(X, y, loss, penalty)
    fit = fit_problem(problem)
    k = problem.m

    def value(v):
        theta = v.reshape(k, 5)
        return raw_value(problem, X, y, theta[:, :4].T, theta[:, 4])

    reference = minimize(value, np.zeros(5 * k), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(fit.value, raw_value(problem, X, y, fit.coef, fit.intercept), rtol=1e-12)
    np.testing.assert_allclose(fit.value, reference.fun, rtol=1e-8)
    assert fit.value <= reference.fun * (1 + 1e-12) or reference.fun < 0


@pytest.mark.parametrize("penalty", [P.Zero(), P.L1(), P.NonNegative(), P.Box(-0.1, 0.2, P.L1())], ids=repr)
@pytest.mark.parametrize("loss", [L.Absolute(), L.Quantile(0.8), L.Hinge()], ids=repr)
def test_piecewise_linear_losses_reach_their_linear_programme(loss, penalty):
    """min Σ (high · above − low · below) / n + alpha Σ (plus + minus), in raw units, with all parts non-negative."""
    X, y = table(1, loss.targets)
    n, d = X.shape
    at, low, high = loss.breakpoint(y)
    parts, eye = penalty.parts(d), np.eye(n)
    cost = np.concatenate([ALPHA * parts.l1, ALPHA * parts.l1, [0.0, 0.0], high / n, -low / n])
    A = np.hstack([X, -X, np.ones((n, 1)), -np.ones((n, 1)), -eye, eye])
    bounds = np.zeros((len(cost), 2))
    bounds[:, 1] = np.inf
    bounds[:d, 1], bounds[d : 2 * d, 1] = np.maximum(parts.high, 0), np.maximum(-parts.low, 0)
    reference = linprog(cost, A_eq=A, b_eq=at, bounds=bounds, method="highs").fun
    for method in ("auto", "interior"):
        if method == "interior" and parts.bounded:
            continue
        fit = fit_problem(problem_of(X, y, loss, penalty), solver=method)
        assert fit.certificate.holds
        np.testing.assert_allclose(raw_value(fit.problem, X, y, fit.coef, fit.intercept), reference, rtol=1e-8)


@case
def test_solver_agrees_with_the_one_chosen(name):
    method, loss, penalty = CASES[name]
    X, y = table(2, loss.targets)
    problem = problem_of(X, y, loss, penalty)
    fit, chosen = fit_problem(problem, solver=method), fit_problem(problem)
    assert fit.certificate.holds
    assert fit.solver.name == method.name
    assert fit.solver.reason == "asked for"
    assert chosen.solver.reason != "asked for"
    np.testing.assert_allclose(fit.value, chosen.value, rtol=1e-8)


WIDTH = 120
WIDE = {
    "NewtonCG": (L.Logistic(), P.L2(), 0.01),
    "NewtonCG, Tikhonov": (L.Squared(), P.Tikhonov(np.eye(WIDTH)[: WIDTH // 2]), 0.05),
    "ColumnDescent": (L.Logistic(), P.L1(), 0.03),
    "ColumnDescent, bounds": (L.Squared(), P.NonNegative(P.L1()), 0.1),
    "ColumnDescent, classes": (L.Softmax(), P.L1(), 0.02),
    "RowSpaceInteriorPoint": (L.Hinge(), P.L2(), 0.02),
    "DualDescent": (L.Absolute(), P.L2(), 0.1),
    "InteriorPoint": (L.Absolute(), P.ElasticNet(0.3), 0.1),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", WIDE)
def test_more_columns_than_rows(name, sparse):
    """On the same wide table, the road for wide ones and the one for narrow ones."""
    loss, penalty, alpha = WIDE[name]
    X, y = table(3, loss.targets, n=60, d=WIDTH)
    if sparse:
        X = sp.csr_array(X * (np.random.default_rng(0).random(X.shape) < 0.1))
    problem = problem_of(X, y, loss, penalty, alpha)
    wide = getattr(gm.solvers, name.split(",")[0], RowSpaceInteriorPoint)()
    narrow = {
        "NewtonCG": Newton(),
        "ColumnDescent": ProximalNewton(),
        "RowSpaceInteriorPoint": InteriorPoint(),
        "DualDescent": InteriorPoint(),
        "InteriorPoint": InteriorPoint(),
    }[name.split(",")[0]]
    a, b = (fit_problem(problem, solver=method, max_iter=1000) for method in (wide, narrow))
    assert a.certificate.holds
    assert b.certificate.holds
    np.testing.assert_allclose(a.value, b.value, rtol=1e-7, atol=1e-12)
    if not penalty.parts(WIDTH).smooth:
        np.testing.assert_array_equal(a.coef == 0, b.coef == 0)
        assert (a.coef == 0).any()


def test_columns_of_a_group_may_have_any_units():
    X, y = table(9)
    unit = np.array([1.0, 1.0, 1e3, 1e-3])
    penalty = P.GroupL1((0, 1, 0, 1))
    fit = fit_problem(problem_of(X * unit, y, L.Squared(), penalty), max_iter=20)
    assert fit.certificate.holds
    grad = 2.0 * (X * unit - (X * unit).mean(axis=0)).T @ ((X * unit) @ fit.coef[:, 0] + fit.intercept - y) / len(y)
    for group in ([0, 2], [1, 3]):
        c = fit.coef[group, 0]
        np.testing.assert_allclose(
            grad[group] / unit[group], -ALPHA * np.sqrt(2) * c / np.linalg.norm(c) / unit[group], atol=1e-6
        )


# weights, sparse rows, threads, units


@case
def test_weights_are_repetition(name):
    method, loss, _ = CASES[name]
    X, y = table(4, loss.targets)
    w = np.random.default_rng(1).integers(0, 3, len(y))
    tight = {} if hasattr(method, "tol") or isinstance(method, ColumnDescent) else {"tol": 1e-9}
    a = solved(name, X, y, w, **tight)
    b = solved(name, np.repeat(X, w, axis=0), np.repeat(y, w), **tight)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-9)
    close = (
        1e-6 if isinstance(method, DualDescent | GradientDescent | ColumnDescent) else 1e-8
    )  # tol, in the last digits
    np.testing.assert_allclose(a.coef, b.coef, rtol=close, atol=close)
    np.testing.assert_allclose(a.intercept, b.intercept, rtol=close, atol=close)
    if a.scale is not None:
        np.testing.assert_allclose(a.scale, b.scale, rtol=1e-8)


@case
def test_sparse_rows_are_dense_rows(name):
    method, loss, _ = CASES[name]
    X, y = table(5, loss.targets)
    X = X * (np.random.default_rng(2).random(X.shape) < 0.5)
    dense = solved(name, X, y)
    for other in (sp.csr_array(X), sp.csc_matrix(X)):
        found = solved(name, other, y)
        assert found.certificate.holds
        np.testing.assert_allclose(found.value, dense.value, rtol=1e-8)
        if not isinstance(method, GradientDescent | DualDescent):
            np.testing.assert_allclose(found.coef, dense.coef, rtol=1e-6, atol=1e-6)


@case
def test_any_number_of_threads_gives_the_same_bits(name):
    method, loss, _ = CASES[name]
    if isinstance(method, LinearProgramme | DualDescent | RowSpaceInteriorPoint | RootDescent | ColumnDescent):
        n = 600  # these take the whole table at once
    else:
        n = 35_000  # three blocks
    X, y = table(6, loss.targets, n=n)
    found = []
    for count in (1, 2, 4):
        with gm.threads(count), warnings.catch_warnings():
            warnings.simplefilter("ignore", gm.ConvergenceWarning)
            found.append(solved(name, X, y, max_iter=6))
    for other in found[1:]:
        np.testing.assert_array_equal(other.coef, found[0].coef)
        np.testing.assert_array_equal(other.intercept, found[0].intercept)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "loss",
    [L.Squared(), L.Logistic(), L.Poisson(), L.Huber(), L.Huber(1.0, 0.7), L.StudentT(), L.Power(1.5), L.Absolute(),
     L.Hinge(), L.SquaredHinge(), L.Softmax()],
    ids=repr,
)  # fmt: skip
def test_a_power_of_two_divides_out_exactly(loss, sparse):
    X, y = table(7, loss.targets)
    unit = 2.0 ** np.array([40, -30, 3, 0])
    a, b = (fit_problem(problem_of(sp.csr_array(Z) if sparse else Z, y, loss, alpha=0.0)) for Z in (X, X * unit))
    np.testing.assert_array_equal(a.coef, b.coef * unit[:, None])
    np.testing.assert_array_equal(a.intercept, b.intercept)


# the loop: warm starts, history, callbacks, interruption, limits


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n][0].name in (
    "Newton", "Newton-CG", "proximal Newton", "column descent", "reweighted least squares", "reweighted Newton",
    "Newton on coefficients and scale", "gradient descent")])  # fmt: skip
def test_warm_start_from_the_optimum_ends_at_once(name):
    method, loss, penalty = CASES[name]
    X, y = table(8, loss.targets)
    problem = problem_of(X, y, loss, penalty)
    first = fit_problem(problem, solver=method)
    again = fit_problem(problem, solver=method, start=first.theta)
    assert again.certificate.holds
    if first.scale is None:
        assert again.iterations <= 1
    np.testing.assert_allclose(again.coef, first.coef, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n][0].name not in (
    "interior point", "interior point on active rows", "interior point in the row space",
    "dual coordinate descent", "linear programme (HiGHS)", "interior point of all classes", "reweighted hinge",
    "gradient descent")])  # fmt: skip
@pytest.mark.parametrize("seed", range(3))
def test_objective_falls_at_every_step(name, seed):
    _, loss, _ = CASES[name]
    X, y = table(10 + seed, loss.targets)
    X = X * ([1, 1e3, 1, 1e3] if "groups" in name else [1, 1e3, 1e-3, 1]) + [0, 0, 0, 1e4]
    y = y * 50 if loss.targets == "numbers" else y
    history = np.array(solved(name, X, y).history)
    np.testing.assert_array_equal(history[:, 0], np.arange(len(history)))
    values = history[:, 1]
    assert len(values) > 1
    assert (np.diff(values) <= 1e-13 * np.abs(values[:-1])).all()


def test_reweighted_hinge_falls_on_its_smoothed_objective():
    """Σ √(hinge + offset) falls at every step, while the offset falls towards its smallest."""
    X, y = table(14, "signs")
    loss, penalty = L.RootHinge(), P.L2()
    seen = []
    fit = fit_problem(
        problem_of(X, y, loss, penalty), callbacks=[lambda _, state: seen.append((state.theta, state.offset))]
    )
    assert fit.certificate.holds
    assert fit.certificate.claim == "converged within tolerance"
    assert fit.certificate.convex is False

    def smoothed(theta, offset):
        coef, b = fit.problem.to_original(theta)
        hinge = np.maximum(1.0 - y * (X @ coef + b)[:, 0], 0.0)
        return np.sqrt(hinge + offset).mean() + ALPHA * penalty.value(coef[:, 0])

    values = [smoothed(fit.problem.zero(), seen[0][1])] + [smoothed(*each) for each in seen]
    assert (np.diff(values) <= 1e-9).all()
    last = seen[-1][1]

    def around(v):
        return smoothed(fit.problem.to_standardized(v[:4, None], v[4:]), last)

    here = np.append(fit.coef[:, 0], fit.intercept)
    better = minimize(around, here, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
    assert around(here) <= better.fun * (1 + 1e-5)


def test_callbacks_see_every_step_and_may_end_the_fit():
    X, y = table(15, "signs")
    problem = problem_of(X, y, L.Logistic(), P.L2())
    seen = []
    whole = fit_problem(problem, callbacks=[lambda step, state: seen.append((step, state.value, state.residual))])
    assert [tuple(entry) for entry in whole.history[1:]] == seen
    assert [step for step, _, _ in seen] == list(range(1, whole.iterations + 1))
    with pytest.warns(gm.ConvergenceWarning, match="gradient is .* tolerance 1e-08, after 2 steps of Newton"):
        short = fit_problem(problem, callbacks=[lambda step, _: step == 2])
    assert short.iterations == 2
    assert not short.certificate.holds
    assert short.history == whole.history[:3]
    unmoved = fit_problem(problem, callbacks=[lambda step, _: "truthy, but not True"])
    assert unmoved.iterations == whole.iterations


def interrupt_at(number):
    def callback(step, state):
        if step == number:
            raise KeyboardInterrupt

    return callback


@case
def test_interruption_keeps_the_best_point(name):
    method, loss, penalty = CASES[name]
    X, y = table(16, loss.targets)
    problem = problem_of(X, y, loss, penalty)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit = fit_problem(problem, solver=method, callbacks=[interrupt_at(1)])
    assert any("Interrupted after 1 " in str(w.message) and "best point" in str(w.message) for w in said)
    assert all(issubclass(w.category, gm.ConvergenceWarning) for w in said)
    assert fit.iterations == 1
    values = [value for _, value, _ in fit.history]
    assert fit.value <= max(values)
    assert fit.value == min(values) or fit.certificate.value <= min(measure for *_, measure in fit.history)
    assert np.isfinite(fit.coef).all()


def test_interruption_within_a_step_ends_the_whole_fit(monkeypatch):
    """Ctrl-C is not swallowed by a solver that another one uses."""
    X, y = table(17, "signs")
    calls = {"n": 0, "after": 0}
    true = InteriorPoint.step

    def step(self, problem, state):
        calls["n"] += 1
        if calls["n"] == 5:
            raise KeyboardInterrupt
        calls["after"] += calls["n"] > 5
        return true(self, problem, state)

    monkeypatch.setattr(InteriorPoint, "step", step)
    with pytest.warns(gm.ConvergenceWarning, match="Interrupted"):
        fit_problem(problem_of(X, y, L.RootHinge(), P.L2()))
    assert calls["n"] == 5
    assert calls["after"] == 0  # no further reweighting


@pytest.mark.parametrize("seed", range(6))
def test_hinge_of_all_classes_reaches_its_gap(seed):
    """Scales, repeated rows, weights of all sizes, rows without weight, fewer rows than columns, weak penalties."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 11))
    n, d = int(rng.integers(k + 1, 40)), int(rng.integers(1, 6)) if seed % 4 else 50
    y = rng.integers(0, k, n).astype(float)
    y[:k] = np.arange(k)
    X = rng.standard_normal((n, d)) + (3.0 if seed % 2 else 0.0) * rng.standard_normal((k, d))[y.astype(int)]
    if seed % 3 == 0:
        X = X[rng.integers(0, max(n // 3, 1), n)]
    X = X * 10.0 ** rng.integers(-1, 2, d) + 10.0 ** rng.integers(0, 3)
    weight = 10.0 ** rng.uniform(-1, 1, n)
    weight[k:][rng.random(n - k) < 0.2] = 0.0
    X[weight == 0] *= 1e6
    for alpha in (1e-3, 1.0, 100.0):
        problem = problem_of(X, y, L.MultiHinge(), P.L2(), alpha, weight=weight)
        fit = fit_problem(problem)
        assert fit.certificate.holds
        assert fit.certificate.tolerance == 1e-8
        used = weight > 0
        again = fit_problem(problem_of(X[used], y[used], L.MultiHinge(), P.L2(), alpha, weight=weight[used]))
        assert fit.value == pytest.approx(again.value, rel=1e-8)


def test_hinge_of_all_classes_matches_crammer_singer():
    X, y = table(19, "classes")
    fit = fit_problem(problem_of(X, y, L.MultiHinge(), P.L2(), 0.05, intercept=False))
    C = 1.0 / (2.0 * 0.05 * len(y))
    other = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(fit.coef.T, other.coef_, atol=1e-5)


@case
def test_too_few_iterations_are_reported(name):
    method, loss, penalty = CASES[name]
    if isinstance(method, LinearProgramme | RowSpaceInteriorPoint | ActiveRowsInteriorPoint):
        return  # one step may be the whole of it
    if isinstance(method, GradientDescent):
        method = GradientDescent("line_search", max_iter=1)
    X, y = table(18, loss.targets)
    with pytest.warns(gm.ConvergenceWarning) as said:
        fit = fit_problem(problem_of(X, y, loss, penalty), solver=method, max_iter=1)
    text = str(said[0].message)
    assert len(said) == 1
    assert f"The {fit.certificate.kind} is {fit.certificate.value:.2g}" in text
    assert f"tolerance {fit.certificate.tolerance:.2g}, after 1 steps of {method.name}" in text
    assert "raise max_iter" in text
    assert not fit.certificate.holds
    assert "not converged" in str(fit.certificate)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_problem(problem_of(X, y, loss, penalty), solver=method, max_iter=1, warn=False)


# classes that a line separates


@pytest.mark.parametrize("penalty", [P.Zero(), P.L2(), P.L1(), P.ElasticNet()], ids=repr)
def test_separable_classes_are_reported_and_finite(penalty):
    X, _ = table(19)
    y = np.where(X[:, 0] + X[:, 1] > np.median(X[:, 0] + X[:, 1]), 1.0, -1.0)
    with pytest.warns(gm.ConvergenceWarning, match="separated perfectly"):
        fit = fit_problem(problem_of(X, y, L.Logistic(), penalty, alpha=0.0))
    assert fit.separated
    assert np.isfinite(fit.coef).all()
    assert np.abs(fit.coef).max() < 1e3
    assert "separated" in fit.certificate.note
    assert (y * (X @ fit.coef + fit.intercept)[:, 0] > 0).mean() > 0.95


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("names", [None, ["age", "smoker", "dose"]])
def test_a_dummy_that_separates_some_rows_is_named(names, weighted):
    rng = np.random.default_rng(20)
    n = 150
    dummy = (rng.random(n) < 0.2).astype(float)
    X = np.column_stack([rng.standard_normal(n), dummy, rng.standard_normal(n)])
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[dummy > 0] = 1.0
    w = None
    if weighted:  # one row speaks against it, and has no weight
        y[np.flatnonzero(dummy)[0]] = -1.0
        w = np.ones(n)
        w[np.flatnonzero(dummy)[0]] = 0.0
    if names is not None:
        import pandas as pd

        X = pd.DataFrame(X, columns=names)
    with pytest.warns(gm.ConvergenceWarning, match="separated .*by column " + ("1" if names is None else "'smoker'")):
        fit = fit_problem(problem_of(X, y, L.Logistic(), alpha=0.0, weight=w))
    assert fit.separated
    assert np.isfinite(fit.coef).all()


def test_classes_that_are_not_separated_are_left_alone():
    X, y = table(21, "signs")
    fit = fit_problem(problem_of(X, y, L.Logistic(), alpha=0.0))
    assert not fit.separated
    again = fit_problem(problem_of(np.column_stack([X, X[:, 0]]), y, L.Logistic(), alpha=0.0))  # flat, but bounded
    assert not again.separated
    np.testing.assert_allclose(again.value, fit.value, rtol=1e-10)


def test_separated_classes_of_several():
    X, _ = table(22)
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.7])).astype(float)
    with pytest.warns(gm.ConvergenceWarning, match="separated perfectly"):
        fit = fit_problem(problem_of(X, y, L.Softmax(), alpha=0.0))
    assert fit.separated
    np.testing.assert_allclose(fit.coef.sum(axis=1), 0.0, atol=1e-6)
    assert ((X @ fit.coef + fit.intercept).argmax(axis=1) == y).mean() > 0.9


# zeros, corners, scales


@pytest.mark.parametrize(
    "loss", [L.Absolute(), L.Quantile(0.7), L.Hinge(), L.Logistic(), L.Poisson(), L.Huber()], ids=repr
)
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_zeros_are_exact(loss, ratio):
    X, y = table(23, loss.targets)
    weak = fit_problem(problem_of(X, y, loss, P.ElasticNet(ratio), 0.3))
    assert weak.certificate.holds
    assert ((weak.coef == 0) | (np.abs(weak.coef) > 1e-9)).all()
    unit = np.array([1e-3, 1.0, 1e3, 1.0])
    for Z in (X, X * unit):
        strong = fit_problem(problem_of(Z, y, loss, P.ElasticNet(ratio), 1e4))
        assert strong.certificate.holds
        np.testing.assert_array_equal(strong.coef, 0.0)


def test_absolute_loss_passes_through_as_many_rows_as_there_are_coefficients():
    X, y = table(24)
    for solver in ("auto", "interior"):
        fit = fit_problem(problem_of(X, y, L.Absolute(), alpha=0.0), solver=solver)
        r = np.abs(y - (X @ fit.coef + fit.intercept)[:, 0])
        assert (r < 1e-9).sum() == 5


def test_student_t_scale_is_at_its_maximum_likelihood():
    X, y = table(25)
    fit = fit_problem(problem_of(X, y, L.StudentT(4.0), alpha=0.0))

    def value(v):
        return L.StudentT(4.0, np.exp(v[5])).value(y, X @ v[:4] + v[4]).mean()

    start = np.append(np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0], 0.0)
    reference = minimize(value, start, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(fit.value, reference.fun, rtol=1e-9)
    np.testing.assert_allclose(fit.scale, np.exp(reference.x[5]), rtol=1e-5)
    np.testing.assert_allclose(fit.coef[:, 0], reference.x[:4], rtol=1e-4, atol=1e-5)


def test_scale_of_huber_is_equivariant():
    X, y = table(26)
    a = fit_problem(problem_of(X, y, L.Huber(), alpha=0.0))
    b = fit_problem(problem_of(X, 1000.0 * y + 5.0, L.Huber(), alpha=0.0))
    np.testing.assert_allclose(b.coef, 1000.0 * a.coef, rtol=1e-6)
    np.testing.assert_allclose(b.scale, 1000.0 * a.scale, rtol=1e-6)


# the general method, and refusals


@pytest.mark.parametrize("loss", [L.Perceptron(), L.MultiHinge(0.0)], ids=repr)
def test_a_loss_without_margin_has_no_coefficients(loss):
    X, y = table(27, loss.targets)
    fit = fit_problem(problem_of(X, y, loss, P.L2()))
    assert not fit.coef.any()
    assert fit.value == 0.0
    assert fit.certificate.holds
    assert "gm.Perceptron" in fit.certificate.note


@pytest.mark.parametrize(
    ("loss", "penalty", "alpha"),
    [
        (L.Squared(), P.GroupL1(), 0.1),
        (L.Absolute(), P.Zero(), 0.0),
        (L.Absolute(), P.ElasticNet(), 1.0),
        (L.Power(1.5), P.L2(), 1.0),
    ],
    ids=repr,
)
def test_many_columns_are_left_to_the_general_method(loss, penalty, alpha):
    X = np.random.default_rng(0).standard_normal((151, 2001))
    assert choose(problem_of(X, X[:, 0], loss, penalty, alpha))[0].name == "primal-dual"


def test_many_columns_are_refused_where_the_loss_is_not_convex():
    X = np.random.default_rng(0).standard_normal((151, 2001))
    with pytest.raises(ValueError, match="at most 2000 columns"):
        choose(problem_of(X, X[:, 0], L.StudentT(), P.L2(), 0.1))


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [(L.Squared(), P.GroupL1((0, 0, 1, 1))), (L.Absolute(), P.L2()), (L.Power(1.5), P.L1()), (L.MultiHinge(), P.L1())],
    ids=repr,
)
def test_products_with_the_hessian_do_what_the_hessian_does(loss, penalty, monkeypatch):
    X, y = table(30, loss.targets)
    problem = problem_of(X, y, loss, penalty)
    whole = fit_problem(problem, solver="primal-dual")
    monkeypatch.setattr("gramian.solvers.nonsmooth.primal_dual.MAX_DENSE", 0)
    fit = fit_problem(problem, solver="primal-dual")
    assert fit.certificate.holds
    assert fit.value == pytest.approx(whole.value, rel=1e-7)


def test_scale_of_huber_by_bracketing_is_that_of_newton():
    X, y = table(31)
    for penalty in (P.L2(), P.L1(), P.GroupL1((0, 0, 1, 1))):
        problem = problem_of(X, y, L.Huber(), penalty)
        newton, searched = fit_problem(problem), fit_problem(problem, solver=ScaleSearch())
        assert searched.certificate.holds
        assert searched.value == pytest.approx(newton.value, rel=1e-8)
        assert searched.scale == pytest.approx(newton.scale, rel=1e-4)


class Ridgelike(P.Penalty):
    """‖w‖² known by its prox alone."""

    def value(self, w):
        return float(w @ w)

    def prox(self, w, step):
        return w / (1.0 + 2.0 * step)

    def conjugate(self, u):
        return float(u @ u) / 4.0


def test_a_piecewise_linear_loss_with_a_penalty_known_by_its_prox():
    X, y = table(32)
    fit, known = (fit_problem(problem_of(X, y, L.Absolute(), penalty)) for penalty in (Ridgelike(), P.L2()))
    assert fit.solver.name == "primal-dual"
    assert fit.certificate.holds
    assert fit.value == pytest.approx(known.value, rel=1e-7)


@pytest.mark.parametrize(
    ("loss", "penalty", "solver"),
    [
        (L.Absolute(), P.L2(), "newton"),
        (L.Logistic(), P.L1(), "newton"),
        (L.Logistic(), P.L1(), "newton-cg"),
        (L.Huber(), P.L2(), "newton"),
        (L.StudentT(), P.L2(), "proximal"),
        (L.Absolute(), P.L1(), "columns"),
        (L.Logistic(), P.Tikhonov(np.eye(4)), "columns"),
        (L.Logistic(), P.GroupL1(), "columns"),
        (L.Logistic(), P.L2(), "interior"),
        (L.Absolute(), P.NonNegative(), "interior"),
        (L.Absolute(), P.GroupL1(), "interior"),
        (L.Hinge(), P.L1(), "dual"),
        (L.Hinge(), P.ElasticNet(), "dual"),
        (L.Hinge(), P.Tikhonov(np.eye(4)), "dual"),
        (L.Absolute(), P.L2(), "programme"),
        (L.Squared(), P.L1(), "programme"),
        (L.Logistic(), P.L2(), JointInteriorPoint()),
        (L.MultiHinge(), P.L1(), JointInteriorPoint()),
        (L.Logistic(), P.L2(), Reweighted()),
        (L.Logistic(), P.L2(), PowerNewton()),
        (L.Logistic(), P.L2(), ScaleNewton()),
        (L.Logistic(), P.L2(), RootDescent()),
        (L.Logistic(), P.L2(), RowSpaceInteriorPoint()),
        (L.Absolute(), P.L1(), RowSpaceInteriorPoint()),
        (L.Absolute(), P.L1(), ActiveRowsInteriorPoint()),
        (L.Squared(), P.L2(), PerceptronAlgorithm()),
    ],
    ids=repr,
)
def test_a_solver_that_cannot_do_it_says_so(loss, penalty, solver):
    """Never another objective in silence, never a failed assertion."""
    X, y = table(28, loss.targets)
    with pytest.raises(ValueError, match=f"(cannot|No solver can) do the loss {type(loss).__name__}"):
        fit_problem(problem_of(X, y, loss, penalty), solver=solver)


def test_dual_descent_needs_a_penalty():
    X, y = table(28, "signs")
    with pytest.raises(ValueError, match="cannot do"):
        fit_problem(problem_of(X, y, L.Hinge(), P.L2(), 0.0), solver="dual")


def test_unknown_names_are_listed():
    X, y = table(28)
    with pytest.raises(ValueError, match="solver is 'sgd'; it must be \"auto\", one of 'newton', 'newton-cg'"):
        fit_problem(problem_of(X, y, L.Squared()), solver="sgd")


def test_targets_out_of_range():
    X, y = table(28)
    with pytest.raises(ValueError, match="Poisson loss is for counts"):
        fit_problem(problem_of(X, y, L.Poisson()))


# parts of one's own


class Cube(Loss):
    """|y − f|³, as one would write it outside."""

    def value(self, y, f):
        return np.abs(y - f) ** 3

    def gradient(self, y, f):
        return 3.0 * np.sign(f - y) * (y - f) ** 2

    def curvature(self, y, f):
        return 6.0 * np.abs(y - f)


class Doubled(Penalty):
    """2 ‖w‖², in parts or by its prox alone."""

    def __init__(self, known):
        self.known = known

    def value(self, w):
        return 2.0 * float(w @ w)

    def prox(self, w, step):
        return w / (1.0 + 4.0 * step)

    def conjugate(self, u):
        return float(u @ u) / 8.0

    def parts(self, d):
        none, inf = np.zeros(d), np.full(d, np.inf)
        return PenaltyTerms(np.full(d, 2.0), none, (), -inf, inf) if self.known else None


def test_a_loss_and_a_penalty_of_ones_own():
    X, y = table(29)
    a = fit_problem(problem_of(X, y, Cube(), P.L2(), 0.2))
    b = fit_problem(problem_of(X, y, Cube(), Doubled(True), 0.1))
    c = fit_problem(problem_of(X, y, Cube(), Doubled(False), 0.1))
    np.testing.assert_allclose(a.coef, b.coef, rtol=1e-7)
    np.testing.assert_allclose(a.coef, c.coef, rtol=1e-3, atol=1e-4)
    assert c.solver.name == "gradient descent"
    assert "prox" in c.solver.reason


@pytest.mark.parametrize("method", [InteriorPoint(), DualDescent(), RowSpaceInteriorPoint()], ids=repr)
def test_a_doubled_penalty_is_doubled_in_every_solver(method):
    X, y = table(30, "signs")
    a = fit_problem(problem_of(X, y, L.Hinge(), P.L2(), 0.2), solver=method)
    b = fit_problem(problem_of(X, y, L.Hinge(), Doubled(True), 0.1), solver=method)
    assert b.certificate.holds
    np.testing.assert_allclose(a.value, b.value, rtol=1e-7)


# the perceptron's algorithm


@pytest.mark.parametrize("sparse", [False, True])
def test_perceptron_finds_a_separating_line(sparse):
    X, _ = table(31)
    side = X[:, 0] - X[:, 1]
    keep = np.abs(side - np.median(side)) > 0.1
    X, y = X[keep], np.where(side > np.median(side), 1.0, -1.0)[keep]
    problem = problem_of(sp.csr_array(X) if sparse else X, y, L.Perceptron(), P.Zero(), 0.0)
    found = run(PerceptronAlgorithm(), problem, max_iter=2000, tol=0.0)
    coef, b = problem.to_original(found.theta)
    assert found.residual == 0.0
    assert (y * (X @ coef + b)[:, 0] > 0).all()
    again = run(PerceptronAlgorithm(), problem, max_iter=2000, tol=0.0)
    np.testing.assert_array_equal(found.theta, again.theta)


@pytest.mark.parametrize("average", [False, True])
def test_perceptron_keeps_the_fewest_mistakes(average):
    X, y = table(32, "signs")
    w = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    problem = problem_of(X, y, L.Perceptron(), P.Zero(), 0.0, w)
    found = run(PerceptronAlgorithm(average), problem, max_iter=50, tol=0.0)
    measures = np.array([measure for *_, measure in found.history])
    assert (np.diff(measures) <= 0).all()
    coef, b = problem.to_original(found.theta)
    wrong = y * (X @ coef + b)[:, 0] <= 0
    np.testing.assert_allclose(found.residual, w @ wrong / w.sum(), rtol=1e-12)


# linear algebra


def test_singular_systems_have_their_shortest_step():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((6, 3))
    H = B @ B.T
    g = H @ rng.standard_normal(6)
    np.testing.assert_allclose(H @ solve_spd(H, g), g, atol=1e-9)
    unit = 10.0 ** np.arange(-6, 6, 2)
    A = rng.standard_normal((20, 6))
    K = (A.T @ A) * np.outer(unit, unit)
    right = rng.standard_normal(6)
    x = solve_spd(K, right)  # exact for a matrix that differs from K by rounding, row by row
    assert (np.abs(K @ x - right) <= 1e-13 * (np.abs(K) @ np.abs(x) + np.abs(right))).all()
    np.testing.assert_array_equal(solve_spd(np.zeros((2, 2)), np.ones(2)), 0.0)


@pytest.mark.parametrize("loss", [L.Hinge(), L.Absolute(), L.Quantile(0.9)], ids=repr)
@pytest.mark.parametrize("seed", range(8))
def test_rows_near_the_breakpoint_decide_in_any_table(loss, seed):
    """Few rows, rows given thrice, whole numbers, exact fits, rows that do not count, columns of any unit."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 12))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, 4, d)
    X = np.repeat(np.round(X), 3, axis=0) if seed % 2 else X
    f = X @ (rng.standard_normal(d) / np.maximum(X.std(axis=0), 1e-9)) + (seed % 3) * rng.standard_normal(len(X))
    y = np.where(f > np.median(f[:2]), 1.0, -1.0) if loss.targets == "signs" else f
    weight = rng.integers(0, 3, len(X)).astype(float)
    weight[np.argmin(y)] = weight[np.argmax(y)] = 1.0
    problem = problem_of(X, y, loss, P.L2(), 10.0 ** rng.uniform(-8, 1), weight=weight)
    found, expected = fit_problem(problem, solver=ActiveRowsInteriorPoint()), fit_problem(problem, solver="interior")
    assert found.certificate.holds
    assert found.value == pytest.approx(expected.value, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("loss", [L.Softmax(), SoftMargin(0.3)])
@pytest.mark.parametrize(("d", "classes", "sparse"), [(4, 6, False), (30, 3, False), (40, 12, False), (4, 5, True)])
def test_joint_hessian_is_that_of_each_row(loss, d, classes, sparse):
    rng = np.random.default_rng(d)
    n = 700
    X, weight = rng.standard_normal((n, d)) + 2.0, rng.uniform(0.5, 2.0, n)
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes)).astype(float)
    problem = problem_of(sp.csr_array(X) if sparse else X, y, loss, weight=weight)
    theta = rng.standard_normal((classes, d + 1))
    Z = problem.standard(X)
    f = Z @ theta.T
    found = problem.at(theta, hessian=True)
    h = loss.curvature(y, f) * weight[:, None, None]
    hessian = np.einsum("nab,ni,nj->aibj", h, Z, Z).reshape(2 * (classes * (d + 1),)) / weight.sum()
    assert np.allclose(found.hessian, hessian, rtol=1e-9, atol=1e-11)
    assert np.isclose(found.value, weight @ loss.value(y, f) / weight.sum())
    assert np.allclose(found.gradient, (loss.gradient(y, f) * weight[:, None]).T @ Z / weight.sum(), atol=1e-12)


def test_a_quadratic_penalty_is_never_below_zero():
    """cᵀSc was -6e-11 by rounding where S is singular and c large, and so was an objective whose minimum is 0."""
    G = np.random.default_rng(0).standard_normal((2, 10))
    problem = Problem(gm.scan(np.eye(10), np.arange(10.0)), gm.losses.Squared(), gm.penalties.Tikhonov(G), 1.0)
    null = np.linalg.svd(G)[2][2:]
    for direction in null:
        assert problem.quadratic(np.append(1e6 * direction, 0.0)[None])[0] >= 0.0
