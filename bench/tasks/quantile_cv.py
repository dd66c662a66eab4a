"""Quantile regression (0.8) on 20,000 × 30, alpha chosen among 20 by five folds.

cv_error: how far the reported loss of the alpha taken is from true refits (relative). The row gramian_one_fit is one
fit at the alpha chosen: the search takes at most 12 of them.
"""

import numpy as np

from bench.choosing import gramian_rows, heavy_tailed, refit_error


def data(scale):
    return heavy_tailed(scale, alpha=1.83e-5)


def model():
    import gramian as gm

    return gm.Regressor(gm.losses.Quantile(0.8))


def loss(model, X, y):
    e = y - model.predict(X)
    return float(np.mean(np.maximum(0.8 * e, -0.2 * e)))


def quality(data, result):
    return refit_error(model, loss, data, result)


peers = gramian_rows(model)
targets = [("gramian_one_fit", 1 / 12)]
judge = {"cv_error": (1, 1e-3)}
