"""Folds, shared-work cross-validation, and the choice of hyper-parameters and features."""

from gramian._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.selection.evaluation.comparison": ["compare"],
        "gramian.selection.evaluation.decomposition": ["bias_variance"],
        "gramian.selection.evaluation.nested": ["evaluate"],
        "gramian.selection.features.greedy": ["GreedySelector"],
        "gramian.selection.features.information": ["mutual_information"],
        "gramian.selection.evaluation.learning": ["curves"],
        "gramian.selection.cv.scores": ["Scores"],
        "gramian.selection.cv.splits": ["KFold"],
        "gramian.selection.features.subset": ["BestSubset"],
        "gramian.selection.evaluation.holdout": ["HoldOut"],
    },
)
