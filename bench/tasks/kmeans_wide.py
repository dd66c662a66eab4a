"""k-means, 100,000 × 64, 200 clusters, one start by k-means++: kmeans with many centres and columns."""

from bench.tasks import kmeans
from bench.tasks.kmeans import judge, peers, quality, targets

__all__ = ["data", "judge", "peers", "quality", "targets"]
warm = 0.1


def data(scale):
    return kmeans.data(scale, 100_000, 64, 200)
