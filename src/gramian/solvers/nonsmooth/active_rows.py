"""An interior point on the rows near their breakpoint, for piecewise-linear losses of many rows."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gramian._core.types import Bools, Floats
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows
from gramian.solvers.base import Details, Solver, State, pass_cost, run
from gramian.solvers.nonsmooth.interior_point import Breakpoints, InteriorPoint, dual_value, forms_gram, primal_value
from gramian.solvers.nonsmooth.smoothed_newton import SmoothedNewton
from gramian.solvers.smooth.landmark_problem import LandmarkProblem, part_of

SAMPLE = 20_000  # rows that tell roughly where the optimum is
MIN_ROWS = 60_000  # beyond, rows far from their breakpoint are worth leaving out
PASSES = 30  # over all rows
MIN_TOL = 1e-14  # of the interior point
MAX_GATHERED_CELLS = 100_000_000  # numbers of features kept in memory


@dataclass(kw_only=True)
class ActiveRowsState(State):
    """With the rows that the next interior point works on: those within the width, and others known to cross."""

    breakpoints: Breakpoints
    f: Floats
    dual: Floats
    width: float
    included: Bools  # rows beyond the width that are worked on too
    inner_tol: float = 1e-9
    hessian: Floats | None = None

    @property
    def details(self) -> Details:
        return Details(dual=self.dual, hessian=self.hessian)


@dataclass(frozen=True)
class ActiveRowsInteriorPoint(Solver[ActiveRowsState]):
    """The minimum of a smoothed loss says on which side of its breakpoint a row is; only rows near it are worked on.

    A row on a known side has a known slope, so it is part of a linear term. Rows that turn out to be on the other side
    are included, until the duality gap over all rows is closed. A dozen passes over all rows, and an interior point on
    a few rows for each coefficient.
    """

    name: ClassVar[str] = "interior point on active rows"
    unit: ClassVar[str] = "rounds"
    uses_landmarks: ClassVar[bool] = True

    def supports(self, problem: Problem) -> bool:
        """A piecewise-linear loss and a quadratic penalty, rows that have subsets."""
        return SmoothedNewton().supports(problem)

    def cost(self, problem: Problem) -> float:
        """Passes over all rows: of landmarks, whose features a pass makes anew, and of many dense rows in memory."""
        rows = problem.rows
        many = isinstance(rows, MemoryRows) and rows.n > MIN_ROWS and forms_gram(problem)
        return PASSES * pass_cost(problem) if rows.basis is not None or many else np.inf

    def reason(self, problem: Problem) -> str:
        name = type(problem.loss).__name__
        if problem.rows.basis is not None:
            return f"{name} is piecewise linear, and only rows near their breakpoint keep their {problem.d} features"
        return f"{name} is piecewise linear, and few of {problem.rows.n} rows are near their breakpoint"

    def init(self, problem: Problem, start: Floats | None) -> ActiveRowsState:
        if start is None and isinstance(problem.rows, MemoryRows):
            start = _on_sample(problem)
        smoothed = run(SmoothedNewton(), problem, start, max_iter=200, tol=1e-12, inner=True).state
        breakpoints, f = smoothed.breakpoints, smoothed.f
        distances = np.abs(f - breakpoints.at)[breakpoints.weights > 0]
        count = min(2 * problem.p, len(distances) - 1)  # rows that a vertex may need
        width = max(smoothed.width, float(np.partition(distances, count)[count]))
        return ActiveRowsState(
            smoothed.theta, smoothed.value, np.inf,
            breakpoints=breakpoints, f=f, dual=smoothed.dual, width=width, included=np.zeros(len(f), dtype=bool),
        )  # fmt: skip

    def step(self, problem: Problem, state: ActiveRowsState) -> ActiveRowsState:
        breakpoints = state.breakpoints
        e = state.f - breakpoints.at
        active = ((np.abs(e) <= state.width) | state.included) & (breakpoints.weights > 0)
        s = np.where(e > 0, breakpoints.high, breakpoints.low)
        inactive = ~active & (breakpoints.weights > 0)
        linear = breakpoints.gradient_sums(problem, np.where(inactive, breakpoints.weights * s, 0.0))
        index = np.flatnonzero(active)
        method, part = InteriorPoint(linear=linear), _gathered(part_of(problem, index))
        tol = state.inner_tol
        inner = run(method, part, state.theta, max_iter=100, tol=tol, inner=True).state
        s[index] = inner.dual
        s[breakpoints.weights <= 0] = np.clip(0.0, breakpoints.low, breakpoints.high)[breakpoints.weights <= 0]
        f = breakpoints.predictions(problem, inner.theta)
        value = primal_value(problem, breakpoints, inner.theta, f)
        gap = (value - dual_value(problem, breakpoints, s)) / max(abs(value), problem.least_value)
        crossed = (
            ~active & (np.where(f > breakpoints.at, breakpoints.high, breakpoints.low) != s) & (breakpoints.weights > 0)
        )
        # Where the loss is small beside the sums over the other rows, the interior point must be more exact.
        inner_tol = 1e-9 if crossed.any() else 1e-3 * tol
        return ActiveRowsState(
            inner.theta, value, gap, stalled=not crossed.any() and tol < MIN_TOL,
            breakpoints=breakpoints, f=f, dual=s, width=0.0, included=active | crossed, inner_tol=inner_tol,
            hessian=inner.hessian,
        )  # fmt: skip


def _on_sample(problem: Problem) -> Floats:
    """Roughly the optimum, from some of the rows."""
    stride = max(problem.rows.n // SAMPLE, 1)
    part = part_of(problem, np.arange(stride // 2, problem.rows.n, stride), alone=True)
    return run(SmoothedNewton(), part, max_iter=60, tol=1e-3, inner=True).theta


def _gathered(problem: Problem) -> Problem:
    """The same with its features in memory, unless they are too many for it."""
    if not isinstance(problem, LandmarkProblem) or problem.rows.n * problem.p > MAX_GATHERED_CELLS:
        return problem
    block = problem.features.collect()
    return problem.on(MemoryRows(block.X, block.y, block.weight, target_names=("y",)), problem.columns)
