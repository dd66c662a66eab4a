"""L1 multinomial logistic regression on digits (1797 × 64, ten classes), alpha chosen among 20 by five folds.

cv_error: how far the reported loss of the alpha taken is from true refits (relative). The row gramian_one_fit is one
fit at the alpha chosen: the search takes at most 10 of them.
"""

import numpy as np

from bench.choosing import chosen, log_loss, one_fit, refit_error


def data(scale):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    step = max(int(1 / max(scale, 0.1)), 1)
    return {"X": X[::step], "y": y[::step], "alphas": np.geomspace(1e-1, 1e-4, 20), "alpha": 0.0026366509}


def model():
    import gramian as gm

    return gm.LogisticRegression(penalty="l1")


def gramian(data):
    return chosen(model(), data)


def gramian_one_fit(data):
    return one_fit(model(), data)


def loss(model, X, y):
    return log_loss(model, X, y)


def quality(data, result):
    return refit_error(model, loss, data, result)


peers = {"gramian": gramian, "gramian_one_fit": gramian_one_fit}
targets = [("gramian_one_fit", 1 / 10)]
judge = {"cv_error": (1, 1e-3)}
