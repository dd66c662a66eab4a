"""A point: the mean of its rows, or their median."""

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian._core import validation
from gramian.structures.components.base import Structure
from gramian.structures.components.medians import Values, medians
from gramian.structures.loop.multipass import PassRequest
from gramian.structures.loop.sufficient_statistics import Totals

Floats = NDArray[np.float64]
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
    takes_sparse: ClassVar[bool] = True

    @property
    def power(self) -> int:  # type: ignore[override]
        return 2 if self.error == "squared" else 1

    def check(self, d: int) -> None:
        validation.choice("error", self.error, LOSSES)

    def loss(self, X: Any) -> Floats:
        return self._squares(X) if self.error == "squared" else self._absolutes(X)

    def _squares(self, X: Any) -> Floats:
        if sp.issparse(X):
            own = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
            return np.maximum(own - 2.0 * (X @ self.center_) + self.center_ @ self.center_, 0.0)
        away = X - self.center_
        return np.einsum("ij,ij->i", away, away)

    def _absolutes(self, X: Any) -> Floats:
        if not sp.issparse(X):
            return np.abs(X - self.center_).sum(axis=1)
        at = self.center_[X.indices]
        more = sp.csr_array((np.abs(X.data - at) - np.abs(at), X.indices, X.indptr), shape=X.shape)
        return np.maximum(np.asarray(more.sum(axis=1)).reshape(-1) + np.abs(self.center_).sum(), 0.0)

    def gather(self, X: Any, weight: Floats) -> Any:
        return Totals.of(X, weight) if self.error == "squared" else Values.of(X, weight)

    def learning(self, passes: int | None = None) -> PassRequest[Any]:
        found = yield self.gather
        return found.sum / found.weight if self.error == "squared" else (yield from medians(found))

    def _learn(self, summary: Any) -> None:
        self.center_ = summary

    def through(self, x: Floats) -> "Point":
        found = copy(self)
        found.center_ = np.array(x, dtype=np.float64)
        return found

    def parameters(self, d: int) -> int:
        return d


def all_means(structures: list[Any]) -> bool:
    """Whether all are points that are fitted by their mean."""
    return all(type(each) is Point and each.error == "squared" for each in structures)
