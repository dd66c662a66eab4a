"""The loop of clustering where structures are means of dense rows in memory: compiled, and the same answer."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.rows import MemoryRows, Rows
from gramian.solvers.lloyd import lloyd, nearest
from gramian.solvers.seeding import farthest, plus_plus
from gramian.structures.assignments import Assignment, Nearest
from gramian.structures.loop import Loop, Outcome
from gramian.structures.passes import State
from gramian.structures.point import Point

Floats = NDArray[np.float64]
MANY = 10_000  # rows from which starts are drawn from all of them, and not from a sample


def loop_for(templates: list[Any], rows: Rows, rule: Assignment, variance: float, tol: float) -> Loop:
    """The compiled loop where it does the same, else the general one."""
    general = Loop(rows, rule, variance)
    means = all(type(each) is Point and each.error == "squared" for each in templates)
    dense = isinstance(rows, MemoryRows) and not rows.is_sparse and not general.has_missing
    return MeansLoop(rows, rule, variance) if means and dense and type(rule) is Nearest and tol == 0 else general


class MeansLoop(Loop):
    """Every row to its nearest mean, every mean to its rows, until no row changes its cluster."""

    @cached_property
    def _table(self) -> tuple[Any, Floats | None]:
        block = self.rows.collect()
        X = np.ascontiguousarray(block.X)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        return X, None if block.weight is None else np.ascontiguousarray(block.weight, dtype=np.float64)

    def drawn(self, templates: list[Any], how: Any, rng: np.random.Generator) -> list[Any] | None:
        """Rows to start from, of all; None where a sample of them serves."""
        if not isinstance(how, str) or how == "random" or self.rows.n < MANY:
            return None
        X, weight = self._table
        draw = plus_plus if how == "k-means++" else farthest
        chosen = draw(X, weight, len(templates), rng)
        return [each.through(X[i]) for each, i in zip(templates, chosen, strict=True)]

    def run(self, state: State, *, max_iter: int, tol: float) -> Outcome:
        X, weight = self._table
        found = lloyd(X, weight, np.stack([each.center_ for each in state.structures]), max_iter=max_iter)
        structures = [each.through(center) for each, center in zip(state.structures, found.centers, strict=True)]
        value, mass = self._divided(found.centers)
        falls = [np.inf, *(self.fall(a, b, state) for a, b in zip(found.history, found.history[1:], strict=False))]
        history = [(i, each, falls[i]) for i, each in enumerate(found.history)]
        return Outcome(
            State(structures, mass / mass.sum()),
            value,
            history,
            len(history) - 1,
            history[-1][2],
            found.converged,
            self.labels,
            self.scores,
            mass,
            False,
        )

    def _divided(self, centers: Floats) -> tuple[float, Floats]:
        """The objective and the weight of every cluster, by a pass of its own; sets `labels` and `scores`."""
        X, weight = self._table
        labels, squares = nearest(X, centers)
        self.labels, self.scores = labels.astype(np.int64), -squares
        share = np.ones(len(squares)) if weight is None else weight
        mass = np.bincount(self.labels, share, minlength=len(centers))
        return float(share @ squares), np.asarray(mass, dtype=np.float64)

    def certify(self, outcome: Outcome) -> None:
        X, weight = self._table
        centers = np.stack([each.center_ for each in outcome.state.structures])
        once = lloyd(X, weight, centers, max_iter=1)
        outcome.change = max(self.fall(outcome.value, once.objective, outcome.state), 0.0)
