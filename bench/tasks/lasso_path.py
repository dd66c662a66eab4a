"""Lasso path, 2,000 × 20,000, 100 alphas from alpha_max down to 0.033 alpha_max.

Every row is brought to gap ≤ 1e-6: the largest over the alphas of the relative duality gap, with the residual scaled
to feasibility as dual point (or the dual point celer returns, made feasible by the harness, where that is better).
X and y are centred, so that fitting an intercept or none is the same problem. LIMIT is 100 passes X.T @ r.
"""

import numpy as np

from bench.reference import lasso_gaps
from bench.task import scaled

GAP = 1e-6


def data(scale):
    from scipy.signal import lfilter

    rng = np.random.default_rng(3)
    n, d = scaled(2000, scale, 40), scaled(20_000, scale, 400)
    k = max(5, d // 40)
    X = rng.standard_normal((n, d))
    X[:, 1:] *= np.sqrt(0.75)
    X = np.asfortranarray(lfilter([1.0], [1.0, -0.5], X, axis=1))  # neighbouring columns correlate by 0.5
    X -= X.mean(0)
    w = np.zeros(d)
    w[rng.choice(d, k, replace=False)] = rng.standard_normal(k)
    signal = X @ w
    y = signal + 0.5 * signal.std() * rng.standard_normal(n)
    y -= y.mean()
    alpha_max = 2 * np.abs(X.T @ y).max() / n
    return {"X": X, "y": y, "alphas": alpha_max * np.geomspace(1, 0.033, 100)}


def gramian(data):
    """tol=1e-6"""
    import gramian as gm

    model = gm.Lasso(alpha=data["alphas"][-1], alphas=data["alphas"], tol=GAP).fit(data["X"], data["y"])
    if not np.allclose(model.path_.alphas, data["alphas"], rtol=1e-12):
        raise ValueError("path_.alphas is not the grid that was asked for")
    return {"coefs": model.path_.coefs}


def celer(data):
    """celer_path, tol=5e-7 (relative to twice the objective at zero)"""
    from celer import celer_path

    _, coefs, _, duals = celer_path(
        data["X"], data["y"], pb="lasso", alphas=data["alphas"] / 2, tol=GAP / 2, max_iter=100, return_thetas=True
    )
    return {"coefs": coefs.T, "duals": duals}


def skglm_to(data, share):
    from skglm import Lasso

    alphas = data["alphas"] / 2
    model = Lasso(fit_intercept=False, tol=share * alphas[0], max_iter=200)
    return {"coefs": model.path(data["X"], data["y"], alphas)[1].T}


def skglm(data):
    """Lasso.path (warm starts), tol=2e-7 of its largest alpha, since it stops by the violation of optimality"""
    return skglm_to(data, 2e-7)


def skglm_loose(data):
    """the same, tol=1e-4 of its largest alpha: an objective close to the minimum, but no such gap"""
    return skglm_to(data, 1e-4)


def sklearn(data):
    """lasso_path, tol=5e-7 (relative to twice the objective at zero), max_iter=100000"""
    from sklearn.linear_model import lasso_path

    _, coefs, _ = lasso_path(data["X"], data["y"], alphas=data["alphas"] / 2, tol=GAP / 2, max_iter=100_000)
    return {"coefs": coefs.T}


def limit(data):
    residual = data["y"].copy()
    for _ in data["alphas"]:
        data["X"].T @ residual


def quality(data, result):
    coefs = np.ascontiguousarray(result["coefs"])
    gaps = lasso_gaps(data["X"], data["y"], coefs, data["alphas"], result.get("duals"))
    return {"gap": gaps.max(), "nnz_last": np.count_nonzero(coefs[-1])}


peers = {
    "gramian": gramian,
    "celer": celer,
    "skglm": skglm,
    "skglm_loose": skglm_loose,
    "sklearn": sklearn,
    "LIMIT": limit,
}
targets = [("celer", 3), ("skglm", 3), ("sklearn", 3)]
judge = {"gap": (1, 1.05 * GAP)}
warm = 0.02
