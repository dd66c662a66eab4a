"""Penalties that are concave in the size of every coefficient: exact zeros, and large coefficients not shrunk."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Self

import numpy as np

from gramian._core.types import Floats
from gramian.objective.penalties.base import Separable
from gramian.objective.penalties.norms import Zero


class FoldedConcave(Separable):
    """Σ scale · p(|w| / scale), p piecewise quadratic, with a slope that falls from 1 at zero to 0.

    `knots` has the places between which the slope of p is linear, 0 first, and the slopes there, 1 first and 0 last.
    A scale of None is alpha / 2, so that a change of the data's units changes alpha alone.
    """

    convex: ClassVar[bool] = False
    scale: float | None

    @abstractmethod
    def knots(self) -> tuple[Floats, Floats]:
        """Places, from 0 up, and the slope of p at each."""

    def at(self, alpha: float) -> Self:
        return replace(self, scale=alpha / 2.0) if self.scale is None and alpha > 0 else self  # type: ignore[type-var]

    @property
    def unit(self) -> float:
        """The scale, 1 before alpha is known."""
        return 1.0 if self.scale is None else float(self.scale)

    @property
    def weak_convexity(self) -> float:
        places, slopes = self.knots()
        return max(0.0, float((-np.diff(slopes) / np.diff(places)).max())) / self.unit

    def slope(self, w: Floats) -> Floats:
        return np.asarray(np.interp(np.abs(w) / self.unit, *self.knots()), dtype=np.float64)

    def value(self, w: Floats) -> float:
        return self.unit * float(self._height(np.abs(w) / self.unit).sum())

    def _height(self, x: Floats) -> Floats:
        """p(x): the integral of the slope from 0 to x."""
        places, slopes = self.knots()
        heights = np.append(0.0, np.cumsum(np.diff(places) * (slopes[1:] + slopes[:-1]) / 2.0))
        at = np.searchsorted(places, x, side="right") - 1
        return np.asarray(heights[at] + (x - places[at]) * (slopes[at] + np.interp(x, places, slopes)) / 2.0)

    def prox(self, w: Floats, step: float) -> Floats:
        """The least of ½ (u − w)² + step · penalty(u) over the knots and the stationary points between them."""
        x, step = np.abs(w) / self.unit, step / self.unit
        places, slopes = self.knots()
        choices = [np.full_like(x, place) for place in places] + [np.maximum(x, places[-1])]
        for low, high, first, last in zip(places, places[1:], slopes, slopes[1:], strict=False):
            curvature = 1.0 + step * (last - first) / (high - low)
            if curvature > 0.0:
                choices.append(np.clip((x - step * first - (1.0 - curvature) * low) / curvature, low, high))
        u = np.stack(choices)
        cost = 0.5 * (u - x) ** 2 + step * self._height(u)
        return np.asarray(np.copysign(u[cost.argmin(axis=0), np.arange(len(x))], w) * self.unit)

    def peak(self, u: Floats) -> Floats:
        return Zero().peak(u)


@dataclass(frozen=True)
class MCP(FoldedConcave):
    """Minimax concave penalty (Zhang 2010): |w| − w² / (2 gamma scale) up to gamma · scale, gamma scale / 2 beyond.

    Exact zeros as with L1, and large coefficients that are not shrunk. Not convex: a fit is a stationary point, found
    from the lasso's solution, and no worse than it. Standardise columns, as coefficients share one scale.

    Parameters
    ----------
    gamma : float
        Above 0; the larger, the nearer to L1.
    scale : float or None
        The unit of the coefficients; None is alpha / 2.

    Notes
    -----
    With scale=None the squared loss + alpha · penalty is twice the literature's ½ · squared loss + p_λ,γ, with
    λ = alpha / 2 and γ = gamma. Likelihoods the literature does not halve: their p_λ,γ is MCP(γ, scale=λ) at
    alpha = λ, or MCP(2 γ) at every alpha.

    Examples
    --------
    >>> import numpy as np
    >>> MCP().value(np.array([1.0, -10.0])), MCP().prox(np.array([0.5, 1.5, 10.0]), 1.0)
    (2.3333333333333335, array([ 0.  ,  0.75, 10.  ]))
    """

    gamma: float = 3.0
    scale: float | None = None

    def __post_init__(self) -> None:
        _refuse_below(0.0, gamma=self.gamma, scale=self.scale)

    def knots(self) -> tuple[Floats, Floats]:
        return np.array([0.0, self.gamma]), np.array([1.0, 0.0])


@dataclass(frozen=True)
class SCAD(FoldedConcave):
    """Smoothly clipped absolute deviation (Fan and Li 2001): |w| up to scale, then concave, constant from a · scale on.

    Between scale and a · scale it is (2 a |w| − w² / scale − scale) / (2 (a − 1)), beyond (a + 1) scale / 2. Not
    convex: a fit is a stationary point, found from the lasso's solution, and no worse than it.

    Parameters
    ----------
    a : float
        Above 1; the larger, the nearer to L1.
    scale : float or None
        The unit of the coefficients; None is alpha / 2.

    Notes
    -----
    With scale=None the squared loss + alpha · penalty is twice the literature's ½ · squared loss + p_λ, with
    λ = alpha / 2 and the same a. Likelihoods the literature does not halve: their p_λ is SCAD(a, scale=λ) at alpha = λ.

    Examples
    --------
    >>> import numpy as np
    >>> SCAD().value(np.array([1.0, -10.0])), SCAD().prox(np.array([0.5, 1.5, 10.0]), 1.0)
    (3.35, array([ 0. ,  0.5, 10. ]))
    """

    a: float = 3.7
    scale: float | None = None

    def __post_init__(self) -> None:
        _refuse_below(1.0, a=self.a)
        _refuse_below(0.0, scale=self.scale)

    def knots(self) -> tuple[Floats, Floats]:
        return np.array([0.0, 1.0, self.a]), np.array([1.0, 1.0, 0.0])


def _refuse_below(least: float, **values: object) -> None:
    for name, value in values.items():
        if value is not None and not (isinstance(value, Real) and least < float(value) < np.inf):
            raise ValueError(f"{name} is {value!r}; it must be a number above {least:g}.")
