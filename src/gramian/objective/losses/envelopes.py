"""Moreau envelopes of losses: min over x of loss(y, x) + (x − f)² / (2 step), with gradient and curvature in f."""

from typing import Any

import numpy as np

from gramian._core.types import Floats

MAX_ITERATIONS = 200
CLOSE = 1e-15


def scalar_envelope(loss: Any, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
    """Of one output, by Newton's method within a bracket; every third iteration bisects it.

    The proximal point x solves (x − f) / step + loss'(x) = 0 and lies between f and f − step · loss'(f).
    """
    away = f - step * loss.gradient(y, f)
    low, high = np.minimum(f, away), np.maximum(f, away)
    x = f.copy()
    for iteration in range(MAX_ITERATIONS):
        residual = (x - f) / step + loss.gradient(y, x)
        low, high = np.where(residual <= 0, x, low), np.where(residual >= 0, x, high)
        open_rows = high - low > CLOSE * (np.abs(x) + np.abs(f - x))
        if not open_rows.any():
            break
        with np.errstate(over="ignore", invalid="ignore"):
            newton = x - residual / (1.0 / step + np.abs(loss.curvature(y, x)))
        inside = (newton > low) & (newton < high)
        settled = inside & (np.abs(newton - x) <= CLOSE * np.abs(x))
        if iteration % 3 == 2:
            inside &= settled
        x = np.where(open_rows & ~settled, np.where(inside, newton, 0.5 * (low + high)), x)
        if (settled | ~open_rows).all():
            break
    slope, bend = loss.gradient(y, x), np.abs(loss.curvature(y, x))
    between = np.zeros(len(x), dtype=bool)
    if not loss.smooth:  # at a breakpoint; elsewhere f − x has fewer digits than the slope
        between = np.abs((f - x) / step - slope) > 1e-6 * (np.abs(slope) + np.abs(f - x) / step)
        slope = np.where(between, (f - x) / step, slope)
    with np.errstate(divide="ignore"):
        curvature = np.where(between, 1.0 / step, 1.0 / (step + 1.0 / bend))
    return loss.value(y, x) + (x - f) ** 2 / (2.0 * step), slope, curvature


def joint_envelope(loss: Any, y: Floats, f: Floats, step: float) -> tuple[Floats, Floats, Floats]:
    """Of several outputs of a smooth loss, f (n, k), by Newton's method, shortened until the sum falls."""
    eye = np.eye(f.shape[1]) / step
    x = f.copy()

    def objective(x: Floats) -> Floats:
        return np.asarray(loss.value(y, x) + ((x - f) ** 2).sum(axis=1) / (2.0 * step))

    value = objective(x)
    for _ in range(MAX_ITERATIONS):
        residual = (x - f) / step + loss.gradient(y, x)
        change = -np.linalg.solve(loss.curvature(y, x) + eye, residual[..., None])[..., 0]
        fall = (residual * change).sum(axis=1)
        length = np.ones(len(f))
        for _ in range(40):
            trial = objective(x + length[:, None] * change)
            short = trial > value + 1e-4 * length * fall + 1e-15 * np.abs(value)
            if not short.any():
                break
            length = np.where(short, 0.5 * length, length)
        length = np.where(short, 0.0, length)
        x = x + length[:, None] * change
        value = objective(x)
        if (np.abs(change).max(axis=1) <= CLOSE * (1.0 + np.abs(x).max(axis=1))).all():
            break
    bend = loss.curvature(y, x)
    return value, loss.gradient(y, x), np.linalg.solve(eye * step + step * bend, bend)


def simplex_projection(v: Floats) -> Floats:
    """The nearest point of each row with entries of at least 0 that sum to 1."""
    ordered = -np.sort(-v, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, v.shape[1] + 1)
    count = (ordered > excess).sum(axis=1)
    return np.maximum(v - excess[np.arange(len(v)), count - 1][:, None], 0.0)
