"""Cross-validation of ridge regression: every fold and every alpha from the moments of the folds, or in closed form."""

import numpy as np

from gramian._core.types import Floats
from gramian.rows import Rows, parallel_map
from gramian.selection.cv.strategies.fold_moments import FoldMoments
from gramian.selection.cv.strategy import FoldTask, SumsStrategy
from gramian.selection.features.input import fold_moments
from gramian.solvers.least_squares.closed_form import OutOfRange
from gramian.solvers.least_squares.direct import RidgeData, middle_alpha
from gramian.solvers.least_squares.factor import quadratic
from gramian.solvers.least_squares.ridge_path import RidgePath
from gramian.statistics.products import moments_of

MAX_EXPONENT = 450  # binary, of the largest column: alphas are of the size of its square
MAX_GRID_RANGE = 1e14  # between the ends of a grid: beyond it one end is all penalty and the other none


class RidgeFolds(SumsStrategy):
    """One pass for the moments of all folds, one eigendecomposition of each training part for all alphas.

    Leave-one-out is in closed form.
    """

    @classmethod
    def supports(cls, task: FoldTask) -> bool:
        terms = task.problem.coordinates.terms
        squared = task.direct and task.problem.loss.is_squared and task.solver not in ("gram", "rows")
        return squared and terms is not None and terms.smooth and not terms.nothing

    def __init__(self, task: FoldTask) -> None:
        super().__init__(task)
        self.ridge = ridge = RidgeData.of(task.problem)
        assert isinstance(ridge.data, Rows)
        self.rows: Rows = ridge.data
        # A row's influence on the deviations has no closed form: with standardize its fold is solved as others are.
        standardize = ridge.penalty.standardize
        closed = task.plans[0].leave_one_out and not standardize
        made = fold_moments if standardize else FoldMoments
        self.folds = None if closed else made(self.rows, task.plans)
        ridge.moments = self.total = moments_of(self.rows) if self.folds is None else self.folds.total
        self.ends = self._ends()
        self.trained: list[RidgePath] = []

    def grid(self, count: int) -> Floats:
        self._refuse_range()
        return np.geomspace(self.ends[1], self.ends[0], count)

    def limits(self, alphas: Floats) -> tuple[float, float]:
        return self.ends[0] / 1e6, self.ends[1] * 1e6

    def losses(self, alphas: Floats) -> Floats:
        whole = self._spectra(alphas)
        if self.folds is None:
            losses, self.weights = whole.leave_one_out(self.rows, alphas)
            return losses
        self.weights = self.folds.weights
        return self.folds.losses([spectrum.coefs(alphas) for spectrum in self.trained])

    def _spectra(self, alphas: Floats) -> RidgePath:
        """That of all rows, and in `trained` those of the training parts, about the middle of the first grid."""
        ridge = self.ridge
        if ridge.spectrum is None:
            parts = [self.total, *([] if self.folds is None else (train for train, _ in self.folds.splits))]
            middle = middle_alpha(alphas)
            ridge.spectrum, *self.trained = parallel_map(
                lambda part: RidgePath(part, intercept=ridge.intercept, middle=middle, penalty=ridge.penalty), parts
            )
        return ridge.spectrum

    def _refuse_range(self) -> None:
        """Raise if the alphas that make a difference are beyond the range of float64."""
        q = quadratic(self.total, intercept=self.ridge.intercept)
        varying = np.flatnonzero(~q.constant)
        if self.ridge.penalty.standardize or not varying.size:
            return
        j = int(varying[np.argmax(q.x[varying])])
        if abs(int(q.x[j])) > MAX_EXPONENT:
            raise OutOfRange(
                f"Column {self.rows.name(j)}, the largest, is of size 1e{q.x[j] * np.log10(2.0):.0f}: an alpha that "
                "makes a difference, which is of the size of its square, is beyond the range of float64. Divide the "
                "columns by their size first, or use standardize=True."
            )

    def _ends(self) -> tuple[float, float]:
        """Alphas from no shrinkage worth the name to all of it: set by the variances of the columns."""
        q = quadratic(self.total, intercept=self.ridge.intercept)
        G, P = np.diagonal(q.G), np.diagonal(self.ridge.penalty.gram(q, 1.0))
        both = (G > 0) & (P > 0)
        if not both.any():
            return 1e-6, 1e2
        ratio = G[both] / P[both]
        high = float(np.clip(10.0 * ratio.max(), 1e-250, 1e250))
        return max(1e-7 * float(ratio.min()), high / MAX_GRID_RANGE), high
