"""Ridge regression on 1,000 landmarks of a Gaussian kernel, 200,000 × 20.

The objective is mean (y − f)² + alpha ‖f‖² over functions of the landmarks, alpha = 1e-6, length scale √d. mse: on
10,000 other rows; the landmarks differ from row to row, and so do these figures a little. LIMIT is one Gram matrix of
that size.
"""

import numpy as np

from bench.task import scaled

ALPHA, D, RANK = 1e-6, 20, 1000


def data(scale):
    rng = np.random.default_rng(15)
    n, m = scaled(200_000, scale, 2000), 10_000
    X = rng.standard_normal((n + m, D))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n + m)
    return {"X": X[:n], "y": y[:n], "test": X[n:], "target": y[n:], "rank": scaled(RANK, scale, 100)}


def gramian(data):
    import gramian as gm

    model = gm.Ridge(alpha=ALPHA, kernel=gm.kernels.RBF(np.sqrt(D)), rank=data["rank"]).fit(data["X"], data["y"])
    return {"mse": float(np.mean((model.predict(data["test"]) - data["target"]) ** 2))}


def sklearn_Nystroem_Ridge(data):
    """Nystroem(n_components=1000) and Ridge(alpha=n·alpha, solver="cholesky")"""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    features = Nystroem(gamma=1 / (2 * D), n_components=data["rank"], random_state=0)
    model = make_pipeline(features, Ridge(alpha=len(data["y"]) * ALPHA, solver="cholesky")).fit(data["X"], data["y"])
    return {"mse": float(np.mean((model.predict(data["test"]) - data["target"]) ** 2))}


def limit(data):
    F = np.full((len(data["X"]), data["rank"]), 0.5)
    F.T @ F


def quality(data, result):
    return {"mse": result["mse"]}


peers = {"gramian": gramian, "sklearn_Nystroem_Ridge": sklearn_Nystroem_Ridge, "LIMIT": limit}
targets = [("sklearn_Nystroem_Ridge", 3)]
judge = {"mse": (1.02, 0.0)}
warm = 0.02
