"""How clusters are numbered, wherever they come from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def numbered(labels: Ints, weight: Floats | None = None, X: Any = None) -> tuple[Ints, Ints]:
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
