"""Proximal Newton for many columns: working sets, and coordinate descent on the columns themselves."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gramian._core.numerics.compiled import njit
from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows
from gramian.solvers.base import Solver, State, pass_cost, run
from gramian.solvers.smooth.newton import MAX_HALVINGS, ROUNDING, SUFFICIENT_DECREASE
from gramian.solvers.smooth.proximal_newton import ProximalNewton

MIN_WORKING_SET = 200  # coefficients
MAX_JOINT_COEFS = 1000  # coefficients of several outputs whose Hessian is formed
MAX_JOINT_WORK = 1e11  # and multiplications for it
MAX_SWEEPS = 50
MAX_PASSES = 1e4  # over the columns, of a fit


@dataclass(frozen=True, eq=False)
class _Table:
    """The columns as given, by column, with targets and the shares of the weight of each row."""

    X: Any
    y: Floats
    share: Floats

    def predictions(self, problem: Problem, theta: Floats) -> Floats:
        coef, intercept = problem.to_original(theta)
        return np.asarray(self.X @ coef) + intercept

    def value(self, problem: Problem, theta: Floats, f: Floats) -> float:
        """The objective at θ, whose predictions are f."""
        losses = problem.loss.value(self.y, f[:, 0] if problem.m == 1 else f)
        return float(self.share @ losses) + problem.quadratic(theta)[0] + problem.nonsmooth_penalty(theta)


@dataclass(kw_only=True)
class ColumnDescentState(State):
    """With predictions, gradient, and the change of each coefficient by a proximal gradient step."""

    table: _Table
    f: Floats
    gradient: Floats
    violations: Floats


@dataclass(frozen=True)
class ColumnDescent(Solver[ColumnDescentState]):
    """Newton's quadratic model over the coefficients that matter, by coordinate descent on their columns.

    For absolute penalties and bounds on wide or sparse tables in memory: no Hessian is formed. One product Xᵀg an
    iteration finds the coefficients that must move; a sweep costs the non-zeros of their columns.
    """

    name: ClassVar[str] = "column descent"
    unit: ClassVar[str] = "proximal Newton steps"

    def supports(self, problem: Problem) -> bool:
        """A smooth loss; zeros and bounds of single coefficients."""
        p = problem.parts
        plain = p is not None and not p.groups and p.square.ndim == 1
        return plain and problem.loss.smooth and not problem.loss.estimates_scale

    def cost(self, problem: Problem) -> float:
        """Passes over the columns, more than a Hessian of as many as are formed costs."""
        assert problem.parts is not None
        return np.inf if problem.parts.smooth or not problem.loss.suits_newton else MAX_PASSES * pass_cost(problem)

    def reason(self, problem: Problem) -> str:
        return f"zeros or bounds among {problem.p} columns: only those that matter are worked on"

    def init(self, problem: Problem, start: Floats | None) -> ColumnDescentState:
        theta = problem.zero() if start is None else start
        block = problem.rows.collect()
        assert block.y is not None
        X = block.X
        X = sp.csc_array(X, dtype=np.float64) if sp.issparse(X) else sp.csc_array(np.asarray(X, dtype=np.float64))
        table = _Table(X, block.y[:, 0], block.weights / problem.columns.weight)
        return self._state(problem, table, theta, table.predictions(problem, theta))

    @staticmethod
    def _state(problem: Problem, table: _Table, theta: Floats, f: Floats, stalled: bool = False) -> ColumnDescentState:
        """The conditions of optimality at θ, from one product with X."""
        X, y, share = table.X, table.y, table.share
        one = problem.m == 1
        g = problem.loss.gradient(y, f[:, 0] if one else f).reshape(len(y), -1) * share[:, None]
        gradient = np.empty((problem.m, problem.p))
        total = g.sum(axis=0)
        coef_gradient = np.asarray(X.T @ g).T - np.outer(total, problem.center)
        slope = problem.quadratic(theta)[1]
        gradient[:, : problem.d] = coef_gradient * problem.inverse + slope
        if problem.intercept:
            gradient[:, problem.d] = total
        value = table.value(problem, theta, f)
        violations = np.abs(theta - problem.prox(theta - gradient, 1.0))
        residual = float(violations.max(initial=0.0)) / max(float(np.abs(g).sum()), 1e-300)
        return ColumnDescentState(
            theta, value, residual, stalled, table=table, f=f, gradient=gradient, violations=violations
        )

    def step(self, problem: Problem, state: ColumnDescentState) -> ColumnDescentState:
        joint = self._joint_step(problem, state) if problem.m > 1 else None
        if joint is not None:
            return joint
        theta, f, value = state.theta.copy(), state.f.copy(), state.value
        progress = False
        for k in range(problem.m):  # outputs one after the other, each with the newest others
            step = self._one_output(problem, theta, f, value, k, state)
            if step is not None:
                theta, f, value = step
                progress = True
        last = self._state(problem, state.table, theta, f, stalled=not progress)
        # Where the decrease is rounding, the conditions of optimality decide.
        if last.value >= state.value and last.residual >= state.residual:
            return replace(state, stalled=True)
        return last

    def _joint_step(self, problem: Problem, state: ColumnDescentState) -> ColumnDescentState | None:
        """All outputs at once over a working set, where it is small: their Hessian knows of each other."""
        violations = state.violations[:, : problem.d].max(axis=0)
        work = self._working_set(np.abs(state.theta[:, : problem.d]).max(axis=0), violations)
        size = problem.m * (len(work) + 1)
        if size > MAX_JOINT_COEFS or problem.rows.n * size**2 > MAX_JOINT_WORK:
            return None
        table = state.table
        columns = table.X[:, work].tocsr() if problem.rows.is_sparse else table.X[:, work].toarray()
        rows = MemoryRows(columns, table.y[:, None], table.share * problem.columns.weight, target_names=("y",))
        part = problem.restricted(work, rows)
        kept = np.append(work, problem.d) if problem.intercept else work
        inner = run(
            ProximalNewton(), part, state.theta[:, kept], max_iter=50, tol=max(0.01 * state.residual, 1e-11), inner=True
        )
        if not inner.value < state.value:
            return None
        theta = state.theta.copy()
        theta[:, kept] = inner.theta
        return self._state(problem, table, theta, table.predictions(problem, theta))

    def _one_output(
        self, problem: Problem, theta: Floats, f: Floats, value: float, k: int, state: ColumnDescentState
    ) -> tuple[Floats, Floats, float] | None:
        X, y, share = state.table.X, state.table.y, state.table.share
        one = problem.m == 1
        g = problem.loss.gradient(y, f[:, 0] if one else f).reshape(len(y), -1)[:, k] * share
        h = self._curvature(problem, y, f, k) * share
        gradient, violations = state.gradient[k], state.violations[k]
        if k:
            sums = (np.asarray(X.T @ g) - g.sum() * problem.center) * problem.inverse
            gradient = np.append(sums + problem.quadratic(theta)[1][k], g.sum())
            violations = np.abs(theta[k] - problem.prox((theta[k] - gradient[: problem.p])[None], 1.0)[0])
        work = self._working_set(theta[k, : problem.d], violations[: problem.d])
        square = np.broadcast_to(2.0 * problem.square, problem.d)
        delta, shift, change = sweep_columns(
            X.data, X.indices, X.indptr, h, theta[k], gradient, problem.inverse, problem.center, square,
            problem.l1, problem.low, problem.high, work, problem.intercept, 0.1 * float(violations.max()), MAX_SWEEPS,
        )  # fmt: skip
        trial = theta.copy()
        trial[k] += delta
        slope = float(gradient[: problem.p] @ delta)
        slope = slope + problem.nonsmooth_penalty(trial) - problem.nonsmooth_penalty(theta)
        length = 1.0
        for _ in range(MAX_HALVINGS):
            trial[k] = theta[k] + length * delta
            new_f = f.copy()
            new_f[:, k] += length * (change + shift)
            new = state.table.value(problem, trial, new_f)
            if new <= value + SUFFICIENT_DECREASE * length * slope:
                return trial, new_f, new
            if -slope * length <= ROUNDING * abs(value):
                return (trial, new_f, new) if problem.m == 1 and length == 1.0 else None
            length *= 0.5
        return None

    @staticmethod
    def _curvature(problem: Problem, y: Floats, f: Floats, k: int) -> Floats:
        if problem.m == 1:
            return problem.loss.curvature(y, f[:, 0])
        p = problem.loss.probabilities(f)
        assert p is not None
        return p[:, k] * (1.0 - p[:, k])

    @staticmethod
    def _working_set(c: Floats, violations: Floats) -> Ints:
        active = c != 0
        room = max(MIN_WORKING_SET, int(active.sum()))
        entering = np.flatnonzero(~active & (violations > 0))
        if len(entering) > room:
            entering = entering[np.argpartition(violations[entering], -room)[-room:]]
        return np.union1d(np.flatnonzero(active), entering)


@njit(cache=True, nogil=True)
def sweep_columns(
    data: Any, indices: Any, indptr: Any, h: Any, theta: Any, gradient: Any, inverse: Any, center: Any,
    square: Any, l1: Any, low: Any, high: Any, work: Any, intercept: bool, tol: float, sweeps: int,
) -> Any:  # fmt: skip  # pragma: no cover - compiled
    """Coordinate descent on the quadratic model over the working columns; returns δ, its shift of f, and X δ.

    A sweep over all of them is followed by sweeps over those that are not at zero.
    """
    n, p = len(h), len(theta)
    d = len(inverse)
    delta = np.zeros(p)
    weighted_change = np.zeros(n)  # h X δ, without the shift below
    shift = 0.0  # the part of every row's change: intercept, and centres
    total = h.sum()
    curvatures = np.zeros(len(work))
    sums = np.zeros(len(work))
    for i in range(len(work)):
        j = work[i]
        s2, s1 = 0.0, 0.0
        for q in range(indptr[j], indptr[j + 1]):
            s2 += h[indices[q]] * data[q] * data[q]
            s1 += h[indices[q]] * data[q]
        c = center[j]
        curvatures[i] = (s2 - 2.0 * c * s1 + c * c * total) * inverse[j] * inverse[j] + square[j]
        sums[i] = s1
    dot = 0.0  # Σ h X δ: kept for the centres and the intercept
    whole = True
    for _ in range(sweeps):
        largest = 0.0
        for i in range(len(work)):
            j = work[i]
            x = theta[j] + delta[j]
            if curvatures[i] <= 0.0 or (x == 0.0 and not whole):
                continue
            c = center[j]
            inner = 0.0
            for q in range(indptr[j], indptr[j + 1]):
                inner += weighted_change[indices[q]] * data[q]
            change_of_gradient = (inner + shift * sums[i] - c * (dot + shift * total)) * inverse[j]
            slope = gradient[j] + change_of_gradient + square[j] * delta[j]
            z = x - slope / curvatures[i]
            shrink = l1[j] / curvatures[i]
            new = z - shrink if z > shrink else (z + shrink if z < -shrink else 0.0)
            new = min(max(new, low[j]), high[j])
            change = new - x
            if change != 0.0:
                delta[j] = new - theta[j]
                unit = change * inverse[j]
                for q in range(indptr[j], indptr[j + 1]):
                    weighted_change[indices[q]] += h[indices[q]] * unit * data[q]
                dot += unit * sums[i]
                shift -= unit * c
                size = abs(change) * curvatures[i]
                if size > largest:
                    largest = size
        if intercept and total > 0.0:
            slope = gradient[d] + dot + shift * total
            change = -slope / total
            delta[d] += change
            shift += change
            if abs(slope) > largest:
                largest = abs(slope)
        if largest <= tol:
            if whole:
                break
            whole = True
        else:
            whole = False
    change_of_f = np.zeros(n)
    for i in range(len(work)):
        j = work[i]
        if delta[j] != 0.0:
            for q in range(indptr[j], indptr[j + 1]):
                change_of_f[indices[q]] += delta[j] * inverse[j] * data[q]
    return delta, shift, change_of_f
