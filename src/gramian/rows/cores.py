"""How many threads a pass uses, and BLAS kept to one thread inside each."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_chosen = threading.local()


def thread_count() -> int:
    """Threads a pass may use: `gm.threads(n)`, else GRAMIAN_THREADS or OMP_NUM_THREADS, else the cores of this process.

    >>> thread_count() >= 1
    True
    """
    chosen = getattr(_chosen, "count", None)
    if chosen is not None:
        return int(chosen)
    for name in ("GRAMIAN_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "")
        if text.isdigit() and int(text) > 0:
            return int(text)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells which cores a process may use
        return os.cpu_count() or 1


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads for the passes inside; the numbers are the same bits for any count.

    >>> with threads(1):
    ...     thread_count()
    1
    """
    if count < 1:
        raise ValueError(f"threads: count is {count}; it must be at least 1.")
    before = getattr(_chosen, "count", None)
    _chosen.count = count
    try:
        yield
    finally:
        _chosen.count = before


class _Limit:
    """A process-wide limit of BLAS to one thread, shared by every pass under way."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.limiter: Any = None

    def acquire(self) -> None:
        with self.lock:
            if self.users == 0:
                self.limiter = _controller().limit(limits=1, user_api="blas")
            self.users += 1

    def release(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.limiter.restore_original_limits()
                self.limiter = None


_limit = _Limit()


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  SciPy brings a BLAS of its own; the controller must see it

    return ThreadpoolController()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS and LAPACK to one thread inside, so that results do not depend on the number of cores.

    >>> with single_threaded_blas():
    ...     pass
    """
    _limit.acquire()
    try:
        yield
    finally:
        _limit.release()
