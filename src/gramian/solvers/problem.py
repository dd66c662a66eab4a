"""An objective over rows: its value, gradient and curvature, each from one pass, in coordinates that suit solvers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from gramian.features.spread import spread_of
from gramian.objective.losses import Loss, Scaled
from gramian.objective.penalties import Parts, Penalty
from gramian.rows import Block, Rows, scratch

Floats = NDArray[np.float64]
PANEL_CELLS = 2**17  # numbers worked on at once: one megabyte, which stays in a core's cache
FAR = 100.0  # deviations between a column's mean and zero beyond which products of raw columns lose digits
TAME = 2.0**-300, 2.0**300
NOTHING = 1e-10
MOST = 1e280  # a penalty of a column in its own units: beyond, its coefficient is nothing


@dataclass(frozen=True, eq=False)
class Columns:
    """Where the columns are and how far they reach, and the sums of the weights and of the target."""

    weight: float
    center: Floats
    scale: Floats  # powers of two, so that dividing by them is exact
    mean: Floats  # of the target (t,)
    low: float
    high: float
    far: bool
    tame: bool


def columns_of(rows: Rows) -> Columns:
    """One pass: means and deviations of the columns; refuses numbers that are not finite."""

    def of_block(block: Block) -> "_Seen":
        y, w = block.y, block.weight
        assert y is not None
        used = y if w is None else y[w > 0]
        total = y.sum(axis=0) if w is None else w @ y
        low, high = (float(used.min()), float(used.max())) if used.size else (np.inf, -np.inf)
        with np.errstate(invalid="ignore"):
            return _Seen(spread_of(block), total, low, high)

    seen = rows.sum(of_block)
    spread = seen.spread
    if spread.weight == 0:  # a part of a table whose rows all have weight zero
        nothing, one = np.zeros(rows.d), np.ones(rows.d)
        return Columns(0.0, nothing, one, np.zeros(len(rows.target_names)), 0.0, 0.0, False, True)
    if not np.isfinite(spread.deviation).all() or not np.isfinite(spread.mean).all():
        rows.refuse_nonfinite()
    center = np.zeros(rows.d) if rows.is_sparse else spread.mean
    reach = np.hypot(spread.deviation, spread.mean) if rows.is_sparse else spread.deviation
    reach = np.where(reach > 0, reach, 1.0)
    scale = np.ldexp(1.0, np.clip(np.frexp(reach)[1], -1021, 1022))
    tame = bool(((scale > TAME[0]) & (scale < TAME[1])).all() and (np.abs(center) < TAME[1]).all())
    far = not tame or bool((np.abs(center) > FAR * scale).any())
    return Columns(spread.weight, center, scale, seen.total / spread.weight, seen.low, seen.high, far, tame)


class _Seen:
    def __init__(self, spread: Any, total: Floats, low: float, high: float) -> None:
        self.spread, self.total, self.low, self.high = spread, total, low, high

    def __add__(self, other: "_Seen") -> "_Seen":
        return _Seen(
            self.spread + other.spread, self.total + other.total, min(self.low, other.low), max(self.high, other.high)
        )


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


class Problem:
    """(1/Σw) Σ w loss(y, f(x)) + alpha · penalty(coef) over rows, for m outputs.

    θ is (m, p): for each output the coefficients of the centred and scaled columns, then the intercept (p = d + 1; no
    intercept: p = d). `outside` and `inside` change between θ and the coefficients of the columns as given.
    """

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        penalty: Penalty,
        alpha: float,
        *,
        intercept: bool = True,
        outputs: int = 1,
        columns: Columns | None = None,
    ) -> None:
        self.rows, self.loss, self.penalty, self.alpha = rows, loss, penalty, alpha
        self.intercept, self.m, self.d = intercept, outputs, rows.d
        self.p = rows.d + int(intercept)
        self.columns = columns or columns_of(rows)
        self.parts = penalty.parts(rows.d)
        self.scale = _scales(self.columns, self.parts)
        self.center = self.columns.center if intercept else np.zeros(self.d)
        self.inverse = 1.0 / self.scale

    def _with(self, **changes: Any) -> "Problem":
        """The same rows, of which nothing is read again, with another loss, penalty or alpha."""
        given: dict[str, Any] = {"loss": self.loss, "penalty": self.penalty, "alpha": self.alpha} | changes
        return Problem(self.rows, **given, intercept=self.intercept, outputs=self.m, columns=self.columns)

    def with_alpha(self, alpha: float) -> "Problem":
        """The same problem with another strength of the penalty."""
        return self._with(alpha=alpha)

    def with_loss(self, loss: Loss) -> "Problem":
        """The same rows and penalty under another loss."""
        return self._with(loss=loss)

    def with_penalty(self, penalty: Penalty) -> "Problem":
        """The same rows and loss under another penalty."""
        return self._with(penalty=penalty)

    # coordinates

    def outside(self, theta: Floats) -> tuple[Floats, Floats]:
        """Coefficients (d, m) and intercepts (m,) in the units of the data."""
        coef = theta[:, : self.d] * self.inverse
        return coef.T, (theta[:, self.d] - coef @ self.center if self.intercept else np.zeros(self.m))

    def inside(self, coef: Floats, intercept: Floats) -> Floats:
        """θ of coefficients (d, m) and intercepts (m,)."""
        theta = np.empty((self.m, self.p))
        theta[:, : self.d] = coef.T * self.scale
        if self.intercept:
            theta[:, self.d] = intercept + self.center @ coef
        return theta

    def zero(self) -> Floats:
        """No coefficients, and the intercept that the loss knows to be good."""
        theta = np.zeros((self.m, self.p))
        if self.intercept:
            theta[:, self.d] = self.loss.start(float(self.columns.mean[0]))
        if self.parts is not None and self.parts.bounded:
            theta[:, : self.d] = np.clip(theta[:, : self.d], self.low, self.high)
        return theta

    # the penalty in θ

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
    def bend(self) -> Floats:
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
    def groups(self) -> list[tuple[NDArray[np.int64], float]]:
        """Each group and what its norm costs."""
        assert self.parts is not None
        return [(g, self.alpha * float(np.sqrt(len(g)) * self.inverse[g[0]])) for g in self.parts.groups]

    def quadratic(self, theta: Floats) -> tuple[float, Floats]:
        """alpha · cᵀSc summed over the outputs, and its gradient (m, d)."""
        c = theta[:, : self.d]
        product = c * self.square if self.square.ndim == 1 else c @ self.square
        return float((c * product).sum()), 2.0 * product

    def rough(self, theta: Floats) -> float:
        """What is left of the penalty: absolute values, group norms; infinite out of bounds."""
        assert self.parts is not None
        c = theta[:, : self.d]
        if self.parts.bounded and not ((c >= self.low) & (c <= self.high)).all():
            return np.inf
        found = float((np.abs(c) * self.l1).sum())
        return found + sum(cost * float(np.linalg.norm(row[g])) for g, cost in self.groups for row in c)

    @cached_property
    def least_slope(self) -> float:
        """A mean |∂ loss / ∂ f| that is nothing: of labels, and of numbers as large as the target."""
        if self.loss.targets in ("signs", "classes"):
            return NOTHING
        return max(NOTHING * max(abs(self.columns.low), abs(self.columns.high)), 1e-300)

    @cached_property
    def least_value(self) -> float:
        """An objective that is nothing: next to the one without coefficients. Gaps are relative to no less."""
        return max(1e-6 * abs(self.value(self.zero())), 1e-300)

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

    def measure(self, point: "Point") -> float:
        """How far θ is from satisfying the conditions of optimality, in standard units, over the mean |∂ loss / ∂ f|.

        The largest entry of θ − prox(θ − gradient): of the gradient itself where the penalty is smooth.
        """
        left = point.gradient
        if self.parts is None or not self.parts.smooth:
            left = point.theta - self.prox(point.theta - point.gradient, 1.0)
        largest = float(np.abs(left).max(initial=0.0))
        return 0.0 if largest == 0.0 else largest / max(point.size, self.least_slope)

    # passes

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
            coef, _ = self.outside(theta)
            rough = self.alpha * sum(self.penalty.value(c) for c in coef.T)
            return Point(theta, value + rough, value, gradient, sums.size / weight, hessian)
        square, slope = self.quadratic(theta)
        gradient[:, : self.d] += slope
        if hessian is not None:
            for k in range(self.m):
                part = slice(k * self.p, (k + 1) * self.p)
                hessian[part, part] += self.bend
        smooth = value + square
        return Point(theta, smooth + self.rough(theta), smooth, gradient, sums.size / weight, hessian)

    def value(self, theta: Floats) -> float:
        """The whole objective at θ."""
        total = self.rows.sum(self._leaf(theta, 0)).value / self.columns.weight
        if self.parts is None:
            coef, _ = self.outside(theta)
            return float(total + self.alpha * sum(self.penalty.value(c) for c in coef.T))
        return float(total + self.quadratic(theta)[0] + self.rough(theta))

    def _leaf(self, theta: Floats, order: int) -> Callable[[Block], Sums]:
        return lambda block: self.block_sums(block, theta, order)

    def block_sums(self, block: Block, theta: Floats, order: int) -> Sums:
        """The sums of one block: order 0 the loss, 1 its gradient too, 2 its Hessian too."""
        total: Sums | None = None
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far is refused by its value
            for part, y, w in self.panels(block):
                f = self.predictions(part, theta)
                sums = self._panel(part, y, w, f, order)
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
        if order == 1:
            value, g, h = self.loss.value(y, f), self.loss.gradient(y, f), None
        else:
            value, g, h = self.loss.all(y, f)
        if w is not None:
            g = g * (w if one else w[:, None])
        size = float(np.abs(g).sum())
        total = float(value.sum() if w is None else w @ value)
        gradient = self.pull(part, g.reshape(len(y), self.m)).reshape(-1)
        if order == 1:
            return Sums(total, size, gradient, None)
        assert h is not None
        if one:
            if w is not None:
                h = h * w
            return Sums(total, size, gradient, self.weighted_gram(part, h))
        return Sums(total, size, gradient, self._blocks(part, h if w is None else h * w[:, None, None]))

    def _blocks(self, part: Any, h: Floats) -> Floats:
        """The Hessian of several outputs: one weighted Gram matrix for each pair of them."""
        found = np.empty((self.m, self.p, self.m, self.p))
        for a in range(self.m):
            for b in range(a + 1):
                found[a, :, b, :] = self.weighted_gram(part, h[:, a, b])
                found[b, :, a, :] = found[a, :, b, :].T
        return found.reshape(self.m * self.p, self.m * self.p)

    # one panel of rows

    def panels(self, block: Block) -> Any:
        """(rows, target, weight) of a block in pieces that stay in the cache; a sparse block is one piece."""
        y, w = block.y, block.weight
        assert y is not None
        if sp.issparse(block.source):
            X = block.X
            yield X if X.dtype == np.float64 else X.astype(np.float64), y[:, 0], w
            return
        n = len(block)
        size = -(-n // max(round(n * self.p / PANEL_CELLS), 1))
        for start in range(0, n, size):
            some = slice(start, min(start + size, n))
            yield self._prepared(block.part(some)), y[some, 0], None if w is None else w[some]

    def _prepared(self, X: Any) -> Any:
        """Raw rows, or centred ones where raw products would lose digits, in memory of this thread."""
        if not self.columns.far and X.dtype == np.float64 and X.flags.c_contiguous:
            return X
        Z = scratch("panel", *X.shape)
        if not self.columns.far:
            Z[:] = X
            return Z
        if self.columns.tame:
            np.subtract(X, self.center, out=Z)
            Z *= self.inverse
            return Z
        np.multiply(X, self.inverse, out=Z)  # scaled first: the difference itself may be beyond the float range
        Z -= self.center * self.inverse
        return Z

    def standard(self, part: Any) -> Floats:
        """Prepared rows as (n, p): centred, scaled, and with a column of ones where there is an intercept."""
        Z = np.empty((part.shape[0], self.p))
        X = part.toarray() if sp.issparse(part) else part
        Z[:, : self.d] = (X - self.center) * self.inverse if self._raw(part) else X
        if self.intercept:
            Z[:, self.d] = 1.0
        return Z

    def _raw(self, part: Any) -> bool:
        return sp.issparse(part) or not self.columns.far

    def predictions(self, part: Any, theta: Floats) -> Floats:
        """f (n, m) of prepared rows."""
        coef = theta[:, : self.d]
        offset = theta[:, self.d] if self.intercept else np.zeros(self.m)
        if self._raw(part):
            coef = coef * self.inverse
            offset = offset - coef @ self.center
        f = np.asarray(part @ coef.T)
        f += offset
        return f

    def pull(self, part: Any, g: Floats) -> Floats:
        """Σ g zᵀ over prepared rows: (m, p) for g (n, m)."""
        found = np.empty((self.m, self.p))
        products = np.asarray(part.T @ g).T if sp.issparse(part) else g.T @ part
        total = g.sum(axis=0)
        if self._raw(part):
            products = products - np.outer(total, self.center)
            products *= self.inverse
        found[:, : self.d] = products
        if self.intercept:
            found[:, self.d] = total
        return found

    def weighted_gram(self, part: Any, h: Floats) -> Floats:
        """Σ h z zᵀ over prepared rows, (p, p); h may be negative."""
        if sp.issparse(part):
            return self._sparse_gram(part, h)
        Z = scratch("gram", len(h), self.p)
        if self._raw(part):
            np.subtract(part, self.center, out=Z[:, : self.d])
        else:
            Z[:, : self.d] = part
        if self.intercept:
            Z[:, self.d] = 1.0
        if (h < 0).any():
            right = scratch("right", len(h), self.p)
            np.multiply(Z, h[:, None], out=right)
            found = right.T @ Z
        else:
            Z *= np.sqrt(h)[:, None]
            found = Z.T @ Z
        if self._raw(part):
            found[: self.d] *= self.inverse[:, None]
            found[:, : self.d] *= self.inverse
        return found

    def _sparse_gram(self, X: Any, h: Floats) -> Floats:
        found = np.empty((self.p, self.p))
        S = X @ sp.diags_array(self.inverse)
        H = S.multiply(h[:, None]).tocsr()
        found[: self.d, : self.d] = (S.T @ H).toarray()
        if self.intercept:
            found[self.d, : self.d] = found[: self.d, self.d] = S.T @ h
            found[self.d, self.d] = h.sum()
        return found


def _scales(columns: Columns, parts: Parts | None) -> Floats:
    """One scale per column; the columns of a group share theirs, and an unknown penalty keeps the units given."""
    if parts is None:
        return np.ones_like(columns.scale)
    scale = columns.scale.copy()
    for g in parts.groups:
        scale[g] = np.ldexp(1.0, int(np.round(np.mean(np.log2(scale[g])))))
    return scale


def joint_scale(loss: Loss) -> bool:
    """Whether the loss has a scale that is to be estimated."""
    return isinstance(loss, Scaled) and loss.scale is None
