"""An objective over rows: its value, gradient and curvature, each from one pass, in coordinates that suit solvers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Ints
from gramian._core.weights import weights_or_ones
from gramian.objective.design import Columns, Coordinates
from gramian.objective.losses.base import Loss
from gramian.objective.panels import Table
from gramian.objective.penalties import Penalty
from gramian.rows import Block, Rows
from gramian.statistics import Moments, Triangle

Data = Rows | Moments | Triangle

NOTHING = 1e-8  # a mean slope of labels
ROUNDED = 1e-6  # residuals over the target that leave gradients of rounding only
MOST = 1e280  # a penalty of a column in its own units: beyond, its coefficient is nothing


class Sums:
    """What a pass adds up: the loss, the sum of |gradient| over rows, the gradient, the Hessian."""

    def __init__(self, value: float, size: float, gradient: Any, hessian: Any) -> None:
        self.value, self.size, self.gradient, self.hessian = value, size, gradient, hessian

    def _absorb(self, other: "Sums") -> "Sums":
        self.value += other.value
        self.size += other.size
        if self.gradient is not None:
            self.gradient += other.gradient
        if self.hessian is not None:
            self.hessian += other.hessian
        return self


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at some θ: its value, the gradient of its smooth part, the Hessian where asked for."""

    theta: Floats
    value: float  # of the whole objective
    smooth: float  # loss and quadratic penalty
    gradient: Floats  # (m, p) of the smooth part
    size: float  # mean over rows of |∂ loss / ∂ f|: what gradients are measured by
    hessian: Any = None


class Problem(Table):
    """(1/Σw) Σ w loss(y, f(x)) + alpha · penalty(coef) over rows, for m outputs.

    θ is (m, p): for each output the coefficients of the centred and scaled columns, then the intercept (p = d + 1; no
    intercept: p = d). `to_original` and `to_standardized` change between θ and the coefficients of the columns as
    given. With `standardize` the penalty, its bounds and its scales are of the coefficients of the columns divided by
    their standard deviations, or by those given in its place, which then are the coefficients in θ. Instead of rows
    there may be sums of them, for direct solvers.
    """

    most_dense: ClassVar[int] = 2000  # columns up to which each output gets a Cholesky factor as its preconditioner

    def __init__(
        self,
        rows: Data,
        loss: Loss,
        penalty: Penalty,
        alpha: float,
        *,
        intercept: bool = True,
        outputs: int = 1,
        columns: Columns | None = None,
        standardize: bool | Floats = False,
    ) -> None:
        self.data = rows
        self.rows = cast(Rows, rows)  # solvers that go over rows are not asked about sums
        self.loss, self.family, self.alpha = loss, penalty, alpha
        self.intercept, self.m, self.d, self.cuts = intercept, outputs, rows.d, loss.cuts
        self.p = rows.d + int(intercept)
        self.shared: dict[type, object] = {}  # what is made of the rows once for all alphas, by its class
        self.coordinates = Coordinates(self.rows, penalty.parts(rows.d), intercept, standardize, columns)

    @property
    def penalty(self) -> Penalty:
        """What alpha multiplies; `family` is the penalty for any alpha."""
        return self.family.at(self.alpha)

    def _with(self, **changes: Any) -> "Problem":
        """The same rows, of which nothing is read again, with another loss, penalty or alpha."""
        return self.on(self.rows, self.columns, **changes)

    def on(self, rows: Rows, columns: Columns | None = None, **changes: Any) -> "Problem":
        """The same problem on other rows, whose columns are read unless they are known."""
        given: dict[str, Any] = {"loss": self.loss, "penalty": self.family, "alpha": self.alpha} | changes
        standardize = False if self.deviations is None else self.deviations
        options: dict[str, Any] = {"intercept": self.intercept, "outputs": self.m, "standardize": standardize}
        return Problem(rows, **given, **options, columns=columns)

    def with_alpha(self, alpha: float) -> "Problem":
        """The same problem with another strength of the penalty."""
        found = self._copied()
        found.alpha = alpha
        return found

    def _copied(self) -> "Problem":
        """The same problem, without what was computed of it when it was asked for."""
        found = Problem.__new__(type(self))
        kept = {k: v for k, v in self.__dict__.items() if not isinstance(getattr(Problem, k, None), cached_property)}
        found.__dict__.update(kept)
        return found

    def with_loss(self, loss: Loss) -> "Problem":
        """The same rows and penalty under another loss."""
        return self._with(loss=loss)

    def with_penalty(self, penalty: Penalty) -> "Problem":
        """The same rows and loss under another penalty."""
        return self._with(penalty=penalty)

    def restricted(self, columns: Ints, rows: Rows) -> "Problem":
        """The problem of some columns alone, in the same coordinates; `rows` have just these."""
        assert self.parts is not None
        assert not self.parts.groups
        found = self._copied()
        found.rows, found.d, found.p = rows, len(columns), len(columns) + int(self.intercept)
        found.coordinates = self.coordinates.restricted(columns)
        return found

    def zero(self) -> Floats:
        """No coefficients, and the intercept that the loss knows to be good."""
        theta = np.zeros((self.m, self.p))
        if self.intercept:
            theta[:, self.d] = self.loss.start(float(self.columns.target[0]))
        return self.within(theta)

    def within(self, theta: Floats) -> Floats:
        """θ with its coefficients within their bounds, which a step passes by rounding."""
        if self.parts is not None and self.parts.bounded:
            theta[:, : self.d] = np.clip(theta[:, : self.d], self.low, self.high)
        return theta

    # the penalty

    def penalty_value(self, coef: Floats) -> float:
        """The penalty, without alpha, of coefficients (d, m) in the units of the data, summed over the outputs."""
        penalised = coef if self.deviations is None else coef * self.scale[:, None]
        return float(sum(self.penalty.value(c) for c in penalised.T))

    def of_constants(self, coef: Floats) -> Floats:
        """Coefficients (m, d) with those of constant columns at the minimum of the penalty, given the others.

        That is 0, or the bound nearest to it; a Tikhonov matrix that couples columns has a value of its own, and an
        unknown penalty keeps what the solver found.
        """
        if self.parts is None:
            return coef
        found = np.clip(np.where(self.constant, 0.0, coef), self.parts.low, self.parts.high)
        if self.parts.square.ndim == 2 and self.alpha > 0:
            k, v = np.flatnonzero(self.constant), np.flatnonzero(~self.constant)
            S = self.parts.square
            found[:, k] = -(coef[:, v] @ S[np.ix_(v, k)]) @ np.linalg.pinv(S[np.ix_(k, k)], hermitian=True)
        return np.where(self.constant, found, coef)

    @cached_property
    def square(self) -> Floats:
        """alpha · S: (d,), or (d, d) for Tikhonov's."""
        assert self.parts is not None
        S = self.parts.square
        if self.alpha == 0 or not S.any():
            return np.zeros(self.d)
        with np.errstate(over="ignore"):
            units = self.inverse**2 if S.ndim == 1 else np.outer(self.inverse, self.inverse)
            return np.clip(self.alpha * S * np.clip(units, 0.0, MOST), -MOST, MOST)

    @cached_property
    def penalty_hessian(self) -> Floats:
        """The Hessian of the quadratic penalty of one output, (p, p): nothing in the row of the intercept."""
        found = np.zeros((self.p, self.p))
        found[: self.d, : self.d] = 2.0 * (np.diag(self.square) if self.square.ndim == 1 else self.square)
        return found

    @cached_property
    def l1(self) -> Floats:
        assert self.parts is not None
        return self.alpha * self.parts.l1 * self.inverse

    @cached_property
    def low(self) -> Floats:
        assert self.parts is not None
        return self.parts.low * self.scale

    @cached_property
    def high(self) -> Floats:
        assert self.parts is not None
        return self.parts.high * self.scale

    @cached_property
    def separable(self) -> tuple[Floats, Floats, Floats]:
        """Cost of absolute values, low and high bound of every number in θ, flattened; the intercept has none."""
        l1, low, high = (
            np.zeros((self.m, self.p)),
            np.full((self.m, self.p), -np.inf),
            np.full((self.m, self.p), np.inf),
        )
        l1[:, : self.d], low[:, : self.d], high[:, : self.d] = self.l1, self.low, self.high
        return l1.reshape(-1), low.reshape(-1), high.reshape(-1)

    @cached_property
    def groups(self) -> list[tuple[Ints, float]]:
        """Each group and what its norm costs."""
        assert self.parts is not None
        unit = self.inverse if self.deviations is None else np.ones(self.d)
        return [(g, self.alpha * float(np.sqrt(len(g)) * unit[g[0]])) for g in self.parts.groups]

    def quadratic(self, theta: Floats) -> tuple[float, Floats]:
        """alpha · cᵀSc summed over the outputs, and its gradient (m, d)."""
        c = theta[:, : self.d]
        product = c * self.square if self.square.ndim == 1 else c @ self.square
        return max(float((c * product).sum()), 0.0), 2.0 * product  # below 0 by rounding, where S is singular

    def nonsmooth_penalty(self, theta: Floats) -> float:
        """What is left of the penalty: absolute values, group norms; infinite out of bounds."""
        assert self.parts is not None
        c = theta[:, : self.d]
        if self.parts.bounded and not ((c >= self.low) & (c <= self.high)).all():
            return np.inf
        found = float((np.abs(c) * self.l1).sum())
        return found + sum(cost * float(np.linalg.norm(row[g])) for g, cost in self.groups for row in c)

    @cached_property
    def reach(self) -> float:
        """The largest |y|."""
        return max(abs(self.columns.low), abs(self.columns.high), 1e-300)

    @cached_property
    def least_slope(self) -> float:
        """A mean |∂ loss / ∂ f| that is nothing: of labels, and of numbers as large as the target."""
        if self.loss.targets in ("signs", "classes"):
            return NOTHING
        if self.loss.targets == "counts":
            return max(ROUNDED * float(self.columns.target[0]), 1e-300)
        with np.errstate(divide="ignore"):
            bend = float(np.abs(self.loss.curvature(np.zeros(1), np.zeros(1)))[0])
        return max(ROUNDED * self.reach * bend, 1e-300) if np.isfinite(bend) else 1e-300

    @cached_property
    def least_value(self) -> float:
        """An objective that is nothing: next to the one without coefficients. Gaps are relative to no less."""
        found = max(1e-6 * abs(self.value(self.zero())), 1e-300)
        if self.loss.targets == "numbers":
            found = max(found, ROUNDED**2 * float(self.loss.value(np.array([self.reach]), np.zeros(1))[0]))
        return found

    def prox(self, theta: Floats, step: Any) -> Floats:
        """argmin over u of ½‖u − θ‖² + step · (the penalty without its quadratic part).

        The step may be one per column where there are no groups.
        """
        found = theta.copy()
        c = found[:, : self.d]
        if self.parts is None:
            for row in c:
                row[:] = self.penalty.prox(row.copy(), float(step) * self.alpha)
            return found
        if self.l1.any():
            c[:] = np.sign(c) * np.maximum(np.abs(c) - step * self.l1, 0.0)
        for g, cost in self.groups:
            for row in c:
                size, least = float(np.linalg.norm(row[g])), float(step) * cost
                row[g] *= 1.0 - least / size if size > least else 0.0
        if self.parts.bounded:
            np.clip(c, self.low, self.high, out=c)
        return found

    def residual(self, point: "Point", least: float = 0.0) -> float:
        """How far θ is from satisfying the conditions of optimality, in standard units, over the mean |∂ loss / ∂ f|.

        The largest entry of θ − prox(θ − gradient): of the gradient itself where the penalty is smooth. A mean slope
        below `least` is nothing.
        """
        left = point.gradient
        if self.parts is None or not self.parts.smooth:
            # With a step so short that the prox is of a convex function, a fixed point is a stationary point.
            concavity = self.alpha * self.penalty.weak_convexity
            step = min(1.0, 0.5 / concavity) if 0.0 < concavity < np.inf else 1.0
            left = (point.theta - self.prox(point.theta - step * point.gradient, step)) / step
        largest = float(np.abs(left).max(initial=0.0))
        if self.loss.targets in ("signs", "classes"):
            reach = max(float(np.abs(point.theta).max(initial=0.0)), 1.0)
            if 0.0 <= point.value < 1.0 and np.sqrt(point.value) <= 1e-15 * reach:
                return 0.0  # no loss is below zero: what is left is the rounding of f
        return 0.0 if largest == 0.0 else largest / max(point.size, self.least_slope, least)

    # passes

    def curvature_sample(self) -> "Problem":
        """The problem on as many rows as a curvature needs to be known well: all of them, where they are at hand."""
        return self

    def at(self, theta: Floats, *, hessian: bool = False) -> Point:
        """The objective at θ, from one pass."""
        sums = self.rows.sum(self._leaf(theta, 2 if hessian else 1))
        return self.point(theta, sums)

    def point(self, theta: Floats, sums: Sums) -> Point:
        """The objective at θ from the sums of its loss over the rows."""
        weight = self.columns.weight
        value = sums.value / weight
        gradient = sums.gradient.reshape(self.m, self.p) / weight
        hessian = None if sums.hessian is None else sums.hessian / weight
        if self.parts is None:
            rough = self.alpha * self.penalty_value(self.to_original(theta)[0])
            return Point(theta, value + rough, value, gradient, sums.size / weight, hessian)
        square, slope = self.quadratic(theta)
        gradient[:, : self.d] += slope
        if hessian is not None:
            for k in range(self.m):
                part = slice(k * self.p, (k + 1) * self.p)
                hessian[part, part] += self.penalty_hessian
        smooth = value + square
        return Point(theta, smooth + self.nonsmooth_penalty(theta), smooth, gradient, sums.size / weight, hessian)

    def value(self, theta: Floats) -> float:
        """The whole objective at θ."""
        total = self.rows.sum(self._leaf(theta, 0)).value / self.columns.weight
        if self.parts is None:
            return float(total + self.alpha * self.penalty_value(self.to_original(theta)[0]))
        return float(total + self.quadratic(theta)[0] + self.nonsmooth_penalty(theta))

    def _leaf(self, theta: Floats, order: int) -> Callable[[Block], Sums]:
        return lambda block: self.block_sums(block, theta, order)

    def block_gram(self, block: Block) -> Floats:
        """Σ w z zᵀ of one block: the Gram matrix of the design in these coordinates."""
        parts = [self.weighted_gram(part, weights_or_ones(w, len(y))) for part, y, w in self.panels(block)]
        return np.asarray(sum(parts))

    def block_sums(self, block: Block, theta: Floats, order: int) -> Sums:
        """The sums of one block: order 0 the loss, 1 its gradient too, 2 its Hessian too."""
        total: Sums | None = None
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far is refused by its value
            for part, y, w in self.panels(block, whole=order == 1):
                if order == 1 and self.m == 1:
                    values, sizes, gradient = self.sweep(part, y, w, theta)
                    sums = Sums(float(values[0]), float(sizes[0]), gradient[0], None)
                else:
                    sums = self._panel(part, y, w, self.predictions(part, theta), order)
                total = sums if total is None else total._absorb(sums)
        assert total is not None
        return total

    def _panel(self, part: Any, y: Floats, w: Any, f: Floats, order: int) -> Sums:
        one = self.m == 1
        if one:
            f = f[:, 0]
        if order == 0:
            value = self.loss.value(y, f)
            return Sums(float(value.sum() if w is None else w @ value), 0.0, None, None)
        if one:
            total, size, g, h = self.loss.summed(y, f, w, True)
            pulled = self.gradient_sums(part, g[:, None]).reshape(-1)
            return Sums(float(total), float(size), pulled, None if h is None else self.weighted_gram(part, h))
        if order == 1:
            (value, g), h = self.loss.value_and_gradient(y, f), None
        else:
            value, g, h = self.loss.all(y, f)
        if w is not None:
            g = g * w[:, None]
        size = float(np.abs(g).sum())
        total = float(value.sum() if w is None else w @ value)
        gradient = self.gradient_sums(part, g).reshape(-1)
        return Sums(total, size, gradient, None if h is None else self.joint_gram(part, h, w))

    def joint_gram(self, part: Any, h: Floats, w: Floats | None = None) -> Floats:
        """Σ w h ⊗ z zᵀ over prepared rows, (m p, m p), for h (n, m, m) whose rows sum to zero.

        A Gram matrix for each pair of outputs, as the Laplacian of a graph: nothing cancels where a class is certain.
        """
        first, second = np.tril_indices(self.m, -1)
        pairs = -h.transpose(1, 2, 0)[first, second]
        if w is not None:
            pairs *= w
        found = np.zeros((self.m, self.p, self.m, self.p))
        for a, b, gram in zip(first, second, self.weighted_grams(part, pairs), strict=True):
            found[a, :, a] += gram
            found[b, :, b] += gram
            found[a, :, b] = found[b, :, a] = -gram
        return found.reshape(self.m * self.p, self.m * self.p)

    def sweep(self, part: Any, y: Floats, w: Floats | None, theta: Floats) -> tuple[Any, Any, Floats]:
        """Of M models, θ (M m, p): sums of the loss (M,), of |gradient| (M,), and the gradients (M m, p)."""
        coef, offset = self._coefficients(part, theta)
        if self.m == 1:
            values, sizes, products, totals = self.loss.swept(part, y, w, coef, offset)
        else:
            f = np.asarray((part @ coef.T).T if sp.issparse(part) else coef @ part.T) + offset[:, None]
            values, sizes, g = self.loss.stacked(y, f.reshape(-1, self.m, len(y)), w)
            g = g.reshape(f.shape)
            products, totals = np.asarray((part.T @ g.T).T if sp.issparse(part) else g @ part), g.sum(axis=1)
        if self._raw(part):
            products = (products - np.outer(totals, self.center)) * self.inverse
        return values, sizes, np.column_stack([products, totals]) if self.intercept else products


def joint_scale(loss: Loss) -> bool:
    """Whether the loss has a scale that is to be estimated."""
    return loss.estimates_scale


def least_scale(problem: Problem) -> float:
    """A scale of the noise below which there is none: next to the range of the target, or to the target itself."""
    columns = problem.columns
    return 1e-9 * ((columns.high - columns.low) or abs(columns.high) or 1.0)


def smooth(problem: Problem) -> bool:
    """Whether loss and penalty have gradients, and there is no scale to be estimated."""
    parts = problem.parts
    return problem.loss.smooth and not problem.loss.estimates_scale and parts is not None and parts.smooth


def is_ridge(problem: Problem) -> bool:
    """Whether the penalty is a multiple of ‖w‖² of the columns as given, and not of zero."""
    parts = problem.parts
    if problem.deviations is not None or parts is None or not parts.smooth or parts.square.ndim == 2:
        return False
    return bool(problem.square.any() and np.ptp(parts.square) == 0)
