"""Mutual information against the double sum and scikit-learn's estimators."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import norm, rankdata
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

import gramian as gm
from gramian.selection.features.information import mutual_information


def double_sum(x, y):
    total = 0.0
    for a in set(x):
        for b in set(y):
            both = np.mean([p == a and q == b for p, q in zip(x, y, strict=True)])
            if both:
                total += both * np.log(both / (np.mean([p == a for p in x]) * np.mean([q == b for q in y])))
    return total


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(n)
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_discrete_pairs_are_the_double_sum(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 150)
    X = np.column_stack([y, (y + rng.integers(0, 2, 150)) % 3, rng.integers(0, 4, 150), np.zeros(150, dtype=int)])
    expected = [double_sum(column, y) for column in X.T]
    np.testing.assert_allclose(mutual_information(X, y), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(mutual_information(X.astype(str), np.array(list("abc"))[y]), expected, atol=1e-14)
    np.testing.assert_allclose(
        mutual_information(X.astype(float), y.astype(float), discrete=True), expected, atol=1e-14
    )
    np.testing.assert_allclose(mutual_information(X.astype(object), y.astype(str)), expected, atol=1e-14)
    np.testing.assert_allclose(mutual_information(X > 0, y > 0), [double_sum(c > 0, y > 0) for c in X.T], atol=1e-14)
    assert mutual_information(X, y)[0] == pytest.approx(-sum(p * np.log(p) for p in np.bincount(y) / 150))


def scores(x):
    """Normal scores of the ranks, the first one positive."""
    z = norm.ppf((rankdata(x, axis=0) - 0.5) / len(x))
    return z * np.where(z[:1] < 0, -1.0, 1.0) if z.ndim == 1 else np.column_stack([scores(column) for column in x.T])


def test_numbers_are_scikit_learns_estimates_of_normal_scores():
    X, y = table()
    np.testing.assert_allclose(
        mutual_information(X, y), mutual_info_regression(scores(X), scores(y), random_state=0), atol=1e-12
    )
    np.testing.assert_allclose(
        mutual_information(X, y, n_neighbors=5, random_state=3),
        mutual_info_regression(scores(X), scores(y), n_neighbors=5, random_state=3),
        atol=1e-12,
    )
    labels = np.where(y > 0, "high", "low")
    np.testing.assert_allclose(
        mutual_information(X, labels), mutual_info_classif(scores(X), labels, random_state=0), atol=1e-12
    )
    np.testing.assert_array_equal(mutual_information(sp.csr_array(X), y), mutual_information(X, y))


MAPS = {
    "offset": lambda v: v + 2.0**30,
    "tiny": lambda v: v * 2.0**-530,
    "huge": lambda v: v * 1e200,
    "unit": lambda v: v / 3.0,
    "sign": lambda v: -v,
    "increasing": np.exp,
}


@pytest.mark.parametrize("change", MAPS)
@pytest.mark.parametrize("kind", ["numbers", "labels for the target", "labels for the feature"])
def test_units_offsets_and_signs_do_not_matter(change, kind):
    """Of both variables, of either kind, and of ties: on a grid of 2⁻²⁰ an offset of 2³⁰ is exact."""
    rng = np.random.default_rng(4)
    x = np.round(rng.standard_normal(120) * 2**20) / 2**20
    ties = np.round(2.0 * x) / 2.0
    curved = np.round(x**2 * 2**20) / 2**20
    discrete = [kind == "labels for the feature"] * 2 + [kind == "labels for the target"]
    X = np.column_stack([x, ties])
    if kind == "labels for the feature":
        X = np.round(X)
    y = (curved > 1).astype(float) if kind == "labels for the target" else curved
    expected = mutual_information(X, y, discrete=discrete)
    np.testing.assert_array_equal(mutual_information(MAPS[change](X), y, discrete=discrete), expected)
    np.testing.assert_array_equal(mutual_information(X, MAPS[change](y), discrete=discrete), expected)


def test_outliers_do_not_hide_what_the_rest_tells():
    X, y = table(1000)
    expected = mutual_information(X, y)
    X[0, 0], y[1] = 1e15, -1e200
    np.testing.assert_allclose(mutual_information(X, y), expected, atol=0.02)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.99])
def test_bivariate_normal(rho):
    rng = np.random.default_rng(8)
    x, e = rng.standard_normal((2, 3000))
    y = rho * x + np.sqrt(1 - rho**2) * e
    assert mutual_information(x[:, None], y)[0] == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.06)


def test_constant_columns_have_no_information():
    X, y = table()
    for target in (y, y > 0):
        assert mutual_information(np.full((200, 1), 1e9 / 3), target)[0] == 0.0
    np.testing.assert_array_equal(mutual_information(X, np.full(200, 0.1)), 0.0)


def test_mixed_frames():
    X, y = table()
    kinds = np.array(["red", "green", "blue"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    codes = np.unique(kinds, return_inverse=True)[1]
    mixed = np.column_stack([scores(X[:, 0]), codes, scores(X[:, 1])])
    expected = mutual_info_regression(mixed, scores(y), discrete_features=[False, True, False], random_state=0)
    columns = {"a": X[:, 0], "kind": kinds, "b": X[:, 1]}
    frames = [pd.DataFrame(columns), pl.DataFrame(columns)]
    frames.append(pd.DataFrame({**columns, "kind": pd.Categorical(kinds)}))
    for frame in frames:
        np.testing.assert_allclose(mutual_information(frame, y), expected)
        np.testing.assert_allclose(mutual_information(frame, pd.Series(y)), expected)
    label = pd.Series(kinds)
    found = mutual_information(frames[0], label)
    assert found[1] == pytest.approx(double_sum(kinds, kinds))
    np.testing.assert_allclose(found[[0, 2]], mutual_info_classif(scores(X[:, :2]), codes, random_state=0), atol=1e-12)
    numbers = pd.DataFrame({"a": X[:, 0], "kind": codes.astype(float), "b": X[:, 1]})
    np.testing.assert_allclose(mutual_information(numbers, y, discrete=["kind"]), expected)
    np.testing.assert_allclose(mutual_information(numbers, y, discrete=[False, True, False]), expected)
    np.testing.assert_allclose(mutual_information(numbers, y, discrete=np.array([0, 1, 0, 0], dtype=bool)), expected)


def test_integers_are_labels_when_few():
    rng = np.random.default_rng(0)
    many = rng.permutation(100)
    y = rng.standard_normal(100)
    np.testing.assert_allclose(
        mutual_information(many[:, None], y),
        mutual_info_regression(scores(many[:, None]), scores(y), random_state=0),
        atol=1e-12,
    )
    few = many % 4
    np.testing.assert_allclose(
        mutual_information(few[:, None], y),
        mutual_info_regression(few[:, None], scores(y), discrete_features=True, random_state=0),
        atol=1e-12,
    )
    floats = np.array([[0.5], [1.5]] * 10, dtype=object)
    assert mutual_information(floats, y[:20]).shape == (1,)


def test_rows():
    X, y = table()
    np.testing.assert_array_equal(mutual_information(gm.scan(X, y)), mutual_information(X, y))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = mutual_information(gm.scan(frame.round(), y), discrete=["c"])
    np.testing.assert_allclose(found, mutual_information(frame.round(), y, discrete=[False, False, True]))


def test_independent_and_determined():
    X, y = table(2000)
    found = mutual_information(np.column_stack([X[:, 1], X[:, 0]]), y)
    assert found[0] < 0.05
    assert found[1] > 0.5  # ½ log(1 + 4) = 0.80 nats
    assert found[1] == pytest.approx(0.5 * np.log(5.0), abs=0.1)


X0, y0 = table(20)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((X0, y0), {"n_neighbors": 0}, ValueError, "n_neighbors is 0"),
        ((X0, y0), {"n_neighbors": 2.5}, TypeError, "n_neighbors is 2.5"),
        ((X0, y0), {"n_neighbors": 20}, ValueError, "n_neighbors is 20, and there are 20 rows"),
        ((X0, y0), {"discrete": "some"}, ValueError, "discrete is 'some'"),
        ((X0, y0), {"discrete": 3}, TypeError, "discrete is 3"),
        ((X0, y0), {"discrete": [True]}, ValueError, "one bool for each of the 3 columns"),
        ((X0, y0), {"discrete": [0, 1, 2]}, ValueError, "one bool for each of the 3 columns"),
        ((X0, y0), {"discrete": ["age"]}, ValueError, "discrete names 'age'"),
        ((X0,), {}, ValueError, "requires y to be passed"),
        ((X0, X0), {}, ValueError, r"y has shape \(20, 3\)"),
        ((X0[0], y0), {}, ValueError, r"X has shape \(3,\)"),
        ((X0, y0[:5]), {}, ValueError, "inconsistent numbers of samples"),
        ((gm.scan(X0), None), {}, ValueError, "These Rows have no target"),
        ((gm.scan(X0, X0), None), {}, ValueError, "y has 3 columns"),
        ((gm.scan(X0, y0), y0), {}, ValueError, "Rows bring their own target"),
        ((np.full((20, 1), "a"), y0), {"discrete": False}, ValueError, "Column '0' holds values such as"),
        ((np.arange(20).astype(str)[:, None], y0), {}, ValueError, "Column '0' is discrete, and none of its values"),
        ((X0, np.arange(20).astype(str)), {}, ValueError, "Column 'y' is discrete, and none of its values"),
        ((X0, np.full(20, "a")), {"discrete": False}, ValueError, "Column 'y' holds values such as"),
        ((X0, np.where(np.arange(20) == 7, np.nan, y0)), {}, ValueError, "Input y contains NaN.*row 7"),
        ((X0, np.where(np.arange(20) == 7, np.inf, y0)), {}, ValueError, "Input y contains NaN.*row 7"),
    ],
)
def test_refusals(arguments, options, error, message):
    with pytest.raises(error, match=message):
        mutual_information(*arguments, **options)


def test_missing_values_are_named():
    frame = pd.DataFrame({"a": y0, "b": ["x", None] * 10})
    with pytest.raises(ValueError, match=r"Column 'b' contains NaN.*10, the first at row 1"):
        mutual_information(frame, y0)
    whole = pl.DataFrame({"a": [1, None] * 10})
    with pytest.raises(ValueError, match=r"Column 'a' contains NaN.*10, the first at row 1"):
        mutual_information(whole, y0)
    flags = pd.DataFrame({"a": pd.array([True, None] * 10, dtype="boolean")})
    with pytest.raises(ValueError, match=r"Column 'a' contains NaN"):
        mutual_information(flags, y0)
