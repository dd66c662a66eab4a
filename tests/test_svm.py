"""Support vector classification: optima and duals, hard margins, sparse coefficients, probabilities, wide tables."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from scipy.special import expit, log_expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, train_test_split
from sklearn.svm import SVC as Sister
from sklearn.svm import LinearSVC

import gramian as gm
from gramian.models.base.calibration import Calibration, calibrate


def problem(seed, n=120, d=3, noise=0.6):
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)
    y = (X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0).astype(int)
    y[:2] = [0, 1]
    return X, y


def separable(seed, n=40, d=2, gap=0.2):
    """Two classes with an empty strip between them."""
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((n, d)), rng.standard_normal(d)
    u /= np.linalg.norm(u)
    y = (X @ u > 0).astype(int)
    y[0], y[1] = 0, 1
    X[:2] = [-u, u]
    return X + np.outer(2 * y - 1, u) * gap, y


def primal(model, X, y, alpha, w=None, penalty=lambda c: c @ c):
    w = np.ones(len(y)) if w is None else w
    f = X @ model.coef_[0] + model.intercept_[0]
    return w @ np.maximum(1 - (2 * y - 1) * f, 0) / w.sum() + alpha * penalty(model.coef_[0])


def sister(n, alpha, **more):
    return Sister(kernel="linear", C=1 / (2 * n * alpha), tol=1e-9, **more)


# optimum and dual


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [1e-1, 1e-2, 1e-4])
def test_soft_margins_are_scikit_learns(seed, alpha):
    X, y = problem(seed)
    ours, theirs = gm.SVC(alpha=alpha).fit(X, y), sister(len(y), alpha).fit(X, y)
    assert ours.certificate_.holds
    assert ours.certificate_.kind == "duality gap"
    best = primal(ours, X, y, alpha)
    assert ours.objective_ == pytest.approx(best, rel=1e-10)
    assert best <= primal(theirs, X, y, alpha) * (1 + 1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=5e-4, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=5e-4)
    assert ours.margin_ == pytest.approx(2 / np.linalg.norm(theirs.coef_), rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_dual_certifies_the_primal(seed, weighted, intercept):
    """N-24, recomputed from the support vectors alone: Σ yλ = 0, 0 ≤ λ ≤ C, w = Σ yλx, and no gap."""
    X, y = problem(seed)
    n, alpha = len(y), 0.01
    w = np.random.default_rng(seed).integers(0, 4, n).astype(float) if weighted else np.ones(n)
    model = gm.SVC(alpha=alpha, fit_intercept=intercept).fit(X, y, sample_weight=w if weighted else None)
    signs, C = 2 * y - 1, w / (2 * w.sum() * alpha)
    lam = np.zeros(n)
    lam[model.support_] = model.dual_coef_[0] * signs[model.support_]
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert (np.diff(model.support_) > 0).all()
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert (model.dual_coef_ != 0).all()
    if intercept:
        assert abs(model.dual_coef_.sum()) <= 1e-9 * np.abs(model.dual_coef_).sum()
    assert (lam >= -1e-9).all()
    assert (lam <= C * (1 + 1e-9) + 1e-12).all()
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_, rtol=1e-7, atol=1e-8)
    dual = 2 * alpha * (lam.sum() - 0.5 * np.sum((model.dual_coef_ @ model.support_vectors_) ** 2))
    assert primal(model, X, y, alpha, w) - dual == pytest.approx(0.0, abs=1e-8 * dual)
    slack = 1 - signs * (X @ model.coef_[0] + model.intercept_[0])
    assert (lam[slack < -1e-7] == 0).all()
    np.testing.assert_allclose(lam[slack > 1e-7], C[slack > 1e-7], rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_support_vectors_are_scikit_learns(seed):
    X, y = problem(10 + seed)
    ours, theirs = gm.SVC(alpha=0.01).fit(X, y), sister(len(y), 0.01).fit(X, y)
    order = np.argsort(theirs.support_)
    np.testing.assert_array_equal(ours.support_, theirs.support_[order])
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_[:, order], rtol=1e-5, atol=1e-6)


def test_weights_and_class_weights_are_scikit_learns():
    X, y = problem(20)
    n, alpha = len(y), 0.02
    w = np.random.default_rng(0).uniform(0.1, 3.0, n)
    ours = gm.SVC(alpha=alpha).fit(X, y, sample_weight=w)
    theirs = sister(w.sum(), alpha).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    by_class = {0: 1.0, 1: 4.0}
    ours = gm.SVC(alpha=alpha, class_weight=by_class).fit(X, y)
    theirs = sister(np.array([1.0, 4.0])[y].sum(), alpha, class_weight=by_class).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    ours = gm.SVC(alpha=alpha, class_weight="balanced").fit(X, y)
    theirs = sister(n, alpha, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)


def test_a_hinge_without_coefficients_has_the_intercept_of_the_larger_class():
    """One class far larger than the other, and a penalty that leaves no coefficients."""
    X, y = problem(21)
    model = gm.SVC(alpha=1e6).fit(X, y)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-5)
    shares = np.bincount(y) / len(y)
    assert primal(model, X, y, 1e6) == pytest.approx(2 * shares.min(), rel=1e-4)


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3, 1e8])
def test_units_change_alpha_and_nothing_else(scale):
    X, y = problem(22)
    one = gm.SVC(alpha=0.01).fit(X, y)
    two = gm.SVC(alpha=0.01 * scale**2).fit(X * scale, y)
    np.testing.assert_allclose(two.coef_ * scale, one.coef_, rtol=1e-6)
    np.testing.assert_array_equal(two.support_, one.support_)
    assert two.margin_ / scale == pytest.approx(one.margin_, rel=1e-6)


@pytest.mark.parametrize("alpha", [1e-4, 1e-8, 1e-12])
def test_a_weak_penalty_is_certified(alpha):
    """The objective is tiny where the classes are separable: its gap is rounding of the losses, which are near 1."""
    X, y = separable(0)
    model = gm.SVC(alpha=alpha).fit(X, y)
    assert model.certificate_.holds
    assert model.score(X, y) == 1.0


# hard margins


def widest(X, y):
    """The margin in the plane by brute force: between two rows of different classes, or a row and an edge."""
    best = 0.0
    for here, there in ((X[y == 0], X[y == 1]), (X[y == 1], X[y == 0])):
        for p in here:
            normals = [there - p]
            for i in range(len(there)):
                side = there - there[i]
                normals.append(np.column_stack([-side[:, 1], side[:, 0]]))
            for u in np.concatenate(normals):
                size = np.linalg.norm(u)
                if size > 0:
                    for v in (u / size, -u / size):
                        best = max(best, float((there @ v).min() - (here @ v).max()))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_hard_margins_by_brute_force(seed):
    X, y = separable(seed, gap=[0.05, 0.2, 0.5, 1.0][seed])
    model = gm.SVC(alpha=0).fit(X, y)
    signs = 2 * y - 1
    margins = signs * (X @ model.coef_[0] + model.intercept_[0])
    assert model.alpha_ == 0.0
    assert model.margin_ == pytest.approx(widest(X, y), rel=1e-8)
    assert margins.min() == pytest.approx(1.0, abs=1e-8)
    np.testing.assert_allclose(margins[model.support_], 1.0, atol=1e-7)
    assert 2 <= len(model.support_) <= 3
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_, rtol=1e-6, atol=1e-9)
    assert abs(model.dual_coef_.sum()) < 1e-9 * np.abs(model.dual_coef_).sum()
    np.testing.assert_allclose(np.abs(model.dual_coef_).sum(), (model.coef_**2).sum(), rtol=1e-7)  # Σλ = ‖w‖²


@pytest.mark.parametrize("scale", [1e-10, 1e-5, 1e5, 1e10])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_hard_margins_in_any_unit(scale, shift):
    X, y = separable(1)
    one = gm.SVC(alpha=0).fit(X, y)
    two = gm.SVC(alpha=0).fit((X + shift) * scale, y)
    assert two.margin_ / scale == pytest.approx(one.margin_, rel=1e-6)


@pytest.mark.parametrize("d", [8, 60])
def test_more_columns_than_rows_have_a_hard_margin(d):
    rng = np.random.default_rng(d)
    X, y = rng.standard_normal((8, d)), np.array([0, 1] * 4)
    model = gm.SVC(alpha=0).fit(X, y)
    margins = (2 * y - 1) * (X @ model.coef_[0] + model.intercept_[0])
    assert margins.min() == pytest.approx(1.0, abs=1e-5)
    theirs = Sister(kernel="linear", C=1e10, tol=1e-10).fit(X, y)
    assert model.margin_ == pytest.approx(2 / np.linalg.norm(theirs.coef_), rel=1e-5)


@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
def test_hard_margins_of_other_penalties(penalty):
    """Least penalty(c) with y f ≥ 1."""
    X, y = separable(2)
    signs = 2.0 * y - 1.0
    model = gm.SVC(alpha=0, penalty=penalty).fit(X, y)
    value = gm.penalties.L1().value if penalty == "l1" else gm.penalties.ElasticNet().value
    assert (signs * (X @ model.coef_[0] + model.intercept_[0])).min() == pytest.approx(1.0, abs=1e-6)
    A = -signs[:, None] * np.column_stack([X, -X, np.ones(len(y))])

    def split(t):
        return 0.5 * ((t[:2] - t[2:4]) ** 2).sum() + 0.5 * t[:4].sum()

    if penalty == "l1":
        best = linprog([1, 1, 1, 1, 0], A_ub=A, b_ub=-np.ones(len(y)), bounds=[(0, None)] * 4 + [(None, None)]).fun
    else:
        start = np.concatenate([np.maximum(model.coef_[0], 0), np.maximum(-model.coef_[0], 0), model.intercept_]) * 3
        best = minimize(
            split,
            start,
            bounds=[(0, None)] * 4 + [(None, None)],
            constraints={"type": "ineq", "fun": lambda t: -A @ t - 1.0},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 1000},
        ).fun
    assert value(model.coef_[0]) == pytest.approx(best, rel=1e-6)


def test_weights_do_not_move_a_hard_margin():
    X, y = separable(3)
    w = np.random.default_rng(0).uniform(0.1, 9.0, len(y))
    one, two = gm.SVC(alpha=0).fit(X, y), gm.SVC(alpha=0).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-7)
    w[one.support_[0]] = 0.0
    wider = gm.SVC(alpha=0).fit(X, y, sample_weight=w)
    assert wider.margin_ == pytest.approx(widest(X[w > 0], y[w > 0]), rel=1e-7)
    assert wider.margin_ > one.margin_


def test_classes_that_overlap_have_no_hard_margin():
    X, y = problem(4)
    with pytest.raises(ValueError, match="not separable by a hyperplane"):
        gm.SVC(alpha=0).fit(X, y)
    with pytest.raises(ValueError, match="not separable by a hyperplane"):
        gm.SVC(alpha=0).fit([[0.0], [1.0], [0.0], [1.0]], [0, 1, 1, 0])
    with pytest.raises(ValueError, match="not separable by a hyperplane"):
        gm.SVC(alpha=0, fit_intercept=False).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize(("d", "duplicates"), [(2, False), (8, False), (60, False), (3, True)])
def test_alpha_of_separable_classes_is_chosen_with_the_hard_margin_of_every_fold(d, duplicates, monkeypatch):
    """Rounding is no obstacle where alpha is tiny: no model needs a fit of its own."""
    from gramian.selection.cv.strategy import FoldTask

    fits, plain = [], FoldTask.fit_subset
    monkeypatch.setattr(
        FoldTask, "fit_subset", lambda self, index, alpha: (fits.append(alpha), plain(self, index, alpha))[1]
    )
    X, y = separable(7, n=150, d=d)
    if duplicates:
        X, y = np.vstack([X, X]), np.concatenate([y, y])
    folds, alphas = KFold(5, shuffle=True, random_state=0), np.array([1.0, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11])
    losses = gm.SVC(alphas=alphas, cv=folds).fit(X, y).scores_.folds
    hard = []
    for train, test in folds.split(X):
        model = gm.SVC(alpha=0).fit(X[train], y[train])
        hard.append(np.maximum(0, 1 - (2 * y[test] - 1) * model.decision_function(X[test])).mean())
    np.testing.assert_allclose(losses[3:], np.tile(hard, (3, 1)), rtol=1e-4, atol=1e-6)
    if not duplicates:
        np.testing.assert_array_equal(losses[-2], losses[-1])
        assert all(alpha == alphas[0] for alpha in fits)  # where the intercept may be anywhere


def test_hard_margins_of_several_classes():
    rng = np.random.default_rng(5)
    y = np.arange(30) % 3
    X = rng.uniform(-1, 1, (30, 2)) + 6 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    ovo = gm.SVC(alpha=0, multiclass="ovo").fit(X, y)
    for bit, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        some = (y == i) | (y == j)
        assert ovo.margin_[bit] == pytest.approx(widest(X[some], (y[some] == j).astype(int)), rel=1e-7)
    assert ovo.score(X, y) == 1.0
    with pytest.raises(ValueError, match="not separable by a hyperplane"):
        gm.SVC(alpha=0, multiclass="ovr").fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(ValueError, match="an L2 penalty"):
        gm.SVC(alpha=0, multiclass="joint").fit(X, y)


# other penalties


@pytest.mark.parametrize("seed", range(3))
def test_l1_is_a_linear_programme(seed):
    X, y = problem(30 + seed, d=5)
    X[:, 3:] = np.random.default_rng(seed).standard_normal((len(y), 2))
    alpha, n = 0.2, len(y)
    model = gm.SVC(alpha=alpha, penalty="l1").fit(X, y)
    signs = 2.0 * y - 1.0
    # min Σ ξ / n + α Σ (c⁺ + c⁻), ξ ≥ 1 − y (Xc + b)
    A = np.column_stack([-signs[:, None] * X, signs[:, None] * X, -signs[:, None], -np.eye(n)])
    cost = np.concatenate([np.full(10, alpha), [0.0], np.full(n, 1 / n)])
    best = linprog(cost, A_ub=A, b_ub=-np.ones(n), bounds=[(0, None)] * 10 + [(None, None)] + [(0, None)] * n)
    assert model.certificate_.holds
    assert primal(model, X, y, alpha, penalty=lambda c: np.abs(c).sum()) == pytest.approx(best.fun, rel=1e-9)
    assert (model.coef_ == 0).any()


def test_a_large_l1_problem_has_exact_zeros_too():
    """Too large for a linear programme: an interior point and its corner."""
    rng = np.random.default_rng(3)
    n, d = 6000, 60
    X = rng.standard_normal((n, d))
    y = (X[:, 0] - X[:, 1] + rng.standard_normal(n) > 0).astype(int)
    model = gm.SVC(alpha=0.05, penalty="l1").fit(X, y)
    assert model.solver_.name == "interior point"
    assert model.certificate_.holds
    assert 2 <= np.count_nonzero(model.coef_) < 10
    g = X.T @ np.where((2 * y - 1) * (X @ model.coef_[0] + model.intercept_) < 1, 2 * y - 1, 0) / n
    assert (np.abs(g[model.coef_[0] == 0]) <= 0.05 * (1 + 1e-3)).all()


def test_an_elastic_net_against_a_slow_minimiser():
    X, y = problem(33, n=60, d=3)
    alpha, signs, n = 0.05, 2.0 * y - 1.0, 60
    model = gm.SVC(alpha=alpha, penalty=gm.penalties.ElasticNet(0.4)).fit(X, y)
    value = gm.penalties.ElasticNet(0.4).value

    def cost(t):
        return t[7:].mean() + alpha * (0.4 * t[:6].sum() + 0.6 * ((t[:3] - t[3:6]) ** 2).sum())

    A = np.column_stack([signs[:, None] * X, -signs[:, None] * X, signs, np.eye(n)])
    slow = minimize(
        cost,
        np.concatenate([np.zeros(7), np.full(n, 2.0)]),
        bounds=[(0, None)] * 6 + [(None, None)] + [(0, None)] * n,
        constraints={"type": "ineq", "fun": lambda t: A @ t - 1.0, "jac": lambda t: A},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert model.certificate_.holds
    mine = primal(model, X, y, alpha, penalty=value)
    assert mine <= slow.fun * (1 + 1e-8)
    assert mine == pytest.approx(slow.fun, rel=1e-4)


@pytest.mark.parametrize("alpha", [1e-2, 1e-6, 1e-9])
def test_weak_elastic_nets_do_not_break_down(alpha):
    X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]], [0, 0, 1, 1]
    model = gm.SVC(alpha=alpha, penalty="elastic_net").fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-5)
    assert model.certificate_.holds


def test_no_penalty_is_the_least_hinge():
    X, y = problem(34, n=60, d=2)
    signs, n = 2.0 * y - 1.0, 60
    A = np.column_stack([-signs[:, None] * X, -signs, -np.eye(n)])
    best = linprog([0.0] * 3 + [1 / n] * n, A_ub=A, b_ub=-np.ones(n), bounds=[(None, None)] * 3 + [(0, None)] * n).fun
    for model in (gm.SVC(alpha=0.1, penalty=None), gm.SVC(alpha=0, penalty=None)):
        assert primal(model.fit(X, y), X, y, 0.0) == pytest.approx(best, rel=1e-9)
        assert model.certificate_.holds


# wide tables


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["auto", "dual"])
def test_wide_and_sparse(intercept, solver):
    rng = np.random.default_rng(40)
    n, d = 300, 2000
    X = sp.random_array((n, d), density=0.02, rng=rng, format="csr")
    y = (X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0).astype(int)
    alpha = 1e-2
    model = gm.SVC(alpha=alpha, fit_intercept=intercept, solver=solver).fit(X, y)
    assert solver == "auto" or model.solver_.name == "dual coordinate descent"
    assert model.certificate_.holds
    lam = model.dual_coef_[0] * (2 * y - 1)[model.support_]
    C = 1 / (2 * n * alpha)
    assert (lam >= -1e-9).all()
    assert (lam <= C * (1 + 1e-9)).all()
    if intercept:
        assert abs(model.dual_coef_.sum()) <= 1e-9 * np.abs(model.dual_coef_).sum()
        theirs = sister(n, alpha).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(
        model.dual_coef_ @ model.support_vectors_.toarray(), model.coef_, atol=1e-3 if solver == "dual" else 1e-6
    )
    dense = gm.SVC(alpha=alpha, fit_intercept=intercept).fit(X.toarray(), y)
    assert model.objective_ == pytest.approx(dense.objective_, rel=1e-7)


@pytest.mark.parametrize("solver", ["auto", "dual"])
def test_wide_tables_count_weights(solver):
    rng = np.random.default_rng(41)
    X, y = rng.standard_normal((12, 30)), np.array([0, 1] * 6)
    w = rng.integers(0, 4, 12)
    w[:2] = 1
    one = gm.SVC(alpha=0.05, solver=solver).fit(X, y, sample_weight=w)
    two = gm.SVC(alpha=0.05, solver=solver).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4 if solver == "dual" else 1e-7)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-7)
    np.testing.assert_allclose(
        one.dual_coef_ @ one.support_vectors_, one.coef_, atol=1e-3 if solver == "dual" else 1e-6
    )
    assert set(one.support_) <= set(np.flatnonzero(w))


def test_solvers_agree():
    X, y = problem(42)
    best = gm.SVC(alpha=0.02).fit(X, y)
    for name in ("interior", "dual"):
        found = gm.SVC(alpha=0.02, solver=name).fit(X, y)
        assert found.objective_ == pytest.approx(best.objective_, rel=1e-7)
        np.testing.assert_allclose(found.coef_, best.coef_, atol=1e-3)
    with pytest.raises(ValueError):
        gm.SVC(alpha=0.02, solver="newton").fit(X, y)


def test_penalties_with_groups_and_bounds_are_solved():
    X, y = problem(43, n=30)
    for penalty in (gm.penalties.GroupL1(), gm.penalties.NonNegative(gm.penalties.L2())):
        model = gm.SVC(alpha=0.1, penalty=penalty).fit(X, y)
        assert model.certificate_.claim == "global optimum"
        assert model.solver_.name == "primal-dual"
    bounded = gm.SVC(alpha=0.1, penalty=gm.penalties.NonNegative()).fit(X, y)
    assert bounded.coef_.min() >= 0
    assert bounded.certificate_.holds


# several classes, summaries


def test_dual_variables_of_several_problems():
    rng = np.random.default_rng(50)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 2)) + 1.5 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    model = gm.SVC(alpha=0.01).fit(X, y)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert model.margin_.shape == (3,)
    np.testing.assert_allclose(model.dual_coef_ @ model.support_vectors_, model.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.margin_, 2 / np.linalg.norm(model.coef_, axis=1))
    joint = model.set_params(multiclass="joint").fit(X, y)
    assert not hasattr(joint, "support_")
    assert not hasattr(joint, "dual_coef_")


def test_summary_has_margin_and_support():
    X, y = problem(51)
    model = gm.SVC(alpha=0.01).fit(X, y)
    facts = model.summary().facts
    assert facts["margin"] == model.margin_
    assert facts["support vectors"] == len(model.support_)
    assert "error" not in model.summary().coefficients


# the root of the hinge


def test_root_hinge_falls_and_minds_outliers_less():
    rng = np.random.default_rng(52)
    X = np.concatenate([rng.normal(-1, 0.5, (60, 1)), rng.normal(1, 0.5, (60, 1)), np.full((15, 1), 4.0)])
    y = np.array([0] * 60 + [1] * 60 + [0] * 15)
    root = gm.Classifier("root_hinge", alpha=1e-3).fit(X, y)
    hinge = gm.SVC(alpha=1e-3).fit(X, y)
    assert root.certificate_.holds
    assert root.certificate_.claim == "converged within tolerance"
    middle = {m: abs(m.intercept_[0] / m.coef_[0, 0]) for m in (root, hinge)}  # zero, were it not for the outliers
    assert middle[root] < middle[hinge]
    signs = 2.0 * y - 1.0

    def value(c, b):
        return np.sqrt(np.maximum(1 - signs * (X[:, 0] * c + b), 0)).mean() + 1e-3 * c**2

    here = value(root.coef_[0, 0], root.intercept_[0])
    assert root.objective_ == pytest.approx(here, rel=1e-9)
    assert here < value(hinge.coef_[0, 0], hinge.intercept_[0])
    for dc, db in rng.normal(0, 0.02, (200, 2)):  # a local minimum
        assert here <= value(root.coef_[0, 0] + dc, root.intercept_[0] + db) + 5e-3


def test_root_hinge_takes_any_penalty():
    rng = np.random.default_rng(53)
    X = rng.normal(0, 1, (60, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    model = gm.Classifier("root_hinge", "l1", 0.1).fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.claim == "converged within tolerance"
    signs = 2.0 * y - 1.0

    def value(c, b):
        return np.sqrt(np.maximum(1 - signs * (X @ c + b), 0)).mean() + 0.1 * np.abs(c).sum()

    here = value(model.coef_[0], model.intercept_[0])
    assert model.objective_ == pytest.approx(here, rel=1e-9)
    assert here < value(np.zeros(3), 0.0)
    for step in rng.normal(0, 0.02, (200, 4)):  # a local minimum
        assert here <= value(model.coef_[0] + step[:3], model.intercept_[0] + step[3]) + 5e-3


# probabilities


@pytest.mark.parametrize("alpha", [1e-2, 1e-3])
@pytest.mark.parametrize("data", ["cancer", "made", "wine"])
def test_probabilities_are_as_good_as_scikit_learns(data, alpha):
    X, y = {
        "cancer": lambda: load_breast_cancer(return_X_y=True),
        "made": lambda: make_classification(600, 10, n_informative=5, flip_y=0.1, random_state=0),
        "wine": lambda: load_wine(return_X_y=True),
    }[data]()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    A, B, a, b = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    linear = LinearSVC(loss="hinge", C=1 / (2 * len(a) * alpha), max_iter=200_000, random_state=0)
    theirs = log_loss(b, CalibratedClassifierCV(linear, method="sigmoid").fit(A, a).predict_proba(B))
    for model in (gm.SVC(alpha=alpha), gm.Classifier("squared_hinge", alpha=alpha)):
        assert log_loss(b, model.fit(A, a).predict_proba(B)) <= 1.1 * theirs


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_the_most_likely(seed):
    """Each side of the boundary has its own slope: the likelihood, with one wrong row more at the mean distance."""
    rng = np.random.default_rng(seed)
    f = rng.standard_normal(200)
    codes = (rng.random(200) < expit(np.where(f > 0, 2.0, 0.7) * f)).astype(np.int64)
    w = rng.integers(0, 3, 200).astype(float)
    found = calibrate(f, codes, w)
    for slope, side in ((found.below, -1.0), (found.above, 1.0)):
        some = f * side > 0
        right = np.where(codes[some] == (side > 0), 1.0, -1.0)
        size = w[some] @ np.abs(f[some]) / w[some].sum()

        def cost(s, some=some, right=right, size=size):
            return -(w[some] @ log_expit(right * s * np.abs(f[some]))) - log_expit(-s * size)

        least = 1e-3 / size  # slopes stay above zero, so that the order of decisions is kept
        assert cost(slope) <= min(cost(s) for s in np.geomspace(least, 1e4 / size, 4001)) + 1e-7
    p = found.probabilities(f)
    np.testing.assert_array_equal(p.argmax(axis=1), (f > 0).astype(int))
    np.testing.assert_allclose(p[:, 1], expit(np.where(f > 0, found.above, found.below) * f))


def test_calibration_of_constant_and_one_sided_decisions():
    """N-49."""
    for f in (np.zeros(6), np.full(6, 2.0), np.full(6, -1e-300), np.array([1e300] * 3 + [-1e300] * 3)):
        codes = np.array([0, 1, 1, 0, 1, 1])
        p = calibrate(f, codes, np.ones(6)).probabilities(f)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    f = np.zeros((6, 3))
    np.testing.assert_allclose(calibrate(f, np.array([0, 1, 2, 0, 1, 2]), np.ones(6)).probabilities(f), 1 / 3)
    sure = calibrate(np.array([-1.0, -2.0, 1.0, 2.0]), np.array([0, 0, 1, 1]), np.ones(4))
    assert 0 < sure.above < 100
    assert 0 < sure.below < 100


def test_the_softmax_of_several_decisions_is_the_most_likely():
    rng = np.random.default_rng(9)
    f = rng.standard_normal((300, 3))
    p = np.exp(3 * f)
    codes = (p.cumsum(axis=1) / p.sum(axis=1, keepdims=True) < rng.random((300, 1))).sum(axis=1)
    found = calibrate(f, codes, np.ones(300))
    assert found.below == found.above
    assert found.above == pytest.approx(3.0, rel=0.2)
    scores = {s: -np.log(Calibration(s, s).probabilities(f)[np.arange(300), codes]).sum() for s in (1.0, 2.0, 5.0)}
    assert -np.log(found.probabilities(f)[np.arange(300), codes]).sum() < min(scores.values())


def test_rows_that_are_all_equal():
    """No direction tells the classes apart: the most frequent is predicted, and is the most probable."""
    for y in ([0, 1, 2, 2, 2, 2, 2, 2], [0, 0, 1, 1, 1, 1, 1, 1]):
        model = gm.SVC(alpha=0.1).fit(np.ones((8, 2)), y)
        p = model.predict_proba(np.ones((1, 2)))[0]
        assert model.predict(np.ones((1, 2)))[0] == max(y)
        assert p.argmax() == max(y)
        assert p.max() > 1.05 / len(p)
        assert np.abs(model.decision_function(np.ones((1, 2)))).max() < 1e6


def test_interruption_keeps_the_best_point():
    """Once: no further margins are tried after Ctrl-C."""
    X, y = problem(0)
    calls = []

    def stop(iteration, state):
        calls.append(iteration)
        if iteration == 3:
            raise KeyboardInterrupt

    with pytest.warns(gm.ConvergenceWarning, match="Interrupted after 3"):
        model = gm.SVC(alpha=0.01, callbacks=[stop]).fit(X, y)
    assert calls == [1, 2, 3]
    assert np.isfinite(model.coef_).all()
