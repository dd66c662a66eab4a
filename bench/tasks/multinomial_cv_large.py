"""Multinomial logistic regression on 30,000 × 9, seven classes, alpha chosen among 20 by five folds.

As multinomial_cv, with rows that are many and columns that are few.
"""

import numpy as np

from bench.choosing import chosen, log_loss, one_fit, refit_error, sklearn_cv
from bench.task import scaled


def data(scale):
    rng = np.random.default_rng(0)
    n = scaled(30_000, scale, 1000)
    X = rng.standard_normal((n, 9))
    y = (X @ rng.standard_normal((9, 7)) + rng.gumbel(size=(n, 7))).argmax(1)
    return {"X": X, "y": y, "alphas": np.geomspace(1, 1e-5, 20), "alpha": 1.8329807e-05}


def model():
    import gramian as gm

    return gm.LogisticRegression()


def gramian(data):
    return chosen(model(), data)


def gramian_one_fit(data):
    return one_fit(model(), data)


def sklearn_newton_cg(data):
    """LogisticRegressionCV, tol=1e-5"""
    return sklearn_cv(data, solver="newton-cg", tol=1e-5)


def sklearn_newton_cholesky(data):
    """LogisticRegressionCV, tol=1e-4"""
    return sklearn_cv(data, solver="newton-cholesky", tol=1e-4)


def sklearn_lbfgs(data):
    """LogisticRegressionCV, tol=1e-5"""
    return sklearn_cv(data, solver="lbfgs", tol=1e-5)


def quality(data, result):
    return refit_error(model, log_loss, data, result)


peers = {
    "gramian": gramian,
    "gramian_one_fit": gramian_one_fit,
    "sklearn_newton_cg": sklearn_newton_cg,
    "sklearn_newton_cholesky": sklearn_newton_cholesky,
    "sklearn_lbfgs": sklearn_lbfgs,
}
targets = [("gramian_one_fit", 1 / 8)]
targets += [(row, 5) for row in peers if row.startswith("sklearn")]
judge = {"cv_loss": (1 + 1e-4, 0), "cv_error": (1, 1e-4)}
