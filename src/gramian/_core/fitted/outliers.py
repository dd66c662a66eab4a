"""What lets clusters say which rows fit none of them."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._core import validation
from gramian._core.types import Bools, Floats, Table

ROUNDING = 1e-9  # scores that differ by less are equal: rounding may differ with the rows asked for together


class Outlying:
    """Adds `outliers` to a model that scores rows: how well each fits, higher being better."""

    def score_samples(self, X: Table) -> Floats:
        raise NotImplementedError

    def _fit_scores(self) -> tuple[Floats, Floats | None]:
        """Scores and weights of the rows of the fit."""
        raise NotImplementedError

    def _score_rounding(self) -> float:
        """How far rounding may move a score that is exactly zero."""
        return 0.0

    def outliers(self, X: Table = None, share: float = 0.01) -> Bools:
        """Rows that fit nothing: those no better than the worst `share` of the rows of the fit.

        Parameters
        ----------
        X : array, data frame or Rows, optional
            By default the rows of the fit.
        share : float
            Between 0 and 1.
        """
        check_is_fitted(self)
        validation.number("share", share, low=0.0, high=1.0)
        scores, weight = self._fit_scores()
        limit = _worst(scores if weight is None else scores[weight > 0], weight, share, self._score_rounding())
        if X is not None:
            scores = self.score_samples(X)
        return np.asarray(scores <= limit)


def _worst(scores: Floats, weight: Floats | None, share: float, rounding: float) -> float:
    """The score that the worst share of the rows do not exceed but for rounding; −∞ where it is less than one row."""
    order = np.argsort(scores, kind="stable")
    count = np.ones(len(order)) if weight is None else weight[weight > 0][order]
    until = np.cumsum(count) - np.maximum(count - 1.0, 0.0)  # the first of the rows that a weight stands for
    below = int((until <= share * count.sum() * (1.0 + 1e-12)).sum())
    if not below:
        return -np.inf
    limit = float(scores[order[below - 1]])
    return limit + ROUNDING * (abs(limit) + abs(float(scores[order[len(order) // 2]]))) + rounding
