"""Levenberg–Marquardt for least squares of orthogonal distances: one pass over the rows per step."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gramian._core.types import Floats, Matrix
from gramian.structures.loop.multipass import PassRequest

MAX_PASSES = 400  # of a fit
MAX_SOFT_PASSES = 6  # of a refit within EM, where each pass assigns the rows anew
MAX_HARD_PASSES = 12  # of a refit within a hard alternation, which will be repeated
MIN_RELATIVE_DECREASE = 1e-24  # expected of a step: smaller steps change their parameters by less than 1e-12
ROUNDING = 1e-14  # relative change of a sum that may be rounding: there the gradient decides
MAX_EXACT_LOSS = 1e-28  # mean squared residual, in units of the rows, of an exact fit
MAX_STARTS = 20  # of those given, the ones of least objective
MAX_RUNS_AFTER = {12: 8, 40: 3}  # passes: runs that continue
MAX_DAMPING = 1e14  # at which no step descends
MAX_STALLED_STEPS = 2


@dataclass(eq=False)
class NormalEquations:
    """Σw; and Σw r², Σw r J and Σw JJᵀ of residuals r with derivatives J, at each of s states."""

    weight: float
    value: Floats
    gradient: Floats
    hessian: Floats

    def __add__(self, other: "NormalEquations") -> "NormalEquations":
        return NormalEquations(
            self.weight + other.weight,
            self.value + other.value,
            self.gradient + other.gradient,
            self.hessian + other.hessian,
        )


@dataclass(eq=False)
class _Run:
    """The descent from one start: its current state, and the normal equations there."""

    state: Any
    value: float
    gradient: Floats
    hessian: Floats
    exact_value: float  # at which the fit is exact
    damping: float = 1e-3
    stalled: int = 0
    ended: bool = False

    @property
    def _scaling(self) -> Floats:
        diagonal = self.hessian.diagonal()
        return np.maximum(diagonal, 1e-12 * max(diagonal.max(), 1e-300))

    @property
    def _gradient_norm(self) -> float:
        return float(self.gradient @ (self.gradient / self._scaling))

    def trial(self, move: Callable[[Any, Floats], Any]) -> Any:
        """The next state to try; None at convergence."""
        self.ended = self.ended or self.value <= self.exact_value
        while not self.ended and self.damping < MAX_DAMPING:
            step: Any = np.linalg.solve(self.hessian + self.damping * np.diag(self._scaling), -self.gradient)
            decrease = -(step @ self.gradient)
            converged = not decrease > MIN_RELATIVE_DECREASE * self.value
            if converged or (self.stalled > MAX_STALLED_STEPS and decrease <= ROUNDING * self.value):
                break
            new = move(self.state, step)
            if new is not None:
                return new
            self.damping *= 4.0
        self.ended = True
        return None

    def accept(self, other: "_Run") -> None:
        """Continue from a trial if its objective is lower, or equal to rounding with a smaller gradient."""
        other.damping = max(0.2 * self.damping, 1e-12)
        flatter = other.value <= self.value * (1.0 + ROUNDING) and other._gradient_norm < 0.5 * self._gradient_norm
        if other.value < self.value * (1.0 - ROUNDING) or flatter:
            vars(self).update(vars(other))
        else:
            self.damping *= 4.0
            self.stalled += 1


def levenberg(
    starts: list[Any],
    equations: Callable[[Any, Floats, list[Any]], NormalEquations],
    move: Callable[[Any, Floats], Any],
    max_passes: int = MAX_PASSES,
    first: NormalEquations | None = None,
    basis: Callable[[Any], Floats] | None = None,
) -> PassRequest[tuple[float, Any]]:
    """The least Σw r² reached from several starts side by side, and its state.

    `equations` are the normal equations of rows at states; `move` is the state after a step, or None beyond bounds;
    `first` are the equations at the starts where they are known. With a `basis`, steps are coordinates in the columns
    of its matrix at a state, and `move` takes these.
    """
    sums = first if first is not None else (yield partial(_at_states, equations, starts))

    def run_at(sums: NormalEquations, i: int, state: Any) -> _Run:
        gradient, hessian = sums.gradient[i], sums.hessian[i]
        if basis is not None:
            B = basis(state)
            gradient, hessian = B.T @ gradient, B.T @ hessian @ B
        return _Run(state, float(sums.value[i]), gradient, hessian, MAX_EXACT_LOSS * sums.weight)

    runs = [run_at(sums, i, state) for i, state in enumerate(starts)]
    runs = sorted(runs, key=_value)[:MAX_STARTS]
    for step in range(max_passes):
        if step in MAX_RUNS_AFTER:
            runs = sorted(runs, key=_value)[: MAX_RUNS_AFTER[step]]
        trials = [(run, state) for run in runs if (state := run.trial(move)) is not None]
        if not trials:
            break
        sums = yield partial(_at_states, equations, [state for _, state in trials])
        for i, (run, state) in enumerate(trials):
            run.accept(run_at(sums, i, state))
    best = min(runs, key=_value)
    return best.value, best.state


def _value(run: _Run) -> float:
    return run.value


def _at_states(
    equations: Callable[..., NormalEquations], states: list[Any], X: Matrix, weight: Floats
) -> NormalEquations:
    return equations(X, weight, states)
