"""The lasso and the elastic net: alpha by paths of the folds, the path of all rows, its duality gaps."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.models.base.squared_loss import Data, Options, SquaredLossFit
from gramian.models.linear.sparse_problem import OnGram, OnRows
from gramian.rows import Rows
from gramian.selection.cv.fold_moments import select
from gramian.solvers.certificate import Certificate
from gramian.solvers.least_squares.rounding import with_rounding
from gramian.solvers.sparse.lasso import Shrinkage
from gramian.statistics import Triangle
from gramian.warnings import ConvergenceWarning, warn_user

GRID = 100
SMALL_GRAM = 1000  # columns for which a Gram matrix is always worth its n d² operations


@dataclass(frozen=True, eq=False)
class LassoMethod:
    """The squared loss with an absolute penalty, alone or beside a quadratic one."""

    shrinkage: Shrinkage
    solvers: ClassVar[tuple[str, ...]] = ("auto", "gram", "rows")
    grid: ClassVar[int] = GRID

    def fit(self, data: Data, options: Options) -> SquaredLossFit:
        problem = self._problem(data, options)
        alpha, grid, scores = options.alpha, options.alphas, None
        top = problem.top()
        if alpha is None:
            start = top if top > 0 else 1.0
            fixed = not isinstance(grid, int)
            alphas = np.geomspace(start, start * problem.reach, grid) if isinstance(grid, int) else grid
            limits = (start * 1e-10, start)
            scores = select(problem.losses, alphas, rule=options.rule, fixed=fixed, limits=limits)
            alphas = scores.alphas
            alpha = float(alphas[scores.chosen])
        else:
            alphas = _down_to(alpha, top, grid) if isinstance(grid, int) else grid
            alphas = np.unique(np.append(alphas, alpha))[::-1]
        alphas, coefs, intercepts, objectives, gaps, rounds = problem.path(alphas, alpha)
        chosen = int(np.flatnonzero(alphas == alpha)[0])
        coef = coefs[chosen]
        residual, weight, facts = problem.facts(coef, float(objectives[chosen]))
        return SquaredLossFit(
            alpha=alpha,
            coef=coef,
            intercept=intercepts[chosen],
            residual=residual,
            weight=weight,
            certificate=_certificate(problem, coef, alpha, float(gaps[chosen]), bool(rounds[chosen] < 0), options),
            solver=problem.solver,
            scores=scores,
            path=(alphas, coefs, intercepts),
            facts=facts,
            history=[(a, float(o), float(g)) for a, (o, g) in enumerate(zip(objectives, gaps, strict=True))],
            iterations=max(int(np.maximum(rounds, 0).sum()), 1),
        )

    def _problem(self, data: Data, options: Options) -> OnGram | OnRows:
        if isinstance(data, Triangle):
            raise ValueError(f"{options.name} fits from rows or Moments, not from a Triangle: give gm.moments.")
        if options.solver == "rows" and not isinstance(data, Rows):
            raise ValueError('solver="rows" needs the rows themselves: fit from the data, or use solver="gram".')
        if isinstance(data, Rows) and (options.solver == "rows" or (options.solver == "auto" and _is_wide(data))):
            return OnRows(data, options, self.shrinkage)
        return OnGram(data, options, self.shrinkage)


def _certificate(
    problem: OnGram | OnRows, coef: Floats, alpha: float, gap: float, failed: bool, options: Options
) -> Certificate:
    """The certificate by the duality gap; warns where it does not hold."""
    holds = gap <= options.tol
    rank, condition = problem.design()
    if (not holds or failed) and not deadline.ended():
        warn_user(
            f"The relative duality gap is {gap:.2g}, its tolerance {options.tol:.2g}, after {options.max_iter} changes "
            "of the active set. Raise max_iter, or bring the columns to similar scales (standardize=True).",
            ConvergenceWarning,
        )
    certificate = Certificate(
        kind="duality gap",
        value=gap,
        tolerance=options.tol,
        holds=holds,
        rank=rank,
        condition=condition,
        through=problem.through,
        note=f"{int((coef != 0).any(axis=1).sum())} of {len(coef)} coefficients are not zero.",
        convex=True,
    )
    told = with_rounding(certificate, *problem.rounding_shares(coef, alpha))
    if holds and not told.holds:
        warn_user(f"The coefficients are not certified. {told.note}", ConvergenceWarning)
    return told


def _is_wide(rows: Rows) -> bool:
    """Whether a Gram matrix would be larger than the rows, and large."""
    return rows.d > max(rows.n, SMALL_GRAM)


def _down_to(alpha: float, top: float, count: int) -> Floats:
    """A grid from the first alpha with no coefficient down to the one asked for."""
    if alpha <= 0 or alpha >= top:
        return np.array([alpha])
    return np.geomspace(top, alpha, count)
