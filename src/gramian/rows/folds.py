"""Which fold a row belongs to: a function of the row's index, so that nothing is shuffled and every home agrees."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gramian._core.types import Ints

_Labels = Ints


class Folds(ABC):
    """Labels 0 … count - 1 for rows; -1 for a row in no fold."""

    count: int

    @abstractmethod
    def labels(self, start: int, stop: int) -> _Labels:
        """Labels of the rows start … stop - 1."""


@dataclass(frozen=True)
class CountedFolds(Folds):
    """Random folds of equal size: each run of `count` neighbouring rows gives one row to every fold.

    The order within a run comes from a counter-based generator keyed by the run's index, so the label of a row
    needs neither the other rows nor their number.

    >>> folds = CountedFolds(5, seed=0)
    >>> bool((folds.labels(7, 9) == folds.labels(0, 20)[7:9]).all())
    True
    """

    count: int
    seed: int = 0

    def labels(self, start: int, stop: int) -> _Labels:
        first, last = start // self.count, -(-stop // self.count)
        index = np.arange(first * self.count, last * self.count, dtype=np.uint64)
        keys = mixed(index, self.seed).reshape(-1, self.count)
        ranks = np.argsort(np.argsort(keys, axis=1, kind="stable"), axis=1, kind="stable")
        return ranks.reshape(-1)[start - first * self.count : stop - first * self.count].astype(np.int64)


@dataclass(frozen=True, eq=False)
class LabelledFolds(Folds):
    """Folds given as one label per row.

    >>> LabelledFolds(np.array([0, 1, -1])).count
    2
    """

    values: _Labels

    @property
    def count(self) -> int:  # type: ignore[override]
        return int(self.values.max(initial=-1)) + 1

    def labels(self, start: int, stop: int) -> _Labels:
        return self.values[start:stop]


def mixed(index: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """SplitMix64's finaliser over (index, seed): one multiply-xorshift cascade, no state."""
    golden = 0x9E3779B97F4A7C15
    offset = np.uint64((seed * golden + 0xD1B54A32D192ED03) % 2**64)
    with np.errstate(over="ignore"):
        x = index * np.uint64(golden) + offset
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
