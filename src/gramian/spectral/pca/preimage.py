"""From features back to points: by a fixed point for Gaussian kernels, else by a regression learned from the points."""

from typing import Any

import numpy as np
import scipy.linalg as sla

from gramian._core.types import Floats
from gramian.kernels.base import Kernel
from gramian.kernels.points import Vectors
from gramian.kernels.vectors.inner_products import Linear
from gramian.kernels.vectors.stationary import RBF
from gramian.rows import parallel_map

PANEL = 256
ROUNDS = 200
STARTS = 3  # nearest points that a fixed point is sought from
SMOOTH = 1e-6  # alpha of the regression, in units of its kernel
LEARNED = 2000  # points that the regression is learned from


class PreImage:
    """Points z whose features φ(z) are near the mean + Σ_j t_j v_j."""

    def __init__(self, kernel: Kernel, points: Any, inputs: Vectors, dual: Floats, centre: Floats, own: Floats) -> None:
        self.kernel, self.points, self.inputs = kernel, points, inputs
        self.dual, self.centre, self.own = dual, centre, own
        self._learned: tuple[Floats, Floats, Floats, float] | None = None
        if not isinstance(kernel, RBF):
            self._learned = self._learn()

    def __call__(self, T: Floats) -> Floats:
        step = self._fixed_points if self._learned is None else self._regression
        parts = parallel_map(lambda i: step(T[i : i + PANEL]), range(0, max(len(T), 1), PANEL))
        return np.concatenate(parts)

    def _fixed_points(self, T: Floats) -> Floats:
        """z = Σ g_i k(z, x_i) x_i / Σ g_i k(z, x_i), where Σ g_i φ(x_i) is sought: a stationary point of the distance.

        From each of the nearest points in the coordinates; the best that was met is kept.
        """
        X = self.inputs.dense()
        g = self.centre + T @ self.dual.T
        away = ((T**2).sum(axis=1)[:, None] - 2.0 * T @ self.own.T) + (self.own**2).sum(axis=1)
        count = min(STARTS, len(X))
        nearest = np.argpartition(away, count - 1, axis=1)[:, :count]
        best, reached = X[nearest[:, 0]].copy(), np.full(len(T), -np.inf)
        for start in range(count):
            z = X[nearest[:, start]].copy()
            moving = np.arange(len(T))
            for _ in range(ROUNDS):
                pull = g[moving] * self.kernel.block(Vectors(z[moving]), self.points)
                value = pull.sum(axis=1)
                better = value > reached[moving]
                best[moving[better]], reached[moving[better]] = z[moving[better]], value[better]
                sound = value > 1e-12 * np.abs(pull).sum(axis=1)
                moving, pull, value = moving[sound], pull[sound], value[sound]
                if not len(moving):
                    break
                new = (pull @ X) / value[:, None]
                shift = np.abs(new - z[moving]).max(axis=1)
                z[moving] = new
                moving = moving[shift > 1e-12 * np.abs(X).max()]
                if not len(moving):
                    break
        return best

    def _learn(self) -> tuple[Floats, Floats, Floats, float]:
        """Ridge regression of the points on their coordinates: a plane, and for all but Linear a Gaussian kernel."""
        coordinates, X = self.own, self.inputs.dense()
        if len(coordinates) > LEARNED:
            sampled = np.linspace(0, len(coordinates) - 1, LEARNED).astype(int)
            coordinates, X = coordinates[sampled], X[sampled]
        middle = np.vstack([coordinates.mean(axis=0)[None]])
        Z = np.column_stack([np.ones(len(coordinates)), coordinates - middle])
        plane = np.linalg.lstsq(Z, X, rcond=1e-10)[0]
        if isinstance(self.kernel, Linear):
            return coordinates[:0], plane, np.zeros((0, X.shape[1])), 1.0
        squares = _squares(coordinates, coordinates)
        scale = float(np.median(squares[squares > 0])) if (squares > 0).any() else 1.0
        K = np.exp(-squares / scale)
        K[np.diag_indices_from(K)] += SMOOTH * len(K)
        return coordinates, plane, sla.solve(K, X - Z @ plane, assume_a="pos", check_finite=False), scale

    def _regression(self, T: Floats) -> Floats:
        assert self._learned is not None
        own, plane, weights, scale = self._learned
        middle = self.own.mean(axis=0) if len(self.own) <= LEARNED else self._middle()
        linear = np.column_stack([np.ones(len(T)), T - middle]) @ plane
        return linear if not len(own) else linear + np.exp(-_squares(T, own) / scale) @ weights

    def _middle(self) -> Floats:
        return np.asarray(self.own[np.linspace(0, len(self.own) - 1, LEARNED).astype(int)].mean(axis=0))


def _squares(A: Floats, B: Floats) -> Floats:
    squares = (A**2).sum(axis=1)[:, None] - 2.0 * A @ B.T + (B**2).sum(axis=1)
    return np.maximum(squares, 0.0)
