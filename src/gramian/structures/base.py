"""What every estimator of clusters shares: reading rows, restarts, labels, scores and outliers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline, validation
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.outliers import Outlying
from gramian._core.fitted.time_limit import timed
from gramian._core.summary import Summary
from gramian.rows import Block, Rows, single_threaded_blas
from gramian.rows.feature_names import fit_rows, new_rows
from gramian.selection.evaluation.sample import seed_of
from gramian.solvers.certificate import ALTERNATION, Certificate, SolverInfo
from gramian.solvers.kmeans.lloyd import EXACT, nearest
from gramian.structures.components.base import dense, refuse_unusable, weights
from gramian.structures.components.covariance import units
from gramian.structures.components.gaussian import column_moments
from gramian.structures.loop.alternation import Outcome, costs
from gramian.structures.loop.assignments import Assignment
from gramian.structures.loop.means import MeansLoop, are_means, is_dense
from gramian.structures.loop.restarts import Search
from gramian.structures.loop.rounding import first_least
from gramian.structures.loop.state import State
from gramian.structures.number_of_clusters import Choice, Task, boundary_note, chosen, default_criterion
from gramian.warnings import ConvergenceWarning, PrecisionWarning, warn_user

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ClusterModel(Charted, Outlying, ClusterMixin, BaseEstimator):
    """Structures × an assignment rule, fitted by the one loop. A named estimator says which, in `_parts`."""

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
    n_clusters: Any
    init: Any
    n_init: Any
    max_iter: Any
    tol: Any
    criterion: Any
    max_clusters: Any
    random_state: Any
    time: Any

    def _parts(self) -> tuple[Any, Assignment]:
        """The structure (or a list of them), and the rule."""
        raise NotImplementedError

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Any:
        """Fit to rows.

        Parameters
        ----------
        X : array (n, d), data frame, sparse matrix where the structures are points, or Rows
        y : ignored
        sample_weight : array (n,), optional
            Weights are counts.
        """
        structure, rule = self._parts()
        templates = structure if isinstance(structure, list) else [structure]
        rule.check(templates)
        counts = self._counts(structure)
        validation.whole("n_init", self.n_init, low=1)
        validation.whole("max_iter", self.max_iter, low=1)
        validation.number("tol", self.tol, low=0.0)
        rows = self._read(X, sample_weight, templates)
        used = rows.sum(lambda block: int((weights(block) > 0).sum()))
        if counts is not None and counts > used:
            raise ValueError(
                f"n_clusters is {counts}, and X has {used} rows of positive weight (n_samples={used}): give at most "
                f"{used} clusters."
            )
        for each in templates:
            each.check(rows.d)
        self._rule = rule
        spread, variance = _spread(rows)
        prepared = [each.prepared(spread) for each in templates]
        search = Search(
            rows, rule, variance, self.init, int(self.n_init), int(self.max_iter), float(self.tol), used,
            np.random.default_rng(seed_of(self.random_state)),
        )  # fmt: skip
        if hasattr(self, "choice_"):
            del self.choice_
        if counts is None:
            criterion = default_criterion(prepared[0], rule) if self.criterion == "auto" else self.criterion
            task = Task(search, prepared[0], criterion, self.max_clusters, getattr(self, "penalty", "auto"))
            outcome, self.choice_ = chosen(task)
            self.choice_.warn_at_boundary()
        else:
            outcome = search.best(prepared if isinstance(structure, list) else prepared * counts)
        self._take(search, outcome, rows)
        return self

    def _counts(self, structure: Any) -> int | None:
        """The number of clusters, None where it is to be chosen."""
        if isinstance(structure, list):
            if not structure:
                raise ValueError("structure is an empty list; give at least one structure.")
            if self.n_clusters not in (None, len(structure)):
                raise ValueError(
                    f"n_clusters is {self.n_clusters!r}, and {len(structure)} structures are given: leave it out."
                )
            return len(structure)
        if isinstance(self.n_clusters, str):
            if self.n_clusters != "auto":
                raise ValueError(f'n_clusters is {self.n_clusters!r}; it must be "auto" or a whole number.')
            return None
        return validation.whole("n_clusters", self.n_clusters, low=1)

    def _read(self, X: Any, sample_weight: Any, templates: list[Any]) -> Rows:
        rows = fit_rows(self, X, sample_weight)
        self._missing = all(each.takes_missing for each in templates)
        self._refuse(rows, templates)
        return rows

    def _refuse(self, rows: Rows, structures: list[Any]) -> None:
        if rows.is_sparse and not all(each.takes_sparse for each in structures):
            raise TypeError(
                f"{type(self).__name__} needs dense rows, and X is a sparse matrix: only points are fitted to sparse "
                "rows. Give X.toarray()."
            )
        refuse_unusable(rows, self._missing)

    def _take(self, search: Search, outcome: Outcome, rows: Rows) -> None:
        """Keep what was found, without structures that own nothing."""
        loop = search.loop
        owned = np.unique(outcome.labels)
        if not self._rule.soft and len(owned) < len(outcome.state.structures):
            if not self._rule.opens():
                warn_user(
                    f"Only {len(owned)} of {len(outcome.state.structures)} clusters have rows: X has fewer distinct "
                    "rows than clusters, or structures that fit several at once. The others are left out.",
                    ConvergenceWarning,
                )
            state = outcome.state
            outcome.state = State([state.structures[j] for j in owned], state.shares[owned], state.scale)
            outcome.labels = np.searchsorted(owned, outcome.labels)
        loop.certify(outcome)
        self._state, self._loop_variance = outcome.state, search.variance
        self.structures_ = outcome.state.structures
        if isinstance(loop, MeansLoop):
            self.labels_, self._scores = loop.labels, loop.scores
        else:
            self.labels_, self._scores = self._labels_and_scores(rows)
        self._row_weight = np.concatenate(rows.sum(lambda block: [weights(block)])) if rows.weighted else None
        self.objective_ = float(outcome.value)
        self.n_clusters_ = len(self.structures_)
        self.history_, self.n_iter_ = outcome.history, outcome.iterations
        tolerance = max(float(self.tol), 1e-12)
        note = self._note()
        self.certificate_ = Certificate(
            ALTERNATION, outcome.change, tolerance, outcome.change <= tolerance, None, None, "rows",
            note=" ".join([note, *boundary_note(self)]).strip(), convex=False,
        )  # fmt: skip
        self.solver_ = SolverInfo(*search.solver)
        self._set_attributes()
        if note:
            warn_user(note, PrecisionWarning)
        if not self.certificate_.holds and not deadline.ended():
            warn_user(
                f"{type(self).__name__} stopped after {self.n_iter_} passes (max_iter={self.max_iter}): one more "
                f"would lower the objective by {outcome.change:.2g}, and tol is {tolerance:.2g}. Give a larger "
                "max_iter or tol.",
                ConvergenceWarning,
            )

    def _note(self) -> str:
        thin = [j for j, each in enumerate(self.structures_) if getattr(each, "regularized_", 0)]
        if not thin:
            return ""
        return (
            f"Clusters {', '.join(map(str, thin))} do not vary in some directions, where no density is likeliest: "
            f"{self.structures_[thin[0]].regularization:g} of the variances of the columns stand there. Drop constant "
            "or repeated columns, give fewer clusters or a larger regularization."
        )

    def _set_attributes(self) -> None:
        if all(hasattr(each, "center_") for each in self.structures_):
            self.centers_ = np.array([each.center_ for each in self.structures_])
        elif hasattr(self, "centers_"):
            del self.centers_
        if self._rule.soft:
            self.weights_ = self._state.shares

    # answers

    def _new(self, X: Any) -> Rows:
        rows = new_rows(self, X)
        self._refuse(rows, self.structures_)
        return rows

    def _nearest_mean(self, X: Any) -> tuple[Ints, Floats] | None:
        """The nearest centre of every row and its squared distance; None where structures are no means."""
        if not are_means(self.structures_, self._rule) or not is_dense(rows := self._new(X)):
            return None
        labels, squares = nearest(rows.collect().X, self.centers_)
        return labels.astype(np.int64), squares

    def _each(self, X: Any, f: Any) -> Any:
        """f(losses (m, k), rows of the block) for every block, joined in the order of the rows."""
        return self._each_of(self._new(X), f)

    def _each_of(self, rows: Rows, f: Any) -> Any:
        def leaf(block: Block) -> list[Any]:
            given = dense(block.X)
            return [f(np.column_stack([each.loss(given) for each in self.structures_]), given)]

        return np.concatenate(rows.sum(leaf))

    def _costs(self, losses: Floats) -> Floats:
        return costs(losses, self._state, self.n_features_in_) if self._rule.soft else losses

    def predict(self, X: Any) -> Ints:
        """The cluster of every row: of the nearest structure, or the likeliest."""
        check_is_fitted(self)
        if (found := self._nearest_mean(X)) is not None:
            return found[0]
        return self._each(X, lambda losses, _: first_least(self._costs(losses)))

    def _labels_and_scores(self, rows: Rows) -> tuple[Ints, Floats]:
        """Of the rows of the fit, by the same sums as of new ones."""

        def both(losses: Floats, _: Any) -> Floats:
            owners = first_least(self._costs(losses))
            return np.column_stack([owners, self._fits(losses)])

        found = self._each_of(rows, both)
        return found[:, 0].astype(np.int64), np.ascontiguousarray(found[:, 1])

    def _fits(self, losses: Floats) -> Floats:
        if not self._rule.soft:
            return -losses.min(axis=1)
        from scipy.special import logsumexp

        return np.asarray(logsumexp(-self._costs(losses), axis=1))

    def score_samples(self, X: Any) -> Floats:
        """How well each row fits: its log density, or −1 times its loss (the squared distance); higher is better."""
        check_is_fitted(self)
        if (found := self._nearest_mean(X)) is not None:
            return -found[1]
        return self._each(X, lambda losses, _: self._fits(losses))

    def _responsibilities(self, X: Any) -> Floats:
        """Shares of the clusters in each row, (n, k), where rows are shared."""
        check_is_fitted(self)

        def of_block(losses: Floats, _: Any) -> Floats:
            joint = -self._costs(losses)
            p = np.exp(joint - joint.max(axis=1, keepdims=True))
            return p / p.sum(axis=1, keepdims=True)

        return np.asarray(self._each(X, of_block))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of `score_samples`, weighted."""
        found = self.score_samples(X)
        return float(np.average(found, weights=sample_weight))

    def _fit_scores(self) -> tuple[Floats, Floats | None]:
        return self._scores, self._row_weight

    def _score_rounding(self) -> float:
        if self._rule.soft or self.structures_[0].density or not hasattr(self, "_loop_variance"):
            return 0.0
        return EXACT * float(self._loop_variance ** (0.5 * self.structures_[0].power))

    def summary(self) -> Summary:
        """Clusters and facts of the fit, as a table."""
        check_is_fitted(self)
        weight = np.ones(len(self.labels_)) if self._row_weight is None else self._row_weight
        table = {
            "name": np.array([f"cluster {j}" for j in range(self.n_clusters_)], dtype=object),
            "structure": np.array([type(each).__name__ for each in self.structures_], dtype=object),
            "rows": np.bincount(self.labels_, weights=weight, minlength=self.n_clusters_),
        }
        facts = {"n": float(weight.sum()), "objective": self.objective_, "passes": self.n_iter_}
        notes = [self.certificate_.note] if self.certificate_.note else []
        notes += [str(self.choice_)] if hasattr(self, "choice_") else []
        return Summary(type(self).__name__, table, facts, notes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            structure, _ = self._parts()
        except (TypeError, ValueError):  # parameters that fit will refuse
            return tags
        templates = structure if isinstance(structure, list) else [structure]
        tags.input_tags.sparse = all(each.takes_sparse for each in templates)
        tags.input_tags.allow_nan = all(each.takes_missing for each in templates)
        return tags


class DistanceModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterModel):
    """Clusters by distances, which `transform` gives."""

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def transform(self, X: Any) -> Floats:
        """Euclidean distances to every structure, (n, k)."""
        check_is_fitted(self)
        return self._each(X, lambda _, X: np.column_stack([np.sqrt(each._squares(X)) for each in self.structures_]))


def _spread(rows: Rows) -> tuple[Floats, float]:
    """The standard deviation of every column, and the mean of their squares."""
    if rows.is_sparse:
        total = rows.sum(lambda block: float(weights(block).sum()))
        mean = rows.sum(lambda block: np.asarray(weights(block) @ block.X).reshape(-1)) / total
        square = rows.sum(lambda block: np.asarray(weights(block) @ block.X.multiply(block.X)).reshape(-1)) / total
        variance = np.maximum(square - mean**2, 0.0)
    else:
        _, mean, variance = column_moments(rows)
    return units(mean, variance), float(variance.mean())
