"""Weighted medians of columns from passes over blocks: exact, with bounded memory.

The bit patterns of floats, read as integers, are in the order of the floats: a histogram over the integers between two
bounds narrows these by several bits per pass, whatever the scale. The last few numbers are collected and sorted.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.types import Floats, Matrix
from gramian.structures.loop.multipass import PassRequest

Keys = NDArray[np.uint64]
MAX_KEPT = 2**15  # numbers of rows that are kept instead of their histograms
MAX_SORTED = 4096  # numbers of a column between bounds that are collected and sorted
MAX_BINS = 2**20  # of all histograms together
HALF_TOLERANCE = 1e-12  # relative error of half the weight
TOP = np.uint64(2**63)


@dataclass(eq=False)
class Values:
    """Total weight, weight below and above zero, and range of every column; the rows as well while they are few."""

    weight: float
    below: Floats
    above: Floats
    low: Floats
    high: Floats
    size: int
    parts: list[tuple[Any, Floats]] | None

    @classmethod
    def of(cls, X: Matrix, weight: Floats) -> "Values":
        used = weight > 0
        if not used.all():
            X, weight = X[used], weight[used]
        size = X.nnz if sp.issparse(X) else X.size
        if not len(weight):  # all responsibilities are zero
            zeros = np.zeros(X.shape[1])
            return cls(0.0, zeros, zeros, zeros + np.inf, zeros - np.inf, 0, [(X, weight)])
        if sp.issparse(X):
            below, above = (np.asarray(weight @ side).reshape(-1) for side in (X < 0, X > 0))
            low, high = (end.toarray().reshape(-1) for end in (X.min(axis=0), X.max(axis=0)))
        else:
            below, above = weight @ (X < 0), weight @ (X > 0)
            low, high = X.min(axis=0), X.max(axis=0)
        return cls(float(weight.sum()), below, above, low, high, size, [(X, weight)] if size <= MAX_KEPT else None)

    def __add__(self, other: "Values") -> "Values":
        size = self.size + other.size
        keeps_rows = self.parts is not None and other.parts is not None and size <= MAX_KEPT
        return Values(
            self.weight + other.weight,
            self.below + other.below,
            self.above + other.above,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            size,
            [*(self.parts or []), *(other.parts or [])] if keeps_rows else None,
        )


def medians(values: Values) -> PassRequest[Floats]:
    """Medians of all columns, by histograms that narrow the bounds of each until few numbers lie between."""
    if values.parts is not None:
        stack = sp.vstack if sp.issparse(values.parts[0][0]) else np.concatenate
        return median(stack([X for X, _ in values.parts]), np.concatenate([weight for _, weight in values.parts]))
    half = 0.5 * values.weight
    less = half * (1.0 - HALF_TOLERANCE)
    center = np.zeros(len(values.low))
    columns = np.flatnonzero((values.below >= less) | (values.above >= less))  # the median of the others is zero
    low, high = keys(values.low[columns]), keys(values.high[columns])
    under, inside = np.zeros(len(columns)), np.full(len(columns), np.inf)
    bits = int(np.clip(np.log2(MAX_BINS / max(len(columns), 1)), 5, 12))
    while ((inside > MAX_SORTED) & (low < high)).any():
        shift = shifts(low, high, bits)
        sums = yield _Histogram(columns, low, high, shift, 2**bits)
        each = np.arange(len(columns))
        below = under[:, None] + np.cumsum(sums[0], axis=1)
        bins = np.minimum((below < less).sum(axis=1), 2**bits - 1)
        under, inside = below[each, bins] - sums[0][each, bins], sums[1][each, bins]
        low = low + (bins.astype(np.uint64) << shift)
        high = np.minimum(high, low + ((np.uint64(1) << shift) - np.uint64(1)))
    if len(columns):
        last: _Between = yield lambda X, weight: _Between.of(X, weight, columns, low, high)
        for i, j in enumerate(columns):
            center[j] = _sorted_median(last.values[i], last.weights[i], float(under[i]), half, float(last.beyond[i]))
    return center


def keys(values: Floats) -> Keys:
    """Unsigned integers in the order of the floats."""
    bits = (np.ascontiguousarray(values) + 0.0).view(np.uint64)  # −0 is 0
    return np.where(bits >= TOP, ~bits, bits | TOP)


def shifts(low: Keys, high: Keys, bits: int) -> Keys:
    """The bits by which the distance of a key from its lower bound is shifted to give its bin."""
    return np.array([max(int(b - a).bit_length() - bits, 0) for a, b in zip(low, high, strict=True)], dtype=np.uint64)


@dataclass(eq=False)
class _Histogram:
    """The statistic of weights and counts, (2, columns, bins), of numbers between bounds."""

    columns: Any
    low: Keys
    high: Keys
    shift: Keys
    bins: int

    def __call__(self, X: Matrix, weight: Floats) -> Floats:
        out = np.zeros((2, len(self.columns), self.bins))
        used = weight > 0
        unweighted = bool((weight[used] == 1.0).all())
        for i, column in enumerate(_columns(X, self.columns)):
            key = keys(column)
            between = np.flatnonzero(used & (key >= self.low[i]) & (key <= self.high[i]))
            bins = ((key[between] - self.low[i]) >> self.shift[i]).astype(np.intp)
            out[1, i] = np.bincount(bins, minlength=self.bins)
            out[0, i] = out[1, i] if unweighted else np.bincount(bins, weights=weight[between], minlength=self.bins)
        return out


@dataclass(eq=False)
class _Between:
    """The distinct numbers between bounds with their weights, and the least beyond, for every column."""

    values: list[Floats]
    weights: list[Floats]
    beyond: Floats

    @classmethod
    def of(cls, X: Matrix, weight: Floats, columns: Any, low: Keys, high: Keys) -> "_Between":
        distinct = cls([], [], np.full(len(columns), np.inf))
        used = weight > 0
        for i, column in enumerate(_columns(X, columns)):
            key = keys(column)
            between = used & (key >= low[i]) & (key <= high[i])
            values, sums = _distinct(column[between], weight[between])
            distinct.values.append(values)
            distinct.weights.append(sums)
            distinct.beyond[i] = column[used & (key > high[i])].min(initial=np.inf)
        return distinct

    def __add__(self, other: "_Between") -> "_Between":
        merged = [
            _distinct(np.concatenate([a, b]), np.concatenate([v, w]))
            for a, b, v, w in zip(self.values, other.values, self.weights, other.weights, strict=True)
        ]
        return _Between([a for a, _ in merged], [w for _, w in merged], np.minimum(self.beyond, other.beyond))


def _columns(X: Matrix, columns: Any) -> Any:
    if sp.issparse(X):
        X, columns = X[:, columns].toarray(), slice(None)
    return X.T[columns]


def _distinct(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    values, place = np.unique(values, return_inverse=True)
    sums: Any = np.bincount(place, weights=weight, minlength=len(values))
    return values, np.asarray(sums, dtype=np.float64)


def median(X: Matrix, weight: Floats) -> Floats:
    """Weighted median of every column; the middle of the two where half the weight lies on either side."""
    half = 0.5 * float(weight.sum())
    if not sp.issparse(X):
        return np.array([_sorted_median(*_sorted(X[:, j], weight), 0.0, half, np.inf) for j in range(X.shape[1])])
    columns, total = X.tocsc(), float(weight.sum())
    center = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        column_weight = weight[columns.indices[part]]
        zero_weight = total - float(column_weight.sum())  # of the zeros that are not stored
        values, column_weight = np.append(columns.data[part], 0.0), np.append(column_weight, max(zero_weight, 0.0))
        center[j] = _sorted_median(*_sorted(values, column_weight), 0.0, half, np.inf)
    return center


def _sorted(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    return values[order], weight[order]


def _sorted_median(values: Floats, weight: Floats, under: float, half: float, beyond: float) -> float:
    """The median among sorted values, `under` the weight below them and `beyond` the least value above."""
    below = under + np.cumsum(weight)
    first = min(int(np.searchsorted(below, half * (1.0 - HALF_TOLERANCE))), len(values) - 1)
    if abs(below[first] - half) <= 2.0 * HALF_TOLERANCE * half:
        after = values[first + 1] if first + 1 < len(values) else beyond
        if np.isfinite(after):
            return float(0.5 * (values[first] + after))
    return float(values[first])
