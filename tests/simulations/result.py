"""One line of a simulation: what was measured, and what it must be."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Result:
    """A share of repetitions, and its bounds: the upper one to two standard errors of the simulation."""

    name: str
    share: float
    repetitions: int
    at_least: float = 0.0
    at_most: float = 1.0

    @property
    def error(self) -> float:
        return float(np.sqrt(self.share * (1.0 - self.share) / self.repetitions))

    @property
    def holds(self) -> bool:
        return self.at_least <= self.share <= self.at_most + 2.0 * self.error

    def __str__(self) -> str:
        asked = f"at least {self.at_least:.1%}" if self.at_least > 0 else ""
        asked = asked or (f"at most {self.at_most:.1%}" if self.at_most < 1 else "")
        verdict = "" if not asked else "holds" if self.holds else "FAILS"
        return f"{self.name:<58} {self.share:7.1%} ± {self.error:5.1%}  {asked:<16} {verdict}"
