"""The descent of a t-SNE map on exact forces."""

from dataclasses import dataclass

import numpy as np

from gramian._core import deadline
from gramian._core.types import Floats
from gramian.spectral.embedding.tsne_gradient import Forces

EARLY = 250  # steps with exaggerated similarities
EVERY = 50  # steps between two looks at the divergence
SLOW, FAST = 0.5, 0.9  # momentum before and after
LEAST_GAIN = 0.01
NARROW = 1e-4  # spread of an axis below which forces are proportional to places, and units mean nothing


@dataclass(frozen=True, eq=False)
class Map:
    """Places (n, r), steps taken, and (step, divergence, norm of the gradient) on the way."""

    places: Floats
    steps: int
    history: list[tuple[int, float, float]]


def lay_out(forces: Forces, start: Floats, *, exaggeration: float, rate: float, max_iter: int, tol: float) -> Map:
    """Gradient descent with momentum and a gain for each coordinate that grows while its direction stays.

    Similarities are exaggerated at first, so that clusters find together, and no axis gets narrower than it began: all
    rows would meet where there are no clusters. Ends after max_iter steps, or where the
    gradient is `tol` of the pull. Under a deadline the first half of the time is for exaggeration, at most.
    """
    Y, speed, gain = start.copy(), np.zeros_like(start), np.ones_like(start)
    history: list[tuple[int, float, float]] = []
    early = min(EARLY, max_iter)
    least = np.minimum(start.std(axis=0), NARROW)
    steps, half = 0, 0.5 * (deadline.remaining() or 0.0)
    for steps in range(1, max_iter + 1):
        if steps > 1 and deadline.passed():
            steps -= 1
            break
        if half and (deadline.remaining() or 0.0) < half:
            early = min(early, steps - 1)
        late = steps > early
        if steps == early + 1:
            speed, gain = np.zeros_like(start), np.ones_like(start)
        gradient, pull, Z = forces.gradient(Y, 1.0 if late else exaggeration)
        if late and steps % EVERY == 0:
            norm = float(np.linalg.norm(gradient))
            history.append((steps - 1, forces.divergence(Y, Z), norm))
            if norm <= tol * pull:
                break
        gain = np.where(speed * gradient < 0.0, gain + 0.2, gain * 0.8)
        np.maximum(gain, LEAST_GAIN, out=gain)
        speed = (FAST if late else SLOW) * speed - rate * gain * gradient
        Y += speed
        if not late:
            _widened(Y, least)
    return Map(Y - Y.mean(axis=0), steps, history)


def _widened(Y: Floats, least: Floats) -> None:
    """Axes narrower than allowed about their mean, wide enough again; in place."""
    Y -= Y.mean(axis=0)
    spread = Y.std(axis=0)
    Y *= np.where((spread > 0) & (spread < least), least / np.where(spread > 0, spread, 1.0), 1.0)
