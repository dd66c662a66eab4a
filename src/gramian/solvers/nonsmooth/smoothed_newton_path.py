"""Newton's method on a smoothed piecewise-linear loss with decreasing smoothing width, compiled, from a warm start."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit

MAX_STEPS = 300
MAX_SHRINK, MIN_SHRINK = 100.0, 4.0  # of the width at a time
MAX_CROSSING = 0.1  # of the curved rows, so many that come or go with the width
MAX_UNSETTLED = 0.3  # share of the gap that Newton's method may leave before the width shrinks
BAND = 3.0  # widths from the breakpoint beyond which rows are taken to stay on their side
ROUNDING_FACTOR = 10.0  # tolerances within which a gap that grows is rounding
FIRST_WIDTH = 0.5  # of the distance of those rows from their breakpoint: the first width
COLD_SHARE = 0.2  # share of the rows, nearest to their breakpoint, that are curved first without a warm start
MAX_SLOPE_BEFORE, MAX_SLOPE_AFTER = 0.3, 0.003  # of a line search, over the first slope, about the minimum


@njit(cache=True, nogil=True)
def smoothed_newton(
    Z: Any,
    breakpoint: Any,
    low: Any,
    high: Any,
    share: Any,
    penalty_hessian: Any,
    start: Any,
    first_width: float,
    tol: float,
) -> Any:  # pragma: no cover - compiled
    """θ near the minimum of Σ share · loss + ½ θᵀHθ, its duality gap over the objective, residuals, and how far.

    H is `penalty_hessian`. The slope of a row goes from low to high over a width around its breakpoint, so that slopes
    are a point of the dual. The width decreases by a factor that leaves nearly the same rows within it, and θ moves to
    where the minimum is then. Rows far beyond the width are left out from there on, with the slope of their side, until
    the gap of all rows is computed. `first_width` suits the distance of the minimum, and is 0 where that is unknown.
    The last two of what is returned are Zθ − breakpoint, and the root of its mean squared change.
    """
    n, p = Z.shape
    all_breakpoints, all_low, all_high, all_share = breakpoint, low, high, share
    A, theta = Z, start
    first = np.dot(A, theta) - breakpoint
    e = first
    sizes = np.abs(e)
    mean = max(np.dot(share, sizes), 1e-300)
    count = min(p if first_width > 0.0 else max(p, int(COLD_SHARE * n)), n - 1)
    width = max(first_width, FIRST_WIDTH * np.partition(sizes, count)[count], 1e-9 * mean)
    middle, rise = 0.5 * (low + high), high - low
    s = np.minimum(np.maximum(middle + rise * (e / width), low), high)
    slopes, rows = s.copy(), np.arange(n)
    sums = np.dot(share * s, A)
    left_out, constant = np.zeros(p), 0.0  # the losses of rows left out, as a linear function of θ
    diagonal = np.diag(penalty_hessian)
    penalised = diagonal > 0.0
    inverse = np.where(penalised, 1.0 / np.where(penalised, diagonal, 1.0), 0.0)
    free = np.where(penalised, 0.0, mean)
    gap, shrink, stalled, steps = np.inf, MAX_SHRINK, False, 0
    while True:
        new = np.minimum(np.maximum(middle + rise * (e / width), low), high)
        change = share * (new - s)
        changed = np.flatnonzero(change)
        if 3 * len(changed) > len(rows):
            sums = sums + np.dot(change, A)
        elif len(changed):
            sums = sums + np.dot(change[changed], A[changed])
        s = new
        losses = np.maximum(low * e, high * e)
        penalty_gradient = np.dot(penalty_hessian, theta)
        gradient = sums + penalty_gradient
        value = np.dot(share, losses) + np.dot(left_out, theta) - constant + 0.5 * np.dot(theta, penalty_gradient)
        smoothing = np.dot(share, losses - s * e)
        unmet = 0.5 * np.dot(gradient * gradient, inverse) + np.dot(np.abs(gradient), free)
        last, gap = gap, (smoothing + unmet) / max(abs(value), 1e-300)
        finished = gap <= tol or last <= gap <= ROUNDING_FACTOR * tol or width <= 1e-13 * mean or steps >= MAX_STEPS
        if finished and len(rows) < n:
            slopes[rows] = s
            A, breakpoint, low, high, share = Z, all_breakpoints, all_low, all_high, all_share
            middle, rise = 0.5 * (low + high), high - low
            s, rows = slopes.copy(), np.arange(n)
            left_out, constant = np.zeros(p), 0.0
            e = np.dot(A, theta) - breakpoint
            sums = np.dot(share * s, A)
            losses = np.maximum(low * e, high * e)
            gradient = sums + penalty_gradient
            value = np.dot(share, losses) + 0.5 * np.dot(theta, penalty_gradient)
            unmet = 0.5 * np.dot(gradient * gradient, inverse) + np.dot(np.abs(gradient), free)
            gap = (np.dot(share, losses - s * e) + unmet) / max(abs(value), 1e-300)
            if gap > ROUNDING_FACTOR * tol and width > 1e-13 * mean and steps < MAX_STEPS:
                steps += 1
                continue
        if finished:
            break
        steps += 1
        settled = stalled or unmet <= MAX_UNSETTLED * smoothing
        if settled:
            close = np.abs(e) <= BAND * width
            kept = np.flatnonzero(close)
            if len(kept) > p and 2 * len(kept) < len(rows):
                slopes[rows] = s
                far = np.flatnonzero(~close)
                left_out = left_out + np.dot((share * s)[far], A[far])
                constant += np.sum((share * s * breakpoint)[far])
                A, breakpoint, low, high = A[kept], breakpoint[kept], low[kept], high[kept]
                share, e, s, rows = share[kept], e[kept], s[kept], rows[kept]
                middle, rise = 0.5 * (low + high), high - low
        inside = (s > low) & (s < high)
        curved = np.flatnonzero(inside)
        part = A[curved]
        while True:
            next_width = width / shrink if settled else width
            hessian, right = penalty_hessian.copy(), gradient
            if len(curved):
                hessian += np.dot(part.T, part * ((share * rise)[curved] / next_width).reshape(-1, 1))
                if settled:
                    aim = middle[curved] + rise[curved] * (e[curved] / next_width)
                    right = gradient + np.dot(share[curved] * (aim - s[curved]), part)
            lift = 1e-13 * np.max(np.diag(hessian))
            for j in range(p):
                if not penalised[j]:
                    hessian[j, j] += lift
            direction = -np.linalg.solve(hessian, right)
            along = np.dot(A, direction)
            if not settled:
                break
            next_s = middle + rise * ((e + along) / next_width)
            crossed = np.sum(inside != ((next_s > low) & (next_s < high)))
            if crossed <= MAX_CROSSING * len(curved) or shrink <= MIN_SHRINK:
                break
            shrink = max(np.sqrt(shrink), MIN_SHRINK)
        stalled = False
        if settled:
            theta, e, width, shrink = theta + direction, e + along, next_width, min(shrink * shrink, MAX_SHRINK)
            continue
        slope = np.dot(gradient, direction)
        if not slope < 0.0:
            stalled = True  # what is left is rounding
            continue
        constant_slope = np.dot(direction, penalty_gradient) + np.dot(direction, left_out)
        curvature = np.dot(direction, np.dot(penalty_hessian, direction))
        weighted_change = share * along
        below, above, at_below, at_above, t = 0.0, -1.0, slope, 0.0, 1.0
        for _ in range(30):
            new = np.minimum(np.maximum(middle + rise * ((e + t * along) / width), low), high)
            now = np.dot(weighted_change, new) + constant_slope + t * curvature
            if MAX_SLOPE_BEFORE * slope <= now <= -MAX_SLOPE_AFTER * slope:
                break
            if now < 0.0:
                below, at_below = t, now
            else:
                above, at_above = t, now
            if above < 0.0:
                t *= 4.0
            else:
                t = below + (above - below) * min(max(at_below / (at_below - at_above), 0.1), 0.9)
        theta, e = theta + t * direction, e + t * along
    return theta, gap, e, np.sqrt(np.dot(share, (e - first) ** 2))
