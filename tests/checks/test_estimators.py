"""Every public estimator: what theory says of weights, rows, columns and units."""

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

import gramian as gm
from checks.members import estimators, table
from gramian.kernels import Bilinear, Linear
from gramian.models.base.kernel_estimator import KernelEstimator
from gramian.models.base.linear_model import LinearModel

ALL = estimators()
LINEAR = [e for e in ALL if is_regressor(e) and isinstance(e, LinearModel)]
CLASSIFIERS = [e for e in ALL if is_classifier(e)]
WITH_SUMMARY = [e for e in ALL if hasattr(e, "summary") and (is_classifier(e) or is_regressor(e))]


def ids(estimator):
    return type(estimator).__name__


def fitted_numbers(model, X):
    return np.asarray(model.predict(X))


@pytest.mark.parametrize("estimator", LINEAR, ids=ids)
class TestLinear:
    def test_attributes_and_texts(self, estimator):
        X, y = table(0)
        model = clone(estimator).fit(X, y)
        assert model.certificate_.holds
        assert model.certificate_.value <= model.certificate_.tolerance
        assert "through" in str(model.certificate_)
        assert ":" in str(model.solver_)
        summary = model.summary()
        assert summary.coefficients["name"][0] == "intercept"
        assert len(summary.coefficients["estimate"]) == 5
        np.testing.assert_allclose(summary.coefficients["estimate"][1:], model.coef_)
        assert str(summary).startswith(type(model).__name__)
        assert repr(summary) == str(summary)
        assert "<table>" in summary._repr_html_()
        assert type(estimator).__name__ in repr(model)

    def test_every_source_gives_the_same_bits(self, estimator):
        X, y = table(1, n=80)
        names = ["a", "b", "c", "d"]
        reference = clone(estimator).fit(X, y)
        frame = pd.DataFrame(X, columns=names)
        whole = frame.assign(target=y)
        sources = [
            (np.asfortranarray(X), y),
            (frame, pd.Series(y, name="target")),
            (pl.DataFrame(X, schema=names), pl.Series("target", y)),
            (pa.table(dict(zip(names, X.T, strict=True))), y),
            (gm.scan(X, y),),
            (gm.scan(whole, target="target"),),
            (gm.scan(pl.from_pandas(whole), target="target"),),
        ]
        for source in sources:
            model = clone(estimator).fit(*source)
            np.testing.assert_array_equal(model.coef_, reference.coef_)
            assert model.intercept_ == reference.intercept_
        assert list(clone(estimator).fit(frame, y).feature_names_in_) == names

    def test_sparse_equals_dense(self, estimator):
        X = sp.random(120, 6, 0.4, format="csr", random_state=0)
        y = X @ np.arange(6.0) + np.random.default_rng(0).standard_normal(120)
        for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_array, sp.csr_array):
            a, b = clone(estimator).fit(kind(X), y), clone(estimator).fit(X.toarray(), y)
            np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(a.predict(kind(X)), b.predict(X.toarray()), rtol=1e-9)

    def test_weights_equal_repetition(self, estimator):
        X, y = table(2, n=90)
        w = np.random.default_rng(3).integers(0, 4, 90)
        given = clone(estimator)
        if "alpha" in given.get_params():
            given.set_params(alpha=0.05)
        a = clone(given).fit(X, y, sample_weight=w)
        b = clone(given).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-10)

    def test_float32_and_integers_and_read_only(self, estimator):
        rng = np.random.default_rng(0)
        X = rng.integers(-50, 50, (100, 4))
        y = X @ [1, 2, 0, -1] + rng.standard_normal(100)
        reference = clone(estimator).fit(X.astype(float), y)
        for kind in (np.int8, np.int32, np.int64, np.uint64, np.float32):
            given = (X + (50 if kind == np.uint64 else 0)).astype(kind)
            given.flags.writeable = False
            before = given.copy()
            model = clone(estimator).fit(given, y)
            np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-9)
            np.testing.assert_array_equal(given, before)

    def test_rows_in_another_order(self, estimator):
        X, y = table(4, n=70)
        given = clone(estimator)
        if "alpha" in given.get_params():
            given.set_params(alpha=0.05)
        order = np.random.default_rng(0).permutation(70)
        a, b = clone(given).fit(X, y), clone(given).fit(X[order], y[order])
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-10, atol=1e-12)

    def test_several_targets_are_each_fitted(self, estimator):
        X, Y = table(5, t=3)
        given = clone(estimator)
        if "alpha" in given.get_params():
            given.set_params(alpha=0.05)
        model = clone(given).fit(X, Y)
        assert model.coef_.shape == (3, 4)
        assert model.intercept_.shape == (3,)
        assert model.predict(X).shape == (60, 3)
        assert "target" in str(model.summary()) or isinstance(model, gm.TotalLeastSquares)
        if not isinstance(model, gm.TotalLeastSquares):  # fits its targets jointly
            for j in range(3):
                np.testing.assert_allclose(clone(given).fit(X, Y[:, j]).coef_, model.coef_[j], rtol=1e-9, atol=1e-12)

    def test_threads_give_the_same_bits(self, estimator):
        X, y = table(6, n=9000)
        found = []
        for count in (1, 2, 4):
            with gm.threads(count):
                found.append(clone(estimator).fit(X, y))
        for model in found[1:]:
            np.testing.assert_array_equal(model.coef_, found[0].coef_)
            assert model.intercept_ == found[0].intercept_

    def test_pickle_and_clone(self, estimator):
        X, y = table(7)
        model = clone(estimator).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert str(again.summary()) == str(model.summary())

    def test_fits_from_moments(self, estimator):
        X, y = table(8, n=200)
        given = clone(estimator)
        if "alpha" in given.get_params():
            given.set_params(alpha=0.05)
        if isinstance(given, gm.Regressor):
            with pytest.raises(ValueError, match="only the squared loss"):
                clone(given).set_params(loss="huber").fit(gm.moments(X, y))
        a, b = clone(given).fit(gm.moments(X, y)), clone(given).fit(X, y)
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-12)
        with pytest.raises(ValueError, match="their own target"):
            clone(given).fit(gm.moments(X, y), y)
        with pytest.raises(ValueError, match="no target"):
            clone(given).fit(gm.moments(X))

    def test_choosing_alpha_needs_rows(self, estimator):
        if "alpha" not in estimator.get_params():
            assert clone(estimator).fit(gm.moments(*table(0))).certificate_.holds  # nothing to choose
            return
        with pytest.raises(ValueError, match="needs the rows"):
            clone(estimator).fit(gm.moments(*table(0)))

    def test_missing_numbers_are_named(self, estimator):
        X, y = table(9)
        frame = pd.DataFrame(X.copy(), columns=["age", "bmi", "bp", "sex"])
        frame.loc[[3, 7], "bmi"] = np.nan
        with pytest.raises(ValueError, match=r"'bmi' \(2\).*first at row 3"):
            clone(estimator).fit(frame, y)
        model = clone(estimator).fit(X, y)
        bad = X.copy()
        bad[5, 2] = np.inf
        with pytest.raises(ValueError, match=r"column 2 .*first at row 5"):
            model.predict(bad)
        y[11] = np.nan
        with pytest.raises(ValueError, match="first is row 11"):
            clone(estimator).fit(X, y)

    def test_no_interval_without_theory(self, estimator):
        X, y = table(10)
        model = clone(estimator).fit(X, y)
        if hasattr(model, "noise_variance_"):
            found = model.predict(X, interval=0.9)
            assert (found.low < found.mean).all()
            assert (found.mean < found.high).all()
        else:
            with pytest.raises(ValueError, match="no prediction intervals"):
                model.predict(X, interval=0.9)


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")
@pytest.mark.parametrize("estimator", WITH_SUMMARY, ids=lambda e: type(e).__name__)
def test_p_values_under_a_penalty_say_what_they_do_not_contain(estimator):
    X, y = table(3)
    model = clone(estimator)
    if is_classifier(model):
        y = np.where(y > np.median(y), "a", "b")
    for alpha in (0.0, 0.1, "auto"):
        if alpha != "auto" and "alpha" in model.get_params():
            model.set_params(alpha=alpha)
        try:
            fitted = clone(model).fit(X, y)
        except ValueError:
            assert alpha == 0.0  # without a penalty some have no answer
            continue
        summary = fitted.summary()
        inner = getattr(fitted, "estimator_", fitted)
        penalised = hasattr(inner, "prior") or np.any(np.asarray(getattr(inner, "alpha_", 0.0)) > 0)
        if "p" in summary.coefficients:
            assert ("neither the bias of the p" in str(summary)) == penalised


def classes(seed, n=90, d=3, k=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.standard_normal((n, d)) + 1.5 * np.eye(k, d)[y] + 3.0
    return X, np.array(["low", "middle", "top", "very top"])[y]


def with_alpha(estimator):
    given = clone(estimator)
    return given.set_params(alpha=0.01) if "alpha" in given.get_params() else given


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")  # the perceptron on classes that overlap
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=ids)
class TestClassifiers:
    @pytest.mark.parametrize("k", [2, 3])
    def test_probabilities_agree_with_decisions(self, estimator, k):
        X, y = classes(0, k=k)
        model = clone(estimator).fit(X, y)
        p = model.predict_proba(X)
        assert p.shape == (90, k)
        assert ((p >= 0) & (p <= 1)).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
        predicted = model.predict(X)
        if type(estimator).__name__ != "TunedThreshold":  # whose point is to decide otherwise
            assert (model.classes_[p.argmax(axis=1)] == predicted).all()
        assert (predicted == y).mean() > 0.5
        assert predicted.dtype == model.classes_.dtype
        if hasattr(model, "decision_function"):
            assert model.decision_function(X).shape == ((90,) if k == 2 else (90, k))

    @pytest.mark.parametrize("k", [2, 3])
    def test_ranking_metrics_are_those_of_the_probabilities(self, estimator, k):
        X, y = classes(6, k=k)
        splits = list(StratifiedKFold(3).split(X, y))
        metrics = ["roc_auc", "average_precision", "log_loss"]
        with np.errstate(over="ignore"):
            result = gm.selection.evaluate(with_alpha(estimator), X, y, outer=splits, metrics=metrics, inner=None)
        p, labels = result.probabilities, result.classes
        for fold, (_, test) in enumerate(splits):
            truth = (y[test] == labels[1]) if k == 2 else y[test]
            scores = p[test, 1] if k == 2 else p[test]
            auc = roc_auc_score(truth, scores, multi_class="ovr", labels=None if k == 2 else labels)
            precision = average_precision_score(
                y[test, None] == labels[-1:] if k == 2 else y[test, None] == labels, scores
            )
            np.testing.assert_allclose(result.scores["roc_auc"].folds[fold], auc, rtol=1e-10)
            np.testing.assert_allclose(result.scores["average_precision"].folds[fold], precision, rtol=1e-10)

    def test_every_source_gives_the_same_answer(self, estimator):
        X, y = classes(1)
        names = ["a", "b", "c"]
        reference = clone(estimator).fit(X, y).predict_proba(X)
        frame = pd.DataFrame(X, columns=names)
        sources = [
            (np.asfortranarray(X), y),
            (frame, pd.Series(y, name="species")),
            (pl.DataFrame(X, schema=names), pl.Series("species", y)),
            (gm.scan(X, y),),
            (gm.scan(frame.assign(species=y), target="species"),),
        ]
        for source in sources:
            given = X if len(source) == 1 and not source[0].names else frame if len(source) == 1 else source[0]
            np.testing.assert_array_equal(clone(estimator).fit(*source).predict_proba(given), reference)

    def test_sparse_equals_dense(self, estimator):
        X, y = classes(2)
        X = np.where(np.abs(X) > 2.5, X, 0.0)
        given = with_alpha(estimator)
        a, b = clone(given).fit(sp.csr_array(X), y), clone(given).fit(X, y)
        if isinstance(estimator, gm.Perceptron):  # sparse columns are not centred: another path, as good an end
            assert a.score(X, y) > 0.5
            return
        np.testing.assert_allclose(a.predict_proba(sp.csr_array(X)), b.predict_proba(X), rtol=1e-5, atol=1e-7)

    def test_threads_give_the_same_bits(self, estimator):
        X, y = classes(3, n=3000)
        found = []
        for count in (1, 2, 4):
            with gm.threads(count):
                found.append(with_alpha(estimator).fit(X, y).predict_proba(X[:50]))
        for other in found[1:]:
            np.testing.assert_array_equal(other, found[0])

    def test_pickle_and_texts(self, estimator):
        X, y = classes(4)
        model = clone(estimator).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert type(estimator).__name__ in repr(model)
        if hasattr(model, "certificate_"):
            assert ":" in str(model.solver_)
            assert str(model.certificate_)
        if hasattr(model, "summary"):
            assert str(model.summary()) == str(again.summary())

    def test_one_class_and_missing_numbers_are_named(self, estimator):
        X, y = classes(5)
        with pytest.raises(ValueError, match="only one class"):
            clone(estimator).fit(X, np.full(90, "low"))
        X[4, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            clone(estimator).fit(X, y)


KERNEL = [
    e for e in ALL if "kernel" in e.get_params(deep=False) and "sample_weight" in inspect.signature(e.fit).parameters
]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("estimator", KERNEL, ids=ids)
def test_kernels_set_from_data_see_weights(estimator, kernel):
    """Weights are repetitions, and a row without weight is absent, whatever it holds."""
    X, y = table(3, n=40, d=3)
    y = (y > np.median(y)).astype(int) if is_classifier(estimator) else y
    weight = np.arange(40) % 3
    known = {"kernel": kernel, "alpha": 0.1, "n_clusters": 2, "init": "farthest", "n_neighbors": 3}
    given = clone(estimator).set_params(**{k: v for k, v in known.items() if k in estimator.get_params(deep=False)})
    X[weight == 0] = 1e6
    a = clone(given).fit(X, y, sample_weight=weight)
    b = clone(given).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(a.kernel_.length_scale, b.kernel_.length_scale, rtol=1e-12)
    if isinstance(estimator, gm.Perceptron):  # it depends on the order of the rows, which weights do not have
        return
    name = next((n for n in ("decision_function", "transform", "predict") if hasattr(a, n)), None)
    if name is None:
        np.testing.assert_array_equal(np.repeat(a.labels_, weight), b.labels_)
    else:
        Z = X[weight > 0]
        np.testing.assert_allclose(getattr(a, name)(Z), getattr(b, name)(Z), rtol=1e-7, atol=1e-9)


COEFFICIENTS = [e for e in ALL if isinstance(e, KernelEstimator) and not hasattr(e, "n_neighbors")]


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")  # a perceptron ends at its last pass
@pytest.mark.parametrize("estimator", COEFFICIENTS, ids=ids)
def test_coefficients_are_of_columns_or_absent(estimator):
    X, y = table(5, n=40, d=3)
    y = np.digitize(y, np.quantile(y, [0.3, 0.7])) if is_classifier(estimator) else y
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    known = estimator.get_params(deep=False)
    fixed = {"alpha": 0.1} if "alpha" in known else {}
    ranks = [{}, {"rank": 20}] if "rank" in known else [{}]
    M = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for rank in ranks:
        for kernel in ("linear", 0.5 * Linear() + Bilinear(M), Linear().on(["a", "c"]) + Linear().on("b")):
            model = clone(estimator).set_params(kernel=kernel, **fixed, **rank).fit(frame, y)
            f = model.decision_function(frame) if hasattr(model, "decision_function") else model.predict(frame)
            coef, intercept = model.coef_, model.intercept_
            assert coef.shape[-1] == 3
            if is_classifier(model):
                if model.multiclass_ != "joint":
                    continue
                f, coef = f - f.mean(axis=1, keepdims=True), coef - coef.mean(axis=0)
                intercept = intercept - intercept.mean()
            np.testing.assert_allclose(X @ coef.T + intercept, f, rtol=1e-7, atol=1e-7)
        model = clone(estimator).set_params(kernel="rbf", **fixed, **rank).fit(X, y)
        assert not hasattr(model, "coef_")
        with pytest.raises(AttributeError, match=r"has no coef_: its function is not linear.*dual_coef_"):
            _ = model.coef_
        with pytest.raises(ValueError, match="should have `coef_` or"):
            SelectFromModel(model, prefit=True).transform(X)
        assert np.isfinite(model.dual_coef_).all()
        model.predict(X)
        if not is_classifier(model) and "kernel" in inspect.signature(type(model)).parameters:
            total = sum(model.parts(X).values()) + model.intercept_
            if hasattr(model, "decision_function"):
                np.testing.assert_allclose(total, model.decision_function(X), rtol=1e-7, atol=1e-9)
            else:
                np.testing.assert_allclose(total, model.predict(X), rtol=1e-7, atol=1e-9)
    if known.get("kernel") is None:
        again = clone(estimator).set_params(**fixed).fit(X, y)
        assert again.coef_.shape[-1] == 3
