"""The perceptron algorithm: one row at a time, and a step of rate 1 wherever the row is on the wrong side."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.compiled import compiled_later, interpreted, njit
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats
from gramian.objective.problem import Problem
from gramian.rows import Block
from gramian.solvers.base import Solver, State

MOST_VISITS = 100.0  # of a row in a sweep: larger weights are all made smaller
NOT_SEPARABLE = "The classes are probably not separable: the point of fewest mistakes is kept."


@dataclass(frozen=True)
class PerceptronAlgorithm(Solver):
    """Sweeps over the rows in a random order; ends when one goes by without a mistake, as it does on separable data.

    The point of fewest mistakes is kept (the pocket), and taken after 100 sweeps without fewer. With `average`, the
    mean of all points on the way is judged instead. A row of weight 2 is met twice. Rows are centred and scaled, with 1
    as their last coordinate.
    """

    average: bool = False
    random_state: int = 0
    patience: int = 100  # sweeps without fewer mistakes before it gives up
    name: ClassVar[str] = "perceptron algorithm"
    unit: ClassVar[str] = "sweeps"

    def supports(self, problem: Problem) -> bool:
        """Labels; no penalty is heeded."""
        return problem.loss.targets in ("signs", "classes")

    def init(self, problem: Problem, start: Floats | None) -> State:
        block = problem.rows.collect()
        assert block.y is not None
        if sp.issparse(block.X):
            Z: Any = sp.vstack([problem.standard_sparse(part) for part, _, _ in problem.panels(block)], format="csr")
        else:
            Z = np.concatenate([problem.standard(part) for part, _, _ in problem.panels(block)])
        theta = np.zeros((problem.m, problem.p)) if start is None else start.copy()
        weight = block.weights
        weight = weight / max(1.0, float(weight.max()) / MOST_VISITS)
        codes = (block.y[:, 0] > 0 if problem.m == 1 else block.y[:, 0]).astype(np.int64)
        more = {
            "Z": Z,
            "codes": codes,
            "weight": weight,
            "mistakes": 0,
            "now": theta,
            "lag": theta * 0.0,
            "clock": 0.0,
        }
        more |= {"round": 0, "measure": "share of rows on the wrong side"}
        return self._judged(problem, theta, more)

    @staticmethod
    def _judged(problem: Problem, theta: Floats, more: dict[str, Any]) -> State:
        f = np.asarray(more["Z"] @ theta.T)
        codes, weight = more["codes"], more["weight"]
        if problem.m == 1:
            margin = np.where(codes == 1, f[:, 0], -f[:, 0])
        else:
            own = f[np.arange(len(f)), codes]
            others = f.copy()
            others[np.arange(len(f)), codes] = -np.inf
            margin = own - others.max(axis=1)
        value = float(weight @ np.maximum(-margin, 0.0) / weight.sum())
        return State(theta, value, float(weight @ (margin <= 0) / weight.sum()), more=more)

    def step(self, problem: Problem, state: State) -> State:
        more = dict(state.more)
        order = np.random.default_rng((self.random_state, more["round"])).permutation(len(more["codes"]))
        now, lag = more["now"].copy(), more["lag"].copy()
        Z = more["Z"]
        sweep = sweep_sparse if sp.issparse(Z) else (_sweep_few if is_small(Z.size) else sweep_dense)
        table = (Z.data, Z.indices.astype(np.int64), Z.indptr.astype(np.int64)) if sp.issparse(Z) else (Z,)
        mistakes, clock = sweep(*table, more["codes"], more["weight"], order, now, lag, more["clock"])
        more |= {"now": now, "lag": lag, "clock": clock}
        more |= {"mistakes": more["mistakes"] + int(mistakes), "round": more["round"] + 1}
        found = self._judged(problem, now - lag / max(clock, 1e-300) if self.average else now, more)
        if mistakes == 0 and not self.average:
            return found
        if found.measure < state.measure:
            found.more["best at"] = more["round"]
            return found
        stalled = more["round"] - more.get("best at", 0) >= self.patience
        return State(state.theta, state.value, state.measure, stalled, more=more | {"message": NOT_SEPARABLE})


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
        left = weight[i]
        while left > 0.0:
            rate = min(left, 1.0)
            left -= rate
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
        left = weight[i]
        while left > 0.0:
            rate = min(left, 1.0)
            left -= rate
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
        found = []
        for part, _, w in problem.panels(block):
            if sp.issparse(part):
                Z = problem.standard_sparse(part)
                squares = np.asarray(Z.multiply(Z).sum(axis=1)).reshape(-1)
            else:
                squares = (problem.standard(part) ** 2).sum(axis=1)
            found.append(float(squares[slice(None) if w is None else w > 0].max(initial=0.0)))
        return found

    return float(np.sqrt(max(problem.rows.sum(of_block))))
