"""Dual problems of kernel machines: a quadratic within bounds, on working sets of rows of the kernel matrix."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from scipy.optimize import minimize_scalar

from gramian._core import deadline
from gramian._core.types import Floats, Ints
from gramian.solvers.kernel.box_interior import interior_point
from gramian.solvers.kernel.kernel_rows import FEW, KernelRows
from gramian.solvers.kernel.smo_steps import solved_small

Index = Ints
WORKING, WARM = 4096, 2048  # variables solved for at once; from the answer of a neighbouring problem
MOST_INNER = 100_000
SHARES = (1.0, 0.5, 0.25, 0.1, 0.0)  # of a function that is not finished
MOST_WHOLE_ROUNDS = 20  # of working sets of all variables
LEAST_STEPS, STEPS_PER_VARIABLE = 5_000, 500  # of a fit
PATIENCE = 8  # rounds between two looks at which rows are settled
LEAST, MOST_ACTIVE = 2000, 0.7  # fewer rows are not worth it, and a larger share is nearly all of them
STALLED = 0.7  # of the violation left between two looks in double precision
MOST_FREE = 1000  # variables whose equations are solved at the end
FEW_FREE = 200  # and are so even where the gap is within its tolerance
MOST_ENDS = 5  # times that variables of the last equations are put on their bounds
MOST_NEAR, SURE = 0.2, 20.0  # share of the rows, and times the rounding that was seen: else f is computed at all
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
class SMOResult:
    """β, the function f = Kβ at every row, the multiplier of the balance, and the violation that is left."""

    beta: Floats
    f: Floats
    offset: float
    violation: float
    rounds: int
    steps: int
    exact: bool = False  # whether f is in double precision at every row, not only where it decides


@dataclass(frozen=True, eq=False)
class Start:
    """β to start from, and f = Kβ where it is known: in double precision, or nearly so."""

    beta: Floats
    f: Floats | None = None
    exact: bool = False

    def scaled(self, share: float) -> "Start":
        return Start(self.beta * share, None if self.f is None else self.f * share, self.exact)


def minimise(
    dual: Dual,
    rows: KernelRows,
    start: "Start | None" = None,
    *,
    tol: float = 1e-4,
    max_rounds: int = 2000,
    max_steps: int | None = None,
    inner: bool = False,
    polish: bool = True,
) -> SMOResult:
    """Working sets of the variables that violate optimality most, each solved by steps of two variables.

    A round costs the kernel rows of its set, 1024 × n, and one product with them; they are computed once where they fit
    in memory. The last rounds are on f in double precision, of the rows near their margin or of all. It ends after
    `max_steps` steps, of which there are a number proportional to the variables unless it is given, or by a deadline.
    """
    max_steps = work_limit(dual) if max_steps is None else max_steps
    beta = _within(dual, np.zeros_like(dual.c) if start is None else start.beta)
    f = np.zeros(rows.n) if not beta.any() else None if start is None or start.f is None else start.f.copy()
    whole = rows.n <= FEW or not beta.any() or (start is not None and start.exact)  # in double precision at every row
    known = (beta.copy(), f.copy()) if whole and f is not None else None  # where it was last so
    f = rows.product(by_row(dual, beta, rows.n)) if f is None else f
    rounds = steps = 0
    size = WORKING if start is None or start.f is None else WARM
    if len(beta) <= size:  # every round solves for all: what is left after some is rounding
        max_rounds = min(max_rounds, MOST_WHOLE_ROUNDS)
    look, last, before = PATIENCE, np.inf, rows.n
    exact = whole  # whether f is in double precision where it decides
    while True:
        G = f[dual.row] - dual.c
        top, bottom = _ends(dual, beta, G)
        violation = top - bottom
        ended = rounds >= max_rounds or steps >= max_steps or (violation > tol and deadline.passed())
        if violation <= tol or ended:
            if exact or inner or ended:
                break
            near = _at_margins(dual, rows, beta, f, top, bottom, 10.0 * tol)
            whole, exact = near is None, True
            f = _in_full(dual, rows, beta, known) if near is None else near
            known = (beta.copy(), f.copy()) if whole else known
            continue
        if exact and rounds:
            if violation > STALLED * last:  # what is left is the rounding of single precision
                break
            last = violation
        if rounds >= look:
            look = rounds + PATIENCE
            some = _unsettled(dual, beta, G, top, bottom)
            if LEAST < len(some) < MOST_ACTIVE * rows.n:
                found = _on_some(dual, rows, beta, f, some, tol, max_rounds - rounds, max_steps - steps)
                f = f + rows.product(by_row(dual, found.beta - beta, rows.n))
                beta, rounds, steps = found.beta, rounds + max(found.rounds, 1), steps + found.steps
                exact, whole, look = False, False, rounds + (0 if len(some) < 0.5 * before else PATIENCE)
                before = len(some)
                continue
        work = _working_set(dual, beta, G, size)
        K = rows.square(dual.row[work])
        new, g = beta[work], G[work].copy()
        enough = max(0.2 * tol, min(0.1 * violation, FIRM)) if violation > 10 * tol else 0.2 * tol
        most = min(MOST_INNER, max_steps - steps)
        steps += solved_small(K, g, new, dual.low[work], dual.high[work], dual.balanced, enough, most)
        change = new - beta[work]
        beta[work] = new
        rows.add(f, dual.row[work], change)
        exact = whole = False
        rounds += 1
    offset = _middle(top, bottom) if dual.balanced else 0.0
    answer = SMOResult(beta, f, offset, max(violation, 0.0), rounds, steps, whole)
    if inner or not polish or (violation > tol and deadline.passed()):
        return answer
    return polished(dual, rows, answer)


def solve_to_gap(
    dual: Dual,
    rows: KernelRows,
    judge: Callable[[SMOResult], tuple[float, float]],
    start: Start | None = None,
    *,
    eps: float,
    least: float,
    tol: float,
    max_rounds: int = 2000,
) -> tuple[SMOResult, float, float]:
    """`minimise` to ever smaller violations, from eps down to `least`, until the gap is within tol.

    `judge` gives the objective and its relative duality gap; the answer is what was found, and both. Where the steps
    allowed are not enough, few rows are solved by an interior point.
    """
    rounds, steps = 0, work_limit(dual)
    while True:
        found = minimise(dual, rows, start, tol=eps, max_rounds=max_rounds, max_steps=steps, polish=False)
        rounds, steps = rounds + found.rounds, steps - found.steps
        value, gap = judge(found)
        if not deadline.passed() and (gap > tol or _few_free(dual, found)):
            better = polished(dual, rows, found)
            again = judge(better)
            if again[1] <= max(gap, tol):
                found, (value, gap) = better, again
        if gap <= tol or eps < least or found.violation > eps or steps <= 0:
            if gap > tol and rows.n <= FEW and not deadline.passed():
                other = by_interior_point(dual, rows)
                again = judge(other)
                if again[1] < gap:
                    found, (value, gap) = other, again
                    rounds += other.rounds
            if gap > tol and deadline.passed():
                found = tempered(dual, found, judge)
                value, gap = judge(found)
            found.rounds = rounds
            return found, value, gap
        eps = min(eps / 10.0, eps * max(tol / gap, 1e-3))
        start = Start(found.beta, found.f, found.exact)


def tempered(dual: Dual, found: SMOResult, judge: Callable[[SMOResult], tuple[float, float]]) -> SMOResult:
    """Of the function, half of it, … and none, each with the offset that suits it, the one of least objective.

    Where a deadline ends it the dual is better than at its start, but its function may be worse than none.
    """
    tried = []
    for share in SHARES:
        beta, f = share * found.beta, share * found.f
        away = dual.c - f[dual.row]

        def at(offset: float, beta: Floats = beta, f: Floats = f) -> SMOResult:
            return SMOResult(beta, f, float(offset), found.violation, found.rounds, found.steps)

        offset = found.offset
        if dual.balanced:
            ends = float(away.min()), float(away.max())
            offset = float(minimize_scalar(lambda b, at=at: judge(at(b))[0], ends, bounds=ends, method="bounded").x)
        tried += [at(offset)] if share < 1.0 else [found, at(offset)]
    return min(tried, key=lambda one: judge(one)[0])


def by_interior_point(dual: Dual, rows: KernelRows, balance: float = 0.0) -> SMOResult:
    """The same problem solved with its whole kernel matrix: for few rows that steps of two variables do not settle.

    `balance` is Σβ where that is held.
    """
    K = rows.kernel.matrix(rows.points)
    held = balance if dual.balanced else None
    beta, iterations = interior_point(K, dual.c, dual.low, dual.high, dual.row, held)
    beta = _within(dual, beta)
    f = np.asarray(K @ by_row(dual, beta, rows.n))
    top, bottom = _ends(dual, beta, f[dual.row] - dual.c)
    offset = _middle(top, bottom) if dual.balanced else 0.0
    return SMOResult(beta, f, offset, max(top - bottom, 0.0), iterations, 0, True)


def work_limit(dual: Dual) -> int:
    """Steps of two variables before another method is taken, or the answer is said to be unfinished."""
    return LEAST_STEPS + STEPS_PER_VARIABLE * len(dual.c)


def polished(dual: Dual, rows: KernelRows, found: SMOResult) -> SMOResult:
    """The variables within their bounds, of which there are few, by the equations they satisfy at the optimum."""
    free = np.flatnonzero((found.beta > dual.low) & (found.beta < dual.high))
    if not 0 < len(free) <= MOST_FREE or len(np.unique(dual.row[free])) < len(free):
        return found
    points = rows.points[dual.row[free]]
    K = rows.kernel.block(points, points)
    K[np.diag_indices(len(free))] += 1e-13 * max(float(np.trace(K)), 1e-300)
    room = dual.low[free] - found.beta[free], dual.high[free] - found.beta[free]
    change = _within_room(K, dual.c[free] - found.f[dual.row[free]], *room, dual.balanced)
    if change is None:
        return found
    beta = found.beta.copy()
    beta[free] = np.clip(beta[free] + change, dual.low[free], dual.high[free])
    f = found.f + rows.times(by_row(dual, beta - found.beta, rows.n))
    top, bottom = _ends(dual, beta, f[dual.row] - dual.c)
    if not top - bottom <= max(found.violation, 1e-12):
        return found
    offset = _middle(top, bottom) if dual.balanced else 0.0
    return SMOResult(beta, f, offset, max(top - bottom, 0.0), found.rounds, found.steps, found.exact)


def _few_free(dual: Dual, found: SMOResult) -> bool:
    """Whether so few variables are within their bounds that their equations cost less than the steps did."""
    return int(((found.beta > dual.low) & (found.beta < dual.high)).sum()) <= FEW_FREE


def _within_room(K: Floats, right: Floats, low: Floats, high: Floats, balanced: bool) -> Floats | None:
    """x with Kx + b = right (Σx = 0) where it is within its room, and at the end of it elsewhere; None if not found."""
    x, rest = np.zeros(len(right)), np.ones(len(right), dtype=bool)
    for _ in range(MOST_ENDS):
        if not rest.any():
            return None
        L, failed = sl.lapack.dpotrf(K[np.ix_(rest, rest)], lower=1, overwrite_a=1)
        if failed:
            return None
        told = right[rest] - K[np.ix_(rest, ~rest)] @ x[~rest]
        own, ones = sl.lapack.dpotrs(L, np.column_stack([told, np.ones(len(told))]), lower=1)[0].T
        b = float((own.sum() + x[~rest].sum()) / ones.sum()) if balanced else 0.0
        x[rest] = own - b * ones
        beyond = rest & ((x < low) | (x > high))
        if not beyond.any():
            return x
        x[beyond] = np.clip(x[beyond], low[beyond], high[beyond])
        rest &= ~beyond
    return None


def _within(dual: Dual, beta: Floats) -> Floats:
    """β within its bounds, and on them where only rounding keeps it off."""
    near = 1e-12 * (dual.high - dual.low)
    beta = np.where(beta <= dual.low + near, dual.low, beta)
    return np.where(beta >= dual.high - near, dual.high, beta)


def _at_margins(
    dual: Dual, rows: KernelRows, beta: Floats, f: Floats, top: float, bottom: float, room: float
) -> Floats | None:
    """f with the rows in double precision whose variables are between their bounds, or within `room` of leaving them.

    All others are at the bound that optimality wants, on the far side of their margin; neither the violation nor the
    gap, of which their f drops out, depends on the rounding there. None where that is not far beyond the rounding seen.
    """
    middle = _middle(top, bottom) if dual.balanced else 0.0
    free = (beta > dual.low) & (beta < dual.high)
    near = np.unique(dual.row[free | (np.abs(dual.c - f[dual.row] - middle) <= room)])
    if not 0 < len(near) <= MOST_NEAR * rows.n:
        return None
    weight = by_row(dual, beta, rows.n)
    some = np.flatnonzero(weight)
    found = f.copy()
    found[near] = rows.kernel.times(rows.points[near], rows.points[some], weight[some])
    return found if SURE * float(np.abs(found - f).max()) <= room else None


def _in_full(dual: Dual, rows: KernelRows, beta: Floats, known: tuple[Floats, Floats] | None) -> Floats:
    """Kβ in double precision: of what has changed since it was last known, where that is less."""
    whole = by_row(dual, beta, rows.n)
    if known is not None:
        change = whole - by_row(dual, known[0], rows.n)
        if np.count_nonzero(change) < np.count_nonzero(whole):
            return known[1] + rows.times(change)
    return rows.times(whole)


def _unsettled(dual: Dual, beta: Floats, G: Floats, top: float, bottom: float) -> Index:
    """Rows with a variable that may still move: not at a bound that optimality already wants it at."""
    if dual.balanced:
        high, low = (top < -G), (bottom > -G)
    else:
        high, low = -top > G, top < G
    settled = ((beta >= dual.high) & high) | ((beta <= dual.low) & low) | (dual.low == dual.high)
    return np.unique(dual.row[~settled])


def _on_some(
    dual: Dual, rows: KernelRows, beta: Floats, f: Floats, some: Index, tol: float, max_rounds: int, max_steps: int
) -> SMOResult:
    """The problem of some rows, the others held: their kernel matrix is small, and computed anew."""
    place = np.full(rows.n, -1, dtype=np.int64)
    place[some] = np.arange(len(some))
    mine = np.flatnonzero(place[dual.row] >= 0)
    part = rows.part(some)
    inner = Dual(dual.c[mine], dual.low[mine], dual.high[mine], place[dual.row[mine]], dual.balanced)
    held = f[some] - part.product(by_row(inner, beta[mine], len(some)))
    inner = Dual(inner.c - held[inner.row], inner.low, inner.high, inner.row, inner.balanced)
    found = minimise(
        inner, part, Start(beta[mine]), tol=0.5 * tol, max_rounds=max_rounds, max_steps=max_steps, inner=True
    )
    whole = beta.copy()
    whole[mine] = found.beta
    return SMOResult(whole, f, found.offset, found.violation, found.rounds, found.steps)


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


def _middle(top: float, bottom: float) -> float:
    """The multiplier of the balance: between both ends, or the one there is where all variables are at one bound."""
    ends = [end for end in (top, bottom) if np.isfinite(end)]
    return sum(ends) / len(ends) if ends else 0.0


def _working_set(dual: Dual, beta: Floats, G: Floats, most: int) -> Index:
    """Half of those that should grow most and half of those that should shrink most, beside those between their bounds:
    what is between them follows every other, and would undo it a round later."""
    size = min(most, len(beta))
    chosen = (beta > dual.low) & (beta < dual.high)
    if 2 * np.count_nonzero(chosen) > size:
        chosen[:] = False
    size -= int(np.count_nonzero(chosen))
    up = np.where((beta < dual.high) & ~chosen, -G, -np.inf)
    down = np.where((beta > dual.low) & ~chosen, G, -np.inf)
    scores = (up, down) if dual.balanced else (np.maximum(up, down),)
    for score in scores:
        some = max(size // len(scores), 1)
        best = np.argpartition(-score, some - 1)[:some] if some < len(score) else np.arange(len(score))
        chosen[best[np.isfinite(score[best])]] = True
    return np.flatnonzero(chosen)
