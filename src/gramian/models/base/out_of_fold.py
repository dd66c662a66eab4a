"""Predictions of rows that took no part in them, from which probabilities are calibrated."""

from collections.abc import Callable

import numpy as np

from gramian._core.types import Floats
from gramian.objective.losses.base import Loss
from gramian.objective.problem import Problem
from gramian.rows import Rows
from gramian.rows.labels import class_weights
from gramian.selection.cv.regularization import splits_of
from gramian.selection.cv.splits import subset
from gramian.selection.cv.strategies.leave_one_out import dense_enough, loo_predictions, loo_predictions_of, softened
from gramian.selection.cv.strategy import ProblemFactory
from gramian.solvers.solution import Solution

SAMPLE_ROWS = 20_000  # rows that are predicted, where features are computed anew for each
FOLDS = 5

Refit = Callable[[Problem, Floats], Solution]  # a problem solved from a start


def out_of_fold(
    rows: Rows, problem_factories: list[ProblemFactory], fits: list[Solution], refit: Refit
) -> tuple[Floats, Rows]:
    """Predictions (n, outputs) of all problems without each row, and the rows that they are of.

    From one Newton step where the curvature is known, else by refits on five folds; NaN for rows of a class that the
    other folds do not have.
    """
    if _is_sampled(rows, fits):
        index = np.arange(0, rows.n, rows.n // SAMPLE_ROWS)
        f = np.hstack([loo_predictions_of(fit.problem, fit.theta, index) for fit in fits])
        return f, subset(rows, index)
    columns = []
    for fit in fits:
        problem, loss = fit.problem, fit.problem.loss
        smooth_penalty = problem.parts is not None and problem.parts.smooth
        if not (_has_curvature(loss) and smooth_penalty and dense_enough(problem)):
            return _refitted(rows, problem_factories, fits, refit), rows
        if loss.piecewise_linear:
            problem = softened(problem, fit.theta)
        hessian = problem.at(fit.theta, hessian=True).hessian
        columns.append(loo_predictions(problem, fit.theta, hessian, whole=False))
    return np.hstack(columns), rows


def _has_curvature(loss: Loss) -> bool:
    return loss.piecewise_linear or (loss.smooth and loss.convex)


def _is_sampled(rows: Rows, fits: list[Solution]) -> bool:
    """Whether features are computed anew for more rows than the few numbers of a calibration need."""
    problem = fits[0].problem
    many = rows.basis is not None and rows.n > 2 * SAMPLE_ROWS
    return many and _has_curvature(problem.loss) and problem.m == 1


def _refitted(rows: Rows, problem_factories: list[ProblemFactory], fits: list[Solution], refit: Refit) -> Floats:
    f = np.zeros((rows.n, sum(fit.coef.shape[1] for fit in fits)))
    for train, test in splits_of(FOLDS, rows):
        training, held_out = subset(rows, train), subset(rows, test)
        seen = class_weights(training)[0]
        column = 0
        for factory, fit in zip(problem_factories, fits, strict=True):
            problem = factory(training).with_alpha(fit.problem.alpha)
            width = fit.coef.shape[1]
            if problem.columns.weight <= 0 or (problem.m == 1 and problem.columns.low == problem.columns.high):
                column += width  # no decision between classes of which one is not there
                continue
            again = refit(problem, problem.to_standardized(fit.coef, fit.intercept))
            f[test, column : column + width] = held_out.times(again.coef) + again.intercept
            column += width
        codes = held_out.collect().y
        assert codes is not None
        f[test[~np.isin(codes[:, 0], seen)]] = np.nan
    return f
