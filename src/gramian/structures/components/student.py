"""Student's t density: a normal one with long tails, so that rows far away count for less."""

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi

from gramian._core import validation
from gramian.rows import Rows
from gramian.structures.components.base import Structure, dense, weights
from gramian.structures.components.covariance import factor, floored, log_volume, units, whitened
from gramian.structures.components.gaussian import column_moments
from gramian.structures.loop.multipass import PassRequest, answered
from gramian.structures.loop.sufficient_statistics import Scatter

Floats = NDArray[np.float64]
ROUNDS, SETTLED = 1000, 1e-13
FIRST, LOWEST, HIGHEST = 8.0, 0.2, 1000.0  # degrees of freedom to start from, and between which they are estimated
NEWTON = 3  # steps for them in one refit


@dataclass(eq=False)
class StudentT(Structure):
    """Student's t density with nu degrees of freedom; its loss is −log of the density.

    A refit weighs a row by (nu + d)/(nu + δ²), δ its distance in units of the scale: what is far counts for little.
    With nu="auto" it then takes Newton steps in log nu, each from one pass, of which those that raise the likelihood
    are kept.

    Parameters
    ----------
    nu : float or "auto"
        Degrees of freedom: 1 has the longest tails in use, large ones are normal; "auto" estimates them between 0.2
        and 1000, the last of which stands for a normal density.
    regularization : float
        The least squared scale in any direction, in units of the variances of the columns.

    Attributes
    ----------
    mean_ : array (d,)
        The centre.
    scale_ : array (d, d)
        The scatter matrix of the density.
    nu_ : float
        Degrees of freedom, given or estimated.
    covariance_ : array (d, d)
        scale_ · nu/(nu − 2); infinite for nu ≤ 2.
    regularized_ : int
        Directions in which the least scale was put in place of a smaller one.

    Examples
    --------
    >>> StudentT(2.0).fit([[0.0], [1.0], [2.0], [50.0]]).mean_.round(2)
    array([1.05])
    """

    nu: Any = 4.0
    regularization: float = 1e-6
    density: ClassVar[bool] = True
    grows: ClassVar[str] = "part"
    _learned: ClassVar[str] = "mean_"

    def check(self, d: int) -> None:
        if isinstance(self.nu, str) and self.nu != "auto":
            raise ValueError(f'nu is {self.nu!r}; it must be "auto" or a number above 0.')
        if not isinstance(self.nu, str):
            validation.number("nu", self.nu, low=0.0, open_low=True)
        validation.number("regularization", self.regularization, low=0.0, open_low=True)

    def prepared(self, spread: Floats) -> "StudentT":
        found = copy(self)
        found._unit = spread
        return found

    def _mahalanobis(self, X: Floats) -> Floats:
        y = whitened(X - self.mean_, self._root)
        return np.einsum("ij,ij->i", y, y)

    def loss(self, X: Any) -> Floats:
        d, nu = X.shape[1], self.nu_
        constant = gammaln(0.5 * nu) - gammaln(0.5 * (nu + d)) + 0.5 * d * np.log(np.pi * nu)
        return constant + log_volume(self._root, d) + 0.5 * (nu + d) * np.log1p(self._mahalanobis(X) / nu)

    def log_density(self, X: Any) -> Floats:
        """log t(x; nu, mean, scale) of every row."""
        return -self._each(X, self.loss)

    def distance(self, X: Any) -> Floats:
        """Euclidean distance of every row from the mean."""
        return super().distance(X)

    def _squares(self, X: Any) -> Floats:
        away = X - self.mean_
        return np.einsum("ij,ij->i", away, away)

    def gather(self, X: Any, weight: Floats) -> Scatter:
        if not hasattr(self, "mean_"):
            return Scatter.of(X, weight)
        nu = self.nu_
        return Scatter.of(X, weight * ((nu + X.shape[1]) / (nu + self._mahalanobis(X))), mass=float(weight.sum()))

    def learning(self, passes: int | None = None) -> PassRequest[Any]:
        found = yield self.gather
        scale, clipped = floored(found.cross / found.mass, "full", self._unit, self.regularization)
        nu = getattr(self, "nu_", FIRST if self.nu == "auto" else float(self.nu))
        if self.nu == "auto" and hasattr(self, "mean_"):
            nu = yield from _freedom(found.mean, factor(scale), found.mass, nu)
        return found.mean, scale, clipped, nu

    def _learn(self, summary: Any) -> None:
        self.mean_, self.scale_, self.regularized_, self.nu_ = summary
        self._root = factor(self.scale_)

    @property
    def covariance_(self) -> Floats:
        nu = self.nu_
        return self.scale_ * (nu / (nu - 2.0)) if nu > 2 else np.full_like(self.scale_, np.inf)

    def _fit_alone(self, rows: Rows) -> None:
        weight, mean, variance = column_moments(rows)
        self._unit = units(mean, variance)
        if hasattr(self, "mean_"):
            del self.mean_, self.nu_
        value = np.inf

        def ask(question: Any) -> Any:
            return rows.sum(lambda block: question(dense(block.X), weights(block)))

        for _ in range(ROUNDS):
            self._learn(answered(self.learning(), ask))
            total = rows.sum(lambda block: float(weights(block) @ self.loss(dense(block.X))))
            if value - total <= SETTLED * weight[0]:  # whatever the units, which the likelihood depends on
                break
            value = total

    def given(self, mean: Any, scale: Any, nu: float | None = None) -> "StudentT":
        """A copy with this mean, scatter matrix and degrees of freedom, as a start for a model."""
        known = (FIRST if self.nu == "auto" else float(self.nu)) if nu is None else float(nu)
        return self.refitted((np.array(mean, dtype=np.float64), np.array(scale, dtype=np.float64), 0, known))

    def through(self, x: Floats) -> "StudentT":
        found = copy(self)
        found.mean_ = np.array(x, dtype=np.float64)
        return found

    def parameters(self, d: int) -> int:
        return d + d * (d + 1) // 2 + int(self.nu == "auto")


def _tails(mean: Floats, root: Floats, nu: float, X: Floats, weight: Floats) -> Floats:
    """What the likelihood and its derivatives in nu add up."""
    y = whitened(X - mean, root)
    far = np.einsum("ij,ij->i", y, y)
    share = far / (nu + far)
    return np.array([weight @ np.log1p(far / nu), weight @ share, weight @ (share * (2.0 - share))])


def _likelihood(sums: Floats, mass: float, nu: float, d: int) -> tuple[float, float, float]:
    """−log likelihood up to what does not depend on nu, and its first two derivatives in log nu."""
    logs, shares, squares = sums
    a, b = 0.5 * nu, 0.5 * (nu + d)
    value = mass * float(gammaln(a) - gammaln(b) + 0.5 * d * np.log(nu)) + b * logs
    first = mass * 0.5 * float(psi(a) - psi(b) + d / nu) + 0.5 * logs - b * shares / nu
    second = (
        mass * 0.25 * float(polygamma(1, a) - polygamma(1, b) - 2.0 * d / nu**2) - shares / nu + b * squares / nu**2
    )
    return value, nu * first, nu**2 * second + nu * first


def _freedom(mean: Floats, root: Floats, mass: float, nu: float) -> PassRequest[float]:
    """Degrees of freedom a few Newton steps on, never less likely than those given."""
    d = len(mean)
    value, first, second = _likelihood((yield partial(_tails, mean, root, nu)), mass, nu, d)
    step = 0.0
    for trial in range(NEWTON):
        step = 0.5 * step if trial and step else _newton(first, second)
        there = float(np.clip(nu * np.exp(step), LOWEST, HIGHEST))
        if there == nu or abs(first * step) <= SETTLED * abs(value):
            break
        found = _likelihood((yield partial(_tails, mean, root, there)), mass, there, d)
        if found[0] <= value:
            nu, (value, first, second), step = there, found, 0.0
    return nu


def _newton(first: float, second: float) -> float:
    """A step in log nu, downhill and not too long."""
    return float(np.clip(-first / second if second > 0 else -np.sign(first), -1.5, 1.5))
