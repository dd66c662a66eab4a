"""Lasso, 20,000 × 500, alpha chosen among 100 by five folds, then fitted on all rows.

All rows choose from the same 100 alphas, but LassoLarsCV from its own breakpoints. cv_mse: error of the chosen alpha
over KFold(5), recomputed by homotopy on fold sums; gap: relative duality gap of the coefficients at that alpha.
LIMIT is one plain X.T @ X.
"""

import numpy as np
from sklearn.model_selection import KFold

from bench.reference import cv_mse, fitted, folds, lasso_gaps
from bench.task import scaled


def data(scale):
    rng = np.random.default_rng(4)
    n, d = scaled(20_000, scale, 200), scaled(500, scale**0.5, 50)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    X *= np.sqrt(0.5)  # columns correlate by 0.5
    k = d * 65 // 500
    w = np.zeros(d)
    w[rng.choice(d, k, replace=False)] = rng.standard_normal(k)
    y = X @ w + 2 + 5 * rng.standard_normal(n)
    alpha_max = 2 * np.abs((X - X.mean(0)).T @ (y - y.mean())).max() / n
    return {"X": X, "y": y, "alphas": alpha_max * np.geomspace(1, 1e-3, 100)}


def gramian(data):
    """cv=KFold(5)"""
    import gramian as gm

    model = gm.Lasso(alphas=data["alphas"], cv=KFold(5)).fit(data["X"], data["y"])
    return fitted(model, alpha=model.alpha_)


def sklearn_LassoLarsCV(data):
    """cv=KFold(5)"""
    from sklearn.linear_model import LassoLarsCV

    model = LassoLarsCV(cv=KFold(5)).fit(data["X"], data["y"])
    return fitted(model, alpha=2 * model.alpha_)


def sklearn_LassoCV(data):
    """cv=KFold(5), tol=1e-6, max_iter=10000, n_jobs=-1 (threads)"""
    from sklearn.linear_model import LassoCV

    model = LassoCV(alphas=data["alphas"] / 2, cv=KFold(5), tol=1e-6, max_iter=10_000, n_jobs=-1)
    model.fit(data["X"], data["y"])
    return fitted(model, alpha=2 * model.alpha_)


def celer_LassoCV(data):
    """cv=KFold(5), tol=1e-6"""
    from celer import LassoCV

    model = LassoCV(alphas=data["alphas"] / 2, cv=KFold(5), tol=1e-6).fit(data["X"], data["y"])
    return fitted(model, alpha=2 * model.alpha_)


def limit(data):
    data["X"].T @ data["X"]


def quality(data, result):
    from sklearn.linear_model import lars_path_gram

    X, y, alpha, coef = data["X"], data["y"], result["alpha"], result["coef"]

    def solve(gram, moment):
        path = lars_path_gram(moment, gram, n_samples=1, alpha_min=alpha / 2, method="lasso", max_iter=10_000)
        return path[2][:, -1]

    gap = lasso_gaps(X - X.mean(0), y - y.mean(), coef[None], np.array([alpha]))[0]
    return {"alpha": alpha, "cv_mse": cv_mse(*folds(X, y), solve), "gap": gap, "nnz": np.count_nonzero(coef)}


peers = {
    "gramian": gramian,
    "sklearn_LassoLarsCV": sklearn_LassoLarsCV,
    "sklearn_LassoCV": sklearn_LassoCV,
    "celer_LassoCV": celer_LassoCV,
    "LIMIT": limit,
}
targets = [("sklearn_LassoCV", 40), ("sklearn_LassoLarsCV", 4)]
judge = {"cv_mse": (1.001, 0), "gap": (1, 2e-6)}  # LassoCV's tol is relative to twice the objective at zero
