"""Losses: functions of a target and a prediction. Adding one is one frozen class here; the common checks find it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, gammaln, log1p, ndtr, xlogy

from gramian.objective.logistic_sums import logistic_sums, logistic_sweep

Floats = NDArray[np.float64]
MANY = 1000  # rows from which compiled code is worth the second that it takes to compile


class Loss(ABC):
    """loss(y, f), convex or not as `convex` says, with its derivatives in the prediction f.

    Attributes
    ----------
    targets : "numbers", "counts", "signs" or "classes"
        Any numbers; numbers of at least 0; −1 or 1; 0 … k − 1, where f has one column a class.
    convex : bool
    smooth : bool
        Whether the gradient is continuous.
    cuts : bool
        Whether `swept` itself goes over rows in pieces that stay in the cache.
    """

    targets: ClassVar[str] = "numbers"
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    cuts: ClassVar[bool] = False

    @abstractmethod
    def value(self, y: Floats, f: Floats) -> Floats:
        """loss(y, f) for each row."""

    @abstractmethod
    def gradient(self, y: Floats, f: Floats) -> Floats:
        """∂ loss / ∂ f; one of the subgradients at a kink."""

    @abstractmethod
    def curvature(self, y: Floats, f: Floats) -> Floats:
        """∂² loss / ∂ f²; for k columns the k × k matrix of each row."""

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        """sup over f of u f − loss(y, f): what duality gaps are made of; infinite outside its domain."""
        raise TypeError(f"{type(self).__name__} is not convex, so duality says nothing of it.")

    def all(self, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Value, gradient and curvature at once, where work can be shared."""
        return self.value(y, f), self.gradient(y, f), self.curvature(y, f)

    def summed(self, y: Floats, f: Floats, w: Floats | None, curved: bool) -> tuple[Any, Any, Floats, Floats | None]:
        """Σ w value, Σ w |gradient|, and the gradients and curvatures times w, for f of one output.

        f is (n,), or (M, n) for M models at once, which have a sum each.
        """
        if curved:
            value, g, h = self.all(y, f)
        else:
            value, g, h = self.value(y, f), self.gradient(y, f), None
        if w is None:
            return value.sum(axis=-1), np.abs(g).sum(axis=-1), g, h
        g = g * w
        return value @ w, np.abs(g).sum(axis=-1), g, None if h is None else h * w

    def swept(self, X: Any, y: Floats, w: Floats | None, coef: Floats, offset: Floats) -> tuple[Any, ...]:
        """Of M models coef (M, d) and offset (M,): Σ w value, Σ w |gradient|, Σ g xᵀ (M, d) and Σ g, with g times w."""
        f = np.ascontiguousarray((X @ coef.T + offset).T)
        values, sizes, g, _ = self.summed(y, f, w, False)
        return values, sizes, np.asarray((X.T @ g.T).T if issparse(X) else g @ X), g.sum(axis=1)

    def start(self, mean: float) -> float:
        """A good intercept to begin with, from the mean of the target."""
        return 0.0

    def mean(self, f: Floats) -> Floats:
        """What is predicted of the target: the link of the loss, applied to f."""
        return f

    def probabilities(self, f: Floats) -> Floats | None:
        """P(class | f), (n, k), where the loss is a log-likelihood; None where it is not."""
        return None

    def refuse(self, low: float, high: float) -> None:
        """Raise where the smallest and the largest target are not what the loss is for."""
        if self.targets == "counts" and low < 0:
            raise ValueError(
                f"y goes down to {low:g}; the {type(self).__name__} loss is for counts and rates of at least 0."
            )
        if self.targets == "counts" and high == 0:
            raise ValueError("Every y is 0: their rate is 0, whose logarithm is no number; there is nothing to fit.")


class Scaled(Loss):
    """A loss of (y − f) / scale, whose scale is given or estimated together with the coefficients."""

    scale: float | None

    def at(self, scale: float) -> Self:
        """The loss with this scale."""
        return replace(self, scale=scale)  # type: ignore[type-var]

    @abstractmethod
    def joint(self, y: Floats, f: Floats, scale: float) -> Floats:
        """What is minimised over f and the scale together."""

    @property
    def unit(self) -> float:
        return 1.0 if self.scale is None else float(self.scale)


class Kinked(Loss):
    """max(low · (f − at), high · (f − at)): two slopes and a kink, given by `kink`."""

    smooth: ClassVar[bool] = False

    @abstractmethod
    def kink(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        """(at, low, high) of each row."""

    def value(self, y: Floats, f: Floats) -> Floats:
        at, low, high = self.kink(y)
        return np.maximum(low * (f - at), high * (f - at))

    def gradient(self, y: Floats, f: Floats) -> Floats:
        at, low, high = self.kink(y)
        return np.where(f > at, high, np.where(f < at, low, (low + high) / 2.0))

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.zeros_like(f)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        at, low, high = self.kink(y)
        return np.where((u >= low) & (u <= high), u * at, np.inf)


@dataclass(frozen=True)
class Squared(Loss):
    """(y − f)², the loss of least squares: no half.

    >>> import numpy as np
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([4.])
    """

    def value(self, y: Floats, f: Floats) -> Floats:
        return (y - f) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return 2.0 * (f - y)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.full_like(f, 2.0)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        return u * y + 0.25 * u**2

    def start(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Absolute(Kinked):
    """|y − f|: the median, where squared error is the mean.

    >>> import numpy as np
    >>> Absolute().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    def kink(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        return y, np.full_like(y, -1.0), np.ones_like(y)

    def start(self, mean: float) -> float:
        return mean


@dataclass(frozen=True)
class Quantile(Kinked):
    """q · (y − f) above the prediction and (1 − q) · (f − y) below it: the q-quantile.

    >>> import numpy as np
    >>> Quantile(0.9).value(np.array([3.0, 1.0]), np.array([1.0, 3.0]))
    array([1.8, 0.2])
    """

    q: float = 0.5

    def __post_init__(self) -> None:
        _within("q", self.q, 0.0, 1.0)

    def kink(self, y: Floats) -> tuple[Floats, Floats, Floats]:
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

    p: float = 1.5

    def __post_init__(self) -> None:
        if not np.isfinite(self.p) or self.p < 1:
            raise ValueError(f"p is {self.p!r}; a power loss is convex for p of at least 1 only.")

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        return self.p > 1

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

    def joint(self, y: Floats, f: Floats, scale: float) -> Floats:
        return scale + scale * self.at(scale).value(y, f)

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

    def value(self, y: Floats, f: Floats) -> Floats:
        return _exp(f) - y * f

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return _exp(f) - y

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return _exp(f)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.where(u >= -y, xlogy(u + y, u + y) - (u + y), np.inf)

    def start(self, mean: float) -> float:
        return float(np.log(mean)) if mean > 0 else -30.0

    def mean(self, f: Floats) -> Floats:
        return _exp(f)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(−y f)), y = ±1: −log of the probability of y.

    >>> import numpy as np
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """

    targets: ClassVar[str] = "signs"
    cuts: ClassVar[bool] = True

    def value(self, y: Floats, f: Floats) -> Floats:
        m = y * f
        found = log1p(np.exp(-np.abs(m)))
        found -= np.minimum(m, 0.0)
        return found

    def gradient(self, y: Floats, f: Floats) -> Floats:
        m = y * f
        e = np.exp(-np.abs(m))
        q = 1.0 / (1.0 + e)
        return -y * np.where(m > 0, e * q, q)

    def summed(self, y: Floats, f: Floats, w: Floats | None, curved: bool) -> tuple[Any, Any, Floats, Floats | None]:
        if f.size < MANY:
            return super().summed(y, f, w, curved)
        return logistic_sums(y, f, w, curved)

    def swept(self, X: Any, y: Floats, w: Floats | None, coef: Floats, offset: Floats) -> tuple[Any, ...]:
        if issparse(X) or len(X) < MANY:
            return super().swept(X, y, w, coef, offset)
        return logistic_sweep(X, y, w, coef, offset)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        p = expit(-np.abs(f))
        return p * (1.0 - p)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        s = -y * u
        with np.errstate(invalid="ignore"):
            return np.where((s >= 0) & (s <= 1), xlogy(s, s) + xlogy(1.0 - s, 1.0 - s), np.inf)

    def all(self, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        m = y * f
        e = np.exp(-np.abs(m))
        value = log1p(e)
        value -= np.minimum(m, 0.0)
        q = 1.0 / (1.0 + e)
        e *= q  # the smaller of the two probabilities
        wrong = np.where(m > 0, e, q)
        return value, -y * wrong, e * q

    def start(self, mean: float) -> float:
        return float(2.0 * np.arctanh(np.clip(mean, -1 + 1e-12, 1 - 1e-12)))

    def probabilities(self, f: Floats) -> Floats:
        return np.column_stack([expit(-f), expit(f)])


@dataclass(frozen=True)
class Softmax(Loss):
    """−log p_y with p_j ∝ exp(f_j), one column of f a class.

    >>> import numpy as np
    >>> Softmax().value(np.array([2.0]), np.zeros((1, 3))).round(4)
    array([1.0986])
    """

    targets: ClassVar[str] = "classes"

    def value(self, y: Floats, f: Floats) -> Floats:
        return _surprise(f, y.astype(int))[0]

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return _surprise(f, y.astype(int))[1]

    def curvature(self, y: Floats, f: Floats) -> Floats:
        p = self.probabilities(f)
        return p[:, :, None] * (np.eye(f.shape[1]) - p[:, None, :])

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        p = u + np.eye(u.shape[1])[y.astype(int)]
        inside = (p >= -1e-12).all(axis=1) & (np.abs(p.sum(axis=1) - 1.0) < 1e-9)
        return np.where(inside, xlogy(np.maximum(p, 0.0), np.maximum(p, 0.0)).sum(axis=1), np.inf)

    def probabilities(self, f: Floats) -> Floats:
        p = np.exp(f - f.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p

    steepness: ClassVar[float] = 1.0

    def shares(self, y: Floats, f: Floats) -> Floats:
        """The probabilities that make up the curvature, steepness · (diag p − p pᵀ)."""
        return self.probabilities(f)


@dataclass(frozen=True)
class Perceptron(Kinked):
    """max(0, −y f): only mistakes count, by how far they are on the wrong side.

    >>> import numpy as np
    >>> Perceptron().value(np.array([1.0, 1.0]), np.array([-2.0, 3.0]))
    array([2., 0.])
    """

    targets: ClassVar[str] = "signs"

    def kink(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        return np.zeros_like(y), np.minimum(-y, 0.0), np.maximum(-y, 0.0)


@dataclass(frozen=True)
class Hinge(Kinked):
    """max(0, 1 − y f), the loss of support vector machines.

    >>> import numpy as np
    >>> Hinge().value(np.array([1.0, 1.0]), np.array([0.5, 2.0]))
    array([0.5, 0. ])
    """

    targets: ClassVar[str] = "signs"

    def kink(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        return y, np.minimum(-y, 0.0), np.maximum(-y, 0.0)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 − y f)²: the hinge made smooth.

    >>> import numpy as np
    >>> SquaredHinge().value(np.array([1.0, 1.0]), np.array([0.5, 2.0]))
    array([0.25, 0.  ])
    """

    targets: ClassVar[str] = "signs"

    def value(self, y: Floats, f: Floats) -> Floats:
        return np.maximum(1.0 - y * f, 0.0) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -2.0 * y * np.maximum(1.0 - y * f, 0.0)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.where(y * f < 1.0, 2.0, 0.0)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        s = -y * u
        return np.where(s >= 0, 0.25 * s**2 - s, np.inf)


@dataclass(frozen=True)
class RootHinge(Loss):
    """√max(0, 1 − y f): outliers count less than in the hinge. Not convex: fits are local minima.

    >>> import numpy as np
    >>> RootHinge().value(np.array([1.0, 1.0]), np.array([-3.0, 2.0]))
    array([2., 0.])
    """

    targets: ClassVar[str] = "signs"
    convex: ClassVar[bool] = False
    smooth: ClassVar[bool] = False

    def value(self, y: Floats, f: Floats) -> Floats:
        return np.sqrt(np.maximum(1.0 - y * f, 0.0))

    def gradient(self, y: Floats, f: Floats) -> Floats:
        root = self.value(y, f)
        return np.where(root > 0, -0.5 * y / np.where(root > 0, root, 1.0), 0.0)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        root = self.value(y, f)
        return np.where(root > 0, -0.25 / np.where(root > 0, root, 1.0) ** 3, 0.0)


@dataclass(frozen=True)
class MultiHinge(Loss):
    """max(0, margin + max over j ≠ y of f_j − f_y): all classes at once, one column of f a class.

    With margin 0 it is the perceptron's loss for several classes.

    >>> import numpy as np
    >>> MultiHinge().value(np.array([0.0]), np.array([[1.0, 0.5, -1.0]]))
    array([0.5])
    """

    margin: float = 1.0
    targets: ClassVar[str] = "classes"
    smooth: ClassVar[bool] = False

    def _lifted(self, y: Floats, f: Floats) -> Floats:
        lifted = f + self.margin
        lifted[np.arange(len(f)), y.astype(int)] -= self.margin
        return lifted

    def value(self, y: Floats, f: Floats) -> Floats:
        return self._lifted(y, f).max(axis=1) - f[np.arange(len(f)), y.astype(int)]

    def gradient(self, y: Floats, f: Floats) -> Floats:
        rows, lifted = np.arange(len(f)), self._lifted(y, f)
        best = lifted == lifted.max(axis=1, keepdims=True)
        found = best / best.sum(axis=1, keepdims=True)
        found[rows, y.astype(int)] -= 1.0
        return found

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.zeros((*f.shape, f.shape[1]))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        own = np.eye(u.shape[1])[y.astype(int)]
        p = u + own
        inside = (p >= -1e-12).all(axis=1) & (np.abs(p.sum(axis=1) - 1.0) < 1e-9)
        return np.where(inside, -self.margin * (p * (1.0 - own)).sum(axis=1), np.inf)


@dataclass(frozen=True)
class SoftMargin(Loss):
    """The hinge of all classes made smooth: μ log Σ exp((f_j + margin [j ≠ y]) / μ) − f_y, above it by at most μ log k.

    >>> import numpy as np
    >>> SoftMargin(1e-9).value(np.array([0.0]), np.array([[1.0, 0.5, -1.0]]))
    array([0.5])
    """

    temperature: float = 1.0
    margin: float = 1.0
    targets: ClassVar[str] = "classes"

    @property
    def steepness(self) -> float:
        return 1.0 / self.temperature

    def shares(self, y: Floats, f: Floats) -> Floats:
        """The probabilities that make up the curvature, steepness · (diag p − p pᵀ)."""
        return Softmax().probabilities(MultiHinge(self.margin)._lifted(y, f) / self.temperature)

    def value(self, y: Floats, f: Floats) -> Floats:
        lifted = MultiHinge(self.margin)._lifted(y, f) / self.temperature
        return self.temperature * _surprise(lifted, y.astype(int))[0]

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return _surprise(MultiHinge(self.margin)._lifted(y, f) / self.temperature, y.astype(int))[1]

    def curvature(self, y: Floats, f: Floats) -> Floats:
        p = self.shares(y, f)
        return self.steepness * p[:, :, None] * (np.eye(f.shape[1]) - p[:, None, :])

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        p = np.maximum(u + np.eye(u.shape[1])[y.astype(int)], 0.0)
        return MultiHinge(self.margin).conjugate(y, u) + self.temperature * xlogy(p, p).sum(axis=1)


@dataclass(frozen=True)
class SoftKink(Loss):
    """A loss with a kink, averaged over a normal shift of the prediction: smooth, and the same far from the kink.

    >>> import numpy as np
    >>> SoftKink(Hinge(), 1e-6).value(np.array([1.0]), np.array([0.5]))
    array([0.5])
    """

    inner: Kinked
    width: float

    def _part(self, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        at, low, high = self.inner.kink(y)
        return (f - at) / self.width, low, high - low

    def value(self, y: Floats, f: Floats) -> Floats:
        u, low, rise = self._part(y, f)
        return self.width * (low * u + rise * (u * ndtr(u) + np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)))

    def gradient(self, y: Floats, f: Floats) -> Floats:
        u, low, rise = self._part(y, f)
        return low + rise * ndtr(u)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        u, _, rise = self._part(y, f)
        return rise * np.exp(-0.5 * u * u) / (np.sqrt(2.0 * np.pi) * self.width)


def _surprise(f: Floats, own: NDArray[Any]) -> tuple[Floats, Floats]:
    """−log p of the own class and its gradient, from the others' share: right to the last digit when that is small."""
    rows = np.arange(len(f))
    g = f - f.max(axis=1, keepdims=True)
    mine = g[rows, own]
    np.exp(g, out=g)
    share = g[rows, own]
    g[rows, own] = 0.0
    others = g.sum(axis=1)
    total = others + share
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        value = np.where(share > 1e-300, np.log1p(others / share), np.log(total) - mine)
    g /= total[:, None]
    g[rows, own] = -others / total
    return value, g


def _exp(f: Floats) -> Floats:
    return np.exp(np.minimum(f, 700.0))  # a step too far is refused by its value, not by an overflow


def _above(name: str, value: Any) -> None:
    if not np.isfinite(value) or value <= 0:
        raise ValueError(f"{name} is {value!r}; it must be a number above 0.")


def _within(name: str, value: Any, low: float, high: float) -> None:
    if not low < value < high:
        raise ValueError(f"{name} is {value!r}; it must be a number between {low:g} and {high:g}.")


__all__ = [
    "Absolute",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "MultiHinge",
    "Perceptron",
    "Poisson",
    "Power",
    "Quantile",
    "RootHinge",
    "SoftMargin",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "StudentT",
]
