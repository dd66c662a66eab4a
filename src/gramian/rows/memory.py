"""Rows that are in memory: arrays, sparse matrices, and the columns of data frames."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian.rows.base import Array, Block, Rows


class MemoryRows(Rows):
    """Rows over an array (any float or integer type, any order), a CSR matrix, or a list of columns.

    Nothing is copied: blocks are cut, and converted where needed, as they are asked for.
    """

    def __init__(
        self,
        X: Any,
        y: Array | None,
        weight: Array | None,
        *,
        names: tuple[str, ...] | None = None,
        target_names: tuple[str, ...] = (),
        one_target: bool = True,
    ) -> None:
        self.X = X
        self.y = y
        self.weight = weight
        self.names = names
        self.target_names = target_names
        self.one_target = one_target
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

    def block(self, start: int, stop: int) -> Block:
        return Block(
            self._features(start, stop),
            None if self.y is None else self.y[start:stop],
            None if self.weight is None else self.weight[start:stop],
            start,
        )

    def _features(self, start: int, stop: int) -> Any:
        if isinstance(self.X, list):
            part = np.empty((stop - start, self.d))
            for j, column in enumerate(self.X):
                part[:, j] = column[start:stop]
            return part
        part = self.X if stop - start == self.n else self.X[start:stop]
        return part if part.dtype in (np.float64, np.float32) else part.astype(np.float64)
