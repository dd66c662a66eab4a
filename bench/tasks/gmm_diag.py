"""Gaussian mixture with diagonal covariances, 200,000 × 16, 10 components: 50 iterations of EM.

Both start from the same means (10 rows), the variances of all rows and equal weights, and make 50 iterations without a
test of convergence; covariances are not regularised. mean_nll: −mean log-likelihood of what was found, computed by the
harness.
"""

import numpy as np

from bench.task import scaled

D, K, ITERATIONS = 16, 10, 50
TRUE = 6  # components of the data: what the others take of them keeps EM moving for long


def data(scale):
    rng = np.random.default_rng(17)
    n = scaled(200_000, scale, 2_000)
    owners = rng.integers(0, TRUE, n)
    turns = np.eye(D) + 0.15 * rng.standard_normal((TRUE, D, D))
    X = (
        np.einsum("ij,ijk->ik", rng.standard_normal((n, D)), turns[owners])
        + 0.8 * rng.standard_normal((TRUE, D))[owners]
    )
    return {"X": X, "means": X[rng.choice(n, K, replace=False)], "covariance": X.var(axis=0)}


def gramian(data):
    """init=[10 Gaussians], covariance="diagonal", max_iter=50, tol=0"""
    import warnings

    import gramian as gm

    warnings.simplefilter("ignore", gm.ConvergenceWarning)
    start = [gm.structures.Gaussian("diagonal").given(mean, data["covariance"]) for mean in data["means"]]
    model = gm.GaussianMixture(K, covariance="diagonal", init=start, max_iter=ITERATIONS, tol=0).fit(data["X"])
    return {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_, "note": _note(model)}


def _note(model):
    return f"{model.n_iter_} iterations"


def sklearn(data):
    """means_init, precisions_init, weights_init, max_iter=50, tol=0, reg_covar=0"""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    warnings.simplefilter("ignore", ConvergenceWarning)
    model = GaussianMixture(
        K,
        covariance_type="diag",
        means_init=data["means"],
        precisions_init=np.repeat(1 / data["covariance"][None], K, axis=0),
        weights_init=np.full(K, 1 / K),
        max_iter=ITERATIONS,
        tol=0,
        reg_covar=0,
        init_params="random",
    ).fit(data["X"])
    return {"weights": model.weights_, "means": model.means_, "covariances": model.covariances_, "note": _note(model)}


def quality(data, result):
    from scipy.special import logsumexp

    X = data["X"]
    joint = np.empty((len(X), K))
    for j in range(K):
        root = np.sqrt(result["covariances"][j])
        y = ((X - result["means"][j]) / root).T
        joint[:, j] = np.log(result["weights"][j]) - 0.5 * (y**2).sum(axis=0) - np.log(root).sum()
    return {"mean_nll": 0.5 * D * np.log(2 * np.pi) - logsumexp(joint, axis=1).mean()}


peers = {"gramian": gramian, "sklearn": sklearn}
targets = [("sklearn", 4)]
judge = {"mean_nll": (1 + 1e-8, 0)}
