"""Passes that serve all folds: sums over atoms of rows, for the model of all rows and that of every training part."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem
from gramian.rows import Block, MemoryRows, parallel_map, single_threaded_blas
from gramian.rows.labels import CodedRows
from gramian.selection.cv.splits import Plan
from gramian.selection.cv.strategy import FoldTask, SharedFolds

MOST_CELLS = 2e7  # numbers in a table of which a copy is kept, in the order of its folds
MOST_SMALL = 2**17  # numbers of a table, or of its predictions, worked on whole
MOST_PREDICTIONS = 2**16  # of several outputs and models that are worked on at once
NEAR = 8.0  # a ratio of alphas across which solutions are extrapolated


def nearest(known: Iterable[float], alpha: float) -> float:
    """Which of these alphas is next to another, in their logarithm."""
    return min(known, key=lambda other: abs(np.log(other / alpha)))


def extrapolated(known: dict[float, Floats], alpha: float, points: int = 3) -> Floats:
    """A path of solutions extrapolated: a polynomial in log alpha through the `points` that are nearest."""
    by_distance = sorted(known, key=lambda other: abs(np.log(other / alpha)))
    points_used = [a for a in by_distance[:points] if max(a / alpha, alpha / a) <= NEAR**2]
    if max(alpha / by_distance[0], by_distance[0] / alpha) > NEAR or len(points_used) < 2:
        return known[by_distance[0]]
    x, at = np.log(points_used), np.log(alpha)
    shares = [np.prod((at - np.delete(x, j)) / (x[j] - np.delete(x, j))) for j in range(len(x))]
    return np.asarray(sum(share * known[a] for share, a in zip(shares, points_used, strict=True)))


class AtomSums:
    """Of one atom of rows: loss (M,), |gradient| (M,), gradients (M m, p) of M models, and some models' Hessians."""

    def __init__(self, weight: float, values: Floats, sizes: Floats, gradients: Floats, hessian: Floats | None) -> None:
        self.weight, self.values, self.sizes, self.gradients, self.hessian = weight, values, sizes, gradients, hessian

    def _absorb(self, other: "AtomSums") -> "AtomSums":
        self.weight += other.weight
        self.values += other.values
        self.sizes += other.sizes
        self.gradients += other.gradients
        if self.hessian is not None and other.hessian is not None:
            self.hessian += other.hessian
        return self


@dataclass(frozen=True, eq=False)
class SumsByAtom:
    """Of A atoms and M models: weight (A,), loss and |gradient| (A, M), gradients (A, M, m p), Hessians (A, H, …)."""

    weights: Floats
    values: Floats
    sizes: Floats
    gradients: Floats
    hessians: Floats | None


class FoldPasses:
    """The atoms of one plan: which the models train on, `train` (M, A), all rows first, and are tested on, `test`.

    Dense rows in memory are kept in the order of their atoms; a small table is one array.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.plan = plan
        self.train = np.vstack([(plan.train | plan.test).any(axis=0), plan.train]).astype(float)
        self.test = plan.test.astype(float)
        self.table = self._small(problem)
        self.panels = None if self.table else self._copied(problem)

    def _in_memory(self, problem: Problem) -> bool:
        rows = problem.rows
        return isinstance(rows, MemoryRows | CodedRows) and rows.basis is None

    def _small(self, problem: Problem) -> tuple[Floats, Floats, Floats, list[slice]] | None:
        """The rows of a small table, their target and weight in the order of their atoms, and where each atom is."""
        rows = problem.rows
        numbers = rows.n * max(problem.p, len(self.train))
        if problem.m > 1 or not self._in_memory(problem) or rows.is_sparse or numbers > MOST_SMALL:
            return None
        block = rows.collect()
        labels = self.plan.folds.labels(0, rows.n)
        block = block.subset(np.argsort(np.where(labels < 0, len(self.train), labels), kind="stable"))
        ends = np.cumsum([np.count_nonzero(labels == atom) for atom in range(self.train.shape[1])])
        atoms = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        assert block.y is not None
        Z = problem.standard(problem.prepared(np.asarray(block.X)))[: ends[-1]]
        weight = block.weights[: ends[-1]]
        return Z, np.array(block.y[: ends[-1], 0], dtype=np.float64), weight, atoms

    def _copied(self, problem: Problem) -> list[tuple[int, Any]] | None:
        """Panels of the rows in the order of their atoms, where they are in memory."""
        rows = problem.rows
        if not self._in_memory(problem) or (not rows.is_sparse and rows.n * problem.p > MOST_CELLS):
            return None
        block = rows.collect()
        if sp.issparse(block.source) and block.source.nnz > MOST_CELLS:
            return None
        labels, panels = self.plan.folds.labels(0, rows.n), []
        size = rows.n if problem.m == 1 else max(MOST_PREDICTIONS // (problem.m * len(self.train)), 64)
        for atom in range(self.train.shape[1]):
            index = np.flatnonzero(labels == atom)
            for start in range(0, len(index), size):
                parts = problem.panels(block.subset(index[start : start + size]), whole=True)
                panels += [(atom, (X if sp.issparse(X) else np.array(X), np.array(y), w)) for X, y, w in parts]
        return panels

    def sums(self, problem: Problem, theta: Floats, curved: Floats | None = None) -> SumsByAtom:
        """The sums of every atom for θ (M, m p), and of one output the Hessians at each of `curved` (H, p)."""
        if self.table is not None:
            return _of_table(problem, *self.table, theta, curved)
        count, m, p = len(theta), problem.m, problem.p
        theta = theta.reshape(count * m, p)

        def of_part(part: Any, y: Floats, w: Any) -> AtomSums:
            hessian = None if curved is None else _hessians(problem, part, y, w, curved)
            weight = float(len(y)) if w is None else float(w.sum())
            return AtomSums(weight, *problem.sweep(part, y, w, theta), hessian)

        def of_block(block: Block) -> AtomSums:
            return _total([of_part(*part) for part in problem.panels(block, whole=curved is None)])

        if self.panels is None:
            of_atoms = problem.rows.sum_by_fold(of_block, self.plan.folds)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                parts = parallel_map(lambda item: of_part(*item[1]), self.panels)
            atoms: list[list[AtomSums]] = [[] for _ in range(self.train.shape[1])]
            for (atom, _), mine in zip(self.panels, parts, strict=True):
                atoms[atom].append(mine)
            of_atoms = [_total(parts_of_atom) if parts_of_atom else None for parts_of_atom in atoms]
        none = None if curved is None else np.zeros((len(curved), m * p, m * p))
        nothing = AtomSums(0.0, np.zeros(count), np.zeros(count), np.zeros((count * m, p)), none)
        sums = [nothing if atom is None else _settled(problem, atom) for atom in of_atoms]
        return SumsByAtom(
            np.array([atom.weight for atom in sums]),
            np.stack([atom.values for atom in sums]),
            np.stack([atom.sizes for atom in sums]),
            np.stack([atom.gradients.reshape(count, m * p) for atom in sums]),
            None if curved is None else np.stack([atom.hessian for atom in sums]),  # type: ignore[misc]
        )

    def hessians(self, problem: Problem, theta: Floats, index: Ints, train: Floats) -> Floats:
        """Hessians of the loss at θ (m p,) in the numbers that `index` names, for models (M, A) of the atoms."""
        count = len(index)

        def of_part(part: Any, y: Floats, w: Any) -> Floats:
            return _partial_hessian(problem, part, y, w, theta.reshape(problem.m, problem.p), index)

        def of_block(block: Block) -> Floats:
            return np.asarray(sum(of_part(*part) for part in problem.panels(block)))

        if self.table is not None:
            Z, y, w, atoms = self.table
            with single_threaded_blas():
                h, Z = problem.loss.curvature(y, Z @ theta) * w, Z[:, index]
                sums = [(Z[a] * h[a, None]).T @ Z[a] for a in atoms]
            return np.tensordot(train, np.stack(sums), 1)
        if self.panels is None:
            blocks = problem.rows.sum_by_fold(of_block, self.plan.folds)
            return np.tensordot(train, np.stack([np.zeros((count, count)) if H is None else H for H in blocks]), 1)
        used = [(atom, panel) for atom, panel in self.panels if train[:, atom].any()]
        found = np.zeros((len(train), count, count))
        for (atom, _), H in zip(used, parallel_map(lambda item: of_part(*item[1]), used), strict=True):
            for k in np.flatnonzero(train[:, atom]):
                found[k] += H
        return found


def _of_table(
    problem: Problem, Z: Floats, y: Floats, w: Floats, atoms: list[slice], theta: Floats, curved: Floats | None
) -> SumsByAtom:
    loss = problem.loss
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        values, g = loss.value_and_gradient(y, theta @ Z.T)
        values, g = values * w, g * w
        sizes = np.abs(g)
        hessians = None
        if curved is not None:
            h = loss.curvature(y, curved @ Z.T) * w
            hessians = np.empty((len(atoms), len(h), problem.p, problem.p))
            for a, own in zip(atoms, hessians, strict=True):
                for row, H in zip(h, own, strict=True):
                    np.matmul((Z[a] * row[a, None]).T, Z[a], out=H)
        return SumsByAtom(
            np.array([w[a].sum() for a in atoms]),
            np.stack([values[:, a].sum(axis=1) for a in atoms]),
            np.stack([sizes[:, a].sum(axis=1) for a in atoms]),
            np.stack([g[:, a] @ Z[a] for a in atoms]),
            hessians,
        )


def _hessians(problem: Problem, part: Any, y: Floats, w: Any, theta: Floats) -> Floats:
    """Hessians of the loss of one output over prepared rows, (H, p, p), at each of θ (H, p)."""
    h = problem.loss.curvature(y, problem.predictions(part, theta).T)
    h = h if w is None else h * w
    return np.stack([problem.weighted_gram(part, row) for row in h])


def _partial_hessian(problem: Problem, part: Any, y: Floats, w: Any, theta: Floats, index: Ints) -> Floats:
    """The Hessian of the loss over prepared rows in some of the numbers of θ (m, p): of one output, or of a softmax."""
    f = problem.predictions(part, theta)
    if problem.m == 1 and len(index) == problem.p:
        h = problem.loss.curvature(y, f[:, 0])
        return problem.weighted_gram(part, h if w is None else h * w)
    output, column = np.divmod(index, problem.p)
    columns, place = np.unique(column, return_inverse=True)
    Z = np.ascontiguousarray(_some_columns(problem, part, columns).T)
    if problem.m == 1:
        h = problem.loss.curvature(y, f[:, 0])
        return np.asarray((Z * (h if w is None else h * w)) @ Z.T)
    p = problem.loss.probabilities(f)
    assert p is not None
    if w is not None:
        Z *= np.sqrt(w)
    found, products = np.zeros((len(index), len(index))), np.empty((len(index), len(y)))
    ends = np.searchsorted(output, np.arange(problem.m + 1))
    for k in range(problem.m):
        some = slice(ends[k], ends[k + 1])
        own = Z[place[some]]
        np.multiply(own, p[:, k], out=products[some])
        found[some, some] = products[some] @ own.T
    found -= products @ products.T
    return found


def _some_columns(problem: Problem, part: Any, columns: Ints) -> Floats:
    """Columns of prepared rows, centred and scaled; d stands for the ones of the intercept."""
    inner = columns < problem.d
    selected = columns[inner]
    X = part[:, selected]
    X = X.toarray() if sp.issparse(X) else X
    if sp.issparse(part) or not problem.far:
        X = (X - problem.center[selected]) * problem.inverse[selected]
    if inner.all():
        return np.asarray(X)
    Z = np.ones((part.shape[0], len(columns)))
    Z[:, inner] = X
    return Z


def _total(atoms: list[AtomSums]) -> AtomSums:
    first, *rest = atoms
    for atom in rest:
        first._absorb(atom)
    return first


def _settled(problem: Problem, atom: AtomSums) -> AtomSums:
    hessian = None if atom.hessian is None else np.stack([problem.settled_gram(H) for H in atom.hessian])
    return AtomSums(atom.weight, atom.values, atom.sizes, problem.settled(atom.gradients), hessian)


class FoldPath(Protocol):
    """The models of one plan from alpha to alpha: `known` has θ (M, m p) of those met."""

    known: dict[float, Floats]

    def at(self, alpha: float) -> Floats | None:
        """The validation losses of the optima at alpha; None where a part does not converge."""


class FoldSearch(SharedFolds):
    """Validation losses over a path of alphas, all training parts of a plan in the same passes."""

    def __init__(self, task: FoldTask) -> None:
        super().__init__(task)
        self.searches: dict[int, FoldPath] = {}

    @abstractmethod
    def begun(self, plan: Plan) -> FoldPath:
        """The models of a plan, before the first alpha."""

    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K) from large alphas to small; None where a part does not converge."""
        tables = []
        for number in range(len(self.plans)):
            part_losses = self._of_plan(number, alphas)
            if part_losses is None:
                return None
            tables.append(part_losses)
        return np.column_stack(tables)

    def _beaten(self, table: Floats) -> bool:
        """Whether smaller alphas need no look: losses (A, K) so far."""
        return False

    def _of_plan(self, number: int, alphas: Floats) -> Floats | None:
        if number not in self.searches:
            self.searches[number] = self.begun(self.plans[number])
        search = self.searches[number]
        table = np.empty((len(alphas), self.plans[number].count))
        for row, alpha in enumerate(alphas):
            losses = search.at(float(alpha))
            if losses is None:
                return None
            table[row] = losses
            if self._beaten(table[: row + 1]):
                table[row + 1 :] = losses
                break
            self.path[float(alpha)] = search.known[float(alpha)][0].reshape(self.problem.m, -1).copy()
        return table
