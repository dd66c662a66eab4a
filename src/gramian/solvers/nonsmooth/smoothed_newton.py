"""Newton's method on a smoothed piecewise-linear loss with decreasing width, for many rows with costly features."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.solvers.base import Details, Solver, State, run
from gramian.solvers.nonsmooth.interior_point import Breakpoints, unmet
from gramian.solvers.smooth.landmark_problem import SAMPLE, part_of
from gramian.solvers.smooth.newton import solve_spd

FIRST_SHARE = 0.2  # of the rows, nearest to their breakpoint, that are curved at first
WIDTH_FACTOR = 4.0  # by which the width decreases
MIN_WIDTH = 1e-7  # over the mean distance from the breakpoint
MAX_ACTIVE_ROWS = 5  # for each number in θ: so few within the width are better worked on by themselves
MAX_UNSETTLED = 0.3  # share of the gap that Newton's method may leave before the width decreases
MAX_LINE_STEPS = 30  # of a line search
MAX_SLOPE = 0.05  # over the first slope along a line, where its search ends


@dataclass(kw_only=True)
class SmoothedNewtonState(State):
    """With the width of the smoothing, and the smoothed loss at θ."""

    breakpoints: Breakpoints
    width: float
    min_width: float
    f: Floats
    dual: Floats  # slopes of the smoothed loss
    sums: Floats  # Zᵀ(weights · dual)
    few_active: bool  # few rows are within the width
    settled: bool  # the gradient is small beside the smoothing
    no_descent: bool = False  # the last step was empty: what is left is rounding

    @property
    def details(self) -> Details:
        return Details(dual=self.dual)


@dataclass(frozen=True)
class SmoothedNewton(Solver[SmoothedNewtonState]):
    """Newton's method on a loss whose slope rises from low to high over a width around the breakpoint, which decreases.

    Slopes of the smoothed loss are a point of the dual, so the gap is known in every step; it falls as the square of
    the width. Only rows within the width are curved, so a Hessian costs their number times p², and a pass over all rows
    multiplies them by a vector. The step that is best along its direction is found from predictions alone. It ends
    where few rows are left whose slope is in doubt.
    """

    name: ClassVar[str] = "smoothed Newton"
    unit: ClassVar[str] = "Newton steps"

    def supports(self, problem: Problem) -> bool:
        """A piecewise-linear loss and a quadratic penalty, rows that have subsets."""
        p = problem.parts
        quadratic = p is not None and p.smooth and bool(problem.square.any())
        return problem.loss.piecewise_linear and quadratic and problem.rows.can_subset

    def init(self, problem: Problem, start: Floats | None) -> SmoothedNewtonState:
        theta = start
        if theta is None:
            part = problem.curvature_sample()
            theta = problem.zero() if part is problem else run(self, part, max_iter=60, tol=1e-3, inner=True).theta
        breakpoints = Breakpoints.of(problem)
        f = breakpoints.predictions(problem, theta)
        counted = np.abs(f - breakpoints.at)[breakpoints.weights > 0]
        width = 4.0 * float(np.quantile(counted, FIRST_SHARE)) if len(counted) else 0.0  # no row at the end of it
        min_width = MIN_WIDTH * (float(counted.mean()) if len(counted) else 1.0)
        width = max(width, min_width, 1e-300)
        s, _ = _smoothed(breakpoints, f, width)
        sums = breakpoints.gradient_sums(problem, breakpoints.weights * s)
        return self._state(problem, breakpoints, theta, f, s, sums, width, min_width)

    def done(self, state: SmoothedNewtonState, tol: float) -> bool:
        """The gap is closed, or few rows are left within the width of an answer that is settled."""
        few = state.few_active and state.settled
        return super().done(state, tol) or few or state.width <= state.min_width

    def step(self, problem: Problem, state: SmoothedNewtonState) -> SmoothedNewtonState:
        breakpoints, f, s, sums, width = state.breakpoints, state.f, state.dual, state.sums, state.width
        if state.settled or state.no_descent:
            width = width / WIDTH_FACTOR
            s, sums = self._slopes(problem, breakpoints, f, s, sums, width)
        gradient = sums.copy()
        gradient[: problem.d] += problem.quadratic(state.theta)[1][0]
        direction = -solve_spd(self._hessian(problem, breakpoints, f, width), gradient)
        change = breakpoints.predictions(problem, direction[None, :])
        length = _line_search(problem, breakpoints, state.theta[0], f, direction, change, width)
        theta, f = state.theta + length * direction, f + length * change
        s, sums = self._slopes(problem, breakpoints, f, s, sums, width)
        after = self._state(problem, breakpoints, theta, f, s, sums, width, state.min_width)
        return replace(after, no_descent=length == 0.0)

    @staticmethod
    def _hessian(problem: Problem, breakpoints: Breakpoints, f: Floats, width: float) -> Floats:
        """Of the rows within the width, or of a sample of them where they are more than a curvature needs."""
        _, h = _smoothed(breakpoints, f, width)
        active = np.flatnonzero((h > 0) & (breakpoints.weights > 0))
        stride = max(len(active) // (SAMPLE * problem.p), 1)
        sample = active[stride // 2 :: stride]
        values = breakpoints.weights[sample] * h[sample]
        if not len(sample):
            return problem.penalty_hessian
        values *= float((breakpoints.weights[active] * h[active]).sum()) / float(values.sum())
        H, _ = breakpoints.gram(part_of(problem, sample), values, np.zeros(len(sample)))
        return np.asarray(H + problem.penalty_hessian)

    @staticmethod
    def _slopes(
        problem: Problem, breakpoints: Breakpoints, f: Floats, s: Floats, sums: Floats, width: float
    ) -> tuple[Floats, Floats]:
        """The slopes at f, and their sums: from the rows alone whose slope changed, where they are few."""
        new, _ = _smoothed(breakpoints, f, width)
        change = breakpoints.weights * (new - s)
        rows = np.flatnonzero(change)
        if 2 * len(rows) > len(f):
            return new, breakpoints.gradient_sums(problem, breakpoints.weights * new)
        return new, sums + breakpoints.gradient_sums(part_of(problem, rows), change[rows]) if len(rows) else sums

    @staticmethod
    def _state(
        problem: Problem, breakpoints: Breakpoints, theta: Floats, f: Floats, s: Floats, sums: Floats,
        width: float, min_width: float,
    ) -> SmoothedNewtonState:  # fmt: skip
        e = f - breakpoints.at
        losses = np.maximum(breakpoints.low * e, breakpoints.high * e)
        value = float(breakpoints.weights @ losses) + problem.quadratic(theta)[0]
        unsettled = unmet(problem, theta, sums[None])
        gap = float(breakpoints.weights @ (losses - s * e)) + unsettled
        active = np.count_nonzero((np.abs(e) <= width) & (breakpoints.weights > 0))
        few = bool(active <= max(MAX_ACTIVE_ROWS * problem.p, len(e) // (2 * problem.p)))
        settled = unsettled <= MAX_UNSETTLED * gap
        return SmoothedNewtonState(
            theta, value, gap / max(abs(value), problem.least_value),
            breakpoints=breakpoints, width=width, min_width=min_width, f=f, dual=s, sums=sums,
            few_active=few, settled=settled,
        )  # fmt: skip


def _smoothed(breakpoints: Breakpoints, f: Floats, width: float) -> tuple[Floats, Floats]:
    """Slope and curvature of each row where the slope goes from low to high over the width."""
    rise = (breakpoints.high - breakpoints.low) / width
    s = (breakpoints.low + breakpoints.high) / 2.0 + rise * (f - breakpoints.at)
    inside = (s > breakpoints.low) & (s < breakpoints.high)
    return np.clip(s, breakpoints.low, breakpoints.high), np.where(inside, rise, 0.0)


def _line_search(
    problem: Problem,
    breakpoints: Breakpoints,
    theta: Floats,
    f: Floats,
    direction: Floats,
    change: Floats,
    width: float,
) -> float:
    """The length at which the smoothed objective is least along a direction: where its increasing slope is zero."""
    penalty_slope = problem.quadratic(direction[None])[1][0]
    first, second = float(theta[: problem.d] @ penalty_slope), float(direction[: problem.d] @ penalty_slope)
    weight = breakpoints.weights * change

    def slope(t: float) -> float:
        return float(weight @ _smoothed(breakpoints, f + t * change, width)[0]) + first + t * second

    low, at_low = 0.0, slope(0.0)
    if not at_low < 0:
        return 0.0
    tol = MAX_SLOPE * -at_low
    high, at_high = 1.0, slope(1.0)
    for _ in range(MAX_LINE_STEPS):
        if at_high >= -tol:
            break
        low, at_low, high = high, at_high, 4.0 * high
        at_high = slope(high)
    for _ in range(MAX_LINE_STEPS):
        if abs(at_high) <= tol:
            return high
        t = low + (high - low) * min(max(at_low / (at_low - at_high), 0.1), 0.9)
        at = slope(t)
        if abs(at) <= tol:
            return t
        low, at_low, high, at_high = (t, at, high, at_high) if at < 0 else (low, at_low, t, at)
    return low
