"""Nearest neighbours of many rows, by cells: brute force, whatever the rows look like."""

import numpy as np
import pytest

import gramian as gm
from gramian.models.neighbors import cells
from gramian.models.neighbors.cells import Cells, Smallest
from gramian.models.neighbors.distances import MANY, METRICS
from gramian.models.neighbors.distinct import Distinct
from gramian.models.neighbors.exact_search import Brute

N = MANY + 300


def rows(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        return rng.random((n, 10))
    if kind == "groups":
        return 4.0 * np.random.default_rng(99).standard_normal((9, 10))[rng.integers(0, 9, n)] + rng.standard_normal(
            (n, 10)
        )
    if kind == "lattice":  # many at one distance, and repetitions
        X = rng.integers(0, 4, (n, 10)).astype(float)
        X[-20:] = X[:20]
        return X
    if kind == "curve":
        t = rng.random((n, 1))
        return np.hstack([np.sin((j + 1.0) * t) for j in range(10)]) + 1e5
    if kind == "one point":  # and a few others: centres that are equal
        return np.where(
            rng.random((n, 1)) < 0.999, 1.0 + 1e-9 * rng.standard_normal((n, 10)), rng.standard_normal((n, 10))
        )
    return rng.standard_normal((n, 10)) * 10.0 ** rng.integers(-8, 9, 10)  # sizes


KINDS = ["uniform", "groups", "lattice", "curve", "one point", "sizes"]


def brute_force(X, Q, k):
    """The k nearest of all distances, of equal ones the lowest row first."""
    D = np.array([METRICS["euclidean"].pairs(np.broadcast_to(q, X.shape), X) for q in Q])
    index = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, index, 1), index


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_cells_are_below_all_distances(kind, metric):
    measure = METRICS[metric]
    T, Q = measure.points(rows(kind, N)), measure.points(rows(kind, 40, seed=1))
    for single in (True, False):
        bounds = measure.bounds(T, single=single)
        cells = bounds.cells
        assert np.array_equal(np.sort(bounds.order), np.arange(N))
        U = np.ldexp(Q - bounds.shift, -bounds.exponent)
        base = np.einsum("ij,ij->i", U, U)
        _, found = cells.bounds(U, base)
        assert found.shape == (len(cells.starts) - 1, len(U))
        Z = np.ldexp(T[bounds.order] - bounds.shift, -bounds.exponent)
        for q, u in enumerate(U):
            squares = ((Z - u) ** 2).sum(axis=1) - base[q]
            for cell in np.flatnonzero(np.diff(cells.starts)):
                least = squares[cells.starts[cell] : cells.starts[cell + 1]].min()
                assert found[cell, q] <= least + 1e-14 * base[q]


@pytest.mark.parametrize("k", [1, 12, 700])
@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_those_of_brute_force(kind, k):
    X, Q = rows(kind, N), np.vstack([rows(kind, 40, seed=1), rows(kind, N)[:5]])
    Q[7] *= 1e9  # too far for a product
    search = Brute(METRICS["euclidean"], Distinct.of(X), k, "")
    assert search.bounds.cells is not None
    distance, index = search.nearest(Q, k)
    expected = brute_force(X, Q, k)
    np.testing.assert_array_equal(index, expected[1])
    np.testing.assert_array_equal(distance, expected[0])


def test_cells_that_are_far_away_are_left_out(monkeypatch):
    X, Q = rows("groups", N), rows("groups", 60, seed=1)
    looked = []
    look = Smallest.look
    monkeypatch.setattr(
        Smallest,
        "look",
        lambda self, q, start, stop: (looked.append(len(q) * (stop - start)), look(self, q, start, stop)),
    )
    search = Brute(METRICS["euclidean"], Distinct.of(X), 5, "")
    looked.clear()
    search.nearest(Q, 5)
    assert 0 < sum(looked) < 0.3 * len(Q) * N


def test_threads_and_blocks_change_nothing():
    X, Q = rows("uniform", N), rows("uniform", 300, seed=1)
    found = []
    for count in (1, 2, 4):
        with gm.threads(count):
            found.append(gm.KNeighborsRegressor(9).fit(X, X[:, 0]).kneighbors(Q))
    search = Brute(METRICS["euclidean"], Distinct.of(X), 9, "")
    parts = [search.nearest(Q[i : i + 70], 9) for i in range(0, 300, 70)] + [search.nearest(Q[:3], 9)]
    found.append(tuple(np.concatenate([part[side] for part in parts[:-1]]) for side in (0, 1)))
    for distance, index in found[1:]:
        np.testing.assert_array_equal(distance, found[0][0])
        np.testing.assert_array_equal(index, found[0][1])
    np.testing.assert_array_equal(parts[-1][1], found[0][1][:3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_selection_in_plain_python_is_that_of_a_sort(dtype):
    rng = np.random.default_rng(0)
    for count, kept in ((1, 1), (9, 9), (50, 7), (50, 49)):
        values = rng.integers(0, 20, (1, count)).astype(dtype)
        expected, places = np.sort(values[0]), np.arange(count)[None].copy()
        before = values.copy()
        assert cells.select.py_func(values, places, 0, count, kept) == expected[kept - 1]
        np.testing.assert_array_equal(np.sort(values[0, :kept]), expected[:kept])
        np.testing.assert_array_equal(before[0, places[0]], values[0])


def test_empty_cells_and_equal_centres_are_harmless():
    cells = Cells(np.zeros((200, 3)))
    nearest, bounds = cells.bounds(np.full((2, 3), 0.5), np.zeros(2))
    assert nearest.shape == (2,)
    assert (bounds <= 0.75).all()
