"""Proximal Newton: a quadratic model of the loss, minimised together with absolute values, group norms and bounds."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian.compiled import njit
from gramian.solvers.group_descent import group_step
from gramian.solvers.iterate import Method, State
from gramian.solvers.newton import ENOUGH, HALVINGS, ROUNDING
from gramian.solvers.problem import Point, Problem, joint_scale

Floats = NDArray[np.float64]
MOST_SWEEPS = 5000


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
        direction = model_step(problem, point, 1e-3 * state.measure * point.size)
        if not direction.any():  # no curvature: a step of the gradient, and of the penalty's prox
            direction = problem.prox(point.theta - point.gradient, 1.0) - point.theta
        slope = float((point.gradient * direction).sum())
        slope += problem.rough(point.theta + direction) - problem.rough(point.theta)
        length = 1.0
        for _ in range(HALVINGS):
            trial = problem.at(point.theta + length * direction, hessian=True)
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


def model_step(problem: Problem, point: Point, enough: float) -> Floats:
    """argmin over δ of gᵀδ + ½ δᵀHδ + rough(θ + δ), to a residual of `enough`."""
    m, p, d = problem.m, problem.p, problem.d
    H, g, theta = point.hessian, point.gradient.reshape(-1), point.theta.reshape(-1)
    if problem.groups:
        return group_step(problem, H, g, theta, enough, MOST_SWEEPS).reshape(m, p)
    l1, low, high = np.zeros((m, p)), np.full((m, p), -np.inf), np.full((m, p), np.inf)
    l1[:, :d], low[:, :d], high[:, :d] = problem.l1, problem.low, problem.high
    found = descend(H, g, theta, l1.reshape(-1), low.reshape(-1), high.reshape(-1), enough, MOST_SWEEPS)
    return (found - theta).reshape(m, p)


@njit(cache=True, nogil=True)
def descend(
    H: Any, g: Any, theta: Any, l1: Any, low: Any, high: Any, enough: float, sweeps: int
) -> Any:  # pragma: no cover - compiled
    """Coordinate descent on gᵀδ + ½ δᵀHδ + l1 |θ + δ| within bounds: sweeps over all, then over those that moved."""
    x = theta.copy()
    slope = g.copy()
    p = len(x)
    for sweep in range(sweeps):
        whole = sweep % 10 == 0
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
                x[j] = new
                slope += change * H[j]
                moved = abs(change) * h
                if moved > largest:
                    largest = moved
        if largest <= enough and whole:
            break
    return x
