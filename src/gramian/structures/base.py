"""What clustering estimators share: parameters, validation, restarts, labels, scores and outliers."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.outliers import Outlying
from gramian._core.fitted.time_limit import timed
from gramian._core.random import seed_from
from gramian._core.summary import Summary
from gramian._core.types import Floats, Ints, Matrix, RandomState, Table, Tags, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.rows import Block, Rows, single_threaded_blas
from gramian.rows.feature_names import fit_rows, new_rows
from gramian.solvers.certificate import ALTERNATION, Certificate, SolverInfo
from gramian.solvers.kmeans.lloyd import EXACT, nearest_centers
from gramian.structures.components.base import Structure, dense, refuse_unusable
from gramian.structures.components.densities.covariance import units
from gramian.structures.components.densities.gaussian import column_moments
from gramian.structures.loop.alternation import LoopResult, joint_losses
from gramian.structures.loop.assignments import Assignment
from gramian.structures.loop.means import are_means, is_dense
from gramian.structures.loop.restarts import RestartSearch
from gramian.structures.loop.rounding import first_least
from gramian.structures.loop.state import LoopState
from gramian.structures.number_of_clusters import Choice, ChoiceTask, boundary_note, choose, default_criterion
from gramian.warnings import ConvergenceWarning, PrecisionWarning, warn_user


@dataclass(frozen=True)
class Composition:
    """What a clustering is made of: structures and an assignment rule."""

    structures: list[Structure]  # one for all clusters, or one for each
    rule: Assignment
    one_per_cluster: bool = False


@estimator
class ClusteringParameters:
    """The constructor parameters that clusterings share."""

    n_clusters: int | str | None = 2
    _: KW_ONLY
    init: object = "k-means++"
    n_init: int = 10
    max_iter: int = 300
    tol: float = 1e-6
    criterion: str = "auto"
    max_clusters: int = 10
    random_state: RandomState = None
    time: float | None = None


class ClusterModel(Charted, Outlying, ClusterMixin, BaseEstimator):
    """A clustering by the loop over structures; a named estimator returns its `_composition`."""

    labels_: Ints
    structures_: list[Any]
    objective_: float
    n_clusters_: int
    n_iter_: int
    history_: list[tuple[int, float, float]]
    certificate_: Certificate
    solver_: SolverInfo
    choice_: Choice
    n_features_in_: int
    n_clusters: int | str | None
    init: object
    n_init: Any
    max_iter: Any
    tol: Any
    criterion: Any
    penalty: float | str = "auto"
    max_clusters: Any
    random_state: RandomState
    time: Any
    _rule: Assignment
    _missing: bool
    _state: LoopState
    _loop_variance: float
    _scores: Floats
    _row_weight: Floats | None

    def _composition(self) -> Composition:
        raise NotImplementedError

    @single_threaded_blas()
    @timed
    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Any:
        """Fit to rows.

        Parameters
        ----------
        X : array (n, d), data frame, sparse matrix where the structures are points, or Rows
        y : ignored
        sample_weight : array (n,), optional
            Weights are counts.
        """
        composition = self._composition()
        templates, rule = composition.structures, composition.rule
        rule.check(templates)
        k = self._n_clusters(composition)
        validation.whole("n_init", self.n_init, low=1)
        validation.whole("max_iter", self.max_iter, low=1)
        validation.number("tol", self.tol, low=0.0)
        rows = self._read(X, sample_weight, templates)
        used = rows.sum(lambda block: int((block.weights > 0).sum()))
        if k is not None and k > used:
            raise ValueError(
                f"n_clusters is {k}, and X has {used} rows of positive weight (n_samples={used}): give at most "
                f"{used} clusters."
            )
        for each in templates:
            each.check(rows.d)
        self._rule = rule
        scales, variance = _column_scales(rows)
        scaled = [each.with_column_scales(scales) for each in templates]
        search = RestartSearch(
            rows, rule, variance, self.init, int(self.n_init), int(self.max_iter), float(self.tol), used,
            np.random.default_rng(seed_from(self.random_state, default=None)),
        )  # fmt: skip
        self._forget("choice_")
        if k is None:
            criterion = default_criterion(scaled[0], rule) if self.criterion == "auto" else self.criterion
            result, self.choice_ = choose(ChoiceTask(search, scaled[0], criterion, self.max_clusters, self.penalty))
            self.choice_.warn_at_boundary()
        else:
            result = search.best(scaled if composition.one_per_cluster else scaled * k)
        self._set_fit(search, result, rows)
        return self

    def _forget(self, *names: str) -> None:
        """Remove attributes of an earlier fit that this one may not have."""
        for name in names:
            self.__dict__.pop(name, None)

    def _n_clusters(self, composition: Composition) -> int | None:
        """The number of clusters, None where it is to be chosen."""
        if composition.one_per_cluster:
            k = len(composition.structures)
            if not k:
                raise ValueError("structure is an empty list; give at least one structure.")
            if self.n_clusters not in (None, k):
                raise ValueError(f"n_clusters is {self.n_clusters!r}, and {k} structures are given: leave it out.")
            return k
        if isinstance(self.n_clusters, str):
            if self.n_clusters != "auto":
                raise ValueError(f'n_clusters is {self.n_clusters!r}; it must be "auto" or a whole number.')
            return None
        return validation.whole("n_clusters", self.n_clusters, low=1)

    def _read(self, X: Table, sample_weight: Weights, templates: "list[Structure]") -> Rows:
        rows = fit_rows(self, X, sample_weight)
        self._missing = all(each.takes_missing for each in templates)
        self._refuse(rows, templates)
        return rows

    def _refuse(self, rows: Rows, structures: "list[Structure]") -> None:
        if rows.is_sparse and not all(each.takes_sparse for each in structures):
            raise TypeError(
                f"{type(self).__name__} needs dense rows, and X is a sparse matrix: only points are fitted to sparse "
                "rows. Give X.toarray()."
            )
        refuse_unusable(rows, self._missing)

    def _set_fit(self, search: RestartSearch, result: LoopResult, rows: Rows) -> None:
        """Set the fitted attributes, without structures that own no row."""
        loop, state = search.loop, result.state
        nonempty = np.unique(result.labels)
        if not self._rule.soft and len(nonempty) < len(state.structures):
            if not self._rule.competition_passes():
                warn_user(
                    f"Only {len(nonempty)} of {len(state.structures)} clusters have rows: X has fewer distinct rows "
                    "than clusters, or one structure fits the rows of several. Empty clusters are left out.",
                    ConvergenceWarning,
                )
            result.state = LoopState([state.structures[j] for j in nonempty], state.shares[nonempty], state.scale)
            result.labels = np.searchsorted(nonempty, result.labels)
        loop.certify(result)
        self._state, self._loop_variance = result.state, search.variance
        self.structures_ = result.state.structures
        if loop.scores_as_predicted:
            self.labels_, self._scores = loop.labels, loop.scores
        else:
            self.labels_, self._scores = self._labels_and_scores(rows)
        self._row_weight = np.concatenate(rows.sum(lambda block: [block.weights])) if rows.weighted else None
        self.objective_ = float(result.value)
        self.n_clusters_ = len(self.structures_)
        self.history_, self.n_iter_ = result.history, result.iterations
        tolerance = max(float(self.tol), 1e-12)
        note = self._singular_note()
        self.certificate_ = Certificate(
            ALTERNATION, result.change, tolerance, result.change <= tolerance, None, None, "rows",
            note=" ".join([note, *boundary_note(self)]).strip(), convex=False,
        )  # fmt: skip
        self.solver_ = SolverInfo(*search.solver)
        self._set_attributes()
        if note:
            warn_user(note, PrecisionWarning)
        if not self.certificate_.holds and not deadline.ended():
            warn_user(
                f"{type(self).__name__} stopped after {self.n_iter_} passes (max_iter={self.max_iter}): one more "
                f"would lower the objective by {result.change:.2g}, and tol is {tolerance:.2g}. Give a larger "
                "max_iter or tol.",
                ConvergenceWarning,
            )

    def _singular_note(self) -> str:
        """A sentence on densities whose covariance is singular."""
        singular = [j for j, each in enumerate(self.structures_) if each.n_floored_directions]
        if not singular:
            return ""
        one = len(singular) == 1
        return (
            f"The {'covariance' if one else 'covariances'} of cluster{'' if one else 's'} "
            f"{', '.join(map(str, singular))} {'is' if one else 'are'} singular; eigenvalues were raised to "
            f"{self.structures_[singular[0]].regularization:g} of the column variances. Use fewer clusters, drop "
            "constant or duplicate columns, or raise regularization."
        )

    def _set_attributes(self) -> None:
        self._forget("centers_")
        if all(each.location_attribute == "center_" for each in self.structures_):
            self.centers_ = np.array([each.location for each in self.structures_])
        if self._rule.soft:
            self.weights_ = self._state.shares

    # prediction

    def _new(self, X: Matrix) -> Rows:
        rows = new_rows(self, X)
        self._refuse(rows, self.structures_)
        return rows

    def _nearest_mean(self, X: Matrix) -> tuple[Ints, Floats] | None:
        """The nearest centre of every row and its squared distance; None where structures are not means."""
        if not are_means(self.structures_, self._rule) or not is_dense(rows := self._new(X)):
            return None
        labels, squares = nearest_centers(rows.collect().X, self.centers_)
        return labels.astype(np.int64), squares

    def _map_rows(self, X: Matrix, f: Any) -> Any:
        """f(losses (m, k), rows of the block) for every block, joined in the order of the rows."""
        return self._map_blocks(self._new(X), f)

    def _map_blocks(self, rows: Rows, f: Any) -> Any:
        def leaf(block: Block) -> list[Any]:
            X = dense(block.X)
            return [f(np.column_stack([each.loss(X) for each in self.structures_]), X)]

        return np.concatenate(rows.sum(leaf))

    def _joint_losses(self, losses: Floats) -> Floats:
        return joint_losses(losses, self._state, self.n_features_in_) if self._rule.soft else losses

    def predict(self, X: Table) -> Ints:
        """The cluster of every row: that of the nearest structure, or the most probable one."""
        check_is_fitted(self)
        if (nearest := self._nearest_mean(X)) is not None:
            return nearest[0]
        return self._map_rows(X, lambda losses, _: first_least(self._joint_losses(losses)))

    def _labels_and_scores(self, rows: Rows) -> tuple[Ints, Floats]:
        """Of the rows of the fit, by the same sums as of new ones."""

        def both(losses: Floats, _: Any) -> Floats:
            owners = first_least(self._joint_losses(losses))
            return np.column_stack([owners, self._scores_of(losses)])

        table = self._map_blocks(rows, both)
        return table[:, 0].astype(np.int64), np.ascontiguousarray(table[:, 1])

    def _scores_of(self, losses: Floats) -> Floats:
        if not self._rule.soft:
            return -losses.min(axis=1)
        from scipy.special import logsumexp

        return np.asarray(logsumexp(-self._joint_losses(losses), axis=1))

    def score_samples(self, X: Table) -> Floats:
        """How well each row fits: its log density, or −1 times its loss (the squared distance); higher is better."""
        check_is_fitted(self)
        if (nearest := self._nearest_mean(X)) is not None:
            return -nearest[1]
        return self._map_rows(X, lambda losses, _: self._scores_of(losses))

    def _responsibilities(self, X: Matrix) -> Floats:
        """Posterior probabilities (n, k) of the clusters, of soft rules."""
        check_is_fitted(self)

        def of_block(losses: Floats, _: Any) -> Floats:
            joint = -self._joint_losses(losses)
            p = np.exp(joint - joint.max(axis=1, keepdims=True))
            return p / p.sum(axis=1, keepdims=True)

        return np.asarray(self._map_rows(X, of_block))

    def score(self, X: Table, y: Values | None = None, sample_weight: Weights = None) -> float:
        """The mean of `score_samples`, weighted."""
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(np.average(self.score_samples(X), weights=weight))

    def _fit_scores(self) -> tuple[Floats, Floats | None]:
        return self._scores, self._row_weight

    def _score_rounding(self) -> float:
        if self._rule.soft or self.structures_[0].density:
            return 0.0
        return EXACT * self.structures_[0].loss_unit(self._loop_variance)

    def summary(self) -> Summary:
        """Clusters and facts of the fit, as a table."""
        check_is_fitted(self)
        weight = weights_or_ones(self._row_weight, len(self.labels_))
        table = {
            "name": np.array([f"cluster {j}" for j in range(self.n_clusters_)], dtype=object),
            "structure": np.array([type(each).__name__ for each in self.structures_], dtype=object),
            "rows": np.bincount(self.labels_, weights=weight, minlength=self.n_clusters_),
        }
        facts = {"n": float(weight.sum()), "objective": self.objective_, "passes": self.n_iter_}
        notes = [self.certificate_.note] if self.certificate_.note else []
        notes += [str(self.choice_)] if hasattr(self, "choice_") else []
        return Summary(type(self).__name__, table, facts, notes)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            templates = self._composition().structures
        except (TypeError, ValueError):  # parameters that fit will refuse
            return tags
        tags.input_tags.sparse = all(each.takes_sparse for each in templates)
        tags.input_tags.allow_nan = all(each.takes_missing for each in templates)
        return tags


class DistanceModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterModel):
    """A clustering by distances, which `transform` returns."""

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def transform(self, X: Table) -> Floats:
        """Euclidean distances to every structure, (n, k)."""
        check_is_fitted(self)
        return self._map_rows(
            X, lambda _, X: np.column_stack([np.sqrt(each._squared_distances(X)) for each in self.structures_])
        )


def _column_scales(rows: Rows) -> tuple[Floats, float]:
    """The standard deviation of every column, and the mean of their variances."""
    if rows.is_sparse:
        total = rows.sum(lambda block: float(block.weights.sum()))
        mean = rows.sum(lambda block: np.asarray(block.weights @ block.X).reshape(-1)) / total
        square = rows.sum(lambda block: np.asarray(block.weights @ block.X.multiply(block.X)).reshape(-1)) / total
        variance = np.maximum(square - mean**2, 0.0)
    else:
        _, mean, variance = column_moments(rows)
    return units(mean, variance), float(variance.mean())
