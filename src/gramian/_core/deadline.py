"""A limit in seconds that everything inside a fit shares, in every thread that works for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic


@dataclass(eq=False)
class Limit:
    """When it is over, whether something ended because of it, and what there is to say of that."""

    until: float
    ended: bool = False
    notes: list[str] = field(default_factory=list)


_limit: ContextVar[Limit | None] = ContextVar("limit", default=None)


@contextmanager
def within(seconds: float | None) -> Iterator[Limit]:
    """Let what is inside end after so many seconds; a limit that is there already holds too, and hears of the end.

    >>> with within(0.0) as limit:
    ...     passed()
    True
    >>> limit.ended
    True
    """
    outer, until = _limit.get(), float("inf") if seconds is None else monotonic() + seconds
    limit = Limit(until if outer is None else min(outer.until, until))
    token = _limit.set(limit)
    try:
        yield limit
    finally:
        _limit.reset(token)
        if outer is not None:
            outer.ended |= limit.ended
            outer.notes += limit.notes


def passed() -> bool:
    """Whether the time is over: who asks ends then.

    >>> passed()
    False
    """
    limit = _limit.get()
    if limit is None or monotonic() < limit.until:
        return False
    limit.ended = True
    return True


def ended() -> bool:
    """Whether something ended because the time was over: who set the limit says so, and nobody else need."""
    limit = _limit.get()
    return limit is not None and limit.ended


def note(text: str) -> None:
    """One more sentence for who set the limit to say."""
    limit = _limit.get()
    if limit is not None:
        limit.notes.append(text)


def remaining() -> float | None:
    """Seconds that are left; None without a limit."""
    limit = _limit.get()
    return None if limit is None or limit.until == float("inf") else max(limit.until - monotonic(), 0.0)
