"""Gradient descent: constant steps, a line search, or the bold driver; for every loss and every penalty."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian._core.validation import number, whole
from gramian.objective.problem import Point, Problem
from gramian.solvers.base import LAST_RESORT_PASSES, MAX_DENSE_HESSIAN_COLUMNS, Choose, Solver, State, pass_cost
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
GROW, SHRINK = 1.1, 0.5  # of the bold driver
FIRST = 0.1  # its first step
ENOUGH = 1e-4  # share of ‖change‖² / length that a step must bring
HALVINGS = 60
ROUNDING = 1e-15  # of the objective: what a sum over rows may be off by
PATIENCE = 30  # steps without any progress before a descent gives up
PLATEAU = 20  # steps without a better point before steps along subgradients are halved
PASSES = 1e4  # over the rows, of a fit
WINDOW = 100  # steps over which the change of a kinked objective is measured
VALLEY = 0.2  # ratio of the two curvatures below which a valley is narrow


@dataclass(frozen=True, init=False, repr=False)
class GradientDescent(Solver):
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
        objective grows: the descent stops at the best point it saw, `more["diverged"]` is True and `more["message"]`
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
    Losses with kinks (hinge, absolute, …) have subgradients only, along which the objective need not fall. The best
    point seen is kept. A constant step ends up circling the optimum; "line_search" searches the first step and halves
    it where 20 steps have found no better point; "bold_driver" ends at the first kink that it cannot leave, and
    `more["message"]` says so. The measure is the relative change of the objective over the last 100 steps, which is no
    certificate: `more["measure"]` says so.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.solvers.first_order.gradient_descent import GradientDescent
    >>> from gramian.solvers.base import run
    >>> from gramian.objective.problem import Problem
    >>> rows = gm.scan([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0])
    >>> problem = Problem(rows, gm.losses.Squared(), gm.penalties.Zero(), 0.0)
    >>> found = run(GradientDescent(0.5), problem, max_iter=1000, tol=1e-9)
    >>> coef, intercept = problem.to_original(found.theta)
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

    def init(self, problem: Problem, start: Floats | None) -> State:
        point = first_point(problem, start)
        first = {"line_search": 1.0, "bold_driver": FIRST}.get(str(self.length), self.length)
        more = {
            "damping": Damping(problem),
            "length": first,
            "waits": 0,
            "steps": 0,
            "first": point.value,
            "best": point,
        }
        if problem.loss.smooth:
            return _state(problem, point, more)
        return _kinked_state(point, {**more, "values": []})

    def step(self, problem: Problem, state: State) -> State:
        if self.length == "bold_driver":
            return self._bold(problem, state)
        if self.length == "line_search":
            return self._searched(problem, state) if problem.loss.smooth else self._falling(problem, state)
        return self._constant(problem, state)

    # constant steps

    def _constant(self, problem: Problem, state: State) -> State:
        more = state.more
        point = evaluate(problem, _moved(problem, more, more["length"]))
        if not _is_finite(point):
            return self._diverged(problem, state)
        if not problem.loss.smooth:
            found = _kinked_state(point, more)
            hopeless = found.more["best"].value >= more["first"] and len(found.more["values"]) == WINDOW
            return self._diverged(problem, found) if hopeless else found
        found = _state(problem, point, more)
        if found.more["waits"] <= PATIENCE:
            return found
        best: Point = more["best"]
        if point.value - best.value > 100 * ROUNDING * max(abs(best.value), abs(more["first"])):
            return self._diverged(problem, state)
        return replace(_state(problem, best, more), stalled=True)

    def _diverged(self, problem: Problem, state: State) -> State:
        best: Point = state.more["best"]
        measure, message = state.measure, f"No step={self.length:g} found a point better than the first."
        if problem.loss.smooth:
            change = state.more["point"].theta - best.theta
            most = largest_step(problem, best, change if change.any() else best.gradient)
            measure = problem.measure(best)
            message = (
                f"The objective grows with step={self.length:g}: the longest stable step is about {most:.2g}, which is "
                "2 over the largest curvature of the loss in standardised coordinates."
            )
        message += ' Take a shorter step, or step="line_search".'
        more = {**state.more, "point": best, "diverged": True, "message": message}
        return State(best.theta, best.value, measure, stalled=True, more=more)

    # line search

    def _searched(self, problem: Problem, state: State) -> State:
        more = state.more
        point: Point = more["point"]
        length = more["length"]
        for _ in range(HALVINGS):
            theta = _moved(problem, more, length)
            change = theta - point.theta
            if not change.any():
                break
            trial = evaluate(problem, theta)
            need = ENOUGH * (float((change**2).sum()) / length + _pull(problem, change))
            bend = _curvatures(problem, change, trial.gradient - point.gradient)
            if trial.value <= point.value - need + ROUNDING * abs(point.value):
                found = _state(problem, trial, {**more, "length": _next_length(bend, length)})
                return replace(found, stalled=found.more["waits"] > PATIENCE)
            length *= min(max(1.0 / (bend[0] * length), 0.1), 0.5) if np.isfinite(bend[0]) and bend[0] > 0 else 0.1
        return replace(_state(problem, point, more), stalled=True)

    def _falling(self, problem: Problem, state: State) -> State:
        """The subgradient method: the first step by search, halved where no step of late has found a better point."""
        more = state.more
        if more["steps"] == 0:
            return _kinked_state(*self._first_fall(problem, more), lately="best")
        if more["waits"] >= PLATEAU:
            more = {**more, "point": more["best"], "length": SHRINK * more["length"], "waits": 0}
        point = evaluate(problem, _moved(problem, more, more["length"]))
        return _kinked_state(point, {**more, "steps": more["steps"] + 1}, lately="best")

    @staticmethod
    def _first_fall(problem: Problem, more: dict[str, Any]) -> tuple[Point, dict[str, Any]]:
        length, best, found = 1.0, more["point"], 0.0
        trial = evaluate(problem, _moved(problem, more, length))
        factor = 2.0 if trial.value < best.value else 0.5
        for _ in range(HALVINGS):
            if trial.value < best.value:
                best, found = trial, length
            elif found:
                break
            length *= factor
            trial = evaluate(problem, _moved(problem, more, length))
        return best, {**more, "length": found or 1.0, "steps": 1}

    # bold driver

    def _bold(self, problem: Problem, state: State) -> State:
        more = state.more
        point: Point = more["point"]
        length = more["length"]
        theta = _moved(problem, more, length)
        trial = evaluate(problem, theta)
        if trial.value < point.value and _is_finite(trial):
            more = {**more, "length": GROW * length, "taken_back": False}
            return _state(problem, trial, more) if problem.loss.smooth else _kinked_state(trial, more)
        change = float(np.abs(theta - point.theta).max())
        longest = max(more.get("tried", 0.0), change if np.isfinite(change) else 0.0)
        gone = change <= max(1e-16 * float(np.abs(point.theta).max()), 1e-30 * longest)
        more = {**more, "length": SHRINK * length, "taken_back": True, "tried": longest}
        kept = replace(state, stalled=gone, more=more)
        if gone and not problem.loss.smooth:
            kept.more["message"] = (
                "No step along this subgradient lowers the objective: the bold driver ended at a kink, which need not "
                'be the optimum. Take step="line_search", or a smooth loss.'
            )
        return kept


def _moved(problem: Problem, more: dict[str, Any], length: float) -> Floats:
    """θ after one proximal gradient step."""
    point: Point = more["point"]
    with np.errstate(over="ignore", invalid="ignore"):
        change, lengths = more["damping"].step(point.gradient, length)
        return land(problem, point.theta - change, lengths)


def _is_finite(point: Point) -> bool:
    return bool(np.isfinite(point.value) and np.isfinite(point.gradient).all())


def _state(problem: Problem, point: Point, more: dict[str, Any]) -> State:
    """This point; `waits` counts the steps since the objective or the measure was better than ever before."""
    measure = problem.measure(point)
    least, best = more.get("least", np.inf), more["best"]
    waits = 0 if measure < least or point.value < best.value else more["waits"] + 1
    if point.value <= best.value:
        best = point
    more = {**more, "point": point, "best": best, "least": min(least, measure), "waits": waits}
    return State(point.theta, point.value, measure, more=more)


def _kinked_state(point: Point, more: dict[str, Any], lately: str = "point") -> State:
    """The best point seen; the measure is how much the objective changed lately, there or at the best points.

    Changes are counted as if every step were as long as the longest: short steps alone prove nothing.
    """
    better = point.value < more["best"].value
    best: Point = point if better else more["best"]
    values = [*more["values"], (best if lately == "best" else point).value][-WINDOW:]
    longest = max(more.get("longest", 0.0), more["length"])
    measure = spread(values) if len(values) == WINDOW else 1.0
    if lately == "point":
        measure = min(measure * longest / more["length"], 1.0)
    waits = 0 if better else more["waits"] + 1
    more = {**more, "point": point, "best": best, "values": values, "waits": waits, "measure": CHANGE}
    return State(best.theta, best.value, measure, more={**more, "longest": longest})


def _pull(problem: Problem, change: Floats) -> float:
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


def _next_length(bend: tuple[float, float], length: float) -> float:
    """The Barzilai–Borwein step: the shorter one where both differ much, as they do in narrow valleys."""
    low, high = bend
    if not 0 < low <= high * (1 + 1e-9) < np.inf:
        return 2.0 * length
    return 1.0 / (high if low < VALLEY * high else low)


def largest_step(problem: Problem, point: Point, direction: Floats, rounds: int = 20) -> float:
    """2 / L with L the largest curvature of the loss near a point, by power iteration on differences of gradients."""
    size = 1e-4 * max(1.0, float(np.abs(point.theta).max()))
    bend = 0.0
    for _ in range(rounds):
        direction = direction / float(np.abs(direction).max())
        direction /= np.sqrt(float((direction**2).sum()))
        slopes = (evaluate(problem, point.theta + size * direction).gradient - point.gradient) / size
        if problem.parts is not None:
            slopes[:, : problem.d] -= problem.quadratic(direction)[1]
        before, bend = bend, float(np.sqrt((slopes**2).sum()))
        if abs(bend - before) <= 1e-3 * bend:
            break
        direction = slopes
    return 2.0 / bend if bend > 0 else np.inf
