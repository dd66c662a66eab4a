"""A problem solved: solver chosen, started well, run, and certified."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.objective.losses import Kinked, Logistic, MultiHinge, Power, RootHinge, Softmax
from gramian.objective.penalties import L2, Zero
from gramian.rows import Block, MemoryRows
from gramian.solvers.certificate import Certificate, Solver
from gramian.solvers.choose import choose, named, plain, refuse_unfit
from gramian.solvers.interior import Kinks, dual_value
from gramian.solvers.iterate import Callback, History, Method, Outcome, run
from gramian.solvers.newton import Newton
from gramian.solvers.newton_cg import NewtonCG
from gramian.solvers.problem import Problem
from gramian.warnings import ConvergenceWarning

Floats = NDArray[np.float64]
SAMPLE_ROWS = 20_000  # rows that a large problem is solved on first
RIDGE_OF_SEPARATED = 1e-4  # in standard units: what keeps separated classes finite


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted linear problem, in the units of the data: f = intercept + coefᵀx for m outputs."""

    problem: Problem
    theta: Floats
    coef: Floats  # (d, m)
    intercept: Floats  # (m,)
    value: float
    certificate: Certificate
    solver: Solver
    history: History
    iterations: int
    converged: bool
    scale: float | None = None
    separated: bool = False
    more: dict[str, Any] = field(default_factory=dict)


def fit_problem(
    problem: Problem,
    *,
    solver: Any = "auto",
    start: Floats | None = None,
    max_iter: int = 1000,
    tol: float = 1e-8,
    callbacks: Sequence[Callback] = (),
    warn: bool = True,
) -> Fit:
    """Minimise the objective; says so where the optimum was not reached, or is at infinity."""
    problem = plain(problem)
    if problem.alpha == 0 and problem.parts is not None and not problem.parts.bounded:
        problem = problem.with_penalty(Zero())
    problem.loss.refuse(problem.columns.low)
    method, reason = _method(problem, solver)
    max_iter, tol = getattr(method, "max_iter", max_iter), getattr(method, "tol", tol)
    first = start
    if start is None and isinstance(method, Newton | NewtonCG):
        first = _from_sample(problem, method)
    watched = _may_separate(problem) and isinstance(method, Newton | NewtonCG)
    callbacks = [*callbacks, _Watch(problem)] if watched else callbacks
    outcome = run(method, problem, first, max_iter=max_iter, tol=tol, callbacks=callbacks)
    if watched and (not outcome.converged or _flat(outcome)):
        columns = separating_columns(problem, outcome.theta)
        if columns is not None:
            return _separated(problem, columns, max_iter, tol, warn)
    least = getattr(method, "least_tol", 0.0)
    found = _finished(problem, method, reason, outcome, tol if outcome.measure <= tol else max(tol, least))
    if found.certificate.tolerance > tol:
        said = f"Rounding leaves this solver a tolerance of {least:g}, not the {tol:g} asked for."
        found = replace(found, certificate=replace(found.certificate, note=said))
    if warn and not found.certificate.holds:
        _say(found, max_iter, tol)
    return found


def _method(problem: Problem, solver: Any) -> tuple[Method, str]:
    if isinstance(solver, Method):
        refuse_unfit(solver, problem)
        return solver, "asked for"
    if solver == "auto":
        return choose(problem)
    method = named(solver)
    refuse_unfit(method, problem)
    return method, "asked for"


def _from_sample(problem: Problem, method: Method) -> Floats | None:
    """Near the optimum at a fraction of its cost: the same problem on some of the rows."""
    rows = problem.rows
    if not isinstance(rows, MemoryRows) or rows.is_sparse or rows.n < 4 * max(SAMPLE_ROWS, 20 * problem.p * problem.m):
        return None
    stride = rows.n // max(SAMPLE_ROWS, 20 * problem.p * problem.m)
    some = rows.taken(np.arange(stride // 2, rows.n, stride))
    sample = Problem(
        some,
        problem.loss,
        problem.penalty,
        problem.alpha,
        intercept=problem.intercept,
        outputs=problem.m,
        columns=problem.columns,
    )
    sample.columns = _weighing(problem, some)
    outcome = run(method, sample, max_iter=30, tol=1e-3)
    return outcome.theta if np.isfinite(outcome.value) else None


def _weighing(problem: Problem, some: MemoryRows) -> Any:
    weight = float(some.n) if some.weight is None else float(some.weight.sum())
    return replace(problem.columns, weight=max(weight, 1e-300))


def _finished(problem: Problem, method: Method, reason: str, outcome: Outcome, tol: float) -> Fit:
    theta = _settled(problem, outcome.theta)
    kind, value = certified(problem, theta, outcome)
    rank, condition = _rank(problem, outcome)
    note = "" if problem.loss.convex else f"{type(problem.loss).__name__} is not convex: this is a local minimum."
    holds = bool(value <= tol)
    certificate = Certificate(kind, value, tol, holds, rank, condition, "rows", note=note)
    coef, intercept = problem.outside(theta)
    return Fit(
        problem,
        theta,
        coef,
        intercept,
        outcome.value,
        certificate,
        Solver(method.name, reason),
        outcome.history,
        outcome.iterations,
        holds,
        outcome.scale,
        more=outcome.more,
    )


def _settled(problem: Problem, theta: Floats) -> Floats:
    """Of several classes: intercepts, and coefficients without a penalty, that sum to zero; no prediction changes."""
    if problem.m == 1:
        return theta
    found = theta.copy()
    if problem.parts is not None and problem.parts.smooth and not problem.square.any():
        found[:, : problem.d] -= found[:, : problem.d].mean(axis=0)
    if problem.intercept:
        found[:, problem.d] -= problem.outside(found)[1].mean()
    return found


def certified(problem: Problem, theta: Floats, outcome: Outcome) -> tuple[str, float]:
    """How near θ is to the optimum, computed anew from the rows: what is measured, and its value."""
    loss = problem.loss
    if isinstance(loss, Kinked) and "slopes" in outcome.more:
        if "kinks" in outcome.more and problem.parts is not None and (problem.square.any() or problem.l1.any()):
            kinks = Kinks.of(problem)
            value = problem.value(theta)
            s = np.clip(outcome.more["slopes"], kinks.low, kinks.high)
            return "duality gap", max(value - dual_value(problem, kinks, s), 0.0) / max(abs(value), problem.least_value)
        return "duality gap", outcome.measure
    if isinstance(loss, MultiHinge) and "gap" in outcome.more:
        return "duality gap", outcome.measure
    if isinstance(loss, RootHinge | Kinked | MultiHinge):
        return str(outcome.more.get("measure", "change of the objective")), outcome.measure
    if isinstance(loss, Power) and "slope" in outcome.more:
        return "expected decrease", outcome.measure
    if outcome.scale is not None:
        return "gradient", outcome.measure
    point = problem.at(theta)
    smooth = problem.parts is not None and problem.parts.smooth
    return "gradient" if smooth else "KKT residual", problem.measure(point)


def _rank(problem: Problem, outcome: Outcome) -> tuple[int, float]:
    """Independent directions and condition number of the curvature, where it was formed."""
    point = outcome.more.get("point")
    H = outcome.more.get("hessian", outcome.more.get("H", getattr(point, "hessian", None)))
    if H is None or len(H) > 500:
        return problem.d, float("nan")
    values = np.linalg.eigvalsh(H)
    top = max(float(values[-1]), 1e-300)
    keep = values > 1e-12 * top
    return int(keep.sum()), float(np.sqrt(top / values[keep][0])) if keep.any() else float("inf")


def _say(fit: Fit, max_iter: int, tol: float) -> None:
    c = fit.certificate
    more = " ".join(filter(None, [str(fit.more.get("message", "")), "To go on:"]))
    cause = f"after {fit.iterations} steps of {fit.solver.name}"
    remedy = "raise max_iter" if fit.iterations >= max_iter else "a larger tol may be all that rounding allows here"
    warnings.warn(
        f"The {c.kind} is {c.value:.2g} and its tolerance {tol:.2g}, {cause}. {more} {remedy}, raise alpha, or try "
        "another solver.",
        ConvergenceWarning,
        stacklevel=4,
    )


# separated classes


def _may_separate(problem: Problem) -> bool:
    free = problem.parts is not None and problem.parts.smooth and not problem.square.any()
    return free and isinstance(problem.loss, Logistic | Softmax)


def _flat(outcome: Outcome) -> bool:
    """Whether the objective hardly bends in some direction: where one column alone separates some of the rows."""
    H = getattr(outcome.more.get("point"), "hessian", None)
    if H is None or len(H) > 500:
        return False
    unit = 1.0 / np.sqrt(np.maximum(np.diagonal(H), 1e-300))
    values = np.linalg.eigvalsh(H * unit[:, None] * unit)
    return bool(np.diagonal(H).min() < 1e-6 * np.diagonal(H).max() or values[0] < 1e-6 * values[-1])


class _Watch:
    """Ends the iteration as soon as every row is on its right side: without a penalty there is no optimum then."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def __call__(self, iteration: int, state: Any) -> bool:
        return iteration >= 3 and iteration % 3 == 0 and least_margin(self.problem, state.theta) > 0


def least_margin(problem: Problem, theta: Floats) -> float:
    """The smallest y f, or f_y less the largest other f."""

    def of_block(block: Block) -> "_Least":
        least = np.inf
        for part, y, w in problem.panels(block):
            f = problem.predictions(part, theta)
            margin = _margins(y, f)
            margin = margin if w is None else margin[w > 0]
            least = min(least, float(margin.min(initial=np.inf)))
        return _Least(least)

    return problem.rows.sum(of_block).value


class _Least:
    def __init__(self, value: float) -> None:
        self.value = value

    def __add__(self, other: "_Least") -> "_Least":
        return _Least(min(self.value, other.value))


def _margins(y: Floats, f: Floats) -> Floats:
    if f.shape[1] == 1:
        return y * f[:, 0]
    own = f[np.arange(len(f)), y.astype(int)]
    others = f.copy()
    others[np.arange(len(f)), y.astype(int)] = -np.inf
    return own - others.max(axis=1)


def separating_columns(problem: Problem, theta: Floats) -> list[int] | None:
    """The columns that a separating direction uses; empty where it uses them all; None where there is none."""
    if least_margin(problem, theta) > 0:
        return []
    if problem.m > 1 or problem.rows.n * problem.p > 2_000_000:
        return None
    from scipy.optimize import linprog

    block = problem.rows.collect()
    assert block.y is not None
    Z = np.concatenate([problem.standard(part) for part, _, _ in problem.panels(block)]) * block.y
    if block.weight is not None:
        Z = Z[block.weight > 0]
    found = linprog(-Z.sum(axis=0), A_ub=-Z, b_ub=np.zeros(len(Z)), bounds=(-1.0, 1.0), method="highs")
    if found.x is None or -found.fun <= 1e-7 * len(Z):
        return None
    used = np.flatnonzero(np.abs(found.x[: problem.d]) > 1e-6)
    return used.tolist() if len(used) < problem.d else []


def _separated(problem: Problem, columns: list[int], max_iter: int, tol: float, warn: bool) -> Fit:
    """A finite answer for separated classes: the penalty that the objective lacks, small and in standard units."""
    some = ", ".join(f"column {problem.rows.name(j)}" for j in columns[:5])
    where = f"by {some}" if columns else "by a combination of the columns"
    if warn:
        warnings.warn(
            f"The classes are separated perfectly {where}: without a penalty the coefficients would grow without end. "
            f"They were fitted with a ridge of {RIDGE_OF_SEPARATED:g} in standard units instead; give alpha above 0 to "
            "choose the penalty yourself.",
            ConvergenceWarning,
            stacklevel=5,
        )
    kept = Problem(
        problem.rows,
        problem.loss,
        L2(),
        1.0,
        intercept=problem.intercept,
        outputs=problem.m,
        columns=problem.columns,
    )
    kept.__dict__["square"] = np.full(problem.d, RIDGE_OF_SEPARATED)
    method, reason = choose(kept)
    outcome = run(method, kept, max_iter=max_iter, tol=tol)
    found = _finished(kept, method, reason, outcome, tol)
    note = f"The classes are separated {where}; a ridge of {RIDGE_OF_SEPARATED:g} in standard units keeps them finite."
    certificate = Certificate(**{**found.certificate.__dict__, "note": note})
    return Fit(**{**found.__dict__, "separated": True, "certificate": certificate})
