"""Stochastic gradient descent: steps along the gradient of a few rows at a time."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gramian._core import validation
from gramian._core.random import seed_from, validate_random_state
from gramian._core.types import Floats
from gramian.objective.problem import Point, Problem
from gramian.rows import single_threaded_blas
from gramian.solvers.base import Details, Solver, State
from gramian.solvers.first_order.step_sizes import (
    CHANGE,
    evaluate,
    first_point,
    spread,
)

if TYPE_CHECKING:
    from gramian.solvers.first_order.epoch import Course, Walk

Rate = float | str | tuple[float, float] | Callable[[int], float]
RULES = ("plain", "momentum", "adagrad", "rmsprop", "adam")
WINDOW = 5  # epochs over which the change of a nonsmooth objective is measured


@dataclass(kw_only=True)
class StochasticGradientState(State):
    """With the place of the epochs, and the last values of the objective."""

    course: "Course"
    walk: "Walk"
    seed: int
    first_value: float
    epoch: int = 0
    values: tuple[float, ...] = ()
    message: str = ""
    diverged: bool = False
    criterion: str = ""

    @property
    def details(self) -> Details:
        return Details(criterion=self.criterion, message=self.message, diverged=self.diverged)


@dataclass(frozen=True)
class StochasticGradient(Solver[StochasticGradientState]):
    """θ ← prox(θ − rate · gradient of a mini-batch): many cheap steps, for many rows and answers of a few digits.

    One epoch passes the rows once in random order, `batch` at a time, O(n p) and O(p) more for each batch, and once
    more for the objective. The gradient of a batch B is Σ w g / (|B| · mean w) over its rows, whose mean is the
    gradient. Coordinates are standardised as in `GradientDescent`, and rates meant there; penalties are taken by their
    prox after each step, the quadratic ones implicitly.

    Parameters
    ----------
    batch : int
        Rows of a mini-batch.
    rate : float, callable, "1/t", "pegasos" or (c, c′)
        The rate of step t = 1, 2, …: constant; rate(t); 1/t; 1/(2·alpha·t) in the units of the data, the rate that a
        penalty alpha ‖w‖² allows (with a centred table and the intercept beside it); or min(c, c′/t).
    rule : "plain", "momentum", "adagrad", "rmsprop" or "adam"
        "momentum" adds `momentum` times the last change of θ (heavy ball). "adagrad" divides each coordinate's rate
        by the root of the sum of its squared gradients, "rmsprop" by that of their mean with decay 0.9, "adam" the same
        with decay 0.999 and a gradient averaged with decay `momentum`. The last three move by shares of the rate
        whatever the size of the gradients, so the rate is in units of the standardised coefficients. Under group norms
        and penalties known by their prox alone, all coefficients share one mean square.
    momentum : float
        In [0, 1).
    average : bool
        Answer with the mean of the iterates (Polyak and Ruppert): of the first epoch while in it, then of all that
        follow.
    epochs : int
        Most passes over the rows.
    random_state : int, Generator, RandomState or None
        The order of the rows; a seed gives the same bits on any number of threads, None another order each time.
    tol : float
        Enough: the gradient as in `GradientDescent`; for piecewise-linear losses the relative change of the objective
        over the last 5 epochs, which is no certificate.

    Examples
    --------
    >>> import gramian as gm
    >>> from gramian.solvers.base import run
    >>> from gramian.objective.problem import Problem
    >>> from gramian.solvers.first_order.stochastic import StochasticGradient
    >>> rows = gm.scan([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 7.0])
    >>> problem = Problem(rows, gm.losses.Squared(), gm.penalties.Zero(), 0.0)
    >>> descent = run(StochasticGradient(1, rate=0.2), problem, max_iter=100, tol=1e-9)
    >>> coef, intercept = problem.to_original(descent.theta)
    >>> coef.round(6), intercept.round(6)
    (array([[2.]]), array([1.]))
    """

    batch: int = 32
    _: KW_ONLY
    rate: Rate = 0.01
    rule: str = "plain"
    momentum: float = 0.9
    average: bool = False
    epochs: int = 20
    random_state: Any = 0
    tol: float = 1e-3
    name: ClassVar[str] = "stochastic gradient descent"
    unit: ClassVar[str] = "epochs"

    def __post_init__(self) -> None:
        validation.whole("batch", self.batch, low=1)
        validation.whole("epochs", self.epochs, low=1)
        validation.number("tol", self.tol, low=0.0)
        _refuse_rate(self.rate)
        validation.choice("rule", self.rule, RULES)
        if validation.number("momentum", self.momentum, low=0.0) >= 1:
            raise ValueError(f"momentum is {self.momentum!r}; it must be a number of at least 0 and below 1.")
        validation.flag("average", self.average)
        validate_random_state(self.random_state)

    @property
    def max_iter(self) -> int:
        """Epochs, as the loop of all solvers calls them."""
        return self.epochs

    def limits(self, max_iter: int, tol: float) -> tuple[int, float]:
        return self.epochs, self.tol

    def init(self, problem: Problem, start: Floats | None) -> StochasticGradientState:
        from gramian.solvers.first_order.epoch import Course, Walk  # compiled: only those who use it wait for it

        point = first_point(problem, start)
        rule = RULES.index(self.rule)
        tiny = 1e-8 * point.size or 1e-300
        course = Course(problem, self.batch, rule, float(self.momentum), tiny, self.rate == "pegasos")
        theta = point.theta.reshape(-1)
        memory = np.stack([theta if self.rule == "momentum" else np.zeros_like(theta), np.zeros_like(theta)])
        walk = Walk(theta, memory, theta, 0 if self.average else -1)
        seed = seed_from(self.random_state, default=None)
        state = StochasticGradientState(
            point.theta, point.value, 1.0, course=course, walk=walk, seed=seed, first_value=point.value
        )
        return _at(problem, state, point)

    def step(self, problem: Problem, state: StochasticGradientState) -> StochasticGradientState:
        course, epoch = state.course, state.epoch + 1
        walk = state.walk.copy()
        if self.average and epoch == 2:
            walk.seen = 0
        generator = np.random.default_rng([state.seed, epoch])
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            for block, order in course.blocks(generator):
                course.run(block, order, self.rates(walk.t, -(-len(order) // self.batch)), walk)
        theta = (walk.average if self.average else walk.theta).reshape(problem.m, problem.p).copy()
        if np.isfinite(theta).all():
            point = evaluate(problem, theta)
            if np.isfinite(point.value):
                return _at(problem, replace(state, walk=walk, epoch=epoch), point)
        message = (
            f"The coefficients grew beyond all bounds in epoch {epoch}: the rate is too high. The point before that "
            "epoch is kept; try a tenth of the rate."
        )
        return replace(state, stalled=True, diverged=True, message=message)

    def rates(self, t: int, steps: int) -> Floats:
        """The rates of the steps after step t; those of Pegasos in units of 1/(2·alpha)."""
        numbers = np.arange(t + 1, t + steps + 1)
        if callable(self.rate):
            rates = np.array([self.rate(int(number)) for number in numbers], dtype=np.float64)
            bad = ~(np.isfinite(rates) & (rates > 0))
            if bad.any():
                raise ValueError(
                    f"rate({numbers[bad.argmax()]}) is {rates[bad.argmax()]:g}; rates must be numbers above 0."
                )
            return rates
        if isinstance(self.rate, str):
            return 1.0 / numbers
        if isinstance(self.rate, tuple):
            return np.minimum(self.rate[0], self.rate[1] / numbers)
        return np.full(steps, float(self.rate))


def _at(problem: Problem, state: StochasticGradientState, point: Point) -> StochasticGradientState:
    """The state at the end of an epoch."""
    values = (*state.values, point.value)[-WINDOW:]
    message = ""
    if len(values) == WINDOW and min(values) > state.first_value:
        message = f"The objective was above where it began for {WINDOW} epochs: take a lower rate."
    if problem.loss.smooth:
        residual, criterion = problem.residual(point), ""
    else:
        residual, criterion = spread(values) if len(values) == WINDOW else 1.0, CHANGE
    return replace(
        state,
        theta=point.theta,
        value=point.value,
        residual=residual,
        values=values,
        message=message,
        criterion=criterion,
    )


def _refuse_rate(rate: Any) -> None:
    if isinstance(rate, str):
        if rate not in ("1/t", "pegasos"):
            raise ValueError(f'rate is {rate!r}; the words are "1/t" and "pegasos".')
    elif isinstance(rate, tuple):
        if len(rate) != 2:
            raise ValueError(f"rate is {rate!r}; a pair (c, c′) means min(c, c′/t).")
        for value in rate:
            validation.number("rate", value, low=0.0, open_low=True)
    elif isinstance(rate, Real):
        validation.number("rate", rate, low=0.0, open_low=True)
    elif not callable(rate):
        raise TypeError(
            f'rate is {rate!r}; it must be a number above 0, a function of the step, "1/t", "pegasos" or a pair.'
        )
