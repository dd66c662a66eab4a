"""Kernel ridge regression at many alphas without eigenvectors: one Householder reduction to a tridiagonal matrix."""

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats
from gramian.solvers.lapack import times_reflectors, tridiagonalize

ROUNDING = 1e-13  # of the norm of the tridiagonal matrix: beside it a smaller λ may leave it indefinite


class TridiagonalPath:
    """Every alpha from D^½ K D^½ = Q T Qᵀ with T tridiagonal: O(n) for the solution of T + λ, O(n²) for Q.

    The reduction takes a quarter of the time of an eigendecomposition. It has no closed form for rows that are left
    out, so that it is for training parts, each reduced by itself.
    """

    def __init__(self, K: Floats, Y: Floats, weight: Floats, intercept: bool) -> None:
        """K is symmetric, and overwritten."""
        self.intercept, self.n, self.root = intercept, len(Y), np.sqrt(weight)[:, None]
        self.reflectors = np.asfortranarray(K.T)
        if not (weight == 1.0).all():
            self.reflectors *= self.root
            self.reflectors *= self.root.T
        self.diagonal, self.beside, self.scales = tridiagonalize(self.reflectors)
        self.right = np.asfortranarray(np.column_stack([Y, np.ones(self.n)]) * self.root)
        times_reflectors(self.reflectors, self.scales, self.right, transposed=True)
        beside = np.abs(np.concatenate([[0.0], self.beside[: self.n - 1], [0.0]]))
        self.least = ROUNDING * float((np.abs(self.diagonal) + beside[1:] + beside[:-1]).max())

    def at(self, lams: Floats) -> tuple[Floats, Floats]:
        """β (n, A, t) and b (A, t) at each λ = alpha Σw; NaN where λ is rounding beside K."""
        t = self.right.shape[1] - 1
        beta, b = np.full((self.n, len(lams) * t), np.nan, order="F"), np.zeros((len(lams), t))
        for i, lam in enumerate(lams):
            if lam <= self.least:
                continue
            x, failed = sl.lapack.dptsv(self.diagonal + lam, self.beside, self.right)[2:]
            if failed:
                continue
            if self.intercept:
                totals = self.right[:, -1] @ x
                b[i] = totals[:-1] / totals[-1]
            beta[:, i * t : (i + 1) * t] = x[:, :-1] - x[:, -1:] * b[i]
        times_reflectors(self.reflectors, self.scales, beta)
        return (beta * self.root).reshape(self.n, len(lams), t), b
