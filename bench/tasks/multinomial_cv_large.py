"""Multinomial logistic regression on 30,000 × 9, seven classes, alpha chosen among 20 by five folds.

As multinomial_cv, with rows that are many and columns that are few.
"""

import numpy as np

from bench.choosing import gramian_rows, log_loss, refit_error, sklearn_row
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


def quality(data, result):
    return refit_error(model, log_loss, data, result)


peers = gramian_rows(model) | {
    "sklearn_newton_cg": sklearn_row("newton-cg", "1e-5"),
    "sklearn_newton_cholesky": sklearn_row("newton-cholesky", "1e-4"),
    "sklearn_lbfgs": sklearn_row("lbfgs", "1e-5"),
}
targets = [("gramian_one_fit", 1 / 8)]
targets += [(row, 5) for row in peers if row.startswith("sklearn")]
judge = {"cv_loss": (1 + 1e-4, 0), "cv_error": (1, 1e-4)}
