"""Validation losses over a grid of hyper-parameters, and the rule that chooses from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._core.text import plus_minus
from gramian._core.types import Floats
from gramian._core.weights import weights_or_ones

NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Scores:
    """Mean validation losses, lower is better.

    Attributes
    ----------
    alphas : array (A,)
        The grid, from the strongest penalty to the weakest.
    folds : array (A, K)
        Mean validation loss of each fold; with leave-one-out, of each row with a positive weight.
    mean, se : array (A,)
        Mean over the folds, and its standard error: their standard deviation (divisor K − 1) over √K. Rows that are
        left out one by one count by their weights.
    best, chosen : int
        Index of the smallest mean, and of the alpha that the rule took.
    at_boundary : bool
        Whether the best alpha is the first or last of the grid, so that a wider one might do better.
    error : array (A,) or None
        How far `mean` may be from that of true refits, estimated; above 0 where leave-one-out is approximate.
    exact : bool
        Whether every score is that of a refit, to the tolerance of its solver.
    """

    alphas: Floats
    folds: Floats
    mean: Floats
    se: Floats
    best: int
    chosen: int
    rule: str
    weights: Floats | None = None  # of the folds, where they count unequally
    error: Floats | None = None

    @property
    def exact(self) -> bool:
        return self.error is None or not self.error.any()

    @property
    def at_boundary(self) -> bool:
        return len(self.alphas) > 1 and self.best in (0, len(self.alphas) - 1)

    def __str__(self) -> str:
        text = (
            f"alpha {self.alphas[self.chosen]:.4g} by rule {self.rule!r} of {len(self.alphas)}: validation loss "
            f"{plus_minus(self.mean[self.chosen], self.se[self.chosen])}"
        )
        if not self.exact:
            assert self.error is not None
            text += f"; leave-one-out is approximate, its error estimated as {self.error[self.chosen]:.2g}"
        if self.at_boundary:
            side = "largest" if self.best == 0 else "smallest"
            text += f"; the best is the {side} alpha of the grid, a wider grid might do better"
        return text


def scores_of(alphas: Floats, folds: Floats, rule: str, weights: Any = None) -> Scores:
    """Scores with their choice; `weights` of the folds where they count unequally, those of weight zero not at all.

    >>> table = np.array([[3.0, 3.2], [1.0, 1.4], [1.1, 1.5]])
    >>> scores_of(np.array([9.0, 3.0, 1.0]), table, "best").chosen
    1
    """
    if weights is not None:
        folds, weights = folds[:, weights > 0], weights[weights > 0]
    mean, se = mean_and_error(folds, weights)
    # Losses that are nothing against the largest are equal, and of equal ones the strongest penalty is best.
    least = mean.min()
    nothing = NOTHING * mean.max() if least >= 0 else least  # likelihoods may be negative
    best = int(np.flatnonzero(mean <= max(least, nothing))[0])
    chosen = best
    if rule == "one_se":
        chosen = int(np.flatnonzero(mean <= mean[best] + se[best])[0])  # the strongest penalty within one error
    return Scores(alphas, folds, mean, se, best, chosen, rule, weights)


def mean_and_error(folds: Floats, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """The weighted mean (A,) over the folds (A, K) and its standard error, √(K/(K − 1) Σ share² (loss − mean)²).

    >>> mean_and_error(np.array([[1.0, 2.0, 3.0, 6.0]]))
    (array([3.]), array([1.08012345]))
    """
    weights = weights_or_ones(weights, folds.shape[1])
    share, count = weights / weights.sum(), np.count_nonzero(weights)
    mean = folds @ share
    if count < 2:
        return mean, np.zeros(len(folds))
    unit = np.ldexp(1.0, np.frexp(np.abs(folds).max(initial=0.0))[1])  # squares of losses of any size
    return mean, unit * np.sqrt((((folds - mean[:, None]) / unit) ** 2) @ share**2 * (count / (count - 1)))


def join(first: Scores, second: Scores) -> Scores:
    """Scores over both grids."""
    alphas = np.concatenate([first.alphas, second.alphas])
    order = np.argsort(-alphas, kind="stable")
    return scores_of(alphas[order], np.vstack([first.folds, second.folds])[order], first.rule, first.weights)


def between(scores: Scores, count: int) -> Floats:
    """A finer grid between the neighbours of the best alpha."""
    high = scores.alphas[max(scores.best - 1, 0)]
    low = scores.alphas[min(scores.best + 1, len(scores.alphas) - 1)]
    fine = np.geomspace(high, low, count + 2)[1:-1]
    return fine[np.abs(np.log(fine / scores.alphas[scores.best])) > 1e-6]
