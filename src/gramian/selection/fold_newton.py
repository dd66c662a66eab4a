"""Exact cross-validation of smooth problems: the model of all rows and of every training part, in the same passes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.rows import Block
from gramian.selection.splits import Plan
from gramian.solvers.landmark_problem import LandmarkProblem
from gramian.solvers.newton import FAST, Curvature
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
MOST_PASSES = 60
MOST_PAIRS = 8


class _Atom:
    """Of one atom of rows: loss (M,), |gradient| (M,), gradient (M, p) of M models, and the Hessian of the first."""

    def __init__(self, weight: float, values: Floats, sizes: Floats, gradients: Floats, hessian: Floats | None) -> None:
        self.weight, self.values, self.sizes, self.gradients, self.hessian = weight, values, sizes, gradients, hessian

    def _absorb(self, other: "_Atom") -> "_Atom":
        self.weight += other.weight
        self.values += other.values
        self.sizes += other.sizes
        self.gradients += other.gradients
        if self.hessian is not None and other.hessian is not None:
            self.hessian += other.hessian
        return self


class FoldNewton:
    """Newton's method for a path of alphas, all training parts at once.

    The Hessian of a training part is taken at the solution of all rows, where the Hessians of the atoms add up; its
    gradient is its own, so what it converges to is its own optimum. One Hessian serves every part and as many alphas as
    it makes converge fast: what is left are passes for gradients, each serving every part.
    """

    def __init__(self, problem: Problem, plans: list[Plan], tol: float = 1e-6) -> None:
        self.problem, self.plans, self.tol = LandmarkProblem.of(problem), plans, tol
        self.path: dict[float, Floats] = {}  # θ of all rows at each alpha

    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K) from large alphas to small; None where a part does not converge."""
        tables = []
        for plan in self.plans:
            found = self._of_plan(plan, alphas)
            if found is None:
                return None
            tables.append(found)
        return np.column_stack(tables)

    def _of_plan(self, plan: Plan, alphas: Floats) -> Floats | None:
        search = _Path(self.problem, plan, self.tol)
        table = np.empty((len(alphas), plan.count))
        for row, alpha in enumerate(alphas):
            found = search.at(float(alpha))
            if found is None:
                return None
            table[row] = found
            self.path[float(alpha)] = search.theta[:1].copy()
        return table


class _Path:
    """The models of one plan from alpha to alpha, and the Hessians of its atoms."""

    def __init__(self, problem: Problem, plan: Plan, tol: float) -> None:
        self.problem, self.plan, self.tol = problem, plan, tol
        self.train = np.vstack([(plan.train | plan.test).any(axis=0), plan.train]).astype(float)
        self.test = plan.test.astype(float)
        self.theta = np.repeat(problem.zero(), len(self.train), axis=0)
        self.hessians: Floats | None = None  # (atoms, p, p)
        self.pairs: list[list[tuple[Floats, Floats]]] = [[] for _ in self.train]  # steps, and what they did to the loss
        self.past: list[Floats] = []  # the last three solutions

    def at(self, alpha: float) -> Floats | None:
        """The validation losses of the optima at alpha."""
        problem = self.problem.with_alpha(alpha)
        self.theta = self._expected()
        curvatures: list[Curvature] | None = None
        before = np.full(len(self.train), np.inf)
        step, last = np.zeros_like(self.theta), None
        for _ in range(MOST_PASSES):
            atoms = self._pass(problem, hessian=self.hessians is None)
            weights = np.array([a.weight for a in atoms])
            total = self.train @ weights
            if (total <= 0).any():
                return None
            if atoms[0].hessian is not None:
                self.hessians, curvatures = np.stack([a.hessian for a in atoms]), None
                self.pairs = [[] for _ in self.train]
            g = np.einsum("ka,akp->kp", self.train, np.stack([a.gradients for a in atoms])) / total[:, None]
            size = np.einsum("ka,ak->k", self.train, np.stack([a.sizes for a in atoms])) / total
            g[:, : problem.d] += problem.quadratic(self.theta)[1]
            measure = np.abs(g).max(axis=1) / np.maximum(size, 1e-300)
            if (measure <= self.tol).all():
                self.past = [*self.past[-2:], self.theta]
                values = np.stack([a.values for a in atoms])
                with np.errstate(invalid="ignore"):  # NaN where no row of the test part counts
                    return np.asarray(np.einsum("ka,ak->k", self.test, values[:, 1:]) / (self.test @ weights))
            if not np.isfinite(measure).all() or (measure > 100.0 * np.maximum(before, self.tol)).any():
                return None
            if curvatures is None:
                curvatures = self._curvatures(problem, total)
            elif last is not None:
                for k, (s, change) in enumerate(zip(step, g - last, strict=True)):
                    curvatures[k] = curvatures[k].mended(s, change)
                    self.pairs[k] = [*self.pairs[k][-MOST_PAIRS:], (s, change - problem.bend @ s)]
            if (measure > np.maximum(FAST * before, self.tol)).any():
                self.hessians = None  # slow: the next pass brings new ones
            before, last = measure, g
            step = -np.stack([c.inverse(row) for c, row in zip(curvatures, g, strict=True)])
            step[measure <= self.tol] = 0.0
            self.theta = self.theta + step
        return None

    def _expected(self) -> Floats:
        """Where the path leads: the last change, times as much as it was of the one before."""
        if len(self.past) < 3:
            return self.theta
        first, second, third = self.past
        before, change = second - first, third - second
        share = float((change * before).sum()) / max(float((before * before).sum()), 1e-300)
        return third + min(max(share, 0.0), 2.0) * change

    def _curvatures(self, problem: Problem, total: Floats) -> list[Curvature]:
        """Of every model at this alpha: the Hessian of its atoms, and what earlier steps have shown of its loss."""
        assert self.hessians is not None
        found = []
        for part, weight, pairs in zip(self.train, total, self.pairs, strict=True):
            curvature = Curvature(np.tensordot(part, self.hessians, axes=1) / weight + problem.bend)
            for s, change in pairs:
                curvature = curvature.mended(s, change + problem.bend @ s)
            found.append(curvature)
        return found

    def _pass(self, problem: Problem, *, hessian: bool) -> list[Any]:
        theta, loss = self.theta, problem.loss

        def of_block(block: Block) -> _Atom:
            total: _Atom | None = None
            for part, y, w in problem.panels(block, whole=not hessian):
                curved = None
                if hessian:
                    h = loss.curvature(y, problem.predictions(part, theta[:1])[:, 0])
                    curved = problem.weighted_gram(part, h if w is None else h * w)
                weight = float(len(y)) if w is None else float(w.sum())
                mine = _Atom(weight, *problem.sweep(part, y, w, theta), curved)
                total = mine if total is None else total._absorb(mine)
            assert total is not None
            return total

        found = problem.rows.sum_by_fold(of_block, self.plan.folds)
        p, count = problem.p, len(theta)
        none = np.zeros((p, p)) if hessian else None
        nothing = _Atom(0.0, np.zeros(count), np.zeros(count), np.zeros((count, p)), none)
        return [nothing if atom is None else _settled(problem, atom) for atom in found]


def _settled(problem: Problem, atom: _Atom) -> _Atom:
    hessian = None if atom.hessian is None else problem.settled_gram(atom.hessian)
    return _Atom(atom.weight, atom.values, atom.sizes, problem.settled(atom.gradients), hessian)
