"""Squared distances of rows to the nearest of the rows drawn so far, in single precision."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Ints, Singles
from gramian.rows import parallel_map, thread_count
from gramian.solvers.kmeans.assignment import GROUP, LANES, fill_tile
from gramian.solvers.kmeans.cluster_sums import squared_distance

Index = Ints
PANEL_ROWS = 2048  # rows of which one sum is kept, by which a row is drawn without a pass over all
MIN_TASK_PANELS = 4  # for one thread


@dataclass(eq=False)
class NearestSeed:
    """Rows of Z, the seeds, squared distances to the nearest of the known seeds, and their sums by panels."""

    Z: Singles
    weight: Floats
    weights: float
    seeds: Singles
    squares: Singles
    owner: NDArray[np.int32]  # number of the nearest seed
    sums: Floats  # of weight · squares
    n_known: int = 0

    @classmethod
    def on(cls, Z: Singles, weight: Floats, k: int) -> "NearestSeed":
        n = len(Z)
        sums = np.add.reduceat(weight if len(weight) else np.ones(n), np.arange(0, n, PANEL_ROWS))
        seeds, one = np.zeros((k, Z.shape[1]), dtype=np.float32), np.ones(n, dtype=np.float32)
        return cls(Z, weight, float(sums.sum()), seeds, one, np.zeros(n, dtype=np.int32), sums)

    def total(self) -> float:
        return float(self.sums.sum())

    def sum_panels(self, squares: Floats) -> None:
        """The sums of other squares, of double precision."""
        self.sums = np.add.reduceat(
            squares * self.weight if len(self.weight) else squares, np.arange(0, len(squares), PANEL_ROWS)
        )

    def parts(self) -> list[tuple[int, int]]:
        """Panels by threads; sums are kept by panels, so that this may depend on the number of threads."""
        n_panels = len(self.sums)
        tasks = min(4 * thread_count(), max(n_panels // MIN_TASK_PANELS, 1))
        ends = [n_panels * i // tasks for i in range(tasks + 1)]
        return list(pairwise(ends))

    def rows_of(self, ends: tuple[int, int]) -> tuple[int, int]:
        return ends[0] * PANEL_ROWS, min(ends[1] * PANEL_ROWS, len(self.squares))

    def gains(self, new: Singles) -> Floats:
        """By how much each of the new seeds would lower the sum."""
        if self._is_small(new):
            decrease = np.maximum(self.squares[:, None] - self._squared_distances(new), 0.0)
            return np.asarray(
                (self.weight[:, None] * decrease if len(self.weight) else decrease).sum(axis=0, dtype=np.float64)
            )
        sums = np.zeros((len(self.sums), -(-len(new) // GROUP) * GROUP))
        arguments = (
            self.Z.view(np.complex128),
            self.weight,
            _padded_to_groups(new),
            self._skip_limits(new),
            self.squares,
            self.owner,
            sums,
        )
        parallel_map(lambda t: _gains(*arguments, *t), self.parts())
        return np.asarray(sums.sum(axis=0)[: len(new)])

    def update(self, count: int) -> None:
        """Update the distances with the seeds up to `count` that are not known yet."""
        new = self.seeds[self.n_known : count]
        if self._is_small(new):
            squares = self._squared_distances(new)
            owner = squares.argmin(axis=1)
            smallest = squares[np.arange(len(owner)), owner]
            nearer = (smallest < self.squares) if self.n_known else np.ones(len(owner), dtype=bool)
            self.squares[nearer], self.owner[nearer] = smallest[nearer], self.n_known + owner[nearer]
            self.sum_panels(self.squares.astype(np.float64))
            self.n_known = count
        elif len(new):
            arguments = (
                self.Z.view(np.complex128),
                self.weight,
                _padded_to_groups(new),
                self.n_known,
                self._skip_limits(new),
            )
            parallel_map(lambda t: _update_nearest(*arguments, self.squares, self.owner, self.sums, *t), self.parts())
            self.n_known = count

    def _is_small(self, new: Singles) -> bool:
        return is_small(self.Z.size * len(new))

    def _squared_distances(self, new: Singles) -> Singles:
        """Squared distances of all rows to some seeds."""
        deviation = self.Z[:, None] - new
        deviation *= deviation
        return np.asarray(deviation.sum(axis=2))

    def remaining_shares(self, rows: Index, count: int) -> Floats:
        """The squared distances of rows to the nearest of all seeds, as a share of those to the known ones."""
        deviation = self.Z[rows][:, None].astype(np.float64) - self.seeds[self.n_known : count]
        squares = self.squares[rows]
        return np.asarray(np.minimum((deviation * deviation).sum(axis=2).min(axis=1), squares) / squares)

    def _skip_limits(self, new: Singles) -> Singles:
        """A quarter of the squared distance from each known seed to the nearest new one, rounded down."""
        if not self.n_known:
            return np.full(1, -1.0, dtype=np.float32)
        deviation = self.seeds[: self.n_known, None] - new
        return np.asarray(0.2499 * np.einsum("ijk,ijk->ij", deviation, deviation).min(axis=1), dtype=np.float32)


def draw_rows(squares: Any, weight: Floats, sums: Floats, count: int, rng: np.random.Generator) -> Index:
    """Rows with a probability that is their share of Σ weight · squares, whose sums by panels are known."""
    until = np.cumsum(sums)
    positions = rng.random(count) * until[-1]
    panels = np.minimum(np.searchsorted(until, positions, side="right"), np.flatnonzero(sums > 0)[-1])
    rows = np.empty(count, dtype=np.int64)
    for m, (panel, position) in enumerate(zip(panels, positions, strict=True)):
        part = slice(panel * PANEL_ROWS, (panel + 1) * PANEL_ROWS)
        shares = squares[part] * weight[part] if len(weight) else squares[part]
        shares = np.cumsum(shares, dtype=np.float64)
        target = (position - (until[panel] - sums[panel])) / sums[panel] * shares[-1]
        row = int(np.searchsorted(shares, target, side="right"))
        rows[m] = panel * PANEL_ROWS + (row if row < len(shares) else np.searchsorted(shares, shares[-1]))
    return rows


def _padded_to_groups(new: Singles) -> Singles:
    """Seeds padded to a multiple of four by the last one."""
    return new[np.minimum(np.arange(-(-len(new) // GROUP) * GROUP), len(new) - 1)]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _gains(
    fours: Any, weight: Any, new: Any, limit: Any, squares: Any, owner: Any, sums: Any, first: int, last: int
) -> None:  # pragma: no cover - compiled
    """Σ w max(squares − ‖z − new‖², 0) by panels, for four new ones at a time."""
    d, zero = new.shape[1], np.float32(0.0)
    tile, s = np.zeros(d * LANES, dtype=np.float32), np.empty(GROUP * LANES, dtype=np.float32)
    buffer = np.zeros(d // 4 * LANES, dtype=np.complex128)
    singles = buffer.view(np.float32)
    rows, uncertain = np.empty(PANEL_ROWS + LANES, dtype=np.int64), np.empty(PANEL_ROWS, dtype=np.uint8)
    now, w = np.zeros(LANES, dtype=np.float32), np.ones(LANES, dtype=np.float32)
    gain = np.empty(len(new) * LANES, dtype=np.float32)
    for panel in range(first, last):
        start = panel * PANEL_ROWS
        width = min(PANEL_ROWS, len(squares) - start)
        count = _undecided(squares[start : start + width], owner[start : start + width], limit, uncertain, start, rows)
        for i in range(len(gain)):
            gain[i] = zero
        for tail in range(0, count, LANES):
            n_points = min(LANES, count - tail)
            fill_tile(tile, buffer, singles, fours, rows, tail, n_points)
            for i in range(n_points):
                now[i] = squares[rows[tail + i]]
            for i in range(n_points, LANES):
                now[i] = zero
            if len(weight):
                for i in range(n_points):
                    w[i] = np.float32(weight[rows[tail + i]])
            for j in range(0, len(new), GROUP):
                _squares_of_four(tile, new, j, d, s)
                for q in range(GROUP):
                    g, t = gain[(j + q) * LANES : (j + q + 1) * LANES], s[q * LANES : (q + 1) * LANES]
                    for i in range(LANES):
                        less = now[i] - t[i]
                        less = less if less > zero else zero
                        g[i] += w[i] * less
        for j in range(len(new)):
            total = 0.0
            for i in range(LANES):
                total += gain[j * LANES + i]
            sums[panel, j] = total


@njit(cache=True, nogil=True)
def _undecided(
    squares: Any, owner: Any, limit: Any, uncertain: Any, start: int, rows: Any
) -> int:  # pragma: no cover - compiled
    """The rows to which a new seed may be nearer than their nearest one."""
    for i in range(len(squares)):
        uncertain[i] = np.uint8(squares[i] > limit[np.uint32(owner[i])])
    count = 0
    for i in range(len(squares)):
        rows[count] = start + i
        count += uncertain[i]
    return count


@njit(cache=True, nogil=True, fastmath={"contract"})
def _squares_of_four(tile: Any, C: Any, j: int, d: int, s: Any) -> None:  # pragma: no cover - compiled
    """s = ‖z − c‖² of four from j on; the four rows of s and of the tile are LANES apart."""
    for c in range(0, d, GROUP):
        a0, a1, a2, a3 = C[j, c], C[j, c + 1], C[j, c + 2], C[j, c + 3]
        b0, b1, b2, b3 = C[j + 1, c], C[j + 1, c + 1], C[j + 1, c + 2], C[j + 1, c + 3]
        e0, e1, e2, e3 = C[j + 2, c], C[j + 2, c + 1], C[j + 2, c + 2], C[j + 2, c + 3]
        f0, f1, f2, f3 = C[j + 3, c], C[j + 3, c + 1], C[j + 3, c + 2], C[j + 3, c + 3]
        t = tile[c * LANES : (c + GROUP) * LANES]
        if c == 0:
            for i in range(GROUP * LANES):
                s[i] = np.float32(0.0)
        for i in range(LANES):
            z0, z1, z2, z3 = t[i], t[i + LANES], t[i + 2 * LANES], t[i + 3 * LANES]
            s0, s1, s2, s3 = s[i], s[i + LANES], s[i + 2 * LANES], s[i + 3 * LANES]
            s[i] = s0 + (z0 - a0) ** 2 + (z1 - a1) ** 2 + (z2 - a2) ** 2 + (z3 - a3) ** 2
            s[i + LANES] = s1 + (z0 - b0) ** 2 + (z1 - b1) ** 2 + (z2 - b2) ** 2 + (z3 - b3) ** 2
            s[i + 2 * LANES] = s2 + (z0 - e0) ** 2 + (z1 - e1) ** 2 + (z2 - e2) ** 2 + (z3 - e3) ** 2
            s[i + 3 * LANES] = s3 + (z0 - f0) ** 2 + (z1 - f1) ** 2 + (z2 - f2) ** 2 + (z3 - f3) ** 2


@njit(cache=True, nogil=True)
def _update_nearest(
    fours: Any, weight: Any, new: Any, number: int, limit: Any, squares: Any, owner: Any, sums: Any,
    first: int, last: int,
) -> None:  # fmt: skip  # pragma: no cover - compiled
    """The least of `squares` and the squared distances to new seeds, numbered from `number` on; sums of panels."""
    d = new.shape[1]
    tile, s = np.zeros(d * LANES, dtype=np.float32), np.empty(GROUP * LANES, dtype=np.float32)
    buffer = np.zeros(d // 4 * LANES, dtype=np.complex128)
    singles = buffer.view(np.float32)
    rows, uncertain = np.empty(PANEL_ROWS, dtype=np.int64), np.empty(PANEL_ROWS, dtype=np.uint8)
    best, index = np.zeros(LANES, dtype=np.float32), np.zeros(LANES, dtype=np.int32)
    for panel in range(first, last):
        start = panel * PANEL_ROWS
        stop = min(start + PANEL_ROWS, len(squares))
        if number == 0:
            for i in range(start, stop):
                squares[i] = np.float32(3e38)
        count = _undecided(squares[start:stop], owner[start:stop], limit, uncertain, start, rows)
        for tail in range(0, count, LANES):
            n_points = min(LANES, count - tail)
            fill_tile(tile, buffer, singles, fours, rows, tail, n_points)
            for i in range(n_points):
                best[i] = squares[rows[tail + i]]
                index[i] = owner[rows[tail + i]]
            for j in range(0, len(new), GROUP):
                _squares_of_four(tile, new, j, d, s)
                for q in range(GROUP):
                    t, name = s[q * LANES : (q + 1) * LANES], np.int32(number + j + q)
                    for i in range(LANES):
                        v, b, a = t[i], best[i], index[i]
                        index[i] = name if v < b else a
                        best[i] = v if v < b else b
            for i in range(n_points):
                squares[rows[tail + i]] = best[i]
                owner[rows[tail + i]] = index[i]
        sums[panel] = _weighted_sum(squares[start:stop], weight[start:stop])


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _weighted_sum(squares: Any, weight: Any) -> float:  # pragma: no cover - compiled
    total = 0.0
    if len(weight):
        for i in range(len(squares)):
            total += squares[i] * weight[i]
    else:
        for i in range(len(squares)):
            total += squares[i]
    return total


@njit(cache=True, nogil=True)
def gains_in_double(
    X: Any, weight: Any, origin: Any, scale: float, new: Any, squares: Any, sums: Any, first: int, last: int
) -> None:  # pragma: no cover - compiled
    """Σ w max(squares − ‖x − new‖², 0) by panels, in double precision."""
    for panel in range(first, last):
        for j in range(len(new)):
            total = 0.0
            for i in range(panel * PANEL_ROWS, min((panel + 1) * PANEL_ROWS, len(squares))):
                w = weight[i] if len(weight) else 1.0
                total += w * max(squares[i] - squared_distance(X, i, origin, scale, new, j), 0.0)
            sums[panel, j] = total
