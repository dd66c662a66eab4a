"""Sums over common walks of graphs, λ⁰ + λ¹ + …, without the graph of all pairs of nodes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramian._core.types import Floats
from gramian.kernels.structured.adjacency import is_networkx, is_symmetric, node_labels, read_graph

MAX_NODE_PAIRS = 2**20  # pairs of nodes that are solved together
PRECISE = 1e-15
ROUNDING = 1e-12  # of eigenvalues: at the bound itself the sum is infinite


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph prepared: adjacency (CSR), labels or None, and its row in the input for messages."""

    A: Any
    labels: tuple[Any, ...] | None
    row: int
    _own: dict[float, float] = field(default_factory=dict, repr=False)

    def own_sum(self, decay: float) -> float:
        """The sum over common walks with itself, computed once for a decay."""
        if decay not in self._own:
            self._own[decay] = float(walk_sums([self], [self], decay)[0, 0])
        return self._own[decay]

    @cached_property
    def symmetric(self) -> bool:
        return is_symmetric(self.A)

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.A.toarray())
        return values, vectors.sum(axis=0) ** 2

    @property
    def eigenvalues(self) -> Floats:
        return self._spectrum[0]

    @property
    def ones(self) -> Floats:
        """(uᵀ1)² for every eigenvector u: 1ᵀAˡ1 = Σ ones × eigenvaluesˡ."""
        return self._spectrum[1]

    @cached_property
    def radius(self) -> float:
        """The largest absolute eigenvalue: walks of l steps grow as radiusˡ."""
        values = self.eigenvalues if self.symmetric else np.linalg.eigvals(self.A.toarray())
        return float(np.abs(values).max(initial=0.0))

    @cached_property
    def degree(self) -> float:
        """The largest degree, out or in, an upper bound of the radius."""
        return float(max(self.A.sum(axis=1).max(initial=0.0), self.A.sum(axis=0).max(initial=0.0)))


def read_graphs(X: Any) -> list[Graph]:
    """A list of graphs, checked one by one."""
    if is_networkx(X) or sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object):
        raise TypeError("X is a single graph; give a list of graphs, even of one.")
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    graphs = []
    for row, item in enumerate(X):
        A, said = read_graph(item, f"Graph {row}")
        labels = node_labels(item, f"Graph {row}") if is_networkx(item) else said
        if labels is not None and not all(isinstance(label, Hashable) for label in labels):
            raise TypeError(
                f"Graph {row} has labels that are lists or arrays; a label is a string, a number or a tuple."
            )
        graphs.append(Graph(A, None if labels is None else tuple(labels), row))
    labelled = [graph.labels is not None for graph in graphs if graph.A.shape[0]]
    if any(labelled) and not all(labelled):
        rows = [graph.row for graph in graphs if graph.A.shape[0] and graph.labels is None]
        raise ValueError(f"Graph {rows[0]} has no labels, and others have; give labels to all graphs or to none.")
    return graphs


def walk_sums(left: Sequence[Graph], right: Sequence[Graph], decay: float) -> Floats:
    """Σ_l decayˡ × (pairs of walks of l steps, one in each graph, along the same labels), (len(left), len(right))."""
    refuse_divergence(left, right, decay)
    out = np.zeros((len(left), len(right)))
    for where in _groups(
        right, MAX_NODE_PAIRS // max((graph.A.shape[0] for graph in left if graph.A.shape[0]), default=1)
    ):
        group = [right[j] for j in where]
        for i, graph in enumerate(left):
            out[i, where] = _sums(graph, group, decay)
    return out


def refuse_divergence(left: Sequence[Graph], right: Sequence[Graph], decay: float) -> None:
    """Raise if the sum over walks of some pair is infinite, saying for which and below which decay none is."""
    filled = [[graph for graph in side if graph.A.shape[0]] for side in (left, right)]
    if not all(filled):
        return
    a, b = (max(side, key=lambda graph: graph.radius) for side in filled)
    if decay * a.radius * b.radius >= 1 - ROUNDING:
        raise ValueError(
            f"decay is {decay:g}, and the sum over common walks of graphs {a.row} and {b.row} is finite only below "
            f"{1 / (a.radius * b.radius):g}, 1 over the product of their largest eigenvalues; take a smaller decay."
        )


def _groups(graphs: Sequence[Graph], most: int) -> list[list[int]]:
    """Places of graphs with at least one node, in groups of at most so many nodes (or of one graph)."""
    groups: list[list[int]] = []
    nodes = 0
    for j, graph in enumerate(graphs):
        n = graph.A.shape[0]
        if n == 0:
            continue
        if not groups or nodes + n > most:
            groups.append([])
            nodes = 0
        groups[-1].append(j)
        nodes += n
    return groups


def _sums(graph: Graph, others: Sequence[Graph], decay: float) -> Floats:
    if graph.A.shape[0] == 0:
        return np.zeros(len(others))
    labelled = {graph.labels is not None, *(other.labels is not None for other in others)}
    if len(labelled) > 1:
        raise ValueError("The graphs of X have labels and those of Z have none, or the reverse; both must be alike.")
    symmetric = graph.symmetric and all(other.symmetric for other in others)
    starts = np.cumsum([0] + [other.A.shape[0] for other in others])[:-1]
    if symmetric and not labelled.pop():
        values = np.concatenate([other.eigenvalues for other in others])
        ones = np.concatenate([other.ones for other in others])
        pairs = graph.ones @ (1.0 / (1.0 - decay * np.multiply.outer(graph.eigenvalues, values)))
        return np.asarray(np.add.reduceat(pairs * ones, starts))
    pairs_of_nodes = _Pairs(graph, others, starts, decay)
    return pairs_of_nodes.conjugate_gradients() if symmetric else pairs_of_nodes.series()


class _Pairs:
    """The nodes of one graph with those of others that have the same label, and steps from pair to pair.

    A vector over pairs is kept as a matrix (nodes here × nodes there), zero where labels differ. A step is
    same ∘ (A V Bᵀ), so the matrix of all pairs of pairs is never formed.
    """

    def __init__(self, graph: Graph, others: Sequence[Graph], starts: Any, decay: float) -> None:
        self.A = graph.A
        self.B = sp.block_diag([other.A for other in others], format="csr")
        self.starts = starts
        self.decay = decay
        self.most_steps = max(min(graph.A.shape[0], max(other.A.shape[0] for other in others)), 1)
        radius = max(other.radius for other in others)
        self.slack = 1.0 - decay * graph.radius * radius
        numbers: dict[Any, int] = {}
        mine = graph.labels or (0,) * self.A.shape[0]
        theirs = [label for other in others for label in other.labels or (0,) * other.A.shape[0]]
        here, there = (np.array([numbers.setdefault(label, len(numbers)) for label in side]) for side in (mine, theirs))
        self.same = (here[:, None] == there[None, :]).astype(np.float64)

    def step(self, V: Floats) -> Floats:
        return np.asarray(self.decay * self.same * (self.B @ (self.A @ V).T).T)

    def total(self, V: Floats) -> Floats:
        """The sum over the pairs of nodes of each pair of graphs."""
        return np.asarray(np.add.reduceat(V.sum(axis=0), self.starts))

    def series(self) -> Floats:
        """Step after step until what is left is below rounding; walks of a directed graph may first grow."""
        term = self.same
        sums, steps = self.total(term), 0
        while True:
            term = self.step(term)
            steps += 1
            added = self.total(term)
            sums = sums + added
            if steps >= self.most_steps and (added <= PRECISE * self.slack * sums).all():
                return sums

    def conjugate_gradients(self) -> Floats:
        """1ᵀ(I − step)⁻¹1 of every pair of graphs at once, each with its own coefficients."""
        widths = np.diff([*self.starts, self.same.shape[1]])
        residual = self.same.copy()
        direction = residual.copy()
        square = self.total(residual**2)
        sums, goal = np.zeros_like(square), PRECISE**2 * square
        for _ in range(self.same.size):
            if (square <= goal).all():
                break
            pushed = direction - self.step(direction)
            curvature = self.total(direction * pushed)
            going = (square > goal) & (curvature > 0)
            length = np.divide(square, curvature, out=np.zeros_like(square), where=going)
            sums += length * self.total(direction)
            residual -= np.repeat(length, widths) * pushed
            after = self.total(residual**2)
            ratio = np.divide(after, square, out=np.zeros_like(square), where=going)
            direction = residual + np.repeat(ratio, widths) * direction
            square = np.where(going, after, 0.0)
        return sums
