"""Principal components of 200,000 × 300, the first 20.

residual: the largest ‖C v − λ v‖ over the largest λ, C the covariance. LIMIT is one plain X.T @ X and one eigh of it.
"""

import numpy as np

from bench.reference import eigen_residual
from bench.task import scaled

R = 20


def data(scale):
    rng = np.random.default_rng(21)
    n, d = scaled(200_000, scale, 500), 300
    X = rng.standard_normal((n, 40)) @ (rng.standard_normal((40, d)) * np.geomspace(5, 0.5, 40)[:, None])
    X += rng.standard_normal((n, d))
    X += 1.0
    return {"X": X}


def gramian(data):
    import gramian as gm

    model = gm.PCA(R).fit(data["X"])
    return {"components": model.components_, "variances": model.explained_variance_}


def fitted(data, solver):
    from sklearn.decomposition import PCA

    model = PCA(R, svd_solver=solver, random_state=0).fit(data["X"])
    return {"components": model.components_, "variances": model.explained_variance_}


def sklearn_auto(data):
    return fitted(data, "auto")


def sklearn_covariance_eigh(data):
    return fitted(data, "covariance_eigh")


def sklearn_randomized(data):
    return fitted(data, "randomized")


def sklearnex(data):
    from sklearnex.decomposition import PCA

    model = PCA(R).fit(data["X"])
    return {"components": model.components_, "variances": model.explained_variance_}


def limit(data):
    np.linalg.eigh(data["X"].T @ data["X"])


def quality(data, result):
    return {"residual": eigen_residual(data["X"], result["components"], result["variances"])}


peers = {
    "gramian": gramian,
    "sklearn_auto": sklearn_auto,
    "sklearn_covariance_eigh": sklearn_covariance_eigh,
    "sklearn_randomized": sklearn_randomized,
    "sklearnex": sklearnex,
    "LIMIT": limit,
}
targets = [("sklearn_auto", 1), ("LIMIT", 1 / 1.1)]
judge = {"residual": (1, 1e-9)}
memory_mb = 200
warm = 0.01
