"""The merges of agglomerative clustering and their heights, by the algorithm that suits linkage and data."""

from typing import Any

import numpy as np

from gramian._core.types import Floats, Ints
from gramian._core.weights import weights_or_ones
from gramian.kernels.base import Kernel
from gramian.kernels.numerics.distances import distances
from gramian.kernels.points import Vectors
from gramian.rows import parallel_map

LINKAGES = ("single", "complete", "average", "ward")  # in the order of their codes in the compiled loops
PANEL = 64  # rows of distances per task
MAX_DIFFERENCE_COLUMNS = 32  # for which differences are as fast as a matrix product


class RowDistances:
    """Distances between rows of numbers, dense or sparse."""

    kernel = None

    def distances(self, A: Any, B: Any) -> Floats:
        return distances(A, B, np.ones(1))


class KernelDistances:
    """Distances between the features of a kernel: √(k(x, x) + k(z, z) − 2 k(x, z))."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def distances(self, A: Any, B: Any) -> Floats:
        D = self.kernel.diag(A)[:, None] + self.kernel.diag(B) - 2.0 * self.kernel.block(A, B)
        return np.sqrt(np.maximum(D, 0.0, out=D), out=D)


def linkage_tree(
    points: Any,
    method: str,
    weight: Floats | None = None,
    space: RowDistances | KernelDistances | None = None,
    group: Ints | None = None,
) -> Floats:
    """Merges (n − 1, 4) in SciPy's form by increasing height: the clusters merged, their distance, and their rows.

    Points of the same `group` are equal, and their distance is set to zero.

    Single linkage of dense rows is a minimum spanning tree, and Ward's method needs only centroids: neither stores
    distances. The others, and all of sparse rows or in a feature space, store one n × n matrix.
    """
    n = len(points)
    if n == 1:
        return np.empty((0, 4))
    from gramian.structures.hierarchy.nn_chain import CENTROIDS
    from gramian.structures.hierarchy.nn_chain_small import loop

    space = RowDistances() if space is None else space
    weight = weights_or_ones(weight, n)
    dense = space.kernel is None and isinstance(points, Vectors) and not points.is_sparse
    exponent = 0
    if dense:
        X, exponent = in_range(points.X)
        points = Vectors(X)
    if dense and method == "single":
        pairs, heights = loop("spanning_tree", n)(X)
    elif dense and method == "ward":
        pairs, heights = loop("merge_chain", n)(X.T.copy(), weight, CENTROIDS)
    else:
        D = _matrix(points, space)
        if group is not None and len(starts := np.unique(group, return_index=True)[1]) < n:
            for i in np.setdiff1d(np.arange(n), starts):
                D[i, group == group[i]] = D[group == group[i], i] = 0.0
        if method == "ward":
            for i in range(n):
                D[i] *= D[i] * (2.0 * weight[i] * weight / (weight[i] + weight))
        pairs, heights = loop("merge_chain", n)(D, weight, LINKAGES.index(method))
    order = np.argsort(heights, kind="stable")
    merges: Floats = loop("in_order", n)(pairs[order], np.ldexp(heights[order], exponent), n)
    return merges


def in_range(X: Floats) -> tuple[Floats, int]:
    """Rows times a power of two where their squares would under- or overflow, and its exponent."""
    largest = float(np.abs(X).max(initial=0.0))
    exponent = int(np.frexp(largest)[1])
    if abs(exponent) < 200:  # fourth powers stay in range
        return np.ascontiguousarray(X), 0
    return np.ascontiguousarray(np.ldexp(X, -exponent)), exponent


def _matrix(points: Any, space: RowDistances | KernelDistances) -> Floats:
    from gramian.structures.hierarchy.nn_chain_small import loop

    n = len(points)
    distance_rows = loop("distance_rows", n)
    D = np.empty((n, n))
    by_differences = space.kernel is None and not points.is_sparse and points.d <= MAX_DIFFERENCE_COLUMNS
    columns = np.ascontiguousarray(points.X.T) if by_differences else None

    def panel(start: int) -> None:
        part = D[start : start + PANEL]
        if by_differences:
            distance_rows(points.X, columns, start, part)
        else:
            part[:] = space.distances(points[start : start + PANEL], points)

    parallel_map(panel, range(0, n, PANEL))
    if not by_differences:
        for start in range(0, n, 1024):  # matrix products of (i, j) and (j, i) may round differently
            rows = slice(start, start + 1024)
            D[rows, start:] = np.maximum(D[rows, start:], D[start:, rows].T)
            D[start:, rows] = D[rows, start:].T
    np.fill_diagonal(D, 0.0)
    return D
