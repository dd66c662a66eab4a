"""Newton's method with the true Hessian, one pass an iteration."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats
from gramian.objective.problem import Point, Problem, smooth
from gramian.solvers.base import Details, Solver, State

MAX_HALVINGS = 40
SUFFICIENT_DECREASE = 1e-4  # share of the predicted decrease that a step must bring (Armijo)
ROUNDING = 4e-16
FAST_RESIDUAL = 0.1  # of the one before: the Hessian of such a step serves for the next
NEAR_RESIDUAL = 1e-3  # from which a Hessian is nearly that of the optimum
MAX_EIGH_COEFS = 200  # coefficients up to which a singular Hessian of several outputs is decomposed
DIAGONAL_SHIFT = 1e-10  # by which a singular Hessian in units of its diagonal is raised
PATIENCE = 30  # steps that neither halve the residual nor lower the objective: the rest is for the general method
JOINT_OVERHEAD = 2e8  # multiplications that products with a Hessian of several outputs cost, however few the rows
MAX_CHEAP_FACTOR = 600  # numbers in θ whose Hessian is factorised at that cost
CLEAR_DECREASE = 1e-3  # of the objective


@dataclass(kw_only=True)
class NewtonState(State):
    """With the Hessian in use, and when the last clear progress was."""

    point: Point
    curvature: "Curvature"
    reference: tuple[float, float]  # residual and objective at the last clear progress
    idle_steps: int = 0  # since then

    @property
    def details(self) -> Details:
        return Details(point=self.point, hessian=self.curvature.H, hessian_residual=self.curvature.residual)


S = TypeVar("S", bound=State)


class SmoothNewton(Solver[S]):
    """Newton's method for losses and penalties with gradients: the declarations of both kinds of it."""

    uses_landmarks: ClassVar[bool] = True
    starts_from_sample: ClassVar[bool] = True
    may_diverge: ClassVar[bool] = True

    def supports(self, problem: Problem) -> bool:
        """A loss and a penalty with gradients."""
        return smooth(problem)


@dataclass(frozen=True, eq=False)
class Newton(SmoothNewton[NewtonState]):
    """Steps to the minimum of the quadratic that fits the objective best, shortened until the objective falls.

    One pass of O(n p²) an iteration, for losses and penalties with a gradient; quadratic convergence. Where a Hessian
    costs much more than a gradient, that of a sample or of an earlier step is kept, updated by what the gradients say
    (BFGS), as long as each step makes the gradient ten times smaller; a last one is taken near the optimum.
    """

    hessian: Floats | None = None  # one to begin with, of a sample of the rows
    name: ClassVar[str] = "Newton"
    unit: ClassVar[str] = "Newton steps"

    def cost(self, problem: Problem) -> float:
        """A Hessian of n (m p)² multiplications a step, and of several outputs a factor of (m p)³."""
        if not problem.loss.suits_newton:
            return np.inf
        joint = problem.m * problem.p
        hessian = float(problem.rows.n) * joint**2
        return hessian if problem.m == 1 else max(hessian, JOINT_OVERHEAD * (joint / MAX_CHEAP_FACTOR) ** 3)

    def reason(self, problem: Problem) -> str:
        if problem.m == 1:
            return f"a smooth loss and penalty, {problem.p} columns: a Hessian costs one pass"
        return f"a smooth loss and penalty, {problem.m} × {problem.p} coefficients: a Hessian costs one pass"

    def with_hessian(self, hessian: Floats | None) -> "Newton":
        return replace(self, hessian=hessian)

    def init(self, problem: Problem, start: Floats | None) -> NewtonState:
        theta = problem.zero() if start is None else start
        if self.hessian is None or not _worth_keeping(problem):
            return self._fresh(problem, problem.at(theta, hessian=True))
        return self._state(problem, problem.at(theta), Curvature(self.hessian, kept=True))

    def step(self, problem: Problem, state: NewtonState) -> NewtonState:
        return _with_patience(state, self._step(problem, state))

    def _step(self, problem: Problem, state: NewtonState) -> NewtonState:
        point, curvature = state.point, state.curvature
        keep = curvature.kept and not (state.residual <= NEAR_RESIDUAL and curvature.residual > NEAR_RESIDUAL)
        direction, slope = curvature.direction(point)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            trial = problem.at(point.theta + length * direction, hessian=not keep)
            fell = trial.value <= point.value + SUFFICIENT_DECREASE * length * slope
            # Where the decrease is rounding, the gradient decides.
            lost = -slope <= ROUNDING * 100 * abs(point.value) or length * -slope < ROUNDING * abs(point.value)
            if fell or (lost and problem.residual(trial) < state.residual):
                return self._next(problem, state, trial)
            if lost:
                break
            length *= 0.5
        if curvature.at is not point:
            return self._fresh(problem, problem.at(point.theta, hessian=True))
        return replace(state, stalled=True)

    def _next(self, problem: Problem, state: NewtonState, trial: Point) -> NewtonState:
        """A Hessian that was fast enough is kept; after a slow step comes a new one."""
        fast = problem.residual(trial) <= FAST_RESIDUAL * state.residual
        if trial.hessian is not None:
            return self._fresh(problem, trial, kept=fast)
        if not fast:
            return self._fresh(problem, problem.at(trial.theta, hessian=True))
        point = state.point
        updated = state.curvature.updated(trial.theta - point.theta, trial.gradient - point.gradient)
        return self._state(problem, trial, updated)

    def _fresh(self, problem: Problem, point: Point, kept: bool = False) -> NewtonState:
        kept = kept and _worth_keeping(problem)
        return self._state(problem, point, Curvature(point.hessian, point, problem.residual(point), kept))

    @staticmethod
    def _state(problem: Problem, point: Point, curvature: "Curvature") -> NewtonState:
        residual = problem.residual(point)
        reference = residual, point.value
        return NewtonState(point.theta, point.value, residual, point=point, curvature=curvature, reference=reference)


def _with_patience(before: NewtonState, state: NewtonState) -> NewtonState:
    """The state, stalled where steps have neither halved the residual nor lowered the objective clearly for long."""
    residual, value = before.reference
    if state.residual <= 0.5 * residual or state.value <= value - CLEAR_DECREASE * abs(value):
        state.reference, state.idle_steps = (state.residual, state.value), 0
    else:
        state.reference, state.idle_steps = before.reference, before.idle_steps + 1
        state.stalled |= before.idle_steps >= PATIENCE
    return state


def _worth_keeping(problem: Problem) -> bool:
    return problem.p >= 20 and problem.rows.n * problem.p >= 1_000_000


class Curvature:
    """A Hessian, factorised, and the changes of the gradient that were seen since (BFGS)."""

    def __init__(self, H: Floats, at: Point | None = None, residual: float = np.inf, kept: bool = False) -> None:
        self.H, self.at, self.residual, self.kept = H, at, residual, kept
        outputs = 1 if at is None else len(at.theta)
        self.quick = (
            outputs > 1 and len(H) > MAX_EIGH_COEFS
        )  # one number added to all outputs changes nothing: H is singular
        self.pairs: tuple[tuple[Floats, Floats, float], ...] = ()  # steps s, what they did to the gradient y, and sᵀy

    @cached_property
    def solve(self) -> Callable[[Floats], Floats]:
        return solver_of(self.H, self.quick)

    def updated(self, step: Floats, change: Floats) -> "Curvature":
        """With what a step did to the gradient."""
        return self.updated_by([(step, change)])

    def updated_by(self, changes: Iterable[tuple[Floats, Floats]]) -> "Curvature":
        """With what several steps did to the gradient, from the first to the last."""
        flat = ((step.reshape(-1), change.reshape(-1)) for step, change in changes)
        pairs = ((s, y, float(s @ y)) for s, y in flat)
        curvature = copy(self)
        curvature.pairs = (*self.pairs, *(pair for pair in pairs if pair[2] > 0))
        return curvature

    def inverse(self, g: Floats) -> Floats:
        """H⁻¹g."""
        q, shares = g.copy(), []
        for s, y, product in reversed(self.pairs):
            shares.append(float(s @ q) / product)
            q -= shares[-1] * y
        delta = self.solve(q)
        for (s, y, product), share in zip(self.pairs, reversed(shares), strict=True):
            delta = delta + (share - float(y @ delta) / product) * s
        return delta

    def direction(self, point: Point) -> tuple[Floats, float]:
        """−H⁻¹g as (m, p), and the slope gᵀδ; where H is singular, the shortest such step in standard units."""
        g = point.gradient.reshape(-1)
        delta = -self.inverse(g)
        slope = float(g @ delta)
        if not slope < 0:
            delta, slope = -g, -float(g @ g)
        return delta.reshape(point.theta.shape), slope


def newton_direction(point: Point) -> tuple[Floats, float]:
    """−H⁻¹g as (m, p), and the slope gᵀδ."""
    return Curvature(point.hessian).direction(point)


def solve_spd(H: Floats, g: Any) -> Floats:
    """H⁻¹g for a positive semi-definite H, scaled by its diagonal; where it is singular, without its null space."""
    return np.asarray(solver_of(H)(g))


def solver_of(H: Floats, quick: bool = False) -> Callable[[Floats], Floats]:
    """g ↦ H⁻¹g, with H factorised once; where it is singular, without its null space.

    `quick` is for directions that need not be exact: a singular H is raised a little instead of decomposed.
    """
    diagonal = np.diagonal(H).copy()
    unit = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 1.0)
    A = H * unit[:, None] * unit
    L, failed = sl.lapack.dpotrf(A.T, lower=1, clean=0)  # without the checks of cho_factor, which take longer
    if not failed and np.diagonal(L).min() > 1e-7:
        return lambda g: (sl.lapack.dpotrs(L, (g.T * unit).T, lower=1)[0].reshape(g.shape).T * unit).T
    if quick:
        try:
            factor = sl.cho_factor(A + DIAGONAL_SHIFT * np.eye(len(A)), lower=True, check_finite=False)
            return lambda g: _refined(A, factor, g * unit) * unit
        except np.linalg.LinAlgError:
            pass
    values, vectors = np.linalg.eigh(A)
    keep = values > 1e-13 * max(float(values[-1]), 1e-300) * len(values)
    values, vectors = values[keep], vectors[:, keep]
    return lambda g: np.asarray(((vectors @ ((vectors.T @ (g.T * unit).T).T / values).T).T * unit).T)


def _refined(A: Floats, factor: Any, g: Floats) -> Floats:
    """A⁻¹g from a factor of A raised a little: two more steps leave what A says, where it says anything."""
    x = sl.cho_solve(factor, g, check_finite=False)
    for _ in range(2):
        x = x + sl.cho_solve(factor, g - A @ x, check_finite=False)
    return np.asarray(x)
