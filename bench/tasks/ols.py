"""Least squares, 1,000,000 × 100.

coef_error: largest error of a coefficient, over the largest coefficient, against centred normal equations with
refinement. LIMIT is one plain X.T @ X.
"""

import numpy as np

from bench.reference import fitted, least_squares
from bench.task import scaled


def data(scale):
    rng = np.random.default_rng(1)
    n, d = scaled(1_000_000, scale, 500), 100
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + 3 + rng.standard_normal(n)
    return {"X": X, "y": y}


def gramian(data):
    import gramian as gm

    return fitted(gm.LinearRegression().fit(data["X"], data["y"]))


def sklearnex(data):
    from sklearnex.linear_model import LinearRegression

    return fitted(LinearRegression().fit(data["X"], data["y"]))


def sklearn(data):
    from sklearn.linear_model import LinearRegression

    return fitted(LinearRegression().fit(data["X"], data["y"]))


def numpy_lstsq(data):
    """a column of ones beside X"""
    X = np.column_stack([data["X"], np.ones(len(data["y"]))])
    coef = np.linalg.lstsq(X, data["y"])[0]
    return {"coef": coef[:-1], "intercept": coef[-1]}


def limit(data):
    data["X"].T @ data["X"]


def quality(data, result):
    X, y = data["X"], data["y"]
    coef, _ = least_squares(X, y)
    return {
        "mse": np.mean((y - X @ result["coef"] - result["intercept"]) ** 2),
        "coef_error": np.abs(result["coef"] - coef).max() / np.abs(coef).max(),
    }


peers = {"gramian": gramian, "sklearnex": sklearnex, "sklearn": sklearn, "numpy_lstsq": numpy_lstsq, "LIMIT": limit}
targets = [("sklearnex", 1), ("sklearn", 15)]
judge = {"mse": (1 + 1e-9, 0), "coef_error": (10, 1e-11)}
memory_mb = 200
warm = 0.005
