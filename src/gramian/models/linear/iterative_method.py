"""The squared loss by a solver object: alpha and standard errors as in closed form, coefficients by its iterations."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gramian._core.types import Floats
from gramian.models.base.squared_loss import ClosedForm, Data, Options, SquaredLossFit
from gramian.objective.losses.regression import Squared
from gramian.objective.penalties import L2, Penalty, PenaltyTerms, Separable, Tikhonov, Zero
from gramian.objective.problem import Problem
from gramian.rows import Rows
from gramian.rows.labels import coded
from gramian.solvers.base import AnySolver
from gramian.solvers.certificate import weakness
from gramian.solvers.least_squares.closed_form import QuadraticPenalty
from gramian.solvers.solve import fit_problem


@dataclass(frozen=True, eq=False)
class WeightedL2(Separable):
    """Σ f w² for one factor f a coefficient."""

    factors: Floats

    def value(self, w: Floats) -> float:
        return float(self.factors @ w**2)

    def prox(self, w: Floats, step: float) -> Floats:
        return w / (1.0 + 2.0 * step * self.factors)

    def peak(self, u: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(u == 0.0, 0.0, u / (2.0 * self.factors))

    def parts(self, d: int) -> PenaltyTerms:
        unbounded = np.full(d, np.inf)
        return PenaltyTerms(self.factors, np.zeros(d), (), -unbounded, unbounded)


@dataclass(frozen=True, eq=False)
class IterativeMethod:
    """The problem of a method in closed form, by a solver object.

    Alpha and the path are chosen in closed form, for they do not depend on the solver; so are the standard errors.
    """

    exact: ClosedForm
    penalty: QuadraticPenalty | None
    solver: AnySolver
    solvers: ClassVar[tuple[str, ...]] = ()
    grid: ClassVar[int] = 2

    def fit(self, data: Data, options: Options) -> SquaredLossFit:
        if not isinstance(data, Rows):
            raise ValueError(
                f"The solver {self.solver.name!r} needs the rows themselves: fit from the data or gm.scan of them, or "
                f'use solver="auto", which fits from {type(data).__name__}.'
            )
        solution, alpha, scores, path = self.exact.solution(data, replace(options, solver="auto"))
        penalty = Zero() if self.penalty is None or alpha == 0 else penalty_object(self.penalty, data.d)
        settled, count = data.settled(), len(data.target_names)
        standardize = self.penalty is not None and self.penalty.standardize
        given: dict[str, Any] = {"intercept": options.fit_intercept, "standardize": standardize}
        problems = [Problem(_target(settled, j), Squared(), penalty, alpha, **given) for j in range(count)]
        limits: dict[str, Any] = {"max_iter": options.max_iter, "tol": options.tol}
        fits = [fit_problem(problem, solver=self.solver, **limits) for problem in problems]
        worst = max(fits, key=lambda fit: weakness(fit.certificate))
        losses = [fit.problem.with_penalty(Zero()).value(fit.theta) for fit in fits]
        coef, intercept = np.column_stack([fit.coef[:, 0] for fit in fits]), np.array([f.intercept[0] for f in fits])
        residual = solution.weight * np.array(losses)
        return SquaredLossFit(
            alpha=alpha,
            coef=coef,
            intercept=intercept,
            residual=residual,
            weight=solution.weight,
            certificate=worst.certificate,
            solver=worst.solver,
            scores=scores,
            path=path,
            solution=replace(solution, coef=coef, intercept=intercept, residual=residual),
            history=worst.history,
            iterations=max(max(fit.iterations for fit in fits), 1),
        )


def penalty_object(penalty: QuadraticPenalty, d: int) -> Penalty:
    """The penalty of the coefficients, as general solvers take it."""
    if penalty.matrix is not None:
        return Tikhonov(penalty.matrix)
    return L2() if penalty.diagonal is None else WeightedL2(penalty.diagonal)


def _target(rows: Rows, j: int) -> Rows:
    return rows if len(rows.target_names) == 1 else coded(rows, lambda y: y[:, [j]])
