"""A limit in seconds that everything inside a fit shares, in every thread that works for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_until: ContextVar[float] = ContextVar("until", default=float("inf"))


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Let what is inside end after so many seconds; a limit that is there already holds too.

    >>> with within(0.0):
    ...     passed()
    True
    """
    token = _until.set(min(_until.get(), float("inf") if seconds is None else monotonic() + seconds))
    try:
        yield
    finally:
        _until.reset(token)


def passed() -> bool:
    """Whether the time is over.

    >>> passed()
    False
    """
    return monotonic() >= _until.get()


def remaining() -> float | None:
    """Seconds that are left; None without a limit."""
    return None if _until.get() == float("inf") else max(_until.get() - monotonic(), 0.0)
