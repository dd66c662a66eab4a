"""Words within some mismatches of each other: listed, and counted without listing them."""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Array
from gramian.kernels.structured.kmers import MAX_WORDS, WILD, Counts, Words, numbered, numbered_letters
from gramian.rows import parallel_map


def common_neighbours(k: int, m: int, letters: int) -> list[int]:
    """How many words are within m mismatches of two words that agree at 0, 1, …, k of their k places.

    >>> common_neighbours(2, 1, 4)  # nothing in common: 2; one letter: those that have it; the same word: 1 + 2 × 3
    [2, 4, 7]
    """
    counts = []
    for agree in range(k + 1):
        total = 0
        for both in range(agree + 1):  # places changed where the two agree
            for neither in range(k - agree + 1):  # places where they differ, and the third word from both
                rest = k - agree - neither
                ways = comb(agree, both) * (letters - 1) ** both
                ways *= comb(k - agree, neither) * max(letters - 2, 0) ** neither
                if ways:
                    sides = range(max(rest - m + both + neither, 0), min(m - both - neither, rest) + 1)
                    total += ways * sum(comb(rest, side) for side in sides)
        counts.append(total)
    return counts


def subset_factors(k: int, m: int, letters: int) -> list[int]:
    """f₀ … f_k with: common neighbours of two words = Σ_j f_j × (sets of j places at which they agree).

    Sets of agreeing places are counted by spectra of words with wild places, whatever the size of the alphabet; those
    of fewer than k − 2m places have f_j = 0.
    """
    factors = common_neighbours(k, m, letters)
    for j in range(1, k + 1):
        factors[j:] = [factors[i] - factors[i - 1] for i in range(j, k + 1)]
    return factors


def with_mismatches(counts: Counts, m: int, alphabet: Array) -> Counts:
    """Counts of words with wild places whose products are those of the counts of all words within m mismatches."""
    kept = np.isin(counts.words.codes, alphabet).all(axis=1)
    codes, matrix = counts.words.codes[kept], counts.matrix[:, np.flatnonzero(kept)]
    n, k = len(counts), codes.shape[1]
    factors = subset_factors(k, m, len(alphabet))
    subsets = [places for size in range(k + 1) if factors[size] for places in combinations(range(k), size)]
    if len(subsets) * matrix.nnz > MAX_WORDS:
        raise ValueError(
            f"The strings have {len(subsets) * matrix.nnz} words with wild places, and at most {MAX_WORDS} are "
            "counted together; take smaller k or m, or fewer or shorter strings."
        )
    letters, index = numbered_letters(codes)

    def part(places: tuple[int, ...]) -> tuple[Any, Array, Array]:
        columns = [index[:, j] for j in places] or [np.zeros(len(codes), np.int64)]
        word, first = numbered(columns, max(len(letters), 1))
        merged = sp.csr_array((matrix.data.copy(), word[matrix.indices], matrix.indptr.copy()), (n, len(first)))
        merged.sum_duplicates()
        wild = np.full((len(first), k), WILD, np.uint32)
        wild[:, places] = codes[first][:, places]
        return merged, wild, np.full(len(first), float(factors[len(places)]))

    parts, vocabularies, weights = zip(*parallel_map(part, subsets), strict=True)
    return Counts(sp.hstack(parts, format="csr"), Words(np.concatenate(vocabularies)), np.concatenate(weights))


def neighbours(words: Words, m: int, alphabet: Array) -> tuple[Any, Words]:
    """0/1 matrix (words × their neighbours within m mismatches), and the neighbours, which use the alphabet alone."""
    kept = np.flatnonzero(np.isin(words.codes, alphabet).all(axis=1))
    codes = words.codes[kept]
    k = codes.shape[1]
    if len(kept) * comb(k, m) * len(alphabet) ** m > MAX_WORDS:
        raise ValueError(
            f"{len(kept)} words of {k} letters have too many neighbours within {m} mismatches over {len(alphabet)} "
            "letters to be listed; k(X) does not list them."
        )
    changes = alphabet[np.indices((len(alphabet),) * m).reshape(m, len(alphabet) ** m).T]
    parts, rows = [np.empty((0, k), np.uint32)], [np.empty(0, np.int64)]
    for places in combinations(range(k), m):
        changed = np.repeat(codes, len(changes), axis=0)
        changed[:, places] = np.tile(changes, (len(codes), 1))
        parts.append(changed)
        rows.append(np.repeat(kept, len(changes)))
    every = np.concatenate(parts)
    letters, index = numbered_letters(every)
    word, first = numbered(list(index.T), max(len(letters), 1))
    matrix = sp.csr_array((np.ones(len(word)), (np.concatenate(rows), word)), (len(words), len(first)))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix, Words(every[first])
