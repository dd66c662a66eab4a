"""The perceptron algorithm with a kernel: a mistake changes one dual variable, and nothing else costs anything."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core import deadline
from gramian._core.numerics.compiled import compiled_later, interpreted, njit
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Ints
from gramian.rows import parallel_map, single_threaded_blas
from gramian.solvers.first_order.perceptron import PerceptronRule, PerceptronState, visits

Index = Ints
MEMORY = 2**30  # bytes for rows of the kernel matrix
LEAST_ROWS = 256  # rows that are always kept
AHEAD = 64  # rows on the wrong side that are computed together
PANEL = 4096


class Mistaken:
    """Rows of the kernel matrix at which mistakes were made, computed when the first is, kept within a budget.

    Where there are more of them than slots, those used longest ago are given up.
    """

    def __init__(self, kernel: Any, points: Any, memory: int = MEMORY) -> None:
        self.kernel, self.points, self.n = kernel, points, len(points)
        self.most = int(min(self.n, max(memory // (8 * max(self.n, 1)), LEAST_ROWS)))
        self.table = np.empty((0, self.n))
        self.slot = np.full(self.n, -1, dtype=np.int64)  # of a row
        self.owner = np.empty(0, dtype=np.int64)  # of a slot
        self.used = np.empty(0, dtype=np.int64)
        self.clock = 0

    def bring(self, index: Index) -> None:
        """Compute rows that are not kept, at most as many as there are slots."""
        count = int((self.owner >= 0).sum())
        if count + len(index) > len(self.owner) and len(self.owner) < self.most:
            size = min(max(2 * len(self.owner), count + len(index), LEAST_ROWS), self.most)
            table = np.empty((size, self.n))
            table[: len(self.table)] = self.table
            empty = np.full(size - len(self.owner), -1, dtype=np.int64)
            self.table = table
            self.owner = np.append(self.owner, empty)
            self.used = np.append(self.used, empty)
        index = index[: self.most]
        free = np.argsort(self.used, kind="stable")[: len(index)]
        gone = self.owner[free]
        self.slot[gone[gone >= 0]] = -1
        self.owner[free], self.slot[index] = index, free
        self.clock += 1
        self.used[free] = self.clock

        def panel(start: int) -> None:
            stop = min(start + PANEL, self.n)
            self.table[free, start:stop] = self.kernel.block(self.points[index], self.points[start:stop])

        with single_threaded_blas():
            parallel_map(panel, range(0, self.n, PANEL))


@dataclass(frozen=True, eq=False)
class DualProblem:
    """Points with class numbers (0 or 1 where m is 1) and weights; a point of no weight takes no part."""

    rows: Mistaken
    codes: Index
    weight: Floats
    m: int
    intercept: bool


@dataclass(kw_only=True)
class DualPerceptronState(PerceptronState):
    """With the values of the function at all rows, and what their mean lags behind."""

    weight: Floats
    f: Floats
    f_lag: Floats


@dataclass(frozen=True)
class DualPerceptron(PerceptronRule[DualPerceptronState]):
    """As `PerceptronAlgorithm`, with dual variables: a mistake at row i adds k(x_i, ·) to the function.

    The function's values at all rows are kept: a visit without a mistake costs nothing, a mistake a row of the kernel
    matrix. θ holds the dual variables of all rows, and the intercept last.
    """

    def init(self, problem: Any, start: Floats | None) -> DualPerceptronState:
        n, m = problem.rows.n, problem.m
        theta, f = np.zeros((m, n + 1)), np.zeros((m, n))
        value, share = wrong_share(problem, f)
        return DualPerceptronState(
            theta, value, share, last=theta, lag=theta, weight=visits(problem.weight), f=f, f_lag=np.zeros((m, n))
        )

    def step(self, problem: Any, state: DualPerceptronState) -> DualPerceptronState:
        rows, weight = problem.rows, state.weight
        order = self.order(state, rows.n)
        last, lag, f, f_lag = (part.copy() for part in (state.last, state.lag, state.f, state.f_lag))
        clock, place, rest, mistakes = state.clock, 0, -1.0, 0
        sweep = _sweep_few if is_small(f.size) else sweep_dual
        while True:
            place, rest, clock, wrong = sweep(
                rows.table, rows.slot, rows.used, rows.clock, problem.codes, weight, order, last, lag, f, f_lag,
                problem.intercept, self.average, clock, place, rest,
            )  # fmt: skip
            mistakes += int(wrong)
            if place == len(order) or deadline.passed():
                break
            coming = order[place:]
            ahead = coming[(weight[coming] > 0) & (rows.slot[coming] < 0)]
            margin = _margins(f[:, ahead], problem.codes[ahead])
            ahead = np.append(coming[0], ahead[margin <= 0])
            rows.bring(ahead[np.sort(np.unique(ahead, return_index=True)[1])][:AHEAD])
        after = replace(state, last=last, lag=lag, clock=clock, f=f, f_lag=f_lag)
        after.theta = after.mean if self.average else last
        values = f - f_lag / max(clock, 1e-300) if self.average else f
        after.value, after.residual = wrong_share(problem, values)
        return self.after_sweep(state, after, mistakes)


def wrong_share(problem: DualProblem, f: Floats) -> tuple[float, float]:
    """The mean of max(0, −margin), and the share of rows on the wrong side."""
    margin, weight = _margins(f, problem.codes), problem.weight
    total = float(weight.sum())
    return float(weight @ np.maximum(-margin, 0.0)) / total, float(weight @ (margin <= 0)) / total


def _margins(f: Floats, codes: Index) -> Floats:
    if len(f) == 1:
        return np.where(codes == 1, f[0], -f[0])
    place = np.arange(len(codes))
    others = f.T.copy()
    own = others[place, codes]
    others[place, codes] = -np.inf
    return np.asarray(own - others.max(axis=1, initial=-np.inf))


@njit(cache=True, nogil=True)
def sweep_dual(
    table: Any, slot: Any, used: Any, tick: int, codes: Any, weight: Any, order: Any, now: Any, lag: Any, f: Any,
    late: Any, intercept: bool, average: bool, clock: float, place: int, rest: float,
) -> Any:  # fmt: skip  # pragma: no cover - compiled
    """Visits from `place` on, until a mistake whose row is not there; returns where, the rest of its weight, the
    clock and the mistakes. A negative `rest` is all of it."""
    m, n = f.shape
    mistakes = 0
    shift = 1.0 if intercept else 0.0
    while place < len(order):
        i = order[place]
        if rest < 0.0:
            rest = weight[i]
        while rest > 0.0:
            plus, minus = -1, -1
            if m == 1:
                side = 1.0 if codes[i] == 1 else -1.0
                if side * f[0, i] <= 0.0:
                    plus = 0
            else:
                side, best, top = 1.0, -1, -np.inf
                for k in range(m):
                    if k != codes[i] and f[k, i] > top:
                        best, top = k, f[k, i]
                if f[codes[i], i] <= top:
                    plus, minus = codes[i], best
            rate = min(rest, 1.0)
            if plus >= 0:
                if slot[i] < 0:
                    return place, rest, clock, mistakes
                mistakes += 1
                used[slot[i]] = tick
                row = table[slot[i]]
                for k in range(2):
                    c, step = (plus, rate * side) if k == 0 else (minus, -rate)
                    if c < 0:
                        continue
                    now[c, i] += step
                    now[c, n] += step * shift
                    _add_mistake(f[c], step, row, shift)
                    if average:
                        lag[c, i] += clock * step
                        lag[c, n] += clock * step * shift
                        _add_mistake(late[c], clock * step, row, shift)
            rest -= rate
            clock += rate
        rest = -1.0
        place += 1
    return place, rest, clock, mistakes


@njit(cache=True, nogil=True)
def _add_mistake(f: Any, step: float, row: Any, shift: float) -> None:  # pragma: no cover - compiled
    for j in range(len(f)):
        f[j] += step * (row[j] + shift)


def _add_mistake_plain(f: Floats, step: float, row: Floats, shift: float) -> None:
    f += step * (row + shift)


def _plain_seconds(*given: Any) -> float:
    order, f, place = given[6], given[9], given[14]
    return 2e-6 * (len(order) - place) * len(f)


_sweep_few = compiled_later(
    sweep_dual, interpreted(sweep_dual, _add_mistake=_add_mistake_plain), sweep_dual, seconds=_plain_seconds
)
