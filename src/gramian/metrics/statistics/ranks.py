"""`Ranking`: scores in order with the weights of the two classes at each, and all that follows from their order."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gramian._core.types import Floats, Label, Values, Weights
from gramian.metrics.classes import agreed, codes, columns_for, like, positive_for, scored
from gramian.metrics.statistics.base import Statistic
from gramian.metrics.statistics.intervals import Interval, Measured, bounded, share, wilson


class RocCurve(NamedTuple):
    """Rates of false and true positives where rows with a score of at least each threshold are predicted positive."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats


class RocBand(NamedTuple):
    """A `RocCurve` with the bounds of `tpr` at each threshold."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats
    low: Floats
    high: Floats


class PrCurve(NamedTuple):
    """Precision and recall where rows with a score of at least each threshold are predicted positive."""

    precision: Floats
    recall: Floats
    thresholds: Floats


class PrBand(NamedTuple):
    """A `PrCurve` with the bounds of `precision` at each threshold."""

    precision: Floats
    recall: Floats
    thresholds: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Statistic):
    """Every distinct score, in order, with the weight of the positive rows and of the others that have it.

    Exact: nothing is binned or rounded, ties are ties. Made by `Ranking.of(y, scores)`; two are merged with `+`.

    Attributes
    ----------
    positive : label
        The class that the scores are for.
    scores : array (u,)
        Distinct scores, increasing.
    hits, others : array (u,)
        Weight of the rows of the positive class, and of other classes, at each score.

    Notes
    -----
    O(n log n) time, O(u) memory.

    Examples
    --------
    >>> import gramian as gm
    >>> first = gm.metrics.Ranking.of([0, 1], [0.1, 0.8])
    >>> both = first + gm.metrics.Ranking.of([1, 0], [0.3, 0.3])
    >>> both
    <Ranking: 3 distinct scores, 2 rows of class 1, 2 others>
    >>> both.roc_auc()
    0.875
    """

    positive: Label
    scores: Floats
    hits: Floats
    others: Floats

    @classmethod
    def of(
        cls,
        y: Values,
        scores: Values,
        sample_weight: Weights = None,
        *,
        positive: Label | None = None,
        labels: Values | None = None,
    ) -> "Ranking":
        """The ranking of some rows by scores (n,), or by one column of scores (n, k).

        `positive` is the class that the scores are for: if not given, the second of `labels`, or the larger of the two
        classes of y. Columns are of `labels`, or of the classes of y in order, and that of `positive` is taken.
        """
        truth, values, weight, declared = scored(y, scores, sample_weight, labels, "scores")
        if values.ndim == 1:
            chosen = positive_for(truth, positive, declared, several=True)
        else:
            if not len(truth):
                return cls(positive, *np.zeros((3, 0)))
            classes = columns_for(truth, declared, values.shape[1], "scores")
            codes(truth, classes, "y")
            if positive is None and len(classes) != 2:
                raise ValueError(f"scores has {len(classes)} columns: say with positive= which class is meant.")
            chosen = like(positive, classes) if positive is not None else classes[1:].tolist()[0]
            values = values[:, codes(np.array([chosen]), classes, "positive")[0]]
        is_hit = truth == chosen
        return cls(chosen, *grouped(values, np.where(is_hit, weight, 0.0), np.where(is_hit, 0.0, weight)))

    @property
    def _mass(self) -> float:
        return float(self.hits.sum() + self.others.sum())

    def _merged(self, other: "Ranking") -> "Ranking":
        merged = grouped(
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.hits, other.hits]),
            np.concatenate([self.others, other.others]),
            runs=True,
        )
        return Ranking(agreed(self.positive, other.positive, "positive class"), *merged)

    def __repr__(self) -> str:
        return (
            f"<Ranking: {len(self.scores)} distinct scores, {self.hits.sum():g} rows of class {self.positive!r}, "
            f"{self.others.sum():g} others>"
        )

    def _refuse_no_hits(self, name: str) -> None:
        self._refuse_nothing()
        if not self.hits.any():
            raise ValueError(f"{name} is undefined: y has no row of the positive class {self.positive!r}.")

    def _refuse_one_class(self, name: str) -> None:
        self._refuse_no_hits(name)
        if not self.others.any():
            raise ValueError(f"{name} is undefined: y has only one class, every row is of class {self.positive!r}.")

    def roc_auc(self, *, interval: float | None = None) -> Measured:
        """Area under the ROC curve; DeLong's variance on the logit scale."""
        self._refuse_one_class("roc_auc")
        above, below = placements(self.hits, self.others)
        positives, negatives = float(self.hits.sum()), float(self.others.sum())
        value = min(float(self.hits @ above) / positives, 1.0)
        if interval is None:
            return value
        fewer, variance = min(positives, negatives), 0.0
        if fewer > 1.0:
            variance = float(self.hits @ (above - value) ** 2) / positives / (positives - 1.0)
            variance += float(self.others @ (below - value) ** 2) / negatives / (negatives - 1.0)
        return Interval(value, *bounded(value, variance, fewer, interval))

    def average_precision(self, *, interval: float | None = None) -> Measured:
        """Mean of the precision at the score of each positive row; variance by its influence function."""
        self._refuse_no_hits("average_precision")
        value, of_hits, of_others = precision_influence(self.hits, self.others)
        if interval is None:
            return value
        positives, variance = float(self.hits.sum()), 0.0
        if positives > 1.0:
            variance = float(self.hits @ of_hits**2 + self.others @ of_others**2) / (1.0 - 1.0 / self._mass)
        return Interval(value, *bounded(value, variance, positives, interval))

    def roc_curve(self, *, interval: float | None = None) -> RocCurve | RocBand:
        """Rates at every threshold, from none predicted positive to all; Wilson's band of the true positives."""
        self._refuse_one_class("roc_curve")
        hits, others = (np.append(0.0, np.cumsum(part[::-1])) for part in (self.hits, self.others))
        curve = RocCurve(others / others[-1], hits / hits[-1], np.append(np.inf, self.scores[::-1]))
        return curve if interval is None else RocBand(*curve, *wilson(hits, hits[-1], interval))

    def pr_curve(self, *, interval: float | None = None) -> PrCurve | PrBand:
        """Precision and recall at every threshold, from all predicted positive to none; Wilson's band of precision."""
        self._refuse_no_hits("pr_curve")
        hits, others = (np.cumsum(part[::-1])[::-1] for part in (self.hits, self.others))
        curve = PrCurve(np.append(share(hits, hits + others), 1.0), np.append(hits / hits[0], 0.0), self.scores.copy())
        if interval is None:
            return curve
        low, high = wilson(hits, hits + others, interval)
        return PrBand(*curve, np.append(low, 0.0), np.append(high, 1.0))


def grouped(scores: Floats, hits: Floats, others: Floats, runs: bool = False) -> tuple[Floats, Floats, Floats]:
    """Distinct scores in order, and the sums of both weights at each. `runs`: the scores are two sorted runs."""
    if not len(scores):
        return scores, hits, others
    order = np.argsort(scores, kind="stable" if runs else None)
    ordered = scores[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return ordered[starts], np.add.reduceat(hits[order], starts), np.add.reduceat(others[order], starts)


def placements(hits: Floats, others: Floats) -> tuple[Floats, Floats]:
    """At each score: the share of the others below it, and of the positives above it; ties count one half."""
    below = (np.cumsum(others) - 0.5 * others) / others.sum()
    above = (np.cumsum(hits[::-1])[::-1] - 0.5 * hits) / hits.sum()
    return below, above


def precision_influence(hits: Floats, others: Floats) -> tuple[float, Floats, Floats]:
    """Average precision, and how much each row at each score adds to it: positive rows, and others.

    AP = Σ hits T(s) / A(s) / P, with T(s) and A(s) the weights of positive rows and of all rows that score at least s.
    One more row at score s changes T and A at every score up to s, and P: the derivative is a cumulative sum.
    """
    positives = float(hits.sum())
    right = np.cumsum(hits[::-1])[::-1]
    decided = right + np.cumsum(others[::-1])[::-1]
    precision = right / decided
    value = min(float(hits @ precision) / positives, 1.0)
    gained = np.cumsum(hits / decided)
    lost = np.cumsum(hits / decided * precision)
    return value, (precision + gained - lost - value) / positives, -lost / positives
