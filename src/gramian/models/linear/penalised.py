"""Fits of penalised linear regressions: alpha chosen where it is asked for, then the problem solved."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core import validation
from gramian._core.types import Floats
from gramian.objective.design import columns_of
from gramian.objective.losses.base import Loss
from gramian.objective.penalties import Penalty, Zero
from gramian.objective.problem import Data, Problem
from gramian.rows import Rows
from gramian.selection.cv.regularization import AlphaSearch, has_strength
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.strategy import ProblemFactory
from gramian.solvers.base import Callback, Solver
from gramian.solvers.choose import DIRECT_NAMES, NAMES, direct_solver, refuse_name, refuse_sums
from gramian.solvers.direct import DirectSolver, is_wide
from gramian.solvers.least_squares.factor import factor_of_triangle, quadratic
from gramian.solvers.solution import Solution, TracedPath
from gramian.solvers.targets import joined, solve_targets, target_rows
from gramian.statistics import Moments

GRID = 20  # length of a grid of alphas, where none is given and there is no direct solver


@dataclass(frozen=True)
class FitOptions:
    """What a fit is asked for: a strength or the choice of one, a solver, and where to end.

    `alpha` is None where cross-validation chooses it; `alphas` is the length of the grid, the grid itself, or None for
    the length that suits the solver. `direct` is False where only solvers that iterate will do, `path` True where a
    direct solver is to follow the path of alphas, though a closed form is cheaper.
    """

    alpha: float | None
    alphas: Any = None
    cv: Any = 5
    rule: str = "best"
    fit_intercept: bool = True
    standardize: bool = False
    solver: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-8
    callbacks: Sequence[Callback] = ()
    direct: bool = True
    path: bool = False


@dataclass(frozen=True, eq=False)
class PenalisedFit:
    """The solutions: one of all targets, or one for each from a solver that iterates; and how alpha was chosen."""

    solutions: list[Solution]
    alpha: float
    scores: Scores | None = None
    path: TracedPath | None = None


def fit_penalised(data: Data, loss: Loss, penalty: Penalty, options: FitOptions) -> PenalisedFit:
    """The fit of one or several targets.

    Where there is a direct solver, alpha, its path and standard errors are those of it, whichever solver finds the
    coefficients.
    """

    def factory(rows: Data) -> Problem:
        return Problem(
            rows,
            loss,
            penalty,
            options.alpha or 0.0,
            intercept=options.fit_intercept,
            standardize=options.standardize,
        )

    problem = factory(data)
    method = direct_method(problem, options)
    if method is None:
        refuse_sums(problem, options.solver)
        return _fit_each_target(problem, factory, options)
    scores, alphas = None, options.alphas
    if options.alpha is None and has_strength(problem):
        solver = method.names[0] if options.path else options.solver if options.solver in method.names else "auto"
        search = AlphaSearch(problem.rows, [factory], options.cv, solver=solver, max_iter=options.max_iter, direct=True)
        length = method.grid_length if alphas is None else alphas
        grid = search.grid(length) if isinstance(length, int) else length
        scores = search.choose(grid, rule=options.rule, fixed=not isinstance(length, int))
        problem, alphas = search.problems[0].with_alpha(float(scores.alphas[scores.chosen])), scores.alphas
    limits: dict[str, Any] = {"max_iter": options.max_iter, "tol": options.tol}
    iterates = not (isinstance(options.solver, str) and options.solver in ("auto", *method.names))
    if iterates:
        refuse_sums(problem, options.solver)
    solution = method.solve(problem, alphas, **limits, warn=not iterates)
    if iterates:
        solution = _by_iterations(problem, solution, options)
    alpha = problem.alpha if has_strength(problem) else 0.0
    return PenalisedFit([solution], alpha, scores, solution.path)


def direct_method(problem: Problem, options: FitOptions) -> DirectSolver | None:
    """The direct solver, whose choice of alpha and standard errors any solver shares; None where there is none."""
    if not options.direct:
        return None
    solver = options.solver if isinstance(options.solver, str) and options.solver in DIRECT_NAMES else "auto"
    if not options.path:
        return direct_solver(problem, solver)
    from gramian.solvers.sparse.direct import GramActiveSet, WorkingSets  # with compiled loops

    if solver == "rows" and not isinstance(problem.data, Rows):
        refuse_name(solver, problem)
    return WorkingSets() if solver == "rows" or (solver == "auto" and is_wide(problem)) else GramActiveSet()


def solver_of(value: Any, direct: tuple[str, ...]) -> Any:
    """A solver object, "auto", or the name of one of these direct solvers or of one that iterates."""
    return value if isinstance(value, Solver) else validation.choice("solver", value, ("auto", *direct, *NAMES))


def _by_iterations(problem: Problem, direct: Solution, options: FitOptions) -> Solution:
    """The solution of a solver that iterates, with the path and what inference needs of the direct one."""
    limits: dict[str, Any] = {"max_iter": options.max_iter, "tol": options.tol, "callbacks": options.callbacks}
    solutions = solve_targets(problem, solver=options.solver, direct=False, **limits)
    weight = direct.squares.weight
    losses = [each.problem.with_penalty(Zero()).value(each.theta) for each in solutions]
    sums = replace(direct.squares, residual=weight * np.array(losses))
    return replace(joined(solutions), sums=sums, path=direct.path)


def _fit_each_target(problem: Problem, factory: ProblemFactory, options: FitOptions) -> PenalisedFit:
    """The fit by solvers that iterate, one problem for each target."""
    rows: Rows = problem.rows.settled()
    alpha, scores, path = options.alpha or 0.0, None, None
    if options.alpha is None and has_strength(problem):
        targets = range(len(rows.target_names))
        factories = [_of_target(factory, j) for j in targets]
        search = AlphaSearch(rows, factories, options.cv, solver=options.solver, max_iter=options.max_iter)
        length = GRID if options.alphas is None else options.alphas
        grid = search.grid(length) if isinstance(length, int) else length
        scores = search.choose(grid, rule=options.rule, fixed=not isinstance(length, int))
        alpha = float(scores.alphas[scores.chosen])
        path = (scores.alphas, *search.path(scores.alphas))
    limits: dict[str, Any] = {"max_iter": options.max_iter, "tol": options.tol, "callbacks": options.callbacks}
    solutions = solve_targets(problem.with_alpha(alpha), solver=options.solver, direct=False, **limits)
    return PenalisedFit(solutions, alpha, scores, path)


def _of_target(factory: ProblemFactory, j: int) -> ProblemFactory:
    return lambda rows: factory(target_rows(rows, j))


def fits_sums(data: Data, loss: Loss, penalty: Penalty, options: FitOptions) -> bool:
    """Whether sums of the rows are enough."""
    problem = Problem(data, loss, penalty, 0.0, intercept=options.fit_intercept, standardize=options.standardize)
    return direct_method(problem, options) is not None


def column_deviations(data: Data, intercept: bool) -> Floats:
    """Standard deviations of the columns, about zero without an intercept: what `standardize` divides them by."""
    if isinstance(data, Rows):
        return columns_of(data).deviations(intercept)
    if isinstance(data, Moments):
        q = quadratic(data, intercept=intercept)
        return np.ldexp(np.sqrt(np.diagonal(q.G) / q.weight), q.x)
    factor = factor_of_triangle(data, intercept=intercept)
    return np.ldexp(np.linalg.norm(factor.R, axis=0) / np.sqrt(factor.weight), factor.x)
