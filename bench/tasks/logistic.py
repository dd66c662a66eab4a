"""Logistic regression with an L2 penalty, 500,000 × 50.

The objective is mean log(1 + exp(−y f)) + alpha ‖w‖² with alpha = 1e-6 (scikit-learn's C = 1 at full size), intercept
unpenalised. Every row is brought to excess ≤ 1e-9 (objective over the minimum, which Newton's method in NumPy finds)
and gradient ≤ 1e-6 (largest entry). LIMIT is five weighted Gram matrices, about what Newton's method needs.
"""

import numpy as np

from bench.reference import classifier, liblinear, logistic, smooth
from bench.task import scaled

ALPHA = 1e-6


def data(scale):
    rng = np.random.default_rng(5)
    n, d = scaled(500_000, scale, 1000), 50
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    X *= rng.permutation(np.geomspace(0.5, 2, d))  # columns in different units
    X += 0.3 * rng.standard_normal(d)
    w = rng.standard_normal(d)
    signal = X @ w
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-1.4 * (signal - signal.mean()) / signal.std() - 0.3)), 1.0, -1.0)
    return {"X": X, "y": y}


def C(data):
    return 1 / (2 * len(data["y"]) * ALPHA)


def gramian(data):
    import gramian as gm

    return classifier(gm.LogisticRegression(alpha=ALPHA).fit(data["X"], data["y"]))


def sklearn(data, **options):
    from sklearn.linear_model import LogisticRegression

    return classifier(LogisticRegression(C=C(data), max_iter=1000, **options).fit(data["X"], data["y"]))


def sklearn_lbfgs(data):
    """tol=1e-6"""
    return sklearn(data, solver="lbfgs", tol=1e-6)


def sklearn_newton_cholesky(data):
    """tol=1e-6"""
    return sklearn(data, solver="newton-cholesky", tol=1e-6)


def sklearn_newton_cg(data):
    """tol=1e-6"""
    return sklearn(data, solver="newton-cg", tol=1e-6)


def sklearn_liblinear(data):
    """tol=1e-5, intercept_scaling=10 (it penalises the intercept)"""
    return sklearn(data, solver="liblinear", tol=1e-5, intercept_scaling=10)


def sklearnex_lbfgs(data):
    """oneDAL's L-BFGS, tol=1e-4 (a smaller one changes nothing)"""
    from sklearnex.linear_model import LogisticRegression

    model = LogisticRegression(C=C(data), solver="lbfgs", tol=1e-4, max_iter=1000)
    return classifier(model.fit(data["X"], data["y"]))


def glum(data):
    """family=binomial, gradient_tol=1e-5 (1e-6 would cost one more step)"""
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(family="binomial", alpha=2 * ALPHA, l1_ratio=0, gradient_tol=1e-5, max_iter=1000)
    return classifier(model.fit(data["X"], (data["y"] > 0).astype(float)))


def liblinear_official(data):
    """liblinear-official (built from source), -s 0 -e 1e-5 -R (intercept unpenalised), conversion of X included"""
    return liblinear(data["X"], data["y"], 0, C(data), "-e 1e-5 -R")


def limit(data):
    X = data["X"]
    weights = np.full((len(X), 1), 0.5)
    for _ in range(5):
        (X * weights).T @ X


def quality(data, result):
    return smooth(logistic, data["X"], data["y"], ALPHA, result)


peers = {
    "gramian": gramian,
    "sklearn_newton_cholesky": sklearn_newton_cholesky,
    "sklearn_newton_cg": sklearn_newton_cg,
    "sklearn_lbfgs": sklearn_lbfgs,
    "sklearn_liblinear": sklearn_liblinear,
    "sklearnex_lbfgs": sklearnex_lbfgs,
    "glum": glum,
    "liblinear": liblinear_official,
    "LIMIT": limit,
}
targets = [(row, 1.5) for row in peers if row not in ("gramian", "LIMIT")]
judge = {"excess": (1, 1e-9), "gradient": (1, 1e-6)}
