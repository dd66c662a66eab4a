"""Metrics of predicted classes: `accuracy`, `precision`, `recall`, `f1`, `fpr`, … and the table behind them."""

from typing import Any

import numpy as np

from gramian._core.types import Label, Values, Weights
from gramian.metrics.definition import PROPORTION, define_metric
from gramian.metrics.statistics.counts import (
    Confusion,
    accuracy_of_counts,
    balanced_accuracy_of_counts,
    matthews_of_counts,
    share_of_counts,
    zero_one_of_counts,
)
from gramian.metrics.statistics.intervals import Measured


def is_wrong(truth: Any, predicted: Any) -> Any:
    """1 where the predicted class is not the true one, else 0."""
    return (truth != predicted).astype(np.float64)


def unlabelled(y: Values, prediction: Values, sample_weight: Weights = None) -> Confusion:
    """The statistic of metrics for which it makes no difference which classes there might be."""
    return Confusion.of(y, prediction, sample_weight)


@define_metric(
    unlabelled,
    needs="labels",
    greater_is_better=True,
    range=PROPORTION,
    is_row_mean=True,
    of_counts=accuracy_of_counts,
    row_losses=is_wrong,
)
def accuracy(table: Confusion, *, interval: float | None = None) -> Measured:
    """Share of the rows whose class is predicted correctly: Σw [y = prediction] / Σw.

    Parameters
    ----------
    y, prediction : array, series or list (n,)
        True and predicted classes: text, whole numbers or booleans.
    sample_weight : array (n,), optional
        Weights are counts: weight 2 is the row given twice.
    interval : float, optional
        Confidence level: with 0.95, (value, low, high) by Wilson's score interval with n = Σw.

    Returns
    -------
    float, or `Interval` (value, low, high)

    Notes
    -----
    O(n log k) for k classes, as every metric of predicted classes. The statistic behind it is `Confusion`.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.accuracy(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.75
    """
    return table.accuracy(interval=interval)


@define_metric(
    Confusion.of, needs="labels", greater_is_better=True, range=PROPORTION, of_counts=share_of_counts("precision")
)
def precision(
    table: Confusion, *, positive: Label | None = None, average: str | None = "auto", interval: float | None = None
) -> Any:
    """Share of the rows predicted as a class that are of it: TP / (TP + FP).

    Parameters
    ----------
    y, prediction : array, series or list (n,)
        True and predicted classes.
    positive : label, optional
        The class that is meant. With two classes the larger one if not given (the last of `labels`, if those are);
        where only 0 or −1 occurs, 1. With more classes it is measured against all others.
    average : "auto", None, "macro", "micro" or "weighted"
        "auto": the positive class of two, the macro average of more. None: an array with one number per class.
        "macro": mean over the classes of y and the predictions; "weighted": the same weighted by the rows of each
        class; "micro": all classes' counts added up first.
    labels : list, optional
        The classes, if not those that occur.
    sample_weight : array (n,), optional
        Weights are counts.
    interval : float, optional
        Confidence level. One class: Wilson's interval, n the weight in the denominator. Averages: the delta method
        over the cells of the table, on the logit scale.

    Returns
    -------
    float, array (average=None), or `Interval` of them

    Notes
    -----
    A denominator of zero (no row predicted as the class) is 0.0, as scikit-learn's `zero_division=0`, and the
    interval then is all of [0, 1].

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.precision([0, 1, 1, 0], [0, 1, 1, 1])
    0.6666666666666666
    >>> gm.metrics.precision(["a", "b", "c"], ["a", "b", "b"], average=None)
    array([1. , 0.5, 0. ])
    """
    return table.precision(positive=positive, average=average, interval=interval)


@define_metric(
    Confusion.of, needs="labels", greater_is_better=True, range=PROPORTION, of_counts=share_of_counts("recall")
)
def recall(
    table: Confusion, *, positive: Label | None = None, average: str | None = "auto", interval: float | None = None
) -> Any:
    """Share of the rows of a class that are predicted as it: TP / (TP + FN).

    Parameters, results and the rule for zero denominators are those of `precision`.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.recall([0, 1, 1, 0], [0, 1, 0, 1])
    0.5
    >>> gm.metrics.recall([0, 1, 1, 0], [0, 1, 0, 0], positive=0)
    1.0
    """
    return table.recall(positive=positive, average=average, interval=interval)


@define_metric(Confusion.of, needs="labels", greater_is_better=True, range=PROPORTION, of_counts=share_of_counts("f1"))
def f1(
    table: Confusion, *, positive: Label | None = None, average: str | None = "auto", interval: float | None = None
) -> Any:
    """Harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN).

    Parameters, results and the rule for zero denominators are those of `precision`. The interval of one class is
    Wilson's interval of the share J = TP / (TP + FP + FN), carried over by F1 = 2J / (1 + J).

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.f1([0, 1, 1, 0], [0, 1, 0, 1])
    0.5
    >>> [round(x, 3) for x in gm.metrics.f1([0, 1, 1, 0], [0, 1, 0, 1], interval=0.9)]
    [0.5, 0.145, 0.855]
    """
    return table.f1(positive=positive, average=average, interval=interval)


@define_metric(
    Confusion.of, needs="labels", greater_is_better=False, range=PROPORTION, of_counts=share_of_counts("fpr")
)
def fpr(
    table: Confusion, *, positive: Label | None = None, average: str | None = "auto", interval: float | None = None
) -> Any:
    """False positive rate, the share of the rows of other classes that are predicted as a class: FP / (FP + TN).

    Parameters, results and the rule for zero denominators are those of `precision`. Lower is better.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.fpr([0, 1, 1, 0], [0, 1, 0, 1])
    0.5
    """
    return table.fpr(positive=positive, average=average, interval=interval)


@define_metric(Confusion.of, needs="labels", greater_is_better=None)
def confusion(table: Confusion, *, interval: float | None = None) -> Any:
    """Table of the true classes (rows) against the predicted ones (columns).

    Parameters
    ----------
    y, prediction : array, series or list (n,)
        True and predicted classes.
    labels : list, optional
        The classes in the order wanted; those of y and the predictions in order if not given. A label of y or the
        predictions that is not among them is refused.
    sample_weight : array (n,), optional
        Weights are counts.
    interval : float, optional
        Confidence level: `low` and `high` are Wilson's bounds of each cell's share of its row, times the row's total.

    Returns
    -------
    array (k, k), whole numbers without weights; or `Interval` of three tables

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.confusion(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    array([[2, 0],
           [1, 1]])
    """
    return table.confusion(interval=interval)


@define_metric(
    unlabelled, needs="labels", greater_is_better=True, range=PROPORTION, of_counts=balanced_accuracy_of_counts
)
def balanced_accuracy(table: Confusion, *, interval: float | None = None) -> Measured:
    """Mean over the classes of y of the share of their rows that are predicted correctly: the mean recall.

    Parameters and results are those of `accuracy`. The interval is by the delta method over the cells of the table, on
    the logit scale.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.balanced_accuracy([0, 0, 0, 1], [0, 0, 0, 0])
    0.5
    """
    return table.balanced_accuracy(interval=interval)


@define_metric(
    unlabelled,
    needs="labels",
    greater_is_better=False,
    range=PROPORTION,
    is_row_mean=True,
    of_counts=zero_one_of_counts,
    row_losses=is_wrong,
)
def zero_one(table: Confusion, *, interval: float | None = None) -> Measured:
    """Share of the rows whose class is predicted incorrectly, the mean 0–1 loss: Σw [y ≠ prediction] / Σw.

    Parameters and results are those of `accuracy`; the interval is Wilson's. `gm.selection.evaluate` knows it as
    "error_rate" too.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.zero_one(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.25
    """
    return table.zero_one(interval=interval)


@define_metric(unlabelled, needs="labels", greater_is_better=True, range=(-1.0, 1.0), of_counts=matthews_of_counts)
def matthews(table: Confusion, *, interval: float | None = None) -> Measured:
    """Matthews correlation coefficient: the correlation of true and predicted classes, 0 for predictions by chance.

    (c s − Σₖ pₖ tₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²)), with c the weight predicted correctly, s that of all rows, and tₖ
    and pₖ the weights of the rows of class k and predicted as k (Gorodkin 2004). For two classes
    (TP·TN − FP·FN) / √((TP + FP)(TP + FN)(TN + FP)(TN + FN)). It is 0 where all rows, or all predictions, are of one
    class.

    Parameters and results are those of `accuracy`. The interval is by the delta method over the cells of the table, on
    Fisher's z scale.

    Examples
    --------
    >>> import gramian as gm
    >>> round(gm.metrics.matthews([0, 1, 1, 1], [0, 1, 1, 0]), 4)
    0.5774
    """
    return table.matthews(interval=interval)
