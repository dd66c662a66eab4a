"""Rows whose target is a class: which classes there are, and each row's class as a number."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gramian._core.types import Array, Ints
from gramian.rows.base import Basis, Block, Rows
from gramian.rows.folds import Folds
from gramian.rows.memory import MemoryRows

T = TypeVar("T")


class CodedRows(Rows):
    """The same rows with another target and weight, both functions of the target given.

    Parameters
    ----------
    rows : Rows
    code : function
        From the target (n, 1) of some rows to their new target (n, 1).
    factor : function, optional
        From the target (n, 1) of some rows to what their weights are multiplied by, (n,).
    """

    def __init__(
        self, rows: Rows, code: Callable[[Array], Array], factor: Callable[[Array], Array] | None = None
    ) -> None:
        self.rows, self.code, self.factor = rows, code, factor
        self.n, self.d, self.names = rows.n, rows.d, rows.names
        self.target_names, self.one_target, self.precision = rows.target_names, rows.one_target, rows.precision
        self.labels, self.target_type = None, np.dtype(np.float64)
        self.weighted = rows.weighted or factor is not None
        self.is_sparse, self.can_subset = rows.is_sparse, rows.can_subset
        if rows.basis is not None:
            self.basis = Basis(CodedRows(rows.basis.rows, code, factor), rows.basis.R, rows.basis.well_conditioned)

    @property
    def block_size(self) -> int:
        return self.rows.block_size

    def subset(self, index: slice | Ints) -> "CodedRows":
        """The rows of an index, where the rows support it."""
        return CodedRows(self.rows.subset(index), self.code, self.factor)  # type: ignore[attr-defined]

    def settled(self) -> "CodedRows":
        rows = self.rows.settled()
        return self if rows is self.rows else CodedRows(rows, self.code, self.factor)

    def block(self, start: int, stop: int) -> Block:
        return self._coded(self.rows.block(start, stop))

    def sum(self, f: Callable[[Block], T]) -> T:
        return self.rows.sum(lambda block: f(self._coded(block)))

    def sum_by_fold(self, f: Callable[[Block], T], folds: Folds) -> list[T | None]:
        return self.rows.sum_by_fold(lambda block: f(self._coded(block)), folds)

    def _coded(self, block: Block) -> Block:
        assert block.y is not None
        weight = block.weight
        if self.factor is not None:
            weight = self.factor(block.y) if weight is None else weight * self.factor(block.y)
        return Block(block.source, self.code(block.y), weight, block.start, block.index)


def coded(rows: Rows, code: Callable[[Array], Array], factor: Callable[[Array], Array] | None = None) -> Rows:
    """`CodedRows`, worked out at once where the rows are in memory."""
    if not isinstance(rows, MemoryRows):
        return CodedRows(rows, code, factor)
    assert rows.y is not None
    weight = rows.weight
    if factor is not None:
        weight = factor(rows.y) if weight is None else weight * factor(rows.y)
    return MemoryRows(
        rows.X,
        code(rows.y),
        weight,
        names=rows.names,
        target_names=rows.target_names,
        one_target=rows.one_target,
    )


def class_weights(rows: Rows) -> tuple[Array, Array]:
    """The targets that rows of positive weight have, in order, and the total weight of each.

    >>> from gramian.rows import scan
    >>> class_weights(scan([[0.0], [1.0], [2.0]], [5, 3, 3]))
    (array([3., 5.]), array([2., 1.]))
    """

    def of_block(block: Block) -> dict[str, Any]:
        assert block.y is not None
        y = block.y[:, 0]
        w = block.weights
        values, codes = np.unique(y[w > 0], return_inverse=True)
        return _Totals(dict(zip(values.tolist(), np.bincount(codes, w[w > 0], len(values)).tolist(), strict=True)))

    totals = rows.sum(of_block)
    values = np.array(sorted(totals))
    return values, np.array([totals[value] for value in values.tolist()])


class _Totals(dict[Any, Any]):
    """Totals by key, added key by key."""

    def __add__(self, other: "_Totals") -> "_Totals":
        return _Totals({key: self.get(key, 0.0) + other.get(key, 0.0) for key in {**self, **other}})
