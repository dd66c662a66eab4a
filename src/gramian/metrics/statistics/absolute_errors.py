"""`AbsoluteErrors`: every distinct absolute error with its weight, and their median."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrik

from gramian._core.types import Floats, Values, Weights
from gramian.metrics.input import read_pair
from gramian.metrics.statistics.base import Statistic
from gramian.metrics.statistics.intervals import Interval, Measured, upper_tail
from gramian.metrics.statistics.quantiles import distinct_values, quantiles


@dataclass(frozen=True, eq=False, repr=False)
class AbsoluteErrors(Statistic):
    """The distinct absolute errors of each target in increasing order, and the weight of the rows that have them.

    Exact: nothing is binned or rounded. Made by `AbsoluteErrors.of(y, prediction)`; two are joined with `+`.

    Attributes
    ----------
    errors, weights : tuple of arrays (u,)
        One of each for every target, u its distinct errors.

    Examples
    --------
    >>> import gramian as gm
    >>> first = gm.metrics.AbsoluteErrors.of([1.0, 2.0], [1.0, 4.0])
    >>> both = first + gm.metrics.AbsoluteErrors.of([5.0], [4.0])
    >>> both
    <AbsoluteErrors: 3 rows, 1 target>
    >>> both.median()
    1.0
    """

    errors: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    @classmethod
    def of(cls, y: Values, prediction: Values, sample_weight: Weights = None) -> "AbsoluteErrors":
        """The errors of some rows: y and prediction (n,) or (n, t)."""
        truth, predicted, weight = read_pair(y, prediction, sample_weight)
        with np.errstate(over="ignore"):
            errors = np.abs(truth - predicted)
        infinite = ~np.isfinite(errors).all(axis=1)
        if infinite.any():
            raise OverflowError(
                f"The absolute error of row {int(infinite.argmax())} exceeds the range of float64. Divide y and "
                "prediction by a constant first."
            )
        return cls._of([(column, weight) for column in errors.T])

    @classmethod
    def _of(cls, columns: Iterable[tuple[Floats, Floats]]) -> "AbsoluteErrors":
        grouped = [distinct_values(errors, weight) for errors, weight in columns]
        return cls(tuple(errors for errors, _ in grouped), tuple(weight for _, weight in grouped))

    @property
    def t(self) -> int:
        """Targets."""
        return len(self.errors)

    @property
    def _mass(self) -> float:
        return float(self.weights[0].sum())

    def _merged(self, other: "AbsoluteErrors") -> "AbsoluteErrors":
        if self.t != other.t:
            raise ValueError(f"One part has {self.t} targets and the other {other.t}: give all parts the same ones.")
        pairs = zip(self.errors, other.errors, self.weights, other.weights, strict=True)
        return self._of((np.concatenate([a, b]), np.concatenate([v, w])) for a, b, v, w in pairs)

    def __repr__(self) -> str:
        return f"<AbsoluteErrors: {self._mass:g} rows, {self.t} target{'s' * (self.t != 1)}>"

    def median(self, *, interval: float | None = None) -> Measured:
        """The median, the mean over the targets; with `interval` between two order statistics."""
        self._refuse_nothing()
        columns = list(zip(self.errors, self.weights, strict=True))
        half = np.array([0.5])
        value = float(np.mean([quantiles(errors, weight, half)[0] for errors, weight in columns]))
        if interval is None:
            return value
        tail = (1.0 - upper_tail(interval)) / self.t
        ends = np.array([median_bounds(errors, weight, tail) for errors, weight in columns])
        low, high = ends.mean(axis=0).tolist()
        return Interval(value, min(low, value), max(high, value))


def median_bounds(errors: Floats, weight: Floats, tail: float) -> tuple[float, float]:
    """Order statistics between which the median lies, each side missing it with a probability of at most `tail`.

    The number of n values below their median is binomial (n, ½). n is the weight, rounded down.

    >>> median_bounds(np.arange(1.0, 11.0), np.ones(10), 0.025)  # P(Binomial(10, ½) ≤ 1) = 0.011
    (2.0, 9.0)
    """
    up_to = np.cumsum(weight)
    n = int(np.floor(up_to[-1]))
    rank = int(np.ceil(bdtrik(tail, n, 0.5))) if n and tail > 0.5**n else 0
    rank -= rank > 0 and bdtr(rank - 1, n, 0.5) >= tail
    if rank < 1:
        return 0.0, np.inf
    places = np.searchsorted(up_to * (n / up_to[-1]), [rank, n + 1 - rank])
    low, high = errors[np.minimum(places, len(errors) - 1)]
    return float(low), float(high)
