"""Leave-one-out from one fit: each row's loss at the coefficients that a Newton step without it would give."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Ints
from gramian._core.weights import weights_or_ones
from gramian.objective.losses.base import PiecewiseLinear
from gramian.objective.losses.classification import SmoothedPiecewiseLinear
from gramian.objective.problem import Problem, joint_scale
from gramian.rows import Block, parallel_map
from gramian.selection.cv.strategy import FoldTask, Strategy
from gramian.solvers.smooth.landmark_problem import part_of
from gramian.solvers.smooth.newton import solve_spd
from gramian.solvers.solve import fit_problem

MOST_LEVERAGE = 1.0 - 1e-6
FIRST, SPREAD = 32, 16  # rows that are refitted in truth at least: those that move most, and some of the others
SMALL = 0.05  # an error, over the standard error of the mean, that is small
MOST_WORK = 2e9  # multiplications for the rows that are refitted, in one product with all rows
CHUNK = 2**21  # predictions at once
CLOSE = 1e-4  # a last step, over how far the prediction has moved
MOST_STEPS = 20
FEW_ROWS = 60
FIT_TOL = 1e-8  # of the fit of all rows, which every score is made of


def loo_predictions(problem: Problem, theta: Floats, hessian: Floats, *, whole: bool = True) -> Floats:
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
        predictions = []
        for part, y, w in problem.panels(block):
            Z = problem.standard(part)
            f = problem.predictions(part, theta)
            counts = weights_or_ones(w, len(y))
            share = (counts if whole else (counts > 0).astype(np.float64)) / weight
            if m == 1:
                u = problem.loss.gradient(y, f[:, 0])
                h = problem.loss.curvature(y, f[:, 0])
                q = ((Z @ inverse) * Z).sum(axis=1)
                complement = 1.0 - np.minimum(share * h * q, MOST_LEVERAGE)
                predictions.append(f + (share * (u * q + Z @ back) / complement)[:, None])
            else:
                predictions.append(f + _several(problem, Z, y, f, share, inverse, back))
        return predictions

    return np.concatenate(problem.rows.sum(of_block))


def loo_predictions_of(problem: Problem, theta: Floats, index: Ints) -> Floats:
    """The leave-one-out predictions of a sample of rows, whose curvature stands for that of all."""
    alone = part_of(problem, index, alone=True)
    if alone.loss.piecewise_linear:
        alone = softened(alone, theta)
    hessian = alone.at(theta, hessian=True).hessian
    return loo_predictions(part_of(problem, index).with_loss(alone.loss), theta, hessian, whole=False)


def softened(problem: Problem, theta: Floats) -> Problem:
    """The problem with its breakpoints smoothed over the width of a density estimate, which gives it a curvature."""
    loss = problem.loss
    assert isinstance(loss, PiecewiseLinear)

    def of_block(block: Block) -> Floats:
        total = np.zeros(2)
        for part, y, w in problem.panels(block):
            e = problem.predictions(part, theta)[:, 0] - loss.breakpoint(y)[0]
            weight = weights_or_ones(w, len(y))
            total += weight @ e, weight @ e**2
        return total

    mean, square = problem.rows.sum(of_block) / problem.columns.weight
    spread = float(np.sqrt(max(square - mean**2, 0.0)))
    width = 0.5 * spread * problem.columns.weight ** (-1.0 / 3.0)
    return problem.with_loss(SmoothedPiecewiseLinear(loss, max(width, 1e-300)))


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
    reduction = np.eye(m) - share[:, None, None] * np.einsum("nab,nbc->nac", Q, H)
    return np.asarray(np.linalg.solve(reduction, (share[:, None] * pulled)[:, :, None])[:, :, 0])


def left_out_losses(problem: Problem, theta: Floats, hessian: Floats) -> tuple[Floats, Floats, float]:
    """The loss of every row at the prediction without it, the rows' weights, and an estimate of their mean's error.

    One Newton step from the fit of all rows is off by about the square of how far the prediction moves. The rows that
    move most, and some of the others, are refitted in truth; what these show bounds the error of the rest. More rows
    are refitted until that bound is small next to the standard error of the mean, or all are: then it is 0.
    """
    f = loo_predictions(problem, theta, hessian)
    block = problem.rows.collect()
    assert block.y is not None
    y = block.y[:, 0]
    weight = block.weights
    Z = np.concatenate(problem.rows.sum(lambda some: [problem.standard(part) for part, _, _ in problem.panels(some)]))
    before = Z @ theta.T
    value = _losses(problem, y, f)
    error_scale = ((f - before) ** 2).sum(axis=1)
    error_scale = np.where(weight > 0, np.where(np.isfinite(error_scale), error_scale, np.inf), 0.0)
    order = np.argsort(-weight * error_scale, kind="stable")
    order = order[weight[order] > 0]
    first = order[:FIRST]
    batch = np.unique(np.concatenate([first, order[FIRST :: max(len(order) // SPREAD, 1)]]))
    most = MOST_WORK / (problem.rows.n * problem.p * problem.m)
    inverse = solve_spd(hessian, np.eye(len(hessian)))
    rest, worst, mass = weight > 0, 0.0, float(weight.sum())
    while True:
        true = _losses(problem, y[batch], _refitted(problem, theta, inverse, Z, y, weight, batch))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.abs(true - value[batch]) / error_scale[batch]
        worst = max(worst, float(ratios[np.isfinite(ratios)].max(initial=0.0)))
        value[batch], rest[batch] = true, False
        if not rest.any():
            return value, weight, 0.0
        error = worst * float((weight * error_scale)[rest].sum()) / mass
        share = weight / mass
        noise = float(np.sqrt((share**2 * (value - share @ value) ** 2).sum()))
        if error <= SMALL * noise or (~rest).sum() > most:
            return value, weight, error
        batch = order[rest[order]][: max(2 * int((weight > 0).sum() - rest.sum()), 1)]


def _losses(problem: Problem, y: Floats, f: Floats) -> Floats:
    return problem.loss.value(y, f[:, 0] if problem.m == 1 else f)


def _refitted(
    problem: Problem, theta: Floats, inverse: Floats, Z: Floats, y: Floats, weight: Floats, index: Ints
) -> Floats:
    """The predictions (rows, m) of some rows by the optimum without them, all of these models in the same products."""
    size = max(CHUNK // (len(Z) * problem.m), 1)
    parts = [index[start : start + size] for start in range(0, len(index), size)]
    return np.concatenate(parallel_map(lambda some: _chunk(problem, theta, inverse, Z, y, weight, some), parts))


def _chunk(
    problem: Problem, theta: Floats, inverse: Floats, Z: Floats, y: Floats, weight: Floats, index: Ints
) -> Floats:
    m, p, d, count = problem.m, problem.p, problem.d, len(index)
    own, others = Z[index], weight.sum() - weight[index]
    before = own @ theta.T
    models = np.repeat(theta[None], count, axis=0)
    solve = _downdated(problem, inverse, own, y[index], before, weight[index] / weight.sum(), others / weight.sum())
    predictions, live, alone = before.copy(), np.arange(count), []
    first, last = np.zeros(count), np.full(count, np.inf)
    for number in range(MOST_STEPS):
        g = _slopes(problem, Z, y, models[live])
        g *= weight
        g[np.arange(len(live)), :, index[live]] = 0.0
        gradient = np.asarray(g.reshape(-1, len(Z)) @ Z).reshape(len(live), m, p) / others[live][:, None, None]
        c = models[live][:, :, :d]
        gradient[:, :, :d] += 2.0 * (c * problem.square if problem.square.ndim == 1 else c @ problem.square)
        step = solve(live, gradient)
        models[live] -= step
        moved = np.abs(np.einsum("cmp,cp->cm", step, own[live])).max(axis=1)
        first[live] = moved if number == 0 else first[live]
        predictions[live] = np.einsum("cmp,cp->cm", models[live], own[live])
        lost = ~(moved <= 0.8 * last[live])
        alone += list(live[lost])
        last[live] = moved
        live = live[~lost & (moved > CLOSE * first[live] + 1e-12 * np.abs(before[live]).max(axis=1))]
        if not live.size:
            break
    for k in [*alone, *live]:  # far from any quadratic: fitted by themselves
        rest = part_of(problem, np.delete(np.arange(len(Z)), index[k]), alone=True)
        predictions[k] = fit_problem(rest, start=theta, warn=False).theta @ own[k]
    return predictions


def _slopes(problem: Problem, Z: Floats, y: Floats, models: Floats) -> Floats:
    """∂ loss / ∂ f (models, m, n)."""
    count, m, p = models.shape
    f = np.asarray(models.reshape(count * m, p) @ Z.T).reshape(count, m, len(Z))
    with np.errstate(over="ignore", invalid="ignore"):
        if m == 1:
            return problem.loss.gradient(y, f[:, 0])[:, None]
        return np.stack([problem.loss.gradient(y, one.T).T for one in f])


def _downdated(
    problem: Problem, inverse: Floats, own: Floats, y: Floats, f: Floats, share: Floats, other_share: Floats
) -> Callable[[Ints, Floats], Floats]:
    """The inverse Hessians without each row: (models, gradients) ↦ Newton steps."""
    m, p = problem.m, problem.p
    h = problem.loss.curvature(y, f[:, 0])[:, None, None] if m == 1 else problem.loss.curvature(y, f)
    blocks = inverse.reshape(m * p * m, p)
    reach = [np.asarray(blocks @ z).reshape(m * p, m) for z in own]  # H⁻¹ (I ⊗ z)
    middle = []
    for z, wide, bend, part in zip(own, reach, h, share, strict=True):
        Q = np.einsum("ipj,p->ij", wide.reshape(m, p, m), z)
        middle.append(part * bend @ np.linalg.pinv(np.eye(m) - part * Q @ bend))

    def solve(live: Ints, g: Floats) -> Floats:
        flat = np.asarray(g.reshape(len(live), m * p) @ inverse)
        for row, k in zip(flat, live, strict=True):
            row += reach[k] @ (middle[k] @ np.einsum("mp,p->m", row.reshape(m, p), own[k]))
        return flat.reshape(g.shape) * other_share[live][:, None, None]

    return solve


def dense_enough(problem: Problem) -> bool:
    """Whether leverages are worth their cost: a dense inverse of the Hessian."""
    return problem.m * problem.p <= 2000 and not (sp.issparse(problem.rows.block(0, 1).X) and problem.p > 300)


def has_dense_hessian(problem: Problem) -> bool:
    """Whether loss and penalty are smooth and convex, and their Hessian has a dense inverse that is worth its cost."""
    loss = problem.loss
    smooth = loss.smooth and loss.convex and not joint_scale(loss) and not loss.power
    return smooth and problem.parts is not None and problem.parts.smooth and dense_enough(problem)


class ApproximateLeaveOneOut(Strategy):
    """Each row's loss from the fit of all rows, by a Newton step without it; see `left_out_losses`.

    With few rows one less is no small change: each is then left out in truth.
    """

    @classmethod
    def supports(cls, task: FoldTask) -> bool:
        many = task.leave_one_out and task.n_left_out > FEW_ROWS
        return many and task.problem.deviations is None and has_dense_hessian(task.problem)

    def losses(self, alphas: Floats) -> Floats:
        """The losses (A, n) of every row, and in `weights` what each counts."""
        rows, start = [], None
        for alpha in alphas.tolist():
            fit = self.task.fit(self.problem.with_alpha(alpha), start=start, tol=FIT_TOL)
            self.path[alpha] = start = fit.theta
            hessian = fit.problem.at(fit.theta, hessian=True).hessian
            value, self.weights, self.errors[alpha] = left_out_losses(fit.problem, fit.theta, hessian)
            rows.append(np.where(self.weights > 0, value, 0.0))
        return np.array(rows)
