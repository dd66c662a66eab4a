"""Proximal Newton: a quadratic model of the loss, minimised together with absolute values, group norms and bounds."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gramian._core.numerics.compiled import compiled_later, njit
from gramian._core.types import Floats, Ints
from gramian.objective.problem import Point, Problem
from gramian.rows import single_threaded_blas
from gramian.solvers.base import MAX_DENSE_HESSIAN_COLUMNS, Details, Solver, State
from gramian.solvers.smooth.group_descent import group_step
from gramian.solvers.smooth.newton import MAX_HALVINGS, ROUNDING, SUFFICIENT_DECREASE
from gramian.solvers.smooth.plain_descent import FEW_ZEROS, RAISED, SWEEPS, minimise_plain

MAX_SWEEPS = 5000
MAX_PLAIN = 20  # coefficients of a model that is first minimised without compiled loops
MAX_ELIMINATED = 100  # coefficients of a system that compiled loops solve about as fast as LAPACK


@dataclass(kw_only=True)
class ProximalNewtonState(State):
    """With the objective and its Hessian."""

    point: Point

    @property
    def details(self) -> Details:
        return Details(point=self.point, hessian=self.point.hessian)


@dataclass(frozen=True)
class ProximalNewton(Solver[ProximalNewtonState]):
    """The quadratic model of one pass, minimised exactly by coordinate descent over the coefficients that move.

    One pass of O(n p²) an iteration and sweeps of O(p²); zeros are exact.
    """

    name: ClassVar[str] = "proximal Newton"
    unit: ClassVar[str] = "proximal Newton steps"
    may_diverge: ClassVar[bool] = True

    def supports(self, problem: Problem) -> bool:
        """A smooth loss; any penalty with known parts."""
        return problem.loss.smooth and problem.parts is not None and not problem.loss.estimates_scale

    def cost(self, problem: Problem) -> float:
        """A Hessian of n (m p)² multiplications a step, where the penalty has no gradient."""
        assert problem.parts is not None
        joint = problem.m * problem.p
        usable = problem.loss.suits_newton and not problem.parts.smooth and joint <= MAX_DENSE_HESSIAN_COLUMNS
        return float(problem.rows.n) * joint**2 if usable else np.inf

    def reason(self, problem: Problem) -> str:
        return f"a smooth loss and zeros or bounds, {problem.p} columns"

    def init(self, problem: Problem, start: Floats | None) -> ProximalNewtonState:
        theta = problem.zero() if start is None else start
        return self._state(problem, problem.at(theta, hessian=True), stalled=False)

    def step(self, problem: Problem, state: ProximalNewtonState) -> ProximalNewtonState:
        point = state.point
        tol = 1e-3 * state.residual * point.size
        step = model_step(problem, point.hessian, point.gradient.reshape(-1), point.theta.reshape(-1), tol)
        direction = step.reshape(point.theta.shape)
        if not direction.any():  # no curvature: a step of the gradient, and of the penalty's prox
            direction = problem.prox(point.theta - point.gradient, 1.0) - point.theta
        slope = float((point.gradient * direction).sum())
        end = problem.within(point.theta + direction)
        slope += problem.nonsmooth_penalty(end) - problem.nonsmooth_penalty(point.theta)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            trial = problem.at(problem.within(point.theta + length * direction), hessian=True)
            if trial.value <= point.value + SUFFICIENT_DECREASE * length * slope:
                return self._state(problem, trial, stalled=False)
            if -slope * length <= 100 * ROUNDING * abs(point.value):
                if problem.residual(trial) < state.residual:
                    return self._state(problem, trial, stalled=False)
                break
            length *= 0.5
        return self._state(problem, point, stalled=True)

    @staticmethod
    def _state(problem: Problem, point: Point, *, stalled: bool) -> ProximalNewtonState:
        return ProximalNewtonState(point.theta, point.value, problem.residual(point), stalled, point=point)


def model_step(problem: Problem, H: Floats, g: Floats, theta: Floats, tol: float, index: Ints | None = None) -> Floats:
    """argmin over δ of gᵀδ + ½ δᵀHδ + nonsmooth penalty of θ + δ, to a residual of `tol`.

    All are flattened over the outputs, and of the entries of `index` alone where there is one.
    """
    if problem.groups:
        return group_step(problem, H, g, theta, tol, MAX_SWEEPS)
    l1, low, high = problem.separable if index is None else (part[index] for part in problem.separable)
    x = theta.copy()
    with single_threaded_blas():
        minimiser(len(x))(np.ascontiguousarray(H), x, g.copy(), l1, low, high, float(tol), MAX_SWEEPS)
    return np.asarray(x - theta)


def minimiser(p: int) -> Callable[..., None]:
    """`minimise` for p coefficients: in plain Python where they are few and it has not been compiled."""
    return _minimise_few if p <= MAX_PLAIN else minimise


def minimise(
    H: Floats, x: Floats, slope: Floats, l1: Floats, low: Floats, high: Floats, tol: float, sweeps: int
) -> None:
    """Minimise slopeᵀδ + ½ δᵀHδ + l1 |x + δ| within bounds: coordinate descent, and steps in what is not at zero.

    x and the slope there are changed in place, until a sweep over all changes no slope by more than `tol`.
    """
    p = len(x)
    small = p <= MAX_ELIMINATED
    step, free, A, room = np.empty(p), np.empty(p, np.int64), np.empty((p, p) if small else (1, 1)), np.empty((2, p))
    for _ in range(0, sweeps, SWEEPS):
        largest, settled = descend(H, x, slope, l1, low, high, tol)
        if largest <= tol:
            return
        if settled:
            if small:
                free_step(H, x, slope, l1, low, high, free, A, step)
            else:
                step = _large_free_step(H, x, slope, l1, low, high)
            move_free(H, x, slope, l1, low, high, step, room[0], room[1])


def _large_free_step(H: Floats, x: Floats, slope: Floats, l1: Floats, low: Floats, high: Floats) -> Floats:
    """What `free_step` sets, by LAPACK."""
    curve, step = np.diagonal(H), np.zeros_like(x)
    free = np.flatnonzero((curve > 0) & ((x != 0) | (l1 == 0)) & (low < x) & (x < high))
    unit = 1.0 / np.sqrt(curve[free])
    A = H[np.ix_(free, free)] * unit[:, None] * unit
    np.fill_diagonal(A, 1.0 + RAISED)
    with suppress(np.linalg.LinAlgError):
        step[free] = unit * np.linalg.solve(A, -unit * (slope + l1 * np.sign(x))[free])
    return step


@njit(cache=True, nogil=True, error_model="numpy")
def free_step(
    H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any, free: Any, A: Any, step: Any
) -> None:  # pragma: no cover - compiled
    """Sets the step to the minimum over the coefficients that are not at zero or a bound, by elimination.

    `free` and A are workspace; in units in which the diagonal is 1, with partial pivoting. No step where A is singular.
    """
    m = 0
    for j in range(len(x)):
        step[j] = 0.0
        if H[j, j] > 0.0 and (x[j] != 0.0 or l1[j] == 0.0) and low[j] < x[j] < high[j]:
            free[m] = j
            m += 1
    for i in range(m):
        j = free[i]
        unit = 1.0 / np.sqrt(H[j, j])
        for k in range(m):
            A[i, k] = H[j, free[k]] * unit / np.sqrt(H[free[k], free[k]])
        A[i, i] = 1.0 + RAISED
        sign = 0.0 if x[j] == 0.0 else (1.0 if x[j] > 0.0 else -1.0)
        step[j] = -unit * (slope[j] + l1[j] * sign)
    for i in range(m):
        pivot = i
        for k in range(i + 1, m):
            if abs(A[k, i]) > abs(A[pivot, i]):
                pivot = k
        if pivot != i:
            for k in range(i, m):
                A[i, k], A[pivot, k] = A[pivot, k], A[i, k]
            step[free[i]], step[free[pivot]] = step[free[pivot]], step[free[i]]
        if A[i, i] == 0.0:
            for j in range(len(x)):
                step[j] = 0.0
            return
        for row in range(i + 1, m):
            factor = A[row, i] / A[i, i]
            for k in range(i + 1, m):
                A[row, k] -= factor * A[i, k]
            step[free[row]] -= factor * step[free[i]]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            step[free[i]] -= A[i, k] * step[free[k]]
        step[free[i]] /= A[i, i]
    for i in range(m):
        step[free[i]] /= np.sqrt(H[free[i], free[i]])


@njit(cache=True, nogil=True, error_model="numpy")
def move_free(
    H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any, step: Any, changes: Any, slope_changes: Any
) -> None:  # pragma: no cover - compiled
    """Move by a step, or nearer to its end, as far as the model falls; `changes` and `slope_changes` are workspace."""
    p = len(x)
    reach = 1.0
    for _ in range(2):
        # First with what passes zero or a bound left there; where the model does not fall so, as far as the first goes.
        gain, first = 0.0, 1.0
        for j in range(p):
            change = reach * step[j]
            end = low[j] if change < 0.0 else high[j]
            if l1[j] > 0.0 and x[j] * change < 0.0 and abs(x[j]) <= abs(end - x[j]):
                end = 0.0
            if step[j] != 0.0 and abs(change) >= abs(end - x[j]):
                first = min(first, (end - x[j]) / change)
                change = end - x[j]
            changes[j] = change
            slope_changes[j] = 0.0
            gain += change * slope[j] + l1[j] * (abs(x[j] + change) - abs(x[j]))
        if reach < 1.0 or first == 1.0:
            break
        for j in range(p):
            add_row(slope_changes, changes[j], H, j)
        for j in range(p):
            gain += 0.5 * changes[j] * slope_changes[j]
        if gain < 0.0:
            break
        reach = first
    for j in range(p):
        x[j] = min(max(x[j] + changes[j], low[j]), high[j])
        add_row(slope, changes[j], H, j)


@njit(cache=True, nogil=True, error_model="numpy")
def add_row(total: Any, factor: float, H: Any, j: int) -> None:  # pragma: no cover - compiled
    """total + factor · H[j], in place."""
    if factor != 0.0:
        for k in range(len(total)):
            total[k] += factor * H[j, k]


@njit(cache=True, nogil=True, error_model="numpy")
def descend(H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any, tol: float) -> Any:  # pragma: no cover - compiled
    """Coordinate descent: a sweep over all, some over those that are not at zero, and one over all.

    Returns the largest change of a slope in one over all, and whether few zeros came or went since the first.
    """
    p, moved_zeros, nonzero, largest = len(x), 0, 0, 0.0
    for sweep in range(SWEEPS):
        whole = sweep == 0 or sweep == SWEEPS - 1
        largest = 0.0
        for j in range(p):
            h = H[j, j]
            if h <= 0.0 or (not whole and (x[j] == 0.0 and l1[j] > 0.0)):
                continue
            z = x[j] - slope[j] / h
            shrink = l1[j] / h
            new = z - shrink if z > shrink else (z + shrink if z < -shrink else 0.0)
            new = min(max(new, low[j]), high[j])
            change = new - x[j]
            if change != 0.0:
                moved_zeros += sweep > 0 and (x[j] == 0.0 or new == 0.0)
                x[j] = new
                add_row(slope, change, H, j)
                slope_change = abs(change) * h
                if slope_change > largest:
                    largest = slope_change
        if largest <= tol and whole:
            break
    for j in range(p):
        nonzero += x[j] != 0.0
    return largest, moved_zeros <= FEW_ZEROS * nonzero


_minimise_few = compiled_later(
    minimise,
    minimise_plain,
    descend,
    free_step,
    move_free,
    seconds=lambda H, *_: 3e-5 + 1.2e-5 * len(H) + 2e-9 * H.size,
)
