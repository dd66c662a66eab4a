"""Circles and spheres of any dimension, by geometric fit."""

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from gramian._core.numerics.compiled import compiled_later, njit
from gramian._core.numerics.small_tables import is_small, sums_in_order
from gramian._core.types import Array, Floats, Matrix
from gramian.rows import Rows
from gramian.rows.base import Block
from gramian.structures.components.base import Structure, dense
from gramian.structures.components.geometry import Geometry
from gramian.structures.components.quadrics.levenberg import MAX_PASSES, NormalEquations, levenberg
from gramian.structures.loop.multipass import PassRequest
from gramian.structures.loop.rounding import principal_axes, zero_on_structure
from gramian.structures.loop.sufficient_statistics import DistinctRows, Scatter

MAX_RADIUS = 1e4  # in root mean squares of the rows about their mean: a larger circle is a line
MIN_RELATIVE_WIDTH = 1e-7  # of the second principal direction: narrower rows lie on a line


@dataclass(eq=False)
class Circle(Structure):
    """The circle (in three dimensions the sphere, and so on) of least Σw (‖x − c‖ − r)².

    The fit is geometric: Levenberg–Marquardt on orthogonal distances from several starts (an algebraic circle, the
    mean, the osculating circle of an arc), the best of which is kept. Every step is one pass over the rows.

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

    noun: ClassVar[tuple[str, str]] = ("circle", "circles")

    def loss(self, X: Matrix) -> Floats:
        deviation = X - self.center_
        losses = (np.sqrt(np.einsum("ij,ij->i", deviation, deviation)) - self.radius_) ** 2
        return zero_on_structure(losses, deviation, self.center_)

    @property
    def _has_radius(self) -> bool:
        """Whether there is a circle to step from."""
        return self.is_fitted and self.radius_ > 0

    def statistics(self, X: Matrix, weight: Floats) -> Any:
        """The scatter of the rows; once there is a circle, the normal equations of the next step as well."""
        if not self._has_radius:
            return Scatter.of(X, weight)
        units = _CircleUnits(self.center_, self.radius_)
        return StepStatistics(Scatter.of(X, weight, diagonal=True), units.equations(X, weight, [self._unit_circle]))

    @property
    def _unit_circle(self) -> Floats:
        return np.append(np.zeros(len(self.center_)), 1.0)

    def _fit_alone(self, rows: Rows) -> None:
        if rows.d > 1:
            n_distinct, widths = principal_widths(rows, 3)
            if n_distinct > 2 and widths[1] <= MIN_RELATIVE_WIDTH * widths[0]:
                raise ValueError("The rows of X lie on a line, where the best circle has no finite radius. Fit a Line.")
        super()._fit_alone(rows)

    def pass_requests(self, max_passes: int | None = None) -> PassRequest[Any]:
        is_step = self._has_radius
        totals = yield self.statistics
        scatter = totals.scatter if is_step else totals
        scale = scatter.size
        if scale == 0:
            return scatter.mean, 0.0
        units = _CircleUnits(self.center_, self.radius_) if is_step else _CircleUnits(scatter.mean, scale)
        max_radius = MAX_RADIUS * scale / units.unit

        def move(state: Floats, step: Floats) -> Floats | None:
            new = state + step
            return new if 0 <= new[-1] <= max_radius else None

        if is_step:  # within a loop: a few steps from the circle of the last refit
            first, starts = totals.equations, [self._unit_circle]
        else:
            axes = principal_axes(scatter.cross)[1]
            first, starts = None, circles((yield lambda X, weight: gram(units.scaled(X) @ axes, weight)), axes)
        _, best = yield from levenberg(starts, units.equations, move, max_passes or MAX_PASSES, first)
        return units.to_original(best)

    def _update(self, estimate: Any) -> None:
        self.center_, self.radius_ = estimate

    def rough_fit(self, X: Matrix, weight: Floats) -> Self:
        scatter = Scatter.of(X, weight)
        units = _CircleUnits(scatter.mean, scatter.size)
        if units.unit == 0:
            return self.refitted((scatter.mean, 0.0))
        axes = principal_axes(scatter.cross)[1]
        return self.refitted(units.to_original(circles(gram(units.scaled(X) @ axes, weight), axes)[0]))

    def moved_to(self, x: Floats) -> "Circle":
        other = copy(self)
        other.center_ = np.array(x, dtype=np.float64)
        other.center_[0] -= self.radius_
        return other

    def geometry(self) -> Geometry:
        return Geometry(self.center_, quadric=self.radius_**2 * np.eye(len(self.center_)))

    def measures(self) -> dict[str, object]:
        return {"centre": self.center_, "radius": self.radius_}

    def codimension(self, d: int) -> int:
        return 1

    def n_parameters(self, d: int) -> int:
        return d + 1

    def min_rows(self, d: int) -> int:
        return d + 1


@dataclass(eq=False)
class StepStatistics:
    """What a step within a loop needs: the scatter of the rows, and the normal equations at the fitted structure."""

    scatter: Scatter
    equations: NormalEquations

    def __add__(self, other: "StepStatistics") -> "StepStatistics":
        return StepStatistics(self.scatter + other.scatter, self.equations + other.equations)


@dataclass(frozen=True, eq=False)
class _CircleUnits:
    """Coordinates about an origin in a unit; a circle is its centre and its radius there, (d + 1,)."""

    origin: Floats
    unit: float

    def scaled(self, X: Floats) -> Floats:
        return (X - self.origin) / self.unit

    def to_original(self, circle: Floats) -> tuple[Floats, float]:
        """Centre and radius in the coordinates of the rows."""
        return self.origin + self.unit * circle[:-1], float(self.unit * circle[-1])

    def equations(self, X: Floats, weight: Floats, states: list[Floats]) -> NormalEquations:
        s, p = len(states), len(self.origin) + 1
        sums = NormalEquations(float(weight.sum()), np.zeros(s), np.zeros((s, p)), np.zeros((s, p, p)))
        for i, state in enumerate(states):
            J, loop = np.append(state[:-1], -1.0), _few_equations if is_small(X.size) else _equations
            sums.value[i] = loop(X, weight, self.origin, self.unit, state, J, sums.gradient[i], sums.hessian[i])
        return sums


@njit(cache=True, nogil=True, error_model="numpy")
def _equations(
    X: Array, weight: Array, origin: Array, unit: Array, state: Array, J: Array, gradient: Array, hessian: Array
) -> Any:  # pragma: no cover - compiled
    """Add up the normal equations of r = ‖x − c‖ − radius and return Σw r²; J is workspace whose last number is −1."""
    n, d = X.shape
    value = 0.0
    for row in range(n):
        distance = 0.0
        for i in range(d):
            J[i] = (X[row, i] - origin[i]) / unit - state[i]
            distance += J[i] * J[i]
        distance = np.sqrt(distance)
        for i in range(d):
            J[i] = -J[i] / distance if distance > 0.0 else 0.0
        w, r = weight[row], distance - state[d]
        value += w * r * r
        for i in range(d + 1):
            u = w * J[i]
            gradient[i] += u * r
            for j in range(i + 1):
                hessian[i, j] += u * J[j]
    for i in range(d + 1):
        for j in range(i):
            hessian[j, i] = hessian[i, j]
    return value


def _equations_plain(
    X: Floats, weight: Floats, origin: Floats, unit: float, state: Floats, J: Floats, gradient: Floats, hessian: Floats
) -> float:
    """`_equations` in NumPy, for few rows: the same sums in the same order."""
    n, d = X.shape
    x = ((X - origin) / unit - state[:d]).T
    distance = np.sqrt(sums_in_order(x * x))
    with np.errstate(invalid="ignore", divide="ignore"):
        direction = np.where(distance > 0.0, -x / distance, 0.0)
    r = distance - state[d]
    columns = np.column_stack([direction.T, np.full(n, J[d]), r])
    sums = sums_in_order((weight[:, None] * columns[:, :-1])[:, :, None] * columns[:, None])
    gradient += sums[:, -1]
    products = np.tril(sums[:, :-1])
    hessian += products + np.tril(products, -1).T
    return float(np.add.accumulate(weight * r * r)[-1])


_few_equations = compiled_later(_equations, _equations_plain, _equations, seconds=lambda X, *_: 6e-5 + 5e-8 * X.size)


def principal_widths(rows: Rows, max_rows: int) -> tuple[int, Floats]:
    """The number of distinct rows, counted up to `max_rows`, and standard deviations along the principal directions.

    The largest comes first; all are in units of the size of the scatter.
    """
    distinct = rows.sum(lambda block: DistinctRows.of(dense(block.X), block.weights, max_rows))
    scatter = rows.sum(lambda block: Scatter.of(dense(block.X), block.weights))
    scale = scatter.size
    if scale == 0:
        return len(distinct.rows), np.zeros(rows.d)
    axes = principal_axes(scatter.cross)[1]

    # sums along the principal directions keep digits that the scatter of the columns has lost
    def squares(block: Block) -> Floats:
        return np.asarray(block.weights @ (((dense(block.X) - scatter.mean) / scale) @ axes) ** 2)

    return len(distinct.rows), np.sqrt(rows.sum(squares)[::-1] / scatter.weight)


def gram(T: Floats, weight: Floats) -> Floats:
    """Sums of products of 1, the coordinates, ‖t‖², the square of the first coordinate, and ‖t‖."""
    squares = np.einsum("ij,ij->i", T, T)
    F = np.column_stack([np.ones(len(T)), T, squares, T[:, 0] ** 2, np.sqrt(squares)])
    return (weight[:, None] * F).T @ F


def circles(G: Floats, axes: Floats) -> list[Floats]:
    """Initial circles: the algebraic fit of least Σw (‖z − c‖² − r²)², one about the mean, the osculating circle."""
    d = len(axes)
    starts = []
    one_and_t = np.arange(d + 1)
    fit = np.linalg.lstsq(G[np.ix_(one_and_t, one_and_t)], G[one_and_t, d + 1], rcond=1e-14)[0]
    center = 0.5 * axes @ fit[1:]
    radius = np.sqrt(max(fit[0] + center @ center, 0.0))
    if radius <= MAX_RADIUS:
        starts.append(np.append(center, radius))
    starts.append(np.append(np.zeros(d), G[0, d + 3] / G[0, 0]))
    if d > 1:
        # an arc is a parabola over all but the direction of least variance: regress t₁ on 1, t₂ …, ‖t‖² − t₁²
        C = np.zeros((d + 1, len(G)))
        C[0, 0], C[d, d + 1], C[d, d + 2] = 1.0, 1.0, -1.0
        C[np.arange(1, d), np.arange(2, d + 1)] = 1.0
        parabola = np.linalg.lstsq(C @ G @ C.T, C @ G[:, 1], rcond=1e-14)[0]
        if abs(parabola[-1]) > 1.0 / MAX_RADIUS:
            radius = 0.5 / parabola[-1]
            starts.append(np.append((parabola[0] + radius) * axes[:, 0], abs(radius)))
    return starts
