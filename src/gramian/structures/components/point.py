"""A point: the mean of its rows, or their median."""

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramian._core import validation
from gramian._core.types import Floats, Matrix
from gramian.structures.components.base import Structure
from gramian.structures.components.medians import Values, medians
from gramian.structures.loop.multipass import PassRequest
from gramian.structures.loop.sufficient_statistics import WeightedSum

LOSSES = ("squared", "absolute")


@dataclass(eq=False)
class Point(Structure):
    """A point: the mean minimises Σw ‖x − c‖², the median of every column Σw ‖x − c‖₁.

    Parameters
    ----------
    error : "squared" or "absolute"

    Attributes
    ----------
    center_ : array (d,)

    Examples
    --------
    >>> Point().fit([[0.0, 1.0], [2.0, 1.0], [7.0, 1.0]]).center_
    array([3., 1.])
    >>> Point("absolute").fit([[0.0, 1.0], [2.0, 1.0], [7.0, 1.0]]).center_
    array([2., 1.])
    """

    error: str = "squared"
    is_point: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    noun: ClassVar[tuple[str, str]] = ("point", "points")

    @property
    def is_mean(self) -> bool:  # type: ignore[override]
        return self.error == "squared"

    @property
    def power(self) -> int:  # type: ignore[override]
        return 2 if self.is_mean else 1

    def check(self, d: int) -> None:
        validation.choice("error", self.error, LOSSES)

    def loss(self, X: Matrix) -> Floats:
        return self._squared_distances(X) if self.is_mean else self._absolute_distances(X)

    def _squared_distances(self, X: Matrix) -> Floats:
        if sp.issparse(X):
            own = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
            return np.maximum(own - 2.0 * (X @ self.center_) + self.center_ @ self.center_, 0.0)
        deviation = X - self.center_
        return np.einsum("ij,ij->i", deviation, deviation)

    def _absolute_distances(self, X: Matrix) -> Floats:
        if not sp.issparse(X):
            return np.abs(X - self.center_).sum(axis=1)
        center = self.center_[X.indices]
        differences = sp.csr_array((np.abs(X.data - center) - np.abs(center), X.indices, X.indptr), shape=X.shape)
        return np.maximum(np.asarray(differences.sum(axis=1)).reshape(-1) + np.abs(self.center_).sum(), 0.0)

    def statistics(self, X: Matrix, weight: Floats) -> Any:
        return WeightedSum.of(X, weight) if self.is_mean else Values.of(X, weight)

    def pass_requests(self, max_passes: int | None = None) -> PassRequest[Any]:
        totals = yield self.statistics
        return totals.sum / totals.weight if self.is_mean else (yield from medians(totals))

    def _update(self, estimate: Any) -> None:
        self.center_ = estimate

    def moved_to(self, x: Floats) -> "Point":
        other = copy(self)
        other.center_ = np.array(x, dtype=np.float64)
        return other

    def n_parameters(self, d: int) -> int:
        return d
