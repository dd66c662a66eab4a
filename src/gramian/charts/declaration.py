"""The declaration of a chart module, and the conditions with which it states to which models it applies."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from sklearn.base import is_classifier, is_regressor

from gramian._core.fitted.charted import Charted, Drawn
from gramian._core.types import Estimator
from gramian.objective.losses.base import Loss

Of = Literal["fit", "rows", "predictions", "result"]
Target = Literal["none", "optional", "required"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ChartKind:
    """One kind of chart; a module that has it as `CHART`, and a function `draw` beside it, is found by the registry.

    Attributes
    ----------
    name : str
        What users call it.
    of : "fit", "rows", "predictions" or "result"
        What `draw` takes. Of the fit alone or of a result: `draw(model, theme)`, where a classifier without
        coefficients of its own is replaced by the one inside it. Of rows: `draw(model, theme, X, y, sample_weight)`,
        where X is None if the chart applies without data. Of predictions: `draw(predictions, theme)`.
    order : int
        Its place in `kinds`; without data the first one is the default.
    applies : callable (model, data) -> bool
        Whether a fitted model or a result has it, given data or not.
    order_with_data : int or callable (model) -> int or None, optional
        Its place among the defaults for X and y; None if it is drawn on request only.
    target : "none", "optional" or "required"
        Whether a chart of rows takes y.
    rows_of_fit : bool
        Whether y and weights may be of the rows of the fit, where X is left out.
    below : str, optional
        The chart under which it stands where that is the default without data; it is listed after it.
    """

    name: str
    of: Of
    order: int
    applies: Callable[[Estimator, bool], bool]
    order_with_data: int | Callable[[Estimator], int | None] | None = None
    target: Target = "optional"
    rows_of_fit: bool = False
    below: str | None = None

    def place_with_data(self, model: Estimator) -> int | None:
        """Its place among the defaults for the data of this model."""
        place = self.order_with_data
        return place(model) if callable(place) else place


class ChartModule(Protocol):
    """A module, or anything else, that declares a chart and draws it."""

    CHART: ChartKind

    @property
    def draw(self) -> Callable[..., Any]: ...


CHART_MODULES: dict[str, ChartModule] = {}  # by the name of the chart, filled by the registry


def offers(model: Estimator) -> tuple[str, ...]:
    """Charts that a result or a single structure declares as its own; none of an estimator."""
    return model.own_charts if isinstance(model, Drawn) else ()


def has(model: Estimator, *names: str) -> bool:
    """Whether a fitted model has all of these attributes or methods of the public protocol."""
    return all(hasattr(model, name) for name in names)


def classifies(model: Estimator) -> bool:
    """Whether it is a fitted classifier."""
    return has(model, "predict", "classes_") and bool(is_classifier(model))


def regresses(model: Estimator) -> bool:
    """Whether it is a regressor."""
    return has(model, "predict") and bool(is_regressor(model))


def is_unsupervised(model: Estimator) -> bool:
    """Whether it is an estimator without a target: of clusters, embeddings or spectra."""
    return not (offers(model) or classifies(model) or regresses(model))


def uses_kernel(model: Estimator) -> bool:
    """Whether it was fitted with a kernel, so that its coefficients are of features without names."""
    return has(model, "kernel_") and model.kernel_ is not None


def loss_of(model: Estimator) -> Loss | None:
    """The loss of a fitted model of ours; None of others."""
    loss = model.fitted_loss if isinstance(model, Charted) else None
    return loss if isinstance(loss, Loss) else None


def inner(model: Estimator) -> Any:
    """The model inside a classifier that has neither coefficients nor scores of its own; else the model itself."""
    own = any(has(model, name) for name in ("coef_", "path_", "scores_"))
    return wrapped(model) if not own and classifies(model) else model


def wrapped(model: Estimator) -> Any:
    """The fitted model inside another, where there is one; else the model itself."""
    return model.estimator_ if has(model, "estimator_") else model


def declared(name: str) -> Callable[[Estimator, bool], bool]:
    """Applies to results that declare this chart as their own."""
    return lambda model, data: name in offers(model)


def fitted_with(*names: str) -> Callable[[Estimator, bool], bool]:
    """Applies to models with all of these fitted attributes."""
    return lambda model, data: has(model, *names)
