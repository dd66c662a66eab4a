"""Assignment rules: which structure owns a row, or how probable each is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gramian._core import validation
from gramian._core.types import Floats, Ints
from gramian.structures.loop.rounding import first_least

if TYPE_CHECKING:
    from gramian.structures.components.base import Structure


class Assignment(ABC):
    """A rule that assigns rows to structures, from their losses (m, k)."""

    soft: ClassVar[bool] = False  # rows have responsibilities (EM), not one owner
    penalizes_rivals: ClassVar[bool] = False  # competition moves the second nearest point away, and so chooses k

    @abstractmethod
    def check(self, structures: "list[Structure]") -> None:
        """Raise where the rule does not apply to the structures."""

    def competition_passes(self) -> int:
        """The most passes of competitive learning, after which the nearest structure owns a row."""
        return 0

    @property
    def is_nearest(self) -> bool:
        """Whether the nearest structure owns a row in every pass."""
        return not self.soft and not self.competition_passes()

    def owners(self, losses: Floats, shares: Floats) -> Ints:
        """The structure that owns each row during competitive learning."""
        return first_least(losses)


def _check_distances(rule: Any, structures: "list[Structure]") -> None:
    if any(each.density for each in structures):
        raise ValueError(f"{rule!r} compares distances, and {structures[0]!r} is a density: use 'nearest' or 'soft'.")


@dataclass(frozen=True)
class Nearest(Assignment):
    """The structure of least loss owns the row, as in k-means: every pass lowers Σw loss.

    >>> Nearest()
    Nearest()
    """

    def check(self, structures: "list[Structure]") -> None:
        if len({each.density for each in structures}) > 1:
            raise ValueError("Distances and densities cannot be compared: give only distances, or only densities.")
        if len({each.power for each in structures}) > 1:
            raise ValueError("Squared and absolute errors cannot be compared: give structures with the same error.")


@dataclass(frozen=True)
class Soft(Assignment):
    """Every structure has a responsibility for the row, its posterior probability: EM, which raises the likelihood.

    Structures without a density get normal noise orthogonal to them (Laplace noise for absolute errors), of one scale
    for all that is estimated with them.

    >>> Soft()
    Soft()
    """

    soft: ClassVar[bool] = True

    def check(self, structures: "list[Structure]") -> None:
        Nearest().check(structures)


@dataclass(frozen=True)
class FrequencySensitive(Assignment):
    """Frequency-sensitive competitive learning: losses are multiplied by the share of rows won so far.

    After `passes` of competition the nearest structure owns a row.

    Parameters
    ----------
    passes : int

    Examples
    --------
    >>> FrequencySensitive()
    FrequencySensitive(passes=30)
    """

    passes: int = 30

    def check(self, structures: "list[Structure]") -> None:
        validation.whole("passes", self.passes, low=1)
        Nearest().check(structures)
        _check_distances(self, structures)

    def competition_passes(self) -> int:
        return self.passes

    def owners(self, losses: Floats, shares: Floats) -> Ints:
        return first_least(losses * shares)


@dataclass(frozen=True)
class RivalPenalised(Assignment):
    """Rival-penalised competitive learning: the nearest point moves to the row, the second nearest away from it.

    A pass moves point c by Σw (x − c) over the rows it wins less strength · Σw ρ (x − c) over those it is the rival of,
    divided by the weight of both; ρ is the squared distance of the winner over that of the rival, so that points leave
    a cluster that another point wins, and not their own. Points that win no row are dropped. At convergence, where two
    points share a cluster (the means of their rows are less than four standard deviations apart along the line between
    them), the one with fewer rows is dropped, and the others continue. Then the nearest point owns a row.

    Parameters
    ----------
    strength : float
    passes : int
        The most passes of competition.

    Examples
    --------
    >>> RivalPenalised()
    RivalPenalised(strength=2.0, passes=200)
    """

    strength: float = 2.0
    passes: int = 200
    penalizes_rivals: ClassVar[bool] = True

    def check(self, structures: "list[Structure]") -> None:
        validation.number("strength", self.strength, low=0.0, open_low=True)
        validation.whole("passes", self.passes, low=1)
        if not all(each.is_mean for each in structures):
            raise ValueError(
                f"{self!r} moves points, and {structures[0]!r} is not a point with squared error: use "
                "structure='point', or n_clusters='auto' with assignment='nearest' or 'soft'."
            )

    def competition_passes(self) -> int:
        return self.passes

    def penalty(self, losses: Floats, owners: Ints) -> tuple[Ints, Floats]:
        """The rival of each row's owner, and the strength with which it moves away from the row."""
        rows = np.arange(len(losses))
        others = losses.copy()
        others[rows, owners] = np.inf
        rivals = others.argmin(axis=1)
        second = others[rows, rivals]
        ratio = losses[rows, owners] / np.where(second > 0, second, 1.0)
        return rivals, self.strength * np.where(np.isfinite(second), ratio, 0.0)


ASSIGNMENTS: dict[str, Assignment] = {
    "nearest": Nearest(),
    "soft": Soft(),
    "frequency": FrequencySensitive(),
    "rival": RivalPenalised(),
}


def assignment_of(value: object) -> Assignment:
    """A rule by its name, or the rule itself."""
    if isinstance(value, Assignment):
        return value
    return ASSIGNMENTS[validation.choice("assignment", value, tuple(ASSIGNMENTS))]
