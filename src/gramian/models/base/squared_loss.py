"""Linear models that keep the solution of a squared loss, with its scores and its path."""

from typing import Any

import numpy as np

from gramian._core.fitted.forgetting import forget_fit
from gramian._core.summary import Summary
from gramian.models.base.linear_model import LinearModel
from gramian.models.base.path import Path, path_of
from gramian.selection.cv.scores import Scores
from gramian.solvers.solution import Solution, TracedPath


class SquaredLossModel(LinearModel):
    """A linear model whose solution is of the squared loss."""

    alpha_: float
    noise_variance_: Any
    scores_: Scores
    path_: Path
    history_: list[tuple[int, float, float]]
    n_iter_: int
    _solution: Solution | None

    def _forget_fit(self) -> None:
        forget_fit(self)
        self._solution = None

    def _set_solution(
        self, solution: Solution, one_target: bool, scores: Scores | None = None, path: TracedPath | None = None
    ) -> None:
        """Keep coefficients, certificate, and what there is of scores, path, history and inference."""
        self._solution = solution
        self._set_coefficients(solution.coef, solution.intercept, one_target)
        self.certificate_, self.solver_ = solution.certificate, solution.solver
        if scores is not None:
            self.scores_ = scores
        if path is not None:
            self.path_ = path_of(*path, one_target)
        if solution.history:
            self.history_, self.n_iter_ = solution.history, max(solution.iterations, 1)
        if solution.squares.df is not None:
            variance = solution.squares.residual / solution.squares.weight
            self.noise_variance_ = float(variance[0]) if one_target else variance

    @property
    def _infers(self) -> bool:
        """Whether theory gives standard errors and intervals of the solution."""
        return self._solution is not None and self._solution.squares.df is not None

    def _sparse_summary(self) -> Summary:
        """The table of coefficients that an absolute penalty sets to zero."""
        assert self._solution is not None
        sums, value = self._solution.squares, self._solution.value
        with np.errstate(divide="ignore", invalid="ignore"):
            r2 = np.where(sums.total > 0, 1.0 - sums.residual / sums.total, 1.0)
        facts = {"alpha": self.alpha_, "r2": float(r2[0]) if len(r2) == 1 else r2, "n": sums.weight}
        facts |= {"nonzero": int((self._solution.coef != 0).sum()), "objective": value}
        notes = [self.certificate_.note] if self.certificate_.note else []
        notes.append("Standard errors are not given: theory has none for coefficients that a penalty sets to zero.")
        notes += [str(self.scores_)] if hasattr(self, "scores_") else []
        return Summary(type(self).__name__, self._coefficient_table(), facts, notes)
