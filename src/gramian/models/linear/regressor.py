"""The general linear regression: any loss, any penalty."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian.models.base.composed import Composed, loss_of, penalty_of
from gramian.models.base.errors import Covariance, coefficient_errors, covariance_of, penalty_notes, refuse_perfect
from gramian.models.base.kernelised import Kernelised
from gramian.models.base.linear_model import LinearModel
from gramian.models.linear.ridge import Path, path_of
from gramian.objective.losses.base import Loss, Scaled
from gramian.objective.losses.regression import StudentT
from gramian.objective.problem import Problem
from gramian.rows import Rows, single_threaded_blas
from gramian.rows.labels import coded
from gramian.selection.cv.regularization import AlphaSearch, grid, has_strength
from gramian.selection.cv.scores import Scores
from gramian.solvers.certificate import weakness
from gramian.solvers.solve import Fit, fit_problem

GRID = 20


@estimator
class Regressor(Kernelised, Composed, LinearModel):
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
    alphas : int or array
        Length of the grid, or the grid itself. A grid given is not refined.
    cv : int, "loo", splitter or list of (train, test) pairs
        "loo" leaves each row out. Where loss and penalty are smooth it is approximate, from one fit per alpha and true
        refits of the rows that move most: `scores_.exact` is then False, and `scores_.error` estimates how far off.
    rule : "best" or "one_se"
    fit_intercept : bool
        Whether to fit b, which is never penalised.
    solver : "auto", a name, or a solver object such as `gm.solvers.GradientDescent()`
        "auto" chooses by loss, penalty and cost, and says in `solver_` which and why.
    max_iter : int
        Most iterations of the solver.
    tol : float
        Tolerance of the certificate's quantity, relative.
    callbacks : list of functions
        Each is called with the iteration and its state; one that returns True ends the fit.
    kernel : None, str or Kernel
        None is linear; "rbf", … or an object of `gm.kernels`. The penalty is then the norm of the function.
    rank : int, optional
        Rows that stand for all in the kernel matrix; None takes all of them up to 2000.
    time : float, optional
        Seconds after which a fit ends at the best so far, and the choice of alpha with those it has come to, with a
        `ConvergenceWarning` and a certificate that does not hold.

    Attributes
    ----------
    coef_, intercept_, alpha_, certificate_, solver_, history_, n_iter_
    scale_ : float
        The scale of the loss, where it has one.
    scores_, path_ : where alpha was chosen

    Notes
    -----
    Standard errors are those of M-estimators: a sandwich in which each row's gradient is divided by 1 − its leverage
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
    alphas: Any = GRID
    cv: Any = 5
    rule: str = "best"
    fit_intercept: bool = True
    solver: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-8
    callbacks: Any = ()
    kernel: Any = None
    rank: int | None = None
    time: float | None = None

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "Regressor":
        """Fit to (X, y) or `Rows`."""
        loss, penalty = loss_of(self.loss, ("numbers", "counts")), penalty_of(self.penalty)
        alpha, given = validation.alpha(self.alpha), validation.alphas(self.alphas)
        validation.rule(self.rule)
        intercept = validation.flag("fit_intercept", self.fit_intercept)
        validation.whole("max_iter", self.max_iter, low=1)
        tol = validation.number("tol", self.tol, low=0.0, open_low=True)
        data = self._source(X, y, sample_weight, sums=False)
        assert isinstance(data, Rows)
        data = data.settled()
        for name in ("scores_", "path_", "scale_"):
            if hasattr(self, name):
                delattr(self, name)
        targets = [_target(data, j) for j in range(len(data.target_names))]

        def reading(j: int) -> Any:
            return lambda rows: Problem(
                rows if data.one_target else _target(rows, j), loss, penalty, alpha or 0.0, intercept=intercept
            )

        problem_factories = [reading(j) for j in range(len(targets))]
        problems = [Problem(rows, loss, penalty, alpha or 0.0, intercept=intercept) for rows in targets]
        if alpha is None and has_strength(problems[0]):
            alphas = grid(problems[0], given) if isinstance(given, int) else given
            search = AlphaSearch(data, problem_factories, self.cv, solver=self.solver, max_iter=self.max_iter)
            self.scores_: Scores = search.choose(alphas, rule=self.rule, fixed=not isinstance(given, int))
            alphas = self.scores_.alphas
            alpha = float(alphas[self.scores_.chosen])
            self.path_: Path = path_of(alphas, *search.path(alphas), data.one_target)
        callbacks = validation.functions("callbacks", self.callbacks)
        options = {"solver": self.solver, "max_iter": self.max_iter, "tol": tol, "callbacks": callbacks}
        fits = [fit_problem(problem.with_alpha(alpha or 0.0), **options) for problem in problems]
        self.alpha_ = alpha or 0.0
        self._keep(fits, data.one_target)
        return self

    def _keep(self, fits: list[Fit], one: bool) -> None:
        self._set_coefficients(
            np.column_stack([fit.coef[:, 0] for fit in fits]), np.array([fit.intercept[0] for fit in fits]), one
        )
        self._set_kernel_dual()
        worst = max(fits, key=lambda fit: weakness(fit.certificate))
        self.certificate_, self.solver_, self.history_ = worst.certificate, worst.solver, worst.history
        self.n_iter_ = max(max(fit.iterations for fit in fits), 1)
        self.objective_ = fits[0].value if one else np.array([fit.value for fit in fits])
        self._loss: Loss = fits[0].problem.loss
        self._mean_loss = [fit.value - fit.problem.alpha * fit.problem.penalty.value(fit.coef[:, 0]) for fit in fits]
        if isinstance(self._loss, Scaled):
            scales = np.array([self._loss.unit if fit.scale is None else fit.scale for fit in fits])
            self.scale_ = float(scales[0]) if one else scales
        self._covariances: list[Covariance | None] = [covariance_of(fit) for fit in fits]
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

        refuse_perfect(self, "predictive distribution")
        return of_regressor(self, self._rows(X))

    def _interval(self, rows: Rows, interval: float, interval_of: str) -> Any:
        refuse_perfect(self, "intervals")
        return super()._interval(rows, interval, interval_of)

    def _summary(self) -> Summary:
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

    def log_likelihood(self) -> float:
        """Log-likelihood of the training data under Student's t, whose −log is the loss."""
        if not isinstance(self._loss, StudentT):
            raise ValueError(
                f"The loss {type(self._loss).__name__} has no scale that makes it the −log of a density. Use "
                "gm.Regressor(loss='student_t'), gm.LinearRegression, or gm.MAP with a likelihood."
            )
        return float(-self._weight * np.sum(self._mean_loss))


def _target(rows: Rows, j: int) -> Rows:
    return rows if len(rows.target_names) == 1 else coded(rows, lambda y: y[:, [j]])
