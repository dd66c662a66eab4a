"""Penalties of the coefficients: a value and a prox. Adding one is one frozen class; the common checks find it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
    """

    square: Floats
    l1: Floats
    groups: tuple[NDArray[np.int64], ...]
    low: Floats
    high: Floats

    @cached_property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())

    @cached_property
    def smooth(self) -> bool:
        return not (self.l1.any() or self.groups or self.bounded)

    @cached_property
    def nothing(self) -> bool:
        return self.smooth and not self.square.any()


class Penalty(ABC):
    """A function of the coefficients w, zero at w = 0 where that is allowed; convex or not as `convex` says."""

    convex: ClassVar[bool] = True

    @abstractmethod
    def value(self, w: Floats) -> float:
        """penalty(w)."""

    @abstractmethod
    def prox(self, w: Floats, step: float) -> Floats:
        """argmin over u of ½‖u − w‖² + step · penalty(u)."""

    @abstractmethod
    def conjugate(self, u: Floats) -> float:
        """sup over w of uᵀw − penalty(w); infinite outside its domain."""

    def parts(self, d: int) -> PenaltyTerms | None:
        """The penalty in pieces, where it is made of these; None leaves solvers the value and the prox."""
        return None


class Separable(Penalty):
    """A sum over the coefficients, each by itself; `peak` says where u w − penalty(w) is largest."""

    @abstractmethod
    def peak(self, u: Floats) -> Floats:
        """argmax over w of u w − penalty(w), coefficient by coefficient; may be infinite."""

    def conjugate(self, u: Floats) -> float:
        w = self.peak(u)
        return float(u @ w) - self.value(w) if np.isfinite(w).all() else np.inf


def _parts(d: int, square: Any = 0.0, l1: float = 0.0, groups: tuple[Any, ...] = (), low: Any = None) -> PenaltyTerms:
    square = np.full(d, square) if np.ndim(square) == 0 else np.asarray(square, dtype=np.float64)
    return PenaltyTerms(square, np.full(d, l1), groups, np.full(d, -np.inf), np.full(d, np.inf))


@dataclass(frozen=True)
class Zero(Separable):
    """No penalty at all: what `penalty=None` means.

    >>> import numpy as np
    >>> Zero().value(np.array([3.0]))
    0.0
    """

    def value(self, w: Floats) -> float:
        return 0.0

    def prox(self, w: Floats, step: float) -> Floats:
        return w

    def peak(self, u: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.where(u == 0, 0.0, u * np.inf)

    def parts(self, d: int) -> PenaltyTerms:
        return _parts(d)


@dataclass(frozen=True)
class L2(Separable):
    """‖w‖², the penalty of ridge regression.

    >>> import numpy as np
    >>> L2().value(np.array([3.0, 4.0]))
    25.0
    """

    def value(self, w: Floats) -> float:
        return float(w @ w)

    def prox(self, w: Floats, step: float) -> Floats:
        return w / (1.0 + 2.0 * step)

    def peak(self, u: Floats) -> Floats:
        return u / 2.0

    def parts(self, d: int) -> PenaltyTerms:
        return _parts(d, 1.0)


@dataclass(frozen=True)
class L1(Separable):
    """‖w‖₁, the penalty of the lasso: exact zeros.

    >>> import numpy as np
    >>> L1().prox(np.array([3.0, -0.5]), 1.0)
    array([ 2., -0.])
    """

    def value(self, w: Floats) -> float:
        return float(np.abs(w).sum())

    def prox(self, w: Floats, step: float) -> Floats:
        return np.sign(w) * np.maximum(np.abs(w) - step, 0.0)

    def peak(self, u: Floats) -> Floats:
        return np.where(np.abs(u) <= 1.0, 0.0, np.copysign(np.inf, u))

    def parts(self, d: int) -> PenaltyTerms:
        return _parts(d, l1=1.0)


@dataclass(frozen=True)
class ElasticNet(Separable):
    """l1_ratio · ‖w‖₁ + (1 − l1_ratio) · ‖w‖².

    >>> import numpy as np
    >>> ElasticNet(l1_ratio=0.5).value(np.array([2.0]))
    3.0
    """

    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise ValueError(f"l1_ratio is {self.l1_ratio!r}; it must be a number between 0 and 1.")

    def value(self, w: Floats) -> float:
        return self.l1_ratio * L1().value(w) + (1.0 - self.l1_ratio) * L2().value(w)

    def prox(self, w: Floats, step: float) -> Floats:
        return L2().prox(L1().prox(w, step * self.l1_ratio), step * (1.0 - self.l1_ratio))

    def peak(self, u: Floats) -> Floats:
        left = np.sign(u) * np.maximum(np.abs(u) - self.l1_ratio, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(left == 0.0, 0.0, left / (2.0 * (1.0 - self.l1_ratio)))

    def parts(self, d: int) -> PenaltyTerms:
        return _parts(d, 1.0 - self.l1_ratio, self.l1_ratio)


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

    def parts(self, d: int) -> PenaltyTerms:
        matrix = np.asarray(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != d:
            raise ValueError(f"matrix has shape {matrix.shape}; Γ needs one column per feature, shape (m, {d}).")
        return _parts(d, matrix.T @ matrix)


@dataclass(frozen=True)
class GroupL1(Penalty):
    """Σ over groups of √size · ‖w_g‖: whole groups of coefficients are zero together.

    `groups` has one label per coefficient, equal for those of a group; None is one group of all.

    >>> import numpy as np
    >>> round(GroupL1((0, 0, 1)).value(np.array([3.0, 4.0, -2.0])), 4)
    9.0711
    """

    groups: Sequence[Any] | None = None

    def _labels(self) -> NDArray[Any]:
        """One label per coefficient; lists of indices are told how to be written so."""
        groups: Any = self.groups
        if isinstance(groups, str) or not hasattr(groups, "__len__"):
            raise TypeError(f"groups is {groups!r}; it must have one label per coefficient, such as (0, 0, 1).")
        if any(isinstance(label, Sequence | np.ndarray) and not isinstance(label, str) for label in groups):
            raise ValueError(
                f"groups must have one label per coefficient, not a list for each group.{_as_labels(groups)}"
            )
        labels = np.asarray(groups)
        if (missing := labels != labels).any():
            raise ValueError(
                f"groups has no label (NaN) for coefficient {int(missing.argmax())}: give every one a label."
            )
        return labels

    def _sets(self, d: int) -> tuple[NDArray[np.int64], ...]:
        if self.groups is None:
            return (np.arange(d),)
        labels = self._labels()
        if len(labels) != d:
            raise ValueError(f"groups has {len(labels)} labels; it needs one per feature, {d}.")
        return tuple(np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist()))

    def value(self, w: Floats) -> float:
        return float(sum(np.sqrt(len(g)) * np.linalg.norm(w[g]) for g in self._sets(len(w))))

    def prox(self, w: Floats, step: float) -> Floats:
        found = np.zeros_like(w)
        for g in self._sets(len(w)):
            size, least = np.linalg.norm(w[g]), step * np.sqrt(len(g))
            if size > least:
                found[g] = w[g] * (1.0 - least / size)
        return found

    def conjugate(self, u: Floats) -> float:
        inside = all(np.linalg.norm(u[g]) <= np.sqrt(len(g)) * (1.0 + 1e-12) for g in self._sets(len(u)))
        return 0.0 if inside else np.inf

    def parts(self, d: int) -> PenaltyTerms:
        return _parts(d, groups=self._sets(d))


def _as_labels(groups: Any) -> str:
    """Lists of the indices of each group, written as labels, where they name every index once."""
    try:
        owner = {int(index): label for label, indices in enumerate(groups) for index in indices}
    except (TypeError, ValueError):
        return ""
    count = sum(map(len, groups))
    if sorted(owner) != list(range(count)) or count > 50:
        return ""
    return f" These lists of indices are written as groups={tuple(owner[index] for index in range(count))}."


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
            raise TypeError(f"{type(self.penalty).__name__} cannot be had within bounds; L2, L1 and ElasticNet can.")

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


__all__ = ["L1", "L2", "Box", "ElasticNet", "GroupL1", "NonNegative", "Penalty", "Tikhonov", "Zero"]
