"""Kernel models of many rows: landmarks, sums over raw kernel columns, and conjugate gradients."""

import numpy as np
import pytest
from sklearn.base import clone

import gramian as gm
import gramian.kernels.lowrank.landmarks as landmarks
import gramian.models.base.out_of_fold as out_of_fold
import gramian.models.kernel.data as kernel_data
import gramian.solvers.least_squares.landmarks as solver
import gramian.solvers.nonsmooth.active_rows as near_rows
import gramian.solvers.smooth.landmark_problem as landmark_problem
from gramian.kernels import RBF
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.kernels.points import vectors
from gramian.objective.losses.classification import Hinge, Logistic, Softmax
from gramian.objective.losses.regression import Absolute, Quantile
from gramian.objective.penalties import L2
from gramian.objective.problem import Problem
from gramian.rows import Block, Computed, scan
from gramian.solvers.base import run
from gramian.solvers.nonsmooth.smoothed_newton import SmoothedNewton
from gramian.solvers.smooth.landmark_problem import LandmarkProblem
from gramian.solvers.solve import fit_problem

N, D, RANK = 900, 3, 40


def data(seed, n=N):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(n) + 3.0
    return X, y, rng.integers(0, 4, n).astype(float)


@pytest.fixture
def streamed(monkeypatch):
    """Every fit with rank= is one of many rows."""
    monkeypatch.setattr(kernel_data, "MOST_CELLS", 10)


def features(model, X):
    """φ of the landmarks that a model chose, from their definition."""
    P = model.representation_.points.X
    R = np.linalg.cholesky(model.kernel_(P)).T
    return np.linalg.solve(R.T, model.kernel_(P, X)).T


def ridge(F, Y, w, alpha, intercept):
    """The dense solution of the landmark problem by an orthogonal factor, nothing squared."""
    root = np.sqrt(w / w.sum())[:, None]
    Z = np.column_stack([F, np.ones(len(F))]) if intercept else F
    penalty = np.sqrt(alpha) * np.eye(Z.shape[1])
    if intercept:
        penalty[-1] = 0.0
    A, B = np.vstack([Z * root, penalty]), np.vstack([Y * root, np.zeros((Z.shape[1], Y.shape[1]))])
    return Z @ np.linalg.lstsq(A, B, rcond=None)[0]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("scale", [1.5, 6.0])
def test_ridge_is_the_dense_solution(streamed, monkeypatch, intercept, sampled, scale):
    """Also where landmarks are nearly dependent, and where all that is known of the curvature is that of some rows."""
    if sampled:
        monkeypatch.setattr(solver, "MOST_GRAM", 5)
        monkeypatch.setattr(solver, "SAMPLE", 3)
    X, y, w = data(0)
    Y = np.column_stack([y, X[:, 0] ** 2])
    model = gm.Ridge(alpha=1e-4, kernel=RBF(scale), rank=RANK, fit_intercept=intercept).fit(X, Y, sample_weight=w)
    assert model.certificate_.holds, model.certificate_
    expected = ridge(features(model, X), Y, w, 1e-4, intercept)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-8 if scale < 2 else 1e-6)
    np.testing.assert_allclose(
        model.kernel_(X, model.representation_.points.X) @ model.dual_coef_.T + model.intercept_, expected, atol=1e-6
    )
    assert ("conjugate" in model.solver_.name) == sampled
    assert model.n_features_in_ == D


def test_the_certificate_is_the_gradient(streamed):
    X, y, w = data(1)
    model = gm.Ridge(alpha=1e-3, kernel=RBF(1.5), rank=RANK).fit(X, y, sample_weight=w)
    F = features(model, X)
    Z = F - np.average(F, axis=0, weights=w)
    left = y - model.predict(X)
    gradient = Z.T @ (w * left) - 1e-3 * w.sum() * model._feature_coef
    size = np.sqrt((w[:, None] * Z**2).sum(axis=0) * (w @ (y - np.average(y, weights=w)) ** 2))
    worst = np.max(np.abs(gradient) / (size + 1e-3 * w.sum() * np.abs(model._feature_coef)))
    assert worst <= model.certificate_.tolerance
    # A solution that is not one is told: the preconditioner alone, of a system that is not this one.
    rows = model.representation_.rows_of(vectors(X), scan(np.zeros((N, 1)), y, sample_weight=w))
    wrong = gm.moments(F, np.roll(y, 1), sample_weight=w)
    found = solver.solve_landmarks(rows, intercept=True, alpha=1e-3, moments=wrong)
    residual = w @ (y - F @ found.coef[:, 0] - found.intercept) ** 2
    np.testing.assert_allclose(found.squares.residual, residual, rtol=1e-9)
    np.testing.assert_allclose(model.noise_variance_, w @ left**2 / w.sum(), rtol=1e-9)


def test_a_certificate_fails_where_the_iteration_is_cut_short(streamed, monkeypatch):
    monkeypatch.setattr(solver, "MOST_GRAM", 5)
    monkeypatch.setattr(solver, "SAMPLE", 2)
    monkeypatch.setattr(solver, "ROUNDS", 1)
    monkeypatch.setattr(solver, "MOST_STEPS", 1)
    X, y, _ = data(2)
    with pytest.warns(gm.ConvergenceWarning, match=r"not certified\. The gradient is .*The solver ended before it met"):
        model = gm.Ridge(alpha=1e-3, kernel=RBF(1.5), rank=RANK).fit(X, y)
    assert not model.certificate_.holds


@pytest.mark.parametrize("cv", [4, "loo"])
def test_the_choice_of_alpha_and_intervals_are_those_of_features(streamed, cv):
    X, y, w = data(3, 400)
    model = gm.Ridge(kernel=RBF(1.5), rank=20, cv=cv, alphas=12).fit(X, y, sample_weight=w + 1)
    F = features(model, X)
    linear = gm.Ridge(cv=cv, alphas=12).fit(F, y, sample_weight=w + 1)
    np.testing.assert_allclose(model.scores_.mean, linear.scores_.mean, rtol=1e-7)
    assert model.alpha_ == pytest.approx(linear.alpha_, rel=1e-6)
    for a, b in zip(model.predict(X, interval=0.9), linear.predict(F, interval=0.9), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    assert "rank 20" in str(model.summary())


@pytest.mark.parametrize("model", [gm.Ridge(alpha=1e-3), gm.LogisticRegression(alpha=1e-3)], ids=repr)
def test_weights_are_repetitions(streamed, monkeypatch, model):
    X, y, w = data(4)
    target = y if isinstance(model, gm.Ridge) else y > 3
    chosen, _ = pivots(RBF(1.5), vectors(X[:300]), RANK)
    monkeypatch.setattr(kernel_data, "sampled_pivots", lambda kernel, points, rank, weight: chosen)
    model = clone(model).set_params(kernel=RBF(1.5), rank=RANK)
    weighted = clone(model).fit(X, target, sample_weight=w)
    again = np.repeat(np.arange(N), w.astype(int))
    repeated = clone(model).fit(X[again], target[again])
    np.testing.assert_allclose(weighted._feature_coef, repeated._feature_coef, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("way", ["newton", "newton-cg", "auto"])
def test_logistic_is_that_of_features(streamed, monkeypatch, classes, way):
    monkeypatch.setattr(landmark_problem, "SAMPLE", 5)
    X, y, w = data(5)
    labels = np.digitize(y, [2.7, 3.3] if classes == 3 else [3.0])
    model = gm.LogisticRegression(alpha=1e-4, kernel=RBF(1.5), rank=RANK, solver=way)
    model.fit(X, labels, sample_weight=w)
    assert model.certificate_.holds
    linear = gm.LogisticRegression(alpha=1e-4, solver="newton").fit(features(model, X), labels, sample_weight=w)
    np.testing.assert_allclose(model.predict_proba(X), linear.predict_proba(features(model, X)), atol=1e-7)
    assert model.objective_ == pytest.approx(linear.objective_, rel=1e-10)


def test_logistic_chooses_the_alpha_of_features(streamed):
    X, y, _ = data(6, 500)
    model = gm.LogisticRegression(kernel=RBF(1.5), rank=15, cv=3, alphas=[1e-1, 1e-3, 1e-5]).fit(X, y > 3)
    linear = gm.LogisticRegression(cv=3, alphas=[1e-1, 1e-3, 1e-5]).fit(features(model, X), y > 3)
    np.testing.assert_allclose(model.scores_.mean, linear.scores_.mean, rtol=1e-5)


@pytest.mark.parametrize(
    "model", [gm.SVC(alpha=1e-3), gm.Regressor("huber", alpha=1e-3), gm.Regressor("poisson", alpha=1e-3)], ids=repr
)
def test_other_losses_go_on_the_features(streamed, model):
    X, y, _ = data(7, 400)
    target = y > 3 if isinstance(model, gm.SVC) else np.maximum(y, 0.0)
    fitted = clone(model).set_params(kernel=RBF(1.5), rank=20).fit(X, target)
    linear = clone(model).fit(features(fitted, X), target)
    assert fitted.certificate_.holds
    f, g = (m.decision_function(Z) if isinstance(m, gm.SVC) else m.predict(Z) for m, Z in [(fitted, X), (linear, features(fitted, X))])  # fmt: skip  # noqa: E501
    np.testing.assert_allclose(f, g, atol=1e-3)


def piecewise_linear_problem(loss, seed, *, weighted, intercept, n=500):
    """A problem of landmarks, in their basis, and the same problem with its features in memory."""
    X, y, w = data(seed, n)
    target = np.where(y > 3, 1.0, -1.0) if loss.targets == "signs" else y
    chosen, F = pivots(RBF(1.5), vectors(X), 25)
    w = w if weighted else None
    rows = chosen.rows_of(vectors(X), scan(np.zeros((n, 1)), target, sample_weight=w))
    given = loss, L2(), 1e-3
    whole = Problem(scan(F, target, sample_weight=w), *given, intercept=intercept)
    return Problem(rows, *given, intercept=intercept), whole


@pytest.mark.parametrize("kept", [10**9, 0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Quantile(0.8)], ids=repr)
def test_a_piecewise_linear_loss_on_landmarks_is_that_of_the_features(monkeypatch, loss, weighted, intercept, kept):
    monkeypatch.setattr(near_rows, "MAX_GATHERED_CELLS", kept)
    monkeypatch.setattr(landmark_problem, "SAMPLE", 3)  # curvatures of some rows only
    streamed, whole = piecewise_linear_problem(loss, 11, weighted=weighted, intercept=intercept)
    found, expected = fit_problem(streamed), fit_problem(whole, solver="interior")
    assert found.solver.name == "interior point on active rows"
    assert found.certificate.kind == "duality gap"
    assert found.certificate.holds
    assert found.value == pytest.approx(expected.value, rel=1e-8)
    f = streamed.rows.times(found.coef) + found.intercept
    np.testing.assert_allclose(f, whole.rows.times(expected.coef) + expected.intercept, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_gap_of_a_smoothed_loss_is_no_less_than_the_distance_to_the_optimum(seed):
    problem, whole = piecewise_linear_problem(Hinge(), seed, weighted=True, intercept=False)
    best = fit_problem(whole, solver="interior").value
    seen = []
    run(SmoothedNewton(), LandmarkProblem.of(problem), max_iter=100, tol=1e-9, callbacks=[lambda _, s: seen.append(s)])
    assert len(seen) > 3
    for state in seen:
        assert state.value >= best * (1 - 1e-9)
        assert state.value - best <= state.residual * state.value * (1 + 1e-9)
    assert seen[-1].residual < 0.05 * seen[0].residual


@pytest.mark.parametrize("loss", [Hinge(), Absolute()], ids=repr)
def test_few_rows_are_left_for_the_interior_point(loss):
    """Also from no coefficients at all, where every row of a hinge is as far from its breakpoint as any other."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 5))
    f = X @ rng.standard_normal(5)
    y = np.where(f + rng.standard_normal(20_000) > 0, 1.0, -1.0) if loss.targets == "signs" else f + rng.random(20_000)
    problem = Problem(scan(X, y), loss, L2(), 1e-4)
    state = run(SmoothedNewton(), problem, problem.zero(), max_iter=200, tol=1e-12).state
    assert state.few_active
    assert state.settled
    assert state.residual < 1e-2


def test_probabilities_of_many_rows_are_those_of_some(streamed, monkeypatch):
    X, y, _ = data(12, 3000)
    labels = y + 0.3 * np.random.default_rng(0).standard_normal(3000) > 3
    model = gm.SVC(alpha=1e-3, kernel=RBF(1.5), rank=20)
    all_rows = clone(model).fit(X, labels)
    monkeypatch.setattr(out_of_fold, "SAMPLE_ROWS", 700)
    some_rows = clone(model).fit(X, labels)
    np.testing.assert_allclose(some_rows.decision_function(X), all_rows.decision_function(X), atol=1e-9)
    p, q = some_rows.predict_proba(X), all_rows.predict_proba(X)
    assert 0 < np.abs(p - q).max() < 0.1
    assert np.abs(p - q).mean() < 0.02


@pytest.mark.parametrize("sound", [True, False])
@pytest.mark.parametrize(("loss", "outputs"), [(Logistic(), 1), (Softmax(), 3)])
def test_sums_in_the_basis_are_those_of_the_features(loss, outputs, sound):
    X, y, w = data(8, 300)
    codes = np.digitize(y, [2.7, 3.3]) if outputs == 3 else np.where(y > 3, 1.0, -1.0)
    chosen, _ = pivots(RBF(1.5), vectors(X), 20)
    rows = chosen.rows_of(vectors(X), scan(np.zeros((300, 1)), codes, sample_weight=w))
    object.__setattr__(rows.basis, "well_conditioned", sound)
    problem = Problem(rows, loss, L2(), 1e-3, outputs=outputs)
    turned = LandmarkProblem.of(problem)
    assert isinstance(turned, LandmarkProblem)
    assert LandmarkProblem.of(turned) is turned
    theta = np.random.default_rng(0).standard_normal(problem.zero().shape)
    a, b = problem.at(theta, hessian=True), turned.at(theta, hessian=True)
    assert a.value == pytest.approx(b.value, rel=1e-12)
    np.testing.assert_allclose(b.gradient, a.gradient, atol=1e-11)
    np.testing.assert_allclose(b.hessian, a.hessian, atol=1e-11)
    part, plain = rows.basis.rows.block(0, 50), rows.block(0, 50)
    np.testing.assert_allclose(turned.standard(part.X), problem.standard(plain.X), atol=1e-10)
    assert turned.with_alpha(1.0).curvature_sample().alpha == 1.0


def test_rows_that_are_made_when_they_are_used():
    asked = []

    def make(points):
        asked.append(len(points))
        return points * 2.0

    X = np.arange(12.0).reshape(6, 2)
    block = Block(Computed(X, make, 2), None, None, 0)
    assert len(block) == 6
    np.testing.assert_array_equal(block.part(slice(1, 3)), 2 * X[1:3])
    np.testing.assert_array_equal(block.subset([5]).X, 2 * X[[5]])
    some = Block(block.source, None, None, 0, np.array([4, 0]))
    np.testing.assert_array_equal(some.part(slice(0, 1)), 2 * X[[4]])
    assert asked == [2, 1, 1]
    np.testing.assert_array_equal(block.X, 2 * X)


def test_rows_and_their_frames_agree(streamed):
    X, y, w = data(9, 300)
    model = gm.Ridge(alpha=1e-3, kernel=RBF(1.5), rank=20)
    first = clone(model).fit(X, y, sample_weight=w).predict(X)
    np.testing.assert_array_equal(clone(model).fit(gm.scan(X, y, sample_weight=w)).predict(gm.scan(X)), first)
    with gm.threads(1):
        np.testing.assert_array_equal(clone(model).fit(X, y, sample_weight=w).predict(X), first)


def test_moments_are_turned():
    X, y, w = data(10, 200)
    R = np.triu(np.random.default_rng(0).standard_normal((D, D))) + 3 * np.eye(D)
    found, expected = gm.moments(X, y, sample_weight=w).turned(R), gm.moments(X @ np.linalg.inv(R), y, sample_weight=w)
    np.testing.assert_allclose(found.cross, expected.cross, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["pivots", "uniform", "leverage", "k-means++"])
def test_nystroem_of_very_many_rows(monkeypatch, method):
    """Landmarks of a sample, and scores block by block, explain as much as those of all rows at once."""
    X, _, _ = data(11)
    map = gm.Nystroem(RBF(1.5), n_components=RANK, method=method, random_state=0)
    whole = clone(map).fit(X).error_
    monkeypatch.setattr(landmarks, "MOST_CELLS", 10)
    monkeypatch.setattr(landmarks, "MIN_SAMPLE", 300)
    part = clone(map).fit(X)
    assert part.error_ < 1.5 * whole + 1e-3
    F = part.transform(X)
    np.testing.assert_allclose(F @ F[part.landmarks_].T, RBF(1.5)(X, X[part.landmarks_]), atol=1e-8)


@pytest.mark.parametrize("rank", [None, 60])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_weights_are_repetitions_of_points(rank, classes, alpha):
    """Which rows are landmarks does not depend on how often a row is given, nor on rows without weight."""
    X, y, w = data(13, 500)
    labels, times = np.digitize(y, [3.0, 3.5][: classes - 1]), w.astype(int)
    model = gm.LogisticRegression(alpha=alpha, kernel=RBF(1.0), rank=rank)
    weighed = clone(model).fit(X, labels, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(labels, times))
    assert (times[weighed.representation_.index] > 0).all()
    np.testing.assert_allclose(weighed.decision_function(X), repeated.decision_function(X), atol=1e-8)
