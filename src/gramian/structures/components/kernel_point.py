"""A point in the feature space of a kernel: the weighted mean of the features of some rows."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian.kernels.input import is_matrix, point_weights, refuse_invalid
from gramian.kernels.named import kernel_of
from gramian.rows import Rows, scan
from gramian.structures.components.base import Structure

Floats = NDArray[np.float64]


@dataclass(eq=False)
class KernelPoint(Structure):
    """The mean of features φ(x), of which only inner products k(x, x') are known.

    Its loss is ‖φ(x) − Σw φ(x_i)/Σw‖². `gm.KMeans(kernel=…)` clusters by such points.

    Parameters
    ----------
    kernel : str or Kernel

    Attributes
    ----------
    kernel_ : Kernel
        With what was set from the data.
    points_ : points of the kernel, of which `weights_` (m,) make the mean
    norm_ : float
        Its squared length.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> KernelPoint(Linear()).fit([[0.0, 1.0], [2.0, 1.0]]).distance([[1.0, 3.0]])
    array([2.])
    """

    kernel: Any = "rbf"
    _learned: ClassVar[str] = "points_"

    def fit(self, X: Any, sample_weight: Any = None) -> "KernelPoint":
        if isinstance(X, Rows):
            block = X.collect()
            X, sample_weight = block.X, block.weight
        kernel = kernel_of(self.kernel).fitted(X, point_weights(X, sample_weight))
        refuse_invalid(kernel, X)
        points = kernel.points(X)
        weight = scan(np.zeros((len(points), 1)), sample_weight=sample_weight).collect().weight
        self.kernel_ = kernel
        return self.mean_of(points, np.ones(len(points)) if weight is None else np.asarray(weight, dtype=np.float64))

    def mean_of(self, points: Any, weight: Floats, norm: float | None = None) -> "KernelPoint":
        """Take the mean of points of the kernel."""
        kept = np.flatnonzero(weight > 0)
        if is_matrix(self.kernel_):  # new points are columns of k to all points of the fit
            kept = np.arange(len(weight))
        self.points_ = points[kept]
        self.weights_ = weight[kept] / weight.sum()
        if norm is None:
            norm = float(self.weights_ @ self.kernel_.times(self.points_, self.points_, self.weights_))
        self.norm_ = norm
        return self

    def check(self, d: int) -> None:
        raise ValueError("A point in a feature space is no place among rows; cluster by gm.KMeans(kernel=…).")

    def chart(self, *arguments: Any, **more: Any) -> Any:
        raise ValueError(
            "A point in a feature space has no place among columns: draw what it owns by gm.KMeans(kernel=…), "
            'chart("clusters", X).'
        )

    def distance(self, X: Any) -> Floats:
        """Distance of every row's features from the mean."""
        if not hasattr(self, "points_"):
            raise ValueError(f"{self!r} is not fitted yet: call fit first.")
        return np.sqrt(self.loss(self.kernel_.points(X)))

    def loss(self, X: Any) -> Floats:
        return np.maximum(self.kernel_.diag(X) + self.relative(X), 0.0)

    def relative(self, X: Any) -> Floats:
        """The loss less k(x, x), which all such points share."""
        return self.norm_ - 2.0 * self.kernel_.times(X, self.points_, self.weights_)

    # the loop over rows needs these, and `check` sends it to the one over kernels

    def gather(self, X: Any, weight: Floats) -> Any:
        return self.check(0)

    def _learn(self, summary: Any) -> None:
        self.check(0)

    def through(self, x: Floats) -> "KernelPoint":
        self.check(0)
        return self

    def parameters(self, d: int) -> int:
        return d
