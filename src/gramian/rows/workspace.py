"""Memory that a thread uses again from block to block, instead of asking the system for fresh pages each time."""

import threading

import numpy as np
from numpy.typing import DTypeLike

from gramian._core.types import Array


class _Arrays(threading.local):
    def __init__(self) -> None:
        self.by_purpose: dict[str, Array] = {}


_arrays = _Arrays()


def workspace(purpose: str, rows: int, columns: int, dtype: DTypeLike = np.float64) -> Array:
    """A rows × columns array of this thread, with old content; valid until the next call for the same purpose.

    >>> workspace("example", 2, 3).shape
    (2, 3)
    """
    memory = _arrays.by_purpose.get(purpose)
    if memory is None or memory.size < rows * columns or memory.dtype != dtype:
        memory = _arrays.by_purpose[purpose] = np.empty(rows * columns, dtype=dtype)
    return memory[: rows * columns].reshape(rows, columns)
