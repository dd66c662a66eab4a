"""Huber's loss with its scale: Newton's method on both, which are jointly convex."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from gramian._core.types import Floats
from gramian.objective.losses.regression import Huber
from gramian.objective.problem import ROUNDED, Point, Problem, Sums, least_scale
from gramian.rows import Block
from gramian.solvers.base import LAST_RESORT_PASSES, MAX_DENSE_HESSIAN_COLUMNS, Choose, Solver, State, pass_cost, run
from gramian.solvers.nonsmooth.primal_dual import PrimalDual
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.newton import ENOUGH, HALVINGS, ROUNDING, solve_spd
from gramian.solvers.smooth.proximal_newton import model_step

COLLAPSED = 1e-10  # width of a bracket, in units of the scale, that holds no root
LEAST_SHARE = 0.01  # of a scale that the next one has
RAISED = 1e-12  # of the diagonal: what rounding leaves of it where the scale is eliminated
MAX_SHRINKAGE = 0.9  # of the scale in a step
PATIENCE = 20  # steps with a penalty that is not smooth, not halving the residual, before the general method is next
FLAT_SLOPE = 1e-6  # of the largest slope, along directions without curvature: more than rounding


@dataclass(frozen=True)
class ScaleNewton(Solver):
    """Newton on the coefficients and the scale s together: the mean of s + s · huber((y − f) / s), plus the penalty.

    Rows within delta scales of their prediction make the Hessian, (2 / s) Σ z zᵀ with r / s as one more column: one
    pass of O(n p²) an iteration.
    """

    least: float = 0.0
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

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        first = self._state(problem, theta, 1.0, order=0)
        scale = max(float(np.sqrt(first.more["squares"])), self.least, 1e-300)
        return self._state(problem, theta, scale)

    def _state(self, problem: Problem, theta: Floats, scale: float, order: int = 2) -> State:
        loss = cast(Huber, problem.loss)
        sums = problem.rows.sum(lambda block: _block_sums(problem, block, loss.delta, theta, scale, order))
        weight, p = problem.columns.weight, problem.p
        sums.value += scale * weight
        if order == 0:
            return State(theta, sums.value / weight, np.inf, scale=scale, more={"squares": sums.squares / weight})
        steepness = 1.0 + sums.gradient[p] / weight
        H = sums.hessian * (2.0 / (scale * weight))
        H[:p, :p] += problem.bend
        point = problem.point(theta, Sums(sums.value, sums.size, sums.gradient[:p], None))
        # Residuals of rounding only are nothing: u = r / scale of a millionth of the target.
        measure = max(
            problem.measure(point, ROUNDED * problem.reach / scale), abs(steepness) if scale > self.least else 0.0
        )
        more = {"point": point, "H": H, "steepness": steepness}
        return State(theta, point.value, measure, scale=scale, more=more)

    def step(self, problem: Problem, state: State) -> State:
        assert state.scale is not None
        point: Point = state.more["point"]
        direction, change, slope = self._direction(problem, state, point)
        length = 1.0 if change >= 0 else min(1.0, MAX_SHRINKAGE * state.scale / -change)
        for _ in range(HALVINGS):
            scale = max(state.scale + length * change, self.least)
            trial = self._state(problem, problem.within(point.theta + length * direction), scale)
            if trial.value <= state.value + ENOUGH * length * slope:
                trial.stalled = trial.value >= state.value and trial.measure >= state.measure
                return _patient(problem, state, trial)
            if -slope * length <= 100 * ROUNDING * abs(state.value):
                if trial.measure < state.measure:
                    return trial
                break
            length *= 0.5
        return replace(state, stalled=True)

    def _direction(self, problem: Problem, state: State, point: Point) -> tuple[Floats, float, float]:
        """The change of θ and of the scale, and the slope along both; with a rough penalty the scale is eliminated.

        A scale that is the smallest stays there as long as the objective rises with it.
        """
        assert problem.parts is not None
        H, p = state.more["H"], problem.p
        g = np.append(point.gradient[0], state.more["steepness"])
        held = state.scale is not None and state.scale <= self.least and g[p] >= 0
        if held and problem.parts.smooth:
            step = -solve_spd(H[:p, :p], g[:p])
            return step[None], 0.0, float(g[:p] @ step)
        if problem.parts.smooth:
            delta = _along_flat(H, g, -solve_spd(H, g), state.scale)
            return delta[None, :p], float(delta[p]), float(g @ delta)
        step, change = self._rough_step(problem, state, point, g, held)
        rough = problem.rough(problem.within(point.theta + step)) - problem.rough(point.theta)
        return step, change, float((point.gradient * step).sum()) + rough + float(g[p]) * change

    def _rough_step(self, problem: Problem, state: State, point: Point, g: Floats, held: bool) -> tuple[Floats, float]:
        """To the minimum of the quadratic model of θ and the scale, or where the scale comes to its lower end."""
        H, p = state.more["H"], problem.p
        enough = max(1e-12, 1e-3 * min(state.measure, 1.0)) * point.size
        lowest = 0.0
        if not held and H[p, p] > 0:  # the model at the scale that is best for each θ
            assert state.scale is not None
            share, steepness = H[p, :p] / H[p, p], float(g[p] / H[p, p])
            A = H[:p, :p] - np.outer(share, H[p, :p]) + np.diag(RAISED * np.diagonal(H)[:p])
            step = model_step(problem, A, g[:p] - steepness * H[p, :p], point.theta[0], enough)
            change = -steepness - float(share @ step)
            lowest = max(self.least - state.scale, -MAX_SHRINKAGE * state.scale)
            if change >= lowest:
                return step[None], change
        step = model_step(problem, H[:p, :p], g[:p] + lowest * H[p, :p], point.theta[0], enough)
        return step[None], lowest


def _patient(problem: Problem, before: State, state: State) -> State:
    """The state, stuck where steps with a penalty that is not smooth have not halved the residual for long."""
    assert problem.parts is not None
    if problem.parts.smooth:
        return state
    least, waits = before.more.get("waits", (before.measure, 0))
    halved = state.measure <= 0.5 * least
    state.more["waits"] = (state.measure, 0) if halved else (least, waits + 1)
    state.stalled |= not halved and waits >= PATIENCE
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


@dataclass(frozen=True)
class ScaleSearch(Solver):
    """The scale by bracketing the root of the slope of the profile objective, the coefficients by the general method.

    The least objective over the coefficients is convex in the scale s, and its slope is 1 − mean of min(u², delta²) at
    the coefficients that are best at s. At a given scale the problem is Huber's with that scale and alpha / s.
    """

    least: float = 0.0
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

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        rows = RowProducts(problem)
        spread = float(np.sqrt(rows.share @ (rows.y - rows.predictions(theta)[:, 0]) ** 2))
        return self._state(
            problem, rows, theta, max(spread, self.least, 1e-300), {"low": None, "high": None, "side": 0.0}
        )

    def step(self, problem: Problem, state: State) -> State:
        assert state.scale is not None
        steepness = state.more["steepness"]
        low, high, before = state.more["low"], state.more["high"], state.more["high"]
        side, again = np.sign(steepness), np.sign(steepness) == state.more["side"]
        if steepness < 0:
            low, high = (state.scale, steepness), high and (high[0], 0.5 * high[1] if again else high[1])
        else:
            low, high = low and (low[0], 0.5 * low[1] if again else low[1]), (state.scale, steepness)
        if low and high and high[0] - low[0] <= COLLAPSED * high[0]:  # by the rounding of slopes: on from a warm start
            scale, low, high, side = state.scale * float(np.sqrt(max(1.0 - steepness, LEAST_SHARE**2))), None, None, 0.0
        elif low and high:  # regula falsi, an end that stays twice weighed half (Illinois)
            scale = (low[0] * high[1] - high[0] * low[1]) / (high[1] - low[1])
        elif low:
            scale = 4.0 * state.scale
        else:
            scale = max(_lower(state.scale, steepness, before), self.least)
        found = self._state(problem, state.more["rows"], state.theta, scale, {"low": low, "high": high, "side": side})
        found.stalled = scale == state.scale
        return found

    def _state(self, problem: Problem, rows: RowProducts, theta: Floats, scale: float, more: dict[str, Any]) -> State:
        loss = cast(Huber, problem.loss)
        fixed = problem._with(loss=loss.at(scale), alpha=problem.alpha / scale)
        inner = run(PrimalDual(), fixed, theta, max_iter=200, tol=1e-14, inner=True)
        u = (rows.y - rows.predictions(inner.theta)[:, 0]) / scale
        steepness = 1.0 - float(rows.share @ np.minimum(u * u, loss.delta**2))
        ended = scale <= self.least and steepness >= 0
        measure = max(inner.measure, 0.0 if ended else abs(steepness))
        more = more | {"rows": rows, "steepness": steepness}
        return State(inner.theta, scale * (1.0 + inner.value), measure, scale=scale, more=more)


def _lower(scale: float, steepness: float, before: tuple[float, float] | None) -> float:
    """A scale nearer to the root from above, by the secant; the first as if residuals did not change."""
    if before is not None and before[1] > steepness and before[0] > scale:
        secant = scale - steepness * (before[0] - scale) / (before[1] - steepness)
        return max(secant, LEAST_SHARE * scale)
    return scale * float(np.sqrt(max(1.0 - steepness, LEAST_SHARE**2)))


class _Sums(Sums):
    squares = 0.0

    def _absorb(self, other: Any) -> "_Sums":
        super()._absorb(other)
        self.squares += other.squares
        return self


def _block_sums(problem: Problem, block: Block, delta: float, theta: Floats, scale: float, order: int) -> _Sums:
    """Sums of a block over θ and the scale, which comes last: the Hessian without its factor 2 / scale."""
    p = problem.p
    total: _Sums | None = None
    for part, y, w in problem.panels(block):
        r = y - problem.predictions(part, theta)[:, 0]
        weight = np.ones_like(r) if w is None else w
        inside = np.abs(r) <= delta * scale
        bent = np.where(inside, r * r / scale, 2.0 * delta * np.abs(r) - delta**2 * scale)
        mine = _Sums(float(weight @ bent), 0.0, None, None)
        mine.squares = float(weight @ (r * r))
        if order:
            u = r / scale
            g = -2.0 * np.clip(u, -delta, delta) * weight
            h = np.where(inside, weight, 0.0)
            mine.size = float(np.abs(g).sum())
            mine.gradient = np.append(problem.pull(part, g[:, None])[0], -(weight @ np.minimum(u * u, delta**2)))
            mine.hessian = np.empty((p + 1, p + 1))
            mine.hessian[:p, :p] = problem.weighted_gram(part, h)
            mine.hessian[p, :p] = mine.hessian[:p, p] = problem.pull(part, (h * u)[:, None])[0]
            mine.hessian[p, p] = h @ (u * u)
        total = mine if total is None else total._absorb(mine)
    assert total is not None
    return total
