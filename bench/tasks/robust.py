"""Huber regression with its scale estimated jointly, 100,000 × 50, heavy tails and gross outliers.

The objective is mean(σ + σ H((y − f)/σ)) + alpha ‖w‖², H(u) = u² up to 1.35 and 2.7 |u| − 1.35² beyond, alpha = 1e-6,
intercept and σ unpenalised; scikit-learn minimises n times the same. Every row is brought to excess ≤ 1e-9 (objective
over the minimum, which Newton's method in NumPy finds); gradient is its largest entry. statsmodels estimates the scale
by the median absolute deviation, another problem, so its row shows only what that costs. LIMIT is ten weighted Gram
matrices.
"""

import numpy as np

from bench.reference import Huber, fitted
from bench.task import scaled

ALPHA, DELTA = 1e-6, 1.35


def data(scale):
    rng = np.random.default_rng(8)
    n, d = scaled(100_000, scale, 1000), 50
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((n, 1))
    y = X @ rng.standard_normal(d) + 3 + rng.standard_t(3, n)
    wild = rng.random(n) < 0.05
    y[wild] += 50 * rng.standard_normal(wild.sum())
    return {"X": X, "y": y}


def gramian(data):
    import gramian as gm

    model = gm.Regressor(gm.losses.Huber(DELTA), gm.penalties.L2(), alpha=ALPHA).fit(data["X"], data["y"])
    return fitted(model, scale=float(model.scale_))


def sklearn_HuberRegressor(data):
    """epsilon=1.35, alpha=n·alpha, tol=1e-5 (its default; it stops by the decrease), max_iter=1000"""
    from sklearn.linear_model import HuberRegressor

    model = HuberRegressor(epsilon=DELTA, alpha=len(data["y"]) * ALPHA, max_iter=1000).fit(data["X"], data["y"])
    return fitted(model, scale=model.scale_)


def statsmodels_RLM(data):
    """HuberT(1.35), no penalty, scale by the median absolute deviation"""
    from statsmodels.api import RLM, add_constant
    from statsmodels.robust.norms import HuberT

    answer = RLM(data["y"], add_constant(data["X"]), M=HuberT(DELTA)).fit()
    return {"coef": answer.params[1:], "intercept": answer.params[0], "scale": answer.scale}


def limit(data):
    X = data["X"]
    weights = np.full((len(X), 1), 0.5)
    for _ in range(10):
        (X * weights).T @ X


def quality(data, result):
    problem = Huber(data["X"], data["y"], ALPHA, DELTA)
    answer = np.concatenate([result["coef"], [result["intercept"], result["scale"]]])
    value = problem.value(answer)
    gradient, _ = problem.slope(answer)
    excess = max(0.0, value / problem.minimise(answer) - 1)
    return {"objective": value, "excess": excess, "gradient": np.abs(gradient).max(), "scale": result["scale"]}


peers = {
    "gramian": gramian,
    "sklearn_HuberRegressor": sklearn_HuberRegressor,
    "statsmodels_RLM": statsmodels_RLM,
    "LIMIT": limit,
}
targets = [("sklearn_HuberRegressor", 2)]
judge = {"excess": (1, 1e-9)}
warm = 0.02
