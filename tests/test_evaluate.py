"""Nested evaluation, comparison and the test set that opens once, against scikit-learn and definitions."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest, ttest_1samp
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression, LogisticRegressionCV, Ridge
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import gramian as gm
from gramian.selection.evaluation.choices import choices_of, text_of
from gramian.selection.evaluation.scoring import fold_mean
from gramian.selection.evaluation.trials import weight_parameters

evaluate, compare, HoldOut = gm.selection.evaluate, gm.selection.compare, gm.selection.HoldOut

DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)
FEW = DIABETES[0][:90], DIABETES[1][:90]
CANCER = load_breast_cancer(return_X_y=True)
bayes = make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1.0))


# Scores


def test_regression_scores_are_those_of_scikit_learn():
    X, y = DIABETES
    cv = KFold(4, shuffle=True, random_state=3)
    found = evaluate(Ridge(0.1), X, y, outer=cv)
    names = {"mse": "neg_mean_squared_error", "mae": "neg_mean_absolute_error", "r2": "r2"}
    theirs = cross_validate(Ridge(0.1), X, y, cv=cv, scoring=list(names.values()))
    for ours, name in names.items():
        sign = -1 if name.startswith("neg") else 1
        np.testing.assert_allclose(found.scores[ours].folds, sign * theirs[f"test_{name}"], rtol=1e-10)
    np.testing.assert_allclose(found.predictions, cross_val_predict(Ridge(0.1), X, y, cv=cv), rtol=1e-12)
    assert found.models is None
    assert found.choices == [{}] * 4


def test_classification_scores_are_those_of_scikit_learn():
    X, y = CANCER
    labels = np.array(["malignant", "benign"])[y]
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    names = ["accuracy", "log_loss", "roc_auc", "f1", "average_precision", "error_rate"]
    found = evaluate(bayes, X, labels, outer=cv, metrics=names)
    theirs = cross_validate(
        bayes, X, 1 - y, cv=cv, scoring=["accuracy", "neg_log_loss", "roc_auc", "f1", "average_precision"]
    )
    for name in names[:-1]:
        sign = -1 if name == "log_loss" else 1
        expected = sign * theirs[f"test_{'neg_' if sign < 0 else ''}{name}"]
        np.testing.assert_allclose(found.scores[name].folds, expected, rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(found.scores["error_rate"].folds, 1 - theirs["test_accuracy"])
    assert set(found.predictions) == {"malignant", "benign"}
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found.classes, ["benign", "malignant"])
    assert list(evaluate(bayes, X, labels, outer=3).scores) == ["accuracy", "log_loss", "roc_auc"]


def test_multiclass():
    X, y = IRIS
    found = evaluate(bayes, X, y, metrics=["accuracy", "f1", "roc_auc", "brier"], outer=3)
    theirs = cross_validate(
        bayes, X, y, cv=found.splits, scoring=["accuracy", "f1_macro"]
    )  # the splits are plain index pairs
    np.testing.assert_allclose(found.scores["accuracy"].folds, theirs["test_accuracy"])
    np.testing.assert_allclose(found.scores["f1"].folds, theirs["test_f1_macro"])
    assert list(evaluate(bayes, X, y, outer=3).scores) == ["accuracy", "log_loss"]
    assert list(evaluate(LinearSVC(), X, y, outer=3).scores) == ["accuracy"]
    assert list(evaluate(LinearSVC(), X[:100], y[:100], outer=3).scores) == ["accuracy", "roc_auc"]


def test_multiclass_ranking_uses_what_is_comparable_between_rows():
    """A multinomial model with a row's decision values shifted together is the same model, and has the same area."""
    X, y = IRIS
    names = ["roc_auc", "average_precision"]
    result = evaluate(gm.LogisticRegression(alpha=1e-3), X, y, metrics=[*names, "log_loss"])
    p = result.probabilities
    assert result.scores["roc_auc"].pooled.value == pytest.approx(roc_auc_score(y, p, multi_class="ovr"), rel=1e-12)
    assert result.scores["average_precision"].pooled.value == pytest.approx(
        average_precision_score(y[:, None] == np.arange(3), p), rel=1e-12
    )
    assert result.scores["roc_auc"].mean > 0.99

    class Shifted(LinearSVC):
        def decision_function(self, X):
            return 7.0 * super().decision_function(X) + 100.0 * X[:, :1]

    plain, shifted = (evaluate(kind(random_state=0), X, y, metrics=names) for kind in (LinearSVC, Shifted))
    for name in names:
        np.testing.assert_allclose(plain.scores[name].folds, shifted.scores[name].folds, rtol=1e-12)
    curve = gm.selection.curves(Shifted(), X, y, metric="roc_auc", values=[1.0])
    assert curve.validation.mean[0] > 0.95


def test_ranking_of_classes_that_a_training_part_lacks():
    X, y = IRIS
    order = np.r_[np.arange(0, 150, 2), np.arange(1, 150, 2)]
    X, y = X[order], y[order]
    train = np.flatnonzero(y != 1)[:40]
    pairs = [(train, np.setdiff1d(np.arange(150), train))]
    for model in (LinearSVC(), LogisticRegression(), DecisionTreeClassifier()):
        value = evaluate(model, X, y, outer=pairs, metrics="roc_auc").scores["roc_auc"].mean
        assert 0.6 < value < 0.84  # a half for the class not seen, and at most 1 for the others


def test_decision_values_of_pairs_are_refused():
    X, y = IRIS
    model = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo"))
    with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
        evaluate(model, X, y, metrics="roc_auc")


def test_ranking_by_a_model_with_an_infinite_threshold():
    X, y = CANCER
    model = gm.TunedThreshold(make_pipeline(StandardScaler(), GaussianNB()), objective="recall", cv=3)
    plain = evaluate(make_pipeline(StandardScaler(), GaussianNB()), X, y, metrics="roc_auc", inner=None)
    tuned = evaluate(model, X, y, metrics="roc_auc", inner=None)
    np.testing.assert_allclose(tuned.scores["roc_auc"].folds, plain.scores["roc_auc"].folds, rtol=1e-12)


def test_folds_by_number():
    X, y = DIABETES
    regression = evaluate(LinearRegression(), X, y, outer=4, random_state=7).splits
    for (_, ours), (_, test) in zip(regression, gm.selection.KFold(4, random_state=7).split(X), strict=True):
        np.testing.assert_array_equal(ours, test)
    X, y = IRIS
    for _, test in evaluate(DummyClassifier(), X, y, outer=5).splits:
        np.testing.assert_array_equal(np.bincount(y[test]), [10, 10, 10])


def test_the_interval_is_the_corrected_one():
    X, y = DIABETES
    found = evaluate(LinearRegression(), X, y, outer=KFold(5), interval=0.9)
    score = found.scores["mse"]
    sizes = [(len(test), len(train)) for train, test in found.splits]
    ratio = np.mean([a / b for a, b in sizes])
    assert score.mean == pytest.approx(score.folds.mean())
    assert repr(score) == f"mse {score.mean:.5g} ({score.low:.5g} to {score.high:.5g})"
    assert score.se == pytest.approx(np.sqrt((1 / 5 + ratio) * score.folds.var(ddof=1)))
    plain = ttest_1samp(score.folds, 0.0).confidence_interval(0.9)
    wider = score.se / np.sqrt(score.folds.var(ddof=1) / 5)
    assert score.high - score.mean == pytest.approx((plain.high - score.mean) * wider)
    assert score.low == pytest.approx(2 * score.mean - score.high)
    accuracy = evaluate(bayes, *CANCER, outer=3).scores["accuracy"]
    assert accuracy.high <= 1.0
    pooled = gm.metrics.mse(y, found.predictions, interval=0.9)
    np.testing.assert_allclose(score.pooled, pooled)


def test_corrected_p_values():
    folds = np.array([0.3, -0.1, 0.4, 0.2])
    plain = ttest_1samp(folds, 0.0)
    assert fold_mean(folds, 0.0, 0.95).p == pytest.approx(plain.pvalue)
    np.testing.assert_allclose(
        [fold_mean(folds, 0.0, 0.95).low, fold_mean(folds, 0.0, 0.95).high], plain.confidence_interval(0.95)
    )
    assert fold_mean(folds, 0.25, 0.95).p > plain.pvalue
    assert fold_mean(np.zeros(3), 0.25, 0.95).p == 1.0
    assert fold_mean(np.ones(3), 0.25, 0.95).p == 0.0
    assert np.isnan(fold_mean(np.ones(1), 0.25, 0.95).se)


def test_corrected_intervals_cover_better_than_plain_ones():
    """Coverage of the true error of least squares by 5-fold intervals, over 200 data sets."""
    rng = np.random.default_rng(0)
    n, d = 30, 3
    truth = 1.0 + np.mean([_excess(rng, 24, d) for _ in range(2000)])
    wide = plain = 0
    for _ in range(200):
        X, y = _noise(rng, n, d)
        folds = np.array([_fold_error(X, y, train, test) for train, test in gm.selection.KFold(5).split(X)])
        for ratio in (0.25, 0.0):
            found = fold_mean(folds, ratio, 0.8)
            inside = found.low <= truth <= found.high
            wide, plain = (wide + inside, plain) if ratio else (wide, plain + inside)
    assert plain / 200 < wide / 200
    assert wide / 200 > 0.75


def _noise(rng, n, d):
    return np.column_stack([np.ones(n), rng.standard_normal((n, d - 1))]), rng.standard_normal(n)


def _excess(rng, n, d):
    X, y = _noise(rng, n, d)
    return np.sum(np.linalg.lstsq(X, y, rcond=None)[0] ** 2)  # columns of variance 1, or the constant


def _fold_error(X, y, train, test):
    return np.mean((y[test] - X[test] @ np.linalg.lstsq(X[train], y[train], rcond=None)[0]) ** 2)


def test_leave_one_out_and_metrics_that_need_more_than_a_row():
    X, y = DIABETES[0][:40], DIABETES[1][:40]
    found = evaluate(Ridge(0.1), X, y, outer="loo")
    errors = (y - cross_val_predict(Ridge(0.1), X, y, cv=40)) ** 2
    np.testing.assert_allclose(found.scores["mse"].folds, errors)
    assert found.scores["mse"].mean == pytest.approx(errors.mean())
    r2 = found.scores["r2"]
    assert np.isnan(r2.folds).all()
    assert r2.mean == r2.pooled.value == pytest.approx(1 - errors.mean() / y.var())
    assert (r2.low, r2.high) == r2.pooled[1:]
    assert "r2 is not defined in every fold" in str(found)
    assert "and 30 folds more" in str(evaluate(gm.Ridge(alphas=[1.0, 0.1]), X, y, outer="loo"))
    w = np.random.default_rng(0).integers(1, 4, 40)
    weighted = evaluate(Ridge(0.1), X, y, outer="loo", sample_weight=w).scores["mse"]
    assert weighted.mean == pytest.approx(np.average(weighted.folds, weights=w))


def test_a_fold_with_one_class():
    X, y = CANCER[0][:60], np.repeat([0, 1], 30)
    found = evaluate(DummyClassifier(), X, y, outer=KFold(3), metrics=["roc_auc", "accuracy"])
    assert np.isnan(found.scores["roc_auc"].folds[[0, 2]]).all()
    assert found.scores["roc_auc"].mean == found.scores["roc_auc"].pooled.value
    with pytest.raises(ValueError) as caught:
        evaluate(DummyClassifier(), X, y, outer=[(np.arange(30, 60), np.arange(20))] * 2, metrics="roc_auc")
    assert "outer fold 0" in caught.value.__notes__[0]


def test_a_class_that_a_training_part_lacks_has_probability_zero():
    X, y = IRIS
    pairs = [(np.arange(100), np.arange(100, 150))]
    found = evaluate(LogisticRegression(max_iter=1000), X, y, outer=pairs, metrics=["log_loss", "accuracy"])
    np.testing.assert_array_equal(found.probabilities[100:, 2], 0.0)
    assert np.isnan(found.probabilities[:100]).all()
    assert found.scores["accuracy"].mean == 0.0
    assert found.predictions[0] is None
    assert np.isnan(found.scores["accuracy"].se)


@pytest.mark.parametrize(
    "cv", [RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), ShuffleSplit(4, random_state=0)]
)
def test_rows_tested_more_than_once_have_no_pooled_score(cv):
    found = evaluate(LinearRegression(), *DIABETES, outer=cv)
    assert found.predictions is None
    assert found.scores["mse"].pooled is None
    assert len(found.scores["mse"].folds) == cv.get_n_splits()


def test_rows_never_tested_have_no_prediction():
    found = evaluate(LinearRegression(), *DIABETES, outer=TimeSeriesSplit(3))
    tested = np.concatenate([test for _, test in found.splits])
    assert np.isnan(found.predictions).sum() == 442 - len(tested)


# Inner choices


def test_nested_cross_validation_is_that_of_scikit_learn():
    X, y = CANCER
    outer, inner = StratifiedKFold(3, shuffle=True, random_state=0), StratifiedKFold(4, shuffle=True, random_state=1)
    grid = {"gaussiannb__var_smoothing": [1e-3, 0.1, 10.0]}
    found = evaluate(GridSearchCV(bayes, grid), X, y, outer=outer, inner=inner, metrics="accuracy")
    theirs = cross_validate(GridSearchCV(bayes, grid, cv=inner), X, y, cv=outer, return_estimator=True)
    np.testing.assert_allclose(found.scores["accuracy"].folds, theirs["test_score"])
    assert [choice["best_params_"] for choice in found.choices] == [m.best_params_ for m in theirs["estimator"]]


def test_choices_of_our_models():
    X, y = DIABETES
    found = evaluate(gm.Ridge(), X, y, outer=KFold(3), inner=4, keep_models=True)
    for (train, test), choice, model in zip(found.splits, found.choices, found.models, strict=True):
        expected = gm.Ridge(cv=4).fit(X[train], y[train])
        assert choice == {"alpha_": expected.alpha_}
        assert model.alpha_ == expected.alpha_
        np.testing.assert_allclose(found.predictions[test], expected.predict(X[test]))
    assert evaluate(gm.Ridge(0.1), X, y).choices[0] == {}


def test_choices_inside_of_pipelines_and_wrappers():
    X, y = DIABETES
    greedy = gm.selection.GreedySelector(gm.LinearRegression())
    model = make_pipeline(StandardScaler(), greedy, gm.Ridge(cv="loo"))
    found = evaluate(model, X, y, outer=3, inner=3)
    choice = found.choices[0]
    assert set(choice) == {
        "greedyselector__order_",
        "greedyselector__n_features_",
        "greedyselector__support_",
        "ridge__alpha_",
    }
    assert choice["greedyselector__support_"].sum() == choice["greedyselector__n_features_"]
    assert found.notes == ["ridge__cv was 'loo', here 3; inner=None keeps the model's own."]
    kept = evaluate(model, X, y, outer=3, inner=None)
    train = kept.splits[0][0]
    assert kept.choices[0]["ridge__alpha_"] == clone(model).fit(X[train], y[train])[-1].alpha_
    assert kept.notes == []
    text = str(found)
    assert "ridge__alpha_" in text
    assert re.search(r"^mse +\d", text, re.M)


def test_choices_of_all_kinds():
    X, y = CANCER[0][:, :4], CANCER[1]
    model = LogisticRegressionCV(
        Cs=2, l1_ratios=(0.0,), scoring="accuracy", cv=2, penalty="elasticnet", solver="saga", max_iter=10**4
    )
    if "use_legacy_attributes" in model.get_params():  # scikit-learn 1.8
        model.set_params(use_legacy_attributes=False, penalty="deprecated", solver="lbfgs")
    chosen = choices_of(model.fit(X[:60, :2] / 50, y[:60]))
    assert {"C_", "l1_ratio_"} <= set(chosen)
    assert "best_threshold_" in choices_of(TunedThresholdClassifierCV(GaussianNB()).fit(X, y))
    assert choices_of(SVC().fit(X, y)) == {}  # its support_ are rows
    union = FeatureUnion([("best", SelectKBest(k=2)), ("all", StandardScaler())]).fit(X, y)
    assert list(choices_of(union)) == ["best__support_"]
    columns = ColumnTransformer([("first", SelectKBest(k=1), [0, 1])], remainder="drop").fit(X, y)
    assert choices_of(columns)["first__support_"].sum() == 1
    turned = TransformedTargetRegressor(LassoCV(alphas=5, eps=0.1)).fit(*FEW)
    assert list(choices_of(turned)) == ["regressor__alpha_"]
    searched = GridSearchCV(LassoCV(eps=0.1), {"alphas": [3, 5]}, cv=2).fit(*FEW)
    assert set(choices_of(searched)) == {"best_params_", "estimator__alpha_"}
    grid = np.linspace(0, 6, 20)[:, None]
    process = GaussianProcessRegressor(RBF(1.0), alpha=1e-2).fit(grid, np.sin(grid[:, 0]))
    assert list(choices_of(process)) == ["kernel_"]
    assert text_of(process.kernel_).startswith("RBF")


def test_a_grid_beside_its_choice():
    class Model(BaseEstimator):
        def __init__(self, alpha=(1.0, 2.0)):
            self.alpha = alpha

    model = Model(np.array([1.0, 2.0]))
    model.alpha_ = np.array([1.0, 2.0, 3.0])
    assert list(choices_of(model)) == ["alpha_"]


def test_text_of_choices():
    assert text_of(np.arange(10) > 0) == "9 chosen"
    assert text_of(np.array([True, False, True])) == "[0, 2]"
    assert text_of(np.arange(12.0)) == "[0, 1, 2, 3, 4, 5, 6, 7, …]"
    assert text_of(np.array(2.5)) == "2.5"
    assert text_of({"C": 1.0, "kernel": "rbf"}) == "C=1, kernel=rbf"


def test_same_random_state_same_numbers():
    X, y = DIABETES
    model = DecisionTreeRegressor(splitter="random", max_depth=3)
    a, b, c = (evaluate(model, X, y, random_state=seed).scores["mse"].folds for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()
    assert model.random_state is None
    pairs = list(KFold(3).split(X))
    for state in (None, np.random.default_rng(0), np.random.RandomState(0)):
        assert np.isfinite(evaluate(model, X, y, outer=pairs, random_state=state).scores["mse"].mean)
    with gm.threads(1):
        one = evaluate(gm.Ridge(), X, y, outer=3)
    two = evaluate(gm.Ridge(), X, y, outer=3)
    np.testing.assert_array_equal(one.predictions, two.predictions)


# Data of all kinds


def test_kinds_of_tables_agree():
    X, y = DIABETES
    names = [f"c{j}" for j in range(10)]
    frame = pd.DataFrame(X, columns=names)
    expected = evaluate(gm.Ridge(0.01), X, y, outer=3)
    for table, target in [
        (frame, pd.Series(y, index=np.arange(442)[::-1])),
        (pl.DataFrame(X, schema=names), pl.Series(y)),
        (pl.LazyFrame(X, schema=names), y),
        (sp.coo_matrix(X), y),
        (sp.csc_array(X), y),
        (X.tolist(), y.tolist()),
        (np.asfortranarray(X), y.astype(object)),
        (gm.scan(frame, y), None),
        (X, y[:, None]),
    ]:
        found = evaluate(gm.Ridge(0.01), table, target, outer=3)
        np.testing.assert_allclose(found.predictions.ravel(), expected.predictions, rtol=1e-8)
    single = evaluate(gm.Ridge(0.01), X.astype(np.float32), y.astype(np.float32), outer=3)
    assert single.scores["mse"].mean == pytest.approx(expected.scores["mse"].mean, rel=1e-3)


def test_frames_stay_frames():
    frame = pd.DataFrame({"a": np.arange(40.0), "b": list("xy") * 20})
    y = np.arange(40.0) + np.tile([0.0, 5.0], 20)
    from sklearn.preprocessing import OneHotEncoder

    encoder = ColumnTransformer([("b", OneHotEncoder(sparse_output=False), ["b"])], remainder="passthrough")
    found = evaluate(make_pipeline(encoder, LinearRegression()), frame, y, outer=4)
    np.testing.assert_allclose(found.predictions, y, atol=1e-9)
    assert evaluate(make_pipeline(encoder, LinearRegression()), pl.DataFrame(frame.to_dict("list")), y).scores[
        "r2"
    ].mean == pytest.approx(1.0)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"])[CANCER[1]],
        np.array(["no", "yes"], dtype=object)[CANCER[1]],
        CANCER[1].astype(bool),
        CANCER[1].astype(float),
        pd.Series(["no", "yes"])[CANCER[1]],
        pd.Categorical(np.array(["no", "yes"])[CANCER[1]]),
        pl.Series(np.array(["no", "yes"])[CANCER[1]]),
    ],
    ids=["text", "object", "bool", "float", "series", "categorical", "polars"],
)
def test_labels_of_all_kinds(labels):
    expected = evaluate(bayes, *CANCER, outer=3)
    found = evaluate(bayes, CANCER[0], labels, outer=3)
    for name in ("accuracy", "log_loss", "roc_auc"):
        np.testing.assert_allclose(found.scores[name].folds, expected.scores[name].folds)
    if not isinstance(labels, pd.Categorical):
        rows = evaluate(bayes, gm.scan(CANCER[0], labels), outer=3)
        np.testing.assert_allclose(rows.scores["roc_auc"].folds, expected.scores["roc_auc"].folds)


class Strings(RegressorMixin, BaseEstimator):
    """Predicts a number from the lengths of strings: rows that are no table."""

    def fit(self, X, y):
        self.mean_ = {len(text): np.mean([b for a, b in zip(X, y, strict=True) if len(a) == len(text)]) for text in X}
        return self

    def predict(self, X):
        return np.array([self.mean_.get(len(text), 0.0) for text in X])


@pytest.mark.parametrize("kind", [list, lambda texts: np.array(texts), lambda texts: [list(text) for text in texts]])
def test_rows_that_are_objects(kind):
    texts = ["ab", "abc", "a"] * 8
    found = evaluate(Strings(), kind(texts), np.array([len(text) for text in texts], dtype=float), outer=4)
    assert found.scores["mse"].mean == 0.0


def test_a_kernel_matrix_is_cut_on_both_sides():
    X, y = IRIS
    K = X @ X.T
    linear = evaluate(SVC(kernel="linear"), X, y, outer=3)
    given = evaluate(SVC(kernel="precomputed"), K, y, outer=3)
    np.testing.assert_array_equal(linear.predictions, given.predictions)
    w = (np.arange(150) % 5 > 0).astype(float)
    linear = evaluate(SVC(kernel="linear"), X, y, outer=3, sample_weight=w)
    given = evaluate(SVC(kernel="precomputed"), K, y, outer=3, sample_weight=w)
    assert given.scores["accuracy"].mean == linear.scores["accuracy"].mean
    held = HoldOut(K, y)
    train, target = held.train
    assert held.open(SVC(kernel="precomputed").fit(train[:, held.rows], target)).scores["accuracy"].value > 0.8


def test_several_targets():
    X, y = DIABETES
    Y = np.column_stack([y, 2 * y])
    found = evaluate(LinearRegression(), X, Y, outer=3)
    one = evaluate(LinearRegression(), X, y, outer=3)
    np.testing.assert_allclose(found.scores["mse"].folds, 2.5 * one.scores["mse"].folds)
    assert found.predictions.shape == (442, 2)
    assert compare(LinearRegression(), DummyRegressor(), X, Y, outer=3).rows.shape == (442,)


# Weights


def test_integer_weights_are_repetition_on_equal_folds():
    X, y = FEW
    w = np.random.default_rng(0).integers(0, 4, 90)
    fold = np.arange(90) % 3
    again = np.repeat(np.arange(90), w)
    pairs = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    repeated = [(np.flatnonzero(fold[again] != k), np.flatnonzero(fold[again] == k)) for k in range(3)]
    a = evaluate(gm.Ridge(0.01), X, y, sample_weight=w, outer=pairs)
    b = evaluate(gm.Ridge(0.01), X[again], y[again], outer=repeated)
    for name in ("mse", "mae", "r2"):
        np.testing.assert_allclose(a.scores[name].folds, b.scores[name].folds, rtol=1e-10)
        assert a.scores[name].low == pytest.approx(b.scores[name].low)
    assert np.isnan(a.predictions[w == 0]).all()
    one = compare(gm.Ridge(0.01), DummyRegressor(), X, y, sample_weight=w, outer=pairs)
    two = compare(gm.Ridge(0.01), DummyRegressor(), X[again], y[again], outer=repeated)
    assert one.p == pytest.approx(two.p)


def test_weight_zero_is_no_row():
    X, y = DIABETES
    w = (np.arange(442) % 4 > 0).astype(float)
    kept = np.flatnonzero(w)
    a = evaluate(gm.Ridge(), X, y, sample_weight=w, outer=4)
    b = evaluate(gm.Ridge(), X[kept], y[kept], outer=4)
    np.testing.assert_allclose(a.predictions[kept], b.predictions, rtol=1e-9)
    rows = evaluate(gm.Ridge(), gm.scan(X, y, sample_weight=w), outer=4)
    np.testing.assert_allclose(rows.predictions[kept], b.predictions, rtol=1e-9)


def test_weights_reach_steps_and_searches():
    X, y = DIABETES
    w = np.random.default_rng(0).integers(1, 5, 442)
    model = make_pipeline(StandardScaler(), Ridge(3.0))
    found = evaluate(model, X, y, sample_weight=w, outer=KFold(3))
    train, test = found.splits[0]
    expected = clone(model).fit(
        X[train], y[train], standardscaler__sample_weight=w[train], ridge__sample_weight=w[train]
    )
    np.testing.assert_allclose(found.predictions[test], expected.predict(X[test]))
    search = GridSearchCV(model, {"ridge__alpha": [0.1, 10.0]})
    assert weight_parameters(search) == ["standardscaler__sample_weight", "ridge__sample_weight"]
    assert np.isfinite(evaluate(search, X, y, sample_weight=w, outer=3).scores["mse"].mean)
    with config_context(enable_metadata_routing=True):
        asking = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), Ridge(3.0))
        asking[-1].set_fit_request(sample_weight=True)
        routed = evaluate(asking, X, y, sample_weight=w, outer=KFold(3))
    np.testing.assert_allclose(routed.predictions, found.predictions)
    assert weight_parameters(TransformedTargetRegressor(Ridge())) == ["sample_weight"]
    assert weight_parameters(make_pipeline(StandardScaler(), KNeighborsRegressor())) == []
    with pytest.raises(ValueError, match=r"KNeighborsRegressor.fit takes no sample_weight"):
        evaluate(KNeighborsRegressor(), X, y, sample_weight=w)


# Metrics


def test_metrics_as_functions_and_dicts():
    X, y = DIABETES

    def bias(y, prediction):
        return np.mean(prediction - y)

    found = evaluate(LinearRegression(), X, y, outer=3, metrics={"off": bias, "fit": "r2", "m": gm.metrics.mse})
    assert list(found.scores) == ["off", "fit", "m"]
    test = found.splits[0][1]
    assert found.scores["off"].folds[0] == pytest.approx(np.mean(found.predictions[test] - y[test]))
    assert np.isnan(found.scores["off"].pooled.low)
    assert found.scores["fit"].greater_is_better
    assert not found.scores["m"].greater_is_better
    assert list(evaluate(LinearRegression(), X, y, outer=3, metrics=[bias, gm.metrics.METRICS["mae"]]).scores) == [
        "bias",
        "mae",
    ]
    with pytest.raises(ValueError, match="metric bias takes no sample_weight"):
        evaluate(LinearRegression(), X, y, outer=3, metrics=bias, sample_weight=np.ones(442))


WRONG = [
    ({"model": None}, TypeError, "model is None; it must be an estimator"),
    ({"y": None}, ValueError, "target y is None"),
    ({"X": gm.scan(*DIABETES)}, ValueError, "bring their own target"),
    ({"X": gm.scan(DIABETES[0]), "y": None}, ValueError, "have no target"),
    ({"X": gm.moments(*DIABETES), "y": None}, ValueError, "Moments hold sums"),
    ({"X": 3.0}, TypeError, "X is 3.0"),
    ({"y": DIABETES[1][:9]}, ValueError, "X has 442 rows and y has 9"),
    ({"y": np.zeros((442, 1, 1))}, ValueError, "got shape"),
    ({"y": np.array(["a"] * 442)}, ValueError, r"y holds str_? values such as .*a regression needs numbers"),
    ({"y": np.where(np.arange(442) == 7, np.nan, 1.0)}, ValueError, "y contains NaN or infinity, first at row 7"),
    (
        {"model": DummyClassifier(), "y": np.array([None] + ["a", "b"] * 220 + ["a"], dtype=object)},
        ValueError,
        "first at row 0",
    ),
    ({"model": DummyClassifier(), "y": np.zeros(442)}, ValueError, "only one class, 0.0"),
    ({"sample_weight": np.eye(1, 442)[0]}, ValueError, "too few rows to try a model on: 1 of"),
    ({"sample_weight": -np.ones(442)}, ValueError, "negative at row 0"),
    ({"outer": 1}, ValueError, "outer is 1; the number of folds must be from 2 to the number of rows, 442"),
    ({"outer": 443}, ValueError, "outer is 443"),
    (
        {"X": np.zeros((20_001, 1)), "y": np.zeros(20_001), "outer": "loo"},
        ValueError,
        "20001 rows would need 20001 fits",
    ),
    ({"outer": "five"}, TypeError, "outer is 'five'"),
    ({"outer": 2.5}, TypeError, "outer is 2.5"),
    ({"outer": []}, ValueError, "gives no splits"),
    ({"outer": [3]}, TypeError, "Split 0 of outer is not a pair"),
    ({"outer": [([0, 1], [])]}, ValueError, "Split 0 of outer has no test rows"),
    ({"outer": [([0, 1], [1, 2])]}, ValueError, "has row 1 in both"),
    ({"outer": [([0, 1], [442])]}, ValueError, "beyond the 442"),
    ({"outer": GroupKFold(3)}, ValueError, "groups"),
    ({"inner": 1}, ValueError, "inner is 1"),
    ({"interval": 95}, ValueError, "interval is 95"),
    ({"interval": 1.0}, ValueError, "interval is 1.0"),
    ({"metrics": "msee"}, ValueError, "no metric 'msee'; did you mean 'mse'"),
    ({"metrics": []}, ValueError, "at least one metric"),
    ({"metrics": ["mse", "mse"]}, ValueError, "none twice"),
    ({"metrics": [3]}, TypeError, "A metric is 3"),
    ({"metrics": "accuracy"}, ValueError, "accuracy is of labels, and a regressor gives numbers"),
    ({"metrics": "confusion"}, ValueError, "confusion is not one number"),
    ({"model": DummyClassifier(), "y": np.arange(442) % 2, "metrics": "mse"}, ValueError, "a classifier gives classes"),
    (
        {"model": LinearSVC(), "y": np.arange(442) % 2, "metrics": "log_loss"},
        ValueError,
        "LinearSVC has no predict_proba",
    ),
    (
        {"model": DummyClassifier(), "y": np.r_[np.zeros(439), 1, 1, 1]},
        ValueError,
        r"Class 1.0 has 3 rows, and outer=5 folds need at least 5 of every class: use fewer folds, or give outer=gm",
    ),
    ({"random_state": "one"}, ValueError, "random_state is 'one'"),
]


@pytest.mark.parametrize(("change", "kind", "message"), WRONG)
def test_wrong_input_is_named(change, kind, message):
    given = {"model": LinearRegression(), "X": DIABETES[0], "y": DIABETES[1], **change}
    with pytest.raises(kind, match=message):
        evaluate(given.pop("model"), given.pop("X"), given.pop("y"), **given)


def test_errors_of_models_and_splitters_say_where():
    X, y = IRIS
    with pytest.raises(ValueError) as caught:
        evaluate(LogisticRegression(), X, y, outer=[(np.arange(50), np.arange(50, 150))])
    assert caught.value.__notes__ == ["LogisticRegression was being fitted to 50 rows: outer fold 0."]
    with pytest.raises(ValueError) as caught:
        evaluate(LogisticRegression(), X, y, outer=GroupKFold(3))
    assert "list(splitter.split(X, y, groups))" in caught.value.__notes__[0]
    groups = np.arange(150) % 30
    found = evaluate(KNeighborsClassifier(), X, y, outer=list(GroupKFold(3).split(X, y, groups)))
    for train, test in found.splits:
        assert not set(groups[train]) & set(groups[test])


# Comparison


def test_compare_is_the_corrected_paired_test():
    X, y = DIABETES
    found = compare(Ridge(1.0), LinearRegression(), X, y, outer=KFold(4))
    a, b = (evaluate(model, X, y, outer=KFold(4)) for model in (Ridge(1.0), LinearRegression()))
    folds = a.scores["mse"].folds - b.scores["mse"].folds
    np.testing.assert_allclose(found.folds, folds)
    np.testing.assert_allclose(found.rows, (y - a.predictions) ** 2 - (y - b.predictions) ** 2)
    expected = fold_mean(folds, np.mean([len(test) / len(train) for train, test in a.splits]), 0.95)
    assert (found.difference, found.low, found.high, found.p) == pytest.approx(
        (expected.mean, expected.low, expected.high, expected.p)
    )
    assert found.mcnemar is None
    swapped = compare(LinearRegression(), Ridge(1.0), X, y, outer=KFold(4))
    assert swapped.difference == -found.difference
    assert swapped.p == pytest.approx(found.p)
    assert compare(Ridge(1.0), LinearRegression(), X, y, metric="mae").metric == "mae"


@pytest.mark.parametrize("metric", [None, "error_rate"])
def test_compare_classifiers(metric):
    X, y = CANCER
    labels = np.array(["no", "yes"])[y]
    found = compare(bayes, DummyClassifier(), X, labels, metric=metric)
    assert found.better == "a"
    assert found.p < 0.01
    good, bad = (part.predictions == labels for part in found.evaluations)
    only_a, only_b = int((good & ~bad).sum()), int((bad & ~good).sum())
    assert (found.mcnemar.only_a, found.mcnemar.only_b) == (only_a, only_b)
    assert found.mcnemar.p == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)
    np.testing.assert_array_equal(found.rows, bad.astype(float) - good)
    assert "a (Pipeline) is better" in str(found)
    assert compare(DummyClassifier(), bayes, X, labels, metric=metric).better == "b"


def test_mcnemar_exact_for_few_rows():
    X, y = IRIS
    found = compare(DecisionTreeClassifier(random_state=0), KNeighborsClassifier(), X, y)
    pair = found.mcnemar
    total = int(pair.only_a + pair.only_b)
    assert pair.p == pytest.approx(binomtest(int(pair.only_a), total).pvalue)
    assert found.better is None
    assert "no clear difference" in str(found)
    same = compare(DummyClassifier(), DummyClassifier(), X, y)
    assert (same.difference, same.p, same.mcnemar.p, same.better) == (0.0, 1.0, 1.0, None)
    w = np.full(150, 0.7)
    assert compare(DecisionTreeClassifier(random_state=0), DummyClassifier(), X, y, sample_weight=w).mcnemar is None
    assert compare(KNeighborsClassifier(), DummyClassifier(), X, y, metric="log_loss").rows is None


def test_compare_when_rows_are_tested_twice_or_alone():
    X, y = DIABETES[0][:40], DIABETES[1][:40]
    repeated = compare(Ridge(1.0), DummyRegressor(), X, y, outer=RepeatedKFold(n_splits=3, n_repeats=2, random_state=0))
    assert repeated.rows is None
    alone = compare(Ridge(1.0), DummyRegressor(), X, y, outer="loo")
    assert alone.difference == pytest.approx(alone.rows.mean())
    with pytest.raises(ValueError, match="r2 is not defined in outer fold 0"):
        compare(Ridge(1.0), DummyRegressor(), X, y, outer="loo", metric="r2")


def test_compare_says_what_is_wrong():
    X, y = DIABETES
    with pytest.raises(TypeError, match="model_b is 3"):
        compare(Ridge(), 3, X, y)
    with pytest.raises(ValueError, match="One of the models is a classifier"):
        compare(Ridge(), DummyClassifier(), X, y)
    with pytest.raises(TypeError, match="by one metric"):
        compare(Ridge(), DummyRegressor(), X, y, metric=["mse", "mae"])


# The test set that opens once


def test_hold_out_opens_once():
    X, y = DIABETES
    held = HoldOut(X, y, share=0.25)
    train, target = held.train
    assert repr(held) == "<HoldOut: 331 rows to train on, 111 held out, closed>"
    model = gm.Ridge().fit(train, target)
    found = held.open(model)
    test = np.setdiff1d(np.arange(442), held.rows)
    np.testing.assert_array_equal(found.rows, test)
    np.testing.assert_allclose(found.predictions, model.predict(X[test]))
    assert found.scores["mse"] == pytest.approx(gm.metrics.mse(y[test], model.predict(X[test]), interval=0.95))
    assert "Ridge() on 111 rows held out" in str(found)
    for twin in (held, copy.copy(held), copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
        with pytest.raises(RuntimeError, match=r"opened on \d{4}-\d\d-\d\d at \d\d:\d\d UTC for Ridge\(\): mse"):
            twin.open(Ridge().fit(train, target))
    assert "opened for Ridge()" in repr(held)
    assert held.opened is found


def test_a_copy_is_the_same_test_set():
    held = HoldOut(*DIABETES)
    twin = copy.deepcopy(held)
    held.open(Ridge().fit(*held.train))
    assert twin.opened is held.opened


def test_nothing_seen_leaves_it_closed():
    held = HoldOut(*CANCER)
    with pytest.raises(NotFittedError, match=r"fit\(\*held.train\)"):
        held.open(LogisticRegression())
    with pytest.raises(TypeError, match="model is 3"):
        held.open(3)
    with pytest.raises(ValueError, match="no metric"):
        held.open(DummyClassifier().fit(*held.train), metrics="nothing")
    with pytest.raises(ValueError, match="features"):
        held.open(DecisionTreeClassifier().fit(np.zeros((9, 2)), np.arange(9) % 2))
    assert held.opened is None
    assert list(held.open(clone(bayes).fit(*held.train)).scores) == ["accuracy", "log_loss", "roc_auc"]


def test_hold_out_sees_models_that_were_fitted_from_rows():
    X, y = load_diabetes(return_X_y=True)
    held = HoldOut(X, y)
    with pytest.raises(ValueError, match="has seen the test set"):
        held.open(gm.Ridge(alpha=1.0).fit(gm.scan(X, y)))


def test_hold_out_is_the_same_every_time_and_stratified():
    X, y = IRIS
    a, b, c = (HoldOut(X, y, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a.rows, b.rows)
    assert (a.rows != c.rows).any()
    np.testing.assert_array_equal(np.bincount(y[a.rows]), [40, 40, 40])
    plain = HoldOut(X, y, stratify=False, random_state=4)
    assert len(set(np.bincount(y[plain.rows]))) > 1
    np.testing.assert_array_equal(HoldOut(X, y, shuffle=False).rows, np.arange(120))
    np.testing.assert_array_equal(HoldOut(X, np.array(["a", "b", "c"])[y], stratify=True).rows, a.rows)
    rare = np.r_[y[:-1], 9]  # one row of a class: cannot be in both parts
    assert len(HoldOut(X, rare).rows) == 120


def test_hold_out_takes_frames_rows_and_weights():
    X, y = DIABETES
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    w = np.r_[np.zeros(42), np.full(400, 2.0)]
    for held in (HoldOut(frame, y, sample_weight=w), HoldOut(gm.scan(frame, y, sample_weight=w))):
        table, target, weight = held.train
        assert len(table) == len(target) == len(weight) == 320
        assert held.rows.min() >= 42
        model = gm.Ridge().fit(table, target, sample_weight=weight)
        assert held.open(model).scores["r2"].value > 0.3
    assert isinstance(HoldOut(frame, y).train[0], pd.DataFrame)
    assert isinstance(HoldOut(pl.DataFrame(frame.to_dict("list")), y).train[0], pl.DataFrame)
    assert sp.issparse(HoldOut(sp.csr_matrix(X), y).train[0])
    both = HoldOut(X, np.column_stack([y, y]))
    assert both.open(LinearRegression().fit(*both.train)).predictions.shape == (89, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 0}, "share is 0"),
        ({"share": 1.5}, "share is 1.5"),
        ({"share": 0.999}, "leaves no rows to train on"),
        ({"stratify": "yes"}, "stratify is 'yes'"),
        ({"stratify": True}, "stratify=True needs at least 2 rows of every class"),
        ({"shuffle": False, "stratify": True}, "leave out stratify=True"),
    ],
)
def test_hold_out_says_what_is_wrong(change, message):
    with pytest.raises(ValueError, match=message):
        HoldOut(DIABETES[0], np.arange(442.0), **change)


LEAKING = [
    gm.Ridge(0.1),
    gm.LinearRegression(),
    gm.Lasso(0.1),
    gm.Regressor("huber", None, 0.0),
    gm.KNeighborsRegressor(),
    make_pipeline(StandardScaler(), gm.Ridge(0.1)),
    make_pipeline(StandardScaler(), KNeighborsRegressor()),
    GridSearchCV(gm.Ridge(), {"alpha": [0.1, 1.0]}, cv=3),
    KNeighborsRegressor(),
]


@pytest.mark.parametrize("model", LEAKING, ids=lambda model: " ".join(repr(model).split())[:60])
@pytest.mark.parametrize("frame", [False, True])
def test_a_model_that_has_seen_the_test_set_is_refused(model, frame):
    X, y = DIABETES
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]) if frame else X
    held = HoldOut(table, y)
    with pytest.raises(ValueError, match="has seen the test set"):
        held.open(clone(model).fit(table, y))
    assert held.opened is None
    assert held.open(clone(model).fit(*held.train)).scores["r2"].value < 1.0


def test_leaks_of_classifiers_sparse_tables_and_single_rows():
    X, y = CANCER
    held = HoldOut(X, y)
    model = gm.LogisticRegression(alpha=0.1)
    with pytest.raises(ValueError, match="has seen the test set"):
        held.open(clone(model).fit(X, y))
    few = np.append(held.rows, np.setdiff1d(np.arange(len(y)), held.rows)[:60])
    with pytest.raises(ValueError, match="has seen the test set"):
        held.open(clone(model).fit(X[few], y[few]))
    again = HoldOut(sp.csr_array(X), y)
    with pytest.raises(ValueError, match="has seen the test set"):
        again.open(clone(model).fit(sp.csr_array(X), y))
    assert again.open(clone(model).fit(*again.train)).scores["accuracy"].value > 0.8


@pytest.mark.parametrize(
    ("model", "compared"),
    [
        (gm.Ridge(0.1), 256),
        (make_pipeline(StandardScaler(), gm.Ridge(0.1)), 256),
        (KNeighborsRegressor(), 353),
        (Ridge(), 0),
        (make_pipeline(StandardScaler(), Ridge()), 0),
        (DummyRegressor(), 0),
    ],
    ids=repr,
)
def test_an_opening_claims_no_more_than_was_compared(model, compared):
    held = HoldOut(*DIABETES)
    opening = held.open(clone(model).fit(*(held.train if compared else DIABETES)))
    assert opening.compared == compared
    said = f"Leak: {compared} training rows" if compared else "Leak: not checked, for the model remembers none"
    assert said in str(opening)


def test_rows_that_occur_in_both_parts_are_no_leak():
    X = np.repeat(np.arange(10.0)[:, None], 20, axis=0)
    y = X[:, 0] % 2
    held = HoldOut(X, y)
    assert held.open(gm.KNeighborsClassifier(1).fit(*held.train)).scores["accuracy"].value == 1.0
