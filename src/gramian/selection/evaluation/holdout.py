"""A test set that is opened once."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from gramian._core.random import seed_from
from gramian._core.types import Array, Estimator, RandomState, Table, Values, Weights
from gramian.selection.evaluation.leaks import leaked_rows
from gramian.selection.evaluation.nested import Pooled
from gramian.selection.evaluation.sample import Sample, check_model, read
from gramian.selection.evaluation.scoring import Metrics, check_level, scorers
from gramian.selection.evaluation.trials import predicted

FEW_VALUES = 20  # a target with at most so many different values is cut with equal shares of each


@dataclass(frozen=True, eq=False)
class Opening:
    """What a model scored on the rows held out, and when.

    Attributes
    ----------
    scores : dict from metric to (value, low, high)
    predictions : array
        Of the test rows.
    rows : array of int
        Which of the rows given were the test rows.
    model : str
    when : datetime
    compared : int
        Training rows that the model remembers and that were found in `HoldOut.train`. With 0 it is not known whether
        the model was fitted to rows held out.
    """

    scores: dict[str, Pooled]
    predictions: Array
    rows: Array
    model: str
    when: datetime
    interval: float
    compared: int = 0

    def __str__(self) -> str:
        lines = [f"{self.model} on {len(self.rows)} rows held out, opened {self.when:%Y-%m-%d %H:%M} UTC"]
        for name, (value, low, high) in self.scores.items():
            lines.append(f"{name:<12}  {value:.5g}  ({self.interval:.0%}: {low:.5g} to {high:.5g})")
        lines.append(
            f"Leak: {self.compared} training rows that the model remembers were looked up, all in the training part."
            if self.compared
            else "Leak: not checked, for the model remembers none of its training rows."
        )
        return "\n".join(lines)

    __repr__ = __str__


class HoldOut:
    """Rows held out for one final test, which can be opened once.

    Everything else, every choice and every look, uses `train`. A test set that is used twice has become a part of the
    choice, and its score is too good; so the second opening is refused, saying when the first was and for which model.

    Parameters
    ----------
    X, y, sample_weight
        Data with their target, or `Rows`. Rows of weight 0 are left out.
    share : float
        Share of the rows to hold out.
    stratify : "auto", True or False
        Hold out the same share of every class. "auto": if y has at most 20 different values, each at least twice.
    shuffle : bool
        Hold out random rows, or with False the last ones, as for rows in order of time.
    random_state : int, Generator or RandomState
        The same one holds out the same rows.

    Attributes
    ----------
    train : tuple
        (X, y), or (X, y, weight) with weights: what models may be fitted to.
    opened : Opening or None
        What was seen when it was opened. Copies are the same test set, and a pickle remembers.

    Examples
    --------
    >>> import gramian as gm
    >>> from sklearn.datasets import load_diabetes
    >>> held = gm.selection.HoldOut(*load_diabetes(return_X_y=True))
    >>> held
    <HoldOut: 353 rows to train on, 89 held out, closed>
    >>> model = gm.Ridge().fit(*held.train)
    >>> bool(held.open(model).scores["r2"].value > 0.3)
    True
    >>> held.open(model)
    Traceback (most recent call last):
    ...
    RuntimeError: This test set was opened on ... for Ridge...
    """

    def __init__(
        self,
        X: Table,
        y: Values | None = None,
        *,
        sample_weight: Weights = None,
        share: float = 0.2,
        stratify: bool | str = "auto",
        shuffle: bool = True,
        random_state: RandomState = 0,
    ) -> None:
        if isinstance(share, bool) or not isinstance(share, float | np.floating) or not 0.0 < share < 1.0:
            raise ValueError(f"share is {share!r}; it must be a number between 0 and 1, such as 0.2.")
        if not (isinstance(stratify, bool) or (isinstance(stratify, str) and stratify == "auto")):
            raise ValueError(f'stratify is {stratify!r}; it must be "auto", True or False.')
        if not shuffle and stratify is True:
            raise ValueError("shuffle=False holds out the last rows as they are: leave out stratify=True.")
        sample = read(X, y, sample_weight, classifier=None)
        count = int(np.ceil(share * sample.n))
        if count >= sample.n:
            raise ValueError(f"share={share:g} of {sample.n} rows leaves no rows to train on: hold out fewer.")
        train, test = self._cut(sample, count, stratify, shuffle, seed_from(random_state, default=None))
        self._training, self._test = sample.subset(train), sample.subset(test)
        self.opened: Opening | None = None

    @staticmethod
    def _cut(sample: Sample, count: int, stratify: bool | str, shuffle: bool, seed: int) -> tuple[Array, Array]:
        n, rows = sample.n, np.arange(sample.n)
        if not shuffle:
            return rows[: n - count], rows[n - count :]
        sizes = np.unique(sample.y, return_counts=True)[1] if sample.y.ndim == 1 else np.ones(n)
        able = sizes.min() >= 2 and len(sizes) <= min(count, n - count)
        if stratify is True and not able:
            raise ValueError(
                f"stratify=True needs at least 2 rows of every class and no more classes than test rows: there are "
                f"{len(sizes)} classes, the smallest of {int(sizes.min())} rows, and {count} test rows."
            )
        alike = sample.y if stratify is True or (stratify == "auto" and able and len(sizes) <= FEW_VALUES) else None
        train, test = train_test_split(rows, test_size=count, stratify=alike, random_state=seed)
        return np.sort(train), np.sort(test)

    @property
    def train(self) -> tuple[Any, ...]:
        part = self._training
        both = part.native(), part.y
        return both if part.weight is None else (*both, part.weight)

    @property
    def rows(self) -> Array:
        """Which of the rows given are for training."""
        return self._training.kept

    def open(self, model: Estimator, *, metrics: Metrics = None, interval: float = 0.95) -> Opening:
        """Judge a fitted model on the rows held out. Once.

        Parameters
        ----------
        model : fitted estimator
        metrics : str, function, list or dict of these, optional
            As in `gm.selection.evaluate`.
        interval : float
            Level of the intervals, each the metric's own.

        Notes
        -----
        If the model cannot predict or a metric cannot be computed nothing has been seen, and the test set stays closed.
        So it does if a training row that the model remembers is among the rows held out. Models of this package
        remember hashes of at most 256 of their training rows, so that one fitted to all rows is refused, and one fitted
        to a few of those held out may not be. Of scikit-learn's models those that keep rows themselves are compared
        (nearest neighbours, support vector machines, Gaussian processes). Others keep none: they are opened whatever
        they were fitted to, and the `Opening` says that this was not checked.
        """
        if self.opened is not None:
            measured = ", ".join(f"{name} {score.value:.5g}" for name, score in self.opened.scores.items())
            when = f"{self.opened.when:%Y-%m-%d at %H:%M} UTC"
            raise RuntimeError(
                f"This test set was opened on {when} for {self.opened.model}: {measured}. "
                "A second look would make it a part of the choice: compare models by gm.selection.evaluate on the "
                "training rows, and hold out new rows for a new test."
            )
        classifier = check_model(model)
        level = check_level(interval)
        check_is_fitted(model, msg="This %(name)s is not fitted: fit it to the training rows first, fit(*held.train).")
        hits, remembered = leaked_rows(model, self._training, self._test)
        if hits:
            raise ValueError(
                f"This {type(model).__name__} has seen the test set: {hits} of the {remembered} training rows that it "
                f"remembers are among the {self._test.n} rows held out. Fit it to the training rows alone, "
                "fit(*held.train); the test set stays closed."
            )
        classes = np.unique(np.concatenate([self._training.y, self._test.y])) if classifier else None
        sample = replace(self._test, classes=classes)
        measures = scorers(metrics, model, sample)
        rows = np.arange(sample.n)
        needs = {"labels", *(part.needs for part in measures)}
        predictions = {need: predicted(model, sample, rows, self._training.kept, need) for need in needs}
        scores = {
            part.name: Pooled(*part.interval(sample.y, predictions[part.needs], sample.weight, sample.classes, level))
            for part in measures
        }
        name = " ".join(repr(model).split())
        self.opened = Opening(scores, predictions["labels"], sample.kept, name, datetime.now(UTC), level, remembered)
        return self.opened

    def __copy__(self) -> "HoldOut":
        return self

    def __deepcopy__(self, memo: object) -> "HoldOut":
        return self

    def __repr__(self) -> str:
        state = "closed" if self.opened is None else f"opened for {self.opened.model}"
        return f"<HoldOut: {self._training.n} rows to train on, {self._test.n} held out, {state}>"
