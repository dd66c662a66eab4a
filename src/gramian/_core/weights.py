"""Weights of rows, where a table may have none."""

import numpy as np

from gramian._core.types import Floats, Weights


def weights_or_ones(weight: Weights, n: int) -> Floats:
    """The weights of n rows as numbers: one each where `weight` is None.

    >>> weights_or_ones(None, 2), weights_or_ones([1, 3], 2)
    (array([1., 1.]), array([1., 3.]))
    """
    return np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
