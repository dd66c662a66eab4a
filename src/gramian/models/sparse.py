"""The lasso and the elastic net: exact zeros, whole paths."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.models import parameters
from gramian.models.base import LinearModel
from gramian.models.ridge import Path, path_of
from gramian.models.summary import Summary
from gramian.rows import Block, Rows, parallel_map, single_threaded_blas
from gramian.selection.scores import Scores
from gramian.selection.shared import FoldMoments, select
from gramian.selection.splits import Plan, plan
from gramian.solvers.certificate import Certificate, Solver
from gramian.solvers.factor import factor_of_quadratic, quadratic
from gramian.solvers.lasso import Shrinkage, gap_on_gram, largest_alpha, lasso_on_gram
from gramian.solvers.working_set import Table, WidePath, wide_path
from gramian.statistics import Moments, Triangle
from gramian.statistics.gram import block_moments
from gramian.warnings import ConvergenceWarning

Floats = NDArray[np.float64]
GRID = 100
SMALL_GRAM = 1000  # columns for which a Gram matrix is always worth its n d² operations


class ElasticNet(LinearModel):
    """Least squares with a penalty that sets coefficients to zero, along a whole path of strengths.

    Minimises (1/Σw) Σ w (y − b − cᵀx)² + alpha · Σ f_j (l1_ratio |c_j| + (1 − l1_ratio) c_j²). For scikit-learn's a and
    ratio s: alpha = a (1 + s), l1_ratio = 2s / (1 + s).

    Parameters
    ----------
    alpha : "auto" or float
        Strength; "auto" chooses by cross-validation. With a number, the path over `alphas` is computed down to it.
    l1_ratio : float
        Share of the absolute penalty, between 0 (ridge) and 1 (lasso).
    alphas : int or array
        Length of the grid, or the grid itself. A grid given is not refined.
    cv : int, "loo", splitter or list of (train, test) pairs
        How validation parts are made.
    rule : "best" or "one_se"
        The smallest mean validation loss, or the strongest penalty within one standard error of it.
    penalty_factors : array (d,), optional
        One non-negative factor f_j per feature; 0 leaves it unpenalised.
    standardize : bool
        Penalise the coefficients of the features divided by their standard deviation (learned in each training part).
    fit_intercept : bool
        Whether to fit b, which is never penalised.
    max_iter : int
        Most changes of the active set for one alpha.
    tol : float
        Relative duality gap that the certificate asks for.

    Attributes
    ----------
    coef_, intercept_, alpha_, certificate_, solver_, n_iter_
    scores_ : Scores
        Validation losses, where alpha was chosen.
    path_ : Path
        Coefficients over the grid of alphas.
    history_ : list of (iteration, objective, gap)
        One entry per alpha of the path.

    Notes
    -----
    With a Gram matrix (d up to n, or up to 1000): one pass O(n d²), then O(k²) per change of an active set of k. With
    more columns: working sets on X itself, about one product Xᵀr per alpha.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gm.ElasticNet(alpha=1.0, l1_ratio=0.9).fit(X, y)
    >>> int((model.coef_ != 0).sum()), model.certificate_.kind
    (9, 'duality gap')
    """

    def __init__(
        self,
        alpha: str | float = "auto",
        *,
        l1_ratio: float = 0.5,
        alphas: Any = GRID,
        cv: Any = 5,
        rule: str = "best",
        penalty_factors: Any = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.penalty_factors = penalty_factors
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def _ratio(self) -> float:
        return parameters.number("l1_ratio", self.l1_ratio, low=0.0, high=1.0)

    @single_threaded_blas()
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "ElasticNet":
        """Fit to (X, y) or `Rows`; with a number for alpha also to `Moments`."""
        alpha, grid = parameters.alpha(self.alpha), parameters.alphas(self.alphas)
        parameters.rule(self.rule)
        parameters.flag("fit_intercept", self.fit_intercept)
        parameters.whole("max_iter", self.max_iter, low=1)
        parameters.number("tol", self.tol, low=0.0, open_low=True)
        ratio, standardize = self._ratio(), parameters.flag("standardize", self.standardize)
        data = self._source(X, y, sample_weight, sums=alpha is not None)
        if isinstance(data, Triangle):
            raise ValueError(f"{type(self).__name__} fits from rows or Moments, not from a Triangle: give gm.moments.")
        shrinkage = Shrinkage(ratio, parameters.factors("penalty_factors", self.penalty_factors, data.d), standardize)
        if hasattr(self, "scores_"):
            del self.scores_
        problem: _OnGram | _OnRows
        if isinstance(data, Rows) and _is_wide(data):
            problem = _OnRows(data, self, shrinkage)
        else:
            problem = _OnGram(data, self, shrinkage)
        top = problem.top()
        if alpha is None:
            start = top if top > 0 else 1.0
            fixed = not isinstance(grid, int)
            alphas = np.geomspace(start, start * problem.reach, grid) if isinstance(grid, int) else grid
            limits = (start * 1e-10, start)
            self.scores_: Scores = select(problem.losses, alphas, rule=self.rule, fixed=fixed, limits=limits)
            alphas = self.scores_.alphas
            alpha = float(alphas[self.scores_.chosen])
        else:
            alphas = _down_to(alpha, top, grid) if isinstance(grid, int) else grid
            alphas = np.unique(np.append(alphas, alpha))[::-1]
        coefs, intercepts, objectives, gaps, rounds = problem.path(alphas)
        chosen = int(np.flatnonzero(alphas == alpha)[0])
        self.alpha_ = alpha
        self.path_: Path = path_of(alphas, coefs, intercepts, data.one_target)
        self._set_coefficients(coefs[chosen], intercepts[chosen], data.one_target)
        self.history_ = [(a, float(o), float(g)) for a, (o, g) in enumerate(zip(objectives, gaps, strict=True))]
        self.n_iter_ = max(int(np.maximum(rounds, 0).sum()), 1)
        self.solver_ = problem.solver
        self._certify(problem, coefs[chosen], float(gaps[chosen]), bool(rounds[chosen] < 0))
        self._facts = problem.facts(coefs[chosen], float(objectives[chosen]))
        return self

    def _certify(self, problem: Any, coef: Floats, gap: float, failed: bool) -> None:
        holds = gap <= self.tol
        self.certificate_ = Certificate(
            kind="duality gap",
            value=gap,
            tolerance=self.tol,
            holds=holds,
            rank=int((coef != 0).any(axis=1).sum()),
            condition=problem.condition(coef),
            through=problem.through,
            note=f"{int((coef != 0).any(axis=1).sum())} of {len(coef)} coefficients are not zero.",
        )
        if not holds or failed:
            warnings.warn(
                f"The relative duality gap is {gap:.2g}, its tolerance {self.tol:.2g}, after {self.max_iter} changes "
                "of the active set. Raise max_iter, or bring the columns to similar scales (standardize=True).",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _summary(self) -> Summary:
        notes = [self.certificate_.note, *([str(self.scores_)] if hasattr(self, "scores_") else [])]
        return Summary(type(self).__name__, self._coefficient_table(), {"alpha": self.alpha_, **self._facts}, notes)


class Lasso(ElasticNet):
    """Least squares with an absolute penalty: coefficients that are exactly zero, along a whole path of strengths.

    Minimises (1/Σw) Σ w (y − b − cᵀx)² + alpha · Σ f_j |c_j|. scikit-learn's alpha is half of this one.

    Parameters, attributes and cost as in `ElasticNet`, without `l1_ratio`.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gm.Lasso(rule="one_se").fit(X, y)
    >>> model.certificate_.holds, model.path_.coefs.shape[1]
    (True, 10)
    """

    def __init__(
        self,
        alpha: str | float = "auto",
        *,
        alphas: Any = GRID,
        cv: Any = 5,
        rule: str = "best",
        penalty_factors: Any = None,
        standardize: bool = False,
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.alphas = alphas
        self.cv = cv
        self.rule = rule
        self.penalty_factors = penalty_factors
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def _ratio(self) -> float:
        return 1.0


def _is_wide(rows: Rows) -> bool:
    """Whether a Gram matrix would be larger than the rows, and large."""
    return rows.d > max(rows.n, SMALL_GRAM)


def _down_to(alpha: float, top: float, count: int) -> Floats:
    """A grid from the first alpha with no coefficient down to the one asked for."""
    if alpha <= 0 or alpha >= top:
        return np.array([alpha])
    return np.geomspace(top, alpha, count)


class _OnGram:
    """The problem on cross-products: from moments, or from one pass over rows."""

    through = "moments"
    solver = Solver("active set on the Gram matrix", "the d × d Gram matrix fits: exact along the whole path")

    def __init__(self, data: Rows | Moments, model: ElasticNet, shrinkage: Shrinkage) -> None:
        self.data = data
        self.model = model
        self.shrinkage = shrinkage
        self.folds: FoldMoments | None = None
        if isinstance(data, Moments):
            total = data
        elif isinstance(model.alpha, str):
            self.folds = FoldMoments(data, plan(model.cv, data))
            total = self.folds.total
        else:
            total = data.sum(block_moments(data))
        self.total = quadratic(total, intercept=model.fit_intercept)
        self.reach = 1e-3 if total.n > total.d else 1e-2

    def top(self) -> float:
        if self.shrinkage.l1_ratio == 0:
            return (
                1e2
                * float(np.max(np.ldexp(np.diagonal(self.total.G), 2 * self.total.x), initial=0.0))
                / self.total.weight
            )
        return largest_alpha(self.total, self.shrinkage)

    def losses(self, alphas: Floats) -> tuple[Floats, None]:
        assert self.folds is not None

        def of_split(split: tuple[Moments, Moments]) -> tuple[Floats, Floats]:
            q = quadratic(split[0], intercept=self.model.fit_intercept)
            return lasso_on_gram(q, alphas, self.shrinkage, self.model.max_iter)[:2]

        return self.folds.losses(parallel_map(of_split, self.folds.splits)), None

    def path(self, alphas: Floats) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.int64]]:
        coefs, intercepts, rounds = lasso_on_gram(self.total, alphas, self.shrinkage, self.model.max_iter)
        found = [gap_on_gram(self.total, c, a, self.shrinkage) for c, a in zip(coefs, alphas, strict=True)]
        return coefs, intercepts, np.array([o for o, _ in found]), np.array([g for _, g in found]), rounds

    def condition(self, coef: Floats) -> float:
        return factor_of_quadratic(self.total).condition() if self.total.d <= 500 else np.nan

    def facts(self, coef: Floats, objective: float) -> dict[str, Any]:
        q = self.total
        z = np.ldexp(coef, q.x[:, None] - q.y[None, :])
        residual = np.diagonal(q.yy) - 2 * (q.B * z).sum(axis=0) + ((q.G @ z) * z).sum(axis=0)
        return _facts(residual, np.diagonal(q.yy), q.weight, objective, int((coef != 0).sum()))


class _OnRows:
    """The problem on the matrix itself, for more columns than a Gram matrix should have."""

    through = "rows"
    solver = Solver(
        "working sets on the rows", "more columns than rows: inner products only of the columns that matter"
    )
    reach = 1e-2

    def __init__(self, rows: Rows, model: ElasticNet, shrinkage: Shrinkage) -> None:
        self.model = model
        self.shrinkage = shrinkage
        self.rows = rows
        self.block: Block = rows.collect()
        X = self.block.X
        if not np.isfinite(X.sum()):
            rows.refuse_nonfinite()
        weight = np.ones(rows.n) if self.block.weight is None else self.block.weight
        self.weight = weight
        assert self.block.y is not None
        self.tables = [self._table(weight, target) for target in range(self.block.y.shape[1])]
        squares = self.tables[0].squares()
        if not np.isfinite(squares).all() or (squares > 1e200).any():
            j = int(np.argmax(~(squares <= 1e200)))
            raise ValueError(f"Column {rows.name(j)} is too large to be squared; divide it by its magnitude first.")
        self._plans: list[Plan] = plan(model.cv, rows) if isinstance(model.alpha, str) else []

    def _table(self, weight: Floats, target: int) -> Table:
        assert self.block.y is not None
        return Table(self.block.X, self.block.y[:, target], weight / weight.sum(), self.model.fit_intercept)

    def _weights(self, table: Table) -> tuple[Floats, Floats]:
        size = np.ones(self.rows.d) if self.shrinkage.factors is None else self.shrinkage.factors
        measure = np.sqrt(np.maximum(table.squares(), 0.0)) if self.shrinkage.standardize else np.ones(self.rows.d)
        ratio = self.shrinkage.l1_ratio
        return 0.5 * ratio * size * measure, (1.0 - ratio) * size * measure**2

    def top(self) -> float:
        largest = 0.0
        for table in self.tables:
            l1, _ = self._weights(table)
            b = np.abs(table.correlations(table.y))
            penalised = l1 > 0
            largest = max(largest, float(np.max(b[penalised] / l1[penalised], initial=0.0)))
        return largest

    def _solve(self, table: Table, alphas: Floats) -> WidePath:
        return wide_path(table, alphas, *self._weights(table), self.model.max_iter)

    def path(self, alphas: Floats) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.int64]]:
        found = [self._solve(table, alphas) for table in self.tables]
        return (
            np.stack([path.coefs for path in found], axis=2),
            np.stack([path.intercepts for path in found], axis=1),
            np.sum([path.objectives for path in found], axis=0),
            np.max([path.gaps for path in found], axis=0),
            np.min([path.rounds for path in found], axis=0),
        )

    def losses(self, alphas: Floats) -> tuple[Floats, None]:
        """Each training part is the table with the test rows' weights set to zero: nothing is copied."""
        tests = []
        for part in self._plans:
            labels = part.folds.labels(0, self.rows.n)
            if part.leave_one_out:
                tests += [(labels != row, labels == row) for row in range(self.rows.n)]
            else:
                known = labels >= 0
                tests += [
                    (known & train[labels], known & test[labels])
                    for train, test in zip(part.train, part.test, strict=True)
                ]
        y, X = self.block.y, self.block.X
        assert y is not None

        def of_split(split: tuple[Any, Any]) -> Floats:
            train, test = split
            loss = np.zeros(len(alphas))
            w = self.weight[test] / self.weight[test].sum()
            for target in range(y.shape[1]):
                path = self._solve(self._table(np.where(train, self.weight, 0.0), target), alphas)
                errors = y[test, target][:, None] - (X[test] @ path.coefs.T + path.intercepts)
                loss += w @ errors**2
            return loss / y.shape[1]

        return np.column_stack(parallel_map(of_split, tests)), None

    def condition(self, coef: Floats) -> float:
        return np.nan

    def facts(self, coef: Floats, objective: float) -> dict[str, Any]:
        residual, total = [], []
        for target, table in enumerate(self.tables):
            r = table.y - np.asarray(table.X @ coef[:, target]) + table.mean @ coef[:, target]
            residual.append(float(table.weight @ r**2))
            total.append(float(table.weight @ table.y**2))
        return _facts(np.array(residual), np.array(total), float(self.weight.sum()), objective, int((coef != 0).sum()))


def _facts(residual: Floats, total: Floats, weight: float, objective: float, nonzero: int) -> dict[str, Any]:
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = np.where(total > 0, 1.0 - residual / total, 1.0)
    return {"r2": float(r2[0]) if len(r2) == 1 else r2, "n": weight, "nonzero": nonzero, "objective": objective}
