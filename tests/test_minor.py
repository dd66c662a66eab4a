"""Minor components against total least squares and the SVD."""

import numpy as np
import pytest
import scipy.sparse as sp

import gramian as gm


def table(seed, n=100, d=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 3.0


def test_the_hyperplane_of_total_least_squares():
    X = table(0)
    minor = gm.MinorComponents().fit(X)
    total = gm.TotalLeastSquares().fit(X[:, :-1], X[:, -1])
    normal = minor.components_[0] / -minor.components_[0, -1]
    np.testing.assert_allclose(normal[:-1], total.coef_, rtol=1e-7)
    assert minor.objective_ == pytest.approx(total.objective_, rel=1e-9)
    np.testing.assert_allclose(minor.transform(X).std() ** 2, minor.variances_[0], rtol=1e-9)
    flat = minor.project(X)
    np.testing.assert_allclose(flat @ minor.components_.T, np.full((100, 1), minor.offsets_[0]), atol=1e-9)
    np.testing.assert_allclose(((X - flat) ** 2).sum(axis=1).mean(), minor.objective_, rtol=1e-9)


def test_several_components_sources_and_weights():
    X = table(1)
    w = np.random.default_rng(0).integers(0, 3, 100)
    repeated = np.repeat(X, w, axis=0)
    s, Vt = np.linalg.svd(repeated - repeated.mean(axis=0))[1:]
    for given in (X, sp.csr_array(X), gm.scan(X, sample_weight=w), gm.moments(X, sample_weight=w)):
        weight = None if hasattr(given, "target_names") else w
        minor = gm.MinorComponents(3).fit(given, sample_weight=weight)
        np.testing.assert_allclose(minor.variances_, s[::-1][:3] ** 2 / w.sum(), rtol=1e-9)
        cosines = np.abs(np.einsum("ij,ij->i", minor.components_, Vt[::-1][:3]))
        np.testing.assert_allclose(cosines, 1.0, atol=1e-9)
        assert minor.certificate_.holds
    np.testing.assert_allclose(minor.project(sp.csr_array(X)), minor.project(X), atol=1e-12)
    assert "equation 3" in str(minor.summary())
    assert list(minor.get_feature_names_out()) == [f"minorcomponents{i}" for i in range(3)]


def test_exact_equations():
    X = table(2, 40, 3)
    X = np.column_stack([X, X @ [1.0, -2.0, 0.5] + 7.0])
    minor = gm.MinorComponents().fit(X)
    assert minor.certificate_.through == "triangle"
    np.testing.assert_allclose(minor.transform(X), 0.0, atol=1e-12)
    few = gm.MinorComponents(2).fit(table(3, 3, 6))
    np.testing.assert_allclose(few.transform(table(3, 3, 6)), 0.0, atol=1e-10)
    np.testing.assert_array_equal(few.variances_, 0.0)
    assert "4 such equations" in few.certificate_.note
    with pytest.raises(ValueError, match="at most 4"):
        gm.MinorComponents(5).fit(X)
