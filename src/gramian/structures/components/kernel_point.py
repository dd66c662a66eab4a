"""A point in the feature space of a kernel: the weighted mean of the features of some rows."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gramian._core.types import Floats, Matrix, Points, Table, Weights
from gramian.kernels.base import Kernel
from gramian.kernels.input import is_matrix, point_weights, refuse_invalid
from gramian.kernels.named import kernel_of
from gramian.rows import Rows, scan
from gramian.structures.components.base import Structure


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

    kernel: str | Kernel | None = "rbf"
    is_point: ClassVar[bool] = True
    location_attribute: ClassVar[str] = "points_"
    noun: ClassVar[tuple[str, str]] = ("point", "points")
    own_charts: ClassVar[tuple[str, ...]] = ()

    def fit(self, X: Table, sample_weight: Weights = None) -> "KernelPoint":
        if isinstance(X, Rows):
            block = X.collect()
            X, sample_weight = block.X, block.weight
        kernel = kernel_of(self.kernel).fitted(X, point_weights(X, sample_weight))
        refuse_invalid(kernel, X)
        points = kernel.points(X)
        weight = scan(np.zeros((len(points), 1)), sample_weight=sample_weight).collect().weights
        self.kernel_ = kernel
        return self.mean_of(points, weight)

    def mean_of(self, points: Points, weight: Floats, norm: float | None = None) -> "KernelPoint":
        """Take the mean of points of the kernel."""
        used = np.flatnonzero(weight > 0)
        if is_matrix(self.kernel_):  # new points are columns of k to all points of the fit
            used = np.arange(len(weight))
        self.points_ = points[used]
        self.weights_ = weight[used] / weight.sum()
        if norm is None:
            norm = float(self.weights_ @ self.kernel_.times(self.points_, self.points_, self.weights_))
        self.norm_ = norm
        return self

    def check(self, d: int) -> None:
        raise ValueError("A point in a feature space has no place among rows: use gm.KMeans(kernel=…).")

    def geometry(self) -> None:
        return None

    def chart(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            "A point in a feature space has no place among columns: draw its cluster by gm.KMeans(kernel=…), "
            'chart("clusters", X).'
        )

    def distance(self, X: Table) -> Floats:
        """Distance of every row's features from the mean."""
        self._require_fitted()
        return np.sqrt(self.loss(self.kernel_.points(X)))

    def loss(self, X: Matrix) -> Floats:
        return np.maximum(self.kernel_.diag(X) + self.relative(X), 0.0)

    def relative(self, X: Matrix) -> Floats:
        """The loss less k(x, x), which is the same for all such points."""
        return self.norm_ - 2.0 * self.kernel_.times(X, self.points_, self.weights_)

    # `check` refuses the loop over rows, which would need these

    def statistics(self, X: Matrix, weight: Floats) -> Any:
        return self.check(0)

    def _update(self, estimate: Any) -> None:
        self.check(0)

    def moved_to(self, x: Floats) -> "KernelPoint":
        self.check(0)
        return self

    def n_parameters(self, d: int) -> int:
        return d
