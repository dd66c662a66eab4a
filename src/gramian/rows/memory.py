"""Rows that are in memory: arrays, sparse matrices, and the columns of data frames."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from gramian._core.types import Array, Floats, Matrix
from gramian._core.weights import weights_or_ones
from gramian.rows.base import Block, Rows, block_rows

SPARSE = 0.02  # share of numbers stored below which blocks are cut by what is stored


class MemoryRows(Rows):
    """Rows over an array (any float or integer type, any order), a CSR matrix, or a list of columns.

    Nothing is copied: blocks are cut, and converted where needed, as they are asked for.
    """

    can_subset = True

    def __init__(
        self,
        X: Matrix,
        y: Array | None,
        weight: Array | None,
        *,
        names: tuple[str, ...] | None = None,
        target_names: tuple[str, ...] = (),
        one_target: bool = True,
        labels: Array | None = None,
        target_type: DTypeLike = np.float64,
    ) -> None:
        self.X = X
        self.y = y
        self.weight = weight
        self.names = names
        self.target_names = target_names
        self.one_target = one_target
        self.labels = labels
        self.target_type = np.dtype(target_type)
        self.weighted = weight is not None
        self.is_sparse = sp.issparse(X)
        if isinstance(X, list):
            self.n, self.d = len(X[0]), len(X)
            kinds = {column.dtype for column in X}
        else:
            self.n, self.d = X.shape
            kinds = {X.dtype}
        single = kinds <= {np.dtype(np.float32), np.dtype(np.float16)}
        self.precision = float(np.finfo(np.float32 if single else np.float64).eps)

    @property
    def weights(self) -> Floats:
        """Weights of the rows, one each where there are none."""
        return weights_or_ones(self.weight, self.n)

    def block(self, start: int, stop: int) -> Block:
        return Block(
            self._features(start, stop),
            None if self.y is None else self.y[start:stop],
            None if self.weight is None else self.weight[start:stop],
            start,
        )

    @property
    def block_size(self) -> int:
        """Rows in a block: of a sparse table, by the numbers that are stored."""
        if not self.is_sparse or self.X.nnz > SPARSE * self.n * self.d:
            return super().block_size
        return block_rows(self.X.nnz // max(self.n, 1) + len(self.target_names) + 1)

    def subset(self, index: Array) -> "MemoryRows":
        """The rows of an index, copied."""
        if isinstance(self.X, list):
            X: Matrix = [column[index] for column in self.X]
        else:
            X = self.X[index]
        return MemoryRows(
            X,
            None if self.y is None else self.y[index],
            None if self.weight is None else self.weight[index],
            names=self.names,
            target_names=self.target_names,
            one_target=self.one_target,
            labels=self.labels,
            target_type=self.target_type,
        )

    def settled(self) -> "MemoryRows":
        """The same rows, with those of weight zero replaced by the first of positive weight."""
        index = replacement_index(self.weight)
        if index is None:
            return self
        replaced = self.subset(index)
        replaced.weight = self.weight
        return replaced

    def _features(self, start: int, stop: int) -> Matrix:
        if isinstance(self.X, list):
            part = np.empty((stop - start, self.d))
            for j, column in enumerate(self.X):
                part[:, j] = column[start:stop]
            return part
        whole = stop - start == self.n
        part = self.X if whole else _cut(self.X, start, stop) if self.is_sparse else self.X[start:stop]
        return part if part.dtype in (np.float64, np.float32) else part.astype(np.float64)


def replacement_index(weight: Array | None) -> Array | None:
    """The index of every row, of the first row of positive weight where its weight is zero; None if nothing changes."""
    if weight is None or (weight > 0).all() or not (weight > 0).any():
        return None
    return np.where(weight > 0, np.arange(len(weight)), np.argmax(weight > 0))


def _cut(X: Matrix, start: int, stop: int) -> Matrix:
    """Neighbouring rows of a CSR matrix, sharing its memory."""
    first, last = X.indptr[start], X.indptr[stop]
    part = sp.csr_array(
        (X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first),
        shape=(stop - start, X.shape[1]),
    )
    part.has_canonical_format = True
    return part
