"""Mehrotra predictor–corrector interior point (1992) for the dual of a kernel machine with few rows."""

from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core import deadline
from gramian._core.types import Floats, Ints
from gramian.rows import single_threaded_blas

Index = Ints
MAX_ITERATIONS = 100
COMPLEMENTARITY = 1e-15  # of the scale of c, at which it ends
TO_BOUNDARY = 0.995  # share of the longest step
STALLED = 10  # iterations without progress


def interior_point(
    K: Floats, c: Floats, low: Floats, high: Floats, row: Index, balance: float | None
) -> tuple[Floats, int]:
    """β of min ½ βᵀKβ − cᵀβ within low ≤ β ≤ high, Σβ = balance unless None, and the iterations it took.

    Variable v belongs to row `row[v]` of K. The matrix is divided by its mean diagonal first, so that the units of the
    kernel do not matter. An iteration costs one Cholesky decomposition of as many rows as K has.
    """
    n = len(K)
    unit = float(np.mean(np.abs(np.diagonal(K)))) or 1.0
    scale = float(np.abs(c).mean()) or 1.0
    free = np.flatnonzero(high > low)
    if not len(free):
        return low.copy(), 0
    # β = γ · scale / unit: the problem of γ has K of mean diagonal one and c of mean size one
    held = np.bincount(row, np.where(high > low, 0.0, low), n)
    problem = _Scaled(
        K / unit,
        (c - (K @ held)[row])[free] / scale,
        low[free] / scale * unit,
        high[free] / scale * unit,
        row[free],
        None if balance is None else (balance - held.sum()) / scale * unit,
    )
    with single_threaded_blas(), np.errstate(all="ignore"):
        x, iterations = problem.solve()
    beta = low.copy()
    beta[free] = np.clip(x * (scale / unit), low[free], high[free])
    return beta, iterations


class _Scaled:
    """The problem in units of its own."""

    def __init__(self, K: Floats, c: Floats, low: Floats, high: Floats, row: Index, balance: float | None) -> None:
        self.K, self.c, self.low, self.high, self.row, self.balance = K, c, low, high, row, balance
        self.n, self.width = len(K), high - low

    def solve(self) -> tuple[Floats, int]:
        away = np.minimum(0.5 * self.width, 1.0)
        x = np.clip(np.zeros(len(self.c)), self.low + away, self.high - away)
        u, v = x - self.low, self.high - x  # kept as they are: near a bound their digits are not those of x
        below, above, offset = np.ones_like(x), np.ones_like(x), 0.0
        best, answer, waited, iterations = np.inf, x, 0, 0
        for _ in range(MAX_ITERATIONS):
            iterations += 1
            x = np.where(u < v, self.low + u, self.high - v)
            dual = self.times(x) - self.c + offset - below + above
            primal = 0.0 if self.balance is None else self.balance - float(x.sum())
            complementarity = float(u @ below + v @ above) / (2 * len(x))
            residual = max(
                complementarity,
                float(np.abs(dual).max()),
                abs(primal) / max(float(np.abs(x).sum()), 1.0),
            )
            if not np.isfinite(residual):
                break
            if residual < 0.9 * best:
                best, answer, waited = residual, x.copy(), 0
            else:
                waited += 1
            if residual <= COMPLEMENTARITY or waited > STALLED or deadline.passed():
                break
            theta = below / u + above / v
            system = self._factored(theta)
            if system is None:
                break
            # predictor
            right = -dual - below + above
            dx, step_offset = self._direction(system, theta, right, primal)
            dl, dh = -below - below / u * dx, -above + above / v * dx
            p, d = _longest(u, dx, v, -dx), _longest(below, dl, above, dh)
            after = float((u + p * dx) @ (below + d * dl) + (v - p * dx) @ (above + d * dh)) / (2 * len(x))
            target = complementarity * min((max(after, 0.0) / max(complementarity, 1e-300)) ** 3, 1.0)
            # corrector
            low_term, high_term = (target - dx * dl) / u, (target + dx * dh) / v
            right = -dual + (low_term - below) - (high_term - above)
            dx, step_offset = self._direction(system, theta, right, primal)
            dl = low_term - below - below / u * dx
            dh = high_term - above + above / v * dx
            if not (np.isfinite(dx).all() and np.isfinite(dl).all() and np.isfinite(dh).all()):
                break
            step = min(TO_BOUNDARY * min(_longest(u, dx, v, -dx), _longest(below, dl, above, dh)), 1.0)
            u, v, offset = u + step * dx, v - step * dx, offset + step * step_offset
            below, above = below + step * dl, above + step * dh
        return self._at_bounds(answer), iterations

    def times(self, x: Floats) -> Floats:
        return np.asarray((self.K @ np.bincount(self.row, x, self.n))[self.row])

    def _factored(self, theta: Floats) -> Any:
        """Cholesky of K + 1 / Σθ⁻¹, the sums over the variables of a row; rows without variables are left out."""
        inverse = np.bincount(self.row, 1.0 / theta, self.n)
        some = np.flatnonzero(inverse > 0)
        A = self.K[np.ix_(some, some)].copy()
        diagonal = np.diag_indices(len(some))
        plain = A[diagonal] + 1.0 / inverse[some]
        for lift in (0.0, 1e-15, 1e-13, 1e-11):
            A[diagonal] = plain * (1.0 + lift) + lift
            try:
                return some, inverse, sl.cho_factor(A, lower=True, check_finite=False)
            except np.linalg.LinAlgError:
                continue
        return None

    def _direction(self, system: Any, theta: Floats, right: Floats, primal: float) -> tuple[Floats, float]:
        """dx, and the change of the offset, with (K + Θ) dx + offset = right and Σdx = primal."""
        dx = self._solved(system, theta, right)
        if self.balance is None:
            return dx, 0.0
        ones = self._solved(system, theta, np.ones_like(theta))
        offset = (float(dx.sum()) - primal) / float(ones.sum())
        return dx - offset * ones, offset

    def _solved(self, system: Any, theta: Floats, right: Floats) -> Floats:
        some, inverse, factor = system
        sums = np.bincount(self.row, right / theta, self.n)[some] / inverse[some]
        by_row = np.zeros(self.n)
        by_row[some] = sl.cho_solve(factor, sums, check_finite=False)
        # K s = (sums − s / Σθ⁻¹): without the cancellation of a product with K
        product = np.zeros(self.n)
        product[some] = sums - by_row[some] / inverse[some]
        return np.asarray((right - product[self.row]) / theta)

    def _at_bounds(self, x: Floats) -> Floats:
        """Variables that are at a bound but for rounding put there; what that moves is given to the others."""
        near = 1e-9 * np.minimum(self.width, np.abs(x).max())
        found = np.where(x - self.low <= near, self.low, np.where(self.high - x <= near, self.high, x))
        if self.balance is not None:
            between = (found > self.low) & (found < self.high)
            room = np.where(between, np.minimum(found - self.low, self.high - found), 0.0)
            if room.sum() > 0:
                found = found + (self.balance - float(found.sum())) * room / room.sum()
        return np.asarray(found)


def _longest(*pairs: Floats) -> float:
    """The longest step, at most one, that keeps values above zero: value, change, value, change."""
    step = 1.0
    for value, change in zip(pairs[::2], pairs[1::2], strict=True):
        down = change < 0
        if down.any():
            step = min(step, float((value[down] / -change[down]).min()))
    return step
