"""Splits and scores: what every selection with shared work rests on."""

import numpy as np
import pytest
from sklearn.model_selection import (
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)

import gramian as gm
from gramian.selection.cv.scores import between, join, scores_of
from gramian.selection.cv.splits import plan, split_sums


def rows(n=60):
    rng = np.random.default_rng(0)
    return gm.scan(rng.standard_normal((n, 2)), rng.integers(0, 3, n))


SPLITTERS = [
    KFold(5),
    KFold(5, shuffle=True, random_state=1),
    RepeatedKFold(n_splits=4, n_repeats=2, random_state=0),
    StratifiedKFold(3),
    ShuffleSplit(9, test_size=0.3, random_state=0),
    TimeSeriesSplit(4),
    gm.selection.KFold(7),
    [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))],
    [(np.arange(60) >= 10, np.arange(60) < 10)],
    [(np.r_[np.arange(29), 0], np.arange(30, 60)), (np.arange(30, 60), np.arange(30))],
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: type(cv).__name__)
def test_sums_of_a_split_are_sums_over_its_rows(cv):
    table = rows()
    X, y = table.collect().X, table.collect().y[:, 0]
    pairs = list(cv.split(X, y)) if hasattr(cv, "split") else cv
    found = split_sums(table, lambda block: block.X.sum(axis=0), plan(cv, table))
    assert len(found) == len(pairs)
    for (train, test), (a, b) in zip(pairs, found, strict=True):
        rows_in = np.unique(np.flatnonzero(train) if np.asarray(train).dtype == bool else train)
        np.testing.assert_allclose(a, X[rows_in].sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(b, X[test].sum(axis=0), atol=1e-12)


def test_leave_one_out_sums():
    table = rows(7)
    X = table.collect().X
    for i, (train, test) in enumerate(split_sums(table, lambda block: block.X.sum(axis=0), plan("loo", table))):
        np.testing.assert_allclose(train, X.sum(axis=0) - X[i], atol=1e-12)
        np.testing.assert_array_equal(test, X[i])


def test_own_folds_serve_scikit_learn():
    table = rows()
    X, y = table.collect().X, table.collect().y[:, 0]
    folds = gm.selection.KFold(4, random_state=3)
    scores = cross_val_score(gm.Ridge(0.1), X, y, cv=folds, scoring="neg_mean_squared_error")
    ours = gm.Ridge(alphas=[0.1], cv=folds).fit(X, y).scores_.folds[0]
    np.testing.assert_allclose(-scores, ours, rtol=1e-9)


def test_no_fold_is_seen_twice():
    tests = [test for _, test in gm.selection.KFold(6).split(np.zeros((50, 1)))]
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(50))


def test_scores_and_rules():
    alphas = np.array([8.0, 4.0, 2.0, 1.0])
    table = np.array([[5.0, 5.0], [2.0, 2.4], [1.9, 2.3], [3.0, 3.0]])
    best, calm = (scores_of(alphas, table, rule) for rule in ("best", "one_se"))
    assert (best.best, best.chosen, calm.best, calm.chosen) == (2, 2, 2, 1)
    np.testing.assert_allclose(best.se, table.std(axis=1, ddof=1) / np.sqrt(2))
    assert not best.at_boundary
    fine = between(best, 4)
    assert fine[0] < 4.0
    assert fine[-1] > 1.0
    both = join(best, scores_of(np.array([3.0]), np.array([[1.0, 1.0]]), "best"))
    np.testing.assert_array_equal(both.alphas, [8, 4, 3, 2, 1])
    assert both.best == 2


def test_losses_of_zero_are_equal():
    scores = scores_of(np.array([3.0, 2.0, 1.0]), np.array([[1.0], [1e-12], [1e-15]]), "best")
    assert scores.best == 1


def test_weighted_folds():
    table = np.array([[1.0, 4.0]])
    scores = scores_of(np.array([1.0]), table, "best", np.array([3.0, 1.0]))
    assert scores.mean[0] == 1.75
    assert scores.se[0] > 0
