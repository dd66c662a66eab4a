"""Kernels of strings, graphs, nodes and distributions against their definitions."""

import pickle
from collections import Counter
from itertools import combinations, product

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import dblquad, quad
from scipy.linalg import expm
from scipy.stats import multivariate_normal

import gramian as gm
from gramian.kernels.structured import adjacency, diffusion, kmers, mismatches, strings, walks
from gramian.kernels.structured.diffusion import Diffusion
from gramian.kernels.structured.distributions import ProbabilityProduct
from gramian.kernels.structured.graphs import RandomWalk
from gramian.kernels.structured.strings import Gappy, Mismatch, Spectrum
from gramian.kernels.vectors.inner_products import Linear
from gramian.rows import threads

X1 = "IPTSALVKETLALLSTHRTLIIANETLRIPVPVHKNHQLCTEEIFQGIGTLESQTVQGGTVERLFKNLSLIKKYIDGQKKKCGEERRRVNQFLDYLQEFLGVMNTEWI"
X2 = (
    "PHRRDLCSRSIWLARKIRSDLTALTESYVKHQGLWSELTEAERLQENLQAYRTFHVLLARLLEDQQVHFTPTGDFHQAIHTLLLQVAAFAYQIEELMILLEYKIPRNEADGMLFEKK"
    "LWGLKVLQELSQWTVRSIHDLRFISSHTGIP"
)


def texts(letters="abc", n=12, longest=9, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), rng.integers(0, longest + 1))) for _ in range(n)]


def assert_psd(K):
    assert_allclose(K, K.T, atol=1e-12 * np.abs(K).max())
    assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.abs(K).max()


def assert_whole(kernel, X, Z):
    """Matrix, halves, diagonal and slices agree, and the matrix is PSD."""
    kernel = kernel.fitted(X)
    K, A, B = kernel(X), kernel.points(X), kernel.points(Z)
    assert_psd(K)
    assert_allclose(kernel(X, X), K, rtol=1e-11, atol=1e-14)
    assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-12)
    whole = kernel(X, Z)
    assert_allclose(kernel.block(A[2:5], B[1:]), whole[2:5, 1:], rtol=1e-11, atol=1e-14)
    assert_allclose(kernel.block(A[1:][1:3], B[1:][1:2]), whole[2:4, 2:3], rtol=1e-11, atol=1e-14)
    assert_allclose(kernel.block(A[np.array([3, 0, 3])], B[::2]), whole[[3, 0, 3], ::2], rtol=1e-11, atol=1e-14)
    assert_allclose(kernel(Z, X), whole.T, rtol=1e-11, atol=1e-14)
    assert kernel.validity().valid is True
    assert kernel.block(A[:0], B).shape == (0, len(B))
    assert kernel.diag(A[:0]).shape == (0,)
    with threads(1):
        one = kernel(X)
    with threads(2):
        assert_array_equal(kernel(X), one)
    own = np.sqrt(np.where(np.diag(K) > 0, np.diag(K), 1.0))
    positive = np.diag(K) > 0
    shown = kernel.normalized()([x for x, p in zip(X, positive, strict=True) if p])
    assert_allclose(shown, (K / own[:, None] / own)[np.ix_(positive, positive)], rtol=1e-10, atol=1e-13)


# Strings


def direct(strings_, k):
    return [Counter(s[i : i + k] for i in range(len(s) - k + 1)) for s in strings_]


def dot(a, b):
    return sum(count * b.get(word, 0) for word, count in a.items())


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 40])
@pytest.mark.parametrize("letters", ["ab", "ACDEFGHIKLMNPQRSTVWY", "aé\u4e2d\U0001f600\ud800\x00"])
def test_spectrum_is_direct_counting(k, letters):
    X, Z = texts(letters, 10, 60), texts(letters + "z", 7, 60, seed=1)
    a, b = direct(X, k), direct(Z, k)
    assert_array_equal(Spectrum(k)(X, Z), [[dot(p, q) for q in b] for p in a])
    assert_array_equal(Spectrum(k)(X), [[dot(p, q) for q in a] for p in a])
    words, counts = Spectrum(k).counts(X)
    assert words == sorted({w for c in a for w in c})
    assert_array_equal(counts.toarray(), np.array([[c[w] for w in words] for c in a]).reshape(counts.shape))
    assert_array_equal(Spectrum(k).features(X), counts.toarray())


def test_words_of_any_length_are_exact():
    """Where 62 bits do not hold a word, words are ranked on the way."""
    long = "".join(chr(i) for i in range(100, 400))
    X = [long, long[1:], long[:-1], long[:150] + "x" + long[151:], long[5:] + long]
    for k in (7, 8, 30, 150):
        a = direct(X, k)
        assert_array_equal(Spectrum(k)(X), [[dot(p, q) for q in a] for p in a])
        assert_array_equal(Spectrum(k)(X, X[::-1]), [[dot(p, q) for q in a[::-1]] for p in a])


def test_amino_acids():
    words, counts = Spectrum(3).counts([X1, X2])
    assert counts[:, [words.index("LQE")]].toarray().ravel().tolist() == [1, 2]
    assert Spectrum(3)([X1], [X2])[0, 0] == dot(*direct([X1, X2], 3))


def test_strings_come_in_many_coats():
    X = ["abab", "", "b", "aab"]
    K = Spectrum(2)(X)
    assert_array_equal(K[1], 0)
    for coat in (
        tuple(X),
        np.array(X),
        np.array(X, dtype=object),
        np.array(X)[:, None],
        pd.Series(X),
        pd.DataFrame({"s": X}),
        pl.Series(X),
        pl.DataFrame({"s": X}),
        [s.encode() for s in X],
        np.array([s.encode() for s in X]),
        [X[0], X[1].encode(), X[2], X[3].encode()],
        [[s] for s in X],
        iter(X),
    ):
        assert_array_equal(Spectrum(2)(coat), K)
    assert_array_equal(Spectrum(1)([b"\xe9"], ["é"]), [[1.0]])
    assert Spectrum(2)([]).shape == (0, 0)
    assert_array_equal(Spectrum(2)(["", "a"]), np.zeros((2, 2)))
    assert_array_equal(Spectrum(2)(["", "a"], X), np.zeros((2, 4)))


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        ("abc", TypeError, "single string 'abc'"),
        (b"abc", TypeError, "single string"),
        (["a", 3], TypeError, "Row 1 is 3, of type int"),
        (["a", "b", None], TypeError, "Row 2 is None"),
        (pd.Series(["a", np.nan]), TypeError, "Row 1 is nan"),
        (np.array([["a", "b"]]), ValueError, r"shape \(1, 2\)"),
        (sp.eye_array(2), TypeError, "sparse matrix"),
    ],
)
def test_what_is_no_list_of_strings_is_refused(X, error, words):
    for kernel in (Spectrum(2), Mismatch(2, 1, "ab"), Gappy(2)):
        with pytest.raises(error, match=words):
            kernel(X)


def neighbours_by_force(X, k, m, alphabet):
    every = ["".join(w) for w in product(sorted(set(alphabet)), repeat=k)]
    near = np.zeros((len(X), len(every)))
    for i, s in enumerate(X):
        for j in range(len(s) - k + 1):
            word = s[j : j + k]
            if set(word) <= set(alphabet):
                near[i] += [sum(a != b for a, b in zip(word, u, strict=True)) <= m for u in every]
    return every, near


@pytest.mark.parametrize(("k", "m"), [(1, 0), (1, 1), (2, 1), (3, 0), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (5, 2)])
@pytest.mark.parametrize("alphabet", ["a", "ab", "abc", "cabd"])
def test_mismatch_is_brute_force(k, m, alphabet):
    X, Z = texts(alphabet), texts(alphabet + "z", 8, seed=1)
    every, a = neighbours_by_force(X, k, m, alphabet)
    _, b = neighbours_by_force(Z, k, m, alphabet)
    kernel = Mismatch(k, m, alphabet)
    assert_array_equal(kernel(X), a @ a.T)
    assert_array_equal(kernel(X, Z), a @ b.T)
    assert_array_equal(kernel.diagonal(Z), (b * b).sum(axis=1))
    words, counts = kernel.counts(Z)
    assert words == [u for u, used in zip(every, b.any(axis=0), strict=True) if used]
    assert_array_equal(counts.toarray(), b[:, b.any(axis=0)])
    assert_array_equal(kernel.features(Z), counts.toarray())


def test_common_neighbours_are_counted():
    for k, m, q in product(range(1, 5), range(5), range(1, 5)):
        if m > k:
            continue
        every = list(product(range(q), repeat=k))
        zero = (0,) * k
        for agree, count in enumerate(mismatches.common_neighbours(k, m, q)):
            other = (0,) * agree + (1,) * (k - agree)
            if q == 1 and agree < k:
                continue
            near = sum(
                sum(x != y for x, y in zip(u, zero, strict=True)) <= m
                and sum(x != y for x, y in zip(u, other, strict=True)) <= m
                for u in every
            )
            assert count == near


def test_mismatch_takes_its_alphabet_from_data():
    X = texts("abcd")
    fitted = Mismatch(3, 1).fitted(X)
    assert fitted.alphabet == "abcd"
    assert fitted.fitted(["xyz"]) is fitted
    assert_array_equal(Mismatch(3, 1)(X), fitted(X))
    assert_array_equal(Mismatch(3, 1).counts(X)[1].toarray(), fitted.features(X))
    assert Mismatch(2).fitted(["tuoa"]).alphabet == "aotu"
    with pytest.raises(ValueError, match=r"fitted\(X\)"):
        Mismatch(3, 1)(X, X)
    with pytest.raises(ValueError, match="no alphabet"):
        Mismatch(3, 1)(["", ""])


def subsequences(s, k, decay, gap):
    found = Counter()
    for places in combinations(range(len(s)), k):
        skipped = places[-1] - places[0] + 1 - k
        if gap is None or skipped <= gap:
            found["".join(s[i] for i in places)] += decay**skipped
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("gap", [None, 0, 1, 3])
@pytest.mark.parametrize("decay", [0.5, 1.0, 0.3])
def test_gappy_is_brute_force(k, gap, decay):
    X, Z = texts(), texts("abcé", 7, seed=1)
    a, b = ([subsequences(s, k, decay, gap) for s in part] for part in (X, Z))
    kernel = Gappy(k, decay=decay, gap=gap)
    assert_allclose(kernel(X, Z), [[dot(p, q) for q in b] for p in a], rtol=1e-13)
    assert_allclose(kernel(X), [[dot(p, q) for q in a] for p in a], rtol=1e-13)
    words, counts = kernel.counts(X)
    assert words == sorted({w for c in a for w in c})
    assert_allclose(counts.toarray(), np.array([[c[w] for w in words] for c in a]), rtol=1e-13)
    assert_array_equal(kernel.features(X), counts.toarray())


def test_string_kernels_meet():
    X, Z = texts(n=9, longest=20), texts("abcd", 9, 20, seed=3)
    assert_array_equal(Mismatch(3, 0, "abcd")(X, Z), Spectrum(3)(X, Z))
    assert_array_equal(Gappy(3, gap=0)(X, Z), Spectrum(3)(X, Z))
    assert_allclose(Gappy(3, gap=20)(X, Z), Gappy(3)(X, Z), rtol=1e-13)


@pytest.mark.parametrize("kernel", [Spectrum(2), Mismatch(3, 1), Gappy(2), Gappy(3, gap=2)])
def test_string_kernels_are_whole(kernel):
    X = [*texts(n=14), ""]
    assert_whole(kernel, X, texts("abcd", 9, seed=2))
    kernel = kernel.fitted(X)
    points = kernel.points(X)
    assert kernel.points(points) is points
    back = pickle.loads(pickle.dumps(points[3:9]))
    assert_array_equal(kernel.block(back, back), kernel(X)[3:9, 3:9])


def test_many_strings_are_cut_into_panels():
    X = texts("abcd", 600, 12)
    features = Spectrum(3).features(X)
    assert_array_equal(Spectrum(3)(X), features @ features.T)
    assert_array_equal(Spectrum(3)(X, X[:100]), (features @ features.T)[:, :100])


def test_parameters_of_string_kernels():
    for k in (0, -1, 2.5, "3", True, None):
        for make in (Spectrum, Mismatch, Gappy):
            with pytest.raises(ValueError, match="k is"):
                make(k)
    for m in (-1, 4, 1.0, True):
        with pytest.raises(ValueError, match="m is"):
            Mismatch(3, m)
    for alphabet in ("", None, ["a"]):
        with pytest.raises(ValueError, match="alphabet is"):
            Mismatch(3, 1, alphabet)
    for decay in (0, -0.5, 1.5, np.nan, "auto", True):
        with pytest.raises(ValueError, match="decay is"):
            Gappy(3, decay)
    for gap in (-1, 1.5, True):
        with pytest.raises(ValueError, match="gap is"):
            Gappy(3, gap=gap)
    with pytest.raises(ValueError, match="patterns"):
        Gappy(20, gap=20)(["abc"])
    assert repr(Mismatch(3, 1, "ab")) == "Mismatch(k=3, m=1, alphabet='ab')"
    assert Gappy(3) == Gappy(3, decay=0.5) != Gappy(3, gap=1)
    assert Gappy(3).set_params(gap=2) == Gappy(3, gap=2)


def test_too_many_words_are_refused(monkeypatch):
    monkeypatch.setattr(kmers, "MAX_WORDS", 10)
    with pytest.raises(ValueError, match="12 words along 2 patterns"):
        Gappy(2, gap=1)(["abcdefg", "ab"])
    monkeypatch.undo()
    monkeypatch.setattr(mismatches, "MAX_WORDS", 10)
    with pytest.raises(ValueError, match="wild places"):
        Mismatch(3, 1, "abc")(["abcabcacb", "aabbcc"])
    with pytest.raises(ValueError, match="too many neighbours"):
        Mismatch(3, 1, "abc").counts(["abcabc"])
    monkeypatch.setattr(strings, "MAX_DENSE_CELLS", 3)
    with pytest.raises(ValueError, match="2 strings × 2 words"):
        Spectrum(1).features(["a", "b"])


def test_string_kernels_join_the_algebra():
    X = texts(n=8)
    a, b = Spectrum(1)(X), Gappy(2)(X)
    assert_allclose((Spectrum(1) * Gappy(2) + 0.5 * Spectrum(1))(X), a * b + 0.5 * a, rtol=1e-13)
    assert_allclose((0.01 * Spectrum(1)).exp()(X), np.exp(0.01 * a), rtol=1e-13)
    features = (Spectrum(1) + Gappy(2, gap=9)).features(X)
    assert_allclose(features @ features.T, a + b, rtol=1e-13)
    table = pd.DataFrame({"word": X, "size": np.arange(8.0)})
    mixed = Spectrum(1).on("word") * Linear().on("size")
    assert_allclose(mixed(table), a * np.outer(np.arange(8), np.arange(8)))
    assert (Spectrum(1) * Gappy(2)).validity().valid
    assert "counts of words" in str(Spectrum(1).validity())


# Graphs


class Net:
    """What is asked of a NetworkX graph, for machines that do not have it."""

    class Nodes(dict):
        def __call__(self, data=False):
            return self.items()

    def __init__(self, nodes, edges, directed=False):
        self.nodes = Net.Nodes(nodes)
        self._edges, self._directed = edges, directed

    @property
    def edges(self):
        return lambda data=False: self._edges

    def is_directed(self):
        return self._directed


def random_graphs(n=7, seed=0, directed=False, weighted=False, most=6):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        size = rng.integers(1, most + 1)
        A = (rng.random((size, size)) < 0.5).astype(float)
        if weighted:
            A *= rng.random((size, size))
        found.append(A if directed else np.triu(A) + np.triu(A, 1).T)
    return found


def random_labels(graphs, seed=0, letters="CNO"):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(list(letters), len(A))) for A in graphs]


def by_definition(A, B, decay, a=None, b=None):
    """The infinite sum, cut off, on the explicit product graph."""
    same = np.ones(len(A) * len(B)) if a is None else np.array([float(x == y) for x in a for y in b])
    W = np.kron(A, B) * same[:, None] * same
    total, term = 0.0, same
    while term.sum() > 1e-14 * total:
        total += term.sum()
        term = decay * (W @ term)
    return total


def all_pairs(graphs, others, decay, a=None, b=None):
    return np.array(
        [
            [by_definition(A, B, decay, a and a[i], b and b[j]) for j, B in enumerate(others)]
            for i, A in enumerate(graphs)
        ]
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("share", [0.3, 0.95])
def test_walks_are_the_infinite_sum(directed, weighted, labelled, share):
    X, Z = (random_graphs(n, s, directed, weighted) for n, s in ((6, 0), (4, 1)))
    top = max(np.abs(np.linalg.eigvals(A)).max() for A in X + Z)
    decay = share / top**2
    a, b = (random_labels(X, 0), random_labels(Z, 1)) if labelled else (None, None)
    P, Q = (list(zip(X, a, strict=True)), list(zip(Z, b, strict=True))) if labelled else (X, Z)
    expected, own, other = all_pairs(X, Z, decay, a, b), all_pairs(X, X, decay, a, a), all_pairs(Z, Z, decay, b, b)
    raw = RandomWalk(decay, normalize=False)
    assert_allclose(raw(P, Q), expected, rtol=1e-10)
    assert_allclose(raw(P), own, rtol=1e-10)
    scaled = expected / np.sqrt(np.diag(own))[:, None] / np.sqrt(np.diag(other))
    assert_allclose(RandomWalk(decay)(P, Q), scaled, rtol=1e-10)
    assert_whole(RandomWalk(decay), P, Q)
    assert_whole(raw, P, Q)


def test_mixed_directions_and_groups(monkeypatch):
    X = random_graphs(4) + random_graphs(4, 1, directed=True)
    labels = random_labels(X)
    P = list(zip(X, labels, strict=True))
    kernel = RandomWalk(normalize=False).fitted(P)
    K = all_pairs(X, X, kernel.decay, labels, labels)
    assert_allclose(kernel(P), K, rtol=1e-11)
    monkeypatch.setattr(walks, "MAX_NODE_PAIRS", 40)
    assert_allclose(kernel(P), K, rtol=1e-11)


def test_equal_labels_are_no_labels():
    X = random_graphs(5, 3, weighted=True)
    P = [(A, ["C"] * len(A)) for A in X]
    kernel = RandomWalk().fitted(X)
    assert_allclose(kernel(P), kernel(X), rtol=1e-12)
    assert_allclose(RandomWalk()(P), RandomWalk()(X), rtol=1e-12)
    assert_allclose(np.diag(kernel(X)), 1.0)


def test_auto_decay_is_below_the_bound():
    X = random_graphs(6)
    degree = max(A.sum(axis=0).max() for A in X)
    assert RandomWalk().fitted(X).decay == pytest.approx(0.5 / degree**2)
    assert RandomWalk(0.01).fitted(X).decay == 0.01
    assert RandomWalk().fitted([np.zeros((3, 3))]).decay == 0.5
    assert RandomWalk().fitted([]).decay == 0.5
    arrow = np.zeros((3, 3))
    arrow[0, 1:] = 1.0
    assert RandomWalk().fitted([arrow]).decay == 0.5 / 4
    with pytest.raises(ValueError, match=r"fitted\(X\)"):
        RandomWalk()(X, X)


def test_a_decay_too_large_is_refused_with_its_bound():
    triangle, path = np.ones((3, 3)) - np.eye(3), np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1)
    with pytest.raises(ValueError, match=r"graphs 1 and 1 is finite only below 0\.25"):
        RandomWalk(0.25)([path, triangle])
    with pytest.raises(ValueError, match=r"graphs 0 and 0 is finite only below 0\.353553"):
        RandomWalk(0.36, normalize=False)([path], [triangle])
    with pytest.raises(ValueError, match="below"):
        RandomWalk(0.25).diagonal([triangle])
    assert_allclose(RandomWalk(0.2499, normalize=False)([triangle]), [[9 / (1 - 4 * 0.2499)]])


def test_graphs_come_in_many_coats():
    A = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    other = random_graphs(1, 5)[0]
    kernel = RandomWalk(0.01, normalize=False)
    expected = kernel([A], [other])
    net = Net({"x": {}, "y": {}, "z": {}}, [("x", "y", {"weight": 2.0}), ("y", "z", {}), ("z", "z", {"weight": 1})])
    several = Net({0: {}, 1: {}, 2: {}}, [(0, 1, {}), (0, 1, {}), (1, 2, {}), (2, 2, {})])
    boxed = np.empty((1, 1), dtype=object)
    boxed[0, 0] = net
    frame = pd.DataFrame(A)
    for coat in ([A.tolist()], [sp.csr_matrix(A)], [sp.coo_array(A)], [net], [several], boxed, [frame], A[None]):
        assert_allclose(kernel(coat, [other]), expected, rtol=1e-13)
    labels = ["C", "O", "C"]
    atoms = Net({i: {"label": s} for i, s in enumerate(labels)}, [(0, 1, {"weight": 2.0}), (1, 2, {}), (2, 2, {})])
    labelled = kernel([(A, labels)])
    assert labelled[0, 0] == pytest.approx(by_definition(A, A, 0.01, labels, labels), rel=1e-12)
    for coat in ([atoms], [(net, labels)], [(sp.csr_array(A), np.array(labels))], [(A, pd.Series(labels))]):
        assert_allclose(kernel(coat), labelled, rtol=1e-13)
    arrows = Net({0: {}, 1: {}}, [(0, 1, {})], directed=True)
    assert_allclose(kernel([arrows]), kernel([[[0, 1], [0, 0]]]))
    points = kernel.points([A])
    assert kernel.points(points) is points


def test_networkx():
    graph = nx.karate_club_graph()
    A = nx.to_numpy_array(graph)
    assert_allclose(RandomWalk(1e-4, normalize=False)([graph]), RandomWalk(1e-4, normalize=False)([A]), rtol=1e-12)
    assert_allclose(Diffusion(graph, 0.1)(list(graph)), expm(-0.1 * (np.diag(A.sum(axis=0)) - A)), atol=1e-13)
    assert A.max() > 1  # its weights are read, unless they are not wanted
    plain = nx.to_numpy_array(graph, weight=None)
    bare = nx.Graph(list(graph.edges))
    assert_allclose(RandomWalk(1e-3, normalize=False)([bare]), RandomWalk(1e-3, normalize=False)([plain]), rtol=1e-10)


def test_networkx_of_every_kind():
    arrows = nx.gn_graph(7, seed=1)
    loops = nx.Graph([(0, 0), (0, 1), (1, 2)])
    parallel = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    kernel = RandomWalk(0.02, normalize=False)
    graphs = [arrows, loops, parallel, nx.empty_graph(2), nx.grid_2d_graph(2, 3)]
    matrices = [nx.to_numpy_array(graph) for graph in graphs]
    assert matrices[2][0, 1] == 2
    assert_allclose(kernel(graphs), kernel(matrices), rtol=1e-12)
    for graph in (loops, parallel, nx.grid_2d_graph(3, 3), nx.relabel_nodes(loops, {0: "a", 1: "b", 2: "c"})):
        A = nx.to_numpy_array(graph)
        found = Diffusion(graph, 0.3)(list(graph))  # nodes by their names, tuples too
        assert_allclose(found, expm(-0.3 * (np.diag(A.sum(axis=0)) - A)), atol=1e-13)
        nodes = list(graph)[::-1][:2]
        assert_allclose(Diffusion(graph, 0.3)(nodes), found[::-1, ::-1][:2, :2], atol=1e-13)
    with pytest.raises(ValueError, match="undirected"):
        Diffusion(arrows, 1.0)
    with pytest.raises(ValueError, match="no node"):
        Diffusion(loops, 1.0)(["nobody"])


def test_labelled_networkx_are_compared_by_their_labels():
    ring, chain = nx.cycle_graph(6), nx.path_graph(5)
    nx.set_node_attributes(ring, dict(enumerate("CCCNCC")), "label")
    nx.set_node_attributes(chain, dict(enumerate("CNCOC")), "label")
    kernel = RandomWalk(0.05, normalize=False)
    pairs = [(nx.to_numpy_array(ring), "CCCNCC"), (nx.to_numpy_array(chain), "CNCOC")]
    expected = [[by_definition(a, b, 0.05, s, t) for b, t in pairs] for a, s in pairs]
    assert_allclose(kernel([ring, chain]), expected, rtol=1e-11)
    assert_allclose(kernel([(nx.cycle_graph(6), "CCCNCC"), pairs[1]]), expected, rtol=1e-11)
    shuffled = nx.relabel_nodes(ring, {i: (3 * i + 1) % 7 for i in range(6)})
    assert_allclose(kernel([shuffled, chain]), expected, rtol=1e-11)  # names of nodes say nothing
    chain.nodes[2].pop("label")
    with pytest.raises(ValueError, match="Graph 1 has 1 of 5 nodes without a label"):
        kernel([ring, chain])


def test_networkx_are_classified():
    graphs = [nx.cycle_graph(n) for n in range(4, 12)] + [nx.star_graph(n) for n in range(4, 12)]
    kind = np.repeat(["ring", "star"], 8)
    machine = gm.SVC(alpha=1e-3, kernel=RandomWalk(0.01)).fit(graphs, kind)
    assert machine.predict([nx.cycle_graph(20), nx.star_graph(7)]).tolist() == ["ring", "star"]
    club = nx.karate_club_graph()
    side = np.array([club.nodes[i]["club"] for i in club])
    sure = gm.LogisticRegression(alpha=1e-3, kernel=Diffusion(club, 0.2)).fit([0, 33, 1, 32], side[[0, 33, 1, 32]])
    assert np.mean(sure.predict(list(club)) == side) > 0.9


def test_empty_graphs_have_nothing_in_common():
    X = [np.zeros((0, 0)), np.ones((2, 2)), np.zeros((2, 2))]
    assert_array_equal(RandomWalk(0.1, normalize=False)(X)[0], 0)
    assert_array_equal(RandomWalk(0.1)(X)[0], 0)
    assert_array_equal(RandomWalk(0.1)(X[:1]), [[0.0]])
    assert RandomWalk(0.1, normalize=False)(X)[2, 2] == 4
    assert RandomWalk(0.1)([]).shape == (0, 0)
    labelled = [(A, ["a"] * len(A)) for A in X[1:]]
    assert RandomWalk(0.1, normalize=False)([X[0], *labelled]).shape == (3, 3)


def test_no_label_in_common():
    A = np.ones((2, 2))
    assert_allclose(RandomWalk(0.1)([(A, "ab"), (A, "cd")]), np.eye(2))


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (np.eye(2), TypeError, "single graph"),
        (sp.eye_array(2), TypeError, "single graph"),
        (Net({}, []), TypeError, "single graph"),
        ([np.eye(2), np.ones((2, 3))], ValueError, r"Graph 1 has an adjacency matrix of shape \(2, 3\)"),
        ([np.ones(3)], ValueError, "Graph 0 has 1 dim"),
        ([np.eye(2), "graph"], TypeError, "Graph 1 is of type str"),
        ([(np.eye(2), "ab", 1)], ValueError, "tuple of 3"),
        ([(np.eye(2), "abc")], ValueError, "2 nodes and 3 labels"),
        ([(np.eye(2), "ab"), np.eye(2)], ValueError, "Graph 1 has no labels"),
        ([(np.eye(2), [[1], [2]])], TypeError, "Graph 0 has labels that are lists"),
        ([[[0.0, -1.0], [-1.0, 0.0]]], ValueError, "weight -1.0 from node 0 to node 1"),
        ([[[0.0, np.nan], [np.nan, 0.0]]], ValueError, "weight nan"),
        ([sp.csr_array([[0.0, np.inf], [0.0, 0.0]])], ValueError, "weight inf"),
        ([Net({0: {"label": "C"}, 1: {}}, [])], ValueError, "1 of 2 nodes without a label"),
    ],
)
def test_what_is_no_list_of_graphs_is_refused(X, error, words):
    with pytest.raises(error, match=words):
        RandomWalk(0.1)(X)


def test_parameters_of_walks():
    for decay in (0, -1, np.inf, np.nan, "half", None, True):
        with pytest.raises(ValueError, match="decay is"):
            RandomWalk(decay)
    with pytest.raises(ValueError, match="normalize is"):
        RandomWalk(0.1, normalize="yes")
    with pytest.raises(ValueError, match="have labels"):
        RandomWalk(0.1)([(np.eye(2), "ab")], [np.eye(2)])
    with pytest.raises(ValueError, match="no finite list"):
        RandomWalk(0.1).features([np.eye(2)])
    assert repr(RandomWalk()) == "RandomWalk(decay='auto', normalize=True)"
    assert "finite" in str(RandomWalk(0.1).validity())


# Nodes


def grid(n=12, seed=0):
    A = np.triu(np.random.default_rng(seed).random((n, n)) * (np.random.default_rng(seed + 1).random((n, n)) < 0.4))
    return A + np.triu(A, 1).T


@pytest.mark.parametrize("beta", [1e-3, 0.5, 3.0, 200.0])
@pytest.mark.parametrize("most", [3000, 5])
def test_diffusion_is_the_matrix_exponential(beta, most, monkeypatch):
    monkeypatch.setattr(diffusion, "MAX_DECOMPOSED_NODES", most)
    monkeypatch.setattr(diffusion, "TOGETHER", 5)
    A = grid()
    expected = expm(-beta * (np.diag(A.sum(axis=0)) - A))
    for graph in (A, sp.csr_array(A), A.tolist()):
        kernel = Diffusion(graph, beta)
        assert_allclose(kernel(np.arange(12)), expected, atol=2e-13)
        assert_allclose(kernel([3, 3, 0], [5, 1]), expected[np.ix_([3, 3, 0], [5, 1])], atol=2e-13)
        assert_allclose(kernel([3], [5, 1, 5]), expected[np.ix_([3], [5, 1, 5])], atol=2e-13)
        assert_allclose(kernel.diagonal([4, 4, 7]), expected.diagonal()[[4, 4, 7]], atol=2e-13)
    features = kernel.features(range(12))
    assert_allclose(features @ features.T, expected, atol=2e-13)
    assert kernel.features([0], terms=3).shape == (1, 3)


@pytest.mark.parametrize("z", [1e-8, 0.3, 1.0, 7.0, 60.0, 3000.0])
def test_heat_spreads_by_the_series(z):
    A = np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1)
    L = np.diag(A.sum(axis=0)) - A
    assert_allclose(diffusion.spread(sp.csr_array(L), z / 2, np.eye(30)), expm(-z / 2 * L), atol=1e-13)
    assert_array_equal(diffusion.spread(sp.csr_array((3, 3)), z, np.eye(3)), np.eye(3))


def test_diffusion_is_whole():
    assert_whole(Diffusion(grid(), 0.7), list(range(12)), [3, 5, 5, 1])
    assert_whole(Diffusion(np.zeros((5, 5)), 0.7), list(range(5)), [0, 1, 4])


def test_nodes_by_name():
    A = grid(3)
    names = ["Ann", "Bob", ("Cid", 3)]
    edges = [(names[i], names[j], {"weight": A[i, j]}) for i in range(3) for j in range(i, 3) if A[i, j]]
    K = Diffusion(A, 0.4)([0, 1, 2])
    for graph in (Net({name: {} for name in names}, edges), (A, names)):
        kernel = Diffusion(graph, 0.4)
        assert_allclose(kernel(names), K, rtol=1e-13)
        assert_allclose(kernel(["Bob"], ["Ann"]), K[1:2, :1], rtol=1e-13)
        with pytest.raises(ValueError, match=r"Row 1 is 0, which is no node .* 'Ann', 'Bob'"):
            kernel(["Ann", 0])
    numbers = Diffusion(A, 0.4)
    for coat in (np.arange(3.0), np.arange(3)[:, None], pd.Series([0, 1, 2]), pl.DataFrame({"node": [0, 1, 2]})):
        assert_array_equal(numbers(coat), K)
    points = numbers.points([0, 1])
    assert numbers.points(points) is points
    assert numbers([]).shape == (0, 0)


def test_diffusion_refuses():
    A = grid(4)
    for beta in (0, -1.0, np.nan, np.inf, "auto"):
        with pytest.raises(ValueError, match="beta of Diffusion"):
            Diffusion(A, beta)
    with pytest.raises(ValueError, match="weight 1 from node 0 to node 1 and 0 back"):
        Diffusion([[0, 1], [0, 0]], 1.0)
    with pytest.raises(ValueError, match="Two nodes are called 'a'"):
        Diffusion((A, ["a", "b", "a", "c"]), 1.0)
    kernel = Diffusion(A, 1.0)
    for node in (-1, 4, 0.5, "0", [1]):
        with pytest.raises(ValueError, match=r"Row 1 is .* no node of the graph; its nodes are 0 … 3"):
            kernel([0, node])
    for X in ("abc", 3):
        with pytest.raises(TypeError, match="list of nodes"):
            kernel(X)
    with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
        kernel(np.zeros((2, 2)))


def test_diffusions_are_equal_by_their_graphs():
    A = grid()
    assert Diffusion(A, 0.5) == Diffusion(sp.csr_array(A), 0.5)
    assert hash(Diffusion(A, 0.5)) == hash(Diffusion(A.tolist(), 0.5))
    assert Diffusion(A, 0.5) != Diffusion(A, 0.6)
    assert Diffusion(A, 0.5) != Diffusion((A, [str(i) for i in range(12)]), 0.5)
    assert repr(Diffusion(A, 0.5)) == "Diffusion(graph=<12 nodes>, beta=0.5)"
    assert Diffusion(A, 0.5).set_params(beta=0.6) == Diffusion(A, 0.6)
    back = pickle.loads(pickle.dumps(Diffusion(A, 0.5)))
    assert_array_equal(back([0, 1]), Diffusion(A, 0.5)([0, 1]))
    assert adjacency.is_symmetric(sp.csr_array((2, 2)))


# Distributions


@pytest.mark.parametrize("rho", [0.25, 0.5, 1.0, 2.3])
def test_histograms(rho):
    X, Z = np.random.default_rng(0).random((6, 4)), np.random.default_rng(1).integers(0, 5, (5, 4)) + np.eye(5, 4)
    Z[4, 0] += 1
    P, Q = X / X.sum(axis=1, keepdims=True), Z / Z.sum(axis=1, keepdims=True)
    kernel = ProbabilityProduct(rho)
    expected = [[sum(p[i] ** rho * q[i] ** rho for i in range(4)) for q in Q] for p in P]
    assert_allclose(kernel(X, Z), expected, rtol=1e-13)
    for coat in (sp.csr_array(X), pd.DataFrame(X), pl.DataFrame(X), X * 1e300, X * 1e-300, X.tolist()):
        assert_allclose(kernel(coat, Z), expected, rtol=1e-12)
        assert_allclose(kernel.features(coat), P**rho, rtol=1e-12)
    assert_allclose(kernel(X.astype(np.float32), sp.csr_matrix(Z)), expected, rtol=1e-6)
    assert_whole(kernel, X, Z)
    if rho == 0.5:
        assert_allclose(kernel.diagonal(X), 1.0)


def some_gaussians(n, d, seed=0):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(n, d, d + 2))
    return rng.normal(size=(n, d)), roots @ roots.transpose(0, 2, 1) / d + 0.2 * np.eye(d)


def _product(x, m, s, u, t):
    return np.exp(-((x - m) ** 2) / (2 * s**2) - (x - u) ** 2 / (2 * t**2)) / (2 * np.pi * s * t)


@pytest.mark.parametrize("rho", [0.2, 0.5, 1.0, 1.7])
def test_gaussians_by_integration(rho):
    kernel = ProbabilityProduct(rho)
    for (m, s), (u, t) in product([(0.0, 1.0), (1.5, 0.3)], [(0.4, 2.0), (-1.0, 0.7)]):
        value = quad(lambda x, of=(m, s, u, t): _product(x, *of) ** rho, -60, 60, limit=400)[0]
        found = kernel([(m, [[s**2]])], [([u], np.array([[t**2]]))])[0, 0]
        assert found == pytest.approx(value, rel=1e-7)
    (m, u), (S, T) = some_gaussians(2, 2, seed=4)
    p, q = multivariate_normal(m, S), multivariate_normal(u, T)
    reach = 9 / np.sqrt(rho)
    value = dblquad(lambda y, x: (p.pdf([x, y]) * q.pdf([x, y])) ** rho, -reach, reach, -reach, reach, epsrel=1e-6)[0]
    assert kernel([(m, S)], [(u, T)])[0, 0] == pytest.approx(value, rel=1e-4)


def test_gaussians_in_closed_form():
    means, covariances = some_gaussians(6, 3)
    pairs = list(zip(means, covariances, strict=True))
    K = ProbabilityProduct()(pairs)
    for i, j in combinations(range(6), 2):
        middle, apart = (covariances[i] + covariances[j]) / 2, means[i] - means[j]
        distance = apart @ np.linalg.solve(middle, apart) / 8 + 0.5 * np.log(
            np.linalg.det(middle) / np.sqrt(np.linalg.det(covariances[i]) * np.linalg.det(covariances[j]))
        )
        assert K[i, j] == pytest.approx(np.exp(-distance), rel=1e-12)
        assert ProbabilityProduct(1.0)(pairs)[i, j] == pytest.approx(
            multivariate_normal(means[i], covariances[i] + covariances[j]).pdf(means[j]), rel=1e-12
        )
    assert_allclose(np.diag(K), 1.0)
    boxed = np.empty((6, 2), dtype=object)
    for i in range(6):
        boxed[i, 0], boxed[i, 1] = pairs[i]
    for coat in ((means, covariances), boxed, [(m.tolist(), S.tolist()) for m, S in pairs], [list(p) for p in pairs]):
        assert_allclose(ProbabilityProduct()(coat), K, rtol=1e-14)
    points = ProbabilityProduct().points(pairs)
    assert ProbabilityProduct().points(points) is points


@pytest.mark.parametrize("rho", [0.3, 0.5, 1.0, 2.0])
def test_gaussians_are_whole(rho):
    X, Z = (list(zip(*some_gaussians(n, 2, n), strict=True)) for n in (12, 7))
    assert_whole(ProbabilityProduct(rho), X, Z)


def test_distributions_refuse():
    for rho in (0, -1, np.nan, np.inf, "half"):
        with pytest.raises(ValueError, match="rho of ProbabilityProduct"):
            ProbabilityProduct(rho)
    kernel, one = ProbabilityProduct(), np.eye(2)
    for X, words in [
        ([[0.5, 0.5], [1.5, -0.5]], "Row 1 has the negative number -0.5"),
        ([[0.5, 0.5], [0.0, 0.0]], "Row 1 is all zero"),
        ([[0.5, np.nan]], "NaN"),
        (sp.csr_array([[0.5, 0.5], [0.0, 0.0]]), "Row 1 is all zero"),
        (sp.csr_array([[0.5, -0.5], [0.0, 0.0]]), "Row 0 has the negative"),
        ([([0.0, 0.0], one), [0.5, 0.5]], "Row 1 is no pair"),
        ([([0.0, 0.0], one), ([0.0], [[1.0]])], r"Row 1 has a mean of shape \(1,\)"),
        ([([0.0, 0.0, 0.0], one)], r"covariance of shape \(2, 2\)"),
        ([([0.0, np.inf], one)], "Row 0 has a mean or a covariance that is not finite"),
        ([([0.0, 0.0], one), ([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]])], "row 1 is not symmetric"),
        ([([0.0, 0.0], one), ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])], "row 1 is not positive definite"),
        ((np.zeros((3, 2)), np.stack([one, one])), "3 means and 2 covariances"),
    ]:
        with pytest.raises(ValueError, match=words):
            kernel(X)
    with pytest.raises(ValueError, match="One of X and Z"):
        kernel([[0.5, 0.5]], [([0.0, 0.0], one)])
    with pytest.raises(ValueError, match="means of 2 numbers and Z of 1"):
        kernel([([0.0, 0.0], one)], [([0.0], [[1.0]])])
    with pytest.raises(ValueError, match="X has 2 columns and Z has 4"):
        kernel([[0.5, 0.5]], [[0.2, 0.2, 0.3, 0.3]])
    with pytest.raises(ValueError, match="no finite list"):
        kernel.features([([0.0, 0.0], one)])
