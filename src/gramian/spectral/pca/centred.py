"""Products with centred rows that are never made: sparse rows stay sparse, and files are read block by block."""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.features.deviations import MeansAndDeviations, means_and_deviations
from gramian.rows import Block, Rows, workspace

if TYPE_CHECKING:
    from gramian.spectral.pca.principal_axes import Principal

FAR = 100.0  # distance of the mean from zero, in deviations, from which rows are centred before they are multiplied
CELLS = 2**17  # numbers whose means and deviations are computed together
CHECKED = 32  # axes whose residual is computed


class CentredRows:
    """Z = √w (X − mean) · unit, by its products. One pass for means and deviations when made."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        with np.errstate(all="ignore"):
            sums: MeansAndDeviations = rows.sum(_column_deviations)
        if not np.isfinite(sums.deviation).all():
            rows.refuse_nonfinite()
        self.mean, self.weight = sums.mean, sums.weight
        precision = 2 * rows.precision * np.abs(self.mean)
        varies = ~sums.constant & (sums.deviation > precision)
        top = int(np.frexp(sums.deviation.max(initial=0.0))[1])
        self.exponent = top if abs(top) > 200 else 0
        self.unit = float(np.ldexp(1.0, -self.exponent))
        self.total = float(((sums.deviation[varies] * self.unit) ** 2).sum() * self.weight)
        self.varying = int(varies.sum())
        self.n = rows.n
        self.positive = int(rows.sum(lambda block: np.count_nonzero(block.weights)))
        size = float(np.linalg.norm(self.mean * self.unit))
        self.far = size * np.sqrt(self.weight) > FAR * np.sqrt(self.total)

    @property
    def d(self) -> int:
        return self.rows.d

    @property
    def most(self) -> int:
        return max(min(self.positive - 1, self.varying), 0)

    def times(self, Q: Floats) -> Floats:
        """ZᵀZ Q in one pass, for Q (d, b)."""
        Q = np.ascontiguousarray(Q)
        offset = self.mean @ Q

        def of_block(block: Block) -> Any:
            X = self._part(block)
            Y = np.asarray(X @ Q)
            if not self._centres(block):
                Y -= offset
            if self.unit != 1.0:
                Y *= self.unit
            if block.weight is not None:
                Y *= block.weight[:, None]
            product = np.asarray((X.T @ Y).T if sp.issparse(X) else Y.T @ X)
            if not self._centres(block):
                product -= np.outer(Y.sum(axis=0), self.mean)
            return product * self.unit if self.unit != 1.0 else product

        return np.ascontiguousarray(np.asarray(self.rows.sum(of_block)).T)

    def dual_times(self, U: Floats) -> Floats:
        """Z Zᵀ U in two passes, for U (n, b): shorter vectors where there are fewer rows than columns."""
        Q = np.ascontiguousarray(self.left_times(U))
        offset = self.mean @ Q

        def of_block(block: Block) -> Any:
            Y = np.asarray(self._part(block) @ Q)
            if not self._centres(block):
                Y -= offset
            Y *= self.unit
            return [Y if block.weight is None else Y * np.sqrt(block.weight)[:, None]]

        return np.concatenate(self.rows.sum(of_block))

    def left_times(self, U: Floats) -> Floats:
        """ZᵀU for U (n, b)."""

        def of_block(block: Block) -> Any:
            X = self._part(block)
            Y = U[block.start : block.start + len(block)] * self.unit
            if block.weight is not None:
                Y = Y * np.sqrt(block.weight)[:, None]
            product = np.asarray((X.T @ Y).T if sp.issparse(X) else Y.T @ X)
            return product if self._centres(block) else product - np.outer(Y.sum(axis=0), self.mean)

        return np.asarray(self.rows.sum(of_block)).T

    def dense(self) -> Floats:
        """Z itself."""
        block = self.rows.collect()
        Z = np.array(block.X.toarray() if sp.issparse(block.X) else block.X, dtype=np.float64)
        Z -= self.mean
        Z *= self.unit
        return Z if block.weight is None else Z * np.sqrt(block.weight)[:, None]

    def principal(self, values: Floats, axes: Floats, through: str, reason: str) -> "Principal":
        """These eigenvalues and axes as a `Principal`, with their residual computed from the rows."""
        from gramian.spectral.pca.principal_axes import Principal

        checked_axes = np.unique(np.linspace(0, len(axes) - 1, min(len(axes), CHECKED)).astype(int))
        residual = 0.0
        if len(values) and values[0] > 0 and len(checked_axes):
            residuals = self.times(axes[checked_axes].T) - axes[checked_axes].T * values[checked_axes]
            residual = float(np.linalg.norm(residuals, axis=0).max()) / float(values[0])
        return Principal(
            values, axes, self.total, self.mean, self.weight, self.positive, self.varying, self.exponent, through,
            reason, residual,
        )  # fmt: skip

    def _centres(self, block: Block) -> bool:
        return self.far and not self.rows.is_sparse

    def _part(self, block: Block) -> Any:
        X = block.X
        if sp.issparse(X):
            return X.astype(np.float64, copy=False)
        if self._centres(block):
            return np.subtract(X, self.mean, out=workspace("centred", *X.shape))
        return np.ascontiguousarray(X, dtype=np.float64)


def _column_deviations(block: Block) -> MeansAndDeviations:
    """Means and deviations of a block, in panels of columns that stay in the cache while they are read again."""
    n, d = block.X.shape
    width = max(CELLS // max(n, 1), 1)
    with np.errstate(all="ignore"):  # what is not finite shows in the sums
        if sp.issparse(block.X) or width >= d:
            return means_and_deviations(block)
        parts = [
            means_and_deviations(Block(block.X[:, j : j + width], None, block.weight, 0)) for j in range(0, d, width)
        ]
    return MeansAndDeviations.side_by_side(parts)
