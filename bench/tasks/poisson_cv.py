"""Poisson regression on 20,000 × 30, alpha chosen among 20 by five folds.

cv_error: how far the reported loss of the alpha taken is from true refits (relative). The row gramian_one_fit is one
fit at the alpha chosen: the search takes at most 10 of them.
"""

import numpy as np

from bench.choosing import chosen, one_fit, refit_error
from bench.task import scaled


def data(scale):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((scaled(20_000, scale, 1000), 30))
    y = rng.poisson(np.exp(X @ rng.standard_normal(30) * 0.1)).astype(float)
    return {"X": X, "y": y, "alphas": np.geomspace(1, 1e-5, 20), "alpha": 0.004}


def model():
    import gramian as gm

    return gm.Regressor("poisson")


def gramian(data):
    return chosen(model(), data)


def gramian_one_fit(data):
    return one_fit(model(), data)


def loss(model, X, y):
    return float(np.mean(model.predict(X) - y * np.log(model.predict(X))))


def quality(data, result):
    return refit_error(model, loss, data, result)


peers = {"gramian": gramian, "gramian_one_fit": gramian_one_fit}
targets = [("gramian_one_fit", 1 / 10)]
judge = {"cv_error": (1, 1e-3)}
