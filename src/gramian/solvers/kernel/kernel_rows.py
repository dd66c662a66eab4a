"""Rows of a kernel matrix in single precision, computed when needed and kept within a budget of memory."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.exponential import rbf_single
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Ints, Singles
from gramian.kernels.numerics.sums import MAX_COLUMNS, gaussian_sums_among
from gramian.kernels.vectors.stationary import RBF
from gramian.rows import parallel_map
from gramian.solvers.kernel.smo_steps import LANES

Index = Ints
MEMORY = 3 * 2**30  # bytes for kernel rows
FEW = 2000
LEAST_ROWS = 4096  # rows that are always kept: a working set
TALL, WIDE = 256, 4096  # one piece of a block
ROUNDING = 1e-4  # of an exponent: single precision is for rows that are not too far apart


class KernelRows:
    """K of n points, by rows.

    Gaussian kernels of dense rows are computed whenever they are asked for, which is faster than reading them. Rows of
    other kernels are kept in slots; where there are fewer slots than rows, those used longest ago are given up.
    """

    def __init__(self, kernel: Any, points: Any, memory: int = MEMORY) -> None:
        self.kernel, self.points, self.n, self.memory = kernel, points, len(points), memory
        self.release()

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "points": self.points, "memory": self.memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def release(self) -> None:
        """Give the memory back; rows are computed anew when they are asked for."""
        self.table: Any = np.empty((0, self.n), dtype=np.float32)
        self.slot = np.full(self.n, -1, dtype=np.int64)  # of a row
        self._single: Single | None = None
        self._tried = False

    @property
    def single(self) -> "Single | None":
        """The kernel in single precision, where that is fast; few rows are kept in double precision."""
        if not self._tried and self.n > FEW:
            self._single, self._tried = single_precision(self.kernel, self.points), True
        return self._single

    def _begin(self) -> None:
        count = int(min(self.n, max(self.memory // (4 * self.n), LEAST_ROWS)))
        double = self.n <= FEW  # the kernel matrix of few rows is kept in double precision
        self.table = np.empty((count, self.n), dtype=np.float64 if double else np.float32)
        self.owner = np.full(count, -1, dtype=np.int64)  # of a slot
        self.used = np.zeros(count, dtype=np.int64)
        self.clock = 0

    def square(self, index: Index) -> Any:
        """K of some rows and the same columns."""
        if self.single is not None:
            return self.single.square(index)
        slots = self._slots(index)
        if is_small(slots.size * LANES):
            return np.ascontiguousarray(self.table[slots][:, index])
        found = np.empty((len(index), len(index)), dtype=self.table.dtype)
        edges = np.linspace(0, len(index), 5).astype(int)
        parallel_map(lambda p: gather(self.table, slots, index, found, edges[p], edges[p + 1]), range(4))
        return found

    def add(self, f: Floats, index: Index, change: Floats) -> None:
        """f += K · change over some rows."""
        some = np.flatnonzero(change)
        if not len(some):
            return
        if self.single is not None:
            weight = np.zeros(self.n)
            weight[index] = change
            f += self.single.times(weight)
            return
        slots, weight = self._slots(index[some]), change[some]
        if is_small(slots.size * LANES):
            f += weight @ self.table[slots]
            return
        edges = np.linspace(0, self.n, 5).astype(int)
        parallel_map(lambda p: add_rows(self.table, slots, weight, f, edges[p], edges[p + 1]), range(4))

    def _slots(self, index: Index) -> Index:
        """Where the table has some rows of K; those not kept are computed."""
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
        slots: Index = self.slot[index]
        self.used[slots] = self.clock
        return slots

    def part(self, index: Index) -> "KernelRows":
        """The kernel matrix of some of the points."""
        return KernelRows(self.kernel, self.points[index], self.memory)

    def _compute(self, index: Index, slots: Index) -> None:
        pieces = [(i, j) for i in range(0, len(index), TALL) for j in range(0, self.n, WIDE)]

        def piece(corner: tuple[int, int]) -> None:
            i, j = corner
            rows, columns = self.points[index[i : i + TALL]], self.points[j : j + WIDE]
            self.table[slots[i : i + TALL], j : j + WIDE] = self.kernel.block(rows, columns)

        parallel_map(piece, pieces)

    def product(self, weight: Floats) -> Floats:
        """K · weight, of entries in single precision where rows are many."""
        return self.times(weight) if self.single is None else self.single.times(weight)

    def times(self, weight: Floats) -> Floats:
        """K · weight in double precision."""
        return np.asarray(self.kernel.times_among(self.points, weight))


class Single:
    """The Gaussian kernel of dense rows in single precision."""

    def __init__(self, X: Floats, scale: Floats) -> None:
        self.Z = ((X - X.mean(axis=0)) / (np.sqrt(2.0) * scale)).astype(np.float32)
        self.squares = (self.Z.astype(np.float64) ** 2).sum(axis=1).astype(np.float32)

    @property
    def error(self) -> float:
        """A bound on the rounding of an exponent."""
        most = float(self.squares.max(initial=0.0))
        return (8.0 + np.sqrt(self.Z.shape[1])) * 2.0 * most * float(np.finfo(np.float32).eps)

    def square(self, index: Index) -> Singles:
        """K of some rows: half of it by products in the cache, the other half as its mirror."""
        Z, squares = np.ascontiguousarray(self.Z[index]), self.squares[index]
        found = np.empty((len(index), len(index)), dtype=np.float32)

        def panel(start: int) -> None:
            rows, stop = slice(start, start + TALL), min(start + TALL, len(index))
            for j in range(start, len(index), TALL):
                part = (2.0 * Z[rows]) @ Z[j : j + TALL].T
                rbf_single(part, squares[rows], squares[j : j + TALL])
                found[rows, j : j + TALL] = part
                if j > start:
                    found[j : j + TALL, start:stop] = part.T

        parallel_map(panel, range(0, len(index), TALL))
        return found

    def times(self, weight: Floats) -> Floats:
        """K · weight."""
        return gaussian_sums_among(self.Z, self.squares, weight)


def single_precision(kernel: Any, points: Any) -> Single | None:
    """The kernel in single precision: for Gaussian kernels of dense rows that are not many length scales apart."""
    if type(kernel) is not RBF or points.is_sparse or points.d > MAX_COLUMNS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        found = Single(kernel.transformed(points, points)[0].dense(), kernel.scale)
        return found if found.error <= ROUNDING else None


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
