"""The loop of every iterative solver: `init`, `step`, `done`, with history, callbacks and interruption."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.objective.problem import Point, Problem
from gramian.warnings import ConvergenceWarning, warn_user

History = list[tuple[int, float, float]]

MAX_DENSE_HESSIAN_COLUMNS = 2000  # columns whose Hessian or Gram matrix is formed and factorised
INTERIOR_POINT_STEPS = 40  # weighted Gram matrices of an interior point, at most
LAST_RESORT_PASSES = 1e9  # of a method for every convex pair: dearer than any that uses what the problem is


@dataclass(frozen=True, eq=False)
class Details:
    """What a solver hands on beside its last iterate, for certificates and inference.

    Attributes
    ----------
    dual : array (n,) or (n, m), or None
        Dual variables: a subgradient of each row's loss, followed by those of absolute values that are penalised.
    point : Point or None
        The objective at the last iterate.
    hessian : array or None
        Of the objective, at the last iterate or at an earlier one.
    hessian_residual : float
        The residual where that Hessian was taken.
    criterion : str
        What the residual is, where it is no gradient and no duality gap computed anew.
    message : str
        What went wrong, and what to do.
    diverged : bool
        Whether the steps were too long for the objective to fall.
    separating_columns : list of int or None
        The columns of a direction that separates the classes at no cost; empty where it uses all of them.
    mistakes : int
        Rows on the wrong side that were met, of a perceptron.
    """

    dual: Floats | None = None
    point: Point | None = None
    hessian: Floats | None = None
    hessian_residual: float = np.inf
    criterion: str = ""
    message: str = ""
    diverged: bool = False
    separating_columns: list[int] | None = None
    mistakes: int = 0


@dataclass
class State:
    """Where an iteration is; each solver adds what its next step needs.

    Attributes
    ----------
    theta : array (m, p)
        The coefficients, in the standardized coordinates of the problem.
    value : float
        The objective there.
    residual : float
        The solver's own criterion: zero at an optimum.
    stalled : bool
        Whether no step makes the objective smaller: what is left is rounding.
    scale : float or None
        Of the loss, where it is estimated.
    """

    theta: Floats
    value: float
    residual: float
    stalled: bool = False
    scale: float | None = None

    @property
    def details(self) -> Details:
        """What is handed on when this is the last state."""
        return Details()


S = TypeVar("S", bound=State)


@dataclass(frozen=True, eq=False)
class Run(Generic[S]):
    """A solver's run: its last state, its history, and how it ended."""

    state: S
    history: History
    iterations: int
    converged: bool
    interrupted: bool = False
    ended: bool = False  # by max_iter, a callback or the deadline, before the solver was done

    @property
    def theta(self) -> Floats:
        return self.state.theta

    @property
    def value(self) -> float:
        return self.state.value

    @property
    def residual(self) -> float:
        return self.state.residual

    @property
    def scale(self) -> float | None:
        return self.state.scale


Callback = Callable[[int, Any], Any]
Choose = Callable[[Problem], "tuple[AnySolver, str]"]


def pass_cost(problem: Problem) -> float:
    """Multiplications of one product of the rows with the coefficients of all outputs."""
    return float(problem.rows.n) * problem.p * problem.m


class Solver(ABC, Generic[S]):
    """A solver: says what it can do, begins, steps, and knows when it is done."""

    name: ClassVar[str]
    unit: ClassVar[str] = "iterations"
    uses_landmarks: ClassVar[bool] = False  # whether it works on the rows that landmarks are made of
    starts_from_sample: ClassVar[bool] = False  # whether a large problem is first solved on some of its rows
    may_diverge: ClassVar[bool] = False  # whether its coefficients grow without end where classes separate
    last_resort: ClassVar[bool] = False  # whether it solves every convex pair, and so what another solver leaves
    min_tol: ClassVar[float] = 0.0  # a tolerance that is met where rounding leaves no smaller one

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

    def limits(self, max_iter: int, tol: float) -> tuple[int, float]:
        """The most iterations and the tolerance: those of the fit, or the solver's own where it has parameters."""
        return max_iter, tol

    def with_hessian(self, hessian: Floats | None) -> "Solver[S]":
        """The solver that begins with a Hessian of some of the rows, where it can use one."""
        return self

    def toward(self, tol: float) -> "Solver[S]":
        """The solver that ends at a tolerance: a step need not be more exact than that asks for."""
        return self

    @abstractmethod
    def init(self, problem: Problem, start: Floats | None) -> S:
        """The first state, from a warm start where there is one."""

    @abstractmethod
    def step(self, problem: Problem, state: S) -> S:
        """The next state."""

    def done(self, state: S, tol: float) -> bool:
        """Whether this is the answer."""
        return state.residual <= tol or state.stalled

    def finish(self, problem: Problem, state: S) -> S:
        """The last state made better where that is cheap."""
        return state


AnySolver = Solver[Any]


def run(
    method: Solver[S],
    problem: Problem,
    start: Floats | None = None,
    *,
    max_iter: int,
    tol: float,
    callbacks: Sequence[Callback] = (),
    inner: bool = False,
) -> Run[S]:
    """Step until done; a callback that returns True ends it, and so does a deadline; Ctrl-C keeps what there is.

    A run that is `inner` to something larger leaves Ctrl-C to that.
    """
    method = method.toward(tol)
    state = method.init(problem, start)
    history: History = [(0, state.value, state.residual)]
    best, iteration, interrupted, ended = state, 0, False, False
    try:
        while not method.done(state, tol) and iteration < max_iter:
            if deadline.passed():
                state = best
                break
            state = method.step(problem, state)
            iteration += 1
            history.append((iteration, state.value, state.residual))
            if not best.value <= state.value or state.residual <= best.residual:
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
            f"Interrupted after {iteration} {method.unit} of {method.name}: the best point so far is kept, its "
            f"residual is {state.residual:.2g}.",
            ConvergenceWarning,
        )
    converged = bool(state.residual <= tol)
    return Run(state, history, iteration, converged, interrupted, ended or interrupted)
