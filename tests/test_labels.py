"""Labels: how targets of every kind are read, which classes there are, and what is refused with which words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.rows.labels import CodedRows, class_weights, coded

N = 24
BITS = np.arange(N) % 3 == 0
NAMES = np.where(BITS, "yes", "no")
X = np.random.default_rng(0).standard_normal((N, 2)) + BITS[:, None]


def fit(y, **more):
    return gm.LogisticRegression(alpha=0.1).fit(X, y, **more)


REFERENCE = fit(BITS.astype(int))


# every kind of label

KINDS = {
    "array of str": (NAMES, ["no", "yes"]),
    "array of object": (NAMES.astype(object), ["no", "yes"]),
    "array of bytes": (NAMES.astype("S"), [b"no", b"yes"]),
    "list of str": (NAMES.tolist(), ["no", "yes"]),
    "pandas str": (pd.Series(NAMES), ["no", "yes"]),
    "pandas object": (pd.Series(NAMES, dtype=object), ["no", "yes"]),
    "pandas string": (pd.Series(NAMES, dtype="string"), ["no", "yes"]),
    "pandas category": (pd.Series(NAMES).astype("category"), ["no", "yes"]),
    "pandas Categorical": (pd.Categorical(NAMES), ["no", "yes"]),
    "pandas category, unused and in another order": (
        pd.Series(pd.Categorical(NAMES, categories=["yes", "maybe", "no"])),
        ["no", "yes"],
    ),
    "pandas category of int": (pd.Series(BITS.astype(int)).astype("category"), [0, 1]),
    "polars str": (pl.Series(NAMES), ["no", "yes"]),
    "polars Categorical": (pl.Series(NAMES).cast(pl.Categorical), ["no", "yes"]),
    "polars Enum": (pl.Series(NAMES, dtype=pl.Enum(["yes", "no"])), ["no", "yes"]),
    "arrow": (pa.chunked_array([pa.array(NAMES.tolist())]), ["no", "yes"]),
    "array of bool": (BITS, [False, True]),
    "list of bool": (BITS.tolist(), [False, True]),
    "object of bool": (BITS.astype(object), [False, True]),
    "pandas bool": (pd.Series(BITS), [False, True]),
    "pandas boolean": (pd.Series(BITS, dtype="boolean"), [False, True]),
    "polars bool": (pl.Series(BITS), [False, True]),
    "int": (BITS.astype(int), [0, 1]),
    "list of int": (BITS.astype(int).tolist(), [0, 1]),
    "pandas Int64": (pd.Series(BITS.astype(int), dtype="Int64"), [0, 1]),
    "negative int": (np.where(BITS, 5, -3), [-3, 5]),
    "object of int": (BITS.astype(int).astype(object), [0, 1]),
    "float": (BITS.astype(float), [0.0, 1.0]),
    "large int": (BITS + 2**60, [2**60, 2**60 + 1]),
    "dates": (
        np.where(BITS, np.datetime64("2021-01-01"), np.datetime64("2020-01-01")),
        [np.datetime64("2020-01-01"), np.datetime64("2021-01-01")],
    ),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_labels_come_back_as_they_were(kind):
    y, classes = KINDS[kind]
    model = fit(y)
    assert list(model.classes_) == classes
    assert type(model.classes_.tolist()[0]) is type(np.asarray(classes).tolist()[0])
    np.testing.assert_allclose(model.coef_, REFERENCE.coef_, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X) == classes[1], REFERENCE.predict(X) == 1)
    assert model.predict(X).dtype == model.classes_.dtype


@pytest.mark.parametrize("kind", ["array of str", "array of bool", "int", "pandas category", "polars str", "float"])
def test_scores_compare_what_comes_back(kind):
    y, _ = KINDS[kind]
    assert fit(y).score(X, y) == REFERENCE.score(X, BITS.astype(int))


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64, bool, "U5", object]
)
def test_the_type_of_labels_is_kept(dtype):
    y = BITS.astype(int).astype(dtype)
    assert fit(y).classes_.dtype == np.dtype(dtype) or dtype is object
    assert fit(y).predict(X).dtype == fit(y).classes_.dtype
    scanned = gm.LogisticRegression(alpha=0.1).fit(gm.scan(X, y))
    assert list(scanned.classes_) == list(fit(y).classes_)
    assert scanned.classes_.dtype == fit(y).classes_.dtype


@pytest.mark.parametrize("model", [gm.SVC(alpha=0.1), gm.Perceptron(), gm.LogisticRegression(alphas=4)], ids=repr)
def test_every_classifier_takes_names(model):
    model.fit(X + 9 * BITS[:, None], NAMES)
    assert set(model.predict(X)) <= {"no", "yes"}
    assert model.score(X + 9 * BITS[:, None], NAMES) == 1.0


# targets in frames


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda d: pa.table(d)])
def test_a_target_by_name(make):
    frame = make({"a": X[:, 0].tolist(), "species": NAMES.tolist(), "b": X[:, 1].tolist(), "count": [1.0] * N})
    rows = gm.scan(frame, target="species", weight="count")
    assert rows.d == 2
    assert rows.names == ("a", "b")
    assert list(rows.labels) == ["no", "yes"]
    model = gm.LogisticRegression(alpha=0.1).fit(rows)
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(model.coef_, REFERENCE.coef_, rtol=1e-9)
    assert list(model.classes_) == ["no", "yes"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_bool_target_by_name(make):
    frame = make({"a": X[:, 0], "b": X[:, 1], "ill": BITS})
    assert gm.LogisticRegression(alpha=0.1).fit(gm.scan(frame, target="ill")).classes_.tolist() == [False, True]


def test_blocks_keep_labels():
    rows = gm.scan(X, NAMES)
    assert set(rows.block(0, 5).y.ravel()) <= {0.0, 1.0}
    assert list(rows.subset(np.arange(3)).labels) == ["no", "yes"]


# refusals


def missing(at, value):
    y = NAMES.astype(object)
    y[at] = value
    return y


@pytest.mark.parametrize(
    "y",
    [
        missing(7, None),
        missing(7, np.nan),
        missing(7, pd.NA),
        missing(7, pd.NaT),
        missing(7, None).tolist(),
        missing(7, np.nan).tolist(),
        pd.Series(missing(7, None)),
        pd.Series(missing(7, None), dtype="string"),
        pd.Series(missing(7, np.nan)).astype("category"),
        pl.Series(missing(7, None).tolist()),
        pl.Series([None if i == 7 else bool(b) for i, b in enumerate(BITS)]),
        pd.Series([None if i == 7 else bool(b) for i, b in enumerate(BITS)], dtype="boolean"),
        pd.Series([None if i == 7 else int(b) for i, b in enumerate(BITS)], dtype="Int64"),
        np.where(np.arange(N) == 7, np.nan, BITS),
        [None if i == 7 else int(b) for i, b in enumerate(BITS)],
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]} {getattr(y, 'dtype', 'list')}",
)
def test_missing_labels_are_named_by_row(y):
    with pytest.raises(ValueError, match=r"Input y contains NaN: 1 of 24 rows .* the first is row 7"):
        fit(y)


@pytest.mark.parametrize(
    "y", [missing(3, 1), missing(3, 1).tolist(), missing(3, 2.5), missing(3, True), missing(3, ("a",))]
)
def test_labels_of_mixed_kinds_are_refused(y):
    with pytest.raises(ValueError, match="y mixes values that cannot be put in order"):
        fit(y)


def test_continuous_targets_are_no_classes():
    for y in (X[:, 0], X[:, 0].astype(object), X[:, 0].tolist(), pd.Series(X[:, 0]), np.where(BITS, 0.5, 0.0)):
        with pytest.raises(
            ValueError, match=r"Unknown label type: continuous\. y holds numbers such as .* use a regressor"
        ):
            fit(y)
    with pytest.raises(ValueError, match="contains infinity"):
        fit(np.where(BITS, np.inf, 0.0))
    with pytest.raises(ValueError, match="Complex data not supported"):
        fit(BITS * 1j)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, sp.csr_array], ids=lambda f: f.__name__)
def test_a_column_of_labels_is_read_with_a_warning(make):
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        model = fit(make(BITS.astype(int)[:, None]))
    np.testing.assert_array_equal(model.coef_, REFERENCE.coef_)


@pytest.mark.parametrize(
    "make", [lambda y: y[:, None], lambda y: pd.DataFrame({"t": y}), lambda y: pl.DataFrame({"t": y})]
)
def test_a_column_of_names_is_read_with_a_warning(make):
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        model = fit(make(NAMES))
    assert list(model.classes_) == ["no", "yes"]


def test_two_columns_are_refused():
    for y in (np.column_stack([BITS, BITS]).astype(int), np.column_stack([NAMES, NAMES])):
        with pytest.raises(ValueError, match="y has 2 columns; a classifier needs one label per row"):
            fit(y)
    with pytest.raises(ValueError, match="1d array"):
        fit(np.zeros((N, 1, 1)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(NAMES[:-1])


def test_one_class_is_named():
    """N-20."""
    for y, name in ((["pine"] * N, "'pine'"), (np.full(N, 3), "3"), (np.ones(N, dtype=bool), "True")):
        with pytest.raises(ValueError, match=f"y has only one class: {name}"):
            fit(y)
    with pytest.raises(ValueError, match="y has only one class: 'yes'"):
        fit(NAMES, sample_weight=BITS.astype(float))


def test_classes_without_weight_are_no_classes():
    y = NAMES.copy().astype(object)
    y[:4] = "perhaps"
    w = np.ones(N)
    w[:4] = 0.0
    model = fit(y, sample_weight=w)
    assert list(model.classes_) == ["no", "yes"]
    alone = gm.LogisticRegression(alpha=0.1).fit(X[4:], NAMES[4:])
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.class_totals_, alone.class_totals_)
    again = gm.LogisticRegression(alphas=4, multiclass="ovo", class_weight="balanced").fit(X, y, sample_weight=w)
    assert list(again.classes_) == ["no", "yes"]


@pytest.mark.parametrize("model", [gm.Ridge(), gm.LinearRegression(), gm.Lasso(), gm.Regressor("absolute")], ids=repr)
def test_regressions_refuse_names(model):
    for y in (NAMES, pd.Series(NAMES), pd.Series(NAMES).astype("category"), BITS.astype(int).astype(str)):
        with pytest.raises(ValueError, match="a regression needs numbers as its target"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="a regression needs numbers as its target"):
        model.fit(gm.scan(X, NAMES))


def test_sums_refuse_names():
    with pytest.raises(ValueError, match="needs numbers"):
        gm.moments(X, NAMES)
    with pytest.raises(ValueError, match="needs numbers"):
        gm.moments(gm.scan(X, NAMES))


def test_messages_show_plain_labels():
    for said in (lambda: fit(["pine"] * N), lambda: gm.Ridge().fit(X, NAMES)):
        with pytest.raises(ValueError) as caught:
            said()
        assert "np." not in str(caught.value)


def test_numbers_and_bools_are_numbers_for_a_regression():
    one = gm.Ridge(alpha=0.1).fit(X, BITS.astype(float))
    for y in (BITS, pd.Series(BITS), pl.Series(BITS), BITS.astype(object), BITS.astype(int).astype(object)):
        np.testing.assert_allclose(gm.Ridge(alpha=0.1).fit(X, y).coef_, one.coef_, rtol=1e-12)


# coded rows


def rows_of(seed=1, n=50, sparse=False):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 3))
    return gm.scan(sp.csr_array(A) if sparse else A, rng.integers(0, 4, n), sample_weight=rng.integers(0, 3, n))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("factored", [False, True])
def test_coded_rows_are_the_rows_with_another_target(sparse, factored):
    rows = rows_of(sparse=sparse)
    factor = (lambda y: 1.0 + y[:, 0]) if factored else None
    lazy, eager = CodedRows(rows, lambda y: 10.0 - y, factor), coded(rows, lambda y: 10.0 - y, factor)
    whole = rows.collect()
    weight = whole.weight * (1.0 + whole.y[:, 0] if factored else 1.0)
    for found in (lazy, eager):
        assert (found.n, found.d, found.labels, found.is_sparse) == (50, 3, None, sparse)
        assert found.weighted
        for block in (found.collect(), found.block(10, 20)):
            some = slice(0, 50) if len(block) == 50 else slice(10, 20)
            np.testing.assert_array_equal(block.y, 10.0 - whole.y[some])
            np.testing.assert_array_equal(block.weight, weight[some])
        total = found.sum(lambda block: block.weight @ block.y)
        np.testing.assert_allclose(total, weight @ (10.0 - whole.y))


def test_unweighted_rows_get_the_factor_alone():
    rng = np.random.default_rng(2)
    rows = gm.scan(rng.standard_normal((20, 2)), rng.integers(0, 2, 20))
    assert not CodedRows(rows, lambda y: y).weighted
    for found in (
        CodedRows(rows, lambda y: y, lambda y: 2.0 + y[:, 0]),
        coded(rows, lambda y: y, lambda y: 2.0 + y[:, 0]),
    ):
        np.testing.assert_array_equal(found.collect().weight, 2.0 + rows.collect().y[:, 0])


def test_coded_rows_in_folds():
    from gramian.rows import CountedFolds

    rows = rows_of(3)
    folds = CountedFolds(4, 0)
    lazy, eager = CodedRows(rows, lambda y: -y), coded(rows, lambda y: -y)
    one, two = (r.sum_by_fold(lambda block: float(block.weight @ block.y[:, 0]), folds) for r in (lazy, eager))
    np.testing.assert_allclose(one, two)


@pytest.mark.parametrize("seed", range(3))
def test_totals_of_classes(seed):
    rows = rows_of(seed, n=5000)
    block = rows.collect()
    y, w = block.y[:, 0], block.weight
    values, totals = class_weights(rows)
    expected = [v for v in np.unique(y) if w[y == v].sum() > 0]
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_allclose(totals, [w[y == v].sum() for v in expected])
    plain_values, counts = class_weights(gm.scan(np.zeros((5, 1)), [2, 2, 7, -1, 7]))
    np.testing.assert_array_equal(plain_values, [-1, 2, 7])
    np.testing.assert_array_equal(counts, [1, 2, 2])
