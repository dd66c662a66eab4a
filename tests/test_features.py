"""Transformers: every kind of table; polynomial and function features."""

import functools
import math
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import preprocessing
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import gramian as gm
from gramian.features import base

ONE_EACH = [gm.FunctionFeatures(["x", "exp"]), gm.PolynomialFeatures(), gm.RadialBasisFeatures(4), gm.StandardScaler()]
each = pytest.mark.parametrize("transformer", ONE_EACH, ids=lambda t: type(t).__name__)


def data(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@each
def test_every_kind_of_table_gives_the_same(transformer):
    X = data()
    names = ["size", "age", "height"]
    pandas, polars = pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)
    expected = clone(transformer).fit_transform(X)
    for table in (X.tolist(), np.asfortranarray(X), X.repeat(2, axis=0)[::2], pandas, polars, gm.scan(X)):
        assert_array_equal(clone(transformer).fit_transform(table), expected)
    on_frame = clone(transformer).fit(pandas)
    assert_array_equal(on_frame.transform(gm.scan(polars)), expected)
    assert list(on_frame.feature_names_in_) == names
    for table in (gm.scan(pandas), polars.lazy(), polars.to_arrow()):
        assert list(clone(transformer).fit(table).feature_names_in_) == names
        assert_array_equal(on_frame.transform(table), expected)
    out = on_frame.get_feature_names_out()
    assert len(out) == expected.shape[1]
    for kind, container in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        framed = clone(transformer).set_output(transform=kind).fit_transform(pandas)
        assert isinstance(framed, container)
        assert list(framed.columns) == list(out)


@each
def test_float32_is_kept_and_input_is_not_touched(transformer):
    X = data().astype(np.float32)
    X.flags.writeable = False
    out = clone(transformer).fit_transform(X)
    assert out.dtype == np.float32
    assert clone(transformer).fit_transform(pd.DataFrame(X, columns=list("abc"))).dtype == np.float32
    assert_allclose(out, clone(transformer).fit_transform(X.astype(np.float64)), rtol=1e-5, atol=1e-6)
    integers = np.arange(12, dtype=np.int8).reshape(4, 3)
    assert_array_equal(clone(transformer).fit_transform(integers), clone(transformer).fit_transform(integers * 1.0))


@each
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nonfinite_numbers_are_named(transformer, bad):
    X = pd.DataFrame(data(6000), columns=["size", "age", "height"])
    fitted = clone(transformer).fit(X)
    X.loc[5000, "age"] = bad
    for call in (fitted.transform, clone(transformer).fit):
        with pytest.raises(ValueError, match=r"'age'.*row 5000"):
            call(X)


@each
def test_other_columns_are_refused(transformer):
    fitted = clone(transformer).fit(pd.DataFrame(data(), columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        fitted.transform(gm.scan(data(d=2)))
    with pytest.raises(ValueError, match=r"Column 1 of X is 'c', .* fitted with 'b'"):
        fitted.transform(gm.scan(pd.DataFrame(data(), columns=["a", "c", "b"])))
    assert not hasattr(fitted.fit(gm.scan(data())), "feature_names_in_")


@each
def test_threads_and_blocks_do_not_matter(transformer):
    X = data(20_000, 3)
    with gm.threads(1):
        one = clone(transformer).fit(X)
        expected = one.transform(X)
    with gm.threads(4):
        assert_array_equal(clone(transformer).fit_transform(X), expected)
    assert_allclose(np.concatenate([one.transform(part) for part in np.array_split(X, 7)]), expected, rtol=1e-13)


def test_memory_is_checked_before_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(base, "memory", lambda: 1e4)
    for transformer in (gm.PolynomialFeatures(6), gm.RadialBasisFeatures(40)):
        with pytest.raises(ValueError, match=r"60 rows × \d+ columns would take .* GB, and this machine has"):
            transformer.fit_transform(data())
    with pytest.raises(ValueError, match="non-zeros would take"):
        gm.PolynomialFeatures(6).fit_transform(sp.csr_array(data()))
    with pytest.raises(ValueError, match=r"centres of 300 features would .* Give centers= a number"):
        gm.RadialBasisFeatures().fit(data(d=300))


def test_memory_of_a_system_that_does_not_say(monkeypatch):
    assert 2**20 < base.memory() < np.inf
    monkeypatch.delattr("os.sysconf")
    assert base.memory() == np.inf


POLYNOMIALS = [
    (d, degree, interaction, bias)
    for d, degree, interaction, bias in product(
        (1, 2, 5), (0, 1, 2, 3, 5, (0, 0), (0, 2), (2, 2), (2, 4), (4, 4)), (False, True), (False, True)
    )
]


def reference(d, degree, interaction, bias):
    return preprocessing.PolynomialFeatures(degree, interaction_only=interaction, include_bias=bias)


@pytest.mark.parametrize(("d", "degree", "interaction", "bias"), POLYNOMIALS)
def test_polynomials_are_scikit_learns(d, degree, interaction, bias):
    X = data(20, d)
    ours = gm.PolynomialFeatures(degree, interaction_only=interaction, include_bias=bias)
    low, high = degree if isinstance(degree, tuple) else (0, degree)
    if not bias and (high == 0 or (interaction and low > d)):
        with pytest.raises(ValueError, match="leave no column"):
            ours.fit(X)
        return
    theirs = reference(d, degree, interaction, bias).fit(X)
    assert_allclose(ours.fit_transform(X), theirs.transform(X), rtol=1e-13)
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    assert_array_equal(ours.powers_, theirs.powers_)
    assert ours.n_output_features_ == theirs.n_output_features_
    sparse = X * (np.random.default_rng(1).random(X.shape) < 0.4)
    expected = ours.transform(sparse)
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array):
        out = ours.transform(kind(sparse))
        assert sp.issparse(out)
        assert isinstance(out, sp.sparray) == issubclass(kind, sp.sparray)
        assert_allclose(out.toarray(), expected, rtol=1e-13)
        assert out.has_canonical_format


def test_polynomials_of_any_degree_and_dimension():
    x = np.linspace(-1, 1, 50)[:, None]
    assert_allclose(gm.PolynomialFeatures(200).fit_transform(x), x ** np.arange(201), rtol=1e-12)
    assert gm.PolynomialFeatures(10**9, interaction_only=True).fit(data()).get_feature_names_out()[-1] == "x0 x1 x2"
    X = data(5, 300)
    out = gm.PolynomialFeatures(2).fit_transform(X)
    assert out.shape[1] == math.comb(302, 2)
    i, j = np.triu_indices(300)
    assert_allclose(out[:, 301:], X[:, i] * X[:, j], rtol=1e-14)
    wide = sp.random_array((40, 50_000), density=1e-4, format="csr", random_state=np.random.default_rng(0))
    out = gm.PolynomialFeatures(2, include_bias=False).fit_transform(wide)
    assert_allclose(out.sum(axis=1), wide.sum(axis=1) + (wide.sum(axis=1) ** 2 + wide.power(2).sum(axis=1)) / 2)


def test_polynomials_of_odd_sparse_matrices():
    X = sp.csr_array(([2.0, 3.0, 0.0, 1.0], [1, 1, 0, 2], [0, 3, 4]), shape=(2, 3))  # a duplicate and a stored zero
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    out = gm.PolynomialFeatures(3).fit_transform(X)
    assert_allclose(out.toarray(), gm.PolynomialFeatures(3).fit_transform(np.array([[0.0, 5, 0], [0, 0, 1]])))
    assert gm.PolynomialFeatures().fit_transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("degree", [-1, 1.5, "2", (1,), (3, 2), (-1, 2), True, (0, 1.5), None])
def test_degree_is_checked(degree):
    with pytest.raises(ValueError, match=r"degree is .*; it must be an integer"):
        gm.PolynomialFeatures(degree).fit(data())


@pytest.mark.parametrize(("d", "degree", "interaction"), [(3000, 3, False), (1000, 800, True), (100, 10**9, False)])
def test_absurd_numbers_of_columns_are_refused(d, degree, interaction):
    with pytest.raises(ValueError, match=r"makes more than .* columns"):
        gm.PolynomialFeatures(degree, interaction_only=interaction).fit(np.ones((1, d)))


def test_products_beyond_the_range_are_named():
    X = data(5000, 2)
    X[4500, 1] = 1e200
    for table in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"'x1\^2' exceeds the range of float64 at row 4500"):
            gm.PolynomialFeatures(2).fit_transform(table)
    assert gm.PolynomialFeatures(2, interaction_only=True).fit_transform(X).max() > 1e199


TABLE = {
    "1": lambda x: x**0,
    "x": lambda x: x,
    "x^2": lambda x: x**2,
    "x^3": lambda x: x**3,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "abs": np.abs,
    "1/x": lambda x: x**-1,
}


@pytest.mark.parametrize("name", TABLE)
def test_named_functions(name):
    X = np.abs(data()) + 0.1
    features = gm.FunctionFeatures([name]).fit(X)
    expected = TABLE[name](X)
    assert_allclose(features.transform(X), expected[:, :1] if name == "1" else expected, rtol=1e-14)
    first = {"1": "1", "1/x": "1/x0"}.get(name, name.replace("x", "x0", 1) if name[0] == "x" else f"{name}(x0)")
    assert features.get_feature_names_out()[0] == first
    assert set(gm.features.functions.TABLE) == set(TABLE)


def test_functions_of_ones_own():
    X = np.abs(data(20, 2)) + 1

    def ratio(X):
        return X[:, 0] / X[:, 1]

    features = gm.FunctionFeatures(["1", ratio, lambda X: X > 2, np.log, functools.partial(np.power, 2.0)]).fit(X)
    assert_array_equal(
        features.get_feature_names_out(),
        ["1", "ratio", "f2(x0)", "f2(x1)", "log(x0)", "log(x1)", "f4(x0)", "f4(x1)"],
    )
    expected = np.column_stack([np.ones(20), ratio(X), X > 2, np.log(X), 2.0**X])
    assert_allclose(features.transform(X), expected)
    frame = pd.DataFrame(X, columns=["size", "age"])
    named = gm.FunctionFeatures({"share": ratio, "growth": "exp", "thrice": lambda X: X[:, [0, 1, 0]], "one": "1"})
    names = named.fit(frame).get_feature_names_out()
    assert list(names) == ["share", "growth(size)", "growth(age)", "thrice0", "thrice1", "thrice2", "one"]
    assert list(gm.FunctionFeatures({"first": lambda X: X[:, :1]}).fit(X).get_feature_names_out()) == ["first"]
    for alone in ("exp", np.exp):
        assert_array_equal(gm.FunctionFeatures(alone).fit_transform(X), np.exp(X))


def test_functions_of_the_document():
    x = np.linspace(0, 3, 40)
    y = 2 + 3 * x - x**2 + 0.5 * np.exp(x) + 4 * np.sin(x)
    phi = gm.FunctionFeatures(["1", "x", "x^2", "exp", "sin"]).fit_transform(x[:, None])
    assert_allclose(np.linalg.lstsq(phi, y)[0], [2, 3, -1, 0.5, 4], rtol=1e-9)
    scaled = make_pipeline(gm.FunctionFeatures(["x", "x^2"]), gm.StandardScaler()).fit_transform(x[:, None])
    assert_allclose(scaled.std(axis=0), 1)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([], "functions is empty"),
        (3, "it must be a list"),
        (["sine"], "neither a function nor one of the names 1, x, "),
        ([4], "neither a function nor one of"),
        (["x", "x"], "2 columns would be called 'x0'"),
        (["log"], r"Function 'log' gives \[.*nan.*\] at row 0, where x = \(.*\), and in 5 rows"),
        ([lambda X: X[:2, 0]], r"Function 'f0' gives shape \(2,\) for the 5 rows"),
        ({"mean": lambda X: X.mean()}, r"Function 'mean' gives shape \(\)"),
        ({"root": lambda X: np.sqrt(X + 0j)}, "Function 'root' gives values of type complex128"),
    ],
)
def test_functions_are_checked(functions, message):
    with pytest.raises(ValueError, match=message):
        gm.FunctionFeatures(functions).fit(-np.ones((5, 6)))


def test_functions_are_checked_in_transform():
    def signs(X):
        return X[:, X[0] > 0]

    features = gm.FunctionFeatures([signs]).fit([[1.0, 1.0]])
    with pytest.raises(ValueError, match="Function 'signs' gives 1 columns, and gave 2 in fit"):
        features.transform([[1.0, -1.0]])
    with pytest.raises(ValueError, match=r"Function 'log' gives .* at row 1"):
        gm.FunctionFeatures(["log"]).fit([[1.0]]).transform([[1.0], [0.0]])
    with pytest.raises(TypeError, match="sparse"):
        gm.FunctionFeatures().fit(sp.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="read-only"):
        gm.FunctionFeatures([lambda X: np.add(X, 1, out=X)]).fit(np.ones((2, 2)))


@pytest.mark.parametrize("kind", [gm.PolynomialFeatures, gm.RadialBasisFeatures, gm.FunctionFeatures])
def test_moments_are_not_rows(kind):
    with pytest.raises(ValueError, match="needs the rows, and Moments hold only their sums"):
        kind().fit(gm.moments(np.eye(3)))
