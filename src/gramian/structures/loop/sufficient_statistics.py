"""Sufficient statistics of structures: weighted sums, scatter about the mean, a few distinct rows."""

from dataclasses import dataclass

import numpy as np

from gramian._core.types import Floats, Matrix


@dataclass(eq=False)
class WeightedSum:
    """Σw and Σwx."""

    weight: float
    sum: Floats

    @classmethod
    def of(cls, X: Matrix, weight: Floats) -> "WeightedSum":
        return cls(float(weight.sum()), np.asarray(weight @ X).reshape(-1))

    def __add__(self, other: "WeightedSum") -> "WeightedSum":
        return WeightedSum(self.weight + other.weight, self.sum + other.sum)


@dataclass(eq=False)
class Scatter:
    """Σw, the mean, and Σw (x − mean)(x − mean)ᵀ or, if `diagonal`, its diagonal; merged without cancellation.

    `mass` is Σw before weights were changed for robustness, where they were.
    """

    weight: float
    mean: Floats
    cross: Floats
    mass: float

    @classmethod
    def of(cls, X: Floats, weight: Floats, *, diagonal: bool = False, mass: float | None = None) -> "Scatter":
        total = float(weight.sum())
        mean = weight @ X / total if total > 0 else np.zeros(X.shape[1])
        deviation = (X - mean) * np.sqrt(weight)[:, None]
        cross = np.einsum("ij,ij->j", deviation, deviation) if diagonal else deviation.T @ deviation
        return cls(total, mean, cross, total if mass is None else mass)

    def __add__(self, other: "Scatter") -> "Scatter":
        total, mass = self.weight + other.weight, self.mass + other.mass
        if not other.weight or not self.weight:
            nonempty = self if self.weight else other
            return Scatter(total, nonempty.mean, nonempty.cross, mass)
        share = other.weight / total
        shift = other.mean - self.mean
        between = self.weight * share * (shift**2 if self.cross.ndim == 1 else np.outer(shift, shift))
        return Scatter(total, self.mean + share * shift, self.cross + other.cross + between, mass)

    @property
    def size(self) -> float:
        """The root mean square of the distance from the mean."""
        squares = float(self.cross.sum() if self.cross.ndim == 1 else self.cross.trace())
        return float(np.sqrt(max(squares, 0.0) / self.weight))


@dataclass(eq=False)
class DistinctRows:
    """The first distinct rows, at most `max_rows` of them."""

    rows: Floats
    max_rows: int

    @classmethod
    def of(cls, X: Floats, weight: Floats, max_rows: int) -> "DistinctRows":
        X = X[weight > 0]
        of_first = np.unique(X[: 4 * max_rows], axis=0)
        return cls((of_first if len(of_first) >= max_rows else np.unique(X, axis=0))[:max_rows], max_rows)

    def __add__(self, other: "DistinctRows") -> "DistinctRows":
        distinct = np.unique(np.concatenate([self.rows, other.rows]), axis=0)
        return DistinctRows(distinct[: self.max_rows], self.max_rows)
