"""Stochastic gradient steps, compiled: the rules, and whole runs of mini-batches for losses of one output."""

from typing import Any, cast

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.types import Floats
from gramian.objective.losses.base import Loss, PiecewiseLinear
from gramian.objective.losses.regression import Huber

PLAIN, MOMENTUM, ADAGRAD, RMSPROP, ADAM = range(5)
SLOPES = ("piecewise_linear", "squared", "logistic", "poisson", "squared_hinge", "huber")
PIECEWISE_LINEAR, SQUARED, LOGISTIC, POISSON, SQUARED_HINGE, HUBER = range(6)
KEPT = 0.9  # share of the mean square of the gradient that RMSProp keeps from step to step
KEPT_LONG = 0.999  # the same for Adam
_FAST = {"reassoc", "contract", "arcp", "nsz"}


def compiled_loss(loss: Loss, y: Floats) -> tuple[int, Floats, Floats, Floats] | None:
    """The number of a loss and three arrays that say its slope at each row; None for losses not compiled here."""
    if not loss.compiled_slope:
        return None
    code = SLOPES.index(loss.compiled_slope)
    if code == PIECEWISE_LINEAR:
        return code, *cast(PiecewiseLinear, loss).breakpoint(y)
    if code == HUBER:
        huber = cast(Huber, loss)
        return code, y, np.array([huber.delta]), np.array([huber.unit])
    return code, y, np.zeros(1), np.zeros(1)


@njit(cache=True, nogil=True, inline="always")
def _slope(code: int, a: Any, b: Any, c: Any, i: int, f: float) -> float:  # pragma: no cover - compiled
    """∂ loss / ∂ f of row i."""
    y = a[i]
    if code == PIECEWISE_LINEAR:
        return c[i] if f > y else (b[i] if f < y else 0.5 * (b[i] + c[i]))
    if code == SQUARED:
        return 2.0 * (f - y)
    if code == LOGISTIC:
        e = np.exp(-abs(f))
        return -y * e / (1.0 + e) if y * f > 0 else -y / (1.0 + e)
    if code == POISSON:
        return np.exp(min(f, 700.0)) - y
    if code == SQUARED_HINGE:
        return -2.0 * y * max(1.0 - y * f, 0.0)
    return 2.0 * min(max((f - y) / c[0], -b[0]), b[0]) / c[0]


@njit(cache=True, nogil=True, inline="always")
def _move(
    rule: int, length: float, momentum: float, warm: Any, tiny: float, stiff: float, x: float, g: float, energy: float,
    memory: Any, k: int,
) -> tuple[float, float]:  # pragma: no cover - compiled  # fmt: skip
    """Where coordinate k goes from x, and the length of its step.

    `memory` is the point before (momentum) or the mean gradient (Adam), and the squares of the gradient; `warm` are
    the shares of their weights that have come together so far.
    """
    direction = g
    if rule == ADAGRAD:
        memory[1, k] += energy
        length /= np.sqrt(memory[1, k]) + tiny
    elif rule == RMSPROP:
        memory[1, k] = KEPT * memory[1, k] + (1.0 - KEPT) * energy
        length /= np.sqrt(memory[1, k]) + tiny
    elif rule == ADAM:
        memory[0, k] = momentum * memory[0, k] + (1.0 - momentum) * g
        memory[1, k] = KEPT_LONG * memory[1, k] + (1.0 - KEPT_LONG) * energy
        direction = memory[0, k] / warm[0]
        length /= np.sqrt(memory[1, k] / warm[1]) + tiny
    length /= 1.0 + 2.0 * length * stiff
    new = x - length * direction
    if rule == MOMENTUM:
        new += momentum * (x - memory[0, k])
        memory[0, k] = x
    return new, length


@njit(cache=True, nogil=True)
def move_all(
    rule: int, t: int, base: Any, momentum: float, tiny: float, stiff: Any, theta: Any, g: Any, energy: Any, memory: Any
) -> Any:  # pragma: no cover - compiled
    """One step of every coordinate: where each goes, and the length of its step; `memory` is brought up to date."""
    new, lengths = np.empty_like(theta), np.empty_like(theta)
    warm = (1.0 - momentum**t, 1.0 - KEPT_LONG**t)
    for k in range(len(theta)):
        new[k], lengths[k] = _move(rule, base[k], momentum, warm, tiny, stiff[k], theta[k], g[k], energy[k], memory, k)
    return new, lengths


@njit(cache=True, nogil=True, fastmath=_FAST)
def run_batches(
    Z: Any, indices: Any, indptr: Any, code: int, a: Any, b: Any, c: Any, weight: Any, mean_weight: float,
    batch: int, rule: int, t: int, rates: Any, unit: Any, momentum: float, tiny: float,
    twice: Any, stiff: Any, l1: Any, low: Any, high: Any, offset: int,
    theta: Any, memory: Any, average: Any, seen: int,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    """Mini-batches one after the other over standardised rows: dense (k, p), or CSR with its data (1, nnz).

    `t` steps were taken before. θ, `memory` and, where `seen` is not negative, the average of the iterates are brought
    up to date. `offset` is the place of the intercept of sparse rows, or −1.
    """
    n, p = len(weight), len(theta)
    g, lengths, held = np.empty(p), np.empty(p), -1.0
    bare = rule == PLAIN and not l1.any() and np.isinf(low).all() and np.isinf(high).all()
    for number in range(len(rates)):
        start, stop = number * batch, min((number + 1) * batch, n)
        g[:] = 0.0
        for i in range(start, stop):
            f = 0.0
            if indptr is None:
                for j in range(p):
                    f += Z[i, j] * theta[j]
            else:
                if offset >= 0:
                    f = theta[offset]
                for q in range(indptr[i], indptr[i + 1]):
                    f += Z[0, q] * theta[indices[q]]
            slope = weight[i] * _slope(code, a, b, c, i, f)
            if slope == 0.0:
                continue
            if indptr is None:
                for j in range(p):
                    g[j] += slope * Z[i, j]
            else:
                if offset >= 0:
                    g[offset] += slope
                for q in range(indptr[i], indptr[i + 1]):
                    g[indices[q]] += slope * Z[0, q]
        t += 1
        share = 1.0 / ((stop - start) * mean_weight)
        warm = (1.0 - momentum**t, 1.0 - KEPT_LONG**t)
        if bare:  # the usual case, in one loop without branches
            if rates[number] != held:
                held = rates[number]
                for k in range(p):
                    lengths[k] = held * unit[k] / (1.0 + 2.0 * held * unit[k] * stiff[k])
            for k in range(p):
                theta[k] -= lengths[k] * (g[k] * share + twice[k] * theta[k])
        else:
            for k in range(p):
                x = theta[k]
                slope = g[k] * share + twice[k] * x
                new, length = _move(
                    rule, rates[number] * unit[k], momentum, warm, tiny, stiff[k], x, slope, slope * slope, memory, k
                )
                shrink = length * l1[k]
                if shrink > 0.0:
                    new = new - shrink if new > shrink else (new + shrink if new < -shrink else 0.0)
                if new < low[k]:
                    new = low[k]
                elif new > high[k]:
                    new = high[k]
                theta[k] = new
        if seen >= 0:
            seen += 1
            for k in range(p):
                average[k] += (theta[k] - average[k]) / seen
