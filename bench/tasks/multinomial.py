"""Multinomial logistic regression with an L2 penalty, 100,000 × 100, ten classes.

The objective is mean −log p_y + alpha ‖W‖² with alpha = 5e-6 (scikit-learn's C = 1 at full size), ten symmetric rows of
coefficients, intercepts unpenalised. Every row is brought to excess ≤ 1e-9 (objective over the minimum, which Newton's
method in NumPy finds) and gradient ≤ 1e-6 (largest entry). glum and liblinear have no such model.
"""

import numpy as np

from bench.reference import classifier, smooth, softmax
from bench.task import scaled

ALPHA = 5e-6


def data(scale):
    rng = np.random.default_rng(6)
    n, d, k = scaled(100_000, scale, 2000), 100, 10
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    X += 0.1 * rng.standard_normal(d)
    scores = X @ rng.standard_normal((d, k))
    scores = 2 * (scores - scores.mean(0)) / scores.std() + 0.3 * rng.standard_normal(k)
    return {"X": X, "y": (scores + rng.gumbel(size=(n, k))).argmax(1)}


def C(data):
    return 1 / (2 * len(data["y"]) * ALPHA)


def gramian(data):
    import gramian as gm

    return classifier(gm.LogisticRegression(alpha=ALPHA).fit(data["X"], data["y"]))


def sklearn(data, solver):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C(data), solver=solver, tol=1e-6, max_iter=2000)
    return classifier(model.fit(data["X"], data["y"]))


def sklearn_lbfgs(data):
    """tol=1e-6"""
    return sklearn(data, "lbfgs")


def sklearn_newton_cg(data):
    """tol=1e-6"""
    return sklearn(data, "newton-cg")


def sklearn_newton_cholesky(data):
    """tol=1e-6"""
    return sklearn(data, "newton-cholesky")


def sklearnex_lbfgs(data):
    """oneDAL's L-BFGS, tol=1e-4 (a smaller one changes nothing)"""
    from sklearnex.linear_model import LogisticRegression

    model = LogisticRegression(C=C(data), solver="lbfgs", tol=1e-4, max_iter=2000)
    return classifier(model.fit(data["X"], data["y"]))


def quality(data, result):
    return smooth(softmax, data["X"], data["y"], ALPHA, result)


peers = {
    "gramian": gramian,
    "sklearn_newton_cg": sklearn_newton_cg,
    "sklearn_lbfgs": sklearn_lbfgs,
    "sklearn_newton_cholesky": sklearn_newton_cholesky,
    "sklearnex_lbfgs": sklearnex_lbfgs,
}
targets = [(row, 1.5) for row in peers if row != "gramian"]
judge = {"excess": (1, 1e-9), "gradient": (1, 1e-6)}
warm = 0.02
