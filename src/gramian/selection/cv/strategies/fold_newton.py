"""Exact cross-validation of smooth problems: the model of all rows and of every training part, in the same passes."""

from typing import ClassVar

import numpy as np

from gramian._core.types import Bools, Floats
from gramian.objective.problem import Problem
from gramian.selection.cv.scores import mean_and_error
from gramian.selection.cv.splits import Plan
from gramian.selection.cv.strategies.backtracking import Backtracking
from gramian.selection.cv.strategies.fold_passes import FoldPasses, FoldPath, FoldSearch, extrapolated, nearest
from gramian.selection.cv.strategies.fold_small import SmallPath
from gramian.selection.cv.strategies.leave_one_out import has_dense_hessian
from gramian.solvers.smooth.landmark_problem import LandmarkProblem
from gramian.solvers.smooth.newton import FAST_RESIDUAL, Curvature

MOST_PASSES = 60
LEEWAY = 1e-3  # of the loss, by which a forecast may be worse than where it came from
MOST_PAIRS = 8
SETTLED = 1e-5  # length of a Newton step in the metric of the Hessian, over the root of the loss
COMPARISON_SETTLED = 1e-2  # the same where scores are only compared with those of other kernels
LAST = 3e-5  # the same of a last step that is known to leave less: the square is nothing against the loss
CAUTION = 10.0  # times the rate at which steps were seen to shrink
PATIENCE = 1  # Hessians of all rows at one alpha, before each model gets its own
FAST_OWN = 0.3  # of the gradient left by a step with its own Hessian of a small table: good enough for the next


def near_optimum(fall: Floats, rate: Floats, loss: Floats, settled: float) -> Bools:
    """Which models a step with slope gᵀδ = `fall` brings to their optimum, by the rate at which slopes have shrunk."""
    small = np.abs(fall) <= max(settled, LAST) ** 2 * loss
    return np.asarray(small & (np.abs(fall) * np.minimum(rate, 1.0) <= settled**2 * loss))


class FoldNewton(FoldSearch):
    """Newton's method for a path of alphas, all training parts at once.

    The Hessian of a training part is taken at the solution of all rows, where the Hessians of the atoms add up; its
    gradient is its own, so what it converges to is its own optimum. One Hessian serves every part and as many alphas as
    it makes converge fast: what is left are passes for gradients, each serving every part. Where that is slow, and on
    small tables, where a pass costs little beside the factors of Hessians, every part gets its own.
    """

    solvers = ("auto", "newton")
    tol: ClassVar[float] = 1e-6
    settled: ClassVar[float] = SETTLED

    @staticmethod
    def _supports(problem: Problem, plans: list[Plan]) -> bool:
        return problem.m == 1 and has_dense_hessian(problem)

    def begun(self, plan: Plan) -> FoldPath:
        problem = LandmarkProblem.of(self.problem)
        passes = FoldPasses(problem, plan)
        if SmallPath.supports(problem, passes):
            return SmallPath(problem, passes, self.settled)
        return _NewtonPath(problem, passes, self.tol, self.settled)


class ComparisonFoldNewton(FoldNewton):
    """Scores to about four digits, to be compared with those of other kernels, as far as the best alpha."""

    comparison_only = True
    tol = 1e-12
    settled = COMPARISON_SETTLED

    def _beaten(self, table: Floats) -> bool:
        """Whether two alphas in succession are worse than the best by more than its standard error."""
        mean, error = mean_and_error(table)
        best = int(mean.argmin())
        return len(mean) >= best + 3 and bool((mean[-2:] > mean[best] + error[best]).all())


class _NewtonPath:
    """The models of one plan from alpha to alpha, and the Hessians of its atoms."""

    def __init__(self, problem: Problem, passes: FoldPasses, tol: float, settled: float) -> None:
        self.problem, self.passes, self.tol, self.settled = problem, passes, tol, settled
        self.train, self.test = self.passes.train, self.passes.test
        small = self.passes.table is not None
        self.patience, self.fast = (-1, FAST_OWN) if small else (PATIENCE, FAST_RESIDUAL)
        self.zero = np.repeat(problem.zero(), len(self.train), axis=0)
        self.hessians: Floats | None = None  # (atoms, 1 or M, p, p)
        self.pairs: list[list[tuple[Floats, Floats]]] = [[] for _ in self.train]  # steps, and what they did to the loss
        self.known: dict[float, Floats] = {}
        self.terms: dict[float, tuple[Floats, Floats]] = {}  # loss of those models, and penalty over its alpha

    def at(self, alpha: float) -> Floats | None:
        """The validation losses of the optima at alpha."""
        problem = self.problem.with_alpha(alpha)
        base, value = self._nearest(alpha)
        theta = extrapolated(self.known, alpha) if self.known else self.zero
        search = Backtracking(base, value, theta - base)
        everyone = np.arange(len(base))
        curvatures: list[Curvature] | None = None
        rate = np.ones(len(base))
        before, last, renewed = np.full(len(self.train), np.inf), None, 0
        for _ in range(MOST_PASSES):
            want = self.hessians is None
            curved = None if not want else theta[:1] if renewed <= self.patience else theta
            sums = self.passes.sums(problem, theta, curved)
            weights = sums.weights
            total = self.train @ weights
            if (total <= 0).any():
                return None
            g = np.einsum("ka,akp->kp", self.train, sums.gradients) / total[:, None]
            size = np.einsum("ka,ak->k", self.train, sums.sizes) / total
            values = sums.values.copy()
            slope = problem.quadratic(theta)[1]
            g[:, : problem.d] += slope
            loss = np.einsum("ka,ak->k", self.train, values) / total
            penalty = 0.5 * (slope * theta[:, : problem.d]).sum(axis=1)
            rose = ~search.descended(everyone, loss + penalty, loss)
            if rose.any():
                if last is None:
                    search.restart(rose)
                elif not search.shorten(rose):
                    return None
                theta = search.points()
                continue
            if want:
                self.hessians, curvatures, renewed = sums.hessians, None, renewed + 1
                self.pairs = [[] for _ in self.train]
            moved = theta - search.base
            measure = np.abs(g).max(axis=1) / np.maximum(size, 1e-300)
            if curvatures is None:
                curvatures = self._curvatures(problem, total)
            elif last is not None:
                for k, (s, change) in enumerate(zip(moved, g - last, strict=True)):
                    curvatures[k] = curvatures[k].updated(s, change)
                    self.pairs[k] = [*self.pairs[k][-MOST_PAIRS:], (s, change - problem.penalty_hessian @ s)]
            step = -np.stack([c.inverse(row) for c, row in zip(curvatures, g, strict=True)])
            whole, shrunk = (search.slope < 0) & (search.length == 1.0), search.slope
            fall = (g * step).sum(axis=1)
            rate[whole] = CAUTION * np.abs(fall[whole] / shrunk[whole])
            near = near_optimum(fall, rate, np.abs(loss) + penalty, self.settled)
            settled = (measure <= self.tol) | near
            if settled.all():
                step[~near] = 0.0
                self.known[alpha], self.terms[alpha] = theta + step, (loss, penalty / alpha)
                values += self._change(sums.gradients, step)
                with np.errstate(invalid="ignore"):  # NaN where no row of the test part counts
                    return np.asarray(np.einsum("ka,ak->k", self.test, values[:, 1:]) / (self.test @ weights))
            if ((measure > self.fast * before) & ~settled).any():
                self.hessians = None  # slow: the next pass brings new ones
            before, last = measure, g
            step[settled], fall[settled] = 0.0, 0.0
            search.advance(everyone, theta, loss + penalty, step, fall)
            theta = search.points()
        return None

    def _nearest(self, alpha: float) -> tuple[Floats, Floats]:
        """The models at the alpha next to this one, and about their objectives here, which no start may exceed."""
        if not self.known:
            return self.zero, np.full(len(self.zero), np.inf)
        near = nearest(self.known, alpha)
        loss, penalty = self.terms[near]
        return self.known[near], loss + alpha * penalty + LEEWAY * np.abs(loss)

    def _change(self, gradients: Floats, step: Floats) -> Floats:
        """What a last step does to the losses (atoms, M), to second order: a test part has a slope at the optimum."""
        assert self.hessians is not None
        bent = (self.hessians @ step[:, :, None])[..., 0]
        return np.asarray(((gradients + 0.5 * bent) * step).sum(axis=2))

    def _curvatures(self, problem: Problem, total: Floats) -> list[Curvature]:
        """Of every model at this alpha: the Hessian of its atoms, and what earlier steps have shown of its loss."""
        assert self.hessians is not None
        curvatures = []
        share = self.train / total[:, None]
        if self.hessians.shape[1] == 1:
            sums = np.tensordot(share, self.hessians[:, 0], axes=1)
        else:
            sums = np.stack([np.tensordot(part, self.hessians[:, k], axes=1) for k, part in enumerate(share)])
        sums += problem.penalty_hessian
        for H, pairs in zip(sums, self.pairs, strict=True):
            curvatures.append(Curvature(H).updated_by((s, change + problem.penalty_hessian @ s) for s, change in pairs))
        return curvatures
