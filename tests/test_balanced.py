"""Balanced classes: what the inner estimator is given, against counting; weights as repetition; every kind of table."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import gramian as gm
from gramian.models.meta.balanced import METHODS, Balanced
from gramian.models.meta.base import row_keys


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was fitted to, and has what an estimator may have beside predictions."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.weight_ = X, np.asarray(y), sample_weight
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])

    def summary(self):
        return "a summary"

    def chart(self, kind=None, *, theme="light"):
        return kind, theme


class Unweighted(Recorder):
    def fit(self, X, y):
        return super().fit(X, y)


def data(n=(60, 25, 10), d=4, seed=0, labels=("a", "b", "c")):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array(labels[: len(n)]), n)
    X = rng.standard_normal((len(y), d)) + 2.0 * (y[:, None] == np.array(labels)[:1]) * np.arange(d)
    order = rng.permutation(len(y))
    return X[order], y[order]


WAYS = [("subsample", 0.0), ("upsample", 0.0), ("upsample", 0.2), ("cost", 0.0)]


def test_subsample_draws_without_replacement():
    X, y = data()
    model = Balanced(Recorder()).fit(X, y)
    given = model.estimator_
    assert given.weight_ is None
    np.testing.assert_array_equal(np.unique(given.y_, return_counts=True)[1], [10, 10, 10])
    places = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in given.X_]
    assert len(set(places)) == 30
    np.testing.assert_array_equal(y[places], given.y_)
    np.testing.assert_array_equal(model.counts_.before, [60, 25, 10])
    np.testing.assert_array_equal(model.counts_.after, [10, 10, 10])
    np.testing.assert_allclose(model.priors_, np.array([60, 25, 10]) / 95)


def test_upsample_keeps_all_rows_and_adds_copies():
    X, y = data()
    model = Balanced(Recorder(), "upsample").fit(X, y)
    given = model.estimator_
    np.testing.assert_array_equal(np.unique(given.y_, return_counts=True)[1], [60, 60, 60])
    kept, counts = np.unique(given.X_, axis=0, return_counts=True)
    np.testing.assert_array_equal(kept, np.unique(X, axis=0))
    assert counts.max() > 2
    np.testing.assert_array_equal(model.counts_.after, [60, 60, 60])


def test_cost_weights_by_the_formula():
    X, y = data()
    w = np.random.default_rng(1).integers(1, 4, len(y)) * 0.5
    model = Balanced(Recorder(), "cost").fit(X, y, sample_weight=w)
    for name in "abc":
        total = w[y == name].sum()
        np.testing.assert_allclose(model.estimator_.weight_[y == name], w[y == name] * w.sum() / (3 * total))
    np.testing.assert_allclose(model.counts_.after, w.sum() / 3)
    ours = Balanced(LogisticRegression(), "cost").fit(X, y).estimator_
    theirs = LogisticRegression(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)


def test_every_row_is_drawn_equally_often_and_by_weight():
    X, y = data((40, 10), seed=3)
    w = np.where(y == "a", np.arange(len(y)) % 4 + 1, 1).astype(float)
    draws = 200
    kept, added = np.zeros(len(y)), np.zeros(len(y))
    for seed in range(draws):
        given = Balanced(Recorder(), random_state=seed).fit(X, y, sample_weight=w).estimator_
        kept += [given.weight_[(row == given.X_).all(axis=1)].sum() for row in X]
        given = Balanced(Recorder(), "upsample", random_state=seed).fit(X, y).estimator_
        added += [(row == given.X_).all(axis=1).sum() - 1 for row in X]
    common, rare = y == "a", y == "b"
    share = w[common] * 10 / w[common].sum()
    np.testing.assert_array_less(np.abs(kept[common] / draws - share), 5 * np.sqrt(share / draws))
    assert (kept[rare] == draws).all()
    assert (added[common] == 0).all()
    np.testing.assert_array_less(np.abs(added[rare] / draws - 3.0), 5 * np.sqrt(3.0 / draws))


@pytest.mark.parametrize("inner", [LogisticRegression(tol=1e-10, max_iter=1000), GaussianNB(), KNeighborsClassifier(3)])
@pytest.mark.parametrize(
    ("method", "jitter"), [("subsample", 0.0), ("upsample", 0.0), ("upsample", 0.2), ("cost", 0.0)]
)
def test_weights_equal_repetition_in_any_order(inner, method, jitter):
    if method == "cost" and isinstance(inner, KNeighborsClassifier):
        pytest.skip("takes no weights")
    X, y = data(seed=5)
    w = np.random.default_rng(6).integers(0, 4, len(y))
    order = np.random.default_rng(7).permutation(len(y))
    a = Balanced(inner, method, jitter=jitter).fit(X[order], y[order], sample_weight=w[order])
    b = Balanced(inner, method, jitter=jitter).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(a.counts_.before, b.counts_.before)
    np.testing.assert_allclose(a.counts_.after, b.counts_.after)


def test_a_class_of_weight_zero_is_none():
    X, y = data()
    model = Balanced(LogisticRegression()).fit(X, y, sample_weight=(y != "b").astype(float))
    assert model.classes_.tolist() == ["a", "c"]
    with pytest.raises(ValueError, match="only one class: 'a'"):
        Balanced(LogisticRegression()).fit(X, y, sample_weight=(y == "a").astype(float))


@pytest.mark.parametrize("jitter", [0.0, 0.1])
def test_weights_that_are_not_whole(jitter):
    X, y = data(seed=8)
    w = np.random.default_rng(9).random(len(y)) + 0.01
    totals = np.array([w[y == name].sum() for name in "abc"])
    for method, goal in (("subsample", totals.min()), ("upsample", totals.max())):
        model = Balanced(Recorder(), method, jitter=jitter if method == "upsample" else 0.0)
        given = model.fit(X, y, sample_weight=w).estimator_
        found = [given.weight_[given.y_ == name].sum() for name in "abc"]
        np.testing.assert_allclose(found, goal)
        np.testing.assert_allclose(model.counts_.after, goal)
        assert (given.weight_ >= 0).all()
        if method == "subsample":
            places = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in given.X_]
            assert (given.weight_ <= w[places]).all()
            assert (given.weight_ < w[places]).sum() <= 2  # one cut row in each of the larger classes
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.fit takes no sample_weight.*not whole"):
        Balanced(KNeighborsClassifier(), "upsample").fit(X, y, sample_weight=w)


def test_jitter_is_a_share_of_the_deviation_and_leaves_rows_given_alone():
    rng = np.random.default_rng(10)
    X = np.column_stack([rng.normal(5.0, 3.0, 4100), rng.normal(0.0, 1e-5, 4100), np.full(4100, 7.0)])
    y = np.repeat(["common", "rare"], [4000, 100])
    given = Balanced(Recorder(), "upsample", jitter=0.1).fit(X, y).estimator_
    np.testing.assert_array_equal(given.X_[:4100], X)
    added = given.X_[4100:]
    assert len(added) == 3900
    assert (given.y_[4100:] == "rare").all()
    assert (added[:, 2] == 7.0).all()
    # Each row added is a row of the rare class plus noise: variances add up.
    for j in (0, 1):
        noise = 0.1 * X[:, j].std()
        expected = X[4000:, j].var() + noise**2
        assert abs(added[:, j].var() / expected - 1.0) < 0.15
        nearest = np.abs(added[:, j, None] - X[4000:, j]).min(axis=1)
        assert 0.0 < nearest.max() < 5 * noise
    weights = np.where(y == "rare", 1, 2)
    given = Balanced(Recorder(), "upsample", jitter=1e-3).fit(X, y, sample_weight=weights).estimator_
    assert given.weight_.sum() == 2 * 8000
    assert (given.weight_[4100:] == 1).all()


@pytest.mark.parametrize(
    ("method", "jitter"), [("subsample", 0.0), ("upsample", 0.0), ("upsample", 0.1), ("cost", 0.0)]
)
def test_every_table_gives_the_same_rows_and_keeps_its_kind(method, jitter):
    X, y = data(seed=11)
    X[X < -1.0] = 0.0
    names = ["p", "q", "r", "s"]
    frame = pd.DataFrame(X, columns=names)
    model = Balanced(LogisticRegression(), method, jitter=jitter)
    reference = clone(model).fit(X, y)
    whole = frame.assign(target=y)
    sources = [
        (frame, pd.Series(y)),
        (frame.set_index(np.arange(len(y)) * 3), pd.Series(y, dtype="category")),
        (pl.DataFrame(X, schema=names), pl.Series(y)),
        (pl.DataFrame(X, schema=names).lazy(), y),
        (pa.table(dict(zip(names, X.T, strict=True))), y),
        (gm.scan(whole, target="target"),),
        (gm.scan(pl.from_pandas(whole), target="target"),),
    ]
    for source in sources:
        found = clone(model).fit(*source)
        np.testing.assert_allclose(found.predict_proba(frame), reference.predict_proba(X), rtol=1e-9)
        assert list(found.feature_names_in_) == names
        assert found.n_features_in_ == 4
        assert found.classes_.tolist() == ["a", "b", "c"]
    found = clone(model).fit(gm.scan(X, y))
    np.testing.assert_allclose(found.predict_proba(gm.scan(X)), reference.predict_proba(X), rtol=1e-9)
    assert not hasattr(found, "feature_names_in_")
    kept = {type(clone(model).set_params(estimator=Recorder()).fit(*s).estimator_.X_) for s in sources[:3]}
    assert kept == {pd.DataFrame, pl.DataFrame}
    if not jitter:
        for kind in (sp.csr_matrix, sp.csc_array, sp.coo_array):
            found = clone(model).fit(kind(X), y)
            np.testing.assert_allclose(found.predict_proba(kind(X)), reference.predict_proba(X), rtol=1e-5)


def test_rows_with_weights_and_labels_that_are_numbers():
    X, _ = data(seed=12)
    y = np.repeat([3, 7], [80, 15])
    w = np.arange(95) % 3
    a = Balanced(LogisticRegression(), "upsample").fit(gm.scan(X, y, sample_weight=w))
    b = Balanced(LogisticRegression(), "upsample").fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert a.classes_.tolist() == [3, 7]
    assert a.classes_.dtype.kind == "i"


def test_numbers_of_any_type():
    rng = np.random.default_rng(13)
    X = rng.integers(-5, 5, (90, 3))
    y = rng.random(90) < 0.2
    reference = Balanced(LogisticRegression()).fit(X.astype(float), y)
    for kind in (np.int8, np.int64, np.float32, object):
        given = X.astype(kind)
        given.flags.writeable = False
        np.testing.assert_array_equal(Balanced(LogisticRegression()).fit(given, y).predict(given), reference.predict(X))
    for kind in (np.int8, np.float32):
        found = Balanced(Recorder(), "upsample", jitter=0.1).fit(X.astype(kind), y).estimator_.X_
        assert found.dtype == (np.float32 if kind == np.float32 else np.float64)
    frame = pd.DataFrame({"n": X[:, 0], "flag": X[:, 1] > 0})
    found = Balanced(Recorder(), "upsample", jitter=0.1).fit(frame, y).estimator_.X_
    assert found["flag"].nunique() > 2


def test_training_prior_undoes_the_balance():
    X, y = data(seed=14)
    # Naive Bayes estimates the density of each class apart from its frequency, so the correction is exact.
    reference = GaussianNB().fit(X, y)
    model = Balanced(GaussianNB(), "cost", prior="training").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    np.testing.assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))
    even = Balanced(GaussianNB(), "cost").fit(X, y)
    uniform = GaussianNB(priors=[1 / 3] * 3).fit(X, y)
    np.testing.assert_allclose(even.predict_proba(X), uniform.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(even.predict_log_proba(X), uniform.predict_log_proba(X), atol=1e-7)
    binary = Balanced(LogisticRegression(), prior="training").fit(X, y == "c")
    np.testing.assert_array_equal(binary.decision_function(X) > 0, binary.predict(X))
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        Balanced(LinearSVC(), prior="training").fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_one_in_ten_thousand_is_found(method):
    rng = np.random.default_rng(15)
    n, rare = 100_000, 10
    y = np.zeros(n, dtype=int)
    y[:rare] = 1
    X = rng.standard_normal((n, 3)) + 2.0 * y[:, None]
    fresh = rng.standard_normal((1000, 3)) + 2.0
    plain = LogisticRegression().fit(X, y).predict(fresh).mean()
    model = Balanced(LogisticRegression(), method).fit(X, y)
    assert plain < 0.3
    assert model.predict(fresh).mean() > 0.8
    assert model.predict(X[rare:]).mean() < 0.2


def test_pipelines_get_weights_in_every_step_that_takes_them():
    X, y = data(seed=16)
    w = np.random.default_rng(17).integers(1, 4, len(y))
    inner = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10)))
    for method in METHODS:
        a = Balanced(inner, method).fit(X, y, sample_weight=w)
        b = Balanced(inner, method).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-6)
    with pytest.raises(ValueError, match=r"Pipeline.fit takes no sample_weight"):
        Balanced(make_pipeline(StandardScaler(), KNeighborsClassifier()), "cost").fit(X, y)


def test_texts_are_rows_too():
    texts = ["good film", "great film", "fine film", "lovely day", "good day", "fine day", "bad film", "awful day"]
    y = ["+"] * 6 + ["-"] * 2
    inner = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = Balanced(inner, "upsample").fit(texts, y)
    assert model.predict(["bad film", "awful day"]).tolist() == ["-", "-"]
    assert Balanced(inner).fit(np.array(texts, dtype=object), y).counts_.after.tolist() == [2, 2]
    with pytest.raises(ValueError):
        Balanced(inner, "upsample", jitter=0.1).fit(texts, y)


def test_paths_searches_copies_and_what_is_inside(monkeypatch):
    X, y = make_classification(200, weights=[0.9], random_state=0)
    search = GridSearchCV(Balanced(LogisticRegression()), {"estimator__C": [0.1, 1.0], "method": ["subsample", "cost"]})
    assert search.fit(X, y).best_estimator_.estimator_.C in (0.1, 1.0)
    model = Balanced(Recorder()).fit(X, y)
    assert model.summary() == "a summary"
    assert model.chart("path", theme="dark") == ("path", "dark")
    monkeypatch.setattr(gm.charts, "chart", lambda *given, **options: (given, options))
    assert model.chart("confusion", X, y, theme="dark") == ((model, "confusion", X, y), {"theme": "dark"})
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "decision_function")
    assert not hasattr(Balanced(LogisticRegression()), "summary")
    assert not hasattr(Balanced(GaussianNB()), "decision_function")
    assert not hasattr(Balanced(LogisticRegression()), "classes_")
    model = Balanced(LinearSVC()).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_seeds():
    X, y = data(seed=18)

    def drawn(state):
        return Balanced(Recorder(), random_state=state).fit(X, y).estimator_.X_

    np.testing.assert_array_equal(drawn(0), drawn(None))
    np.testing.assert_array_equal(drawn(np.random.RandomState(3)), drawn(np.random.RandomState(3)))
    np.testing.assert_array_equal(drawn(np.random.default_rng(3)), drawn(np.random.default_rng(3)))
    assert not np.array_equal(drawn(1), drawn(2))
    for bad in (-1, "x", 1.5, True):
        with pytest.raises(ValueError, match="random_state is"):
            drawn(bad)


def test_keys_depend_on_content_alone():
    rng = np.random.default_rng(19)
    X = rng.integers(0, 3, (500, 8)).astype(float)
    keys = row_keys(X)
    distinct = len(np.unique(X, axis=0))
    assert len(np.unique(keys)) == distinct
    order = rng.permutation(500)
    np.testing.assert_array_equal(row_keys(X[order]), keys[order])
    np.testing.assert_array_equal(row_keys(sp.csc_array(X)), keys)
    np.testing.assert_array_equal(row_keys(pd.DataFrame(X)), keys)
    np.testing.assert_array_equal(row_keys(X.astype(np.int16)), keys)
    np.testing.assert_array_equal(row_keys(-X * -1.0), keys)
    words = np.array([["a", "b"], ["b", "a"], ["a", "b"]], dtype=object)
    found = row_keys(words)
    assert found[0] == found[2] != found[1]
    assert len(row_keys(np.zeros((3, 0)))) == 3


def test_kernel_matrices():
    X, y = data((30, 12), seed=20)
    K = X @ X.T
    model = Balanced(SVC(kernel="precomputed"), "cost").fit(K, y)
    np.testing.assert_array_equal(model.predict(K), Balanced(SVC(kernel="linear"), "cost").fit(X, y).predict(X))
    with pytest.raises(ValueError, match="cannot draw among them"):
        Balanced(SVC(kernel="precomputed")).fit(K, y)
    with pytest.raises(ValueError, match="weight 0 cannot be left out"):
        Balanced(SVC(kernel="precomputed"), "cost").fit(K, y, sample_weight=np.arange(42))


def test_many_copies_are_refused():
    X, y = data((5, 3))
    with pytest.raises(ValueError, match=r"5e\+09 rows, too many"):
        Balanced(Recorder()).fit(X, y, sample_weight=np.full(8, 1e9))
    with pytest.raises(ValueError, match=r"1.6e\+07 rows, too many"):
        Balanced(Unweighted(), "upsample").fit(X, y, sample_weight=np.where(y == "a", 1.6e6, 2.66e6))
    found = Balanced(LogisticRegression(), "cost").fit(X, y, sample_weight=np.full(8, 1e9))
    np.testing.assert_allclose(found.counts_.after, 4e9)


def test_parameters_and_data_that_cannot_be():
    X, y = data()
    for kind, match, options in [
        (ValueError, "method is 'smote'", {"method": "smote"}),
        (ValueError, "prior is 'flat'", {"prior": "flat"}),
        (ValueError, "jitter is -1", {"method": "upsample", "jitter": -1}),
        (TypeError, "jitter is 'x'", {"method": "upsample", "jitter": "x"}),
        (ValueError, "only 'upsample' adds rows", {"jitter": 0.1}),
        (TypeError, "must be a classifier", {"estimator": LinearRegression()}),
        (TypeError, "must be a classifier", {"estimator": "logistic"}),
        (
            ValueError,
            "takes no sample_weight, which method='cost' needs",
            {"estimator": Unweighted(), "method": "cost"},
        ),
    ]:
        with pytest.raises(kind, match=match):
            Balanced(**{"estimator": LogisticRegression(), **options}).fit(X, y)
    model = Balanced(LogisticRegression(), "upsample", jitter=0.1)
    with pytest.raises(ValueError, match="X is sparse, and jitter"):
        model.fit(sp.csr_array(X), y)
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(word="x")
    with pytest.raises(ValueError, match="Column 'word'"):
        model.fit(frame, y)
    with pytest.raises(ValueError, match=r"'q' \(1\).*first at row 4"):
        model.fit(frame[list("pqrs")].mask((frame.index == 4)[:, None] & (np.arange(4) == 1)), y)
    model = Balanced(LogisticRegression())
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X)
    with pytest.raises(ValueError, match="Moments have neither"):
        model.fit(gm.moments(X))
    with pytest.raises(ValueError, match="their own target"):
        model.fit(gm.scan(X, y), y)
    with pytest.raises(ValueError, match="no target"):
        model.fit(gm.scan(X))
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(X, X[:, 0])
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(gm.scan(X, X[:, 0]))
    with pytest.raises(ValueError, match="1d array"):
        model.fit(gm.scan(X, np.column_stack([y == "a", y == "b"])))
    with pytest.raises(ValueError, match="sample_weight is negative at row 2"):
        model.fit(X, y, sample_weight=np.where(np.arange(95) == 2, -1.0, 1.0))
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="first is row 1"):
        model.fit(X[:4], np.array(["a", None, "b", "a"], dtype=object))


@pytest.mark.parametrize("method", METHODS)
def test_around_our_own(method):
    X, y = data(seed=21)
    frame = pd.DataFrame(X, columns=["p", "q", "r", "s"])
    model = Balanced(gm.LogisticRegression(alpha=0.01), method).fit(gm.scan(frame.assign(target=y), target="target"))
    assert list(model.feature_names_in_) == ["p", "q", "r", "s"]
    assert str(model.summary()) == str(model.estimator_.summary())
    np.testing.assert_array_equal(model.predict(frame), model.estimator_.predict(frame))
    w = np.random.default_rng(22).integers(0, 3, len(y))
    a = clone(model).fit(X, y, sample_weight=w)
    b = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.estimator_.coef_, b.estimator_.coef_, rtol=1e-6)
