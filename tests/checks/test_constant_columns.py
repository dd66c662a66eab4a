"""Every loss with every penalty beside a constant column and a column of zeros: the point returned is the minimiser."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import gramian as gm
from checks.members import members
from gramian.objective.losses.base import Loss, Scaled
from gramian.objective.penalties import Penalty
from gramian.objective.problem import Problem
from gramian.solvers.choose import choose
from gramian.solvers.solve import fit_problem

CONSTANT, ZERO = 0, 3
COUPLED = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, -1.0]])
LOSSES = members(Loss, {"Huber": [{"scale": 0.7}], "StudentT": [{"nu": 3.0, "scale": 0.8}]})
PENALTIES = [
    gm.penalties.Zero(),
    gm.penalties.L2(),
    gm.penalties.L1(),
    gm.penalties.ElasticNet(),
    gm.penalties.Tikhonov(COUPLED),
    gm.penalties.GroupL1((0, 0, 1, 1)),
    gm.penalties.Box(0.1, 1.0),
    gm.penalties.Box(-1.0, -0.2, penalty=gm.penalties.L2()),
    gm.penalties.NonNegative(),
    gm.penalties.MCP(),
    gm.penalties.SCAD(),
]


def test_every_penalty_is_here():
    assert {type(p) for p in members(Penalty)} <= {type(p) for p in PENALTIES}


def table(loss, seed=0):
    rng = np.random.default_rng(seed)
    n = 40
    X = rng.standard_normal((n, 4)) + 0.5
    X[:, CONSTANT], X[:, ZERO] = 2.0, 0.0
    eta = X[:, 1] - 0.6 * X[:, 2]
    y = {
        "numbers": lambda: 3.0 * eta + rng.standard_normal(n),
        "counts": lambda: rng.poisson(np.exp(0.5 * eta)).astype(float),
        "signs": lambda: np.where(eta + rng.logistic(size=n) > 0, 1.0, -1.0),
        "classes": lambda: np.digitize(eta + rng.logistic(size=n), [-0.7, 0.7]).astype(float),
    }[loss.targets]()
    return X, y


def objective(loss, penalty, alpha, X, y, coef, intercept):
    """As it is stated: the mean loss and alpha times the penalty, of coefficients (d, m)."""
    f = X @ coef + intercept
    value = np.mean(loss.value(y, f[:, 0] if coef.shape[1] == 1 else f))
    free = isinstance(penalty, gm.penalties.Box | gm.penalties.NonNegative)  # bounds hold whatever alpha is
    return float(value) + (1.0 if free and alpha == 0 else alpha) * sum(penalty.value(c) for c in coef.T)


@pytest.mark.parametrize(
    ("penalty", "intercept"), [*((p, True) for p in PENALTIES), *((p, False) for p in PENALTIES[4:7:2])], ids=str
)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_constant_columns_have_the_minimisers_value(loss, penalty, intercept):
    X, y = table(loss)
    outputs, alpha = 3 if loss.targets == "classes" else 1, 0.05
    problem = Problem(gm.scan(X, y), loss, penalty, alpha, intercept=intercept, outputs=outputs)
    try:
        choose(problem)
    except ValueError:
        return  # a pair that is refused claims nothing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        fit = fit_problem(problem)
    coef, penalty = fit.coef, penalty.at(alpha)
    parts = penalty.parts(4)
    still = [CONSTANT, ZERO] if intercept else [ZERO]
    if parts is not None:
        assert (coef >= parts.low[:, None]).all()
        assert (coef <= parts.high[:, None]).all()
        if parts.square.ndim == 1:
            nearest = np.clip(0.0, parts.low, parts.high)
            np.testing.assert_array_equal(coef[still], np.broadcast_to(nearest[still, None], (len(still), outputs)))

    # No coefficients of the columns that the loss knows nothing of have a smaller penalty, given the others.
    for output in range(outputs):
        own = coef[:, output]

        def of(values, own=own):
            moved = own.copy()
            moved[still] = values
            return penalty.value(moved)

        low, high = (parts.low, parts.high) if parts is not None else (np.full(4, -np.inf), np.full(4, np.inf))
        bounds = [(low[j], high[j]) for j in still]
        best = minimize(of, own[still], method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-10, "fatol": 1e-14})
        assert penalty.value(own) <= best.fun + 1e-9 * max(1.0, abs(best.fun))

    # And where the fit is certified, no step from the point returned lowers the objective.
    if (
        not fit.certificate.holds
        or not (loss.convex and penalty.convex)
        or (isinstance(loss, Scaled) and loss.scale is None)
    ):
        return
    value = objective(loss, penalty, alpha, X, y, coef, fit.intercept)
    rng = np.random.default_rng(1)
    for size in (1e-1, 1e-2, 1e-3):
        for step in [*np.eye(5), *-np.eye(5), *rng.standard_normal((20, 5))]:
            trial = coef + size * np.outer(step[:4], rng.standard_normal(outputs) if outputs > 1 else [1.0])
            if parts is not None:
                trial = np.clip(trial, parts.low[:, None], parts.high[:, None])
            moved = objective(loss, penalty, alpha, X, y, trial, fit.intercept + intercept * size * step[4])
            assert moved >= value - 1e-6 * max(abs(value), 1.0)


@pytest.mark.parametrize("fold", [2, "loo"])
def test_ridge_with_a_matrix_gives_constant_columns_the_minimisers_value(fold):
    t = np.arange(10.0)
    X, y = np.column_stack([np.full(10, 2.0), t]), 3.0 * t
    model = gm.Ridge(1.0, matrix=[[1.0, -1.0]]).fit(X, y)
    np.testing.assert_allclose(model.coef_, [3.0, 3.0], rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-12)
    assert model.certificate_.holds
    chosen = gm.Ridge(alphas=[1.0], cv=fold, matrix=[[1.0, -1.0]]).fit(X, y)
    np.testing.assert_allclose(chosen.path_.coefs, [[3.0, 3.0]], rtol=1e-9)
    np.testing.assert_allclose(chosen.scores_.mean, 0.0, atol=1e-18)
    same = gm.Regressor("squared", gm.penalties.Tikhonov([[1.0, -1.0]]), 1.0).fit(X, y)
    np.testing.assert_allclose(same.coef_, [3.0, 3.0], rtol=1e-7)
