"""Tables so small that NumPy goes through them about as fast as compiled loops: nothing is compiled for them."""

import numpy as np

from gramian._core.types import Floats

SMALL = 2**15  # numbers of a loop


def is_small(numbers: int) -> bool:
    """Whether an array of so many numbers is not worth the seconds that a compilation takes."""
    return 0 < numbers <= SMALL


def sums_in_order(A: Floats) -> Floats:
    """The sums along the first axis, one term after the other as in a loop.

    NumPy adds so where the terms lie apart in memory, and in another order where they lie side by side.
    """
    if A[0].size > 1:
        return np.asarray(np.add.reduce(np.ascontiguousarray(A), axis=0))
    return np.add.accumulate(A, axis=0)[-1]
