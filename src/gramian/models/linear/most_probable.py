"""The most probable coefficients and scale: least squares where sums suffice, a loss and a penalty elsewhere."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.models.base.averaging import Posterior
from gramian.models.base.errors import MOST, inverse_root
from gramian.objective.likelihoods import Likelihood, Scaled
from gramian.objective.losses.regression import Squared
from gramian.objective.penalties import L1, L2, Penalty
from gramian.objective.priors import Prior
from gramian.objective.problem import Problem, joint_scale
from gramian.rows import Block, Rows
from gramian.solvers.certificate import Certificate
from gramian.solvers.direct import SMALL_GRAM
from gramian.solvers.least_squares.closed_form import TOLERANCE, solve
from gramian.solvers.least_squares.direct import ClosedForm
from gramian.solvers.least_squares.factor import factor_of_quadratic, quadratic
from gramian.solvers.least_squares.row_space import minimum_norm
from gramian.solvers.solution import Solution
from gramian.solvers.solve import fit_problem
from gramian.solvers.sparse.direct import GramActiveSet, WorkingSets
from gramian.statistics import Moments
from gramian.statistics.products import block_moments
from gramian.warnings import ConvergenceWarning, warn_user

GRID = 9  # scales that are tried before the best of them is improved
SETTLED = 1e-12  # relative change of a scale that is rounding
EXACT = 1e-9  # of the scale without coefficients: below it the columns meet y exactly
EXACT_OF_SUMS = 1e-7  # what cross-products can tell of that


@dataclass(frozen=True, eq=False)
class Mode:
    """The mode of the posterior at one strength of the prior, and the mean loss there.

    `certificate` is that of the solution, at the tolerance of the fit.
    """

    solution: Solution
    loss: float
    alpha: float
    certificate: Certificate


class Squares:
    """Gaussian noise, one target: least squares, ridge or the lasso, by cross-products where they suffice."""

    def __init__(
        self,
        data: Rows | Moments,
        moments: Moments | None,
        penalty: Penalty,
        intercept: bool,
        max_iter: int,
        tol: float,
    ) -> None:
        self.data, self.given, self.intercept, self.max_iter, self.tol = data, moments, intercept, max_iter, tol
        parts = penalty.parts(1)
        assert parts is not None
        self.nonsmooth = not parts.smooth
        self.wide = isinstance(data, Rows) and data.n < data.d
        self.exact = EXACT if isinstance(data, Rows) else EXACT_OF_SUMS

    @cached_property
    def moments(self) -> Moments:
        if self.given is not None:
            return self.given
        assert isinstance(self.data, Rows)
        return self.data.sum(block_moments(self.data))

    @cached_property
    def free(self) -> Solution:
        """Without a prior: of all solutions the shortest."""
        if self.wide:
            assert isinstance(self.data, Rows)
            return minimum_norm(self.data, intercept=self.intercept)
        return solve(self.data, intercept=self.intercept, moments=self.moments)

    @cached_property
    def weight(self) -> float:
        if self.given is not None:
            return self.given.weight
        assert isinstance(self.data, Rows)
        return self.data.sum(lambda block: block.total_weight)

    @property
    def null(self) -> float:
        """Mean loss without coefficients."""
        return float(self.free.squares.total[0]) / self.weight

    def at(self, alpha: float, *, last: bool = False) -> Mode:
        if self.nonsmooth and alpha > 0:
            return self._lasso(alpha)
        solution = self.free if alpha == 0 else self._ridge(alpha)
        c = solution.certificate
        tolerance = self.tol * c.tolerance / TOLERANCE
        carried = c.holds or c.value > c.tolerance
        certificate = replace(c, tolerance=tolerance, holds=carried and c.value <= tolerance)
        loss = float(solution.squares.residual[0]) / solution.squares.weight
        return Mode(solution, loss, alpha, certificate)

    def _ridge(self, alpha: float) -> Solution:
        if not self.wide:
            return solve(self.data, intercept=self.intercept, alpha=alpha, moments=self.moments)
        problem = Problem(self.data, Squared(), L2(), alpha, intercept=self.intercept)
        return ClosedForm().solve(problem, max_iter=self.max_iter, tol=self.tol)

    def _lasso(self, alpha: float) -> Mode:
        rows = isinstance(self.data, Rows) and self.data.d > max(self.data.n, SMALL_GRAM)
        problem = Problem(self.data if rows else self.moments, Squared(), L1(), alpha, intercept=self.intercept)
        solver = WorkingSets() if rows else GramActiveSet()
        solution = solver.solve(problem, np.array([alpha]), max_iter=10 * self.max_iter, tol=self.tol)
        coef, intercept = solution.coef, solution.intercept
        if rows:
            assert isinstance(self.data, Rows)
            loss = self.data.sum(lambda block: _squares(block, coef, intercept)) / self.weight
        else:
            q = quadratic(self.moments, intercept=self.intercept)
            loss = float(np.ldexp(factor_of_quadratic(q).residual(coef)[0, 0], 2 * int(q.y[0]))) / self.weight
        return Mode(solution, loss, alpha, solution.certificate)

    def rest(self, likelihood: Likelihood) -> float:
        return self.weight * float(likelihood.rest(np.zeros(1))[0])

    def posterior(self, mode: Mode, likelihood: Likelihood) -> Posterior | None:
        """Exact, given the scale: σ² (XᵀX + λ)⁻¹ about the mean, σ² / n there."""
        d = len(mode.solution.coef)
        if (self.nonsmooth and mode.alpha > 0) or d > MOST:
            return None
        sums = mode.solution.squares
        if mode.alpha == 0 and sums.covariance_factor is not None:
            x, mean, F = sums.x, sums.mean, sums.covariance_factor
        else:
            q = quadratic(self.moments, intercept=self.intercept)
            x, mean = q.x, q.mean
            F = inverse_root(q.G + np.diag(np.ldexp(np.full(d, mode.alpha * self.weight), -2 * x)))
        root = np.zeros((1, d + 1, F.shape[1] + 1))
        root[0, :d, :-1] = F
        root[0, d, -1] = 1.0 / np.sqrt(self.weight) if self.intercept else 0.0
        sigma = np.sqrt(likelihood.unit / 2.0)
        return Posterior(np.asarray(mean[:d], dtype=np.float64), np.ldexp(1.0, -x), sigma * root)


def _squares(block: Block, coef: Floats, intercept: Floats) -> float:
    assert block.y is not None
    squares = (block.y - np.asarray(block.X @ coef) - intercept)[:, 0] ** 2
    return float(squares.sum() if block.weight is None else block.weight @ squares)


class Descent:
    """Any likelihood, by the solver that suits its loss and the penalty."""

    exact = EXACT

    def __init__(self, problem: Problem, solver: Any, max_iter: int, tol: float) -> None:
        self.problem, self.options = problem, {"solver": solver, "max_iter": max_iter, "tol": tol}

    @property
    def weight(self) -> float:
        return self.problem.columns.weight

    @property
    def null(self) -> float:
        """Mean loss without coefficients, or a little more."""
        return self.problem.value(self.problem.zero())

    def at(self, alpha: float, *, last: bool = False) -> Mode:
        fit = fit_problem(self.problem.with_alpha(alpha), warn=last, **self.options)
        if fit.scale is not None and not 0.0 < fit.scale < np.inf:
            raise ValueError(
                "The scale cannot be estimated. Perfect fit: the likelihood is unbounded as the scale goes to 0. Give "
                "the scale of the noise, as in likelihood=gm.likelihoods.StudentT(nu, scale)."
            )
        loss = self._alone(fit).value(fit.theta)
        return Mode(fit, loss, alpha, fit.certificate)

    @staticmethod
    def _alone(fit: Solution) -> Problem:
        """The mean loss by itself, at the scale that was found."""
        problem, loss = fit.problem.with_alpha(0.0), fit.problem.loss
        return problem if fit.scale is None else problem.with_loss(loss.at(fit.scale))  # type: ignore[attr-defined]

    def rest(self, likelihood: Likelihood) -> float:
        def of_block(block: Block) -> float:
            assert block.y is not None
            rest = likelihood.rest(block.y[:, 0])
            return float(rest.sum() if block.weight is None else block.weight @ rest)

        return self.problem.rows.sum(of_block)

    def posterior(self, mode: Mode, likelihood: Likelihood) -> Posterior | None:
        """The normal with the curvature of the posterior at its mode, given the scale."""
        fit = mode.solution
        problem, m, p, d = fit.problem, fit.problem.m, fit.problem.p, fit.problem.d
        smooth = problem.parts is not None and problem.parts.smooth and not problem.loss.piecewise_linear
        if not smooth or fit.separated or m * p > MOST:
            return None
        H = self._alone(fit).with_alpha(mode.alpha).at(fit.theta, hessian=True).hessian
        F = inverse_root(H) * np.sqrt(likelihood.unit / self.weight)
        root = np.zeros((m, d + 1, F.shape[1]))
        root[:, :p] = F.reshape(m, p, -1)
        return Posterior(problem.center, problem.inverse, root)


Method = Squares | Descent


def most_probable(
    method: Method, likelihood: Likelihood, prior: Prior, max_iter: int, tol: float
) -> tuple[Mode, Likelihood]:
    """The mode of the posterior over coefficients and scale, and the likelihood at its scale."""
    if not likelihood.free or joint_scale(likelihood.loss()):
        mode = method.at(prior.alpha(likelihood.unit, method.weight), last=True)
        return mode, likelihood if mode.solution.scale is None else likelihood.at(mode.solution.scale)
    assert isinstance(likelihood, Scaled)
    low, high = likelihood.likeliest(method.at(0.0).loss), likelihood.likeliest(method.null)
    if high == 0 or low <= method.exact * high:
        return _exact(method, likelihood.at(method.exact * (high or 1.0)), prior)
    if prior.strength == 0:
        return method.at(0.0, last=True), likelihood.at(low)
    scale, off, fits = _settled_scale(method, likelihood, prior, (low, high), max_iter, tol)
    known = likelihood.at(scale)
    mode = method.at(prior.alpha(known.unit, method.weight), last=True)
    c = mode.certificate
    tolerance = max(c.tolerance, tol)
    certificate = replace(c, value=max(c.value, off), tolerance=tolerance, holds=c.holds and off <= tolerance)
    if off > tolerance and not deadline.ended():
        warn_user(
            f"The scale still moves by {off:.2g} of itself after {fits} fits, its tolerance is {tol:.2g}: raise "
            "max_iter, or give the scale.",
            ConvergenceWarning,
        )
    solution = replace(mode.solution, iterations=mode.solution.iterations + fits)
    return replace(mode, solution=solution, certificate=certificate), known


def _exact(method: Method, known: Scaled, prior: Prior) -> tuple[Mode, Likelihood]:
    mode = method.at(prior.alpha(known.unit, method.weight))
    known = known.at(max(known.width, known.likeliest(mode.loss)))
    sentence = (
        "Perfect fit: the likelihood is unbounded as the scale goes to 0, so no optimum exists; the scale was fixed at "
        f"{known.width:.3g}. Give the scale of the noise, as in likelihood=gm.likelihoods."
        f"{type(known).__name__}(scale=…)."
    )
    warn_user(sentence, ConvergenceWarning)
    certificate = replace(mode.certificate, note=sentence, attained=False)
    return replace(mode, solution=replace(mode.solution, perfect=sentence), certificate=certificate), known


def _settled_scale(
    method: Method, likelihood: Scaled, prior: Prior, ends: tuple[float, float], max_iter: int, tol: float
) -> tuple[float, float, int]:
    """The scale of largest posterior with the coefficients that belong to it, how far it is from settled, and the fits.

    A scale leads to coefficients, their residuals to a scale. That map rises, and alternating goes uphill; there may be
    several fixed points, so a grid comes first. Secants make the alternation quick.
    """
    seen: dict[float, tuple[float, float]] = {}  # log scale → (−log posterior, log of the scale it leads to)

    def look(u: float) -> tuple[float, float]:
        if u not in seen:
            known = likelihood.at(float(np.exp(u)))
            mode = method.at(prior.alpha(known.unit, method.weight))
            cost = method.weight * (mode.loss / known.unit + float(known.rest(np.zeros(1))[0]))
            seen[u] = (
                cost - float(prior.log_density(mode.solution.coef).sum()),
                float(np.log(likelihood.likeliest(mode.loss))),
            )
        return seen[u]

    low, high = np.log(ends)
    for first in np.linspace(low, high, GRID).tolist():
        look(first)
        if deadline.passed():
            break
    u = min(seen, key=lambda u: seen[u][0])
    off, before = look(u)[1] - u, None
    for _ in range(max_iter):
        if abs(off) <= SETTLED or (before is not None and abs(before[1]) <= abs(off) <= tol):
            break  # the rest is the rounding of the fits
        if deadline.passed():
            break
        new = look(u)[1]
        if before is not None and (off - before[1]) * (u - before[0]) < 0:
            secant = float(np.clip(u - off * (u - before[0]) / (off - before[1]), low, high))
            new = secant if look(secant)[0] < look(u)[0] else new
        before, u = (u, off), new
        off = look(u)[1] - u
    return float(np.exp(u)), abs(off), len(seen)
