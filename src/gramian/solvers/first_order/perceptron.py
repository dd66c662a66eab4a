"""The perceptron algorithm: one row at a time, and a step of rate 1 wherever the row is on the wrong side."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.compiled import compiled_later, interpreted, njit
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem
from gramian.rows import Block
from gramian.solvers.base import Details, Solver, State

MAX_VISITS = 100.0  # of a row in a sweep: larger weights are all made smaller
WRONG_SIDE = "share of rows on the wrong side"
NOT_SEPARABLE = "The classes are probably not separable: the point of fewest mistakes is kept."


@dataclass(kw_only=True)
class PerceptronState(State):
    """With the last point of the sweeps: θ is the point of fewest mistakes, or the mean of the points."""

    last: Floats  # the point itself
    lag: Floats  # each update times its clock: the mean of all points is last − lag / clock
    clock: float = 0.0  # visits, by weight
    mistakes: int = 0  # on the way
    sweeps: int = 0
    best_sweep: int = 0  # after which mistakes were fewest
    message: str = ""

    @property
    def mean(self) -> Floats:
        return self.last - self.lag / max(self.clock, 1e-300)

    @property
    def details(self) -> Details:
        return Details(criterion=WRONG_SIDE, message=self.message, mistakes=self.mistakes)


P = TypeVar("P", bound=PerceptronState)


@dataclass(frozen=True)
class PerceptronRule(Solver[P]):
    """Sweeps over the rows in a random order; ends when one goes by without a mistake, as it does on separable data.

    The point of fewest mistakes is kept (the pocket), and taken after `patience` sweeps without fewer. With `average`,
    the mean of all points on the way is judged instead. A row of weight 2 is met twice.
    """

    average: bool = False
    random_state: int = 0
    patience: int = 100  # sweeps without fewer mistakes before it gives up
    name: ClassVar[str] = "perceptron algorithm"
    unit: ClassVar[str] = "sweeps"

    def order(self, state: PerceptronState, n: int) -> Ints:
        """The rows in the order of the next sweep."""
        return np.random.default_rng((self.random_state, state.sweeps)).permutation(n)

    def after_sweep(self, before: P, state: P, mistakes: int) -> P:
        """The state after a sweep, or the one before with its point where mistakes are not fewer."""
        state.mistakes, state.sweeps = before.mistakes + mistakes, before.sweeps + 1
        state.best_sweep = before.best_sweep
        if mistakes == 0 and not self.average:
            return state
        if state.residual < before.residual:
            state.best_sweep = state.sweeps
            return state
        stalled = state.sweeps - state.best_sweep >= self.patience
        theta, value, residual = before.theta, before.value, before.residual
        return replace(state, theta=theta, value=value, residual=residual, stalled=stalled, message=NOT_SEPARABLE)


def visits(weight: Floats) -> Floats:
    """How often each row is met in a sweep."""
    return weight / max(1.0, float(weight.max()) / MAX_VISITS)


@dataclass(frozen=True, eq=False)
class _Table:
    """The standardized rows with 1 as their last coordinate, their class numbers and weights."""

    Z: Any
    codes: Ints
    weight: Floats


@dataclass(kw_only=True)
class PrimalPerceptronState(PerceptronState):
    table: _Table


@dataclass(frozen=True)
class PerceptronAlgorithm(PerceptronRule[PrimalPerceptronState]):
    """The perceptron algorithm on the coefficients: rows are centred and scaled, with 1 as their last coordinate."""

    def supports(self, problem: Problem) -> bool:
        """Labels; penalties are ignored."""
        return problem.loss.targets in ("signs", "classes")

    def init(self, problem: Problem, start: Floats | None) -> PrimalPerceptronState:
        block = problem.rows.collect()
        assert block.y is not None
        if sp.issparse(block.X):
            Z: Any = sp.vstack([problem.standard_sparse(part) for part, _, _ in problem.panels(block)], format="csr")
        else:
            Z = np.concatenate([problem.standard(part) for part, _, _ in problem.panels(block)])
        theta = np.zeros((problem.m, problem.p)) if start is None else start.copy()
        codes = (block.y[:, 0] > 0 if problem.m == 1 else block.y[:, 0]).astype(np.int64)
        table = _Table(Z, codes, visits(block.weights))
        value, share = _judged(table, theta)
        return PrimalPerceptronState(theta, value, share, last=theta, lag=theta * 0.0, table=table)

    def step(self, problem: Problem, state: PrimalPerceptronState) -> PrimalPerceptronState:
        table = state.table
        last, lag, Z = state.last.copy(), state.lag.copy(), table.Z
        sweep = sweep_sparse if sp.issparse(Z) else (_sweep_few if is_small(Z.size) else sweep_dense)
        arrays = (Z.data, Z.indices.astype(np.int64), Z.indptr.astype(np.int64)) if sp.issparse(Z) else (Z,)
        order = self.order(state, len(table.codes))
        mistakes, clock = sweep(*arrays, table.codes, table.weight, order, last, lag, state.clock)
        after = replace(state, last=last, lag=lag, clock=clock)
        after.theta = after.mean if self.average else last
        after.value, after.residual = _judged(table, after.theta)
        return self.after_sweep(state, after, int(mistakes))


def _judged(table: _Table, theta: Floats) -> tuple[float, float]:
    """The mean loss, and the share of rows on the wrong side."""
    f, codes, weight = np.asarray(table.Z @ theta.T), table.codes, table.weight
    if len(theta) == 1:
        margin = np.where(codes == 1, f[:, 0], -f[:, 0])
    else:
        own = f[np.arange(len(f)), codes]
        others = f.copy()
        others[np.arange(len(f)), codes] = -np.inf
        margin = own - others.max(axis=1)
    value = float(weight @ np.maximum(-margin, 0.0) / weight.sum())
    return value, float(weight @ (margin <= 0) / weight.sum())


@njit(cache=True, nogil=True)
def sweep_dense(
    Z: Any, codes: Any, weight: Any, order: Any, now: Any, lag: Any, clock: float
) -> Any:  # pragma: no cover - compiled
    """One sweep; returns the number of mistakes and the clock, which counts visits by weight.

    `now` changes in place; so does `lag`, each update times its clock: the mean of all points is now − lag / clock.
    """
    m, p = now.shape
    mistakes = 0
    for position in range(len(order)):
        i = order[position]
        rest = weight[i]
        while rest > 0.0:
            rate = min(rest, 1.0)
            rest -= rate
            if m == 1:
                side = 1.0 if codes[i] == 1 else -1.0
                f = 0.0
                for j in range(p):
                    f += Z[i, j] * now[0, j]
                if side * f <= 0.0:
                    mistakes += 1
                    for j in range(p):
                        now[0, j] += rate * side * Z[i, j]
                        lag[0, j] += clock * rate * side * Z[i, j]
            else:
                best, top, own = -1, -np.inf, 0.0
                for k in range(m):
                    f = 0.0
                    for j in range(p):
                        f += Z[i, j] * now[k, j]
                    if k == codes[i]:
                        own = f
                    elif f > top:
                        best, top = k, f
                if own <= top:
                    mistakes += 1
                    for j in range(p):
                        now[codes[i], j] += rate * Z[i, j]
                        now[best, j] -= rate * Z[i, j]
                        lag[codes[i], j] += clock * rate * Z[i, j]
                        lag[best, j] -= clock * rate * Z[i, j]
            clock += rate
    return mistakes, clock


_sweep_few = compiled_later(
    sweep_dense,
    interpreted(sweep_dense),
    sweep_dense,
    seconds=lambda Z, codes, weight, order, now, *_: 1e-6 * len(order) * now.size,
)


@njit(cache=True, nogil=True)
def sweep_sparse(
    data: Any, indices: Any, indptr: Any, codes: Any, weight: Any, order: Any, now: Any, lag: Any, clock: float
) -> Any:  # pragma: no cover - compiled
    """The same on the rows of a CSR matrix."""
    m = now.shape[0]
    mistakes = 0
    for position in range(len(order)):
        i = order[position]
        rest = weight[i]
        while rest > 0.0:
            rate = min(rest, 1.0)
            rest -= rate
            if m == 1:
                side = 1.0 if codes[i] == 1 else -1.0
                f = 0.0
                for q in range(indptr[i], indptr[i + 1]):
                    f += data[q] * now[0, indices[q]]
                if side * f <= 0.0:
                    mistakes += 1
                    for q in range(indptr[i], indptr[i + 1]):
                        now[0, indices[q]] += rate * side * data[q]
                        lag[0, indices[q]] += clock * rate * side * data[q]
            else:
                best, top, own = -1, -np.inf, 0.0
                for k in range(m):
                    f = 0.0
                    for q in range(indptr[i], indptr[i + 1]):
                        f += data[q] * now[k, indices[q]]
                    if k == codes[i]:
                        own = f
                    elif f > top:
                        best, top = k, f
                if own <= top:
                    mistakes += 1
                    for q in range(indptr[i], indptr[i + 1]):
                        now[codes[i], indices[q]] += rate * data[q]
                        now[best, indices[q]] -= rate * data[q]
                        lag[codes[i], indices[q]] += clock * rate * data[q]
                        lag[best, indices[q]] -= clock * rate * data[q]
            clock += rate
    return mistakes, clock


def largest_norm(problem: Problem) -> float:
    """R: the largest norm of a row in standard units, with its 1."""

    def of_block(block: Block) -> list[float]:
        largest = []
        for part, _, w in problem.panels(block):
            if sp.issparse(part):
                Z = problem.standard_sparse(part)
                squares = np.asarray(Z.multiply(Z).sum(axis=1)).reshape(-1)
            else:
                squares = (problem.standard(part) ** 2).sum(axis=1)
            largest.append(float(squares[slice(None) if w is None else w > 0].max(initial=0.0)))
        return largest

    return float(np.sqrt(max(problem.rows.sum(of_block))))
