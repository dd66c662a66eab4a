"""Support vector regression, and the region where rows are: the dual solver of support vector machines, used twice."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian._core.types import Floats, Ints
from gramian.kernels.base import Kernel
from gramian.kernels.input import positive_definite
from gramian.kernels.named import kernel_of
from gramian.kernels.points import alone
from gramian.kernels.vectors.inner_products import Linear, WeightedLinear
from gramian.models.base.kernelised import Kernelised
from gramian.models.kernel.svm import warn_unfinished
from gramian.objective.design import columns_of
from gramian.rows import MemoryRows, Rows, single_threaded_blas
from gramian.selection.cv.fold_moments import Limited, select
from gramian.selection.cv.regularization import splits_of
from gramian.selection.cv.scores import Scores
from gramian.selection.cv.splits import fold_weights, plan
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.gaps import relative_gap
from gramian.solvers.kernel.kernel_rows import FEW, KernelRows
from gramian.solvers.kernel.smo import Dual, SMOResult, Start, by_interior_point, by_row, minimise, solve_to_gap
from gramian.warnings import warn_user

GRID = 8
LEAST_TOL = 1e-6
MOST_ROUNDS = 100  # of a fit that only chooses alpha
EDGE = 1e-7  # support vectors lie on the edge of the region, which rounding must not cut off


class SupportPoints(Kernelised):
    """Estimators whose function is a sum of kernels at the rows that matter."""

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return super()._rows(X)

    def _keep_support(self, points: Any, beta: Floats) -> None:
        self.support_ = np.flatnonzero(beta)
        self.dual_coef_ = beta[self.support_]
        self._support_points = alone(points[self.support_])
        if hasattr(self._support_points, "X"):
            self.support_vectors_ = self._support_points.X


@estimator
class SVR(SupportPoints, Charted, RegressorMixin, BaseEstimator):
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
        if hasattr(self, "scores_"):
            del self.scores_
        points, target = self._fit_points(X, y, sample_weight)
        target.refuse_labels()
        assert target.y is not None
        if target.y.shape[1] > 1:
            raise ValueError(f"y has {target.y.shape[1]} columns; SVR fits one target, shape (n,).")
        if not target.one_target:
            warn_user(
                "A column-vector y was passed when a 1d array was expected: give y.ravel().", DataConversionWarning
            )
        self._y, self._w = target.y[:, 0], target.weights
        if not np.isfinite(self._y).all():
            raise ValueError("y contains NaN or infinity; every target must be a number.")
        if standardize:
            self.kernel_ = self._standardized(points, self._w)
        rows = KernelRows(self.kernel_, points)
        if alpha is None:
            alpha = self._choose(rows, points, grid, epsilon)
        found, value, gap = self._train(rows, self._w, alpha, epsilon, tol)
        self.alpha_, self.intercept_, self.n_iter_ = alpha, float(found.offset), max(found.rounds, 1)
        self._keep_support(points, by_row(self._dual(self._w, alpha, epsilon), found.beta, rows.n))
        self.objective_ = value
        self.certificate_ = Certificate(
            "duality gap", gap, tol, gap <= tol, None, None, "rows", convex=positive_definite(self.kernel_)
        )
        warn_unfinished(self)
        self.solver_ = SolverInfo("working sets", f"the dual of {rows.n} rows, on those that violate optimality most")
        del self._y, self._w
        return self

    def _standardized(self, points: Any, weight: Floats) -> Kernel:
        """The inner product of columns divided by their standard deviations."""
        columns = columns_of(MemoryRows(points.X, np.zeros((len(weight), 1)), weight, target_names=("y",)))
        unit = columns.deviations(bool(self.fit_intercept))
        return WeightedLinear(np.where(unit > 0, 1.0 / np.where(unit > 0, unit, 1.0) ** 2, 0.0))

    def _dual(self, weight: Floats, alpha: float, epsilon: float) -> Dual:
        C = weight / (2.0 * alpha * float(weight.sum()))
        y, n, nothing = self._y, len(weight), np.zeros(len(weight))
        return Dual(
            np.concatenate([y - epsilon, y + epsilon]),
            np.concatenate([nothing, -C]),
            np.concatenate([C, nothing]),
            np.tile(np.arange(n), 2),
            bool(self.fit_intercept),
        )

    def _train(
        self,
        rows: KernelRows,
        weight: Floats,
        alpha: float,
        epsilon: float,
        tol: float,
        start: Start | None = None,
        most: int = 2000,
    ) -> tuple[SMOResult, float, float]:
        dual = self._dual(weight, alpha, epsilon)
        unit = float(np.abs(self._y - np.median(self._y)).mean()) or 1.0
        C = dual.high[: rows.n]

        def judge(found: SMOResult) -> tuple[float, float]:
            square = float(by_row(dual, found.beta, rows.n) @ found.f)
            slack = float(C @ np.maximum(0.0, np.abs(self._y - found.f - found.offset) - epsilon))
            primal, lower = 0.5 * square + slack, float(dual.c @ found.beta) - 0.5 * square
            gap = relative_gap(primal - lower, max(abs(primal), 1e-9 * unit * float(C.sum())))
            return 2.0 * alpha * primal, gap

        return solve_to_gap(dual, rows, judge, start, eps=1e-3 * unit, least=1e-10 * unit, tol=tol, max_rounds=most)

    def _choose(self, rows: KernelRows, points: Any, grid: Any, epsilon: float) -> float:
        fixed = not isinstance(grid, int)
        unit = float(np.abs(self._y - np.median(self._y)).mean()) or 1.0
        scale = (float(self.kernel_.diag(points).mean()) or 1.0) / unit
        alphas = grid if fixed else np.geomspace(scale, 1e-5 * scale, grid)
        index = MemoryRows(np.zeros((rows.n, 1)), None, self._w)
        splits, weights = splits_of(self.cv, index), fold_weights(plan(self.cv, index), index)

        def losses(some: Floats) -> tuple[Floats, Floats | None]:
            table = np.empty((len(some), len(splits)))
            for s, (_, test) in enumerate(splits):
                weight = self._w.copy()
                weight[test] = 0.0
                part = KernelRows(self._standardized(points, weight), points) if self.standardize else rows
                start: Start | None = None
                for a, alpha in enumerate(some):
                    found, _, _ = self._train(part, weight, float(alpha), epsilon, 1e-3, start, MOST_ROUNDS)
                    if a + 1 < len(some):
                        start = Start(found.beta, found.f).scaled(float(alpha) / float(some[a + 1]))
                    off = np.maximum(0.0, np.abs(self._y[test] - found.f[test] - found.offset) - epsilon)
                    table[a, s] = float(self._w[test] @ off) / max(float(self._w[test].sum()), 1e-300)
            return table, weights

        limits = 1e-12 * scale, 1e6 * scale
        self.scores_: Scores = select(Limited(losses), alphas, rule=self.rule, fixed=True, limits=limits)
        return float(self.scores_.alphas[self.scores_.chosen])

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
class OneClassSVM(SupportPoints, Charted, OutlierMixin, BaseEstimator):
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
        points, target = self._fit_points(X, None, sample_weight, targeted=False)
        weight = target.weights
        rows = KernelRows(self.kernel_, points)
        high = weight / (nu * float(weight.sum()))
        beta = np.minimum(high, np.maximum(1.0 - (np.cumsum(high) - high), 0.0))
        dual = Dual(np.zeros(rows.n), np.zeros(rows.n), high, np.arange(rows.n))
        size = float(np.average(self.kernel_.diag(points)[weight > 0], weights=weight[weight > 0])) or 1.0
        found = minimise(dual, rows, Start(beta), tol=tol * size)
        if found.violation > tol * size and rows.n <= FEW and not deadline.passed():
            other = by_interior_point(dual, rows, 1.0)
            found = other if other.violation < found.violation else found
        rows.release()
        self.intercept_ = float(found.offset) + EDGE * abs(float(found.offset))
        self.offset_ = -self.intercept_
        self._keep_support(points, found.beta)
        self.n_iter_ = max(found.rounds, 1)
        value = found.violation / size
        self.certificate_ = Certificate(
            "KKT residual", value, tol, value <= tol, None, None, "rows", convex=positive_definite(self.kernel_)
        )
        warn_unfinished(self)
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
