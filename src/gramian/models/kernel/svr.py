"""Support vector regression, and the region where rows are: the dual solver of support vector machines, used twice."""

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.input import positive_definite
from gramian.kernels.named import kernel_of
from gramian.kernels.vectors.inner_products import Linear, WeightedLinear
from gramian.models.base.kernel_estimator import KernelEstimator
from gramian.models.kernel.data import read_kernel_data
from gramian.models.kernel.svm import path_scores, warm_start, warn_unfinished
from gramian.objective.design import columns_of
from gramian.rows import MemoryRows, single_threaded_blas
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.gaps import kernel_rounding, relative_gap
from gramian.solvers.kernel.kernel_rows import FEW, KernelRows
from gramian.solvers.kernel.smo import Dual, SMOResult, Start, by_interior_point, by_row, minimise, solve_to_gap
from gramian.warnings import warn_user

GRID = 8
LEAST_TOL = 1e-6
MOST_ROUNDS = 100  # of a fit that only chooses alpha
EDGE = 1e-7  # support vectors lie on the edge of the region, which rounding must not cut off


@dataclass(frozen=True, eq=False)
class SVRProblem:
    """(1/Σw) Σ w max(0, |y − f| − epsilon) + alpha ‖f‖² on one kernel matrix, by two dual variables a row."""

    kernel: Kernel
    points: Any
    y: Floats
    weight: Floats
    epsilon: float
    intercept: bool
    standardize: bool = False

    @cached_property
    def rows(self) -> KernelRows:
        return self.rows_of(self.weight)

    def rows_of(self, weight: Floats) -> KernelRows:
        """The kernel matrix, with `standardize` in units that follow from these weights."""
        return KernelRows(self.kernel_of(weight), self.points)

    def kernel_of(self, weight: Floats) -> Kernel:
        """The kernel; with `standardize` the inner product of columns divided by their standard deviations."""
        if not self.standardize:
            return self.kernel
        columns = columns_of(MemoryRows(self.points.X, np.zeros((len(weight), 1)), weight, target_names=("y",)))
        unit = columns.deviations(self.intercept)
        return WeightedLinear(np.where(unit > 0, 1.0 / np.where(unit > 0, unit, 1.0) ** 2, 0.0))

    @property
    def unit(self) -> float:
        """The size of the targets about their median."""
        return float(np.abs(self.y - np.median(self.y)).mean()) or 1.0

    def dual(self, weight: Floats, alpha: float) -> Dual:
        """The dual problem with some weights of the rows."""
        C = weight / (2.0 * alpha * float(weight.sum()))
        n, zero = len(weight), np.zeros(len(weight))
        return Dual(
            np.concatenate([self.y - self.epsilon, self.y + self.epsilon]),
            np.concatenate([zero, -C]),
            np.concatenate([C, zero]),
            np.tile(np.arange(n), 2),
            self.intercept,
        )

    def train(
        self, rows: KernelRows, weight: Floats, alpha: float, tol: float, start: Start | None = None, most: int = 2000
    ) -> tuple[SMOResult, float, float]:
        """The solution, its objective and its relative duality gap."""
        dual, unit, y = self.dual(weight, alpha), self.unit, self.y
        C = dual.high[: rows.n]

        def gap_of(result: SMOResult) -> tuple[float, float]:
            square = float(by_row(dual, result.beta, rows.n) @ result.f)
            slack = float(C @ np.maximum(0.0, np.abs(y - result.f - result.offset) - self.epsilon))
            primal, lower = 0.5 * square + slack, float(dual.c @ result.beta) - 0.5 * square
            gap = relative_gap(primal - lower, max(abs(primal), 1e-9 * unit * float(C.sum())))
            return 2.0 * alpha * primal, gap

        solution, value, gap = solve_to_gap(
            dual, rows, gap_of, start, eps=1e-3 * unit, least=1e-10 * unit, tol=tol, max_rounds=most
        )
        rounding = kernel_rounding(rows.kernel.diag(rows.points), by_row(dual, solution.beta, rows.n), C)
        return solution, value, gap + rounding / max(value / (2.0 * alpha), 1e-9 * unit * float(C.sum()), 1e-300)

    @property
    def index(self) -> MemoryRows:
        """Rows of nothing but their weights, for splits."""
        return MemoryRows(np.zeros((len(self.y), 1)), None, self.weight)

    @property
    def scale(self) -> float:
        """The mean of k(x, x) over the size of the targets."""
        return (float(self.rows.kernel.diag(self.points).mean()) or 1.0) / self.unit

    def path_losses(self, weight: Floats, test: Ints, alphas: Floats) -> Floats:
        """The mean error beyond epsilon on one split."""
        losses, start = np.empty(len(alphas)), None
        rows = self.rows_of(weight) if self.standardize else self.rows
        total = max(float(self.weight[test].sum()), 1e-300)
        for a, alpha in enumerate(alphas):
            result, _, _ = self.train(rows, weight, float(alpha), 1e-3, start, MOST_ROUNDS)
            errors = np.maximum(0.0, np.abs(self.y[test] - result.f[test] - result.offset) - self.epsilon)
            losses[a] = float(self.weight[test] @ errors) / total
            start = warm_start(result.beta, result.f, alphas, a)
        return losses


@estimator
class SVR(KernelEstimator, Charted, RegressorMixin, BaseEstimator):
    """Regression that does not mind errors up to epsilon: max(0, |y − f| − epsilon), with a kernel.

    Minimises (1/Σw) Σ w max(0, |y − f(x)| − epsilon) + alpha ‖f‖². scikit-learn's C is 1 / (2 n alpha).

    Parameters
    ----------
    alpha : "auto" or float
        Strength; "auto" chooses by cross-validation.
    epsilon : float
        Errors that cost nothing, in the units of y.
    kernel : str or Kernel
        "rbf", "linear", … or an object of `gm.kernels`.
    alphas : int or array
        Length of the grid, or the grid itself. A grid given is not refined.
    cv : int, "loo", splitter or list of (train, test) pairs
        How validation parts are made.
    rule : "best" or "one_se"
        The smallest mean validation loss, or the strongest penalty within one standard error of it.
    standardize : bool
        With kernel="linear", penalise the coefficients of the features divided by their (weighted) standard
        deviations, learned in each training part; about zero without an intercept.
    fit_intercept : bool
        Whether to fit b, which is never penalised.
    tol : float
        Relative duality gap that the certificate asks for.
    time : float, optional
        Seconds after which a fit ends at the best so far, and the choice of alpha with those it has come to, with a
        `ConvergenceWarning` and a certificate that does not hold.

    Attributes
    ----------
    support_, dual_coef_, support_vectors_, intercept_, alpha_, kernel_, certificate_, solver_, n_iter_
    representation_ : KernelMatrix
        The kernel at the support vectors.
    scores_ : where alpha was chosen

    Notes
    -----
    Two dual variables a row, solved on working sets of kernel rows, which every fold and every alpha shares.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> gm.SVR(alpha=1e-4, kernel="linear", epsilon=0.01).fit(X, y).predict([[1.5]]).round(2)
    array([1.5])
    """

    alpha: str | float = "auto"
    _: KW_ONLY
    epsilon: float = 0.1
    kernel: Any = "rbf"
    alphas: Any = GRID
    cv: Any = 5
    rule: str = "best"
    standardize: bool = False
    fit_intercept: bool = True
    tol: float = 1e-6
    time: float | None = None

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "SVR":
        """Fit to (X, y) or `Rows`."""
        alpha, grid = validation.alpha(self.alpha), validation.alphas(self.alphas)
        if alpha == 0:
            raise ValueError("alpha is 0; support vector regression needs alpha above 0.")
        epsilon = validation.number("epsilon", self.epsilon, low=0.0)
        tol = max(validation.number("tol", self.tol, low=0.0, open_low=True), LEAST_TOL)
        validation.rule(self.rule)
        validation.flag("fit_intercept", self.fit_intercept)
        standardize = validation.flag("standardize", self.standardize)
        if standardize and not isinstance(kernel_of(self.kernel, auto=True), Linear):
            raise ValueError(
                f"With kernel= the penalty is the norm of the function, which has no columns to "
                f"standardise ({self.kernel!r} is not linear in them): leave standardize out, or give kernel='linear'."
            )
        forget_fit(self)
        data = read_kernel_data(self, X, y, sample_weight)
        self._set_kernel(data)
        points, target = data.points, data.target
        target.refuse_labels()
        assert target.y is not None
        if target.y.shape[1] > 1:
            raise ValueError(f"y has {target.y.shape[1]} columns; SVR fits one target, shape (n,).")
        if not target.one_target:
            warn_user(
                "A column-vector y was passed when a 1d array was expected: give y.ravel().", DataConversionWarning
            )
        y = target.y[:, 0]
        if not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity; every target must be a number.")
        problem = SVRProblem(data.kernel, points, y, target.weights, epsilon, bool(self.fit_intercept), standardize)
        if alpha is None:
            self.scores_ = path_scores(problem, self.cv, self.rule, grid)
            alpha = float(self.scores_.alphas[self.scores_.chosen])
        solution, value, gap = problem.train(problem.rows, problem.weight, alpha, tol)
        self.alpha_, self.intercept_, self.n_iter_ = alpha, float(solution.offset), max(solution.rounds, 1)
        beta = by_row(problem.dual(problem.weight, alpha), solution.beta, len(y))
        self.kernel_ = kernel = problem.rows.kernel
        self._set_support(beta, kernel, points)
        self.objective_ = value
        convex = positive_definite(kernel)
        self.certificate_ = Certificate("duality gap", gap, tol, gap <= tol, None, None, "rows", convex=convex)
        warn_unfinished(type(self).__name__, self.certificate_, kernel)
        self.solver_ = SolverInfo("working sets", f"the dual of {len(y)} rows, on those that violate optimality most")
        return self

    def predict(self, X: Any) -> Floats:
        """f(x) = b + Σ β k(x, x_i)."""
        rows = self._rows(X)
        return rows.times(self.dual_coef_) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def summary(self) -> Summary:
        """Facts of the fit, as a table."""
        check_is_fitted(self)
        facts = {"kernel": repr(self.kernel_), "alpha": self.alpha_, "epsilon": self.epsilon}
        facts |= {"support vectors": len(self.support_), "objective": self.objective_}
        notes = [self.certificate_.note] if self.certificate_.note else []
        notes += [str(self.scores_)] if hasattr(self, "scores_") else []
        return Summary(type(self).__name__, self._intercept_alone(), facts, [*notes, *self._metric_notes()])


@estimator
class OneClassSVM(KernelEstimator, Charted, OutlierMixin, BaseEstimator):
    """The region where most rows are: novelty is what lies outside.

    Minimises ½ ‖f‖² − ρ + (1/(nu Σw)) Σ w max(0, ρ − f(x)): at most a share nu of the rows is outside, and at
    least that share are support vectors.

    Parameters
    ----------
    nu : float
        Share of the rows that may be outside, above 0 and at most 1.
    kernel : str or Kernel
    tol : float
        Violation of optimality that is left.
    time : float, optional
        Seconds after which the fit ends at the best so far, with a `ConvergenceWarning` and a certificate that does
        not hold.

    Attributes
    ----------
    support_, dual_coef_, support_vectors_, intercept_ (−ρ), offset_ (ρ), kernel_, certificate_, solver_, n_iter_
    representation_ : KernelMatrix
        The kernel at the support vectors.

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[0.0], [0.1], [-0.1], [0.05], [5.0]]
    >>> gm.OneClassSVM(nu=0.3, kernel=gm.kernels.RBF(1.0)).fit(X).predict([[0.0], [9.0]])
    array([ 1, -1])
    """

    nu: float = 0.5
    _: KW_ONLY
    kernel: Any = "rbf"
    tol: float = 1e-6
    time: float | None = None

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "OneClassSVM":
        """Fit to the rows of X; y is ignored, as scikit-learn's pipelines give it."""
        nu = validation.number("nu", self.nu, low=0.0, high=1.0, open_low=True)
        tol = validation.number("tol", self.tol, low=0.0, open_low=True)
        forget_fit(self)
        data = read_kernel_data(self, X, None, sample_weight, targeted=False)
        self._set_kernel(data)
        points, target = data.points, data.target
        weight = target.weights
        rows = KernelRows(self.kernel_, points)
        high = weight / (nu * float(weight.sum()))
        beta = np.minimum(high, np.maximum(1.0 - (np.cumsum(high) - high), 0.0))
        dual = Dual(np.zeros(rows.n), np.zeros(rows.n), high, np.arange(rows.n))
        size = float(np.average(self.kernel_.diag(points)[weight > 0], weights=weight[weight > 0])) or 1.0
        solution = minimise(dual, rows, Start(beta), tol=tol * size)
        if solution.violation > tol * size and rows.n <= FEW and not deadline.passed():
            other = by_interior_point(dual, rows, 1.0)
            solution = other if other.violation < solution.violation else solution
        rows.release()
        self.intercept_ = float(solution.offset) + EDGE * abs(float(solution.offset))
        self.offset_ = -self.intercept_
        self._set_support(solution.beta, data.kernel, points)
        self.n_iter_ = max(solution.rounds, 1)
        value = solution.violation / size
        self.certificate_ = Certificate(
            "KKT residual", value, tol, value <= tol, None, None, "rows", convex=positive_definite(self.kernel_)
        )
        warn_unfinished(type(self).__name__, self.certificate_, data.kernel)
        self.solver_ = SolverInfo("working sets", f"the dual of {rows.n} rows, on those that violate optimality most")
        return self

    def score_samples(self, X: Any) -> Floats:
        """f(x) = Σ β k(x, x_i): large where rows are many."""
        rows = self._rows(X)
        return rows.times(self.dual_coef_)

    def decision_function(self, X: Any) -> Floats:
        """f(x) − ρ: positive inside."""
        return self.score_samples(X) + self.intercept_

    def predict(self, X: Any) -> Ints:
        """1 inside, −1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
