"""Estimators that are given losses and penalties: by name or as objects, whose own parameters are ordinary paths."""

import inspect
import re
from dataclasses import is_dataclass
from typing import Any

from sklearn.base import BaseEstimator

from gramian._core.validation import flag
from gramian.objective import losses, penalties
from gramian.objective.losses.base import Loss
from gramian.objective.penalties import Penalty, Zero


def _word(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


LOSSES = {_word(name): getattr(losses, name) for name in losses.__all__ if name not in ("Loss", "SoftMargin")}
PENALTIES = {
    _word(name): getattr(penalties, name)
    for name in penalties.__all__
    if name not in ("Penalty", "Tikhonov", "GroupL1")
}


def loss_of(value: Any, targets: tuple[str, ...]) -> Loss:
    """A loss from its name or itself, for targets of these kinds."""
    fitting = [name for name, kind in LOSSES.items() if kind.targets in targets]
    if isinstance(value, str) and value in LOSSES:
        value = LOSSES[value]()
    if not isinstance(value, Loss):
        raise ValueError(
            f"loss is {value!r}; it must be one of {', '.join(map(repr, fitting))}, or an object of gm.losses."
        )
    if value.targets not in targets:
        raise ValueError(
            f"The loss {type(value).__name__} is for {value.targets}, which this estimator does not predict; losses "
            f"for it are {', '.join(map(repr, fitting))}."
        )
    return value


def penalty_of(value: Any) -> Penalty:
    """A penalty from its name or itself; None is no penalty."""
    if value is None:
        return Zero()
    if isinstance(value, str) and value in PENALTIES:
        value = PENALTIES[value]()
    if not isinstance(value, Penalty):
        raise ValueError(
            f"penalty is {value!r}; it must be None, one of {', '.join(map(repr, PENALTIES))}, or an object of "
            "gm.penalties."
        )
    return value


class Composed(BaseEstimator):
    """`penalty__l1_ratio` and the like, as scikit-learn's searches write them."""

    kernel: Any
    standardize: Any

    def _standardizes(self) -> bool:
        """Whether the penalty is of standardised columns; refused where it is the norm of a function."""
        standardize = flag("standardize", self.standardize)
        if standardize and self.kernel is not None:
            raise ValueError(
                "With kernel= the penalty is the norm of the function, which has no columns to standardise: leave "
                "standardize out, and scale the columns first (sklearn.preprocessing.StandardScaler)."
            )
        return standardize

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep` also those of the parts."""
        found: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, value in list(found.items()):
                if "__" not in name:
                    found |= _nested(name, value)
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters; those of a part make a new part, for parts are frozen."""
        plain = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**plain)
        rest = {}
        for name, value in params.items():
            head, _, tail = name.partition("__")
            part: Any = getattr(self, head, None)
            if not tail:
                continue
            named = {"loss": LOSSES, "penalty": PENALTIES}.get(head, {})
            part = named[part]() if isinstance(part, str) and part in named else part
            if _is_part(part):
                setattr(self, head, _changed(part, tail, value))
            else:
                rest[name] = value
        return super().set_params(**rest)


def _is_part(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _arguments(part: Any) -> dict[str, Any]:
    """What the part was made with, under the names of its constructor."""
    found = {}
    for name in inspect.signature(type(part)).parameters:
        value = getattr(part, name)
        found[name] = part.length if inspect.ismethod(value) else value  # a solver's `step` is also its method
    return found


def _nested(name: str, value: Any) -> dict[str, Any]:
    """name__x for each parameter x of a part, and of the parts within it."""
    if not _is_part(value):
        return {}
    found = {f"{name}__{inner}": given for inner, given in _arguments(value).items()}
    for path, given in list(found.items()):
        found |= _nested(path, given)
    return found


def _changed(part: Any, path: str, value: Any) -> Any:
    """The part with another value at a path such as `penalty__l1_ratio`."""
    head, _, tail = path.partition("__")
    known = _arguments(part)
    if head not in known or (tail and not _is_part(known[head])):
        raise ValueError(
            f"Invalid parameter {path!r} for {type(part).__name__}, which has {', '.join(known) or 'none'}."
        )
    return type(part)(**known | {head: _changed(known[head], tail, value) if tail else value})
