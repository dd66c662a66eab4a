"""An interior point for losses with a kink: hinge, absolute, quantile; with quadratic and absolute penalties."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.objective.losses.base import PiecewiseLinear
from gramian.objective.problem import Problem, is_ridge
from gramian.rows import Block
from gramian.solvers.base import INTERIOR_POINT_STEPS, MAX_DENSE_HESSIAN_COLUMNS, Solver, State, pass_cost
from gramian.solvers.duality import FEASIBLE, feasible_slopes
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.newton import solve_spd

MAX_NARROW_COLUMNS = 300  # sparse, or more than the rows, of which a Gram matrix is still the cheapest
NEAR = 0.9995  # how much of the way to the wall a step may go


@dataclass(frozen=True, eq=False)
class Kinks:
    """The kinks of all rows, and of the absolute penalty: one more row for each coefficient that has it.

    `share` are the weights over their sum (for the penalty: its strength); slopes lie in [low, high].
    """

    at: Floats
    low: Floats
    high: Floats
    share: Floats
    penalised: Ints
    linear: Floats  # (p,): what rows that are not here pull at θ

    @classmethod
    def of(cls, problem: Problem) -> "Kinks":
        loss = cast(PiecewiseLinear, problem.loss)

        def of_block(block: Block) -> list[Any]:
            assert block.y is not None
            y = block.y[:, 0]
            w = block.weights
            return [(*loss.kink(y), w)]

        at, low, high, w = (np.concatenate(part) for part in zip(*problem.rows.sum(of_block), strict=True))
        some = np.flatnonzero(problem.l1 > 0)
        one = np.ones(len(some))
        return cls(
            np.concatenate([at, 0.0 * one]),
            np.concatenate([low, -one]),
            np.concatenate([high, one]),
            np.concatenate([w / problem.columns.weight, problem.l1[some]]),
            some,
            np.zeros(problem.p),
        )

    def predictions(self, problem: Problem, theta: Floats) -> Floats:
        """Zθ of all rows, then the coefficients that are penalised by their absolute value."""
        parts = problem.rows.sum(
            lambda block: [problem.predictions(part, theta)[:, 0] for part, _, _ in problem.panels(block)]
        )
        return np.concatenate([*parts, theta[0, self.penalised]])

    def pull(self, problem: Problem, values: Floats) -> Floats:
        """Zᵀv, (p,)."""

        def of_block(block: Block) -> Floats:
            total, start = np.zeros(problem.p), block.start
            for part, y, _ in problem.panels(block):
                total += problem.pull(part, values[start : start + len(y), None])[0]
                start += len(y)
            return total

        found = problem.settled(problem.rows.sum(of_block)[None])[0]
        found[self.penalised] += values[len(values) - len(self.penalised) :]
        return found

    def gram(self, problem: Problem, values: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Zᵀ diag(values) Z (p, p) and Zᵀ right (p,) in one pass."""

        def of_block(block: Block) -> Floats:
            total, start = np.zeros((problem.p + 1, problem.p)), block.start
            for part, y, _ in problem.panels(block):
                some = slice(start, start + len(y))
                total[:-1] += problem.weighted_gram(part, values[some])
                total[-1] += problem.pull(part, right[some, None])[0]
                start += len(y)
            return total

        sums = problem.rows.sum(of_block)
        found = np.vstack([problem.settled_gram(sums[:-1]), problem.settled(sums[-1:])])
        extra = len(values) - len(self.penalised)
        found[self.penalised, self.penalised] += values[extra:]
        found[-1, self.penalised] += right[extra:]
        return found[:-1], found[-1]


def forms_gram(problem: Problem) -> bool:
    """Whether a Gram matrix is formed in each step: of not too many columns, unless they are mostly zeros."""
    mostly_zeros = problem.rows.is_sparse and problem.p > MAX_NARROW_COLUMNS
    return (problem.p <= MAX_DENSE_HESSIAN_COLUMNS or problem.rows.basis is not None) and not mostly_zeros


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """Primal and dual at once, along the central path (Mehrotra's predictor and corrector).

    Each row's slope s ∈ [low, high] is its dual variable; p and q are how far its prediction is below and above the
    kink. One weighted Gram matrix O(n p²) an iteration, two or three dozen iterations for any size; the duality gap is
    exact at each. Memory: a few vectors of length n.
    """

    factor: Any = None  # what the share of each row is multiplied by, where it is not one
    linear: Any = None  # (p,): a linear term of the objective
    name: ClassVar[str] = "interior point"
    unit: ClassVar[str] = "interior-point steps"

    def supports(self, problem: Problem) -> bool:
        """A loss with a kink; no bounds, no groups."""
        p = problem.parts
        return problem.loss.piecewise_linear and p is not None and not p.groups and not p.bounded

    def cost(self, problem: Problem) -> float:
        """A weighted Gram matrix of n p² multiplications a step, where it is formed and rows are not the fewer."""
        wide = problem.rows.n < problem.p and problem.p > MAX_NARROW_COLUMNS and is_ridge(problem)
        return INTERIOR_POINT_STEPS * pass_cost(problem) * problem.p if forms_gram(problem) and not wide else np.inf

    def reason(self, problem: Problem) -> str:
        return f"{type(problem.loss).__name__} has a kink: primal and dual at once, a few dozen Gram matrices"

    def init(self, problem: Problem, start: Floats | None) -> State:
        kinks = Kinks.of(problem)
        if self.factor is not None:
            kinks.share[: len(self.factor)] *= self.factor
        if self.linear is not None:
            kinks.linear[:] = self.linear
        theta = problem.zero() if start is None else start
        s = (kinks.low + kinks.high) / 2.0
        f = kinks.predictions(problem, theta)
        e = f - kinks.at
        width = float(np.abs(e[kinks.share > 0]).mean()) + 1e-3
        spare = np.maximum(np.abs(e), width)
        below = np.where(e < 0, spare, 0.0) + 0.1 * width
        above = below + e
        lift = np.maximum(0.1 * width - above, 0.0)
        return self._state(problem, kinks, theta, f, s, below + lift, above + lift)

    def step(self, problem: Problem, state: State) -> State:
        kinks: Kinks = state.more["kinks"]
        s, p, q, f = (state.more[name] for name in ("slopes", "below", "above", "f"))
        least = 1e-15 * (kinks.high - kinks.low)
        a, b = np.maximum(s - kinks.low, least), np.maximum(kinks.high - s, least)
        p, q = np.maximum(p, 1e-200), np.maximum(q, 1e-200)
        share = kinks.share
        miss = f - kinks.at - q + p
        D = 1.0 / (q / b + p / a)
        mu = float(share @ (a * p + b * q)) / (2.0 * float(share.sum()))
        # predictor: straight at the optimum
        rho = miss + q - p  # with r1 = −a p and r2 = −b q
        H, pulled = kinks.gram(problem, share * D, share * (s + D * rho))
        H = H + problem.bend
        if not np.isfinite(H).all() or not np.isfinite(pulled).all():
            return replace(state, stalled=True)
        slope = self._slope(problem, state.theta) + kinks.linear
        step = -solve_spd(H, slope + pulled)
        moved = kinks.predictions(problem, step[None, :])
        ds = D * (moved + rho)
        dp, dq = -p - p * ds / a, -q + q * ds / b
        reach = min(_reach(a, ds), _reach(b, -ds), _reach(p, dp), _reach(q, dq))
        aim = float(share @ ((a + reach * ds) * (p + reach * dp) + (b - reach * ds) * (q + reach * dq)))
        sigma = min((aim / (2.0 * float(share.sum())) / mu) ** 3, 1.0) if mu > 0 else 0.0
        # corrector: back to the centre, and what the predictor left of second order
        r1 = sigma * mu - a * p - ds * dp
        r2 = sigma * mu - b * q + ds * dq
        rho = miss - r2 / b + r1 / a
        step = -solve_spd(H, slope + kinks.pull(problem, share * (s + D * rho)))
        moved = kinks.predictions(problem, step[None, :])
        ds = D * (moved + rho)
        dp, dq = (r1 - p * ds) / a, (r2 + q * ds) / b
        reach = min(1.0, NEAR * min(_reach(a, ds), _reach(b, -ds), _reach(p, dp), _reach(q, dq)))
        theta = state.theta + reach * step[None, :]
        next_state = self._state(
            problem, kinks, theta, f + reach * moved, s + reach * ds, p + reach * dp, q + reach * dq
        )
        next_state.more["hessian"] = H
        next_state.stalled = reach < 1e-8
        return next_state

    def finish(self, problem: Problem, state: State) -> State:
        """The corner that the path leads to, where it is better."""
        from gramian.solvers.nonsmooth.crossover import cross_over

        more = state.more
        corner = cross_over(problem, more["kinks"], more["slopes"], more["below"], more["above"])
        if corner is None:
            return self._with_zeros(problem, state)
        theta, f, s, free = corner
        found = self._state(problem, more["kinks"], theta, f, s, more["below"], more["above"])
        if not found.measure <= state.measure:
            return self._with_zeros(problem, state)
        found.more |= {"hessian": more.get("hessian"), "free": free}
        return found

    def _with_zeros(self, problem: Problem, state: State) -> State:
        """Coefficients whose penalty's slope is strictly between its ends are zero: set so where that is as good."""
        kinks: Kinks = state.more["kinks"]
        if not len(kinks.penalised):
            return state
        inside = np.abs(state.more["slopes"][len(kinks.at) - len(kinks.penalised) :]) < 1.0 - 1e-4
        theta = state.theta.copy()
        theta[0, kinks.penalised[inside]] = 0.0
        f = kinks.predictions(problem, theta)
        found = self._state(problem, kinks, theta, f, state.more["slopes"], state.more["below"], state.more["above"])
        if not found.measure <= max(2.0 * state.measure, 1e-9):
            return state
        found.more["hessian"] = state.more.get("hessian")
        return found

    @staticmethod
    def _slope(problem: Problem, theta: Floats) -> Floats:
        found = np.zeros(problem.p)
        found[: problem.d] = problem.quadratic(theta)[1][0]
        return found

    def _state(
        self, problem: Problem, kinks: Kinks, theta: Floats, f: Floats, s: Floats, below: Floats, above: Floats
    ) -> State:
        value = primal_value(problem, kinks, theta, f)
        dual = dual_value(problem, kinks, s)
        gap = (value - dual) / max(abs(value), problem.least_value)
        if problem.parts is not None and not problem.square.any() and not problem.l1.any():
            gap = self._free_gap(problem, kinks, theta, f, s) / max(abs(value), problem.least_value)
        more = {"kinks": kinks, "slopes": s, "below": below, "above": above, "f": f, "gap": gap}
        return State(theta, value, gap, more=more)

    @staticmethod
    def _free_gap(problem: Problem, kinks: Kinks, theta: Floats, f: Floats, s: Floats) -> float:
        """Without a penalty: complementarity, and what the equations of the dual lack times the coefficients."""
        e = f - kinks.at
        loss = np.maximum(kinks.low * e, kinks.high * e)
        left = kinks.pull(problem, kinks.share * s)
        return float(kinks.share @ (loss - s * e) + np.abs((left + kinks.linear) * theta[0]).sum())


def balanced(kinks: Kinks, s: Floats, n: int) -> Floats:
    """Slopes that satisfy the equation of the intercept, Σ share s = −linear: the larger side is shrunk."""
    mass = kinks.share[:n] * s[:n]
    up, down = float(mass[mass > 0].sum()), -float(mass[mass < 0].sum())
    excess = up - down + float(kinks.linear[-1])
    found = s.copy()
    if excess > 0 and up > 0:
        found[:n] = np.where(mass > 0, s[:n] * max(1.0 - excess / up, 0.0), s[:n])
    elif excess < 0 and down > 0:
        found[:n] = np.where(mass < 0, s[:n] * max(1.0 + excess / down, 0.0), s[:n])
    return found


def dual_value(problem: Problem, kinks: Kinks, s: Floats) -> float:
    """−Σ share s at − ¼ gᵀS⁻¹g with g = Zᵀ(share s), after s is balanced and scaled so that it is feasible."""
    n = len(s) - len(kinks.penalised)
    if problem.intercept:
        s = balanced(kinks, s, n)
    g = (kinks.pull(problem, kinks.share * s) + kinks.linear)[: problem.d]
    own = g.copy()
    own[kinks.penalised] -= (kinks.share * s)[n:]  # of the rows alone: the penalty's slopes are set best below
    square, l1 = problem.square, problem.l1
    if square.ndim == 2:
        return _coupled_dual_value(problem, kinks, s[:n])
    over = np.maximum(np.abs(own) - l1, 0.0)
    free = square <= 0
    shrink = 1.0
    if free.any() and (over[free] > 0).any():
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = float(np.min(np.where(over[free] > 0, l1[free] / np.abs(own[free]), 1.0)))
        over = np.maximum(shrink * np.abs(own) - l1, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        quadratic = float(np.where(free, 0.0, over**2 / np.where(free, 1.0, square)).sum()) / 4.0
    return -shrink * float((kinks.share * s * kinks.at)[:n].sum()) - quadratic


def _coupled_dual_value(problem: Problem, kinks: Kinks, s: Floats) -> float:
    """The same for a penalty matrix S: g must lie in its range, to which the slopes are moved; −∞ where they cannot."""
    rows = RowProducts(problem)
    rows.share = kinks.share[: len(s)]
    u, pulled = feasible_slopes(problem, rows, s[:, None], kinks.linear)
    g = pulled[0, : problem.d]
    solved = solve_spd(problem.square, g)
    missed = np.append(g - problem.square @ solved, pulled[0, problem.d :])
    if np.abs(missed).max() > FEASIBLE * max(float(rows.share @ np.abs(u[:, 0])), 1e-300):
        return -np.inf if kinks.linear.any() else 0.0  # no slopes at all: no loss is below zero
    return -float(rows.share @ (u[:, 0] * kinks.at[: len(s)])) - float(g @ solved) / 4.0


def unmet(problem: Problem, theta: Floats, pulled: Floats) -> float:
    """What a duality gap has of equations that are not met, where the slopes of all rows pull so much, (m, p)."""
    d, square = problem.d, problem.square
    rest = pulled[:, :d] + problem.quadratic(theta)[1]
    found = float(np.abs(theta[:, d] * pulled[:, d]).sum()) if problem.intercept else 0.0
    if square.ndim == 2:
        solved = solve_spd(square, rest.T).T
        missed = np.abs((rest - solved @ square) * theta[:, :d]).sum()
        return found + float((rest * solved).sum()) / 4.0 + float(missed)
    free = square <= 0
    found += float((rest**2 / np.where(free, np.inf, square)).sum()) / 4.0
    return found + float(np.abs(rest[:, free] * theta[:, :d][:, free]).sum())


def primal_value(problem: Problem, kinks: Kinks, theta: Floats, f: Floats) -> float:
    """The objective of θ, from its predictions."""
    e = f - kinks.at
    loss = float(kinks.share @ np.maximum(kinks.low * e, kinks.high * e))
    return loss + problem.quadratic(theta)[0] + float(kinks.linear @ theta[0])


def _reach(x: Floats, dx: Floats) -> float:
    """How far x + t dx stays positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.min(np.where(dx < 0, -x / dx, np.inf), initial=np.inf))
