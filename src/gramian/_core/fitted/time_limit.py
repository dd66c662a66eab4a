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
    def inside(self: Any, *args: Any, **options: Any) -> Any:
        time = getattr(self, "time", None)
        seconds = None if time is None else validation.number("time", time, low=0.0, open_low=True)
        with deadline.within(seconds) as limit:
            result = fit(self, *args, **options)
        if seconds is not None and limit.ended:
            _say(self, seconds, limit.notes)
        return result

    return inside  # type: ignore[return-value]


def _say(model: Estimator, seconds: float, notes: list[str]) -> None:
    certificate, note = model.certificate_, " ".join(notes)
    warn_user(
        f"{type(model).__name__} was ended by time={seconds:g} at the best so far: {replace(certificate, note=note)}"
        f"{'' if note else '.'} To go on, raise time.",
        ConvergenceWarning,
    )
    words = [certificate.note, f"Ended by time={seconds:g} at the best so far.", note]
    model.certificate_ = replace(certificate, note=" ".join(filter(None, words)))
