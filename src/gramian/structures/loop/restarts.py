"""Restarts: the loop from several starts, and the best result."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian._core import deadline
from gramian.rows import Rows
from gramian.structures.information_criteria import bic
from gramian.structures.loop.alternation import Loop, LoopResult
from gramian.structures.loop.assignments import Assignment
from gramian.structures.loop.initialization import have_shapes
from gramian.structures.loop.means import loop_for
from gramian.structures.loop.rounding import clearly_less
from gramian.structures.loop.state import LoopState

if TYPE_CHECKING:
    from gramian.structures.components.base import Structure

MAX_TRIAL_PASSES = 10  # from each start of shapes
NAMES = {True: "EM", False: "alternation"}
REASONS = {
    True: "expectation-maximisation: every pass raises the likelihood",
    False: "alternating minimisation: assign rows, refit structures; every pass lowers the objective",
}


@dataclass(eq=False)
class RestartSearch:
    """Rows and a rule, how the loop is started and when it ends."""

    rows: Rows
    rule: Assignment
    variance: float
    init: object
    n_init: int
    max_iter: int
    tol: float
    used: int
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.loop = Loop(self.rows, self.rule, self.variance)

    @property
    def solver(self) -> tuple[str, str]:
        return NAMES[self.rule.soft], REASONS[self.rule.soft]

    def best(self, templates: "list[Structure]", warm: list[Any] | None = None) -> LoopResult:
        """The best result of all starts, the first of which is `warm` if given. A deterministic start is made once."""
        self.loop = loop_for(templates, self.rows, self.rule, self.variance, self.loop)
        deterministic = not isinstance(self.init, str) or self.init == "farthest" or len(templates) == 1
        n_starts = 1 if deterministic else self.n_init
        # refits of shapes are costly: a few passes select the start that is continued to convergence
        selects = n_starts > 1 and have_shapes(templates, self.rows.d)
        max_passes = min(self.max_iter, MAX_TRIAL_PASSES) if selects else self.max_iter
        best = None
        for i in range(n_starts):
            if i and deadline.passed():
                break
            structures = warm if i == 0 and warm is not None else None
            if structures is None:
                structures = self.loop.initial_structures(templates, self.init, self.rng)
            result = self.run(self.loop.start(structures), max_passes)
            if best is None or clearly_less(self._rank(result), self._rank(best)):
                best = result
        assert best is not None
        if selects and not best.converged and self.max_iter > MAX_TRIAL_PASSES:
            result = self.run(best.state, self.max_iter - MAX_TRIAL_PASSES)
            last = best.history[-1][0]
            result.history = [*best.history, *((last + i, value, fall) for i, value, fall in result.history[1:])]
            result.iterations = len(result.history) - 1
            return result
        return best

    def run(self, state: LoopState, max_iter: int) -> LoopResult:
        """The loop from one state."""
        loop = self.loop
        loop.labels = np.full(self.rows.n, -1, dtype=np.int64)
        loop.scores = np.empty(self.rows.n)
        return loop.run(state, max_iter=max_iter, tol=self.tol)

    def _rank(self, result: LoopResult) -> float:
        """The criterion among starts: the objective, or the BIC where competition chooses the number of clusters."""
        competes = self.rule.competition_passes() > 0
        return bic(result, self.rows.d, self.loop.weight) if competes else result.value
