"""Losses with a kink on many rows: an interior point on those near their kink, the others known by their side."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows
from gramian.solvers.base import Solver, State, pass_cost, run
from gramian.solvers.nonsmooth.interior_point import InteriorPoint, dual_value, forms_gram, primal_value
from gramian.solvers.nonsmooth.smoothed_newton import SmoothedNewton
from gramian.solvers.smooth.landmark_problem import LandmarkProblem, part_of

SAMPLE = 20_000  # rows that tell roughly where the optimum is
MIN_ROWS = 60_000  # beyond, rows far from their breakpoint are worth leaving out
PASSES = 30  # over all rows
LEAST_TOL = 1e-14
MOST_KEPT = 100_000_000  # numbers of features


@dataclass(frozen=True)
class ActiveRowsInteriorPoint(Solver):
    """The optimum of a kink made round says on which side of it a row will be; only rows near theirs are worked on.

    A row on a known side pulls at θ with a slope that is known, so it is part of a linear term. Rows that turn out to
    be on the other side are taken in, until the duality gap over all rows is closed. A dozen passes over all rows, and
    an interior point on a few for each coefficient.
    """

    name: ClassVar[str] = "interior point near the kink"
    unit: ClassVar[str] = "rounds"
    uses_landmarks: ClassVar[bool] = True

    def supports(self, problem: Problem) -> bool:
        """A loss with a kink and a quadratic penalty, rows of which some can be taken."""
        return SmoothedNewton().supports(problem)

    def cost(self, problem: Problem) -> float:
        """Passes over all rows: of landmarks, whose features a pass makes anew, and of many dense rows in memory."""
        rows = problem.rows
        many = isinstance(rows, MemoryRows) and rows.n > MIN_ROWS and forms_gram(problem)
        return PASSES * pass_cost(problem) if rows.basis is not None or many else np.inf

    def reason(self, problem: Problem) -> str:
        name = type(problem.loss).__name__
        if problem.rows.basis is not None:
            return f"{name} has a kink, and a pass makes {problem.d} features anew: they are kept of rows near it"
        return f"{name} has a kink, which few of {problem.rows.n} rows are near: only those are worked on"

    def init(self, problem: Problem, start: Floats | None) -> State:
        if start is None and isinstance(problem.rows, MemoryRows):
            start = _on_sample(problem)
        rounded = run(SmoothedNewton(), problem, start, max_iter=200, tol=1e-12, inner=True)
        kinks, f, s, width = (rounded.more[name] for name in ("kinks", "f", "slopes", "width"))
        away = np.abs(f - kinks.at)[kinks.share > 0]
        least = min(2 * problem.p, len(away) - 1)  # rows that a corner may need
        width = max(width, float(np.partition(away, least)[least]))
        more = {"kinks": kinks, "f": f, "slopes": s, "width": width, "extra": np.zeros(len(s), dtype=bool)}
        return State(rounded.theta, rounded.value, np.inf, more=more)

    def step(self, problem: Problem, state: State) -> State:
        kinks, f, width, extra = (state.more[name] for name in ("kinks", "f", "width", "extra"))
        e = f - kinks.at
        near = ((np.abs(e) <= width) | extra) & (kinks.share > 0)
        s = np.where(e > 0, kinks.high, kinks.low)
        linear = kinks.pull(problem, np.where(near | (kinks.share <= 0), 0.0, kinks.share * s))
        index = np.flatnonzero(near)
        method, part = InteriorPoint(linear=linear), _gathered(part_of(problem, index))
        tol = state.more.get("tol", 1e-9)
        inner = run(method, part, state.theta, max_iter=100, tol=tol, inner=True)
        s[index] = inner.more["slopes"]
        s[kinks.share <= 0] = np.clip(0.0, kinks.low, kinks.high)[kinks.share <= 0]
        f = kinks.predictions(problem, inner.theta)
        value = primal_value(problem, kinks, inner.theta, f)
        gap = (value - dual_value(problem, kinks, s)) / max(abs(value), problem.least_value)
        crossed = ~near & (np.where(f > kinks.at, kinks.high, kinks.low) != s) & (kinks.share > 0)
        more = {"kinks": kinks, "f": f, "slopes": s, "extra": near | crossed, "width": 0.0, "gap": gap, "near": index}
        more |= {"hessian": inner.more.get("hessian"), "inner": inner.more}
        if not crossed.any():
            more["tol"] = 1e-3 * tol  # where little is lost at all, others pull far more than that
        return State(inner.theta, value, gap, stalled=not crossed.any() and tol < LEAST_TOL, more=more)

    def finish(self, problem: Problem, state: State) -> State:
        """The rows on their kink, by their number among all."""
        inner = state.more.get("inner")
        if inner is None:
            return state
        working = ("inner", "near", "extra", "width", "tol")
        kept = {key: value for key, value in state.more.items() if key not in working}
        corner = {"free": state.more["near"][inner["free"]]} if "free" in inner else {}
        return replace(state, more=kept | corner)


def _on_sample(problem: Problem) -> Floats:
    """Roughly the optimum, from some of the rows."""
    stride = max(problem.rows.n // SAMPLE, 1)
    part = part_of(problem, np.arange(stride // 2, problem.rows.n, stride), alone=True)
    return run(SmoothedNewton(), part, max_iter=60, tol=1e-3, inner=True).theta


def _gathered(problem: Problem) -> Problem:
    """The same with its features in memory, unless they are too many for it."""
    if not isinstance(problem, LandmarkProblem) or problem.rows.n * problem.p > MOST_KEPT:
        return problem
    block = problem.features.collect()
    return problem.on(MemoryRows(block.X, block.y, block.weight, target_names=("y",)), problem.columns)
