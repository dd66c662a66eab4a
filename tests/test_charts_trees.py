"""Charts of trees and of eigengaps show the numbers of the fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import make_blobs

import gramian as gm
from drawings import heading as head
from drawings import tables
from gramian.charts import kinds
from gramian.charts.clusters.dendrogram import MAX_LEAVES, TreeTop, clusters_below

X, Y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])


def elbows(drawn):
    """Corners (merges, 4, 2) by the number of the merge."""
    found = {}
    for table in tables(drawn):
        for row in table:
            if "merge" in row:
                found.setdefault(row["merge"], [None] * 4)[row["order"]] = (row["x"], row["y"])
    return {merge: np.array(corners, dtype=float) for merge, corners in found.items()}


def test_elbows_of_a_small_tree_are_scipys():
    model = gm.Agglomerative(3, linkage="average").fit(X[:30])
    drawn = elbows(model.chart())
    assert len(drawn) == 29
    theirs = dendrogram(model.merges_, no_plot=True)
    tops = sorted(corners[1, 1] for corners in drawn.values())
    assert_allclose(tops, sorted(corners[1] for corners in theirs["dcoord"]))
    for merge, corners in drawn.items():
        a, b = model.merges_[merge, :2].astype(int)
        below = [model.merges_[node - 30, 2] if node >= 30 else 0.0 for node in (a, b)]
        assert_allclose(corners[:, 1], [below[0], model.heights_[merge], model.heights_[merge], below[1]])
        assert corners[0, 0] == corners[1, 0] < corners[2, 0] == corners[3, 0]


def test_no_two_elbows_cross():
    model = gm.Agglomerative(3, linkage="single").fit(X)
    top = TreeTop.of(model.merges_, MAX_LEAVES)
    assert len(top.ends) == MAX_LEAVES
    span = {node: (top.place[node], top.place[node]) for node in top.ends}
    for t in range(top.first, 299):
        a, b = (int(node) for node in model.merges_[t, :2])
        assert span[a][1] < span[b][0]
        span[300 + t] = (span[a][0], span[b][1])


def test_title_and_omitted_merges_of_a_large_tree():
    model = gm.Agglomerative("auto").fit(X)
    drawn = model.chart("dendrogram")
    assert len(elbows(drawn)) == MAX_LEAVES - 1
    finding, small = head(drawn)
    ratio = model.heights_[-3] / model.heights_[-4]
    assert finding.startswith(f"4 clusters: the next merge is {ratio:.2g} times as high as the last")
    assert "the last 59 merges of 299" in small
    assert "ward linkage" in small
    cut = [row for table in tables(drawn) for row in table if row.get("text") == "4 clusters"]
    assert_allclose(cut[0]["y"], model.cut_height_)
    assert model.heights_[-4] < model.cut_height_ < model.heights_[-3]
    assert kinds(model) == ["dendrogram", "clusters"]


def test_colours_are_of_clusters():
    model = gm.Divisive(5).fit(X)
    below = clusters_below(model.merges_, model.nodes_)
    assert (below[:300] == model.labels_).all()
    assert (below[300:] == -1).sum() == 4
    assert "bisecting k-means" in head(model.chart())[1]
    assert "principal" in head(gm.Divisive(2, split="principal").fit(X).chart())[1]


def test_ends_of_trees():
    assert head(gm.Agglomerative(1).fit(X).chart())[0] == "All rows are one cluster"
    assert head(gm.Agglomerative(10).fit(X[:10]).chart())[0] == "Every row is a cluster of its own"
    twice = np.repeat([[0.0], [1.0], [3.0]], 2, axis=0)
    assert head(gm.Agglomerative(3).fit(twice).chart())[0] == "3 clusters of identical rows"
    even = np.arange(6.0)[:, None]
    assert "nearly the same" in head(gm.Agglomerative(3, linkage="single").fit(even).chart())[0]
    with pytest.raises(ValueError, match="one leaf"):
        gm.Agglomerative(1).fit([[1.0]]).chart()
    with pytest.raises(ValueError, match="of the fit alone"):
        gm.Agglomerative(2).fit(X).chart("dendrogram", X)
    few = gm.Divisive(3, max_leaves=8).fit(X).chart()
    assert len(elbows(few)) == 7
    assert sum(int(row["text"]) for row in tables(few)[-1]) == 300
    assert "labels: number of rows" in head(few)[1]
    weight = np.ones(12)
    weight[3] = 0.0
    some = gm.Agglomerative(2).fit(X[:12], sample_weight=weight).chart()
    assert sorted(int(row["text"]) for row in tables(some)[-1]) == [0, 1, 2, *range(4, 12)]
    assert "row numbers" in head(some)[1]


def test_many_clusters_are_drawn_to_their_number():
    drawn = gm.Agglomerative(90).fit(X).chart()
    assert len(elbows(drawn)) == 89


@pytest.mark.parametrize("cut", ["normalized", "ratio"])
def test_eigengap(cut):
    model = gm.SpectralClustering("auto", neighbors=10, cut=cut, random_state=0).fit(X + 0.0)
    assert kinds(model)[0] == "eigengap"
    drawn = model.chart("eigengap")
    table = tables(drawn)[0]
    assert_allclose([row["eigenvalue"] for row in table], model.eigenvalues_)
    assert [row["part"] for row in table].count("clusters") == model.n_clusters_ == 4
    assert head(drawn)[0].startswith("4 clusters")
    assert "10 neighbours" in head(drawn)[1]
    kernel = gm.SpectralClustering("auto", cut=cut, random_state=0).fit(X)
    assert "RBF(length_scale=" in head(kernel.chart("eigengap"))[1]
    given = gm.SpectralClustering(4, neighbors=10, cut=cut, random_state=0).fit(X)
    assert "eigengap" not in kinds(given)


def test_eigengap_of_all_eigenvalues():
    from gramian.charts.clusters.eigengap import _finding

    assert _finding(np.array([0.0, 0.1]), 2) == "2 clusters, as many as there are eigenvalues"
    finding = _finding(np.array([0.0, 0.1, 0.4]), 2)
    assert finding == "2 clusters: largest relative eigengap (4 ×) after 2 eigenvalues"


@THEMES
def test_themes_have_their_background(theme):
    for model in (gm.Agglomerative(3).fit(X), gm.SpectralClustering("auto", random_state=0).fit(X)):
        spec = model.chart(theme=theme).to_dict()
        assert spec["config"]["background"] == {"light": "#ffffff", "dark": "#14171c"}[theme]
