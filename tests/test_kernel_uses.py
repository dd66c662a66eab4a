"""Kernel models as they are used: parts of any model, matrices given, kernels on trust, pickles, weights below one."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

import gramian as gm
from gramian.kernels import ANOVA, RBF, Custom, Linear, Matern, Precomputed, Sigmoid, Spectrum, repaired
from gramian.rows import MemoryRows
from gramian.selection.cv.regularization import splits_of
from gramian.solvers.kernel.kernel_ridge import KernelPath

RNG = np.random.default_rng(11)
X = RNG.standard_normal((60, 3))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.standard_normal(60)
TWO = np.where(X[:, 0] ** 2 + X[:, 1] > 0.3, "a", "b")
THREE = np.array(["u", "v", "w"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)]
MODELS = [
    (gm.Ridge(alpha=1e-2), Y),
    (gm.Ridge(alpha=1e-2, rank=20), Y),
    (gm.Ridge(alpha=1e-2), np.column_stack([Y, -(Y**2)])),
    (gm.Regressor(loss="huber", alpha=0.1), Y),
    (gm.SVR(alpha=1e-2), Y),
    (gm.LogisticRegression(alpha=1e-2), TWO),
    (gm.LogisticRegression(alpha=1e-2), THREE),
    (gm.SVC(alpha=1e-2), TWO),
    (gm.SVC(alpha=1e-2), THREE),
    (gm.Perceptron(average=True), TWO),
]


def told(model, X):
    """b + Σ parts is this."""
    if hasattr(model, "classes_"):
        return model._predictions(model._rows(X))
    return model.predict(X)


@pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "kernel", [RBF(1.0) + 0.5 * Linear().on([0, 2]) + RBF(1.0), ANOVA(Matern(1.0)), 2 * (RBF(2.0) + Linear())], ids=repr
)
@pytest.mark.filterwarnings("ignore::gramian.ConvergenceWarning")
def test_parts_of_every_model_add_up(model, y, kernel):
    model = model.set_params(kernel=kernel).fit(X, y)
    parts = model.parts(X[:7])
    assert len(parts) == (3 if isinstance(kernel, ANOVA) else 2)  # equal summands are one
    total = sum(parts.values())
    expected = told(model, X[:7])
    np.testing.assert_allclose(
        total.reshape(len(total), -1) + model.intercept_, expected.reshape(7, -1), rtol=1e-6, atol=1e-6
    )


def test_parts_are_functions_of_their_columns_and_of_words():
    model = gm.LogisticRegression(alpha=1e-3, kernel=ANOVA(RBF(1.0))).fit(X, TWO)
    moved = X.copy()
    moved[:, 1] += 5.0
    before, after = model.parts(X), model.parts(moved)
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    assert changed == ["RBF(length_scale=1.0).on(1)"]
    table = pd.DataFrame({"x": X[:, 0], "word": ["".join(RNG.choice(list("ab"), 5)) for _ in X]})
    model = gm.SVC(alpha=1e-2, kernel=RBF(1.0).on("x") + Spectrum(2).on("word")).fit(table, TWO)
    parts = model.parts(table)
    np.testing.assert_allclose(sum(parts.values()) + model.intercept_, model.decision_function(table), atol=1e-12)
    with pytest.raises(ValueError, match=r"parts\(\) are those"):
        gm.KNeighborsRegressor(kernel="rbf").fit(X, Y).parts(X)
    for kernel in ("rbf", "linear"):
        with pytest.raises(AttributeError, match="has no coef_: it is not fitted, or not linear"):
            _ = gm.KNeighborsRegressor(kernel=kernel).fit(X, Y).coef_
    with pytest.raises(ValueError, match=r"parts\(\) are those"):
        gm.LogisticRegression(alpha=0.1).fit(X, TWO).parts(X)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (gm.KNeighborsClassifier(n_neighbors=3), THREE),
        (gm.KNeighborsRegressor(n_neighbors=3), Y),
        (gm.Perceptron(average=True, max_iter=30), TWO),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.filterwarnings("ignore::gramian.ConvergenceWarning")
def test_a_matrix_serves_cross_validation(model, y):
    K = RBF(1.0)(X)
    for given, kernel in ((Precomputed(), RBF(1.0)), (3 * Precomputed(), 3 * RBF(1.0))):
        by_rows = cross_val_score(model.set_params(kernel=kernel), X, y, cv=4)
        by_matrix = cross_val_score(model.set_params(kernel=given), K, y, cv=4)
        np.testing.assert_allclose(by_matrix, by_rows, atol=1e-12)


@pytest.mark.filterwarnings("ignore::gramian.ConvergenceWarning")
def test_an_invalid_kernel_is_used_on_trust():
    k = Sigmoid(0.5, -0.5)
    for model, y in MODELS:
        with pytest.raises(ValueError, match=r"is no kernel: .* To insist, give kernel.trusted\(\)"):
            model.set_params(kernel=k).fit(X, y)
        found = model.set_params(kernel=k.trusted()).fit(X, y).predict(X)
        assert len(found) == 60
        model.set_params(kernel=2 * k.trusted() + 1).fit(X, y)
    assert k.trusted().validity().valid is False
    assert k.trusted().validity().eigenvalue < 0
    assert (RBF(1.0).trusted() + 1).validity().valid
    # with enough of the penalty K + λI is positive, and the answer is the equations'
    K = k(X)
    lam = 2.0 * -np.linalg.eigvalsh(K)[0]
    model = gm.Ridge(alpha=lam / 60, kernel=k.trusted(), fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + lam * np.eye(60), Y), rtol=1e-9)
    bad = K.copy()
    bad[0, 1] += 1.0
    with pytest.raises(ValueError, match="differ"):
        gm.Ridge(alpha=0.1, kernel=Precomputed()).fit(bad, Y)
    gm.Ridge(alpha=0.1, kernel=Precomputed()).fit(repaired(bad), Y)


def test_a_function_is_tried_on_rows_from_everywhere():
    """Not on the first ones alone, which may look harmless."""
    Z = np.vstack([np.zeros((300, 1)), np.linspace(1.0, 2.0, 100)[:, None]])
    bad = Custom(lambda A, B: np.where((A != 0) & (B.T != 0), -A @ B.T, 0.0))
    with pytest.raises(ValueError, match="is no kernel"):
        gm.Ridge(alpha=0.1, kernel=bad).fit(Z, Z[:, 0])


@pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda value: type(value).__name__)
@pytest.mark.filterwarnings("ignore::gramian.ConvergenceWarning")
def test_pickles_tell_the_same_bits(model, y):
    weight = (np.arange(60) % 3 > 0).astype(float)
    for kernel in (RBF(1.0), RBF(1.0).on([0, 1]) + Linear()):
        model.set_params(kernel=kernel).fit(1e3 + X, y, sample_weight=weight)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(told(again, 1e3 + X), told(model, 1e3 + X))


@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_of_weights_of_any_size(intercept):
    Z, y, alphas = X[:25], Y[:25], [0.1, 1e-3]
    for weight in (np.full(25, 0.01), RNG.uniform(0.1, 3.0, 25), RNG.integers(0, 4, 25).astype(float)):
        model = gm.Ridge(kernel=RBF(1.0), cv="loo", alphas=alphas, fit_intercept=intercept)
        scores = model.fit(Z, y, sample_weight=weight).scores_
        expected = []
        for alpha in scores.alphas:
            errors = np.zeros(25)
            for i in np.flatnonzero(weight):
                rest = weight.copy()
                rest[i] = 0.0
                one = gm.Ridge(alpha=alpha, kernel=RBF(1.0), fit_intercept=intercept).fit(Z, y, sample_weight=rest)
                errors[i] = (y[i] - one.predict(Z[[i]])[0]) ** 2
            expected.append(np.average(errors, weights=weight))
        np.testing.assert_allclose(scores.mean, expected, rtol=1e-9)
        some = np.flatnonzero(weight)
        used, target, F = weight[some], y[some, None], RBF(1.0)(Z[some], Z[:9])
        by_matrix = KernelPath(target, used, intercept, K=F @ F.T).loo_residuals(np.array(alphas))
        by_factor = KernelPath(target, used, intercept, F=F).loo_residuals(np.array(alphas))
        np.testing.assert_allclose(by_factor, by_matrix, rtol=1e-6, atol=1e-8)


def test_scales_of_every_column_are_searched():
    for kernel in (ANOVA(RBF("auto")), ANOVA((RBF("auto"), Linear(), Matern("auto"))), RBF("auto").centered()):
        model = gm.Ridge(kernel=kernel, cv="loo").fit(X, Y)
        assert len(model.kernel_losses_) == 10
        assert model.kernel_.waits_for() is None
        assert min(model.kernel_losses_.values()) == pytest.approx(model.scores_.mean[model.scores_.chosen], rel=1e-9)


def test_names_that_are_none():
    with pytest.raises(ValueError, match=r"'auto', 'cosine'.*Did you mean 'rbf'"):
        gm.Ridge(kernel="rfb").fit(X, Y)
    with pytest.raises(ValueError, match="Did you mean 'auto'"):
        gm.SVC(kernel="Auto").fit(X, TWO)


def test_intervals_count_a_weight_as_so_many_rows():
    weight = RNG.integers(0, 4, 60).astype(float)
    again = np.repeat(np.arange(60), weight.astype(int))
    for intercept in (True, False):
        model = gm.Ridge(alpha=1e-2, kernel=RBF(1.0), fit_intercept=intercept)
        by_weight = model.fit(X, Y, sample_weight=weight).predict(X, interval=0.9)
        by_rows = model.fit(X[again], Y[again]).predict(X, interval=0.9)
        np.testing.assert_allclose(by_weight, by_rows, rtol=1e-9)
    model = gm.Ridge(alpha=1e-2, kernel=RBF(1.0)).fit(X, Y, sample_weight=np.full(60, 0.01))
    with pytest.raises(ValueError, match=r"total weight of 0\.6 leaves no degrees"):
        model.predict(X, interval=0.9)


def test_targets_that_cannot_be_interpolated_are_reported():
    twice = np.vstack([X[:5], X[:5]])
    with pytest.warns(gm.ConvergenceWarning, match="targets cannot be interpolated"):
        model = gm.Ridge(alpha=0, kernel=RBF(1.0)).fit(twice, np.arange(10.0))
    assert not model.certificate_.holds
    np.testing.assert_allclose(model.predict(twice), np.tile(np.arange(5) + 2.5, 2))


def test_models_without_alpha_choose_their_kernel_too():
    rng = np.random.default_rng(3)
    Z = rng.uniform(-2, 2, (50, 2))
    y = np.where(np.sin(3 * Z[:, 0]) > 0, "up", "down")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        model = gm.Perceptron(kernel="auto", max_iter=5).fit(Z, y)
        losses = {}
        for name in list(model.kernel_losses_)[::9]:
            one = gm.Perceptron(
                kernel=eval(name, {kind: getattr(gm.kernels, kind) for kind in gm.kernels.__all__}), max_iter=5
            )
            folds = splits_of(5, MemoryRows(np.zeros((50, 1)), None, None))
            wrong = [one.fit(Z[train], y[train]).predict(Z[test]) != y[test] for train, test in folds]
            losses[name] = np.concatenate(wrong).mean()
    assert losses == pytest.approx({name: model.kernel_losses_[name] for name in losses})
    assert model.kernel_losses_[repr(model.kernel_)] == min(model.kernel_losses_.values())
    for neighbours in ("auto", 3):
        near = gm.KNeighborsClassifier(n_neighbors=neighbours, kernel=RBF("auto")).fit(Z, y)
        # the nearest rows are the same whatever the length scale
        assert len(set(near.kernel_losses_.values())) == 1
        np.testing.assert_array_equal(near.predict(Z), gm.KNeighborsClassifier(neighbours).fit(Z, y).predict(Z))
    for kernel in ("auto", RBF("auto")):
        assert gm.OneClassSVM(nu=0.2, kernel=kernel).fit(Z).kernel_ == RBF("auto").fitted(Z)
