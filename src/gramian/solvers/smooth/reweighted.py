"""Iteratively reweighted least squares: a weighted quadratic above the loss, minimised in turn."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from gramian._core.types import Floats
from gramian.objective.losses.regression import Power, StudentT
from gramian.objective.problem import ROUNDED, Point, Problem, Sums, least_scale
from gramian.rows import Block
from gramian.solvers.base import MAX_DENSE_HESSIAN_COLUMNS, Choose, Details, Solver, State, pass_cost
from gramian.solvers.smooth.newton import MAX_HALVINGS, ROUNDING, SUFFICIENT_DECREASE, newton_direction
from gramian.solvers.smooth.proximal_newton import model_step

SLOW_DECREASE = 1e-9  # of the objective: hardly one
PATIENCE = 30  # slow steps in a row that are a stall


class _Scaled(Sums):
    """Sums with what the scale is estimated from: Σ w u, Σ w u r²."""

    def __init__(self, sums: Sums, mass: float, squares: float) -> None:
        super().__init__(sums.value, sums.size, sums.gradient, sums.hessian)
        self.mass, self.squares = mass, squares

    def _absorb(self, other: Any) -> "_Scaled":
        super()._absorb(other)
        self.mass += other.mass
        self.squares += other.squares
        return self


@dataclass(kw_only=True)
class ReweightedState(State):
    """With the sums that the next scale follows from: Σ w u, Σ w u r²."""

    point: Point
    mass: float
    squares: float

    @property
    def details(self) -> Details:
        return Details(point=self.point)


@dataclass(frozen=True)
class Reweighted(Solver[ReweightedState]):
    """Each row gets the weight of the parabola that touches its loss from above; the weighted least squares is solved.

    For Student's t (with its scale, estimated by the expectation-maximisation that expands parameters: monotone). One
    pass of O(n p²) an iteration.
    """

    min_scale: float = 0.0
    name: ClassVar[str] = "reweighted least squares"
    unit: ClassVar[str] = "reweightings"

    def supports(self, problem: Problem) -> bool:
        """Student's t; any penalty with known parts."""
        return problem.loss.weighted_least_squares and problem.parts is not None

    @classmethod
    def for_problem(cls, problem: Problem, choose: Choose) -> "Reweighted":
        return cls(1e-4 * least_scale(problem))

    def cost(self, problem: Problem) -> float:
        """A weighted Gram matrix of n p² multiplications a step."""
        return pass_cost(problem) * problem.p if problem.p <= MAX_DENSE_HESSIAN_COLUMNS else np.inf

    def reason(self, problem: Problem) -> str:
        return "each row's weight makes a parabola above Student's t: the likelihood only grows"

    @classmethod
    def alternative(cls, problem: Problem) -> str:
        large = problem.loss.weighted_least_squares and problem.p > MAX_DENSE_HESSIAN_COLUMNS
        return f"at most {MAX_DENSE_HESSIAN_COLUMNS} columns, or the Huber loss" if large else ""

    def init(self, problem: Problem, start: Floats | None) -> ReweightedState:
        loss = cast(StudentT, problem.loss)
        theta = problem.zero() if start is None else start
        scale = loss.scale
        if scale is None:
            spread = problem.rows.sum(lambda block: self._absolute(problem, block, theta)) / problem.columns.weight
            scale = max(spread, self.min_scale, 1e-300)
        return self._state(problem, theta, scale)

    @staticmethod
    def _absolute(problem: Problem, block: Block, theta: Floats) -> float:
        total = 0.0
        for part, y, w in problem.panels(block):
            off = np.abs(y - problem.predictions(part, theta)[:, 0])
            total += float(off.sum() if w is None else w @ off)
        return total

    def _state(self, problem: Problem, theta: Floats, scale: float) -> ReweightedState:
        loss = cast(StudentT, problem.loss)
        fixed = loss.at(scale)

        def of_block(block: Block) -> _Scaled:
            total: _Scaled | None = None
            for part, y, w in problem.panels(block):
                f = problem.predictions(part, theta)[:, 0]
                value, g, u = fixed.value(y, f), fixed.gradient(y, f), fixed.weight(y, f)
                if w is not None:
                    value, g, u = value * w, g * w, u * w
                gradient = problem.gradient_sums(part, g[:, None]).reshape(-1)
                sums = Sums(float(value.sum()), float(np.abs(g).sum()), gradient, problem.weighted_gram(part, u))
                scaled = _Scaled(sums, float(u.sum()), float(u @ (y - f) ** 2))
                total = scaled if total is None else total._absorb(scaled)
            assert total is not None
            return total

        sums = problem.rows.sum(of_block)
        mass, squares = sums.mass, sums.squares
        point = problem.point(theta, sums)
        residual = problem.residual(point, ROUNDED * problem.reach / scale**2)
        if loss.scale is None:
            # ∂ value / ∂ log scale = 1 − Σ w u r² / Σ w
            residual = max(residual, abs(1.0 - squares / problem.columns.weight) if scale > self.min_scale else 0.0)
        return ReweightedState(theta, point.value, residual, scale=scale, point=point, mass=mass, squares=squares)

    def step(self, problem: Problem, state: ReweightedState) -> ReweightedState:
        loss = cast(StudentT, problem.loss)
        assert state.scale is not None
        point, scale = state.point, state.scale
        if loss.scale is None:
            scale = max(float(np.sqrt(state.squares / state.mass)), self.min_scale)
        direction = step_of(problem, point)
        after = self._state(problem, point.theta + direction, scale)
        if after.value > state.value + ROUNDING * 100 * abs(state.value):
            after = self._state(problem, point.theta + direction, state.scale)  # the coefficients first, then the scale
        after.stalled = after.value >= state.value - ROUNDING * abs(state.value) and after.residual >= state.residual
        return after


def step_of(problem: Problem, point: Point) -> Floats:
    """The minimum of the quadratic model, with the nonsmooth part of the penalty where there is one."""
    assert problem.parts is not None
    if problem.parts.smooth:
        return newton_direction(point)[0]
    step = model_step(problem, point.hessian, point.gradient.reshape(-1), point.theta.reshape(-1), 1e-12 * point.size)
    return step.reshape(point.theta.shape)


@dataclass(kw_only=True)
class PowerNewtonState(State):
    """With the step that comes next, and the slope along it."""

    point: Point
    direction: Floats
    slope: float
    slow_steps: int = 0  # in a row

    @property
    def details(self) -> Details:
        return Details(point=self.point)


@dataclass(frozen=True)
class PowerNewton(Solver[PowerNewtonState]):
    """Newton's method for |y − f|ᵖ, whose curvature is kept finite where a row is met exactly.

    The step is that of reweighted least squares over p − 1; the objective falls at every step. The residual is the
    decrease that the model still expects, over the objective: at p below 2 a gradient says little near a breakpoint.
    """

    name: ClassVar[str] = "reweighted Newton"
    unit: ClassVar[str] = "Newton steps"

    def done(self, state: PowerNewtonState, tol: float) -> bool:
        """A decrease is the square of a distance: it must be far below the tolerance of one."""
        return state.residual <= min(tol, 1e-14) or state.stalled

    def supports(self, problem: Problem) -> bool:
        """A power above 1; any penalty with known parts."""
        return problem.loss.power and problem.loss.smooth and problem.parts is not None

    def cost(self, problem: Problem) -> float:
        """A weighted Gram matrix of n p² multiplications a step."""
        return pass_cost(problem) * problem.p if problem.p <= MAX_DENSE_HESSIAN_COLUMNS else np.inf

    def reason(self, problem: Problem) -> str:
        return "a power of the residual has a gradient"

    def init(self, problem: Problem, start: Floats | None) -> PowerNewtonState:
        return self._state(problem, problem.zero() if start is None else start)

    def _state(self, problem: Problem, theta: Floats) -> PowerNewtonState:
        loss = cast(Power, problem.loss)
        min_distance = least_scale(problem)

        def of_block(block: Block) -> Sums:
            total: Sums | None = None
            for part, y, w in problem.panels(block):
                f = problem.predictions(part, theta)[:, 0]
                value, g = loss.value(y, f), loss.gradient(y, f)
                off = np.maximum(np.abs(y - f), min_distance)
                h = loss.p * (loss.p - 1.0) * off ** (loss.p - 2.0)
                if w is not None:
                    value, g, h = value * w, g * w, h * w
                gradient = problem.gradient_sums(part, g[:, None]).reshape(-1)
                sums = Sums(float(value.sum()), float(np.abs(g).sum()), gradient, problem.weighted_gram(part, h))
                total = sums if total is None else total._absorb(sums)
            assert total is not None
            return total

        point = problem.point(theta, problem.rows.sum(of_block))
        direction = step_of(problem, point)
        penalty_change = problem.nonsmooth_penalty(theta + direction) - problem.nonsmooth_penalty(theta)
        slope = float((point.gradient * direction).sum()) + penalty_change
        residual = max(-slope, 0.0) / 2.0 / max(abs(point.value), problem.least_value)
        return PowerNewtonState(theta, point.value, residual, point=point, direction=direction, slope=slope)

    def step(self, problem: Problem, state: PowerNewtonState) -> PowerNewtonState:
        direction, slope = state.direction, state.slope
        length = 1.0
        for _ in range(MAX_HALVINGS):
            theta = state.theta + length * direction
            if problem.value(theta) <= state.value + SUFFICIENT_DECREASE * length * slope:
                after = self._state(problem, theta)
                if state.value - after.value <= SLOW_DECREASE * max(abs(state.value), problem.least_value):
                    after.slow_steps = state.slow_steps + 1
                    after.stalled = after.slow_steps >= PATIENCE
                return after
            if -slope * length <= ROUNDING * max(abs(state.value), problem.least_value):
                break
            length *= 0.5
        return replace(state, stalled=True)
