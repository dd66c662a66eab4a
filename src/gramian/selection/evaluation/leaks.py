"""Whether a fitted model has seen rows that are held out, as far as it remembers its training rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian._core.fitted.training_rows import TrainingRows, row_hashes
from gramian._core.types import Estimator
from gramian.selection.evaluation.sample import Sample

KEPT_TABLES = ("_fit_X", "X_train_", "support_vectors_")  # where scikit-learn's models keep rows of their own
INSIDE = ("estimator_", "best_estimator_", "regressor_", "classifier_")
DISTINCT = 0.95  # share of the targets that must differ for equal ones to say something


def leaked_rows(model: Estimator, training: Sample, test: Sample) -> tuple[int, int]:
    """(rows held out that the model was fitted to, rows that it remembers), of the part that shows most.

    Models of this package remember hashes of 256 rows; of other ones only those are seen that keep rows themselves
    (nearest neighbours, support vectors, Gaussian processes), and steps of pipelines behind their transformers. Where
    no part remembers rows that can be compared, (0, 0).
    """
    shown = [_seen(part, X_train, X_test, training, test) for part, X_train, X_test in _parts(model, training, test)]
    return max(shown, default=(0, 0))


def _parts(model: Estimator, training: Sample, test: Sample) -> Iterator[tuple[Any, Any, Any]]:
    """Fitted parts, and the rows as each of them sees them."""
    waiting = [(model, training.native(), test.native())]
    while waiting:
        part, X_train, X_test = waiting.pop()
        yield part, X_train, X_test
        for name in INSIDE:
            if hasattr(part, name):
                waiting.append((getattr(part, name), X_train, X_test))
        for _, step in getattr(part, "steps", ()):
            if not hasattr(step, "fit"):
                continue
            waiting.append((step, X_train, X_test))
            if hasattr(step, "transform"):
                X_train, X_test = step.transform(X_train), step.transform(X_test)


def _seen(part: Any, X_train: Any, X_test: Any, training: Sample, test: Sample) -> tuple[int, int]:
    remembered = getattr(part, "_training_rows", None)
    if not isinstance(remembered, TrainingRows):
        kept = [getattr(part, name) for name in KEPT_TABLES if hasattr(part, name)]
        remembered = TrainingRows(row_hashes(kept[0]), np.zeros(0, dtype=np.uint64)) if kept else None
    if remembered is None:
        return 0, 0
    try:
        tested, trained = row_hashes(X_test), row_hashes(X_train)
        hits = int(np.isin(remembered.rows, np.setdiff1d(tested, trained)).sum())
        compared = int(np.isin(remembered.rows, trained).sum())
    except (TypeError, ValueError):
        hits = compared = 0
    if hits:
        return hits, len(remembered.rows)
    targets = np.concatenate([training.y, test.y])
    if len(remembered.targets) and targets.ndim == 1 and len(np.unique(targets)) >= DISTINCT * len(targets):
        hits = int(np.isin(remembered.targets, np.setdiff1d(row_hashes(test.y), row_hashes(training.y))).sum())
        if hits >= max(3.0, 0.5 * len(remembered.targets) * test.n / (test.n + training.n)):
            return hits, len(remembered.targets)
    return 0, compared
