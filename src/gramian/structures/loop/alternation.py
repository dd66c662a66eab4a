"""The alternation of every clustering: assign rows to structures, refit structures to their rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from gramian._core import deadline
from gramian._core.types import Floats, Ints, Matrix
from gramian.rows import Block, Rows
from gramian.solvers.kmeans.lloyd import EXACT
from gramian.structures.components.base import dense
from gramian.structures.components.quadrics.levenberg import MAX_HARD_PASSES, MAX_SOFT_PASSES
from gramian.structures.loop.assignments import Assignment, Nearest
from gramian.structures.loop.competition import compete
from gramian.structures.loop.initialization import initial_structures
from gramian.structures.loop.multipass import BlockStatistic, StructureTotals, run_requests
from gramian.structures.loop.state import LoopState, PassTotals, pooled

if TYPE_CHECKING:
    from gramian.structures.components.base import Structure

History = list[tuple[int, float, float]]
MIN_MASS = 1e-100  # weight below which a soft structure is not refitted
MAX_KEPT_RESPONSIBILITIES = 2**22  # kept for the further passes of refits; beyond, they are computed again
TINY = float(np.finfo(np.float64).tiny)  # the scale of the noise where all rows are equal
MIN_RELATIVE_SCALE = 1e-12  # squared noise of soft distances, in units of the loss of rows of the variance of the data


@dataclass(eq=False)
class LoopResult:
    """The end of a run of the loop."""

    state: LoopState
    value: float
    history: History
    iterations: int
    decrease: float  # of the objective, by the last pass
    converged: bool
    labels: Ints
    mass: Floats
    soft: bool
    change: float = np.nan  # of the objective, by one more pass


class Loop:
    """Rows, an assignment rule, and the passes over the rows; `labels` and `scores` are of the last pass."""

    scores_as_predicted: ClassVar[bool] = False  # the last pass scores rows by the same sums as prediction

    def __init__(self, rows: Rows, rule: Assignment, variance: float) -> None:
        self.rows, self.rule, self.variance = rows, rule, variance
        self.labels: Ints = np.full(rows.n, -1, dtype=np.int64)
        self.scores: Floats = np.empty(rows.n)
        self._responsibilities: dict[int, tuple[LoopState, Floats]] = {}

    @cached_property
    def weight(self) -> float:
        return float(self.rows.sum(lambda block: float(block.weights.sum())))

    @cached_property
    def has_missing(self) -> bool:
        return not self.rows.is_sparse and bool(self.rows.sum(lambda block: int(np.isnan(block.X).sum())))

    def initial_structures(
        self, templates: "list[Structure]", how: object, rng: np.random.Generator
    ) -> "list[Structure]":
        """Fitted structures to start from, one for every template."""
        return initial_structures(templates, self.rows, how, rng)

    # passes

    def assign(self, state: LoopState) -> PassTotals:
        """One pass: every row to its nearest structure, or by responsibilities."""
        leaf = self._soft(state) if self.rule.soft else self.hard(state)
        return self.rows.sum(leaf)

    def losses(self, X: Matrix, state: LoopState) -> Floats:
        return np.column_stack([each.loss(X) for each in state.structures])

    def keep(self, block: Block, owners: Ints, scores: Floats) -> int:
        """Store the labels and scores of a block; return the number of labels that changed."""
        here = slice(block.start, block.start + len(block))
        changed = int((self.labels[here] != owners).sum())
        self.labels[here] = owners
        self.scores[here] = scores
        return changed

    def hard(self, state: LoopState, rule: Assignment | None = None) -> Callable[[Block], PassTotals]:
        def leaf(block: Block) -> PassTotals:
            X, w = dense(block.X), block.weights
            losses = self.losses(X, state)
            owners = (rule or NEAREST).owners(losses, state.shares)
            own_losses = losses[np.arange(len(losses)), owners]
            changed = self.keep(block, owners, -own_losses)
            totals = []
            for j, each in enumerate(state.structures):
                members = np.flatnonzero((owners == j) & (w > 0))
                totals.append(each.statistics(X[members], w[members]) if len(members) else None)
            mass: Any = np.bincount(owners, weights=w, minlength=len(state.structures))
            largest = _largest(np.where(w > 0, own_losses, -np.inf), len(state.structures))
            worst = [(float(own_losses[i]), block.start + int(i), X[[i]]) for i in largest if w[i] > 0]
            return PassTotals(float(w @ own_losses), mass, totals, changed=changed, worst=worst)

        return leaf

    def _soft(self, state: LoopState) -> Callable[[Block], PassTotals]:
        fused = state.structures[0].fused_pass(state, self)
        return self._plain_soft(state) if fused is None else fused

    def _plain_soft(self, state: LoopState) -> Callable[[Block], PassTotals]:
        def leaf(block: Block) -> PassTotals:
            X, w = dense(block.X), block.weights
            losses = self.losses(X, state)
            joint = -joint_losses(losses, state, self.rows.d)
            largest = joint.max(axis=1)
            p = np.exp(joint - largest[:, None])
            total = p.sum(axis=1)
            p /= total[:, None]
            scores = largest + np.log(total)
            changed = self.keep(block, p.argmax(axis=1), scores)
            p *= w[:, None]
            if self.rows.n * p.shape[1] <= MAX_KEPT_RESPONSIBILITIES:
                self._responsibilities[block.start] = (state, p)
            used = w > 0
            totals = [each.statistics(X[used], p[used, j]) for j, each in enumerate(state.structures)]
            weighted_loss = float((p * losses).sum()) if state.scale is not None else 0.0
            return PassTotals(-float(w @ scores), p.sum(axis=0), totals, weighted_loss, changed)

        return leaf

    @staticmethod
    def codimension(structures: "list[Structure]", d: int) -> int:
        """Dimensions of the noise of soft distances: those that are orthogonal to all structures."""
        return max(1, min(each.codimension(d) for each in structures))

    # refits

    def _requested(self, state: LoopState, pending: list[BlockStatistic | None]) -> Callable[[Block], StructureTotals]:
        """The requested statistics of the rows that the last pass assigned to each structure."""

        def leaf(block: Block) -> StructureTotals:
            X, w = dense(block.X), block.weights
            if self.rule.soft:
                kept = self._responsibilities.get(block.start)
                if kept is not None and kept[0] is state:
                    p = kept[1]
                else:
                    p = softmax(-joint_losses(self.losses(X, state), state, self.rows.d), axis=1) * w[:, None]
                used = w > 0
                return StructureTotals([None if f is None else f(X[used], p[used, j]) for j, f in enumerate(pending)])
            owners = self.labels[block.start : block.start + len(block)]
            members = [np.flatnonzero((owners == j) & (w > 0)) for j in range(len(pending))]
            return StructureTotals(
                [
                    None if f is None or not len(index) else f(X[index], w[index])
                    for f, index in zip(pending, members, strict=True)
                ]
            )

        return leaf

    def refit(self, state: LoopState, last: PassTotals) -> LoopState:
        """Every structure refitted to its rows; one without rows moves to the row of largest loss."""
        min_mass = MIN_MASS if self.rule.soft else 0.0
        totals = pooled(state.structures, last.totals, last.mass > min_mass)
        max_passes = MAX_SOFT_PASSES if self.rule.soft else MAX_HARD_PASSES
        requests = [
            each.pass_requests(max_passes) if m > min_mass else None
            for each, m in zip(state.structures, last.mass, strict=True)
        ]
        estimates = run_requests(requests, totals, lambda pending: self.rows.sum(self._requested(state, pending)))
        structures, worst_rows = [], iter(last.worst)
        for j, each in enumerate(state.structures):
            if last.mass[j] > min_mass:
                structures.append(each.refitted(estimates[j]))
            elif self.rule.soft or (worst := next(worst_rows, None)) is None or worst[0] <= 0:
                structures.append(each)
            else:
                structures.append(each.moved_to(_row(worst[2])))
        scale = None if state.scale is None else self._noise_scale(structures, last.weighted_loss)
        return LoopState(structures, last.mass / last.mass.sum(), scale)

    def _noise_scale(self, structures: "list[Structure]", weighted_loss: float) -> float:
        """The maximum-likelihood scale of the noise of soft distances, above a floor."""
        c, template = self.codimension(structures, self.rows.d), structures[0]
        floor = MIN_RELATIVE_SCALE * template.loss_unit(self.variance)
        return float(max(template.power * weighted_loss / (c * self.weight), floor, TINY))

    # the loop

    def start(self, structures: "list[Structure]") -> LoopState:
        """An initial state: proportions and noise from the assignment to the nearest structure."""
        state = LoopState(structures, np.full(len(structures), 1.0 / len(structures)))
        if self.rule.soft and not structures[0].density:
            nearest = self.rows.sum(self.hard(state))
            state = LoopState(structures, np.maximum(nearest.mass, 1e-3 * self.weight / len(structures)), None)
            state.shares = state.shares / state.shares.sum()
            state.scale = self._noise_scale(structures, nearest.value)
        return state

    def run(self, state: LoopState, *, max_iter: int, tol: float) -> LoopResult:
        """Passes and refits until nothing changes, the objective decreases by at most `tol`, or time is over."""
        history: History = []
        state = compete(self, state, history)
        totals = self.assign(state)
        history.append((len(history), totals.value, np.inf))
        iteration, decrease, converged = 0, np.inf, False
        while iteration < max_iter and not converged and not (iteration and deadline.passed()):
            state = self.refit(state, totals)
            before, totals = totals.value, self.assign(state)
            iteration += 1
            decrease = self.decrease(before, totals.value, state)
            history.append((len(history), totals.value, decrease))
            converged = decrease <= tol
        return LoopResult(
            state,
            totals.value,
            history,
            len(history) - 1,
            decrease,
            converged,
            self.labels,
            totals.mass,
            self.rule.soft,
        )

    def decrease(self, before: float, after: float, state: LoopState) -> float:
        """The decrease of the objective: relative, or per row where it is −log of a likelihood."""
        if self.rule.soft or state.structures[0].density:
            return (before - after) / self.weight
        size = max(before, EXACT * self.weight * state.structures[0].loss_unit(self.variance))
        return (before - after) / size if size > 0 else 0.0

    def certify(self, result: LoopResult) -> None:
        """Compute the change by one more pass, and `labels` and `scores`, from the structures alone."""
        state = result.state
        totals = self.assign(state)
        labels, scores = self.labels.copy(), self.scores.copy()
        after = self.assign(self.refit(state, totals))
        self.labels[:], self.scores[:] = labels, scores
        result.change = max(self.decrease(totals.value, after.value, state), 0.0)


NEAREST = Nearest()


def _largest(values: Floats, count: int) -> Ints:
    """Indices of the largest values, in order; of equal ones the first."""
    if len(values) > count:
        index = np.flatnonzero(values >= np.partition(values, -count)[-count])
    else:
        index = np.arange(len(values))
    return index[np.argsort(-values[index], kind="stable")][:count]


def _row(X: Matrix) -> Floats:
    """One row of a table as a vector."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64).reshape(-1)


def joint_losses(losses: Floats, state: LoopState, d: int) -> Floats:
    """−log (mixing proportion × density) of every row and structure."""
    with np.errstate(divide="ignore"):
        log_shares = np.log(state.shares)
    if state.scale is None:
        return losses - log_shares
    power, c = state.structures[0].power, Loop.codimension(state.structures, d)
    log_volume = 0.5 * c * np.log(np.pi * state.scale) if power == 2 else c * np.log(2.0 * state.scale)
    return losses / state.scale + log_volume - log_shares
