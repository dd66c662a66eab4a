"""Which method fits the squared loss under a penalty, as loss and penalty declare it."""

import numpy as np

from gramian._core.types import Floats
from gramian.models.base.squared_loss import Data, SquaredLossMethod
from gramian.models.linear.lasso_method import LassoMethod
from gramian.models.linear.ridge_method import LeastSquares, RidgeMethod
from gramian.objective.design import columns_of
from gramian.objective.losses.base import Loss
from gramian.objective.penalties import PenaltyTerms
from gramian.rows import Rows
from gramian.solvers.least_squares.closed_form import QuadraticPenalty
from gramian.solvers.least_squares.factor import factor_of_triangle, quadratic
from gramian.solvers.sparse.lasso import Shrinkage
from gramian.statistics import Moments

RATIO_ROUNDING = 1e-14  # difference of the shares of the absolute penalty that is only rounding


def method_of(loss: Loss, terms: PenaltyTerms | None, standardize: bool = False) -> SquaredLossMethod | None:
    """The method for a loss and the terms of a penalty; None where another solver has to do it."""
    if not loss.is_squared or terms is None or terms.bounded or terms.groups:
        return None
    if terms.nothing:
        return LeastSquares()
    if terms.smooth:
        return RidgeMethod(_quadratic(terms, standardize))
    shrinkage = _shrinkage(terms, standardize)
    return None if shrinkage is None else LassoMethod(shrinkage)


def column_deviations(data: Data, intercept: bool) -> Floats:
    """Standard deviations of the columns, about zero without an intercept: what `standardize` divides them by."""
    if isinstance(data, Rows):
        return columns_of(data).deviations(intercept)
    if isinstance(data, Moments):
        q = quadratic(data, intercept=intercept)
        return np.ldexp(np.sqrt(np.diagonal(q.G) / q.weight), q.x)
    factor = factor_of_triangle(data, intercept=intercept)
    return np.ldexp(np.linalg.norm(factor.R, axis=0) / np.sqrt(factor.weight), factor.x)


def _quadratic(terms: PenaltyTerms, standardize: bool) -> QuadraticPenalty:
    if terms.square.ndim == 2:
        matrix = _root(terms.square) if terms.root is None else terms.root
        return QuadraticPenalty(matrix=matrix, standardize=standardize)
    diagonal = None if (terms.square == 1.0).all() else terms.square
    return QuadraticPenalty(diagonal=diagonal, standardize=standardize)


def _root(S: Floats) -> Floats:
    """Γ with ΓᵀΓ = S."""
    values, vectors = np.linalg.eigh(S)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _shrinkage(terms: PenaltyTerms, standardize: bool) -> Shrinkage | None:
    """The penalty as Σ f (r |w| + (1 − r) w²), where every coefficient has the same r."""
    if terms.square.ndim == 2:
        return None
    factors = terms.l1 + terms.square
    shares = terms.l1[factors > 0] / factors[factors > 0]
    if np.ptp(shares) > RATIO_ROUNDING:
        return None
    equal = bool((np.abs(factors - 1.0) <= RATIO_ROUNDING).all())
    return Shrinkage(float(shares[0]), None if equal else factors, standardize)
