"""The general linear regression: any loss, any penalty."""

from dataclasses import KW_ONLY, field, replace
from typing import Any

import numpy as np

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian.models.base.composed import Composed, loss_of, penalty_of
from gramian.models.base.errors import Covariance, coefficient_errors, covariance_of, refuse_perfect
from gramian.models.base.inference import InferentialModel
from gramian.models.base.kernel_estimator import KernelEstimator
from gramian.models.base.linear_model import LinearModel
from gramian.models.base.notes import penalty_notes
from gramian.models.base.path import path_of
from gramian.models.linear.penalised import (
    FitOptions,
    column_deviations,
    fit_penalised,
    fits_sums,
    solver_of,
)
from gramian.objective.losses.base import Loss, Scaled
from gramian.objective.losses.regression import StudentT
from gramian.objective.penalties import Penalty, Zero
from gramian.objective.problem import Data
from gramian.rows import Rows, single_threaded_blas
from gramian.solvers.certificate import weakness
from gramian.solvers.choose import DIRECT_NAMES
from gramian.solvers.least_squares.closed_form import OutOfRange
from gramian.solvers.solution import Solution
from gramian.statistics import Triangle


@estimator
class Regressor(KernelEstimator, Composed, InferentialModel):
    """A linear model with any loss and any penalty, its strength chosen by cross-validation.

    Minimises (1/Σw) Σ w loss(y, b + cᵀx) + alpha · penalty(c). Several targets are fitted one by one.

    Parameters
    ----------
    loss : str or Loss
        "squared", "absolute", "huber", "poisson", … or an object of `gm.losses`.
    penalty : None, str or Penalty
        "l2", "l1", "elastic_net", … or an object of `gm.penalties`; None for no penalty.
    alpha : "auto" or float
        Strength; "auto" chooses by cross-validation.
    alphas : "auto", int or array
        Length of the grid, or the grid itself. "auto" is the length that suits the method: as in `Ridge` and `Lasso`
        for the squared loss with their penalties, otherwise 20. A grid given is not refined.
    cv : int, "loo", splitter or list of (train, test) pairs
        "loo" leaves each row out. Where loss and penalty are smooth it is approximate, from one fit per alpha and true
        refits of the rows that move most: `scores_.exact` is then False, and `scores_.error` estimates how far off.
    rule : "best" or "one_se"
    standardize : bool
        Penalise the coefficients of the features divided by their (weighted) standard deviations, learned in each
        training part; about zero without an intercept. Bounds and scales of a penalty then are those of these
        coefficients.
    fit_intercept : bool
        Whether to fit b, which is never penalised.
    solver : "auto", a name, or a solver object such as `gm.solvers.GradientDescent()`
        "auto" chooses by loss, penalty and cost, and says in `solver_` which and why. Names are those of the general
        solvers, and of `Ridge`, `LinearRegression` or `Lasso` where the loss and penalty are theirs.
    max_iter : int
        Most iterations of the solver.
    tol : float
        Tolerance of the certificate's quantity, relative.
    callbacks : list of functions
        Each is called with the iteration and its state; one that returns True ends the fit. With callbacks, the
        squared loss is fitted by iterations too.
    kernel : None, str or Kernel
        None is linear; "rbf", … or an object of `gm.kernels`. The penalty is then the norm of the function.
    rank : int, optional
        Number of landmark points that approximate the kernel matrix; None takes all rows up to 2000.
    time : float, optional
        Seconds after which a fit ends at the best so far, and the choice of alpha with those it has come to, with a
        `ConvergenceWarning` and a certificate that does not hold.

    Attributes
    ----------
    coef_, intercept_, alpha_, certificate_, solver_, history_, n_iter_
    representation_ : Columns or Landmarks
        What the rows look like to the model: their columns, or with a kernel features of landmark points.
    scale_ : float
        The scale of the loss, where it has one.
    noise_variance_ : float
        Of the squared loss with a quadratic penalty or none.
    scores_, path_ : where alpha was chosen

    Notes
    -----
    The squared loss with a quadratic penalty is `Ridge`, with an absolute one `Lasso` or `ElasticNet`, with none
    `LinearRegression`: the same choice of alpha, coefficients, certificate, standard errors and intervals, at the same
    cost. The rest is by general solvers, and so is the squared loss with a general solver, callbacks or a time limit:
    standard errors are those of M-estimators: a sandwich in which each row's gradient is divided by 1 − its leverage
    (HC3), with the scale of Huber's loss and Student's t corrected for the degrees of freedom, and intervals of
    Student's t; of counts by the curvature of the likelihood. The bias of a penalty and the choice of alpha are not in
    them. Where most rows are fitted perfectly there is no scale, and `summary()` is refused: give one.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gm.Regressor(loss=gm.losses.Huber(), alpha=1e-4).fit(X, y)
    >>> model.certificate_.holds, model.coef_.shape
    (True, (10,))
    """

    loss: Any = "squared"
    penalty: Any = "l2"
    alpha: str | float = "auto"
    _: KW_ONLY
    alphas: Any = "auto"
    cv: Any = 5
    rule: str = "best"
    standardize: bool = False
    fit_intercept: bool = True
    solver: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-8
    callbacks: Any = ()
    kernel: Any = None
    rank: int | None = None
    time: float | None = None
    _loss: Loss = field(init=False)
    _mean_loss: list[float] = field(init=False)
    _covariances: list[Covariance | None] = field(init=False)
    _weight: float = field(init=False)
    _perfect: str = field(init=False)

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "Regressor":
        """Fit to (X, y) or `Rows`."""
        loss, penalty = loss_of(self.loss, ("numbers", "counts")), penalty_of(self.penalty)
        alpha, alphas = validation.alpha(self.alpha), self._alphas()
        validation.rule(self.rule)
        intercept = validation.flag("fit_intercept", self.fit_intercept)
        standardize = self._standardizes()
        validation.whole("max_iter", self.max_iter, low=1)
        tol = validation.number("tol", self.tol, low=0.0, open_low=True)
        callbacks = validation.functions("callbacks", self.callbacks)
        solver = solver_of(self.solver, DIRECT_NAMES)
        self._refuse_rank()
        self._forget_fit()
        if self.kernel is None:
            data = self._source(X, y, sample_weight, sums=alpha is not None or penalty == Zero())
        else:
            data = self._feature_rows(X, y, sample_weight, penalty=penalty)
            data.refuse_labels()
        self._loss = loss
        named = isinstance(solver, str) and solver in ("auto", *DIRECT_NAMES)
        direct = named and self.kernel is None and not callbacks and self.time is None  # iterations end at any step
        options = FitOptions(
            alpha, alphas, self.cv, self.rule, intercept, standardize, solver, self.max_iter, tol, callbacks, direct
        )
        if not isinstance(data, Rows) and not fits_sums(data, loss, penalty, options):
            raise ValueError(self._needs_moments(data))
        try:
            fit = fit_penalised(data, loss, penalty, options)
        except OutOfRange:
            if not isinstance(data, Rows):
                raise
            fit = fit_penalised(data, loss, penalty, replace(options, direct=False))
        self.alpha_ = fit.alpha
        if fit.scores is not None:
            self.scores_ = fit.scores
        if fit.path is not None:
            self.path_ = path_of(*fit.path, data.one_target)
        if fit.solutions[0].sums is None:
            self._keep(fit.solutions, data.one_target)
        else:
            self._keep_squared(fit.solutions[0], data, penalty)
        return self

    def _keep_squared(self, solution: Solution, data: Data, penalty: Penalty) -> None:
        """Keep the solution of all targets, and the objective of each."""
        self._set_solution(solution, data.one_target)
        sums = solution.squares
        unit = column_deviations(data, self.fit_intercept) if self.standardize else np.ones(data.d)
        costs = np.array([penalty.value(unit * coef) for coef in solution.coef.T])
        self._mean_loss = list(sums.residual / sums.weight)
        objective = sums.residual / sums.weight + self.alpha_ * costs
        self.objective_ = float(objective[0]) if data.one_target else objective
        if not solution.history:  # a solution in closed form is one step
            self.history_, self.n_iter_ = [(1, float(objective.sum()), solution.certificate.value)], 1
        self._covariances = [None] * len(costs)
        self._weight, self._perfect = sums.weight, ""

    def _alphas(self) -> Any:
        """The length of the grid or the grid itself; None for the length that suits the method."""
        if isinstance(self.alphas, str) and self.alphas == "auto":
            return None
        return validation.alphas(self.alphas)

    def _needs_moments(self, data: Data) -> str:
        name = type(self).__name__
        if isinstance(data, Triangle) and self._loss.is_squared and not self.time:
            return f"{name} fits from rows or Moments, not from a Triangle: give gm.moments."
        return (
            f"This {name} cannot be fitted from {type(data).__name__} alone: only the squared loss with a quadratic "
            'or absolute penalty and solver="auto" can. Fit from the data or gm.scan of them.'
        )

    def _keep(self, fits: list[Solution], one: bool) -> None:
        self._set_coefficients(
            np.column_stack([fit.coef[:, 0] for fit in fits]), np.array([fit.intercept[0] for fit in fits]), one
        )
        self._set_dual()
        worst = max(fits, key=lambda fit: weakness(fit.certificate))
        self.certificate_ = self._of_representation(worst.certificate)
        self.solver_, self.history_ = worst.solver, worst.history
        self.n_iter_ = max(max(fit.iterations for fit in fits), 1)
        self.objective_ = fits[0].value if one else np.array([fit.value for fit in fits])
        self._loss = fits[0].problem.loss
        self._mean_loss = [fit.value - fit.problem.alpha * fit.problem.penalty_value(fit.coef) for fit in fits]
        if isinstance(self._loss, Scaled):
            scales = np.array([self._loss.unit if fit.scale is None else fit.scale for fit in fits])
            self.scale_ = float(scales[0]) if one else scales
        self._covariances = [covariance_of(fit) for fit in fits]
        self._weight = fits[0].problem.columns.weight
        refused = [fit.perfect for fit, c in zip(fits, self._covariances, strict=True) if fit.perfect and c is None]
        self._perfect = refused[0] if refused else ""

    def predict(self, X: Any, interval: float | None = None, interval_of: str = "observation") -> Any:
        """Predictions of the target: of its mean, median or quantile, as the loss has it."""
        found = super().predict(X, interval, interval_of)
        return found if interval is not None else self._loss.mean(found)

    def predict_distribution(self, X: Any) -> Any:
        """The distribution of the target given x, where the loss is a likelihood: mean, std, quantile, log_density."""
        from gramian.models.base.averaging import of_regressor

        if self._infers:
            return super().predict_distribution(X)
        refuse_perfect(self, "predictive distribution")
        return of_regressor(self, self._rows(X))

    def _interval(self, rows: Rows, interval: float, interval_of: str) -> Any:
        if self._infers:
            return super()._interval(rows, interval, interval_of)
        refuse_perfect(self, "intervals")
        return LinearModel._interval(self, rows, interval, interval_of)

    def _summary(self) -> Summary:
        if self._solution is not None:
            summary = self._ridge_summary() if self._infers else self._sparse_summary()
            known = {"loss": repr(self._loss), **summary.facts, "objective": self.objective_}
            return Summary(summary.title, summary.coefficients, known, summary.notes)
        refuse_perfect(self, "summary")
        facts: dict[str, Any] = {"loss": repr(self._loss), "alpha": self.alpha_, "n": self._weight}
        facts["objective"] = self.objective_
        if hasattr(self, "scale_"):
            facts["scale"] = self.scale_
        columns, notes = self._kernel_notes() or coefficient_errors(
            self._coefficient_table(), self._covariances, self.fit_intercept
        )
        freedoms = [c.freedom for c in self._covariances if c is not None and c.freedom is not None]
        if freedoms and "error" in columns:
            facts["df"] = freedoms[0] if len(freedoms) == 1 else np.array(freedoms)
        notes += penalty_notes(self.alpha_, hasattr(self, "scores_"), "error" in columns)
        notes += [self.certificate_.note] if self.certificate_.note else []
        notes += [str(self.scores_)] if hasattr(self, "scores_") else []
        return Summary(type(self).__name__, columns, facts, notes)

    def log_likelihood(self, X: Any = None, y: Any = None, *, sample_weight: Any = None) -> float:
        """Log-likelihood of the training data under Student's t, or as of `Ridge` under normal noise."""
        if self._infers:
            return super().log_likelihood(X, y, sample_weight=sample_weight)
        if not isinstance(self._loss, StudentT):
            raise ValueError(
                f"The loss {type(self._loss).__name__} has no scale that makes it the −log of a density. Use "
                "gm.Regressor(loss='student_t'), gm.LinearRegression, or gm.MAP with a likelihood."
            )
        if X is not None:
            raise ValueError(
                "The log-likelihood under Student's t is of the training data: call it without X and y, and take "
                "predict_distribution(X).log_density(y) of new data."
            )
        return float(-self._weight * np.sum(self._mean_loss))
