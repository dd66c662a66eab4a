"""The interface between algorithms and data: blocks of rows, and sums over them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Array, Floats, Ints, Matrix
from gramian._core.weights import weights_or_ones
from gramian.rows.blas_threads import single_threaded_blas
from gramian.rows.folds import Folds
from gramian.rows.reduce import add, tree_sum
from gramian.rows.workspace import workspace

T = TypeVar("T")

BLOCK_CELLS = 2**21  # numbers in a block: large enough for the work in Python to be nothing, small enough to spread
BLOCK_ROWS = (9, 14)  # as powers of two: fewer rows are not worth adding d × d numbers up
MAX_BLOCK_CELLS = 2**23


def block_rows(width: int) -> int:
    """Rows in a block of `width` columns: a power of two that depends on the width alone.

    >>> block_rows(100), block_rows(200), block_rows(10**6)
    (16384, 8192, 8)
    """
    rows = min(max(int(np.log2(BLOCK_CELLS / width)), BLOCK_ROWS[0]), BLOCK_ROWS[1])
    return int(2 ** min(rows, max(int(np.log2(MAX_BLOCK_CELLS / width)), 0)))


class Computed:
    """Rows computed by a function from other rows on access: a subset, or all as an array."""

    dtype = np.dtype(np.float64)

    def __init__(self, source: Any, make: Callable[[Any], Array], width: int) -> None:
        self.source, self.make, self.shape = source, make, (len(source), width)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: slice | Ints) -> Array:
        return self.make(self.source[where])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.asarray(self.make(self.source), dtype=dtype)


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows: `X` (dense or CSR), `y` (rows × targets) or None, `weight` or None, index of the first.

    `source` are neighbouring rows; where `index` is given, the block has these of them, gathered when they are used.
    """

    source: Matrix
    y: Array | None
    weight: Array | None
    start: int
    index: Array | None = None

    def __len__(self) -> int:
        return int(self.source.shape[0] if self.index is None else len(self.index))

    @cached_property
    def X(self) -> Matrix:
        if self.index is not None:
            return self.source[self.index]
        return np.asarray(self.source) if isinstance(self.source, Computed) else self.source

    @property
    def weights(self) -> Floats:
        """Weights of the rows, one each where there are none."""
        return weights_or_ones(self.weight, len(self))

    @property
    def total_weight(self) -> float:
        """Sum of the weights: the number of rows where there are none."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    def part(self, rows: slice) -> Matrix:
        """X[rows] of a dense block; gathered rows are in a workspace that the next part of this thread reuses."""
        if self.index is None:
            return self.source[rows]
        index = self.index[rows]
        if isinstance(self.source, Computed):
            return self.source[index]
        room = workspace("rows", len(index), self.source.shape[1], self.source.dtype)
        return np.take(self.source, index, axis=0, out=room, mode="clip")

    def subset(self, rows: slice | Ints) -> "Block":
        """The block of these of its rows, by a slice or an index."""
        return Block(
            self.source[rows] if self.index is None else self.X[rows],
            None if self.y is None else self.y[rows],
            None if self.weight is None else self.weight[rows],
            self.start,
        )


@dataclass(frozen=True, eq=False)
class Basis:
    """Other rows Z, cheaper to compute, with X = Z R⁻¹: sums over X follow from sums over Z by one transformation.

    Attributes
    ----------
    rows : Rows
    R : array (d, d), upper triangle
    well_conditioned : bool
        Whether R is so far from singular that a Gram matrix of Z can be transformed into that of X.
    """

    rows: "Rows"
    R: Array
    well_conditioned: bool


class Rows(ABC):
    """A table of n rows and d features, with or without targets and weights, that can be summed over.

    Attributes
    ----------
    n, d : int
        Rows and features.
    names : tuple of str or None
        Feature names, where the source has them.
    target_names : tuple of str
        Names of the targets; empty without targets.
    one_target : bool
        Whether the targets were given as one column (so that predictions have one axis).
    labels : array or None
        What the target stands for where it is not numbers: the labels in order; `y` then holds their places.
    target_type : dtype
        What the numbers of the target were given as.
    precision : float
        Relative spacing of the numbers given: float32 data carry fewer digits than float64.
    basis : Basis or None
        Cheaper rows of which these are the product with a matrix.
    can_subset : bool
        Whether `subset(index)` makes rows of some of these, without a pass over all of them.
    """

    n: int
    d: int
    names: tuple[str, ...] | None
    target_names: tuple[str, ...]
    one_target: bool
    labels: Array | None = None
    target_type: Any = np.dtype(np.float64)
    precision: float
    weighted: bool
    is_sparse: bool
    basis: Basis | None = None
    can_subset: bool = False

    @abstractmethod
    def block(self, start: int, stop: int) -> Block:
        """Rows start … stop - 1."""

    @property
    def block_size(self) -> int:
        """Rows in a block."""
        return block_rows(self.d + len(self.target_names) + 1)

    def sum(self, f: Callable[[Block], T]) -> T:
        """Sum of `f(block)` over all blocks; `f` returns anything with `+`.

        >>> import gramian as gm
        >>> rows = gm.scan([[1.0, 2.0], [3.0, 4.0]])
        >>> rows.sum(lambda block: block.X.sum(axis=0))
        array([4., 6.])
        """
        size = self.block_size
        return tree_sum(-(-self.n // size), lambda i: f(self.block(i * size, min(self.n, (i + 1) * size))))

    def sum_by_fold(self, f: Callable[[Block], T], folds: Folds) -> list[T | None]:
        """One such sum per fold in a single pass; None for a fold without rows."""
        size = self.block_size

        def leaf(i: int) -> _ByFold:
            start, stop = i * size, min(self.n, (i + 1) * size)
            block, labels = self.block(start, stop), folds.labels(start, stop)
            mixed = bool((labels[1:] < labels[:-1]).any())
            order = np.argsort(labels, kind="stable") if mixed else np.arange(stop - start)
            edges = np.searchsorted(labels[order], np.arange(folds.count + 1))
            parts: dict[int, Any] = {}
            for fold in range(folds.count):
                rows = slice(edges[fold], edges[fold + 1])
                if rows.start == rows.stop:
                    continue
                if not mixed:
                    parts[fold] = f(block.subset(rows))
                    continue
                index = order[rows]
                y = None if block.y is None else block.y[index]
                weight = None if block.weight is None else block.weight[index]
                parts[fold] = f(Block(block.source, y, weight, start, index))
            return _ByFold(parts)

        totals = tree_sum(-(-self.n // size), leaf).parts
        return [totals.get(fold) for fold in range(folds.count)]

    @single_threaded_blas()
    def times(self, coef: Array) -> Array:
        """X · coef for every row, in their order; NaN and infinity in X are refused.

        >>> import gramian as gm
        >>> gm.scan([[1.0, 2.0], [3.0, 4.0]]).times(np.array([1.0, -1.0]))
        array([-1., -1.])
        """
        if self.basis is not None:
            from scipy.linalg import solve_triangular

            return self.basis.rows.times(solve_triangular(self.basis.R, coef, check_finite=False))

        def of_block(block: Block) -> list[Array]:
            X = block.X if sp.issparse(block.X) else np.ascontiguousarray(block.X)  # one order, and so the same bits
            X = X if X.dtype == np.float64 else X.astype(np.float64)
            with np.errstate(all="ignore"):
                return [np.asarray(X @ coef)]

        product = np.concatenate(self.sum(of_block))
        if not np.isfinite(product).all():
            self.refuse_nonfinite()
        return product

    def settled(self) -> "Rows":
        """These rows; of those in memory, what rows of weight zero hold is replaced."""
        return self

    def collect(self) -> Block:
        """All rows as one block. For algorithms that need the matrix itself."""
        return self.block(0, self.n)

    def refuse_nonfinite(self) -> None:
        """Raise if a feature is NaN or infinite, naming columns and rows; return if all are finite."""
        parts = self.sum(lambda block: [(block.start, *_nonfinite(block.X))])
        columns = np.concatenate([columns for _, _, columns, _ in parts])
        if not columns.size:
            return
        first = min(start + int(rows.min()) for start, rows, _, _ in parts if rows.size)
        missing = np.concatenate([is_nan for *_, is_nan in parts])
        kind = "NaN" if missing.any() else "infinity"
        values = (
            "missing values" if missing.all() else "missing or infinite values" if missing.any() else "infinite values"
        )
        worst, counts = np.unique(columns, return_counts=True)
        shown = ", ".join(f"{self.name(j)} ({c})" for j, c in zip(worst[:5], counts[:5], strict=True))
        rest = "" if len(worst) <= 5 else f" and {len(worst) - 5} more columns"
        raise ValueError(
            f"Input X contains {kind}: {columns.size} {values}, in column {shown}{rest}; first at row {first}. Drop "
            "those rows, or fill them first, for example with sklearn.impute.SimpleImputer."
        )

    def refuse_labels(self) -> None:
        """Raise if the target is not numbers."""
        if self.labels is not None and self.labels.dtype != bool:
            example = self.labels.tolist()[0]
            raise ValueError(
                f"y holds {type(example).__name__} values such as {example!r}; a regression needs numbers as its "
                "target."
            )

    def name(self, column: int) -> str:
        """How messages call a column."""
        return repr(self.names[column]) if self.names is not None else str(column)

    def __repr__(self) -> str:
        extras = [f"{self.n} rows × {self.d} features"]
        if self.target_names:
            extras.append("target " + ", ".join(self.target_names))
        if self.weighted:
            extras.append("weighted")
        if self.is_sparse:
            extras.append("sparse")
        return f"<Rows: {', '.join(extras)}>"


class _ByFold:
    """Totals by fold, merged fold by fold."""

    def __init__(self, parts: dict[int, Any]) -> None:
        self.parts = parts

    def _absorb(self, other: "_ByFold") -> "_ByFold":
        for fold, value in other.parts.items():
            self.parts[fold] = add(self.parts[fold], value) if fold in self.parts else value
        return self


def _nonfinite(X: Matrix) -> tuple[Array, Array, Array]:
    """Rows and columns of the numbers that are not finite, and which of them are NaN."""
    if sp.issparse(X):
        coo = X.tocoo()
        bad = ~np.isfinite(coo.data)
        return coo.row[bad].astype(np.int64), coo.col[bad].astype(np.int64), np.isnan(coo.data[bad])
    rows, columns = np.nonzero(~np.isfinite(X))
    return rows, columns, np.isnan(X[rows, columns])
