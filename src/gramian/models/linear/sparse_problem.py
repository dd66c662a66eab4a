"""The lasso and elastic-net problem in its two forms: on cross-products, and on the rows themselves.

Each knows its largest alpha, its path over a grid, and the validation losses of that path. Where a deadline ends
paths, losses are of the alphas before, of one at least, and the path has these and the one asked for.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Bools, Floats, Ints
from gramian.models.base.squared_loss import Options, OutOfRange
from gramian.rows import Block, Rows, parallel_map
from gramian.selection.cv.fold_moments import FoldMoments, searching
from gramian.selection.cv.splits import Plan, fold_weights, plan
from gramian.solvers.certificate import SolverInfo
from gramian.solvers.least_squares.factor import factor_of_quadratic, quadratic
from gramian.solvers.least_squares.rounding import intercept_share, neglected_share
from gramian.solvers.sparse.active_set import ENDED
from gramian.solvers.sparse.lasso import Shrinkage, gap_on_gram, largest_alpha, lasso_on_gram, rounding_shares
from gramian.solvers.sparse.working_set import Table, WidePath, wide_path
from gramian.statistics import Moments
from gramian.statistics.products import block_moments

Traced = tuple[Floats, Floats, Floats, Floats, Floats, Ints]
MOST_EXPONENT = 500  # binary, of a column or target: products of two and their sums stay within float64


class OnGram:
    """The problem on cross-products: from moments, or from one pass over rows."""

    through = "moments"
    solver = SolverInfo("active set on the Gram matrix", "the d × d Gram matrix fits: exact along the whole path")

    def __init__(self, data: Rows | Moments, options: Options, shrinkage: Shrinkage) -> None:
        self.data = data
        self.options = options
        self.shrinkage = shrinkage
        self.folds: FoldMoments | None = None
        if isinstance(data, Moments):
            total = data
        elif options.alpha is None:
            self.folds = FoldMoments(data, plan(options.cv, data))
            total = self.folds.total
        else:
            total = data.sum(block_moments(data))
        self.total = quadratic(total, intercept=options.fit_intercept)
        refuse_sizes(data, np.where(self.total.constant, 0, self.total.x), self.total.y)
        self.searched = False
        self.reach = 1e-3 if total.n > total.d else 1e-2

    def top(self) -> float:
        if self.shrinkage.l1_ratio == 0:
            return (
                1e2
                * float(np.max(np.ldexp(np.diagonal(self.total.G), 2 * self.total.x), initial=0.0))
                / self.total.weight
            )
        return largest_alpha(self.total, self.shrinkage)

    def losses(self, alphas: Floats) -> tuple[Floats, Floats | None]:
        assert self.folds is not None

        def of_split(split: tuple[Moments, Moments]) -> tuple[Floats, Floats, Ints]:
            q = quadratic(split[0], intercept=self.options.fit_intercept)
            return lasso_on_gram(q, alphas, self.shrinkage, self.options.max_iter)

        with searching():
            found = parallel_map(of_split, self.folds.splits)
        count = _come_to([rounds for _, _, rounds in found], self.searched)
        self.searched = True
        return self.folds.losses([(c[:count], b[:count]) for c, b, _ in found]), self.folds.weights

    def path(self, alphas: Floats, alpha: float) -> Traced:
        coefs, intercepts, rounds = lasso_on_gram(self.total, alphas, self.shrinkage, self.options.max_iter)
        keep = _kept(rounds, alphas, alpha)
        alphas, coefs = alphas[keep], coefs[keep]
        found = [gap_on_gram(self.total, c, a, self.shrinkage) for c, a in zip(coefs, alphas, strict=True)]
        objectives, gaps = np.array([o for o, _ in found]), np.array([g for _, g in found])
        return alphas, coefs, intercepts[keep], objectives, gaps, rounds[keep]

    def design(self) -> tuple[int | None, float | None]:
        """Rank and condition number of the columns, where they are cheap to know."""
        if self.total.d > 500:
            return None, None
        factor = factor_of_quadratic(self.total)
        return factor.rank, factor.condition()

    def rounding_shares(self, coef: Floats, alpha: float) -> tuple[float, float]:
        """Shares of the objective that columns taken as constant, and the rounding of the intercept, may have."""
        return rounding_shares(self.total, coef, alpha, self.shrinkage)

    def facts(self, coef: Floats, objective: float) -> tuple[Floats, float, dict[str, Any]]:
        """Σ w r² of each target, Σ w, and what `summary` says."""
        q = self.total
        z = np.ldexp(coef, q.x[:, None] - q.y[None, :])
        residual = np.diagonal(q.yy) - 2 * (q.B * z).sum(axis=0) + ((q.G @ z) * z).sum(axis=0)
        facts = _facts(residual, np.diagonal(q.yy), q.weight, objective, int((coef != 0).sum()))
        return np.ldexp(np.maximum(residual, 0.0), 2 * q.y), q.weight, facts


class OnRows:
    """The problem on the matrix itself, for more columns than a Gram matrix should have."""

    through = "rows"
    solver = SolverInfo(
        "working sets on the rows", "more columns than rows: inner products only of the columns that matter"
    )
    reach = 1e-2

    def __init__(self, rows: Rows, options: Options, shrinkage: Shrinkage) -> None:
        self.options = options
        self.shrinkage = shrinkage
        self.rows = rows
        self.block: Block = rows.collect()
        X = self.block.X
        if not np.isfinite(X.sum()):
            rows.refuse_nonfinite()
        weight = self.block.weights
        self.weight = weight
        assert self.block.y is not None
        refuse_sizes(rows, _sizes(X[weight > 0]), _sizes(self.block.y[weight > 0]))
        self.tables = [self._table(weight, target) for target in range(self.block.y.shape[1])]
        self.searched = False
        self._plans: list[Plan] = plan(options.cv, rows) if options.alpha is None else []

    def _table(self, weight: Floats, target: int) -> Table:
        assert self.block.y is not None
        intercept, standardize = self.options.fit_intercept, self.shrinkage.standardize
        return Table(self.block.X, self.block.y[:, target], weight / weight.sum(), intercept, standardize)

    def _weights(self) -> tuple[Floats, Floats]:
        """l1 and l2 of alpha = 1 for the columns in their units, in the form of `active_set`: 2 l1 |z| + l2 z²."""
        size = np.ones(self.rows.d) if self.shrinkage.factors is None else self.shrinkage.factors
        ratio = self.shrinkage.l1_ratio
        return 0.5 * ratio * size, (1.0 - ratio) * size

    def top(self) -> float:
        largest = 0.0
        l1, _ = self._weights()
        for table in self.tables:
            b = np.abs(table.correlations(table.y))
            penalised = l1 > 0
            largest = max(largest, float(np.max(b[penalised] / l1[penalised], initial=0.0)))
        return largest

    def _solve(self, table: Table, alphas: Floats) -> WidePath:
        return wide_path(table, alphas, *self._weights(), self.options.max_iter)

    def path(self, alphas: Floats, alpha: float) -> Traced:
        found = [self._solve(table, alphas) for table in self.tables]
        rounds = np.min([path.rounds for path in found], axis=0)
        keep = _kept(rounds, alphas, alpha)
        return (
            alphas[keep],
            np.stack([path.coefs[keep] for path in found], axis=2),
            np.stack([path.intercepts[keep] for path in found], axis=1),
            np.sum([path.objectives[keep] for path in found], axis=0),
            np.max([path.gaps[keep] for path in found], axis=0),
            rounds[keep],
        )

    def losses(self, alphas: Floats) -> tuple[Floats, Floats | None]:
        """Each training part is the table with the test rows' weights set to zero: nothing is copied."""
        tests = []
        weights = fold_weights(self._plans, self.rows)
        if weights is not None:
            everyone = np.arange(self.rows.n)
            tests = [(everyone != row, everyone == row) for row in np.flatnonzero(weights)]
            weights = weights[weights > 0]
        else:
            for part in self._plans:
                labels = part.folds.labels(0, self.rows.n)
                known = labels >= 0
                tests += [
                    (known & train[labels], known & test[labels])
                    for train, test in zip(part.train, part.test, strict=True)
                ]
            for number, pair in enumerate(tests):
                for name, part in zip(("training", "test"), pair, strict=True):
                    if not self.weight[part].any():
                        raise ValueError(
                            f"The {name} part of split {number} has no row with a positive weight: use fewer folds."
                        )
        y, X = self.block.y, self.block.X
        assert y is not None

        def of_split(split: tuple[Any, Any]) -> tuple[Floats, Floats]:
            train, test = split
            loss, rounds = np.zeros(len(alphas)), np.zeros(len(alphas))
            w = self.weight[test] / self.weight[test].sum()
            for target in range(y.shape[1]):
                path = self._solve(self._table(np.where(train, self.weight, 0.0), target), alphas)
                errors = y[test, target][:, None] - (X[test] @ path.coefs.T + path.intercepts)
                loss += w @ errors**2
                rounds = np.minimum(rounds, path.rounds)
            return loss / y.shape[1], rounds

        with searching():
            found = parallel_map(of_split, tests)
        count = _come_to([rounds for _, rounds in found], self.searched)
        self.searched = True
        return np.column_stack([loss[:count] for loss, _ in found]), weights

    def design(self) -> tuple[int | None, float | None]:
        return None, None

    def rounding_shares(self, coef: Floats, alpha: float) -> tuple[float, float]:
        """Shares of the objective that columns taken as constant, and the rounding of the intercept, may have."""
        neglected = intercept = 0.0
        l1, l2 = self._weights()
        for target, table in enumerate(self.tables):
            left, total = table.constant, float(table.weight @ table.y**2)
            if left.any():
                squares = table.squares()[left]
                unit = np.sqrt(squares) if self.shrinkage.standardize else np.ones(len(squares))
                weights = alpha * l1[left] * unit, alpha * l2[left] * unit**2
                neglected = max(neglected, neglected_share(squares, *weights, total))
            mean = np.append(table.mean, table.y_mean)
            intercept = max(intercept, intercept_share(mean, coef[:, [target]], 1.0, np.array([total])))
        return neglected, intercept if self.options.fit_intercept else 0.0

    def facts(self, coef: Floats, objective: float) -> tuple[Floats, float, dict[str, Any]]:
        """Σ w r² of each target, Σ w, and what `summary` says."""
        residual, total = [], []
        for target, table in enumerate(self.tables):
            r = table.y - np.asarray(table.X @ coef[:, target]) + table.mean @ coef[:, target]
            residual.append(float(table.weight @ r**2))
            total.append(float(table.weight @ table.y**2))
        weight = float(self.weight.sum())
        facts = _facts(np.array(residual), np.array(total), weight, objective, int((coef != 0).sum()))
        return weight * np.array(residual), weight, facts


def refuse_sizes(data: Rows | Moments, columns: Ints, targets: Ints) -> None:
    """Raise if a column or target, of these binary exponents, is so large or small that penalties leave float64."""
    for j in np.flatnonzero(np.abs(columns) > MOST_EXPONENT):
        name = data.name(int(j)) if isinstance(data, Rows) else (data.names[j] if data.names else str(j))
        raise OutOfRange(
            f"Column {name} is of size 1e{columns[j] * np.log10(2.0):.0f}: its square, which the penalty is weighed "
            "against, is beyond the range of float64. Divide the column by its size first."
        )
    for j in np.flatnonzero(np.abs(targets) > MOST_EXPONENT):
        raise OutOfRange(
            f"Target {data.target_names[j]} is of size 1e{targets[j] * np.log10(2.0):.0f}: its square is beyond the "
            "range of float64. Divide the target by its size first."
        )


def _sizes(X: Any) -> Ints:
    """Binary exponents of the largest number of each column, 0 where all are zero."""
    top = np.abs(X).max(axis=0)
    top = np.asarray(top.toarray() if sp.issparse(top) else top, dtype=np.float64).reshape(-1)
    return np.where(top > 0, np.frexp(top)[1], 0).astype(np.int64)


def _come_to(rounds: list[Any], again: bool) -> int:
    """Alphas that every path has come to; of the first search one at least."""
    return max(int(min((each != ENDED).sum() for each in rounds)), 0 if again else 1)


def _kept(rounds: Ints, alphas: Floats, alpha: float) -> Bools:
    return np.asarray((rounds != ENDED) | (alphas == alpha))


def _facts(residual: Floats, total: Floats, weight: float, objective: float, nonzero: int) -> dict[str, Any]:
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(total > 0, 1.0 - residual / total, 1.0)
    return {"r2": float(r2[0]) if len(r2) == 1 else r2, "n": weight, "nonzero": nonzero, "objective": objective}
