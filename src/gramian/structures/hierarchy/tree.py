"""Binary trees of clusters: what agglomerative and divisive clustering share."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.cluster_labels import numbered
from gramian._core.fitted.outliers import Outlying
from gramian._core.summary import Summary
from gramian._core.types import Floats, Ints
from gramian.solvers.certificate import Certificate, SolverInfo


class ClusterTree(Charted, Outlying, ClusterMixin, BaseEstimator):
    """Clusters as nodes of a binary tree, cut by their number or at a height."""

    n_clusters: int | str | None
    height: float | None

    merges_: Floats
    heights_: Floats
    labels_: Ints
    n_clusters_: int
    cut_height_: float
    objective_: float
    certificate_: Certificate
    solver_: SolverInfo
    n_features_in_: int

    leaves_: Ints  # of every row, −1 where its weight is zero
    _weight: Floats | None  # of the rows that count
    nodes_: Ints  # the node of the tree that each cluster is

    def _cut_parameters(self) -> tuple[int | None, float | None, bool]:
        """The parameters n_clusters and height, and whether the number is to be chosen."""
        if self.height is not None:
            if self.n_clusters is not None:
                raise ValueError(
                    f"n_clusters is {self.n_clusters!r} and height is {self.height!r}: a tree is cut by one of them. "
                    "Give n_clusters=None with a height."
                )
            return None, validation.number("height", self.height, low=0.0), False
        if isinstance(self.n_clusters, str):
            validation.choice("n_clusters", self.n_clusters, ("auto",))
            return None, None, True
        if self.n_clusters is None:
            raise ValueError("n_clusters is None and height is None: give one of them to cut the tree by.")
        return validation.whole("n_clusters", self.n_clusters, low=1), None, False

    def _require_rows(self, k: int | None, n: int) -> None:
        if k is not None and k > n:
            raise ValueError(f"n_clusters is {k}, and there are only {n} rows (n_samples = {n}): give at most {n}.")

    def cut(self, k: int | None = None, *, height: float | None = None) -> Ints:
        """Labels (n,) of the rows of the fit for k clusters, or with merges up to a height made; the fit stays.

        Clusters are numbered from the heaviest; of equal ones that with the least sum of a row comes first.
        """
        check_is_fitted(self)
        if (k is None) == (height is None):
            raise ValueError("cut takes the number of clusters k or a height: give one of them.")
        if k is None:
            k = n_clusters_at(self.heights_, validation.number("height", height, low=0.0))
        else:
            k = validation.whole("k", k, low=1)
            if k > len(self.merges_) + 1:
                raise ValueError(f"k is {k}, and the tree has {len(self.merges_) + 1} leaves: give a smaller k.")
        return self._labels(k)[0]

    def _labels(self, k: int) -> tuple[Ints, Ints]:
        """Labels of all rows, and the node of each cluster."""
        from gramian.structures.hierarchy.nn_chain_small import loop

        counted = self.leaves_ >= 0
        node = loop("after", len(self.leaves_))(self.merges_, len(self.merges_) + 1 - k)[self.leaves_[counted]]
        labels, nodes = numbered(node, self._weight, self._counted_rows())
        if counted.all():
            return labels, nodes
        all_labels = np.empty(len(self.leaves_), dtype=np.int64)
        all_labels[counted] = labels
        all_labels[~counted] = self._nearest(np.flatnonzero(~counted), labels, nodes)
        return all_labels, nodes

    def was_fitted_to(self, X: Floats) -> bool:
        """Whether X are the rows of the fit, which may be nearer to another cluster than to their own."""
        rows = self._numeric_rows()
        if rows is None or len(X) != len(self.leaves_):
            return False
        return np.array_equal(X[self.leaves_ >= 0], rows.toarray() if sp.issparse(rows) else rows)

    def _counted_rows(self) -> Any:
        """The rows of positive weight, where distances are between them; else None."""
        raise NotImplementedError

    def _numeric_rows(self) -> Any:
        """The rows of positive weight, where they are rows of numbers; else None."""
        return self._counted_rows()

    def _nearest(self, rows: Ints, labels: Ints, nodes: Ints) -> Ints:
        """The clusters of rows of weight zero."""
        raise NotImplementedError

    def _cut_at(self, k: int) -> None:
        """Set the attributes that depend on the number of clusters."""
        m = len(self.merges_) + 1
        self.n_clusters_ = k
        low = float(self.heights_[m - k - 1]) if k < m else 0.0
        high = float(self.heights_[m - k]) if k > 1 else low
        self.cut_height_ = 0.5 * low + 0.5 * high
        self.labels_, self.nodes_ = self._labels(k)

    def _join_scores(self, counted: Floats, others: Floats) -> tuple[Floats, Floats | None]:
        """Scores and weights of all rows, from those of the rows of positive weight and of the others."""
        if self._weight is None:
            return counted, None
        used = self.leaves_ >= 0
        scores, weight = np.empty(len(used)), np.zeros(len(used))
        scores[used], scores[~used], weight[used] = counted, others, self._weight
        return scores, weight

    def summary(self) -> Summary:
        """Rows in each cluster, and facts of the tree."""
        check_is_fitted(self)
        rows = np.bincount(self.labels_, minlength=self.n_clusters_)
        table: dict[str, object] = {"cluster": np.arange(self.n_clusters_), "rows": rows}
        facts: dict[str, object] = {"clusters": self.n_clusters_, "cut at height": self.cut_height_}
        facts |= {"objective": self.objective_}
        return Summary(type(self).__name__, table, facts, [str(self.certificate_)])


def n_clusters_at(heights: Floats, height: float) -> int:
    """The number of clusters after all merges up to a height."""
    return len(heights) + 1 - int(np.searchsorted(heights, height, side="right"))


def largest_relative_gap(heights: Floats) -> int:
    """The number of clusters at the largest ratio of successive heights, up to the bound stated in `Agglomerative`.

    >>> largest_relative_gap(np.array([1.0, 1.1, 1.2, 5.0, 5.5]))
    3
    """
    m = len(heights) + 1
    if not heights.any():
        return 1
    if m == 2:
        return 2
    k = np.arange(2, max(2, int(np.sqrt(m)), min(10, m // 2)) + 1)
    above, below = heights[m - k], heights[m - k - 1]
    ratio = np.where(above > 0, np.inf, 0.0)
    np.divide(above, below, out=ratio, where=below > 0)
    return int(k[ratio.argmax()])
