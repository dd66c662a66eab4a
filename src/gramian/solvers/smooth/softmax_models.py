"""Several softmax models fitted to one copy of the rows: all of them in the same products."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Bools, Floats, Ints, Singles
from gramian.objective.problem import Problem, smooth
from gramian.rows import MemoryRows, parallel_map
from gramian.rows.labels import CodedRows
from gramian.solvers.smooth.newton_cg import preconditioner
from gramian.solvers.smooth.softmax_loops import gradient_sums, hessian_products, neglected_sums

MAX_CELLS = 2e7  # numbers in the table: copies of it are kept, in both precisions
MOST_JOINT = 1500  # coefficients whose Hessian of all rows is formed and factorised
MAX_KEPT_PRODUCTS = 2**24  # numbers in the products of columns that are kept
PANELS = 8  # of rows, each worked on in one go, ...
TESTED = 4096  # rows of a test part, each worked on in one go
FEWEST_ROWS, MOST_ROWS = 1024, 4096  # ... of so many rows
MOST_INTERPRETED = 2**19  # predictions of all models, whose passes are not worth the seconds that they take to compile
MAX_INNER_STEPS = 60
MAX_EXPONENT = 300.0  # sums of exponentials neither overflow nor vanish
ELEMENTWISE = 50  # operations of a product with X that take as long as what else is done with each prediction
DIAGONAL_SHIFT = 1e-5  # of the diagonal, in single precision


def stackable(problem: Problem) -> bool:
    """Whether it is a softmax over dense rows in memory with a smooth penalty, so that one copy serves all models."""
    rows, loss = problem.rows, problem.loss
    dense = isinstance(rows, MemoryRows | CodedRows) and rows.basis is None and not rows.is_sparse
    softmax = loss.likelihood and loss.targets == "classes"
    return dense and softmax and smooth(problem) and rows.n * problem.p <= MAX_CELLS


@dataclass(eq=False)
class _Panel:
    """Some rows, their classes, and their weights in each model (M, n)."""

    Z: Floats  # (n, p)
    single: Singles
    codes: Ints
    train: Floats
    pairs: Singles | None = None  # products of two columns of Z
    P: Any = None  # probabilities (M, m, n) where the last gradient was taken


class SoftmaxModels:
    """M models of the same rows under other weights: θ is (M, m, p).

    Values and gradients are in double precision; products with Hessians, and the preconditioner, which all models
    share, are in single precision, for directions need no more.
    """

    def __init__(self, problem: Problem, train: Floats, test: Floats) -> None:
        block = problem.rows.collect()
        assert block.y is not None
        n, p = problem.rows.n, problem.p
        self.problem = problem
        self.codes = block.y[:, 0].astype(np.int64)
        self.joint = (problem.m - 1) * p <= MOST_JOINT
        self.hessian: Singles | None = None
        kept = self.joint and n * p * (p + 1) // 2 <= MAX_KEPT_PRODUCTS
        X = block.X
        self.compiled = n * problem.m * len(train) > MOST_INTERPRETED
        size = int(np.clip(-(-n // PANELS), FEWEST_ROWS, MOST_ROWS))

        def panel_of(start: int) -> _Panel:
            some = slice(start, min(start + size, n))
            Z = problem.standard(problem.prepared(X[some]))
            single = Z.astype(np.float32)
            pairs = _pairs(single) if kept else None
            return _Panel(Z, single, self.codes[some], train[:, some], pairs)

        self.panels: list[_Panel] = parallel_map(panel_of, range(0, n, size))
        ones = np.eye(problem.m)
        targets = parallel_map(lambda panel: (panel.train[:, None] * ones[:, panel.codes]) @ panel.Z, self.panels)
        self.targets = np.asarray(sum(targets))  # (M, m, p): of the gradients, what the targets add
        self.count = len(test)
        parts = [(model, np.flatnonzero(row)) for model, row in enumerate(test)]
        parts = [(model, rows[i : i + TESTED]) for model, rows in parts for i in range(0, len(rows), TESTED)]
        self.tests = [
            (model, X[rows], self.codes[rows] * len(rows) + np.arange(len(rows)), test[model, rows])
            for model, rows in parts
        ]

    def test_losses(self, theta: Floats) -> Floats:
        """The loss of the rows that each model is judged by."""

        problem = self.problem

        def of_part(part: tuple[int, Any, Ints, Floats]) -> float:
            model, X, own, weight = part
            f = np.ascontiguousarray(problem.predictions(problem.prepared(X), theta[model]).T)
            f -= f.max(axis=0)
            losses = -f.take(own)
            losses += np.log(np.exp(f, out=f).sum(axis=0))
            return float(losses @ weight)

        losses = np.zeros(len(theta))
        for part, loss in zip(self.tests, parallel_map(of_part, self.tests), strict=True):
            losses[part[0]] += loss
        return losses

    def gradients(self, theta: Floats, live: Ints) -> tuple[Floats, Floats]:
        """Of the models `live` at θ: the training loss and its gradient."""
        count, m, p = theta.shape
        flat = np.ascontiguousarray(theta.reshape(count * m, p))

        def compiled(panel: _Panel) -> tuple[Floats, Floats]:
            n, train, g = len(panel.Z), panel.train[live], np.zeros((count * m, p))
            panel.P = np.empty((count, m, n), dtype=np.float32)
            total, own = np.empty((2, count, n))
            gradient_sums(panel.Z, panel.codes, train, flat, panel.P, total, own, g)
            return ((np.log(total) - own) * train).sum(axis=1), g.reshape(count, m, p)

        def of_panel(panel: _Panel) -> tuple[Floats, Floats]:
            f = flat @ panel.Z.T
            n = f.shape[1]
            own = f.reshape(count, m * n).take(panel.codes * n + np.arange(n), axis=1)
            f = f.reshape(count, m, n)
            top = f.max(axis=1)
            if not np.abs(top).max() < MAX_EXPONENT:
                f -= top[:, None]
                own -= top
            np.exp(f, out=f)
            total = f.sum(axis=1)
            f *= (1.0 / total)[:, None]
            panel.P = f.astype(np.float32)
            train = panel.train[live]
            f *= train[:, None]
            g = f.reshape(count * m, n) @ panel.Z
            return ((np.log(total) - own) * train).sum(axis=1), g.reshape(count, m, p)

        with np.errstate(over="ignore", invalid="ignore"):  # a step too far is refused by its value
            found = parallel_map(compiled if self.compiled else of_panel, self.panels)
        value, g = (sum(part) for part in zip(*found, strict=True))
        square, slope = penalty(self.problem, theta)
        return value + square, g - self.targets[live] + slope

    def keep(self, chosen: Bools) -> None:
        """Go on with some of the models that the last gradients were of."""
        for panel in self.panels if not chosen.all() else []:
            panel.P = panel.P[chosen]

    def neglected(self, live: Ints, x: Floats) -> Floats:
        """The gradients at θ + x less g + Hx: probabilities p become p eᶜ / Σ p eᶜ where predictions change by c."""
        count, m, p = x.shape
        flat = x.reshape(count * m, p).astype(np.float32)

        def compiled(panel: _Panel) -> Floats:
            g = np.zeros((count * m, p))
            neglected_sums(panel.single, panel.train[live].astype(np.float32), panel.P, flat, g)
            return g.reshape(count, m, p)

        def of_panel(panel: _Panel) -> Floats:
            c = (flat @ panel.single.T).reshape(count, m, -1)
            c -= np.einsum("kmn,kmn->kn", panel.P, c)[:, None]
            change = np.expm1(c)
            mean = np.einsum("kmn,kmn->kn", panel.P, change)[:, None]
            change -= mean
            change /= 1.0 + mean
            change -= c
            change *= panel.P
            change *= panel.train[live].astype(np.float32)[:, None, :]
            return np.asarray(change.reshape(count * m, -1) @ panel.single, dtype=np.float64).reshape(count, m, p)

        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(sum(parallel_map(compiled if self.compiled else of_panel, self.panels)))

    def directions(self, live: Ints, g: Floats, z: Floats, solve: Any, enough: Floats) -> tuple[Floats, Floats, int]:
        """−H⁻¹g of the models by conjugate gradients, where z = M⁻¹g: g + Hx there, and the number of products.

        They end where the residual r has rᵀM⁻¹r ≤ `enough`.
        """
        energy = (g * z).sum(axis=(1, 2))
        x, r, direction = np.zeros_like(g), -g, -z
        weights = [panel.train[live].astype(np.float32) for panel in self.panels]
        going = energy > enough
        inner = 0
        while going.any() and inner < MAX_INNER_STEPS:
            inner += 1
            q = self._products(direction, weights) + penalty(self.problem, direction)[1]
            curve = (direction * q).sum(axis=(1, 2))
            going &= curve > 0
            length = np.where(going, energy / np.where(curve > 0, curve, 1.0), 0.0)[:, None, None]
            x += length * direction
            r -= length * q
            z = solve(r)
            last, energy = energy, (r * z).sum(axis=(1, 2))
            going &= energy > enough
            direction = z + (energy / np.where(last > 0, last, 1.0))[:, None, None] * direction
        return x, -r, inner

    def _products(self, v: Floats, weights: list[Singles]) -> Floats:
        """Hv of the loss of every model."""
        count, m, p = v.shape
        flat = v.reshape(count * m, p).astype(np.float32)

        def compiled(index: int) -> Floats:
            panel, q = self.panels[index], np.zeros((count * m, p))
            hessian_products(panel.single, weights[index], panel.P, flat, q)
            return q.reshape(count, m, p)

        def of_panel(index: int) -> Floats:
            panel = self.panels[index]
            c = (flat @ panel.single.T).reshape(count, m, -1)
            c *= panel.P
            c -= panel.P * c.sum(axis=1, keepdims=True)
            c *= weights[index][:, None, :]
            return np.asarray(c.reshape(count * m, -1) @ panel.single, dtype=np.float64).reshape(count, m, p)

        return np.asarray(sum(parallel_map(compiled if self.compiled else of_panel, range(len(self.panels)))))

    # the preconditioner: that of the first model, in all classes but the last, whose coefficients are minus their sum

    @property
    def hessian_cost(self) -> float:
        """What forming and factorising the joint Hessian costs, in products with those of all models."""
        m, p, n, models = self.problem.m, self.problem.p, self.problem.rows.n, self.count
        formed = n * m * (m - 1) / 2 * p * p + ((m - 1) * p) ** 3 / 3
        return formed / (n * models * m * (4 * p + ELEMENTWISE))

    def update_hessian(self) -> None:
        """Take the Hessian of the loss of the first model where the last gradients were: (q, p, q, p)."""
        q, p = self.problem.m - 1, self.problem.p
        left, right = np.tril_indices(q)
        up = np.triu_indices(p)

        def of_panel(panel: _Panel) -> Singles:
            P = panel.P[0]
            h = -P[left] * P[right]
            h[left == right] += P[:q]
            h *= panel.train[0]
            return np.asarray(h @ (_pairs(panel.single) if panel.pairs is None else panel.pairs))

        sums = sum(parallel_map(of_panel, self.panels))
        square = np.empty((len(left), p, p), dtype=np.float32)
        square[:, up[0], up[1]] = sums
        square[:, up[1], up[0]] = sums
        found = np.empty((q, q, p, p), dtype=np.float32)
        found[left, right] = square
        found[right, left] = square
        self.hessian = np.ascontiguousarray(found.transpose(0, 2, 1, 3))

    def preconditioner(self, theta: Floats) -> Callable[[Floats], Floats] | None:
        """(M, m, p) ↦ the same times an inverse of the first model's Hessian; None where it has none."""
        problem = self.problem
        if not self.joint:
            of_one = preconditioner(problem, theta)
            return lambda r: np.stack([of_one(one) for one in r])
        assert self.hessian is not None
        q, p, m = problem.m - 1, problem.p, problem.m
        bend = problem.penalty_hessian.astype(np.float32)
        A = self.hessian.copy()
        for a in range(q):
            for b in range(q):
                A[a, :, b, :] += bend * np.float32((a == b) - 1.0 / m)
        A = A.reshape(q * p, q * p)
        diagonal = np.diagonal(A).copy()
        A[np.diag_indices(q * p)] += np.float32(DIAGONAL_SHIFT) * np.where(diagonal > 0, diagonal, np.float32(1.0))
        try:
            factor = sl.cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None

        def solve(r: Floats) -> Floats:
            right = r[:, :q].reshape(len(r), q * p).T.astype(np.float32)
            found = np.zeros_like(r)
            found[:, :q] = sl.cho_solve(factor, right, check_finite=False).T.reshape(len(r), q, p)
            found -= found.mean(axis=1, keepdims=True)
            return found

        return solve


def _pairs(Z: Singles) -> Singles:
    left, right = np.triu_indices(Z.shape[1])
    return np.asarray(Z[:, left] * Z[:, right])


def penalty(problem: Problem, theta: Floats) -> tuple[Floats, Floats]:
    """The quadratic penalty of every model, and its gradient."""
    found = np.zeros_like(theta)
    c = theta[:, :, : problem.d]
    found[:, :, : problem.d] = 2.0 * (c * problem.square if problem.square.ndim == 1 else c @ problem.square)
    return 0.5 * (found * theta).sum(axis=(1, 2)), found
