"""Normal densities of rows with missing numbers: the marginal of what is there, and the expectation of what is not."""

from collections.abc import Iterator

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from gramian.structures.components.covariance import LOG_2PI
from gramian.structures.loop.sufficient_statistics import Scatter

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def patterns(X: Floats) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Rows with the same numbers missing: their indices, and the columns that are there and that are not."""
    gone = np.isnan(X)
    kinds, of_row = np.unique(gone, axis=0, return_inverse=True)
    of_row = of_row.reshape(-1)
    for kind, pattern in enumerate(kinds):
        yield np.flatnonzero(of_row == kind), np.flatnonzero(~pattern), np.flatnonzero(pattern)


def marginal(X: Floats, mean: Floats, covariance: Floats) -> Floats:
    """−log density of the numbers that are there; 0 of a row without any."""
    out = np.zeros(len(X))
    for rows, there, _ in patterns(X):
        if len(there):
            root = sl.cholesky(covariance[np.ix_(there, there)], lower=True)
            y = sl.solve_triangular(root, (X[np.ix_(rows, there)] - mean[there]).T, lower=True)
            out[rows] = 0.5 * (y**2).sum(axis=0) + np.log(root.diagonal()).sum() + 0.5 * len(there) * LOG_2PI
    return out


def expected(X: Floats, weight: Floats, mean: Floats, covariance: Floats, diagonal: bool) -> Scatter:
    """The scatter that is expected of whole rows, given what is there of them."""
    whole = X.copy()
    more = np.zeros_like(covariance)
    for rows, there, gone in patterns(X):
        if not len(gone):
            continue
        across = covariance[np.ix_(there, gone)]
        slopes = sl.solve(covariance[np.ix_(there, there)], across, assume_a="pos") if len(there) else across
        whole[np.ix_(rows, gone)] = mean[gone] + (X[np.ix_(rows, there)] - mean[there]) @ slopes
        left = covariance[np.ix_(gone, gone)] - across.T @ slopes
        more[np.ix_(gone, gone)] += weight[rows].sum() * 0.5 * (left + left.T)
    found = Scatter.of(whole, weight, diagonal=diagonal)
    found.cross = found.cross + (more.diagonal() if diagonal else more)
    return found
