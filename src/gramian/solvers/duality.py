"""Duality gaps: a dual point made feasible, and how far the objective may be above the optimum."""

from typing import Any, NamedTuple

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.solvers.gaps import relative_gap
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.newton import solve_spd

MAX_ROUNDS = 6  # of moving the slopes towards the equations that they must satisfy
MAX_CONSTRAINTS = 2000
MAX_EQUATION_COST = 1e-5  # share of the smallest value that a missed equation may add to a gap
MAX_COSTLY = 300  # coefficients whose equations are held because they would add more
FEASIBLE = 1e-9  # of the mean slope: what the equations of the dual may lack


class Gap(NamedTuple):
    """How far the objective may be above the optimum, and by how much the dual point misses its equations.

    `infeasibility` is relative to the mean slope of the rows.
    """

    gap: float
    infeasibility: float

    def relative(self, unit: float) -> float:
        """The larger of both, the gap relative to the unit."""
        return max(relative_gap(self.gap, unit), self.infeasibility)


def free_directions(problem: Problem) -> Floats:
    """Directions of θ (k, p) along which the penalty is zero: the dual point must be orthogonal to all of them."""
    d, p = problem.d, problem.p
    intercept = np.eye(p)[d:]
    if problem.parts is None:
        return np.eye(p) if problem.alpha == 0 else intercept
    free = (problem.l1 == 0) & np.isinf(problem.low) & np.isinf(problem.high)
    for group, cost in problem.groups:
        free[group] &= cost == 0
    index = np.flatnonzero(free)
    if problem.square.ndim == 1:
        return np.vstack([np.eye(p)[index[problem.square[index] <= 0]], intercept])
    S = problem.square[np.ix_(index, index)]
    root = np.sqrt(np.maximum(np.diagonal(S), 0.0))
    unit = np.where(root > 0, 1.0 / np.where(root > 0, root, 1.0), 1.0)
    values, vectors = np.linalg.eigh(S * unit[:, None] * unit)
    null = (vectors[:, values <= 1e-13 * max(float(values[-1]), 1e-300) * len(values)] * unit[:, None]).T
    null = null / np.maximum(np.abs(null).max(axis=1, keepdims=True, initial=0.0), 1e-300)
    directions = np.zeros((len(null), p))
    directions[:, index] = null
    return np.vstack([directions, intercept])


def feasible_slopes(
    problem: Problem, rows: RowProducts, u: Floats, linear: Any = 0.0, c: Floats | None = None
) -> tuple[Floats, Floats]:
    """Slopes u (n, m) moved so that the dual's equations hold, and their sums uᵀZ (m, p), `linear` included.

    The rows within the domain of the conjugate move, those with more room farther. Bounds that cannot be met
    so are left to the gap to count. Coefficients c (m, d) whose quadratic penalty is tiny have equations,
    too: what they miss would be divided by it.
    """
    c = np.zeros((problem.m, problem.d)) if c is None else c
    directions = free_directions(problem)
    u = _in_domain(problem, rows.y, u)
    sums = rows.gradient_sums(rows.share[:, None] * u) + linear
    best, smallest = (u, sums), np.inf
    for _ in range(MAX_ROUNDS):
        size = max(float(rows.share @ np.abs(u).sum(axis=1)), 1e-300)
        held, aims = _violated(problem, sums, c, size)
        if problem.m * (len(held) + len(directions)) > MAX_CONSTRAINTS:
            held, aims = held[:0], aims[:, :0]
        constraints = np.vstack([directions, held])
        residual = sums @ constraints.T - np.column_stack([np.zeros((problem.m, len(directions))), aims])
        worst = float(np.abs(residual).max(initial=0.0)) / size
        if worst < smallest:
            best, smallest = (u, sums), worst
        if worst <= 1e-15 or len(constraints) == 0:
            break
        u = _in_domain(problem, rows.y, _moved(problem, rows, u, constraints, residual))
        sums = rows.gradient_sums(rows.share[:, None] * u) + linear
    return best


def _in_domain(problem: Problem, y: Floats, u: Floats) -> Floats:
    if problem.m == 1:
        return np.clip(u, *(end[:, None] for end in problem.loss.slopes(y)))
    own = np.eye(problem.m)[y.astype(int)]
    p = np.maximum(u + own, 0.0)
    return p / p.sum(axis=1, keepdims=True) - own


def _violated(problem: Problem, sums: Floats, c: Floats, size: float) -> tuple[Floats, Floats]:
    """Coordinates (k, p) whose slope is beyond what the penalty allows, and where the slopes must be (m, k)."""
    if problem.parts is None or problem.square.ndim == 2:
        return np.zeros((0, problem.p)), np.zeros((problem.m, 0))
    g = -sums[:, : problem.d]
    slope = 2.0 * c * problem.square
    aims = slope + _allowed(problem, g - slope)
    missed = np.abs(aims - g).max(axis=0)
    wrong = (missed > 1e-14 * size) & (problem.square <= 0)
    costly = missed**2 > MAX_EQUATION_COST * problem.least_value * problem.square
    if np.count_nonzero(costly) <= MAX_COSTLY:
        wrong |= costly & (missed > 1e-14 * size)
    index = np.flatnonzero(wrong)
    return np.eye(problem.p)[index], -aims[:, index]


def _allowed(problem: Problem, g: Floats) -> Floats:
    """The nearest slopes in the domain of the conjugate of the penalty without its quadratic part."""
    allowed = np.clip(
        g,
        np.where(np.isinf(problem.low), -problem.l1, -np.inf),
        np.where(np.isinf(problem.high), problem.l1, np.inf),
    )
    for group, cost in problem.groups:
        for row, slopes in zip(allowed, g, strict=True):
            row[group] = slopes[group] * min(1.0, cost / max(float(np.linalg.norm(slopes[group])), 1e-300))
    return allowed


def _moved(problem: Problem, rows: RowProducts, u: Floats, constraints: Floats, residual: Floats) -> Floats:
    Z = rows.predictions(constraints)
    m, k = residual.shape
    if m == 1:
        low, high = (end[:, None] for end in problem.loss.slopes(rows.y))
        mean = float(rows.share @ np.abs(u[:, 0]))
        room = np.minimum(np.minimum(u - low, high - u), np.abs(u) + mean)[:, 0] ** 2
        A = (Z * (rows.share * room)[:, None]).T @ Z
        return u - room[:, None] * (Z @ solve_spd(A, residual[0]))[:, None]
    p = u + np.eye(m)[rows.y.astype(int)]
    W = p[:, :, None] * (np.eye(m) - p[:, None, :])
    A = np.einsum("i,iab,ij,il->ajbl", rows.share, W, Z, Z, optimize=True).reshape(m * k, m * k)
    factors = solve_spd(A, residual.reshape(-1)).reshape(m, k)
    return np.asarray(u - np.einsum("iab,ib->ia", W, Z @ factors.T))


def duality_gap(problem: Problem, rows: RowProducts, theta: Floats, u: Floats, f: Floats | None = None) -> Gap:
    """The gap between the objective at θ and the dual at the slopes u (n, m) of the rows, made feasible.

    By Fenchel and Young it is a sum of terms of at least zero, of the rows and of the penalty, so nothing cancels. No
    slopes at all are feasible too: they prove a fit without loss.
    """
    f = rows.predictions(theta) if f is None else f
    at_dual = _gap_at(problem, rows, theta, f, *feasible_slopes(problem, rows, u, c=theta[:, : problem.d]))
    at_zero = _gap_at(problem, rows, theta, f, np.zeros_like(u), np.zeros((problem.m, problem.p)))
    return min(at_dual, at_zero, key=lambda gap: (gap.infeasibility > FEASIBLE, gap.gap))


def _gap_at(problem: Problem, rows: RowProducts, theta: Floats, f: Floats, u: Floats, sums: Floats) -> Gap:
    size = max(float(rows.share @ np.abs(u).sum(axis=1)), 1e-300)
    d = problem.d
    intercepts, missed = (np.abs(theta[:, d:]), np.abs(sums[:, d:]))
    extra, infeasibility = float((intercepts * missed).sum()), float(missed.max(initial=0.0)) / size
    shrink = _shrinkage(problem, sums)
    u, sums = shrink * u, shrink * sums
    one = problem.m == 1
    young = problem.loss.young(rows.y, f[:, 0] if one else f, u[:, 0] if one else u)
    gap = float(rows.share @ np.maximum(young, 0.0)) + extra
    penalty, miss = _penalty_young(problem, theta[:, :d], -sums[:, :d])
    return Gap(gap + penalty, max(infeasibility, miss / size))


def _shrinkage(problem: Problem, sums: Floats) -> float:
    """The largest factor of at most 1 that brings slopes within absolute values and norms of groups."""
    if problem.parts is None or problem.square.ndim == 2:
        return 1.0
    g = -sums[:, : problem.d]
    bound = np.where((problem.l1 > 0) & (problem.square <= 0), problem.l1, np.inf)
    g = np.maximum(np.where(np.isinf(problem.high), g, 0.0), np.where(np.isinf(problem.low), -g, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = float(np.min(np.where(g > bound, bound / g, 1.0), initial=1.0))
    for group, cost in problem.groups:
        largest = max(float(np.linalg.norm(row[group])) for row in g)
        factor = min(factor, cost / largest) if largest > cost > 0 else factor
    return factor


def _penalty_young(problem: Problem, c: Floats, g: Floats) -> tuple[float, float]:
    """penalty(c) + its conjugate(g) − gᵀc, and by how much g is out of the domain of the conjugate.

    The penalty is q + r with q quadratic: its conjugate is at most q*(g − v) + r*(v) for every v, here the slope that
    2Sc leaves, brought into the domain of r*.
    """
    if problem.parts is None:
        return _unknown_young(problem, c, g)
    if problem.groups and (problem.l1.any() or problem.parts.bounded):
        return np.inf, np.inf  # no conjugate is known of both together
    square = problem.square
    slope = 2.0 * (c * square if square.ndim == 1 else c @ square)
    v = _allowed(problem, g - slope)
    rest = slope + v - g
    if square.ndim == 1:
        free = square <= 0
        quadratic = float((rest[:, ~free] ** 2 / square[~free]).sum()) / 4.0
        missed = np.where(free, v - g, 0.0)
    else:
        quadratic = float((rest * solve_spd(square, rest.T).T).sum()) / 4.0
        difference = v - g  # 2Sc itself is in the range of S
        missed = difference - solve_spd(square, difference.T).T @ square
    gap = quadratic + float(np.abs(missed * c).sum())
    within = np.clip(0.0, problem.low, problem.high)
    best = v * within - problem.l1 * np.abs(within)
    for end in (problem.low, problem.high):
        finite = np.where(np.isfinite(end), end, within)
        best = np.maximum(best, v * finite - problem.l1 * np.abs(finite))
    gap += 0.0 if problem.groups else float((problem.l1 * np.abs(c) + best - v * c).sum())
    for group, cost in problem.groups:
        for a, b in zip(c, v, strict=True):
            gap += cost * float(np.linalg.norm(a[group])) - float(a[group] @ b[group])
    return gap, float(np.abs(missed).max(initial=0.0))


def _unknown_young(problem: Problem, c: Floats, g: Floats) -> tuple[float, float]:
    alpha, penalty = problem.alpha, problem.penalty
    if alpha == 0:
        return float(np.abs(g * c).sum()), float(np.abs(g).max(initial=0.0))
    total = 0.0
    for a, b in zip(c, g, strict=True):
        total += alpha * (penalty.value(a) + penalty.conjugate(b / alpha)) - float(b @ a)
    return total, 0.0
