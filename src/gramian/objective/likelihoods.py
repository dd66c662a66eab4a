"""Likelihoods: losses read as −log densities of the target. Adding one is one frozen class here."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln

from gramian._core.types import Floats
from gramian.objective import losses
from gramian.objective.losses.base import Loss


class Likelihood(ABC):
    """p(y | f), how the target scatters about the prediction f: −log p = loss(y, f) / unit + rest(y).

    Attributes
    ----------
    targets : "numbers", "counts", "signs" or "classes"
        As in `gm.losses`.
    free : bool
        Whether it has a scale that is to be estimated.
    unit : float
        What the loss is divided by.
    """

    targets: ClassVar[str] = "numbers"

    @abstractmethod
    def loss(self) -> Loss:
        """The loss of `gm.losses` whose fit is the most likely one."""

    @property
    def free(self) -> bool:
        return False

    @property
    def unit(self) -> float:
        return 1.0

    def rest(self, y: Floats) -> Floats:
        """What −log p has beside the loss; the same for every f."""
        return np.zeros(y.shape)

    def at(self, scale: float) -> Self:
        """The likelihood with this scale, where it has one."""
        raise ValueError(f"{self!r} has no scale, and {scale!r} was given for one: leave it out.")

    def log_density(self, y: Any, f: Any, scale: float | None = None) -> Floats:
        """log p(y | f) of each row, at the scale given or at its own."""
        y, f = np.asarray(y, dtype=np.float64), np.asarray(f, dtype=np.float64)
        known = self if scale is None else self.at(scale)
        if known.free:
            raise ValueError(f"{self!r} has no scale yet: give one, as in log_density(y, f, scale).")
        return -known.loss().value(y, f) / known.unit - known.rest(y)


class Scaled(Likelihood):
    """A density of (y − f) / scale, its scale given or estimated together with the coefficients."""

    scale: float | None

    def __post_init__(self) -> None:
        if self.scale is not None:
            positive("scale", self.scale, "or None to have it estimated")

    @property
    def free(self) -> bool:
        return self.scale is None

    def at(self, scale: float) -> Self:
        return replace(self, scale=scale)  # type: ignore[type-var]

    @property
    def width(self) -> float:
        """The scale as a number, 1 where it is not known."""
        return 1.0 if self.scale is None else float(self.scale)

    def likeliest(self, mean_loss: float) -> float:
        """The scale that makes rows of this mean loss most likely."""
        raise TypeError(f"The solver of {type(self).__name__} estimates the scale together with the coefficients.")


@dataclass(frozen=True)
class Gaussian(Scaled):
    """y ~ Normal(f, scale²): squared loss over 2 scale².

    Parameters
    ----------
    scale : float, optional
        Standard deviation σ of the noise; None estimates it.

    Examples
    --------
    >>> Gaussian(2.0).log_density([3.0], [1.0]).round(4)
    array([-2.1121])
    """

    scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.unit < np.inf:
            raise ValueError(f"scale is {self.scale!r}; its square is beyond the float range: give y another unit.")

    def loss(self) -> Loss:
        return losses.Squared()

    @property
    def unit(self) -> float:
        return 2.0 * self.width * self.width

    def rest(self, y: Floats) -> Floats:
        return np.full(y.shape, np.log(self.width) + 0.5 * np.log(2.0 * np.pi))

    def likeliest(self, mean_loss: float) -> float:
        return float(np.sqrt(mean_loss))


@dataclass(frozen=True)
class Laplace(Scaled):
    """Density exp(−|y − f| / scale) / (2 scale): absolute loss over the scale, the median.

    Parameters
    ----------
    scale : float, optional
        b, the mean absolute deviation; None estimates it.

    Examples
    --------
    >>> Laplace(1.0).log_density([0.0], [0.0]).round(4)
    array([-0.6931])
    """

    scale: float | None = None

    def loss(self) -> Loss:
        return losses.Absolute()

    @property
    def unit(self) -> float:
        return self.width

    def rest(self, y: Floats) -> Floats:
        return np.full(y.shape, np.log(2.0) + np.log(self.width))

    def likeliest(self, mean_loss: float) -> float:
        return float(mean_loss)


@dataclass(frozen=True)
class StudentT(Scaled):
    """(y − f) / scale has Student's t distribution with nu degrees of freedom: heavy tails, outliers hardly count.

    Parameters
    ----------
    nu : float
        Degrees of freedom above 0; 1 is Cauchy's distribution.
    scale : float, optional
        None estimates it.

    Examples
    --------
    >>> StudentT(1.0, 1.0).log_density([0.0], [0.0]).round(4)  # Cauchy: −log π
    array([-1.1447])
    """

    nu: float = 4.0
    scale: float | None = None

    def __post_init__(self) -> None:
        positive("nu", self.nu)
        super().__post_init__()

    def loss(self) -> Loss:
        return losses.StudentT(float(self.nu), None if self.scale is None else float(self.scale))


@dataclass(frozen=True)
class Poisson(Likelihood):
    """Counts y ~ Poisson(exp(f)).

    Examples
    --------
    >>> Poisson().log_density([2.0], [0.0]).round(4)  # −1 − log 2
    array([-1.6931])
    """

    targets: ClassVar[str] = "counts"

    def loss(self) -> Loss:
        return losses.Poisson()

    def rest(self, y: Floats) -> Floats:
        return np.where(y < 0, np.inf, gammaln(np.maximum(y, 0.0) + 1.0))


@dataclass(frozen=True)
class Bernoulli(Likelihood):
    """Two classes, the second with probability 1 / (1 + exp(−f)): logistic loss.

    In `log_density`, y is 1 for the second class and 0 or −1 for the first.

    Examples
    --------
    >>> Bernoulli().log_density([1.0], [0.0]).round(4)
    array([-0.6931])
    """

    targets: ClassVar[str] = "signs"

    def loss(self) -> Loss:
        return losses.Logistic()

    def log_density(self, y: Any, f: Any, scale: float | None = None) -> Floats:
        return super().log_density(np.where(np.asarray(y) > 0, 1.0, -1.0), f, scale)


@dataclass(frozen=True)
class Categorical(Likelihood):
    """k classes with probabilities ∝ exp(f), one column of f a class: the softmax loss.

    In `log_density`, y is the number of the class, 0 … k − 1.

    Examples
    --------
    >>> Categorical().log_density([2], [[0.0, 0.0, 0.0]]).round(4)
    array([-1.0986])
    """

    targets: ClassVar[str] = "classes"

    def loss(self) -> Loss:
        return losses.Softmax()


def positive(name: str, value: Any, more: str = "") -> None:
    """Refuse what is not a finite number above 0."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 < value < np.inf:
        raise ValueError(f"{name} is {value!r}; it must be a number above 0{', ' + more if more else ''}.")


__all__ = ["Bernoulli", "Categorical", "Gaussian", "Laplace", "Likelihood", "Poisson", "StudentT"]
