"""Normal densities of rows with missing numbers: marginal densities, and the E-step of their sufficient statistics."""

from collections.abc import Iterator

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats, Ints
from gramian.structures.components.densities.covariance import LOG_2PI
from gramian.structures.loop.sufficient_statistics import Scatter


def patterns(X: Floats) -> Iterator[tuple[Ints, Ints, Ints]]:
    """The rows of each pattern of missing numbers: their indices, the observed and the missing columns."""
    masks, of_row = np.unique(np.isnan(X), axis=0, return_inverse=True)
    of_row = of_row.reshape(-1)
    for pattern, missing in enumerate(masks):
        yield np.flatnonzero(of_row == pattern), np.flatnonzero(~missing), np.flatnonzero(missing)


def marginal(X: Floats, mean: Floats, covariance: Floats) -> Floats:
    """−log marginal density of the observed numbers; 0 of a row without any."""
    loss = np.zeros(len(X))
    for rows, observed, _ in patterns(X):
        if len(observed):
            root = sl.cholesky(covariance[np.ix_(observed, observed)], lower=True)
            y = sl.solve_triangular(root, (X[np.ix_(rows, observed)] - mean[observed]).T, lower=True)
            loss[rows] = 0.5 * (y**2).sum(axis=0) + np.log(root.diagonal()).sum() + 0.5 * len(observed) * LOG_2PI
    return loss


def expected(X: Floats, weight: Floats, mean: Floats, covariance: Floats, diagonal: bool) -> Scatter:
    """The expected scatter of the completed rows, given the observed numbers."""
    imputed = X.copy()
    conditional_scatter = np.zeros_like(covariance)
    for rows, observed, missing in patterns(X):
        if not len(missing):
            continue
        cross = covariance[np.ix_(observed, missing)]
        slopes = sl.solve(covariance[np.ix_(observed, observed)], cross, assume_a="pos") if len(observed) else cross
        imputed[np.ix_(rows, missing)] = mean[missing] + (X[np.ix_(rows, observed)] - mean[observed]) @ slopes
        conditional = covariance[np.ix_(missing, missing)] - cross.T @ slopes
        conditional_scatter[np.ix_(missing, missing)] += weight[rows].sum() * 0.5 * (conditional + conditional.T)
    scatter = Scatter.of(imputed, weight, diagonal=diagonal)
    scatter.cross = scatter.cross + (conditional_scatter.diagonal() if diagonal else conditional_scatter)
    return scatter
