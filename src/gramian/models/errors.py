"""Standard errors of fits that are not least squares: from the curvature of a likelihood, or a sandwich."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from gramian.objective.label_losses import Logistic, MultiHinge, RootHinge, Softmax
from gramian.objective.loss import Kinked
from gramian.objective.number_losses import Huber, Poisson, Power, StudentT
from gramian.rows import Block
from gramian.solvers.fit import Fit
from gramian.solvers.newton import Curvature, solve_spd
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
NEAR = 1e-5  # a measure at which the curvature is that of the optimum
MOST = 500  # numbers in θ whose covariance is kept
LIKELIHOODS = (Logistic, Softmax, Poisson, StudentT)


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of coefficients and intercept of m outputs, (m (d + 1))², in the units of the data; intercept last."""

    matrix: Floats
    outputs: int
    kind: str


def covariance_of(fit: Fit) -> Covariance | None:
    """H⁻¹ J H⁻¹ / Σw: H the curvature of the objective, J that of the loss alone or the mean of gradient squares."""
    problem, loss = fit.problem, fit.problem.loss
    if isinstance(loss, Kinked | MultiHinge | RootHinge) or problem.m * problem.p > MOST:
        return None
    if problem.parts is None or not problem.parts.smooth:
        return None
    theta = problem.inside(fit.coef, fit.intercept)
    if isinstance(loss, StudentT | Huber) and fit.scale is not None:
        problem = problem.with_loss(loss.at(fit.scale))
        if isinstance(loss, Huber):  # the objective has scale · huber(r / scale)
            factor = fit.scale
            H, J = _curvatures(problem, theta, sandwich=True)
            H, J = factor * H + np.kron(np.eye(problem.m), problem.bend), factor**2 * J
            return _outside(problem, _sandwich(H, J) / problem.columns.weight, "sandwich")
    if isinstance(loss, Power) and loss.p < 2:
        return None
    likelihood = isinstance(problem.loss, LIKELIHOODS)
    S = np.kron(np.eye(problem.m), problem.bend)
    known: Curvature | None = fit.more.get("curvature")
    if likelihood and known is not None and known.measure <= NEAR:
        H = J = known.H - S
    else:
        H, J = _curvatures(problem, theta, sandwich=not likelihood)
    kind = "likelihood" if likelihood else "sandwich"
    C = _sandwich(H + S, H if likelihood else J) / problem.columns.weight
    if problem.m > 1:  # of coefficients that sum to zero over the classes
        project = np.kron(np.eye(problem.m) - 1.0 / problem.m, np.eye(problem.p))
        C = project @ C @ project
    return _outside(problem, C, kind)


def _curvatures(problem: Problem, theta: Floats, *, sandwich: bool) -> tuple[Floats, Floats]:
    """Means over the rows of the curvature and of the gradient's square, each times z zᵀ."""
    if problem.m > 1:
        H = problem.with_alpha(0.0).at(theta, hessian=True).hessian
        return H, H

    def of_block(block: Block) -> Floats:
        total = np.zeros((2, problem.p, problem.p))
        for part, y, w in problem.panels(block):
            f = problem.predictions(part, theta)[:, 0]
            weight = np.ones(len(y)) if w is None else w
            total[0] += problem.weighted_gram(part, problem.loss.curvature(y, f) * weight)
            if sandwich:
                total[1] += problem.weighted_gram(part, problem.loss.gradient(y, f) ** 2 * weight)
        return total

    H, J = problem.rows.sum(of_block) / problem.columns.weight
    return H, J


def _sandwich(H: Floats, J: Floats) -> Floats:
    inverse = solve_spd(H, np.eye(len(H)))
    return inverse @ J @ inverse


def _outside(problem: Problem, C: Floats, kind: str) -> Covariance:
    """From standard units to those of the data, the intercept of raw columns last."""
    d, p, m = problem.d, problem.p, problem.m
    T = np.zeros((d + 1, p))
    T[np.arange(d), np.arange(d)] = problem.inverse
    T[d, :d] = -problem.center * problem.inverse
    if problem.intercept:
        T[d, d] = 1.0
    whole = np.kron(np.eye(m), T)
    return Covariance(whole @ C @ whole.T, m, kind)


def coefficient_errors(
    columns: dict[str, Any], covariances: list[Covariance | None], intercept: bool
) -> tuple[dict[str, Any], list[str]]:
    """The table with standard errors, 95 % intervals and p-values, or why it has none."""
    if any(c is None for c in covariances):
        return columns, [
            "Standard errors are not given: theory has none for this loss and penalty, or they are too many."
        ]
    errors = []
    for c in covariances:
        assert c is not None
        variances = np.diagonal(c.matrix).reshape(c.outputs, -1)
        for row in np.sqrt(np.maximum(variances, 0.0)):
            errors.append(np.append(row[-1], row[:-1]) if intercept else row[:-1])
    error, estimate = np.concatenate(errors), columns["estimate"]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, np.abs(estimate) / error, np.where(estimate == 0, 0.0, np.inf))
    half = float(ndtri(0.975)) * error
    return columns | {
        "error": error,
        "low": estimate - half,
        "high": estimate + half,
        "p": 2.0 * ndtr(-z),
    }, []
