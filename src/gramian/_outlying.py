"""What lets clusters say which rows fit none of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from gramian import parameters

Floats = NDArray[np.float64]


class Outlying:
    """Adds `outliers` to a model that scores rows: how well each fits, higher being better."""

    def score_samples(self, X: Any) -> Floats:
        raise NotImplementedError

    def _fit_scores(self) -> tuple[Floats, Floats | None]:
        """Scores and weights of the rows of the fit."""
        raise NotImplementedError

    def outliers(self, X: Any = None, share: float = 0.01) -> NDArray[np.bool_]:
        """Rows that fit nothing: those no better than the worst `share` of the rows of the fit.

        Parameters
        ----------
        X : array, data frame or Rows, optional
            By default the rows of the fit.
        share : float
            Between 0 and 1.
        """
        check_is_fitted(self)
        parameters.number("share", share, low=0.0, high=1.0)
        known, given = self._fit_scores()
        order = np.argsort(known, kind="stable")
        weight = np.ones(len(order)) if given is None else given[order]
        until = np.cumsum(weight) - np.maximum(weight - 1.0, 0.0)  # the first of the rows that a weight stands for
        more = until > share * weight.sum() * (1.0 + 1e-12)
        below = int(more.argmax()) if more.any() else len(order)
        limit = known[order[below - 1]] if below else -np.inf
        return np.asarray((known if X is None else self.score_samples(X)) <= limit)
