"""Metrics of predicted numbers: `mse`, `rmse`, `mae`, `median_absolute_error` and `r2`."""

import numpy as np

from gramian._core.types import Floats, Values, Weights
from gramian.metrics.definition import NON_NEGATIVE, define_metric
from gramian.metrics.input import read_pair
from gramian.metrics.statistics.absolute_errors import AbsoluteErrors
from gramian.metrics.statistics.explained import Explained
from gramian.metrics.statistics.intervals import Measured
from gramian.metrics.statistics.means import MeanLoss


def squares(truth: Floats, predicted: Floats) -> Floats:
    """Squared error of each row, the mean over the targets."""
    return np.asarray(((truth - predicted) ** 2).mean(axis=1))


def absolutes(truth: Floats, predicted: Floats) -> Floats:
    """Absolute error of each row, the mean over the targets."""
    return np.asarray(np.abs(truth - predicted).mean(axis=1))


def squared_errors(y: Values, prediction: Values, sample_weight: Weights = None) -> MeanLoss:
    """The statistic of `mse`."""
    truth, predicted, weight = read_pair(y, prediction, sample_weight)
    with np.errstate(over="ignore"):
        losses = squares(truth, predicted)
    return _finite_mean(losses, weight, "mse", truth, predicted)


def absolute_errors(y: Values, prediction: Values, sample_weight: Weights = None) -> MeanLoss:
    """The statistic of `mae`."""
    truth, predicted, weight = read_pair(y, prediction, sample_weight)
    with np.errstate(over="ignore"):
        losses = absolutes(truth, predicted)
    return _finite_mean(losses, weight, "mae", truth, predicted)


@define_metric(
    squared_errors,
    needs="numbers",
    greater_is_better=False,
    range=NON_NEGATIVE,
    is_row_mean=True,
    row_losses=squares,
)
def mse(errors: MeanLoss, *, interval: float | None = None) -> Measured:
    """Mean squared error: Σw (y − prediction)² / Σw, and its mean over the targets if there are several.

    Parameters
    ----------
    y, prediction : array, series or list (n,), or array or frame (n, t)
        True and predicted numbers.
    sample_weight : array (n,), optional
        Weights are counts: weight 2 is the row given twice.
    interval : float, optional
        Confidence level: with 0.95, (value, low, high) by Student's interval of the mean of the rows' errors, with
        Σw − 1 degrees of freedom and not below 0.

    Returns
    -------
    float, or `Interval` (value, low, high)

    Notes
    -----
    One pass, O(n t). The statistic behind it is `MeanLoss`.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.mse([1.0, 2.0, 3.0], [1.0, 2.0, 5.0])
    1.3333333333333333
    """
    return errors.mean(interval=interval)


@define_metric(
    absolute_errors,
    needs="numbers",
    greater_is_better=False,
    range=NON_NEGATIVE,
    is_row_mean=True,
    row_losses=absolutes,
)
def mae(errors: MeanLoss, *, interval: float | None = None) -> Measured:
    """Mean absolute error: Σw |y − prediction| / Σw, and its mean over the targets if there are several.

    Parameters, results and the interval are those of `mse`.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.mae([1.0, 2.0, 3.0], [1.0, 2.5, 5.0], sample_weight=[2, 1, 1])
    0.625
    """
    return errors.mean(interval=interval)


@define_metric(Explained.of, needs="numbers", greater_is_better=True, range=(-np.inf, 1.0))
def r2(sums: Explained, *, interval: float | None = None) -> Measured:
    """Share of the variance explained: R² = 1 − Σw (y − prediction)² / Σw (y − ȳ)², the mean over several targets.

    Parameters
    ----------
    y, prediction : array, series or list (n,), or array or frame (n, t)
        True and predicted numbers.
    sample_weight : array (n,), optional
        Weights are counts.
    interval : float, optional
        Confidence level: (value, low, high) by the delta method on the scale of log(1 − R²), so that `high` is never
        above 1, with Student's quantile at Σw − 1 degrees of freedom.

    Returns
    -------
    float, or `Interval` (value, low, high)

    Notes
    -----
    Where y does not vary there is nothing to explain: 1.0 if every prediction is exact and 0.0 otherwise, as in
    scikit-learn; the interval then is (−∞, 1].

    One pass, O(n t), with an interval O(n t²). The statistic behind it is `Explained`.

    Examples
    --------
    >>> import gramian as gm
    >>> round(gm.metrics.r2([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]), 4)
    0.9486
    """
    return sums.r2(interval=interval)


@define_metric(Explained.of, needs="numbers", greater_is_better=False, range=NON_NEGATIVE)
def rmse(sums: Explained, *, interval: float | None = None) -> Measured:
    """Root mean squared error: √(Σw (y − prediction)² / Σw), in the unit of y; the mean over several targets.

    Parameters and results are those of `mse`. The interval is by the delta method on the log scale, with Student's
    quantile at Σw − 1 degrees of freedom.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.rmse([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 5.0, 4.0])
    1.0
    """
    return sums.rmse(interval=interval)


@define_metric(AbsoluteErrors.of, needs="numbers", greater_is_better=False, range=NON_NEGATIVE)
def median_absolute_error(errors: AbsoluteErrors, *, interval: float | None = None) -> Measured:
    """Median of |y − prediction|, which no share of outliers below one half can move far; the mean over targets.

    Parameters and results are those of `mse`. The interval is between two order statistics, by the binomial
    distribution of how many errors are below the median: of any distribution, with at least the level asked for.
    Several targets take Bonferroni's levels.

    Notes
    -----
    O(n log n), and exact block by block: the statistic behind it, `AbsoluteErrors`, keeps every distinct error.
    Weights that are not whole numbers give the smallest error with half of the weight at or below it.

    Examples
    --------
    >>> import gramian as gm
    >>> gm.metrics.median_absolute_error([1.0, 2.0, 3.0], [1.0, 2.5, 50.0])
    0.5
    """
    return errors.median(interval=interval)


def _finite_mean(losses: Floats, weight: Floats, loss: str, truth: Floats, predicted: Floats) -> MeanLoss:
    infinite = ~np.isfinite(losses)
    if infinite.any():
        row = int(infinite.argmax())
        raise OverflowError(
            f"y = {truth[row].tolist()} is predicted as {predicted[row].tolist()}: its {loss} exceeds the range of "
            "float64. Divide both by a constant first."
        )
    return MeanLoss.of(losses, weight, loss=loss)
