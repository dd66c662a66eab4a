"""Points as rows of numbers: a function of them, made block by block."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.rows import Basis, Block, Computed, MemoryRows, Rows

BLOCK_ROWS = 4096  # rows of a block: it is made in panels, and so may be longer than one that is kept


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


class KernelValues(MappedRows):
    """Points as rows of k(x, P) for some points P; sums over P need no such row."""

    def __init__(self, points: Any, kernel: Kernel, others: Any, target: MemoryRows | None = None) -> None:
        super().__init__(points, len(others), lambda some: kernel.block(some, others), target)
        self.kernel, self.others = kernel, others

    def times(self, coef: Floats) -> Floats:
        return self.kernel.times(self.points, self.others, coef)

    def subset(self, index: Any) -> "KernelValues":
        target = None if self.target is None else self.target.subset(index)
        return KernelValues(self.points[index], self.kernel, self.others, target)
