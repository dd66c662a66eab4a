"""`OneVsRest`: scores of several classes, one column each, measured class by class and averaged."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gramian._core.types import Array, Floats, Label, Values, Weights
from gramian.metrics.classes import agreed, codes, columns_for, scored, shown, totals
from gramian.metrics.statistics.base import Statistic
from gramian.metrics.statistics.intervals import Interval, Measured, bounded
from gramian.metrics.statistics.ranks import placements, precision_influence

Influence = Callable[[Floats, Floats], tuple[float, Floats, Floats]]


@dataclass(frozen=True, eq=False, repr=False)
class OneVsRest(Statistic):
    """The rows themselves, as an average over classes correlates them: scores (n, k), classes and weights.

    Behind `roc_auc` and `average_precision` of more than two classes. Made by `OneVsRest.of(y, scores)`; joined
    with `+`, exactly.

    Attributes
    ----------
    labels : tuple
        The class of each column.
    scores : array (n, k)
    truth : array of int (n,)
        Place of each row's class in `labels`.
    weight : array (n,)

    Notes
    -----
    O(n k) memory, O(n k log n) time when a metric is asked for.

    Examples
    --------
    >>> import gramian as gm
    >>> scores = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4], [0.5, 0.3, 0.2]]
    >>> found = gm.metrics.OneVsRest.of(["a", "b", "c", "a"], scores)
    >>> found
    <OneVsRest: 4 rows, classes 'a', 'b', 'c'>
    >>> found.roc_auc()
    1.0
    """

    labels: tuple[Label, ...]
    scores: Floats
    truth: Array
    weight: Floats

    @classmethod
    def of(
        cls, y: Values, scores: Values, sample_weight: Weights = None, *, labels: Values | None = None
    ) -> "OneVsRest":
        """Rows with scores (n, k), one column per class; `labels` in the order of the columns, else those of y."""
        truth, values, weight, declared = scored(y, scores, sample_weight, labels, "scores")
        if values.ndim != 2:
            raise ValueError("scores has one column; OneVsRest needs one per class.")
        if not len(truth):
            return cls((), values, np.zeros(0, dtype=np.int64), weight)
        classes = columns_for(truth, declared, values.shape[1], "scores")
        return cls(tuple(classes.tolist()), values, codes(truth, classes, "y"), weight)

    @property
    def _mass(self) -> float:
        return float(self.weight.sum())

    def _merged(self, other: "OneVsRest") -> "OneVsRest":
        return OneVsRest(
            agreed(self.labels, other.labels, "classes"),
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.truth, other.truth]),
            np.concatenate([self.weight, other.weight]),
        )

    def __repr__(self) -> str:
        return f"<OneVsRest: {self._mass:g} rows, classes {shown(np.array(self.labels, dtype=object))}>"

    def roc_auc(self, *, interval: float | None = None) -> Measured:
        """Mean over the classes of the area under the ROC curve of each against the rest."""
        return self._macro(_auc_influence, "roc_auc", interval)

    def average_precision(self, *, interval: float | None = None) -> Measured:
        """Mean over the classes of the average precision of each against the rest."""
        return self._macro(precision_influence, "average_precision", interval)

    def _macro(self, measure: Influence, name: str, interval: float | None) -> Measured:
        """Mean over the classes; its variance is that of the mean of the rows' influences on each."""
        self._refuse_nothing()
        total, k = self._mass, len(self.labels)
        sizes = totals(self.truth, self.weight, k)
        for label, size in zip(self.labels, sizes.tolist(), strict=True):
            if size == 0:
                raise ValueError(f"{name} is undefined: y has no row of class {label!r}.")
            if size == total:
                raise ValueError(f"{name} is undefined: y has only one class, every row is of class {label!r}.")
        values, influence = np.zeros(k), np.zeros(len(self.weight))
        for j in range(k):
            is_hit = self.truth == j
            scores, place = np.unique(self.scores[:, j], return_inverse=True)
            hits = totals(place[is_hit], self.weight[is_hit], len(scores))
            others = totals(place[~is_hit], self.weight[~is_hit], len(scores))
            values[j], of_hits, of_others = measure(hits, others)
            if interval is not None:
                influence += np.where(is_hit, of_hits[place], of_others[place]) / k
        value = float(values.mean())
        if interval is None:
            return value
        fewest = float(sizes.min())
        variance = float(self.weight @ influence**2) / (1.0 - 1.0 / total) if fewest > 1.0 else 0.0
        return Interval(value, *bounded(value, variance, fewest, interval))


def _auc_influence(hits: Floats, others: Floats) -> tuple[float, Floats, Floats]:
    """Area under the ROC curve, and how much each row at each score adds to it: positive rows, and others."""
    below, above = placements(hits, others)
    value = min(float(hits @ below) / float(hits.sum()), 1.0)
    return value, (below - value) / float(hits.sum()), (above - value) / float(others.sum())
