"""Newton's method with the true Hessian, one pass an iteration."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from gramian.solvers.iterate import Method, State
from gramian.solvers.problem import Point, Problem

Floats = NDArray[np.float64]
HALVINGS = 40
ENOUGH = 1e-4  # share of the predicted decrease that a step must bring
ROUNDING = 4e-16


@dataclass(frozen=True)
class Newton(Method):
    """Steps to the minimum of the quadratic that fits the objective best, shortened until the objective falls.

    One pass of O(n p²) an iteration, for losses and penalties with a gradient; quadratic convergence.
    """

    name: ClassVar[str] = "Newton"
    unit: ClassVar[str] = "Newton steps"

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        return self._state(problem, problem.at(theta, hessian=True), stuck=False)

    def step(self, problem: Problem, state: State) -> State:
        point: Point = state.more["point"]
        direction, slope = newton_direction(point)
        length = 1.0
        for _ in range(HALVINGS):
            trial = problem.at(point.theta + length * direction, hessian=True)
            if trial.value <= point.value + ENOUGH * length * slope:
                return self._state(problem, trial, stuck=False)
            # Where the decrease is rounding, the gradient decides.
            if -slope <= ROUNDING * 100 * abs(point.value) or length * -slope < ROUNDING * abs(point.value):
                if problem.measure(trial) < state.measure:
                    return self._state(problem, trial, stuck=False)
                break
            length *= 0.5
        return self._state(problem, point, stuck=True)

    @staticmethod
    def _state(problem: Problem, point: Point, *, stuck: bool) -> State:
        return State(point.theta, point.value, problem.measure(point), stuck, more={"point": point})


def newton_direction(point: Point) -> tuple[Floats, float]:
    """−H⁻¹g as (m, p), and the slope gᵀδ; where H is singular, the shortest such step in standard units."""
    g = point.gradient.reshape(-1)
    delta = -solve_spd(point.hessian, g)
    slope = float(g @ delta)
    if not slope < 0:
        delta, slope = -g, -float(g @ g)
    return delta.reshape(point.theta.shape), slope


def solve_spd(H: Floats, g: Any) -> Floats:
    """H⁻¹g for a positive semi-definite H, scaled by its diagonal; where it is singular, without its null space."""
    diagonal = np.diagonal(H).copy()
    unit = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 1.0)
    A = H * unit[:, None] * unit
    right = (g.T * unit).T
    try:
        factor = sl.cho_factor(A, lower=True, check_finite=False)
        if np.diagonal(factor[0]).min() > 1e-7:
            return np.asarray((sl.cho_solve(factor, right, check_finite=False).T * unit).T)
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(A)
    keep = values > 1e-13 * max(float(values[-1]), 1e-300) * len(values)
    part = vectors[:, keep].T @ right
    part = (part.T / values[keep]).T
    return np.asarray(((vectors[:, keep] @ part).T * unit).T)
