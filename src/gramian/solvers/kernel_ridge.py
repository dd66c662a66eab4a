"""Ridge regression with a kernel: one Cholesky factor for one alpha, one eigendecomposition for a path of them."""

from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NOTHING = 1e-12  # of the largest eigenvalue: below it a direction is rounding


class Factor:
    """K + λ D⁻¹ factorised, where λ = alpha Σw and D are the weights: β = (K + λ D⁻¹)⁻¹ (y − b)."""

    def __init__(self, K: Floats, weight: Floats, alpha: float) -> None:
        """K is overwritten."""
        self.n, self.lam = len(K), alpha * float(weight.sum())
        K[np.diag_indices(self.n)] += self.lam / weight
        self.inverse: Floats | None = None
        found, failed = sl.lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        self.L = found
        self.failed = failed != 0 or bool(np.diagonal(found).min() ** 2 <= NOTHING * np.diagonal(found).max() ** 2)

    def solve(self, right: Floats) -> Floats:
        """(K + λ D⁻¹)⁻¹ right."""
        return np.asarray(sl.lapack.dpotrs(self.L, right, lower=1)[0])

    def half(self, right: Floats) -> Floats:
        """L⁻¹ right: its squares sum to rightᵀ(K + λ D⁻¹)⁻¹ right."""
        return np.asarray(sl.solve_triangular(self.L, right, lower=True, check_finite=False))


class Singular:
    """The same by an eigendecomposition, for matrices without a Cholesky factor: the shortest β."""

    def __init__(self, K: Floats, weight: Floats, alpha: float) -> None:
        self.n, self.lam = len(K), alpha * float(weight.sum())
        K[np.diag_indices(self.n)] += self.lam / weight
        values, vectors = np.linalg.eigh(K)
        keep = values > NOTHING * max(float(values[-1]), 1e-300) * self.n
        self.values, self.vectors = values[keep], vectors[:, keep]
        self.failed = False

    def solve(self, right: Floats) -> Floats:
        return np.asarray(self.vectors @ ((self.vectors.T @ right).T / self.values).T)

    def half(self, right: Floats) -> Floats:
        return np.asarray(((self.vectors.T @ right).T / np.sqrt(self.values)).T)


def dual_of(factor: Any, Y: Floats, intercept: bool) -> tuple[Floats, Floats]:
    """β (n, t) and b (t,): Σβ = 0 is the condition of the intercept."""
    if not intercept:
        return factor.solve(Y), np.zeros(Y.shape[1])
    both = factor.solve(np.column_stack([Y, np.ones(len(Y))]))
    ones = both[:, -1]
    b = both[:, :-1].sum(axis=0) / ones.sum()
    return both[:, :-1] - np.outer(ones, b), b


class KernelPath:
    """Every alpha from one decomposition D^½ K D^½ = U Λ Uᵀ, or from a factor K ≈ F Fᵀ of low rank.

    Leave-one-out is in closed form: with G = M⁻¹ less what the intercept takes, row i is missed by β_i / G_ii.
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
            keep = values > NOTHING * max(float(values[-1]), 1e-300)
            self.values = values[keep]
            self.U = Z @ (vectors[:, keep] / np.sqrt(self.values))
            self.whole = len(self.values) == len(Y)
        self.root = root

    def _solve(self, right: Floats, lam: float) -> tuple[Floats, Floats]:
        """M⁻¹ right, and the diagonal of M⁻¹, M = K + λ D⁻¹."""
        shrink = 1.0 / (self.values + lam)
        scaled = right * self.root[:, None]
        if self.whole:
            inner = self.U @ (shrink[:, None] * (self.U.T @ scaled))
            diagonal = (self.U**2) @ shrink
        else:
            part = shrink - 1.0 / lam
            inner = self.U @ (part[:, None] * (self.U.T @ scaled)) + scaled / lam
            diagonal = (self.U**2) @ part + 1.0 / lam
        return inner * self.root[:, None], diagonal * self.root**2

    def missed(self, alpha: float) -> Floats:
        """What each row is missed by, (n, t), by the model without it, at alpha.

        Of a row that stands for w > 1 rows one is left out, and the others stay.
        """
        gone = np.minimum(self.weight, 1.0)
        lam = alpha * np.maximum(float(self.weight.sum()) - gone, 1e-300)
        right = np.column_stack([self.Y, np.ones(len(self.Y))])
        if np.ptp(gone) == 0:
            both, diagonal = self._solve(right, float(lam[0]))
            totals = both.sum(axis=0)
        else:
            both, diagonal, totals = self._solve_each(right, lam)
        beta, ones = both[:, :-1], both[:, -1]
        if self.intercept:
            beta = beta - ones[:, None] * (totals[..., :-1] / totals[..., -1:])
            diagonal = diagonal - ones**2 / totals[..., -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            full = beta / diagonal[:, None]
        share = gone / self.weight
        if (share == 1.0).all():
            return full
        # λβ/w are the residuals with all rows, and 1 − λ·diagonal/w the leverages.
        left = (1.0 - share) + share * lam * diagonal / self.weight
        return np.where(share[:, None] == 1.0, full, (lam / self.weight / left)[:, None] * beta)

    def _solve_each(self, right: Floats, lam: Floats) -> tuple[Floats, Floats, Floats]:
        """As `_solve`, row i and the sums of all rows with a λ of its own."""
        shrink = 1.0 / (self.values + lam[:, None]) - (0.0 if self.whole else 1.0 / lam[:, None])
        scaled = right * self.root[:, None]
        inside, sums = self.U.T @ scaled, self.U.T @ self.root
        both, diagonal = (self.U * shrink) @ inside, (self.U**2 * shrink).sum(axis=1)
        totals = (shrink * sums) @ inside
        if not self.whole:
            both, diagonal = both + scaled / lam[:, None], diagonal + 1.0 / lam
            totals = totals + (self.root @ scaled) / lam[:, None]
        return both * self.root[:, None], diagonal * self.root**2, totals
