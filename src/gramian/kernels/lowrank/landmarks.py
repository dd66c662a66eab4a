"""Points as rows of numbers: a function of them, made block by block; of landmarks, with the basis of raw k(x, P)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.kernels.lowrank.pivoted_cholesky import Landmarks, pivots
from gramian.rows import Basis, Block, Computed, MemoryRows, Rows

BLOCK_ROWS = 4096  # rows of a block: it is made in panels, and so may be longer than one that is kept
MOST_CELLS = 50_000_000  # numbers of features that are kept in memory
SAMPLE_PER_LANDMARK = 10  # points for each landmark that they are chosen from
MIN_SAMPLE = 10_000
MAX_ROUNDING = 1e-8  # of a Gram matrix, relative, after multiplication with R⁻¹ on both sides


class MappedRows(Rows):
    """Points as rows of numbers, by a map that is applied when they are used; with the target and weights of others."""

    can_subset = True

    def __init__(self, points: Any, d: int, turn: Callable[[Any], Floats], target: MemoryRows | None = None) -> None:
        self.points, self.turn, self.target = points, turn, target
        self.n, self.d, self.names = len(points), d, None
        self.target_names, self.one_target, self.weighted = (), True, False
        if target is not None:
            self.target_names, self.one_target, self.weighted = target.target_names, target.one_target, target.weighted
            self.labels, self.target_type = target.labels, target.target_type
        self.precision = float(np.finfo(np.float64).eps)
        self.is_sparse = False

    @property
    def block_size(self) -> int:
        return max(super().block_size, BLOCK_ROWS)

    def block(self, start: int, stop: int) -> Block:
        part = Computed(self.points[start:stop], self.turn, self.d)
        if self.target is None:
            return Block(part, None, None, start)
        target = self.target.block(start, stop)
        return Block(part, target.y, target.weight, start)

    def subset(self, index: Any) -> "MappedRows":
        """Some of the rows."""
        target = None if self.target is None else self.target.subset(index)
        rows = MappedRows(self.points[index], self.d, self.turn, target)
        if self.basis is not None:
            assert isinstance(self.basis.rows, MappedRows)
            rows.basis = Basis(self.basis.rows.subset(index), self.basis.R, self.basis.well_conditioned)
        return rows


class SupportRows(MappedRows):
    """Points as rows of k(x, P) for some points P; sums over P need no such row."""

    def __init__(self, points: Any, kernel: Kernel, support: Any, target: MemoryRows | None = None) -> None:
        super().__init__(points, len(support), lambda some: kernel.block(some, support), target)
        self.kernel, self.support = kernel, support

    def times(self, coef: Floats) -> Floats:
        return self.kernel.times(self.points, self.support, coef)

    def subset(self, index: Any) -> "SupportRows":
        target = None if self.target is None else self.target.subset(index)
        return SupportRows(self.points[index], self.kernel, self.support, target)


def landmark_rows(chosen: Landmarks, points: Any, target: MemoryRows | None = None) -> MappedRows:
    """The features φ(x) = R⁻ᵀ k(P, x) of points, with k(x, P) itself as their basis."""
    r = len(chosen.index)
    rows = MappedRows(points, r, chosen.features, target)
    raw = SupportRows(points, chosen.kernel, chosen.points, target)
    trcon = sl.get_lapack_funcs("trcon", (chosen.R,))
    reciprocal = float(trcon(chosen.R, norm="1", uplo="U", diag="N")[0])
    well_conditioned = float(np.finfo(np.float64).eps) <= MAX_ROUNDING * reciprocal**2
    rows.basis = Basis(raw, chosen.R, well_conditioned)
    return rows


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
    return Landmarks(kernel, landmarks.points, sample[landmarks.index], landmarks.R, landmarks.unexplained)
