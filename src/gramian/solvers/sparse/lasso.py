"""Lasso and elastic net on a Gram matrix: the whole path, exactly, and its duality gap."""

from dataclasses import dataclass

import numpy as np

from gramian._core.types import Bools, Floats, Ints
from gramian.objective.problem import Problem
from gramian.solvers.gaps import relative_gap
from gramian.solvers.least_squares.factor import Quadratic
from gramian.solvers.least_squares.rounding import intercept_share, neglected_share
from gramian.solvers.sparse.active_set import gram_path

LARGEST = 1e300
RATIO_ROUNDING = 1e-14  # difference of the shares of the absolute penalty that is only rounding


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """alpha · Σ_j f_j (l1_ratio |w_j| + (1 − l1_ratio) w_j²), or the same of the standardised coefficients."""

    l1_ratio: float = 1.0
    factors: Floats | None = None
    standardize: bool = False

    def weights(self, q: Quadratic, target: int) -> tuple[Floats, Floats]:
        """l1 and l2 of alpha = 1 for the scaled columns, in the form of `active_set`: 2 l1 |z| + l2 z²."""
        size = np.ones(q.d) if self.factors is None else self.factors
        with np.errstate(over="ignore"):
            if self.standardize:
                deviations = np.sqrt(np.diagonal(q.G) / q.weight)
                l1, l2 = np.ldexp(size * deviations, -q.y[target]), size * deviations**2
            else:
                l1, l2 = np.ldexp(size, -q.x - q.y[target]), np.ldexp(size, -2 * q.x)
        return np.minimum(0.5 * self.l1_ratio * l1, LARGEST), np.minimum((1.0 - self.l1_ratio) * l2, LARGEST)


def shrinkage_of(problem: Problem) -> Shrinkage | None:
    """The penalty as Σ f (r |w| + (1 − r) w²), where every coefficient has the same r; None where it is another."""
    terms = problem.coordinates.terms
    if terms is None or terms.bounded or terms.groups or terms.square.ndim == 2 or terms.nothing:
        return None
    factors = terms.l1 + terms.square
    shares = terms.l1[factors > 0] / factors[factors > 0]
    if np.ptp(shares) > RATIO_ROUNDING:
        return None
    equal = bool((np.abs(factors - 1.0) <= RATIO_ROUNDING).all())
    return Shrinkage(float(shares[0]), None if equal else factors, bool(problem.coordinates.standardize))


def largest_alpha(q: Quadratic, shrinkage: Shrinkage) -> float:
    """The smallest alpha at which every penalised coefficient is zero, over all targets."""
    largest = 0.0
    for target in range(len(q.y)):
        l1, _ = shrinkage.weights(q, target)
        penalised = (l1 > 0) & ~q.constant
        b = _free_correlations(q, target, penalised) / q.weight
        largest = max(largest, float(np.max(np.abs(b[penalised]) / l1[penalised], initial=0.0)))
    return largest


def _free_correlations(q: Quadratic, target: int, penalised: Bools) -> Floats:
    """Xᵀ(residual of the unpenalised columns alone)."""
    free = np.flatnonzero(~penalised & ~q.constant)
    b = q.B[:, target]
    if not free.size:
        return b
    inner = np.linalg.lstsq(q.G[np.ix_(free, free)], b[free], rcond=None)[0]
    return b - q.G[:, free] @ inner


def lasso_on_gram(q: Quadratic, alphas: Floats, shrinkage: Shrinkage, most: int) -> tuple[Floats, Floats, Ints]:
    """Coefficients (A, d, t) in the given units, intercepts (A, t), and rounds (A,), negative as in `active_set`."""
    keep = np.flatnonzero(~q.constant)
    G = np.ascontiguousarray(q.G[np.ix_(keep, keep)]) / q.weight
    coefs = np.zeros((len(alphas), q.d, len(q.y)))
    rounds = np.zeros(len(alphas), dtype=np.int64)
    for target in range(len(q.y)):
        l1, l2 = shrinkage.weights(q, target)
        z, used = gram_path(G, q.B[keep, target] / q.weight, alphas, l1[keep], l2[keep], most)
        coefs[:, keep, target] = np.ldexp(z, (q.y[target] - q.x[keep])[None, :])
        rounds = np.where((rounds < 0) | (used < 0), np.minimum(rounds, used), rounds + used)
    if not q.intercept:
        return coefs, np.zeros((len(alphas), len(q.y))), rounds
    return coefs, q.mean[q.d :] - np.einsum("d,adt->at", q.mean[: q.d], coefs), rounds


def gap_on_gram(q: Quadratic, coef: Floats, alpha: float, shrinkage: Shrinkage) -> tuple[float, float]:
    """Objective (in the given units, all targets) and duality gap relative to the objective at zero (the worst target).

    The dual point is the residual, with √l2·z stacked under it, shrunk until no correlation exceeds its l1.
    """
    objective, worst = 0.0, 0.0
    for target in range(len(q.y)):
        l1, l2 = (np.minimum(alpha * part, LARGEST) for part in shrinkage.weights(q, target))
        z = np.ldexp(coef[:, target], q.x - q.y[target])
        Gz, b, yy = q.G @ z / q.weight, q.B[:, target] / q.weight, q.yy[target, target] / q.weight
        primal, gap = gap_of(z, b - Gz - l2 * z, yy - b @ z, yy - 2 * b @ z + z @ Gz + l2 @ z**2, l1)
        objective += float(np.ldexp(primal, 2 * q.y[target]))
        worst = max(worst, relative_gap(gap, yy) if yy > 0 else 0.0)
    return objective, worst


def rounding_shares(q: Quadratic, coef: Floats, alpha: float, shrinkage: Shrinkage) -> tuple[float, float]:
    """What columns taken as constant, and the rounding of the intercept, may be of the objective (the worst target)."""
    left = np.flatnonzero(q.neglected)
    neglected = 0.0
    for target in range(len(q.y)):
        l1, l2 = (np.minimum(alpha * part[left], LARGEST) for part in shrinkage.weights(q, target))
        total = float(q.yy[target, target])
        neglected = max(neglected, neglected_share(q.neglected[left] / q.weight, l1, l2, total / q.weight))
    if not q.intercept:
        return neglected, 0.0
    mean = np.append(q.mean[: q.d], np.ldexp(q.mean[q.d :], -q.y))
    return neglected, intercept_share(mean, np.ldexp(coef, -q.y[None, :]), q.weight, np.diagonal(q.yy))


def gap_of(z: Floats, correlations: Floats, inner: float, square: float, l1: Floats) -> tuple[float, float]:
    """Primal value and gap from the augmented residual r: its correlations, rᵀy, rᵀr."""
    penalised = (l1 > 0) & (correlations != 0)
    shrink = min(1.0, float(np.min(l1[penalised] / np.abs(correlations[penalised]), initial=1.0)))
    primal = square + 2.0 * float(l1 @ np.abs(z))
    dual = 2.0 * shrink * inner - shrink**2 * square
    return primal, primal - dual
