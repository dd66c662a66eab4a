"""Least squares and ridge in closed form: alpha from moments of the folds, the path, a certified solution."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.models.base.squared_loss import (
    ClosedForm,
    Data,
    Options,
    OutOfRange,
    SquaredLossFit,
    TracedPath,
    fit_of_solution,
)
from gramian.rows import Rows, parallel_map
from gramian.selection.cv.fold_moments import FoldMoments, select
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.splits import plan
from gramian.selection.features.input import fold_moments
from gramian.solvers.least_squares.closed_form import METHODS, QuadraticPenalty, Solution, solve
from gramian.solvers.least_squares.factor import quadratic
from gramian.solvers.least_squares.ridge_path import RidgePath
from gramian.solvers.least_squares.row_space import (
    MOST_PRIMAL_COLUMNS,
    RowSpace,
    extreme_column,
    lift,
    minimum_norm,
    project_to_row_space,
)
from gramian.statistics import Moments
from gramian.statistics.products import moments_of

if TYPE_CHECKING:
    from gramian.solvers.base import AnySolver  # which brings compiled loops that the closed form does without

GRID = 50
MAX_EXPONENT = 450  # binary, of the largest column: alphas are of the size of its square
MAX_GRID_RANGE = 1e14  # between the ends of a grid: beyond it one end is all penalty and the other none


def solver_object(solver: Any) -> "AnySolver | None":
    """The solver object that was asked for; None for a name."""
    if isinstance(solver, str):
        return None
    from gramian.solvers.base import Solver

    return solver if isinstance(solver, Solver) else None


class LeastSquares:
    """No penalty: where columns are dependent, the minimiser of the least norm."""

    solvers: ClassVar[tuple[str, ...]] = METHODS
    grid: ClassVar[int] = 2

    def fit(self, data: Data, options: Options) -> SquaredLossFit:
        return fit_of_solution(*self.solution(data, options))

    def solution(self, data: Data, options: Options) -> tuple[Solution, float, None, None]:
        if isinstance(data, Rows) and data.n < data.d and options.solver == "auto":
            return minimum_norm(data, intercept=options.fit_intercept), 0.0, None, None
        return solve(data, intercept=options.fit_intercept, method=options.solver), 0.0, None, None


def by_iterations(
    exact: ClosedForm, penalty: QuadraticPenalty | None, solver: "AnySolver", data: Data, options: Options
) -> SquaredLossFit:
    """The fit of the same problem by a solver object."""
    from gramian.models.linear.iterative_method import IterativeMethod  # with all solvers: only those who ask wait

    return IterativeMethod(exact, penalty, solver).fit(data, options)


@dataclass(frozen=True, eq=False)
class RidgeMethod:
    """The squared loss with a quadratic penalty."""

    penalty: QuadraticPenalty
    solvers: ClassVar[tuple[str, ...]] = METHODS
    grid: ClassVar[int] = GRID

    def fit(self, data: Data, options: Options) -> SquaredLossFit:
        return fit_of_solution(*self.solution(data, options))

    def solution(self, data: Data, options: Options) -> tuple[Solution, float, Scores | None, TracedPath | None]:
        penalty, alpha, grid, intercept = self.penalty, options.alpha, options.alphas, options.fit_intercept
        factors = penalty.diagonal
        space, reduced, moments = None, data, None
        if isinstance(data, Rows) and data.n < data.d and _projects(data, penalty):
            space = project_to_row_space(data, factors, intercept=intercept)
            reduced, penalty = space.rows, QuadraticPenalty()
        scores, path = None, None
        if alpha is None:
            assert isinstance(reduced, Rows)
            scores, path, moments = _select(reduced, options, penalty, space)
            alpha = float(scores.alphas[scores.chosen])
        elif not isinstance(grid, int) and isinstance(reduced, Rows | Moments):
            moments = reduced if isinstance(reduced, Moments) else moments_of(reduced)
            path = _path(moments, grid, penalty, intercept, space)
        if isinstance(reduced, Rows) and reduced.basis is not None and alpha > 0 and options.solver != "qr":
            from gramian.solvers.least_squares.landmarks import solve_landmarks

            solution = solve_landmarks(reduced, intercept=intercept, alpha=alpha, moments=moments)
        else:
            solution = solve(
                reduced, intercept=intercept, alpha=alpha, penalty=penalty, moments=moments, method=options.solver
            )
        if space is not None:
            assert isinstance(data, Rows)
            solution = lift(solution, space, data, alpha, factors, intercept)
        return solution, alpha, scores, path


def _projects(rows: Rows, penalty: QuadraticPenalty) -> bool:
    """Whether the row space has the solution: for a penalty that rotations leave alone, on columns of any units."""
    positive = penalty.diagonal is None or bool((penalty.diagonal > 0).all())
    if penalty.matrix is not None or penalty.standardize or not positive:
        return False
    extreme = extreme_column(rows)
    if extreme is not None and rows.d > MOST_PRIMAL_COLUMNS:
        raise OutOfRange(
            f"Column {rows.name(extreme)} is so large or small that its square is beyond the range of float64. "
            "Divide the column by its size first."
        )
    return extreme is None


def _select(
    rows: Rows, options: Options, penalty: QuadraticPenalty, space: RowSpace | None
) -> tuple[Scores, TracedPath, Moments]:
    grid, intercept, plans = options.alphas, options.fit_intercept, plan(options.cv, rows)
    # A row's influence on the deviations has no closed form: with standardize its fold is solved as others are.
    closed = plans[0].leave_one_out and not penalty.standardize
    folds = None if closed else fold_moments(rows, plans) if penalty.standardize else FoldMoments(rows, plans)
    total = moments_of(rows) if folds is None else folds.total
    fixed = not isinstance(grid, int)
    if not fixed:
        _refuse_range(rows, total, penalty, intercept)
    ends = _ends(total, penalty, intercept)
    alphas = grid if fixed else np.geomspace(ends[1], ends[0], grid)
    middle = _middle(alphas)
    parts = [total, *([] if folds is None else (train for train, _ in folds.splits))]
    whole, *trained = parallel_map(
        lambda part: RidgePath(part, intercept=intercept, middle=middle, penalty=penalty), parts
    )

    def losses(candidates: Floats) -> tuple[Floats, Floats | None]:
        if folds is None:
            return whole.leave_one_out(rows, candidates)
        return folds.losses([spectrum.coefs(candidates) for spectrum in trained]), folds.weights

    limits = (ends[0] / 1e6, ends[1] * 1e6)
    scores = select(losses, alphas, rule=options.rule, fixed=fixed, limits=limits)
    return scores, _path(total, scores.alphas, penalty, intercept, space, whole), total


def _path(
    moments: Moments,
    alphas: Floats,
    penalty: QuadraticPenalty,
    intercept: bool,
    space: RowSpace | None,
    spectrum: Any = None,
) -> TracedPath:
    if spectrum is None:
        spectrum = RidgePath(moments, intercept=intercept, middle=_middle(alphas), penalty=penalty)
    coefs, intercepts = spectrum.coefs(alphas)
    if space is not None:
        coefs = np.stack([space.lift(coef) for coef in coefs])
        intercepts = space.intercepts(coefs, intercepts)
    return alphas, coefs, intercepts


def _middle(alphas: Floats) -> float:
    positive = alphas[alphas > 0]
    return float(np.sqrt(positive[0]) * np.sqrt(positive[-1])) if positive.size else 1.0


def _refuse_range(rows: Rows, moments: Moments, penalty: QuadraticPenalty, intercept: bool) -> None:
    """Raise if the alphas that make a difference are beyond the range of float64."""
    q = quadratic(moments, intercept=intercept)
    varying = np.flatnonzero(~q.constant)
    if penalty.standardize or not varying.size:
        return
    j = int(varying[np.argmax(q.x[varying])])
    if abs(int(q.x[j])) > MAX_EXPONENT:
        raise OutOfRange(
            f"Column {rows.name(j)}, the largest, is of size 1e{q.x[j] * np.log10(2.0):.0f}: an alpha that makes a "
            "difference, which is of the size of its square, is beyond the range of float64. Divide the columns by "
            "their size first, or use standardize=True."
        )


def _ends(moments: Moments, penalty: QuadraticPenalty, intercept: bool) -> tuple[float, float]:
    """Alphas from no shrinkage worth the name to all of it: set by the variances of the columns."""
    q = quadratic(moments, intercept=intercept)
    G, P = np.diagonal(q.G), np.diagonal(penalty.gram(q, 1.0))
    both = (G > 0) & (P > 0)
    if not both.any():
        return 1e-6, 1e2
    ratio = G[both] / P[both]
    high = float(np.clip(10.0 * ratio.max(), 1e-250, 1e250))
    return max(1e-7 * float(ratio.min()), high / MAX_GRID_RANGE), high
