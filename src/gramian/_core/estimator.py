"""Estimators as dataclasses: constructor and parameters from annotated fields, parameter documentation from bases."""

import dataclasses
import inspect
import re
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
SECTION = re.compile(r"^Parameters\n-+\n", re.M)
HEADING = re.compile(r"^(Attributes|Notes|Examples)\n-+\n", re.M)
SECTION_END = re.compile(r"^\n(?=\S.*\n-+\n)|\Z", re.M)
ENTRY = re.compile(r"^(?P<names>[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*)(?: : .*)?$")


@dataclass_transform(eq_default=False, field_specifiers=(dataclasses.field,))
def estimator(cls: type[T]) -> type[T]:
    """A scikit-learn estimator whose parameters are its annotated fields, in order; fields after `KW_ONLY` by name.

    What a fit sets is annotated as `field(init=False)`. Parameters that the docstring leaves out are described as in
    the nearest base that describes them.

    >>> from sklearn.base import BaseEstimator
    >>> @estimator
    ... class Shrunk(BaseEstimator):
    ...     alpha: float = 1.0
    >>> Shrunk(2.0).get_params()
    {'alpha': 2.0}
    """
    made = dataclasses.dataclass(eq=False, repr=False)(cls)
    made.__doc__ = _documented(made)
    return made


def _documented(cls: Any) -> str:
    """The docstring, with a description of every parameter that it or a base describes."""
    text = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
    entries = _entries(text)
    described = {name for names in entries for name in names}
    missing = [name for name in inspect.signature(cls).parameters if name not in described]
    inherited: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        if base.__module__.startswith("gramian."):
            for names, entry in _entries(inspect.cleandoc(base.__dict__.get("__doc__") or "")).items():
                inherited.update(dict.fromkeys(names, entry))
    added = dict.fromkeys(inherited[name] for name in missing if name in inherited)
    if not added:
        return text
    section = "Parameters\n----------\n" + "".join([*entries.values(), *added])
    match = SECTION.search(text)
    if match:
        return text[: match.start()] + section + text[_end(text, match.end()) :]
    heading = HEADING.search(text)
    at = heading.start() if heading else len(text)
    return f"{text[:at].rstrip()}\n\n{section}\n{text[at:]}"


def _entries(text: str) -> dict[tuple[str, ...], str]:
    """The descriptions of a "Parameters" section, by the names that each is for."""
    match = SECTION.search(text)
    if not match:
        return {}
    entries: dict[tuple[str, ...], str] = {}
    names: tuple[str, ...] = ()
    for line in text[match.end() : _end(text, match.end())].splitlines():
        entry = ENTRY.match(line)
        if entry:
            names = tuple(entry["names"].split(", "))
            entries[names] = ""
        if names:
            entries[names] += f"{line}\n"
    return entries


def _end(text: str, start: int) -> int:
    """Where a section ends: at the blank line before the next heading."""
    match = SECTION_END.search(text, start)
    return match.start() if match else len(text)
