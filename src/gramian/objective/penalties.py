"""Penalties of the coefficients: a value and a prox. Adding one is one frozen class; the common checks find it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gramian._core.types import Floats, Ints


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
        excess = np.sign(u) * np.maximum(np.abs(u) - self.l1_ratio, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(excess == 0.0, 0.0, excess / (2.0 * (1.0 - self.l1_ratio)))

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
        return replace(_parts(d, matrix.T @ matrix), root=matrix)


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
        """One label per coefficient; lists of indices are refused, with the labels they stand for."""
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

    def _sets(self, d: int) -> tuple[Ints, ...]:
        if self.groups is None:
            return (np.arange(d),)
        labels = self._labels()
        if len(labels) != d:
            raise ValueError(f"groups has {len(labels)} labels; it needs one per feature, {d}.")
        return tuple(np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist()))

    def value(self, w: Floats) -> float:
        return float(sum(np.sqrt(len(g)) * np.linalg.norm(w[g]) for g in self._sets(len(w))))

    def prox(self, w: Floats, step: float) -> Floats:
        shrunk = np.zeros_like(w)
        for g in self._sets(len(w)):
            norm, threshold = np.linalg.norm(w[g]), step * np.sqrt(len(g))
            if norm > threshold:
                shrunk[g] = w[g] * (1.0 - threshold / norm)
        return shrunk

    def conjugate(self, u: Floats) -> float:
        inside = all(np.linalg.norm(u[g]) <= np.sqrt(len(g)) * (1.0 + 1e-12) for g in self._sets(len(u)))
        return 0.0 if inside else np.inf

    def parts(self, d: int) -> PenaltyTerms:
        return _parts(d, groups=self._sets(d))


class FoldedConcave(Separable):
    """Σ scale · p(|w| / scale), p piecewise quadratic, with a slope that falls from 1 at zero to 0.

    `knots` has the places between which the slope of p is linear, 0 first, and the slopes there, 1 first and 0 last.
    A scale of None is alpha / 2, so that a change of the data's units changes alpha alone.
    """

    convex: ClassVar[bool] = False
    scale: float | None

    @abstractmethod
    def knots(self) -> tuple[Floats, Floats]:
        """Places, from 0 up, and the slope of p at each."""

    def at(self, alpha: float) -> Self:
        return replace(self, scale=alpha / 2.0) if self.scale is None and alpha > 0 else self  # type: ignore[type-var]

    @property
    def unit(self) -> float:
        """The scale, 1 before alpha is known."""
        return 1.0 if self.scale is None else float(self.scale)

    @property
    def weak_convexity(self) -> float:
        places, slopes = self.knots()
        return max(0.0, float((-np.diff(slopes) / np.diff(places)).max())) / self.unit

    def slope(self, w: Floats) -> Floats:
        return np.asarray(np.interp(np.abs(w) / self.unit, *self.knots()), dtype=np.float64)

    def value(self, w: Floats) -> float:
        return self.unit * float(self._height(np.abs(w) / self.unit).sum())

    def _height(self, x: Floats) -> Floats:
        """p(x): the integral of the slope from 0 to x."""
        places, slopes = self.knots()
        heights = np.append(0.0, np.cumsum(np.diff(places) * (slopes[1:] + slopes[:-1]) / 2.0))
        at = np.searchsorted(places, x, side="right") - 1
        return np.asarray(heights[at] + (x - places[at]) * (slopes[at] + np.interp(x, places, slopes)) / 2.0)

    def prox(self, w: Floats, step: float) -> Floats:
        """The least of ½ (u − w)² + step · penalty(u) over the knots and the stationary points between them."""
        x, step = np.abs(w) / self.unit, step / self.unit
        places, slopes = self.knots()
        choices = [np.full_like(x, place) for place in places] + [np.maximum(x, places[-1])]
        for low, high, first, last in zip(places, places[1:], slopes, slopes[1:], strict=False):
            curvature = 1.0 + step * (last - first) / (high - low)
            if curvature > 0.0:
                choices.append(np.clip((x - step * first - (1.0 - curvature) * low) / curvature, low, high))
        u = np.stack(choices)
        cost = 0.5 * (u - x) ** 2 + step * self._height(u)
        return np.asarray(np.copysign(u[cost.argmin(axis=0), np.arange(len(x))], w) * self.unit)

    def peak(self, u: Floats) -> Floats:
        return Zero().peak(u)


@dataclass(frozen=True)
class MCP(FoldedConcave):
    """Minimax concave penalty (Zhang 2010): |w| − w² / (2 gamma scale) up to gamma · scale, gamma scale / 2 beyond.

    Exact zeros as with L1, and large coefficients that are not shrunk. Not convex: a fit is a stationary point, found
    from the lasso's solution, and no worse than it. Standardise columns, as coefficients share one scale.

    Parameters
    ----------
    gamma : float
        Above 0; the larger, the nearer to L1.
    scale : float or None
        The unit of the coefficients; None is alpha / 2.

    Notes
    -----
    With scale=None the squared loss + alpha · penalty is twice the literature's ½ · squared loss + p_λ,γ, with
    λ = alpha / 2 and γ = gamma. Likelihoods the literature does not halve: their p_λ,γ is MCP(γ, scale=λ) at
    alpha = λ, or MCP(2 γ) at every alpha.

    Examples
    --------
    >>> import numpy as np
    >>> MCP().value(np.array([1.0, -10.0])), MCP().prox(np.array([0.5, 1.5, 10.0]), 1.0)
    (2.3333333333333335, array([ 0.  ,  0.75, 10.  ]))
    """

    gamma: float = 3.0
    scale: float | None = None

    def __post_init__(self) -> None:
        _refuse_below(0.0, gamma=self.gamma, scale=self.scale)

    def knots(self) -> tuple[Floats, Floats]:
        return np.array([0.0, self.gamma]), np.array([1.0, 0.0])


@dataclass(frozen=True)
class SCAD(FoldedConcave):
    """Smoothly clipped absolute deviation (Fan and Li 2001): |w| up to scale, then concave, constant from a · scale on.

    Between scale and a · scale it is (2 a |w| − w² / scale − scale) / (2 (a − 1)), beyond (a + 1) scale / 2. Not
    convex: a fit is a stationary point, found from the lasso's solution, and no worse than it.

    Parameters
    ----------
    a : float
        Above 1; the larger, the nearer to L1.
    scale : float or None
        The unit of the coefficients; None is alpha / 2.

    Notes
    -----
    With scale=None the squared loss + alpha · penalty is twice the literature's ½ · squared loss + p_λ, with
    λ = alpha / 2 and the same a. Likelihoods the literature does not halve: their p_λ is SCAD(a, scale=λ) at alpha = λ.

    Examples
    --------
    >>> import numpy as np
    >>> SCAD().value(np.array([1.0, -10.0])), SCAD().prox(np.array([0.5, 1.5, 10.0]), 1.0)
    (3.35, array([ 0. ,  0.5, 10. ]))
    """

    a: float = 3.7
    scale: float | None = None

    def __post_init__(self) -> None:
        _refuse_below(1.0, a=self.a)
        _refuse_below(0.0, scale=self.scale)

    def knots(self) -> tuple[Floats, Floats]:
        return np.array([0.0, 1.0, self.a]), np.array([1.0, 1.0, 0.0])


def _refuse_below(least: float, **values: Any) -> None:
    for name, value in values.items():
        if value is not None and not (isinstance(value, Real) and least < float(value) < np.inf):
            raise ValueError(f"{name} is {value!r}; it must be a number above {least:g}.")


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


__all__ = ["L1", "L2", "MCP", "SCAD", "Box", "ElasticNet", "GroupL1", "NonNegative", "Penalty", "Tikhonov", "Zero"]
