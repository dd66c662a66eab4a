"""The metrics that trials are judged by, and what they say over folds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from gramian._core.types import Array, Estimator, Floats
from gramian.metrics.definition import Metric
from gramian.metrics.registry import metric
from gramian.selection.evaluation.sample import Sample

ALIASES = {"error_rate": "zero_one"}
Metrics: TypeAlias = str | Metric | Callable[..., Any] | Sequence[object] | Mapping[str, object] | None


@dataclass(frozen=True, eq=False)
class Scorer:
    """A metric of predictions.

    Attributes
    ----------
    name : str
    needs : "labels", "scores", "probabilities" or "numbers"
        What predictions it is of.
    greater_is_better : bool
    function : callable
        (y, prediction, sample_weight=, …) to a number.
    range : (float, float)
        Smallest and largest possible value.
    is_row_mean : bool
        Whether it is a mean over rows, and so defined for a single row; taken to be so of a function.
    """

    name: str
    needs: str
    greater_is_better: bool
    function: Callable[..., Any]
    range: tuple[float, float] = (-np.inf, np.inf)
    is_row_mean: bool = True

    def __call__(self, y: Array, prediction: Array, weight: Floats | None, classes: Array | None) -> float:
        if len(y) == 1 and not self.is_row_mean:
            raise ValueError(f"{self.name} is not defined for one row: it is not a mean over rows.")
        return float(self.function(y, prediction, **self._options(prediction, weight, classes)))

    def interval(
        self, y: Array, prediction: Array, weight: Floats | None, classes: Array | None, level: float
    ) -> tuple[float, float, float]:
        """(value, low, high) by the metric's own interval; NaN for the ends where it has none."""
        if "interval" not in signature(self.function).parameters:
            return self(y, prediction, weight, classes), np.nan, np.nan
        value, low, high = self.function(y, prediction, interval=level, **self._options(prediction, weight, classes))
        return float(value), float(low), float(high)

    def _options(self, prediction: Array, weight: Floats | None, classes: Array | None) -> dict[str, object]:
        accepted = signature(self.function).parameters
        options: dict[str, object] = {}
        if weight is not None:
            if "sample_weight" not in accepted:
                raise ValueError(f"The metric {self.name} takes no sample_weight, so weights cannot count in it.")
            options["sample_weight"] = weight
        # Parts of the rows may miss a class: which there are is said, except where only those seen should be averaged.
        if classes is not None and "labels" in accepted and (self.needs != "labels" or len(classes) == 2):
            options["labels"] = classes
        return options


def scorers(metrics: Metrics, model: Estimator, sample: Sample) -> list[Scorer]:
    """Metrics from names, functions, a list or dict of these, or None for those of the task."""
    if metrics is None:
        return [scorer(name, sample) for name in _usual(model, sample)]
    if isinstance(metrics, Mapping):
        return [scorer(value, sample, name) for name, value in metrics.items()]
    if isinstance(metrics, str | Metric) or callable(metrics):
        metrics = [metrics]
    chosen = [scorer(value, sample) for value in metrics]
    names = [part.name for part in chosen]
    if not chosen or len(set(names)) < len(names):
        raise ValueError(f"metrics is {metrics!r}; it must name at least one metric, and none twice.")
    return chosen


def scorer(named: object, sample: Sample, name: str | None = None) -> Scorer:
    """One metric, from its name, from `gm.metrics`, or from a function f(y, prediction), of which less is better."""
    if isinstance(named, str | Metric) or hasattr(named, "metric"):
        if isinstance(named, str) and named in ALIASES:
            named, name = ALIASES[named], name or named
        measure = metric(named)
        if measure.greater_is_better is None:
            raise ValueError(f"{measure.name} is not one number: ask for a metric such as 'accuracy' or 'mse'.")
        traits = (measure.needs, measure.greater_is_better, measure.function, measure.range, measure.is_row_mean)
        made = Scorer(name or measure.name, *traits)
    elif callable(named):
        needs = "numbers" if sample.classes is None else "labels"
        return Scorer(name or str(getattr(named, "__name__", type(named).__name__)), needs, False, named)
    else:
        raise TypeError(f"A metric is {named!r}; it must be a name such as 'accuracy' or 'mse', or a function.")
    numbers = made.needs == "numbers"
    if numbers != (sample.classes is None):
        task = "a classifier gives classes" if numbers else "a regressor gives numbers"
        raise ValueError(f"The metric {made.name} is of {made.needs}, and {task}.")
    return made


def _usual(model: Estimator, sample: Sample) -> list[str]:
    if sample.classes is None:
        return ["mse", "mae", "r2"]
    names = ["accuracy"]
    probable = hasattr(model, "predict_proba")
    if probable:
        names.append("log_loss")
    if len(sample.classes) == 2 and (probable or hasattr(model, "decision_function")):
        names.append("roc_auc")
    return names


def check_level(interval: float | None) -> float:
    """A coverage between 0 and 1."""
    if isinstance(interval, bool) or not isinstance(interval, float | np.floating) or not 0.0 < interval < 1.0:
        raise ValueError(f"interval is {interval!r}; it must be a confidence level between 0 and 1, such as 0.95.")
    return float(interval)


@dataclass(frozen=True)
class FoldMean:
    """A mean over folds with its standard error and interval, corrected for training parts that share rows."""

    mean: float
    se: float
    low: float
    high: float
    p: float


def fold_mean(folds: Floats, ratio: float, level: float, amounts: Floats | None = None) -> FoldMean:
    """Mean of K folds, se² = (1/K + ratio) s² with ratio = test rows / training rows, Student's t with K − 1.

    Folds of cross-validation are not independent, and the plain s²/K is too small; this is the correction of Nadeau and
    Bengio. `p` is that of a mean of 0. `amounts` are weights of the folds.

    >>> fold_mean(np.array([1.0, 2.0, 3.0]), 0.5, 0.95).se ** 2  # (1/3 + 1/2) · 1
    0.8333...
    """
    K = len(folds)
    mean = float(np.average(folds, weights=amounts))
    if K < 2:
        return FoldMean(mean, np.nan, np.nan, np.nan, np.nan)
    variance = float(np.average((folds - mean) ** 2, weights=amounts)) * K / (K - 1)
    se = float(np.sqrt((1.0 / K + ratio) * variance))
    half = float(stdtrit(K - 1, 0.5 + 0.5 * level)) * se
    p = (1.0 if mean == 0 else 0.0) if se == 0 else float(2.0 * stdtr(K - 1, -abs(mean) / se))
    return FoldMean(mean, se, mean - half, mean + half, p)
