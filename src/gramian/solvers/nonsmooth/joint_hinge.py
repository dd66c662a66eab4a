"""The multi-class hinge with a quadratic penalty: a primal–dual interior point with an exact duality gap."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats
from gramian.objective.losses.classification import MultiHinge
from gramian.objective.problem import Problem
from gramian.rows import Block
from gramian.solvers.base import INTERIOR_POINT_STEPS, Details, Solver, State, pass_cost
from gramian.solvers.nonsmooth.interior_point import MAX_BOUNDARY_STEP, max_step, unmet
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.newton import solver_of
from gramian.solvers.smooth.newton_cg import conjugate_gradients

Solve = Callable[[Floats], Floats]
MAX_DENSE = 3000  # numbers in θ up to which the Hessian is formed
FORCING = 1e-6
OVERSOLVED = 1e-3  # of the tolerance: the last steps are fast, and the error of θ is the root of the gap
MIN_STEP = 1e-8
MAX_IDLE_STEPS = 5  # in a row that make neither gap nor residual smaller: rounding


class ClassRows(RowProducts):
    """All rows at once: their class, their weight over the sum of weights, and passes over their predictions."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.label = self.y.astype(np.int64)

    def predictions(self, theta: Floats) -> Floats:
        """f (n, m); zero for rows without weight, which may be of any size."""
        f = super().predictions(theta)
        f[self.share <= 0] = 0.0
        return f

    def lifted(self, f: Floats) -> Floats:
        """f with the margin added to every class but a row's own."""
        loss = cast(MultiHinge, self.problem.loss)
        lifted = f + loss.margin
        lifted[np.arange(len(f)), self.label] = f[np.arange(len(f)), self.label]
        return lifted

    def gradient_sums(self, values: Floats) -> Floats:
        """Σ share v zᵀ, (m, p), for v (n, m)."""
        return super().gradient_sums(values * self.share[:, None])

    def grams(self, values: Floats) -> Floats:
        """Σ share v_k zzᵀ for each column of v, (K, p, p)."""
        problem, scaled = self.problem, values * self.share[:, None]

        def of_block(block: Block) -> Floats:
            total, start = np.zeros((values.shape[1], problem.p, problem.p)), block.start
            for part, y, _ in problem.panels(block):
                total += problem.weighted_grams(part, np.ascontiguousarray(scaled[start : start + len(y)].T))
                start += len(y)
            return total

        return np.stack([problem.settled_gram(gram) for gram in problem.rows.sum(of_block)])

    def hessian(self, D: Floats) -> Floats:
        """Σ share (diag D − DDᵀ/ΣD) ⊗ zzᵀ, (mp, mp): of each pair of classes a Gram matrix whose weights are positive.

        As the Laplacian of a graph, so that nothing cancels where one class has nearly all of ΣD.
        """
        m, p = self.problem.m, self.problem.p
        pairs = [(a, b) for a in range(m) for b in range(a)]
        first, second = np.array(pairs).T
        D = D / np.sqrt(D.sum(axis=1, keepdims=True))
        H = np.zeros((m, p, m, p))
        for (a, b), gram in zip(pairs, self.grams(D[:, first] * D[:, second]), strict=True):
            H[a, :, b, :] = H[b, :, a, :] = -gram
            H[a, :, a, :] += gram
            H[b, :, b, :] += gram
        return H.reshape(m * p, m * p)

    def unmet(self, theta: Floats, dual: Floats) -> Floats:
        """What the equations of the dual lack, (m, p): Σ share (p − e_y) zᵀ and the gradient of the penalty."""
        slopes = dual.copy()
        slopes[np.arange(len(dual)), self.label] -= 1.0
        residual = self.gradient_sums(slopes)
        residual[:, : self.problem.d] += self.problem.quadratic(theta)[1]
        return residual

    def gap(self, theta: Floats, f: Floats, dual: Floats) -> tuple[float, float]:
        """The objective, and how far it may be above the optimum: a sum of what is not negative."""
        lifted = self.lifted(f)
        top = lifted.max(axis=1)
        own = np.arange(len(f)), self.label
        p = np.maximum(dual, 0.0)
        p = p / p.sum(axis=1, keepdims=True)
        lost = float(self.share @ (p * (top[:, None] - lifted)).sum(axis=1))
        slopes = p.copy()
        slopes[own] = -(p.sum(axis=1) - p[own])
        value = float(self.share @ (top - f[own])) + self.problem.quadratic(theta)[0]
        sums = self.gradient_sums(slopes)
        gap = lost + unmet(self.problem, theta, sums)
        if self.problem.intercept:  # intercepts of the optimum differ from these by no more than predictions do
            spread = float(np.ptp(lifted[self.share > 0], axis=1).max(initial=0.0))
            gap += spread * float(np.abs(sums[:, -1]).sum())
        return value, gap


@dataclass(kw_only=True)
class JointHingeState(State):
    """With slacks z and dual variables p of every row and class, and the best state so far."""

    rows: ClassRows
    f: Floats
    t: Floats
    z: Floats
    p: Floats
    gap: float
    best: "JointHingeState | None" = None  # None where it is this one
    smallest: tuple[float, float] = (np.inf, np.inf)  # gap, and residual of the dual's equations, so far
    idle_steps: int = 0  # that made neither smaller

    @property
    def details(self) -> Details:
        return Details(criterion="duality gap")


@dataclass(frozen=True)
class JointInteriorPoint(Solver[JointHingeState]):
    """Primal–dual interior point (Mehrotra's predictor and corrector) for the hinge of all classes.

    Of each row, t is above the lifted prediction of every class by z > 0, and the dual variables p > 0 of the classes
    sum to one. A Gram matrix for each pair of classes an iteration, O(n k² p²), and a Cholesky factor of k p numbers;
    two or three dozen iterations for any size. The duality gap is exact at each.
    """

    name: ClassVar[str] = "interior point of all classes"
    unit: ClassVar[str] = "interior-point steps"
    min_tol: ClassVar[float] = 1e-6  # what rounding may leave where columns differ by many orders of magnitude

    def supports(self, problem: Problem) -> bool:
        """The hinge of all classes and a quadratic penalty."""
        p = problem.parts
        return problem.loss.class_hinge and p is not None and p.smooth and bool(problem.square.any())

    def cost(self, problem: Problem) -> float:
        """A Gram matrix for each pair of classes a step."""
        return INTERIOR_POINT_STEPS * pass_cost(problem) * problem.p * problem.m

    def reason(self, problem: Problem) -> str:
        return "a hinge of all classes: primal and dual at once, a Gram matrix for each pair of them"

    def done(self, state: JointHingeState, tol: float) -> bool:
        return state.residual <= OVERSOLVED * tol or state.stalled

    def init(self, problem: Problem, start: Floats | None) -> JointHingeState:
        rows = ClassRows(problem)
        theta = problem.zero() if start is None else start - start.mean(axis=0)
        f = rows.predictions(theta)
        lifted = rows.lifted(f)
        top = lifted.max(axis=1)
        width = 10.0 * float(rows.share @ np.ptp(lifted, axis=1)) + 1e-3
        z = top[:, None] - lifted + width
        p = 1.0 / z
        p /= p.sum(axis=1, keepdims=True)
        return self._state(rows, theta, f, top + width, z, p)

    def step(self, problem: Problem, state: JointHingeState) -> JointHingeState:
        rows, f, t, z, p = state.rows, state.f, state.t, state.z, state.p
        share, count = rows.share[:, None], float(rows.share.sum()) * problem.m
        mu = float((share * p * z).sum()) / count
        D = p / z
        total = D.sum(axis=1, keepdims=True)
        apart = t[:, None] - rows.lifted(f) - z
        beyond = p.sum(axis=1, keepdims=True) - 1.0
        try:
            solve = _dense(rows, D) if problem.m * problem.p <= MAX_DENSE else _iterative(rows, D)
        except np.linalg.LinAlgError:
            return self._ended(state)
        dual_residual = rows.unmet(state.theta, p)

        def direction(target: Floats) -> tuple[Floats, ...]:
            """The Newton step to p z = target: of θ, f, t, z and p."""
            g = target / z - p - D * apart
            shift = (g.sum(axis=1, keepdims=True) + beyond) / total
            dtheta = -solve(dual_residual + rows.gradient_sums(g - D * shift))
            df = rows.predictions(dtheta)
            dt = shift + (D * df).sum(axis=1, keepdims=True) / total
            dz = dt - df + apart
            return dtheta, df, dt[:, 0], dz, target / z - p - D * dz

        _, _, _, dz, dp = direction(np.zeros_like(p))
        counted = rows.share > 0
        reach = min(1.0, max_step(z[counted], dz[counted]), max_step(p[counted], dp[counted]))
        predicted = float((share * (p + reach * dp) * (z + reach * dz)).sum()) / count
        sigma = min((predicted / mu) ** 3, 1.0) if mu > 0 else 0.0
        dtheta, df, dt, dz, dp = direction(sigma * mu - reach**2 * dp * dz)
        reach = min(1.0, MAX_BOUNDARY_STEP * min(max_step(z[counted], dz[counted]), max_step(p[counted], dp[counted])))
        parts = [old + reach * change for old, change in ((f, df), (t, dt), (z, dz), (p, dp))]
        if not all(np.isfinite(part).all() for part in parts) or reach < MIN_STEP:
            return self._ended(state)
        f, t, z, p = parts
        z[~counted], p[~counted] = 1.0, 1.0 / problem.m
        p /= p.sum(axis=1, keepdims=True)
        theta = state.theta + reach * dtheta
        # What rounding left of the equations of the dual, by a step so small that it is rounded no more.
        dtheta = -solve(rows.unmet(theta, p))
        df = rows.predictions(dtheta)
        dp = D * (df - (D * df).sum(axis=1, keepdims=True) / total)
        if (np.abs(dp) <= 0.5 * p)[counted].all():
            theta, f, p = theta + dtheta, f + df, p + dp
        after = self._state(rows, theta, f, t, z, p)
        best = state.best or state
        after.best = None if after.residual <= best.residual else best
        gap, size = after.gap, float(np.abs(dual_residual).max())
        better = gap < 0.99 * state.smallest[0] or size < 0.99 * state.smallest[1]
        after.smallest = min(gap, state.smallest[0]), min(size, state.smallest[1])
        after.idle_steps = 0 if better else state.idle_steps + 1
        return self._ended(after) if after.idle_steps >= MAX_IDLE_STEPS else after

    @staticmethod
    def _ended(state: JointHingeState) -> JointHingeState:
        return replace(state.best or state, stalled=True)

    @staticmethod
    def _state(rows: ClassRows, theta: Floats, f: Floats, t: Floats, z: Floats, p: Floats) -> JointHingeState:
        value, gap = rows.gap(theta, f, p)
        residual = gap / max(abs(value), rows.problem.least_value)
        return JointHingeState(theta, value, residual, rows=rows, f=f, t=t, z=z, p=p, gap=gap)

    def finish(self, problem: Problem, state: JointHingeState) -> JointHingeState:
        """The best point, with its gap computed anew from the rows."""
        best = state.best or state
        value, gap = value_and_gap(problem, best.theta, best.p)
        return replace(best, value=value, residual=gap / max(abs(value), problem.least_value), gap=gap)


def value_and_gap(problem: Problem, theta: Floats, p: Floats) -> tuple[float, float]:
    """The objective at θ and its gap to the dual's at p."""
    rows = ClassRows(problem)
    return rows.gap(theta, rows.predictions(theta), p)


def _dense(rows: ClassRows, D: Floats) -> Solve:
    """g ↦ H⁻¹g for g (m, p) whose sum over the classes is zero, by a Cholesky factor.

    What is the same for all classes changes no prediction: H is raised there, where g has nothing. Where rounding
    leaves H indefinite, the factor is of a slightly larger matrix.
    """
    m, p = rows.problem.m, rows.problem.p
    H = rows.hessian(D)
    for k in range(m):
        part = slice(k * p, (k + 1) * p)
        H[part, part] += rows.problem.penalty_hessian
    if not np.isfinite(H).all():
        raise np.linalg.LinAlgError("the Hessian is not finite")
    diagonal = np.diagonal(H).copy()
    unit = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    A = H * unit[:, None] * unit
    blocks = A.reshape(m, p, m, p)
    same = unit.reshape(m, p) * np.sqrt(diagonal.reshape(m, p).mean(axis=0) / m)
    for j in range(p):
        blocks[:, j, :, j] += np.outer(same[:, j], same[:, j])
    factor, raised = None, 0.0
    while factor is None:
        try:
            factor = sl.cho_factor(A + raised * np.eye(len(A)), lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            raised = max(10.0 * raised, 1e-15 * len(A))

    def solve(g: Floats) -> Floats:
        right = (g - g.mean(axis=0)).reshape(-1) * unit
        x = np.asarray(sl.cho_solve(factor, right, check_finite=False))
        for _ in range(2):
            x = x + sl.cho_solve(factor, right - A @ x, check_finite=False)
        x = (x * unit).reshape(m, p)
        return np.asarray(x - x.mean(axis=0))

    return solve


def _iterative(rows: ClassRows, D: Floats) -> Solve:
    """The same by conjugate gradients, without the matrix; the Hessian of each class by itself preconditions them."""
    problem = rows.problem
    total = D.sum(axis=1, keepdims=True)

    def product(v: Floats) -> Floats:
        df = rows.predictions(v)
        result = rows.gradient_sums(D * (df - (D * df).sum(axis=1, keepdims=True) / total))
        result[:, : problem.d] += problem.quadratic(v)[1]
        return result

    inverses = [solver_of(gram + problem.penalty_hessian, quick=True) for gram in rows.grams(D * (total - D) / total)]

    def precondition(r: Floats) -> Floats:
        result = np.stack([inverse(row) for inverse, row in zip(inverses, r, strict=True)])
        return np.asarray(result - result.mean(axis=0))

    def solve(g: Floats) -> Floats:
        return -conjugate_gradients(product, g - g.mean(axis=0), precondition, FORCING)[0]

    return solve
