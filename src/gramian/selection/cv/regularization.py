"""The choice of alpha for any loss and penalty: a grid, and cross-validation by the cheapest exact way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.objective.losses.base import PiecewiseLinear, Scaled
from gramian.objective.losses.classification import MultiHinge, RootHinge
from gramian.objective.losses.regression import Huber, Power, StudentT
from gramian.objective.problem import Problem, joint_scale
from gramian.rows import Block, MemoryRows, Rows, parallel_map, threads
from gramian.rows.labels import class_weights, coded
from gramian.selection.cv.fold_moments import FINER, Limited, select
from gramian.selection.cv.fold_newton import FoldNewton, RoughFoldNewton
from gramian.selection.cv.fold_passes import FoldSearch
from gramian.selection.cv.fold_piecewise import FoldKink, kinks_shared
from gramian.selection.cv.fold_proximal import FoldProximal, models_shared
from gramian.selection.cv.fold_scale import FoldScale, scales_shared
from gramian.selection.cv.fold_softmax import FoldSoftmax
from gramian.selection.cv.leave_one_out import dense_enough, left_out_losses
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.splits import Plan, fold_weights, plan
from gramian.solvers.smooth.softmax_models import stackable
from gramian.solvers.solve import Fit, fit_problem

ProblemFactory = Callable[[Rows], Problem]  # from rows to the problem on them: what a fold is fitted with
FOLD_TOL = 1e-7
SMOOTH_REACH = 1e-6
WIDEST = 1e-13
SPARSE_REACH = 1e-3
FEW_ROWS = 60
ROUGHLY_FINER = 3  # alphas about the best one, where kernels are compared


def has_strength(problem: Problem) -> bool:
    """Whether alpha makes a difference: not without a penalty, nor with bounds alone."""
    p = problem.parts
    return p is None or bool(p.square.any() or p.l1.any() or p.groups)


def strongest(problem: Problem) -> float:
    """An alpha at which the penalty has (nearly) all coefficients: exactly, where zeros are exact."""
    unit = problem.with_alpha(1.0)
    point = unit.at(unit.zero())
    if unit.parts is None:
        return float(np.abs(point.gradient).max()) or 1.0
    g = np.abs(point.gradient[:, : unit.d]).max(axis=0)
    if unit.l1.any() or unit.groups:
        if unit.intercept:
            point = _intercept_only(unit)
            g = np.abs(point.gradient[:, : unit.d] - unit.quadratic(point.theta)[1]).max(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            tops = np.where(unit.l1 > 0, g / unit.l1, 0.0)
        ends = [float(tops.max(initial=0.0))]
        ends += [float(np.linalg.norm(g[members])) / cost for members, cost in unit.groups]
        return max(ends) or 1.0
    square = np.diagonal(unit.square) if unit.square.ndim == 2 else unit.square
    some = square > 0
    return float(np.clip((_bend(unit) / square[some]).max(), 1e-250, 1e250)) if some.any() else 1.0


def _bend(problem: Problem) -> float:
    """How much the loss bends where there are no coefficients, next to the squared loss: what alpha is measured by.

    The mean slope over the mean residual of the best constant: a change of the target's unit changes nothing.
    """
    loss = problem.loss
    if loss.targets in ("signs", "classes"):
        return 1.0
    middle = float(problem.columns.target[0])
    if loss.targets == "counts":
        return max(middle, 1e-300)

    def slopes(block: Block, scale: float) -> Floats:
        assert block.y is not None
        y = block.y[:, 0]
        w = block.weights
        fixed = loss.at(scale) if isinstance(loss, Scaled) and loss.scale is None else loss
        g = fixed.gradient(y, np.full(len(y), middle))
        if fixed is not loss and isinstance(loss, Huber):
            g = g * scale  # its joint objective is scale + scale · loss
        return np.array([w @ np.abs(y - middle), w @ np.abs(g)])

    off = float(problem.rows.sum(lambda block: slopes(block, 1.0))[0]) / problem.columns.weight
    if off <= 0:
        return 1.0
    return max(
        float(problem.rows.sum(lambda block: slopes(block, off))[1]) / problem.columns.weight / off / 2.0, 1e-300
    )


def _intercept_only(problem: Problem) -> Any:
    """The point with no coefficients and the best intercepts, by a few Newton steps on them alone."""
    theta = problem.zero()
    point = problem.at(theta)
    if not problem.loss.smooth:
        return point
    for _ in range(50):
        g = point.gradient[:, problem.d]
        if np.abs(g).max() <= 1e-10 * max(point.size, 1e-300):
            break
        theta = theta.copy()
        for k in range(problem.m):
            low, high = theta.copy(), theta.copy()
            low[k, problem.d] -= 1e-4
            high[k, problem.d] += 1e-4
            bend = (problem.at(high).gradient[k, problem.d] - problem.at(low).gradient[k, problem.d]) / 2e-4
            theta[k, problem.d] -= float(np.clip(g[k] / max(bend, 1e-8), -2.0, 2.0))
        point = problem.at(theta)
    return point


def grid(problem: Problem, count: int) -> Floats:
    """Alphas from the strongest penalty down, evenly in their logarithm; targets out of range are refused first."""
    problem.loss.refuse(problem.columns.low, problem.columns.high)
    with np.errstate(all="ignore"):
        top, least = _ends(problem)
    if not (0.0 < top < np.inf and 0.0 < least < np.inf):
        raise ValueError(
            "An alpha that makes a difference is beyond the range of float64: multiply y and the columns of X by "
            "powers of ten, so that their sizes are nearer to 1, or give alpha."
        )
    return np.geomspace(top, least, count)


def _ends(problem: Problem) -> tuple[float, float]:
    """The strongest penalty and the weakest that are tried."""
    top = strongest(problem)
    unit = problem.with_alpha(1.0)
    if unit.parts is None or unit.l1.any() or unit.groups:
        return top, top * SPARSE_REACH
    square = np.diagonal(unit.square) if unit.square.ndim == 2 else unit.square
    least = float((_bend(unit) / square[square > 0]).min()) * SMOOTH_REACH if (square > 0).any() else top * SMOOTH_REACH
    return top, max(least, top * WIDEST)


class AlphaSearch:
    """Validation losses of one or several problems that share their rows and their alpha."""

    def __init__(
        self,
        rows: Rows,
        problem_factories: list[ProblemFactory],
        cv: Any,
        *,
        solver: Any = "auto",
        max_iter: int = 1000,
        roughly: bool = False,
    ):
        self.rows, self.problem_factories, self.solver, self.max_iter = rows, problem_factories, solver, max_iter
        self.roughly = roughly  # whether scores are only compared with those of other kernels
        self.plans = plan(cv, rows)
        self.problems = [reading(rows) for reading in problem_factories]
        self.weights = fold_weights(self.plans, rows)
        self.loo = self.weights is not None
        self.paths: list[dict[float, Floats]] = [{} for _ in problem_factories]
        self.errors: dict[float, float] = {}  # of approximate leave-one-out, at each alpha
        self.losses = Limited(self._losses)
        self.together: dict[int, FoldSearch | FoldSoftmax | FoldKink | FoldScale] = {}

    def choose(self, alphas: Floats, *, rule: str, fixed: bool) -> Scores:
        """Scores over the grid, refined unless it is fixed; losses with a kink cost too much for that."""
        kinked = any(not problem.loss.smooth for problem in self.problems)
        limits = float(alphas[-1]) * 1e-4, float(alphas[0]) * 1e3
        finer = ROUGHLY_FINER if self.roughly else FINER
        scores = select(self.losses, alphas, rule=rule, fixed=fixed or kinked, limits=limits, finer=finer)
        return replace(scores, error=np.array([self.errors.get(float(alpha), 0.0) for alpha in scores.alphas]))

    def _losses(self, alphas: Floats) -> tuple[Floats, Floats | None]:
        """(A, K), averaged over the problems; with leave-one-out also the weights of the rows."""
        if self.loo and not self._few() and all(self._approximable(problem) for problem in self.problems):
            return self._left_out(alphas)
        tables = np.array([self._table(number, alphas) for number in range(len(self.problems))])
        known = np.isfinite(tables)
        if self.loo:
            return np.where(known, tables, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), self.weights
        if not known.any(axis=0).all():
            raise ValueError("A test part of cv has no row with a positive weight: use fewer folds.")
        return np.where(known, tables, 0.0).sum(axis=0) / known.sum(axis=0), None

    def _few(self) -> bool:
        """Whether the rows are so few that one less is no small change: each is then left out in truth."""
        return self.weights is not None and int(np.count_nonzero(self.weights)) <= FEW_ROWS

    @staticmethod
    def _approximable(problem: Problem) -> bool:
        loss = problem.loss
        smooth = loss.smooth and loss.convex and not joint_scale(loss) and not isinstance(loss, Power)
        return smooth and problem.parts is not None and problem.parts.smooth and dense_enough(problem)

    def _left_out(self, alphas: Floats) -> tuple[Floats, Floats]:
        total: Any = 0.0
        mass: Any = 0.0
        for number, problem in enumerate(self.problems):
            rows = []
            start = None
            for alpha in alphas:
                fit = fit_problem(
                    problem.with_alpha(float(alpha)),
                    solver=self.solver,
                    start=start,
                    max_iter=self.max_iter,
                    warn=False,
                )
                start = fit.theta
                self.paths[number][float(alpha)] = start
                hessian = fit.problem.at(fit.theta, hessian=True).hessian
                value, weight, error = left_out_losses(fit.problem, fit.theta, hessian)
                self.errors[float(alpha)] = self.errors.get(float(alpha), 0.0) + error / len(self.problems)
                rows.append(np.where(weight > 0, value, 0.0))
            total = total + np.array(rows) * weight
            mass = mass + weight
        return total / np.where(mass > 0, mass, 1.0), mass

    def path(self, alphas: Floats) -> tuple[Floats, Floats]:
        """Coefficients (A, d, outputs) and intercepts (A, outputs) of all rows: those met on the way, or fitted now."""
        columns: list[tuple[Floats, Floats]] = []
        for problem, known in zip(self.problems, self.paths, strict=True):
            start, steps = None, []
            for alpha in alphas:
                theta = known.get(float(alpha))
                if theta is None:
                    at = problem.with_alpha(float(alpha))
                    theta = fit_problem(
                        at, solver=self.solver, start=start, max_iter=self.max_iter, tol=FOLD_TOL, warn=False
                    ).theta
                start = theta if problem.loss.smooth else None
                steps.append(problem.to_original(theta))
            columns.append((np.stack([coef for coef, _ in steps]), np.stack([b for _, b in steps])))
        return np.concatenate([c for c, _ in columns], axis=2), np.concatenate([b for _, b in columns], axis=1)

    def starts(self, alpha: float) -> list[Floats | None]:
        """Where the fit of all rows may begin, of each problem: at the solution that the search has met."""
        pairs = zip(self.problems, self.paths, strict=True)
        return [known.get(alpha) if problem.loss.smooth else None for problem, known in pairs]

    def _table(self, number: int, alphas: Floats) -> Floats:
        problem = self.problems[number]
        together = self.together.get(number) or self._together(number, problem)
        if together is not None:
            self.together[number] = together
            found = together.losses(alphas)
            if found is not None:
                self.paths[number] |= together.path
                return found
        return self._refits(number, alphas)

    def _together(self, number: int, problem: Problem) -> FoldSearch | FoldSoftmax | FoldKink | FoldScale | None:
        """The models of all folds in the same passes, where there is a way."""
        if self.loo or not isinstance(self.solver, str):
            return None
        if self.solver in ("auto", "proximal") and models_shared(problem, self.plans):
            return FoldProximal(problem, self.plans)
        if self.solver not in ("auto", "newton", "newton-cg"):
            return None
        if kinks_shared(problem) and self.solver == "auto":
            return FoldKink(problem, self.plans, lambda index, alpha: self._alone(number, index, alpha))
        if self.solver == "auto" and scales_shared(problem, 1 + sum(each.count for each in self.plans)):
            return FoldScale(problem, self.plans)
        if stackable(problem) and self.solver != "newton":
            return FoldSoftmax(problem, self.plans)
        if problem.m == 1 and self._approximable(problem) and self.solver != "newton-cg":
            return (RoughFoldNewton if self.roughly else FoldNewton)(problem, self.plans)
        return None

    def _alone(self, number: int, index: Ints, alpha: float) -> Fit:
        """One model by itself."""
        problem = self.problem_factories[number](taken(self.rows, index)).with_alpha(alpha)
        return fit_problem(problem, solver=self.solver, max_iter=self.max_iter, tol=FOLD_TOL, warn=False)

    def _refits(self, number: int, alphas: Floats) -> Floats:
        splits = [pair for each in self.plans for pair in _splits(each, self.rows.n)]
        reading = self.problem_factories[number]

        def path(index: int) -> Floats:
            train, test = splits[index]
            return self._path(reading, taken(self.rows, train), taken(self.rows, test), alphas)

        return np.column_stack(parallel_map(path, range(len(splits))))

    def _path(self, reading: ProblemFactory, train: Rows, test: Rows, alphas: Floats) -> Floats:
        with threads(1):
            losses = np.full(len(alphas), np.nan)
            judge = reading(test)
            if judge.columns.weight <= 0:
                return losses  # no row has a weight, or takes part in this binary problem
            problem = reading(train)
            if problem.columns.weight <= 0:
                return losses
            judge = _judge(problem, judge)
            start = None
            for a, alpha in enumerate(alphas):
                fit = fit_problem(
                    problem.with_alpha(float(alpha)),
                    solver=self.solver,
                    start=start,
                    max_iter=self.max_iter,
                    tol=FOLD_TOL,
                    warn=False,
                )
                if not isinstance(problem.loss, PiecewiseLinear | MultiHinge | RootHinge | StudentT):
                    start = fit.theta
                losses[a] = validation(judge, fit)
            return losses


def _judge(problem: Problem, test: Problem) -> Problem:
    """The rows that a fit may be judged by: of classes that it has seen, where there are such."""
    if problem.loss.targets not in ("signs", "classes"):
        return test
    seen = class_weights(problem.rows)[0]
    if len(seen) == max(problem.m, 2):
        return test
    rows = coded(test.rows, lambda y: y, lambda y: np.isin(y[:, 0], seen).astype(np.float64))
    known = Problem(rows, test.loss, test.penalty, test.alpha, intercept=test.intercept, outputs=test.m)
    return known if known.columns.weight > 0 else test


def validation(judge: Problem, fit: Fit) -> float:
    """The mean loss of a fit on other rows; a scale that was estimated is the one of the fit."""
    loss = fit.problem.loss if fit.scale is None else fit.problem.loss.at(fit.scale)  # type: ignore[attr-defined]
    bare = judge.with_loss(loss).with_alpha(0.0)
    theta = bare.to_standardized(fit.coef, fit.intercept)
    mean = float(bare.rows.sum(lambda block: bare.block_sums(block, theta, 0)).value / bare.columns.weight)
    # Huber's loss is in units of its scale: what is minimised, and so judged, is scale + scale · loss.
    return mean if fit.scale is None or not isinstance(loss, Huber) else fit.scale * (1.0 + mean)


def _splits(each: Plan, n: int) -> list[tuple[Ints, Ints]]:
    if each.leave_one_out:
        everyone = np.arange(n)
        return [(np.delete(everyone, i), everyone[i : i + 1]) for i in range(n)]
    labels = each.folds.labels(0, n)
    return [
        (np.flatnonzero(train[labels] & (labels >= 0)), np.flatnonzero(test[labels] & (labels >= 0)))
        for train, test in zip(each.train, each.test, strict=True)
    ]


def splits_of(cv: Any, rows: Rows) -> list[tuple[Ints, Ints]]:
    """Rows to train on and to test on, of every split."""
    return [pair for each in plan(cv, rows) for pair in _splits(each, rows.n)]


def taken(rows: Rows, index: Ints) -> Rows:
    """Some of the rows: in memory, or made when they are used as these are."""
    if isinstance(rows, MemoryRows) or rows.basis is not None:
        return rows.subset(index)  # type: ignore[attr-defined]
    block = rows.collect()
    whole = MemoryRows(
        block.X, block.y, block.weight, names=rows.names, target_names=rows.target_names, one_target=rows.one_target
    )
    return whole.subset(index)
