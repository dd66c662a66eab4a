"""The perceptron."""

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.random import seed_from
from gramian._core.summary import Summary
from gramian.models.base.output_codes import CODES, MULTICLASS, ClassDecisions, code_matrix
from gramian.models.kernel.data import read_kernel_data
from gramian.models.linear.classifier import LinearClassifier, reduction
from gramian.objective.losses.base import Loss
from gramian.objective.losses.classification import Perceptron as PerceptronLoss
from gramian.objective.penalties import Zero
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows, Rows
from gramian.solvers.first_order.perceptron import PerceptronAlgorithm, largest_norm
from gramian.solvers.solution import Solution
from gramian.solvers.solve import fit_problem

MOST_CELLS = 1_000_000  # numbers in a table whose margin is computed for the bound


@estimator
class Perceptron(LinearClassifier):
    """Rosenblatt's perceptron: corrects itself at every mistake, and ends without one where classes are separable.

    Stochastic gradient descent of rate 1 on max(0, −y f). On separable data the number of mistakes is at most (R/γ)², R
    the largest norm of a row and γ the widest margin; `summary()` shows both.

    Parameters
    ----------
    max_iter : int
        Most sweeps over the rows.
    average : bool
        Use the mean of all points on the way: better where classes are not separable.
    multiclass : "auto", "ovr", "ovo", "code" or "joint"
        As in `Classifier`; "joint" corrects the right and the wrongly chosen class.
    random_state : int, RandomState or Generator, optional
        Of the order of rows.
    kernel : None, str or Kernel
        None is linear; "rbf", … or an object of `gm.kernels`: a mistake then adds k(x, ·) to the function, and changes
        one dual variable.
    time : float, optional
        Seconds after which the fit ends at the best so far, with a `ConvergenceWarning` and a certificate that does
        not hold.

    Attributes
    ----------
    classes_, coef_, intercept_, certificate_, solver_, history_, n_iter_
    representation_ : Columns, KernelMatrix or Landmarks
        What the rows look like to the model: their columns; with a kernel the kernel itself, or features of `rank`
        landmark points.
    n_mistakes_ : int
        Corrections made.
    mistake_bound_ : float
        (R/γ)² where the classes are separable, else infinite; NaN for several classes, unequal weights, very large
        tables, and where time was over.
    support_, dual_coef_, support_vectors_
        With a kernel: the rows that it was wrong about, and what they count for.

    Notes
    -----
    A sweep costs the size of X. Rows are centred and scaled first. The result depends on the order of rows. With a
    kernel a mistake costs a row of the kernel matrix, computed once and kept within 1 GiB; a visit costs nothing.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]], ["no", "no", "yes", "yes"]
    >>> model = gm.Perceptron().fit(X, y)
    >>> model.score(X, y), model.n_mistakes_ <= model.mistake_bound_
    (1.0, True)
    """

    _: KW_ONLY
    max_iter: int = 1000
    average: bool = False
    multiclass: str = "auto"
    code: str = "auto"
    class_weight: Any = None
    cost: Any = None
    fit_intercept: bool = True
    random_state: Any = None
    callbacks: Any = ()
    kernel: Any = None
    rank: int | None = None
    time: float | None = None

    alpha = 0.0
    alphas = 2
    cv = 5
    rule = "best"
    standardize = False
    solver = "auto"
    tol = 1e-15

    def _parts(self) -> tuple[Loss, Any]:
        validation.flag("average", self.average)
        return PerceptronLoss(), Zero()

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, comparison: bool = False) -> "Perceptron":
        if not self._solves_dual():
            super()._fit(X, y, sample_weight, comparison=comparison)
            return self
        from gramian.models.kernel.perceptron import KernelPerceptronProblem

        forget_fit(self)
        loss, _ = self._parts()
        intercept = validation.flag("fit_intercept", self.fit_intercept)
        validation.whole("max_iter", self.max_iter, low=1)
        wanted = validation.choice("multiclass", self.multiclass, MULTICLASS)
        kind = validation.choice("code", self.code, CODES)
        callbacks = validation.functions("callbacks", self.callbacks)
        data = read_kernel_data(self, X, y, sample_weight)
        self._set_kernel(data)
        block = self._coded(data.target).collect()
        assert block.y is not None
        self._costs()
        k = len(self.classes_)
        self.multiclass_, self._loss = reduction(wanted, loss, k)
        code = None
        if self.multiclass_ != "joint":
            code = self.code_ = code_matrix(self.multiclass_, k, kind, self.random_state)
        problem = KernelPerceptronProblem(
            data.kernel, data.points, block.y[:, 0].astype(np.int64), block.weights, k,
            None if code is None else code.T, intercept, bool(self.average), self._seed(), self.max_iter,
        )  # fmt: skip
        solution = problem.solve(callbacks)
        self._set_support(solution.beta, data.kernel, data.points)
        self.intercept_ = solution.offset
        self.certificate_, self.solver_ = solution.certificate, solution.solver
        self.history_ = solution.worst.history
        self.n_iter_ = max(*(one.iterations for one in solution.outcomes), 1)
        self.objective_ = self._mean_loss = solution.objective
        self._weight = float(problem.weight.sum())
        solution.warn_unfinished()
        self.n_mistakes_, self.mistake_bound_ = solution.mistakes, solution.mistake_bound()
        self.alpha_, self.separated_, self._covariances = 0.0, False, [None]
        self._decide = ClassDecisions(self.multiclass_, k, code, self._loss, solution.norms)
        self._calibration = problem.calibration(solution.f, self._decide)
        return self

    def _seed(self) -> int:
        return seed_from(self.random_state)

    def _problem_factories(self, *given: Any) -> list[Any]:
        """Features of a kernel are left as they are: each correction then is one of a row's dual variable."""
        problem_factories = super()._problem_factories(*given)
        return (
            problem_factories
            if self.kernel is None
            else [lambda some, read=read: _as_given(read(some)) for read in problem_factories]
        )

    def _solve(self, problem: Problem, **more: Any) -> Solution:
        """Fits that only serve to calibrate are short."""
        short = not more.get("warn", True)
        method = PerceptronAlgorithm(bool(self.average), self._seed(), 10 if short else 100)
        callbacks = validation.functions("callbacks", self.callbacks)
        options: dict[str, Any] = {"solver": method, "max_iter": self.max_iter, "tol": 1e-15, "callbacks": callbacks}
        start = more.get("start") if short and deadline.passed() else None
        return fit_problem(problem, **(options | more | {"tol": 1e-15, "start": start}))

    def _keep(self, fits: list[Solution]) -> None:
        super()._keep(fits)
        self.n_mistakes_ = sum(fit.details.mistakes for fit in fits)
        self.mistake_bound_ = float("nan")
        problem = fits[0].problem
        if len(fits) == 1 and problem.m == 1 and problem.rows.n * problem.p <= MOST_CELLS and _even(problem):
            unknown = float("nan" if deadline.ended() else "inf")
            self.mistake_bound_ = _bound(problem) if fits[0].certificate.value == 0 else unknown

    def _left_out(self, rows: Rows, problem_factories: list[Any], fits: list[Solution]) -> Any:
        """An algorithm, not an optimum: only refits tell what it does without a row."""
        return self._refitted(rows, problem_factories, fits)

    def _told(self, summary: Summary) -> Summary:
        facts = {k: v for k, v in summary.facts.items() if k != "alpha"}
        facts |= {"mistakes": self.n_mistakes_, "bound (R/γ)²": self.mistake_bound_, "sweeps": self.n_iter_}
        return Summary(summary.title, summary.coefficients, facts, summary.notes)


def _as_given(problem: Problem) -> Problem:
    """The problem in the coordinates of its columns."""
    nothing, half = np.zeros(problem.d), np.full(problem.d, 0.5)
    columns = replace(problem.columns, mean=nothing, deviation=half)
    return problem.on(problem.rows, columns)


def _even(problem: Problem) -> bool:
    """Whether all rows count the same: the bound is for steps of one size."""
    weight = problem.rows.collect().weight
    return weight is None or bool(np.ptp(weight[weight > 0]) == 0)


def _bound(problem: Problem) -> float:
    """(R/γ)²: γ is the margin of the hyperplane through the origin that is furthest from all rows, by a hard margin."""
    from gramian.models.linear.svc import SVC

    block = problem.rows.collect()
    assert block.y is not None
    if sp.issparse(block.X):
        Z: Any = sp.vstack([problem.standard_sparse(part) for part, _, _ in problem.panels(block)], format="csr")
    else:
        Z = np.concatenate([problem.standard(part) for part, _, _ in problem.panels(block)])
    keep = np.flatnonzero(block.weights)
    rows = MemoryRows(Z[keep], block.y[keep], None, target_names=("y",))
    try:
        widest = SVC(alpha=0.0, fit_intercept=False).fit(rows)
    except ValueError:
        return float("nan" if deadline.ended() else "inf")
    return float("nan") if deadline.ended() else float((largest_norm(problem) * np.linalg.norm(widest.coef_)) ** 2)
