"""k-means, 100,000 × 64, 200 clusters, 30 iterations from the same centres: kmeans_start on the data of kmeans_wide."""

from bench.tasks.kmeans_start import judge, peers, quality, targets
from bench.tasks.kmeans_wide import data, warm

__all__ = ["data", "judge", "peers", "quality", "targets", "warm"]
