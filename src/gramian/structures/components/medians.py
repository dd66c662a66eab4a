"""Weighted medians of columns from passes over blocks: exact, with bounded memory.

Floats in their order are whole numbers in theirs: a histogram over the whole numbers between two bounds halves what is
left of their 64 bits many times at once, whatever the scale. Once few numbers are left they are gathered.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.structures.loop.multipass import PassRequest

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
KEPT = 2**15  # numbers up to which rows are kept as they are
FEW = 4096  # numbers of a column between bounds that are gathered
CELLS = 2**20  # of all histograms together
EQUAL = 1e-12  # share of the weight within which a half is a half
TOP = np.uint64(2**63)


@dataclass(eq=False)
class Values:
    """The rows while they are few; always the weight, of all and of what is below and above zero, and the range."""

    weight: float
    below: Floats
    above: Floats
    low: Floats
    high: Floats
    size: int
    parts: list[tuple[Any, Floats]] | None

    @classmethod
    def of(cls, X: Any, weight: Floats) -> "Values":
        kept = weight > 0
        if not kept.all():
            X, weight = X[kept], weight[kept]
        size = X.nnz if sp.issparse(X) else X.size
        if not len(weight):  # of shares that are all nothing
            nothing = np.zeros(X.shape[1])
            return cls(0.0, nothing, nothing, nothing + np.inf, nothing - np.inf, 0, [(X, weight)])
        if sp.issparse(X):
            below, above = (np.asarray(weight @ side).reshape(-1) for side in (X < 0, X > 0))
            low, high = (end.toarray().reshape(-1) for end in (X.min(axis=0), X.max(axis=0)))
        else:
            below, above = weight @ (X < 0), weight @ (X > 0)
            low, high = X.min(axis=0), X.max(axis=0)
        return cls(float(weight.sum()), below, above, low, high, size, [(X, weight)] if size <= KEPT else None)

    def __add__(self, other: "Values") -> "Values":
        size = self.size + other.size
        few = self.parts is not None and other.parts is not None and size <= KEPT
        return Values(
            self.weight + other.weight,
            self.below + other.below,
            self.above + other.above,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            size,
            [*(self.parts or []), *(other.parts or [])] if few else None,
        )


def medians(found: Values) -> PassRequest[Floats]:
    """Medians of all columns, asking for histograms until few numbers are left."""
    if found.parts is not None:
        stack = sp.vstack if sp.issparse(found.parts[0][0]) else np.concatenate
        return median(stack([X for X, _ in found.parts]), np.concatenate([weight for _, weight in found.parts]))
    half = 0.5 * found.weight
    less = half * (1.0 - EQUAL)
    center = np.zeros(len(found.low))
    open_ = np.flatnonzero((found.below >= less) | (found.above >= less))  # of the others zero is the median
    low, high = keys(found.low[open_]), keys(found.high[open_])
    under, inside = np.zeros(len(open_)), np.full(len(open_), np.inf)
    bits = int(np.clip(np.log2(CELLS / max(len(open_), 1)), 5, 12))
    while ((inside > FEW) & (low < high)).any():
        shift = shifts(low, high, bits)
        sums = yield _Histogram(open_, low, high, shift, 2**bits)
        places = np.arange(len(open_))
        below = under[:, None] + np.cumsum(sums[0], axis=1)
        bins = np.minimum((below < less).sum(axis=1), 2**bits - 1)
        under, inside = below[places, bins] - sums[0][places, bins], sums[1][places, bins]
        low = low + (bins.astype(np.uint64) << shift)
        high = np.minimum(high, low + ((np.uint64(1) << shift) - np.uint64(1)))
    if len(open_):
        last: _Between = yield lambda X, weight: _Between.of(X, weight, open_, low, high)
        for i, j in enumerate(open_):
            center[j] = _middle(last.values[i], last.weights[i], float(under[i]), half, float(last.beyond[i]))
    return center


def keys(values: Floats) -> Keys:
    """Whole numbers in the order of floats."""
    bits = (np.ascontiguousarray(values) + 0.0).view(np.uint64)  # −0 is 0
    return np.where(bits >= TOP, ~bits, bits | TOP)


def shifts(low: Keys, high: Keys, bits: int) -> Keys:
    """By how many bits the distance of each key from its lower bound is cut to be the place of a histogram."""
    return np.array([max(int(b - a).bit_length() - bits, 0) for a, b in zip(low, high, strict=True)], dtype=np.uint64)


@dataclass(eq=False)
class _Histogram:
    """The question for weights and counts, (2, columns, bins), of numbers between bounds."""

    columns: Any
    low: Keys
    high: Keys
    shift: Keys
    bins: int

    def __call__(self, X: Any, weight: Floats) -> Floats:
        out = np.zeros((2, len(self.columns), self.bins))
        used = weight > 0
        plain = bool((weight[used] == 1.0).all())
        for i, column in enumerate(_columns(X, self.columns)):
            key = keys(column)
            mine = np.flatnonzero(used & (key >= self.low[i]) & (key <= self.high[i]))
            place = ((key[mine] - self.low[i]) >> self.shift[i]).astype(np.intp)
            out[1, i] = np.bincount(place, minlength=self.bins)
            out[0, i] = out[1, i] if plain else np.bincount(place, weights=weight[mine], minlength=self.bins)
        return out


@dataclass(eq=False)
class _Between:
    """The distinct numbers between bounds with their weights, and the least beyond, for every column."""

    values: list[Floats]
    weights: list[Floats]
    beyond: Floats

    @classmethod
    def of(cls, X: Any, weight: Floats, columns: Any, low: Keys, high: Keys) -> "_Between":
        found = cls([], [], np.full(len(columns), np.inf))
        used = weight > 0
        for i, column in enumerate(_columns(X, columns)):
            key = keys(column)
            mine = used & (key >= low[i]) & (key <= high[i])
            values, sums = _distinct(column[mine], weight[mine])
            found.values.append(values)
            found.weights.append(sums)
            found.beyond[i] = column[used & (key > high[i])].min(initial=np.inf)
        return found

    def __add__(self, other: "_Between") -> "_Between":
        both = [
            _distinct(np.concatenate([a, b]), np.concatenate([v, w]))
            for a, b, v, w in zip(self.values, other.values, self.weights, other.weights, strict=True)
        ]
        return _Between([a for a, _ in both], [w for _, w in both], np.minimum(self.beyond, other.beyond))


def _columns(X: Any, columns: Any) -> Any:
    if sp.issparse(X):
        X, columns = X[:, columns].toarray(), slice(None)
    return X.T[columns]


def _distinct(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    values, place = np.unique(values, return_inverse=True)
    sums: Any = np.bincount(place, weights=weight, minlength=len(values))
    return values, np.asarray(sums, dtype=np.float64)


def median(X: Any, weight: Floats) -> Floats:
    """Weighted median of every column; the middle of the two where half the weight lies on either side."""
    half = 0.5 * float(weight.sum())
    if not sp.issparse(X):
        return np.array([_middle(*_sorted(X[:, j], weight), 0.0, half, np.inf) for j in range(X.shape[1])])
    columns, total = X.tocsc(), float(weight.sum())
    found = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        own = weight[columns.indices[part]]
        rest = total - float(own.sum())  # of the zeros that are not stored
        values, own = np.append(columns.data[part], 0.0), np.append(own, max(rest, 0.0))
        found[j] = _middle(*_sorted(values, own), 0.0, half, np.inf)
    return found


def _sorted(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    return values[order], weight[order]


def _middle(values: Floats, weight: Floats, under: float, half: float, beyond: float) -> float:
    """The median among sorted values, `under` the weight below them and `beyond` the least value above."""
    below = under + np.cumsum(weight)
    first = min(int(np.searchsorted(below, half * (1.0 - EQUAL))), len(values) - 1)
    if abs(below[first] - half) <= 2.0 * EQUAL * half:
        after = values[first + 1] if first + 1 < len(values) else beyond
        if np.isfinite(after):
            return float(0.5 * (values[first] + after))
    return float(values[first])
