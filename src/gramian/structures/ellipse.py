"""Ellipses and ellipsoids, by geometric fit of true orthogonal distances."""

from copy import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from gramian.rows import Rows
from gramian.structures.circle import Circle
from gramian.structures.feet import signed_distances
from gramian.structures.levenberg import STEPS, WITHIN, levenberg
from gramian.structures.structure import Structure, dense, weights
from gramian.structures.summaries import Gathered

Floats = NDArray[np.float64]
LARGEST, SMALLEST = 1e3, 1e-6  # semi-axes, in root mean squares of the rows about their mean
FLAT = 1e-7  # relative size of the last direction below which rows lie on a flat
State = tuple[Floats, Floats, Floats]  # centre, semi-axes, directions in columns


@dataclass(eq=False)
class Ellipse(Structure):
    """The ellipse (in more dimensions the ellipsoid) of least Σw distance², distances orthogonal to its surface.

    The fit is geometric: Gauss–Newton on orthogonal distances from several starts (an algebraic conic, the axes of the
    scatter, the best circle), the best of which is kept. A distance is the root of one equation per row, found to
    rounding by a Newton iteration that cannot leave its bracket.

    Attributes
    ----------
    center_ : array (d,)
    axes_ : array (d,)
        Lengths of the semi-axes, the longest first.
    directions_ : array (d, d)
        Their unit directions, in rows.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 6, 20)
    >>> ellipse = Ellipse().fit(np.column_stack([3 * np.cos(t) + 1, np.sin(t)]))
    >>> ellipse.axes_.round(6)
    array([3., 1.])
    >>> ellipse.distance([[1.0, 0.0]]).round(6)
    array([1.])
    """

    def check(self, d: int) -> None:
        if d < 2:
            raise ValueError("X has 1 column (n_features=1); Ellipse needs at least 2.")

    def loss(self, X: Any) -> Floats:
        return signed_distances((X - self.center_) @ self.directions_.T, self.axes_)[0] ** 2

    def gather(self, X: Any, weight: Floats) -> Gathered:
        return Gathered.of(X, weight)

    def _fit_alone(self, rows: Rows) -> None:
        summary = rows.sum(lambda block: self.gather(dense(block.X), weights(block)))
        X, _ = summary.rows()
        distinct, needed = len(np.unique(X, axis=0)), self.least(rows.d)
        if distinct < needed:
            raise ValueError(
                f"X has {distinct} distinct rows, through which many ellipses pass: {needed} determine one in "
                f"{rows.d} dimensions. Give more rows, or fit a Circle."
            )
        sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
        if sizes[-1] <= FLAT * sizes[0]:
            raise ValueError(
                "The rows lie on a flat, to which every large ellipse comes as near as one likes: none is best. Fit a "
                "Line or a Plane."
            )
        if hasattr(self, "center_"):
            del self.center_
        self._learn(summary)

    def _learn(self, summary: Any) -> None:
        X, weight = summary.rows()
        total = weight.sum()
        mean = weight @ X / total
        scale = float(np.sqrt(weight @ ((X - mean) ** 2).sum(axis=1) / total))
        d = X.shape[1]
        if scale == 0:
            self.center_, self.axes_, self.directions_ = mean, np.zeros(d), np.eye(d)
            return
        Z = (X - mean) / scale
        pairs = list(combinations(range(d), 2))

        def evaluate(state: State) -> tuple[Floats, Floats]:
            center, axes, turn = state
            distances, y = signed_distances((Z - center) @ turn, axes)
            steep = y / axes**2
            size = np.linalg.norm(steep, axis=1)
            size = np.where(size > 0, size, 1.0)[:, None]
            turned = [y[:, i] * y[:, j] * (axes[j] ** -2.0 - axes[i] ** -2.0) for i, j in pairs]
            return distances, np.column_stack([-steep @ turn.T, -y * steep, *turned]) / size

        def move(state: State, step: Floats) -> State | None:
            center, axes, turn = state
            if np.abs(step[d : 2 * d]).max() > 20:
                return None
            axes = axes * np.exp(step[d : 2 * d])
            if axes.max() > LARGEST or axes.min() < SMALLEST:
                return None
            skew = np.zeros((d, d))
            for angle, (i, j) in zip(step[2 * d :], pairs, strict=True):
                skew[i, j], skew[j, i] = angle, -angle
            return center + step[:d], axes, turn @ np.linalg.solve(np.eye(d) - 0.5 * skew, np.eye(d) + 0.5 * skew)

        if hasattr(self, "center_") and self.axes_.min() > 0:  # within a loop: a few steps on from where it is
            starts, steps = [((self.center_ - mean) / scale, self.axes_ / scale, self.directions_.T)], WITHIN
        else:
            starts, steps = [*_algebraic(Z, weight), *_others(Z, weight)], STEPS
        found = [levenberg(start, evaluate, move, weight, steps) for start in starts]
        center, axes, turn = min(found, key=lambda pair: pair[0])[1]
        order = np.argsort(-axes, kind="stable")
        self.center_, self.axes_ = mean + scale * center, scale * axes[order]
        self.directions_ = np.ascontiguousarray(sl.qr(turn)[0][:, order].T)
        self.directions_ *= np.where(np.einsum("ij,ij->i", self.directions_, turn[:, order].T) < 0, -1.0, 1.0)[:, None]

    def sketch(self, X: Any, weight: Floats) -> Self:
        found = copy(self)
        mean = weight @ X / weight.sum()
        scale = float(np.sqrt(weight @ ((X - mean) ** 2).sum(axis=1) / weight.sum()))
        if scale == 0:
            return self.refitted(self.gather(X, weight))
        Z = (X - mean) / scale
        center, axes, turn = [*_algebraic(Z, weight), _scattered(Z, weight)][0]
        found.center_, found.axes_, found.directions_ = mean + scale * center, scale * axes, turn.T
        return found

    def through(self, x: Floats) -> "Ellipse":
        found = copy(self)
        found.center_ = x - self.axes_[0] * self.directions_[0]
        return found

    def codimension(self, d: int) -> int:
        return 1

    def parameters(self, d: int) -> int:
        return d * (d + 3) // 2

    def least(self, d: int) -> int:
        return d * (d + 3) // 2


def _algebraic(Z: Floats, weight: Floats) -> list[State]:
    """The quadric zᵀAz + bᵀz = 1 of least squares, where it is an ellipsoid."""
    d = Z.shape[1]
    i, j = np.triu_indices(d)
    root = np.sqrt(weight)
    found = np.linalg.lstsq(root[:, None] * np.column_stack([Z[:, i] * Z[:, j], Z]), root, rcond=1e-12)[0]
    A = np.zeros((d, d))
    A[i, j] = found[: len(i)]
    A = 0.5 * (A + A.T)
    values, turn = np.linalg.eigh(A)
    if values.min() <= 0:
        return []
    center = -0.5 * turn @ ((turn.T @ found[len(i) :]) / values)
    axes = np.sqrt((1.0 + center @ A @ center) / values)
    return [(center, axes, turn)] if axes.max() < LARGEST and axes.min() > SMALLEST else []


def _scattered(Z: Floats, weight: Floats) -> State:
    """The axes of the scatter, of rows spread over the whole surface."""
    values, turn = np.linalg.eigh((weight[:, None] * Z).T @ Z / weight.sum())
    return np.zeros(len(values)), np.clip(np.sqrt(len(values) * np.maximum(values, 0.0)), 1e-3, LARGEST), turn


def _others(Z: Floats, weight: Floats) -> list[State]:
    """The axes of the scatter; the best circle, and the same stretched along the first of them."""
    middle, axes, turn = _scattered(Z, weight)
    circle = Circle().refitted(Gathered.of(Z, weight))
    round_ = np.full(len(axes), np.clip(circle.radius_, 1e-3, 0.1 * LARGEST))
    stretched = round_ * np.where(axes == axes.max(), 2.0, 1.0)
    return [(middle, axes, turn), (circle.center_, round_, turn), (circle.center_, stretched, turn)]
