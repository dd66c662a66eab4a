"""The loop of clustering where structures are means of dense rows in memory: compiled, and the same answer."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.rows import MemoryRows, Rows
from gramian.solvers.kmeans.lloyd import lloyd, nearest, own
from gramian.solvers.kmeans.points import Points
from gramian.structures.components.point import all_means
from gramian.structures.loop.alternation import Loop, Outcome
from gramian.structures.loop.assignments import Assignment, Nearest
from gramian.structures.loop.initialization import SAMPLE, Sample, given_structures, start_rows
from gramian.structures.loop.initialization import centers_of as checked
from gramian.structures.loop.state import State

Floats = NDArray[np.float64]


def loop_for(templates: list[Any], rows: Rows, rule: Assignment, variance: float, before: Loop) -> Loop:
    """The compiled loop where it does the same, else the general one; the one there is where it serves again."""
    means = are_means(templates, rule) and is_dense(rows)
    kind = MeansLoop if means else Loop
    return before if type(before) is kind else kind(rows, rule, variance)


def are_means(structures: list[Any], rule: Assignment) -> bool:
    """Whether structures are means, and each row belongs to the nearest."""
    return type(rule) is Nearest and all_means(structures)


def is_dense(rows: Rows) -> bool:
    """Whether rows are in memory, with all their zeros."""
    return isinstance(rows, MemoryRows) and not rows.is_sparse


class MeansLoop(Loop):
    """Every row to its nearest mean, every mean to its rows, until no row changes its cluster."""

    @cached_property
    def _table(self) -> tuple[Points, Floats | None]:
        """The rows as all starts use them: those of positive weight, so that others leave no trace in rounding."""
        block = self.rows.collect()
        weight = None if block.weight is None else np.ascontiguousarray(block.weight, dtype=np.float64)
        if self._used is None or weight is None:
            return Points.of(block.X), weight
        return Points.of(block.X[self._used]), weight[self._used]

    @cached_property
    def _used(self) -> NDArray[np.bool_] | None:
        """Which rows have positive weight; None where all have."""
        weight = self.rows.collect().weight
        return None if weight is None or (weight > 0).all() else weight > 0

    def _of_all(self, used: NDArray[Any], others: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """What is known of the rows of positive weight, and what `others` says of the rest."""
        if self._used is None:
            return used
        found = np.empty(len(self._used), dtype=used.dtype)
        found[self._used] = used
        found[~self._used] = others(self.rows.collect().X[~self._used])
        return found

    @cached_property
    def _few(self) -> Sample:
        """Rows that differ, of few: in an order of their own, so that starts do not depend on that of the rows."""
        return Sample(self.rows, SAMPLE, np.random.default_rng(0))

    def seeds(self, templates: list[Any], how: Any, rng: np.random.Generator) -> list[Any]:
        """Means to start from."""
        if (known := given_structures(templates, how)) is not None:
            return known
        if not isinstance(how, str):
            centers = checked(how, len(templates), self.rows.d)
        elif self.rows.n <= SAMPLE:
            sample = self._few
            centers = sample.X[start_rows(sample.X, sample.weight, len(templates), how, rng)]
        else:
            points, weight = self._table
            centers = points.X[start_rows(points, weight, len(templates), how, rng)]
        return [each.through(center) for each, center in zip(templates, centers, strict=True)]

    def run(self, state: State, *, max_iter: int, tol: float) -> Outcome:
        points, weight = self._table
        found = lloyd(points, weight, _centers(state), max_iter=max_iter, tol=tol)
        labels = self._of_all(found.labels.astype(np.int64), lambda X: nearest(X, found.centers)[0])
        structures = [each.through(center) for each, center in zip(state.structures, found.centers, strict=True)]
        falls = [np.inf, *(self.fall(a, b, state) for a, b in zip(found.history, found.history[1:], strict=False))]
        history = [(i, each, falls[i]) for i, each in enumerate(found.history)]
        return Outcome(
            State(structures, found.mass / found.mass.sum()),
            found.objective,
            history,
            found.iterations,
            history[-1][2],
            found.converged,
            labels,
            found.mass,
            False,
            max(self.fall(found.objective, found.objective - found.change, state), 0.0),
        )

    def certify(self, outcome: Outcome) -> None:
        """The change is known from sums that were added up afresh; what is left are the scores."""
        centers, labels = _centers(outcome.state), outcome.labels
        used = labels if self._used is None else labels[self._used]
        squares = self._of_all(
            own(self._table[0], centers, used),
            lambda X: own(X, centers, labels if self._used is None else labels[~self._used]),
        )
        self.labels, self.scores = labels, -squares


def _centers(state: State) -> Floats:
    return np.stack([each.center_ for each in state.structures])
