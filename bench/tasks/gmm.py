"""Gaussian mixture with full covariances, 200,000 × 16, 10 components: 50 iterations of EM.

Both start from the same means (10 rows), the covariance of all rows and equal weights, and make 50 iterations without a
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
    return {"X": X, "means": X[rng.choice(n, K, replace=False)], "covariance": np.cov(X.T, bias=True)}


def ours(data, kind):
    import warnings

    import gramian as gm

    warnings.simplefilter("ignore", gm.ConvergenceWarning)
    start = [gm.structures.Gaussian(kind).given(mean, data["covariance"]) for mean in data["means"]]
    return answer(gm.GaussianMixture(K, covariance=kind, init=start, max_iter=ITERATIONS, tol=0).fit(data["X"]))


def theirs(data, kind, precision):
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    warnings.simplefilter("ignore", ConvergenceWarning)
    model = GaussianMixture(
        K,
        covariance_type=kind,
        means_init=data["means"],
        precisions_init=np.repeat(precision[None], K, axis=0),
        weights_init=np.full(K, 1 / K),
        max_iter=ITERATIONS,
        tol=0,
        reg_covar=0,
        init_params="random",
    )
    return answer(model.fit(data["X"]))


def answer(model):
    return {
        "weights": model.weights_, "means": model.means_, "covariances": model.covariances_,
        "note": f"{model.n_iter_} iterations",
    }  # fmt: skip


def gramian(data):
    """init=[10 Gaussians], max_iter=50, tol=0"""
    return ours(data, "full")


def sklearn(data):
    """means_init, precisions_init, weights_init, max_iter=50, tol=0, reg_covar=0"""
    return theirs(data, "full", np.linalg.inv(data["covariance"]))


def quality(data, result):
    from scipy.special import logsumexp

    X = data["X"]
    joint = np.empty((len(X), K))
    for j in range(K):
        root = np.linalg.cholesky(result["covariances"][j])
        y = np.linalg.solve(root, (X - result["means"][j]).T)
        joint[:, j] = np.log(result["weights"][j]) - 0.5 * (y**2).sum(axis=0) - np.log(root.diagonal()).sum()
    return {"mean_nll": 0.5 * D * np.log(2 * np.pi) - logsumexp(joint, axis=1).mean()}


peers = {"gramian": gramian, "sklearn": sklearn}
targets = [("sklearn", 5)]
judge = {"mean_nll": (1 + 1e-8, 0)}
