"""Linear support vector machine, two classes, 20,000 × 30, alpha chosen among 20 by five folds.

cv_error: how far the reported loss of the alpha taken is from true refits (relative). The row gramian_one_fit is one
fit at the alpha chosen: the search takes at most 12 of them.
"""

import numpy as np

from bench.choosing import chosen, one_fit, refit_error
from bench.task import scaled
from bench.tasks.svc_cv import loss, model


def data(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((scaled(20_000, scale, 1000), 30))
    y = X @ rng.standard_normal(30) / 2 + 2 * rng.standard_normal(len(X)) > 0
    return {"X": X, "y": y.astype(int), "alphas": np.geomspace(1, 1e-5, 20), "alpha": 0.00127}


def gramian(data):
    return chosen(model(), data)


def gramian_one_fit(data):
    return one_fit(model(), data)


def quality(data, result):
    return refit_error(model, loss, data, result)


peers = {"gramian": gramian, "gramian_one_fit": gramian_one_fit}
targets = [("gramian_one_fit", 1 / 12)]
judge = {"cv_error": (1, 1e-3)}
