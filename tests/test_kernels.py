"""Kernels against scikit-learn, brute force and the statements of the course documents."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import factorial
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

import gramian as gm
from gramian.kernels import (
    ANOVA,
    RBF,
    Bilinear,
    Centered,
    Constant,
    Cosine,
    Custom,
    Exponential,
    GaussianDensity,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    On,
    Periodic,
    Polynomial,
    PolynomialOf,
    Power,
    Precomputed,
    RationalQuadratic,
    Scaled,
    ScaledBy,
    Sigmoid,
    Spectrum,
    Sum,
    Warped,
    White,
    feature_map,
    kernel_of,
    repaired,
)
from processes import output_of

RNG = np.random.default_rng(1)
X = RNG.standard_normal((40, 4)) @ RNG.standard_normal((4, 4))
Z = RNG.standard_normal((23, 4))
h = 1.7


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (Linear(), pairwise.linear_kernel),
        (Polynomial(3, 0.7), lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=1.0, coef0=0.7)),
        (Polynomial(5, 0.0), lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=5, gamma=1.0, coef0=0.0)),
        (Cosine(), pairwise.cosine_similarity),
        (Sigmoid(0.3, -0.2), lambda X, Z: pairwise.sigmoid_kernel(X, Z, gamma=0.3, coef0=-0.2)),
        (RBF(h), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=1 / (2 * h**2))),
        (RBF([0.5, 1.0, 2.0, 3.0]), gp.RBF([0.5, 1.0, 2.0, 3.0])),
        (Laplacian(h), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=1 / h)),
        *((Matern(h, nu), gp.Matern(h, nu=nu)) for nu in (0.5, 1.5, 2.5, np.inf, 0.7, 4.2)),
        *((RationalQuadratic(h, a), gp.RationalQuadratic(h, alpha=a)) for a in (0.3, 1.0, 50.0)),
        (Matern([0.5, 1.0, 2.0, 3.0], 2.5), gp.Matern([0.5, 1.0, 2.0, 3.0], nu=2.5)),
        (2.0 * RBF(h) + 3 * Polynomial(1) ** 2, 2.0 * gp.RBF(h) + 3 * gp.DotProduct(1.0) ** 2),
        (RBF(h) * Matern(2.0) + 0.5, gp.RBF(h) * gp.Matern(2.0) + 0.5),
    ],
    ids=lambda value: repr(value) if isinstance(value, Kernel) else "",
)
def test_agrees_with_scikit_learn(kernel, theirs):
    np.testing.assert_allclose(kernel(X, Z), theirs(X, Z), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(kernel(X), theirs(X, X), rtol=1e-9, atol=1e-13)


def test_agrees_with_scikit_learn_in_one_dimension():
    x, z = X[:, :1], Z[:, :1]
    np.testing.assert_allclose(Periodic(h, 2.5)(x, z), gp.ExpSineSquared(h, 2.5)(x, z), rtol=1e-9)
    np.testing.assert_allclose(White(0.7)(x), gp.WhiteKernel(0.7)(x))


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        (RBF(h), lambda x, z: np.exp(-np.sum((x - z) ** 2) / (2 * h * h))),
        (Laplacian((1.0, 2.0, 3.0, 4.0)), lambda x, z: np.exp(-np.sum(np.abs(x - z) / np.arange(1, 5)))),
        (Bilinear(np.arange(16).reshape(4, 4)), lambda x, z: x @ np.arange(16).reshape(4, 4) @ z),
        (Periodic(h, 2.0), lambda x, z: np.exp(-2 * np.sum(np.sin(np.pi * (x - z) / 2.0) ** 2) / h**2)),
        (
            GaussianDensity(0.8, 0.3),
            lambda x, z: np.exp(-((np.linalg.norm(x - z) - 0.3) ** 2) / (2 * 0.8**2)) / np.sqrt(2 * np.pi * 0.8**2),
        ),
        (Constant(3.0), lambda x, z: 3.0),
        (White(2.0), lambda x, z: 2.0 * bool((x == z).all())),
        ((Linear() - 2).exp(), lambda x, z: np.exp(x @ z - 2)),
        ((RBF(h) + Linear()).polynomial([1, -2, 0.5]), lambda x, z: np.polyval([0.5, -2, 1], RBF(h)([x], [z]) + x @ z)),
        (3 - Linear(), lambda x, z: 3 - x @ z),
        (-RBF(h), lambda x, z: -np.exp(-np.sum((x - z) ** 2) / (2 * h * h))),
        (Polynomial(1.5, 200.0), lambda x, z: (x @ z + 200.0) ** 1.5),
    ],
    ids=lambda value: repr(value) if isinstance(value, Kernel) else "",
)
def test_agrees_with_its_formula(kernel, formula):
    A, B = X[:6], np.vstack([Z[:4], X[:2]])
    wanted = np.array([[np.asarray(formula(x, z)).item() for z in B] for x in A])
    np.testing.assert_allclose(kernel(A, B), wanted, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(kernel(A), [[np.asarray(formula(x, z)).item() for z in A] for x in A], rtol=1e-11)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_anova_is_the_sum_over_sets_of_columns(degree):
    parts = [RBF(0.7)(X[:, [j]], Z[:, [j]]) for j in range(4)]
    wanted = sum((np.prod([parts[j] for j in s], axis=0) for s in combinations(range(4), degree)), np.zeros((40, 23)))
    np.testing.assert_allclose(ANOVA(RBF(0.7), degree)(X, Z), wanted, rtol=1e-12, atol=1e-15)
    features = ANOVA(Polynomial(2), degree).features(X)
    np.testing.assert_allclose(features @ features.T, ANOVA(Polynomial(2), degree)(X), rtol=1e-9, atol=1e-9)


def test_anova_in_many_parts(monkeypatch):
    whole = ANOVA(RBF(0.7), 2)(X, Z)
    monkeypatch.setattr("gramian.kernels.vectors.anova.MAX_CELLS", 1)
    np.testing.assert_array_equal(ANOVA(RBF(0.7), 2)(X, Z), whole)


def test_auto_is_the_median_distance():
    upper = np.triu_indices(40, 1)
    np.testing.assert_allclose(RBF("auto").fitted(X).length_scale, np.median(pairwise.euclidean_distances(X)[upper]))
    city = np.median(pairwise.manhattan_distances(X)[upper])
    np.testing.assert_allclose(Laplacian("auto").fitted(X).length_scale, city)
    np.testing.assert_allclose(RBF("auto").fitted(sp.csr_matrix(X)).length_scale, RBF("auto").fitted(X).length_scale)
    for scale in (1e-200, 1e200):
        found = RBF("auto").fitted(X * scale)
        np.testing.assert_allclose(found.length_scale, RBF("auto").fitted(X).length_scale * scale)
        np.testing.assert_allclose(found(X * scale), RBF("auto")(X), rtol=1e-9)
    assert RBF("auto").fitted(np.ones((5, 2))).length_scale == 1.0
    assert RBF("auto").fitted(np.zeros((5, 2))).length_scale == 1.0
    assert RBF("auto").fitted([[3.0]]).length_scale == 1.0
    many = RNG.standard_normal((3000, 2))
    some = many[np.linspace(0, 2999, 1000).astype(int)]
    np.testing.assert_allclose(
        RBF("auto").fitted(many).length_scale, np.median(pairwise.euclidean_distances(some)[np.triu_indices(1000, 1)])
    )
    each = ANOVA(RBF("auto")).fitted(X)
    assert [k.length_scale for k in each.base] == [RBF("auto").fitted(X[:, [j]]).length_scale for j in range(4)]
    assert ANOVA((RBF(), Linear())).waits_for() is None
    both = (RBF("auto").on([0, 1]) + RBF("auto").warp(np.exp)).fitted(X)
    assert both.left.base.length_scale == RBF("auto").fitted(X[:, :2]).length_scale
    assert both.right.base.length_scale == RBF("auto").fitted(np.exp(X)).length_scale


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e8, [1e8, -1e8]])
@pytest.mark.parametrize(
    "kernel", [RBF(1.5), Matern(1.5, 0.5), Matern(1.5, 2.5), Laplacian(1.5), GaussianDensity(1.5, 0.2)]
)
def test_rows_far_from_zero_keep_their_digits(kernel, shift):
    """Multiples of 2⁻¹⁰ stay exact when moved; clusters far apart keep the digits within."""
    A, B = np.round(X[:, :3] * 1024) / 1024, np.round(Z[:, :3] * 1024) / 1024
    wanted_in, wanted_between = kernel(A), kernel(A, B)
    if np.ndim(shift):
        A2, B2 = np.vstack([A + shift[0], A + shift[1]]), np.vstack([B + shift[0], B + shift[1]])
        found_in, found_between = kernel(A2)[40:, 40:], kernel(A2, B2)[:40, :23]
        assert kernel(A2)[:40, 40:].max() < 1e-300
    else:
        found_in, found_between = kernel(A + shift), kernel(A + shift, B + shift)
    np.testing.assert_allclose(found_in, wanted_in, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found_between, wanted_between, rtol=1e-9, atol=1e-11)


def test_near_rows_of_a_root_keep_their_digits():
    A = np.vstack([X[:1], X[:1] + 1e-9, X])
    D = np.linalg.norm(A[:, None] - A[None], axis=2)
    np.testing.assert_allclose(Matern(1.0, 0.5)(A), np.exp(-D), rtol=1e-10)
    np.testing.assert_allclose(Matern(1.0, 0.5)(sp.csr_matrix(A)), np.exp(-D), rtol=1e-10)


def test_sparse_rows_far_apart_and_huge_keep_their_digits():
    A = sp.random(30, 50, density=0.1, random_state=0, format="csr") * 1e9
    near = A.copy()
    near.data += np.where(np.arange(near.nnz) % 7 == 0, 0.5, 0.0)
    B = near.toarray()
    D = ((A.toarray()[:, None] - B[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(RBF(2.0)(A, near), np.exp(-D / 8), rtol=1e-9, atol=1e-300)
    assert (RBF(2.0)(A, near).diagonal() > 1e-3).any()


def test_extreme_units():
    K = RBF(1.0)(np.array([[0.0], [1e200], [1e200], [-1e308]]))
    np.testing.assert_allclose(K, [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]], atol=1e-300)
    np.testing.assert_allclose(RBF(1e-320)([[0.0], [1e-320]]), [[1, np.exp(-0.5)], [np.exp(-0.5), 1]], rtol=1e-2)
    np.testing.assert_allclose(Cosine()([[1e200, 0.0], [1e-200, 1e-200]]), [[1, 0.5**0.5], [0.5**0.5, 1]])
    np.testing.assert_allclose(Matern(1.0, 60.0)([[0.0], [1e-6]]), 1.0)
    line = np.linspace(0.0, 3.0, 5)[:, None]
    np.testing.assert_allclose(RationalQuadratic(1.0, 1e12)(line), RBF(1.0)(line), rtol=1e-9)
    np.testing.assert_allclose(RationalQuadratic(1.0, 0.5)([[0.0], [1e300]]), np.eye(2), atol=1e-140)
    np.testing.assert_allclose(Matern(1.0, 0.3)([[0.0], [0.0], [1e9]])[:2, :2], 1.0)
    np.testing.assert_allclose(Matern(1.0, 1.5)([[0.0], [1e300]]), np.eye(2), atol=1e-300)
    with pytest.raises(ValueError, match="exp\\(k\\) overflows"):
        Linear().exp()([[100.0]])


def test_one_row_and_one_column():
    for kernel in (RBF(), Laplacian(), Linear(), Cosine(), RBF().centered(), ANOVA(RBF(), 2)):
        assert kernel([[2.0]]).shape == (1, 1)
        assert kernel.fitted([[1.0]])([[2.0]], [[1.0], [3.0]]).shape == (1, 2)


def test_columns_by_name_and_place():
    names = ["age", "height", "weight", "dose"]
    kernel = RBF(2.0).on("age") * Linear().on(["weight", "dose"]) + Laplacian().on([1])
    wanted = RBF(2.0)(X[:, [0]]) * Linear()(X[:, [2, 3]]) + Laplacian()(X[:, [1]])
    pandas, polars = pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)
    for table in (pandas, polars, polars.lazy()):
        np.testing.assert_allclose(kernel(table), wanted, rtol=1e-13)
    shuffled = pandas[["dose", "age", "weight", "height"]]
    np.testing.assert_allclose((RBF(2.0).on("age"))(shuffled), RBF(2.0)(X[:, [0]]))
    assert repr(kernel) == (
        "RBF(length_scale=2.0).on('age') * Linear().on(['weight', 'dose']) + Laplacian(length_scale=1.0).on([1])"
    )
    with pytest.raises(ValueError, match=r"no column 'size'; the columns are 'age', 'height'"):
        Linear().on("size")(pandas)
    with pytest.raises(ValueError, match="X has no names"):
        Linear().on("age")(X)
    for table in (X, pandas, sp.csr_matrix(X)):
        with pytest.raises(ValueError, match="wants column 7, and X has 4 columns"):
            Linear().on(7)(table)
    with pytest.raises(ValueError, match="needs a table"):
        Linear().on(0)(X[:, 0])
    for columns in ([], [1.5], True):
        with pytest.raises(ValueError, match="names or places"):
            Linear().on(columns)


def test_mixed_tables_of_words_and_numbers():
    words = ["banana", "bandana", "ananas"]
    wanted = Spectrum(2)(words) * RBF()([[1.0], [2.0], [4.0]])
    kernel = Spectrum(2).on("word") * RBF().on("size")
    columns = {"word": words, "size": [1.0, 2.0, 4.0]}
    for table in (pd.DataFrame(columns), pl.DataFrame(columns)):
        np.testing.assert_allclose(kernel(table), wanted)
    rows = np.array([[w, s] for w, s in zip(words, [1.0, 2.0, 4.0], strict=True)], dtype=object)
    by_place = Spectrum(2).on(0) * RBF().on(1)
    np.testing.assert_allclose(by_place(rows), wanted)
    np.testing.assert_allclose(by_place(rows.tolist()), wanted)
    lengths = Linear().warp(lambda items: np.array([len(w) for w in items]))
    np.testing.assert_allclose(lengths(words), np.outer([6, 7, 6], [6, 7, 6]))
    scaled = Spectrum(2).scaled_by(lambda items: [1.0 / len(w) for w in items])
    np.testing.assert_allclose(scaled(words), Spectrum(2)(words) / np.outer([6, 7, 6], [6, 7, 6]))
    with pytest.raises(ValueError, match=r"could not convert|number is needed"):
        RBF().on([0, 1])(rows)


def test_normalised_and_centred():
    np.testing.assert_allclose(Linear().normalized()(X, Z), Cosine()(X, Z), rtol=1e-12)
    J = np.eye(40) - 1 / 40
    np.testing.assert_allclose(RBF(h).centered()(X), J @ RBF(h)(X) @ J, atol=1e-13)
    centred = Polynomial(2).centered().fitted(X)
    F, G = Polynomial(2).features(X), Polynomial(2).features(Z)
    np.testing.assert_allclose(centred(Z), (G - F.mean(axis=0)) @ (G - F.mean(axis=0)).T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(centred.features(Z) @ centred.features(X).T, centred(Z, X), rtol=1e-9, atol=1e-9)
    own = Polynomial(2).centered().features(X)
    np.testing.assert_allclose(own @ own.T, Polynomial(2).centered()(X), rtol=1e-9, atol=1e-9)
    assert repr(centred) == "Polynomial(degree=2, constant=1.0).centered()"
    with pytest.raises(ValueError, match=r"call k\.fitted"):
        RBF().centered()(X, Z)
    with pytest.raises(ValueError, match=r"call k\.fitted"):
        RBF().centered().points(X)
    with pytest.raises(ValueError, match="no finite list of features"):
        Linear().on([0]).centered().fitted(X).features(X)
    with pytest.raises(ValueError, match="negative at point 0 with itself"):
        (-1 * RBF()).normalized()(X)
    zero = Linear().normalized()([[0.0], [1.0]])
    np.testing.assert_array_equal(zero, [[0, 0], [0, 1]])


def test_polynomial_features_have_the_right_factors():
    u = np.array([[2.0, 3.0]])
    np.testing.assert_allclose(Polynomial(2, 0.0).features(u), [[4.0, np.sqrt(2) * 6.0, 9.0]])
    for degree, constant in [(1, 0.0), (1, 2.0), (3, 0.0), (4, 0.5)]:
        k = Polynomial(degree, constant)
        np.testing.assert_allclose(k.features(X) @ k.features(Z).T, k(X, Z), rtol=1e-9, atol=1e-10)
    assert Polynomial(3).features(X).shape == (40, 35)
    with pytest.raises(ValueError, match=r"has [\d,]+ features"):
        Polynomial(20).features(np.ones((1, 30)))
    with pytest.raises(ValueError, match=r"has [\d,]+ features"):
        (Polynomial(4) ** 4).features(np.ones((1, 10)))


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Cosine(),
        Bilinear([[2, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]),
        2.5 * Linear() + 1,
        Linear() * Polynomial(2),
        (Linear() + 1) ** 3,
        Linear() ** 0,
        Linear().polynomial([1, 0, 2]),
        Linear().polynomial([0]),
        Polynomial(2).on([0, 2]).warp(np.tanh),
        Polynomial(2).normalized(),
        Linear().scaled_by(lambda X: X[:, 0]),
    ],
    ids=repr,
)
def test_features_reproduce_the_kernel(kernel):
    F, G = kernel.features(X), kernel.features(Z)
    np.testing.assert_allclose(F @ G.T, kernel(X, Z), rtol=1e-9, atol=1e-10)
    sparse = kernel.features(sp.csr_matrix(X)) if "warp" not in repr(kernel) and "scaled" not in repr(kernel) else F
    np.testing.assert_allclose(np.abs(sparse), np.abs(F), atol=1e-12)


def test_gaussian_series_and_its_error():
    x = np.linspace(-3, 4, 50)[:, None]
    k = RBF(1.3)
    i = np.arange(6)
    u = x / 1.3
    np.testing.assert_allclose(k.features(x, terms=6), np.exp(-(u**2) / 2) * u**i / np.sqrt(factorial(i)), rtol=1e-12)
    for terms in (1, 3, 10, 20):
        F = k.features(x, terms)
        error = np.abs(F @ F.T - k(x)).max()
        bound = k.truncation_error(x, terms)
        assert error <= bound * (1 + 1e-6) + 1e-15
        assert error >= bound * (1 - 1e-6) - 1e-15  # reached at the row farthest from zero
    F = k.features(x)
    np.testing.assert_allclose(F @ F.T, k(x), atol=2e-12)
    assert F.shape[1] < 60
    far = np.array([[45.0], [45.5]])
    G = RBF(1.0).features(far)
    np.testing.assert_allclose(G @ G.T, RBF(1.0)(far), atol=1e-10)
    with pytest.raises(ValueError, match="for one column, and X has 4"):
        k.features(X)
    with pytest.raises(ValueError, match="terms is 0"):
        k.features(x, terms=0)
    with pytest.raises(ValueError, match="move the rows towards zero"):
        k.features([[1e6]])
    assert k.truncation_error(x, 0) == 1.0


def test_features_that_are_not_finite_are_refused():
    for kernel in (Laplacian(), White(), Sigmoid(), Linear().exp(), -1 * Linear(), Constant(-1.0), Polynomial(1.5)):
        with pytest.raises(ValueError, match="no finite list of features"):
            kernel.features(X)
    with pytest.raises(ValueError, match="no finite list of features"):
        Linear().polynomial([1, -1]).features(X)


def test_feature_map_and_repair_of_a_matrix():
    K = Polynomial(2)(X)
    F = feature_map(K)
    assert F.shape == (40, 15)
    np.testing.assert_allclose(F @ F.T, K, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(feature_map(sp.csr_matrix(np.eye(2))), np.eye(2)[:, ::-1])
    S = RNG.standard_normal((12, 12))
    fixed = repaired(S)
    values, U = np.linalg.eigh((S + S.T) / 2)
    np.testing.assert_allclose(fixed, (U * np.maximum(values, 0)) @ U.T, atol=1e-12)
    best = np.linalg.norm(S - fixed)
    for _ in range(200):
        V = feature_map(fixed + 1e-12 * np.eye(12)) + 0.05 * RNG.standard_normal((12, 1))
        assert np.linalg.norm(S - V @ V.T) >= best - 1e-9
    np.testing.assert_array_equal(repaired(np.eye(3)), np.eye(3))
    np.testing.assert_allclose(repaired(K), K, atol=1e-12 * np.abs(K).max())
    with pytest.raises(ValueError, match=r"smallest eigenvalue, in units of its diagonal, is -1\. gm.kernels.repaired"):
        feature_map([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"not symmetric: K\[0, 1\] = 2 and K\[1, 0\] = 1"):
        feature_map([[1.0, 2.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="must be a square matrix"):
        feature_map(X)
    with pytest.raises(ValueError, match="NaN or infinity at row 1, column 0"):
        repaired([[1.0, 0.0], [np.nan, 1.0]])


# Validity: document 003 (a)–(f) and its quiz, document 001 §7.7.


@pytest.mark.parametrize("k", [Linear(), RBF(), Polynomial(2), Cosine() + White()], ids=repr)
def test_statements_a_to_f(k):
    assert k.polynomial([1.0, 0.0, 0.5, 2.0]).validity().valid  # (a)
    assert k.polynomial([0.0, -1.0]).validity().valid is False  # (b)
    assert k.exp().validity().valid  # (c)
    assert k.scaled_by(lambda X: np.exp(X[:, 0])).validity().valid  # (d)
    assert k.scaled_by(lambda X: np.sin(X[:, 0])).validity().valid  # (e)
    assert k.warp(np.tanh).validity().valid  # (f)


def distance_root(X, Z):
    return np.sqrt(((X[:, None] - Z[None]) ** 2).sum(axis=2) + 1)


def test_quiz_functions():
    first = (-1 * Cosine()).validity()
    assert first.valid is False
    assert first.eigenvalue == -1.0
    again = Custom(lambda X, Z: -X @ Z.T / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1))).validity()
    assert again.valid is False
    second = Custom(distance_root).validity()
    assert second.valid is False
    assert np.linalg.eigvalsh(distance_root(second.points, second.points))[0] < -1e-3
    # The document's own points: two unit vectors.
    axes = Custom(distance_root).validity(np.eye(2))
    np.testing.assert_allclose(axes.eigenvalue, 1 - np.sqrt(3))

    def f(X):
        return np.exp((X**2 - 1.0) / 2).prod(axis=1)

    assert Constant().scaled_by(f).validity().valid
    unknown = Custom(lambda X, Z: np.outer(f(X), f(Z))).validity()
    assert unknown.valid is None
    assert f"{unknown.tried:,} points tried" in str(unknown)


def test_functions_that_are_no_kernels():
    sines = Custom(lambda x, z: np.sin(x) * np.cos(z), pairwise=True).validity()
    assert sines.valid is False
    x, z = sines.pair
    assert abs(np.sin(x) * np.cos(z) - np.sin(z) * np.cos(x)).item() > 1e-6
    assert "differ" in str(sines)
    assert "x: " in str(sines)
    skew = Bilinear([[1.0, 2.0], [0.0, 1.0]]).validity()
    assert skew.valid is False
    assert skew.pair is not None
    assert skew.pair[0] @ np.array([[1.0, 2.0], [0.0, 1.0]]) @ skew.pair[1] == 2.0
    minus = Bilinear(-np.eye(3)).validity()
    assert minus.valid is False
    assert minus.eigenvalue == -1.0
    for bad in ([[1e200, 0.0], [0.0, -1e180]], [[1.0, 0.0], [0.0, -1e-16]], [[1e200, 1.0], [0.0, 1.0]]):
        refused = Bilinear(bad).validity()
        assert refused.valid is False
        assert refused.witness is not None
        assert refused.proof is None
    assert Bilinear([[1e200, 0.0], [0.0, 1e-180]]).validity().valid
    assert Bilinear([[2.0**600, 2.0**10], [2.0**10, 2.0**-580]]).validity().valid  # singular, exactly
    M = RNG.standard_normal((4, 4))
    assert Bilinear(M @ M.T).validity().valid
    assert Bilinear(M @ M.T).validity().proof.endswith("an inner product of Vx")
    # within rounding: said, and taken by models
    slight = Bilinear(np.linalg.inv(M @ M.T) * (1 + 1e-14 * np.arange(4)))
    assert slight.validity().valid is False
    assert slight.validity().within_rounding
    rows = RNG.standard_normal((20, 4))
    assert gm.Ridge(alpha=1.0, kernel=slight).fit(rows, rows[:, 0]).score(rows, rows[:, 0]) > 0
    with pytest.raises(ValueError, match="is no kernel"):
        gm.Ridge(alpha=1.0, kernel=Bilinear([[1.0, 0.0], [0.0, -1e-16]])).fit(rows[:, :2], rows[:, 0])
    for bad in ([[1e200, 0.0], [0.0, -1e180]], [[1.0, 0.0], [0.0, -1e-16]]):
        with pytest.raises(ValueError, match="negative eigenvalue"):
            RBF(1.0, metric=bad)
        with pytest.raises(ValueError, match="not positive semi-definite"):
            feature_map(bad)
    bent = Bilinear(M @ M.T - (np.linalg.eigvalsh(M @ M.T)[0] + 1e-3) * np.eye(4))
    found = bent.validity()
    np.testing.assert_allclose(bent(found.points)[0, 0], found.eigenvalue)
    np.testing.assert_allclose(found.eigenvalue, -1e-3, rtol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(1.0) - Linear(),
        RBF(1.0) - RBF(0.5),
        Linear() - 1,
        Linear() - RBF(),
        -1 * RBF(),
        -0.001 * White(),
        Sigmoid(),
        Sigmoid(0.01, 5.0),
        Sigmoid(1.0, -1.0),
        Sigmoid(-1.0, 2.0),
        GaussianDensity(1.0, 0.5),
        GaussianDensity(0.01, 20.0),
        Polynomial(2, -1.0),
        Polynomial(1.5),
        RBF().polynomial([0, 2, -1]),
        ANOVA(Linear() - 1, 2),
        (RBF() - 2 * RBF(3.0)).on([2, 7]),
        (-1 * RBF("auto")).on(0),
        RBF((1.0, 2.0, 3.0, 4.0, 5.0, 6.0)) - 1,
        Bilinear(np.eye(7)) - RBF(),
        Linear().warp(np.abs) - Linear() * 0.5,
        Sum(RBF(), -1 * Constant(1.1)) * Linear(),
    ],
    ids=repr,
)
def test_refusals_come_with_points(kernel):
    found = kernel.validity()
    assert found.valid is False
    assert len(found.points) <= 8
    K = kernel(found.points)
    np.testing.assert_allclose(K @ found.vector, found.eigenvalue * found.vector, atol=1e-9 * np.abs(K).max())
    assert found.eigenvalue < 0
    assert f"at {len(K)} point" in str(found)
    assert not found.children


def test_what_is_valid_by_theory():
    assert GaussianDensity(2.0, -1.0).validity().valid
    assert Sigmoid(0.0, 1.0).validity().valid
    assert Sigmoid(1e-300, 1.0).validity().valid is False  # by theory: no points of this size show it
    assert Sigmoid(1e-300, 1.0).validity(X).valid is False
    assert "for a short row" in str(Sigmoid(1e-300, 1.0).validity())
    assert Polynomial(3, 0.0).validity().valid
    assert Linear().validity().rule == "an inner product"


def test_the_proof_is_a_tree():
    found = (0.5 * RBF(2.0) * (Linear() + 1) ** 2).validity()
    assert found.valid
    assert [child.kernel for child in found.children] == [
        "0.5 * RBF(length_scale=2.0)",
        "(Linear() + Constant(value=1.0)) ** 2",
    ]
    lines = str(found).splitlines()
    assert len(lines) == 7
    assert lines[-1].startswith("      Constant(value=1.0) is a kernel")
    unknown = (Custom(lambda X, Z: X @ Z.T) + RBF()).validity()
    assert unknown.valid is None
    assert [child.valid for child in unknown.children] == [None, True]


def test_validity_of_points_of_other_kinds():
    words = ["abc", "bcd", "xyz", "a"]
    common = Custom(lambda a, b: float(len(set(a) & set(b))), pairwise=True)
    found = common.validity(words)
    assert found.valid is None
    assert "among the 4 points tried" in str(found)
    refused = (-1 * common).validity(words)
    assert refused.valid is False
    assert refused.points == ["abc"]
    assert "points: ['abc']" in str(refused)
    ragged = Custom(lambda a, b: float(len(a) * len(b)), pairwise=True)
    np.testing.assert_array_equal(ragged([[1], [1, 2]]), [[1, 2], [2, 4]])
    lopsided = Custom(lambda A, B: np.array([[float(len(a)) for _ in B] for a in A]))
    pair = lopsided.validity(words).pair
    assert len(pair[0]) != len(pair[1])
    for table in (X, sp.csr_matrix(X), pd.DataFrame(X)):
        assert (RBF("auto") - 1).validity(table).valid is False
    cannot = Custom(lambda X, Z: X.nothing).validity()
    assert cannot.valid is None
    assert "could not be computed" in str(cannot)
    named = (RBF() - 1).on("age")
    assert named.validity().valid is None
    assert named.validity(pd.DataFrame({"age": [1.0, 2.0]})).valid is False
    histograms = Custom(lambda X, Z: np.minimum(X[:, None], Z[None]).sum(axis=2))
    assert histograms.validity().valid is False  # for rows of any sign
    assert histograms.validity(np.abs(X)).valid is None


def test_a_given_matrix():
    K = RBF()(X)
    assert Precomputed().validity().valid is None
    assert Precomputed().validity(K).valid
    bad = Precomputed().validity(K - 0.5)
    assert bad.valid is False
    assert bad.eigenvalue < 0
    lopsided = K.copy()
    lopsided[3, 5] += 1
    assert set(Precomputed().validity(lopsided).pair) == {3, 5}
    k = Precomputed()
    new = RBF()(Z, X)
    np.testing.assert_array_equal(k(new), new)
    np.testing.assert_array_equal(k.block(k.points(new), k.points(K)[[1, 4]]), new[:, [1, 4]])
    np.testing.assert_array_equal(k.diagonal(K), np.ones(40))
    with pytest.raises(ValueError, match="only argument"):
        k(K, K)
    with pytest.raises(ValueError, match="it must be square"):
        k.diagonal(new)
    with pytest.raises(ValueError, match="it must be square"):
        k.validity(new)
    with pytest.raises(ValueError, match="40 columns, and point 49 is wanted"):
        k.block(k.points(K), k.points(np.eye(50)))
    with pytest.raises(ValueError, match="row 0"):
        k(np.full((2, 2), np.nan))


def test_functions_of_ones_own():
    k = Custom(lambda X, Z: X @ Z.T)
    np.testing.assert_allclose(k(X, Z), X @ Z.T)
    with pytest.raises(ValueError, match=r"gives shape \(40,\).*pairwise=True"):
        Custom(lambda X, Z: X[:, 0])(X)
    with pytest.raises(ValueError, match="must give one number"):
        Custom(lambda x, z: x, pairwise=True)(X)
    with pytest.raises(TypeError, match="must be a function"):
        Custom(3)
    with pytest.raises(ValueError, match="got str"):
        k("words")
    with pytest.raises(ValueError, match="no points"):
        k([])
    assert Custom(lambda X, Z: sp.csr_matrix(X @ Z.T))(X).shape == (40, 40)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: RBF(0), ValueError, "length_scale of RBF is 0; it must be a positive number"),
        (lambda: RBF(-1.0), ValueError, "must be a positive number"),
        (lambda: RBF(np.nan), ValueError, "must be a positive number"),
        (lambda: RBF(True), ValueError, "length_scale of RBF is True"),
        (lambda: RBF("median"), ValueError, "'median'; it must be a positive number, one for each feature, or"),
        (lambda: RBF([1.0, -2.0]), ValueError, "length_scale of RBF is -2.0"),
        (lambda: RBF([]), ValueError, "one for each feature"),
        (lambda: RBF([1.0, 2.0])(X), ValueError, "length_scale has 2 numbers, and X has 4 columns"),
        (lambda: Laplacian([1.0, 2.0])(X), ValueError, "length_scale has 2 numbers, and X has 4 columns"),
        (lambda: RBF("auto")(X, Z), ValueError, "call k.fitted"),
        (lambda: RBF("auto").block(RBF().points(X), RBF().points(X)), ValueError, "is not set yet"),
        (lambda: Matern(1.0, nu=0), ValueError, "nu of Matern is 0"),
        (lambda: RationalQuadratic(mixture=0), ValueError, "mixture of RationalQuadratic is 0"),
        (lambda: Periodic("auto"), ValueError, "a positive number or one for each feature"),
        (lambda: Periodic(1.0, 0.0), ValueError, "period of Periodic is 0.0"),
        (lambda: Periodic(1.0, [1.0, 2.0])(X), ValueError, "period has 2 numbers, and X has 4 columns"),
        (lambda: GaussianDensity(0.0), ValueError, "sigma of GaussianDensity"),
        (lambda: GaussianDensity(1.0, np.inf), ValueError, "must be a finite number"),
        (lambda: Polynomial(0), ValueError, "degree of Polynomial is 0"),
        (lambda: Polynomial(2, "1"), ValueError, "constant of Polynomial is '1'"),
        (lambda: Polynomial(0.5, 0.0)(X), ValueError, "give an integer degree"),
        (lambda: Bilinear([[1.0, 2.0]]), ValueError, "must be a square matrix"),
        (lambda: Bilinear(np.eye(3))(X), ValueError, "M of Bilinear is 3 × 3, and X has 4 columns"),
        (lambda: White(-1.0), ValueError, "variance of White is -1.0; it must be a number that is not negative"),
        (lambda: Constant(np.inf), ValueError, "value of Constant"),
        (lambda: Sigmoid("a"), ValueError, "slope of Sigmoid"),
        (lambda: Scaled(RBF(), np.nan), ValueError, "factor of Scaled"),
        (lambda: Scaled(2.0, RBF()), TypeError, "base of Scaled is 2.0; it must be a kernel"),
        (lambda: Sum(RBF(), 3), TypeError, "right of Sum is 3; it must be a kernel"),
        (lambda: RBF() ** -1, ValueError, "exponent of Power is -1"),
        (lambda: Power(RBF(), 1.5), ValueError, "exponent of Power is 1.5"),
        (lambda: RBF().polynomial([]), ValueError, "coefficients of PolynomialOf"),
        (lambda: PolynomialOf(RBF(), ["a"]), ValueError, "coefficients of PolynomialOf"),
        (lambda: ANOVA(RBF(), 0), ValueError, "degree of ANOVA is 0"),
        (lambda: ANOVA(()), ValueError, "empty tuple"),
        (lambda: ANOVA((RBF(), 2)), TypeError, "base of ANOVA is 2"),
        (lambda: ANOVA([RBF(), RBF()])(X), ValueError, "2 kernels, and X has 4 columns"),
        (lambda: RBF().warp(3), TypeError, "f of Warped is 3"),
        (lambda: RBF().scaled_by(3), TypeError, "f of ScaledBy is 3"),
        (lambda: RBF().warp(lambda X: X[:2])(X), ValueError, "gives 2 points for 40"),
        (lambda: RBF().scaled_by(lambda X: X)(X), ValueError, "one number for each"),
        (lambda: RBF().scaled_by(lambda X: X[:, 0] * np.nan)(X), ValueError, "NaN or infinity at point 0"),
        (lambda: RBF().set_params(length_scale__x=1), ValueError, "which has no parameter 'x'"),
        (lambda: (RBF() + 1).set_params(left__x=1), ValueError, "has no parameter 'x'; it has 'length_scale'"),
        (lambda: RBF() + "a", TypeError, "unsupported operand"),
        (lambda: "a" + RBF(), TypeError, "concatenate"),
        (lambda: RBF() - "a", TypeError, "unsupported operand"),
        (lambda: RBF() * "a", TypeError, "can't multiply|unsupported operand"),
        (lambda: RBF() ** "a", TypeError, "unsupported operand"),
        (lambda: kernel_of("rfb"), ValueError, "Did you mean 'rbf'"),
        (lambda: kernel_of(3), ValueError, "kernel is 3; it must be None"),
        (lambda: kernel_of(RBF), ValueError, "give an instance of it"),
    ],
)
def test_what_is_wrong_is_named(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_the_algebra():
    a, b = RBF(2.0), Linear()
    assert repr(a * (b + 1) ** 2 - b) == "RBF(length_scale=2.0) * (Linear() + Constant(value=1.0)) ** 2 - Linear()"
    assert repr((a + b) * a) == "(RBF(length_scale=2.0) + Linear()) * RBF(length_scale=2.0)"
    assert repr(a - (b - a)) == "RBF(length_scale=2.0) - (Linear() - RBF(length_scale=2.0))"
    assert repr((a + b).exp().normalized()) == "(RBF(length_scale=2.0) + Linear()).exp().normalized()"
    assert sum([a, b, a]) == a + b + a
    assert a + 0 is a
    assert np.float64(2.0) * a == 2 * a
    assert a * np.int64(2) == 2 * a
    assert a.get_params() == {"length_scale": 2.0, "metric": None}
    k = 3 * a + b.on([0])
    assert k.get_params()["left__base__length_scale"] == 2.0
    changed = k.set_params(left__base__length_scale=5.0, left__factor=4.0)
    assert changed == 4 * RBF(5.0) + b.on([0])
    assert k == 3 * a + b.on([0])
    assert isinstance(a + b, Sum)
    assert isinstance(a.on(0), On)
    assert isinstance(a.exp(), Exponential)
    assert isinstance(a.warp(abs), Warped)
    assert isinstance(a.scaled_by(abs), ScaledBy)
    assert isinstance(a.normalized(), Normalized)
    assert isinstance(a.centered(), Centered)
    assert PolynomialOf(a, [1, 2]) == a.polynomial((1.0, 2.0))
    np.testing.assert_allclose(Linear().on(1)(Linear().points(X)), np.outer(X[:, 1], X[:, 1]))
    assert Power(a, np.int64(2)) == Power(a, 2.0) == a**2


@dataclass(frozen=True, eq=False, repr=False)
class Smaller(Kernel):
    """A kernel that is its formula alone."""

    start: float = 0.0

    def block(self, A, B):
        return np.minimum(A.X - self.start, B.X.T - self.start)


def test_a_kernel_needs_its_formula_alone():
    x = np.abs(X[:, :1])
    k = Smaller(np.float64(-1.0))
    assert repr(2 * k) == "2.0 * Smaller(start=-1.0)"
    np.testing.assert_allclose(k.diagonal(x), x[:, 0] + 1)
    np.testing.assert_allclose((k * RBF())(x), k(x) * RBF()(x))
    assert k.validity(x).valid is None
    assert "no rule tells" in str(k.validity(x))
    assert k.validity().valid is False  # below the start


def test_summands():
    a, b = RBF(2.0), Linear()
    assert (a + 2 * (b + 1)).summands() == (a, 2 * b, 2.0 * Constant(1.0))
    assert ANOVA(a).summands(3) == (a.on(0), a.on(1), a.on(2))
    assert ANOVA((a, b)).summands() == (a.on(0), b.on(1))
    assert ANOVA(a, 2).summands(3) == (ANOVA(a, 2),)
    assert ANOVA(a).summands() == (ANOVA(a),)
    assert (a + b).on(["x", "y"]).summands() == (a.on(["x", "y"]), b.on(["x", "y"]))
    for k in (a + 2 * (b + 1), ANOVA(a), 0.5 * ANOVA(a) + b):
        np.testing.assert_allclose(sum(part(X) for part in k.summands(4)), k(X), rtol=1e-12)


def test_kernels_by_name():
    assert kernel_of(None) == kernel_of("linear") == Linear()
    assert kernel_of("rbf") == RBF("auto")
    assert kernel_of("laplacian") == Laplacian("auto")
    assert kernel_of("matern") == Matern("auto")
    assert kernel_of("polynomial") == Polynomial()
    assert kernel_of("cosine") == Cosine()
    assert kernel_of("sigmoid") == Sigmoid()
    k = RBF(3.0)
    assert kernel_of(k) is k
    assert gm.kernels.RBF is RBF


@pytest.mark.parametrize("kernel", [RBF("auto"), Laplacian(2.0), Matern(1.0, 0.5), Bilinear(np.eye(4)) + Cosine()])
def test_the_same_bits_for_any_number_of_threads(kernel):
    many = RNG.standard_normal((1500, 4))
    with gm.threads(1):
        one, between = kernel(many), kernel.fitted(many)(many, many[:700])
    with gm.threads(3):
        np.testing.assert_array_equal(kernel(many), one)
        np.testing.assert_array_equal(kernel.fitted(many)(many, many[:700]), between)
    np.testing.assert_array_equal(one, one.T)
    np.testing.assert_array_equal(one.diagonal(), kernel.diagonal(many))


def test_naming_a_kernel_needs_no_compiler():
    code = (
        "import sys, gramian as gm; k = gm.kernels.kernel_of('rbf') + 2 * gm.kernels.Matern(); "
        "assert k.validity().valid; gm.kernels.Polynomial(2)([[1.0]]); print('numba' in sys.modules)"
    )
    assert output_of(code).strip() == "False"


def test_prepared_rows_are_kept_for_slices_and_few():
    A = RBF().points(X)
    for scale in np.linspace(1, 2, 20):
        RBF(scale).block(A[3:10][::2], A[5:][[True, False] * 17 + [True]])
    assert len(A._made) <= 8
    reverse = A[::-1][2:]
    np.testing.assert_allclose(RBF().block(reverse, A), RBF()(X)[::-1][2:], rtol=1e-12)
    np.testing.assert_allclose(RBF().block(A[30:][::-1], A), RBF()(X)[30:][::-1], rtol=1e-12)
    np.testing.assert_allclose(RBF().block(A[:5][::-1], A), RBF()(X)[:5][::-1], rtol=1e-12)
