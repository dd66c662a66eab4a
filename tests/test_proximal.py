"""The quadratic models of proximal Newton: their minima satisfy the conditions of optimality."""

import numpy as np
import pytest

from gramian.solvers.smooth import proximal_newton


def model(p, seed=0, rank=None):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((rank or 2 * p, p)) @ (np.eye(p) + 0.5 * rng.standard_normal((p, p)) / np.sqrt(p))
    H = Z.T @ Z / len(Z)
    return H, H @ (rng.standard_normal(p) * (rng.random(p) < 0.8))


@pytest.mark.parametrize("rank", [None, 7])
@pytest.mark.parametrize("p", [1, 8, 40, 150])
def test_minimum_of_a_model_is_optimal(p, rank):
    H, g = model(p, rank=rank)
    l1, low, high = np.where(np.arange(p) % 5 == 4, 0.0, 0.02), np.full(p, -np.inf), np.full(p, 0.7)
    x, slope = np.zeros(p), g.copy()
    proximal_newton.minimise(H, x, slope, l1, low, high, 1e-10, 5000)
    np.testing.assert_allclose(slope, g + H @ x, atol=1e-12)
    z = x - slope
    prox = np.clip(np.sign(z) * np.maximum(np.abs(z) - l1, 0.0), low, high)
    np.testing.assert_allclose(prox, x, atol=1e-9 if rank is None else 1e-7)


@pytest.mark.parametrize("curves", [True, False])
def test_elimination_solves_as_lapack(curves):
    H, g = model(30)
    if not curves:
        H -= np.outer(np.ones(30), np.ones(30)) * 0.05  # indefinite: pivots matter
    x = np.random.default_rng(1).standard_normal(30) * (np.arange(30) % 3 > 0)
    l1, low, high = np.full(30, 0.01), np.full(30, -np.inf), np.full(30, np.inf)
    free, A, step = np.empty(30, np.int64), np.empty((30, 30)), np.empty(30)
    proximal_newton.free_step(H, x, g, l1, low, high, free, A, step)
    np.testing.assert_allclose(step, proximal_newton._large_free_step(H, x, g, l1, low, high), rtol=1e-9, atol=1e-12)


def test_singular_systems_make_no_step(monkeypatch):
    monkeypatch.setattr(proximal_newton, "RAISED", 0.0)
    H, g, ones = np.ones((2, 2)), np.array([1.0, -1.0]), np.ones(2)
    low, high = -np.inf * ones, np.inf * ones
    step = proximal_newton._large_free_step(H, ones, g, 0.0 * ones, low, high)
    plain = np.empty(2)
    proximal_newton.free_step.py_func(H, ones, g, 0.0 * ones, low, high, np.empty(2, np.int64), np.empty((2, 2)), plain)
    np.testing.assert_array_equal(step, 0.0)
    np.testing.assert_array_equal(plain, 0.0)
