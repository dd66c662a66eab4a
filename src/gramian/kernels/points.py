"""Points that kernels compare, read and checked once: rows of numbers, objects, and things that slice as one."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.rows import scan

KEPT = 8  # things prepared of one set of rows
_preparing = threading.RLock()


class Vectors:
    """Rows of numbers, dense or sparse (CSR), with what kernels prepare of them once.

    A slice remembers the rows it was cut from, so that what is prepared (rows in units of a length scale, their norms)
    is prepared for the whole and cut as well.
    """

    def __init__(self, X: Any, home: "Vectors | None" = None, where: Any = None) -> None:
        self.X = X
        self.home: Vectors = self if home is None else home
        self.where = where
        self._made: dict[Any, Any] = {}

    @property
    def is_sparse(self) -> bool:
        return bool(sp.issparse(self.X))

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, where: Any) -> "Vectors":
        if self.home is self:
            return Vectors(self.X[where], self, where)
        if isinstance(where, slice) and isinstance(self.where, slice):
            steps = range(len(self.home))[self.where][where]
            stop = None if steps.stop < 0 else steps.stop
            return Vectors(self.X[where], self.home, slice(steps.start, stop, steps.step))
        return Vectors(self.X[where], self.home, np.arange(len(self.home))[self.where][where])

    def made(self, key: Any, make: Callable[["Vectors"], tuple[Any, ...]]) -> tuple[Any, ...]:
        """`make(these rows)`: arrays with one entry per row, made once for the rows these were cut from."""
        home = self.home
        parts: tuple[Any, ...] | None = home._made.get(key)
        if parts is None:
            with _preparing:
                parts = home._made.get(key)
                if parts is None:
                    if len(home._made) >= KEPT:
                        home._made.pop(next(iter(home._made)))
                    parts = home._made[key] = make(home)
        return parts if home is self else tuple(part[self.where] for part in parts)

    def dense(self) -> Floats:
        return np.asarray(self.X.toarray() if self.is_sparse else self.X)

    def like(self, other: "Vectors") -> "Vectors":
        """The same rows stored as the other's are."""
        if self.is_sparse == other.is_sparse:
            return self
        return Vectors(sp.csr_matrix(self.X) if other.is_sparse else self.dense())

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["X"])  # type: ignore[misc]


def vectors(X: Any) -> Vectors:
    """Rows of numbers from an array, a frame or a sparse matrix; NaN and infinity are refused by column and row."""
    if isinstance(X, Vectors):
        return X
    rows = scan(X)
    values = rows.collect().X
    if not np.isfinite(values.data if sp.issparse(values) else values).all():
        rows.refuse_nonfinite()
    if sp.issparse(values):
        values = sp.csr_matrix(values, dtype=np.float64)
        values.sort_indices()
        return Vectors(values)
    return Vectors(np.ascontiguousarray(values, dtype=np.float64))


def is_table(X: Any) -> bool:
    """Whether X is rows of numbers: an array, a sparse matrix, a frame of numeric columns, a list of lists."""
    if isinstance(X, Vectors) or sp.issparse(X):
        return True
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return all(kind.is_numeric() or kind == nw.Boolean for kind in frame.collect_schema().dtypes())
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):  # lists of different lengths
        return False
    return array.ndim == 2 and array.dtype.kind in "fiub"


class Items:
    """Objects of any kind in order: strings, graphs, tuples."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = list(items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __getitem__(self, where: Any) -> "Items":
        if isinstance(where, slice):
            return Items(self.items[where])
        return Items([self.items[i] for i in np.arange(len(self))[where]])


class Together:
    """Several things with one entry per point that slice as one."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, where: Any) -> "Together":
        return Together(*(part[where] for part in self.parts))


def alone(points: Any) -> Any:
    """The same points, not cut from others: what is prepared of them, and so its rounding, is the same once pickled."""
    if isinstance(points, Vectors) and points.home is not points:
        return Vectors(points.X)
    return Together(*map(alone, points.parts)) if isinstance(points, Together) else points


def refuse_other_columns(A: Vectors, B: Vectors) -> None:
    """Raise if two sets of rows have not the same number of columns."""
    if A.d != B.d:
        raise ValueError(f"X has {A.d} columns and Z has {B.d}; they must have the same columns.")


def products(A: Vectors, B: Vectors) -> Floats:
    """All inner products, (len(A), len(B))."""
    refuse_other_columns(A, B)
    return inner(A.like(B).X, B.X)


def inner(X: Any, Z: Any) -> Floats:
    """X Zᵀ as a dense array, of two dense or two sparse matrices."""
    products = X @ Z.T
    return np.asarray(products.toarray() if sp.issparse(products) else products, dtype=np.float64)


def square_norms(X: Any) -> Floats:
    """‖x‖² of every row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).reshape(-1)
    return np.asarray(np.einsum("ij,ij->i", X, X))
