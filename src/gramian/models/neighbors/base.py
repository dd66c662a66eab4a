"""What both neighbours models share: the rows they keep, and the number of neighbours chosen from one search."""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.text import plus_minus
from gramian._core.types import CV, Floats, Ints
from gramian._core.weights import weights_or_ones
from gramian.kernels.base import Kernel
from gramian.models.base.kernel_estimator import KernelEstimator
from gramian.models.neighbors.distances import FEATURES, METRICS
from gramian.models.neighbors.exact_search import Search, search
from gramian.models.neighbors.space import Space, numbers
from gramian.models.neighbors.votes import Poll, VoteTable, held_out, leave_one_out
from gramian.rows import Block, MemoryRows, Rows, parallel_map
from gramian.selection.cv.scores import NOTHING, Scores, mean_and_error
from gramian.selection.cv.splits import Plan, plan
from gramian.solvers.certificate import Certificate, SolverInfo

WEIGHTS = ("uniform", "distance")
MOST = 200  # neighbours tried unless more are asked for
LOSSES = 2**24  # losses of single rows that are kept: beyond, not every number of neighbours is tried
ROUNDING = 1e-9  # of sums of fractional weights
EQUAL = 1e-12  # relative difference of losses that rounding may make


@dataclass(frozen=True, eq=False)
class NeighborScores(Scores):
    """`Scores` over numbers of neighbours: `alphas` are these, as floats, from many (smooth) to few."""

    @property
    def neighbors(self) -> Ints:
        """The numbers of neighbours tried, from many to few."""
        return self.alphas.astype(np.int64)

    @property
    def at_boundary(self) -> bool:
        """Whether the best is an end of the grid beyond which there may be better."""
        last = len(self.alphas) - 1
        return last > 0 and (self.best == 0 or (self.best == last and self.alphas[last] > 1))

    def __str__(self) -> str:
        text = (
            f"{self.neighbors[self.chosen]} neighbours by rule {self.rule!r} of {len(self.alphas)}: validation loss "
            f"{plus_minus(self.mean[self.chosen], self.se[self.chosen])}"
        )
        if self.at_boundary:
            text += f"; the best is the {'most' if self.best == 0 else 'fewest'} tried, others might do better"
        return text


@estimator
class NeighborsParameters:
    """The constructor parameters that both neighbours models share.

    Parameters
    ----------
    n_neighbors : "auto" or int
        k; "auto" chooses by cross-validation.
    neighbors : int or list of int, optional
        The largest k to try, or those to try; by default all up to 2 √n, at most 200.
    weights : "uniform" or "distance"
        Votes of one, or of one over the distance; rows equal to x then vote alone.
    metric : "euclidean", "manhattan" or "cosine"
        Distances are in the units of the columns as given. The cosine's is 1 − cos, and a row of zeros is at distance 1
        from every other.
    standardize : bool
        Divide the columns by their standard deviations (learned in each training part; for leave-one-out, in all rows).
    rule : "best" or "one_se"
        The smallest mean validation loss, or the largest k within one standard error of it.
    kernel : None, str or Kernel
        Distances in its feature space, to forty bits: ‖φ(x) − φ(x')‖² = k(x, x) + k(x', x') − 2 k(x, x').
    time : float, optional
        Seconds after which the choice of a kernel ends with those tried by then, with a `ConvergenceWarning`.
    """

    n_neighbors: Any = "auto"
    _: KW_ONLY
    neighbors: Any = None
    weights: str = "uniform"
    metric: str = "euclidean"
    standardize: bool = False
    cv: CV = "loo"
    rule: str = "best"
    kernel: str | Kernel | None = None
    time: float | None = None


class NeighborsModel(KernelEstimator):
    """Keeps the rows of a fit, finds the nearest of them, and adds up what they say."""

    n_neighbors: Any
    neighbors: Any
    weights: Any
    metric: Any
    standardize: Any
    cv: Any
    rule: Any

    n_neighbors_: int
    scores_: NeighborScores
    certificate_: Certificate
    solver_: SolverInfo

    _space: Space
    _search: Search
    _ballot: VoteTable
    _weight: Floats | None
    _numbers: Ints  # of the rows given, those of positive weight

    def kneighbors(self, X: Any, n_neighbors: Any = None) -> tuple[Floats, Ints]:
        """Distances (n, k) to the nearest rows of the fit, growing, and their row numbers (n, k).

        Rows count once each whatever their weight, those of weight zero are not there, and of rows at one distance the
        first comes first. With `standardize`, distances are in standard deviations.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Rows
        n_neighbors : int, optional
            How many; `n_neighbors_` by default.
        """
        check_is_fitted(self)
        k = self.n_neighbors_ if n_neighbors is None else validation.whole("n_neighbors", n_neighbors, low=1)
        if k > len(self._numbers):
            raise ValueError(
                f"n_neighbors is {k}, and there are {len(self._numbers)} rows (of positive weight) to find."
            )
        found = self._each(self._rows(X), lambda Q: self._search.nearest(Q, k))
        distance, index = (np.concatenate(part) for part in zip(*found, strict=True))
        return self._space.in_units(distance), self._numbers[index]

    def _check(self) -> int | None:
        """The number of neighbours, or None where it is to be chosen; refuses wrong parameters."""
        validation.choice("weights", self.weights, WEIGHTS)
        validation.choice("metric", self.metric, tuple(METRICS))
        validation.flag("standardize", self.standardize)
        if self.kernel is not None and (self.standardize or self.metric != "euclidean"):
            raise ValueError("With kernel= distances are those of its feature space: leave out metric and standardize.")
        validation.rule(self.rule)
        if not isinstance(self.n_neighbors, str):
            if self.neighbors is not None:
                raise ValueError('neighbors is what n_neighbors="auto" chooses from: leave it out beside a number.')
            return validation.whole("n_neighbors", self.n_neighbors, low=1)
        if self.n_neighbors != "auto":
            raise ValueError(f'n_neighbors is {self.n_neighbors!r}; it must be "auto" or a whole number of at least 1.')
        if isinstance(self.neighbors, Integral):
            validation.whole("neighbors", self.neighbors, low=1)
        elif self.neighbors is not None:
            grid = np.asarray(self.neighbors)
            if grid.ndim != 1 or not grid.size or grid.dtype.kind not in "iu" or (grid < 1).any():
                raise ValueError(
                    f"neighbors is {self.neighbors!r}; it must be the largest number to try, or a list of numbers, "
                    "whole and at least 1."
                )
        return None

    def _learn(self, rows: Rows, given: int | None, ballot_of: Callable[[Floats], VoteTable]) -> None:
        """Keep the rows and the ballot of their targets, and choose the number of neighbours unless it is given."""
        block = rows.collect()
        assert block.y is not None
        X, y, weight = numbers(block, rows), block.y, block.weight
        self._numbers = np.arange(rows.n) if weight is None else np.flatnonzero(weight)
        if weight is not None:
            X, y, weight = X[self._numbers], y[self._numbers], weight[self._numbers]
        self._weight = None if weight is None or (weight == 1.0).all() else weight
        self._ballot = ballot_of(y)
        metric = METRICS[self.metric] if self.kernel is None else FEATURES
        self._space = Space(metric, X, self._weight, self.standardize)
        if given is None:
            self.scores_ = self._choose(rows, X)
            given = int(self.scores_.neighbors[self.scores_.chosen])
        else:
            total = float(len(y)) if self._weight is None else float(self._weight.sum())
            if given > total * (1.0 + ROUNDING):
                there = f"{len(y)} rows" if self._weight is None else f"rows of a total weight of {total:g}"
                raise ValueError(
                    f"n_neighbors is {given}, and there are {there} (n_samples = {len(y)}): ask for fewer."
                )
            self._search = search(self._space.metric, self._space.points(X), given)
        self.n_neighbors_ = given
        self.certificate_, self.solver_ = self._search.certificate(given), self._search.solver

    def _choose(self, rows: Rows, X: Any) -> NeighborScores:
        """Losses of every number of neighbours, and the search of all rows that the model keeps."""
        plans = plan(self.cv, rows)
        metric, ballot, weight = self._space.metric, self._ballot, self._weight
        counts = weights_or_ones(weight, X.shape[0])
        loud = counts * ballot.loudness()
        points = self._space.points(X)
        if plans[0].leave_one_out:
            grid = self._grid(float(counts.sum() - counts.max()), counts)
            self._search = search(metric, points, int(grid[-1]) + 1)
            losses = leave_one_out(self._poll(), points, grid)
            return _scores(grid, losses, *mean_and_error(losses, loud), self.rule)
        splits = list(_splits(plans, self._numbers, rows.n))
        grid = self._grid(min(float(counts[train].sum()) for train, _ in splits), counts)
        self._search = search(metric, points, int(grid[-1]))
        folds = np.empty((len(grid), len(splits)))
        for number, (train, test) in enumerate(splits):
            some = None if weight is None else weight[train]
            space = Space(metric, X[train], some, self.standardize)
            part = search(metric, space.points(X[train]), int(grid[-1]))
            poll = Poll(part, ballot.part(train, some), some, self.weights == "distance")
            losses = held_out(poll, space.points(X[test]), grid, ballot, test)
            folds[:, number] = losses @ loud[test] / loud[test].sum()
        return _scores(grid, folds, *mean_and_error(folds), self.rule)

    def _grid(self, left: float, counts: Floats) -> Ints:
        """Numbers of neighbours to try, growing, where training parts have at least a total weight of `left`."""
        limit = int(left * (1.0 + ROUNDING))
        if self.neighbors is None:
            largest = max(1, min(int(2.0 * np.sqrt(counts.sum())), MOST, limit))
        elif isinstance(self.neighbors, Integral):
            largest = int(self.neighbors)
        else:
            grid = np.unique(np.asarray(self.neighbors).astype(np.int64))
            largest = int(grid[-1])
        if largest > limit:
            raise ValueError(
                f"neighbors goes up to {largest}, and cross-validation trains on a total weight (rows count 1 each) of "
                f"{left:g}, out of n_samples = {len(counts)}: try fewer neighbours, or give more rows."
            )
        if self.neighbors is not None and not isinstance(self.neighbors, Integral):
            return grid
        tried = max(16, LOSSES // len(counts))
        if largest <= tried:
            return np.arange(1, largest + 1)
        return np.unique(np.geomspace(1, largest, tried).round().astype(np.int64))

    def _poll(self) -> Poll:
        return Poll(self._search, self._ballot, self._weight, self.weights == "distance")

    def _totals(self, rows: Rows) -> Floats:
        """Totals (n, v) of what the neighbours of new rows say."""
        poll, grid = self._poll(), np.array([self.n_neighbors_])
        return np.concatenate(self._each(rows, lambda Q: poll.totals(Q, grid)[:, 0]))

    def _each(self, rows: Rows, f: Callable[[Any], Any]) -> list[Any]:
        """`f` of the points of all rows, a block at a time."""
        size = self._search.at_once

        def of_block(block: Block) -> list[Any]:
            Q = self._space.queries(block, rows)
            return [f(Q[start : start + size]) for start in range(0, Q.shape[0], size)]

        if not isinstance(rows, MemoryRows):
            return rows.sum(of_block)
        starts = range(0, rows.n, size)  # finer than a pass cuts them, so that every thread has its share
        found = parallel_map(lambda start: of_block(rows.block(start, min(start + size, rows.n))), starts)
        return [part for parts in found for part in parts]


def _splits(plans: list[Plan], numbers: Ints, n: int) -> Iterator[tuple[Ints, Ints]]:
    """Training and test rows of every split, as places among the rows of positive weight."""
    number = 0
    for part in plans:
        labels = part.folds.labels(0, n)[numbers]
        for train, test in zip(part.train, part.test, strict=True):
            pair = np.flatnonzero(train[labels]), np.flatnonzero(test[labels])
            for name, index in zip(("training", "test"), pair, strict=True):
                if not index.size:
                    raise ValueError(
                        f"The {name} part of split {number} has no row with a positive weight: use fewer folds."
                    )
            number += 1
            yield pair


def _scores(grid: Ints, folds: Floats, mean: Floats, se: Floats, rule: str) -> NeighborScores:
    """Scores from many neighbours to few, of equal ones the most being best."""
    folds, mean, se = folds[::-1], mean[::-1], se[::-1]
    best = int(np.flatnonzero(mean <= max(mean.min() * (1.0 + EQUAL), NOTHING * mean.max()))[0])
    level = mean[best] * (1.0 + EQUAL) + (se[best] if rule == "one_se" else 0.0)
    chosen = int(np.flatnonzero(mean <= level)[0]) if rule == "one_se" else best
    return NeighborScores(grid[::-1].astype(np.float64), folds, mean, se, best, chosen, rule)
