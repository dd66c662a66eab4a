"""Logistic regression with an L1 penalty on text, 200,000 × 100,000 sparse (100 words a row, Zipf frequencies, tf-idf).

The data are those of sparse_logistic_l2. The objective is mean log(1 + exp(−y f)) + alpha ‖w‖₁ with alpha =
alpha_max/120 (liblinear's C = 1/(n·alpha)), intercept unpenalised. Every row is brought to excess ≤ 1e-7 (objective
over a certified lower bound of the minimum, which Newton's method in the orthant of the signs finds in NumPy) and to
gap ≤ 1e-2 (relative duality gap of its own dual point, which falls only as the root of the excess).
"""

import numpy as np

from bench.reference import classifier, liblinear, sparse_logistic
from bench.tasks import sparse_logistic_l2


def data(scale):
    found = sparse_logistic_l2.data(scale)
    X, y = found["X"], found["y"]
    return found | {"alpha": np.abs(X.T @ (y - y.mean())).max() / (2 * len(y)) / 120}


def C(data):
    return 1 / (len(data["y"]) * data["alpha"])


def ours(data, **options):
    import gramian as gm

    model = gm.LogisticRegression(alpha=data["alpha"], penalty=gm.penalties.L1(), **options)
    return classifier(model.fit(data["X"], data["y"]))


def gramian(data):
    """tol=3e-5"""
    return ours(data, tol=3e-5)


def gramian_default(data):
    """its own tol"""
    return ours(data)


def sklearn(data, **options):
    from sklearn.linear_model import LogisticRegression

    return classifier(LogisticRegression(C=C(data), l1_ratio=1, random_state=0, **options).fit(data["X"], data["y"]))


def sklearn_liblinear(data):
    """tol=1e-3, intercept_scaling=10 (it penalises the intercept)"""
    return sklearn(data, solver="liblinear", tol=1e-3, max_iter=1000, intercept_scaling=10)


def sklearn_saga(data):
    """tol=1e-4, stopped after 200 passes (max_iter)"""
    return sklearn(data, solver="saga", tol=1e-4, max_iter=200)


def liblinear_official(data):
    """liblinear-official (built from source), -s 6 -e 3e-4 -R (intercept unpenalised), conversion of X included"""
    return liblinear(data["X"], data["y"], 6, C(data), "-e 3e-4 -R")


def celer(data):
    """tol=1e-4, X made CSC with a column of 10 for the intercept, which it has not (so that its penalty is small)"""
    from celer import LogisticRegression
    from scipy.sparse import hstack

    X = hstack([data["X"], np.full((len(data["y"]), 1), 10.0)]).tocsc()
    coef = LogisticRegression(C=C(data), tol=1e-4).fit(X, data["y"]).coef_
    return {"coef": coef[:, :-1], "intercept": 10 * coef[:, -1]}


def skglm(data):
    """tol=0.02 of alpha, X made CSC"""
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(alpha=data["alpha"], tol=0.02 * data["alpha"], max_iter=100)
    return classifier(model.fit(data["X"].tocsc(), data["y"]))


def quality(data, result):
    return sparse_logistic(data["X"], data["y"], data["alpha"], result)


peers = {
    "gramian": gramian,
    "gramian_default": gramian_default,
    "sklearn_liblinear": sklearn_liblinear,
    "sklearn_saga": sklearn_saga,
    "liblinear": liblinear_official,
    "celer": celer,
    "skglm": skglm,
}
targets = [(row, 1) for row in peers if not row.startswith("gramian")]
judge = {"excess": (1, 1e-7), "gap": (1, 1e-2)}
