"""Whole estimators tried on parts of the rows: how these are split, and a model fitted and asked for predictions.

Estimators are known here through scikit-learn's protocol alone: `clone`, `get_params`, `fit` and the predictions.
"""

from collections.abc import Iterable
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from gramian._core.types import CV, Array, Estimator, Ints
from gramian.selection.cv.splits import KFold
from gramian.selection.evaluation.ranking import ranking_scores, with_all_classes
from gramian.selection.evaluation.sample import Sample

Pairs = list[tuple[Ints, Ints]]
MOST_ALONE = 20_000  # rows of a leave-one-out: their splits take n² numbers


def splits(cv: CV, sample: Sample, seed: int, name: str) -> Pairs:
    """(training rows, test rows) of every split, as places in the sample; `name` is the parameter that `cv` came from.

    A number is that many folds: of equal size, and for a classifier of equal shares of every class.
    """
    n = sample.n
    if isinstance(cv, Integral):
        count = int(cv)
        if not 2 <= count <= n:
            raise ValueError(f"{name} is {cv}; the number of folds must be from 2 to the number of rows, {n}.")
        if sample.classes is None:
            return list(KFold(count, random_state=seed).split(np.empty((n, 1))))
        refuse_rare(sample, count, f"{name}={cv} folds", f"use fewer folds, or give {name}=gm.selection.KFold({cv})")
        return list(StratifiedKFold(count, shuffle=True, random_state=seed).split(np.empty((n, 1)), sample.y))
    if isinstance(cv, str) and cv == "loo":
        if n > MOST_ALONE:
            raise ValueError(
                f'{name} is "loo": {n} rows would need {n} fits. Use a number of folds, such as {name}=10.'
            )
        return [(np.delete(np.arange(n), row), np.array([row])) for row in range(n)]
    if hasattr(cv, "split") and not isinstance(cv, str):
        try:
            pairs = list(cv.split(sample.native(), sample.y))
        except ValueError as error:
            error.add_note(f"For a splitter with groups give {name}=list(splitter.split(X, y, groups)).")
            raise
        return _checked(pairs, n, np.arange(n), name)
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        raise TypeError(
            f'{name} is {cv!r}; it must be a number of folds, "loo", a splitter, or a list of (train, test) pairs.'
        )
    place = np.full(sample.given, -1)
    place[sample.kept] = np.arange(n)
    return _checked(list(cv), sample.given, place, name)


def refuse_rare(sample: Sample, least: int, what: str, remedy: str) -> None:
    """Raise if a class has fewer rows than it needs."""
    assert sample.classes is not None
    counts = np.unique(sample.y, return_counts=True)[1]
    if counts.min() < least:
        rarest = sample.classes[int(counts.argmin())]
        rows = f"{counts.min()} row" + ("" if counts.min() == 1 else "s")
        raise ValueError(f"Class {rarest} has {rows}, and {what} need at least {least} of every class: {remedy}.")


def _checked(pairs: list[Any], n: int, place: Ints, name: str) -> Pairs:
    """Index pairs over n rows as places in the sample."""
    checked: Pairs = []
    for number, pair in enumerate(pairs):
        try:
            parts = [np.asarray(part) for part in pair]
            train, test = (np.flatnonzero(part) if part.dtype == bool else part.astype(np.int64) for part in parts)
        except (TypeError, ValueError):
            raise TypeError(f"Split {number} of {name} is not a pair of training and test rows.") from None
        for part in (train, test):
            if part.size and not (-n <= part.min() and part.max() < n):
                raise ValueError(f"Split {number} of {name} names a row beyond the {n} that there are.")
        train, test = place[train], place[test]
        train, test = train[train >= 0], test[test >= 0]
        for kind, rows in (("training", train), ("test", test)):
            if not len(rows):
                raise ValueError(f"Split {number} of {name} has no {kind} rows of positive weight.")
        both = np.intersect1d(train, test)
        if both.size:
            raise ValueError(f"Split {number} of {name} has row {both[0]} in both its training and its test part.")
        checked.append((train, test))
    if not checked:
        raise ValueError(f"{name} gives no splits: give at least one pair of training and test rows.")
    return checked


def weight_parameters(model: Estimator) -> list[str]:
    """Names under which the `fit` of an estimator takes the weights of the rows; none if it takes none.

    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_parameters(make_pipeline(StandardScaler(), LinearRegression()))
    ['standardscaler__sample_weight', 'linearregression__sample_weight']
    """
    if get_config()["enable_metadata_routing"] or has_fit_parameter(model, "sample_weight"):
        return ["sample_weight"]
    if hasattr(model, "steps"):
        steps = [(name, weight_parameters(step)) for name, step in model.steps if hasattr(step, "fit")]
        return [f"{name}__{part}" for name, parts in steps for part in parts] if steps and steps[-1][1] else []
    inner = getattr(model, "estimator", getattr(model, "regressor", None))
    passes_on = any(part.kind is part.VAR_KEYWORD for part in signature(model.fit).parameters.values())
    return weight_parameters(inner) if hasattr(inner, "fit") and passes_on else []


def fitted(model: Estimator, sample: Sample, train: Ints, seed: int, where: str) -> Estimator:
    """A clone fitted to some rows. A `random_state` that is None becomes one that follows from the seed."""
    copy = clone(model)
    loose = [
        name
        for name, value in copy.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    copy.set_params(**dict.fromkeys(loose, seed))
    weights = {}
    if sample.weight is not None:
        names = weight_parameters(copy)
        if not names:
            raise ValueError(
                f"{type(model).__name__}.fit takes no sample_weight, so weights cannot count: leave them out, or "
                "choose an estimator that takes them."
            )
        weights = dict.fromkeys(names, sample.weight[train])
    try:
        return copy.fit(sample.rows(train, _columns(model, sample.kept[train])), sample.y[train], **weights)
    except Exception as error:
        error.add_note(f"{type(model).__name__} was being fitted to {len(train)} rows: {where}.")
        raise


def predicted(model: Estimator, sample: Sample, test: Ints, trained: Ints, needs: str) -> Array:
    """Predictions of some rows by a model fitted to others: `trained`, by their places among the rows given.

    `needs` is "labels" or "numbers" (what `predict` gives), "probabilities" (a column for each class of the sample) or
    "scores" (what ranks rows for each class: `ranking_scores`).
    """
    X = sample.rows(test, _columns(model, trained))
    if needs in ("labels", "numbers"):
        return np.asarray(model.predict(X))
    assert sample.classes is not None
    if needs == "scores":
        return ranking_scores(model, X, sample.classes)
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{type(model).__name__} has no predict_proba, and a metric asked for needs probabilities.")
    seen = np.asarray(getattr(model, "classes_", sample.classes))
    return with_all_classes(np.asarray(model.predict_proba(X)), seen, sample.classes, 0.0)


def _columns(model: Estimator, trained: Ints) -> Ints | None:
    """A model of pairs of rows (a kernel matrix as X) sees the columns of its training rows."""
    return trained if get_tags(model).input_tags.pairwise else None
