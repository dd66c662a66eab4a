"""Exact cross-validation of smooth problems: the model of all rows and of every training part, in the same passes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.rows import Block
from gramian.selection.splits import Plan
from gramian.solvers.newton import solve_spd
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
MOST_PASSES = 40


class _Atom:
    """Of one atom of rows: loss (M,), |gradient| (M,), gradient (M, p) of M models, and the Hessian of the first."""

    def __init__(self, weight: float, values: Floats, sizes: Floats, gradients: Floats, hessian: Floats) -> None:
        self.parts = (values, sizes, gradients, hessian)
        self.weight = weight

    def _absorb(self, other: "_Atom") -> "_Atom":
        for mine, yours in zip(self.parts, other.parts, strict=True):
            mine += yours
        self.weight += other.weight
        return self


class FoldNewton:
    """Newton's method for a path of alphas, all training parts at once.

    The Hessian of a training part is taken at the solution of all rows, where the Hessians of the atoms add up; its
    gradient is its own, so what it converges to is its own optimum. One pass of O(n p²) serves every part.
    """

    def __init__(self, problem: Problem, plans: list[Plan], tol: float = 1e-6) -> None:
        self.problem, self.plans, self.tol = problem, plans, tol
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
        train = np.vstack([(plan.train | plan.test).any(axis=0), plan.train]).astype(float)
        test = plan.test.astype(float)
        theta = np.repeat(self.problem.zero(), len(train), axis=0)
        table = np.empty((len(alphas), plan.count))
        for row, alpha in enumerate(alphas):
            problem = self.problem.with_alpha(float(alpha))
            found = self._solve(problem, plan, train, test, theta)
            if found is None:
                return None
            theta, table[row] = found
            self.path[float(alpha)] = theta[:1]
        return table

    def _solve(
        self, problem: Problem, plan: Plan, train: Floats, test: Floats, theta: Floats
    ) -> tuple[Floats, Floats] | None:
        before = np.full(len(train), np.inf)
        for _ in range(MOST_PASSES):
            atoms = self._pass(problem, plan, theta)
            weights = np.array([a.weight for a in atoms])
            values, sizes, gradients, hessians = (
                np.stack([a.parts[i] for a in atoms]) for i in range(4)
            )  # (atoms, M), (atoms, M), (atoms, M, p), (atoms, p, p)
            total = train @ weights
            if (total <= 0).any():
                return None
            g = np.einsum("ka,akp->kp", train, gradients) / total[:, None]
            size = np.einsum("ka,ak->k", train, sizes) / total
            g[:, : problem.d] += problem.quadratic(theta)[1]
            measure = np.abs(g).max(axis=1) / np.maximum(size, 1e-300)
            if (measure <= self.tol).all():
                with np.errstate(invalid="ignore"):  # NaN where no row of the test part counts
                    return theta, np.einsum("ka,ak->k", test, values[:, 1:]) / (test @ weights)
            if not np.isfinite(measure).all() or (measure > 100.0 * np.maximum(before, self.tol)).any():
                return None
            before = measure
            theta = theta.copy()
            for k in range(len(train)):
                if measure[k] <= self.tol:
                    continue
                H = np.tensordot(train[k], hessians, axes=1) / total[k] + problem.bend
                theta[k] -= solve_spd(H, g[k])
        return None

    @staticmethod
    def _pass(problem: Problem, plan: Plan, theta: Floats) -> list[Any]:
        many = _Many(problem, len(theta))

        def of_block(block: Block) -> _Atom:
            total: _Atom | None = None
            for part, y, w in problem.panels(block):
                f = many.predictions(part, theta)
                values, gradients = np.empty_like(f), np.empty_like(f)
                for k in range(f.shape[1]):
                    values[:, k], gradients[:, k] = problem.loss.value(y, f[:, k]), problem.loss.gradient(y, f[:, k])
                h = problem.loss.curvature(y, f[:, 0])
                weight = np.ones(len(y)) if w is None else w
                gradients *= weight[:, None]
                mine = _Atom(
                    float(weight.sum()),
                    weight @ values,
                    np.abs(gradients).sum(axis=0),
                    many.pull(part, gradients),
                    problem.weighted_gram(part, h * weight),
                )
                total = mine if total is None else total._absorb(mine)
            assert total is not None
            return total

        found = problem.rows.sum_by_fold(of_block, plan.folds)
        p, count = problem.p, len(theta)
        nothing = _Atom(0.0, np.zeros(count), np.zeros(count), np.zeros((count, p)), np.zeros((p, p)))
        return [nothing if atom is None else atom for atom in found]


class _Many(Problem):
    """The problem's rows, for several models of one output at once."""

    def __init__(self, problem: Problem, count: int) -> None:
        self.__dict__.update(problem.__dict__)
        self.m = count
