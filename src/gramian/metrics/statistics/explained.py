"""`Explained`: the sums behind R² and the root mean squared error, with those that their intervals need."""

from dataclasses import dataclass, replace

import numpy as np

from gramian._core.numerics.float_range import magnitude
from gramian._core.types import Floats, Ints, Values, Weights
from gramian.metrics.input import read_pair
from gramian.metrics.statistics.base import Statistic
from gramian.metrics.statistics.intervals import Interval, Measured, t_quantile


@dataclass(frozen=True, eq=False, repr=False)
class Explained(Statistic):
    """Means and centred cross-products of f = [u, u², e²] of every target, u = y − shift, e = y − prediction.

    Made by `Explained.of(y, prediction)`; two are joined with `+`. A part moves to another shift by a linear map of f,
    so that sums of the fourth order are merged without cancellation. Targets and errors are divided by powers of two
    (`exponents`), so that neither 1e200 nor 1e-200 over- or underflows.

    Attributes
    ----------
    weight : float
        Σw.
    exponents : array of int (2, t)
        Of the targets and of the errors.
    shift : array (t,)
        About the mean of y, scaled.
    mean : array (3t,)
        Of f, scaled.
    total : array (t,)
        Σw (y − ȳ)², scaled.
    cross : array (3t, 3t) or None
        Centred cross-products of f, scaled; None where no interval is wanted.

    Examples
    --------
    >>> import gramian as gm
    >>> first = gm.metrics.Explained.of([1.0, 2.0], [1.0, 2.5])
    >>> both = first + gm.metrics.Explained.of([4.0], [4.0])
    >>> both
    <Explained: 3 rows, 1 target>
    >>> round(both.r2(), 6)
    0.946429
    """

    weight: float
    exponents: Ints
    shift: Floats
    mean: Floats
    total: Floats
    cross: Floats | None

    @classmethod
    def of(cls, y: Values, prediction: Values, sample_weight: Weights = None, *, variances: bool = True) -> "Explained":
        """The sums of some rows: y and prediction (n,) or (n, t); without `variances` only what R² itself needs."""
        truth, predicted, weight = read_pair(y, prediction, sample_weight)
        t, mass = truth.shape[1], float(weight.sum())
        if mass == 0:
            empty = np.zeros((3 * t, 3 * t)) if variances else None
            return cls(0.0, np.zeros((2, t), np.int64), np.zeros(t), np.zeros(3 * t), np.zeros(t), empty)
        none = np.zeros(t, np.int64)
        of_truth = magnitude(np.abs(truth).max(axis=0), none)
        of_both = np.maximum(of_truth, magnitude(np.abs(predicted).max(axis=0), none))
        errors = np.ldexp(truth, -of_both) - np.ldexp(predicted, -of_both)
        of_errors = magnitude(np.abs(errors).max(axis=0), of_both)
        errors = np.ldexp(errors, of_both - of_errors)
        scaled = np.ldexp(truth, -of_truth)
        # From the first row on, so that a constant y leaves exactly nothing.
        # Rows along the last axis, where NumPy adds in pairs and loses few digits.
        shift = scaled[0] + (weight * (scaled - scaled[0]).T).sum(axis=1) / mass
        moved = np.ascontiguousarray((scaled - shift).T)
        f = np.concatenate([moved, moved**2, errors.T**2])
        mean = (weight * f).sum(axis=1) / mass
        f -= mean[:, None]
        total = (weight * f[:t] ** 2).sum(axis=1)
        cross = None
        if variances:
            f *= np.sqrt(weight)
            cross = f @ f.T
        return cls(mass, np.stack([of_truth, of_errors]), shift, mean, total, cross)

    @property
    def t(self) -> int:
        """Targets."""
        return len(self.shift)

    @property
    def _mass(self) -> float:
        return self.weight

    def _merged(self, other: "Explained") -> "Explained":
        if self.t != other.t:
            raise ValueError(f"One part has {self.t} targets and the other {other.t}: give all parts the same ones.")
        exponents = np.maximum(self.exponents, other.exponents)
        left, right = self._rescaled(exponents), other._rescaled(exponents)
        weight, t = self.weight + other.weight, self.t
        part = other.weight / weight
        means = left.shift + left.mean[:t], right.shift + right.mean[:t]
        centre = means[0] + part * (means[1] - means[0])
        left, right = left._moved(centre), right._moved(centre)
        step = right.mean - left.mean
        factor = self.weight * part
        cross = None
        if left.cross is not None and right.cross is not None:
            cross = left.cross + right.cross + factor * np.outer(step, step)
        return Explained(
            weight,
            exponents,
            centre,
            left.mean + part * step,
            left.total + right.total + factor * step[:t] ** 2,
            cross,
        )

    def _rescaled(self, exponents: Ints) -> "Explained":
        of_truth, of_errors = self.exponents - exponents
        change = np.concatenate([of_truth, 2 * of_truth, 2 * of_errors])
        cross = None if self.cross is None else np.ldexp(np.ldexp(self.cross, change[:, None]), change)
        return Explained(
            self.weight,
            exponents,
            np.ldexp(self.shift, of_truth),
            np.ldexp(self.mean, change),
            np.ldexp(self.total, 2 * of_truth),
            cross,
        )

    def _moved(self, shift: Floats) -> "Explained":
        """The same about another shift: u + δ, and u² + 2δu + δ²."""
        delta, t = self.shift - shift, self.t
        mean = self.mean.copy()
        mean[t : 2 * t] += 2.0 * delta * mean[:t] + delta**2
        mean[:t] += delta
        cross = self.cross
        if cross is not None:
            cross = cross.copy()
            cross[t : 2 * t] += 2.0 * delta[:, None] * cross[:t]
            cross[:, t : 2 * t] += 2.0 * delta * cross[:, :t]
        return replace(self, shift=shift, mean=mean, cross=cross)

    def __repr__(self) -> str:
        return f"<Explained: {self.weight:g} rows, {self.t} target{'s' * (self.t != 1)}>"

    def r2(self, *, interval: float | None = None) -> Measured:
        """1 − Σw e² / Σw (y − ȳ)², the mean over the targets; 1 or 0 for a target that does not vary."""
        self._refuse_nothing()
        t, varies = self.t, self.total > 0
        errors = self.mean[2 * t :]
        scale = np.divide(self.weight, self.total, out=np.zeros(t), where=varies)  # 1 / variance
        change = np.where(varies, 2 * (self.exponents[1] - self.exponents[0]), 0)
        with np.errstate(over="ignore"):
            lost = np.ldexp(errors * scale, change)
        if not np.isfinite(lost).all():
            raise OverflowError("The errors are so much larger than the spread of y that r2 exceeds the float range.")
        loss = float(np.where(varies, lost, errors > 0).mean())
        if interval is None:
            return 1.0 - loss
        quantile, cross = t_quantile(interval, self.weight), self._cross()
        if not varies.any() or not np.isfinite(quantile):
            return Interval(1.0 - loss, -np.inf, 1.0)
        if loss == 0:
            return Interval(1.0, 1.0, 1.0)
        slope = lost * scale
        with np.errstate(over="ignore"):
            gradient = np.concatenate([-2.0 * self.mean[:t] * slope, slope, -np.ldexp(scale, change)]) / t
            variance = max(float(gradient @ cross @ gradient), 0.0) / (self.weight * (self.weight - 1.0))
            factor = np.exp(quantile * np.sqrt(variance) / loss)
            return Interval(1.0 - loss, float(1.0 - loss * factor), float(1.0 - loss / factor))

    def rmse(self, *, interval: float | None = None) -> Measured:
        """√(Σw e² / Σw), the mean over the targets; its interval by the delta method on the log scale."""
        self._refuse_nothing()
        t, root = self.t, np.sqrt(self.mean[2 * self.t :])
        with np.errstate(over="ignore"):
            value = float(np.ldexp(root, self.exponents[1]).mean())
        if not np.isfinite(value):
            raise OverflowError("The errors exceed the range of float64: divide y and prediction by a constant first.")
        if interval is None:
            return value
        quantile, cross = t_quantile(interval, self.weight), self._cross()
        if value == 0.0:
            return Interval(0.0, 0.0, 0.0)
        if not np.isfinite(quantile):
            return Interval(value, 0.0, np.inf)
        slope = np.divide(0.5 / t, root, out=np.zeros(t), where=root > 0)
        gradient = slope / np.ldexp(value, -self.exponents[1])
        variance = max(float(gradient @ cross[2 * t :, 2 * t :] @ gradient), 0.0)
        with np.errstate(over="ignore"):
            factor = np.exp(quantile * np.sqrt(variance / (self.weight * (self.weight - 1.0))))
            return Interval(value, float(value / factor), float(value * factor))

    def _cross(self) -> Floats:
        """The cross-products of the fourth order, which intervals need."""
        if self.cross is None:
            raise ValueError("These sums were made with variances=False, which leaves out what an interval needs.")
        return self.cross
