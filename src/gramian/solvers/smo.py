"""Dual problems of kernel machines: a quadratic within bounds, on working sets of rows of the kernel matrix."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gramian.solvers.kernel_rows import FEW, KernelRows

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
WORKING = 4096  # variables solved for at once
MOST_INNER = 100_000
PATIENCE = 8  # rounds between two looks at which rows are settled
LEAST, MOST_ACTIVE = 2000, 0.7  # fewer rows are not worth it, and a larger share is nearly all of them
STALLED = 0.7  # of the violation left between two looks in double precision
MOST_FREE = 1000  # variables whose equations are solved at the end
FIRM = 1e-3  # of the violation at the start of a working set, at which it is solved


@dataclass(frozen=True, eq=False)
class Dual:
    """min ½ βᵀKβ − cᵀβ for low ≤ β ≤ high, and Σβ = Σβ at the start where it is `balanced`.

    Variable v belongs to row `row[v]` of the kernel matrix: regression has two variables a row.
    """

    c: Floats
    low: Floats
    high: Floats
    row: Index
    balanced: bool = True


@dataclass(eq=False)
class Found:
    """β, the function f = Kβ at every row, the multiplier of the balance, and the violation that is left."""

    beta: Floats
    f: Floats
    offset: float
    violation: float
    rounds: int
    steps: int


def minimise(
    dual: Dual,
    rows: KernelRows,
    start: Floats | None = None,
    *,
    tol: float = 1e-4,
    max_rounds: int = 2000,
    first: Index | None = None,
    inner: bool = False,
) -> Found:
    """Working sets of the variables that violate optimality most, each solved by steps of two variables.

    A round costs the kernel rows of its set, 1024 × n, and one product with them; they are computed once where they fit
    in memory. The last rounds are on f in double precision.
    """
    beta = np.clip(np.zeros_like(dual.c), dual.low, dual.high) if start is None else start.copy()
    f = rows.product(by_row(dual, beta, rows.n)) if beta.any() else np.zeros(rows.n)
    rounds = steps = 0
    look, last, before = PATIENCE, np.inf, rows.n
    if first is not None:
        found = _on_some(dual, rows, beta, f, first, tol, max_rounds)
        f = f + rows.product(by_row(dual, found.beta - beta, rows.n))
        beta, rounds, steps, exact, look = found.beta, found.rounds, found.steps, False, 0
    exact = rows.n <= FEW or not beta.any()  # whether f is in double precision
    while True:
        G = f[dual.row] - dual.c
        top, bottom = _ends(dual, beta, G)
        violation = top - bottom
        if violation <= tol or rounds >= max_rounds:
            if exact or inner or rounds >= max_rounds:
                break
            f, exact = rows.times(by_row(dual, beta, rows.n)), True
            continue
        if exact and rounds:
            if violation > STALLED * last:  # what is left is the rounding of single precision
                break
            last = violation
        if rounds >= look:
            look = rounds + PATIENCE
            some = _unsettled(dual, beta, G, top, bottom)
            if LEAST < len(some) < MOST_ACTIVE * rows.n:
                found = _on_some(dual, rows, beta, f, some, tol, max_rounds - rounds)
                f = f + rows.product(by_row(dual, found.beta - beta, rows.n))
                beta, rounds, steps = found.beta, rounds + max(found.rounds, 1), steps + found.steps
                exact, look = False, rounds + (0 if len(some) < 0.5 * before else PATIENCE)
                before = len(some)
                continue
        work = _working_set(dual, beta, G)
        block = rows.rows(dual.row[work])
        K = block.columns(dual.row[work])
        new, g = beta[work], G[work].copy()
        enough = max(0.2 * tol, min(0.1 * violation, FIRM)) if violation > 10 * tol else 0.2 * tol
        steps += solve_small(K, g, new, dual.low[work], dual.high[work], dual.balanced, enough, MOST_INNER)
        change = new - beta[work]
        beta[work] = new
        rows.add(f, block, change)
        exact = False
        rounds += 1
    offset = 0.5 * (top + bottom) if dual.balanced else 0.0
    answer = Found(beta, f, offset, max(violation, 0.0), rounds, steps)
    return answer if inner else _polished(dual, rows, answer)


def until_gap(
    dual: Dual,
    rows: KernelRows,
    judge: Callable[[Found], tuple[float, float]],
    start: Floats | None = None,
    *,
    eps: float,
    least: float,
    tol: float,
    first: Index | None = None,
    max_rounds: int = 2000,
) -> tuple[Found, float, float]:
    """`minimise` to ever smaller violations, from eps down to `least`, until the gap is within tol.

    `judge` gives the objective and its relative duality gap; the answer is what was found, and both.
    """
    rounds = 0
    while True:
        found = minimise(dual, rows, start, tol=eps, max_rounds=max_rounds, first=first)
        rounds += found.rounds
        value, gap = judge(found)
        if gap <= tol or eps < least or found.violation > eps:
            found.rounds = rounds
            return found, value, gap
        eps = min(eps / 10.0, eps * max(tol / gap, 1e-3))
        start, first = found.beta, None


def _polished(dual: Dual, rows: KernelRows, found: Found) -> Found:
    """The variables within their bounds, of which there are few, by the equations they satisfy at the optimum."""
    free = np.flatnonzero((found.beta > dual.low) & (found.beta < dual.high))
    if not 0 < len(free) <= MOST_FREE or len(np.unique(dual.row[free])) < len(free):
        return found
    points = rows.points[dual.row[free]]
    K = rows.kernel.block(points, points)
    right = dual.c[free] - found.f[dual.row[free]]
    if dual.balanced:
        one = np.ones(len(free))
        system = np.block([[K, one[:, None]], [one[None, :], np.zeros((1, 1))]])
        solution = np.linalg.lstsq(system, np.append(right, 0.0), rcond=1e-13)[0]
        change, offset = solution[:-1], float(solution[-1])
    else:
        change, offset = np.linalg.lstsq(K, right, rcond=1e-13)[0], 0.0
    beta = found.beta.copy()
    beta[free] += change
    if (beta[free] < dual.low[free]).any() or (beta[free] > dual.high[free]).any():
        return found
    f = found.f + rows.times(by_row(dual, beta - found.beta, rows.n))
    top, bottom = _ends(dual, beta, f[dual.row] - dual.c)
    if not top - bottom <= max(found.violation, 1e-12):
        return found
    offset = 0.5 * (top + bottom) if dual.balanced else offset
    return Found(beta, f, offset, max(top - bottom, 0.0), found.rounds, found.steps)


def _unsettled(dual: Dual, beta: Floats, G: Floats, top: float, bottom: float) -> Index:
    """Rows with a variable that may still move: not at a bound that optimality already wants it at."""
    if dual.balanced:
        high, low = (top < -G), (bottom > -G)
    else:
        high, low = -top > G, top < G
    settled = ((beta >= dual.high) & high) | ((beta <= dual.low) & low) | (dual.low == dual.high)
    return np.unique(dual.row[~settled])


def _on_some(dual: Dual, rows: KernelRows, beta: Floats, f: Floats, some: Index, tol: float, max_rounds: int) -> Found:
    """The problem of some rows, the others held: their kernel matrix is small, and computed anew."""
    place = np.full(rows.n, -1, dtype=np.int64)
    place[some] = np.arange(len(some))
    mine = np.flatnonzero(place[dual.row] >= 0)
    part = rows.part(some)
    inner = Dual(dual.c[mine], dual.low[mine], dual.high[mine], place[dual.row[mine]], dual.balanced)
    held = f[some] - part.product(by_row(inner, beta[mine], len(some)))
    inner = Dual(inner.c - held[inner.row], inner.low, inner.high, inner.row, inner.balanced)
    found = minimise(inner, part, beta[mine], tol=0.5 * tol, max_rounds=max_rounds, inner=True)
    whole = beta.copy()
    whole[mine] = found.beta
    return Found(whole, f, found.offset, found.violation, found.rounds, found.steps)


def by_row(dual: Dual, beta: Floats, n: int) -> Floats:
    """The coefficient of each row: the sum of its variables."""
    return np.asarray(np.bincount(dual.row, beta, minlength=n), dtype=np.float64)


def _ends(dual: Dual, beta: Floats, G: Floats) -> tuple[float, float]:
    """The largest −G of a variable that may grow, and the smallest of one that may shrink; 0 on the other side of each
    where there is no balance to keep."""
    top = float(np.max(-G, where=beta < dual.high, initial=-np.inf))
    bottom = float(np.min(-G, where=beta > dual.low, initial=np.inf))
    if dual.balanced:
        return top, bottom
    worst = max(top, -bottom, 0.0)
    return worst, 0.0


def _working_set(dual: Dual, beta: Floats, G: Floats) -> Index:
    """Half of those that should grow most and half of those that should shrink most."""
    size = min(WORKING, len(beta))
    up = np.where(beta < dual.high, -G, -np.inf)
    down = np.where(beta > dual.low, G, -np.inf)
    if not dual.balanced:
        score = np.maximum(up, down)
        return np.sort(np.argpartition(-score, size - 1)[:size])
    half = max(size // 2, 1)
    chosen = np.zeros(len(beta), dtype=bool)
    for score in (up, down):
        best = np.argpartition(-score, half - 1)[:half] if half < len(score) else np.arange(len(score))
        chosen[best[np.isfinite(score[best])]] = True
    return np.flatnonzero(chosen)


@njit(cache=True, nogil=True)
def solve_small(
    K: Any, G: Any, beta: Any, low: Any, high: Any, balanced: bool, tol: float, most: int
) -> int:  # pragma: no cover - compiled
    """Steps of two variables (one, where there is no balance), the second chosen by the decrease; in place."""
    q = len(beta)
    for step in range(most):
        i, top, bottom = -1, -np.inf, np.inf
        for t in range(q):
            if beta[t] < high[t] and -G[t] > top:
                top, i = -G[t], t
            if beta[t] > low[t] and -G[t] < bottom:
                bottom = -G[t]
        if not balanced:
            if single(K, G, beta, low, high, tol):
                return step
            continue
        if i < 0 or top - bottom <= tol:
            return step
        j, best, bend = -1, 0.0, 1.0
        for t in range(q):
            if beta[t] > low[t]:
                off = top + G[t]
                if off > 0.0:
                    curve = K[i, i] + K[t, t] - 2.0 * K[i, t]
                    curve = curve if curve > 1e-12 else 1e-12
                    if off * off > best * curve:
                        best, j, bend = off * off / curve, t, curve
        if j < 0:
            return step
        change = (top + G[j]) / bend
        change = min(change, high[i] - beta[i], beta[j] - low[j])
        beta[i] = high[i] if change == high[i] - beta[i] else beta[i] + change
        beta[j] = low[j] if change == beta[j] - low[j] else beta[j] - change
        for t in range(q):
            G[t] += change * (K[i, t] - K[j, t])
    return most


@njit(cache=True, nogil=True)
def single(K: Any, G: Any, beta: Any, low: Any, high: Any, tol: float) -> bool:  # pragma: no cover - compiled
    """One step of the variable with the largest decrease; True where none violates by more than tol."""
    best, i = 0.0, -1
    worst = 0.0
    for t in range(len(beta)):
        g = G[t]
        if (g < 0.0 and beta[t] < high[t]) or (g > 0.0 and beta[t] > low[t]):
            worst = max(worst, abs(g))
            gain = g * g / max(K[t, t], 1e-12)
            if gain > best:
                best, i = gain, t
    if worst <= tol or i < 0:
        return True
    new = min(max(beta[i] - G[i] / max(K[i, i], 1e-12), low[i]), high[i])
    change = new - beta[i]
    beta[i] = new
    for t in range(len(beta)):
        G[t] += change * K[i, t]
    return False
