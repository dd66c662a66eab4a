"""StandardScaler: against scikit-learn, exact arithmetic, extreme scales, weights, blocks and moments."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import preprocessing

import gramian as gm


def data(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [1.0, 5.0, 0.1][:d] + [0.0, 3.0, -7.0][:d]


def exact(column, weight=None):
    """Mean and standard deviation in rational arithmetic."""
    values = [Fraction(float(v)) for v in column]
    weights = [Fraction(1)] * len(values) if weight is None else [Fraction(float(w)) for w in weight]
    total = sum(weights)
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / total
    variance = sum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True)) / total
    return float(mean), float(np.sqrt(float(variance)))


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
def test_scikit_learns_numbers(with_mean, with_std):
    X = data(9000)
    weight = np.random.default_rng(1).random(9000)
    for w in (None, weight):
        ours = gm.StandardScaler(with_mean=with_mean, with_std=with_std).fit(X, sample_weight=w)
        theirs = preprocessing.StandardScaler(with_mean=with_mean, with_std=with_std).fit(X, sample_weight=w)
        assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9, atol=1e-12)
        assert_allclose(ours.inverse_transform(ours.transform(X)), X, rtol=1e-12)
        reference = preprocessing.StandardScaler().fit(X, sample_weight=w)
        assert_allclose(ours.mean_, reference.mean_, rtol=1e-12, atol=1e-14)
        assert_allclose(ours.var_, reference.var_, rtol=1e-12)
        assert_allclose(ours.scale_, reference.scale_, rtol=1e-12)
        assert ours.n_samples_seen_ == pytest.approx(reference.n_samples_seen_, rel=1e-14)
    assert isinstance(gm.StandardScaler().fit(X).n_samples_seen_, int)


@pytest.mark.parametrize(("mean", "deviation"), [(1e9, 1e-3), (1e7, 0.1), (-1e15, 1.0), (0.0, 1.0)])
@pytest.mark.parametrize("sparse", [False, True])
def test_digits_of_a_small_deviation_on_a_large_mean(mean, deviation, sparse):
    x = mean + deviation * np.random.default_rng(0).normal(size=20_000)
    scaler = gm.StandardScaler(with_mean=not sparse).fit(sp.csr_array(x[:, None]) if sparse else x[:, None])
    expected_mean, expected = exact(x)
    assert scaler.mean_[0] == pytest.approx(expected_mean, rel=3e-16, abs=1e-15 * deviation)
    assert scaler.scale_[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e-310, 1e307, 1e155, 1e-155, 1e120, 1e-120])
@pytest.mark.parametrize("sparse", [False, True])
def test_columns_of_any_magnitude(unit, sparse):
    base = np.random.default_rng(0).normal(size=(10_000, 1))
    X = np.column_stack([base, base * unit, np.full(10_000, unit)])
    kind = sp.csr_array if sparse else np.asarray
    scaler = gm.StandardScaler(with_mean=not sparse).fit(kind(X))
    assert_array_equal(scaler.constant_, [False, False, True])
    tolerance = 1e-12 if unit != 1e-310 else 1e-10
    assert scaler.scale_[1] / unit == pytest.approx(scaler.scale_[0], rel=tolerance)
    assert scaler.scale_[2] == 1
    assert scaler.mean_[2] == unit
    Z = scaler.transform(kind(X))
    Z = Z.toarray() if sparse else Z
    assert_allclose(Z[:, 1], Z[:, 0], rtol=1e-9, atol=1e-9)
    assert_allclose(
        scaler.inverse_transform(kind(Z)).toarray() if sparse else scaler.inverse_transform(Z), X, rtol=1e-8
    )


def test_the_ends_of_the_float_range():
    largest = np.finfo(np.float64).max
    X = np.array([[largest, 5e-324], [-largest, 0.0], [largest, 0.0], [-largest, 0.0]])
    scaler = gm.StandardScaler().fit(X)
    assert_allclose(scaler.scale_, [largest, 5e-324])
    assert not scaler.constant_.any()
    Z = scaler.transform(X)
    assert_allclose(Z[:, 0], [1, -1, 1, -1])
    assert np.isfinite(Z).all()
    assert_allclose(scaler.inverse_transform(Z), X)
    assert_array_equal(scaler.var_, [np.inf, 0.0])


def test_constant_columns():
    rng = np.random.default_rng(0)
    n = 9000
    X = np.column_stack([np.full(n, 0.1), np.zeros(n), rng.normal(size=n), np.full(n, 1e9)])
    X[-1, 3] = np.nextafter(1e9, 2e9)
    scaler = gm.StandardScaler().fit(X)
    assert_array_equal(scaler.constant_, [True, True, False, False])
    assert_array_equal(scaler.scale_[:2], 1.0)
    assert_array_equal(scaler.var_[:2], 0.0)
    assert_array_equal(scaler.transform(X)[:, :2], 0.0)
    blockwise = np.repeat([[1.0], [2.0], [3.0]], 4096, axis=0)  # constant within every block
    assert not gm.StandardScaler().fit(blockwise).constant_.any()
    assert gm.StandardScaler().fit(blockwise).scale_[0] == pytest.approx(np.sqrt(2 / 3), rel=1e-14)
    assert gm.StandardScaler().fit([[3.0, -1.0]]).constant_.all()


@pytest.mark.parametrize("sparse", [False, True])
def test_integer_weights_are_repetition(sparse):
    X = data(9000) * (data(9000, seed=5) > 0)
    X[:5] = 1e300  # rows of weight zero do not count, whatever they hold
    weight = np.random.default_rng(2).integers(0, 4, 9000)
    weight[:4200] = 0
    kind = sp.csr_array if sparse else np.asarray
    weighted = gm.StandardScaler(with_mean=not sparse).fit(kind(X), sample_weight=weight)
    repeated = gm.StandardScaler(with_mean=not sparse).fit(kind(np.repeat(X, weight, axis=0)))
    for name in ("mean_", "scale_", "var_", "n_samples_seen_", "constant_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12, atol=1e-14)


def test_uneven_weights_keep_their_digits():
    rng = np.random.default_rng(3)
    x = 1e9 + 1e-3 * rng.normal(size=3000)
    x[0] = 1e14
    weight = rng.random(3000)
    weight[0] = 1e-40
    scaler = gm.StandardScaler().fit(x[:, None], sample_weight=weight)
    assert scaler.scale_[0] == pytest.approx(exact(x, weight)[1], rel=1e-10)


def test_sparse_is_dense():
    X = data(9000, 3) * (data(9000, seed=1) > 1)
    X = np.column_stack([X, np.zeros(9000), data(9000, 1), np.full(9000, 2.5)])
    dense = gm.StandardScaler(with_mean=False).fit(X)
    for kind in (sp.csr_array, sp.csc_matrix):
        sparse = gm.StandardScaler(with_mean=False).fit(kind(X))
        for name in ("mean_", "scale_", "var_", "constant_"):
            assert_allclose(getattr(sparse, name), getattr(dense, name), rtol=1e-13)
        Z = sparse.transform(kind(X))
        assert sp.issparse(Z)
        assert_allclose(Z.toarray(), dense.transform(X), rtol=1e-12)
        assert_allclose(sparse.inverse_transform(Z).toarray(), X, rtol=1e-12)
        assert abs(gm.StandardScaler(with_mean=False, with_std=False).fit_transform(kind(X)) - X).max() == 0
    with pytest.raises(ValueError, match="sparse X dense: set with_mean=False"):
        gm.StandardScaler().fit(sp.csr_array(X))
    with pytest.raises(ValueError, match=r"column 1 .*first at row 0"):
        sparse.transform(sp.csr_array([[0.0, np.nan, 0.0, 0.0, 0.0, 0.0]]))


def test_moments_are_enough():
    frame = pd.DataFrame(data(5000), columns=["a", "b", "c"])
    frame["big"] = frame["a"] * 1e200
    frame["small"] = frame["a"] * 1e-310
    frame["same"] = 4.0
    y = frame["a"] + frame["b"]
    weight = np.random.default_rng(0).random(5000)
    for w in (None, weight):
        direct = gm.StandardScaler().fit(frame, sample_weight=w)
        saved = gm.StandardScaler().fit(gm.moments(frame, y, sample_weight=w))
        for name in ("mean_", "scale_", "var_", "n_samples_seen_"):
            assert_allclose(getattr(saved, name), getattr(direct, name), rtol=1e-9)
        assert_array_equal(saved.constant_, direct.constant_)
        assert_array_equal(saved.feature_names_in_, frame.columns)
        assert_allclose(saved.transform(frame), direct.transform(frame), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="These moments hold their weights"):
        gm.StandardScaler().fit(gm.moments(frame), sample_weight=weight)


def test_scanned_rows_bring_their_weights():
    X, weight = data(), np.random.default_rng(0).random(60)
    scanned = gm.StandardScaler().fit(gm.scan(X, sample_weight=weight))
    assert_array_equal(scanned.scale_, gm.StandardScaler().fit(X, sample_weight=weight).scale_)
    with pytest.raises(ValueError, match="scanned already"):
        gm.StandardScaler().fit(gm.scan(X), sample_weight=weight)


def test_inverse_needs_the_same_columns_but_no_names():
    scaler = gm.StandardScaler().fit(pd.DataFrame(data(), columns=["a", "b", "c"]))
    Z = scaler.transform(pd.DataFrame(data(), columns=["a", "b", "c"]))
    assert_allclose(scaler.inverse_transform(Z), data(), rtol=1e-12)
    with pytest.raises(ValueError, match="X has 2 features"):
        scaler.inverse_transform(Z[:, :2])
