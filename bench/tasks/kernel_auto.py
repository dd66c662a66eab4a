"""A kernel and its length scale chosen: ridge regression on 442 × 10, logistic regression on 200 × 2.

31 kernels (linear, Gaussian, Laplacian and Matérn at ten length scales each) × the alphas of a grid, by five folds, and
the fit with those chosen. gramian: `Ridge(kernel="auto")` on scikit-learn's diabetes data; gramian_logistic:
`LogisticRegression(kernel="auto")` on two noisy rings. loss: the smallest validation loss, as a share of that of the
mean or of the shares of the classes.
"""

import numpy as np

from bench.task import scaled


def data(scale):
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    n = scaled(442, scale, 60)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((scaled(200, scale, 60), 2))
    label = np.hypot(*Z.T) + 0.3 * rng.standard_normal(len(Z)) > 1.2
    return {"X": X[:n], "y": y[:n], "Z": Z, "label": label}


def gramian(data):
    """kernel="auto", cv=5"""
    import gramian as gm

    model = gm.Ridge(kernel="auto").fit(data["X"], data["y"])
    loss = model.scores_.mean[model.scores_.chosen] / data["y"].var()
    return {"loss": loss, "note": f"{model.kernel_!r}"}


def gramian_logistic(data):
    """kernel="auto", cv=5"""
    import gramian as gm

    model = gm.LogisticRegression(kernel="auto").fit(data["Z"], data["label"])
    p = data["label"].mean()
    entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
    return {"loss": model.scores_.mean[model.scores_.chosen] / entropy, "note": f"{model.kernel_!r}"}


def quality(data, result):
    return {"loss": result["loss"]}


peers = {"gramian": gramian, "gramian_logistic": gramian_logistic}
targets = []
ceilings = {"gramian": 1.0, "gramian_logistic": 2.0}
warm = 0.2
