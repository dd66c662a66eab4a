"""Linear support vector machines on digits (1797 × 64, ten classes), alpha chosen among 20 by five folds.

cv_error: how far the reported loss of the alpha taken is from true refits (relative). The row gramian_one_fit is one
fit at the alpha chosen: the search takes at most 12 of them.
"""

import numpy as np

from bench.choosing import chosen, one_fit, refit_error


def data(scale):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    step = max(int(1 / max(scale, 0.1)), 1)
    return {"X": X[::step], "y": y[::step], "alphas": np.geomspace(1, 1e-5, 20), "alpha": 0.0483}


def model():
    import gramian as gm

    return gm.SVC()


def gramian(data):
    return chosen(model(), data)


def gramian_one_fit(data):
    return one_fit(model(), data)


def loss(model, X, y):
    sides = np.where(y[:, None] == model.classes_[-len(model.coef_) :], 1, -1)  # two classes have one decision
    return float(np.mean(np.maximum(0, 1 - sides * (X @ model.coef_.T + model.intercept_))))


def quality(data, result):
    return refit_error(model, loss, data, result)


peers = {"gramian": gramian, "gramian_one_fit": gramian_one_fit}
targets = [("gramian_one_fit", 1 / 12)]
judge = {"cv_error": (1, 1e-3)}
