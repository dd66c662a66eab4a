"""Every kernel: positive semi-definite if it says so, and the same as matrix, diagonal, blocks, from every table."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import gramian as gm
from checks.members import public_classes
from fuzz.families.kernels import case as validity_of_matrices
from gramian.kernels import (
    ANOVA,
    RBF,
    Bilinear,
    Centered,
    Constant,
    Cosine,
    Custom,
    Diffusion,
    Exponential,
    Gappy,
    GaussianDensity,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Mismatch,
    Normalized,
    On,
    Periodic,
    Polynomial,
    PolynomialOf,
    Power,
    Precomputed,
    ProbabilityProduct,
    Product,
    RandomWalk,
    RationalQuadratic,
    Scaled,
    ScaledBy,
    Sigmoid,
    Spectrum,
    Sum,
    Trusted,
    Warped,
    White,
)
from gramian.kernels import base as base_module

RNG = np.random.default_rng(0)
ROWS = np.vstack([RNG.standard_normal((9, 3)), np.zeros((1, 3)), np.ones((2, 3))]).round(3)
OTHERS = np.vstack([RNG.standard_normal((4, 3)), ROWS[:2]])
WORDS = ["banana", "bandana", "ananas", "nab", "ban", "dan"]
PATH, TRIANGLE = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), np.ones((3, 3)) - np.eye(3)
GRAPHS = [PATH, TRIANGLE, np.array([[0, 1], [1, 0]])]
METRIC = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]])
CHAIN = np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1)


def first_column(X):
    return np.asarray(X[:, [0]].sum(axis=1)).reshape(-1)


def squares(X):
    return X.multiply(X) if sp.issparse(X) else X * X


def matrix_function(X, Z):
    return np.asarray((X @ Z.T).toarray() if sp.issparse(X) else X @ Z.T) + 1.0


def smaller(x, z):
    return np.minimum(x, z).sum()


# What a class cannot be made without, and further variants.
MADE = {
    "ANOVA": [ANOVA(RBF(0.7)), ANOVA(Laplacian(1.0) + 1, degree=2), ANOVA((Linear(), RBF(), White()), degree=3)],
    "Bilinear": [Bilinear(np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]])), Bilinear(np.eye(3, k=1))],
    "Centered": [Centered(RBF()), Linear().centered(), RBF("auto").on([0, 1]).centered()],
    "Constant": [Constant(), Constant(-2.0)],
    "Custom": [Custom(matrix_function), Custom(smaller, pairwise=True)],
    "Exponential": [Exponential(0.1 * Linear())],
    "GaussianDensity": [GaussianDensity(0.5), GaussianDensity(1.0, -0.5), GaussianDensity(1.0, 0.8)],
    "Laplacian": [Laplacian(), Laplacian((0.5, 1.0, 2.0)), Laplacian("auto"), Laplacian(1.2, metric=METRIC)],
    "Matern": [Matern(1.3, nu) for nu in (0.5, 1.5, 2.5, np.inf, 0.8, 3.7)],
    "Normalized": [Normalized(Polynomial(2)), (Linear() + White(0.1)).normalized()],
    "On": [On(RBF(), (0, 2)), Linear().on(1), RBF("auto").on([-1])],
    "RationalQuadratic": [RationalQuadratic(1.3, 0.4), RationalQuadratic((1.0, 2.0, 0.5), 30.0)],
    "Periodic": [Periodic(), Periodic((1.0, 2.0, 0.5), (1.0, 3.0, 2.0))],
    "Polynomial": [Polynomial(), Polynomial(2, 0.0), Polynomial(4, 0.3), Polynomial(3, -1.0)],
    "PolynomialOf": [RBF().polynomial([1.0, 0.0, 2.0]), PolynomialOf(Linear(), (1.0, -1.0))],
    "Power": [Power(Linear() + 1, 3), RBF() ** 0],
    "Product": [Product(RBF(), Linear()), RBF().on(0) * Laplacian().on([1, 2])],
    "RBF": [RBF(), RBF("auto"), RBF((0.5, 1.0, 2.0)), RBF(1e-3), RBF(1e3), RBF("auto", metric=METRIC)],
    "Scaled": [Scaled(RBF(), 2.5), -1 * Linear(), 0 * RBF()],
    "ScaledBy": [ScaledBy(RBF(), first_column), Linear().on([0, 1]).scaled_by(first_column)],
    "Sigmoid": [Sigmoid(), Sigmoid(0.1, 1.0)],
    "Sum": [Sum(RBF(), Linear()), RBF() - Linear(), RBF().on(0) + Linear().on([1, 2]) + 1],
    "Trusted": [Trusted(RBF() + Linear()), Sigmoid(0.1).trusted()],
    "Warped": [Warped(RBF(), squares), Linear().on([0, 1]).warp(squares)],
    "White": [White(), White(0.3)],
}
NOT_ROWS = {
    "Diffusion": ([Diffusion(CHAIN, 0.7)], [0, 1, 2, 5, 3]),
    "Gappy": ([Gappy(2, decay=0.5), Gappy(2, decay=0.5, gap=1)], WORDS),
    "Mismatch": ([Mismatch(2, 1, "abdns")], WORDS),
    "Precomputed": ([Precomputed()], RBF()(ROWS)),
    "ProbabilityProduct": ([ProbabilityProduct()], np.abs(ROWS) + 0.1),
    "RandomWalk": ([RandomWalk(0.1)], GRAPHS),
    "Spectrum": ([Spectrum(2)], WORDS),
}
CLASSES = public_classes(Kernel)


def instances():
    for kind in CLASSES:
        if kind.__name__ in NOT_ROWS:
            kernels, X = NOT_ROWS[kind.__name__]
            yield from ((kernel, X) for kernel in kernels)
        else:
            yield from ((kernel, ROWS) for kernel in MADE.get(kind.__name__) or [kind()])


ALL = list(instances())
ON_ROWS = [kernel for kernel, X in ALL if X is ROWS]


def name(value):
    return repr(value)[:60] if isinstance(value, Kernel) else ""


def smallest_share(K):
    values = np.linalg.eigvalsh((K + K.T) / 2)
    return values[0] / max(np.abs(values).max(), 1e-300)


def test_every_class_is_here():
    assert {type(kernel).__name__ for kernel, _ in ALL} == {kind.__name__ for kind in CLASSES}


@pytest.mark.parametrize(("kernel", "X"), ALL, ids=name)
def test_matrix_is_what_validity_says(kernel, X):
    K = kernel(X)
    assert K.shape == (len(X), len(X))
    assert K.dtype == np.float64
    known = kernel.validity(X) if isinstance(kernel, Precomputed) else kernel.validity()
    if known.valid:
        np.testing.assert_array_equal(K, K.T) if kernel.symmetric else np.testing.assert_allclose(K, K.T, rtol=1e-12)
        assert smallest_share(K) > -1e-12
        assert "is a kernel" in str(known)
    elif known.valid is False and known.pair is not None:
        x, z = (np.atleast_2d(point) for point in known.pair)
        assert kernel(x, z)[0, 0] != kernel(z, x)[0, 0]
    elif known.valid is False:
        W = kernel(known.points)
        np.testing.assert_allclose(known.vector @ W @ known.vector, known.eigenvalue, rtol=1e-6)
        assert known.eigenvalue < 0
        np.testing.assert_allclose(np.linalg.norm(known.vector), 1.0)
        assert "is not a kernel" in str(known)
    else:
        assert isinstance(kernel, Custom)
        assert known.tried > 1000


@pytest.mark.parametrize(("kernel", "X"), ALL, ids=name)
def test_diagonal_and_blocks_are_of_the_matrix(kernel, X):
    K = kernel(X)
    np.testing.assert_allclose(kernel.diagonal(X), K.diagonal(), rtol=1e-12, atol=1e-14)
    fitted = kernel.fitted(X)
    assert fitted.waits_for() is None
    assert fitted.fitted(X) is fitted
    P = fitted.points(X)
    assert len(P) == len(X)
    index = np.array([2, 0, 1])
    np.testing.assert_allclose(fitted.block(P[1:3], P[index]), K[1:3][:, index], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(fitted.block(P[index], P[:2][1:]), K[index, 1:2], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(fitted.diag(P[index][1:]), K.diagonal()[index[1:]], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("kernel", "X"), ALL, ids=name)
def test_two_sets_of_points(kernel, X):
    if isinstance(kernel, Precomputed):
        return
    some = X[:3]
    fitted = kernel.fitted(X)
    np.testing.assert_allclose(fitted(X, some), fitted(X)[:, :3], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("kernel", "X"), ALL, ids=name)
def test_panels_and_threads_do_not_matter(kernel, X, monkeypatch):
    whole = kernel(X)
    monkeypatch.setattr(base_module, "PANEL_CELLS", 1)
    monkeypatch.setattr("gramian.kernels.base._SMALLEST", 2)
    with gm.threads(1):
        one = kernel(X)
    with gm.threads(3):
        np.testing.assert_array_equal(kernel(X), one)
    np.testing.assert_allclose(one, whole, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", ON_ROWS, ids=name)
def test_tables_of_every_kind_agree(kernel):
    fitted = kernel.fitted(ROWS)
    K, between = fitted(ROWS), fitted(ROWS, OTHERS)
    names = ["a", "b", "c"]
    for X in (
        pd.DataFrame(ROWS, columns=names),
        pl.DataFrame(ROWS, schema=names),
        ROWS.tolist(),
        np.asfortranarray(ROWS),
    ):
        np.testing.assert_array_equal(fitted(X), K)
    near = {"rtol": 1e-10, "atol": 1e-11}
    for kind in (sp.csr_matrix, sp.csc_array, sp.coo_matrix):
        np.testing.assert_allclose(fitted(kind(ROWS)), K, **near)
    np.testing.assert_allclose(fitted(sp.csr_matrix(ROWS), sp.csr_matrix(OTHERS)), between, **near)
    np.testing.assert_allclose(fitted.diagonal(sp.csr_matrix(ROWS)), K.diagonal(), **near)
    if not isinstance(kernel, Custom):
        np.testing.assert_allclose(fitted(sp.csr_matrix(ROWS), OTHERS), between, **near)
        np.testing.assert_allclose(fitted(ROWS, sp.csr_matrix(OTHERS)), between, **near)
    single = ROWS.astype(np.float32)
    np.testing.assert_array_equal(fitted(single), fitted(single.astype(np.float64)))


@pytest.mark.parametrize("kernel", ON_ROWS, ids=name)
def test_bad_tables_are_refused(kernel):
    bad = ROWS.copy()
    bad[2, 0] = np.nan
    bad_last = ROWS.copy()
    bad_last[2, -1] = np.inf
    for X in (bad, bad_last):
        used = set(range(3))
        for part in [kernel, *kernel.get_params().values()]:
            if isinstance(part, On):
                used &= {int(c) % 3 for c in np.atleast_1d(part.columns)}
        if (X is bad and 0 in used) or (X is bad_last and 2 in used):
            with pytest.raises(ValueError, match=r"row 2"):
                kernel(X)
    with pytest.raises(ValueError, match=r"0 sample|at least 1|no points"):
        kernel(np.empty((0, 3)))
    if not isinstance(kernel, Custom) and ".on(" not in repr(kernel):
        with pytest.raises(ValueError, match="columns"):
            kernel.fitted(ROWS)(ROWS, ROWS[:, :2])


@pytest.mark.parametrize(("kernel", "X"), ALL, ids=name)
def test_parameters_round_trip(kernel, X):
    parameters = kernel.get_params(deep=False)
    assert type(kernel)(**parameters) == kernel
    same = kernel.set_params(**kernel.get_params(deep=False))
    assert same == kernel
    assert hash(same) == hash(kernel)
    copy = clone(kernel)
    assert type(copy) is type(kernel)
    assert copy == kernel
    for path, value in kernel.get_params().items():
        assert kernel.set_params(**{path: value}) == kernel
    with pytest.raises(ValueError, match="no parameter 'nothing'"):
        kernel.set_params(nothing=1)
    with pytest.raises(AttributeError):
        kernel.something = 1


@pytest.mark.parametrize(("kernel", "X"), ALL, ids=name)
def test_pickles(kernel, X):
    for one in (kernel, kernel.fitted(X)):
        back = pickle.loads(pickle.dumps(one))
        assert back == one
        np.testing.assert_array_equal(back(X), one(X))


@pytest.mark.parametrize(("kernel", "X"), ALL, ids=name)
def test_text_evaluates_back(kernel, X):
    scope = {kind.__name__: kind for kind in CLASSES} | {
        f.__name__: f for f in (first_column, squares, matrix_function, smaller)
    }
    text = repr(kernel)
    if isinstance(kernel, Diffusion):
        assert text.startswith("Diffusion(")
    else:
        back = eval(text, scope | {"inf": np.inf})
        assert back == kernel
        assert repr(back) == text


def test_equality_up_to_order():
    a, b, c = RBF(1.0), Linear(), Laplacian(2.0)
    assert a + b + c == c + (b + a)
    assert hash(a + b + c) == hash(c + (b + a))
    assert 2 * a * b == b * (a * 2) == (b * 2) * a
    assert a + a != a
    assert a + b != a * b
    assert RBF(1.0) != RBF(2.0)
    assert 1.0 * a == a
    assert a - b != b - a
    assert RBF([1.0, 2.0]) == RBF(np.array([1.0, 2.0])) == RBF((1.0, 2.0))
    assert Bilinear(np.eye(2)) != Bilinear(np.ones((2, 2)))
    assert a != "rbf"


LEAVES = [RBF(0.8), Linear(), Laplacian(2.0), Polynomial(2, 0.5), Matern(1.1), Periodic(1.0, 2.0), Cosine(), White(0.5)]


def random_tree(rng, depth):
    """A kernel and the same expression on matrices: its matrix at ROWS."""
    if depth == 0:
        leaf = LEAVES[rng.integers(len(LEAVES))]
        return leaf, leaf(ROWS)
    a, A = random_tree(rng, depth - 1)
    which = rng.integers(9)
    if which < 2:
        b, B = random_tree(rng, depth - 1)
        return (a + b, A + B) if which else (a * b, A * B)
    if which == 2:
        c = float(rng.uniform(0, 3))
        return c * a, c * A
    if which == 3:
        return a**2, A**2
    if which == 4:
        return a.polynomial([0.5, 0.0, 1.0]), 0.5 + A**2
    if which == 5:
        d = np.sqrt(A.diagonal())
        d[d == 0] = np.inf
        return (0.2 * a.normalized()).exp(), np.exp(0.2 * A / np.outer(d, d))
    if which == 6:
        f = first_column(ROWS)
        return a.scaled_by(first_column), f[:, None] * A * f
    if which == 7:
        J = np.eye(len(A)) - 1 / len(A)
        return a.centered(), J @ A @ J
    return a.on([0, 1, 2]), A


@pytest.mark.parametrize("seed", range(40))
def test_random_trees_equal_their_expression_and_are_valid(seed):
    kernel, K = random_tree(np.random.default_rng(seed), 1 + seed % 4)
    found = kernel(ROWS)
    np.testing.assert_allclose(found, K, rtol=1e-9, atol=1e-9 * np.abs(K).max())
    assert kernel.validity().valid
    assert smallest_share(found) > -1e-11
    np.testing.assert_allclose(kernel.diagonal(ROWS), found.diagonal(), rtol=1e-10, atol=1e-12 * np.abs(K).max())
    try:
        features = kernel.features(ROWS)
    except ValueError:
        return
    np.testing.assert_allclose(features @ features.T, found, rtol=1e-8, atol=1e-9 * np.abs(K).max())


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_matrices_are_classified_as_in_exact_arithmetic(first):
    for seed in range(first, first + 50):
        assert validity_of_matrices(seed) is None


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_large_matrices_are_proved_only_beyond_their_rounding(scale):
    rng = np.random.default_rng(1)
    n = 220
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    unit = scale ** rng.uniform(0, 1, n)
    for smallest, verdict in ((1e-3, True), (1e-17, None), (-1e-17, None), (-1e-3, False)):
        values = np.linspace(1.0, 2.0, n)
        values[0] = smallest
        M = (Q * values) @ Q.T * unit[:, None] * unit
        M = np.triu(M) + np.triu(M, 1).T
        found = Precomputed().validity(M)
        assert found.valid is verdict
        assert (found.proof is None) == (verdict is not True)
        if verdict is False:
            v = found.counterexample.vector
            assert v @ M[np.ix_(found.points, found.points)] @ v < 0


WAITING = [(kernel, X) for kernel, X in ALL if kernel.waits_for() and not isinstance(kernel, Mismatch)]


@pytest.mark.parametrize(("kernel", "X"), WAITING, ids=name)
def test_weights_of_what_is_set_from_data_equal_repetition(kernel, X):
    n = len(X)
    weight = np.arange(n) % 4
    repeated = [X[i] for i in np.repeat(np.arange(n), weight)]
    counted = [X[i] for i in np.flatnonzero(weight)]
    if isinstance(X, np.ndarray):
        repeated, counted = np.array(repeated), np.array(counted)
        X = X.copy()
        X[weight == 0] = 1e9  # nothing of such a row is left
    found = kernel.fitted(X, weight)(counted)
    np.testing.assert_allclose(found, kernel.fitted(repeated)(counted), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.fitted(X, 0.1 * weight)(counted), found, rtol=1e-10, atol=1e-12)
    if n > 4:
        assert np.abs(found - kernel.fitted(X)(counted)).max() > 1e-6


@pytest.mark.parametrize("kind", [RBF, Laplacian, Matern, RationalQuadratic])
def test_many_rows_have_the_scale_of_their_repetition(kind):
    X = RNG.standard_normal((1500, 2)).round(1)  # many are equal
    weight = RNG.integers(0, 3, 1500)
    scale = kind("auto").fitted(X, weight).length_scale
    np.testing.assert_allclose(scale, kind("auto").fitted(np.repeat(X, weight, axis=0)).length_scale, rtol=1e-12)
    np.testing.assert_allclose(scale, kind("auto").fitted(sp.csr_matrix(X), weight).length_scale, rtol=1e-12)


def test_a_centred_kernel_has_the_reference_given():
    for base in (RBF(1.0), RBF("auto"), Linear().on([0, 1]), Polynomial(2)):
        given, fitted = Centered(base, ROWS), base.centered().fitted(ROWS)
        if base.waits_for() is not None:
            given = given.fitted(ROWS)
        np.testing.assert_array_equal(given(ROWS), fitted(ROWS))
        np.testing.assert_array_equal(given(OTHERS, ROWS), fitted(OTHERS, ROWS))
        assert given == fitted
    weight = np.arange(len(ROWS))
    weighted = Centered(RBF(1.0), ROWS, weight)
    np.testing.assert_allclose(
        weighted(OTHERS), Centered(RBF(1.0), np.repeat(ROWS, weight, axis=0))(OTHERS), atol=1e-13
    )
    for bad, message in ((np.ones(3), "one number for each"), (-weight, "not negative"), (0.0 * weight, "positive")):
        with pytest.raises(ValueError, match=message):
            Centered(RBF(1.0), ROWS, bad)
