"""`MeanLoss`: the mean of one loss per row, and how far it may be off."""

from dataclasses import dataclass

import numpy as np

from gramian._core.types import Label, Values, Weights
from gramian.metrics.classes import agreed
from gramian.metrics.input import read_numbers, read_weights
from gramian.metrics.statistics.base import Statistic
from gramian.metrics.statistics.intervals import Interval, Measured, of_mean


@dataclass(frozen=True, repr=False)
class MeanLoss(Statistic):
    """Weighted mean of one non-negative loss per row, and the root of its centred sum of squares.

    Behind `mse`, `mae`, `log_loss` and `brier`. Two are joined with `+` (Chan's update; roots are added by Pythagoras,
    so that squares of squares do not leave the float range).

    Attributes
    ----------
    loss : str
        What is averaged.
    classes : tuple
        The classes that the predictions were for, or the positive one; empty for numbers.
    most : float
        The largest loss that a row can have.
    weight, value, spread : float
        Σw, the mean Σw l / Σw, and √(Σw (l − mean)²).

    Examples
    --------
    >>> import gramian as gm
    >>> both = gm.metrics.MeanLoss.of([1.0, 4.0], loss="mse") + gm.metrics.MeanLoss.of([1.0], loss="mse")
    >>> both
    <MeanLoss: mse 2 over 3 rows>
    """

    loss: str
    classes: tuple[Label, ...]
    most: float
    weight: float
    value: float
    spread: float

    @classmethod
    def of(
        cls, losses: Values, weight: Weights = None, *, loss: str, classes: tuple[Label, ...] = (), most: float = np.inf
    ) -> "MeanLoss":
        """The mean of losses (n,), finite and not negative, with weights (n,)."""
        losses = read_numbers(losses, "losses")
        if losses.ndim != 1 or (losses < 0).any():
            raise ValueError("losses must be one number per row, shape (n,), none of them negative.")
        weight = read_weights(weight, len(losses))
        total = float(weight.sum())
        if total == 0:
            return cls(loss, classes, most, 0.0, 0.0, 0.0)
        size = int(np.frexp(losses.max())[1])
        scaled = np.ldexp(losses, -size)
        mean = float((weight * scaled).sum()) / total
        spread = float(np.sqrt((weight * (scaled - mean) ** 2).sum()))
        with np.errstate(over="ignore"):
            return cls(loss, classes, most, total, float(np.ldexp(mean, size)), float(np.ldexp(spread, size)))

    @property
    def _mass(self) -> float:
        return self.weight

    def _merged(self, other: "MeanLoss") -> "MeanLoss":
        agreed(self.loss, other.loss, "loss")
        agreed(self.classes, other.classes, "class")
        weight = self.weight + other.weight
        part = other.weight / weight
        gap = other.value - self.value
        spread = np.hypot(np.hypot(self.spread, other.spread), np.sqrt(self.weight * part) * abs(gap))
        return MeanLoss(self.loss, self.classes, self.most, weight, self.value + part * gap, float(spread))

    def __repr__(self) -> str:
        return f"<MeanLoss: {self.loss} {self.value:g} over {self.weight:g} rows>"

    def mean(self, *, interval: float | None = None) -> Measured:
        """The mean, or with `interval` Student's interval around it, within the losses that are possible."""
        self._refuse_nothing()
        if interval is None:
            return self.value
        low, high = of_mean(self.value, self.spread, self.weight, interval)
        return Interval(self.value, max(low, 0.0), min(high, self.most))
