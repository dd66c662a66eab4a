"""Ridge regression and its Tikhonov generalisation."""

from dataclasses import KW_ONLY, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian.kernels.lowrank.mapped_rows import KernelValues
from gramian.kernels.representation import KernelMatrix
from gramian.models.base.inference import InferentialModel
from gramian.models.base.kernel_estimator import KernelEstimator
from gramian.models.base.linear_model import Interval
from gramian.models.base.notes import penalty_notes
from gramian.models.kernel.data import read_kernel_data
from gramian.models.kernel.search import KernelSearch
from gramian.models.linear.penalised import FitOptions, fit_penalised, solver_of
from gramian.objective.losses.base import Loss
from gramian.objective.losses.regression import Squared
from gramian.objective.penalties import L2, Penalty, Tikhonov, WeightedElasticNet
from gramian.rows import Rows, single_threaded_blas
from gramian.solvers.base import Solver
from gramian.solvers.least_squares.direct import ClosedForm
from gramian.warnings import ConvergenceWarning, warn_user

if TYPE_CHECKING:
    from gramian.solvers.kernel.ridge_solution import KernelRidgeSolution

MISSED = 1e-6  # of the largest target: more is not rounding but targets that a kernel cannot meet


@estimator
class Ridge(KernelEstimator, InferentialModel):
    """Least squares with a squared penalty, its strength chosen by cross-validation at the cost of one fit.

    Minimises (1/Σw) Σ w (y − b − cᵀx)² + alpha · penalty(c), with penalty ‖c‖², Σ f_j c_j² with `penalty_factors`, or
    ‖Γc‖² with `matrix`. scikit-learn's alpha is n times this one.

    Parameters
    ----------
    alpha : "auto" or float
        Strength; "auto" chooses by cross-validation.
    alphas : int or array
        Length of the grid, or the grid itself. A grid given is not refined.
    cv : int, "loo", splitter or list of (train, test) pairs
        K random folds, leave-one-out in closed form, or any scikit-learn splitter.
    rule : "best" or "one_se"
        The smallest mean validation loss, or the strongest penalty within one standard error of it.
    matrix : array (m, d), optional
        Tikhonov's Γ.
    penalty_factors : array (d,), optional
        One non-negative factor per feature; 0 leaves it unpenalised.
    standardize : bool
        Penalise the coefficients of the features divided by their (weighted) standard deviations, learned in each
        training part; about zero without an intercept.
    fit_intercept : bool
        Whether to fit b, which is never penalised.
    solver : "auto", "cholesky", "qr", the name of a general solver, or an object such as `gm.solvers.GradientDescent()`
        "auto" takes the cheapest method that is accurate and says in `solver_` which and why. General solvers find the
        coefficients by their iterations; the choice of alpha and standard errors are those of the closed form.
    kernel : None, str or Kernel
        None is linear; "rbf", … or an object of `gm.kernels`: f(x) = b + Σ β_i k(x, x_i), with the penalty βᵀKβ.
    rank : int, optional
        Number of landmark points that approximate the kernel matrix; None is exact.
    time : float, optional
        Seconds after which the choice of a kernel ends with those tried by then, and a solver object at the
        best so far, with a `ConvergenceWarning`.

    Attributes
    ----------
    coef_, intercept_, alpha_, noise_variance_, certificate_, solver_
    representation_ : Columns, KernelMatrix or Landmarks
        What the rows look like to the model: their columns; with a kernel the kernel itself, or features of `rank`
        landmark points.
    dual_solution_ : KernelRidgeSolution
        With a kernel and no `rank`: what intervals are made of.
    kernel_, dual_coef_ : the kernel as fitted and β, where there is one
    metric_, metric_weights_, kernel_losses_ : where the kernel's metric was learned, what was learned, the share of
        each column in it, and the validation loss after each round of learning
    scores_ : Scores
        Validation losses, where alpha was chosen.
    path_ : Path
        Coefficients over the grid, where there is one.

    Notes
    -----
    One pass of O(n d²) for the moments of every fold, then one eigendecomposition O(d³) per fold for all alphas.
    Standard errors are those of the shrunk estimate (its bias is not in them); df = Σw − tr(2H − HHᵀ).

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gm.Ridge().fit(X, y)
    >>> model.scores_.at_boundary, model.certificate_.holds
    (False, True)
    """

    alpha: str | float = "auto"
    _: KW_ONLY
    alphas: Any = ClosedForm.grid_length
    cv: Any = 5
    rule: str = "best"
    matrix: Any = None
    penalty_factors: Any = None
    standardize: bool = False
    fit_intercept: bool = True
    solver: Any = "auto"
    kernel: Any = None
    rank: int | None = None
    time: float | None = None
    dual_solution_: "KernelRidgeSolution" = field(init=False)

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "Ridge":
        """Fit to (X, y) or `Rows`; with a number for alpha also to `Moments` or a `Triangle`."""
        self._refuse_rank()
        self._forget_fit()
        standardize = validation.flag("standardize", self.standardize)
        if self.kernel is not None and (self.matrix is not None or self.penalty_factors is not None or standardize):
            raise ValueError("With kernel= the penalty is βᵀKβ: leave out matrix, penalty_factors and standardize.")
        if self._solves_dual():
            return self._fit_kernel(X, y, sample_weight)
        return self._fit_linear(X, y, sample_weight)

    def _parts(self) -> tuple[Loss, Penalty]:
        return Squared(), L2()

    def _kernel_search(self) -> KernelSearch:
        if not self._solves_dual():
            return super()._kernel_search()
        from gramian.models.kernel.ridge import KernelRidgeSearch

        return KernelRidgeSearch(self)

    def _fit_kernel(self, X: Any, y: Any, sample_weight: Any) -> "Ridge":
        from gramian.models.kernel.ridge import choose_alpha, ridge_problem

        alpha, grid = validation.alpha(self.alpha), validation.alphas(self.alphas)
        validation.rule(self.rule)
        validation.flag("fit_intercept", self.fit_intercept)
        if isinstance(self.solver, Solver):
            raise ValueError(
                f"The solver {self.solver.name!r} fits coefficients, and a kernel matrix is solved in closed form: "
                "give rank=, the number of landmark points, or leave solver out."
            )
        data = read_kernel_data(self, X, y, sample_weight)
        problem = ridge_problem(self, data)
        if alpha is None:
            choice = choose_alpha(self, data, problem, grid)
            alpha, self.scores_, data = choice.alpha, choice.scores, replace(data, losses=choice.losses)
        self._set_kernel(data)
        solution = problem.solve(alpha)
        one = data.target.one_target
        self.representation_ = KernelMatrix(problem.kernel, problem.points, problem.index)
        self.dual_solution_, self.alpha_ = solution, alpha
        self._set_coefficients(solution.beta, solution.b, one)
        self.dual_coef_ = self._feature_coef
        self.noise_variance_ = float(solution.noise[0]) if one else solution.noise
        self.certificate_, self.solver_ = solution.certificate, solution.solver
        if not solution.certificate.value <= MISSED:
            warn_user(
                f"The {solution.certificate.kind} is {solution.certificate.value:.2g} and its tolerance "
                f"{solution.certificate.tolerance:.2g}: the kernel matrix is numerically singular; the targets cannot "
                "be interpolated. Raise alpha, or take a shorter length_scale.",
                ConvergenceWarning,
            )
        return self

    def _interval(self, rows: Rows, interval: float, interval_of: str) -> Interval:
        if "dual_solution_" not in self.__dict__:
            return super()._interval(rows, interval, interval_of)
        level = validation.number("interval", interval, low=0.0, high=1.0, open_low=True)
        validation.choice("interval_of", interval_of, ("observation", "mean"))
        assert isinstance(rows, KernelValues)
        half = self.dual_solution_.half_width(rows.points, level, of_mean=interval_of == "mean")
        mean = self.predict(rows)
        half = half.reshape(mean.shape)
        return Interval(mean, mean - half, mean + half)

    def _fit_linear(self, X: Any, y: Any, sample_weight: Any) -> "Ridge":
        alpha, grid = validation.alpha(self.alpha), validation.alphas(self.alphas)
        validation.rule(self.rule)
        intercept = validation.flag("fit_intercept", self.fit_intercept)
        solver = solver_of(self.solver, ClosedForm.names)
        if self.kernel is None:
            data = self._source(X, y, sample_weight, sums=alpha is not None)
        else:
            data = self._feature_rows(X, y, sample_weight)
            data.refuse_labels()
        options = FitOptions(alpha, grid, self.cv, self.rule, intercept, bool(self.standardize), solver)
        fit = fit_penalised(data, Squared(), self._penalty(data.d), options)
        self.alpha_ = fit.alpha
        self._set_solution(fit.solutions[0], data.one_target, fit.scores, fit.path)
        self.certificate_ = self._of_representation(self.certificate_)
        self._set_dual()
        return self

    def _penalty(self, d: int) -> Penalty:
        standardize = validation.flag("standardize", self.standardize)
        if self.matrix is None:
            factors = validation.factors("penalty_factors", self.penalty_factors, d)
            return L2() if factors is None else WeightedElasticNet(factors)
        if self.penalty_factors is not None or standardize:
            raise ValueError("matrix= is the whole penalty: leave out penalty_factors and standardize beside it.")
        matrix = validation.array("matrix", self.matrix, f"numbers of shape (m, {d})")
        if matrix.ndim != 2 or matrix.shape[1] != d:
            raise ValueError(f"matrix has shape {matrix.shape}; Γ needs one column per feature, shape (m, {d}).")
        if not np.isfinite(matrix).all():
            raise ValueError("matrix contains NaN or infinity; every entry of Γ must be a number.")
        return Tikhonov(matrix)

    def _ridge_alpha(self) -> float | None:
        plain = self.matrix is None and self.penalty_factors is None and not self.standardize
        return float(self.alpha) if plain and not isinstance(self.alpha, str) else None

    def _summary(self) -> Summary:
        function = self._kernel_function
        if function is not None:
            facts = {"kernel": repr(function.kernel), "alpha": self.alpha_, **function.facts()}
            facts |= {"noise variance": self.noise_variance_}
            notes = [str(self.scores_)] if hasattr(self, "scores_") else []
            notes += self._metric_notes()
            notes += penalty_notes(self.alpha_, hasattr(self, "scores_"))
            return Summary(type(self).__name__, self._intercept_alone(), facts, notes)
        return self._ridge_summary()
