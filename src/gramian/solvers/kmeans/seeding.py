"""Rows to start clusters from: k-means++ with several candidates a step, and the farthest from all before."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.rows import parallel_map, single_threaded_blas
from gramian.solvers.kmeans.cluster_sums import nearer
from gramian.solvers.kmeans.lloyd import lloyd, own
from gramian.solvers.kmeans.nearest_seed import NearestSeed, drawn, gains_exactly
from gramian.solvers.kmeans.points import Points

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
SAMPLE, SAMPLE_A_CENTER = 2**14, 64  # rows on which candidates are compared
PENDING = 8  # rows drawn that all others may not know yet
STALE = 0.6  # of the sum is left, and all rows look at those drawn since
PATIENCE = 64  # refusals before they do
LEAST = 2.0**-40  # of the squared spread, a coordinate: below, distances are computed in double precision


def plus_plus(
    X: Any, weight: Floats | None, k: int, rng: np.random.Generator, *, candidates: int | None = None
) -> Index:
    """Rows drawn one after the other with probability w · (squared distance to the rows before), k-means++.

    Each step draws `candidates` rows, 4 + 2 ln k by default, and keeps the one that lowers the sum of these squares
    most; beyond 16,384 rows (or 64 k) the sum is over so many, taken by chance. Rows nearer to theirs than half the way
    from there to the new one are not looked at, and all rows look at several new ones at once: until then a row is
    drawn by what is known, and kept with the probability that is missing. A row is drawn twice only where all others
    are equal to rows drawn before. The bits do not depend on the number of threads.

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
        state = _Drawn.on(X, weight, k, max(SAMPLE, SAMPLE_A_CENTER * k), rng)
        state.take(int(state.draw(1, rng)[0]))
        while state.count < k:
            if not state.left():
                state.fill_up(rng)
                break
            rows = np.unique(state.draw(candidates, rng))
            state.take(int(rows[np.argmax(state.gains(rows))] if len(rows) > 1 else rows[0]))
        return state.rows


def farthest(X: Any, weight: Floats | None, k: int) -> Index:
    """The row farthest from the mean, then always the one that is farthest from all before, the lowest of equals.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [7.0], [20.0]])
    >>> farthest(X, np.array([1.0, 1.0, 1.0, 1.0, 0.0]), 3).tolist()
    [3, 0, 2]
    """
    with single_threaded_blas():
        points = Points.of(X)
        w = np.ones(len(points.Z)) if weight is None else weight
        mean = lloyd(points, w / np.max(w), points.X[:1].astype(np.float64), max_iter=1).centers
        state = _Drawn.on(points, weight, k, 0)
        state.take(_farthest(own(points, mean, 0), w)[0])
        state.to_double()
        while state.count < k:
            row, square = _farthest(state.exact, w)
            if not square > 0:
                state.fill_up()
                break
            state.take(row)
        return state.rows


def _farthest(squares: Floats, weight: Floats) -> tuple[int, float]:
    """The row of positive weight with the greatest number, and that number."""
    row = int(np.where(weight > 0, squares, -1.0).argmax())
    return row, float(squares[row])


def by_weight(weight: Floats, k: int, rng: np.random.Generator) -> Index:
    """Rows by chance, each at most once while there are others; in proportion to their weights.

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
class _Drawn:
    """The rows drawn so far, and how far all rows, or a sample that knows all of them, are from the nearest."""

    points: Points
    weight: Floats
    rows: Index
    all: NearestSeed
    sample: NearestSeed
    count: int = 0
    fresh: float = 0.0  # the sum over the sample when all rows last looked at those drawn
    exact: Floats = field(default_factory=lambda: np.empty(0))  # squares in double precision, once they are needed

    @classmethod
    def on(cls, X: Any, weight: Floats | None, k: int, sample: int, rng: np.random.Generator | None = None) -> "_Drawn":
        points = Points.of(X)
        n = len(points.Z)
        w = np.empty(0) if weight is None else np.ascontiguousarray(weight / np.max(weight), dtype=np.float64)
        every = some = NearestSeed.on(points.Z, w, k)
        if rng is not None and sample < n // 2:
            chosen = np.sort(rng.choice(n, sample, replace=False, shuffle=False))
            some = NearestSeed.on(points.Z[chosen], w[chosen] if len(w) else w, k)
        return cls(points, w, np.zeros(k, dtype=np.int64), every, some)

    def left(self) -> bool:
        """Whether there is a row that is not equal to one drawn; in double precision where single does not tell."""
        if len(self.exact):
            return bool(self.all.total() > 0)
        least = LEAST * self.points.Z.shape[1] * self.all.weights / len(self.all.squares)
        if self.sample.total() <= least * len(self.sample.squares):
            self._flush()
            if self.all.total() <= least * len(self.all.squares):
                self.to_double()
        return bool(self.all.total() > 0)

    def draw(self, count: int, rng: np.random.Generator) -> Index:
        """Rows with a probability that is their share of the sum."""
        if len(self.exact) or self.all.known == self.count:
            return drawn(self.exact if len(self.exact) else self.all.squares, self.weight, self.all.sums, count, rng)
        kept: list[int] = []
        refused = 0
        while len(kept) < count:
            if refused > PATIENCE:
                self._flush()
                return np.append(np.asarray(kept, dtype=np.int64), self.draw(count - len(kept), rng))
            rows = drawn(self.all.squares, self.weight, self.all.sums, count - len(kept), rng)
            share = self.all.still(rows, self.count)
            good = rng.random(len(rows)) < share
            kept.extend(rows[good].tolist())
            refused += int((~good).sum())
        return np.asarray(kept, dtype=np.int64)

    def gains(self, rows: Index) -> Floats:
        """By how much each of the rows would lower the sum."""
        if not len(self.exact):
            return self.sample.gains(self.points.Z[rows])
        p, centers = self.points, self._inside(rows)
        found = np.zeros((len(self.all.sums), len(rows)))
        given = p.X, self.weight, p.origin, p.scale, centers, self.exact, found
        parallel_map(lambda t: gains_exactly(*given, *t), self.all.parts())
        return np.asarray(found.sum(axis=0))

    def take(self, row: int) -> None:
        """One more row; the others look at it now, or later with the next ones."""
        self.rows[self.count] = row
        for seeds in (self.all, self.sample):
            seeds.seeds[self.count] = self.points.Z[row]
        self.count += 1
        if len(self.exact):
            self._look(self.count - 1)
            return
        self.sample.look(self.count)
        waiting = self.count - self.all.known
        if waiting >= PENDING or self.count <= 2 or self.sample.total() < STALE * self.fresh:
            self._flush()

    def _flush(self) -> None:
        self.all.look(self.count)
        self.fresh = self.sample.total()

    def to_double(self) -> None:
        """What is left is as small as the rounding of single precision."""
        self.exact = np.full(len(self.points.X), np.inf)
        self._look(0)

    def _look(self, first: int) -> None:
        p, exact, centers = self.points, self.exact, self._inside(self.rows[first : self.count])

        def part(ends: tuple[int, int]) -> None:
            for j in range(len(centers)):
                nearer(p.X, p.origin, p.scale, centers, j, *self.all.rows_of(ends), exact)

        parallel_map(part, self.all.parts())
        self.all.add_up(exact)

    def _inside(self, rows: Index) -> Floats:
        return self.points.to_standardized(self.points.X[rows].astype(np.float64))

    def fill_up(self, rng: np.random.Generator | None = None) -> None:
        """All rows are equal to one drawn before: any others, and those drawn again where there are no others."""
        weight = self.weight if len(self.weight) else np.ones(len(self.points.X))
        left = np.setdiff1d(np.flatnonzero(weight > 0), self.rows[: self.count])
        need = len(self.rows) - self.count
        more = (left if rng is None else rng.permutation(left))[:need]
        again = self.rows[np.arange(need - len(more)) % self.count]
        self.rows[self.count :] = np.concatenate([more, again])
        self.count = len(self.rows)
