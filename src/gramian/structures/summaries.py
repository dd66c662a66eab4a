"""What a pass adds up for a structure: totals, scatter about the mean, or the rows themselves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
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


@dataclass(eq=False)
class Gathered:
    """The rows themselves, for structures that no sums determine."""

    parts: list[tuple[Any, Floats]]

    @classmethod
    def of(cls, X: Any, weight: Floats) -> "Gathered":
        kept = weight > 0
        return cls([(X, weight) if kept.all() else (X[kept], weight[kept])])

    def __add__(self, other: "Gathered") -> "Gathered":
        return Gathered(self.parts + other.parts)

    @property
    def weight(self) -> float:
        return float(sum(weight.sum() for _, weight in self.parts))

    def rows(self) -> tuple[Any, Floats]:
        """All of them, and their weights."""
        stack = sp.vstack if sp.issparse(self.parts[0][0]) else np.concatenate
        return stack([X for X, _ in self.parts]), np.concatenate([weight for _, weight in self.parts])
