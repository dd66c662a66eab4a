"""Ellipses and ellipsoids, by geometric fit of true orthogonal distances."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Self

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from gramian.rows import Rows
from gramian.structures.components.base import Structure
from gramian.structures.components.circle import Circle, Stepping, spread_of
from gramian.structures.components.conics import LARGEST, SMALLEST, State, algebraic, outlined, quadrics, through_few
from gramian.structures.components.ellipsoid_projection import ellipse_equations, signed_distances
from gramian.structures.components.levenberg import STEPS, Equations, levenberg
from gramian.structures.loop.multipass import PassRequest
from gramian.structures.loop.rounding import principal_axes, zero_on_structure
from gramian.structures.loop.sufficient_statistics import Scatter

Floats = NDArray[np.float64]
WELL_INSIDE, THIN = 0.3, 0.2  # the middle of the rows, in axes; the noise, in radii of curvature: one minimum is clear
NUDGES = (1.0, 0.3, 0.1)  # of places, logarithms of axes and angles about the best ellipse
FLAT = 1e-7  # relative size of the last direction below which rows lie on a flat


@dataclass(eq=False)
class Ellipse(Structure):
    """The ellipse (in more dimensions the ellipsoid) of least Σw distance², distances orthogonal to its surface.

    The fit is geometric: Gauss–Newton on orthogonal distances from several starts (an algebraic conic, the axes of the
    scatter, the best circle; in the plane also ellipses of all directions and shapes, and others about the best), the
    best of which is kept. Every step is one pass over the rows. A distance is the root of one equation per row, found
    to rounding by a Newton iteration that cannot leave its bracket.

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

    def check(self, d: int) -> None:
        if d < 2:
            raise ValueError("X has 1 column (n_features=1); Ellipse needs at least 2.")

    def loss(self, X: Any) -> Floats:
        away = X - self.center_
        return zero_on_structure(signed_distances(away @ self.directions_.T, self.axes_)[0] ** 2, away, self.center_)

    def gather(self, X: Any, weight: Floats) -> Any:
        """The scatter of the rows; once there is an ellipse, the equations of the next step as well."""
        if not hasattr(self, "center_") or not self.axes_.min() > 0:
            return Scatter.of(X, weight)
        frame = _Frame(self.center_, float(self.axes_[0]))
        return Stepping(Scatter.of(X, weight, diagonal=True), frame.at(X, weight, [self._own]))

    @property
    def _own(self) -> State:
        return np.zeros(len(self.center_)), self.axes_ / self.axes_[0], np.ascontiguousarray(self.directions_.T)

    def _fit_alone(self, rows: Rows) -> None:
        if hasattr(self, "center_"):
            del self.center_
        needed = self.least(rows.d)
        distinct, sizes = spread_of(rows, needed)
        if distinct < needed:
            raise ValueError(
                f"X has {distinct} distinct rows, through which many ellipses pass: {needed} determine one in "
                f"{rows.d} dimensions. Give more rows, or fit a Circle."
            )
        if sizes[-1] <= FLAT * sizes[0]:
            raise ValueError(
                "The rows lie on a flat, to which every large ellipse comes as near as one likes: none is best. Fit a "
                "Line or a Plane."
            )
        super()._fit_alone(rows)

    def learning(self, passes: int | None = None) -> PassRequest[Any]:
        found = yield self.gather
        fresh = isinstance(found, Scatter)
        scatter = found if fresh else found.scatter
        scale, d = scatter.size, len(scatter.mean)
        if scale == 0:
            return scatter.mean, np.zeros(d), np.eye(d)
        frame = _Frame(scatter.mean, scale) if fresh else _Frame(self.center_, float(self.axes_[0]))
        ends = SMALLEST * scale / frame.unit, LARGEST * scale / frame.unit

        def move(state: State, step: Floats, anchor: Callable[[State], Floats] | None = None) -> State | None:
            center, axes, turn = state
            if np.abs(step[d : 2 * d]).max() > 20:
                return None
            longer = axes * np.exp(step[d : 2 * d])
            if longer.max() > ends[1] or longer.min() < ends[0]:
                return None
            turned = _turned(turn, step[2 * d :])
            if anchor is not None:
                foot = anchor(state)
                center = center + turn @ foot - turned @ (foot * (longer / axes))
            return center + step[:d], longer, turned

        if fresh:
            starts, shapes = yield from self._starts(scatter, frame)
            best = yield from _searched(starts, shapes, frame, move, scatter.weight, passes)
        else:  # within a loop a few steps on from where it is: what runs off along an arc does not come back
            _, best = yield from levenberg([self._own], frame.at, move, passes or STEPS, found.equations)
        return frame.origin + frame.unit * best[0], frame.unit * best[1], best[2]

    def _starts(self, scatter: Scatter, frame: "_Frame") -> PassRequest[tuple[list[State], list[State]]]:
        values, turn = principal_axes(scatter.cross / scatter.weight / frame.unit**2)
        size = np.sqrt(np.maximum(values, SMALLEST**2))
        G = yield lambda X, weight: quadrics(((X - frame.origin) / frame.unit) @ turn / size, weight)
        around = _scattered(values, turn)
        center, radius = yield from Circle().learning()
        center, radius = (center - frame.origin) / frame.unit, radius / frame.unit
        round_ = np.full(len(values), np.clip(radius, 1e-3, 0.1 * LARGEST))
        stretched = round_ * np.where(values == values.max(), 2.0, 1.0)
        shapes = outlined(G, turn, size) if len(values) == 2 else []
        return [*algebraic(G, turn, size), around, (center, round_, turn), (center, stretched, turn)], shapes

    def _learn(self, summary: Any) -> None:
        self.center_, axes, turn = summary
        order = np.argsort(-axes, kind="stable")
        self.axes_ = axes[order]
        self.directions_ = np.ascontiguousarray(sl.qr(turn)[0][:, order].T)
        self.directions_ *= np.where(np.einsum("ij,ij->i", self.directions_, turn[:, order].T) < 0, -1.0, 1.0)[:, None]

    def sketch(self, X: Any, weight: Floats) -> Self:
        scatter = Scatter.of(X, weight)
        scale = scatter.size
        if scale == 0:
            return self.fitted_to(X, weight)
        values, turn = principal_axes(scatter.cross / scatter.weight / scale**2)
        size = np.sqrt(np.maximum(values, SMALLEST**2))
        if len(X) < self.least(X.shape[1]):  # on many ellipsoids
            exact = through_few((X - scatter.mean) / scale)
        else:
            exact = algebraic(quadrics(((X - scatter.mean) / scale) @ turn / size, weight), turn, size)
        center, axes, turn = [*exact, _scattered(values, turn)][0]
        return self.refitted((scatter.mean + scale * center, scale * axes, turn))

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


@dataclass(frozen=True, eq=False)
class _Frame:
    """An origin and a unit, in which ellipses are centres, axes and directions."""

    origin: Floats
    unit: float

    def at(self, X: Floats, weight: Floats, states: list[State]) -> Equations:
        s, d = len(states), len(self.origin)
        p = d * (d + 3) // 2
        found = Equations(float(weight.sum()), np.zeros(s), np.zeros((s, p)), np.zeros((s, p, p)))
        for i, state in enumerate(states):
            slope, curve = found.slope[i], found.curve[i]
            found.value[i] = ellipse_equations(X, weight, self.origin, self.unit, *state, slope, curve)
        return found


def _searched(
    starts: list[State],
    shapes: list[State],
    frame: _Frame,
    move: Callable[..., State | None],
    weight: float,
    passes: int | None,
) -> PassRequest[State]:
    """The best ellipse from some starts; in the plane, where short arcs have many minima, also from near the best."""
    d = len(frame.origin)
    if d > 2:
        return (yield from levenberg(starts, frame.at, move, passes or STEPS))[1]

    def anchor(state: State) -> Floats:
        """The point of the ellipsoid nearest to the middle of the rows, along the directions from the centre."""
        center, axes, turn = state
        return np.asarray(signed_distances((-center @ turn)[None], axes)[1][0])

    def basis(state: State) -> Floats:
        return _held(state, anchor(state))

    step = partial(move, anchor=anchor)
    value, best = yield from levenberg(starts, frame.at, step, passes or STEPS, None, basis)
    center, axes, turn = best
    about = np.linalg.norm((center @ turn) / axes) < WELL_INSIDE  # rows lie all around the centre
    clear = about and np.sqrt(value / weight) < THIN * axes.min() ** 2 / axes.max()
    if clear:
        return best
    value, best = yield from levenberg([best, *shapes], frame.at, step, passes or STEPS, None, basis)
    for size in NUDGES if passes is None else ():
        # minima lie close together where the feet of rows change sides
        nudges = [size * sign * each for each in np.eye(d * (d + 3) // 2) for sign in (-1.0, 1.0)]
        near = [there for nudge in nudges if (there := step(best, nudge)) is not None]
        other, there = yield from levenberg([best, *near], frame.at, step, STEPS, None, basis)
        value, best = min((value, best), (other, there), key=lambda pair: pair[0])
    return best


def _turned(turn: Floats, angles: Floats) -> Floats:
    """Directions turned by small angles in every plane of two of them."""
    d = len(turn)
    skew = np.zeros((d, d))
    for angle, (i, j) in zip(angles, combinations(range(d), 2), strict=True):
        skew[i, j], skew[j, i] = angle, -angle
    return np.ascontiguousarray(turn @ np.linalg.solve(np.eye(d) - 0.5 * skew, np.eye(d) + 0.5 * skew))


def _held(state: State, foot: Floats) -> Floats:
    """Steps of the anchor, the axes and the angles as steps of the centre, the axes and the angles.

    Axes grow from the anchor and turn about it: the best ellipses of all lengths along an arc are then a straight path.
    """
    _, axes, turn = state
    d = len(axes)
    B = np.eye(d * (d + 3) // 2)
    B[:d, d : 2 * d] = -turn * foot
    for at, (i, j) in enumerate(combinations(range(d), 2)):
        B[:d, 2 * d + at] = turn[:, j] * foot[i] - turn[:, i] * foot[j]
    return B


def _scattered(values: Floats, turn: Floats) -> State:
    """The axes of the scatter, of rows spread over the whole surface."""
    return np.zeros(len(values)), np.clip(np.sqrt(len(values) * np.maximum(values, 0.0)), 1e-3, LARGEST), turn
