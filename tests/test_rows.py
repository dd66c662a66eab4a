"""Rows in memory: every kind of source, the same sums; bad input is named and refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.rows import CountedFolds, LabelledFolds, base, blas_threads


def total(rows):
    return rows.sum(lambda block: np.asarray(block.X.sum(axis=0), dtype=np.float64).reshape(-1))


def test_a_pass_is_a_sum():
    X = np.arange(30.0).reshape(10, 3)
    rows = gm.scan(X, X[:, 0])
    np.testing.assert_array_equal(total(rows), X.sum(axis=0))
    assert rows.sum(len) == 10
    assert "10 rows × 3 features, target y" in repr(rows)
    assert gm.scan(rows) is rows


def test_blocks_start_at_multiples_of_one_size(monkeypatch):
    monkeypatch.setattr(base, "block_rows", lambda width: 4)
    rows = gm.scan(np.arange(10.0).reshape(-1, 1))
    assert rows.sum(lambda block: [(block.start, len(block))]) == [(0, 4), (4, 4), (8, 2)]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 100])
def test_tree_order_and_threads(monkeypatch, count):
    monkeypatch.setattr(base, "block_rows", lambda width: 1)
    rows = gm.scan(np.arange(float(count)).reshape(-1, 1))
    found = []
    for threads in (1, 2, 4):
        with gm.threads(threads):
            found.append(rows.sum(lambda block: [block.start]))
    assert found == [list(range(count))] * 3


def test_sources_agree():
    X = np.arange(40).reshape(10, 4)
    reference = X.sum(axis=0).astype(float)
    frame = pd.DataFrame(X, columns=list("abcd"))
    sources = [
        X,
        X.astype(np.float32),
        np.asfortranarray(X.astype(float)),
        X.tolist(),
        frame,
        frame.astype("Int64"),
        frame.astype("float32"),
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        pa.table(frame),
        sp.csr_matrix(X),
        sp.csc_array(X),
        sp.coo_matrix(X),
        sp.csr_array(X.astype(np.float32)),
        np.repeat(X, 2, axis=0)[::2],
    ]
    for source in sources:
        np.testing.assert_array_equal(total(gm.scan(source)), reference)


def test_decimals_booleans_and_objects_are_numbers():
    from decimal import Decimal

    frame = pd.DataFrame({"flag": [True, False], "price": [Decimal("1.5"), Decimal("2.5")]})
    np.testing.assert_array_equal(total(gm.scan(frame)), [1.0, 4.0])
    arrow = pa.table({"price": pa.array([Decimal("1.5"), None], type=pa.decimal128(5, 2))})
    assert np.isnan(total(gm.scan(arrow))).all()


def test_targets_and_weights_by_name():
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [3.0, 4.0], "w": [1.0, 2.0], "z": [0.0, 1.0]})
    rows = gm.scan(frame, target="y", weight="w")
    assert rows.names == ("a", "z")
    assert rows.target_names == ("y",)
    assert rows.weighted
    block = rows.collect()
    np.testing.assert_array_equal(block.y, [[3.0], [4.0]])
    np.testing.assert_array_equal(block.weight, [1.0, 2.0])
    both = gm.scan(frame, target=["y", "z"])
    assert both.target_names == ("y", "z")
    assert not both.one_target
    pair = gm.scan(frame[["a"]], frame[["y", "z"]])
    assert pair.target_names == ("y", "z")
    assert gm.scan(frame[["a"]], pl.Series("t", [1, 2])).target_names == ("t",)


def test_sums_by_fold_add_up_to_the_sum():
    X = np.random.default_rng(0).standard_normal((10_007, 3))
    rows = gm.scan(X)
    for folds in (CountedFolds(5), LabelledFolds(np.arange(10_007) % 3 - 1)):
        labels = folds.labels(0, 10_007)
        parts = rows.sum_by_fold(lambda block: block.X.sum(axis=0), folds)
        for fold, part in enumerate(parts):
            np.testing.assert_allclose(part, X[labels == fold].sum(axis=0), rtol=1e-9)
    sparse = gm.scan(sp.csr_array(np.round(X)))
    parts = sparse.sum_by_fold(lambda block: block.X.sum(axis=0), CountedFolds(4))
    np.testing.assert_allclose(sum(parts), np.round(X).sum(axis=0))
    assert rows.sum_by_fold(len, LabelledFolds(np.full(10_007, 2))) == [None, None, 10_007]


@pytest.mark.parametrize("count", [2, 5, 7])
def test_folds_are_even_and_known_from_the_index(count):
    folds = CountedFolds(count, seed=3)
    labels = folds.labels(0, 1000)
    sizes = np.bincount(labels, minlength=count)
    assert sizes.max() - sizes.min() <= 1
    for start, stop in [(0, 1), (13, 14), (13, 500), (999, 1000)]:
        np.testing.assert_array_equal(folds.labels(start, stop), labels[start:stop])
    assert (labels != CountedFolds(count, seed=4).labels(0, 1000)).mean() > 0.3


def test_folds_look_random():
    labels = CountedFolds(2).labels(0, 100_000)
    same = (labels[2::2] == labels[:-2:2]).mean()
    assert 0.48 < same < 0.52


def test_threads_are_counted(monkeypatch):
    with pytest.raises(ValueError, match="at least 1"), gm.threads(0):
        pass
    monkeypatch.setenv("GRAMIAN_THREADS", "3")
    assert blas_threads.thread_count() == 3
    monkeypatch.delenv("GRAMIAN_THREADS")
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert blas_threads.thread_count() == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "zero")
    assert blas_threads.thread_count() >= 1
    monkeypatch.delattr("os.sched_getaffinity")
    assert blas_threads.thread_count() >= 1


def test_an_error_in_a_block_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(base, "block_rows", lambda width: 1)

    def broken(block):
        if block.start == 70:
            raise ZeroDivisionError("row 70")
        return 1

    with pytest.raises(ZeroDivisionError, match="row 70"), gm.threads(2):
        gm.scan(np.zeros((100, 1))).sum(broken)


BAD = [
    ((np.zeros((3, 2)), np.zeros(4)), {}, "inconsistent numbers of samples"),
    ((np.zeros((0, 2)),), {}, "0 sample"),
    ((np.zeros((3, 0)),), {}, "0 feature"),
    ((np.zeros(3),), {}, "Expected 2D array"),
    ((pd.DataFrame({"a": []}),), {}, "0 sample"),
    ((pd.DataFrame({"y": [1.0]}),), {"target": "y"}, "no feature columns"),
    ((pd.DataFrame({"city": ["Rome", "Oslo"], "b": [1, 2]}),), {}, "Column 'city' holds string values such as 'Rome'"),
    ((pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}),), {}, "Column 'when' holds dates or times such as"),
    ((pd.DataFrame({"c": pd.Categorical(["u"])}),), {}, "Column 'c' holds categorical"),
    ((pd.DataFrame({"o": [object()]}),), {}, "Column 'o'"),
    ((pd.DataFrame({"price": [1.0]}),), {"target": "prise"}, "no column 'prise'; did you mean 'price'"),
    ((pd.DataFrame({"a": [1.0]}),), {"weight": "zzz"}, "no column 'zzz'; the columns are 'a'"),
    ((pd.DataFrame({"a": [1.0], "y": [1.0]}), [1.0]), {"target": "y"}, "either y or target="),
    ((pd.DataFrame({"a": [1.0], "w": [1.0]}),), {"weight": "w", "sample_weight": [1.0]}, "either sample_weight or"),
    ((np.zeros((2, 1)),), {"target": "y"}, "with an array, give y"),
    ((np.zeros((2, 1)), np.zeros((2, 1, 1))), {}, "shape"),
    ((np.zeros((2, 1)), [1j, 2]), {}, "Complex data not supported"),
    ((np.zeros((2, 1)), [1.0, np.nan]), {}, "first is row 1"),
    ((np.zeros((2, 1)), [np.inf, 0.0]), {}, "infinity"),
    ((np.zeros((2, 1)),), {"sample_weight": [1.0]}, "one weight per row"),
    ((np.zeros((2, 1)),), {"sample_weight": [[1.0], [2.0]]}, "1D array"),
    ((np.zeros((2, 1)),), {"sample_weight": [1.0, -2.0]}, "negative at row 1"),
    ((np.zeros((2, 1)),), {"sample_weight": [0.0, 0.0]}, "All weights are zero"),
    ((np.zeros((2, 1)),), {"sample_weight": [1.0, np.nan]}, "first at row 1"),
    ((np.zeros((2, 1)),), {"sample_weight": [1e-200, 0.0]}, "rescale the weights"),
    ((gm.scan(np.zeros((2, 1))), [0.0, 1.0]), {}, "scanned already"),
]


@pytest.mark.parametrize(("arguments", "options", "message"), BAD, ids=[m for *_, m in BAD])
def test_bad_input_is_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        gm.scan(*arguments, **options)


def test_missing_numbers_are_counted_by_column():
    X = np.zeros((10, 8))
    X[2, :7] = np.nan
    X[5, 1] = np.inf
    with pytest.raises(ValueError, match=r"NaN: 8 .*column 0 \(1\), 1 \(2\).* and 2 more columns; first at row 2"):
        gm.moments(X)
    with pytest.raises(ValueError, match="infinity"):
        gm.moments(np.where(np.isnan(X), 0.0, X))
    with pytest.raises(ValueError, match="NaN"):
        gm.moments(sp.csr_array(X))
    with pytest.raises(ValueError, match="NaN"):
        gm.triangle(X)


def test_integers_beyond_exactness_warn():
    with pytest.warns(gm.PrecisionWarning, match=r"beyond 2\^53"):
        gm.scan(np.array([[2**60], [1]]))
    with pytest.warns(gm.PrecisionWarning, match="column 'id'"):
        gm.scan(pd.DataFrame({"id": [2**60, 1]}))


def test_a_scalar_weight_counts_for_all():
    assert gm.moments(np.ones((3, 1)), sample_weight=2.0).weight == 6.0


def test_block_take():
    block = gm.scan(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 3.0], sample_weight=[1, 2, 3]).collect()
    part = block.subset([2, 0])
    np.testing.assert_array_equal(part.X, [[4, 5], [0, 1]])
    np.testing.assert_array_equal(part.weight, [3, 1])
    assert len(part) == 2


def test_weights_are_ones_where_there_are_none():
    X = np.arange(6.0).reshape(3, 2)
    plain, weighted = gm.scan(X), gm.scan(X, sample_weight=[1, 2, 3])
    np.testing.assert_array_equal(plain.weights, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(plain.block(1, 3).weights, [1.0, 1.0])
    assert plain.block(1, 3).total_weight == 2.0
    np.testing.assert_array_equal(weighted.weights, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(weighted.block(1, 3).weights, [2.0, 3.0])
    assert weighted.block(1, 3).total_weight == 5.0
