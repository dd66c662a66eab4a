"""Ridge, 200,000 × 200, alpha chosen among 50 by five folds, then fitted on all rows.

All rows choose from the same 50 alphas (scikit-learn's a = m·alpha for m training rows). cv_mse: error of the chosen
alpha over KFold(5), recomputed from fold sums; coef_error: against the ridge solution at that alpha. RidgeCV chooses
by leave-one-out, gramian_own_folds by cv=5 (folds from a counter-based generator). LIMIT is one plain X.T @ X.
"""

import numpy as np
from sklearn.model_selection import KFold

from bench.reference import cv_mse, fitted, folds
from bench.task import scaled


def data(scale):
    rng = np.random.default_rng(2)
    n, d = scaled(200_000, scale, 1000), 200
    X = rng.standard_normal((n, d))
    y = X @ (0.02 * rng.standard_normal(d)) + 1 + 3 * rng.standard_normal(n)
    return {"X": X, "y": y, "alphas": np.logspace(-4, 2, 50)}


def ours(data, cv):
    import gramian as gm

    model = gm.Ridge(alphas=data["alphas"], cv=cv).fit(data["X"], data["y"])
    return fitted(model, alpha=model.alpha_)


def gramian(data):
    """cv=KFold(5)"""
    return ours(data, KFold(5))


def gramian_own_folds(data):
    """cv=5"""
    return ours(data, 5)


def grid_search(data, Ridge):
    from sklearn.model_selection import GridSearchCV

    X, y, alphas = data["X"], data["y"], data["alphas"]
    m = len(y) * 4 // 5
    search = GridSearchCV(
        Ridge(), {"alpha": m * alphas}, cv=KFold(5), scoring="neg_mean_squared_error", refit=False
    ).fit(X, y)
    alpha = alphas[search.best_index_]
    return fitted(Ridge(alpha=len(y) * alpha).fit(X, y), alpha=alpha)


def sklearn_gridsearch(data):
    """GridSearchCV(Ridge, cv=KFold(5)), then one Ridge on all rows"""
    from sklearn.linear_model import Ridge

    return grid_search(data, Ridge)


def sklearnex_gridsearch(data):
    """the same search over sklearnex' Ridge"""
    from sklearnex.linear_model import Ridge

    return grid_search(data, Ridge)


def sklearn_RidgeCV(data):
    """leave-one-out"""
    from sklearn.linear_model import RidgeCV

    n = len(data["y"])
    model = RidgeCV(alphas=n * data["alphas"]).fit(data["X"], data["y"])
    return fitted(model, alpha=model.alpha_ / n)


def limit(data):
    data["X"].T @ data["X"]


def quality(data, result):
    total, parts = folds(data["X"], data["y"])
    alpha = result["alpha"]

    def solve(gram, moment):
        return np.linalg.solve(gram + alpha * np.eye(len(moment)), moment)

    coef = solve(*total.centred())
    error = np.abs(result["coef"] - coef).max() / np.abs(coef).max()
    return {"alpha": alpha, "cv_mse": cv_mse(total, parts, solve), "coef_error": error}


peers = {
    "gramian": gramian,
    "gramian_own_folds": gramian_own_folds,
    "sklearn_RidgeCV": sklearn_RidgeCV,
    "sklearnex_gridsearch": sklearnex_gridsearch,
    "sklearn_gridsearch": sklearn_gridsearch,
    "LIMIT": limit,
}
targets = [("sklearn_gridsearch", 300), ("sklearn_RidgeCV", 100), ("LIMIT", 1 / 1.5)]
judge = {"cv_mse": (1.0001, 0), "coef_error": (10, 1e-9)}
memory_mb = 200
