"""Decisions independent of rounding: bases of equal eigenvalues, zero distances of exact fits, ties."""

from typing import Any

import numpy as np
import scipy.linalg as sl

from gramian._core.types import Floats, Ints

EPS = float(np.finfo(np.float64).eps)
EIGENVALUE_TIE = 8.0 * EPS  # difference of equal eigenvalues, per column and in units of the largest one
MAX_ZERO_DISTANCE = 64.0 * EPS  # of a row on a structure, in units of the numbers it is computed from
TIE = 1e-10  # relative difference of equal losses or objectives, of which the first is chosen


def principal_axes(cross: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of a scatter, the least first, and unit eigenvectors in columns.

    Equal eigenvalues (such as zeros, of fewer rows than columns) determine a space but not its basis: the first vector
    is the projection of the coordinate axis nearest to the space, the first of equally near ones, and the others follow
    in the same way in the orthogonal complement. The largest entry of a vector is positive.

    >>> principal_axes(np.diag([1.0, 1.0, 3.0]))[1]
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    scale = float(np.abs(cross).max())
    values, vectors = sl.eigh(cross / scale if scale > 0 else cross)
    ends = np.flatnonzero(np.diff(values) > EIGENVALUE_TIE * len(values) * values[-1]) + 1
    if len(ends) < len(values) - 1:
        for space in np.split(np.arange(len(values)), ends):
            if len(space) > 1:
                vectors[:, space] = _by_coordinates(vectors[:, space])
    return values * scale, signed(vectors.T).T


def _by_coordinates(V: Floats) -> Floats:
    """An orthonormal basis of the space of orthonormal columns that depends on the space alone."""
    basis = np.empty_like(V)
    for i in range(V.shape[1]):
        squares = np.einsum("ij,ij->i", V, V)
        nearest = V[first_largest(squares)]
        nearest = nearest / np.linalg.norm(nearest)
        basis[:, i] = V @ nearest
        V = V - np.outer(basis[:, i], nearest)
    return basis


def first_largest(sizes: Floats) -> int:
    """The index of the largest size, the first of those within rounding of it."""
    return int((sizes >= sizes.max() * (1.0 - TIE)).argmax())


def signed(vectors: Floats) -> Floats:
    """Rows with their largest entry positive, the first of several within rounding; −0 is 0."""
    sizes = np.abs(vectors)
    largest = (sizes >= sizes.max(axis=1, keepdims=True) * (1.0 - TIE)).argmax(axis=1)
    signs = np.where(vectors[np.arange(len(vectors)), largest] < 0, -1.0, 1.0)
    return np.asarray(vectors * signs[:, None] + 0.0)


def zero_on_structure(losses: Floats, deviation: Floats, center: Floats) -> Floats:
    """Squared distances, zero where they are rounding errors; `deviation` is from the centre of the structure."""
    farthest = max(float(deviation.max(initial=0.0)), -float(deviation.min(initial=0.0)))
    bound = MAX_ZERO_DISTANCE**2 * (deviation.shape[1] * farthest**2 + float(center @ center))
    small = np.flatnonzero(losses <= bound)
    if len(small):
        squares = np.einsum("ij,ij->i", deviation[small], deviation[small]) + float(center @ center)
        losses[small[losses[small] <= MAX_ZERO_DISTANCE**2 * squares]] = 0.0
    return losses


def first_least(costs: Any) -> Ints:
    """The column of the least cost of each row, the first of those within rounding of it."""
    by_column = np.ascontiguousarray(costs.T)  # k is small: reductions over columns are many times as fast
    least = by_column.min(axis=0)
    limit = least + TIE * np.abs(least)
    first = np.zeros(len(costs), dtype=np.int64)
    for j in range(len(by_column) - 1, -1, -1):
        first[by_column[j] <= limit] = j
    return first


def clearly_less(value: float, best: float) -> bool:
    """Whether a value is less than the best one by more than rounding."""
    return value < best - TIE * abs(best)
