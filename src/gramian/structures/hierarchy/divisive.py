"""`Divisive`: hierarchical clustering from the top down (bisecting k-means)."""

import heapq
from dataclasses import KW_ONLY, field
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.time_limit import timed
from gramian._core.numerics.small_tables import is_small
from gramian._core.types import Floats, Ints, Table, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.rows import Rows
from gramian.rows.feature_names import fit_rows, new_rows
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.structures.components.base import refuse_unusable
from gramian.structures.components.point import Point
from gramian.structures.hierarchy.agglomerative import means_of
from gramian.structures.hierarchy.linkage import in_range
from gramian.structures.hierarchy.tree import ClusterTree, largest_relative_gap, n_clusters_at
from gramian.warnings import ConvergenceWarning, warn_user

SPLITS = ("kmeans", "principal")
MAX_LEAVES = 4096  # unless n_clusters or max_leaves is larger
MAX_ROUNDS = 300  # of 2-means in one split
TOLERANCE = 1e-9


@estimator
class Divisive(ClusterTree):
    """Divisive clustering: all rows start as one cluster, and the split that lowers Σ w ‖x − c‖² most is made.

    Every cluster is split by a hyperplane. With `split="principal"` it is the best one orthogonal to the first
    principal direction; with `"kmeans"` (bisecting k-means) 2-means continues from there. Nothing is random.

    Each row is visited once per level: about O(n d log n) times the rounds of 2-means, without stored distances.

    Parameters
    ----------
    n_clusters : int, "auto" or None
        "auto" as in `Agglomerative`: at the largest ratio of successive heights. None with `height`.
    split : "kmeans" or "principal"
    height : float, optional
        Splits above this height are made, instead of a number of clusters.
    max_leaves : int, optional
        Clusters at which splitting ends; by default no two rows that differ are left together, up to 4096 leaves.
    time : float, optional
        Seconds after which no further split is made, with a `ConvergenceWarning` and a certificate that does not hold.

    Attributes
    ----------
    merges_ : array (m − 1, 4)
        The tree of m leaves in SciPy's form, as if the splits had been undone from the last; leaves are counted in the
        order of their first rows, and the last column has the rows inside.
    heights_ : array (m − 1,)
        √(2 Δ), where Δ is the decrease of the objective by the split, or the least of the splits before it: the scale
        of Ward's method.
    labels_, n_clusters_, cut_height_
        Clusters are numbered from the heaviest; of equal ones that with the least sum of a row comes first.
    leaves_ : array (n,); nodes_ : array (k,)
        Of every row its leaf of the tree, −1 where its weight is zero; of every cluster its node.
    centers_ : array (k, d)
    structures_ : list of k points
    objective_ : float
        Σ w ‖x − c‖² of the clusters.
    history_ : list of (splits made, objective, height)
    certificate_, solver_
        The certificate compares the objective, computed from the labels, with that after the decreases of the splits.

    Examples
    --------
    >>> import gramian as gm
    >>> X = [[0.0], [0.1], [1.0], [1.2], [9.0]]
    >>> model = gm.Divisive(3).fit(X)
    >>> model.labels_, model.cut(2), model.predict([[0.4], [7.0]])
    (array([0, 0, 1, 1, 2]), array([0, 0, 0, 0, 1]), array([0, 2]))
    """

    n_clusters: int | str = 2
    _: KW_ONLY
    split: str = "kmeans"
    height: float | None = None
    max_leaves: int | None = None
    time: float | None = None

    centers_: Floats = field(init=False)
    structures_: list[Point] = field(init=False)
    history_: list[tuple[int, float, float]] = field(init=False)

    @timed
    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> "Divisive":
        """Fit to the rows of X; y is ignored. Weights are counts, and rows of weight zero only get a label."""
        k, height, auto = self._cut_parameters()
        validation.choice("split", self.split, SPLITS)
        max_leaves = None if self.max_leaves is None else validation.whole("max_leaves", self.max_leaves, low=1)
        rows, weight = self._read(X, sample_weight)
        used = np.arange(len(rows)) if weight is None else np.flatnonzero(weight)
        self._weight = None if weight is None else weight[used]
        n = len(used)
        self._require_rows(k, n)
        if max_leaves is not None and k is not None and k > max_leaves:
            raise ValueError(
                f"n_clusters is {k} and max_leaves is {max_leaves}: let the tree have at least {k} leaves."
            )
        scaled, self._exponent = in_range(rows if n == len(rows) else rows[used])
        total = weights_or_ones(self._weight, n)
        self._shift = np.average(scaled, axis=0, weights=total)
        self._grow(scaled - self._shift, total, max(MAX_LEAVES, k or 0) if max_leaves is None else max_leaves)
        self.leaves_ = np.full(len(rows), -1)
        self.leaves_[used] = self._leaf_of
        self._left_out = rows[self.leaves_ < 0]
        self._rows = rows if n == len(rows) else rows[used]
        m = len(self.merges_) + 1
        if auto:
            k = largest_relative_gap(self.heights_)
        elif height is not None:
            k = n_clusters_at(self.heights_, height)
        assert k is not None
        if deadline.ended():
            deadline.note(f"The tree has {m} leaves.")
        elif k > m:
            warn_user(
                f"n_clusters is {k}, and only {m} of the {n} rows are distinct: there are {m} clusters.",
                ConvergenceWarning,
            )
        self._cut_at(min(k, m))
        self._describe(self._rows, total)
        return self

    def _read(self, X: Table, sample_weight: Weights) -> tuple[Floats, Floats | None]:
        rows = fit_rows(self, X, sample_weight)
        return _dense(rows), rows.collect().weight

    def _grow(self, X: Floats, weight: Floats, max_leaves: int) -> None:
        """Split, the best split first, until there are `max_leaves` leaves or none can be split."""
        loops = _loops(X)
        means = self.split == "kmeans"
        queue: list[Any] = []

        def consider(index: Ints, parent: int, side: int) -> None:
            normal = np.empty(X.shape[1])
            threshold, decrease, low, high = loops.bisect(X, weight, index, means, MAX_ROUNDS, normal)
            heapq.heappush(queue, (-decrease, int(index[0]), index, parent, side, (normal, threshold, low, high)))

        all_rows = np.arange(len(X))
        consider(all_rows, -1, 0)
        splits: list[tuple[Floats, float, float, int]] = []
        children: list[list[int]] = []
        while len(queue) < max_leaves and queue[0][0] < 0 and not (splits and deadline.passed()):
            decrease, _, index, parent, side, (normal, threshold, low, high) = heapq.heappop(queue)
            number = len(splits)
            splits.append((normal, threshold, -decrease, len(index)))
            children.append([0, 0])
            if parent >= 0:
                children[parent][side] = number
            consider(low, number, 0)
            consider(high, number, 1)
        m = len(queue)
        self._leaf_of = np.empty(len(X), dtype=np.int64)
        for leaf, (_, _, index, parent, side, _) in enumerate(sorted(queue, key=lambda each: each[1])):
            self._leaf_of[index] = leaf
            if parent >= 0:
                children[parent][side] = ~leaf
        self._below = np.array(children, dtype=np.int64).reshape(-1, 2)
        self._normals = np.array([normal for normal, *_ in splits]).reshape(-1, X.shape[1])
        self._thresholds = np.array([threshold for _, threshold, _, _ in splits])
        decreases = np.array([decrease for _, _, decrease, _ in splits])
        remaining = loops.sum_of_squares(X, weight, all_rows) - np.append(0.0, np.cumsum(decreases))
        heights = np.ldexp(np.sqrt(2.0 * np.minimum.accumulate(decreases)), self._exponent)
        self._remaining = np.maximum(remaining, 0.0)
        objectives = self._original_units(self._remaining)
        steps = zip(objectives.tolist(), [np.inf, *heights.tolist()], strict=True)
        self.history_ = [(s, value, height) for s, (value, height) in enumerate(steps)]
        nodes = np.sort(np.where(self._below < 0, ~self._below, 2 * m - 2 - self._below), axis=1)
        sizes = np.array([size for *_, size in splits])
        self.merges_ = np.column_stack([nodes, heights, sizes]).astype(np.float64)[::-1].reshape(-1, 4).copy()
        self.heights_ = self.merges_[:, 2]

    def _original_units(self, squares: Any) -> Any:
        return np.ldexp(squares, 2 * self._exponent)

    def _describe(self, X: Floats, weight: Floats) -> None:
        labels = self.labels_[self.leaves_ >= 0]
        scaled = np.ldexp(X, -self._exponent)
        centers = means_of(scaled, labels, weight, self.n_clusters_)
        self.centers_ = np.ldexp(centers, self._exponent)
        self.structures_ = [Point().moved_to(center) for center in self.centers_]
        objective = float(weight @ ((scaled - centers[labels]) ** 2).sum(axis=1))
        self.objective_ = float(self._original_units(objective))
        start, remaining = float(self._remaining[0]), float(self._remaining[self.n_clusters_ - 1])
        value = abs(objective - remaining) / start if start > 0 else 0.0
        self.certificate_ = SplitCertificate(
            "error of the objective",
            value,
            TOLERANCE,
            value <= TOLERANCE and not deadline.ended(),
            None,
            None,
            f"{self.split} splits",
        )
        how = "2-means from" if self.split == "kmeans" else "the best cut orthogonal to"
        self.solver_ = SolverInfo(
            f"{self.split} splits",
            f"{how} the principal direction of the cluster whose split lowers the objective most",
        )

    def predict(self, X: Table) -> Ints:
        """The cluster (n,) that each row comes to, going down the tree by its planes; rows of the fit keep theirs."""
        check_is_fitted(self)
        return self._assigned(_dense(new_rows(self, X)), self.nodes_)

    def score_samples(self, X: Table) -> Floats:
        """−1 times the squared distance of each row from the centre of its cluster."""
        check_is_fitted(self)
        return self._scores_of(_dense(new_rows(self, X)))

    def _fit_scores(self) -> tuple[Floats, Floats | None]:
        return self._join_scores(self._scores_of(self._rows), self._scores_of(self._left_out))

    def _scores_of(self, X: Floats) -> Floats:
        if not len(X):
            return np.zeros(0)
        deviation = (
            np.ldexp(X, -self._exponent) - np.ldexp(self.centers_, -self._exponent)[self._assigned(X, self.nodes_)]
        )
        return -np.asarray(self._original_units((deviation**2).sum(axis=1)))

    def _counted_rows(self) -> Floats:
        return self._rows

    def _nearest(self, rows: Ints, labels: Ints, nodes: Ints) -> Ints:
        return self._assigned(self._left_out, nodes)

    def _assigned(self, X: Floats, nodes: Ints) -> Ints:
        m = len(self.merges_) + 1
        label = np.full(2 * m - 1, -1)
        label[nodes] = np.arange(len(nodes))
        if m == 1:
            return np.zeros(len(X), dtype=np.int64)
        below = np.where(self._below < 0, ~label[np.minimum(~self._below, m - 1)], self._below)
        ends = label[2 * m - 2 - np.arange(m - 1)]
        Z = np.ldexp(X, -self._exponent) - self._shift
        return np.asarray(_loops(Z).descend(Z, self._normals, self._thresholds, below, ends))


class SplitCertificate(Certificate):
    """The error of the objective after the decreases of the splits, against that of the labels."""

    def __str__(self) -> str:
        verdict = "within" if self.value <= self.tolerance else "beyond"
        text = (
            f"{self.kind} {self.value:.3g} (relative to one cluster) is {verdict} {self.tolerance:.3g}, computed again "
            f"from the labels, after {self.through}"
        )
        return f"{text}. {self.note}" if self.note else text


def _loops(X: Floats) -> Any:
    """The module of loops: NumPy for few rows, else compiled."""
    name = "bisection_small" if is_small(X.size) else "bisection"
    return import_module(f"gramian.structures.hierarchy.{name}")


def _dense(rows: Rows) -> Floats:
    """Finite numbers as an array."""
    X = rows.collect().X
    if sp.issparse(X):
        raise TypeError(
            "Divisive needs dense rows, and sparse data was passed: give X.toarray(), or use gm.Agglomerative, which "
            "takes sparse rows."
        )
    refuse_unusable(rows, missing=False)
    return np.ascontiguousarray(X, dtype=np.float64)
