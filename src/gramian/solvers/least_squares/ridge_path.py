"""Ridge for many alphas from one eigendecomposition, its leave-one-out residuals, and validation from moments alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from gramian._core.types import Floats, Ints
from gramian.rows import Block, Rows
from gramian.solvers.least_squares.closed_form import QuadraticPenalty
from gramian.solvers.least_squares.factor import EPS, Quadratic, quadratic
from gramian.statistics import Moments

LEAST_SQUARE = 1e-300  # squared errors that are all below it have lost their digits
FAR = 1e2  # times the largest variation about the mean: the squares of a mean that cost digits
LIKE = 2.0**8  # penalties of the scaled columns within this ratio: plain eigenvectors are as accurate


class RidgePath:
    """G and P diagonalised together about a middle alpha₀, so that every alpha costs O(d²) more.

    With G + alpha₀P = LLᵀ and L⁻¹GL⁻ᵀ = U diag(μ) Uᵀ, G + alpha·P = LU diag(μ + (alpha/alpha₀)(1 − μ)) UᵀLᵀ:
    one mechanism for plain ridge, per-feature factors, Tikhonov matrices (also singular ones) and columns of any units.
    """

    def __init__(self, moments: Moments, *, intercept: bool, middle: float, penalty: QuadraticPenalty) -> None:
        self.q = q = quadratic(moments, intercept=intercept)
        self.middle, self.penalty = middle, penalty
        keep = np.flatnonzero(~q.constant)
        P = penalty.gram(q, middle)[np.ix_(keep, keep)]
        self.basis = np.zeros((q.d, keep.size))
        self.mu = np.zeros(keep.size)
        about_mean = None if intercept else _AboutMean.of(moments, q, keep)
        self.mean = (moments.mean_high, moments.mean_low) if intercept or about_mean else (q.mean, q.mean)
        self.shift = np.zeros(keep.size), np.zeros(len(q.y))  # of the centred rows: basisᵀ mean, and that of targets
        if about_mean:
            H = about_mean.reflection
            self.mu, basis = _diagonalise(about_mean.G, H @ P @ H)
            self.targets = basis.T @ about_mean.B
            self.basis[keep] = H @ basis
            self.shift = about_mean.length * basis[0], about_mean.target
        else:
            if keep.size:
                self.mu, self.basis[keep] = _diagonalise(q.G[np.ix_(keep, keep)], P)
            self.targets = self.basis.T @ q.B

    def shrink(self, alphas: Floats) -> Floats:
        """1 / (μ + (alpha/alpha₀)(1 − μ)) as (A, r); directions that neither data nor penalty see stay at zero."""
        weights = self.mu[None, :] + (alphas[:, None] / self.middle) * (1.0 - self.mu)[None, :]
        return np.where(weights > 16 * EPS, 1.0 / np.maximum(weights, 16 * EPS), 0.0)

    def coefs(self, alphas: Floats) -> tuple[Floats, Floats]:
        """Coefficients (A, d, t) in the given units and intercepts (A, t)."""
        q = self.q
        z = np.einsum("dr,art->adt", self.basis, self.shrink(alphas)[:, :, None] * self.targets[None], optimize=True)
        coefs = self.penalty.fill(q.constant, np.ldexp(z, q.y[None, None, :] - q.x[None, :, None]))
        if not q.intercept:
            return coefs, np.zeros((len(alphas), len(q.y)))
        return coefs, q.mean[q.d :] - np.einsum("d,adt->at", q.mean[: q.d], coefs)

    def leave_one_out(self, rows: Rows, alphas: Floats) -> tuple[Floats, Floats]:
        """Squared leave-one-out residuals (A, n), averaged over targets, and the rows' weights.

        Leaving a row out changes the sums by one outer product, so that its residual is e / (1 − h). The training part
        minimises its own mean: its penalty is alpha · (W − w), which the shrinkage is computed with.
        """
        if rows.weighted:
            parts: list[tuple[Floats, Floats]] = rows.sum(self._loo_of_block(alphas, equal=False))
        else:
            parts = rows.sum(self._loo_of_block(alphas, equal=True))
        return np.hstack([losses for losses, _ in parts]), np.concatenate([weights for _, weights in parts])

    def _loo_of_block(self, alphas: Floats, *, equal: bool) -> Callable[[Block], list[tuple[Floats, Floats]]]:
        q, d = self.q, self.q.d

        def of_block(block: Block) -> list[tuple[Floats, Floats]]:
            X = block.X.toarray() if sp.issparse(block.X) else np.asarray(block.X, dtype=np.float64)
            assert block.y is not None
            high, low = self.mean  # in twice the precision: columns far from zero keep their digits
            z = np.ldexp(X, -q.x[None, :]) - np.ldexp(high[:d], -q.x) - np.ldexp(low[:d], -q.x)
            z = z @ self.basis + self.shift[0]
            y = np.ldexp(block.y, -q.y[None, :]) - np.ldexp(high[d:], -q.y) - np.ldexp(low[d:], -q.y) + self.shift[1]
            w = block.weights
            base = w / q.weight if q.intercept else np.zeros(len(X))
            losses = np.empty((len(alphas), len(X)))
            for a, alpha in enumerate(alphas):
                if equal:
                    shrink = self.shrink(np.array([alpha * (1.0 - 1.0 / q.weight)]))
                    leverage, fitted = (z**2) @ shrink[0], z @ (shrink[0][:, None] * self.targets)
                else:
                    shrink = self.shrink(alpha * (1.0 - w / q.weight))
                    leverage, fitted = ((z**2) * shrink).sum(axis=1), (z * shrink) @ self.targets
                left = np.maximum(1.0 - base - w * leverage, 1e-12)
                errors = (y - fitted) / left[:, None]
                with np.errstate(over="ignore", under="ignore"):
                    losses[a] = np.ldexp(errors**2, 2 * q.y).mean(axis=1)
                refuse_unsquarable(losses[a], errors**2)
            return [(losses, w)]

        return of_block


@dataclass(frozen=True, eq=False)
class _AboutMean:
    """Sums of products about zero of columns far from it, in coordinates whose first is along the mean.

    There the squares of the mean meet one coordinate alone, and the variation about the mean keeps its digits in the
    others. A Householder reflection leads there and back.
    """

    reflection: Floats
    length: float  # of the mean along the first coordinate
    G: Floats
    B: Floats
    target: Floats  # the mean of the targets

    @classmethod
    def of(cls, moments: Moments, q: Quadratic, keep: Ints) -> "_AboutMean | None":
        """None where columns are near zero: their products about zero are as good."""
        d = q.d
        units = moments.exponents - np.append(q.x, q.y)
        S = np.ldexp(np.ldexp(moments.scaled, units[:, None]), units[None, :])
        mean = np.ldexp(moments.mean, -np.append(q.x, q.y))
        m = mean[keep]
        size = float(np.linalg.norm(m))
        if not q.weight * size**2 > FAR * float(np.diagonal(S)[keep].max(initial=0.0)):
            return None
        v = m.copy()
        v[0] += np.copysign(size, m[0])
        H = np.eye(keep.size) - (2.0 / (v @ v)) * np.outer(v, v)
        length = -float(np.copysign(size, m[0]))
        G = H @ S[np.ix_(keep, keep)] @ H
        B = H @ S[keep, d:]
        G[0, 0] += q.weight * length**2
        B[0] += q.weight * length * mean[d:]
        return cls(H, length, 0.5 * (G + G.T), B, mean[d:])


def _diagonalise(G: Floats, P: Floats) -> tuple[Floats, Floats]:
    """μ and a basis B with BᵀGB = diag(μ), BᵀPB = diag(1 − μ)."""
    size = np.diagonal(P)
    if size.max() <= LIKE * size.min() and np.count_nonzero(P) == len(P):
        # A diagonal penalty of like sizes: the eigenvectors of G, with columns in units of the penalty.
        unit = 1.0 / np.sqrt(size)
        values, U = np.linalg.eigh(unit[:, None] * G * unit[None, :])
        values = np.maximum(values, 0.0)
        return values / (values + 1.0), unit[:, None] * U / np.sqrt(values + 1.0)
    L = _cholesky(G + P)
    half = sla.solve_triangular(L, G, lower=True, check_finite=False)
    A = sla.solve_triangular(L, half.T, lower=True, check_finite=False)
    mu, U = np.linalg.eigh(0.5 * (A + A.T))
    return np.clip(mu, 0.0, 1.0), sla.solve_triangular(L, U, lower=True, trans="T", check_finite=False)


def _cholesky(S: Floats) -> Floats:
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(S), EPS))
    correlation = S * scale[:, None] * scale[None, :]
    for lift in (0.0, 1e-13, 1e-11, 1e-9):
        try:
            return np.linalg.cholesky(correlation + lift * np.eye(len(S))) / scale[:, None]
        except np.linalg.LinAlgError:
            continue
    raise AssertionError("a Gram matrix with a lifted diagonal was not positive definite")


def validation_loss(test: Moments, coefs: Floats, intercepts: Floats) -> Floats:
    """Mean squared error (A,) of coefficients (A, d, t) on the rows that `test` sums up, averaged over targets.

    (1/W) Σ w (y − b − xᵀc)² = (yy − 2 cᵀB + cᵀGc)/W + (mean of y − b − cᵀ mean of x)², all about the test rows' mean.
    """
    d, t = test.d, test.t
    x, y = test.exponents[:d], test.exponents[d:]
    G, B, yy = test.scaled[:d, :d], test.scaled[:d, d:], np.diagonal(test.scaled[d:, d:])
    z = np.ldexp(coefs, x[None, :, None] - y[None, None, :])
    flat = np.ascontiguousarray(z.transpose(0, 2, 1).reshape(-1, d))
    square = ((flat @ G) * flat).sum(axis=1).reshape(-1, t)
    inner = np.maximum(yy - 2.0 * np.einsum("adt,dt->at", z, B) + square, 0.0) / test.weight
    offset = test.mean[d:] - intercepts - np.einsum("d,adt->at", test.mean[:d], coefs)
    with np.errstate(over="ignore"):
        loss = (np.ldexp(inner, 2 * y) + offset**2).mean(axis=1)
    refuse_unsquarable(loss, inner)
    return loss


def refuse_unsquarable(loss: Floats, unscaled: Floats) -> None:
    """Raise if squared errors overflowed, or vanished although the errors in units of the target did not."""
    if not np.isfinite(loss).all() or ((loss < LEAST_SQUARE).all() and (unscaled > 0).any()):
        raise ValueError(
            "The squared errors of this target are beyond the range of float64; divide the target by its size first."
        )
