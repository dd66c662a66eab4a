"""Pieces of a conic that are drawn: lines and arms, cut by a window."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gramian._core.types import Bools, Floats

EPS = float(np.finfo(np.float64).eps)

SHAPE = 1e-8  # precisions that differ by a smaller share, and slopes below it, make no curve that data could show
LEVEL = 1e-10  # the same for a constant, relative to the terms it is the difference of
LARGEST = 8e307  # edge of a window: twice as much is still a float
FAR = 2.0**400  # coordinates are cut off here, so that squares stay finite


@dataclass(frozen=True, eq=False)
class Branch:
    """A connected curve: its form, its points by a parameter, and the parameter of its points."""

    form: tuple[Floats, Floats, float]
    at: Callable[[Floats], Floats]
    of: Callable[[Floats], Floats]
    closed: bool = False
    owns: Callable[[Floats], Bools] | None = None

    def crossings(self, corners: Floats) -> Floats:
        """Parameters, in order, at which the curve meets the edges of a window."""
        bend, tilt, level = self.form
        found = []
        for start, step in zip(corners, np.roll(corners, -1, axis=0) - corners, strict=True):
            polynomial = (step * step) @ bend, 2.0 * (start * step) @ bend + step @ tilt
            for share in roots(*polynomial, float((start * start) @ bend + start @ tilt + level)):
                if 0.0 <= share <= 1.0:
                    found.append(start + share * step)
        points = np.array(found).reshape(-1, 2)
        if self.owns is not None:
            points = points[self.owns(points)]
        return np.sort(self.of(points))


def line(normal: Floats, level: float) -> Branch:
    """normal · v + level = 0."""
    length = float(np.sqrt(normal @ normal))
    foot = -level * normal / length**2
    along = np.array([-normal[1], normal[0]]) / length
    form = (np.zeros(2), normal, level)
    return Branch(form, lambda t: foot + t[:, None] * along, lambda v: (v - foot) @ along)


def arm(form: tuple[Floats, Floats, float], middle: Floats, half: Floats, c: int, side: float) -> Branch:
    """One of the two branches of a hyperbola."""

    def at(t: Floats) -> Floats:
        v = np.empty((len(t), 2))
        v[:, c] = middle[c] + side * half[c] * np.cosh(t)
        v[:, 1 - c] = middle[1 - c] + half[1 - c] * np.sinh(t)
        return v

    return Branch(
        form,
        at,
        lambda v: np.arcsinh((v[:, 1 - c] - middle[1 - c]) / half[1 - c]),
        owns=lambda v: side * (v[:, c] - middle[c]) > 0,
    )


def roots(a: float, b: float, c: float) -> list[float]:
    """Real roots of at² + bt + c, without cancellation."""
    if a == 0:
        return [] if b == 0 else [-c / b]
    inner = b * b - 4.0 * a * c
    if inner < 0:
        return []
    q = -(b + np.copysign(np.sqrt(inner), b)) / 2.0
    return [q / a, c / q] if q else [0.0]
