"""Where two normal densities weigh the same: a conic in the plane, a quadric above it."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as sla

from gramian._core import validation
from gramian._core.numerics.float_range import rescaled
from gramian._core.types import Bools, Floats, Ints
from gramian.models.discriminant.conic_branches import Branch, arm, line
from gramian.rows import single_threaded_blas

EPS = float(np.finfo(np.float64).eps)

SHAPE = 1e-8  # precisions that differ by a smaller share, and slopes below it, make no curve that data could show
LEVEL = 1e-10  # the same for a constant, relative to the terms it is the difference of
LARGEST = 8e307  # edge of a window: twice as much is still a float
FAR = 2.0**400  # coordinates are cut off here, so that squares stay finite


@dataclass(frozen=True, eq=False, repr=False)
class Conic:
    """The boundary between two classes: the points x with g_i(x) − g_j(x) = xᵀQx + lᵀx + c = 0.

    Called on points (n, d) it gives g_i − g_j: above 0 where class i is the more probable.

    Attributes
    ----------
    kind : str
        Of two features: "line", "circle", "ellipse", "parabola", "hyperbola", "rectangular hyperbola",
        "pair of lines" (crossing or parallel), "point", "none" (one class is the more probable everywhere) or
        "everywhere" (the two are the same). A double line is a "line". Of one feature: "point", "two points", "none",
        "everywhere". Of more: "plane", "quadric", "point", "none", "everywhere".
    A, B, C, D, E, F : float
        Of two features: Ax² + Bxy + Cy² + Dx + Ey + F = g_i − g_j.
    quadratic, linear, constant : array (d, d), array (d,), float
        Q, l and c.
    center, axes, angle, radius, vertex : where the kind has them, else None
        Centre (also where two lines cross); semi-axes, the longer first, or the transverse and the conjugate one;
        angle of the first axis, in radians; radius; vertex of a parabola.
    classes : tuple
        The labels (i, j).
    window : array (2, 2)
        [[lowest x, highest x], …]: three deviations around both means, where `points` draws.

    Notes
    -----
    Signs are taken in coordinates in which the two inverse covariances add up to the identity, so that the kind does
    not depend on units, but for circles and rectangular hyperbolas, which do. What differs by less than 1e-8 of these
    coordinates is equal.

    Examples
    --------
    >>> from gramian.models.discriminant.discriminant import GaussianDiscriminant
    >>> X = [[-1, 0], [1, 0], [0, 1], [0, -1], [3, 0], [7, 0], [5, 2], [5, -2]]
    >>> model = GaussianDiscriminant("spherical").fit(X, ["a"] * 4 + ["b"] * 4)
    >>> model.boundary("a", "b").kind
    'circle'
    >>> print(model.boundary("a", "b"))
    Between 'a' and 'b': a circle around (-1.66667, 0) of radius 3.59993.
    """

    classes: tuple[Any, Any]
    origin: Floats
    exponents: Ints
    into: Floats  # v = into · (x − origin) · 2^−exponents: the coordinates in which the form is a sum
    back: Floats
    bend: Floats  # value = Σ bend v² + tilt v + level
    tilt: Floats
    level: float
    size: float  # of the terms that tilt is the difference of
    terms: float  # and level
    window: Floats

    @single_threaded_blas()
    def __call__(self, X: Any) -> Any:
        """g_i − g_j of points (n, d), or of one point (d,)."""
        points = np.asarray(X, dtype=np.float64)
        if points.ndim not in (1, 2) or points.shape[-1] != self.d:
            raise ValueError(f"The points have shape {points.shape}; they need {self.d} coordinates each.")
        v = self._coordinates(np.atleast_2d(points))
        found = (v * v) @ self.bend + v @ self.tilt + self.level
        return float(found[0]) if points.ndim == 1 else found

    @property
    def d(self) -> int:
        return len(self.origin)

    def _coordinates(self, points: Floats) -> Floats:
        half = 0.5 * points - 0.5 * self.origin
        with np.errstate(over="ignore"):
            return np.clip(np.ldexp(half, 1 - self.exponents), -FAR, FAR) @ self.into.T

    def _points(self, v: Floats) -> Floats:
        return self.origin + np.ldexp(v @ self.back.T, self.exponents)

    @cached_property
    def _bent(self) -> Bools:
        return np.abs(self.bend) > SHAPE

    @cached_property
    def _sloped(self) -> Bools:
        """Directions in which the form is linear."""
        return ~self._bent & (np.abs(self.tilt) > SHAPE * (1.0 + self.size))

    @cached_property
    def _middle(self) -> Floats:
        """Where the bent directions have their extreme, in v."""
        return np.where(self._bent, -self.tilt / np.where(self._bent, 2.0 * self.bend, 1.0), 0.0)

    @cached_property
    def _extreme(self) -> float:
        """The value there, exactly 0 where rounding could have made it."""
        bend, tilt = self.bend[self._bent], self.tilt[self._bent]
        squares = tilt * tilt / (4.0 * bend)
        rounding = LEVEL * (1.0 + self.terms) + (np.abs(squares) * np.maximum(LEVEL, 10 * EPS / np.abs(bend))).sum()
        found = self.level - float(squares.sum())
        return 0.0 if abs(found) <= rounding else found

    @cached_property
    def kind(self) -> str:
        bent = int(self._bent.sum())
        flat = {1: "point", 2: "line"}.get(self.d, "plane")
        if self._sloped.any():
            return flat if bent == 0 else "parabola" if self.d == 2 else "quadric"
        at, signs = self._extreme, np.sign(self.bend[self._bent])
        if bent == 0:
            return "none" if at else "everywhere"
        if (signs == signs[0]).all():
            if at == 0:
                return "point" if bent == self.d else flat if bent == 1 else "quadric"
            if np.sign(at) == signs[0]:
                return "none"
            if self.d != 2:
                return "two points" if self.d == 1 else "quadric"
            return "pair of lines" if bent == 1 else "circle" if self._round else "ellipse"
        if self.d != 2:
            return "quadric"
        if at == 0:
            return "pair of lines"
        return "rectangular hyperbola" if self._rectangular else "hyperbola"

    @cached_property
    def _form(self) -> Floats:
        """Q over a power of two: in the units of the smallest column."""
        scaled = np.ldexp(self.into, self.exponents.min() - self.exponents)
        return (scaled.T * np.where(self._bent, self.bend, 0.0)) @ scaled

    @property
    def _round(self) -> bool:
        (a, b), (_, c) = self._form
        return bool(np.hypot(a - c, 2.0 * b) <= SHAPE * abs(a + c))

    @property
    def _rectangular(self) -> bool:
        (a, b), (_, c) = self._form
        return bool(abs(a + c) <= SHAPE * np.hypot(a - c, 2.0 * b))

    @cached_property
    def quadratic(self) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            return _finite(rescaled((self.into.T * self.bend) @ self.into, -self.exponents))

    @cached_property
    def linear(self) -> Floats:
        at_zero = self._coordinates(np.zeros((1, self.d)))[0]
        with np.errstate(over="ignore", under="ignore"):
            return _finite(np.ldexp((2.0 * self.bend * at_zero + self.tilt) @ self.into, -self.exponents))

    @cached_property
    def constant(self) -> float:
        return float(self(np.zeros(self.d)))

    @cached_property
    def _letters(self) -> tuple[float, ...]:
        if self.d != 2:
            raise ValueError(f"A … F are of two features, and here are {self.d}: use quadratic, linear and constant.")
        (a, b), (_, c) = self.quadratic
        return float(a), float(2.0 * b), float(c), *map(float, self.linear), self.constant

    A = property(lambda self: self._letters[0])
    B = property(lambda self: self._letters[1])
    C = property(lambda self: self._letters[2])
    D = property(lambda self: self._letters[3])
    E = property(lambda self: self._letters[4])
    F = property(lambda self: self._letters[5])

    @cached_property
    def center(self) -> Floats | None:
        if self.kind in ("none", "everywhere", "two points") or not self._bent.all():
            return None
        return self._points(self._middle[None, :])[0]

    @cached_property
    def _principal(self) -> tuple[Floats, float] | None:
        if self.kind not in ("circle", "ellipse", "hyperbola", "rectangular hyperbola"):
            return None
        (a, b), (_, c) = self._form
        unit = int(self.exponents.min())
        # The eigenvalue larger in size by a sum, the other from the product of both: neither loses digits.
        large = (a + c + np.copysign(np.hypot(a - c, 2.0 * b), a + c)) / 2.0
        product = float(np.prod(self.bend) * np.linalg.det(self.into) ** 2)
        near = float(np.ldexp(np.sqrt(abs(self._extreme / large)), unit))
        far = float(np.ldexp(np.sqrt(abs(self._extreme * large / product)), int(self.exponents.sum()) - unit))
        angle = 0.5 * float(np.arctan2(2.0 * b, a - c)) + (0.0 if a + c >= 0 else np.pi / 2.0)
        axes = np.array([near, far])
        if self.kind == "circle":
            return np.full(2, axes.mean()), 0.0
        if self.kind == "ellipse" or self._extreme * large > 0:
            axes, angle = axes[::-1], angle + np.pi / 2.0
        return axes, float((angle + np.pi / 2.0) % np.pi - np.pi / 2.0)

    @property
    def axes(self) -> Floats | None:
        return None if self._principal is None else self._principal[0]

    @property
    def angle(self) -> float | None:
        return None if self._principal is None else self._principal[1]

    @property
    def radius(self) -> float | None:
        return float(self._principal[0][0]) if self._principal is not None and self.kind == "circle" else None

    @cached_property
    def vertex(self) -> Floats | None:
        if self.kind != "parabola":
            return None
        unit = int(self.exponents.min())
        bent = int(self._bent.argmax())
        normal = np.ldexp(self.into[bent], unit - self.exponents)
        bend = self.bend[bent] * (normal @ normal)
        normal /= np.sqrt(normal @ normal)
        axis = np.array([-normal[1], normal[0]])
        slope = np.ldexp(self.tilt @ self.into, unit - self.exponents)
        p = -(slope @ normal) / (2.0 * bend)
        q = -(self.level + p * (slope @ normal) / 2.0) / (slope @ axis)
        return self.origin + np.ldexp(p * normal + q * axis, unit)

    def points(self, n: int = 200, window: Any = None) -> list[Floats]:
        """The curve as pieces that can be drawn: arrays (n, 2) of points in order along it, cut at the window's edges.

        Of one feature: one array with the points of the boundary, (0, 1), (1, 1) or (2, 1). A single point in the plane
        has no pieces; it is `center`.

        Parameters
        ----------
        n : int
            Points of each piece.
        window : array (2, 2), optional
            [[lowest x, highest x], [lowest y, highest y]]; by default three deviations around both means.
        """
        if self.d == 1:
            return [self._ends()]
        n = validation.whole("n", n, low=2)
        if self.d != 2:
            raise ValueError(f"Curves are drawn of two features, and here are {self.d}.")
        edges = self.window if window is None else np.asarray(window, dtype=np.float64)
        if edges.shape != (2, 2) or not np.isfinite(edges).all() or (edges[:, 0] >= edges[:, 1]).any():
            raise ValueError(f"window is {window!r}; it must be [[lowest x, highest x], [lowest y, highest y]].")
        corners = np.array([[edges[0, i], edges[1, j]] for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))])
        v = self._coordinates(corners)
        slack = 1e-9 * (edges[:, 1] - edges[:, 0])

        def inside(points: Floats) -> bool:
            return bool(((points >= edges[:, 0] - slack) & (points <= edges[:, 1] + slack)).all())

        pieces = []
        for branch in self._branches():
            ends = branch.crossings(v)
            if branch.closed:
                ends = np.append(ends, ends[0] + 2.0 * np.pi) if ends.size else np.array([0.0, 2.0 * np.pi])
            for start, stop in pairwise(ends):
                if stop - start > 1e-12 * (1.0 + abs(start)) and inside(
                    self._points(branch.at(np.array([(start + stop) / 2.0])))
                ):
                    pieces.append(self._points(branch.at(np.linspace(start, stop, n))))
        return pieces

    def _ends(self) -> Floats:
        """The boundary of one feature."""
        if self.kind in ("none", "everywhere"):
            return np.empty((0, 1))
        if self._sloped[0]:
            return self._points(np.array([[-self.level / self.tilt[0]]]))
        step = float(np.sqrt(-self._extreme / self.bend[0]))
        v = self._middle + np.array([[-step], [step]] if step else [[0.0]])
        return np.sort(self._points(v), axis=0)

    def _branches(self) -> "list[Branch]":
        """The connected curves of a conic, in v."""
        kind, middle, at = self.kind, self._middle, self._extreme
        form = (self.bend * self._bent, self.tilt * (self._bent | self._sloped), self.level)
        if kind == "line":
            if self._sloped.any():
                return [line(self.tilt, self.level)]
            return [line(self._bent.astype(np.float64), -float(middle.sum()))]  # twice the same line
        if kind == "parabola":
            c, s = int(self._bent.argmax()), int(self._sloped.argmax())

            def parabola(t: Floats) -> Floats:
                v = np.empty((len(t), 2))
                v[:, c] = middle[c] + t
                v[:, s] = -(self.bend[c] * t * t + at) / self.tilt[s]
                return v

            return [Branch(form, parabola, lambda v: v[:, c] - middle[c])]
        if kind in ("circle", "ellipse"):
            half = np.sqrt(-at / self.bend)
            return [
                Branch(
                    form,
                    lambda t: middle + half * np.column_stack([np.cos(t), np.sin(t)]),
                    lambda v: np.arctan2((v[:, 1] - middle[1]) / half[1], (v[:, 0] - middle[0]) / half[0]),
                    closed=True,
                )
            ]
        if kind == "pair of lines":
            if not self._bent.all():
                normal, step = self._bent.astype(np.float64), float(np.sqrt(-at / self.bend[self._bent][0]))
                return [line(normal, -float(middle.sum()) + side * step) for side in (-1.0, 1.0)]
            root = np.sqrt(np.abs(self.bend))
            normals = (root, root * [1.0, -1.0])
            return [line(normal, -float(normal @ middle)) for normal in normals]
        if kind in ("hyperbola", "rectangular hyperbola"):
            half = np.sqrt(np.abs(at / self.bend))
            c = int((self.bend * at < 0).argmax())  # the coordinate that tells the branches apart
            return [arm(form, middle, half, c, side) for side in (-1.0, 1.0)]
        return []

    def __str__(self) -> str:
        i, j = self.classes
        start = f"Between {i!r} and {j!r}: "
        if self.kind == "none":
            more, less = (i, j) if self(self.origin) > 0 else (j, i)
            return f"{start}no boundary, {more!r} is more probable than {less!r} everywhere."
        if self.kind == "everywhere":
            return f"{start}no boundary, the two are equally probable everywhere."
        article = "" if self.kind == "two points" else "an " if self.kind[0] == "e" else "a "
        text = f"{start}{article}{self.kind}"
        if self.d == 1:
            return f"{text}, {' and '.join(f'{x:.6g}' for x in self._ends()[:, 0])}."
        if self.kind == "line" and self._sloped.any():
            try:
                return f"{text}, {self.D:.6g} x {_signed(self.E)} y {_signed(self.F)} = 0."
            except OverflowError:
                return f"{text}."
        if self.kind == "circle":
            return f"{text} around {_pair(self.center)} of radius {self.radius:.6g}."
        if self._principal is not None:
            (first, other), angle = self._principal
            turned = f"semi-axes {first:.6g} and {other:.6g}, turned by {np.degrees(angle):.4g}°"
            return f"{text} around {_pair(self.center)} with {turned}."
        if self.kind == "pair of lines":
            return f"{text} that " + ("are parallel." if self.center is None else f"cross at {_pair(self.center)}.")
        if self.vertex is not None:
            return f"{text} with its vertex at {_pair(self.vertex)}."
        return f"{text} at {_pair(self.center)}." if self.center is not None else f"{text}."

    def __repr__(self) -> str:
        return str(self)


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise OverflowError(
            "The coefficients of this boundary are beyond the range of float64. Its kind and its values are not "
            "concerned; give the columns in other units to see them."
        )
    return values


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else '−'} {abs(value):.6g}"


def _pair(point: Floats | None) -> str:
    assert point is not None
    return "(" + ", ".join(f"{value:.6g}" for value in point + 0.0) + ")"


def between(
    classes: tuple[Any, Any], means: Floats, roots: list[Floats], exponents: list[Ints], deviations: Floats, odds: float
) -> Conic:
    """The boundary of two normal densities.

    Parameters
    ----------
    means, deviations : array (2, d)
    roots, exponents : one each
        W, an array (d, d) or (d,), and e with Σ⁻¹ = 2^−e WWᵀ 2^−e; the same object twice is the same Σ.
    odds : float
        log(π_i/π_j) − ½ log(|Σ_i|/|Σ_j|): the difference g_i − g_j but for the distances from the means.
    """
    d, same = means.shape[1], roots[0] is roots[1]
    units = np.minimum(*exponents)
    origin = 0.5 * means[0] + 0.5 * means[1]
    inverses, offsets = [], []
    for mean, root, exponent in zip(means, roots, exponents, strict=True):
        inverses.append(np.ldexp(np.diag(root) if root.ndim == 1 else root, (units - exponent)[:, None]))
        with np.errstate(over="ignore"):
            gap = np.clip(np.ldexp(0.5 * mean - 0.5 * origin, 1 - units), -FAR, FAR)
        offsets.append(gap @ inverses[-1])
    # The inverse covariances add up to RᵀR; in the coordinates v = UᵀRu they add up to I, and their difference is
    # diagonal: its entries are known to rounding however thin the densities are.
    R = np.asarray(sla.qr(np.vstack([inverse.T for inverse in inverses]), mode="r", check_finite=False)[0][:d])
    first, second = (np.asarray(sla.solve_triangular(R, W, trans="T", check_finite=False)) for W in inverses)
    bend, U = np.zeros(d), np.eye(d)
    if not same:
        bend, U = np.linalg.eigh(0.5 * (second @ second.T - first @ first.T))
    squares = [float(offset @ offset) for offset in offsets]
    with np.errstate(over="ignore"):
        ends = [(means - 3.0 * deviations).min(axis=0), (means + 3.0 * deviations).max(axis=0)]
    return Conic(
        classes=classes,
        origin=origin,
        exponents=units,
        into=U.T @ R,
        back=np.asarray(sla.solve_triangular(R, U, check_finite=False)),
        bend=bend,
        tilt=U.T @ (first @ offsets[0] - second @ offsets[1]),
        level=odds - 0.5 * (squares[0] - squares[1]),
        size=float(np.sqrt(squares).sum()),
        terms=abs(odds) + 0.5 * sum(squares),
        window=np.clip(np.stack(ends, axis=1), -LARGEST, LARGEST),
    )
