"""Piecewise-linear losses and absolute penalties as a linear programme, solved by HiGHS: exact, with exact zeros."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.solvers.base import Details, Solver, State, pass_cost
from gramian.solvers.duality import duality_gap
from gramian.solvers.nonsmooth.interior_point import Breakpoints
from gramian.solvers.row_products import RowProducts

MAX_CELLS = 300_000  # numbers in a table that a linear programme is handed
MAX_BOUNDED_CELLS = 100 * MAX_CELLS  # the same where coefficients have bounds
FACTORISATIONS = 10  # in passes over the rows


@dataclass(kw_only=True)
class LinearProgrammeState(State):
    """With the dual variables of the rows, once the programme is solved."""

    dual: Floats | None = None

    @property
    def details(self) -> Details:
        return Details(dual=self.dual)


@dataclass(frozen=True)
class LinearProgramme(Solver[LinearProgrammeState]):
    """min Σ weights (high · above − low · below) + Σ l1 |c| subject to Zθ − above + below = at, by SciPy's HiGHS.

    One step; for tables of up to some 100,000 numbers. Bounds of the coefficients are bounds of the programme.
    """

    name: ClassVar[str] = "linear programme (HiGHS)"
    unit: ClassVar[str] = "programmes"

    def supports(self, problem: Problem) -> bool:
        """A piecewise-linear loss; absolute values and bounds."""
        p = problem.parts
        return problem.loss.piecewise_linear and p is not None and not p.groups and not problem.square.any()

    def cost(self, problem: Problem) -> float:
        """Some passes, as long as the table is small; bounds are otherwise for the general method alone."""
        assert problem.parts is not None
        limit = MAX_BOUNDED_CELLS if problem.parts.bounded else MAX_CELLS
        return FACTORISATIONS * pass_cost(problem) if problem.rows.n * problem.p <= limit else np.inf

    def reason(self, problem: Problem) -> str:
        assert problem.parts is not None
        name = type(problem.loss).__name__
        if problem.parts.bounded:
            return f"{name} within bounds is a linear programme"
        return f"{name} with absolute values is a linear programme, small enough to be solved exactly"

    def init(self, problem: Problem, start: Floats | None) -> LinearProgrammeState:
        theta = problem.zero() if start is None else start
        return LinearProgrammeState(theta, problem.value(theta), np.inf)

    def step(self, problem: Problem, state: LinearProgrammeState) -> LinearProgrammeState:
        breakpoints = Breakpoints.of(problem)
        n, d, p = problem.rows.n, problem.d, problem.p
        columns = breakpoints.at, breakpoints.low, breakpoints.high, breakpoints.weights
        at, low, high, weights = (part[:n] for part in columns)
        block = problem.rows.collect()
        Z = np.concatenate([problem.standard(part) for part, _, _ in problem.panels(block)])
        split = problem.l1 > 0  # θ and its absolute value, where that is penalised: two non-negative parts
        index = np.flatnonzero(split)
        eye = sp.eye_array(n)
        A = sp.hstack([sp.csr_array(Z), -sp.csr_array(Z[:, index]), -eye, eye]).tocsc()
        cost = np.concatenate(
            [np.append(problem.l1, np.zeros(p - d)), problem.l1[index], weights * high, -weights * low]
        )
        bounds = np.zeros((len(cost), 2))
        bounds[:, 1] = np.inf
        bounds[:d, 0] = np.where(split, np.maximum(problem.low, 0.0), problem.low)
        bounds[:d, 1] = np.where(split, np.maximum(problem.high, 0.0), problem.high)
        bounds[d:p, 0] = -np.inf
        bounds[p : p + len(index), 0] = np.maximum(-problem.high[index], 0.0)
        bounds[p : p + len(index), 1] = np.maximum(-problem.low[index], 0.0)
        exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        programme = linprog(cost, A_eq=A, b_eq=at, bounds=bounds, method="highs", options=exact)
        if programme.x is None:
            return LinearProgrammeState(state.theta, state.value, np.inf, stalled=True)
        theta = programme.x[:p].copy()
        theta[index] -= programme.x[p : p + len(index)]
        theta[:d] = np.clip(theta[:d], problem.low, problem.high)  # HiGHS keeps bounds to a tolerance
        value = problem.value(theta[None, :])
        s = np.clip(-np.asarray(programme.eqlin.marginals) / np.where(weights > 0, weights, 1.0), low, high)
        gap = duality_gap(problem, RowProducts(problem), theta[None, :], s[:, None])
        residual = gap.relative(max(abs(value), problem.least_value))
        return LinearProgrammeState(theta[None, :], value, residual, stalled=True, dual=s)
