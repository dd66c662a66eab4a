"""Several starts, and the best of what they lead to."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._core import deadline
from gramian.rows import Rows
from gramian.structures.information_criteria import bayes
from gramian.structures.loop.alternation import Loop, Outcome
from gramian.structures.loop.assignments import Assignment
from gramian.structures.loop.means import loop_for
from gramian.structures.loop.rounding import clearly_less
from gramian.structures.loop.state import State

FEW = 10  # passes from each start of shapes
NAMES = {True: "EM", False: "alternation"}
REASONS = {
    True: "every structure has a share of every row, and every pass raises the likelihood",
    False: "rows go to their structure and structures to their rows, and every pass lowers the objective",
}


@dataclass(eq=False)
class Search:
    """Rows and a rule, and how starts are made."""

    rows: Rows
    rule: Assignment
    variance: float
    init: Any
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

    def best(self, templates: list[Any], warm: list[Any] | None = None) -> Outcome:
        """The best outcome of all starts; `warm` is one more. Starts that cannot differ are made once."""
        self.loop = loop_for(templates, self.rows, self.rule, self.variance, self.loop)
        once = not isinstance(self.init, str) or self.init == "farthest" or len(templates) == 1
        trials = 1 if once else self.n_init
        # refits of shapes are dear: few passes show which start is best, and that one goes on to its end
        shapes = trials > 1 and any(each.grows == "sample" and each.least(self.rows.d) > 1 for each in templates)
        found = None
        for trial in range(trials):
            if trial and deadline.passed():
                break
            afresh = trial > 0 or warm is None
            start = self.loop.seeds(templates, self.init, self.rng) if afresh else warm
            outcome = self.run(self.loop.start(start or []), min(self.max_iter, FEW) if shapes else self.max_iter)
            if found is None or clearly_less(self._rank(outcome), self._rank(found)):
                found = outcome
        assert found is not None
        if shapes and not found.converged and self.max_iter > FEW:
            outcome = self.run(found.state, self.max_iter - FEW)
            last = found.history[-1][0]
            outcome.history = [*found.history, *((last + i, value, fall) for i, value, fall in outcome.history[1:])]
            outcome.iterations = len(outcome.history) - 1
            return outcome
        return found

    def run(self, state: State, max_iter: int) -> Outcome:
        """The loop from one state."""
        loop = self.loop
        loop.labels = np.full(self.rows.n, -1, dtype=np.int64)
        loop.scores = np.empty(self.rows.n)
        return loop.run(state, max_iter=max_iter, tol=self.tol)

    def _rank(self, outcome: Outcome) -> float:
        """What the best start has least of; numbers of clusters that a rule found are compared by their BIC."""
        return bayes(outcome, self.rows.d, self.loop.weight) if self.rule.opens() else outcome.value
