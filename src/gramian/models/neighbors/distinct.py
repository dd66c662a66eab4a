"""Rows without their repetitions, so that equal rows are searched for once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.hashes import row_hashes as _hashes
from gramian._core.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct points in the order of their first rows; the rows of point p are `members[starts[p] : starts[p + 1]]`.

    `members` is None where every row is a point of its own.
    """

    T: Any
    starts: Ints
    members: Ints | None

    @property
    def rows(self) -> int:
        """Rows, with repetitions."""
        return int(self.starts[-1])

    @classmethod
    def of(cls, T: Any) -> "Distinct":
        """The distinct rows of an array or a canonical CSR matrix.

        >>> Distinct.of(np.array([[1.0], [0.0], [1.0]])).members
        array([0, 2, 1])
        """
        n = T.shape[0]
        _, first, group = np.unique(_hashes(T), return_index=True, return_inverse=True)
        alone = cls(T, np.arange(n + 1), None)
        if len(first) == n:
            return alone
        order = np.argsort(first)
        first, group = first[order], np.argsort(order)[group]
        if _differ(T, first[group]):  # two rows with one hash, once in 2^64 pairs
            return alone
        starts = np.concatenate([[0], np.cumsum(np.bincount(group))])
        return cls(T[first], starts, np.argsort(group, kind="stable"))

    def rows_of(self, distance: Floats, index: Ints, k: int) -> tuple[Floats, Ints]:
        """The k nearest rows, given the min(k, points) nearest points, both in order of (distance, number)."""
        if self.members is None:
            return distance, index
        sizes = np.diff(self.starts)[index]
        enough = (np.cumsum(sizes, axis=1) >= k).argmax(axis=1)
        kept = distance <= np.take_along_axis(distance, enough[:, None], 1)
        counts = np.minimum(sizes, k)[kept]
        far = np.repeat(distance[kept], counts)
        places = np.arange(len(far)) - np.repeat(np.cumsum(counts) - counts, counts)
        found = self.members[np.repeat(self.starts[index[kept]], counts) + places]
        chosen = nearest_of_each(far, found, (np.minimum(sizes, k) * kept).sum(axis=1), k)
        return far[chosen], found[chosen]


def nearest_of_each(distance: Floats, index: Ints, counts: Ints, k: int) -> Ints:
    """Places (b, k) of the k nearest, of equal ones the lowest index first, in runs of `counts` distances.

    >>> nearest_of_each(np.array([2.0, 1.0, 1.0, 5.0]), np.array([7, 9, 8, 0]), np.array([3, 1]), 1)
    array([[2],
           [3]])
    """
    order = np.lexsort((index, distance, np.repeat(np.arange(len(counts)), counts)))
    return order[(np.cumsum(counts) - counts)[:, None] + np.arange(k)]


def _differ(T: Any, other: Ints) -> bool:
    again = np.flatnonzero(other != np.arange(len(other)))
    if sp.issparse(T):
        return (T[again] != T[other[again]]).nnz > 0
    return bool((T[again] != T[other[again]]).any())
