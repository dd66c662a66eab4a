"""How clusters are numbered, and rows of the fit found again, wherever clusters come from."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.hashes import Words, item_hashes, row_hashes
from gramian._core.types import Floats, Ints, Matrix


def numbered(labels: Ints, weight: Floats | None = None, X: Matrix = None) -> tuple[Ints, Ints]:
    """Labels from the heaviest cluster on, and the old label of each.

    Of equally heavy ones that with the least sum of a row of X comes first; without X, that of the first row. So the
    numbers do not change when rows are given in another order, or repeated instead of weighted.

    >>> numbered(np.array([7, 2, 2, 5])), numbered(np.array([7, 2, 2, 5]), X=np.array([[3.0], [1.0], [1.0], [2.0]]))[0]
    ((array([1, 0, 0, 2]), array([2, 7, 5])), array([2, 0, 0, 1]))
    """
    old, first, code = np.unique(labels, return_index=True, return_inverse=True)
    code = code.reshape(-1)
    total = np.bincount(code, weights=weight, minlength=len(old))
    least = np.zeros(len(old))
    if X is not None and len(np.unique(total)) < len(old):
        least = np.full(len(old), np.inf)
        np.minimum.at(least, code, np.asarray(X.sum(axis=1), dtype=np.float64).reshape(-1))
    order = np.lexsort((first, least, -total))
    place = np.empty(len(old), dtype=np.int64)
    place[order] = np.arange(len(old))
    return place[code], old[order]


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Which points a fit has seen, so that these keep their labels and scores.

    `group` (n,) numbers the points of the fit, equal ones alike; `first` (m,) has the first point of each group.

    >>> known = KnownRows.of(np.array([[1.0], [2.0], [1.0]]))
    >>> known.group, known.first, known.find(np.array([[2.0], [3.0]]))
    (array([0, 1, 0]), array([0, 1]), array([ 1, -1]))
    """

    hashes: Words  # of the groups, growing
    first: Ints
    group: Ints

    @classmethod
    def of(cls, points: Matrix) -> "KnownRows":
        hashes, first, group = np.unique(_hashes(points), return_index=True, return_inverse=True)
        return cls(hashes, first, group.reshape(-1))

    def find(self, points: Matrix) -> Ints:
        """The first point of the fit that is equal to each, −1 where there is none."""
        hashes = _hashes(points)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[place] == hashes, self.first[place], -1)

    def weight(self, weight: Floats | None) -> Floats:
        """Of every point and those equal to it, (n,)."""
        return np.bincount(self.group, weights=weight, minlength=len(self.first))[self.group].astype(np.float64)

    def together(self, labels: Ints, weight: Floats | None = None) -> Ints:
        """Labels where equal points share one: the heaviest among them, of equally heavy ones the lowest.

        >>> KnownRows.of(np.array([[1.0], [2.0], [1.0], [1.0]])).together(np.array([3, 0, 1, 1]))
        array([1, 0, 1, 1])
        """
        if (labels == labels[self.first][self.group]).all():
            return labels
        counts = np.zeros((len(self.first), int(labels.max()) + 1))
        np.add.at(counts, (self.group, labels), 1.0 if weight is None else weight)
        return np.asarray(counts.argmax(axis=1)[self.group], dtype=np.int64)


def _hashes(points: Matrix) -> Words:
    if sp.issparse(points):
        rows = sp.csr_matrix(points, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        return row_hashes(rows)
    if isinstance(points, np.ndarray) and points.ndim == 2 and points.dtype.kind in "fiub":
        return row_hashes(np.asarray(points, dtype=np.float64))
    return item_hashes(points)
