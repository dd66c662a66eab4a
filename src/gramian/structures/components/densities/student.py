"""Student's t density: heavy tails, so that the fit is robust to outliers."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, polygamma, psi

from gramian._core import validation
from gramian._core.types import Floats, Matrix, Table
from gramian.rows import Rows
from gramian.structures.components.base import ProbabilityDensity, total_over
from gramian.structures.components.densities.covariance import factor, floored, log_volume, units, whitened
from gramian.structures.components.densities.gaussian import column_moments
from gramian.structures.components.geometry import Geometry
from gramian.structures.loop.multipass import PassRequest, run_request
from gramian.structures.loop.sufficient_statistics import Scatter

MAX_EM_STEPS, MIN_DECREASE = 1000, 1e-13
INITIAL_NU, MIN_NU, MAX_NU = 8.0, 0.2, 1000.0  # degrees of freedom where they are estimated
MAX_NEWTON_STEPS = 3  # for them in one refit


@dataclass(eq=False)
class StudentT(ProbabilityDensity):
    """Student's t density with nu degrees of freedom; its loss is −log of the density.

    A refit is an EM step: a row has the weight (nu + d)/(nu + δ²), δ its Mahalanobis distance, so that outliers count
    for little. With nu="auto" Newton steps in log nu follow, each from one pass; steps that do not raise the likelihood
    are halved.

    Parameters
    ----------
    nu : float or "auto"
        Degrees of freedom: 1 is the Cauchy density, large ones are nearly normal; "auto" estimates them between 0.2
        and 1000.
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
        Directions whose squared scale was raised to the least one.

    Examples
    --------
    >>> StudentT(2.0).fit([[0.0], [1.0], [2.0], [50.0]]).mean_.round(2)
    array([1.05])
    """

    nu: float | str = 4.0
    regularization: float = 1e-6
    noun: ClassVar[tuple[str, str]] = ("t-density", "t-densities")

    def check(self, d: int) -> None:
        if isinstance(self.nu, str):
            if self.nu != "auto":
                raise ValueError(f'nu is {self.nu!r}; it must be "auto" or a number above 0.')
        else:
            validation.number("nu", self.nu, low=0.0, open_low=True)
        validation.number("regularization", self.regularization, low=0.0, open_low=True)

    def scatter_matrix(self) -> Floats:
        return self.scale_

    def geometry(self) -> Geometry:
        covariance = self.covariance_
        return Geometry(self.location, covariance=covariance if np.isfinite(covariance).all() else self.scale_)

    def sampled(self, noise: Floats, rng: np.random.Generator) -> Floats:
        chi = np.sqrt(rng.chisquare(self.nu_, len(noise)) / self.nu_)
        return np.asarray(self.mean_ + noise @ np.linalg.cholesky(self.scale_).T / chi[:, None])

    def _mahalanobis(self, X: Floats) -> Floats:
        y = whitened(X - self.mean_, self._root)
        return np.einsum("ij,ij->i", y, y)

    def loss(self, X: Matrix) -> Floats:
        d, nu = X.shape[1], self.nu_
        constant = gammaln(0.5 * nu) - gammaln(0.5 * (nu + d)) + 0.5 * d * np.log(np.pi * nu)
        return constant + log_volume(self._root, d) + 0.5 * (nu + d) * np.log1p(self._mahalanobis(X) / nu)

    def log_density(self, X: Table) -> Floats:
        """log t(x; nu, mean, scale) of every row."""
        return super().log_density(X)

    def statistics(self, X: Matrix, weight: Floats) -> Scatter:
        if not self.is_fitted:
            return Scatter.of(X, weight)
        nu = self.nu_
        return Scatter.of(X, weight * ((nu + X.shape[1]) / (nu + self._mahalanobis(X))), mass=float(weight.sum()))

    @property
    def _initial_nu(self) -> float:
        return INITIAL_NU if self.nu == "auto" else float(self.nu)

    def pass_requests(self, max_passes: int | None = None) -> PassRequest[Any]:
        nu, estimates_nu = (self.nu_, self.nu == "auto") if self.is_fitted else (self._initial_nu, False)
        scatter = yield self.statistics
        scale, n_floored = floored(scatter.cross / scatter.mass, "full", self._unit, self.regularization)
        if estimates_nu:
            nu = yield from _degrees_of_freedom(scatter.mean, factor(scale), scatter.mass, nu)
        return scatter.mean, scale, n_floored, nu

    def _update(self, estimate: Any) -> None:
        self.mean_, self.scale_, self.regularized_, self.nu_ = estimate
        self._root = factor(self.scale_)

    @property
    def covariance_(self) -> Floats:
        nu = self.nu_
        return self.scale_ * (nu / (nu - 2.0)) if nu > 2 else np.full_like(self.scale_, np.inf)

    def _fit_alone(self, rows: Rows) -> None:
        weight, mean, variance = column_moments(rows)
        self._unit = units(mean, variance)
        value, total = np.inf, total_over(rows)
        for _ in range(MAX_EM_STEPS):
            self._update(run_request(self.pass_requests(), total))
            new = float(total(lambda X, weight: float(weight @ self.loss(X))))
            if value - new <= MIN_DECREASE * weight[0]:  # absolute: units change the likelihood by a constant
                break
            value = new

    def given(self, mean: Any, scale: Any, nu: float | None = None) -> "StudentT":
        """A copy with this mean, scatter matrix and degrees of freedom, as the initial value of a model."""
        nu = self._initial_nu if nu is None else float(nu)
        return self.refitted((np.array(mean, dtype=np.float64), np.array(scale, dtype=np.float64), 0, nu))

    def n_parameters(self, d: int) -> int:
        return d + d * (d + 1) // 2 + int(self.nu == "auto")


def _tail_sums(mean: Floats, root: Floats, nu: float, X: Floats, weight: Floats) -> Floats:
    """The sums over rows in the likelihood and its derivatives in nu."""
    y = whitened(X - mean, root)
    squares = np.einsum("ij,ij->i", y, y)
    share = squares / (nu + squares)
    return np.array([weight @ np.log1p(squares / nu), weight @ share, weight @ (share * (2.0 - share))])


def _likelihood(sums: Floats, mass: float, nu: float, d: int) -> tuple[float, float, float]:
    """−log likelihood less terms without nu, and its first two derivatives in log nu."""
    logs, shares, squares = sums
    a, b = 0.5 * nu, 0.5 * (nu + d)
    value = mass * float(gammaln(a) - gammaln(b) + 0.5 * d * np.log(nu)) + b * logs
    first = mass * 0.5 * float(psi(a) - psi(b) + d / nu) + 0.5 * logs - b * shares / nu
    second = (
        mass * 0.25 * float(polygamma(1, a) - polygamma(1, b) - 2.0 * d / nu**2) - shares / nu + b * squares / nu**2
    )
    return value, nu * first, nu**2 * second + nu * first


def _degrees_of_freedom(mean: Floats, root: Floats, mass: float, nu: float) -> PassRequest[float]:
    """Degrees of freedom after a few damped Newton steps, which never lower the likelihood."""
    d = len(mean)
    value, first, second = _likelihood((yield partial(_tail_sums, mean, root, nu)), mass, nu, d)
    step = 0.0
    for trial in range(MAX_NEWTON_STEPS):
        step = 0.5 * step if trial and step else _newton_step(first, second)
        new = float(np.clip(nu * np.exp(step), MIN_NU, MAX_NU))
        if new == nu or abs(first * step) <= MIN_DECREASE * abs(value):
            break
        likelihood = _likelihood((yield partial(_tail_sums, mean, root, new)), mass, new, d)
        if likelihood[0] <= value:
            nu, (value, first, second), step = new, likelihood, 0.0
    return nu


def _newton_step(first: float, second: float) -> float:
    """A bounded descent step in log nu."""
    return float(np.clip(-first / second if second > 0 else -np.sign(first), -1.5, 1.5))
