"""Every statistic: merging is associative and commutative, blocks equal the whole, weights equal repetition."""

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp

import gramian as gm
from checks.members import table
from gramian.statistics import __all__ as names

BUILDERS = [getattr(gm, name) for name in names if name[0].islower()]


def second_order(statistic):
    """Weight, means and centred cross-products, whatever the statistic keeps them as."""
    if hasattr(statistic, "cross"):
        return statistic.weight, statistic.mean, statistic.cross
    root = np.ldexp(statistic.centred().astype(float), statistic.exponents)
    return statistic.weight, statistic.mean, root.T @ root


def same(a, b, tolerance=1e-12):
    (wa, ma, ca), (wb, mb, cb) = second_order(a), second_order(b)
    np.testing.assert_allclose(wa, wb, rtol=tolerance)
    np.testing.assert_allclose(ma, mb, rtol=tolerance, atol=tolerance * np.abs(mb).max())
    np.testing.assert_allclose(ca, cb, rtol=0, atol=tolerance * np.abs(cb).max())


@pytest.mark.parametrize("build", BUILDERS, ids=lambda f: f.__name__)
class TestStatistic:
    def test_against_the_definition(self, build):
        X, y = table(0, n=300, t=2)
        Z = np.c_[X, y]
        centred = Z - Z.mean(axis=0)
        weight, mean, cross = second_order(build(X, y))
        assert weight == 300
        np.testing.assert_allclose(mean, Z.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(cross, centred.T @ centred, rtol=1e-12, atol=1e-12 * np.abs(cross).max())

    @pytest.mark.parametrize("cuts", [[1, 2], [7, 150], [299], [50, 51, 52, 200]])
    def test_blocks_equal_the_whole(self, build, cuts):
        X, y = table(1, n=300)
        parts = [build(a, b) for a, b in zip(np.split(X, cuts), np.split(y, cuts), strict=True)]
        same(reduce(lambda a, b: a + b, parts), build(X, y))
        same(sum(parts), build(X, y))

    def test_merging_is_associative_and_commutative(self, build):
        a, b, c = (build(*table(seed, n=20 + seed)) for seed in range(3))
        same((a + b) + c, a + (b + c))
        same(a + b, b + a)

    def test_merging_leaves_its_parts_alone(self, build):
        a, b = build(*table(0)), build(*table(1))
        before = second_order(a)
        _ = a + b
        for x, y in zip(before, second_order(a), strict=True):
            np.testing.assert_array_equal(x, y)

    def test_weights_equal_repetition(self, build):
        X, y = table(2, n=200)
        w = np.random.default_rng(0).integers(0, 4, 200)
        same(build(X, y, sample_weight=w), build(np.repeat(X, w, axis=0), np.repeat(y, w)))

    def test_more_than_one_block(self, build):
        X, y = table(3, n=10_000)
        Z = np.c_[X, y] - np.c_[X, y].mean(axis=0)
        np.testing.assert_allclose(second_order(build(X, y))[2], Z.T @ Z, rtol=1e-11)

    def test_sparse_equals_dense(self, build):
        X = sp.random(500, 12, 0.05, format="csr", random_state=0)
        y, w = np.arange(500.0), np.random.default_rng(0).integers(0, 3, 500)
        same(build(X, y, sample_weight=w), build(X.toarray(), y, sample_weight=w))

    @pytest.mark.parametrize("scale", [1e200, 1e-200, 1e300])
    def test_columns_far_from_one(self, build, scale):
        X, y = table(4, n=5000)
        a, b = build(X * [1, scale, 1, 1], y), build(X, y)
        same_shape = np.ldexp(1.0, a.exponents[1]) if abs(a.exponents[1]) < 1000 else None
        assert a.exponents[1] != 0
        assert a.exponents[0] == 0
        if hasattr(a, "scaled"):
            ratio = a.scaled[1, 1] / b.scaled[1, 1]
            expected = (scale * np.ldexp(1.0, -int(a.exponents[1]))) ** 2
            np.testing.assert_allclose(ratio, expected, rtol=1e-10)
        assert same_shape is None or np.isfinite(same_shape)

    def test_only_the_same_columns_can_be_added(self, build):
        with pytest.raises(ValueError, match="features"):
            build(*table(0, d=3)) + build(*table(0, d=4))
        with pytest.raises(TypeError):
            build(*table(0)) + "rows"

    def test_threads_give_the_same_bits(self, build):
        X, y = table(5, n=30_000)
        found = []
        for count in (1, 2, 4):
            with gm.threads(count):
                found.append(second_order(build(X, y)))
        for other in found[1:]:
            for x, y in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(x, y)

    def test_repr(self, build):
        assert "60 rows × 4 features" in repr(build(*table(0)))
