"""`standardize=True` of every penalised linear estimator: the fit to columns divided by their deviations."""

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold

import gramian as gm
from checks.members import public_classes

UNITS = np.array([1.0, 1000.0, 0.02, 8.0, 1e-3])
GAMMA = np.array([[1.0, -1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, -2.0, 1.0], np.ones(5)])
PENALTIES = [
    gm.penalties.L2(),
    gm.penalties.L1(),
    gm.penalties.ElasticNet(0.3),
    gm.penalties.Tikhonov(GAMMA),
    gm.penalties.GroupL1((0, 0, 1, 1, 1)),
    gm.penalties.Box(-0.3, 0.2, gm.penalties.L2()),
    gm.penalties.NonNegative(gm.penalties.L1()),
    gm.penalties.MCP(),
    gm.penalties.SCAD(),
]
REGRESSORS = [
    gm.Ridge(0.3),
    gm.Ridge(0.3, penalty_factors=[1.0, 0.0, 2.0, 1.0, 0.5]),
    gm.Ridge(0.3, solver="qr"),
    gm.Ridge(0.3, solver=gm.solvers.GradientDescent("line_search", tol=1e-11, max_iter=10_000)),
    gm.Lasso(0.3, tol=1e-12),
    gm.Lasso(0.3, solver="rows", tol=1e-12),
    gm.ElasticNet(0.3, l1_ratio=0.4, tol=1e-12),
    *[gm.Regressor("squared", penalty, 0.2, tol=1e-11) for penalty in PENALTIES],
    *[gm.Regressor("poisson", penalty, 0.05, tol=1e-10) for penalty in PENALTIES[:4]],
    gm.Regressor("huber", "l2", 0.1, tol=1e-10),
    gm.Regressor("absolute", "l2", 0.1),
    gm.Regressor("absolute", "l1", 0.1),
    gm.SVR(0.1, kernel="linear", tol=1e-10),
]
CLASSIFIERS = [
    *[gm.LogisticRegression(0.02, penalty=penalty, tol=1e-10) for penalty in PENALTIES],
    gm.LogisticRegression(0.02, multiclass="ovo", tol=1e-10),
    gm.LogisticRegression(0.02, class_weight="balanced", tol=1e-10),
    gm.LogisticRegression(0.02, penalty="l1", multiclass="joint", tol=1e-10),
    *[gm.Classifier("squared_hinge", penalty, 0.02, tol=1e-10) for penalty in PENALTIES[:6]],
    gm.Classifier("squared_hinge", "l2", 0.02, multiclass="code", code="exhaustive", tol=1e-10),
    gm.Classifier("multi_hinge", "l2", 0.05, tol=1e-10),
    *[gm.SVC(0.05, penalty=penalty) for penalty in PENALTIES[:4]],
]


def test_every_penalised_linear_estimator_is_here():
    kinds = {
        kind
        for kind in public_classes(BaseEstimator)
        if {"alpha", "standardize", "fit_intercept"} <= set(inspect.signature(kind).parameters)
    }
    assert kinds == {type(model) for model in [*REGRESSORS, *CLASSIFIERS]}
    linear = [kind for kind in public_classes(BaseEstimator) if "models.linear" in kind.__module__]
    assert {kind for kind in linear if "alpha" in inspect.signature(kind).parameters} <= kinds


def table(model, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, 5)) + 0.4 * rng.standard_normal((n, 1)) + [0.5, 0.0, -1.0, 0.2, 0.3]) * UNITS
    eta = (X / UNITS) @ [0.8, -0.5, 0.0, 0.4, 0.2]
    if is_classifier(model):
        y = np.digitize(eta + 0.5 * rng.logistic(size=n), [-0.7, 0.5])
    elif "poisson" in repr(model):
        y = rng.poisson(np.exp(0.5 * eta)).astype(float)
    else:
        y = 3.0 * eta + rng.standard_normal(n)
    return X, y, rng.integers(1, 4, n).astype(float)


def deviations(X, w, intercept):
    mean = np.average(X, axis=0, weights=w) if intercept else 0.0
    return np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))


def fit(model, X, y, w):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        return model.fit(X, y, sample_weight=w)


@pytest.mark.parametrize(
    ("weighted", "intercept", "sparse"), [(False, True, False), (True, False, False), (True, True, True)]
)
@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=repr)
def test_equals_the_fit_to_columns_divided_by_their_deviations(model, weighted, intercept, sparse):
    X, y, w = table(model)
    w = w if weighted else None
    unit = deviations(X, w, intercept)
    if model.get_params().get("class_weight") == "balanced":  # a weight of the rows of a class is a weight
        w = (np.ones(len(X)) if w is None else w) / np.bincount(y, w)[y]
        unit = deviations(X, w, intercept)
        model = clone(model).set_params(class_weight=None)
    model = clone(model).set_params(fit_intercept=intercept)
    kind = sp.csr_array if sparse else np.asarray
    found = fit(clone(model).set_params(standardize=True), kind(X), y, w)
    plain = fit(clone(model), kind(X / unit), y, w)
    atol = 2e-4 if not found.certificate_.convex else 1e-5
    np.testing.assert_allclose(found.coef_ * unit, plain.coef_, atol=atol * np.abs(plain.coef_).max())
    np.testing.assert_allclose(found.intercept_, plain.intercept_, atol=atol * max(1.0, np.abs(plain.intercept_).max()))
    assert found.certificate_.holds == plain.certificate_.holds
    assert found.certificate_.claim == plain.certificate_.claim
    if hasattr(plain, "objective_"):
        np.testing.assert_allclose(found.objective_, plain.objective_, rtol=1e-6)


AUTO = [
    gm.Ridge(),
    gm.Ridge(cv="loo"),
    gm.Lasso(tol=1e-10),
    gm.ElasticNet(solver="rows", tol=1e-10),
    gm.Regressor("squared", gm.penalties.Tikhonov(GAMMA)),
    gm.Regressor("squared", "l1", tol=1e-10),
    gm.Regressor("poisson", "l2"),
    gm.Regressor("huber", "l1"),
    gm.Regressor("absolute", "l2"),
    gm.SVR(kernel="linear"),
    gm.LogisticRegression(),
    gm.LogisticRegression(cv="loo"),
    gm.LogisticRegression(penalty="l1"),
    gm.LogisticRegression(multiclass="ovr"),
    gm.Classifier("squared_hinge", gm.penalties.GroupL1((0, 0, 1, 1, 1))),
    gm.SVC(),
]


@pytest.mark.parametrize("model", AUTO, ids=repr)
def test_scores_are_of_the_deviations_of_each_training_part(model):
    n = 24 if model.cv == "loo" else 45
    X, y, w = table(model, n)
    if is_classifier(model):
        y = (y > 0).astype(int)
    X[-9:] *= 3.0  # parts that differ in their deviations
    alphas = [0.5, 0.05]
    splits = list(KFold(n if model.cv == "loo" else 3, shuffle=True, random_state=0).split(X))
    model = clone(model).set_params(alphas=alphas, standardize=True, cv=model.cv if model.cv == "loo" else splits)
    scores = fit(clone(model), X, y, w).scores_
    for a, alpha in enumerate(alphas):
        losses = []
        for train, test in sorted(splits, key=lambda pair: pair[1][0] if model.cv == "loo" else 0):
            unit = deviations(X[train], w[train], True)
            single = clone(model).set_params(alpha=alpha, standardize=False, cv=3)
            part = fit(single, X[train] / unit, y[train], w[train])
            losses.append(validation_loss(model, part, X[test] / unit, y[test], w[test]))
        np.testing.assert_allclose(scores.folds[a], losses, rtol=2e-5, atol=1e-8)


def validation_loss(model, part, X, y, w):
    if is_classifier(part):
        f, sign = part.decision_function(X), 2.0 * y - 1.0
        loss = part._loss.value(sign, f)
    elif isinstance(model, gm.SVR):
        loss = np.maximum(0.0, np.abs(y - part.predict(X)) - part.epsilon)
    elif isinstance(model, gm.Regressor) and model.loss == "huber":
        loss = part.scale_ * (1.0 + gm.losses.Huber().at(part.scale_).value(y, part.predict(X)))
    elif isinstance(model, gm.Regressor) and model.loss == "poisson":
        f = np.log(part.predict(X))
        loss = np.exp(f) - y * f
    elif isinstance(model, gm.Regressor) and model.loss == "absolute":
        loss = np.abs(y - part.predict(X))
    else:
        loss = (y - part.predict(X)) ** 2
    return np.average(loss, weights=w)


@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=repr)
def test_units_of_the_columns_do_not_change_predictions(model):
    X, y, w = table(model)
    factor = np.array([1000.0, 2.0**-20, 1.0, 2.0**40, 0.1])
    model = clone(model).set_params(standardize=True)
    plain, scaled = fit(clone(model), X, y, w), fit(clone(model), X * factor, y, w)
    np.testing.assert_allclose(scaled.coef_ * factor, plain.coef_, rtol=1e-4, atol=1e-5 * np.abs(plain.coef_).max())
    if is_classifier(model):
        a, b = plain.decision_function(X), scaled.decision_function(X * factor)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    else:
        np.testing.assert_allclose(plain.predict(X), scaled.predict(X * factor), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=repr)
def test_constant_columns_have_no_coefficient_and_change_nothing(model):
    X, y, w = table(model)
    model = clone(model).set_params(standardize=True)
    params = model.get_params(deep=False)
    if isinstance(params.get("penalty"), gm.penalties.GroupL1 | gm.penalties.Tikhonov):
        pytest.skip("has one entry for each column")
    if params.get("penalty_factors") is not None:
        model.set_params(penalty_factors=[*params["penalty_factors"], 1.0])
        plain = fit(clone(model).set_params(penalty_factors=params["penalty_factors"]), X, y, w)
    else:
        plain = fit(clone(model), X, y, w)
    found = fit(model, np.column_stack([X, np.full(len(X), 7.0)]), y, w)
    coef, before = np.atleast_2d(found.coef_), np.atleast_2d(plain.coef_)
    np.testing.assert_allclose(coef[:, -1], 0.0, atol=1e-12)
    np.testing.assert_allclose(coef[:, :-1], before, rtol=1e-4, atol=1e-4 * np.abs(before).max())


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_summaries_are_those_of_the_divided_columns(fit_intercept):
    for model in (
        gm.Ridge(0.3),
        gm.Regressor("squared", "l2", 0.3),
        gm.Regressor("huber", "l2", 0.3, tol=1e-10),
        gm.Regressor("poisson", "l2", 0.3, tol=1e-10),
        gm.LogisticRegression(0.02, tol=1e-10),
    ):
        X, y, w = table(model)
        y = (y > 0).astype(int) if is_classifier(model) else y
        unit = deviations(X, w, fit_intercept)
        model.set_params(fit_intercept=fit_intercept)
        found = fit(clone(model).set_params(standardize=True), X, y, w).summary().coefficients
        plain = fit(clone(model), X / unit, y, w).summary().coefficients
        unit = np.append(1.0, unit) if fit_intercept else unit
        for name in ("estimate", "error", "low", "high"):
            np.testing.assert_allclose(found[name] * unit, plain[name], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found["p"], plain["p"], rtol=1e-4, atol=1e-9)


def test_hard_margins_of_divided_columns():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 5)) * UNITS
    y, w = ((X / UNITS) @ [1.0, -1.0, 0.5, 0.0, 0.2] > 0).astype(int), rng.integers(1, 4, 40).astype(float)
    unit = deviations(X, w, True)
    found, plain = gm.SVC(0, standardize=True).fit(X, y, sample_weight=w), gm.SVC(0).fit(X / unit, y, sample_weight=w)
    np.testing.assert_allclose(found.coef_ * unit, plain.coef_, rtol=1e-6)
    np.testing.assert_array_equal(found.support_, plain.support_)


def test_more_columns_than_rows():
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((30, 80)) * 10.0 ** rng.uniform(-2, 2, 80), np.ones(30)
    y = (X[:, 0] / np.std(X[:, 0]) > 0).astype(int)
    unit = deviations(X, w, True)
    for model in (gm.SVC(0.01), gm.LogisticRegression(0.01), gm.LogisticRegression(0.01, penalty="l1"), gm.Ridge(0.1)):
        found, plain = clone(model).set_params(standardize=True).fit(X, y), clone(model).fit(X / unit, y)
        assert found.certificate_.holds
        np.testing.assert_allclose(found.coef_ * unit, plain.coef_, atol=1e-5 * np.abs(plain.coef_).max())


@pytest.mark.parametrize("data", [gm.moments, gm.triangle])
def test_sums_suffice(data):
    model = gm.Ridge(0.3, standardize=True)
    X, y, w = table(model)
    plain = clone(model).fit(X, y, sample_weight=w)
    other = gm.Regressor("squared", "l2", 0.3, standardize=True).fit(data(X, y, sample_weight=w))
    np.testing.assert_allclose(clone(model).fit(data(X, y, sample_weight=w)).coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-9)
    unit = deviations(X, w, True)
    objective = np.average((y - plain.predict(X)) ** 2, weights=w) + 0.3 * np.sum((unit * plain.coef_) ** 2)
    np.testing.assert_allclose(other.objective_, objective, rtol=1e-9)


@pytest.mark.parametrize("kind", [gm.Ridge, gm.Regressor, gm.LogisticRegression, gm.Classifier, gm.SVC, gm.SVR])
def test_kernels_that_are_not_of_columns_are_refused(kind):
    model = kind(alpha=0.1, kernel="rbf", standardize=True)
    X, y, _ = table(model)
    with pytest.raises(ValueError, match=r"With kernel= the penalty is .*standardize"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", [gm.Ridge, gm.Lasso, gm.Regressor, gm.LogisticRegression, gm.SVC, gm.SVR])
def test_it_is_true_or_false(kind):
    X, y, _ = table(kind())
    with pytest.raises(TypeError, match="standardize is 1; it must be True or False"):
        kind(alpha=0.1, standardize=1).fit(X, y)
