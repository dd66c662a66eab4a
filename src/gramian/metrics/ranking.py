"""Metrics of the order of scores: `roc_auc` and `average_precision`."""

from gramian._core.types import Label, Values, Weights
from gramian.metrics.definition import PROPORTION, define_metric
from gramian.metrics.input import read_numbers
from gramian.metrics.statistics.intervals import Measured
from gramian.metrics.statistics.one_vs_rest import OneVsRest
from gramian.metrics.statistics.ranks import Ranking


def ranked(
    y: Values,
    prediction: Values,
    sample_weight: Weights = None,
    *,
    positive: Label | None = None,
    labels: Values | None = None,
) -> Ranking | OneVsRest:
    """The statistic of both: of one class, or of each of several against the rest."""
    scores = read_numbers(prediction, "scores")
    if scores.ndim == 1 or scores.shape[1] <= 2 or positive is not None:
        return Ranking.of(y, scores, sample_weight, positive=positive, labels=labels)
    return OneVsRest.of(y, scores, sample_weight, labels=labels)


@define_metric(ranked, needs="scores", greater_is_better=True, range=PROPORTION)
def roc_auc(statistic: Ranking | OneVsRest, *, interval: float | None = None) -> Measured:
    """Area under the ROC curve: the chance that a positive row scores above another one, ties counting one half.

    AUC = Σ over positive i, other j of wᵢ wⱼ ([sᵢ > sⱼ] + ½ [sᵢ = sⱼ]) / (P N), P and N the weights of both sides.

    Parameters
    ----------
    y : array, series or list (n,)
        True classes.
    prediction : array (n,) or (n, k)
        Scores, the larger the more likely: (n,) for the positive class, or one column per class. Of two columns the
        second counts; with more, every class is measured against the rest and the mean taken (macro).
    positive : label, optional
        The class that is meant: if not given, the second of `labels`, or the larger of the two classes of y; where
        only 0 or −1 occurs, 1. With more than two classes it is measured against all others.
    labels : list, optional
        The classes in the order of the columns; those of y in order if not given.
    sample_weight : array (n,), optional
        Weights are counts: weight 2 is the row given twice.
    interval : float, optional
        Confidence level: (value, low, high) by DeLong's variance on the logit scale; for several classes by the
        variance of the rows' mean influence. Where that variance is zero, or a class has no more than one row, Wilson's
        interval with the rows of the smaller side: so many pairs have no row in common.

    Returns
    -------
    float, or `Interval` (value, low, high)

    Raises
    ------
    ValueError
        If y has one class only: the area is undefined then.

    Notes
    -----
    O(n log n) per column, and exact: the statistics behind it, `Ranking` and `OneVsRest`, keep every distinct score.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    >>> [round(x, 3) for x in gm.metrics.roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], interval=0.9)]
    [0.75, 0.119, 0.985]
    """
    return statistic.roc_auc(interval=interval)


@define_metric(ranked, needs="scores", greater_is_better=True, range=PROPORTION)
def average_precision(statistic: Ranking | OneVsRest, *, interval: float | None = None) -> Measured:
    """Mean of the precision at the score of each positive row: Σₛ (Rₛ − Rₛ₊) Pₛ over the distinct scores s.

    The area under the precision–recall curve as steps, without interpolation. Parameters are those of `roc_auc`. The
    interval is by the variance of its influence function on the logit scale; where that is zero, Wilson's interval
    with the rows of the positive class.

    Raises
    ------
    ValueError
        If y has no row of the positive class.

    Examples
    --------
    >>> import gramian as gm
    >>> round(gm.metrics.average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    return statistic.average_precision(interval=interval)
