"""The nearest rows: found exactly by bounds on all distances or by a tree, ties in the order of the rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.types import Bools, Floats, Ints
from gramian.models.neighbors.distances import GramBounds, Metric, exponent_of, slack
from gramian.models.neighbors.distinct import Distinct, nearest_of_each
from gramian.solvers.certificate import Certificate, SolverInfo

EXTRA = 8  # candidates beyond those asked for: enough to tell, mostly, that nothing nearer was left out
PAIRS = 2**18  # numbers in a batch of differences
FOUND = 2**20  # neighbours asked for at once
TOGETHER = 2**18  # distances sorted at once where ties make them many
STRIDE = 16  # one bound in so many is looked at for a first threshold
AT_ONCE, BY_CELLS = 1024, 2048  # queries in a block, at most
MANY_QUERIES = 16  # of which the bounds are worth finding cell by cell
TREE_REACH = 2.0**400  # coordinates beyond would be squared out of range
TREE_TINY = 2.0**-500  # distances below are lost when squared
CHECKED = 2**22  # numbers that a certificate may look at
TOLERANCE = 1e-12


class Candidates(NamedTuple):
    """Points that may be nearest, (b, m); whether no other is as near as a distance; all that may be as near."""

    points: Ints
    complete: Callable[[Floats], Bools]
    within: Callable[[int, float], Ints]


class Search(ABC):
    """The k nearest of some rows, exactly: distances from differences in float64, of equal ones the lowest row first.

    Parameters
    ----------
    metric : Metric
    distinct : Distinct
        The rows to find, as `metric.points` gives them, without repetitions.
    """

    solver: SolverInfo
    at_once: int

    def __init__(self, metric: Metric, distinct: Distinct) -> None:
        self.metric, self.distinct, self.T = metric, distinct, distinct.T
        self.n, self.d = self.T.shape

    @abstractmethod
    def candidates(self, Q: Any, m: int) -> Candidates:
        """m < n points for each query, probably the nearest."""

    def nearest(self, Q: Any, k: int) -> tuple[Floats, Ints]:
        """Distances (b, k), growing, and rows (b, k) of the nearest to each query."""
        size = max(FOUND // k, 1)
        if size < Q.shape[0]:
            parts = [self.nearest(Q[start : start + size], k) for start in range(0, Q.shape[0], size)]
            return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        return self.distinct.rows_of(*self.points(Q, min(k, self.n)), k)

    def points(self, Q: Any, k: int) -> tuple[Floats, Ints]:
        """The same of the distinct points."""
        b = Q.shape[0]
        m = min(k + EXTRA, self.n)
        found = None if m == self.n else self.candidates(Q, m)
        index = np.broadcast_to(np.arange(self.n), (b, self.n)) if found is None else found.points
        distance = self.distances(Q, np.repeat(np.arange(b), m), index.reshape(-1)).reshape(b, m)
        order = np.lexsort((index, distance), axis=-1)[:, :k]
        distance, index = np.take_along_axis(distance, order, 1), np.take_along_axis(index, order, 1)
        if found is not None:
            self._complete(Q, found, distance, index)
        return distance, index

    def _complete(self, Q: Any, found: Candidates, distance: Floats, index: Ints) -> None:
        """Where others than the candidates may be as near as the last, replace all by the nearest of these."""
        last = distance[:, -1].copy()
        missing = np.flatnonzero(~found.complete(last))
        waiting: list[Ints] = []
        first = pairs = 0
        for place, i in enumerate(missing):
            waiting.append(found.within(int(i), float(last[i])))
            pairs += len(waiting[-1])
            if pairs > TOGETHER or place == len(missing) - 1:
                asked, counts = missing[first : place + 1], np.array([len(some) for some in waiting])
                columns = np.concatenate(waiting)
                near = self.distances(Q, np.repeat(asked, counts), columns)
                chosen = nearest_of_each(near, columns, counts, index.shape[1])
                distance[asked], index[asked] = near[chosen], columns[chosen]
                waiting, first, pairs = [], place + 1, 0

    def distances(self, Q: Any, rows: Ints, columns: Ints) -> Floats:
        """Distances of pairs of a query and a point, in batches."""
        found = np.empty(len(rows))
        width = self.d if not sp.issparse(self.T) else 1 + self.T.nnz // self.n + Q.nnz // Q.shape[0]
        size = max(PAIRS // width, 1)
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            found[part] = self.metric.pairs(Q[rows[part]], self.T[columns[part]])
        return found

    def certificate(self, k: int) -> Certificate:
        """Some points' neighbours once more, without bounds or tree: from all their distances."""
        count = int(np.clip(CHECKED // (self.n * (self.d + 8)), 1, 100))
        asked = np.unique(np.linspace(0, self.n - 1, count).astype(np.int64))
        k = min(k + 1, self.n)  # the nearest is the point itself
        found, _ = self.points(self.T[asked], k)
        rows, columns = np.repeat(np.arange(len(asked)), self.n), np.tile(np.arange(self.n), len(asked))
        everything = self.distances(self.T[asked], rows, columns).reshape(len(asked), self.n)
        true = np.partition(everything, k - 1, axis=1)[:, k - 1]
        excess = np.abs(found[:, -1] - true)
        value = float(np.divide(excess, true, out=np.where(excess > 0, np.inf, 0.0), where=true > 0).max())
        holds, note = value <= TOLERANCE, f"{len(asked)} of {self.n}"
        return SearchCertificate("excess", value, TOLERANCE, holds, None, None, self.solver.name, note=note)


class SearchCertificate(Certificate):
    """How far the k-th neighbour found is beyond the true one, relative to its distance, in a sample of the rows."""

    def __str__(self) -> str:
        verdict = "within" if self.holds else "beyond"
        return (
            f"excess {self.value:.3g} of the last neighbour's distance is {verdict} {self.tolerance:.3g}: {self.note} "
            f"points were searched again from all their distances, after {self.through}"
        )


class Brute(Search):
    """Bounds on the distances to all points, and the distances themselves of those that may be nearest."""

    def __init__(self, metric: Metric, distinct: Distinct, k: int, reason: str) -> None:
        super().__init__(metric, distinct)
        self.bounds = metric.bounds(self.T, single=True)
        # Below 16 queries a product mostly reads the points again: then up to four times the memory is worth it.
        most = self.bounds.at_once
        self.at_once = max(1, min(AT_ONCE, max(most // self.n, min(16, 4 * most // self.n))))
        if isinstance(self.bounds, GramBounds) and self.bounds.cells is not None:
            self.at_once = max(MANY_QUERIES, min(BY_CELLS, most // (k + EXTRA)))
        if self._too_loose(min(k, self.n)):
            self.bounds = metric.bounds(self.T, single=False)
        self.solver = SolverInfo("brute", f"{reason}: {self.bounds.words}, and distances of the nearest")

    def _too_loose(self, k: int) -> bool:
        """Whether the bounds let many more points through than are asked for, in a sample of them."""
        if k + EXTRA >= self.n:
            return False
        Q = self.T[np.unique(np.linspace(0, self.n - 1, 16).astype(np.int64))]
        distance, _ = self.points(Q, k)
        lower, base = self.bounds.of(Q)
        limits = self.bounds.limits(self.metric.length(distance[:, -1]), base, lower.dtype)
        return bool((lower <= limits[:, None]).sum() > (2 * k + 256) * len(lower))

    def candidates(self, Q: Any, m: int) -> Candidates:
        order = self.bounds.order
        bounds = self.bounds
        lower = None
        if isinstance(bounds, GramBounds) and bounds.cells is not None and len(Q) >= MANY_QUERIES:
            columns, rest, base = bounds.smallest(Q, m)
        else:
            lower, base = bounds.of(Q)
            columns, rest = _smallest(lower, m)

        def limits(distance: Any, base: Floats) -> NDArray[Any]:
            return self.bounds.limits(self.metric.length(distance), base, rest.dtype)

        def within(i: int, distance: float) -> Ints:
            row = bounds.of(Q[[i]])[0][0] if lower is None else lower[i]
            return order[row <= limits(distance, base[[i]])]

        return Candidates(order[columns], lambda distance: limits(distance, base) < rest, within)


class Tree(Search):
    """SciPy's k-d tree: logarithmic in the rows while columns are few."""

    at_once = AT_ONCE

    def __init__(self, metric: Metric, distinct: Distinct, reason: str) -> None:
        from scipy.spatial import KDTree

        super().__init__(metric, distinct)
        exponent = exponent_of(self.T)
        self.exponent = exponent if abs(exponent) > 300 else 0
        self.tree = KDTree(np.ldexp(self.T, -self.exponent))
        self.solver = SolverInfo("kd_tree", reason)

    def candidates(self, Q: Any, m: int) -> Candidates:
        U = np.ldexp(Q, -self.exponent)
        far = np.abs(U).max(axis=1) > TREE_REACH
        U[far] = 0.0
        power, room = self.metric.power, 1.0 + slack(self.d)
        lengths, index = self.tree.query(U, m, p=power)
        index[far] = np.arange(m)
        rest = np.where(far, -np.inf, lengths[:, -1] - TREE_TINY)

        def reach(distance: Any) -> Any:
            return np.ldexp(self.metric.length(distance), -self.exponent) * room**2

        def within(i: int, distance: float) -> Ints:
            if far[i]:
                return np.arange(self.n)
            return np.array(self.tree.query_ball_point(U[i], reach(distance) + TREE_TINY, p=power), dtype=np.int64)

        return Candidates(index, lambda distance: reach(distance) < rest, within)


def search(metric: Metric, T: Any, k: int) -> Search:
    """The cheaper of a tree and bounds on all distances, for k neighbours of rows like T."""
    distinct = Distinct.of(T)
    n, d = distinct.T.shape
    if sp.issparse(T):
        return Brute(metric, distinct, k, f"{n} sparse points")
    # Microseconds a query, as measured.
    tree = 1.2 * 2.0**d * np.sqrt(1.0 + k / 10.0)
    brute = 15.0 + n * (0.0016 + 0.00005 * d if metric.power == 2 else 0.003 + 0.001 * d)
    where = f"{n} points in {d} dimensions"
    if tree < brute:
        return Tree(metric, distinct, f"{where}, of which it visits few")
    return Brute(metric, distinct, k, f"{where}, of which a tree would visit many")


def _rank_in_sample(m: int) -> int:
    """The rank in a sample of the columns of a number that, mostly, m of all and few more are below."""
    share = m / STRIDE
    return int(share + 4.0 * np.sqrt(share) + 4.0)


def _smallest(lower: NDArray[Any], m: int) -> tuple[Ints, NDArray[Any]]:
    """Columns (b, m) of the m smallest numbers in each row, and what all others in the row are at least (b,)."""
    b, n = lower.shape
    low = _rank_in_sample(m)
    if n // STRIDE < 2 * low:
        columns = np.argpartition(lower, m, axis=1)
        return columns[:, :m], np.take_along_axis(lower, columns[:, m : m + 1], 1)[:, 0]
    # A low number of some columns is a threshold that, mostly, m of all and few more are below.
    threshold = np.partition(lower[:, ::STRIDE], low, axis=1)[:, low]
    below = lower <= threshold[:, None]
    places = np.flatnonzero(below)
    starts = np.searchsorted(places, np.arange(b + 1) * n)
    missed = np.flatnonzero(np.diff(starts) < m)
    if missed.size:
        threshold[missed] = np.partition(lower[missed], m - 1, axis=1)[:, m - 1]
        below[missed] = lower[missed] <= threshold[missed, None]
        places = np.flatnonzero(below)
        starts = np.searchsorted(places, np.arange(b + 1) * n)
    return _chosen(places % n, lower.reshape(-1)[places], np.diff(starts), threshold, m)


def _chosen(
    columns: Ints, values: NDArray[Any], counts: Ints, threshold: NDArray[Any], m: int
) -> tuple[Ints, NDArray[Any]]:
    """The m smallest of the numbers up to a threshold, which follow row by row, and what all others are at least."""
    rows = np.repeat(np.arange(len(counts)), counts)
    slots = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    few = np.full((len(counts), max(int(counts.max()), m + 1)), np.inf, dtype=values.dtype)
    few[rows, slots] = values
    where = np.zeros(few.shape, dtype=np.int64)
    where[rows, slots] = columns
    order = np.argpartition(few, m, axis=1)
    rest = np.take_along_axis(few, order[:, m : m + 1], 1)[:, 0]
    return np.take_along_axis(where, order[:, :m], 1), np.minimum(rest, threshold)
