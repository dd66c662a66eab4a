"""Which of two models is better, on the same folds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import betainc

from gramian._core.fitted.charted import Drawn
from gramian._core.random import seed_from
from gramian._core.types import CV, Array, Estimator, Floats, RandomState, Table, Values, Weights
from gramian._core.weights import weights_or_ones
from gramian.metrics.registry import METRICS
from gramian.selection.evaluation.nested import Evaluation, Score, evaluate, ratio_of
from gramian.selection.evaluation.sample import check_model, read
from gramian.selection.evaluation.scoring import ALIASES, check_level, fold_mean
from gramian.selection.evaluation.trials import splits


@dataclass(frozen=True)
class McNemar:
    """The exact test of McNemar: rows that only one of two classifiers has right.

    Attributes
    ----------
    only_a, only_b : float
        Rows that only a, and only b, classifies rightly, counted by their weights.
    p : float
        Probability of a split as uneven as this one or more, if each were as likely to be right.
    """

    only_a: float
    only_b: float
    p: float


@dataclass(frozen=True, eq=False)
class Comparison(Drawn):
    """What `compare` found: the metric of a minus that of b.

    Attributes
    ----------
    difference, se, low, high : float
        Mean over the folds of the metric of a minus that of b, its corrected standard error and interval.
    p : float
        p-value of no difference, by the corrected resampled t-test.
    better : "a", "b" or None
        Which one is better, if the interval does not hold 0.
    folds : array (K,)
        Differences in each fold.
    rows : array (n,) or None
        Differences of the losses of single rows (squared error, absolute error, 0/1 error), where the metric is a mean
        of them and every row is tested at most once; negative where a is better.
    mcnemar : McNemar or None
        For two classifiers compared by accuracy or error rate.
    a, b : Score
    evaluations : (Evaluation, Evaluation)
    """

    own_charts: ClassVar[tuple[str, ...]] = ("comparison",)
    metric: str
    names: tuple[str, str]
    difference: float
    se: float
    low: float
    high: float
    p: float
    better: str | None
    folds: Floats
    rows: Floats | None
    mcnemar: McNemar | None
    a: Score
    b: Score
    evaluations: tuple[Evaluation, Evaluation]
    interval: float
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        verdict = "no clear difference"
        if self.better is not None:
            verdict = f"{self.better} ({self.names[self.better == 'b']}) is better"
        lines = [
            f"a {self.names[0]}: {self.metric} {self.a.mean:.5g}",
            f"b {self.names[1]}: {self.metric} {self.b.mean:.5g}",
            f"a − b = {self.difference:.4g}, {self.interval:.0%} interval {self.low:.4g} to {self.high:.4g}, "
            f"p = {self.p:.3g}: {verdict}",
        ]
        if self.mcnemar is not None:
            exact = self.mcnemar
            lines.append(f"only a right {exact.only_a:g}, only b right {exact.only_b:g}, McNemar p = {exact.p:.3g}")
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__


def compare(
    model_a: Estimator,
    model_b: Estimator,
    X: Table,
    y: Values | None = None,
    *,
    sample_weight: Weights = None,
    outer: CV = 5,
    inner: CV | None = 5,
    metric: str | Callable[..., float] | None = None,
    interval: float = 0.95,
    random_state: RandomState = 0,
) -> Comparison:
    """Compare two models by nested cross-validation on the same folds.

    d_k is the metric of a minus that of b in fold k. The test and the interval are those of the corrected resampled
    t-test, t = d̄ / √((1/K + test rows / training rows) · s²) with K − 1 degrees of freedom.

    Parameters
    ----------
    model_a, model_b : estimator
        Two regressors or two classifiers.
    X, y, sample_weight, outer, inner, interval, random_state
        As in `gm.selection.evaluate`.
    metric : str or function, optional
        By default mse, or accuracy for classifiers. Of functions lower is better.

    Returns
    -------
    Comparison
        `.difference`, `.low`, `.high`, `.p`, `.better`; `print` shows a few lines.

    Notes
    -----
    Cost: that of evaluating both. For accuracy and the error rate there is McNemar's exact test too; it takes both sets
    of fitted models as given, and only asks whether they differ on new rows.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.dummy import DummyRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> gm.selection.compare(gm.Ridge(), DummyRegressor(), X, y).better
    'a'
    """
    classifier = check_model(model_a, "model_a")
    if check_model(model_b, "model_b") != classifier:
        raise ValueError("One of the models is a classifier and the other is not: they cannot be compared.")
    if isinstance(metric, list | tuple | set | dict):
        raise TypeError(f"metric is {metric!r}; a comparison is by one metric, a name or a function.")
    level, seed = check_level(interval), seed_from(random_state, default=None)
    sample = read(X, y, sample_weight, classifier=classifier)
    pairs = splits(outer, sample, seed, "outer")
    pairs_given = [(sample.kept[train], sample.kept[test]) for train, test in pairs]
    if metric is None:
        metric = "accuracy" if classifier else "mse"
    a, b = (
        evaluate(
            model,
            X,
            y,
            sample_weight=sample_weight,
            outer=pairs_given,
            inner=inner,
            metrics=metric,
            interval=level,
            random_state=seed,
        )
        for model in (model_a, model_b)
    )
    (name, score_a), (_, score_b) = *a.scores.items(), *b.scores.items()
    folds = score_a.folds - score_b.folds
    if np.isnan(folds).any():
        number = int(np.isnan(folds).argmax())
        raise ValueError(
            f"{name} is not defined in outer fold {number}, so folds cannot be compared: use fewer folds, or a metric "
            "that is a mean over rows."
        )
    single = all(len(test) == 1 for _, test in pairs)
    amounts = np.array([sample.amount(test) for _, test in pairs]) if single else None
    difference = fold_mean(folds, ratio_of(sample, pairs), level, amounts)
    better = None
    if difference.low > 0 or difference.high < 0:
        better = "a" if (difference.mean > 0) == score_a.greater_is_better else "b"
    rows = exact = None
    known = METRICS.get(ALIASES.get(name, name))
    row_losses = None if known is None else known.row_losses
    if a.predictions is not None and b.predictions is not None and row_losses is not None:
        target = sample.y
        tested = np.sort(np.concatenate([test for _, test in pairs]))
        parts = [target[tested], *(part[sample.kept[tested]] for part in (a.predictions, b.predictions))]
        truth, *predicted = parts if classifier else [_columns(part) for part in parts]
        losses = [row_losses(truth, part) for part in predicted]
        rows = sample.spread(losses[0] - losses[1], tested)
        if classifier:
            exact = _mcnemar(losses[0], losses[1], sample.weights(tested))
    return Comparison(
        name,
        (type(model_a).__name__, type(model_b).__name__),
        difference.mean,
        difference.se,
        difference.low,
        difference.high,
        difference.p,
        better,
        folds,
        rows,
        exact,
        score_a,
        score_b,
        (a, b),
        level,
        list(dict.fromkeys([*a.notes, *b.notes])),
    )


def _columns(values: Array) -> Floats:
    """Numbers (n,) or (n, t) as a column for each target."""
    return np.asarray(values, dtype=np.float64).reshape(len(values), -1)


def _mcnemar(wrong_a: Floats, wrong_b: Floats, weight: Floats | None) -> McNemar | None:
    """The two-sided binomial test of the rows on which they differ; None if weights are not counts."""
    w = weights_or_ones(weight, len(wrong_a))
    only_a, only_b = (float(w[part].sum()) for part in (wrong_a < wrong_b, wrong_a > wrong_b))
    if not (only_a.is_integer() and only_b.is_integer()):
        return None
    total, most = only_a + only_b, max(only_a, only_b)
    # P(Binomial(n, ½) ≥ k) is a regularised incomplete beta function.
    p = 1.0 if most == 0 else min(1.0, 2.0 * float(betainc(most, total - most + 1.0, 0.5)))
    return McNemar(only_a, only_b, p)
