"""Where the loop is, what one pass adds up, and what structures of one kind share of it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(eq=False)
class State:
    """Structures, their shares of the weight, and the scale of the noise where distances are soft."""

    structures: list[Any]
    shares: Floats
    scale: float | None = None


@dataclass(eq=False)
class Pass:
    """What one pass adds up: the objective, and what refits every structure."""

    value: float
    mass: Floats
    summaries: list[Any]
    spread: float = 0.0  # Σ of responsibility × loss
    changed: int = 0
    worst: list[tuple[float, int, Any]] = field(default_factory=list)

    def _absorb(self, other: "Pass") -> "Pass":
        joined = [
            b if a is None else a if b is None else a + b for a, b in zip(self.summaries, other.summaries, strict=True)
        ]
        worst = sorted(self.worst + other.worst, key=lambda row: (-row[0], row[1]))[: len(self.mass)]
        return Pass(
            self.value + other.value,
            self.mass + other.mass,
            joined,
            self.spread + other.spread,
            self.changed + other.changed,
            worst,
        )


def shared(structures: list[Any], summaries: list[Any], there: Any) -> list[Any]:
    """Summaries of those that are `there`, with what structures of one kind share."""
    found = list(summaries)
    for kind in dict.fromkeys(type(each) for each in structures):
        those = [j for j, each in enumerate(structures) if type(each) is kind and there[j]]
        if those:
            for j, summary in zip(those, structures[those[0]].together([found[j] for j in those]), strict=True):
                found[j] = summary
    return found
