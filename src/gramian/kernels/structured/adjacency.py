"""Graphs read from NetworkX, from dense or sparse adjacency matrices, and from (adjacency, labels) pairs."""

from typing import Any

import numpy as np
import scipy.sparse as sp


def is_networkx(graph: Any) -> bool:
    """Whether this is a graph object with nodes and edges, as NetworkX has them; nothing is imported to tell."""
    return all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed"))


def read_graph(graph: Any, name: str) -> tuple[Any, list[Any] | None]:
    """(adjacency as CSR of float64, what is said of each node or None); `name` is how messages call the graph.

    Of a NetworkX graph it is said what the nodes are called; parallel edges add up, and `weight` is the weight.
    """
    if is_networkx(graph):
        return _checked(_of_networkx(graph), name), list(graph.nodes)
    labels = None
    if isinstance(graph, tuple):
        if len(graph) != 2:
            raise ValueError(f"{name} is a tuple of {len(graph)}; give an adjacency matrix or (adjacency, labels).")
        graph, labels = graph
    if is_networkx(graph):
        A = _checked(_of_networkx(graph), name)
    elif sp.issparse(graph):
        A = _checked(sp.csr_array(graph), name)
    else:
        A = _checked(_of_numbers(graph, name), name)
    if labels is None:
        return A, None
    said = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(said) != A.shape[0]:
        raise ValueError(f"{name} has {A.shape[0]} nodes and {len(said)} labels; give one label for every node.")
    return A, said


def node_labels(graph: Any, name: str) -> list[Any] | None:
    """The attribute `label` of the nodes of a NetworkX graph; None where no node has one."""
    labels = [data.get("label") for _, data in graph.nodes(data=True)]
    missing = sum(label is None for label in labels)
    if 0 < missing < len(labels):
        raise ValueError(
            f"{name} has {missing} of {len(labels)} nodes without a label; give one to every node or none."
        )
    return None if missing else labels


def is_symmetric(A: Any) -> bool:
    """Whether every edge has the same weight in both directions, to rounding."""
    apart = abs(A - A.T)
    return not (apart > 1e-12 * A.maximum(A.T)).nnz


def _of_networkx(graph: Any) -> Any:
    place = {node: i for i, node in enumerate(graph.nodes)}
    ends, weights = [], []
    for u, v, data in graph.edges(data=True):
        weight = data.get("weight")
        ends.append((place[u], place[v]))
        weights.append(1.0 if weight is None else weight)
        if not graph.is_directed() and u != v:
            ends.append((place[v], place[u]))
            weights.append(weights[-1])
    index = np.array(ends, np.int64).reshape(-1, 2).T
    return sp.csr_array((np.array(weights, np.float64), (index[0], index[1])), shape=(len(place), len(place)))


def _of_numbers(graph: Any, name: str) -> Any:
    try:
        A = np.asarray(graph, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} is of type {type(graph).__name__}; a graph is a NetworkX graph, an adjacency matrix (dense or "
            "sparse), or a pair (adjacency, labels)."
        ) from None
    if A.ndim != 2:
        raise ValueError(f"{name} has {A.ndim} dimensions; an adjacency matrix has 2.")
    return sp.csr_array(A)


def _checked(A: Any, name: str) -> Any:
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} has an adjacency matrix of shape {A.shape}; it must be square.")
    A = A.astype(np.float64)
    A.sum_duplicates()
    invalid = ~(np.isfinite(A.data) & (A.data >= 0))
    if invalid.any():
        i, j = (int(ends[invalid][0]) for ends in A.tocoo().coords)
        raise ValueError(
            f"{name} has the weight {A[i, j]} from node {i} to node {j}; weights must be finite and not negative."
        )
    A.eliminate_zeros()
    return A
