"""Greedy selection of features: one at a time in, or out, by cross-validation."""

from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted

from gramian._core import deadline, validation
from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.types import CV, Array, Bools, Estimator, Floats, Ints, Table, Tags, Values, Weights
from gramian.rows import Rows, single_threaded_blas
from gramian.selection.cv.scores import scores_of
from gramian.selection.cv.splits import Plan, fold_weights, plan
from gramian.selection.features.input import feature_count, fold_moments, read, refuse_more
from gramian.selection.features.refits import CandidateRefits
from gramian.selection.features.sweep import Backward, Forward, products
from gramian.statistics import Moments, Triangle
from gramian.warnings import ConvergenceWarning, warn_user

DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True, eq=False)
class GreedyPath:
    """The sets that a greedy selection went through, and their validation losses; lower is better.

    Attributes
    ----------
    features : list of arrays of int
        The set at the start (none, or all) and after each step; with `n_features="auto"` the last one may be the step
        that made the loss worse and was taken back.
    sizes : array (steps,)
        Numbers of features.
    folds : array (steps, K)
        Mean validation loss of each fold.
    mean, se : array (steps,)
        Mean over the folds and its standard error.
    """

    features: list[Ints]
    sizes: Ints
    folds: Floats
    mean: Floats
    se: Floats


class _Judge(Protocol):
    """What a greedy walk asks: the losses of the set as it is, and of its neighbours (None once the time is over)."""

    unit: int
    rounding: Floats

    def start(self) -> Floats: ...
    def idle(self) -> Bools: ...
    def losses(self, candidates: Ints) -> Floats | None: ...
    def take(self, j: int) -> None: ...


@estimator
class GreedySelector(Charted, SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select features one at a time by cross-validation, forward from none or backward from all.

    L(S) is the cross-validated loss of the estimator on the features S. Forward, each step adds argmin_j L(S ∪ {j});
    backward, each removes argmin_j L(S ∖ {j}). With "auto" the first step is always made, and the selection ends before
    the step that makes L worse.

    Parameters
    ----------
    estimator : estimator
        A regressor (loss: mean squared error, averaged over targets) or classifier (loss: share of errors).
    direction : "forward" or "backward"
        Forward is faster if few features matter; backward sees features that matter only together.
    n_features : "auto" or int
        How many to select; "auto" stops as above.
    cv : int, "loo", splitter or list of (train, test) pairs
        The folds. The loss of a set is the mean over the folds.
    time : float, optional
        Seconds after which no further step is made: what is selected by then stays, with a `ConvergenceWarning`.

    Attributes
    ----------
    support_ : array of bool (d,)
        Which features are selected.
    order_ : array of int
        Features in the order in which they entered, or left when backward.
    path_ : GreedyPath
        `.features`, `.sizes`, `.folds`, `.mean`, `.se` of the start and of every step, the last one tried included.
    n_features_ : int
        How many are selected.
    n_features_in_, feature_names_in_
        What was given to `fit`.

    Notes
    -----
    Our least squares, and ridge with a given alpha, are never fitted: one pass for the moments of the folds, O(n d²),
    then an elimination of O(d²) per step and fold gives the losses of all candidates in closed form. Backward begins
    with O(d³) per fold. Any other estimator is fitted once per step, candidate and fold. Of equal losses the lowest
    index wins. In least squares, columns that depend on others add nothing: they end a forward selection, and are the
    first to leave a backward one. Where nothing helps, a backward selection may end with no feature at all.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((200, 6))
    >>> y = 3.0 * X[:, 4] - 2.0 * X[:, 1] + 0.1 * X[:, 0] ** 2
    >>> selector = gm.selection.GreedySelector(gm.LinearRegression(), n_features=2).fit(X, y)
    >>> selector.order_
    array([4, 1])
    >>> selector.transform(X).shape
    (200, 2)
    """

    estimator: Estimator
    _: KW_ONLY
    direction: str = "forward"
    n_features: int | str = "auto"
    cv: CV = 5
    time: float | None = None

    support_: Bools = field(init=False)
    order_: Ints = field(init=False)
    path_: GreedyPath = field(init=False)
    n_features_: int = field(init=False)
    n_features_in_: int = field(init=False)

    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Self:
        """Select features for the prediction of y.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Rows
        y : array (n,) or (n, t)
            Target; None if X are `Rows`.
        sample_weight : array (n,), optional
            Weights of the rows, in the fits and in the losses.
        """
        if not isinstance(self.direction, str) or self.direction not in DIRECTIONS:
            raise ValueError(f'direction is {self.direction!r}; it must be "forward" or "backward".')
        n_features = feature_count(self.n_features)
        seconds = None if self.time is None else validation.number("time", self.time, low=0.0, open_low=True)
        if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")):
            raise TypeError(f"estimator is {self.estimator!r}; it must be an object with fit and predict.")
        alpha = getattr(self.estimator, "_ridge_alpha", lambda: None)()
        if alpha is not None and not 0.0 <= alpha < np.inf:
            raise ValueError(f"alpha of {self.estimator!r} is {alpha!r}; it must be a number of at least 0.")
        if isinstance(X, Moments | Triangle):
            raise ValueError(
                f"GreedySelector cannot be fitted from {type(X).__name__} alone: total sums do not hold the folds of a "
                "cross-validation. Give the data, or gm.scan of them."
            )
        labels = None
        if is_classifier(self.estimator) and y is not None:
            labels = column_or_1d(y, warn=True)
            y = _codes(labels)
        rows = read(self, X, y, sample_weight)
        assert isinstance(rows, Rows)
        refuse_more(n_features, rows.d)
        with ExitStack() as within:
            limit = within.enter_context(deadline.within(seconds))
            if alpha is not None:
                within.enter_context(single_threaded_blas())
            plans = plan(self.cv, rows)
            judge = self._refits(rows, labels, plans) if alpha is None else self._sweep(rows, alpha, plans)
            weights = fold_weights(plans, rows)
            self._walk(judge, n_features, None if weights is None else weights[weights > 0])
        if seconds is not None and limit.ended:
            warn_user(
                f"GreedySelector was ended by time={seconds:g} after {len(self.order_)} steps, with "
                f"{self.n_features_} of {rows.d} features selected. To go on, raise time.",
                ConvergenceWarning,
            )
        return self

    def _sweep(self, rows: Rows, alpha: float, plans: list[Plan]) -> _Judge:
        """Losses from moments, without refits."""
        splits = fold_moments(rows, plans).splits
        sums = products(splits, alpha=alpha, intercept=bool(self.estimator.fit_intercept))
        return Forward(sums) if self.direction == "forward" else Backward(sums)

    def _refits(self, rows: Rows, labels: Array | None, plans: list[Plan]) -> _Judge:
        """Losses of an estimator that must be fitted."""
        if not get_tags(self.estimator).input_tags.allow_nan:
            rows.refuse_nonfinite()
        if labels is None:
            y = rows.collect().y
            assert y is not None
            labels = y[:, 0] if rows.one_target else y
        return CandidateRefits(self.estimator, rows, labels, plans, forward=self.direction == "forward")

    def _walk(self, judge: _Judge, n_features: int | None, weights: Floats | None) -> None:
        forward = self.direction == "forward"
        inside = np.full(self.n_features_in_, not forward)
        features, folds, order = [np.flatnonzero(inside)], [judge.start()], []
        noise = float(np.average(judge.rounding, weights=weights))
        previous = np.inf
        while (
            (movable := np.flatnonzero(inside != forward)).size and inside.sum() != n_features and not deadline.passed()
        ):
            idle = judge.idle()
            if not forward and idle.any():
                movable = np.flatnonzero(idle)
            table = judge.losses(movable)
            if table is None:
                break
            means = np.average(table, axis=0, weights=weights)
            best = int(np.argmax(means <= means.min() + noise))  # of those that are equal to rounding, the first
            j, loss = int(movable[best]), float(means[best])
            inside[j] = forward
            features.append(np.flatnonzero(inside))
            folds.append(table[:, best])
            worse = idle[j] or loss > previous - noise if forward else not idle[j] and loss > previous + noise
            if n_features is None and worse and np.isfinite(previous):
                inside[j] = not forward
                break
            judge.take(j)
            order.append(j)
            previous = loss
        self.support_ = inside
        self.order_ = np.array(order, dtype=np.int64)
        self.n_features_ = int(inside.sum())
        sizes = np.array([len(part) for part in features])
        scores = scores_of(sizes.astype(np.float64), np.array(folds), "best", weights)
        with np.errstate(over="ignore"):
            losses = [np.ldexp(values, 2 * judge.unit) for values in (scores.folds, scores.mean, scores.se)]
        self.path_ = GreedyPath(features, sizes, *losses)

    def _get_support_mask(self) -> Bools:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.target_tags.required = True
        tags.target_tags.multi_output = inner.target_tags.multi_output
        return tags


def _codes(labels: Array) -> Ints:
    """Classes as numbers, in the order of their names."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity (inf): a class label is missing. Drop those rows.")
    return np.unique(labels, return_inverse=True)[1]
