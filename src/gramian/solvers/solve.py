"""A problem solved: solver chosen, started well, run, and certified."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats, Ints
from gramian.objective.penalties import L2, Zero
from gramian.objective.problem import Problem
from gramian.rows import MemoryRows
from gramian.solvers.base import AnySolver, Callback, Run, Solver, run
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.choose import choose, last_resort, named, plain, refuse_unfit
from gramian.solvers.duality import duality_gap
from gramian.solvers.first_order.step_sizes import CHANGE
from gramian.solvers.nonsmooth.primal_dual import WITHOUT_MARGIN
from gramian.solvers.row_products import RowProducts
from gramian.solvers.smooth.landmark_problem import LandmarkProblem, part_of
from gramian.solvers.smooth.perfect_fit import perfect_fit
from gramian.solvers.smooth.separation import Watch, may_have_none, may_separate, separating_columns
from gramian.solvers.solution import Iterate, Solution
from gramian.solvers.sparse.local_linear import is_concave, majorizer
from gramian.warnings import ConvergenceWarning, warn_user

SAMPLE_ROWS = 20_000  # rows that a large problem is solved on first
MAX_RANKED_COLUMNS = 500  # columns whose Gram matrix is decomposed to count the independent ones
MAX_RESOLVED = 3e9  # multiplications of a Hessian that the general method forms where another solver stalls
RIDGE_OF_SEPARATED = 1e-4  # in standard units: what keeps separated classes finite


def fit_problem(
    problem: Problem,
    *,
    solver: Any = "auto",
    start: Floats | None = None,
    max_iter: int = 1000,
    tol: float = 1e-8,
    callbacks: Sequence[Callback] = (),
    warn: bool = True,
    inner: bool | None = None,
) -> Solution:
    """Minimise the objective; says so where the optimum was not reached, or is at infinity.

    A fit that is `inner` to something larger (as one without warnings is taken to be) leaves Ctrl-C to that.
    """
    inner = not warn if inner is None else inner
    counted = _counted_rows(problem)
    if counted is not None:
        options = {"solver": solver, "max_iter": max_iter, "tol": tol, "callbacks": callbacks}
        return _among_all(problem, counted, start, **options, warn=warn, inner=inner)
    problem = plain(problem)
    if problem.alpha == 0 and (is_concave(problem) if problem.parts is None else not problem.parts.bounded):
        problem = problem.with_penalty(Zero())
    problem.loss.refuse(problem.columns.low, problem.columns.high)
    method, reason = _method(problem, solver)
    asked = problem
    if method.uses_landmarks:
        problem = LandmarkProblem.of(problem)
    max_iter, tol = method.limits(max_iter, tol)
    begin = start
    if start is None and method.starts_from_sample:
        begin, hessian = _from_sample(problem, method)
        method = method.with_hessian(hessian)
    watched = method.may_diverge and may_separate(problem)
    callbacks = [*callbacks, Watch(problem)] if watched else callbacks
    result = run(method, problem, begin, max_iter=max_iter, tol=tol, callbacks=callbacks, inner=inner)
    if watched and may_have_none(problem, result):
        columns = separating_columns(problem, result.theta)
        if columns is not None:
            return _separated(asked, columns, max_iter, tol, warn, inner)
    if result.state.details.separating_columns is not None:
        return _separated_majorizer(problem, result, max_iter, tol, warn, inner)
    solution = _finished(problem, method, reason, result, _reachable(method, result, tol))
    if solver == "auto" and not (solution.certificate.holds or result.ended) and _worth_more(problem, method):
        solution = _resolved(problem, solution, max_iter, tol, inner)
    if solution.certificate.tolerance > tol:
        reached = solution.certificate.tolerance
        said = f"Rounding leaves this solver a tolerance of {reached:g}, not the {tol:g} asked for."
        solution = replace(solution, certificate=replace(solution.certificate, note=said))
    if warn and solution.perfect and not solution.certificate.holds:
        warn_user(solution.perfect, ConvergenceWarning)
    elif warn and not solution.certificate.holds and not result.interrupted:
        say(solution, max_iter)
    return solution if problem is asked else replace(solution, iterate=Iterate(asked, solution.theta, solution.details))


def _counted_rows(problem: Problem) -> Ints | None:
    """The rows with a positive weight, where rows in memory have none: those never reach a solver."""
    rows = problem.rows
    if not isinstance(rows, MemoryRows) or rows.basis is not None or rows.weight is None or (rows.weight > 0).all():
        return None
    index = np.flatnonzero(rows.weight > 0)
    return index if len(index) else None


def _among_all(problem: Problem, index: Ints, start: Floats | None, **options: Any) -> Solution:
    """The fit of the rows that count alone, said of all: what is known of single rows goes back to their places."""
    rows: Any = problem.rows
    part = problem.on(rows.subset(index))
    begin = None if start is None else part.to_standardized(*problem.to_original(start))
    fit = fit_problem(part, start=begin, **options)
    details, dual = fit.details, fit.dual
    if dual is not None:
        whole = np.zeros((rows.n + len(dual) - len(index), *dual.shape[1:]))
        whole[index], whole[rows.n :] = dual[: len(index)], dual[len(index) :]
        details = replace(details, dual=whole)
    theta = problem.to_standardized(fit.coef, fit.intercept)
    return replace(fit, iterate=Iterate(problem, theta, details))


def _reachable(method: AnySolver, result: Run[Any], tol: float) -> float:
    """The tolerance asked for, or what rounding leaves the solver where it was not reached."""
    return tol if result.residual <= tol else max(tol, method.min_tol)


def _worth_more(problem: Problem, method: AnySolver) -> bool:
    """Whether a fit whose solver stalled short of its tolerance goes on with the general method."""
    work = float(problem.rows.n) * (problem.m * problem.p) ** 2
    return problem.loss.convex and problem.penalty.convex and not method.last_resort and work <= MAX_RESOLVED


def _resolved(problem: Problem, stalled: Solution, max_iter: int, tol: float, inner: bool) -> Solution:
    """The fit by the general method, begun where another stopped; the first one where that is no better."""
    method, reason = last_resort(problem)
    usable = np.isfinite(stalled.theta).all() and stalled.value <= problem.value(problem.zero())
    start = stalled.theta if usable and not problem.loss.estimates_scale else None
    result = run(method, problem, start, max_iter=max_iter, tol=tol, inner=inner)
    reason = f"{reason}; {stalled.solver.name} stopped short of its tolerance"
    solution = _finished(problem, method, reason, result, _reachable(method, result, tol))
    if solution.certificate.holds or not solution.value >= stalled.value:
        return replace(solution, iterations=stalled.iterations + solution.iterations)
    return stalled


def _method(problem: Problem, solver: Any) -> tuple[AnySolver, str]:
    if isinstance(solver, Solver):
        refuse_unfit(solver, problem)
        return solver, "asked for"
    if isinstance(solver, str) and solver == "auto":
        return choose(problem)
    method = named(solver)
    refuse_unfit(method, problem)
    return method, "asked for"


def _from_sample(problem: Problem, method: AnySolver) -> tuple[Floats | None, Floats | None]:
    """Near the optimum at a fraction of its cost: the same problem on some of the rows, and its Hessian there."""
    rows = problem.rows
    subproblem = problem.curvature_sample()
    if subproblem is not problem:
        return _start_of(method, subproblem)
    if not isinstance(rows, MemoryRows) or rows.is_sparse or rows.n < 4 * max(SAMPLE_ROWS, 20 * problem.p * problem.m):
        return None, None
    stride = rows.n // max(SAMPLE_ROWS, 20 * problem.p * problem.m)
    sample = part_of(problem, np.arange(stride // 2, rows.n, stride), alone=True)
    return _start_of(method, sample)


def _start_of(method: AnySolver, sample: Problem) -> tuple[Floats | None, Floats | None]:
    result = run(method, sample, max_iter=30, tol=1e-3, inner=True)
    return (result.theta, result.state.details.hessian) if np.isfinite(result.value) else (None, None)


def _finished(problem: Problem, method: AnySolver, reason: str, result: Run[Any], tol: float) -> Solution:
    theta = _settled(problem, result.theta)
    kind, value = certified(problem, theta, result)
    value = value if np.isfinite(result.value) else np.inf  # out of bounds, or beyond the range of numbers
    convex = problem.loss.convex and (problem.penalty.convex or problem.alpha == 0)
    note = f"{WITHOUT_MARGIN[0].upper()}{WITHOUT_MARGIN[1:]}." if reason == WITHOUT_MARGIN else ""
    certificate = Certificate(
        kind, value, tol, bool(value <= tol), _rank(problem), None, "rows", note=note, convex=convex
    )
    perfect = perfect_fit(problem, theta, result.scale)
    if perfect:
        certificate = replace(certificate, note=perfect, attained=problem.loss.convex)
    coef, intercept = problem.to_original(theta)
    return Solution(
        coef=coef,
        intercept=intercept,
        value=result.value,
        certificate=certificate,
        solver=SolverInfo(method.name, reason),
        history=result.history,
        iterations=result.iterations,
        scale=result.scale,
        interrupted=result.interrupted,
        perfect=perfect,
        iterate=Iterate(problem, theta, result.state.details),
    )


def _settled(problem: Problem, theta: Floats) -> Floats:
    """θ among those with the same predictions: coefficients of constant columns at the minimum of their penalty; of
    several classes intercepts, and coefficients without a penalty, that sum to zero.
    """
    if problem.m == 1 and not problem.constant.any():
        return theta
    settled = theta.copy()
    settled[:, : problem.d] = problem.of_constants(theta[:, : problem.d] * problem.inverse) * problem.scale
    if problem.m == 1:
        return settled
    if problem.parts is not None and problem.parts.smooth and not problem.square.any():
        settled[:, : problem.d] -= settled[:, : problem.d].mean(axis=0)
    if problem.intercept:
        settled[:, problem.d] -= problem.to_original(settled)[1].mean()
    return settled


def certified(problem: Problem, theta: Floats, result: Run[Any]) -> tuple[str, float]:
    """How near θ is to the optimum, computed anew from the rows: what is measured, and its value."""
    if is_concave(problem):
        problem, theta = majorizer(problem, theta)
    loss = problem.loss
    details = result.state.details
    u = details.dual
    fixed = loss.convex and not loss.estimates_scale
    if fixed and (u is not None or loss.power):
        rows = RowProducts(problem)
        f = rows.predictions(theta)
        if u is None:
            u = loss.gradient(rows.y, f[:, 0])
        gap = duality_gap(problem, rows, theta, u.reshape(len(u), -1)[: len(f)], f)
        return "duality gap", gap.relative(max(abs(problem.value(theta)), problem.least_value))
    if loss.weighted_hinge or loss.piecewise_linear or loss.class_hinge:
        return details.criterion or CHANGE, result.residual
    if result.scale is not None:
        return "gradient", result.residual
    known = details.point
    point = known if known is not None and known.theta is theta else problem.at(theta)
    smooth = problem.parts is not None and problem.parts.smooth
    return "gradient" if smooth else "KKT residual", problem.residual(point)


def _rank(problem: Problem) -> int | None:
    """Independent columns of the design, intercept included, where no penalty tells dependent ones apart."""
    known = problem.parts is not None and problem.parts.nothing and problem.rows.basis is None
    if not known or problem.p > MAX_RANKED_COLUMNS:
        return None
    values = np.linalg.eigvalsh(problem.rows.sum(problem.block_gram))
    return int((values > 1e-12 * max(float(values[-1]), 1e-300)).sum())


def say(fit: Solution, max_iter: int) -> None:
    """Warn of an optimum that was not reached: which quantity exceeds its tolerance, and what to do.

    Of a time limit that has ended the fit, who set it warns.
    """
    if deadline.ended():
        return
    c = fit.certificate
    cause = f"after {fit.iterations} steps of {fit.solver.name}"
    remedy = "To improve it, raise max_iter or alpha, or use another solver."
    if fit.iterations < max_iter:
        remedy = "Round-off may limit the accuracy here: increase tol or alpha, or use another solver."
    message = " ".join(filter(None, [fit.details.message, remedy]))
    warn_user(
        f"The {c.kind} is {c.value:.2g} and its tolerance {c.tolerance:.2g}, {cause}. {message}", ConvergenceWarning
    )


def _separated_majorizer(
    problem: Problem, result: Run[Any], max_iter: int, tol: float, warn: bool, inner: bool
) -> Solution:
    """A finite answer where the columns that a concave penalty leaves free separate the classes."""
    above, _ = majorizer(problem, result.theta)
    columns = result.state.details.separating_columns
    assert columns is not None
    solution = _separated(above, columns, max_iter, tol, warn, inner)
    theta = problem.to_standardized(solution.coef, solution.intercept)
    return replace(solution, iterate=Iterate(problem, theta, solution.details), value=problem.value(theta))


def _separated(problem: Problem, columns: list[int], max_iter: int, tol: float, warn: bool, inner: bool) -> Solution:
    """A finite answer where the optimum is at infinity: a small penalty, in standard units."""
    names = ", ".join(f"column {problem.rows.name(j)}" for j in columns[:5])
    where = f"by {names}" if columns else "by a combination of the columns"
    what = f"The classes are separated perfectly {where}"
    if problem.loss.targets == "counts":
        where = names or "a combination of the columns"
        what = f"Every count is zero where {where} says so"
    penalised = problem.parts is not None and not problem.parts.nothing
    kept_by = f"a ridge of {RIDGE_OF_SEPARATED:g} in standard units"
    if warn:
        warn_user(
            f"{what}{' at no cost' if penalised else ''}: the coefficients would diverge. They were fitted "
            f"with {kept_by} {'as well' if penalised else 'instead'}; give "
            f"{'a penalty of every direction' if penalised else 'alpha above 0'} to choose it yourself.",
            ConvergenceWarning,
        )
    kept = problem._with() if penalised else problem._with(penalty=L2(), alpha=1.0)
    ridge = np.full(problem.d, RIDGE_OF_SEPARATED)
    kept.__dict__["square"] = problem.square + (ridge if problem.square.ndim == 1 else np.diag(ridge))
    method, reason = choose(kept)
    result = run(method, kept, max_iter=max_iter, tol=tol, inner=inner)
    solution = _finished(kept, method, reason, result, tol)
    note = f"{what}; {kept_by} keeps the coefficients finite."
    certificate = replace(solution.certificate, note=note, attained=False)
    return replace(solution, separated=True, certificate=certificate)
