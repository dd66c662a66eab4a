"""Rows that fit no cluster, by every model of clusters that has no loop of structures."""

import numpy as np
import pytest
from sklearn.base import clone

import gramian as gm

MODELS = [
    *(gm.Agglomerative(2, linkage=linkage) for linkage in ("single", "average", "complete", "ward")),
    gm.Agglomerative(2, linkage="average", kernel=gm.kernels.RBF(2.0)),
    gm.Divisive(2),
    gm.SpectralClustering(2, kernel=gm.kernels.RBF(1.0), random_state=0),
    gm.SpectralClustering(2, neighbors=5, random_state=0),
]
each = pytest.mark.parametrize("model", MODELS, ids=repr)


def blobs(seed, n=60):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.standard_normal((n, 2)), rng.standard_normal((n, 2)) + np.array([8.0, 0.0])])


@each
@pytest.mark.parametrize("seed", range(3))
def test_far_rows_are_outliers(model, seed):
    X = blobs(seed)
    X[7] = [4.0, 6.0]  # between the clusters, and far from both
    fitted = clone(model).fit(X)
    out = fitted.outliers(share=1 / len(X))
    assert out.tolist() == (np.arange(len(X)) == 7).tolist()
    assert fitted.outliers(share=0.0).sum() == 0
    assert fitted.outliers(share=1.0).all()
    found = fitted.outliers([[4.0, -9.0], [0.1, 0.1]], share=0.05)
    assert found.tolist() == [True, False]
    scores = fitted.score_samples([[0.0, 0.0], [4.0, -4.0], [4.0, -9.0]])
    assert scores.shape == (3,)
    assert scores[0] > scores[1] >= scores[2]


@each
def test_scores_by_definition(model):
    X = blobs(4)
    fitted, new = clone(model).fit(X), np.array([[1.0, 2.0], [5.0, -1.0]])
    away = np.linalg.norm(new[:, None] - X, axis=2)
    if isinstance(model, gm.Divisive):
        expected = -((new - fitted.centers_[fitted.predict(new)]) ** 2).sum(axis=1)
    elif isinstance(model, gm.Agglomerative):
        away = away if model.kernel is None else np.sqrt(2 - 2 * np.exp(-(away**2) / 8))
        expected = -away.min(axis=1)
    else:
        expected = np.exp(-(away**2) / 2).mean(axis=1) if model.neighbors is None else -np.sort(away, axis=1)[:, 4]
    np.testing.assert_allclose(fitted.score_samples(new), expected, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS[:7], ids=repr)
def test_weights_are_repetitions(model):
    X, times = blobs(5), np.random.default_rng(5).integers(0, 3, 120)
    weighed = clone(model).fit(X, sample_weight=times.astype(float))
    repeated = clone(model).fit(np.repeat(X, times, axis=0))
    out = weighed.outliers(share=0.05)
    np.testing.assert_array_equal(np.repeat(out, times), repeated.outliers(share=0.05))


@pytest.mark.parametrize("model", [MODELS[3], gm.Divisive(2)], ids=repr)
def test_centres_are_points(model):
    fitted = clone(model).fit(blobs(6))
    np.testing.assert_array_equal([each.center_ for each in fitted.structures_], fitted.centers_)


def test_neighbours_need_a_table():
    with pytest.raises(ValueError, match=r"1D|2-D|2D|column"):
        gm.SpectralClustering(2, neighbors=2).fit(np.arange(9.0))
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        gm.SpectralClustering(2, neighbors=2).fit(np.ones((9, 2)) * 1j)
