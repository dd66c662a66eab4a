"""Altair, imported when its first attribute is read: charts are listed and checked without it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["alt"]

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair:
        """Stands for the module `altair`."""

        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module("altair"), name)
            setattr(self, name, value)
            return value

    alt = _Altair()
