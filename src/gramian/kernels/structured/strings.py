"""Kernels of strings: words in common, exactly, up to mismatches, and with gaps."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core.types import Array, Floats
from gramian._core.validation import is_integer, is_number
from gramian.kernels.base import Kernel
from gramian.kernels.structured.kmers import Counts, Letters, count_words, gap_patterns, read_strings
from gramian.kernels.structured.mismatches import neighbours, with_mismatches
from gramian.kernels.structured.subsequences import subsequence_row
from gramian.kernels.validity.proof import Validity, proven
from gramian.rows import parallel_map

MAX_DENSE_CELLS = 2**28  # of a dense array of features


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(Kernel):
    """Compare strings by the words of k letters that they share.

    k(x, x') = Σ_u h_u(x) h_u(x'), where h_u(x) is how often the word u of k letters occurs in x, overlaps included.

    Parameters
    ----------
    k : int
        Letters of a word. A string that has fewer is orthogonal to all.

    Notes
    -----
    Points are str (any Unicode) or bytes. Counting is linear in the letters; a pair of strings then costs their words
    in common. `normalized()` makes strings of different lengths comparable.

    Examples
    --------
    >>> from gramian.kernels import Spectrum
    >>> Spectrum(2)(["banana", "bandana"])
    array([[9., 7.],
           [7., 8.]])
    >>> words, counts = Spectrum(2).counts(["banana", "bandana"])
    >>> words, counts.toarray().tolist()
    (['an', 'ba', 'da', 'na', 'nd'], [[2.0, 1.0, 0.0, 2.0, 0.0], [2.0, 1.0, 1.0, 1.0, 1.0]])
    """

    k: int

    def __post_init__(self) -> None:
        _check_length(self.k)

    def points(self, X: Any) -> Counts:
        if isinstance(X, Counts):
            return X
        return count_words(read_strings(X), [tuple(range(self.k))], [1.0])

    def block(self, A: Counts, B: Counts) -> Floats:
        return A.product(B)

    def diag(self, A: Counts) -> Floats:
        return A.squares()

    def counts(self, X: Any) -> tuple[list[str], Any]:
        """The words that occur, in lexical order, and how often each does in each string (CSR, n × words)."""
        counted = self.points(X)
        return counted.words.texts(), counted.matrix

    def features(self, X: Any, terms: int | None = None) -> Floats:
        """The counts of the words that occur in X; `counts(X)` is sparse, and says which words they are."""
        return _dense(self.counts(X)[1])

    def proof(self) -> Validity:
        return proven(self, "an inner product of counts of words")


@dataclass(frozen=True, eq=False, repr=False)
class Mismatch(Kernel):
    """Compare strings by words of k letters, of which up to m may be misspelt.

    k(x, x') = Σ_u h_u(x) h_u(x') over all words u of k letters of the alphabet, where h_u(x) is the number of words in
    x that differ from u in at most m places.

    Parameters
    ----------
    k, m : int
        Letters of a word, and how many of them may differ; m = 0 is `Spectrum(k)`.
    alphabet : "auto" or str, default "auto"
        The letters that words are spelt with, such as "ACGT"; "auto" are those of the strings given to `fitted`. Words
        with any other letter are left out.

    Notes
    -----
    The neighbours of a word are not listed: two words that agree at a of k places have a number of common neighbours
    that is Σ_j f_j C(a, j), so words with k − 2m … k places kept and the others wild are counted instead, whatever the
    size of the alphabet. All sums are whole numbers, and exact below 2⁵³.

    Examples
    --------
    >>> from gramian.kernels import Mismatch
    >>> Mismatch(3, 1, "ACGT")(["ACGT", "AGGT"])
    array([[20., 10.],
           [10., 24.]])
    """

    k: int
    m: int = 1
    alphabet: str = "auto"

    def __post_init__(self) -> None:
        _check_length(self.k)
        if not is_integer(self.m) or not 0 <= self.m <= self.k:
            raise ValueError(f"m is {self.m!r}; it must be a whole number of mismatches between 0 and k = {self.k}.")
        if not isinstance(self.alphabet, str) or not self.alphabet:
            raise ValueError(f'alphabet is {self.alphabet!r}; it must be "auto" or a string of all letters.')

    def waits_for(self) -> str | None:
        return 'The alphabet of Mismatch is "auto"' if self.alphabet == "auto" else None

    def fitted(self, X: Any, weight: Any = None) -> "Mismatch":
        if self.alphabet != "auto":
            return self
        letters = np.unique(read_strings(X).codes)
        if not len(letters):
            raise ValueError("The strings are all empty, so they give no alphabet; say alphabet=, such as 'ACGT'.")
        text = letters.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        return replace(self, alphabet="outa" if text == "auto" else text)

    def points(self, X: Any) -> Counts:
        if isinstance(X, Counts):
            return X
        return with_mismatches(self._exact(X), self.m, self._letters())

    def block(self, A: Counts, B: Counts) -> Floats:
        return A.product(B)

    def diag(self, A: Counts) -> Floats:
        return A.squares()

    def counts(self, X: Any) -> tuple[list[str], Any]:
        """The words within m mismatches of those in X, in lexical order, and h_u(x) (CSR, n × words)."""
        ready = self.fitted(X)
        exact = ready._exact(X)
        matrix, words = neighbours(exact.words, ready.m, ready._letters())
        return words.texts(), (exact.matrix @ matrix).tocsr()

    def features(self, X: Any, terms: int | None = None) -> Floats:
        """h_u(x) for the words u within m mismatches of one in X; `counts(X)` is sparse, and says which they are."""
        return _dense(self.counts(X)[1])

    def proof(self) -> Validity:
        return proven(self, "an inner product of counts of words, each with its neighbours")

    def _exact(self, X: Any) -> Counts:
        return count_words(read_strings(X), [tuple(range(self.k))], [1.0])

    def _letters(self) -> Array:
        return np.unique(read_strings([self.alphabet]).codes)


@dataclass(frozen=True, eq=False, repr=False)
class Gappy(Kernel):
    """Compare strings by subsequences of k letters that need not be neighbours.

    k(x, x') = Σ_u φ_u(x) φ_u(x'), where φ_u(x) = Σ decay^(letters skipped) over all places i₁ < … < i_k of x that
    spell u; the letters skipped are i_k − i₁ + 1 − k.

    Parameters
    ----------
    k : int
        Letters of a subsequence.
    decay : float in (0, 1], default 0.5
        What a skipped letter costs.
    gap : int or None, default None
        The most letters that may be skipped in all; 0 is `Spectrum(k)`, None is any number.

    Notes
    -----
    With a gap, subsequences are counted along their C(k − 1 + gap, gap) patterns, and a pair of strings costs those in
    common. Without one, a pair costs O(k |x| |x'|) by dynamic programming. The kernel that weighs by
    decay^(i_k − i₁ + 1) is decay^(2k) times this one.

    Examples
    --------
    >>> from gramian.kernels import Gappy
    >>> Gappy(2, decay=0.5)(["cat", "cart"])  # ca, c-t, at against ca, c-r, c--t, ar, a-t, rt
    array([[2.25 , 1.625 ],
           [1.625 , 3.5625]])
    """

    k: int
    decay: float = 0.5
    gap: int | None = None

    def __post_init__(self) -> None:
        _check_length(self.k)
        if not is_number(self.decay) or not 0 < self.decay <= 1:
            raise ValueError(f"decay is {self.decay!r}; it must be a number above 0 and at most 1.")
        if self.gap is not None and (not is_integer(self.gap) or self.gap < 0):
            raise ValueError(f"gap is {self.gap!r}; it must be None or a whole number of letters from 0 on.")

    def points(self, X: Any) -> Counts | Letters:
        if isinstance(X, Counts | Letters):
            return X
        letters = read_strings(X)
        return letters if self.gap is None else self._counts(letters, self.gap)

    def block(self, A: Any, B: Any) -> Floats:
        if isinstance(A, Counts):
            return A.product(B)
        out = np.empty((len(A), len(B)))
        s, t = A.codes.astype(np.uint32), B.codes.astype(np.uint32)

        def row(i: int) -> None:
            subsequence_row(s[A.starts[i] : A.starts[i + 1]], t, B.starts, self.k, float(self.decay), out[i])

        parallel_map(row, range(len(A)))
        return out

    def diag(self, A: Any) -> Floats:
        if isinstance(A, Counts):
            return A.squares()
        return np.array([self.block(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(len(A))])

    def counts(self, X: Any) -> tuple[list[str], Any]:
        """The subsequences that occur, in lexical order, and φ_u(x) (CSR, n × subsequences)."""
        letters = read_strings(X)
        longest = int(np.diff(letters.starts).max(initial=0))
        counts = self._counts(letters, max(longest - self.k, 0) if self.gap is None else self.gap)
        return counts.words.texts(), counts.matrix

    def features(self, X: Any, terms: int | None = None) -> Floats:
        """φ_u(x) for the subsequences u that occur in X; `counts(X)` is sparse, and says which they are."""
        return _dense(self.counts(X)[1])

    def proof(self) -> Validity:
        return proven(self, "an inner product of weighted counts of subsequences")

    def _counts(self, letters: Letters, gap: int) -> Counts:
        patterns = gap_patterns(self.k, gap)
        return count_words(letters, patterns, [float(self.decay) ** (p[-1] + 1 - self.k) for p in patterns])


def _check_length(k: Any) -> None:
    if not is_integer(k) or k < 1:
        raise ValueError(f"k is {k!r}; it must be a whole number of letters from 1 on.")


def _dense(counts: Any) -> Floats:
    if counts.shape[0] * counts.shape[1] > MAX_DENSE_CELLS:
        raise ValueError(
            f"{counts.shape[0]} strings × {counts.shape[1]} words do not fit into a dense array; counts(X) is sparse."
        )
    return np.asarray(counts.toarray())
