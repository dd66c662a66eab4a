"""What a metric is: a function of predictions, the statistic that blocks of rows add up to, and its traits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any

import numpy as np

from gramian._core.types import Values, Weights
from gramian.metrics.statistics.base import Statistic

NEEDS = ("labels", "scores", "probabilities", "numbers")
PROPORTION = (0.0, 1.0)
NON_NEGATIVE = (0.0, np.inf)
REAL = (-np.inf, np.inf)
DEFINED: dict[str, "Metric"] = {}  # in the order of definition


@dataclass(frozen=True)
class Metric:
    """A metric and its traits.

    Attributes
    ----------
    name : str
    function : callable
        `function(y, prediction, *, sample_weight=None, interval=None, …)`.
    needs : "labels", "scores", "probabilities" or "numbers"
        What the predictions must be: predicted classes, scores (n,) or (n, k), probabilities, or numbers.
    greater_is_better : bool or None
        None for tables and curves, which have no order.
    build : callable
        From (y, prediction, sample_weight) of some rows to a `Statistic`.
    read : callable
        From a `Statistic` to the metric.
    range : (float, float)
        Smallest and largest possible value, infinite where there is none.
    is_row_mean : bool
        Whether it is a weighted mean over rows, and so defined for a single row.
    of_counts : callable or None
        For many sets of predicted classes at once, where the metric follows from three counts of each class: a function
        of (hits, actual, predicted, positive), the counts (m, k) or (k,), to (m,). `positive` is the place of the
        positive class, None for all classes.
    row_losses : callable or None
        Of a mean over rows: from classes (n,) or numbers (n, t), true and predicted, to what each row loses, (n,). Less
        is better, whatever the metric.

    Examples
    --------
    >>> import gramian as gm
    >>> mse = gm.metrics.metric("mse")
    >>> mse.needs, mse.greater_is_better, mse.range, mse([1.0, 2.0], [1.0, 4.0])
    ('numbers', False, (0.0, inf), 2.0)
    """

    name: str
    function: Callable[..., Any]
    needs: str
    greater_is_better: bool | None
    build: Callable[..., Statistic]
    read: Callable[..., Any]
    range: tuple[float, float] = REAL
    is_row_mean: bool = False
    of_counts: Callable[..., Any] | None = None
    row_losses: Callable[[Any, Any], Any] | None = None

    def __call__(self, y: Values, prediction: Values, **options: Any) -> Any:
        return self.function(y, prediction, **options)

    def __reduce__(self) -> Any:
        return getattr, (self.function, "metric")

    @property
    def options(self) -> tuple[str, ...]:
        """Options of this metric alone, such as `positive` and `average`."""
        return tuple(
            name
            for name in signature(self.function).parameters
            if name not in ("y", "prediction", "sample_weight", "interval")
        )


def define_metric(
    build: Callable[..., Statistic],
    *,
    needs: str,
    greater_is_better: bool | None,
    range: tuple[float, float] = REAL,
    is_row_mean: bool = False,
    of_counts: Callable[..., Any] | None = None,
    row_losses: Callable[[Any, Any], Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define a metric by how it is read from a statistic, and add it to `METRICS` under the name of that function.

    The decorated function takes a statistic and `interval=` (and options of its own), and becomes the metric: a
    function of (y, prediction) with `sample_weight=`, `interval=`, its own options and those of `build`.

    Parameters
    ----------
    build : callable
        From (y, prediction, sample_weight) to a `Statistic`, such as `gm.metrics.Confusion.of`.
    needs, greater_is_better, range, is_row_mean, of_counts, row_losses
        Traits, as of `Metric`.

    Examples
    --------
    >>> import gramian as gm
    >>> @gm.metrics.define_metric(gm.metrics.Confusion.of, needs="labels", greater_is_better=False, range=(0, 100))
    ... def percentage_wrong(table, *, interval=None):
    ...     accuracy = table.accuracy(interval=interval)
    ...     return 100 - 100 * accuracy if interval is None else tuple(100 - 100 * a for a in accuracy)
    >>> percentage_wrong([0, 1, 1, 0], [0, 1, 1, 1])
    25.0
    >>> build = gm.metrics.statistic(percentage_wrong)
    >>> (build([0, 1], [0, 1]) + build([1], [0])).value
    33.33333333333334
    >>> del DEFINED["percentage_wrong"]  # an example, not for `METRICS`
    """
    if needs not in NEEDS:
        raise ValueError(f"needs is {needs!r}; it must be one of {', '.join(map(repr, NEEDS))}.")
    parameters = signature(build).parameters
    of_build = [name for name, parameter in parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY]
    for_interval = "variances" in of_build  # sums that only an interval needs

    def decorate(read: Callable[..., Any]) -> Callable[..., Any]:
        def function(
            y: Values,
            prediction: Values,
            *,
            sample_weight: Weights = None,
            interval: float | None = None,
            **options: Any,
        ) -> Any:
            at_build = {name: options.pop(name) for name in of_build if name in options}
            if for_interval:
                at_build["variances"] = interval is not None
            return read(build(y, prediction, sample_weight, **at_build), interval=interval, **options)

        # With the globals of the module that defines the metric: doctest takes functions for members by these.
        made = FunctionType(function.__code__, read.__globals__, read.__name__, None, function.__closure__)
        made.__kwdefaults__ = function.__kwdefaults__
        update_wrapper(made, read)
        of_read = [name for name in list(signature(read).parameters)[1:] if name != "interval"]
        names = [*of_read, *(name for name in of_build if name != "variances"), "sample_weight", "interval"]
        known = {**parameters, **signature(read).parameters}
        defaults = {name: known[name].default if name in known else None for name in names}
        made.__dict__["__signature__"] = Signature(
            [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("y", "prediction")]
            + [Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in defaults.items()]
        )
        made.__annotations__ = {}
        traits = (range, is_row_mean, of_counts, row_losses)
        made.__dict__["metric"] = Metric(made.__name__, made, needs, greater_is_better, build, read, *traits)
        DEFINED[made.__name__] = made.__dict__["metric"]
        return made

    return decorate
