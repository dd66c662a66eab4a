"""Metrics of decided classes: `accuracy`, `precision`, `recall`, `f1`, `fpr` and the table behind them."""

from typing import Any

from gramian.metrics.statistics.counts import Confusion
from gramian.metrics.statistics.intervals import Measured


def accuracy(y: Any, prediction: Any, *, sample_weight: Any = None, interval: Any = None) -> Measured:
    """Share of the rows whose class was decided rightly: Σw [y = prediction] / Σw.

    Parameters
    ----------
    y, prediction : array, series or list (n,)
        True and decided classes: text, whole numbers or booleans.
    sample_weight : array (n,), optional
        Weights are counts: weight 2 is the row given twice.
    interval : float, optional
        Confidence level: with 0.95, (value, low, high) by Wilson's score interval with n = Σw.

    Returns
    -------
    float, or `Interval` (value, low, high)

    Notes
    -----
    O(n log k) for k classes, as every metric of decided classes. The statistic behind it is `Confusion`.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.accuracy(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.75
    """
    return Confusion.of(y, prediction, sample_weight).accuracy(interval=interval)


def confusion(y: Any, prediction: Any, *, labels: Any = None, sample_weight: Any = None, interval: Any = None) -> Any:
    """Table of the true classes (rows) against the decided ones (columns).

    Parameters
    ----------
    y, prediction : array, series or list (n,)
        True and decided classes.
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
    return Confusion.of(y, prediction, sample_weight, labels=labels).confusion(interval=interval)


def precision(
    y: Any,
    prediction: Any,
    *,
    positive: Any = None,
    average: Any = "auto",
    labels: Any = None,
    sample_weight: Any = None,
    interval: Any = None,
) -> Any:
    """Share of the rows decided for a class that are of it: TP / (TP + FP).

    Parameters
    ----------
    y, prediction : array, series or list (n,)
        True and decided classes.
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
        Confidence level. One class: Wilson's interval, n the weight below the fraction. Averages: the delta method
        over the cells of the table, on the logit scale.

    Returns
    -------
    float, array (average=None), or `Interval` of them

    Notes
    -----
    Nothing below the fraction (no row decided for the class) is 0.0, as scikit-learn's `zero_division=0`, and the
    interval then is all of [0, 1].

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.precision([0, 1, 1, 0], [0, 1, 1, 1])
    0.6666666666666666
    >>> gm.metrics.precision(["a", "b", "c"], ["a", "b", "b"], average=None)
    array([1. , 0.5, 0. ])
    """
    table = Confusion.of(y, prediction, sample_weight, labels=labels)
    return table.precision(positive=positive, average=average, interval=interval)


def recall(
    y: Any,
    prediction: Any,
    *,
    positive: Any = None,
    average: Any = "auto",
    labels: Any = None,
    sample_weight: Any = None,
    interval: Any = None,
) -> Any:
    """Share of the rows of a class that are decided for it: TP / (TP + FN).

    Parameters, results and the rule for empty fractions are those of `precision`.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.recall([0, 1, 1, 0], [0, 1, 0, 1])
    0.5
    >>> gm.metrics.recall([0, 1, 1, 0], [0, 1, 0, 0], positive=0)
    1.0
    """
    table = Confusion.of(y, prediction, sample_weight, labels=labels)
    return table.recall(positive=positive, average=average, interval=interval)


def f1(
    y: Any,
    prediction: Any,
    *,
    positive: Any = None,
    average: Any = "auto",
    labels: Any = None,
    sample_weight: Any = None,
    interval: Any = None,
) -> Any:
    """Harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN).

    Parameters, results and the rule for empty fractions are those of `precision`. The interval of one class is
    Wilson's interval of the share J = TP / (TP + FP + FN), carried over by F1 = 2J / (1 + J).

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.f1([0, 1, 1, 0], [0, 1, 0, 1])
    0.5
    >>> [round(x, 3) for x in gm.metrics.f1([0, 1, 1, 0], [0, 1, 0, 1], interval=0.9)]
    [0.5, 0.145, 0.855]
    """
    table = Confusion.of(y, prediction, sample_weight, labels=labels)
    return table.f1(positive=positive, average=average, interval=interval)


def fpr(
    y: Any,
    prediction: Any,
    *,
    positive: Any = None,
    average: Any = "auto",
    labels: Any = None,
    sample_weight: Any = None,
    interval: Any = None,
) -> Any:
    """False positive rate, the share of the rows of other classes that are decided for a class: FP / (FP + TN).

    Parameters, results and the rule for empty fractions are those of `precision`. Lower is better.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.fpr([0, 1, 1, 0], [0, 1, 0, 1])
    0.5
    """
    table = Confusion.of(y, prediction, sample_weight, labels=labels)
    return table.fpr(positive=positive, average=average, interval=interval)
