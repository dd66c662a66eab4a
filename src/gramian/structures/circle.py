"""Circles and spheres of any dimension, by geometric fit."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gramian.rows import Rows
from gramian.structures.levenberg import STEPS, WITHIN, levenberg
from gramian.structures.structure import Structure, dense, weights
from gramian.structures.summaries import Gathered

Floats = NDArray[np.float64]
LARGEST = 1e4  # radius, in root mean squares of the rows about their mean: beyond, a circle is a line
STRAIGHT = 1e-7  # relative size of the second direction below which rows lie on a line


@dataclass(eq=False)
class Circle(Structure):
    """The circle (in three dimensions the sphere, and so on) of least Σw (‖x − c‖ − r)².

    The fit is geometric: Gauss–Newton on orthogonal distances from several starts (an algebraic circle, the mean, the
    osculating circle of an arc), the best of which is kept.

    Attributes
    ----------
    center_ : array (d,)
    radius_ : float

    Examples
    --------
    >>> circle = Circle().fit([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> round(circle.radius_, 6)
    1.0
    >>> circle.distance([[3.0, 0.0]]).round(6)
    array([2.])
    """

    def loss(self, X: Any) -> Floats:
        away = X - self.center_
        return (np.sqrt(np.einsum("ij,ij->i", away, away)) - self.radius_) ** 2

    def gather(self, X: Any, weight: Floats) -> Gathered:
        return Gathered.of(X, weight)

    def _fit_alone(self, rows: Rows) -> None:
        summary = rows.sum(lambda block: self.gather(dense(block.X), weights(block)))
        X, _ = summary.rows()
        if rows.d > 1 and len(np.unique(X, axis=0)) > 2:
            sizes = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
            if sizes[1] <= STRAIGHT * sizes[0]:
                raise ValueError(
                    "The rows lie on a line, to which every large circle comes as near as one likes: none is best. Fit "
                    "a Line."
                )
        if hasattr(self, "center_"):
            del self.center_
        self._learn(summary)

    def _learn(self, summary: Any) -> None:
        X, weight = summary.rows()
        total = weight.sum()
        mean = weight @ X / total
        scale = float(np.sqrt(weight @ ((X - mean) ** 2).sum(axis=1) / total))
        if scale == 0:
            self.center_, self.radius_ = mean, 0.0
            return
        Z = (X - mean) / scale

        def evaluate(state: Floats) -> tuple[Floats, Floats]:
            away = Z - state[:-1]
            far = np.sqrt(np.einsum("ij,ij->i", away, away))
            away /= np.where(far > 0, far, 1.0)[:, None]
            return far - state[-1], np.column_stack([-away, np.full(len(Z), -1.0)])

        def move(state: Floats, step: Floats) -> Floats | None:
            there = state + step
            return there if 0 <= there[-1] <= LARGEST else None

        if hasattr(self, "center_"):  # within a loop: a few steps on from where it is, and more the next time
            starts, steps = [np.append((self.center_ - mean) / scale, self.radius_ / scale)], WITHIN
        else:
            starts, steps = [*_algebraic(Z, weight), *_others(Z, weight)], STEPS
        found = [levenberg(start, evaluate, move, weight, steps) for start in starts]
        best = min(found, key=lambda pair: pair[0])[1]
        self.center_, self.radius_ = mean + scale * best[:-1], float(scale * best[-1])

    def sketch(self, X: Any, weight: Floats) -> Self:
        found = copy(self)
        mean = weight @ X / weight.sum()
        best = [*_algebraic(X - mean, weight), *_others(X - mean, weight)][0]
        found.center_, found.radius_ = mean + best[:-1], float(best[-1])
        return found

    def through(self, x: Floats) -> "Circle":
        found = copy(self)
        found.center_ = np.array(x, dtype=np.float64)
        found.center_[0] -= self.radius_
        return found

    def codimension(self, d: int) -> int:
        return 1

    def parameters(self, d: int) -> int:
        return d + 1

    def least(self, d: int) -> int:
        return d + 1


def _algebraic(Z: Floats, weight: Floats) -> list[Floats]:
    """The circle of least Σw (‖z − c‖² − r²)²."""
    root = np.sqrt(weight)[:, None]
    squares = np.einsum("ij,ij->i", Z, Z)
    found = np.linalg.lstsq(root * np.column_stack([2.0 * Z, np.ones(len(Z))]), root[:, 0] * squares, rcond=1e-10)[0]
    center, radius = found[:-1], np.sqrt(max(found[-1] + found[:-1] @ found[:-1], 0.0))
    return [np.append(center, radius)] if radius <= LARGEST else []


def _others(Z: Floats, weight: Floats) -> list[Floats]:
    """About the mean; and about the centre of the arc that bends most along the direction of least spread."""
    share = weight / weight.sum()
    starts = [np.append(np.zeros(Z.shape[1]), share @ np.sqrt(np.einsum("ij,ij->i", Z, Z)))]
    if Z.shape[1] > 1:
        _, vectors = np.linalg.eigh((share[:, None] * Z).T @ Z)
        normal = vectors[:, 0]
        height = Z @ normal
        along = np.einsum("ij,ij->i", Z, Z) - height**2
        basis = np.column_stack([np.ones(len(Z)), Z @ vectors[:, 1:], along])
        root = np.sqrt(weight)
        bend = np.linalg.lstsq(root[:, None] * basis, root * height, rcond=None)[0]
        if abs(bend[-1]) > 1.0 / LARGEST:
            radius = 0.5 / bend[-1]
            starts.append(np.append((bend[0] + radius) * normal, abs(radius)))
    return starts
