"""Every estimator that chooses by leave-one-out: its scores are those of n explicit refits, each without one row."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import gramian as gm
from checks.members import estimators

ITERATIVE = 2e-4  # folds are fitted to a tolerance of their own; closed forms are held to 1e-8
CASES = {
    "Ridge": [
        ({}, 1e-8),
        ({"standardize": True}, 1e-8),
        ({"penalty_factors": [0.0, 1.0, 3.0]}, 1e-8),
        ({"matrix": [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]}, 1e-8),
        ({"fit_intercept": False}, 1e-8),
        ({"kernel": gm.kernels.RBF(1.5)}, 1e-8),
        ({"kernel": gm.kernels.RBF(1.5), "fit_intercept": False}, 1e-8),
    ],
    "Lasso": [({}, 1e-8), ({"solver": "rows"}, 1e-8)],
    "ElasticNet": [({}, 1e-8), ({"solver": "rows"}, 1e-8)],
    "Regressor": [({}, 1e-6), ({"loss": "absolute"}, ITERATIVE), ({"penalty": "l1"}, 1e-6)],
    "SVC": [({}, ITERATIVE), ({"kernel": gm.kernels.RBF(1.5)}, 3e-3)],
    "SVR": [({}, 3e-3)],
}
LEFT_OUT = [
    (e, parameters, rtol)
    for e in estimators()
    if {"cv", "alphas"} <= set(inspect.signature(type(e)).parameters)
    for parameters, rtol in CASES.get(type(e).__name__, [({}, ITERATIVE)])
]


def losses(model, X, y):
    """The validation loss of each row, as the docstrings of the estimators have it."""
    name = type(model).__name__
    if name == "SVR":
        return np.maximum(np.abs(y - model.predict(X)) - model.epsilon, 0.0)
    if is_classifier(model):
        margin = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
        return np.maximum(1.0 - margin, 0.0) if name == "SVC" else np.logaddexp(0.0, -margin)
    e = y - model.predict(X)
    return np.abs(e) if getattr(model, "loss", "") == "absolute" else e**2


@pytest.mark.parametrize(
    ("estimator", "parameters", "rtol"), LEFT_OUT, ids=[f"{type(e).__name__}-{'-'.join(p)}" for e, p, _ in LEFT_OUT]
)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_scores_are_those_of_explicit_refits(estimator, parameters, rtol, weighted):
    rng = np.random.default_rng(7)
    n = 16
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, 3)) + 2.0
    y = X @ [1.0, -2.0, 0.5] + rng.standard_normal(n)
    if is_classifier(estimator):
        y = (y > np.median(y)).astype(int)
    w = rng.uniform(0.3, 3.0, n) if weighted else np.ones(n)
    if weighted:
        w[[2, 9]] = 0.0
        X[2], X[9] = 50.0, -50.0  # rows without weight are neither used nor judged
    used = np.flatnonzero(w)
    alphas = [0.5, 0.02]
    model = clone(estimator).set_params(**parameters, alphas=alphas, cv="loo")
    model.fit(X, y, **({"sample_weight": w} if weighted else {}))
    table = np.empty((len(alphas), len(used)))
    for a, alpha in enumerate(alphas):
        one = clone(model).set_params(alpha=alpha)
        if hasattr(model, "kernel_"):  # an automatic length scale is set once, from all rows, and no target enters it
            one.set_params(kernel=model.kernel_)
        for place, i in enumerate(used):
            rest = used[used != i]
            fitted = clone(one).fit(X[rest], y[rest], sample_weight=w[rest])
            table[a, place] = losses(fitted, X[[i]], y[[i]])[0]
    scores = model.scores_
    size = np.abs(table).max()
    np.testing.assert_allclose(scores.folds, table, rtol=rtol, atol=rtol * size)
    share = w[used] / w.sum()
    np.testing.assert_allclose(scores.mean, table @ share, rtol=rtol, atol=rtol * size)
    error = np.sqrt(len(used) / (len(used) - 1) * ((table - (table @ share)[:, None]) ** 2 @ share**2))
    np.testing.assert_allclose(scores.se, error, rtol=20 * rtol, atol=rtol * size)
