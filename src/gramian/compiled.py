"""Numba's compiler, with one compiled version of a function for whole numbers that are constants and for others."""

from collections.abc import Callable
from typing import Any

import numba
from numba import types

SMALL = 2**15  # numbers of a loop that NumPy goes through about as fast


def is_small(numbers: int) -> bool:
    """Whether an array of so many numbers is not worth the seconds that a compilation takes."""
    return 0 < numbers <= SMALL


def njit(**options: Any) -> Callable[[Any], Any]:
    """`numba.njit`, whose functions are not compiled again for constants given by other compiled functions.

    Numba infers the type of `k = 0` as that constant first and as a whole number after it, and compiles what k is
    given to for both, with all that it calls.

    >>> @njit(nogil=True)
    ... def next(k):
    ...     return k + 1
    >>> @njit(nogil=True)
    ... def count(n):
    ...     k = 0
    ...     for _ in range(n):
    ...         k = next(k)
    ...     return k
    >>> count(3), len(next.signatures)
    (3, 1)
    """

    def compile_lazily(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        template = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: template(
            tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()}
        )
        return dispatcher

    return compile_lazily
