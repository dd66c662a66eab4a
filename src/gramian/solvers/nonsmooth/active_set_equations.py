"""Piecewise-linear losses: the optimum whose active set is known, as the solution of linear equations."""

import numpy as np

from gramian._core.types import Floats

MAX_ROUNDS = 4
MAX_ACTIVE_DISTANCE = 1e-6  # from the breakpoint, over the mean distance
SLACK = 1e-9


def active_set_optimum(
    Z: Floats, breakpoints: list[Floats], share: Floats, penalty_hessian: Floats, theta: Floats, e: Floats
) -> tuple[Floats, float, Floats, float] | None:
    """θ near the start, its duality gap over the objective, residuals, and the loss; None where no vertex is near.

    Where the penalty is small beside the curvature of active rows, rounding keeps a smoothed loss from the optimum.
    Active rows, at their breakpoint, are equations, all others have the slope of their side: a linear system for θ and
    the slopes of the active rows. Rows that turn out to be on the wrong side change it, a few times.
    """
    at, low, high = breakpoints
    p = len(theta)
    unit = float(np.diagonal(penalty_hessian).max())
    far = float(share @ np.abs(e))
    active = np.abs(e) <= MAX_ACTIVE_DISTANCE * far
    slopes = np.where(e > 0, high, low)
    for _ in range(MAX_ROUNDS):
        F = np.flatnonzero(active)
        if not len(F) or len(F) > 2 * p:
            return None
        slopes[F] = 0.0
        A = np.zeros((p + len(F), p + len(F)))
        A[:p, :p] = penalty_hessian / unit
        A[:p, p:] = Z[F].T
        A[p:, :p] = Z[F]
        try:
            solution = np.linalg.solve(A, np.concatenate([(share * slopes) @ Z / -unit, at[F]]))
        except np.linalg.LinAlgError:
            return None
        theta = solution[:p]
        slopes[F] = solution[p:] * (unit / share[F])
        e = Z @ theta - at
        room = SLACK * max(far, 1.0)
        if not (np.abs(e[F]) <= room).all():
            return None
        e[F] = 0.0
        below, above = slopes < low, slopes > high
        wrong = ~active & (low < high) & np.where(slopes == high, e < -room, e > room)
        slopes = np.clip(slopes, low, high)
        losses = np.maximum(low * e, high * e)
        penalty_gradient = penalty_hessian @ theta
        gradient = (share * slopes) @ Z + penalty_gradient
        loss = float(share @ losses)
        value = loss + 0.5 * float(theta @ penalty_gradient)
        diagonal = np.diagonal(penalty_hessian)
        free = diagonal <= 0
        unmet = 0.5 * float((gradient[~free] ** 2 / diagonal[~free]).sum()) + far * float(np.abs(gradient[free]).sum())
        gap = (float(share @ (losses - slopes * e)) + unmet) / max(abs(value), 1e-300)
        if not (below.any() or above.any() or wrong.any()):
            return theta, gap, e, loss
        active = (active & ~below & ~above) | wrong
    return None
