"""Dual coordinate descent for piecewise-linear losses: wide or sparse tables, one row at a time."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.compiled import njit
from gramian._core.types import Floats
from gramian.objective.problem import Problem, is_ridge
from gramian.solvers.base import Details, Solver, State, pass_cost
from gramian.solvers.nonsmooth.interior_point import Breakpoints, balanced, dual_value

PASSES = 1e5  # over the rows, of a fit: more than Gram matrices of as many columns as are formed
SWEEPS = 10  # over the rows, between two computations of the gap
FIRST_PROXIMITY, MIN_PROXIMITY = 0.2, 2e-4  # of the intercept, in units of the penalty of a mean row


@dataclass(frozen=True, eq=False)
class _Table:
    """The centred rows, their squared norms, and the breakpoints of their losses."""

    X: sp.csr_array
    squares: Floats
    breakpoints: Breakpoints


@dataclass(kw_only=True)
class DualDescentState(State):
    """With the dual variables, the coefficients that follow from them, and how the intercept is held."""

    table: _Table
    dual: Floats
    coef: Floats
    intercept: float
    proximity: float  # weight of the squared distance of the intercept from its last value
    rounds: int = 0
    factor: float = 0.5  # by which the proximity changes where a round is slow
    contraction: float = np.inf  # of the residual in the last round

    @property
    def details(self) -> Details:
        return Details(dual=self.dual)


@dataclass(frozen=True)
class DualDescent(Solver[DualDescentState]):
    """Each row's slope in turn to its best value, the coefficients kept up to date; for the penalty ‖w‖².

    A sweep costs the non-zeros of X. The intercept, which is not penalised, is kept near its last value only, and
    that value follows it (proximal point), so that the limit is the true optimum.
    """

    random_state: int = 0
    name: ClassVar[str] = "dual coordinate descent"
    unit: ClassVar[str] = "rounds of ten sweeps"

    def supports(self, problem: Problem) -> bool:
        """A piecewise-linear loss and a multiple of ‖w‖²."""
        return problem.loss.piecewise_linear and is_ridge(problem)

    def cost(self, problem: Problem) -> float:
        """Many sweeps over the rows; a hundred times as many passes where the features are made anew."""
        return (PASSES if problem.rows.basis is None else 100.0 * PASSES) * pass_cost(problem)

    def reason(self, problem: Problem) -> str:
        name = type(problem.loss).__name__
        return f"{name} is piecewise linear, with {problem.p} columns: one row's dual variable at a time"

    def init(self, problem: Problem, start: Floats | None) -> DualDescentState:
        breakpoints = Breakpoints.of(problem)
        X = _centred(problem, problem.rows.collect().X)
        squares = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
        table = _Table(X, squares, breakpoints)
        s = np.clip(np.zeros(problem.rows.n), breakpoints.low, breakpoints.high)
        intercept = float(start[0, problem.d]) if problem.intercept and start is not None else 0.0
        proximity = _proximity(problem, table, FIRST_PROXIMITY)
        return self._state(problem, table, s, np.zeros(problem.d), intercept, proximity)

    def step(self, problem: Problem, state: DualDescentState) -> DualDescentState:
        table, breakpoints = state.table, state.table.breakpoints
        s, coef = state.dual.copy(), state.coef.copy()
        order = np.random.default_rng((self.random_state, state.rounds)).permutation(len(s)).astype(np.int64)
        intercept = sweep_rows(
            table.X.data, table.X.indices, table.X.indptr, table.squares,
            breakpoints.at, breakpoints.low, breakpoints.high, breakpoints.weights, s, coef,
            state.intercept, 1.0 / (2.0 * strength(problem)),
            1.0 / (2.0 * state.proximity) if problem.intercept else 0.0, order, SWEEPS,
        )  # fmt: skip
        after = self._state(problem, table, s, coef, float(intercept), state.proximity)
        contraction = after.residual / max(state.residual, 1e-300)
        factor = state.factor
        if contraction > 0.5:  # slow: the proximity is changed, the other way where that made it worse
            factor = factor if contraction <= state.contraction else 1.0 / factor
            low = _proximity(problem, table, MIN_PROXIMITY)
            after.proximity = float(np.clip(factor * state.proximity, low, 1000.0 * low))
        return replace(after, rounds=state.rounds + 1, factor=factor, contraction=contraction)

    def finish(self, problem: Problem, state: DualDescentState) -> DualDescentState:
        """Slopes that satisfy the equation of the intercept exactly."""
        if not problem.intercept:
            return state
        return replace(state, dual=balanced(state.table.breakpoints, state.dual, problem.rows.n))

    @staticmethod
    def _state(
        problem: Problem, table: _Table, s: Floats, coef: Floats, intercept: float, proximity: float
    ) -> DualDescentState:
        theta = np.append(coef * problem.scale, intercept)[None, : problem.p]
        value = problem.value(theta)
        gap = (value - dual_value(problem, table.breakpoints, s)) / max(abs(value), problem.least_value)
        return DualDescentState(
            theta, value, gap, table=table, dual=s, coef=coef, intercept=intercept, proximity=proximity
        )


def _proximity(problem: Problem, table: _Table, share: float) -> float:
    return share * strength(problem) * max(float(table.squares.mean()), 1e-300)


def _centred(problem: Problem, X: Any) -> Any:
    """The rows in their own units about their centre: the intercept is then nearly independent of the coefficients."""
    if not sp.issparse(X):
        return sp.csr_array(np.asarray(X, dtype=np.float64) - problem.center)
    X = sp.csr_array(X, dtype=np.float64)
    if not problem.center.any():
        return X
    return sp.csr_array(X - sp.csr_array(np.ones((X.shape[0], 1))) @ sp.csr_array(problem.center[None, :]))


def strength(problem: Problem) -> float:
    """What ‖w‖² is multiplied by, in the units of the data."""
    assert problem.parts is not None
    return problem.alpha * float(problem.parts.square[0])


@njit(cache=True, nogil=True)
def sweep_rows(
    data: Any, indices: Any, indptr: Any, squares: Any, at: Any, low: Any, high: Any, share: Any, s: Any, coef: Any,
    center: float, unit: float, free: float, order: Any, sweeps: int,
) -> Any:  # fmt: skip  # pragma: no cover - compiled
    """Sweeps over the rows; coef = −unit Σ share s x and intercept = center − free Σ share s."""
    n = len(s)
    total = 0.0
    for i in range(n):
        total += share[i] * s[i]
    intercept = center - free * total
    for _ in range(sweeps):
        largest = 0.0
        for position in range(n):
            i = order[position]
            if share[i] <= 0.0:
                continue
            f = intercept
            for q in range(indptr[i], indptr[i + 1]):
                f += coef[indices[q]] * data[q]
            curvature = share[i] * (squares[i] * unit + free)
            if curvature <= 0.0:
                continue
            new = min(max(s[i] + (f - at[i]) / curvature, low[i]), high[i])
            change = new - s[i]
            if change != 0.0:
                s[i] = new
                step = -unit * share[i] * change
                for q in range(indptr[i], indptr[i + 1]):
                    coef[indices[q]] += step * data[q]
                total += share[i] * change
                intercept = center - free * total
                if abs(change) > largest:
                    largest = abs(change)
        if largest < 1e-12:
            break
    return intercept
