"""Support vector classification."""

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.summary import Summary
from gramian._core.types import Floats, Ints
from gramian.models.base.composed import penalty_of
from gramian.models.base.output_codes import CODES, MULTICLASS, ClassDecisions, code_matrix
from gramian.models.kernel.data import read_kernel_data
from gramian.models.linear.classifier import PenalisedClassifier
from gramian.objective.losses.base import Loss
from gramian.objective.losses.classification import Hinge
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows, Rows
from gramian.selection.cv.regularization import strongest
from gramian.solvers.base import MAX_DENSE_HESSIAN_COLUMNS
from gramian.solvers.nonsmooth.interior_point import InteriorPoint
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.separation import least_margin
from gramian.solvers.solution import Iterate, Solution
from gramian.solvers.solve import say

if TYPE_CHECKING:
    from gramian.models.kernel.svm import KernelSVMSolution

NOTHING = 1e-9  # of the slope at its bound: below it a row is no support vector
SOFTEST = 1e-14


@estimator
class SVC(PenalisedClassifier):
    """The widest margin between classes: hinge loss and ‖c‖², with support vectors and dual variables.

    Minimises (1/Σw) Σ w max(0, 1 − y f) + alpha · penalty(c), y = ±1. scikit-learn's C is 1 / (2 n alpha). With
    alpha = 0 the margin is hard: least ‖c‖² with every row on its side; refused where the classes are not separable.

    Parameters
    ----------
    alpha : "auto" or float
        Strength; "auto" chooses by cross-validation.
    penalty : str or Penalty
        "l2", "l1" (coefficients that are exactly zero), "elastic_net", or an object of `gm.penalties`.

    Attributes
    ----------
    classes_, coef_, intercept_, alpha_, certificate_, solver_, history_, n_iter_, scores_
    representation_ : Columns, KernelMatrix or Landmarks
        What the rows look like to the model: their columns; with a kernel the kernel itself, or features of `rank`
        landmark points.
    dual_solution_ : KernelSVMSolution
        With a kernel and no `rank`: what probabilities are calibrated by, when they are first asked for.
    support_ : array of int
        Rows with a dual variable above zero, in any of the binary problems.
    support_vectors_ : array (n_support, d)
    dual_coef_ : array (problems, n_support)
        y λ, scaled as scikit-learn's for C = 1 / (2 n alpha).
    margin_ : float or array
        2 / ‖c‖; with `standardize`, of the columns divided by their deviations.

    Notes
    -----
    Many rows and few columns: an interior point, two or three dozen passes of O(n d²), then the exact corner. Many or
    sparse columns: dual coordinate descent.

    Examples
    --------
    >>> import gramian as gm
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]], ["no", "no", "yes", "yes"]
    >>> model = gm.SVC(alpha=0).fit(X, y)
    >>> round(model.margin_, 6), model.support_
    (2.0, array([1, 2]))
    """

    support_: Ints = field(init=False)
    dual_coef_: Floats = field(init=False)
    dual_solution_: "KernelSVMSolution" = field(init=False)

    def _fit(self, X: Any, y: Any, sample_weight: Any, *, comparison: bool = False) -> "SVC":
        if not self._solves_dual():
            super()._fit(X, y, sample_weight, comparison=comparison)
            return self
        from gramian.models.kernel.svm import (
            GRID,
            LEAST_TOL,
            KernelSVMProblem,
            KernelSVMSolution,
            path_scores,
            warn_unfinished,
        )

        forget_fit(self)
        alpha, grid = validation.alpha(self.alpha), validation.alphas(self.alphas)
        if alpha == 0:
            raise ValueError("The hard margin (alpha=0) needs a linear kernel: with kernel= give alpha above 0.")
        validation.rule(self.rule)
        validation.flag("fit_intercept", self.fit_intercept)
        self._standardizes()
        validation.number("tol", self.tol, low=0.0, open_low=True)
        validation.choice("code", self.code, CODES)
        wanted = validation.choice("multiclass", self.multiclass, MULTICLASS)
        if wanted == "joint":
            raise ValueError('multiclass="joint" with a kernel needs rank=, the number of landmark points.')
        data = read_kernel_data(self, X, y, sample_weight)
        self._set_kernel(data)
        block = self._coded(data.target).collect()
        assert block.y is not None
        self._costs()
        k = len(self.classes_)
        self.multiclass_, self._loss = "ovr" if wanted == "auto" else wanted, Hinge()
        self.code_ = code_matrix(self.multiclass_, k, self.code, self.random_state)
        codes, tol = block.y[:, 0].astype(np.int64), max(float(self.tol), LEAST_TOL)
        problem = KernelSVMProblem(
            data.kernel, data.points, codes, block.weights, self.code_.T, bool(self.fit_intercept), tol
        )
        if alpha is None:
            self.scores_ = path_scores(problem, self.cv, self.rule, min(grid, GRID) if isinstance(grid, int) else grid)
            if comparison:
                return self
            alpha = float(self.scores_.alphas[self.scores_.chosen])
        machines = problem.solve(alpha)
        norms = np.array([machine.norm for machine in machines])
        self._decide = ClassDecisions(self.multiclass_, k, self.code_, self._loss, norms)
        note = "" if self.tol >= LEAST_TOL else f"Steps of two variables are held at a gap of {LEAST_TOL:g}."
        self.dual_solution_ = solution = KernelSVMSolution(problem, alpha, machines, self._decide, note)
        self._set_support(solution.beta, data.kernel, data.points)
        self.intercept_ = np.array([machine.offset for machine in machines])
        self.margin_, self.alpha_ = _margin(norms), alpha
        self.certificate_, self.solver_ = solution.certificate, solution.solver
        name = type(self).__name__
        warn_unfinished(name, self.certificate_, data.kernel, data.points, f"{name}(kernel=None)")
        self.n_iter_ = max(machine.rounds for machine in machines)
        self.objective_ = float(np.mean([machine.value for machine in machines]))
        self.separated_, self.history_, self._covariances = False, [], [None]
        self._weight, self._mean_loss = float(problem.weight.sum()), float("nan")
        return self

    def _probabilities(self, rows: Rows) -> Floats:
        if "dual_solution_" not in self.__dict__:
            return super()._probabilities(rows)
        with deadline.within(self.time):
            calibration = self.dual_solution_.calibration
        return calibration.probabilities(self._decisions(rows))

    def _parts(self) -> tuple[Loss, Any]:
        return Hinge(), penalty_of(self.penalty)

    def _solve(self, problem: Problem, **more: Any) -> Solution:
        if problem.m > 1 and problem.alpha == 0:
            raise ValueError(
                "alpha=0 asks for a hard margin, which is not defined for all classes at once. Use an L2 penalty with "
                'alpha above 0, or multiclass="ovr".'
            )
        if problem.m > 1 or problem.parts is None or problem.parts.nothing:
            return super()._solve(problem, **more)
        if problem.alpha == 0:
            found = self._hard(problem, 0.0, **more)
            if found is None:
                raise ValueError(
                    "alpha=0 asks for a hard margin, but the classes are not separable by a hyperplane. Give alpha "
                    'above 0, or alpha="auto".'
                )
            return found
        soft = super()._solve(problem, **({"inner": not more.get("warn", True)} | more | {"warn": False}))
        if soft.certificate.holds or soft.interrupted:
            return soft
        # Only separated rows have a hard margin.
        found = self._hard(problem, problem.alpha, **more) if least_margin(problem, soft.theta) > 0 else None
        if found is None and more.get("warn", True):
            say(soft, self.max_iter)
        return soft if found is None else found

    def _hard(self, problem: Problem, asked: float, **more: Any) -> Solution | None:
        """Soft margins with an ever weaker penalty, until no row is within its margin: that is the hard one.

        It is the answer at every weaker penalty too, `asked` among them; None where that comes first. A deadline ends
        it at a softer one.
        """
        alpha = strongest(problem) * 1e-1
        least = max(alpha * SOFTEST, asked)
        given, problem = problem, _counted_once(problem)
        auto = self.solver == "auto" and problem.p <= MAX_DENSE_HESSIAN_COLUMNS and not problem.l1.any()
        chosen = {"solver": InteriorPoint()} if auto else {}
        while alpha > least:
            fit = super()._solve(problem.with_alpha(alpha), **(more | chosen | {"warn": False}))
            if fit.dual is not None and fit.certificate.holds:
                size = np.abs(fit.dual[: problem.rows.n])[RowProducts(fit.problem).share > 0]
                if size.max() < 1.0 - 1e-6 and size.max() > 0:
                    return fit if asked == 0 else _weaker(given, fit)
            if asked == 0 and deadline.passed():
                return replace(fit, certificate=replace(fit.certificate, holds=False))
            alpha /= 10.0
        return None

    def _keep(self, fits: list[Solution]) -> None:
        super()._keep(fits)
        self.margin_ = _margin(self._lengths(self._feature_coef))
        self._set_row_duals(fits)

    def _set_row_duals(self, fits: list[Solution]) -> None:
        """Dual variables −s · share / (2 alpha), of the rows where they are not zero."""
        self.__dict__.pop("dual_coef_", None)  # here of rows, not of landmark points
        if any(fit.dual is None or fit.problem.alpha <= 0 or fit.problem.m > 1 for fit in fits):
            return
        rows: Rows = fits[0].problem.rows
        table = np.empty((len(fits), rows.n))
        for k, fit in enumerate(fits):
            assert fit.dual is not None
            s = fit.dual[: rows.n]
            share = RowProducts(fit.problem).share
            s = np.where((np.abs(s) > NOTHING) & (share > 0), s, 0.0)
            table[k] = -s * share / (2.0 * fit.problem.alpha)
        self.support_ = np.flatnonzero(table.any(axis=0))
        self.dual_coef_ = table[:, self.support_]
        if self.kernel is None:  # else rows are features of points
            self.support_vectors_ = rows.collect().X[self.support_]

    def _told(self, summary: Summary) -> Summary:
        facts = {**summary.facts, "margin": self.margin_}
        if hasattr(self, "support_"):
            facts["support vectors"] = len(self.support_)
        return Summary(summary.title, summary.coefficients, facts, summary.notes)


def _margin(norms: Floats) -> Any:
    """2 / ‖f‖, a number of one function."""
    with np.errstate(divide="ignore"):
        margins = 2.0 / norms
    return float(margins[0]) if len(margins) == 1 else margins


def _counted_once(problem: Problem) -> Problem:
    """The rows that count, each as much as any other: weights make no difference to a hard margin."""
    block = problem.rows.collect()
    if block.weight is None:
        return problem
    names = problem.rows.names
    rows = MemoryRows(block.X, block.y, (block.weight > 0).astype(np.float64), names=names, target_names=("y",))
    return problem.on(rows)


def _weaker(problem: Problem, hard: Solution) -> Solution | None:
    """The hard margin as the answer at the problem's own alpha, if its dual variables are within their bounds there."""
    assert hard.dual is not None
    share, n = RowProducts(problem).share, problem.rows.n
    weighted = hard.dual[:n] * RowProducts(hard.problem).share * (problem.alpha / hard.problem.alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(share > 0, weighted / share, 0.0)
    if (np.abs(slopes) > 1.0).any():
        return None
    theta = problem.to_standardized(hard.coef, hard.intercept)
    details = replace(hard.details, dual=np.append(slopes, hard.dual[n:]))
    return replace(hard, iterate=Iterate(problem, theta, details), value=problem.value(theta))
