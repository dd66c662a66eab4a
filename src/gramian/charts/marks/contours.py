"""Contour lines of a grid of numbers (marching squares), and interpolation of grids."""

import numpy as np

from gramian._core.types import Floats


def contours(x: Floats, y: Floats, Z: Floats, level: float = 0.0) -> list[Floats]:
    """The contour lines of Z (y × x) at a level by marching squares, as polylines (m, 2), closed ones to their start.

    Each cell has straight segments between its edges, by linear interpolation; where all four edges are crossed, the
    mean of the corners decides which ends are joined.

    >>> lines = contours(np.arange(3.0), np.arange(2.0), np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]), 0.5)
    >>> [line.tolist() for line in lines]
    [[[0.5, 0.0], [0.5, 1.0]]]
    """
    above = level < Z
    rows, columns = Z.shape
    flat = rows * (columns - 1)  # edges along x come first, then those along y
    along_x, along_y = above[:, 1:] != above[:, :-1], above[1:] != above[:-1]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        share_x = (level - Z[:, :-1]) / (Z[:, 1:] - Z[:, :-1])
        share_y = (level - Z[:-1]) / (Z[1:] - Z[:-1])

    def place(edge: int) -> tuple[float, float]:
        if edge < flat:
            i, j = divmod(edge, columns - 1)
            return float(x[j] + _inside(share_x[i, j]) * (x[j + 1] - x[j])), float(y[i])
        i, j = divmod(edge - flat, columns)
        return float(x[j]), float(y[i] + _inside(share_y[i, j]) * (y[i + 1] - y[i]))

    next_to: dict[int, list[int]] = {}
    crossed = along_x[:-1] | along_x[1:] | along_y[:, :-1] | along_y[:, 1:]
    for i, j in np.argwhere(crossed).tolist():
        bottom, top = i * (columns - 1) + j, (i + 1) * (columns - 1) + j
        left, right = flat + i * columns + j, flat + i * columns + j + 1
        sides = [(bottom, along_x[i, j]), (left, along_y[i, j]), (top, along_x[i + 1, j]), (right, along_y[i, j + 1])]
        ends = [edge for edge, there in sides if there]
        if len(ends) == 4:
            middle = bool(Z[i : i + 2, j : j + 2].mean() > level)
            ends = [bottom, right, left, top] if middle == above[i, j] else [bottom, left, top, right]
        for one, other in zip(ends[::2], ends[1::2], strict=True):
            next_to.setdefault(one, []).append(other)
            next_to.setdefault(other, []).append(one)
    return [np.array([place(edge) for edge in chain]) for chain in _chains(next_to)]


def _inside(share: float) -> float:
    return min(max(float(share), 0.0), 1.0) if np.isfinite(share) else 0.5


def _chains(next_to: dict[int, list[int]]) -> list[list[int]]:
    """Neighbours joined to chains: first open ones, then rings."""
    unused = {edge: list(others) for edge, others in next_to.items()}
    chains = []
    for ends in (True, False):
        for start in list(unused):
            while unused[start] and (len(unused[start]) == 1 or not ends):
                chain, at = [start], start
                while unused[at]:
                    to = unused[at].pop()
                    unused[to].remove(at)
                    chain.append(to)
                    at = to
                chains.append(chain)
    return chains


def simplified(line: Floats, tolerance: float) -> Floats:
    """The polyline without points within a tolerance of straight segments (Douglas and Peucker).

    >>> simplified(np.array([[0.0, 0.0], [1.0, 0.001], [2.0, 0.0]]), 0.01).tolist()
    [[0.0, 0.0], [2.0, 0.0]]
    """
    keep = np.zeros(len(line), dtype=bool)
    keep[[0, -1]] = True
    parts = [(0, len(line) - 1)]
    while parts:
        first, last = parts.pop()
        inner = line[first + 1 : last]
        if not len(inner):
            continue
        segment, offset = line[last] - line[first], inner - line[first]
        length = float(np.hypot(*segment))
        normal = np.array([-segment[1], segment[0]])
        distance = np.abs(offset @ normal) / length if length > 0 else np.hypot(*offset.T)
        worst = int(distance.argmax())
        if distance[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            parts += [(first, middle), (middle, last)]
    return line[keep]


def finer(Z: Floats, height: int, width: int) -> Floats:
    """A grid (rows, columns, …) at height × width points by linear interpolation between its corners.

    >>> finer(np.array([[0.0, 2.0]]), 1, 5)
    array([[0. , 0.5, 1. , 1.5, 2. ]])
    """
    tall = np.tensordot(_interpolation(Z.shape[0], height), Z, axes=(1, 0))
    return np.moveaxis(np.tensordot(_interpolation(Z.shape[1], width), tall, axes=(1, 1)), 0, 1)


def _interpolation(count: int, n_points: int) -> Floats:
    """The matrix (n_points, count) of linear interpolation."""
    at = np.linspace(0.0, count - 1.0, n_points)
    return np.maximum(1.0 - np.abs(at[:, None] - np.arange(count)), 0.0)
