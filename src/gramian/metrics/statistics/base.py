"""What every statistic behind a metric is: a value that can be added to another of its kind."""

from abc import ABC, abstractmethod
from typing import Self


class Statistic(ABC):
    """What a metric needs of some rows: small or sorted, never changed, and added with `+`.

    The statistic of all rows is the sum of the statistics of their blocks, in any order and grouping, to rounding;
    `sum(...)` and `rows.sum(...)` work. Weights are counts: weight 2 is the row twice, weight 0 is no row.

    >>> import gramian as gm
    >>> parts = [gm.metrics.Confusion.of(["a", "b"], ["a", "a"]), gm.metrics.Confusion.of(["b"], ["b"])]
    >>> sum(parts).accuracy()
    0.6666666666666666
    """

    @abstractmethod
    def _merged(self, other: Self) -> Self:
        """The statistic of the rows of both."""

    @property
    @abstractmethod
    def _mass(self) -> float:
        """Total weight of the rows."""

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        if other._mass == 0:
            return self
        return other if self._mass == 0 else self._merged(other)

    def __radd__(self, other: object) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _refuse_nothing(self) -> None:
        if self._mass == 0:
            raise ValueError("There are no rows of positive weight, so there is nothing to measure.")
