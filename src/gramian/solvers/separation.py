"""Objectives whose optimum is at infinity: separated classes, and counts that are zero wherever a column is not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from gramian.objective.label_losses import Logistic, Softmax
from gramian.objective.number_losses import Poisson
from gramian.rows import Block
from gramian.solvers.iterate import Outcome
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
MAX_PENALTY_COLUMNS = 500  # of a Tikhonov matrix whose null space is sought
MOST_CELLS = 2_000_000  # numbers in a table that is looked through for a separating direction


def may_separate(problem: Problem) -> bool:
    """Whether the loss has no minimum of its own, and the penalty leaves directions free."""
    if problem.parts is None or not problem.parts.smooth or not isinstance(problem.loss, Logistic | Softmax | Poisson):
        return False
    return not problem.square.any() or unpenalised(problem).shape[1] > int(problem.intercept)


def unpenalised(problem: Problem) -> Floats:
    """A basis (p, r) of the directions of θ that cost nothing: all without a penalty, few where it is singular."""
    S, d = problem.square, problem.d
    if not S.any():
        return np.eye(problem.p)
    if S.ndim == 1:
        return np.asarray(np.eye(problem.p)[:, np.append(S == 0.0, np.ones(problem.p - d, dtype=bool))])
    if d > MAX_PENALTY_COLUMNS:
        return np.eye(problem.p)[:, d:]
    diagonal = np.diagonal(S)
    unit = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 1.0)
    values, vectors = np.linalg.eigh(S * unit[:, None] * unit)
    free = unit[:, None] * vectors[:, values <= 1e-12 * d]
    found = np.zeros((problem.p, free.shape[1] + problem.p - d))
    found[:d, : free.shape[1]] = free / np.linalg.norm(free, axis=0)
    found[d:, free.shape[1] :] = np.eye(problem.p - d)
    return found


def free_part(problem: Problem, theta: Floats) -> Floats:
    """θ projected on the directions that cost nothing."""
    if not problem.square.any():
        return theta
    N = unpenalised(problem)
    return np.asarray(np.linalg.lstsq(N, theta.T, rcond=None)[0].T @ N.T)


def flat(outcome: Outcome) -> bool:
    """Whether the objective hardly bends in some direction: where one column alone separates some of the rows."""
    H = outcome.more.get("hessian")
    if H is None or len(H) > 500:
        return False
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    values = np.linalg.eigvalsh(H * unit[:, None] * unit)
    return bool(np.diagonal(H).min() < 1e-6 * np.diagonal(H).max() or values[0] < 1e-6 * values[-1])


class Watch:
    """Ends the iteration as soon as every row is on its right side at no cost: there is no optimum then."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __call__(self, iteration: int, state: Any) -> bool:
        if isinstance(self.problem.loss, Poisson):
            return False
        if iteration < 3 or iteration % 3 != 0:
            return False
        return least_margin(self.problem, free_part(self.problem, state.theta)) > 0


def least_margin(problem: Problem, theta: Floats) -> float:
    """The smallest y f, or f_y less the largest other f."""

    def of_block(block: Block) -> "_Least":
        least = np.inf
        for part, y, w in problem.panels(block):
            f = problem.predictions(part, theta)
            margin = _margins(y, f)
            margin = margin if w is None else margin[w > 0]
            least = min(least, float(margin.min(initial=np.inf)))
        return _Least(least)

    return problem.rows.sum(of_block).value


class _Least:
    def __init__(self, value: float) -> None:
        self.value = value

    def __add__(self, other: "_Least") -> "_Least":
        return _Least(min(self.value, other.value))


def _margins(y: Floats, f: Floats) -> Floats:
    if f.shape[1] == 1:
        return y * f[:, 0]
    own = f[np.arange(len(f)), y.astype(int)]
    others = f.copy()
    others[np.arange(len(f)), y.astype(int)] = -np.inf
    return own - others.max(axis=1)


def separating_columns(problem: Problem, theta: Floats) -> list[int] | None:
    """The columns that a separating direction uses; empty where it uses them all; None where there is none."""
    counts = isinstance(problem.loss, Poisson)
    if not counts and least_margin(problem, free_part(problem, theta)) > 0:
        return []
    if problem.m > 1 or problem.rows.n * problem.p > MOST_CELLS:
        return None
    block = problem.rows.collect()
    assert block.y is not None
    Z, y = np.concatenate([problem.standard(part) for part, _, _ in problem.panels(block)]), block.y[:, 0]
    if block.weight is not None:
        Z, y = Z[block.weight > 0], y[block.weight > 0]
    N = unpenalised(problem)
    Z = Z @ N
    # Of counts, those above zero must not move, and the others fall.
    falling = -Z[y == 0] if counts else Z * y[:, None]
    still = {"A_eq": Z[y > 0], "b_eq": np.zeros(int((y > 0).sum()))} if counts else {}
    found = linprog(
        -falling.sum(axis=0), A_ub=-falling, b_ub=np.zeros(len(falling)), **still, bounds=(-1.0, 1.0), method="highs"
    )
    if found.x is None or -found.fun <= 1e-7 * len(Z):
        return None
    used = np.flatnonzero(np.abs((N @ found.x)[: problem.d]) > 1e-6)
    return used.tolist() if len(used) < problem.d else []
