"""How good a model is, choices included: nested cross-validation in one call."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from gramian._core.fitted.charted import Drawn
from gramian._core.random import seed_from
from gramian._core.text import aligned
from gramian._core.types import CV, Array, Estimator, Floats, RandomState, Table, Values, Weights
from gramian.selection.evaluation.choices import choices_of, set_inner, text_of
from gramian.selection.evaluation.sample import Sample, check_model, read
from gramian.selection.evaluation.scoring import Metrics, Scorer, check_level, fold_mean, scorers
from gramian.selection.evaluation.trials import Pairs, fitted, predicted, splits

MOST_SHOWN = 10  # folds whose choices are printed


class Pooled(NamedTuple):
    """A metric of all test predictions together, with its own interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Score:
    """What one metric says over the outer folds.

    Attributes
    ----------
    folds : array (K,)
        The metric in each test part; NaN where it is not defined there.
    mean, se, low, high : float
        Mean over the folds, its standard error √((1/K + test rows / training rows) · s²), and Student's interval with
        K − 1 degrees of freedom, within the metric's range. Where a fold is NaN, those of `pooled`; se is then NaN.
    pooled : Pooled or None
        (value, low, high) of all test predictions together by the metric's own interval, which takes the models as
        given; None if rows are tested more than once.
    greater_is_better : bool
    """

    name: str
    folds: Floats
    mean: float
    se: float
    low: float
    high: float
    pooled: Pooled | None
    greater_is_better: bool

    def __repr__(self) -> str:
        return f"{self.name} {self.mean:.5g} ({self.low:.5g} to {self.high:.5g})"


@dataclass(frozen=True, eq=False)
class Evaluation(Drawn):
    """What `evaluate` found.

    Attributes
    ----------
    scores : dict from metric to Score
    choices : list of dict
        For each outer fold what the model chose in its training part, by name; `ridge__alpha_` is the alpha of a step.
    predictions : array (n,) or (n, t), or None
        What `predict` gave for each row when it was tested; NaN or None for rows never tested; None if rows are tested
        more than once.
    probabilities : array (n, k) or None
        The same for `predict_proba`, if a metric needs it.
    classes : array (k,) or None
    splits : list of (training rows, test rows)
    models : list of fitted models, or None
    interval : float
        Level of the intervals.
    notes : list of str
    """

    own_charts: ClassVar[tuple[str, ...]] = ("evaluation",)
    model: str
    scores: dict[str, Score]
    choices: list[dict[str, object]]
    predictions: Array | None
    probabilities: Floats | None
    classes: Array | None
    splits: Pairs
    models: list[Estimator] | None
    interval: float
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = ["", "mean", "se", f"{self.interval:.0%} low", "high", "worst fold", "best fold"]
        body = []
        for name, score in self.scores.items():
            ends = np.sort(score.folds) if score.greater_is_better else -np.sort(-score.folds)
            numbers = (score.mean, score.se, score.low, score.high, ends[0], ends[-1])
            body.append([name, *(f"{number:.4g}" for number in numbers)])
        lines = [f"{self.model}: {len(self.splits)} outer folds", *aligned([head, *body])]
        names = list(dict.fromkeys(name for choice in self.choices for name in choice))
        if names:
            table = [["fold", *names]]
            for number, choice in enumerate(self.choices[:MOST_SHOWN]):
                table.append([str(number), *(text_of(choice[name]) if name in choice else "" for name in names)])
            lines += aligned(table)
            if len(self.choices) > MOST_SHOWN:
                lines.append(f"and {len(self.choices) - MOST_SHOWN} folds more")
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__


def evaluate(
    model: Estimator,
    X: Table,
    y: Values | None = None,
    *,
    sample_weight: Weights = None,
    outer: CV = 5,
    inner: CV | None = 5,
    metrics: Metrics = None,
    interval: float = 0.95,
    keep_models: bool = False,
    random_state: RandomState = 0,
) -> Evaluation:
    """Estimate how well a model predicts rows it has not seen, the choice of its hyper-parameters included.

    In each outer fold the model is fitted to the training part, with an inner cross-validation of its own wherever it
    chooses something, and judged on the test part, which took no part in any choice.

    Parameters
    ----------
    model : estimator
        Any classifier or regressor of scikit-learn's protocol; it is cloned.
    X, y, sample_weight
        Array, data frame, sparse matrix or list, with its target; or `Rows`, which bring theirs. Weights are counts, in
        the fits and in the metrics; steps of a pipeline that take no weights are fitted without.
    outer : int, "loo", splitter or list of (train, test) pairs
        The outer folds. A number is `gm.selection.KFold` with `random_state` for a regressor, and scikit-learn's
        shuffled `StratifiedKFold` for a classifier.
    inner : int, splitter or None
        Set as every `cv` parameter of the model and its parts; None leaves those as they are.
    metrics : str, function, list or dict of these, optional
        Names in `gm.metrics` or "error_rate", or functions f(y, prediction) of what `predict` gives. By default mse,
        mae and r2; for classifiers accuracy, log_loss if there are probabilities, and roc_auc if there are two classes.
    interval : float
        Level of the intervals.
    keep_models : bool
        Keep the fitted models of the outer folds.
    random_state : int, Generator or RandomState
        For the outer folds, and for every `random_state` of the model that is None.

    Returns
    -------
    Evaluation
        `.scores`, `.choices`, `.predictions`; `print` shows a table.

    Notes
    -----
    Cost: one fit per outer fold, each with its inner folds. Intervals over folds use the variance of Nadeau and Bengio,
    since training parts share rows. The final model is one fitted to all rows: the folds are for its evaluation.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = gm.selection.evaluate(gm.Ridge(), X, y, metrics=["mse", "r2"])
    >>> found.scores["r2"].folds.shape, sorted(found.choices[0])
    ((5,), ['alpha_'])
    >>> bool(found.scores["r2"].low < found.scores["r2"].mean < 0.6)
    True
    """
    classifier = check_model(model)
    level = check_level(interval)
    seed = seed_from(random_state, default=None)
    model, notes = clone(model), []
    if inner is not None:
        if isinstance(inner, int | np.integer) and inner < 2:
            raise ValueError(f"inner is {inner!r}; it must be a number of folds of at least 2, a splitter, or None.")
        for path, before in set_inner(model, inner).items():
            if before is not None and before is not inner and repr(before) not in ("5", repr(inner)):
                notes.append(f"{path} was {before!r}, here {inner!r}; inner=None keeps the model's own.")
    sample = read(X, y, sample_weight, classifier=classifier)
    measures = scorers(metrics, model, sample)
    pairs = splits(outer, sample, seed, "outer")
    needs = list(dict.fromkeys(["labels", *(part.needs for part in measures if part.needs != "numbers")]))
    predictions: dict[str, list[Array]] = {need: [] for need in needs}
    choices, models = [], []
    for number, (train, test) in enumerate(pairs):
        one = fitted(model, sample, train, seed, f"outer fold {number}")
        choices.append(choices_of(one))
        for need in needs:
            predictions[need].append(predicted(one, sample, test, sample.kept[train], need))
        if keep_models:
            models.append(one)
    predictions["numbers"] = predictions["labels"]
    tested = np.concatenate([test for _, test in pairs])
    once = len(np.unique(tested)) == len(tested)
    scores = {}
    for part in measures:
        scores[part.name] = _score(part, predictions[part.needs], sample, pairs, level, once)
        if np.isnan(scores[part.name].folds).any():
            notes.append(
                f"{part.name} is not defined in every fold: its mean is that of all test predictions together."
            )
    pooled = {need: sample.spread(np.concatenate(parts), tested) for need, parts in predictions.items()} if once else {}
    return Evaluation(
        type(model).__name__,
        scores,
        choices,
        pooled.get("labels"),
        pooled.get("probabilities"),
        sample.classes,
        [(sample.kept[train], sample.kept[test]) for train, test in pairs],
        models if keep_models else None,
        level,
        notes,
    )


def _score(part: Scorer, predictions: list[Array], sample: Sample, pairs: Pairs, level: float, once: bool) -> Score:
    folds = np.full(len(pairs), np.nan)
    for number, ((_, test), prediction) in enumerate(zip(pairs, predictions, strict=True)):
        try:
            folds[number] = part(sample.y[test], prediction, sample.weights(test), sample.classes)
        except ValueError as error:
            if not once:  # no predictions of all rows to fall back to
                error.add_note(f"The metric {part.name} was being computed in outer fold {number}.")
                raise
    pooled = None
    if once:
        tested = np.concatenate([test for _, test in pairs])
        both = sample.y[tested], np.concatenate(predictions), sample.weights(tested), sample.classes
        pooled = Pooled(*part.interval(*both, level))
    if np.isnan(folds).any() and pooled is not None:
        return Score(part.name, folds, pooled.value, np.nan, pooled.low, pooled.high, pooled, part.greater_is_better)
    single = all(len(test) == 1 for _, test in pairs)
    amounts = np.array([sample.amount(test) for _, test in pairs]) if single else None
    mean = fold_mean(folds, ratio_of(sample, pairs), level, amounts)
    low, high = part.range
    ends = max(mean.low, low), min(mean.high, high)
    return Score(part.name, folds, mean.mean, mean.se, *ends, pooled, part.greater_is_better)


def ratio_of(sample: Sample, pairs: Pairs) -> float:
    """Test rows for each training row, on average."""
    return float(np.mean([sample.amount(test) / sample.amount(train) for train, test in pairs]))
