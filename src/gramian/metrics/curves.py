"""Curves of scores: `roc_curve`, `pr_curve` and `calibration`."""

from gramian._core.types import Label, Values, Weights
from gramian.metrics.definition import define_metric
from gramian.metrics.probabilities import probable
from gramian.metrics.statistics.ranks import PrBand, PrCurve, Ranking, RocBand, RocCurve
from gramian.metrics.statistics.reliability import CalibrationCurve, calibrated


def ranked_probabilities(
    y: Values,
    prediction: Values,
    sample_weight: Weights = None,
    *,
    positive: Label | None = None,
    labels: Values | None = None,
) -> Ranking:
    """The statistic of `calibration`: a ranking by probabilities."""
    return Ranking.of(y, probable(prediction), sample_weight, positive=positive, labels=labels)


@define_metric(Ranking.of, needs="scores", greater_is_better=None)
def roc_curve(ranking: Ranking, *, interval: float | None = None) -> RocCurve | RocBand:
    """Rates of false and true positives at every threshold: rows that score at least as much are predicted positive.

    Parameters
    ----------
    y : array, series or list (n,)
        True classes.
    prediction : array (n,), or (n, k) with one column per class
        Scores, the larger the more likely.
    positive, labels
        The class that is meant and the classes of the columns, as for `roc_auc`; needed with more than two classes.
    sample_weight : array (n,), optional
        Weights are counts.
    interval : float, optional
        Confidence level of a band: Wilson's interval of `tpr` at each threshold by itself.

    Returns
    -------
    named tuple (fpr, tpr, thresholds), with `interval` also (…, low, high)
        u + 1 points for u distinct scores, all of them kept; the first threshold is ∞.

    Examples
    --------
    >>> import gramian as gm
    >>> curve = gm.metrics.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.fpr
    array([0. , 0. , 0.5, 0.5, 1. ])
    >>> curve.tpr
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    return ranking.roc_curve(interval=interval)


@define_metric(Ranking.of, needs="scores", greater_is_better=None)
def pr_curve(ranking: Ranking, *, interval: float | None = None) -> PrCurve | PrBand:
    """Precision and recall at every threshold: rows that score at least as much are predicted positive.

    Parameters are those of `roc_curve`; the band is Wilson's interval of `precision` at each threshold by itself.

    Returns
    -------
    named tuple (precision, recall, thresholds), with `interval` also (…, low, high)
        Thresholds increase; the last point, precision 1 and recall 0, has none (nothing is predicted positive).

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.pr_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).precision.round(3)
    array([0.5  , 0.667, 0.5  , 1.   , 1.   ])
    """
    return ranking.pr_curve(interval=interval)


@define_metric(ranked_probabilities, needs="probabilities", greater_is_better=None)
def calibration(
    ranking: Ranking, *, bins: int = 10, strategy: str = "uniform", interval: float | None = None
) -> CalibrationCurve:
    """How often the positive class occurs among rows that were given about the same probability of it.

    Parameters
    ----------
    y : array, series or list (n,)
        True classes.
    prediction : array (n,), or (n, k) with one column per class
        Probabilities.
    bins : int
        Number of bins.
    strategy : "uniform" or "quantile"
        Bins of equal width, or of equal weight (edges at the quantiles of the probabilities).
    positive, labels
        The class that is meant and the classes of the columns, as for `roc_auc`.
    sample_weight : array (n,), optional
        Weights are counts.
    interval : float, optional
        Confidence level of `low` and `high`, Wilson's interval of `observed`; 0.95 if not given.

    Returns
    -------
    named tuple (predicted, observed, count, low, high)
        Of each bin that has rows: mean probability, share of the positive class, weight, bounds of the share. Its
        `.error` is the expected calibration error Σ count |observed − predicted| / Σ count.

    Notes
    -----
    O(n log n). Read from a `Ranking`, so that bins at quantiles are exact block by block too.

    Examples
    --------
    >>> import gramian as gm
    >>> found = gm.metrics.calibration([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9], bins=2)
    >>> found.predicted, found.observed, found.count
    (array([0.2 , 0.75]), array([0., 1.]), array([2., 2.]))
    >>> round(found.error, 3)
    0.225
    """
    return calibrated(ranking, bins=bins, strategy=strategy, interval=interval)
