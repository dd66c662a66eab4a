"""`Agglomerative`: clusters merged from the bottom up."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.fitted.cluster_labels import KnownRows
from gramian.kernels.input import is_matrix, refuse_invalid
from gramian.kernels.named import kernel_of
from gramian.kernels.points import Vectors, is_table, vectors
from gramian.rows import Rows, parallel_map, scan
from gramian.rows.feature_names import fit_rows, new_rows
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.structures.components.base import refuse_kernel_out_of_range, refuse_unusable
from gramian.structures.components.point import Point
from gramian.structures.hierarchy.linkage import METHODS, OfKernel, Plain, linkage_of
from gramian.structures.hierarchy.tree import ClusterTree, count_at, widest_gap
from gramian.warnings import ConvergenceWarning, warn_user

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 2**20  # distances at a time
CHECKED = 64  # merges whose heights are computed once more
PAIRS = 2**16  # distances that one of them may need
TOLERANCE = 1e-8
REASONS = {
    "spanning tree": "single linkage is a minimum spanning tree, by Prim's algorithm without a matrix",
    "chain of centroids": "Ward's distance needs only centroids, so no matrix is kept",
    "chain on a matrix": "chains of nearest neighbours, on one matrix of distances",
}


class Agglomerative(ClusterTree):
    """Clusters merged from the bottom up: at first every row is one, and the two nearest become one until all are.

    The distance of two clusters is that of their nearest rows (`"single"`), of their farthest (`"complete"`), the mean
    over all pairs (`"average"`), or √(2vw / (v + w)) ‖c − c'‖ with weights v, w and means c, c' (`"ward"`): then half
    the square of a height is what the merge adds to Σ w ‖x − c‖².

    Time is O(n²) distances. Single linkage and Ward's method of dense rows keep no matrix; the others, and all of
    sparse rows or with a kernel, keep n × n numbers once.

    Parameters
    ----------
    n_clusters : int, "auto" or None
        "auto" is the number whose next merge is the most times higher than the last one made, from 2 to √n (of fewer
        than 100 rows, to 10 or n / 2). None beside `height`.
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
    centers_ : array (k, d), structures_ : list of k points
        Means; without a kernel.
    objective_ : float
        Of the clusters: Σ w ‖x − c‖² (Ward), the length of their shortest trees (single), the height of the last
        merge made (complete, average).
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

    centers_: Floats
    structures_: list[Point]
    _points: Any
    _space: Plain | OfKernel

    def __init__(
        self, n_clusters: Any = 2, *, linkage: str = "ward", height: float | None = None, kernel: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.height = height
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "Agglomerative":
        """Fit to the rows of X; y is ignored. Weights are counts, and rows of weight zero only get a label."""
        k, height, auto = self._asked()
        validation.choice("linkage", self.linkage, METHODS)
        for name in ("centers_", "structures_", "kernel_"):
            self.__dict__.pop(name, None)
        points, weight, given = self._read(X, sample_weight)
        self._known, self._leaf_weight = KnownRows.of(given), weight
        self._leaf = np.arange(len(points))
        self._weight = None
        self._left_out = None
        if weight is not None:
            counted = weight > 0
            self._leaf = np.where(counted, np.cumsum(counted) - 1, -1)
            self._weight = weight[counted]
            self._left_out = points[np.flatnonzero(~counted)]
            points = points[np.flatnonzero(counted)]
        n = len(points)
        self._refuse_more(k, n)
        self._points = points
        group = self._known.group[self._leaf >= 0]
        self.merges_ = linkage_of(points, self.linkage, self._weight, self._space, group)
        self.heights_ = self.merges_[:, 2]
        if auto:
            k = widest_gap(self.heights_)
        elif height is not None:
            k = count_at(self.heights_, height)
        assert k is not None
        self._cut_at(self._at_most_distinct(k, len(np.unique(group))))
        self._describe()
        return self

    def _read(self, X: Any, sample_weight: Any) -> tuple[Any, Floats | None, Any]:
        """Points, weights and what was given; sets the space, and what is known of the columns."""
        kernel = None if self.kernel is None else kernel_of(self.kernel)
        if kernel is None or isinstance(X, Rows) or is_table(X):
            rows = fit_rows(self, X, sample_weight)
            block = rows.collect()
            if not np.isfinite(block.X.data if sp.issparse(block.X) else block.X).all():
                rows.refuse_nonfinite()
            if self.linkage == "ward" and kernel is None:
                refuse_unusable(rows, missing=False)
            weight = block.weight
            given = block.X if kernel is None or isinstance(X, Rows) else X
        else:
            if hasattr(self, "n_features_in_"):
                del self.n_features_in_
            given = X
            weight = scan(np.zeros((len(X), 1)), sample_weight=sample_weight).collect().weight
        if kernel is None:
            self._space = Plain()
            points = vectors(given)
            return points, weight, points.X
        if is_matrix(kernel) and self.n_features_in_ != len(kernel.points(given)):
            raise ValueError(f"A matrix of the kernel must be square; X has shape {np.shape(given)}.")
        self.kernel_ = kernel.fitted(given, weight)
        refuse_invalid(self.kernel_, given)
        self._space = OfKernel(self.kernel_)
        points = self.kernel_.points(given)
        refuse_kernel_out_of_range(self.kernel_.diag(points), given)
        return points, weight, vectors(given).X if is_table(given) else given

    def _at_most_distinct(self, k: int, distinct: int) -> int:
        if k > distinct:
            warn_user(
                f"n_clusters is {k}, and only {distinct} of the {len(self._points)} rows are distinct: there are "
                f"{distinct} clusters.",
                ConvergenceWarning,
            )
        return min(k, distinct)

    def _describe(self) -> None:
        """Centres, objective, certificate and solver of the tree as it is cut."""
        n, k = len(self._points), self.n_clusters_
        made = self.heights_[: n - k]
        dense = isinstance(self._space, Plain) and not self._points.is_sparse
        labels = self.labels_[self._leaf >= 0]
        if isinstance(self._space, Plain):
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
        """The largest error of some heights, relative to the highest, from all pairs of rows that were merged."""
        from gramian.structures.hierarchy.nn_chain_small import loop

        n = len(self._points)
        if n == 1 or self.heights_[-1] == 0:
            return 0.0, n - 1
        order, start, count = loop("spans", n)(self.merges_)
        left, right = self.merges_[:, 0].astype(np.int64), self.merges_[:, 1].astype(np.int64)
        cheap = np.flatnonzero(count[left] * count[right] <= PAIRS)
        worst = max(float(-np.diff(self.heights_).min(initial=0.0)), 0.0)
        some = cheap[np.unique(np.linspace(0, len(cheap) - 1, CHECKED).astype(np.int64))]
        for t in some:
            A, B = (np.sort(order[start[side[t]] :][: count[side[t]]]) for side in (left, right))
            worst = max(worst, abs(self._distance(A, B) - float(self.heights_[t])))
        return worst / float(self.heights_[-1]), len(some)

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
        spread = 0.0
        for side, weight, total in ((A, a, v), (B, b, w)):
            own = self._space.distances(self._points[side], self._points[side])
            spread += float(weight @ (own * own) @ weight) / (2.0 * total * total)
        between = float(a @ (D * D) @ b) / (v * w) - spread
        return float(np.sqrt(max(2.0 * v * w / (v + w) * between, 0.0)))

    def predict(self, X: Any) -> Ints:
        """The cluster (n,) that is nearest to each row by the linkage, the row being a cluster of its own, of weight 1.

        Rows of the fit keep their cluster, though by linkages other than single they may be nearer to another one.
        """
        points, place = self._new_points(X)
        labels = self.labels_[place]
        if (new := np.flatnonzero(place < 0)).size:
            labels[new] = self._assigned(points[new], self.labels_[self._leaf >= 0])
        return labels

    def score_samples(self, X: Any) -> Floats:
        """−1 times the distance from the nearest row of the fit: the height at which each row would join the tree.

        A row of the fit has the distance from the nearest other one.
        """
        return self._scored(*self._new_points(X))

    def _fit_scores(self) -> tuple[Floats, Floats | None]:
        place = self._known.first[self._known.group]
        found = self._scored(self._points, place[self._leaf >= 0])
        if self._weight is None:
            return found, None
        return self._of_all(found, self._scored(self._left_out, place[self._leaf < 0]))

    def _scored(self, points: Any, place: Ints) -> Floats:
        """Of points that are equal to the rows of the fit at `place`, or to none (−1); these without themselves."""
        size = max(CELLS // len(self._points), 1)
        weight = np.where(place < 0, 0.0, self._known.weight(self._leaf_weight)[place])
        leaves = self._of_groups(self._leaf[self._leaf >= 0])
        itself = np.where((weight > 0) & (weight <= 1), leaves[self._known.group[place]], -1)

        def part(start: int) -> Floats:
            D = self._space.distances(points[start : start + size], self._points)
            own = itself[start : start + size]
            if len(self._points) > 1:
                D[own >= 0, own[own >= 0]] = np.inf
            D[weight[start : start + size] > 1] = 0.0  # a row that is there more than once has itself beside it
            return np.asarray(-D.min(axis=1))

        return np.concatenate([np.zeros(0), *parallel_map(part, range(0, len(points), size))])

    def _new_points(self, X: Any) -> tuple[Any, Ints]:
        """New points, and the rows of the fit that they are equal to."""
        check_is_fitted(self)
        if hasattr(self, "n_features_in_"):
            given: Any = new_rows(self, X)
            block = given.collect()
            if not np.isfinite(block.X.data if sp.issparse(block.X) else block.X).all():
                given.refuse_nonfinite()
            if self.linkage == "ward" and isinstance(self._space, Plain):
                refuse_unusable(given, missing=False)
            given = block.X if isinstance(X, Rows) or isinstance(self._space, Plain) else X
        else:
            given = X
        if isinstance(self._space, OfKernel) and is_matrix(self._space.kernel):
            raise ValueError(
                "A precomputed matrix says nothing of k(x, x) of new rows: their distances are not known. Fit with the "
                "kernel itself to predict."
            )
        if isinstance(self._space, Plain):
            points = vectors(given)
            return points, self._known.find(points.X)
        return self._space.kernel.points(given), self._known.find(vectors(given).X if is_table(given) else given)

    def _table(self) -> Any:
        return self._points.X if isinstance(self._space, Plain) else None

    def _nearest(self, rows: Ints, labels: Ints, nodes: Ints) -> Ints:
        found = self._of_groups(labels)[self._known.group[rows]]
        if (new := np.flatnonzero(found < 0)).size:
            assert self._left_out is not None
            found[new] = self._assigned(self._left_out[new], labels)
        return found

    def _of_groups(self, counted: Ints) -> Ints:
        """What rows that count have, by groups of equal rows; −1 of rows that do not."""
        found = np.full(len(self._known.first), -1)
        found[self._known.group[self._leaf >= 0]] = counted
        return found

    def _assigned(self, points: Any, labels: Ints) -> Ints:
        """The nearest cluster of each point."""
        order = np.argsort(labels, kind="stable")
        edges = np.searchsorted(labels[order], np.arange(labels.max() + 1))
        weight = np.ones(len(labels)) if self._weight is None else self._weight
        totals = np.add.reduceat(weight[order], edges)
        if self.linkage == "ward" and isinstance(self._space, Plain):
            return self._by_centers(points, means_of(self._points.X, labels, self._weight, len(edges)), totals)
        home = self._points[order]
        shares = weight[order] / totals[labels[order]]
        inside = self._spread(home, shares, edges) if self.linkage == "ward" else None
        size = max(CELLS // len(labels), 1)

        def part(start: int) -> Ints:
            D = self._space.distances(points[start : start + size], home)
            if self.linkage == "single":
                found = np.minimum.reduceat(D, edges, axis=1)
            elif self.linkage == "complete":
                found = np.maximum.reduceat(D, edges, axis=1)
            elif self.linkage == "average":
                found = np.add.reduceat(D * shares, edges, axis=1)
            else:
                found = np.add.reduceat(D * D * shares, edges, axis=1) - inside
                found *= totals / (totals + 1.0)
            return np.asarray(found.argmin(axis=1), dtype=np.int64)

        return np.concatenate(parallel_map(part, range(0, len(points), size)))

    def _by_centers(self, points: Any, centers: Floats, totals: Floats) -> Ints:
        home = Vectors(sp.csr_matrix(centers) if points.is_sparse else centers)
        size = max(CELLS // len(centers), 1)

        def part(start: int) -> Ints:
            D = self._space.distances(points[start : start + size], home)
            return np.asarray((D * D * (totals / (totals + 1.0))).argmin(axis=1), dtype=np.int64)

        return np.concatenate(parallel_map(part, range(0, len(points), size)))

    def _spread(self, home: Any, shares: Floats, edges: Ints) -> Floats:
        """The mean squared distance of each cluster's rows from their mean."""
        found = np.zeros(len(edges))
        ends = np.append(edges[1:], len(home))
        for c, (start, end) in enumerate(zip(edges, ends, strict=True)):
            size = max(CELLS // (end - start), 1)
            for first in range(start, end, size):
                rows = slice(first, min(first + size, end))
                D = self._space.distances(home[rows], home[start:end])
                found[c] += 0.5 * float(shares[rows] @ (D * D) @ shares[start:end])
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_matrix(self.kernel)
        return tags


class TreeCertificate(Certificate):
    """How far heights of the tree are from what the linkage says of the rows below."""

    def __str__(self) -> str:
        verdict = "within" if self.holds else "beyond"
        return (
            f"{self.kind} {self.value:.3g} of the highest is {verdict} {self.tolerance:.3g}: {self.note} were computed "
            f"again from their rows, after {self.through}"
        )


def means_of(X: Any, labels: Ints, weight: Floats | None, k: int) -> Floats:
    """Means (k, d) of the rows of each cluster."""
    value = np.ones(len(labels)) if weight is None else weight
    member = sp.csr_array((value, (labels, np.arange(len(labels)))), shape=(k, len(labels)))
    total = member @ X
    total = total.toarray() if sp.issparse(total) else total
    return np.asarray(total / np.bincount(labels, weights=weight, minlength=k)[:, None])
