"""How clusters are numbered, wherever they come from."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def numbered(labels: Ints, weight: Floats | None = None) -> tuple[Ints, Ints]:
    """Labels from the heaviest cluster on, of equal ones that of the first row first; and the old label of each.

    So the numbers do not change when rows are given in another order, or repeated instead of weighted.

    >>> numbered(np.array([7, 2, 2, 5]))
    (array([1, 0, 0, 2]), array([2, 7, 5]))
    """
    old, first, code = np.unique(labels, return_index=True, return_inverse=True)
    total = np.bincount(code, weights=weight, minlength=len(old))
    order = np.lexsort((first, -total))
    place = np.empty(len(old), dtype=np.int64)
    place[order] = np.arange(len(old))
    return place[code.reshape(-1)], old[order]
