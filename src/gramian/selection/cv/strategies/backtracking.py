"""Armijo backtracking of the models of several training parts, each with its own step length."""

from typing import Any

import numpy as np

from gramian._core.types import Bools, Floats
from gramian.solvers.smooth.newton import SUFFICIENT_DECREASE

SHORTEST = 1e-8  # part of a step
ROUNDING = 1e-13  # of the objective


class Backtracking:
    """The last accepted point of each of M models, its objective, and the step that is tried from there.

    `slope` is the derivative of the objective along the step, or the decrease that its model predicts.
    """

    def __init__(
        self,
        base: Floats,
        value: Floats | None = None,
        step: Floats | None = None,
        sufficient: float = SUFFICIENT_DECREASE,
    ) -> None:
        count = len(base)
        self.base, self.sufficient = base.copy(), sufficient
        self.step = np.zeros_like(base) if step is None else step
        self.length, self.slope = np.ones(count), np.zeros(count)
        self.value = np.full(count, np.inf) if value is None else value

    def descended(self, models: Any, value: Floats, size: Floats) -> Bools:
        """Whether the objective of these models fell by enough of its slope, up to the rounding of `size`."""
        expected = self.sufficient * self.length[models] * self.slope[models]
        return np.asarray(value <= self.value[models] + expected + ROUNDING * np.abs(size))

    def shorten(self, models: Any) -> bool:
        """Halve the steps of these models; False where one has become too short."""
        self.length[models] *= 0.5
        return not self.length[models].min() < SHORTEST

    def restart(self, models: Any) -> None:
        """Let these models begin at their base, whatever the objective there."""
        self.length[models], self.value[models] = 0.0, np.inf

    def points(self, models: Any = slice(None)) -> Floats:
        """Where these models are tried next."""
        length = self.length[models]
        return np.asarray(self.base[models] + length.reshape(-1, *[1] * (self.base.ndim - 1)) * self.step[models])

    def advance(self, models: Any, point: Floats, value: Floats, step: Floats, slope: Floats) -> None:
        """Accept a point of each of these models, and try a whole step from there."""
        self.base[models], self.value[models] = point, value
        self.step[models], self.slope[models], self.length[models] = step, slope, 1.0
