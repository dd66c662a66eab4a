"""k-means, 1,000,000 × 16, 50 clusters, one start by k-means++.

Fifty normal clusters of unequal sizes, centres three times as spread as the rows about them. Every row seeds by
itself, so that inertias differ by chance; kmeans_start begins with the same centres. inertia: Σ ‖x − c‖² to the
nearest of the centres returned, over n d. n_iter: iterations said to be needed.
"""

import numpy as np

from bench.task import scaled


def data(scale, n=1_000_000, d=16, k=50):
    rng = np.random.default_rng(21)
    n = scaled(n, scale, 50 * k)
    share = rng.dirichlet(np.full(k, 5.0))
    X = 3 * rng.standard_normal((k, d))[rng.choice(k, n, p=share)] + rng.standard_normal((n, d))
    return {"X": X, "k": k, "start": X[rng.choice(n, k, replace=False)]}


def answer(centers, n_iter):
    return {"centers": np.asarray(centers, dtype=float), "n_iter": n_iter}


def gramian(data):
    """until no row changes its cluster"""
    import gramian as gm

    model = gm.KMeans(data["k"], n_init=1, random_state=0).fit(data["X"])
    return answer(model.centers_, model.n_iter_)


def sklearn_lloyd(data):
    """n_init=1, tol=1e-4 (its default)"""
    from sklearn.cluster import KMeans

    model = KMeans(data["k"], n_init=1, random_state=0).fit(data["X"])
    return answer(model.cluster_centers_, model.n_iter_)


def sklearn_elkan(data):
    """n_init=1, tol=1e-4 (its default)"""
    from sklearn.cluster import KMeans

    model = KMeans(data["k"], n_init=1, random_state=0, algorithm="elkan").fit(data["X"])
    return answer(model.cluster_centers_, model.n_iter_)


def sklearnex(data):
    """oneDAL, n_init=1, tol=1e-4 (its default)"""
    from sklearnex.cluster import KMeans

    model = KMeans(data["k"], n_init=1, random_state=0).fit(data["X"])
    return answer(model.cluster_centers_, model.n_iter_)


def sklearnex_single(data):
    """oneDAL in single precision, conversion included"""
    from sklearnex.cluster import KMeans

    model = KMeans(data["k"], n_init=1, random_state=0).fit(data["X"].astype(np.float32))
    return answer(model.cluster_centers_, model.n_iter_)


def faiss(data):
    """single precision, conversion included; k-means++, at most 100 iterations, no sampling of rows"""
    from faiss import Kmeans

    model = Kmeans(
        data["X"].shape[1], data["k"], niter=100, seed=0, init_method=1, max_points_per_centroid=len(data["X"]),
        min_points_per_centroid=1,
    )  # fmt: skip
    model.train(data["X"].astype(np.float32))
    return answer(model.centroids, len(model.obj))


def quality(data, result):
    X, C = data["X"], result["centers"]
    squares, total = (C**2).sum(axis=1), 0.0
    for i in range(0, len(X), 20_000):
        part = X[i : i + 20_000]
        owner = (squares - 2 * part @ C.T).argmin(axis=1)
        total += float(((part - C[owner]) ** 2).sum())
    return {"inertia": total / X.size, "n_iter": float(result["n_iter"])}


peers = {
    "gramian": gramian, "sklearn_lloyd": sklearn_lloyd, "sklearn_elkan": sklearn_elkan, "sklearnex": sklearnex,
    "sklearnex_single": sklearnex_single, "faiss": faiss,
}  # fmt: skip
targets = [("sklearn_lloyd", 2), ("sklearn_elkan", 2), ("sklearnex", 2), ("sklearnex_single", 2), ("faiss", 2)]
judge = {"inertia": (1.05, 0)}
