"""Penalties of the coefficients: a value and a prox. Adding one is one frozen class; the common checks find it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Penalty(ABC):
    """A convex function of the coefficients w, zero at w = 0."""

    @abstractmethod
    def value(self, w: Floats) -> float:
        """penalty(w)."""

    @abstractmethod
    def prox(self, w: Floats, step: float) -> Floats:
        """argmin over u of ½‖u − w‖² + step · penalty(u)."""

    @abstractmethod
    def conjugate(self, u: Floats) -> float:
        """sup over w of uᵀw − penalty(w); infinite outside its domain."""


@dataclass(frozen=True)
class L2(Penalty):
    """‖w‖², the penalty of ridge regression.

    >>> import numpy as np
    >>> L2().value(np.array([3.0, 4.0]))
    25.0
    """

    def value(self, w: Floats) -> float:
        return float(w @ w)

    def prox(self, w: Floats, step: float) -> Floats:
        return w / (1.0 + 2.0 * step)

    def conjugate(self, u: Floats) -> float:
        return float(u @ u) / 4.0


@dataclass(frozen=True)
class L1(Penalty):
    """‖w‖₁, the penalty of the lasso: exact zeros.

    >>> import numpy as np
    >>> L1().prox(np.array([3.0, -0.5]), 1.0)
    array([ 2., -0.])
    """

    def value(self, w: Floats) -> float:
        return float(np.abs(w).sum())

    def prox(self, w: Floats, step: float) -> Floats:
        return np.sign(w) * np.maximum(np.abs(w) - step, 0.0)

    def conjugate(self, u: Floats) -> float:
        return 0.0 if np.abs(u).max(initial=0.0) <= 1.0 else np.inf


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """l1_ratio · ‖w‖₁ + (1 − l1_ratio) · ‖w‖².

    >>> import numpy as np
    >>> ElasticNet(l1_ratio=0.5).value(np.array([2.0]))
    3.0
    """

    l1_ratio: float = 0.5

    def value(self, w: Floats) -> float:
        return self.l1_ratio * L1().value(w) + (1.0 - self.l1_ratio) * L2().value(w)

    def prox(self, w: Floats, step: float) -> Floats:
        return L2().prox(L1().prox(w, step * self.l1_ratio), step * (1.0 - self.l1_ratio))

    def conjugate(self, u: Floats) -> float:
        left = np.maximum(np.abs(u) - self.l1_ratio, 0.0)
        if self.l1_ratio == 1.0:
            return L1().conjugate(u)
        return float(left @ left) / (4.0 * (1.0 - self.l1_ratio))


@dataclass(frozen=True, eq=False)
class Tikhonov(Penalty):
    """‖Γw‖² for a matrix Γ.

    >>> import numpy as np
    >>> Tikhonov(np.array([[1.0, -1.0]])).value(np.array([3.0, 1.0]))
    4.0
    """

    matrix: Floats = field(default_factory=lambda: np.eye(1))

    def value(self, w: Floats) -> float:
        return L2().value(np.asarray(self.matrix) @ w)

    def prox(self, w: Floats, step: float) -> Floats:
        square = np.asarray(self.matrix).T @ np.asarray(self.matrix)
        return np.asarray(np.linalg.solve(np.eye(len(w)) + 2.0 * step * square, w), dtype=np.float64)

    def conjugate(self, u: Floats) -> float:
        square = np.asarray(self.matrix).T @ np.asarray(self.matrix)
        w = np.linalg.pinv(square) @ u
        return float(u @ w) / 4.0 if np.allclose(square @ w, u, atol=1e-10 * np.abs(u).max(initial=0.0)) else np.inf


__all__ = ["L1", "L2", "ElasticNet", "Penalty", "Tikhonov"]
