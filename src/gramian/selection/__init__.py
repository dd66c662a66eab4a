"""Folds, shared-work cross-validation, and the choice of hyper-parameters and features."""

from gramian._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "gramian.selection.comparison": ["compare"],
        "gramian.selection.decomposition": ["bias_variance"],
        "gramian.selection.evaluation": ["evaluate"],
        "gramian.selection.greedy": ["GreedySelector"],
        "gramian.selection.information": ["mutual_information"],
        "gramian.selection.learning": ["curves"],
        "gramian.selection.scores": ["Scores"],
        "gramian.selection.splits": ["KFold"],
        "gramian.selection.subset": ["BestSubset"],
        "gramian.selection.vault": ["HoldOut"],
    },
)
