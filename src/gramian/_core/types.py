"""Types of arrays, of what users give, and of what libraries without types return."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Singles: TypeAlias = NDArray[np.float32]
Bools: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]


class SupportsArray(Protocol):
    """Arrays, and the series and frames that turn into them; a name that `help` shows shortly."""

    def __array__(self) -> NDArray[Any]: ...


# What users give. Readers decide what they accept and refuse the rest in a sentence: `gramian.rows.scan` reads a table
# (an array, a data frame, a sparse matrix, `Rows`; sums where `fit` says so), `Kernel.points` the points of a kernel.
Table: TypeAlias = object
Values: TypeAlias = SupportsArray | Sequence[Any]  # one number or label for each row, or a row of numbers
Weights: TypeAlias = SupportsArray | Sequence[Any] | float | None
Label: TypeAlias = Hashable  # a class, as the user names it
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


class Splitter(Protocol):
    """Folds as scikit-learn's splitters make them."""

    def split(self, X: Table, y: Values | None = None, groups: Values | None = None) -> Iterator[tuple[Ints, Ints]]:
        """Indices of the training and of the test rows of each fold."""

    def get_n_splits(self, X: Table = None, y: Values | None = None, groups: Values | None = None) -> int:
        """How many folds there are."""


CV: TypeAlias = int | str | Splitter | Iterable[tuple[Any, Any]]  # cv=: folds, "loo", pairs of indices


class Points(Protocol):
    """What a kernel compares: rows of numbers or objects, which slice as one."""

    def __len__(self) -> int: ...

    def __getitem__(self, where: Any, /) -> Self: ...


# What has no types of its own.
Matrix: TypeAlias = Any  # Floats or a sparse matrix of SciPy
Chart: TypeAlias = Any  # of Altair: a chart, a layer, an axis, an encoding
Tags: TypeAlias = Any  # of scikit-learn
Estimator: TypeAlias = Any  # of scikit-learn's protocol, ours or another's: what it has depends on its fit
Record: TypeAlias = dict[str, Any]  # one row of the data of a chart: names and values of JSON
