"""Least squares of orthogonal distances: Gauss–Newton steps, damped until they descend."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEPS = 200
WITHIN = 8  # steps of a refit that a loop will repeat
NO_MORE = 1e-15  # relative decrease that ends it
BEYOND = 1e14  # damping at which no step descends


def levenberg(
    state: Any,
    evaluate: Callable[[Any], tuple[Floats, Floats]],
    move: Callable[[Any, Floats], Any],
    weight: Floats,
    steps: int = STEPS,
) -> tuple[float, Any]:
    """The least Σw r² found from a state, and the state.

    `evaluate` gives residuals (m,) and their derivatives (m, p); `move` a state a step further, or None beyond bounds.
    """
    r, J = evaluate(state)
    value = float(weight @ r**2)
    damping = 1e-3
    small = 0
    for _ in range(steps):
        if value <= 0:
            break
        WJ = weight[:, None] * J
        A, g = J.T @ WJ, WJ.T @ r
        size = np.maximum(A.diagonal(), 1e-12 * max(A.diagonal().max(), 1e-300))
        better = False
        while damping < BEYOND and not better:
            step: Any = np.linalg.solve(A + damping * np.diag(size), -g)
            if -(step @ g) <= NO_MORE * value:  # what is left is rounding
                return value, state
            there = move(state, step)
            if there is not None:
                new_r, new_J = evaluate(there)
                new = float(weight @ new_r**2)
                better = new < value
            damping *= 0.2 if better else 4.0
        if not better:
            break
        small = small + 1 if value - new <= NO_MORE * value else 0
        state, r, J, value, damping = there, new_r, new_J, new, max(damping, 1e-12)
        if small == 3:
            break
    return value, state
