"""Losses for numbers and counts."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, log1p, wrightomega, xlogy

from gramian._core.types import Floats
from gramian.objective.losses.base import Loss, PiecewiseLinear, Scaled


@dataclass(frozen=True)
class Squared(Loss):
    """(y − f)², the loss of least squares: no half.

    >>> import numpy as np
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([4.])
    """

    residual: ClassVar[bool] = True
    is_squared: ClassVar[bool] = True
    compiled_slope: ClassVar[str] = "squared"

    def value(self, y: Floats, f: Floats) -> Floats:
        return (y - f) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return 2.0 * (f - y)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.full_like(f, 2.0)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        return u * y + 0.25 * u**2

    def envelope(self, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        bend = 2.0 / (1.0 + 2.0 * step)
        return 0.5 * bend * (f - y) ** 2, bend * (f - y), np.full_like(f, bend)

    def start(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Absolute(PiecewiseLinear):
    """|y − f|: the median, where squared error is the mean.

    >>> import numpy as np
    >>> Absolute().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    def breakpoint(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        return y, np.full_like(y, -1.0), np.ones_like(y)

    def start(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Quantile(PiecewiseLinear):
    """q · (y − f) above the prediction and (1 − q) · (f − y) below it: the q-quantile.

    >>> import numpy as np
    >>> Quantile(0.9).value(np.array([3.0, 1.0]), np.array([1.0, 3.0]))
    array([1.8, 0.2])
    """

    q: float = 0.5

    def __post_init__(self) -> None:
        _within("q", self.q, 0.0, 1.0)

    def breakpoint(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        return y, np.full_like(y, -self.q), np.full_like(y, 1.0 - self.q)

    def start(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Power(Loss):
    """|y − f|ᵖ for p ≥ 1, from the median (1) over the mean (2) towards the middle of the range.

    >>> import numpy as np
    >>> Power(3.0).value(np.array([3.0]), np.array([1.0]))
    array([8.])
    """

    residual: ClassVar[bool] = True
    power: ClassVar[bool] = True
    suits_newton: ClassVar[bool] = False

    p: float = 1.5

    def __post_init__(self) -> None:
        if not np.isfinite(self.p) or self.p < 1:
            raise ValueError(f"p is {self.p!r}; a power loss is convex for p of at least 1 only.")

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        return self.p > 1

    def simplified(self) -> Loss:
        return Absolute() if self.p == 1 else self

    def value(self, y: Floats, f: Floats) -> Floats:
        return np.abs(y - f) ** self.p

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return self.p * np.sign(f - y) * np.abs(y - f) ** (self.p - 1.0)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return self.p * (self.p - 1.0) * np.abs(y - f) ** (self.p - 2.0) if self.p > 1 else np.zeros_like(f)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        if self.p == 1:
            return np.where(np.abs(u) <= 1.0, u * y, np.inf)
        return u * y + (self.p - 1.0) * (np.abs(u) / self.p) ** (self.p / (self.p - 1.0))

    def slopes(self, y: Floats) -> tuple[Floats, Floats]:
        most = np.full_like(y, 1.0 if self.p == 1 else np.inf)
        return -most, most

    def envelope(self, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        if self.p == 1:
            return Absolute().envelope(y, f, step)
        # With R = |y − f| the residual r of the proximal point solves r + step p r^(p−1) = R: a convex increasing
        # function of r (p ≥ 2) or of r^(p−1) (p < 2), on which Newton's method falls to the root from above.
        p, away = self.p, np.abs(y - f)
        other = 1.0 / (p - 1.0)
        slope, power, weight = (step * p, other, 1.0) if p < 2 else (1.0, p - 1.0, step * p)
        with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
            root = np.minimum(away / slope, (away / weight) ** (1.0 / power))
            for _ in range(100):
                top = weight * root**power
                change = np.where(root > 0, (slope * root + top - away) / (slope + power * top / root), 0.0)
                root = np.maximum(root - change, 0.0)
                if (np.abs(change) <= 1e-16 * root).all():
                    break
            r = root**other if p < 2 else root
            size = p * root if p < 2 else p * root ** (p - 1.0)
            bend = (p - 1.0) * size / r
            curvature = np.where(r > 0, 1.0 / (step + 1.0 / bend), 1.0 / step if p < 2 else 0.0)
        return r**p + 0.5 * step * size**2, np.sign(f - y) * size, curvature

    def start(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Huber(Scaled):
    """u² for |u| ≤ delta and 2 delta |u| − delta² beyond, u = (y − f) / scale.

    Where the scale s is not given, it is estimated together with the coefficients by minimising the mean of
    s + s · loss(u), jointly convex in both (Huber's concomitant scale).

    >>> import numpy as np
    >>> Huber(1.0).value(np.array([0.5, 3.0]), np.array([0.0, 0.0]))
    array([0.25, 5.  ])
    """

    residual: ClassVar[bool] = True
    joint_form: ClassVar[bool] = True
    compiled_slope: ClassVar[str] = "huber"

    delta: float = 1.35
    scale: float | None = None

    def __post_init__(self) -> None:
        _above("delta", self.delta)
        if self.scale is not None:
            _above("scale", self.scale)

    def value(self, y: Floats, f: Floats) -> Floats:
        u = np.abs(y - f) / self.unit
        return np.where(u <= self.delta, u**2, 2.0 * self.delta * u - self.delta**2)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return 2.0 * np.clip((f - y) / self.unit, -self.delta, self.delta) / self.unit

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.where(np.abs(y - f) <= self.delta * self.unit, 2.0 / self.unit**2, 0.0)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        inside = np.abs(u) * self.unit <= 2.0 * self.delta * (1.0 + 1e-12)
        return np.where(inside, u * y + 0.25 * (u * self.unit) ** 2, np.inf)

    def slopes(self, y: Floats) -> tuple[Floats, Floats]:
        most = np.full_like(y, 2.0 * self.delta / self.unit)
        return -most, most

    def envelope(self, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        most, bend = 2.0 * self.delta / self.unit, 2.0 / (self.unit**2 + 2.0 * step)
        free = bend * (f - y)
        slope = np.clip(free, -most, most)
        value = slope * (f - y) - 0.25 * (slope * self.unit) ** 2 - 0.5 * step * slope**2
        return value, slope, np.where(np.abs(free) <= most, bend, 0.0)

    def joint(self, y: Floats, f: Floats, scale: float) -> Floats:
        return scale + scale * self.at(scale).value(y, f)

    def scale_terms(self, y: Floats, f: Floats) -> Floats:
        return np.minimum(np.abs(y - f) / self.unit, self.delta) ** 2

    def start(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class StudentT(Scaled):
    """−log density of Student's t with nu degrees of freedom at (y − f) / scale: heavy tails, not convex.

    The scale is estimated together with the coefficients where it is not given.

    >>> import numpy as np
    >>> StudentT(1.0).value(np.array([0.0]), np.array([0.0])).round(4)  # Cauchy: log π
    array([1.1447])
    """

    nu: float = 4.0
    scale: float | None = None
    convex: ClassVar[bool] = False
    weighted_least_squares: ClassVar[bool] = True
    suits_newton: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _above("nu", self.nu)
        if self.scale is not None:
            _above("scale", self.scale)

    def value(self, y: Floats, f: Floats) -> Floats:
        half = (self.nu + 1.0) / 2.0
        constant = gammaln(self.nu / 2.0) - gammaln(half) + 0.5 * np.log(self.nu * np.pi) + np.log(self.unit)
        return constant + half * log1p(((y - f) / self.unit) ** 2 / self.nu)

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return (self.nu + 1.0) * (f - y) / (self.nu * self.unit**2 + (y - f) ** 2)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        size, square = self.nu * self.unit**2, (y - f) ** 2
        return (self.nu + 1.0) * (size - square) / (size + square) ** 2

    def weight(self, y: Floats, f: Floats) -> Floats:
        """gradient / (f − y): the weight of the row in a weighted least squares that lies above the loss."""
        return (self.nu + 1.0) / (self.nu * self.unit**2 + (y - f) ** 2)

    def joint(self, y: Floats, f: Floats, scale: float) -> Floats:
        return self.at(scale).value(y, f)

    def scale_terms(self, y: Floats, f: Floats) -> Floats:
        square = ((y - f) / self.unit) ** 2
        return (self.nu + 1.0) * square / (self.nu + square)

    def start(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Poisson(Loss):
    """exp(f) − y f: counts and rates, whose logarithm is linear.

    >>> import numpy as np
    >>> Poisson().value(np.array([2.0]), np.array([0.0]))
    array([1.])
    """

    targets: ClassVar[str] = "counts"
    link: ClassVar[str] = "log"
    likelihood: ClassVar[bool] = True
    compiled_slope: ClassVar[str] = "poisson"
    infimum_at_infinity: ClassVar[bool] = True

    def value(self, y: Floats, f: Floats) -> Floats:
        return _exp(f) - y * f

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return _exp(f) - y

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return _exp(f)

    def value_and_gradient(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        rate = _exp(f)
        return rate - y * f, rate - y

    def all(self, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        rate = _exp(f)
        return rate - y * f, rate - y, rate

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.where(u >= -y, xlogy(u + y, u + y) - (u + y), np.inf)

    def slopes(self, y: Floats) -> tuple[Floats, Floats]:
        return -y, np.full_like(y, np.inf)

    def envelope(self, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        scaled = np.asarray(wrightomega(f + step * y + np.log(step)), dtype=np.float64)  # step · exp(x)
        rate = scaled / step
        x = f - step * (rate - y)
        return rate - y * x + 0.5 * step * (rate - y) ** 2, rate - y, rate / (1.0 + scaled)

    def start(self, mean: float) -> float:
        return float(np.log(mean)) if mean > 0 else -30.0

    def mean(self, f: Floats) -> Floats:
        return _exp(f)


def _exp(f: Floats) -> Floats:
    return np.exp(np.minimum(f, 700.0))  # a step too far is refused by its value, not by an overflow


def _above(name: str, value: Any) -> None:
    if not np.isfinite(value) or value <= 0:
        raise ValueError(f"{name} is {value!r}; it must be a number above 0.")


def _within(name: str, value: Any, low: float, high: float) -> None:
    if not low < value < high:
        raise ValueError(f"{name} is {value!r}; it must be a number between {low:g} and {high:g}.")
