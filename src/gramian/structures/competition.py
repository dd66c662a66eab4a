"""The passes before the last ones, in which structures compete: rare winners are helped, or rivals driven away."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.structures.structure import dense, weights

Floats = NDArray[np.float64]
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
        found = loop.rows.sum(_leaf(loop, replace(state, structures=structures)))
        history.append((len(history), found.value, np.inf))
        moves = []
        for j, each in enumerate(structures):
            pull = found.won_sum[j] - found.won[j] * each.center_
            push = found.pushed_sum[j] - found.pushed[j] * each.center_
            moves.append((pull - push) / max(found.won[j] + found.pushed[j], 1e-300))
        kept = [j for j in range(len(structures)) if found.won[j] > 0]
        still = max(float(np.linalg.norm(moves[j])) for j in kept)
        structures = [structures[j].through(structures[j].center_ + moves[j]) for j in kept]
        if len(kept) == len(moves) and still <= STILL * np.sqrt(found.value / loop.weight):
            break
    shares = np.full(len(structures), 1.0 / len(structures))
    return replace(state, structures=structures, shares=shares)


def _leaf(loop: Any, state: Any) -> Callable[[Any], _Moves]:
    def leaf(block: Any) -> _Moves:
        X, w = dense(block.X), weights(block)
        k = len(state.structures)
        losses = loop.losses(X, state)
        owners = losses.argmin(axis=1)
        rivals, strength = loop.rule.penalty(losses, owners) if k > 1 else (owners, np.zeros(len(w)))
        rows = np.arange(len(w))
        take, drive = np.zeros((len(w), k)), np.zeros((len(w), k))
        take[rows, owners] = w
        drive[rows, rivals] = w * strength
        value = float(w @ losses[rows, owners])
        return _Moves(value, take.sum(axis=0), drive.sum(axis=0), np.asarray(X.T @ take).T, np.asarray(X.T @ drive).T)

    return leaf
