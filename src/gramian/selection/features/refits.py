"""Validation losses of any estimator on sets of columns, by fitting it anew on each."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from gramian._core import deadline
from gramian._core.types import Array, Bools, Estimator, Floats, Ints, Matrix
from gramian.rows import Rows
from gramian.selection.cv.splits import Plan, fold_weights

ROUNDING = 1e-9  # share of the mean-only loss below which differences are none: what iterative fits may leave


class CandidateRefits:
    """Columns enter or leave the model of an estimator that is fitted once per candidate and split.

    The loss is the mean squared error of `predict`, averaged over targets, or a classifier's share of errors.
    """

    unit = 0

    def __init__(self, estimator: Estimator, rows: Rows, y: Array, plans: list[Plan], *, forward: bool) -> None:
        self.estimator = estimator
        self.classifier = is_classifier(estimator)
        block = rows.collect()
        self.X, self.y, self.weight = block.X, y, block.weight
        if self.weight is not None and not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"{type(estimator).__name__}.fit takes no sample_weight, so weights cannot count in its selection: fit "
                "without them, or choose an estimator that takes them."
            )
        self.splits = _index_pairs(plans, rows)
        for number, pair in enumerate(self.splits):
            for part, index in zip(("training", "test"), pair, strict=True):
                if self.weight is not None and not self.weight[index].any():
                    raise ValueError(
                        f"The {part} part of split {number} has no row with a positive weight: use fewer folds."
                    )
        nothing = np.array([], dtype=np.int64)
        self.rounding = np.zeros(len(self.splits)) if self.classifier else ROUNDING * self._of(nothing)
        self.forward = forward
        self.inside = np.full(rows.d, not forward)

    def start(self) -> Floats:
        """Losses (K,) of the model as it is."""
        return self._of(np.flatnonzero(self.inside))

    def idle(self) -> Bools:
        """Columns known to change nothing: none, for an estimator that is not known."""
        return np.zeros(len(self.inside), dtype=bool)

    def losses(self, candidates: Ints) -> Floats | None:
        """Losses (K, c) after each candidate's entry or removal; None if the time is over before all are known."""
        losses = np.empty((len(self.splits), len(candidates)))
        for c, j in enumerate(candidates):
            if deadline.passed():
                return None
            self.inside[j] = self.forward
            losses[:, c] = self._of(np.flatnonzero(self.inside))
            self.inside[j] = not self.forward
        return losses

    def take(self, j: int) -> None:
        """Let a column enter or leave."""
        self.inside[j] = self.forward

    def _of(self, columns: Ints) -> Floats:
        X = self.X[:, columns]
        return np.array([self._loss(X, train, test) for train, test in self.splits])

    def _loss(self, X: Matrix, train: Ints, test: Ints) -> float:
        weights = {} if self.weight is None else {"sample_weight": self.weight[train]}
        if X.shape[1]:
            found = clone(self.estimator).fit(X[train], self.y[train], **weights).predict(X[test])
        else:
            found = self._constant(self.y[train], weights.get("sample_weight"))
        errors = found != self.y[test] if self.classifier else (self.y[test] - found) ** 2
        mean = np.average(errors, axis=0, weights=None if self.weight is None else self.weight[test])
        return float(np.mean(mean))

    def _constant(self, y: Array, weight: Floats | None) -> Any:
        """The prediction without columns: the most frequent class, the mean, or 0 without an intercept."""
        if self.classifier:
            classes, codes = np.unique(y, return_inverse=True)
            return classes[np.bincount(codes, weights=weight).argmax()]
        return np.average(y, axis=0, weights=weight) if getattr(self.estimator, "fit_intercept", True) else 0.0


def _index_pairs(plans: list[Plan], rows: Rows) -> list[tuple[Ints, Ints]]:
    pairs = []
    weights = fold_weights(plans, rows)
    if weights is not None:
        everyone = np.arange(rows.n)
        return [(everyone[everyone != row], np.array([row])) for row in np.flatnonzero(weights)]
    for plan in plans:
        labels = plan.folds.labels(0, rows.n)
        for train, test in zip(plan.train, plan.test, strict=True):
            pairs.append((np.flatnonzero(train[labels]), np.flatnonzero(test[labels])))
    return pairs
