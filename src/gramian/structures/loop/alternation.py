"""The one loop of clustering: rows are divided among structures, and each is refitted to its part."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax

from gramian._core import deadline
from gramian.rows import Block, Rows
from gramian.solvers.kmeans.lloyd import EXACT
from gramian.structures.components.base import dense, weights
from gramian.structures.components.levenberg import SHARED, WITHIN
from gramian.structures.loop.assignments import Assignment, Nearest
from gramian.structures.loop.competition import compete
from gramian.structures.loop.initialization import seeds
from gramian.structures.loop.multipass import Answers, Question, concluded
from gramian.structures.loop.state import Pass, State, shared

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
History = list[tuple[int, float, float]]
NOTHING = 1e-100  # weight below which a soft structure is left as it is
KEPT = 2**22  # shares of rows in structures that are kept for the sums a refit asks for, and not computed again
TINY = float(np.finfo(np.float64).tiny)  # the scale of the noise where rows are all the same
LEAST_SCALE = 1e-12  # squared noise of soft distances, in units of the variance of the data


@dataclass(eq=False)
class Outcome:
    """What the loop returns."""

    state: State
    value: float
    history: History
    iterations: int
    measure: float
    converged: bool
    labels: Ints
    mass: Floats
    soft: bool
    change: float = np.nan  # of the objective, by one more pass


class Loop:
    """Rows, a rule, and the passes over them; `labels` and `scores` are of the last pass."""

    def __init__(self, rows: Rows, rule: Assignment, variance: float) -> None:
        self.rows, self.rule, self.variance = rows, rule, variance
        self.labels: Ints = np.full(rows.n, -1, dtype=np.int64)
        self.scores: Floats = np.empty(rows.n)
        self._shares: dict[int, tuple[State, Floats]] = {}

    @cached_property
    def weight(self) -> float:
        return float(self.rows.sum(lambda block: float(weights(block).sum())))

    @cached_property
    def has_missing(self) -> bool:
        return not self.rows.is_sparse and bool(self.rows.sum(lambda block: int(np.isnan(block.X).sum())))

    def seeds(self, templates: list[Any], how: Any, rng: np.random.Generator) -> list[Any]:
        """Fitted structures to start from, one for every template."""
        return seeds(templates, self.rows, how, rng)

    # passes

    def divided(self, state: State) -> Pass:
        """One pass: every row to its nearest structure, or by shares."""
        leaf = self._soft(state) if self.rule.soft else self.hard(state)
        return self.rows.sum(leaf)

    def losses(self, X: Any, state: State) -> Floats:
        return np.column_stack([each.loss(X) for each in state.structures])

    def keep(self, block: Block, owners: Ints, scores: Floats) -> int:
        here = slice(block.start, block.start + len(block))
        changed = int((self.labels[here] != owners).sum())
        self.labels[here] = owners
        self.scores[here] = scores
        return changed

    def hard(self, state: State, rule: Assignment | None = None) -> Callable[[Block], Pass]:
        def leaf(block: Block) -> Pass:
            X, w = dense(block.X), weights(block)
            losses = self.losses(X, state)
            owners = (rule or NEAREST).owners(losses, state.shares)
            own = losses[np.arange(len(losses)), owners]
            changed = self.keep(block, owners, -own)
            summaries = []
            for j, each in enumerate(state.structures):
                mine = np.flatnonzero((owners == j) & (w > 0))
                summaries.append(each.gather(X[mine], w[mine]) if len(mine) else None)
            mass: Any = np.bincount(owners, weights=w, minlength=len(state.structures))
            last = _largest(np.where(w > 0, own, -np.inf), len(state.structures))
            worst = [(float(own[i]), block.start + int(i), X[[i]]) for i in last if w[i] > 0]
            return Pass(float(w @ own), mass, summaries, changed=changed, worst=worst)

        return leaf

    def _soft(self, state: State) -> Callable[[Block], Pass]:
        fused = state.structures[0].fused(state, self)
        return self._plain_soft(state) if fused is None else fused

    def _plain_soft(self, state: State) -> Callable[[Block], Pass]:
        def leaf(block: Block) -> Pass:
            X, w = dense(block.X), weights(block)
            losses = self.losses(X, state)
            joint = -costs(losses, state, self.rows.d)
            top = joint.max(axis=1)
            p = np.exp(joint - top[:, None])
            total = p.sum(axis=1)
            p /= total[:, None]
            scores = top + np.log(total)
            changed = self.keep(block, p.argmax(axis=1), scores)
            p *= w[:, None]
            if self.rows.n * p.shape[1] <= KEPT:
                self._shares[block.start] = (state, p)
            used = w > 0
            summaries = [each.gather(X[used], p[used, j]) for j, each in enumerate(state.structures)]
            spread = float((p * losses).sum()) if state.scale is not None else 0.0
            return Pass(-float(w @ scores), p.sum(axis=0), summaries, spread, changed)

        return leaf

    @staticmethod
    def codimension(structures: list[Any], d: int) -> int:
        """Directions in which the noise of soft distances lies: those that all structures leave."""
        return max(1, min(each.codimension(d) for each in structures))

    # refits

    def _part(self, state: State, questions: list[Question | None]) -> Callable[[Block], Answers]:
        """What each structure asks of the rows that the last pass gave it."""

        def leaf(block: Block) -> Answers:
            X, w = dense(block.X), weights(block)
            if self.rule.soft:
                kept = self._shares.get(block.start)
                if kept is not None and kept[0] is state:
                    p = kept[1]
                else:
                    p = softmax(-costs(self.losses(X, state), state, self.rows.d), axis=1) * w[:, None]
                used = w > 0
                return Answers([None if q is None else q(X[used], p[used, j]) for j, q in enumerate(questions)])
            owners = self.labels[block.start : block.start + len(block)]
            parts = [np.flatnonzero((owners == j) & (w > 0)) for j in range(len(questions))]
            return Answers(
                [
                    None if q is None or not len(part) else q(X[part], w[part])
                    for q, part in zip(questions, parts, strict=True)
                ]
            )

        return leaf

    def refit(self, state: State, found: Pass) -> State:
        """Every structure refitted to its part; one that owns nothing moves to the row that fits worst."""
        least = NOTHING if self.rule.soft else 0.0
        totals = shared(state.structures, found.summaries, found.mass > least)
        passes = SHARED if self.rule.soft else WITHIN
        askings = [
            each.learning(passes) if m > least else None for each, m in zip(state.structures, found.mass, strict=True)
        ]
        summaries = concluded(askings, totals, lambda questions: self.rows.sum(self._part(state, questions)))
        structures, spare = [], iter(found.worst)
        for j, each in enumerate(state.structures):
            if found.mass[j] > least:
                structures.append(each.refitted(summaries[j]))
            elif self.rule.soft or (worst := next(spare, None)) is None or worst[0] <= 0:
                structures.append(each)
            else:
                structures.append(each.through(_row(worst[2])))
        scale = state.scale
        if scale is not None:
            c, power = self.codimension(structures, self.rows.d), structures[0].power
            least = max(LEAST_SCALE * self.variance ** (0.5 * power), TINY)
            scale = max(power * found.spread / (c * self.weight), least)
        return State(structures, found.mass / found.mass.sum(), scale)

    # the loop

    def start(self, structures: list[Any]) -> State:
        """A first state: shares and noise as of the nearest structure."""
        state = State(structures, np.full(len(structures), 1.0 / len(structures)))
        if self.rule.soft and not structures[0].density:
            found = self.rows.sum(self.hard(state))
            c, power = self.codimension(structures, self.rows.d), structures[0].power
            least = LEAST_SCALE * self.variance ** (0.5 * power)
            state = State(structures, np.maximum(found.mass, 1e-3 * self.weight / len(structures)), None)
            state.shares = state.shares / state.shares.sum()
            state.scale = max(power * found.value / (c * self.weight), least, TINY)
        return state

    def run(self, state: State, *, max_iter: int, tol: float) -> Outcome:
        """Passes and refits until nothing changes, the objective falls by no more than `tol`, or time is over."""
        history: History = []
        state = compete(self, state, history)
        found = self.divided(state)
        history.append((len(history), found.value, np.inf))
        iteration, measure, converged = 0, np.inf, False
        while iteration < max_iter and not converged and not (iteration and deadline.passed()):
            state = self.refit(state, found)
            before, found = found.value, self.divided(state)
            iteration += 1
            measure = self.fall(before, found.value, state)
            history.append((len(history), found.value, measure))
            converged = measure <= tol
        return Outcome(
            state,
            found.value,
            history,
            len(history) - 1,
            measure,
            converged,
            self.labels,
            found.mass,
            self.rule.soft,
        )

    def fall(self, before: float, after: float, state: State) -> float:
        """How far the objective fell: relative to itself, or per row where it is −log of a likelihood."""
        if self.rule.soft or state.structures[0].density:
            return (before - after) / self.weight
        size = max(before, EXACT * self.weight * self.variance ** (0.5 * state.structures[0].power))
        return (before - after) / size if size > 0 else 0.0

    def certify(self, outcome: Outcome) -> None:
        """How much one more pass would change, and `labels` and `scores`: computed from the structures alone."""
        state = outcome.state
        found = self.divided(state)
        kept = self.labels.copy(), self.scores.copy()
        after = self.divided(self.refit(state, found))
        self.labels[:], self.scores[:] = kept
        outcome.change = max(self.fall(found.value, after.value, state), 0.0)


NEAREST = Nearest()


def _largest(values: Floats, count: int) -> Ints:
    """Places of the largest, the first of equal ones first."""
    if len(values) > count:
        places = np.flatnonzero(values >= np.partition(values, -count)[-count])
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")][:count]


def _row(X: Any) -> Floats:
    """One row of a table as a vector."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64).reshape(-1)


def costs(losses: Floats, state: State, d: int) -> Floats:
    """−log of share × density."""
    with np.errstate(divide="ignore"):
        shares = np.log(state.shares)
    if state.scale is None:
        return losses - shares
    power, c = state.structures[0].power, Loop.codimension(state.structures, d)
    volume = 0.5 * c * np.log(np.pi * state.scale) if power == 2 else c * np.log(2.0 * state.scale)
    return losses / state.scale + volume - shares
