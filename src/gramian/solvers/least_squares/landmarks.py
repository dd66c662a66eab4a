"""Squared loss on the features of landmarks: conjugate gradients over the raw kernel columns, well preconditioned.

    minimise   (1/W) Σ w (y − b − cᵀφ(x))² + alpha ‖c‖²,   φ(x) = R⁻ᵀ k(P, x)

No feature is formed: a pass multiplies k(x, P) by R⁻¹c, and turns what it adds up. The preconditioner is the matrix of
the system itself, from the moments of all rows where they are worth their pass, else from those of some rows.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats
from gramian.rows import Block, Rows, single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.least_squares.factor import Quadratic, quadratic, root_of
from gramian.solvers.solution import Solution, SquaredLossSums
from gramian.statistics import Moments
from gramian.statistics.products import moments_of

MOST_GRAM = 3000  # landmarks up to which the moments of all rows cost no more than iterating
SAMPLE = 20  # rows for each landmark that a preconditioner is made of
TOLERANCE = 1e-8
ROUNDS, MOST_STEPS = 4, 100
PANEL_CELLS = 2**18


def worth_moments(rows: Rows) -> bool:
    """Whether the moments of all rows are cheaper than a few dozen passes with vectors."""
    return rows.d <= MOST_GRAM or rows.n <= 2 * SAMPLE * rows.d


def solve_landmarks(rows: Rows, *, intercept: bool, alpha: float, moments: Moments | None = None) -> Solution:
    """Certified coefficients of rows with a basis, for alpha above 0."""
    with single_threaded_blas():
        sampled = moments is None and not worth_moments(rows)
        if moments is None:
            moments = _sampled(rows) if sampled else moments_of(rows)
        q = quadratic(moments, intercept=intercept)
        F = _inverse_root(q, alpha)
        mean = np.asarray(q.mean, dtype=np.float64)
        passes = Passes(rows, mean, alpha * q.weight)
        with np.errstate(over="ignore"):
            total = np.ldexp(np.diagonal(q.yy), 2 * q.y)
            size = np.outer(np.sqrt(np.ldexp(np.diagonal(q.G), 2 * q.x)), np.sqrt(total))

        def precondition(g: Floats) -> Floats:
            return np.ldexp(F @ (F.T @ np.ldexp(g, -q.x[:, None])), -q.x[:, None])

        def measure(coef: Floats, gradient: Floats) -> float:
            within = size + alpha * q.weight * np.abs(coef)
            return float(np.max(np.abs(gradient) / np.where(within > 0, within, 1.0), initial=0.0))

        coef = precondition(np.ldexp(q.B, q.x[:, None] + q.y[None, :]))
        gradient, residual = passes.gradient(coef)
        value, steps = measure(coef, gradient), 0
        for _ in range(ROUNDS):
            if value <= TOLERANCE:
                break
            step, count = _conjugate_gradients(passes.product, gradient, precondition, 0.1 * TOLERANCE / value)
            steps += count
            trial = coef + step
            gradient, left = passes.gradient(trial)
            if not measure(trial, gradient) < value:
                break
            coef, residual, value = trial, left, measure(trial, gradient)
        R, _ = root_of(q.G, q.B, q.constant)
        df, spread = _freedom(R, F)
    return Solution(
        coef=coef,
        intercept=mean[q.d :] - mean[: q.d] @ coef if intercept else np.zeros(len(q.y)),
        value=float((residual.sum() / q.weight) + alpha * (coef**2).sum()),
        sums=SquaredLossSums(residual, total, q.weight, df + intercept, spread, q.x, mean),
        certificate=_certificate(q, value, sampled),
        solver=_solver(rows, steps, sampled),
    )


def _inverse_root(q: Quadratic, alpha: float) -> Floats:
    """F with FFᵀ the inverse of the matrix of the system, for the columns divided by 2**x."""
    A = q.G.copy()
    penalty = np.ldexp(alpha * q.weight, -2 * q.x)
    for lift in (0.0, 1e-13, 1e-11, 1e-9):  # what rounding may have taken from a direction without variance
        np.fill_diagonal(A, np.diagonal(q.G) * (1.0 + lift) + penalty)
        try:
            U = sl.cholesky(A, lower=False, check_finite=False)
        except sl.LinAlgError:
            continue
        return np.asarray(sl.solve_triangular(U, np.eye(q.d), check_finite=False))
    raise AssertionError("a penalised Gram matrix was not positive definite")


def _freedom(R: Floats, F: Floats) -> tuple[float, Floats]:
    """Degrees of freedom tr(2H − HHᵀ), and a factor of the covariance of the coefficients over the noise."""
    half = R @ F
    hat = half.T @ half
    return float(2.0 * np.trace(hat) - (hat**2).sum()), F @ half.T


def _certificate(q: Quadratic, value: float, sampled: bool) -> Certificate:
    note = f"Errors and intervals are those of the curvature of about {SAMPLE * q.d} rows." if sampled else ""
    return Certificate("gradient", value, TOLERANCE, value <= TOLERANCE, None, None, "rows", note=note, convex=True)


def _solver(rows: Rows, steps: int, sampled: bool) -> SolverInfo:
    if sampled:
        reason = f"{rows.d} landmarks: {steps} products with the rows cost less than a Gram matrix of all {rows.n}"
        return SolverInfo("conjugate gradients", reason)
    if steps:
        return SolverInfo("Cholesky, refined", "nearly dependent landmarks: conjugate gradients restore the digits")
    return SolverInfo("Cholesky", "cross-products of the raw kernel columns in one pass; their turn costs r³, not n r²")


class Passes:
    """Gradients and products of the centred system, each a pass over k(x, P)."""

    def __init__(self, rows: Rows, mean: Floats, strength: float) -> None:
        assert rows.basis is not None
        self.rows, self.R, self.d = rows.basis.rows, rows.basis.R, rows.d
        self.mean, self.strength = mean, strength

    def gradient(self, coef: Floats) -> tuple[Floats, Floats]:
        """Φᵀ W r − alpha W c of the centred features, and Σ w r² of each target, from their residuals."""
        raw, offset = self._raw(coef), self.mean[: self.d] @ coef - self.mean[self.d :]

        def of_panel(K: Floats, y: Floats, w: Any) -> Floats:
            r = y - K @ raw + offset
            weighted = r if w is None else r * w[:, None]
            return np.vstack([K.T @ weighted, weighted.sum(axis=0), (weighted * r).sum(axis=0)])

        sums = self._sum(of_panel)
        return self._turned(sums) - self.strength * coef, sums[-1]

    def product(self, v: Floats) -> Floats:
        """(Φᵀ W Φ + alpha W) v of the centred features."""
        raw, offset = self._raw(v), self.mean[: self.d] @ v

        def of_panel(K: Floats, y: Floats, w: Any) -> Floats:
            f = K @ raw - offset
            weighted = f if w is None else f * w[:, None]
            return np.vstack([K.T @ weighted, weighted.sum(axis=0)])

        return self._turned(self._sum(of_panel)) + self.strength * v

    def _raw(self, coef: Floats) -> Floats:
        return np.asarray(sl.solve_triangular(self.R, coef, check_finite=False))

    def _turned(self, sums: Floats) -> Floats:
        pulled = sl.solve_triangular(self.R, sums[: self.d], trans="T", check_finite=False)
        return np.asarray(pulled - np.outer(self.mean[: self.d], sums[self.d]))

    def _sum(self, of_panel: Callable[[Floats, Floats, Any], Floats]) -> Floats:
        height = max(PANEL_CELLS // self.d, 64)

        def of_block(block: Block) -> Floats:
            assert block.y is not None
            total: Any = 0.0
            for start in range(0, len(block), height):
                part = slice(start, min(start + height, len(block)))
                w = None if block.weight is None else block.weight[part]
                total = total + of_panel(block.part(part), block.y[part], w)
            return np.asarray(total)

        return self.rows.sum(of_block)


def _conjugate_gradients(
    product: Callable[[Floats], Floats], g: Floats, precondition: Callable[[Floats], Floats], forcing: float
) -> tuple[Floats, int]:
    """x with product(x) = g, column by column in shared passes, to a residual of `forcing`; and the passes."""
    x, r = np.zeros_like(g), g.copy()
    z = precondition(r)
    direction = z.copy()
    energy = (r * z).sum(axis=0)
    enough = forcing**2 * energy
    count = 0
    while count < MOST_STEPS:
        count += 1
        q = product(direction)
        curve = (direction * q).sum(axis=0)
        length = np.where((energy > enough) & (curve > 0), energy / np.where(curve > 0, curve, 1.0), 0.0)
        x += length * direction
        r -= length * q
        z = precondition(r)
        before, energy = energy, (r * z).sum(axis=0)
        if not (energy > enough).any() or not length.any():
            break
        direction = z + np.where(before > 0, energy / np.where(before > 0, before, 1.0), 0.0) * direction
    return x, count


def _sampled(rows: Rows) -> Moments:
    """The moments of some rows as those of all: with the means, the weight and the target's squares of all."""
    stride = rows.n // (SAMPLE * rows.d)
    some = moments_of(rows.subset(np.arange(stride // 2, rows.n, stride)))  # type: ignore[attr-defined]
    assert rows.basis is not None
    origin = some.mean[some.d :]

    def of_block(block: Block) -> Floats:
        assert block.y is not None
        y = block.y - origin
        w = block.weights
        K = np.zeros(rows.d)
        for start in range(0, len(block), 1024):
            part = slice(start, min(start + 1024, len(block)))
            K += w[part] @ block.part(part)
        return np.concatenate([[w.sum(), np.count_nonzero(w)], K, w @ y, (y.T @ (y * w[:, None])).reshape(-1)])

    d, t = some.d, some.t
    sums = rows.basis.rows.sum(of_block)
    weight = float(sums[0])
    scaled = some.scaled * (weight / some.weight)
    shift = sums[2 + d : 2 + d + t] / weight
    scaled[d:, d:] = sums[2 + d + t :].reshape(t, t) - weight * np.outer(shift, shift)
    mean = np.concatenate([sl.solve_triangular(rows.basis.R, sums[2 : 2 + d] / weight, trans="T"), origin + shift])
    return replace(some, n=int(sums[1]), weight=weight, scaled=scaled, mean_high=mean, mean_low=np.zeros_like(mean))
