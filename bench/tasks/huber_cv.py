"""Huber regression on 20,000 × 30, alpha chosen among 20 by five folds.

cv_error: how far the reported loss of the alpha taken is from true refits (relative). The row gramian_one_fit is one
fit at the alpha chosen: the search takes at most 10 of them.
"""

import numpy as np

from bench.choosing import gramian_rows, heavy_tailed, refit_error


def data(scale):
    return heavy_tailed(scale, alpha=1e-5)


def model():
    import gramian as gm

    return gm.Regressor("huber")


def loss(model, X, y):
    return float(np.mean(model._loss.at(model.scale_).value(y, model.predict(X)) + 1) * model.scale_)


def quality(data, result):
    return refit_error(model, loss, data, result)


peers = gramian_rows(model)
targets = [("gramian_one_fit", 1 / 10)]
judge = {"cv_error": (1, 1e-3)}
