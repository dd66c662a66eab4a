"""The squared loss with a quadratic penalty, or none, in closed form."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.penalties import PenaltyTerms
from gramian.objective.problem import Data, Problem
from gramian.rows import Rows
from gramian.solvers.direct import DirectSolver
from gramian.solvers.least_squares.closed_form import METHODS, OutOfRange, QuadraticPenalty, confirmed, solve
from gramian.solvers.least_squares.ridge_path import RidgePath
from gramian.solvers.least_squares.row_space import (
    MOST_PRIMAL_COLUMNS,
    RowSpace,
    extreme_column,
    lift,
    minimum_norm,
    project_to_row_space,
)
from gramian.solvers.solution import Solution, TracedPath
from gramian.statistics import Moments, Triangle
from gramian.statistics.products import moments_of


class RidgeData:
    """The rows or sums of a ridge problem, and its penalty, in the space of the rows where these are few.

    Strategies of cross-validation and the solver after them share one: what the first computes, the second has.

    Attributes
    ----------
    data : Rows, Moments or Triangle
        In the row space, if there is one.
    penalty : QuadraticPenalty
        Of the coefficients of these.
    space : RowSpace or None
    moments : Moments or None
        Of all rows, where they were computed.
    spectrum : RidgePath or None
        Of these, where it was computed.
    """

    def __init__(self, problem: Problem) -> None:
        self.intercept = problem.intercept
        self.given: Data = problem.data
        self.penalty = quadratic_penalty(problem)
        self.factors = self.penalty.diagonal
        self.data, self.space = self.given, None
        self.moments: Moments | None = None
        self.spectrum: RidgePath | None = None
        if isinstance(self.given, Rows) and self.given.n < self.given.d and _projects(self.given, self.penalty):
            self.space = project_to_row_space(self.given, self.factors, intercept=self.intercept)
            self.data, self.penalty = self.space.rows, QuadraticPenalty()

    space: RowSpace | None

    @classmethod
    def of(cls, problem: Problem) -> "RidgeData":
        """That of a problem, made once for all its alphas."""
        known = problem.shared.get(cls)
        if known is None:
            known = problem.shared[cls] = cls(problem)
        assert isinstance(known, cls)
        return known

    def path(self, alphas: Floats) -> TracedPath:
        """Coefficients of the columns given, along a grid."""
        if self.spectrum is None:
            if self.moments is None:
                assert not isinstance(self.data, Triangle)
                self.moments = self.data if isinstance(self.data, Moments) else moments_of(self.data)
            self.spectrum = RidgePath(
                self.moments, intercept=self.intercept, middle=middle_alpha(alphas), penalty=self.penalty
            )
        coefs, intercepts = self.spectrum.coefs(alphas)
        if self.space is not None:
            coefs = np.stack([self.space.lift(coef) for coef in coefs])
            intercepts = self.space.intercepts(coefs, intercepts)
        return alphas, coefs, intercepts

    def solve(self, alpha: float, method: str) -> Solution:
        """The certified solution at one alpha."""
        data, intercept = self.data, self.intercept
        if isinstance(data, Rows) and data.basis is not None and alpha > 0 and method != "qr":
            from gramian.solvers.least_squares.landmarks import solve_landmarks  # with kernels

            found = solve_landmarks(data, intercept=intercept, alpha=alpha, moments=self.moments)
        else:
            found = solve(
                data, intercept=intercept, alpha=alpha, penalty=self.penalty, moments=self.moments, method=method
            )
        if self.space is None:
            return found
        assert isinstance(self.given, Rows)
        return lift(found, self.space, self.given, alpha, self.factors, intercept)


@dataclass(frozen=True)
class ClosedForm(DirectSolver):
    """The normal equations by Cholesky, refined or by QR where columns are nearly dependent, in the space of few rows.

    `method` is "auto", "cholesky" or "qr". With fewer rows than columns and no penalty, the minimum-norm solution.
    """

    method: str = "auto"
    name: ClassVar[str] = "closed form"
    names: ClassVar[tuple[str, ...]] = METHODS[1:]
    grid_length: ClassVar[int] = 50

    @classmethod
    def of_name(cls, name: str) -> "ClosedForm":
        return cls(name)

    def supports(self, problem: Problem) -> bool:
        """The squared loss with a quadratic penalty or none."""
        terms = problem.coordinates.terms
        return problem.loss.is_squared and terms is not None and terms.smooth

    def cost(self, problem: Problem) -> float:
        """A Gram matrix of rows or columns, whichever are fewer, and its factor."""
        n, d = float(problem.rows.n), float(problem.d)
        return n * d * min(n, d) + min(n, d) ** 3

    def solve(
        self, problem: Problem, alphas: int | Floats | None = None, *, max_iter: int, tol: float, warn: bool = True
    ) -> Solution:
        data, terms, path = problem.data, problem.coordinates.terms, None
        assert terms is not None
        if not terms.nothing:
            ridge = RidgeData.of(problem)
            if isinstance(alphas, np.ndarray) and not isinstance(ridge.data, Triangle):
                path = ridge.path(alphas)
            found = ridge.solve(problem.alpha, self.method)
        elif isinstance(data, Rows) and data.n < data.d and self.method == "auto":
            found = minimum_norm(data, intercept=problem.intercept)
        else:
            found = solve(data, intercept=problem.intercept, method=self.method)
        if warn:
            found = replace(found, certificate=confirmed(found.certificate, found.coef, found.intercept))
        return replace(found, path=path)


def quadratic_penalty(problem: Problem) -> QuadraticPenalty:
    """The quadratic penalty of a problem."""
    terms, standardize = problem.coordinates.terms, bool(problem.coordinates.standardize)
    assert terms is not None
    if terms.square.ndim == 2:
        matrix = _root(terms) if terms.root is None else terms.root
        return QuadraticPenalty(matrix=matrix, standardize=standardize)
    equal = bool((terms.square == 1.0).all())
    return QuadraticPenalty(diagonal=None if equal else terms.square, standardize=standardize)


def middle_alpha(alphas: Floats) -> float:
    """The geometric mean of the ends of a grid."""
    positive = alphas[alphas > 0]
    return float(np.sqrt(positive[0]) * np.sqrt(positive[-1])) if positive.size else 1.0


def _root(terms: PenaltyTerms) -> Floats:
    """Γ with ΓᵀΓ = S."""
    values, vectors = np.linalg.eigh(terms.square)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


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
