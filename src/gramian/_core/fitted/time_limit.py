"""A `fit` that ends after `time` seconds, and says so."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from gramian._core import deadline, validation
from gramian._core.types import Estimator
from gramian.warnings import ConvergenceWarning, warn_user

F = TypeVar("F", bound=Callable[..., Any])


def timed(fit: F) -> F:
    """A method `fit` that ends at the best so far after `self.time` seconds; its certificate has a note of that."""

    @wraps(fit)
    def inside(self: Any, *args: Any, **more: Any) -> Any:
        given = getattr(self, "time", None)
        seconds = None if given is None else validation.number("time", given, low=0.0, open_low=True)
        with deadline.within(seconds) as limit:
            found = fit(self, *args, **more)
        if seconds is not None and limit.ended:
            _say(self, seconds, limit.notes)
        return found

    return inside  # type: ignore[return-value]


def _say(model: Estimator, seconds: float, notes: list[str]) -> None:
    shown, told = model.certificate_, " ".join(notes)
    warn_user(
        f"{type(model).__name__} was ended by time={seconds:g} at the best so far: {replace(shown, note=told)}"
        f"{'' if told else '.'} To go on, raise time.",
        ConvergenceWarning,
    )
    words = [shown.note, f"Ended by time={seconds:g} at the best so far.", told]
    model.certificate_ = replace(shown, note=" ".join(filter(None, words)))
