"""Scores that rank rows: comparable from one row to another, for every class."""

import numpy as np

from gramian._core.types import Array, Estimator, Floats, Matrix

LOWEST = -1e300  # the score of a class that the model has not seen


def ranking_scores(model: Estimator, X: Matrix, classes: Array) -> Floats:
    """Scores of rows by a fitted classifier: (n,) for the second of two classes, (n, k) for more.

    Of two classes the decision function, or else the probability. Of more the probabilities, since a row's decision
    values are comparable only with each other (a softmax does not see what is added to all of them); without
    probabilities the margin of each class over the best other one, f_j − max over l ≠ j of f_l. A class that the model
    has not seen has the lowest score.

    >>> from sklearn.linear_model import RidgeClassifier
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [9.0], [9.5]])
    >>> model = RidgeClassifier().fit(X, [0, 0, 1, 1, 2, 2])
    >>> ranking_scores(model, X, np.arange(3)).argmax(axis=1) == model.predict(X)
    array([ True,  True,  True,  True,  True,  True])
    """
    name = type(model).__name__
    if hasattr(model, "threshold_") and hasattr(model, "response_"):  # the scores below an infinite threshold
        model = model.estimator_
    k = len(classes)
    seen = np.asarray(getattr(model, "classes_", classes))
    if hasattr(model, "decision_function") and (k == 2 or not hasattr(model, "predict_proba")):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        if k == 2 and scores.ndim == 1:
            return scores
        _refuse_pairs(model, scores, len(seen), name)
        scores = _margins(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)
    elif hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(X), dtype=np.float64)
    else:
        raise ValueError(f"{name} has no decision_function and no predict_proba, and a metric asked for needs scores.")
    scores = with_all_classes(scores, seen, classes, 0.0 if hasattr(model, "predict_proba") else LOWEST)
    return scores[:, 1] if k == 2 else scores


def with_all_classes(values: Floats, seen: Array, classes: Array, absent: float) -> Floats:
    """Columns for all classes, from those of the classes seen in training."""
    if len(seen) == len(classes):
        return values
    whole = np.full((len(values), len(classes)), absent)
    whole[:, np.searchsorted(classes, seen)] = values
    return whole


def _margins(values: Floats) -> Floats:
    """Each column less the largest of the others."""
    values = np.nan_to_num(values, nan=np.nan, posinf=-LOWEST, neginf=LOWEST)
    ordered = np.sort(values, axis=1)
    largest, second = ordered[:, -1:], ordered[:, -2:-1]
    return np.where(values == largest, values - second, values - largest)


def _refuse_pairs(model: Estimator, scores: Floats, k: int, name: str) -> None:
    """Raise if the columns are of pairs of classes, not of classes."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    pairs = getattr(last, "decision_function_shape", None) == "ovo" and k > 2
    if pairs or (scores.ndim == 2 and scores.shape[1] != k):
        raise ValueError(
            f"decision_function of {name} has {scores.shape[-1]} columns for pairs of {k} classes, and a metric asked "
            "for needs one score per class: set decision_function_shape='ovr'."
        )
