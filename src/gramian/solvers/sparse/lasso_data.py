"""The lasso and elastic-net problem in its two forms: on cross-products, and on the rows themselves.

Each knows its largest alpha and its path over a grid. Where a deadline ends a path, it has the alphas before and the
one asked for.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Bools, Floats, Ints
from gramian.objective.problem import Problem
from gramian.rows import Block, Rows
from gramian.solvers.certificate import SolverInfo
from gramian.solvers.least_squares.closed_form import OutOfRange
from gramian.solvers.least_squares.factor import factor_of_quadratic, quadratic
from gramian.solvers.least_squares.rounding import intercept_share, neglected_share
from gramian.solvers.solution import SquaredLossSums
from gramian.solvers.sparse.active_set import ENDED
from gramian.solvers.sparse.lasso import (
    Shrinkage,
    gap_on_gram,
    largest_alpha,
    lasso_on_gram,
    rounding_shares,
    shrinkage_of,
)
from gramian.solvers.sparse.working_set import Table, WidePath, wide_path
from gramian.statistics import Moments, Triangle
from gramian.statistics.products import block_moments

Traced = tuple[Floats, Floats, Floats, Floats, Floats, Ints]
MOST_EXPONENT = 500  # binary, of a column or target: products of two and their sums stay within float64


class LassoData(ABC):
    """A lasso problem without its alpha; strategies of cross-validation and the solver after them share one."""

    through: str
    solver: SolverInfo
    reach: float  # the smallest alpha of a grid, over the largest

    def __init__(self, problem: Problem, max_iter: int) -> None:
        shrinkage = shrinkage_of(problem)
        assert shrinkage is not None
        self.shrinkage: Shrinkage = shrinkage
        self.intercept, self.max_iter = problem.intercept, max_iter

    @abstractmethod
    def top(self) -> float:
        """The smallest alpha at which every penalised coefficient is zero."""

    @abstractmethod
    def path(self, alphas: Floats, alpha: float) -> Traced:
        """Alphas, coefficients, intercepts, objectives, gaps and rounds along a path that has `alpha`."""

    def design(self) -> tuple[int | None, float | None]:
        """Rank and condition number of the columns, where they are cheap to know."""
        return None, None

    @abstractmethod
    def rounding_shares(self, coef: Floats, alpha: float) -> tuple[float, float]:
        """Shares of the objective that columns taken as constant, and the rounding of the intercept, may have."""

    @abstractmethod
    def sums(self, coef: Floats) -> SquaredLossSums:
        """The squared residuals of each target."""


class GramData(LassoData):
    """The problem on cross-products: from moments, or from one pass over rows."""

    through = "moments"
    solver = SolverInfo("active set on the Gram matrix", "the d × d Gram matrix fits: exact along the whole path")

    def __init__(self, problem: Problem, max_iter: int, moments: Moments | None = None) -> None:
        super().__init__(problem, max_iter)
        assert not isinstance(problem.data, Triangle)
        self.data = problem.data
        total = moments
        if total is None:
            total = self.data if isinstance(self.data, Moments) else self.data.sum(block_moments(self.data))
        self.total = quadratic(total, intercept=self.intercept)
        refuse_sizes(self.data, np.where(self.total.constant, 0, self.total.x), self.total.y)
        self.reach = 1e-3 if total.n > total.d else 1e-2

    def top(self) -> float:
        if self.shrinkage.l1_ratio == 0:
            return (
                1e2
                * float(np.max(np.ldexp(np.diagonal(self.total.G), 2 * self.total.x), initial=0.0))
                / self.total.weight
            )
        return largest_alpha(self.total, self.shrinkage)

    def path(self, alphas: Floats, alpha: float) -> Traced:
        coefs, intercepts, rounds = lasso_on_gram(self.total, alphas, self.shrinkage, self.max_iter)
        keep = _kept(rounds, alphas, alpha)
        alphas, coefs = alphas[keep], coefs[keep]
        found = [gap_on_gram(self.total, c, a, self.shrinkage) for c, a in zip(coefs, alphas, strict=True)]
        objectives, gaps = np.array([o for o, _ in found]), np.array([g for _, g in found])
        return alphas, coefs, intercepts[keep], objectives, gaps, rounds[keep]

    def design(self) -> tuple[int | None, float | None]:
        """Rank and condition number of the columns, where they are cheap to know."""
        if self.total.d > 500:
            return None, None
        factor = factor_of_quadratic(self.total)
        return factor.rank, factor.condition()

    def rounding_shares(self, coef: Floats, alpha: float) -> tuple[float, float]:
        """Shares of the objective that columns taken as constant, and the rounding of the intercept, may have."""
        return rounding_shares(self.total, coef, alpha, self.shrinkage)

    def sums(self, coef: Floats) -> SquaredLossSums:
        q = self.total
        z = np.ldexp(coef, q.x[:, None] - q.y[None, :])
        residual = np.diagonal(q.yy) - 2 * (q.B * z).sum(axis=0) + ((q.G @ z) * z).sum(axis=0)
        residual, total = (np.ldexp(np.maximum(part, 0.0), 2 * q.y) for part in (residual, np.diagonal(q.yy)))
        return SquaredLossSums(residual, total, q.weight)


class RowsData(LassoData):
    """The problem on the matrix itself, for more columns than a Gram matrix should have."""

    through = "rows"
    solver = SolverInfo(
        "working sets on the rows", "more columns than rows: inner products only of the columns that matter"
    )
    reach = 1e-2

    def __init__(self, problem: Problem, max_iter: int) -> None:
        super().__init__(problem, max_iter)
        self.rows = rows = problem.rows
        self.block: Block = rows.collect()
        X = self.block.X
        if not np.isfinite(X.sum()):
            rows.refuse_nonfinite()
        weight = self.block.weights
        self.weight = weight
        assert self.block.y is not None
        refuse_sizes(rows, _sizes(X[weight > 0]), _sizes(self.block.y[weight > 0]))
        self.tables = [self.table(weight, target) for target in range(self.block.y.shape[1])]

    def table(self, weight: Floats, target: int) -> Table:
        assert self.block.y is not None
        intercept, standardize = self.intercept, self.shrinkage.standardize
        return Table(self.block.X, self.block.y[:, target], weight / weight.sum(), intercept, standardize)

    def _weights(self) -> tuple[Floats, Floats]:
        """l1 and l2 of alpha = 1 for the columns in their units, in the form of `active_set`: 2 l1 |z| + l2 z²."""
        size = np.ones(self.rows.d) if self.shrinkage.factors is None else self.shrinkage.factors
        ratio = self.shrinkage.l1_ratio
        return 0.5 * ratio * size, (1.0 - ratio) * size

    def top(self) -> float:
        largest = 0.0
        l1, _ = self._weights()
        for table in self.tables:
            b = np.abs(table.correlations(table.y))
            penalised = l1 > 0
            largest = max(largest, float(np.max(b[penalised] / l1[penalised], initial=0.0)))
        return largest

    def solve(self, table: Table, alphas: Floats) -> WidePath:
        return wide_path(table, alphas, *self._weights(), self.max_iter)

    def path(self, alphas: Floats, alpha: float) -> Traced:
        found = [self.solve(table, alphas) for table in self.tables]
        rounds = np.min([path.rounds for path in found], axis=0)
        keep = _kept(rounds, alphas, alpha)
        return (
            alphas[keep],
            np.stack([path.coefs[keep] for path in found], axis=2),
            np.stack([path.intercepts[keep] for path in found], axis=1),
            np.sum([path.objectives[keep] for path in found], axis=0),
            np.max([path.gaps[keep] for path in found], axis=0),
            rounds[keep],
        )

    def rounding_shares(self, coef: Floats, alpha: float) -> tuple[float, float]:
        neglected = intercept = 0.0
        l1, l2 = self._weights()
        for target, table in enumerate(self.tables):
            left, total = table.constant, float(table.weight @ table.y**2)
            if left.any():
                squares = table.squares()[left]
                unit = np.sqrt(squares) if self.shrinkage.standardize else np.ones(len(squares))
                weights = alpha * l1[left] * unit, alpha * l2[left] * unit**2
                neglected = max(neglected, neglected_share(squares, *weights, total))
            mean = np.append(table.mean, table.y_mean)
            intercept = max(intercept, intercept_share(mean, coef[:, [target]], 1.0, np.array([total])))
        return neglected, intercept if self.intercept else 0.0

    def sums(self, coef: Floats) -> SquaredLossSums:
        residual, total = [], []
        for target, table in enumerate(self.tables):
            r = table.y - np.asarray(table.X @ coef[:, target]) + table.mean @ coef[:, target]
            residual.append(float(table.weight @ r**2))
            total.append(float(table.weight @ table.y**2))
        weight = float(self.weight.sum())
        return SquaredLossSums(weight * np.array(residual), weight * np.array(total), weight)


def refuse_sizes(data: Rows | Moments, columns: Ints, targets: Ints) -> None:
    """Raise if a column or target, of these binary exponents, is so large or small that penalties leave float64."""
    for j in np.flatnonzero(np.abs(columns) > MOST_EXPONENT):
        name = data.name(int(j)) if isinstance(data, Rows) else (data.names[j] if data.names else str(j))
        raise OutOfRange(
            f"Column {name} is of size 1e{columns[j] * np.log10(2.0):.0f}: its square, which the penalty is weighed "
            "against, is beyond the range of float64. Divide the column by its size first."
        )
    for j in np.flatnonzero(np.abs(targets) > MOST_EXPONENT):
        raise OutOfRange(
            f"Target {data.target_names[j]} is of size 1e{targets[j] * np.log10(2.0):.0f}: its square is beyond the "
            "range of float64. Divide the target by its size first."
        )


def _sizes(X: Any) -> Ints:
    """Binary exponents of the largest number of each column, 0 where all are zero."""
    top = np.abs(X).max(axis=0)
    top = np.asarray(top.toarray() if sp.issparse(top) else top, dtype=np.float64).reshape(-1)
    return np.where(top > 0, np.frexp(top)[1], 0).astype(np.int64)


def _kept(rounds: Ints, alphas: Floats, alpha: float) -> Bools:
    return np.asarray((rounds != ENDED) | (alphas == alpha))
