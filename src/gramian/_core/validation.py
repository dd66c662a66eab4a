"""Checks of constructor parameters, made at fit before any data is touched."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import TypeGuard

import numpy as np

from gramian._core.types import Floats

RULES = ("best", "one_se")  # how alpha is chosen from its validation losses


def is_number(value: object) -> TypeGuard[float]:
    """Whether a parameter is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a parameter is of an integer type; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def number(name: str, value: object, *, low: float, high: float = np.inf, open_low: bool = False) -> float:
    """A finite number within its range, or an error that names the parameter."""
    end = "" if high == np.inf else f" and at most {high:g}"
    allowed = f"a number {'above' if open_low else 'of at least'} {low:g}{end}"
    if not is_number(value):
        raise TypeError(f"{name} is {value!r}; it must be {allowed}.")
    result = float(value)
    if not np.isfinite(result) or result > high or result < low or (open_low and result == low):
        raise ValueError(f"{name} is {value!r}; it must be {allowed}.")
    return result


def whole(name: str, value: object, *, low: int) -> int:
    """A whole number of at least `low`."""
    if not is_integer(value):
        raise TypeError(f"{name} is {value!r}; it must be a whole number of at least {low}.")
    if value < low:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {low}.")
    return int(value)


def choice(name: str, value: object, options: tuple[str, ...]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, options))}.")
    return str(value)


def flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} is {value!r}; it must be True or False.")
    return bool(value)


def switch(name: str, value: object) -> bool:
    """True or False, for which scikit-learn's transformers take integers too."""
    return flag(name, bool(value) if isinstance(value, int) else value)


def array(name: str, value: object, wanted: str) -> Floats:
    """An array of numbers, or an error that says what is wanted."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        text = repr(value)
        raise TypeError(f"{name} is {text if len(text) <= 60 else text[:57] + '…'}; it must be {wanted}.") from None


def functions(name: str, value: object) -> list[Callable[..., object]]:
    """A list of functions."""
    if not isinstance(value, list | tuple) or not all(callable(each) for each in value):
        raise TypeError(f"{name} is {value!r}; it must be a list of functions, each called with (iteration, state).")
    return list(value)


def alpha(value: object) -> float | None:
    """A strength of at least 0, or None for "auto"."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'alpha is {value!r}; it must be "auto" or a number of at least 0.')
        return None
    return number("alpha", value, low=0.0)


def alphas(value: object) -> int | Floats:
    """The length of a grid, or a grid sorted from large to small."""
    if isinstance(value, Integral):
        return whole("alphas", value, low=2)
    grid = array("alphas", value, "a number of grid points or a list of alphas")
    if grid.ndim != 1 or not grid.size:
        raise ValueError(f"alphas is {value!r}; it must be a number of grid points or a list of alphas.")
    if not np.isfinite(grid).all() or (grid < 0).any():
        raise ValueError(f"alphas holds {grid[~(np.isfinite(grid) & (grid >= 0))][0]}; every alpha must be at least 0.")
    return np.unique(grid)[::-1]


def rule(value: object) -> str:
    """How alpha is chosen from the scores."""
    return choice("rule", value, RULES)


def factors(name: str, value: object, d: int) -> Floats | None:
    """One penalty factor of at least 0 per feature."""
    if value is None:
        return None
    values = array(name, value, f"one number per feature, shape ({d},)")
    if values.shape != (d,):
        raise ValueError(f"{name} has shape {values.shape}; it needs one number per feature, shape ({d},).")
    if not np.isfinite(values).all() or (values < 0).any():
        j = int((~(np.isfinite(values) & (values >= 0))).argmax())
        raise ValueError(f"{name}[{j}] is {values[j]}; penalty factors must be numbers of at least 0.")
    return values
