"""64-bit hashes of points, by which equal ones are found."""

import pickle
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core.types import Floats, Matrix

Words = NDArray[np.uint64]

ODD = 0x9E3779B97F4A7C15  # 2⁶⁴ over the golden ratio
CELLS = 2**16  # of a table that are mixed at once


def row_hashes(T: Matrix) -> Words:
    """One number a row of an array or a canonical CSR matrix, equal for equal rows."""
    if sp.issparse(T):
        cells = _mixed(_bits(T.data) ^ _mixed(T.indices.astype(np.uint64) + np.uint64(1)))
        total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(cells, dtype=np.uint64)])
        return total[T.indptr[1:]] - total[T.indptr[:-1]]
    total = np.zeros(len(T), dtype=np.uint64)
    keys = _mixed(np.arange(1, T.shape[1] + 1, dtype=np.uint64))
    width = max(CELLS // max(len(T), 1), 1)
    for first in range(0, len(keys), width):
        columns = slice(first, first + width)
        total += _mixed(_bits(T[:, columns]) ^ keys[columns]).sum(axis=1, dtype=np.uint64)
    return total


def _bits(values: Floats) -> Words:
    return (values + 0.0).view(np.uint64)  # so that −0 is 0


def _mixed(words: Words) -> Words:
    """Words in which every bit depends on every bit given."""
    words = (words ^ (words >> np.uint64(32))) * np.uint64(ODD)
    words = (words ^ (words >> np.uint64(32))) * np.uint64(ODD)
    return words ^ (words >> np.uint64(32))


def item_hashes(items: Iterable[str]) -> Words:
    """One number for each object, equal for objects that pickle alike."""
    digests = [blake2b(pickle.dumps(each, protocol=4), digest_size=8).digest() for each in items]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
