"""The lasso and the elastic net: exact zeros, whole paths."""

from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian._core.types import Floats
from gramian.models.base.linear_model import LinearModel
from gramian.models.linear.ridge import Path, path_of
from gramian.models.linear.sparse_problem import OnGram, OnRows
from gramian.rows import Rows, single_threaded_blas
from gramian.selection.cv.fold_moments import select
from gramian.selection.cv.scores import Scores
from gramian.solvers.certificate import Certificate
from gramian.solvers.sparse.lasso import Shrinkage
from gramian.statistics import Triangle
from gramian.warnings import ConvergenceWarning, warn_user

GRID = 100
SMALL_GRAM = 1000  # columns for which a Gram matrix is always worth its n d² operations


@estimator
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
    solver : "auto", "gram" or "rows"
        On the Gram matrix, or by working sets on the rows; "auto" chooses by cost and says in `solver_` which and why.
    time : float, optional
        Seconds after which a fit ends at the best so far, and the choice of alpha with those it has come to, with a
        `ConvergenceWarning` and a certificate that does not hold.

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

    alpha: str | float = "auto"
    _: KW_ONLY
    l1_ratio: float = 0.5
    alphas: Any = GRID
    cv: Any = 5
    rule: str = "best"
    penalty_factors: Any = None
    standardize: bool = False
    fit_intercept: bool = True
    max_iter: int = 10_000
    tol: float = 1e-6
    solver: str = "auto"
    time: float | None = None

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "ElasticNet":
        """Fit to (X, y) or `Rows`; with a number for alpha also to `Moments`."""
        alpha, grid = validation.alpha(self.alpha), validation.alphas(self.alphas)
        validation.rule(self.rule)
        validation.flag("fit_intercept", self.fit_intercept)
        validation.whole("max_iter", self.max_iter, low=1)
        validation.number("tol", self.tol, low=0.0, open_low=True)
        method = validation.choice("solver", self.solver, ("auto", "gram", "rows"))
        ratio = validation.number("l1_ratio", self.l1_ratio, low=0.0, high=1.0)
        standardize = validation.flag("standardize", self.standardize)
        data = self._source(X, y, sample_weight, sums=alpha is not None)
        if isinstance(data, Triangle):
            raise ValueError(f"{type(self).__name__} fits from rows or Moments, not from a Triangle: give gm.moments.")
        shrinkage = Shrinkage(ratio, validation.factors("penalty_factors", self.penalty_factors, data.d), standardize)
        if hasattr(self, "scores_"):
            del self.scores_
        problem: OnGram | OnRows
        if method == "rows" and not isinstance(data, Rows):
            raise ValueError('solver="rows" needs the rows themselves: fit from the data, or use solver="gram".')
        if isinstance(data, Rows) and (method == "rows" or (method == "auto" and _is_wide(data))):
            problem = OnRows(data, self, shrinkage)
        else:
            problem = OnGram(data, self, shrinkage)
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
        alphas, coefs, intercepts, objectives, gaps, rounds = problem.path(alphas, alpha)
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
        rank, condition = problem.design()
        self.certificate_ = Certificate(
            kind="duality gap",
            value=gap,
            tolerance=self.tol,
            holds=holds,
            rank=rank,
            condition=condition,
            through=problem.through,
            note=f"{int((coef != 0).any(axis=1).sum())} of {len(coef)} coefficients are not zero.",
            convex=True,
        )
        if (not holds or failed) and not deadline.ended():
            warn_user(
                f"The relative duality gap is {gap:.2g}, its tolerance {self.tol:.2g}, after {self.max_iter} changes "
                "of the active set. Raise max_iter, or bring the columns to similar scales (standardize=True).",
                ConvergenceWarning,
            )

    def _summary(self) -> Summary:
        notes = [self.certificate_.note] if self.certificate_.note else []
        notes.append("Standard errors are not given: theory has none for coefficients that a penalty sets to zero.")
        notes += [str(self.scores_)] if hasattr(self, "scores_") else []
        return Summary(type(self).__name__, self._coefficient_table(), {"alpha": self.alpha_, **self._facts}, notes)


@estimator
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

    l1_ratio: float = field(init=False, default=1.0)


def _is_wide(rows: Rows) -> bool:
    """Whether a Gram matrix would be larger than the rows, and large."""
    return rows.d > max(rows.n, SMALL_GRAM)


def _down_to(alpha: float, top: float, count: int) -> Floats:
    """A grid from the first alpha with no coefficient down to the one asked for."""
    if alpha <= 0 or alpha >= top:
        return np.array([alpha])
    return np.geomspace(top, alpha, count)
