"""What a strategy of cross-validation is: which searches it supports, and validation losses along a path of alphas."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem
from gramian.rows import Rows
from gramian.selection.cv.splits import Plan, subset
from gramian.solvers.solution import Solution
from gramian.solvers.solve import fit_problem

ProblemFactory = Callable[[Rows], Problem]  # from rows to the problem on them: what a fold is fitted with
FOLD_TOL = 1e-7
STRATEGIES = (  # by cost, the cheapest first: modules of this room and their classes, imported when they are asked
    ("strategies.ridge_folds", "RidgeFolds"),
    ("strategies.lasso_folds", "LassoGramFolds"),
    ("strategies.lasso_folds", "LassoRowFolds"),
    ("strategies.leave_one_out", "ApproximateLeaveOneOut"),
    ("strategies.fold_proximal", "FoldProximal"),
    ("strategies.fold_piecewise", "FoldPiecewise"),
    ("strategies.fold_scale", "FoldScale"),
    ("strategies.fold_softmax", "FoldSoftmax"),
    ("strategies.fold_newton", "ComparisonFoldNewton"),
    ("strategies.fold_newton", "FoldNewton"),
    ("regularization", "Refits"),
)


@dataclass(frozen=True, eq=False)
class FoldTask:
    """A problem whose alpha is to be chosen, its splits, and how separate fits are solved.

    Attributes
    ----------
    rows : Rows
        All rows, before `factory` makes the problem of them.
    factory : callable
        From rows to the problem on them.
    problem : Problem
        The problem on all rows.
    plans : list of Plan
        The splits.
    row_weights : array (n,) or None
        With leave-one-out, the weights of the rows.
    solver, max_iter :
        Of separate fits.
    direct : bool
        Whether strategies from sums of the rows are asked, which need no solver that iterates.
    """

    rows: Rows
    factory: ProblemFactory
    problem: Problem
    plans: list[Plan]
    row_weights: Floats | None
    solver: Any = "auto"
    max_iter: int = 1000
    direct: bool = False

    @property
    def leave_one_out(self) -> bool:
        return self.row_weights is not None

    @property
    def n_left_out(self) -> int:
        """Rows that leave-one-out leaves out: those with a positive weight."""
        return 0 if self.row_weights is None else int(np.count_nonzero(self.row_weights))

    def fit(self, problem: Problem, *, start: Floats | None = None, tol: float = FOLD_TOL) -> Solution:
        return fit_problem(problem, solver=self.solver, start=start, max_iter=self.max_iter, tol=tol, warn=False)

    def fit_subset(self, index: Ints, alpha: float) -> Solution:
        """A separate fit of a subset of the rows."""
        return self.fit(self.factory(subset(self.rows, index)).with_alpha(alpha))


class Strategy(ABC):
    """A method of cross-validation of one problem over a path of alphas.

    Attributes
    ----------
    solvers : tuple of str
        The values of `solver` whose algorithm the strategy runs.
    comparison_only : bool
        Whether its scores are only accurate enough to be compared with those of other kernels.
    path : dict
        θ of all rows at each alpha.
    errors : dict
        At each alpha, how far approximate scores may be from those of refits.
    weights : array (n,) or None
        Weights of the rows in its losses, where each row is a fold.
    """

    solvers: ClassVar[tuple[str, ...]] = ("auto",)
    comparison_only: ClassVar[bool] = False
    weights: Floats | None = None

    def __init__(self, task: FoldTask) -> None:
        self.task, self.problem, self.plans = task, task.problem, task.plans
        self.path: dict[float, Floats] = {}
        self.errors: dict[float, float] = {}

    @classmethod
    @abstractmethod
    def supports(cls, task: FoldTask) -> bool:
        """Whether this strategy is for the problem, its splits and its solver."""

    @abstractmethod
    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K) from large alphas to small; None where a fold needs a separate fit."""


def strategies() -> Iterator[type[Strategy]]:
    """Every strategy, in the order in which they are asked."""
    for module, name in STRATEGIES:
        yield getattr(import_module(f"gramian.selection.cv.{module}"), name)


def strategy_of(tasks: list[FoldTask], *, comparison: bool = False) -> type[Strategy]:
    """The cheapest strategy that supports all of these, and is as accurate as is asked for."""
    for strategy in strategies():
        if (comparison or not strategy.comparison_only) and all(strategy.supports(task) for task in tasks):
            return strategy
    raise AssertionError("Separate fits support everything.")


class SharedFolds(Strategy):
    """A strategy that solves for all training parts in the same passes; leave-one-out has too many of them."""

    @classmethod
    def supports(cls, task: FoldTask) -> bool:
        named = isinstance(task.solver, str) and task.solver in cls.solvers
        shared = not task.leave_one_out and task.problem.deviations is None  # else each training part has its penalty
        return named and shared and cls._supports(task.problem, task.plans)

    @staticmethod
    @abstractmethod
    def _supports(problem: Problem, plans: list[Plan]) -> bool:
        """Whether it is for this problem and these folds."""


class SumsStrategy(Strategy):
    """A strategy for the squared loss and any number of targets, from sums of the rows.

    Attributes
    ----------
    ends_itself : bool
        Whether it ends at a deadline by itself, with the losses of the first alphas.
    """

    ends_itself: ClassVar[bool] = False

    @abstractmethod
    def grid(self, count: int) -> Floats:
        """Alphas from the strongest penalty down."""

    @abstractmethod
    def limits(self, alphas: Floats) -> tuple[float, float]:
        """The least and the largest alpha of a grid that is widened."""
