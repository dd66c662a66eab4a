"""Dual coordinate descent for losses with a kink: wide or sparse tables, one row at a time."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.compiled import njit
from gramian._core.types import Floats
from gramian.objective.problem import Problem, is_ridge
from gramian.solvers.base import Solver, State, pass_cost
from gramian.solvers.nonsmooth.interior_point import Kinks, balanced, dual_value

PASSES = 1e5  # over the rows, of a fit: more than Gram matrices of as many columns as are formed
SWEEPS = 10  # over the rows, between two looks at the gap


@dataclass(frozen=True)
class DualDescent(Solver):
    """Each row's slope in turn to its best value, the coefficients kept up to date; for the penalty ‖w‖².

    A sweep costs the non-zeros of X. The intercept, which is not penalised, is pulled towards its last value only, and
    that value follows it (proximal point), so that the limit is the true optimum.
    """

    random_state: int = 0
    name: ClassVar[str] = "dual coordinate descent"
    unit: ClassVar[str] = "rounds of ten sweeps"

    def supports(self, problem: Problem) -> bool:
        """A loss with a kink and a multiple of ‖w‖²."""
        return problem.loss.piecewise_linear and is_ridge(problem)

    def cost(self, problem: Problem) -> float:
        """Many sweeps over the rows; a hundred times as many passes where the features are made anew."""
        return (PASSES if problem.rows.basis is None else 100.0 * PASSES) * pass_cost(problem)

    def reason(self, problem: Problem) -> str:
        name = type(problem.loss).__name__
        return f"{name} has a kink, and {problem.p} columns are many: one row's dual variable at a time"

    def init(self, problem: Problem, start: Floats | None) -> State:
        kinks = Kinks.of(problem)
        block = problem.rows.collect()
        X = _centred(problem, block.X)
        squares = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
        s = np.clip(np.zeros(problem.rows.n), kinks.low, kinks.high)
        theta = problem.zero() if start is None else start
        more = {"kinks": kinks, "X": X, "squares": squares, "slopes": s, "coef": np.zeros(problem.d)}
        more |= {
            "intercept": float(theta[0, problem.d]) if problem.intercept else 0.0,
            "least": 2e-4 * strength(problem) * max(float(squares.mean()), 1e-300),
            "pull": 0.2 * strength(problem) * max(float(squares.mean()), 1e-300),
            "round": 0,
            "factor": 0.5,
            "left": np.inf,
        }
        return self._state(problem, more)

    def step(self, problem: Problem, state: State) -> State:
        more = dict(state.more)
        kinks, X = more["kinks"], more["X"]
        s, coef = more["slopes"].copy(), more["coef"].copy()
        order = np.random.default_rng((self.random_state, more["round"])).permutation(len(s)).astype(np.int64)
        pull = more["pull"] if problem.intercept else np.inf
        center = more["intercept"]
        intercept = sweep_rows(
            X.data, X.indices, X.indptr, more["squares"], kinks.at, kinks.low, kinks.high, kinks.share, s, coef,
            center, 1.0 / (2.0 * strength(problem)), 1.0 / (2.0 * pull), order, SWEEPS,
        )  # fmt: skip
        more |= {"slopes": s, "coef": coef, "intercept": float(intercept), "round": more["round"] + 1}
        found = self._state(problem, more)
        left = found.measure / max(state.measure, 1e-300)
        if left > 0.5:  # slow: how the intercept is held is changed, the other way where that made it worse
            factor = more["factor"] if left <= more["left"] else 1.0 / more["factor"]
            pull = float(np.clip(factor * more["pull"], more["least"], 1000.0 * more["least"]))
            found.more |= {"pull": pull, "factor": factor}
        found.more["left"] = left
        return found

    def finish(self, problem: Problem, state: State) -> State:
        """Slopes that satisfy the equation of the intercept exactly."""
        if problem.intercept:
            state.more["slopes"] = balanced(state.more["kinks"], state.more["slopes"], problem.rows.n)
        return state

    @staticmethod
    def _state(problem: Problem, more: dict[str, Any]) -> State:
        kinks, s = more["kinks"], more["slopes"]
        theta = np.append(more["coef"] * problem.scale, more["intercept"])[None, : problem.p]
        value = problem.value(theta)
        gap = (value - dual_value(problem, kinks, s)) / max(abs(value), problem.least_value)
        return State(theta, value, gap, more=more | {"gap": gap})


def _centred(problem: Problem, X: Any) -> Any:
    """The rows in their own units about their centre: the intercept is then nearly independent of the coefficients."""
    if not sp.issparse(X):
        return sp.csr_array(np.asarray(X, dtype=np.float64) - problem.center)
    X = sp.csr_array(X, dtype=np.float64)
    if not problem.center.any():
        return X
    return sp.csr_array(X - sp.csr_array(np.ones((X.shape[0], 1))) @ sp.csr_array(problem.center[None, :]))


def strength(problem: Problem) -> float:
    """What ‖w‖² is multiplied by, in the units of the data."""
    assert problem.parts is not None
    return problem.alpha * float(problem.parts.square[0])


@njit(cache=True, nogil=True)
def sweep_rows(
    data: Any, indices: Any, indptr: Any, squares: Any, at: Any, low: Any, high: Any, share: Any, s: Any, coef: Any,
    center: float, unit: float, free: float, order: Any, sweeps: int,
) -> Any:  # fmt: skip  # pragma: no cover - compiled
    """Sweeps over the rows; coef = −unit Σ share s x and intercept = center − free Σ share s."""
    n = len(s)
    total = 0.0
    for i in range(n):
        total += share[i] * s[i]
    intercept = center - free * total
    for _ in range(sweeps):
        largest = 0.0
        for position in range(n):
            i = order[position]
            if share[i] <= 0.0:
                continue
            f = intercept
            for q in range(indptr[i], indptr[i + 1]):
                f += coef[indices[q]] * data[q]
            bend = share[i] * (squares[i] * unit + free)
            if bend <= 0.0:
                continue
            new = min(max(s[i] + (f - at[i]) / bend, low[i]), high[i])
            change = new - s[i]
            if change != 0.0:
                s[i] = new
                step = -unit * share[i] * change
                for q in range(indptr[i], indptr[i + 1]):
                    coef[indices[q]] += step * data[q]
                total += share[i] * change
                intercept = center - free * total
                if abs(change) > largest:
                    largest = abs(change)
        if largest < 1e-12:
            break
    return intercept
