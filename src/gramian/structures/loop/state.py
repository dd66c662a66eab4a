"""The state of the loop, the totals of one pass, and the pooling of parameters that structures share."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gramian._core.types import Floats
from gramian.structures.loop.multipass import add_present

if TYPE_CHECKING:
    from gramian.structures.components.base import Structure


@dataclass(eq=False)
class LoopState:
    """Structures, their mixing proportions, and the squared scale of the noise where distances are soft."""

    structures: "list[Structure]"
    shares: Floats
    scale: float | None = None


@dataclass(eq=False)
class PassTotals:
    """The totals of one pass: the objective, and the sufficient statistics of every structure."""

    value: float
    mass: Floats
    totals: list[Any]
    weighted_loss: float = 0.0  # Σ of responsibility × loss
    changed: int = 0  # rows with a new label
    worst: list[tuple[float, int, Any]] = field(default_factory=list)  # rows of largest loss: loss, index, row

    def _absorb(self, other: "PassTotals") -> "PassTotals":
        worst = sorted(self.worst + other.worst, key=lambda row: (-row[0], row[1]))[: len(self.mass)]
        return PassTotals(
            self.value + other.value,
            self.mass + other.mass,
            add_present(self.totals, other.totals),
            self.weighted_loss + other.weighted_loss,
            self.changed + other.changed,
            worst,
        )


def pooled(structures: "list[Structure]", totals: list[Any], nonempty: Any) -> list[Any]:
    """Statistics of the nonempty structures, after structures of one kind have pooled the parameters they share."""
    pooled_totals = list(totals)
    for kind in dict.fromkeys(type(each) for each in structures):
        members = [j for j, each in enumerate(structures) if type(each) is kind and nonempty[j]]
        if members:
            shared = structures[members[0]].pooled([pooled_totals[j] for j in members])
            for j, total in zip(members, shared, strict=True):
                pooled_totals[j] = total
    return pooled_totals
