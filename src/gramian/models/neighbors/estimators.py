"""Classification and regression by the nearest rows."""

from dataclasses import KW_ONLY, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.forgetting import forget_fit
from gramian._core.fitted.time_limit import timed
from gramian._core.numerics.float_range import SAFE_EXPONENT
from gramian._core.types import Floats
from gramian.kernels.representation import Columns
from gramian.models.base.classifier import ClassifyingModel
from gramian.models.neighbors.base import NeighborsModel, NeighborsParameters
from gramian.models.neighbors.distances import exponent_of
from gramian.models.neighbors.votes import Means, Votes
from gramian.rows import Rows, scan, single_threaded_blas
from gramian.rows.feature_names import remember_columns
from gramian.statistics import Moments, Triangle


@estimator
class KNeighborsClassifier(NeighborsParameters, NeighborsModel, ClassifyingModel):
    """Classify by the votes of the nearest rows, their number chosen by leave-one-out at the cost of one search.

    P(class | x) is the share of the class in the votes of the k nearest rows. A row has one vote, or one over its
    distance, times the weight of its class. Of rows at one distance the first is a neighbour, of classes with as many
    votes the first is predicted.

    Parameters
    ----------
    cv : "loo", int, splitter or list of (train, test) pairs
        What chooses k, by the share of errors, or with `cost` by the mean cost; rows count by their class weights.
    class_weight : None, "balanced" or dict from class to weight
        What votes are multiplied by.
    cost : array (classes, classes), optional
        cost[true, decided]: `predict` gives the class of least expected cost.

    Attributes
    ----------
    n_neighbors_ : int
        k.
    classes_, class_totals_, n_features_in_, feature_names_in_
        What was given to `fit`.
    representation_ : Columns or Landmarks
        What distances are of: the columns, or features of landmark points that have the distances of the kernel.
    scores_ : NeighborScores
        Validation losses of every k tried (`neighbors`, from many to few), where k was chosen. By leave-one-out every
        row is a fold.
    certificate_ : Certificate
        Some rows searched again from all their distances: how much farther the k-th neighbour found is than the true.
    solver_ : Solver
        "brute" or "kd_tree", and why.

    Notes
    -----
    The fitted model holds the rows. A query costs O(n d): lower bounds of distances from a product in single precision,
    then distances in float64 from differences for the rows that may be nearest; or about O(log n) by a tree, where
    columns are few. Of 8192 dense rows or more, cells that are farther than the nearest found are left out.
    Choosing k asks once for the neighbours of every row; their running totals score every k.
    Blocks of queries keep memory within 64 MB a thread beside the rows.

    Weights are counts: a row of weight 2 is two neighbours at one distance, and of the last neighbour only the part
    that makes up k counts. Leave-one-out takes one of a row's counts out.

    Examples
    --------
    >>> from gramian.models.neighbors.estimators import KNeighborsClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier().fit(X, y)
    >>> print(model.scores_)
    21 neighbours by rule 'best' of 24: validation loss 0.020 ± 0.011
    """

    _: KW_ONLY
    class_weight: Any = None
    cost: Any = None
    _factors: Floats | None = field(init=False)

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "KNeighborsClassifier":
        """Keep the rows (X, y), or `Rows` with their target, and choose k."""
        forget_fit(self)
        given = self._check()
        if self.kernel is None:
            rows = self._labelled(X, y, sample_weight)
            self.representation_ = Columns.of(self)
        else:
            rows = self._coded(self._feature_rows(X, y, sample_weight, with_residual=True))
        self._learn(rows, given, self._votes)
        if self._factors is not None:
            self.class_totals_ = self.class_totals_ * self._factors
        return self

    def _class_factors(self, totals: Floats) -> Floats | None:
        # Rows count by their own weights until there are k of them: class weights multiply votes, not rows.
        self._factors = super()._class_factors(totals)
        return None

    def _votes(self, y: Floats) -> Votes:
        factors = "balanced" if isinstance(self.class_weight, str) else self._factors
        return Votes(y[:, 0].astype(np.int64), self.class_totals_, factors, self._costs())

    def _probabilities(self, rows: Rows) -> Floats:
        return Votes.answer(self._totals(rows))

    def _decisions(self, rows: Rows) -> Floats:
        shares = self._probabilities(rows)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares


@estimator
class KNeighborsRegressor(
    NeighborsParameters, NeighborsModel, Charted, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    """Predict the mean target of the nearest rows, their number chosen by leave-one-out at the cost of one search.

    f(x) = Σ v y / Σ v over the k nearest rows, with v = 1 or one over the distance. Of rows at one distance the first
    is a neighbour.

    Parameters
    ----------
    cv : "loo", int, splitter or list of (train, test) pairs
        What chooses k, by the mean squared error, averaged over targets.

    Attributes
    ----------
    n_neighbors_, representation_, scores_, certificate_, solver_, n_features_in_, feature_names_in_
        As in `KNeighborsClassifier`, whose notes on cost, ties and weights hold here too.

    Examples
    --------
    >>> from gramian.models.neighbors.estimators import KNeighborsRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KNeighborsRegressor().fit(X, y)
    >>> model.n_neighbors_, model.solver_.name, model.certificate_.value
    (18, 'brute', 0.0)
    """

    _one_target: bool = field(init=False)
    _exponent: int = field(init=False)

    @single_threaded_blas()
    @timed
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "KNeighborsRegressor":
        """Keep the rows (X, y), or `Rows` with their target, and choose k."""
        forget_fit(self)
        given = self._check()
        if self.kernel is None:
            rows = self._given(X, y, sample_weight)
            self.representation_ = Columns.of(self)
        else:
            rows = self._feature_rows(X, y, sample_weight, with_residual=True)
            rows.refuse_labels()
        self._one_target = rows.one_target
        self._learn(rows, given, self._means)
        if self._exponent and hasattr(self, "scores_"):
            with np.errstate(over="ignore", under="ignore"):
                parts = {n: np.ldexp(getattr(self.scores_, n), 2 * self._exponent) for n in ("folds", "mean", "se")}
            self.scores_ = replace(self.scores_, **parts)
        return self

    def predict(self, X: Any) -> Floats:
        """Predictions (n,), or (n, t) for several targets."""
        check_is_fitted(self)
        found = np.ldexp(Means.answer(self._totals(self._rows(X))), self._exponent)
        return found[:, 0] if self._one_target else found

    def _means(self, y: Floats) -> Means:
        exponent = exponent_of(y)
        self._exponent = exponent if abs(exponent) > SAFE_EXPONENT else 0  # so that squares stay in range
        return Means(np.ldexp(y, -self._exponent))

    def _given(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        name = type(self).__name__
        if isinstance(X, Moments | Triangle):
            raise ValueError(f"{name} needs the rows and their targets: {type(X).__name__} have only their sums.")
        if isinstance(X, Rows):
            if y is not None or sample_weight is not None:
                raise ValueError(
                    "Rows bring their own target and weights: call fit with them alone, and give y and sample_weight "
                    "to gm.scan."
                )
            if not X.target_names:
                raise ValueError("The data have no target: give y (or target=) to gm.scan.")
            rows = X
            remember_columns(self, rows.d, rows.names)
        else:
            if y is None:
                raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
            rows = scan(X, y, sample_weight=sample_weight)
            validate_data(self, X, skip_check_array=True)
            self.n_features_in_ = rows.d
        rows.refuse_labels()
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
