"""Parameters of kernels, checked when they are given."""

from typing import Any

import numpy as np

from gramian._core.validation import is_number


def is_whole(value: Any) -> bool:
    """Whether a number has no fraction."""
    return bool(float(value).is_integer())


def refuse_unless(kernel: Any, name: str, value: Any, low: float, *, open_: bool) -> None:
    """Raise unless a parameter is a finite number above `low` (or equal to it, where not `open_`)."""
    if is_number(value) and np.isfinite(value) and (value > low if open_ else value >= low):
        return
    kinds = {(0, True): "a positive number", (0, False): "a number that is not negative"}
    kind = kinds.get((int(low) if np.isfinite(low) else -1, open_), "a finite number")
    raise ValueError(f"{name} of {type(kernel).__name__} is {value!r}; it must be {kind}.")


def scales_of(kernel: Any, name: str, value: Any, *, auto: bool = False) -> Any:
    """A positive number, or a tuple with one for each feature, or "auto"; anything else is refused."""
    if is_number(value):
        refuse_unless(kernel, name, value, 0, open_=True)
        return value
    if auto and isinstance(value, str) and value == "auto":
        return value
    if not isinstance(value, str) and np.ndim(value) == 1 and len(value):
        numbers = value if isinstance(value, tuple) else tuple(np.asarray(value).tolist())
        for number in numbers:
            refuse_unless(kernel, name, number, 0, open_=True)
        return numbers
    kinds = (
        'a positive number, one for each feature, or "auto"' if auto else "a positive number or one for each feature"
    )
    raise ValueError(f"{name} of {type(kernel).__name__} is {value!r}; it must be {kinds}.")
