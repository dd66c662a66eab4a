"""A copy of dense rows in single precision, for products with Hessians: directions need no more digits."""

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from gramian._core.numerics.compiled import njit
from gramian._core.types import Floats, Singles
from gramian.objective.problem import Point, Problem
from gramian.rows import MemoryRows, parallel_map
from gramian.rows.reduce import add

MIN_CELLS, MAX_CELLS = 2**17, 2**25  # numbers in a table that is copied: a pass takes longer than what starts it
LEAF_CELLS = 3 * 2**18  # numbers of the copy that a thread works on at once
COPIED_CELLS = 2**15  # numbers converted at once
MIN_LEAF_ROWS = 1000  # rows of a gradient from which losses have compiled loops
EPS = float(np.finfo(np.float32).eps)
LARGEST = 1e30  # a column in its own deviations, or a curvature over another: beyond, products may overflow


class SingleRows:
    """The standard columns of one output in single precision, in panels: curvatures, and products with the Hessian.

    Sums within a panel are in single precision, sums of panels in double. Values and gradients are in double, from the
    rows as given. The panels depend on the shape of the table alone, so that threads change no bits.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, rows = problem, problem.rows
        assert isinstance(rows, MemoryRows)
        assert rows.y is not None
        n = rows.n
        self.leaves = _ranges(n, _power_of_two(n * problem.p / LEAF_CELLS))
        self.gradient_leaves = _ranges(n, _power_of_two(min(n * problem.p / LEAF_CELLS, n / MIN_LEAF_ROWS)))
        self.panels: list[Singles] = parallel_map(self._copied, self.leaves)
        y, w = rows.y[:, 0], rows.weight
        self.y = [np.ascontiguousarray(y[a:b]) for a, b in self.leaves]
        self.w = [None if w is None else w[a:b] for a, b in self.leaves]
        self.finite = all(np.isfinite(panel).all() for panel in self.panels)

    @staticmethod
    def of(problem: Problem) -> "SingleRows | None":
        """The copy, where it is worth its memory: for dense rows of moderate number in memory and one output."""
        rows = problem.rows
        cells = rows.n * problem.p
        if not (problem.m == 1 and isinstance(rows, MemoryRows) and rows.basis is None and not rows.is_sparse):
            return None
        if not (type(problem) is Problem and MIN_CELLS <= cells <= MAX_CELLS):
            return None
        with np.errstate(over="ignore"):
            copy = SingleRows(problem)
        return copy if copy.finite else None

    def _copied(self, leaf: tuple[int, int]) -> Singles:
        problem = self.problem
        block, p, d = problem.rows.block(*leaf), problem.p, problem.d
        Z = np.empty((len(block), p), dtype=np.float32)
        size = max(COPIED_CELLS // p, 1)
        for start in range(0, len(block), size):
            part = problem.prepared(block.part(slice(start, start + size)))
            if problem.far:
                Z[start : start + size, :d] = part
                continue
            change = part - problem.center
            change *= problem.inverse
            Z[start : start + size, :d] = change
        if problem.intercept:
            Z[:, d] = 1.0
        return Z

    def point(self, theta: Floats) -> Point:
        """The objective at θ and its gradient, in double precision."""
        problem = self.problem
        sums = parallel_map(lambda leaf: problem.block_sums(problem.rows.block(*leaf), theta, 1), self.gradient_leaves)
        return problem.point(theta, reduce(add, sums))

    def hessian(self, theta: Floats) -> "SingleHessian | None":
        """The Hessian at θ; None where its curvatures are beyond the range of single precision."""
        problem, v = self.problem, theta[0].astype(np.float32)

        def of_panel(k: int) -> Floats:
            f = (self.panels[k] @ v).astype(np.float64)
            h = np.asarray(problem.loss.curvature(self.y[k], f), dtype=np.float64)
            w = self.w[k]
            return h if w is None else h * w

        with np.errstate(over="ignore", invalid="ignore"):
            h = parallel_map(of_panel, range(len(self.panels)))
        largest = max(float(part.max(initial=0.0)) for part in h)
        if not 1.0 / LARGEST < largest < LARGEST:  # or NaN
            return None
        return SingleHessian(self, [(part / largest).astype(np.float32) for part in h], largest)


class SingleHessian:
    """The Hessian of a loss and a quadratic penalty: products with it, its diagonal, and itself as a matrix."""

    def __init__(self, rows: SingleRows, h: list[Singles], scale: float) -> None:
        self.rows, self.h, self.scale = rows, h, scale / rows.problem.columns.weight
        self.largest = 0.0  # Rayleigh quotient of the loss

    def __call__(self, v: Floats) -> Floats:
        problem = self.rows.problem
        size = float(np.abs(v).max())
        if size == 0.0:
            return np.zeros_like(v)
        unit = v / size
        found = self._summed(_product, unit[0].astype(np.float32)) * self.scale
        self.largest = max(self.largest, float(found @ unit[0]) / float(unit[0] @ unit[0]))
        found[: problem.d] += problem.quadratic(unit)[1][0]
        return found[None] * size

    def diagonal(self) -> Floats:
        """Its diagonal (1, p), with nothing so small that its inverse means nothing."""
        problem = self.rows.problem
        found = self._summed(_squares, np.empty(0, dtype=np.float32)) * self.scale
        np.maximum(found, max(1e-8 * float(found.max(initial=0.0)), 1e-300), out=found)
        found[: problem.d] += 2.0 * (problem.square if problem.square.ndim == 1 else np.diagonal(problem.square))
        return found[None]

    def matrix(self) -> Floats:
        """The Hessian (p, p)."""

        def of_panel(k: int) -> Singles:
            Z = self.rows.panels[k] * np.sqrt(self.h[k])[:, None]
            return np.asarray(Z.T @ Z)

        grams = parallel_map(of_panel, range(len(self.h)))
        H = grams[0].astype(np.float64)
        for gram in grams[1:]:
            H += gram
        H *= self.scale
        H += self.rows.problem.penalty_hessian
        return np.asarray(H)

    @property
    def rounding(self) -> float:
        """About the norm of what is rounding in Hx, over that of x."""
        return 10.0 * EPS * self.largest

    def _summed(self, kernel: Callable[..., None], v: Singles) -> Floats:
        def of_panel(k: int) -> Singles:
            out = np.zeros(self.rows.problem.p, dtype=np.float32)
            kernel(self.rows.panels[k], self.h[k], v, out)
            return out

        parts = parallel_map(of_panel, range(len(self.h)))
        return np.asarray(reduce(np.add, parts, np.zeros(self.rows.problem.p)))


def _power_of_two(count: float) -> int:
    return int(2 ** int(np.log2(max(count, 1.0))))


def _ranges(n: int, count: int) -> list[tuple[int, int]]:
    edges = [n * k // count for k in range(count + 1)]
    return [(a, b) for a, b in pairwise(edges) if a < b]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _product(Z: Any, h: Any, v: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Σ h (zᵀv) z added to `out`, four rows at a time, so that Z is read from memory once."""
    n, p = Z.shape
    for i in range(0, n - n % 4, 4):
        if h[i] == 0 and h[i + 1] == 0 and h[i + 2] == 0 and h[i + 3] == 0:
            continue
        a, b, c, e = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for j in range(p):
            x = v[j]
            a += Z[i, j] * x
            b += Z[i + 1, j] * x
            c += Z[i + 2, j] * x
            e += Z[i + 3, j] * x
        a *= h[i]
        b *= h[i + 1]
        c *= h[i + 2]
        e *= h[i + 3]
        for j in range(p):
            out[j] += a * Z[i, j] + b * Z[i + 1, j] + c * Z[i + 2, j] + e * Z[i + 3, j]
    for i in range(n - n % 4, n):
        a = np.float32(0.0)
        for j in range(p):
            a += Z[i, j] * v[j]
        a *= h[i]
        for j in range(p):
            out[j] += a * Z[i, j]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _squares(Z: Any, h: Any, _: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Σ h z² added to `out`, four rows at a time."""
    n, p = Z.shape
    for i in range(0, n - n % 4, 4):
        a, b, c, e = h[i], h[i + 1], h[i + 2], h[i + 3]
        for j in range(p):
            out[j] += (
                a * Z[i, j] * Z[i, j]
                + b * Z[i + 1, j] * Z[i + 1, j]
                + c * Z[i + 2, j] * Z[i + 2, j]
                + e * Z[i + 3, j] * Z[i + 3, j]
            )
    for i in range(n - n % 4, n):
        for j in range(p):
            out[j] += h[i] * Z[i, j] * Z[i, j]
