"""Forward selection of 20 of 100 features for least squares by five folds, 20,000 rows.

different: features not among those of a plain greedy search of the harness; cv_mse: error of the chosen features over
KFold(5). LIMIT is one plain X.T @ X.
"""

import numpy as np
from sklearn.model_selection import KFold

from bench.reference import folds, forward_selection, subset_mse
from bench.task import scaled


def data(scale):
    rng = np.random.default_rng(5)
    n, d = scaled(20_000, scale, 500), scaled(100, scale**0.5, 10)
    k = d * 3 // 10
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    w = np.zeros(d)
    w[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * np.linspace(0.3, 2, k)
    return {"X": X, "y": X @ w + 3 * rng.standard_normal(n), "count": d // 5}


def gramian(data):
    import gramian as gm

    selector = gm.selection.GreedySelector(
        gm.LinearRegression(), direction="forward", n_features=data["count"], cv=KFold(5)
    ).fit(data["X"], data["y"])
    support = np.asarray(selector.support_)
    return {"chosen": np.flatnonzero(support) if support.dtype == bool else support}


def sequential(data, LinearRegression):
    from sklearn.feature_selection import SequentialFeatureSelector

    selector = SequentialFeatureSelector(
        LinearRegression(), n_features_to_select=data["count"], cv=KFold(5), scoring="neg_mean_squared_error"
    ).fit(data["X"], data["y"])
    return {"chosen": np.flatnonzero(selector.support_)}


def sklearn_SFS(data):
    """SequentialFeatureSelector"""
    from sklearn.linear_model import LinearRegression

    return sequential(data, LinearRegression)


def sklearn_SFS_sklearnex(data):
    """SequentialFeatureSelector on sklearnex' LinearRegression"""
    from sklearnex.linear_model import LinearRegression

    return sequential(data, LinearRegression)


def mlxtend(data):
    """SequentialFeatureSelector(floating=False)"""
    from mlxtend.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LinearRegression

    selector = SequentialFeatureSelector(
        LinearRegression(), k_features=data["count"], cv=KFold(5), scoring="neg_mean_squared_error"
    ).fit(data["X"], data["y"])
    return {"chosen": np.array(selector.k_feature_idx_)}


def limit(data):
    data["X"].T @ data["X"]


def quality(data, result):
    X, y = data["X"], data["y"]
    chosen = sorted(int(feature) for feature in result["chosen"])
    total, parts = folds(X, y)
    trains = [(total - part).centred() for part in parts]
    different = set(chosen) ^ forward_selection(X, y, data["count"])
    return {"different": len(different), "cv_mse": subset_mse(total, parts, trains, chosen)}


peers = {
    "gramian": gramian,
    "sklearn_SFS_sklearnex": sklearn_SFS_sklearnex,
    "sklearn_SFS": sklearn_SFS,
    "mlxtend": mlxtend,
    "LIMIT": limit,
}
targets = [("sklearn_SFS", 1000)]
judge = {"different": (1, 0), "cv_mse": (1 + 1e-9, 0)}
