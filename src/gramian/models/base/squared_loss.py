"""Fits to the squared loss: what is asked for, what is returned, and what an estimator keeps of it."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from gramian._core.fitted.forgetting import forget_fit
from gramian._core.summary import Summary
from gramian._core.types import Floats
from gramian.models.base.linear_model import LinearModel
from gramian.models.base.path import Path, path_of
from gramian.rows import Rows
from gramian.selection.cv.scores import Scores
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.least_squares.closed_form import Solution, confirmed
from gramian.statistics import Moments, Triangle

Data = Rows | Moments | Triangle
TracedPath = tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class Options:
    """What a fit is asked for: a strength or the choice of one, a method, and where to end.

    `alpha` is None where cross-validation chooses it; `alphas` is the length of the grid or the grid itself.
    """

    alpha: float | None
    alphas: Any
    cv: Any = 5
    rule: str = "best"
    fit_intercept: bool = True
    solver: Any = "auto"
    max_iter: int = 10_000
    tol: float = 1e-6
    name: str = "This estimator"


@dataclass(frozen=True, eq=False)
class SquaredLossFit:
    """A fit to the squared loss.

    Attributes
    ----------
    coef : array (d, t); intercept : array (t,)
    residual : array (t,)
        Σ w r² of each target.
    path : alphas (A,), coefficients (A, d, t) and intercepts (A, t), or None
    solution : Solution, or None
        What standard errors and intervals are made of, where theory gives them.
    facts : dict
        What `summary` says where there are none.
    """

    alpha: float
    coef: Floats
    intercept: Floats
    residual: Floats
    weight: float
    certificate: Certificate
    solver: SolverInfo
    scores: Scores | None = None
    path: TracedPath | None = None
    solution: Solution | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    history: list[tuple[int, float, float]] = field(default_factory=list)
    iterations: int = 1


def fit_of_solution(
    solution: Solution,
    alpha: float = 0.0,
    scores: Scores | None = None,
    path: TracedPath | None = None,
) -> SquaredLossFit:
    """The fit of a solution in closed form; warns where its certificate does not hold."""
    return SquaredLossFit(
        alpha=alpha,
        coef=solution.coef,
        intercept=solution.intercept,
        residual=solution.residual,
        weight=solution.weight,
        certificate=confirmed(solution.certificate, solution.coef, solution.intercept),
        solver=solution.solver,
        scores=scores,
        path=path,
        solution=solution,
    )


class OutOfRange(ValueError):
    """Columns or targets whose squares are beyond the range of float64, which other solvers may still fit."""


class ClosedForm(Protocol):
    """A method whose solution is in closed form."""

    def solution(self, data: Data, options: Options) -> tuple[Solution, float, Scores | None, TracedPath | None]:
        """The solution, its alpha, and the scores and the path that led to it, where there are such."""


class SquaredLossMethod(Protocol):
    """How the squared loss is fitted under one kind of penalty: the choice of alpha, the path, the solution."""

    solvers: ClassVar[tuple[str, ...]]
    grid: ClassVar[int]  # length of the grid of alphas, where none is given

    def fit(self, data: Data, options: Options) -> SquaredLossFit:
        """The certified fit."""


class SquaredLossModel(LinearModel):
    """A linear model that keeps a `SquaredLossFit`."""

    alpha_: float
    noise_variance_: Any
    scores_: Scores
    path_: Path
    history_: list[tuple[int, float, float]]
    n_iter_: int
    _solution: Solution | None
    _facts: dict[str, Any]

    def _forget_fit(self) -> None:
        forget_fit(self)
        self._solution, self._facts = None, {}

    def _set_fit(self, fit: SquaredLossFit, one_target: bool) -> None:
        """Keep coefficients, certificate, and what there is of scores, path, history and inference."""
        self._set_coefficients(fit.coef, fit.intercept, one_target)
        self.certificate_, self.solver_ = fit.certificate, fit.solver
        self._solution, self._facts = fit.solution, fit.facts
        if fit.scores is not None:
            self.scores_ = fit.scores
        if fit.path is not None:
            self.path_ = path_of(*fit.path, one_target)
        if fit.history:
            self.history_, self.n_iter_ = fit.history, fit.iterations
        if fit.solution is not None:
            variance = fit.residual / fit.weight
            self.noise_variance_ = float(variance[0]) if one_target else variance

    def _sparse_summary(self) -> Summary:
        """The table of coefficients that an absolute penalty sets to zero."""
        notes = [self.certificate_.note] if self.certificate_.note else []
        notes.append("Standard errors are not given: theory has none for coefficients that a penalty sets to zero.")
        notes += [str(self.scores_)] if hasattr(self, "scores_") else []
        return Summary(type(self).__name__, self._coefficient_table(), {"alpha": self.alpha_, **self._facts}, notes)
