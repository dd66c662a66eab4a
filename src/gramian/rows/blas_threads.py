"""How many threads a pass uses, and BLAS kept to one thread inside each."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from functools import cache, cached_property
from typing import Any

from threadpoolctl import ThreadpoolController


class _ChosenThreads(threading.local):
    count: int | None = None


class _Entries(threading.local):
    """How often this thread is inside a limit, and the numbers of threads that it restores."""

    depth: int = 0
    before: tuple[int, ...] = ()


_chosen = _ChosenThreads()


def thread_count() -> int:
    """Threads a pass may use: `gm.threads(n)`, else GRAMIAN_THREADS or OMP_NUM_THREADS, else the cores of this process.

    >>> thread_count() >= 1
    True
    """
    if _chosen.count is not None:
        return _chosen.count
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
    before = _chosen.count
    _chosen.count = count
    try:
        yield
    finally:
        _chosen.count = before


class BlasLimit:
    """BLAS kept to one thread while any thread is inside; entries nest within a thread and overlap between threads.

    Most builds of BLAS have one number of threads for the process: the first thread to enter sets it, the last to
    leave restores it. Builds on OpenMP have a number for each calling thread, which every thread sets and restores for
    itself. threadpoolctl lets only one thread change the former, and ignores the others without a word, so that its
    claim is lifted here first.
    """

    def __init__(self, libraries: Callable[[], Sequence[Any]]) -> None:
        self._find = libraries
        self.lock = threading.Lock()
        self.users = 0
        self.before: list[int] = []
        self.own = _Entries()

    def acquire(self) -> None:
        self.own.depth += 1
        if self.own.depth > 1:
            return
        self.own.before = tuple(_reduce_to_one(library) for library in self.separate)
        with self.lock:
            if self.users == 0:
                self.before = [_reduce_to_one(library) for library in self.shared]
            self.users += 1

    def release(self) -> None:
        self.own.depth -= 1
        if self.own.depth:
            return
        _restore(self.separate, self.own.before)
        with self.lock:
            self.users -= 1
            if self.users == 0:
                _restore(self.shared, self.before)

    def pin(self) -> None:
        """Keep the libraries that are set by thread to one in this thread for good."""
        for library in self.separate:
            _reduce_to_one(library)

    def after_fork(self) -> None:
        """Of the threads inside, only the one that forked is left."""
        self.lock = threading.Lock()
        inside = self.own.depth > 0
        if self.users and not inside:
            _restore(self.shared, self.before)
        self.users = int(inside)

    @cached_property
    def shared(self) -> list[Any]:
        """Libraries with one number of threads for the process."""
        return [library for library in self._find() if not _is_set_by_thread(library)]

    @cached_property
    def separate(self) -> list[Any]:
        """Libraries with a number of threads for each thread that calls them."""
        return [library for library in self._find() if _is_set_by_thread(library)]


def _is_set_by_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp" or library.internal_api == "blis"


def _reduce_to_one(library: Any) -> int:
    """Set a library's number of threads to 1; the number before."""
    before = int(library.get_num_threads() or 1)
    if before != 1:
        _lift_claim(library)
        library.set_num_threads(1)
    return before


def _restore(libraries: list[Any], counts: Sequence[int]) -> None:
    for library, count in zip(libraries, counts, strict=True):
        if count != 1:
            _lift_claim(library)
            library.set_num_threads(count)
            _lift_claim(library)


def _lift_claim(library: Any) -> None:
    """Let any thread set the number of threads of a library (threadpoolctl 3.8 and later keep it to the first)."""
    lift = getattr(library, "clear_controlling_thread", None)
    if lift is not None:
        lift(force=True)


@cache
def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  SciPy brings a BLAS of its own; the controller must see it

    return [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]


_limit = BlasLimit(_libraries)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.after_fork)


class _SingleThreadedBlas(ContextDecorator):
    def __enter__(self) -> None:
        _limit.acquire()

    def __exit__(self, *error: object) -> None:
        _limit.release()


def single_threaded_blas() -> _SingleThreadedBlas:
    """Keep BLAS and LAPACK to one thread inside, so that results do not depend on the number of cores.

    It may be entered from any thread, also while other threads are inside.

    >>> with single_threaded_blas():
    ...     pass
    """
    return _SingleThreadedBlas()


def keep_to_one_thread() -> None:
    """Keep BLAS to one thread for good where this thread calls it: it is one of several that work on a pass."""
    _limit.pin()
