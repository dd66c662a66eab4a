"""The loop of every iterative solver: `init`, `step`, `done`, with history, callbacks and interruption."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.warnings import ConvergenceWarning, warn_user

History = list[tuple[int, float, float]]

MAX_DENSE_HESSIAN_COLUMNS = 2000  # columns whose Hessian or Gram matrix is formed and factorised
INTERIOR_POINT_STEPS = 40  # weighted Gram matrices of an interior point, at most
LAST_RESORT_PASSES = 1e9  # of a method for every convex pair: dearer than any that uses what the problem is


@dataclass
class State:
    """Where an iteration is: θ, the objective there, and how far it is from the optimum by the method's own measure."""

    theta: Floats
    value: float
    measure: float
    stalled: bool = False  # no step makes the objective smaller: what is left is rounding
    scale: float | None = None  # of the loss, where it is estimated
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a solver returns: the last state, its history, and whether it was done."""

    theta: Floats
    value: float
    measure: float
    history: History
    iterations: int
    converged: bool
    scale: float | None = None
    interrupted: bool = False
    more: dict[str, Any] = field(default_factory=dict)
    ended: bool = False  # by max_iter, a callback or the deadline, before the method was done


Callback = Callable[[int, State], Any]
Choose = Callable[[Problem], "tuple[Solver, str]"]


def pass_cost(problem: Problem) -> float:
    """Multiplications of one product of the rows with the coefficients of all outputs."""
    return float(problem.rows.n) * problem.p * problem.m


class Solver(ABC):
    """A solver: says what it can do, begins, steps, and knows when it is done."""

    name: ClassVar[str]
    unit: ClassVar[str] = "iterations"
    uses_landmarks: ClassVar[bool] = False  # whether it works on the rows that landmarks are made of
    starts_from_sample: ClassVar[bool] = False  # whether a large problem is first solved on some of its rows
    may_diverge: ClassVar[bool] = False  # whether its coefficients grow without end where classes separate
    last_resort: ClassVar[bool] = False  # whether it solves every convex pair, and so what another solver leaves

    @classmethod
    def for_problem(cls, problem: Problem, choose: Choose) -> Self | None:
        """The solver with its settings for a problem; None where there are none. `choose` is for subproblems."""
        return cls()

    def supports(self, problem: Problem) -> bool:
        """Whether the problem is one it solves."""
        return True

    def cost(self, problem: Problem) -> float:
        """Estimated multiplications of a fit; infinite where memory or another solver forbids to choose it."""
        return np.inf

    def reason(self, problem: Problem) -> str:
        """Why it is chosen for a problem."""
        return "asked for"

    @classmethod
    def alternative(cls, problem: Problem) -> str:
        """What can be done instead where it would be the solver of a problem, and does not support it."""
        return ""

    def with_hessian(self, hessian: Any) -> "Solver":
        """The solver that begins with a Hessian of some of the rows, where it can use one."""
        return self

    def toward(self, tol: float) -> "Solver":
        """The method where it ends at a tolerance: a step need not be more exact than that asks for."""
        return self

    @abstractmethod
    def init(self, problem: Problem, start: Floats | None) -> State:
        """The first state, from a warm start where there is one."""

    @abstractmethod
    def step(self, problem: Problem, state: State) -> State:
        """The next state."""

    def done(self, state: State, tol: float) -> bool:
        """Whether this is the answer."""
        return state.measure <= tol or state.stalled

    def finish(self, problem: Problem, state: State) -> State:
        """The last state made better where that is cheap."""
        return state


def run(
    method: Solver,
    problem: Problem,
    start: Floats | None = None,
    *,
    max_iter: int,
    tol: float,
    callbacks: Sequence[Callback] = (),
    inner: bool = False,
) -> Outcome:
    """Step until done; a callback that returns True ends it, and so does a deadline; Ctrl-C keeps what there is.

    A run that is `inner` to something larger leaves Ctrl-C to that.
    """
    method = method.toward(tol)
    state = method.init(problem, start)
    history: History = [(0, state.value, state.measure)]
    best, iteration, interrupted, ended = state, 0, False, False
    try:
        while not method.done(state, tol) and iteration < max_iter:
            if deadline.passed():
                state = best
                break
            state = method.step(problem, state)
            iteration += 1
            history.append((iteration, state.value, state.measure))
            if not best.value <= state.value or state.measure <= best.measure:
                best = state
            answers = [callback(iteration, state) for callback in callbacks]
            ended = any(answer is True for answer in answers)
            if ended:
                break
        ended = ended or not method.done(state, tol)
        state = method.finish(problem, state)
    except KeyboardInterrupt:
        if inner:
            raise
        state, interrupted = best, True
        warn_user(
            f"Interrupted after {iteration} {method.unit} of {method.name}: the best point so far is kept, its measure "
            f"is {state.measure:.2g}.",
            ConvergenceWarning,
        )
    converged = bool(state.measure <= tol)
    return Outcome(
        state.theta,
        state.value,
        state.measure,
        history,
        iteration,
        converged,
        state.scale,
        interrupted,
        state.more,
        ended or interrupted,
    )
