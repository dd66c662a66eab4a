"""The choice of alpha for any loss and penalty: a grid, and the cheapest strategy of cross-validation that fits."""

from dataclasses import replace
from typing import Any

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.objective.losses.base import Loss, Scaled
from gramian.objective.problem import Problem
from gramian.rows import Block, Rows, parallel_map, threads
from gramian.rows.labels import class_weights, coded
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.splits import Plan, fold_weights, plan, subset
from gramian.selection.cv.strategies.fold_moments import FINER, Limited, select
from gramian.selection.cv.strategy import FoldTask, ProblemFactory, Strategy, SumsStrategy, strategy_of
from gramian.solvers.solution import Solution

SMOOTH_REACH = 1e-6
WIDEST = 1e-13
SPARSE_REACH = 1e-3
COMPARISON_FINER = 3  # alphas about the best one, where kernels are compared


def has_strength(problem: Problem) -> bool:
    """Whether alpha makes a difference: not without a penalty, nor with bounds alone."""
    p = problem.coordinates.terms
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
        if fixed is not loss and loss.joint_form:
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
    """Validation losses of one or several problems that share their rows and their alpha.

    All are cross-validated by the cheapest strategy that supports them; a problem for which that gives no losses is
    refitted. With `comparison` the scores are only compared with those of other kernels. With `direct` strategies from
    sums of the rows are asked too.
    """

    def __init__(
        self,
        rows: Rows,
        problem_factories: list[ProblemFactory],
        cv: Any,
        *,
        solver: Any = "auto",
        max_iter: int = 1000,
        comparison: bool = False,
        direct: bool = False,
    ):
        self.comparison = comparison
        plans = plan(cv, rows)
        self.problems = [factory(rows) for factory in problem_factories]
        self.weights = fold_weights(plans, rows)
        self.tasks = [
            FoldTask(rows, factory, problem, plans, self.weights, solver, max_iter, direct)
            for factory, problem in zip(problem_factories, self.problems, strict=True)
        ]
        self.strategy = strategy_of(self.tasks, comparison=comparison)
        self.strategies: dict[int, Strategy] = {}
        self.paths: list[dict[float, Floats]] = [{} for _ in self.tasks]
        ends_itself = issubclass(self.strategy, SumsStrategy) and self.strategy.ends_itself
        self.losses = self._losses if ends_itself else Limited(self._losses)

    def grid(self, count: int) -> Floats:
        """Alphas from the strongest penalty down."""
        sums = self._sums()
        return grid(self.problems[0], count) if sums is None else sums.grid(count)

    def choose(self, alphas: Floats, *, rule: str, fixed: bool) -> Scores:
        """Scores over the grid, refined unless it is fixed; losses with breakpoints cost too much for that."""
        sums = self._sums()
        if sums is not None:
            return select(self.losses, alphas, rule=rule, fixed=fixed, limits=sums.limits(alphas))
        nonsmooth = any(not problem.loss.smooth for problem in self.problems)
        limits = float(alphas[-1]) * 1e-4, float(alphas[0]) * 1e3
        finer = COMPARISON_FINER if self.comparison else FINER
        scores = select(self.losses, alphas, rule=rule, fixed=fixed or nonsmooth, limits=limits, finer=finer)
        return replace(scores, error=np.array([self._error(float(alpha)) for alpha in scores.alphas]))

    def _error(self, alpha: float) -> float:
        """How far the mean score at alpha may be from that of refits, averaged over the problems."""
        strategies = self.strategies.values()
        return float(sum(strategy.errors.get(alpha, 0.0) / len(self.tasks) for strategy in strategies))

    def _losses(self, alphas: Floats) -> tuple[Floats, Floats | None]:
        """(A, K), averaged over the problems; with leave-one-out also the weights of the rows."""
        if self._sums() is not None:  # one problem, of all targets
            return self._table(0, alphas), self.strategies[0].weights
        tables = np.array([self._table(number, alphas) for number in range(len(self.tasks))])
        row_weights = [each.weights for each in self.strategies.values() if each.weights is not None]
        if row_weights:
            mass = np.sum(row_weights, axis=0)
            total = sum(table * weight for table, weight in zip(tables, row_weights, strict=True))
            return total / np.where(mass > 0, mass, 1.0), mass
        known = np.isfinite(tables)
        if self.weights is not None:
            return np.where(known, tables, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), self.weights
        if not known.any(axis=0).all():
            raise ValueError("A test part of cv has no row with a positive weight: use fewer folds.")
        return np.where(known, tables, 0.0).sum(axis=0) / known.sum(axis=0), None

    def _strategy(self, number: int) -> Strategy:
        """That of one problem, made when it is first asked for."""
        if number not in self.strategies:
            self.strategies[number] = self.strategy(self.tasks[number])
        return self.strategies[number]

    def _sums(self) -> SumsStrategy | None:
        """The strategy from sums of the rows, if it is one."""
        strategy = self._strategy(0) if issubclass(self.strategy, SumsStrategy) else None
        return strategy if isinstance(strategy, SumsStrategy) else None

    def _table(self, number: int, alphas: Floats) -> Floats:
        """The losses (A, K) of one problem."""
        strategy = self._strategy(number)
        losses = strategy.losses(alphas)
        if losses is None:
            return Refits(self.tasks[number]).losses(alphas)
        self.paths[number] |= strategy.path
        return losses

    def path(self, alphas: Floats) -> tuple[Floats, Floats]:
        """Coefficients (A, d, outputs) and intercepts (A, outputs) of all rows: those met on the way, or fitted now."""
        columns: list[tuple[Floats, Floats]] = []
        for task, problem, known in zip(self.tasks, self.problems, self.paths, strict=True):
            start, steps = None, []
            for alpha in alphas:
                theta = known.get(float(alpha))
                if theta is None:
                    theta = task.fit(problem.with_alpha(float(alpha)), start=start).theta
                start = theta if problem.loss.smooth else None
                steps.append(problem.to_original(theta))
            columns.append((np.stack([coef for coef, _ in steps]), np.stack([b for _, b in steps])))
        return np.concatenate([c for c, _ in columns], axis=2), np.concatenate([b for _, b in columns], axis=1)

    def starts(self, alpha: float) -> list[Floats | None]:
        """Where the fit of all rows may begin, of each problem: at the solution that the search has met."""
        pairs = zip(self.problems, self.paths, strict=True)
        return [known.get(alpha) if problem.loss.smooth else None for problem, known in pairs]


class Refits(Strategy):
    """A separate fit of every training part, each started at the one before, at the next larger alpha."""

    @classmethod
    def supports(cls, task: FoldTask) -> bool:
        return True

    def losses(self, alphas: Floats) -> Floats:
        splits = [pair for each in self.plans for pair in _splits(each, self.task.rows.n)]

        def of_split(index: int) -> Floats:
            train, test = splits[index]
            return self._path(self.task.factory, subset(self.task.rows, train), subset(self.task.rows, test), alphas)

        return np.column_stack(parallel_map(of_split, range(len(splits))))

    def _path(self, reading: ProblemFactory, train: Rows, test: Rows, alphas: Floats) -> Floats:
        """The validation losses (A,) of one split."""
        with threads(1):
            losses = np.full(len(alphas), np.nan)
            test_problem = reading(test)
            if test_problem.columns.weight <= 0:
                return losses  # no row has a weight, or takes part in this binary problem
            problem = reading(train)
            if problem.columns.weight <= 0:
                return losses
            test_problem = _known_classes(problem, test_problem)
            start = None
            for a, alpha in enumerate(alphas):
                fit = self.task.fit(problem.with_alpha(float(alpha)), start=start)
                if not _starts_anew(problem.loss):
                    start = fit.theta
                losses[a] = validation(test_problem, fit)
            return losses


def _known_classes(problem: Problem, test: Problem) -> Problem:
    """The test rows of classes that the fit has seen, or all where there are none such."""
    if problem.loss.targets not in ("signs", "classes"):
        return test
    seen = class_weights(problem.rows)[0]
    if len(seen) == max(problem.m, 2):
        return test
    rows = coded(test.rows, lambda y: y, lambda y: np.isin(y[:, 0], seen).astype(np.float64))
    known = test.on(rows)
    return known if known.columns.weight > 0 else test


def validation(test: Problem, fit: Solution) -> float:
    """The mean loss of a fit on other rows; a scale that was estimated is the one of the fit."""
    loss = fit.problem.loss if fit.scale is None else fit.problem.loss.at(fit.scale)  # type: ignore[attr-defined]
    bare = test.with_loss(loss).with_alpha(0.0)
    theta = bare.to_standardized(fit.coef, fit.intercept)
    mean = float(bare.rows.sum(lambda block: bare.block_sums(block, theta, 0)).value / bare.columns.weight)
    # Huber's loss is in units of its scale: what is minimised, and so the validation loss, is scale + scale · loss.
    return mean if fit.scale is None or not loss.joint_form else fit.scale * (1.0 + mean)


def _starts_anew(loss: Loss) -> bool:
    """Whether a fit gains nothing from a neighbouring one, or may end at another stationary point."""
    hinge = loss.piecewise_linear or loss.class_hinge or loss.weighted_hinge
    return hinge or loss.weighted_least_squares


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
