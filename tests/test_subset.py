"""Best subsets against enumeration of all of them."""

import time
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian.selection.features.subset import BestSubset


def data(n=60, d=8, seed=0, noise=2.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.6 * rng.standard_normal((d, d))) + rng.standard_normal(d)
    return X, X @ (rng.standard_normal(d) * (rng.random(d) < 0.6)) + noise * rng.standard_normal(n) + 1.0


def centred(X, y, weight=None, intercept=True):
    """Rows whose plain least squares is the weighted one with its intercept."""
    w = np.ones(len(X)) if weight is None else weight
    if intercept:
        X, y = X - np.average(X, axis=0, weights=w), y - np.average(y, weights=w)
    return np.sqrt(w)[:, None] * X, np.sqrt(w) * y


def enumerate_all(X, y):
    """Smallest residual sum of squares of every size, and its columns."""
    d = X.shape[1]
    rss, sets = [float(y @ y)], [()]
    for size in range(1, d + 1):
        found = []
        for columns in combinations(range(d), size):
            A = X[:, columns]
            norms = np.linalg.norm(A, axis=0)
            A = A / np.where(norms > 1e-10, norms, 1.0)
            found.append((float(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=1e-9)[0]) ** 2)), columns))
        best = min(found)
        rss.append(best[0])
        sets.append(best[1])
    return np.array(rss), sets


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n", "d"), [(40, 4), (40, 8), (200, 10), (12, 8)])
def test_every_size_is_the_best_of_all_subsets(n, d, intercept):
    X, y = data(n, d, seed=d)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, n)
    model = BestSubset(d, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    rss, sets = enumerate_all(*centred(X, y, weight, intercept))
    np.testing.assert_allclose(model.path_.rss, rss, rtol=1e-9)
    assert [tuple(np.flatnonzero(row)) for row in model.path_.supports] == sets
    assert model.path_.sizes.tolist() == list(range(d + 1))
    assert model.path_.folds is None
    assert model.path_.mean is None
    assert model.path_.se is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(4, 30), st.floats(0.01, 3.0))
def test_any_data(seed, d, n, noise):
    X, y = data(n, d, seed, noise)
    rss, _ = enumerate_all(*centred(X, y))
    np.testing.assert_allclose(BestSubset(d).fit(X, y).path_.rss, rss, rtol=1e-7, atol=1e-9 * rss[0])


def test_columns_that_are_constant_or_dependent():
    X, y = data(50, 5, seed=1)
    X = np.column_stack([X, X[:, 1], np.full(50, 3.3), X[:, 0] + X[:, 2], -2.0 * X[:, 4]])
    model = BestSubset(9).fit(X, y)
    rss, _ = enumerate_all(*centred(X, y))
    np.testing.assert_allclose(model.path_.rss, rss, rtol=1e-9)
    assert model.path_.supports.sum(axis=1).tolist() == list(range(10))
    assert np.isfinite(model.coef_).all()
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-9)
    chosen = BestSubset().fit(X, y)
    assert chosen.path_.sizes.tolist() == list(range(10))
    assert chosen.n_features_ <= 5


def test_constant_target_and_constant_columns():
    X, _ = data(20, 3)
    model = BestSubset(2).fit(X, np.full(20, 4.0))
    assert not model.coef_.any()
    assert model.intercept_ == 4.0
    flat = BestSubset(1).fit(np.ones((20, 2)), X[:, 0])
    assert not flat.coef_.any()
    assert flat.intercept_ == pytest.approx(X[:, 0].mean())


def test_more_columns_than_rows():
    X, y = data(7, 9, seed=2)
    model = BestSubset(9).fit(X, y)
    rss, _ = enumerate_all(*centred(X, y))
    np.testing.assert_allclose(model.path_.rss, rss, atol=1e-9 * rss[0])
    wide = BestSubset().fit(*data(15, 30, seed=3))
    assert wide.path_.sizes[-1] < 14  # the others cannot be searched exactly in a moment


@pytest.mark.parametrize("intercept", [True, False])
def test_auto_takes_the_size_with_the_smallest_validation_error(intercept):
    X, y = data(80, 6, seed=4, noise=4.0)
    pairs = list(KFold(4).split(X))
    model = BestSubset(cv=pairs, fit_intercept=intercept).fit(X, y)
    losses = np.empty((7, 4))
    for k, (train, test) in enumerate(pairs):
        for size, columns in enumerate(enumerate_all(*centred(X[train], y[train], None, intercept))[1]):
            if size:
                fit = LinearRegression(fit_intercept=intercept).fit(X[train][:, columns], y[train])
                found = fit.predict(X[test][:, columns])
            else:
                found = y[train].mean() if intercept else 0.0
            losses[size, k] = np.mean((y[test] - found) ** 2)
    np.testing.assert_allclose(model.path_.folds, losses, rtol=1e-8)
    np.testing.assert_allclose(model.path_.mean, losses.mean(axis=1), rtol=1e-8)
    np.testing.assert_allclose(model.path_.se, losses.std(axis=1, ddof=1) / 2.0, rtol=1e-7)
    assert model.n_features_ == 1 + np.argmin(losses.mean(axis=1)[1:])
    columns = np.flatnonzero(model.support_)
    fit = LinearRegression(fit_intercept=intercept).fit(X[:, columns], y)
    np.testing.assert_allclose(model.coef_[columns], fit.coef_, rtol=1e-9)
    assert not model.coef_[~model.support_].any()
    assert model.intercept_ == pytest.approx(fit.intercept_, rel=1e-9)
    np.testing.assert_allclose(model.predict(X), fit.predict(X[:, columns]), rtol=1e-9)
    assert model.score(X, y) == pytest.approx(fit.score(X[:, columns], y))
    assert model.certificate_.holds


def test_leave_one_out_counts_weights():
    X, y = data(25, 4)
    weight = np.linspace(0.5, 1.5, 25)
    model = BestSubset(cv="loo").fit(X, y, sample_weight=weight)
    assert model.path_.folds.shape == (5, 25)
    np.testing.assert_allclose(model.path_.mean, np.average(model.path_.folds, axis=1, weights=weight))


def test_thirty_columns_take_a_moment():
    rng = np.random.default_rng(0)
    distance = np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    BestSubset(1).fit(rng.standard_normal((9, 2)), rng.standard_normal(9))  # compiled
    for rho in (0.0, 0.5, 0.9):
        X = rng.standard_normal((100, 30)) @ np.linalg.cholesky(rho**distance).T
        y = X @ rng.standard_normal(30) + 5.0 * rng.standard_normal(100)
        start = time.perf_counter()
        model = BestSubset(30).fit(X, y)
        assert time.perf_counter() - start < 10.0
        greedy = gm.selection.GreedySelector(gm.LinearRegression(), n_features=10).fit(X, y)
        Xc, yc = centred(X[:, greedy.support_], y)
        rss = np.sum((yc - Xc @ np.linalg.lstsq(Xc, yc, rcond=None)[0]) ** 2)
        assert model.path_.rss[10] <= rss * (1.0 + 1e-9)
        assert (np.diff(model.path_.rss) <= 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_small_sizes_of_thirty_columns(seed):
    X, y = data(60, 30, seed)
    Xc, yc = centred(X, y)
    model = BestSubset(3).fit(X, y)
    for size in (1, 2, 3):
        found = []
        for columns in combinations(range(30), size):
            A = Xc[:, columns]
            b = A.T @ yc
            found.append(yc @ yc - b @ np.linalg.solve(A.T @ A, b))
        assert model.path_.rss[size] == pytest.approx(min(found), rel=1e-9)


def test_units_do_not_matter():
    X, y = data(40, 5)
    units = 2.0 ** np.array([400, -400, 0, 20, -20])
    plain, scaled = BestSubset().fit(X, y), BestSubset().fit(X * units, y)
    assert np.array_equal(plain.path_.supports, scaled.path_.supports)
    np.testing.assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-12)


def test_arrays_frames_sparse_rows_and_moments_agree():
    X, y = data(60, 5)
    X[np.abs(X) < 1.0] = 0.0
    plain = BestSubset(3).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcde"))
    for source in (gm.scan(X, y), gm.scan(sp.csr_array(X), y), gm.moments(X, y), gm.scan(frame, y)):
        found = BestSubset(3).fit(source)
        np.testing.assert_allclose(found.coef_, plain.coef_, rtol=1e-9)
        np.testing.assert_allclose(found.path_.rss, plain.path_.rss, rtol=1e-9)
    auto = BestSubset().fit(X, y)
    for source in (frame, sp.csr_array(X), X.astype(np.float32)):
        found = BestSubset().fit(source, y)
        np.testing.assert_allclose(found.path_.folds, auto.path_.folds, rtol=1e-5)
        np.testing.assert_allclose(found.predict(source), auto.predict(X), rtol=1e-4, atol=1e-5)
    found = BestSubset(3).fit(frame, y)
    np.testing.assert_allclose(found.predict(gm.scan(frame)), plain.predict(X), rtol=1e-12)
    assert found.get_feature_names_out().tolist() == [f"{'abcde'[j]}" for j in np.flatnonzero(found.support_)]


def test_it_selects_for_another_model():
    X, y = data(60, 5)
    pipe = make_pipeline(BestSubset(2), gm.LinearRegression()).fit(X, y)
    np.testing.assert_allclose(pipe.predict(X), BestSubset(2).fit(X, y).predict(X), rtol=1e-9)


def test_a_column_vector_is_read_with_a_warning():
    X, y = data(30, 3)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = BestSubset(2).fit(X, y[:, None])
    np.testing.assert_array_equal(model.coef_, BestSubset(2).fit(X, y).coef_)


X0, y0 = data(20, 3)
WIDE = np.random.default_rng(0).standard_normal((40, 31))


@pytest.mark.parametrize(
    ("model", "arguments", "error", "message"),
    [
        (BestSubset(0), (X0, y0), ValueError, "n_features is 0"),
        (BestSubset("few"), (X0, y0), TypeError, "n_features is 'few'"),
        (BestSubset(4), (X0, y0), ValueError, "n_features is 4, and the data have 3 columns"),
        (BestSubset(fit_intercept="no"), (X0, y0), TypeError, "fit_intercept is 'no'"),
        (BestSubset(cv=1), (X0, y0), ValueError, "cv is 1"),
        (BestSubset(), (WIDE, WIDE[:, 0]), ValueError, "at most 30 features.*31.*GreedySelector.*Lasso"),
        (BestSubset(), (X0, X0), ValueError, "one target, and y has 3"),
        (BestSubset(), (gm.moments(X0, y0),), ValueError, "from Moments alone.*n_features as a number"),
        (BestSubset(2), (gm.moments(X0),), ValueError, "These Moments have no target"),
        (BestSubset(2), (gm.moments(X0, y0), y0), ValueError, "Moments bring their own target"),
        (BestSubset(2), (gm.triangle(X0, y0),), ValueError, "cannot be fitted from a Triangle"),
        (BestSubset(2), (X0,), ValueError, "requires y to be passed"),
    ],
)
def test_refusals(model, arguments, error, message):
    with pytest.raises(error, match=message):
        model.fit(*arguments)


def test_sums_beyond_memory_are_refused():
    X, y = np.ones((10**5, 30)), np.ones(10**5)
    for model in (BestSubset(cv="loo"), gm.selection.GreedySelector(gm.LinearRegression(), cv="loo")):
        with pytest.raises(ValueError, match=r"cv makes 100000 splits of 30 features.*GB.*cv=10"):
            model.fit(X, y)


def test_new_data_that_do_not_fit():
    model = BestSubset(2).fit(X0, y0)
    with pytest.raises(ValueError, match="X has 2 features, but BestSubset is expecting 3"):
        model.predict(gm.scan(X0[:, :2]))
    bad = X0.copy()
    bad[4, 1] = np.inf
    with pytest.raises(ValueError, match=r"column 1.*row 4"):
        model.predict(bad)
