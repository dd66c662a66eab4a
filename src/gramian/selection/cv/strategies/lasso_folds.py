"""Cross-validation of the lasso and the elastic net: the path of every training part, exactly."""

from collections.abc import Sequence

import numpy as np

from gramian._core.types import Bools, Floats, Ints
from gramian.rows import Rows, parallel_map
from gramian.selection.cv.splits import fold_weights
from gramian.selection.cv.strategies.fold_moments import FoldMoments, searching
from gramian.selection.cv.strategy import FoldTask, SumsStrategy
from gramian.solvers.least_squares.factor import quadratic
from gramian.solvers.sparse.active_set import ENDED
from gramian.solvers.sparse.direct import GramActiveSet, WorkingSets
from gramian.solvers.sparse.lasso import lasso_on_gram, shrinkage_of
from gramian.solvers.sparse.lasso_data import GramData, LassoData, RowsData
from gramian.statistics import Moments


class LassoFolds(SumsStrategy):
    """A path for every training part; where a deadline ends one, the losses of the alphas that all have come to."""

    solver: type[GramActiveSet] | type[WorkingSets]
    ends_itself = True
    data: LassoData

    def __init__(self, task: FoldTask) -> None:
        super().__init__(task)
        self.searched = False

    @classmethod
    def supports(cls, task: FoldTask) -> bool:
        problem, asked = task.problem, isinstance(task.solver, str) and task.solver in ("gram", "rows")
        if not task.direct or not problem.loss.is_squared or shrinkage_of(problem) is None:
            return False
        terms = problem.coordinates.terms
        assert terms is not None
        solver = cls.solver()
        return task.solver in solver.names if asked else not terms.smooth and bool(np.isfinite(solver.cost(problem)))

    def grid(self, count: int) -> Floats:
        start = self._start()
        return np.geomspace(start, start * self.data.reach, count)

    def limits(self, alphas: Floats) -> tuple[float, float]:
        return self._start() * 1e-10, self._start()

    def _start(self) -> float:
        top = self.data.top()
        return top if top > 0 else 1.0

    def _reached(self, rounds: Sequence[Ints | Floats]) -> int:
        """Alphas that every path has come to; of the first search one at least."""
        count = max(int(min((each != ENDED).sum() for each in rounds)), 0 if self.searched else 1)
        self.searched = True
        return count


class LassoGramFolds(LassoFolds):
    """On the Gram matrices of the training parts, from one pass."""

    solver = GramActiveSet

    def __init__(self, task: FoldTask) -> None:
        super().__init__(task)
        rows = task.problem.rows
        self.folds = FoldMoments(rows, task.plans)
        self.weights = self.folds.weights
        self.data = task.problem.shared[GramData] = GramData(task.problem, task.max_iter, self.folds.total)

    def losses(self, alphas: Floats) -> Floats:
        shrinkage = self.data.shrinkage

        def of_split(split: tuple[Moments, Moments]) -> tuple[Floats, Floats, Ints]:
            q = quadratic(split[0], intercept=self.data.intercept)
            return lasso_on_gram(q, alphas, shrinkage, self.data.max_iter)

        with searching():
            paths = parallel_map(of_split, self.folds.splits)
        count = self._reached([rounds for _, _, rounds in paths])
        return self.folds.losses([(coefs[:count], intercepts[:count]) for coefs, intercepts, _ in paths])


class LassoRowFolds(LassoFolds):
    """On the rows: each training part is the table with the test rows' weights set to zero; nothing is copied."""

    solver = WorkingSets
    data: RowsData

    def __init__(self, task: FoldTask) -> None:
        super().__init__(task)
        self.data = task.problem.shared[RowsData] = RowsData(task.problem, task.max_iter)
        self.rows: Rows = task.problem.rows
        weights = fold_weights(task.plans, self.rows)
        self.weights = None if weights is None else weights[weights > 0]
        self.parts = self._parts(weights)

    def losses(self, alphas: Floats) -> Floats:
        data = self.data
        y, X = data.block.y, data.block.X
        assert y is not None

        def of_split(split: tuple[Bools, Bools]) -> tuple[Floats, Floats]:
            train, test = split
            loss, rounds = np.zeros(len(alphas)), np.zeros(len(alphas))
            w = data.weight[test] / data.weight[test].sum()
            for target in range(y.shape[1]):
                path = data.solve(data.table(np.where(train, data.weight, 0.0), target), alphas)
                errors = y[test, target][:, None] - (X[test] @ path.coefs.T + path.intercepts)
                loss += w @ errors**2
                rounds = np.minimum(rounds, path.rounds)
            return loss / y.shape[1], rounds

        with searching():
            results = parallel_map(of_split, self.parts)
        count = self._reached([rounds for _, rounds in results])
        return np.column_stack([loss[:count] for loss, _ in results])

    def _parts(self, weights: Floats | None) -> list[tuple[Bools, Bools]]:
        """The training and test rows of every split."""
        if weights is not None:
            everyone = np.arange(self.rows.n)
            return [(everyone != row, everyone == row) for row in np.flatnonzero(weights)]
        parts = []
        for plan in self.plans:
            labels = plan.folds.labels(0, self.rows.n)
            known = labels >= 0
            parts += [
                (known & train[labels], known & test[labels]) for train, test in zip(plan.train, plan.test, strict=True)
            ]
        for number, pair in enumerate(parts):
            for name, part in zip(("training", "test"), pair, strict=True):
                if not self.data.weight[part].any():
                    raise ValueError(
                        f"The {name} part of split {number} has no row with a positive weight: use fewer folds."
                    )
        return parts
