"""Newton steps by conjugate gradients: no Hessian is formed, so columns and classes may be many."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.objective.losses.classification import SoftMargin, Softmax
from gramian.objective.problem import Point, Problem
from gramian.rows import Block
from gramian.solvers.base import Details, State, pass_cost
from gramian.solvers.smooth.newton import (
    JOINT_OVERHEAD,
    MAX_HALVINGS,
    ROUNDING,
    SUFFICIENT_DECREASE,
    SmoothNewton,
    solver_of,
)
from gramian.solvers.smooth.single_rows import SingleHessian, SingleRows

Product = Callable[[Floats], Floats]
MAX_PRODUCTS = 200
PRODUCTS = 150  # with the Hessian, of a whole fit: as many columns have a Hessian that costs the same
PRODUCTS_COSTLY = 300  # the same of sparse rows, and of landmarks, whose Hessian costs no more than a pass or two
COLUMNS_PER_PRODUCT = 24  # columns over the number of products with a Hessian that cost as much as the Hessian
COLUMNS_PER_SINGLE_PRODUCT = 8  # the same in single precision, for many more rows than columns
MAX_FORCING = 0.4  # part of a gradient that a step may leave
MIN_SINGLE_FORCING = 1e-4  # the smallest with products in single precision
MIN_TARGET = 0.2  # of the tolerance, below which no step need lead
LAST_STEP = 5.0  # of the tolerance: a step that leads there is made exact
OVERSOLVED = 0.5  # of what the Hessian of the last step neglected, that a step need not go below
MAX_ROUNDING = 0.1  # part of a gradient that may be rounding of products in single precision
DIAGONAL_SHIFT = 1e-6  # of the diagonal of a Hessian in single precision
MAX_KEPT_PRODUCTS = 30  # products of a step after which its preconditioner is not kept


@dataclass(frozen=True)
class _Past:
    """What earlier steps say of the next."""

    first: float  # residual at the start
    single: SingleRows | None  # a copy of the rows in single precision, for products
    double: bool = False  # whether products are in double precision though there is a copy
    spent: int = 0  # products so far
    factor: Product | None = None  # a preconditioner that took a pass or more
    inner: int = 0  # products of the last step
    per_digit: float = 0.0  # products for a digit of the last direction
    neglected: float | None = None  # part of the last gradient: what the Hessian did not say of the next


@dataclass(kw_only=True)
class NewtonCGState(State):
    """With what earlier steps say of the next."""

    point: Point
    past: _Past

    @property
    def details(self) -> Details:
        return Details(point=self.point)


@dataclass(frozen=True)
class NewtonCG(SmoothNewton[NewtonCGState]):
    """Newton's direction by preconditioned conjugate gradients, only as exactly as the gradient is small.

    Two products with X for a step of the inner iteration: for dense rows of one output in single precision, from a
    copy, for directions need no more; values and gradients are in double. The preconditioner is the Hessian of each
    output by itself from a sample of the rows (up to 2000 columns), or the diagonal of the Hessian; that of one output
    is the diagonal until as much was spent on products as the Hessian of all rows costs. A direction is as exact as
    what the Hessian neglects (Eisenstat and Walker 1996, choice 1) and the tolerance make worthwhile.
    """

    target: float = 0.0  # a residual below which no step need lead; the tolerance of the run, where it is zero
    name: ClassVar[str] = "Newton-CG"
    unit: ClassVar[str] = "Newton steps"

    def cost(self, problem: Problem) -> float:
        """Products with the Hessian: as many as make a Hessian of 150 columns, or of 300 where they are dearer."""
        if not problem.loss.suits_newton:
            return np.inf
        if problem.m > 1:
            return max(PRODUCTS * pass_cost(problem), JOINT_OVERHEAD)
        costly = problem.rows.basis is not None or problem.rows.is_sparse
        return (PRODUCTS_COSTLY if costly else PRODUCTS) * pass_cost(problem)

    def reason(self, problem: Problem) -> str:
        if problem.rows.basis is not None and problem.m == 1:
            return f"{problem.d} landmarks: a Hessian of a sample of the rows preconditions products with that of all"
        return f"{problem.m} × {problem.p} coefficients: a Hessian would cost more than products with it"

    def toward(self, tol: float) -> "NewtonCG":
        return self if self.target else replace(self, target=tol)

    def init(self, problem: Problem, start: Floats | None) -> NewtonCGState:
        theta = problem.zero() if start is None else start
        single = SingleRows.of(problem)
        point = _at(problem, single, theta)
        return self._state(problem, point, _Past(problem.residual(point), single))

    def step(self, problem: Problem, state: NewtonCGState) -> NewtonCGState:
        point, past = state.point, state.past
        hessian = None if past.single is None or past.double else past.single.hessian(point.theta)
        past = replace(past, double=hessian is None)
        forcing = self._forcing(state.residual, past)
        precondition, factor, max_products = self._preconditioner(problem, point, state.residual, past, hessian)
        product = hessian_product(problem, point.theta) if hessian is None else hessian
        direction, r, inner = conjugate_gradients(product, point.gradient, precondition, forcing, max_products)
        size = max(_norm(point.gradient), 1e-300)
        if hessian is not None and hessian.rounding * _norm(direction) > MAX_ROUNDING * size:
            exact = hessian_product(problem, point.theta)
            change, r, products = conjugate_gradients(
                exact, point.gradient + exact(direction), precondition, MAX_FORCING, max_products
            )
            direction, inner, past = direction + change, inner + products + 1, replace(past, double=True)
        if hessian is not None and past.factor is not None and inner > _kept_for(_cost(problem, True)):
            factor, past = None, replace(past, double=True)  # the Hessian had too few digits
        past = replace(past, spent=past.spent + inner, factor=factor, inner=inner, neglected=None)
        past = replace(past, per_digit=inner / max(-np.log10(forcing), 0.3))
        slope = float((point.gradient * direction).sum())
        length = 1.0
        for _ in range(MAX_HALVINGS):
            trial = _at(problem, past.single, point.theta + length * direction)
            if trial.value <= point.value + SUFFICIENT_DECREASE * length * slope:
                if length == 1.0:
                    past = replace(past, neglected=_norm(trial.gradient + r) / size)
                return self._state(problem, trial, past)
            if -slope * length <= 100 * ROUNDING * abs(point.value):
                if problem.residual(trial) < state.residual:
                    return self._state(problem, trial, past)
                break
            length *= 0.5
        if hessian is not None:  # not in double precision yet
            return self._state(problem, point, replace(past, double=True, factor=None))
        return replace(state, stalled=True)

    def _forcing(self, residual: float, past: _Past) -> float:
        """Part of the gradient that the next step may leave."""
        forcing = np.sqrt(residual / max(past.first, 1e-300))
        if past.neglected is not None:
            forcing = OVERSOLVED * past.neglected
        if forcing * residual <= LAST_STEP * self.target:
            forcing = 0.0  # one step, rather than two
        min_forcing = max(MIN_TARGET * self.target / max(residual, 1e-300), 0.0 if past.double else MIN_SINGLE_FORCING)
        return float(min(max(min(forcing, MAX_FORCING), min_forcing), 0.5))

    def _preconditioner(
        self, problem: Problem, point: Point, residual: float, past: _Past, hessian: SingleHessian | None
    ) -> tuple[Product, Product | None, int]:
        """An approximate inverse of the Hessian, the one that is kept for later steps, and the most products with it.

        Where the Hessian itself takes all rows, it is formed once the products spent would have paid for it, and those
        that are expected until the end would too.
        """
        if not _costly(problem):
            factor = past.factor
            if factor is None or past.inner > MAX_KEPT_PRODUCTS:
                factor = preconditioner(problem, point.theta) if hessian is None else _by(hessian.diagonal())
            return factor, factor, MAX_PRODUCTS
        cost = _cost(problem, hessian is not None)
        if past.factor is not None and past.inner <= _kept_for(cost):
            return past.factor, past.factor, MAX_PRODUCTS
        digits = float(np.log10(max(residual, 1e-300) / max(self.target, 1e-300)))
        max_products = cost - past.spent
        if past.inner and past.per_digit * digits < cost:
            max_products = MAX_PRODUCTS
        if max_products <= 0:
            factor = preconditioner(problem, point.theta) if hessian is None else _factorised(hessian)
            return factor, factor, MAX_PRODUCTS
        if past.factor is not None:
            return past.factor, past.factor, MAX_PRODUCTS
        diagonal = hessian_diagonal(problem, point.theta) if hessian is None else hessian.diagonal()
        return _by(diagonal), None, max_products

    @staticmethod
    def _state(problem: Problem, point: Point, past: _Past) -> NewtonCGState:
        return NewtonCGState(point.theta, point.value, problem.residual(point), point=point, past=past)


def _at(problem: Problem, single: SingleRows | None, theta: Floats) -> Point:
    """The objective at θ, in double precision."""
    return problem.at(theta) if single is None else single.point(theta)


def conjugate_gradients(
    product: Product, gradient: Floats, precondition: Product, forcing: float, max_products: int = MAX_PRODUCTS
) -> tuple[Floats, Floats, int]:
    """x = −H⁻¹g to a relative residual of `forcing`, the residual −g − Hx, and the number of products it took."""
    x = np.zeros_like(gradient)
    r = -gradient
    z = precondition(r)
    p = z.copy()
    rz = float((r * z).sum())
    target = forcing**2 * rz
    products = 0
    while products < max_products:
        products += 1
        q = product(p)
        pq = float((p * q).sum())
        if not pq > 0:
            break
        step = rz / pq
        x += step * p
        r -= step * q
        z = precondition(r)
        rz_before, rz = rz, float((r * z).sum())
        if rz <= target:
            break
        p = z + (rz / rz_before) * p
    return (x if x.any() else precondition(-gradient)), r, products


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
            total += problem.gradient_sums(part, curved(curvature((block.start, number), part, y, w), change))
        return total

    def product(v: Floats) -> Floats:
        Hv = problem.settled(problem.rows.sum(lambda block: of_block(block, v))) / problem.columns.weight
        Hv[:, : problem.d] += problem.quadratic(v)[1]
        return Hv

    return product


def row_curvature(problem: Problem, y: Floats, w: Any, f: Floats) -> Any:
    """The curvature of each row: one number, or the probabilities and the weight where there are several outputs."""
    if problem.m == 1:
        h = problem.loss.curvature(y, f[:, 0])
        return h if w is None else h * w
    loss = cast("Softmax | SoftMargin", problem.loss)
    return loss.shares(y, f), loss.steepness if w is None else w * loss.steepness


def curved(curvature: Any, change: Floats) -> Floats:
    """The change of each row's gradient for a change of its predictions."""
    if not isinstance(curvature, tuple):
        return change * curvature[:, None]
    p, w = curvature
    result = p * change
    result -= p * result.sum(axis=1, keepdims=True)
    result *= w if np.ndim(w) == 0 else w[:, None]
    return result


def preconditioner(problem: Problem, theta: Floats) -> Product:
    """A cheap approximate inverse of the Hessian at θ."""
    sample = problem.curvature_sample()
    if not _formed(problem):
        return _by(hessian_diagonal(problem, theta))
    grams = sample.rows.sum(lambda block: _output_grams(sample, theta, block))
    factors = []
    for gram in grams.parts:
        H = sample.settled_gram(gram) / grams.weight + problem.penalty_hessian
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


def _norm(v: Floats) -> float:
    """The Euclidean norm, of numbers whose squares are beyond the float range too."""
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if 0.0 < largest < np.inf else largest


def _cost(problem: Problem, single: bool) -> int:
    """Products with a Hessian that cost as much as the Hessian."""
    return (
        int(problem.p * (1.0 + problem.p / problem.rows.n) / COLUMNS_PER_SINGLE_PRODUCT)
        if single
        else problem.p // COLUMNS_PER_PRODUCT
    )


def _kept_for(cost: int) -> int:
    """Products of a step up to which its preconditioner is kept."""
    return max(MAX_KEPT_PRODUCTS, cost // 4)


def _by(diagonal: Floats) -> Product:
    inverse = 1.0 / diagonal
    return lambda r: r * inverse


def _factorised(hessian: SingleHessian) -> Product:
    """The inverse of a Hessian of rows in single precision, raised by what is rounding there."""
    H = hessian.matrix()
    H[np.diag_indices(len(H))] *= 1.0 + DIAGONAL_SHIFT
    solve = solver_of(H)
    return lambda r: solve(r[0])[None]


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

    diagonal = problem.rows.sum(of_block) / problem.columns.weight
    diagonal[:, : problem.d] += 2.0 * (problem.square if problem.square.ndim == 1 else np.diagonal(problem.square))
    smallest = 1e-8 * float(diagonal.max(initial=0.0))
    return np.maximum(diagonal, max(smallest, 1e-300))
