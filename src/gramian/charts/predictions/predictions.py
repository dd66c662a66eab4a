"""What a model says of rows whose targets are known: read once, for every chart of predictions."""

from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from gramian.charts.marks.text import counted, labels, number
from gramian.metrics.classes import codes
from gramian.metrics.input import one_kind, read_labels, read_numbers, read_weights, same_length
from gramian.metrics.statistics.ranks import Ranking
from gramian.models.meta.base import plain
from gramian.rows import Rows
from gramian.selection.evaluation.ranking import ranking_scores

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decided:
    """Decisions of a classifier, with the true classes.

    Attributes
    ----------
    name : str
        Of the model.
    classes : list of str
        As charts show them.
    truth, decided : array (n,)
        Places among the classes.
    scores : array (n,) for the second of two classes, or (n, k), or None
        The larger the more likely.
    probabilities : array (n, k) or None
    weight : array (n,) or None
    positive : int
        Of two classes the one that is looked for.
    threshold : str
        Where the decisions change, in words; empty if it is not known.
    """

    name: str
    classes: list[str]
    truth: Ints
    decided: Ints
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
        return np.ones(len(self.truth)) if self.weight is None else self.weight

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
        """False positive rate, true positive rate and precision of the decisions for one class."""
        w, is_it, said = self.counts, self.truth == place, self.decided == place
        hits, alarms = float(w[is_it & said].sum()), float(w[said].sum())
        own = float(w[is_it].sum())
        rest = float(w.sum()) - own
        return (alarms - hits) / rest if rest else 0.0, hits / own if own else 0.0, hits / alarms if alarms else 0.0

    def rows_text(self) -> str:
        """How many rows there are, of which classes."""
        totals = np.bincount(self.truth, self.counts, self.k)
        every = counted(float(totals.sum()), "row")
        if self.k > 2:
            return f"{every} of {self.k} classes"
        return f"{every}, {totals[self.positive]:,.10g} of class {self.classes[self.positive]}"


@dataclass(frozen=True, eq=False)
class Measured:
    """Predictions of numbers, with the true ones, (n, t) both; and what the loss makes of residuals."""

    name: str
    truth: Floats
    fitted: Floats
    weight: Floats | None
    model: Any = None


def read_given(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights; those that `Rows` bring."""
    if not isinstance(X, Rows):
        lazy = nw.from_native(X, pass_through=True)
        return (lazy.collect().to_native() if isinstance(lazy, nw.LazyFrame) else X), y, sample_weight
    if y is not None or sample_weight is not None:
        raise ValueError(
            "Rows bring their own target and weights: give them alone, and y and sample_weight to gm.scan."
        )
    if not X.target_names:
        return X, None, None
    found = X.sum(lambda block: [(block.y, block.weight)])
    values = np.concatenate([part for part, _ in found])
    weight = np.concatenate([part for _, part in found]) if X.weighted else None
    values = values[:, 0] if X.one_target else values
    return X, values if X.labels is None else X.labels[values.astype(np.int64)], weight


def decided_by(model: Any, X: Any, y: Any, sample_weight: Any) -> Decided:
    """The decisions of a fitted classifier on rows."""
    truth, classes = _coded(y, model.classes_)
    decided = np.asarray(model.predict(X))
    same_length(len(truth), decided, "X")
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64) if hasattr(model, "predict_proba") else None
    scores = None
    if probabilities is not None or hasattr(model, "decision_function"):
        table = plain(X) if hasattr(model, "threshold_") else X
        scores = ranking_scores(model, table, np.asarray(model.classes_))
    # Only where a threshold was tuned is `positive` a class: other models have parameters of that name.
    positive = getattr(model, "positive", None) if hasattr(model, "threshold_") and len(classes) == 2 else None
    place = 1 if positive is None else np.asarray(model.classes_).tolist().index(positive)
    places = _coded(decided, model.classes_)[0]
    return _without_nothing(
        Decided(
            name_of(model),
            classes,
            truth,
            places,
            scores,
            probabilities,
            None if sample_weight is None else _weights(sample_weight, len(truth)),
            place,
            _threshold(model, places, scores, probabilities, place),
        )
    )


def decided_in(evaluation: Any, y: Any, sample_weight: Any) -> Decided:
    """The decisions of an evaluation, each made without the row."""
    _refuse_repeats(evaluation)
    truth, classes = _coded(y, evaluation.classes)
    same_length(len(truth), evaluation.predictions, "the evaluation")
    tested = np.zeros(len(truth), dtype=bool)
    tested[np.concatenate([test for _, test in evaluation.splits])] = True
    decided = _coded(np.asarray(evaluation.predictions)[tested].tolist(), evaluation.classes)[0]
    p = evaluation.probabilities
    p = None if p is None else p[tested]
    weight = None if sample_weight is None else _weights(sample_weight, len(truth))[tested]
    name = f"{evaluation.model}, out of fold"
    threshold = _threshold(None, decided, p, p, 1)
    return _without_nothing(Decided(name, classes, truth[tested], decided, p, p, weight, 1, threshold))


def name_of(model: Any) -> str:
    """What kind of model it is, and around which."""
    inside = getattr(model, "estimator_", None) if hasattr(model, "classes_") else None
    return type(model).__name__ + ("" if inside is None else f" of {type(inside).__name__}")


def measured_by(model: Any, X: Any, y: Any, sample_weight: Any) -> Measured:
    """The predictions of a fitted regressor on rows."""
    return _measured(type(model).__name__, y, model.predict(X), sample_weight, model)


def measured_in(evaluation: Any, y: Any, sample_weight: Any) -> Measured:
    """The predictions of an evaluation, each made without the row."""
    _refuse_repeats(evaluation)
    tested = np.sort(np.concatenate([test for _, test in evaluation.splits]))
    same_length(len(y), evaluation.predictions, "the evaluation")
    truth = read_numbers(y, "y")
    weight = None if sample_weight is None else _weights(sample_weight, len(truth))[tested]
    name = f"{evaluation.model}, out of fold"
    return _measured(name, truth[tested], evaluation.predictions[tested], weight)


def _measured(name: str, y: Any, prediction: Any, sample_weight: Any, model: Any = None) -> Measured:
    truth, fitted = read_numbers(y, "y"), np.asarray(prediction, dtype=np.float64)
    same_length(len(truth), fitted, "X")
    truth, fitted = truth.reshape(len(truth), -1), fitted.reshape(len(truth), -1)
    if truth.shape != fitted.shape:
        raise ValueError(f"y has {truth.shape[1]} targets, and {name} predicts {fitted.shape[1]}.")
    weight = None if sample_weight is None else _weights(sample_weight, len(truth))
    if weight is not None and not weight.all():
        truth, fitted, weight = truth[weight > 0], fitted[weight > 0], weight[weight > 0]
    return Measured(name, truth, fitted, weight, model)


def _weights(values: Any, n: int) -> Floats:
    weight = read_weights(values, n)
    if not weight.any():
        raise ValueError("sample_weight is 0 everywhere: there is nothing to draw.")
    return weight


def _coded(y: Any, classes: Any) -> tuple[Ints, list[str]]:
    """Places among the classes, and their names."""
    values, known = one_kind(read_labels(y, "y"), read_labels(classes, "classes_"), "y", "the model")
    return codes(values, known, "y"), labels(np.asarray(classes).tolist())


def _without_nothing(found: Decided) -> Decided:
    """Rows of weight 0 are no rows."""
    if found.weight is None or found.weight.all():
        return found
    kept = found.weight > 0
    return replace(
        found,
        truth=found.truth[kept],
        decided=found.decided[kept],
        scores=None if found.scores is None else found.scores[kept],
        probabilities=None if found.probabilities is None else found.probabilities[kept],
        weight=found.weight[kept],
    )


def _refuse_repeats(evaluation: Any) -> None:
    if evaluation.predictions is None:
        raise ValueError(
            "This evaluation tests rows more than once, so that it keeps no predictions: use folds without repetition, "
            "such as outer=5."
        )


def _threshold(model: Any, decided: Ints, scores: Floats | None, p: Floats | None, positive: int) -> str:
    """The threshold of two classes, in words, if it is what the decisions follow."""
    tuned = getattr(model, "threshold_", None)
    if isinstance(tuned, np.ndarray):
        return "tuned thresholds"
    if scores is None or (scores.ndim == 2 and scores.shape[1] > 2):
        return ""
    if isinstance(tuned, float) and hasattr(model, "response_"):
        return f"tuned threshold {number(tuned)}" if np.isfinite(tuned) else "tuned threshold"
    said = decided == positive
    cost = getattr(model, "cost", None)
    if p is not None and cost is not None:
        other, C = 1 - positive, np.asarray(cost, dtype=np.float64)
        alarm, miss = C[other, positive] - C[other, other], C[positive, other] - C[positive, positive]
        if alarm + miss > 0 and ((p[:, positive] > alarm / (alarm + miss)) == said).mean() > 0.999:
            return f"threshold {number(alarm / (alarm + miss))} by cost"
    elif p is not None and ((p[:, positive] > 0.5) == said)[p[:, positive] != 0.5].all():
        return "threshold 0.5"
    elif scores.ndim == 1 and (((scores if positive == 1 else -scores) > 0) == said)[scores != 0].all():
        return "threshold 0"
    return ""
