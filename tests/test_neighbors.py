"""Nearest neighbours: the search against brute force, votes against scikit-learn, the choice against refits."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier as TheirClassifier
from sklearn.neighbors import KNeighborsRegressor as TheirRegressor
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

import gramian as gm
from gramian.models.neighbors import base, distinct, exact_search
from gramian.models.neighbors.distances import METRICS, GramBounds
from gramian.models.neighbors.distinct import Distinct
from gramian.models.neighbors.estimators import KNeighborsClassifier, KNeighborsRegressor
from gramian.models.neighbors.exact_search import Brute, Tree, _smallest, search
from gramian.rows import Rows

BOTH = [KNeighborsClassifier, KNeighborsRegressor]


def every_distance(X, Q, metric):
    """Distances (q, n), in extended precision."""
    X, Q = X.astype(np.longdouble), Q.astype(np.longdouble)
    if metric == "cosine":
        X, Q = (A / np.sqrt((A**2).sum(axis=1, keepdims=True)) for A in (X, Q))
        return 1.0 - Q @ X.T
    D = Q[:, None, :] - X
    return np.sqrt((D**2).sum(axis=2)) if metric == "euclidean" else np.abs(D).sum(axis=2)


def brute_force(X, Q, k, metric="euclidean"):
    """The k nearest rows, those at one distance in order."""
    D = every_distance(X, Q, metric).astype(np.float64)
    index = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, index, 1), index


def alone(T):
    """Rows as points, repetitions and all."""
    return Distinct(T, np.arange(T.shape[0] + 1), None)


def classes(seed, n=120, d=3, k=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.standard_normal((n, d)) + 0.8 * y[:, None], y


def numbers(seed, n=120, d=3, t=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.sin(X @ rng.standard_normal((d, t))) + 0.3 * rng.standard_normal((n, t))
    return X, Y[:, 0] if t == 1 else Y


class TestSearch:
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
    @pytest.mark.parametrize("seed", range(8))
    def test_ties_go_to_the_first_row(self, seed, metric):
        rng = np.random.default_rng(seed)
        n, d, top = int(rng.integers(5, 1500)), int(rng.integers(1, 7)), int(rng.integers(2, 10))
        k = int(rng.integers(1, min(n, 50) + 1))
        X, Q = rng.integers(0, top, (n, d)).astype(float), rng.integers(-1, top + 1, (30, d)).astype(float)
        distance, index = brute_force(X, Q, k, metric)
        measure, S = METRICS[metric], sp.csr_array(X)
        dense = [
            kind(measure, points, *more)
            for points in (Distinct.of(X), alone(X))
            for kind, more in ((Brute, (k, "")), (Tree, ("",)))
        ]
        sparse = [Brute(measure, points, k, "") for points in (Distinct.of(S), alone(S))]
        for found, queries in [(s, Q) for s in dense] + [(s, sp.csr_array(Q)) for s in sparse]:
            a, b = found.nearest(queries, k)
            np.testing.assert_array_equal(b, index)
            np.testing.assert_allclose(a, distance, rtol=1e-15)

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
    @pytest.mark.parametrize(("n", "d", "k"), [(4000, 2, 1), (4000, 12, 7), (3000, 30, 150), (60, 5, 60)])
    def test_equals_scikit_learn(self, n, d, k, metric):
        rng = np.random.default_rng(n + d)
        X, Q = rng.standard_normal((n, d)), rng.standard_normal((300, d))
        model = KNeighborsRegressor(k, metric=metric).fit(X, X[:, 0])
        distance, index = model.kneighbors(Q)
        theirs = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(X).kneighbors(Q)
        np.testing.assert_allclose(distance, theirs[0], rtol=1e-7, atol=1e-12)
        np.testing.assert_array_equal(index, theirs[1])
        assert model.certificate_.holds
        assert (np.diff(distance, axis=1) >= 0).all()

    def test_the_cheaper_method_is_chosen_and_named(self):
        X = np.random.default_rng(0).standard_normal((2000, 40))
        few, many = (KNeighborsRegressor(5).fit(X[:, :d], X[:, 0]).solver_ for d in (2, 40))
        assert few.name == "kd_tree"
        assert many.name == "brute"
        assert "2000 points in 2 dimensions" in few.reason
        assert "single precision" in many.reason
        assert "sparse" in KNeighborsRegressor(5).fit(sp.random(50, 30, 0.05), np.arange(50.0)).solver_.reason

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
    @pytest.mark.parametrize("kind", ["single", "double", "sparse"])
    def test_bounds_are_below_the_distances_and_near(self, metric, kind):
        rng = np.random.default_rng(1)
        X, Q = (
            rng.standard_normal((200, 9)) * 10.0 ** rng.integers(-3, 4, 9) + 50.0,
            100.0 * rng.standard_normal((20, 9)),
        )
        measure = METRICS[metric]
        T, U = (measure.points(sp.csr_array(A) if kind == "sparse" else A) for A in (X, Q))
        bounds = measure.bounds(T, single=kind == "single")
        lower, base = bounds.of(U)
        dense = [A.toarray() if kind == "sparse" else A for A in (T, U)]
        true = every_distance(dense[0], dense[1], "manhattan" if metric == "manhattan" else "euclidean")  # lengths
        key = bounds.key(true.astype(np.float64))[:, bounds.order]
        found = lower.astype(np.float64) + base[:, None]
        assert (found <= key * (1.0 + 1e-15)).all()
        assert (key - found).max() < (1e-3 if kind == "single" else 1e-9) * key.max()
        limits = bounds.limits(true[:, 7].astype(np.float64), base, lower.dtype)
        place = int(np.flatnonzero(bounds.order == 7)[0])
        assert (lower[:, place] <= limits).all()

    @pytest.mark.parametrize("gap", [10.0, 1e5, 1e12])
    def test_clusters_far_apart_keep_their_digits(self, gap):
        rng = np.random.default_rng(2)
        X = rng.standard_normal((1200, 12))
        X[600:] += gap
        found = search(METRICS["euclidean"], X, 5)
        assert isinstance(found.bounds, GramBounds)
        assert (found.bounds.right.dtype == np.float64) == (gap > 10.0)
        distance, index = found.nearest(X[::50], 5)
        expected = brute_force(X, X[::50], 5)
        np.testing.assert_array_equal(index, expected[1])
        np.testing.assert_allclose(distance, expected[0], rtol=1e-13)

    def test_the_first_threshold_may_be_too_low(self):
        rng = np.random.default_rng(3)
        for n, m in ((4000, 40), (900, 10), (60, 20)):
            table = rng.standard_normal((8, n)).astype(np.float32)
            places = np.argsort(np.arange(n) % exact_search.STRIDE, kind="stable")
            table[::2, places] = np.sort(
                table[::2], axis=1
            )  # the sample has the smallest numbers: a threshold far too low
            table[1, : n // 3] = -np.inf
            columns, rest = _smallest(table, m)
            for row, chosen, least in zip(table, columns, rest, strict=True):
                assert len(set(chosen.tolist())) == m
                np.testing.assert_array_equal(np.sort(row[chosen]), np.sort(row)[:m])
                assert np.delete(row, chosen).min() >= least

    @pytest.mark.parametrize("d", [2, 9])
    def test_small_batches_change_nothing(self, monkeypatch, d):
        rng = np.random.default_rng(12)
        X, Q = rng.integers(0, 3, (500, d)).astype(float), rng.integers(0, 3, (40, d)).astype(float)
        expected = brute_force(X, Q, 12)
        for name, value in (("FOUND", 30), ("TOGETHER", 50), ("PAIRS", 40)):
            monkeypatch.setattr(exact_search, name, value)
        for points in (Distinct.of(X), alone(X)):
            for found in (Brute(METRICS["euclidean"], points, 12, ""), Tree(METRICS["euclidean"], points, "")):
                distance, index = found.nearest(Q, 12)
                np.testing.assert_array_equal(index, expected[1])
                np.testing.assert_allclose(distance, expected[0], rtol=1e-15)

    def test_points_are_the_distinct_rows(self, monkeypatch):
        X = np.array([[1.0, 0.0], [2.0, 5.0], [1.0, -0.0], [2.0, 5.0], [3.0, 0.0]])
        for T in (X, sp.csr_array(X)):
            found = Distinct.of(T)
            assert found.rows == 5
            assert found.T.shape == (3, 2)
            assert found.members.tolist() == [0, 2, 1, 3, 4]
            assert found.starts.tolist() == [0, 2, 4, 5]
            assert Distinct.of(T[[0, 1, 4]]).members is None
        monkeypatch.setattr(distinct, "_hashes", lambda T: np.zeros(T.shape[0], dtype=np.uint64))
        assert Distinct.of(X).members is None  # different rows of one hash are kept apart
        assert Distinct.of(sp.csr_array(X)).members is None

    def test_the_certificate_tells_a_wrong_search(self):
        X = np.random.default_rng(4).standard_normal((600, 12))
        found = search(METRICS["euclidean"], X, 5)
        good = found.certificate(5)
        assert good.holds
        assert good.value == 0.0
        assert "100 of 600 points" in str(good)
        assert "within" in str(good)
        found.bounds.right[:300] += 50.0  # bounds that are too high lose half the rows
        bad = found.certificate(5)
        assert not bad.holds
        assert bad.value > 1e-3
        assert "beyond" in str(bad)

    def test_a_row_of_zeros_has_a_direction_of_its_own(self):
        X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [-2.0, 0.0], [0.0, 0.0]])
        for given in (X, sp.csr_matrix(X)):
            model = KNeighborsRegressor(1, metric="cosine").fit(given, np.arange(5.0))
            distance, index = model.kneighbors(X, 5)
            np.testing.assert_allclose(distance[0], [0, 0, 1, 1, 1], atol=1e-15)
            assert index[0].tolist() == [0, 4, 1, 2, 3]
            np.testing.assert_allclose(distance[1], [0, 1, 1, 1, 2], atol=1e-15)
            assert index[1].tolist() == [1, 0, 2, 4, 3]


class TestScales:
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
    @pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-600, 2.0**600, 2.0**1015])
    @pytest.mark.parametrize("d", [2, 12])
    def test_the_unit_of_the_columns_does_not_matter(self, metric, unit, d):
        rng = np.random.default_rng(5)
        X = rng.standard_normal((1500, d)).clip(-4, 4)
        X[:300] = X[300:600]
        for given in (X, sp.csr_matrix(np.where(rng.random(X.shape) < 0.06, X, 0.0))):
            a = KNeighborsRegressor(9, metric=metric).fit(given, X[:, 0]).kneighbors(given[:50])
            b = KNeighborsRegressor(9, metric=metric).fit(given * unit, X[:, 0]).kneighbors(given[:50] * unit)
            np.testing.assert_array_equal(b[1], a[1])
            scale = 1.0 if metric == "cosine" else unit
            np.testing.assert_allclose(b[0] / scale, a[0], rtol=1e-12)

    @pytest.mark.parametrize("d", [2, 12])
    def test_small_columns_count_where_large_ones_are_equal(self, d):
        rng = np.random.default_rng(6)
        X = rng.standard_normal((400, d))
        X[:, 0] = 1e200 * rng.integers(0, 2, 400)
        model = KNeighborsRegressor(3).fit(X, X[:, 1])
        distance, index = model.kneighbors(X)
        for i in range(400):
            alike = np.flatnonzero(X[:, 0] == X[i, 0])
            inside, order = brute_force(X[alike, 1:], X[[i], 1:], 3)
            np.testing.assert_array_equal(index[i], alike[order[0]])
            np.testing.assert_allclose(distance[i], inside[0], rtol=1e-12)

    @pytest.mark.parametrize("d", [2, 12])
    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_queries_far_away(self, d, kind):
        rng = np.random.default_rng(7)
        X = rng.standard_normal((500, d))
        if kind is sp.csr_matrix:
            X *= rng.random((500, d)) < 0.05
        Q = np.array([[1.0] * d, [1e4] * d, [1e9] * d, [-1e60] * d, [1e200] * d])
        distance, index = KNeighborsRegressor(4).fit(kind(X), X[:, 0]).kneighbors(kind(Q))
        expected = brute_force(X, Q, 4)
        np.testing.assert_allclose(distance, expected[0], rtol=1e-12)
        np.testing.assert_array_equal(index[:2], expected[1][:2])

    def test_beyond_any_distance(self):
        X = np.random.default_rng(8).standard_normal((50, 2))
        frame = pd.DataFrame(X.copy(), columns=["a", "b"])
        model = KNeighborsRegressor(4).fit(frame, X[:, 0])
        frame.loc[7, "b"] = 1e300
        with pytest.raises(ValueError, match=r"Row 7 of X holds 1e\+300 in column 'b', too far"):
            model.predict(frame)
        sparse = KNeighborsRegressor(4).fit(sp.random(50, 40, 0.05), X[:, 0])
        with pytest.raises(ValueError, match=r"Row 0 of X holds 1e\+300 in column 3, too far"):
            sparse.predict(sp.csr_matrix(([1e300], ([0], [3])), shape=(1, 40)))

    @pytest.mark.parametrize("unit", [2.0**-700, 2.0**700, 2.0**1015])
    def test_the_unit_of_the_target_does_not_matter(self, unit):
        X, y = numbers(9)
        a, b = KNeighborsRegressor().fit(X, y), KNeighborsRegressor().fit(X, y * unit)
        assert a.n_neighbors_ == b.n_neighbors_
        np.testing.assert_array_equal(b.predict(X), a.predict(X) * unit)
        c = KNeighborsRegressor().fit(X, y * 2.0**410)
        np.testing.assert_array_equal(c.scores_.mean, a.scores_.mean * 2.0**820)
        np.testing.assert_array_equal(c.scores_.se, a.scores_.se * 2.0**820)

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
    def test_standardized_columns(self, kind):
        X, y = numbers(10, n=200, d=4)
        X *= [1e-3, 1.0, 50.0, 1e150]
        if kind is sp.csr_matrix:
            X *= np.random.default_rng(0).random(X.shape) < 0.08
        Z = StandardScaler(with_mean=False).fit_transform(X)
        for metric in METRICS:
            a = KNeighborsRegressor(5, metric=metric, standardize=True).fit(kind(X), y)
            b = KNeighborsRegressor(5, metric=metric).fit(kind(Z), y)
            np.testing.assert_allclose(a.kneighbors(kind(X))[0], b.kneighbors(kind(Z))[0], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(a.predict(kind(X)), b.predict(kind(Z)), rtol=1e-9)

    def test_standardized_far_from_zero(self):
        X, y = numbers(11)
        a = KNeighborsRegressor(5, standardize=True).fit(X, y)
        b = KNeighborsRegressor(5, standardize=True).fit(np.round(X, 6) + 2.0**33, y)  # six digits are left
        np.testing.assert_allclose(b.kneighbors(np.round(X, 6) + 2.0**33)[0], a.kneighbors(X)[0], atol=1e-4)


class TestVotes:
    @pytest.mark.parametrize("weights", ["uniform", "distance"])
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
    def test_equal_scikit_learn(self, weights, metric):
        X, y = classes(0, n=300, d=4, k=4)
        Q = np.vstack([np.random.default_rng(1).standard_normal((100, 4)), X[:20]])
        if metric == "cosine":
            Q = Q[
                :100
            ]  # the cosine of a row with itself is one up to rounding, and scikit-learn's distance is not zero
        for k in (1, 4, 15):
            ours, theirs = (
                kind(n_neighbors=k, weights=weights, metric=metric) for kind in (KNeighborsClassifier, TheirClassifier)
            )
            ours.fit(X, y), theirs.fit(X, y)
            np.testing.assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q), rtol=1e-7, atol=1e-9)
            if weights == "uniform" or k != 4:
                np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
        for t in (1, 3):
            X, Y = numbers(2, n=300, d=4, t=t)
            ours, theirs = (
                kind(n_neighbors=6, weights=weights, metric=metric) for kind in (KNeighborsRegressor, TheirRegressor)
            )
            np.testing.assert_allclose(ours.fit(X, Y).predict(Q), theirs.fit(X, Y).predict(Q), rtol=1e-7)

    def test_probabilities_and_decisions_agree(self):
        X, y = classes(3)
        for labels in (y, y == 1):
            model = KNeighborsClassifier(4).fit(X, labels)  # four votes: ties are common
            shares = model.predict_proba(X)
            np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
            np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
            decisions = model.decision_function(X)
            assert decisions.shape == ((120,) if labels.dtype == bool else (120, 3))
            np.testing.assert_array_equal(shares * 4, np.round(shares * 4))
            assert (np.sort(shares, axis=1)[:, -1] == np.sort(shares, axis=1)[:, -2]).any()

    def test_equal_rows_vote_alone(self):
        X = np.array([[0.0], [0.0], [0.0], [0.1], [0.1], [0.1], [0.1]])
        y = np.array([0, 0, 1, 1, 1, 1, 1])
        model = KNeighborsClassifier(7, weights="distance").fit(X, y)
        np.testing.assert_allclose(model.predict_proba([[0.0]]), [[2 / 3, 1 / 3]])
        assert KNeighborsRegressor(7, weights="distance").fit(X, y).predict([[0.0]]) == pytest.approx(1 / 3)
        tiny = KNeighborsRegressor(2, weights="distance").fit([[0.0], [2e-310]], [0.0, 1.0])  # 1/distance is infinite
        assert tiny.predict([[5e-311]])[0] == pytest.approx(0.25)

    def test_class_weights_multiply_votes(self):
        X, y = classes(4)
        plain = KNeighborsClassifier(9).fit(X, y)
        given = KNeighborsClassifier(9, class_weight={0: 1.0, 2: 5.0}).fit(X, y)
        votes = plain.predict_proba(X) * [1.0, 1.0, 5.0]
        np.testing.assert_allclose(given.predict_proba(X), votes / votes.sum(axis=1, keepdims=True))
        np.testing.assert_array_equal(given.class_totals_, np.bincount(y) * [1.0, 1.0, 5.0])
        balanced = KNeighborsClassifier(9, class_weight="balanced").fit(X, y)
        votes = plain.predict_proba(X) / np.bincount(y)
        np.testing.assert_allclose(balanced.predict_proba(X), votes / votes.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(balanced.class_totals_, 40.0)

    def test_cost_decides(self):
        X, y = classes(5)
        cost = np.array([[0.0, 1.0, 9.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        model = KNeighborsClassifier(9, cost=cost).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), (model.predict_proba(X) @ cost).argmin(axis=1))
        assert (model.predict(X) != KNeighborsClassifier(9).fit(X, y).predict(X)).any()


class TestChoice:
    @pytest.mark.parametrize("weights", ["uniform", "distance"])
    @pytest.mark.parametrize("tied", [False, True])
    def test_leave_one_out_equals_refits(self, weights, tied):
        X, y = classes(6, n=40)
        left_out = range(0, 40, 3)
        target = np.random.default_rng(0).standard_normal((40, 2))
        if tied:
            X = np.round(X)
            X[:12] = X[0]  # more equal rows than neighbours: the row itself is not among the nearest
        for model, labels in (
            (KNeighborsClassifier(neighbors=8, weights=weights), y),
            (KNeighborsClassifier(neighbors=8, weights=weights, class_weight={0: 2.0, 1: 0.3}), y),
            (KNeighborsClassifier(neighbors=8, weights=weights, class_weight="balanced"), y),
            (KNeighborsClassifier(neighbors=8, weights=weights, cost=np.arange(9.0).reshape(3, 3) % 4), y),
            (KNeighborsRegressor(neighbors=8, weights=weights), target),
            (KNeighborsRegressor(neighbors=8, weights=weights, metric="manhattan"), target[:, 0]),
        ):
            model.fit(X, labels)
            scores = model.scores_
            assert scores.neighbors.tolist() == list(range(8, 0, -1))
            assert scores.folds.shape == (8, 40)
            for i in left_out:
                rest = np.delete(np.arange(40), i)
                for place, k in list(enumerate(scores.neighbors))[:: 1 + i % 2]:
                    refit = clone(model).set_params(n_neighbors=int(k), neighbors=None).fit(X[rest], labels[rest])
                    found = refit.predict(X[[i]])[0]
                    if labels is not y:
                        loss = np.mean((found - labels[i]) ** 2)
                    else:
                        loss = float(found != y[i]) if model.cost is None else model.cost[y[i], found]
                    assert scores.folds[place, i] == pytest.approx(loss, abs=1e-12)
            loud = np.ones(40)
            if getattr(model, "class_weight", None) is not None:
                loud = (model.class_totals_ / np.bincount(y))[y]
            mean = scores.folds @ loud / loud.sum()
            np.testing.assert_allclose(scores.mean, mean, rtol=1e-12)
            assert model.n_neighbors_ == scores.neighbors[np.flatnonzero(mean <= mean.min() * (1 + 1e-12))[0]]

    def test_mean_and_error_are_those_of_the_rows(self):
        X, y = numbers(7)
        scores = KNeighborsRegressor().fit(X, y).scores_
        np.testing.assert_allclose(scores.mean, scores.folds.mean(axis=1))
        np.testing.assert_allclose(scores.se, scores.folds.std(axis=1, ddof=1) / np.sqrt(120))

    def test_leave_one_out_of_real_data_equals_scikit_learn(self):
        X, y = load_iris(return_X_y=True)
        scores = KNeighborsClassifier(neighbors=[1, 5, 20]).fit(X, y).scores_
        index = NearestNeighbors(n_neighbors=20).fit(X).kneighbors(return_distance=False)
        for k, mean in zip(scores.neighbors, scores.mean, strict=True):
            votes = (y[index[:, :k]][:, :, None] == np.arange(3)).sum(axis=1)
            assert abs(mean - np.mean(votes.argmax(axis=1) != y)) <= 1 / 150  # ties of distances, taken otherwise

    @pytest.mark.parametrize("standardize", [False, True])
    @pytest.mark.parametrize("cv", [5, KFold(4), StratifiedKFold(3), ShuffleSplit(3, random_state=0)])
    def test_folds_equal_refits(self, cv, standardize):
        X, y = classes(8, n=60)
        X = X * [1.0, 10.0, 0.1]
        w = np.random.default_rng(0).integers(0, 4, 60).astype(float)
        for model, labels in (
            (KNeighborsClassifier(cv=cv, standardize=standardize, class_weight="balanced"), y),
            (KNeighborsRegressor(cv=cv, standardize=standardize, weights="distance"), y + 1.0),
        ):
            model.fit(X, labels, sample_weight=w)
            splitter = gm.selection.KFold(cv) if isinstance(cv, int) else cv
            pairs = list(splitter.split(X, labels))
            assert model.scores_.folds.shape[1] == len(pairs)
            loud = w * ((model.class_totals_ / np.bincount(y, w))[y] if labels is y else 1.0)
            for number, (train, test) in enumerate(pairs):
                for place, k in enumerate(model.scores_.neighbors[::5]):
                    refit = clone(model).set_params(n_neighbors=int(k), neighbors=None)
                    found = refit.fit(X[train], labels[train], sample_weight=w[train]).predict(X[test])
                    losses = found != labels[test] if labels is y else (found - labels[test]) ** 2
                    expected = np.average(losses, weights=loud[test])
                    assert model.scores_.folds[5 * place, number] == pytest.approx(expected, abs=1e-12)

    def test_leave_one_out_by_another_name(self):
        X, y = classes(9)
        a, b = KNeighborsClassifier().fit(X, y), KNeighborsClassifier(cv=LeaveOneOut()).fit(X, y)
        np.testing.assert_array_equal(a.scores_.folds, b.scores_.folds)

    def test_one_split(self):
        X, y = numbers(10, n=30)
        scores = KNeighborsRegressor(cv=[(np.arange(20), np.arange(20, 30))]).fit(X, y).scores_
        assert scores.folds.shape == (10, 1)
        np.testing.assert_array_equal(scores.se, 0.0)

    def test_rule_one_se_is_smoother(self):
        X, y = load_diabetes(return_X_y=True)
        best, smooth = (KNeighborsRegressor(rule=rule, neighbors=100).fit(X, y) for rule in ("best", "one_se"))
        scores = smooth.scores_
        assert smooth.n_neighbors_ > best.n_neighbors_
        within = scores.neighbors[scores.mean <= scores.mean.min() + scores.se[scores.best]]
        assert smooth.n_neighbors_ == within.max()

    def test_of_equal_losses_the_most_neighbours_are_best(self):
        X = np.concatenate([np.zeros((30, 1)), np.ones((30, 1))])
        y = np.repeat([0, 1], 30)
        model = KNeighborsClassifier().fit(X, y)
        np.testing.assert_array_equal(model.scores_.mean, 0.0)
        assert model.n_neighbors_ == model.scores_.neighbors.max() == 15
        three = KNeighborsClassifier(neighbors=[1, 3, 5]).fit(np.arange(7.0)[:, None], [0, 0, 0, 1, 0, 0, 0]).scores_
        assert three.mean[1] == three.mean[0] == 1 / 7  # one error of seven whatever k: exactly equal
        assert three.chosen == 0

    def test_grids(self, monkeypatch):
        X, y = numbers(11, n=400)
        assert KNeighborsRegressor().fit(X, y).scores_.neighbors.tolist() == list(range(40, 0, -1))
        assert KNeighborsRegressor(neighbors=[7, 2, 7]).fit(X, y).scores_.neighbors.tolist() == [7, 2]
        assert KNeighborsRegressor(neighbors=399).fit(X, y).scores_.neighbors.max() == 399
        few = KNeighborsRegressor().fit(X[:5], y[:5])
        assert few.scores_.neighbors.tolist() == [4, 3, 2, 1]
        monkeypatch.setattr(base, "LOSSES", 400 * 20)
        thin = KNeighborsRegressor(neighbors=300).fit(X, y).scores_.neighbors
        assert len(thin) <= 20
        assert thin[0] == 300
        assert thin[-1] == 1

    def test_texts_and_boundary(self):
        X, y = classes(12)
        scores = KNeighborsClassifier(neighbors=[3, 9]).fit(X, y).scores_
        assert "neighbours by rule 'best' of 2" in str(scores)
        assert scores.at_boundary
        noise = np.random.default_rng(0).standard_normal(120)
        most = KNeighborsRegressor(neighbors=[1, 60]).fit(X, noise).scores_
        assert most.best == 0
        assert "the best is the most tried" in str(most)
        steep = KNeighborsRegressor(neighbors=[4, 8]).fit(np.arange(99.0)[:, None], np.arange(99.0) ** 2).scores_
        assert "the best is the fewest tried" in str(steep)
        pairs = np.arange(99.0) // 3
        one = KNeighborsRegressor(neighbors=[1, 8]).fit(pairs[:, None], pairs % 7).scores_
        assert one.best == 1
        assert not one.at_boundary  # fewer than one there are not
        assert "tried" not in str(one)
        assert not KNeighborsRegressor(neighbors=[3]).fit(X, noise).scores_.at_boundary
        chart = KNeighborsClassifier().fit(X, y).chart("scores")
        assert "layer" in str(chart.to_dict())

    def test_a_given_number_leaves_no_scores(self):
        X, y = classes(13)
        model = KNeighborsClassifier().fit(X, y)
        model.set_params(n_neighbors=3).fit(X, y)
        assert not hasattr(model, "scores_")
        assert model.n_neighbors_ == 3


def balance(y, w):
    """One over the share of each row's class, by weight."""
    sizes = np.bincount(np.unique(y, return_inverse=True)[1], w)
    return (sizes.sum() / (len(sizes) * sizes))[np.unique(y, return_inverse=True)[1]]


class TestWeights:
    @pytest.mark.parametrize("weights", ["uniform", "distance"])
    @pytest.mark.parametrize("tied", [False, True])
    @pytest.mark.parametrize("k", ["auto", 6])
    def test_equal_repetition(self, weights, tied, k):
        """Leave-one-out leaves a row out with all its weight: so do splits that keep its copies together."""
        for seed in range(3):
            X, y = classes(20 + seed, n=50)
            X = np.round(X) if tied else X
            w = np.random.default_rng(seed).integers(0, 4, 50)
            Q = np.round(2 * classes(99)[0]) / 2
            copies = np.repeat(np.arange(50), w)
            together = [(np.flatnonzero(copies != i), np.flatnonzero(copies == i)) for i in np.flatnonzero(w)]
            again = X[copies], y[copies]
            for model in (
                KNeighborsClassifier(k, weights=weights, rule="one_se"),
                KNeighborsClassifier(k, weights=weights, class_weight="balanced"),
                KNeighborsRegressor(k, weights=weights),
            ):
                a, b = clone(model).fit(X, y, sample_weight=w), clone(model).set_params(cv=together).fit(*again)
                if k == "auto":
                    loud = w[w > 0] * (1.0 if getattr(model, "class_weight", None) is None else balance(y, w)[w > 0])
                    np.testing.assert_allclose(a.scores_.folds, b.scores_.folds, rtol=1e-10)
                    np.testing.assert_allclose(a.scores_.mean, b.scores_.folds @ loud / loud.sum(), rtol=1e-10)
                    b = clone(model).set_params(n_neighbors=a.n_neighbors_).fit(*again)
                if hasattr(a, "predict_proba"):
                    np.testing.assert_allclose(a.predict_proba(Q), b.predict_proba(Q), rtol=1e-10)
                    if weights == "uniform":
                        np.testing.assert_array_equal(a.predict(Q), b.predict(Q))
                else:
                    np.testing.assert_allclose(a.predict(Q), b.predict(Q), rtol=1e-10)

    def test_zero_weights_are_rows_that_are_not_there(self):
        X, y = classes(30)
        w = (np.arange(120) % 3 > 0).astype(float)
        for model in (KNeighborsClassifier(), KNeighborsRegressor()):
            a, b = clone(model).fit(X, y, sample_weight=w), clone(model).fit(X[w > 0], y[w > 0])
            np.testing.assert_array_equal(a.predict(X), b.predict(X))
            np.testing.assert_array_equal(a.scores_.folds, b.scores_.folds)
            np.testing.assert_array_equal(a.kneighbors(X)[1], np.flatnonzero(w)[b.kneighbors(X)[1]])

    @pytest.mark.parametrize("size", [0.02, 1.0, 30.0])
    def test_fractions_are_counted_up_to_k(self, size):
        X, y = numbers(31, n=300, d=2)
        w = size * np.random.default_rng(0).exponential(size=300)
        k, Q = 4, np.random.default_rng(1).standard_normal((20, 2))
        found = KNeighborsRegressor(k).fit(X, y, sample_weight=w).predict(Q)
        for q, value in zip(Q, found, strict=True):
            left, total = float(k), 0.0
            for i in np.argsort(((X - q) ** 2).sum(axis=1)):
                share = min(w[i], left)
                total, left = total + share * y[i], left - share
            assert value == pytest.approx(total / k, rel=1e-9)

    def test_leave_one_out_takes_the_whole_weight(self):
        X, y = numbers(32, n=60, d=2)
        w = np.random.default_rng(0).choice([0.25, 0.5, 1.0, 1.5, 3.0], 60)
        for weights in ("uniform", "distance"):
            scores = KNeighborsRegressor(neighbors=6, weights=weights).fit(X, y, sample_weight=w).scores_
            for i in range(0, 60, 7):
                rest = w.copy()
                rest[i] = 0.0
                for place, k in enumerate(scores.neighbors):
                    found = KNeighborsRegressor(int(k), weights=weights).fit(X, y, sample_weight=rest).predict(X[[i]])
                    assert scores.folds[place, i] == pytest.approx((found[0] - y[i]) ** 2, rel=1e-9)
            np.testing.assert_allclose(scores.mean, np.average(scores.folds, axis=1, weights=w))

    def test_many_small_weights_reach_k(self):
        X, y = numbers(33, n=50)
        model = KNeighborsRegressor(5).fit(X, y, sample_weight=np.full(50, 0.1))  # their sum is 5 up to rounding
        np.testing.assert_allclose(model.predict(X), y.mean())


class TestSources:
    @pytest.mark.parametrize("density", [0.05, 0.5])
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
    @pytest.mark.parametrize("standardize", [False, True])
    def test_sparse_equals_dense(self, density, metric, standardize):
        rng = np.random.default_rng(40)
        X = sp.random(200, 30, density, format="csr", random_state=0)
        y = rng.integers(0, 3, 200)
        for model in (
            KNeighborsClassifier(metric=metric, standardize=standardize),
            KNeighborsRegressor(metric=metric, standardize=standardize, weights="distance"),
        ):
            a = clone(model).fit(X.toarray(), y)
            for kind in (sp.csr_matrix, sp.csc_array, sp.coo_matrix):
                b = clone(model).fit(kind(X), y)
                np.testing.assert_allclose(a.scores_.mean, b.scores_.mean, rtol=1e-9)
                np.testing.assert_allclose(
                    b.predict(kind(X)), a.predict(X), rtol=1e-9
                )  # and dense queries of sparse rows
                np.testing.assert_allclose(b.predict(X.toarray()), a.predict(X.toarray()), rtol=1e-9)

    def test_stored_zeros_are_zeros(self):
        X = sp.csr_matrix(
            (np.array([0.0, 1.0, 0.0, 2.0]), np.array([0, 1, 2, 3]), np.array([0, 2, 3, 4])), shape=(3, 40)
        )
        model = KNeighborsRegressor(1, metric="cosine").fit(X, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(model.predict(X.toarray()), [1.0, 2.0, 3.0])

    @pytest.mark.parametrize("kind", BOTH)
    def test_frames_rows_and_types(self, kind):
        X, y = classes(41)
        X = np.round(16 * X)
        names = ["a", "b", "c"]
        reference = kind().fit(X, y)
        frame = pd.DataFrame(X, columns=names)
        whole = frame.assign(label=y)
        sources = [
            (np.asfortranarray(X), y),
            (X.astype(np.float32), y),
            (X.astype(np.int16), y),
            (frame, pd.Series(y, name="label")),
            (pl.DataFrame(X, schema=names), pl.Series("label", y)),
            (gm.scan(X, y),),
            (gm.scan(whole, target="label"),),
        ]
        for source in sources:
            model = kind().fit(*source)
            np.testing.assert_array_equal(model.scores_.folds, reference.scores_.folds)
            given = X if len(source) == 1 and not hasattr(model, "feature_names_in_") else source[0]
            np.testing.assert_array_equal(model.predict(given), reference.predict(X))
        assert list(kind().fit(frame, y).feature_names_in_) == names
        with pytest.raises(ValueError, match="feature names should match"):
            kind().fit(frame, y).predict(frame.rename(columns={"a": "z"}))

    def test_what_was_given_is_copied(self):
        X, y = numbers(42)
        for given in (X.copy(), sp.csr_matrix(X * (X > 2.0))):
            model = KNeighborsRegressor(3).fit(given, y)
            before = model.predict(X)
            (given if isinstance(given, np.ndarray) else given.data)[:] = 7.0
            np.testing.assert_array_equal(model.predict(X), before)

    def test_labels(self):
        X, y = classes(43)
        plain = KNeighborsClassifier().fit(X, y)
        for names in (np.array(["x", "yy", "zzz"]), np.array(["x", "yy", "zzz"], dtype=object), np.array([-5, 0, 40])):
            model = KNeighborsClassifier().fit(X, names[y])
            np.testing.assert_array_equal(model.classes_, names)
            np.testing.assert_array_equal(model.predict(X), names[plain.predict(X)])
            np.testing.assert_array_equal(model.scores_.folds, plain.scores_.folds)

    def test_rows_of_another_home(self):
        class Elsewhere(Rows):
            """Rows that can only be read in blocks."""

            block_size = 50

            def __init__(self, rows):
                self.rows = rows
                for name in (
                    "n",
                    "d",
                    "names",
                    "target_names",
                    "one_target",
                    "labels",
                    "precision",
                    "weighted",
                    "is_sparse",
                ):
                    setattr(self, name, getattr(rows, name))

            def block(self, start, stop):
                return self.rows.block(start, stop)

        X, y = classes(44)
        for kind in BOTH:
            a, b = kind().fit(X, y), kind().fit(Elsewhere(gm.scan(X, y)))
            for given in (X, Elsewhere(gm.scan(X))):
                np.testing.assert_array_equal(a.predict(X), b.predict(given))

    @pytest.mark.parametrize("kind", BOTH)
    @pytest.mark.parametrize("d", [2, 12])
    def test_threads_and_blocks_give_the_same_bits(self, kind, d):
        rng = np.random.default_rng(45)
        X, Q = np.round(rng.standard_normal((3000, d)), 1), np.round(rng.standard_normal((1500, d)), 1)
        y = rng.integers(0, 3, 3000)
        found = []
        for count in (1, 2, 4):
            with gm.threads(count):
                model = kind(weights="distance", neighbors=12).fit(X, y)
                found.append((model.scores_.folds, model.kneighbors(Q)[0], model.predict(Q)))
        for other in found[1:]:
            for a, b in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(a, b)
        one_by_one = np.concatenate([model.kneighbors(Q[[i]])[0] for i in range(40)])
        np.testing.assert_array_equal(one_by_one, found[0][1][:40])

    @pytest.mark.parametrize("kind", BOTH)
    def test_pickle_and_clone(self, kind):
        for d in (2, 12):
            X, y = classes(46, n=800, d=d)
            model = kind(class_weight="balanced").fit(X, y) if kind is KNeighborsClassifier else kind().fit(X, y)
            again = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
            assert str(again.scores_) == str(model.scores_)
            assert str(again.certificate_) == str(model.certificate_)
            assert clone(again).get_params() == model.get_params()


class TestEdges:
    def test_one_row(self):
        model = KNeighborsRegressor(1).fit([[1.0, 2.0]], [5.0])
        np.testing.assert_array_equal(model.predict([[7.0, 8.0], [0.0, 0.0]]), [5.0, 5.0])
        assert model.certificate_.holds
        with pytest.raises(ValueError, match="at least 2 rows"):
            KNeighborsRegressor().fit([[1.0]], [5.0])

    def test_all_rows_equal(self):
        X, y = np.ones((30, 3)), np.arange(30.0)
        model = KNeighborsRegressor().fit(X, y)
        np.testing.assert_array_equal(model.kneighbors(X[:1], 5)[1], [[0, 1, 2, 3, 4]])
        assert KNeighborsRegressor(4, standardize=True).fit(X, y).predict(X[:1]) == 1.5

    def test_constant_columns_and_more_columns_than_rows(self):
        X, y = numbers(50, n=20, d=40)
        X[:, ::2] = 3.0
        model = KNeighborsRegressor(3, standardize=True).fit(X, y)
        theirs = TheirRegressor(3).fit(StandardScaler().fit_transform(X), y)
        np.testing.assert_allclose(model.predict(X), theirs.predict(StandardScaler().fit_transform(X)))

    @pytest.mark.parametrize("kind", BOTH)
    def test_more_neighbours_than_rows(self, kind):
        X, y = classes(51, n=20)
        with pytest.raises(ValueError, match=r"n_neighbors is 21, and there are 20 rows"):
            kind(21).fit(X, y)
        with pytest.raises(ValueError, match=r"n_neighbors is 21, and there are rows of a total weight of 10"):
            kind(21).fit(X, y, sample_weight=np.full(20, 0.5))
        with pytest.raises(ValueError, match=r"neighbors goes up to 20, .* of 19, out of n_samples = 20"):
            kind(neighbors=20).fit(X, y)
        with pytest.raises(ValueError, match=r"neighbors goes up to 17, .* of 16,"):
            kind(neighbors=[2, 17], cv=5).fit(X, y)
        with pytest.raises(ValueError, match=r"goes up to 1, .* of 0\.5"):
            kind().fit(X[:3], y[:3] * 0 + [0, 1, 1], sample_weight=[0.5, 0.25, 0.25])
        with pytest.raises(ValueError, match=r"n_neighbors is 30, and there are 20 rows"):
            kind(3).fit(X, y).kneighbors(X, 30)
        with pytest.raises(TypeError, match=r"n_neighbors is 2\.5"):
            kind(3).fit(X, y).kneighbors(X, 2.5)

    @pytest.mark.parametrize("kind", BOTH)
    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ({"n_neighbors": 0}, ValueError, "n_neighbors is 0; it must be a whole number of at least 1"),
            ({"n_neighbors": 2.0}, TypeError, r"n_neighbors is 2\.0"),
            ({"n_neighbors": "all"}, ValueError, "n_neighbors is 'all'"),
            ({"n_neighbors": 3, "neighbors": 9}, ValueError, "leave it out beside a number"),
            ({"neighbors": 0}, ValueError, "neighbors is 0"),
            ({"neighbors": [1.5]}, ValueError, r"neighbors is \[1\.5\]; it must be the largest"),
            ({"neighbors": [0, 2]}, ValueError, r"neighbors is \[0, 2\]"),
            ({"neighbors": []}, ValueError, r"neighbors is \[\]"),
            ({"weights": "equal"}, ValueError, "weights is 'equal'"),
            ({"metric": "hamming"}, ValueError, "metric is 'hamming'"),
            ({"standardize": "yes"}, TypeError, "standardize is 'yes'"),
            ({"rule": "worst"}, ValueError, "rule is 'worst'"),
            ({"cv": "many"}, ValueError, "cv is 'many'"),
            ({"cv": 1}, ValueError, "cv is 1"),
        ],
    )
    def test_parameters_are_checked(self, kind, given, error, message):
        X, y = classes(52, n=20)
        with pytest.raises(error, match=message):
            kind(**given).fit(X, y)

    @pytest.mark.parametrize("kind", BOTH)
    def test_bad_data_are_named(self, kind):
        X, y = classes(53)
        frame = pd.DataFrame(X.copy(), columns=["age", "bmi", "bp"])
        frame.loc[[3, 7], "bmi"] = np.nan
        with pytest.raises(ValueError, match=r"'bmi' \(2\).*first at row 3"):
            kind().fit(frame, y)
        for given in (X, sp.csr_matrix(X)):
            model = kind().fit(given, y)
            bad = X.copy()
            bad[5, 2] = np.inf
            with pytest.raises(ValueError, match=r"column 2 .*first at row 5"):
                model.predict(bad)
        with pytest.raises(ValueError, match="X has 2 features"):
            model.predict(X[:, :2])
        folds = [(np.arange(100), np.arange(100, 120)), (np.arange(90), np.arange(90, 100))]
        with pytest.raises(ValueError, match=r"test part of split 1 has no row with a positive weight"):
            kind(cv=folds).fit(X, y, sample_weight=np.r_[np.ones(90), np.zeros(10), np.ones(20)])
        with pytest.raises(ValueError, match=r"training part of split 0 has no row with a positive weight"):
            kind(cv=[(np.arange(5), np.arange(5, 120))]).fit(X, y, sample_weight=np.r_[np.zeros(5), np.ones(115)])

    @pytest.mark.parametrize("kind", BOTH)
    def test_sources_are_checked(self, kind):
        X, y = classes(54)
        with pytest.raises(ValueError, match="needs the rows"):
            kind().fit(gm.moments(X, y))
        with pytest.raises(ValueError, match="bring their own target"):
            kind().fit(gm.scan(X, y), y)
        with pytest.raises(ValueError, match="have no target"):
            kind().fit(gm.scan(X))
        with pytest.raises(ValueError, match="requires y"):
            kind().fit(X)

    def test_targets_are_checked(self):
        X, y = classes(55)
        with pytest.raises(ValueError, match="a regression needs numbers"):
            KNeighborsRegressor().fit(X, np.array(["a", "b", "c"])[y])
        with pytest.raises(ValueError, match="only one class"):
            KNeighborsClassifier().fit(X, np.zeros(120))
        with pytest.raises(ValueError, match="class_weight names 9"):
            KNeighborsClassifier(class_weight={9: 1.0}).fit(X, y)
        with pytest.raises(ValueError, match="cost has shape"):
            KNeighborsClassifier(cost=np.eye(2)).fit(X, y)
