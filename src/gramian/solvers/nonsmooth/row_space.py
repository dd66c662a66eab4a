"""Losses with a kink on few rows and many columns: the rows turned into as many columns as there are rows."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.losses.base import PiecewiseLinear
from gramian.objective.losses.classification import MultiHinge
from gramian.objective.problem import Problem, is_ridge
from gramian.solvers.base import Solver, State, run
from gramian.solvers.least_squares.row_space import project_to_row_space
from gramian.solvers.nonsmooth.interior_point import InteriorPoint, Kinks, dual_value
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
        return isinstance(problem.loss, PiecewiseLinear | MultiHinge) and is_ridge(problem)

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        return State(theta, problem.value(theta), np.inf)

    def step(self, problem: Problem, state: State) -> State:
        space = project_to_row_space(problem.rows, intercept=problem.intercept)
        inside = Problem(
            space.rows, problem.loss, problem.penalty, problem.alpha, intercept=problem.intercept, outputs=problem.m
        )
        method = JointInteriorPoint() if isinstance(problem.loss, MultiHinge) else InteriorPoint()
        inner = run(method, inside, max_iter=100, tol=1e-10, inner=True)
        coef, intercept = inside.to_original(inner.theta)
        coef = space.lift(coef)
        theta = problem.to_standardized(coef, space.intercepts(coef[None], intercept[None])[0])
        if isinstance(problem.loss, MultiHinge):
            return replace(JointInteriorPoint().at(problem, theta, inner.more["p"]), stalled=True)
        kinks = Kinks.of(problem)
        value = problem.value(theta)
        gap = value - dual_value(problem, kinks, inner.more["slopes"])
        more = {"kinks": kinks, "slopes": inner.more["slopes"], "gap": gap}
        more |= {"free": inner.more["free"]} if "free" in inner.more else {}
        return State(theta, value, gap / max(abs(value), problem.least_value), stalled=True, more=more)
