"""Kernels between graphs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gramian._core.types import Floats
from gramian._core.validation import is_number
from gramian.kernels.base import Kernel
from gramian.kernels.points import Items
from gramian.kernels.structured.walks import read_graphs, walk_sums
from gramian.kernels.validity.proof import Validity, proven


@dataclass(frozen=True, eq=False, repr=False)
class RandomWalk(Kernel):
    """Compare graphs by the walks that they have in common.

    k(G, H) = Σ_l decayˡ × (number of pairs of walks of l steps, one in G and one in H, that visit the same labels)
    = 1ᵀ (I − decay · A×)⁻¹ 1, where A× is the adjacency matrix of the graph whose nodes are the pairs of nodes with the
    same label. Without labels all nodes are alike. Walks along weighted edges count as the product of the weights.

    Parameters
    ----------
    decay : "auto" or float, default "auto"
        What a step costs. The sum is finite below 1 / (product of the largest eigenvalues of G and H), and a larger
        decay is refused with that bound. "auto" is 1 / (2 D²), where D is the largest degree in the graphs given to
        `fitted`: half of what is finite for all of them.
    normalize : bool, default True
        Whether to divide by √(k(G, G) k(H, H)), so that large graphs do not outweigh small ones.

    Notes
    -----
    A point is a NetworkX graph (its nodes' attribute `label`, its edges' `weight`), an adjacency matrix, dense or
    sparse, or a pair (adjacency, labels). Edges may be directed; weights must not be negative.

    Undirected graphs without labels cost one eigendecomposition each, and then n·n' for a pair. With labels a pair is
    solved by conjugate gradients, for directed edges by adding up steps, at n·(edges there) + n'·(edges here) a step;
    A× is not formed. The nearer decay is to its bound, the more steps.

    Examples
    --------
    >>> from gramian.kernels import RandomWalk
    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> RandomWalk(0.1)([path, triangle]).round(4)
    array([[1.    , 0.9628],
           [0.9628, 1.    ]])
    >>> RandomWalk(0.1)([(path, ["C", "O", "C"]), (triangle, ["C", "O", "C"])]).round(4)
    array([[1.    , 0.9548],
           [0.9548, 1.    ]])
    """

    decay: Any = "auto"
    normalize: bool = True

    def __post_init__(self) -> None:
        decay = self.decay
        if not (is_number(decay) and 0 < decay < np.inf) and not (isinstance(decay, str) and decay == "auto"):
            raise ValueError(f'decay is {decay!r}; it must be "auto" or a positive number.')
        if not isinstance(self.normalize, bool | np.bool_):
            raise ValueError(f"normalize is {self.normalize!r}; it must be True or False.")

    def waits_for(self) -> str | None:
        return 'The decay of RandomWalk is "auto"' if isinstance(self.decay, str) else None

    def fitted(self, X: Any, weight: Any = None) -> "RandomWalk":
        if not isinstance(self.decay, str):
            return self
        graphs = self.points(X)
        if weight is not None:
            graphs = graphs[np.asarray(weight) > 0]
        degree = max((graph.degree for graph in graphs), default=0.0)
        return replace(self, decay=0.5 / degree**2 if degree > 0 else 0.5)

    def points(self, X: Any) -> Items:
        return X if isinstance(X, Items) else Items(read_graphs(X))

    def block(self, A: Items, B: Items) -> Floats:
        sums = walk_sums(A.items, B.items, float(self.decay))
        if self.normalize:
            sums /= np.sqrt(self._sizes(A))[:, None]
            sums /= np.sqrt(self._sizes(B))[None, :]
        return sums

    def diag(self, A: Items) -> Floats:
        own = np.array([graph.own_sum(float(self.decay)) for graph in A])
        return (own > 0).astype(np.float64) if self.normalize else own

    def proof(self) -> Validity:
        return proven(
            self, "a sum of decayˡ × products of counts of walks, valid wherever it is finite; elsewhere it is refused"
        )

    def _sizes(self, A: Items) -> Floats:
        """k(G, G), or 1 for a graph without nodes, which has nothing in common with any."""
        own = np.array([graph.own_sum(float(self.decay)) for graph in A])
        return np.where(own > 0, own, 1.0)
