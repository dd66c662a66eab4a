"""An interior point for piecewise-linear losses: hinge, absolute, quantile; with quadratic and absolute penalties."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.objective.losses.base import PiecewiseLinear
from gramian.objective.problem import Problem, is_ridge
from gramian.rows import Block
from gramian.solvers.base import INTERIOR_POINT_STEPS, MAX_DENSE_HESSIAN_COLUMNS, Details, Solver, State, pass_cost
from gramian.solvers.duality import FEASIBLE, feasible_slopes
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.newton import solve_spd

MAX_NARROW_COLUMNS = 300  # sparse, or more than the rows, of which a Gram matrix is still the cheapest
MAX_BOUNDARY_STEP = 0.9995  # of the step that reaches the boundary


@dataclass(frozen=True, eq=False)
class Breakpoints:
    """The breakpoint of each row's loss, and of the absolute penalty: one more row for each coefficient that has it.

    `weights` are those of the rows over their sum (for the penalty: its strength); slopes lie in [low, high].
    """

    at: Floats
    low: Floats
    high: Floats
    weights: Floats
    penalised: Ints
    linear: Floats  # (p,): the gradient of a linear term, as of rows that are not here

    @classmethod
    def of(cls, problem: Problem) -> "Breakpoints":
        loss = cast(PiecewiseLinear, problem.loss)

        def of_block(block: Block) -> list[Any]:
            assert block.y is not None
            y = block.y[:, 0]
            w = block.weights
            return [(*loss.breakpoint(y), w)]

        at, low, high, w = (np.concatenate(part) for part in zip(*problem.rows.sum(of_block), strict=True))
        penalised = np.flatnonzero(problem.l1 > 0)
        one = np.ones(len(penalised))
        return cls(
            np.concatenate([at, 0.0 * one]),
            np.concatenate([low, -one]),
            np.concatenate([high, one]),
            np.concatenate([w / problem.columns.weight, problem.l1[penalised]]),
            penalised,
            np.zeros(problem.p),
        )

    def predictions(self, problem: Problem, theta: Floats) -> Floats:
        """Zθ of all rows, then the coefficients that are penalised by their absolute value."""
        parts = problem.rows.sum(
            lambda block: [problem.predictions(part, theta)[:, 0] for part, _, _ in problem.panels(block)]
        )
        return np.concatenate([*parts, theta[0, self.penalised]])

    def gradient_sums(self, problem: Problem, values: Floats) -> Floats:
        """Zᵀv, (p,)."""

        def of_block(block: Block) -> Floats:
            total, start = np.zeros(problem.p), block.start
            for part, y, _ in problem.panels(block):
                total += problem.gradient_sums(part, values[start : start + len(y), None])[0]
                start += len(y)
            return total

        product = problem.settled(problem.rows.sum(of_block)[None])[0]
        product[self.penalised] += values[len(values) - len(self.penalised) :]
        return product

    def gram(self, problem: Problem, values: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Zᵀ diag(values) Z (p, p) and Zᵀ right (p,) in one pass."""

        def of_block(block: Block) -> Floats:
            total, start = np.zeros((problem.p + 1, problem.p)), block.start
            for part, y, _ in problem.panels(block):
                rows = slice(start, start + len(y))
                total[:-1] += problem.weighted_gram(part, values[rows])
                total[-1] += problem.gradient_sums(part, right[rows, None])[0]
                start += len(y)
            return total

        sums = problem.rows.sum(of_block)
        gram, product = problem.settled_gram(sums[:-1]), problem.settled(sums[-1:])[0]
        n = len(values) - len(self.penalised)
        gram[self.penalised, self.penalised] += values[n:]
        product[self.penalised] += right[n:]
        return gram, product


def forms_gram(problem: Problem) -> bool:
    """Whether a Gram matrix is formed in each step: of not too many columns, unless they are mostly zeros."""
    mostly_zeros = problem.rows.is_sparse and problem.p > MAX_NARROW_COLUMNS
    return (problem.p <= MAX_DENSE_HESSIAN_COLUMNS or problem.rows.basis is not None) and not mostly_zeros


@dataclass(kw_only=True)
class InteriorPointState(State):
    """With the dual variables of the rows, and how far their predictions are below and above their breakpoints."""

    breakpoints: Breakpoints
    f: Floats
    dual: Floats
    below: Floats
    above: Floats
    hessian: Floats | None = None  # of the last step

    @property
    def details(self) -> Details:
        return Details(dual=self.dual, hessian=self.hessian)


@dataclass(frozen=True)
class InteriorPoint(Solver[InteriorPointState]):
    """Primal and dual at once, along the central path (Mehrotra's predictor and corrector).

    Each row's slope s ∈ [low, high] is its dual variable; p and q are how far its prediction is below and above its
    breakpoint. One weighted Gram matrix O(n p²) an iteration, two or three dozen iterations for any size; the duality
    gap is exact at each. Memory: a few vectors of length n.
    """

    factor: Any = None  # by which the weight of each row is multiplied, where it is not one
    linear: Any = None  # (p,): a linear term of the objective
    name: ClassVar[str] = "interior point"
    unit: ClassVar[str] = "interior-point steps"

    def supports(self, problem: Problem) -> bool:
        """A piecewise-linear loss; no bounds, no groups."""
        p = problem.parts
        return problem.loss.piecewise_linear and p is not None and not p.groups and not p.bounded

    def cost(self, problem: Problem) -> float:
        """A weighted Gram matrix of n p² multiplications a step, where it is formed and rows are not the fewer."""
        wide = problem.rows.n < problem.p and problem.p > MAX_NARROW_COLUMNS and is_ridge(problem)
        return INTERIOR_POINT_STEPS * pass_cost(problem) * problem.p if forms_gram(problem) and not wide else np.inf

    def reason(self, problem: Problem) -> str:
        return f"{type(problem.loss).__name__} is piecewise linear: primal and dual at once, a few dozen Gram matrices"

    def init(self, problem: Problem, start: Floats | None) -> InteriorPointState:
        breakpoints = Breakpoints.of(problem)
        if self.factor is not None:
            breakpoints.weights[: len(self.factor)] *= self.factor
        if self.linear is not None:
            breakpoints.linear[:] = self.linear
        theta = problem.zero() if start is None else start
        s = (breakpoints.low + breakpoints.high) / 2.0
        f = breakpoints.predictions(problem, theta)
        e = f - breakpoints.at
        width = float(np.abs(e[breakpoints.weights > 0]).mean()) + 1e-3
        spare = np.maximum(np.abs(e), width)
        below = np.where(e < 0, spare, 0.0) + 0.1 * width
        above = below + e
        lift = np.maximum(0.1 * width - above, 0.0)
        return self._state(problem, breakpoints, theta, f, s, below + lift, above + lift)

    def step(self, problem: Problem, state: InteriorPointState) -> InteriorPointState:
        breakpoints, s, p, q, f = state.breakpoints, state.dual, state.below, state.above, state.f
        min_room = 1e-15 * (breakpoints.high - breakpoints.low)
        a, b = np.maximum(s - breakpoints.low, min_room), np.maximum(breakpoints.high - s, min_room)
        p, q = np.maximum(p, 1e-200), np.maximum(q, 1e-200)
        share = breakpoints.weights
        miss = f - breakpoints.at - q + p
        D = 1.0 / (q / b + p / a)
        mu = float(share @ (a * p + b * q)) / (2.0 * float(share.sum()))
        # predictor: towards the optimum itself
        rho = miss + q - p  # with r1 = −a p and r2 = −b q
        H, product = breakpoints.gram(problem, share * D, share * (s + D * rho))
        H = H + problem.penalty_hessian
        if not np.isfinite(H).all() or not np.isfinite(product).all():
            return replace(state, stalled=True)
        slope = self._slope(problem, state.theta) + breakpoints.linear
        step = -solve_spd(H, slope + product)
        change = breakpoints.predictions(problem, step[None, :])
        ds = D * (change + rho)
        dp, dq = -p - p * ds / a, -q + q * ds / b
        reach = min(max_step(a, ds), max_step(b, -ds), max_step(p, dp), max_step(q, dq))
        predicted = float(share @ ((a + reach * ds) * (p + reach * dp) + (b - reach * ds) * (q + reach * dq)))
        sigma = min((predicted / (2.0 * float(share.sum())) / mu) ** 3, 1.0) if mu > 0 else 0.0
        # corrector: back to the central path, with the second-order term of the predictor
        r1 = sigma * mu - a * p - ds * dp
        r2 = sigma * mu - b * q + ds * dq
        rho = miss - r2 / b + r1 / a
        step = -solve_spd(H, slope + breakpoints.gradient_sums(problem, share * (s + D * rho)))
        change = breakpoints.predictions(problem, step[None, :])
        ds = D * (change + rho)
        dp, dq = (r1 - p * ds) / a, (r2 + q * ds) / b
        reach = min(1.0, MAX_BOUNDARY_STEP * min(max_step(a, ds), max_step(b, -ds), max_step(p, dp), max_step(q, dq)))
        theta = state.theta + reach * step[None, :]
        next_state = self._state(
            problem, breakpoints, theta, f + reach * change, s + reach * ds, p + reach * dp, q + reach * dq
        )
        return replace(next_state, hessian=H, stalled=reach < 1e-8)

    def finish(self, problem: Problem, state: InteriorPointState) -> InteriorPointState:
        """The vertex that the path leads to, where it is better."""
        from gramian.solvers.nonsmooth.crossover import cross_over

        vertex = cross_over(problem, state.breakpoints, state.dual, state.below, state.above)
        if vertex is None:
            return self._with_zeros(problem, state)
        theta, f, s = vertex
        crossed = self._state(problem, state.breakpoints, theta, f, s, state.below, state.above)
        if not crossed.residual <= state.residual:
            return self._with_zeros(problem, state)
        return replace(crossed, hessian=state.hessian)

    def _with_zeros(self, problem: Problem, state: InteriorPointState) -> InteriorPointState:
        """Coefficients whose penalty's slope is strictly between its ends are zero: set so where that is as good."""
        breakpoints = state.breakpoints
        if not len(breakpoints.penalised):
            return state
        zero = np.abs(state.dual[len(breakpoints.at) - len(breakpoints.penalised) :]) < 1.0 - 1e-4
        theta = state.theta.copy()
        theta[0, breakpoints.penalised[zero]] = 0.0
        f = breakpoints.predictions(problem, theta)
        sparse = self._state(problem, breakpoints, theta, f, state.dual, state.below, state.above)
        return replace(sparse, hessian=state.hessian) if sparse.residual <= max(2.0 * state.residual, 1e-9) else state

    @staticmethod
    def _slope(problem: Problem, theta: Floats) -> Floats:
        slope = np.zeros(problem.p)
        slope[: problem.d] = problem.quadratic(theta)[1][0]
        return slope

    def _state(
        self,
        problem: Problem,
        breakpoints: Breakpoints,
        theta: Floats,
        f: Floats,
        s: Floats,
        below: Floats,
        above: Floats,
    ) -> InteriorPointState:
        value = primal_value(problem, breakpoints, theta, f)
        dual = dual_value(problem, breakpoints, s)
        gap = (value - dual) / max(abs(value), problem.least_value)
        if problem.parts is not None and not problem.square.any() and not problem.l1.any():
            gap = self._free_gap(problem, breakpoints, theta, f, s) / max(abs(value), problem.least_value)
        return InteriorPointState(theta, value, gap, breakpoints=breakpoints, f=f, dual=s, below=below, above=above)

    @staticmethod
    def _free_gap(problem: Problem, breakpoints: Breakpoints, theta: Floats, f: Floats, s: Floats) -> float:
        """Without a penalty: complementarity, and what the equations of the dual lack times the coefficients."""
        e = f - breakpoints.at
        loss = np.maximum(breakpoints.low * e, breakpoints.high * e)
        gradient = breakpoints.gradient_sums(problem, breakpoints.weights * s) + breakpoints.linear
        return float(breakpoints.weights @ (loss - s * e) + np.abs(gradient * theta[0]).sum())


def balanced(breakpoints: Breakpoints, s: Floats, n: int) -> Floats:
    """Slopes that satisfy the equation of the intercept, Σ weights s = −linear: the larger side is shrunk."""
    mass = breakpoints.weights[:n] * s[:n]
    up, down = float(mass[mass > 0].sum()), -float(mass[mass < 0].sum())
    excess = up - down + float(breakpoints.linear[-1])
    balanced_s = s.copy()
    if excess > 0 and up > 0:
        balanced_s[:n] = np.where(mass > 0, s[:n] * max(1.0 - excess / up, 0.0), s[:n])
    elif excess < 0 and down > 0:
        balanced_s[:n] = np.where(mass < 0, s[:n] * max(1.0 + excess / down, 0.0), s[:n])
    return balanced_s


def dual_value(problem: Problem, breakpoints: Breakpoints, s: Floats) -> float:
    """−Σ weights s at − ¼ gᵀS⁻¹g with g = Zᵀ(weights s), after s is balanced and scaled so that it is feasible."""
    n = len(s) - len(breakpoints.penalised)
    if problem.intercept:
        s = balanced(breakpoints, s, n)
    g = (breakpoints.gradient_sums(problem, breakpoints.weights * s) + breakpoints.linear)[: problem.d]
    own = g.copy()
    own[breakpoints.penalised] -= (breakpoints.weights * s)[
        n:
    ]  # of the rows alone: the penalty's slopes are set best below
    square, l1 = problem.square, problem.l1
    if square.ndim == 2:
        return _coupled_dual_value(problem, breakpoints, s[:n])
    over = np.maximum(np.abs(own) - l1, 0.0)
    free = square <= 0
    shrink = 1.0
    if free.any() and (over[free] > 0).any():
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = float(np.min(np.where(over[free] > 0, l1[free] / np.abs(own[free]), 1.0)))
        over = np.maximum(shrink * np.abs(own) - l1, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        quadratic = float(np.where(free, 0.0, over**2 / np.where(free, 1.0, square)).sum()) / 4.0
    return -shrink * float((breakpoints.weights * s * breakpoints.at)[:n].sum()) - quadratic


def _coupled_dual_value(problem: Problem, breakpoints: Breakpoints, s: Floats) -> float:
    """The same for a penalty matrix S: g must lie in its range, to which the slopes are moved; −∞ where they cannot."""
    rows = RowProducts(problem)
    rows.share = breakpoints.weights[: len(s)]
    u, pulled = feasible_slopes(problem, rows, s[:, None], breakpoints.linear)
    g = pulled[0, : problem.d]
    solved = solve_spd(problem.square, g)
    missed = np.append(g - problem.square @ solved, pulled[0, problem.d :])
    if np.abs(missed).max() > FEASIBLE * max(float(rows.share @ np.abs(u[:, 0])), 1e-300):
        return -np.inf if breakpoints.linear.any() else 0.0  # no slopes at all: no loss is below zero
    return -float(rows.share @ (u[:, 0] * breakpoints.at[: len(s)])) - float(g @ solved) / 4.0


def unmet(problem: Problem, theta: Floats, sums: Floats) -> float:
    """What a duality gap has of equations that are not met, where the slopes of all rows have these sums, (m, p)."""
    d, square = problem.d, problem.square
    rest = sums[:, :d] + problem.quadratic(theta)[1]
    gap = float(np.abs(theta[:, d] * sums[:, d]).sum()) if problem.intercept else 0.0
    if square.ndim == 2:
        solved = solve_spd(square, rest.T).T
        miss = np.abs((rest - solved @ square) * theta[:, :d]).sum()
        return gap + float((rest * solved).sum()) / 4.0 + float(miss)
    free = square <= 0
    gap += float((rest**2 / np.where(free, np.inf, square)).sum()) / 4.0
    return gap + float(np.abs(rest[:, free] * theta[:, :d][:, free]).sum())


def primal_value(problem: Problem, breakpoints: Breakpoints, theta: Floats, f: Floats) -> float:
    """The objective of θ, from its predictions."""
    e = f - breakpoints.at
    loss = float(breakpoints.weights @ np.maximum(breakpoints.low * e, breakpoints.high * e))
    return loss + problem.quadratic(theta)[0] + float(breakpoints.linear @ theta[0])


def max_step(x: Floats, dx: Floats) -> float:
    """The largest t for which x + t dx is not negative."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.min(np.where(dx < 0, -x / dx, np.inf), initial=np.inf))
