"""Learning and validation curves: training and validation scores over the rows, or over a parameter."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from gramian._core.fitted.charted import Drawn
from gramian._core.random import seed_from
from gramian._core.text import aligned
from gramian._core.types import CV, Array, Estimator, Floats, Ints, RandomState, Table, Values, Weights
from gramian._core.validation import flag
from gramian.selection.evaluation.choices import text_of
from gramian.selection.evaluation.sample import Sample, check_model, read
from gramian.selection.evaluation.scoring import Scorer, scorer
from gramian.selection.evaluation.trials import fitted, predicted, splits

SHARES = (0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)


@dataclass(frozen=True, eq=False)
class Curve:
    """A metric over values.

    Attributes
    ----------
    folds : array (V, K)
        Of each value in each fold.
    mean, se : array (V,)
        Mean over the folds and its standard error s/√K; NaN for one fold.
    """

    folds: Floats
    mean: Floats
    se: Floats


@dataclass(frozen=True, eq=False)
class Curves(Drawn):
    """What `curves` found.

    Attributes
    ----------
    over : str
        "rows", or the parameter.
    values : array (V,)
        Numbers of training rows, or values of the parameter.
    train, validation : Curve
        On the rows fitted to, and on those left out.
    metric : str
    greater_is_better : bool
    gap : array (V,)
        How much better the mean is in training than in validation: large where the model overfits.
    best : int
        Index of the best mean in validation, the first of equal ones.
    best_value
        The value there.
    """

    own_charts: ClassVar[tuple[str, ...]] = ("curves",)
    model: str
    over: str
    values: Array
    train: Curve
    validation: Curve
    metric: str
    greater_is_better: bool

    @property
    def gap(self) -> Floats:
        gap = self.validation.mean - self.train.mean
        return -gap if self.greater_is_better else gap

    @property
    def best(self) -> int:
        mean = self.validation.mean
        return int(np.argmax(mean) if self.greater_is_better else np.argmin(mean))

    @property
    def best_value(self) -> Any:
        return self.values.tolist()[self.best]

    def __str__(self) -> str:
        head = [self.over, "train", "± se", "validation", "± se", "gap"]
        columns = (self.train.mean, self.train.se, self.validation.mean, self.validation.se, self.gap)
        rows = [head] + [
            [text_of(value), *(f"{part[i]:.4g}" for part in columns)] for i, value in enumerate(self.values)
        ]
        lines = aligned(rows, left=-1)
        lines[1 + self.best] += "  best"
        return "\n".join([f"{self.model}: {self.metric} over {self.over}, {self.train.folds.shape[1]} folds", *lines])

    __repr__ = __str__


def curves(
    model: Estimator,
    X: Table,
    y: Values | None = None,
    *,
    over: str = "rows",
    values: Sequence[Any] | None = None,
    cv: CV = 5,
    metric: str | Callable[..., float] | None = None,
    sample_weight: Weights = None,
    shuffle: bool = True,
    random_state: RandomState = 0,
) -> Curves:
    """Training and validation scores over the number of training rows, or over the values of a parameter.

    A learning curve (`over="rows"`) shows whether more rows would help; a validation curve (`over="alpha"`) where a
    model goes from too stiff to too flexible. The gap between the two scores is what it overfits.

    Parameters
    ----------
    model : estimator
        Any classifier or regressor of scikit-learn's protocol; it is cloned.
    X, y, sample_weight
        Data with their target, or `Rows`. Weights are counts, in the fits and in the metric.
    over : str
        "rows", or a parameter of the model, such as "alpha" or "ridge__alpha".
    values : list or array
        Of rows: numbers of training rows, or shares of them as floats up to 1.0; by default seven shares from 0.1 to 1.
        Equal numbers are tried once. Of a parameter: what to try.
    cv : int, "loo", splitter or list of (train, test) pairs
        The folds; a number makes those of `gm.selection.evaluate`.
    metric : str or function, optional
        By default mse, or error_rate for classifiers. Of functions less is better.
    shuffle : bool
        Over rows: take the training rows of a fold in random order, for a classifier with every class in its share from
        the first rows on; or with False in their own order, as for rows in order of time. Smaller sets are parts of
        larger ones.
    random_state : int, Generator or RandomState
        For the folds, the order of rows, and every `random_state` of the model that is None.

    Returns
    -------
    Curves
        `.values`, `.train`, `.validation`, `.gap`, `.best`; `print` shows a table.

    Notes
    -----
    Cost: one fit per value and fold.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> learning = gm.selection.curves(gm.LinearRegression(), X, y, values=[20, 80, 320])
    >>> bool(learning.gap[0] > learning.gap[2])
    True
    >>> gm.selection.curves(gm.Ridge(), X, y, over="alpha", values=[1.0, 1e-4]).best_value
    0.0001
    """
    classifier = check_model(model)
    flag("shuffle", shuffle)
    seed = seed_from(random_state, default=None)
    tried = [] if over == "rows" else _values_of(model, over, values)
    sample = read(X, y, sample_weight, classifier=classifier)
    measure = scorer(metric or ("error_rate" if classifier else "mse"), sample)
    pairs = splits(cv, sample, seed, "cv")
    if over == "rows":
        if shuffle:
            generator = np.random.default_rng(seed)
            pairs = [(_shuffled(train, sample, generator), test) for train, test in pairs]
        sizes = _sizes(values, min(len(train) for train, _ in pairs))
        tries: list[tuple[Estimator, int | None, str]] = [(model, int(size), f"{size} rows") for size in sizes]
        shown: Array = sizes
    else:
        tries = [
            (clone(model).set_params(**{over: clone(value, safe=False)}), None, f"{over}={value!r}") for value in tried
        ]
        shown = _column(tried)
    table = np.array([_fold(tries, sample, pair, number, measure, seed) for number, pair in enumerate(pairs)])
    train, validation = (_curve(part) for part in table.transpose(2, 1, 0))
    return Curves(type(model).__name__, over, shown, train, validation, measure.name, measure.greater_is_better)


def _values_of(model: Estimator, over: str, values: object) -> list[Any]:
    """The values of a parameter of the model to try."""
    parameters = model.get_params()
    if over not in parameters:
        similar = difflib.get_close_matches(str(over), parameters, n=1)
        names = ", ".join(map(repr, list(parameters)[:10]))
        hint = f"did you mean {similar[0]!r}?" if similar else f"it has {names}."
        raise ValueError(f'over is {over!r}, which is neither "rows" nor a parameter of {type(model).__name__}; {hint}')
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"values is {values!r}; give a list of values of {over!r} to try.")
    tried = list(values)
    if not tried:
        raise ValueError(f"values is empty; give at least one value of {over!r} to try.")
    return tried


def _fold(
    tries: list[tuple[Estimator, int | None, str]],
    sample: Sample,
    pair: tuple[Ints, Ints],
    number: int,
    measure: Scorer,
    seed: int,
) -> list[tuple[float, float]]:
    """(training score, validation score) of every try in one fold."""
    pairs_of_losses = []
    for model, size, what in tries:
        train, test = pair[0][:size], pair[1]
        one = fitted(model, sample, train, seed, f"{what}, fold {number}")
        scores = []
        for rows in (train, test):
            prediction = predicted(one, sample, rows, sample.kept[train], measure.needs)
            try:
                scores.append(measure(sample.y[rows], prediction, sample.weights(rows), sample.classes))
            except ValueError as error:
                error.add_note(f"The metric {measure.name} was being computed with {what} in fold {number}.")
                raise
        pairs_of_losses.append((scores[0], scores[1]))
    return pairs_of_losses


def _shuffled(train: Ints, sample: Sample, generator: np.random.Generator) -> Ints:
    """Training rows in random order; of a classifier such that every beginning has the classes in their shares."""
    order = generator.permutation(train)
    if sample.classes is None:
        return order
    place = np.empty(len(order))
    for name in sample.classes:
        rows = np.flatnonzero(sample.y[order] == name)
        place[rows] = (np.arange(len(rows)) + 0.5) / max(len(rows), 1)
    return order[np.argsort(place, kind="stable")]


def _sizes(values: Any, most: int) -> Ints:
    requested = np.asarray(SHARES if values is None else values)
    if requested.ndim != 1 or not requested.size or requested.dtype.kind not in "fiu":
        raise ValueError(
            f"values is {values!r}; over rows it must be a list of numbers of rows, or of shares up to 1.0."
        )
    if requested.dtype.kind == "f":
        if not ((requested > 0) & (requested <= 1)).all():
            raise ValueError(
                f"values holds {requested[~((requested > 0) & (requested <= 1))][0]}; shares are above 0 and at most 1."
            )
        requested = np.clip((requested * most).astype(np.int64), 1, most)
    elif requested.min() < 1 or requested.max() > most:
        wrong = requested.min() if requested.min() < 1 else requested.max()
        raise ValueError(f"values holds {wrong}; the training parts of the folds have 1 to {most} rows.")
    return np.unique(requested.astype(np.int64))


def _column(values: list[Any]) -> Array:
    """Values of a parameter as an array: of numbers or words, else of objects."""
    numbers = all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)
    if numbers or all(isinstance(value, str) for value in values) or all(isinstance(value, bool) for value in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _curve(table: Floats) -> Curve:
    K = table.shape[1]
    se = table.std(axis=1, ddof=1) / np.sqrt(K) if K > 1 else np.full(len(table), np.nan)
    return Curve(table, table.mean(axis=1), se)
