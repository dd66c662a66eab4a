"""Numba's compiler, with one compiled version of a function for whole numbers that are constants and for others."""

from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher

COMPILING, LOADING = 0.8, 0.1  # seconds in which Numba starts and compiles a few loops, or reads them from its cache


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
        dispatcher = numba.njit(no_cfunc_wrapper=True, **options)(function)
        template = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: template(
            tuple(map(types.unliteral, args)), {name: types.unliteral(kind) for name, kind in kws.items()}
        )
        return dispatcher

    return compile_lazily


@cache
def interpreted(function: Any, **instead: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function, and those that it calls, in plain Python: for loops of some thousand steps.

    Functions given by name are called instead of those that the code names.

    >>> @njit(nogil=True)
    ... def square(x):
    ...     return x * x
    >>> @njit(nogil=True)
    ... def norm(x):
    ...     return square(x[0]) + square(x[1])
    >>> interpreted(norm)((3.0, 4.0)), len(norm.signatures)
    (25.0, 0)
    """
    source = function.py_func
    names = {
        name: interpreted(value) if isinstance(value, Dispatcher) and value is not function else value
        for name, value in (source.__globals__ | instead).items()
        if name in source.__code__.co_names
    }
    plain = FunctionType(source.__code__, {"__builtins__": __builtins__} | names, source.__name__, source.__defaults__)

    @wraps(source)
    def quiet(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return plain(*arguments)

    return quiet


def compiled_later(
    compiled: Callable[..., Any], plain: Callable[..., Any], *loops: Any, seconds: Callable[..., float]
) -> Callable[..., Any]:
    """`plain`, until it has taken as long as it takes to compile the loops that `compiled` runs; then that.

    `seconds` estimates from the arguments what `plain` takes: no clock is read, so that the same calls run the same
    code. Both must give the same bits, for nothing else tells which of them has run.

    >>> @njit(nogil=True)
    ... def double(x):
    ...     return 2.0 * x
    >>> compiled_later(double, lambda x: x + x, double, seconds=lambda x: 1e-7)(3.0), len(double.signatures)
    (6.0, 0)
    """
    used = 0.0

    @wraps(plain)
    def either(*arguments: Any) -> Any:
        nonlocal used
        if used > COMPILING or (used > LOADING and all(map(_in_cache, loops))) or all(_in_memory(f) for f in loops):
            return compiled(*arguments)
        used += seconds(*arguments)
        return plain(*arguments)

    return either


def _in_memory(loop: Any) -> bool:
    return bool(loop.overloads)


@cache
def _in_cache(loop: Any) -> bool:
    """Whether it has been compiled, now or in an earlier process."""
    folder, code = loop.stats.cache_path, loop.py_func.__code__
    pattern = f"*.{loop.py_func.__qualname__}-{code.co_firstlineno}.*.nbi"
    return _in_memory(loop) or (folder is not None and any(Path(folder).glob(pattern)))
