"""Trees of clusters: against SciPy, against the definitions of linkages, and as theory says of weights and units."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import cophenet, fcluster, is_valid_linkage, linkage
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

import gramian as gm
from gramian.structures.hierarchy.tree import largest_relative_gap

LINKAGES = ["single", "complete", "average", "ward"]
every_linkage = pytest.mark.parametrize("method", LINKAGES)


def rows(seed, n=80, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


def by_definition(X, method, weight=None):
    """Heights of merging the two nearest clusters until one is left, each distance from all pairs of rows."""
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    D = cdist(X, X)
    clusters = [[i] for i in range(len(X))]
    heights = []

    def distance(a, b):
        part = D[np.ix_(a, b)]
        if method == "single":
            return part.min()
        if method == "complete":
            return part.max()
        v, u = w[a].sum(), w[b].sum()
        if method == "average":
            return w[a] @ part @ w[b] / (v * u)
        gap = w[a] @ X[a] / v - w[b] @ X[b] / u
        return np.sqrt(2 * v * u / (v + u)) * np.linalg.norm(gap)

    while len(clusters) > 1:
        pairs = [(distance(a, b), i, j) for j, b in enumerate(clusters) for i, a in enumerate(clusters[:j])]
        height, i, j = min(pairs)
        heights.append(height)
        clusters[i] = clusters[i] + clusters.pop(j)
    return np.array(heights)


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0


# bottom up


@every_linkage
@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 2), (60, 3), (200, 1), (150, 50)])
def test_merges_are_scipys(method, n, d):
    X = rows(n + d, n, d)
    model = gm.Agglomerative(linkage=method).fit(X)
    expected = linkage(X, method)
    assert_allclose(model.heights_, expected[:, 2], rtol=1e-9)
    assert_array_equal(model.merges_[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    assert model.certificate_.holds
    for k in {1, 2, min(5, n), n}:
        assert same_partition(model.cut(k), fcluster(expected, k, "maxclust"))
    height = float(np.median(model.heights_))
    assert same_partition(model.cut(height=height), fcluster(expected, height * (1 + 1e-9), "distance"))


@every_linkage
def test_heights_by_definition_with_weights(method):
    X = rows(1, 14, 2)
    w = np.random.default_rng(0).uniform(0.5, 4.0, 14)
    model = gm.Agglomerative(linkage=method).fit(X, sample_weight=w)
    assert_allclose(model.heights_, by_definition(X, method, w), rtol=1e-9)
    assert model.certificate_.holds


@every_linkage
def test_weights_are_counts(method):
    X = rows(2, 50, 3)
    w = np.random.default_rng(1).integers(0, 4, 50)
    a = gm.Agglomerative(4, linkage=method).fit(X, sample_weight=w)
    b = gm.Agglomerative(4, linkage=method).fit(np.repeat(X, w, axis=0))
    far = b.heights_ > 1e-7
    assert_allclose(a.heights_, b.heights_[far], rtol=1e-8)
    assert_array_equal(a.labels_[np.repeat(np.arange(50), w)], b.labels_)
    assert_array_equal(a.predict(X), b.predict(X))
    assert a.labels_[w == 0].max() < 4
    assert_array_equal(a.labels_[w == 0], a.predict(X)[w == 0])
    if method == "ward":
        assert_allclose(a.objective_, b.objective_)


@every_linkage
def test_sparse_frame_rows_and_kernel_agree(method):
    X = np.where(np.abs(rows(3, 70, 6)) > 0.7, rows(3, 70, 6), 0.0)
    reference = gm.Agglomerative(3, linkage=method).fit(X)
    new = rows(4, 20, 6)
    for given in (sp.csr_array(X), sp.csc_matrix(X), pd.DataFrame(X, columns=list("abcdef")), gm.scan(X)):
        model = gm.Agglomerative(3, linkage=method).fit(given)
        assert_allclose(model.heights_, reference.heights_, rtol=1e-9)
        assert_array_equal(model.labels_, reference.labels_)
        assert_allclose(model.centers_, reference.centers_)
    sparse = gm.Agglomerative(3, linkage=method).fit(sp.csr_array(X))
    assert_array_equal(sparse.predict(sp.csr_array(new)), reference.predict(new))
    model = gm.Agglomerative(3, linkage=method, kernel="linear").fit(X)
    assert_allclose(model.heights_, reference.heights_, atol=1e-6)
    assert_array_equal(model.predict(new), reference.predict(new))
    assert not hasattr(model, "centers_")
    given = gm.Agglomerative(3, linkage=method, kernel=gm.kernels.Precomputed()).fit(X @ X.T)
    assert_allclose(given.heights_, model.heights_, atol=1e-9)


@every_linkage
def test_predict_by_the_linkage(method):
    X, new = rows(5, 40, 2), rows(6, 15, 2)
    model = gm.Agglomerative(4, linkage=method).fit(X)
    D = cdist(new, X)
    means = {"single": np.min, "complete": np.max, "average": np.mean}
    found = []
    for c in range(4):
        own = model.labels_ == c
        if method == "ward":
            found.append(((new - X[own].mean(axis=0)) ** 2).sum(axis=1) * own.sum() / (own.sum() + 1))
        else:
            found.append(means[method](D[:, own], axis=1))
    assert_array_equal(model.predict(new), np.argmin(found, axis=0))


def test_objectives_by_definition():
    X = rows(7, 60, 2)
    ward = gm.Agglomerative(5).fit(X)
    assert_allclose(ward.objective_, ((X - ward.centers_[ward.labels_]) ** 2).sum())
    assert_allclose(gm.Agglomerative(1).fit(X).objective_, ((X - X.mean(axis=0)) ** 2).sum())
    single = gm.Agglomerative(1, linkage="single").fit(X)
    from scipy.sparse.csgraph import minimum_spanning_tree

    assert_allclose(single.objective_, minimum_spanning_tree(cdist(X, X)).sum())
    complete = gm.Agglomerative(5, linkage="complete").fit(X)
    widest = max(pdist(X[complete.labels_ == c]).max(initial=0.0) for c in range(5))
    assert_allclose(complete.objective_, widest)


def test_heights_increase_and_are_ultrametric():
    X = rows(8, 40, 2)
    for method in LINKAGES:
        model = gm.Agglomerative(linkage=method).fit(X)
        assert (np.diff(model.heights_) >= 0).all()
        assert_allclose(cophenet(model.merges_), cophenet(linkage(X, method)), rtol=1e-9)
        assert is_valid_linkage(model.merges_)


def test_moons_need_single_linkage_and_auto_finds_blobs():
    X, y = make_moons(300, noise=0.04, random_state=0)
    assert same_partition(gm.Agglomerative(2, linkage="single").fit(X).labels_, y)
    assert not same_partition(gm.Agglomerative(2, linkage="ward").fit(X).labels_, y)
    X, y = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9], [9, 9], [20, 20]], random_state=1)
    for method in LINKAGES:
        model = gm.Agglomerative("auto", linkage=method).fit(X)
        assert same_partition(model.labels_, y) or method == "single"
    assert gm.Divisive("auto").fit(X).n_clusters_ in (2, 5)
    assert_array_equal(largest_relative_gap(np.array([0.0, 0.0, 0.0])), 1)
    assert largest_relative_gap(np.array([3.0])) == 2


@every_linkage
def test_units_order_and_threads(method):
    X = rows(9, 300, 4)
    reference = gm.Agglomerative(4, linkage=method).fit(X)
    for scale in (1e140, 1e-140) if method == "ward" else (1e200, 1e-200, 2.0**-1000):
        model = gm.Agglomerative(4, linkage=method).fit(X * scale)
        assert_allclose(model.heights_ / scale, reference.heights_, rtol=1e-9)
        assert_array_equal(model.labels_, reference.labels_)
    order = np.random.default_rng(0).permutation(300)
    assert_array_equal(gm.Agglomerative(4, linkage=method).fit(X[order]).labels_, reference.labels_[order])
    for count in (1, 2):
        with gm.threads(count):
            assert_array_equal(gm.Agglomerative(4, linkage=method).fit(X).merges_, reference.merges_)
    again = pickle.loads(pickle.dumps(reference))
    assert_array_equal(again.predict(X), reference.predict(X))
    assert str(again.summary()) == str(reference.summary())


@every_linkage
def test_equal_rows_and_few_rows(method):
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    model = gm.Agglomerative(3, linkage=method).fit(X)
    assert_array_equal(np.bincount(model.labels_), [4, 4, 4])
    with pytest.warns(gm.ConvergenceWarning, match="only 3 of the 12 rows are distinct"):
        labels = gm.Agglomerative(5, linkage=method).fit(X).labels_
    assert_array_equal(labels, np.repeat([0, 1, 2], 4))
    with pytest.raises(ValueError, match=r"n_clusters is 13, and there are only 12 rows"):
        gm.Agglomerative(13, linkage=method).fit(X)
    one = gm.Agglomerative(1, linkage=method).fit([[3.0, 4.0]])
    assert one.labels_.tolist() == [0]
    assert one.merges_.shape == (0, 4)
    assert one.predict([[0.0, 0.0]]).tolist() == [0]
    each = gm.Agglomerative(4, linkage=method).fit(rows(0, 4, 2))
    assert sorted(each.labels_) == [0, 1, 2, 3]
    same = gm.Agglomerative("auto", linkage=method).fit(np.ones((5, 2)))
    assert same.n_clusters_ == 1
    assert same.certificate_.holds


def test_a_wrong_tree_is_not_certified():
    model = gm.Agglomerative(3, linkage="average").fit(rows(0))
    model.merges_[:, 2] *= 1.001
    model.heights_ = model.merges_[:, 2]
    model._describe()
    assert not model.certificate_.holds
    assert "beyond" in str(model.certificate_)


def test_strings_have_a_tree():
    words = ["aaaa", "aaab", "bbbb", "bbba", "abab"]
    model = gm.Agglomerative(2, linkage="average", kernel=gm.kernels.Spectrum(2)).fit(words)
    assert model.labels_[0] == model.labels_[1]
    assert model.labels_[2] == model.labels_[3]
    assert model.predict(["aaaa"])[0] == model.labels_[0]


@pytest.mark.parametrize("kind", [gm.Agglomerative, gm.Divisive])
def test_wrong_parameters_are_named(kind):
    X = rows(0, 10, 2)
    for wrong, message in [
        ({"n_clusters": 2, "height": 1.0}, "cut by one of them"),
        ({"n_clusters": None}, "give one of them"),
        ({"n_clusters": "many"}, "n_clusters is 'many'"),
        ({"n_clusters": 0}, "at least 1"),
        ({"n_clusters": None, "height": -1.0}, "height is -1.0"),
    ]:
        with pytest.raises(ValueError, match=message):
            kind(**wrong).fit(X)
    model = kind(2).fit(X)
    with pytest.raises(ValueError, match="give one of them"):
        model.cut()
    with pytest.raises(ValueError, match="10 leaves"):
        model.cut(11)
    with pytest.raises(ValueError, match="their own weights"):
        kind(2).fit(gm.scan(X), sample_weight=np.ones(10))
    with pytest.raises(ValueError, match="first at row 1"):
        kind(2).fit([[0.0], [np.nan]])
    with pytest.raises(ValueError, match="first at row 0"):
        model.predict([[0.0, np.inf]])


def test_other_wrong_parameters():
    X = rows(0, 10, 2)
    with pytest.raises(ValueError, match="linkage is 'median'"):
        gm.Agglomerative(linkage="median").fit(X)
    with pytest.raises(ValueError, match="split is 'random'"):
        gm.Divisive(split="random").fit(X)
    with pytest.raises(ValueError, match="at least 5 leaves"):
        gm.Divisive(5, max_leaves=4).fit(X)
    with pytest.raises(TypeError, match="sparse"):
        gm.Divisive().fit(sp.csr_array(X))
    with pytest.raises(ValueError, match="must be square"):
        gm.Agglomerative(kernel=gm.kernels.Precomputed()).fit(X)
    with pytest.raises(ValueError, match="does not contain k\\(x, x\\)"):
        gm.Agglomerative(kernel=gm.kernels.Precomputed()).fit(X @ X.T).predict(X @ X.T)


# top down


def best_split(X):
    """The two clusters of the least sum of squares, from all partitions."""
    n = len(X)
    least = np.inf
    for code in range(1, 2 ** (n - 1)):
        side = (code >> np.arange(n)) & 1 > 0
        value = sum(((X[s] - X[s].mean(axis=0)) ** 2).sum() for s in (side, ~side))
        if value < least:
            least, best = value, side
    return least, best


@pytest.mark.parametrize("seed", range(5))
def test_splits_of_separated_rows_are_the_best(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.standard_normal((5, 2)), rng.standard_normal((6, 2)) + np.array([8.0, 3.0])])
    for split in ("kmeans", "principal"):
        model = gm.Divisive(2, split=split).fit(X)
        least, side = best_split(X)
        assert same_partition(model.labels_, side)
        assert_allclose(model.objective_, least)


@pytest.mark.parametrize("split", ["kmeans", "principal"])
def test_every_split_is_greedy_and_stays(split):
    X = rows(10, 120, 3)
    model = gm.Divisive(6, split=split).fit(X)
    assert is_valid_linkage(model.merges_)
    assert model.certificate_.holds
    before = model.cut(1)
    for k in range(2, 30):
        labels = model.cut(k)
        assert len(np.unique(labels)) == k
        assert len({(a, b) for a, b in zip(before, labels, strict=True)}) == k  # each cluster is inside one before
        value = sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in range(k))
        assert_allclose(model.history_[k - 1][1], value, rtol=1e-9)
        if model.heights_[120 - k] > model.heights_[119 - k]:
            assert same_partition(labels, fcluster(model.merges_, k, "maxclust"))
        before = labels
    values = [value for _, value, _ in model.history_]
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert_allclose(values[-1], 0.0, atol=1e-9 * values[0])
    assert_array_equal(model.predict(X), model.labels_)
    assert model.heights_[114] > model.cut_height_ > model.heights_[113]
    assert_array_equal(model.cut(height=model.cut_height_), model.labels_)
    at = gm.Divisive(None, height=model.cut_height_, split=split).fit(X)
    assert_array_equal(at.labels_, model.labels_)


def test_bisecting_k_means_has_converged():
    X = rows(11, 200, 4)
    model = gm.Divisive(2).fit(X)
    nearest = cdist(X, model.centers_).argmin(axis=1)
    assert_array_equal(nearest, model.labels_)
    assert model.objective_ <= gm.Divisive(2, split="principal").fit(X).objective_


def test_top_down_weights_units_and_leaves():
    X = rows(12, 90, 3)
    w = np.random.default_rng(2).integers(0, 4, 90)
    a = gm.Divisive(5).fit(X, sample_weight=w)
    b = gm.Divisive(5).fit(np.repeat(X, w, axis=0))
    assert_allclose(a.heights_, b.heights_, rtol=1e-8, atol=1e-9)
    assert_array_equal(a.predict(X), b.predict(X))
    assert_array_equal(a.labels_, a.predict(X))
    reference = gm.Divisive(5).fit(X)
    for scale in (1e140, 1e-140):
        model = gm.Divisive(5).fit(X * scale)
        assert_array_equal(model.labels_, reference.labels_)
        assert_allclose(model.heights_ / scale, reference.heights_, rtol=1e-9)
        assert model.certificate_.holds
    assert_array_equal(gm.Divisive(5).fit(X + 1e9).labels_, reference.labels_)
    few = gm.Divisive(5, max_leaves=8).fit(X)
    assert few.merges_.shape == (7, 4)
    assert_array_equal(few.labels_, reference.labels_)
    assert few.merges_[-1, 3] == 90
    with pytest.warns(gm.ConvergenceWarning, match="only 2 of the 4 rows are distinct"):
        twice = gm.Divisive(3).fit([[0.0], [0.0], [1.0], [1.0]])
    assert twice.n_clusters_ == 2
    one = gm.Divisive(1).fit(np.ones((3, 2)))
    assert one.predict([[0.0, 0.0]]).tolist() == [0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.Divisive("auto").fit(np.ones((3, 2)))
    again = pickle.loads(pickle.dumps(reference))
    assert_array_equal(again.predict(X), reference.labels_)
    assert "kmeans splits" in str(again.certificate_)
    assert str(again.summary()).startswith("Divisive")
