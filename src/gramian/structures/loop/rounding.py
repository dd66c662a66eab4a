"""Choices that rounding would make otherwise: axes of equal spread, distances of exact fits, structures as near."""

from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EPS = float(np.finfo(np.float64).eps)
EQUAL_SPREAD = 8.0 * EPS  # difference of eigenvalues, times columns, in units of the largest one
ON_STRUCTURE = 64.0 * EPS  # distance, in units of the numbers it is computed from
TIE = 1e-10  # relative difference of losses or objectives of which the first is taken


def principal_axes(cross: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of a scatter, the least first, and unit eigenvectors in columns.

    Where eigenvalues are equal (such as zeros, of fewer rows than columns) their space is determined, its vectors are
    not: the first is the projection of the coordinate axis nearest to the space, the first of equally near ones, and so
    on in what is left. The largest entry of a vector is positive.

    >>> principal_axes(np.diag([1.0, 1.0, 3.0]))[1]
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    scale = float(np.abs(cross).max())
    values, vectors = sl.eigh(cross / scale if scale > 0 else cross)
    ends = np.flatnonzero(np.diff(values) > EQUAL_SPREAD * len(values) * values[-1]) + 1
    if len(ends) < len(values) - 1:
        for space in np.split(np.arange(len(values)), ends):
            if len(space) > 1:
                vectors[:, space] = _by_coordinates(vectors[:, space])
    return values * scale, signed(vectors.T).T


def _by_coordinates(V: Floats) -> Floats:
    """An orthonormal basis of the space of orthonormal columns that depends on the space alone."""
    found = np.empty_like(V)
    for i in range(V.shape[1]):
        squares = np.einsum("ij,ij->i", V, V)
        nearest = V[first_largest(squares)]
        nearest = nearest / np.linalg.norm(nearest)
        found[:, i] = V @ nearest
        V = V - np.outer(found[:, i], nearest)
    return found


def first_largest(sizes: Floats) -> int:
    """The place of the largest of some sizes, the first of those within rounding of it."""
    return int((sizes >= sizes.max() * (1.0 - TIE)).argmax())


def signed(vectors: Floats) -> Floats:
    """Rows with their largest entry positive, the first of several within rounding; −0 is 0."""
    sizes = np.abs(vectors)
    largest = (sizes >= sizes.max(axis=1, keepdims=True) * (1.0 - TIE)).argmax(axis=1)
    signs = np.where(vectors[np.arange(len(vectors)), largest] < 0, -1.0, 1.0)
    return np.asarray(vectors * signs[:, None] + 0.0)


def zero_on_structure(losses: Floats, away: Floats, center: Floats) -> Floats:
    """Squared distances, zero where they are the rounding of a row on the structure, `away` from its centre."""
    farthest = max(float(away.max(initial=0.0)), -float(away.min(initial=0.0)))
    bound = ON_STRUCTURE**2 * (away.shape[1] * farthest**2 + float(center @ center))
    near = np.flatnonzero(losses <= bound)
    if len(near):
        squares = np.einsum("ij,ij->i", away[near], away[near]) + float(center @ center)
        losses[near[losses[near] <= ON_STRUCTURE**2 * squares]] = 0.0
    return losses


def first_least(costs: Any) -> Ints:
    """The column of the least cost of each row, the first of those within rounding of it."""
    by_column = np.ascontiguousarray(costs.T)  # k is small: reductions over columns are many times as fast
    least = by_column.min(axis=0)
    limit = least + TIE * np.abs(least)
    found = np.zeros(len(costs), dtype=np.int64)
    for j in range(len(by_column) - 1, -1, -1):
        found[by_column[j] <= limit] = j
    return found


def clearly_less(value: float, best: float) -> bool:
    """Whether a value is less than the best one by more than rounding."""
    return value < best - TIE * abs(best)
