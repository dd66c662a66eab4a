"""Small tables are fitted without compiled loops: the answers are those of the loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import gramian as gm
from gramian._core.numerics import small_tables
from gramian._core.numerics.compiled import interpreted
from gramian.selection.features import leaps
from gramian.solvers.sparse import active_set
from gramian.spectral.embedding import affinities
from gramian.structures.hierarchy import nn_chain
from gramian.structures.hierarchy.nn_chain_small import loop
from processes import output_of

FIRST = """
import sys, numpy as np, gramian as gm
r = np.random.default_rng(0)
X = np.concatenate([r.normal(size=(50, 4)) + 3.0 * j for j in range(3)])
y = np.repeat([0, 1, 2], 50)
for model in ({models}):
    model.fit(X, y)
    if hasattr(model, "predict"):
        model.predict(X)
import gc
ours = (each for each in gc.get_objects() if type(each).__name__ == "CPUDispatcher")
print(sorted(each.__name__ for each in ours if each.signatures and each.__module__.startswith("gramian")))
"""
WITHOUT = (
    "gm.Agglomerative(3), gm.Agglomerative(3, linkage='single'), gm.Agglomerative(3, linkage='average'), "
    "gm.Divisive(3), gm.GaussianMixture(3), gm.KMeans(3), gm.Lasso(), gm.ElasticNet(), gm.selection.BestSubset(), "
    "gm.Ridge(kernel='rbf'), gm.SVC(kernel='rbf'), gm.SVR(alpha=0.01), gm.OneClassSVM(), gm.SpectralClustering(3)"
)


@pytest.fixture(params=["plain", "gaps", "duplicates", "grid"])
def table(request):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 3)) @ rng.standard_normal((3, 3))
    if request.param == "gaps":
        X += 10.0 * rng.integers(0, 3, (90, 1))
    elif request.param == "duplicates":
        X = X[rng.integers(0, 40, 90)]
    elif request.param == "grid":
        X = np.rint(X)
    return X


def both(monkeypatch, answer):
    found = []
    for numbers in (small_tables.SMALL, 0):
        monkeypatch.setattr(small_tables, "SMALL", numbers)
        found.append(answer())
    return found


def test_first_fits_compile_nothing():
    code = f"import warnings; warnings.simplefilter('ignore')\n{FIRST.format(models=WITHOUT)}"
    assert output_of(code).strip() == "[]"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["spanning_tree", *range(5)])
def test_chains_in_numpy_are_the_compiled_ones(method, weighted, table):
    n = len(table)
    weight = np.random.default_rng(0).random(n) + 0.1 if weighted else np.ones(n)
    answers = []
    for take in (loop("distance_rows", n), nn_chain.distance_rows):
        D = np.empty((n, n))
        take(table, np.ascontiguousarray(table.T), 0, D)
        answers.append(D)
    assert_array_equal(*answers)
    if method == "spanning_tree":
        name, arguments = method, (table,)
    else:
        values = np.ascontiguousarray(table.T) if method == nn_chain.CENTROIDS else answers[0]
        name, arguments = "merge_chain", (values, weight, method)
    pairs, heights = loop(name, n)(*(np.copy(each) if np.ndim(each) else each for each in arguments))
    expected = getattr(nn_chain, name)(*(np.copy(each) if np.ndim(each) else each for each in arguments))
    assert_array_equal(pairs, expected[0])
    assert_array_equal(heights, expected[1])
    order = np.argsort(heights, kind="stable")
    merges = nn_chain.in_order(pairs[order], heights[order], n)
    assert_array_equal(loop("in_order", n)(pairs[order], heights[order], n), merges)
    for quick, slow in zip(loop("spans", n)(merges), nn_chain.spans(merges), strict=True):
        assert_array_equal(quick, slow)
    assert_array_equal(loop("after", n)(merges, n - 4), nn_chain.after(merges, n - 4))


@pytest.mark.parametrize("split", ["kmeans", "principal"])
@pytest.mark.parametrize("weighted", [False, True])
def test_splits_in_numpy_are_the_compiled_ones(split, weighted, table, monkeypatch):
    weight = np.random.default_rng(0).integers(0, 3, len(table)) if weighted else None
    quick, slow = both(monkeypatch, lambda: gm.Divisive(6, split=split).fit(table, sample_weight=weight))
    assert_array_equal(quick.labels_, slow.labels_)
    assert_allclose(quick.heights_, slow.heights_, rtol=1e-7, atol=1e-9)
    assert_array_equal(quick.predict(table + 0.01), slow.predict(table + 0.01))
    assert quick.certificate_.holds


@pytest.mark.parametrize("kernel", [gm.kernels.RBF(0.7), gm.kernels.RBF([0.5, 1e-9, 2.0]), gm.kernels.Laplacian(1.0)])
def test_kernels_in_numpy_are_the_compiled_ones(kernel, table, monkeypatch):
    def answer():
        points = kernel.points(table)
        return kernel(table), kernel.times_among(points, table[:, 0]), kernel.times(points[:9], points, table[:, 0])

    for quick, slow in zip(*both(monkeypatch, answer), strict=True):
        assert_allclose(quick, slow, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_mixtures_in_numpy_are_the_compiled_ones(covariance, table, monkeypatch):
    X = table + 0.1 * np.random.default_rng(1).standard_normal(table.shape)

    def answer():
        model = gm.GaussianMixture(2, covariance=covariance, random_state=0)
        return model.fit(X, sample_weight=1.0 + np.arange(len(X)) % 3)

    quick, slow = both(monkeypatch, answer)
    assert_allclose(quick.objective_, slow.objective_, rtol=1e-10)
    assert_array_equal(quick.labels_, slow.labels_)


@pytest.mark.parametrize("perplexity", [2, 20])
def test_affinities_in_numpy_are_the_compiled_ones(perplexity, table, monkeypatch):
    quick, slow = both(monkeypatch, lambda: affinities.affinities(table, perplexity).toarray())
    assert_allclose(quick, slow, atol=1e-13)


@pytest.mark.parametrize("module", [active_set, leaps])
def test_few_columns_are_interpreted(module, monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 5))
    X[:, 4] = X[:, 3]
    y = X @ [3.0, 0.0, -1.0, 0.5, 0.0] + rng.standard_normal(60)
    found = []
    for most in (module.FEW_COLUMNS, 0):
        monkeypatch.setattr(module, "FEW_COLUMNS", most)
        model = gm.Lasso() if module is active_set else gm.selection.BestSubset()
        fitted = model.fit(X if module is active_set else X[:, :4], y)
        found.append(fitted.coef_ if module is active_set else fitted.get_support())
    assert_allclose(*found, rtol=1e-9, atol=1e-12)


def test_interpreted_functions_call_those_given_instead():
    n = 5
    merges = np.column_stack([[0, 5, 6, 7], [1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0]])
    assert_array_equal(interpreted(nn_chain.after)(merges, 3), nn_chain.after(merges, 3))
    D = np.arange(n * n, dtype=float).reshape(n, n)
    D = np.minimum(D, D.T)
    np.fill_diagonal(D, 0.0)
    calls = []

    def first(values, gone, start, m, low):
        calls.append(m)
        return nn_chain._first(values, gone, start, m, low)

    interpreted(nn_chain.merge_chain, _first=first)(D.copy(), np.ones(n), nn_chain.SINGLE)
    assert calls
