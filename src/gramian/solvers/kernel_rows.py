"""Rows of a kernel matrix in single precision, computed when needed and kept within a budget of memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gramian.exponential import rbf_single
from gramian.kernels.stationary import RBF
from gramian.rows import parallel_map, single_threaded_blas

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Index = NDArray[np.int64]
MEMORY = 3 * 2**30  # bytes for kernel rows
FEW = 2000
LEAST_ROWS = 4096  # rows that are always kept: a working set
TALL, WIDE = 256, 4096  # one piece of a block
PANEL, NARROW = 512, 512  # rows and columns of a piece of a product in double precision


class Rows32:
    """Some rows of K: row i of the block is `table[slots[i]]`."""

    def __init__(self, table: Any, slots: Index) -> None:
        self.table, self.slots = table, slots

    def columns(self, index: Index) -> Any:
        """The block at some columns."""
        found = np.empty((len(self.slots), len(index)), dtype=self.table.dtype)
        edges = np.linspace(0, len(self.slots), 5).astype(int)
        parallel_map(lambda p: gather(self.table, self.slots, index, found, edges[p], edges[p + 1]), range(4))
        return found


class KernelRows:
    """K of n points, by rows.

    Rows are kept in slots; where there are fewer slots than rows, those used longest ago are given up.
    """

    def __init__(self, kernel: Any, points: Any, memory: int = MEMORY) -> None:
        self.kernel, self.points, self.n, self.memory = kernel, points, len(points), memory
        self.release()

    def release(self) -> None:
        """Give the memory back; rows are computed anew when they are asked for."""
        self.table: Any = np.empty((0, self.n), dtype=np.float32)
        self.slot = np.full(self.n, -1, dtype=np.int64)  # of a row
        self.single: Callable[[Index, slice], Singles] | None = None

    def _begin(self) -> None:
        count = int(min(self.n, max(self.memory // (4 * self.n), LEAST_ROWS)))
        double = self.n <= FEW  # the kernel matrix of few rows is kept in double precision
        self.table = np.empty((count, self.n), dtype=np.float64 if double else np.float32)
        self.owner = np.full(count, -1, dtype=np.int64)  # of a slot
        self.used = np.zeros(count, dtype=np.int64)
        self.clock = 0
        self.single = None if double else single_precision(self.kernel, self.points)

    def rows(self, index: Index) -> Rows32:
        """Rows of K by number; those not kept are computed."""
        if not len(self.table):
            self._begin()
        self.clock += 1
        here = self.slot[index]
        missing = np.unique(index[here < 0])
        if len(missing):
            self.used[here[here >= 0]] = self.clock
            free = (
                np.argpartition(self.used, len(missing) - 1)[: len(missing)]
                if len(missing) < len(self.used)
                else (np.arange(len(missing)))
            )
            self.slot[self.owner[free][self.owner[free] >= 0]] = -1
            self.owner[free], self.slot[missing] = missing, free
            self._compute(missing, free)
        slots = self.slot[index]
        self.used[slots] = self.clock
        return Rows32(self.table, slots)

    def part(self, index: Index) -> "KernelRows":
        """The kernel matrix of some of the points."""
        return KernelRows(self.kernel, self.points[index], self.memory)

    def _compute(self, index: Index, slots: Index) -> None:
        pieces = [
            (index[i : i + TALL], slots[i : i + TALL], j)
            for i in range(0, len(index), TALL)
            for j in range(0, self.n, WIDE)
        ]

        def piece(number: int) -> None:
            some, where, j = pieces[number]
            stop = min(j + WIDE, self.n)
            if self.single is not None:
                self.table[where, j:stop] = self.single(some, slice(j, stop))
            else:
                self.table[where, j:stop] = self.kernel.block(self.points[some], self.points[j:stop])

        with single_threaded_blas():
            parallel_map(piece, range(len(pieces)))

    def add(self, f: Floats, block: Rows32, change: Floats) -> None:
        """f += Kᵀ change over the rows of a block, in double precision."""
        some = np.flatnonzero(change)
        if not len(some):
            return
        slots, weight = block.slots[some], change[some]
        edges = np.linspace(0, self.n, 5).astype(int)
        parallel_map(lambda p: add_rows(self.table, slots, weight, f, edges[p], edges[p + 1]), range(4))

    def product(self, weight: Floats) -> Floats:
        """K · weight, of entries in single precision where rows are many."""
        if self.n <= FEW:
            return self.times(weight)
        single = self.single or single_precision(self.kernel, self.points)
        if single is None:
            return self.times(weight)
        some = np.flatnonzero(weight)
        w = weight[some].astype(np.float32)

        def panel(number: int) -> Floats:
            columns = slice(number * PANEL, min((number + 1) * PANEL, self.n))
            total = np.zeros(columns.stop - columns.start)
            for i in range(0, len(some), WIDE):
                total += w[i : i + WIDE] @ single(some[i : i + WIDE], columns)
            return total

        with single_threaded_blas():
            return np.concatenate(parallel_map(panel, range(-(-self.n // PANEL))))

    def times(self, weight: Floats) -> Floats:
        """K · weight in double precision, of the rows whose weight is not zero."""
        some = np.flatnonzero(weight)
        if not len(some):
            return np.zeros(self.n)
        parts = [(self.points[some[i : i + NARROW]], weight[some[i : i + NARROW]]) for i in range(0, len(some), NARROW)]

        def panel(number: int) -> Floats:
            A = self.points[number * PANEL : (number + 1) * PANEL]
            return np.asarray(sum(self.kernel.block(A, B) @ w for B, w in parts))

        with single_threaded_blas():
            return np.concatenate(parallel_map(panel, range(-(-self.n // PANEL))))


def single_precision(kernel: Any, points: Any) -> Callable[[Index, slice], Singles] | None:
    """Blocks of the Gaussian kernel of dense rows: one product and one exponential on vectors; None for others."""
    if type(kernel) is not RBF or points.is_sparse:
        return None
    X = kernel.turned(points, points)[0].dense()
    Z = ((X - X.mean(axis=0)) / kernel.scale).astype(np.float32)
    half = (0.5 * (Z.astype(np.float64) ** 2).sum(axis=1)).astype(np.float32)

    def block(rows: Index, columns: slice) -> Singles:
        found = Z[rows] @ Z[columns].T
        rbf_single(found, half[rows], half[columns])
        return found

    return block


@njit(cache=True, nogil=True)
def gather(table: Any, slots: Any, index: Any, out: Any, start: int, stop: int) -> None:  # pragma: no cover - compiled
    for i in range(start, stop):
        row = table[slots[i]]
        for j in range(len(index)):
            out[i, j] = row[index[j]]


@njit(cache=True, nogil=True)
def add_rows(table: Any, slots: Any, weight: Any, f: Any, start: int, stop: int) -> None:  # pragma: no cover - compiled
    """f[start:stop] += Σ weight · row, in pieces of f that stay in the cache."""
    for first in range(start, stop, 2048):
        last = min(first + 2048, stop)
        for k in range(len(slots)):
            w, row = weight[k], slots[k]
            for j in range(first, last):
                f[j] += w * table[row, j]
