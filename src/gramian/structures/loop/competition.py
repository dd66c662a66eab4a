"""Competitive learning before the alternation: frequency-sensitive, or with penalised rivals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.rows.base import Block
from gramian.structures.components.base import dense
from gramian.structures.loop.rounding import first_least

if TYPE_CHECKING:
    from gramian.structures.components.base import Structure
    from gramian.structures.loop.state import LoopState

MIN_SEPARATION = 16.0  # squared distance of two means, in variances of their rows along the line between them
MAX_MOVEMENT = 1e-6  # of points at convergence, in root mean squares of the rows about them


def compete(loop: Any, state: "LoopState", history: list[tuple[int, float, float]]) -> Any:
    """The state after the competition of a rule, if it has one."""
    if loop.rule.penalizes_rivals:
        return _rival_penalized(loop, state, history)
    return _frequency_sensitive(loop, state, history)


def _frequency_sensitive(loop: Any, state: "LoopState", history: list[tuple[int, float, float]]) -> Any:
    """Competition by losses times the share of rows won so far; none where the rule has no such passes."""
    won = np.zeros(len(state.structures))
    for _ in range(loop.rule.competition_passes()):
        if deadline.passed():
            break
        totals = loop.rows.sum(loop.hard(state, loop.rule))
        history.append((len(history), totals.value, np.inf))
        won = won + totals.mass
        state = loop.refit(state, totals)
        state.shares = np.maximum(won, 1e-9 * won.sum()) / won.sum()
        if not totals.changed:
            break
    return state


@dataclass(eq=False)
class _CompetitionTotals:
    """Weights and weighted sums of the rows that each point wins, and of those that it is the rival of."""

    value: float
    won: Floats
    lost: Floats
    won_sum: Floats
    lost_sum: Floats

    def __add__(self, other: "_CompetitionTotals") -> "_CompetitionTotals":
        return _CompetitionTotals(
            self.value + other.value,
            self.won + other.won,
            self.lost + other.lost,
            self.won_sum + other.won_sum,
            self.lost_sum + other.lost_sum,
        )


def _rival_penalized(loop: Any, state: "LoopState", history: list[tuple[int, float, float]]) -> Any:
    """Winners move to their rows and rivals away from them, until the winners converge."""
    structures = list(state.structures)
    for _ in range(loop.rule.competition_passes()):
        if deadline.passed():
            break
        current = replace(state, structures=structures)
        totals = loop.rows.sum(_leaf(loop, current))
        history.append((len(history), totals.value, np.inf))
        moves = []
        for j, each in enumerate(structures):
            attraction = totals.won_sum[j] - totals.won[j] * each.location
            repulsion = totals.lost_sum[j] - totals.lost[j] * each.location
            moves.append((attraction - repulsion) / max(totals.won[j] + totals.lost[j], 1e-300))
        winners = [j for j in range(len(structures)) if totals.won[j] > 0]
        movement = max(float(np.linalg.norm(moves[j])) for j in winners)
        if len(winners) == len(moves) and movement <= MAX_MOVEMENT * np.sqrt(totals.value / loop.weight):
            surplus = _surplus_point(loop, current, totals)
            if surplus is None:
                break
            winners.remove(surplus)
        structures = [structures[j].moved_to(structures[j].location + moves[j]) for j in winners]
    else:  # points that oscillate within a cluster
        structures = _one_per_cluster(loop, state, structures)
    shares = np.full(len(structures), 1.0 / len(structures))
    return replace(state, structures=structures, shares=shares)


def _one_per_cluster(loop: Any, state: "LoopState", structures: "list[Structure]") -> "list[Structure]":
    """The means of the rows that points win, without surplus points."""
    while True:
        current = replace(state, structures=structures)
        totals = loop.rows.sum(_leaf(loop, current))
        winners = [j for j in range(len(structures)) if totals.won[j] > 0]
        if len(winners) == len(structures):
            surplus = _surplus_point(loop, current, totals)
            if surplus is None:
                return structures
            winners.remove(surplus)
        structures = [structures[j].moved_to(totals.won_sum[j] / totals.won[j]) for j in winners]


def _surplus_point(loop: Any, state: "LoopState", totals: _CompetitionTotals) -> int | None:
    """A point that shares a cluster with another, if there is one: of the two the one with fewer rows.

    Two points share a cluster where D² < 16 s²: D is the distance of the means of their rows, s² the variance of the
    rows about these along the line between them. Halves of a normal cluster have 7 s², of a uniform one 12.
    """
    means = totals.won_sum / totals.won[:, None]
    k = len(means)
    pairs = [(i, j) for i in range(k) for j in range(i) if _nearest(means, i) == j or _nearest(means, j) == i]
    if not pairs:
        return None
    directions = np.array([means[i] - means[j] for i, j in pairs])
    lengths = np.sqrt(np.einsum("ij,ij->i", directions, directions))
    directions = directions / np.where(lengths > 0, lengths, 1.0)[:, None]
    ends = np.array(pairs)

    def leaf(block: Block) -> Floats:
        X, w = dense(block.X), block.weights
        owners = first_least(loop.losses(X, state))
        along = np.asarray(X @ directions.T) - np.einsum("jd,pd->jp", means, directions)[owners]
        is_member = (owners[:, None] == ends[:, 0]) | (owners[:, None] == ends[:, 1])
        return np.asarray(w @ np.where(is_member, along, 0.0) ** 2)

    variance = loop.rows.sum(leaf) / totals.won[ends].sum(axis=1)
    separation = np.where(
        variance > 0, lengths**2 / np.where(variance > 0, variance, 1.0), np.where(lengths > 0, np.inf, 0.0)
    )
    closest = int(separation.argmin())
    if separation[closest] >= MIN_SEPARATION:
        return None
    i, j = pairs[closest]
    return i if totals.won[i] < totals.won[j] else j


def _nearest(means: Floats, i: int) -> int:
    squares = ((means - means[i]) ** 2).sum(axis=1)
    squares[i] = np.inf
    return int(squares.argmin())


def _leaf(loop: Any, state: "LoopState") -> Callable[[Any], _CompetitionTotals]:
    def leaf(block: Block) -> _CompetitionTotals:
        X, w = dense(block.X), block.weights
        k = len(state.structures)
        losses = loop.losses(X, state)
        owners = first_least(losses)
        rivals, strength = loop.rule.penalty(losses, owners) if k > 1 else (owners, np.zeros(len(w)))
        rows = np.arange(len(w))
        won, lost = np.zeros((len(w), k)), np.zeros((len(w), k))
        won[rows, owners] = w
        lost[rows, rivals] = w * strength
        value = float(w @ losses[rows, owners])
        won_sum, lost_sum = np.asarray(X.T @ won).T, np.asarray(X.T @ lost).T
        return _CompetitionTotals(value, won.sum(axis=0), lost.sum(axis=0), won_sum, lost_sum)

    return leaf
