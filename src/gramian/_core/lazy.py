"""Names that are imported when first used, so that importing a package costs nothing that is not needed."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def attach(
    package: str, homes: dict[str, list[str]], modules: dict[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose names live in the modules `homes`.

    `modules` are public names that are modules themselves.
    """
    home = {name: module for module, names in homes.items() for name in names}
    modules = modules or {}
    public = sorted([*home, *modules])

    def __getattr__(name: str) -> Any:
        if name in home:
            import_module("gramian._core.sklearn_bases")  # quickly, before the room imports scikit-learn
            value = getattr(import_module(home[name]), name)
        elif name in modules:
            value = import_module(modules[name])
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, lambda: public, public
