"""Landmark points of a fit: of all rows, or of very many from some of them."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.kernels.representation import Landmarks

MOST_CELLS = 50_000_000  # numbers of features that are kept in memory
SAMPLE_PER_LANDMARK = 10  # points for each landmark that they are chosen from
MIN_SAMPLE = 10_000


def chosen_pivots(kernel: Any, points: Any, rank: int, seed: int = 0) -> Landmarks:
    """Landmarks of points; of very many, chosen from some of them."""
    if len(points) * rank > MOST_CELLS:
        return sampled_pivots(kernel, points, rank, seed)
    return pivots(kernel, points, rank, seed=seed)[0]


def sampled_pivots(kernel: Any, points: Any, rank: int, seed: int = 0, weight: Floats | None = None) -> Landmarks:
    """Landmarks of many points, chosen from some of those that count: O(s r²) for s = 10 r points."""
    counted = np.arange(len(points)) if weight is None else np.flatnonzero(weight > 0)
    count = min(len(counted), max(SAMPLE_PER_LANDMARK * rank, MIN_SAMPLE))
    sample = counted[np.sort(np.random.default_rng(seed).choice(len(counted), count, replace=False))]
    landmarks, _ = pivots(kernel, points[sample], rank, seed=seed)
    return replace(landmarks, index=sample[landmarks.index])
