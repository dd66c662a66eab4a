"""Metrics by name: what each needs, whether more of it is better, and its statistic for blocks of rows."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from types import MappingProxyType
from typing import Any

from gramian.metrics.curves import calibration, pr_curve, ranked_probabilities, roc_curve
from gramian.metrics.decisions import accuracy, confusion, f1, fpr, precision, recall
from gramian.metrics.numbers import absolute_errors, mae, mse, r2, squared_errors
from gramian.metrics.order import average_precision, ranked, roc_auc
from gramian.metrics.probabilities import brier, brier_losses, log_loss, log_losses
from gramian.metrics.statistics.base import Statistic
from gramian.metrics.statistics.counts import Confusion
from gramian.metrics.statistics.explained import Explained
from gramian.metrics.statistics.means import MeanLoss
from gramian.metrics.statistics.one_vs_rest import OneVsRest
from gramian.metrics.statistics.ranks import Ranking
from gramian.metrics.statistics.reliability import calibrated


@dataclass(frozen=True)
class Metric:
    """A metric and what is known of it.

    Attributes
    ----------
    name : str
    function : callable
        `function(y, prediction, *, sample_weight=None, interval=None, …)`.
    needs : "labels", "scores", "probabilities" or "numbers"
        What the predictions must be: decided classes, scores (n,) or (n, k), probabilities, or numbers.
    greater_is_better : bool or None
        None for tables and curves, which have no order.
    build : callable
        From (y, prediction, sample_weight) of some rows to a `Statistic`.
    read : callable
        From a `Statistic` to the metric.

    Examples
    --------
    >>> import gramian as gm
    >>> found = gm.metrics.metric("mse")
    >>> found.needs, found.greater_is_better, found([1.0, 2.0], [1.0, 4.0])
    ('numbers', False, 2.0)
    """

    name: str
    function: Callable[..., Any]
    needs: str
    greater_is_better: bool | None
    build: Callable[..., Statistic]
    read: Callable[..., Any]

    def __call__(self, y: Any, prediction: Any, **options: Any) -> Any:
        return self.function(y, prediction, **options)

    @property
    def options(self) -> tuple[str, ...]:
        """Options of this metric alone, such as `positive` and `average`."""
        return tuple(
            name
            for name in signature(self.function).parameters
            if name not in ("y", "prediction", "sample_weight", "interval")
        )


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

    def interval(self, level: Any = 0.95) -> Any:
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


def metric(name: Any) -> Metric:
    """The metric of this name, from `METRICS`.

    >>> import gramian as gm
    >>> gm.metrics.metric("f1").greater_is_better
    True
    """
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str) or name not in METRICS:
        near = difflib.get_close_matches(str(name), METRICS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"There is no metric {name!r}; {hint}The metrics are {', '.join(METRICS)}.")
    return METRICS[name]


def statistic(name: Any, **options: Any) -> Callable[..., Measurement]:
    """What measures a metric block by block: a function of (y, prediction, sample_weight) to a `Measurement`.

    Parameters
    ----------
    name : str or Metric
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
    found = metric(name)
    for option in options:
        if option not in found.options:
            raise TypeError(
                f"{found.name} has no option {option!r}; its options are: {', '.join(found.options) or 'none'}."
            )
    known = signature(found.build).parameters
    at_first = {option: value for option, value in options.items() if option in known}
    later = {option: value for option, value in options.items() if option not in known}

    def measure(y: Any, prediction: Any, sample_weight: Any = None) -> Measurement:
        return Measurement(found, found.build(y, prediction, sample_weight, **at_first), later)

    return measure


def _area(statistic: Ranking | OneVsRest, *, interval: Any = None) -> Any:
    return statistic.roc_auc(interval=interval)


def _mean_precision(statistic: Ranking | OneVsRest, *, interval: Any = None) -> Any:
    return statistic.average_precision(interval=interval)


METRICS = MappingProxyType(
    {
        found.name: found
        for found in (
            Metric("accuracy", accuracy, "labels", True, Confusion.of, Confusion.accuracy),
            Metric("precision", precision, "labels", True, Confusion.of, Confusion.precision),
            Metric("recall", recall, "labels", True, Confusion.of, Confusion.recall),
            Metric("f1", f1, "labels", True, Confusion.of, Confusion.f1),
            Metric("fpr", fpr, "labels", False, Confusion.of, Confusion.fpr),
            Metric("confusion", confusion, "labels", None, Confusion.of, Confusion.confusion),
            Metric("roc_curve", roc_curve, "scores", None, Ranking.of, Ranking.roc_curve),
            Metric("pr_curve", pr_curve, "scores", None, Ranking.of, Ranking.pr_curve),
            Metric("roc_auc", roc_auc, "scores", True, ranked, _area),
            Metric("average_precision", average_precision, "scores", True, ranked, _mean_precision),
            Metric("log_loss", log_loss, "probabilities", False, log_losses, MeanLoss.mean),
            Metric("brier", brier, "probabilities", False, brier_losses, MeanLoss.mean),
            Metric("calibration", calibration, "probabilities", None, ranked_probabilities, calibrated),
            Metric("mse", mse, "numbers", False, squared_errors, MeanLoss.mean),
            Metric("mae", mae, "numbers", False, absolute_errors, MeanLoss.mean),
            Metric("r2", r2, "numbers", True, Explained.of, Explained.r2),
        )
    }
)
