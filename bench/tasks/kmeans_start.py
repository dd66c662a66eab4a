"""k-means, 1,000,000 × 16, 50 clusters, 30 iterations from the same centres.

The data of kmeans; all rows begin with the same fifty rows and stop after thirty iterations (tol=0, and none needs
less), so that all must have the same inertia to rounding.
"""

from bench.tasks.kmeans import answer, data, quality

__all__ = ["data", "judge", "peers", "quality", "targets"]
ITERATIONS = 30


def gramian(data):
    import gramian as gm

    settings = {"init": data["start"], "n_init": 1, "max_iter": ITERATIONS, "tol": 0.0}
    model = gm.KMeans(data["k"], **settings).fit(data["X"])
    return answer(model.centers_, model.n_iter_)


def _fitted(cls, data, **settings):
    model = cls(data["k"], init=data["start"], n_init=1, max_iter=ITERATIONS, tol=0.0, **settings)
    model.fit(data["X"])
    return answer(model.cluster_centers_, model.n_iter_)


def sklearn_lloyd(data):
    from sklearn.cluster import KMeans

    return _fitted(KMeans, data)


def sklearn_elkan(data):
    from sklearn.cluster import KMeans

    return _fitted(KMeans, data, algorithm="elkan")


def sklearnex(data):
    """oneDAL"""
    from sklearnex.cluster import KMeans

    return _fitted(KMeans, data)


peers = {"gramian": gramian, "sklearn_lloyd": sklearn_lloyd, "sklearn_elkan": sklearn_elkan, "sklearnex": sklearnex}
targets = [("sklearn_lloyd", 4), ("sklearn_elkan", 4), ("sklearnex", 4)]
judge = {"inertia": (1 + 1e-8, 0)}
