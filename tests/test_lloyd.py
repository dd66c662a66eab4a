"""k-means of rows in memory, where it starts, and the nearest centre: against plain NumPy and scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

import gramian as gm
from gramian._core.numerics import small_tables
from gramian.solvers.kmeans.lloyd import lloyd, nearest_centers, own_squared_distances
from gramian.solvers.kmeans.points import ScaledPoints
from gramian.solvers.kmeans.seeding import by_weight, farthest, plus_plus


def squares(X, C):
    return ((X[:, None] - C) ** 2).sum(axis=2)


def plain(X, weight, C, tol=-1.0):
    """Lloyd's algorithm without any of its short cuts."""
    w = np.ones(len(X)) if weight is None else weight
    labels, history, iterations = None, [], 0
    while True:
        away = squares(X, C)
        new = away.argmin(axis=1)
        history.append(float(w @ away.min(axis=1)))
        small = len(history) > 1 and history[-2] - history[-1] <= tol * history[-2]
        if labels is not None and ((new == labels).all() or small):
            return C, new, history, iterations
        labels, iterations = new, iterations + 1
        left = np.where(w > 0, away.min(axis=1), 0.0)
        C = C.copy()
        mine = [(labels == j) & (w > 0) for j in range(len(C))]
        for j, m in enumerate(mine):
            if m.any():
                C[j] = np.average(X[m], axis=0, weights=w[m])
        for j, m in enumerate(mine):
            if not m.any() and left.max() > 0:
                C[j] = X[left.argmax()]
                left = np.minimum(left, squares(X, C[j : j + 1])[:, 0])


def blobs(seed, n, d, k, spread):
    rng = np.random.default_rng(seed)
    return spread * rng.standard_normal((k, d))[rng.integers(0, k, n)] + rng.standard_normal((n, d))


@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
@pytest.mark.parametrize(("n", "d", "k"), [(40, 1, 3), (700, 2, 9), (2500, 5, 33), (6000, 17, 12), (300, 3, 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_as_plain_lloyd(n, d, k, spread, weighted):
    rng = np.random.default_rng(n + int(spread))
    X = blobs(rng, n, d, k, spread)
    weight = rng.integers(0, 3, n) + 0.25 * rng.random(n) if weighted else None
    start = X[rng.choice(n, k, replace=False)]
    found = lloyd(X, weight, start)
    C, labels, history, iterations = plain(X, weight, start)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centers, C, atol=1e-10)
    np.testing.assert_allclose(found.history, history, rtol=1e-10)
    assert found.objective == pytest.approx(history[-1], rel=1e-10)
    assert (found.iterations, found.converged) == (iterations, True)
    with gm.threads(1):
        alone = lloyd(X, weight, start)
    np.testing.assert_array_equal(alone.centers, found.centers)
    np.testing.assert_array_equal(alone.labels, found.labels)
    assert alone.history == found.history


def test_the_same_bits_for_any_number_of_threads():
    X = blobs(3, 60_000, 4, 20, 1.0)
    rows = []
    answers = []
    for count in (1, 2, 3):
        with gm.threads(count):
            rows.append(plus_plus(X, None, 20, np.random.default_rng(0)))
            answers.append(lloyd(X, None, X[rows[0]], max_iter=15))
    for other, found in zip(rows, answers, strict=True):
        np.testing.assert_array_equal(other, rows[0])
        np.testing.assert_array_equal(found.centers, answers[0].centers)
        np.testing.assert_array_equal(found.labels, answers[0].labels)
        assert found.history == answers[0].history


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("weighted", [False, True])
def test_stops_at_the_relative_decrease(tol, weighted):
    rng = np.random.default_rng(17)
    X = blobs(rng, 4000, 4, 9, 1.0)
    weight = rng.random(4000) if weighted else None
    found = lloyd(X, weight, X[:9], tol=tol)
    C, labels, history, iterations = plain(X, weight, X[:9], tol)
    assert (found.iterations, found.converged) == (iterations, True)
    assert iterations < lloyd(X, weight, X[:9]).iterations or tol < 1e-3
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centers, C, atol=1e-10)
    np.testing.assert_allclose(found.history, history, rtol=1e-10)


@pytest.mark.parametrize("max_iter", [0, 2, 300])
def test_change_by_one_more_iteration(max_iter):
    rng = np.random.default_rng(18)
    X, weight = blobs(rng, 3000, 3, 6, 1.0), rng.integers(0, 3, 3000).astype(float)
    found = lloyd(X, weight, X[:6], max_iter=max_iter)
    more = lloyd(X, weight, found.centers, max_iter=1)
    assert found.change == pytest.approx(found.objective - more.objective, abs=1e-10 * found.objective)
    assert (found.change > 1e-6 * found.objective) == (max_iter < 300)
    np.testing.assert_allclose(found.mass, np.bincount(found.labels, weight, 6), rtol=1e-12)
    np.testing.assert_allclose(
        own_squared_distances(X, found.centers, found.labels),
        ((X - found.centers[found.labels]) ** 2).sum(axis=1),
        rtol=1e-12,
    )


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_the_same_as_scikit_learn(algorithm):
    X = blobs(5, 8000, 6, 15, 1.5)
    start = X[:15]
    peer = KMeans(15, init=start, n_init=1, tol=0, algorithm=algorithm, max_iter=500).fit(X)
    found = lloyd(X, None, start, max_iter=500)
    assert found.objective == pytest.approx(peer.inertia_, rel=1e-8)
    assert found.converged
    assert found.iterations == peer.n_iter_ - 1  # theirs counts the last look, at which nothing moves
    assert (np.diff(found.history) <= 1e-12 * found.history[0]).all()
    labels, away = nearest_centers(X, found.centers)
    np.testing.assert_array_equal(labels, found.labels)
    assert away.sum() == pytest.approx(found.objective, rel=1e-12)


def test_stops_at_max_iter_before_convergence():
    X = blobs(6, 3000, 3, 8, 0.0)
    found = lloyd(X, None, X[:8], max_iter=3)
    assert (found.iterations, found.converged, len(found.history)) == (3, False, 4)
    np.testing.assert_array_equal(found.labels, squares(X, found.centers).argmin(axis=1))
    none = lloyd(X, None, X[:8], max_iter=0)
    np.testing.assert_allclose(none.centers, X[:8], rtol=1e-15)
    assert none.objective == pytest.approx(squares(X, X[:8]).min(axis=1).sum(), rel=1e-12)


def test_centers_without_rows_move_to_the_farthest_row():
    X = blobs(7, 500, 2, 5, 6.0)
    start = np.vstack([X[:2], np.full((3, 2), 1e4)])
    found = lloyd(X, None, start)
    assert len(np.unique(found.labels)) == 5
    assert (np.diff(found.history) <= 0).all()
    _, labels, _, iterations = plain(X, None, start)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.iterations == iterations


def test_weights_are_repetitions():
    rng = np.random.default_rng(8)
    X, weight = blobs(8, 400, 3, 6, 2.0), rng.integers(0, 4, 400)
    start = np.vstack([X[weight > 0][:5], [[50.0, 50.0, 50.0]]])
    weighted, repeated = lloyd(X, weight.astype(float), start), lloyd(np.repeat(X, weight, axis=0), None, start)
    np.testing.assert_allclose(weighted.centers, repeated.centers, rtol=1e-12)
    np.testing.assert_array_equal(np.repeat(weighted.labels, weight), repeated.labels)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-12)
    assert weighted.iterations == repeated.iterations


@pytest.mark.parametrize("move", [0.0, 1e9])
@pytest.mark.parametrize("unit", [2.0**-500, 1e-150, 1.0, 1e150])
def test_offsets_and_units(move, unit):
    X = np.rint(blobs(9, 900, 4, 7, 3.0) * 2**10) / 2**10  # exact beside an offset
    moved = (X + move) * unit
    first, then = lloyd(X, None, X[:7]), lloyd(moved, None, moved[:7])
    np.testing.assert_array_equal(then.labels, first.labels)
    assert then.iterations == first.iterations
    np.testing.assert_allclose(then.centers / unit - move, first.centers, rtol=1e-9, atol=4e-15 * move + 1e-12)
    if unit == 1:
        assert then.objective == pytest.approx(first.objective, rel=1e-12)
    np.testing.assert_array_equal(
        plus_plus(moved, None, 7, np.random.default_rng(1)), plus_plus(X, None, 7, np.random.default_rng(1))
    )


def test_an_outlier_does_not_cost_the_other_rows_precision():
    X = blobs(10, 800, 3, 4, 5.0)
    far = np.vstack([X, [[1e25, 0.0, 0.0]]])
    alone = lloyd(X, None, X[:4])
    both = lloyd(far, None, np.vstack([X[:4], far[-1:]]))
    np.testing.assert_array_equal(both.labels[:-1], alone.labels)
    assert both.labels[-1] == 4
    assert both.objective == pytest.approx(alone.objective, rel=1e-12)
    away = np.full((2, 3), 1e200)
    away[1] *= 2
    assert nearest_centers(ScaledPoints.of(X), away)[0].tolist() == [0] * len(X)


def test_single_precision_rows():
    X = blobs(11, 3000, 5, 6, 2.0).astype(np.float32)
    found, same = lloyd(X, None, X[:6]), lloyd(X.astype(float), None, X[:6])
    assert found.centers.dtype == np.float64
    np.testing.assert_array_equal(found.centers, same.centers)
    assert found.history == same.history


def test_rows_that_are_all_equal():
    X = np.full((20, 3), 7.5)
    rows = plus_plus(X, None, 4, np.random.default_rng(0))
    assert len(set(rows.tolist())) == 4
    found = lloyd(X, None, X[rows])
    np.testing.assert_array_equal(found.centers, X[rows])
    assert (found.objective, found.converged, set(found.labels.tolist())) == (0.0, True, {0})
    with_few = np.repeat(np.arange(3.0)[:, None], 5, axis=0)
    found = lloyd(with_few, None, with_few[plus_plus(with_few, None, 6, np.random.default_rng(0))])
    assert found.objective == 0
    assert np.isfinite(found.centers).all()
    assert farthest(with_few[:2], None, 2).tolist() == [0, 1]
    assert by_weight(np.array([0.0, 2.0, 0.0]), 2, np.random.default_rng(0)).tolist() == [1, 1]
    again = plus_plus(with_few, np.arange(15) < 1.0, 2, np.random.default_rng(0))
    assert again.tolist() == [0, 0]


@pytest.mark.parametrize(("n", "d", "k"), [(1, 3, 2), (130, 1, 7), (500, 8, 30), (3000, 33, 5), (64, 4, 200)])
def test_nearest_is_that_of_all_distances(n, d, k):
    rng = np.random.default_rng(n)
    X, C = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    labels, away = nearest_centers(X, C)
    np.testing.assert_array_equal(labels, squares(X, C).argmin(axis=1))
    np.testing.assert_allclose(away, squares(X, C).min(axis=1), rtol=1e-13)


def test_ties_go_to_the_lowest_index():
    grid = np.stack(np.meshgrid(np.arange(15.0), np.arange(15.0)), axis=2).reshape(-1, 2)
    for move in (0.0, 1e6):
        C = np.vstack([grid[::7], grid[::7] + 1.0, grid[::7]])
        np.testing.assert_array_equal(nearest_centers(grid + move, C + move)[0], squares(grid, C).argmin(axis=1))
        found, (_, labels, _, _) = lloyd(grid + move, None, C + move), plain(grid, None, C)
        np.testing.assert_array_equal(found.labels, labels)


def test_near_ties_are_resolved_in_double_precision():
    rng = np.random.default_rng(12)
    C = rng.standard_normal((2, 6)) * 100
    middle, along = C.mean(axis=0), (C[1] - C[0]) / np.linalg.norm(C[1] - C[0])
    step = rng.choice([-1.0, 1.0], 2000) * 1e-9
    across = rng.standard_normal((2000, 6))
    across -= (across @ along)[:, None] * along
    X = middle + across + step[:, None] * along
    np.testing.assert_array_equal(nearest_centers(X, C)[0], (step > 0).astype(int))


def test_seeds_find_clusters_that_are_far_apart():
    cluster = np.arange(40_000) % 12
    X = blobs(13, 40_000, 3, 1, 0.0) + 1e4 * cluster[:, None]
    for seed in range(10):
        assert len(set(cluster[plus_plus(X, None, 12, np.random.default_rng(seed))].tolist())) == 12
    rows = farthest(X, None, 12)
    assert len(set(cluster[rows].tolist())) == 12
    assert rows[0] == squares(X, X.mean(axis=0)[None])[:, 0].argmax()
    assert rows[1] == squares(X, X[rows[:1]])[:, 0].argmax()


def test_seeds_are_drawn_by_weight_and_squared_distance():
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    weight = np.array([1.0, 2.0, 0.0, 0.5])
    pairs = np.zeros((4, 4))
    rng = np.random.default_rng(14)
    for _ in range(2500):
        first, second = plus_plus(X, weight, 2, rng, candidates=1)
        pairs[first, second] += 1 / 2500
    share = weight * squares(X, X)
    want = (weight / weight.sum())[:, None] * share / share.sum(axis=1, keepdims=True)
    assert np.abs(pairs - want).max() < 5 * 0.5 / np.sqrt(2500)


def test_rejection_sampling_draws_seeds_by_squared_distance():
    """The last of several, of which all rows have looked at only some, is drawn as if they had."""
    rng = np.random.default_rng(15)
    X = rng.standard_normal((40_000, 2))
    place = X[:, 0] > 0.5
    found = [plus_plus(X, None, 6, np.random.default_rng(s), candidates=1) for s in range(150)]
    last, want = [], []
    for rows in found:
        share = squares(X, X[rows[:-1]]).min(axis=1)
        want.append(share[place].sum() / share.sum())
        last.append(place[rows[-1]])
    want = np.array(want)
    assert abs(np.mean(last) - want.mean()) < 4.5 * np.sqrt((want * (1 - want)).mean() / len(want))


def test_rows_closer_than_single_precision_are_distinguished():
    X = np.array([[0.0], [1e-12], [1.0], [1 + 1e-12]])
    assert sorted(plus_plus(X, None, 4, np.random.default_rng(0)).tolist()) == [0, 1, 2, 3]
    found = lloyd(np.repeat(X, 3, axis=0), None, X)
    assert found.labels.tolist() == np.repeat(np.arange(4), 3).tolist()
    assert found.objective == 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["normal", "grid", "duplicates", "offset", "single", "extreme", "transposed"])
@pytest.mark.parametrize(("n", "d", "k"), [(12, 1, 3), (150, 4, 3), (300, 9, 8), (90, 2, 40)])
def test_small_tables_without_compiled_loops(n, d, k, kind, weighted, monkeypatch):
    rng = np.random.default_rng([n, len(kind)])
    X = blobs(rng, n, d, k, 2.0)
    if kind == "grid":
        X = np.rint(X)
    elif kind == "duplicates":
        X = X[rng.integers(0, n // 3, n)]
    elif kind == "offset":
        X += 1e8
    elif kind == "single":
        X = X.astype(np.float32)
    elif kind == "extreme":
        X *= 1e150
    elif kind == "transposed":
        X = np.asfortranarray(X)[::-1]
    weight = rng.integers(0, 3, n) * rng.random(n) if weighted else None
    answers = []
    for numbers in (small_tables.SMALL, 0):
        monkeypatch.setattr(small_tables, "SMALL", numbers)
        rows = plus_plus(X, weight, k, np.random.default_rng(0))
        start = np.concatenate([X[rows[:-1]], X[rows[:1]]]).astype(float)
        answers.append((rows, lloyd(X, weight, start), lloyd(X, weight, start, max_iter=2), *nearest_centers(X, start)))
    (rows, whole, two, labels, away), (rows_c, whole_c, two_c, labels_c, away_c) = answers
    np.testing.assert_array_equal(rows, rows_c)
    np.testing.assert_array_equal(labels, labels_c)
    np.testing.assert_allclose(away, away_c, rtol=1e-12)
    spread = np.ptp(X, axis=0).max()
    for numpy, loops in ((whole, whole_c), (two, two_c)):
        np.testing.assert_array_equal(numpy.labels, loops.labels)
        np.testing.assert_allclose(numpy.centers, loops.centers, rtol=1e-12, atol=1e-12 * spread)
        np.testing.assert_allclose(numpy.mass, loops.mass, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(numpy.history, loops.history, rtol=1e-12, atol=1e-12 * spread**2)
        assert (numpy.iterations, numpy.converged) == (loops.iterations, loops.converged)
