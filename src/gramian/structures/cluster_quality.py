"""What criteria of the number of clusters measure: silhouettes, agreement of labels, the persistence of a number."""

from itertools import pairwise

import numpy as np

from gramian._core.types import Floats, Ints

MIN_PENALTY_RATIO = 6.0  # between both ends of the penalties of one k, more than rows without clusters have


def silhouette(distances: Floats, labels: Ints, weight: Floats) -> float:
    """The weighted mean of (b − a)/max(a, b), from pairwise distances; weights are counts."""
    _, labels = np.unique(labels, return_inverse=True)
    membership = np.zeros((len(labels), labels.max() + 1))
    rows = np.arange(len(labels))
    membership[rows, labels] = weight
    mass, sums = membership.sum(axis=0), distances @ membership
    within = sums[rows, labels] / np.maximum(mass[labels] - 1.0, 1e-300)
    between = sums / mass
    between[rows, labels] = np.inf
    nearest = between.min(axis=1)
    size = np.maximum(within, nearest)
    scores = np.where((mass[labels] > 1.0) & (size > 0), (nearest - within) / np.where(size > 0, size, 1.0), 0.0)
    return float(weight @ scores / weight.sum())


def co_membership(predicted: Ints, own: Ints, weight: Floats) -> float:
    """The least share, over own clusters, of pairs of rows that are predicted to be together; weights are counts."""
    counts = np.zeros((int(own.max()) + 1, int(predicted.max()) + 1))
    np.add.at(counts, (own, predicted), weight)
    total = counts.sum(axis=1)
    pairs = (counts * np.maximum(counts - 1.0, 0.0)).sum(axis=1)
    return float(np.min(pairs[total > 1] / (total * (total - 1.0))[total > 1], initial=1.0)) * float((total != 1).all())


def persistent_penalty(values: Floats) -> float:
    """The λ in the middle of the longest interval of log λ over which objective + λk is least at the same k.

    As λ decreases from the objective of one cluster to zero, k increases along the vertices of the lower convex hull of
    the objectives. True clusters are far apart, and further ones only divide what is close together: in between λ
    changes most without a change of k. Where no interval is longer than for normal or uniform rows without clusters, λ
    is the objective of one cluster, which then is chosen.
    """
    vertices = [0]
    for i in range(1, len(values)):
        while len(vertices) > 1 and _descent(values, vertices[-1], i) >= _descent(values, vertices[-2], vertices[-1]):
            vertices.pop()
        vertices.append(i)
    descents = [_descent(values, a, b) for a, b in pairwise(vertices)]
    ends = [float(values[0]), *(descent for descent in descents if descent > 0)]
    if len(ends) < 2:
        return max(float(values[0]), 1e-300)
    tiny = 1e-12 * ends[0]
    lengths = [np.log(a / max(b, tiny)) for a, b in pairwise(ends)]
    longest = int(np.argmax(lengths))
    if lengths[longest] < np.log(MIN_PENALTY_RATIO):
        return ends[0]
    return float(np.sqrt(ends[longest]) * np.sqrt(max(ends[longest + 1], tiny)))


def _descent(values: Floats, a: int, b: int) -> float:
    """The mean decrease per cluster between two numbers of clusters."""
    return float(values[a] - values[b]) / (b - a)
