"""Which solver a problem gets: of those that support it the one whose fit is estimated to cost least."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from gramian.objective.problem import Problem
from gramian.rows import Rows
from gramian.solvers.base import AnySolver, Solver
from gramian.solvers.direct import DirectSolver

# What `solver="auto"` chooses from, by module and class: imported when they are asked. Of equal costs the first. A
# direct solver that supports a problem is cheaper than all that iterate.
DIRECT_SOLVERS = (
    ("least_squares.direct", "ClosedForm"),
    ("sparse.direct", "GramActiveSet"),
    ("sparse.direct", "WorkingSets"),
)
SOLVERS = (
    ("smooth.newton", "Newton"),
    ("smooth.newton_cg", "NewtonCG"),
    ("smooth.proximal_newton", "ProximalNewton"),
    ("smooth.column_descent", "ColumnDescent"),
    ("smooth.reweighted", "PowerNewton"),
    ("smooth.concomitant", "ScaleNewton"),
    ("smooth.reweighted", "Reweighted"),
    ("nonsmooth.linear_programme", "LinearProgramme"),
    ("nonsmooth.active_rows", "ActiveRowsInteriorPoint"),
    ("nonsmooth.interior_point", "InteriorPoint"),
    ("nonsmooth.row_space", "RowSpaceInteriorPoint"),
    ("nonsmooth.joint_hinge", "JointInteriorPoint"),
    ("nonsmooth.dual_descent", "DualDescent"),
    ("nonsmooth.root_hinge", "RootDescent"),
    ("sparse.local_linear", "LocalLinear"),
    ("first_order.gradient_descent", "GradientDescent"),
    ("nonsmooth.primal_dual", "PrimalDual"),
    ("smooth.concomitant", "ScaleSearch"),
)
NAMES = {
    "newton": ("smooth.newton", "Newton"),
    "newton-cg": ("smooth.newton_cg", "NewtonCG"),
    "proximal": ("smooth.proximal_newton", "ProximalNewton"),
    "columns": ("smooth.column_descent", "ColumnDescent"),
    "interior": ("nonsmooth.interior_point", "InteriorPoint"),
    "dual": ("nonsmooth.dual_descent", "DualDescent"),
    "programme": ("nonsmooth.linear_programme", "LinearProgramme"),
    "primal-dual": ("nonsmooth.primal_dual", "PrimalDual"),
}
DIRECT_NAMES = ("cholesky", "qr", "gram", "rows")


def _solver_class(place: tuple[str, str]) -> Any:
    module, name = place
    return getattr(import_module(f"gramian.solvers.{module}"), name)


def direct_solver(problem: Problem, solver: Any = "auto") -> DirectSolver | None:
    """The direct solver of a name, or with "auto" the cheapest that supports a problem of any number of targets.

    None where there is none, or where a solver that iterates is asked for; refuses one that cannot do the problem.
    """
    if not isinstance(solver, str) or (solver != "auto" and solver not in DIRECT_NAMES):
        return None
    best, least = None, float("inf")
    for place in DIRECT_SOLVERS:
        kind = _solver_class(place)
        if solver == "auto":
            candidate = kind.of_name(solver)
            cost = candidate.cost(problem) if candidate.supports(problem) else float("inf")
            if cost < least:
                best, least = candidate, cost
                if place is DIRECT_SOLVERS[0]:
                    break  # nothing is cheaper, and the others are not even imported
        elif solver in kind.names:
            best = kind.of_name(solver)
            if not best.supports(problem):
                refuse_name(solver, problem)
    return best


def refuse_name(name: str, problem: Problem) -> None:
    """Raise where the solver of a name cannot do a problem, with those that can."""
    if name == "rows" and not isinstance(problem.data, Rows):
        raise ValueError('solver="rows" needs the rows themselves: fit from the data, or use solver="gram".')
    raise ValueError(
        f"solver is {name!r}, which cannot do the loss {type(problem.loss).__name__} with the penalty "
        f"{type(problem.penalty).__name__}; it must be {', '.join(map(repr, ['auto', *supporting(problem)]))}, or a "
        "solver object."
    )


def refuse_sums(problem: Problem, solver: Any) -> None:
    """Raise where a solver that goes over rows is to fit from sums of them."""
    if not isinstance(problem.data, Rows):
        name = solver.name if isinstance(solver, Solver) else solver
        raise ValueError(
            f"The solver {name!r} needs the rows themselves: fit from the data or gm.scan of them, or use "
            f'solver="auto", which fits from {type(problem.data).__name__}.'
        )


def supporting(problem: Problem) -> list[str]:
    """The values of `solver` that a problem can be solved with."""
    direct = [name for place in DIRECT_SOLVERS for name in _solver_class(place).names if _does(place, name, problem)]
    if not isinstance(problem.data, Rows):
        return direct
    return direct + [name for name, place in NAMES.items() if _solver_class(place)().supports(problem)]


def _does(place: tuple[str, str], name: str, problem: Problem) -> bool:
    return bool(_solver_class(place).of_name(name).supports(problem))


def named(name: Any) -> AnySolver:
    """The solver of a name."""
    if not isinstance(name, str) or name not in NAMES:
        raise ValueError(
            f'solver is {name!r}; it must be "auto", one of {", ".join(map(repr, [*NAMES, *DIRECT_NAMES]))}, or a '
            "solver object such as gm.solvers.GradientDescent()."
        )
    return _solver_class(NAMES[name])()


def refuse_unfit(method: AnySolver, problem: Problem) -> None:
    """Raise where a solver that was asked for cannot do the problem, with those that can."""
    if not method.supports(problem):
        raise ValueError(
            f"The solver {method.name!r} cannot do the loss {type(problem.loss).__name__} with the penalty "
            f'{type(problem.penalty).__name__}; use solver="auto", which takes {choose(problem)[0].name!r}, or '
            f"{', '.join(map(repr, supporting(problem)))}."
        )


def plain(problem: Problem) -> Problem:
    """The problem with |y − f|¹ written as the absolute loss."""
    loss = problem.loss.simplified()
    return problem if loss is problem.loss else problem.with_loss(loss)


def choose(problem: Problem) -> tuple[AnySolver, str]:
    """The cheapest solver that iterates and supports a problem, and why; refuses one that none can solve."""
    problem = plain(problem)
    best, min_cost = None, float("inf")
    for solver in _candidates(problem):
        cost = solver.cost(problem)
        if cost < min_cost:
            best, min_cost = solver, cost
    if best is None:
        raise ValueError(
            f"No solver can do the loss {type(problem.loss).__name__} with the penalty "
            f"{type(problem.penalty).__name__} at alpha {problem.alpha:g}, {problem.rows.n} rows and {problem.d} "
            f"columns. What can be done: {_alternative(problem)}."
        )
    return best, best.reason(problem)


def last_resort(problem: Problem) -> tuple[AnySolver, str]:
    """The method for every convex pair, and why."""
    solver = next(_candidates(problem, last_resort=True))
    return solver, solver.reason(problem)


def _candidates(problem: Problem, *, last_resort: bool = False) -> Iterator[AnySolver]:
    """The solvers that support a problem, with their settings for it; of the last resort alone where that is asked."""
    for place in SOLVERS:
        kind = _solver_class(place)
        if last_resort and not kind.last_resort:
            continue
        solver = kind.for_problem(problem, choose)
        if solver is not None and solver.supports(problem):
            yield solver


def _alternative(problem: Problem) -> str:
    remedies = (_solver_class(place).alternative(problem) for place in SOLVERS)
    return next(filter(None, remedies), "a smooth or a convex loss, or solver=gm.solvers.GradientDescent()")
