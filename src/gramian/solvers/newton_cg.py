"""Newton steps by conjugate gradients: no Hessian is formed, so columns and classes may be many."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.objective.label_losses import SoftMargin, Softmax
from gramian.rows import Block
from gramian.solvers.iterate import Method, State
from gramian.solvers.newton import ENOUGH, HALVINGS, ROUNDING, solver_of
from gramian.solvers.problem import Point, Problem, smooth

Floats = NDArray[np.float64]
Product = Callable[[Floats], Floats]
MOST_INNER = 200
WORTH = 24  # columns over the number of products with a Hessian that cost as much as the Hessian


@dataclass(frozen=True)
class NewtonCG(Method):
    """Newton's direction by preconditioned conjugate gradients, only as exactly as the gradient is small.

    Two products with X for a step of the inner iteration. The preconditioner is the Hessian of each output by itself
    from a sample of the rows (up to 2000 columns), or the diagonal of the Hessian; that of one output is the diagonal
    until as much was spent on products as the Hessian of all rows costs.
    """

    name: ClassVar[str] = "Newton-CG"
    unit: ClassVar[str] = "Newton steps"

    def can(self, problem: Problem) -> bool:
        """A loss and a penalty with gradients."""
        return smooth(problem)

    def init(self, problem: Problem, start: Floats | None) -> State:
        theta = problem.zero() if start is None else start
        return self._state(problem, problem.at(theta), None)

    def step(self, problem: Problem, state: State) -> State:
        point: Point = state.more["point"]
        spent = state.more.get("spent", 0)
        most = problem.p // WORTH - spent if _costly(problem) else 0
        precondition = state.more.get("precondition")
        if most > 0:
            precondition = _by_diagonal(problem, point.theta)
        elif precondition is None:
            precondition = preconditioner(problem, point.theta)
        first = state.more.get("first", state.measure)
        forcing = min(0.1, np.sqrt(state.measure / max(first, 1e-300)))
        product = hessian_product(problem, point.theta)
        direction, inner = conjugate_gradients(
            product, point.gradient, precondition, forcing, most if most > 0 else MOST_INNER
        )
        slope = float((point.gradient * direction).sum())
        length = 1.0
        for _ in range(HALVINGS):
            trial = problem.at(point.theta + length * direction)
            if trial.value <= point.value + ENOUGH * length * slope:
                found = self._state(problem, trial, None if most > 0 or inner > 30 else precondition)
                found.more.update(first=first, spent=spent + inner)
                return found
            if -slope * length <= 100 * ROUNDING * abs(point.value):
                if problem.measure(trial) < state.measure:
                    return self._state(problem, trial, precondition)
                break
            length *= 0.5
        return State(point.theta, point.value, state.measure, stuck=True, more=state.more)

    @staticmethod
    def _state(problem: Problem, point: Point, precondition: Product | None) -> State:
        more = {"point": point, "precondition": precondition}
        return State(point.theta, point.value, problem.measure(point), more=more)


def conjugate_gradients(
    product: Product, gradient: Floats, precondition: Product, forcing: float, most: int = MOST_INNER
) -> tuple[Floats, int]:
    """−H⁻¹g to a relative residual of `forcing`, and the number of products it took."""
    x = np.zeros_like(gradient)
    r = -gradient
    z = precondition(r)
    direction = z.copy()
    energy = float((r * z).sum())
    enough = forcing**2 * energy
    inner = 0
    while inner < most:
        inner += 1
        q = product(direction)
        curve = float((direction * q).sum())
        if not curve > 0:
            break
        length = energy / curve
        x += length * direction
        r -= length * q
        z = precondition(r)
        before, energy = energy, float((r * z).sum())
        if energy <= enough:
            break
        direction = z + (energy / before) * direction
    return (x if x.any() else precondition(-gradient)), inner


def hessian_product(problem: Problem, theta: Floats) -> Product:
    """v ↦ Hv at θ; the curvature of each row is kept where the blocks come back in this process."""
    kept: dict[tuple[int, int], Any] = {}

    def curvature(key: tuple[int, int], part: Any, y: Floats, w: Any) -> Any:
        if key not in kept:
            f = problem.predictions(part, theta)
            kept[key] = row_curvature(problem, y, w, f)
        return kept[key]

    def of_block(block: Block, v: Floats) -> Floats:
        total = np.zeros((problem.m, problem.p))
        for number, (part, y, w) in enumerate(problem.panels(block)):
            change = problem.predictions(part, v)
            total += problem.pull(part, curved(curvature((block.start, number), part, y, w), change))
        return total

    def product(v: Floats) -> Floats:
        found = problem.settled(problem.rows.sum(lambda block: of_block(block, v))) / problem.columns.weight
        found[:, : problem.d] += problem.quadratic(v)[1]
        return found

    return product


def row_curvature(problem: Problem, y: Floats, w: Any, f: Floats) -> Any:
    """The curvature of each row: one number, or the probabilities and the weight where there are several outputs."""
    if problem.m == 1:
        h = problem.loss.curvature(y, f[:, 0])
        return h if w is None else h * w
    loss = problem.loss
    assert isinstance(loss, Softmax | SoftMargin)
    return loss.shares(y, f), loss.steepness if w is None else w * loss.steepness


def curved(curvature: Any, change: Floats) -> Floats:
    """The change of each row's gradient for a change of its predictions."""
    if not isinstance(curvature, tuple):
        return change * curvature[:, None]
    p, w = curvature
    found = p * change
    found -= p * found.sum(axis=1, keepdims=True)
    found *= w if np.ndim(w) == 0 else w[:, None]
    return found


def preconditioner(problem: Problem, theta: Floats) -> Product:
    """A cheap approximate inverse of the Hessian at θ."""
    some = problem.some()
    if not _formed(problem):
        return _by_diagonal(problem, theta)
    grams = some.rows.sum(lambda block: _output_grams(some, theta, block))
    factors = []
    for gram in grams.parts:
        H = some.settled_gram(gram) / grams.weight + problem.bend
        if problem.m == 1:  # of all rows: its null space is that of the Hessian itself
            solve = solver_of(H)
            return lambda r: solve(r[0])[None]
        H[np.diag_indices(len(H))] += 1e-10 * max(float(np.trace(H)) / len(H), 1e-300)
        factors.append(sl.cho_factor(H, lower=True, check_finite=False))
    return lambda r: np.stack([sl.cho_solve(f, row, check_finite=False) for f, row in zip(factors, r, strict=True)])


def _formed(problem: Problem) -> bool:
    """Whether Hessians of single outputs are formed."""
    return (problem.square.ndim == 2 or not problem.rows.is_sparse) and problem.p <= problem.most_dense


def _costly(problem: Problem) -> bool:
    """Whether that takes all rows."""
    return problem.m == 1 and _formed(problem) and problem.rows.basis is None


def _by_diagonal(problem: Problem, theta: Floats) -> Product:
    inverse = 1.0 / hessian_diagonal(problem, theta)
    return lambda r: r * inverse


class _Grams:
    def __init__(self, parts: Floats, weight: float) -> None:
        self.parts, self.weight = parts, weight

    def _absorb(self, other: "_Grams") -> "_Grams":
        self.parts += other.parts
        self.weight += other.weight
        return self


SAMPLE = 16  # one panel in so many is enough for a preconditioner of several outputs


def _output_grams(problem: Problem, theta: Floats, block: Block) -> _Grams:
    total, weight = np.zeros((problem.m, problem.p, problem.p)), 0.0
    for number, (part, y, w) in enumerate(problem.panels(block)):
        if problem.m > 1 and number % SAMPLE and problem.rows.n > 20 * problem.p * SAMPLE:
            continue
        kept = row_curvature(problem, y, w, problem.predictions(part, theta))
        weight += float(len(y)) if w is None else float(w.sum())
        for k in range(problem.m):
            h = kept if problem.m == 1 else kept[0][:, k] * (1.0 - kept[0][:, k]) * kept[1]
            total[k] += problem.weighted_gram(part, h)
    return _Grams(total, weight)


def hessian_diagonal(problem: Problem, theta: Floats) -> Floats:
    """The diagonal of the Hessian, (m, p), in one pass."""

    def of_block(block: Block) -> Floats:
        total = np.zeros((problem.m, problem.p))
        for part, y, w in problem.panels(block):
            kept = row_curvature(problem, y, w, problem.predictions(part, theta))
            h = kept[:, None] if problem.m == 1 else kept[0] * (1.0 - kept[0]) * np.reshape(kept[1], (-1, 1))
            if sp.issparse(part):
                squares = np.asarray(part.multiply(part).T @ h).T
                if problem.center.any():
                    squares += problem.center * (
                        h.sum(axis=0)[:, None] * problem.center - 2.0 * np.asarray(part.T @ h).T
                    )
                total[:, : problem.d] += squares * problem.inverse**2
            elif problem.far:
                total[:, : problem.d] += h.T @ (part * part)
            else:
                total[:, : problem.d] += (h.T @ (part - problem.center) ** 2) * problem.inverse**2
            if problem.intercept:
                total[:, problem.d] += h.sum(axis=0)
        return total

    found = problem.rows.sum(of_block) / problem.columns.weight
    found[:, : problem.d] += 2.0 * (problem.square if problem.square.ndim == 1 else np.diagonal(problem.square))
    least = 1e-8 * float(found.max(initial=0.0))
    return np.maximum(found, max(least, 1e-300))
