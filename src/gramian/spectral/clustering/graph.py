"""Affinities between points as a graph: of a kernel, given, or of nearest neighbours; its degrees, parts and cuts."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Ints, Matrix
from gramian.kernels.base import Kernel
from gramian.kernels.named import kernel_of
from gramian.rows import parallel_map, thread_count
from gramian.spectral.embedding.classical import power_of_two

PANEL = 512  # rows of a piece of a product
TREE_COLUMNS = 12  # up to which a k-d tree visits few of the rows
NEAR = 10  # the neighbour whose median distance is the length scale of kernels by name
SAMPLE = 1000
ASYMMETRY = 1e-9
LOCAL = {"rbf": "euclidean", "matern": "euclidean", "laplacian": "manhattan"}


@dataclass(frozen=True, eq=False)
class AffinityGraph:
    """Affinities (n, n), an array or CSR, between points that have weights; weights are counts.

    >>> graph = AffinityGraph(np.array([[0.0, 2.0], [2.0, 0.0]]), np.ones(2))
    >>> graph.degree
    array([2., 2.])
    """

    K: Matrix
    weight: Floats

    @property
    def n(self) -> int:
        return len(self.weight)

    @property
    def degree(self) -> Floats:
        """Σ_j w_j k(i, j)."""
        return self.times(self.weight[:, None])[:, 0]

    def times(self, V: Floats) -> Floats:
        """K V, in pieces of fixed size on all threads."""
        V = np.ascontiguousarray(V)
        if sp.issparse(self.K):
            return np.asarray(self.K @ V)
        return np.concatenate(parallel_map(lambda i: self.K[i : i + PANEL] @ V, range(0, self.n, PANEL)))

    def parts(self) -> Ints:
        """The connected component of each point, named by its first point."""
        from scipy.sparse.csgraph import connected_components

        if sp.issparse(self.K):
            return np.asarray(connected_components(self.K, directed=False)[1], dtype=np.int64)
        component = np.full(self.n, -1)
        for first in range(self.n):
            if component[first] >= 0:
                continue
            component[first] = first
            edge = np.array([first])
            while edge.size:
                reached = np.zeros(self.n, dtype=bool)
                for start in range(0, len(edge), PANEL):
                    reached |= (self.K[edge[start : start + PANEL]] > 0).any(axis=0)
                edge = np.flatnonzero(reached & (component < 0))
                component[edge] = first
        return component

    def cut(self, labels: Ints, degree: Floats, kind: str, inside: Floats | None = None) -> float:
        """Σ over clusters of the affinity that leaves it, over its volume ("normalized") or its weight ("ratio").

        `inside` is K W Z, where it is known.
        """
        Z = np.eye(labels.max() + 1)[labels]
        if inside is None:
            inside = self.times(self.weight[:, None] * Z)
        kept = (self.weight[:, None] * Z * inside).sum(axis=0)
        volume = (self.weight * degree) @ Z
        size = volume if kind == "normalized" else self.weight @ Z
        lost = np.maximum(volume - kept, 0.0)
        return float(np.divide(lost, size, out=np.zeros_like(lost), where=size > 0).sum())


def of_matrix(K: Matrix, weight: Floats, *, symmetric: bool = False) -> AffinityGraph:
    """A graph of affinities that are there; refuses those that are negative, or not symmetric unless that is known."""
    values = K.data if sp.issparse(K) else K
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    size = max(abs(low), abs(high))
    if low < -ASYMMETRY * size:
        raise ValueError(
            f"The smallest affinity is {low:.4g}: cuts need affinities that are not negative. Use a kernel such as "
            "RBF, or neighbors=10."
        )
    if symmetric:
        gap = 0.0
    elif sp.issparse(K):
        asymmetry = abs(K - K.T)
        gap = float(asymmetry.data.max()) if asymmetry.nnz else 0.0
    else:
        pieces = range(0, len(K), PANEL)
        gap = max(float(np.abs(K[i : i + PANEL, i:] - K[i:, i : i + PANEL].T).max()) for i in pieces)
    if gap > ASYMMETRY * size:
        raise ValueError(f"Affinities are not symmetric: two of them that should be equal differ by {gap:.4g}.")
    if low < 0:
        K = K.maximum(0.0).tocsr() if sp.issparse(K) else np.maximum(K, 0.0)
    return AffinityGraph(K, weight)


def of_neighbors(X: Matrix, count: int) -> AffinityGraph:
    """Each row joined to its nearest: affinity 1 where both are among the nearest of each other, ½ where one is."""
    n = X.shape[0]
    index = nearest(X, X, count + 1)[1]
    other = index != np.arange(n)[:, None]
    other[other.all(axis=1), -1] = False  # of more than `count` equal rows a row may not find itself
    neighbors = index[other].reshape(n, count)
    A = sp.csr_array((np.full(n * count, 0.5), neighbors.reshape(-1), np.arange(0, n * count + 1, count)), shape=(n, n))
    return AffinityGraph((A + A.T).tocsr(), np.ones(n))


def nearest(X: Matrix, Q: Matrix, count: int, metric: str = "euclidean") -> tuple[Floats, Ints]:
    """Distances and numbers (m, count) of the rows of X that are nearest to those of Q, growing."""
    unit = power_of_two(
        max(float(np.abs(each.data if sp.issparse(each) else each).max(initial=0.0)) for each in (X, Q))
    )
    if not 2.0**-200 < unit < 2.0**200:  # squares stay in range
        distance, index = nearest(X / unit, Q / unit, count, metric)
        return distance * unit, index
    if not sp.issparse(X) and X.shape[1] <= TREE_COLUMNS and metric == "euclidean":
        from scipy.spatial import cKDTree

        distance, index = cKDTree(X, balanced_tree=False).query(Q, count, workers=thread_count())
        shape = (Q.shape[0], count)
        return distance.reshape(shape), index.reshape(shape).astype(np.int64)
    from sklearn.neighbors import NearestNeighbors

    distance, index = NearestNeighbors(n_neighbors=count, algorithm="brute", metric=metric).fit(X).kneighbors(Q)
    return distance, index


def affinity_kernel(kernel_or_name: str | Kernel, X: Matrix, weight: Floats | None = None) -> Kernel:
    """The kernel of an affinity; one by name has the median distance to the tenth neighbour as its length scale.

    Neighbours are distinct rows, and the median is over the weights: repeated rows do what a weight does.
    """
    kernel = kernel_of(kernel_or_name)
    if isinstance(kernel_or_name, str) and kernel_or_name in LOCAL:
        from gramian.kernels.numerics.distances import distinct_rows, weighted_median
        from gramian.kernels.points import vectors

        A = vectors(X)
        index, total = distinct_rows(A, weight)
        n, rows = len(index), A.X[index]
        sample = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
        distances = nearest(rows, rows[sample], min(NEAR + 1, n), LOCAL[kernel_or_name])[0][:, -1]
        scale = weighted_median(distances, total[sample])
        if scale > 0 and np.isfinite(scale):
            return replace(kernel, length_scale=scale)  # type: ignore[type-var]
    return kernel.fitted(X, weight)
