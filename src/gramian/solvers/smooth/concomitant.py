"""Huber's loss with its scale: Newton's method on both, which are jointly convex."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from gramian._core.types import Floats
from gramian.objective.losses.regression import Huber
from gramian.objective.problem import ROUNDED, Point, Problem, Sums, least_scale
from gramian.rows import Block
from gramian.solvers.base import (
    LAST_RESORT_PASSES,
    MAX_DENSE_HESSIAN_COLUMNS,
    Choose,
    Details,
    Solver,
    State,
    pass_cost,
    run,
)
from gramian.solvers.nonsmooth.primal_dual import PrimalDual
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.newton import MAX_HALVINGS, ROUNDING, SUFFICIENT_DECREASE, solve_spd
from gramian.solvers.smooth.proximal_newton import model_step

MIN_BRACKET = 1e-10  # width of a bracket, in units of the scale, that holds no root
MIN_SCALE_RATIO = 0.01  # of a scale to the one before
RAISED = 1e-12  # of the diagonal: what rounding leaves of it where the scale is eliminated
MAX_SHRINKAGE = 0.9  # of the scale in a step
PATIENCE = 20  # steps with a nonsmooth penalty that do not halve the residual, before the general method is next
FLAT_SLOPE = 1e-6  # of the largest slope, along directions without curvature: more than rounding


@dataclass(kw_only=True)
class ScaleNewtonState(State):
    """With the derivatives in θ and the scale, and when the residual was last halved."""

    point: Point
    hessian: Floats  # (p + 1, p + 1), of θ and the scale
    steepness: float  # the slope in the scale
    reference: float  # residual at the last halving
    idle_steps: int = 0  # since then

    @property
    def details(self) -> Details:
        return Details(point=self.point)


@dataclass(frozen=True)
class ScaleNewton(Solver[ScaleNewtonState]):
    """Newton on the coefficients and the scale s together: the mean of s + s · huber((y − f) / s), plus the penalty.

    Rows within delta scales of their prediction make the Hessian, (2 / s) Σ z zᵀ with r / s as one more column: one
    pass of O(n p²) an iteration.
    """

    min_scale: float = 0.0
    name: ClassVar[str] = "Newton on coefficients and scale"
    unit: ClassVar[str] = "Newton steps"

    def supports(self, problem: Problem) -> bool:
        """Huber's loss whose scale is to be estimated."""
        return problem.loss.joint_form and problem.loss.estimates_scale and problem.parts is not None

    @classmethod
    def for_problem(cls, problem: Problem, choose: Choose) -> "ScaleNewton":
        return cls(least_scale(problem))

    def cost(self, problem: Problem) -> float:
        """A Hessian of n p² multiplications a step."""
        return pass_cost(problem) * problem.p if problem.p <= MAX_DENSE_HESSIAN_COLUMNS else np.inf

    def reason(self, problem: Problem) -> str:
        return "the coefficients and the scale are jointly convex"

    def init(self, problem: Problem, start: Floats | None) -> ScaleNewtonState:
        theta = problem.zero() if start is None else start
        squares = _sums(problem, theta, 1.0, order=0).squares / problem.columns.weight
        scale = max(float(np.sqrt(squares)), self.min_scale, 1e-300)
        return self._state(problem, theta, scale)

    def _state(self, problem: Problem, theta: Floats, scale: float) -> ScaleNewtonState:
        sums = _sums(problem, theta, scale, order=2)
        weight, p = problem.columns.weight, problem.p
        sums.value += scale * weight
        steepness = 1.0 + sums.gradient[p] / weight
        H = sums.hessian * (2.0 / (scale * weight))
        H[:p, :p] += problem.penalty_hessian
        point = problem.point(theta, Sums(sums.value, sums.size, sums.gradient[:p], None))
        # Residuals of rounding only are nothing: u = r / scale of a millionth of the target.
        residual = max(
            problem.residual(point, ROUNDED * problem.reach / scale), abs(steepness) if scale > self.min_scale else 0.0
        )
        return ScaleNewtonState(
            theta, point.value, residual, scale=scale,
            point=point, hessian=H, steepness=steepness, reference=residual,
        )  # fmt: skip

    def step(self, problem: Problem, state: ScaleNewtonState) -> ScaleNewtonState:
        assert state.scale is not None
        point = state.point
        direction, change, slope = self._direction(problem, state, point)
        length = 1.0 if change >= 0 else min(1.0, MAX_SHRINKAGE * state.scale / -change)
        for _ in range(MAX_HALVINGS):
            scale = max(state.scale + length * change, self.min_scale)
            trial = self._state(problem, problem.within(point.theta + length * direction), scale)
            if trial.value <= state.value + SUFFICIENT_DECREASE * length * slope:
                trial.stalled = trial.value >= state.value and trial.residual >= state.residual
                return _with_patience(problem, state, trial)
            if -slope * length <= 100 * ROUNDING * abs(state.value):
                if trial.residual < state.residual:
                    return trial
                break
            length *= 0.5
        return replace(state, stalled=True)

    def _direction(self, problem: Problem, state: ScaleNewtonState, point: Point) -> tuple[Floats, float, float]:
        """The change of θ and of the scale, and the slope along both; with a nonsmooth penalty the scale is eliminated.

        A scale that is the smallest stays there as long as the objective rises with it.
        """
        assert problem.parts is not None
        H, p = state.hessian, problem.p
        g = np.append(point.gradient[0], state.steepness)
        held = state.scale is not None and state.scale <= self.min_scale and g[p] >= 0
        if held and problem.parts.smooth:
            step = -solve_spd(H[:p, :p], g[:p])
            return step[None], 0.0, float(g[:p] @ step)
        if problem.parts.smooth:
            delta = _along_flat(H, g, -solve_spd(H, g), state.scale)
            return delta[None, :p], float(delta[p]), float(g @ delta)
        step, change = self._proximal_step(problem, state, point, g, held)
        after = problem.within(point.theta + step)
        penalty_change = problem.nonsmooth_penalty(after) - problem.nonsmooth_penalty(point.theta)
        return step, change, float((point.gradient * step).sum()) + penalty_change + float(g[p]) * change

    def _proximal_step(
        self, problem: Problem, state: ScaleNewtonState, point: Point, g: Floats, held: bool
    ) -> tuple[Floats, float]:
        """To the minimum of the quadratic model of θ and the scale, or where the scale comes to its lower end."""
        H, p = state.hessian, problem.p
        tol = max(1e-12, 1e-3 * min(state.residual, 1.0)) * point.size
        lowest = 0.0
        if not held and H[p, p] > 0:  # the model at the scale that is best for each θ
            assert state.scale is not None
            share, steepness = H[p, :p] / H[p, p], float(g[p] / H[p, p])
            A = H[:p, :p] - np.outer(share, H[p, :p]) + np.diag(RAISED * np.diagonal(H)[:p])
            step = model_step(problem, A, g[:p] - steepness * H[p, :p], point.theta[0], tol)
            change = -steepness - float(share @ step)
            lowest = max(self.min_scale - state.scale, -MAX_SHRINKAGE * state.scale)
            if change >= lowest:
                return step[None], change
        step = model_step(problem, H[:p, :p], g[:p] + lowest * H[p, :p], point.theta[0], tol)
        return step[None], lowest


def _with_patience(problem: Problem, before: ScaleNewtonState, state: ScaleNewtonState) -> ScaleNewtonState:
    """The state, stalled where steps with a nonsmooth penalty have not halved the residual for long."""
    assert problem.parts is not None
    if not problem.parts.smooth and not state.residual <= 0.5 * before.reference:
        state.reference, state.idle_steps = before.reference, before.idle_steps + 1
        state.stalled |= before.idle_steps >= PATIENCE
    return state


def _along_flat(H: Floats, g: Floats, delta: Floats, scale: Any) -> Floats:
    """Newton's step; where the model falls along a direction without curvature, also to where the scale is 0.

    The objective is homogeneous about a perfect fit at the scale 0: it is linear on the ray from there.
    """
    rest = g + H @ delta
    if np.abs(rest).max() <= FLAT_SLOPE * np.abs(g).max():
        return delta
    diagonal = np.diagonal(H)
    flat = -rest / np.where(diagonal > 0, diagonal, 1.0)
    reach = -flat[-1] if flat[-1] < 0 else float(np.abs(flat).max())
    return np.asarray(delta + scale / reach * flat)


Bracket = tuple[float, float] | None  # a scale and the slope of the profile objective there


@dataclass(kw_only=True)
class ScaleSearchState(State):
    """With the slope of the profile objective, and the ends of the bracket of its root."""

    rows: RowProducts
    steepness: float
    low: Bracket = None
    high: Bracket = None
    side: float = 0.0  # the end that moved last: the sign of the slope there


@dataclass(frozen=True)
class ScaleSearch(Solver[ScaleSearchState]):
    """The scale by bracketing the root of the slope of the profile objective, the coefficients by the general method.

    The least objective over the coefficients is convex in the scale s, and its slope is 1 − mean of min(u², delta²) at
    the coefficients that are best at s. At a given scale the problem is Huber's with that scale and alpha / s.
    """

    min_scale: float = 0.0
    name: ClassVar[str] = "primal-dual over the scale"
    unit: ClassVar[str] = "scales"
    last_resort: ClassVar[bool] = True

    def supports(self, problem: Problem) -> bool:
        """Huber's loss whose scale is to be estimated, with any convex penalty."""
        return problem.loss.joint_form and problem.loss.estimates_scale

    @classmethod
    def for_problem(cls, problem: Problem, choose: Choose) -> "ScaleSearch":
        return cls(least_scale(problem))

    def cost(self, problem: Problem) -> float:
        """A fit by the general method for each scale."""
        return LAST_RESORT_PASSES * pass_cost(problem) if problem.penalty.convex else np.inf

    def reason(self, problem: Problem) -> str:
        loss, penalty = type(problem.loss).__name__, type(problem.penalty).__name__
        return f"{loss} and {penalty}: convex in the coefficients and in the scale"

    def init(self, problem: Problem, start: Floats | None) -> ScaleSearchState:
        theta = problem.zero() if start is None else start
        rows = RowProducts(problem)
        spread = float(np.sqrt(rows.share @ (rows.y - rows.predictions(theta)[:, 0]) ** 2))
        return self._state(problem, rows, theta, max(spread, self.min_scale, 1e-300))

    def step(self, problem: Problem, state: ScaleSearchState) -> ScaleSearchState:
        assert state.scale is not None
        steepness = state.steepness
        low, high, before = state.low, state.high, state.high
        side = float(np.sign(steepness))
        again = side == state.side
        if steepness < 0:
            low, high = (state.scale, steepness), high and (high[0], 0.5 * high[1] if again else high[1])
        else:
            low, high = low and (low[0], 0.5 * low[1] if again else low[1]), (state.scale, steepness)
        if (
            low and high and high[0] - low[0] <= MIN_BRACKET * high[0]
        ):  # by the rounding of slopes: on from a warm start
            scale, low, high, side = (
                state.scale * float(np.sqrt(max(1.0 - steepness, MIN_SCALE_RATIO**2))),
                None,
                None,
                0.0,
            )
        elif low and high:  # regula falsi, an end that stays twice weighed half (Illinois)
            scale = (low[0] * high[1] - high[0] * low[1]) / (high[1] - low[1])
        elif low:
            scale = 4.0 * state.scale
        else:
            scale = max(_lower(state.scale, steepness, before), self.min_scale)
        after = self._state(problem, state.rows, state.theta, scale)
        return replace(after, stalled=scale == state.scale, low=low, high=high, side=side)

    def _state(self, problem: Problem, rows: RowProducts, theta: Floats, scale: float) -> ScaleSearchState:
        loss = cast(Huber, problem.loss)
        fixed = problem._with(loss=loss.at(scale), alpha=problem.alpha / scale)
        inner = run(PrimalDual(), fixed, theta, max_iter=200, tol=1e-14, inner=True)
        u = (rows.y - rows.predictions(inner.theta)[:, 0]) / scale
        steepness = 1.0 - float(rows.share @ np.minimum(u * u, loss.delta**2))
        ended = scale <= self.min_scale and steepness >= 0
        residual = max(inner.residual, 0.0 if ended else abs(steepness))
        value = scale * (1.0 + inner.value)
        return ScaleSearchState(inner.theta, value, residual, scale=scale, rows=rows, steepness=steepness)


def _lower(scale: float, steepness: float, before: Bracket) -> float:
    """A scale nearer to the root from above, by the secant; the first as if residuals did not change."""
    if before is not None and before[1] > steepness and before[0] > scale:
        secant = scale - steepness * (before[0] - scale) / (before[1] - steepness)
        return max(secant, MIN_SCALE_RATIO * scale)
    return scale * float(np.sqrt(max(1.0 - steepness, MIN_SCALE_RATIO**2)))


class _Sums(Sums):
    squares = 0.0

    def _absorb(self, other: Any) -> "_Sums":
        super()._absorb(other)
        self.squares += other.squares
        return self


def _sums(problem: Problem, theta: Floats, scale: float, order: int) -> _Sums:
    loss = cast(Huber, problem.loss)
    return problem.rows.sum(lambda block: _block_sums(problem, block, loss.delta, theta, scale, order))


def _block_sums(problem: Problem, block: Block, delta: float, theta: Floats, scale: float, order: int) -> _Sums:
    """Sums of a block over θ and the scale, which comes last: the Hessian without its factor 2 / scale."""
    p = problem.p
    total: _Sums | None = None
    for part, y, w in problem.panels(block):
        r = y - problem.predictions(part, theta)[:, 0]
        weight = np.ones_like(r) if w is None else w
        inside = np.abs(r) <= delta * scale
        losses = np.where(inside, r * r / scale, 2.0 * delta * np.abs(r) - delta**2 * scale)
        sums = _Sums(float(weight @ losses), 0.0, None, None)
        sums.squares = float(weight @ (r * r))
        if order:
            u = r / scale
            g = -2.0 * np.clip(u, -delta, delta) * weight
            h = np.where(inside, weight, 0.0)
            sums.size = float(np.abs(g).sum())
            scale_slope = -(weight @ np.minimum(u * u, delta**2))
            sums.gradient = np.append(problem.gradient_sums(part, g[:, None])[0], scale_slope)
            sums.hessian = np.empty((p + 1, p + 1))
            sums.hessian[:p, :p] = problem.weighted_gram(part, h)
            sums.hessian[p, :p] = sums.hessian[:p, p] = problem.gradient_sums(part, (h * u)[:, None])[0]
            sums.hessian[p, p] = h @ (u * u)
        total = sums if total is None else total._absorb(sums)
    assert total is not None
    return total
