"""Losses with a kink on few rows and many columns: the rows turned into as many columns as there are rows."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem, is_ridge
from gramian.solvers.base import INTERIOR_POINT_STEPS, MAX_DENSE_HESSIAN_COLUMNS, Solver, State, pass_cost, run
from gramian.solvers.least_squares.row_space import project_to_row_space
from gramian.solvers.nonsmooth.interior_point import MAX_NARROW_COLUMNS, InteriorPoint, Kinks, dual_value
from gramian.solvers.nonsmooth.joint_hinge import JointInteriorPoint


@dataclass(frozen=True)
class RowSpaceInteriorPoint(Solver):
    """With the penalty ‖w‖² the optimum lies in the span of the rows: an interior point there, turned back.

    O(n² d) to turn the rows and O(n³) a step of the interior point, for n < d.
    """

    name: ClassVar[str] = "interior point in the span of the rows"
    unit: ClassVar[str] = "turns"

    def supports(self, problem: Problem) -> bool:
        """A loss with a kink and a multiple of ‖w‖², rows in memory."""
        return (problem.loss.piecewise_linear or problem.loss.class_hinge) and is_ridge(problem)

    def cost(self, problem: Problem) -> float:
        """A Gram matrix of n columns a step, where the rows are fewer than the columns."""
        n, m = problem.rows.n, problem.m
        fewer = n <= min(problem.d, MAX_DENSE_HESSIAN_COLUMNS)
        narrow = problem.loss.piecewise_linear and problem.p <= MAX_NARROW_COLUMNS
        return np.inf if narrow or not fewer else INTERIOR_POINT_STEPS * pass_cost(problem) * n * m

    def reason(self, problem: Problem) -> str:
        name = "a hinge of all classes" if problem.loss.class_hinge else f"{type(problem.loss).__name__} has a kink"
        return f"{name}, and {problem.rows.n} rows span what {problem.d} columns do"

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        return State(theta, problem.value(theta), np.inf)

    def step(self, problem: Problem, state: State) -> State:
        space = project_to_row_space(problem.rows, intercept=problem.intercept)
        inside = problem.on(space.rows)
        method = JointInteriorPoint() if problem.loss.class_hinge else InteriorPoint()
        inner = run(method, inside, max_iter=100, tol=1e-10, inner=True)
        coef, intercept = inside.to_original(inner.theta)
        coef = space.lift(coef)
        theta = problem.to_standardized(coef, space.intercepts(coef[None], intercept[None])[0])
        if problem.loss.class_hinge:
            return replace(JointInteriorPoint().at(problem, theta, inner.more["p"]), stalled=True)
        kinks = Kinks.of(problem)
        value = problem.value(theta)
        gap = value - dual_value(problem, kinks, inner.more["slopes"])
        more = {"kinks": kinks, "slopes": inner.more["slopes"], "gap": gap}
        more |= {"free": inner.more["free"]} if "free" in inner.more else {}
        return State(theta, value, gap / max(abs(value), problem.least_value), stalled=True, more=more)
