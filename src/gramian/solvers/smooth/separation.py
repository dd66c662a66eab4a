"""Objectives whose optimum is at infinity: separated classes, and counts that are zero wherever a column is not."""

from typing import Any

import numpy as np
from scipy.optimize import linprog

from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.rows import Block
from gramian.solvers.base import Run

MAX_PENALTY_COLUMNS = 500  # of a Tikhonov matrix whose null space is sought
LATE_ITERATION = 10  # that few fits with an optimum come to
MAX_CHECKED_CELLS = 20_000  # numbers in a table that is checked for a separating direction then
ENDS = -np.inf, np.inf
MAX_PROGRAMME_CELLS = 2_000_000  # numbers in a table that is checked for a separating direction at the end


def may_separate(problem: Problem) -> bool:
    """Whether the loss has no minimum of its own, and the penalty and the bounds leave directions free."""
    if problem.parts is None or not problem.loss.infimum_at_infinity:
        return False
    if problem.parts.nothing:
        return True
    known = problem.parts.smooth or problem.square.ndim == 1
    return known and unpenalised(problem).shape[1] > int(problem.intercept)


def unpenalised(problem: Problem) -> Floats:
    """A basis (p, r) of the directions of θ that cost nothing: all without a penalty, few where it is singular.

    Coefficients with a bound are among them where they may grow without end to the other side.
    """
    S, d = problem.square, problem.d
    if problem.parts is not None and problem.parts.nothing:
        return np.eye(problem.p)
    if S.ndim == 1:
        costless = (problem.l1 == 0.0).reshape(-1, d).all(axis=0)  # for every output, where each has costs of its own
        free = (S == 0.0) & costless & ~(np.isfinite(problem.low) & np.isfinite(problem.high))
        for group, cost in problem.groups:
            free[group] &= cost == 0.0
        return np.asarray(np.eye(problem.p)[:, np.append(free, np.ones(problem.p - d, dtype=bool))])
    if d > MAX_PENALTY_COLUMNS:
        return np.eye(problem.p)[:, d:]
    diagonal = np.diagonal(S)
    unit = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 1.0)
    values, vectors = np.linalg.eigh(S * unit[:, None] * unit)
    free = unit[:, None] * vectors[:, values <= 1e-12 * d]
    basis = np.zeros((problem.p, free.shape[1] + problem.p - d))
    basis[:d, : free.shape[1]] = free / np.linalg.norm(free, axis=0)
    basis[d:, free.shape[1] :] = np.eye(problem.p - d)
    return basis


def free_part(problem: Problem, theta: Floats) -> Floats:
    """θ projected on the directions that cost nothing, and on those of them that end at no bound."""
    if problem.parts is not None and problem.parts.nothing:
        return theta
    N = unpenalised(problem)
    projected = np.asarray(np.linalg.lstsq(N, theta.T, rcond=None)[0].T @ N.T)
    projected[:, : problem.d] = np.clip(projected[:, : problem.d], *_sides(problem))
    return projected


def _sides(problem: Problem) -> tuple[Floats, Floats]:
    """The smallest and largest of a direction of each coefficient: zero on the side of a bound."""
    return np.where(np.isfinite(problem.low), 0.0, -np.inf), np.where(np.isfinite(problem.high), 0.0, np.inf)


def flat(problem: Problem, run: Run[Any]) -> bool:
    """Whether the objective hardly bends in some direction: where one column alone separates some of the rows."""
    details = run.state.details
    H = details.hessian
    if H is None and details.dual is not None and problem.m * problem.p <= MAX_PENALTY_COLUMNS:  # of the primal-dual
        H = problem.at(run.theta, hessian=True).hessian
    if H is None or len(H) > 500:
        return False
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    values = np.linalg.eigvalsh(H * unit[:, None] * unit)
    return bool(np.diagonal(H).min() < 1e-6 * np.diagonal(H).max() or values[0] < 1e-6 * values[-1])


def may_have_none(problem: Problem, run: Run[Any]) -> bool:
    """Whether an iteration ended where there may be no optimum, though its residual is small."""
    if not run.converged or run.ended or flat(problem, run):
        return True
    return problem.loss.targets != "counts" and least_margin(problem, free_part(problem, run.theta)) > 0


class Watch:
    """Ends the iteration as soon as every row is on its right side at no cost: there is no optimum then.

    Of few rows a long iteration looks once for any separating direction, by a linear programme.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __call__(self, iteration: int, state: Any) -> bool:
        if iteration == LATE_ITERATION and self.problem.rows.n * self.problem.p <= MAX_CHECKED_CELLS:
            return separating_columns(self.problem, state.theta) is not None
        if self.problem.loss.targets == "counts" or iteration < 3 or iteration % 3 != 0:
            return False
        return least_margin(self.problem, free_part(self.problem, state.theta)) > 0


def least_margin(problem: Problem, theta: Floats) -> float:
    """The smallest y f, or f_y less the largest other f."""

    def of_block(block: Block) -> "_Minimum":
        smallest = np.inf
        for part, y, w in problem.panels(block):
            f = problem.predictions(part, theta)
            margin = _margins(y, f)
            margin = margin if w is None else margin[w > 0]
            smallest = min(smallest, float(margin.min(initial=np.inf)))
        return _Minimum(smallest)

    return problem.rows.sum(of_block).value


class _Minimum:
    def __init__(self, value: float) -> None:
        self.value = value

    def __add__(self, other: "_Minimum") -> "_Minimum":
        return _Minimum(min(self.value, other.value))


def _margins(y: Floats, f: Floats) -> Floats:
    if f.shape[1] == 1:
        return y * f[:, 0]
    own = f[np.arange(len(f)), y.astype(int)]
    others = f.copy()
    others[np.arange(len(f)), y.astype(int)] = -np.inf
    return own - others.max(axis=1)


def separating_columns(problem: Problem, theta: Floats) -> list[int] | None:
    """The columns that a separating direction uses; empty where it uses them all; None where there is none."""
    counts = problem.loss.targets == "counts"
    if not counts and least_margin(problem, free_part(problem, theta)) > 0:
        return []
    if problem.rows.n * max(problem.m - 1, 1) * problem.m * problem.p > MAX_PROGRAMME_CELLS:
        return None
    block = problem.rows.collect()
    assert block.y is not None
    Z, y = np.concatenate([problem.standard(part) for part, _, _ in problem.panels(block)]), block.y[:, 0]
    if block.weight is not None:
        Z, y = Z[block.weight > 0], y[block.weight > 0]
    N = unpenalised(problem)
    low, high = (
        np.append(side, np.full(problem.p - problem.d, end)) for side, end in zip(_sides(problem), ENDS, strict=True)
    )
    bounds = np.clip(np.column_stack([low, high])[np.abs(N).argmax(axis=0)], -1.0, 1.0)
    Z = Z @ N
    # Of counts, those above zero must not move, and the others fall.
    if counts:
        falling = -Z[y == 0]
    else:
        falling = Z * y[:, None] if problem.m == 1 else _own_less_others(Z, y.astype(int), problem.m)
    still = {"A_eq": Z[y > 0], "b_eq": np.zeros(int((y > 0).sum()))} if counts else {}
    programme = linprog(
        -falling.sum(axis=0), A_ub=-falling, b_ub=np.zeros(len(falling)), **still,
        bounds=np.tile(bounds, (problem.m, 1)), method="highs",
    )  # fmt: skip
    if programme.x is None or -programme.fun <= 1e-7 * len(Z):
        return None
    direction = programme.x.reshape(problem.m, -1) @ N.T
    used = np.flatnonzero((np.abs(direction) > 1e-6).any(axis=0)[: problem.d])
    return used.tolist() if len(used) < problem.d else []


def _own_less_others(Z: Floats, y: Any, m: int) -> Floats:
    """f of the own class less that of each other class, as a matrix on the coefficients of all of them."""
    units = np.eye(m)
    signs = np.concatenate([units[y] - units[k] for k in range(m)])
    differences = signs[:, :, None] * np.tile(Z, (m, 1))[:, None, :]
    return np.asarray(differences.reshape(len(signs), -1)[np.abs(signs).sum(axis=1) > 0])
