"""Proximal Newton: a quadratic model of the loss, minimised together with absolute values, group norms and bounds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian.compiled import njit
from gramian.rows import single_threaded_blas
from gramian.solvers.group_descent import group_step
from gramian.solvers.iterate import Method, State
from gramian.solvers.newton import ENOUGH, HALVINGS, ROUNDING
from gramian.solvers.problem import Point, Problem, joint_scale

Floats = NDArray[np.float64]
MOST_SWEEPS = 5000
SWEEPS = 10  # of coordinate descent, before the coefficients that are not at zero are solved for
FEW_ZEROS = 0.02  # of the coefficients that are not zero: so few that come or go leave a set worth solving for
RAISED = 1e-11  # of the diagonal


@dataclass(frozen=True)
class ProximalNewton(Method):
    """The quadratic model of one pass, minimised exactly by coordinate descent over the coefficients that move.

    One pass of O(n p²) an iteration and sweeps of O(p²); zeros are exact.
    """

    name: ClassVar[str] = "proximal Newton"
    unit: ClassVar[str] = "proximal Newton steps"

    def can(self, problem: Problem) -> bool:
        """A smooth loss; any penalty with known parts."""
        return problem.loss.smooth and problem.parts is not None and not joint_scale(problem.loss)

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        return self._state(problem, problem.at(theta, hessian=True), stuck=False)

    def step(self, problem: Problem, state: State) -> State:
        point: Point = state.more["point"]
        enough = 1e-3 * state.measure * point.size
        step = model_step(problem, point.hessian, point.gradient.reshape(-1), point.theta.reshape(-1), enough)
        direction = step.reshape(point.theta.shape)
        if not direction.any():  # no curvature: a step of the gradient, and of the penalty's prox
            direction = problem.prox(point.theta - point.gradient, 1.0) - point.theta
        slope = float((point.gradient * direction).sum())
        slope += problem.rough(problem.within(point.theta + direction)) - problem.rough(point.theta)
        length = 1.0
        for _ in range(HALVINGS):
            trial = problem.at(problem.within(point.theta + length * direction), hessian=True)
            if trial.value <= point.value + ENOUGH * length * slope:
                return self._state(problem, trial, stuck=False)
            if -slope * length <= 100 * ROUNDING * abs(point.value):
                if problem.measure(trial) < state.measure:
                    return self._state(problem, trial, stuck=False)
                break
            length *= 0.5
        return self._state(problem, point, stuck=True)

    @staticmethod
    def _state(problem: Problem, point: Point, *, stuck: bool) -> State:
        return State(point.theta, point.value, problem.measure(point), stuck, more={"point": point})


def model_step(
    problem: Problem, H: Floats, g: Floats, theta: Floats, enough: float, index: NDArray[np.int64] | None = None
) -> Floats:
    """argmin over δ of gᵀδ + ½ δᵀHδ + rough(θ + δ), to a residual of `enough`.

    All are flattened over the outputs, and of the numbers that `index` names alone where it is given.
    """
    if problem.groups:
        return group_step(problem, H, g, theta, enough, MOST_SWEEPS)
    l1, low, high = problem.separable if index is None else (part[index] for part in problem.separable)
    x = theta.copy()
    with single_threaded_blas():
        minimise(np.ascontiguousarray(H), x, g.copy(), l1, low, high, float(enough), MOST_SWEEPS)
    return np.asarray(x - theta)


@njit(cache=True, nogil=True)
def minimise(
    H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any, enough: float, sweeps: int
) -> None:  # pragma: no cover - compiled
    """Minimise slopeᵀδ + ½ δᵀHδ + l1 |x + δ| within bounds: coordinate descent, and steps in what is not at zero.

    x and the slope there are changed in place, until a sweep over all changes no slope by more than `enough`.
    """
    for _ in range(0, sweeps, SWEEPS):
        largest, settled = descend(H, x, slope, l1, low, high, enough)
        if largest <= enough:
            return
        if settled:
            solve_free(H, x, slope, l1, low, high)


@njit(cache=True, nogil=True)
def solve_free(H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any) -> None:  # pragma: no cover - compiled
    """Move to the minimum over the coefficients that are not at zero or a bound, or nearer to it."""
    p = len(x)
    free = np.empty(p, dtype=np.int64)
    m = 0
    for j in range(p):
        if H[j, j] > 0.0 and (x[j] != 0.0 or l1[j] == 0.0) and low[j] < x[j] < high[j]:
            free[m] = j
            m += 1
    if m == 0:
        return
    A, b, unit = np.empty((m, m)), np.empty((m, 1)), np.empty(m)
    for i in range(m):
        unit[i] = 1.0 / np.sqrt(H[free[i], free[i]])
    for i in range(m):
        j = free[i]
        for k in range(m):
            A[i, k] = H[j, free[k]] * unit[i] * unit[k]
        A[i, i] = 1.0 + RAISED
        b[i, 0] = -unit[i] * (slope[j] + l1[j] * np.sign(x[j]))
    found = np.linalg.solve(A, b)
    changes = np.empty(m)
    reach = 1.0
    for _ in range(2):
        # First with what passes zero or a bound left there; where the model does not fall so, as far as the first goes.
        gain, first = 0.0, 1.0
        for i in range(m):
            j, change = free[i], reach * unit[i] * found[i, 0]
            end = low[j] if change < 0.0 else high[j]
            if l1[j] > 0.0 and x[j] * change < 0.0 and abs(x[j]) <= abs(end - x[j]):
                end = 0.0
            if abs(change) >= abs(end - x[j]):
                first = min(first, (end - x[j]) / change)
                change = end - x[j]
            changes[i] = change
            gain += change * slope[j] + l1[j] * (abs(x[j] + change) - abs(x[j]))
        if reach < 1.0 or first == 1.0:
            break
        moved = np.zeros(p)
        for i in range(m):
            moved += changes[i] * H[free[i]]
        for i in range(m):
            gain += 0.5 * changes[i] * moved[free[i]]
        if gain < 0.0:
            break
        reach = first
    for i in range(m):
        x[free[i]] = min(max(x[free[i]] + changes[i], low[free[i]]), high[free[i]])
        slope += changes[i] * H[free[i]]


@njit(cache=True, nogil=True)
def descend(
    H: Any, x: Any, slope: Any, l1: Any, low: Any, high: Any, enough: float
) -> Any:  # pragma: no cover - compiled
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
                slope += change * H[j]
                moved = abs(change) * h
                if moved > largest:
                    largest = moved
        if largest <= enough and whole:
            break
    for j in range(p):
        nonzero += x[j] != 0.0
    return largest, moved_zeros <= FEW_ZEROS * nonzero
