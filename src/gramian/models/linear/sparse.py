"""The lasso and the elastic net: exact zeros, whole paths."""

from dataclasses import KW_ONLY, field
from typing import Any

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian.models.base.squared_loss import SquaredLossModel
from gramian.models.linear.penalised import FitOptions, fit_penalised, solver_of
from gramian.objective import penalties
from gramian.objective.losses.regression import Squared
from gramian.objective.penalties import WeightedElasticNet
from gramian.rows import single_threaded_blas
from gramian.solvers.sparse.direct import PathSolver
from gramian.statistics import Triangle

NAMES = ("gram", "rows")


@estimator
class ElasticNet(SquaredLossModel):
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
        Penalise the coefficients of the features divided by their (weighted) standard deviations, learned in each
        training part; about zero without an intercept.
    fit_intercept : bool
        Whether to fit b, which is never penalised.
    max_iter : int
        Most changes of the active set for one alpha.
    tol : float
        Relative duality gap that the certificate asks for.
    solver : "auto", "gram", "rows", the name of a general solver, or an object such as `gm.solvers.PrimalDual()`
        On the Gram matrix, or by working sets on the rows; "auto" chooses by cost and says in `solver_` which and why.
        General solvers find the coefficients by their iterations; alpha and the path are those of "auto".
    time : float, optional
        Seconds after which a fit ends at the best so far, and the choice of alpha with those it has come to, with a
        `ConvergenceWarning` and a certificate that does not hold.

    Attributes
    ----------
    coef_, intercept_, alpha_, certificate_, solver_, n_iter_
    representation_ : Columns
        What the rows look like to the model.
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
    alphas: Any = PathSolver.grid_length
    cv: Any = 5
    rule: str = "best"
    penalty_factors: Any = None
    standardize: bool = False
    fit_intercept: bool = True
    max_iter: int = 10_000
    tol: float = 1e-6
    solver: Any = "auto"
    time: float | None = None

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "ElasticNet":
        """Fit to (X, y) or `Rows`; with a number for alpha also to `Moments`."""
        alpha, grid = validation.alpha(self.alpha), validation.alphas(self.alphas)
        validation.rule(self.rule)
        intercept = validation.flag("fit_intercept", self.fit_intercept)
        validation.whole("max_iter", self.max_iter, low=1)
        validation.number("tol", self.tol, low=0.0, open_low=True)
        solver = solver_of(self.solver, NAMES)
        ratio = validation.number("l1_ratio", self.l1_ratio, low=0.0, high=1.0)
        standardize = validation.flag("standardize", self.standardize)
        self._forget_fit()
        data = self._source(X, y, sample_weight, sums=alpha is not None)
        if isinstance(data, Triangle):
            raise ValueError(f"{type(self).__name__} fits from rows or Moments, not from a Triangle: give gm.moments.")
        factors = validation.factors("penalty_factors", self.penalty_factors, data.d)
        penalty = penalties.ElasticNet(ratio) if factors is None else WeightedElasticNet(factors, ratio)
        options = FitOptions(
            alpha, grid, self.cv, self.rule, intercept, standardize, solver, self.max_iter, self.tol, path=True
        )
        fit = fit_penalised(data, Squared(), penalty, options)
        self.alpha_ = fit.alpha
        self._set_solution(fit.solutions[0], data.one_target, fit.scores, fit.path)
        return self

    def _summary(self) -> Summary:
        return self._sparse_summary()


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
