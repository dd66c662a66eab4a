"""Gaussian mixture with diagonal covariances, 200,000 × 16, 10 components: 50 iterations of EM.

Both start from the same means (10 rows), the variances of all rows and equal weights, and make 50 iterations without a
test of convergence; covariances are not regularised. mean_nll: −mean log-likelihood of what was found, computed by the
harness.
"""

import numpy as np

from bench.tasks import gmm
from bench.tasks.gmm import D, K

__all__ = ["data", "judge", "peers", "quality", "targets"]


def data(scale):
    found = gmm.data(scale)
    return found | {"covariance": found["X"].var(axis=0)}


def gramian(data):
    """init=[10 Gaussians], covariance="diagonal", max_iter=50, tol=0"""
    return gmm.ours(data, "diagonal")


def sklearn(data):
    """means_init, precisions_init, weights_init, max_iter=50, tol=0, reg_covar=0"""
    return gmm.theirs(data, "diag", 1 / data["covariance"])


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
