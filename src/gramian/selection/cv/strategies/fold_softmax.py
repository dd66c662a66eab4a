"""Exact cross-validation of several classes: the model of all rows and of every training part, in the same products."""

import numpy as np

from gramian._core.types import Bools, Floats, Ints
from gramian.objective.problem import Problem
from gramian.selection.cv.splits import Plan
from gramian.selection.cv.strategies.backtracking import Backtracking
from gramian.selection.cv.strategies.fold_newton import SETTLED
from gramian.selection.cv.strategies.fold_passes import NEAR, extrapolated, nearest
from gramian.selection.cv.strategy import FoldTask, SharedFolds
from gramian.solvers.smooth.newton_cg import Product
from gramian.solvers.smooth.softmax_models import SoftmaxModels, stackable

MOST_PASSES = 60
POINTS = 5  # of the path that a start is extrapolated from
FORCING = 0.1  # part of a gradient that a step may leave
FINEST = 0.3  # of what is settled, that a step need not go below
NEARBY = 0.03  # length of a step, as SETTLED is, with which what its Hessian neglects is small
FAST = 0.3  # of the gradient left by another step with the same Hessian
MORE_STEPS = 3  # with the same Hessian


class FoldSoftmax(SharedFolds):
    """Newton's method for a path of alphas and several classes, all training parts at once.

    Directions are found by conjugate gradients for all models together, each product with X serving all of them. They
    share one preconditioner, the Hessian of all rows factorised at each alpha, taken anew when the products beyond
    those of a new one have cost as much. The gradient of a part is its own, so what it converges to is its own optimum:
    near it the gradient after a step is the one before, what the Hessian says of the step, and what that neglects.
    """

    solvers = ("auto", "newton-cg")

    @staticmethod
    def _supports(problem: Problem, plans: list[Plan]) -> bool:
        return stackable(problem)

    def __init__(self, task: FoldTask) -> None:
        super().__init__(task)
        self.models: list[_SoftmaxPath | None] | None = None

    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K); None where a part does not converge, or lacks a class."""
        if self.models is None:
            self.models = [_SoftmaxPath.of(self.problem, plan) for plan in self.plans]
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


class _SoftmaxPath:
    """The models of one plan, of all rows and of every training part, from alpha to alpha."""

    def __init__(self, problem: Problem, train: Floats, test: Floats) -> None:
        self.models = SoftmaxModels(problem, train, test)
        self.zero = np.repeat(problem.zero()[None], len(train), axis=0)
        self.known: dict[float, Floats] = {}
        self.level = np.full(len(train), np.inf)  # objectives without coefficients: none at an optimum is above it
        self.bent, self.fresh = np.inf, False  # alpha of the Hessian, and whether it was new at the last alpha
        self.products, self.decades = 0, 0.0  # at the last alpha: products with X, and digits that they brought
        self.least, self.spare = 1.0, 0.0  # products for a digit with a new Hessian; those beyond it since

    @classmethod
    def of(cls, problem: Problem, plan: Plan) -> "_SoftmaxPath | None":
        block = problem.rows.collect()
        assert block.y is not None
        n = problem.rows.n
        labels = plan.folds.labels(0, n)
        weight = block.weights * (labels >= 0)
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
        theta = start = extrapolated(self.known, alpha, POINTS) if self.known else self.zero
        count = len(theta)
        live, solve = np.arange(count), None
        search = Backtracking(theta)
        for _ in range(MOST_PASSES):
            value, g = models.gradients(theta[live], live)
            if not self.known and theta is self.zero:
                self.level = value * (1.0 + 1e-9)
            if theta is start and (value > self.level).any():  # the extrapolation is worse: start at the nearest alpha
                near = self.known[nearest(self.known, alpha)]
                theta = np.where((value > self.level)[:, None, None], near, theta)
                continue
            fell = search.descended(live, value, value)
            if not fell.all():
                rejected = live[~fell]
                if not search.shorten(rejected):
                    return None
                theta = theta.copy()
                theta[rejected] = search.points(rejected)
                continue
            if solve is None:
                solve = self._preconditioner(alpha, theta[0])
                if solve is None:
                    return None
            z = solve(g)
            energy = (g * z).sum(axis=(1, 2))
            settled = SETTLED**2 * value
            going = energy > settled
            if not going.any():
                break
            models.keep(going)
            live, value, settled = live[going], value[going], settled[going]
            x, done = self._steps(live, g[going], z[going], energy[going], value, solve)
            slope = np.minimum((g[going] * x).sum(axis=(1, 2)), 0.0)
            search.advance(live, theta[live], value, x, slope)
            theta = theta.copy()
            theta[live] = search.points(live)
            if done.all():
                break
            models.keep(~done)
            live = live[~done]
        else:
            return None
        self.known[alpha] = theta
        return models.test_losses(theta)[1:]

    def _steps(
        self, live: Ints, g: Floats, z: Floats, energy: Floats, value: Floats, solve: Product
    ) -> tuple[Floats, Bools]:
        """Newton steps with the Hessian where they begin, and which end, as the gradient there says, at an optimum."""
        x, linear, neglected = np.zeros_like(g), g, np.zeros_like(g)
        converged = np.zeros(len(g), dtype=bool)
        close = bool((energy <= NEARBY**2 * value).all())
        for _ in range(MORE_STEPS):
            length = np.sqrt(np.maximum(energy, 1e-300) / value)
            forcing = np.minimum(length, FORCING)  # what is neglected grows with the square of the length
            forcing = np.clip(FINEST * SETTLED / length, forcing, FINEST)
            enough = np.where(converged, np.inf, forcing**2 * energy)
            s, residual, products = self.models.directions(live, linear + neglected, z, solve, enough)
            self.products += products
            self.decades -= float(np.log10(forcing[~converged].min()))
            x += s
            if not close:
                break
            linear = residual - neglected
            neglected = self.models.neglected(live, x)
            z = solve(linear + neglected)
            last, energy = energy, ((linear + neglected) * z).sum(axis=(1, 2))
            converged = energy <= SETTLED**2 * value
            if converged.all() or not (energy <= FAST**2 * last)[~converged].all():
                break
        return np.where(converged[:, None, None], x - z, x), converged

    def _preconditioner(self, alpha: float, theta: Floats) -> Product | None:
        """The Hessian of all rows at the nearest alpha, or here where products have grown many with that one."""
        models = self.models
        if models.joint:
            if self.fresh:
                self.least = self.products / self.decades if len(self.known) > 1 and self.decades else 1.0
            self.spare += max(self.products - self.least * self.decades, 0.0)
            self.products, self.decades = 0, 0.0
            self.fresh = self.spare >= models.hessian_cost or max(alpha / self.bent, self.bent / alpha) > NEAR
            if self.fresh:
                models.update_hessian()
                self.spare, self.bent = 0.0, alpha
        return models.preconditioner(theta)
