"""Multinomial logistic regression on digits (1797 × 64, ten classes), alpha chosen among 20 by five folds.

All rows choose from the same 20 alphas by the log loss over the same folds (scikit-learn's C = 1/(2·m·alpha) for m
training rows). cv_error: how far the reported loss of the alpha taken is from true refits (relative). The row
gramian_one_fit is one fit at the alpha chosen: the search takes at most 8 of them.
"""

import numpy as np

from bench.choosing import gramian_rows, log_loss, refit_error, sklearn_row


def data(scale):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    step = max(int(1 / max(scale, 0.1)), 1)
    return {"X": X[::step], "y": y[::step], "alphas": np.geomspace(1, 1e-5, 20), "alpha": 0.0078475997}


def model():
    import gramian as gm

    return gm.LogisticRegression()


def quality(data, result):
    return refit_error(model, log_loss, data, result)


peers = gramian_rows(model) | {
    "sklearn_newton_cg": sklearn_row("newton-cg", "1e-6"),
    "sklearn_lbfgs": sklearn_row("lbfgs", "1e-6"),
}
targets = [("gramian_one_fit", 1 / 8), ("sklearn_newton_cg", 5), ("sklearn_lbfgs", 5)]
judge = {"cv_loss": (1 + 1e-4, 0), "cv_error": (1, 1e-4)}
