"""How much of a target no model can predict, estimated from rows that are alike."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from gramian._core.types import Floats, Ints, Matrix
from gramian._core.weights import weights_or_ones
from gramian.selection.evaluation.sample import Sample

REPEATED = 20  # degrees of freedom from which rows with equal features are enough alone
MOST_CENTRES = 5000
MOST_WORK = 2e9  # multiplications for the local fits
CHUNK = 2**22
SAME_SIDE = 1e-6  # relative size below which neighbours span no direction


class NoiseEstimate(NamedTuple):
    """An amount of noise and where it comes from."""

    value: float
    source: str


def noise_variance(sample: Sample) -> NoiseEstimate:
    """Variance of the noise σ² in y = f(x) + ε, for an f of which nothing is known but that it is smooth.

    From rows with equal features where there are enough, or no others: their variance within groups, which has no
    bias; weights do not count there. Else from normalised residuals of local lines: the nearest 2(d + 1) rows
    predict each row by least squares, r = y − Σ a_j y_j, and σ² is the mean of r² / (1 + Σ a_j²). That is right on
    average for a linear f; curvature over the neighbourhood is taken for noise. Where the rows are too few for
    lines, half the mean squared difference to the nearest row, which takes slope for noise too. Features are
    compared in units of their standard deviations; targets are averaged.

    Cost: a nearest-neighbour search, and O(d³) for each of at most 5,000 rows.
    """
    X = _numbers(sample)
    y = np.asarray(sample.y, dtype=np.float64).reshape(sample.n, -1)
    w = weights_or_ones(sample.weight, sample.n)
    n, d = X.shape
    if not sp.issparse(X):
        groups = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
        sizes = np.bincount(groups)
        free = n - len(sizes)
        if free >= REPEATED or free == n - 1 > 0:
            means = np.stack([np.bincount(groups, column) / sizes for column in y.T], axis=1)
            return NoiseEstimate(
                float(((y - means[groups]) ** 2).mean(axis=1).sum() / free),
                f"rows with equal features ({free} degrees of freedom)",
            )
        n_neighbours = 2 * (d + 1)
        if n_neighbours < n:
            return NoiseEstimate(_local_lines(X, y, w, n_neighbours), f"lines through the {n_neighbours} nearest rows")
    twin = _neighbours(X, np.arange(n), 1)[:, 0]
    value = 0.5 * np.average(((y - y[twin]) ** 2).mean(axis=1), weights=w)
    return NoiseEstimate(float(value), "differences to the nearest row, slope included")


def noise_rate(sample: Sample) -> NoiseEstimate:
    """The smallest possible error rate L, from the share of rows R whose nearest row has another class.

    Cover and Hart's bound for many rows and k classes, R ≤ L (2 − L k/(k − 1)), solved for L: the rate is at least
    L = (k − 1)/k · (1 − √(1 − R k/(k − 1))), and at most R.
    """
    assert sample.classes is not None
    twin = _neighbours(_numbers(sample), np.arange(sample.n), 1)[:, 0]
    R = float(np.average(sample.y != sample.y[twin], weights=sample.weight))
    k = max(len(sample.classes), 2)
    top = (k - 1) / k
    return NoiseEstimate(
        float(top * (1.0 - np.sqrt(max(1.0 - R / top, 0.0)))), f"nearest rows, {R:.3g} of which disagree"
    )


def _numbers(sample: Sample) -> Any:
    """The features in units of their standard deviations."""
    remedy = "give noise= as a number, or truth="
    X = sample.native()
    if not sp.issparse(X):
        try:
            X = np.asarray(X, dtype=np.float64).reshape(sample.n, -1)
        except (TypeError, ValueError):
            raise ValueError(f'noise="auto" compares rows, and the features are not all numbers: {remedy}.') from None
    else:
        X = X.astype(np.float64)
    if not np.isfinite(X.data if sp.issparse(X) else X).all():
        raise ValueError(f'noise="auto" compares rows, and there are missing or infinite features: {remedy}.')
    top = np.abs(X).max(axis=0)
    top = np.asarray(top.toarray() if sp.issparse(top) else top, dtype=np.float64).reshape(-1)
    top = np.where(top > 0, top, 1.0)
    if sp.issparse(X):  # centring would fill it
        return sp.csr_matrix(X @ sp.diags_array(1.0 / top))
    X = X / top
    X = X - X.mean(axis=0)
    deviation = X.std(axis=0)
    return X / np.where(deviation > 1e-12, deviation, 1.0)


def _neighbours(X: Matrix, centres: Ints, count: int) -> Ints:
    """The nearest other rows of some rows."""
    search = NearestNeighbors(n_neighbors=count + 1).fit(X)
    found = search.kneighbors(X[centres], return_distance=False)
    itself = found == centres[:, None]
    itself[~itself.any(axis=1), -1] = True  # hidden among more equal rows than were asked for
    return np.asarray(found[~itself].reshape(len(centres), count), dtype=np.int64)


def _local_lines(X: Floats, y: Floats, w: Floats, near: int) -> float:
    n, d = X.shape
    most = int(np.clip(MOST_WORK / (near * (d + 1.0) ** 2), 50, MOST_CENTRES))
    centres = np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)
    neighbours, step = np.empty(len(centres)), max(CHUNK // (near * (d + 1)), 1)
    for start in range(0, len(centres), step):
        panel = centres[start : start + step]
        around = _neighbours(X, panel, near)
        moved = X[around] - X[panel, None, :]
        radius = np.abs(moved).max(axis=(1, 2), keepdims=True)
        design = np.concatenate([np.ones((*around.shape, 1)), moved / np.where(radius > 0, radius, 1.0)], axis=2)
        a = np.linalg.pinv(design, rcond=SAME_SIDE)[:, 0, :]
        residuals = y[panel] - np.einsum("ij,ijt->it", a, y[around])
        neighbours[start : start + step] = (residuals**2).mean(axis=1) / (1.0 + (a**2).sum(axis=1))
    return float(np.average(neighbours, weights=w[centres]))
