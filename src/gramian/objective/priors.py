"""Priors: penalties read as −log densities of the coefficients. Adding one is one frozen class here."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.objective import penalties
from gramian.objective.likelihoods import positive
from gramian.objective.penalties import Penalty

NEEDED = "for the most probable scale of a prior is 0: choose it by cross-validation, or give what is known"


class Prior(ABC):
    """p(c), what is believed of each coefficient before the data: −log p = strength · penalty(c) + a constant."""

    @abstractmethod
    def penalty(self) -> Penalty:
        """The penalty of `gm.penalties`."""

    @property
    @abstractmethod
    def strength(self) -> float:
        """What the penalty is multiplied by in −log p."""

    @abstractmethod
    def log_density(self, coef: Any) -> Floats:
        """log p of each coefficient."""

    def alpha(self, unit: float, weight: float) -> float:
        """alpha of the objective, for rows of this total weight whose −log likelihood is loss / unit.

        The mean loss plus alpha · penalty is −log posterior times unit / weight.
        """
        with np.errstate(over="ignore"):
            alpha = float(np.float64(self.strength) * unit / weight)
        if not np.isfinite(alpha):
            raise ValueError(
                f"The prior {self!r} is so narrow beside the noise (unit {unit:.3g}) that its strength is beyond the "
                "float range: widen it, or give X and y other units."
            )
        return alpha


@dataclass(frozen=True)
class Normal(Prior):
    """Coefficients ~ Normal(0, scale²): a squared penalty, ridge with alpha = σ² / (scale² n) under Gaussian noise σ.

    Parameters
    ----------
    scale : float
        Standard deviation.

    Examples
    --------
    >>> Normal(2.0).log_density([1.0]).round(4), Normal(2.0).alpha(unit=2.0, weight=10.0)
    (array([-1.7371]), 0.025)
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        positive("scale", self.scale, NEEDED)

    def penalty(self) -> Penalty:
        return penalties.L2()

    @property
    def strength(self) -> float:
        with np.errstate(over="ignore"):
            return float(0.5 / np.float64(self.scale) / np.float64(self.scale))

    def log_density(self, coef: Any) -> Floats:
        u = np.asarray(coef, dtype=np.float64) / self.scale
        return -0.5 * u**2 - np.log(self.scale) - 0.5 * np.log(2.0 * np.pi)


@dataclass(frozen=True)
class Laplace(Prior):
    """Coefficients of density exp(−|c| / scale) / (2 scale): an absolute penalty, coefficients that are exactly zero.

    Parameters
    ----------
    scale : float
        b, the mean absolute coefficient.

    Examples
    --------
    >>> Laplace(0.5).log_density([0.0, 1.0])
    array([ 0., -2.])
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        positive("scale", self.scale, NEEDED)

    def penalty(self) -> Penalty:
        return penalties.L1()

    @property
    def strength(self) -> float:
        with np.errstate(over="ignore"):
            return float(1.0 / np.float64(self.scale))

    def log_density(self, coef: Any) -> Floats:
        return -np.abs(np.asarray(coef, dtype=np.float64)) / self.scale - np.log(2.0) - np.log(self.scale)


@dataclass(frozen=True)
class Flat(Prior):
    """Nothing is believed: no penalty, and the most probable coefficients are the most likely ones. Not a density.

    Examples
    --------
    >>> Flat().log_density([3.0])
    array([0.])
    """

    def penalty(self) -> Penalty:
        return penalties.Zero()

    @property
    def strength(self) -> float:
        return 0.0

    def log_density(self, coef: Any) -> Floats:
        return np.zeros(np.shape(coef))


__all__ = ["Flat", "Laplace", "Normal", "Prior"]
