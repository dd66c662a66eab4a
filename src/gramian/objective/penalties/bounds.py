"""Bounds of the coefficients, with a penalty inside."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.objective.penalties.base import PenaltyTerms, Separable
from gramian.objective.penalties.norms import Zero


@dataclass(frozen=True)
class Box(Separable):
    """low ≤ w ≤ high, with a penalty inside if one is given; bounds are numbers or one per coefficient.

    >>> import numpy as np
    >>> Box(-1.0, 1.0).prox(np.array([3.0, 0.5]), 1.0)
    array([1. , 0.5])
    """

    low: Any = -1.0
    high: Any = 1.0
    penalty: Separable = field(default_factory=Zero)

    def __post_init__(self) -> None:
        low, high = np.asarray(self.low, dtype=np.float64), np.asarray(self.high, dtype=np.float64)
        if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
            raise ValueError(f"low is {self.low!r} and high {self.high!r}; every low must be at most its high.")
        if not isinstance(self.penalty, Separable):
            raise TypeError(f"{type(self.penalty).__name__} cannot be combined with bounds; L2, L1 and ElasticNet can.")

    def value(self, w: Floats) -> float:
        inside = (w >= np.asarray(self.low)).all() and (w <= np.asarray(self.high)).all()
        return self.penalty.value(w) if inside else np.inf

    def prox(self, w: Floats, step: float) -> Floats:
        return np.clip(self.penalty.prox(w, step), self.low, self.high)

    def peak(self, u: Floats) -> Floats:
        return np.clip(self.penalty.peak(u), self.low, self.high)

    def parts(self, d: int) -> PenaltyTerms | None:
        inner = self.penalty.parts(d)
        if inner is None:
            return None
        for name, end in (("low", self.low), ("high", self.high)):
            if np.ndim(end) > 1 or np.size(end) not in (1, d):
                raise ValueError(f"{name} of Box has shape {np.shape(end)}; there are {d} columns: one number, or {d}.")
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), d).copy() for end in (self.low, self.high))
        return PenaltyTerms(inner.square, inner.l1, inner.groups, low, high)


@dataclass(frozen=True)
class NonNegative(Separable):
    """w ≥ 0, with a penalty beside it if one is given.

    >>> import numpy as np
    >>> NonNegative().prox(np.array([3.0, -0.5]), 1.0)
    array([3., 0.])
    """

    penalty: Separable = field(default_factory=Zero)

    def _box(self) -> Box:
        return Box(0.0, np.inf, self.penalty)

    def value(self, w: Floats) -> float:
        return self._box().value(w)

    def prox(self, w: Floats, step: float) -> Floats:
        return self._box().prox(w, step)

    def peak(self, u: Floats) -> Floats:
        return self._box().peak(u)

    def parts(self, d: int) -> PenaltyTerms | None:
        return self._box().parts(d)
