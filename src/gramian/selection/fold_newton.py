"""Exact cross-validation of smooth problems: the model of all rows and of every training part, in the same passes."""

import numpy as np
from numpy.typing import NDArray

from gramian.selection.fold_passes import FoldPasses, FoldSearch, foretold
from gramian.selection.splits import Plan
from gramian.solvers.landmark_problem import LandmarkProblem
from gramian.solvers.newton import FAST, Curvature
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
MOST_PASSES = 60
MOST_PAIRS = 8
SETTLED = 1e-5  # length of a Newton step in the metric of the Hessian, over the root of the loss
PATIENCE = 1  # Hessians of all rows at one alpha, before each model gets its own


class FoldNewton(FoldSearch):
    """Newton's method for a path of alphas, all training parts at once.

    The Hessian of a training part is taken at the solution of all rows, where the Hessians of the atoms add up; its
    gradient is its own, so what it converges to is its own optimum. One Hessian serves every part and as many alphas as
    it makes converge fast: what is left are passes for gradients, each serving every part. Where that is slow, every
    part gets its own.
    """

    tol: float = 1e-6

    def begun(self, plan: Plan) -> "_Path":
        return _Path(LandmarkProblem.of(self.problem), plan, self.tol)


class _Path:
    """The models of one plan from alpha to alpha, and the Hessians of its atoms."""

    def __init__(self, problem: Problem, plan: Plan, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.passes = FoldPasses(problem, plan)
        self.train, self.test = self.passes.train, self.passes.test
        self.theta = np.repeat(problem.zero(), len(self.train), axis=0)
        self.hessians: Floats | None = None  # (atoms, 1 or M, p, p)
        self.pairs: list[list[tuple[Floats, Floats]]] = [[] for _ in self.train]  # steps, and what they did to the loss
        self.known: dict[float, Floats] = {}

    def at(self, alpha: float) -> Floats | None:
        """The validation losses of the optima at alpha."""
        problem = self.problem.with_alpha(alpha)
        if self.known:
            self.theta = foretold(self.known, alpha)
        curvatures: list[Curvature] | None = None
        before = np.full(len(self.train), np.inf)
        step, last, renewed = np.zeros_like(self.theta), None, 0
        for _ in range(MOST_PASSES):
            want = self.hessians is None
            curved = None if not want else self.theta[:1] if renewed <= PATIENCE else self.theta
            sums = self.passes.sums(problem, self.theta, curved)
            weights = sums.weights
            total = self.train @ weights
            if (total <= 0).any():
                return None
            if want:
                self.hessians, curvatures, renewed = sums.hessians, None, renewed + 1
                self.pairs = [[] for _ in self.train]
            g = np.einsum("ka,akp->kp", self.train, sums.gradients) / total[:, None]
            size = np.einsum("ka,ak->k", self.train, sums.sizes) / total
            values = sums.values.copy()
            slope = problem.quadratic(self.theta)[1]
            g[:, : problem.d] += slope
            measure = np.abs(g).max(axis=1) / np.maximum(size, 1e-300)
            if not np.isfinite(measure).all() or (measure > 100.0 * np.maximum(before, self.tol)).any():
                return None
            if curvatures is None:
                curvatures = self._curvatures(problem, total)
            elif last is not None:
                for k, (s, change) in enumerate(zip(step, g - last, strict=True)):
                    curvatures[k] = curvatures[k].mended(s, change)
                    self.pairs[k] = [*self.pairs[k][-MOST_PAIRS:], (s, change - problem.bend @ s)]
            step = -np.stack([c.inverse(row) for c, row in zip(curvatures, g, strict=True)])
            loss = np.abs(np.einsum("ka,ak->k", self.train, values) / total)
            loss += 0.5 * (slope * self.theta[:, : problem.d]).sum(axis=1)
            near = np.abs((g * step).sum(axis=1)) <= SETTLED**2 * loss
            settled = (measure <= self.tol) | near
            if settled.all():
                step[~near] = 0.0
                self.known[alpha] = self.theta + step
                values += self._change(sums.gradients, step)
                with np.errstate(invalid="ignore"):  # NaN where no row of the test part counts
                    return np.asarray(np.einsum("ka,ak->k", self.test, values[:, 1:]) / (self.test @ weights))
            if ((measure > FAST * before) & ~settled).any():
                self.hessians = None  # slow: the next pass brings new ones
            before, last = measure, g
            step[settled] = 0.0
            self.theta = self.theta + step
        return None

    def _change(self, gradients: Floats, step: Floats) -> Floats:
        """What a last step does to the losses (atoms, M), to second order: a test part has a slope at the optimum."""
        assert self.hessians is not None
        bent = (self.hessians @ step[:, :, None])[..., 0]
        return np.asarray(((gradients + 0.5 * bent) * step).sum(axis=2))

    def _curvatures(self, problem: Problem, total: Floats) -> list[Curvature]:
        """Of every model at this alpha: the Hessian of its atoms, and what earlier steps have shown of its loss."""
        assert self.hessians is not None
        found = []
        for k, (part, weight, pairs) in enumerate(zip(self.train, total, self.pairs, strict=True)):
            own = self.hessians[:, min(k, self.hessians.shape[1] - 1)]
            curvature = Curvature(np.tensordot(part, own, axes=1) / weight + problem.bend)
            for s, change in pairs:
                curvature = curvature.mended(s, change + problem.bend @ s)
            found.append(curvature)
        return found
