"""Learning and validation curves, against scikit-learn's."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, learning_curve, validation_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import gramian as gm

curves = gm.selection.curves
X, Y = load_diabetes(return_X_y=True)
FLOWERS, KINDS = load_iris(return_X_y=True)


@pytest.mark.parametrize("values", [[0.1, 0.33, 0.5, 1.0], [20, 7, 100], [0.002]])
@pytest.mark.parametrize("cv", [KFold(4), KFold(3, shuffle=True, random_state=1), ShuffleSplit(3, random_state=0)])
def test_learning_curve_is_that_of_scikit_learn(values, cv):
    found = curves(Ridge(0.1), X, Y, values=values, cv=cv, shuffle=False)
    sizes, train, test = learning_curve(Ridge(0.1), X, Y, train_sizes=values, cv=cv, scoring="neg_mean_squared_error")
    np.testing.assert_array_equal(found.values, sizes)
    np.testing.assert_allclose(found.train.folds, -train, rtol=1e-12)
    np.testing.assert_allclose(found.validation.folds, -test, rtol=1e-12)


@pytest.mark.parametrize("cv", [KFold(4), StratifiedKFold(5, shuffle=True, random_state=1)])
def test_learning_curve_of_a_classifier(cv):
    order = np.random.default_rng(0).permutation(150)
    found = curves(GaussianNB(), FLOWERS[order], KINDS[order], values=[20, 80], cv=cv, shuffle=False, metric="accuracy")
    _, train, test = learning_curve(GaussianNB(), FLOWERS[order], KINDS[order], train_sizes=[20, 80], cv=cv)
    np.testing.assert_allclose(found.train.folds, train, rtol=1e-12)
    np.testing.assert_allclose(found.validation.folds, test, rtol=1e-12)
    assert found.greater_is_better
    errors = curves(GaussianNB(), FLOWERS[order], KINDS[order], values=[20, 80], cv=cv, shuffle=False)
    assert errors.metric == "error_rate"
    np.testing.assert_allclose(errors.validation.folds, 1 - test, rtol=1e-12)
    np.testing.assert_allclose(errors.gap, found.gap)
    assert errors.best == found.best


@pytest.mark.parametrize(
    ("model", "over", "values"),
    [
        (Ridge(), "alpha", [1e-3, 0.1, 10.0]),
        (make_pipeline(StandardScaler(), Ridge()), "ridge__alpha", np.geomspace(1e-2, 1e3, 4)),
        (KNeighborsRegressor(), "n_neighbors", [1, 5, 20]),
        (KNeighborsRegressor(), "weights", ["uniform", "distance"]),
        (Ridge(), "fit_intercept", [True, False]),
        (make_pipeline(StandardScaler(), Ridge(3.0)), "standardscaler", [StandardScaler(), MinMaxScaler(), None]),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_validation_curve_is_that_of_scikit_learn(model, over, values):
    cv = KFold(4, shuffle=True, random_state=0)
    found = curves(model, X, Y, over=over, values=values, cv=cv)
    train, test = validation_curve(
        model, X, Y, param_name=over, param_range=values, cv=cv, scoring="neg_mean_squared_error"
    )
    np.testing.assert_allclose(found.train.folds, -train, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.validation.folds, -test, rtol=1e-12)
    assert found.best == test.mean(axis=1).argmax()
    assert list(found.values) == list(values)
    assert str(found.best_value) == str(values[found.best])
    assert f"over {over}" in str(found)


def test_means_errors_gap_and_best():
    found = curves(DecisionTreeRegressor(random_state=0), X, Y, over="max_depth", values=[1, 2, None], cv=4)
    for curve in (found.train, found.validation):
        assert curve.folds.shape == (3, 4)
        np.testing.assert_allclose(curve.mean, curve.folds.mean(axis=1))
        np.testing.assert_allclose(curve.se, curve.folds.std(axis=1, ddof=1) / 2)
    np.testing.assert_allclose(found.gap, found.validation.mean - found.train.mean)
    assert found.gap[2] > found.gap[0]  # a full tree learns its training rows by heart
    assert found.train.mean[2] == 0.0
    text = str(found).splitlines()
    assert text[0] == "DecisionTreeRegressor: mse over max_depth, 4 folds"
    assert [line.endswith("best") for line in text[2:]] == [i == found.best for i in range(3)]
    assert text[4].split()[0] == "None"
    r2 = curves(DecisionTreeRegressor(random_state=0), X, Y, over="max_depth", values=[1, 2, None], cv=4, metric="r2")
    np.testing.assert_allclose(r2.gap, r2.train.mean - r2.validation.mean)
    assert r2.best == found.best


def test_one_split_has_no_error():
    found = curves(LinearRegression(), X, Y, values=[50], cv=[(np.arange(300), np.arange(300, 442))])
    assert np.isnan(found.train.se).all()
    assert np.isfinite(found.validation.mean).all()


def test_folds_by_number_are_those_of_evaluate():
    found = curves(gm.Ridge(), X, Y, over="alpha", values=[0.01], cv=4)
    evaluated = gm.selection.evaluate(gm.Ridge(0.01), X, Y, outer=4)
    np.testing.assert_allclose(found.validation.folds[0], evaluated.scores["mse"].folds)


class Watcher(DummyClassifier):
    """Remembers the sets it was fitted to."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Watcher.seen.append((X[:, 0], np.asarray(y)))
        return super().fit(X, y, sample_weight)


def test_smaller_sets_are_parts_of_larger_ones_with_classes_in_their_shares():
    Watcher.seen = []
    y = np.repeat(["a", "b", "c"], [60, 30, 10])  # in order: the worst case
    curves(Watcher(), np.arange(100.0)[:, None], y, values=[8, 16, 40, 80], cv=5)
    for fold in range(5):
        sets = Watcher.seen[4 * fold : 4 * fold + 4]
        for (small, labels), (large, _) in pairwise(sets):
            assert set(small) < set(large)
            share = np.array([np.mean(labels == name) for name in "abc"])
            np.testing.assert_allclose(share, [0.6, 0.3, 0.1], atol=0.5 / len(labels) + 0.05)
    assert [len(rows) for rows, _ in Watcher.seen] == [8, 16, 40, 80] * 5


def test_same_random_state_same_numbers():
    a, b, c = (
        curves(DecisionTreeRegressor(splitter="random"), X, Y, random_state=seed, cv=3).validation.folds
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    assert curves(LinearRegression(), X, Y, cv=3, values=[0.05, 0.051]).values.tolist() == [14]  # equal ones once
    default = curves(LinearRegression(), X, Y, cv=3)
    assert len(default.values) == 7
    assert default.values[-1] == 294
    with gm.threads(1):
        one = curves(gm.Ridge(0.1), X, Y, cv=3)
    np.testing.assert_array_equal(one.train.folds, curves(gm.Ridge(0.1), X, Y, cv=3).train.folds)


def test_kinds_of_tables_agree():
    names = [f"c{j}" for j in range(10)]
    frame = pd.DataFrame(X, columns=names)
    expected = curves(gm.Ridge(0.1), X, Y, cv=3, values=[30, 200])
    for table, target in [
        (frame, pd.Series(Y)),
        (pl.DataFrame(X, schema=names), pl.Series(Y)),
        (sp.csr_matrix(X), Y),
        (gm.scan(frame, Y), None),
    ]:
        found = curves(gm.Ridge(0.1), table, target, cv=3, values=[30, 200])
        np.testing.assert_allclose(found.train.folds, expected.train.folds, rtol=1e-9)
        np.testing.assert_allclose(found.validation.folds, expected.validation.folds, rtol=1e-9)


def test_weights():
    w = np.random.default_rng(0).integers(0, 4, 442)
    again = np.repeat(np.arange(442), w)
    fold = np.arange(442) % 3
    pairs = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    repeated = [(np.flatnonzero(fold[again] != k), np.flatnonzero(fold[again] == k)) for k in range(3)]
    a = curves(gm.Ridge(), X, Y, sample_weight=w, over="alpha", values=[1.0, 1e-3], cv=pairs)
    b = curves(gm.Ridge(), X[again], Y[again], over="alpha", values=[1.0, 1e-3], cv=repeated)
    np.testing.assert_allclose(a.train.folds, b.train.folds, rtol=1e-9)
    np.testing.assert_allclose(a.validation.folds, b.validation.folds, rtol=1e-9)


def test_probabilities_and_functions_as_metrics():
    found = curves(GaussianNB(), FLOWERS, KINDS, over="var_smoothing", values=[1e-9, 1.0], metric="log_loss")
    assert not found.greater_is_better
    worst = curves(LinearRegression(), X, Y, values=[100], metric=lambda y, prediction: np.max(np.abs(y - prediction)))
    assert worst.metric == "<lambda>"
    assert worst.validation.mean[0] > 50


def test_a_metric_that_fails_says_where():
    with pytest.raises(ValueError) as caught:
        curves(
            KNeighborsClassifier(1),
            FLOWERS[:100],
            KINDS[:100],
            values=[2],
            cv=KFold(2),
            shuffle=False,
            metric="roc_auc",
        )
    assert "with 2 rows in fold 0" in caught.value.__notes__[0]
    with pytest.raises(ValueError) as caught:
        curves(LogisticRegression(), FLOWERS, KINDS, values=[5], cv=KFold(2), shuffle=False)
    assert caught.value.__notes__ == ["LogisticRegression was being fitted to 5 rows: 5 rows, fold 0."]


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"model": DecisionTreeClassifier}, TypeError, "must be an estimator"),
        ({"over": "alfa", "values": [1]}, ValueError, "over is 'alfa', .* did you mean 'alpha'"),
        ({"over": "zzz", "values": [1]}, ValueError, "it has 'alpha'"),
        ({"over": "alpha"}, ValueError, "values is None; give a list of values of 'alpha'"),
        ({"over": "alpha", "values": "abc"}, ValueError, "values is 'abc'"),
        ({"over": "alpha", "values": []}, ValueError, "values is empty"),
        ({"values": ["a"]}, ValueError, "list of numbers of rows"),
        ({"values": []}, ValueError, "list of numbers of rows"),
        ({"values": [0.5, 1.5]}, ValueError, "values holds 1.5; shares are above 0 and at most 1"),
        ({"values": [0, 5]}, ValueError, "values holds 0; the training parts of the folds have 1 to 353"),
        ({"values": [5, 400]}, ValueError, "values holds 400"),
        ({"shuffle": 1}, TypeError, "shuffle is 1"),
        ({"cv": 1}, ValueError, "cv is 1; the number of folds"),
        ({"metric": "f1"}, ValueError, "f1 is of labels"),
        ({"y": None}, ValueError, "target y is None"),
    ],
)
def test_wrong_input_is_named(change, kind, message):
    given = {"model": Ridge(), "y": Y, **change}
    with pytest.raises(kind, match=message):
        curves(given.pop("model"), X, given.pop("y"), **given)
