"""Seeding of k-means: greedy k-means++, farthest-first and random rows."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian._core.types import Floats, Ints
from gramian._core.weights import weights_or_ones
from gramian.rows import parallel_map, single_threaded_blas
from gramian.solvers.kmeans.cluster_sums import lower_to_center
from gramian.solvers.kmeans.lloyd import lloyd, own_squared_distances
from gramian.solvers.kmeans.nearest_seed import NearestSeed, draw_rows, gains_in_double
from gramian.solvers.kmeans.points import ScaledPoints

Index = Ints
MIN_SAMPLE, SAMPLE_PER_CENTER = 2**14, 64  # rows on which candidates are compared
MAX_PENDING = 8  # seeds that the distances of all rows do not include yet
MIN_REMAINING_SHARE = 0.6  # of the sum since the last update of all rows, below which they are updated
MAX_REFUSALS = 64  # of drawn rows, before all rows are updated
MIN_SINGLE_SQUARE = 2.0**-40  # mean square per coordinate, below which distances are computed in double precision


def plus_plus(
    X: Any, weight: Floats | None, k: int, rng: np.random.Generator, *, candidates: int | None = None
) -> Index:
    """Rows drawn one after the other with probability w · (squared distance to the rows before), k-means++.

    Each step draws `candidates` rows, 4 + 2 ln k by default, and keeps the one that lowers the sum of these squares
    most (greedy k-means++); beyond 16,384 rows (or 64 k) the sum is over a random sample of so many. Rows that are
    nearer to their seed than half its distance from the new one are skipped, and all rows are updated with several
    seeds at once: until then rows are drawn by rejection sampling from the known distances. A row is drawn twice only
    where all others are equal to rows drawn before. The bits do not depend on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> rows = plus_plus(X, None, 3, np.random.default_rng(0))
    >>> sorted(np.rint(X[rows]).ravel().tolist())
    [0.0, 5.0, 9.0]
    """
    candidates = 4 + int(2.0 * np.log(k)) if candidates is None else candidates
    with single_threaded_blas():
        state = _SeedSearch.on(X, weight, k, max(MIN_SAMPLE, SAMPLE_PER_CENTER * k), rng)
        state.add(int(state.draw(1, rng)[0]))
        while state.count < k:
            if not state.has_remaining():
                state.fill_up(rng)
                break
            rows = np.unique(state.draw(candidates, rng))
            state.add(int(rows[np.argmax(state.gains(rows))] if len(rows) > 1 else rows[0]))
        return state.rows


def farthest(X: Any, weight: Floats | None, k: int) -> Index:
    """Farthest-first traversal: the row farthest from the mean, then always that farthest from all before.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [7.0], [20.0]])
    >>> farthest(X, np.array([1.0, 1.0, 1.0, 1.0, 0.0]), 3).tolist()
    [3, 0, 2]
    """
    with single_threaded_blas():
        points = ScaledPoints.of(X)
        w = weights_or_ones(weight, len(points.Z))
        mean = lloyd(points, w / np.max(w), points.X[:1].astype(np.float64), max_iter=1).centers
        state = _SeedSearch.on(points, weight, k, 0)
        state.add(_farthest(own_squared_distances(points, mean, 0), w)[0])
        state.to_double()
        while state.count < k:
            row, square = _farthest(state.exact, w)
            if not square > 0:
                state.fill_up()
                break
            state.add(row)
        return state.rows


def _farthest(squares: Floats, weight: Floats) -> tuple[int, float]:
    """The row of positive weight with the largest squared distance, and that square."""
    row = int(np.where(weight > 0, squares, -1.0).argmax())
    return row, float(squares[row])


def by_weight(weight: Floats, k: int, rng: np.random.Generator) -> Index:
    """Random rows with probabilities in proportion to their weights, without replacement while there are others.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(by_weight(np.array([1.0, 0.0, 2.0]), 2, np.random.default_rng(0)).tolist())
    [0, 2]
    """
    there = np.flatnonzero(weight > 0)
    share = weight[there] / weight[there].sum()
    rows = rng.choice(there, min(k, len(there)), replace=False, p=share)
    return np.asarray(rows[np.arange(k) % len(rows)], dtype=np.int64)


@dataclass(eq=False)
class _SeedSearch:
    """The rows drawn so far, and the distances of all rows, and of an up-to-date sample, to the nearest of them."""

    points: ScaledPoints
    weight: Floats
    rows: Index
    all: NearestSeed
    sample: NearestSeed
    count: int = 0
    sum_at_flush: float = 0.0  # the sum over the sample at the last update of all rows
    exact: Floats = field(default_factory=lambda: np.empty(0))  # squares in double precision, once they are needed

    @classmethod
    def on(
        cls, X: Any, weight: Floats | None, k: int, sample: int, rng: np.random.Generator | None = None
    ) -> "_SeedSearch":
        points = ScaledPoints.of(X)
        n = len(points.Z)
        w = np.empty(0) if weight is None else np.ascontiguousarray(weight / np.max(weight), dtype=np.float64)
        full = sampled = NearestSeed.on(points.Z, w, k)
        if rng is not None and sample < n // 2:
            chosen = np.sort(rng.choice(n, sample, replace=False, shuffle=False))
            sampled = NearestSeed.on(points.Z[chosen], w[chosen] if len(w) else w, k)
        return cls(points, w, np.zeros(k, dtype=np.int64), full, sampled)

    def has_remaining(self) -> bool:
        """Whether there is a row that is not equal to a seed; in double precision where single does not suffice."""
        if len(self.exact):
            return bool(self.all.total() > 0)
        bound = MIN_SINGLE_SQUARE * self.points.Z.shape[1] * self.all.weights / len(self.all.squares)
        if self.sample.total() <= bound * len(self.sample.squares):
            self._flush()
            if self.all.total() <= bound * len(self.all.squares):
                self.to_double()
        return bool(self.all.total() > 0)

    def draw(self, count: int, rng: np.random.Generator) -> Index:
        """Rows with probabilities in proportion to weight · squared distance, by rejection sampling."""
        if len(self.exact) or self.all.n_known == self.count:
            return draw_rows(
                self.exact if len(self.exact) else self.all.squares, self.weight, self.all.sums, count, rng
            )
        rows_accepted: list[int] = []
        refused = 0
        while len(rows_accepted) < count:
            if refused > MAX_REFUSALS:
                self._flush()
                return np.append(np.asarray(rows_accepted, dtype=np.int64), self.draw(count - len(rows_accepted), rng))
            rows = draw_rows(self.all.squares, self.weight, self.all.sums, count - len(rows_accepted), rng)
            share = self.all.remaining_shares(rows, self.count)
            accepted = rng.random(len(rows)) < share
            rows_accepted.extend(rows[accepted].tolist())
            refused += int((~accepted).sum())
        return np.asarray(rows_accepted, dtype=np.int64)

    def gains(self, rows: Index) -> Floats:
        """By how much each of the rows would lower the sum."""
        if not len(self.exact):
            return self.sample.gains(self.points.Z[rows])
        p, centers = self.points, self._standardized(rows)
        sums = np.zeros((len(self.all.sums), len(rows)))
        arguments = p.X, self.weight, p.origin, p.scale, centers, self.exact, sums
        parallel_map(lambda t: gains_in_double(*arguments, *t), self.all.parts())
        return np.asarray(sums.sum(axis=0))

    def add(self, row: int) -> None:
        """Add a seed; all rows are updated now, or later together with further seeds."""
        self.rows[self.count] = row
        for seeds in (self.all, self.sample):
            seeds.seeds[self.count] = self.points.Z[row]
        self.count += 1
        if len(self.exact):
            self._update_exact(self.count - 1)
            return
        self.sample.update(self.count)
        n_pending = self.count - self.all.n_known
        if n_pending >= MAX_PENDING or self.count <= 2 or self.sample.total() < MIN_REMAINING_SHARE * self.sum_at_flush:
            self._flush()

    def _flush(self) -> None:
        self.all.update(self.count)
        self.sum_at_flush = self.sample.total()

    def to_double(self) -> None:
        """Continue in double precision, where distances are as small as the rounding of single precision."""
        self.exact = np.full(len(self.points.X), np.inf)
        self._update_exact(0)

    def _update_exact(self, first: int) -> None:
        p, exact, centers = self.points, self.exact, self._standardized(self.rows[first : self.count])

        def part(ends: tuple[int, int]) -> None:
            for j in range(len(centers)):
                lower_to_center(p.X, p.origin, p.scale, centers, j, *self.all.rows_of(ends), exact)

        parallel_map(part, self.all.parts())
        self.all.sum_panels(exact)

    def _standardized(self, rows: Index) -> Floats:
        return self.points.to_standardized(self.points.X[rows].astype(np.float64))

    def fill_up(self, rng: np.random.Generator | None = None) -> None:
        """Where all rows are equal to seeds: add unused rows, and repeat seeds where there are none."""
        weight = self.weight if len(self.weight) else np.ones(len(self.points.X))
        unused = np.setdiff1d(np.flatnonzero(weight > 0), self.rows[: self.count])
        need = len(self.rows) - self.count
        added = (unused if rng is None else rng.permutation(unused))[:need]
        repeated = self.rows[np.arange(need - len(added)) % self.count]
        self.rows[self.count :] = np.concatenate([added, repeated])
        self.count = len(self.rows)
