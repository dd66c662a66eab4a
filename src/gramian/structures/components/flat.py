"""Lines, planes and flats by total least squares of orthogonal distances."""

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gramian._core import validation
from gramian._core.types import Floats, Matrix
from gramian.structures.components.base import Structure
from gramian.structures.components.geometry import Geometry
from gramian.structures.loop.rounding import principal_axes, zero_on_structure
from gramian.structures.loop.sufficient_statistics import Scatter


class AffineSubspace(Structure):
    """The affine subspace through `center_` along the rows of `directions_`, orthogonal to those of `normals_`."""

    center_: Floats
    directions_: Floats
    normals_: Floats

    def _dimension(self, d: int) -> int:
        raise NotImplementedError

    def loss(self, X: Matrix) -> Floats:
        deviation = X - self.center_
        # the orthogonal part by the normals or by the directions, whichever are fewer
        if len(self.normals_) <= len(self.directions_):
            residual = deviation @ self.normals_.T
        else:
            residual = deviation - (deviation @ self.directions_.T) @ self.directions_
        return zero_on_structure(np.einsum("ij,ij->i", residual, residual), deviation, self.center_)

    def statistics(self, X: Matrix, weight: Floats) -> Scatter:
        return Scatter.of(X, weight)

    def _update(self, estimate: Any) -> None:
        self.center_ = estimate.mean
        basis = principal_axes(estimate.cross)[1].T[::-1]
        q = self._dimension(len(basis))
        self.directions_, self.normals_ = basis[:q], basis[q:]
        if q == 1:
            self.direction_ = self.directions_[0]
        if q == len(basis) - 1:
            self.normal_ = self.normals_[0]

    def moved_to(self, x: Floats) -> "AffineSubspace":
        other = copy(self)
        other.center_ = np.array(x, dtype=np.float64)
        return other

    def geometry(self) -> Geometry:
        return Geometry(self.center_, directions=self.directions_)

    def measures(self) -> dict[str, object]:
        q, d = self.directions_.shape
        lines = {"direction": self.directions_[0]} if q == 1 else {}
        return {"centre": self.center_} | lines | ({"normal": self.normals_[0]} if q == d - 1 else {})

    def codimension(self, d: int) -> int:
        return d - self._dimension(d)

    def n_parameters(self, d: int) -> int:
        q = self._dimension(d)
        return (q + 1) * (d - q)

    def min_rows(self, d: int) -> int:
        return self._dimension(d) + 1


@dataclass(eq=False)
class Line(AffineSubspace):
    """The line of least Σw distance²: through the mean, along the first principal direction.

    Attributes
    ----------
    center_, direction_ : array (d,)
        A point of it and its unit direction, the largest entry of which is positive.

    Examples
    --------
    >>> line = Line().fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> line.direction_.round(3)
    array([0.707, 0.707])
    >>> line.distance([[0.0, 2.0]]).round(3)
    array([1.414])
    """

    noun: ClassVar[tuple[str, str]] = ("line", "lines")

    def check(self, d: int) -> None:
        if d < 2:
            raise ValueError("X has 1 column (n_features=1), which is a line itself; Line needs at least 2.")

    def _dimension(self, d: int) -> int:
        return 1


@dataclass(eq=False)
class Flat(AffineSubspace):
    """The flat of dimension q of least Σw distance²: through the mean, along the first q principal directions.

    Parameters
    ----------
    q : int
        0 is a point, 1 a line.

    Attributes
    ----------
    center_ : array (d,)
    directions_, normals_ : arrays (q, d) and (d − q, d)
        Orthonormal rows along it and across it; `direction_` or `normal_` where there is one of them.

    Examples
    --------
    >>> Flat(1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]).normal_.round(3)
    array([ 0.707, -0.707])
    """

    q: int = 1
    noun: ClassVar[tuple[str, str]] = ("flat", "flats")

    def check(self, d: int) -> None:
        if validation.whole("q", self.q, low=0) >= d:
            raise ValueError(f"q is {self.q}, and X has {d} columns; a flat needs q of at most {d - 1}.")

    def _dimension(self, d: int) -> int:
        return self.q


@dataclass(eq=False)
class Plane(AffineSubspace):
    """The hyperplane of least Σw distance²: total least squares. With `q`, the flat of that dimension.

    Parameters
    ----------
    q : int, optional
        Dimension; by default that of the data less one.

    Attributes
    ----------
    center_, normal_ : array (d,)
        A point of it and its unit normal, the largest entry of which is positive.
    directions_, normals_ : arrays (q, d) and (d − q, d)

    Examples
    --------
    >>> plane = Plane().fit([[0, 0, 1.0], [1, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> plane.normal_.round(3)
    array([0., 0., 1.])
    """

    q: int | None = None
    noun: ClassVar[tuple[str, str]] = ("plane", "planes")

    def check(self, d: int) -> None:
        if d < 2:
            raise ValueError("X has 1 column (n_features=1); Plane needs at least 2.")
        if self.q is not None and validation.whole("q", self.q, low=0) >= d:
            raise ValueError(f"q is {self.q}, and X has {d} columns; a plane needs q of at most {d - 1}.")

    def _dimension(self, d: int) -> int:
        return d - 1 if self.q is None else self.q
