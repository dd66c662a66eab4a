"""`TunedThreshold`: any classifier with its decision threshold moved to where an objective is best."""

import inspect
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._core.estimator import estimator
from gramian._core.random import MAX_SEED, seed_from
from gramian._core.types import Array, Bools, Floats, Ints, Table, Values, Weights
from gramian._core.validation import flag
from gramian.models.meta.base import (
    Labelled,
    MetaClassifier,
    fit_counted,
    inner_has,
    log_probabilities,
    plain,
    read_labelled,
    take,
)
from gramian.models.meta.threshold_search import Objective, ThresholdScorer, beside, one_threshold, parsed, thresholds
from gramian.rows import CountedFolds, scan
from gramian.selection.cv.splits import plan


@estimator
class TunedThreshold(MetaClassifier):
    """Decide by the threshold at which an objective is best, found along the whole precision-recall or ROC curve.

    Two classes: a row is predicted positive where score(x) > τ, the score being `predict_proba` of the positive class,
    or `decision_function` where there are no probabilities. More classes: argmax_j p_j(x) / τ_j, or score_j(x) − τ_j.
    The scores come from cross-validation, so that τ is chosen on rows that the scoring model has not seen.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba` or `decision_function`, ours or any other; a pipeline too.
    objective : str, tuple or function
        "f1", "precision", "recall", "accuracy", "balanced_accuracy", "matthews", "youden" (tpr − fpr) are maximised,
        "fpr", "zero_one" and "cost" minimised. A tuple adds constraints: ("precision", "recall>=0.9") is the best
        precision where recall is at least 0.9. A function f(y, predicted) is maximised, over at most 1000 thresholds,
        or 200/k (at least 20) of each of k classes in turn; with weights it is given `sample_weight` too. Metrics of
        one class are those of the positive class; with more than two classes, means over classes.
    cost : array (k, k), optional
        For objective="cost": cost[true, decided], in the order of `classes_`. Its mean over rows is minimised.
    cv : int, "loo", splitter, list of (train, test) pairs, or "prefit"
        Number of folds, stratified; "prefit": `estimator` is fitted already, and the data of `fit` only tune.
    positive : label, optional
        Of two classes the positive one; the second by default.
    refit : bool
        True: `estimator_` is fitted to all rows. False: it is the model of the only split that cv makes. With
        cv="prefit" nothing is fitted, whichever it is.
    random_state : int, RandomState, Generator or None
        For the folds of an int `cv`; None is 0.

    Attributes
    ----------
    threshold_ : float, or array (k,)
        τ. For two classes half way between two neighbouring scores, or ±inf where all rows are predicted alike. For
        more, τ of probabilities adds up to 1, so that 1/k everywhere is the usual decision; τ of other scores has mean
        0.
    score_ : float
        The objective of the out-of-fold decisions at `threshold_`; for "cost" the mean cost per row.
    curve_ : ThresholdCurve, or tuple of k
        Objective, recall, precision and fpr at all thresholds; with more than two classes one curve each, along which
        the other thresholds stay. Where the objective is a function, at the thresholds tried.
    response_ : "predict_proba" or "decision_function"
        What the thresholds are for.
    estimator_ : classifier
        The estimator as fitted.
    classes_ : array (k,)
        The classes.
    n_features_in_, feature_names_in_
        Of the estimator inside, where it has them.

    Notes
    -----
    For two classes the best of all thresholds is found exactly, from cumulative counts over the sorted scores,
    O(n log n) beside the fits. Of equally good ones the largest tpr − fpr wins, then the highest. For k classes the
    thresholds are improved one after another, each exactly, O(k n (k + log n)) a round, from equal thresholds and from
    the frequencies of the classes; the better end is taken, which need not be the best of all.
    Scores of all folds are pooled. `predict` follows the threshold, and so does `decision_function`: score − τ for two
    classes, above 0 for the second; p_j / τ_j or score_j − τ_j for more. `predict_proba` is untouched.

    Examples
    --------
    >>> from gramian.models.meta.threshold import TunedThreshold
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0.0, 1.0, (950, 2)), rng.normal(1.5, 1.0, (50, 2))])
    >>> y = np.repeat([0, 1], [950, 50])
    >>> model = TunedThreshold(LogisticRegression(), ("precision", "recall>=0.8")).fit(X, y)
    >>> bool(model.threshold_ < 0.5), bool((model.predict(X) == 1)[y == 1].mean() > 0.75)
    (True, True)
    """

    estimator: Any
    objective: Any = "f1"
    _: KW_ONLY
    cost: Any = None
    cv: Any = 5
    positive: Any = None
    refit: bool = True
    random_state: Any = 0

    threshold_: Any = field(init=False)
    score_: float = field(init=False)
    curve_: Any = field(init=False)
    response_: str = field(init=False)

    def _fit(self, X: Table, y: Values | None, sample_weight: Weights) -> Self:
        self._refuse_estimator("predict_proba", "decision_function")
        refit, seed = flag("refit", self.refit), seed_from(self.random_state, below=MAX_SEED - 1)
        goal, constraints = parsed(self.objective, self.cost)
        data = read_labelled(self, X, y, sample_weight)
        prefit = isinstance(self.cv, str) and self.cv == "prefit"
        classes = self._known_classes(data) if prefit else data.classes
        objective = Objective(goal, constraints, _costs(self.cost, classes))
        positive = self._place_of_positive(classes)
        _refuse_unweighted(goal, data)
        if prefit:
            model, rows = self.estimator, np.arange(len(data.y))
            response = _response(model)
            scores = _scores(model, response, data.X, classes, positive)
        else:
            model, response, rows, scores = self._out_of_fold(data, positive, seed, refit)
        in_order = np.argsort(classes)
        codes = in_order[np.searchsorted(classes[in_order], data.y[rows])]
        scorer = ThresholdScorer(classes, codes, data.counts[rows], data.weight is not None, positive, objective)
        tuned = one_threshold(scorer, scores) if scores.ndim == 1 else thresholds(scorer, scores, response)
        self.threshold_, self.score_, self.curve_ = tuned
        self.estimator_, self.response_ = model, response
        return self

    def _known_classes(self, data: Labelled) -> Array:
        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            raise NotFittedError(
                f"cv='prefit' needs a fitted estimator, and this {type(self.estimator).__name__} is not: fit it first "
                "(and wrap it in sklearn.frozen.FrozenEstimator where it is cloned), or give a number of folds."
            ) from None
        classes = np.asarray(self.estimator.classes_)
        for name in np.setdiff1d(data.classes, classes).tolist()[:1]:
            raise ValueError(f"y holds the class {name!r}, which the fitted estimator does not know.")
        for name in np.setdiff1d(classes, data.classes).tolist()[:1]:
            raise ValueError(f"The estimator knows the class {name!r}, and y has no row of it: tune on all classes.")
        return classes

    def _place_of_positive(self, classes: Array) -> int | None:
        known = classes.tolist()
        if self.positive is None:
            return 1 if len(known) == 2 else None
        if len(known) > 2:
            raise ValueError(
                f"positive is {self.positive!r}, and y has {len(known)} classes: it is for two. With more, each class "
                "gets its threshold, and metrics are means over the classes."
            )
        if isinstance(self.positive, np.ndarray) or self.positive not in known:
            raise ValueError(f"positive is {self.positive!r}, which is not a class; the classes are {known}.")
        return known.index(self.positive)

    def _out_of_fold(
        self, data: Labelled, positive: int | None, seed: int, refit: bool
    ) -> tuple[Any, str, Ints, Floats]:
        """The final model, what scores, the rows scored (once for every split that tests them), and their scores."""
        splits = _splits(self.cv, data, seed)
        if not refit and len(splits) > 1:
            raise ValueError(
                f"refit=False keeps the model of the only split, and cv makes {len(splits)}: use refit=True, one split "
                "such as ShuffleSplit(1), or cv='prefit'."
            )
        pairwise = get_tags(self.estimator).input_tags.pairwise
        scores = []
        for number, (train, test) in enumerate(splits):
            _refuse_absent(data, train, f"The training part of split {number} of cv")
            seen, new = (take(data.X, part)[:, train] if pairwise else take(data.X, part) for part in (train, test))
            model = fit_counted(
                self.estimator, seen, data.y[train], None if data.weight is None else data.weight[train]
            )
            response = _response(model)
            scores.append(_scores(model, response, new, data.classes, positive))
        rows = np.concatenate([test for _, test in splits])
        _refuse_absent(data, rows, "What the splits of cv test")
        if refit:
            model = fit_counted(self.estimator, data.X, data.y, data.weight)
        return model, response, rows, np.concatenate(scores)

    def decision_function(self, X: Any) -> Floats:
        """(n,) for two classes, above 0 for the second; (n, k) for more, the largest wins. Follows the threshold."""
        check_is_fitted(self, "estimator_")
        positive = self._place_of_positive(self.classes_)
        scores = _scores(self.estimator_, self.response_, plain(X), self.classes_, positive)
        found = beside(scores, self.threshold_, self.response_)
        return -found if positive == 0 else found

    def predict(self, X: Any) -> Array:
        """The class of each row, by the threshold."""
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)]

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class as the estimator has it; the threshold does not change it."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(plain(X))

    @available_if(inner_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`."""
        check_is_fitted(self, "estimator_")
        return log_probabilities(self.estimator_, plain(X))


def _refuse_unweighted(goal: Any, data: Labelled) -> None:
    if isinstance(goal, str) or data.weight is None:
        return
    parameters = inspect.signature(goal).parameters.values()
    if not any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters):
        raise ValueError("The rows have weights, and the function given as objective takes no sample_weight: add it.")


def _refuse_absent(data: Labelled, rows: Ints, where: str) -> None:
    for code in np.setdiff1d(np.arange(len(data.classes)), data.codes[rows]).tolist()[:1]:
        name, count = data.classes.tolist()[code], np.sum(data.codes == code)
        raise ValueError(
            f"{where} has no row of class {name!r}, of {count} in all: use stratified folds, and not more than {count}."
        )


def _costs(cost: Any, classes: Array) -> Floats:
    k = len(classes)
    matrix = np.zeros((k, k)) if cost is None else np.asarray(cost, dtype=np.float64)
    if matrix.shape != (k, k) or not np.isfinite(matrix).all():
        raise ValueError(
            f"cost has shape {matrix.shape}; with {k} classes it needs finite numbers of shape ({k}, {k}): cost[true, "
            f"decided], in the order {classes.tolist()[:10]}."
        )
    return matrix


def _splits(cv: Any, data: Labelled, seed: int) -> list[tuple[Ints, Ints]]:
    """Training and test rows of each split, counted among the rows of positive weight."""
    n = len(data.y)
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool) and cv >= 2:
        labels = np.empty(n, dtype=np.int64)
        for code, name in enumerate(data.classes.tolist()):
            members = np.flatnonzero(data.codes == code)
            if len(members) < cv:
                raise ValueError(
                    f"Class {name!r} has {len(members)} of n_samples = {n} rows, fewer than the {cv} folds: use cv="
                    f"{max(len(members), 2)} or fewer, give more rows of it, or merge it with another class."
                )
            labels[members] = CountedFolds(int(cv), seed).labels(0, len(members))
        return [(np.flatnonzero(labels != fold), np.flatnonzero(labels == fold)) for fold in range(int(cv))]
    if data.kept is not None and not isinstance(cv, str | int) and not hasattr(cv, "split"):
        cv = [tuple(_kept(data.kept, part) for part in pair) for pair in cv]
    found = []
    for part in plan(cv, scan(np.zeros((n, 1)), data.codes)):
        labels = part.folds.labels(0, n)
        if part.leave_one_out:
            found += [(np.flatnonzero(labels != row), np.array([row])) for row in range(n)]
        else:
            pairs = zip(part.train, part.test, strict=True)
            found += [(np.flatnonzero(train[labels]), np.flatnonzero(test[labels])) for train, test in pairs]
    return found


def _kept(kept: Bools, part: Any) -> Ints:
    """Numbers of rows among those kept, of numbers among all."""
    index = np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part)
    return (np.cumsum(kept) - 1)[index[kept[index]]]


def _response(model: Any) -> str:
    return "predict_proba" if hasattr(model, "predict_proba") else "decision_function"


def _scores(model: Any, response: str, X: Any, classes: Array, positive: int | None) -> Floats:
    """Scores of the positive class (n,), or of every class (n, k)."""
    found = np.asarray(getattr(model, response)(X), dtype=np.float64)
    k, n = len(classes), len(found)
    shape = (n, k) if response == "predict_proba" or k > 2 else (n,)
    if found.shape != shape:
        raise ValueError(
            f"{response} of {type(model).__name__} has shape {found.shape}, and {k} classes need {shape}: one score "
            "per class (for scikit-learn's SVC, decision_function_shape='ovr')."
        )
    finite = np.isfinite(found.reshape(n, -1)).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"{response} of {type(model).__name__} is NaN or infinite at row {int(finite.argmin())} of the {n} that it "
            "scored: scale the data, or regularise the model."
        )
    if positive is None:
        return found
    return found[:, positive] if found.ndim == 2 else found if positive == 1 else -found
