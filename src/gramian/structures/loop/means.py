"""The alternation where structures are means of dense rows in memory: Lloyd's algorithm, compiled."""

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian._core.types import Bools, Floats
from gramian.rows import MemoryRows, Rows
from gramian.solvers.kmeans.lloyd import lloyd, nearest_centers, own_squared_distances
from gramian.solvers.kmeans.points import ScaledPoints
from gramian.structures.loop.alternation import Loop, LoopResult
from gramian.structures.loop.assignments import Assignment
from gramian.structures.loop.initialization import (
    MAX_POINT_SAMPLE,
    SeedSample,
    centers_of,
    fitted_structures,
    start_rows,
)
from gramian.structures.loop.state import LoopState

if TYPE_CHECKING:
    from gramian.structures.components.base import Structure


def loop_for(templates: "list[Structure]", rows: Rows, rule: Assignment, variance: float, before: Loop) -> Loop:
    """The compiled loop where it applies, else the general one; `before` where it is of that kind."""
    kind = MeansLoop if are_means(templates, rule) and is_dense(rows) else Loop
    return before if type(before) is kind else kind(rows, rule, variance)


def are_means(structures: "list[Structure]", rule: Assignment) -> bool:
    """Whether structures are means, and each row belongs to the nearest."""
    return rule.is_nearest and all(each.is_mean for each in structures)


def is_dense(rows: Rows) -> bool:
    """Whether rows are in memory and dense."""
    return isinstance(rows, MemoryRows) and not rows.is_sparse


class MeansLoop(Loop):
    """Lloyd's algorithm: every row to its nearest mean, every mean to its rows, until no row changes its cluster."""

    scores_as_predicted: ClassVar[bool] = True

    @cached_property
    def _points(self) -> tuple[ScaledPoints, Floats | None]:
        """The rows of positive weight, prepared once for all starts, so that others leave no trace in rounding."""
        block = self.rows.collect()
        weight = None if block.weight is None else np.ascontiguousarray(block.weight, dtype=np.float64)
        if self._counted is None or weight is None:
            return ScaledPoints.of(block.X), weight
        return ScaledPoints.of(block.X[self._counted]), weight[self._counted]

    @cached_property
    def _counted(self) -> Bools | None:
        """Which rows have positive weight; None where all have."""
        weight = self.rows.collect().weight
        return None if weight is None or (weight > 0).all() else weight > 0

    def _of_all_rows(self, values: NDArray[Any], of_others: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """The values of the rows of positive weight, and those that `of_others` computes of the rest."""
        if self._counted is None:
            return values
        of_all = np.empty(len(self._counted), dtype=values.dtype)
        of_all[self._counted] = values
        of_all[~self._counted] = of_others(self.rows.collect().X[~self._counted])
        return of_all

    @cached_property
    def _sample(self) -> SeedSample:
        """The distinct rows of a small table, in an order that does not depend on that of the rows."""
        return SeedSample(self.rows, MAX_POINT_SAMPLE, np.random.default_rng(0))

    def initial_structures(
        self, templates: "list[Structure]", how: object, rng: np.random.Generator
    ) -> "list[Structure]":
        if (fitted := fitted_structures(templates, how)) is not None:
            return fitted
        if not isinstance(how, str):
            centers = centers_of(how, len(templates), self.rows.d)
        elif self.rows.n <= MAX_POINT_SAMPLE:
            sample = self._sample
            centers = sample.X[start_rows(sample.X, sample.weight, len(templates), how, rng)]
        else:
            points, weight = self._points
            centers = points.X[start_rows(points, weight, len(templates), how, rng)]
        return [each.moved_to(center) for each, center in zip(templates, centers, strict=True)]

    def run(self, state: LoopState, *, max_iter: int, tol: float) -> LoopResult:
        points, weight = self._points
        fit = lloyd(points, weight, _centers(state), max_iter=max_iter, tol=tol)
        labels = self._of_all_rows(fit.labels.astype(np.int64), lambda X: nearest_centers(X, fit.centers)[0])
        structures = [each.moved_to(center) for each, center in zip(state.structures, fit.centers, strict=True)]
        decreases = [np.inf, *(self.decrease(a, b, state) for a, b in pairwise(fit.history))]
        history = [(i, value, decreases[i]) for i, value in enumerate(fit.history)]
        return LoopResult(
            LoopState(structures, fit.mass / fit.mass.sum()),
            fit.objective,
            history,
            fit.iterations,
            history[-1][2],
            fit.converged,
            labels,
            fit.mass,
            False,
            max(self.decrease(fit.objective, fit.objective - fit.change, state), 0.0),
        )

    def certify(self, result: LoopResult) -> None:
        """Set the labels and scores; the change by one more pass is part of the result, from sums added up afresh."""
        centers, labels = _centers(result.state), result.labels
        counted = labels if self._counted is None else labels[self._counted]
        squares = self._of_all_rows(
            own_squared_distances(self._points[0], centers, counted),
            lambda X: own_squared_distances(X, centers, labels if self._counted is None else labels[~self._counted]),
        )
        self.labels, self.scores = labels, -squares


def _centers(state: LoopState) -> Floats:
    return np.stack([each.location for each in state.structures])
