"""Which solver a problem gets: by what its loss and penalty are, and by cost."""

from collections.abc import Callable
from typing import Any

from gramian.objective.losses.base import PiecewiseLinear
from gramian.objective.losses.classification import MultiHinge, Perceptron, RootHinge
from gramian.objective.losses.regression import Absolute, Huber, Power, StudentT
from gramian.objective.penalties import PenaltyTerms
from gramian.objective.problem import Problem, is_ridge, joint_scale, least_scale
from gramian.rows import MemoryRows
from gramian.solvers.base import Solver
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
from gramian.solvers.sparse.local_linear import LocalLinear, is_concave, majorizer

MOST_COLUMNS = 2000  # a Hessian of so many columns is formed and factorised
MOST_STREAMED = 300  # landmarks, or sparse columns, whose Hessian costs no more than a pass or two
MOST_FEW, FEW = 600, 2e8  # the same where rows are few: numbers in θ, and multiplications of a Hessian
MOST_JOINT = 150  # numbers in θ: beyond, conjugate gradients are cheaper than a Hessian each step
MANY_ROWS = 60_000  # from which rows far from their kink are worth leaving out
MOST_LINEAR = 300_000  # numbers in a table that a linear programme is handed
WITHOUT_MARGIN = (
    "without a margin the objective is least with no coefficients at all; gm.Perceptron is the algorithm that stops at "
    "the first separating hyperplane"
)
NAMES: dict[str, Callable[[], Solver]] = {
    "newton": Newton,
    "newton-cg": NewtonCG,
    "proximal": ProximalNewton,
    "columns": ColumnDescent,
    "interior": InteriorPoint,
    "dual": DualDescent,
    "programme": LinearProgramme,
    "primal-dual": PrimalDual,
}


def named(name: Any) -> Solver:
    """The solver of a name."""
    if not isinstance(name, str) or name not in NAMES:
        raise ValueError(
            f'solver is {name!r}; it must be "auto", one of {", ".join(map(repr, NAMES))}, or a solver object such as '
            "gm.solvers.GradientDescent()."
        )
    return NAMES[name]()


def refuse_unfit(method: Solver, problem: Problem) -> None:
    """Raise where a solver that was asked for cannot do the problem."""
    if not method.supports(problem):
        raise ValueError(
            f"The solver {method.name!r} cannot do the loss {type(problem.loss).__name__} with the penalty "
            f'{type(problem.penalty).__name__}. Use solver="auto", which takes {choose(problem)[0].name!r}.'
        )


def plain(problem: Problem) -> Problem:
    """The problem with |y − f|¹ written as the absolute loss."""
    if isinstance(problem.loss, Power) and problem.loss.p == 1:
        return problem.with_loss(Absolute())
    return problem


def choose(problem: Problem) -> tuple[Solver, str]:
    """The solver for a problem, and why: the cheapest that supports it, or the primal-dual method for convex pairs.

    A loss that is not convex and that no descent supports is refused with what can be done instead.
    """
    problem = plain(problem)
    loss, parts = problem.loss, problem.parts
    if isinstance(loss, Perceptron) or (isinstance(loss, MultiHinge) and loss.margin == 0):
        return PrimalDual(), WITHOUT_MARGIN
    if is_concave(problem):
        _need(problem.m == 1 or loss.smooth, problem, "one decision per class (multiclass='ovr'), or the Softmax loss")
        if problem.m * problem.p > MOST_COLUMNS and problem.m > 1:
            return GradientDescent("line_search"), f"a concave penalty of {problem.m} × {problem.p} coefficients"
        inner, _ = choose(majorizer(problem, problem.zero())[0])
        return LocalLinear(
            inner
        ), f"a concave penalty lies below weighted L1 norms that touch it: {inner.name} on these"
    if isinstance(loss, RootHinge):
        return RootDescent(), "the root is concave in the hinge: a weighted hinge lies above it"
    if parts is None:
        if loss.convex and problem.penalty.convex and not loss.smooth:
            return general(problem)
        return GradientDescent("line_search"), "a penalty that is known by its prox alone"
    spread = least_scale(problem)
    if isinstance(loss, PiecewiseLinear):
        return _kinked(problem, parts)
    if isinstance(loss, MultiHinge):
        if not (parts.smooth and problem.square.any()):
            return general(problem)
        if problem.rows.n <= min(problem.d, MOST_COLUMNS) and is_ridge(problem):
            return (
                RowSpaceInteriorPoint(),
                f"a hinge of all classes, and {problem.rows.n} rows span what {problem.d} columns do",
            )
        return (
            JointInteriorPoint(),
            "a hinge of all classes: primal and dual at once, a Gram matrix for each pair of them",
        )
    small = problem.p <= MOST_COLUMNS
    if isinstance(loss, StudentT):
        _need(small, problem, f"at most {MOST_COLUMNS} columns, or the Huber loss")
        reason = "each row's weight makes a parabola above Student's t: the likelihood only grows"
        return Reweighted(1e-4 * spread), reason
    if isinstance(loss, Power) and small:
        return PowerNewton(), "a power of the residual has a gradient"
    if isinstance(loss, Huber) and joint_scale(loss) and small:
        return ScaleNewton(spread), "the coefficients and the scale are jointly convex"
    if isinstance(loss, Power) or joint_scale(loss):
        return general(problem)
    if parts.smooth:
        return _smooth(problem)
    if problem.m * problem.p <= MOST_COLUMNS:
        return ProximalNewton(), f"a smooth loss and zeros or bounds, {problem.p} columns"
    if not ColumnDescent().supports(problem):
        return general(problem)
    return ColumnDescent(), f"zeros or bounds among {problem.p} columns: only those that matter are worked on"


def general(problem: Problem) -> tuple[Solver, str]:
    """The method for every convex pair."""
    name, penalty = type(problem.loss).__name__, type(problem.penalty).__name__
    if joint_scale(problem.loss):
        return ScaleSearch(least_scale(problem)), f"{name} and {penalty}: convex in the coefficients and in the scale"
    return PrimalDual(), f"{name} and {penalty} are convex: their envelopes are all it needs"


def _smooth(problem: Problem) -> tuple[Solver, str]:
    streamed = problem.rows.basis is not None and problem.p > MOST_STREAMED
    most = MOST_JOINT if problem.rows.basis is None and not problem.rows.is_sparse else MOST_STREAMED
    if problem.m == 1 and problem.p <= most:
        return Newton(), f"a smooth loss and penalty, {problem.p} columns: a Hessian costs one pass"
    joint = problem.m * problem.p
    if problem.m > 1 and (joint <= MOST_JOINT or (joint <= MOST_FEW and problem.rows.n * joint**2 <= FEW)):
        return Newton(), f"a smooth loss and penalty, {problem.m} × {problem.p} coefficients: a Hessian costs one pass"
    if streamed and problem.m == 1:
        return NewtonCG(), f"{problem.d} landmarks: the Hessian of some rows preconditions products with that of all"
    return NewtonCG(), f"{problem.m} × {problem.p} coefficients: a Hessian would cost more than products with it"


def _mostly_empty(problem: Problem) -> bool:
    return problem.rows.is_sparse and problem.p > 300


def _kinked(problem: Problem, parts: PenaltyTerms) -> tuple[Solver, str]:
    name = type(problem.loss).__name__
    cells = problem.rows.n * problem.p
    linear = not problem.square.any()
    if parts.groups or (parts.bounded and (not linear or cells > 100 * MOST_LINEAR)):
        return general(problem)
    if parts.bounded:
        return LinearProgramme(), f"{name} within bounds is a linear programme"
    if linear and cells <= MOST_LINEAR:
        return (
            LinearProgramme(),
            f"{name} with absolute values is a linear programme, small enough to be solved exactly",
        )
    if problem.rows.basis is not None and ActiveRowsInteriorPoint().supports(problem):
        return (
            ActiveRowsInteriorPoint(),
            f"{name} has a kink, and a pass makes {problem.d} features anew: they are kept of rows near it",
        )
    if (
        (problem.p <= MOST_COLUMNS or problem.rows.basis is not None)
        and not _mostly_empty(problem)
        and (problem.rows.n >= problem.p or problem.p <= 300 or not is_ridge(problem) or linear)
    ):
        if isinstance(problem.rows, MemoryRows) and problem.rows.n > MANY_ROWS and not problem.l1.any() and not linear:
            return (
                ActiveRowsInteriorPoint(),
                f"{name} has a kink, which few of {problem.rows.n} rows are near: only those are worked on",
            )
        return InteriorPoint(), f"{name} has a kink: primal and dual at once, a few dozen Gram matrices"
    if not is_ridge(problem):
        return general(problem)
    if problem.rows.n <= min(problem.d, MOST_COLUMNS):
        return (
            RowSpaceInteriorPoint(),
            f"{name} has a kink, and {problem.rows.n} rows span what {problem.d} columns do",
        )
    return DualDescent(), f"{name} has a kink, and {problem.p} columns are many: one row's dual variable at a time"


def _need(supports: bool, problem: Problem, instead: str) -> None:
    if not supports:
        raise ValueError(
            f"No solver can do the loss {type(problem.loss).__name__} with the penalty "
            f"{type(problem.penalty).__name__} at alpha {problem.alpha:g}, {problem.rows.n} rows and {problem.d} "
            f"columns. What can be done: {instead}."
        )
