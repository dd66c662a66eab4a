"""A `fit` that ends after `time` seconds."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from gramian import deadline, parameters

F = TypeVar("F", bound=Callable[..., Any])


def timed(fit: F) -> F:
    """A method `fit` that ends at the best so far after `self.time` seconds."""

    @wraps(fit)
    def inside(self: Any, *args: Any, **more: Any) -> Any:
        given = getattr(self, "time", None)
        seconds = None if given is None else parameters.number("time", given, low=0.0, open_low=True)
        with deadline.within(seconds):
            return fit(self, *args, **more)

    return inside  # type: ignore[return-value]
