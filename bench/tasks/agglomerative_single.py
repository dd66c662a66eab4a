"""Agglomerative clustering, 10,000 × 8: the whole tree by single linkage.

heights: the sum of the heights of all merges, the length of the shortest spanning tree.
"""

from bench.tasks.agglomerative import data as data
from bench.tasks.agglomerative import quality as quality


def gramian(data):
    import gramian as gm

    return {"heights": gm.Agglomerative(10, linkage="single").fit(data["X"]).heights_}


def genieclust(data):
    """Gini threshold 1: single linkage"""
    import genieclust as library

    return {"heights": library.Genie(n_clusters=10, gini_threshold=1.0).fit(data["X"]).distances_}


def fastcluster_vector(data):
    import fastcluster

    return {"heights": fastcluster.linkage_vector(data["X"], "single")[:, 2]}


def scipy_linkage(data):
    from scipy.cluster.hierarchy import linkage

    return {"heights": linkage(data["X"], "single")[:, 2]}


peers = {
    "gramian": gramian,
    "genieclust": genieclust,
    "fastcluster_vector": fastcluster_vector,
    "scipy_linkage": scipy_linkage,
}
targets = [("genieclust", 1), ("fastcluster_vector", 1), ("scipy_linkage", 1)]
warm = 0.02
