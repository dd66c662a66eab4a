"""The general linear regression against its special cases, other libraries, brute force and separate fits."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy.optimize import linprog, lsq_linear, minimize, nnls
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor, PoissonRegressor, QuantileRegressor
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, ShuffleSplit

import gramian as gm

L, P = gm.losses, gm.penalties


def table(seed, n=120, d=5, counts=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4) + rng.standard_normal(d)
    eta = (X - X.mean(axis=0)) @ np.where(np.arange(d) % 2, 0.0, 0.8 * np.cos(np.arange(d)))
    if counts:
        return X, rng.poisson(np.exp(np.clip(0.5 * eta, -3, 3) + 1.0)).astype(float)
    return X, eta + rng.standard_t(3, n) + 2.0


def loss_value(loss, model, X, y, w=None):
    """The mean loss of a fit on some rows, written out."""
    f = X @ model.coef_ + model.intercept_
    joint = isinstance(loss, L.Huber | L.StudentT) and loss.scale is None
    value = loss.joint(y, f, model.scale_) if joint else loss.value(y, f)
    return np.average(value, weights=w)


# special cases

DIFFERENCES = np.diff(np.eye(5), axis=0)
NAMED = [
    ("l2", gm.Ridge, {}),
    (P.Tikhonov(DIFFERENCES), gm.Ridge, {"matrix": DIFFERENCES}),
    ("l1", gm.Lasso, {"tol": 1e-8}),
    ("elastic_net", gm.ElasticNet, {"tol": 1e-8}),
    (P.ElasticNet(0.2), gm.ElasticNet, {"tol": 1e-8, "l1_ratio": 0.2}),
    (None, gm.LinearRegression, {}),
]
DATA = ["plain", "weights", "targets", "wide", "sparse", "constant", "scan", "frame"]


def data_of(kind, d=5):
    """Arguments of `fit`, and rows to predict."""
    X, y = table(31, n=60 if kind != "wide" else 4, d=d)
    w = np.random.default_rng(31).integers(0, 3, len(y)).astype(float) if kind == "weights" else None
    if kind == "targets":
        y = np.column_stack([y, 2.0 * y + X[:, 1] ** 2])
    if kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    if kind == "constant":
        X[:, 2] = 3.0
    if kind == "scan":
        return (gm.scan(X, y),), {}, X
    if kind == "frame":
        X = pd.DataFrame(X, columns=list("abcde"))
    return (X, y), {"sample_weight": w}, X


def same(a, b, name):
    """Whether two fitted attributes are equal to the bit, field by field where they are records."""
    if hasattr(a, "__dataclass_fields__"):
        assert type(a) is type(b), name
        for field in a.__dataclass_fields__:
            same(getattr(a, field), getattr(b, field), f"{name}.{field}")
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), name
        for key in a:
            same(a[key], b[key], f"{name}[{key}]")
    elif isinstance(a, tuple):
        assert len(a) == len(b), name
        for one, two in zip(a, b, strict=True):
            same(one, two, name)
    elif isinstance(a, np.ndarray | float):
        np.testing.assert_array_equal(a, b, err_msg=name)
    else:
        assert a == b, name


def outcome(predict):
    """What a call returns, or the text of its refusal without the name of the estimator."""
    try:
        return predict()
    except ValueError as error:
        return str(error).replace("Regressor", "").replace("Lasso", "").replace("ElasticNet", "")


OPTIONS = [
    {},
    {"alpha": 0.3},
    {"alpha": 0.1, "alphas": [1.0, 0.5]},
    {"alphas": [1.0, 0.1, 0.01], "cv": 3},
    {"alphas": [1.0, 0.1], "cv": "loo"},
    {"rule": "one_se", "cv": KFold(2), "fit_intercept": False},
]


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize(("penalty", "named", "given"), NAMED, ids=lambda value: str(value)[:12])
def test_squared_loss_is_the_named_estimator(penalty, named, given, kind):
    """The same fit to the bit: every attribute, warnings, the summary, predictions and intervals."""
    arguments, weight, Z = data_of(kind)
    for options in OPTIONS:
        every = {"cv": 2, **options} if kind == "wide" else options
        known = {k: v for k, v in every.items() if k in named().get_params()}
        messages, fits = [], []
        for model in (named(**known, **given), gm.Regressor("squared", penalty, **every)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fits.append(model.fit(*arguments, **weight))
            messages.append([str(w.message) for w in caught])
        assert messages[0] == messages[1]
        special, general = fits
        fitted = {"coef_", *(name for name in vars(special) if name.endswith("_") and not name.startswith("_"))}
        assert {"certificate_", "solver_", "intercept_"} <= fitted
        for name in fitted:
            same(getattr(special, name), getattr(general, name), name)
        one, two = special.summary(), general.summary()
        same(one.coefficients, two.coefficients, "coefficients")
        same(one.facts, {k: one.facts[k] if k == "objective" else two.facts[k] for k in one.facts}, "facts")
        assert one.notes == two.notes
        same(special.predict(Z), general.predict(Z), "predictions")
        for of in ("observation", "mean"):
            intervals = [outcome(lambda model=model, of=of: model.predict(Z, 0.9, of)) for model in fits]
            same(*intervals, "interval")
            if issubclass(named, gm.ElasticNet):
                assert "no prediction intervals" in intervals[0]
        if not issubclass(named, gm.ElasticNet):
            same(special.log_likelihood(), general.log_likelihood(), "log-likelihood")


@pytest.mark.parametrize(("penalty", "named", "given"), NAMED, ids=lambda value: str(value)[:12])
def test_squared_loss_is_fitted_from_sums(penalty, named, given):
    X, y = table(32)
    alpha = {} if penalty is None else {"alpha": 0.2}
    for data in (gm.moments(X, y), gm.triangle(X, y)):
        if issubclass(named, gm.ElasticNet) and isinstance(data, gm.Triangle):
            with pytest.raises(ValueError, match="Regressor fits from rows or Moments"):
                gm.Regressor("squared", penalty, **alpha).fit(data)
            continue
        special, general = named(**alpha, **given).fit(data), gm.Regressor("squared", penalty, **alpha).fit(data)
        np.testing.assert_array_equal(special.coef_, general.coef_)
        assert str(special.certificate_) == str(general.certificate_)
        assert special.solver_ == general.solver_
    for other in (gm.Regressor("huber", "l2", 0.1), gm.Regressor("squared", P.GroupL1(), 0.1)):
        with pytest.raises(ValueError, match="cannot be fitted from Moments alone: only the squared loss"):
            other.fit(gm.moments(X, y))


def test_objective_of_the_squared_loss():
    X, y = table(33)
    Y = np.column_stack([y, X[:, 0] - y])
    w = np.random.default_rng(33).integers(0, 3, len(y)).astype(float)
    for penalty in (None, "l2", "l1", P.ElasticNet(0.3), P.Tikhonov(DIFFERENCES)):
        model = gm.Regressor("squared", penalty, 0.2).fit(X, Y, sample_weight=w)
        alpha = 0.0 if penalty is None else 0.2
        for j in range(2):
            cost = model.penalty.value if hasattr(model.penalty, "value") else {"l2": P.L2(), "l1": P.L1()}.get(penalty)
            cost = getattr(cost, "value", cost) or (lambda coef: 0.0)
            value = np.average((Y[:, j] - model.predict(X)[:, j]) ** 2, weights=w) + alpha * cost(model.coef_[j])
            np.testing.assert_allclose(model.objective_[j], value, rtol=1e-10)
        assert model.alpha_ == alpha
        assert model.n_iter_ >= 1


def test_solvers_of_the_named_estimators():
    X, y = table(34)
    assert gm.Regressor("squared", "l2", 0.1, solver="qr").fit(X, y).solver_.name == "QR"
    rows = gm.Regressor("squared", "l1", 0.1, solver="rows").fit(X, y)
    np.testing.assert_allclose(rows.coef_, gm.Regressor("squared", "l1", 0.1).fit(X, y).coef_, atol=1e-9)
    for loss, penalty, solver in (("huber", "l2", "qr"), ("squared", "l2", "rows"), ("squared", "l1", "cholesky")):
        with pytest.raises(ValueError, match=f"solver is '{solver}'"):
            gm.Regressor(loss, penalty, 0.1, solver=solver).fit(X, y)


def test_a_penalty_declares_by_its_terms_that_it_is_quadratic():
    class Weighted(P.L2):
        def value(self, w):
            return float(np.arange(1, len(w) + 1) @ w**2)

        def parts(self, d):
            return replace(super().parts(d), square=np.arange(1.0, d + 1))

    X, y = table(35)
    model = gm.Regressor("squared", Weighted()).fit(X, y)
    exact = gm.Ridge(penalty_factors=np.arange(1.0, 6.0)).fit(X, y)
    np.testing.assert_array_equal(model.coef_, exact.coef_)
    assert model.alpha_ == exact.alpha_


def test_squared_loss_with_other_penalties_or_callbacks_goes_to_general_solvers():
    X, y = table(36)
    seen = []
    model = gm.Regressor("squared", "l2", 0.1, callbacks=[lambda step, state: seen.append(step)]).fit(X, y)
    assert seen
    assert model.solver_.name == "Newton"
    np.testing.assert_allclose(model.coef_, gm.Ridge(0.1).fit(X, y).coef_, rtol=1e-8)
    assert not hasattr(model, "noise_variance_")
    with pytest.raises(ValueError, match="no prediction intervals"):
        model.predict(X, interval=0.9)
    huge = gm.Regressor("squared", "l1", 0.1).fit(X * 1e150, y)
    assert huge.solver_.name != "active set on the Gram matrix"


@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_lasso_and_elastic_net(intercept):
    X, y = table(0)
    w = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    pairs = [
        (gm.Regressor("squared", "l2", 0.3), gm.Ridge(0.3)),
        (gm.Regressor("squared", "l1", 0.3), gm.Lasso(0.3)),
        (gm.Regressor("squared", P.ElasticNet(0.4), 0.3), gm.ElasticNet(0.3, l1_ratio=0.4)),
        (gm.Regressor("squared", None), gm.LinearRegression()),
        (gm.Regressor(L.Power(2.0), "l2", 0.3), gm.Ridge(0.3)),
        (gm.Regressor(L.Huber(1e6, 1.0), "l2", 0.3), gm.Ridge(0.3)),
    ]
    for general, special in pairs:
        for weight in (None, w):
            a = general.set_params(fit_intercept=intercept).fit(X, y, sample_weight=weight)
            b = special.set_params(fit_intercept=intercept).fit(X, y, sample_weight=weight)
            np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-6, atol=1e-7)
            assert a.certificate_.holds


def test_names_and_objects_are_the_same():
    X, y = table(1)
    for name, loss in (("squared", L.Squared()), ("absolute", L.Absolute()), ("student_t", L.StudentT())):
        for text, penalty in (("l2", P.L2()), ("l1", P.L1()), ("elastic_net", P.ElasticNet()), (None, P.Zero())):
            a = gm.Regressor(name, text, 0.1).fit(X, y)
            b = gm.Regressor(loss, penalty, 0.1).fit(X, y)
            np.testing.assert_array_equal(a.coef_, b.coef_)
    q = gm.Regressor("quantile", "l1", 0.1).fit(X, y)
    np.testing.assert_allclose(2 * q.objective_, gm.Regressor("absolute", "l1", 0.2).fit(X, y).objective_, rtol=1e-9)
    one = gm.Regressor(L.Power(1.0), "l1", 0.1).fit(X, y)
    np.testing.assert_allclose(one.coef_, gm.Regressor("absolute", "l1", 0.1).fit(X, y).coef_, rtol=1e-9)


# other libraries


@pytest.mark.parametrize("alpha", [1e-4, 0.1])
def test_huber_against_scikit_learn(alpha):
    X, y = table(2)
    n, delta = len(y), 1.35
    ours = gm.Regressor(L.Huber(delta), "l2", alpha).fit(X, y)
    theirs = HuberRegressor(epsilon=delta, alpha=n * alpha, max_iter=2000, tol=1e-10).fit(X, y)

    def objective(coef, b, s):
        z = np.abs(y - X @ coef - b) / s
        huber = np.where(z < delta, z**2, 2 * delta * z - delta**2)
        return (s + huber * s).mean() + alpha * coef @ coef

    mine = objective(ours.coef_, ours.intercept_, ours.scale_)
    np.testing.assert_allclose(mine, ours.objective_, rtol=1e-12)
    assert mine <= objective(theirs.coef_, theirs.intercept_, theirs.scale_) * (1 + 1e-12)
    np.testing.assert_allclose(mine, objective(theirs.coef_, theirs.intercept_, theirs.scale_), rtol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.02)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_quantiles_against_scikit_learn(q, alpha):
    X, y = table(3)
    ours = gm.Regressor(L.Quantile(q), "l1", alpha).fit(X, y)
    theirs = QuantileRegressor(quantile=q, alpha=alpha, solver="highs").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    if alpha == 0:
        assert abs((y < ours.predict(X) - 1e-9).mean() - q) <= 6 / len(y)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_poisson_against_scikit_learn(alpha):
    X, y = table(4, counts=True)
    w = np.random.default_rng(4).integers(0, 3, len(y)).astype(float)
    ours = gm.Regressor("poisson", "l2", alpha).fit(X, y, sample_weight=w)
    theirs = PoissonRegressor(alpha=2 * alpha, solver="newton-cholesky", tol=1e-12).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert (ours.predict(X) > 0).all()


def test_poisson_errors_against_statsmodels():
    X, y = table(5, counts=True)
    w = np.random.default_rng(5).integers(1, 4, len(y))
    theirs = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson(), freq_weights=w).fit(tol=1e-12)
    found = gm.Regressor("poisson", None).fit(X, y, sample_weight=w).summary().coefficients
    np.testing.assert_allclose(found["estimate"], theirs.params, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found["error"], theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(found["p"], theirs.pvalues, rtol=1e-4, atol=1e-12)
    interval = np.column_stack([found["low"], found["high"]])
    np.testing.assert_allclose(interval, theirs.conf_int(), rtol=1e-5, atol=1e-6)


def test_squared_errors_are_the_sandwich_of_statsmodels():
    X, y = table(6)
    theirs = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC3", use_t=True)
    found = gm.Regressor("squared", None, solver="newton").fit(X, y).summary().coefficients
    np.testing.assert_allclose(found["estimate"], theirs.params, rtol=1e-8)
    np.testing.assert_allclose(found["error"], theirs.bse, rtol=1e-7)
    np.testing.assert_allclose(found["p"], theirs.pvalues, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [L.Squared(), L.Huber(1.0, 0.8), L.Power(3.0)], ids=repr)
def test_sandwich_by_its_formula(loss, intercept):
    """H⁻¹ J H⁻¹ / n with the penalty in H and gradients over 1 − leverage in J, in raw columns."""
    X, y = table(7)
    alpha = 0.05
    solver = "newton" if loss == L.Squared() else "auto"  # "auto" has the standard errors of ridge regression
    model = gm.Regressor(loss, "l2", alpha, fit_intercept=intercept, tol=1e-11, solver=solver).fit(X, y)
    Z = np.column_stack([np.ones(len(y)), X]) if intercept else X
    f = X @ model.coef_ + model.intercept_
    H = (Z * loss.curvature(y, f)[:, None]).T @ Z / len(y)
    H += 2 * alpha * np.diag([0.0] * intercept + [1.0] * X.shape[1])
    leverage = loss.curvature(y, f) * np.einsum("ij,ji->i", Z, np.linalg.solve(H, Z.T)) / len(y)
    J = (Z * (loss.gradient(y, f) / (1 - leverage))[:, None] ** 2).T @ Z / len(y)
    error = np.sqrt(np.diagonal(np.linalg.solve(H, np.linalg.solve(H, J).T)) / len(y))
    np.testing.assert_allclose(model.summary().coefficients["error"], error, rtol=1e-6)


def test_student_t_by_maximum_likelihood():
    X, y = table(8)
    model = gm.Regressor(L.StudentT(4.0), None).fit(X, y)
    d = X.shape[1]

    def value(v):
        return L.StudentT(4.0, np.exp(v[d + 1])).value(y, X @ v[:d] + v[d]).mean()

    start = np.append(np.append(np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0], y.mean()), 0.0)
    reference = minimize(value, start, method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(model.objective_, reference.fun, rtol=1e-9)
    np.testing.assert_allclose(model.coef_, reference.x[:d], atol=1e-4)
    np.testing.assert_allclose(model.scale_, np.exp(reference.x[d + 1]), rtol=1e-4)
    np.testing.assert_allclose(model.log_likelihood(), -len(y) * reference.fun, rtol=1e-9)


def test_least_absolute_deviations_by_linear_programming():
    X, y = table(9)
    n, d = X.shape
    eye = np.eye(n)
    A = np.hstack([X, np.ones((n, 1)), -eye, eye])
    bounds = [(None, None)] * (d + 1) + [(0, None)] * (2 * n)
    reference = linprog(np.append(np.zeros(d + 1), np.full(2 * n, 1 / n)), A_eq=A, b_eq=y, bounds=bounds)
    model = gm.Regressor("absolute", None).fit(X, y)
    np.testing.assert_allclose(model.objective_, reference.fun, rtol=1e-10)
    np.testing.assert_allclose(np.abs(y - model.predict(X)).mean(), reference.fun, rtol=1e-9)


def test_bounds_against_scipy():
    X, y = table(10)
    model = gm.Regressor("squared", "non_negative", fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, nnls(X, y)[0], atol=1e-7)
    assert (model.coef_ >= 0).all()
    assert (model.coef_ == 0).any()
    low, high = np.array([-0.1, -np.inf, 0.0, -1.0, -1.0]), np.array([0.2, 0.05, 0.0, np.inf, 0.1])
    model = gm.Regressor("squared", P.Box(low, high)).fit(X, y)
    reference = lsq_linear(X - X.mean(0), y - y.mean(), (low, np.where(high == low, 1e-300, high)), tol=1e-14)
    np.testing.assert_allclose(model.coef_, reference.x, atol=1e-6)
    assert ((model.coef_ >= low) & (model.coef_ <= high)).all()
    assert not hasattr(model, "scores_")  # bounds have no strength to choose


@pytest.mark.parametrize("loss", [L.Squared(), L.Poisson()], ids=repr)
def test_groups_against_proximal_gradients(loss):
    X, y = table(11, d=6, counts=loss.targets == "counts")
    groups, alpha = ("a", "b", "a", "c", "b", "c"), 0.15
    model = gm.Regressor(loss, P.GroupL1(groups), alpha).fit(X, y)
    penalty = P.GroupL1(groups)
    Z, n = X - X.mean(axis=0), len(y)
    c, b, v, t = np.zeros(6), loss.start(y.mean()), np.zeros(6), 1.0
    bend = 2.0 if loss.targets == "numbers" else 3.0 * y.max()
    step = n / (bend * np.linalg.norm(Z, 2) ** 2)
    for _ in range(20_000):  # accelerated, from scratch where it turns back
        g = loss.gradient(y, Z @ v + b)
        new = penalty.prox(v - step * (Z.T @ g) / n, step * alpha)
        for _ in range(3):
            b -= loss.gradient(y, Z @ new + b).mean() / loss.curvature(y, Z @ new + b).mean()
        if (v - new) @ (new - c) > 0:
            t = 1.0
        grown = (1 + np.sqrt(1 + 4 * t * t)) / 2
        v, moved = new + (t - 1) / grown * (new - c), np.abs(new - c).max()
        c, t = new, grown
        if moved < 1e-13:
            break
    np.testing.assert_allclose(model.coef_, c, atol=1e-6)
    np.testing.assert_array_equal(model.coef_ == 0, c == 0)
    strong = gm.Regressor(loss, P.GroupL1(groups), 1e3).fit(X, y)
    np.testing.assert_array_equal(strong.coef_, 0.0)


# targets, homes, weights


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "student_t", "power"])
def test_several_targets_are_fitted_one_by_one(loss):
    X, y = table(12)
    Y = np.column_stack([y, 3.0 * y + X[:, 1] ** 2, -y])
    model = gm.Regressor(loss, "l2", 0.1).fit(X, Y)
    assert model.coef_.shape == (3, 5)
    assert model.intercept_.shape == (3,)
    assert model.predict(X).shape == Y.shape
    for j in range(3):
        one = gm.Regressor(loss, "l2", 0.1).fit(X, Y[:, j])
        np.testing.assert_allclose(model.coef_[j], one.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.objective_[j], one.objective_, rtol=1e-9)
        if hasattr(one, "scale_"):
            np.testing.assert_allclose(model.scale_[j], one.scale_, rtol=1e-9)
    assert list(model.summary().coefficients["target"]) == [0] * 6 + [1] * 6 + [2] * 6
    shared = gm.Regressor(loss, "l2", alphas=[1.0, 0.1, 0.01], cv=KFold(3)).fit(X, Y)
    alone = [gm.Regressor(loss, "l2", alphas=[1.0, 0.1, 0.01], cv=KFold(3)).fit(X, Y[:, j]) for j in range(3)]
    np.testing.assert_allclose(shared.scores_.folds, np.mean([m.scores_.folds for m in alone], axis=0), rtol=1e-4)
    assert shared.path_.coefs.shape == (3, 3, 5)


def test_every_home_of_the_data():
    X, y = table(13)
    X[:, 1] *= np.random.default_rng(0).random(len(y)) < 0.4
    names = ["a", "b", "c", "d", "e"]
    frame = pd.DataFrame(X, columns=names)
    first = gm.Regressor("huber", "l1", 0.1).fit(X, y)
    for data in (frame, pl.DataFrame(frame), sp.csr_array(X), sp.csc_matrix(X), np.asfortranarray(X)):
        found = gm.Regressor("huber", "l1", 0.1).fit(data, y)
        np.testing.assert_allclose(found.coef_, first.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.predict(data), first.predict(X), rtol=1e-6)
    rows = gm.Regressor("huber", "l1", 0.1).fit(gm.scan(X, y))
    np.testing.assert_array_equal(rows.coef_, first.coef_)
    small = gm.Regressor("huber", "l1", 0.1).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(small.coef_, first.coef_, atol=1e-5)
    named = gm.Regressor("huber", "l1", 0.1).fit(frame, y)
    assert list(named.summary().coefficients["name"]) == ["intercept", *names]
    with pytest.raises(ValueError, match="cannot be fitted from Moments"):
        gm.Regressor().fit(gm.moments(X, y))


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "student_t", "poisson", "power"])
def test_weights_are_repetition(loss):
    X, y = table(14, counts=True)
    w = np.random.default_rng(14).integers(0, 4, len(y))
    a = gm.Regressor(loss, "l2", 0.1, tol=1e-10).fit(X, y, sample_weight=w)
    b = gm.Regressor(loss, "l2", 0.1, tol=1e-10).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-10)
    one, two = a.summary().coefficients, b.summary().coefficients
    assert one.keys() == two.keys()
    for key in set(one) - {"name"}:
        np.testing.assert_allclose(one[key], two[key], rtol=1e-6, atol=1e-9)


# the choice of alpha


CHOSEN = [
    ("squared", "l2"), ("squared", "l1"), ("poisson", "l2"), ("poisson", "elastic_net"), ("absolute", "l2"),
    ("absolute", "l1"), ("huber", "l2"), ("huber", "l1"), (L.Huber(1.0, 0.8), "l2"), ("student_t", "l2"),
    (L.Power(3.0), "l2"), (L.Quantile(0.8), "l1"), ("squared", P.GroupL1((0, 0, 1, 1, 1))),
    ("squared", P.NonNegative(P.L1())), ("squared", P.Tikhonov(np.diff(np.eye(5), axis=0))),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "penalty"), CHOSEN, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_separate_fits(loss, penalty, weighted):
    X, y = table(15, n=90, counts=loss == "poisson")
    w = np.random.default_rng(15).integers(0, 3, len(y)).astype(float) if weighted else None
    alphas, cv = [1.0, 0.1, 0.01], KFold(5)
    model = gm.Regressor(loss, penalty, alphas=alphas, cv=cv).fit(X, y, sample_weight=w)
    table_ = np.empty((3, 5))
    for k, (train, test) in enumerate(cv.split(X)):
        part = [None, None] if w is None else [w[train], w[test]]
        for a, alpha in enumerate(alphas):
            one = gm.Regressor(loss, penalty, alpha).fit(X[train], y[train], sample_weight=part[0])
            table_[a, k] = loss_value(one._loss, one, X[test], y[test], part[1])
    np.testing.assert_allclose(model.scores_.folds, table_, rtol=1e-5, atol=1e-5 * np.abs(table_).mean())
    assert model.alpha_ == alphas[int(table_.mean(axis=1).argmin())]
    assert model.scores_.best == int(model.scores_.mean.argmin())
    np.testing.assert_allclose(model.path_.alphas, alphas)
    for a, alpha in enumerate(alphas):
        one = gm.Regressor(loss, penalty, alpha).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(model.path_.coefs[a], one.coef_, atol=2e-4)
        np.testing.assert_allclose(model.path_.intercepts[a], one.intercept_, atol=1e-3)
        if alpha == model.alpha_:
            np.testing.assert_allclose(model.coef_, one.coef_, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "student_t", L.Power(1.5)], ids=repr)
def test_the_choice_does_not_depend_on_the_units_of_y(loss):
    X, y = table(16)
    free = gm.Regressor(loss, None).fit(X, y)
    shares = [
        np.linalg.norm(gm.Regressor(loss, "l2", cv=KFold(4)).fit(X, y * unit).coef_ / unit) / np.linalg.norm(free.coef_)
        for unit in (1.0, 1e-4, 1e6)
    ]
    assert 0.5 < shares[0] <= 1.01  # the columns do matter here
    np.testing.assert_allclose(shares, shares[0], rtol=0.05)


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("loss", ["poisson", "student_t", "squared", "huber"])
def test_the_best_alpha_has_the_smallest_loss_whatever_its_sign(loss, scale):
    """−log densities and exp(f) − y f fall below zero."""
    X, y = table(16, counts=True)
    y = y * scale if loss == "poisson" else y / scale
    model = gm.Regressor(loss, "l2").fit(X, y)
    assert model.scores_.best == int(model.scores_.mean.argmin())
    assert model.alpha_ == model.scores_.alphas[model.scores_.best]


@pytest.mark.parametrize(
    ("loss", "seed"), [("squared", 0), ("squared", 1), ("poisson", 2), (L.Huber(1.0, 0.8), 3)], ids=repr
)
def test_leave_one_out_from_one_fit(loss, seed):
    X, y = table(30 + seed, n=50, d=8, counts=loss == "poisson")
    alphas = np.geomspace(10, 1e-3, 9)
    model = gm.Regressor(loss, "l2", alphas=alphas, cv="loo").fit(X, y)
    true = np.empty((len(alphas), len(y)))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        for a, alpha in enumerate(alphas):
            one = gm.Regressor(loss, "l2", alpha, tol=1e-6).fit(X[rest], y[rest])
            true[a, i] = loss_value(one._loss, one, X[[i]], y[[i]])
    mean = true.mean(axis=1)
    chosen = int(np.flatnonzero(model.scores_.alphas == model.alpha_)[0])
    assert mean[chosen] - mean.min() <= 0.01 * np.abs(mean.min())
    np.testing.assert_allclose(model.scores_.mean, mean, rtol=0.005 if loss == "squared" else 0.05)
    assert model.scores_.folds.shape == (9, 50)


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_leave_one_out_by_leaving_one_out(loss):
    X, y = table(17, n=18, d=2)
    by_name = gm.Regressor(loss, "l2", alphas=[1.0, 0.01], cv="loo").fit(X, y)
    by_splitter = gm.Regressor(loss, "l2", alphas=[1.0, 0.01], cv=LeaveOneOut()).fit(X, y)
    np.testing.assert_allclose(by_name.scores_.folds, by_splitter.scores_.folds, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("cv", [3, KFold(3, shuffle=True, random_state=0), ShuffleSplit(4, random_state=0)], ids=repr)
def test_a_grid_is_made_and_refined(cv):
    X, y = table(18)
    model = gm.Regressor("squared", "l1", cv=cv).fit(X, y)
    assert (np.diff(model.scores_.alphas) < 0).all()
    assert len(model.scores_.alphas) > 20  # refined around the best
    assert model.scores_.mean[model.scores_.chosen] == model.scores_.mean.min()
    top = gm.Regressor("squared", "l1", model.scores_.alphas.max()).fit(X, y)
    assert (top.coef_ == 0).sum() >= 4
    again = gm.Regressor("squared", "l1", cv=cv).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    careful = gm.Regressor("squared", "l1", cv=cv, rule="one_se").fit(X, y)
    assert careful.alpha_ >= model.alpha_


def test_a_fit_forgets_the_one_before():
    X, y = table(19)
    model = gm.Regressor("huber", "l2").fit(X, y)
    assert hasattr(model, "scores_")
    assert hasattr(model, "path_")
    assert hasattr(model, "scale_")
    model.set_params(loss="squared", alpha=0.1).fit(X, y)
    assert not hasattr(model, "scores_")
    assert not hasattr(model, "path_")
    assert not hasattr(model, "scale_")
    none = gm.Regressor("squared", None).fit(X, y)
    assert none.alpha_ == 0.0
    assert not hasattr(none, "scores_")


# what it tells of itself


def test_summary_and_attributes():
    X, y = table(20)
    model = gm.Regressor("huber", "l2").fit(X, y)
    summary = model.summary()
    assert list(summary.coefficients) == ["name", "estimate", "error", "low", "high", "p"]
    assert summary.coefficients["name"][0] == "intercept"
    np.testing.assert_array_equal(summary.coefficients["estimate"], np.append(model.intercept_, model.coef_))
    assert summary.facts["alpha"] == model.alpha_
    assert summary.facts["n"] == len(y)
    assert summary.facts["scale"] == model.scale_
    assert "Huber" in summary.facts["loss"]
    for text in ("std. error", "x0", "alpha", "validation loss"):
        assert text in str(summary)
    assert "<table>" in summary._repr_html_()
    assert model.solver_.name
    assert model.solver_.reason
    assert model.n_iter_ == len(model.history_) - 1
    assert model.history_[-1][1] == pytest.approx(model.objective_, rel=1e-9)
    for penalty, loss in (("l1", "squared"), ("l2", "absolute"), ("l2", L.Power(1.5))):
        bare = gm.Regressor(loss, penalty, 0.1).fit(X, y).summary()
        assert "error" not in bare.coefficients
        assert "Standard errors are not given" in str(bare)
    assert gm.Regressor("student_t", "l2", 0.1).fit(X, y).certificate_.claim == "stationary point"


def test_log_likelihood_is_of_the_rows_alone():
    X, y = table(21)
    for alpha in (0.0, 0.5):
        model = gm.Regressor(L.StudentT(4.0), "l2", alpha).fit(X, y)
        density = L.StudentT(4.0, model.scale_).value(y, model.predict(X))
        np.testing.assert_allclose(model.log_likelihood(), -density.sum(), rtol=1e-9)
    for loss in ("squared", "absolute", "huber"):
        with pytest.raises(ValueError, match="−log of a density"):
            gm.Regressor(loss, "l2", 0.1, solver="newton" if loss == "squared" else "auto").fit(X, y).log_likelihood()
    with pytest.raises(ValueError, match="of the training data"):
        gm.Regressor(L.StudentT(4.0), "l2", 0.1).fit(X, y).log_likelihood(X, y)


def test_no_interval_is_promised():
    X, y = table(21)
    with pytest.raises(ValueError, match="no prediction intervals"):
        gm.Regressor("huber", "l2", 0.1).fit(X, y).predict(X, interval=0.9)


# parameters


def test_parts_are_ordinary_paths():
    X, y = table(22)
    model = gm.Regressor("squared", P.ElasticNet(), 0.1)
    assert model.get_params()["penalty__l1_ratio"] == 0.5
    assert "penalty__l1_ratio" not in model.get_params(deep=False)
    model.set_params(penalty__l1_ratio=0.9, loss=L.Huber(), loss__delta=2.0)
    assert model.penalty == P.ElasticNet(0.9)
    assert model.loss == L.Huber(2.0)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'ratio' for ElasticNet, which has l1_ratio"):
        model.set_params(penalty__ratio=0.1)
    with pytest.raises(ValueError, match="l1_ratio is 2"):
        model.set_params(penalty__l1_ratio=2.0)
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        model.set_params(nothing=1)
    search = GridSearchCV(
        gm.Regressor("squared", P.ElasticNet(), 0.1), {"penalty__l1_ratio": [0.1, 0.9], "alpha": [0.5, 0.01]}, cv=3
    ).fit(X, y)
    assert set(search.best_params_) == {"penalty__l1_ratio", "alpha"}
    best = gm.Regressor("squared", search.best_estimator_.penalty, search.best_params_["alpha"]).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)


def test_a_name_stands_for_what_it_names():
    model = gm.Regressor("squared", "elastic_net").set_params(penalty__l1_ratio=0.2)
    assert model.penalty == P.ElasticNet(0.2)
    with pytest.raises(ValueError, match="Invalid parameter 'wrong' for ElasticNet"):
        model.set_params(penalty__wrong=1)


def test_parts_within_parts():
    model = gm.Regressor("squared", P.NonNegative(P.ElasticNet()), 0.1)
    model.set_params(penalty__penalty__l1_ratio=0.8)
    assert model.penalty == P.NonNegative(P.ElasticNet(0.8))


def test_pickle_and_repr():
    X, y = table(23)
    model = gm.Regressor(L.Huber(2.0), P.ElasticNet(0.3), solver="auto").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_ == model.certificate_
    assert "Huber(delta=2.0" in repr(model)


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [("squared", "l2"), ("squared", "l1"), ("poisson", "l2"), (L.Huber(1.0, 0.8), P.GroupL1())],
    ids=repr,
)
def test_gradient_descent_on_request(loss, penalty):
    X, y = table(24, counts=loss == "poisson")
    exact = gm.Regressor(loss, penalty, 0.1).fit(X, y)
    solver = gm.solvers.GradientDescent("line_search", tol=1e-8)
    slow = gm.Regressor(loss, penalty, 0.1, solver=solver).fit(X, y)
    assert slow.solver_.name == "gradient descent"
    assert slow.certificate_.holds
    np.testing.assert_allclose(slow.objective_, exact.objective_, rtol=1e-8)
    np.testing.assert_allclose(slow.coef_, exact.coef_, atol=1e-4)
    cloned = clone(slow)
    assert cloned.solver == solver
    chosen = gm.Regressor(loss, penalty, alphas=[1.0, 0.1], cv=3, solver=solver).fit(X, y)
    by_default = gm.Regressor(loss, penalty, alphas=[1.0, 0.1], cv=3).fit(X, y)
    np.testing.assert_allclose(chosen.scores_.mean, by_default.scores_.mean, rtol=1e-4)


def test_parameters_of_a_solver_are_paths_too():
    model = gm.Regressor(solver=gm.solvers.GradientDescent("line_search"))
    model.set_params(solver__max_iter=7)
    assert model.solver.max_iter == 7
    assert model.get_params()["solver__max_iter"] == 7
    assert model.get_params()["solver__step"] == "line_search"


def test_callbacks_are_called():
    X, y = table(25)
    seen = []
    model = gm.Regressor("huber", "l2", 0.1, callbacks=[lambda step, state: seen.append(step)]).fit(X, y)
    assert seen == list(range(1, model.n_iter_ + 1))
    with pytest.warns(gm.ConvergenceWarning, match="after 1 steps"):
        gm.Regressor("huber", "l2", 0.1, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "kind", "text"),
    [
        ({"loss": "cubed"}, ValueError, "loss is 'cubed'; it must be one of 'absolute'"),
        ({"loss": "hinge"}, ValueError, "Hinge is for signs"),
        ({"loss": L.Softmax()}, ValueError, "Softmax is for classes"),
        ({"loss": L.Squared}, ValueError, "must be one of"),
        ({"penalty": "l3"}, ValueError, "penalty is 'l3'; it must be None, one of"),
        ({"penalty": 2}, ValueError, "penalty is 2"),
        ({"penalty": P.Tikhonov(np.eye(2)), "alpha": 1.0}, ValueError, r"matrix has shape \(2, 2\)"),
        ({"penalty": P.GroupL1((0, 1)), "alpha": 1.0}, ValueError, "groups has 2 labels"),
        ({"penalty": P.Box([0.0, 1.0], [1.0, 2.0]), "alpha": 1.0}, ValueError, "low"),
        ({"alpha": -1.0}, ValueError, "alpha is -1.0"),
        ({"alpha": np.nan}, ValueError, "alpha is nan"),
        ({"alpha": "best"}, ValueError, "alpha is 'best'"),
        ({"alpha": None}, TypeError, "alpha is None"),
        ({"alphas": 1}, ValueError, "alphas is 1"),
        ({"alphas": [1.0, -2.0]}, ValueError, "alphas holds -2.0"),
        ({"rule": "worst"}, ValueError, "rule is 'worst'"),
        ({"fit_intercept": 1}, TypeError, "fit_intercept is 1"),
        ({"solver": "sgd", "alpha": 1.0}, ValueError, "solver is 'sgd'"),
        ({"solver": None, "alpha": 1.0}, ValueError, "solver is None"),
        ({"solver": "newton", "penalty": "l1", "alpha": 1.0}, ValueError, "cannot do the loss Squared with"),
        ({"loss": "huber", "solver": gm.solvers.GradientDescent(), "alpha": 1.0}, ValueError, "scale"),
        ({"max_iter": 0}, ValueError, "max_iter is 0"),
        ({"max_iter": 2.5}, TypeError, "max_iter is 2.5"),
        ({"tol": 0.0}, ValueError, "tol is 0.0"),
        ({"tol": "small"}, TypeError, "tol is 'small'"),
        ({"cv": 1}, ValueError, "cv"),
        ({"callbacks": 3, "alpha": 1.0}, TypeError, "callbacks"),
        ({"callbacks": [3], "alpha": 1.0}, TypeError, "callbacks"),
    ],
    ids=repr,
)  # fmt: skip
def test_bad_parameters_are_named(parameters, kind, text):
    X, y = table(26, n=40)
    with pytest.raises(kind, match=text):
        gm.Regressor(**parameters).fit(X, y)


def test_bad_data_are_named():
    X, y = table(27, n=40)
    with pytest.raises(ValueError, match=r"y goes down to .* Poisson"):
        gm.Regressor("poisson", "l2", 0.1).fit(X, y - 10)
    with pytest.raises(ValueError, match="requires y"):
        gm.Regressor("squared").fit(X)
    hole = X.copy()
    hole[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*column 2"):
        gm.Regressor("huber", "l2", 0.1).fit(hole, y)
    with pytest.raises(ValueError, match="numbers as its target"):
        gm.Regressor("squared", "l2", 0.1).fit(X, np.where(y > 0, "yes", "no"))


# hard data


@pytest.mark.parametrize(
    "loss", ["squared", "absolute", "huber", "student_t", "poisson", L.Power(1.5), L.Power(3.0)], ids=repr
)
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_hard_tables_are_fitted_or_reported(loss, penalty):
    rng = np.random.default_rng(28)
    X, y = table(28, n=30, d=3, counts=True)
    cases = {
        "constant column": (np.column_stack([X, np.full(30, 7.0)]), y),
        "column of zeros": (np.column_stack([X, np.zeros(30)]), y),
        "the same column twice": (np.column_stack([X, X[:, 0]]), y),
        "constant target": (X, np.full(30, 3.0)),
        "target of zeros": (X, np.zeros(30)),
        "one row": (X[:1], y[:1]),
        "two rows": (X[:2], y[:2]),
        "more columns than rows": (rng.standard_normal((8, 20)), y[:8]),
        "huge columns": (X * 1e150, y),
        "tiny columns": (X * 1e-150, y),
    }
    if loss == "poisson":
        with pytest.raises(ValueError, match="Every y is 0"):
            gm.Regressor(loss, penalty, 0.1).fit(*cases.pop("target of zeros"))
    for name, (Z, target) in cases.items():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = gm.Regressor(loss, penalty, 0.1).fit(Z, target)
        assert np.isfinite(model.coef_).all(), name
        assert np.isfinite(model.intercept_), name
        assert np.isfinite(model.predict(Z)).all(), name
        assert all(issubclass(w.category, gm.ConvergenceWarning) for w in said), (name, [str(w.message) for w in said])
        assert model.certificate_.holds or said, name
        if name.startswith(("constant column", "column of")):
            assert model.coef_[3] == 0.0, name
        if name == "constant target":
            np.testing.assert_allclose(model.predict(Z), 3.0, rtol=1e-6, err_msg=name)
