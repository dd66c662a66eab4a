"""Crossover from an interior point to a vertex: rows at their breakpoint determine the exact solution."""

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem
from gramian.rows import Block
from gramian.solvers.nonsmooth.interior_point import Breakpoints

ROUNDS = 12
SLACK = 1e-9
MAX_SVD_EQUATIONS = 1000  # beyond, singular values cost too much


def cross_over(
    problem: Problem, breakpoints: Breakpoints, s: Floats, below: Floats, above: Floats
) -> tuple[Floats, Floats, Floats] | None:
    """θ, the predictions and the slopes of the exact optimum; None where no vertex is near.

    Rows at their breakpoint are equations, all others have the slope of their side: a linear system for θ and the
    slopes of the rows at their breakpoint. Rows that turn out to be on the wrong side change it, a few times.
    """
    low, high, share, n = breakpoints.low, breakpoints.high, breakpoints.weights, len(s) - len(breakpoints.penalised)
    counts = share > 0
    at_low, at_high = s - low < below, high - s < above
    free = ~(at_low | at_high) & counts
    fixed = np.where(at_low, low, high)
    p = problem.p
    size = float(np.abs(breakpoints.at).max(initial=1.0))
    for _ in range(ROUNDS):
        F = np.flatnonzero(free)
        if len(F) > 2 * p + 50:
            return None
        Z = _rows_of(problem, breakpoints, F, n)
        A = np.zeros((p + len(F), p + len(F)))
        A[:p, :p] = problem.penalty_hessian
        A[:p, p:] = Z.T * share[F]
        A[p:, :p] = Z
        fixed_mass = np.where(free | ~counts, 0.0, share * fixed)
        gradient = breakpoints.gradient_sums(problem, fixed_mass) + breakpoints.linear
        right = np.concatenate([-gradient, breakpoints.at[F]])
        unit = np.maximum(np.abs(A).max(axis=0), 1e-300)
        solution = _solved(A / unit, right) / unit
        theta, slopes = solution[:p], solution[p:]
        if not np.isfinite(solution).all():
            return None
        f = breakpoints.predictions(problem, theta[None, :])
        e = f - breakpoints.at
        room = SLACK * (size + np.abs(f))
        if (np.abs(e[F]) > room[F]).any() or np.abs(A @ solution - right).max() > SLACK * np.abs(right).max():
            return None  # more rows at their breakpoint than equations can hold
        too_low, too_high = np.zeros_like(free), np.zeros_like(free)
        too_low[F] = slopes < low[F] - SLACK
        too_high[F] = slopes > high[F] + SLACK
        on_low = ~free & (fixed == low) & (low != high)
        wrong = counts & ~free & np.where(on_low, e > room, e < -room)
        if not (too_low.any() or too_high.any() or wrong.any()):
            dual = np.where(free, 0.0, fixed)
            dual[F] = np.clip(slopes, low[F], high[F])
            dual[~counts] = np.clip(0.0, low[~counts], high[~counts])
            f[F] = breakpoints.at[F]
            theta[breakpoints.penalised[F[n <= F] - n]] = 0.0
            return theta[None, :], f, dual
        fixed = np.where(too_low, low, np.where(too_high, high, fixed))
        free = (free & ~too_low & ~too_high) | wrong
    return None


def _solved(A: Floats, right: Floats) -> Floats:
    """A⁻¹ right; of a large system that is singular anything, which its residual tells."""
    if len(A) <= MAX_SVD_EQUATIONS:
        return np.asarray(np.linalg.lstsq(A, right, rcond=1e-13)[0])
    try:
        return np.asarray(np.linalg.solve(A, right))
    except np.linalg.LinAlgError:
        return np.full(len(A), np.nan)


def _rows_of(problem: Problem, breakpoints: Breakpoints, wanted: Ints, n: int) -> Floats:
    """The standard rows of some numbers; beyond n, those of the coefficients that are penalised by absolute value."""
    rows = wanted[wanted < n]

    def of_block(block: Block) -> list[Floats]:
        index = rows[(rows >= block.start) & (rows < block.start + len(block))] - block.start
        if not len(index):
            return []
        subset = block.subset(index)
        if sp.issparse(subset.X):
            subset = Block(subset.X.tocsr(), subset.y, subset.weight, subset.start)
        return [problem.standard(part).copy() for part, _, _ in problem.panels(subset)]

    parts = problem.rows.sum(of_block) if len(rows) else []
    extra = wanted[wanted >= n] - n
    unit = np.zeros((len(extra), problem.p))
    unit[np.arange(len(extra)), breakpoints.penalised[extra]] = 1.0
    return np.concatenate([*parts, unit])
