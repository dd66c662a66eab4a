"""The squared loss with an absolute penalty, alone or beside a quadratic one, along its path of alphas."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.rows import Rows
from gramian.solvers.certificate import Certificate
from gramian.solvers.direct import DirectSolver, is_wide
from gramian.solvers.least_squares.rounding import with_rounding
from gramian.solvers.solution import Solution
from gramian.solvers.sparse.lasso import shrinkage_of
from gramian.solvers.sparse.lasso_data import GramData, LassoData, RowsData
from gramian.statistics import Moments
from gramian.warnings import ConvergenceWarning, warn_user


class PathSolver(DirectSolver):
    """A solver that follows the path of alphas from the largest, at which every penalised coefficient is zero."""

    grid_length: ClassVar[int] = 100
    data: ClassVar[type[LassoData]]

    @classmethod
    def of_name(cls, name: str) -> "PathSolver":
        return cls()

    def solve(
        self, problem: Problem, alphas: int | Floats | None = None, *, max_iter: int, tol: float, warn: bool = True
    ) -> Solution:
        data = problem.shared.get(self.data) or self.data(problem, max_iter)
        assert isinstance(data, LassoData)
        alpha, grid = problem.alpha, self.grid_length if alphas is None else alphas
        grid = _down_to(alpha, data.top(), grid) if isinstance(grid, int) else grid
        grid = np.unique(np.append(grid, alpha))[::-1]
        grid, coefs, intercepts, objectives, gaps, rounds = data.path(grid, alpha)
        chosen = int(np.flatnonzero(grid == alpha)[0])
        coef, gap, failed = coefs[chosen], float(gaps[chosen]), bool(rounds[chosen] < 0)
        certificate = self._certificate(data, coef, alpha, gap, tol)
        if warn:
            _warn(certificate, failed, max_iter)
        return Solution(
            coef=coef,
            intercept=intercepts[chosen],
            value=float(objectives[chosen]),
            certificate=certificate,
            solver=data.solver,
            sums=data.sums(coef),
            path=(grid, coefs, intercepts),
            history=[(a, float(o), float(g)) for a, (o, g) in enumerate(zip(objectives, gaps, strict=True))],
            iterations=max(int(np.maximum(rounds, 0).sum()), 1),
        )

    @staticmethod
    def _certificate(data: LassoData, coef: Floats, alpha: float, gap: float, tol: float) -> Certificate:
        """The certificate by the duality gap."""
        rank, condition = data.design()
        certificate = Certificate(
            kind="duality gap",
            value=gap,
            tolerance=tol,
            holds=gap <= tol,
            rank=rank,
            condition=condition,
            through=data.through,
            note=f"{int((coef != 0).any(axis=1).sum())} of {len(coef)} coefficients are not zero.",
            convex=True,
        )
        return with_rounding(certificate, *data.rounding_shares(coef, alpha))


@dataclass(frozen=True)
class GramActiveSet(PathSolver):
    """An active set on the Gram matrix: exact along the whole path.

    One pass of O(n d²), then O(k²) for every change of an active set of k.
    """

    name: ClassVar[str] = "active set on the Gram matrix"
    names: ClassVar[tuple[str, ...]] = ("gram",)
    data: ClassVar[type[LassoData]] = GramData

    def supports(self, problem: Problem) -> bool:
        """The squared loss with Σ f (r |w| + (1 − r) w²), from rows or moments."""
        return problem.loss.is_squared and isinstance(problem.data, Rows | Moments) and _shrinks(problem)

    def cost(self, problem: Problem) -> float:
        """A Gram matrix; of more columns than it should have, other solvers are cheaper."""
        return np.inf if is_wide(problem) else float(problem.rows.n) * problem.d**2


@dataclass(frozen=True)
class WorkingSets(PathSolver):
    """Working sets on the rows: inner products only of the columns that matter, about one product Xᵀr per alpha."""

    name: ClassVar[str] = "working sets on the rows"
    names: ClassVar[tuple[str, ...]] = ("rows",)
    data: ClassVar[type[LassoData]] = RowsData

    def supports(self, problem: Problem) -> bool:
        """The squared loss with Σ f (r |w| + (1 − r) w²), from rows."""
        return problem.loss.is_squared and isinstance(problem.data, Rows) and _shrinks(problem)

    def cost(self, problem: Problem) -> float:
        """A product with all rows for each alpha, and the inner products of at most as many columns as rows."""
        n, d = float(problem.rows.n), float(problem.d)
        return n * d * (self.grid_length + n) if is_wide(problem) else np.inf


def _shrinks(problem: Problem) -> bool:
    """Whether the penalty is of this kind, and not quadratic alone."""
    terms = problem.coordinates.terms
    return terms is not None and not terms.smooth and shrinkage_of(problem) is not None


def _warn(certificate: Certificate, failed: bool, max_iter: int) -> None:
    """Warn of a gap beyond its tolerance, or of one that rounding hides."""
    within = certificate.value <= certificate.tolerance
    if (not within or failed) and not deadline.ended():
        warn_user(
            f"The relative duality gap is {certificate.value:.2g}, its tolerance {certificate.tolerance:.2g}, after "
            f"{max_iter} changes of the active set. Raise max_iter, or bring the columns to similar scales "
            "(standardize=True).",
            ConvergenceWarning,
        )
    if within and not certificate.holds:
        warn_user(f"The coefficients are not certified. {certificate.note}", ConvergenceWarning)


def _down_to(alpha: float, top: float, count: int) -> Floats:
    """A grid from the first alpha with no coefficient down to the one asked for."""
    if alpha <= 0 or alpha >= top:
        return np.array([alpha])
    return np.geomspace(top, alpha, count)
