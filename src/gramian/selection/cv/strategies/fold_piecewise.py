"""Cross-validation of piecewise-linear losses: smoothed Newton along alpha and from fold to fold."""

from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.objective.losses.base import PiecewiseLinear
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows, parallel_map, single_threaded_blas
from gramian.rows.labels import CodedRows
from gramian.selection.cv.splits import Plan, row_weights
from gramian.selection.cv.strategies.fold_passes import extrapolated
from gramian.selection.cv.strategy import FoldTask, SharedFolds
from gramian.solvers.nonsmooth.active_set_equations import active_set_optimum
from gramian.solvers.nonsmooth.smoothed_newton_path import ROUNDING_FACTOR, smoothed_newton

MOST_CELLS = 2e7  # numbers in a table of which a copy is kept
MOST_COLUMNS = 300  # whose Hessian is cheap to factorise at every step
LITTLE = 1e-6  # loss over the penalty: rows may all be on the side, or at the end of it, where they lose nothing
SMALL = 20_000  # numbers in a table: below, compiled code is not worth the seconds that it takes to compile
TOL = 1e-9  # gap over the objective
LOOSE, NOTHING = (
    1e-4,
    1e-9,
)  # a change of the intercept, over the mean distance from the breakpoint; a slope that is none


class FoldPiecewise(SharedFolds):
    """The models of all rows and of every training part, each from alpha to alpha where the last ended.

    The model of all rows comes first, along its path. Those of the parts start there, at the distance that earlier
    alphas have shown.
    """

    @staticmethod
    def _supports(problem: Problem, plans: list[Plan]) -> bool:
        """Whether it is one output with a breakpoint and a quadratic penalty, on dense rows in memory, few columns."""
        rows, parts = problem.rows, problem.parts
        dense = isinstance(rows, MemoryRows | CodedRows) and rows.basis is None and not rows.is_sparse
        quadratic = parts is not None and parts.smooth and parts.square.ndim == 1 and bool(parts.square.any())
        few = problem.p <= MOST_COLUMNS and rows.n * problem.p <= MOST_CELLS
        return problem.loss.piecewise_linear and problem.m == 1 and dense and quadratic and few

    def __init__(self, task: FoldTask) -> None:
        super().__init__(task)
        problem, plans = self.problem, self.plans
        block = problem.rows.collect()
        assert block.y is not None
        assert isinstance(problem.loss, PiecewiseLinear)
        self.Z = problem.standard(problem.prepared(np.asarray(block.X)))
        self.pieces = [np.ascontiguousarray(part) for part in problem.loss.breakpoint(block.y[:, 0])]
        self.train, self.test = row_weights(plans, block.weights)
        self.known: list[dict[float, Floats]] = [{} for _ in self.train]  # of every model, θ (1, p) at each alpha
        self.path = self.known[0]
        self.lossless = [0.0] * len(self.train)  # an alpha at which no training row loses anything, nor at smaller ones
        self.widths = [0.0] * len(self.train)  # how far θ moved the predictions when it was last corrected

    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K) from large alphas to small; None where a part lacks a class."""
        if (self.train.sum(axis=1) <= 0).any() or not self._both_signs():
            return None
        bends = [self.problem.with_alpha(float(alpha)).penalty_hessian for alpha in alphas]
        with single_threaded_blas():
            self._solve(0, alphas, bends)

        def of_split(k: int) -> Floats:
            self._solve(k, alphas, bends)
            return self._validation(k, alphas)

        return np.column_stack(parallel_map(of_split, range(1, len(self.train))))

    def _both_signs(self) -> bool:
        """Whether every training part has rows of both classes, where the target is a class."""
        if self.problem.loss.targets != "signs":
            return True
        positive = self.pieces[1] < 0
        return bool((self.train[:, positive].any(axis=1) & self.train[:, ~positive].any(axis=1)).all())

    def _loose(self, e: Floats, low: Floats, high: Floats, share: Floats) -> bool:
        """Whether the intercept may be anywhere between two breakpoints: a separate fit then says which it takes."""
        if not self.problem.intercept:
            return False
        aside = LOOSE * float(share @ np.abs(e))
        up, down = (float(share @ np.where(e + shift > 0, high, low)) for shift in (aside, -aside))
        return up <= NOTHING or down >= -NOTHING

    def _solve(self, k: int, alphas: Floats, bends: list[Floats]) -> None:
        """The model of one part, or of all rows, at every alpha."""
        rows, known, whole = np.flatnonzero(self.train[k]), self.known[k], self.known[0]
        share = self.train[k][rows] / self.train[k].sum()
        Z, parts = np.ascontiguousarray(self.Z[rows]), [part[rows] for part in self.pieces]
        minimise: Any = smoothed_newton if Z.size > SMALL else smoothed_newton.py_func
        for alpha, bend in zip(alphas.tolist(), bends, strict=True):
            if alpha <= self.lossless[k]:
                known[alpha] = known[self.lossless[k]]
                continue
            theta = self._start(known, whole if k else None, alpha)
            try:
                theta, gap, e, self.widths[k] = minimise(Z, *parts, share, bend, theta, self.widths[k], TOL)
                loss = float(share @ np.maximum(parts[1] * e, parts[2] * e))
                if gap > ROUNDING_FACTOR * TOL or loss <= LITTLE * float(theta @ bend @ theta):
                    found = active_set_optimum(Z, parts, share, bend, theta, e)
                    if found is not None and found[1] <= gap:
                        theta, gap, e, loss = found
                solved = gap <= ROUNDING_FACTOR * TOL and not self._loose(e, parts[1], parts[2], share)
            except np.linalg.LinAlgError:  # the Hessian is singular to rounding
                solved = False
            if solved and loss == 0.0:
                self.lossless[k] = alpha
            if not solved:
                fit = self.task.fit_subset(rows, alpha)
                theta = self.problem.to_standardized(fit.coef, fit.intercept)[0]
            known[alpha] = theta[None]

    def _start(self, known: dict[float, Floats], whole: dict[float, Floats] | None, alpha: float) -> Floats:
        """Where the path leads; for a part, where the difference from the model of all rows leads."""
        if whole is None:
            return (extrapolated(known, alpha) if known else self.problem.zero())[0].copy()
        apart = extrapolated({a: theta - whole[a] for a, theta in known.items()}, alpha) if known else 0.0
        return np.asarray((whole[alpha] + apart)[0])

    def _validation(self, k: int, alphas: Floats) -> Floats:
        """The mean losses (A,) on the test part of a split."""
        at, low, high = self.pieces
        tested = np.flatnonzero(self.test[k - 1])
        if not len(tested):
            return np.full(len(alphas), np.nan)
        w = self.test[k - 1][tested]
        thetas = np.concatenate([self.known[k][float(alpha)] for alpha in alphas])
        e = thetas @ self.Z[tested].T - at[tested]
        return np.asarray(np.maximum(low[tested] * e, high[tested] * e) @ w / w.sum())
