"""Reliability of probabilities, read from their ranking."""

from typing import NamedTuple

import numpy as np

from gramian._core.types import Floats
from gramian._core.validation import is_integer
from gramian.metrics.classes import totals
from gramian.metrics.statistics.intervals import share, wilson
from gramian.metrics.statistics.quantiles import quantiles
from gramian.metrics.statistics.ranks import Ranking

STRATEGIES = ("uniform", "quantile")


class CalibrationCurve(NamedTuple):
    """Of each bin of probabilities that has rows: what was predicted, what was observed, and its bounds."""

    predicted: Floats
    observed: Floats
    count: Floats  # type: ignore[assignment]  # hides tuple.count
    low: Floats
    high: Floats

    @property
    def error(self) -> float:
        """Expected calibration error: Σ count |observed − predicted| / Σ count."""
        return float(self.count @ np.abs(self.observed - self.predicted) / self.count.sum())


def calibrated(
    ranking: Ranking, *, bins: int = 10, strategy: str = "uniform", interval: float | None = None
) -> CalibrationCurve:
    """The calibration of a ranking by probabilities."""
    ranking._refuse_nothing()
    if not is_integer(bins) or bins < 1:
        raise ValueError(f"bins is {bins!r}; it must be a whole number of at least 1.")
    if strategy not in STRATEGIES:
        raise ValueError(f'strategy is {strategy!r}; it must be "uniform" or "quantile".')
    weight = ranking.hits + ranking.others
    number = int(bins)
    parts = np.linspace(0.0, 1.0, number + 1)
    edges = parts if strategy == "uniform" else quantiles(ranking.scores, weight, parts)
    place = np.searchsorted(edges[1:-1], ranking.scores)
    count = totals(place, weight, number)
    used = count > 0
    hits, count = totals(place, ranking.hits, number)[used], count[used]
    predicted = totals(place, weight * ranking.scores, number)[used] / count
    low, high = wilson(hits, count, 0.95 if interval is None else interval)
    return CalibrationCurve(predicted, share(hits, count), count, low, high)
