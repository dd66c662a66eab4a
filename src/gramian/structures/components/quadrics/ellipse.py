"""Ellipses and ellipsoids, by geometric fit of true orthogonal distances."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats, Matrix
from gramian.rows import Rows
from gramian.structures.components.base import Structure
from gramian.structures.components.geometry import Geometry
from gramian.structures.components.quadrics.circle import Circle, StepStatistics, principal_widths
from gramian.structures.components.quadrics.conics import (
    MAX_AXIS,
    MIN_AXIS,
    EllipsoidState,
    algebraic,
    ellipses_of_all_shapes,
    quadrics,
    roundest_through,
)
from gramian.structures.components.quadrics.ellipsoid_projection import ellipse_equations, signed_distances
from gramian.structures.components.quadrics.levenberg import MAX_PASSES, NormalEquations, levenberg
from gramian.structures.loop.multipass import PassRequest
from gramian.structures.loop.rounding import principal_axes, zero_on_structure
from gramian.structures.loop.sufficient_statistics import Scatter

# One start suffices where the mean of the rows is near the centre (in axes) and noise is low (in radii of curvature).
MAX_CENTRAL_OFFSET, MAX_CENTRAL_NOISE = 0.3, 0.2
PERTURBATIONS = (
    1.0,
    0.3,
    0.1,
)  # of centre, log axes and angles of the best ellipse, from which further starts are made
MIN_RELATIVE_WIDTH = 1e-7  # of the last principal direction: narrower rows lie on a flat


@dataclass(eq=False)
class Ellipse(Structure):
    """The ellipse (in more dimensions the ellipsoid) of least Σw distance², distances orthogonal to its surface.

    The fit is geometric: Levenberg–Marquardt on orthogonal distances from several starts (an algebraic conic, the axes
    of the scatter, the best circle; in the plane also ellipses of all directions and shapes, and perturbations of the
    best), the best of which is kept. Every step is one pass over the rows. A distance is the root of one equation per
    row, computed to rounding by a bracketed Newton iteration.

    Along a short arc with much noise the best ellipse may be ever longer, up to a parabola: axes end at 1000 times the
    spread of the rows.

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

    noun: ClassVar[tuple[str, str]] = ("ellipse", "ellipses")

    def check(self, d: int) -> None:
        if d < 2:
            raise ValueError("X has 1 column (n_features=1); Ellipse needs at least 2.")

    def loss(self, X: Matrix) -> Floats:
        deviation = X - self.center_
        distances = signed_distances(deviation @ self.directions_.T, self.axes_)[0]
        return zero_on_structure(distances**2, deviation, self.center_)

    @property
    def _has_axes(self) -> bool:
        """Whether there is an ellipse to step from."""
        return self.is_fitted and self.axes_.min() > 0

    def statistics(self, X: Matrix, weight: Floats) -> Any:
        """The scatter of the rows; once there is an ellipse, the normal equations of the next step as well."""
        if not self._has_axes:
            return Scatter.of(X, weight)
        units = _EllipseUnits(self.center_, float(self.axes_[0]))
        return StepStatistics(Scatter.of(X, weight, diagonal=True), units.equations(X, weight, [self._unit_ellipse]))

    @property
    def _unit_ellipse(self) -> EllipsoidState:
        return np.zeros(len(self.center_)), self.axes_ / self.axes_[0], np.ascontiguousarray(self.directions_.T)

    def _fit_alone(self, rows: Rows) -> None:
        needed = self.min_rows(rows.d)
        n_distinct, widths = principal_widths(rows, needed)
        if n_distinct < needed:
            raise ValueError(
                f"X has {n_distinct} distinct rows, through which many ellipses pass: {needed} determine one in "
                f"{rows.d} dimensions. Give more rows, or fit a Circle."
            )
        if widths[-1] <= MIN_RELATIVE_WIDTH * widths[0]:
            raise ValueError(
                "The rows of X lie on a flat, where the best ellipse has no finite axes. Fit a Line or a Plane."
            )
        super()._fit_alone(rows)

    def pass_requests(self, max_passes: int | None = None) -> PassRequest[Any]:
        is_step = self._has_axes
        totals = yield self.statistics
        scatter = totals.scatter if is_step else totals
        scale, d = scatter.size, len(scatter.mean)
        if scale == 0:
            return scatter.mean, np.zeros(d), np.eye(d)
        units = _EllipseUnits(self.center_, float(self.axes_[0])) if is_step else _EllipseUnits(scatter.mean, scale)
        min_axis, max_axis = MIN_AXIS * scale / units.unit, MAX_AXIS * scale / units.unit

        def move(
            state: EllipsoidState, step: Floats, anchor: Callable[[EllipsoidState], Floats] | None = None
        ) -> EllipsoidState | None:
            center, axes, directions = state
            if np.abs(step[d : 2 * d]).max() > 20:
                return None
            new_axes = axes * np.exp(step[d : 2 * d])
            if new_axes.max() > max_axis or new_axes.min() < min_axis:
                return None
            rotated = _rotated(directions, step[2 * d :])
            if anchor is not None:
                projection = anchor(state)
                center = center + directions @ projection - rotated @ (projection * (new_axes / axes))
            return center + step[:d], new_axes, rotated

        if is_step:  # within a loop: a few steps, since an ellipse that grew along a short arc does not shrink again
            _, best = yield from levenberg(
                [self._unit_ellipse], units.equations, move, max_passes or MAX_PASSES, totals.equations
            )
        else:
            starts, shapes = yield from self._starts(scatter, units)
            best = yield from _best_of_starts(starts, shapes, units, move, scatter.weight, max_passes)
        return units.origin + units.unit * best[0], units.unit * best[1], best[2]

    def _starts(
        self, scatter: Scatter, units: "_EllipseUnits"
    ) -> PassRequest[tuple[list[EllipsoidState], list[EllipsoidState]]]:
        values, directions = principal_axes(scatter.cross / scatter.weight / units.unit**2)
        size = np.sqrt(np.maximum(values, MIN_AXIS**2))
        G = yield lambda X, weight: quadrics(((X - units.origin) / units.unit) @ directions / size, weight)
        scattered = _scatter_ellipsoid(values, directions)
        center, radius = yield from Circle().pass_requests()
        center, radius = (center - units.origin) / units.unit, radius / units.unit
        axes = np.full(len(values), np.clip(radius, 1e-3, 0.1 * MAX_AXIS))
        stretched = axes * np.where(values == values.max(), 2.0, 1.0)
        shapes = ellipses_of_all_shapes(G, directions, size) if len(values) == 2 else []
        circle, long = (center, axes, directions), (center, stretched, directions)
        return [*algebraic(G, directions, size), scattered, circle, long], shapes

    def _update(self, estimate: Any) -> None:
        self.center_, axes, directions = estimate
        order = np.argsort(-axes, kind="stable")
        self.axes_ = axes[order]
        basis = np.ascontiguousarray(sl.qr(directions)[0][:, order].T)
        self.directions_ = (
            basis * np.where(np.einsum("ij,ij->i", basis, directions[:, order].T) < 0, -1.0, 1.0)[:, None]
        )

    def rough_fit(self, X: Matrix, weight: Floats) -> Self:
        scatter = Scatter.of(X, weight)
        scale = scatter.size
        if scale == 0:
            return self.fitted_to(X, weight)
        values, directions = principal_axes(scatter.cross / scatter.weight / scale**2)
        size = np.sqrt(np.maximum(values, MIN_AXIS**2))
        scaled = (X - scatter.mean) / scale
        if len(X) < self.min_rows(X.shape[1]):  # on many ellipsoids
            exact = roundest_through(scaled)
        else:
            exact = algebraic(quadrics(scaled @ directions / size, weight), directions, size)
        center, axes, directions = [*exact, _scatter_ellipsoid(values, directions)][0]
        return self.refitted((scatter.mean + scale * center, scale * axes, directions))

    def moved_to(self, x: Floats) -> "Ellipse":
        other = copy(self)
        other.center_ = x - self.axes_[0] * self.directions_[0]
        return other

    def geometry(self) -> Geometry:
        semi_axes = self.directions_ * self.axes_[:, None]
        return Geometry(self.center_, quadric=semi_axes.T @ semi_axes)

    def measures(self) -> dict[str, object]:
        return {"centre": self.center_, "axes": self.axes_}

    def codimension(self, d: int) -> int:
        return 1

    def n_parameters(self, d: int) -> int:
        return d * (d + 3) // 2

    def min_rows(self, d: int) -> int:
        return d * (d + 3) // 2


@dataclass(frozen=True, eq=False)
class _EllipseUnits:
    """Coordinates about an origin in a unit; an ellipse is its centre, axes and directions there."""

    origin: Floats
    unit: float

    def equations(self, X: Floats, weight: Floats, states: list[EllipsoidState]) -> NormalEquations:
        s, d = len(states), len(self.origin)
        p = d * (d + 3) // 2
        sums = NormalEquations(float(weight.sum()), np.zeros(s), np.zeros((s, p)), np.zeros((s, p, p)))
        for i, state in enumerate(states):
            gradient, hessian = sums.gradient[i], sums.hessian[i]
            sums.value[i] = ellipse_equations(X, weight, self.origin, self.unit, *state, gradient, hessian)
        return sums


def _best_of_starts(
    starts: list[EllipsoidState],
    shapes: list[EllipsoidState],
    units: _EllipseUnits,
    move: Callable[..., EllipsoidState | None],
    weight: float,
    max_passes: int | None,
) -> PassRequest[EllipsoidState]:
    """The best ellipse from several starts; in the plane, where arcs have many minima, also from perturbations."""
    d = len(units.origin)
    if d > 2:
        return (yield from levenberg(starts, units.equations, move, max_passes or MAX_PASSES))[1]

    def anchor(state: EllipsoidState) -> Floats:
        """The projection of the mean of the rows on the ellipsoid, in its axes and from its centre."""
        center, axes, directions = state
        return np.asarray(signed_distances((-center @ directions)[None], axes)[1][0])

    def basis(state: EllipsoidState) -> Floats:
        return _anchored_basis(state, anchor(state))

    step = partial(move, anchor=anchor)
    value, best = yield from levenberg(starts, units.equations, step, max_passes or MAX_PASSES, None, basis)
    center, axes, directions = best
    central = np.linalg.norm((center @ directions) / axes) < MAX_CENTRAL_OFFSET  # rows surround the centre
    if central and np.sqrt(value / weight) < MAX_CENTRAL_NOISE * axes.min() ** 2 / axes.max():
        return best
    value, best = yield from levenberg([best, *shapes], units.equations, step, max_passes or MAX_PASSES, None, basis)
    for size in PERTURBATIONS if max_passes is None else ():
        # minima lie close together where the projections of rows change sides
        changes = [size * sign * each for each in np.eye(d * (d + 3) // 2) for sign in (-1.0, 1.0)]
        perturbed = [state for change in changes if (state := step(best, change)) is not None]
        other = yield from levenberg([best, *perturbed], units.equations, step, MAX_PASSES, None, basis)
        value, best = min((value, best), other, key=lambda pair: pair[0])
    return best


def _rotated(directions: Floats, angles: Floats) -> Floats:
    """Directions rotated by small angles in every plane of two of them (Cayley transform)."""
    d = len(directions)
    skew = np.zeros((d, d))
    for angle, (i, j) in zip(angles, combinations(range(d), 2), strict=True):
        skew[i, j], skew[j, i] = angle, -angle
    return np.ascontiguousarray(directions @ np.linalg.solve(np.eye(d) - 0.5 * skew, np.eye(d) + 0.5 * skew))


def _anchored_basis(state: EllipsoidState, projection: Floats) -> Floats:
    """The Jacobian of centre, axes and angles in the anchor, the axes and the angles.

    Axes grow from the anchor and rotate about it, so that the best ellipses of all lengths along an arc form a nearly
    straight path.
    """
    _, axes, directions = state
    d = len(axes)
    B = np.eye(d * (d + 3) // 2)
    B[:d, d : 2 * d] = -directions * projection
    for at, (i, j) in enumerate(combinations(range(d), 2)):
        B[:d, 2 * d + at] = directions[:, j] * projection[i] - directions[:, i] * projection[j]
    return B


def _scatter_ellipsoid(values: Floats, directions: Floats) -> EllipsoidState:
    """The ellipsoid on whose whole surface rows of this scatter would lie."""
    axes = np.clip(np.sqrt(len(values) * np.maximum(values, 0.0)), 1e-3, MAX_AXIS)
    return np.zeros(len(values)), axes, directions
