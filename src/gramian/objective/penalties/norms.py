"""Convex penalties of the size of the coefficients: norms and their squares."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core.types import Floats, Ints
from gramian.objective.penalties.base import Penalty, PenaltyTerms, Separable, terms_of


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
        return terms_of(d)


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
        return terms_of(d, 1.0)


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
        return terms_of(d, l1=1.0)


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
        return terms_of(d, 1.0 - self.l1_ratio, self.l1_ratio)


@dataclass(frozen=True, eq=False)
class WeightedElasticNet(Separable):
    """Σ f (l1_ratio · |w| + (1 − l1_ratio) · w²) with a factor f of at least 0 for each coefficient."""

    factors: Floats
    l1_ratio: float = 0.0

    def value(self, w: Floats) -> float:
        return float(self.factors @ (self.l1_ratio * np.abs(w) + (1.0 - self.l1_ratio) * w**2))

    def prox(self, w: Floats, step: float) -> Floats:
        shrunk = np.sign(w) * np.maximum(np.abs(w) - step * self.l1_ratio * self.factors, 0.0)
        return np.asarray(shrunk / (1.0 + 2.0 * step * (1.0 - self.l1_ratio) * self.factors))

    def peak(self, u: Floats) -> Floats:
        excess = np.sign(u) * np.maximum(np.abs(u) - self.l1_ratio * self.factors, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(excess == 0.0, 0.0, excess / (2.0 * (1.0 - self.l1_ratio) * self.factors))

    def parts(self, d: int) -> PenaltyTerms:
        l1, square = self.l1_ratio * self.factors, (1.0 - self.l1_ratio) * self.factors
        return replace(terms_of(d), square=square, l1=l1)


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
        return replace(terms_of(d, matrix.T @ matrix), root=matrix)


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
        return terms_of(d, groups=self._sets(d))


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
