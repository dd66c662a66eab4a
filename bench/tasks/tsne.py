"""t-SNE of 5,000 × 50 in ten clusters, perplexity 30, 1,000 steps.

kl: the divergence of the map, from all pairs in double precision and one set of similarities (exact neighbours, 3 ×
perplexity of them); trust: the share of the ten nearest neighbours on the map that are of the row's cluster.
"""

import numpy as np

from bench.task import scaled

PERPLEXITY, D, K = 30.0, 50, 10


def data(scale):
    rng = np.random.default_rng(21)
    n = scaled(5_000, scale, 200)
    labels = rng.integers(0, K, n)
    X = rng.standard_normal((n, D)) + 3.0 * rng.standard_normal((K, D))[labels]
    return {"X": X, "labels": labels}


def gramian(data):
    """all pairs in single precision, start from principal components"""
    import gramian as gm

    return {"map": gm.TSNE(perplexity=PERPLEXITY, engine="exact").fit(data["X"]).embedding_}


def sklearn_barnes_hut(data):
    """angle 0.5, init="pca", both cores"""
    from sklearn.manifold import TSNE

    return {"map": TSNE(perplexity=PERPLEXITY, init="pca", random_state=0, n_jobs=-1).fit_transform(data["X"])}


def sklearnex(data):
    """oneDAL, init="pca" """
    from sklearnex.manifold import TSNE

    return {"map": TSNE(perplexity=PERPLEXITY, init="pca", random_state=0).fit_transform(data["X"])}


def opentsne(data):
    """Barnes–Hut, 250 + 750 steps, both cores"""
    import openTSNE

    model = openTSNE.TSNE(perplexity=PERPLEXITY, n_iter=750, negative_gradient_method="bh", n_jobs=-1, random_state=0)
    return {"map": np.asarray(model.fit(data["X"]))}


def similarities(X, perplexity):
    """Symmetric P with bandwidths by bisection, over the nearest rows."""
    n = len(X)
    k = min(n - 1, int(3 * perplexity) + 1)
    squares = (X**2).sum(axis=1)
    P = np.zeros((n, n))
    for i in range(n):
        away = np.maximum(squares + squares[i] - 2 * X @ X[i], 0.0)
        away[i] = np.inf
        near = np.argpartition(away, k)[:k] if k < n - 1 else np.delete(np.arange(n), i)
        d = away[near] - away[near].min()
        low, high = 1e-12, 1e12
        for _ in range(100):
            b = np.sqrt(low * high)
            p = np.exp(-b * d)
            p /= p.sum()
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            low, high = (b, high) if entropy > np.log(perplexity) else (low, b)
        P[i, near] = p
    return (P + P.T) / (2 * n)


def quality(data, result):
    Y = np.asarray(result["map"], dtype=np.float64)
    P = similarities(data["X"], PERPLEXITY)
    squares = (Y**2).sum(axis=1)
    away = np.maximum(squares[:, None] + squares - 2 * Y @ Y.T, 0.0)
    kernel = 1.0 / (1.0 + away)
    np.fill_diagonal(kernel, 0.0)
    used = P > 0
    kl = float((P[used] * np.log(P[used] * kernel.sum() / kernel[used])).sum())
    np.fill_diagonal(away, np.inf)
    near = np.argpartition(away, 10, axis=1)[:, :10]
    return {"kl": kl, "trust": float((data["labels"][near] == data["labels"][:, None]).mean())}


peers = {"gramian": gramian, "sklearn_barnes_hut": sklearn_barnes_hut, "sklearnex": sklearnex, "opentsne": opentsne}
targets = [("sklearn_barnes_hut", 3)]
judge = {"kl": (1.02, 0.0)}
warm = 0.05
