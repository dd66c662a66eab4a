"""Least squares of orthogonal distances: Gauss–Newton steps, damped until they descend, from one pass each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.structures.loop.multipass import PassRequest

Floats = NDArray[np.float64]
STEPS = 400  # passes of a fit
SHARED = 6  # of a refit within a loop where rows are shared, and each pass divides them anew
WITHIN = 12  # of a refit within another loop, which will repeat it
NO_MORE = 1e-24  # relative decrease to come that ends it: steps are then 1e-12 of what they change
ROUNDING = 1e-14  # relative change of a sum that may be its rounding: there the slope decides
EXACT = 1e-28  # mean square, in units of the rows, at which they are fitted to rounding
MANY = 20  # starts that go on of those given: the lowest
THINNED = {12: 8, 40: 3}  # after so many passes, so many of them
BEYOND = 1e14  # damping at which no step descends


@dataclass(eq=False)
class Equations:
    """Σw; and Σw r², Σw r J and Σw JJᵀ of residuals r with derivatives J, at each of s states."""

    weight: float
    value: Floats
    slope: Floats
    curve: Floats

    def __add__(self, other: "Equations") -> "Equations":
        return Equations(
            self.weight + other.weight, self.value + other.value, self.slope + other.slope, self.curve + other.curve
        )


@dataclass(eq=False)
class _Descent:
    """One start, and where it has come to."""

    state: Any
    value: float
    slope: Floats
    curve: Floats
    floor: float
    damping: float = 1e-3
    stalled: int = 0
    ended: bool = False

    @property
    def _size(self) -> Floats:
        diagonal = self.curve.diagonal()
        return np.maximum(diagonal, 1e-12 * max(diagonal.max(), 1e-300))

    @property
    def _steepness(self) -> float:
        return float(self.slope @ (self.slope / self._size))

    def ahead(self, move: Callable[[Any, Floats], Any]) -> Any:
        """The next state to try, None where none is left."""
        self.ended = self.ended or self.value <= self.floor
        while not self.ended and self.damping < BEYOND:
            step: Any = np.linalg.solve(self.curve + self.damping * np.diag(self._size), -self.slope)
            fall = -(step @ self.slope)
            if not fall > NO_MORE * self.value or (self.stalled > 2 and fall <= ROUNDING * self.value):
                break
            there = move(self.state, step)
            if there is not None:
                return there
            self.damping *= 4.0
        self.ended = True
        return None

    def judge(self, other: "_Descent") -> None:
        """Go there if it is lower, or as low and less steep."""
        other.damping = max(0.2 * self.damping, 1e-12)
        same = other.value <= self.value * (1.0 + ROUNDING) and other._steepness < 0.5 * self._steepness
        if other.value < self.value * (1.0 - ROUNDING) or same:
            vars(self).update(vars(other))
        else:
            self.damping *= 4.0
            self.stalled += 1


def levenberg(
    starts: list[Any],
    equations: Callable[[Any, Floats, list[Any]], Equations],
    move: Callable[[Any, Floats], Any],
    passes: int = STEPS,
    first: Equations | None = None,
    basis: Callable[[Any], Floats] | None = None,
) -> PassRequest[tuple[float, Any]]:
    """The least Σw r² found from several starts side by side, and its state.

    `equations` are those of rows at states; `move` is a state a step further, or None beyond bounds; `first` are the
    equations at the starts where they are known. With a `basis`, steps are along the columns of its matrix at a state,
    and `move` is told in these.
    """
    found = first if first is not None else (yield partial(_at, equations, starts))

    def descent(found: Equations, i: int, state: Any) -> _Descent:
        slope, curve = found.slope[i], found.curve[i]
        if basis is not None:
            B = basis(state)
            slope, curve = B.T @ slope, B.T @ curve @ B
        return _Descent(state, float(found.value[i]), slope, curve, EXACT * found.weight)

    runs = [descent(found, i, state) for i, state in enumerate(starts)]
    runs = sorted(runs, key=_value)[:MANY]
    for step in range(passes):
        if step in THINNED:
            runs = sorted(runs, key=_value)[: THINNED[step]]
        going = [(run, there) for run in runs if (there := run.ahead(move)) is not None]
        if not going:
            break
        tried = [there for _, there in going]
        found = yield partial(_at, equations, tried)
        for i, (run, there) in enumerate(going):
            run.judge(descent(found, i, there))
    best = min(runs, key=_value)
    return best.value, best.state


def _value(run: _Descent) -> float:
    return run.value


def _at(equations: Callable[..., Equations], states: list[Any], X: Any, weight: Floats) -> Equations:
    return equations(X, weight, states)
