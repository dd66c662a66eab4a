"""The most probable model: a likelihood of the target and a prior of the coefficients, read as loss and penalty."""

from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian._core.types import Floats
from gramian.kernels.representation import Columns
from gramian.models.base.averaging import average_probabilities, predictive
from gramian.models.base.classifier import ClassifyingModel
from gramian.models.base.composed import Composed
from gramian.models.base.distribution import Categorical
from gramian.models.base.errors import coefficient_errors, refuse_perfect
from gramian.models.base.linear_model import Interval, LinearModel
from gramian.models.linear.most_probable import Descent, Method, Mode, Squares, most_probable
from gramian.objective import likelihoods, priors
from gramian.objective.likelihoods import Likelihood, Scaled
from gramian.objective.priors import Prior
from gramian.objective.problem import Problem
from gramian.rows import Rows, single_threaded_blas
from gramian.rows.labels import coded
from gramian.solvers.certificate import weakness
from gramian.solvers.least_squares.closed_form import confirmed
from gramian.statistics import Moments, Triangle
from gramian.statistics.products import block_moments

LIKELIHOODS: dict[str, type[Likelihood]] = {
    "gaussian": likelihoods.Gaussian,
    "student_t": likelihoods.StudentT,
    "laplace": likelihoods.Laplace,
    "poisson": likelihoods.Poisson,
    "bernoulli": likelihoods.Bernoulli,
    "categorical": likelihoods.Categorical,
}
PRIORS: dict[str, type[Prior]] = {"normal": priors.Normal, "laplace": priors.Laplace, "flat": priors.Flat}
CLASSES = ("signs", "classes")


@estimator
class MAP(Composed, LinearModel, ClassifyingModel):
    """The most probable coefficients under a likelihood of the target and a prior of the coefficients.

    Maximises Σ w log p(y | b + cᵀx) + log p(c), and over the scale of the noise where it is not given; b has a flat
    prior. In the terms of `gm.Regressor`: loss = −unit · log p and alpha = strength · unit / Σw, so that Gaussian noise
    σ with a Normal prior β is ridge with alpha = σ² / (β² Σw), and a Laplace prior is the lasso.

    Parameters
    ----------
    likelihood : str or Likelihood
        "gaussian", "student_t", "laplace" or "poisson" for a regression, "bernoulli" or "categorical" for classes; or
        an object of `gm.likelihoods`, with its scale or without.
    prior : str or Prior
        "normal", "laplace", "flat", or an object of `gm.priors`. A name has scale 1, in the units of the coefficients.
    fit_intercept : bool
        Whether to fit b.
    solver : "auto", a name, or a solver object such as `gm.solvers.GradientDescent()`
        "auto" takes a direct method where there is one.
    max_iter : int
        Most iterations of the solver (ten times as many changes of a lasso's active set), and most fits for a scale.
    tol : float
        Tolerance of the certificate's quantity, relative; also of the scale.
    time : float, optional
        Seconds after which the fit ends at the best so far, with a `ConvergenceWarning` and a certificate that does
        not hold.

    Attributes
    ----------
    coef_, intercept_, alpha_, certificate_, solver_, n_iter_
    representation_ : Columns
        What the rows look like to the model.
    scale_ : float or array (t,)
        The scale of the noise, given or estimated, where the likelihood has one.
    log_likelihood_, log_posterior_ : float
        Σ w log p(y | x), and with log p(c) added (the evidence is not subtracted). Sums over targets.
    classes_ : array, of classifiers

    Notes
    -----
    Gaussian noise takes one pass over the data, also of `gm.moments`; other likelihoods as `gm.Regressor` and
    `gm.Classifier`. An estimated scale costs some fifteen fits, for Gaussian noise without further passes. Standard
    errors and `predict_distribution` use the normal with the curvature of the posterior at its mode, given the scale:
    exact for Gaussian noise and prior. Where the loss or the prior is not smooth, there is none.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
    >>> model = gm.MAP(gm.likelihoods.Gaussian(scale=0.1), gm.priors.Normal(scale=1.0)).fit(X, y)
    >>> model.coef_.round(4), gm.Ridge(alpha=0.1**2 / 4).fit(X, y).coef_.round(4)
    (array([0.9581]), array([0.9581]))
    >>> model.predict_distribution([[4.0]]).quantile([0.05, 0.95]).round(2).ravel()
    array([3.64, 4.16])
    """

    likelihood: Any = "gaussian"
    prior: Any = "normal"
    _: KW_ONLY
    fit_intercept: bool = True
    solver: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-8
    time: float | None = None
    _read: Any = field(init=False)
    _loss: Any = field(init=False)
    _weight: float = field(init=False)
    _perfect: str = field(init=False)
    _posteriors: list[Any] = field(init=False)

    class_weight = None  # the weight of a class is a matter of the data, not of its likelihood
    cost = None  # decisions at a cost: predict_distribution(X).optimal(cost)

    def _targets(self) -> str:
        kind = LIKELIHOODS.get(self.likelihood) if isinstance(self.likelihood, str) else type(self.likelihood)
        return str(getattr(kind, "targets", ""))

    def _classifies(self) -> bool:
        return self._targets() in CLASSES

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "MAP":
        """Fit to (X, y) or `Rows`; with Gaussian noise also to `Moments`."""
        likelihood = _part("likelihood", self.likelihood, LIKELIHOODS, Likelihood)
        prior = _part("prior", self.prior, PRIORS, Prior)
        intercept = validation.flag("fit_intercept", self.fit_intercept)
        max_iter = validation.whole("max_iter", self.max_iter, low=1)
        tol = validation.number("tol", self.tol, low=0.0, open_low=True)
        forget_fit(self)
        self._read, self._loss, one = (likelihood, prior), likelihood.loss(), True
        if self._classifies():
            methods: list[Method] = [self._classes(likelihood, prior, X, y, sample_weight, intercept)]
        else:
            methods, one = self._numbers(prior, X, y, sample_weight, intercept)
        found = [most_probable(method, likelihood, prior, max_iter, tol) for method in methods]
        self._keep(methods, found, prior, one)
        return self

    def _classes(self, likelihood: Likelihood, prior: Prior, X: Any, y: Any, weight: Any, intercept: bool) -> Descent:
        rows = self._labelled(X, y, weight)
        self.representation_ = Columns.of(self)
        k = len(self.classes_)
        if likelihood.targets == "signs":
            if k > 2:
                raise ValueError(
                    "Only binary classification is supported by the Bernoulli likelihood. The type of the target is "
                    f"multiclass: y has {k} classes; use gm.likelihoods.Categorical()."
                )
            rows = coded(rows, lambda y: 2.0 * y - 1.0)
        outputs = k if likelihood.targets == "classes" else 1
        problem = Problem(rows, self._loss, prior.penalty(), 0.0, intercept=intercept, outputs=outputs)
        return Descent(problem, self.solver, self.max_iter, self.tol)

    def _numbers(self, prior: Prior, X: Any, y: Any, weight: Any, intercept: bool) -> tuple[list[Method], bool]:
        direct = self._loss.is_squared and isinstance(self.solver, str) and self.solver == "auto"
        data, penalty = self._source(X, y, weight, sums=direct), prior.penalty()
        if isinstance(data, Triangle):
            raise ValueError("MAP fits from rows or Moments, not from a Triangle: give gm.moments.")
        targets = range(len(data.target_names))
        if not direct:
            assert isinstance(data, Rows)
            problems = [Problem(_target(data, j), self._loss, penalty, 0.0, intercept=intercept) for j in targets]
            return [Descent(problem, self.solver, self.max_iter, self.tol) for problem in problems], data.one_target
        whole = data if isinstance(data, Moments) else None
        if isinstance(data, Rows) and data.n >= data.d:
            whole = data.sum(block_moments(data))
        sums = [None if whole is None else whole.select(slice(None), [j]) for j in targets]
        return [
            Squares(
                sums[j] if isinstance(data, Moments) else _target(data, j),  # type: ignore[arg-type]
                sums[j],
                penalty,
                intercept,
                self.max_iter,
                self.tol,
            )
            for j in targets
        ], data.one_target

    def _needs_rows(self, given: str) -> str:
        return (
            f"This MAP cannot be fitted from {given} alone: it needs the rows, unless the noise is Gaussian and "
            "solver='auto'. Fit from the data, or from gm.scan of them."
        )

    def _keep(self, methods: list[Method], found: list[tuple[Mode, Likelihood]], prior: Prior, one: bool) -> None:
        modes = [mode for mode, _ in found]
        solutions = [mode.solution for mode in modes]
        if self._classifies():
            self.coef_ = np.ascontiguousarray(solutions[0].coef.T)
            self.intercept_ = np.asarray(solutions[0].intercept)
        else:
            coefs, intercepts = [a.coef[:, 0] for a in solutions], [a.intercept[0] for a in solutions]
            self._set_coefficients(np.column_stack(coefs), np.array(intercepts), one)
        worst = max(modes, key=lambda mode: weakness(mode.certificate))
        own = worst.solution
        self.certificate_, self.solver_ = worst.certificate, own.solver
        closed_form = own.sums is not None and own.sums.df is not None
        if closed_form and not own.certificate.holds:
            self.certificate_ = confirmed(worst.certificate, own.coef, own.intercept)
        self.n_iter_ = max(max(a.iterations for a in solutions), 1)
        alphas = np.array([a.alpha for a in modes])
        self.alpha_ = float(alphas[0]) if one else alphas
        scales = np.array([known.width for _, known in found if isinstance(known, Scaled)])
        if scales.size:
            self.scale_ = float(scales[0]) if one else scales
            if self._loss.is_squared:
                self.noise_variance_ = self.scale_**2
        self._weight = methods[0].weight
        self.log_likelihood_ = -sum(
            method.weight * a.loss / known.unit + method.rest(known)
            for method, (a, known) in zip(methods, found, strict=True)
        )
        self.log_posterior_ = self.log_likelihood_ + float(sum(prior.log_density(a.coef).sum() for a in solutions))
        self._perfect = next((a.perfect for a in solutions if a.perfect), "")
        self._posteriors = [method.posterior(a, known) for method, (a, known) in zip(methods, found, strict=True)]

    # what it predicts

    def _linear(self, rows: Rows) -> Floats:
        return np.asarray(LinearModel.predict(self, rows))

    def predict(self, X: Any, interval: float | None = None, interval_of: str = "observation") -> Any:
        """The mean (median, for Laplace noise) of the target at the most probable coefficients, or the likeliest class.

        With `interval=0.95` a named tuple (mean, low, high) from `predict_distribution`; `interval_of="mean"` leaves
        the noise out.
        """
        if not self._classifies():
            found = LinearModel.predict(self, X, interval, interval_of)
            return found if interval is not None else self._loss.mean(found)
        if interval is not None:
            raise ValueError("A class has no prediction interval: use predict_proba or predict_distribution.")
        return ClassifyingModel.predict(self, X)

    def predict_distribution(self, X: Any) -> Any:
        """The distribution of the target given x, averaged over the posterior of the coefficients where it is known.

        For a regression: mean, std, quantile, cdf, log_density and `optimal("squared" | "absolute" | "zero_one" | q)`.
        For classes: probabilities, mode, log_density and `optimal(cost)`.
        """
        check_is_fitted(self)
        refuse_perfect(self, "predictive distribution")
        rows = self._rows(X)
        f = self._linear(rows)
        if self._classifies():
            spread = None if self._posteriors[0] is None else self._posteriors[0].covariance(rows)
            return Categorical(average_probabilities(self._loss, f, spread), self.classes_)
        return predictive(self._loss, f, getattr(self, "scale_", None), self._variance_at(rows, f))

    def _variance_at(self, rows: Rows, f: Floats) -> Floats | None:
        if any(posterior is None for posterior in self._posteriors):
            return None
        found = [posterior.covariance(rows)[:, 0, 0] for posterior in self._posteriors if posterior is not None]
        return np.column_stack(found).reshape(f.shape)

    def _interval(self, rows: Rows, interval: float, interval_of: str) -> Interval:
        refuse_perfect(self, "intervals")
        level = validation.number("interval", interval, low=0.0, high=1.0, open_low=True)
        validation.choice("interval_of", interval_of, ("observation", "mean"))
        f = self._linear(rows)
        if interval_of == "observation":
            low, high = self.predict_distribution(rows).quantile([0.5 - level / 2.0, 0.5 + level / 2.0])
            return Interval(self._loss.mean(f), low, high)
        variance = self._variance_at(rows, f)
        if variance is None:
            raise ValueError(
                f"MAP has no prediction intervals of the mean here: {self._no_posterior()} interval_of='observation' "
                "still has the noise."
            )
        half = float(ndtri(0.5 + level / 2.0)) * np.sqrt(variance)
        return Interval(self._loss.mean(f), self._loss.mean(f - half), self._loss.mean(f + half))

    def _no_posterior(self) -> str:
        return "a nonsmooth loss or prior, separated classes or too many coefficients leave no normal posterior."

    def _probabilities(self, rows: Rows) -> Floats:
        return average_probabilities(self._loss, self._linear(rows), None)

    def _decisions(self, rows: Rows) -> Floats:
        f = self._linear(rows)
        if len(self.classes_) > 2:
            return f
        return f[:, 0] if f.shape[1] == 1 else f[:, 1] - f[:, 0]

    @available_if(_classifies)
    def decision_function(self, X: Any) -> Floats:
        """(n,) for two classes, positive for the second; (n, k) for more, the largest wins."""
        return ClassifyingModel.decision_function(self, X)

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (n, k), at the most probable coefficients."""
        return ClassifyingModel.predict_proba(self, X)

    @available_if(_classifies)
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`."""
        return ClassifyingModel.predict_log_proba(self, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of a regression, the share of right classes of a classification."""
        kind = ClassifierMixin if self._classifies() else RegressorMixin
        return float(kind.score(self, X, y, sample_weight))

    # what it says

    def _summary(self) -> Summary:
        refuse_perfect(self, "summary")
        likelihood, prior = self._read
        facts: dict[str, Any] = {"likelihood": repr(likelihood), "prior": repr(prior)}
        if hasattr(self, "scale_"):
            facts["scale"] = self.scale_
        facts |= {"alpha": self.alpha_, "n": self._weight}
        facts |= {"log_likelihood": self.log_likelihood_, "log_posterior": self.log_posterior_}
        columns, notes = self._coefficient_table(), []
        if self._classifies() and len(self.coef_) > 1:
            columns = {"class": self.classes_[columns.pop("target")].astype(str).astype(object), **columns}
        if any(posterior is None for posterior in self._posteriors):
            notes.append(f"No standard errors: {self._no_posterior()}")
        else:
            covariances = [posterior.to_original() for posterior in self._posteriors if posterior is not None]
            columns, _ = coefficient_errors(columns, list(covariances), bool(self.fit_intercept))
            notes.append(
                "Errors are those of the posterior about its mode, given the scale and the prior: intervals and "
                "p-values contain neither the bias of the prior nor the uncertainty of the scale."
                if prior.strength > 0
                else "Errors are those of the posterior about its mode, given the scale."
            )
        notes += [self.certificate_.note] if self.certificate_.note else []
        return Summary(type(self).__name__, columns, facts, notes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._classifies():
            tags.estimator_type, tags.regressor_tags = "classifier", None
            tags.target_tags.multi_output = False
            tags.classifier_tags.multi_class = self._targets() == "classes"
        else:
            tags.estimator_type, tags.classifier_tags = "regressor", None
            tags.target_tags.positive_only = self._targets() == "counts"
        return tags


def _part(name: str, value: Any, known: dict[str, Any], base: type) -> Any:
    if isinstance(value, str) and value in known:
        return known[value]()
    if not isinstance(value, base):
        raise ValueError(
            f"{name} is {value!r}; it must be one of {', '.join(map(repr, known))}, or an object of gm.{name}s."
        )
    return value


def _target(rows: Rows, j: int) -> Rows:
    return rows if len(rows.target_names) == 1 else coded(rows, lambda y: y[:, [j]])
