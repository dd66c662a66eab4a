"""Kernels between the nodes of one graph."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats, Ints
from gramian.kernels.base import ATOM, Kernel
from gramian.kernels.parameters import refuse_unless
from gramian.kernels.structured.adjacency import is_symmetric, read_graph
from gramian.kernels.validity.proof import Validity, proven

MAX_DECOMPOSED_NODES = 3000  # beyond, the exponential is applied to the nodes asked for instead of decomposed
TOGETHER = 64  # nodes heated at once


class Nodes:
    """Nodes of the graph by their places in it."""

    def __init__(self, places: Ints) -> None:
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, where: Any) -> "Nodes":
        return Nodes(self.places[where])


@dataclass(frozen=True, eq=False, repr=False)
class Diffusion(Kernel):
    """Compare nodes of a graph by how much heat gets from one to the other in time beta.

    k(i, j) = exp(−beta (D − A))_ij, where A is the adjacency matrix and D has the degrees on its diagonal.

    Parameters
    ----------
    graph : NetworkX graph, adjacency matrix (dense or sparse), or (adjacency, names)
        Undirected; weights of edges must not be negative.
    beta : float
        Time: near 0 every node is similar to itself alone, for large beta to all it is connected with.

    Notes
    -----
    Points are nodes: by name where the graph has names (NetworkX, or given), otherwise by index. Rows of k(nodes) sum
    to 1 over all nodes. Costs one eigendecomposition of D − A, kept; beyond 3000 nodes, the exponential applied to the
    nodes asked for, at about √(beta × largest degree) × edges for each.

    Examples
    --------
    >>> from gramian.kernels import Diffusion
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> Diffusion(path, beta=0.5)([0, 1, 2]).round(3)
    array([[0.674, 0.259, 0.067],
           [0.259, 0.482, 0.259],
           [0.067, 0.259, 0.674]])
    >>> Diffusion((path, ["Ann", "Bob", "Cid"]), beta=0.5)(["Ann"], ["Bob"]).round(3)
    array([[0.259]])
    """

    graph: Any
    beta: float = 1.0

    def __post_init__(self) -> None:
        refuse_unless(self, "beta", self.beta, 0, open_=True)
        A, names = self._read
        if not is_symmetric(A):
            apart = (A - A.T).tocoo()
            share = np.abs(apart.data) / np.asarray(A.maximum(A.T)[apart.row, apart.col]).reshape(-1)
            i, j = (int(ends[share.argmax()]) for ends in apart.coords)
            raise ValueError(
                f"The graph has weight {A[i, j]:g} from node {i} to node {j} and {A[j, i]:g} back; diffusion needs "
                "undirected edges, such as those of A + A.T."
            )
        if names is not None and len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"Two nodes are called {twice!r}; names must differ.")

    @cached_property
    def _read(self) -> tuple[Any, list[Any] | None]:
        return read_graph(self.graph, "The graph")

    @cached_property
    def _laplacian(self) -> Any:
        A = self._read[0]
        A = 0.5 * A + 0.5 * A.T  # symmetric to the last bit
        return (sp.diags_array(A.sum(axis=1)) - A).tocsr()

    @cached_property
    def _matrix(self) -> Floats:
        half = self._factor
        return half @ half.T

    @cached_property
    def _factor(self) -> Floats:
        """Rows whose inner products are k: the eigenvectors times exp(−beta eigenvalue / 2)."""
        values, vectors = np.linalg.eigh(self._laplacian.toarray())
        return vectors * np.exp(-0.5 * self.beta * np.maximum(values, 0.0))

    @cached_property
    def _places(self) -> dict[Any, int]:
        names = self._read[1]
        return {name: i for i, name in enumerate(range(self._n) if names is None else names)}

    @property
    def _n(self) -> int:
        return int(self._read[0].shape[0])

    def points(self, X: Any) -> Nodes:
        if isinstance(X, Nodes):
            return X
        if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
            raise TypeError(f"X is {X!r}; give a list of nodes, even of one.")
        values = X.to_numpy() if hasattr(X, "to_numpy") else X
        if isinstance(values, np.ndarray):
            if values.ndim == 2 and values.shape[1] == 1:
                values = values[:, 0]
            if values.ndim != 1:
                raise ValueError(f"X has shape {values.shape}; give one column of nodes.")
            values = values.tolist()
        return Nodes(np.array([self._place(row, node) for row, node in enumerate(values)], dtype=np.int64))

    def block(self, A: Nodes, B: Nodes) -> Floats:
        if self._n <= MAX_DECOMPOSED_NODES:
            return self._matrix[np.ix_(A.places, B.places)]
        if len(A) < len(B):  # the shorter side is heated
            return self.block(B, A).T
        ends, where = np.unique(B.places, return_inverse=True)
        out = np.empty((len(A), len(ends)))
        for i in range(0, len(ends), TOGETHER):
            heat = np.zeros((self._n, len(ends[i : i + TOGETHER])))
            heat[ends[i : i + TOGETHER], np.arange(heat.shape[1])] = 1.0
            out[:, i : i + TOGETHER] = spread(self._laplacian, float(self.beta), heat)[A.places]
        return out[:, where]

    def diag(self, A: Nodes) -> Floats:
        if self._n <= MAX_DECOMPOSED_NODES:
            return self._matrix[A.places, A.places]
        parts = [self.block(A[i : i + TOGETHER], A[i : i + TOGETHER]).diagonal() for i in range(0, len(A), TOGETHER)]
        return np.concatenate([np.empty(0), *parts])

    def features(self, X: Any, terms: int | None = None) -> Floats:
        """One feature for each eigenvector of D − A, from the smoothest on; `terms` are the most to give."""
        return self._factor[self.points(X).places][:, :terms]

    def proof(self) -> Validity:
        return proven(self, "the exponential of a symmetric matrix has positive eigenvalues")

    def key(self) -> Any:
        A, names = self._read
        A.sort_indices()
        parts = (A.indptr.tobytes(), A.indices.tobytes(), A.data.tobytes())
        return (type(self).__name__, *parts, None if names is None else tuple(names), self.beta)

    def text(self) -> tuple[str, int]:
        return f"Diffusion(graph=<{self._n} nodes>, beta={self.beta!r})", ATOM

    def _place(self, row: int, node: Any) -> int:
        try:
            return self._places[node]
        except (KeyError, TypeError):
            known = f"0 … {self._n - 1}" if self._read[1] is None else ", ".join(map(repr, self._read[1][:5]))
            ellipsis = ", …" if self._read[1] is not None and self._n > 5 else ""
            raise ValueError(
                f"Row {row} is {node!r}, which is no node of the graph; its nodes are {known}{ellipsis}."
            ) from None


def spread(laplacian: Any, beta: float, heat: Floats) -> Floats:
    """exp(−beta · laplacian) @ heat, to about 1e-15 of the heat, by a Chebyshev series.

    With all eigenvalues in [0, 2r] and Y = laplacian / r − I: exp(−z(I + Y)) = Σ_k ±(2 − [k = 0]) e⁻ᶻ I_k(z) T_k(Y),
    z = beta · r, whose terms vanish beyond some multiple of √z.
    """
    from scipy.special import ive

    r = float(laplacian.diagonal().max(initial=0.0))
    if r == 0:
        return heat
    z = beta * r
    sizes = ive(np.arange(int(12 * np.sqrt(z)) + 40), z)
    before, now = heat, laplacian @ heat / r - heat
    total = sizes[0] * before - 2 * sizes[1] * now
    for k in range(2, int(np.flatnonzero(sizes > 1e-18)[-1]) + 1):
        before, now = now, 2 * (laplacian @ now / r - now) - before
        total += (2.0 if k % 2 == 0 else -2.0) * sizes[k] * now
    return np.asarray(total)
