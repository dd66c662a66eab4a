"""Exact cross-validation of several classes: the model of all rows and of every training part, in the same products."""

import numpy as np
from numpy.typing import NDArray

from gramian.selection.fold_newton import SETTLED
from gramian.selection.fold_passes import foretold, nearest
from gramian.selection.splits import Plan
from gramian.solvers.newton import ENOUGH
from gramian.solvers.problem import Problem
from gramian.solvers.softmax_models import SoftmaxModels

Floats = NDArray[np.float64]
MOST_PASSES = 60
FORCING = 0.1
MORE_INNER = 8  # inner iterations beyond those of a new Hessian that are worth another


class FoldSoftmax:
    """Newton's method for a path of alphas and several classes, all training parts at once.

    Directions are found by conjugate gradients for all models together, each product with X serving all of them. They
    share one preconditioner, the Hessian of all rows factorised at each alpha, taken anew when it has grown slow. The
    gradient of a part is its own, so what it converges to is its own optimum.
    """

    def __init__(self, problem: Problem, plans: list[Plan]) -> None:
        self.problem, self.plans = problem, plans
        self.path: dict[float, Floats] = {}  # θ of all rows at each alpha
        self.models: list[_Path | None] | None = None

    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K); None where a part does not converge, or lacks a class."""
        if self.models is None:
            self.models = [_Path.of(self.problem, plan) for plan in self.plans]
        tables = []
        for models in self.models:
            if models is None:
                return None
            found = [models.at(float(alpha)) for alpha in alphas]
            if any(row is None for row in found):
                return None
            tables.append(np.array(found))
            self.path |= {alpha: theta[0] for alpha, theta in models.known.items()}
        return np.column_stack(tables)


class _Path:
    """The models of one plan, of all rows and of every training part, from alpha to alpha."""

    def __init__(self, problem: Problem, train: Floats, test: Floats) -> None:
        self.models = SoftmaxModels(problem, train, test)
        self.zero = np.repeat(problem.zero()[None], len(train), axis=0)
        self.known: dict[float, Floats] = {}
        self.level = np.full(len(train), np.inf)  # objectives without coefficients: none at an optimum is above it
        self.base, self.slow = 0, True  # inner iterations with a new Hessian; whether it is worth another

    @classmethod
    def of(cls, problem: Problem, plan: Plan) -> "_Path | None":
        block = problem.rows.collect()
        assert block.y is not None
        n = problem.rows.n
        labels = plan.folds.labels(0, n)
        weight = (np.ones(n) if block.weight is None else block.weight) * (labels >= 0)
        train = np.vstack([(plan.train | plan.test).any(axis=0), plan.train])[:, labels] * weight
        test = np.vstack([np.zeros(plan.train.shape[1], dtype=bool), plan.test])[:, labels] * weight
        codes = block.y[:, 0].astype(np.int64)
        seen = [np.bincount(codes, weights=row, minlength=problem.m) for row in train]
        if (np.array(seen) <= 0).any():
            return None
        train /= train.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # NaN where no row of the test part counts
            test[1:] /= test[1:].sum(axis=1, keepdims=True)
        return cls(problem, train, test)

    def at(self, alpha: float) -> Floats | None:
        """The validation losses of the optima at alpha."""
        models = self.models
        models.problem = models.problem.with_alpha(alpha)
        theta = start = foretold(self.known, alpha) if self.known else self.zero
        count = len(theta)
        scores, live, inner = np.empty(count), np.arange(count), 0
        base, step, solve, fresh = theta, np.zeros_like(theta), None, False
        length, before, slope = np.ones(count), np.full(count, np.inf), np.zeros(count)
        for _ in range(MOST_PASSES):
            value, judged, g = models.gradients(theta[live], live)
            if not self.known and theta is self.zero:
                self.level = value * (1.0 + 1e-9)
            if theta is start and (value > self.level).any():  # led astray: from the nearest alpha then
                near = self.known[nearest(self.known, alpha)]
                theta = np.where((value > self.level)[:, None, None], near, theta)
                continue
            fell = value <= before[live] + ENOUGH * length[live] * slope[live] + 1e-13 * np.abs(value)
            if not fell.all():
                back = live[~fell]
                length[back] *= 0.5
                if length[back].min() < 1e-8:
                    return None
                theta = theta.copy()
                theta[back] = base[back] + length[back][:, None, None] * step[back]
                continue
            if solve is None:
                fresh = models.joint and self.slow
                if fresh:
                    models.bend()
                solve = models.preconditioner(theta[0])
                if solve is None:
                    return None
            z = solve(g)
            scores[live] = judged
            going = (g * z).sum(axis=(1, 2)) > SETTLED**2 * value
            if not going.any():
                break
            models.keep(going)
            live, g, z = live[going], g[going], z[going]
            x, products = models.directions(live, g, z, solve, FORCING)
            inner += products
            base, step = theta, np.zeros_like(theta)
            step[live] = x
            before[live], length[live], slope[live] = value[going], 1.0, (g * x).sum(axis=(1, 2))
            theta = base + step
        else:
            return None
        self.known[alpha] = theta
        self.base = inner if fresh else self.base
        self.slow = inner > self.base + MORE_INNER
        return scores[1:]
