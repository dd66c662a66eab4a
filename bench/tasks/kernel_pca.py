"""Kernel PCA with a Gaussian kernel, 5,000 × 20 → 10 components, length scale √d.

values_error: the largest relative error of an eigenvalue, against LAPACK on the centred matrix.
"""

import numpy as np

from bench.task import scaled

R, D = 10, 20


def data(scale):
    rng = np.random.default_rng(23)
    n = scaled(5_000, scale, 500)
    X = rng.standard_normal((n, D))
    X[:, :3] += 3.0 * rng.integers(0, 3, (n, 1)) * [1.0, -1.0, 0.5]
    return {"X": X}


def gramian(data):
    import gramian as gm

    model = gm.PCA(R, kernel=gm.kernels.RBF(np.sqrt(D))).fit(data["X"])
    return {"values": model.singular_values_**2}


def _sklearn(data, solver):
    from sklearn.decomposition import KernelPCA

    model = KernelPCA(R, kernel="rbf", gamma=1 / (2 * D), eigen_solver=solver, random_state=0).fit(data["X"])
    return {"values": model.eigenvalues_}


def sklearn_auto(data):
    return _sklearn(data, "auto")


def sklearn_arpack(data):
    return _sklearn(data, "arpack")


def sklearn_randomized(data):
    return _sklearn(data, "randomized")


def quality(data, result):
    from scipy.linalg import eigh

    X, n = data["X"], len(data["X"])
    squares = (X**2).sum(axis=1)
    K = np.exp(-np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0) / (2 * D))
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    exact = eigh(K, subset_by_index=(n - R, n - 1), eigvals_only=True)[::-1]
    return {"values_error": np.abs(result["values"] / exact - 1).max()}


peers = {
    "gramian": gramian,
    "sklearn_auto": sklearn_auto,
    "sklearn_arpack": sklearn_arpack,
    "sklearn_randomized": sklearn_randomized,
}
targets = [("sklearn_auto", 1.5), ("sklearn_arpack", 1.5), ("sklearn_randomized", 1.5)]
judge = {"values_error": (1, 1e-8)}
warm = 0.3
