"""What a pass adds up for a structure: totals, scatter about the mean, or a few distinct rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(eq=False)
class Totals:
    """Σw and Σwx."""

    weight: float
    sum: Floats

    @classmethod
    def of(cls, X: Any, weight: Floats) -> "Totals":
        return cls(float(weight.sum()), np.asarray(weight @ X).reshape(-1))

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(self.weight + other.weight, self.sum + other.sum)


@dataclass(eq=False)
class Scatter:
    """Σw, the mean, and Σw (x − mean)(x − mean)ᵀ or, if `diagonal`, its diagonal; merged without cancellation.

    `mass` is what the rows count for, where that is not the weight they are added up with.
    """

    weight: float
    mean: Floats
    cross: Floats
    mass: float

    @classmethod
    def of(cls, X: Floats, weight: Floats, *, diagonal: bool = False, mass: float | None = None) -> "Scatter":
        total = float(weight.sum())
        mean = weight @ X / total if total > 0 else np.zeros(X.shape[1])
        away = (X - mean) * np.sqrt(weight)[:, None]
        cross = np.einsum("ij,ij->j", away, away) if diagonal else away.T @ away
        return cls(total, mean, cross, total if mass is None else mass)

    def __add__(self, other: "Scatter") -> "Scatter":
        total, mass = self.weight + other.weight, self.mass + other.mass
        if not other.weight or not self.weight:
            kept = self if self.weight else other
            return Scatter(total, kept.mean, kept.cross, mass)
        share = other.weight / total
        away = other.mean - self.mean
        more = self.weight * share * (away**2 if self.cross.ndim == 1 else np.outer(away, away))
        return Scatter(total, self.mean + share * away, self.cross + other.cross + more, mass)

    @property
    def size(self) -> float:
        """The root mean square of the distance from the mean."""
        squares = float(self.cross.sum() if self.cross.ndim == 1 else self.cross.trace())
        return float(np.sqrt(max(squares, 0.0) / self.weight))


@dataclass(eq=False)
class Distinct:
    """The first distinct rows, at most `most` of them."""

    rows: Floats
    most: int

    @classmethod
    def of(cls, X: Floats, weight: Floats, most: int) -> "Distinct":
        X = X[weight > 0]
        few = np.unique(X[: 4 * most], axis=0)
        return cls((few if len(few) >= most else np.unique(X, axis=0))[:most], most)

    def __add__(self, other: "Distinct") -> "Distinct":
        return Distinct(np.unique(np.concatenate([self.rows, other.rows]), axis=0)[: self.most], self.most)
