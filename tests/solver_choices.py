"""Which solver each problem gets, stated case by case: the oracle of `gramian.solvers.choose`."""

from gramian.objective.losses.base import PiecewiseLinear, Scaled
from gramian.objective.losses.classification import MultiHinge, Perceptron, RootHinge
from gramian.objective.losses.regression import Power, StudentT
from gramian.objective.problem import is_ridge
from gramian.rows import MemoryRows
from gramian.solvers.base import Solver
from gramian.solvers.sparse.local_linear import is_concave, majorizer

NO_MARGIN = (
    "without a margin the objective is least with no coefficients at all; gm.Perceptron is the algorithm that stops at "
    "the first separating hyperplane"
)


def expected(problem):
    """(names of the solver's classes, from the outside in; reason), or the message of the refusal."""
    loss, parts = problem.loss, problem.parts
    estimates_scale = isinstance(loss, Scaled) and loss.scale is None
    if isinstance(loss, Perceptron) or (isinstance(loss, MultiHinge) and loss.margin == 0):
        return ("PrimalDual",), NO_MARGIN
    if isinstance(loss, RootHinge):
        return ("RootDescent",), "the root is concave in the hinge: a weighted hinge lies above it"
    if is_concave(problem):
        if problem.m > 1 and not loss.smooth:
            return refused(problem, "one decision per class (multiclass='ovr'), or the Softmax loss")
        if problem.m * problem.p > 2000 and problem.m > 1:
            return ("GradientDescent",), f"a concave penalty of {problem.m} × {problem.p} coefficients"
        inner = expected(majorizer(problem, problem.zero())[0])
        if isinstance(inner, str):
            return inner
        name = next(kind.name for kind in Solver.__subclasses__() if kind.__name__ == inner[0][0])
        return (
            "LocalLinear",
            *inner[0],
        ), f"a concave penalty lies below weighted L1 norms that touch it: {name} on these"
    if parts is None:
        if loss.convex and problem.penalty.convex and not loss.smooth:
            return general(problem, estimates_scale)
        return ("GradientDescent",), "a penalty that is known by its prox alone"
    if isinstance(loss, PiecewiseLinear):
        return piecewise_linear(problem)
    if isinstance(loss, MultiHinge):
        if not (parts.smooth and problem.square.any()):
            return general(problem, estimates_scale)
        if problem.rows.n <= min(problem.d, 2000) and is_ridge(problem):
            return (
                ("RowSpaceInteriorPoint",),
                f"MultiHinge with {problem.rows.n} rows and {problem.d} columns: the optimum is in the span of the "
                "rows",
            )
        return (
            ("JointInteriorPoint",),
            "a hinge of all classes: primal and dual at once, a Gram matrix for each pair of them",
        )
    if isinstance(loss, StudentT):
        if problem.p > 2000:
            return refused(problem, "at most 2000 columns, or the Huber loss")
        return ("Reweighted",), "each row's weight makes a parabola above Student's t: the likelihood only grows"
    if isinstance(loss, Power) and problem.p <= 2000:
        return ("PowerNewton",), "a power of the residual has a gradient"
    if estimates_scale and problem.p <= 2000:
        return ("ScaleNewton",), "the coefficients and the scale are jointly convex"
    if isinstance(loss, Power) or estimates_scale:
        return general(problem, estimates_scale)
    if parts.smooth:
        return smooth(problem)
    if problem.m * problem.p <= 2000:
        return ("ProximalNewton",), f"a smooth loss and zeros or bounds, {problem.p} columns"
    if parts.groups or parts.square.ndim == 2:
        return general(problem, estimates_scale)
    return (
        ("ColumnDescent",),
        f"zeros or bounds among {problem.p} columns: only those that matter are worked on",
    )


def general(problem, estimates_scale):
    """The method for every convex pair."""
    name, penalty = type(problem.loss).__name__, type(problem.penalty).__name__
    if estimates_scale:
        return ("ScaleSearch",), f"{name} and {penalty}: convex in the coefficients and in the scale"
    return ("PrimalDual",), f"{name} and {penalty} are convex: their envelopes are all it needs"


def smooth(problem):
    """A loss and a penalty with gradients."""
    basis, joint = problem.rows.basis is not None, problem.m * problem.p
    most = 300 if basis or problem.rows.is_sparse else 150
    if problem.m == 1 and problem.p <= most:
        return ("Newton",), f"a smooth loss and penalty, {problem.p} columns: a Hessian costs one pass"
    if problem.m > 1 and (joint <= 150 or (joint <= 600 and problem.rows.n * joint**2 <= 2e8)):
        return (
            ("Newton",),
            f"a smooth loss and penalty, {problem.m} × {problem.p} coefficients: a Hessian costs one pass",
        )
    if basis and problem.m == 1:
        return (
            ("NewtonCG",),
            f"{problem.d} landmarks: a Hessian of a sample of the rows preconditions products with that of all",
        )
    return (
        ("NewtonCG",),
        f"{problem.m} × {problem.p} coefficients: a Hessian would cost more than products with it",
    )


def piecewise_linear(problem):
    """A loss with a breakpoint."""
    name, rows, parts = type(problem.loss).__name__, problem.rows, problem.parts
    cells, linear = rows.n * problem.p, not problem.square.any()
    mostly_empty = rows.is_sparse and problem.p > 300
    if parts.groups or (parts.bounded and (not linear or cells > 30_000_000)):
        return general(problem, False)
    if parts.bounded:
        return ("LinearProgramme",), f"{name} within bounds is a linear programme"
    if linear and cells <= 300_000:
        return (
            ("LinearProgramme",),
            f"{name} with absolute values is a linear programme, small enough to be solved exactly",
        )
    quadratic = parts.smooth and not linear
    if rows.basis is not None and quadratic and rows.can_subset:
        return (
            ("ActiveRowsInteriorPoint",),
            f"{name} is piecewise linear, and only rows near their breakpoint keep their {problem.d} features",
        )
    if (
        (problem.p <= 2000 or rows.basis is not None)
        and not mostly_empty
        and (rows.n >= problem.p or problem.p <= 300 or not is_ridge(problem) or linear)
    ):
        if isinstance(rows, MemoryRows) and rows.n > 60_000 and not problem.l1.any() and not linear:
            return (
                ("ActiveRowsInteriorPoint",),
                f"{name} is piecewise linear, and few of {rows.n} rows are near their breakpoint",
            )
        return ("InteriorPoint",), f"{name} is piecewise linear: primal and dual at once, a few dozen Gram matrices"
    if not is_ridge(problem):
        return general(problem, False)
    if rows.n <= min(problem.d, 2000):
        return (
            ("RowSpaceInteriorPoint",),
            f"{name} with {rows.n} rows and {problem.d} columns: the optimum is in the span of the rows",
        )
    return (
        ("DualDescent",),
        f"{name} is piecewise linear, with {problem.p} columns: one row's dual variable at a time",
    )


def refused(problem, instead):
    return (
        f"No solver can do the loss {type(problem.loss).__name__} with the penalty "
        f"{type(problem.penalty).__name__} at alpha {problem.alpha:g}, {problem.rows.n} rows and {problem.d} "
        f"columns. What can be done: {instead}."
    )
