"""Leave-one-out from one fit: each row's loss at the coefficients that a Newton step without it would give."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.objective.label_losses import SoftKink
from gramian.objective.loss import Kinked
from gramian.rows import Block
from gramian.solvers.landmark_problem import part_of
from gramian.solvers.newton import solve_spd
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
MOST_LEVERAGE = 1.0 - 1e-6


def without_each(problem: Problem, theta: Floats, hessian: Floats, *, whole: bool = True) -> Floats:
    """The predictions (n, m) of every row by the model without it, to first order in 1/n.

    A row is left out with all its weight; `whole=False` leaves out one unit of it, so that a calibration of rows with
    integer weights is that of the rows repeated.

    With u the gradient and h the curvature of the row's loss, q = zᵀH⁻¹z and share w/Σw, the prediction moves by
    share (u q + zᵀH⁻¹s) / (1 − share h q), where s is the slope of the penalty, which counts less with a row less.
    """
    weight, d, p, m = problem.columns.weight, problem.d, problem.p, problem.m
    inverse = solve_spd(hessian, np.eye(len(hessian)))
    slope = np.zeros((m, p))
    slope[:, :d] = problem.quadratic(theta)[1]
    back = inverse @ slope.reshape(-1)

    def of_block(block: Block) -> list[Floats]:
        found = []
        for part, y, w in problem.panels(block):
            Z = problem.standard(part)
            f = problem.predictions(part, theta)
            left = np.ones(len(y)) if w is None else w if whole else (w > 0).astype(np.float64)
            share = left / weight
            if m == 1:
                u = problem.loss.gradient(y, f[:, 0])
                h = problem.loss.curvature(y, f[:, 0])
                q = ((Z @ inverse) * Z).sum(axis=1)
                rest = 1.0 - np.minimum(share * h * q, MOST_LEVERAGE)
                found.append(f + (share * (u * q + Z @ back) / rest)[:, None])
            else:
                found.append(f + _several(problem, Z, y, f, share, inverse, back))
        return found

    return np.concatenate(problem.rows.sum(of_block))


def some_without_each(problem: Problem, theta: Floats, index: NDArray[np.int64]) -> Floats:
    """The same of some rows, whose curvature stands for that of all."""
    alone = part_of(problem, index, alone=True)
    if isinstance(alone.loss, Kinked):
        alone = softened(alone, theta)
    hessian = alone.at(theta, hessian=True).hessian
    return without_each(part_of(problem, index).with_loss(alone.loss), theta, hessian, whole=False)


def softened(problem: Problem, theta: Floats) -> Problem:
    """The problem with its kinks made smooth over the width of a density estimate, which gives it a curvature."""
    loss = problem.loss
    assert isinstance(loss, Kinked)

    def of_block(block: Block) -> Floats:
        total = np.zeros(2)
        for part, y, w in problem.panels(block):
            e = problem.predictions(part, theta)[:, 0] - loss.kink(y)[0]
            weight = np.ones(len(y)) if w is None else w
            total += weight @ e, weight @ e**2
        return total

    mean, square = problem.rows.sum(of_block) / problem.columns.weight
    spread = float(np.sqrt(max(square - mean**2, 0.0)))
    width = 0.5 * spread * problem.columns.weight ** (-1.0 / 3.0)
    return problem.with_loss(SoftKink(loss, max(width, 1e-300)))


def _several(problem: Problem, Z: Floats, y: Floats, f: Floats, share: Floats, inverse: Floats, back: Floats) -> Floats:
    """The same for several outputs: u is a vector, h and q are m × m matrices."""
    m, p = problem.m, problem.p
    blocks = inverse.reshape(m, p, m, p)
    Q = np.empty((len(Z), m, m))
    for a in range(m):
        for b in range(a + 1):
            Q[:, a, b] = Q[:, b, a] = ((Z @ blocks[a, :, b, :]) * Z).sum(axis=1)
    u, H = problem.loss.gradient(y, f), problem.loss.curvature(y, f)
    pulled = np.einsum("nab,nb->na", Q, u) + Z @ back.reshape(m, p).T
    left = np.eye(m) - share[:, None, None] * np.einsum("nab,nbc->nac", Q, H)
    return np.asarray(np.linalg.solve(left, (share[:, None] * pulled)[:, :, None])[:, :, 0])


def left_out_losses(problem: Problem, theta: Floats, hessian: Floats) -> tuple[Floats, Floats]:
    """The loss of every row at the prediction without it, and the rows' weights."""
    f = without_each(problem, theta, hessian)
    block = problem.rows.collect()
    assert block.y is not None
    value = problem.loss.value(block.y[:, 0], f[:, 0] if problem.m == 1 else f)
    weight = np.ones(problem.rows.n) if block.weight is None else block.weight
    return value, weight


def dense_enough(problem: Problem) -> bool:
    """Whether leverages are worth their cost: a dense inverse of the Hessian."""
    return problem.m * problem.p <= 2000 and not (sp.issparse(problem.rows.block(0, 1).X) and problem.p > 300)
