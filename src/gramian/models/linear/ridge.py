"""Ridge regression and its Tikhonov generalisation."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian.models.base.inference import InferentialModel
from gramian.models.base.kernelised import Kernelised
from gramian.models.base.notes import penalty_notes
from gramian.models.base.squared_loss import Options
from gramian.models.linear.ridge_method import GRID, RidgeMethod, by_iterations, solver_object
from gramian.rows import single_threaded_blas
from gramian.solvers.least_squares.closed_form import METHODS, QuadraticPenalty
from gramian.warnings import ConvergenceWarning, warn_user

MISSED = 1e-6  # of the largest target: more is not rounding but targets that a kernel cannot meet


@estimator
class Ridge(Kernelised, InferentialModel):
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
    solver : "auto", "cholesky", "qr", or a solver object such as `gm.solvers.GradientDescent()`
        "auto" takes the cheapest method that is accurate and says in `solver_` which and why. A solver object finds the
        coefficients by its iterations; the choice of alpha and standard errors are those of the closed form.
    kernel : None, str or Kernel
        None is linear; "rbf", … or an object of `gm.kernels`: f(x) = b + Σ β_i k(x, x_i), with the penalty βᵀKβ.
    rank : int, optional
        Rows that stand for all in an approximation of the kernel matrix; None is exact.
    time : float, optional
        Seconds after which the choice of a kernel ends with those tried by then, and a solver object at the
        best so far, with a `ConvergenceWarning`.

    Attributes
    ----------
    coef_, intercept_, alpha_, noise_variance_, certificate_, solver_
    kernel_, dual_coef_ : the kernel as fitted and β, where there is one
    metric_weights_, kernel_losses_ : where the kernel's metric was learned, the share of each column in it, and the
        validation loss after each round of learning
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
    alphas: Any = GRID
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

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "Ridge":
        """Fit to (X, y) or `Rows`; with a number for alpha also to `Moments` or a `Triangle`."""
        if hasattr(self, "_machine"):
            del self._machine
        if self.kernel is None:
            return self._fit_linear(X, y, sample_weight)
        if self.matrix is not None or self.penalty_factors is not None or self.standardize:
            raise ValueError("With kernel= the penalty is βᵀKβ: leave out matrix, penalty_factors and standardize.")
        if self.rank is None:
            return self._fit_kernel(X, y, sample_weight)
        self._fit_linear(X, y, sample_weight)
        self._set_kernel_dual()
        return self

    def _kernel_loss(self, kernel: Any, X: Any, y: Any, sample_weight: Any) -> float:
        if self.rank is not None:
            return super()._kernel_loss(kernel, X, y, sample_weight)
        from gramian.models.kernel.ridge import trial_of

        trial = self._trials[kernel] = trial_of(self, kernel, X, y, sample_weight)
        return float(trial.scores.mean[trial.scores.chosen])

    def _kernel_losses(self, losses: dict[Any, float], near: list[Any]) -> dict[Any, float]:
        if self.rank is not None:
            return losses
        from gramian.models.kernel.ridge_cv import finalists

        return finalists({kernel: self._trials[kernel] for kernel in losses}, near)

    def _fit_kernel(self, X: Any, y: Any, sample_weight: Any) -> "Ridge":
        from gramian.models.kernel.ridge import KernelRidge

        alpha, grid = validation.alpha(self.alpha), validation.alphas(self.alphas)
        validation.rule(self.rule)
        validation.flag("fit_intercept", self.fit_intercept)
        if solver_object(self.solver) is not None:
            raise ValueError(
                f"The solver {self.solver.name!r} fits coefficients, and a kernel matrix is solved in closed form: "
                "give rank=, the number of landmark points, or leave solver out."
            )
        self._trials: dict[Any, Any] = {}  # what the search for a kernel has judged is not judged again
        machine = KernelRidge(self, X, y, sample_weight, alpha, grid)
        del self._trials
        self._machine, self.alpha_ = machine, machine.alpha
        self.dual_coef_ = machine.beta[:, 0] if machine.one else machine.beta.T
        self.intercept_ = float(machine.b[0]) if machine.one else machine.b
        self.noise_variance_ = float(machine.noise[0]) if machine.one else machine.noise
        self.certificate_, self.solver_ = machine.certificate, machine.solver
        if not machine.certificate.value <= MISSED:
            warn_user(
                f"The {machine.certificate.kind} is {machine.certificate.value:.2g} and its tolerance "
                f"{machine.certificate.tolerance:.2g}: the kernel matrix is singular to rounding, so that not every "
                "target is met. Raise alpha, or take a shorter length_scale.",
                ConvergenceWarning,
            )
        return self

    def predict(self, X: Any, interval: float | None = None, interval_of: str = "observation") -> Any:
        if not hasattr(self, "_machine"):
            return super().predict(X, interval, interval_of)
        points = self._read_points(X, reset=False)
        if interval is not None:
            return self._machine.interval(points, interval, interval_of)
        found = self._machine.predict(points)
        return found[:, 0] if self._machine.one else found

    def _dual_points(self) -> Any:
        machine = getattr(self, "_machine", None)
        return super()._dual_points() if machine is None else (machine.points, machine.beta)

    def _fit_linear(self, X: Any, y: Any, sample_weight: Any) -> "Ridge":
        alpha, grid = validation.alpha(self.alpha), validation.alphas(self.alphas)
        validation.rule(self.rule)
        intercept = validation.flag("fit_intercept", self.fit_intercept)
        asked = solver_object(self.solver)
        solver = "auto" if asked else validation.choice("solver", self.solver, METHODS)
        data = self._source(X, y, sample_weight, sums=alpha is not None)
        self._forget_fit()
        options = Options(alpha, grid, self.cv, self.rule, intercept, solver)
        exact = RidgeMethod(self._penalty(data.d))
        quadratic = exact.penalty
        fit = exact.fit(data, options) if asked is None else by_iterations(exact, quadratic, asked, data, options)
        self.alpha_ = fit.alpha
        self._set_fit(fit, data.one_target)
        return self

    def _penalty(self, d: int) -> QuadraticPenalty:
        standardize = validation.flag("standardize", self.standardize)
        if self.matrix is None:
            factors = validation.factors("penalty_factors", self.penalty_factors, d)
            return QuadraticPenalty(diagonal=factors, standardize=standardize)
        if self.penalty_factors is not None or standardize:
            raise ValueError("matrix= is the whole penalty: leave out penalty_factors and standardize beside it.")
        matrix = validation.array("matrix", self.matrix, f"numbers of shape (m, {d})")
        if matrix.ndim != 2 or matrix.shape[1] != d:
            raise ValueError(f"matrix has shape {matrix.shape}; Γ needs one column per feature, shape (m, {d}).")
        if not np.isfinite(matrix).all():
            raise ValueError("matrix contains NaN or infinity; every entry of Γ must be a number.")
        return QuadraticPenalty(matrix=matrix)

    def _ridge_alpha(self) -> float | None:
        plain = self.matrix is None and self.penalty_factors is None and not self.standardize
        return float(self.alpha) if plain and not isinstance(self.alpha, str) else None

    def _summary(self) -> Summary:
        if hasattr(self, "_machine") or hasattr(self, "_pivots"):
            facts = {"kernel": repr(self.kernel_), "alpha": self.alpha_}
            facts |= {"n": self._machine.n} if hasattr(self, "_machine") else {"rank": len(self._pivots.index)}
            facts |= {"noise variance": self.noise_variance_}
            notes = [str(self.scores_)] if hasattr(self, "scores_") else []
            notes += self._metric_notes()
            notes += penalty_notes(self.alpha_, hasattr(self, "scores_"))
            return Summary(type(self).__name__, self._intercept_alone(), facts, notes)
        return self._ridge_summary()

    def _feature_names(self) -> list[str]:
        chosen = getattr(self, "_pivots", None)
        return super()._feature_names() if chosen is None else [f"landmark {row}" for row in chosen.index]
