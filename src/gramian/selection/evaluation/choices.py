"""What a fitted model chose by itself, and where its inner cross-validation is set."""

from collections.abc import Iterator
from numbers import Number
from typing import Any

import numpy as np

from gramian._core.types import CV, Estimator

# Attributes that hold a choice though no parameter has their name.
CHOSEN = (
    "C_",
    "alpha_",
    "best_iteration_",
    "best_params_",
    "best_threshold_",
    "l1_ratio_",
    "n_clusters_",
    "n_features_",
    "order_",
    "threshold_",
)
NO_CHOICE = ("class_weight_", "max_features_", "n_features_in_", "solver_")  # follow from the data, or are a way


def set_inner(model: Estimator, inner: CV | None) -> dict[str, object]:
    """Set every parameter `cv` of a model and its parts; what they were.

    >>> from sklearn.linear_model import LassoCV
    >>> from sklearn.pipeline import make_pipeline
    >>> set_inner(make_pipeline(LassoCV(cv=7)), 3)
    {'lassocv__cv': 7}
    """
    before = {
        path: value
        for path, value in model.get_params().items()
        if (path == "cv" or path.endswith("__cv")) and not (isinstance(value, str) and value == "prefit")
    }
    model.set_params(**dict.fromkeys(before, inner))
    return before


def choices_of(model: Estimator, path: str = "") -> dict[str, object]:
    """Every choice that a fitted model and its parts made: `alpha_`, `best_params_`, `support_`, `n_neighbors_`, …

    An attribute `name_` is a choice if there is a parameter `name` with another value, or if it is one of the usual
    ones. Those of a part are under its path, as parameters are: `ridge__alpha_`.

    >>> import gramian as gm
    >>> model = gm.Ridge(alphas=[1.0, 0.1]).fit([[1.0], [2.0], [4.0], [5.0]], [1.0, 2.0, 4.0, 5.0])
    >>> choices_of(model)
    {'alpha_': 0.1}
    """
    choices: dict[str, object] = {}
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_") or name in NO_CHOICE or hasattr(value, "fit"):
            continue
        parameter = parameters.get(name[:-1])
        if name in CHOSEN:
            # With alpha a number, an array alpha_ is something else: coefficients of a kernel model.
            chosen = not (_same(parameter, value) or (isinstance(parameter, Number) and np.ndim(value)))
        else:
            simple = isinstance(value, Number | str | np.generic) or hasattr(value, "get_params")
            chosen = name[:-1] in parameters and simple and not _same(parameter, value)
        if chosen:
            choices[path + name] = value
    if hasattr(model, "get_support"):
        choices[path + "support_"] = np.asarray(model.get_support())
    for name, part in _parts(model):
        choices.update(choices_of(part, f"{path}{name}__"))
    return choices


def _parts(model: Estimator) -> Iterator[tuple[str, Estimator]]:
    """Fitted estimators inside a fitted one."""
    named: list[tuple[Any, ...]] = [*getattr(model, "steps", []), *getattr(model, "transformers_", [])]
    named += [*getattr(model, "transformer_list", []), *dict(getattr(model, "named_estimators_", {})).items()]
    for name, part, *_ in named:
        if hasattr(part, "fit"):
            yield name, part
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and hasattr(value, "fit") and not isinstance(value, type):
            yield "estimator" if name == "best_estimator_" else name[:-1], value


def _same(parameter: Any, value: Any) -> bool:
    try:
        return bool(np.all(parameter == value))
    except (TypeError, ValueError):
        return False


def text_of(value: object) -> str:
    """A choice in few letters."""
    if isinstance(value, np.ndarray) and value.dtype == bool and value.ndim == 1:
        value = np.flatnonzero(value)
        if len(value) > 8:
            return f"{len(value)} chosen"
    if isinstance(value, np.ndarray) and value.ndim:
        text = ", ".join(text_of(part) for part in value.reshape(-1)[:8])
        return f"[{text}{', …' if value.size > 8 else ''}]"
    if isinstance(value, dict):
        return ", ".join(f"{name}={text_of(part)}" for name, part in value.items())
    if isinstance(value, float | np.floating) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        return f"{float(value):.4g}"
    return str(value)
