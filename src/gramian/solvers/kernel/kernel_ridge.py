"""Ridge regression with a kernel: a Cholesky factor or conjugate gradients for one alpha, eigenvectors for many."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats
from gramian.rows import parallel_map, single_threaded_blas
from gramian.solvers.half_matrix import upper_times

NULL_SHARE = 1e-12  # of the largest eigenvalue: below it a direction is rounding
CONVERGED = 1e-14  # of the right side: conjugate gradients end here
TRIAL = 12  # steps of them after which the rest is foreseen
PANEL = 128


class Factor:
    """K + λ D⁻¹ factorised, where λ = alpha Σw and D are the weights: β = (K + λ D⁻¹)⁻¹ (y − b)."""

    def __init__(self, K: Floats, weight: Floats, alpha: float) -> None:
        """K is read on and above its diagonal, and overwritten there."""
        self.n, self.lam = len(K), alpha * float(weight.sum())
        K[np.diag_indices(self.n)] += self.lam / weight
        self.inverse: Floats | None = None
        self.L, failed = sl.lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        pivots = np.diagonal(self.L)
        self.failed = failed != 0 or bool(pivots.min() ** 2 <= NULL_SHARE * pivots.max() ** 2)

    def solve(self, right: Floats) -> Floats:
        """(K + λ D⁻¹)⁻¹ right."""
        return np.asarray(sl.lapack.dpotrs(self.L, right, lower=1)[0])

    def half(self, right: Floats) -> Floats:
        """L⁻¹ right: its squares sum to rightᵀ(K + λ D⁻¹)⁻¹ right."""
        return np.asarray(sl.solve_triangular(self.L, right, lower=True, check_finite=False))


class Singular:
    """The same by an eigendecomposition, for matrices without a Cholesky factor: the minimum-norm β."""

    def __init__(self, K: Floats, weight: Floats, alpha: float) -> None:
        self.n, self.lam = len(K), alpha * float(weight.sum())
        K[np.diag_indices(self.n)] += self.lam / weight
        values, vectors = np.linalg.eigh(K)
        keep = values > NULL_SHARE * max(float(values[-1]), 1e-300) * self.n
        self.values, self.vectors = values[keep], vectors[:, keep]
        self.failed = False

    def solve(self, right: Floats) -> Floats:
        return np.asarray(self.vectors @ ((self.vectors.T @ right).T / self.values).T)

    def half(self, right: Floats) -> Floats:
        return np.asarray(((self.vectors.T @ right).T / np.sqrt(self.values)).T)


class ConjugateGradients:
    """The same by conjugate gradients, where a factor K ≈ F Fᵀ of low rank leaves little of K beside λ.

    In units of √D the matrix is S = D^½ K D^½ + λ, and that of the factor, Z Zᵀ + λ with Z = D^½ F, is its
    preconditioner. A step takes one product with K, so that some tens of them cost less than a Cholesky factor; where
    more than `steps` are foreseen, `failed` is set and what is returned is of no use.
    """

    def __init__(self, K: Floats, F: Floats, weight: Floats, alpha: float, steps: int) -> None:
        """K is read on and above its diagonal."""
        self.K, self.n, self.lam, self.steps = K, len(K), alpha * float(weight.sum()), steps
        self.root = np.sqrt(weight)[:, None]
        self.Z = F * self.root
        self.taken = 0
        self.parts = [slice(i, i + 8 * PANEL) for i in range(0, self.n, 8 * PANEL)]
        inner = np.sum(parallel_map(lambda part: self.Z[part].T @ self.Z[part], self.parts), axis=0)
        inner[np.diag_indices(len(inner))] += self.lam
        self.inner, failed = sl.lapack.dpotrf(inner, lower=1, overwrite_a=1)
        self.failed = failed != 0

    def solve(self, right: Floats) -> Floats:
        """(K + λ D⁻¹)⁻¹ right."""
        with single_threaded_blas():
            return self.root * self._steps(right * self.root)

    def _steps(self, right: Floats) -> Floats:
        """S⁻¹ right, every column by its own conjugate gradients."""
        goal = CONVERGED * np.linalg.norm(right, axis=0)
        x, r = np.zeros_like(right), right.copy()
        z = self._precondition(r)
        p, rz = z, (r * z).sum(axis=0)
        residuals: list[float] = []
        for iteration in range(self.steps + 1):
            norms = np.linalg.norm(r, axis=0)
            if (norms <= goal).all():
                self.taken = max(self.taken, iteration)
                return x
            with np.errstate(divide="ignore", invalid="ignore"):
                residuals.append(float(np.where(goal > 0, norms / goal, 0.0).max()))
            if iteration == self.steps or not np.isfinite(residuals[-1]) or self._too_slow(residuals):
                break
            Sp = self._times(p)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.nan_to_num(rz / (p * Sp).sum(axis=0), posinf=0.0, neginf=0.0)
            x += step * p
            r -= step * Sp
            z = self._precondition(r)
            before, rz = rz, (r * z).sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                p = z + np.nan_to_num(rz / before, posinf=0.0, neginf=0.0) * p
        self.failed = True
        return x

    def _too_slow(self, residuals: list[float]) -> bool:
        """Whether at the pace of the last steps the others do not suffice."""
        if len(residuals) <= TRIAL:
            return False
        pace = np.log(residuals[-1 - TRIAL // 2] / residuals[-1]) / (TRIAL // 2)
        return bool(pace <= 0 or len(residuals) - 1 + np.log(residuals[-1]) / pace > self.steps)

    def _times(self, v: Floats) -> Floats:
        """S v, from half of K: the panels' parts are added in their order, whatever the threads."""
        scaled = np.ascontiguousarray((v * self.root).T)

        def panel(start: int) -> Floats:
            part = np.zeros((len(scaled), self.n - start))
            upper_times(self.K, start, min(start + PANEL, self.n), scaled, part)
            return part

        out = np.zeros_like(scaled)
        starts = range(0, self.n, PANEL)
        for start, part in zip(starts, parallel_map(panel, starts), strict=True):
            out[:, start:] += part
        return out.T * self.root + self.lam * v

    def _precondition(self, v: Floats) -> Floats:
        """(Z Zᵀ + λ)⁻¹ v = (v − Z (ZᵀZ + λ)⁻¹ Zᵀ v) / λ."""
        Zv = np.sum(parallel_map(lambda part: self.Z[part].T @ v[part], self.parts), axis=0)
        inside = sl.lapack.dpotrs(self.inner, Zv, lower=1)[0]
        return np.concatenate(parallel_map(lambda part: (v[part] - self.Z[part] @ inside) / self.lam, self.parts))


def dual_of(factor: Any, Y: Floats, intercept: bool) -> tuple[Floats, Floats]:
    """β (n, t) and b (t,): Σβ = 0 is the condition of the intercept."""
    if not intercept:
        return factor.solve(Y), np.zeros(Y.shape[1])
    both = factor.solve(np.column_stack([Y, np.ones(len(Y))]))
    ones = both[:, -1]
    b = both[:, :-1].sum(axis=0) / ones.sum()
    return both[:, :-1] - np.outer(ones, b), b


def loo_residuals(
    both: Floats, diagonal: Floats, intercept: bool, rows: Any = slice(None), totals: Any = None
) -> Floats:
    """Residuals of some rows by the fit without them, from M⁻¹ [Y, 1] of all rows and the diagonal of M⁻¹ of these.

    With G = M⁻¹ less what the intercept takes, that of row i is β_i / G_ii. `totals` are the sums of M⁻¹ [Y, 1] for
    each row, where each has a λ of its own.
    """
    beta, ones = both[rows, :-1], both[rows, -1]
    if intercept:
        totals = both.sum(axis=0) if totals is None else totals
        beta = beta - ones[:, None] * (totals[..., :-1] / totals[..., -1:])
        diagonal = diagonal - ones**2 / totals[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(beta / diagonal[:, None])


def last_loo_residuals(factor: Factor, Y: Floats, intercept: bool, count: int) -> Floats:
    """Leave-one-out residuals of the last `count` rows: the end of the factor has their part of M⁻¹."""
    both = factor.solve(np.column_stack([Y, np.ones(len(Y))]))
    end = np.asfortranarray(factor.L[-count:, -count:])
    inverse = np.tril(sl.lapack.dtrtri(end, lower=1)[0])
    return loo_residuals(both, (inverse**2).sum(axis=0), intercept, slice(len(Y) - count, None))


class KernelPath:
    """Every alpha from one decomposition D^½ K D^½ = U Λ Uᵀ, or from a factor K ≈ F Fᵀ of low rank.

    Leave-one-out is in closed form (`loo_residuals`).
    """

    def __init__(self, Y: Floats, weight: Floats, intercept: bool, *, K: Any = None, F: Any = None) -> None:
        self.Y, self.weight, self.intercept = Y, weight, intercept
        root = np.sqrt(weight)
        if K is not None:
            values, self.U = np.linalg.eigh(K * root[:, None] * root)
            self.values = np.maximum(values, 0.0)
            self.whole = True
        else:
            Z = F * root[:, None]
            values, vectors = np.linalg.eigh(Z.T @ Z)
            keep = values > NULL_SHARE * max(float(values[-1]), 1e-300)
            self.values = values[keep]
            self.U = Z @ (vectors[:, keep] / np.sqrt(self.values))
            self.whole = len(self.values) == len(Y)
        self.root = root
        self.squares = self.U**2

    def solve(self, right: Floats, lam: float) -> Floats:
        """M⁻¹ right, M = K + λ D⁻¹."""
        scaled = right * self.root[:, None]
        rest = 0.0 if self.whole else 1.0 / lam
        shrink = 1.0 / (self.values + lam) - rest
        return (self.U @ (shrink[:, None] * (self.U.T @ scaled)) + rest * scaled) * self.root[:, None]

    def loo_residuals(self, alphas: Floats) -> list[Floats]:
        """Residuals (n, t) of each row by the model without it and all its weight, at each alpha."""
        total = float(self.weight.sum())
        if np.ptp(self.weight) > 0:
            return [
                self._loo_residuals_weighted(alpha * np.maximum(total - self.weight, 1e-300))
                for alpha in np.asarray(alphas)
            ]
        lams = np.asarray(alphas) * max(total - float(self.weight[0]), 1e-300)
        scaled = np.column_stack([self.Y, np.ones(len(self.Y))]) * self.root[:, None]
        rest = np.zeros(len(lams)) if self.whole else 1.0 / lams
        shrink = 1.0 / (self.values[:, None] + lams) - rest
        diagonals = self.squares @ shrink + rest  # of all alphas in one product, and so the others
        turned = (shrink[:, :, None] * (self.U.T @ scaled)[:, None, :]).reshape(len(self.values), -1)
        inner = (self.U @ turned).reshape(len(scaled), len(lams), -1)
        root = self.root[:, None]
        return [
            loo_residuals(
                (inner[:, i] + rest[i] * scaled) * root,
                diagonals[:, i] * self.root**2,
                self.intercept,
            )
            for i in range(len(lams))
        ]

    def _loo_residuals_weighted(self, lam: Floats) -> Floats:
        """The same where weights differ, and so every row has a λ of its own."""
        shrink = 1.0 / (self.values + lam[:, None]) - (0.0 if self.whole else 1.0 / lam[:, None])
        scaled = np.column_stack([self.Y, np.ones(len(self.Y))]) * self.root[:, None]
        inside, sums = self.U.T @ scaled, self.U.T @ self.root
        both, diagonal = (self.U * shrink) @ inside, (self.squares * shrink).sum(axis=1)
        totals = (shrink * sums) @ inside
        if not self.whole:
            both, diagonal = both + scaled / lam[:, None], diagonal + 1.0 / lam
            totals = totals + (self.root @ scaled) / lam[:, None]
        both, diagonal = both * self.root[:, None], diagonal * self.root**2
        return loo_residuals(both, diagonal, self.intercept, totals=totals)

    def fold(self, test: Any) -> Floats:
        """Rows of D^½ U of a fold, which serve all alphas."""
        return np.ascontiguousarray(self.U[test] * self.root[test, None])

    def fold_residuals(self, test: Floats, lam: float) -> Floats:
        """Residuals (m, t) of the rows of a fold by the model of all others at λ = `lam`.

        With G = M⁻¹ less what the intercept takes, G_TT r = β_T for the rows T of the fold: leave-one-out by blocks.
        `test` is what `fold` gives of them.
        """
        shrink = 1.0 / (self.values + lam)
        inside, sums = self._inside
        half = test * np.sqrt(shrink)
        both = test @ (shrink[:, None] * inside)
        G = sl.blas.dsyrk(1.0, half.T, trans=1, lower=1)
        beta = both[:, :-1]
        if self.intercept:
            totals, ones = (shrink * sums) @ inside, both[:, -1]
            beta = beta - ones[:, None] * (totals[:-1] / totals[-1])
            G -= np.outer(ones, ones / totals[-1])
        L, failed = sl.lapack.dpotrf(G, lower=1, clean=0, overwrite_a=1)
        if failed:
            return np.full_like(beta, np.inf)
        return np.asarray(sl.lapack.dpotrs(L, beta, lower=1)[0])

    @cached_property
    def _inside(self) -> tuple[Floats, Floats]:
        scaled = np.column_stack([self.Y, np.ones(len(self.Y))]) * self.root[:, None]
        return self.U.T @ scaled, self.U.T @ self.root

    def at(self, alpha: float) -> tuple[Floats, Floats]:
        """β (n, t) and b (t,) at alpha."""
        both = self.solve(np.column_stack([self.Y, np.ones(len(self.Y))]), alpha * float(self.weight.sum()))
        if not self.intercept:
            return both[:, :-1], np.zeros(self.Y.shape[1])
        b = both[:, :-1].sum(axis=0) / both[:, -1].sum()
        return both[:, :-1] - np.outer(both[:, -1], b), b
