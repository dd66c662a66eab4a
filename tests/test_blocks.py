"""Clusters of rows that come in blocks and cannot be gathered: the same answers as of one block."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.rows import Rows
from gramian.structures import Circle, Ellipse, Gaussian, Line, Plane, Point, StudentT
from gramian.structures.components.medians import MAX_KEPT, MAX_SORTED, keys, median


class Elsewhere(Rows):
    """Rows that can only be read a block at a time, as from a file."""

    def __init__(self, rows, size=64):
        self.rows, self.size, self.passes = rows, size, 0
        for name in ("n", "d", "names", "target_names", "one_target", "precision", "weighted", "is_sparse"):
            setattr(self, name, getattr(rows, name))

    @property
    def block_size(self):
        return self.size

    def block(self, start, stop):
        assert stop - start <= self.size, "more than a block was gathered"
        self.passes += start == 0
        return self.rows.block(start, stop)


def ring(seed, axes, n=900, end=6.28, noise=0.05, at=(0.0, 0.0)):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, end, n)
    return np.column_stack([axes[0] * np.cos(t), axes[1] * np.sin(t)]) + at + noise * rng.standard_normal((n, 2))


@pytest.mark.parametrize(
    "structure",
    [Point(), Point("absolute"), Line(), Plane(), Circle(), Ellipse(), Gaussian(), StudentT(), StudentT("auto")],
    ids=repr,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_structures_alone(structure, weighted):
    X = ring(0, (3.0, 1.2), at=(5.0, 1.0))
    w = np.random.default_rng(1).integers(0, 4, len(X)) if weighted else None
    rows = gm.scan(X, sample_weight=w)
    whole = type(structure)(**vars(structure)).fit(rows)
    blocks = type(structure)(**vars(structure)).fit(Elsewhere(rows))
    np.testing.assert_allclose(blocks.loss(X), whole.loss(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(blocks.distance(Elsewhere(gm.scan(X))), whole.distance(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize("weights", ["none", "counts", "any"])
def test_medians(weights, scale):
    rng = np.random.default_rng(2)
    n = 2 * MAX_KEPT // 6
    X = np.column_stack([
        rng.standard_normal(n), rng.standard_cauchy(n), rng.integers(-2, 3, n), np.full(n, 7.0),
        rng.exponential(size=n) * 10.0 ** rng.integers(-40, 40, n), np.where(rng.random(n) < 0.5, -0.0, 0.0),
    ]) * scale  # fmt: skip
    w = {"none": None, "counts": rng.integers(0, 3, n).astype(float), "any": rng.uniform(0.0, 2.0, n)}[weights]
    rows = Elsewhere(gm.scan(X, sample_weight=w), size=1024)
    found = Point("absolute").fit(rows).center_
    expected = median(X, np.ones(n) if w is None else w)
    np.testing.assert_array_equal(found, expected)
    assert rows.passes <= 12
    if weights == "none":
        np.testing.assert_array_equal(found, np.median(X, axis=0))


def test_medians_between_two_numbers_far_apart():
    """Half the weight on either side of a wide gap, which no pair of bounds that shrinks holds together."""
    X = np.concatenate([np.full(MAX_KEPT, -3.0), np.full(MAX_KEPT, 1e9)])[:, None]
    assert Point("absolute").fit(Elsewhere(gm.scan(X), size=1024)).center_ == 0.5 * (1e9 - 3.0)
    many = np.concatenate([np.linspace(-2, -1, MAX_KEPT), np.linspace(1, 2, MAX_KEPT)])[:, None]
    assert len(many) > 4 * MAX_SORTED
    assert Point("absolute").fit(Elsewhere(gm.scan(many), size=1024)).center_ == pytest.approx(0.0, abs=1e-15)


def test_medians_of_sparse_rows():
    rng = np.random.default_rng(3)
    S = sp.random(4 * MAX_KEPT, 4, 0.4, random_state=0, format="csr", data_rvs=rng.standard_normal)
    S = sp.csr_array(sp.hstack([S, sp.csr_array(rng.standard_normal((S.shape[0], 1)))]))
    w = rng.uniform(size=S.shape[0])
    found = Point("absolute").fit(Elsewhere(gm.scan(S, sample_weight=w), size=2048)).center_
    np.testing.assert_array_equal(found, median(S.toarray(), w))


def test_keys_have_the_order_of_floats():
    x = np.array([-np.inf, -1e300, -1.0, -1e-310, -0.0, 0.0, 5e-324, 1.0, 1e300, np.inf])
    assert (np.diff(keys(x).astype(object)) >= 0).all()
    assert keys(x)[4] == keys(x)[5]


MODELS = [
    gm.KMedians(3, random_state=0),
    gm.KCircles(3, random_state=0, n_init=2),
    gm.KEllipses(2, random_state=0, n_init=2),
    gm.KLines(2, random_state=0),
    gm.GaussianMixture(3, random_state=0),
    gm.StudentTMixture(2, nu="auto", random_state=0),
    gm.Structures("circle", "soft", 3, random_state=0, n_init=2),
    gm.Structures(Point("absolute"), "soft", 3, random_state=0, n_init=2),
    gm.Structures("point", "frequency", 3, random_state=0),
    gm.CompetitiveLearning(6, rule="rival", random_state=0),
    gm.KMedians("auto", criterion="silhouette", max_clusters=4, random_state=0, n_init=2),
    gm.KMeans("auto", criterion="gap", max_clusters=4, random_state=0, n_init=1),
    gm.KLines("auto", criterion="stability", max_clusters=3, random_state=0, n_init=1),
    gm.KMeans(3, random_state=0),
    gm.KMedians(3, init="farthest"),
    gm.KMedians(3, init="random", random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.n_clusters}")
def test_models(model):
    X = np.concatenate([ring(1, (2, 2), 300), ring(2, (1, 1), 200, at=(6, 0)), ring(3, (1.5, 1.5), 200, at=(0, 7))])
    w = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    rows = gm.scan(X, sample_weight=w)
    found = []
    for source in (rows, Elsewhere(rows, size=128)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gm.ConvergenceWarning)
            found.append(type(model)(**model.get_params()).fit(source))
    whole, blocks = found
    assert blocks.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    np.testing.assert_array_equal(blocks.labels_, whole.labels_)
    np.testing.assert_allclose(
        blocks.score_samples(Elsewhere(gm.scan(X))), whole.score_samples(X), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_array_equal(blocks.outliers(share=0.05), whole.outliers(share=0.05))
