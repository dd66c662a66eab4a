"""Losses with a kink on rows that are many and dear: Newton's method on a kink made round, ever less so."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.solvers.base import Solver, State, run
from gramian.solvers.nonsmooth.interior_point import Kinks, unmet
from gramian.solvers.smooth.landmark_problem import SAMPLE, part_of
from gramian.solvers.smooth.newton import solve_spd

FIRST_SHARE = 0.2  # of the rows, nearest to their kink, that are curved at first
NARROWER = 4.0
LEAST_WIDTH = 1e-7  # of a kink, over the mean distance from it
FEW = 5  # rows for each number in θ: so few within the width are better worked on by themselves
SETTLED = 0.3  # share of the gap that Newton's method may leave before the kink is made sharper
LOOKS, FLAT = 30, 0.05  # at a line, until the slope along it is so much of the first


@dataclass(frozen=True)
class SmoothedNewton(Solver):
    """Newton's method on a loss whose slope goes from low to high over a width around the kink; the width shrinks.

    Slopes of the round loss are a point of the dual, so the gap is known in every step; it falls as the square of the
    width. Only rows within the width are curved, so a Hessian costs their number times p², and a pass over all rows
    multiplies them by a vector. The step that is best along its direction is found from predictions alone. It ends
    where few rows are left whose slope is in doubt.
    """

    name: ClassVar[str] = "Newton at the kink"
    unit: ClassVar[str] = "Newton steps"

    def supports(self, problem: Problem) -> bool:
        """A loss with a kink and a quadratic penalty, rows of which some can be taken."""
        p = problem.parts
        quadratic = p is not None and p.smooth and bool(problem.square.any())
        return problem.loss.piecewise_linear and quadratic and hasattr(problem.rows, "subset")

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = start
        if theta is None:
            some = problem.some()
            theta = problem.zero() if some is problem else run(self, some, max_iter=60, tol=1e-3, inner=True).theta
        kinks = Kinks.of(problem)
        f = kinks.predictions(problem, theta)
        counted = np.abs(f - kinks.at)[kinks.share > 0]
        width = 4.0 * float(np.quantile(counted, FIRST_SHARE)) if len(counted) else 0.0  # no row at the end of it
        least = LEAST_WIDTH * (float(counted.mean()) if len(counted) else 1.0)
        width = max(width, least, 1e-300)
        more = {"kinks": kinks, "width": width, "least": least}
        s, _ = _round(kinks, f, width)
        return self._state(problem, theta, f, s, kinks.pull(problem, kinks.share * s), more)

    def done(self, state: State, tol: float) -> bool:
        """The gap is closed, or few rows are left within the width of an answer that is settled."""
        more = state.more
        return super().done(state, tol) or (more["few"] and more["settled"]) or more["width"] <= more["least"]

    def step(self, problem: Problem, state: State) -> State:
        more = state.more
        kinks, f, s, pulled = (more[name] for name in ("kinks", "f", "slopes", "pulled"))
        if more["settled"] or more["stalled"]:
            more = more | {"width": more["width"] / NARROWER}
            s, pulled = self._moved(problem, kinks, f, s, pulled, more["width"])
        gradient = pulled.copy()
        gradient[: problem.d] += problem.quadratic(state.theta)[1][0]
        direction = -solve_spd(self._hessian(problem, kinks, f, more["width"]), gradient)
        moved = kinks.predictions(problem, direction[None, :])
        length = _best(problem, kinks, state.theta[0], f, direction, moved, more["width"])
        theta, f = state.theta + length * direction, f + length * moved
        s, pulled = self._moved(problem, kinks, f, s, pulled, more["width"])
        found = self._state(problem, theta, f, s, pulled, more)
        found.more["stalled"] = length == 0.0  # what is left is rounding
        return found

    @staticmethod
    def _hessian(problem: Problem, kinks: Kinks, f: Floats, width: float) -> Floats:
        """Of the rows within the width, or of some of them where they are more than tell a curvature well."""
        _, h = _round(kinks, f, width)
        near = np.flatnonzero((h > 0) & (kinks.share > 0))
        stride = max(len(near) // (SAMPLE * problem.p), 1)
        some = near[stride // 2 :: stride]
        values = kinks.share[some] * h[some]
        if not len(some):
            return problem.bend
        values *= float((kinks.share[near] * h[near]).sum()) / float(values.sum())
        H, _ = kinks.gram(part_of(problem, some), values, np.zeros(len(some)))
        return np.asarray(H + problem.bend)

    @staticmethod
    def _moved(
        problem: Problem, kinks: Kinks, f: Floats, s: Floats, pulled: Floats, width: float
    ) -> tuple[Floats, Floats]:
        """The slopes at f, and what they pull: from the rows alone whose slope changed, where they are few."""
        new, _ = _round(kinks, f, width)
        change = kinks.share * (new - s)
        rows = np.flatnonzero(change)
        if 2 * len(rows) > len(f):
            return new, kinks.pull(problem, kinks.share * new)
        return new, pulled + kinks.pull(part_of(problem, rows), change[rows]) if len(rows) else pulled

    @staticmethod
    def _state(problem: Problem, theta: Floats, f: Floats, s: Floats, pulled: Floats, more: dict[str, Any]) -> State:
        kinks: Kinks = more["kinks"]
        e = f - kinks.at
        losses = np.maximum(kinks.low * e, kinks.high * e)
        value = float(kinks.share @ losses) + problem.quadratic(theta)[0]
        unsettled = unmet(problem, theta, pulled[None])
        gap = float(kinks.share @ (losses - s * e)) + unsettled
        near = np.count_nonzero((np.abs(e) <= more["width"]) & (kinks.share > 0))
        few = near <= max(FEW * problem.p, len(e) // (2 * problem.p))
        settled = unsettled <= SETTLED * gap
        more = more | {"f": f, "slopes": s, "pulled": pulled, "few": few, "settled": settled, "stalled": False}
        return State(theta, value, gap / max(abs(value), problem.least_value), more=more)


def _round(kinks: Kinks, f: Floats, width: float) -> tuple[Floats, Floats]:
    """Slope and curvature of each row where the slope goes from low to high over the width."""
    rise = (kinks.high - kinks.low) / width
    s = (kinks.low + kinks.high) / 2.0 + rise * (f - kinks.at)
    inside = (s > kinks.low) & (s < kinks.high)
    return np.clip(s, kinks.low, kinks.high), np.where(inside, rise, 0.0)


def _best(
    problem: Problem, kinks: Kinks, theta: Floats, f: Floats, direction: Floats, moved: Floats, width: float
) -> float:
    """How far the round objective falls along a direction: where its slope, which only grows, is zero."""
    bend = problem.quadratic(direction[None])[1][0]
    first, second = float(theta[: problem.d] @ bend), float(direction[: problem.d] @ bend)
    weight = kinks.share * moved

    def slope(t: float) -> float:
        return float(weight @ _round(kinks, f + t * moved, width)[0]) + first + t * second

    low, at_low = 0.0, slope(0.0)
    if not at_low < 0:
        return 0.0
    enough = FLAT * -at_low
    high, at_high = 1.0, slope(1.0)
    for _ in range(LOOKS):
        if at_high >= -enough:
            break
        low, at_low, high = high, at_high, 4.0 * high
        at_high = slope(high)
    for _ in range(LOOKS):
        if abs(at_high) <= enough:
            return high
        t = low + (high - low) * min(max(at_low / (at_low - at_high), 0.1), 0.9)
        at = slope(t)
        if abs(at) <= enough:
            return t
        low, at_low, high, at_high = (t, at, high, at_high) if at < 0 else (low, at_low, t, at)
    return low
