"""The passes before the last ones, in which structures compete: rare winners are helped, or rivals driven away."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian._core import deadline
from gramian.structures.components.base import dense, weights
from gramian.structures.loop.rounding import first_least

Floats = NDArray[np.float64]
APART = (
    16.0  # squared distance of the means of two clusters, in squared spreads along the way, below which they are one
)
STILL = 1e-6  # movement of points, in root mean squares of the rows about them, that ends it


def compete(loop: Any, state: Any, history: list[tuple[int, float, float]]) -> Any:
    """The state after the competition of a rule, if it has one; points that win nothing are dropped by the last."""
    if not loop.rule.opens():
        return state
    return _driven(loop, state, history) if hasattr(loop.rule, "penalty") else _evened(loop, state, history)


def _evened(loop: Any, state: Any, history: list[tuple[int, float, float]]) -> Any:
    """Losses times the shares won so far."""
    won = np.zeros(len(state.structures))
    for _ in range(loop.rule.opens()):
        if deadline.passed():
            break
        found = loop.rows.sum(loop.hard(state, loop.rule))
        history.append((len(history), found.value, np.inf))
        won = won + found.mass
        state = loop.refit(state, found)
        state.shares = np.maximum(won, 1e-9 * won.sum()) / won.sum()
        if not found.changed:
            break
    return state


@dataclass(eq=False)
class _Moves:
    """Sums of the rows that points win and of those that drive them away, with their weights."""

    value: float
    won: Floats
    pushed: Floats
    won_sum: Floats
    pushed_sum: Floats

    def __add__(self, other: "_Moves") -> "_Moves":
        return _Moves(
            self.value + other.value,
            self.won + other.won,
            self.pushed + other.pushed,
            self.won_sum + other.won_sum,
            self.pushed_sum + other.pushed_sum,
        )


def _driven(loop: Any, state: Any, history: list[tuple[int, float, float]]) -> Any:
    """Winners learn rows and rivals are driven from them, until what wins stands still."""
    structures = list(state.structures)
    for _ in range(loop.rule.opens()):
        if deadline.passed():
            break
        at = replace(state, structures=structures)
        found = loop.rows.sum(_leaf(loop, at))
        history.append((len(history), found.value, np.inf))
        moves = []
        for j, each in enumerate(structures):
            pull = found.won_sum[j] - found.won[j] * each.center_
            push = found.pushed_sum[j] - found.pushed[j] * each.center_
            moves.append((pull - push) / max(found.won[j] + found.pushed[j], 1e-300))
        kept = [j for j in range(len(structures)) if found.won[j] > 0]
        still = max(float(np.linalg.norm(moves[j])) for j in kept)
        if len(kept) == len(moves) and still <= STILL * np.sqrt(found.value / loop.weight):
            surplus = _balanced(loop, at, found)
            if surplus is None:
                break
            kept.remove(surplus)
        structures = [structures[j].through(structures[j].center_ + moves[j]) for j in kept]
    else:  # points that go to and fro within a cluster
        structures = _parted(loop, state, structures)
    shares = np.full(len(structures), 1.0 / len(structures))
    return replace(state, structures=structures, shares=shares)


def _parted(loop: Any, state: Any, structures: list[Any]) -> list[Any]:
    """Points that win rows, one in each cluster."""
    while True:
        at = replace(state, structures=structures)
        found = loop.rows.sum(_leaf(loop, at))
        kept = [j for j in range(len(structures)) if found.won[j] > 0]
        if len(kept) == len(structures):
            surplus = _balanced(loop, at, found)
            if surplus is None:
                return structures
            kept.remove(surplus)
        structures = [structures[j].through(found.won_sum[j] / found.won[j]) for j in kept]


def _balanced(loop: Any, state: Any, found: _Moves) -> int | None:
    """A point that stands still within the cluster of another, if there is one: of the two the one with fewer rows.

    Two points share a cluster where D² < 16 s²: D how far the means of their rows are apart, s the spread of the rows
    about these along the way. Halves of a normal cluster have 7 s², of an even one 12.
    """
    means = found.won_sum / found.won[:, None]
    k = len(means)
    pairs = [(i, j) for i in range(k) for j in range(i) if _nearest(means, i) == j or _nearest(means, j) == i]
    if not pairs:
        return None
    ways = np.array([means[i] - means[j] for i, j in pairs])
    lengths = np.sqrt(np.einsum("ij,ij->i", ways, ways))
    ways = ways / np.where(lengths > 0, lengths, 1.0)[:, None]
    ends = np.array(pairs)

    def leaf(block: Any) -> Floats:
        X, w = dense(block.X), weights(block)
        owners = first_least(loop.losses(X, state))
        along = np.asarray(X @ ways.T) - np.einsum("jd,pd->jp", means, ways)[owners]
        theirs = (owners[:, None] == ends[:, 0]) | (owners[:, None] == ends[:, 1])
        return np.asarray(w @ np.where(theirs, along, 0.0) ** 2)

    spread = loop.rows.sum(leaf) / found.won[ends].sum(axis=1)
    ratios = np.where(spread > 0, lengths**2 / np.where(spread > 0, spread, 1.0), np.where(lengths > 0, np.inf, 0.0))
    worst = int(ratios.argmin())
    if ratios[worst] >= APART:
        return None
    i, j = pairs[worst]
    return i if found.won[i] < found.won[j] else j


def _nearest(means: Floats, i: int) -> int:
    far = ((means - means[i]) ** 2).sum(axis=1)
    far[i] = np.inf
    return int(far.argmin())


def _leaf(loop: Any, state: Any) -> Callable[[Any], _Moves]:
    def leaf(block: Any) -> _Moves:
        X, w = dense(block.X), weights(block)
        k = len(state.structures)
        losses = loop.losses(X, state)
        owners = first_least(losses)
        rivals, strength = loop.rule.penalty(losses, owners) if k > 1 else (owners, np.zeros(len(w)))
        rows = np.arange(len(w))
        take, drive = np.zeros((len(w), k)), np.zeros((len(w), k))
        take[rows, owners] = w
        drive[rows, rivals] = w * strength
        value = float(w @ losses[rows, owners])
        return _Moves(value, take.sum(axis=0), drive.sum(axis=0), np.asarray(X.T @ take).T, np.asarray(X.T @ drive).T)

    return leaf
