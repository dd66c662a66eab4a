"""Tuned thresholds against brute force over every threshold, scikit-learn's curves, and rows written out."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

import gramian as gm
from gramian.models.meta.balanced import Balanced
from gramian.models.meta.threshold import TunedThreshold
from gramian.models.meta.threshold_search import NAMES

OFFERED = [name for name in NAMES if name != "cost"]


class Given(ClassifierMixin, BaseEstimator):
    """Scores that are the columns of X: as decisions (one, or one per class)."""

    def __init__(self, classes=(0, 1)):
        self.classes = classes

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array(self.classes)
        return self

    def decision_function(self, X):
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]


class GivenProbabilities(Given):
    """Columns of X are probabilities."""

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]]) if X.shape[1] == 1 else X


def tuned(scores, y, inner=Given, objective="f1", w=None, classes=None, **options):
    """Tuned on these scores, as they are."""
    scores = np.asarray(scores, dtype=float).reshape(len(y), -1)
    fitted = inner(tuple(np.unique(y)) if classes is None else classes).fit(scores, y)
    return TunedThreshold(fitted, objective, cv="prefit", **options).fit(scores, y, sample_weight=w)


def metric(name, y, decided, w=None, positive=1):
    """One metric from its definition."""
    w = np.ones(len(y)) if w is None else w
    yes, is_it = decided == positive, y == positive
    tp, fp = w[yes & is_it].sum(), w[yes & ~is_it].sum()
    fn, tn = w[~yes & is_it].sum(), w[~yes & ~is_it].sum()
    if name == "accuracy":
        return w[y == decided].sum() / w.sum()
    if name == "zero_one":
        return w[y != decided].sum() / w.sum()
    if name == "matthews":
        return metrics.matthews_corrcoef(y, decided, sample_weight=w)
    if name == "balanced_accuracy":
        return np.mean([w[(y == c) & (decided == c)].sum() / w[y == c].sum() for c in np.unique(y)])
    return {
        "precision": tp / (tp + fp) if tp else 0.0,
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "fpr": fp / (fp + tn),
        "youden": tp / (tp + fn) - fp / (fp + tn),
    }[name]


def every_decision(scores):
    """All decisions that a threshold can make, from none to all."""
    return [np.zeros(len(scores), dtype=bool), *(scores >= s for s in np.unique(scores)[::-1])]


def problem(seed, n=40, ties=True, weights=True):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < rng.integers(1, n)).astype(int)
    scores = rng.normal(0.7 * y, 1.0)
    w = rng.choice([0.25, 1.0, 2.0, 3.0], n) if weights else None
    return (np.round(scores, 1) if ties else scores), y, w


def test_the_definitions_are_those_of_scikit_learn():
    scores, y, w = problem(0)
    for decided in every_decision(scores):
        for name in ("accuracy", "balanced_accuracy", "precision", "recall", "f1"):
            zero = {} if "accuracy" in name else {"zero_division": 0.0}
            theirs = getattr(metrics, f"{name}_score")(y, decided, sample_weight=w, **zero)
            np.testing.assert_allclose(metric(name, y, decided, w), theirs)


@pytest.mark.parametrize("name", OFFERED)
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_no_threshold_is_better(name, seed, ties, weights):
    scores, y, w = problem(seed, ties=ties, weights=weights)
    model = tuned(scores, y, objective=name, w=w)
    found = [metric(name, y, d.astype(int), w) for d in every_decision(scores)]
    best = min(found) if name in ("fpr", "zero_one") else max(found)
    np.testing.assert_allclose(model.score_, best, rtol=1e-12, atol=1e-15)
    decided = model.predict(scores[:, None])
    np.testing.assert_allclose(metric(name, y, decided, w), best, rtol=1e-12, atol=1e-15)
    # Of equally good ones, the largest tpr − fpr.
    equal = [d.astype(int) for d, value in zip(every_decision(scores), found, strict=True) if abs(value - best) < 1e-12]
    youden = max(metric("youden", y, d, w) for d in equal)
    np.testing.assert_allclose(metric("youden", y, decided, w), youden, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_curve_has_every_threshold(seed):
    scores, y, w = problem(seed)
    curve = tuned(scores, y, w=w).curve_
    decisions = every_decision(scores)
    assert len(curve.thresholds) == len(decisions)
    assert curve.thresholds[0] == np.inf
    assert curve.thresholds[-1] == -np.inf
    assert (np.diff(curve.thresholds) < 0).all()
    for i, decided in enumerate(decisions):
        np.testing.assert_array_equal(scores > curve.thresholds[i], decided)
        for name in ("recall", "precision", "fpr"):
            np.testing.assert_allclose(getattr(curve, name)[i], metric(name, y, decided, w), atol=1e-14)
        np.testing.assert_allclose(curve.objective[i], metric("f1", y, decided, w), atol=1e-14)
    fpr, tpr, _ = metrics.roc_curve(y, scores, sample_weight=w, drop_intermediate=False)
    np.testing.assert_allclose(curve.fpr, fpr, atol=1e-14)
    np.testing.assert_allclose(curve.tpr, tpr, atol=1e-14)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("objective", "bounds"),
    [
        (("precision", "recall>=0.9"), [("recall", 1, 0.9)]),
        (("recall", "fpr <= 0.1"), [("fpr", -1, 0.1)]),
        (["f1", "recall>=0.3", "fpr<=6e-1"], [("recall", 1, 0.3), ("fpr", -1, 0.6)]),
    ],
)
def test_constraints_hold_and_nothing_allowed_is_better(seed, objective, bounds):
    scores, y, w = problem(seed, n=60)
    allowed = [
        metric(objective[0], y, d.astype(int), w)
        for d in every_decision(scores)
        if all(sign * (metric(name, y, d.astype(int), w) - bound) >= -1e-12 for name, sign, bound in bounds)
    ]
    if not allowed:
        with pytest.raises(ValueError, match=r"No threshold was found with recall >= 0\.3 and fpr <= 0\.6"):
            tuned(scores, y, objective=objective, w=w)
        return
    model = tuned(scores, y, objective=objective, w=w)
    np.testing.assert_allclose(model.score_, max(allowed), rtol=1e-12)
    for name, sign, bound in bounds:
        assert sign * (metric(name, y, model.predict(scores[:, None]), w) - bound) >= -1e-12


def test_a_bound_that_is_reached_exactly_is_kept():
    y = np.array([1] * 2 + [0] * 9 + [1] * 8)
    w = np.full(19, 0.7)
    model = tuned(np.arange(19.0), y, objective=("precision", "recall>=0.8"), w=w)
    assert model.curve_.recall[8] < 0.8  # by rounding
    assert model.score_ == 1.0
    assert 10 < model.threshold_ < 11
    with pytest.raises(ValueError, match=r"No threshold was found with precision >= 0\.99"):
        tuned(np.arange(19.0), 1 - y, objective=("recall", "precision>=0.99"))


@pytest.mark.parametrize("seed", range(5))
def test_cost_is_the_least(seed):
    scores, y, w = problem(seed)
    cost = np.array([[-1.0, 3.0], [20.0, 0.5]])
    model = tuned(scores, y, objective="cost", cost=cost, w=w)
    totals = [np.average(cost[y, d.astype(int)], weights=w) for d in every_decision(scores)]
    np.testing.assert_allclose(model.score_, min(totals))
    np.testing.assert_allclose(np.average(cost[y, model.predict(scores[:, None])], weights=w), min(totals))
    bound = (min(totals) + max(totals)) / 2
    limited = tuned(scores, y, objective=("fpr", f"cost<={bound}"), cost=cost, w=w)
    assert np.average(cost[y, limited.predict(scores[:, None])], weights=w) <= bound + 1e-12
    allowed = [metric("fpr", y, d, w) for d, c in zip(every_decision(scores), totals, strict=True) if c <= bound]
    np.testing.assert_allclose(limited.score_, min(allowed))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("inner", [Given, GivenProbabilities])
def test_the_first_class_may_be_the_positive_one(seed, inner):
    scores, y, w = problem(seed)
    if inner is GivenProbabilities:
        scores = np.round(1 / (1 + np.exp(-scores)), 3)
    words = np.array(["no", "yes"])[y]  # "no" comes first
    model = tuned(scores, words, inner, "precision", w, positive="no")
    decisions = [np.where(d, "yes", "no") for d in every_decision(scores)]
    best = max(metric("precision", words, d, w, "no") for d in decisions)
    np.testing.assert_allclose(model.score_, best)
    decided = model.predict(scores[:, None])
    np.testing.assert_allclose(metric("precision", words, decided, w, "no"), best)
    np.testing.assert_array_equal(model.decision_function(scores[:, None]) > 0, decided == "yes")
    own = -scores if inner is Given else 1 - scores
    np.testing.assert_array_equal(own >= model.threshold_, decided == "no")


def test_functions_are_maximised():
    scores, y, w = problem(3)
    named = tuned(scores, y, objective="f1", w=w)
    called = tuned(scores, y, objective=metrics.f1_score, w=w)
    assert called.threshold_ == named.threshold_
    np.testing.assert_allclose(called.score_, named.score_)
    np.testing.assert_allclose(called.curve_.objective, named.curve_.objective)
    both = tuned(scores, y, objective=(lambda y, d: -abs(d.mean() - 0.5), "recall>=0.2"))
    assert abs(both.score_) < 0.1
    with pytest.raises(ValueError, match="takes no sample_weight"):
        tuned(scores, y, objective=lambda y, d: 0.0, w=w)
    with pytest.raises(ValueError, match="objective gives NaN at the threshold inf"):
        tuned(scores, y, objective=lambda y, d: np.nan if d.sum() == 0 else 1.0)
    calls = []
    many, labels, _ = problem(4, n=5000, ties=False)
    found = tuned(many, labels, objective=lambda y, d: calls.append(0) or metrics.balanced_accuracy_score(y, d))
    assert len(calls) == len(found.curve_.thresholds) == 1000
    assert {found.curve_.thresholds[0], found.curve_.thresholds[-1]} == {np.inf, -np.inf}
    assert 0 <= tuned(many, labels, objective="balanced_accuracy").score_ - found.score_ < 0.01


def test_scores_at_the_limits_of_numbers():
    y = np.array([0, 0, 1, 1])
    for scores in (
        [0.0, 1.0, np.nextafter(1.0, 2.0), 2.0],
        [-1.7e308, -1.6e308, 1.6e308, 1.7e308],
        [0.0, 5e-324, 1e-323, 1.5e-323],
        [1e-310, 2e-310, 3e-310, 4e-310],
    ):
        for positive in (0, 1):
            model = tuned(scores, y, positive=positive)
            assert model.score_ == 1.0
            np.testing.assert_array_equal(model.predict(np.array(scores)[:, None]), y)
    constant = tuned(np.zeros(4), y, objective="recall")
    assert constant.threshold_ == -np.inf
    assert constant.predict(np.zeros((2, 1))).tolist() == [1, 1]
    nobody = tuned(np.zeros(4), y, objective="fpr")
    assert nobody.threshold_ == np.inf
    assert nobody.predict(np.full((2, 1), 1e300)).tolist() == [0, 0]


def test_scikit_learn_finds_nothing_better_and_agrees_where_it_looks():
    X, y = make_classification(600, weights=[0.85], flip_y=0.1, random_state=0)
    fitted = LogisticRegression().fit(X[:300], y[:300])
    ours = TunedThreshold(fitted, "balanced_accuracy", cv="prefit").fit(X[300:], y[300:])
    theirs = TunedThresholdClassifierCV(fitted, cv="prefit", refit=False, thresholds=500, store_cv_results=True)
    theirs.fit(X[300:], y[300:])
    assert ours.score_ >= theirs.best_score_
    assert ours.score_ - theirs.best_score_ < 0.02
    scores = np.sort(fitted.predict_proba(X[300:])[:, 1])
    for threshold, value in zip(theirs.cv_results_["thresholds"], theirs.cv_results_["scores"], strict=True):
        place = len(scores) - np.searchsorted(scores, threshold)  # rows at or above their threshold
        np.testing.assert_allclose(ours.curve_.objective[place], value)
    exact = clone(theirs).set_params(estimator=FrozenEstimator(fitted), thresholds=[ours.threshold_, 2.0])
    exact.fit(X[300:], y[300:])
    np.testing.assert_allclose(exact.best_score_, ours.score_)
    np.testing.assert_array_equal(exact.predict(X), ours.predict(X))


@pytest.mark.parametrize("inner", [LogisticRegression(), LinearSVC(), GaussianNB(), KNeighborsClassifier(7)])
def test_scores_are_out_of_fold(inner):
    X, y = make_classification(200, weights=[0.8], flip_y=0.1, random_state=1)
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    method = "predict_proba" if hasattr(inner, "predict_proba") else "decision_function"
    scores = cross_val_predict(inner, X, y, cv=cv, method=method)
    scores = scores[:, 1] if scores.ndim == 2 else scores
    model = TunedThreshold(inner, cv=cv).fit(X, y)
    np.testing.assert_allclose(model.score_, max(metric("f1", y, d) for d in every_decision(scores)))
    np.testing.assert_allclose(model.score_, metric("f1", y, scores > model.threshold_))
    assert model.response_ == method
    whole = clone(inner).fit(X, y)
    own = getattr(whole, method)(X)
    np.testing.assert_array_equal(model.predict(X), (own[:, 1] if own.ndim == 2 else own) > model.threshold_)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X))
    if method == "predict_proba":
        np.testing.assert_array_equal(model.predict_proba(X), own)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(model.predict_log_proba(X), np.log(own), rtol=1e-6, atol=1e-9)
    else:
        assert not hasattr(model, "predict_proba")


def test_every_kind_of_split():
    X, y = make_classification(60, weights=[0.7], random_state=2)
    inner = GaussianNB()
    pairs = list(StratifiedKFold(3).split(X, y))
    masks = [(np.isin(np.arange(60), train), np.isin(np.arange(60), test)) for train, test in pairs]
    found = [TunedThreshold(inner, cv=cv).fit(X, y) for cv in (StratifiedKFold(3), pairs, masks)]
    assert len({model.threshold_ for model in found}) == 1
    scores = np.array([inner.fit(np.delete(X, i, 0), np.delete(y, i)).predict_proba(X[[i]])[0, 1] for i in range(60)])
    loo = TunedThreshold(inner, cv="loo").fit(X, y)
    np.testing.assert_allclose(loo.score_, max(metric("f1", y, d) for d in every_decision(scores)))
    repeated = TunedThreshold(inner, cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)).fit(X, y)
    assert repeated.curve_.recall[-1] == 1.0
    assert len(repeated.curve_.thresholds) == 121
    once = ShuffleSplit(1, test_size=0.5, random_state=3)
    train, test = next(once.split(X))
    kept = TunedThreshold(inner, cv=once, refit=False).fit(X, y)
    np.testing.assert_allclose(kept.estimator_.theta_, clone(inner).fit(X[train], y[train]).theta_)
    np.testing.assert_allclose(kept.score_, metric("f1", y[test], kept.predict(X[test])))
    with pytest.raises(ValueError, match="refit=False keeps the model of the only split, and cv makes 5"):
        TunedThreshold(inner, refit=False).fit(X, y)


def test_folds_are_stratified_and_seeded():
    X, y = make_classification(203, weights=[0.9], random_state=4)
    seen = []

    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.bincount(y))
            return super().fit(X, y, sample_weight)

    TunedThreshold(Spy(), cv=4).fit(X, y)
    tests = np.bincount(y) - np.array(seen[:4])
    assert (np.ptp(tests, axis=0) <= 1).all()
    np.testing.assert_array_equal(tests.sum(axis=0), np.bincount(y))
    np.testing.assert_array_equal(seen[4], np.bincount(y))
    thresholds = [TunedThreshold(LogisticRegression(), random_state=s).fit(X, y).threshold_ for s in (0, 0, None, 1)]
    assert thresholds[0] == thresholds[1] == thresholds[2] != thresholds[3]


@pytest.mark.parametrize("name", ["f1", "cost"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("inner", [LogisticRegression(tol=1e-10, max_iter=1000), KNeighborsClassifier(5)])
def test_weights_equal_repetition(inner, classes, name):
    X, y = make_classification(150, 6, n_informative=4, n_classes=classes, flip_y=0.1, random_state=5)
    w = np.random.default_rng(6).integers(0, 4, 150)
    folds = np.arange(150) % 3
    pairs = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(3)]
    more = np.repeat(folds, w)
    repeated = [(np.flatnonzero(more != f), np.flatnonzero(more == f)) for f in range(3)]
    options = {"objective": name, "cost": 5 - 4 * np.eye(classes) if name == "cost" else None}
    a = TunedThreshold(inner, cv=pairs, **options).fit(X, y, sample_weight=w)
    b = TunedThreshold(inner, cv=repeated, **options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.threshold_, b.threshold_, rtol=1e-6)
    np.testing.assert_allclose(a.score_, b.score_, rtol=1e-9)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    # Rows of weight zero are no rows, however the folds are made.
    a = TunedThreshold(inner, **options).fit(X, y, sample_weight=(w > 0).astype(float))
    b = TunedThreshold(inner, **options).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(a.threshold_, b.threshold_, rtol=1e-6)


def several(seed, n=120, k=3):
    rng = np.random.default_rng(seed)
    y = rng.choice(k, n, p=np.array([8.0, 3.0, 1.0, 1.0, 1.0][:k]) / sum([8.0, 3.0, 1.0, 1.0, 1.0][:k]))
    y[:k] = np.arange(k)
    levels = rng.normal(0.0, 1.0, (n, k)) + 1.2 * (y[:, None] == np.arange(k)) + 1.5 * (np.arange(k) == 0)
    scores = np.exp(levels)
    return scores / scores.sum(axis=1, keepdims=True), y


def mean_metric(name, y, decided, k, w):
    if name in ("accuracy", "balanced_accuracy", "matthews", "zero_one"):
        return metric(name, y, decided, w)
    return np.mean([metric(name, y == j, decided == j, w) for j in range(k)])


@pytest.mark.parametrize("name", OFFERED)
@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("inner", [Given, GivenProbabilities])
def test_several_classes_none_of_whose_thresholds_can_be_improved(name, k, inner):
    scores, y = several(k, k=k)
    w = np.random.default_rng(k).integers(1, 4, len(y)).astype(float)
    levels = np.log(scores)
    if inner is Given:
        scores = levels
    model = tuned(scores, y, inner, name, w)
    sign = -1 if name in ("fpr", "zero_one") else 1
    decided = model.predict(scores)
    best = mean_metric(name, y, decided, k, w)
    np.testing.assert_allclose(model.score_, best, rtol=1e-12)
    assert sign * best >= sign * mean_metric(name, y, scores.argmax(axis=1), k, w)
    np.testing.assert_array_equal(model.decision_function(scores).argmax(axis=1), decided)
    np.testing.assert_allclose(model.threshold_.sum(), 1.0 if inner is GivenProbabilities else 0.0, atol=1e-12)
    offsets = np.log(model.threshold_) if inner is GivenProbabilities else model.threshold_
    for j in range(k):
        critical = np.sort(levels[:, j] - np.delete(levels - offsets, j, axis=1).max(axis=1))
        cuts = np.concatenate([[critical[0] - 1], (critical[1:] + critical[:-1]) / 2, [critical[-1] + 1]])
        moved = [np.where(np.arange(k) == j, cut, offsets) for cut in cuts]
        found = [mean_metric(name, y, (levels - t).argmax(axis=1), k, w) for t in moved]
        assert max(sign * np.array(found)) <= sign * best + 1e-12
        curve = model.curve_[j]
        np.testing.assert_allclose(curve.objective[::-1], found, atol=1e-12)
        thresholds = np.exp(cuts) if inner is GivenProbabilities else cuts
        np.testing.assert_allclose(curve.thresholds[::-1], thresholds, rtol=1e-9, atol=1e-12)
        recalls = [metric("recall", y == j, (levels - t).argmax(axis=1) == j, w) for t in moved]
        np.testing.assert_allclose(curve.recall[::-1], recalls, atol=1e-12)


def test_several_classes_with_costs_constraints_and_functions():
    scores, y = several(7, n=300)
    cost = np.array([[0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [30.0, 10.0, 0.0]])
    model = tuned(scores, y, GivenProbabilities, "cost", cost=cost)
    np.testing.assert_allclose(model.score_, cost[y, model.predict(scores)].mean())
    assert model.score_ <= cost[y, scores.argmax(axis=1)].mean()
    free = metrics.balanced_accuracy_score(y, tuned(scores, y, GivenProbabilities, "accuracy").predict(scores))
    bound = (free + tuned(scores, y, GivenProbabilities, "balanced_accuracy").score_) / 2
    assert bound > free + 0.01  # so the constraint does bind
    model = tuned(scores, y, GivenProbabilities, ("accuracy", f"balanced_accuracy>={bound}"))
    assert metrics.balanced_accuracy_score(y, model.predict(scores)) >= bound
    with pytest.raises(ValueError, match=r"No threshold was found with precision >= 0\.999"):
        tuned(scores, y, GivenProbabilities, ("recall", "precision>=0.999"))
    named = tuned(scores, y, GivenProbabilities, "balanced_accuracy")
    called = tuned(scores, y, GivenProbabilities, lambda y, d: metric("balanced_accuracy", y, d))
    np.testing.assert_allclose(called.score_, named.score_, atol=0.02)
    np.testing.assert_allclose(called.score_, metrics.balanced_accuracy_score(y, called.predict(scores)))


def test_probabilities_that_are_zero():
    scores = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.4, 0.0], [0.5, 0.0, 0.5]] * 3)
    y = np.array([0, 1, 2, 1, 2] * 3)
    model = tuned(scores, y, GivenProbabilities, "f1")
    assert model.score_ == 1.0
    np.testing.assert_array_equal(model.predict(scores), y)
    assert (model.threshold_ > 0).all()
    silent = tuned(np.vstack([scores, np.zeros(3)]), np.append(y, 0), GivenProbabilities, "accuracy")
    assert np.isfinite(silent.threshold_).all()


def test_iris_and_rare_classes():
    X, y = load_iris(return_X_y=True)
    keep = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1), np.flatnonzero(y == 2)[:12]])
    names = np.array(["setosa", "versicolor", "virginica"])[y[keep]]
    model = TunedThreshold(LogisticRegression(C=0.05), "balanced_accuracy").fit(X[keep], names)
    plain = LogisticRegression(C=0.05).fit(X[keep], names)
    rare = np.flatnonzero(y == 2)[12:]
    assert (model.predict(X[rare]) == "virginica").mean() > (plain.predict(X[rare]) == "virginica").mean()
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]


def test_one_in_ten_thousand_is_found():
    rng = np.random.default_rng(8)
    n, rare = 100_000, 10
    y = np.zeros(n, dtype=int)
    y[:rare] = 1
    X = rng.standard_normal((n, 3)) + 2.0 * y[:, None]
    fresh = rng.standard_normal((1000, 3)) + 2.0
    plain = LogisticRegression().fit(X, y).predict(fresh).mean()
    for objective in ("youden", "balanced_accuracy", ("precision", "recall>=0.8")):
        model = TunedThreshold(LogisticRegression(), objective).fit(X, y)
        assert model.predict(fresh).mean() > max(2 * plain, 0.5)
        assert model.threshold_ < 0.1


def test_every_table_and_what_is_inside():
    X, y = make_classification(120, 4, weights=[0.8], random_state=9)
    X[X < -1] = 0.0
    words = np.array(["healthy", "ill"])[y]
    names = ["p", "q", "r", "s"]
    frame = pd.DataFrame(X, columns=names)
    reference = TunedThreshold(LogisticRegression()).fit(X, words)
    sources = [
        (frame, pd.Series(words)),
        (pl.DataFrame(X, schema=names), pl.Series(words)),
        (gm.scan(frame.assign(target=words), target="target"),),
    ]
    for source in sources:
        model = TunedThreshold(LogisticRegression()).fit(*source)
        np.testing.assert_allclose(model.threshold_, reference.threshold_, rtol=1e-9)
        np.testing.assert_array_equal(model.predict(frame), reference.predict(X))
        assert list(model.feature_names_in_) == names
    sparse = TunedThreshold(LogisticRegression()).fit(sp.csc_array(X), words)
    np.testing.assert_allclose(sparse.threshold_, reference.threshold_, rtol=1e-3)
    single = TunedThreshold(LogisticRegression()).fit(X.astype(np.float32), words)
    np.testing.assert_allclose(single.threshold_, reference.threshold_, rtol=1e-3)
    rows = TunedThreshold(LogisticRegression()).fit(gm.scan(X, words))
    np.testing.assert_array_equal(rows.predict(gm.scan(X)), reference.predict(X))
    again = pickle.loads(pickle.dumps(reference))
    np.testing.assert_array_equal(again.predict(X), reference.predict(X))
    search = GridSearchCV(TunedThreshold(Balanced(LogisticRegression())), {"estimator__estimator__C": [0.1, 1.0]}, cv=2)
    assert search.fit(X, words).best_estimator_.estimator_.estimator_.C in (0.1, 1.0)
    assert not hasattr(reference, "summary")
    assert not hasattr(TunedThreshold(LogisticRegression()), "classes_")
    with pytest.raises(NotFittedError):
        TunedThreshold(LogisticRegression()).predict(X)


def test_kernel_matrices():
    X, y = make_classification(80, weights=[0.7], random_state=10)
    a = TunedThreshold(SVC(kernel="precomputed")).fit(X @ X.T, y)
    b = TunedThreshold(SVC(kernel="linear")).fit(X, y)
    np.testing.assert_allclose(a.threshold_, b.threshold_, rtol=1e-6)
    np.testing.assert_array_equal(a.predict(X @ X.T), b.predict(X))


def test_prefit():
    X, y = make_classification(200, n_informative=4, n_classes=3, random_state=11)
    fitted = LogisticRegression().fit(X[:100], y[:100])
    coef = fitted.coef_.copy()
    model = TunedThreshold(fitted, cv="prefit").fit(X[100:], y[100:])
    assert model.estimator_ is fitted
    np.testing.assert_array_equal(fitted.coef_, coef)
    with pytest.raises(NotFittedError, match="cv='prefit' needs a fitted estimator"):
        TunedThreshold(LogisticRegression(), cv="prefit").fit(X, y)
    with pytest.raises(ValueError, match="y holds the class 3, which the fitted estimator does not know"):
        TunedThreshold(fitted, cv="prefit").fit(X, np.where(y == 1, 3, y))
    with pytest.raises(ValueError, match="knows the class 2, and y has no row of it"):
        TunedThreshold(fitted, cv="prefit").fit(X[y < 2], y[y < 2])
    # Classes in an order of their own.
    scores, y, _ = problem(12)
    odd = tuned(-scores, y, classes=(1, 0), positive=1)
    np.testing.assert_allclose(odd.score_, tuned(scores, y).score_)
    np.testing.assert_array_equal(odd.predict(-scores[:, None]), tuned(scores, y).predict(scores[:, None]))


def test_a_class_that_is_too_small_is_named():
    X = np.random.default_rng(13).standard_normal((50, 2))
    y = np.array(["common"] * 47 + ["rare"] * 3)
    with pytest.raises(ValueError, match="Class 'rare' has 3 of n_samples = 50 rows, fewer than the 5 folds"):
        TunedThreshold(LogisticRegression()).fit(X, y)
    assert TunedThreshold(LogisticRegression(), cv=3).fit(X, y).score_ > 0
    with pytest.raises(ValueError, match=r"training part of split 2 of cv has no row of class 'rare', of 3 in all"):
        TunedThreshold(LogisticRegression(), cv=KFold(3)).fit(X, y)
    split = [(np.arange(1, 50), np.arange(1))]
    with pytest.raises(ValueError, match=r"What the splits of cv test has no row of class 'rare'"):
        TunedThreshold(LogisticRegression(), cv=split).fit(X, y)
    with pytest.raises(ValueError, match="only one class: 'common'"):
        TunedThreshold(LogisticRegression()).fit(X[:40], y[:40])


@pytest.mark.parametrize(
    ("kind", "match", "options"),
    [
        (ValueError, "objective names 'auc'; the metrics are accuracy, balanced_accuracy, cost", {"objective": "auc"}),
        (ValueError, "objective names 'hits'", {"objective": ("f1", "hits>=1")}),
        (ValueError, "constraint 'recall=0.9'; write it like", {"objective": ("f1", "recall=0.9")}),
        (ValueError, "constraint 0.9; write it like", {"objective": ("f1", 0.9)}),
        (ValueError, "whose bound is not a number", {"objective": ("f1", "recall>=1.2.3")}),
        (TypeError, "objective is 3; it must be", {"objective": 3}),
        (TypeError, r"objective is \(\); it must be", {"objective": ()}),
        (ValueError, "cost is given, and the objective does not use it", {"cost": np.eye(2)}),
        (ValueError, "objective uses no cost matrix|give objective='cost' and cost", {"objective": "cost"}),
        (ValueError, r"cost has shape \(3, 3\); with 2 classes", {"objective": "cost", "cost": np.eye(3)}),
        (ValueError, "needs finite numbers", {"objective": "cost", "cost": np.full((2, 2), np.nan)}),
        (ValueError, "positive is 'x', which is not a class", {"positive": "x"}),
        (TypeError, "refit is 1; it must be True or False", {"refit": 1}),
        (ValueError, "random_state is -1", {"random_state": -1}),
        (ValueError, "cv is 1", {"cv": 1}),
        (ValueError, "cv is True", {"cv": True}),
        (ValueError, "cv is 'all'", {"cv": "all"}),
        (TypeError, "must be a classifier with fit and predict_proba or decision_function", {"estimator": "x"}),
        (TypeError, "must be a classifier", {"estimator": LinearRegression()}),
    ],
)
def test_parameters_that_cannot_be(kind, match, options):
    X, y = make_classification(40, random_state=14)
    with pytest.raises(kind, match=match):
        TunedThreshold(**{"estimator": LogisticRegression(), **options}).fit(X, y)


def test_data_and_scores_that_cannot_be():
    X, y = make_classification(120, n_informative=4, n_classes=4, random_state=15)
    with pytest.raises(ValueError, match="positive is 1, and y has 4 classes"):
        TunedThreshold(LogisticRegression(), positive=1).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(\d+, 6\), and 4 classes need"):
        TunedThreshold(SVC(decision_function_shape="ovo")).fit(X, y)
    with pytest.raises(ValueError, match="decision_function of Given is NaN or infinite at row 2 of the 4"):
        tuned([0.0, 1.0, np.nan, 2.0], np.array([0, 0, 1, 1]))
    with pytest.raises(ValueError, match="their own target"):
        TunedThreshold(LogisticRegression()).fit(gm.scan(X, y), y)
    w = np.random.default_rng(0).random(120)
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        TunedThreshold(KNeighborsClassifier()).fit(X, y, sample_weight=w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TunedThreshold(LogisticRegression()).fit(X, y, sample_weight=w)


def test_around_our_own():
    X, y = make_classification(150, 4, weights=[0.8], flip_y=0.1, random_state=16)
    words = np.array(["healthy", "ill"])[y]
    model = TunedThreshold(gm.LogisticRegression(alpha=0.01)).fit(gm.scan(X, words))
    scores = np.empty(150)
    for fold in range(5):  # the folds of the index within each class
        labels = np.empty(150, dtype=int)
        for name in ("healthy", "ill"):
            members = np.flatnonzero(words == name)
            for number, (_, test) in enumerate(gm.selection.KFold(5).split(members)):
                labels[members[test]] = number
        part = gm.LogisticRegression(alpha=0.01).fit(X[labels != fold], words[labels != fold])
        scores[labels == fold] = part.predict_proba(X[labels == fold])[:, 1]
    np.testing.assert_allclose(model.score_, max(metric("f1", y, d) for d in every_decision(scores)))
    assert str(model.summary()) == str(model.estimator_.summary())
