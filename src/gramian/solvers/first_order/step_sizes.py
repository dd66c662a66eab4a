"""What the descents share: how far each coordinate may step, passes that may overflow, and checks of parameters.

A step of length L along the gradient of the whole smooth part is shortened to L / (1 + 2 L s) where a coordinate has
the quadratic penalty s θ². That is the proximal step: a gradient step of length L on the loss, then the exact minimum
of penalty and distance, (θ − L ∇loss) / (1 + 2 L s), stable however strong the penalty is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian.objective.problem import Point, Problem, Sums
from gramian.rows import Block

CHANGE = "change of the objective"


def evaluate(problem: Problem, theta: Floats) -> Point:
    """The objective at θ, where a step that went too far is an infinite value and not a warning."""

    def of_block(block: Block) -> Sums:
        with np.errstate(over="ignore", invalid="ignore"):
            return problem.block_sums(block, theta, 1)

    with np.errstate(over="ignore", invalid="ignore"):
        return problem.point(theta, problem.rows.sum(of_block))


def first_point(problem: Problem, start: Floats | None) -> Point:
    """The objective where a descent begins; refuses a beginning from which no step is known."""
    if problem.loss.estimates_scale:
        name = type(problem.loss).__name__
        raise ValueError(f"Gradient steps need the scale of the {name} loss: give {name}(scale=…), or another solver.")
    theta = problem.zero() if start is None else np.array(start, dtype=np.float64)
    if problem.parts is not None and problem.parts.bounded:
        theta[:, : problem.d] = np.clip(theta[:, : problem.d], problem.low, problem.high)
    point = evaluate(problem, theta)
    if not np.isfinite(point.smooth) or not np.isfinite(point.gradient).all():
        raise ValueError(
            f"The objective is {point.value:g} where the descent begins, beyond the float range: scale y and "
            "the columns, or give another start."
        )
    return point


def is_whole(problem: Problem) -> bool:
    """Whether the coefficients must take steps of one length, as group norms and penalties known by a prox need."""
    return problem.parts is None or bool(problem.groups)


def stiffness(problem: Problem) -> Floats:
    """s (p,) with Σ s θ² ≥ the quadratic penalty: its diagonal, or the row sums of |S| for Tikhonov's matrix."""
    stiff = np.zeros(problem.p)
    if problem.parts is not None:
        square = problem.square
        stiff[: problem.d] = square if square.ndim == 1 else np.abs(square).sum(axis=1)
        if is_whole(problem):
            stiff[: problem.d] = stiff[: problem.d].max(initial=0.0)
    return stiff


def shortened(length: Any, stiff: Floats) -> Floats:
    """length / (1 + 2 length · stiff), where the length may be anything up to infinity."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 / np.asarray(length, dtype=np.float64) + 2.0 * stiff)


class Damping:
    """Gradient steps of the whole smooth part that are implicit in the quadratic penalty, by its eigenvectors."""

    def __init__(self, problem: Problem) -> None:
        self.stiff = stiffness(problem)
        self.d = problem.d
        self.vectors: Floats | None = None
        if problem.parts is not None and problem.parts.smooth and problem.square.ndim == 2:
            values, self.vectors = np.linalg.eigh(problem.square)
            self.stiff[: self.d] = np.maximum(values, 0.0)

    def step(self, gradient: Floats, length: float) -> tuple[Floats, Floats]:
        """What a step of this length takes from θ, and the length of each coordinate's."""
        lengths = shortened(length, self.stiff)
        if self.vectors is None:
            return lengths * gradient, lengths
        rotated = gradient.copy()
        rotated[:, : self.d] = gradient[:, : self.d] @ self.vectors
        rotated *= lengths
        rotated[:, : self.d] = rotated[:, : self.d] @ self.vectors.T
        return rotated, lengths


def land(problem: Problem, theta: Floats, lengths: Floats) -> Floats:
    """The proximal step of what is not smooth in the penalty, after a gradient step of these lengths (p,) or (m, p)."""
    if problem.parts is not None and problem.parts.smooth:
        return theta
    if is_whole(problem):
        return problem.prox(theta, float(lengths.reshape(-1)[0]))
    return problem.prox(theta, lengths[..., : problem.d])


def spread(values: Sequence[float]) -> float:
    """How far the objective moved over these values, relative to its size."""
    largest, smallest = max(values), min(values)
    return 0.0 if largest == smallest else (largest - smallest) / max(abs(largest), abs(smallest))
