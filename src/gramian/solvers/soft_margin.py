"""The hinge of all classes, by smooth losses that come ever closer to it, with an exact duality gap."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian.objective.label_losses import Hinge, MultiHinge, RootHinge, SoftMargin
from gramian.rows import Block
from gramian.solvers.interior import InteriorPoint, unmet
from gramian.solvers.iterate import Method, State, run
from gramian.solvers.newton import Newton
from gramian.solvers.newton_cg import NewtonCG
from gramian.solvers.primal_dual import PrimalDual, penalty_value
from gramian.solvers.problem import Problem
from gramian.solvers.row_products import RowProducts

Floats = NDArray[np.float64]
COOLING = 4.0
SMALL = 400  # numbers in θ up to which the Hessian is formed


@dataclass(frozen=True)
class Smoothing(Method):
    """Newton's method on the soft maximum at a temperature that falls fourfold a step, each from the last.

    The probabilities of the soft maximum are a point of the dual, so the gap is known at each temperature μ; it is at
    most about μ log k.
    """

    name: ClassVar[str] = "smoothed Newton"
    unit: ClassVar[str] = "temperatures"
    least_tol: ClassVar[float] = 1e-6  # a gap below it asks for temperatures at which rounding decides

    def can(self, problem: Problem) -> bool:
        """The hinge of all classes and a quadratic penalty."""
        p = problem.parts
        return isinstance(problem.loss, MultiHinge) and p is not None and p.smooth and bool(problem.square.any())

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        return State(theta, problem.value(theta), np.inf, more={"temperature": COOLING, "gap": np.inf})

    def step(self, problem: Problem, state: State) -> State:
        found = self._cooled(problem, state.theta, state.more["temperature"] / COOLING)
        found.stuck = found.more["temperature"] < 1e-11
        best: State = state.more.get("best", state)
        found.more["best"] = found if found.measure <= best.measure else best
        return replace(found.more["best"], stuck=True) if found.stuck else found

    def _cooled(self, problem: Problem, theta: Floats, temperature: float) -> State:
        loss = problem.loss
        assert isinstance(loss, MultiHinge)
        smooth = problem.with_loss(SoftMargin(temperature, loss.margin))
        method: Method = Newton() if problem.m * problem.p <= SMALL else NewtonCG()
        inner = run(method, smooth, theta, max_iter=200, tol=1e-13, inner=True)
        value, gap = self._gap(problem, smooth, inner.theta)
        more = {"temperature": temperature, "gap": gap}
        return State(inner.theta, value, gap / max(abs(value), problem.least_value), more=more)

    @staticmethod
    def _gap(problem: Problem, smooth: Problem, theta: Floats) -> tuple[float, float]:
        """The objective, and how far it may be above the optimum: slopes u = p − e_y are feasible in the dual."""
        loss = problem.loss

        def of_block(block: Block) -> Any:
            total = np.zeros(problem.m * problem.p + 2)
            for part, y, w in problem.panels(block):
                f = problem.predictions(part, theta)
                u = smooth.loss.gradient(y, f)
                value = loss.value(y, f)
                young = value + loss.conjugate(y, u) - (u * f).sum(axis=1)
                weight = np.ones(len(y)) if w is None else w
                total[0] += weight @ value
                total[1] += weight @ young
                total[2:] += problem.pull(part, u * weight[:, None]).reshape(-1)
            return total

        total = problem.rows.sum(of_block) / problem.columns.weight
        gap = float(total[1]) + unmet(problem, theta, total[2:].reshape(problem.m, problem.p))
        return float(total[0]) + problem.quadratic(theta)[0], gap


@dataclass(frozen=True)
class RootDescent(Method):
    """The square root of the hinge: a hinge whose rows are weighted by the slope of the root, solved in turn.

    The root is concave in the hinge, so each weighted hinge lies above it and the objective falls. The minimum found is
    a local one.
    """

    nearness: float = 1e-3  # added under the root, whose slope is infinite at the margin
    name: ClassVar[str] = "reweighted hinge"
    unit: ClassVar[str] = "reweightings"

    def can(self, problem: Problem) -> bool:
        """The root of the hinge and any penalty."""
        return isinstance(problem.loss, RootHinge)

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        return State(theta, problem.value(theta), np.inf, more={"near": 1.0})

    def step(self, problem: Problem, state: State) -> State:
        near = state.more["near"]
        hinge = problem.with_loss(Hinge())
        roots = np.sqrt(_hinges(hinge, state.theta) + near)
        weight = 0.5 / roots
        method: Method = InteriorPoint(weight) if InteriorPoint().can(hinge) else PrimalDual(weight)
        inner = run(method, hinge, state.theta, max_iter=100, tol=1e-9, inner=True)
        share = RowProducts(problem).share
        before = float(share @ roots) + penalty_value(problem, state.theta)
        after = float(share @ np.sqrt(_hinges(hinge, inner.theta) + near)) + penalty_value(problem, inner.theta)
        rises = not after <= before + 1e-8 * abs(before)  # of a subproblem that was not solved: θ stays
        theta = state.theta if rises else inner.theta
        drop = np.inf if rises else max(before - after, 0.0) / max(abs(after), 1e-300)
        last = near <= self.nearness
        more = {"near": max(near / 4.0, self.nearness), "measure": "decrease in the last reweighting"}
        stuck = last and (rises or drop < 1e-9)
        return State(theta, problem.value(theta), drop if last else np.inf, stuck, more=more)


def _hinges(problem: Problem, theta: Floats) -> Floats:
    def of_block(block: Block) -> list[Floats]:
        return [problem.loss.value(y, problem.predictions(part, theta)[:, 0]) for part, y, _ in problem.panels(block)]

    return np.concatenate(problem.rows.sum(of_block))
