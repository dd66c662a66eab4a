"""The general linear classifier: any loss, any penalty, any number of classes."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian._core.types import Floats
from gramian.kernels.representation import Columns
from gramian.models.base.calibration import Calibration, calibrate
from gramian.models.base.classifier import ClassifyingModel
from gramian.models.base.composed import Composed, loss_of, penalty_of
from gramian.models.base.errors import Covariance, coefficient_errors, covariance_of
from gramian.models.base.kernel_estimator import KernelEstimator
from gramian.models.base.notes import penalty_notes
from gramian.models.base.out_of_fold import out_of_fold
from gramian.models.base.output_codes import CODES, MULTICLASS, ClassDecisions, code_matrix
from gramian.models.base.path import Path, path_of
from gramian.models.linear.penalised import GRID
from gramian.objective.design import columns_of
from gramian.objective.losses.base import Loss
from gramian.objective.losses.classification import Hinge, Logistic, MultiHinge, Perceptron, Softmax
from gramian.objective.problem import Problem
from gramian.rows import Rows, single_threaded_blas
from gramian.rows.labels import coded
from gramian.selection.cv.regularization import AlphaSearch, grid, has_strength
from gramian.selection.cv.scores import Scores
from gramian.solvers.certificate import weakness
from gramian.solvers.solution import Solution
from gramian.solvers.solve import fit_problem

NONSMOOTH_GRID = 10
JOINT: dict[type[Loss], Loss] = {Logistic: Softmax(), Hinge: MultiHinge(), Perceptron: MultiHinge(0.0)}


class LinearClassifier(KernelEstimator, Composed, ClassifyingModel):
    """A linear classifier: subclasses declare their loss and their parameters, which are described here.

    Parameters
    ----------
    alphas : int or array
        Length of the grid, or the grid itself. A grid given is not refined.
    cv : int, "loo", splitter or list of (train, test) pairs
        "loo" leaves each row out. Where loss and penalty are smooth it is approximate, from one fit per alpha and true
        refits of the rows that move most: `scores_.exact` is then False, and `scores_.error` estimates how far off.
    rule : "best" or "one_se"
        The smallest mean validation loss, or the strongest penalty within one standard error of it.
    multiclass : "auto", "ovr", "ovo", "code" or "joint"
        One against the rest (the largest distance from its boundary wins), one against one (votes), error-correcting
        codes (the least total loss), or all classes in one loss. "auto" is joint for the logistic loss, else "ovr".
    code : "auto", "exhaustive", "dense" or "sparse"
        The kind of code for multiclass="code".
    class_weight : None, "balanced" or dict
        Weights of the rows of each class in the loss.
    cost : array (k, k), optional
        cost[true, decided]: `predict` decides for the least expected cost.
    standardize : bool
        Penalise the coefficients of the features divided by their (weighted) standard deviations, learned in each
        training part; about zero without an intercept. Bounds and scales of a penalty then are those of these
        coefficients.
    fit_intercept : bool
        Whether to fit b, which is never penalised.
    solver : "auto", a name, or a solver object such as `gm.solvers.StochasticGradient()`
        "auto" chooses by loss, penalty and cost, and says in `solver_` which and why.
    max_iter : int
        Largest number of iterations of the solver.
    tol : float
        Tolerance of the certificate's quantity, relative.
    random_state : int, RandomState or Generator, optional
        Of random codes.
    callbacks : list of functions
        Each is called with the iteration and its state; one that returns True ends the fit.
    kernel : None, str or Kernel
        None is linear; "rbf", … or an object of `gm.kernels`. The penalty is then the norm of the function.
    rank : int, optional
        Number of landmark points that approximate the kernel matrix; None takes all rows up to 2000.
    time : float, optional
        Seconds after which a fit ends at the best so far, and the choice of alpha with those it has come to, with a
        `ConvergenceWarning` and a certificate that does not hold.
    """

    alpha: Any
    alphas: Any
    cv: Any
    rule: Any
    standardize: Any
    multiclass: Any
    code: Any
    fit_intercept: Any
    solver: Any
    max_iter: Any
    tol: Any
    random_state: Any
    callbacks: Any

    intercept_: Floats
    deviations_: Floats | None = None  # standard deviations of the columns, where the penalty is in their units
    _loss: Loss
    _weight: float
    _mean_loss: float
    _covariances: list[Covariance | None]
    _calibration: Calibration | None
    _decide: ClassDecisions

    def _parts(self) -> tuple[Loss, Any]:
        """The loss and the penalty."""
        raise NotImplementedError

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Any:
        """Fit to (X, y) or `Rows` with a target; with a kernel also to strings, graphs, … that the kernel compares."""
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, comparison: bool = False) -> Any:
        """The fit; of a `comparison` only the scores."""
        forget_fit(self)
        loss, penalty = self._parts()
        alpha, given = validation.alpha(self.alpha), validation.alphas(self.alphas)
        validation.rule(self.rule)
        intercept = validation.flag("fit_intercept", self.fit_intercept)
        self._standardizes()
        validation.whole("max_iter", self.max_iter, low=1)
        validation.number("tol", self.tol, low=0.0, open_low=True)
        wanted = validation.choice("multiclass", self.multiclass, MULTICLASS)
        kind = validation.choice("code", self.code, CODES)
        rows = self._class_rows(X, y, sample_weight).settled()
        self._costs()
        k = len(self.classes_)
        self.multiclass_, self._loss = reduction(wanted, loss, k)
        problem_factories = self._problem_factories(rows, penalty, alpha or 0.0, intercept, k, kind)
        problems = [reading(rows) for reading in problem_factories]
        starts: list[Floats | None] = [None] * len(problems)
        if alpha is None and has_strength(problems[0]):
            alpha, starts = self._choose(rows, problem_factories, problems[0], given, comparison=comparison)
            if comparison:
                return self
        self.alpha_ = alpha or 0.0
        fits = [
            self._solve(problem.with_alpha(self.alpha_), start=start)
            for problem, start in zip(problems, starts, strict=True)
        ]
        self._keep(fits)
        self._calibrate(rows, problem_factories, fits)
        return self

    def _class_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows with class numbers, of the columns or of the features of a kernel; sets `representation_`."""
        self._refuse_rank()
        if self.kernel is None:
            rows = self._labelled(X, y, sample_weight)
            self.representation_ = Columns.of(self)
            return rows
        return self._coded(self._feature_rows(X, y, sample_weight, penalty=getattr(self, "penalty", "l2")))

    def _comparison_scores(self, X: Any, y: Any, sample_weight: Any) -> Scores:
        scores: Scores = self._fit(X, y, sample_weight, comparison=True).scores_
        return scores

    def _solve(self, problem: Problem, **more: Any) -> Solution:
        callbacks = validation.functions("callbacks", self.callbacks)
        options = {"solver": self.solver, "max_iter": self.max_iter, "tol": self.tol, "callbacks": callbacks}
        return fit_problem(problem, **(options | more))

    def _problem_factories(
        self, rows: Rows, penalty: Any, alpha: float, intercept: bool, k: int, kind: str
    ) -> list[Any]:
        """From rows with class numbers to the problem of all classes, or to those of the binary decisions."""
        loss = self._loss
        options: dict[str, Any] = {"intercept": intercept, "standardize": self._standardizes()}
        if self.multiclass_ == "joint":
            return [lambda some: Problem(some, loss, penalty, alpha, outputs=k, **options)]
        self.code_ = code_matrix(self.multiclass_, k, kind, self.random_state)

        def factory(word: Floats) -> Any:
            take = None if word.all() else (lambda y: np.abs(word[y[:, 0].astype(int)]))
            sign = np.where(word == 0, 1.0, word)

            def problem(some: Rows) -> Problem:
                known = options
                if take is not None and self.standardize:  # the deviations of all rows of the training part
                    known = options | {"standardize": columns_of(some).deviations(intercept)}
                return Problem(coded(some, lambda y: sign[y.astype(int)], take), loss, penalty, alpha, **known)

            return problem

        return [factory(word) for word in self.code_.T]

    def _choose(
        self, rows: Rows, problem_factories: list[Any], problem: Problem, given: Any, *, comparison: bool
    ) -> tuple[float, list[Floats | None]]:
        """The alpha of the scores, and where the search has been at it."""
        count = given if isinstance(given, int) else 0
        if count == GRID and not self._loss.smooth:
            count = NONSMOOTH_GRID
        alphas = grid(problem, count) if count else given
        search = AlphaSearch(
            rows, problem_factories, self.cv, solver=self.solver, max_iter=self.max_iter, comparison=comparison
        )
        self.scores_: Scores = search.choose(alphas, rule=self.rule, fixed=not count)
        if not comparison:
            coefs, intercepts = search.path(self.scores_.alphas)
            self.path_: Path = path_of(self.scores_.alphas, coefs, intercepts, coefs.shape[2] == 1)
        alpha = float(self.scores_.alphas[self.scores_.chosen])
        return alpha, search.starts(alpha)

    def _keep(self, fits: list[Solution]) -> None:
        self.coef_ = np.ascontiguousarray(np.hstack([fit.coef for fit in fits]).T)
        self.intercept_ = np.concatenate([fit.intercept for fit in fits])
        self._set_dual()
        self.deviations_ = fits[0].problem.deviations
        code, norms = getattr(self, "code_", None), self._lengths(self._feature_coef)
        self._decide = ClassDecisions(self.multiclass_, len(self.classes_), code, self._loss, norms)
        worst = max(fits, key=lambda fit: weakness(fit.certificate))
        self.certificate_ = self._of_representation(worst.certificate)
        self.solver_, self.history_ = worst.solver, worst.history
        self.n_iter_ = max(max(fit.iterations for fit in fits), 1)
        self.separated_ = any(fit.separated for fit in fits)
        self.objective_ = float(np.mean([fit.value for fit in fits]))
        self._covariances = [covariance_of(fit) for fit in fits]
        self._weight = fits[0].problem.columns.weight
        penalties = [fit.problem.alpha * fit.problem.penalty_value(fit.coef) for fit in fits]
        self._mean_loss = self.objective_ - float(np.sum(penalties)) / len(fits)

    # decisions

    def _predictions(self, rows: Rows) -> Floats:
        """f (n, bits or classes)."""
        return rows.times(self._feature_coef.T) + self.intercept_

    def _lengths(self, coef: Floats) -> Floats:
        """The norms of rows of coefficients, in the units of the penalty."""
        return lengths(coef if self.deviations_ is None else coef * self.deviations_)

    def _decisions(self, rows: Rows) -> Floats:
        return self._decide(self._predictions(rows))

    def _probabilities(self, rows: Rows) -> Floats:
        f = self._predictions(rows)
        if self._calibration is not None:
            return self._calibration.probabilities(self._decide(f))
        found = self._loss.probabilities(f if self.multiclass_ == "joint" else f[:, 0])
        assert found is not None
        return found

    # probabilities for losses that are not likelihoods

    def _calibrate(self, rows: Rows, problem_factories: list[Any], fits: list[Solution]) -> None:
        """Decisions on rows that took no part in them, and the map from these to probabilities."""
        self._calibration = None
        natural = self._loss.likelihood and (self.multiclass_ == "joint" or len(self.classes_) == 2)
        if natural:
            return

        def refit(problem: Problem, start: Floats) -> Solution:
            return self._solve(problem, start=start, tol=1e-4, warn=False, callbacks=())

        f, judged = out_of_fold(rows, problem_factories, fits, refit)
        block = judged.collect()
        assert block.y is not None
        weight = block.weights
        weight = np.where(np.isnan(f).any(axis=1), 0.0, weight)  # rows of classes that were not seen without them
        f = np.where(np.isnan(f), 0.0, f)
        self._calibration = calibrate(self._decide(f), block.y[:, 0].astype(np.int64), weight)

    # what it says

    def summary(self) -> Summary:
        """Coefficients and facts of the fit, as a table."""
        check_is_fitted(self)
        facts: dict[str, Any] = {
            "loss": repr(self._loss),
            "classes": len(self.classes_),
            "alpha": self.alpha_,
            "n": self._weight,
            "objective": self.objective_,
        }
        if self._loss.likelihood and len(self._covariances) == 1:
            facts["log_likelihood"] = -self._weight * self._mean_loss
        columns, notes = self._kernel_notes() or coefficient_errors(
            self._coefficient_table(), self._covariances, bool(self.fit_intercept)
        )
        notes += penalty_notes(self.alpha_, hasattr(self, "scores_"), "error" in columns)
        notes += [self.certificate_.note] if self.certificate_.note else []
        notes += [str(self.scores_)] if hasattr(self, "scores_") else []
        return self._told(Summary(type(self).__name__, columns, facts, notes))

    def _told(self, summary: Summary) -> Summary:
        return summary

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _coefficient_table(self) -> dict[str, Any]:
        names, coefs = self._feature_names(), self.coef_
        if self.fit_intercept:
            names, coefs = ["intercept", *names], np.column_stack([self.intercept_, coefs])
        table: dict[str, Any] = {"name": np.array(names * len(coefs), dtype=object), "estimate": coefs.reshape(-1)}
        return table if len(coefs) == 1 else {"class": np.repeat(self._sides(), len(names)), **table}

    def _sides(self) -> NDArray[Any]:
        """What each row of `coef_` decides."""
        classes = [str(name) for name in self.classes_]
        if self.multiclass_ in ("joint", "ovr"):
            return np.array(classes, dtype=object)
        if self.multiclass_ == "ovo":
            return np.array(
                [f"{classes[int((w == 1).argmax())]} / {classes[int((w == -1).argmax())]}" for w in self.code_.T],
                dtype=object,
            )
        return np.array([f"bit {bit}" for bit in range(self.code_.shape[1])], dtype=object)


def reduction(wanted: str, loss: Loss, k: int) -> tuple[str, Loss]:
    """How several classes are told apart, and the loss that does it."""
    joint = JOINT.get(type(loss), loss if loss.targets == "classes" else None)
    if wanted == "joint" and joint is None:
        raise ValueError(
            f"The loss {type(loss).__name__} has no joint form for several classes; use multiclass='ovr', 'ovo' or "
            "'code', or one of the losses Logistic, Hinge and Perceptron."
        )
    if loss.targets == "classes":
        if wanted not in ("auto", "joint"):
            raise ValueError(f"The loss {type(loss).__name__} is for all classes at once: use multiclass='joint'.")
        return "joint", loss
    if wanted == "joint" or (wanted == "auto" and k > 2 and isinstance(loss, Logistic)):
        return ("ovr", loss) if k == 2 and wanted == "auto" else ("joint", joint or loss)
    return ("ovr" if wanted == "auto" else wanted), loss


@estimator
class SearchedClassifier(LinearClassifier):
    """The parameters that every linear classifier with a penalty has."""

    _: KW_ONLY
    alphas: Any = GRID
    cv: Any = 5
    rule: str = "best"
    standardize: bool = False
    multiclass: str = "auto"
    code: str = "auto"
    class_weight: Any = None
    cost: Any = None
    fit_intercept: bool = True
    solver: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-8
    random_state: Any = None
    callbacks: Any = ()
    kernel: Any = None
    rank: int | None = None
    time: float | None = None


@estimator
class Classifier(SearchedClassifier):
    """A linear classifier with any loss and any penalty, its strength chosen by cross-validation.

    Minimises (1/Σw) Σ w loss(y, b + cᵀx) + alpha · penalty(c).

    Parameters
    ----------
    loss : str or Loss
        "logistic", "hinge", "squared_hinge", "perceptron", "root_hinge", "softmax", "multi_hinge", or an object of
        `gm.losses`.
    penalty : None, str or Penalty
        "l2", "l1", "elastic_net", … or an object of `gm.penalties`; None for no penalty.
    alpha : "auto" or float
        Strength; "auto" chooses by cross-validation. scikit-learn's C is 1 / (2 n alpha).

    Attributes
    ----------
    classes_, coef_ (1, d) or (k, d) or (bits, d), intercept_, alpha_, certificate_, solver_, history_, n_iter_
    representation_ : Columns or Landmarks
        What the rows look like to the model: their columns, or with a kernel features of landmark points.
    code_ : array (k, bits)
        Which side each class is on in each binary problem.
    separated_ : bool
        Whether the classes are separated perfectly and the loss has no minimum without a penalty.
    scores_ : where alpha was chosen

    Notes
    -----
    Probabilities of losses that are not likelihoods are calibrated on decisions that each row had no part in, by a map
    that never changes the most probable class.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gm.Classifier(loss="squared_hinge", alpha=0.01).fit(X, y)
    >>> model.coef_.shape, model.certificate_.holds
    ((3, 4), True)
    """

    loss: Any = "logistic"
    penalty: Any = "l2"
    alpha: str | float = "auto"

    def _parts(self) -> tuple[Loss, Any]:
        return loss_of(self.loss, ("signs", "classes")), penalty_of(self.penalty)


@estimator
class PenalisedClassifier(SearchedClassifier):
    """The parameters of a classifier whose loss has a name of its own."""

    alpha: str | float = "auto"
    _: KW_ONLY
    penalty: Any = "l2"


def lengths(coef: Floats) -> Floats:
    """The norms of some rows, also where their squares are beyond the float range."""
    largest = np.abs(coef).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(np.linalg.norm(coef / unit[:, None], axis=1) * unit)
