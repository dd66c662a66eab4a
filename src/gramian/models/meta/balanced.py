"""`Balanced`: any classifier fitted as if its classes were equally frequent; and what such wrappers share."""

from dataclasses import KW_ONLY, field
from typing import Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.random import MAX_SEED, seed_from
from gramian._core.types import Array, Floats, Ints, Table, Values, Weights
from gramian._core.validation import choice, number
from gramian.features.deviations import means_and_deviations
from gramian.models.meta.base import (
    Labelled,
    MetaClassifier,
    are_whole,
    fit_counted,
    inner_has,
    log_probabilities,
    plain,
    read_labelled,
    refuse_many,
    refuse_pairwise,
    row_keys,
    take,
    weight_names,
)
from gramian.rows import scan

METHODS = ("subsample", "upsample", "cost")
PRIORS = ("balanced", "training")


class ClassCounts(NamedTuple):
    """Total weight of each class, in the order of `classes_`, before and after balancing."""

    before: Floats
    after: Floats


@estimator
class Balanced(MetaClassifier):
    """Fit any classifier as if its classes were equally frequent, so that rare ones are not ignored.

    With class totals n_c (sums of weights, or numbers of rows), n = Σ n_c and k classes:

    - "subsample" keeps min n_c rows of every class, drawn without replacement;
    - "upsample" keeps all rows and adds max n_c − n_c to every class, drawn with replacement;
    - "cost" minimises Σ c_y · loss with c_y = n / (k · n_y), by weights, without randomness.

    Parameters
    ----------
    estimator : classifier
        With `fit` and `predict`, ours or any other; a pipeline too.
    method : "subsample", "upsample" or "cost"
        Subsampling is the cheapest and leaves rows out; upsampling keeps them all and works with estimators that take
        no weights; cost is the exact mean of upsampling, and needs an estimator whose `fit` takes `sample_weight`.
    jitter : float
        Upsampling only: the rows added get Gaussian noise whose standard deviation is this share of the column's.
        For columns of numbers, not for sparse tables.
    prior : "balanced" or "training"
        What probabilities and decisions are for. "balanced": equally frequent classes, so that decisions move towards
        rare ones. "training": the frequencies n_c / n of the data; the probabilities q of the balanced fit become
        p_c ∝ q_c · n_c, and decisions are by p. That serves where balancing is to save time, or a cost is put on p.
    random_state : int, RandomState, Generator or None
        For the rows drawn and their noise; None is 0.

    Attributes
    ----------
    estimator_ : classifier
        The estimator as fitted.
    classes_ : array (k,)
        The classes.
    counts_ : ClassCounts
        `.before` and `.after`, the totals of the classes.
    priors_ : array (k,)
        n_c / n.
    n_features_in_, feature_names_in_
        Of the estimator inside, where it has them.

    Notes
    -----
    Weights are counts: rows of whole weights are drawn copy by copy, as if repeated; with other weights rows are drawn
    whole, and the last one is cut so that totals are equal. Rows are drawn by their content and the seed, not by their
    place: the same rows in another order give the same sample. That costs O(n d) beside the fit. `Rows` are collected
    into memory. `decision_function` is that of the estimator inside, or log p under prior="training".

    Examples
    --------
    >>> from gramian.models.meta.balanced import Balanced
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0.0, 1.0, (990, 2)), rng.normal(1.5, 1.0, (10, 2))])
    >>> y = np.array(["common"] * 990 + ["rare"] * 10)
    >>> model = Balanced(LogisticRegression()).fit(X, y)
    >>> model.counts_
    ClassCounts(before=array([990.,  10.]), after=array([10., 10.]))
    >>> plain = LogisticRegression().fit(X, y)
    >>> int((plain.predict(X[990:]) == "rare").sum()), int((model.predict(X[990:]) == "rare").sum())
    (2, 9)
    """

    estimator: Any
    method: str = "subsample"
    _: KW_ONLY
    jitter: float = 0.0
    prior: str = "balanced"
    random_state: Any = 0

    counts_: ClassCounts = field(init=False)
    priors_: Floats = field(init=False)

    def _fit(self, X: Table, y: Values | None, sample_weight: Weights) -> Self:
        method = choice("method", self.method, METHODS)
        jitter = number("jitter", self.jitter, low=0.0)
        if jitter and method != "upsample":
            raise ValueError(f"jitter is {jitter:g}, and method is {method!r}: only 'upsample' adds rows to perturb.")
        self._refuse_estimator("predict")
        if choice("prior", self.prior, PRIORS) == "training" and not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"prior='training' corrects probabilities, and {type(self.estimator).__name__} has no predict_proba: "
                "use prior='balanced'."
            )
        seed = seed_from(self.random_state, below=MAX_SEED - 1)
        data = read_labelled(self, X, y, sample_weight)
        if method == "cost":
            after = self._fit_cost(data)
        else:
            refuse_pairwise(self, f"method={method!r} cannot draw among them")
            after = self._fit_drawn(data, method, jitter, np.random.default_rng(seed))
        order = np.searchsorted(data.classes, self.classes_)
        self.counts_ = ClassCounts(data.totals[order], after[order])
        self.priors_ = self.counts_.before / self.counts_.before.sum()
        return self

    def _fit_cost(self, data: Labelled) -> Floats:
        if not weight_names(self.estimator):
            raise ValueError(
                f"{type(self.estimator).__name__}.fit takes no sample_weight, which method='cost' needs: use "
                "method='subsample' or 'upsample'."
            )
        factors = data.totals.sum() / (len(data.totals) * data.totals)
        self.estimator_ = fit_counted(self.estimator, data.X, data.y, data.counts * factors[data.codes])
        return data.totals * factors

    def _fit_drawn(self, data: Labelled, method: str, jitter: float, rng: np.random.Generator) -> Floats:
        """Draw class by class: rows kept with their counts, and rows added with theirs."""
        weight, goal = data.counts, data.totals.min() if method == "subsample" else data.totals.max()
        whole = are_whole(weight)
        if whole and data.weight is not None:
            refuse_many(data.totals.max())
        counts = weight.copy()
        added, shares = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        keys = row_keys(data.X)
        for code, total in enumerate(data.totals):
            if total == goal:
                continue
            members = np.flatnonzero(data.codes == code)
            members = members[np.argsort(keys[members], kind="stable")]
            if method == "subsample":
                counts[members] = _without_replacement(weight[members], goal, whole, rng)
                continue
            rows, share = _with_replacement(weight[members], goal - total, whole, rng)
            if jitter:
                added.append(members[rows])
                shares.append(share)
            else:
                counts[members] += np.bincount(rows, share, len(members))
        extra, share = np.concatenate(added), np.concatenate(shares)
        after = np.bincount(data.codes, counts).astype(np.float64)
        after += np.bincount(data.codes[extra], share, len(after))
        base = np.flatnonzero(counts)
        total = np.concatenate([counts[base], share])
        if data.weight is None:  # rows, not weights, are what every estimator understands
            base, total = np.repeat(base, counts[base].astype(np.int64)), None
        index = np.concatenate([base, extra])
        X = take(data.X, index)
        if len(extra):
            X = _perturbed(X, len(extra), jitter * _deviations(data), rng)
        self.estimator_ = fit_counted(self.estimator, X, data.y[index], total)
        return after

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse &= not self.jitter
        return tags

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        check_is_fitted(self, "estimator_")
        if self.prior == "training":
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        return self.estimator_.predict(plain(X))

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (n, k), in the order of `classes_`, for classes as frequent as `prior` says."""
        check_is_fitted(self, "estimator_")
        found = self.estimator_.predict_proba(plain(X))
        if self.prior == "training":
            found = found * self.priors_
            found /= found.sum(axis=1, keepdims=True)
        return found

    @available_if(inner_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`."""
        check_is_fitted(self, "estimator_")
        found = log_probabilities(self.estimator_, plain(X))
        if self.prior == "training":
            found = found + np.log(self.priors_)
            found -= np.logaddexp.reduce(found, axis=1, keepdims=True)
        return found

    @available_if(lambda self: inner_has("predict_proba" if self.prior == "training" else "decision_function")(self))
    def decision_function(self, X: Any) -> Floats:
        """(n,) for two classes, positive for the second; (n, k) for more, the largest wins."""
        check_is_fitted(self, "estimator_")
        if self.prior == "training":
            found = self.predict_log_proba(X)
            return found[:, 1] - found[:, 0] if found.shape[1] == 2 else found
        return self.estimator_.decision_function(plain(X))


def _without_replacement(weight: Floats, goal: float, whole: bool, rng: np.random.Generator) -> Floats:
    """What is left of the rows' counts when `goal` of them are drawn."""
    if whole:
        copies = rng.choice(int(weight.sum()), int(goal), replace=False, shuffle=False)
        rows = np.searchsorted(np.cumsum(weight), copies, side="right")
        return np.bincount(rows, minlength=len(weight)).astype(np.float64)
    order = rng.permutation(len(weight))
    before = np.cumsum(weight[order]) - weight[order]
    left = np.zeros(len(weight))
    left[order] = np.clip(goal - before, 0.0, weight[order])
    return left


def _with_replacement(weight: Floats, missing: float, whole: bool, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Rows to add, and what each counts: one copy, or the mean weight; the last may count less."""
    sums = np.cumsum(weight)
    unit = 1.0 if whole else sums[-1] / len(weight)
    draws = int(np.ceil(missing / unit))
    rows = np.searchsorted(sums, rng.random(draws) * sums[-1], side="right")
    share = np.full(draws, unit)
    share[-1] = max(missing - unit * (draws - 1), 0.0)
    return np.minimum(rows, len(weight) - 1), share


def _deviations(data: Labelled) -> Floats:
    """Standard deviation of each column."""
    if sp.issparse(data.X):
        raise ValueError(
            "X is sparse, and jitter would perturb its zeros too and fill it: use jitter=0.0, or give X.toarray()."
        )
    rows = scan(data.X, sample_weight=data.weight)
    rows.refuse_nonfinite()
    return rows.sum(means_and_deviations).deviation


def _perturbed(X: Any, count: int, deviations: Floats, rng: np.random.Generator) -> Any:
    """X with noise on its last `count` rows."""
    noise = rng.standard_normal((count, len(deviations))) * deviations
    frame = nw.from_native(X, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        X = X.astype(X.dtype if X.dtype.kind == "f" else np.float64)
        X[-count:] += noise.astype(X.dtype)
        return X
    columns = []
    for j, column in enumerate(frame.iter_columns()):
        values = column.to_numpy()
        values = values.astype(values.dtype if values.dtype.kind == "f" else np.float64)
        values[-count:] += noise[:, j].astype(values.dtype)
        columns.append(nw.new_series(column.name, values, backend=frame.implementation))
    return frame.with_columns(*columns).to_native()
