"""Exact cross-validation of smooth problems: the model of all rows and of every training part, in the same passes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.rows import Block, MemoryRows, parallel_map
from gramian.rows.labels import CodedRows
from gramian.selection.splits import Plan
from gramian.solvers.landmark_problem import LandmarkProblem
from gramian.solvers.newton import FAST, Curvature
from gramian.solvers.problem import Problem

Floats = NDArray[np.float64]
MOST_PASSES = 60
MOST_PAIRS = 8
MOST_CELLS = 2e7  # numbers in a table of which a copy is kept, in the order of its folds
SETTLED = 1e-5  # length of a Newton step in the metric of the Hessian, over the root of the loss
NEAR = 8.0  # a ratio of alphas across which solutions are foretold
PATIENCE = 1  # Hessians of all rows at one alpha, before each model gets its own


def foretold(known: dict[float, Floats], alpha: float) -> Floats:
    """Where a path of solutions leads: a parabola in log alpha through those that are nearest."""
    away = sorted(known, key=lambda other: abs(np.log(other / alpha)))
    some = [a for a in away[:3] if max(a / alpha, alpha / a) <= NEAR**2]
    if max(alpha / away[0], away[0] / alpha) > NEAR or len(some) < 2:
        return known[away[0]]
    x, at = np.log(some), np.log(alpha)
    shares = [np.prod((at - np.delete(x, j)) / (x[j] - np.delete(x, j))) for j in range(len(some))]
    return np.asarray(sum(share * known[a] for share, a in zip(shares, some, strict=True)))


class _Atom:
    """Of one atom of rows: loss (M,), |gradient| (M,), gradient (M, p) of M models, and Hessians (1 or M, p, p)."""

    def __init__(self, weight: float, values: Floats, sizes: Floats, gradients: Floats, hessian: Floats | None) -> None:
        self.weight, self.values, self.sizes, self.gradients, self.hessian = weight, values, sizes, gradients, hessian

    def _absorb(self, other: "_Atom") -> "_Atom":
        self.weight += other.weight
        self.values += other.values
        self.sizes += other.sizes
        self.gradients += other.gradients
        if self.hessian is not None and other.hessian is not None:
            self.hessian += other.hessian
        return self


class FoldNewton:
    """Newton's method for a path of alphas, all training parts at once.

    The Hessian of a training part is taken at the solution of all rows, where the Hessians of the atoms add up; its
    gradient is its own, so what it converges to is its own optimum. One Hessian serves every part and as many alphas as
    it makes converge fast: what is left are passes for gradients, each serving every part. Where that is slow, every
    part gets its own.
    """

    def __init__(self, problem: Problem, plans: list[Plan], tol: float = 1e-6) -> None:
        self.problem, self.plans, self.tol = LandmarkProblem.of(problem), plans, tol
        self.path: dict[float, Floats] = {}  # θ of all rows at each alpha
        self.searches: dict[int, _Path] = {}

    def losses(self, alphas: Floats) -> Floats | None:
        """Mean validation losses (A, K) from large alphas to small; None where a part does not converge."""
        tables = []
        for number in range(len(self.plans)):
            found = self._of_plan(number, alphas)
            if found is None:
                return None
            tables.append(found)
        return np.column_stack(tables)

    def _of_plan(self, number: int, alphas: Floats) -> Floats | None:
        if number not in self.searches:
            self.searches[number] = _Path(self.problem, self.plans[number], self.tol)
        search = self.searches[number]
        table = np.empty((len(alphas), self.plans[number].count))
        for row, alpha in enumerate(alphas):
            found = search.at(float(alpha))
            if found is None:
                return None
            table[row] = found
            self.path[float(alpha)] = search.known[float(alpha)][:1].copy()
        return table


class _Path:
    """The models of one plan from alpha to alpha, and the Hessians of its atoms."""

    def __init__(self, problem: Problem, plan: Plan, tol: float) -> None:
        self.problem, self.plan, self.tol = problem, plan, tol
        self.train = np.vstack([(plan.train | plan.test).any(axis=0), plan.train]).astype(float)
        self.test = plan.test.astype(float)
        self.theta = np.repeat(problem.zero(), len(self.train), axis=0)
        self.hessians: Floats | None = None  # (atoms, 1 or M, p, p)
        self.pairs: list[list[tuple[Floats, Floats]]] = [[] for _ in self.train]  # steps, and what they did to the loss
        self.known: dict[float, Floats] = {}
        self.panels = self._copied()

    def _copied(self) -> list[tuple[int, Any]] | None:
        """Panels of the rows in the order of their atoms, where they are in memory."""
        problem, rows = self.problem, self.problem.rows
        dense = isinstance(rows, MemoryRows | CodedRows) and rows.basis is None and not rows.is_sparse
        if not dense or rows.n * problem.p > MOST_CELLS:
            return None
        block = rows.collect()
        labels, found = self.plan.folds.labels(0, rows.n), []
        for atom in range(self.train.shape[1]):
            some = block.take(np.flatnonzero(labels == atom))
            if len(some):
                parts = problem.panels(some, whole=True)
                found += [(atom, (np.array(part), np.array(y), w)) for part, y, w in parts]
        return found

    def at(self, alpha: float) -> Floats | None:
        """The validation losses of the optima at alpha."""
        problem = self.problem.with_alpha(alpha)
        if self.known:
            self.theta = foretold(self.known, alpha)
        curvatures: list[Curvature] | None = None
        before = np.full(len(self.train), np.inf)
        step, last, renewed = np.zeros_like(self.theta), None, 0
        for _ in range(MOST_PASSES):
            want = self.hessians is None
            atoms = self._pass(problem, hessian=0 if not want else 1 if renewed <= PATIENCE else len(self.theta))
            weights = np.array([a.weight for a in atoms])
            total = self.train @ weights
            if (total <= 0).any():
                return None
            if want:
                self.hessians, curvatures, renewed = np.stack([a.hessian for a in atoms]), None, renewed + 1
                self.pairs = [[] for _ in self.train]
            g = np.einsum("ka,akp->kp", self.train, np.stack([a.gradients for a in atoms])) / total[:, None]
            size = np.einsum("ka,ak->k", self.train, np.stack([a.sizes for a in atoms])) / total
            values = np.stack([a.values for a in atoms])
            slope = problem.quadratic(self.theta)[1]
            g[:, : problem.d] += slope
            measure = np.abs(g).max(axis=1) / np.maximum(size, 1e-300)
            if not np.isfinite(measure).all() or (measure > 100.0 * np.maximum(before, self.tol)).any():
                return None
            if curvatures is None:
                curvatures = self._curvatures(problem, total)
            elif last is not None:
                for k, (s, change) in enumerate(zip(step, g - last, strict=True)):
                    curvatures[k] = curvatures[k].mended(s, change)
                    self.pairs[k] = [*self.pairs[k][-MOST_PAIRS:], (s, change - problem.bend @ s)]
            step = -np.stack([c.inverse(row) for c, row in zip(curvatures, g, strict=True)])
            loss = np.abs(np.einsum("ka,ak->k", self.train, values) / total)
            loss += 0.5 * (slope * self.theta[:, : problem.d]).sum(axis=1)
            near = np.abs((g * step).sum(axis=1)) <= SETTLED**2 * loss
            settled = (measure <= self.tol) | near
            if settled.all():
                step[~near] = 0.0
                self.known[alpha] = self.theta + step
                values += self._change(atoms, step)
                with np.errstate(invalid="ignore"):  # NaN where no row of the test part counts
                    return np.asarray(np.einsum("ka,ak->k", self.test, values[:, 1:]) / (self.test @ weights))
            if ((measure > FAST * before) & ~settled).any():
                self.hessians = None  # slow: the next pass brings new ones
            before, last = measure, g
            step[settled] = 0.0
            self.theta = self.theta + step
        return None

    def _change(self, atoms: list[Any], step: Floats) -> Floats:
        """What a last step does to the losses (atoms, M), to second order: a test part has a slope at the optimum."""
        assert self.hessians is not None
        bent = (self.hessians @ step[:, :, None])[..., 0]
        return np.asarray(((np.stack([a.gradients for a in atoms]) + 0.5 * bent) * step).sum(axis=2))

    def _curvatures(self, problem: Problem, total: Floats) -> list[Curvature]:
        """Of every model at this alpha: the Hessian of its atoms, and what earlier steps have shown of its loss."""
        assert self.hessians is not None
        found = []
        for k, (part, weight, pairs) in enumerate(zip(self.train, total, self.pairs, strict=True)):
            own = self.hessians[:, min(k, self.hessians.shape[1] - 1)]
            curvature = Curvature(np.tensordot(part, own, axes=1) / weight + problem.bend)
            for s, change in pairs:
                curvature = curvature.mended(s, change + problem.bend @ s)
            found.append(curvature)
        return found

    def _pass(self, problem: Problem, *, hessian: int) -> list[Any]:
        """The sums of every atom; Hessians of the first so many models."""
        theta = self.theta

        def of_part(part: Any, y: Floats, w: Any) -> _Atom:
            curved = None
            if hessian:
                f = problem.predictions(part, theta[:hessian])
                h = problem.loss.curvature(y, f.T)
                h = h if w is None else h * w
                curved = np.stack([problem.weighted_gram(part, row) for row in h])
            weight = float(len(y)) if w is None else float(w.sum())
            return _Atom(weight, *problem.sweep(part, y, w, theta), curved)

        def of_block(block: Block) -> _Atom:
            return _total([of_part(*part) for part in problem.panels(block, whole=not hessian)])

        if self.panels is None:
            found = problem.rows.sum_by_fold(of_block, self.plan.folds)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                parts = parallel_map(lambda item: of_part(*item[1]), self.panels)
            atoms: list[list[_Atom]] = [[] for _ in range(self.train.shape[1])]
            for (atom, _), mine in zip(self.panels, parts, strict=True):
                atoms[atom].append(mine)
            found = [_total(some) if some else None for some in atoms]
        p, count = problem.p, len(theta)
        none = np.zeros((hessian, p, p)) if hessian else None
        nothing = _Atom(0.0, np.zeros(count), np.zeros(count), np.zeros((count, p)), none)
        return [nothing if atom is None else _settled(problem, atom) for atom in found]


def _total(atoms: list[_Atom]) -> _Atom:
    first, *rest = atoms
    for atom in rest:
        first._absorb(atom)
    return first


def _settled(problem: Problem, atom: _Atom) -> _Atom:
    hessian = None if atom.hessian is None else np.stack([problem.settled_gram(H) for H in atom.hessian])
    return _Atom(atom.weight, atom.values, atom.sizes, problem.settled(atom.gradients), hessian)
