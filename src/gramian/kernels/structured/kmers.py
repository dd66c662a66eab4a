"""Strings as sparse counts of short words: letters read once, words numbered, and products of counts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.compiled import njit
from gramian._core.types import Array, Floats, Ints

Integers = Ints

WILD = 0x110000  # no letter: one beyond the last code point of Unicode
LARGEST = 2**62
MAX_WORDS = 2**27  # words found together, of which each takes some tens of bytes


@dataclass(frozen=True, eq=False)
class Letters:
    """Strings as the code points of all their letters, one after the other; string i is [starts[i], starts[i + 1])."""

    codes: Array
    starts: Integers

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: Any) -> "Letters":
        """Some of the strings."""
        index = np.arange(len(self))[rows]
        lengths = np.diff(self.starts)[index]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[index] - starts[:-1], lengths)
        return Letters(self.codes[places], starts)


def read_strings(X: Any) -> Letters:
    """The letters of a list, array or column of str (or bytes, whose letters are the code points 0 … 255)."""
    strings = _as_list(X)
    kinds = set(map(type, strings))
    if not all(issubclass(kind, str | bytes) for kind in kinds):
        row = next(i for i, s in enumerate(strings) if not isinstance(s, str | bytes))
        raise TypeError(
            f"Row {row} is {strings[row]!r}, of type {type(strings[row]).__name__}; a string kernel takes str or "
            "bytes. Leave missing rows out, and turn numbers into text first."
        )
    if any(issubclass(kind, bytes) for kind in kinds):
        strings = [s.decode("latin-1") if isinstance(s, bytes) else s for s in strings]
    starts = np.concatenate([[0], np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)))])
    text = "".join(strings)
    codes: Array
    if text.isascii():
        codes = np.frombuffer(text.encode("ascii"), np.uint8)
    else:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
    return Letters(codes, starts.astype(np.int64))


def _as_list(X: Any) -> list[Any]:
    """The strings themselves, of whatever holds them; one column of a table is fine."""
    if isinstance(X, str | bytes):
        raise TypeError(f"X is the single string {X[:20]!r}; give a list of strings, even of one.")
    if sp.issparse(X):
        raise TypeError("X is a sparse matrix; a string kernel takes a list of strings.")
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.shape[1] == 1:
            X = X[:, 0]
        if X.ndim != 1:
            raise ValueError(
                f"X has shape {X.shape}; a string kernel takes one column of strings, such as kernel.on(column)."
            )
        return X.tolist()
    X = list(X)
    if X and all(isinstance(row, list | tuple | np.ndarray) and len(row) == 1 for row in X):
        return [row[0] for row in X]
    return X


def numbered(columns: Sequence[Array], base: int) -> tuple[Integers, Integers]:
    """Words given letter by letter (numbers below `base`) → (the number of each in lexical order, one place of each).

    Exact for words of any length: where the next letter would not fit into 62 bits, the words so far are ranked.
    """
    words, size = columns[0].astype(np.int64), base
    for column in columns[1:]:
        if size > LARGEST // base:
            words, places = _ranked(words, size)
            size = len(places)
        words = words * base + column
        size *= base
    return _ranked(words, size)


def _ranked(words: Integers, size: int) -> tuple[Integers, Integers]:
    """Numbers below `size` → (their ranks among those that occur, one place of each)."""
    if size <= 8 * len(words):
        occurs = np.zeros(size, bool)
        occurs[words] = True
        ranks = (np.cumsum(occurs) - 1)[words]
    else:
        ranks = np.unique(words, return_inverse=True)[1].astype(np.int64)
    places = np.empty(int(ranks.max(initial=-1)) + 1, np.int64)
    places[ranks] = np.arange(len(words))
    return ranks, places


class Words:
    """A vocabulary: distinct words of k letters, as code points (m, k), in lexical order."""

    def __init__(self, codes: Array) -> None:
        self.codes = codes
        self._places: WeakKeyDictionary[Words, Integers] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self.codes)

    def __getstate__(self) -> dict[str, Any]:
        return {"codes": self.codes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["codes"])  # type: ignore[misc]

    def places_in(self, other: "Words") -> Integers:
        """Where each of these words is among the `other`; −1 where it is not there."""
        places = self._places.get(other)
        if places is None:
            letters, index = numbered_letters(np.concatenate([self.codes, other.codes]))
            common, first = numbered(list(index.T), max(len(letters), 1))
            table = np.full(len(first), -1)
            table[common[len(self) :]] = np.arange(len(other))
            places = self._places[other] = table[common[: len(self)]]
        return places

    def texts(self) -> list[str]:
        """The words as strings, with · where any letter may stand."""
        codes = np.where(self.codes == WILD, ord("·"), self.codes).astype("<u4")
        m, k = codes.shape
        text = np.ascontiguousarray(codes).tobytes().decode("utf-32-le", "surrogatepass")
        return [text[i * k : (i + 1) * k] for i in range(m)]


@dataclass(frozen=True, eq=False)
class Counts:
    """Strings as rows of a sparse matrix, one column per word; `factor` weighs the columns in products, if not empty.

    Neighbouring strings of a larger set remember it, and their first place in it, to share what is made of it once.
    """

    matrix: Any
    words: Words
    factor: Floats = field(default_factory=lambda: np.empty(0))
    whole: "Counts | None" = None
    first: int = 0

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, rows: Any) -> "Counts":
        part = self.matrix[rows]
        if isinstance(rows, slice) and rows.step in (None, 1):
            first = self.first + rows.indices(len(self))[0]
            return Counts(part, self.words, self.factor, self if self.whole is None else self.whole, first)
        return Counts(part, self.words, self.factor)

    def __getstate__(self) -> dict[str, Any]:
        return {"matrix": self.matrix, "words": self.words, "factor": self.factor, "whole": None, "first": 0}

    @cached_property
    def by_word(self) -> Any:
        """The same, stored column by column."""
        return self.matrix.tocsc()

    def product(self, other: "Counts") -> Floats:
        """Σ over words of factor × count here × count there, for every pair of strings."""
        out = np.zeros((len(self), len(other)))
        columns = np.empty(0, np.int64) if self.words is other.words else self.words.places_in(other.words)
        a, b = self.matrix, (other if other.whole is None else other.whole).by_word
        _add_products(a.indptr, a.indices, a.data, columns, self.factor, b.indptr, b.indices, b.data, other.first, out)
        return out

    def squares(self) -> Floats:
        """The product of each string with itself."""
        a = self.matrix
        factor = self.factor if len(self.factor) else np.ones(a.shape[1])
        return np.asarray(a.multiply(a) @ factor, dtype=np.float64)


@njit(cache=True, nogil=True)
def _add_products(
    rows: Any,
    words: Any,
    counts: Any,
    columns: Any,
    factor: Any,
    starts: Any,
    others: Any,
    theirs: Any,
    first: Any,
    out: Any,
) -> None:  # pragma: no cover - compiled
    """out[i, j] += Σ; of the strings by word, out.shape[1] from `first` on are asked for.

    Without `columns` the words are the same, and without `factor` all weigh 1: fewer places in memory to visit.
    """
    last = first + out.shape[1]
    for i in range(len(rows) - 1):
        line = out[i]
        for p in range(rows[i], rows[i + 1]):
            c = words[p]
            v = counts[p]
            if len(factor) > 0:
                v *= factor[c]
            if len(columns) > 0:
                c = columns[c]
                if c < 0:
                    continue
            low, high = starts[c], starts[c + 1]
            if first > 0:
                low = _from(others, low, high, first)
            if high > low and others[high - 1] >= last:
                high = _from(others, low, high, last)
            for q in range(low, high):
                line[others[q] - first] += v * theirs[q]


@njit(cache=True, nogil=True)
def _from(rows: Any, low: Any, high: Any, row: Any) -> Any:  # pragma: no cover - compiled
    """The first place in [low, high) with a row of at least `row`, in ascending rows; `high` if there is none."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


def count_words(strings: Letters, patterns: Sequence[tuple[int, ...]], values: Sequence[float]) -> Counts:
    """How often each word occurs along each pattern, times the value of the pattern, added up.

    A pattern (0, o₂, …, o_k) reads the letters at i, i + o₂, …, i + o_k for every place i where they are in the string.
    Costs O(letters × patterns × k), plus sorting the words of each string.
    """
    k, n, lengths = len(patterns[0]), len(strings), np.diff(strings.starts)
    total = sum(int(np.maximum(lengths - pattern[-1], 0).sum()) for pattern in patterns)
    if total > MAX_WORDS:
        raise ValueError(
            f"{n} strings have {total} words along {len(patterns)} patterns, and at most {MAX_WORDS} are counted "
            "together; take a smaller gap, or fewer or shorter strings."
        )
    letters, index = numbered_letters(strings.codes)
    # Letters from each place to the end of its string.
    remaining = np.repeat(strings.starts[1:], lengths) - np.arange(len(index))
    starts = [np.flatnonzero(remaining > pattern[-1]) for pattern in patterns]
    columns = [
        np.concatenate([index[at + pattern[j]] for at, pattern in zip(starts, patterns, strict=True)]) for j in range(k)
    ]
    found, places = numbered(columns, max(len(letters), 1))
    vocabulary = np.stack([letters[column[places]] for column in columns], axis=1).astype(np.uint32)
    if len(patterns) == 1:
        ends = np.concatenate([[0], np.cumsum(np.maximum(lengths - patterns[0][-1], 0))])
        matrix = sp.csr_array((np.full(total, float(values[0])), found, ends), shape=(n, len(places)))
    else:
        row = np.repeat(np.arange(n), lengths)[np.concatenate(starts)]
        value = np.repeat(np.asarray(values, np.float64), [len(at) for at in starts])
        matrix = sp.csr_array((value, (row, found)), shape=(n, len(places)))
    matrix.sum_duplicates()
    return Counts(matrix, Words(vocabulary))


def numbered_letters(codes: Array) -> tuple[Array, Integers]:
    """The distinct letters in order, and the number of each letter among them."""
    table = np.zeros(int(codes.max(initial=0)) + 1, bool)
    table[codes] = True
    return np.flatnonzero(table), (np.cumsum(table) - 1)[codes]


def gap_patterns(k: int, gap: int) -> list[tuple[int, ...]]:
    """All patterns of k letters that skip at most `gap` letters.

    >>> gap_patterns(2, 1)
    [(0, 1), (0, 2)]
    """
    if comb(k - 1 + gap, gap) > 10**6:
        raise ValueError(
            f"{k} letters with a gap of up to {gap} make {comb(k - 1 + gap, gap)} patterns; take a smaller gap or None."
        )
    return [(0, *rest) for rest in combinations(range(1, k + gap), k - 1)]
