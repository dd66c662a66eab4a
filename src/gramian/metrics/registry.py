"""Metrics by name, and what measures one of them block by block."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import Any

from gramian._core.types import Values, Weights
from gramian.metrics import classification, curves, probabilities, ranking, regression  # noqa: F401  (define metrics)
from gramian.metrics.definition import DEFINED, Metric
from gramian.metrics.statistics.base import Statistic

METRICS = MappingProxyType(DEFINED)


@dataclass(frozen=True, eq=False)
class Measurement(Statistic):
    """A metric of some rows, as far as they have been seen: `.value`, `.interval(level)`, and `+` for more rows.

    Made by what `gm.metrics.statistic(name)` returns.

    Attributes
    ----------
    metric : Metric
    statistic : Statistic
        What was added up.
    options : dict
        Options of the metric that are used when it is read.

    Examples
    --------
    >>> import gramian as gm
    >>> build = gm.metrics.statistic("mse")
    >>> both = build([1.0, 2.0], [1.0, 4.0]) + build([5.0], [4.0])
    >>> both.value
    1.6666666666666667
    """

    metric: Metric
    statistic: Statistic
    options: dict[str, Any]

    @property
    def value(self) -> Any:
        """The metric of all rows added so far."""
        return self.metric.read(self.statistic, **self.options)

    def interval(self, level: float = 0.95) -> Any:
        """The metric with its confidence interval."""
        return self.metric.read(self.statistic, **self.options, interval=level)

    @property
    def _mass(self) -> float:
        return self.statistic._mass

    def _merged(self, other: "Measurement") -> "Measurement":
        if (self.metric, self.options) != (other.metric, other.options):
            raise ValueError(
                f"{self.metric.name} with {self.options} and {other.metric.name} with {other.options} are two "
                "measurements: only parts of the same one can be added."
            )
        return Measurement(self.metric, self.statistic + other.statistic, self.options)


def metric(name: object) -> Metric:
    """The metric of this name, from `METRICS`; a `Metric`, or a function of `gm.metrics`, is its own.

    >>> import gramian as gm
    >>> gm.metrics.metric("f1").greater_is_better
    True
    """
    name = getattr(name, "metric", name)
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str) or name not in METRICS:
        similar = difflib.get_close_matches(str(name), METRICS, n=1)
        hint = f"did you mean {similar[0]!r}? " if similar else ""
        raise ValueError(f"There is no metric {name!r}; {hint}The metrics are {', '.join(METRICS)}.")
    return METRICS[name]


def statistic(name: object, **options: Any) -> Callable[..., Measurement]:
    """What measures a metric block by block: a function of (y, prediction, sample_weight) to a `Measurement`.

    Parameters
    ----------
    name : str, Metric or function of gm.metrics
        One of `METRICS`.
    **options
        Those of the metric, such as `positive` and `average`. Where a block may lack a class, say with `labels` (or
        `positive`) what the classes are: parts that would disagree refuse to be added.

    Examples
    --------
    >>> import gramian as gm
    >>> build = gm.metrics.statistic("recall", positive="spam")
    >>> blocks = [(["spam", "ham"], ["spam", "spam"]), (["spam"], ["ham"])]
    >>> total = sum(build(y, prediction) for y, prediction in blocks)
    >>> total.value
    0.5
    >>> [round(x, 3) for x in total.interval(0.9)]
    [0.5, 0.121, 0.879]
    """
    measured = metric(name)
    for option in options:
        if option not in measured.options:
            raise TypeError(
                f"{measured.name} has no option {option!r}; its options are: {', '.join(measured.options) or 'none'}."
            )
    of_build = signature(measured.build).parameters
    at_build = {option: value for option, value in options.items() if option in of_build}
    at_read = {option: value for option, value in options.items() if option not in of_build}

    def measure(y: Values, prediction: Values, sample_weight: Weights = None) -> Measurement:
        return Measurement(measured, measured.build(y, prediction, sample_weight, **at_build), at_read)

    return measure
