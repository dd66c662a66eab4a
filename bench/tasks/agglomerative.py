"""Agglomerative clustering, 10,000 × 8: the whole tree by average linkage.

heights: the sum of the heights of all merges, which every row must agree on.
"""

import numpy as np

from bench.task import scaled

LINKAGE = "average"


def data(scale):
    return {"X": np.random.default_rng(22).standard_normal((scaled(10_000, scale, 200), 8))}


def gramian(data):
    import gramian as gm

    return {"heights": gm.Agglomerative(10, linkage=LINKAGE).fit(data["X"]).heights_}


def fastcluster_linkage(data):
    import fastcluster

    return {"heights": fastcluster.linkage(data["X"], LINKAGE)[:, 2]}


def scipy_linkage(data):
    from scipy.cluster.hierarchy import linkage

    return {"heights": linkage(data["X"], LINKAGE)[:, 2]}


def sklearn(data):
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(10, linkage=LINKAGE, compute_distances=True).fit(data["X"])
    return {"heights": model.distances_}


def quality(data, result):
    return {"heights": float(np.sum(result["heights"]))}


peers = {
    "gramian": gramian,
    "fastcluster_linkage": fastcluster_linkage,
    "scipy_linkage": scipy_linkage,
    "sklearn": sklearn,
}
targets = [("fastcluster_linkage", 1), ("scipy_linkage", 1), ("sklearn", 1)]
warm = 0.02
