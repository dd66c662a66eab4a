"""`Confusion`: how often each class is predicted as each, and every metric that follows from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._core.types import Array, Floats, Label, Values, Weights
from gramian.metrics.classes import alone, codes, distinct, like, shown, totals
from gramian.metrics.input import one_kind, read_labels, read_weights, same_length
from gramian.metrics.statistics.base import Statistic
from gramian.metrics.statistics.intervals import Interval, Measured, bounded, normal_quantile, share, wilson

CountFormula = Callable[..., Floats]  # of (hits, actual, predicted, positive)
AVERAGES = ("auto", None, "macro", "micro", "weighted")

# Each share is a ratio of linear combinations of four counts of its class: its rows predicted correctly, its rows, the
# rows predicted as it, and all rows.
SHARES = {
    "precision": ((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)),
    "recall": ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)),
    "f1": ((2.0, 0.0, 0.0, 0.0), (0.0, 1.0, 1.0, 0.0)),
    "fpr": ((-1.0, 0.0, 1.0, 0.0), (0.0, -1.0, 0.0, 1.0)),
}


@dataclass(frozen=True, eq=False, repr=False)
class Confusion(Statistic):
    """Weights of the pairs (true class, predicted class) that occur: at most one number per pair.

    Made by `Confusion.of(y, prediction)`; two are joined with `+`.

    Attributes
    ----------
    labels : array (k,)
        The classes: those of y and of the predictions in order, or as given.
    given : bool
        Whether `labels` were given, and so are the same for all parts.
    truth, decided : array of int (cells,)
        Pairs of classes, by their places in `labels`.
    weight : array (cells,)
        Total weight of the rows of each pair.
    counted : bool
        Whether no weights were given, so that the weights are counts of rows.

    Examples
    --------
    >>> import gramian as gm
    >>> first = gm.metrics.Confusion.of(["ham", "spam"], ["ham", "ham"])
    >>> both = first + gm.metrics.Confusion.of(["spam"], ["spam"])
    >>> both
    <Confusion: 3 rows, classes 'ham', 'spam'>
    >>> both.matrix
    array([[1, 0],
           [1, 1]])
    >>> both.recall()
    0.5
    """

    labels: Array
    given: bool
    truth: Array
    decided: Array
    weight: Floats
    counted: bool

    @classmethod
    def of(
        cls, y: Values, prediction: Values, sample_weight: Weights = None, *, labels: Values | None = None
    ) -> "Confusion":
        """The confusion of some rows: true labels, predicted labels, weights, and optionally the classes in order."""
        truth, decided = read_labels(y, "y"), read_labels(prediction, "prediction")
        same_length(len(truth), decided, "prediction")
        weight = read_weights(sample_weight, len(truth))
        truth, decided = one_kind(truth, decided, "y", "prediction")
        if not weight.all():
            truth, decided, weight = truth[weight > 0], decided[weight > 0], weight[weight > 0]
        if labels is None:
            classes = np.union1d(truth, decided)
        else:
            truth, classes = one_kind(truth, distinct(labels), "y", "labels")
            decided, classes = one_kind(decided, classes, "prediction", "labels")
        cells = _cells(codes(truth, classes, "y"), codes(decided, classes, "prediction"), weight, len(classes))
        return cls(classes, labels is not None, *cells, sample_weight is None)

    @property
    def matrix(self) -> Array:
        """The table, rows true and columns predicted, in the order of `labels`; whole numbers without weights."""
        k = len(self.labels)
        table = np.zeros((k, k), dtype=np.int64 if self.counted else np.float64)
        table[self.truth, self.decided] = self.weight
        return table

    @property
    def _mass(self) -> float:
        return float(self.weight.sum())

    def _merged(self, other: "Confusion") -> "Confusion":
        mine, others = one_kind(self.labels, other.labels, "one part", "the other")
        if (self.given or other.given) and mine.tolist() != others.tolist():
            raise ValueError(
                f"The labels of one part are {mine.tolist()[:10]} and of the other {others.tolist()[:10]}: give "
                "labels= when building the parts, the same for all."
            )
        labels = mine if self.given else np.union1d(mine, others)
        to_mine, to_others = codes(mine, labels, "y"), codes(others, labels, "y")
        cells = _cells(
            np.concatenate([to_mine[self.truth], to_others[other.truth]]),
            np.concatenate([to_mine[self.decided], to_others[other.decided]]),
            np.concatenate([self.weight, other.weight]),
            len(labels),
        )
        return Confusion(labels, self.given, *cells, self.counted and other.counted)

    def __repr__(self) -> str:
        return f"<Confusion: {self._mass:g} rows, classes {shown(self.labels)}>"

    def confusion(self, *, interval: float | None = None) -> Any:
        """The table, or with `interval` Wilson's bounds of each cell's share of its row, times the row's total."""
        self._refuse_nothing()
        if interval is None:
            return self.matrix
        table = self.matrix.astype(np.float64)
        rows = table.sum(axis=1, keepdims=True)
        low, high = wilson(table, rows, interval)
        return Interval(self.matrix, low * rows, high * rows)

    def accuracy(self, *, interval: float | None = None) -> Measured:
        """Share of the rows predicted correctly."""
        self._refuse_nothing()
        right, total = float(self.weight[self.truth == self.decided].sum()), self._mass
        value = min(right / total, 1.0)
        if interval is None:
            return value
        low, high = wilson(right, total, interval)
        return Interval(value, float(low), float(high))

    def zero_one(self, *, interval: float | None = None) -> Measured:
        """Share of the rows predicted incorrectly."""
        accuracy: Any = self.accuracy(interval=interval)
        return (
            1.0 - accuracy
            if interval is None
            else Interval(1.0 - accuracy.value, 1.0 - accuracy.high, 1.0 - accuracy.low)
        )

    def balanced_accuracy(self, *, interval: float | None = None) -> Measured:
        """Mean recall of the classes that occur in y."""
        self._refuse_nothing()
        counts = self._counts()
        occurs = counts[1] > 0
        return self._mean_share("recall", counts, occurs / occurs.sum(), interval)

    def matthews(self, *, interval: float | None = None) -> Measured:
        """Matthews correlation coefficient; its interval by the delta method on Fisher's z scale."""
        self._refuse_nothing()
        counts, total = self._counts(), self._mass
        value = float(matthews_of_counts(*counts[:3]))
        if interval is None:
            return value
        of, predicted = counts[1] / total, counts[2] / total
        varies = 1.0 - of @ of, 1.0 - predicted @ predicted
        if min(varies) <= 0.0 or total <= 1.0:
            normal_quantile(interval)
            return Interval(value, -1.0, 1.0)
        # Derivatives of numerator and denominator in the share of each cell.
        gradient = (self.truth == self.decided) - predicted[self.truth] - of[self.decided]
        gradient /= np.sqrt(varies[0] * varies[1])
        gradient += value * (of[self.truth] / varies[0] + predicted[self.decided] / varies[1])
        mean = float(self.weight @ gradient) / total
        variance = float(self.weight @ (gradient - mean) ** 2) / total / (total - 1.0)
        low, high = bounded(0.5 + 0.5 * value, 0.25 * variance, total, interval)
        return Interval(value, min(2.0 * low - 1.0, value), max(2.0 * high - 1.0, value))

    def precision(
        self, *, positive: Label | None = None, average: str | None = "auto", interval: float | None = None
    ) -> Any:
        """Share of the rows predicted as a class that are of it."""
        return self._share("precision", positive, average, interval)

    def recall(
        self, *, positive: Label | None = None, average: str | None = "auto", interval: float | None = None
    ) -> Any:
        """Share of the rows of a class that are predicted as it."""
        return self._share("recall", positive, average, interval)

    def f1(self, *, positive: Label | None = None, average: str | None = "auto", interval: float | None = None) -> Any:
        """Harmonic mean of precision and recall."""
        return self._share("f1", positive, average, interval)

    def fpr(self, *, positive: Label | None = None, average: str | None = "auto", interval: float | None = None) -> Any:
        """Share of the rows of other classes that are predicted as a class."""
        return self._share("fpr", positive, average, interval)

    def _share(self, name: str, positive: Label | None, average: str | None, interval: float | None) -> Any:
        self._refuse_nothing()
        if average not in AVERAGES:
            raise ValueError(f'average is {average!r}; it must be "auto", None, "macro", "micro" or "weighted".')
        if positive is not None and average != "auto":
            raise ValueError(f"positive={positive!r} asks for one class and average={average!r} for all: give one.")
        counts = self._counts()
        if positive is not None or (average == "auto" and len(self.labels) <= 2):
            place = self._place(positive)
            one = counts[:, [place]] if place is not None else np.array([[0.0], [0.0], [0.0], [self._mass]])
            values = _per_class(name, one, interval)
            return float(values[0]) if interval is None else Interval(*(float(part[0]) for part in values))
        if average is None:
            return _per_class(name, counts, interval)
        if average == "micro":
            return self._micro(name, counts, interval)
        part = counts[1] / self._mass if average == "weighted" else np.full(len(self.labels), 1.0 / len(self.labels))
        return self._mean_share(name, counts, part, interval, weighted=average == "weighted")

    def _counts(self) -> Floats:
        """Of each class: its rows predicted correctly, its rows, the rows predicted as it, all rows."""
        k, right = len(self.labels), self.truth == self.decided
        return np.stack(
            [
                totals(self.truth[right], self.weight[right], k),
                totals(self.truth, self.weight, k),
                totals(self.decided, self.weight, k),
                np.full(k, self._mass),
            ]
        )

    def _place(self, positive: Label | None) -> int | None:
        """The place of the positive class; None if it does not occur and only one class does."""
        labels = self.labels.tolist()
        if positive is None:
            positive = labels[1] if len(labels) == 2 else alone(labels[0])
        positive = like(positive, self.labels)
        if positive in labels:
            return labels.index(positive)
        if len(labels) > 1:
            raise ValueError(f"positive={positive!r} is not a class; the classes are {shown(self.labels)}.")
        return None

    def _micro(self, name: str, counts: Floats, interval: float | None) -> Measured:
        """Over all classes at once: the accuracy, and for the false positives the errors among k − 1 chances each."""
        top, bottom = (np.asarray(part) @ counts.sum(axis=1) for part in SHARES[name])
        value = min(float(share(top, bottom)), 1.0)
        if interval is None:
            return value
        right, total = float(counts[0].sum()), self._mass
        chances = max(len(self.labels) - 1.0, 1.0) if name == "fpr" else 1.0
        low, high = wilson(total - right if name == "fpr" else right, total, interval)
        return Interval(value, min(float(low) / chances, value), max(float(high) / chances, value))

    def _mean_share(
        self, name: str, counts: Floats, part: Floats, interval: float | None, *, weighted: bool = False
    ) -> Measured:
        """Mean over the classes, `part` being their weights; its variance by the delta method over the cells.

        `weighted`: the weights are the shares of the rows, and so random too.
        """
        total = self._mass
        above, below = (np.asarray(weights) for weights in SHARES[name])
        values = _per_class(name, counts, None)
        value = min(float(part @ values), 1.0)
        if interval is None:
            return value
        slope = part * share(1.0, below @ counts)
        right, row, column, everywhere = above[:, None] * slope - below[:, None] * (slope * values)
        if weighted:
            row = row + values / total
            everywhere = everywhere - part * values / total
        gradient = row[self.truth] + column[self.decided] + everywhere.sum()
        gradient[self.truth == self.decided] += right[self.truth[self.truth == self.decided]]
        variance = float(self.weight @ gradient**2) / (1.0 - 1.0 / total) if total > 1.0 else 0.0
        return Interval(value, *bounded(value, variance, total, interval))


def share_of_counts(name: str) -> CountFormula:
    """The share of this name from counts of each class (…, k): of the positive class, or the mean over all."""
    above, below = SHARES[name]

    def of_counts(hits: Floats, actual: Floats, predicted: Floats, positive: int | None = None) -> Floats:
        counts = hits, actual, predicted, actual.sum(axis=-1, keepdims=True)
        top, bottom = (sum(w * part for w, part in zip(row, counts, strict=True) if w) for row in (above, below))
        values = share(np.maximum(top, 0.0), bottom)
        return np.asarray(values.mean(axis=-1) if positive is None else values[..., positive])

    return of_counts


def accuracy_of_counts(hits: Floats, actual: Floats, predicted: Floats, positive: int | None = None) -> Floats:
    """Share of the rows predicted correctly."""
    return np.asarray(hits.sum(axis=-1) / actual.sum(axis=-1))


def zero_one_of_counts(hits: Floats, actual: Floats, predicted: Floats, positive: int | None = None) -> Floats:
    """Share of the rows predicted incorrectly."""
    return 1.0 - accuracy_of_counts(hits, actual, predicted)


def balanced_accuracy_of_counts(hits: Floats, actual: Floats, predicted: Floats, positive: int | None = None) -> Floats:
    """Mean recall of the classes that occur."""
    return np.asarray(share(hits, actual).sum(axis=-1) / (actual > 0).sum(axis=-1))


def matthews_of_counts(hits: Floats, actual: Floats, predicted: Floats, positive: int | None = None) -> Floats:
    """Matthews correlation coefficient; 0 where all rows, or all predictions, are of one class."""
    total = actual.sum(axis=-1)
    of, guessed = actual / total[..., None], predicted / total[..., None]
    above = hits.sum(axis=-1) / total - (of * guessed).sum(axis=-1)
    below = np.sqrt(np.maximum((1.0 - (of**2).sum(axis=-1)) * (1.0 - (guessed**2).sum(axis=-1)), 0.0))
    return np.clip(share(above, below), -1.0, 1.0)


def _per_class(name: str, counts: Floats, interval: float | None) -> Any:
    """The share of each class, with Wilson's interval; F1 = 2J / (1 + J), J the share of hits among hits and errors."""
    above, below = (np.asarray(weights) @ counts for weights in SHARES[name])
    values = np.minimum(share(above, below), 1.0)
    if interval is None:
        return values
    if name != "f1":
        low, high = wilson(np.maximum(above, 0.0), below, interval)
    else:
        low, high = (2.0 * j / (1.0 + j) for j in wilson(counts[0], counts[1] + counts[2] - counts[0], interval))
    return Interval(values, np.minimum(low, values), np.maximum(high, values))


def _cells(truth: Array, decided: Array, weight: Floats, k: int) -> tuple[Array, Array, Floats]:
    """Pairs that occur, in order, with their total weights."""
    pairs = truth * np.int64(k) + decided
    if k * k <= 4 * len(pairs) + 64:
        table = totals(pairs, weight, k * k)
        occurring = np.flatnonzero(table)
        return occurring // max(k, 1), occurring % max(k, 1), table[occurring]
    occurring, place = np.unique(pairs, return_inverse=True)
    return occurring // k, occurring % k, totals(place, weight, len(occurring))
