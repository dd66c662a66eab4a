"""Rows that clusters are hard to make of: an answer or a sentence for every structure and rule."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import gramian as gm
from gramian.structures import Circle, Ellipse, Gaussian, Line, Plane, Point, StudentT
from test_blocks import Elsewhere

KINDS = [
    Point(), Point("absolute"), Line(), Plane(), Circle(), Ellipse(), Gaussian(), Gaussian("shared"),
    Gaussian("diagonal"), Gaussian("spherical"), StudentT(), StudentT("auto"),
]  # fmt: skip
RULES = ["nearest", "soft", "frequency", "rival"]
PAIRS = [
    (kind, rule)
    for kind in KINDS
    for rule in RULES
    if not (kind.density and rule in ("frequency", "rival")) and (rule != "rival" or repr(kind) == repr(Point()))
]
rng = np.random.default_rng(0)
BLOBS = np.concatenate([rng.normal(0, 1, (25, 2)), rng.normal(8, 1, (25, 2))])


def name(pair):
    return "-".join(map(str, pair)) if isinstance(pair, tuple) else str(pair)


def fitted(pair, X, weight=None, k=2):
    """A model of the pair; warnings of this library are allowed, those of NumPy are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gm.ConvergenceWarning)
        warnings.simplefilter("ignore", gm.PrecisionWarning)
        model = gm.Structures(*pair, k, random_state=0, n_init=1, max_iter=30).fit(X, sample_weight=weight)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.transform(X)).all()
    assert set(np.unique(model.labels_)) <= set(range(model.n_clusters_))
    if pair[1] != "soft":
        assert set(model.labels_) == set(range(model.n_clusters_))
    return model


TABLES = {
    "as many rows as clusters": BLOBS[:2],
    "one row, repeated": np.repeat(BLOBS[:1], 8, axis=0),
    "nothing but zeros": np.zeros((8, 2)),
    "two rows, repeated": np.repeat(BLOBS[:2], 6, axis=0),
    "a constant column": np.column_stack([BLOBS, np.full(50, 3.0)]),
    "a column twice": np.column_stack([BLOBS, BLOBS[:, 0]]),
    "rows on a line": np.outer(np.arange(20.0), [1.0, 2.0]),
    "far from zero": BLOBS + 1e9,
    "columns of other sizes": BLOBS * [1e-150, 1e150],
}


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_degenerate_tables(pair):
    for table in TABLES.values():
        fitted(pair, table)


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_units_and_types(pair):
    plain = fitted(pair, BLOBS)
    for scale in (2.0**-498, 2.0**498):
        np.testing.assert_array_equal(fitted(pair, scale * BLOBS).labels_, plain.labels_)
    frame = fitted(pair, pd.DataFrame(BLOBS, columns=["a", "b"]))
    np.testing.assert_array_equal(frame.labels_, plain.labels_)
    assert list(frame.feature_names_in_) == ["a", "b"]
    whole = (10 * BLOBS).astype(int)
    np.testing.assert_array_equal(fitted(pair, whole).labels_, fitted(pair, whole.astype(float)).labels_)
    single = BLOBS.astype(np.float32)
    np.testing.assert_array_equal(fitted(pair, single).labels_, fitted(pair, single.astype(float)).labels_)


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_weights_of_zero(pair):
    weight = np.r_[np.zeros(25), np.ones(25)]
    a, b = fitted(pair, BLOBS, weight), fitted(pair, BLOBS[25:])
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-8)
    with pytest.raises(ValueError, match="n_clusters is 2, and X has 1 rows of positive weight"):
        fitted(pair, BLOBS, np.r_[1.0, np.zeros(49)])


@pytest.mark.parametrize("pair", [*PAIRS, *((kind, None) for kind in KINDS)], ids=name)
def test_refusals(pair):
    kind, rule = pair

    def fit(X, **more):
        return copy.copy(kind).fit(X, **more) if rule is None else gm.Structures(*pair, 2).fit(X, **more)

    for scale, word in ((1e160, "divide"), (1e-160, "multiply")):
        with pytest.raises(ValueError, match=rf"largest number of X is .*: {word} X"):
            fit(scale * BLOBS)
    broken = BLOBS.copy()
    broken[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity.*column 1.*row 3"):
        fit(broken)
    if not kind.takes_missing:
        broken[3, 1] = np.nan
        with pytest.raises(ValueError, match=r"NaN.*column 1.*row 3"):
            fit(broken)
    if not kind.takes_sparse:
        with pytest.raises(TypeError, match="needs dense rows"):
            fit(sp.csr_array(BLOBS))
    with pytest.raises(ValueError, match="could not convert string"):
        fit(np.array([["a", "b"]] * 4, dtype=object))
    with pytest.raises(ValueError, match="weights are zero"):
        fit(BLOBS, sample_weight=np.zeros(50))
    if rule is not None:
        with pytest.raises(ValueError, match="n_clusters is 2, and X has 1 rows"):
            fit(BLOBS[:1])


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_blocks_without_weight(kind):
    X = np.concatenate([np.full((40, 2), 1e6), BLOBS])
    weight = np.r_[np.zeros(40), np.ones(50)]
    found = copy.copy(kind).fit(Elsewhere(gm.scan(X, sample_weight=weight), size=16))
    np.testing.assert_allclose(found.loss(BLOBS), copy.copy(kind).fit(BLOBS).loss(BLOBS), rtol=1e-7, atol=1e-7)


def test_shares_that_vanish():
    """Clusters so far apart that rows have no share at all in the other."""
    X = np.concatenate([BLOBS[:25], BLOBS[:25] + 1e7])
    for kind in KINDS[:2]:
        model = fitted((kind, "soft"), Elsewhere(gm.scan(X), size=25), k=2)
        assert len(set(model.labels_[:25])) == len(set(model.labels_[25:])) == 1
        np.testing.assert_allclose(model.weights_, 0.5)
