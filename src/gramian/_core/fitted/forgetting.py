"""What an earlier fit has left on an estimator, removed at the start of the next."""

from inspect import get_annotations
from typing import Any


def forget_fit(model: Any) -> None:
    """Remove fitted attributes: those whose names end in "_", and the private ones that its classes annotate."""
    private, parameters = private_attributes(type(model)), model._get_param_names()
    for name in list(vars(model)):
        if (name in private or (name[-1] == "_" and name[0] != "_")) and name not in parameters:
            delattr(model, name)


def private_attributes(kind: type[Any]) -> set[str]:
    """The private attributes that a fit of an estimator may set: the annotated ones of its classes here."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("gramian.")]
    return {name for base in ours for name in get_annotations(base) if name[0] == "_" and name != "_"}
