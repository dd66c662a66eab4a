"""Gradient descent and its stochastic kin: the optima of exact solvers, textbook sequences, honest endings."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
import scipy.optimize as so
import scipy.sparse as sp

import gramian as gm
from gramian.objective.problem import Problem
from gramian.rows.labels import CodedRows
from gramian.solvers.base import run
from gramian.solvers.first_order import epoch
from gramian.solvers.first_order.gradient_descent import GradientDescent
from gramian.solvers.first_order.stochastic import RULES, StochasticGradient
from gramian.solvers.nonsmooth.interior_point import InteriorPoint
from gramian.solvers.smooth.newton import Newton

L, P = gm.losses, gm.penalties
STEPS = ["constant", "line_search", "bold_driver"]
SCALES = np.array([1.0, 30.0, 0.02, 5.0])


class Known(P.Penalty):
    """L1 of which only the value and the prox are known."""

    def value(self, w):
        return float(np.abs(w).sum())

    def prox(self, w, step):
        return np.sign(w) * np.maximum(np.abs(w) - step, 0.0)

    def conjugate(self, u):
        return 0.0 if np.abs(u).max() <= 1 else np.inf


def table(seed=0, n=150, scales=SCALES):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, len(scales))) @ (np.eye(len(scales)) + 0.3)
    return Z * scales + 2 * scales, Z @ np.array([1.0, -2.0, 0.0, 0.5]), rng


def target(loss, f, rng):
    if loss.targets == "counts":
        return rng.poisson(np.exp(f / 3)).astype(float)
    if loss.targets == "signs":
        return np.where(f + rng.standard_normal(len(f)) > 0, 1.0, -1.0)
    if loss.targets == "classes":
        return np.digitize(f + rng.standard_normal(len(f)), [-1.0, 1.0]).astype(float)
    return f + rng.standard_normal(len(f))


def problem(loss, penalty=None, alpha=1e-2, *, seed=0, n=150, scales=SCALES, weight=None, change=lambda X: X, **more):
    X, f, rng = table(seed, n, scales)
    outputs = 3 if loss.targets == "classes" else 1
    rows = gm.scan(change(X), target(loss, f, rng), sample_weight=weight)
    return Problem(rows, loss, penalty or P.L2(), alpha, outputs=outputs, **more)


def descent(step, loss, **more):
    """Gradient descent; its constant step suits the curvature of the loss."""
    constant = 2.0 if isinstance(loss, L.Logistic | L.Softmax) else 0.3
    return GradientDescent(constant if step == "constant" else step, **more)


def solve(solver, task, **more):
    return run(solver, task, **{"max_iter": solver.max_iter, "tol": solver.tol, **more})


SMOOTH = [L.Squared(), L.Logistic(), L.Poisson(), L.Softmax(), L.Huber(1.35, 1.0), L.SquaredHinge()]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: type(loss).__name__)
def test_reaches_newtons_optimum(loss, step):
    task = problem(loss, alpha=0.1)
    best = run(Newton(), task, max_iter=50, tol=1e-10)
    found = solve(descent(step, loss), task)
    assert found.converged
    assert found.value - best.value < 1e-9 * max(1.0, abs(best.value))
    assert np.allclose(found.theta[:, :4], best.theta[:, :4], atol=2e-4)
    assert found.residual == task.residual(task.at(found.theta)) <= 1e-6
    assert not found.state.diverged
    if step != "constant":
        values = [value for _, value, _ in found.history]
        assert np.all(np.diff(values) <= 2e-15 * np.abs(values[:-1]))


@pytest.mark.parametrize("step", STEPS)
def test_reaches_the_lasso(step):
    X, f, rng = table(3)
    y = target(L.Squared(), f, rng)
    exact = gm.Lasso(0.3).fit(X, y)
    for penalty in (P.L1(), P.ElasticNet(1.0), Known()):
        known = isinstance(penalty, Known)
        if known and step != "line_search":
            continue  # its columns keep their units, for which other steps are too long or grow too slowly
        task = Problem(gm.scan(X, y), L.Squared(), penalty, 0.3)
        found = solve(descent(step, L.Squared()), task, tol=1e-5 if known else 1e-7)
        coef, intercept = task.to_original(found.theta)
        assert found.converged
        assert np.allclose(coef[:, 0] * SCALES, exact.coef_ * SCALES, atol=1e-5)
        assert np.array_equal(coef[:, 0] == 0, exact.coef_ == 0)
        assert intercept[0] == pytest.approx(exact.intercept_, abs=1e-4)


@pytest.mark.parametrize("step", STEPS)
def test_bounds_against_scipy(step):
    task = problem(L.Logistic(), P.Box(-0.1, 0.4), 0.0)
    # The bold driver needs the objective to fall, which rounding hides where the gradient is its square root.
    tol = 3e-8 if step == "bold_driver" else 1e-8
    found = solve(descent(step, L.Logistic(), tol=tol, max_iter=50_000), task)
    X, y = task.rows.X, task.rows.y[:, 0]

    def objective(v):
        margin = -y * (X / SCALES @ v[:-1] + v[-1])
        return np.logaddexp(0, margin).mean()

    bounds = [*zip(-0.1 * SCALES, 0.4 * SCALES, strict=True), (None, None)]
    exact = so.minimize(objective, np.zeros(5), bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    coef, _ = task.to_original(found.theta)
    assert found.converged
    assert found.value == pytest.approx(exact.fun, abs=1e-9)
    assert coef.min() >= -0.1
    assert coef.max() <= 0.4
    assert ((coef == -0.1) | (coef == 0.4)).any()


@pytest.mark.parametrize("step", STEPS)
def test_groups_satisfy_their_conditions(step):
    task = problem(L.Squared(), P.GroupL1((0, 0, 1, 1)), 1.5, scales=np.ones(4))
    found = solve(descent(step, L.Squared(), tol=1e-9), task)
    coef, intercept = task.to_original(found.theta)
    X, y = task.rows.X, task.rows.y[:, 0]
    gradient = -2 * X.T @ (y - X @ coef[:, 0] - intercept) / len(y)
    zero = []
    for group in ([0, 1], [2, 3]):
        size = np.linalg.norm(coef[group])
        zero.append(size == 0)
        if size > 0:
            assert np.allclose(gradient[group], -1.5 * np.sqrt(2) * coef[group, 0] / size, atol=1e-6)
        else:
            assert np.linalg.norm(gradient[group]) <= 1.5 * np.sqrt(2)
    assert zero == [False, True]


@pytest.mark.parametrize("step", STEPS)
def test_matrix_penalties_and_strong_ones(step):
    differences = np.diff(np.eye(4), axis=0) * 1e3
    for penalty, alpha in ((P.Tikhonov(differences / SCALES), 0.1), (P.L2(), 1e6)):
        task = problem(L.Logistic(), penalty, alpha)
        best = run(Newton(), task, max_iter=50, tol=1e-10)
        found = solve(descent(step, L.Logistic(), max_iter=20_000), task, tol=1e-5)
        assert found.value - best.value < 1e-6
        assert not found.state.diverged


PIECEWISE_LINEAR = [L.Hinge(), L.Absolute(), L.Quantile(0.8)]


@pytest.mark.parametrize("penalty", [P.L2(), P.L1()], ids=["L2", "L1"])
@pytest.mark.parametrize("loss", PIECEWISE_LINEAR, ids=lambda loss: type(loss).__name__)
def test_piecewise_linear_losses(loss, penalty):
    task = problem(loss, penalty, 0.02)
    best = task.value(run(InteriorPoint(), task, max_iter=100, tol=1e-9).theta)
    for step, excess in ((0.1, 0.05), ("line_search", 5e-3), ("bold_driver", 0.1)):
        found = solve(GradientDescent(step, max_iter=10_000 if step == "bold_driver" else 1000), task)
        assert found.state.criterion == "change of the objective"
        assert found.value == pytest.approx(task.value(found.theta), rel=1e-12)
        assert -1e-9 < found.value / best - 1 < excess
        values = [value for _, value, _ in found.history]
        assert np.all(np.diff(values) <= 0)
        if step == "bold_driver":
            assert not found.converged
            assert "breakpoint" in found.state.message


def test_other_nonsmooth_losses():
    for loss in (L.MultiHinge(), L.RootHinge(), L.Power(1.0), L.Perceptron()):
        task = problem(loss, alpha=0.01)
        found = solve(GradientDescent("line_search", max_iter=1000), task)
        constant = solve(GradientDescent(0.01, max_iter=1000), task)
        assert found.value <= constant.value * (1 + 1e-3)
        assert found.value <= task.value(task.zero())


def test_a_constant_step_that_never_decreases_a_piecewise_linear_loss():
    found = solve(GradientDescent(1e6), problem(L.Absolute(), alpha=0.0, penalty=P.Zero()))
    assert found.state.diverged
    assert found.iterations < 200
    assert "shorter step" in found.state.message
    assert np.isfinite(found.theta).all()


@pytest.mark.parametrize("loss", [L.Squared(), L.Logistic(), L.Poisson()], ids=lambda loss: type(loss).__name__)
def test_too_long_a_step_is_caught(loss):
    task = problem(loss, P.Zero(), 0.0)
    best = run(Newton(), task, max_iter=50, tol=1e-10)
    longest = 2 / np.linalg.eigvalsh(task.at(best.theta, hessian=True).hessian)[-1]
    start = best.theta + 1e-3
    good = solve(GradientDescent(0.95 * longest, max_iter=20_000), task, start=start)
    assert good.converged
    for factor in (1.05, 3.0, 1e3, 1e200):
        bad = solve(GradientDescent(factor * longest, max_iter=20_000), task, start=start)
        assert bad.state.diverged
        assert not bad.converged
        assert np.isfinite(bad.theta).all()
        assert np.isfinite([entry[1:] for entry in bad.history]).all()
        assert bad.value <= bad.history[0][1]
        said = float(re.search(r"is about ([\d.e+-]+),", bad.state.message)[1])
        assert said == pytest.approx(longest, rel=0.1)


def test_at_rounding_it_ends():
    task = problem(L.Squared())
    for step in STEPS:
        found = solve(descent(step, L.Squared(), max_iter=20_000), task, tol=0.0)
        assert found.iterations < 20_000
        assert found.residual < 1e-7
        assert not found.state.diverged
    exact = Problem(gm.scan([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]), L.Squared(), P.Zero(), 0.0)
    found = solve(GradientDescent(0.5, max_iter=50_000), exact, tol=0.0)
    assert found.value < 1e-29
    assert not found.state.diverged


def test_bold_driver_grows_halves_and_takes_back():
    task = problem(L.Squared())
    solver = GradientDescent("bold_driver")
    state = solver.init(task, None)
    taken_back = 0
    for _ in range(60):
        new = solver.step(task, state)
        if new.taken_back:
            taken_back += 1
            assert new.theta is state.theta
            assert new.length == state.length / 2
        else:
            assert new.value < state.value
            assert new.length == pytest.approx(1.1 * state.length)
        state = new
    assert 2 < taken_back < 30


def test_weights_are_repetition():
    rng = np.random.default_rng(5)
    weight = rng.integers(0, 4, 150).astype(float)
    for step in STEPS:
        weighted = problem(L.Logistic(), alpha=0.1, weight=weight)
        X, y = (np.repeat(part, weight.astype(int), axis=0) for part in (weighted.rows.X, weighted.rows.y))
        repeated = Problem(gm.scan(X, y[:, 0]), L.Logistic(), P.L2(), 0.1)
        one, two = (solve(descent(step, L.Logistic(), tol=1e-7), task) for task in (weighted, repeated))
        for a, b in zip(weighted.to_original(one.theta), repeated.to_original(two.theta), strict=True):
            assert np.allclose(a, b, rtol=1e-6, atol=1e-8)


def test_sparse_is_dense_and_frames_are_arrays():
    for step in ("line_search", 0.3):
        solver = GradientDescent(step, tol=1e-7, max_iter=20_000)
        kinds = (np.asarray, sp.csr_array, pd.DataFrame)
        tasks = [problem(L.Squared(), alpha=0.1, change=change, scales=np.ones(4)) for change in kinds]
        answers = [task.to_original(solve(solver, task).theta) for task in tasks]
        for coef, intercept in answers[1:]:
            assert np.allclose(coef, answers[0][0], atol=1e-5)
            assert np.allclose(intercept, answers[0][1], atol=1e-4)


def test_warm_starts():
    task = problem(L.Logistic())
    found = solve(GradientDescent("line_search"), task)
    for solver in (GradientDescent(0.1), StochasticGradient(tol=1e-5)):
        again = solve(solver, task, start=found.theta)
        assert again.iterations == 0
        assert np.array_equal(again.theta, found.theta)
    inside = problem(L.Logistic(), P.NonNegative())
    assert np.isfinite(GradientDescent().init(inside, np.full((1, 5), -1.0)).value)


def test_same_bits_on_any_number_of_threads():
    X, f, rng = table(0, 40_000)
    y = target(L.Logistic(), f, rng)
    for solver in (GradientDescent("line_search"), StochasticGradient(64, epochs=2), StochasticGradient(999, epochs=2)):
        answers = []
        for count in (1, 2):
            with gm.threads(count):
                answers.append(solve(solver, Problem(gm.scan(X, y), L.Logistic(), P.L2(), 1e-3), max_iter=8).theta)
        assert np.array_equal(*answers)


# stochastic


def quick(rule, loss):
    """A rate that suits a rule and a loss."""
    if rule in ("plain", "momentum"):
        high = (0.5 if isinstance(loss, L.Logistic | L.Softmax) else 0.1) * (1.0 if rule == "plain" else 0.1)
        return high, 200 * high
    return 0.5 if rule == "adagrad" else (0.05, 10.0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("loss", [*SMOOTH[:4], L.Hinge(), L.MultiHinge()], ids=lambda loss: type(loss).__name__)
def test_every_rule_comes_near_the_optimum(loss, rule):
    task = problem(loss, scales=np.ones(4))
    if loss.smooth:
        best = run(Newton(), task, max_iter=50, tol=1e-10).value
    else:
        best = solve(GradientDescent("line_search"), task).value
    epochs = 60 if task.m == 1 else 25
    found = solve(StochasticGradient(10, rule=rule, epochs=epochs, rate=quick(rule, loss)), task, tol=0.0)
    first = found.history[0][1]
    assert len(found.history) == epochs + 1
    assert found.value - best < 0.06 * (first - best)
    assert found.value == pytest.approx(task.value(found.theta), rel=1e-12)
    assert (found.state.criterion == "change of the objective") == (not loss.smooth)


def textbook(task, rule, rates, momentum=0.9):
    """The rules as they are written, with the gradient of all rows."""
    theta = np.ones((task.m, task.p))
    velocity, mean, square = np.zeros_like(theta), np.zeros_like(theta), np.zeros_like(theta)
    tiny = 1e-8 * task.at(theta).size
    for t, rate in enumerate(rates, 1):
        g = task.at(theta).gradient
        if rule == "plain":
            theta = theta - rate * g
        elif rule == "momentum":
            velocity = momentum * velocity - rate * g
            theta = theta + velocity
        elif rule == "adagrad":
            square = square + g**2
            theta = theta - rate * g / (np.sqrt(square) + tiny)
        elif rule == "rmsprop":
            square = 0.9 * square + 0.1 * g**2
            theta = theta - rate * g / (np.sqrt(square) + tiny)
        else:
            mean = momentum * mean + (1 - momentum) * g
            square = 0.999 * square + 0.001 * g**2
            theta = theta - rate * mean / (1 - momentum**t) / (np.sqrt(square / (1 - 0.999**t)) + tiny)
    return theta


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("loss", [L.Logistic(), L.Softmax()], ids=["fused", "general"])
def test_rules_are_those_of_the_textbooks(loss, rule):
    task = problem(loss, P.Zero(), 0.0)
    solver = StochasticGradient(1000, rule=rule, rate=lambda t: 0.1 / np.sqrt(t), momentum=0.8, epochs=25)
    found = solve(solver, task, tol=0.0, start=np.ones((task.m, task.p)))
    expected = textbook(task, rule, 0.1 / np.sqrt(np.arange(1, 26)), momentum=0.8)
    assert np.allclose(found.theta, expected, rtol=1e-6, atol=1e-8)


def test_rates():
    rates = lambda rate: StochasticGradient(rate=rate).rates(2, 3)  # noqa: E731
    assert rates(0.5).tolist() == [0.5, 0.5, 0.5]
    assert rates("1/t").tolist() == [1 / 3, 1 / 4, 1 / 5]
    assert rates((0.3, 1.0)).tolist() == [0.3, 0.25, 0.2]
    assert rates(lambda t: 1.0 / t**2).tolist() == [1 / 9, 1 / 16, 1 / 25]
    with pytest.raises(ValueError, match=r"rate\(4\) is -1; rates must be numbers above 0"):
        rates(lambda t: 3.0 - t if t > 3 else 1.0)


def test_step_numbers_go_on_from_epoch_to_epoch():
    seen = []
    task = problem(L.Squared(), n=25)
    solve(StochasticGradient(10, rate=lambda t: seen.append(t) or 1e-3, epochs=3), task, tol=0.0)
    assert seen == list(range(1, 10))


def test_pegasos_is_the_textbooks_in_the_units_of_the_data():
    alpha = 0.05
    task = problem(L.Hinge(), alpha=alpha, intercept=False)
    found = solve(StochasticGradient(1000, rate="pegasos", epochs=30), task, tol=0.0)
    X, y = task.rows.X, task.rows.y[:, 0]
    w = np.zeros(4)
    for t in range(1, 31):
        missed = y * (X @ w) < 1
        w = (1 - 1 / t) * w + (missed * y) @ X / len(y) / (2 * alpha * t)
    assert np.allclose(task.to_original(found.theta)[0][:, 0], w, rtol=1e-9)


@pytest.mark.parametrize("loss", [L.Hinge(), L.Absolute()], ids=["hinge", "absolute"])
def test_pegasos_comes_near_the_interior_points_optimum(loss):
    task = problem(loss, alpha=0.05, scales=np.ones(4))
    best = task.value(run(InteriorPoint(), task, max_iter=100, tol=1e-9).theta)
    for average in (False, True):
        found = solve(StochasticGradient(1, rate="pegasos", epochs=100, average=average), task, tol=0.0)
        assert 0 <= found.value / best - 1 < 0.02


def test_pegasos_with_an_elastic_net():
    task = problem(L.Hinge(), P.ElasticNet(0.5), 0.1, scales=np.ones(4))
    best = task.value(run(InteriorPoint(), task, max_iter=100, tol=1e-9).theta)
    assert solve(StochasticGradient(1, rate="pegasos", epochs=100), task, tol=0.0).value / best - 1 < 0.02


@pytest.mark.parametrize(
    ("penalty", "alpha"),
    [(P.L2(), 0.0), (P.L1(), 0.1), (P.Tikhonov(np.eye(4)), 0.1), (Known(), 0.1)],
    ids=["alpha 0", "L1", "Tikhonov", "unknown"],
)
def test_pegasos_needs_a_square(penalty, alpha):
    with pytest.raises(ValueError, match=r"pegasos.*needs an alpha above 0 and a penalty with a square"):
        StochasticGradient(rate="pegasos").init(problem(L.Hinge(), penalty, alpha), None)


def test_the_average_beats_the_last_iterate():
    better = 0
    for seed in range(5):
        task = problem(L.Squared(), seed=seed, n=400)
        best = run(Newton(), task, max_iter=50, tol=1e-10).value
        last, mean = (
            solve(StochasticGradient(1, rate=0.05, average=average, epochs=20, random_state=seed), task, tol=0.0)
            for average in (False, True)
        )
        better += (mean.value - best) < 0.2 * (last.value - best)
    assert better >= 4


def test_the_average_is_of_the_epochs_after_the_first():
    task = problem(L.Logistic(), n=40)
    solver = StochasticGradient(1000, rate=0.5, epochs=4)
    iterates = [solve(solver, task, max_iter=k, tol=0.0).theta for k in range(1, 5)]
    for loss in (L.Logistic(), L.Softmax()):
        if loss.targets == "classes":
            task = problem(loss, n=40)
            iterates = [solve(solver, task, max_iter=k, tol=0.0).theta for k in range(1, 5)]
        averaged = StochasticGradient(1000, rate=0.5, epochs=4, average=True)
        assert np.allclose(solve(averaged, task, max_iter=1, tol=0.0).theta, iterates[0])
        assert np.allclose(solve(averaged, task, tol=0.0).theta, np.mean(iterates[1:], axis=0))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("change", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_compiled_loops_are_the_general_ones(rule, change, monkeypatch):
    losses = [*SMOOTH[:3], *SMOOTH[4:], *PIECEWISE_LINEAR, L.Perceptron()]
    penalties = [(P.L2(), 0.1), (P.L1(), 0.05), (P.Box(-0.5, 0.01, P.ElasticNet(0.5)), 0.05)]
    rng = np.random.default_rng(1)
    for number, loss in enumerate(losses):
        penalty, alpha = penalties[number % 3]
        rate = "pegasos" if number % 3 == 0 and rule in ("plain", "momentum") else (0.05, 1.0)
        weight = rng.integers(0, 3, 150) if number % 2 else None
        solver = StochasticGradient(7, rule=rule, rate=rate, momentum=0.5, epochs=3, average=number % 4 == 0)
        task = problem(loss, penalty, alpha, change=change, weight=weight, intercept=number % 5 > 0)
        assert solver.init(task, None).course.fused
        fast = solve(solver, task, tol=0.0)
        with monkeypatch.context() as patch:
            patch.setattr(epoch, "MOST_CELLS", 0)
            slow = solve(solver, task, tol=0.0)
        assert np.allclose(fast.theta, slow.theta, rtol=1e-9, atol=1e-11)
        with monkeypatch.context() as patch:
            patch.setattr(epoch, "STAGE_CELLS", 1)
            assert np.allclose(solve(solver, task, tol=0.0).theta, fast.theta, rtol=1e-12, atol=1e-14)


def test_batches_have_the_mean_of_the_gradient():
    rng = np.random.default_rng(2)
    weight = rng.random(150) + 0.1
    for loss in (L.Logistic(), L.Softmax()):
        task = problem(loss, weight=weight)
        first = task.at(task.zero())
        found = solve(StochasticGradient(10, rate=1e-7, epochs=1), task, tol=0.0)
        moved = (first.theta - found.theta) / (15 * 1e-7)
        assert np.allclose(moved, first.gradient, rtol=1e-4, atol=1e-6)


def test_rows_without_weight_are_not_there():
    X, f, rng = table()
    y = target(L.Logistic(), f, rng)
    weight = (np.arange(150) % 3 > 0).astype(float) * 2
    some = weight > 0
    for rule in ("plain", "adam"):
        solver = StochasticGradient(8, rule=rule, epochs=3)
        whole = Problem(gm.scan(X, y, sample_weight=weight), L.Logistic(), P.L2(), 0.01)
        less = Problem(gm.scan(X[some], y[some]), L.Logistic(), P.L2(), 0.01)
        one, two = (task.to_original(solve(solver, task, tol=0.0).theta)[0] for task in (whole, less))
        assert np.allclose(one, two, rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_penalties_that_need_one_length(rule):
    """Group norms, penalties of which only the prox is known, and matrices: near the optimum, and with its zeros."""
    for penalty in (P.GroupL1((0, 0, 1, 1)), Known(), P.Tikhonov(np.diff(np.eye(4), axis=0))):
        task = problem(L.Squared(), penalty, 1.5, scales=np.ones(4))
        best = solve(GradientDescent("line_search"), task)
        found = solve(StochasticGradient(10, rule=rule, epochs=40, rate=quick(rule, L.Squared())), task, tol=0.0)
        assert found.value - best.value < 0.05 * (found.history[0][1] - best.value)
        if not isinstance(penalty, P.Tikhonov):
            whole = solve(StochasticGradient(1000, rule=rule, epochs=300, rate=0.1), task, tol=0.0)
            assert np.array_equal(whole.theta == 0, best.theta == 0)
            assert (best.theta == 0).any()


class Small(CodedRows):
    """Rows that come in blocks of 16, as from a file."""

    block_size = 16


def test_rows_that_come_in_blocks():
    task = problem(L.Logistic())
    rows = Small(task.rows, lambda y: y)
    blocks = Problem(rows, L.Logistic(), P.L2(), 1e-2)
    best = run(Newton(), task, max_iter=50, tol=1e-10).value
    solver = StochasticGradient(5, rate=(0.5, 100.0), epochs=40)
    found = solve(solver, blocks, tol=0.0)
    assert found.value - best < 0.01
    assert solver.init(blocks, None).course.mean_weight == 1.0
    seen = []
    solve(StochasticGradient(5, rate=lambda t: seen.append(t) or 1e-3, epochs=1), blocks, tol=0.0)
    assert len(seen) == 9 * 4 + 2  # nine blocks of 16 rows, one of 6


def test_sparse_frames_and_single_precision():
    answers = []
    for change in (np.asarray, pd.DataFrame, lambda X: X.astype(np.float32), np.asfortranarray):
        task = problem(L.Logistic(), change=change)
        answers.append(task.to_original(solve(StochasticGradient(16, epochs=5), task, tol=0.0).theta)[0][:, 0] * SCALES)
    for other in answers[1:]:
        assert np.allclose(other, answers[0], atol=1e-5)
    X, f, rng = table(n=300)
    Z = X * (rng.random(X.shape) < 0.3)
    y = target(L.Logistic(), f, rng)
    solver = StochasticGradient(16, rate=(0.3, 60.0), epochs=60)
    dense, sparse = (Problem(gm.scan(A, y), L.Logistic(), P.L2(), 0.01) for A in (Z, sp.csr_array(Z)))
    assert solve(solver, dense, tol=0.0).value == pytest.approx(solve(solver, sparse, tol=0.0).value, rel=0.01)


def test_seeds():
    task = problem(L.Logistic())
    theta = lambda seed: solve(StochasticGradient(random_state=seed, epochs=2), task, tol=0.0).theta  # noqa: E731
    assert np.array_equal(theta(3), theta(3))
    assert not np.array_equal(theta(3), theta(4))
    assert np.array_equal(theta(np.random.default_rng(1)), theta(np.random.default_rng(1)))
    assert np.array_equal(theta(np.random.RandomState(1)), theta(np.random.RandomState(1)))
    assert not np.array_equal(theta(None), theta(None))


def test_too_high_a_rate_is_caught():
    for loss in (L.Squared(), L.Softmax()):
        task = problem(loss, P.Zero(), 0.0)
        found = solve(StochasticGradient(1, rate=1e300), task)
        assert np.isfinite(found.theta).all()
        assert np.isfinite([entry[1:] for entry in found.history]).all()
        assert not found.converged
        if loss == L.Squared():
            assert found.state.diverged
            assert "rate is too high" in found.state.message
            assert found.value == found.history[0][1]
    high = solve(StochasticGradient(1, rate=10.0), problem(L.Hinge(), P.Zero(), 0.0))
    assert "take a lower rate" in high.state.message


def test_an_epoch_ends_where_the_gradient_is_small():
    task = problem(L.Squared(), scales=np.ones(4))
    found = solve(StochasticGradient(150, rate=0.2, epochs=500, tol=1e-3), task)
    assert found.converged
    assert found.iterations < 500
    task = problem(L.Hinge(), alpha=0.1, scales=np.ones(4))
    hinge = solve(StochasticGradient(150, rate="pegasos", epochs=500), task)
    assert hinge.converged
    assert hinge.iterations >= 4


# what is refused

BAD = [
    (GradientDescent, {"step": 0.0}, ValueError, "step is 0.0; it must be a number above 0"),
    (GradientDescent, {"step": -1}, ValueError, "step is -1"),
    (GradientDescent, {"step": np.inf}, ValueError, "step is inf"),
    (GradientDescent, {"step": "newton"}, ValueError, "step is 'newton'"),
    (GradientDescent, {"step": None}, TypeError, "step is None"),
    (GradientDescent, {"step": True}, TypeError, "step is True"),
    (GradientDescent, {"max_iter": 0}, ValueError, "max_iter is 0; it must be a whole number of at least 1"),
    (GradientDescent, {"max_iter": 1.5}, TypeError, "max_iter is 1.5"),
    (GradientDescent, {"tol": -1e-3}, ValueError, "tol is -0.001; it must be a number of at least 0"),
    (StochasticGradient, {"batch": 0}, ValueError, "batch is 0"),
    (StochasticGradient, {"batch": 2.0}, TypeError, "batch is 2.0"),
    (StochasticGradient, {"epochs": 0}, ValueError, "epochs is 0"),
    (StochasticGradient, {"rate": 0}, ValueError, "rate is 0"),
    (StochasticGradient, {"rate": np.nan}, ValueError, "rate is nan"),
    (StochasticGradient, {"rate": "fast"}, ValueError, "rate is 'fast'; the words are"),
    (StochasticGradient, {"rate": (1.0,)}, ValueError, "a pair"),
    (StochasticGradient, {"rate": (1.0, -1.0)}, ValueError, "rate is -1.0"),
    (StochasticGradient, {"rate": [0.1]}, TypeError, "rate is \\[0.1\\]"),
    (StochasticGradient, {"rate": True}, TypeError, "rate is True"),
    (StochasticGradient, {"rule": "fancy"}, ValueError, "rule is 'fancy'; it must be one of 'plain', 'momentum'"),
    (StochasticGradient, {"momentum": 1.0}, ValueError, "momentum is 1.0; .* below 1"),
    (StochasticGradient, {"momentum": -0.1}, ValueError, "momentum is -0.1"),
    (StochasticGradient, {"average": 1}, TypeError, "average is 1"),
    (StochasticGradient, {"tol": "x"}, TypeError, "tol is 'x'"),
    (StochasticGradient, {"random_state": -1}, ValueError, "random_state is -1"),
    (StochasticGradient, {"random_state": "x"}, ValueError, "random_state is 'x'"),
]


@pytest.mark.parametrize(("kind", "given", "error", "words"), BAD, ids=lambda value: str(value)[:40])
def test_bad_parameters_are_refused_at_once(kind, given, error, words):
    with pytest.raises(error, match=words):
        kind(**given)


@pytest.mark.parametrize("solver", [GradientDescent(), StochasticGradient()], ids=["descent", "stochastic"])
def test_problems_that_are_refused(solver):
    X, f, _ = table()
    with pytest.raises(ValueError, match=r"objective is inf where the descent begins.*scale y"):
        solver.init(Problem(gm.scan(X, f * 1e200), L.Squared(), P.L2(), 0.1), None)
    with pytest.raises(ValueError, match=r"need the scale of the Huber loss: give Huber\(scale=…\)"):
        solver.init(problem(L.Huber()), None)


def test_they_are_plain_values():
    for solver in (GradientDescent("line_search", tol=1e-5), StochasticGradient(8, rule="adam")):
        twin = copy.deepcopy(solver)
        assert twin == solver
        assert hash(twin) == hash(solver)
        assert eval(repr(solver)) == solver
        with pytest.raises(AttributeError):
            solver.tol = 1.0
    assert GradientDescent(0.5) != GradientDescent(0.25)
    assert repr(GradientDescent()) == "GradientDescent(step=0.1, max_iter=10000, tol=1e-06)"
    assert StochasticGradient(epochs=7).max_iter == 7


# on the estimators of the squared loss

SQUARED = [
    (gm.LinearRegression, {}),
    (gm.Ridge, {"alpha": 0.1}),
    (gm.Ridge, {"cv": 3}),
    (gm.Ridge, {"alpha": 0.1, "penalty_factors": [0.0, 1.0, 2.0, 0.5]}),
    (gm.Ridge, {"alpha": 0.1, "matrix": np.diff(np.eye(4), axis=0)}),
]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("step", [0.3, "line_search", "bold_driver"])
@pytest.mark.parametrize(("kind", "given"), SQUARED, ids=lambda value: getattr(value, "__name__", str(value)[:20]))
def test_ridge_and_least_squares_by_gradient_descent(kind, given, step, intercept):
    X, f, rng = table(50, scales=np.array([1.0, 2.0, 0.5, 1.5]))
    y = target(L.Squared(), f, rng)
    y = np.column_stack([y, X[:, 0] - y]) if intercept else y
    w = np.random.default_rng(50).integers(0, 3, len(X)).astype(float)
    exact = kind(**given, fit_intercept=intercept).fit(X, y, sample_weight=w)
    solver = gm.solvers.GradientDescent(step, tol=1e-7, max_iter=100_000)
    model = kind(**given, fit_intercept=intercept, solver=solver).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=2e-6)
    np.testing.assert_allclose(model.intercept_, exact.intercept_, atol=1e-5)
    assert model.solver_.name == "gradient descent"
    assert model.certificate_.holds
    assert model.certificate_.claim == "global optimum"
    assert model.n_iter_ >= len(model.history_) - 1 > 0  # the largest number of all targets
    if kind is gm.Ridge:
        assert model.alpha_ == exact.alpha_
    np.testing.assert_allclose(model.noise_variance_, exact.noise_variance_, rtol=1e-6)
    one, two = model.summary().coefficients, exact.summary().coefficients
    np.testing.assert_allclose(one["error"], two["error"], rtol=1e-6)
    for a, b in zip(model.predict(X, interval=0.9), exact.predict(X, interval=0.9), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    again = kind(**given, fit_intercept=intercept).fit(X, y, sample_weight=w)
    model.set_params(solver="auto").fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert not hasattr(model, "history_")


def test_ridge_and_least_squares_by_stochastic_gradients():
    X, f, rng = table(51, scales=np.ones(4))
    y = target(L.Squared(), f, rng)
    solver = StochasticGradient(16, rate="1/t", epochs=300, tol=0.05, average=True)
    for model, exact in (
        (gm.LinearRegression(solver=solver), gm.LinearRegression()),
        (gm.Ridge(0.1, solver=solver), gm.Ridge(0.1)),
    ):
        model.fit(X, y)
        assert model.solver_.name == "stochastic gradient descent"
        assert model.certificate_.holds
        np.testing.assert_allclose(model.coef_, exact.fit(X, y).coef_, atol=0.15)


def test_descent_of_ridge_that_is_cut_short_says_so():
    X, f, rng = table(52)
    y = target(L.Squared(), f, rng)
    for model in (gm.Ridge(1e-4), gm.LinearRegression()):
        model.set_params(solver=gm.solvers.GradientDescent(0.1, max_iter=2, tol=1e-12))
        with pytest.warns(gm.ConvergenceWarning, match="after 2 steps of gradient descent"):
            model.fit(X, y)
        assert not model.certificate_.holds
        assert model.certificate_.claim == "not converged"


def test_solver_objects_that_ridge_cannot_use_are_refused():
    X, f, rng = table(53)
    y = target(L.Squared(), f, rng)
    solver = gm.solvers.GradientDescent("line_search")
    for model in (gm.Ridge(0.1, solver=solver), gm.LinearRegression(solver=solver)):
        with pytest.raises(ValueError, match="'gradient descent' needs the rows themselves"):
            model.fit(gm.moments(X, y))
        model.set_params(solver=InteriorPoint())
        with pytest.raises(ValueError, match="cannot do the loss Squared"):
            model.fit(X, y)
        model.set_params(solver="descent")
        with pytest.raises(ValueError, match="solver"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="give rank="):
        gm.Ridge(0.1, kernel="rbf", solver=solver).fit(X, y)
    landmarks = gm.Ridge(0.1, kernel="rbf", rank=20, solver=solver).fit(X, y)
    np.testing.assert_allclose(
        landmarks.predict(X), gm.Ridge(0.1, kernel="rbf", rank=20).fit(X, y).predict(X), atol=1e-3
    )
