"""What a penalty is: a value and a prox; and the terms that solvers know."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from gramian._core.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class PenaltyTerms:
    """What a penalty of d coefficients is made of, as solvers see it: wᵀSw + Σ l1 |w| + Σ over groups + bounds.

    Attributes
    ----------
    square : array (d,) or (d, d)
        S, or its diagonal.
    l1 : array (d,)
    groups : tuple of index arrays
        Each adds √size · ‖w_g‖.
    low, high : array (d,)
        Bounds, infinite where there are none.
    root : array (m, d), optional
        Γ with S = ΓᵀΓ, where S was made of it.
    """

    square: Floats
    l1: Floats
    groups: tuple[Ints, ...]
    low: Floats
    high: Floats
    root: Floats | None = None

    @cached_property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())

    @cached_property
    def smooth(self) -> bool:
        return not (self.l1.any() or self.groups or self.bounded)

    @cached_property
    def nothing(self) -> bool:
        return self.smooth and not self.square.any()

    def of_units(self, unit: Floats, constant: Bools) -> "PenaltyTerms":
        """The terms for coefficients of other columns, unit · w those that are penalised.

        A matrix does not couple the constant columns, which have no unit. Groups stay as they are: their norms are of
        unit · w too.
        """
        if self.square.ndim == 1:
            return PenaltyTerms(self.square * unit**2, self.l1 * unit, self.groups, self.low / unit, self.high / unit)
        root = None if self.root is None else np.where(constant, 0.0, self.root * unit)
        square = np.where(constant | constant[:, None], 0.0, self.square * np.outer(unit, unit))
        square[constant, constant] = 1.0
        return PenaltyTerms(square, self.l1 * unit, self.groups, self.low / unit, self.high / unit, root)


class Penalty(ABC):
    """A function of the coefficients w, zero at w = 0 where that is allowed; convex or not as `convex` says.

    Attributes
    ----------
    convex : bool
    separable : bool
        Whether it is a sum over the coefficients, each by itself.
    weak_convexity : float
        The least c ≥ 0 for which penalty(w) + ½ c ‖w‖² is convex: 0 for convex penalties.
    """

    convex: ClassVar[bool] = True
    separable: ClassVar[bool] = False

    @property
    def weak_convexity(self) -> float:
        return 0.0 if self.convex else np.inf

    @abstractmethod
    def value(self, w: Floats) -> float:
        """penalty(w)."""

    @abstractmethod
    def prox(self, w: Floats, step: float) -> Floats:
        """argmin over u of ½‖u − w‖² + step · penalty(u)."""

    def conjugate(self, u: Floats) -> float:
        """sup over w of uᵀw − penalty(w); infinite outside its domain."""
        raise TypeError(
            f"{type(self).__name__} has no conjugate, so duality says nothing of it: a loss that is not smooth needs "
            "a penalty that defines one."
        )

    def parts(self, d: int) -> PenaltyTerms | None:
        """The penalty in pieces, where it is made of these; None leaves solvers the value and the prox."""
        return None

    def at(self, alpha: float) -> Self:
        """The penalty that alpha multiplies: the same for every alpha, but for those whose scale is alpha."""
        return self

    def slope(self, w: Floats) -> Floats | None:
        """∂ penalty / ∂ |w|, from above at 0, of a penalty that is concave in every |w|; None where it is not.

        Then Σ slope · |w| is, but for a constant, a weighted L1 norm that lies above the penalty and touches it at w.
        """
        return None


class Separable(Penalty):
    """A sum over the coefficients, each by itself; `peak` says where u w − penalty(w) is largest."""

    separable: ClassVar[bool] = True

    @abstractmethod
    def peak(self, u: Floats) -> Floats:
        """argmax over w of u w − penalty(w), coefficient by coefficient; may be infinite."""

    def conjugate(self, u: Floats) -> float:
        w = self.peak(u)
        return float(u @ w) - self.value(w) if np.isfinite(w).all() else np.inf


def terms_of(d: int, square: float | Floats = 0.0, l1: float = 0.0, groups: tuple[Ints, ...] = ()) -> PenaltyTerms:
    """The terms of a penalty of d coefficients without bounds."""
    square = np.full(d, square) if np.ndim(square) == 0 else np.asarray(square, dtype=np.float64)
    return PenaltyTerms(square, np.full(d, l1), groups, np.full(d, -np.inf), np.full(d, np.inf))
