"""Losses with a kink on many rows: an interior point on those near their kink, the others known by their side."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian.objective.loss import Kinked
from gramian.rows import MemoryRows
from gramian.solvers.interior import InteriorPoint, Kinks, dual_value
from gramian.solvers.iterate import Method, State, run
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
SAMPLE = 20_000  # rows that tell roughly where the optimum is
FIRST_SHARE = 0.15  # of the rows, nearest to their kink, that are worked on first


@dataclass(frozen=True)
class NearRows(Method):
    """The optimum of a sample says on which side of its kink a row will be; only rows near theirs are worked on.

    A row on a known side pulls at θ with a slope that is known, so it is part of a linear term. Rows that turn out to
    be on the other side are taken in, until the duality gap over all rows is closed. A few passes over all rows, and an
    interior point on a fifth of them.
    """

    name: ClassVar[str] = "interior point near the kink"
    unit: ClassVar[str] = "rounds"

    def can(self, problem: Problem) -> bool:
        """A loss with a kink and a quadratic penalty, rows in memory."""
        p = problem.parts
        smooth = p is not None and p.smooth and bool(problem.square.any())
        return isinstance(problem.loss, Kinked) and smooth and isinstance(problem.rows, MemoryRows)

    def init(self, problem: Problem, start: Floats | None) -> State:
        kinks = Kinks.of(problem)
        theta = start
        if theta is None:
            stride = max(problem.rows.n // SAMPLE, 1)
            theta = run(
                InteriorPoint(),
                _part(problem, np.arange(stride // 2, problem.rows.n, stride), True),
                max_iter=60,
                tol=1e-3,
                inner=True,
            ).theta
        f = kinks.predictions(problem, theta)
        e = f - kinks.at
        width = float(np.quantile(np.abs(e), FIRST_SHARE))
        s = np.where(e > 0, kinks.high, kinks.low)
        more: dict[str, Any] = {
            "kinks": kinks,
            "f": f,
            "width": width,
            "slopes": s,
            "extra": np.zeros(len(s), dtype=bool),
        }
        return State(theta, problem.value(theta), np.inf, more=more)

    def step(self, problem: Problem, state: State) -> State:
        kinks, f, width, extra = (state.more[name] for name in ("kinks", "f", "width", "extra"))
        e = f - kinks.at
        near = ((np.abs(e) <= width) | extra) & (kinks.share > 0)
        s = np.where(e > 0, kinks.high, kinks.low)
        linear = kinks.pull(problem, np.where(near | (kinks.share <= 0), 0.0, kinks.share * s))
        index = np.flatnonzero(near)
        method, part = InteriorPoint(linear=linear), _part(problem, index, False)
        inner = run(method, part, state.theta, max_iter=100, tol=1e-9, inner=True)
        s[index] = inner.more["slopes"]
        s[kinks.share <= 0] = np.clip(0.0, kinks.low, kinks.high)[kinks.share <= 0]
        f = kinks.predictions(problem, inner.theta)
        value = problem.value(inner.theta)
        gap = (value - dual_value(problem, kinks, s)) / max(abs(value), problem.least_value)
        crossed = ~near & (np.where(f > kinks.at, kinks.high, kinks.low) != s) & (kinks.share > 0)
        more = {"kinks": kinks, "f": f, "slopes": s, "extra": near | crossed, "width": 0.0, "gap": gap, "near": index}
        more |= {"hessian": inner.more.get("hessian"), "inner": inner.more}
        return State(inner.theta, value, gap, stuck=not crossed.any(), more=more)

    def finish(self, problem: Problem, state: State) -> State:
        """The rows on their kink, by their number among all."""
        inner = state.more.get("inner")
        if inner is None:
            return state
        kept = {key: value for key, value in state.more.items() if key not in ("inner", "near", "extra", "width")}
        corner = {"free": state.more["near"][inner["free"]]} if "free" in inner else {}
        return replace(state, more=kept | corner)


def _part(problem: Problem, index: NDArray[np.int64], alone: bool) -> Problem:
    """The problem on some rows, in the same coordinates; their weights over those of all rows, or of themselves."""
    rows = problem.rows
    assert isinstance(rows, MemoryRows)
    some = rows.taken(index)
    columns = problem.columns
    if alone:
        columns = replace(
            columns, weight=float(some.n) if some.weight is None else max(float(some.weight.sum()), 1e-300)
        )
    return Problem(some, problem.loss, problem.penalty, problem.alpha, intercept=problem.intercept, columns=columns)
