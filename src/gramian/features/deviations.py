"""`MeansAndDeviations` of columns, mergeable without cancellation, over- or underflow."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.compiled import njit
from gramian._core.numerics.float_range import two_sum
from gramian._core.types import Array, Bools, Floats, Matrix
from gramian.rows import Block, workspace

Sums = tuple[Floats, Floats, Floats]  # mean, its rounding error, standard deviation

SAFE = 2.0**-400, 2.0**400  # deviations beyond are computed again, of columns scaled by a power of two


@dataclass(frozen=True, eq=False)
class MeansAndDeviations:
    """Sum of weights; for every column its mean (in twice the precision), standard deviation, and if it is constant."""

    weight: float
    mean_high: Floats
    mean_low: Floats
    deviation: Floats
    constant: Bools

    @property
    def mean(self) -> Floats:
        return self.mean_high + self.mean_low

    @classmethod
    def side_by_side(cls, parts: list["MeansAndDeviations"]) -> "MeansAndDeviations":
        """Those of neighbouring panels of columns of the same rows, as one."""
        return cls(
            parts[0].weight,
            np.concatenate([part.mean_high for part in parts]),
            np.concatenate([part.mean_low for part in parts]),
            np.concatenate([part.deviation for part in parts]),
            np.concatenate([part.constant for part in parts]),
        )

    def __add__(self, other: "MeansAndDeviations") -> "MeansAndDeviations":
        """Chan's merge, in standard deviations: their hypotenuse is in range wherever they are."""
        if other.weight == 0 or self.weight == 0:
            return self if other.weight == 0 else other
        weight = self.weight + other.weight
        share = other.weight / weight
        # Half the difference is a float even where the difference itself is beyond the float range.
        half = (0.5 * other.mean_high - 0.5 * self.mean_high) + (0.5 * other.mean_low - 0.5 * self.mean_low)
        mean_high, mean_low = two_sum(self.mean_high, self.mean_low + half * (2.0 * share))
        inside = np.hypot(self.deviation * np.sqrt(1.0 - share), other.deviation * np.sqrt(share))
        between = half * (2.0 * np.sqrt(share * (1.0 - share)))
        constant = self.constant & other.constant & (self.mean_high == other.mean_high)
        return MeansAndDeviations(weight, mean_high, mean_low, np.hypot(inside, between), constant)


def means_and_deviations(block: Block) -> MeansAndDeviations:
    """Means and deviations of one block of finite numbers; rows of weight zero do not count."""
    if block.weight is not None and not block.weight.all():
        block = block.subset(np.flatnonzero(block.weight))
    n, d = block.X.shape
    if n == 0:
        zeros = np.zeros(d)
        return MeansAndDeviations(0.0, zeros, zeros, zeros, np.ones(d, dtype=bool))
    weight = block.total_weight
    share = block.weights / weight
    if sp.issparse(block.X):
        return MeansAndDeviations(weight, *_of_sparse(block.X, share))
    high, low, deviation = _about_a_row(block.X, share)
    constant = np.zeros(d, dtype=bool)
    extreme = np.flatnonzero(~((deviation > SAFE[0]) & (deviation < SAFE[1])))
    if extreme.size:
        columns = block.X[:, extreme].astype(np.float64)
        constant[extreme] = (columns == columns[0]).all(axis=0)
        exponents = np.frexp(np.abs(columns).max(axis=0))[1]
        sums = _about_a_row(np.ldexp(columns, -exponents), share)
        high[extreme], low[extreme], deviation[extreme] = (np.ldexp(values, exponents) for values in sums)
    return MeansAndDeviations(weight, high, low, deviation, constant)


def _about_a_row(X: Matrix, share: Floats) -> Sums:
    """Shifting by one of the rows costs nothing and bounds cancellation: w₀ |x₀ − mean|² ≤ Σ w (x − mean)²."""
    Z = workspace("deviations", *X.shape)
    shift = np.asarray(X[int(share.argmax())], dtype=np.float64)
    with np.errstate(all="ignore"):
        np.subtract(X, shift, out=Z)
        offset = share @ Z
        Z -= offset
        sums = share @ Z
        np.multiply(Z, Z, out=Z)
        variance = share @ Z - sums * sums
        return *two_sum(shift, offset + sums), np.sqrt(np.maximum(variance, 0.0))


def _of_sparse(X: Matrix, share: Floats) -> tuple[Floats, Floats, Floats, Bools]:
    """From the stored numbers and the share of the zeros that are not stored, about the mean."""
    n, d = X.shape
    data = X.data.astype(np.float64, copy=False)
    indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices
    ends, counts = np.zeros((2, d)), np.zeros(d, dtype=np.int64)
    ends_of_columns(data, indices, counts, ends)
    ends[:, counts < n] = np.minimum(ends[0], 0.0)[counts < n], np.maximum(ends[1], 0.0)[counts < n]
    smallest, largest = ends
    exponents = np.frexp(np.maximum(np.abs(smallest), np.abs(largest)))[1]
    if np.abs(exponents).max(initial=0) > 400:
        data = np.ldexp(data, -exponents[indices])
    else:
        exponents[:] = 0
    mean, stored, rest, squares = np.zeros((4, d))
    means_of_columns(data, indices, indptr, share, mean, stored)
    deviations_of_columns(data, indices, indptr, share, mean, rest, squares)
    zeros = np.where(counts == n, 0.0, np.maximum(1.0 - stored, 0.0))
    rest -= zeros * mean
    variance = squares + zeros * mean**2 - rest**2
    constant = smallest == largest
    deviation = np.where(constant, 0.0, np.sqrt(np.maximum(variance, 0.0)))
    mean = np.where(constant, np.ldexp(smallest, -exponents), mean)
    rest = np.where(constant, 0.0, rest)
    return np.ldexp(mean, exponents), np.ldexp(rest, exponents), np.ldexp(deviation, exponents), constant


@njit(cache=True, nogil=True)
def ends_of_columns(data: Array, indices: Array, counts: Array, ends: Array) -> None:  # pragma: no cover - compiled
    """How many numbers each column stores, the smallest and the largest; a NaN stays one."""
    for q in range(len(data)):
        j, x = indices[q], data[q]
        if counts[j] == 0 or x != x:
            ends[0, j] = ends[1, j] = x
        elif x < ends[0, j]:
            ends[0, j] = x
        elif x > ends[1, j]:
            ends[1, j] = x
        counts[j] += 1


@njit(cache=True, nogil=True)
def means_of_columns(
    data: Array, indices: Array, indptr: Array, share: Array, mean: Array, stored: Array
) -> None:  # pragma: no cover - compiled
    for i in range(len(share)):
        for q in range(indptr[i], indptr[i + 1]):
            mean[indices[q]] += share[i] * data[q]
            stored[indices[q]] += share[i]


@njit(cache=True, nogil=True)
def deviations_of_columns(
    data: Array, indices: Array, indptr: Array, share: Array, mean: Array, rest: Array, squares: Array
) -> None:  # pragma: no cover - compiled
    for i in range(len(share)):
        for q in range(indptr[i], indptr[i + 1]):
            off = data[q] - mean[indices[q]]
            rest[indices[q]] += share[i] * off
            squares[indices[q]] += share[i] * off * off
