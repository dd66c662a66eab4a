"""The signs of eigenvectors, which are arbitrary: a rule that fixes them."""

import numpy as np

from gramian._core.types import Floats


def column_signs(Y: Floats, tolerance: float = 1e-9) -> Floats:
    """+1 or −1 for each column, the sign of its largest entry; of entries equal within the tolerance, of the first.

    >>> column_signs(np.array([[1.0, 0.5], [-2.0, 0.5]]))
    array([-1.,  1.])
    """
    if not len(Y):
        return np.ones(Y.shape[1])
    size = np.abs(Y)
    first = (size >= (1.0 - tolerance) * size.max(axis=0)).argmax(axis=0)
    return np.where(Y[first, np.arange(Y.shape[1])] < 0, -1.0, 1.0)
