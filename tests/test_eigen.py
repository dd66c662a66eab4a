"""Eigenvalues by LAPACK and by block Krylov: against full decompositions, with repeats, zeros and restarts."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.solvers import eigen as module
from gramian.solvers.eigen import eigen, krylov, least, matrix_times


def symmetric(seed, n, values=None):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = rng.standard_normal(n) if values is None else values
    A = (Q * values) @ Q.T
    return 0.5 * (A + A.T), np.sort(values)[::-1]


def holds(A, found, values, tol=1e-9):
    k = len(values)
    scale = max(np.abs(np.linalg.eigvalsh(A)).max(), 1e-300)
    np.testing.assert_allclose(found.values, values, atol=tol * scale)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-12)
    left = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    assert left.max() <= tol * scale
    np.testing.assert_allclose(found.residuals, left, atol=1e-13 * scale)
    assert found.converged


@pytest.mark.parametrize("count", [1, 3, 30, 60, None])
@pytest.mark.parametrize("smallest", [False, True])
def test_dense(count, smallest):
    A, values = symmetric(0, 60)
    k = 60 if count is None else count
    holds(A, eigen(A, count, smallest=smallest), values[::-1][:k] if smallest else values[:k], 1e-12)


@pytest.mark.parametrize("n", [1, 2, 9, 120])
def test_krylov_of_small_matrices(n):
    A, values = symmetric(1, n)
    for count in {1, min(3, n), n}:
        holds(A, krylov(lambda Q: A @ Q, n, count), values[:count])
        holds(A, krylov(lambda Q: A @ Q, n, count, smallest=True), values[::-1][:count])


def test_krylov_with_restarts(monkeypatch):
    monkeypatch.setattr(module, "BASIS_CELLS", 0)
    values = np.concatenate([np.geomspace(10, 2, 12), np.linspace(1.0, 0.0, 388)])
    A, values = symmetric(2, 400, values)
    found = krylov(matrix_times(A), 400, 6, block=4)
    holds(A, found, values[:6])
    assert found.products > 6 + 4 * 4  # more than the basis holds
    start = found.vectors + 1e-5 * np.random.default_rng(0).standard_normal((400, 6))
    near = krylov(matrix_times(A), 400, 6, start=start)
    holds(A, near, values[:6])
    assert near.products <= found.products


def test_repeated_eigenvalues_and_zero_matrices():
    A, values = symmetric(3, 200, np.r_[np.full(20, 5.0), np.ones(180)])
    holds(A, krylov(matrix_times(A), 200, 12), values[:12])
    holds(A, krylov(matrix_times(A), 200, 25, block=3), values[:25])
    B = np.random.default_rng(4).standard_normal((300, 3))
    found = krylov(lambda Q: B @ (B.T @ Q), 300, 8)
    holds(B @ B.T, found, np.r_[np.linalg.svd(B, compute_uv=False) ** 2, np.zeros(5)])
    nothing = krylov(np.zeros_like, 50, 4)
    np.testing.assert_array_equal(nothing.values, 0.0)
    assert nothing.converged


def test_blocks_that_nearly_depend_on_each_other_stay_orthogonal():
    """One large eigenvalue that is known is taken off, beside which the others are as small as rounding."""
    n = 400
    u = np.full((n, 1), n**-0.5)
    A = (np.ones((n, n)) - np.eye(n)) / (n - 1) - u @ u.T
    for block in (1, 2, 4, 8):
        found = krylov(lambda Q: A @ Q, n, 9, block=block, tol=1e-6)
        np.testing.assert_allclose(found.values, np.r_[0.0, np.full(8, -1 / (n - 1))], atol=1e-9)
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(9), atol=1e-12)
    star = np.zeros((n, n))
    star[0, 1:] = star[1:, 0] = 1.0
    for block in (1, 3):
        found = krylov(lambda Q: star @ Q, n, 5, block=block)
        np.testing.assert_allclose(found.values, np.r_[(n - 1) ** 0.5, np.zeros(4)], atol=1e-9)


def test_many_restarts_keep_the_basis_orthogonal():
    ring = np.zeros((600, 600))
    i = np.arange(600)
    for step in (1, 2, 3):
        ring[i, (i + step) % 600] = ring[(i + step) % 600, i] = 1.0
    values = np.linalg.eigvalsh(ring)[::-1]
    holds(ring, krylov(matrix_times(ring), 600, 5, block=2, basis=40, tol=1e-9, max_products=6000), values[:5])


@pytest.mark.parametrize("parts", [1, 3])
def test_the_least_of_a_sparse_matrix(parts):
    one = sp.diags_array([[1.0, *[2.0] * 148, 1.0], [-1.0] * 149, [-1.0] * 149], offsets=[0, 1, -1])
    M = sp.block_diag([one] * parts, format="csr")
    n = M.shape[0]
    values = np.linalg.eigvalsh(M.toarray())
    found = least(M, 5)
    np.testing.assert_allclose(found.values, values[:5], atol=1e-13)
    without = least(M, 5, np.full((n, 1), n**-0.5))
    np.testing.assert_allclose(without.values, values[1:6], atol=1e-13)
    np.testing.assert_allclose(without.vectors.sum(axis=0), 0.0, atol=1e-10)
    for each in (found, without):
        np.testing.assert_allclose(each.vectors.T @ each.vectors, np.eye(5), atol=1e-12)
        assert each.residuals.max() < 1e-10


def test_few_of_a_large_matrix_and_what_does_not_converge(monkeypatch):
    monkeypatch.setattr(module, "SMALL", 100)
    A, values = symmetric(5, 300, np.r_[np.geomspace(9, 2, 6), np.linspace(1, 0, 294)])
    found = eigen(A, 4)
    assert found.products > 0
    holds(A, found, values[:4])
    low = eigen(-A, 4, smallest=True)
    assert low.products > 0
    holds(-A, low, -values[:4])
    flat, values = symmetric(6, 300, np.linspace(1.0, 0.99, 300))
    found = eigen(flat, 4)
    assert found.products == 0  # factored, as products would take longer
    holds(flat, found, values[:4], 1e-12)
    short = krylov(matrix_times(flat), 300, 4, max_products=20)
    assert not short.converged


def test_threads_give_the_same_bits():
    A, _ = symmetric(7, 1300, np.r_[np.geomspace(9, 2, 20), np.linspace(1, 0, 1280)])
    found = []
    for count in (1, 2):
        with gm.threads(count):
            found.append(krylov(matrix_times(A), 1300, 5))
    np.testing.assert_array_equal(found[0].vectors, found[1].vectors)
    np.testing.assert_array_equal(found[0].values, found[1].values)
