"""Exact cross-validation with absolute values, group norms and bounds: all training parts in the same passes."""

from typing import Any

import numpy as np

from gramian._core.numerics.compiled import compiled_later, njit
from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem, joint_scale
from gramian.rows import Block, parallel_map
from gramian.selection.cv.splits import Plan
from gramian.selection.cv.strategies.backtracking import Backtracking
from gramian.selection.cv.strategies.fold_newton import SETTLED
from gramian.selection.cv.strategies.fold_passes import FoldPasses, FoldPath, FoldSearch, nearest
from gramian.selection.cv.strategies.fold_small import SmallPath
from gramian.solvers.smooth.proximal_newton import model_step

MAX_PASSES = 100
MAX_NUMBERS = 2e7  # in the Hessians of all models
MAX_WHOLE = 100  # coefficients of a model that are worked on as a whole
BELOW = 0.7  # share of the cost of its absolute value that the slope of a zero has where it may soon be none
SLOW = 0.1  # of the expected decrease left by a step: its Hessian is no longer good enough
INNER = 1e-2  # of the residual, that a minimum of a model leaves
PREDICTED = 0.1  # the same where a start is looked for
EVEN = 2.0  # a ratio of two steps in log alpha, the longer over the one before
FLAT = 1e-9  # of the mean slope of the loss: where nothing curves, what a gradient may be


class FoldProximal(FoldSearch):
    """Proximal Newton steps for a path of alphas, all training parts at once.

    Only coefficients that are not at zero, or may soon be none, are in the quadratic models. The Hessian of a training
    part is taken at the solution of all rows, where the Hessians of the atoms add up, until that proves slow, and at
    its own solution from then on; steps that were made mend it (BFGS). Its gradient is its own, so what it converges
    to is its own optimum.
    """

    solvers = ("auto", "proximal")

    @staticmethod
    def _supports(problem: Problem, plans: list[Plan]) -> bool:
        """Whether it is a smooth convex loss with zeros or bounds, and the Hessians of all models can be kept."""
        loss, parts = problem.loss, problem.parts
        models = 1 + max(each.count for each in plans)
        smooth = loss.smooth and loss.convex and not joint_scale(loss) and not loss.power
        outputs = problem.m == 1 or loss.likelihood
        return (
            smooth
            and outputs
            and parts is not None
            and not parts.smooth
            and models * (problem.m * problem.p) ** 2 <= MAX_NUMBERS
        )

    def begun(self, plan: Plan) -> FoldPath:
        passes = FoldPasses(self.problem, plan)
        if SmallPath.supports(self.problem, passes) and _classes_complete(self.problem, passes):
            return SmallPath(self.problem, passes, SETTLED)
        return _ProximalPath(self.problem, passes)


class _ProximalPath:
    """The models of one plan from alpha to alpha, and their Hessians."""

    def __init__(self, problem: Problem, passes: FoldPasses) -> None:
        self.passes = passes
        self.problem, self.count = problem, len(self.passes.train)
        self.known: dict[float, Floats] = {}
        self.slopes: dict[float, Floats] = {}  # gradients of the loss at these solutions
        self.starts: dict[float, tuple[float, Floats]] = {}  # which alpha was next to these, and where it led
        self.index: list[Ints] = []  # of each model: the numbers of θ that its Hessian is of
        self.hessians: list[Floats] = []
        self.own = False  # whether each model has the Hessian at its own θ
        self.complete = _classes_complete(problem, self.passes)
        self.level = np.full(self.count, np.inf)  # objectives without coefficients: none at an optimum is above it

    def at(self, alpha: float) -> Floats | None:
        """The validation losses of the optima at alpha."""
        model = _Models(self.problem.with_alpha(alpha))
        theta = self._start(model, alpha) if self.complete else None
        if theta is None:
            return None
        train, test, count = self.passes.train, self.passes.test, self.count
        search = Backtracking(theta)
        fall, slopes = np.full(count, -np.inf), np.zeros_like(theta)
        scores, live, renewed = np.full(count - 1, np.nan), np.arange(count), False
        for number in range(MAX_PASSES):
            sums = self.passes.sums(model.problem, theta[live])
            total = train @ sums.weights
            if (total <= 0).any():
                return None
            share = train[live] / total[live, None]
            point, slope = theta[live], np.einsum("ka,akp->kp", share, sums.gradients)
            smooth = np.einsum("ka,ak->k", share, sums.values) + model.square(point)
            there = smooth + model.nonsmooth(point)
            if not self.known and not number and not theta.any():
                self.level = there + 1e-9 * np.abs(there)
            fell = search.descended(live, there, there)
            if not fell.all():
                rejected = live[~fell]
                if not search.shorten(rejected):
                    return None
                theta[rejected] = search.points(rejected)
                continue
            if number:
                self._mend(live, point - search.base[live], slope - slopes[live])
            slopes[live] = slope
            g = slope + model.slope(point)
            residual = np.abs(point - model.prox(point - g))
            missing = np.array([bool(row.any()) for row in self._outside(live, residual)])
            fresh = self.own and not number
            if not self.hessians or fresh or missing.any():
                stale = np.ones(len(live), dtype=bool) if not self.own or fresh else missing
                self._renew(model, live[stale], theta, slopes, total)
                renewed = True
            delta, predicted = self._steps(model, live, point, g, residual)
            slow = (predicted < SLOW * fall[live]) & (-predicted > SETTLED**2 * np.abs(smooth))
            if slow.any():
                # The solution of all rows says nothing of the others where it is fast and they are not.
                self.own = self.own or bool(renewed and not slow[live == 0].any())
                renewed = True
                stale = slow if self.own else np.ones(len(live), dtype=bool)
                self._renew(model, live[stale], theta, slopes, total)
                delta[stale], predicted[stale] = self._steps(
                    model, live[stale], point[stale], g[stale], residual[stale]
                )
            if not (np.isfinite(predicted).all() and np.isfinite(there).all()) or self._flat(
                live, residual, FLAT * np.einsum("ka,ak->k", share, sums.sizes)
            ):
                return None
            converged = (-predicted <= SETTLED**2 * np.abs(smooth)) & (there <= self.level[live])
            # The loss after the last step is to first order: a test part has a slope there.
            done = converged & (live > 0)
            validation_losses = (sums.values + np.einsum("akp,kp->ak", sums.gradients, delta))[:, done]
            with np.errstate(invalid="ignore"):  # NaN where no row of the test part counts
                part = test[live[done] - 1]
                scores[live[done] - 1] = np.einsum("ka,ak->k", part, validation_losses) / (part @ sums.weights)
            search.advance(live, point, there, delta, predicted)
            fall[live] = predicted
            theta[live] = model.within(point + delta)
            live = live[~converged]
            if not len(live):
                for k, (index, H) in enumerate(zip(self.index, self.hessians, strict=True)):
                    slopes[k, index] += H @ search.step[k, index]
                self.known[alpha], self.slopes[alpha] = theta, slopes
                return scores
        return None

    def _start(self, model: "_Models", alpha: float) -> Floats | None:
        """Where the quadratic models at the nearest solution have their minimum under this alpha."""
        if not self.known:
            return np.repeat(model.problem.zero().reshape(1, -1), self.count, axis=0)
        neighbour = nearest(self.known, alpha)
        theta = self.known[neighbour]
        g = self.slopes[neighbour] + model.slope(theta)
        residual = np.abs(theta - model.prox(theta - g))
        start_here = theta + self._steps(model, np.arange(self.count), theta, g, residual, PREDICTED)[0]
        self.starts[alpha] = neighbour, start_here
        if neighbour in self.starts:  # what the last such start lacked, this one is expected to lack
            before, start = self.starts[neighbour]
            ratio = np.log(neighbour / alpha) / np.log(before / neighbour)
            better = start_here + ratio**2 * (theta - start) if 0 < ratio <= EVEN else start_here
            start_here = np.where((start != 0) & (better * start_here > 0), better, start_here)
        return model.within(start_here)

    def _outside(self, live: Ints, residual: Floats) -> Floats:
        """What is left of the conditions of optimality beyond the numbers that the Hessians are of."""
        outside = residual.copy()
        for row, k in zip(outside, live, strict=True):
            row[self.index[k] if self.index else slice(None)] = 0.0
        return outside

    def _flat(self, live: Ints, residual: Floats, least: Floats) -> bool:
        """Whether a condition of optimality is not met where the loss does not curve."""
        pairs = [(row[self.index[k]], np.diagonal(self.hessians[k])) for k, row in zip(live, residual, strict=True)]
        return any((row[curve <= 0] > most).any() for (row, curve), most in zip(pairs, least, strict=True))

    def _renew(self, model: "_Models", live: Ints, theta: Floats, slopes: Floats, total: Floats) -> None:
        """New Hessians: of some models at their own θ, or of all at that of all rows."""
        passes, problem = self.passes, model.problem
        if not self.index:
            self.index = [np.arange(0)] * self.count
            self.hessians = [np.zeros((0, 0))] * self.count
        if self.own:
            for k in live:
                self.index[k] = model.working_set(theta[k : k + 1], slopes[k : k + 1])
                self.hessians[k] = (
                    passes.hessians(problem, theta[k], self.index[k], passes.train[k : k + 1])[0] / total[k]
                )
            return
        index = model.working_set(theta, slopes)
        self.index = [index] * self.count
        self.hessians = list(passes.hessians(problem, theta[0], index, passes.train) / total[:, None, None])

    def _mend(self, live: Ints, steps: Floats, changes: Floats) -> None:
        """Let the Hessians know what the last steps did to the gradients of the loss (BFGS)."""
        for k, step, change in zip(live, steps, changes, strict=True):
            H, s, y = self.hessians[k], step[self.index[k]], change[self.index[k]]
            Hs, product = H @ s, float(s @ y)
            curve = float(s @ Hs)
            if product > 1e-12 * curve > 0:
                _add_outer(H, y, 1.0 / product)
                _add_outer(H, Hs, -1.0 / curve)

    def _steps(
        self, model: "_Models", live: Ints, theta: Floats, g: Floats, residual: Floats, inner: float = INNER
    ) -> tuple[Floats, Floats]:
        """The step of every model to the minimum of its quadratic model, and the change of the objective to be had."""
        delta = np.zeros_like(theta)
        enough = inner * residual.max(axis=1, initial=0.0)

        def of_one(row: int) -> None:
            k = live[row]
            index = self.index[k]
            H = model.bent(self.hessians[k], index)
            delta[row, index] = model_step(
                model.problem, H, g[row, index], theta[row, index], float(enough[row]), index
            )

        if theta.shape[1] <= MAX_WHOLE:
            for row in range(len(live)):
                of_one(row)
        else:
            parallel_map(of_one, range(len(live)))
        return delta, (g * delta).sum(axis=1) + model.nonsmooth(theta + delta) - model.nonsmooth(theta)


@njit(cache=True, nogil=True)
def add_outer(H: Any, y: Any, factor: float) -> None:  # pragma: no cover - compiled
    """H + factor · y yᵀ, in place."""
    for i in range(len(y)):
        if y[i] != 0.0:
            for j in range(len(y)):
                H[i, j] += factor * y[i] * y[j]


def _add_outer_plain(H: Floats, y: Floats, factor: float) -> None:
    H += (factor * y)[:, None] * y


_add_outer = compiled_later(add_outer, _add_outer_plain, add_outer, seconds=lambda H, *_: 5e-6 + 1e-9 * H.size)


class _Models:
    """The penalty of several models at once, θ (M, m p)."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def _coef(self, theta: Floats) -> Floats:
        p = self.problem
        return theta.reshape(len(theta), p.m, p.p)[:, :, : p.d]

    def slope(self, theta: Floats) -> Floats:
        """The gradient of the quadratic penalty."""
        found, problem = np.zeros_like(theta), self.problem
        c = self._coef(theta)
        self._coef(found)[:] = 2.0 * (c * problem.square if problem.square.ndim == 1 else c @ problem.square)
        return found

    def square(self, theta: Floats) -> Floats:
        return 0.5 * (self.slope(theta) * theta).sum(axis=1)

    def working_set(self, theta: Floats, slopes: Floats) -> Ints:
        """The numbers of θ that are not zero in one of the models, or that may soon be none."""
        problem = self.problem
        l1, low, high = problem.separable
        if theta.shape[1] <= MAX_WHOLE or problem.groups or np.isfinite(low).any() or np.isfinite(high).any():
            return np.arange(theta.shape[1])
        needed = (theta != 0) | (np.abs(slopes) >= BELOW * l1)
        return np.flatnonzero(needed.any(axis=0))

    def bent(self, H: Floats, index: Ints) -> Floats:
        """A Hessian of the loss with that of the quadratic penalty."""
        problem = self.problem
        if not problem.square.any():
            return H
        output, column = np.divmod(index, problem.p)
        return np.asarray(H + problem.penalty_hessian[np.ix_(column, column)] * (output[:, None] == output))

    def within(self, theta: Floats) -> Floats:
        """θ moved to the nearest point within bounds."""
        moved = theta.copy()
        c = self._coef(moved)
        np.clip(c, self.problem.low, self.problem.high, out=c)
        return moved

    def prox(self, theta: Floats) -> Floats:
        proxes = [self.problem.prox(one.reshape(self.problem.m, -1), 1.0) for one in theta]
        return np.stack(proxes).reshape(theta.shape)

    def nonsmooth(self, theta: Floats) -> Floats:
        return np.array([self.problem.nonsmooth_penalty(one.reshape(self.problem.m, -1)) for one in theta])


def _classes_complete(problem: Problem, passes: FoldPasses) -> bool:
    """Whether every model has seen every label; where one is missing, a fit may have no optimum."""
    if problem.loss.targets not in ("signs", "classes"):
        return True
    names = np.array([-1.0, 1.0]) if problem.loss.targets == "signs" else np.arange(problem.m, dtype=float)

    def seen(block: Block) -> Floats:
        assert block.y is not None
        w = block.weights
        return np.asarray(w @ (block.y[:, :1] == names))

    atoms = problem.rows.sum_by_fold(seen, passes.plan.folds)
    counts = np.stack([np.zeros(len(names)) if atom is None else atom for atom in atoms])
    return bool((passes.train @ counts > 0).all())
