"""Nearest neighbours: classes of 10,000 queries by the 10 nearest of 50,000 rows, 12 columns.

Six classes of two overlapping groups each. Fit and predictions together, so that no row leaves work for the other. All
neighbours are exact; `wrong` is the share of queries whose class differs from scikit-learn's by brute force in float64.
"""

import numpy as np

from bench.task import scaled

K = 10


def data(scale):
    rng = np.random.default_rng(0)
    n, queries, d = scaled(50_000, scale, 500), scaled(10_000, scale, 100), 12
    centers = 1.5 * rng.standard_normal((12, d))
    group = rng.integers(0, 12, n + queries)
    X = centers[group] + rng.standard_normal((n + queries, d))
    return {"X": X[:n], "y": group[:n] % 6, "Q": X[n:]}


def gramian(data):
    import gramian as gm

    return {"labels": gm.KNeighborsClassifier(K).fit(data["X"], data["y"]).predict(data["Q"])}


def sklearn(data):
    from sklearn.neighbors import KNeighborsClassifier

    return {"labels": KNeighborsClassifier(K, n_jobs=-1).fit(data["X"], data["y"]).predict(data["Q"])}


def sklearnex(data):
    from sklearnex.neighbors import KNeighborsClassifier

    return {"labels": KNeighborsClassifier(K).fit(data["X"], data["y"]).predict(data["Q"])}


def sklearnex_brute(data):
    """algorithm="brute" """
    from sklearnex.neighbors import KNeighborsClassifier

    return {"labels": KNeighborsClassifier(K, algorithm="brute").fit(data["X"], data["y"]).predict(data["Q"])}


def quality(data, result):
    from sklearn.neighbors import KNeighborsClassifier

    labels = KNeighborsClassifier(K, algorithm="brute").fit(data["X"], data["y"]).predict(data["Q"])
    return {"wrong": np.mean(labels != result["labels"])}


peers = {"gramian": gramian, "sklearn": sklearn, "sklearnex": sklearnex, "sklearnex_brute": sklearnex_brute}
targets = [("sklearn", 1.0), ("sklearnex", 1.0), ("sklearnex_brute", 1.0)]
judge = {"wrong": (1.0, 0.0)}
