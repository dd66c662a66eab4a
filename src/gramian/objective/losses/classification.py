"""Losses for labels: signs y = ±1, or the number of a class."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit, log1p, ndtr, xlogy

from gramian._core.types import Floats
from gramian.objective.losses.base import Loss, PiecewiseLinear
from gramian.objective.losses.envelopes import simplex_projection
from gramian.objective.losses.logistic_sums import logistic_sums, logistic_sweep

MANY = 1000  # rows from which compiled code is worth the second that it takes to compile


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(−y f)), y = ±1: −log of the probability of y.

    >>> import numpy as np
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """

    targets: ClassVar[str] = "signs"
    link: ClassVar[str] = "logit"
    likelihood: ClassVar[bool] = True
    compiled_slope: ClassVar[str] = "logistic"
    cuts: ClassVar[bool] = True
    infimum_at_infinity: ClassVar[bool] = True

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

    def slopes(self, y: Floats) -> tuple[Floats, Floats]:
        return np.minimum(-y, 0.0), np.maximum(-y, 0.0)

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
    link: ClassVar[str] = "logit"
    likelihood: ClassVar[bool] = True
    infimum_at_infinity: ClassVar[bool] = True

    def value(self, y: Floats, f: Floats) -> Floats:
        return _surprise(f, y.astype(int))[0]

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return _surprise(f, y.astype(int))[1]

    def value_and_gradient(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        return _surprise(f, y.astype(int))[:2]

    def stacked(self, y: Floats, f: Floats, w: Floats | None) -> tuple[Floats, Floats, Floats]:
        own, rows = y.astype(int), np.arange(len(y))
        f = f - f.max(axis=1, keepdims=True)
        values = -f[:, own, rows]
        np.exp(f, out=f)
        share = f[:, own, rows]
        f[:, own, rows] = 0.0
        others = f.sum(axis=1)  # from these, as in `_surprise`
        total = others + share
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            values = np.where(share > 1e-300, np.log1p(others / share), values + np.log(total))
        share = 1.0 / total if w is None else w / total
        f *= share[:, None, :]
        rest = others * share
        f[:, own, rows] = -rest
        return (values if w is None else values * w).sum(axis=1), 2.0 * rest.sum(axis=1), f

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return _spread(self.probabilities(f))

    def all(self, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        value, g, p = _surprise(f, y.astype(int))
        return value, g, _spread(p)

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
class Perceptron(PiecewiseLinear):
    """max(0, −y f): only mistakes count, by how far they are on the wrong side.

    >>> import numpy as np
    >>> Perceptron().value(np.array([1.0, 1.0]), np.array([-2.0, 3.0]))
    array([2., 0.])
    """

    targets: ClassVar[str] = "signs"
    link: ClassVar[str] = "none"

    @property
    def zero_is_optimal(self) -> bool:
        return True

    def breakpoint(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        return np.zeros_like(y), np.minimum(-y, 0.0), np.maximum(-y, 0.0)


@dataclass(frozen=True)
class Hinge(PiecewiseLinear):
    """max(0, 1 − y f), the loss of support vector machines.

    >>> import numpy as np
    >>> Hinge().value(np.array([1.0, 1.0]), np.array([0.5, 2.0]))
    array([0.5, 0. ])
    """

    targets: ClassVar[str] = "signs"
    link: ClassVar[str] = "none"

    @property
    def has_margin(self) -> bool:
        return True

    def breakpoint(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        return y, np.minimum(-y, 0.0), np.maximum(-y, 0.0)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 − y f)²: the hinge made smooth.

    >>> import numpy as np
    >>> SquaredHinge().value(np.array([1.0, 1.0]), np.array([0.5, 2.0]))
    array([0.25, 0.  ])
    """

    targets: ClassVar[str] = "signs"
    link: ClassVar[str] = "none"
    compiled_slope: ClassVar[str] = "squared_hinge"

    @property
    def has_margin(self) -> bool:
        return True

    def value(self, y: Floats, f: Floats) -> Floats:
        return np.maximum(1.0 - y * f, 0.0) ** 2

    def gradient(self, y: Floats, f: Floats) -> Floats:
        return -2.0 * y * np.maximum(1.0 - y * f, 0.0)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.where(y * f < 1.0, 2.0, 0.0)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        s = -y * u
        return np.where(s >= 0, 0.25 * s**2 - s, np.inf)

    def slopes(self, y: Floats) -> tuple[Floats, Floats]:
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)

    def envelope(self, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        bend, short = 2.0 / (1.0 + 2.0 * step), np.maximum(1.0 - y * f, 0.0)
        return 0.5 * bend * short**2, -bend * y * short, np.where(short > 0, bend, 0.0)


@dataclass(frozen=True)
class RootHinge(Loss):
    """√max(0, 1 − y f): outliers count less than in the hinge. Not convex: fits are local minima.

    >>> import numpy as np
    >>> RootHinge().value(np.array([1.0, 1.0]), np.array([-3.0, 2.0]))
    array([2., 0.])
    """

    targets: ClassVar[str] = "signs"
    link: ClassVar[str] = "none"
    convex: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    weighted_hinge: ClassVar[bool] = True
    suits_newton: ClassVar[bool] = False

    @property
    def has_margin(self) -> bool:
        return True

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
    link: ClassVar[str] = "none"
    smooth: ClassVar[bool] = False
    class_hinge: ClassVar[bool] = True

    @property
    def has_margin(self) -> bool:
        return self.margin > 0

    @property
    def zero_is_optimal(self) -> bool:
        return self.margin == 0

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

    def envelope(self, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        own = np.eye(f.shape[1])[y.astype(int)]
        p = simplex_projection(own + (f + self.margin * (1.0 - own)) / step)
        slope, active = p - own, p > 0
        count = active.sum(axis=1)[:, None, None]
        curvature = np.where(active[:, :, None] & active[:, None, :], np.eye(f.shape[1]) - 1.0 / count, 0.0) / step
        return self.value(y, f - step * slope) + 0.5 * step * (slope**2).sum(axis=1), slope, curvature


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
    link: ClassVar[str] = "none"

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
        return self.steepness * _spread(self.shares(y, f))

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        p = np.maximum(u + np.eye(u.shape[1])[y.astype(int)], 0.0)
        return MultiHinge(self.margin).conjugate(y, u) + self.temperature * xlogy(p, p).sum(axis=1)


@dataclass(frozen=True)
class SmoothedPiecewiseLinear(Loss):
    """A piecewise-linear loss averaged over a normal shift of the prediction: smooth, and the same far from them.

    >>> import numpy as np
    >>> SmoothedPiecewiseLinear(Hinge(), 1e-6).value(np.array([1.0]), np.array([0.5]))
    array([0.5])
    """

    inner: PiecewiseLinear
    width: float

    def _part(self, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        at, low, high = self.inner.breakpoint(y)
        return (f - at) / self.width, low, high - low

    def value(self, y: Floats, f: Floats) -> Floats:
        u, low, rise = self._part(y, f)
        return self.width * (low * u + rise * (u * ndtr(u) + _normal_density(u)))

    def gradient(self, y: Floats, f: Floats) -> Floats:
        u, low, rise = self._part(y, f)
        return low + rise * ndtr(u)

    def curvature(self, y: Floats, f: Floats) -> Floats:
        u, _, rise = self._part(y, f)
        return rise * _normal_density(u) / self.width


def _normal_density(u: Floats) -> Floats:
    """exp(−u²/2)/√(2π); zero beyond 40, where squares may overflow."""
    return np.asarray(np.exp(-0.5 * np.clip(u, -40.0, 40.0) ** 2) / np.sqrt(2.0 * np.pi))


def _surprise(f: Floats, own: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """−log p of the own class, its gradient, and p.

    From the others' share: right to the last digit when that is small.
    """
    rows = np.arange(len(f))
    p = f - f.max(axis=1, keepdims=True)
    mine = p[rows, own]
    np.exp(p, out=p)
    share = p[rows, own]
    p[rows, own] = 0.0
    others = p.sum(axis=1)
    total = others + share
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        value = np.where(share > 1e-300, np.log1p(others / share), np.log(total) - mine)
    p /= total[:, None]
    g = p.copy(order="K")
    p[rows, own] = share / total
    g[rows, own] = -others / total
    return value, g, p


def _spread(p: Floats) -> Floats:
    """diag p − p pᵀ of each row, (n, k, k), one entry of all rows after the other."""
    p = p.T
    found = -p[:, None] * p
    each = np.arange(len(p))
    found[each, each] += p
    return found.transpose(2, 0, 1)
