"""From the columns given to the points that distances are measured between."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.features.scaler import StandardScaler
from gramian.models.neighbors.distances import Metric, exponent_of
from gramian.rows import Block, Rows

LARGEST = 900  # binary exponent up to which distances are sums of the numbers as they are
REACH = 2.0**960
FILLED = 0.1  # share of stored numbers from which a sparse matrix is searched as an array


class Space:
    """Points of rows: in units of the standard deviations of some rows or as given, and as the metric wants them.

    Parameters
    ----------
    metric : Metric
    X : array or CSR matrix
        The rows that set the scale.
    weight : array or None
    standardize : bool
        Whether to divide the columns by their standard deviations.
    """

    def __init__(self, metric: Metric, X: Any, weight: Floats | None, standardize: bool) -> None:
        self.metric = metric
        self.sparse = sp.issparse(X)
        self.exponent = max(0, exponent_of(X.data if self.sparse else X) - LARGEST)
        self.mean: Floats | None = None
        self.scale: Floats | None = None
        if standardize:
            # An origin matters to the cosine alone, which keeps its own; elsewhere subtracting the mean saves digits.
            centred = not self.sparse and metric.keeps_shifts
            scaler = StandardScaler(with_mean=centred).fit(self._in_range(X), sample_weight=weight)
            self.mean, self.scale = (scaler.mean_ if centred else None), scaler.scale_

    def points(self, X: Any) -> Any:
        """What a search takes, of float64 rows."""
        X = self._in_range(X)
        if self.mean is not None:
            X = X - self.mean
        if self.scale is not None:
            with np.errstate(over="ignore"):
                X = _with_data(X, X.data / self.scale[X.indices]) if self.sparse else X / self.scale
        return self.metric.points(X)

    def queries(self, block: Block, rows: Rows) -> Any:
        """The points of new rows; refuses what is not finite, or too far for a distance in float64."""
        X = numbers(block, rows, sparse=self.sparse)
        points = self.points(X)
        sizes = np.abs(points.data if self.sparse else points)
        if not sizes.max(initial=0.0) < REACH:
            i, j = np.argwhere(~(np.abs(points.toarray() if self.sparse else points) < REACH))[0]
            raise ValueError(
                f"Row {block.start + i} of X holds {X[i, j]:g} in column {rows.name(int(j))}, too far from the rows of "
                "the fit for a distance in float64: drop the row, or rescale the columns before the fit."
            )
        return points

    def in_units(self, distance: Floats) -> Floats:
        """Distances as users know them; infinite where they are beyond the float range."""
        with np.errstate(over="ignore"):
            return np.ldexp(distance, self.exponent if self.metric.keeps_scale else 0)

    def _in_range(self, X: Any) -> Any:
        if not self.exponent:
            return X
        return _with_data(X, np.ldexp(X.data, -self.exponent)) if self.sparse else np.ldexp(X, -self.exponent)


def numbers(block: Block, rows: Rows, *, sparse: bool | None = None) -> Any:
    """The features of a block of finite numbers in float64: an array of its own, or CSR without stored zeros."""
    X = block.X
    given = sp.issparse(X)
    if not np.isfinite(X.data if given else X).all():
        rows.refuse_nonfinite()
    if sparse is None:
        sparse = given and X.nnz < FILLED * X.shape[0] * X.shape[1]
    if not sparse:
        return np.array(X.toarray() if given else X, dtype=np.float64, order="C")
    found = sp.csr_array(X, dtype=np.float64, copy=True)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def _with_data(X: Any, data: Floats) -> Any:
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
