"""Predictions of rows whose targets are known: read once, for every chart of predictions."""

from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from gramian._core.types import Array, Estimator, Floats, Ints, Table, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.charts.declaration import classifies, has, offers, regresses
from gramian.charts.marks.text import counted, labels, number
from gramian.metrics.classes import codes
from gramian.metrics.input import one_kind, read_labels, read_numbers, read_weights, same_length
from gramian.metrics.statistics.ranks import Ranking
from gramian.models.meta.base import plain
from gramian.rows import Rows
from gramian.selection.evaluation.nested import Evaluation
from gramian.selection.evaluation.ranking import ranking_scores


@dataclass(frozen=True, eq=False)
class ClassPredictions:
    """Predictions of a classifier, with the true classes.

    Attributes
    ----------
    name : str
        Of the model.
    classes : list of str
        As charts show them.
    truth, predicted : array (n,)
        Indices of the true and the predicted classes.
    scores : array (n,) for the second of two classes, or (n, k), or None
        Scores: the larger, the more probable the class.
    probabilities : array (n, k) or None
    weight : array (n,) or None
    positive : int
        Of two classes the positive one.
    threshold : str
        The threshold of the predictions, in words; empty if it is not known.
    """

    name: str
    classes: list[str]
    truth: Ints
    predicted: Ints
    scores: Floats | None
    probabilities: Floats | None
    weight: Floats | None
    positive: int = 1
    threshold: str = ""

    @property
    def k(self) -> int:
        return len(self.classes)

    @property
    def counts(self) -> Floats:
        """Weight of the rows, which is their number without weights."""
        return weights_or_ones(self.weight, len(self.truth))

    @property
    def present(self) -> list[int]:
        """Classes that have rows."""
        return np.flatnonzero(np.bincount(self.truth, self.counts, self.k)).tolist()

    def ranking(self, place: int) -> Ranking:
        """Of one class against the rest."""
        scores = self.scores
        assert scores is not None
        column = scores[:, place] if scores.ndim == 2 else scores if place == 1 else -scores
        return Ranking.of(self.truth == place, column, self.weight, positive=True)

    def rates(self, place: int) -> tuple[float, float, float]:
        """False positive rate, true positive rate and precision of the predictions of one class."""
        w, true, predicted = self.counts, self.truth == place, self.predicted == place
        true_positives, predicted_positives = float(w[true & predicted].sum()), float(w[predicted].sum())
        positives = float(w[true].sum())
        negatives = float(w.sum()) - positives
        return (
            (predicted_positives - true_positives) / negatives if negatives else 0.0,
            true_positives / positives if positives else 0.0,
            true_positives / predicted_positives if predicted_positives else 0.0,
        )

    def rows_text(self) -> str:
        """How many rows there are, of which classes."""
        totals = np.bincount(self.truth, self.counts, self.k)
        total = counted(float(totals.sum()), "row")
        if self.k > 2:
            return f"{total} of {self.k} classes"
        return f"{total}, {totals[self.positive]:,.10g} of class {self.classes[self.positive]}"


@dataclass(frozen=True, eq=False)
class NumberPredictions:
    """Predictions of numbers with the true numbers, (n, t) both; and the model, for its loss."""

    name: str
    truth: Floats
    predicted: Floats
    weight: Floats | None
    model: Estimator = None


def read_data(X: Table, y: Values | None, sample_weight: Weights) -> tuple[Any, Any, Any]:
    """X, y and weights; those that `Rows` bring."""
    if not isinstance(X, Rows):
        frame = nw.from_native(X, pass_through=True)
        return (frame.collect().to_native() if isinstance(frame, nw.LazyFrame) else X), y, sample_weight
    if y is not None or sample_weight is not None:
        raise ValueError(
            "Rows bring their own target and weights: give them alone, and y and sample_weight to gm.scan."
        )
    if not X.target_names:
        return X, None, None
    blocks = X.sum(lambda block: [(block.y, block.weight)])
    values = np.concatenate([target for target, _ in blocks])
    weight = np.concatenate([weights for _, weights in blocks]) if X.weighted else None
    values = values[:, 0] if X.one_target else values
    return X, values if X.labels is None else X.labels[values.astype(np.int64)], weight


# which charts apply


def predicts_classes(model: Estimator, data: bool) -> bool:
    """Applies to classifiers, and to their evaluations."""
    return model.classes is not None if holds_predictions(model) else classifies(model)


def predicts_scores(model: Estimator, data: bool) -> bool:
    """Applies to classifiers that rank rows, and to evaluations with probabilities."""
    if holds_predictions(model):
        return model.probabilities is not None
    return classifies(model) and (has(model, "predict_proba") or has(model, "decision_function"))


def predicts_probabilities(model: Estimator, data: bool) -> bool:
    """Applies to classifiers with probabilities, and to evaluations with probabilities."""
    return (
        model.probabilities is not None
        if holds_predictions(model)
        else classifies(model) and has(model, "predict_proba")
    )


def predicts_numbers(model: Estimator, data: bool) -> bool:
    """Applies to regressors, and to their evaluations."""
    if holds_predictions(model):
        return model.classes is None
    return regresses(model) and not classifies(model)


def holds_predictions(model: Estimator) -> bool:
    """Whether it is a result with the out-of-fold predictions of a model."""
    return "evaluation" in offers(model)


def n_classes(model: Estimator) -> int:
    """Number of classes of a classifier or of its evaluation."""
    return len(model.classes if holds_predictions(model) else model.classes_)


# predictions


def read_predictions(
    model: Estimator, X: Table, y: Values | None, sample_weight: Weights
) -> ClassPredictions | NumberPredictions:
    """Predictions of a model for rows, or those of an evaluation."""
    classes = predicts_classes(model, True)
    if holds_predictions(model):
        of_folds = _class_predictions_of_folds if classes else _number_predictions_of_folds
        return of_folds(model, y, sample_weight)
    return (class_predictions if classes else number_predictions)(model, X, y, sample_weight)


def class_predictions(model: Estimator, X: Table, y: Values | None, sample_weight: Weights) -> ClassPredictions:
    """The predictions of a fitted classifier for rows."""
    truth, classes = _coded(y, model.classes_)
    labels_predicted = np.asarray(model.predict(X))
    same_length(len(truth), labels_predicted, "X")
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64) if has(model, "predict_proba") else None
    scores = None
    if probabilities is not None or has(model, "decision_function"):
        table = plain(X) if has(model, "threshold_") else X
        scores = ranking_scores(model, table, np.asarray(model.classes_))
    # Only where a threshold was tuned is `positive` a class: other models have parameters of that name.
    positive = model.positive if has(model, "threshold_", "positive") and len(classes) == 2 else None
    place = 1 if positive is None else np.asarray(model.classes_).tolist().index(positive)
    predicted = _coded(labels_predicted, model.classes_)[0]
    return _with_positive_weight(
        ClassPredictions(
            name_of(model),
            classes,
            truth,
            predicted,
            scores,
            probabilities,
            None if sample_weight is None else _weights(sample_weight, len(truth)),
            place,
            _threshold(model, predicted, scores, probabilities, place),
        )
    )


def _class_predictions_of_folds(evaluation: Evaluation, y: Values | None, sample_weight: Weights) -> ClassPredictions:
    """The out-of-fold predictions of an evaluation of a classifier."""
    out_of_fold, known_classes = _out_of_fold(evaluation), np.asarray(evaluation.classes)
    truth, classes = _coded(y, known_classes)
    same_length(len(truth), out_of_fold, "the evaluation")
    tested = np.zeros(len(truth), dtype=bool)
    tested[np.concatenate([test for _, test in evaluation.splits])] = True
    predicted = _coded(out_of_fold[tested].tolist(), known_classes)[0]
    p = evaluation.probabilities
    p = None if p is None else p[tested]
    weight = None if sample_weight is None else _weights(sample_weight, len(truth))[tested]
    name = f"{evaluation.model}, out of fold"
    threshold = _threshold(None, predicted, p, p, 1)
    return _with_positive_weight(ClassPredictions(name, classes, truth[tested], predicted, p, p, weight, 1, threshold))


def name_of(model: Estimator) -> str:
    """The class of a model, and of the one inside it."""
    wrapped = f" of {type(model.estimator_).__name__}" if has(model, "classes_", "estimator_") else ""
    return type(model).__name__ + wrapped


def number_predictions(model: Estimator, X: Table, y: Values | None, sample_weight: Weights) -> NumberPredictions:
    """The predictions of a fitted regressor for rows."""
    return _numbers(type(model).__name__, y, model.predict(X), sample_weight, model)


def _number_predictions_of_folds(evaluation: Evaluation, y: Values | None, sample_weight: Weights) -> NumberPredictions:
    """The out-of-fold predictions of an evaluation of a regressor."""
    out_of_fold = _out_of_fold(evaluation)
    tested = np.sort(np.concatenate([test for _, test in evaluation.splits]))
    truth = read_numbers(y, "y")
    same_length(len(truth), out_of_fold, "the evaluation")
    weight = None if sample_weight is None else _weights(sample_weight, len(truth))[tested]
    name = f"{evaluation.model}, out of fold"
    return _numbers(name, truth[tested], out_of_fold[tested], weight)


def _numbers(
    name: str, y: Values | None, prediction: Values, sample_weight: Weights, model: Estimator = None
) -> NumberPredictions:
    truth, predicted = read_numbers(y, "y"), np.asarray(prediction, dtype=np.float64)
    same_length(len(truth), predicted, "X")
    truth, predicted = truth.reshape(len(truth), -1), predicted.reshape(len(truth), -1)
    if truth.shape != predicted.shape:
        raise ValueError(f"y has {truth.shape[1]} targets, and {name} predicts {predicted.shape[1]}.")
    weight = None if sample_weight is None else _weights(sample_weight, len(truth))
    if weight is not None and not weight.all():
        truth, predicted, weight = truth[weight > 0], predicted[weight > 0], weight[weight > 0]
    return NumberPredictions(name, truth, predicted, weight, model)


def _weights(values: Weights, n: int) -> Floats:
    weight = read_weights(values, n)
    if not weight.any():
        raise ValueError("sample_weight is 0 everywhere: there is nothing to draw.")
    return weight


def _coded(y: Values | None, classes: Values) -> tuple[Ints, list[str]]:
    """The index of the class of each row, and the names of the classes."""
    values, kinds = one_kind(read_labels(y, "y"), read_labels(classes, "classes_"), "y", "the model")
    return codes(values, kinds, "y"), labels(np.asarray(classes).tolist())


def _with_positive_weight(predictions: ClassPredictions) -> ClassPredictions:
    """Without the rows of weight 0."""
    weight, scores, p = predictions.weight, predictions.scores, predictions.probabilities
    if weight is None or weight.all():
        return predictions
    positive = weight > 0
    return replace(
        predictions,
        truth=predictions.truth[positive],
        predicted=predictions.predicted[positive],
        scores=None if scores is None else scores[positive],
        probabilities=None if p is None else p[positive],
        weight=weight[positive],
    )


def _out_of_fold(evaluation: Evaluation) -> Array:
    """The predictions of an evaluation; refused where rows are tested more than once."""
    if evaluation.predictions is None:
        raise ValueError(
            "This evaluation tests rows more than once, so that it keeps no predictions: use folds without repetition, "
            "such as outer=5."
        )
    return evaluation.predictions


def _threshold(model: Estimator, predicted: Ints, scores: Floats | None, p: Floats | None, positive: int) -> str:
    """The threshold of two classes, in words, if the predictions follow one."""
    tuned = model.threshold_ if has(model, "threshold_") else None
    if isinstance(tuned, np.ndarray):
        return "tuned thresholds"
    if scores is None or (scores.ndim == 2 and scores.shape[1] > 2):
        return ""
    if isinstance(tuned, float) and has(model, "response_"):
        return f"tuned threshold {number(tuned)}" if np.isfinite(tuned) else "tuned threshold"
    is_positive = predicted == positive
    cost = model.cost if has(model, "cost") else None
    if p is not None and cost is not None:
        other, C = 1 - positive, np.asarray(cost, dtype=np.float64)
        false_positive, false_negative = (
            C[other, positive] - C[other, other],
            C[positive, other] - C[positive, positive],
        )
        total = false_positive + false_negative
        if total > 0 and ((p[:, positive] > false_positive / total) == is_positive).mean() > 0.999:
            return f"threshold {number(false_positive / total)} by cost"
    elif p is not None and ((p[:, positive] > 0.5) == is_positive)[p[:, positive] != 0.5].all():
        return "threshold 0.5"
    elif scores.ndim == 1 and (((scores if positive == 1 else -scores) > 0) == is_positive)[scores != 0].all():
        return "threshold 0"
    return ""
