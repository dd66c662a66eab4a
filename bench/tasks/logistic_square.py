"""Logistic regression with an L2 penalty and half as many columns as rows, 3,000 × 1,500.

The objective is mean log(1 + exp(−y f)) + alpha ‖w‖² with alpha = 1e-3, intercept unpenalised; 20 columns matter. A
Hessian costs as much as some hundred products with it, so that conjugate gradients decide. Every row is brought to
excess ≤ 1e-8 (objective over the minimum, which Newton's method in NumPy finds) and gradient ≤ 1e-6 (largest entry).
"""

import numpy as np

from bench.reference import classifier, logistic, smooth
from bench.task import scaled

ALPHA = 1e-3
INFORMATIVE = 20


def data(scale):
    rng = np.random.default_rng(0)
    n = scaled(3000, scale, 500)
    d = n // 2
    X = rng.standard_normal((n, d))
    signal = X[:, :INFORMATIVE] @ rng.standard_normal(INFORMATIVE)
    return {"X": X, "y": np.where(signal + rng.logistic(size=n) > 0, 1.0, -1.0)}


def gramian(data):
    import gramian as gm

    return classifier(gm.LogisticRegression(alpha=ALPHA).fit(data["X"], data["y"]))


def sklearn(data, **options):
    from sklearn.linear_model import LogisticRegression

    C = 1 / (2 * len(data["y"]) * ALPHA)
    return classifier(LogisticRegression(C=C, max_iter=1000, **options).fit(data["X"], data["y"]))


def sklearn_newton_cg(data):
    """tol=1e-6"""
    return sklearn(data, solver="newton-cg", tol=1e-6)


def sklearn_lbfgs(data):
    """tol=1e-7 (1e-6 leaves an excess of 3e-8)"""
    return sklearn(data, solver="lbfgs", tol=1e-7)


def quality(data, result):
    return smooth(logistic, data["X"], data["y"], ALPHA, result)


peers = {"gramian": gramian, "sklearn_newton_cg": sklearn_newton_cg, "sklearn_lbfgs": sklearn_lbfgs}
targets = [("sklearn_newton_cg", 1.0), ("sklearn_lbfgs", 1.0)]
judge = {"excess": (1, 1e-8), "gradient": (1, 1e-6)}
warm = 0.5
