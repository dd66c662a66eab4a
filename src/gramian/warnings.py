"""What a fit says when its answer is less than it should be."""

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class ConvergenceWarning(_SklearnConvergenceWarning):
    """A fit stopped before its certificate holds; the message says which quantity is how far off."""


class PrecisionWarning(UserWarning):
    """The data or the sums given cannot carry the digits that the answer would need."""


__all__ = ["ConvergenceWarning", "PrecisionWarning"]
