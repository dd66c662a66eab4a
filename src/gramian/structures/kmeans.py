"""k-means, also in the feature space of a kernel, and competitive learning."""

from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.cluster_labels import KnownRows
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.fitted.time_limit import timed
from gramian._core.types import Floats, Ints, Matrix, RandomState, Table, Tags, Values, Weights
from gramian.kernels.base import Kernel
from gramian.kernels.input import is_matrix, read_points
from gramian.kernels.representation import Columns, Representation
from gramian.solvers.certificate import ALTERNATION, Certificate, SolverInfo
from gramian.structures.base import ClusteringParameters, Composition, DistanceModel
from gramian.structures.components.point import Point
from gramian.structures.loop.assignments import ASSIGNMENTS, Nearest
from gramian.structures.loop.kernel_means import KernelFit, comparable
from gramian.structures.loop.state import LoopState
from gramian.structures.number_of_clusters import boundary_note
from gramian.warnings import ConvergenceWarning, warn_user


@estimator
class KMeans(ClusteringParameters, DistanceModel):
    """k-means: minimises Σw ‖x − c‖², in the columns or in the feature space of a kernel.

    Parameters
    ----------
    n_clusters : int or "auto"
        k; "auto" chooses by `criterion` among 1 to `max_clusters`.
    kernel : None, str or Kernel
        Distances in its feature space: ‖φ(x) − c‖², c the mean of the features of the cluster.
    init : "k-means++", "farthest", "random", or array (k, d)
        Initial centres: by greedy k-means++, farthest-first, at random rows, or given.
    n_init : int
        Starts, of which the best is kept.
    max_iter : int
    tol : float
        The relative decrease of the objective by one pass at which the fit ends; at 0 it ends when no label changes.
    criterion : "auto", "bic", "elbow", "gap", "penalty", "prediction_strength", "silhouette" or "stability"
        How k is chosen: by default the prediction strength, the most clusters of one half of the rows that the other
        half predicts. With a kernel all but "bic" use distances in its feature space; "gap" needs rows of numbers.
    penalty : "auto" or float
        λ of the criterion objective + λk: by how much one more cluster must lower the objective. By default the middle
        of the longest interval of log λ over which k stays the same; `choice_.penalty` is the λ used.
    max_clusters : int
    random_state : int, Generator, RandomState or None
    time : float, optional
        Seconds after which the fit ends at the best result so far, and the choice of k with the numbers tried so far,
        with a `ConvergenceWarning`; the certificate says so, and holds only where the passes had converged before.

    Attributes
    ----------
    labels_, structures_, n_clusters_, choice_, history_, n_iter_, certificate_, solver_
    centers_ : array (k, d)
        Without a kernel.
    objective_ : float
        Σw ‖x − c‖², with a kernel in its feature space.
    kernel_ : Kernel
        With what was set from the data.
    representation_ : Columns or KernelMatrix
        What the rows look like: their columns, or the kernel and the points of the fit.

    Notes
    -----
    A pass costs O(n k d); with a kernel O(n²), whose matrix is kept up to 4,096 rows and computed by panels beyond.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> round(KMeans(3, random_state=0).fit(X).objective_, 3)
    78.851
    >>> round(KMeans(3, kernel="linear", random_state=0).fit(X).objective_, 3)
    78.851
    >>> KMeans(3, kernel="rbf", random_state=0).fit(X).kernel_
    RBF(length_scale=...)
    """

    n_clusters: int | str | None = 8
    _: KW_ONLY
    tol: float = 0.0
    penalty: float | str = "auto"
    kernel: str | Kernel | None = None
    representation_: Representation = field(init=False)
    _known: KnownRows = field(init=False)

    def _composition(self) -> Composition:
        return Composition([Point()], Nearest())

    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> "KMeans":
        """Fit to rows; with a kernel, to whatever it compares."""
        forget_fit(self)
        if self.kernel is None:
            super().fit(X, sample_weight=sample_weight)
            self.representation_ = Columns.of(self)
        else:
            self._fit_kernel(X, sample_weight)
        return self

    @timed
    def _fit_kernel(self, X: Table, sample_weight: Weights) -> None:
        means = KernelFit(self).fit(X, sample_weight, self._n_clusters(self._composition()))
        self.representation_, self.kernel_ = means.representation, means.representation.kernel
        if means.choice is not None:
            self.choice_ = means.choice
        self.labels_, self.structures_, self.n_clusters_ = means.labels, means.structures, len(means.structures)
        self._state = LoopState(means.structures, np.full(self.n_clusters_, 1.0 / self.n_clusters_))
        self._rule, self._missing, self._loop_variance = Nearest(), False, 0.0
        self._known, self._scores, self._row_weight = means.known, means.scores, means.row_weight
        self.objective_, self.history_, self.n_iter_ = means.value, means.history, len(means.history) - 1
        tolerance = max(float(self.tol), 1e-12)
        self.certificate_ = Certificate(
            ALTERNATION, means.decrease, tolerance, means.decrease <= tolerance, None, None, means.through,
            note=" ".join(boundary_note(self)), convex=False,
        )  # fmt: skip
        self.solver_ = SolverInfo("kernel alternation", means.reason)
        if not self.certificate_.holds and not deadline.ended():
            warn_user(
                f"KMeans stopped after {self.n_iter_} passes (max_iter={self.max_iter}): one more would lower the "
                f"objective by {100.0 * means.decrease:.2g} %. Give a larger max_iter.",
                ConvergenceWarning,
            )

    def _map_rows(self, X: Matrix, f: Any) -> Any:
        if self.kernel is None:
            return super()._map_rows(X, f)
        check_is_fitted(self)
        points = read_points(self, X, self.kernel_, reset=False)
        return f(np.column_stack([each.loss(points) for each in self.structures_]), points)

    def predict(self, X: Table) -> Ints:
        """The cluster of every row; of a kernel that is a matrix, of rows k(x, points of the fit)."""
        check_is_fitted(self)
        if self.kernel is None:
            return super().predict(X)
        points = read_points(self, X, self.kernel_, reset=False)
        index = self._known.find(comparable(X))
        nearest = np.column_stack([each.relative(points) for each in self.structures_]).argmin(axis=1)
        return np.where(index < 0, nearest, self.labels_[index])

    def score_samples(self, X: Table) -> Floats:
        """−1 times the squared distance of each row from the nearest mean, with a kernel in its feature space."""
        scores = super().score_samples(X)
        if self.kernel is None:
            return scores
        index = self._known.find(comparable(X))
        return np.where(index < 0, scores, self._scores[index])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel is not None and is_matrix(self.kernel)
        return tags


@estimator
class CompetitiveLearning(DistanceModel):
    """Competitive learning of points: plain, frequency-sensitive, or with penalised rivals, which chooses k.

    A pass uses all rows at once, so that the result does not depend on their order; after the competition the nearest
    point owns a row, and k-means minimises Σw ‖x − c‖² from there.

    Parameters
    ----------
    n_clusters : int
        Initial points: with rule "rival" more than there are clusters; surplus points are dropped.
    rule : "plain", "frequency" or "rival"
        See `gm.structures.Nearest`, `FrequencySensitive` and `RivalPenalised`.
    init, n_init, max_iter, tol, random_state, time
        As of `KMeans`.

    Attributes
    ----------
    centers_, labels_, structures_, n_clusters_, objective_, history_, n_iter_, certificate_, solver_

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> CompetitiveLearning(6, rule="rival", random_state=0).fit(X).n_clusters_
    3
    """

    n_clusters: int | str | None = 8
    _: KW_ONLY
    rule: str = "rival"
    init: object = "k-means++"
    n_init: int = 1
    max_iter: int = 300
    tol: float = 0.0
    random_state: RandomState = None
    time: float | None = None

    def _composition(self) -> Composition:
        rule = validation.choice("rule", self.rule, ("plain", "frequency", "rival"))
        return Composition([Point()], ASSIGNMENTS["nearest" if rule == "plain" else rule])

    def _n_clusters(self, composition: Composition) -> int | None:
        return validation.whole("n_clusters", self.n_clusters, low=1)
