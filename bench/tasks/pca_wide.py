"""Principal components of 2,000 × 20,000, the first 20.

60 directions of decreasing variance in noise. residual: the largest ‖C v − λ v‖ over the largest λ, C the covariance.
LIMIT is one plain X @ X.T and one eigh of it: all components, where 20 are asked for.
"""

import numpy as np

from bench.task import scaled
from bench.tasks.pca import fitted, gramian, quality, sklearn_auto

__all__ = ["data", "judge", "memory_mb", "peers", "quality", "targets", "warm"]


def data(scale):
    rng = np.random.default_rng(22)
    n, d = scaled(2_000, scale, 200), scaled(20_000, scale, 2000)
    X = rng.standard_normal((n, 60)) @ (rng.standard_normal((60, d)) * np.geomspace(5, 0.2, 60)[:, None])
    X += rng.standard_normal((n, d))
    X += 1.0
    return {"X": X}


def sklearn_arpack(data):
    return fitted(data, "arpack")


def limit(data):
    np.linalg.eigh(data["X"] @ data["X"].T)


peers = {"gramian": gramian, "sklearn_auto": sklearn_auto, "sklearn_arpack": sklearn_arpack, "LIMIT": limit}
targets = [("sklearn_auto", 1), ("sklearn_arpack", 1)]
judge = {"residual": (1, 1e-8)}
memory_mb = 200
warm = 0.1
