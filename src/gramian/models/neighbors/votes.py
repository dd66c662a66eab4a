"""What neighbours say together: votes for classes, means of targets, for every number of neighbours at once."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.models.neighbors.exact_search import Search
from gramian.rows import parallel_map

CELLS = 2**20  # numbers added up at once


class VoteTable(ABC):
    """What each row says, as numbers that are added up over neighbours."""

    @abstractmethod
    def of(self, index: Ints) -> Floats:
        """The numbers (…, v) of some rows."""

    @abstractmethod
    def part(self, rows: Ints, weight: Floats | None) -> "VoteTable":
        """The ballot of some rows alone."""

    def weighed(self, totals: Floats, rows: Ints | None = None, unit: Any = 1.0) -> Floats:
        """Totals (b, A, v) with the weights of classes; as if one `unit` of each of `rows` was not there."""
        return totals

    def loudness(self) -> Any:
        """What the loss of each row is multiplied by, beside its count."""
        return 1.0

    @abstractmethod
    def losses(self, totals: Floats, rows: Ints) -> Floats:
        """Loss (b, A) of the predictions from totals (b, A, v) for these rows."""


class Means(VoteTable):
    """Targets (n, t), averaged; the loss is the squared error, averaged over targets."""

    def __init__(self, y: Floats) -> None:
        self.table = np.column_stack([y, np.ones(len(y))])

    def of(self, index: Ints) -> Floats:
        return self.table[index]

    def part(self, rows: Ints, weight: Floats | None) -> "Means":
        return Means(self.table[rows, :-1])

    @staticmethod
    def answer(totals: Floats) -> Floats:
        return totals[..., :-1] / totals[..., -1:]

    def losses(self, totals: Floats, rows: Ints) -> Floats:
        return ((self.answer(totals) - self.table[rows, None, :-1]) ** 2).mean(axis=-1)


class Votes(VoteTable):
    """Classes as numbers 0 … count − 1; the loss is 0 or 1, or the cost of the decision.

    Parameters
    ----------
    codes : array (n,)
    sizes : array (k,)
        Total weight of each class.
    factors : array (k,), "balanced" or None
        What the votes of each class are multiplied by; "balanced" is one over its share of the rows.
    cost : array (k, k) or None
        cost[true, decided].
    """

    def __init__(self, codes: Ints, sizes: Floats, factors: Floats | str | None, cost: Floats | None) -> None:
        self.codes, self.sizes, self.factors, self.cost = codes, sizes, factors, cost

    def of(self, index: Ints) -> Floats:
        return (self.codes[index][..., None] == np.arange(len(self.sizes))).astype(np.float64)

    def part(self, rows: Ints, weight: Floats | None) -> "Votes":
        codes = self.codes[rows]
        sizes = np.bincount(codes, weight, len(self.sizes)).astype(np.float64)
        return Votes(codes, sizes, self.factors, self.cost)

    def weighed(self, totals: Floats, rows: Ints | None = None, unit: Any = 1.0) -> Floats:
        if self.factors is None:
            return totals
        sizes = self.sizes
        if rows is not None:
            sizes = sizes - self.of(rows)[:, None, :] * np.reshape(unit, (-1, 1, 1))
        return totals * self._factors(sizes)

    def loudness(self) -> Any:
        return 1.0 if self.factors is None else self._factors(self.sizes)[self.codes]

    def _factors(self, sizes: Floats) -> Floats:
        if not isinstance(self.factors, str):
            assert self.factors is not None
            return self.factors
        share = sizes.shape[-1] * sizes / sizes.sum(axis=-1, keepdims=True)
        return np.divide(1.0, share, out=np.zeros_like(share), where=share > 0)

    @staticmethod
    def answer(totals: Floats) -> Floats:
        return totals / totals.sum(axis=-1, keepdims=True)

    def losses(self, totals: Floats, rows: Ints) -> Floats:
        shares, truth = self.answer(totals), self.codes[rows][:, None]
        if self.cost is None:
            return (shares.argmax(axis=-1) != truth).astype(np.float64)
        return self.cost[truth, (shares @ self.cost).argmin(axis=-1)]


class Poll:
    """Ballots added up over the k nearest rows, where weights are counts: a row of weight 2 is two neighbours.

    Parameters
    ----------
    search : Search
    ballot : Ballot
        Of the rows searched.
    weight : array (n,) or None
        Counts; the last neighbour's is cut where they pass k.
    nearer : bool
        Whether neighbours count by one over their distance; those at distance zero then count alone.
    """

    def __init__(self, search: Search, ballot: VoteTable, weight: Floats | None, nearer: bool) -> None:
        self.search, self.ballot, self.weight, self.nearer = search, ballot, weight, nearer
        self.rows = search.distinct.rows

    def totals(self, Q: Any, grid: Ints, own: Ints | None = None) -> Floats:
        """Totals (b, A, v) for the growing numbers of neighbours; with `own`, these rows are left out."""
        distance, index, weight = self._neighbours(Q, int(grid[-1]), own)
        nearness = _nearness(distance, weight) if self.nearer else None
        b, m = index.shape
        parts = []
        size = max(CELLS // (m * self.ballot.of(index[0, :1]).size), 1)
        for start in range(0, b, size):
            some = slice(start, start + size)
            said = self.ballot.of(index[some])
            if nearness is not None:
                said *= nearness[some, :, None]
            parts.append(_running(said, None if weight is None else weight[some], grid))
        unit = 1.0 if own is None or self.weight is None else self.weight[own]
        return self.ballot.weighed(np.concatenate(parts), own, unit)

    def _neighbours(self, Q: Any, k: int, own: Ints | None) -> tuple[Floats, Ints, Floats | None]:
        """Enough neighbours for a count of k: distances, rows and counts (None: one each)."""
        if self.weight is None:
            distance, index = self.search.nearest(Q, k if own is None else k + 1)
            return (distance, index, None) if own is None else (*_without(distance, index, own), None)
        m = min(self.rows, int((k + 1) / self.weight.mean()) + 2)
        while True:
            distance, index = self.search.nearest(Q, m)
            weight = self.weight[index]
            if own is not None:
                weight = np.where(index == own[:, None], 0.0, weight)
            if m == self.rows or (weight.sum(axis=1) >= k).all():
                return distance, index, weight
            m = min(self.rows, 2 * m)


def leave_one_out(poll: Poll, points: Any, grid: Ints) -> Floats:
    """Losses (A, n): every row predicted from the others, all numbers of neighbours from one search."""
    size = poll.search.at_once

    def block(start: int) -> Floats:
        own = np.arange(start, min(start + size, points.shape[0]))
        return poll.ballot.losses(poll.totals(points[own], grid, own), own)

    return np.concatenate(parallel_map(block, range(0, points.shape[0], size))).T


def held_out(poll: Poll, points: Any, grid: Ints, whole: VoteTable, rows: Ints) -> Floats:
    """Losses (A, q) of the rows `rows` of the whole ballot, whose points are given, from the poll's own."""
    size = poll.search.at_once

    def block(start: int) -> Floats:
        part = slice(start, start + size)
        return whole.losses(poll.totals(points[part], grid), rows[part])

    return np.concatenate(parallel_map(block, range(0, len(rows), size))).T


def _without(distance: Floats, index: Ints, own: Ints) -> tuple[Floats, Ints]:
    """Neighbours without the row itself, which may be missing behind many equal ones: then without the last."""
    kept = index != own[:, None]
    kept[kept.all(axis=1), -1] = False
    return distance[kept].reshape(len(own), -1), index[kept].reshape(len(own), -1)


def _nearness(distance: Floats, weight: Floats | None) -> Floats:
    """One over the distance, in units of the nearest's; if that is zero, 1 for those at zero and 0 for others."""
    there = distance if weight is None else np.where(weight > 0, distance, np.inf)
    nearest = there.min(axis=1, keepdims=True)
    equal = distance == nearest
    return np.divide(nearest, distance, out=equal.astype(np.float64), where=~equal & (distance > 0))


def _running(said: Floats, weight: Floats | None, grid: Ints) -> Floats:
    """Totals (b, A, v) of what the first neighbours (b, m, v) said, up to each count of the grid."""
    b, m, v = said.shape
    sums = np.zeros((b, m + 1, v))
    if weight is None:
        np.cumsum(said, axis=1, out=sums[:, 1:])
        return sums[:, grid]
    np.cumsum(said * weight[:, :, None], axis=1, out=sums[:, 1:])
    counts = np.zeros((b, m + 1))
    np.cumsum(weight, axis=1, out=counts[:, 1:])
    found = np.empty((b, len(grid), v))
    rows = np.arange(b)
    for place, k in enumerate(grid):
        last = np.minimum((counts[:, 1:] < k).sum(axis=1), m - 1)  # who brings the count to k
        share = np.clip(k - counts[rows, last], 0.0, weight[rows, last])
        found[:, place] = sums[rows, last] + share[:, None] * said[rows, last]
    return found
