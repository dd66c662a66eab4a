"""Standard errors of fits that are not least squares: from the curvature of a likelihood, or a sandwich."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from gramian._core.types import Floats
from gramian.objective.losses.base import Scaled
from gramian.objective.losses.regression import Power
from gramian.objective.problem import Problem, joint_scale
from gramian.rows import Block
from gramian.solvers.smooth.newton import solve_spd
from gramian.solvers.solution import Solution

MAX_HESSIAN_RESIDUAL = 1e-5  # where the Hessian is that of the optimum
MOST = 500  # numbers in θ whose covariance is kept
MOST_LEVERAGE = 0.999  # of a row, in the correction of its residual
MOST_STEPS = 60  # of the equation for the scale


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of coefficients and intercept of m outputs, (m (d + 1))², in the units of the data; intercept last.

    `freedom` is the degrees of freedom of Student's t that intervals are taken from; None for the normal.
    """

    matrix: Floats
    outputs: int
    kind: str
    freedom: float | None = None


def covariance_of(fit: Solution) -> Covariance | None:
    """H⁻¹ J H⁻¹ / Σw: H the curvature of the objective, J that of the loss alone or the mean of gradient squares.

    Likelihoods of classes and counts have J = H. Otherwise the gradient of each row is divided by 1 − its leverage
    (HC3), intervals are of Student's t with Σw less the trace of the leverages, and a scale that was estimated is
    corrected for the degrees of freedom: the mean of `scale_terms` is 1 − df / Σw.
    """
    problem, loss = fit.problem, fit.problem.loss
    if not loss.smooth or problem.m * problem.p > MOST:
        return None
    if problem.parts is None or not problem.parts.smooth or (isinstance(loss, Power) and loss.p < 2):
        return None
    if fit.perfect and not fit.certificate.holds:
        return None
    theta = problem.to_standardized(fit.coef, fit.intercept)
    S = np.asarray(np.kron(np.eye(problem.m), problem.penalty_hessian), dtype=np.float64)
    if problem.m == 1 and not loss.likelihood:
        if not joint_scale(loss) or fit.scale is None:
            return _sandwich(problem, theta, S)
        huber = loss.joint_form  # the objective has scale · huber(r / scale)
        trace = _trace(_at(problem, fit.scale), theta, S, fit.scale if huber else 1.0)
        scale = _corrected_scale(problem, theta, fit.scale, problem.columns.weight - trace)
        return None if scale is None else _sandwich(_at(problem, scale), theta, S, scale if huber else 1.0)
    known = fit.details.hessian
    if known is not None and fit.details.hessian_residual <= MAX_HESSIAN_RESIDUAL:
        H = known - S
    else:
        H = problem.with_alpha(0.0).at(theta, hessian=True).hessian
    inverse = solve_spd(H + S, np.eye(len(H)))
    C = inverse @ H @ inverse / problem.columns.weight
    if problem.m > 1:  # of coefficients that sum to zero over the classes
        project = np.kron(np.eye(problem.m) - 1.0 / problem.m, np.eye(problem.p))
        C = project @ C @ project
    return _outside(problem, C, "likelihood")


def _at(problem: Problem, scale: float) -> Problem:
    """The problem with the loss at a scale."""
    loss = problem.loss
    assert isinstance(loss, Scaled)
    return problem.with_loss(loss.at(scale))


def _mean_curvature(problem: Problem, theta: Floats) -> Floats:
    def of_block(block: Block) -> Floats:
        total = np.zeros((problem.p, problem.p))
        for part, y, w in problem.panels(block):
            curvature = problem.loss.curvature(y, problem.predictions(part, theta)[:, 0])
            total += problem.weighted_gram(part, curvature if w is None else curvature * w)
        return total

    return problem.rows.sum(of_block) / problem.columns.weight


def _sandwich(problem: Problem, theta: Floats, S: Floats, factor: float = 1.0) -> Covariance | None:
    """HC3: F Fᵀ J F Fᵀ / Σw, F Fᵀ the inverse of the curvature of factor · loss + penalty."""
    F = inverse_root(factor * _mean_curvature(problem, theta) + S)
    weight = problem.columns.weight

    def of_block(block: Block) -> Floats:
        total = np.zeros((problem.p + 1, problem.p))  # the last row: the sum of the leverages
        for part, y, w in problem.panels(block):
            f = problem.predictions(part, theta)[:, 0]
            own = (problem.predictions(part, F.T) ** 2).sum(axis=1) / weight
            leverage = np.clip(factor * problem.loss.curvature(y, f) * own, 0.0, MOST_LEVERAGE)
            square = (factor * problem.loss.gradient(y, f) / (1.0 - leverage)) ** 2
            total[:-1] += problem.weighted_gram(part, square if w is None else square * w)
            total[-1, 0] += leverage.sum() if w is None else w @ leverage
        return total

    sums = problem.rows.sum(of_block)
    freedom = weight - float(sums[-1, 0])
    if freedom <= 0:
        return None
    root = F @ (F.T @ (sums[:-1] / weight) @ F)
    return _outside(problem, root @ F.T / weight, "sandwich", freedom)


def _trace(problem: Problem, theta: Floats, S: Floats, factor: float) -> float:
    """Degrees of freedom of a fit: the trace of (H + S)⁻¹ H."""
    H = factor * _mean_curvature(problem, theta)
    F = inverse_root(H + S)
    return float(np.clip(np.trace(F.T @ H @ F), 0.0, problem.p))


def _corrected_scale(problem: Problem, theta: Floats, scale: float, freedom: float) -> float | None:
    """The scale at which Σ w `scale_terms` is the degrees of freedom, not Σw; None where none is: a perfect fit.

    The sum falls as the scale rises: regula falsi on its logarithm (Illinois), a pass over the rows a step.
    """

    def excess(u: float) -> float:
        loss = _at(problem, float(np.exp(u))).loss
        assert isinstance(loss, Scaled)

        def of_block(block: Block) -> float:
            total = 0.0
            for part, y, w in problem.panels(block):
                terms = loss.scale_terms(y, problem.predictions(part, theta)[:, 0])
                total += float(terms.sum() if w is None else w @ terms)
            return total

        return float(np.log(max(problem.rows.sum(of_block), 1e-300) / freedom))

    weight = problem.columns.weight
    if freedom <= 0:
        return None
    enough = 1e-3 * float(np.log(weight / freedom)) + 1e-12
    low, step = float(np.log(scale)), float(np.log(weight / freedom)) + 1e-6
    above = excess(low)
    if above <= 0:
        return scale if above > -1e-9 else None
    high, below = low + step, excess(low + step)
    while below > 0:
        low, above, step = high, below, 2.0 * step
        high = low + step
        below = excess(high)
    for _ in range(MOST_STEPS):
        middle = (low * -below + high * above) / (above - below)
        value = excess(middle)
        if abs(value) <= enough or high - low <= 1e-12:
            return float(np.exp(middle))
        if value > 0:
            low, above, below = middle, value, 0.5 * below
        else:
            high, below, above = middle, value, 0.5 * above
    return float(np.exp(0.5 * (low + high)))


def inverse_root(H: Floats) -> Floats:
    """F with FFᵀ = H⁻¹ of a positive H; directions that H says nothing of are left out."""
    diagonal = np.diagonal(H)
    unit = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    values, vectors = np.linalg.eigh(H * unit[:, None] * unit)
    keep = values > 1e-13 * max(float(values[-1]), 1e-300) * len(values)
    return np.asarray(unit[:, None] * vectors[:, keep] / np.sqrt(values[keep]))


def _outside(problem: Problem, C: Floats, kind: str, freedom: float | None = None) -> Covariance:
    """From standard units to those of the data, the intercept of raw columns last."""
    d, p, m = problem.d, problem.p, problem.m
    T = np.zeros((d + 1, p))
    T[np.arange(d), np.arange(d)] = problem.inverse
    T[d, :d] = -problem.center * problem.inverse
    if problem.intercept:
        T[d, d] = 1.0
    whole = np.kron(np.eye(m), T)
    return Covariance(whole @ C @ whole.T, m, kind, freedom)


def refuse_perfect(model: Any, what: str) -> None:
    """Raise where the scale of the noise could not be estimated."""
    if getattr(model, "_perfect", ""):
        raise ValueError(f"{type(model).__name__} has no {what} here. {model._perfect}")


def coefficient_errors(
    columns: dict[str, Any], covariances: list[Covariance | None], intercept: bool
) -> tuple[dict[str, Any], list[str]]:
    """The table with standard errors, 95 % intervals and p-values, or why it has none."""
    if any(c is None for c in covariances):
        return columns, [
            "Standard errors are not given: theory has none for this loss and penalty, or they are too many."
        ]
    errors, halves, ps = [], [], []
    sizes = np.abs(columns["estimate"]).reshape(sum(c.outputs for c in covariances if c is not None), -1)
    place = 0
    for c in covariances:
        assert c is not None
        variances = np.diagonal(c.matrix).reshape(c.outputs, -1)
        for row in np.sqrt(np.maximum(variances, 0.0)):
            error = np.append(row[-1], row[:-1]) if intercept else row[:-1]
            size, place = sizes[place], place + 1
            with np.errstate(divide="ignore", invalid="ignore"):
                z = np.where(error > 0, size / error, np.where(size == 0, 0.0, np.inf))
            quantile = float(ndtri(0.975) if c.freedom is None else stdtrit(c.freedom, 0.975))
            errors.append(error)
            halves.append(quantile * error)
            ps.append(2.0 * (ndtr(-z) if c.freedom is None else stdtr(c.freedom, -z)))
    estimate, half = columns["estimate"], np.concatenate(halves)
    return columns | {
        "error": np.concatenate(errors),
        "low": estimate - half,
        "high": estimate + half,
        "p": np.concatenate(ps),
    }, []
