"""`SpectralClustering`: the cuts of a graph of affinities, by its leading eigenvectors."""

from dataclasses import KW_ONLY, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.cluster_labels import KnownRows, numbered
from gramian._core.fitted.outliers import Outlying
from gramian._core.fitted.time_limit import timed
from gramian._core.random import seed_from
from gramian._core.summary import Summary
from gramian._core.types import Floats, Ints, Matrix, RandomState, Table, Tags, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.kernels.base import Kernel
from gramian.kernels.input import is_matrix
from gramian.kernels.points import is_table
from gramian.rows import Rows, scan, single_threaded_blas
from gramian.rows.feature_names import fit_rows, new_rows
from gramian.rows.refusals import no_table
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.kmeans.lloyd import nearest_centers as nearest_center
from gramian.spectral.clustering.graph import AffinityGraph, affinity_kernel, nearest, of_matrix, of_neighbors
from gramian.spectral.clustering.partition import k_means, rounded, rows_of_unit_length
from gramian.spectral.clustering.relaxation import Relaxation
from gramian.spectral.pca.input import finite_numbers, is_array, subset
from gramian.warnings import ConvergenceWarning, warn_user

CUTS = ("normalized", "ratio")
ASSIGNS = ("kmeans", "rounding")
MAX_CLUSTERS = 20  # clusters that "auto" looks for
NOTHING = 1e-15  # times the rows: eigenvalues below are rounding


@estimator
class SpectralClustering(Charted, Outlying, ClusterMixin, BaseEstimator):
    """Clusters between which a graph of affinities has little: cuts of the graph, relaxed to an eigenproblem.

    With affinities K and degrees D = diag(K w), the normalised cut Σ over clusters of (affinity that leaves it) / (its
    volume) is k − tr(HᵀAH), where A = D^−½ K D^−½ and H has a column a cluster. H with any orthonormal columns in its
    place, the relaxation, is best with the k leading eigenvectors of A; the ratio cut, over the number of rows, with
    those of the smallest eigenvalues of D − K. Rows of H, of unit length for the normalised cut, are then clustered.

    A kernel keeps one n × n matrix; neighbours keep n × neighbors numbers. Each product with it costs as many
    operations, and some tens of them are made.

    Parameters
    ----------
    n_clusters : int or "auto"
        "auto" is the number, from 2 to 20 (or as many as the graph has parts), after which 1 − λ, or the eigenvalue of
        D − K over the mean degree, grows by the largest factor; 0.001 is added to all, so that tiny ones are alike.
    kernel : str or Kernel
        Affinities, not negative. `"rbf"`, `"laplacian"` and `"matern"` by name have the median distance to the tenth
        neighbour as their length scale. `gm.kernels.Precomputed()` takes them as X, dense or sparse.
    neighbors : int, optional
        Instead of a kernel: rows are joined to so many nearest ones, by 1 if each is among those of the other, else ½.
    cut : "normalized" or "ratio"
    assign : "kmeans" or "rounding"
        How rows of H become labels: k-means, or the axis that they are nearest to once H is turned so that this fits
        best.
    n_init : int
        Starts of k-means; the first is the rounding.
    tol : float
        Residual of the eigenvectors, in units of the largest eigenvalue (of the largest degree, for the ratio cut).
    keep_affinity : bool
        Whether `affinity_` stays with the model.
    random_state : int, RandomState, Generator or None
        For the starts of k-means after the first.
    time : float, optional
        Seconds after which the fit ends at the best so far, with a `ConvergenceWarning` and a certificate that does
        not hold.

    Attributes
    ----------
    labels_, n_clusters_
        Clusters are numbered from the heaviest; of equal ones that with the least sum of a row comes first.
    eigenvalues_ : array
        Leading ones of A, falling, or smallest ones of D − K, growing; with "auto" as many as were looked at.
    embedding_ : array (m, k)
        The rows that were clustered.
    embedded_rows_ : array (m,)
        Which rows of the fit these are: those of positive weight.
    cut_value_ : float
        The cut of the labels; `bound_` is the least that any could have, by the relaxation.
    objective_ : float
        The same as `cut_value_`.
    affinity_ : array or CSR
    kernel_ : Kernel
    certificate_, solver_, n_iter_
        The certificate has the largest residual ‖A u − λ u‖, computed from the vectors alone.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(300, factor=0.4, noise=0.04, random_state=0)
    >>> model = gm.SpectralClustering(2).fit(X)
    >>> float(max((model.labels_ == ring).mean(), (model.labels_ != ring).mean()))
    1.0
    >>> bool((model.predict(X) == model.labels_).all())
    True
    """

    n_clusters: int | str = 8
    _: KW_ONLY
    kernel: str | Kernel = "rbf"
    neighbors: int | None = None
    cut: str = "normalized"
    assign: str = "kmeans"
    n_init: int = 3
    tol: float = 1e-6
    keep_affinity: bool = False
    random_state: RandomState = None
    time: float | None = None

    labels_: Ints = field(init=False)
    n_clusters_: int = field(init=False)
    eigenvalues_: Floats = field(init=False)
    embedding_: Floats = field(init=False)
    embedded_rows_: Ints = field(init=False)
    cut_value_: float = field(init=False)
    bound_: float = field(init=False)
    objective_: float = field(init=False)
    affinity_: Matrix = field(init=False)
    kernel_: Kernel = field(init=False)
    certificate_: Certificate = field(init=False)
    solver_: SolverInfo = field(init=False)
    n_iter_: int = field(init=False)
    n_features_in_: int = field(init=False)

    @single_threaded_blas()
    @timed
    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> "SpectralClustering":
        """Fit to the rows of X; y is ignored. Weights are counts, and rows of weight zero only get a label."""
        k = self._check()
        points, weight = self._read(X, sample_weight)
        n_all = points.shape[0] if is_array(points) else len(points)
        self.embedded_rows_ = np.arange(n_all) if weight is None else np.flatnonzero(weight)
        weight = weights_or_ones(weight, n_all)
        n = len(self.embedded_rows_)
        if k is not None and k > n:
            raise ValueError(f"n_clusters is {k}, and there are only {n} rows (n_samples = {n}): ask for fewer.")
        graph = self._graph(points, weight)
        self._known = KnownRows.of(self._comparable(points))
        k = self._at_most_distinct(k)
        problem = Relaxation(graph, self.cut)
        values, U, labels = self._solve(problem, k, points)
        k = U.shape[1]
        H = U / np.sqrt(graph.weight)[:, None]
        lengths = np.ones(n)
        if self.cut == "normalized":
            H[:, np.abs(values[:k]) <= NOTHING * n] = 0.0  # of no affinity at all: any vector would do
            lengths, H = np.linalg.norm(H, axis=1), rows_of_unit_length(H)
        rng = np.random.default_rng(seed_from(self.random_state, default=None))
        self._rotation: Floats | None = None
        turned, R = rounded(H, graph.weight, lengths)
        if self.assign == "rounding":
            labels, self._rotation = turned, R
        else:
            labels, self._centers = k_means(H, graph.weight, turned if labels is None else labels, self.n_init, rng)
        table = None if self._is_precomputed() or not is_array(points) else subset(points, self.embedded_rows_)
        if n == n_all and not self._is_precomputed():  # points of a precomputed matrix are known by their index
            labels = self._known.together(labels, graph.weight)
        labels, self._order = numbered(labels, graph.weight, table)
        self.n_clusters_ = len(self._order)
        if self.n_clusters_ < k:
            warn_user(
                f"n_clusters is {k}, but only {self.n_clusters_} clusters were found: the embedding has too few "
                "distinct rows.",
                ConvergenceWarning,
            )
        self.eigenvalues_, self.embedding_ = values, H
        self._certify(problem, U, labels)
        self._remember(points, U, values[:k], problem.degree, graph.weight)
        self._set_own(graph, weight)
        self._scores = np.empty(n_all)
        self._scores[self.embedded_rows_] = graph.K @ graph.weight / graph.weight.sum() - self._own[self.embedded_rows_]
        self.__dict__.pop("affinity_", None)
        if self.keep_affinity:
            self.affinity_ = graph.K
        self.labels_ = np.empty(n_all, dtype=np.int64)
        self.labels_[self.embedded_rows_] = labels
        if n < n_all:
            weightless = np.setdiff1d(np.arange(n_all), self.embedded_rows_)
            self.labels_[weightless] = self._assigned(self._embedded(subset(points, weightless)))
            if not self._is_precomputed():
                self.labels_ = self._known.together(self.labels_, weight)
            self._scores[weightless] = self._scored(subset(points, weightless))
        return self

    def _new_points(self, X: Matrix) -> Any:
        """New rows of numbers with the columns of the fit, or other points as they are."""
        return finite_numbers(new_rows(self, X)) if hasattr(self, "n_features_in_") else X

    def _comparable(self, points: Any) -> Any:
        """Points in the form by which `KnownRows` recognises them."""
        return points[:, self.embedded_rows_] if self._is_precomputed() else points

    def _at_most_distinct(self, k: int | None) -> int | None:
        n, distinct = len(self.embedded_rows_), len(np.unique(self._known.group[self.embedded_rows_]))
        if k is not None and k > distinct and not self._is_precomputed():
            warn_user(
                f"n_clusters is {k}, and only {distinct} of the {n} rows are distinct: there are at "
                f"most {distinct} clusters.",
                ConvergenceWarning,
            )
            return distinct
        return k

    def _check(self) -> int | None:
        validation.choice("cut", self.cut, CUTS)
        validation.choice("assign", self.assign, ASSIGNS)
        validation.whole("n_init", self.n_init, low=1)
        validation.number("tol", self.tol, low=0.0, open_low=True)
        validation.flag("keep_affinity", self.keep_affinity)
        if self.neighbors is not None:
            validation.whole("neighbors", self.neighbors, low=1)
            if not (isinstance(self.kernel, str) and self.kernel == "rbf"):
                raise ValueError(
                    f"kernel is {self.kernel!r} and neighbors is {self.neighbors}: affinities come from one of them. "
                    "Leave kernel out for a graph of neighbours."
                )
        if isinstance(self.n_clusters, str):
            validation.choice("n_clusters", self.n_clusters, ("auto",))
            return None
        return validation.whole("n_clusters", self.n_clusters, low=1)

    def _read(self, X: Any, sample_weight: Weights) -> tuple[Any, Floats | None]:
        """Rows of numbers (an array or CSR) or other points, and their weights."""
        if isinstance(X, Rows) or self.neighbors is not None or is_table(X):
            rows = fit_rows(self, X, sample_weight)
            return finite_numbers(rows), rows.collect().weight
        error = no_table(X)
        if error is not None:
            raise error
        self.__dict__.pop("n_features_in_", None)
        return X, scan(np.zeros((len(X), 1)), sample_weight=sample_weight).collect().weight

    def _graph(self, points_or_matrix: Any, weight: Floats) -> AffinityGraph:
        """The affinities of the rows that count; sets `kernel_`."""
        self.__dict__.pop("kernel_", None)
        counted, n = self.embedded_rows_, len(self.embedded_rows_)
        if self.neighbors is not None:
            if not (weight == 1.0).all():
                raise ValueError(
                    "A graph of neighbours has no weights: repeat the rows, or use a kernel, whose affinities take "
                    "sample_weight."
                )
            if n <= self.neighbors:
                raise ValueError(
                    f"neighbors is {self.neighbors}, and there are {n} rows (n_samples = {n}): ask for at most {n - 1}."
                )
            return of_neighbors(points_or_matrix, self.neighbors)
        self.kernel_ = affinity_kernel(
            self.kernel, subset(points_or_matrix, counted) if n < len(weight) else points_or_matrix, weight[counted]
        )
        if is_matrix(self.kernel_) and points_or_matrix.shape[0] != points_or_matrix.shape[1]:
            raise ValueError(f"A matrix of affinities must be square; X has shape {points_or_matrix.shape}.")
        if self._is_precomputed():
            K = points_or_matrix if n == len(weight) else points_or_matrix[counted][:, counted]
            return of_matrix(K, weight[counted])
        points = self.kernel_.points(points_or_matrix)
        K = self.kernel_.matrix(points if n == len(weight) else points[counted])
        return of_matrix(K, weight[counted], symmetric=self.kernel_.symmetric)

    def _is_precomputed(self) -> bool:
        """Whether X is the affinity matrix itself."""
        from gramian.kernels.custom import Precomputed

        return self.neighbors is None and isinstance(self.kernel_, Precomputed)

    def _solve(self, problem: Relaxation, k: int | None, points: Any) -> tuple[Floats, Floats, Ints | None]:
        """Eigenvalues, eigenvectors (n, k), and labels where connected components are the clusters."""
        graph = problem.graph
        connected = not sp.issparse(graph.K) and float(graph.K.min()) > 0
        components = np.zeros(graph.n, dtype=np.int64) if connected else numbered(graph.parts(), graph.weight)[0]
        count = int(components.max()) + 1
        if k is not None and count > k:
            warn_user(
                f"The affinity graph is disconnected: it has {count} components, more than n_clusters = {k}, and the "
                "lighter ones were merged with others. Give a larger n_clusters, more neighbors or a longer length "
                "scale.",
                ConvergenceWarning,
            )
            self.solver_ = SolverInfo(
                "connected components", f"{count} components have no affinity between them: every cut is 0"
            )
            labels = self._joined(components, k, points)
            self.n_iter_ = 0
            return problem.shown(np.full(k, problem.top)), problem.whole(labels), labels
        n_vectors = min(graph.n, max(MAX_CLUSTERS, count) + 1) if k is None else k
        values, U, self.n_iter_ = problem.solve(components, n_vectors, self.tol)
        which = "the largest of D^-1/2 K D^-1/2" if self.cut == "normalized" else "the smallest of D - K"
        self.solver_ = SolverInfo("LAPACK" if self.n_iter_ == graph.n else "Krylov subspaces", f"eigenvectors: {which}")
        return values, U[:, : problem.number(values) if k is None else k], None

    def _joined(self, components: Ints, k: int, X: Matrix) -> Ints:
        """Components from the heaviest: those beyond k join the nearest, or without distances the first."""
        labels = np.where(components < k, components, 0)
        if self.neighbors is not None:
            light = np.flatnonzero(components >= k)
            heavy = np.flatnonzero(components < k)
            distance, neighbor = nearest(subset(X, heavy), subset(X, light), 1)
            for component in np.unique(components[light]):
                members = np.flatnonzero(components[light] == component)
                labels[light[members]] = components[heavy[neighbor[members[distance[members, 0].argmin()], 0]]]
        return labels

    def _certify(self, problem: Relaxation, U: Floats, labels: Ints) -> None:
        """The cut, its bound and the certificate, by one product with all that they need."""
        graph = problem.graph
        k, values = U.shape[1], self.eigenvalues_[: U.shape[1]]
        Z = graph.weight[:, None] * np.eye(self.n_clusters_)[labels]
        product = graph.times(np.column_stack([problem.scale * U, Z]))
        value = problem.residual(product[:, :k], U, values)
        self.cut_value_ = self.objective_ = graph.cut(labels, problem.degree, self.cut, product[:, k:])
        self.bound_ = float(max(k - values.sum(), 0.0) if self.cut == "normalized" else values.sum())
        holds = value <= self.tol and not deadline.ended()
        self.certificate_ = Certificate("eigen-residual", value, self.tol, holds, None, None, "products")
        if not holds and not deadline.ended():
            warn_user(
                f"The eigenvectors have a residual of {value:.3g} after {self.n_iter_} products, and tol is "
                f"{self.tol:.3g}: the leading eigenvalues are nearly equal. Give a larger tol, more neighbors or a "
                "longer length scale.",
                ConvergenceWarning,
            )

    def _remember(self, points_or_matrix: Any, U: Floats, values: Floats, degree: Floats, weight: Floats) -> None:
        """Keep what `predict` needs: Nyström's extension of the eigenvectors, and the training points."""
        root = np.sqrt(weight)[:, None]
        self._values, self._weights = values, weight
        self.__dict__.pop("_fit_points", None)
        if self.cut == "normalized":
            over = np.sqrt(degree)[:, None] * values
            self._coef = np.divide(root * U, over, out=np.zeros_like(U), where=np.abs(over) > 1e-300)
        else:
            self._coef = root * U
        if self.neighbors is not None:
            self._fit_points = points_or_matrix
        elif not self._is_precomputed():
            points = self.kernel_.points(points_or_matrix)
            self._fit_points = points if len(points) == len(self.embedded_rows_) else points[self.embedded_rows_]

    @single_threaded_blas()
    def predict(self, X: Table) -> Ints:
        """The cluster (n,) of each row, by Nyström's extension of the eigenvectors; rows of the fit keep theirs.

        With `kernel=Precomputed()` rows of X are affinities to the rows of the fit.
        """
        check_is_fitted(self)
        points = self._new_points(X)
        place = self._known.find(self._comparable(points))
        labels = self.labels_[place]
        if (new := np.flatnonzero(place < 0)).size:
            labels[new] = self._assigned(self._embedded(subset(points, new)))
        return labels

    @single_threaded_blas()
    def score_samples(self, X: Table) -> Floats:
        """The mean affinity of each row to the rows of the fit; with `neighbors`, −1 times the distance from the
        farthest of them. A row of the fit has no affinity to itself, and is no neighbour of its own."""
        check_is_fitted(self)
        return self._scored(self._new_points(X))

    def _scored(self, points: Any) -> Floats:
        place = self._known.find(self._comparable(points))
        if self.neighbors is not None:
            distance = nearest(self._fit_points, points, self.neighbors + 1)[0]
            return -np.where(place < 0, distance[:, -2], distance[:, -1])
        mean = self._affinities(points, self._weights[:, None])[:, 0] / self._weights.sum()
        return np.asarray(mean - np.where(place < 0, 0.0, self._own[place]))

    def _set_own(self, graph: AffinityGraph, weight: Floats) -> None:
        """The part of the mean affinity of every row of the fit that is its affinity to itself, counted once."""
        diagonal = np.zeros(len(self._known.first))
        diagonal[self._known.group[self.embedded_rows_]] = graph.K.diagonal()
        self._own = diagonal[self._known.group] * np.minimum(self._known.weight(weight), 1.0) / weight.sum()

    def _fit_scores(self) -> tuple[Floats, Floats | None]:
        if self.neighbors is not None:
            return self._scored(self._fit_points), None
        weight = np.zeros(len(self.labels_))
        weight[self.embedded_rows_] = self._weights
        return self._scores, weight

    def _affinities(self, points: Any, columns: Floats) -> Floats:
        """Affinities of new points to the rows of the fit, times columns."""
        if self._is_precomputed():
            return np.asarray(points[:, self.embedded_rows_] @ columns)
        return self.kernel_.times(self.kernel_.points(points), self._fit_points, columns)

    def _embedded(self, points: Any) -> Floats:
        """Rows of the embedding of new points."""
        columns = np.column_stack([self._coef, self._weights])
        if self.neighbors is not None:
            sums = columns[nearest(self._fit_points, points, self.neighbors)[1]].sum(axis=1)
        else:
            sums = self._affinities(points, columns)
        H, degree = sums[:, :-1], sums[:, -1:]
        if self.cut == "normalized":
            H = rows_of_unit_length(H)
        else:
            under = degree - self._values
            H = np.divide(H, under, out=np.zeros_like(H), where=np.abs(under) > 1e-300)
        return H

    def _assigned(self, H: Floats) -> Ints:
        raw = nearest_center(H, self._centers)[0] if self._rotation is None else (H @ self._rotation).argmax(axis=1)
        place = np.zeros(max(int(self._order.max()) + 1, H.shape[1]), dtype=np.int64)
        place[self._order] = np.arange(len(self._order))
        return place[raw]

    def summary(self) -> Summary:
        """Rows in each cluster, and facts of the cut."""
        check_is_fitted(self)
        rows = np.bincount(self.labels_, minlength=self.n_clusters_)
        table: dict[str, object] = {"cluster": np.arange(self.n_clusters_), "rows": rows}
        graph = repr(self.kernel_) if self.neighbors is None else f"{self.neighbors} neighbours"
        facts: dict[str, object] = {"affinity": graph, f"{self.cut}_cut": self.cut_value_, "bound": self.bound_}
        return Summary(type(self).__name__, table, facts, [str(self.certificate_)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.neighbors is None and is_matrix(self.kernel)
        return tags
