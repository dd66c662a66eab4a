"""Predictions of rows by many models, none of which saw the row: what bias and variance are measured from."""

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import StratifiedKFold

from gramian._core.types import Array, Bools, Estimator, Floats, Ints, Matrix, Table, Values
from gramian.selection.evaluation.sample import Sample, read
from gramian.selection.evaluation.trials import fitted, predicted, refuse_rare

PARTS = 5  # of the rows: one is tested, two and two are trained on


class Predictions:
    """Predictions `values` (groups, J, n, …) of rows by models that did not see them, and which there are: `there`.

    Models of one group are independent as far as their kind of training sets allows.
    """

    def __init__(self, model: Estimator, sample: Sample, seed: int) -> None:
        self.model, self.sample, self.seed = model, sample, seed
        self.generator = np.random.default_rng(seed)
        self.sizes: list[int] = []
        self.values: Array
        self.there: Bools

    def _room(self, groups: int, models: int) -> None:
        self.values = np.zeros((groups, models, *self.sample.y.shape))
        self.there = np.zeros((groups, models, self.sample.n), dtype=bool)

    def _try(self, train: Ints, test: Ints, group: int, number: int) -> None:
        count = len(self.sizes)
        found = fitted(self.model, self.sample, train, self._seed(count), f"training set {count}")
        self.values[group, number, test] = self._numbers(
            predicted(found, self.sample, test, self.sample.kept[train], "labels")
        )
        self.there[group, number, test] = True
        self.sizes.append(len(train))

    def _seed(self, count: int) -> int:
        return int(np.random.SeedSequence([self.seed, count]).generate_state(1)[0] >> 1)

    def disjoint(self, cycles: int) -> None:
        """In every cycle, every row is tested by two models without a training row in common."""
        n, y = self.sample.n, self.sample.y
        remedy = 'use sets="bootstrap"'
        if n < PARTS:
            raise ValueError(f"{n} rows cannot be cut into {PARTS} parts: {remedy}.")
        if self.sample.classes is not None:
            refuse_rare(self.sample, PARTS, "disjoint training sets", remedy)
        self._room(cycles, 2)
        for cycle in range(cycles):
            if self.sample.classes is None:
                parts = np.array_split(self.generator.permutation(n), PARTS)
            else:
                folds = StratifiedKFold(PARTS, shuffle=True, random_state=self._seed(2**31 + cycle))
                parts = [test for _, test in folds.split(np.empty((n, 1)), y)]
            for k, test in enumerate(parts):
                for number in range(2):
                    pair = [parts[(k + 2 * number + step) % PARTS] for step in (1, 2)]
                    self._try(np.sort(np.concatenate(pair)), np.sort(test), cycle, number)

    def bootstrap(self, count: int) -> None:
        n, y = self.sample.n, self.sample.y
        self._room(1, count)
        classes = self.sample.classes
        groups = [np.arange(n)] if classes is None else [np.flatnonzero(y == name) for name in classes]
        for number in range(count):
            train = np.sort(np.concatenate([self.generator.choice(rows, len(rows)) for rows in groups]))
            test = np.setdiff1d(np.arange(n), train)
            if test.size:
                self._try(train, test, 0, number)
            else:
                self.sizes.append(n)
        times = self.there[0].sum(axis=0)
        if times.min() < 2:
            row = int(self.sample.kept[times.argmin()])
            raise ValueError(
                f"Row {row} was left out of {times.min()} of {count} training sets, and at least 2 must leave it out: "
                "use more repeats" + (". A class of one row is in all of them." if classes is not None else ".")
            )

    def drawn(self, draw: Callable[[np.random.Generator], tuple[Table, Values]], count: int) -> None:
        self._room(1, count)
        rows = np.arange(self.sample.n)
        for number in range(count):
            data = draw(self.generator)
            if not isinstance(data, tuple) or len(data) != 2:
                raise TypeError("The function given as sets= must return a pair (X, y): a training set.")
            training = read(*data, None, classifier=False if self.sample.classes is None else None)
            train = np.arange(training.n)
            model = fitted(self.model, training, train, self._seed(number), f"drawn training set {number}")
            self.values[0, number] = self._numbers(predicted(model, self.sample, rows, train, "labels"))
            self.sizes.append(training.n)
        self.there[:] = True

    def _numbers(self, predictions: Array, source: str = "The model") -> Floats:
        """Predictions as numbers in the shape of y: themselves, or the places of the classes."""
        classes = self.sample.classes
        if classes is None:
            return np.asarray(predictions, dtype=np.float64).reshape(-1, *self.sample.y.shape[1:])
        names, codes = np.unique(predictions, return_inverse=True)
        strange = names[~np.isin(names, classes)]
        if strange.size:
            raise ValueError(
                f"{source} gives {strange.tolist()[0]!r}, which is not a class of y: {classes.tolist()[:10]}."
            )
        return np.searchsorted(classes, names)[codes.reshape(-1)].astype(np.float64)

    def truth(self, truth: Callable[[Matrix], Array]) -> Floats:
        values = np.asarray(truth(self.sample.native()))
        if values.size != self.sample.y.size:
            raise ValueError(
                f"truth gives an array of shape {values.shape}; for these rows it must be {self.sample.y.shape}."
            )
        return self._numbers(values, "truth")
