"""Sums of kernels without their matrix, and support vector machines of many rows, which live on them."""

import numpy as np
import pytest
from sklearn.svm import SVC as Libsvm

import gramian as gm
from gramian._core.numerics.exponential import exp_here, exp_single_here, expm1_single_here
from gramian.kernels import RBF, Laplacian, Linear
from gramian.kernels.numerics.sums import gaussian_sums, gaussian_sums_among
from gramian.models.kernel import svm
from gramian.models.kernel.svm import train
from gramian.solvers.kernel.kernel_rows import FEW, KernelRows, single_precision
from gramian.solvers.kernel.smo import Dual, Start, _at_margins, minimise


def noisy(seed, n, d=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1
    return X, y


@pytest.mark.parametrize("d", [1, 3, 4, 7, 20])
@pytest.mark.parametrize("t", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_equal_the_matrix_times_the_weights(d, t, dtype):
    rng = np.random.default_rng(d)
    U, V = rng.standard_normal((301, d)).astype(dtype), rng.standard_normal((1037, d)).astype(dtype)
    w = rng.standard_normal((1037, t))
    a, b = (U**2).sum(axis=1), (V**2).sum(axis=1)
    K = np.exp(-((U.astype(float)[:, None] - V.astype(float)) ** 2).sum(axis=2))
    found = gaussian_sums(U, a, V, b, w)
    size = K @ np.abs(w)
    assert (np.abs(found - K @ w) <= (1e-12 if dtype == np.float64 else 2e-5) * (1 + size)).all()
    with gm.threads(1):
        np.testing.assert_array_equal(gaussian_sums(U, a, V, b, w), found)


@pytest.mark.parametrize("n", [1, 2, 255, 257, 1700])
@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_among_rows_equal_the_matrix_times_the_weights(n, share, dtype):
    rng = np.random.default_rng(n)
    U = rng.standard_normal((n, 5)).astype(dtype)
    a = (U**2).sum(axis=1)
    w = rng.standard_normal(n) * (rng.random(n) < share)
    K = np.exp(-((U.astype(float)[:, None] - U.astype(float)) ** 2).sum(axis=2))
    found = gaussian_sums_among(U, a, w)
    assert (np.abs(found - K @ w) <= (1e-12 if dtype == np.float64 else 2e-5) * (1 + K @ np.abs(w))).all()
    with gm.threads(1):
        np.testing.assert_array_equal(gaussian_sums_among(U, a, w), found)


def test_exponentials_less_one_on_vectors():
    for x in (np.linspace(-80.0, 80.0, 1001), np.geomspace(1e-30, 1.0, 501), -np.geomspace(1e-30, 1.0, 501)):
        x = x.astype(np.float32)
        expected = np.expm1(x.astype(np.float64))
        expm1_single_here(x, len(x), np.empty(len(x), dtype=np.int32))
        np.testing.assert_allclose(x, expected, rtol=1e-6)
    x = np.array([-np.inf, np.inf, np.nan], dtype=np.float32)
    expm1_single_here(x, 3, np.empty(3, dtype=np.int32))
    assert x[0] == -1.0
    assert x[1] > 1e38


def test_exponentials_on_vectors():
    x = np.linspace(-700.0, 700.0, 1001)
    found, bits = x.copy(), np.empty(1001, dtype=np.int64)
    exp_here(found, 1001, bits)
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-15)
    below = np.array([0.0, -1e-300, -1e9])
    exp_here(below, 3, bits)
    assert below[:2].tolist() == [1.0, 1.0]
    assert 0 <= below[2] < 1e-300
    x = np.linspace(-80.0, 1.0, 999).astype(np.float32)
    found, bits = x.copy(), np.empty(999, dtype=np.int32)
    exp_single_here(found, 999, bits)
    np.testing.assert_allclose(found, np.exp(np.minimum(x, 0).astype(float)), rtol=2e-7)


@pytest.mark.parametrize(
    "kernel", [RBF(1.5), RBF([1.0, 2.0, 0.5]), RBF(1e-7), 2.0 * RBF(1.0) + Linear(), Laplacian(2.0)]
)
def test_times_is_the_matrix_times_the_weights(kernel):
    rng = np.random.default_rng(1)
    A, B = kernel.points(rng.standard_normal((530, 3))), kernel.points(rng.standard_normal((700, 3)))
    for shape in [(700,), (700, 2)]:
        w = rng.standard_normal(shape)
        np.testing.assert_allclose(kernel.times(A, B, w), kernel.block(A, B) @ w, atol=1e-10)
    assert kernel.times(A, B[:0], np.zeros(0)).tolist() == [0.0] * 530


@pytest.mark.parametrize("start_from_sample", [False, True])
def test_machines_of_many_rows_reach_libsvms_objective(monkeypatch, start_from_sample):
    X, y = noisy(0, FEW + 500)
    if start_from_sample:
        monkeypatch.setattr(svm, "SAMPLED_FROM", 1000)
        monkeypatch.setattr(svm, "SAMPLE", 400)
    n, C = len(y), 2.0
    model = gm.SVC(alpha=1 / (2 * n * C), kernel=RBF(1.5), tol=1e-6).fit(X, y)
    assert model.certificate_.holds
    peer = Libsvm(C=C, gamma=1 / (2 * 1.5**2), tol=1e-6).fit(X, y)
    K = RBF(1.5)(X)

    def dual(support, coef):
        beta = np.zeros(n)
        beta[support] = coef
        assert abs(beta.sum()) < 1e-8
        assert (y * beta >= 0).all()
        assert (y * beta <= C * (1 + 1e-12)).all()
        return y @ beta - 0.5 * beta @ K @ beta

    assert dual(model.support_, model.dual_coef_[0]) == pytest.approx(dual(peer.support_, peer.dual_coef_[0]), rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X[:100]), peer.decision_function(X[:100]), atol=2e-3)


def test_rows_many_length_scales_apart_are_not_computed_in_single_precision():
    X, y = noisy(1, FEW + 200, 3)
    X[0] = 500.0
    kernel = RBF(0.3)
    assert single_precision(kernel, kernel.points(X)) is None
    assert single_precision(RBF(100.0), kernel.points(X)) is not None
    model = gm.SVC(alpha=1e-4, kernel=kernel).fit(X, y)
    assert model.certificate_.holds


def test_a_path_of_machines_starts_from_the_one_before():
    X, y = noisy(2, 2400)
    kernel = RBF(1.5)
    rows, weight = KernelRows(kernel, kernel.points(X)), np.ones(len(y))
    first = train(rows, y, weight, 1e-3, True, 1e-6)
    warm = train(rows, y, weight, 8e-4, True, 1e-6, Start(first.beta, first.f).scaled(1e-3 / 8e-4))
    cold = train(rows, y, weight, 8e-4, True, 1e-6)
    assert warm.value == pytest.approx(cold.value, rel=2e-6)
    assert warm.gap <= 1e-6
    exact = rows.times(warm.beta)
    np.testing.assert_allclose(warm.f, exact, atol=2e-5)
    free = (warm.beta != 0) & (np.abs(warm.beta) < 0.999 * np.abs(warm.beta).max())
    assert free.any()
    np.testing.assert_allclose(warm.f[free], exact[free], atol=1e-9)


@pytest.mark.parametrize("room", [0.05, 1e-30])
def test_f_is_exact_where_it_decides(room):
    """Near margins in double precision; everywhere, where rounding could decide."""
    X, y = noisy(3, FEW + 700)
    n = len(y)
    rows = KernelRows(RBF(1.5), RBF(1.5).points(X))
    dual = Dual(y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0), np.arange(n))
    found = minimise(dual, rows, tol=1e-3)
    exact = RBF(1.5)(X) @ found.beta
    rough = rows.product(found.beta)
    G = rough - y
    top = float(-G[found.beta < dual.high].min())
    bottom = float(-G[found.beta > dual.low].max())
    sharp = _at_margins(dual, rows, found.beta, rough, top, bottom, room)
    if room < 1e-10:
        assert sharp is None
        return
    near = (found.beta > dual.low) & (found.beta < dual.high)
    near |= np.abs(y - rough - 0.5 * (top + bottom)) <= 0.9 * room
    assert near.any()
    np.testing.assert_allclose(sharp[near], exact[near], atol=1e-11)
    np.testing.assert_allclose(sharp, exact, atol=1e-3)


def test_the_gap_is_that_of_double_precision():
    X, y = noisy(4, FEW + 1500)
    n, alpha = len(y), 1 / (2 * (FEW + 1500))
    machine = train(KernelRows(RBF(1.5), RBF(1.5).points(X)), y, np.ones(n), alpha, True, 1e-5)
    f = RBF(1.5)(X) @ machine.beta
    primal = 0.5 * machine.beta @ f + np.maximum(0, 1 - y * (f + machine.offset)).sum()
    lower = y @ machine.beta - 0.5 * machine.beta @ f
    assert machine.gap == pytest.approx((primal - lower) / primal, rel=1e-3, abs=1e-9)
    assert machine.gap <= 1e-5
