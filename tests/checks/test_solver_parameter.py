"""`solver=` of every linear estimator: "auto", a name or an object, with the coefficients of "auto"."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier

import gramian as gm
from checks.members import public_classes

STEPS = ["line_search", "bold_driver", 0.2]
SMOOTH = [
    gm.LinearRegression(),
    gm.Ridge(0.3),
    gm.Ridge(0.3, penalty_factors=[1.0, 0.0, 2.0, 0.5]),
    gm.Ridge(0.3, matrix=np.diff(np.eye(4), axis=0)),
    gm.Ridge(0.3, standardize=True),
    gm.Regressor("squared", "l2", 0.3),
    gm.Regressor("poisson", "l2", 0.1),
    gm.Regressor(gm.losses.Huber(scale=1.0), "l2", 0.1),
    gm.LogisticRegression(0.05),
    gm.Classifier("squared_hinge", "l2", 0.05),
    gm.MAP("bernoulli"),
    gm.MAP(gm.likelihoods.Gaussian(scale=1.0)),
]
SPARSE = [
    gm.Lasso(0.2),
    gm.Lasso(0.2, penalty_factors=[1.0, 0.0, 2.0, 0.5]),
    gm.Lasso(0.2, standardize=True),
    gm.ElasticNet(0.2, l1_ratio=0.4),
    gm.ElasticNet(0.2, l1_ratio=0.0),
]
FOR_SPARSE = ["gram", "rows", "proximal", "columns", "primal-dual", gm.solvers.PrimalDual()]


def table(model, targets=1):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4)) + np.array([0.5, 0.0, -0.5, 0.2])
    eta = X @ [0.8, -0.5, 0.0, 0.4]
    if is_classifier(model) or "bernoulli" in repr(model):
        return X, (eta + rng.logistic(size=90) > 0).astype(int)
    if "poisson" in repr(model):
        return X, rng.poisson(np.exp(0.5 * eta)).astype(float)
    y = 2.0 * eta + 0.3 * rng.standard_normal(90)
    return X, y if targets == 1 else np.column_stack([y, -0.5 * y + rng.standard_normal(90)])


def test_every_linear_estimator_with_a_solver_is_here():
    linear = {kind for kind in public_classes(BaseEstimator) if "models.linear" in kind.__module__}
    assert {kind for kind in linear if "solver" in inspect.signature(kind).parameters} == {
        *(type(model) for model in [*SMOOTH, *SPARSE]),
        gm.SVC,
    }


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("model", SMOOTH, ids=repr)
def test_gradient_descent_of_any_step_rule(model, step):
    X, y = table(model)
    solver = gm.solvers.GradientDescent(step, max_iter=20_000, tol=1e-7)
    found, exact = clone(model).set_params(solver=solver).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, rtol=1e-4, atol=1e-5)
    assert found.solver_.name == "gradient descent"
    assert found.certificate_.holds


@pytest.mark.parametrize("model", SMOOTH, ids=repr)
def test_stochastic_gradient(model):
    X, y = table(model)
    solver = gm.solvers.StochasticGradient(8, rate=0.05, epochs=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        found = clone(model).set_params(solver=solver).fit(X, y)
    exact = clone(model).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, atol=0.4)
    assert found.solver_.name == solver.name


@pytest.mark.parametrize("solver", FOR_SPARSE, ids=repr)
@pytest.mark.parametrize("model", SPARSE, ids=repr)
def test_solvers_of_sparse_penalties(model, solver):
    X, y = table(model)
    if solver == "columns" and model.l1_ratio == 0.0:
        pytest.skip("is for penalties that are not smooth")
    found, exact = clone(model).set_params(solver=solver, tol=1e-9).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_allclose(found.coef_, exact.coef_, rtol=1e-4, atol=1e-5)
    assert found.certificate_.holds
    assert found.summary().facts["nonzero"] == exact.summary().facts["nonzero"]


@pytest.mark.parametrize("solver", ["newton", gm.solvers.GradientDescent("line_search", tol=1e-9, max_iter=5000)])
def test_several_targets_are_fitted_one_by_one(solver):
    X, Y = table(gm.Ridge(), targets=2)
    for model in (gm.LinearRegression(), gm.Ridge(0.3), gm.Regressor("squared", "l2", 0.3)):
        found, exact = clone(model).set_params(solver=solver).fit(X, Y), clone(model).fit(X, Y)
        np.testing.assert_allclose(found.coef_, exact.coef_, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found.intercept_, exact.intercept_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", [gm.Ridge(), gm.Lasso(), gm.ElasticNet()], ids=repr)
def test_alpha_does_not_depend_on_the_solver(model):
    X, y = table(model)
    solver = "newton" if isinstance(model, gm.Ridge) else "proximal"
    found, exact = clone(model).set_params(solver=solver).fit(X, y), clone(model).fit(X, y)
    assert found.alpha_ == exact.alpha_
    np.testing.assert_array_equal(found.path_.coefs, exact.path_.coefs)
    np.testing.assert_allclose(found.coef_, exact.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "solver", "alternative"),
    [
        (gm.Lasso(0.1), "newton", "'gram'"),
        (gm.Lasso(0.1), gm.solvers.NewtonCG(), "'proximal'"),
        (gm.Regressor("huber", "l2", 0.1), "cholesky", "'auto'"),
        (gm.LogisticRegression(0.1), "interior", "'newton'"),
    ],
    ids=repr,
)
def test_a_solver_that_cannot_is_refused_with_those_that_can(model, solver, alternative):
    X, y = table(model)
    with pytest.raises(ValueError, match=f"cannot do the loss .*{alternative}"):
        clone(model).set_params(solver=solver).fit(X, y)
