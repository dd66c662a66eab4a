"""Ordinary least squares."""

from dataclasses import KW_ONLY
from typing import Any

from gramian._core.estimator import estimator
from gramian._core.validation import flag
from gramian.models.base.inference import InferentialModel
from gramian.models.linear.penalised import FitOptions, fit_penalised, solver_of
from gramian.objective.losses.regression import Squared
from gramian.objective.penalties import Zero
from gramian.rows import single_threaded_blas
from gramian.solvers.least_squares.direct import ClosedForm


@estimator
class LinearRegression(InferentialModel):
    """Least squares, with errors and intervals, at any condition number.

    Minimises (1/Σw) Σ w (y − b − cᵀx)². Where columns are dependent, of all minimisers the one with the smallest ‖c‖ in
    the given units. Also the maximum-likelihood fit of y | x ~ N(b + cᵀx, σ²).

    Parameters
    ----------
    fit_intercept : bool
        Whether to fit b.
    solver : "auto", "cholesky", "qr", the name of a general solver, or an object such as `gm.solvers.GradientDescent()`
        "auto" takes the cheapest method that is accurate and says in `solver_` which and why. General solvers find the
        coefficients by their iterations; standard errors are those of the closed form.

    Attributes
    ----------
    coef_ : array (d,) or (t, d)
    intercept_ : float or array (t,)
    representation_ : Columns
        What the rows look like to the model.
    noise_variance_ : float or array (t,)
        Σw r² / Σw, the maximum-likelihood estimate of σ²; `summary().facts["sigma"]` is the unbiased deviation.
    certificate_, solver_
        What shows that this is the minimum, with rank and condition number; and the solver with its reason.

    Notes
    -----
    One pass of O(n d²) operations and O(d²) memory, then O(d³). Nearly dependent columns cost two further cheap passes,
    badly dependent ones a pass for the triangular factor. Weights are counts: df = Σw − rank.

    Examples
    --------
    >>> import gramian as gm
    >>> model = gm.LinearRegression().fit([[1.0], [2.0], [3.0], [4.0]], [1.1, 1.9, 3.2, 3.8])
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([0.94]), 0.15)
    >>> model.predict([[5.0]], interval=0.9).high.round(2)
    array([5.78])
    """

    _: KW_ONLY
    fit_intercept: bool = True
    solver: Any = "auto"

    @single_threaded_blas()
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "LinearRegression":
        """Fit to (X, y), `Rows`, `Moments` or a `Triangle`."""
        intercept = flag("fit_intercept", self.fit_intercept)
        solver = solver_of(self.solver, ClosedForm.names)
        self._forget_fit()
        data = self._source(X, y, sample_weight)
        fit = fit_penalised(data, Squared(), Zero(), FitOptions(0.0, fit_intercept=intercept, solver=solver))
        self._set_solution(fit.solutions[0], data.one_target)
        return self

    def _ridge_alpha(self) -> float:
        return 0.0
