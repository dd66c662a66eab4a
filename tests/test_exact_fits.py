"""Fewer rows than determine a structure: which of the exact fits is taken does not hang on rounding."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import ortho_group
from sklearn.base import clone

import gramian as gm
from gramian.structures.components.quadrics.conics import roundest_through
from gramian.structures.components.quadrics.ellipsoid_projection import signed_distances
from gramian.structures.loop.rounding import first_least, principal_axes


def few_rows(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 8))
    n = int(rng.integers(3, 2 * d + 4))
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 3.0 * rng.standard_normal(d)
    return rng, X, rng.integers(1, 5, n)


@pytest.mark.filterwarnings("ignore::gramian.warnings.ConvergenceWarning")  # structures that fit several at once
@pytest.mark.parametrize("model", [gm.KPlanes, gm.KLines, gm.KEllipses])
@pytest.mark.parametrize("seed", range(12))
def test_weights_are_repetitions_of_few_rows(model, seed):
    rng, X, weight = few_rows(seed)
    given = model(2, n_init=2, random_state=0)
    order = rng.permutation(len(X))
    a = clone(given).fit(X[order], sample_weight=weight[order])
    b = clone(given).fit(X.repeat(weight, axis=0))
    Z = np.vstack([X, 3.0 * rng.standard_normal((10, X.shape[1]))])
    np.testing.assert_array_equal(a.predict(Z), b.predict(Z))
    np.testing.assert_allclose(a.transform(Z), b.transform(Z), rtol=1e-6, atol=1e-8)


def test_planes_roundest_through_rows_do_not_depend_on_weights_or_units():
    rng = np.random.default_rng(0)
    X = rng.random((5, 9))
    normal = gm.structures.Plane().fit(X).normal_
    np.testing.assert_allclose((X - X[0]) @ normal, 0.0, atol=1e-14)
    for scale in (1e-30, 3.0, 1e30):
        again = gm.structures.Plane().fit(scale * X, sample_weight=rng.uniform(0.1, 3.0, 5)).normal_
        np.testing.assert_allclose(again, normal, atol=1e-12)
    # the normal nearest to a coordinate axis
    space = null_space(X[1:] - X[0])
    np.testing.assert_allclose(np.abs(normal).max(), np.linalg.norm(space, axis=1).max(), rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_axes_of_equal_spread_depend_on_their_space_alone(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 9))
    Q = ortho_group.rvs(d, random_state=rng)
    values = np.sort(rng.choice([0.0, 1.0, 2.0], d))
    found = []
    for _ in range(3):
        turned = Q.copy()
        for value in np.unique(values):
            mine = np.flatnonzero(values == value)
            if len(mine) > 1:
                turned[:, mine] = turned[:, mine] @ ortho_group.rvs(len(mine), random_state=rng)
        found.append(principal_axes((turned * values) @ turned.T))
    for spread, axes in found:
        np.testing.assert_allclose(spread, values, atol=1e-14)
        np.testing.assert_allclose(axes.T @ axes, np.eye(d), atol=1e-13)
        np.testing.assert_allclose((axes * values) @ axes.T, (Q * values) @ Q.T, atol=1e-13)
        np.testing.assert_allclose(axes, found[0][1], atol=1e-12)


def on_ellipsoid(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    n = int(rng.integers(d + 1, d * (d + 3) // 2)) if d > 2 else 4
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return rng, X @ rng.uniform(-1, 1, (d, d)) + rng.standard_normal(d)


@pytest.mark.parametrize("seed", range(12))
def test_the_roundest_ellipsoid_passes_roundest_through_rows(seed):
    rng, X = on_ellipsoid(seed)
    center, axes, turn = roundest_through(X)[0]
    np.testing.assert_allclose(signed_distances((X - center) @ turn, axes)[0], 0.0, atol=1e-11 * axes.max())
    # of all ellipsoids through the rows the one of largest determinant for its trace, where the scatter is round
    white = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    i, j = np.triu_indices(X.shape[1])
    monomials = np.column_stack([white[:, i] * white[:, j], white, np.ones(len(X))])

    def shape(v):
        A = np.zeros((X.shape[1], X.shape[1]))
        A[i, j] = v[: len(i)]
        A = 0.5 * (A + A.T)
        return A / np.trace(A) * len(A)

    L = np.linalg.cholesky(np.cov(X.T, bias=True))
    A = L.T @ (turn / axes**2) @ turn.T @ L
    best = np.linalg.slogdet(A / np.trace(A) * len(A))[1]
    exact = null_space(monomials)
    middle = (center - X.mean(axis=0)) @ np.linalg.inv(L).T
    own = np.concatenate([np.where(i == j, A[i, j], 2.0 * A[i, j]), -2.0 * A @ middle, [middle @ A @ middle - 1.0]])
    np.testing.assert_allclose(monomials @ own, 0.0, atol=1e-9 * np.abs(own).max())
    for size in (1e-3, 1e-2, 1e-1):
        for _ in range(20):
            other = shape(own + size * np.abs(own).max() * exact @ rng.standard_normal(exact.shape[1]))
            if np.linalg.eigvalsh(other)[0] > 0:
                assert np.linalg.slogdet(other)[1] <= best + 1e-9


def test_steiner_ellipsoid_of_a_simplex():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0]])
    center, axes, turn = roundest_through(X)[0]
    np.testing.assert_allclose(center, X.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose((turn * axes**2) @ turn.T, 2.0 * np.cov(X.T, bias=True), rtol=1e-12)


def test_no_ellipse_passes_through_a_triangle_and_its_middle():
    X = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0]])
    assert roundest_through(np.vstack([X, X.mean(axis=0)])) == []


def test_the_first_of_structures_as_near_owns_a_row():
    losses = np.array([[1.0, 1.0 - 1e-14, 2.0], [1.0, 0.9, 0.9], [0.0, 0.0, 0.0], [np.inf, np.inf, 1.0]])
    np.testing.assert_array_equal(first_least(losses), [0, 1, 0, 2])
