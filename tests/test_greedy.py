"""Greedy selection against brute force, scikit-learn, and the loop as it is written down."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian._core import deadline
from gramian.selection.cv.splits import KFold as OurKFold
from gramian.selection.features.greedy import GreedySelector


def data(n=80, d=8, t=1, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d))) + 5.0 * rng.standard_normal(d)
    coef = rng.standard_normal((d, t)) * (rng.random((d, 1)) < 0.5)
    y = X @ coef + noise * rng.standard_normal((n, t)) + 3.0
    return X, y[:, 0] if t == 1 else y


def refit_loss(X, y, columns, train, test, *, alpha=0.0, intercept=True, weight=None):
    """Validation error of one split by the textbook formula on the rows themselves."""
    w = np.ones(len(X)) if weight is None else weight
    y = y.reshape(len(X), -1)
    mean_x = np.average(X[train], axis=0, weights=w[train]) if intercept else np.zeros(X.shape[1])
    mean_y = np.average(y[train], axis=0, weights=w[train]) if intercept else np.zeros(y.shape[1])
    root = np.sqrt(w[train])[:, None]
    A = root * (X[train] - mean_x)[:, columns]
    b = root * (y[train] - mean_y)
    A = np.vstack([A, np.sqrt(alpha * w[train].sum()) * np.eye(len(columns))])
    b = np.vstack([b, np.zeros((len(columns), y.shape[1]))])
    coef = np.linalg.lstsq(A, b, rcond=None)[0]
    errors = y[test] - mean_y - (X[test] - mean_x)[:, columns] @ coef
    return np.average(errors**2, axis=0, weights=w[test]).mean()


def brute_force(X, y, pairs, *, forward, steps=None, **options):
    """The document's loop: sets, losses by fold, and the order of those accepted (`steps=None`: stop when worse)."""
    d = X.shape[1]
    current = [] if forward else list(range(d))

    def folds(columns):
        return np.array([refit_loss(X, y, columns, *pair, **options) for pair in pairs])

    sets, losses, order, previous = [np.array(current)], [folds(current)], [], np.inf
    for _ in range(d if steps is None else steps):
        left = [j for j in range(d) if (j not in current) == forward]
        found = [(folds(sorted({*current} ^ {j})), j) for j in left]
        best, j = min(found, key=lambda pair: (pair[0].mean(), pair[1]))
        sets.append(np.array(sorted({*current} ^ {j})))
        losses.append(best)
        if steps is None and best.mean() > previous:
            break
        current, previous = sorted({*current} ^ {j}), best.mean()
        order.append(j)
    return sets, np.array(losses), order


OURS = [
    (gm.LinearRegression(), {}),
    (gm.LinearRegression(fit_intercept=False), {"intercept": False}),
    (gm.Ridge(alpha=0.3), {"alpha": 0.3}),
    (gm.Ridge(alpha=0.05, fit_intercept=False), {"alpha": 0.05, "intercept": False}),
]


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize(("model", "options"), OURS, ids=lambda value: str(value))
def test_every_step_is_that_of_refits(model, options, targets, direction):
    X, y = data(t=targets, seed=targets)
    pairs = list(KFold(4).split(X))
    forward = direction == "forward"
    selector = GreedySelector(model, direction=direction, n_features=8 if forward else 1, cv=KFold(4)).fit(X, y)
    sets, losses, order = brute_force(X, y, pairs, forward=forward, steps=8 if forward else 7, **options)
    assert selector.order_.tolist() == order
    assert all(np.array_equal(a, b) for a, b in zip(selector.path_.features, sets, strict=True))
    np.testing.assert_allclose(selector.path_.folds, losses, rtol=1e-8)
    np.testing.assert_allclose(selector.path_.mean, losses.mean(axis=1), rtol=1e-8)
    np.testing.assert_allclose(selector.path_.se, losses.std(axis=1, ddof=1) / 2.0, rtol=1e-7)
    assert selector.path_.sizes.tolist() == [len(part) for part in sets]


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("seed", range(6))
def test_auto_stops_where_the_written_loop_stops(direction, seed):
    X, y = data(n=60, seed=seed, noise=4.0)
    selector = GreedySelector(gm.LinearRegression(), direction=direction, cv=KFold(5)).fit(X, y)
    sets, losses, order = brute_force(X, y, list(KFold(5).split(X)), forward=direction == "forward")
    assert selector.order_.tolist() == order
    np.testing.assert_allclose(selector.path_.folds, losses, rtol=1e-8)
    assert len(selector.path_.features) == len(sets)
    assert np.array_equal(np.flatnonzero(selector.support_), sets[len(order)])
    assert selector.n_features_ == selector.support_.sum()


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_weights_are_counts(direction):
    X, y = data(n=50, seed=3)
    weight = np.random.default_rng(0).integers(1, 4, 50).astype(float)
    pairs = list(KFold(3).split(X))
    forward = direction == "forward"
    selector = GreedySelector(gm.LinearRegression(), direction=direction, n_features=3, cv=pairs)
    selector.fit(X, y, sample_weight=weight)
    _, losses, order = brute_force(X, y, pairs, forward=forward, steps=3 if forward else 5, weight=weight)
    assert selector.order_.tolist() == order
    np.testing.assert_allclose(selector.path_.folds, losses, rtol=1e-8)
    owner = np.repeat(np.arange(50), weight.astype(int))
    repeated = [tuple(np.flatnonzero(np.isin(owner, part)) for part in pair) for pair in pairs]
    again = clone(selector).set_params(cv=repeated).fit(X[owner], y[owner])
    assert np.array_equal(again.order_, selector.order_)
    np.testing.assert_allclose(again.path_.folds, selector.path_.folds, rtol=1e-9)


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("seed", range(3))
def test_the_features_of_scikit_learn(direction, seed):
    X, y = data(n=100, d=10, seed=seed)
    theirs = SequentialFeatureSelector(
        LinearRegression(), n_features_to_select=4, direction=direction, scoring="neg_mean_squared_error", cv=KFold(5)
    ).fit(X, y)
    ours = GreedySelector(gm.LinearRegression(), direction=direction, n_features=4, cv=KFold(5)).fit(X, y)
    assert np.array_equal(ours.support_, theirs.get_support())
    a = 0.2 * 80  # 80 training rows: scikit-learn's alpha of a fold
    theirs.set_params(estimator=Ridge(a)).fit(X, y)
    ours.set_params(estimator=gm.Ridge(alpha=0.2)).fit(X, y)
    assert np.array_equal(ours.support_, theirs.get_support())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["forward", "backward"]), st.integers(2, 6), st.floats(0.0, 2.0))
def test_any_data(seed, direction, d, alpha):
    X, y = data(n=30, d=d, seed=seed)
    pairs = list(ShuffleSplit(3, test_size=0.3, random_state=0).split(X))
    forward = direction == "forward"
    selector = GreedySelector(gm.Ridge(alpha=alpha), direction=direction, n_features=d if forward else 1, cv=pairs)
    selector.fit(X, y)
    for columns, losses in zip(selector.path_.features, selector.path_.folds, strict=True):
        expected = [refit_loss(X, y, columns, *pair, alpha=alpha) for pair in pairs]
        np.testing.assert_allclose(losses, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_refits_give_what_moments_give(direction):
    X, y = data(n=60, d=6, t=2)
    fast = GreedySelector(gm.LinearRegression(), direction=direction).fit(X, y)
    for slow in (LinearRegression(), make_pipeline(LinearRegression())):
        found = GreedySelector(slow, direction=direction).fit(X, y)
        assert np.array_equal(found.order_, fast.order_)
        np.testing.assert_allclose(found.path_.folds, fast.path_.folds, rtol=1e-8)
    weight = np.linspace(1.0, 2.0, 60)
    fast.fit(X, y, sample_weight=weight)
    slow = GreedySelector(LinearRegression(), direction=direction).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(slow.path_.folds, fast.path_.folds, rtol=1e-8)
    chosen = GreedySelector(gm.Ridge(), direction=direction, n_features=5, cv=2).fit(X, y)  # its alpha too, every time
    assert chosen.n_features_ == 5


def test_refits_without_intercept_start_at_zero():
    X, y = data(n=40, d=3)
    found = GreedySelector(LinearRegression(fit_intercept=False), cv=2).fit(X, y)
    np.testing.assert_allclose(
        found.path_.folds[0], [np.mean(y[test] ** 2) for _, test in OurKFold(2).split(X)], rtol=1e-12
    )


@pytest.mark.parametrize("cv", ["loo", LeaveOneOut()])
def test_leave_one_out(cv):
    X, y = data(n=25, d=4)
    weight = np.linspace(0.5, 1.5, 25)
    fast = GreedySelector(gm.LinearRegression(), cv=cv, n_features=4).fit(X, y, sample_weight=weight)
    slow = GreedySelector(LinearRegression(), cv=cv, n_features=4).fit(X, y, sample_weight=weight)
    assert fast.path_.folds.shape == (5, 25)
    np.testing.assert_allclose(fast.path_.folds, slow.path_.folds, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(fast.path_.mean, np.average(fast.path_.folds, axis=1, weights=weight), rtol=1e-12)


def test_classifiers_count_errors():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 4))
    y = np.where(X[:, 2] + 0.2 * rng.standard_normal(90) > 0, "yes", "no")
    cv = StratifiedKFold(3)
    found = GreedySelector(LogisticRegression(), n_features=1, cv=cv).fit(X, y)
    assert found.order_.tolist() == [2]
    codes = (y == "yes").astype(float)
    for k, (train, test) in enumerate(cv.split(X, y)):
        model = LogisticRegression().fit(X[train][:, [2]], y[train])
        assert found.path_.folds[1, k] == pytest.approx(np.mean(model.predict(X[test][:, [2]]) != y[test]))
        share = codes[test].mean()
        assert found.path_.folds[0, k] == pytest.approx(share if codes[train].mean() < 0.5 else 1.0 - share)
    again = GreedySelector(LogisticRegression(), n_features=1, cv=cv).fit(gm.scan(X, codes))
    np.testing.assert_allclose(again.path_.folds, found.path_.folds)


def test_dependent_columns_end_a_forward_selection():
    X, y = data(n=60, d=4, noise=0.1)
    X = np.column_stack([X, X[:, 1], np.full(60, 7.3), X[:, 0] - X[:, 2]])
    found = GreedySelector(gm.LinearRegression()).fit(X, y)
    assert found.n_features_ <= 4
    assert np.linalg.matrix_rank(X[:, found.support_] - X[:, found.support_].mean(axis=0)) == found.n_features_
    every = GreedySelector(gm.LinearRegression(), n_features=7).fit(X, y)
    assert len(np.unique(every.path_.mean.round(10))) == 1 + 4  # the mean alone, and the four that are independent
    alone = GreedySelector(gm.LinearRegression()).fit(np.ones((20, 2)), y[:20])
    assert alone.order_.tolist() == [0]
    twice = GreedySelector(gm.LinearRegression()).fit(np.column_stack([X[:, :3], X[:, :3]]), y)
    assert (twice.order_ < 3).all()  # of equal columns, those of the lowest index


def test_dependent_columns_are_the_first_to_leave():
    X, y = data(n=60, d=4, noise=0.1)
    X = np.column_stack([X, X[:, 1], np.full(60, 7.3), X[:, 0] - X[:, 2]])
    for wanted in ("auto", 2):
        found = GreedySelector(gm.LinearRegression(), direction="backward", n_features=wanted).fit(X, y)
        assert found.order_[:3].tolist() == [0, 1, 5]
        np.testing.assert_allclose(found.path_.folds[1:4], found.path_.folds[[0, 0, 0]], rtol=1e-9)
    rest = GreedySelector(gm.LinearRegression(), direction="backward").fit(X[:, [2, 3, 4, 6]], y)
    np.testing.assert_allclose(rest.path_.folds[1:], found.path_.folds[4 : 4 + len(rest.path_.folds) - 1], rtol=1e-8)


def basis_loss(X, y, columns, train, test):
    """As refit_loss, with the coefficients of the columns that do not depend on later ones."""
    mean_x, mean_y = X[train].mean(axis=0), y[train].mean()
    A, kept = X[train] - mean_x, []
    for j in sorted(columns, reverse=True):
        if np.linalg.matrix_rank(A[:, [*kept, j]], tol=1e-7) > len(kept):
            kept.append(j)
    coef = np.linalg.lstsq(A[:, kept], y[train] - mean_y, rcond=None)[0]
    return np.mean((y[test] - mean_y - (X[test] - mean_x)[:, kept] @ coef) ** 2)


def test_columns_that_are_dependent_in_one_split_only():
    rng = np.random.default_rng(5)
    X, y = data(n=40, d=6, seed=2)
    pairs = list(KFold(4).split(X))
    train, test = pairs[0]
    X[train, 1] = 2.0 * X[train, 4] - X[train, 5]
    X[train, 0] = X[train, 3]
    X[test, :2] = rng.standard_normal((len(test), 2))
    found = GreedySelector(gm.LinearRegression(), direction="backward", n_features=1, cv=pairs).fit(X, y)
    current = set(range(6))
    for j, losses in zip(found.order_, found.path_.folds[1:], strict=True):
        tried = {k: np.mean([basis_loss(X, y, current - {k}, *pair) for pair in pairs]) for k in current}
        assert tried[j] == pytest.approx(min(tried.values()), rel=1e-7)
        current.remove(j)
        np.testing.assert_allclose(losses, [basis_loss(X, y, current, *pair) for pair in pairs], rtol=1e-7)


def test_nearly_dependent_columns_keep_their_digits():
    X, y = data(n=200, d=6, seed=4)
    X[:, 3] = X[:, 1] + 1e-4 * np.random.default_rng(0).standard_normal(200)
    for direction in ("forward", "backward"):
        forward = direction == "forward"
        found = GreedySelector(gm.LinearRegression(), direction=direction, n_features=6 if forward else 1, cv=KFold(3))
        found.fit(X, y)
        for columns, losses in zip(found.path_.features, found.path_.folds, strict=True):
            expected = [refit_loss(X, y, columns, *pair) for pair in KFold(3).split(X)]
            np.testing.assert_allclose(losses, expected, rtol=1e-7)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 40))
    y = X[:, 7] - X[:, 30]
    assert GreedySelector(gm.LinearRegression(), n_features=2).fit(X, y).support_.nonzero()[0].tolist() == [7, 30]
    assert GreedySelector(gm.LinearRegression()).fit(X, y).order_.tolist()[:2] in ([7, 30], [30, 7])
    backward = GreedySelector(gm.LinearRegression(), direction="backward", n_features=30).fit(X, y)
    assert backward.order_.tolist() == list(range(10))
    np.testing.assert_allclose(backward.path_.mean, backward.path_.mean[0], rtol=1e-9)


def test_a_perfect_fit_ends_the_selection():
    X, _ = data(n=50, d=8)
    y = X[:, 2] + 2.0 * X[:, 6]
    forward = GreedySelector(gm.LinearRegression()).fit(X, y)
    assert forward.support_[[2, 6]].all()
    backward = GreedySelector(gm.LinearRegression(), direction="backward").fit(X, y)
    assert np.flatnonzero(backward.support_).tolist() == [2, 6]


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("model", [gm.LinearRegression(), gm.LinearRegression(fit_intercept=False)])
def test_units_do_not_matter(direction, model):
    X, y = data(n=60, d=5)
    units = 2.0 ** np.array([500, -500, 0, 30, -700])
    plain = GreedySelector(model, direction=direction, n_features=2).fit(X, y)
    scaled = GreedySelector(model, direction=direction, n_features=2).fit(X * units, y * 2.0**300)
    assert np.array_equal(plain.order_, scaled.order_)
    np.testing.assert_array_equal(scaled.path_.folds, plain.path_.folds * 2.0**600)
    shifted = GreedySelector(gm.LinearRegression(), direction=direction, n_features=2).fit(X + 1e6, y - 1e6)
    if model.fit_intercept:
        np.testing.assert_allclose(shifted.path_.folds, plain.path_.folds, rtol=1e-7)


def test_ridge_on_columns_of_tiny_unit_shrinks_them_to_nothing():
    X, y = data(n=60, d=3)
    found = GreedySelector(gm.Ridge(alpha=1.0), n_features=3).fit(X * np.array([1.0, 2.0**-600, 1.0]), y)
    step = found.order_.tolist().index(1)
    np.testing.assert_allclose(found.path_.folds[step + 1], found.path_.folds[step], rtol=1e-12)


def test_arrays_frames_sparse_and_rows_agree():
    X, y = data(n=60, d=5)
    X[np.abs(X) < 2.0] = 0.0
    names = [*"abcde"]
    plain = GreedySelector(gm.LinearRegression()).fit(X, y)
    frame = pd.DataFrame(X, columns=names)
    sources = [(frame, y), (pl.DataFrame(X, schema=names), y), (sp.csr_array(X), y), (gm.scan(X, y), None)]
    for source, target in sources:
        for estimator in (gm.LinearRegression(), LinearRegression()):
            found = GreedySelector(estimator).fit(source, target)
            assert np.array_equal(found.order_, plain.order_)
            np.testing.assert_allclose(found.path_.folds, plain.path_.folds, rtol=1e-8)
    scanned = GreedySelector(gm.LinearRegression(), n_features=2).fit(gm.scan(frame.assign(y=y), target="y"))
    assert scanned.get_feature_names_out().tolist() == [names[j] for j in sorted(scanned.order_)]
    assert scanned.transform(frame).shape == (60, 2)
    assert not hasattr(scanned.fit(gm.scan(X, y)), "feature_names_in_")


def test_missing_values_only_where_the_estimator_takes_them():
    X, y = data(n=60, d=2)
    X[3, 1] = np.nan
    found = GreedySelector(HistGradientBoostingRegressor(max_iter=2), n_features=1, cv=2).fit(X, y)
    assert found.transform(X).shape == (60, 1)
    for model in (gm.LinearRegression(), LinearRegression()):
        with pytest.raises(ValueError, match=r"contains NaN.*column 1.*row 3"):
            GreedySelector(model).fit(X, y)


def test_noise_may_leave_no_feature_when_backward():
    X = np.random.default_rng(0).standard_normal((40, 2))
    found = GreedySelector(gm.LinearRegression(), direction="backward").fit(X, np.ones(40))
    assert found.n_features_ == 0
    with pytest.warns(UserWarning, match="No features were selected"):
        assert found.transform(X).shape == (40, 0)


X0, y0 = data(n=20, d=3)
MODEL = gm.LinearRegression()


@pytest.mark.parametrize(
    ("selector", "arguments", "error", "message"),
    [
        (GreedySelector(MODEL, direction="up"), (X0, y0), ValueError, "direction is 'up'"),
        (GreedySelector(MODEL, n_features=0), (X0, y0), ValueError, "n_features is 0"),
        (GreedySelector(MODEL, n_features=1.5), (X0, y0), TypeError, "n_features is 1.5"),
        (GreedySelector(MODEL, n_features=True), (X0, y0), TypeError, "n_features is True"),
        (GreedySelector(MODEL, n_features="all"), (X0, y0), TypeError, "n_features is 'all'"),
        (GreedySelector(MODEL, n_features=4), (X0, y0), ValueError, "n_features is 4, and the data have 3 columns"),
        (GreedySelector(7), (X0, y0), TypeError, "estimator is 7"),
        (GreedySelector(gm.Ridge(alpha=-1.0)), (X0, y0), ValueError, r"alpha of Ridge\(alpha=-1.0\) is -1.0"),
        (GreedySelector(MODEL, cv="ten"), (X0, y0), ValueError, "cv is 'ten'"),
        (GreedySelector(MODEL), (gm.moments(X0, y0),), ValueError, "from Moments alone.*folds"),
        (GreedySelector(MODEL), (gm.triangle(X0, y0),), ValueError, "from Triangle alone.*folds"),
        (GreedySelector(MODEL), (X0,), ValueError, "requires y to be passed"),
        (GreedySelector(MODEL), (gm.scan(X0),), ValueError, "These Rows have no target"),
        (GreedySelector(MODEL), (gm.scan(X0, y0), y0), ValueError, "Rows bring their own target"),
        (GreedySelector(LogisticRegression()), (X0, np.full(20, np.nan)), ValueError, "y contains NaN"),
    ],
)
def test_refusals(selector, arguments, error, message):
    with pytest.raises(error, match=message):
        selector.fit(*arguments)


def test_weights_that_cannot_count_are_refused():
    weight = np.ones(20)
    with pytest.raises(ValueError, match=r"KNeighborsRegressor.fit takes no sample_weight"):
        GreedySelector(KNeighborsRegressor()).fit(X0, y0, sample_weight=weight)
    weight[:10] = 0.0
    cv = [(np.arange(10), np.arange(10, 20)), (np.arange(10, 20), np.arange(10))]
    for model in (gm.LinearRegression(), LinearRegression()):
        with pytest.raises(ValueError, match="training part of split 0 has no row with a positive weight"):
            GreedySelector(model, cv=cv).fit(X0, y0, sample_weight=weight)
        with pytest.raises(ValueError, match="test part of split 0 has no row with a positive weight"):
            GreedySelector(model, cv=cv[1:]).fit(X0, y0, sample_weight=weight)


@pytest.mark.parametrize("estimator", [gm.LinearRegression(), LinearRegression()])
def test_time_ends_a_selection_at_whole_steps(estimator, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = X @ [4.0, 3.0, 2.0, 1.0, 0.5, 0.25]
    whole = gm.selection.GreedySelector(estimator, n_features=6).fit(X, y)
    counts = []
    for looks in (0, 1, 2, 3, 9, 20, 1000):
        left = itertools.count(looks, -1)
        monkeypatch.setattr(deadline, "monotonic", lambda left=left: 0.0 if next(left) >= 0 else 1e9)
        selector = gm.selection.GreedySelector(estimator, n_features=6, time=1.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            selector.fit(X, y)
        ended = len(selector.order_) < 6
        assert [f"ended by time=1 after {len(selector.order_)} steps" in str(one.message) for one in caught] == [
            True
        ] * ended
        counts.append(len(selector.order_))
        np.testing.assert_array_equal(selector.order_, whole.order_[: counts[-1]])
        np.testing.assert_array_equal(np.flatnonzero(selector.support_), np.sort(selector.order_))
        assert len(selector.path_.mean) == counts[-1] + 1
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == 6


def test_time_must_be_positive():
    with pytest.raises(ValueError, match="time is"):
        gm.selection.GreedySelector(gm.LinearRegression(), time=0).fit(np.eye(4), np.arange(4.0))
