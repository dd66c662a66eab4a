"""Metrics of predicted probabilities: `log_loss` and `brier`."""

import numpy as np

from gramian._core.types import Array, Floats, Label, Values, Weights
from gramian.metrics.classes import codes, columns_for, positive_for, scored
from gramian.metrics.definition import NON_NEGATIVE, define_metric
from gramian.metrics.input import read_numbers
from gramian.metrics.statistics.intervals import Measured
from gramian.metrics.statistics.means import MeanLoss

SUM_TOLERANCE = 1e-4  # float32 probabilities of many classes add up to one as well as this
SMALLEST = float(np.finfo(np.float64).eps)


def probable(prediction: Values) -> Floats:
    """Numbers within [0, 1], (n,) or (n, k) with rows that add up to one."""
    values = read_numbers(prediction, "probabilities")
    table = values[:, None] if values.ndim == 1 else values
    outside = (table < 0.0) | (table > 1.0)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(
            f"A probability is {table[row, column]:g} at row {row}; it must be between 0 and 1. Scores of another kind "
            "are for roc_auc and average_precision."
        )
    off = np.abs(table.sum(axis=1) - 1.0)
    if table.shape[1] > 1 and off.max(initial=0.0) > SUM_TOLERANCE:
        row = int(off.argmax())
        raise ValueError(
            f"The probabilities of row {row} add up to {table[row].sum():.6g}, not to one. Divide each row by its sum."
        )
    return values


def read_probabilities(
    y: Values, prediction: Values, sample_weight: Weights, positive: Label | None, labels: Values | None
) -> tuple[Floats, Array, Floats, tuple[Label, ...]]:
    """Probabilities (n,) or (n, k), the place of each row's class, weights, and the classes (or the positive one)."""
    probabilities = probable(prediction)
    truth, values, weight, known = scored(y, probabilities, sample_weight, labels, "probabilities")
    if values.ndim == 1:
        chosen = positive_for(truth, positive, known)
        return values, (truth == chosen).astype(np.int64), weight, (chosen,)
    if positive is not None:
        raise ValueError("positive= is for probabilities of one column; with one column per class, give labels=.")
    if not len(truth):
        return values, np.zeros(0, dtype=np.int64), weight, ()
    classes = columns_for(truth, known, values.shape[1], "probabilities")
    return values, codes(truth, classes, "y"), weight, tuple(classes.tolist())


def log_losses(
    y: Values,
    prediction: Values,
    sample_weight: Weights = None,
    *,
    positive: Label | None = None,
    labels: Values | None = None,
) -> MeanLoss:
    """The statistic of `log_loss`."""
    values, place, weight, classes = read_probabilities(y, prediction, sample_weight, positive, labels)
    table = np.stack([1.0 - values, values], axis=1) if values.ndim == 1 else values
    of_truth = table[np.arange(len(table)), place]
    losses = -np.log(np.clip(of_truth, SMALLEST, 1.0 - SMALLEST))
    return MeanLoss.of(losses, weight, loss="log_loss", classes=classes, most=-float(np.log(SMALLEST)))


def brier_losses(
    y: Values,
    prediction: Values,
    sample_weight: Weights = None,
    *,
    positive: Label | None = None,
    labels: Values | None = None,
) -> MeanLoss:
    """The statistic of `brier`."""
    values, place, weight, classes = read_probabilities(y, prediction, sample_weight, positive, labels)
    if values.ndim == 1:
        return MeanLoss.of((values - place) ** 2, weight, loss="brier", classes=classes, most=1.0)
    k = values.shape[1]
    errors = values.copy()
    errors[np.arange(len(values)), place] -= 1.0
    losses = (errors**2).sum(axis=1) * (0.5 if k == 2 else 1.0)
    return MeanLoss.of(losses, weight, loss="brier", classes=classes, most=1.0 if k == 2 else 2.0)


@define_metric(log_losses, needs="probabilities", greater_is_better=False, range=NON_NEGATIVE, is_row_mean=True)
def log_loss(losses: MeanLoss, *, interval: float | None = None) -> Measured:
    """Mean of −log of the probability that was given to the true class: −Σw log p(y) / Σw, in nats.

    Parameters
    ----------
    y : array, series or list (n,)
        True classes.
    prediction : array or frame (n,) or (n, k)
        Probabilities: (n,) of the positive class of two, or one column per class, rows adding up to one.
    positive : label, optional
        The class that probabilities (n,) are of: if not given, the second of `labels`, or the larger class of y; where
        only 0 or −1 occurs, 1.
    labels : list, optional
        The classes in the order of the columns; those of y in order if not given.
    sample_weight : array (n,), optional
        Weights are counts: weight 2 is the row given twice.
    interval : float, optional
        Confidence level: (value, low, high) by Student's interval of the mean of the rows' losses.

    Returns
    -------
    float, or `Interval` (value, low, high)

    Notes
    -----
    Probabilities are kept within [ε, 1 − ε], ε = 2.2e-16, as scikit-learn keeps them: a probability of 0 for what
    happened costs 36.04 and not infinity. O(n k). The statistic behind it is `MeanLoss`.

    Examples
    --------
    >>> import gramian as gm
    >>> round(gm.metrics.log_loss([0, 1, 1], [0.1, 0.8, 0.6]), 4)
    0.2798
    >>> round(gm.metrics.log_loss(["a", "b"], [[0.9, 0.1], [0.5, 0.5]]), 4)
    0.3993
    """
    return losses.mean(interval=interval)


@define_metric(brier_losses, needs="probabilities", greater_is_better=False, range=(0.0, 2.0), is_row_mean=True)
def brier(losses: MeanLoss, *, interval: float | None = None) -> Measured:
    """Mean squared error of probabilities: (p − [y is positive])² for two classes, Σⱼ (pⱼ − [y = j])² for more.

    Between 0 and 1 for two classes (given as one column or as two), and between 0 and 2 for more. Parameters, results
    and the interval are those of `log_loss`.

    Examples
    --------
    >>> import gramian as gm
    >>> round(gm.metrics.brier([0, 1, 1], [0.1, 0.8, 0.6]), 4)
    0.07
    """
    return losses.mean(interval=interval)
