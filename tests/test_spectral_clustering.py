"""Spectral clustering: against the definitions with whole eigendecompositions, and cuts against brute force."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.cluster import SpectralClustering as Reference
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

import gramian as gm
from gramian.kernels import RBF, Precomputed
from gramian.solvers.eigen import krylov
from gramian.spectral.clustering.partition import k_means, rounded, rows_of_unit_length

CUTS = ["normalized", "ratio"]
every_cut = pytest.mark.parametrize("cut", CUTS)


def cut_of(W, labels, cut):
    """By its definition, one cluster after the other."""
    total = 0.0
    for c in np.unique(labels):
        own = labels == c
        leaves = W[np.ix_(own, ~own)].sum()
        total += leaves / (W[own].sum() if cut == "normalized" else own.sum())
    return total


def community(seed, sizes=(5, 4), inside=0.9, between=0.15):
    """A small random graph, connected along a path."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    W = np.where(group[:, None] == group, inside, between) * rng.uniform(0.2, 1.0, (n, n))
    W = np.triu(W, 1)
    return W + W.T, group


@every_cut
@pytest.mark.parametrize("seed", range(3))
def test_cut_value_bound_and_best_cut(cut, seed):
    W, group = community(seed)
    model = gm.SpectralClustering(2, kernel=Precomputed(), cut=cut, random_state=0).fit(W)
    assert_allclose(model.cut_value_, cut_of(W, model.labels_, cut))
    values = [
        cut_of(W, np.array(code), cut) for code in itertools.product([0, 1], repeat=len(W)) if 0 < sum(code) < len(W)
    ]
    assert model.bound_ <= min(values) + 1e-12
    assert_allclose(model.cut_value_, min(values))
    assert adjusted_rand_score(model.labels_, group) == 1.0


@every_cut
@pytest.mark.parametrize("n", [60, 820])
def test_eigenvectors_by_definition(cut, n):
    X, _ = make_blobs(n, centers=3, cluster_std=2.0, random_state=0)
    h = 1.5
    K = RBF(h)(X)
    model = gm.SpectralClustering(3, kernel=RBF(h), cut=cut, random_state=0, keep_affinity=True, tol=1e-9).fit(X)
    degree = K.sum(axis=1)
    if cut == "normalized":
        values, vectors = np.linalg.eigh(K / np.sqrt(np.outer(degree, degree)))
        values, vectors = values[::-1][:3], vectors[:, ::-1][:, :3]
    else:
        values, vectors = np.linalg.eigh(np.diag(degree) - K)
        values, vectors = values[:3], vectors[:, :3]
    assert_allclose(model.eigenvalues_, values, atol=1e-9 * max(1.0, degree.max()))
    H = rows_of_unit_length(vectors) if cut == "normalized" else vectors
    turn = np.linalg.svd(H.T @ model.embedding_)
    assert_allclose(H @ (turn[0] @ turn[2]), model.embedding_, atol=1e-6)
    assert_allclose(model.bound_, 3 - values.sum() if cut == "normalized" else values.sum(), atol=1e-8)
    assert model.certificate_.holds
    assert_array_equal(model.affinity_, K)
    assert_allclose(model.cut_value_, cut_of(K, model.labels_, cut))
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("assign", ["kmeans", "rounding"])
@pytest.mark.parametrize("neighbors", [None, 10])
@every_cut
def test_rings_and_moons_where_means_fail(assign, neighbors, cut):
    for X, y in (
        make_circles(300, factor=0.4, noise=0.04, random_state=1),
        make_moons(300, noise=0.05, random_state=2),
    ):
        model = gm.SpectralClustering(2, neighbors=neighbors, assign=assign, cut=cut, random_state=0).fit(X)
        assert adjusted_rand_score(model.labels_, y) == 1.0
        assert_array_equal(model.predict(X), model.labels_)
        near = X + 1e-4 * np.random.default_rng(0).standard_normal(X.shape)
        assert adjusted_rand_score(model.predict(near), y) > 0.97


def test_neighbours_are_joined_as_scikit_learn_joins_them():
    X, _ = make_blobs(400, centers=4, n_features=5, cluster_std=4.0, random_state=3)
    for columns in (5, 20):
        Z = np.column_stack([X] * (columns // 5))
        model = gm.SpectralClustering(4, neighbors=8, random_state=0, keep_affinity=True).fit(Z)
        A = kneighbors_graph(Z, 8)
        assert_allclose(model.affinity_.toarray(), 0.5 * (A + A.T).toarray())
    assert model.eigenvalues_[1] < 1.0 - 1e-6
    theirs = Reference(4, affinity="precomputed", random_state=0).fit(model.affinity_.toarray())
    assert adjusted_rand_score(model.labels_, theirs.labels_) > 0.9  # their rows are not of unit length
    assert model.cut_value_ <= 1.02 * cut_of(model.affinity_.toarray(), theirs.labels_, "normalized")
    sparse = gm.SpectralClustering(4, kernel=Precomputed(), random_state=0).fit(model.affinity_)
    assert adjusted_rand_score(sparse.labels_, model.labels_) == 1.0
    assert_array_equal(sparse.predict(model.affinity_), sparse.labels_)


@every_cut
def test_weights_are_counts(cut):
    X, _ = make_blobs(80, centers=3, cluster_std=1.5, random_state=4)
    w = np.random.default_rng(0).integers(0, 4, 80)
    given = {"n_clusters": 3, "kernel": RBF(1.0), "cut": cut, "random_state": 0}
    a = gm.SpectralClustering(**given).fit(X, sample_weight=w)
    b = gm.SpectralClustering(**given).fit(np.repeat(X, w, axis=0))
    assert_allclose(a.eigenvalues_, b.eigenvalues_, atol=1e-10)
    assert_allclose([a.cut_value_, a.bound_], [b.cut_value_, b.bound_], atol=1e-10)
    assert_array_equal(a.labels_[np.repeat(np.arange(80), w)], b.labels_)
    assert_array_equal(a.predict(X), b.predict(X))
    assert_array_equal(a.labels_, a.predict(X))
    W = RBF(1.0)(X)
    c = gm.SpectralClustering(**{**given, "kernel": Precomputed()}).fit(W, sample_weight=w)
    assert_array_equal(c.labels_, a.labels_)
    assert_array_equal(c.predict(W), a.labels_)


def test_every_source_and_threads():
    X, _ = make_blobs(900, centers=4, n_features=3, random_state=5)
    for given in ({}, {"neighbors": 10}):
        reference = gm.SpectralClustering(4, random_state=0, **given).fit(X)
        for source in (np.asfortranarray(X), pd.DataFrame(X, columns=list("abc")), gm.scan(X), sp.csr_array(X)):
            model = gm.SpectralClustering(4, random_state=0, **given).fit(source)
            assert_array_equal(model.labels_, reference.labels_)
        for count in (1, 2):
            with gm.threads(count):
                model = gm.SpectralClustering(4, random_state=0, **given).fit(X)
                assert_array_equal(model.embedding_, reference.embedding_)
        again = pickle.loads(pickle.dumps(reference))
        assert_array_equal(again.predict(X), reference.labels_)
        assert str(again.summary()).startswith("SpectralClustering")
        order = np.random.default_rng(0).permutation(900)
        turned = gm.SpectralClustering(4, random_state=1, **given).fit(X[order])
        assert_array_equal(turned.labels_, reference.labels_[order])


@every_cut
def test_parts_of_a_graph(cut):
    W = np.kron(np.eye(4), np.ones((3, 3)))
    W[9:, 9:] = 0.0  # three points alone
    given = {"kernel": Precomputed(), "cut": cut, "random_state": 0}
    exact = gm.SpectralClustering(6, **given).fit(W)
    assert_array_equal(np.bincount(exact.labels_), [3, 3, 3, 1, 1, 1])
    assert exact.cut_value_ == 0
    assert exact.certificate_.holds
    for matrix in (W, sp.csr_array(W)):
        with pytest.warns(gm.ConvergenceWarning, match="disconnected: it has 6 components"):
            model = gm.SpectralClustering(2, **given).fit(matrix)
        assert model.cut_value_ == 0
        assert model.certificate_.holds
        assert_array_equal(np.bincount(model.labels_), [9, 3])
    assert len(np.unique(gm.SpectralClustering("auto", **given).fit(W).labels_)) >= 6


def ring(n, reach=1):
    A, i = np.zeros((n, n)), np.arange(n)
    for step in range(1, reach + 1):
        A[i, (i + step) % n] = A[(i + step) % n, i] = 1.0
    return A


def alike(k, m):
    """Equal clusters, any two joined in the same way: an eigenvalue that repeats k − 1 times."""
    rng = np.random.default_rng(0)
    inside, between = rng.random((m, m)), 0.02 * rng.random((m, m))
    return np.kron(np.eye(k), inside + inside.T) + np.kron(1.0 - np.eye(k), between + between.T)


REPEATS = {
    "ring": ring(900, 3),
    "torus": np.kron(ring(30), np.eye(30)) + np.kron(np.eye(30), ring(30)),
    "alike": alike(10, 90),
    "complete": 1.0 - np.eye(900),
}


@every_cut
@pytest.mark.parametrize("graph", REPEATS)
def test_eigenvalues_that_repeat_are_all_found(graph, cut):
    W = REPEATS[graph]
    degree = W.sum(axis=1)
    L = np.diag(degree) - W
    want = np.linalg.eigvalsh(L / np.sqrt(np.outer(degree, degree)) if cut == "normalized" else L)[:9]
    model = gm.SpectralClustering(9, kernel=Precomputed(), cut=cut, random_state=0).fit(sp.csr_array(W))
    found = 1.0 - model.eigenvalues_ if cut == "normalized" else model.eigenvalues_
    assert_allclose(found, want, atol=1e-9 * max(1.0, degree.max() * (cut == "ratio")))
    assert model.certificate_.holds
    if graph == "alike" and cut == "normalized":
        best = gm.SpectralClustering(10, kernel=Precomputed(), random_state=0).fit(W)
        assert adjusted_rand_score(best.labels_, np.repeat(np.arange(10), 90)) == 1.0


@every_cut
@pytest.mark.parametrize("n_clusters", [2, 29, 30])
def test_few_points_and_nearly_as_many_clusters(cut, n_clusters):
    X = np.random.default_rng(0).random((30, 2))
    model = gm.SpectralClustering(n_clusters, neighbors=8, cut=cut, random_state=0).fit(X)
    assert model.certificate_.holds
    assert model.n_clusters_ == n_clusters
    assert model.bound_ <= model.cut_value_ + 1e-9


def test_points_along_a_line():
    """Eigenvalues that lie close together, and what is said where they are not found."""
    X = np.column_stack([np.arange(1500.0), np.zeros(1500)])
    model = gm.SpectralClustering(2, neighbors=10, random_state=0).fit(X)
    assert np.bincount(model.labels_).tolist() == [750, 750]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gramian.spectral.clustering.relaxation.WHOLE", 0)
        patch.setattr(
            "gramian.spectral.clustering.relaxation.krylov", lambda *a, **b: krylov(*a, **{**b, "max_products": 90})
        )
        with pytest.warns(gm.ConvergenceWarning, match="have a residual of"):
            poor = gm.SpectralClustering(2, neighbors=10, random_state=0).fit(X)
    assert not poor.certificate_.holds


@pytest.mark.parametrize("seed", range(5))
def test_means_are_as_good_as_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    H, weight = rng.standard_normal((700, 6)), rng.integers(1, 4, 700).astype(float)
    first = np.where(rng.random(700) < 0.5, 0, 3)  # most labels have no row
    labels, centers = k_means(H, weight, first, 5, rng)
    peer = KMeans(6, n_init=5, tol=0, random_state=seed).fit(H, sample_weight=weight)
    value = weight @ ((H - centers[labels]) ** 2).sum(axis=1)
    assert value <= 1.03 * peer.inertia_
    assert len(np.unique(labels)) == 6


def test_equal_points_are_not_divided():
    W = np.kron(np.eye(2), np.ones((3, 3)))
    with pytest.warns(gm.ConvergenceWarning, match="only 2 clusters"):
        model = gm.SpectralClustering(4, kernel=Precomputed(), random_state=0).fit(W)
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])


def test_parts_of_neighbours_go_to_the_nearest():
    X = np.concatenate([np.random.default_rng(s).standard_normal((n, 2)) + at for s, n, at in PARTS])
    with pytest.warns(gm.ConvergenceWarning, match="disconnected: it has 3 components"):
        model = gm.SpectralClustering(2, neighbors=4, random_state=0).fit(X)
    assert_array_equal(model.labels_, np.repeat([1, 0, 0], [30, 25, 8]))
    assert_array_equal(model.predict(X), model.labels_)


PARTS = [(0, 30, [0.0, 0.0]), (1, 25, [100.0, 0.0]), (2, 8, [140.0, 0.0])]


def test_few_rows_and_few_clusters():
    X = np.random.default_rng(0).standard_normal((6, 2))
    for cut in CUTS:
        one = gm.SpectralClustering(1, cut=cut).fit(X)
        assert one.labels_.tolist() == [0] * 6
        assert_allclose(one.cut_value_, 0.0, atol=1e-12)
        each = gm.SpectralClustering(6, cut=cut).fit(X)
        assert sorted(each.labels_) == list(range(6))
        assert_array_equal(each.predict(X), each.labels_)
        assert gm.SpectralClustering(1, cut=cut).fit(X[:1]).labels_.tolist() == [0]
    assert gm.SpectralClustering("auto").fit(X[:1]).n_clusters_ == 1
    with pytest.raises(ValueError, match="n_clusters is 7, and there are only 6 rows"):
        gm.SpectralClustering(7).fit(X)
    with pytest.warns(gm.ConvergenceWarning, match="only 2 of the 10 rows are distinct"):
        model = gm.SpectralClustering(3, kernel=RBF(1.0)).fit(np.repeat([[0.0], [1.0]], 5, axis=0))
    assert set(model.labels_) == {0, 1}


def test_auto_finds_separated_clusters():
    X, y = make_blobs(300, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=6)
    for given in ({}, {"neighbors": 10}, {"cut": "ratio"}):
        model = gm.SpectralClustering("auto", random_state=0, **given).fit(X)
        assert model.n_clusters_ == 4
        assert adjusted_rand_score(model.labels_, y) == 1.0
    assert gm.SpectralClustering("auto").fit(make_moons(300, noise=0.05, random_state=0)[0]).n_clusters_ == 2


def test_rounding_turns_indicators_back():
    labels = np.random.default_rng(0).integers(0, 5, 200)
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    H = np.eye(5)[labels] @ Q + 0.05 * np.random.default_rng(2).standard_normal((200, 5))
    found, R = rounded(H, np.ones(200), np.ones(200))
    assert adjusted_rand_score(found, labels) == 1.0
    assert_allclose(R @ R.T, np.eye(5), atol=1e-12)
    poor = np.random.default_rng(3).integers(0, 5, 200)
    found, centers = k_means(H, np.ones(200), poor, 10, np.random.default_rng(0))
    assert adjusted_rand_score(found, labels) == 1.0
    assert_allclose(centers, [H[found == c].mean(axis=0) for c in range(5)])


def test_wrong_parameters_and_affinities_are_named():
    X = np.random.default_rng(0).standard_normal((20, 2))
    for wrong, message in [
        ({"kernel": "linear"}, "not negative"),
        ({"kernel": RBF(1.0), "neighbors": 5}, "one of them"),
        ({"neighbors": 20}, "at most 19"),
        ({"cut": "minimum"}, "cut is 'minimum'"),
        ({"assign": "none"}, "assign is 'none'"),
        ({"n_clusters": "all"}, "n_clusters is 'all'"),
        ({"kernel": Precomputed()}, "must be square"),
    ]:
        with pytest.raises(ValueError, match=message):
            gm.SpectralClustering(**{"n_clusters": 2, **wrong}).fit(X)
    with pytest.raises(ValueError, match="has no weights"):
        gm.SpectralClustering(2, neighbors=3).fit(X, sample_weight=np.arange(20))
    with pytest.raises(ValueError, match="their own weights"):
        gm.SpectralClustering(2).fit(gm.scan(X), sample_weight=np.ones(20))
    W = np.abs(np.random.default_rng(0).standard_normal((4, 4)))
    for matrix in (W, sp.csr_array(W)):
        with pytest.raises(ValueError, match="not symmetric"):
            gm.SpectralClustering(2, kernel=Precomputed()).fit(matrix)
    with pytest.raises(ValueError, match="NaN"):
        gm.SpectralClustering(2).fit([[np.nan], [1.0]])
