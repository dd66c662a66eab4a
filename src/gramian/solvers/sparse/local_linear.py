"""Penalties that are concave in every |w|: local linear approximation, a sequence of weighted L1 problems."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.objective.penalties import PenaltyTerms, Separable
from gramian.objective.problem import Problem
from gramian.solvers.base import MAX_DENSE_HESSIAN_COLUMNS, AnySolver, Choose, Details, Solver, State, run
from gramian.solvers.smooth.separation import Watch, may_have_none, may_separate, separating_columns

MAX_PROBLEMS = 20  # that a fit mostly needs
MAX_INNER_ITERATIONS = 1000
LASSO_TOL, MIN_TOL = 1e-10, 1e-12  # of the first weighted problem, and of any


@dataclass(frozen=True, eq=False)
class WeightedL1(Separable):
    """Σ weights · |w|, with weights (d,), or (m, d) for m outputs."""

    weights: Floats

    def value(self, w: Floats) -> float:
        return float((self.weights * np.abs(w)).sum())

    def prox(self, w: Floats, step: float) -> Floats:
        return np.asarray(np.sign(w) * np.maximum(np.abs(w) - step * self.weights, 0.0))

    def peak(self, u: Floats) -> Floats:
        return np.where(np.abs(u) <= self.weights, 0.0, np.copysign(np.inf, u))

    def parts(self, d: int) -> PenaltyTerms:
        none = np.full(d, np.inf)
        return PenaltyTerms(np.zeros(d), self.weights, (), -none, none)


def is_concave(problem: Problem) -> bool:
    """Whether the penalty is concave in every |w|, and so below a weighted L1 norm that touches it."""
    return problem.parts is None and problem.penalty.slope(np.zeros(problem.d)) is not None


def majorizer(problem: Problem, theta: Floats) -> tuple[Problem, Floats]:
    """The problem with the weighted L1 norm that touches the penalty at θ, and θ in its coordinates.

    It lies above the objective but for a constant, and has the same conditions of optimality at θ.
    """
    coef, intercept = problem.to_original(theta)
    penalised = coef.T if problem.deviations is None else theta[:, : problem.d]
    slopes = np.stack([np.asarray(problem.penalty.slope(c)) for c in penalised])
    above = problem.with_penalty(WeightedL1(slopes[0] if problem.m == 1 else slopes))
    return above, above.to_standardized(coef, intercept)


@dataclass(kw_only=True)
class LocalLinearState(State):
    """With what the solver of the last weighted problem hands on."""

    handed_on: Details

    @property
    def details(self) -> Details:
        return self.handed_on


@dataclass(frozen=True)
class LocalLinear(Solver[LocalLinearState]):
    """Local linear approximation (Zou and Li 2008): weighted L1 problems that touch the objective from above.

    Begins with the lasso, all weights equal, so that what a fit returns depends on no start; then every weight is the
    slope of the penalty where the last problem ended. The objective never increases. Each problem is solved by `inner`
    from the last solution; mostly five to twenty are needed.
    """

    inner: AnySolver
    name: ClassVar[str] = "local linear approximation"
    unit: ClassVar[str] = "weighted L1 problems"

    def supports(self, problem: Problem) -> bool:
        """A penalty that is concave in every |w|, and weighted L1 problems that `inner` supports."""
        return is_concave(problem) and self.inner.supports(majorizer(problem, problem.zero())[0])

    @classmethod
    def for_problem(cls, problem: Problem, choose: Choose) -> "LocalLinear | None":
        """With the solver of the first weighted problem; None where the penalty is none, or outputs are too many."""
        joint = problem.m > 1 and (not problem.loss.smooth or problem.m * problem.p > MAX_DENSE_HESSIAN_COLUMNS)
        return None if joint or not is_concave(problem) else cls(choose(majorizer(problem, problem.zero())[0])[0])

    def cost(self, problem: Problem) -> float:
        """That of the weighted problems."""
        return MAX_PROBLEMS * self.inner.cost(majorizer(problem, problem.zero())[0])

    def reason(self, problem: Problem) -> str:
        return f"a concave penalty lies below weighted L1 norms that touch it: {self.inner.name} on these"

    @classmethod
    def alternative(cls, problem: Problem) -> str:
        unfit = problem.m > 1 and not problem.loss.smooth and is_concave(problem)
        return "one decision per class (multiclass='ovr'), or the Softmax loss" if unfit else ""

    def init(self, problem: Problem, start: Floats | None) -> LocalLinearState:
        lasso, theta = majorizer(problem, problem.zero())
        if start is not None and problem.loss.smooth:
            theta = lasso.to_standardized(*problem.to_original(start))
        return self._solved(problem, lasso, theta, LASSO_TOL, np.inf)

    def step(self, problem: Problem, state: LocalLinearState) -> LocalLinearState:
        above, theta = majorizer(problem, state.theta)
        tol = max(min(1e-2 * state.residual, 1e-3), MIN_TOL)
        next_state = self._solved(problem, above, theta, tol, state.value)
        separated = next_state.details.separating_columns is not None
        if next_state.value < state.value or next_state.residual < state.residual or separated:
            return next_state
        return replace(state, stalled=True)

    def _solved(self, problem: Problem, above: Problem, theta: Floats, tol: float, before: float) -> LocalLinearState:
        watched = may_separate(above)
        callbacks = [Watch(above)] if watched else []
        inner = run(self.inner, above, theta, max_iter=MAX_INNER_ITERATIONS, tol=tol, callbacks=callbacks, inner=True)
        columns = None
        if watched and may_have_none(above, inner):
            columns = separating_columns(above, inner.theta)
        details = Details(separating_columns=columns)
        if columns is None:
            details = replace(inner.state.details, point=None)
        theta = problem.to_standardized(*above.to_original(inner.theta))
        tangent, own = majorizer(problem, theta)
        penalty = problem.alpha * problem.penalty_value(problem.to_original(theta)[0])
        if not problem.loss.smooth:  # no gradient to judge by: the relative decrease of the objective
            value = inner.value - above.nonsmooth_penalty(inner.theta) + penalty
            residual = min(abs(before - value) / max(abs(value), 1e-300), 1.0)
        elif inner.scale is not None:
            value = inner.value - above.nonsmooth_penalty(inner.theta) + penalty
            tangent = _at_scale(tangent, inner.scale)
            residual = tangent.residual(tangent.at(own))
        else:
            point = tangent.at(own)
            value, residual = point.smooth + penalty, tangent.residual(point)
        return LocalLinearState(theta, value, residual, columns is not None, inner.scale, handed_on=details)


def _at_scale(problem: Problem, scale: float) -> Problem:
    """The problem with the scale of its loss fixed, of which the coefficients satisfy the same conditions."""
    loss: Any = problem.loss
    # The joint objective of Huber's loss is scale + scale · loss.
    joint = loss.estimates_scale and loss.joint_form
    return problem.with_loss(loss.at(scale)).with_alpha(problem.alpha / (scale if joint else 1.0))
