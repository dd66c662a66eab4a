"""What a loss is: a function of a target and a prediction, with its derivatives and sums."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse

from gramian._core.types import Floats
from gramian.objective.losses.envelopes import joint_envelope, scalar_envelope


class Loss(ABC):
    """loss(y, f), convex or not as `convex` says, with its derivatives in the prediction f.

    Attributes
    ----------
    targets : "numbers", "counts", "signs" or "classes"
        Any numbers; numbers of at least 0; −1 or 1; 0 … k − 1, where f has one column a class.
    link : "identity", "log", "logit" or "none"
        What f is of the mean of the target: itself, its logarithm, its log-odds; or a decision value.
    convex : bool
    smooth : bool
        Whether the gradient is continuous.
    likelihood : bool
        Whether it is −log of the probability of the target given f, up to a constant, without a scale.
    compiled_slope : str
        The name of its derivative among those compiled for stochastic gradients; empty where there is none.
    cuts : bool
        Whether `swept` itself goes over rows in pieces that stay in the cache.
    residual : bool
        Whether it is a function of y − f alone.
    is_squared : bool
        Whether it is (y − f)², whose fits need no more of the rows than their moments.
    piecewise_linear : bool
        Whether it has two slopes and one breakpoint in every row: a `PiecewiseLinear`.
    class_hinge : bool
        Whether it is the hinge of all classes at once, or that of the perceptron.
    power : bool
        Whether it is a power of |y − f|, whose curvature may be infinite at 0.
    weighted_least_squares, weighted_hinge : bool
        Whether a squared error, or a hinge, with a weight for each row lies above it and touches it.
    suits_newton : bool
        Whether the quadratic model of Newton's method suits it: its curvature is finite, and no majorizer is better.
    infimum_at_infinity : bool
        Whether a row's infimum is approached at infinite predictions only, so that the optimum may be at infinity.
    joint_form : bool
        Whether the objective is jointly convex in the coefficients and in the scale that is estimated.
    """

    targets: ClassVar[str] = "numbers"
    link: ClassVar[str] = "identity"
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    likelihood: ClassVar[bool] = False
    compiled_slope: ClassVar[str] = ""
    cuts: ClassVar[bool] = False
    residual: ClassVar[bool] = False
    is_squared: ClassVar[bool] = False
    piecewise_linear: ClassVar[bool] = False
    class_hinge: ClassVar[bool] = False
    power: ClassVar[bool] = False
    weighted_least_squares: ClassVar[bool] = False
    weighted_hinge: ClassVar[bool] = False
    suits_newton: ClassVar[bool] = True
    infimum_at_infinity: ClassVar[bool] = False
    joint_form: ClassVar[bool] = False

    @property
    def estimates_scale(self) -> bool:
        """Whether the loss has a scale that is estimated together with the coefficients."""
        return False

    @property
    def has_margin(self) -> bool:
        """Whether rows beyond a margin of 1 on the right side have no loss, as with the hinge."""
        return False

    @property
    def zero_is_optimal(self) -> bool:
        """Whether predictions of zero are a minimum, whatever the targets."""
        return False

    def simplified(self) -> "Loss":
        """The same loss, written as the simplest member that equals it."""
        return self

    @abstractmethod
    def value(self, y: Floats, f: Floats) -> Floats:
        """loss(y, f) for each row."""

    @abstractmethod
    def gradient(self, y: Floats, f: Floats) -> Floats:
        """∂ loss / ∂ f; one of the subgradients where there is none."""

    @abstractmethod
    def curvature(self, y: Floats, f: Floats) -> Floats:
        """∂² loss / ∂ f²; for k columns the k × k matrix of each row."""

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        """sup over f of u f − loss(y, f): what duality gaps are made of; infinite outside its domain."""
        raise TypeError(f"{type(self).__name__} is not convex, so duality says nothing of it.")

    def slopes(self, y: Floats) -> tuple[Floats, Floats]:
        """The ends of the conjugate's domain for each row of one output: the least and the largest slope in f."""
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)

    def young(self, y: Floats, f: Floats, u: Floats) -> Floats:
        """loss(y, f) + conjugate(y, u) − u f of each row: at least 0, and 0 where u is a slope at f (Fenchel–Young)."""
        if self.residual:
            f, y = f - y, np.zeros_like(y)
        product = (u * f).sum(axis=1) if f.ndim == 2 else u * f
        return self.value(y, f) + self.conjugate(y, u) - product

    def envelope(self, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        """The Moreau envelope min over x of loss(y, x) + ‖x − f‖² / (2 step): value, gradient and curvature in f.

        It is smooth for every convex loss, and its gradient is a slope of the loss at the minimising x.
        """
        envelope = joint_envelope if f.ndim == 2 else scalar_envelope
        return envelope(self, y, f, step)

    def value_and_gradient(self, y: Floats, f: Floats) -> tuple[Floats, Floats]:
        """Value and gradient at once, where work can be shared."""
        return self.value(y, f), self.gradient(y, f)

    def all(self, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Value, gradient and curvature at once, where work can be shared."""
        return *self.value_and_gradient(y, f), self.curvature(y, f)

    def summed(self, y: Floats, f: Floats, w: Floats | None, curved: bool) -> tuple[Any, Any, Floats, Floats | None]:
        """Σ w value, Σ w |gradient|, and the gradients and curvatures times w, for f of one output.

        f is (n,), or (M, n) for M models at once, which have a sum each.
        """
        if curved:
            value, g, h = self.all(y, f)
        else:
            (value, g), h = self.value_and_gradient(y, f), None
        if w is None:
            return value.sum(axis=-1), np.abs(g).sum(axis=-1), g, h
        g = g * w
        return value @ w, np.abs(g).sum(axis=-1), g, None if h is None else h * w

    def swept(self, X: Any, y: Floats, w: Floats | None, coef: Floats, offset: Floats) -> tuple[Any, ...]:
        """Of M models coef (M, d) and offset (M,): Σ w value, Σ w |gradient|, Σ g xᵀ (M, d) and Σ g, with g times w."""
        f = np.asarray((X @ coef.T).T if issparse(X) else coef @ X.T, order="C")
        f += offset[:, None]
        values, sizes, g, _ = self.summed(y, f, w, False)
        return values, sizes, np.asarray((X.T @ g.T).T if issparse(X) else g @ X), g.sum(axis=1)

    def stacked(self, y: Floats, f: Floats, w: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Of M models of several outputs, f (M, k, n): Σ w value, Σ w |gradient|, and the gradients times w."""
        found = [self.value_and_gradient(y, one.T) for one in f]
        values, g = np.stack([value for value, _ in found]), np.stack([g.T for _, g in found])
        if w is not None:
            values, g = values * w, g * w
        return values.sum(axis=1), np.abs(g).sum(axis=(1, 2)), g

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

    @abstractmethod
    def scale_terms(self, y: Floats, f: Floats) -> Floats:
        """What has a mean of 1 over the rows at the scale that is estimated: u² of normal noise, bounded."""

    def refuse(self, low: float, high: float) -> None:
        super().refuse(low, high)
        reach = max(abs(low), abs(high))
        if reach and not 1e-100 <= reach <= 1e100:
            raise ValueError(
                f"y reaches {reach:g}, whose squares are beyond the range of numbers: divide y by {reach:.0e} before a "
                f"fit with the {type(self).__name__} loss."
            )

    @property
    def estimates_scale(self) -> bool:
        return self.scale is None

    @property
    def unit(self) -> float:
        return 1.0 if self.scale is None else float(self.scale)


class PiecewiseLinear(Loss):
    """max(low · (f − at), high · (f − at)): two slopes and a breakpoint, given by `breakpoint`."""

    smooth: ClassVar[bool] = False
    piecewise_linear: ClassVar[bool] = True
    compiled_slope: ClassVar[str] = "piecewise_linear"

    @abstractmethod
    def breakpoint(self, y: Floats) -> tuple[Floats, Floats, Floats]:
        """(at, low, high) of each row."""

    def value(self, y: Floats, f: Floats) -> Floats:
        at, low, high = self.breakpoint(y)
        return np.maximum(low * (f - at), high * (f - at))

    def gradient(self, y: Floats, f: Floats) -> Floats:
        at, low, high = self.breakpoint(y)
        return np.where(f > at, high, np.where(f < at, low, (low + high) / 2.0))

    def curvature(self, y: Floats, f: Floats) -> Floats:
        return np.zeros_like(f)

    def conjugate(self, y: Floats, u: Floats) -> Floats:
        at, low, high = self.breakpoint(y)
        return np.where((u >= low) & (u <= high), u * at, np.inf)

    def slopes(self, y: Floats) -> tuple[Floats, Floats]:
        _, low, high = self.breakpoint(y)
        return low, high

    def young(self, y: Floats, f: Floats, u: Floats) -> Floats:
        at, low, high = self.breakpoint(y)
        return np.where(f > at, (high - u) * (f - at), (u - low) * (at - f))

    def envelope(self, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
        at, low, high = self.breakpoint(y)
        free = (f - at) / step
        slope = np.clip(free, low, high)
        inside = (free > low) & (free < high)
        return slope * (f - at) - 0.5 * step * slope**2, slope, np.where(inside, 1.0 / step, 0.0)
