"""Gradient descent: constant steps, a line search, or the bold driver; for every loss and every penalty."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian._core.validation import number, whole
from gramian.objective.problem import Point, Problem
from gramian.solvers.base import (
    LAST_RESORT_PASSES,
    MAX_DENSE_HESSIAN_COLUMNS,
    Choose,
    Details,
    Solver,
    State,
    pass_cost,
)
from gramian.solvers.first_order.step_sizes import (
    CHANGE,
    Damping,
    evaluate,
    first_point,
    land,
    spread,
)
from gramian.solvers.sparse.local_linear import is_concave

RULES = ("line_search", "bold_driver")
GROWTH, SHRINKAGE = 1.1, 0.5  # of the steps of the bold driver
FIRST_STEP = 0.1  # of the bold driver
SUFFICIENT_DECREASE = 1e-4  # share of ‖change‖² / length that a step must bring (Armijo)
MAX_HALVINGS = 60
ROUNDING = 1e-15  # of the objective: what a sum over rows may be off by
PATIENCE = 30  # steps without any progress before a descent ends
PLATEAU = 20  # steps without a better point before steps along subgradients are halved
PASSES = 1e4  # over the rows, of a fit
WINDOW = 100  # steps over which the change of a nonsmooth objective is measured
NARROW_VALLEY = 0.2  # ratio of the two curvatures below which a valley is narrow


@dataclass(kw_only=True)
class GradientDescentState(State):
    """With the current point, the best one, and the length of the next step.

    Attributes
    ----------
    point, best : Point
        The current point, and the one of the smallest objective.
    damping : Damping
        How the quadratic penalty shortens the steps.
    length, first_value : float
        Length of the next step, and the objective at the start.
    idle_steps : int
        Steps since the objective or the residual was smaller than ever before.
    min_residual : float
        The smallest so far; infinite for losses that are not smooth.
    values : list of float
        Of losses that are not smooth: the last values of the objective.
    max_length, steps :
        Of these: the longest step so far; of the subgradient method: steps taken.
    taken_back : bool
        Whether the bold driver took its last step back.
    max_change : float
        Of the bold driver: the largest change of a coefficient in a step that was taken back.
    message, diverged :
        As in `Details`.
    """

    point: Point
    best: Point
    damping: Damping
    length: float
    first_value: float
    idle_steps: int = 0
    min_residual: float = np.inf
    values: tuple[float, ...] = ()
    max_length: float = 0.0
    steps: int = 0
    taken_back: bool = False
    max_change: float = 0.0
    message: str = ""
    diverged: bool = False
    criterion: str = ""

    @property
    def details(self) -> Details:
        return Details(point=self.point, criterion=self.criterion, message=self.message, diverged=self.diverged)


@dataclass(frozen=True, init=False, repr=False)
class GradientDescent(Solver[GradientDescentState]):
    """θ ← prox(θ − step · gradient): the oldest method, here for any loss and any penalty.

    Coordinates are standardised: columns centred and scaled by a power of two to a standard deviation between ½ and 1
    (a sparse table is not centred), so one step suits all of them whatever their units; `step` is meant there. The
    penalty is never a reason for shorter steps: its quadratic part is taken implicitly, θ ← (θ − step · ∇loss) /
    (1 + 2 · step · s) for s θ², and its absolute values, group norms and bounds by their prox.

    One pass over the rows, O(n p), an iteration; the number of iterations grows with the condition number.

    Parameters
    ----------
    step : float, "line_search" or "bold_driver"
        A constant step, stable below 2/L, where L is the largest curvature of the loss. Where it is too long, the
        objective grows: the descent stops at the best point it saw, the state has `diverged` and a `message` that
        says how long a step may be.
        "line_search": the Barzilai–Borwein step, shortened until the objective falls enough (Armijo).
        "bold_driver": 1.1 times longer after each success; halved, and the step taken back, after each failure.
    max_iter : int
        Most iterations.
    tol : float
        Enough: the largest entry of the gradient (of the proximal gradient, where the penalty is not smooth) over the
        mean of |∂ loss / ∂ f|.

    Notes
    -----
    Piecewise-linear losses (hinge, absolute, …) have subgradients only, along which the objective need not fall. The
    best point seen is kept. A constant step ends up circling the optimum; "line_search" searches the first step and
    halves it where 20 steps have found no better point; "bold_driver" ends at the first breakpoint that it cannot
    leave, and the `message` of its state says so. The residual is the relative change of the objective over the last
    100 steps, which is no certificate.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.solvers.first_order.gradient_descent import GradientDescent
    >>> from gramian.solvers.base import run
    >>> from gramian.objective.problem import Problem
    >>> rows = gm.scan([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0])
    >>> problem = Problem(rows, gm.losses.Squared(), gm.penalties.Zero(), 0.0)
    >>> descent = run(GradientDescent(0.5), problem, max_iter=1000, tol=1e-9)
    >>> coef, intercept = problem.to_original(descent.theta)
    >>> coef.round(6), intercept.round(6)
    (array([[2.]]), array([1.]))
    """

    length: float | str  # the `step` given: that name is the method's
    max_iter: int
    tol: float
    name: ClassVar[str] = "gradient descent"
    unit: ClassVar[str] = "gradient steps"

    def __init__(self, step: float | str = 0.1, *, max_iter: int = 10_000, tol: float = 1e-6) -> None:
        if isinstance(step, str):
            if step not in RULES:
                raise ValueError(f'step is {step!r}; it must be a number above 0, "line_search" or "bold_driver".')
            object.__setattr__(self, "length", step)
        else:
            object.__setattr__(self, "length", number("step", step, low=0.0, open_low=True))
        object.__setattr__(self, "max_iter", whole("max_iter", max_iter, low=1))
        object.__setattr__(self, "tol", number("tol", tol, low=0.0))

    def __repr__(self) -> str:
        return f"GradientDescent(step={self.length!r}, max_iter={self.max_iter}, tol={self.tol!r})"

    def limits(self, max_iter: int, tol: float) -> tuple[int, float]:
        return self.max_iter, self.tol

    @classmethod
    def for_problem(cls, problem: Problem, choose: Choose) -> "GradientDescent":
        return cls("line_search")

    def cost(self, problem: Problem) -> float:
        """Passes over the rows, where the penalty is known by its prox alone and no majorizer is better."""
        many = problem.m > 1 and problem.m * problem.p > MAX_DENSE_HESSIAN_COLUMNS
        if problem.parts is not None or (is_concave(problem) and not (many and problem.loss.smooth)):
            return np.inf
        return (PASSES if problem.loss.smooth else 1e3 * LAST_RESORT_PASSES) * pass_cost(problem)

    def reason(self, problem: Problem) -> str:
        if is_concave(problem):
            return f"a concave penalty of {problem.m} × {problem.p} coefficients"
        return "a penalty that is known by its prox alone"

    def init(self, problem: Problem, start: Floats | None) -> GradientDescentState:
        point = first_point(problem, start)
        length = {"line_search": 1.0, "bold_driver": FIRST_STEP}.get(str(self.length), self.length)
        assert not isinstance(length, str)
        state = GradientDescentState(
            point.theta, point.value, 1.0,
            point=point, best=point, damping=Damping(problem), length=length, first_value=point.value,
        )  # fmt: skip
        return _at(problem, state, point)

    def step(self, problem: Problem, state: GradientDescentState) -> GradientDescentState:
        if self.length == "bold_driver":
            return self._bold_driver(problem, state)
        if self.length == "line_search":
            return self._line_search(problem, state) if problem.loss.smooth else self._subgradient(problem, state)
        return self._constant(problem, state)

    # constant steps

    def _constant(self, problem: Problem, state: GradientDescentState) -> GradientDescentState:
        point = evaluate(problem, _proximal_step(problem, state, state.length))
        if not _is_finite(point):
            return self._diverged(problem, state)
        after = _at(problem, state, point)
        if not problem.loss.smooth:
            hopeless = after.best.value >= state.first_value and len(after.values) == WINDOW
            return self._diverged(problem, after) if hopeless else after
        if after.idle_steps <= PATIENCE:
            return after
        best = state.best
        if point.value - best.value > 100 * ROUNDING * max(abs(best.value), abs(state.first_value)):
            return self._diverged(problem, state)
        return replace(_at(problem, state, best), stalled=True)

    def _diverged(self, problem: Problem, state: GradientDescentState) -> GradientDescentState:
        best, residual = state.best, state.residual
        message = f"No step={self.length:g} found a point better than the first."
        if problem.loss.smooth:
            change = state.point.theta - best.theta
            longest = largest_step(problem, best, change if change.any() else best.gradient)
            residual = problem.residual(best)
            message = (
                f"The objective grows with step={self.length:g}: the longest stable step is about {longest:.2g}, which "
                "is 2 over the largest curvature of the loss in standardised coordinates."
            )
        message += ' Take a shorter step, or step="line_search".'
        return replace(
            state,
            theta=best.theta,
            value=best.value,
            residual=residual,
            stalled=True,
            point=best,
            diverged=True,
            message=message,
        )

    # line search

    def _line_search(self, problem: Problem, state: GradientDescentState) -> GradientDescentState:
        point, length = state.point, state.length
        for _ in range(MAX_HALVINGS):
            theta = _proximal_step(problem, state, length)
            change = theta - point.theta
            if not change.any():
                break
            trial = evaluate(problem, theta)
            squares = float((change**2).sum())
            decrease = SUFFICIENT_DECREASE * (squares / length + _penalty_curvature(problem, change))
            curvatures = _curvatures(problem, change, trial.gradient - point.gradient)
            if trial.value <= point.value - decrease + ROUNDING * abs(point.value):
                after = _at(problem, replace(state, length=_next_length(curvatures, length)), trial)
                return replace(after, stalled=after.idle_steps > PATIENCE)
            known = np.isfinite(curvatures[0]) and curvatures[0] > 0
            length *= min(max(1.0 / (curvatures[0] * length), 0.1), 0.5) if known else 0.1
        return replace(_at(problem, state, point), stalled=True)

    def _subgradient(self, problem: Problem, state: GradientDescentState) -> GradientDescentState:
        """The subgradient method: the first step by search, halved where no recent step has found a better point."""
        if state.steps == 0:
            point, length = self._first_subgradient_step(problem, state)
            return _at(problem, replace(state, length=length, steps=1), point, judged_at="best")
        if state.idle_steps >= PLATEAU:
            state = replace(state, point=state.best, length=SHRINKAGE * state.length, idle_steps=0)
        point = evaluate(problem, _proximal_step(problem, state, state.length))
        return _at(problem, replace(state, steps=state.steps + 1), point, judged_at="best")

    @staticmethod
    def _first_subgradient_step(problem: Problem, state: GradientDescentState) -> tuple[Point, float]:
        length, best, best_length = 1.0, state.point, 0.0
        trial = evaluate(problem, _proximal_step(problem, state, length))
        factor = 2.0 if trial.value < best.value else 0.5
        for _ in range(MAX_HALVINGS):
            if trial.value < best.value:
                best, best_length = trial, length
            elif best_length:
                break
            length *= factor
            trial = evaluate(problem, _proximal_step(problem, state, length))
        return best, best_length or 1.0

    # bold driver

    def _bold_driver(self, problem: Problem, state: GradientDescentState) -> GradientDescentState:
        point, length = state.point, state.length
        theta = _proximal_step(problem, state, length)
        trial = evaluate(problem, theta)
        if trial.value < point.value and _is_finite(trial):
            return _at(problem, replace(state, length=GROWTH * length, taken_back=False), trial)
        change = float(np.abs(theta - point.theta).max())
        max_change = max(state.max_change, change if np.isfinite(change) else 0.0)
        vanished = change <= max(1e-16 * float(np.abs(point.theta).max()), 1e-30 * max_change)
        message = state.message
        if vanished and not problem.loss.smooth:
            message = (
                "No step along this subgradient lowers the objective: the bold driver ended at a breakpoint of the "
                'loss, which need not be the optimum. Take step="line_search", or a smooth loss.'
            )
        return replace(
            state,
            stalled=vanished,
            length=SHRINKAGE * length,
            taken_back=True,
            max_change=max_change,
            message=message,
        )


def _proximal_step(problem: Problem, state: GradientDescentState, length: float) -> Floats:
    """θ after one proximal gradient step."""
    with np.errstate(over="ignore", invalid="ignore"):
        change, lengths = state.damping.step(state.point.gradient, length)
        return land(problem, state.point.theta - change, lengths)


def _is_finite(point: Point) -> bool:
    return bool(np.isfinite(point.value) and np.isfinite(point.gradient).all())


def _at(problem: Problem, state: GradientDescentState, point: Point, judged_at: str = "point") -> GradientDescentState:
    """The state after a step to this point."""
    if not problem.loss.smooth:
        return _nonsmooth_at(state, point, judged_at)
    residual = problem.residual(point)
    progress = residual < state.min_residual or point.value < state.best.value
    return replace(
        state,
        theta=point.theta,
        value=point.value,
        residual=residual,
        stalled=False,
        point=point,
        best=point if point.value <= state.best.value else state.best,
        min_residual=min(state.min_residual, residual),
        idle_steps=0 if progress else state.idle_steps + 1,
    )


def _nonsmooth_at(state: GradientDescentState, point: Point, judged_at: str) -> GradientDescentState:
    """The best point seen; the residual is how much the objective changed of late, there or at the best points.

    Changes are counted as if every step were as long as the longest: short steps alone prove nothing.
    """
    better = point.value < state.best.value
    best = point if better else state.best
    values = (*state.values, (best if judged_at == "best" else point).value)[-WINDOW:]
    max_length = max(state.max_length, state.length)
    residual = spread(values) if len(values) == WINDOW else 1.0
    if judged_at == "point":
        residual = min(residual * max_length / state.length, 1.0)
    return replace(
        state,
        theta=best.theta,
        value=best.value,
        residual=residual,
        stalled=False,
        point=point,
        best=best,
        values=values,
        max_length=max_length,
        idle_steps=0 if better else state.idle_steps + 1,
        criterion=CHANGE,
    )


def _penalty_curvature(problem: Problem, change: Floats) -> float:
    """ΔᵀHΔ of the quadratic penalty."""
    return 0.0 if problem.parts is None else 2.0 * problem.quadratic(change)[0]


def _curvatures(problem: Problem, change: Floats, slopes: Floats) -> tuple[float, float]:
    """Of the loss along a change of θ: ΔᵀΔg / ΔᵀΔ, and ΔgᵀΔg / ΔᵀΔg."""
    slopes = slopes.copy()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if problem.parts is not None:
            slopes[:, : problem.d] -= problem.quadratic(change)[1]
        inner = float((change * slopes).sum())
        return inner / float((change**2).sum()), float((slopes**2).sum()) / inner if inner else 0.0


def _next_length(curvatures: tuple[float, float], length: float) -> float:
    """The Barzilai–Borwein step: the shorter one where both differ much, as they do in narrow valleys."""
    low, high = curvatures
    if not 0 < low <= high * (1 + 1e-9) < np.inf:
        return 2.0 * length
    return 1.0 / (high if low < NARROW_VALLEY * high else low)


def largest_step(problem: Problem, point: Point, direction: Floats, rounds: int = 20) -> float:
    """2 / L with L the largest curvature of the loss near a point, by power iteration on differences of gradients."""
    size = 1e-4 * max(1.0, float(np.abs(point.theta).max()))
    curvature = 0.0
    for _ in range(rounds):
        direction = direction / float(np.abs(direction).max())
        direction /= np.sqrt(float((direction**2).sum()))
        slopes = (evaluate(problem, point.theta + size * direction).gradient - point.gradient) / size
        if problem.parts is not None:
            slopes[:, : problem.d] -= problem.quadratic(direction)[1]
        before, curvature = curvature, float(np.sqrt((slopes**2).sum()))
        if abs(curvature - before) <= 1e-3 * curvature:
            break
        direction = slopes
    return 2.0 / curvature if curvature > 0 else np.inf
