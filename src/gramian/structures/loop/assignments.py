"""Assignment rules: who owns a row."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian._core import validation
from gramian.structures.loop.rounding import first_least

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Assignment(ABC):
    """A rule that divides rows among structures, from their losses (m, k)."""

    soft: ClassVar[bool] = False

    @abstractmethod
    def check(self, structures: list[Any]) -> None:
        """Raise where the rule makes no sense for the structures."""

    def opens(self) -> int:
        """Passes of competition before the last ones, in which the nearest structure owns a row."""
        return 0

    def owners(self, losses: Floats, shares: Floats) -> Ints:
        """The structure that owns each row, while the competition is on."""
        return first_least(losses)


def _distances(rule: Any, structures: list[Any]) -> None:
    if any(each.density for each in structures):
        raise ValueError(f"{rule!r} compares distances, and {structures[0]!r} has a density; use 'nearest' or 'soft'.")


@dataclass(frozen=True)
class Nearest(Assignment):
    """The structure of least loss owns the row: every pass lowers Σw loss.

    >>> Nearest()
    Nearest()
    """

    def check(self, structures: list[Any]) -> None:
        if len({each.density for each in structures}) > 1:
            raise ValueError("Distances and densities cannot be compared: give structures of one of the two kinds.")
        if len({each.power for each in structures}) > 1:
            raise ValueError("Squared and absolute errors cannot be compared: give structures with one of the two.")


@dataclass(frozen=True)
class Soft(Assignment):
    """Every structure owns a share of the row, its probability given the row: EM, and every pass raises the likelihood.

    Structures without a density get normal noise across them (for absolute errors Laplace's), of one scale for all that
    is estimated with them.

    >>> Soft()
    Soft()
    """

    soft: ClassVar[bool] = True

    def check(self, structures: list[Any]) -> None:
        Nearest().check(structures)


@dataclass(frozen=True)
class FrequencySensitive(Assignment):
    """Losses count times the share of rows a structure has won so far, so that none wins always and none never.

    After `passes` of such competition the nearest structure owns a row.

    Parameters
    ----------
    passes : int

    Examples
    --------
    >>> FrequencySensitive()
    FrequencySensitive(passes=30)
    """

    passes: int = 30

    def check(self, structures: list[Any]) -> None:
        validation.whole("passes", self.passes, low=1)
        Nearest().check(structures)
        _distances(self, structures)

    def opens(self) -> int:
        return self.passes

    def owners(self, losses: Floats, shares: Floats) -> Ints:
        return first_least(losses * shares)


@dataclass(frozen=True)
class RivalPenalised(Assignment):
    """The nearest point learns the row, its rival (the second) is driven away: surplus points leave, and k is found.

    A pass moves point c by Σw (x − c) over the rows it wins less strength · Σw ρ (x − c) over those it is the rival of,
    divided by the weight of both; ρ is the squared distance of the winner over that of the rival, so that points are
    driven out of a cluster that another has, and not out of their own. Points that win nothing are dropped. Where
    points stand still and two share a cluster (the means of their rows are less than four spreads along the way apart),
    the one with fewer rows leaves, and the others go on. Then the nearest point owns a row.

    Parameters
    ----------
    strength : float
    passes : int
        The most there are.

    Examples
    --------
    >>> RivalPenalised()
    RivalPenalised(strength=2.0, passes=200)
    """

    strength: float = 2.0
    passes: int = 200

    def check(self, structures: list[Any]) -> None:
        validation.number("strength", self.strength, low=0.0, open_low=True)
        validation.whole("passes", self.passes, low=1)
        if not all(type(each).__name__ == "Point" and each.power == 2 for each in structures):
            raise ValueError(
                f"{self!r} drives points away, and {structures[0]!r} has nowhere to go: use structure='point', or "
                " n_clusters='auto' with assignment='nearest' or 'soft', which chooses the number of any structure."
            )

    def opens(self) -> int:
        return self.passes

    def penalty(self, losses: Floats, owners: Ints) -> tuple[Ints, Floats]:
        """The rival of each row's owner, and how strongly the row drives it away."""
        rows = np.arange(len(losses))
        others = losses.copy()
        others[rows, owners] = np.inf
        rivals = others.argmin(axis=1)
        far = others[rows, rivals]
        ratio = losses[rows, owners] / np.where(far > 0, far, 1.0)
        return rivals, self.strength * np.where(np.isfinite(far), ratio, 0.0)


WORDS: dict[str, Assignment] = {
    "nearest": Nearest(),
    "soft": Soft(),
    "frequency": FrequencySensitive(),
    "rival": RivalPenalised(),
}


def assignment_of(value: Any) -> Assignment:
    """A rule from its word or itself."""
    if isinstance(value, Assignment):
        return value
    return WORDS[validation.choice("assignment", value, tuple(WORDS))]
