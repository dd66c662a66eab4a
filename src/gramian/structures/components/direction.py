"""A direction: the mean direction of rows that are compared by their angles.

The nearest of k directions is spherical k-means; with the rule "soft" the fit approximates, for high concentration, a
mixture of von Mises–Fisher distributions.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gramian._core.types import Floats, Matrix
from gramian.structures.components.base import Structure
from gramian.structures.components.geometry import Geometry
from gramian.structures.loop.sufficient_statistics import WeightedSum


@dataclass(eq=False)
class Direction(Structure):
    """The unit vector of least Σw ‖x/‖x‖ − μ‖² = Σw 2(1 − cos ∠(x, μ)); zero rows are at distance 1.

    Attributes
    ----------
    direction_ : array (d,), resultant_length_ : float
        The unit vector, and ‖Σw x/‖x‖‖ / Σw: 1 where all rows have one direction, 0 where they cancel.

    Examples
    --------
    >>> Direction().fit([[3.0, 0.0], [0.0, 0.5]]).direction_.round(3)
    array([0.707, 0.707])
    """

    scale_free: ClassVar[bool] = True
    location_attribute: ClassVar[str] = "direction_"
    noun: ClassVar[tuple[str, str]] = ("direction", "directions")

    def loss(self, X: Matrix) -> Floats:
        return ((_unit_rows(X) - self.direction_) ** 2).sum(axis=1)

    def statistics(self, X: Matrix, weight: Floats) -> WeightedSum:
        return WeightedSum.of(_unit_rows(X), weight)

    def _update(self, estimate: WeightedSum) -> None:
        length = np.linalg.norm(estimate.sum)
        self.direction_ = estimate.sum / length if length > 0 else np.eye(len(estimate.sum))[0]
        self.resultant_length_ = float(length / estimate.weight)

    def moved_to(self, x: Floats) -> "Direction":
        return self.fitted_to(x[None], np.ones(1))

    def n_parameters(self, d: int) -> int:
        return d - 1

    def codimension(self, d: int) -> int:
        return d - 1

    def geometry(self) -> Geometry:
        return Geometry(self.direction_, directions=self.direction_[None], start=np.zeros_like(self.direction_))


def _unit_rows(X: Matrix) -> Floats:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0, lengths, 1.0))
