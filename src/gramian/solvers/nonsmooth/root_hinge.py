"""The square root of the hinge, by weighted hinges; a concave penalty by weighted L1 norms in the same steps."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.losses.classification import Hinge
from gramian.objective.problem import Problem
from gramian.rows import Block
from gramian.solvers.base import INTERIOR_POINT_STEPS, AnySolver, Details, Solver, State, pass_cost, run
from gramian.solvers.nonsmooth.interior_point import InteriorPoint
from gramian.solvers.nonsmooth.primal_dual import PrimalDual, penalty_value
from gramian.solvers.row_products import RowProducts
from gramian.solvers.sparse.local_linear import is_concave, majorizer


@dataclass(kw_only=True)
class RootDescentState(State):
    """With what is added under the root."""

    offset: float

    @property
    def details(self) -> Details:
        return Details(criterion="decrease in the last reweighting")


@dataclass(frozen=True)
class RootDescent(Solver[RootDescentState]):
    """The square root of the hinge: a hinge whose rows are weighted by the slope of the root, solved in turn.

    The root is concave in the hinge, so each weighted hinge lies above it and the objective falls. A penalty that is
    concave in every |w| is replaced in the same step by the weighted L1 norm that touches it. The minimum found is a
    local one.
    """

    min_offset: float = 1e-3  # added under the root, whose slope is infinite at the margin
    name: ClassVar[str] = "reweighted hinge"
    unit: ClassVar[str] = "reweightings"

    def supports(self, problem: Problem) -> bool:
        """The root of the hinge and any penalty."""
        return problem.loss.weighted_hinge

    def cost(self, problem: Problem) -> float:
        """Some interior points."""
        return INTERIOR_POINT_STEPS * pass_cost(problem) * problem.p

    def reason(self, problem: Problem) -> str:
        return "the root is concave in the hinge: a weighted hinge lies above it"

    def init(self, problem: Problem, start: Floats | None) -> RootDescentState:
        theta = problem.zero() if start is None else start
        return RootDescentState(theta, problem.value(theta), np.inf, offset=1.0)

    def step(self, problem: Problem, state: RootDescentState) -> RootDescentState:
        offset = state.offset
        hinge = problem.with_loss(Hinge())
        above, start = majorizer(hinge, state.theta) if is_concave(problem) else (hinge, state.theta)
        roots = np.sqrt(_hinges(hinge, state.theta) + offset)
        weight = 0.5 / roots
        method: AnySolver = InteriorPoint(weight) if InteriorPoint().supports(above) else PrimalDual(weight)
        inner = run(method, above, start, max_iter=100, tol=1e-9, inner=True)
        end = inner.theta if above is hinge else problem.to_standardized(*above.to_original(inner.theta))
        share = RowProducts(problem).share
        before = float(share @ roots) + penalty_value(problem, state.theta)
        after = float(share @ np.sqrt(_hinges(hinge, end) + offset)) + penalty_value(problem, end)
        rises = not after <= before + 1e-8 * abs(before)  # of a subproblem that was not solved: θ stays
        theta = state.theta if rises else end
        drop = np.inf if rises else max(before - after, 0.0) / max(abs(after), 1e-300)
        last = offset <= self.min_offset
        stalled = last and (rises or drop < 1e-9)
        offset = max(offset / 4.0, self.min_offset)
        return RootDescentState(theta, problem.value(theta), drop if last else np.inf, stalled, offset=offset)


def _hinges(problem: Problem, theta: Floats) -> Floats:
    def of_block(block: Block) -> list[Floats]:
        return [problem.loss.value(y, problem.predictions(part, theta)[:, 0]) for part, y, _ in problem.panels(block)]

    return np.concatenate(problem.rows.sum(of_block))
