"""Kernel ridge regression at one alpha: conjugate gradients, Cholesky or eigendecomposition, and its uncertainty."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtrit

from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.input import positive_definite
from gramian.kernels.lowrank.pivoted_cholesky import pivots
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.kernel.kernel_ridge import ConjugateGradients, Factor, KernelPath, Singular, dual_of

PANEL = 128  # rows of a block of the kernel matrix: it stays in the cache
TOLERANCE = 1e-9
STEPS_FROM = 4000  # rows from which conjugate gradients are tried before a Cholesky factor
STEPS_RANKS = ((64, 5.0), (500, 1.0))  # of factors, and what they may leave of k(x, x), in λ; the last preconditions
STEPS_SHARE = 130  # n / this many steps take less time than half of the factor
STEPS_REFINED, STEPS_TOLERANCE = 1e-12, 1e-11  # of y: left by steps that need no refinement; left by those that hold
MOST_TARGETS = 8


@dataclass(frozen=True, eq=False)
class KernelRidgeProblem:
    """(1/Σw) Σ w (y − b − Kβ)² + alpha βᵀKβ at rows of positive weight.

    Attributes
    ----------
    points : prepared points; index : array (n,)
        The rows of the data given that they are.
    Y : array (n, t); weight : array (n,)
    X : the data given, of n_rows rows, of which `points` were prepared
    """

    kernel: Kernel
    points: Any
    index: Ints
    Y: Floats
    weight: Floats
    intercept: bool
    X: Any
    n_rows: int

    @property
    def n(self) -> int:
        return len(self.index)

    @cached_property
    def scale(self) -> float:
        """The mean of k(x, x): alphas are of its size."""
        return float(self.kernel.diag(self.points).mean()) or 1.0

    def solve(self, alpha: float) -> "KernelRidgeSolution":
        """By the method that is the cheapest here."""
        K = self.kernel.upper(self.points)
        found = self._by_conjugate_gradients(K, alpha)
        if found is not None:
            return found
        factor: Any = Factor(K, self.weight, alpha)
        name, note = "Cholesky", ""
        if factor.failed:
            factor, name = Singular(self.kernel.matrix(self.points), self.weight, alpha), "eigendecomposition"
            note = "The kernel matrix has no Cholesky factor: the minimum-norm solution is taken."
        beta, b, value = self._refined(factor, alpha, *dual_of(factor, self.Y, self.intercept), above=0.0)
        info = SolverInfo(name, f"{self.n} rows: one factor of their kernel matrix")
        solution = KernelRidgeSolution(self, alpha, beta, b, self._certificate(value, note), info)
        solution.__dict__["factor"] = factor  # known already
        return solution

    def _certificate(self, value: float, note: str) -> Certificate:
        holds, convex = value <= TOLERANCE, positive_definite(self.kernel)
        return Certificate("gradient", value, TOLERANCE, holds, None, None, "rows", note=note, convex=convex)

    def _by_conjugate_gradients(self, K: Floats, alpha: float) -> "KernelRidgeSolution | None":
        """The solution where conjugate gradients are foreseen to be quicker than a factor, and were."""
        targets, lam = self.Y.shape[1] + int(self.intercept), alpha * float(self.weight.sum())
        if self.n < STEPS_FROM or lam <= 0 or targets > MOST_TARGETS:
            return None
        trace = float(self.kernel.diag(self.points).sum()) or 1.0
        unit = lam / (trace * float(self.weight.max()))
        F = np.empty((self.n, 0))
        for rank, most in STEPS_RANKS:
            landmarks, F = pivots(self.kernel, self.points, rank, tol=max(0.1 * unit, 1e-10))
            if landmarks.unexplained > most * unit * self.n:
                return None
        method = ConjugateGradients(K, F, self.weight, alpha, self.n // STEPS_SHARE)
        if method.failed:
            return None
        beta, b = dual_of(method, self.Y, self.intercept)
        if method.failed or not np.isfinite(beta).all():
            return None
        beta, b, value = self._refined(method, alpha, beta, b, above=STEPS_REFINED)
        if value > STEPS_TOLERANCE:
            return None
        reason = f"{self.n} rows: {method.taken} steps, preconditioned by a factor of rank {F.shape[1]}"
        info = SolverInfo("conjugate gradients", reason)
        return KernelRidgeSolution(self, alpha, beta, b, self._certificate(value, ""), info)

    def _refined(
        self, method: Any, alpha: float, beta: Floats, b: Floats, *, above: float
    ) -> tuple[Floats, Floats, float]:
        """β and b, after one step of refinement if their residual exceeds `above` of y; and the residual."""
        size = float(np.abs(self.Y).max()) or 1.0
        residual = self._residual(beta, b, alpha)
        if np.abs(residual).max() > above * size:
            again, shift = dual_of(method, residual, self.intercept)
            if np.isfinite(again).all():
                better = self._residual(beta + again, b + shift, alpha)
                if np.abs(better).max() < np.abs(residual).max():
                    beta, b, residual = beta + again, b + shift, better
        return beta, b, float(np.abs(residual).max()) / size

    def _residual(self, beta: Floats, b: Floats, alpha: float) -> Floats:
        """y − b − Kβ − λ D⁻¹ β: zero at the optimum."""
        lam = alpha * float(self.weight.sum())
        return self.Y - b - self.kernel.times(self.points, self.points, beta) - lam * beta / self.weight[:, None]


@dataclass(frozen=True, eq=False)
class KernelRidgeSolution:
    """β (n, t) and b (t,) with f(x) = b + Σ β_i k(x, x_i): the mean of a Gaussian process.

    Attributes
    ----------
    problem : KernelRidgeProblem
    alpha : float
    beta, b : array
    certificate, solver
    """

    problem: KernelRidgeProblem
    alpha: float
    beta: Floats
    b: Floats
    certificate: Certificate
    solver: SolverInfo

    @property
    def lam(self) -> float:
        """λ = alpha Σw, the variance of the noise in units of the process."""
        return self.alpha * float(self.problem.weight.sum())

    @cached_property
    def factor(self) -> Any:
        """A factor of K + λ D⁻¹, which intervals need: made when they are first asked for, if the fit needed none."""
        p = self.problem
        factor = Factor(p.kernel.upper(p.points), p.weight, self.alpha)
        return Singular(p.kernel.matrix(p.points), p.weight, self.alpha) if factor.failed else factor

    def fitted_values(self) -> Floats:
        """What is predicted of each row of the fit, (n, t)."""
        p = self.problem
        return p.kernel.times(p.points, p.points, self.beta) + self.b

    def loo_predictions(self) -> Floats:
        """What is predicted of each row by the model without it, (n, t)."""
        p = self.problem
        path = KernelPath(p.Y, p.weight, p.intercept, K=p.kernel.matrix(p.points))
        return np.asarray(p.Y - path.loo_residuals(np.array([self.alpha]))[0])

    @property
    def noise(self) -> Floats:
        """The variance of the noise (t,): λ times that of the process, by restricted maximum likelihood."""
        squares = (self.beta * (self.problem.Y - self.b)).sum(axis=0)
        return self.lam * np.maximum(squares, 0.0) / self.degrees_of_freedom

    @property
    def degrees_of_freedom(self) -> float:
        """What the intercept leaves; a row of weight 2 counts as two."""
        total = float(self.problem.weight.sum())
        return max(total - int(self.problem.intercept), min(total, 1.0))

    def half_width(self, points: Any, level: float, *, of_mean: bool) -> Floats:
        """Half of the intervals (n, t) of prepared points: the process is uncertain where no rows are nearby."""
        p = self.problem
        if self.lam == 0:
            raise ValueError("alpha=0 interpolates: there is no noise, and no interval. Give alpha above 0.")
        if p.weight.sum() <= int(p.intercept):
            raise ValueError(
                f"A total weight of {p.weight.sum():g} leaves no degrees of freedom for a prediction interval; "
                "weights count rows, so that they should sum to the number of rows."
            )
        diagonal = p.kernel.diag(points)
        ones = self.factor.half(np.ones((p.n, 1)))

        def panel(i: int) -> Floats:
            half = self.factor.half(p.kernel.block(p.points, points[i : i + PANEL]))
            variance = diagonal[i : i + PANEL] - (half**2).sum(axis=0)
            if p.intercept:
                variance = variance + (1.0 - ones[:, 0] @ half) ** 2 / float((ones**2).sum())
            return np.maximum(variance, 0.0)

        variance = np.concatenate([panel(i) for i in range(0, len(points), PANEL)]) / self.lam
        total = np.sqrt((variance + (0.0 if of_mean else 1.0))[:, None] * self.noise)
        return np.asarray(float(stdtrit(self.degrees_of_freedom, 0.5 + level / 2.0)) * total)
