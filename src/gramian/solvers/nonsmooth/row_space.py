"""Interior point in the row space, for hinge and other piecewise-linear losses with n < d."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem, is_ridge
from gramian.solvers.base import INTERIOR_POINT_STEPS, MAX_DENSE_HESSIAN_COLUMNS, Details, Solver, State, pass_cost, run
from gramian.solvers.least_squares.row_space import RowSpace, project_to_row_space
from gramian.solvers.nonsmooth.interior_point import MAX_NARROW_COLUMNS, Breakpoints, InteriorPoint, dual_value
from gramian.solvers.nonsmooth.joint_hinge import JointInteriorPoint, value_and_gap


@dataclass(kw_only=True)
class RowSpaceState(State):
    """With the dual variables of the rows, once the problem is solved."""

    dual: Floats | None = None

    @property
    def details(self) -> Details:
        return Details(dual=self.dual, criterion="duality gap")


@dataclass(frozen=True)
class RowSpaceInteriorPoint(Solver[RowSpaceState]):
    """With the penalty ‖w‖² the optimum lies in the row space: an interior point there, lifted back.

    O(n² d) to rotate the rows and O(n³) a step of the interior point, for n < d.
    """

    name: ClassVar[str] = "interior point in the row space"
    unit: ClassVar[str] = "projections"

    def supports(self, problem: Problem) -> bool:
        """A piecewise-linear loss or the multi-class hinge, and a multiple of ‖w‖²."""
        return (problem.loss.piecewise_linear or problem.loss.class_hinge) and is_ridge(problem)

    def cost(self, problem: Problem) -> float:
        """A Gram matrix of n columns a step, where the rows are fewer than the columns."""
        n, m = problem.rows.n, problem.m
        fewer = n <= min(problem.d, MAX_DENSE_HESSIAN_COLUMNS)
        narrow = problem.loss.piecewise_linear and problem.p <= MAX_NARROW_COLUMNS
        return np.inf if narrow or not fewer else INTERIOR_POINT_STEPS * pass_cost(problem) * n * m

    def reason(self, problem: Problem) -> str:
        name = type(problem.loss).__name__
        return f"{name} with {problem.rows.n} rows and {problem.d} columns: the optimum is in the span of the rows"

    def init(self, problem: Problem, start: Floats | None) -> RowSpaceState:
        theta = problem.zero() if start is None else start
        return RowSpaceState(theta, problem.value(theta), np.inf)

    def step(self, problem: Problem, state: RowSpaceState) -> RowSpaceState:
        space = project_to_row_space(problem.rows, intercept=problem.intercept)
        projected = problem.on(space.rows)
        if problem.loss.class_hinge:
            joint = run(JointInteriorPoint(), projected, max_iter=100, tol=1e-10, inner=True)
            theta = self._lifted(problem, projected, space, joint.theta)
            value, gap = value_and_gap(problem, theta, joint.state.p)
            return RowSpaceState(theta, value, gap / max(abs(value), problem.least_value), stalled=True)
        inner = run(InteriorPoint(), projected, max_iter=100, tol=1e-10, inner=True)
        theta, dual = self._lifted(problem, projected, space, inner.theta), inner.state.dual
        value = problem.value(theta)
        gap = value - dual_value(problem, Breakpoints.of(problem), dual)
        return RowSpaceState(theta, value, gap / max(abs(value), problem.least_value), stalled=True, dual=dual)

    @staticmethod
    def _lifted(problem: Problem, projected: Problem, space: RowSpace, theta: Floats) -> Floats:
        """θ of the problem from that in the row space."""
        coef, intercept = projected.to_original(theta)
        coef = space.lift(coef)
        return problem.to_standardized(coef, space.intercepts(coef[None], intercept[None])[0])
