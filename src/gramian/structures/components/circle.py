"""Circles and spheres of any dimension, by geometric fit."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gramian._core.numerics.compiled import njit
from gramian.rows import Rows
from gramian.structures.components.base import Structure, dense, weights
from gramian.structures.components.levenberg import STEPS, Equations, levenberg
from gramian.structures.loop.multipass import PassRequest
from gramian.structures.loop.rounding import principal_axes, zero_on_structure
from gramian.structures.loop.sufficient_statistics import Distinct, Scatter

Floats = NDArray[np.float64]
LARGEST = 1e4  # radius, in root mean squares of the rows about their mean: beyond, a circle is a line
STRAIGHT = 1e-7  # relative size of the second direction below which rows lie on a line


@dataclass(eq=False)
class Circle(Structure):
    """The circle (in three dimensions the sphere, and so on) of least Σw (‖x − c‖ − r)².

    The fit is geometric: Gauss–Newton on orthogonal distances from several starts (an algebraic circle, the mean, the
    osculating circle of an arc), the best of which is kept. Every step is one pass over the rows.

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
        losses = (np.sqrt(np.einsum("ij,ij->i", away, away)) - self.radius_) ** 2
        return zero_on_structure(losses, away, self.center_)

    def gather(self, X: Any, weight: Floats) -> Any:
        """The scatter of the rows; once there is a circle, the equations of the next step as well."""
        if not getattr(self, "radius_", 0.0) > 0:
            return Scatter.of(X, weight)
        return Stepping(
            Scatter.of(X, weight, diagonal=True), _Frame(self.center_, self.radius_).at(X, weight, [self._own])
        )

    @property
    def _own(self) -> Floats:
        return np.append(np.zeros(len(self.center_)), 1.0)

    def _fit_alone(self, rows: Rows) -> None:
        if hasattr(self, "center_"):
            del self.center_, self.radius_
        if rows.d > 1:
            distinct, sizes = spread_of(rows, 3)
            if distinct > 2 and sizes[1] <= STRAIGHT * sizes[0]:
                raise ValueError(
                    "The rows lie on a line, to which every large circle comes as near as one likes: none is best. Fit "
                    "a Line."
                )
        super()._fit_alone(rows)

    def learning(self, passes: int | None = None) -> PassRequest[Any]:
        found = yield self.gather
        fresh = isinstance(found, Scatter)
        scatter = found if fresh else found.scatter
        scale = scatter.size
        if scale == 0:
            return scatter.mean, 0.0
        frame = _Frame(scatter.mean, scale) if fresh else _Frame(self.center_, self.radius_)
        largest = LARGEST * scale / frame.unit

        def move(state: Floats, step: Floats) -> Floats | None:
            there = state + step
            return there if 0 <= there[-1] <= largest else None

        if fresh:
            turn = principal_axes(scatter.cross)[1]
            starts = circles((yield lambda X, weight: gram(frame.units(X) @ turn, weight)), turn)
            _, best = yield from levenberg(starts, frame.at, move, passes or STEPS)
        else:  # within a loop: a few steps on from where it is, and more the next time
            _, best = yield from levenberg([self._own], frame.at, move, passes or STEPS, found.equations)
        return frame.origin + frame.unit * best[:-1], float(frame.unit * best[-1])

    def _learn(self, summary: Any) -> None:
        self.center_, self.radius_ = summary

    def sketch(self, X: Any, weight: Floats) -> Self:
        scatter = Scatter.of(X, weight)
        frame = _Frame(scatter.mean, scatter.size)
        if frame.unit == 0:
            return self.refitted((scatter.mean, 0.0))
        turn = principal_axes(scatter.cross)[1]
        best = circles(gram(frame.units(X) @ turn, weight), turn)[0]
        return self.refitted((frame.origin + frame.unit * best[:-1], float(frame.unit * best[-1])))

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


@dataclass(eq=False)
class Stepping:
    """What a step within a loop needs: the scatter of the rows, and the equations where the structure is."""

    scatter: Scatter
    equations: Equations

    def __add__(self, other: "Stepping") -> "Stepping":
        return Stepping(self.scatter + other.scatter, self.equations + other.equations)


@dataclass(frozen=True, eq=False)
class _Frame:
    """An origin and a unit, in which circles are centres and a radius."""

    origin: Floats
    unit: float

    def units(self, X: Floats) -> Floats:
        return (X - self.origin) / self.unit

    def at(self, X: Floats, weight: Floats, states: list[Floats]) -> Equations:
        s, p = len(states), len(self.origin) + 1
        found = Equations(float(weight.sum()), np.zeros(s), np.zeros((s, p)), np.zeros((s, p, p)))
        for i, state in enumerate(states):
            given = X, weight, self.origin, self.unit, state
            found.value[i] = _equations(*given, np.append(state[:-1], -1.0), found.slope[i], found.curve[i])
        return found


@njit(cache=True, nogil=True, error_model="numpy")
def _equations(
    X: Any, weight: Any, origin: Any, unit: Any, state: Any, J: Any, slope: Any, curve: Any
) -> Any:  # pragma: no cover - compiled
    """Adds up the equations of ‖x − c‖ − r and returns Σw of its square; J is memory whose last number is −1."""
    n, d = X.shape
    value = 0.0
    for row in range(n):
        far = 0.0
        for i in range(d):
            J[i] = (X[row, i] - origin[i]) / unit - state[i]
            far += J[i] * J[i]
        far = np.sqrt(far)
        for i in range(d):
            J[i] = -J[i] / far if far > 0.0 else 0.0
        w, r = weight[row], far - state[d]
        value += w * r * r
        for i in range(d + 1):
            u = w * J[i]
            slope[i] += u * r
            for j in range(i + 1):
                curve[i, j] += u * J[j]
    for i in range(d + 1):
        for j in range(i):
            curve[j, i] = curve[i, j]
    return value


def spread_of(rows: Rows, most: int) -> tuple[int, Floats]:
    """Distinct rows, counted up to `most`, and the spread along the principal directions, the largest first."""
    found = rows.sum(lambda block: Distinct.of(dense(block.X), weights(block), most))
    scatter = rows.sum(lambda block: Scatter.of(dense(block.X), weights(block)))
    scale = scatter.size
    if scale == 0:
        return len(found.rows), np.zeros(rows.d)
    turn = principal_axes(scatter.cross)[1]

    # along the directions sums keep digits that the scatter of the columns does not have
    def along(block: Any) -> Floats:
        return np.asarray(weights(block) @ (((dense(block.X) - scatter.mean) / scale) @ turn) ** 2)

    return len(found.rows), np.sqrt(rows.sum(along)[::-1] / scatter.weight)


def gram(T: Floats, weight: Floats) -> Floats:
    """Sums of products of 1, the coordinates, ‖t‖², the square of the first coordinate, and ‖t‖."""
    squares = np.einsum("ij,ij->i", T, T)
    F = np.column_stack([np.ones(len(T)), T, squares, T[:, 0] ** 2, np.sqrt(squares)])
    return (weight[:, None] * F).T @ F


def circles(G: Floats, turn: Floats) -> list[Floats]:
    """Circles to start from: of least Σw (‖z − c‖² − r²)², about the mean, and the arc that bends most."""
    d = len(turn)
    found = []
    one_and_t = np.arange(d + 1)
    fit = np.linalg.lstsq(G[np.ix_(one_and_t, one_and_t)], G[one_and_t, d + 1], rcond=1e-14)[0]
    center = 0.5 * turn @ fit[1:]
    radius = np.sqrt(max(fit[0] + center @ center, 0.0))
    if radius <= LARGEST:
        found.append(np.append(center, radius))
    found.append(np.append(np.zeros(d), G[0, d + 3] / G[0, 0]))
    if d > 1:
        # the height along the direction of least spread is a parabola of the others: 1, t₂ …, ‖t‖² − t₁²
        C = np.zeros((d + 1, len(G)))
        C[0, 0], C[d, d + 1], C[d, d + 2] = 1.0, 1.0, -1.0
        C[np.arange(1, d), np.arange(2, d + 1)] = 1.0
        bend = np.linalg.lstsq(C @ G @ C.T, C @ G[:, 1], rcond=1e-14)[0]
        if abs(bend[-1]) > 1.0 / LARGEST:
            radius = 0.5 / bend[-1]
            found.append(np.append((bend[0] + radius) * turn[:, 0], abs(radius)))
    return found
