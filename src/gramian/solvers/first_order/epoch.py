"""One pass over the rows in random order, a mini-batch at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Ints
from gramian.objective.problem import Problem
from gramian.rows import Block, MemoryRows
from gramian.solvers.first_order.minibatch import compiled_loss, move_all, run_batches
from gramian.solvers.first_order.step_sizes import is_whole, land, stiffness

STAGE_CELLS = 2**18  # numbers gathered at once for the compiled loop
MOST_CELLS = 2**22  # in one batch of the compiled loop; larger ones go through the passes of the problem


@dataclass(eq=False)
class Walk:
    """Where an epoch is: θ flat, what its rule remembers (2, m p), the average of the iterates, and the steps taken."""

    theta: Floats
    memory: Floats
    average: Floats
    seen: int  # iterates in the average; −1 where there is none
    t: int = 0

    def copy(self) -> "Walk":
        return Walk(self.theta.copy(), self.memory.copy(), self.average.copy(), self.seen, self.t)


class Course:
    """What stays the same from epoch to epoch: the problem, the rule, and how the penalty acts on each coordinate."""

    def __init__(self, problem: Problem, batch: int, rule: int, momentum: float, tiny: float, pegasos: bool) -> None:
        self.problem, self.batch, self.rule, self.momentum, self.tiny = problem, batch, rule, momentum, tiny
        self.whole = is_whole(problem)
        self.mean_weight = problem.columns.weight / _counted(problem)
        stiff = stiffness(problem)
        self.unit = np.ones(problem.p)
        if pegasos:
            self.unit = pegasos_unit(problem, stiff)
            if rule < 2:  # the rate says by itself how far the penalty pulls
                stiff = np.zeros(problem.p)
        self.unit, self.stiff = np.tile(self.unit, problem.m), np.tile(stiff, problem.m)
        self.fused = self._is_fused()
        if self.fused:
            self.twice, self.l1 = np.zeros(problem.p), np.zeros(problem.p)
            self.low, self.high = np.full(problem.p, -np.inf), np.full(problem.p, np.inf)
            coefs = slice(problem.d)
            self.twice[coefs], self.l1[coefs] = 2.0 * problem.square, problem.l1
            self.low[coefs], self.high[coefs] = problem.low, problem.high

    def _is_fused(self) -> bool:
        problem = self.problem
        if problem.m > 1 or self.whole or problem.square.ndim == 2:
            return False
        return self.batch * problem.p <= MOST_CELLS and compiled_loss(problem.loss, np.ones(1)) is not None

    def blocks(self, generator: np.random.Generator) -> Iterator[tuple[Block, Ints]]:
        """Blocks in random order, each with the random order of its rows that count; rows in memory are one block."""
        rows = self.problem.rows
        size = rows.n if isinstance(rows, MemoryRows) else rows.block_size
        for i in generator.permutation(-(-rows.n // size)):
            block = rows.block(i * size, min(rows.n, (i + 1) * size))
            used = np.arange(len(block)) if block.weight is None else np.flatnonzero(block.weight > 0)
            if len(used):
                yield block, used[generator.permutation(len(used))]

    def run(self, block: Block, order: Ints, rates: Floats, walk: Walk) -> None:
        """One mini-batch for each rate, over the rows of a block in this order."""
        if not self.fused:
            for number, rate in enumerate(rates):
                self._step(block, order[number * self.batch : (number + 1) * self.batch], float(rate), walk)
            return
        X = block.source
        width = X.nnz / X.shape[0] + 1 if sp.issparse(X) else self.problem.p
        batches = max(1, int(STAGE_CELLS / (width * self.batch)))
        for first in range(0, len(rates), batches):
            rows = order[first * self.batch : (first + batches) * self.batch]
            self._run_fused(block, rows, rates[first : first + batches], walk)

    def _run_fused(self, block: Block, order: Ints, rates: Floats, walk: Walk) -> None:
        problem = self.problem
        assert block.y is not None
        loss = compiled_loss(problem.loss, block.y[order, 0])
        assert loss is not None
        weight = block.weights[order]
        run_batches(
            *standardised(problem, block.source[order]), *loss, weight, self.mean_weight,
            self.batch, self.rule, walk.t, rates, self.unit, self.momentum, self.tiny,
            self.twice, self.stiff, self.l1, self.low, self.high, problem.d if problem.intercept else -1,
            walk.theta, walk.memory, walk.average, walk.seen,
        )  # fmt: skip
        walk.t += len(rates)
        if walk.seen >= 0:
            walk.seen += len(rates)

    def _step(self, block: Block, rows: Ints, rate: float, walk: Walk) -> None:
        problem, (m, p, d) = self.problem, (self.problem.m, self.problem.p, self.problem.d)
        assert block.y is not None
        weight = None if block.weight is None else block.weight[rows]
        batch = Block(block.source, block.y[rows], weight, 0, rows)
        theta = walk.theta.reshape(m, p)
        g = np.zeros((m, p))
        for part, y, w in problem.panels(batch):
            f = problem.predictions(part, theta)
            slopes = problem.loss.gradient(y, f if m > 1 else f[:, 0]).reshape(len(y), m)
            g += problem.gradient_sums(part, slopes if w is None else slopes * w[:, None])
        g /= len(rows) * self.mean_weight
        if problem.parts is not None:
            g[:, :d] += problem.quadratic(theta)[1]
        energy = g**2
        if self.whole:
            energy[:, :d] = energy[:, :d].mean()
        walk.t += 1
        new, lengths = move_all(
            self.rule, walk.t, rate * self.unit, self.momentum, self.tiny, self.stiff, walk.theta,
            g.reshape(-1), energy.reshape(-1), walk.memory,
        )  # fmt: skip
        walk.theta = land(problem, new.reshape(m, p), lengths.reshape(m, p)).reshape(-1)
        if walk.seen >= 0:
            walk.seen += 1
            walk.average = walk.average + (walk.theta - walk.average) / walk.seen


def standardised(problem: Problem, X: Any) -> tuple[Floats, Any, Any]:
    """Rows in the coordinates of θ: (k, p) with the ones of the intercept, or data (1, nnz), indices and indptr."""
    if sp.issparse(X):
        return (X.data * problem.inverse[X.indices])[None, :], X.indices.astype(np.int64), X.indptr.astype(np.int64)
    Z = np.ones((len(X), problem.p))
    inner = Z[:, : problem.d]
    if problem.tame:
        np.subtract(X, problem.center, out=inner)
        inner *= problem.inverse
    else:
        np.multiply(X, problem.inverse, out=inner)
        inner -= problem.center * problem.inverse
    return Z, None, None


def pegasos_unit(problem: Problem, stiff: Floats) -> Floats:
    """1/(2 s) for each coordinate of penalty s θ², which is 1/(2·alpha) in the units of the data; refuses others."""
    if problem.parts is None or problem.alpha == 0 or problem.parts.square.ndim == 2 or not problem.parts.square.all():
        raise ValueError(
            'rate="pegasos" is 1/(2·alpha·t): it needs an alpha above 0 and a penalty with a square for every '
            f"coefficient, such as L2; alpha is {problem.alpha:g} and the penalty {type(problem.penalty).__name__}."
        )
    unit = np.full(problem.p, 1.0 / (2.0 * problem.alpha * float(problem.parts.square.min())))
    with np.errstate(divide="ignore"):
        unit[: problem.d] = 1.0 / (2.0 * stiff[: problem.d])
    return unit


def _counted(problem: Problem) -> int:
    """Rows of positive weight."""
    if not problem.rows.weighted:
        return problem.rows.n
    return problem.rows.sum(lambda block: len(block) if block.weight is None else int((block.weight > 0).sum()))
