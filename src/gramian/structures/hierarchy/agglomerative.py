"""`Agglomerative`: hierarchical clustering from the bottom up."""

from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.estimator import estimator
from gramian._core.fitted.cluster_labels import KnownRows
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.types import Floats, Ints, Matrix, Points, Table, Tags, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.kernels.base import Kernel
from gramian.kernels.custom import Entries
from gramian.kernels.input import is_matrix, refuse_invalid
from gramian.kernels.named import kernel_of
from gramian.kernels.points import Vectors, is_table, vectors
from gramian.kernels.representation import Columns, KernelMatrix, Representation
from gramian.rows import Rows, parallel_map, scan
from gramian.rows.feature_names import fit_rows, new_rows
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.structures.components.base import refuse_kernel_out_of_range, refuse_unusable
from gramian.structures.components.point import Point
from gramian.structures.hierarchy.linkage import LINKAGES, KernelDistances, RowDistances, linkage_tree
from gramian.structures.hierarchy.tree import ClusterTree, largest_relative_gap, n_clusters_at
from gramian.warnings import ConvergenceWarning, warn_user

DISTANCES_PER_TASK = 2**20
MAX_CHECKED_MERGES = 64  # whose heights the certificate computes again
MAX_CHECKED_PAIRS = 2**16  # of rows in such a merge
TOLERANCE = 1e-8
REASONS = {
    "spanning tree": "single linkage is a minimum spanning tree, by Prim's algorithm without a distance matrix",
    "chain of centroids": "nearest-neighbour chain on centroids, since Ward's distance needs no distance matrix",
    "chain on a matrix": "nearest-neighbour chain on one matrix of distances",
}


@estimator
class Agglomerative(ClusterTree):
    """Agglomerative clustering: every row starts as a cluster, and the two nearest clusters merge until one is left.

    The distance of two clusters is that of their nearest rows (`"single"`), of their farthest (`"complete"`), the mean
    over all pairs (`"average"`), or √(2vw / (v + w)) ‖c − c'‖ with weights v, w and means c, c' (`"ward"`): then half
    the square of a height is what the merge adds to Σ w ‖x − c‖².

    Time is O(n²) distances. Single linkage and Ward's method of dense rows keep no matrix; the others, and all of
    sparse rows or with a kernel, keep n × n numbers once.

    Parameters
    ----------
    n_clusters : int, "auto" or None
        "auto" is the number at the largest ratio of successive heights, from 2 to √n (for fewer than 100 rows, to 10
        or n / 2). None with `height`.
    linkage : "ward", "single", "average" or "complete"
    height : float, optional
        Merges up to this height are made, instead of a number of clusters.
    kernel : None, str or Kernel
        Distances are those between the features of a kernel; None is between the rows themselves.

    Attributes
    ----------
    merges_ : array (n − 1, 4)
        The tree in SciPy's form: the two clusters (rows are 0 … n − 1, the t-th merge makes n + t), the height, the
        rows inside. Rows of weight zero are not in it; others are counted in their order.
    heights_ : array (n − 1,)
        Growing.
    labels_, n_clusters_, cut_height_
        Clusters are numbered from the heaviest; of equal ones that with the least sum of a row comes first.
    leaves_ : array (n,); nodes_ : array (k,)
        Of every row its leaf of the tree, −1 where its weight is zero; of every cluster its node.
    centers_ : array (k, d), structures_ : list of k points
        Means; without a kernel.
    objective_ : float
        Of the clusters: Σ w ‖x − c‖² (Ward), the length of their shortest trees (single), the height of the last
        merge made (complete, average).
    representation_ : Columns or KernelMatrix
        What the rows look like: their columns, or the kernel and the points of the tree.
    certificate_, solver_
        The certificate computes heights of some merges again from all their pairs of rows.

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[0.0], [0.1], [1.0], [1.2], [9.0]]
    >>> model = gm.Agglomerative(3, linkage="single").fit(X)
    >>> model.labels_, model.heights_.round(3)
    (array([0, 0, 1, 1, 2]), array([0.1, 0.2, 0.9, 7.8]))
    >>> model.cut(height=1.0), model.predict([[5.5], [2.0]])
    (array([0, 0, 0, 0, 1]), array([2, 1]))
    """

    n_clusters: int | str | None = 2
    _: KW_ONLY
    linkage: str = "ward"
    height: float | None = None
    kernel: str | Kernel | None = None

    centers_: Floats = field(init=False)
    structures_: list[Point] = field(init=False)
    representation_: Representation = field(init=False)
    _points: Any = field(init=False)
    _space: RowDistances | KernelDistances = field(init=False)
    _known: KnownRows = field(init=False)
    _leaf_weight: Floats | None = field(init=False)
    _left_out: Any = field(init=False)

    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> "Agglomerative":
        """Fit to the rows of X; y is ignored. Weights are counts, and rows of weight zero only get a label."""
        k, height, auto = self._cut_parameters()
        validation.choice("linkage", self.linkage, LINKAGES)
        forget_fit(self)
        points, weight, rows = self._read(X, sample_weight)
        self._known, self._leaf_weight = KnownRows.of(rows), weight
        self.leaves_ = np.arange(len(points))
        self._weight = None
        self._left_out = None
        if weight is not None:
            used = weight > 0
            self.leaves_ = np.where(used, np.cumsum(used) - 1, -1)
            self._weight = weight[used]
            self._left_out = points[np.flatnonzero(~used)]
            points = points[np.flatnonzero(used)]
        n = len(points)
        self._require_rows(k, n)
        self._points = points
        if self.kernel is None:
            self.representation_ = Columns.of(self)
        else:
            self.representation_ = KernelMatrix(self.kernel_, points, np.flatnonzero(self.leaves_ >= 0))
        group = self._known.group[self.leaves_ >= 0]
        self.merges_ = linkage_tree(points, self.linkage, self._weight, self._space, group)
        self.heights_ = self.merges_[:, 2]
        if auto:
            k = largest_relative_gap(self.heights_)
        elif height is not None:
            k = n_clusters_at(self.heights_, height)
        assert k is not None
        self._cut_at(self._at_most_distinct(k, len(np.unique(group))))
        self._describe()
        return self

    def _read(self, X: Any, sample_weight: Weights) -> tuple[Points, Floats | None, Any]:
        """The points, their weights and their values; sets the space and the feature names."""
        kernel = None if self.kernel is None else kernel_of(self.kernel)
        if kernel is None or isinstance(X, Rows) or is_table(X):
            rows = fit_rows(self, X, sample_weight)
            block = rows.collect()
            if not np.isfinite(block.X.data if sp.issparse(block.X) else block.X).all():
                rows.refuse_nonfinite()
            if self.linkage == "ward" and kernel is None:
                refuse_unusable(rows, missing=False)
            weight = block.weight
            values = block.X if kernel is None or isinstance(X, Rows) else X
        else:
            values = X
            weight = scan(np.zeros((len(X), 1)), sample_weight=sample_weight).collect().weight
        if kernel is None:
            self._space = RowDistances()
            points = vectors(values)
            return points, weight, points.X
        if is_matrix(kernel) and self.n_features_in_ != len(kernel.points(values)):
            raise ValueError(f"A precomputed kernel matrix must be square; X has shape {np.shape(values)}.")
        self.kernel_ = kernel.fitted(values, weight)
        refuse_invalid(self.kernel_, values)
        self._space = KernelDistances(self.kernel_)
        points = self.kernel_.points(values)
        refuse_kernel_out_of_range(self.kernel_.diag(points), values)
        return points, weight, vectors(values).X if is_table(values) else values

    def _at_most_distinct(self, k: int, distinct: int) -> int:
        if k > distinct:
            warn_user(
                f"n_clusters is {k}, and only {distinct} of the {len(self._points)} rows are distinct: there are "
                f"{distinct} clusters.",
                ConvergenceWarning,
            )
        return min(k, distinct)

    def _describe(self) -> None:
        """Set centres, objective, certificate and solver of the tree at its cut."""
        n, k = len(self._points), self.n_clusters_
        made = self.heights_[: n - k]
        dense = self._space.kernel is None and not self._points.is_sparse
        labels = self.labels_[self.leaves_ >= 0]
        if self._space.kernel is None:
            self.centers_ = means_of(self._points.X, labels, self._weight, k)
            self.structures_ = [Point().moved_to(center) for center in self.centers_]
        if self.linkage == "ward":
            self.objective_ = float(0.5 * (made**2).sum())
        elif self.linkage == "single":
            self.objective_ = float(made.sum())
        else:
            self.objective_ = float(made[-1]) if len(made) else 0.0
        value, checked = self._error_of_heights()
        if not dense or self.linkage in ("average", "complete"):
            name = "chain on a matrix"
        else:
            name = "spanning tree" if self.linkage == "single" else "chain of centroids"
        self.certificate_ = TreeCertificate(
            "error of the heights", value, TOLERANCE, value <= TOLERANCE, None, None, name,
            note=f"{checked} of {n - 1} merges",
        )  # fmt: skip
        self.solver_ = SolverInfo(name, REASONS[name])

    def _error_of_heights(self) -> tuple[float, int]:
        """The largest error of a sample of heights, relative to the highest, computed from all merged pairs of rows."""
        from gramian.structures.hierarchy.nn_chain_small import loop

        n = len(self._points)
        if n == 1 or self.heights_[-1] == 0:
            return 0.0, n - 1
        order, start, count = loop("spans", n)(self.merges_)
        left, right = self.merges_[:, 0].astype(np.int64), self.merges_[:, 1].astype(np.int64)
        cheap = np.flatnonzero(count[left] * count[right] <= MAX_CHECKED_PAIRS)
        worst = max(float(-np.diff(self.heights_).min(initial=0.0)), 0.0)
        checked = cheap[np.unique(np.linspace(0, len(cheap) - 1, MAX_CHECKED_MERGES).astype(np.int64))]
        for t in checked:
            A, B = (np.sort(order[start[side[t]] :][: count[side[t]]]) for side in (left, right))
            worst = max(worst, abs(self._distance(A, B) - float(self.heights_[t])))
        return worst / float(self.heights_[-1]), len(checked)

    def _distance(self, A: Ints, B: Ints) -> float:
        """The distance of two clusters by its definition."""
        D = self._space.distances(self._points[A], self._points[B])
        if self.linkage == "single":
            return float(D.min())
        if self.linkage == "complete":
            return float(D.max())
        a, b = (np.ones(len(side)) if self._weight is None else self._weight[side] for side in (A, B))
        v, w = float(a.sum()), float(b.sum())
        if self.linkage == "average":
            return float(a @ D @ b / (v * w))
        within = 0.0
        for side, weight, total in ((A, a, v), (B, b, w)):
            distances = self._space.distances(self._points[side], self._points[side])
            within += float(weight @ (distances * distances) @ weight) / (2.0 * total * total)
        between = float(a @ (D * D) @ b) / (v * w) - within
        return float(np.sqrt(max(2.0 * v * w / (v + w) * between, 0.0)))

    def predict(self, X: Table) -> Ints:
        """The cluster (n,) that is nearest to each row by the linkage, the row being a cluster of its own, of weight 1.

        Rows of the fit keep their cluster, though by linkages other than single they may be nearer to another one.
        """
        points, equal_row = self._new_points(X)
        labels = self.labels_[equal_row]
        if (new := np.flatnonzero(equal_row < 0)).size:
            labels[new] = self._assigned(points[new], self.labels_[self.leaves_ >= 0])
        return labels

    def score_samples(self, X: Table) -> Floats:
        """−1 times the distance from the nearest row of the fit: the height at which each row would join the tree.

        A row of the fit has the distance from the nearest other one.
        """
        return self._scores_of(*self._new_points(X))

    def _fit_scores(self) -> tuple[Floats, Floats | None]:
        first_equal = self._known.first[self._known.group]
        scores = self._scores_of(self._points, first_equal[self.leaves_ >= 0])
        if self._weight is None or self._left_out is None:
            return scores, None
        return self._join_scores(scores, self._scores_of(self._left_out, first_equal[self.leaves_ < 0]))

    def _scores_of(self, points: Points, equal_row: Ints) -> Floats:
        """Of points that are equal to the rows of the fit at `place`, or to none (−1); these without themselves."""
        size = max(DISTANCES_PER_TASK // len(self._points), 1)
        weight = np.where(equal_row < 0, 0.0, self._known.weight(self._leaf_weight)[equal_row])
        leaves = self._by_group(self.leaves_[self.leaves_ >= 0])
        own_leaf = np.where((weight > 0) & (weight <= 1), leaves[self._known.group[equal_row]], -1)

        def part(start: int) -> Floats:
            D = self._space.distances(points[start : start + size], self._points)
            own_leaf_of_part = own_leaf[start : start + size]
            if len(self._points) > 1:
                D[own_leaf_of_part >= 0, own_leaf_of_part[own_leaf_of_part >= 0]] = np.inf
            D[weight[start : start + size] > 1] = 0.0  # a repeated row has an equal one
            return np.asarray(-D.min(axis=1))

        return np.concatenate([np.zeros(0), *parallel_map(part, range(0, len(points), size))])

    def _new_points(self, X: Matrix) -> tuple[Any, Ints]:
        """New points, and the rows of the fit that they are equal to."""
        check_is_fitted(self)
        if hasattr(self, "n_features_in_"):
            values: Any = new_rows(self, X)
            block = values.collect()
            if not np.isfinite(block.X.data if sp.issparse(block.X) else block.X).all():
                values.refuse_nonfinite()
            if self.linkage == "ward" and self._space.kernel is None:
                refuse_unusable(values, missing=False)
            values = block.X if isinstance(X, Rows) or self._space.kernel is None else X
        else:
            values = X
        if self._space.kernel is not None and is_matrix(self._space.kernel):
            raise ValueError(
                "A precomputed kernel matrix does not contain k(x, x) of new rows, so their distances are unknown. Fit "
                "with the kernel itself to predict."
            )
        if self._space.kernel is None:
            points = vectors(values)
            return points, self._known.find(points.X)
        return self._space.kernel.points(values), self._known.find(vectors(values).X if is_table(values) else values)

    def _counted_rows(self) -> Any:
        return self._points.X if self._space.kernel is None else None

    def _numeric_rows(self) -> Any:
        if isinstance(self._points, Entries):
            return self._points.K[self._points.places]
        return self._points.X if isinstance(self._points, Vectors) else None

    def _nearest(self, rows: Ints, labels: Ints, nodes: Ints) -> Ints:
        cluster = self._by_group(labels)[self._known.group[rows]]
        if (new := np.flatnonzero(cluster < 0)).size:
            assert self._left_out is not None
            cluster[new] = self._assigned(self._left_out[new], labels)
        return cluster

    def _by_group(self, of_leaves: Ints) -> Ints:
        """Values of the leaves by groups of equal rows; −1 for groups without a leaf."""
        by_group = np.full(len(self._known.first), -1)
        by_group[self._known.group[self.leaves_ >= 0]] = of_leaves
        return by_group

    def _assigned(self, points: Points, labels: Ints) -> Ints:
        """The nearest cluster of each point."""
        order = np.argsort(labels, kind="stable")
        edges = np.searchsorted(labels[order], np.arange(labels.max() + 1))
        weight = weights_or_ones(self._weight, len(labels))
        totals = np.add.reduceat(weight[order], edges)
        if self.linkage == "ward" and self._space.kernel is None:
            return self._by_centers(points, means_of(self._points.X, labels, self._weight, len(edges)), totals)
        leaves = self._points[order]
        shares = weight[order] / totals[labels[order]]
        variance = self._within_variance(leaves, shares, edges) if self.linkage == "ward" else None
        size = max(DISTANCES_PER_TASK // len(labels), 1)

        def part(start: int) -> Ints:
            D = self._space.distances(points[start : start + size], leaves)
            if self.linkage == "single":
                distances = np.minimum.reduceat(D, edges, axis=1)
            elif self.linkage == "complete":
                distances = np.maximum.reduceat(D, edges, axis=1)
            elif self.linkage == "average":
                distances = np.add.reduceat(D * shares, edges, axis=1)
            else:
                distances = np.add.reduceat(D * D * shares, edges, axis=1) - variance
                distances *= totals / (totals + 1.0)
            return np.asarray(distances.argmin(axis=1), dtype=np.int64)

        return np.concatenate(parallel_map(part, range(0, len(points), size)))

    def _by_centers(self, points: Any, centers: Floats, totals: Floats) -> Ints:
        center_points = Vectors(sp.csr_matrix(centers) if points.is_sparse else centers)
        size = max(DISTANCES_PER_TASK // len(centers), 1)

        def part(start: int) -> Ints:
            D = self._space.distances(points[start : start + size], center_points)
            return np.asarray((D * D * (totals / (totals + 1.0))).argmin(axis=1), dtype=np.int64)

        return np.concatenate(parallel_map(part, range(0, len(points), size)))

    def _within_variance(self, leaves: Any, shares: Floats, edges: Ints) -> Floats:
        """The mean squared distance of each cluster's rows from their mean."""
        variance = np.zeros(len(edges))
        ends = np.append(edges[1:], len(leaves))
        for c, (start, end) in enumerate(zip(edges, ends, strict=True)):
            size = max(DISTANCES_PER_TASK // (end - start), 1)
            for first in range(start, end, size):
                rows = slice(first, min(first + size, end))
                D = self._space.distances(leaves[rows], leaves[start:end])
                variance[c] += 0.5 * float(shares[rows] @ (D * D) @ shares[start:end])
        return variance

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_matrix(self.kernel)
        return tags


class TreeCertificate(Certificate):
    """The error of the heights of the tree against the definition of the linkage."""

    def __str__(self) -> str:
        verdict = "within" if self.holds else "beyond"
        return (
            f"{self.kind} {self.value:.3g} (relative to the highest) is {verdict} {self.tolerance:.3g}: {self.note} "
            f"were computed again from all their pairs of rows, after {self.through}"
        )


def means_of(X: Matrix, labels: Ints, weight: Floats | None, k: int) -> Floats:
    """Means (k, d) of the rows of each cluster."""
    value = weights_or_ones(weight, len(labels))
    member = sp.csr_array((value, (labels, np.arange(len(labels)))), shape=(k, len(labels)))
    total = member @ X
    total = total.toarray() if sp.issparse(total) else total
    return np.asarray(total / np.bincount(labels, weights=weight, minlength=k)[:, None])
