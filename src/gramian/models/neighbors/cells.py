"""The smallest bounds of each query, a cell of rows at a time, without the cells that are too far away."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core.numerics.compiled import njit
from gramian._core.types import Floats, Ints, Singles
from gramian.rows import workspace

MAX_CELLS = 256
SAMPLE = 32  # rows of a cell that its centre is the mean of
LLOYD_STEPS = 2
TALL, WIDE = 256, 512  # queries and rows of a product that stays in the cache
CHUNK = 32  # bounds compared at once
ROOM = 96  # rows kept beyond twice those asked for, before all but the nearest are dropped
ROUNDING = 1e-12
CLOSE = 1e-6  # centres nearer have no direction between them
TINY = 1e-30  # what underflow may take away
BATCH = 4096  # rows assigned to cells at once


class Cells:
    """Rows in cells about centres c, and how far each cell B reaches towards each other centre A.

    With u = (c_A − c_B)/‖c_A − c_B‖ the distance of x from any row z of B is at least uᵀ(x − c_B) − max uᵀ(z − c_B),
    where uᵀ(x − c_B) = (‖x − c_B‖² − ‖x − c_A‖² + ‖c_A − c_B‖²)/(2 ‖c_A − c_B‖). A is the centre nearest to x.

    Parameters
    ----------
    Z : array (n, d)
        Rows about their mean, no number larger than 1.

    Attributes
    ----------
    order : array (n,)
        Rows, cell by cell; those of cell B are `order[starts[B] : starts[B + 1]]`.
    """

    def __init__(self, Z: Floats) -> None:
        n, d = Z.shape
        count = min(int(np.sqrt(n)), MAX_CELLS)
        self.centers = _centers(Z, count)
        cell = np.concatenate([_nearest(Z[i : i + BATCH], self.centers) for i in range(0, n, BATCH)])
        self.order = np.argsort(cell, kind="stable")
        self.starts = np.searchsorted(cell[self.order], np.arange(count + 1))
        self.squares = np.einsum("ij,ij->i", self.centers, self.centers)
        self.half, self.offset = np.zeros((count, count)), np.zeros((count, count))
        rounding = (d + 16.0) * float(np.finfo(np.float32).eps)
        for b in np.flatnonzero(np.diff(self.starts)):
            rows = Z[self.order[self.starts[b] : self.starts[b + 1]]] - self.centers[b]
            between = self.centers - self.centers[b]
            length = np.sqrt(np.einsum("ij,ij->i", between, between))
            inverse = np.divide(1.0, length, out=np.zeros(count), where=length > CLOSE)
            units = (between * inverse[:, None]).astype(np.float32)
            radius = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))
            reach = (rows.astype(np.float32) @ units.T).max(axis=0) + rounding * radius + TINY
            self.half[b], self.offset[b] = 0.5 * inverse, 0.5 * length - reach

    def bounds(self, U: Floats, base: Floats) -> tuple[Ints, Singles]:
        """The nearest centre to each query (b,), and bounds (cells, b) of squared distances from each cell, less base.

        A bound is no larger than (1 − ROUNDING) times the square.
        """
        norms = np.einsum("ij,ij->i", U, U)
        squares = self.centers @ (-2.0 * U.T)
        squares += self.squares[:, None]
        nearest = squares.argmin(axis=0)
        size = np.sqrt(norms) + np.sqrt(self.squares.max())
        rounding = 8.0 * (U.shape[1] + 16.0) * float(np.finfo(np.float64).eps) * size**2
        squares -= squares[nearest, np.arange(len(U))] + rounding
        squares *= np.take(self.half, nearest, axis=1)
        squares += np.take(self.offset, nearest, axis=1)
        np.maximum(squares, 0.0, out=squares)
        squares *= squares
        squares *= 1.0 - ROUNDING
        squares -= base + ROUNDING * norms
        found = squares.astype(np.float32)
        return nearest, np.nextafter(found, np.float32(-np.inf), out=found)


class Smallest:
    """The m smallest of the bounds of each query, as far as they were looked at, and one more.

    Parameters
    ----------
    left, right : arrays (b, p), (n, p)
        Bounds are their products.
    m : int
    """

    def __init__(self, left: NDArray[Any], right: NDArray[Any], m: int) -> None:
        b, self.kept = len(left), m + 1
        self.left, self.right = left, right
        self.values = workspace("smallest", b, 2 * self.kept + ROOM, right.dtype)
        self.places = workspace("places", b, 2 * self.kept + ROOM, np.int64)
        self.counts, self.thresholds = np.zeros(b, np.int64), np.full(b, np.inf, right.dtype)

    def look(self, queries: Ints, start: int, stop: int) -> None:
        """Look at the bounds of some queries and rows."""
        for first in range(0, len(queries), TALL):
            some = queries[first : first + TALL]
            rows = self.left if len(some) == len(self.left) else self.left[some]
            for column in range(start, stop, WIDE):
                part = self.right[column : min(column + WIDE, stop)]
                chunks = -(-len(part) // CHUNK)
                table = workspace("bounds", len(some), chunks * CHUNK, part.dtype)
                table[:, len(part) :] = np.inf
                np.matmul(rows, part.T, out=table[:, : len(part)])
                keep(
                    table.reshape(-1, chunks, CHUNK),
                    some,
                    column,
                    self.values,
                    self.places,
                    self.counts,
                    self.thresholds,
                    self.kept,
                )

    def settle(self) -> None:
        """Drop all but the smallest."""
        settle(self.values, self.places, self.counts, self.thresholds, self.kept)

    def of(self, cells: Cells, nearest: Ints, far: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
        """Columns (b, m) of the smallest bounds, and what all others are at least (b,)."""
        b, m = len(nearest), self.kept - 1
        far[nearest, np.arange(b)] = -np.inf
        first = min(-(-2 * self.kept * len(far) // len(self.right)), len(far))  # cells with rows enough for a threshold
        for cell_of in np.argpartition(far, first - 1, axis=0)[:first] if first > 1 else nearest[None]:
            order = np.argsort(cell_of, kind="stable")
            ends = np.searchsorted(cell_of[order], np.arange(len(far) + 1))
            for cell in np.flatnonzero(np.diff(ends)):
                self.look(order[ends[cell] : ends[cell + 1]], cells.starts[cell], cells.starts[cell + 1])
            far[cell_of, np.arange(b)] = np.inf
        self.settle()
        for cell in np.flatnonzero((far < self.thresholds).any(axis=1)):
            queries = np.flatnonzero(far[cell] < self.thresholds)
            self.look(queries, cells.starts[cell], cells.starts[cell + 1])
        self.settle()
        return self.places[:, :m].copy(), self.values[:, m].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def keep(
    table: Any, queries: Any, start: int, values: Any, places: Any, counts: Any, thresholds: Any, kept: int
) -> None:  # pragma: no cover - compiled
    """Add the numbers below the threshold of each query to its own; where room ends, drop all but the smallest."""
    for i in range(len(queries)):
        q = queries[i]
        count, threshold = counts[q], thresholds[q]
        for chunk in range(table.shape[1]):
            below = np.int32(0)
            for j in range(table.shape[2]):  # LLVM makes vectors of this loop, for any processor
                below = np.int32(below + np.int32(table[i, chunk, j] < threshold))
            if below:
                if count + below > values.shape[1]:
                    threshold = select(values, places, q, count, kept)
                    count = kept
                for j in range(table.shape[2]):
                    if table[i, chunk, j] < threshold:
                        values[q, count] = table[i, chunk, j]
                        places[q, count] = start + chunk * table.shape[2] + j
                        count += 1
        counts[q], thresholds[q] = count, threshold


@njit(cache=True, nogil=True, error_model="numpy")
def settle(values: Any, places: Any, counts: Any, thresholds: Any, kept: int) -> None:  # pragma: no cover - compiled
    """Drop all but the smallest of each query."""
    for q in range(len(counts)):
        if counts[q] >= kept:
            thresholds[q] = select(values, places, q, counts[q], kept)
            counts[q] = kept


@njit(cache=True, nogil=True, error_model="numpy")
def select(values: Any, places: Any, q: int, count: int, kept: int) -> Any:  # pragma: no cover - compiled
    """Put the smallest of the first numbers of a row first, the largest of them last of these (Hoare); returns it."""
    low, high = 0, count - 1
    while low < high:
        pivot, i, j = values[q, (low + high) // 2], low, high
        while i <= j:
            while values[q, i] < pivot:
                i += 1
            while values[q, j] > pivot:
                j -= 1
            if i <= j:
                values[q, i], values[q, j] = values[q, j], values[q, i]
                places[q, i], places[q, j] = places[q, j], places[q, i]
                i += 1
                j -= 1
        if kept - 1 <= j:
            high = j
        elif kept - 1 >= i:
            low = i
        else:
            break
    return values[q, kept - 1]


def _centers(Z: Floats, count: int) -> Floats:
    """Means of some rows near each other, by Lloyd's algorithm from random rows."""
    sample = Z[np.random.default_rng(0).choice(len(Z), min(len(Z), SAMPLE * count), replace=False)]
    centers = sample[:count].copy()
    for _ in range(LLOYD_STEPS):
        cell = _nearest(sample, centers)
        sizes = np.bincount(cell, minlength=count)
        sums = np.column_stack([np.bincount(cell, column, count) for column in sample.T])
        filled = sizes > 0
        centers[filled] = sums[filled] / sizes[filled, None]
    return centers


def _nearest(Z: Floats, centers: Floats) -> NDArray[np.int16]:
    C = centers.astype(np.float32)
    keys = Z.astype(np.float32) @ (-2.0 * C.T)
    keys += np.einsum("ij,ij->i", C, C)
    return keys.argmin(axis=1).astype(np.int16)  # sorted by radix
