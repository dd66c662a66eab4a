"""Any convex loss with any convex penalty: an augmented Lagrangian minimised by semismooth Newton steps."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.solvers.base import LAST_RESORT_PASSES, Details, Solver, State, pass_cost
from gramian.solvers.duality import duality_gap
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.newton import SUFFICIENT_DECREASE, solver_of

WITHOUT_MARGIN = (
    "without a margin the objective is least with no coefficients at all; gm.Perceptron is the algorithm that stops at "
    "the first separating hyperplane"
)
MAX_DENSE = 2000  # numbers in θ whose Hessian is formed
MAX_NEWTON_STEPS = 60  # of one multiplier update
MAX_IDLE_STEPS = 3  # that lower the value by rounding only
MAX_CG_STEPS = 200
MAX_JACOBIAN = 300  # columns of a penalty known by its prox alone, whose Jacobian is taken by differences
GROWTH, LARGEST_GROWTH = 4.0, 1e8  # of the penalty parameter in one update, and in all
PATIENCE = 8  # updates without a better gap
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class _Fixed:
    """What all updates share: the rows, and the units in which their quantities are small or large."""

    rows: RowProducts
    sigma: float  # the first penalty parameter
    slope: float  # mean slope of the loss at the start
    value: float  # a large unit of the objective

    @property
    def min_slope(self) -> float:
        return max(1e-8 * self.slope, 1e-300)


@dataclass(kw_only=True)
class PrimalDualState(State):
    """With the multipliers, and the minimum of the augmented Lagrangian, of which θ is the proximal point."""

    fixed: _Fixed
    dual: Floats  # (n, m), of f = Zθ: slopes of the loss
    penalty_dual: Floats  # (m, d), of c = θ
    sigma: float  # the penalty parameter
    minimum: Floats  # θ of the augmented Lagrangian
    f: Floats  # its predictions
    distance: float  # gap and infeasibility, in a large unit: falls where the relative gap is not small yet
    change: float = np.inf  # of the multipliers over the penalty parameter
    min_change: float = np.inf
    forcing: float = 5e-3  # residual of the subproblem, next to the mean slope
    idle_updates: int = 0  # without a better gap
    best: "PrimalDualState | None" = None  # None where it is this one

    @property
    def details(self) -> Details:
        return Details(dual=self.dual[:, 0] if len(self.theta) == 1 else self.dual)


@dataclass(frozen=True)
class PrimalDual(Solver[PrimalDualState]):
    """The method of multipliers on f = Zθ and c = θ, its subproblems solved by semismooth Newton (Li, Sun, Toh 2018).

    Loss and penalty are needed only by their Moreau envelopes, so that every convex pair is solved, breakpoints, norms,
    bounds and several outputs among them. The subproblem is smooth in θ: a Newton step costs one weighted Gram matrix
    O(n p²), or products with it by conjugate gradients where θ is large. The multipliers are slopes of the loss: a
    point of the dual, so the duality gap is known after each update. Memory: a few vectors of length n.
    """

    factor: Any = None  # by which the weight of each row is multiplied, where it is not one
    name: ClassVar[str] = "primal-dual"
    unit: ClassVar[str] = "multiplier updates"
    may_diverge: ClassVar[bool] = True
    last_resort: ClassVar[bool] = True
    min_tol: ClassVar[float] = 1e-6  # where columns differ by many orders, rounding of the multipliers leaves that

    def supports(self, problem: Problem) -> bool:
        """Every convex loss whose scale is given, with every convex penalty, or with any where zero is optimal."""
        loss = problem.loss
        return loss.convex and not loss.estimates_scale and (problem.penalty.convex or loss.zero_is_optimal)

    def cost(self, problem: Problem) -> float:
        """More passes than any other solver; one where no coefficients at all are optimal."""
        return pass_cost(problem) * (1.0 if problem.loss.zero_is_optimal else LAST_RESORT_PASSES)

    def reason(self, problem: Problem) -> str:
        if problem.loss.zero_is_optimal:
            return WITHOUT_MARGIN
        loss, penalty = type(problem.loss).__name__, type(problem.penalty).__name__
        return f"{loss} and {penalty} are convex: their envelopes are all it needs"

    def init(self, problem: Problem, start: Floats | None) -> PrimalDualState:
        rows = RowProducts(problem)
        if self.factor is not None:
            rows.share = rows.share * self.factor
        theta = problem.zero() if start is None else start.copy()
        f = rows.predictions(theta)
        u = problem.loss.gradient(rows.y, _as_loss_takes(problem, f)).reshape(f.shape)
        slope = float(rows.share @ np.abs(u).sum(axis=1))
        if not problem.loss.smooth:
            u = np.zeros_like(u)  # in the middle of the domain, so that rows are curved at first
        spread = 1.0
        if problem.loss.targets == "numbers":
            spread = float(rows.share @ np.abs(rows.y - f[:, 0])) or 1.0
        sigma = slope / spread if 0.0 < slope < np.inf else 1.0
        fixed = _Fixed(rows, sigma, slope, max(1e6 * problem.least_value, 1e-300))
        return self._state(problem, fixed, theta, f, u, np.zeros((problem.m, problem.d)), sigma)

    def done(self, state: PrimalDualState, tol: float) -> bool:
        """The gap is closed, or does not close any more."""
        return super().done(state, tol) or state.idle_updates > PATIENCE

    def step(self, problem: Problem, state: PrimalDualState) -> PrimalDualState:
        best, fixed, sigma = state.best or state, state.fixed, state.sigma
        forcing = max(1e-13, min(0.2 * state.forcing, 1e-3 * best.residual))
        point = _Subproblem(problem, state).minimise(state.minimum, state.f, forcing)
        change = float(fixed.rows.share @ np.abs(point.u - state.dual).sum(axis=1)) / sigma
        change += float(np.abs(point.v - state.penalty_dual).sum()) / sigma
        settled = change * sigma <= 1e-12 * fixed.slope
        if change > 0.25 * state.change and not settled and sigma < LARGEST_GROWTH * fixed.sigma:
            sigma *= GROWTH
        after = self._state(problem, fixed, point.theta, point.f, point.u, point.v, sigma)
        halved = after.residual < 0.5 * best.residual or after.distance < 0.5 * best.distance
        halved |= change < 0.5 * state.min_change
        better = (after.residual, after.distance) < (best.residual, best.distance)
        return replace(
            after,
            change=change,
            min_change=min(change, state.min_change),
            forcing=forcing,
            idle_updates=0 if halved else state.idle_updates + 1,
            best=None if better or after.distance < 0.1 * best.distance else best,
        )

    def finish(self, problem: Problem, state: PrimalDualState) -> PrimalDualState:
        """The update with the smallest gap, and one more: near the optimum each closes the gap by orders."""
        best = state.best or state
        if best.residual > 0.0 and best.idle_updates == 0:
            further = self.step(problem, best)
            best = further if further.residual < best.residual else best
        return best

    @staticmethod
    def _state(
        problem: Problem, fixed: _Fixed, theta: Floats, f: Floats, u: Floats, v: Floats, sigma: float
    ) -> PrimalDualState:
        """The gap at the proximal point of θ, which is within bounds and has exact zeros."""
        rows = fixed.rows
        shift = np.zeros_like(theta)
        shift[:, : problem.d] = v / sigma
        point = problem.prox(theta + shift, 1.0 / sigma)
        point[:, problem.d :] = theta[:, problem.d :]
        at = f if np.array_equal(point, theta) else rows.predictions(point)
        value = rows.loss_value(at) + penalty_value(problem, point)
        gap = duality_gap(problem, rows, point, u, at)
        residual = gap.relative(max(abs(value), problem.least_value))
        distance = max(gap.gap / fixed.value, gap.infeasibility)
        return PrimalDualState(
            point, value, residual,
            fixed=fixed, dual=u, penalty_dual=v, sigma=sigma, minimum=theta, f=f, distance=distance,
        )  # fmt: skip


@dataclass
class _Point:
    theta: Floats
    f: Floats
    value: float
    size: float  # of the terms that make up the value
    gradient: Floats
    u: Floats
    v: Floats
    h: Floats


class _Subproblem:
    """Σ share · envelope of the loss at Zθ + u/σ, the penalty's envelope at θ + v/σ, and its quadratic part."""

    def __init__(self, problem: Problem, state: PrimalDualState) -> None:
        self.problem, self.rows, self.min_slope = problem, state.fixed.rows, state.fixed.min_slope
        self.u, self.v, self.sigma = state.dual, state.penalty_dual, state.sigma
        self.nonsmooth_penalty = problem.parts is None or not problem.parts.smooth
        self.dense = problem.m * problem.p <= MAX_DENSE

    def minimise(self, theta: Floats, f: Floats, forcing: float) -> _Point:
        """Newton steps, shortened until the value falls, until the gradient is `forcing` next to the mean slope."""
        point = self.at(theta, f)
        damping, idle = 1e-6, 0
        for _ in range(MAX_NEWTON_STEPS):
            size = max(float(self.rows.share @ np.abs(point.u).sum(axis=1)), self.min_slope)
            steepness = float(np.abs(point.gradient).max(initial=0.0))
            if steepness <= forcing * size:
                break
            direction = self.direction(point, damping)
            change = self.rows.predictions(direction)
            slope = float((point.gradient * direction).sum())
            length, trial = 1.0, None
            for _ in range(40):
                trial = self.at(point.theta + length * direction, point.f + length * change)
                fell = trial.value <= point.value + SUFFICIENT_DECREASE * length * slope
                lost = -slope * length <= ROUNDING * point.size  # the decrease is rounding: the gradient decides
                if fell or (lost and float(np.abs(trial.gradient).max(initial=0.0)) < steepness):
                    break
                trial = None
                if lost:
                    break
                length *= 0.5
            if trial is None:
                if damping >= 1.0:
                    break
                damping = max(100.0 * damping, 1e-6)
                continue
            damping = max(damping / 10.0, 1e-10) if length == 1.0 else min(10.0 * damping / length, 1.0)
            slow = float(np.abs(trial.gradient).max(initial=0.0)) > 0.5 * steepness
            idle = idle + 1 if slow and point.value - trial.value <= ROUNDING * point.size else 0
            point = trial
            if idle == MAX_IDLE_STEPS:
                break
        return point

    def at(self, theta: Floats, f: Floats) -> _Point:
        """The value and the gradient at θ, whose predictions are f."""
        problem, rows, sigma = self.problem, self.rows, self.sigma
        with np.errstate(over="ignore", invalid="ignore"):
            value, u, h = problem.loss.envelope(rows.y, _as_loss_takes(problem, f + self.u / sigma), 1.0 / sigma)
            offset = (self.u**2).sum(axis=1) / (2.0 * sigma)
            total = float(rows.share @ (value - offset))
            size = float(rows.share @ (np.abs(value) + offset))
            u = u.reshape(f.shape)
            gradient = rows.gradient_sums(rows.share[:, None] * u)
        v = self.v
        if self.nonsmooth_penalty:
            shifted = theta.copy()
            shifted[:, : problem.d] += self.v / sigma
            nearest = problem.prox(shifted, 1.0 / sigma)
            v = sigma * (shifted - nearest)[:, : problem.d]
            penalty = _nonsmooth_penalty(problem, nearest)
            total += penalty + float((v**2).sum() - (self.v**2).sum()) / (2.0 * sigma)
            size += abs(penalty) + float((v**2).sum() + (self.v**2).sum()) / (2.0 * sigma)
            gradient[:, : problem.d] += v
        if problem.parts is not None:
            square, slope = problem.quadratic(theta)
            total += square
            size += abs(square)
            gradient[:, : problem.d] += slope
        return _Point(theta, f, total if np.isfinite(total) else np.inf, size, gradient, u, v, h)

    def direction(self, point: _Point, damping: float) -> Floats:
        """−H⁻¹g with the generalised Hessian, raised a little where it may be singular."""
        problem = self.problem
        weighted = point.h * (self.rows.share if point.h.ndim == 1 else self.rows.share[:, None, None])
        blocks = [self._penalty_curvature(row) for row in point.theta[:, : problem.d] + self.v / self.sigma]
        if self.dense:
            H = self.rows.gram(weighted)
            lift = max(float(np.diagonal(H).mean()), 1e-3 * self.sigma)
            p, d = problem.p, problem.d
            for k, block in enumerate(blocks):
                part = slice(k * p, k * p + d)
                H[part, part] += np.diag(block) if block.ndim == 1 else block
                if problem.parts is not None:
                    H[k * p : (k + 1) * p, k * p : (k + 1) * p] += problem.penalty_hessian
            diagonal = np.diagonal(H).copy()
            H[np.diag_indices_from(H)] += damping * (diagonal + lift)
            return -np.asarray(solver_of(H)(point.gradient.reshape(-1))).reshape(point.theta.shape)
        return self._by_products(point, weighted, blocks, damping)

    def _penalty_curvature(self, c: Floats) -> Floats:
        """σ (I − J) with J the Jacobian of the prox at c: (d,) or (d, d)."""
        problem, sigma = self.problem, self.sigma
        if not self.nonsmooth_penalty:
            return np.zeros(problem.d)
        if problem.parts is None:
            return self._by_differences(c)
        shrunk = np.sign(c) * np.maximum(np.abs(c) - problem.l1 / sigma, 0.0)
        fixed = (problem.l1 > 0) & (shrunk == 0.0)
        fixed |= (shrunk < problem.low) | (shrunk > problem.high)
        if not problem.groups:
            return np.where(fixed, sigma, 0.0)
        curvature = np.zeros((problem.d, problem.d))
        for group, cost in problem.groups:
            size = float(np.linalg.norm(c[group]))
            if size <= cost / sigma:
                curvature[group, group] = sigma
            else:
                unit = c[group] / size
                curvature[np.ix_(group, group)] = (cost / size) * (np.eye(len(group)) - np.outer(unit, unit))
        return curvature

    def _by_differences(self, c: Floats) -> Floats:
        problem, sigma = self.problem, self.sigma
        if problem.d > MAX_JACOBIAN:
            return np.full(problem.d, sigma)
        step = 1e-6 * max(float(np.abs(c).max(initial=0.0)), 1e-3)
        ends = [np.zeros((problem.d, problem.p)) for _ in range(2)]
        ends[0][:, : problem.d], ends[1][:, : problem.d] = c + step * np.eye(problem.d), c - step * np.eye(problem.d)
        ahead, behind = (problem.prox(end, 1.0 / sigma)[:, : problem.d] for end in ends)
        J = (ahead - behind) / (2.0 * step)
        values, vectors = np.linalg.eigh(np.eye(problem.d) - 0.5 * (J + J.T))
        return np.asarray((vectors * (sigma * np.clip(values, 0.0, 1.0))) @ vectors.T)

    def _by_products(self, point: _Point, weighted: Floats, blocks: list[Floats], damping: float) -> Floats:
        """Conjugate gradients with products of the rows."""
        problem, rows = self.problem, self.rows
        mass = float(weighted.sum() if weighted.ndim == 1 else np.trace(weighted.sum(axis=0)) / problem.m)
        scale = np.full((problem.m, problem.p), max(mass, 1e-300) * (1.0 + damping))
        for k, block in enumerate(blocks):
            scale[k, : problem.d] += block if block.ndim == 1 else np.diagonal(block)
        if problem.parts is not None:
            scale += np.diagonal(problem.penalty_hessian)

        def product(x: Floats) -> Floats:
            f = rows.predictions(x)
            f = f * weighted[:, None] if weighted.ndim == 1 else np.einsum("iab,ib->ia", weighted, f)
            result = rows.gradient_sums(f) + damping * max(mass, 1e-300) * x
            for k, block in enumerate(blocks):
                c = x[k, : problem.d]
                result[k, : problem.d] += block * c if block.ndim == 1 else block @ c
            if problem.parts is not None:
                result[:, : problem.d] += problem.quadratic(x)[1]
            return result

        x, r = np.zeros_like(point.theta), -point.gradient
        z = r / scale
        p, rz = z, float((r * z).sum())
        first = float(np.abs(r).max())
        for _ in range(MAX_CG_STEPS):
            Hp = product(p)
            pHp = float((p * Hp).sum())
            if not pHp > 0:
                break
            x, r = x + (rz / pHp) * p, r - (rz / pHp) * Hp
            if float(np.abs(r).max()) <= 1e-3 * first:
                break
            z = r / scale
            rz, before = float((r * z).sum()), rz
            p = z + (rz / before) * p
        return x


def _as_loss_takes(problem: Problem, f: Floats) -> Floats:
    """Predictions as the loss takes them."""
    return f[:, 0] if problem.m == 1 else f


def _nonsmooth_penalty(problem: Problem, theta: Floats) -> float:
    """The penalty without its quadratic part, at a point within bounds."""
    if problem.parts is None:
        return problem.alpha * problem.penalty_value(problem.to_original(theta)[0])
    return problem.nonsmooth_penalty(theta)


def penalty_value(problem: Problem, theta: Floats) -> float:
    """alpha · penalty at θ."""
    return _nonsmooth_penalty(problem, theta) + (0.0 if problem.parts is None else problem.quadratic(theta)[0])
