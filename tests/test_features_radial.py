"""Radial basis features: distances to all digits, centres, length scales."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import rbf_kernel

import gramian as gm


def data(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_the_formula():
    X, Z = data(), data(40, seed=1)
    features = gm.RadialBasisFeatures(length_scale=0.7).fit(X)
    assert_allclose(features.transform(Z), np.exp(-(cdist(Z, X) ** 2) / (2 * 0.7**2)), rtol=1e-12)
    assert_allclose(features.transform(Z), rbf_kernel(Z, X, gamma=1 / (2 * 0.7**2)), rtol=1e-10)
    assert list(features.get_feature_names_out()[:2]) == ["radialbasisfeatures0", "radialbasisfeatures1"]


def test_centers_at_the_data_are_distinct_and_in_order():
    X = np.array([[2.0, 0.0], [1.0, 1.0], [2.0, -0.0], [1.0, 1.0], [0.0, 3.0]])
    assert_array_equal(gm.RadialBasisFeatures().fit(X).centers_, [[2, 0], [1, 1], [0, 3]])


def test_median_distance():
    X = data(50)
    assert gm.RadialBasisFeatures().fit(X).length_scale_ == pytest.approx(np.median(pdist(X)), rel=1e-14)
    many = gm.RadialBasisFeatures().fit(data(3000))
    assert len(many.centers_) == 3000
    assert many.length_scale_ == pytest.approx(np.median(pdist(data(3000))), rel=0.05)
    for rows in (np.full((5, 2), 3.0), np.zeros((4, 2)), [[7.0]]):
        same = gm.RadialBasisFeatures().fit(rows)
        assert same.length_scale_ == 1.0
        assert_array_equal(same.transform(rows), np.ones((len(rows), 1)))
    repeated = gm.RadialBasisFeatures([[0.0], [0.0], [0.0], [3.0]]).fit([[0.0]])
    assert repeated.length_scale_ == 3.0


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e-310, 1e307, 1e9])
def test_units_do_not_matter(unit):
    X = data(30, 4)
    X /= np.abs(X).max()
    expected = gm.RadialBasisFeatures(6).fit(X)
    scaled = gm.RadialBasisFeatures(6).fit(X * unit)
    assert_allclose(scaled.transform(X * unit), expected.transform(X), rtol=1e-9)
    assert scaled.length_scale_ / unit == pytest.approx(expected.length_scale_, rel=1e-9)


def test_distances_beyond_the_float_range():
    X = np.array([[1.7e308, 1.7e308], [-1.7e308, -1.7e308]])
    features = gm.RadialBasisFeatures().fit(X)
    assert features.length_scale_ == np.finfo(np.float64).max
    far = np.exp(-4 * 1.7**2 / 1.797693**2)
    assert_allclose(features.transform(X), [[1.0, far], [far, 1.0]], rtol=1e-5)


@pytest.mark.parametrize("d", [1, 2, 50])
@pytest.mark.parametrize("h", [1e-6, 1e-3, 1e-2, 1.0, 100.0])
def test_a_centre_has_exactly_one_at_itself(d, h):
    X = 1e6 + data(200, d)
    features = gm.RadialBasisFeatures(length_scale=h).fit(X)
    out = features.transform(X)
    assert_allclose(np.diagonal(out), 1.0, rtol=0, atol=1e-12)
    assert_allclose(out, np.exp(-(cdist(X, X) ** 2) / (2 * h**2)), rtol=1e-9, atol=1e-12)


def test_far_rows_and_outliers_are_accurate():
    X = data(100, 2)
    X[0] = 1e12
    near = np.exp(-(cdist(X[1:], X[1:]) ** 2) / 2)
    features = gm.RadialBasisFeatures(length_scale=1.0).fit(X)
    assert_allclose(features.transform(X)[1:, 1:], near, rtol=1e-11)
    far = features.transform([[1e300, -1e300], [1.7e308, 0.0]])
    assert_array_equal(far, 0.0)


def test_drawn_centres_are_rows_far_from_each_other():
    rng = np.random.default_rng(0)
    corners = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0], [100.0, 100.0]])
    X = np.repeat(corners, 3000, axis=0) + rng.normal(size=(12_000, 2))
    for seed in range(5):
        features = gm.RadialBasisFeatures(4, random_state=seed).fit(X)
        assert sorted(cdist(features.centers_, corners).argmin(axis=1)) == [0, 1, 2, 3]
        assert all((center == X).all(axis=1).any() for center in features.centers_)
    assert_array_equal(gm.RadialBasisFeatures(9).fit(X).centers_, gm.RadialBasisFeatures(9).fit(X).centers_)
    assert_array_equal(
        gm.RadialBasisFeatures(9).fit(X).centers_, gm.RadialBasisFeatures(9, random_state=0).fit(X).centers_
    )
    other = gm.RadialBasisFeatures(9, random_state=np.random.RandomState(1)).fit(X).centers_
    assert not np.array_equal(other, gm.RadialBasisFeatures(9, random_state=np.random.default_rng(1)).fit(X).centers_)
    everything = gm.RadialBasisFeatures(60).fit(data())
    assert_array_equal(np.sort(everything.centers_[:, 0]), np.sort(data()[:, 0]))


def test_given_centres():
    X, centers = data(), data(7, seed=2)
    expected = np.exp(-(cdist(X, centers) ** 2) / 2)
    for given in (centers, centers.tolist(), pd.DataFrame(centers, columns=list("abc"))):
        features = gm.RadialBasisFeatures(given, length_scale=1).fit(X)
        assert_allclose(features.transform(X), expected, rtol=1e-12)


def test_sparse_is_dense():
    X = data(3000, 40) * (data(3000, 40, 1) > 1)
    for centers in ("data", 20):
        dense = gm.RadialBasisFeatures(centers).fit(X[:200])
        sparse = gm.RadialBasisFeatures(centers).fit(sp.csr_array(X[:200]))
        assert_array_equal(dense.centers_, sparse.centers_)
        assert_allclose(sparse.transform(sp.csr_array(X)), dense.transform(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"centers": 0}, "centers is 0, and X has 60 rows; give a number between 1 and 60"),
        ({"centers": 61}, "centers is 61, and X has 60 rows"),
        ({"centers": "rows"}, "centers is 'rows'; it must be"),
        ({"centers": [1.0, 2.0, 3.0]}, 'it must be "data", a number, or an array'),
        ({"centers": True}, "centers is True; it must be"),
        ({"centers": [[1.0, 2.0]]}, "centers has 2 columns, and X has 3"),
        ({"centers": [[1.0, 2.0, 0.0], [1.0, np.nan, 0.0]]}, "centers holds NaN or infinity in row 1"),
        ({"length_scale": 0.0}, "length_scale is 0.0; it must be"),
        ({"length_scale": -1}, "length_scale is -1; it must be"),
        ({"length_scale": np.nan}, "length_scale is nan; it must be"),
        ({"length_scale": "median"}, "length_scale is 'median'; it must be"),
        ({"length_scale": True}, "length_scale is True; it must be"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        gm.RadialBasisFeatures(**parameters).fit(data())


def test_more_centres_than_distinct_rows():
    with pytest.raises(ValueError, match="centers is 5, and X has 3 distinct rows"):
        gm.RadialBasisFeatures(5).fit(np.repeat([[0.0], [1.0], [5.0]], 4, axis=0))
