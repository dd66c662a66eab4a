"""Best subset of features for least squares, exactly."""

from dataclasses import KW_ONLY, dataclass, field, replace
from math import comb
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian._core import deadline
from gramian._core.estimator import estimator
from gramian._core.fitted.charted import Charted
from gramian._core.fitted.time_limit import timed
from gramian._core.types import CV, Bools, Floats, Ints, Table, Tags, Values, Weights
from gramian._core.validation import flag
from gramian.rows import Block, Rows, parallel_map, scan, single_threaded_blas
from gramian.selection.cv.scores import scores_of
from gramian.selection.cv.splits import plan
from gramian.selection.cv.strategies.fold_moments import FoldMoments
from gramian.selection.features.input import FeatureColumns, feature_count, fold_moments, read, refuse_more
from gramian.selection.features.leaps import best_subsets
from gramian.solvers.certificate import Certificate, SolverInfo
from gramian.solvers.least_squares.closed_form import confirmed, solve
from gramian.solvers.least_squares.factor import Factor, factor_of_quadratic, quadratic
from gramian.statistics import Moments
from gramian.statistics.products import block_moments
from gramian.warnings import warn_user

MOST_COLUMNS = 30
LIFT = 3e-7  # of the diagonal of the triangle: its square is below what makes a column dependent
MOST_NODES = 250_000  # nodes of dependent columns, which no bound can cut, that "auto" is willing to visit


@dataclass(frozen=True, eq=False)
class SubsetPath:
    """The best subset of every size.

    Attributes
    ----------
    sizes : array (S,)
        0, 1, 2, …
    supports : array of bool (S, d)
        The columns of the best subset of each size, on all rows.
    rss : array (S,)
        Its residual sum of squares Σ w r².
    folds : array (S, K), or None with a given size
        Validation mean squared error of each fold, with the best subsets of its own training rows.
    mean, se : array (S,), or None
        Mean over the folds and its standard error.
    """

    sizes: Ints
    supports: Bools
    rss: Floats
    folds: Floats | None = None
    mean: Floats | None = None
    se: Floats | None = None


@estimator
class BestSubset(Charted, RegressorMixin, SelectorMixin, BaseEstimator):
    """Least squares on the subset of features with the smallest residual, exactly: the L0 problem, up to 30 features.

    minimise Σ w (y − b − cᵀx)² over c with at most k non-zero entries, for every k.

    Parameters
    ----------
    n_features : "auto" or int
        The size k. "auto" chooses it by cross-validation: each fold takes the best subsets of its own training rows,
        and the size (of at least 1) with the smallest mean validation error wins.
    cv : int, "loo", splitter or list of (train, test) pairs
        The folds, for "auto".
    fit_intercept : bool
        Whether to fit b.
    time : float, optional
        Seconds after which the search ends with the best subsets found so far, with a `ConvergenceWarning` and a
        certificate that does not hold.

    Attributes
    ----------
    support_ : array of bool (d,)
        Which features are selected.
    coef_ : array (d,)
        Coefficients, zero outside the support.
    intercept_ : float
    path_ : SubsetPath
        `.sizes`, `.supports`, `.rss`, `.folds`, `.mean`, `.se`, from size 0 (the mean alone) on.
    n_features_ : int
        How many are selected.
    certificate_, solver_
        Of the least-squares fit on the support.
    n_features_in_, feature_names_in_
        What was given to `fit`.

    Notes
    -----
    One pass for moments, O(n d²), then leaps and bounds over the 2^d subsets: typically thousands of nodes, a tenth of
    a second for d = 30. A given size needs no folds, and moments alone suffice; sizes up to it are searched. Where
    columns are dependent no bound holds until enough of them are left out: "auto" then searches the sizes it can
    search exactly in about a second, and `path_.sizes` says which.

    Examples
    --------
    >>> import gramian as gm
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((100, 8))
    >>> y = X[:, 2] - 2.0 * X[:, 5] + 0.01 * X[:, 7] ** 2
    >>> model = gm.selection.BestSubset(2).fit(X, y)
    >>> np.flatnonzero(model.support_), model.coef_[[2, 5]].round(2)
    (array([2, 5]), array([ 1., -2.]))
    """

    n_features: int | str = "auto"
    _: KW_ONLY
    cv: CV = 5
    fit_intercept: bool = True
    time: float | None = None

    support_: Bools = field(init=False)
    coef_: Floats = field(init=False)
    intercept_: float = field(init=False)
    path_: SubsetPath = field(init=False)
    n_features_: int = field(init=False)
    certificate_: Certificate = field(init=False)
    solver_: SolverInfo = field(init=False)
    n_features_in_: int = field(init=False)

    @single_threaded_blas()
    @timed
    def fit(self, X: Table, y: Values | None = None, *, sample_weight: Weights = None) -> Self:
        """Find the subset, and fit least squares on it.

        Parameters
        ----------
        X : array, data frame, sparse matrix, Rows or, with a given size, Moments
        y : array (n,)
            Target; None if X brings it.
        sample_weight : array (n,), optional
            Weights of the rows.
        """
        n_features = feature_count(self.n_features)
        flag("fit_intercept", self.fit_intercept)
        data = read(self, X, y, sample_weight)
        self._refuse(data, n_features)
        if n_features is None:
            assert isinstance(data, Rows)
            total, n_features = self._choose(data)
        else:
            total = data if isinstance(data, Moments) else data.sum(block_moments(data))
            self.path_ = SubsetPath(np.arange(n_features + 1), *_subsets(total, n_features, self.fit_intercept))
        self.support_ = self.path_.supports[n_features]
        self.n_features_ = n_features
        columns = np.flatnonzero(self.support_)
        part = total.select(columns)
        solution = solve(
            part if isinstance(data, Moments) else FeatureColumns(data, columns),
            intercept=self.fit_intercept,
            moments=part,
        )
        self.coef_ = np.zeros(data.d)
        self.coef_[columns] = solution.coef[:, 0]
        self.intercept_ = float(solution.intercept[0])
        self.certificate_ = confirmed(solution.certificate, self.coef_, self.intercept_)
        if deadline.ended():  # not every subset was visited
            self.certificate_ = replace(self.certificate_, holds=False)
        self.solver_ = solution.solver
        return self

    def _refuse(self, data: Rows | Moments, n_features: int | None) -> None:
        if isinstance(data, Moments) and n_features is None:
            raise ValueError(
                'BestSubset(n_features="auto") cannot be fitted from Moments alone: the cross-validation needs the '
                "folds. Give n_features as a number, or the data."
            )
        if len(data.target_names) > 1:
            raise ValueError(f"BestSubset has one target, and y has {len(data.target_names)}: fit one model for each.")
        if data.d > MOST_COLUMNS:
            raise ValueError(
                f"BestSubset searches at most {MOST_COLUMNS} features exactly, and the data have {data.d}. For more "
                "use gm.selection.GreedySelector(gm.LinearRegression()), or gm.Lasso."
            )
        refuse_more(n_features, data.d)
        if not data.one_target:
            warn_user(
                "A column-vector y was passed when a 1d array was expected: its one column is used.",
                DataConversionWarning,
            )

    def _choose(self, rows: Rows) -> tuple[Moments, int]:
        """The moments of all rows, and the size with the smallest validation error."""
        plans = plan(self.cv, rows)
        sums = fold_moments(rows, plans)
        most = self._most(sums)
        sizes = np.arange(most + 1)
        folds = sums.losses(parallel_map(self._path(most), [train for train, _ in sums.splits]))
        scores = scores_of(sizes.astype(np.float64), folds, "best", sums.weights)
        self.path_ = SubsetPath(sizes, *_subsets(sums.total, most, self.fit_intercept), folds, scores.mean, scores.se)
        return sums.total, 1 + int(np.argmin(scores.mean[1:]))

    def _most(self, sums: FoldMoments) -> int:
        """The largest size that is searched: all, or fewer where many columns are dependent."""
        d = sums.total.d
        parts = [sums.total, *(train for train, _ in sums.splits)]
        spare = d - min(_factor(part, self.fit_intercept).rank for part in parts)
        if not spare:
            return d
        return max(size for size in range(1, d + 1) if size == 1 or comb(size + spare, spare - 1) <= MOST_NODES)

    def _path(self, most: int) -> Any:
        def path(train: Moments) -> tuple[Floats, Floats]:
            supports, _ = _subsets(train, most, self.fit_intercept)
            mean = train.mean if self.fit_intercept else np.zeros(train.d + 1)
            coefs = np.zeros((most + 1, train.d, 1))
            for size in range(1, most + 1):
                columns = np.flatnonzero(supports[size])
                coefs[size, columns] = _factor(train.select(columns), self.fit_intercept).solve()
            return coefs, mean[train.d :] - np.einsum("d,adt->at", mean[: train.d], coefs)

        return path

    def predict(self, X: Table) -> Floats:
        """Predictions (n,)."""
        check_is_fitted(self)
        rows = scan(X)
        if isinstance(X, Rows):
            if rows.d != self.n_features_in_:
                raise ValueError(
                    f"X has {rows.d} features, but BestSubset is expecting {self.n_features_in_} features as input."
                )
        else:
            validate_data(self, X, skip_check_array=True, reset=False)
        predictions = np.concatenate(rows.sum(self._products)) + self.intercept_
        if not np.isfinite(predictions).all():
            rows.refuse_nonfinite()
        return predictions

    def _products(self, block: Block) -> list[Floats]:
        X = block.X if block.X.dtype == np.float64 else block.X.astype(np.float64)
        with np.errstate(invalid="ignore"):  # what is not finite is named later
            return [np.asarray(X @ self.coef_)]

    def _get_support_mask(self) -> Bools:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _factor(moments: Moments, intercept: bool) -> Factor:
    return factor_of_quadratic(quadratic(moments, intercept=intercept))


def _subsets(moments: Moments, most: int, intercept: bool) -> tuple[Bools, Floats]:
    """Supports (most + 1, d) of the best subsets by size, and their residual sums of squares."""
    d = moments.d
    factor = _factor(moments, intercept)
    # A small multiple of the identity below the triangle keeps dependent columns apart without moving any residual.
    table = np.zeros((2 * d, d + 1))
    table[:d, :d], table[:d, d] = factor.R, factor.C[:, 0]
    table[d:, :d] = LIFT * np.eye(d)
    triangle: Floats = np.asarray(np.linalg.qr(table, mode="r"))
    rest = float(factor.rest[0, 0] + triangle[d, d] ** 2)
    _, sets = best_subsets(np.ascontiguousarray(triangle[:d, :d]), np.ascontiguousarray(triangle[:d, d]), rest, most)
    supports = (sets[:, None] >> np.arange(d)[None, :]) & 1 == 1
    rss = np.empty(most + 1)
    for size in range(most + 1):
        columns = np.flatnonzero(supports[size])
        part = factor if size == d else _factor(moments.select(columns), intercept)
        with np.errstate(over="ignore"):
            rss[size] = np.ldexp(part.rest[0, 0], 2 * int(part.y[0]))
    return supports, rss
