"""Ridge regression with a kernel: the choice of alpha and of the kernel, and the fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._core import validation
from gramian.kernels.base import Kernel
from gramian.kernels.lowrank.mapped_rows import MappedRows
from gramian.kernels.points import alone
from gramian.models.kernel.data import KernelData, read_kernel_data
from gramian.models.kernel.ridge_cv import WHOLE, KernelRidgeCV, finalists
from gramian.models.kernel.search import KernelSearch
from gramian.selection.cv.regularization import splits_of
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.splits import plan
from gramian.selection.cv.strategies.fold_moments import select
from gramian.solvers.kernel.ridge_solution import KernelRidgeProblem

COMPARED_ALPHAS = 13  # by which a kernel is compared with others


class KernelRidgeSearch(KernelSearch):
    """Kernels by their validation losses, without fits: what was computed of the chosen one is not computed again."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.trials: dict[Kernel, KernelRidgeCV] = {}

    def begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.data = (X, y, sample_weight)

    def loss(self, kernel: Kernel) -> float:
        other = clone(self.model).set_params(kernel=kernel)
        grid = validation.alphas(other.alphas if isinstance(other.alpha, str) else [float(other.alpha)])
        problem = ridge_problem(other, read_kernel_data(other, *self.data))
        trial = cross_validation(other, problem, grid, coarse=isinstance(grid, int) and problem.n <= WHOLE)
        self.trials[kernel] = trial
        return float(trial.scores.mean[trial.scores.chosen])

    def compared(self, losses: dict[Kernel, float], finer: list[Kernel]) -> dict[Kernel, float]:
        return finalists({kernel: self.trials[kernel] for kernel in losses}, finer)


@dataclass(frozen=True, eq=False)
class AlphaChoice:
    """The scores of alphas, and the losses of kernels as far as they are known better now."""

    scores: Scores
    losses: dict[str, float] | None

    @property
    def alpha(self) -> float:
        return float(self.scores.alphas[self.scores.chosen])


def ridge_problem(model: Any, data: KernelData) -> KernelRidgeProblem:
    """Points, targets and weights of the rows that count."""
    target = data.target
    target.refuse_labels()
    assert target.y is not None
    weight = target.weights
    used = np.flatnonzero(weight > 0)
    intercept, points = bool(model.fit_intercept), alone(data.points[used])
    return KernelRidgeProblem(data.kernel, points, used, target.y[used], weight[used], intercept, data.X, len(weight))


def choose_alpha(model: Any, data: KernelData, problem: KernelRidgeProblem, grid: Any) -> AlphaChoice:
    """Alpha by cross-validation; of a kernel that was chosen, from what its choice has computed."""
    losses = data.losses
    trials = data.search.trials if isinstance(data.search, KernelRidgeSearch) else {}
    tried = [
        kernel for kernel in trials if losses is not None and repr(kernel) in losses
    ]  # without what time cut short
    best = min(tried, key=lambda kernel: (losses or {})[repr(kernel)], default=None)
    known = None if best is None else trials[best]
    trial = known if known is not None and known.many else cross_validation(model, problem, grid)
    scores = trial.final()
    if known is not None and trial is not known and losses is not None:  # few rows: again, by all alphas
        losses = losses | {repr(best): float(scores.mean[scores.chosen])}
    return AlphaChoice(scores, losses)


def cross_validation(model: Any, problem: KernelRidgeProblem, grid: Any, *, coarse: bool = False) -> KernelRidgeCV:
    """What alphas, and kernels, are compared by; `coarse` takes 13 alphas of the grid, and none between them."""
    fixed = not isinstance(grid, int)
    scale = problem.scale
    alphas = grid if fixed else np.geomspace(10.0 * scale, 1e-8 * scale, grid)
    if coarse and not fixed:  # some of those by which the fit is chosen, so that none is called worse than there
        alphas = alphas[np.unique(np.linspace(0, grid - 1, min(grid, COMPARED_ALPHAS)).round().astype(int))]
    rows = MappedRows(problem.points, 1, lambda p: np.zeros((len(p), 1)))
    splits = None if plan(model.cv, rows)[0].leave_one_out else splits_of(model.cv, rows)
    limits = (1e-12 * scale, 1e6 * scale)

    def choose(losses: Any) -> Scores:
        return select(losses, alphas, rule=model.rule, fixed=fixed or coarse, limits=limits)

    return KernelRidgeCV(problem, splits, choose)
