"""Which solver a problem gets: of those that support it the one whose fit is estimated to cost least."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gramian.objective.problem import Problem
from gramian.solvers.base import AnySolver
from gramian.solvers.first_order.gradient_descent import GradientDescent
from gramian.solvers.nonsmooth.active_rows import ActiveRowsInteriorPoint
from gramian.solvers.nonsmooth.dual_descent import DualDescent
from gramian.solvers.nonsmooth.interior_point import InteriorPoint
from gramian.solvers.nonsmooth.joint_hinge import JointInteriorPoint
from gramian.solvers.nonsmooth.linear_programme import LinearProgramme
from gramian.solvers.nonsmooth.primal_dual import PrimalDual
from gramian.solvers.nonsmooth.root_hinge import RootDescent
from gramian.solvers.nonsmooth.row_space import RowSpaceInteriorPoint
from gramian.solvers.smooth.column_descent import ColumnDescent
from gramian.solvers.smooth.concomitant import ScaleNewton, ScaleSearch
from gramian.solvers.smooth.newton import Newton
from gramian.solvers.smooth.newton_cg import NewtonCG
from gramian.solvers.smooth.proximal_newton import ProximalNewton
from gramian.solvers.smooth.reweighted import PowerNewton, Reweighted
from gramian.solvers.sparse.local_linear import LocalLinear

# What `solver="auto"` chooses from; of equal costs the first.
SOLVERS: tuple[type[AnySolver], ...] = (
    Newton,
    NewtonCG,
    ProximalNewton,
    ColumnDescent,
    PowerNewton,
    ScaleNewton,
    Reweighted,
    LinearProgramme,
    ActiveRowsInteriorPoint,
    InteriorPoint,
    RowSpaceInteriorPoint,
    JointInteriorPoint,
    DualDescent,
    RootDescent,
    LocalLinear,
    GradientDescent,
    PrimalDual,
    ScaleSearch,
)
NAMES: dict[str, Callable[[], AnySolver]] = {
    "newton": Newton,
    "newton-cg": NewtonCG,
    "proximal": ProximalNewton,
    "columns": ColumnDescent,
    "interior": InteriorPoint,
    "dual": DualDescent,
    "programme": LinearProgramme,
    "primal-dual": PrimalDual,
}


def named(name: Any) -> AnySolver:
    """The solver of a name."""
    if not isinstance(name, str) or name not in NAMES:
        raise ValueError(
            f'solver is {name!r}; it must be "auto", one of {", ".join(map(repr, NAMES))}, or a solver object such as '
            "gm.solvers.GradientDescent()."
        )
    return NAMES[name]()


def refuse_unfit(method: AnySolver, problem: Problem) -> None:
    """Raise where a solver that was asked for cannot do the problem."""
    if not method.supports(problem):
        raise ValueError(
            f"The solver {method.name!r} cannot do the loss {type(problem.loss).__name__} with the penalty "
            f'{type(problem.penalty).__name__}. Use solver="auto", which takes {choose(problem)[0].name!r}.'
        )


def plain(problem: Problem) -> Problem:
    """The problem with |y − f|¹ written as the absolute loss."""
    loss = problem.loss.simplified()
    return problem if loss is problem.loss else problem.with_loss(loss)


def choose(problem: Problem) -> tuple[AnySolver, str]:
    """The cheapest solver that supports a problem, and why; refuses a problem that none solves at a finite cost."""
    problem = plain(problem)
    best, min_cost = None, float("inf")
    for solver in _candidates(problem, SOLVERS):
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
    solver = next(_candidates(problem, [kind for kind in SOLVERS if kind.last_resort]))
    return solver, solver.reason(problem)


def _candidates(problem: Problem, kinds: Iterable[type[AnySolver]]) -> Iterator[AnySolver]:
    """The solvers that support a problem, with their settings for it."""
    for kind in kinds:
        solver = kind.for_problem(problem, choose)
        if solver is not None and solver.supports(problem):
            yield solver


def _alternative(problem: Problem) -> str:
    remedies = (kind.alternative(problem) for kind in SOLVERS)
    return next(filter(None, remedies), "a smooth or a convex loss, or solver=gm.solvers.GradientDescent()")
