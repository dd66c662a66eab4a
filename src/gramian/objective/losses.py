"""Losses: functions of a target and a prediction. Adding one is one frozen class here; the common checks find it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Loss(ABC):
    """loss(y, f), convex or not as `convex` says, with its derivatives in the prediction f."""

    convex: ClassVar[bool] = True

    @abstractmethod
    def value(self, y: Floats, f: Floats) -> Floats:
        """loss(y, f) for each row."""

    @abstractmethod
    def gradient(self, y: Floats, f: Floats) -> Floats:
        """∂ loss / ∂ f."""

    @abstractmethod
    def curvature(self, y: Floats, f: Floats) -> Floats:
        """∂² loss / ∂ f²."""

    @abstractmethod
    def conjugate(self, y: Floats, u: Floats) -> Floats:
        """sup over f of u f − loss(y, f): what duality gaps are made of."""


@dataclass(frozen=True)
class Squared(Loss):
    """(y − f)², the loss of least squares: no half.

    >>> import numpy as np
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([4.])
    """

    def value(self, y: Floats, f: Floats) -> Floats:
        return (y - f) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return 2.0 * (f - y)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.full_like(f, 2.0)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        return u * y + 0.25 * u**2


__all__ = ["Loss", "Squared"]
